"""The dependency graph's data. The page lays out what it shows (ELK) and draws it (Cytoscape)."""

from __future__ import annotations

import json
from typing import Any

from book.ledger import Claim, Ledger, paper_name

COLOURS = {
    "proved": "#1b7837",
    "confirmed": "#2166ac",
    "corrected": "#a6500a",
    "refuted": "#b2182b",
    "definition": "#5f6368",
    "empirical": "#762a83",
    "unsettled": "#006d77",
    "inconsistent": "#000000",
}
"""Fill of each verdict; white text on each has a contrast above 4.5 (assets/attest.css has the same)."""

LONGEST = 22
"""Characters of the longest label in a node; the whole reference shows beside the pointer."""


def edges(ledger: Ledger) -> list[tuple[str, str]]:
    """(base, dependent) pairs without those that follow from the others (transitive reduction)."""
    below = {claim.id: ledger.foundations(claim.id) for claim in ledger.claims}
    pairs = []
    for claim in ledger.claims:
        bases = [base for base in dict.fromkeys(claim.rests_on) if base in below]
        pairs += [(base, claim.id) for base in bases if not any(base in below[other] for other in bases)]
    return pairs


def label(claim: Claim) -> str:
    """What stands in a node: the reference, shortened."""
    short = claim.reference.replace("Theorem", "Thm").replace("Remark", "Rem").replace("Eq. ", "")
    short = short.replace("Section", "Sec.").replace("Appendix", "App.")
    return short if len(short) <= LONGEST else f"{short[: LONGEST - 1].rstrip(' ,:')}…"


def width(claim: Claim) -> float:
    """Width of a node in points, for its label at 13 points."""
    return 12 + 7.2 * max(4, len(label(claim)))


def elements(ledger: Ledger) -> list[dict[str, Any]]:
    """Cytoscape's elements. `literal` gives the border, `shaky` says that something below it failed."""
    literal = {True: "holds", False: "fails", None: "open"}
    nodes: list[dict[str, Any]] = [
        {
            "data": {
                "id": c.id,
                "label": label(c),
                "title": f"{paper_name(c.paper)}, {c.reference}: {c.title}",
                "width": width(c),
                "paper": c.paper,
                "verdict": c.verdict,
                "literal": literal[c.literal_holds],
                "shaky": bool(ledger.shaky(c)),
                "colour": COLOURS[c.verdict],
                "href": f"{c.doc}.html",
            },
        }
        for c in ledger.claims
    ]
    return nodes + [{"data": {"id": f"{a} -> {b}", "source": a, "target": b}} for a, b in edges(ledger)]


def script(ledger: Ledger) -> str:
    """The JavaScript file with the graph's data."""
    papers = {key: paper_name(key) for key in ledger.papers}
    data = {"elements": elements(ledger), "colours": COLOURS, "papers": papers}
    return f"window.CLAIMS = {json.dumps(data, ensure_ascii=False)};\n"
