"""A float solve of a quadratic program through cvxpy.

Nothing here is evidence: `solvers.certificates` judges what `solve` returns, without importing this module.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.linalg
import scipy.sparse

from .program import Array, QuadraticProgram, to_float

__all__ = ["QuadraticProgram", "Solution", "SolverError", "run_cvxpy", "solve", "solver_options"]

# What each solver calls its stopping tolerances; CLARABEL first because it is the default.
TOLERANCE_OPTIONS: dict[str, tuple[str, ...]] = {
    "CLARABEL": ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
    "OSQP": ("eps_abs", "eps_rel"),
    "SCS": ("eps_abs", "eps_rel"),
}


class SolverError(RuntimeError):
    """No usable point came back; `status` is the solver's word for why (e.g. "infeasible", "unbounded")."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class Solution:
    """A candidate: x (n,), y (m,) >= 0 for G x <= h, z (k,) for A x = b, the solver's word, seconds."""

    x: Array
    y: Array
    z: Array
    status: str
    solver: str
    seconds: float


def quadratic_term(P: Array, x: cp.Variable) -> cp.Expression:
    """1/2 x'Px without cvxpy's numerical PSD test, which rejects semidefinite P by rounding."""
    diagonal = np.diag(P)
    if np.array_equal(P, np.diag(diagonal)):
        if (diagonal < 0).any():
            raise SolverError("nonconvex", f"P is diagonal with a negative entry {diagonal.min():g}")
        return 0.5 * cp.sum_squares(cp.multiply(np.sqrt(diagonal), x))
    # One Cholesky factorisation, shifted by what rounding can do to a semidefinite matrix of this norm.
    shift = 8 * len(P) * np.finfo(float).eps * float(np.abs(P).sum(axis=1).max())
    try:
        scipy.linalg.cholesky(P + shift * np.eye(len(P)), overwrite_a=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        raise SolverError("nonconvex", "P has a negative eigenvalue beyond rounding") from None
    return 0.5 * cp.quad_form(x, cp.psd_wrap(scipy.sparse.csc_array(P)))


def solver_options(solver: str, tolerance: float) -> dict[str, float]:
    """The named solver's stopping options; ValueError for an unknown solver or an unusable tolerance."""
    if solver not in TOLERANCE_OPTIONS:
        raise ValueError(f"unknown solver {solver!r}; allowed: {', '.join(TOLERANCE_OPTIONS)}")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie strictly between 0 and 1, got {tolerance}")
    return {name: tolerance for name in TOLERANCE_OPTIONS[solver]}


def run_cvxpy(problem: cp.Problem, solver: str, tolerance: float) -> tuple[str, float]:
    """Solve in place and return (status, seconds); SolverError unless a point with multipliers came back."""
    options: Mapping[str, Any] = solver_options(solver, tolerance)
    start = time.perf_counter()
    try:
        problem.solve(solver=solver, **options)
    except cp.error.SolverError as error:
        raise SolverError("solver_error", f"{solver} failed: {error}") from error
    seconds = time.perf_counter() - start
    # An inaccurate answer is passed on: the certificate, not the status, decides what it is worth.
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise SolverError(problem.status, f"{solver} reports that the program is {problem.status}")
    return problem.status, seconds


def solve(qp: QuadraticProgram, solver: str = "CLARABEL", tolerance: float = 1e-10) -> Solution:
    """Solve a convex program in float64; exact data are rounded first.

    Constraints are stated explicitly, so that each has a multiplier. Raises SolverError (with `.status`) if
    the program is nonconvex, infeasible or unbounded or the solver fails, ValueError for an unknown solver.
    """
    qp = qp.as_float()
    x = cp.Variable(qp.q.size)
    inequality = [scipy.sparse.csr_array(qp.G) @ x <= qp.h] if qp.h.size else []
    equality = [scipy.sparse.csr_array(qp.A) @ x == qp.b] if qp.b.size else []
    objective = quadratic_term(qp.P, x) + qp.q @ x + qp.r
    status, seconds = run_cvxpy(cp.Problem(cp.Minimize(objective), inequality + equality), solver, tolerance)
    return Solution(
        x=to_float(x.value),
        y=to_float(inequality[0].dual_value).reshape(-1) if inequality else np.zeros(0),
        z=to_float(equality[0].dual_value).reshape(-1) if equality else np.zeros(0),
        status=status,
        solver=solver,
        seconds=seconds,
    )
