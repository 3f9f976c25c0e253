"""Regression solvers as the limits of functional descent: certificates hold, and refuse what they
cannot bound.
"""

from __future__ import annotations

import numpy as np
import pytest

from checks.claim import Options
from checks.papers.wang2024.legs import solvers as solver_legs
from solvers import functional
from solvers.functional import (
    METHODS,
    NoCertificate,
    logistic_distance,
    logistic_fit,
    ridge_fit,
    squared_distance,
    squared_fit,
)


def data(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (n, 4) with intercept, outcomes (n, 2), labels (n,) of three classes."""
    draw = np.random.default_rng(seed)
    phi = np.column_stack([np.ones(n), draw.uniform(-1, 1, (n, 3))])
    return phi, draw.normal(size=(n, 2)), draw.integers(0, 3, n)


@pytest.mark.parametrize("method", METHODS)
def test_least_squares_solves_the_normal_equations(method: str) -> None:
    phi, y, _ = data()
    fit = squared_fit(phi, y, method)
    exact = np.linalg.lstsq(phi, y, rcond=None)[0].T
    assert np.linalg.norm(fit.theta - exact) <= fit.distance + 1e-13
    assert fit.distance < 1e-6


def test_kernel_ridge_approaches_least_squares_as_its_weight_falls() -> None:
    phi, y, _ = data()
    distances = [ridge_fit(phi @ phi.T, phi, y, weight).distance for weight in (1e-2, 1e-4, 1e-6)]
    assert distances[0] > 50 * distances[1] > 2500 * distances[2] > 0


@pytest.mark.parametrize("method", METHODS)
def test_logistic_regression_has_no_gradient_left(method: str) -> None:
    phi, _, labels = data()
    fit = logistic_fit(phi, labels, 3, method)
    latent = np.column_stack([np.zeros(len(phi)), phi @ fit.theta.T])
    h = np.exp(latent) / np.exp(latent).sum(1, keepdims=True)
    assert np.abs((h - np.eye(3)[labels]).T @ phi).max() < 1e-6
    assert fit.distance < 1e-4


def test_solvers_agree_within_their_certificates() -> None:
    phi, _, labels = data()
    one, two = (logistic_fit(phi, labels, 3, method) for method in METHODS)
    assert 0 < np.linalg.norm(one.theta - two.theta) <= one.distance + two.distance


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1e-3])
def test_the_distance_is_an_upper_bound_and_not_a_wild_one(size: float) -> None:
    phi, y, labels = data()
    codes = np.eye(3)[labels][:, 1:]
    draw = np.random.default_rng(1)
    for fit, bound in (
        (squared_fit(phi, y, "scikit-learn"), lambda t: squared_distance(phi, y, t)),
        (logistic_fit(phi, labels, 3, "scikit-learn"), lambda t: logistic_distance(phi, codes, t)),
    ):
        for _ in range(5):
            step = draw.normal(size=fit.theta.shape)
            step *= size / np.linalg.norm(step)
            assert size - fit.distance <= bound(fit.theta + step) <= 200 * size


def test_what_has_no_unique_minimiser_gets_no_certificate() -> None:
    phi, y, labels = data()
    double = np.column_stack([phi, phi[:, 1]])
    with pytest.raises(NoCertificate, match="not unique"):
        squared_fit(double, y, "scikit-learn")
    separable = (phi[:, 1] > 0).astype(int)
    with pytest.raises(NoCertificate):
        logistic_fit(phi, separable, 2, "scikit-learn")
    with pytest.raises(NoCertificate, match="too large"):
        logistic_distance(phi, np.eye(3)[labels][:, 1:], np.full((2, 4), 0.5))


# ---------------------------------------------------------------- the legs


def test_steps_reach_logistic_regression() -> None:
    found = solver_legs.logistic_limit(None, Options())
    assert len(found) == 2 and all(e.passed and e.leg == "solver" and e.backend for e in found)


def test_the_limit_for_other_labels_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    right = functional.logistic_fit
    monkeypatch.setattr(
        solver_legs,
        "logistic_fit",
        lambda phi, labels, classes, method: right(phi, labels[::-1], classes, method),
    )
    assert not any(e.passed for e in solver_legs.logistic_limit(None, Options()))


@pytest.mark.parametrize("seed", [0, 1])
def test_layers_with_the_rbf_kernel_approach_its_interpolant_alone(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    found = solver_legs.interpolation_limit(None, Options(seed=seed))
    assert len(found) == 3 and all(e.passed for e in found)
    right = functional.squared_fit
    monkeypatch.setattr(solver_legs, "squared_fit", lambda phi, y, method: right(phi, 1.001 * y, method))
    assert [e.passed for e in solver_legs.interpolation_limit(None, Options(seed=seed))] == [
        False,
        False,
        True,
    ]
    monkeypatch.setattr(solver_legs, "SOON", 10)
    assert not any(e.passed for e in solver_legs.interpolation_limit(None, Options(seed=seed)))


def test_another_minimiser_is_not_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    right = functional.squared_fit
    monkeypatch.setattr(solver_legs, "squared_fit", lambda phi, y, method: right(phi, 1.001 * y, method))
    monkeypatch.setattr(solver_legs, "LAYERS", 2000)
    found = solver_legs.least_squares_limit(None, Options())
    assert [e.passed for e in found] == [False, False, True]


def test_too_few_layers_do_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_legs, "LAYERS", 100)
    assert not any(e.passed for e in solver_legs.least_squares_limit(None, Options()))
