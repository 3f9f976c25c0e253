"""Limit: where an iteration goes. Settled by an exact recurrence of the error, refuted by an exact orbit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from numbers import Rational
from typing import Any

import sympy as sp

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions
from checks.engine.instances import FUNCTIONS, Instance, describe, exact_instances, said_at
from checks.engine.judge import ENGINES, identity, rejects
from checks.engine.mutants import mutants
from checks.engine.wellformed import keep_promises
from checks.evidence import Evidence, Mutants
from checks.kinds.examples import Point
from checks.statement import Given, Identity, Kind, Malformed
from derivations.calculus import index as ix
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.functions import IN_SYMPY, is_unknown
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term
from derivations.calculus.unicode import unicode_math

_PERIOD = 12
_z = sp.Symbol("z", real=True)
ETA = Tensor("eta", (), r"\eta", positive=True)


@dataclass(frozen=True)
class Limit(Kind):
    """state := step converges to ``limit`` from every start, for each step size in the open interval (low,
    high).

    ``limit`` None says only that it converges. The proof is the identity  step - limit = rate (state - limit)
    with a ``rate`` that depends on the step size alone: |rate| < 1 all over the interval.
    ``orbit`` offers values of all symbols, the start included, whose orbit is periodic or stays elsewhere.
    ``high`` None leaves the range open.
    """

    state: Tensor
    step: Term
    limit: Term | None
    size: Tensor = ETA
    rate: Term | None = None
    low: Fraction = Fraction(0)
    high: Fraction | None = None
    given: tuple[Given, ...] = ()
    orbit: Point | None = None
    label: str = ""

    def statement_latex(self) -> str:
        """The iteration and where it goes."""
        name = self.state.symbol
        eta = self.size.symbol
        goes = self.limit.latex() if self.limit is not None else r"\text{some limit}"
        above = f" < {self.high}" if self.high is not None else ""
        low = max(self.low, Fraction(0)) if self.size.positive else self.low
        said = self.size.positive and low == 0 and not above  # by the promise that stands below
        span = "" if said else rf" \qquad ({low} < {eta}{above})"
        gone = rf"{name} \to {goes} \text{{ from every start}}"
        return rf"{name} \leftarrow {self.step.latex()}, \qquad {gone}{span}"


def limit(statement: Limit, seed: int, with_mutants: bool) -> Finding:
    """A counterexample in one dimension or on a periodic orbit, or the proof by the rate of the error."""
    s = statement
    _check(s)
    refuted = _periodic(s) if s.orbit is not None else _one_dimensional(s, seed)
    if refuted:
        exact = Evidence("exact", "exact-rational", False, "an exact orbit does not converge as stated")
        return Finding([exact], counterexample=refuted)
    if s.rate is None or s.limit is None:
        return Finding(
            [
                Evidence(
                    "derivation",
                    "exact-symbolic",
                    None,
                    "neither a recurrence of the error (rate=) nor an orbit that does not go there is known",
                )
            ]
        )
    finding = _shown(s, s.step, s.limit, seed)
    if finding.holds is False:  # a wrong rate is no counterexample to the limit
        detail = "the error does not shrink by the rate that is offered"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail)])
    shrinks = _shrinks(s)
    if shrinks is None:
        why = "for which step sizes |rate| < 1 is not known"
        return Finding([Evidence("derivation", "exact-symbolic", None, why)], steps=finding.steps)
    detail = f"|rate| < 1 for {'every' if shrinks else 'not every'} step size in {_words(s)}"
    if finding.proved and not shrinks:
        finding.counterexample = detail
        finding.evidence = [e for e in finding.evidence if not e.settles]
        finding.evidence.append(Evidence("derivation", "exact-symbolic", False, detail))
    else:
        finding.evidence.append(Evidence("derivation", "exact-symbolic", True, detail))
    if with_mutants and finding.holds:
        finding.mutants = _mutate(s, seed)
    return finding


def _check(s: Limit) -> None:
    """Raise Malformed for a limit or a rate that depends on the state, and for no step size at all."""
    for name, term in (("limit", s.limit), ("rate", s.rate)):
        if term is None:
            continue
        at = tuple(Index(f"p{n}#", dim) for n, dim in enumerate(term.shape()))
        used = ix.tensors(apply_definitions(term.entry(*at), s.given))
        if s.state in used:
            raise Malformed(f"the {name} depends on the state")
        if name == "rate" and (
            used - {s.size}
            or ix.free_indices(term.entry(*at))
            or any(
                isinstance(n, ix.Dim | ix.Sum) or (isinstance(n, ix.Call) and is_unknown(n.function))
                for n in ix.walk(term.entry(*at))
            )
        ):
            raise Malformed("the rate depends on more than the step size")
    keep_promises(s.state, s.step, s.given)
    if s.size in {g.tensor for g in s.given} or s.state in {g.tensor for g in s.given}:
        raise Malformed("the state and the step size are not defined by anything")
    if not all(isinstance(end, Rational) for end in (s.low, s.high) if end is not None):
        raise Malformed("the range of step sizes ends at exact numbers")
    if s.high is not None and _low(s) >= s.high:
        raise Malformed("no step size lies in the range")


def _low(s: Limit) -> Fraction:
    """Where the step sizes begin: a promise that the size is positive holds as well."""
    return max(Fraction(s.low), Fraction(0)) if s.size.positive else Fraction(s.low)


def _recurrence(s: Limit, step: Term, goes: Term) -> Identity:
    assert s.rate is not None
    reason = "so the error after k steps is the k-th power of the rate times the first error"
    return Identity(step - goes, s.rate * (as_term(s.state) - goes), s.given, reason=reason)


def _shown(s: Limit, step: Term, goes: Term, seed: int) -> Finding:
    """The recurrence of the error for every step size or, where that fails, for those of the interval."""
    plain = identity(_recurrence(s, step, goes), seed, False)
    if plain.proved:
        return plain
    within = (identity(one, seed, False) for one in _within(s, _recurrence(s, step, goes)))
    return next((finding for finding in within if finding.proved), plain)


def _within(s: Limit, recurrence: Identity) -> Iterator[Identity]:
    """The recurrence with a step size that runs through the open interval as t does through (0, ∞): from
    either end, because a pole at an end is then seen to lie outside.
    """
    low = _low(s)
    t = as_term(Tensor(_new_name(s, recurrence), positive=True))
    ways = [low + t]
    if s.high is not None:
        inside = (s.high - low) * t / (1 + t)
        ways = [s.high - inside, low + inside]
    for way in ways:
        yield replace(
            recurrence,
            lhs=at_point(recurrence.lhs, s.size, way),
            rhs=at_point(recurrence.rhs, s.size, way),
            given=tuple(replace(g, value=at_point(g.value, s.size, way)) for g in s.given),
        )


def _new_name(s: Limit, recurrence: Identity) -> str:
    """A letter that nothing has, what is defined included: a definition of t would be put in its place."""
    terms = (recurrence.lhs, recurrence.rhs, *(g.value for g in s.given))
    used = set().union({g.tensor for g in s.given}, *map(_tensors, terms))
    taken = {name for x in used for name in (x.name, x.symbol)}
    return next(name for n in count() if (name := "t" + "'" * n) not in taken)


def _tensors(term: Term) -> set[Tensor]:
    return ix.tensors(term.entry(*(Index(f"p{n}#", dim) for n, dim in enumerate(term.shape()))))


def _shrinks(s: Limit, start: Fraction | None = None) -> bool | None:
    """Whether |rate| < 1 at every step size of the open interval: 1 - rate² has no root there and is positive
    at one place. Decided by counting real roots exactly; None for a rate that is no quotient of polynomials
    with rational coefficients, or that has a pole there. The interval begins at ``start`` where that is
    given, whatever is promised of the size.
    """
    assert s.rate is not None
    eta = sp.Symbol("eta", real=True)
    value = evaluate(s.rate.entry(), {}, lambda tensor, entry: {s.size: eta}[tensor], IN_SYMPY)
    try:
        top, bottom = sp.fraction(sp.together(1 - sp.sympify(value) ** 2))
        above, below = (sp.Poly(part, eta, domain="QQ") for part in (top, bottom))
    except (sp.PolynomialError, sp.CoercionFailed):
        return None
    low = sp.Rational(_low(s) if start is None else start)
    if _roots(below, low, s):
        return None
    inner = low + 1 if s.high is None else (low + sp.Rational(s.high)) / 2
    return not _roots(above, low, s) and bool(above.eval(inner) / below.eval(inner) > 0)


def _roots(poly: sp.Poly, low: sp.Rational, s: Limit) -> int:
    """The different real roots in the open interval (all of them, if it vanishes everywhere)."""
    if poly.is_zero:
        return 1
    high = None if s.high is None else sp.Rational(s.high)
    ends = [end for end in (low, high) if end is not None and poly.eval(end) == 0]
    return int(poly.count_roots(low, high)) - len(ends)


def _words(s: Limit) -> str:
    return f"({_low(s)}, {'∞' if s.high is None else s.high})"


def _stated(s: Limit) -> sp.Set:
    """The step sizes that the statement names; all above ``low`` where it names no end."""
    return sp.Interval.open(sp.Rational(_low(s)), sp.oo if s.high is None else sp.Rational(s.high))


def _one_dimensional(s: Limit, seed: int) -> str | None:
    """With all dimensions 1 the step is z -> a z + b in exact arithmetic, for every step size at once."""
    eta = sp.Symbol("eta", positive=True)
    at = tuple(Index(f"e{n}#", d) for n, d in enumerate(s.state.dims))
    step = s.step.entry(*at)
    goal = s.limit.entry(*at) if s.limit is not None else None
    everything = [step] if goal is None else [step, goal]
    for number, (instance, points) in enumerate(exact_instances(everything, s.given, seed, 6, True)):
        if any(size != 1 for size in instance.sizes.values()):
            return None
        if number == 0:  # the simplest instance first
            instance = Instance(instance.sizes, dict.fromkeys(instance.values, Fraction(1)), s.given)
        where = points[0] if points else {}

        def step_at(state: Any, instance: Instance = instance, where: Any = where) -> Any:
            values = {
                k: (state if k[0] == s.state else eta if k[0] == s.size else v)
                for k, v in instance.values.items()
            }
            return sp.sympify(
                evaluate(
                    step, instance.sizes, Instance(instance.sizes, values, s.given).lookup, FUNCTIONS, where
                )
            )

        try:
            moved = sp.expand(step_at(_z))
            target = None if goal is None else sp.sympify(instance.evaluate(goal, where))
        except (NotExact, TypeError, AttributeError, ZeroDivisionError):
            continue
        if moved.has(sp.nan, sp.zoo, sp.oo) or not moved.is_polynomial(_z) or sp.degree(moved, _z) > 1:
            continue  # no step is defined there, or it is not affine
        a, b = sp.simplify(moved.coeff(_z, 1)), moved.coeff(_z, 0)
        if goal is not None and s.size in ix.tensors(apply_definitions(goal, s.given)):
            return None
        why = _wrong(a, b, target, s)
        if why:
            fixed = {k: v for k, v in instance.values.items() if k[0] not in (s.state, s.size)}
            text = describe(Instance(instance.sizes, fixed, s.given), {}, *everything)
            moved_to = _printed(sp.expand(a * _z + b), s)
            return said_at(text, f"one step takes z to {moved_to}, {why}")
    return None


def _printed(expr: sp.Expr, s: Limit) -> str:
    """A formula of the step size, by the name that it has in the statement."""
    names = {size: s.size.symbol for size in expr.free_symbols - {_z}}
    return str(unicode_math(sp.latex(expr, symbol_names=names)))


def _wrong(a: sp.Expr, b: sp.Expr, target: sp.Expr | None, s: Limit) -> str | None:
    """Why z -> a z + b does not tend to the target from every start, at any step size."""
    if sp.simplify(a - 1) == 0:
        if sp.simplify(b) != 0:
            return "which moves every state by the same amount for ever"
        return "which leaves every state where it is" if target is not None else None
    fixed = sp.simplify(b / (1 - a))
    if target is not None and sp.simplify(fixed - target) != 0:
        return f"whose only fixed point is {_printed(fixed, s)}, not {_printed(target, s)}"
    return None


def _periodic(s: Limit) -> str | None:
    """The orbit of the offered start, if it returns to a state that is not a fixed point, or stays at one
    that is not the limit.
    """
    assert s.orbit is not None
    instance = s.orbit.instance(s.given)
    if (s.size, ()) in instance.values and instance.values[s.size, ()] not in _stated(s):
        return None  # the statement says nothing about this step size
    at = tuple(Index(f"e{n}#", d) for n, d in enumerate(s.state.dims))
    entries = sorted(e for t, e in instance.values if t == s.state)
    places = [dict(zip(at, e, strict=True)) for e in entries]
    states = [tuple(instance.values[s.state, e] for e in entries)]
    for _ in range(_PERIOD):
        values = {**instance.values, **{(s.state, e): v for e, v in zip(entries, states[-1], strict=True)}}
        now = Instance(instance.sizes, values, s.given)
        step = s.step.entry(*at)
        new = _values(step, now, places)
        if new == states[-1]:
            if s.limit is None or (goal := _values(s.limit.entry(*at), now, places)) == new:
                return None
            stays = f"the state stays at {_row(new)}, and the limit is {_row(goal)}"
            return f"{s.orbit.words(s.given, step)}: {stays}"
        if new in states:
            shown = " -> ".join(map(_row, [*states, new]))
            return f"{s.orbit.words(s.given, step)}: the states are {shown}, a cycle"
        states.append(new)
    return None


def _values(expr: ix.Expr, now: Instance, places: list[dict[Index, int]]) -> tuple[Any, ...]:
    return tuple(evaluate(expr, now.sizes, now.lookup, FUNCTIONS, place) for place in places)


def _row(values: tuple[Any, ...]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


def _mutate(s: Limit, seed: int) -> Mutants:
    """Changed steps and limits against the recurrence, and shifted ends of the interval."""
    assert s.limit is not None
    result = Mutants()
    candidates = [(f"step: {what}", t, s.limit) for what, t in mutants(s.step, 16)]
    candidates += [(f"limit: {what}", s.step, t) for what, t in mutants(s.limit, 8)]
    for what, step, goes in candidates:
        recurrence = _recurrence(s, step, goes)
        at = tuple(Index(f"e{n}#", d) for n, d in enumerate(recurrence.lhs.shape()))
        result.tried += 1
        if rejects(recurrence.lhs.entry(*at), recurrence.rhs.entry(*at), s.given, seed):
            result.killed += 1
        elif _shown(s, step, goes, seed).proved:
            result.equivalent += 1
        else:
            result.survivors.append(what)
    half = Fraction(1, 2)
    wider = [replace(s, low=s.low - half)]
    wider += [replace(s, high=s.high + half)] if s.high is not None else []
    for changed in wider:
        result.tried += 1
        if _shrinks(changed, changed.low) is False:
            result.killed += 1
        else:
            result.survivors.append(f"step sizes in {_words(changed)}")
    return result


ENGINES[Limit] = limit
