"""Whether a theorem says what the statement says: both evaluated at the same exact points."""

from __future__ import annotations

import random
from typing import Any

import mpmath
from points import Point, assumed, plain
from reading import CLOSE, Compared, Read, Undefined, close, read

from checks.kinds.follows import Follows
from checks.kinds.implication import Implication
from checks.statement import Identity
from derivations.calculus import index as ix
from derivations.calculus.index import Index

POINTS = 6


def disagreement(text: str, statement: Identity | Follows | Implication, seed: int = 0) -> str:
    """Where theorem and statement differ: "" if nowhere, else in words. Both are evaluated also where promises
    are not kept, so that every hypothesis is seen to be that of the statement.
    """
    theorem = read(text)
    compared = 0
    for turn in range(4 * POINTS):
        rng = random.Random(f"{seed} {turn}")
        point = Point(statement, (), rng, kept=turn % 2 == 0)
        env = point.environment(theorem)
        if env is None:
            return "a name stands for two symbols"
        try:
            words = _differ(theorem, env, statement, point)
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


def _differ(theorem: Read, env: dict[str, Any], statement: Any, point: Point) -> str:
    sides, at = _sides(statement)
    names = {plain(i.name): i for i in at}
    for here in theorem.points(env):
        where = {i: 0 for i in at}
        for name, _ in theorem.indices:
            if name not in names:
                return f"an index {name} of its own"
            where[names[name]] = here[name]
        stated, values = theorem.assumed(here)
        expected = [*point.promises(theorem), *assumed(statement, point, where)]
        if not _same(stated, expected):
            return "the hypotheses are not those of the statement"
        assert theorem.sides is not None
        for formula, expr in zip((theorem.sides[0], theorem.sides[2]), sides, strict=True):
            if not close(formula(values), point.value(expr, where)):
                return "a side has another value"
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


def _sides(statement: Any) -> tuple[list[ix.Expr], list[Index]]:
    if isinstance(statement, Implication):
        sides = [statement.conclusion.term.entry(), ix.as_expr(0)]
        own: list[Index] = []
        hypotheses = [h.term.entry() for h in statement.hypotheses]
    else:
        letter = "w" if isinstance(statement, Follows) else "e"
        own = [Index(f"{letter}{n}", d) for n, d in enumerate(statement.lhs.shape())]
        sides, hypotheses = [s.entry(*own) for s in (statement.lhs, statement.rhs)], []
    free = set().union(*(ix.free_indices(e) for e in (*sides, *hypotheses))) - set(own)
    return sides, [*own, *sorted(free, key=lambda i: i.name)]
