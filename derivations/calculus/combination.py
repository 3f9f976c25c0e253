"""How a conclusion follows from hypotheses: a linear combination of them, whose multipliers and indices are
sought.

Where a monomial of what is wanted contains one of a given expression, at some choice of indices, the rest of
it is a candidate for a multiplier; what such products bring that is not wanted asks for more. Rational
coefficients then solve a linear system over the monomials, or a linear program where signs are asked.
Nothing here is believed: whoever uses the result compares the combination with what was wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations_with_replacement, islice, product
from typing import NamedTuple

from sympy import QQ, Eq, Rational, Symbol
from sympy.polys.matrices import DomainMatrix
from sympy.solvers.simplex import InfeasibleLPError, lpmin

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.normal import Form, Mono, Token
from derivations.calculus.printing import to_expr

ROUNDS, CANDIDATES, TRIES = 6, 200, 400
"""How often what is left over asks for more, how many products are kept, and how many choices of indices are
tried for a pair of monomials."""
CHOICES, LENGTH = 10_000, 200_000
"""How many choices of indices are tried at all, and how long the products that are made may be together, in
characters: the time that a search takes goes with both."""
SMALL = 1e-9
"""Coefficients of a linear program that are taken for 0; the others are solved for exactly."""


class Given(NamedTuple):
    """A form that is = 0, >= 0 or > 0."""

    form: Form
    relation: str


@dataclass(frozen=True)
class Piece:
    """Part ``given`` times ``multiplier`` (a form), with indices of ``given`` replaced as ``at`` says, summed
    over all values of ``over``; ``form`` is all of that.
    """

    given: int
    multiplier: Form
    at: tuple[tuple[Token, Token], ...]
    over: tuple[Token, ...]
    form: Form

    def times(self, coefficient: Fraction) -> Piece:
        """A multiple."""
        scaled = nf.scale(self.multiplier, coefficient)
        return replace(self, multiplier=scaled, form=nf.scale(self.form, coefficient))

    def expr(self) -> ix.Expr:
        """The multiplier as an expression."""
        return to_expr(self.multiplier)


def combination(
    wanted: Form,
    given: Sequence[Given],
    fixed: frozenset[Token],
    usable: Callable[[Piece], Piece | None],
    strictly: bool = False,
    inverses: bool = False,
) -> list[Piece]:
    """Pieces of what is given that add up to a positive multiple of ``wanted``; [] where none was found.

    ``fixed``: indices that are the same in ``wanted`` and in what is given. ``usable`` gives a piece back, or
    its negative, or None where its multiplier is undefined or of no sign. With ``strictly`` a piece of
    something strict must enter; with ``inverses`` multipliers may divide.
    """
    pieces: dict[tuple[object, ...], Piece] = {}
    seen: set[Mono] = set()
    todo = [mono for mono, _ in wanted]
    choices, length = iter(range(CHOICES)), 0
    for _ in range(ROUNDS):
        for piece in chain(_products(given), *(_pieces(m, given, fixed, inverses, choices) for m in todo)):
            key = (piece.given, piece.multiplier, piece.at, piece.over)
            length += len(repr(piece.form))
            if length > LENGTH or len(pieces) == CANDIDATES:
                break
            if key not in pieces and (kept := usable(piece)):
                pieces[key] = kept
        found = list(pieces.values())
        signed = any(g.relation != "=" for g in given)
        solved = _signed(wanted, found, given, strictly) if signed else _solved(wanted, found)
        if solved:
            return _joined(solved, given)
        if length > LENGTH or len(pieces) == CANDIDATES:
            break
        seen.update(todo)
        todo = [m for m in dict.fromkeys(m for p in found for m, _ in p.form) if m not in seen]
        todo = [m for m in todo if _free(m) <= fixed]
    return []


def _free(mono: Mono) -> frozenset[Token]:
    return nf.free_tokens(((mono, Fraction(1)),))


def _joined(pieces: list[Piece], given: Sequence[Given]) -> list[Piece]:
    """Pieces of one equation at the same indices as one; a sum of multipliers may hide its sign."""
    found: dict[tuple[object, ...], Piece] = {}
    for n, p in enumerate(pieces):
        key = (p.given, p.at, p.over, given[p.given].relation == "=" or n)
        if old := found.get(key):
            p = replace(p, multiplier=nf.add(old.multiplier, p.multiplier), form=nf.add(old.form, p.form))
        found[key] = p
    return list(found.values())


def _products(given: Sequence[Given]) -> Iterator[Piece]:
    """The products of two inequalities about numbers."""
    signed = [(n, g) for n, g in enumerate(given) if g.relation != "="]
    for (n, g), (_, other) in combinations_with_replacement(signed, 2):
        if not nf.free_tokens(g.form) | nf.free_tokens(other.form):
            yield Piece(n, other.form, (), (), nf.mul(g.form, other.form))


def _pieces(
    wanted: Mono, given: Sequence[Given], fixed: frozenset[Token], inverses: bool, choices: Iterator[int]
) -> Iterator[Piece]:
    """The pieces that contain a monomial: what is left of it without one of what is given, divided also by
    what it does not contain if ``inverses``.
    """
    bound, factors = nf.apart(wanted)
    places = sorted(
        {*bound, *fixed}, key=lambda t: (not any(nf.mentions(a, [t]) for a, _ in factors), repr(t))
    )
    for n, form in ((n, g.form) for n, g in enumerate(given)):
        loose = sorted(nf.free_tokens(form) - fixed, key=repr)
        for mono, _ in form:
            own, parts = nf.apart(mono)
            options = [[t for t in bound if t.dim == o.dim] for o in own]
            options += [[t for t in places if t.dim == o.dim] or [o] for o in loose]
            for _, choice in zip(choices, islice(product(*options), TRIES), strict=False):
                inside = {*choice[: len(own)]}
                put = dict(zip([*own, *loose], choice, strict=True))
                rest = dict(factors)
                for atom, exponent in parts:
                    at = nf.rename_in(atom, put)
                    rest[at] = rest.get(at, Fraction(0)) - exponent
                left = [(a, e) for a, e in rest.items() if e]
                if (
                    (inverses or all(e > 0 for _, e in left))
                    and len(inside) == len(own)
                    and not inside & {*choice[len(own) :]}
                    and not any(nf.mentions(a, inside) for a, _ in left)
                ):
                    summed = [t for t in bound if t not in inside]
                    yield from _piece(n, form, left, summed, {o: put[o] for o in loose})


def _piece(
    n: int,
    form: Form,
    left: list[tuple[nf.Atom, Fraction]],
    bound: list[Token],
    put: dict[Token, Token],
) -> Iterator[Piece]:
    """The form where its loose indices are ``put``, times what is left of a monomial, summed over what both
    have in common.
    """
    back: dict[Token, Token] = {}  # a bound index takes the letter of a loose one
    for own, place in put.items():
        if place in bound:
            back.setdefault(place, own)
    factors = [(nf.rename_in(a, back), e) for a, e in left]
    moved = {own: back.get(place, place) for own, place in put.items()}
    letters = {t for a, _ in factors for t in nf.outer(a) if t.kind == "i"} | {*moved.values()}
    multiplier = nf.finished(Fraction(1), [t for t in bound if t not in back], factors)
    if not multiplier or len({t.name for t in letters}) < len(letters):
        return
    at = tuple((own, place) for own, place in moved.items() if own != place)
    result = nf.mul(multiplier, nf.rename_form(form, dict(at)))
    for token in back.values():
        result = nf.total(result, token)
    yield Piece(n, multiplier, at, tuple(back.values()), result)


def _table(wanted: Form, pieces: list[Piece]) -> list[list[Fraction]]:
    """The coefficients of the pieces, and behind them those of what is wanted, a row for each monomial."""
    columns = [dict(form) for form in (*(p.form for p in pieces), wanted)]
    monos = dict.fromkeys(m for column in columns for m in column)
    return [[column.get(m, Fraction(0)) for column in columns] for m in monos]


def _solved(wanted: Form, pieces: list[Piece]) -> list[Piece]:
    """Multiples of the pieces that add up to what is wanted, of the first ones where there is a choice."""
    if not pieces:
        return []
    table = [[QQ(c.numerator, c.denominator) for c in row] for row in _table(wanted, pieces)]
    reduced, leads = DomainMatrix(table, (len(table), len(pieces) + 1), QQ).rref()
    if leads[-1] == len(pieces):
        return []
    values = ((p, reduced[r, len(pieces)].element) for r, p in enumerate(leads))
    return [pieces[p].times(Fraction(int(v.numerator), int(v.denominator))) for p, v in values if v]


def _signed(wanted: Form, pieces: list[Piece], given: Sequence[Given], strictly: bool) -> list[Piece]:
    """The same with coefficients >= 0 for inequalities: those that a linear program uses, solved exactly."""
    if not pieces:
        return []
    table = _table(wanted, pieces)
    free = [given[p.given].relation == "=" for p in pieces]
    strict = [n for n, p in enumerate(pieces) if strictly and given[p.given].relation == ">"]
    if strictly and not strict:
        return []
    used = _program(table, free, strict) if table else []  # no monomial: 0 is compared with 0
    return _solved(wanted, [pieces[n] for n in used])


def _program(table: list[list[Fraction]], free: list[bool], strict: list[int]) -> list[int]:
    """The columns that a positive multiple of the last one needs, those that are not ``free`` with
    coefficients >= 0 that are small in sum, and the ``strict`` ones with 1 or more in sum, if there are any.
    """
    cost = [*(0.0 if f else 1.0 + k / len(free) for k, f in enumerate(free)), 0.0]
    try:
        from scipy.optimize import linprog
    except ModuleNotFoundError:  # in a browser
        return _exact_program(table, free, strict, cost)
    some = {"A_ub": [[-float(n in strict) for n in range(len(free) + 1)]], "b_ub": [-1.0]} if strict else {}
    try:
        columns = [[*map(float, row[:-1]), -float(row[-1])] for row in table]
    except OverflowError:  # a linear program has no such numbers
        return []
    bounds = [*((None if f else 0, None) for f in free), (1, None)]
    result = linprog(cost, A_eq=columns, b_eq=[0.0] * len(table), bounds=bounds, **some)
    return [n for n, c in enumerate(result.x[:-1]) if abs(c) > SMALL] if result.status == 0 else []


def _exact_program(
    table: list[list[Fraction]], free: list[bool], strict: list[int], cost: list[float]
) -> list[int]:
    """The same by a program in rationals, which is slower."""
    c = [Symbol(f"c{n}") for n in range(len(free) + 1)]
    rows = (sum(Rational(x) * v for x, v in zip((*row[:-1], -row[-1]), c, strict=True)) for row in table)
    said = [Eq(row, 0) for row in rows if row != 0]
    said += [v >= 0 for v, f in zip(c, free, strict=False) if not f]
    said += [c[-1] >= 1, *([sum(c[n] for n in strict) >= 1] if strict else [])]
    try:
        _, found = lpmin(sum(Rational(w) * v for w, v in zip(cost, c, strict=True)), said)
    except InfeasibleLPError:
        return []
    return [n for n, v in enumerate(c[:-1]) if found.get(v, 0) != 0]
