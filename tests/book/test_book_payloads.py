"""What a user or a data file fills is text in the book, whatever it looks like: read in Chromium."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import book_fake_ledger
import pytest

pytest.importorskip("yaml", reason="the book's tools are an extra: make .venv/book")
pytest.importorskip("playwright", reason="the book's tools are an extra: make .venv/book")

from book import browser_check, build, site
from book.ledger import LedgerError, parse
from checks.audit import Paper, current

PAYLOADS = (
    "<script>fired(1)</script>",
    "<img src=x onerror=fired(2)>",
    '"><svg onload=fired(3)>',
    "</code></title><script>fired(4)</script>",
    "` `` <script>fired(5)</script>",
    "``` \n\n<script>fired(6)</script>",
    "```\n\n```{raw} html\n<script>fired(7)</script>\n```",
    "````\n\n:::::\n\n<script>fired(8)</script>",
    "[x](javascript:fired(9))",
    "--> {% raw %} <script>fired(10)</script>",
    "```\n\n```{eval-rst}\n.. raw:: html\n\n   <script>fired(11)</script>\n```",
    "x | <script>fired(12)</script> | $a$",
    "<a href='javascript:fired(13)'>x</a>",
    "{raw-html}`<script>fired(14)</script>`",
    "<iframe srcdoc='<script>parent.fired(15)</script>'>",
)
FORMULA = r"x = \text{<script>fired(0)</script> <img src=x onerror=fired(0)>}"
SEEN = """() => [...document.querySelectorAll('*')].filter((e) =>
    (e.tagName === 'SCRIPT' && e.textContent.includes('fired(')) || e.tagName === 'IFRAME' ||
    [...e.attributes].some((a) => (a.name.startsWith('on') || /^\\s*javascript:/.test(a.value)) && a.value.includes('fired('))
).map((e) => e.outerHTML.slice(0, 200))"""


def _hostile(value: Any, payload: str) -> Any:
    """A record's value with the payload wherever there is free text."""
    if isinstance(value, str):
        return payload
    if isinstance(value, list):
        return [_hostile(each, payload) for each in value]
    return {k: _hostile(v, payload) for k, v in value.items()} if isinstance(value, dict) else value


def _record(number: int, payload: str) -> dict[str, Any]:
    plain = book_fake_ledger.record(f"x2026/eq{number}", "", "", "corrected", severity="misprint", counterexample="x",
                                    corrected={"latex": "x", "words": "x"}, added="x", place="x", printed=["x"], failures=[
                                        {"latex": "x", "severity": "misprint", "because": "x"}],
                                    reading={"paper": "x", "record": "x", "outcome": "x", "version": "x", "stale": False})  # fmt: skip
    plain["evidence"] = book_fake_ledger._evidence("proved") + book_fake_ledger._tensor_pieces()
    record: dict[str, Any] = _hostile(plain, payload)
    kept = {name: plain[name] for name in ("id", "paper", "verdict", "severity", "rests_on")}
    for place in (record["statement"], record["corrected"], *record["steps"], *record["failures"]):
        place["latex"] = FORMULA
    record["declaration"] = f"claim({payload!r})"  # Sphinx warns of what is no Python
    return {**record, **kept, "printed": [FORMULA], "notes": f"One.\n\n{payload}"}


ICONS = """async () => {
  const icons = [...document.querySelectorAll(".fa-magnifying-glass")];
  const style = getComputedStyle(icons[0], "::before");
  await document.fonts.load(`${style.fontWeight} 16px ${style.fontFamily}`);
  const drawn = document.fonts.check(`${style.fontWeight} 16px ${style.fontFamily}`);
  return drawn ? [...new Set(icons.map((i) => getComputedStyle(i, "::before").content))] : [];
}"""


def test_no_text_of_a_record_or_setting_runs_in_the_browser(tmp_path, monkeypatch):
    try:
        browser_check.chromium()
    except browser_check.NoBrowser as error:
        pytest.skip(str(error))
    named = Paper("x2026", PAYLOADS[0], " ".join(PAYLOADS))
    audit = replace(current(), title=" ".join(PAYLOADS), papers=(*current().papers, named))
    monkeypatch.setattr("checks.audit._current", [audit])
    records = [_record(n, payload) for n, payload in enumerate(PAYLOADS, 1)]
    ledger = parse(records, "ledger", [f"svr.feature_map={p}" for p in PAYLOADS])
    work = tmp_path / "work"
    site.assemble(ledger, records, work)
    own = ("index", "ledger", "assumptions", "claims/x2026", *(c.doc for c in ledger.claims))
    for path in work.rglob("*.md"):
        if path.relative_to(work).with_suffix("").as_posix() not in own:
            path.unlink()
    (work / "index.md").write_text("# Index\n")
    chapters = "".join(f"  - file: {name}\n" for name in own[1:])
    (work / "_toc.yml").write_text(
        f"format: jb-book\nroot: index\nchapters:\n{chapters}".replace("  - ", "- ")
    )
    pages = build.run_jupyter_book(work)
    with browser_check.browser() as running:
        reader = browser_check.Reader(running)
        for name in own[1:]:
            reader.open((pages / f"{name}.html").as_uri(), name)
            assert reader.tab.evaluate(SEEN) == [], name
            assert name == "assumptions" or "fired(" in reader.tab.inner_text("article"), name
        assert reader.tab.evaluate(ICONS) == ['"\uf002"']  # a letter, drawn without the theme's script
    assert not [p for p in reader.problems if "script error" in p or "fired" in p], reader.problems


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "../../x"), ("id", "a/<script>"), ("id", "/etc/x"), ("paper", "x`<b>"), ("title", ["x"]), ("steps", ["x"]),
        ("evidence", "x"), ("assumptions", [{}]), ("mutants", []), ("notes", 3), ("rests_on", "abc"),
    ],
)  # fmt: skip
def test_a_record_of_another_shape_or_with_a_path_for_a_name_is_refused(field, value):
    with pytest.raises(LedgerError, match=field):
        parse([{**book_fake_ledger.record("a/b", "x", "x"), field: value}], "ledger")
