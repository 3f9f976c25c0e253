"""Points that are offered against a program or a system give everything a value."""

from __future__ import annotations

from typing import Any

import pytest

from checks.engine.judge import judge
from checks.kinds.examples import Point
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.statement import Fact, Malformed
from derivations.calculus.index import Tensor
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
