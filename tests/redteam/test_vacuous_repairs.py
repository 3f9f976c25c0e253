"""Corrections that hold whatever the printed sides are, each beside one that says something."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.run.repair import repair_of
from checks.statement import Identity
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term, sqrt

X = Tensor("x", ())
x, y, q = as_term(X), as_term(Tensor("y", ())), as_term(Tensor("x", (), positive=True))
WRONG = Identity(x + y, 2 * x)
IDLE = {
    "the left side, times the right one over itself": (Identity(y, x), Identity(y, y * x / x, nonzero=(X,))),
    "the right side, times the left one over it": (
        WRONG,
        Identity(x + y, 2 * x * ((x + y) / (2 * x)), nonzero=(X,)),
    ),
}
OFFERED = {
    "where it may be divided by": (Identity(x * y / x, y), Identity(x * y / x, y, nonzero=(X,))),
    "where the root is the number": (Identity(sqrt(x**2), x), Identity(sqrt(q**2), q)),
}


@pytest.mark.parametrize("name", [*IDLE, *OFFERED])
def test_a_correction_that_holds_for_any_sides_repairs_nothing(name: str) -> None:
    printed, repair = {**IDLE, **OFFERED}[name]
    assert judge(printed).holds is False and judge(repair).holds is True
    assert repair_of(printed, repair) == ("idle" if name in IDLE else "offered")
