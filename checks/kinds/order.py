"""Order: a formula in a small parameter approximates another up to a given power of it.

The coefficients of both sides come from two routes that share nothing: derivatives at 0 by index calculus,
compared as normal forms for symbolic dimensions, and truncated power series in exact arithmetic on instances.
Where the two disagree no verdict is given. Parameters that the formula leaves open (a learning rate, say)
take the values of ``choice`` in a proof; an offered counterexample must hold for every value of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import factorial
from typing import Any

import sympy as sp

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions, check_given
from checks.engine.instances import Instance, describe, exact_instances, said_at
from checks.engine.judge import ENGINES, ENOUGH, conformable, equal
from checks.engine.mutants import mutants
from checks.evidence import Evidence, Mutants
from checks.kinds.examples import Point
from checks.statement import Given, Kind, Malformed
from derivations.calculus import differentiate
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.differentiate import SYMPY_FUNCTIONS, DerivativeMismatch
from derivations.calculus.index import Index, Tensor
from derivations.calculus.series import Series, series_functions
from derivations.calculus.term import Number, Term
from derivations.calculus.unicode import unicode_math

_STRIDE = 4  # the two routes to a derivative are compared at every fourth instance


@dataclass(frozen=True)
class Order(Kind):
    """``exact - approximate = O(small^order)`` as small → 0, for all values of the other symbols.

    ``choice`` gives the open tensors the values for which it is proved; ``witness`` offers a counterexample,
    or a point that attains the order.
    ``null`` names the tensors that are set to 0 when asking whether the order is attained.
    """

    exact: Term
    approximate: Term
    small: Tensor
    order: int
    choice: tuple[Given, ...] = ()
    witness: Point | None = None
    null: tuple[Tensor, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The two sides and the order of their difference."""
        power = rf"^{{{self.order}}}" if self.order > 1 else ""
        chosen = ",\\ ".join(map(_chosen, self.choice))
        end = rf"\qquad ({chosen})" if chosen else ""
        name = self.small.symbol
        return rf"{self.exact.latex()} = {self.approximate.latex()} + O({name}{power}){end}"


def _chosen(given: Given) -> str:
    return f"{given.defined.latex()} = {given.value.latex()}"


@lru_cache(maxsize=64)  # one side of every mutant is that of the statement
def derivatives(expr: ix.Expr, small: Tensor, count: int) -> tuple[ix.Expr, ...]:
    """The value and the first ``count - 1`` derivatives at 0, by index calculus."""
    found = []
    for n in range(count):
        expr = differentiate.index_route(expr, small, ()) if n else expr
        found.append(ix.define(expr, small, lambda: ix.Num(Fraction(0))))
    return tuple(found)


def coefficients(
    expr: ix.Expr, small: Tensor, count: int, instance: Instance, at: dict[Index, int]
) -> list[Any]:
    """The first ``count`` power series coefficients at an instance, by exact series arithmetic."""

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        if tensor == small:
            return Series.parameter(count)
        return Series.constant(instance.lookup(tensor, entry), count)

    value = evaluate(expr, instance.sizes, lookup, series_functions(count), at, {})
    return value.terms if isinstance(value, Series) else [value, *[Fraction(0)] * (count - 1)]


def order(statement: Order, seed: int, with_mutants: bool) -> Finding:
    """Shapes; an offered or found counterexample; coefficients equal as normal forms; whether the order
    is attained.
    """
    known = _judged(replace(statement, label=""), seed, with_mutants)
    return Finding(list(known.evidence), list(known.steps), known.counterexample, known.mutants)


@lru_cache(maxsize=32)
def _judged(statement: Order, seed: int, with_mutants: bool) -> Finding:
    """Statements that differ in their label only are judged once."""
    finding = Finding()
    check_order(statement)
    shapes = conformable(statement.exact, statement.approximate)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    finding.counterexample = _witnessed(statement) or _found(statement, seed)
    if finding.counterexample:
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
        return finding
    _compare_routes(statement, seed)
    agreed = _agreed(statement, seed)
    _prove(statement, finding, _unsupported(statement, agreed))
    detail = f"at {agreed} exact random instances the series agree below the power {statement.order}"
    finding.evidence.append(
        Evidence("exact", "exact-rational", True, detail)
        if agreed >= ENOUGH
        else Evidence("exact", "exact-rational", None, not_run=f"only {agreed} instances had exact series")
    )
    finding.evidence.append(_attained(statement, seed))
    if with_mutants:
        finding.mutants = _mutate(statement, seed)
    return finding


def check_order(s: Order) -> None:
    """Raise Malformed where nothing is compared: no power, or a choice that empties the formula or makes both
    sides the same.
    """
    if not isinstance(s.order, int) or s.order < 1:
        raise Malformed("an order is a whole number from 1 on")
    check_given(s.choice)
    if s.exact.shape() or s.approximate.shape():
        raise Malformed("an order is that of a number")
    if s.small in {g.tensor for g in s.choice}:
        raise Malformed(f"{s.small.name} is given a value")
    if any(s.small in ix.tensors(apply_definitions(g.value.entry(), s.choice)) for g in s.choice):
        raise Malformed(f"what is chosen for all {s.small.name} does not depend on it")
    if s.small.dims:
        raise Malformed(f"the small parameter {s.small.name} is a number")
    full, chosen = nf.normal(s.exact.entry()), nf.normal(apply_definitions(s.exact.entry(), s.choice))
    if full and not chosen:
        raise Malformed("the choice makes the formula vanish")
    if s.choice and equal(*_sides(s)):
        raise Malformed("the choice makes both sides the same")


def _unsupported(s: Order, agreed: int) -> str:
    """Why equal derivatives at 0 do not prove the order; "" if they do."""
    if agreed < ENOUGH:
        return f"only {agreed} instances had exact series"
    for side in _sides(s):
        at_zero = ix.define(side, s.small, lambda: ix.Num(Fraction(0)))
        if any(not sg.signs(d.base) <= d.signs for d in sg.interior(at_zero)):
            return f"a side is not shown to be smooth near {_small(s)} = 0"
    return ""


def _pole(s: Order) -> str:
    """Where the derivatives at 0 are asked of a side that is written with a division by 0, say so."""
    for side in _sides(s):
        at_zero = ix.define(side, s.small, lambda: ix.Num(Fraction(0)))
        for demand in sg.demands(at_zero):
            if not sg.signs(demand.base) & demand.signs:
                return f"; as it is written a side is not defined at {_small(s)} = 0"
    return ""


def _agreed(s: Order, seed: int) -> int:
    """How many instances gave both sides exact series, which agreed there: `_found` has looked at all
    of them.
    """
    count = 0
    for instance, at in _points(s, seed):
        try:
            for side in _sides(s):
                coefficients(side, s.small, s.order, instance, at)
            count += 1
        except (NotExact, ZeroDivisionError):
            continue
    return count


def _small(s: Order) -> str:
    return unicode_math(s.small.symbol)


def _power(s: Order, exponent: int) -> str:
    return unicode_math(f"{s.small.symbol}^{{{exponent}}}")


def _sides(s: Order) -> list[ix.Expr]:
    return [apply_definitions(t.entry(), s.choice) for t in (s.exact, s.approximate)]


def _same(s: Order) -> list[bool]:
    """For each power below the order, whether the derivatives at 0 have equal normal forms."""
    one, two = (derivatives(e, s.small, s.order) for e in _sides(s))
    return [equal(a, b) for a, b in zip(one, two, strict=True)]


def _prove(s: Order, finding: Finding, unsupported: str) -> None:
    same = _same(s)
    for n, passed in enumerate(same):
        left, right = (rf"\partial^{n}\left({t.latex()}\right)\Big|_0" for t in (s.exact, s.approximate))
        step = {
            "title": f"coefficient of {_power(s, n)}",
            "latex": f"{left} = {right}",
            "reason": "derivatives at 0 by index calculus, confirmed by series arithmetic; equal normal "
            "forms",
            "grade": "exact-symbolic",
            "passed": passed,
        }
        finding.steps.append(step)
    for g in s.choice:
        latex = rf"{g.tensor.latex} = {g.value.latex()}"
        step = {
            "title": "choice",
            "latex": latex,
            "reason": g.reason,
            "grade": "exact-symbolic",
            "passed": True,
        }
        finding.steps.insert(0, step)
    proved = all(same)
    detail = "the coefficients agree for symbolic dimensions"
    if not proved:
        missing = ", ".join(_power(s, n) for n, passed in enumerate(same) if not passed)
        detail = f"not shown to agree: the coefficient of {missing}{_pole(s)}"
    if proved and unsupported:
        proved, detail = False, f"the coefficients by index calculus agree, but {unsupported}"
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", True if proved else None, detail, settles=True)
    )


def _compare_routes(s: Order, seed: int) -> None:
    """Raise DerivativeMismatch where derivatives by index calculus are not n! times the series
    coefficients.
    """
    for expr in _sides(s):
        by_index = derivatives(expr, s.small, s.order)
        for instance, at in islice(_points(s, seed), 0, None, _STRIDE):
            try:
                series = coefficients(expr, s.small, s.order, instance, at)
                values = [instance.evaluate(e, at) for e in by_index]
            except (NotExact, ZeroDivisionError):
                continue
            for n, (value, coefficient) in enumerate(zip(values, series, strict=True)):
                if value != coefficient * factorial(n):
                    raise DerivativeMismatch(
                        f"derivative {n} by {_small(s)}: {value} against {coefficient}·{n}!"
                    )


def _witnessed(s: Order) -> str | None:
    """The offered instance in words if a coefficient differs there, whatever the open parameters are."""
    if s.witness is None:
        return None
    instance, at = s.witness.instance(s.choice), {i: n - 1 for i, n in s.witness.at}
    given = {t for t, _ in s.witness.values}

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        if tensor in given:
            return sp.Rational(*_ratio(instance.lookup(tensor, entry)))
        return differentiate.sympy_lookup(tensor, entry)

    sides = [derivatives(t.entry(), s.small, s.order) for t in (s.exact, s.approximate)]
    for n, pair in enumerate(zip(*sides, strict=True)):
        one, two = (sp.sympify(evaluate(e, instance.sizes, lookup, SYMPY_FUNCTIONS, at)) for e in pair)
        gap = sp.simplify(one - two)
        if gap.is_zero is False and gap.is_finite:
            return (
                f"{describe(instance, at)}: the derivative {n} by {_small(s)} is {one}, the formula has {two}"
            )
    return None


def _ratio(value: Any) -> tuple[int, int]:
    return value.numerator, value.denominator


def _points(s: Order, seed: int) -> Iterator[tuple[Instance, dict[Index, int]]]:
    """Exact instances, half of them with some tensors set to 0: there nested exponentials stay exact too."""
    rng = random.Random(f"{seed} sparse")
    for instance, points in exact_instances(_sides(s), (), seed, 2, True, spread=True):
        kept = {t for t in {t for t, _ in instance.values} if t.positive or rng.random() < 0.5}
        sparse = {key: value if key[0] in kept else Fraction(0) for key, value in instance.values.items()}
        at = rng.choice(points)
        yield instance, at
        yield Instance(instance.sizes, sparse, ()), at


def _words(s: Order, instance: Instance, at: dict[Index, int]) -> str:
    values = {key: value for key, value in instance.values.items() if key[0] != s.small}
    return describe(Instance(instance.sizes, values, ()), at)


def _found(s: Order, seed: int, first: int | None = None) -> str | None:
    """A random exact instance (one of the ``first``) at which a coefficient differs, or None."""
    one, two = _sides(s)
    for instance, at in islice(_points(s, seed), first):
        try:
            left, right = (coefficients(e, s.small, s.order, instance, at) for e in (one, two))
        except (NotExact, ZeroDivisionError):
            continue
        for n in range(s.order):
            if left[n] != right[n]:
                values = f"is {left[n]}, the formula has {right[n]}"
                return said_at(_words(s, instance, at), f"the coefficient of {_power(s, n)} {values}")
    return None


def _attained(s: Order, seed: int) -> Evidence:
    """Whether the coefficient of the claimed order itself differs somewhere, with the ``null`` tensors
    set to 0.
    """
    quiet = tuple(
        Given(t, tuple(Index(f"n{k}#", d) for k, d in enumerate(t.dims)), Number((), Fraction(0)), "")
        for t in s.null
    )
    next_order = replace(s, order=s.order + 1, choice=(*s.choice, *quiet))
    found = _witnessed(replace(s, order=s.order + 1)) or _found(next_order, seed)
    detail = (
        f"the order {s.order} is attained: {found}" if found else f"no instance attains the order {s.order}"
    )
    return Evidence("exact", "exact-rational", True if found else None, detail)


def _mutate(s: Order, seed: int) -> Mutants:
    result = Mutants()
    changed = [(what, replace(s, exact=m)) for what, m in mutants(s.exact, 16)]
    changed += [(what, replace(s, approximate=m)) for what, m in mutants(s.approximate, 16)]
    for what, mutant in changed:
        result.tried += 1
        match _rejected(mutant, seed):
            case True:
                result.killed += 1
            case False:
                result.equivalent += 1
            case None:
                result.survivors.append(f"{what}: {mutant.statement_latex()}")
    return result


def _rejected(s: Order, seed: int) -> bool | None:
    """True: an instance tells the sides apart below the order; False: proved equal below it; None:
    neither.
    """
    if _found(s, seed, first=8):
        return True
    try:
        one, two = (derivatives(e, s.small, s.order) for e in _sides(s))
        if all(map(nf.equal, one, two)) or all(_same(s)):
            return False
    except ZeroDivisionError:
        return True  # a denominator vanishes identically
    return True if _found(s, seed) else None


ENGINES[Order] = order
