"""Residual attention with projections and attention on convolutions as rows: formulas, derived expansions and
torch's layers against the systems of `checks.tensors.systems.nguyen2023`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import Climbing, climbing, skipped
from checks.papers.nguyen2023 import convolution_formulas as cv
from checks.papers.nguyen2023 import residual_formulas as re
from checks.papers.nguyen2023.convolution_formulas import GRID
from checks.papers.nguyen2023.legs.attentions import raw
from checks.papers.nguyen2023.legs.heads import DENSE
from checks.tensors.core.bounded import Bounded
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.cases import WIDTH, choices, in_bfloat16, raw_heads, table
from checks.tensors.systems.formulas import given
from checks.tensors.systems.nguyen2023 import Head
from checks.tensors.systems.row import Attention, Case, Heads, Line, Wrong
from derivations.calculus.index import Index
from derivations.theories.svr.regression import d

# ---------------------------------------------------------------- residual and projections


@lru_cache(maxsize=2)
def tokens_and_maps(n: int, options: Options) -> tuple[Bounded, torch.Tensor]:
    """Tokens (n, 64) and three projections (64, 64) each."""
    generator = torch.Generator().manual_seed(options.seed + 2)
    maps = torch.randn(3, WIDTH, WIDTH, generator=generator, dtype=torch.float64).to(options.device) / 8
    return raw_heads(n, options)[0].k, maps


def _inputs(case: Case) -> tuple[Bounded, torch.Tensor]:
    return tokens_and_maps(case.n, case.options)


def _tokens_added(case: Case, outs: Sequence[Bounded], rows: torch.Tensor | None) -> Bounded:
    tokens = _inputs(case)[0]
    return (tokens if rows is None else tokens[rows]) + outs[0]


def _projected(case: Case) -> Heads:
    tokens, maps = _inputs(case)
    return [Head(*(systems.projected(tokens, m) for m in maps))]


def _by_linear_layers(case: Case, order: tuple[int, int, int] = (0, 1, 2)) -> Heads:
    tokens, maps = _inputs(case)

    def layer(m: torch.Tensor) -> Bounded:
        return Bounded(torch.nn.functional.linear(tokens.value, m), systems.projected(tokens, m).error)

    return [Head(*(layer(maps[m]) for m in order))]


def _residual_names(case: Case) -> dict[str, Any]:
    tokens, maps = _inputs(case)
    return {"x_train": tokens, **{f"W_{c}": Bounded(m) for c, m in zip("QKV", maps, strict=True)}}


def _residual_expansion(case: Case) -> Iterable[Line]:
    statement, names = re.outside(), _residual_names(case)
    wrong: dict[str, Any] = {
        "one projection for queries and keys": (given({**names, "W_Q": names["W_K"]}, statement.given),),
        "no residual": statement.rhs.args[1],
    }
    tables = (given(names, statement.given),)
    yield Line("derived expansion", statement.lhs, tables, wrong=wrong, mutate=False)


def _wrong_residual(case: Case) -> dict[str, Wrong]:
    own = _by_linear_layers(case)[0]
    return {
        "one projection for queries and keys": _by_linear_layers(case, (1, 1, 2)),
        "queries and keys exchanged": _by_linear_layers(case, (1, 0, 2)),
        "no residual": lambda rows: systems.fused_attend(own, rows=rows, dtype=case.options.dtype)[0],
    }


RESIDUAL = Attention(
    prepared=_projected,
    printed=lambda case: [Line("projections and residual", re.outside().rhs, (_residual_names(case),))],
    derived=_residual_expansion,
    by_torch=_by_linear_layers,
    wrong=_wrong_residual,
    words="linear layers and scaled_dot_product_attention",
    finish=_tokens_added,
)
residual_projections = RESIDUAL.leg("printed", "derived", "torch")


@climbing(refuses=in_bfloat16)
def one_projection(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
    """The expansion of (33) for a fixed projection, at training inputs and at other ones, against the
    system.
    """
    case = Case(n, assumptions, options)
    tokens, maps = _inputs(case)
    values = systems.projected(tokens, maps[2])
    names = {"x_train": tokens, "v": values, "W_proj": Bounded(maps[0])}
    parts = zip(re.self_and_cross().parts, (tokens, raw(case).q), ("self", "cross"), strict=True)
    for statement, queries, what in parts:
        own = Head(systems.projected(queries, maps[0]), systems.projected(tokens, maps[0]), values)
        system = queries + systems.attend(own, dtype=options.dtype)
        tables = ({**names, "x_query": queries},)
        yield Line(f"{what}-attention", statement.rhs, tables, ("x_query",)).evidence(system, case)
        wrong = {"no residual": statement.rhs.args[0]}
        derived = f"{what}-attention, derived"
        yield Line(derived, statement.lhs, tables, ("x_query",), wrong, mutate=False).evidence(system, case)


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


def _taps(case: Case, planar: bool) -> torch.Tensor:
    """The kernel of the assumptions: 5 taps in the experiments, 2 x 2 on a grid of 32 rows."""
    own = choices(case.assumptions)
    return conv_kernel_of(case.options, *((own.taps_2d,) * 2 if planar else (own.taps,)))


def _grid(case: Case, planar: bool) -> tuple[int, int] | None:
    return (ROWS, case.n // ROWS) if planar else None


def _convolution(planar: bool) -> Climbing:
    """Attention on convolved queries and keys, on a sequence or a grid."""
    dim = GRID if planar else "N"

    def lines(case: Case, derived: bool) -> Iterable[Line]:
        kernel, grid = _taps(case, planar), _grid(case, planar)
        at, over, mix = Index("i", dim), Index("j", dim), mixing(kernel, case.n, grid[1] if grid else None)
        names = {**table(raw(case)), "T": Bounded(mix)}
        if not derived:
            term = cv.conv_attention(dim, at, over)
            yield Line("formula with the matrix T", term, (names,), at=(at, d))
            return
        turned = {**names, "T": Bounded(mix.T.contiguous())}
        wrong = {"kernel mirrored": (turned,)} if max(kernel.shape) > 1 else {}
        term = cv.derived_attention(dim).lhs
        yield Line("derived expansion", term, (names,), wrong=wrong, mutate=False, at=(at, d))

    def wrong(case: Case) -> dict[str, Wrong]:
        own, kernel, grid = raw(case), _taps(case, planar), _grid(case, planar)
        if max(kernel.shape) == 1:  # one tap, which is 1 or -1: nothing is mixed and the sign cancels
            return {"keys only, with the other sign": [own._replace(k=-own.k)]}
        mirrored = kernel.flip(*range(kernel.ndim))
        mixed, turned = (layers.convolved(own, k, grid) for k in (kernel, mirrored))
        heads = {
            "not convolved": own,
            "kernel mirrored": turned,
            "keys only": mixed._replace(q=own.q),
            "values as well": mixed._replace(v=layers.convolve(own.v, kernel, grid)),
        }
        return {name: [head] for name, head in heads.items()}

    row = Attention(
        prepared=lambda case: [systems.convolved(raw(case), _taps(case, planar), _grid(case, planar))],
        printed=lambda case: lines(case, derived=False),
        derived=lambda case: lines(case, derived=True),
        by_torch=lambda case: [layers.convolved(raw(case), _taps(case, planar), _grid(case, planar))],
        wrong=wrong,
        words=f"conv{1 + planar}d and scaled_dot_product_attention",
    )

    @climbing(refuses=in_bfloat16)
    def check(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
        case = Case(n, assumptions, options)
        if n <= DENSE:
            yield from row.evidence("printed", case)
            yield from row.evidence("derived", case)
        else:
            why = f"the declared formula names the N by N matrix T, formed up to {DENSE} tokens"
            yield skipped(n, options, why)
        yield from row.evidence("torch", case)

    return check


ROWS = 32  # of the grid
conv1d, conv2d = _convolution(planar=False), _convolution(planar=True)


def _cvt_heads(case: Case, order: str = "qkv") -> Heads:
    """CvT's projections by torch: queries, keys and values as three convolutions of one input."""
    taps = dict(zip("qkv", conv_kernel_of(case.options, 3, 3, 3), strict=True))
    return [Head(*(layers.convolve(raw(case).k, taps[c], _grid(case, True)) for c in order))]


def _cvt_lines(case: Case, derived: bool) -> Iterable[Line]:
    q, k, v = _cvt_heads(case)[0]
    statement, names = cv.cvt(), {"conv_Q": q, "conv_K": k, "conv_V": v}
    if not derived:
        yield Line("attention on convolutions", statement.rhs, (names,), at=(cv.i, d))
        return
    wrong = {
        "one convolution for queries and keys": ({**names, "conv_Q": k},),
        "one for keys and values": ({**names, "conv_V": k},),
    }
    yield Line("derived expansion", statement.lhs, (names,), wrong=wrong, mutate=False, at=(cv.i, d))


CVT = Attention(
    prepared=lambda case: [
        systems.projected_by_convolution(
            raw(case).k, tuple(conv_kernel_of(case.options, 3, 3, 3)), _grid(case, True)
        )
    ],
    printed=lambda case: _cvt_lines(case, derived=False),
    derived=lambda case: _cvt_lines(case, derived=True),
    by_torch=_cvt_heads,
    wrong=lambda case: {
        "one convolution for queries and keys": _cvt_heads(case, order="kkv"),
        "one for keys and values": _cvt_heads(case, order="qkk"),
    },
    words="conv2d and scaled_dot_product_attention",
)
cvt = CVT.leg("printed", "derived", "torch")
