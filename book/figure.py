"""A claim's measured errors against their bounds over the sequence length."""

from __future__ import annotations

from typing import Any

from book.chart import Line, chart
from book.ledger import Claim


def points(claim: Claim) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Evidence that has tokens, error and bound, in series by number type and backend."""
    series: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for piece in claim.evidence:
        if piece.get("tokens") and piece.get("bound") and piece.get("error") is not None:
            key = (piece.get("dtype") or "", piece.get("backend") or "")
            series.setdefault(key, []).append(piece)
    for pieces in series.values():
        pieces.sort(key=lambda piece: piece["tokens"])
    return series


def block(claim: Claim) -> str:
    """The picture as a MyST block, or an empty string where no series has two lengths to compare."""
    series = {key: group for key, group in points(claim).items() if len({p["tokens"] for p in group}) > 1}
    lines = []
    for colour, ((dtype, backend), group) in enumerate(series.items()):
        alone = sum(other == dtype for other, _ in series) == 1
        name = dtype if alone else f"{dtype}, {backend}"
        lines.append(Line(name, [(p["tokens"], p["error"]) for p in group], colour))
        lines.append(Line("", [(p["tokens"], p["bound"]) for p in group], colour, dashed=True))
    if not lines:
        return ""
    pieces = [piece for group in series.values() for piece in group]
    worst = max(piece["error"] / piece["bound"] for piece in pieces)
    lengths = ", ".join(f"{n:,}" for n in sorted({piece["tokens"] for piece in pieces}))
    what = (
        f"Measured error against its bound at {lengths} tokens; the error is at most {worst:.2g} times "
        "the bound."
    )
    caption = "Measured error (dots) and its bound (dashes), both against the number of tokens."
    return chart(lines, "tokens N", "error, bound", what, caption)
