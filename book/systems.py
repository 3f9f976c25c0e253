"""The table of every attention of nguyen2023 and what it was compared with, filled from the ledger."""

from __future__ import annotations

from typing import Any

from book.claim_page import finding, number, outcome
from book.ledger import Ledger
from book.markup import code, link, scroll, table, text

HEADINGS = {
    "definition": "Its definition",
    "expansion": "The derived expansion",
    "optimum": "An optimal fit",
    "torch": "torch's attention",
}


def systems(ledger: Ledger) -> str:
    """One row a system, one column a comparison; below, why what is missing is missing."""
    from checks.papers.nguyen2023.coverage import COLUMNS, ROWS

    rows = [[text(row.system), *(_cell(ledger, getattr(row, column)) for column in COLUMNS)] for row in ROWS]
    reasons = dict.fromkeys(c for row in ROWS for c in row[1:] if isinstance(c, str))
    shown = scroll(table(["System", *(HEADINGS[c] for c in COLUMNS)], rows), "evidence")
    return "\n\n".join([shown, *(f"- None: {text(reason)}." for reason in reasons)])


def _cell(ledger: Ledger, cell: Any) -> str:
    """The claim with the longest sequence, or "exact" for the small instance of a fit; the outcome
    where it did not pass.
    """
    if isinstance(cell, str):
        return "none"
    claim = ledger.by_id.get(cell.claim)
    if claim is None:
        return code(cell.claim)
    pieces = [e for e in claim.evidence if cell.says in finding(e)]
    if not pieces:
        return f"{link(claim)} not in this ledger"
    worst = next((e for e in pieces if e.get("passed") is not True), None)
    longest = worst or max(pieces, key=lambda e: e.get("tokens") or 0)
    size = number(longest["tokens"]) if longest.get("tokens") else "exact"
    return f"{link(claim)}: {size}" + ("" if worst is None else f" {outcome(worst)}")
