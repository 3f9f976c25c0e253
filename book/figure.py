"""Error against bound over the sequence length, as a small SVG drawn from a claim's evidence.

Colours come from the page (currentColor and a style sheet), so the picture follows light and dark mode.
"""

from __future__ import annotations

import html
import math
from typing import Any

from book.ledger import Claim

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 64, 16, 34, 44


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


def _ticks(low: float, high: float) -> list[int]:
    """At most six powers of ten that cover the range of logarithms."""
    first, last = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((last - first) / 5))
    return list(range(first, last + step, step))


class _Frame:
    """Maps tokens and errors to the picture, both on logarithmic scales."""

    def __init__(self, pieces: list[dict[str, Any]]) -> None:
        self.tokens = sorted({piece["tokens"] for piece in pieces})
        values = [v for piece in pieces for v in (piece["error"], piece["bound"]) if v > 0]
        # An error of exactly zero has no logarithm: it is drawn on the bottom line.
        self.ticks = _ticks(min(map(math.log10, values)) - 0.2, max(map(math.log10, values)) + 0.2)

    def x(self, tokens: float) -> float:
        low, high = math.log(self.tokens[0]) - 0.3, math.log(self.tokens[-1]) + 0.3
        return LEFT + (math.log(tokens) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        part = (math.log10(value) - low) / (high - low) if value > 0 else 0
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def axes(self) -> list[str]:
        """Grid lines and labels."""
        parts = []
        for power in self.ticks:
            y = self.y(10.0**power)
            parts.append(
                f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>'
            )
        for tokens in self.tokens:
            x = self.x(tokens)
            parts.append(
                f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
                f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{tokens:,}</text>'
            )
        middle = (LEFT + WIDTH - RIGHT) / 2
        return [*parts, f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">tokens N</text>']


def _line(frame: _Frame, pieces: list[dict[str, Any]], field: str, style: str) -> str:
    spots = [(frame.x(piece["tokens"]), frame.y(piece[field])) for piece in pieces]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
    marks = (
        "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots) if field == "error" else ""
    )
    return f'<g class="{field} {style}"><path d="{path}"/>{marks}</g>'


def svg(claim: Claim) -> str:
    """The picture, or an empty string where the evidence has fewer than two lengths to compare."""
    series = {key: group for key, group in points(claim).items() if len({p["tokens"] for p in group}) > 1}
    pieces = [piece for group in series.values() for piece in group]
    if not pieces:
        return ""
    frame, parts, across = _Frame(pieces), [], float(LEFT)
    for index, ((dtype, backend), group) in enumerate(series.items()):
        style = f"series-{index % 4}"
        parts += [_line(frame, group, "bound", style), _line(frame, group, "error", style)]
        alone = sum(other == dtype for other, _ in series) == 1
        name = html.escape(dtype if alone else f"{dtype}, {backend}")
        parts.append(
            f'<g class="error {style}"><circle cx="{across + 5}" cy="14" r="3.5"/></g>'
            f'<text x="{across + 14}" y="18">{name}</text>'
        )
        across += 30 + 7.2 * len(name)
    parts.append(
        f'<g class="bound"><path d="M{across} 14h24"/></g><text x="{across + 30}" y="18">bound</text>'
    )
    worst = max(piece["error"] / piece["bound"] for piece in pieces)
    what = (
        f"Measured error against its bound at {', '.join(f'{n:,}' for n in frame.tokens)} tokens; "
        f"the error is at most {worst:.2g} times the bound."
    )
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{html.escape(what)}">'
        f"<title>{html.escape(what)}</title>{''.join(frame.axes() + parts)}</svg>"
    )


def block(claim: Claim) -> str:
    """The picture as a MyST block, or an empty string."""
    picture = svg(claim)
    if not picture:
        return ""
    caption = "Measured error (dots) and its bound (dashes), both against the number of tokens."
    whole = f'<figure class="error-plot">{picture}<figcaption>{caption}</figcaption></figure>'
    return f"```{{raw}} html\n{whole}\n```"
