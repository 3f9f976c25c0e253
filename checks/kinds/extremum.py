"""Extremum: a point is a minimum or a maximum of an energy, local or global, the only one or not.

Settled by a formula for the energy above its value at the point whose sign can be seen (squares, or Bregman
differences of convex functions); refuted by an exact direction along which the energy is a polynomial in one
parameter, so that its sign near zero or far out is decided and not estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import sympy as sp

from checks.engine.finding import Finding, refutation
from checks.engine.hypotheses import apply_definitions, open_demands
from checks.engine.instances import Instance, base_tensors, describe, entries_of, exact_instances
from checks.engine.judge import ENGINES, ENOUGH, equal, identity, rejects, unbound
from checks.engine.mutants import mutants
from checks.engine.points import better
from checks.evidence import Evidence, Mutants
from checks.kinds.examples import Point, point_entries
from checks.kinds.stationary import point_entry
from checks.statement import Given, Identity, Kind, Malformed
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact
from derivations.calculus.documented import allows
from derivations.calculus.functions import KNOWN, is_unknown
from derivations.calculus.gradients import Bregman, at_point, bregman
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import (
    Frac,
    Neg,
    Number,
    Product,
    SquaredNorm,
    Sum_,
    SumOver,
    Term,
    as_term,
    squared_norm,
    subterms,
    sum_over,
)
from derivations.calculus.unicode import unicode_math

SAYS = (
    "a global minimum",
    "the only global minimum",
    "a global maximum",
    "the only global maximum",
    "a local minimum",
    "a local maximum",
    "bounded below",
)
CONVEX = tuple(f.name for f in KNOWN.values() if f.convex)
"""The known functions that are convex where they are defined."""
_t = sp.Symbol("t", real=True)
_REACH = [
    Fraction(s * n, d) for n, d in ((1, 1), (2, 1), (3, 1), (4, 1), (10, 1), (1, 2), (1, 4)) for s in (1, -1)
]


@allows(says=SAYS)
@dataclass(frozen=True)
class Extremum(Kind):
    """``variable`` = ``point`` is what ``says`` says of ``energy``, for all values of the other symbols.

    ``above`` is energy - energy at the point, in a form whose sign is visible. ``convex`` names unknown
    functions that are assumed convex (for a local statement: near their second argument). ``witness`` and
    ``direction`` offer a counterexample: exact values of the other symbols, and a direction of the variable.
    ``says`` "bounded below" asserts that the energy has a lower bound, and then the point only names where
    ``above`` is measured from.
    """

    energy: Term
    variable: Tensor
    point: Term
    says: str
    above: Term | None = None
    convex: tuple[str, ...] = ()
    given: tuple[Given, ...] = ()
    witness: Point | None = None
    direction: Any = None
    label: str = ""

    def statement_latex(self) -> str:
        """The point, the energy and what it is of it."""
        name = self.variable.symbol
        unknown = [f for f in self.convex if f not in CONVEX]
        shown = ", ".join("u^p" if f == "power" else f for f in unknown)
        if_convex = rf" \quad ({shown} \text{{ convex}})" if unknown else ""
        said = rf"{name} = {self.point.latex()} \text{{ is {self.says} of }} "
        if self.says == "bounded below":
            said = r"\text{bounded below: } "
        return rf"{said}{self.energy.latex()}{if_convex}"


def extremum(statement: Extremum, seed: int, with_mutants: bool) -> Finding:
    """A counterexample along the offered direction, or the proof by the sign of what is above."""
    s = statement
    _check(s)
    bound = s.variable.positive or s.variable.symmetric
    if s.witness is not None and not bound:  # a direction may leave what the variable is promised to be
        refuted = _along(s)
        if refuted:
            exact = Evidence("exact", "exact-rational", False, "an exact direction")
            return Finding([exact], counterexample=refuted)
    why = "no formula for the difference is given" if s.above is None else _sign(s)
    if why:
        if refuted := _sought(s, seed):
            return refutation(refuted)
        return Finding([Evidence("derivation", "exact-symbolic", None, why)])
    assert s.above is not None
    finding = identity(_difference(s), seed, False)
    if finding.holds is False:  # a wrong formula for the difference is no counterexample
        sampled = _sampled(s, seed)
        detail = f"the energy rises by something else than {unicode_math(s.above.latex())}"
        open_ = Evidence("derivation", "exact-symbolic", None, detail)
        return Finding([open_, sampled], counterexample=sampled.detail if sampled.passed is False else None)
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", True, "the sign of the difference is visible")
    )
    finding.evidence.append(_sampled(s, seed))
    finding.steps.append(_step(s))
    if with_mutants and finding.holds:
        finding.mutants = _mutate(s, seed)
    return finding


def _check(s: Extremum) -> None:
    """Raise Malformed for an extremum of nothing, at a point that moves, or with a false assumption of
    convexity.
    """
    if s.says not in SAYS:
        raise Malformed(f"an extremum is one of {', '.join(SAYS)}")
    if s.energy.shape():
        raise Malformed("an energy is a number")
    if any("{+}" in dim for dim in s.variable.dims):
        raise Malformed(f"{s.variable.name} is stacked: a point is that of one array")
    if s.variable in ix.tensors(apply_definitions(point_entry(s.variable, s.point), s.given)):
        raise Malformed(f"the point mentions {s.variable.name} itself")
    if s.variable not in ix.tensors(apply_definitions(s.energy.entry(), s.given)):
        raise Malformed(f"the energy does not depend on {s.variable.name}")
    for name in s.convex:
        if name in KNOWN and not KNOWN[name].convex:
            raise Malformed(f"{name} is known not to be convex")


def _difference(s: Extremum) -> Identity:
    assert s.above is not None
    return Identity(_rise(s), s.above, _given(s), reason="the difference of the energies, normal form")


def _centre(s: Extremum) -> Tensor:
    """A tensor that stands for the point."""
    latex = rf"{s.variable.symbol}^{{*}}"
    return Tensor(f"{s.variable.name}*#", s.variable.dims, latex)


def _rise(s: Extremum) -> Term:
    """energy - energy at the point."""
    return s.energy - at_point(s.energy, s.variable, as_term(_centre(s)))


def _given(s: Extremum) -> tuple[Given, ...]:
    """The hypotheses, and what the point is: exact instances then compute each of its entries once."""
    at = tuple(Index(f"{letter}#", dim) for letter, dim in zip("iklmno", s.variable.dims, strict=False))
    return (*s.given, Given(_centre(s), at, s.point[at] if at else s.point, "the point"))


def _step(s: Extremum) -> dict[str, Any]:
    return {
        "title": s.says,
        "latex": _signed(s),
        "reason": "a sum of squares and Bregman differences of convex functions",
        "grade": "exact-symbolic",
        "passed": True,
    }


def _signed(s: Extremum) -> str:
    relation = r"\le" if "maximum" in s.says else r"\ge"
    assert s.above is not None
    return f"{s.above.latex()} {relation} 0"


def _sign(s: Extremum) -> str:
    """Why the sign of the difference is not visible; "" if it is."""
    assert s.above is not None
    above = -s.above if "maximum" in s.says else s.above
    if unbound(s.energy) or unbound(s.above):
        return "an index is left open"
    if s.variable.symmetric or (s.variable.positive and not sg.positive(point_entry(s.variable, s.point))):
        return "the point is not shown to be a value of the variable"
    if open_demands([point_entry(s.variable, s.point)], s.given, ()):
        return "the point is not shown to be defined"
    if "local" in s.says and not all(_near(t, s) for _, t in subterms(s.above)):
        return "a Bregman difference is not of nearby arguments"
    if not nonnegative(above, (*CONVEX, *s.convex)):
        return "the difference is not visibly of one sign"
    if "only" in s.says and not _alone(s):
        return (
            "the difference has no positive multiple of the squared distance from the point, or of its"
            " divergence, as a summand beside others that are visibly of its sign"
        )
    return ""


def _alone(s: Extremum) -> bool:
    """Whether the difference visibly vanishes at the point only."""
    found = square_and_rest(s) or _divergence_and_rest(s)
    return bool(found or _multiple_and_rest(s, [_square(s)], _over_positive))


def _near(term: Term, s: Extremum) -> bool:
    """Whether a Bregman difference of a function that is convex near its second argument has its first
    one there.
    """
    if not isinstance(term, Bregman) or term.data in CONVEX:
        return True
    u, c = (apply_definitions(at_point(a, s.variable, s.point).entry(), s.given) for a in term.args)
    return equal(u, c)


def nonnegative(term: Term, convex: tuple[str, ...] = ()) -> bool:
    """Whether a term is visibly >= 0 for all values of its symbols."""
    match term:
        case Neg(args) if isinstance(args[0], Neg):
            return nonnegative(args[0].args[0], convex)
        case Number():
            return bool(term.data >= 0)
        case SquaredNorm():
            return True
        case Bregman():
            return term.data in convex
        case Sum_(args) | Product(args) | SumOver(args) | Frac(args) if not term.shape():
            if all(nonnegative(a, convex) for a in args):
                return True
    return not term.shape() and sg.nonnegative(term.entry())


def summands(term: Term) -> list[Term]:
    """The terms of a printed sum."""
    return [s for a in term.args for s in summands(a)] if isinstance(term, Sum_) else [term]


def square_and_rest(s: Extremum) -> tuple[Fraction, Term] | None:
    """A rational c > 0 and a term that is visibly nonnegative, for which the difference, of a maximum its
    negative, is c ‖variable - point‖² and the term; None where there are none.
    """
    return _multiple_and_rest(s, [_square(s)])


def _square(s: Extremum) -> Term:
    """The squared distance of the variable from the point."""
    return squared_norm(as_term(s.variable) - s.point)


def _multiple_and_rest(
    s: Extremum, distances: Iterable[Term], ratio: Callable[[nf.Form, nf.Form], Fraction | None] = nf.ratio
) -> tuple[Fraction, Term] | None:
    """The same for the first of some distances that the difference has a positive multiple of."""
    assert s.above is not None
    every = [-a if "maximum" in s.says else a for a in summands(s.above)]
    forms = [form for distance in distances if (form := nf.normal(distance.entry()))]
    splits = [(sum(every[1:], every[0]), as_term(0))]
    splits += [(one, sum(every[:n] + every[n + 1 :], as_term(0))) for n, one in enumerate(every)]
    for (one, rest), form in product(splits, forms):
        c = ratio(nf.normal(one.entry()), form)
        if c is not None and c > 0 and nonnegative(rest, (*CONVEX, *s.convex)):
            return c, rest
    return None


def _over_positive(one: nf.Form, two: nf.Form) -> Fraction | None:
    """1 where two forms differ by factors that are positive, else None."""
    return Fraction(1) if one and nf.primitive(one) == nf.primitive(two) else None


def divergences(here: Term, there: Term, *at: Index) -> Iterator[Term]:
    """What vanishes only where two numbers, for all values of the indices, are the same: D_F of the two in
    either order for F that are strictly convex.
    """
    for name, (one, two) in product(("exp", "cosh"), ((here, there), (there, here))):
        apart = bregman(name, one, two)
        yield sum_over(*at, apart) if at else apart


def _divergence_and_rest(s: Extremum) -> tuple[Fraction, Term] | None:
    """The same for a divergence from the point in the place of the square."""
    at = tuple(Index(f"{letter}#", dim) for letter, dim in zip("iklmno", s.variable.dims, strict=False))
    here, there = (x[at] if at else x for x in (as_term(s.variable), s.point))
    return _multiple_and_rest(s, divergences(here, there, *at))


def _sampled(s: Extremum, seed: int) -> Evidence:
    """The sign of energy - energy(point) at exact random instances; not for assumed functions, which
    are drawn at random.
    """
    if not _global(s):
        why = "the sign holds for convex functions only, or only locally, or is that of another difference"
        return Evidence("exact", "exact-rational", None, not_run=why)
    difference = _rise(s).entry()
    checked = 0
    for instance, points in exact_instances([difference], _given(s), seed, 4, False):
        sign = instance.sign(difference, points[0] if points else {})
        checked += sign is not None
        if sign == (1 if "maximum" in s.says else -1):
            where = describe(instance, {}, difference)
            return Evidence("exact", "exact-rational", False, f"{where}: the difference has the other sign")
    if checked < ENOUGH:
        why = f"only {checked} instances had a value"
        return Evidence("exact", "exact-rational", None, not_run=why)
    return Evidence("exact", "exact-rational", True, f"the sign agrees at {checked} exact instances")


def _global(s: Extremum) -> bool:
    """Whether it is about all values of the variable, and about functions whose values are known."""
    known = all(f in CONVEX for f in s.convex)
    return known and "local" not in s.says and s.says != "bounded below"


def _sought(s: Extremum, seed: int) -> str | None:
    """An exact point with a better energy, or one as good and another, in words, if one is met."""
    if not _global(s) or unbound(s.energy) or unbound(s.point):
        return None
    rise = _rise(s).entry()
    found = better(
        -rise if "maximum" in s.says else rise,
        [],
        {s.variable: _centre(s)},
        _given(s),
        seed,
        elsewhere="only" in s.says,
    )
    if found is None:
        return None
    other = "greater" if "maximum" in s.says else "less"
    is_so = f"the energy is {other} than" if found[1] else "the energy is what it is"
    return f"{describe(found[0], {}, rise)}: {is_so} at {unicode_math(s.point.latex())}"


def polynomial(s: Extremum) -> sp.Poly:
    """energy(point + t direction) - energy(point) at the witness, as a polynomial in t. Raises NotExact."""
    assert s.witness is not None
    if open_demands([s.energy.entry()], s.given, ()):
        raise NotExact("the energy is not shown to be defined along the direction")
    base = s.witness.instance(s.given)
    move = dict(point_entries(s.variable, s.direction))
    if set(move) != set(entries_of(s.variable.dims, base.sizes)) or not any(move.values()):
        raise Malformed("a direction has a value for each entry of the variable, and is not zero")
    at = tuple(Index(f"e{n}#", d) for n, d in enumerate(s.variable.dims))
    point = s.point.entry(*at)
    has = {s.variable, *(t for t, _ in s.witness.values)}
    if stray := {t.name for t in base_tensors([s.energy.entry(), point], s.given) if t not in has}:
        raise Malformed(f"the witness has no values for {', '.join(sorted(stray))}")
    centre = {e: base.evaluate(point, dict(zip(at, e, strict=True))) for e in move}
    energies = []
    for scale in (_t, sp.Integer(0)):
        moved = {
            (s.variable, e): sp.Rational(Fraction(centre[e])) + scale * sp.Rational(v)
            for e, v in move.items()
        }
        instance = Instance(base.sizes, {**base.values, **moved}, s.given)
        try:
            energies.append(sp.sympify(instance.evaluate(s.energy.entry())))
        except (AttributeError, TypeError):
            raise NotExact("the energy is not a polynomial along the direction") from None
    difference = sp.expand(energies[0] - energies[1])
    if not difference.is_polynomial(_t):
        raise NotExact("the energy is not a polynomial along the direction")
    return sp.Poly(difference, _t)


def _along(s: Extremum) -> str | None:
    """The counterexample in words, if the polynomial along the direction contradicts the statement. None of a
    function that is only assumed convex: its values are not known.
    """
    if any(is_unknown(name) for name in s.convex):
        return None
    try:
        q = polynomial(s)
    except (NotExact, ZeroDivisionError):
        return None
    if q.is_zero:
        why = "the energy does not change along the direction" if "only" in s.says else ""
    else:
        (low,), first = q.terms()[-1]
        sign = -1 if "maximum" in s.says else 1
        if "local" in s.says:
            bad = low % 2 == 1 or sign * first < 0
            side = "above" if first > 0 else "below"
            why = "which takes both signs near t = 0" if low % 2 else f"which is {side} 0 for all small t ≠ 0"
            why = why if bad else ""
        elif s.says == "bounded below":
            lead = q.LC()
            why = "which has no lower bound" if q.degree() % 2 or lead < 0 else ""
        else:
            t = rival(q, sign, strict="only" not in s.says) if not s.variable.positive else None
            why = "" if t is None else f"which is {q.eval(sp.Rational(t))} at t = {t}"
    if not why:
        return None
    assert s.witness is not None
    name, moved = unicode_math(s.variable.symbol), _nested(s.direction)
    base = "; ".join(
        filter(None, (s.witness.words(s.given, s.energy.entry()), f"{name} = point + t {moved}"))
    )
    return (
        f"{base}: the energy exceeds its value at the point by {unicode_math(sp.latex(q.as_expr()))}, {why}"
    )


def rival(q: sp.Poly, sign: int, strict: bool) -> Fraction | None:
    """Where along a direction the energy is better than at the point (``strict``), or as good."""
    for t in _REACH:
        value = sign * q.eval(sp.Rational(t))
        if value < 0 or (value == 0 and not strict):
            return t
    return None


def _nested(value: Any) -> str:
    return f"({', '.join(map(_nested, value))})" if isinstance(value, tuple) else str(value)


def _mutate(s: Extremum, seed: int) -> Mutants:
    """Changed energies and points, each against the same formula for the difference."""
    assert s.above is not None
    result, above = Mutants(), s.above.entry()
    candidates = [(f"energy: {what}", e, s.point) for what, e in mutants(s.energy, 16)]
    candidates += [(f"point: {what}", s.energy, p) for what, p in mutants(s.point, 8)]
    for what, energy, point in candidates:
        changed = replace(s, energy=energy, point=point)
        result.tried += 1
        if rejects(_rise(changed).entry(), above, _given(changed), seed):
            result.killed += 1
        elif identity(_difference(changed), seed, False).proved:
            result.equivalent += 1  # it differs by a constant, or by another name of the same point
        else:
            result.survivors.append(what)
    return result


ENGINES[Extremum] = extremum
