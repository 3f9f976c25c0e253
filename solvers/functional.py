"""Where functional gradient descent goes: least squares and logistic regression in features, with
certificates.

Rows of Φ (N, p) are features with a column of ones for the intercept; θ (C-1, p) are the parameters. Solvers
propose θ; what is believed is a bound of the distance to the set of minimisers, computed here from the
gradient alone.

Squared loss (1/N) Σ ‖y_i - θφ_i‖²: its Hessian in each output is 2ΦᵀΦ/N with smallest eigenvalue μ, so ‖θ -
θ*‖ <= ‖∇‖/μ. Cross-entropy: moving θ by δ changes each difference of two latent outputs (f_0 = 0 included) by
at most ρ = √2 max‖φ_i‖ ‖δ‖, each probability by a factor within exp(±ρ), and so the Hessian, a sum of
variances ½ Σ p_c p_c' (v_c - v_c')², by a factor of at least exp(-2ρ). On a sphere of radius t around θ the
loss is therefore at least F(θ) - ‖∇‖t + ½ exp(-2ρ) μ t²; where that exceeds F(θ), the minimiser lies inside:
t = 4‖∇‖/μ serves if exp(-2ρ) > 1/2.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

METHODS = ("cvxpy", "scikit-learn")


class NoCertificate(ValueError):
    """No bound of the distance to a minimiser can be given; the message says why."""


@dataclass(frozen=True)
class Fit:
    """Parameters (C-1, p) with a proved bound of their distance to the minimiser (Frobenius norm)."""

    theta: np.ndarray
    distance: float
    solver: str


def squared_distance(phi: np.ndarray, y: np.ndarray, theta: np.ndarray) -> float:
    """A bound of ‖θ - θ*‖ for the mean of squares; y (N, C-1). Raises NoCertificate where the minimiser
    is not unique.
    """
    n = len(phi)
    smallest = _smallest(2 / n * phi.T @ phi)
    slope = 2 / n * (theta @ phi.T - y.T) @ phi
    return (float(np.linalg.norm(slope)) + _rounding(phi, y, theta)) / smallest


def logistic_distance(phi: np.ndarray, codes: np.ndarray, theta: np.ndarray) -> float:
    """A bound of ‖θ - θ*‖ for the mean cross-entropy with f_0 = 0; codes (N, C-1). Raises NoCertificate."""
    n, outputs = codes.shape
    latent = phi @ theta.T
    largest = np.maximum(latent.max(1, keepdims=True), 0)
    powers = np.exp(latent - largest)
    h = powers / (powers.sum(1, keepdims=True) + np.exp(-largest))
    slope = (h - codes).T @ phi / n
    blocks = np.einsum("nc,cd->ncd", h, np.eye(outputs)) - h[:, :, None] * h[:, None, :]
    hessian = np.einsum("ncd,np,nq->cpdq", blocks, phi, phi) / n
    smallest = _smallest(hessian.reshape(theta.size, theta.size))
    size = float(np.linalg.norm(slope)) + _rounding(phi, codes, theta)
    radius = 4 * size / smallest
    spread = math.sqrt(2) * float(np.linalg.norm(phi, axis=1).max()) * radius
    if not math.exp(-2 * spread) > 0.5:
        raise NoCertificate(f"the gradient, {size:.1e}, is too large for a bound")
    return radius


def _smallest(hessian: np.ndarray) -> float:
    """A lower bound of the smallest eigenvalue; LAPACK's is off by a modest multiple of the unit roundoff."""
    value = float(np.linalg.eigvalsh(hessian)[0]) - 1e-14 * len(hessian) * float(np.trace(hessian))
    if value <= 0:
        raise NoCertificate("the Hessian is not positive definite: the minimiser is not unique, or far away")
    return value


def _rounding(phi: np.ndarray, y: np.ndarray, theta: np.ndarray) -> float:
    """What rounding may have taken from the norm of a computed gradient: (2/N)(θΦᵀ - Yᵀ)Φ, or with h(θΦᵀ) in
    place of θΦᵀ.

    Products of matrices have errors of at most gamma(length) times the product of their Frobenius norms; a
    softmax is Lipschitz with a constant below 1 and adds a few roundings to numbers up to 1.
    """
    n, p = phi.shape
    unit = (n + p + 16) * 2.0**-53
    inside = float(np.linalg.norm(theta)) * float(np.linalg.norm(phi)) + float(np.linalg.norm(y))
    return 4 / n * unit / (1 - unit) * (inside + math.sqrt(y.size)) * float(np.linalg.norm(phi))


def squared_fit(phi: np.ndarray, y: np.ndarray, method: str) -> Fit:
    """The least-squares parameters by cvxpy (Clarabel) or scikit-learn (linear regression). Raises
    NoCertificate.
    """
    if method == "cvxpy":
        import cvxpy as cp

        theta = cp.Variable((y.shape[1], phi.shape[1]))
        problem = cp.Problem(cp.Minimize(cp.sum_squares(theta @ phi.T - y.T)))
        _solve(problem)
        found, name = np.array(theta.value), "cvxpy, Clarabel"
    else:
        from sklearn.linear_model import LinearRegression

        found = LinearRegression(fit_intercept=False).fit(phi, y).coef_
        name = "scikit-learn LinearRegression"
    return Fit(found, squared_distance(phi, y, found), name)


def ridge_fit(gram: np.ndarray, phi: np.ndarray, y: np.ndarray, weight: float) -> Fit:
    """Kernel ridge regression by scikit-learn, a function-space solver: θ = Σ_i a_i φ_i with (K + weight I) a
    = y.

    With a small weight it is near least squares; its distance to that is bounded like any other. Raises
    NoCertificate.
    """
    from sklearn.kernel_ridge import KernelRidge

    model = KernelRidge(alpha=weight, kernel="precomputed").fit(gram, y)
    found = np.asarray(model.dual_coef_).T @ phi
    return Fit(found, squared_distance(phi, y, found), "scikit-learn KernelRidge")


def logistic_fit(phi: np.ndarray, labels: np.ndarray, classes: int, method: str) -> Fit:
    """Multinomial logistic regression with class 0 as reference, labels (N,). Raises NoCertificate.

    scikit-learn has a parameter for each class; their differences from class 0 are the ones that are sought.
    """
    codes = np.eye(classes)[labels][:, 1:]
    if method == "cvxpy":
        import cvxpy as cp

        theta = cp.Variable((classes - 1, phi.shape[1]))
        latent = phi @ theta.T
        every = cp.hstack([np.zeros((len(phi), 1)), latent])
        loss = cp.sum(cp.log_sum_exp(every, axis=1)) - cp.sum(cp.multiply(codes, latent))
        _solve(cp.Problem(cp.Minimize(loss / len(phi))))
        found, name = np.array(theta.value), "cvxpy, Clarabel"
    else:
        from sklearn.linear_model import LogisticRegression

        # a huge C stands for no penalty, in every version
        model = LogisticRegression(
            C=1e12, fit_intercept=False, tol=1e-12, max_iter=20_000, solver="newton-cg"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the certificate judges, not the solver's opinion of itself
            weights = model.fit(phi, labels).coef_
        found = weights[1:] - weights[:1] if len(weights) == classes else weights
        name = "scikit-learn LogisticRegression"
    return Fit(found, logistic_distance(phi, codes, found), name)


def _solve(problem: object) -> None:
    """Solve with tight tolerances. Raises NoCertificate where no point comes back."""
    import cvxpy as cp

    assert isinstance(problem, cp.Problem)
    tight = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=cp.CLARABEL, **tight)
    if problem.variables()[0].value is None:
        raise NoCertificate(f"Clarabel returned {problem.status} and no point")
