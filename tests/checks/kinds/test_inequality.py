"""AtLeast: what is shown of an inequality, what refutes it, and what is left open."""

from __future__ import annotations

from fractions import Fraction

import pytest

from checks.engine.judge import judge
from checks.kinds.inequality import AtLeast
from checks.statement import Given, Identity, Malformed
from derivations.calculus.gradients import bregman, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.maxima import maximum
from derivations.calculus.order import before
from derivations.calculus.signs import nonnegative
from derivations.calculus.term import apply, as_term, exp, sqrt, squared_norm, sum_over

x, y = as_term(Tensor("x")), as_term(Tensor("y"))
u, v, q = (as_term(Tensor(name, ("N",), positive=name == "q")) for name in "uvq")
I, J = Index("i", "N"), Index("j", "N")
SQUARE = AtLeast(x**2 + y**2, 2 * (x * y), (x - y) ** 2)


def test_a_square_proves_it_and_every_mutant_is_rejected() -> None:
    found = judge(SQUARE)
    assert found.proved and found.mutants.tried and not found.mutants.survivors
    assert found.steps[-1]["latex"].endswith(r"\ge 0")


def test_an_instance_refutes_it_whatever_is_said_of_the_difference() -> None:
    found = judge(AtLeast(x**2, y**2, (x - y) ** 2))
    assert found.holds is False and "left side" in (found.counterexample or "")


@pytest.mark.parametrize("promise", ["positive", "symmetric"])
def test_what_is_defined_is_visibly_what_it_is_promised_to_be(promise: str) -> None:
    """A point that breaks the promise is no counterexample: r = -1 for D := r and D > 0."""
    a, b = Index("a", "m"), Index("b", "m")
    dims, at = ((), ()) if promise == "positive" else (("m", "m"), (a, b))
    defined = Tensor("D", dims, **{promise: True})
    value = x if promise == "positive" else as_term(Tensor("M", ("m", "m")))[a, b]
    left = as_term(defined) if promise == "positive" else as_term(defined)[a, b] * as_term(defined)[b, a]
    with pytest.raises(Malformed, match=f"promised {promise}"):
        judge(AtLeast(left, as_term(0), given=(Given(defined, at, value, ""),)))
    kept = x**2 + 1 if promise == "positive" else value + as_term(Tensor("M", ("m", "m")))[b, a]
    assert judge(AtLeast(left, as_term(0), given=(Given(defined, at, kept, ""),))).holds is not False


def test_a_square_need_not_be_given() -> None:
    for above in (None, x**2 + y**2 - 2 * (x * y)):
        assert judge(AtLeast(SQUARE.lhs, SQUARE.rhs, above)).proved


@pytest.mark.parametrize("above", [(x + y) ** 2, squared_norm(u), u], ids=str)
def test_another_formula_than_the_difference_leaves_it_open(above) -> None:
    assert judge(AtLeast(SQUARE.lhs, SQUARE.rhs, above)).holds is None


@pytest.mark.parametrize("given", [False, True])
def test_without_a_visible_difference_it_is_open(given) -> None:
    """Motzkin's polynomial is nowhere negative, and no sum of squares."""
    more, less = x**4 * y**2 + x**2 * y**4 + 1, 3 * x**2 * y**2
    assert judge(AtLeast(more, less, more - less if given else None)).holds is None


def size(term):
    return apply("abs", term)


@pytest.mark.parametrize("greater, less", [
    (size(x) + size(y), size(x + y)),
    (size(x - y), size(x) - size(y)),
    (as_term(1), size(x) / maximum(size(x), as_term(1))),
    (as_term(1), squared_norm(u) / (1 + squared_norm(u))),
    (x**2, as_term(0)),
    (sum_over(J, exp(u[J] / 2)), exp(u[I] / 2)),
    (sum_over(J, maximum(u[J], v[J])), sum_over(J, u[J] / 2 + v[J] / 2)),
    (sum_over(J, sqrt(q[J])), sqrt(q[I])),
])  # fmt: skip
def test_a_difference_whose_sign_is_seen_case_by_case_needs_no_formula(greater, less) -> None:
    found = judge(AtLeast(greater, less))
    assert found.proved and found.mutants.tried and not found.mutants.survivors
    assert all(step["latex"].endswith(r"\ge 0") for step in found.steps)
    assert judge(AtLeast(less, greater)).holds is False


def test_a_logarithm_has_the_sign_of_its_argument_less_one() -> None:
    soft = apply("log", 1 + sum_over(I, exp(u[I])))
    assert judge(AtLeast(soft, as_term(0))).proved
    assert judge(AtLeast(apply("log", exp(x)), as_term(0))).holds is False
    assert judge(AtLeast(apply("log", 1 + x**2) - 1, as_term(0))).holds is False


def test_what_is_not_defined_everywhere_is_not_proved_by_cases() -> None:
    assert judge(AtLeast(size(x) / size(y) + 1, as_term(0))).holds is None


def test_the_tangent_of_an_exponential_lies_below_it() -> None:
    assert judge(AtLeast(exp(x), exp(y) * (1 + x - y), bregman("exp", x, y))).proved
    assert judge(AtLeast(exp(x), exp(y) * (1 + x + y), bregman("exp", x, y))).holds is False


def test_sides_are_numbers_of_one_shape() -> None:
    assert judge(AtLeast(u, x)).holds is False
    with pytest.raises(Malformed, match="between two numbers"):
        judge(AtLeast(u, u + u))


@pytest.mark.parametrize("rhs", [y + x, x + y + 0 * y])
def test_equal_sides_are_no_inequality(rhs) -> None:
    with pytest.raises(Malformed, match="both sides are equal"):
        judge(AtLeast(x + y, rhs, as_term(0)))


def test_a_formula_is_not_compared_with_itself() -> None:
    with pytest.raises(Malformed, match="both sides are the same formula"):
        judge(AtLeast(exp(x), exp(x), as_term(0)))


def test_a_sum_is_at_least_each_of_its_nonnegative_terms() -> None:
    j, k = Index("j", "N"), Index("k", "N")
    others = sum_over(j, (1 - kronecker(j, k)) * exp(u[j]))
    assert judge(AtLeast(sum_over(j, exp(u[j])), exp(u[k]), others)).proved
    assert judge(AtLeast(exp(u[k]), sum_over(j, exp(u[j])), others)).holds is False


@pytest.mark.parametrize("greater, less", [
    (sum_over(J, exp(u[J])), exp(u[I])),
    (as_term(1), exp(u[I]) / sum_over(J, exp(u[J]))),
    (apply("log", sum_over(J, exp(u[J]))), u[I]),
    (apply("log", 1 + exp(x)), maximum(x, as_term(0))),
    (sum_over(J, size(u[J])), sum_over(J, u[J])),
    (sum_over(J, size(u[J])), size(-u[I])),
])  # fmt: skip
def test_a_sum_is_at_least_its_summands_and_a_logarithm_grows(greater, less) -> None:
    found = judge(AtLeast(greater, less))
    assert found.proved and found.mutants.tried and not found.mutants.survivors
    assert judge(AtLeast(less, greater)).holds is False
    assert judge(AtLeast(greater, less + 1)).holds is False


SOFT = exp(u[I]) / sum_over(J, exp(u[J]))
CLIPPED = apply("clip", x)


@pytest.mark.parametrize("greater, less, above", [
    (-SOFT * apply("log", SOFT), as_term(0), None),
    (as_term(1), SOFT, 1 - SOFT),
    (apply("log", sum_over(J, exp(u[J]))), u[I], -apply("log", SOFT)),
    (as_term(1), CLIPPED, None),
    (size(x), size(CLIPPED), None),
    (as_term(1), apply("tanh", x), None),
    (as_term(1), apply("sigmoid", x), None),
])  # fmt: skip
def test_shares_and_what_saturates(greater, less, above) -> None:
    found = judge(AtLeast(greater, less, above))
    assert found.proved and not found.mutants.survivors
    assert judge(AtLeast(greater, less + Fraction(1, 2))).holds is False


def test_only_one_less_what_is_0_or_1_is_visibly_nonnegative() -> None:
    j, k = Index("j", "N"), Index("k", "N")
    delta = kronecker(j, k).entry()
    assert nonnegative(1 - delta) and nonnegative(1 - before("N")[j, k])
    assert not any(map(nonnegative, (delta - 1, 1 - 2 * delta, 1 - u[j].entry(), 1 + -1 * (delta + delta))))


SHARE = sum_over(J, exp(u[J]))


def cos(arg):
    return apply("cos", arg)


@pytest.mark.parametrize("greater, less, holds", [
    (as_term(1), cos(x), True),
    (as_term(1), cos(x) ** 3, True),
    (as_term(2), apply("tanh", x) * cos(y) + apply("sin", x), True),
    (sum_over(J, x**2), sum_over(J, x**2 * cos(u[J])), True),
    (as_term(1), apply("tanh", x) * cos(y) + apply("sin", x), False),
    (as_term(1), cos(x) / cos(y), None),  # a cosine in a denominator has no bound
    (sum_over(J, x), sum_over(J, x * cos(u[J])), False),
    (as_term(1), sum_over(J, cos(u[J])), False),
    (as_term(1), apply("cosh", x), False),
    (apply("sinh", q[I]), as_term(0), True),
    (apply("sinh", u[I]), as_term(0), False),
])  # fmt: skip
def test_what_lies_between_minus_one_and_one(greater, less, holds) -> None:
    found = judge(AtLeast(greater, less))
    assert found.holds is holds if holds is not None else not found.proved


def test_the_variance_under_softmax_is_not_negative() -> None:
    mean, square = (sum_over(J, exp(u[J]) * v[J] ** n) / SHARE for n in (1, 2))
    found = judge(AtLeast(square, mean**2))
    assert found.proved and "> 0 is the sum of this over" in found.steps[-1]["reason"]
    assert judge(AtLeast(mean**2, square)).holds is False
    assert judge(AtLeast(square, 2 * mean**2)).holds is False


def test_a_ramp_at_what_is_positive_vanishes_nowhere() -> None:
    for name in ("relu", "abs", "tanh"):
        over = apply(name, q[I])
        assert judge(Identity(x / over * over, x)).proved
        assert not judge(Identity(x / apply(name, u[I]) * apply(name, u[I]), x)).proved
