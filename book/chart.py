"""Small charts on logarithmic axes as SVG; colours come from the page's style sheet, light or dark."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from book.markup import literal

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 64, 16, 18, 46
COLOURS = 5  # series-0 … series-4 in attest.css; a sixth series has the colour of the first


class Line(NamedTuple):
    """One line: its name in the legend ("" for none), points (x, y) with x > 0 and y >= 0, and how it
    is drawn.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: int = 0
    dashed: bool = False


class _Axes:
    def __init__(self, lines: Sequence[Line]) -> None:
        xs = [x for line in lines for x, _ in line.points]
        ys = [y for line in lines for _, y in line.points if y > 0]
        self.x_ticks = _spread(sorted(set(xs)))
        self.low_x, self.high_x = math.log(min(xs)) - 0.2, math.log(max(xs)) + 0.2
        self.zeros = any(y == 0 for line in lines for _, y in line.points)
        self.y_ticks = _ticks(min(ys) / (2 if self.zeros else 1), max(ys))

    def x(self, value: float) -> float:
        return LEFT + (math.log(value) - self.low_x) / (self.high_x - self.low_x) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Zero has no logarithm: it is drawn on the bottom line, which says so."""
        low, high = math.log(self.y_ticks[0]), math.log(self.y_ticks[-1])
        part = (math.log(value) - low) / (high - low) if value > 0 else 0
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def drawn(self, x_name: str, y_name: str) -> list[str]:
        parts = [f'<text x="{LEFT}" y="{TOP - 6}">{html.escape(y_name)}</text>']
        for n, tick in enumerate(self.y_ticks):
            y, label = self.y(tick), "0" if self.zeros and n == 0 else _label(tick)
            parts.append(
                f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
                f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
            )
        for tick in self.x_ticks:
            x = self.x(tick)
            parts.append(
                f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
                f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{_counted(tick)}</text>'
            )
        middle = (LEFT + WIDTH - RIGHT) / 2
        return [
            *parts,
            f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(x_name)}</text>',
        ]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers around the range: powers of ten, or single digits too where it is narrow."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high * 1.001))
    if math.log10(high / low) > 1.3:
        step = max(1, math.ceil((last - first) / 5))
        return [10.0**power for power in range(first, last + step, step)]
    fine = [digit * 10.0**power for power in range(first, last + 1) for digit in range(1, 10)]
    below = [t for t in fine if t <= low][-1:]
    between = [t for t in fine if low < t < high]
    return [*below, *between[:: max(1, len(between) // 5)], *[t for t in fine if t >= high and t > low][:1]]


def _label(tick: float) -> str:
    digit, _, power = f"{tick:.0e}".partition("e")
    return f"{tick:.3g}" if 1e-3 < tick < 1e5 else f"{digit}e{int(power)}"


def _counted(tick: float) -> str:
    return f"{tick:,.0f}" if tick >= 10 else f"{tick:.3g}"


def _spread(values: list[float]) -> list[float]:
    """At most eight of the values, evenly over their ranks, the first and the last among them."""
    if len(values) <= 8:
        return values
    return [values[round(i * (len(values) - 1) / 7)] for i in range(8)]


def chart(lines: Sequence[Line], x_name: str, y_name: str, summary: str, caption: str) -> str:
    """The chart as a MyST block; an empty string where nothing is above zero."""
    lines = [line for line in lines if line.points]
    if not any(y > 0 for line in lines for _, y in line.points):
        return ""
    axes = _Axes(lines)
    parts = axes.drawn(x_name, y_name)
    for line in lines:
        spots = [(axes.x(x), axes.y(y)) for x, y in line.points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        marks = "" if line.dashed else "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in spots)
        kind = "bound" if line.dashed else "error"
        title = f"<title>{html.escape(line.name)}</title>" if line.name else ""
        parts.append(f'<g class="{kind} series-{line.colour % COLOURS}">{title}<path d="{path}"/>{marks}</g>')
    picture = (
        f'<svg role="img" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-label="{html.escape(summary)}">{"".join(parts)}</svg>'
    )
    legend = "".join(
        f'<span class="key series-{line.colour % COLOURS}">{html.escape(line.name)}</span>'
        for line in lines
        if line.name
    )
    return literal(
        f'<figure class="error-plot">{picture}<p class="legend">{legend}</p>'
        f"<figcaption>{html.escape(caption)}</figcaption></figure>",
        "{raw} html",
    )
