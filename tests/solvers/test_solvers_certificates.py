"""The certificate checker accepts optimal triples only: properties and negative controls."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.certificates import certify
from solvers.program import QuadraticProgram
from solvers.qp import SolverError, solve


def exact_array(rows: object) -> np.ndarray:
    return np.array(rows, dtype=object)


def textbook(exact: bool = False) -> QuadraticProgram:
    """Minimise (x1^2 + 2 x2^2)/2 - x1 - 6 x2 with x1 + x2 = 2, x2 <= 3/2, x1 >= 0: optimum (1/2, 3/2)."""
    half = Fraction(3, 2) if exact else 1.5
    dtype = object if exact else float
    return QuadraticProgram(
        P=np.array([[1, 0], [0, 2]], dtype),
        q=np.array([-1, -6], dtype),
        G=np.array([[0, 1], [-1, 0]], dtype),
        h=np.array([half, 0], dtype),
        A=np.array([[1, 1]], dtype),
        b=np.array([2], dtype),
        variables={"first": (0, (1,)), "second": (1, (1,))},
        inequalities={"upper": (0, (1,)), "sign": (1, (1,))},
        equalities={"sum": (0, (1,))},
    )


EXACT = (
    exact_array([Fraction(1, 2), Fraction(3, 2)]),
    exact_array([Fraction(5, 2), 0]),
    exact_array([Fraction(1, 2)]),
)


def random_program(seed: int, n: int = 6, m: int = 5) -> QuadraticProgram:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return QuadraticProgram(
        P=(root @ root.T + (root @ root.T).T) / 2,
        q=3 * rng.normal(size=n),
        G=rng.normal(size=(m, n)),
        h=rng.uniform(0, 0.3, size=m),
        A=rng.normal(size=(1, n)),
        b=np.zeros(1),
    )


def test_exact_optimum_has_residuals_exactly_zero() -> None:
    certificate = certify(textbook(exact=True), *EXACT)
    assert certificate.accepts(0) and certificate.exact
    assert certificate.primal_value == certificate.dual_value == Fraction(-57, 8)


def test_float_solution_of_the_same_program_is_accepted() -> None:
    qp = textbook()
    solution = solve(qp)
    certificate = certify(qp, solution.x, solution.y, solution.z)
    assert certificate.accepts(1e-8) and not certificate.exact
    np.testing.assert_allclose(solution.x, [0.5, 1.5], atol=1e-7)
    np.testing.assert_allclose(solution.y, [2.5, 0], atol=1e-6)
    np.testing.assert_allclose(solution.z, [0.5], atol=1e-6)


@pytest.mark.parametrize("change", range(5))
def test_exact_checker_rejects_the_smallest_corruption(change: int) -> None:
    x, y, z = (v.copy() for v in EXACT)
    tiny = Fraction(1, 10**30)
    if change == 0:
        x[0] += tiny
    elif change == 1:
        y[0] += tiny
    elif change == 2:
        z[0] -= tiny
    elif change == 3:
        y[1] = -tiny
    else:
        x = x[::-1]
    assert not certify(textbook(exact=True), x, y, z).accepts(0)


@pytest.mark.parametrize("seed", range(4))
def test_corrupted_float_answers_are_rejected(seed: int) -> None:
    qp = random_program(seed)
    s = solve(qp)
    assert certify(qp, s.x, s.y, s.z).accepts(1e-7)
    active = int(np.argmax(s.y))
    assert s.y[active] > 1e-3, "the instance must have an active row for the controls to mean anything"
    corrupted, flipped = s.y.copy(), s.y.copy()
    corrupted[active] *= 1.001
    flipped[active] *= -1
    zero = (0 * s.x, 0 * s.y, 0 * s.z)
    for name, triple in {
        "corrupted dual": (s.x, corrupted, s.z),
        "wrong sign": (s.x, flipped, s.z),
        "permuted x": (np.roll(s.x, 1), s.y, s.z),
        "all zero": zero,
        "equality multiplier with the other sign": (s.x, s.y, -s.z),
        "shrunk x": (0.999 * s.x, s.y, s.z),
        "NaN": (s.x * math.nan, s.y, s.z),
    }.items():
        assert not certify(qp, *triple).accepts(1e-5), name


def test_each_residual_can_fail_alone() -> None:
    qp = textbook(exact=True)
    x, y, z = EXACT
    outside = certify(qp, exact_array([Fraction(0), Fraction(2)]), y, z)
    assert outside.inequality.absolute == Fraction(1, 2) and outside.equality.absolute == 0
    assert certify(qp, exact_array([1, 1]), y, z).complementarity.absolute == Fraction(5, 4)
    wrong = certify(qp, x, exact_array([Fraction(5, 2), -1]), z)
    assert wrong.dual_sign.absolute == 1 and wrong.stationarity.absolute == 1
    assert certify(qp, exact_array([Fraction(1, 3), Fraction(3, 2)]), y, z).equality.absolute == Fraction(
        1, 6
    )


def test_stationary_point_of_a_nonconvex_form_is_rejected() -> None:
    saddle = QuadraticProgram(P=exact_array([[1, 0], [0, -1]]), q=exact_array([0, 0]))
    certificate = certify(saddle, exact_array([0, 0]), exact_array([]), exact_array([]))
    assert certificate.stationarity.absolute == 0 and certificate.convexity.absolute == 1
    assert not certificate.accepts(0)
    assert not certify(saddle.as_float(), np.zeros(2), np.zeros(0), np.zeros(0)).accepts(1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-6, 6), st.floats(-6, 6))
def test_relative_residuals_do_not_depend_on_units(seed: int, rows: float, objective: float) -> None:
    """Scaling rows, or the objective, and the multipliers with them leaves every relative residual."""
    qp = random_program(seed)
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=6), rng.normal(size=5), rng.normal(size=1)
    # Powers of two scale floats exactly.
    s, t = 2.0 ** round(rows), 2.0 ** round(objective)
    weights = s ** np.arange(5)
    scaled = QuadraticProgram(
        P=t * qp.P, q=t * qp.q, G=weights[:, None] * qp.G, h=weights * qp.h, A=s * qp.A, b=s * qp.b
    )
    one, other = certify(qp, x, y, z), certify(scaled, x, t * y / weights, t * z / s)
    for name, residual in one.residuals().items():
        assert other.residuals()[name].relative == pytest.approx(residual.relative, rel=1e-9, abs=1e-15), name


def test_small_variable_is_not_hidden_by_a_large_one() -> None:
    """x = (1e6, 1): an error of 1e-3 in the second counts in full, whether the two are named apart or not."""
    for names in ({}, {"large": (0, (1,)), "small": (1, (1,))}):
        qp = QuadraticProgram(
            P=np.diag([1e-6, 1.0]),
            q=np.array([-1.0, 0.0]),
            G=np.array([[0.0, -1.0]]),
            h=np.array([-1.0]),
            variables=names,
        )
        assert certify(qp, np.array([1e6, 1.0]), np.array([1.0]), np.zeros(0)).accepts(1e-12)
        moved = certify(qp, np.array([1e6, 0.999]), np.array([0.999]), np.zeros(0))
        assert not moved.accepts(1e-5)


def test_a_large_number_hides_nothing() -> None:
    """Each of these was accepted at 1e-8: x_1 = 0 beside 1e9, curvature -1 beside 1e12, a gap of 1e4
    beside r = 1e12.
    """
    one, none = np.array([1.0]), np.zeros(0)
    far = QuadraticProgram(
        P=np.diag([1.0, 0.0]), q=np.array([0.0, 0.0]), A=np.array([[1.0, 0.0]]), b=one,
        variables={"x": (0, (2,))},
    )  # fmt: skip
    assert certify(far, np.array([1.0, 1e9]), none, -one).accepts(1e-12)
    assert not certify(far, np.array([0.0, 1e9]), none, 0 * one).accepts(1e-8)
    for indefinite in (np.diag([1e12, -1.0]), np.array([[1e12, 0, 0], [0, 1, 2], [0, 2, 1.0]]),
                       np.array([[1e12, 0, 0], [0, 0, 1], [0, 1, 0.0]])):  # fmt: skip
        saddle = QuadraticProgram(P=indefinite, q=np.zeros(len(indefinite)))
        assert not certify(saddle, np.zeros(len(indefinite)), none, none).accepts(1e-8)
    offset = QuadraticProgram(P=np.diag([2.0]), q=np.array([0.0]), r=1e12)
    assert certify(offset, np.zeros(1), none, none).accepts(1e-12)
    assert not certify(offset, np.array([100.0]), none, none).accepts(1e-8)
    assert not certify(far, np.array([1.0, 1e9]), none, np.array([0.0])).accepts(1e-8)


def test_zero_slacks_with_rounding_are_not_a_failure() -> None:
    """Minimise w^2/2 + 3s with |w - 3| <= 2 + s, s >= 0: w = 1 and s = 0; s = -1e-17 is rounding."""
    qp = QuadraticProgram(
        P=np.diag([1.0, 0.0]),
        q=np.array([0.0, 3.0]),
        G=np.array([[1.0, -1.0], [-1.0, -1.0], [0.0, -1.0]]),
        h=np.array([5.0, -1.0, 0.0]),
        variables={"w": (0, (1,)), "s": (1, (1,))},
    )
    y, z = np.array([0.0, 1.0, 2.0]), np.zeros(0)
    assert certify(qp, np.array([1.0, -1e-17]), y, z).accepts(1e-15)
    assert not certify(qp, np.array([1.0, -1e-3]), y, z).accepts(1e-6)


def test_checker_imports_no_solver() -> None:
    names = ["cvxpy", "sklearn", "flint", "solvers.qp", "solvers.exact", "solvers.svr", "solvers.active_set"]
    code = "import sys, solvers.certificates, solvers.svr_problem"
    code += f"; print([m for m in {names} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_float_vectors_do_not_certify_exact_data() -> None:
    with pytest.raises(ValueError, match="Fractions"):
        certify(textbook(exact=True), np.array([0.5, 1.5]), EXACT[1], EXACT[2])


def test_wrong_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="y has shape"):
        certify(textbook(), np.ones(2), np.ones(3), np.ones(1))


def test_split_returns_named_blocks_in_their_shapes() -> None:
    qp = QuadraticProgram(
        P=np.eye(5), q=np.zeros(5), variables={"W": (0, (2, 2)), "b": (4, ())}, inequalities={}
    )
    parts = qp.split(np.arange(5.0))
    np.testing.assert_array_equal(parts["W"], [[0, 1], [2, 3]])
    assert parts["b"] == 4
    named = textbook()
    assert named.split_inequalities(np.array([1.0, 2.0]))["sign"] == 2
    assert named.split_equalities(np.array([7.0]))["sum"] == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.array([[1.0, 2.0], [0.0, 1.0]])}, "not symmetric"),
        ({"P": np.eye(3)}, "P has shape"),
        ({"q": np.array([np.nan, 0])}, "NaN"),
        ({"h": np.array([np.inf, 1])}, "infinite"),
        ({"h": np.ones(3)}, "G has shape"),
        ({"A": None}, "A and b must be given together"),
        ({"q": np.zeros((2, 1))}, "vector"),
        ({"variables": {"a": (0, (2,)), "b": (1, (1,))}}, "overlapping"),
        ({"inequalities": {"a": (1, (2,))}}, "outside"),
        ({"P": np.array([[Fraction(1), 0], [0, 1]], dtype=object)}, "exact data"),
    ],
)
def test_unusable_programs_are_refused(change: dict, message: str) -> None:
    qp = textbook()
    data = {name: getattr(qp, name) for name in ("P", "q", "G", "h", "A", "b")}
    with pytest.raises(ValueError, match=message):
        QuadraticProgram(**{**data, **change})


def test_exact_and_float_forms_round_trip() -> None:
    qp = textbook(exact=True)
    again = qp.as_float().as_exact()
    assert np.array_equal(again.P, qp.P) and np.array_equal(again.h, qp.h) and again.variables == qp.variables
    assert qp.value(EXACT[0]) == Fraction(-57, 8)


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ({"P": np.zeros((1, 1)), "q": np.ones(1)}, "unbounded"),
        ({"P": np.eye(1), "q": np.ones(1), "G": [[1.0], [-1.0]], "h": [0.0, -1.0]}, "infeasible"),
        ({"P": -np.eye(1), "q": np.ones(1)}, "nonconvex"),
        ({"P": np.array([[0.0, 1.0], [1.0, 0.0]]), "q": np.ones(2)}, "nonconvex"),
    ],
)
def test_solver_error_carries_the_status(program: dict, status: str) -> None:
    with pytest.raises(SolverError) as error:
        solve(QuadraticProgram(**program))
    assert error.value.status == status


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP", "SCS"])
def test_solvers_agree_and_are_certified(solver: str) -> None:
    qp = random_program(7)
    s = solve(qp, solver, 1e-8)
    assert certify(qp, s.x, s.y, s.z).accepts(1e-5)
    assert s.solver == solver and s.seconds > 0


def test_unknown_solver_and_tolerance_are_refused() -> None:
    with pytest.raises(ValueError, match="allowed: CLARABEL"):
        solve(textbook(), "GUROBI")
    with pytest.raises(ValueError, match="tolerance"):
        solve(textbook(), tolerance=0.0)


def test_semidefinite_form_with_rounding_is_solved() -> None:
    """A rank-one P, whose smallest computed eigenvalue may be negative, must not be called nonconvex."""
    v = np.linspace(0.1, 3, 30)
    qp = QuadraticProgram(P=np.outer(v, v), q=-v, G=np.eye(30), h=np.ones(30))
    s = solve(qp)
    assert certify(qp, s.x, s.y, s.z).accepts(1e-7)


@pytest.mark.parametrize("far", [1e3, 1e12, 1e20])
def test_a_far_constraint_lends_no_variable_its_size(far: float) -> None:
    """However far it is, a wrong answer is as wrong as before; the right one is accepted."""
    curved = QuadraticProgram(np.eye(2), np.array([-1.0, -1]), G=np.array([[1.0, 1]]), h=np.array([far]))
    nothing = np.zeros(0)
    assert certify(curved, np.zeros(2), np.zeros(1), nothing).worst > 1e-2
    assert certify(curved, np.ones(2), np.zeros(1), nothing).accepts(0)
    flat = QuadraticProgram(
        np.zeros((2, 2)), np.ones(2), G=np.array([[-1.0, 0], [0, -1], [1, 1]]), h=np.array([0, 0, far])
    )
    prices = np.array([1.0, 1, 0])
    assert certify(flat, np.array([-1000.0, 1000]), prices, nothing).worst > 1e-2
    assert certify(flat, np.zeros(2), prices, nothing).accepts(0)


@pytest.mark.parametrize("far", [1e9, 1e12])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_variables_that_cancel_lend_no_other_their_size(far: float, sign: float) -> None:
    """x + u = v with u and v as large as one likes: x is 0 all the same, and should be 1, or not bounded."""
    G = np.array([[1.0, 0, 0]]) if sign > 0 else None
    tied = QuadraticProgram(
        np.diag([1.0, 0, 0]), np.array([sign, 0, 0]), 0, G, None if G is None else np.zeros(1),
        np.array([[1.0, 1, -1]]), np.zeros(1),
    )  # fmt: skip
    y = np.array([]) if G is None else np.array([-1.0])
    assert not certify(tied, np.array([0, far, far]), y, np.zeros(1)).accepts(1e-8)
    if G is None:
        assert certify(tied, np.array([1.0, 0, 1]), y, np.zeros(1)).accepts(1e-8)
