"""KSVD: exact decompositions of small and of explicit-feature kernels, and the primal as the paper trains it.

Notation of chen2023: features Phi_q, Phi_k (N, p), f(X) = F (m, p) or absent, A = Phi_q F', B = Phi_k F' (N,
m), K = A B' (N, N), weights W_e, W_r (m, s), diagonal Lambda (s,), J = 1/2 Tr A W_e Lambda W_e' A' + 1/2 Tr B
W_r Lambda W_r' B' - Tr W_e' W_r, which is (11).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .definiteness import lowest_scaled
from .krylov import Triplets
from .program import Array

__all__ = [
    "Training",
    "curvature",
    "dense_triplets",
    "feature_triplets",
    "minimise_primal",
    "objective",
    "tall_qr",
    "train_squared",
]


def dense_triplets(matrix: Array, count: int | None = None) -> Triplets:
    """The `count` largest triplets (default: all) of a matrix in memory, by LAPACK."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    keep = slice(0, len(values) if count is None else count)
    return Triplets(left[:, keep], values[keep], right[keep].T, 0.0, True, 0)


def tall_qr(tall: Array, height: int = 8192) -> tuple[Array, Array]:
    """Thin QR of (N, p), N >= p, from QRs of blocks of rows: Q (N, p) and R (p, p).

    LAPACK's QR of the whole would need several copies of it; this needs the result and one block more.
    Raises ValueError if the matrix is wider than tall.
    """
    rows, width = tall.shape
    if rows < width:
        raise ValueError(f"thin QR of a {rows} x {width} matrix: at least as many rows as columns are needed")
    height = max(height, width)
    starts = list(range(0, rows - rows % height or rows, height))
    stops = [*starts[1:], rows]
    q = np.empty((rows, width))
    triangles = []
    for start, stop in zip(starts, stops, strict=True):
        q[start:stop], r = np.linalg.qr(tall[start:stop])
        triangles.append(r)
    outer, r = np.linalg.qr(np.concatenate(triangles))
    for part, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        q[start:stop] = q[start:stop] @ outer[part * width : (part + 1) * width]
    return q, r


def feature_triplets(
    phi_q: Array, phi_k: Array, transformation: Array | None = None, count: int | None = None
) -> Triplets:
    """All triplets of K = Phi_q F'F Phi_k' with positive values, or the `count` largest, in O(N p^2) time.

    phi_q, phi_k (N, p), transformation (m, p) or None for F'F = I. K = Q_1 (R_1 F'F R_2') Q_2' has rank at
    most p; the SVD of the p x p core is that of K, and no N x N matrix appears. F enters by the R of its own
    thin QR. Values below p * 1e-16 of the largest are rounding and left out: fewer than `count` may come
    back.
    """
    q1, r1 = tall_qr(phi_q)
    q2, r2 = tall_qr(phi_k)
    if transformation is not None:
        if len(transformation) >= transformation.shape[1]:
            transformation = tall_qr(transformation)[1]
        r1, r2 = r1 @ transformation.T, r2 @ transformation.T
    left, values, right = np.linalg.svd(r1 @ r2.T)
    rank = int((values > len(values) * np.finfo(float).eps * max(values[0], np.finfo(float).tiny)).sum())
    keep = slice(0, rank if count is None else min(rank, count))
    return Triplets(q1 @ left[:, keep], values[keep], q2 @ right[keep].T, 0.0, True, 0)


def objective(a: Array, b: Array, w_e: Array, w_r: Array, lam: Array) -> float:
    """J of (11) from A, B (N, m), W_e, W_r (m, s) and the diagonal of Lambda (s,)."""
    scores = (lam * np.square(a @ w_e)).sum() + (lam * np.square(b @ w_r)).sum()
    return float(scores / 2 - (w_e * w_r).sum())


def _gradient(a: Array, b: Array, w_e: Array, w_r: Array, lam: Array) -> tuple[Array, Array]:
    return a.T @ (a @ w_e) * lam - w_r, b.T @ (b @ w_r) * lam - w_e


def curvature(a: Array, b: Array, lam: float) -> Array:
    """Eigenvalues, ascending, of the Hessian [[lam A'A, -I], [-I, lam B'B]] of J in one pair of columns.

    m + #{lam sigma_i > 1} are positive and #{lam sigma_i < 1} negative, with the singular values of K padded
    by zeros to m: J is convex only if A and B have full column rank and lam >= 1/sigma_m.
    """
    return np.linalg.eigvalsh(_hessian(a, b, lam))


def _hessian(a: Array, b: Array, lam: float) -> Array:
    eye = np.eye(a.shape[1])
    return np.block([[lam * a.T @ a, -eye], [-eye, lam * b.T @ b]])


def minimise_primal(a: Array, b: Array, lam: Array, tolerance: float = 1e-9) -> tuple[Array, Array, float]:
    """(W_e, W_r, J) at a minimum of J, by cvxpy, where J is convex.

    A convex reformulation exists only where every column's Hessian is positive semidefinite; then the minimum
    is 0 and includes W = 0. Raises SolverError with status "nonconvex" otherwise: J is then unbounded below,
    and unbounded above in every case, so that (6) as a maximisation has no convex form at all.
    """
    # here, since machines for tensor checks have no cvxpy and need the triplets above
    import cvxpy as cp

    from .qp import SolverError, run_cvxpy

    size, count = a.shape[1], len(lam)
    for value in lam:
        if lowest_scaled(_hessian(a, b, value)) < -1e-12:
            lowest = curvature(a, b, value)[0]
            raise SolverError("nonconvex", f"at Lambda = {value:g} the objective has curvature {lowest:.3g}")
    w = cp.Variable((2 * size, count))
    total = cp.Constant(0)
    for column, value in enumerate(lam):
        total = total + cp.quad_form(w[:, column], cp.psd_wrap(_hessian(a, b, value))) / 2
    run_cvxpy(cp.Problem(cp.Minimize(total)), "CLARABEL", tolerance)
    found = np.asarray(w.value)
    return found[:size], found[size:], objective(a, b, found[:size], found[size:], lam)


@dataclass(frozen=True, eq=False)
class Training:
    """Where gradient descent on the squared objective ended.

    `objective` J and `gradient` |grad J| at the end; `start` J at the beginning; `norm` |W| at the end. A
    stationary point of J has gradient 0; J = 0 alone is a cone.
    """

    w_e: Array
    w_r: Array
    lam: Array
    objective: float
    gradient: float
    start: float
    norm: float
    steps: int


def train_squared(
    a: Array,
    b: Array,
    w_e: Array,
    w_r: Array,
    lam: Array,
    *,
    free_lambda: bool = False,
    tolerance: float = 1e-12,
    max_steps: int = 20_000,
) -> Training:
    """Descend J^2 from (W_e, W_r, Lambda) until |J| <= tolerance, as (10) does apart from the task loss.

    grad J^2 = 2 J grad J vanishes on the whole cone J = 0, so descent stops there wherever it meets it.
    `free_lambda` trains the diagonal of Lambda too, kept at 0 or above.
    """
    w_e, w_r, lam = w_e.copy(), w_r.copy(), np.asarray(lam, dtype=float).copy()
    start = value = objective(a, b, w_e, w_r, lam)
    steps = 0
    while abs(value) > tolerance and steps < max_steps:
        g_e, g_r = _gradient(a, b, w_e, w_r, lam)
        g_l = (
            (np.square(a @ w_e).sum(0) + np.square(b @ w_r).sum(0)) / 2 if free_lambda else np.zeros_like(lam)
        )
        length = float((g_e**2).sum() + (g_r**2).sum() + (g_l**2).sum())
        # a tenth of the step at which the linearised J would vanish: close to the flow, and never past the
        # cone
        step = 0.1 * value / length if length > 0 else 0.0
        for _ in range(60):
            trial = w_e - step * g_e, w_r - step * g_r, np.maximum(lam - step * g_l, 0.0)
            found = objective(a, b, *trial)
            if abs(found) < abs(value):
                break
            step /= 2
        else:
            break  # no step lowers |J|: stationary to rounding
        w_e, w_r, lam = trial
        value = found
        steps += 1
    g_e, g_r = _gradient(a, b, w_e, w_r, lam)
    gradient = float(np.sqrt((g_e**2).sum() + (g_r**2).sum()))
    norm = float(np.sqrt((w_e**2).sum() + (w_r**2).sum()))
    return Training(w_e, w_r, lam, value, gradient, start, norm, steps)
