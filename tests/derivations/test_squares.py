"""Squares are completed, and exponentials and logarithms lie on one side of their tangents."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import pytest

from derivations.calculus import cases, squares
from derivations.calculus import normal as nf
from derivations.calculus import signs as module
from derivations.calculus.index import Index, Tensor
from derivations.calculus.signs import NONE, Facts, nonnegative, signs
from derivations.calculus.squares import completed
from derivations.calculus.term import as_term, exp, log, size, sum_over

x, y, z = (as_term(Tensor(name)) for name in "xyz")
s, t, u = (as_term(Tensor(name, positive=True)) for name in "stu")
i, j = Index("i", "N"), Index("j", "N")
a, b = (as_term(Tensor(name, ("N",))) for name in "ab")
p, q = (as_term(Tensor(name, ("N",), positive=True)) for name in "pq")
HALF = Fraction(1, 2)


def total(term: Any) -> Any:
    return sum_over(i, term)


SQUARES = {
    "two": (x**2 + y**2 - 2 * x * y, x**2 + y**2 - 3 * x * y),
    "three": (x**2 + y**2 + z**2 - x * y - y * z - z * x, x**2 + y**2 + z**2 - 2 * x * y - y * z - z * x),
    "an inverse": (t + 1 / t - 2, t + 1 / t - 3),
    "a ratio": (t / u + u / t - 2, t / u + u / t - 3),
    "a positive factor": (t * x**2 + 2 * x * y + y**2 / t, t * x**2 + 3 * x * y + y**2 / t),
    "fourth powers": (x**4 + 1 - 2 * x**2, x**4 + 1 - 3 * x**2),
    "roots": ((t + u) / 2 - (t * u) ** HALF, (t + u) / 3 - (t * u) ** HALF),
    "hyperbolic": (exp(z) + exp(-z) - 2, exp(z) + exp(-z) - 3),
    "mean square": (size("N") * total(a[i] ** 2) - total(a[i]) ** 2, total(a[i] ** 2) - total(a[i]) ** 2),
    "Cauchy and Schwarz": (
        total(a[i] ** 2) * total(b[i] ** 2) - total(a[i] * b[i]) ** 2,
        total(a[i] ** 2) * total(b[i] ** 2) - 2 * total(a[i] * b[i]) ** 2,
    ),
}
TANGENTS = {
    "exp": (exp(z) - 1 - z, exp(z) - 1 - 2 * z),
    "log": (t - 1 - log(t), t - 1 - 2 * log(t)),
    "two exps": (exp(x) + exp(y) - x - y - 2, exp(x) + exp(y) - x - y - 3),
    "t log t": (t * log(t) - t + 1, t * log(t) - t + 2 - u),
    "a sum": (total(exp(a[i])) - total(a[i]) - size("N"), total(exp(a[i])) - 2 * total(a[i]) - size("N")),
    "Gibbs": (
        total(p[i] * log(p[i] / q[i])) - total(p[i]) + total(q[i]),
        total(p[i] * log(p[i] / q[i])) - total(p[i]) + total(q[i]) / 2,
    ),
    "conjugates": (exp(x) + t * log(t) - t - t * x, exp(x) + t * log(t) - t - 2 * t * x),
}


@pytest.mark.parametrize("name", [*SQUARES, *TANGENTS])
def test_what_is_not_negative_is_seen_and_what_may_be_is_not(name: str) -> None:
    true, false = {**SQUARES, **TANGENTS}[name]
    assert cases.nonnegative(true.entry()) is not None
    assert cases.nonnegative(false.entry()) is None
    assert cases.nonnegative((-true).entry()) is None


def test_what_is_completed_is_the_same_number() -> None:
    for term in (
        x**2 + y**2 - 2 * x * y,
        t + 1 / t - 2,
        t * x**2 + 2 * x * y + y**2 / t,
        t * x**2 + u * y**2 - x * y + u,
    ):
        found = completed(term.entry(), NONE)
        assert found is None or nf.equal(found.entry(), term.entry())
    shown = completed((x**2 - 2 * x * y + y**2).entry(), NONE)
    assert shown is not None and shown.latex() == r"\left(x - y\right)^{2}"


def test_a_factor_that_may_be_negative_completes_nothing() -> None:
    assert completed((z * x**2 + 2 * x * y + y**2 / z).entry(), NONE) is None
    assert completed((-(x**2) + 2 * x * y - y**2).entry(), NONE) is None


def test_a_root_that_need_have_no_value_is_not_taken() -> None:
    """x - 2 y √… of an x of any sign: its root does not occur, so x is no square."""
    assert completed((x + y**2).entry(), NONE) is None
    assert completed((x + y**2 + 1 - 2 * y).entry(), NONE) is None


def test_tangents_ask_for_the_sign_of_what_is_beside() -> None:
    assert nonnegative((s * (exp(x) - 1 - x)).entry())
    assert not nonnegative((y * exp(x) - y - y * x).entry())
    assert not nonnegative((y * (x - 1) - y * log(x)).entry())
    assert not nonnegative(
        (exp(x) - 1 - x).entry(), Facts(literally=True)
    )  # the kernel's list does not have it


def test_sums_of_logarithms_keep_their_letters_apart() -> None:
    """Σ_i p_i (log p_i - log q_i) is together only where the letters of the sums are one."""
    crossed = total(p[i]) * sum_over(j, log(p[j])) - total(p[i]) * sum_over(j, log(q[j]))
    assert cases.nonnegative((crossed - total(p[i]) ** 2 + total(q[i]) ** 2).entry()) is None


def test_squares_of_many_letters_are_not_taken_in_all_orders(monkeypatch) -> None:
    """Of twelve letters there are as many orders as would take minutes; what they leave is looked at once."""
    asked = []
    monkeypatch.setattr(squares, "signs", lambda expr, facts: asked.append(expr) or signs(expr, facts))
    many = reduce(add, (as_term(Tensor(f"x_{n}")) ** 2 for n in range(12)))
    assert completed((many - y**3).entry(), NONE) is None
    assert 0 < len(asked) < 300


def test_few_lines_below_exponentials_are_tried(monkeypatch) -> None:
    """What is asked of a logarithm is found once, and what is multiplied out for nothing is little."""
    tried = []
    line = module._with_factor
    monkeypatch.setattr(module, "_with_factor", lambda *of: tried.append(of) or line(*of))
    part = s * (exp(z + log(t)) - 1 - z - log(t)) + u * (exp(x - log(t)) - 1 - x + log(t))
    assert signs((part * (1 + x**2) - y).entry(), Facts()) == {-1, 0, 1}
    assert 0 < len(tried) < 200
