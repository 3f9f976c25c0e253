"""Exact arithmetic for expressions with exponentials: quotients of sums  Σ c_r e^r  with rational c_r and r.

By the Lindemann–Weierstrass theorem the numbers e^r for different rational r are linearly independent over
the rationals, so a sum vanishes exactly when all its coefficients do: equality is decided, not estimated.
Signs are settled by Arb balls, which must terminate because a value that is not zero has a sign.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sympy import integer_nthroot

from derivations.calculus.components import NotExact

_ONE = {Fraction(0): Fraction(1)}


class Exponential:
    """An exact number: ``top`` / ``bottom``, both mappings from rational exponents to rational
    coefficients.
    """

    __slots__ = ("bottom", "top")

    def __init__(self, top: dict[Fraction, Fraction], bottom: dict[Fraction, Fraction] | None = None) -> None:
        self.top = {r: c for r, c in top.items() if c}
        self.bottom = _ONE if bottom is None else bottom
        if self.bottom == _ONE:
            return
        if not any(self.bottom.values()):
            raise ZeroDivisionError("division by zero")
        if len(self.bottom) == 1:
            ((r, c),) = self.bottom.items()
            self.top = {s - r: a / c for s, a in self.top.items()}
            self.bottom = _ONE

    @staticmethod
    def of(value: Any) -> Exponential:
        """A rational number as an exponential number. Raises NotExact for anything else."""
        if isinstance(value, Exponential):
            return value
        if isinstance(value, (int, Fraction)):
            return Exponential({Fraction(0): Fraction(value)})
        raise NotExact(f"{type(value).__name__} is not an exact number")

    def __add__(self, other: Any) -> Exponential:
        other = Exponential.of(other)
        if self.bottom == other.bottom:
            return Exponential(_add(self.top, other.top), self.bottom)
        top = _add(_mul(self.top, other.bottom), _mul(other.top, self.bottom))
        return Exponential(top, _mul(self.bottom, other.bottom))

    def __mul__(self, other: Any) -> Exponential:
        other = Exponential.of(other)
        bottom = _ONE if self.bottom == other.bottom == _ONE else _mul(self.bottom, other.bottom)
        return Exponential(_mul(self.top, other.top), bottom)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Exponential:
        return self * -1

    def __sub__(self, other: Any) -> Exponential:
        return self + Exponential.of(other) * -1

    def __rsub__(self, other: Any) -> Exponential:
        return Exponential.of(other) - self

    def __truediv__(self, other: Any) -> Exponential:
        other = Exponential.of(other)
        return Exponential(_mul(self.top, other.bottom), _mul(self.bottom, other.top))

    def __rtruediv__(self, other: Any) -> Exponential:
        return Exponential.of(other) / self

    def __pow__(self, power: int) -> Exponential:
        result, base = Exponential.of(1), self if power >= 0 else 1 / self
        for _ in range(abs(power)):
            result = result * base
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, Fraction, Exponential)):
            return NotImplemented
        return not (self - other).top

    __hash__ = None  # type: ignore[assignment]

    def rational(self) -> Fraction:
        """The value as a rational number. Raises NotExact where it is not visibly one."""
        if self.bottom == _ONE and self.top.keys() <= {Fraction(0)}:
            return self.top.get(Fraction(0), Fraction(0))
        raise NotExact("the value is not rational")

    def sign(self) -> int:
        """-1, 0 or 1, certified by interval arithmetic."""
        return _sign(self.top) * _sign(self.bottom)

    def ball(self, bits: int) -> Any:
        """The number as an Arb ball, computed with so many bits."""
        return _ball(self.top, bits) / _ball(self.bottom, bits)

    def __float__(self) -> float:
        return float(_ball(self.top, 200).mid()) / float(_ball(self.bottom, 200).mid())

    def __repr__(self) -> str:
        top = _show(self.top)
        return top if self.bottom == _ONE else f"({top})/({_show(self.bottom)})"


def _add(a: dict[Fraction, Fraction], b: dict[Fraction, Fraction]) -> dict[Fraction, Fraction]:
    result = dict(a)
    for r, c in b.items():
        result[r] = result[r] + c if r in result else c
    return {r: c for r, c in result.items() if c}


def _mul(a: dict[Fraction, Fraction], b: dict[Fraction, Fraction]) -> dict[Fraction, Fraction]:
    result: dict[Fraction, Fraction] = {}
    for r, c in a.items():
        for s, d in b.items():
            t = r + s if r and s else r or s  # additions of fractions are what takes the time
            result[t] = result[t] + c * d if t in result else c * d
    return {r: c for r, c in result.items() if c}


def _ball(terms: dict[Fraction, Fraction], bits: int) -> Any:
    from flint import arb, ctx, fmpq

    before, ctx.prec = ctx.prec, bits
    try:
        total = arb(0)
        for r, c in terms.items():
            total += arb(fmpq(c.numerator, c.denominator)) * arb(fmpq(r.numerator, r.denominator)).exp()
        return total
    finally:
        ctx.prec = before


def _sign(terms: dict[Fraction, Fraction]) -> int:
    if not terms:
        return 0
    bits = 128
    while True:
        ball = _ball(terms, bits)
        if ball > 0:
            return 1
        if ball < 0:
            return -1
        bits *= 2


def _show(terms: dict[Fraction, Fraction]) -> str:
    if not terms:
        return "0"
    text = ""
    for r in sorted(terms, reverse=True):
        power = "" if r == 0 else ("e" if r == 1 else f"e^({r})")
        size = "" if power and abs(terms[r]) == 1 else str(abs(terms[r]))
        text += f" {'-' if terms[r] < 0 else '+'} {f'{size} {power}'.strip()}"
    return text[3:] if text[1] == "+" else f"-{text[3:]}"


def rational(value: Any) -> Fraction:
    """An exact number as a rational one. Raises NotExact where it is not visibly rational."""
    if isinstance(value, Fraction):
        return value
    return Exponential.of(value).rational()


def sign(value: Any) -> int:
    """-1, 0 or 1 for an exact number or a ball. Raises NotExact for a ball that does not tell."""
    if isinstance(value, (int, Fraction)):
        return (value > 0) - (value < 0)
    return int(value.sign())


def exact_exp(value: Any, order: int = 0) -> Exponential:
    """e to a rational power. Raises NotExact for an irrational argument."""
    return Exponential({rational(value): Fraction(1)})


def exact_log(value: Any) -> Fraction:
    """The logarithm of a power of e. Raises NotExact for any other number."""
    number = Exponential.of(value)
    if len(number.top) == 1 and number.bottom == {Fraction(0): Fraction(1)}:
        ((exponent, coefficient),) = number.top.items()
        if coefficient == 1:
            return exponent
    raise NotExact("the logarithm is not rational")


def exact_root(value: Any, exponent: Fraction) -> Fraction:
    """A rational power of a rational number that is rational itself. Raises NotExact otherwise."""
    value = rational(value)
    if value < 0:
        raise NotExact("fractional power of a negative number")
    if value == 0 and exponent < 0:
        raise ZeroDivisionError("division by zero")
    root = Fraction(
        _root(value.numerator, exponent.denominator), _root(value.denominator, exponent.denominator)
    )
    return root**exponent.numerator


def _root(number: int, degree: int) -> int:
    root, exact = integer_nthroot(number, degree)
    if not exact:
        raise NotExact(f"{number} has no exact root of degree {degree}")
    return int(root)


def exact_elu1(value: Any, order: int = 0) -> Any:
    """elu + 1: x + 1 for x > 0, e^x for x <= 0; and its first derivative. Raises NotExact beyond."""
    value = rational(value)
    if order > 1:
        raise NotExact("elu + 1 has no second derivative at 0")
    if value <= 0:
        return exact_exp(value)
    return value + 1 if order == 0 else Fraction(1)


def exact_cosh(value: Any, order: int = 0) -> Exponential:
    """cosh or, for odd orders, sinh of a rational number. Raises NotExact for an irrational argument."""
    return (exact_exp(value) + (-1) ** order * exact_exp(-1 * value)) / 2


def exact_sinh(value: Any, order: int = 0) -> Exponential:
    """sinh or, for odd orders, cosh of a rational number. Raises NotExact for an irrational argument."""
    return exact_cosh(value, order + 1)


def exact_tanh(value: Any, order: int = 0) -> Exponential:
    """tanh of a rational number, and its first derivative 1/cosh². Raises NotExact beyond."""
    if order > 1:
        raise NotExact("higher derivatives of tanh are not kept")
    return exact_sinh(value) / exact_cosh(value) if order == 0 else 1 / exact_cosh(value) ** 2
