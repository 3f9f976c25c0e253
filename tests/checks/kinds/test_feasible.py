"""Points that are offered against a program or a system give everything a value."""

from __future__ import annotations

from typing import Any

import pytest

from checks.engine.judge import judge
from checks.kinds.examples import Point
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.statement import Fact, Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import as_term

X, A, C, L = (Tensor(name) for name in "xacl")
x, a, c = map(as_term, (X, A, C))
SQUARE = Program("p", (X,), x, (Constraint(a - x**2, c, L),))
POLE = Program("p", (X,), x, (Constraint(1 / x, c, L),))


@pytest.mark.parametrize(
    "statement",
    [
        ConvexProgram(SQUARE, (), (("x", 1),), (("x", -1),)),
        ConvexProgram(POLE, (("c", 1),), (("x", 0),), (("x", 2),)),
        Solvable(X, (Fact("e", x / a - 1, "="),), Point((), ((A, 0),))),
        Solvable(X, (Fact("e", a * x - 1, "="),), Point((), ())),
        Solvable(X, (), Point((), ())),
    ],
)
def test_a_point_without_values_is_malformed(statement: Any) -> None:
    with pytest.raises(Malformed):
        judge(statement)


def test_points_with_values_refute() -> None:
    found = judge(ConvexProgram(SQUARE, (("a", 1), ("c", 0)), (("x", 1),), (("x", -1),)))
    assert found.holds is False
    assert judge(Solvable(X, (Fact("e", a * x - 1, "="),), Point((), ((A, 0),)))).holds is False


def test_one_unknown_is_said_to_solve_the_equations_of_all_indices() -> None:
    i, j = Index("i", "N"), Index("j", "N")
    b = as_term(Tensor("b", ("N",)))
    equations = (Fact("one", x - b[j], "="), Fact("two", x - b[i], "="))
    statement = Solvable(X, equations, Point((("N", 1),), ((b.data, (1,)),), ((i, 1),)))
    shown = r"\exists\,x:\quad x - b_{j} = 0\ \text{(each } j\text{)},\quad x - b_{i} = 0"
    assert statement.statement_latex() == shown
