"""Instances in words: whoever reads them can compute what was computed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from checks.engine.instances import Instance, solved
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
from derivations.calculus.index import Expr, Index, Tensor
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


def test_only_what_an_expression_reads_is_changed_to_make_it_vanish() -> None:
    """Of an undefined value every entry is tried: the evaluation may not have come to some."""
    u, v, s = Tensor("u", ("n",)), Tensor("v", ("n",)), Tensor("s", ("n", "n"), symmetric=True)
    i, k = Index("i", "n"), Index("k", "n")
    values = {(t, (a,)): Fraction(a + 1) for t in (u, v) for a in range(2)}
    values |= {(s, at): Fraction(sum(at)) for at in ((0, 0), (0, 1), (1, 1))}
    twice = Tensor("w", ("n",))
    given = Given(twice, (i,), 2 * as_term(v)[i], "")
    instance = Instance({"n": 2}, values, (given,))

    def changed(expr: Expr, at: dict[Index, int]) -> set[tuple[str, tuple[int, ...]]]:
        found = [one.values.items() for one in solved(instance, expr, at)]
        return {(t.name, e) for entries in found for (t, e), x in entries if x != values[t, e]}

    assert changed(u[i] * v[i] - 3, {i: 1}) == {("u", (1,)), ("v", (1,))}
    assert changed(s[i, k] - 2 * u[k], {i: 1, k: 0}) == {("s", (0, 1)), ("u", (0,))}
    assert changed(twice[i] - 3 * u[k], {i: 0, k: 1}) == {("v", (0,)), ("u", (1,))}
    assert changed(1 / (s[k, k] - 2) + u[i], {i: 0, k: 1}) == {("s", (1, 1))}
