"""The functions with a known meaning: values, derivatives, signs and domains, each said once.

A name of one letter (F, g, …) is an unknown smooth function: what is stated with it is stated for every such
function. ``power`` is u^p for a symbolic exponent. Any other name must be listed here: an unlisted one would
be tried as if it were unknown, and true statements about it would be refuted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from derivations.calculus import exact as ex
from derivations.calculus import index as ix
from derivations.calculus.balls import Ball
from derivations.calculus.components import NotExact

EXPONENT = ix.Tensor("p", (), "p", positive=True)
"""The symbolic exponent of the function ``power``: a whole number from 1 on, so that u^p is smooth for
every u.
"""
Value = Callable[..., Any]
ANY: frozenset[int] = frozenset((-1, 0, 1))
POSITIVE, NONNEGATIVE = frozenset((1,)), frozenset((0, 1))


@dataclass(frozen=True)
class Function:
    """A function of one real variable.

    ``exact`` and ``ball`` take the argument and the order of the derivative. ``signs`` are the signs that its
    values take, ``slopes`` those of its first derivative; ``like``: the sign of its value at arguments of the
    sign -1, 0 and 1. ``bounded``: by 1 in absolute value. ``domain``: the signs of the arguments at which it
    is defined. ``smooth``: how many derivatives it has at 0 (None: all). ``convex`` on all its domain.
    ``rule`` gives its derivative in terms of known functions where that is how derivations write it,
    ``by_exp`` the function itself by exponentials.
    """

    name: str
    exact: Value
    ball: Value
    sympy: Callable[[Any], Any]
    signs: frozenset[int] = ANY
    slopes: frozenset[int] = ANY
    like: tuple[int, int, int] | None = None
    bounded: bool = False
    domain: frozenset[int] = ANY
    smooth: int | None = None
    convex: bool = False
    by_exp: Callable[[ix.Expr], ix.Expr] | None = None


def _inexact(at: dict[Fraction, Fraction]) -> Value:
    """A function whose value is rational at few places only."""

    def value(arg: Any, order: int = 0) -> Any:
        point = ex.rational(arg)
        if order == 0 and point in at:
            return at[point]
        raise NotExact("the value is not rational")

    return value


def _derivatives(*of: Callable[[Any], Any]) -> Value:
    """Ball values of a function and its derivatives, which repeat after the last; (value of arb) -> arb."""

    def value(arg: Any, order: int = 0) -> Ball:
        return Ball(of[order % len(of)](Ball.of(arg).value))

    return value


def _by_sympy(function: Callable[[Any], Any], ball: dict[str, Callable[[Any], Any]]) -> Value:
    """Ball values of all derivatives from SymPy's formula, evaluated with the named ball functions."""

    def value(arg: Any, order: int = 0) -> Ball:
        x = sp.Symbol("x", real=True)
        formula = sp.diff(function(x), x, order)
        return _evaluated(formula, Ball.of(arg), ball)

    return value


def _evaluated(formula: sp.Expr, arg: Ball, functions: dict[str, Callable[[Any], Any]]) -> Ball:
    if formula.is_Symbol:
        return arg
    if formula.is_Rational:
        return Ball(Fraction(int(formula.p), int(formula.q)))
    parts = [_evaluated(a, arg, functions) for a in formula.args]
    if formula.is_Add or formula.is_Mul:
        total = parts[0]
        for part in parts[1:]:
            total = total + part if formula.is_Add else total * part
        return total
    if formula.is_Pow and formula.exp.is_Integer:
        return parts[0] ** int(formula.exp)
    name = formula.func.__name__
    if name in functions:
        return Ball(functions[name](parts[0].value))
    raise NotExact(f"no ball for {name}")


def _of_arb(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(x, name)()


_ARB = {name: _of_arb(name) for name in ("exp", "tanh", "sinh", "cosh", "sin", "cos", "log")}


_TURNS = (_ARB["sin"], _ARB["cos"], lambda x: -x.sin(), lambda x: -x.cos())
"""The sine and its derivatives."""


def _pieces(
    below: Callable[[Any, int], Any], above: Callable[[Any, int], Any], kink: int, at_zero: Any
) -> Value:
    """A function in two pieces that meet at 0; derivatives from the order ``kink`` on do not exist there."""

    def value(arg: Any, order: int = 0) -> Any:
        sign = ex.sign(arg)
        if sign == 0:
            if order >= kink:
                raise ZeroDivisionError("a derivative at a kink")
            return at_zero
        return below(arg, order) if sign < 0 else above(arg, order)

    return value


def _constant_slope(slope: int) -> Callable[[Any, int], Any]:
    return lambda arg, order: arg * Fraction(slope) if order == 0 else Fraction(slope if order == 1 else 0)


_RELU = _pieces(_constant_slope(0), _constant_slope(1), 1, Fraction(0))
_ABS = _pieces(_constant_slope(-1), _constant_slope(1), 1, Fraction(0))
_SIGN = _pieces(
    lambda _, order: Fraction(-1 if order == 0 else 0),
    lambda _, order: Fraction(int(order == 0)),
    1,
    Fraction(0),
)


def _clip(arg: Any, order: int = 0) -> Any:
    low, high = ex.sign(arg + 1), ex.sign(arg - 1)
    if order and 0 in (low, high):
        raise ZeroDivisionError("a derivative at a kink")
    if low >= 0 >= high:
        return arg if order == 0 else Fraction(int(order == 1))
    return Fraction(low if low == high else 0) if order == 0 else Fraction(0)


def _elu1_ball(arg: Any, order: int = 0) -> Any:
    arg = Ball.of(arg)
    if order >= 2 and arg.sign() == 0:
        raise ZeroDivisionError("a derivative at a kink")
    if arg.sign() <= 0:
        return Ball(arg.value.exp())
    return arg + 1 if order == 0 else Fraction(int(order == 1))


def _exact_sigmoid(arg: Any, order: int = 0) -> Any:
    if order:
        raise NotExact("derivatives of the sigmoid are compared in balls")
    return 1 / (1 + ex.exact_exp(-ex.rational(arg)))


def _exact_log(arg: Any, order: int = 0) -> Any:
    if ex.sign(arg) <= 0:
        raise ZeroDivisionError("a logarithm of a number that is not positive")
    if order:
        return Fraction((-1) ** (order - 1) * sp.factorial(order - 1)) / ex.rational(arg) ** order
    return ex.exact_log(arg)


def _log_ball(arg: Any, order: int = 0) -> Any:
    ball = Ball.of(arg)
    if ball.sign() <= 0:
        raise ZeroDivisionError("a logarithm of a number that is not positive")
    if order:
        return Ball(Fraction((-1) ** (order - 1) * int(sp.factorial(order - 1)))) / ball**order
    return Ball(ball.value.log())


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + sp.exp(-x))


def _halves(sign: int) -> Callable[[ix.Expr], ix.Expr]:
    return lambda x: Fraction(1, 2) * (ix.exp(x) + sign * ix.exp(-x))


def _tanh_by_exp(x: ix.Expr) -> ix.Expr:
    return (ix.exp(x) - ix.exp(-x)) / (ix.exp(x) + ix.exp(-x))


_ODD = (-1, 0, 1)
_LISTED = (
    Function("exp", ex.exact_exp, _derivatives(_ARB["exp"]), sp.exp, POSITIVE, POSITIVE, convex=True),
    Function("log", _exact_log, _log_ball, sp.log, slopes=POSITIVE, domain=POSITIVE),
    Function("sin", _inexact({Fraction(0): Fraction(0)}), _derivatives(*_TURNS), sp.sin, bounded=True),
    Function(
        "cos",
        _inexact({Fraction(0): Fraction(1)}),
        _derivatives(*_TURNS[1:], _TURNS[0]),
        sp.cos,
        bounded=True,
    ),
    Function(
        "cosh",
        ex.exact_cosh,
        _derivatives(_ARB["cosh"], _ARB["sinh"]),
        sp.cosh,
        POSITIVE,
        convex=True,
        by_exp=_halves(1),
    ),
    Function(
        "sinh",
        ex.exact_sinh,
        _derivatives(_ARB["sinh"], _ARB["cosh"]),
        sp.sinh,
        slopes=POSITIVE,
        like=_ODD,
        by_exp=_halves(-1),
    ),
    Function(
        "tanh",
        ex.exact_tanh,
        _by_sympy(sp.tanh, _ARB),
        sp.tanh,
        slopes=POSITIVE,
        like=_ODD,
        bounded=True,
        by_exp=_tanh_by_exp,
    ),
    Function(
        "sigmoid",
        _exact_sigmoid,
        _by_sympy(_sigmoid, _ARB),
        _sigmoid,
        POSITIVE,
        POSITIVE,
        bounded=True,
        by_exp=lambda x: 1 / (1 + ix.exp(-x)),
    ),
    Function(
        "relu",
        _RELU,
        _RELU,
        lambda x: sp.Max(x, 0),
        NONNEGATIVE,
        NONNEGATIVE,
        like=(0, 0, 1),
        smooth=0,
        convex=True,
    ),
    Function("abs", _ABS, _ABS, sp.Abs, NONNEGATIVE, like=(1, 0, 1), smooth=0, convex=True),
    Function("sign", _SIGN, _SIGN, sp.sign, slopes=frozenset((0,)), like=_ODD, bounded=True, smooth=0),
    Function(
        "clip",
        _clip,
        _clip,
        lambda x: sp.Max(-1, sp.Min(1, x)),
        slopes=NONNEGATIVE,
        like=_ODD,
        bounded=True,
    ),
    Function(
        "elu1",
        ex.exact_elu1,
        _elu1_ball,
        lambda x: sp.Piecewise((x + 1, x > 0), (sp.exp(x), True)),
        POSITIVE,
        POSITIVE,
        smooth=1,
        convex=True,
    ),
)
KNOWN = {f.name: f for f in _LISTED}
SYMBOLIC = ("power",)
EXACT_FUNCTIONS: dict[str, Value] = {"root": ex.exact_root, **{f.name: f.exact for f in _LISTED}}
"""What ``derivations.calculus.components.evaluate`` needs for exact numbers."""
BALL_FUNCTIONS: dict[str, Value] = {
    "root": lambda base, exponent: Ball.of(base).root(exponent),
    **{f.name: f.ball for f in _LISTED},
}


def _in_sympy(function: Callable[[Any], Any]) -> Value:
    def value(arg: Any, order: int = 0) -> sp.Expr:
        x = sp.Dummy()
        return sp.diff(function(x), x, order).subs(x, arg)

    return value


def sympy_root(base: Any, exponent: Fraction) -> sp.Expr:
    """A rational power in SymPy."""
    return sp.sympify(base) ** sp.Rational(exponent.numerator, exponent.denominator)


IN_SYMPY: dict[str, Value] = {"root": sympy_root, **{f.name: _in_sympy(f.sympy) for f in _LISTED}}
"""The same for SymPy's expressions."""


def is_unknown(name: str) -> bool:
    """Whether a name stands for any smooth function: one letter."""
    return len(name) == 1


def check_name(name: str) -> None:
    """Raise ValueError for the name of a function that is neither known nor visibly unknown."""
    if name not in KNOWN and name not in SYMBOLIC and not is_unknown(name):
        known = ", ".join(sorted(KNOWN))
        raise ValueError(
            f"no function {name!r}: known are {known}; a name of one letter is an unknown function"
        )


def signs_of(name: str, order: int, of: Callable[[], frozenset[int]]) -> frozenset[int]:
    """The signs that the order-th derivative of a function takes at arguments of the signs that ``of`` finds;
    it is asked only where they matter.
    """
    f = KNOWN.get(name)
    if f is None or order > 1:
        return POSITIVE if name == "exp" else ANY
    if order:
        return f.slopes
    return f.signs & (frozenset(f.like[sign + 1] for sign in of()) if f.like else ANY)


def is_bounded(name: str) -> bool:
    """Whether the values of a function are known to lie between -1 and 1."""
    return name in KNOWN and KNOWN[name].bounded


def domain_of(name: str, order: int) -> frozenset[int]:
    """The signs of the arguments at which the order-th derivative of a function is known to be defined."""
    f = KNOWN.get(name)
    if f is None:
        return ANY
    if name == "clip" and order:
        return frozenset()  # its kinks are not at 0
    return f.domain if f.smooth is None or order <= f.smooth else f.domain - {0}


def by_exponentials(expr: ix.Expr) -> ix.Expr:
    """The expression with hyperbolic functions, sigmoids and what follows from them written by
    exponentials.
    """
    parts = tuple(by_exponentials(p) for p in ix.children(expr))
    if isinstance(expr, ix.Call) and expr.order == 0 and expr.function in KNOWN:
        rule = KNOWN[expr.function].by_exp
        if rule is not None:
            return rule(parts[0])
    return ix.rebuild(expr, parts)
