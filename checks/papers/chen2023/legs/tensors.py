"""Legs of chen2023 on tensors: what the symbolic claims say, at every length allowed, with error over bound.

A leg of a claim that fails as printed tests the corrected statement. Explicit features (cosine ones of p =
64, s = 30 directions, f(X) as assumed) go to any length; the softmax matrix itself is decomposed up to
``SOFTMAX_LONGEST``.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import LINEAR, Climbing, climbing
from checks.tensors.core.agreement import check_attention
from checks.tensors.core.bounded import UNIT, Bounded, same
from checks.tensors.core.inputs import make_instance
from checks.tensors.ksvd import explicit_features as kp
from checks.tensors.ksvd import explicit_features as ksvd_primal
from checks.tensors.ksvd import statements as ksvd_statements
from checks.tensors.ksvd.explicit_features import record, solution
from checks.tensors.ksvd.features import make_features
from checks.tensors.ksvd.lagrangian import conditions
from checks.tensors.ksvd.statements import value_bound
from checks.tensors.ksvd.triplets import check_softmax_triplets
from checks.tensors.systems.primal_checks import check_causality, check_primal_attention
from solvers.krylov import top_triplets
from solvers.ksvd import feature_triplets

WIDTH, DIRECTIONS = 64, 30
ROWS = 10 * DIRECTIONS  # sampled rows of f(X), as the paper takes them
SOFTMAX_LONGEST = 32768
SOFTMAX_COUNT = 8
F_X = {"tokens": "all tokens", "sampled": "at most 300 tokens", "identity": "absent"}
FEATURE_MAPS = ("any", "cosine", "exponential", "identity")  # "any" is checked with the paper's, cosine
PLAIN = (("normalisation", "none"), ("scores", "both"), ("objective", "paper"))


def evidence(record: Any, what: str) -> Evidence:
    """A tensor record as evidence, with the name of the comparison closest to its bound."""
    return record.evidence(f"{what}; closest to its bound: {record.worst.name}")


def _unsupported(assumptions: Any, options: Options) -> str:
    if options.dtype != "float64":
        return f"bounds are proved for float64; not run in {options.dtype}"
    if assumptions is None:  # claims outside the theory
        return ""
    changed = [
        f"{knob} = {getattr(assumptions, knob)}" for knob, v in PLAIN if getattr(assumptions, knob) != v
    ]
    if assumptions.feature_map not in FEATURE_MAPS:
        changed.append(f"feature_map = {assumptions.feature_map}")
    return (
        f"the tensor check is written for the paper's choice, not for {', '.join(changed)}" if changed else ""
    )


# ---------------------------------------------------------------- explicit features


@lru_cache(maxsize=3)
def features(n: int, feature_map: str, f_x: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Features, f(X) and all triplets of positive value."""

    rows = {"tokens": n, "sampled": min(n, ROWS), "identity": None}[f_x]
    name = "cosine" if feature_map == "any" else feature_map
    phi_q, phi_k, f = make_features(n, WIDTH, name, rows, seed=seed)
    found = feature_triplets(phi_q.numpy(), phi_k.numpy(), None if f is None else f.numpy())
    return phi_q, phi_k, f, found


def first(triplets: Any, count: int) -> Any:
    """The leading triplets."""
    return replace(
        triplets,
        left=triplets.left[:, :count],
        values=triplets.values[:count],
        right=triplets.right[:, :count],
    )


@lru_cache(maxsize=3)
def solved(n: int, feature_map: str, f_x: str, kind: str, device: str, seed: int) -> Any:
    """A solution of (7): "scaled" columns (1, 2, ..., s times unit ones), "unit" ones, or "all" of
    positive value.
    """

    phi_q, phi_k, f, found = features(n, feature_map, f_x, seed)
    scales = torch.arange(1, DIRECTIONS + 1, dtype=torch.float64) if kind == "scaled" else None
    chosen = found if kind == "all" else first(found, DIRECTIONS)
    return solution(phi_q, phi_k, f, chosen, scales=scales, device=device, seed=seed)


@lru_cache(maxsize=256)
def _judged(
    names: tuple[str, ...], kind: str, n: int, feature_map: str, f_x: str, device: str, seed: int
) -> Any:

    s, started = solved(n, feature_map, f_x, kind, device, seed), time.perf_counter()
    parts = []
    for name in names:
        own, _, form = name.partition(":")
        check = getattr(ksvd_statements, own, None) or getattr(ksvd_primal, own)
        parts.append(check(s, form) if form else check(s))
    return ksvd_primal.record(parts, s, started)


@lru_cache(maxsize=16)
def _off(n: int, feature_map: str, f_x: str, options: Options) -> float:
    """Proved distance of the unit triplets' values from singular values."""

    return value_bound(solved(n, feature_map, f_x, "unit", options.device, options.seed))


def on_explicit(what: str, *names: str, kind: str = "scaled", linear: bool = False) -> Climbing:
    """A leg from checks of `ksvd_primal` and `ksvd_statements` by name ("name:form" passes the form of J)."""

    def check(n: int, a: Any, options: Options) -> Evidence:
        feature_map, f_x = ("any", "tokens") if a is None else (a.feature_map, a.f_X)
        f_x = "sampled" if n >= LINEAR and f_x == "tokens" else f_x
        record = _judged(names, kind, n, feature_map, f_x, options.device, options.seed)
        columns = {"scaled": "columns of norm 1 to 30", "unit": "unit columns", "all": "all triplets"}[kind]
        values = f", values within {_off(n, feature_map, f_x, options):.0e}" if kind == "unit" else ""
        return evidence(record, f"{what} ({columns}{values}, f(X): {F_X[f_x]})")

    return Climbing(check, linear, refuses=_unsupported)


eigen_problem = on_explicit("K H_r = H_e Σ and KᵀH_e = H_r Σ", "eigenvalue_problem", linear=True)
representations = on_explicit("primal scores against kernel sums", "representations", linear=True)
both_forms = on_explicit("both forms of J", "both_forms")
# what the residuals may add is part of the next bounds: each leg certifies first that they are rounding
zero_objective = on_explicit(
    "J is zero, and its value at another Λ", "eigenvalue_problem", "zero_objective", linear=True
)
lines_of_18 = on_explicit("lines of (18), and the eliminated Lagrangian", "eigenvalue_problem", "lines")
equal_norms = on_explicit("norms of paired columns", "eigenvalue_problem", "norms")
stationary = on_explicit(
    "gradients of J, and its growth along W_e + t, W_r - t", "eigenvalue_problem", "stationarity", "climbs"
)
released = on_explicit(
    "the released loss at L² = N/σ", "eigenvalue_problem", "both_forms:released", "zero_objective:released"
)
whole_kernel = on_explicit("rows of K against H_e Σ H_rᵀ", "reconstruction", "orthonormal", kind="all")
ky_fan = on_explicit(
    "second moments of the scores", "eigenvalue_problem", "orthonormal", "second_moment", kind="unit"
)
unit_triplets = on_explicit(
    "residuals and orthonormal columns", "eigenvalue_problem", "orthonormal", kind="unit"
)


@climbing(refuses=_unsupported)
def without_transformation(n: int, a: Any, options: Options) -> Evidence:
    """f(X) absent: (7), both representations and J = 0 with weights of p rows."""
    names = ("eigenvalue_problem", "representations", "zero_objective")
    record = _judged(names, "scaled", n, a.feature_map, "identity", options.device, options.seed)
    return evidence(record, "data-independent weights")


@climbing(refuses=_unsupported)
def lagrangian(n: int, a: Any, options: Options) -> Evidence:
    """The six lines of (14) against automatic differentiation of (13), at a point that is not stationary."""

    s, started = solved(n, a.feature_map, a.f_X, "unit", options.device, options.seed), time.perf_counter()
    part = conditions(s.phi_q, s.phi_k, s.f_x, seed=options.seed)
    return evidence(record([part], s, started), "automatic differentiation of (13) against (14)")


@climbing(refuses=_unsupported)
def few_directions(n: int, a: Any, options: Options) -> Evidence:
    """At most p = 64 triplets have a positive value, however many directions are asked for, and they
    are the whole of K.
    """
    record = _judged(("reconstruction",), "all", n, a.feature_map, a.f_X, options.device, options.seed)
    count = len(features(n, a.feature_map, a.f_X, options.seed)[3].values)
    found = evidence(record, f"{count} positive values for features of width {WIDTH}, and K is their sum")
    return replace(found, passed=found.passed and count <= WIDTH)


@climbing(refuses=_unsupported)
def weighted_rows(n: int, a: Any, options: Options) -> Evidence:
    """Exponential features with e scaled by D̂⁻¹: rows of K sum to 1, and all of (7), (8) and J = 0 hold."""

    started = time.perf_counter()
    phi_q, phi_k, _ = make_features(n, WIDTH, "exponential", None, seed=options.seed)
    sums = phi_q @ phi_k.sum(0)
    weighted = phi_q / sums[:, None]
    both = [x / sums.sqrt()[:, None] for x in (phi_q, phi_k)]
    triplets = feature_triplets(weighted.numpy(), phi_k.numpy(), None, DIRECTIONS)
    s = kp.solution(weighted, phi_k, None, triplets, device=options.device, seed=options.seed)
    one = Bounded(torch.ones(len(s.some), 1, dtype=torch.float64, device=s.phi_q.device))
    column = torch.ones(n, 1, dtype=torch.float64)

    def row_sums(rows: Any, columns: Any) -> Any:
        rows, columns, ones = (x.to(s.phi_q.device) for x in (rows, columns, column))
        found = kp.dual_scores(rows[s.some], columns, None, ones)
        # the weights themselves are rounded: a sum of N + p terms and one division
        return Bounded(found.value, found.error + (4 * (n + WIDTH)) * UNIT * found.value.abs())

    rows_sum = kp.Part(
        (same("rows of K sum to 1", row_sums(weighted, phi_k), one),),
        kp.wrong(
            {
                "D^(-1/2) on both scores": same("", row_sums(*both), one),
                "not normalised": same("", row_sums(phi_q, phi_k), one),
                "r scaled too": same("", row_sums(weighted, phi_k / sums[:, None]), one),
            }
        ),
    )
    parts = [rows_sum, kp.eigenvalue_problem(s), kp.representations(s), kp.zero_objective(s)]
    return evidence(kp.record(parts, s, started), "exponential features weighted by D̂⁻¹")


# ---------------------------------------------------------------- the softmax matrix


@lru_cache(maxsize=8)
def softmax_record(n: int, device: str, seed: int) -> Any:
    """The leading triplets of the softmax matrix of independent queries and keys."""

    keys, queries = make_instance(n, seed=seed).k, make_instance(n, seed=seed + 7).k
    return check_softmax_triplets(queries, keys, top_triplets, SOFTMAX_COUNT, device=device)


@climbing(
    longest=SOFTMAX_LONGEST,
    why=f"each of some 30 products takes N² steps: run up to {SOFTMAX_LONGEST} tokens",
    refuses=_unsupported,
)
def softmax_triplets(n: int, a: Any, options: Options) -> Evidence:
    """Block Krylov on streamed products with the softmax matrix; residuals, orthonormality, J = 0, Weyl
    bounds.
    """
    record = softmax_record(n, options.device, options.seed)
    bound = f"values within {record.value_bound:.0e} of singular values"
    return evidence(record, f"{SOFTMAX_COUNT} triplets of the softmax matrix, {bound}")


@climbing(refuses=_unsupported)
def softmax_attention(n: int, a: Any, options: Options) -> Evidence:
    """Streamed softmax attention against torch's kernel and float64 rows."""

    x = make_instance(n, device=options.device, seed=options.seed)
    return evidence(check_attention(x.q, x.k, x.v), "K v by two engines")


# ---------------------------------------------------------------- the modules


def _module_leg(what: str, *, causal: bool = False, dependent: bool = True) -> Climbing:
    @climbing(refuses=_unsupported)
    def leg(n: int, a: Any, options: Options) -> Evidence:

        rows = ROWS if dependent else None
        record = check_primal_attention(
            n, rows_of_f=rows, causal=causal, device=options.device, seed=options.seed
        )
        return evidence(record, what)

    return leg


module_dependent = _module_leg("the module against the formula, f(X) of at most 300 tokens")
module_independent = _module_leg("the module against the formula, f(X) absent", dependent=False)
module_causal = _module_leg("the causal module against the formula", causal=True)


@climbing(refuses=_unsupported)
def causality(n: int, a: Any, options: Options) -> Evidence:
    """No earlier score changes by a bit when a token changes, unless the weights depend on X."""

    return evidence(
        check_causality(n, device=options.device, seed=options.seed), "a changed token and the scores"
    )
