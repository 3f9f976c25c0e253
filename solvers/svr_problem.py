"""Support vector regression in kernel form, and the checker that judges its solutions.

Each output column d has weights w_d, bias b_d and fit f = M beta_d + b_d on the Gram matrix
M_ij = Phi_i.Phi_j / (h_i h_j) of the support vector expansion w_d = sum_j beta_jd Phi_j / h_j (nguyen2023,
(5) and Theorem 1). With residual r = y - f the primal program is, summed over columns,

    1/2 |w|^2 + sum of losses(r),   and the losses are
    epsilon_insensitive          C max(|r| - eps, 0)
    squared_epsilon_insensitive  C/2 max(|r| - eps, 0)^2
    least_squares                C/2 r^2
    huber                        C r^2 / (2 eps) for |r| <= eps, C (|r| - eps/2) beyond.

All four are one family. The conjugate of the loss is tube |beta| + ridge/2 beta^2 on |beta| <= bound, so the
dual program is: maximise y'beta - 1/2 beta'M beta - sum of conjugates, and 1'beta = 0 when there is a bias.
This module imports no solver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .program import Array, typed_array

LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "least_squares", "huber")
LENT = 10**6
"""Large terms that cancel lend a residual beside them one part in so many of their size: their rounding."""
BLOCK = 256  # rows of M handled at once: they stay in cache, and no second N x N array is made


def _parameter(name: str, value: Any, exact: bool) -> Any:
    if isinstance(value, float) and math.isinf(value) and value > 0 and name == "C":
        return math.inf
    if exact:
        if not isinstance(value, int | Fraction):
            raise ValueError(f"{name} must be an integer or a Fraction when M is exact, got {value!r}")
        return Fraction(value)
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


def _symmetric(M: Array) -> Array:
    """M itself, or (M + M')/2 if it differs from its transpose by rounding only; ValueError beyond that."""
    if M.dtype == object:
        if not np.array_equal(M, M.T):
            raise ValueError("M is not symmetric")
        return M
    starts = range(0, len(M), BLOCK)
    tiles = ((slice(i, i + BLOCK), slice(j, j + BLOCK)) for i in starts for j in starts if j <= i)
    worst = max(float(np.abs(M[rows, columns] - M[columns, rows].T).max()) for rows, columns in tiles)
    if worst == 0:
        return M
    if worst > 32 * np.finfo(float).eps * float(np.diag(M).max()):
        raise ValueError(f"M is not symmetric: entries differ from their transposes by up to {worst:g}")
    return (M + M.T) / 2


@dataclass(frozen=True, eq=False)
class SvrProblem:
    """One regression: Gram matrix M (N, N), targets Y (N, D_v), C, eps, loss, and the bias and box knobs.

    Data are float64, or exact (M an object array of Fractions or ints; then Y, C, eps are exact too). C may
    be math.inf: a hard tube for the epsilon losses, interpolation for the others. `box=False` drops the bound
    |beta| <= C where the loss has one (epsilon_insensitive, huber). eps is unused by least_squares. M must be
    positive semidefinite, as a Gram matrix is; that is not checked here (`solvers.definiteness.is_psd` does,
    exactly). Raises ValueError on other shapes, NaN, C <= 0, eps < 0, huber with eps = 0, an unknown loss.
    """

    M: Array
    Y: Array
    C: Any
    eps: Any = 0
    loss: str = "epsilon_insensitive"
    bias: bool = True
    box: bool = True

    def __post_init__(self) -> None:
        exact = np.asarray(self.M).dtype == object
        Y = np.asarray(self.Y)
        if Y.ndim != 2 or Y.size == 0:
            raise ValueError(f"Y must be an (N, D_v) array with entries, has shape {Y.shape}")
        put = object.__setattr__
        put(self, "M", _symmetric(typed_array("M", self.M, (len(Y), len(Y)), exact)))
        put(self, "Y", typed_array("Y", Y, Y.shape, exact))
        put(self, "C", _parameter("C", self.C, exact))
        put(self, "eps", _parameter("eps", self.eps, exact))
        if not self.C > 0:
            raise ValueError(f"C must be positive, got {self.C}")
        if self.loss not in LOSSES:
            raise ValueError(f"unknown loss {self.loss!r}; allowed: {', '.join(LOSSES)}")
        if self.eps < 0 or (self.loss == "huber" and self.eps == 0):
            raise ValueError(f"eps must be nonnegative, and positive for huber; got {self.eps}")

    @property
    def exact(self) -> bool:
        """True if the data are Fractions."""
        return self.M.dtype == object

    @property
    def tube(self) -> Any:
        """Weight of |beta| in the dual: half the width of the tube without loss."""
        return self.eps if "epsilon_insensitive" in self.loss else 0 * self.eps

    @property
    def ridge(self) -> Any:
        """Weight of beta^2 / 2 in the dual."""
        if self.loss == "epsilon_insensitive" or self.C == math.inf:
            return 0 * self.eps
        return self.eps / self.C if self.loss == "huber" else 1 / self.C

    @property
    def bound(self) -> Any:
        """The largest |beta| allowed, math.inf if there is none."""
        return self.C if self.box and self.loss in ("epsilon_insensitive", "huber") else math.inf

    def column(self, d: int) -> SvrProblem:
        """The same regression for output column d alone: columns do not interact."""
        return SvrProblem(self.M, self.Y[:, d : d + 1], self.C, self.eps, self.loss, self.bias, self.box)

    def as_float(self) -> SvrProblem:
        """The same regression with its data rounded to float64."""
        M, Y, C, eps = self.M.astype(float), self.Y.astype(float), float(self.C), float(self.eps)
        return SvrProblem(M, Y, C, eps, self.loss, self.bias, self.box)

    def certificate(self, beta: Array, b: Array) -> KernelCertificate:
        """Judge beta (N, D_v), b (D_v,) as a solution; see `kernel_certificate`."""
        return _certify(self, beta, b)


@dataclass(frozen=True)
class Residual:
    """A violation, and the same divided by the size of the terms that should have cancelled (its scale)."""

    absolute: Any
    relative: Any

    @staticmethod
    def of(violation: Array, scale: Array) -> Residual:
        """The largest violation (m,) >= 0 and the largest ratio violation / scale; 0 / 0 counts as 0."""
        violation, scale = np.atleast_1d(violation), np.atleast_1d(scale)
        if violation.size == 0:
            return Residual(0, 0)
        ratios = [_ratio(v, s) for v, s in zip(violation.flat, scale.flat, strict=True)]
        return Residual(_largest(violation.flat), _largest(ratios))


def _ratio(violation: Any, scale: Any) -> Any:
    """violation / scale, 0 where the violation is 0 and infinite where only the scale is."""
    if violation == 0:
        return violation
    return violation / scale if scale != 0 else math.inf


def _largest(values: Any) -> Any:
    """The maximum, with NaN winning: a NaN must never look like a small residual."""
    entries = list(values)
    return next((v for v in entries if v != v), None) or max(entries)


@dataclass(frozen=True)
class KernelCertificate:
    """Residuals of the optimality conditions in kernel form, over all columns.

    * `bound`: |beta| beyond its bound, over the bound;
    * `tube`: with a hard tube (no bound, no ridge), |r| beyond the tube, over the terms of r; otherwise 0;
    * `balance`: |sum_j beta_jd| over sum_j |beta_jd|; without a bias, b itself (which must be 0);
    * `stationarity`: |beta - prox(beta + t r)| with t = 1 / diag M, row by row, and prox that of t times the
      loss's conjugate: zero exactly where r lies in the conjugate's subdifferential, and continuous, so that
      a beta of 1e-12 in place of 0 counts as 1e-12; over |beta| + t (the terms of r), entry by entry;
    * `gap`: |primal - dual| over the primal value, all of whose terms are nonnegative, column by column.

    A zero optimum has no scale: only the exact solution beta = 0 is accepted there.
    """

    bound: Residual
    tube: Residual
    balance: Residual
    stationarity: Residual
    gap: Residual
    primal_value: Any
    dual_value: Any
    exact: bool

    def residuals(self) -> dict[str, Residual]:
        """The residuals by name."""
        names = ("bound", "tube", "balance", "stationarity", "gap")
        return {name: getattr(self, name) for name in names}

    @property
    def worst(self) -> Any:
        """The largest relative residual; NaN if any is NaN."""
        return _largest(residual.relative for residual in self.residuals().values())

    def accepts(self, tolerance: Any = 0) -> bool:
        """True if every relative residual is at most the tolerance; 0 is right for exact data."""
        return bool(self.worst <= tolerance)


def kernel_certificate(
    M: Array,
    Y: Array,
    beta: Array,
    b: Array,
    C: Any,
    eps: Any = 0,
    loss: str = "epsilon_insensitive",
    bias: bool = True,
    box: bool = True,
) -> KernelCertificate:
    """Check beta (N, D_v) and b (D_v,) as the support vector regression of Y (N, D_v) on M (N, N).

    Cost: two products of an N x N with an N x D_v matrix, and no second N x N array. Works unchanged on
    Fractions, where the residuals are exactly zero or not. Raises ValueError for unusable input
    (`SvrProblem`), a beta or b of another shape, or float beta for exact data; NaN in beta or b is a
    rejection.
    """
    return _certify(SvrProblem(M, Y, C, eps, loss, bias, box), beta, b)


def _candidate(problem: SvrProblem, beta: Any, b: Any) -> tuple[Array, Array]:
    dtype = object if problem.exact else np.float64
    beta, b = np.asarray(beta, dtype=dtype), np.asarray(b, dtype=dtype)
    if beta.shape != problem.Y.shape or b.shape != problem.Y.shape[1:]:
        raise ValueError(f"beta {beta.shape} and b {b.shape} do not fit targets of shape {problem.Y.shape}")
    if problem.exact and not all(isinstance(v, int | Fraction) for v in [*beta.flat, *b.flat]):
        raise ValueError("beta and b must hold Fractions: the data are exact, a float certifies nothing here")
    return beta, b


def _products(M: Array, beta: Array) -> tuple[Array, Array]:
    """M beta and |M| |beta|, (N, D_v) each, reading M once, a block of rows at a time."""
    both, size = np.concatenate([beta, np.abs(beta)], axis=1), np.abs(beta)
    signed, absolute = np.empty_like(beta), np.empty_like(beta)
    for start in range(0, len(M), BLOCK):
        rows = M[start : start + BLOCK]
        # Kernels of attention are nonnegative, and then both products are one.
        if rows.min() >= 0:
            joint = rows @ both
            signed[start : start + BLOCK], absolute[start : start + BLOCK] = np.split(joint, 2, axis=1)
        else:
            signed[start : start + BLOCK] = rows @ beta
            absolute[start : start + BLOCK] = np.abs(rows) @ size
    return signed, absolute


def _loss_sum(problem: SvrProblem, excess: Array) -> Any:
    """Sum of the losses at max(|r| - tube, 0) = excess: the conjugate of tube|.| + ridge/2 (.)^2 + bound."""
    if problem.ridge > 0:
        slope = np.minimum(excess / problem.ridge, problem.bound)
        return (excess * slope - problem.ridge * slope * slope / 2).sum(axis=0)
    # A hard tube has no loss: being outside it is infeasible, and reported as such.
    return 0 * problem.eps if problem.bound == math.inf else problem.bound * excess.sum(axis=0)


def _prox_residual(problem: SvrProblem, beta: Array, r: Array, t: Any) -> Array:
    v = beta + t * r
    shrunk = np.maximum(np.abs(v) - t * problem.tube, 0) / (1 + t * problem.ridge)
    if problem.bound != math.inf:
        shrunk = np.minimum(shrunk, problem.bound)
    return np.abs(beta - np.where(v > 0, shrunk, -shrunk))


def _balance(problem: SvrProblem, beta: Array, b: Array) -> Residual:
    if problem.bias:
        return Residual.of(np.abs(beta.sum(axis=0)), np.abs(beta).sum(axis=0))
    return Residual.of(np.abs(b), 0 * np.abs(b))


def _certify(problem: SvrProblem, beta: Array, b: Array) -> KernelCertificate:
    beta, b = _candidate(problem, beta, b)
    nothing = Residual(0, 0)
    if not problem.exact and not (np.isfinite(beta).all() and np.isfinite(b).all()):
        nan = Residual(math.nan, math.nan)
        return KernelCertificate(nan, nan, nan, nan, nan, math.nan, math.nan, exact=False)
    M, Y, tube, ridge, bound = problem.M, problem.Y, problem.tube, problem.ridge, problem.bound
    expansion, absolute = _products(M, beta)
    r, size = Y - expansion - b, np.abs(beta)
    # what cancels lends its rounding: residuals near 1 are no small part of coefficients that add up to 0
    terms = np.abs(Y) + np.abs(expansion) + np.abs(b) + tube + absolute / LENT
    excess = np.maximum(np.abs(r) - tube, 0)
    hard = bound == math.inf and ridge == 0
    norm = (beta * expansion).sum(axis=0) / 2
    primal = norm + _loss_sum(problem, excess)
    dual = (beta * Y).sum(axis=0) - norm - tube * size.sum(axis=0) - ridge * (beta * beta).sum(axis=0) / 2
    # each coefficient by its own curvature: a large entry of M must not hide what another one leaves open
    diagonal = np.diag(M)[:, None]
    t = 1 / np.where(diagonal > 0, diagonal, 1)
    over = Residual.of(np.maximum(size - bound, 0), 0 * size + bound) if bound != math.inf else nothing
    return KernelCertificate(
        bound=over,
        tube=Residual.of(excess, terms) if hard else nothing,
        balance=_balance(problem, beta, b),
        stationarity=Residual.of(_prox_residual(problem, beta, r, t), size + t * (terms + ridge * size)),
        gap=Residual.of(abs(primal - dual), primal),
        primal_value=primal.sum(),
        dual_value=dual.sum(),
        exact=problem.exact,
    )
