"""Exact truncated power series in one small parameter: automatic differentiation to any order, without
symbols.

This is the route to derivatives at 0 that shares nothing with the index calculus: an expression is evaluated
entry by entry (``derivations.calculus.components``) with the parameter set to the series s itself.
Coefficients are rational or ``derivations.calculus.exact.Exponential`` numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial, prod
from typing import Any

from derivations.calculus import exact as ex
from derivations.calculus.components import NotExact
from derivations.calculus.functions import EXACT_FUNCTIONS


class Series:
    """a_0 + a_1 s + … + a_{n-1} s^{n-1}, all higher powers dropped; ``terms`` holds the n coefficients."""

    __slots__ = ("terms",)

    def __init__(self, terms: list[Any]) -> None:
        self.terms = terms

    @staticmethod
    def parameter(length: int) -> Series:
        """The small parameter itself."""
        return Series([Fraction(int(n == 1)) for n in range(length)])

    @staticmethod
    def constant(value: Any, length: int) -> Series:
        """A series without powers of the parameter."""
        return Series([value, *[Fraction(0)] * (length - 1)])

    def _lift(self, other: Any) -> Series:
        if isinstance(other, Series):
            return other
        return Series.constant(other, len(self.terms))

    def __add__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([self.terms[0] + other, *self.terms[1:]])
        return Series([a + b for a, b in zip(self.terms, other.terms, strict=True)])

    def __mul__(self, other: Any) -> Series:
        if not isinstance(other, Series):
            return Series([a * other if a else a for a in self.terms])
        found: list[Any] = [Fraction(0)] * len(self.terms)
        known = [(k, b) for k, b in enumerate(other.terms) if b]  # most series have few powers
        for n, a in enumerate(self.terms):
            for k, b in known if a else ():
                if n + k < len(found):
                    found[n + k] = a * b + found[n + k]
        return Series(found)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Series:
        return Series([-a for a in self.terms])

    def __sub__(self, other: Any) -> Series:
        return self + -self._lift(other)

    def inverse(self) -> Series:
        """1 / self. Raises ZeroDivisionError where the constant term is 0."""
        first = self.terms[0]
        if first == 0:
            raise ZeroDivisionError("the series has no constant term")
        found = [1 / first]
        for n in range(1, len(self.terms)):
            total: Any = Fraction(0)
            for k in range(1, n + 1):
                total = self.terms[k] * found[n - k] + total
            found.append(-total / first)
        return Series(found)

    def __truediv__(self, other: Any) -> Series:
        return self * self._lift(other).inverse()

    def __rtruediv__(self, other: Any) -> Series:
        return self.inverse() * other

    def __pow__(self, power: int) -> Series:
        result, base = self._lift(Fraction(1)), self if power >= 0 else self.inverse()
        for _ in range(abs(power)):
            result = result * base
        return result

    def exp(self) -> Series:
        """e to the series. Raises NotExact for an irrational constant term."""
        rest = Series([Fraction(0), *self.terms[1:]])
        term, total = self._lift(Fraction(1)), self._lift(Fraction(1))
        for n in range(1, len(self.terms)):
            term = term * rest * Fraction(1, n)
            total = total + term
        if self.terms[0] == 0:
            return total  # keeps rational coefficients plain fractions
        return total * EXACT_FUNCTIONS["exp"](self.terms[0], 0)


def _composed(series: Series, derivative: Callable[[int], Any]) -> Series:
    """f of a series, by the derivatives of f at its constant term."""
    rest, power = Series([Fraction(0), *series.terms[1:]]), series._lift(Fraction(1))
    total = Series.constant(Fraction(0), len(series.terms))
    for n in range(len(series.terms)):
        total = total + power * derivative(n) * Fraction(1, factorial(n))
        power = power * rest
    return total


def _root(series: Series, exponent: Fraction) -> Series:
    """A power with a fractional exponent; of a constant term whose root is not exact none is known."""
    first = series.terms[0]
    if ex.sign(first) <= 0:
        raise ZeroDivisionError("a root at a constant term that is not positive")

    def derivative(n: int) -> Any:
        falling = prod((exponent - k for k in range(n)), start=Fraction(1))
        return value * falling * (1 / first) ** n

    value = EXACT_FUNCTIONS["root"](first, exponent)
    return _composed(series, derivative)


_CIRCLE = (0, 1, 0, -1)
"""The derivatives of the sine at 0."""


def series_functions(length: int) -> dict[str, Any]:
    """Functions that are smooth where they are defined, for series of a length; exact numbers are lifted. No
    other function is known: what is equal near most points may differ at a kink.
    """

    def lifted(arg: Any) -> Series:
        return arg if isinstance(arg, Series) else Series.constant(arg, length)

    def exp(arg: Any, order: int = 0) -> Series:
        return lifted(arg).exp()

    def log(arg: Any, order: int = 0) -> Series:
        series = lifted(arg)
        return _composed(series, lambda n: EXACT_FUNCTIONS["log"](series.terms[0], n + order))

    def turning(shift: int) -> Callable[..., Series]:
        def value(arg: Any, order: int = 0) -> Series:
            series = lifted(arg)
            if series.terms[0] != 0:
                raise NotExact("sines are rational at 0 only")
            return _composed(series, lambda n: Fraction(_CIRCLE[(n + order + shift) % 4]))

        return value

    def root(base: Any, exponent: Fraction) -> Series:
        return _root(lifted(base), exponent)

    return _Only({"exp": exp, "log": log, "sin": turning(0), "cos": turning(1), "root": root})


class _Only(dict[str, Any]):
    """Functions of series; of any other than the listed ones no series is known."""

    def __missing__(self, name: str) -> Any:
        raise NotExact(f"no series of {name} is known")
