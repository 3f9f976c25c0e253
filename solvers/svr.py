"""Independent routes to a support vector regression, in kernel form.

Five routes share nothing but the problem's data: the primal program in explicit features (cvxpy), the dual
program in beta (cvxpy), libsvm through scikit-learn, an active-set method in float64 (`solvers.active_set`,
which also polishes any other route's answer), and exact rationals. `kernel_certificate` judges them all.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from sklearn.svm import SVR

from .active_set import minimise_column
from .exact import solve_exact
from .program import Array, Layout, QuadraticProgram
from .qp import SolverError, run_cvxpy, solve
from .svr_problem import LOSSES, KernelCertificate, SvrProblem, kernel_certificate

__all__ = [
    "LOSSES",
    "KernelCertificate",
    "SvrProblem",
    "SvrSolution",
    "dual_program",
    "kernel_certificate",
    "polish",
    "solve_dual",
    "solve_libsvm",
    "solve_primal",
    "solve_rational_svr",
]

# What stands for "no bound" in libsvm, which needs a finite one; beta is O(1) in the scaling used there.
LIBSVM_UNBOUNDED = 1e12


@dataclass(frozen=True, eq=False)
class SvrSolution:
    """A candidate: beta (N, D_v) = alpha - alpha~, bias b (D_v,), its route, the solver's word, seconds."""

    beta: Array
    b: Array
    route: str
    status: str
    seconds: float


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The same regression with M of diagonal at most 1 and targets at most 1, and the way back.

    Gram matrices of attention have entries near 1/N^2 and multipliers near N^2; solvers with absolute
    tolerances fail on them as they stand.
    """

    problem: SvrProblem
    gram: float
    target: float

    @staticmethod
    def of(problem: SvrProblem) -> _Scaled:
        if problem.exact:
            raise ValueError("this route needs float64 data; use solve_rational_svr for Fractions")
        gram = float(np.diag(problem.M).max()) or 1.0
        target = float(np.abs(problem.Y).max()) or 1.0
        # C multiplies |r| in the losses with a linear branch, r^2 in the others.
        linear = problem.loss in ("epsilon_insensitive", "huber")
        C = problem.C * gram / (target if linear else 1.0)
        M, Y, eps = problem.M / gram, problem.Y / target, problem.eps / target
        return _Scaled(SvrProblem(M, Y, C, eps, problem.loss, problem.bias, problem.box), gram, target)

    def restore(self, beta: Array, b: Array, route: str, status: str, seconds: float) -> SvrSolution:
        return SvrSolution(beta * (self.target / self.gram), b * self.target, route, status, seconds)


def solve_primal(
    problem: SvrProblem, features: Array, solver: str = "CLARABEL", tolerance: float = 1e-10
) -> SvrSolution:
    """Solve the primal program in the weights W (D_v, p) on features Phi_j / h_j as rows of (N, p).

    beta is the multiplier of the constraints R = Y - (features W' + b). Raises ValueError if the features do
    not give the Gram matrix M to rounding, `SolverError` as `solvers.qp.solve` does.
    """
    scaled = _Scaled.of(problem)
    N, D_v = problem.Y.shape
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or len(features) != N:
        raise ValueError(f"features must have shape ({N}, p), have {features.shape}")
    if not np.allclose(features @ features.T, problem.M, rtol=0, atol=1e-12 * np.diag(problem.M).max()):
        raise ValueError("features @ features.T is not M")
    W, b, R = cp.Variable((D_v, features.shape[1])), cp.Variable((1, D_v)), cp.Variable((N, D_v))
    fit = features @ W.T / math.sqrt(scaled.gram) + (np.ones((N, 1)) @ b if problem.bias else 0)
    residual = R == scaled.problem.Y - fit
    loss, constraints = _primal_loss(scaled.problem, R)
    program = cp.Problem(cp.Minimize(cp.sum_squares(W) / 2 + loss), [residual, *constraints])
    status, seconds = run_cvxpy(program, solver, tolerance)
    bias = np.asarray(b.value).reshape(D_v) if problem.bias else np.zeros(D_v)
    beta = -np.asarray(residual.dual_value).reshape(N, D_v)
    return scaled.restore(beta, bias, f"primal {solver}", status, seconds)


def _primal_loss(problem: SvrProblem, R: cp.Variable) -> tuple[cp.Expression, list[cp.Constraint]]:
    """Sum of losses of the residuals R, written as the papers write them, and constraints that bound R."""
    C, eps = problem.C, problem.eps
    outside = cp.pos(cp.abs(R) - problem.tube)
    if problem.bound == math.inf and problem.ridge == 0:
        return cp.Constant(0), [problem.tube >= R, -problem.tube <= R]
    if problem.loss == "huber":
        # Without its bound on beta, Huber's loss keeps its quadratic branch everywhere.
        quadratic = cp.sum_squares(R) / (2 * eps)
        return C * (cp.sum(cp.huber(R, eps)) / (2 * eps) if problem.box else quadratic), []
    if problem.loss == "epsilon_insensitive":
        return C * cp.sum(outside), []
    return C / 2 * cp.sum_squares(R if problem.loss == "least_squares" else outside), []


def dual_program(problem: SvrProblem, column: int) -> QuadraticProgram:
    """The dual of one output column: minimise over `beta` (N,) and, if the tube is open, `magnitude`.

    magnitude (N,) >= |beta| carries the tube's cost; rows "above"/"below" state it, or the bound when there
    is no tube; the multiplier of "balance" is the bias. Exact data give an exact program.
    """
    M, y, tube, bound = problem.M, problem.Y[:, column], problem.tube, problem.bound
    N = len(y)
    eye, zero = np.eye(N, dtype=int).astype(M.dtype), np.zeros((N, N), dtype=int).astype(M.dtype)
    ones, nil = np.ones(N, dtype=int).astype(M.dtype), np.zeros(N, dtype=int).astype(M.dtype)
    P, q, total = M + problem.ridge * eye, -y, ones[None, :]
    variables: Layout = {"beta": (0, (N,))}
    rows: list[tuple[str, Array, Array]] = []
    if tube > 0:
        P, q = np.block([[P, zero], [zero, zero]]), np.concatenate([q, tube * ones])
        total = np.concatenate([ones, nil])[None, :]
        variables["magnitude"] = (N, (N,))
        rows = [("above", np.block([eye, -eye]), nil), ("below", np.block([-eye, -eye]), nil)]
        rows += [("bound", np.block([zero, eye]), bound * ones)] if bound != math.inf else []
    elif bound != math.inf:
        rows = [("above", eye, bound * ones), ("below", -eye, bound * ones)]
    inequalities: Layout = {name: (i * N, (N,)) for i, (name, _, _) in enumerate(rows)}
    equalities: Layout = {"balance": (0, (1,))} if problem.bias else {}
    return QuadraticProgram(
        P=P,
        q=q,
        G=np.concatenate([matrix for _, matrix, _ in rows]) if rows else None,
        h=np.concatenate([right for _, _, right in rows]) if rows else None,
        A=total if problem.bias else None,
        b=nil[:1] if problem.bias else None,
        variables=variables,
        inequalities=inequalities,
        equalities=equalities,
    )


def solve_dual(problem: SvrProblem, solver: str = "CLARABEL", tolerance: float = 1e-10) -> SvrSolution:
    """Solve the dual program column by column.

    Raises as `solvers.qp.solve`; "unbounded" means that no fit stays inside a hard tube.
    """
    scaled = _Scaled.of(problem)
    beta, b = np.zeros(problem.Y.shape), np.zeros(problem.Y.shape[1])
    seconds, statuses = 0.0, set()
    for d in range(len(b)):
        qp = dual_program(scaled.problem, d)
        solution = solve(qp, solver, tolerance)
        beta[:, d] = qp.split(solution.x)["beta"]
        b[d] = solution.z[0] if problem.bias else 0.0
        seconds += solution.seconds
        statuses.add(solution.status)
    return scaled.restore(beta, b, f"dual {solver}", ", ".join(sorted(statuses)), seconds)


def solve_libsvm(problem: SvrProblem, tolerance: float = 1e-6, cache_megabytes: float = 500) -> SvrSolution:
    """Solve with scikit-learn's SVR on a precomputed kernel; `tolerance` is relative to max |Y|.

    libsvm has a bias and the epsilon-insensitive loss only. The other losses are that one with the Gram
    matrix M + ridge I (their duals agree); no bias is that with every point (Phi, y) joined by its mirror
    image (-Phi, -y) and half the bound, whose optimal bias is 0 by symmetry. libsvm caches M in float32
    and stops early, so its answer keeps a gap near the tolerance: `polish` it. Raises `SolverError` if a hard
    tube makes beta diverge.
    """
    start = time.perf_counter()
    scaled = _Scaled.of(problem)
    problem = scaled.problem
    N, D_v = problem.Y.shape
    gram, bound = problem.M + problem.ridge * np.eye(N), min(problem.bound, LIBSVM_UNBOUNDED)
    if not problem.bias:
        gram, bound = np.block([[gram, -gram], [-gram, gram]]), bound / 2
    beta, b = np.zeros((N, D_v)), np.zeros(D_v)
    for d in range(D_v):
        y = problem.Y[:, d]
        targets = y if problem.bias else np.concatenate([y, -y])
        model = SVR(
            kernel="precomputed", C=bound, epsilon=problem.tube, tol=tolerance, cache_size=cache_megabytes
        )
        model.fit(gram, targets)
        alpha = np.zeros(len(targets))
        alpha[model.support_] = model.dual_coef_[0]
        beta[:, d] = alpha if problem.bias else alpha[:N] - alpha[N:]
        b[d] = float(model.intercept_[0]) if problem.bias else 0.0
    if problem.bound == math.inf and np.abs(beta).max() > 1e-3 * LIBSVM_UNBOUNDED:
        raise SolverError("unbounded", "libsvm's multipliers diverge: no fit stays inside the tube")
    return scaled.restore(beta, b, "libsvm", "finished", time.perf_counter() - start)


def polish(
    problem: SvrProblem, start: SvrSolution | None = None, max_steps: int | None = None
) -> SvrSolution:
    """Float64 active-set solution from another route's beta, or from beta = 0 if none is given.

    Each column's status is "optimal" (no violated condition beyond rounding) or "step limit"; either way the
    certificate decides. Polishing reaches a relative gap near 1e-12 where the starting route stops at 1e-5.
    """
    if problem.exact:
        raise ValueError("polish needs float64 data; use solve_rational_svr for Fractions")
    clock = time.perf_counter()
    beta, b, statuses = np.zeros(problem.Y.shape), np.zeros(problem.Y.shape[1]), set()
    for d in range(len(b)):
        first = np.zeros(len(beta)) if start is None else start.beta[:, d]
        beta[:, d], b[d], status = minimise_column(problem, d, first, max_steps)
        statuses.add(status)
    route = "active set" if start is None else f"{start.route}, polished"
    return SvrSolution(beta, b, route, ", ".join(sorted(statuses)), time.perf_counter() - clock)


def solve_rational_svr(problem: SvrProblem) -> SvrSolution:
    """Exactly optimal beta and b in Fractions for small N (a dozen points), column by column.

    Raises ValueError on float data, `NoExactCertificate` where no exact solution is found.
    """
    if not problem.exact:
        raise ValueError("solve_rational_svr needs exact data (object arrays of Fractions)")
    clock = time.perf_counter()
    beta, b = np.empty(problem.Y.shape, dtype=object), np.zeros(problem.Y.shape[1], dtype=int).astype(object)
    for d in range(len(b)):
        qp = dual_program(problem, d)
        solution = solve_exact(qp)
        beta[:, d] = qp.split(solution.x)["beta"]
        b[d] = solution.z[0] if problem.bias else b[d]
    return SvrSolution(beta, b, "exact rational", "optimal", time.perf_counter() - clock)
