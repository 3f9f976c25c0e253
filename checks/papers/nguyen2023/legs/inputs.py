"""Legs of residual attention with projections and of attention on convolutions: formulas against systems.

A claim's formula, and the expansion that the dualiser derives, are evaluated at sampled queries and compared
with the system of `checks.tensors.systems.nguyen2023`; torch's own layers and attention kernel are the second
engine. Both sides carry proved error bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing, skipped
from checks.papers.nguyen2023 import convolution_formulas as cv
from checks.papers.nguyen2023 import residual_formulas as re
from checks.papers.nguyen2023.convolution_formulas import GRID
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.bounded import Bounded
from checks.tensors.systems.cases import choices, in_bfloat16, raw_heads, table
from checks.tensors.systems.formulas import Formula, agree, engines, given
from derivations.calculus.index import Index
from derivations.theories.svr.regression import d, i

DENSE = 4096  # tokens up to which a formula that names an N x N matrix is evaluated


# ---------------------------------------------------------------- residual and projections


@lru_cache(maxsize=2)
def tokens_and_maps(n: int, options: Options) -> tuple[Any, Any]:
    """Tokens (n, 64) and three projections (64, 64) each."""

    generator = torch.Generator().manual_seed(options.seed + 2)
    maps = torch.randn(3, 64, 64, generator=generator, dtype=torch.float64).to(options.device) / 8
    return raw_heads(n, options)[0].k, maps


@climbing(refuses=in_bfloat16)
def residual_projections(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Residual attention with projections: formula, derived expansion, and torch's linear layers and
    kernel.
    """

    tokens, maps = tokens_and_maps(n, options)
    system = systems.residual(tokens, *maps, dtype=options.dtype)
    names = {"x_train": tokens, **{f"W_{c}": Bounded(m) for c, m in zip("QKV", maps, strict=True)}}
    statement = re.outside()
    formula = Formula(statement.rhs, (i, d), (names,))
    yield agree("projections and residual", formula, system, n, options)
    expansion = replace(formula, term=statement.lhs, tables=(given(names, statement.given),))
    one = replace(formula, tables=({**names, "W_Q": names["W_K"]},))
    without = replace(formula, term=statement.rhs.args[1])
    wrong = {"one projection for queries and keys": one, "no residual": without}
    yield agree("derived expansion", expansion, system, n, options, wrong, mutate=False)

    def layer(order: tuple[int, int, int], rows: Any = None, shortcut: bool = True) -> tuple[Any, str]:
        parts = [
            Bounded(
                torch.nn.functional.linear(tokens.value, maps[m]), systems.projected(tokens, maps[m]).error
            )
            for m in order
        ]
        out, backend = systems.fused_attend(systems.Head(*parts), rows=rows, dtype=options.dtype)
        here = tokens if rows is None else tokens[rows]
        return (here + out if shortcut else out), backend

    kernel, backend = layer((0, 1, 2))
    others = {
        "one projection for queries and keys": lambda rows: layer((1, 1, 2), rows)[0],
        "queries and keys exchanged": lambda rows: layer((1, 0, 2), rows)[0],
        "no residual": lambda rows: layer((0, 1, 2), rows, False)[0],
    }
    yield engines(
        "linear layers and scaled_dot_product_attention", system, kernel, backend, n, options, others
    )


@climbing(refuses=in_bfloat16)
def one_projection(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """The expansion of (33) for a fixed projection, at training inputs and at other ones, against the
    system.
    """

    tokens, maps = tokens_and_maps(n, options)
    values, others = systems.projected(tokens, maps[2]), raw_heads(n, options)[0].q
    names = {"x_train": tokens, "v": values, "W_proj": Bounded(maps[0])}
    for statement, queries, what in zip(
        re.self_and_cross().parts, (tokens, others), ("self", "cross"), strict=True
    ):
        own = systems.Head(systems.projected(queries, maps[0]), systems.projected(tokens, maps[0]), values)
        system = queries + systems.attend(own, dtype=options.dtype)
        symbols = {**names, "x_query": queries}
        formula = Formula(statement.rhs, (i, d), (symbols,), own=("x_query",))
        yield agree(f"{what}-attention", formula, system, n, options)
        wrong = {"no residual": replace(formula, term=statement.rhs.args[0])}
        expansion = replace(formula, term=statement.lhs)
        yield agree(f"{what}-attention, derived", expansion, system, n, options, wrong, mutate=False)


# ---------------------------------------------------------------- convolutions


def mixing(kernel: Any, n: int, columns: int | None) -> Any:
    """The matrix T of a convolution: T_ij is the tap that takes token j to token i, by their places on
    the grid.
    """

    taps = kernel if kernel.ndim == 2 else kernel[None]
    high, wide = taps.shape
    place = torch.arange(n, device=kernel.device)
    down, right = (place // columns, place % columns) if columns else (torch.zeros_like(place), place)
    row = down[None, :] - down[:, None] + (high - 1) // 2
    column = right[None, :] - right[:, None] + (wide - 1) // 2
    inside = (row >= 0) & (row < high) & (column >= 0) & (column < wide)
    return torch.where(inside, taps[row.clamp(0, high - 1), column.clamp(0, wide - 1)], 0.0)


def conv_kernel_of(options: Options, *shape: int) -> Any:
    """A kernel with entries of both signs, not symmetric."""

    generator = torch.Generator().manual_seed(options.seed + 3)
    taps = torch.randn(*shape, generator=generator, dtype=torch.float64).to(options.device)
    return taps / taps.norm()


def _conv(shape: tuple[int, ...], dim: str, n: int, options: Options) -> Iterable[Evidence]:
    """Attention on convolved queries and keys: formula, derived expansion, torch's layers."""

    own, kernel = raw_heads(n, options)[0], conv_kernel_of(options, *shape)
    grid = (32, n // 32) if len(shape) == 2 else None
    system = systems.attend(systems.convolved(own, kernel, grid), dtype=options.dtype)
    if n <= DENSE:
        at, over = Index("i", dim), Index("j", dim)
        mix = mixing(kernel, n, grid[1] if grid else None)
        names = {**table(own), "T": Bounded(mix)}
        formula = Formula(cv.conv_attention(dim, at, over), (at, d), (names,))
        yield agree("formula with the matrix T", formula, system, n, options)
        turned = {**names, "T": Bounded(mix.T.contiguous())}
        wrong = {"kernel mirrored": replace(formula, tables=(turned,))} if max(shape) > 1 else {}
        expansion = replace(formula, term=cv.derived_attention(dim).lhs)
        yield agree("derived expansion", expansion, system, n, options, wrong, mutate=False)
    else:
        yield skipped(
            n, options, f"the declared formula names the N by N matrix T, formed up to {DENSE} tokens"
        )
    found, backend = systems.fused_attend(layers.convolved(own, kernel, grid), dtype=options.dtype)
    mixed, mirrored = (layers.convolved(own, k, grid) for k in (kernel, kernel.flip(*range(kernel.ndim))))
    heads = {
        "not convolved": own,
        "kernel mirrored": mirrored,
        "keys only": mixed._replace(q=own.q),
        "values as well": mixed._replace(v=layers.convolve(own.v, kernel, grid)),
    }
    if max(shape) == 1:  # one tap, which is 1 or -1: nothing is mixed and the sign cancels
        heads = {"keys only, with the other sign": own._replace(k=-own.k)}
    others = {
        name: lambda rows, h=h: systems.fused_attend(h, rows=rows, dtype=options.dtype)[0]
        for name, h in heads.items()
    }
    yield engines(
        f"conv{len(shape)}d and scaled_dot_product_attention", system, found, backend, n, options, others
    )


@climbing(refuses=in_bfloat16)
def conv1d(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Attention-Conv1D with the kernel of the assumptions, 5 taps in the experiments."""

    return _conv((choices(assumptions).taps,), "N", n, options)


@climbing(refuses=in_bfloat16)
def conv2d(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Attention-Conv2D with the kernel of the assumptions, 2 x 2 in the experiments, on a grid of 32 rows."""

    return _conv((choices(assumptions).taps_2d,) * 2, GRID, n, options)


@climbing(refuses=in_bfloat16)
def cvt(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """CvT's projections: attention on three convolutions of one input, formula, derived expansion,
    torch's layers.
    """

    tokens, grid = raw_heads(n, options)[0].k, (32, n // 32)
    taps = conv_kernel_of(options, 3, 3, 3)
    system = systems.attend(systems.projected_by_convolution(tokens, tuple(taps), grid), dtype=options.dtype)
    q, k, v = (layers.convolve(tokens, kernel, grid) for kernel in taps)
    statement, names = cv._cvt(), {"conv_Q": q, "conv_K": k, "conv_V": v}
    formula = Formula(statement.rhs, (cv.i, d), (names,))
    yield agree("attention on convolutions", formula, system, n, options)
    wrong = {
        "one convolution for queries and keys": replace(formula, tables=({**names, "conv_Q": k},)),
        "one for keys and values": replace(formula, tables=({**names, "conv_V": k},)),
    }
    yield agree(
        "derived expansion", replace(formula, term=statement.lhs), system, n, options, wrong, mutate=False
    )
    found, backend = systems.fused_attend(systems.Head(q, k, v), dtype=options.dtype)
    heads = {
        "one convolution for queries and keys": systems.Head(k, k, v),
        "one for keys and values": systems.Head(q, k, k),
    }
    others = {
        name: lambda rows, h=h: systems.fused_attend(h, rows=rows, dtype=options.dtype)[0]
        for name, h in heads.items()
    }
    yield engines("conv2d and scaled_dot_product_attention", system, found, backend, n, options, others)
