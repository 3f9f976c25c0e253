"""Order: smooth functions have series, kinks have none, and what keeps a proof away is said."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.kinds.order import Order
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, apply, as_term, exp, sqrt

SMALL = Tensor("gamma", (), r"\gamma")
g = as_term(SMALL)
y, p = as_term(Tensor("y")), as_term(Tensor("p", positive=True))
zero = as_term(0)


def log(term: Term) -> Term:
    return apply("log", term)


@pytest.mark.parametrize("exact, approximate, order", [
    (log(1 + g), g - g**2 / 2, 3),
    (log(1 + g * y), g * y, 2),
    (sqrt(1 + g * y), 1 + g * y / 2, 2),
    (1 / sqrt(1 + g), 1 - g / 2, 2),
    (apply("sin", g * y), g * y, 3),
    (apply("cos", g), 1 - g**2 / 2, 4),
], ids=str)  # fmt: skip
def test_smooth_functions_have_orders(exact: Term, approximate: Term, order: int) -> None:
    found = judge(Order(exact, approximate, SMALL, order))
    assert found.proved and found.mutants.killed
    wrong = judge(Order(exact, approximate + g ** (order - 1), SMALL, order))
    assert wrong.holds is False and (wrong.counterexample or "").find("coefficient of γ") >= 0


@pytest.mark.parametrize("exact, approximate, order", [
    (apply("sign", y + g), apply("sign", y), 1),
    (apply("abs", g), g, 2),
    (sqrt(g**2), g, 2),
    (log(y + g), log(y), 1),
    (p * g * log(g**2), zero, 1),
    (exp(-1 / g), zero, 2),
    (1 / (y + g), 1 / y, 1),
], ids=str)  # fmt: skip
def test_what_is_not_smooth_at_zero_has_no_proof(exact: Term, approximate: Term, order: int) -> None:
    assert judge(Order(exact, approximate, SMALL, order)).holds is not True


def test_a_side_that_is_written_with_a_pole_is_open_and_says_so() -> None:
    found = judge(Order((exp(g) - 1) / g, as_term(1), SMALL, 1))
    assert found.holds is None and "not defined at γ = 0" in repr(found) and "open: ;" not in repr(found)
