"""Written chapters as notebooks: their words and code cells, and calls that judge and derive anew what the
ledger shows there.

They run where the distribution is installed: everything is imported from `attention_audit`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from book.chapters import ID, page_name
from book.ledger import Ledger

_FENCE = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n)?(?P<code>.*?)^```$|^```\{ledger\} +(?P<block>[^\n]*)\n```$",
    re.MULTILINE | re.DOTALL,
)
_ROLE = re.compile(r"\{claim\}`([^`\s=]+)(?:=[^`]*)?`")
_PAGE = re.compile(r"\[([^\]]*)\]\([^)\s]*\.md[^)]*\)")
_IMPORT = re.compile(r"^(from|import) (?=(?:derivations|solvers|checks|book)\b)", re.MULTILINE)
_MARK = re.compile(r"^# .*@(?:DERIVATIONS|SOURCE [^@]*)@\n|  # .*@DERIVATIONS@", re.MULTILINE)
_RESULT = re.compile(r'"@RESULT ([^@]+)@"')
_LEDGER = 'Path("@LEDGER@").read_text()'
START = "from attention_audit import derive, judged_records, recorded_result, show, what_changes"


def notebook(path: Path, ledger: Ledger) -> str:
    """A written chapter as the JSON of a notebook (nbformat 4.5)."""
    source = re.sub(r"\A---\n.*?^---\n", "", path.read_text("utf8"), flags=re.DOTALL | re.MULTILINE)
    title, _, rest = source.partition("\n")
    install = (
        "This notebook needs the package `attention-audit` (`pip install .` in a clone of its repository)."
    )
    cells = [("markdown", f"{title}\n\n{install}"), ("code", START), *_cells(rest, ledger)]
    written = [_cell(n, kind, text) for n, (kind, text) in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": written, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def _cells(source: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """The kinds and texts of the cells of a chapter, in order."""
    fences, last = list(_FENCE.finditer(source)), 0
    named = sorted({id for fence in fences for id in ID.findall(fence["code"] or "")} & set(ledger.by_id))
    for fence in fences:
        yield from _words(source[last : fence.start()], ledger)
        last = fence.end()
        if fence["code"] is not None:
            yield "code", _code(fence["code"], named)
        else:
            yield from (("code", call) for call in _calls(fence["block"].split(), ledger))
    yield from _words(source[last:], ledger)


def _words(text: str, ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Markdown: claims by their ids and verdicts, links to other pages as their words."""

    def role(match: re.Match[str]) -> str:
        claim = ledger.by_id.get(match[1])
        return f"`{match[1]}`" + (f" (*{claim.verdict}*)" if claim else "")

    if text := _PAGE.sub(r"\1", _ROLE.sub(role, text)).strip():
        yield "markdown", text


def _calls(block: list[str], ledger: Ledger) -> Iterator[str]:
    """What a notebook calls for a block of the ledger: a derivation, or the claims that it shows."""
    name, wanted = (*block, "")[:2]
    if name == "live":
        yield f'derive("{wanted}")  # with a knob set: derive("{wanted}", KNOB="VALUE"), and what_changes(…)'
    elif name == "rows":
        yield from (f'show("{c.id}")' for c in ledger.claims if c.id.startswith(wanted))
    elif wanted in ledger.by_id:
        yield f'show("{wanted}")'


def _code(text: str, named: list[str]) -> str:
    """A cell that imports from the distribution, and reads records and results that came with it."""
    text = _IMPORT.sub(r"\1 attention_audit.", _MARK.sub("", text))
    text = _RESULT.sub(r'recorded_result("\1")', text)
    asked = ", ".join(f'"{id}"' for id in named)
    return text.replace(_LEDGER, f"json.dumps(judged_records({asked}))").strip()


def place(path: Path) -> str:
    """Where the notebook of a written chapter lies in the working folder."""
    return f"notebooks/{path.parent.name}-{page_name(path)}.ipynb"


def offered(page: str, path: Path) -> str:
    """The page with a link to its notebook under its title."""
    link = f"{{download}}`This chapter as a notebook </{place(path)}>`"
    return re.sub(r"^# .*$", lambda title: f"{title[0]}\n\n{link}", page, count=1, flags=re.MULTILINE)
