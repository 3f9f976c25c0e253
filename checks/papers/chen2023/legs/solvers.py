"""Legs of chen2023 by independent solvers: other decompositions, the convex case of (6), and training on J².

Training legs say where gradient descent on the squared objective ends. Attached as ``failing`` they try a
refuted statement as printed, from seeded starts; they do not pass where it fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse.linalg

from checks.claim import Options
from checks.evidence import Evidence
from checks.papers.chen2023.legs.tensors import DIRECTIONS, features
from checks.tensors.ksvd.explicit_features import solution
from checks.tensors.ksvd.statements import value_bound
from solvers.krylov import Triplets
from solvers.ksvd import curvature, dense_triplets, minimise_primal, objective, train_squared
from solvers.qp import SolverError

DENSE, ORACLE = 1024, 8192  # LAPACK on the whole kernel; ARPACK on its products
STARTS = 12
STATIONARY = 1e-6  # |∇J| over |W| below which a point counts as stationary
ZERO = 1e-10  # |J| below which the objective counts as zero; at the starts it is above 1
TOKENS, ROWS, COLUMNS = 12, 5, 3  # of the problems that are trained on: N, rows of f(X), s
FREE_STEPS = 2000  # of descents with a free Λ, some of which run into Λ = 0 and never end


# ---------------------------------------------------------------- other decompositions


def other_decompositions(a: Any, options: Options) -> list[Evidence]:
    """Values of the p × p core against LAPACK on the kernel and, where allowed, ARPACK on its products.

    Every set of triplets has its own proved bound, so two solvers may differ by the sum of both.
    """

    def dense(left: Any, right: Any) -> Any:
        return dense_triplets(left @ right.T, DIRECTIONS)

    def sparse(left: Any, right: Any) -> Any:
        return _arpack(left, right, options.seed)

    found = [_against(DENSE, "LAPACK on the N × N kernel", dense, options)]
    if options.max_tokens >= ORACLE:
        found.append(_against(ORACLE, "ARPACK, scipy's svds", sparse, options))
    return found


def _arpack(left: Any, right: Any, seed: int) -> Any:
    """Triplets of left rightᵀ by products with vectors."""

    operator = scipy.sparse.linalg.LinearOperator(
        (len(left), len(right)),
        matvec=lambda x: left @ (right.T @ x),
        rmatvec=lambda x: right @ (left.T @ x),
        dtype=float,
    )
    start = np.random.default_rng(seed).standard_normal(len(left))
    u, values, v = scipy.sparse.linalg.svds(operator, DIRECTIONS, tol=1e-14, v0=start)
    order = np.argsort(-values)
    return Triplets(u[:, order], values[order], v[order].T, 0.0, True, 0)


def _against(n: int, name: str, solver: Any, options: Options) -> Evidence:

    phi_q, phi_k, f, every = features(n, "any", "sampled", options.seed)
    theirs = solver(phi_q.numpy() @ f.numpy().T, phi_k.numpy() @ f.numpy().T)
    ours = every.first(DIRECTIONS)
    bounds = [value_bound(solution(phi_q, phi_k, f, t, dual_rows=1)) for t in (ours, theirs)]
    error = float(np.abs(ours.values - theirs.values).max())
    shifted = float(np.abs(ours.values[1:] - theirs.values[:-1]).min())
    passed = error <= sum(bounds) <= shifted / 1000  # far below the distance to values of other ranks
    detail = f"{DIRECTIONS} singular values by two solvers, each with a proved bound"
    return Evidence(
        "solver",
        "certified-float",
        passed,
        detail,
        error=error,
        bound=sum(bounds),
        tokens=n,
        dtype="float64",
        device="cpu",
        backend=name,
        wrong=1,
    )


# ---------------------------------------------------------------- the convex case


def problem(seed: int) -> tuple[Any, Any, Any]:
    """A and B, the images of seeded features under f(X), (N, rows) each, and the singular values of K =
    A Bᵀ.
    """
    a, b = np.random.default_rng(seed).standard_normal((2, TOKENS, ROWS))
    return a, b, np.linalg.svd(a @ b.T, compute_uv=False)[:ROWS]


def convex_case(a: Any, options: Options) -> list[Evidence]:
    """cvxpy finds the minimum 0 where every λ_l >= 1/σ for the smallest σ, and no convex form exists
    below that.
    """

    worst, refused, saddles = 0.0, 0, 0
    seeds = range(options.seed, options.seed + 3)
    for seed in seeds:
        left, right, sigma = problem(seed)
        *_, value = minimise_primal(left, right, np.array([1.01, 3.0]) / sigma[-1])
        worst = max(worst, abs(value))
        signs = curvature(left, right, 1 / sigma[1])  # Λ of the second triplet: directions of both signs
        saddles += bool(signs[0] < -1e-9 and signs[-1] > 1e-9)
        try:
            minimise_primal(left, right, np.array([0.99, 3.0]) / sigma[-1])
        except SolverError as error:
            refused += error.status == "nonconvex"
    detail = (
        f"f(X) of {ROWS} rows: minimum of J at λ >= 1/σ_{ROWS}; λ = 0.99/σ_{ROWS} refused as not convex in "
        f"{refused} of {len(seeds)} problems, "
        f"λ = 1/σ_2 with curvature of both signs in {saddles}"
    )
    passed = worst <= 1e-6 and refused == saddles == len(seeds)
    return [
        Evidence(
            "solver",
            "compared",
            passed,
            detail,
            error=worst,
            bound=1e-6,
            tokens=TOKENS,
            dtype="float64",
            device="cpu",
            backend="cvxpy, Clarabel",
        )
    ]


# ---------------------------------------------------------------- gradient descent on J²


def _start(seed: int, count: int) -> Any:
    """W_e and W_r, (2, rows, count)."""
    return np.random.default_rng(seed + 1000).standard_normal((2, ROWS, count))


def trained(seed: int, free: bool = False, count: int = COLUMNS) -> tuple[Any, Any, Any, Any]:
    """Where descent on J² ends from seeded weights, with Λ the inverse of the leading values (free:
    half above it).
    """

    a, b, sigma = problem(seed)
    w_e, w_r = _start(seed, count)
    lam = (1.5 if free else 1.0) / sigma[:count]
    steps = FREE_STEPS if free else 20_000
    return a, b, sigma, train_squared(a, b, w_e, w_r, lam, free_lambda=free, max_steps=steps)


def _starts(options: Options) -> range:
    return range(options.seed, options.seed + STARTS)


def _found(passed: bool, detail: str, error: float, bound: float) -> list[Evidence]:
    return [
        Evidence(
            "solver",
            "sampled",
            passed,
            detail,
            error=error,
            bound=bound,
            tokens=TOKENS,
            dtype="float64",
            device="cpu",
            backend="gradient descent on J²",
        )
    ]


def descent_reaches_zero(a: Any, options: Options) -> list[Evidence]:
    """Minimising J² drives J to zero from every start; whether that is a solution is another question."""
    ends = [trained(seed)[3] for seed in _starts(options)]
    worst = max(abs(end.objective) for end in ends)
    slopes = [end.gradient / end.norm for end in ends]
    detail = (
        f"largest |J| at the end of {STARTS} descents; |∇J|/|W| there is {min(slopes):.2g} to "
        f"{max(slopes):.2g}"
    )
    return _found(worst <= ZERO < min(abs(end.start) for end in ends), detail, worst, ZERO)


def descent_is_stationary(a: Any, options: Options) -> list[Evidence]:
    """As printed: where J reaches zero the stationarity conditions hold."""
    slopes = [end.gradient / end.norm for end in (trained(seed)[3] for seed in _starts(options))]
    reached = sum(slope <= STATIONARY for slope in slopes)
    detail = f"{reached} of {STARTS} descents to J = 0 end at a stationary point; smallest |∇J|/|W|"
    return _found(reached == STARTS, detail, min(slopes), STATIONARY)


def descent_lowers_rank(a: Any, options: Options) -> list[Evidence]:
    """As printed: minimising J² lowers the rank. Here: the rank of the scores falls on the way to J = 0."""
    ranks = []
    for seed in _starts(options):
        left, _, _, end = trained(seed)
        both = [np.linalg.svd(left @ w, compute_uv=False) for w in (_start(seed, COLUMNS)[0], end.w_e)]
        ranks.append([int((values > 1e-6 * values[0]).sum()) for values in both])
    lower = sum(last < before for before, last in ranks)
    detail = f"rank of E lower than at the start in {lower} of {STARTS} descents to J = 0; smallest rank"
    return _found(lower == STARTS, detail, float(min(last for _, last in ranks)), COLUMNS - 1.0)


def descent_finds_lambda(a: Any, options: Options) -> list[Evidence]:
    """As printed: Λ is determined by the optimisation. Here: where J = 0, each λ_l σ = 1 for a singular
    value σ.
    """
    distances, collapsed = [], 0
    for seed in _starts(options):
        _, _, sigma, end = trained(seed, free=True)
        if abs(end.objective) <= ZERO:
            distances.append(max(float(np.abs(value * sigma - 1).min()) for value in end.lam))
        else:
            collapsed += not end.lam.any()
    detail = (
        "relative distance of the worst λ_l from an inverse singular value, |λ_l σ - 1|, smallest over "
        f"{len(distances)} descents with a free Λ >= 0 that reach J = 0; in {collapsed} others Λ falls to 0 "
        "first"
    )
    passed = bool(distances) and max(distances) <= STATIONARY
    return _found(passed, detail, min(distances, default=float("inf")), STATIONARY)


def descent_in_each_head(a: Any, options: Options) -> list[Evidence]:
    """As printed: driving the mean over heads to zero optimises each. Two heads are two columns with
    weights of their own.
    """

    largest = []
    for seed in _starts(options):
        left, right, _, end = trained(seed, count=2)
        own = (objective(left, right, end.w_e[:, [h]], end.w_r[:, [h]], end.lam[[h]]) for h in range(2))
        largest.append(max(abs(value) for value in own))
    detail = f"largest |J| of a head where the mean of two is zero, smallest over {STARTS} descents"
    return _found(max(largest) <= ZERO, detail, min(largest), ZERO)
