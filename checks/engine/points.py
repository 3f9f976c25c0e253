"""Points at which facts hold, and points that are better than one that is said to be the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice

from checks.engine.instances import Instance, entries_of, exact_instances, solved
from checks.statement import Given
from derivations.calculus import index as ix
from derivations.calculus.components import NotExact
from derivations.calculus.index import Index, Tensor

_LONG = 200
"""Binary digits of a number, up to which a point is moved on."""
_STEPS = tuple(sign * Fraction(1, n) for n in (1, 2**3, 2**8, 2**12, 2**17) for sign in (1, -1))
_TRIES, _IN_ALL = 12, 72
"""Random instances near which a better point is sought: of each choice of sizes, and at most."""

Place = tuple[ix.Expr, str, dict[Index, int]]
"""An expression, how it must compare with 0, and the values of its indices."""


def allowed(sign: int, relation: str) -> bool:
    """Whether what has this sign compares so with 0."""
    return {"=": sign == 0, ">=": sign >= 0, ">": sign > 0}[relation]


def places(
    facts: list[tuple[ix.Expr, str]], pinned: dict[Index, int], sizes: Mapping[str, int]
) -> Iterator[Place]:
    """Each hypothesis with the values of its indices at which it must hold: all, but for those ``pinned``."""
    for expr, relation in facts:
        loose = sorted(ix.free_indices(expr) - pinned.keys(), key=lambda i: i.name)
        for place in entries_of(tuple(i.dim for i in loose), sizes):
            yield expr, relation, {**pinned, **dict(zip(loose, place, strict=True))}


def moved_onto(instance: Instance, everywhere: list[Place]) -> Instance | None:
    """The instance, changed entry by entry until every hypothesis holds ``everywhere``, or None; numbers that
    become very long are given up.
    """
    for _ in range(2 + len(everywhere)):
        broken = None
        for expr, relation, place in everywhere:
            sign = instance.sign(expr, place)
            if sign is None:
                return None
            if not allowed(sign, relation):
                broken = (expr, relation, place)
                break
        if broken is None:
            return instance
        expr, relation, place = broken
        moved = None if relation == ">" else next(solved(instance, expr, place), None)
        if moved is None or _is_long(moved):
            return None
        instance = moved
    return None


def _is_long(instance: Instance) -> bool:
    return any(
        max(n.numerator.bit_length(), n.denominator.bit_length()) > _LONG for n in instance.values.values()
    )


def better(
    rise: ix.Expr,
    facts: list[tuple[ix.Expr, str]],
    said: Mapping[Tensor, Tensor],
    given: tuple[Given, ...],
    seed: int,
    *,
    elsewhere: bool = False,
    nonzero: tuple[Tensor, ...] = (),
) -> tuple[Instance, int] | None:
    """An exact point at which the facts hold and the rise is negative, and that sign; None if none is met.

    ``said`` are the variables, each with the tensor that ``given`` defines as what it is said to be: the rise
    is 0 there. With ``elsewhere`` a rise of 0 at another point is found as well. Looked at are random points,
    and ones on both sides of what is said, ever closer: where that is not stationary, it shows.
    """
    expressions = [rise, *(e for e, _ in facts)]
    for small in (True, False):
        every = exact_instances(expressions, given, seed, _TRIES, small, nonzero=nonzero, spread=True)
        for instance, _ in islice(every, _IN_ALL):
            everywhere = list(places(facts, {}, instance.sizes))
            for near in _near(instance, said):
                point = moved_onto(near, everywhere)
                sign = _sign(point, rise, elsewhere) if point and point.admissible(nonzero) else None
                if point and (sign == -1 or (sign == 0 and elsewhere and apart(point, said))):
                    return point, sign
    return None


def _sign(point: Instance, rise: ix.Expr, exactly: bool) -> int | None:
    """The certain sign of the rise, by balls: exact sums of exponentials grow without bound. ``exactly`` 0 is
    asked for as well where there are none.
    """
    try:
        return point.ball(rise).sign()
    except (NotExact, ZeroDivisionError):
        called = any(isinstance(node, ix.Call) and node.function != "relu" for node in ix.walk(rise))
        return point.sign(rise) if exactly and not called else None


def _near(instance: Instance, said: Mapping[Tensor, Tensor]) -> Iterator[Instance]:
    """The instance, and those with the variables at what they are said to be plus steps of what they were."""
    yield instance
    own = {key: value for key, value in instance.values.items() if key[0] in said}
    try:
        centre = {key: _fraction(instance, said[key[0]], key[1]) for key in own}
    except (NotExact, ZeroDivisionError, OverflowError, ValueError):
        return
    rest = {key: value for key, value in instance.values.items() if key not in own}
    for step in _STEPS:
        moved = {key: centre[key] + step * value for key, value in own.items()}
        if all(value > 0 for key, value in moved.items() if key[0].positive):
            # the variables first: they are what is moved on where a fact does not hold
            yield Instance(instance.sizes, {**moved, **rest}, instance.given)


def _fraction(instance: Instance, tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
    """A fraction close to an entry that is defined, the entry itself where that is a short one."""
    value = instance.lookup(tensor, entry, True)
    return value if isinstance(value, Fraction) else Fraction(float(value)).limit_denominator(10**6)


def apart(instance: Instance, said: Mapping[Tensor, Tensor]) -> bool:
    """Whether an entry of a variable is certainly another than is said."""
    for one, two in said.items():
        at = tuple(Index(f"e{n}#", dim) for n, dim in enumerate(one.dims))
        moved = ix.At(one, at) - ix.At(two, at)
        for place in entries_of(one.dims, instance.sizes):
            if instance.sign(moved, dict(zip(at, place, strict=True))) in (-1, 1):
                return True
    return False
