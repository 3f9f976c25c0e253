"""Written pages: MyST files in which a few marks are replaced by what the ledger says.

A fenced block

    ```{ledger} steps nguyen2023/eq8
    ```

shows a part of one claim (`formula`, `statement`, `steps`, …; see PARTS) or a view of the whole ledger
(`summary`, `findings`, …; see BLOCKS). The role {claim}`nguyen2023/thm1` is a link with the claim's verdict.
`@LEDGER@` in a code cell is the name of a JSON file with the records that the page names; the name changes
with their content, so that an executed page is never stale.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from book import claim_page, figure, overview
from book.ledger import Claim, Ledger, LedgerError
from book.markup import badge, code, link

BLOCKS: dict[str, Callable[[Ledger], str]] = {
    "summary": overview.summary,
    "findings": overview.findings,
    "verdicts": overview.verdict_legend,
    "severities": overview.severity_legend,
    "grades": overview.grade_legend,
    "corrections": overview.corrections_index,
    "table": overview.ledger_table,
    "assumptions": overview.assumptions,
    "graph-list": overview.graph_list,
}
PARTS: dict[str, Callable[[Claim], str]] = {
    "formula": claim_page.formula,
    "statement": claim_page.statement,
    "corrected": claim_page.corrected,
    "counterexample": claim_page.counterexample,
    "steps": claim_page.steps,
    "evidence": claim_page.evidence,
    "mutants": claim_page.mutants,
    "figure": figure.block,
}
_BLOCK = re.compile(r"^(`{3,})\{ledger\} +(\S+)(?: +(\S+))?[ \t]*\n\1[ \t]*$", re.MULTILINE)
_ROLE = re.compile(r"\{claim\}`([^`\s]+)`")
_ID = re.compile(r"\b[a-z]+\d*/[A-Za-z0-9.-]*[A-Za-z0-9]")


def absent(claim_id: str) -> str:
    """What a page says of a claim that the ledger it was built from does not hold."""
    return f":::{{note}}\nThe ledger of this book has no record of {code(claim_id)}.\n:::"


def _block(ledger: Ledger, page: str, name: str, claim_id: str | None) -> str:
    if claim_id is None and name in BLOCKS:
        return BLOCKS[name](ledger)
    if claim_id is None or name not in PARTS:
        raise LedgerError(f"{page}: no ledger block {name!r}; allowed: {', '.join([*BLOCKS, *PARTS])}")
    claim = ledger.by_id.get(claim_id)
    if claim is None:
        return absent(claim_id)
    return PARTS[name](claim) or f":::{{note}}\n{link(claim)} has no {name}.\n:::"


def _role(ledger: Ledger, claim_id: str) -> str:
    claim = ledger.by_id.get(claim_id)
    return f"{link(claim)} {badge(claim.verdict)}" if claim else code(claim_id)


def expand(source: str, ledger: Ledger, page: str = "page") -> str:
    """The page with its ledger blocks and claim roles replaced. Raises LedgerError for an unknown block."""
    source = _BLOCK.sub(lambda m: _block(ledger, page, m[2], m[3]), source)
    return _ROLE.sub(lambda m: _role(ledger, m[1]), source)


def extract(source: str, records: list[dict[str, Any]]) -> str:
    """JSON with the raw records whose ids the page names."""
    named = set(_ID.findall(source))
    return json.dumps(
        [r for r in records if r.get("id") in named], indent=1, ensure_ascii=False, sort_keys=True
    )


def render(path: Path, ledger: Ledger, records: list[dict[str, Any]]) -> dict[str, str]:
    """The files a written page becomes: itself, and its extract of the ledger where it asks for one."""
    source = path.read_text("utf8")
    files = {}
    if "@LEDGER@" in source:
        data = extract(source, records)
        name = f"{page_name(path)}-{hashlib.sha256(data.encode()).hexdigest()[:12]}.json"
        source = source.replace("@LEDGER@", name)
        files[name] = data
    files[f"{page_name(path)}.md"] = expand(source, ledger, path.name)
    return files


def page_name(path: Path) -> str:
    """Name of a written page in the book: without the number that orders it among its neighbours."""
    return re.sub(r"^\d+-", "", path.stem)
