"""Corrections that hold whatever the printed sides are, each beside one that says something."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.kinds.cost import Assign, Cost
from checks.kinds.examples import Point
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.run.repair import repair_of
from checks.statement import Fact, Identity, Statement
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, apply, as_term, size, sqrt, sum_over

X, R, i = Tensor("x", ()), Tensor("r", ()), Index("i", "n")
x, y, q = as_term(X), as_term(Tensor("y", ())), as_term(Tensor("x", (), positive=True))
WRONG = Identity(x + y, 2 * x)
CUBE = Fact("c", (x + y - 2 * x) ** 3, "=")
WHERE = tuple(Point((), ((X, n), (Tensor("y", ()), n))) for n in (1, 2, 3))


def relu(number: Term) -> Term:
    return apply("relu", number)


IDLE: dict[str, tuple[Statement, Statement]] = {
    "the left side, times the right one over itself": (Identity(y, x), Identity(y, y * x / x, nonzero=(X,))),
    "the right side, times the left one over it": (
        WRONG,
        Identity(x + y, 2 * x * ((x + y) / (2 * x)), nonzero=(X,)),
    ),
    "a sum of the same number": (WRONG, Identity(sum_over(i, x + y), size("n") * (x + y))),
    "the number as ramps": (WRONG, Identity(x + y, relu(x + y) - relu(-(x + y)))),
    "what a side takes to compute": (
        WRONG,
        Cost("q", (Assign(Tensor("q"), (), 2 * x),), "1", 2 * x, sizes=("n",)),
    ),
    "what follows where it holds": (
        WRONG,
        Implication((Fact("h", x + y - 2 * x, "="),), CUBE, (("h", (x + y - 2 * x) ** 2),)),
    ),
    "what follows where it holds, as equations": (
        WRONG,
        Follows((Equation(2 * y, 2 * x, R),), y**2, x**2, as_term(R) * (x + y) / 2, WHERE),
    ),
}
OFFERED: dict[str, tuple[Statement, Statement]] = {
    "where it may be divided by": (Identity(x * y / x, y), Identity(x * y / x, y, nonzero=(X,))),
    "a product that is multiplied out": (
        Identity((x + y) ** 2, x + y),
        Identity((x + y) ** 2, x * (x + 2 * y) + y * y),
    ),
    "what follows elsewhere": (
        Identity(x**2, x * y),
        Implication((Fact("h", x - y, "="),), Fact("c", x**2 - x * y, "="), (("h", x),)),
    ),
    "where the root is the number": (Identity(sqrt(x**2), x), Identity(sqrt(q**2), q)),
}


@pytest.mark.parametrize("name", [*IDLE, *OFFERED])
def test_a_correction_that_holds_for_any_sides_repairs_nothing(name: str) -> None:
    printed, repair = {**IDLE, **OFFERED}[name]
    assert judge(printed).holds is False and judge(repair).holds is True
    assert repair_of(printed, repair) == ("idle" if name in IDLE else "offered")
