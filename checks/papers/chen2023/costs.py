"""Costs of Figure 2 as formulas for whole layers, and the operations that torch counts in the modules.

A layer has width d in H heads of width p = d / H. One multiplication with its addition counts as one, as in
Figure 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.papers.chen2023.table_data import LRA, LRA_LENGTHS, TABLE_2, TABLE_4, UEA, UEA_LENGTHS


@dataclass(frozen=True)
class Layer:
    """Sizes of an attention layer; ``rows`` of f(X) (0: absent), ``directions`` s."""

    width: int
    heads: int
    directions: int
    rows: int = 0

    @property
    def p(self) -> int:
        return self.width // self.heads


UEA_LAYER = Layer(512, 8, 30, 300)
UEA_INDEPENDENT = Layer(512, 8, 30)
LRA_LAYER = Layer(64, 2, 30, 300)


def projections(layer: Layer, n: int, count: int) -> int:
    """``count`` maps of N tokens from d to d."""
    return count * n * layer.width**2


def canonical(layer: Layer, n: int) -> int:
    """Scores and weighted sums of all heads, N² p each: what Figure 2 counts, N² (d_k + d_v)."""
    return 2 * layer.heads * n**2 * layer.p


def primal(layer: Layer, n: int) -> int:
    """f(X)ᵀW for both sides, both scores, and the map from 2s to d_v: 2nps + 2Nps + 2Ns d_v for each head."""
    s, p, m = layer.directions, layer.p, min(layer.rows, n)
    return layer.heads * (2 * m * p * s + 2 * n * p * s + 2 * n * s * p)


def whole(kind: str, layer: Layer, n: int) -> int:
    """The layer with its projections: query, key, value and output, or query, key and output."""
    return (
        canonical(layer, n) + projections(layer, n, 4)
        if kind == "canonical"
        else primal(layer, n) + projections(layer, n, 3)
    )


def module(kind: str, layer: Layer, n: int) -> Any:
    """The "canonical" or "primal" module of these sizes, for sequences of N tokens."""
    from checks.tensors.systems.attention import CanonicalAttention
    from checks.tensors.systems.primal import PrimalAttention

    if kind == "canonical":
        return CanonicalAttention(layer.width, layer.heads)
    rows = min(layer.rows, n) if layer.rows else None
    return PrimalAttention(layer.width, layer.heads, layer.directions, tokens=rows)


def counted(kind: str, layer: Layer, n: int) -> int:
    """The multiplications that torch's counter sees in a forward pass of the module, without computing it."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        own, x = module(kind, layer, n), torch.empty(1, n, layer.width)
        with FlopCounterMode(display=False) as counter:
            own(x)
    return counter.get_total_flops() // 2


def stored(kind: str, layer: Layer, n: int) -> int:
    """Numbers that a layer keeps for its backward pass, as autograd saves them, parameters and input
    left out.
    """
    import torch

    layer_, x = module(kind, layer, n), torch.zeros(1, n, layer.width, requires_grad=True)
    own = {p.untyped_storage().data_ptr() for p in (*layer_.parameters(), x)}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = layer_(x)  # held, so that no storage is used twice
    del result
    return sum(kept.values())


@climbing()
def counted_operations(n: int, a: Any, options: Options) -> Evidence:
    """The formulas of Figure 2 with the projections against the operations that torch counts in the
    modules.
    """
    off = 0
    for layer in (UEA_LAYER, LRA_LAYER, UEA_INDEPENDENT):
        for kind in ("canonical", "primal"):
            off = max(off, abs(counted(kind, layer, n) - whole(kind, layer, n)))
    ratio = canonical(UEA_LAYER, n) / primal(UEA_LAYER, n)
    layers = whole("canonical", UEA_LAYER, n) / whole("primal", UEA_LAYER, n)
    detail = (
        f"formulas against torch's count, three layers of both kinds; width {UEA_LAYER.width}, "
        f"{UEA_LAYER.heads} heads, s = {UEA_LAYER.directions}, n = {min(UEA_LAYER.rows, n)} rows: canonical "
        f"attention takes {ratio:.3g} times the multiplications of Primal-Attention with the map from 2s to "
        f"d_v, {layers:.3g} times with the projections"
    )
    return Evidence(
        "tensor",
        "measured",
        off == 0,
        detail,
        error=float(off),
        bound=0.0,
        tokens=n,
        dtype="float32",
        device="meta",
        backend="torch's FLOP counter",
    )


@dataclass(frozen=True)
class Row:
    """One data set of Table 2 or 4: printed ratio of times, and ratios of multiplications."""

    name: str
    tokens: int
    printed: float
    attention: float
    layer: float


def rows_of_table(number: int) -> list[Row]:
    """How many times as long the Transformer takes as Primal. (printed), and what counting operations gives.

    Raises ValueError for a table other than 2 and 4.
    """
    if number not in (2, 4):
        raise ValueError(f"Table {number} has no times of whole models by length; 2 and 4 have")
    names, lengths, layer, table = (
        (UEA, UEA_LENGTHS, UEA_LAYER, TABLE_2) if number == 2 else (LRA, LRA_LENGTHS, LRA_LAYER, TABLE_4)
    )
    found = []
    for at, (name, n) in enumerate(zip(names, lengths, strict=True)):
        printed = float(table["Trans."][at] / table["Primal."][at])
        found.append(
            Row(
                name,
                n,
                printed,
                canonical(layer, n) / primal(layer, n),
                whole("canonical", layer, n) / whole("primal", layer, n),
            )
        )
    return found
