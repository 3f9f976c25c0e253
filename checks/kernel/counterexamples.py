"""Theorems that what is printed fails, kind by kind: each from the counterexample that the engine finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import sympy as sp

from checks.engine.domain import not_shown
from checks.engine.instances import Instance
from checks.engine.judge import is_differentiated
from checks.engine.wellformed import defined_elsewhere
from checks.kernel.context import loose
from checks.kernel.derivatives import derivatives
from checks.kernel.equalities import equalities, places
from checks.kernel.falsity import (
    ASKED,
    Relation,
    broken,
    by_point,
    fails,
    refutation,
    related,
    undefined,
)
from checks.kernel.figures import false_figures
from checks.kernel.orbits import astray
from checks.kernel.slopes import not_of_order, steep
from checks.kernel.theorem import Theorem
from checks.kernel.trees import NotCovered
from checks.kernel.unsolvable import bounded, nearby, solvable
from checks.kinds import differs as differing
from checks.kinds import extremum as extrema
from checks.kinds import implication as implications
from checks.kinds import positive as kernels
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages
from checks.kinds.differs import Differs, difference
from checks.kinds.examples import Rule, point_entries
from checks.kinds.extremum import Extremum
from checks.kinds.family import Family
from checks.kinds.feasible import Solvable
from checks.kinds.implication import Implication
from checks.kinds.limit import Limit
from checks.kinds.order import Order
from checks.kinds.positive import Negative, Positive
from checks.kinds.stacked import PrunedArguments, Stacked
from checks.kinds.stationary import Stationary
from checks.kinds.unbounded import Bounded
from checks.statement import Definition, Identity, Malformed, leaves, parts
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.term import NonConformable, Part


def failing(name: str, statement: Any) -> tuple[list[Theorem], list[str]]:
    """Theorems for every part of a statement that fails; and why something that may fail has none."""
    found: list[Theorem] = []
    missing: list[str] = []
    every = tuple(leaves(statement))
    for n, piece in enumerate(pieces(statement), 1):
        try:
            if not getattr(piece, "exists", False) and defined_elsewhere(piece, every):
                raise NotCovered("a part about what another part defines")
            if not getattr(piece, "at_points", False) and not_shown(piece):
                raise NotCovered("a point may be excluded by what the entries of a formula do not show")
            found += REFUTERS[type(piece)](f"{name}_fails{n}", piece)
        except (NotCovered, NonConformable, Malformed) as why:
            missing.append(str(why))
        except KeyError as what:
            missing.append(f"a point without a value for {what}")
    return found, missing


def pieces(statement: Any) -> Iterator[Any]:
    """The parts of a statement of which there may be a theorem that they fail."""
    for part in parts(statement):
        if type(part) in REFUTERS:
            yield part
        elif isinstance(part, Stacked):
            for dims in product(*(summands(dim) for dim in part.lhs.shape())):
                left, right = (PrunedArguments((Part((side,), dims),)) for side in (part.lhs, part.rhs))
                yield Identity(left, right, part.given, nonzero=part.nonzero)
        elif isinstance(part, Family):
            for _, case in part.cases:
                yield from pieces(case)


def _listed(theorem: Theorem | None) -> list[Theorem]:
    return [] if theorem is None else [theorem]


def _definition(name: str, s: Definition) -> list[Theorem]:
    """The defining formula has no value somewhere."""
    if s.name.shape() != s.meaning.shape():
        raise NotCovered("the sides have different shapes: there is nothing that a theorem could say")
    if is_differentiated(s.meaning):
        raise NotCovered("where the formula of a derivative has no value, the derivative may have one")
    meaning = s.meaning.entry(*places("e", s.meaning.shape()))
    return _listed(undefined(name, [meaning], s.given, s.nonzero))


def _implication(name: str, s: Implication) -> list[Theorem]:
    """All hypotheses hold at a point, and the conclusion does not."""
    offered = implications.witness(s)
    found = (offered, {}) if offered else implications.satisfied(s, 0)[2]
    if found is None:
        return []
    conclusion, hypotheses = related(s.conclusion), [*map(related, s.hypotheses)]
    where = {i: found[1].get(i, 0) for i in loose([conclusion[0]])}
    return [by_point(name, (), found[0], where, hypotheses, conclusion)]


def _differs(name: str, s: Differs) -> list[Theorem]:
    """Both sides are equal everywhere."""
    if difference(s, 0) is not None:
        return []
    return [*equalities(name, Identity(s.lhs, s.rhs, s.given)), *derivatives(name, s)]


def differs(name: str, s: Differs) -> list[Theorem]:
    """The sides are not equal everywhere, by the instance that the engine finds. Raises NotCovered."""
    if not_shown(s):
        raise NotCovered("a formula inside another is not shown to be defined")
    found = difference(s, 0)
    if found is None:
        raise NotCovered("no exact instance at which the formulas differ")
    same = Identity(s.lhs, s.rhs, s.given)
    return [refutation(name, same, differing.places(s), differing.entries(s), *found)]


_RANGES = {"real": (), ">= 0": (">=",), "> 0": (">",)}


def _positive(name: str, s: Positive) -> list[Theorem]:
    """A quadratic form is negative at points of the domain, or the kernel has no value there."""
    s = kernels.ranged(s)
    _, found = kernels.search(s)
    if found is None:
        return []
    kernel, weights = s.kernel.entry(), _weights(s)
    instance = _form(s, found, weights)
    hypotheses: list[Relation] = [
        (t.scalar, relation) for t, words in s.ranges if not t.positive for relation in _RANGES[words]
    ]
    hypotheses += [] if s.points.positive else _domain(s)
    if found.weights:
        pair = ix.At(weights, (s.i,)) * ix.At(weights, (s.j,)) * kernel
        return [by_point(name, (), instance, {}, hypotheses, (ix.total(pair, s.i, s.j), ">="))]
    for demand in sg.demands(kernel):
        own = loose([demand.base])
        for place in product(*(range(instance.sizes[i.dim]) for i in own)):
            where = dict(zip(own, place, strict=True))
            sign = instance.sign(demand.base, where)
            if sign is not None and sign not in demand.signs and demand.signs in ASKED:
                return [by_point(name, (), instance, where, hypotheses, (demand.base, ASKED[demand.signs]))]
    return []


def _weights(s: Positive) -> Tensor:
    taken = {s.points.name, *(t.name for t, _ in s.ranges)}
    return Tensor(next(letter for letter in "wvuc" if letter not in taken), s.points.dims[:1])


def _form(s: Positive, found: Negative, weights: Tensor) -> Instance:
    """The parameters, the points and the weights."""
    sizes = dict(zip(s.points.dims, (len(found.points), len(found.points[0])), strict=True))
    values: dict[tuple[Tensor, tuple[int, ...]], Any] = {(t, ()): v for t, v in found.parameters.items()}
    values |= {(s.points, (n, a)): v for n, row in enumerate(found.points) for a, v in enumerate(row)}
    values |= {(weights, (n,)): Fraction(v) for n, v in enumerate(found.weights)}
    return Instance(sizes, values, ())


def _domain(s: Positive) -> list[Relation]:
    """That the points lie in the domain."""
    n, a = (Index(letter, dim).fresh() for letter, dim in zip("ia", s.points.dims, strict=True))
    entry = ix.At(s.points, (n, a))
    inside: dict[str, list[Relation]] = {
        "R^d": [],
        "[-1, 1]^d": [(entry + 1, ">="), (1 - entry, ">=")],
        "(0, inf)^d": [(entry, ">")],
        "R^d without 0": [(ix.Sum(a, entry**2), ">")],
    }
    return inside[s.domain]


def _extremum(name: str, s: Extremum) -> list[Theorem]:
    """Along the offered direction the energy is better than at the point; of the only such point, as good."""
    if s.witness is None:
        return []
    if s.convex or s.says == "bounded below":
        raise NotCovered(f"that a point is not {s.says}")
    if s.variable.positive or s.variable.symmetric:
        raise NotCovered("an extremum over a variable with a promise")
    try:
        rise = extrema.polynomial(s)
    except NotExact as why:
        raise NotCovered(str(why)) from None
    if "local" in s.says:
        return nearby(name, s, rise)
    sign = -1 if "maximum" in s.says else 1
    t = extrema.rival(rise, sign, strict="only" not in s.says)
    if t is None:
        return []
    base, at = s.witness.instance(s.given), places("z", s.variable.dims)
    point, moved = s.point.entry(*at), {}
    for entry, step in point_entries(s.variable, s.direction):
        there = base.evaluate(point, dict(zip(at, entry, strict=True)))
        moved[s.variable, entry] = Fraction(there) + t * Fraction(step)
    instance = Instance(base.sizes, {**base.values, **moved}, s.given)
    gap = s.energy.entry() - at_point(s.energy, s.variable, s.point).entry()
    if sign * rise.eval(sp.Rational(t)) < 0:
        return [by_point(name, s.given, instance, {}, (), (sign * gap, ">="))]
    distance = ix.At(s.variable, at) - point
    for entry, step in point_entries(s.variable, s.direction):
        if step:
            where = dict(zip(at, entry, strict=True))
            return [by_point(name, s.given, instance, where, [(gap, "=")], (distance, "="))]
    return []


REFUTERS: dict[type, Callable[[str, Any], list[Theorem]]] = {
    Arithmetic: false_figures,
    Averages: false_figures,
    Identity: lambda name, s: _listed(fails(name, s)),
    Rule: lambda name, s: _listed(broken(name, s)),
    Definition: _definition,
    Implication: _implication,
    Differs: _differs,
    Positive: _positive,
    Extremum: _extremum,
    Stationary: steep,
    Order: not_of_order,
    Limit: astray,
    Solvable: solvable,
    Bounded: bounded,
}
"""The kinds of statements that theorems refute, if they fail."""
