"""Legs of chen2023 on tensors: what the symbolic claims say, at every length allowed, with error over bound.

A leg of a claim that fails as printed tests the corrected statement. Explicit features (cosine ones of p =
64, s = 30 directions, f(X) as assumed) go to any length; the softmax matrix itself is decomposed up to
``SOFTMAX_LONGEST``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import LINEAR, climbing
from checks.tensors.core.agreement import Agreement, Comparison, check_attention, same
from checks.tensors.core.bounded import UNIT, Bounded
from checks.tensors.core.inputs import make_instance
from checks.tensors.ksvd import explicit_features as ef
from checks.tensors.ksvd import statements as st
from checks.tensors.ksvd.features import make_features
from checks.tensors.ksvd.lagrangian import conditions
from checks.tensors.ksvd.triplets import Triplets, check_softmax_triplets
from checks.tensors.systems.primal_checks import Posed, check_causality, check_primal_attention, posed
from checks.tensors.systems.row import Case, Row
from solvers.krylov import top_triplets
from solvers.ksvd import feature_triplets

WIDTH, DIRECTIONS = 64, 30
ROWS = 10 * DIRECTIONS  # sampled rows of f(X), as the paper takes them
SOFTMAX_LONGEST = 32768
SOFTMAX_COUNT = 8
F_X = {"tokens": "all tokens", "sampled": "at most 300 tokens", "identity": "absent"}
FEATURE_MAPS = ("any", "cosine", "exponential", "identity")  # "any" is checked with the paper's, cosine
PLAIN = (("normalisation", "none"), ("scores", "both"), ("objective", "paper"))


def closest(what: str, given: Any, found: Agreement, case: Case) -> str:
    """The words, with the name of the comparison closest to its bound."""
    return f"{what}; closest to its bound: {found.worst.name}"


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


@lru_cache(maxsize=3)
def solved(n: int, feature_map: str, f_x: str, kind: str, device: str, seed: int) -> Any:
    """A solution of (7): "scaled" columns (1, 2, ..., s times unit ones), "unit" ones, or "all" of
    positive value.
    """
    phi_q, phi_k, f, found = features(n, feature_map, f_x, seed)
    scales = torch.arange(1, DIRECTIONS + 1, dtype=torch.float64) if kind == "scaled" else None
    chosen = found if kind == "all" else found.first(DIRECTIONS)
    return ef.solution(phi_q, phi_k, f, chosen, scales=scales, device=device, seed=seed)


def _above(bound: float) -> str:
    """A bound to one digit, rounded up."""
    return f"{float(Context(prec=1, rounding=ROUND_CEILING).plus(Decimal(bound))):.0e}"


@lru_cache(maxsize=16)
def _off(n: int, feature_map: str, f_x: str, options: Options) -> float:
    """Proved distance of the unit triplets' values from singular values."""
    return st.value_bound(solved(n, feature_map, f_x, "unit", options.device, options.seed))


def setting(case: Case) -> tuple[int, str, str]:
    """Length, feature map and f(X) of a case; from `LINEAR` tokens on f(X) is sampled."""
    a = case.assumptions
    feature_map, f_x = ("any", "tokens") if a is None else (a.feature_map, a.f_X)
    return case.n, feature_map, "sampled" if case.n >= LINEAR and f_x == "tokens" else f_x


def prepared(case: Case, kind: str, f_x: str | None = None) -> ef.Solution:
    """The solution of (7) that the assumptions ask for, or with another f(X)."""
    n, feature_map, chosen = setting(case)
    return solved(n, feature_map, f_x or chosen, kind, case.options.device, case.options.seed)


def explicit(kind: str, columns: str, **checked: tuple[Any, ...]) -> Row[ef.Solution]:
    """A row of KSVD with explicit features: a solution of a kind, whose columns the words name."""

    def says(what: str, given: Any, found: Agreement, case: Case) -> str:
        values = ""
        if kind == "unit":
            values = f", values within {_above(_off(*setting(case), case.options))} of singular values"
        return closest(f"{what} ({columns}{values}, f(X): {F_X[setting(case)[2]]})", given, found, case)

    return replace(KSVD, prepared=partial(prepared, kind=kind), checked=checked, says=says)


# what the residuals may add is part of the bounds of others: those certify first that it is rounding
solves = ef.eigenvalue_problem
lines_of_14 = "automatic differentiation of (13) against (14)"
KSVD = Row(
    partial(prepared, kind="unit"),
    {"lines": (lines_of_14, lambda s: conditions(s.phi_q, s.phi_k, s.f_x, seed=s.seed))},
    closest,
    "phi_q",
    "explicit features",
    refuses=_unsupported,
)
SCALED = explicit(
    "scaled",
    "columns of norm 1 to 30",
    eigen_problem=("K H_r = H_e Σ and KᵀH_e = H_r Σ", solves),
    representations=("primal scores against kernel sums", ef.representations),
    both_forms=("both forms of J", ef.both_forms),
    zero_objective=("J is zero, and its value at another Λ", solves, ef.zero_objective),
    lines=("lines of (18), and the eliminated Lagrangian", solves, st.lines),
    norms=("norms of paired columns", solves, st.norms),
    stationary=("gradients of J, and its growth along W_e + t, W_r - t", solves, st.stationarity, st.climbs),
    released=(
        "the released loss at L² = N/σ",
        solves,
        partial(ef.both_forms, form="released"),
        partial(ef.zero_objective, form="released"),
    ),
)
UNIT_COLUMNS = explicit(
    "unit",
    "unit columns",
    ky_fan=("second moments of the scores", solves, st.orthonormal, st.second_moment),
    triplets=("residuals and orthonormal columns", solves, st.orthonormal),
)
WHOLE = explicit(
    "all",
    "all triplets",
    kernel=("rows of K against H_e Σ H_rᵀ", st.reconstruction, st.orthonormal),
)
# f(X) absent: weights of p rows
WITHOUT = replace(
    KSVD,
    prepared=partial(prepared, kind="scaled", f_x="identity"),
    checked={"weights": ("data-independent weights", solves, ef.representations, ef.zero_objective)},
)
eigen_problem, representations, zero_objective = (
    SCALED.leg(column, linear=True) for column in ("eigen_problem", "representations", "zero_objective")
)
both_forms, lines_of_18, equal_norms = (SCALED.leg(c) for c in ("both_forms", "lines", "norms"))
stationary, released = SCALED.leg("stationary"), SCALED.leg("released")
ky_fan, unit_triplets = UNIT_COLUMNS.leg("ky_fan"), UNIT_COLUMNS.leg("triplets")
whole_kernel, lagrangian, without_transformation = (
    WHOLE.leg("kernel"),
    KSVD.leg("lines"),
    WITHOUT.leg("weights"),
)


@climbing(refuses=_unsupported)
def few_directions(n: int, a: Any, options: Options) -> Evidence:
    """At most p = 64 triplets have a positive value, however many directions are asked for, and they
    are the whole of K.
    """
    case = Case(n, a, options)
    count = len(prepared(case, "all").values)
    what = f"{count} triplets of positive value for features of width {WIDTH}, and K is their sum"
    (found,) = replace(WHOLE, checked={"sum": (what, st.reconstruction)}, says=closest).evidence("sum", case)
    return replace(found, passed=found.passed and count <= WIDTH)


@dataclass(frozen=True, kw_only=True)
class Weighted(ef.Solution):
    """A solution of (7) for exponential features, those of e over the sums (N, 1) of the rows of K."""

    sums: torch.Tensor


def _weighted(case: Case) -> Weighted:
    seed = case.options.seed
    phi_q, phi_k, _ = make_features(case.n, WIDTH, "exponential", None, seed=seed)
    sums = (phi_q @ phi_k.sum(0))[:, None]
    triplets = feature_triplets((phi_q / sums).numpy(), phi_k.numpy(), None, DIRECTIONS)
    s = ef.solution(phi_q / sums, phi_k, None, triplets, device=case.options.device, seed=seed)
    return Weighted(**vars(s), sums=sums.to(s.phi_q))


def row_sums(s: Weighted) -> Agreement:
    """Rows of K sum to 1."""
    ones, raw, root = torch.ones_like(s.sums), s.phi_q * s.sums, s.sums.sqrt()

    def judged(rows: torch.Tensor, columns: torch.Tensor) -> Comparison:
        found = ef.dual_scores(rows[s.some], columns, None, ones)
        # the weights themselves are rounded: a sum of N + p terms and one division
        error = found.error + (4 * (s.tokens + WIDTH)) * UNIT * found.value.abs()
        return same("rows of K sum to 1", Bounded(found.value, error), Bounded(ones[: len(s.some)]))

    others = {
        "D^(-1/2) on both scores": judged(raw / root, s.phi_k / root),
        "not normalised": judged(raw, s.phi_k),
        "r scaled too": judged(s.phi_q, s.phi_k / s.sums),
    }
    return Agreement((judged(s.phi_q, s.phi_k),), others)


weighted = "exponential features weighted by D̂⁻¹"
WEIGHTED = replace(
    KSVD,
    prepared=_weighted,
    checked={"rows": (weighted, row_sums, solves, ef.representations, ef.zero_objective)},
)
weighted_rows = WEIGHTED.leg("rows")


# ---------------------------------------------------------------- the softmax matrix


class Found(NamedTuple):
    """Queries (N, d), and what was found of the leading triplets of the softmax matrix."""

    q: torch.Tensor
    triplets: Triplets


@lru_cache(maxsize=8)
def _found(n: int, device: str, seed: int) -> Found:
    """For independent queries and keys, by block Krylov on streamed products."""
    keys, queries = (make_instance(n, seed=s, device=device).k for s in (seed, seed + 7))
    return Found(queries, check_softmax_triplets(queries, keys, top_triplets, SOFTMAX_COUNT))


def _within(what: str, given: Found, found: Agreement, case: Case) -> str:
    bound = f"values within {_above(given.triplets.value_bound)} of singular values"
    return closest(f"{what}, {bound}", given, found, case)


# residuals, orthonormality, J = 0, Weyl bounds
TRIPLETS = Row(
    lambda case: _found(case.n, case.options.device, case.options.seed),
    {"triplets": (f"{SOFTMAX_COUNT} triplets of the softmax matrix", lambda x: x.triplets)},
    _within,
    backend="streamed products",
    refuses=_unsupported,
)
softmax_triplets = TRIPLETS.leg(
    "triplets",
    longest=SOFTMAX_LONGEST,
    why=f"each of some 30 products takes N² steps: run up to {SOFTMAX_LONGEST} tokens",
)

# streamed softmax attention against torch's kernel and float64 rows
engines = {"engines": ("K v by two engines", lambda x: check_attention(*x))}
ATTENTION = Row(Case.instance, engines, closest, refuses=_unsupported)
softmax_attention = ATTENTION.leg("engines")


# ---------------------------------------------------------------- the modules


def module(rows_of_f: int | None = None, *, causal: bool = False, **checked: tuple[Any, ...]) -> Row[Posed]:
    """A row of the layer as a torch module, with f(X) of so many tokens or absent."""

    def layer(case: Case) -> Posed:
        o = case.options
        return posed(case.n, rows_of_f, causal=causal, device=o.device, seed=o.seed)

    return Row(layer, checked, closest, "x", "torch.nn module", refuses=_unsupported)


against = "the module against the formula"
DEPENDENT = module(ROWS, formula=(f"{against}, f(X) of at most 300 tokens", check_primal_attention))
INDEPENDENT = module(formula=(f"{against}, f(X) absent", check_primal_attention))
CAUSAL = module(
    causal=True,
    formula=("the causal module against the formula", check_primal_attention),
    # no earlier score changes by a bit when a token changes, unless the weights depend on X
    changes=("a changed token and the scores e", check_causality),
)
module_dependent, module_independent, module_causal = (
    row.leg("formula") for row in (DEPENDENT, INDEPENDENT, CAUSAL)
)
causality = CAUSAL.leg("changes")
