"""Exact certificates: optimal points, semidefiniteness, unboundedness and infeasibility in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.certificates import certify
from solvers.exact import (
    Infeasibility,
    NoExactCertificate,
    UnboundedRay,
    infeasibility,
    is_psd,
    nullspace,
    solve_exact,
    solve_rational,
    unbounded_ray,
)
from solvers.program import QuadraticProgram
from solvers.qp import Solution

small = st.integers(-3, 3)


def exact(values: object) -> np.ndarray:
    return np.array(values, dtype=object)


def integer_matrix(rows: int, columns: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(small, min_size=rows * columns, max_size=rows * columns).map(
        lambda entries: exact(entries).reshape(rows, columns)
    )


@settings(max_examples=60, deadline=None)
@given(integer_matrix(3, 4))
def test_gram_matrices_are_psd(root: np.ndarray) -> None:
    assert is_psd(root.T @ root) == (True, None)


@settings(max_examples=120, deadline=None)
@given(integer_matrix(4, 4))
def test_psd_answer_is_right_and_its_witness_proves_it(square: np.ndarray) -> None:
    M = square + square.T
    answer, witness = is_psd(M)
    smallest = np.linalg.eigvalsh(M.astype(float))[0]
    if answer:
        assert witness is None and smallest > -1e-9
    else:
        assert witness is not None and all(isinstance(v, Fraction) for v in witness)
        assert witness @ M @ witness < 0


def test_semidefinite_with_zero_pivot_and_indefinite_with_zero_diagonal() -> None:
    assert is_psd(exact([[0, 0], [0, 1]]))[0] and is_psd(exact([[1, 1], [1, 1]]))[0]
    answer, x = is_psd(exact([[0, 1], [1, 5]]))
    assert not answer and x is not None and x @ exact([[0, 1], [1, 5]]) @ x < 0
    with pytest.raises(ValueError, match="symmetric"):
        is_psd(exact([[0, 1], [2, 5]]))


@settings(max_examples=60, deadline=None)
@given(integer_matrix(3, 5), integer_matrix(5, 1), integer_matrix(5, 1))
def test_rational_solution_keeps_the_free_values_it_is_given(
    matrix: np.ndarray, point: np.ndarray, free: np.ndarray
) -> None:
    right = matrix @ point[:, 0]
    u = solve_rational(matrix, right, free[:, 0])
    assert u is not None and not np.any(matrix @ u != right)
    basis = nullspace(matrix)
    assert not np.any(matrix @ basis != 0)
    assert basis.shape[1] == 5 - np.linalg.matrix_rank(matrix.astype(float))
    # Reaching `free` itself whenever it solves the system shows that nothing else was imposed.
    again = solve_rational(matrix, matrix @ free[:, 0], free[:, 0])
    assert again is not None and not np.any(again != free[:, 0])


def test_inconsistent_system_has_no_solution() -> None:
    assert solve_rational(exact([[1, 1], [2, 2]]), exact([1, 3])) is None


@settings(max_examples=25, deadline=None)
@given(integer_matrix(4, 4), integer_matrix(4, 1), integer_matrix(3, 4))
def test_bounded_convex_programs_get_an_exact_certificate(
    root: np.ndarray, q: np.ndarray, rows: np.ndarray
) -> None:
    """Rank-deficient P, arbitrary rows that leave the origin feasible, and a box."""
    eye = np.eye(4, dtype=int).astype(object)
    qp = QuadraticProgram(
        P=root[:2].T @ root[:2],
        q=q[:, 0],
        G=np.concatenate([rows, eye, -eye]),
        h=exact([1] * 3 + [2] * 8),
    )
    solution = solve_exact(qp)
    certificate = solution.certificate
    assert certificate.accepts() and certificate.primal_value == certificate.dual_value
    assert certify(qp, solution.x, solution.y, solution.z).accepts()
    assert all(isinstance(v, Fraction) for v in [*solution.x, *solution.y])


def test_degenerate_duals_are_handled() -> None:
    """The same active row three times, and a vertex where more rows meet than there are dimensions."""
    qp = QuadraticProgram(
        P=exact([[1, 0], [0, 1]]),
        q=exact([-3, -3]),
        G=exact([[1, 1], [2, 2], [1, 1], [1, 0], [0, 1]]),
        h=exact([2, 4, 2, 1, 1]),
    )
    solution = solve_exact(qp)
    assert list(solution.x) == [1, 1] and solution.certificate.accepts()


def test_optimal_face_without_a_unique_point() -> None:
    """Minimise (x1 + x2)^2 / 2 - (x1 + x2) over 0 <= x <= 10: every point with x1 + x2 = 1 is optimal."""
    qp = QuadraticProgram(
        P=exact([[1, 1], [1, 1]]), q=exact([-1, -1]), G=exact([[-1, 0], [0, -1]]), h=exact([0, 0])
    )
    solution = solve_exact(qp)
    assert sum(solution.x) == 1 and solution.certificate.primal_value == Fraction(-1, 2)


def test_misleading_hint_is_survived_by_enumeration() -> None:
    qp = QuadraticProgram(P=exact([[1]]), q=exact([-5]), G=exact([[1], [-1]]), h=exact([1, 0]))
    lie = Solution(np.array([0.0]), np.array([0.0, 9.0]), np.zeros(0), "optimal", "liar", 0.0)
    assert list(solve_exact(qp, lie).x) == [1]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ({"P": exact([[0]]), "q": exact([1])}, "unbounded"),
        ({"P": exact([[-1]]), "q": exact([0])}, "semidefinite"),
        ({"P": exact([[1]]), "q": exact([0]), "G": exact([[1], [-1]]), "h": exact([0, -1])}, "infeasible"),
    ],
)
def test_no_certificate_comes_with_the_reason(program: dict, reason: str) -> None:
    with pytest.raises(NoExactCertificate, match=reason):
        solve_exact(QuadraticProgram(**program))


def test_unbounded_linear_descent_is_proved() -> None:
    qp = QuadraticProgram(
        P=exact([[1, -1], [-1, 1]]), q=exact([-1, -1]), G=exact([[-1, 0], [0, -1]]), h=exact([0, 0])
    )
    ray = unbounded_ray(qp)
    assert ray is not None and ray.proves_unbounded(qp)
    assert list(ray.direction) == [1, 1]


def test_bounded_programs_have_no_ray() -> None:
    """The same program with the descent turned round, and one bounded by its inequalities only."""
    convex = QuadraticProgram(
        P=exact([[1, -1], [-1, 1]]), q=exact([1, 1]), G=exact([[-1, 0], [0, -1]]), h=exact([0, 0])
    )
    linear = QuadraticProgram(P=exact([[0]]), q=exact([-1]), G=exact([[1]]), h=exact([4]))
    assert unbounded_ray(convex) is None and unbounded_ray(linear) is None


def test_indefinite_form_is_unbounded_unless_equalities_remove_the_direction() -> None:
    saddle = {"P": exact([[1, 0], [0, -1]]), "q": exact([0, 0])}
    free = QuadraticProgram(**saddle)
    ray = unbounded_ray(free)
    assert ray is not None and ray.proves_unbounded(free)
    tied = QuadraticProgram(**saddle, A=exact([[0, 1]]), b=exact([3]))
    assert unbounded_ray(tied) is None


def test_indefinite_form_on_a_cone() -> None:
    """-x1 x2 over x >= 0 falls along (1, 1); x1 x2 there is bounded, which this method cannot decide."""
    cone = {"q": exact([0, 0]), "G": exact([[-1, 0], [0, -1]]), "h": exact([0, 0])}
    falling = QuadraticProgram(P=exact([[0, -1], [-1, 0]]), **cone)
    ray = unbounded_ray(falling)
    assert ray is not None and list(ray.direction) == [1, 1]
    with pytest.raises(NoExactCertificate, match="indefinite"):
        unbounded_ray(QuadraticProgram(P=exact([[0, 1], [1, 0]]), **cone))


def test_false_rays_are_rejected() -> None:
    qp = QuadraticProgram(P=exact([[1, 0], [0, 0]]), q=exact([0, -1]), G=exact([[0, -1]]), h=exact([0]))
    origin = exact([0, 0])
    assert UnboundedRay(origin, exact([0, 1])).proves_unbounded(qp)
    for direction in ([0, 0], [1, 1], [0, -1]):
        assert not UnboundedRay(origin, exact(direction)).proves_unbounded(qp)
    assert not UnboundedRay(exact([0, -1]), exact([0, 1])).proves_unbounded(qp), "starts outside"


def test_contradictory_constraints_are_proved_infeasible() -> None:
    qp = QuadraticProgram(
        P=exact([[0, 0], [0, 0]]),
        q=exact([0, 0]),
        G=exact([[1, 1], [-1, 0]]),
        h=exact([1, -2]),
        A=exact([[0, 1]]),
        b=exact([0]),
    )
    proof = infeasibility(qp)
    assert proof is not None and proof.proves_infeasible(qp)
    assert not Infeasibility(-proof.y, -proof.z).proves_infeasible(qp)
    assert not Infeasibility(0 * proof.y, 0 * proof.z).proves_infeasible(qp)
    relaxed = QuadraticProgram(P=qp.P, q=qp.q, G=qp.G, h=exact([2, -2]), A=qp.A, b=qp.b)
    assert infeasibility(relaxed) is None
