"""What an author gives in the place of something else is named, with what belongs there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.kinds.counting import Grows
from checks.kinds.examples import Example, Point
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.programs import Dual
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.statement import Fact, Identity, Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import as_term, squared_norm

i = Index("i", "n")
X, RHO = Tensor("x", ("n",)), Tensor("rho", ("n",))
x, a = as_term(X), as_term(Tensor("a", ("n",)))
z = as_term(Tensor("z"))
T, u = sp.symbols("T u", positive=True)
POINTS = tuple(Point((("n", 1),), ((X, (n,)), (a.data, (n,)))) for n in (1, 2, 3))


def consequence(hypothesis: Equation) -> Follows:
    return Follows((hypothesis,), x[i] ** 2, a[i] ** 2, as_term(RHO)[i] * (x[i] + a[i]), POINTS)


def steps(*cases: tuple[int, ...]) -> Recurrence:
    rule = QUANTITY(T - 1, u) + u
    return Recurrence(T * u, (T, u), (Base("one", T, 1, u),), rule, "one more", lambda t, v: t * v, cases)


RIGHT = [consequence(Equation(x, a, RHO)), steps((1, 1), (2, 3)), Identity(x - x, 0 * x)]


@pytest.mark.parametrize("statement", RIGHT, ids=lambda s: type(s).__name__)
def test_the_right_ones_are_judged(statement: Any) -> None:
    assert judge(statement).holds


@pytest.mark.parametrize(
    "statement, words",
    [
        (Identity(x - x, 0), "rhs of Identity is 0: it must be a formula"),  # type: ignore[arg-type]
        (Identity(X, x), "lhs of Identity is a Tensor: it must be a formula"),  # type: ignore[arg-type]
        (consequence(Equation(x, a, a)), "residual of Equation is a Symbol: it must be a Tensor"),  # type: ignore[arg-type]
        (consequence(Equation(x[i], a[i], RHO)), r"rho has shape \('n',\), its hypothesis \(\)"),
        (replace(steps((1, 1)), closed=1), "closed of Recurrence is 1: it must be a formula of SymPy"),
        (steps((1,), (2,)), r"each case has a value for each symbol \(T, u\)"),
        (Grows("g", (1 - sp.sqrt(2)) * T, T, ((T, (1, 2)),)), "an exact rational function"),
        (Example((Fact("positive", z, ">"),), Point((), ())), "the point gives no value to z"),
    ],
)
def test_the_field_and_what_belongs_there_are_named(statement: Any, words: str) -> None:
    with pytest.raises(Malformed, match=words):
        judge(statement)


def test_a_dual_without_conditions_says_so() -> None:
    kept = Constraint(x[i], a[i], Tensor("m", ("n",)), (i,))
    says = Dual(Program("nearest", (X,), squared_norm(x) / 2, (kept,)), ()).statement_latex()
    assert (
        r"its dual, whose multipliers }m\text{ belong to these constraints in turn, has no condition" in says
    )
    free = Dual(Program("nearest", (X,), squared_norm(x) / 2, ()), ())
    assert "its dual has no condition besides the signs" in free.statement_latex()


def test_a_finding_prints_as_one_line() -> None:
    assert repr(judge(RIGHT[0])) == "Finding(holds)"
    assert repr(judge(Identity(x, a))).startswith("Finding(does not hold; n = 1")
    open_ = judge(replace(RIGHT[0], certificate=0 * z))
    assert repr(open_) == (
        "Finding(is not settled; open: the certificate is not an identity: the sides differ by (x_i)² - (a_i)²)"
    )


def test_a_vector_that_is_not_zero_is_a_hypothesis() -> None:
    """``nonzero`` says it of every entry, which is more."""
    norm = squared_norm(x)
    stored = Fact("stored", (x.T @ x) / norm - 1, "=")
    assert judge(Implication((Fact("x", norm, ">"),), stored)).holds
    assert judge(Implication((), stored)).holds is not True
