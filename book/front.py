"""What the front page shows at first sight: verdicts by paper, and what is printed beside what is right."""

from __future__ import annotations

import html
from urllib.parse import urlencode

from book.ledger import VERDICTS, Claim, Ledger, paper_name
from book.markup import badge, box, display, link, literal, text


def verdicts(ledger: Ledger) -> str:
    """A bar a paper, divided by verdict; each part leads to its claims in the ledger table."""
    longest = max(len(ledger.of(paper)) for paper in ledger.papers)
    rows = "".join(_bar(paper, ledger.of(paper), longest) for paper in ledger.papers)
    given = [v for v in VERDICTS if any(claim.verdict == v for claim in ledger.claims)]
    legend = " ".join(badge(v) for v in given)
    return literal(
        f'<figure class="verdict-bars">{rows}<p class="legend">{legend}</p></figure>', "{raw} html"
    )


def _bar(paper: str, claims: list[Claim], longest: int) -> str:
    """A paper's name and its bar, as wide as it has claims; a count shows where it has room on a phone."""
    parts = []
    for verdict in VERDICTS:
        if count := sum(claim.verdict == verdict for claim in claims):
            address = html.escape("ledger.html?" + urlencode({"paper": paper, "verdict": verdict}))
            said = f"{count} {html.escape(verdict)}"
            shown = count if 20 * count > longest else ""
            look = f'class="{html.escape(verdict)}" style="flex-grow: {count}"'
            parts.append(f'<a href="{address}" {look} title="{said}" aria-label="{said}">{shown}</a>')
    bar = f'<span class="bar" style="width: {100 * len(claims) / longest:.1f}%">{"".join(parts)}</span>'
    return f'<div><span>{html.escape(paper_name(paper))}</span><span class="room">{bar}</span></div>'


def beside(claim: Claim) -> str:
    """What the paper prints beside what holds instead, and on what the printed formula fails."""
    if not (claim.printed and claim.corrected and claim.verdict == "corrected"):
        return ""
    head = f"{link(claim, claim.reference)} ({text(paper_name(claim.paper))}): {text(claim.title)}"
    left = "\n\n".join(["**Printed**", *map(display, claim.printed)])
    right = "\n\n".join(["**Holds**", display(claim.corrected.latex), text(claim.corrected.words)])
    sides = box("{div} sides halves", "\n".join(box("{div} side", side) for side in (left, right)))
    return f"{head}\n\n{sides}"
