"""Means over independent standard normal variables, in closed form for any number of them.

For w ~ N(0, I) and vectors a, b that do not depend on w,

    E exp(a·w) cos(b·w + c) = exp((‖a‖² - ‖b‖²)/2) cos(a·b + c),

and the same with sines: the real and imaginary parts of E exp(z·w) = exp(z·z/2) at z = a + ib. An entry of w
that such a product f is multiplied with is a derivative: E w_p f(w) = E ∂f/∂w_p (Stein). What the normal form
makes a sum of such terms has its mean by these formulas; all else is refused, with the reason.
"""

from __future__ import annotations

from fractions import Fraction

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.differentiate import index_route
from derivations.calculus.functions import by_exponentials
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import to_expr

HALF = ix.Num(Fraction(1, 2))
ZERO = ix.Num(Fraction(0))
_MOST = 6
"""Sines and cosines in one product up to which it is written as a sum."""


class NoClosedForm(ValueError):
    """An expression whose mean this formula does not give; the message says for what part of it."""


def mean(expr: ix.Expr, w: Tensor) -> ix.Expr:
    """E expr over all entries of ``w``, independent and standard normal. Raises NoClosedForm, and
    ZeroDivisionError for 1/0.
    """
    whole = to_expr(nf.normal(by_exponentials(expr)))
    return _of_sum(whole, w)


def _of_sum(whole: ix.Expr, w: Tensor) -> ix.Expr:
    terms = whole.args if isinstance(whole, ix.Add) else (whole,)
    return to_expr(nf.normal(ix.Add(tuple(_of_product(term, w) for term in terms))))


def _of_product(term: ix.Expr, w: Tensor) -> ix.Expr:
    """The mean of a product under sums: these and what does not depend on ``w`` stand before it."""
    sums: list[Index] = []
    while isinstance(term, ix.Sum):
        sums.append(term.index)
        term = term.body
    before: list[ix.Expr] = []
    exponent: ix.Expr = ZERO
    waves: list[tuple[str, ix.Expr]] = []
    entries: list[ix.At] = []
    for factor in term.args if isinstance(term, ix.Mul) else (term,):
        base, power = (factor.base, factor.exponent) if isinstance(factor, ix.Pow) else (factor, Fraction(1))
        if w not in ix.tensors(factor):
            before.append(factor)
        elif isinstance(base, ix.Call) and base.function == "exp":
            exponent = exponent + ix.Num(power) * base.arg
        elif isinstance(base, ix.Call) and _is_wave(base) and power > 0 and power.denominator == 1:
            waves += [(base.function, base.arg)] * int(power)
        elif isinstance(base, ix.At) and power > 0 and power.denominator == 1:
            entries += [base] * int(power)
        else:
            raise NoClosedForm(
                f"a factor in {w.name} that is neither a power nor exp, cos or sin of a linear form"
            )
    places = tuple(Index(letter, dim).fresh() for letter, dim in zip("abcdefgh", w.dims, strict=False))
    grown = _linear(exponent, w, places)
    turned = _as_sum([(name, _linear(angle, w, places)) for name, angle in waves])
    if entries:
        return ix.total(
            _by_parts([*before, ix.exp(exponent), *(ix.Call(*wave) for wave in waves)], entries, w), *sums
        )
    parts = [ix.Num(number) * _of_wave(grown, name, turn, places) for number, name, turn in turned]
    return ix.total(ix.Mul((*before, ix.Add(tuple(parts)))), *sums)


def _by_parts(others: list[ix.Expr], entries: list[ix.At], w: Tensor) -> ix.Expr:
    """The mean of a product with entries of ``w``: that of the derivative of the rest by one of them.
    Exponent and angles are linear, so that the powers become fewer.
    """
    if len(entries) > _MOST:
        raise NoClosedForm(f"a power of more than {_MOST} entries of {w.name}")
    first, *rest = entries
    slope = index_route(ix.Mul((*others, *rest)), w, first.indices)
    return _of_sum(to_expr(nf.normal(_waves(slope))), w)


def _waves(expr: ix.Expr) -> ix.Expr:
    """Derivatives of sines and cosines as these."""
    expr = ix.rebuild(expr, tuple(map(_waves, ix.children(expr))))
    if not isinstance(expr, ix.Call) or expr.function not in ("sin", "cos"):
        return expr
    turns = ("sin", 1), ("cos", 1), ("sin", -1), ("cos", -1)
    name, sign = turns[(expr.order + (expr.function == "cos")) % 4]
    return sign * ix.Call(name, expr.arg)


def _is_wave(node: ix.Call) -> bool:
    return node.function in ("sin", "cos") and node.order == 0


Linear = tuple[ix.Expr, ix.Expr]
"""A linear form in ``w``: the coefficient of its entry at some places, and what is added."""


def _as_sum(waves: list[tuple[str, Linear]]) -> list[tuple[Fraction, str, Linear]]:
    """A product of sines and cosines as a sum of single ones."""
    if len(waves) > _MOST:
        raise NoClosedForm(f"a product of more than {_MOST} sines and cosines")
    found: list[tuple[Fraction, str, Linear]] = [(Fraction(1), "cos", (ZERO, ZERO))]
    for name, (slope, start) in waves:
        new = []
        for number, other, (b, c) in found:
            half, plus, minus = number / 2, (b + slope, c + start), (b - slope, c - start)
            if name == other:  # cos cos or sin sin
                new += [(half, "cos", minus), (half if name == "cos" else -half, "cos", plus)]
            else:
                new += [(half, "sin", plus), (half if other == "sin" else -half, "sin", minus)]
        found = new
    return found


def _of_wave(grown: Linear, name: str, turned: Linear, places: tuple[Index, ...]) -> ix.Expr:
    """E exp(a·w + start) cos(b·w + c), or with a sine."""
    (a, start), (b, c) = grown, turned
    exponent = start + HALF * ix.total(a * a - b * b, *places)
    return _without_deltas(nf.normal(exponent), name, nf.normal(c + ix.total(a * b, *places)))


def _linear(expr: ix.Expr, w: Tensor, places: tuple[Index, ...]) -> Linear:
    """An exponent or angle as a linear form. Raises NoClosedForm where it is none."""
    slope = to_expr(nf.normal(index_route(expr, w, places)))
    rest = ix.define(expr, w, lambda *_: ZERO)
    again = rest + ix.total(slope * ix.At(w, places), *places)
    if w in ix.tensors(slope) or not nf.equal(expr, again):
        raise NoClosedForm(f"an exponent or angle that is not linear in {w.name}")
    return slope, rest


def _without_deltas(grown: nf.Form, name: str, turn: nf.Form) -> ix.Expr:
    """exp(grown) cos(turn), with the two cases of every delta inside told apart: a variable that two draws
    share, or not.
    """
    delta = next((a for form in (grown, turn) for m, _ in form for a, _ in m[2] if a[0] == "delta"), None)
    if delta is None:
        wave = ix.Call(name, to_expr(turn)) if turn else ix.Num(Fraction(int(name == "cos")))
        return ix.exp(to_expr(grown)) * wave
    same = to_expr(nf.multiplied_out((), 0, [(delta, Fraction(1))]))
    apart, joined = (
        _without_deltas(_at_delta(grown, delta, v), name, _at_delta(turn, delta, v)) for v in (0, 1)
    )
    return (1 - same) * apart + same * joined


def _at_delta(form: nf.Form, delta: nf.Atom, value: int) -> nf.Form:
    """The form with 0 or 1 for a delta."""
    parts = []
    for (dims, height, factors), coefficient in form:
        rest = tuple(f for f in factors if f[0] != delta)
        if value or len(rest) == len(factors):
            parts.append(nf.scale(nf.multiplied_out(dims, height, rest), coefficient))
    return nf.add(*parts)
