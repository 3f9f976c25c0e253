"""Exact numbers: sums and quotients of exponentials, roots, hyperbolic functions, and their signs."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from checks.engine.instances import FUNCTIONS
from derivations.calculus.components import NotExact
from derivations.calculus.exact import Exponential, exact_elu1, exact_exp, exact_root
from derivations.calculus.functions import EXACT_FUNCTIONS

fractions = hs.fractions(-3, 3, max_denominator=4)
sums = hs.dictionaries(fractions, fractions, max_size=3).map(
    lambda d: Exponential({Fraction(r): c for r, c in d.items()})
)


def nonzero(value: Exponential) -> bool:
    return bool(value.top)


@settings(max_examples=50, deadline=None)
@given(sums, sums, sums.filter(nonzero))
def test_field_laws(a: Exponential, b: Exponential, c: Exponential) -> None:
    assert a + b == b + a and a * b == b * a
    assert (a + b) * c == a * c + b * c
    assert (a / c) * c == a and a / c + b / c == (a + b) / c
    assert a - a == 0 and c / c == 1
    assert (a + 1 == a) is False


@settings(max_examples=50, deadline=None)
@given(sums, sums.filter(nonzero))
def test_signs_and_floats_agree(a: Exponential, c: Exponential) -> None:
    value = a / c
    about = float(value)
    if abs(about) > 1e-9:
        assert value.sign() == math.copysign(1, about)
    assert (value.sign() == 0) == (value == 0)


def test_different_exponents_are_independent() -> None:
    e = exact_exp(1)
    assert e != Fraction(271828182845904523536, 10**20)
    assert e * e == exact_exp(2) and e + e != exact_exp(2)
    assert exact_exp(Fraction(1, 2)) ** 2 == e
    assert (e - Fraction(2718281828459045235360287471352662497757, 10**39)).sign() == 1


def test_division_by_zero() -> None:
    e = exact_exp(1)
    for bottom in (e - e, Exponential({}), 0, Fraction(0)):
        with pytest.raises(ZeroDivisionError):
            _ = e / bottom
    with pytest.raises(ZeroDivisionError):
        _ = 1 / (e - e)
    with pytest.raises(ZeroDivisionError):
        _ = (e - e) ** -1
    with pytest.raises(ZeroDivisionError):
        exact_root(0, Fraction(-1, 2))


def test_only_rational_arguments_are_exact() -> None:
    with pytest.raises(NotExact):
        exact_exp(exact_exp(1))
    with pytest.raises(NotExact):
        exact_exp(0.5)
    with pytest.raises(NotExact):
        Exponential.of(0.5)
    with pytest.raises(NotExact):
        exact_exp(1).rational()
    assert (exact_exp(1) * exact_exp(-1)).rational() == 1


@settings(max_examples=60, deadline=None)
@given(hs.fractions(0, 50), hs.sampled_from([2, 3, 4, 5]), hs.sampled_from([1, 2, 3]))
def test_roots_of_powers(base: Fraction, degree: int, up: int) -> None:
    assert exact_root(base**degree, Fraction(up, degree)) == base**up


@pytest.mark.parametrize("value, exponent", [(2, Fraction(1, 2)), (-4, Fraction(1, 2)), (-8, Fraction(1, 3)),
                                             (Fraction(1, 3), Fraction(1, 2)), (10**400 + 1, Fraction(1, 3))])  # fmt: skip
def test_roots_that_are_irrational_or_of_negative_numbers(value: Any, exponent: Fraction) -> None:
    with pytest.raises(NotExact):
        exact_root(value, exponent)


def test_roots_of_huge_numbers() -> None:
    assert exact_root(10**900, Fraction(1, 3)) == 10**300
    assert exact_root(Fraction((10**17 + 3) ** 3), Fraction(1, 3)) == 10**17 + 3


def test_elu_plus_one() -> None:
    assert exact_elu1(2) == 3 and exact_elu1(-1) == exact_exp(-1) and exact_elu1(0) == 1
    assert exact_elu1(2, 1) == 1 and exact_elu1(-1, 1) == exact_exp(-1)
    with pytest.raises(NotExact):
        exact_elu1(0, 2)


@settings(max_examples=40, deadline=None)
@given(fractions, fractions)
def test_hyperbolic_functions(a: Fraction, b: Fraction) -> None:
    sinh, cosh, tanh = (EXACT_FUNCTIONS[name] for name in ("sinh", "cosh", "tanh"))
    assert cosh(a) ** 2 - sinh(a) ** 2 == 1
    assert sinh(a + b) == sinh(a) * cosh(b) + cosh(a) * sinh(b)
    assert tanh(a) * cosh(a) == sinh(a)
    assert sinh(a, 1) == cosh(a) and cosh(a, 1) == sinh(a) and cosh(a, 2) == cosh(a)
    assert tanh(a, 1) == 1 - tanh(a) ** 2
    assert abs(float(tanh(a)) - math.tanh(a)) < 1e-14
    with pytest.raises(NotExact):
        tanh(a, 2)


def test_unknown_functions_are_fixed_and_differentiable() -> None:
    f = FUNCTIONS["G"]
    assert f(Fraction(1), 0) == FUNCTIONS["G"](Fraction(1), 0)
    step = Fraction(1, 10**9)
    slope = (f(1 + step, 0) - f(Fraction(1), 0)) / step
    assert abs(slope - f(Fraction(1), 1)) < Fraction(1, 10**6)
    with pytest.raises(NotExact):
        _ = FUNCTIONS["some function"]
