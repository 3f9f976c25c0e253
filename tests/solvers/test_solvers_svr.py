"""Support vector regression: five routes agree, and the kernel certificate accepts optimal answers only."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.certificates import certify
from solvers.exact import NoExactCertificate, unbounded_ray
from solvers.qp import SolverError
from solvers.rational_instances import exact_exponential_gram
from solvers.svr import (
    LOSSES,
    SvrProblem,
    SvrSolution,
    dual_program,
    kernel_certificate,
    polish,
    solve_dual,
    solve_libsvm,
    solve_primal,
    solve_rational_svr,
)

KNOBS = list(itertools.product(LOSSES, (True, False), (True, False)))
LABELS = np.array([[0, 1], [1, 1], [1, 0], [-1, 1], [2, -1]])


def softmax_gram(N: int, D: int, seed: int, scale: float = 1.0) -> np.ndarray:
    """K_ij / (h_i h_j) times N^2, so that entries are O(1); (N, N)."""
    keys = scale * np.random.default_rng(seed).normal(size=(N, D))
    kernel = np.exp(keys @ keys.T / math.sqrt(D))
    h = kernel.mean(axis=1)
    return kernel / np.outer(h, h)


def regression(
    loss: str = "epsilon_insensitive", bias: bool = True, box: bool = True, N: int = 14
) -> SvrProblem:
    Y = np.random.default_rng(1).normal(size=(N, 2))
    return SvrProblem(softmax_gram(N, 3, 0), Y, C=2.0, eps=0.3, loss=loss, bias=bias, box=box)


def exact_regression(loss: str, bias: bool, box: bool, C: Fraction = Fraction(40)) -> SvrProblem:
    Y = np.array([[1, 0], [2, 1], [-1, 3], [0, 0], [2, 2]], dtype=object)
    return SvrProblem(exact_exponential_gram(LABELS).gram, Y, C, Fraction(1, 3), loss, bias, box)


@pytest.mark.parametrize(("loss", "bias", "box"), KNOBS)
def test_float_routes_are_certified_and_agree(loss: str, bias: bool, box: bool) -> None:
    problem = regression(loss, bias, box)
    features = np.linalg.cholesky(problem.M)
    routes = {
        # Where a multiplier and its slack nearly vanish together, an interior point's residuals are of the
        # order of the square root of its gap.
        "primal": (solve_primal(problem, features), 1e-5),
        "dual": (solve_dual(problem), 1e-5),
        "libsvm": (solve_libsvm(problem), 1e-4),
        "active set": (polish(problem), 1e-11),
    }
    polished = polish(problem, routes["libsvm"][0])
    reference = problem.certificate(polished.beta, polished.b)
    assert reference.accepts(1e-11)
    for name, (solution, tolerance) in routes.items():
        certificate = problem.certificate(solution.beta, solution.b)
        assert certificate.accepts(tolerance), (name, certificate)
        assert certificate.primal_value == pytest.approx(reference.primal_value, rel=tolerance), name
        # M is well conditioned, so beta is unique and the routes agree on it too.
        error = np.abs(solution.beta - polished.beta).max() / np.abs(polished.beta).max()
        assert error <= 100 * np.linalg.cond(problem.M) * certificate.worst + 1e-12, name


@pytest.mark.parametrize(("loss", "bias", "box"), KNOBS)
def test_rational_route_is_exactly_optimal_and_agrees_with_floats(loss: str, bias: bool, box: bool) -> None:
    problem = exact_regression(loss, bias, box)
    solution = solve_rational_svr(problem)
    certificate = problem.certificate(solution.beta, solution.b)
    assert certificate.accepts(0) and certificate.exact
    assert certificate.primal_value == certificate.dual_value
    rounded = polish(problem.as_float())
    check = problem.as_float().certificate(rounded.beta, rounded.b)
    assert check.primal_value == pytest.approx(float(certificate.primal_value), rel=1e-9)


def test_exact_certificate_rejects_the_smallest_change() -> None:
    problem = exact_regression("epsilon_insensitive", True, True)
    solution = solve_rational_svr(problem)
    tiny = Fraction(1, 10**40)
    for d, i in np.ndindex(2, 5):
        beta = solution.beta.copy()
        beta[i, d] += tiny
        assert not problem.certificate(beta, solution.b).accepts(0)
    assert not problem.certificate(solution.beta, solution.b + 1).accepts(0)
    with pytest.raises(ValueError, match="Fractions"):
        problem.certificate(solution.beta.astype(float), solution.b)


@pytest.mark.parametrize(("loss", "bias", "box"), KNOBS)
def test_wrong_answers_are_rejected(loss: str, bias: bool, box: bool) -> None:
    problem = regression(loss, bias, box)
    good = polish(problem)
    beta, b = good.beta, good.b
    corrupted, column = beta.copy(), beta.copy()
    corrupted[int(np.argmax(np.abs(beta[:, 0]))), 0] *= 1.01
    column[:, 0] *= -1
    controls = {
        "all zero": (0 * beta, 0 * b),
        "zero beta, right bias": (0 * beta, b),
        "one coordinate off": (corrupted, b),
        "one column with the wrong sign": (column, b),
        "permuted points": (np.roll(beta, 1, axis=0), b),
        "swapped columns": (beta[:, ::-1], b[::-1]),
        "shifted bias": (beta, b + 0.01),
        "scaled": (1.001 * beta, b),
        "NaN": (beta * math.nan, b),
    }
    for name, (wrong_beta, wrong_b) in controls.items():
        assert not problem.certificate(wrong_beta, wrong_b).accepts(1e-6), name


def test_answer_to_another_problem_is_rejected() -> None:
    """Each knob matters: the optimum under one setting is not accepted under its neighbours."""
    problem = regression()
    s = polish(problem)
    M, Y = problem.M, problem.Y
    assert kernel_certificate(M, Y, s.beta, s.b, 2.0, 0.3).accepts(1e-10)
    for change in (
        {"C": 2.1},
        {"eps": 0.31},
        {"loss": "squared_epsilon_insensitive"},
        {"loss": "huber"},
        {"bias": False},
        {"box": False},
        {"C": math.inf},
        {"M": M.T @ M},
    ):
        arguments = {"M": M, "Y": Y, "beta": s.beta, "b": s.b, "C": 2.0, "eps": 0.3, **change}
        assert not kernel_certificate(**arguments).accepts(1e-5), change


@pytest.mark.parametrize(("loss", "bias", "box"), KNOBS)
def test_closed_forms_of_beta_hold(loss: str, bias: bool, box: bool) -> None:
    """beta = C r, C sign(r) max(|r| - eps, 0), C clip(r / eps): the stationarity conditions in the slacks."""
    problem = regression(loss, bias, box)
    s = polish(problem)
    r = problem.Y - problem.M @ s.beta - s.b
    if loss == "epsilon_insensitive":
        if box:
            assert set(np.round(s.beta[np.abs(r) > 0.3 + 1e-9] / 2.0, 9)) <= {-1.0, 1.0}
        assert np.abs(s.beta[np.abs(r) < 0.3 - 1e-9]).max(initial=0) == 0
        return
    expected = {
        "least_squares": 2.0 * r,
        "squared_epsilon_insensitive": 2.0 * np.sign(r) * np.maximum(np.abs(r) - 0.3, 0),
        "huber": 2.0 * (np.clip(r / 0.3, -1, 1) if box else r / 0.3),
    }[loss]
    np.testing.assert_allclose(s.beta, expected, atol=1e-10)


def test_kernel_certificate_agrees_with_the_general_checker() -> None:
    problem = exact_regression("epsilon_insensitive", True, True)
    s = solve_rational_svr(problem)
    values = 0
    for d in range(2):
        qp = dual_program(problem, d)
        r = problem.Y[:, d] - problem.M @ s.beta[:, d] - s.b[d]
        bound = np.maximum(np.abs(r) - problem.eps, 0)
        y = np.concatenate([(r + problem.eps + bound) / 2, (problem.eps + bound - r) / 2, bound])
        certificate = certify(qp, np.concatenate([s.beta[:, d], np.abs(s.beta[:, d])]), y, s.b[d : d + 1])
        assert certificate.accepts()
        values -= certificate.primal_value
    assert values == problem.certificate(s.beta, s.b).dual_value


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=5),
    st.lists(st.integers(-3, 3), min_size=5, max_size=5),
    st.fractions(Fraction(1, 8), 100, max_denominator=8),
    st.fractions(0, 2, max_denominator=4),
    st.booleans(),
)
def test_random_rational_instances_are_certified(
    labels: list, targets: list[int], C: Fraction, eps: Fraction, bias: bool
) -> None:
    """Duplicate keys, eps = 0, zero targets and points all inside the tube are among these."""
    gram = exact_exponential_gram(np.array(labels)).gram
    Y = np.array(targets[: len(labels)], dtype=object)[:, None]
    problem = SvrProblem(gram, Y, C, eps, bias=bias)
    solution = solve_rational_svr(problem)
    assert problem.certificate(solution.beta, solution.b).accepts(0)
    floats = problem.as_float()
    rounded = polish(floats)
    assert rounded.status == "optimal"
    assert floats.certificate(rounded.beta, rounded.b).accepts(1e-10)


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False])
def test_duplicate_keys_with_different_targets(eps: float, bias: bool) -> None:
    M = softmax_gram(8, 2, 3)
    M = np.block([[M, M], [M, M]])
    problem = SvrProblem(M, np.random.default_rng(0).normal(size=(16, 1)), C=3.0, eps=eps, bias=bias)
    solution = polish(problem)
    assert solution.status == "optimal" and problem.certificate(solution.beta, solution.b).accepts(1e-11)


def test_targets_inside_the_tube_need_no_support_vectors() -> None:
    M, Y = softmax_gram(9, 2, 0), np.full((9, 1), 0.2)
    for targets, eps, bias in ((Y, 0.3, False), (0 * Y, 0.0, True), (Y, 0.0, True), (0 * Y, 0.1, False)):
        solution = polish(SvrProblem(M, targets, C=1.0, eps=eps, bias=bias))
        assert not solution.beta.any()
        assert kernel_certificate(M, targets, solution.beta, solution.b, 1.0, eps, bias=bias).accepts(0)


def test_a_single_point() -> None:
    M = np.array([[1.0]])
    one = polish(SvrProblem(M, np.array([[5.0]]), C=1.0, eps=0.1))
    assert one.beta[0, 0] == 0 and one.b[0] == pytest.approx(5.0)
    bounded = polish(SvrProblem(M, np.array([[5.0]]), C=1.0, eps=0.1, bias=False))
    assert bounded.beta[0, 0] == 1


def test_infeasible_hard_tube_is_reported_and_proved() -> None:
    """Two equal keys whose targets are further apart than two tubes: every route says so, one proves it."""
    gram = exact_exponential_gram(np.array([[1, 0], [1, 0], [0, 1]])).gram
    problem = SvrProblem(gram, np.array([[0], [3], [1]], dtype=object), Fraction(1), Fraction(1), box=False)
    ray = unbounded_ray(dual_program(problem, 0))
    assert ray is not None
    with pytest.raises(NoExactCertificate):
        solve_rational_svr(problem)
    floats = problem.as_float()
    for route in (solve_dual, solve_libsvm):
        with pytest.raises(SolverError):
            route(floats)
    stuck = polish(floats, max_steps=20)
    assert not floats.certificate(stuck.beta, stuck.b).accepts(1e-3)


def test_infinite_C_is_the_relaxed_box() -> None:
    M, Y = softmax_gram(6, 3, 0), np.random.default_rng(0).normal(size=(6, 1))
    one = polish(SvrProblem(M, Y, C=math.inf, eps=0.1))
    other = polish(SvrProblem(M, Y, C=1.0, eps=0.1, box=False))
    np.testing.assert_array_equal(one.beta, other.beta)
    assert kernel_certificate(M, Y, one.beta, one.b, math.inf, 0.1).accepts(1e-9)
    assert np.abs(Y - M @ one.beta - one.b).max() <= 0.1 + 1e-12


def test_polish_survives_a_bad_start() -> None:
    problem = regression()
    bad = SvrSolution(np.full(problem.Y.shape, 1.7), np.array([9.0, 9.0]), "nonsense", "", 0.0)
    solution = polish(problem, bad)
    assert problem.certificate(solution.beta, solution.b).accepts(1e-11)


def test_polish_reaches_what_libsvm_does_not() -> None:
    N = 400
    M = softmax_gram(N, 16, 2, 0.7)
    problem = SvrProblem(M, np.random.default_rng(3).normal(size=(N, 1)), C=1.0, eps=0.2)
    rough = solve_libsvm(problem, tolerance=1e-3)
    fine = polish(problem, rough)
    before, after = (problem.certificate(s.beta, s.b).gap.relative for s in (rough, fine))
    assert before > 1e-9 and after < 1e-12


@pytest.mark.parametrize(("loss", "bias", "box"), KNOBS)
def test_routes_do_not_depend_on_units(loss: str, bias: bool, box: bool) -> None:
    """The entries of an attention Gram matrix are near 1 / N^2: 1e-8 here, with multipliers near 1e8."""
    one = regression(loss, bias, box)
    C = 2.0 * 1e8 * (1e-3 if loss in ("epsilon_insensitive", "huber") else 1)
    features = 1e-4 * np.linalg.cholesky(one.M)
    other = SvrProblem(features @ features.T, 1e-3 * one.Y, C, 0.3e-3, loss, bias, box)
    expected = 1e5 * polish(one).beta
    for solution in (solve_primal(other, features), solve_dual(other), solve_libsvm(other), polish(other)):
        assert other.certificate(solution.beta, solution.b).accepts(1e-4), solution.route
        error = np.abs(solution.beta - expected).max() / np.abs(expected).max()
        assert error < 1e-3, solution.route


@pytest.mark.slow
def test_polish_at_two_thousand_points() -> None:
    N = 2000
    M = softmax_gram(N, 64, 0, 0.5)
    problem = SvrProblem(M, np.random.default_rng(3).normal(size=(N, 3)), C=1.0, eps=0.2)
    solution = polish(problem, solve_libsvm(problem))
    assert problem.certificate(solution.beta, solution.b).accepts(1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C must be positive"),
        ({"C": -1.0}, "C must be positive"),
        ({"C": math.nan}, "C must be finite"),
        ({"eps": -0.1}, "nonnegative"),
        ({"eps": math.inf}, "eps must be finite"),
        ({"eps": 0.0, "loss": "huber"}, "positive for huber"),
        ({"loss": "hinge"}, "allowed: epsilon_insensitive"),
        ({"Y": np.ones(3)}, "D_v"),
        ({"Y": np.ones((4, 1))}, "M has shape"),
        ({"M": np.full((3, 3), np.nan)}, "NaN"),
        ({"M": np.triu(np.ones((3, 3)))}, "not symmetric"),
    ],
)
def test_unusable_problems_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SvrProblem(**{"M": np.eye(3), "Y": np.ones((3, 1)), "C": 1.0, "eps": 0.1, **change})


def test_candidates_of_the_wrong_shape_or_features_of_another_gram_are_refused() -> None:
    problem = SvrProblem(np.eye(3), np.ones((3, 1)), 1.0)
    with pytest.raises(ValueError, match="do not fit"):
        problem.certificate(np.ones(3), np.ones(1))
    with pytest.raises(ValueError, match="is not M"):
        solve_primal(problem, 2 * np.eye(3))
    with pytest.raises(ValueError, match="exact data"):
        solve_rational_svr(problem)
    with pytest.raises(ValueError, match="float64"):
        polish(exact_regression("huber", True, True))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 10**6))
def test_exponential_gram_is_the_softmax_kernel_of_its_keys(N: int, D: int, seed: int) -> None:
    labels = np.random.default_rng(seed).integers(-2, 3, (N, D))
    instance = exact_exponential_gram(labels)
    kernel = np.exp(instance.keys @ instance.keys.T / math.sqrt(D))
    np.testing.assert_allclose(instance.kernel.astype(float), kernel, rtol=1e-13)
    np.testing.assert_allclose(
        instance.gram.astype(float), kernel / np.outer(kernel.sum(1), kernel.sum(1)), rtol=1e-12
    )
    assert all(isinstance(v, Fraction) for v in instance.gram.flat)


@pytest.mark.parametrize("labels", [np.ones(3, dtype=int), np.ones((2, 2)), np.zeros((0, 2), dtype=int)])
def test_labels_that_are_not_integer_rows_are_refused(labels: np.ndarray) -> None:
    with pytest.raises(ValueError, match="integer labels"):
        exact_exponential_gram(labels)


def test_no_column_lends_another_its_size() -> None:
    targets = np.array([[1e12, 1.0], [-1e12, -1.0]])
    right = np.array([[5e11, 0.5], [-5e11, -0.5]])
    assert kernel_certificate(np.eye(2), targets, right, np.zeros(2), 1.0, 0, "least_squares", False).accepts(
        1e-12
    )
    wrong = np.array([[5e11, -7.0], [-5e11, 7.0]])
    assert not kernel_certificate(
        np.eye(2), targets, wrong, np.zeros(2), 1.0, 0, "least_squares", False
    ).accepts(1e-3)


@pytest.mark.parametrize("far", [1e6, 1e12])
def test_coefficients_that_cancel_do_not_hide_a_tube_that_is_left(far: float) -> None:
    M, Y = np.ones((2, 2)), np.array([[1.1], [0.9]])
    found = kernel_certificate(M, Y, np.array([[far], [-far]]), np.array([2.0]), math.inf, 0.1)
    assert not found.accepts(1e-8)
