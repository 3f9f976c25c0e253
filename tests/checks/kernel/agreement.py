"""Whether a theorem says what the statement says: both evaluated at the same exact points."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from typing import Any

import mpmath
from points import Point, assumed, plain
from reading import CLOSE, Compared, Read, Undefined, close, read

from checks.kinds.extremum import Extremum
from checks.kinds.follows import Follows
from checks.kinds.implication import Implication
from checks.kinds.stationary import Stationary
from checks.statement import Given
from derivations.calculus import index as ix
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term

POINTS = 6


@dataclass(frozen=True)
class Meant:
    """What a theorem should say: a relation between two sides, with the indices that they are entries at.

    Of a derivative, ``energy`` is what is moved at ``places`` of ``tensor``, and the left side has no meaning.
    """

    sides: tuple[ix.Expr, ix.Expr]
    at: tuple[Index, ...] = ()
    relation: str = "="
    extra: tuple[Given, ...] = ()
    energy: ix.Expr | None = None
    tensor: Tensor | None = None
    places: tuple[Index, ...] = ()


def disagreement(text: str, statement: Any, seed: int = 0, meant: Meant | None = None) -> str:
    """Where theorem and statement differ: "" if nowhere, else in words. Both are evaluated also where promises
    are not kept, so that every hypothesis is seen to be that of the statement.
    """
    theorem, meant = read(text), meant or _meant(statement)
    assert theorem.sides is not None
    if theorem.sides[1] != meant.relation or (theorem.along is None) != (meant.energy is None):
        return "another relation"
    compared = 0
    for turn in range(4 * POINTS):
        rng = random.Random(f"{seed} {turn}")
        point = Point(statement, meant.extra, rng, kept=turn % 2 == 0)
        env = point.environment(theorem)
        if env is None:
            return "a name stands for two symbols"
        try:
            words = _differ(theorem, env, statement, meant, point)
        except (ZeroDivisionError, Undefined, OverflowError):
            continue
        except KeyError as where:
            return f"an index out of its range: {where}"
        if words:
            return f"{words} at {point.sizes}, {turn}"
        compared += 1
        if compared >= POINTS:
            break
    return "" if compared else "nowhere defined"


def _differ(theorem: Read, env: dict[str, Any], statement: Any, meant: Meant, point: Point) -> str:
    names = {plain(i.name.partition("#")[0]): i for i in meant.at}
    for here in theorem.points(env):
        where = {i: 0 for i in meant.at}
        for name, _ in theorem.indices:
            if name not in names:
                return f"an index {name} of its own"
            where[names[name]] = here[name]
        stated, values = theorem.assumed(here)
        expected = [*point.promises(theorem), *assumed(statement, point, where)]
        if not _same(stated, expected):
            return "the hypotheses are not those of the statement"
        if words := _other_values(theorem, values, meant, point, where):
            return words
        if words := _other_point(theorem, values, statement, point):
            return words
    return ""


def _other_values(
    theorem: Read, values: dict[str, Any], meant: Meant, point: Point, where: dict[Index, int]
) -> str:
    assert theorem.sides is not None
    if not close(theorem.sides[2](values), point.value(meant.sides[1], where)):
        return "the right side has another value"
    if theorem.along is None or meant.energy is None or meant.tensor is None:
        left = theorem.sides[0](values)
        return "" if close(left, point.value(meant.sides[0], where)) else "the left side has another value"
    for h in (mpmath.mpf(0), mpmath.mpf(1) / 3, mpmath.mpf(-1) / 2):
        point.moved = (meant.tensor, tuple(where.get(i, 0) for i in meant.places), h)
        try:
            expected = point.value(meant.energy, where)
        finally:
            point.moved = None
        if not close(theorem.along(values)(h), expected):
            return "another function has the derivative"
    return ""


def _other_point(theorem: Read, values: dict[str, Any], statement: Any, point: Point) -> str:
    """What is said near a point is said near the statement's one, and of no other statement."""
    near = isinstance(statement, Extremum) and "local" in statement.says
    if theorem.beside is None or not near:
        return "it is said near a point, or is not" if near or theorem.beside else ""
    at, found = _indices("p", statement.variable.dims), theorem.beside(values)
    for place in product(*(range(point.sizes[i.dim]) for i in at)):
        expected = point.value(statement.point.entry(*at), dict(zip(at, place, strict=True)))
        if not close(found(*place), expected):
            return "it is said near another point"
    return ""


def _same(one: list[list[Compared]], two: list[list[Compared]]) -> bool:
    """The same comparisons, in whatever order they are assumed."""

    def key(compared: list[Compared]) -> str:
        return str(
            [
                (relation, mpmath.nstr(mpmath.chop(mpmath.mpf(value), CLOSE), 12))
                for relation, value in compared
            ]
        )

    return sorted(map(key, one)) == sorted(map(key, two))


def _meant(statement: Any) -> Meant:
    """What the theorem of an equality, a consequence, a stationary point or an extremum should say."""
    if isinstance(statement, Stationary):
        z = _indices("z", statement.variable.dims)
        point = Given(statement.variable, z, statement.point[z] if z else statement.point, "the point")
        return slope_meant(statement.energy, statement.variable, (), ix.as_expr(0), (point,))
    if isinstance(statement, Extremum):
        energy = statement.energy.entry()
        there = at_point(statement.energy, statement.variable, statement.point).entry()
        sides = (energy, there) if "minimum" in statement.says else (there, energy)
        return Meant(sides, _open((energy, there), ()), ">=")
    if isinstance(statement, Implication):
        sides = (statement.conclusion.term.entry(), ix.as_expr(0))
        hypotheses = [h.term.entry() for h in statement.hypotheses]
        return Meant(sides, _open((*sides, *hypotheses), ()), statement.conclusion.relation)
    own = _indices("w" if isinstance(statement, Follows) else "e", statement.lhs.shape())
    sides = (statement.lhs.entry(*own), statement.rhs.entry(*own))
    residuals = [h.difference(*_indices("v", h.lhs.shape())) for h in getattr(statement, "hypotheses", ())]
    inside = {i for h in getattr(statement, "hypotheses", ()) for i in _indices("v", h.lhs.shape())}
    others = tuple(i for i in _open((*sides, *residuals), own) if i not in inside)
    return Meant(sides, (*own, *others), getattr(statement, "relation", "="))


def slope_meant(
    energy: Term, tensor: Tensor, picked: tuple[Index, ...], value: Any, extra: tuple[Given, ...] = ()
) -> Meant:
    """What the theorem should say that the derivative of a term by the entries of a tensor is a value."""
    places = (*picked, *_indices("d", tensor.dims[len(picked) :]))
    expr = value.entry(*places[len(picked) :]) if isinstance(value, Term) else value
    at = (*places, *_open((energy.entry(), expr), places))
    return Meant((expr, expr), at, "=", extra, energy.entry(), tensor, places)


def _indices(letter: str, dims: tuple[str, ...]) -> tuple[Index, ...]:
    return tuple(Index(f"{letter}{n}", d) for n, d in enumerate(dims))


def _open(exprs: tuple[ix.Expr, ...], but: tuple[Index, ...]) -> tuple[Index, ...]:
    free = set().union(*(ix.free_indices(e) for e in exprs)) - set(but)
    return tuple(sorted(free, key=lambda i: i.name))
