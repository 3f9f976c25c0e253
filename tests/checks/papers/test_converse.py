"""The converse of nguyen2023: its parts speak of every optimum, also where the tube has no width."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from checks.kinds.implication import Implication, witness
from checks.papers.nguyen2023 import converse
from checks.statement import Fact, parts
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import SvrAssumptions

NEVER = Fact("never", as_term(-1), ">=")
C, FIT = Fraction(3), Fraction(5)


def _optimum(alpha: int, below: int) -> dict[str, Fraction]:
    """An optimum with ε = 0 and y = f, at which both multipliers of the one residual are positive."""
    named: dict[Tensor, int | Fraction] = {
        svr.alpha: alpha,
        svr.alpha_t: below,
        svr.eta: C - alpha,
        svr.eta_t: C - below,
        svr.xi: 0,
        svr.xi_t: 0,
        svr.epsilon: 0,
        svr.y: FIT,
        svr.h_k: 1,
        svr.v: alpha - below,
        svr.C: C,
    }
    return {"f": FIT, **{tensor.name: Fraction(value) for tensor, value in named.items()}}


def _labelled(label: str) -> Any:
    (found,) = (p for p in parts(converse._statement(SvrAssumptions(bias="off"))) if p.label == label)
    return found


@pytest.mark.parametrize(
    ("label", "alpha", "below"),
    [
        ("β ≤ C", 2, 1),
        ("β ≤ α", 2, 1),
        ("0 < β: no slack where α̃ > 0", 3, 1),
        ("0 < β < C: no slack", 3, 1),  # α = C here: η > 0 does not follow from β < C
        ("0 < β < C: y = f + ε", 3, 1),
        ("v = 0: no slack", 2, 2),  # α = 0 does not follow from v = 0
        ("v = 0: y ≤ f + ε", 2, 2),
    ],
)
def test_the_hypotheses_hold_at_every_optimum_of_their_case(label: str, alpha: int, below: int) -> None:
    part = _labelled(label)
    assert isinstance(part, Implication)
    at = tuple(_optimum(alpha, below).items())
    assert witness(replace(part, conclusion=NEVER, witness=at)), "a hypothesis fails at an optimum"
    assert witness(replace(part, witness=at)) is None, "the conclusion fails at an optimum"


@pytest.mark.parametrize(("values", "with_bias"), [((1.0, 0.5), False), ((1.0, -1.0), True)])
def test_given_values_solve_the_regression_with_a_bias_only_if_they_are_centred(
    values: tuple[float, float], with_bias: bool
) -> None:
    """Two keys with independent features and h = 1: what the notes of nguyen2023/rem4 say of (7)."""
    beta, features, epsilon = np.array(values), np.array([[1.0, 0.0], [0.3, 1.0]]), 0.1
    targets = features @ features.T @ beta + epsilon * np.sign(beta)

    def fitted(bias: bool) -> np.ndarray:
        w, b = cp.Variable(2), cp.Variable()
        outside = cp.pos(cp.abs(targets - features @ w - b * bias) - epsilon)
        cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + 5 * cp.sum(outside))).solve(solver=cp.CLARABEL)
        found: np.ndarray = np.linalg.solve(features.T, np.asarray(w.value, float))
        return found

    assert np.allclose(fitted(False), beta, atol=1e-4)
    assert np.allclose(fitted(True), beta, atol=1e-4) is with_bias
