"""What a family says is what it prints: its cases are cases of that."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.kinds.family import Family
from checks.statement import Identity, Malformed
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term

x = as_term(Tensor("x"))
SQUARE, NEVER = Identity(x * x, x**2), Identity(x, x + 1)


def test_what_is_printed_and_true_is_not_refuted_by_something_else() -> None:
    with pytest.raises(Malformed, match="no case"):
        judge(Family(SQUARE, (("p = 2", NEVER),)))


def test_a_case_that_fails_refutes_what_is_not_shown() -> None:
    assert judge(Family(Identity(x * x, x**3), (("p = 2", NEVER),))).holds is False
    assert judge(Family(SQUARE, (("p = 2", Identity(x + x, 2 * x)),))).proved
