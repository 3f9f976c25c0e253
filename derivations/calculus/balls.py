"""Real numbers enclosed in balls (Arb): how values are compared that no exact arithmetic here can hold.

Two balls that do not meet are different numbers: a certified difference. Two that meet with a radius below
2^-100 are counted as equal in a check by instances, never in a proof.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from derivations.calculus.components import NotExact

BITS = 256
_CLOSE = -100


@cache
def _flint() -> tuple[Any, Any, Any]:
    """Balls, their precision and rationals of python-flint, which is loaded late."""
    from flint import arb, ctx, fmpq

    return arb, ctx, fmpq


class Ball:
    """A real number known up to a radius; arithmetic with rationals and exact exponential numbers."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        arb, ctx, fmpq = _flint()
        ctx.prec = max(ctx.prec, BITS)
        if isinstance(value, (int, Fraction)):
            value = arb(fmpq(value.numerator, value.denominator))
        if not value.is_finite():
            raise NotExact("a ball that is not finite")
        self.value = value

    @staticmethod
    def of(value: Any) -> Ball:
        """A rational, an exact exponential number or a ball as a ball. Raises NotExact for anything else."""
        if isinstance(value, (Ball, int, Fraction)):
            return value if isinstance(value, Ball) else Ball(value)
        if hasattr(value, "ball"):
            return Ball(value.ball(BITS))
        raise NotExact(f"no ball for a {type(value).__name__}")

    def __add__(self, other: Any) -> Ball:
        return Ball(self.value + Ball.of(other).value)

    def __mul__(self, other: Any) -> Ball:
        return Ball(self.value * Ball.of(other).value)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Ball:
        return Ball(-self.value)

    def __sub__(self, other: Any) -> Ball:
        return self + -Ball.of(other)

    def __rsub__(self, other: Any) -> Ball:
        return Ball.of(other) - self

    def __truediv__(self, other: Any) -> Ball:
        return self * Ball.of(other).inverse()

    def __rtruediv__(self, other: Any) -> Ball:
        return Ball.of(other) * self.inverse()

    def inverse(self) -> Ball:
        """1 / self. Raises ZeroDivisionError for an exact zero, NotExact where zero is not excluded."""
        if self.sign() == 0:
            raise ZeroDivisionError("division by zero")
        return Ball(1 / self.value)

    def __pow__(self, power: int) -> Ball:
        return Ball(self.value**power) if power >= 0 else self.inverse() ** -power

    def sign(self) -> int:
        """-1, 0 or 1. Raises NotExact where the ball does not decide it."""
        if self.value > 0:
            return 1
        if self.value < 0:
            return -1
        if self.value.is_zero():
            return 0
        raise NotExact("a ball around zero has no sign")

    def root(self, exponent: Fraction) -> Ball:
        """A rational power of a number that is not negative. Raises NotExact for a negative one."""
        sign = self.sign()
        if sign < 0:
            raise NotExact("fractional power of a negative number")
        if sign == 0:
            if exponent < 0:
                raise ZeroDivisionError("division by zero")
            return self
        return Ball((self.value.log() * Ball(exponent).value).exp())

    def __float__(self) -> float:
        return float(self.value.mid())

    def __repr__(self) -> str:
        return self.value.str(8, radius=False)


def agree(one: Any, two: Any) -> bool:
    """Whether two values are equal as far as balls tell: False is certain, True says that they meet closely.

    Raises NotExact where the balls are too wide to say so.
    """
    gap = (Ball.of(one) - Ball.of(two)).value
    if not gap.contains(0):
        return False
    size = abs(Ball.of(one).value) + 1
    if not abs(gap) < size * (Ball(Fraction(1, 2**-_CLOSE)).value):
        raise NotExact("the balls are too wide to compare")
    return True
