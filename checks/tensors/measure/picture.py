"""A picture of many heads: one map a quantity, layers by heads, and the decay of the singular values."""

from __future__ import annotations

import math
from io import BytesIO
from typing import Any

from checks.tensors.measure.quantities import QUANTITIES, Heads, Quantity, values

SHOWN = ("log C*", "angle of V", "stable", "partic.", "off queries")
LABELS = 12
"""Layers, heads or lines beyond which not each has its name."""


def draw(pyplot: Any, heads: Heads, kind: str) -> bytes:
    """The picture as a file of a kind that matplotlib writes ("png", "svg", "pdf")."""
    figure, axes = pyplot.subplots(2, 3, figsize=(12, 7), layout="constrained")
    maps = [q for q in QUANTITIES if q.name in SHOWN]
    for axis, quantity in zip(axes.flat, maps, strict=False):
        _map(figure, axis, quantity, heads)
    _decay(axes.flat[len(maps)], heads)
    drawn = BytesIO()
    try:
        figure.savefig(drawn, format=kind)
    finally:
        pyplot.close(figure)
    return drawn.getvalue()


def grid(quantity: Quantity, heads: Heads) -> tuple[list[str], list[int], list[list[float]]]:
    """Layers, numbers of heads, and the quantity of each, NaN where there is none."""
    places = {name: (str(head["layer"]), int(head["number"])) for name, head in heads.items()}
    layers = list(dict.fromkeys(layer for layer, _ in places.values()))
    numbers = sorted({number for _, number in places.values()})
    known = {places[name]: value for name, value in values(quantity, heads).items()}
    return layers, numbers, [[known.get((layer, n), math.nan) for n in numbers] for layer in layers]


def _map(figure: Any, axis: Any, quantity: Quantity, heads: Heads) -> None:
    layers, numbers, cells = grid(quantity, heads)
    drawn = axis.imshow(cells, aspect="auto", cmap="viridis", interpolation="nearest")
    figure.colorbar(drawn, ax=axis)
    axis.set(title=_plain(quantity.name), xlabel="head", ylabel="layer")
    for place, names in ((axis.set_xticks, numbers), (axis.set_yticks, layers)):
        step = math.ceil(len(names) / LABELS)
        place(range(0, len(names), step), [_plain(str(name))[-12:] for name in names[::step]])


def _decay(axis: Any, heads: Heads) -> None:
    for name, head in heads.items():
        sigma = head["spectrum"]["values"]
        label = _plain(name) if len(heads) <= LABELS else None
        axis.semilogy(
            range(1, len(sigma) + 1), [x / sigma[0] for x in sigma], ".-", label=label, linewidth=0.8
        )
    axis.set(title="singular values of A", xlabel="i", ylabel="sigma_i / sigma_1")
    if len(heads) <= LABELS:
        axis.legend(fontsize="small")


def _plain(text: str) -> str:
    """A name of a file or model, in which matplotlib finds no mathematics."""
    return "".join(c if c.isprintable() else "?" for c in text[:40]).replace("$", r"\$")
