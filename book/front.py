"""What the front page shows at first sight: verdicts by paper, and what is printed beside what is right."""

from __future__ import annotations

import html
from urllib.parse import urlencode

from book.ledger import VERDICTS, Claim, Ledger, paper_name
from book.markup import badge, box, display, link, literal, text

WIDTH, LETTER, BAR, GAP = 640, 8, 26, 12


def verdicts(ledger: Ledger) -> str:
    """A bar a paper, divided by verdict; each part leads to its claims in the ledger table."""
    names = LETTER * (2 + max(len(paper_name(paper)) for paper in ledger.papers))
    scale = (WIDTH - names) / max(len(ledger.of(paper)) for paper in ledger.papers)
    parts = []
    for row, paper in enumerate(ledger.papers):
        top, x = row * (BAR + GAP), float(names)
        name = html.escape(paper_name(paper))
        parts.append(f'<text x="{names - LETTER}" y="{top + BAR / 2 + 4}" text-anchor="end">{name}</text>')
        for verdict in VERDICTS:
            count = sum(claim.verdict == verdict for claim in ledger.of(paper))
            if count:
                parts.append(_part(paper, verdict, count, x, top, count * scale))
                x += count * scale
    height = len(ledger.papers) * (BAR + GAP) - GAP
    said = "; ".join(f"{paper_name(paper)} {_counts(ledger.of(paper))}" for paper in ledger.papers)
    given = [v for v in VERDICTS if any(claim.verdict == v for claim in ledger.claims)]
    legend = " ".join(badge(v) for v in given)
    return literal(
        f'<figure class="verdict-bars"><svg role="img" viewBox="0 0 {WIDTH} {height}" '
        f'aria-label="{html.escape(f"Claims by verdict: {said}")}">{"".join(parts)}</svg>'
        f'<p class="legend">{legend}</p></figure>',
        "{raw} html",
    )


def _counts(claims: list[Claim]) -> str:
    counts = ((v, sum(claim.verdict == v for claim in claims)) for v in VERDICTS)
    return ", ".join(f"{n} {v}" for v, n in counts if n)


def _part(paper: str, verdict: str, count: int, x: float, top: int, width: float) -> str:
    """One part of a bar, with its count where there is room for it."""
    address = html.escape("ledger.html?" + urlencode({"paper": paper, "verdict": verdict}))
    shown = f'<text x="{x + width / 2:.1f}" y="{top + BAR / 2 + 4}" text-anchor="middle">{count}</text>'
    return (
        f'<a href="{address}" class="{html.escape(verdict)}"><title>{count} {html.escape(verdict)}</title>'
        f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR}"/>{shown if width > 20 else ""}</a>'
    )


def beside(claim: Claim) -> str:
    """What the paper prints beside what holds instead, and on what the printed formula fails."""
    if not (claim.printed and claim.corrected):
        return ""
    head = f"{link(claim, claim.reference)} ({text(paper_name(claim.paper))}): {text(claim.title)}"
    left = "\n\n".join(["**Printed**", *map(display, claim.printed)])
    right = "\n\n".join(["**Holds**", display(claim.corrected.latex), text(claim.corrected.words)])
    sides = box("{div} sides halves", "\n".join(box("{div} side", side) for side in (left, right)))
    return f"{head}\n\n{sides}"
