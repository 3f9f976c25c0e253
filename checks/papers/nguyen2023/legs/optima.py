"""Optimal fits of the variants' own programs, in rationals, against the systems of nguyen2023.

On a few inputs chosen so that all kernel values are powers of two (or the features rational), a variant's
program is solved exactly. Its weights must be those of the dualiser's stationarity condition, its fitted
values those of the derived expansion; and the system with the fit's values must give the same numbers within
its error bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.papers.nguyen2023 import batchnorm_formulas as bn
from checks.papers.nguyen2023 import convolution_formulas as cv
from checks.papers.nguyen2023 import linear_formulas as linear
from checks.papers.nguyen2023 import multihead_formulas as mh
from checks.papers.nguyen2023 import residual_formulas as residual
from checks.papers.nguyen2023 import scaled_heads_formulas as sh
from checks.papers.nguyen2023 import sparse_formulas as sparse
from checks.tensors.core import bounds
from checks.tensors.core.agreement import Agreement, largest
from checks.tensors.core.bounded import UNIT, Bounded
from checks.tensors.systems import nguyen2023 as systems
from derivations.calculus.components import evaluate as exactly
from derivations.calculus.functions import EXACT_FUNCTIONS
from derivations.calculus.index import Tensor
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DPHI, DV, D, d
from solvers.compile import compile_program
from solvers.exact import solve_exact

LN2 = math.log(2)


class Fit(NamedTuple):
    """An exactly optimal solution of a variant's program, D_v = 1: values (N,), intercept, fitted values.

    ``sound``: zero residuals in the certificate, weights equal to what the dualiser's stationarity condition
    gives for the multipliers, fitted values equal to the expansion in the values, and values that are not all
    zero.
    """

    values: list[Fraction]
    intercept: Fraction
    fitted: list[Fraction]
    sound: bool


COST, TUBE = Fraction(5), Fraction(1, 10)


def powers(labels: Iterable[Iterable[int]], train: int) -> list[list[Fraction]]:
    """Rational features whose inner products with those of the first ``train`` labels are 2^(label·label).

    Such values are those of the exponential kernel at sqrt(ln 2) D^{1/4} times the labels. The Gram matrix is
    taken apart as L D L^T, and each pivot is a sum of four squares (Lagrange), so that no root is needed.
    """
    points = [tuple(p) for p in labels]
    rest = [[Fraction(2) ** sum(a * b for a, b in zip(p, q, strict=True)) for q in points] for p in points]
    columns: list[list[Fraction]] = []
    for n in range(train):
        pivot, column = rest[n][n], [row[n] for row in rest]
        if pivot == 0:
            continue
        columns += [[x / pivot * root for x in column] for root in four_squares(pivot)]
        rest = [
            [x - a * b / pivot for x, b in zip(row, column, strict=True)]
            for row, a in zip(rest, column, strict=True)
        ]
    return [list(row) for row in zip(*columns, strict=True)]


def four_squares(value: Fraction) -> list[Fraction]:
    """At most four nonzero rationals whose squares add up to a positive rational."""
    whole = value.numerator * value.denominator
    for a in range(math.isqrt(whole), 0, -1):
        for b in range(min(a, math.isqrt(whole - a * a)), -1, -1):
            left = whole - a * a - b * b
            for c in range(min(b, math.isqrt(left)), -1, -1):
                e = math.isqrt(left - c * c)
                if e * e == left - c * c:
                    return [Fraction(x, value.denominator) for x in (a, b, c, e) if x]
    raise ValueError(f"{value} is not positive")


def optimum(
    variant: sv.Variant,
    phi: list[list[Fraction]],
    train: int,
    shift: list[Fraction] | None = None,
    last: int = 0,
) -> Fit:
    """Solve a variant's own program exactly on the first ``train`` points of ``phi`` (points, D_φ).

    h is the kernel sum over the training points; targets 1, -2, 3, … ; D_v = 1. ``shift``: what a residual
    adds at each point. The penalty of a fixed projection is a constant and set to that of W_proj = 1.
    ``last``: report fitted values at so many points from the end only (0: at all).
    """

    points = range(len(phi))
    kernel = [[_dot(phi[p], phi[t]) for t in range(train)] for p in points]
    height = [sum(row, Fraction(0)) for row in kernel]
    sizes = {variant.count: train, DV: 1, DPHI: len(phi[0]), D: 1, "D_x": 1}
    moved = shift or [Fraction(0)] * len(phi)
    constants = {"C": COST, "epsilon": TUBE, "W_proj": Fraction(1)}
    known: dict[Tensor, Callable[..., Fraction]] = {
        variant.phi: lambda t, f: phi[t][f],
        variant.h: lambda t: height[t],
        variant.shift: lambda t, _: moved[t],
        variant.y: lambda t, _: Fraction((-1) ** t * (t + 1)) + moved[t],
    }

    def value(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
        return known[tensor](*entry) if tensor in known else constants[tensor.name]

    program = compile_program(variant.program(), sizes, value)
    solution = solve_exact(program)
    found, rows = program.split(solution.x), program.split_inequalities(solution.y)
    beta = rows["alpha"] - rows["alpha~"]
    values = [[x / height[t] for x in beta[t]] for t in range(train)]
    intercept = list(found["b"]) if variant.bias else [Fraction(0)]

    def solved(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
        return rows[tensor.name][entry] if tensor.name in rows else value(tensor, entry)

    result = sv.dual(variant)
    places = list(product(range(1), range(len(phi[0]))))
    weights = [
        exactly(
            result.solved[variant.w],
            sizes,
            solved,
            EXACT_FUNCTIONS,
            dict(zip(result.at[variant.w], place, strict=True)),
        )
        for place in places
    ]
    fitted = [_predict(variant, sizes, found, phi[p], height[p], moved[p]) for p in points]
    expanded = [
        _dot(kernel[p], [v[0] for v in values]) / height[p]
        + intercept[0]
        + (moved[p] if variant.residual else 0)
        for p in points
    ]
    sound = solution.certificate.accepts() and any(v[0] for v in values)
    sound = sound and weights == [found["w"][place] for place in places] and fitted == expanded
    return Fit([v[0] for v in values], intercept[0], fitted[-last:], sound)


def _dot(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _predict(
    variant: sv.Variant,
    sizes: dict[str, int],
    found: dict[str, Any],
    phi: list[Fraction],
    height: Fraction,
    shift: Fraction,
) -> Fraction:
    """The fitted function of the variant at one point, with the optimal weights and intercept."""

    def value(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
        if tensor == variant.phi_x:
            return phi[entry[0]]
        if tensor in (variant.h_x, variant.shift_x):
            return height if tensor == variant.h_x else shift
        return found[tensor.name][entry]

    return exactly(variant.prediction().entry(d), sizes, value, EXACT_FUNCTIONS, {d: 0})


def column(*numbers: Any) -> Any:
    """Exact numbers as (N, 1)."""

    return Bounded(torch.tensor([float(x) for x in numbers], dtype=torch.float64)[:, None])


def nearest(numbers: Iterable[Any]) -> Any:
    """Numbers rounded to float64, as (N, 1), with the rounding as radius."""

    return Bounded.rounded(column(*numbers).value)


def root_two(*labels: int) -> Any:
    """sqrt(ln 2) times the labels, as (N, 1): inputs whose exponential kernel, D = 1, is 2^(label label)."""
    return column(*labels) * nearest([math.sqrt(LN2)] * len(labels))


def against_system(
    what: str, fits: list[Fit], output: Any, wrong: Mapping[str, Any], factors: tuple[int, ...] = (1,)
) -> list[Evidence]:
    """Exactly optimal fits, and a system's output (queries, 1) without intercepts, which must give the same
    numbers.

    Several fits are those of heads, added with ``factors``. The wrong systems must miss by more than the
    bound.
    """

    fitted = [
        sum((c * (f.fitted[p] - f.intercept) for c, f in zip(factors, fits, strict=True)), Fraction(0))
        for p in range(len(fits[0].fitted))
    ]
    target = nearest(fitted)
    allowed = output.error + target.error
    found, *others = (
        largest("fit", (x.value - target.value).abs(), allowed) for x in (output, *wrong.values())
    )
    exact = "optimal solution; weights as the dualiser has them, fitted values as the expansion has them"
    sound = all(f.sound for f in fits)
    agreement = Agreement((found,), dict(zip(wrong, others, strict=True)), "streamed")
    close = f"{what}: the optimal fit against the system"
    return [
        Evidence("solver", "exact-rational", sound, f"{what}: {exact}", backend="KKT system in rationals"),
        agreement.evidence(close, output.value, None, leg="solver"),
    ]


def _attended(q: Any, k: Any, fit: Fit, prepare: Callable[[Any], Any] = lambda h: h, **how: Any) -> Any:
    """The system's attention with the values of a fit."""

    return systems.attend(prepare(systems.Head(q, k, nearest(fit.values))), **how)


# keys 1, 2, 3 have variance 2/3, so with this ε the normalised keys are sqrt(ln 2) times -1, 0, 1
EXACT_EPS = 1 / LN2 - 2 / 3


def exact_eps() -> Any:
    """ε with a radius for the few roundings of its formula."""

    value = torch.tensor([EXACT_EPS], dtype=torch.float64)
    return Bounded(value, 8 * UNIT * torch.ones_like(value))


def bn_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """The program on normalised keys, solved exactly: keys 1, 2, 3 and the query 4."""

    fit = optimum(bn.BN, powers([(-1,), (0,), (1,), (2,)], 3), 3)
    q, k = column(1, 2, 3, 4), column(1, 2, 3)
    out = _attended(q, k, fit, lambda h: systems.normalised(h, exact_eps()))
    wrong = {
        "not normalised": _attended(q, k, fit),
        "centred only": _attended(q, k, fit, lambda h: systems.centred(h, 1.0)),
        "another ε": _attended(q, k, fit, lambda h: systems.normalised(h, 0.5)),
    }
    return against_system("program on normalised keys", [fit], out, wrong)


def beta_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """The program on the keys less βμ, solved exactly: keys 0, 2, 4 and the query 1 in units of sqrt(ln
    2), β = 1/2.
    """

    own = sv.Variant("centred", train=r"\Phi(\boldsymbol{k}_{%1}-\beta\boldsymbol{\mu})", bias=False)
    fit = optimum(own, powers([(-1,), (1,), (3,), (0,)], 3), 3)
    q, k = root_two(0, 2, 4, 1), root_two(0, 2, 4)
    out = _attended(q, k, fit, lambda h: systems.centred(h, 0.5))
    wrong = {
        "not centred": _attended(q, k, fit),
        "β = 1": _attended(q, k, fit, lambda h: systems.centred(h, 1.0)),
    }
    return against_system("program on centred keys", [fit], out, wrong)


def bn_head_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """A head on six tokens pooled to the keys 1, 2, 3, normalised: its program solved exactly."""

    fit = optimum(sh.HEAD, powers([(-1,), (0,), (1,), (2,)], 3), 3)
    q, tokens = column(1, 2, 3, 4), column(0, 2, 1, 3, 2, 4)
    k = systems.pool(tokens, 2)
    out = _attended(q, k, fit, lambda h: systems.normalised(h, exact_eps()))
    wrong = {"not normalised": _attended(q, k, fit), "every second token": _attended(q, tokens[::2], fit)}
    return against_system("program of a pooled, normalised head", [fit], out, wrong)


def heads_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Heads with four and two keys, pooled from the same tokens: each program solved exactly; 2 and -1
    as W_O.
    """

    labels, queries = (0, 2, -1, 1), (0, 1, -1, 2)
    fits = [
        optimum(sh.ONE.without_bias(), powers([(n,) for n in (*own, *queries)], len(own)), len(own), last=4)
        for own in (labels, (1, 0))
    ]
    q, tokens = root_two(*queries), root_two(*labels)
    outs = [_attended(q, systems.pool(tokens, w), f) for w, f in zip((1, 2), fits, strict=True)]
    short = _attended(q, tokens[:2], fits[1])
    wrong = {"one head alone": outs[0] * 2, "second head not pooled": _projected([outs[0], short])}
    what = "programs of two heads of sizes 4 and 2"
    return against_system(what, fits, _projected(outs), wrong, FACTORS)


def multihead_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Two heads with three keys and an intercept each: each program solved exactly; 2 and -1 as W_O."""

    keys, queries = ((-1, 0, 1), (2, 1, 0)), ((0, 2), (1, -1))
    fits = [
        optimum(mh.HEAD, powers([(n,) for n in (*own, *new)], 3), 3, last=2)
        for own, new in zip(keys, queries, strict=True)
    ]
    outs = [
        _attended(root_two(*new), root_two(*own), f) for own, new, f in zip(keys, queries, fits, strict=True)
    ]
    swapped = [_attended(root_two(*queries[1]), root_two(*keys[0]), fits[0]), outs[1]]
    wrong = {"projections exchanged": _projected(outs[::-1]), "the other head's query": _projected(swapped)}
    return against_system("programs of two heads", fits, _projected(outs), wrong, FACTORS)


FACTORS = (2, -1)  # W_O of two heads of width 1


def _projected(outs: list[Any]) -> Any:

    return systems.combine(outs, torch.tensor(FACTORS, dtype=torch.float64)[:, None, None])


def sparse_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """For two queries the program on the two keys that each keeps, solved exactly; values are the
    query's own.
    """

    labels, found = (-1, 0, 1, 2), []
    for row, kept in ((0, (0, 2)), (1, (1, 3))):
        fit = optimum(sparse.SUBSET, powers([(labels[m],) for m in (*kept, row)], 2), 2, last=1)
        spread = fit._replace(
            values=[fit.values[kept.index(m)] if m in kept else Fraction(0) for m in range(4)]
        )
        q = k = root_two(*labels)
        out = _attended(q, k, spread, kept=2)[row : row + 1]
        wrong = {"all keys": _attended(q, k, spread)[row : row + 1]}
        found += against_system(f"program of query {row + 1} on its two keys", [fit], out, wrong)
    return found


def sparse_versions_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Sparse Attention-BN, -SH and -BN+SH: a query keeps the first two of three keys, and its own program is
    solved exactly.

    The keys are 1, 2, 3 as tokens or as averages of two; normalised they are -1, 0, 1 and the query 4 is 2.
    Values are the query's own.
    """

    def normalised(h: Any) -> Any:
        return systems.normalised(h, exact_eps())

    def as_it_is(h: Any) -> Any:
        return h

    found: list[Evidence] = []
    pairs = systems.pool(column(0, 2, 1, 3, 2, 4), 2)
    cases = {
        "BN": ((-1, 0, 2), column(4), column(1, 2, 3), normalised),
        "SH": ((0, 2, 1), root_two(1), systems.pool(root_two(-1, 1, 0, 4, 5, 7), 2), as_it_is),
        "BN+SH": ((-1, 0, 2), column(4), pairs, normalised),
    }
    for name, (labels, q, keys, prepare) in cases.items():
        own = sparse.HEAD_SUBSET.without_bias()
        fit = optimum(own, powers([(n,) for n in labels], 2), 2, last=1)
        spread = fit._replace(values=[*fit.values, Fraction(0)])
        other = as_it_is if prepare is normalised else normalised
        out, unlike = (_attended(q, keys, spread, p, kept=2, pattern="window") for p in (prepare, other))
        wrong = {"all keys": _attended(q, keys, spread, prepare), "normalised or not": unlike}
        found += against_system(
            f"Sparse Attention-{name}: program of one query on two keys", [fit], out, wrong
        )
    return found


def residual_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Program (33) for a fixed projection sqrt(ln 2), solved exactly: inputs 1, 0, -1 and the query 2."""

    points = (1, 0, -1, 2)
    fit = optimum(residual.FIT, powers([(n,) for n in points], 3), 3, [Fraction(n) for n in points])
    q, k = root_two(*points), root_two(*points[:3])
    out = _attended(q, k, fit)
    wrong = {"no residual": out, "residual twice": out + column(*points) + column(*points)}
    return against_system("program with residual", [fit], out + column(*points), wrong)


def conv_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Program (38) on a 2 x 2 image, solved exactly: the image 0, 1, -2, 0 and the new image 1, 1, 0, -1."""

    # token plus its right and lower neighbours: the first image becomes -1, 1, -2, 0, the second 2, 0, -1, -1
    taps = torch.tensor([[0.0, 0, 0], [0, 1, 1], [0, 1, 0]], dtype=torch.float64)
    fit = optimum(cv.FIT, powers([(n,) for n in (-1, 1, -2, 0, 2, 0, -1, -1)], 4), 4, last=4)
    q, k = root_two(1, 1, 0, -1), root_two(0, 1, -2, 0)
    out = _attended(q, k, fit, lambda h: systems.convolved(h, taps, (2, 2)))
    wrong = {
        "not convolved": _attended(q, k, fit),
        "kernel mirrored": _attended(q, k, fit, lambda h: systems.convolved(h, taps.flip(0, 1), (2, 2))),
    }
    return against_system("program on convolved inputs", [fit], out, wrong)


def softmax_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Program (5) with b = 0, solved exactly: keys -1, 0, 1 and the query 2, in units of sqrt(ln 2)."""

    fit = optimum(linear.PLAIN.without_bias(), powers([(-1,), (0,), (1,), (2,)], 3), 3)
    q, k = root_two(-1, 0, 1, 2), root_two(-1, 0, 1)
    out = _attended(q, k, fit)
    wrong = {
        "another scale": _attended(q, k, fit, scale=0.5),
        "keys centred and doubled": _attended(q, k + k, fit),
        "linear attention": systems.attend(systems.Head(q, k, nearest(fit.values)), kernel="linear"),
    }
    return against_system("program (5)", [fit], out, wrong)


def beta_sh_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """(51): heads on the tokens 0, 2, 4, 2 and on their pairs' averages 1, 3, each less half its mean,
    2 and -1 as W_O.
    """

    q, tokens, queries = root_two(1, 0), root_two(0, 2, 4, 2), (1, 0)
    # both means are 2 in units of sqrt(ln 2), and β = 1/2 takes 1 off every key and query
    labels = ((-1, 1, 3, 1), (0, 2))
    fits = [
        optimum(
            sh.ONE.without_bias(),
            powers([(n,) for n in (*own, *(x - 1 for x in queries))], len(own)),
            len(own),
            last=2,
        )
        for own in labels
    ]

    def run(beta: float) -> Any:
        outs = [
            _attended(q, systems.pool(tokens, w), f, lambda h: systems.centred(h, beta))
            for w, f in zip((1, 2), fits, strict=True)
        ]
        return _projected(outs)

    what = "programs of two heads on centred keys"
    return against_system(what, fits, run(0.5), {"not centred": run(0.0), "β = 1": run(1.0)}, FACTORS)


def conv1d_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """Program (38) on a sequence, solved exactly: tokens 0, 1, -2, 1 and the new tokens 1, 0, 1, -1."""

    taps = torch.tensor([0.0, 1, 1], dtype=torch.float64)  # token plus its right neighbour
    fit = optimum(cv.FIT, powers([(n,) for n in (1, -1, -1, 1, 1, 1, 0, -1)], 4), 4, last=4)
    q, k = root_two(1, 0, 1, -1), root_two(0, 1, -2, 1)
    out = _attended(q, k, fit, lambda h: systems.convolved(h, taps))
    wrong = {
        "not convolved": _attended(q, k, fit),
        "kernel mirrored": _attended(q, k, fit, lambda h: systems.convolved(h, taps.flip(0))),
    }
    return against_system("program on a convolved sequence", [fit], out, wrong)


def cvt_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """The program on keys that one convolution makes, at queries that another makes, solved exactly.

    The values are those of the fit: that a third convolution yields them is a condition on the targets
    (prose-converse).
    """

    keys, queries = (torch.tensor(t, dtype=torch.float64) for t in ([0.0, 1, 1], [1.0, 1, 0]))
    tokens = root_two(0, 1, -2, 3)
    fit = optimum(
        linear.PLAIN.without_bias(), powers([(n,) for n in (1, -1, 1, 3, 0, 1, -1, 1)], 4), 4, last=4
    )

    def run(q_taps: Any, k_taps: Any) -> Any:
        q, k = (systems.convolve(tokens, t) for t in (q_taps, k_taps))
        return systems.attend(systems.Head(q, k, nearest(fit.values)))

    wrong = {"one convolution": run(keys, keys), "convolutions exchanged": run(keys, queries)}
    return against_system("program on separately convolved keys", [fit], run(queries, keys), wrong)


def linear_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """The regression on elu + 1 of keys without negative coordinates, solved exactly; query and keys
    two wide.
    """

    points = ((1, 0), (0, 2), (3, 1), (1, 4))
    fit = optimum(linear.PLAIN.without_bias(), [[Fraction(n + 1) for n in p] for p in points], 3)
    q = Bounded(torch.tensor(points, dtype=torch.float64))
    values = nearest(fit.values)
    out = systems.attend(systems.Head(q, q[:3], values), kernel="linear")
    wrong = {"softmax": systems.attend(systems.Head(q, q[:3], values))}
    return against_system("regression on elu + 1", [fit], out, wrong)


def linear_versions_optimum(assumptions: Any, options: Options) -> list[Evidence]:
    """The regression on elu + 1 for Linear Attention-BN, -SH and -BN+SH, solved exactly.

    Keys (1, 3), (2, 2), (3, 1), for the scaled heads as averages of two tokens; with ε = 1/3 the normalised
    ones are (-1, 1), 0, (1, -1). The feature 1/e is taken as the nearest float64; its rounding and that of
    1/3 are charged to the system.
    """

    low, one, two, three, four, five = Fraction(math.exp(-1)), *(Fraction(n) for n in range(1, 6))
    normal, plain = (
        [[low, two], [one, one], [two, low], [three, low]],
        [[two, four], [three, three], [four, two], [five, two]],
    )
    queries = Bounded(torch.tensor([[1, 3], [2, 2], [3, 1], [4, 1]], dtype=torch.float64))
    tokens = Bounded(torch.tensor([[0, 4], [2, 2], [1, 2], [3, 2], [4, 0], [2, 2]], dtype=torch.float64))
    third = torch.full((2,), 1 / 3, dtype=torch.float64)
    found: list[Evidence] = []
    for name, keys, features in (
        ("Attention-BN", queries[:3], normal),
        ("Attention-SH", systems.pool(tokens, 2), plain),
        ("Attention-BN+SH", systems.pool(tokens, 2), normal),
    ):
        fit = optimum(linear.PLAIN.without_bias(), features, 3)
        values = nearest(fit.values)
        raw = systems.Head(queries, keys, values)
        own = systems.normalised(raw, Bounded(third, UNIT * third)) if features is normal else raw
        out, size = (systems.attend(own._replace(v=v), kernel="linear") for v in (values, values.abs()))
        # features of the program within 2 ulp, as in the engine: one more engine error
        out = Bounded(out.value, out.error + 2 * bounds.linear_attention_factor("float64", 2, 3) * size.size)
        other = raw if features is normal else systems.normalised(raw, 1 / 3)
        wrong = {"normalised or not": systems.attend(other, kernel="linear"), "softmax": systems.attend(own)}
        found += against_system(f"regression on elu + 1, Linear {name}", [fit], out, wrong)
    return found
