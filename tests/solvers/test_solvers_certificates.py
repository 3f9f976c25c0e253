"""The certificate checker accepts optimal triples only: properties and negative controls."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from solvers.certificates import certify
from solvers.exact import solve_exact
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
    assert certificate.accepts()
    assert certificate.primal_value == certificate.dual_value == Fraction(-57, 8)


def test_float_solution_of_the_same_program_leads_to_the_optimum() -> None:
    qp = textbook()
    solution = solve(qp)
    best = solve_exact(qp, solution)
    for values, exact in zip((best.x, best.y, best.z), EXACT, strict=True):
        assert not np.any(values != exact)
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
    assert not certify(textbook(exact=True), x, y, z).accepts()


@pytest.mark.parametrize("seed", range(4))
def test_corrupted_answers_are_rejected(seed: int) -> None:
    qp = random_program(seed).as_exact()
    s = solve_exact(qp)
    assert certify(qp, s.x, s.y, s.z).accepts()
    active = int(np.argmax(s.y))
    assert s.y[active] > 0, "the instance must have an active row for the controls to mean anything"
    corrupted, flipped = s.y.copy(), s.y.copy()
    corrupted[active] *= Fraction(1001, 1000)
    flipped[active] *= -1
    for name, triple in {
        "corrupted dual": (s.x, corrupted, s.z),
        "wrong sign": (s.x, flipped, s.z),
        "permuted x": (np.roll(s.x, 1), s.y, s.z),
        "all zero": (0 * s.x, 0 * s.y, 0 * s.z),
        "equality multiplier with the other sign": (s.x, s.y, -s.z),
        "shrunk x": (s.x * Fraction(999, 1000), s.y, s.z),
    }.items():
        assert not certify(qp, *triple).accepts(), name


def test_each_condition_can_fail_alone() -> None:
    qp = textbook(exact=True)
    x, y, z = EXACT
    outside = certify(qp, exact_array([Fraction(0), Fraction(2)]), y, z)
    assert outside.inequality == Fraction(1, 2) and outside.equality == 0
    assert certify(qp, exact_array([1, 1]), y, z).complementarity == Fraction(5, 4)
    wrong = certify(qp, x, exact_array([Fraction(5, 2), -1]), z)
    assert wrong.dual_sign == 1 and wrong.stationarity == 1
    assert certify(qp, exact_array([Fraction(1, 3), Fraction(3, 2)]), y, z).equality == Fraction(1, 6)


def test_stationary_point_of_a_nonconvex_form_is_rejected() -> None:
    saddle = QuadraticProgram(P=exact_array([[1, 0], [0, -1]]), q=exact_array([0, 0]))
    certificate = certify(saddle, exact_array([0, 0]), exact_array([]), exact_array([]))
    assert certificate.stationarity == 0 and certificate.convexity == 1
    assert not certificate.accepts()


TIED = QuadraticProgram(
    P=exact_array([[1, 0, 0], [0, 0, 0], [0, 0, 0]]), q=exact_array([1, 0, 0]), G=exact_array([[1, 0, 0]]),
    h=exact_array([0]), A=exact_array([[1, 1, -1]]), b=exact_array([0]),
)  # fmt: skip
LOOSE = QuadraticProgram(
    P=exact_array([[0, 0], [0, 0]]),
    q=exact_array([1, 0]),
    A=exact_array([[1, 1], [1, 1]]),
    b=exact_array([0, 0]),
)
OFFSET = QuadraticProgram(P=exact_array([[2]]), q=exact_array([0]), r=10**12)
SADDLE = QuadraticProgram(P=exact_array([[10**12, 0], [0, -1]]), q=exact_array([0, 0]))
FAR = QuadraticProgram(
    P=exact_array([[1, 0], [0, 1]]), q=exact_array([-1, -1]), G=exact_array([[1, 1]]), h=exact_array([10**20])
)


@pytest.mark.parametrize(
    ("qp", "x", "y", "z"),
    [
        (TIED, [1, 10**9, 10**9 + 1], [0], [0]),  # x <= 0 is violated by 1 beside 1e9
        (TIED, [0, 10**9, 10**9], [0], [0]),  # x should be -1
        (LOOSE, [0, 0], [], [10**9, -(10**9)]),  # multipliers of dependent rows cancel, the 1 of q stays
        (OFFSET, [100], [], []),  # a gap of 1e4 beside 1e12
        (SADDLE, [0, 0], [], []),  # curvature -1 beside 1e12
        (FAR, [0, 0], [0], []),  # a constraint far away
    ],
)
def test_a_large_number_hides_nothing(qp: QuadraticProgram, x: list[int], y: list[int], z: list[int]) -> None:
    """A checker that measures floats by their sizes accepts each of these at 1e-8, or the right ones no more."""
    assert not certify(qp, exact_array(x), exact_array(y), exact_array(z)).accepts()


def test_right_answers_beside_large_numbers_are_accepted() -> None:
    right = ((TIED, [-1, 10**9, 10**9 - 1], [0], [0]), (FAR, [1, 1], [0], []), (OFFSET, [0], [], []))
    for qp, x, y, z in right:
        assert certify(qp, exact_array(x), exact_array(y), exact_array(z)).accepts()


def test_checker_imports_no_solver() -> None:
    names = ["cvxpy", "sklearn", "flint", "solvers.qp", "solvers.exact", "solvers.svr", "solvers.active_set"]
    code = "import sys, solvers.certificates, solvers.svr_problem"
    code += f"; print([m for m in {names} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_floats_certify_nothing() -> None:
    with pytest.raises(ValueError, match="Fractions"):
        certify(textbook(exact=True), np.array([0.5, 1.5]), EXACT[1], EXACT[2])
    with pytest.raises(ValueError, match="as_exact"):
        certify(textbook(), *EXACT)


def test_wrong_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="y has shape"):
        certify(textbook(exact=True), EXACT[0], exact_array([0, 0, 0]), EXACT[2])


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
def test_solvers_lead_to_the_certified_optimum(solver: str) -> None:
    qp = random_program(7)
    s = solve(qp, solver, 1e-8)
    np.testing.assert_allclose(s.x, solve_exact(qp, s).x.astype(float), rtol=1e-5, atol=1e-5)
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
    assert v @ solve(qp).x == pytest.approx(1, abs=1e-7)
