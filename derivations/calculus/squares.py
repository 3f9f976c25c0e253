"""Completing squares: a form as squares and what is visibly not negative.

What is found is compared with the form and its sign is seen as that of any other expression, so the search
itself need not be trusted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import mul

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.constraint import Raw
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.printing import to_expr
from derivations.calculus.signs import Facts, clearing, signs
from derivations.calculus.term import Term

_LARGEST = 24
"""Terms of a form that is looked at."""
_DEEPEST = 4
"""Squares that are completed one after another."""
_MOST = 20
"""Forms that are looked at: the squares of n letters can be taken in n! orders."""


def completed(expr: ix.Expr, facts: Facts) -> Term | None:
    """The same number as squares and what is visibly >= 0, wherever it is defined; None if none is found."""
    form, denominators = clearing(nf.normal(expr), facts)
    # literally, as it is asked many times
    found = _completed(form, replace(facts, literally=True), _DEEPEST, set())
    if found is None:
        return None
    if denominators:
        found = found / reduce(mul, map(_raw, denominators))
    return found if signs(found.entry(), facts) <= NONNEGATIVE and nf.equal(found.entry(), expr) else None


def _raw(form: nf.Form) -> Term:
    return Raw((), to_expr(form))


def _completed(form: nf.Form, facts: Facts, deep: int, tried: set[tuple[int, nf.Form]]) -> Term | None:
    """``tried``: what was looked at, with its depth: many orders of squares leave one form."""
    if (deep, form) in tried or len(tried) >= _MOST or len(form) > _LARGEST:
        return None
    tried.add((deep, form))
    if signs(to_expr(form), facts) <= NONNEGATIVE:
        return _raw(form)
    if not deep:
        return None
    for root, square, linear, rest in _quadratic(form):
        if not signs(to_expr(square), facts) <= POSITIVE:
            continue
        number = nf.ratio(square, nf.ONE)
        if number is not None:  # c v² + b v + r = c (v + b/2c)² + r - b²/4c
            base = nf.add(root, nf.scale(linear, 1 / (2 * number)))
            left = nf.add(rest, nf.scale(nf.mul(linear, linear), -1 / (4 * number)))
        else:  # 4 a (a v² + b v + r) = (2 a v + b)² + 4 a r - b²
            base = nf.add(nf.scale(nf.mul(square, root), 2), linear)
            left = nf.add(nf.scale(nf.mul(square, rest), 4), nf.scale(nf.mul(linear, linear), -1))
        inner = _completed(left, facts, deep - 1, tried)
        if inner is not None:
            whole = _raw(base) ** 2 if number in (None, 1) else number * _raw(base) ** 2
            whole = whole if left == nf.ZERO else whole + inner
            return whole if number is not None else whole / _raw(nf.scale(square, 4))
    return None


def _quadratic(form: nf.Form) -> Iterator[tuple[nf.Form, nf.Form, nf.Form, nf.Form]]:
    """The ways to see a form as a v² + b v + r for a product v of powers: (v, a, b, r)."""
    for mono, coefficient in form:
        if (root := _root(mono)) and coefficient > 0:
            parts = _by_factor(form, root, {mono})
            yield _product(root), nf.number(coefficient), parts[1], parts[0]
    for atom, half in _squared(form):
        first = [mono for mono, _ in form if dict(mono[2]).get(atom) == 2 * half]
        square = nf.add(*(nf.scale(_divided(m, {atom: 2 * half}), c) for m, c in form if m in first))
        parts = _by_factor(form, {atom: half}, set(first))
        yield _product({atom: half}), square, parts[1], parts[0]


def _root(mono: nf.Mono) -> dict[nf.Atom, Fraction]:
    """The factors whose product, squared, is a monomial without sums; nothing where they need no value."""
    dims, _, factors = mono
    halves = {atom: exponent / 2 for atom, exponent in factors}
    whole = all(half.denominator == 1 or nf.is_positive(atom) for atom, half in halves.items())
    return halves if whole and not dims else {}


def _squared(form: nf.Form) -> Iterator[tuple[nf.Atom, Fraction]]:
    """The factors that a form has to one power, its square and no other: with that power."""
    powers: dict[nf.Atom, set[Fraction]] = {}
    for (_, _, factors), _ in form:
        for atom, exponent in factors:
            if all(token.kind == "i" for token in nf.outer(atom)):
                powers.setdefault(atom, set()).add(exponent)
    for atom, exponents in powers.items():
        half = max(exponents) / 2
        # a fractional power that does not occur need not have a value where the form has one
        if half > 0 and exponents <= {half, 2 * half} and (half in exponents or half.denominator == 1):
            yield atom, half


def _by_factor(
    form: nf.Form, factor: dict[nf.Atom, Fraction], without: set[nf.Mono]
) -> tuple[nf.Form, nf.Form]:
    """A form but some of its terms as r + b factor: (r, b)."""
    rest, linear = nf.ZERO, nf.ZERO
    for mono, coefficient in form:
        have = dict(mono[2])
        if mono in without:
            continue
        if all(have.get(atom, Fraction(0)) >= exponent for atom, exponent in factor.items()):
            linear = nf.add(linear, nf.scale(_divided(mono, factor), coefficient))
        else:
            rest = nf.add(rest, ((mono, coefficient),))
    return rest, linear


def _divided(mono: nf.Mono, by: dict[nf.Atom, Fraction]) -> nf.Form:
    dims, height, factors = mono
    left = [(atom, exponent - by.get(atom, Fraction(0))) for atom, exponent in factors]
    return nf.multiplied_out(dims, height, [(atom, exponent) for atom, exponent in left if exponent])


def _product(factors: dict[nf.Atom, Fraction]) -> nf.Form:
    return nf.multiplied_out((), 0, factors.items())
