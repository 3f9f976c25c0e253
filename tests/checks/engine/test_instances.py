"""Instances in words: whoever reads them can compute what was computed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from checks.engine.judge import judge
from checks.kinds.differs import Differs
from checks.kinds.examples import Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.limit import Limit
from checks.kinds.optimal import Optimal
from checks.kinds.positive import Positive
from checks.statement import Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Program
from derivations.calculus.term import apply, as_term, sum_over

X, Y = Tensor("x"), Tensor("y")
x, y = as_term(X), as_term(Y)
ROWS = Tensor("p", ("n", "d"))
i, j, a = Index("i", "n"), Index("j", "n"), Index("a", "d")
DOT = sum_over(a, as_term(ROWS)[i, a] * as_term(ROWS)[j, a])
POINTS = tuple(Point((), ((X, n), (Y, 0))) for n in (1, 2, 3))


def f(number: Any) -> Any:
    return apply("F", number)


WITH_F = {
    "differs": Differs(f(x), x),
    "rule": Rule((), Fact("c", f(x), ">="), Point((), ((X, 0),))),
    "positive": Positive(f(DOT), ROWS, i, j, "R^d"),
    "extremum": Extremum(f(x), X, as_term(0), "a global minimum", witness=Point((), ()), direction=1),
    "solvable": Solvable(X, (Fact("e", x * y - f(y), "="),), Point((), ((Y, 0),))),
    "follows": Follows((Equation(y, as_term(0), Tensor("r")),), f(y), x * y, as_term(0), POINTS),
    "limit": Limit(X, x / 2 + f(y), as_term(0)),
    "optimal": Optimal(
        Program("p", (X,), f(x)), (Given(X, (), as_term(0), ""),), x**2, rival=Point((), ((X, -1),))
    ),
    "definedness": Identity(y / f(x), y / f(x) + x),
}


@pytest.mark.parametrize("statement", WITH_F.values(), ids=WITH_F)
def test_an_instance_says_what_stands_for_an_unknown_function(statement: Any) -> None:
    finding = judge(statement, with_mutants=False)
    assert "F(t) = " in (finding.counterexample or finding.evidence[0].detail)


def test_a_symmetric_matrix_has_all_its_entries() -> None:
    s = as_term(Tensor("s", ("n", "n"), symmetric=True))
    m = as_term(Tensor("m", ("n", "n")))
    rows = (judge(Identity(s @ m, m @ s)).counterexample or "").partition("s = ")[2].partition("]")[0]
    assert rows.count(",") == 3  # of two rows with two entries each


def test_without_symbols_an_instance_is_no_words() -> None:
    statement = Extremum(x**3, X, as_term(0), "a local minimum", witness=Point((), ()), direction=Fraction(1))
    assert (judge(statement).counterexample or "").startswith("x = point")
