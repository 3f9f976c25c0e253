"""Inputs of the systems of nguyen2023, and their values under the names that the declared formulas use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch

from checks.claim import Options
from checks.tensors.core.bounded import Bounded
from checks.tensors.core.inputs import make_instance
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems.nguyen2023 import Head
from derivations.theories.svr import choices as read
from derivations.theories.svr.regression import SvrAssumptions

WIDTH = 64  # of queries and keys
BN_EPS = 0.05  # the ε of (20): large, so that leaving it out shows in float32


def in_bfloat16(assumptions: Any, options: Options) -> str:
    """Why the systems are not run in bfloat16; "" for another number type."""
    why = "in bfloat16 rounding the prepared keys moves scores by about one: no bound rejects"
    return why if options.dtype == "bfloat16" else ""


class Choices(NamedTuple):
    """What the assumptions of theory svr say of the systems: β, statistics, tokens a key for each head,
    downsampling, pattern and number of the keys that a sparse query keeps, taps of the convolutions.
    """

    beta: float
    statistics: str
    widths: tuple[int, ...]
    downsampling: str
    pattern: str
    kept: int
    taps: int
    taps_2d: int


def choices(assumptions: SvrAssumptions | None = None, n: int = 0) -> Choices:
    """The choices of the assumptions (the paper's without any) for n tokens; a free β is 1/2 here."""
    a = assumptions or SvrAssumptions()
    beta, (pattern, kept) = read.beta(a.beta), read.mask(a.mask)
    return Choices(
        0.5 if beta is None else float(beta),
        a.statistics,
        read.scales(a.scales),
        a.downsampling,
        pattern,
        n if kept is None else kept,
        read.kernel_size(a.kernel_size),
        read.kernel_size(a.kernel_size_2d),
    )


@lru_cache(maxsize=4)
def raw_heads(n: int, options: Options, count: int = 1, d_v: int = 8) -> tuple[Head, ...]:
    """Heads of queries and keys, `WIDTH` wide, whose coordinates have different means and deviations."""
    found = make_instance(n, WIDTH, d_v, heads=(count,), seed=options.seed, device=options.device)
    stretch = 0.6 + 0.1 * (torch.arange(WIDTH, device=found.q.device) % 8)
    return tuple(
        systems.head(q * stretch + 0.3, k * stretch + 0.3, v) for q, k, v in zip(*found, strict=True)
    )


@lru_cache(maxsize=2)
def projections(options: Options, count: int, d_v: int = 8) -> Any:
    """W_O^s, (count, d_v, d_v)."""
    generator = torch.Generator().manual_seed(options.seed)
    return torch.randn(count, d_v, d_v, generator=generator, dtype=torch.float64).to(options.device)


def table(own: Any, names: tuple[str, str, str] = ("Q", "K", "V")) -> dict[str, Any]:
    """The values of a head under the names of a formula."""
    return dict(zip(names, own, strict=True))


def one_head(own: Any, weights: Any, **more: Any) -> dict[str, Any]:
    """A head as head 1 of 1, the way the formulas of Section 2.3.2 name it."""
    values = {**table(own, ("q^s", "k^s", "v^s")), "W_O": Bounded(weights), **more}
    return {name: x[None] if name not in ("eps", "beta") else x for name, x in values.items()}


def constant(value: float, options: Options) -> Any:
    """A number of the program, taken as exact."""
    return Bounded(torch.tensor(value, dtype=torch.float64, device=options.device))


def heads_of_x(own: Any, weights: Any) -> dict[str, Any]:
    """A head as head 1 of 1, with its queries under x^s: (tokens, 1, d)."""
    return {"x^s": own.q[:, None], "k^s": own.k[None], "v^s": own.v[None], "W_O": Bounded(weights)[None]}
