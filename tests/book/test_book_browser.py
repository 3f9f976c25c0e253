"""What the check of pages in a real browser sees (`attest book --check` reads the book with it), and
builds that must fail.
"""

from __future__ import annotations

import json
from pathlib import Path

import book_fake_ledger
import pytest

pytest.importorskip("yaml", reason="the book's tools are an extra: make .venv/book")
pytest.importorskip("playwright", reason="the book's tools are an extra: make .venv/book")

from book import browser_check, vendor
from book.build import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def running():
    """Chromium without other hosts."""
    try:
        browser_check.chromium()
    except browser_check.NoBrowser as error:
        pytest.skip(str(error))
    with browser_check.browser() as open_browser:
        yield open_browser


@pytest.fixture
def impatient(monkeypatch):
    """Pages without scripts are as they stay when they are loaded: what stays wrong is not waited for."""
    monkeypatch.setattr(browser_check, "PATIENCE", 500)


_WIDE = '<div class="math" style="overflow: auto"><div class="katex" style="width: {}px"><annotation>x</annotation></div></div>'


HARMS = [
    ('<img src="https://example.org/x.png" alt="x">', "request to another host"),
    ("<script>console.error('broken')</script>", "console: broken"),
    ("<script>undefinedFunction()</script>", "script error"),
    ('<a href="nowhere.html">x</a>', "dead link"),
    ('<a href="0.html#nowhere">x</a>', "no such place"),
    ('<svg aria-hidden="true"><a href="nowhere.html"><text>x</text></a></svg>', "dead link"),
    ('<article><img src="_static/favicon.svg"></article>', "without alternative text"),
    ('<div class="math">x</div>', "not rendered"),
    ("<main><p>\\(x\\)</p></main>", "raw markup"),
    ('<div style="width: 3000px">x</div>', "wider than a phone"),
    ('<div style="width: 3000px">x</div>', "wider than a desktop"),
    (_WIDE.format(1500), "on a desktop a formula of 1500 pixels is cut"),
    (_WIDE.format(500), "on a phone a formula of 500 pixels is cut"),
    ("", ""),
]


@pytest.fixture(scope="module")
def seen(running, tmp_path_factory) -> list[str]:
    """What is said of a book whose pages have one harm each."""
    root = tmp_path_factory.mktemp("harmed")
    formula = '<div class="math"><span class="katex"><annotation>x</annotation></span></div>'
    (root / "_static").mkdir()
    (root / "_static/favicon.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    for n, (harm, _) in enumerate(HARMS):
        body = harm + formula if harm.startswith("<main") else f"<main>{harm}{formula}</main>"
        (root / f"{n}.html").write_text(f"<!doctype html><title>x</title>{body}<article><h1>x</h1></article>")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(browser_check, "PATIENCE", 500)
        return browser_check.check_pages(root)


@pytest.mark.parametrize("number", range(len(HARMS)), ids=[said or "nothing" for _, said in HARMS])
def test_the_check_sees_what_it_looks_for(number: int, seen: list[str]) -> None:
    said, own = HARMS[number][1], [problem for problem in seen if problem.startswith(f"{number}.html: ")]
    assert any(said in problem for problem in own) if said else not own


@pytest.mark.parametrize("folder", ["claims", "corrections"])
def test_claims_are_read_on_the_narrow_screen_with_their_links(folder, running, tmp_path, impatient):
    (tmp_path / folder).mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>x</title><h1 id='here'>x</h1>")
    links = "".join(
        f'<a href="{link}">x</a>' for link in ("../index.html#here", "../index.html#no", "no.html")
    )
    (tmp_path / folder / "eq1.html").write_text(
        f"<!doctype html><title>x</title><article><h1>x</h1>{links}{_WIDE.format(500)}</article>"
        "<img src='https://example.org/x.png' alt='x'>"
    )
    found = [p for p in browser_check.check_pages(tmp_path) if p.startswith(f"{folder}/eq1.html: ")]
    for said in ("on a phone a formula", "request to another host", "no such place: ", "dead link to "):
        assert len([p for p in found if said in p]) == 1, (said, found)


def test_pages_are_shared_out_and_none_is_left_out(running, tmp_path, monkeypatch):
    monkeypatch.setattr(browser_check, "SHARE", 4)
    for n in range(browser_check.SHARE + 3):
        body = "<article><h1>x</h1></article>" + ("<p>\\(x\\)</p>" if n % 3 == 0 else "")
        (tmp_path / f"p{n}.html").write_text(f"<!doctype html><title>x</title><main>{body}</main>")
    found = browser_check.check_pages(tmp_path, 2)
    raw = sorted(problem.split(":")[0] for problem in found if "raw markup" in problem)
    assert raw == sorted(f"p{n}.html" for n in range(0, browser_check.SHARE + 3, 3))
    assert "no formula in the whole book" in found


@pytest.mark.slow
def test_a_formula_that_does_not_render_stops_the_build(tmp_path, capsys):
    pytest.importorskip("jupyter_book", reason="the book extra is not installed")
    record = book_fake_ledger.record(
        "nguyen2023/eq1", "Eq. (1)", "bad", statement={"latex": r"\frac{1", "words": "x"}
    )
    (tmp_path / "ledger.json").write_text(json.dumps([record]))
    assert build(tmp_path / "ledger.json", tmp_path / "out", work=tmp_path / "work") == 1
    said = capsys.readouterr().err
    assert (
        r"claims/nguyen2023/eq1: this formula does not render: '\\frac{1'" in said and "Traceback" not in said
    )
    assert not (tmp_path / "out").exists()


def test_a_formula_that_is_too_wide_is_set_smaller_as_far_as_it_can_be_read(running, tmp_path, monkeypatch):
    monkeypatch.setattr(browser_check, "PATIENCE", 3_000)
    (tmp_path / "maths.js").write_text((Path(browser_check.__file__).parent / "assets/maths.js").read_text())
    for ems in (30, 70, 200):
        formula = f'<div class="katex" style="width: {ems}em"><annotation>x</annotation></div>'
        (tmp_path / f"{ems}.html").write_text(
            '<!doctype html><title>x</title><script src="maths.js"></script><article><h1>x</h1>'
            f'<div class="math" style="overflow: auto; font-size: 16px"><div>{formula}</div></div></article>'
        )
    found = [problem for problem in browser_check.check_pages(tmp_path) if "on a phone a formula" in problem]
    assert [problem.split(":")[0] for problem in found] == ["200.html"]


_CLAIMS = [(f"{paper}/eq{n}", paper) for paper in ("one2023", "two2024") for n in range(40)]


def _graph(root: Path, change: tuple[str, str] = ("", ""), without: str = "") -> None:
    """The graph's page by itself: forty claims of two papers that rest on the first of theirs."""
    assets = root / "_static"
    vendor.copy_into(assets)
    source = (ROOT / "book/assets/graph-view.js").read_text()
    assert change[0] in source
    (assets / "graph-view.js").write_text(source.replace(*change))
    colours = {"proved": "#1b7837", "corrected": "#a6500a"}
    nodes = [
        dict(
            id=id, label="(1)", title=id, width=41, paper=paper, verdict=list(colours)[n % 2], literal="holds"
        )
        | dict(shaky=n % 3 == 0, colour=list(colours.values())[n % 2], href=f"claims/{id}.html")
        for n, (id, paper) in enumerate(_CLAIMS)
    ]
    arrows = [
        dict(id=id, source=f"{paper}/eq0", target=id) for id, paper in _CLAIMS if not id.endswith("eq0")
    ]
    elements = [{"data": data} for data in (*nodes, *({**a, "id": f"-> {a['id']}"} for a in arrows))]
    papers = {"one2023": "One 2023", "two2024": "Two 2024"}
    (assets / "claims-graph.js").write_text(
        f"window.CLAIMS = {json.dumps(dict(elements=elements, colours=colours, papers=papers))};"
    )
    for id, _ in _CLAIMS:
        if id != without:
            (root / f"claims/{id}.html").parent.mkdir(parents=True, exist_ok=True)
            (root / f"claims/{id}.html").write_text("<!doctype html><title>x</title>")
    names = ["vendor/cytoscape.min.js", "vendor/elk.bundled.js", "claims-graph.js", "graph-view.js"]
    scripts = "".join(f'<script src="_static/{name}"></script>' for name in names)
    page = (ROOT / "book/pages/graph.md").read_text().split("```{raw} html")[1].split("```")[0]
    (root / "graph.html").write_text(
        f"<!doctype html><title>x</title><style>#graph-view {{ height: 500px }}</style>{page}{scripts}"
    )


@pytest.mark.parametrize(
    ("change", "without", "said"),
    [
        (("", ""), "", ""),
        (("READABLE = 0.7", "READABLE = 0.1"), "", "too small to be read"),
        (("Object.keys(papers)[0]", '""'), "", "does not open on one paper"),
        (('location.href = target.data("href")', ""), "", "does not open claims/"),
        (("", ""), "one2023/eq7", "nodes and claim pages are not the same"),
        (('cy.nodes().difference(near).style("display", "none");', ""), "", "not the neighbours of"),
        (('node.style("display", visible ? "element" : "none");', ""), "", "hiding a verdict hides nothing"),
    ],
)
def test_the_check_of_the_graph_sees_what_it_looks_for(change, without, said, running, tmp_path, monkeypatch):
    # Clicks that do nothing are waited for to the end.
    monkeypatch.setattr(
        browser_check,
        "PATIENCE",
        3_000 if said and ("location.href" in change[0] or "visible" in change[0]) else 10_000,
    )
    monkeypatch.setattr(browser_check, "CLICKED", 1)
    _graph(tmp_path, change, without)
    problems = browser_check.check_graph(running, tmp_path)
    assert (said in " ".join(problems)) if said else not problems
