"""Convex energies: minima certified by duality, unbounded ones by a direction, steps by eigenvalues."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.special

from solvers.energy import (
    FUNCTIONS,
    EnergyProblem,
    certify,
    descend,
    solve_convex,
    stable_steps,
    unbounded_direction,
)
from solvers.qp import SolverError

CONVEX = ["quadratic", "quartic", "exponential", "logcosh"]


def problem(name, regulariser="matching", n=5, d_v=3, seed=0, size=0.6):
    rng = np.random.default_rng(seed)
    A = scipy.special.softmax(rng.standard_normal((n, n)), axis=1)
    return EnergyProblem(A, size * rng.standard_normal((n, d_v)), FUNCTIONS[name], regulariser)


@pytest.mark.parametrize("name", CONVEX)
def test_attention_is_a_certified_minimum_with_the_matching_regulariser(name):
    p = problem(name)
    at = certify(p, p.A @ p.V)
    assert at.accepted(1e-12) and at.gradient < 1e-12 and at.infeasible == 0
    found = solve_convex(p)
    certificate = certify(p, found.Z, found.y)
    assert certificate.accepted(1e-5 if name == "quartic" else 1e-7)  # u⁴ is flat where an alignment is small
    np.testing.assert_allclose(certificate.value, at.value, atol=1e-7)
    # a minimiser, but not the only one: attention plus anything that L does not see
    np.testing.assert_allclose(p.lift(found.Z), p.c, atol=1e-3)


@pytest.mark.parametrize("name", CONVEX)
def test_no_other_point_is_accepted(name):
    p = problem(name)
    assert not certify(p, 0 * p.V).accepted(1e-6)
    assert not certify(p, p.A @ p.V + 0.1 * p.V).accepted(1e-6)
    rng = np.random.default_rng(1)
    wrong = rng.standard_normal(len(p.A))
    # multipliers that are not optimal give a weaker bound, never a wrong one
    for Z in (p.A @ p.V, 0 * p.V):
        assert certify(p, Z, wrong).gap >= certify(p, Z).gap - 1e-12


def test_minima_of_other_regularisers():
    p = problem("quadratic", "none")
    assert certify(p, 0 * p.V).accepted(1e-12)
    assert not certify(p, p.A @ p.V).accepted(1e-6)
    p = problem("quadratic", "printed")
    assert certify(p, p.A @ p.V).accepted(1e-12)
    p = problem("quartic", "printed")
    found = solve_convex(p)
    assert certify(p, found.Z, found.y).accepted(1e-6)
    assert not certify(p, p.A @ p.V).accepted(1e-6)


def test_the_minimum_does_not_need_distinct_images():
    """Where L is not onto, multipliers off its range matter; here two tokens share a value and a column."""
    A = np.array([[0.25, 0.25, 0.5], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    V = np.array([[1.0, 0.5], [1.0, 0.5], [-0.5, 0.25]])
    p = EnergyProblem(A, V, FUNCTIONS["exponential"], "printed")
    assert np.linalg.matrix_rank(p.M) == 2
    found = solve_convex(p)
    assert certify(p, found.Z, found.y).accepted(1e-7)


def test_the_exponential_with_2c_is_unbounded_where_some_alignment_is_negative():
    p = EnergyProblem(
        np.array([[0.5, 0.5], [1 / 3, 2 / 3]]), np.array([[1.0], [-1.0]]), FUNCTIONS["exponential"], "printed"
    )
    assert p.c.min() < 0
    direction, rate = unbounded_direction(p)
    assert rate < 0
    energies = [p.value(t * direction) for t in (0.0, 10.0, 100.0)]
    assert energies[1] > energies[2] and energies[2] < 90 * rate
    with pytest.raises(SolverError):
        solve_convex(p)
    matching = EnergyProblem(p.A, p.V, p.F)
    assert unbounded_direction(matching) is None


@pytest.mark.parametrize("regulariser, bounded", [("matching", True), ("printed", False), ("none", False)])
def test_the_linear_energy(regulariser, bounded):
    p = problem("linear", regulariser)
    found = unbounded_direction(p)
    assert (found is None) == bounded
    if bounded:
        assert p.value(np.random.default_rng(0).standard_normal(p.V.shape)) == pytest.approx(0, abs=1e-12)
    else:
        assert p.value(1e6 * found[0]) < 0.9e6 * found[1]


def test_log_cosh_with_2c_is_unbounded_once_an_alignment_exceeds_one_half():
    assert unbounded_direction(problem("logcosh", "printed", size=0.1)) is None
    p = problem("logcosh", "printed", size=3.0)
    assert np.abs(2 * p.c).max() > 1 and unbounded_direction(p)[1] < 0


@pytest.mark.parametrize("name", CONVEX)
def test_conjugates_are_the_suprema(name):
    F = FUNCTIONS[name]
    u = np.linspace(-6, 6, 24001)
    slopes = (
        np.array([-0.7, -0.2, 0.0, 0.3, 0.9]) if name != "exponential" else np.array([0.01, 0.5, 1.0, 20.0])
    )
    brute = (slopes[:, None] * u - F.value(u)).max(axis=1)
    np.testing.assert_allclose(F.conjugate(slopes), brute, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_and_gradients(name):
    p = problem(name)
    rng = np.random.default_rng(3)
    Z, D = rng.standard_normal((2, *p.V.shape))
    h = 1e-5
    numeric = (p.value(Z + h * D) - p.value(Z - h * D)) / (2 * h)
    assert (p.gradient(Z) * D).sum() == pytest.approx(numeric, rel=1e-6, abs=1e-9)


def test_the_stable_range_of_the_quadratic_is_sharp():
    p = problem("quadratic", n=3, d_v=2)
    everywhere, near = stable_steps(p)
    top = np.linalg.eigvalsh(p.G)[-1]
    assert everywhere == pytest.approx(1 / top) and near == pytest.approx(1 / top, rel=1e-6)
    Z = np.random.default_rng(2).standard_normal(p.V.shape)
    calm, wild = (descend(p, Z, f * everywhere, 400) for f in (0.95, 1.05))
    assert p.value(calm.Z) < p.value(Z) < p.value(wild.Z)
    M = p.M
    unseen = Z.flatten() - np.linalg.pinv(M) @ (M @ Z.flatten())
    long = descend(p, Z, 0.95 * everywhere, 10_000)
    np.testing.assert_allclose(long.Z.flatten(), (p.A @ p.V).flatten() + unseen, atol=1e-5)


def test_the_cubic_has_no_step_for_every_start():
    p = problem("cubic")
    assert stable_steps(p)[0] == 0.0
    assert descend(p, 1e3 * p.V, 0.01, 60).status == "diverged"
    assert np.isnan(stable_steps(problem("cubic", seed=4))[1]) == bool(problem("cubic", seed=4).c.min() < 0)


def test_unusable_input_is_one_clear_line():
    good = problem("cubic")
    with pytest.raises(SolverError, match="F = u\\^3 is not convex"):
        solve_convex(good)
    with pytest.raises(ValueError, match="no lower bound"):
        certify(good, good.V)
    with pytest.raises(ValueError, match="a ray of its own"):
        unbounded_direction(good)
    with pytest.raises(ValueError, match="allowed: matching, printed, none"):
        EnergyProblem(good.A, good.V, good.F, "half")
    with pytest.raises(ValueError, match=r"\(n, n\) and \(n, d_v\) are needed"):
        EnergyProblem(good.A[:3], good.V, good.F)
    with pytest.raises(ValueError, match="NaN or infinite"):
        EnergyProblem(good.A * np.nan, good.V, good.F)


@pytest.mark.parametrize("seed", range(3))
def test_small_steps_on_a_coercive_energy_without_a_bound_of_curvature_end_at_its_minimum(seed):
    p = problem("quartic", "printed", seed=seed)
    first = np.random.default_rng(seed).standard_normal(p.V.shape)
    # F(u) - w u >= -F*(w) for every token, so where the energy is at most its first value no |u_j| exceeds
    # `most`
    room = p.value(first) + p.F.conjugate(p.w).sum()
    most = max(np.abs(np.roots([1, 0, 0, -w, -room])).max() for w in np.abs(p.w))
    step = 1 / (12 * most**2 * np.linalg.eigvalsh(p.G)[-1])
    states = [first]
    for _ in range(20):
        states.append(descend(p, states[-1], step, 1000).Z)
    values = [p.value(Z) for Z in states]
    assert all(after <= before + 1e-12 for before, after in pairwise(values))
    assert values[-1] - p.value(solve_convex(p).Z) < 1e-2 * (values[0] - values[-1])
    assert np.linalg.norm(p.gradient(states[-1])) < 1e-2 * np.linalg.norm(p.gradient(first))
    moved = (states[-1] - first).ravel()
    np.testing.assert_allclose(moved, np.linalg.pinv(p.M) @ (p.M @ moved), atol=1e-9)


def test_a_large_step_on_the_same_energy_may_cycle():
    p = EnergyProblem(np.array([[1.0]]), np.full((1, 3), 1 / 3), FUNCTIONS["quartic"], "printed")
    start = np.full((1, 3), 1 / 3)  # u = 1/3, 2/3, 1/3, ...
    once, twice = (descend(p, start, 27 / 14, steps).Z for steps in (1, 2))
    np.testing.assert_allclose(p.lift(once), [2 / 3])
    np.testing.assert_allclose(twice, start)


def test_a_nearly_flat_direction_is_no_minimum() -> None:
    """exp of a sum without a lower bound: a multiplier that only a column of 1e-13 contradicts proves
    nothing.
    """
    flat = EnergyProblem(np.eye(2), np.array([[1.0], [1e-13]]), FUNCTIONS["exponential"], "none")
    assert not certify(flat, np.array([[-50.0], [0.0]]), np.array([0.0, -1.0])).accepted(1e-9)


def test_a_slow_descent_is_found() -> None:
    slow = EnergyProblem(np.array([[1.0]]), np.array([[np.sqrt(0.5 + 1e-7)]]), FUNCTIONS["linear"], "printed")
    found = unbounded_direction(slow)
    assert found is not None and found[1] < 0 and slow.value(1e15 * found[0]) < -1e6


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_a_certificate_sees_no_scale(size):
    p = problem("quadratic", n=4, d_v=2, size=size)
    assert certify(p, p.A @ p.V).accepted(1e-12)
    assert not certify(p, 0 * p.V).accepted(1e-3)


@pytest.mark.parametrize("name, far", [("logcosh", 1e5), ("quadratic", 1e3)])
def test_a_large_alignment_does_not_hide_another_that_is_wrong(name, far):
    p = EnergyProblem(np.eye(2), np.diag([far, 1.0]), FUNCTIONS[name])
    assert certify(p, np.diag([far, 1.0])).accepted(1e-8)
    assert not certify(p, np.diag([far, 7.0])).accepted(1e-8)
