"""Solver legs: layer after layer, descent approaches the minimisers that regression solvers find."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.linalg import solve_triangular

from checks.claim import Options
from checks.evidence import Evidence
from checks.tensors.functional_descent.features import features
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.layers import DescentTransformer
from checks.tensors.functional_descent.steps import make_task
from solvers.functional import (
    METHODS,
    logistic_distance,
    logistic_fit,
    ridge_fit,
    squared_distance,
    squared_fit,
)

EXAMPLES, QUERIES, LAYERS, LATENT_STEPS = 60, 16, 4000, 20_000
FEW, SOON = 12, 1000  # tokens to interpolate (more are closer to singular), and layers that this takes
FAR = 20  # after a hundredth of the layers the distance must be so many bounds at least


def _problem(seed: int, categorical: bool) -> tuple[Any, Any, Any]:
    """A polynomial kernel's features with intercept (N, 6) and at queries, outcomes, and the task of
    the layers.
    """

    phi = features(Kernel("polynomial"), 2)
    task = make_task(phi, EXAMPLES, 2, 3, queries=QUERIES, categorical=categorical, seed=seed)

    # The minimiser must be unique: x₁x₂, twice among the features, is merged, and so are the constant and the
    # intercept.
    def rows(x: torch.Tensor) -> np.ndarray:
        own = phi.phi(x).numpy()
        merged = np.column_stack([own[:, 1:3], own[:, 3], own[:, 4] * np.sqrt(2), own[:, 6]])
        return np.column_stack([np.full(len(own), np.sqrt(2.0)), merged])

    return rows(task.x), rows(task.queries), task


def least_squares_limit(assumptions: Any, options: Options) -> list[Evidence]:
    """Layers of attention with both heads approach least squares in features."""
    phi, at, task = _problem(options.seed, False)
    rate = 0.19  # below 2 over the largest kernel value with intercept, (2 + 1)² + 1
    layer = DescentTransformer(3, 2, Kernel("polynomial"), rates=rate, bias=True)
    return _layers_approach(layer, rate, phi, at, task, LAYERS)


def interpolation_limit(assumptions: Any, options: Options) -> list[Evidence]:
    """Layers of attention with the RBF kernel alone approach its interpolant: the Gram matrix of different
    tokens is positive definite, so that rows of its Cholesky factor are features in which least squares has
    one solution, with residual zero.
    """
    kernel = Kernel("rbf", sigma=0.3)
    task = make_task(features(Kernel("polynomial"), 2), FEW, 2, 3, queries=QUERIES, seed=options.seed + 2)
    with torch.no_grad():
        gram, cross = (kernel(task.x, x).double().numpy() for x in (task.x, task.queries))
    phi = np.linalg.cholesky(gram)
    at = solve_triangular(phi, cross.T, lower=True).T
    rate = (
        1.5 * FEW / float(np.linalg.eigvalsh(gram)[-1])
    )  # steps shrink below 2 N over the largest eigenvalue
    return _layers_approach(DescentTransformer(3, 2, kernel, rates=rate), rate, phi, at, task, SOON)


def _layers_approach(
    layer: DescentTransformer, rate: float, phi: Any, at: Any, task: Any, layers: int
) -> list[Evidence]:
    """Many layers against the least squares in features phi (N, p) that solvers find, at queries with
    features ``at`` (M, p).
    """
    y, n = task.y.numpy(), len(phi)
    tokens = layer.tokens(task.x, task.y, task.queries, 0.0)
    coefficients, early = np.zeros((n, 2)), None
    with torch.no_grad():
        for number in range(layers):
            coefficients += rate / n * tokens[:n, 2:].numpy()
            tokens = layer.layer(0, tokens, n)
            if number + 1 == max(1, layers // 100):
                early = -tokens[n:, 2:].numpy()
    reached = -tokens[n:, 2:].numpy()
    own = squared_distance(phi, y, coefficients.T @ phi)
    fits = [squared_fit(phi, y, method) for method in METHODS]
    fits.append(ridge_fit(phi @ phi.T, phi, y, 1e-9))
    return [_evidence(fit, own, at, reached, early, f"{layers} layers of attention") for fit in fits]


def logistic_limit(assumptions: Any, options: Options) -> list[Evidence]:
    """Steps of (3) approach multinomial logistic regression in features."""

    phi, at, task = _problem(options.seed + 1, True)
    codes = task.y.numpy()
    labels = (codes @ [1, 2]).astype(int)
    gram, cross, rate = phi @ phi.T, at @ phi.T, 1.0
    f, reached, coefficients = np.zeros((EXAMPLES, 2)), np.zeros((QUERIES, 2)), np.zeros((EXAMPLES, 2))
    early = None
    for number in range(LATENT_STEPS):
        powers = np.exp(f)
        move = rate / EXAMPLES * (codes - powers / (1 + powers.sum(1, keepdims=True)))
        f, reached, coefficients = f + gram @ move, reached + cross @ move, coefficients + move
        if number + 1 == LATENT_STEPS // 100:
            early = reached
    own = logistic_distance(phi, codes, coefficients.T @ phi)
    fits = [logistic_fit(phi, labels, 3, method) for method in METHODS]
    return [_evidence(fit, own, at, reached, early, f"{LATENT_STEPS} steps of (3)") for fit in fits]


def _evidence(fit: Any, own: float, at: Any, reached: Any, early: Any, what: str) -> Evidence:
    """The functions at the queries: no further apart than both certificates allow, and far apart early on."""
    size = float(np.linalg.norm(at, axis=1).max())
    bound = size * (fit.distance + own) + 1e-12 * (1 + float(np.abs(reached).max()))
    expected = at @ fit.theta.T
    error = float(np.abs(reached - expected).max())
    before = float(np.abs(early - expected).max())
    return Evidence(
        "solver",
        "certified-float",
        error <= bound and before > FAR * bound,
        f"{what} against its minimiser at {QUERIES} queries; after a hundredth of them the distance is "
        f"{before:.1e}",
        error=error,
        bound=bound,
        backend=fit.solver,
    )
