"""Sines and cosines: a second normal form, by the addition theorems and sin² = 1 - cos².

Every angle is taken apart into the monomials of its normal form: cos(a - b) and cos a cos b + sin a sin b are
one polynomial in the sines and cosines of a and b. Only identities that hold for all real angles are used; an
angle that is a large multiple stays whole.
"""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.printing import to_expr
from derivations.calculus.second_forms import inside

_LARGEST = 8
"""Steps up to which an angle is taken apart."""
Units = dict[str, Fraction]
"""For each kind of monomial that occurs in angles, the number of which it has whole multiples there."""
_TURNS = ((1, "cos"), (-1, "sin"), (-1, "cos"), (1, "sin"))
"""The cosine and its derivatives, which repeat; the sine is the last of them."""


def occur(*expressions: ix.Expr) -> bool:
    """Whether a sine or cosine stands anywhere in them."""
    return any(_is_turn(node) for expr in expressions for node in ix.walk(expr))


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined; False decides nothing. Raises
    ZeroDivisionError for 1/0.
    """
    first, second = _forms(one, two)
    return nf.is_zero(nf.add(first, nf.scale(second, -1)))


def apart(one: ix.Expr, two: ix.Expr) -> tuple[ix.Expr, ix.Expr]:
    """Two expressions with their angles taken apart alike, for a form that looks at something else in them.
    Raises ZeroDivisionError for 1/0.
    """
    first, second = _forms(one, two)
    return to_expr(first), to_expr(second)


def _forms(one: ix.Expr, two: ix.Expr) -> tuple[nf.Form, nf.Form]:
    units: Units = {}
    for node in (*ix.walk(one), *ix.walk(two)):
        if isinstance(node, ix.Call) and _is_turn(node):
            for mono, coefficient in nf.normal(node.arg):
                units[_kind(mono)] = _common(units.get(_kind(mono), Fraction(0)), coefficient)
    return _form(one, units), _form(two, units)


def _kind(mono: nf.Mono) -> str:
    """A monomial by the symbols in it, whatever its indices are called."""
    return repr(sorted(str((a[0], a[1] if a[0] in ("T", "D", "N", "C") else "", e)) for a, e in mono[2]))


def _common(one: Fraction, two: Fraction) -> Fraction:
    """The largest number of which both are whole multiples."""
    bottom = one.denominator * two.denominator
    return Fraction(gcd(int(one * bottom), int(two * bottom)), bottom)


def _is_turn(node: ix.Expr) -> bool:
    return isinstance(node, ix.Call) and node.function in ("sin", "cos")


def _form(expr: ix.Expr, units: Units) -> nf.Form:
    """The form of an expression with sums of angles taken apart, and no sine squared."""

    def form(inner: ix.Expr) -> nf.Form:
        return _form(inner, units)

    def turn(node: ix.Expr) -> ix.Expr | None:
        if not isinstance(node, ix.Call) or not _is_turn(node):
            return None
        return _taken_apart(form(node.arg), node.function, node.order, units)

    return _squares_of_sines(nf.normal(inside(expr, form, turn)))


def _taken_apart(angle: nf.Form, function: str, order: int, units: Units) -> ix.Expr:
    sign, name = _TURNS[(order + (3 if function == "sin" else 0)) % 4]
    steps = [(mono, units.get(_kind(mono), abs(c)), c) for mono, c in angle]
    turns = [abs(c / unit) for _, unit, c in steps]
    if any(n.denominator > 1 for n in turns) or sum(turns) > _LARGEST:
        return sign * ix.Call(name, to_expr(angle))
    cosine, sine = nf.ONE, nf.ZERO
    for mono, unit, coefficient in steps:
        base, n = to_expr(((mono, unit),)), int(coefficient / unit)
        c, s = nf.normal(ix.Call("cos", base)), nf.normal(ix.Call("sin", base))
        s = nf.scale(s, 1 if n > 0 else -1)
        for _ in range(abs(n)):
            cosine, sine = (
                nf.add(nf.mul(cosine, c), nf.scale(nf.mul(sine, s), -1)),
                nf.add(nf.mul(sine, c), nf.mul(cosine, s)),
            )
    return sign * to_expr(cosine if name == "cos" else sine)


def _squares_of_sines(form: nf.Form) -> nf.Form:
    """sin² = 1 - cos² wherever a sine stands squared in a monomial."""
    parts = []
    for (dims, height, factors), coefficient in form:
        changed: list[tuple[nf.Atom, Fraction]] = []
        for atom, exponent in factors:
            pairs = exponent // 2 if atom[:3] == ("C", "sin", 0) and exponent.denominator == 1 else 0
            if pairs > 0:
                cosine = nf.Kept(("C", "cos", 0, atom[3]))
                square = nf.multiplied_out((), 0, [(cosine, Fraction(2))])
                changed.append((nf.Kept(("P", nf.add(nf.ONE, nf.scale(square, -1)))), Fraction(pairs)))
            if exponent - 2 * max(pairs, 0):
                changed.append((atom, exponent - 2 * max(pairs, 0)))
        parts.append(nf.scale(nf.multiplied_out(dims, height, changed), coefficient))
    return nf.add(*parts)
