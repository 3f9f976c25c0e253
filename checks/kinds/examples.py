"""Statements settled at one exact instance: an example that shows something, a rule that it breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from checks.engine.domain import hidden_demands
from checks.engine.finding import Finding
from checks.engine.hypotheses import check_given
from checks.engine.instances import Instance, as_written, describe, entries_of
from checks.engine.judge import ENGINES, conformable
from checks.engine.mutants import mutants
from checks.evidence import Evidence
from checks.statement import (
    RELATIONS,
    Fact,
    Given,
    Kind,
    Malformed,
    follows_latex,
    for_all,
    shared_with,
)
from derivations.calculus import exact
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.components import NotExact
from derivations.calculus.exact import Exponential
from derivations.calculus.functions import EXPONENT, is_unknown
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.term import Term, free

Values = tuple[tuple[Tensor, Any], ...]


@dataclass(frozen=True)
class Point:
    """Exact values of all symbols: ``sizes`` of the dimensions, ``values`` as nested tuples, indices ``at``.
    ``Point((("N", 2),), ((v, (1, 2)),), ((i, 1),))`` gives v_1 = 1, v_2 = 2 at i = 1.

    Indices count from 1. An index that is not fixed runs over its whole range. Raises TypeError for what is
    not written so.
    """

    sizes: tuple[tuple[str, int], ...]
    values: Values
    at: tuple[tuple[Index, int], ...] = ()

    def __post_init__(self) -> None:
        for name, kind in (("sizes", str), ("values", Tensor), ("at", Index)):
            pairs = getattr(self, name)
            if not isinstance(pairs, tuple) or not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
                raise TypeError(f"the {name} of a point are a tuple of pairs, not {pairs!r}")
            if wrong := next((key for key, _ in pairs if not isinstance(key, kind)), None):
                said = "the name of a dimension" if kind is str else f"the {kind.__name__} itself"
                raise TypeError(f"in the {name} of a point, {said} stands before each value, not {wrong!r}")

    def instance(self, given: tuple[Given, ...]) -> Instance:
        """The values as the exact evaluator wants them. Raises Malformed where they break a promise or
        a definition.
        """
        check_given(given)
        if len(dict(self.sizes)) < len(self.sizes) or not all(
            isinstance(n, int) and n >= 1 for _, n in self.sizes
        ):
            raise Malformed("a size is a whole number from 1 on, given once")
        sizes = dict(self.sizes)
        for dim, parts in ((d, summands(d)) for d in sizes):
            if len(parts) > 1 and sizes[dim] != sum(sizes.get(p, 1 if p == "1" else 0) for p in parts):
                raise Malformed(
                    f"the size of {dim} is the sum of those of its parts, which are given as well"
                )
        if as_written(sizes) != sizes:
            raise Malformed("a size that is written with others has the value that they give it")
        if len(dict(self.values)) < len(self.values) or len(dict(self.at)) < len(self.at):
            raise Malformed("a tensor or an index is given two values")
        entries: dict[tuple[Tensor, tuple[int, ...]], Any] = {}
        defined = {g.tensor for g in given}
        for t, nested in self.values:
            if t in defined:
                raise Malformed(f"{t.name} is defined: it takes no value of its own")
            if lacking := [d for d in t.dims if d != "1" and d not in sizes]:
                raise Malformed(f"the point gives no size to {lacking[0]}")
            offered = point_entries(t, nested)
            if {at for at, _ in offered} != set(entries_of(t.dims, dict(self.sizes))):
                raise Malformed(f"{t.name} is not given one value for each of its entries")
            for at, value in offered:
                if t.positive and Exponential.of(value).sign() <= 0:
                    raise Malformed(f"{t.name} is promised positive, and the point gives it {value}")
                if t == EXPONENT and Fraction(value).denominator > 1:
                    raise Malformed(f"{t.name} is a whole number, and the point gives it {value}")
                if t.symmetric and entries.get((t, at[::-1]), value) != value:
                    raise Malformed(f"{t.name} is promised symmetric, and the point is not")
                entries[t, at] = value
        return Instance(dict(self.sizes), entries, given)

    def words(self, given: tuple[Given, ...], *expressions: ix.Expr) -> str:
        """The instance as text, with what stands for the unknown functions of expressions."""
        return describe(self.instance(given), {i: n - 1 for i, n in self.at}, *expressions)


def point_entries(tensor: Tensor, nested: Any) -> list[tuple[tuple[int, ...], Any]]:
    """The entries that a point gives a tensor. Raises Malformed for another depth than that of its
    dimensions and for what is no exact number.
    """
    try:
        return nested_entries(nested, len(tensor.dims))
    except (ValueError, ArithmeticError):
        raise Malformed(f"{tensor.name} is given something that is no number") from None
    except TypeError:
        raise Malformed(f"{tensor.name} is not given as an array of dimensions {tensor.dims}") from None


def nested_entries(nested: Any, depth: int) -> list[tuple[tuple[int, ...], Any]]:
    """The entries of a tensor of ``depth`` dimensions that is written as nested tuples: (position,
    exact value).
    """
    if depth == 0:
        return [((), nested if isinstance(nested, Exponential) else Fraction(nested))]
    return [
        ((n, *rest), value)
        for n, part in enumerate(nested)
        for rest, value in nested_entries(part, depth - 1)
    ]


def values_of(term: Term, point: Point, given: tuple[Given, ...]) -> list[Any]:
    """The values of a scalar term, one for each choice of the indices that the point leaves open."""
    expr = term.entry()
    fixed = {i: n - 1 for i, n in point.at}
    if any(not 0 <= fixed[i] < dict(point.sizes).get(i.dim, 1) for i in fixed):
        raise Malformed("an index of the point is out of its range")
    loose = sorted(ix.free_indices(expr) - fixed.keys(), key=lambda i: i.name)
    sizes, instance = dict(point.sizes), point.instance(given)
    try:
        choices = product(*(range(sizes[i.dim]) for i in loose))
        return [instance.value(expr, {**fixed, **dict(zip(loose, c, strict=True))}) for c in choices]
    except KeyError as missing:
        raise Malformed(f"the point gives no value to {absent(missing)}") from None


def absent(missing: KeyError) -> str:
    """What an instance looked for, by its name: a tensor, or a dimension."""
    thing = missing.args[0][0] if isinstance(missing.args[0], tuple) else missing.args[0]
    return str(getattr(thing, "name", thing))


def true_at(fact: Fact, point: Point, given: tuple[Given, ...]) -> bool | None:
    """Whether a fact holds at a point, for all values of its open indices; None where it is undefined
    or not decided.
    """
    try:
        return all(_compare(value, fact.relation) for value in values_of(fact.term, point, given))
    except (NotExact, ZeroDivisionError):
        return None


def _compare(value: Any, relation: str) -> bool:
    sign = exact.sign(value)
    return {"=": sign == 0, "!=": sign != 0, ">=": sign >= 0, ">": sign > 0}[relation]


@dataclass(frozen=True)
class Rule(Kind):
    """For all values of the symbols: if the hypotheses hold, so does the conclusion.

    Only for rules that fail: ``point`` is offered as a counterexample, and the engine accepts it only if all
    hypotheses hold there exactly and the conclusion does not. Otherwise nothing is settled.
    """

    at_points: ClassVar[bool] = True
    hypotheses: tuple[Fact, ...]
    conclusion: Fact
    point: Point
    given: tuple[Given, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """Hypotheses and conclusion."""
        return follows_latex(self.hypotheses, self.conclusion)


@dataclass(frozen=True)
class Example(Kind):
    """At this exact instance these facts hold: an existence statement, settled by the instance."""

    exists: ClassVar[bool] = True
    at_points: ClassVar[bool] = True
    facts: tuple[Fact, ...]
    point: Point
    given: tuple[Given, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The facts, one a line; those of an index that the instance does not fix hold for each."""
        fixed = {index for index, _ in self.point.at}
        lines = [f.latex() + for_all(free(f.term) - fixed, r"\ ") for f in self.facts]
        shown = lines[0] if len(lines) == 1 else r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"
        return rf"{shown} \quad \text{{at one instance}}"


def _check(facts: tuple[Fact, ...]) -> None:
    if not facts:
        raise Malformed("no fact is stated")
    for fact in facts:
        if fact.relation not in RELATIONS:
            raise Malformed(f"a relation is one of {', '.join(RELATIONS)}")


def rule(statement: Rule, seed: int, with_mutants: bool) -> Finding:
    """Accept the offered counterexample or settle nothing."""
    finding = Finding()
    _check((*statement.hypotheses, statement.conclusion))
    for fact in (*statement.hypotheses, statement.conclusion):
        shapes = conformable(fact.term)
        if not shapes.passed:
            return Finding([shapes], counterexample=shapes.detail)
    shared = shared_with(statement.conclusion)
    pinned = tuple((i, n) for i, n in statement.point.at if i in shared)
    everywhere = replace(statement.point, at=pinned)  # an index of a hypothesis alone takes all its values
    kept = [true_at(h, everywhere, statement.given) for h in statement.hypotheses]
    kept.append(defined_at(statement, statement.point))
    if all(kept) and true_at(statement.conclusion, statement.point, statement.given) is False:
        got = values_of(statement.conclusion.term, statement.point, statement.given)
        shown = ", ".join(map(str, got))
        said = (f.term.entry() for f in (*statement.hypotheses, statement.conclusion))
        finding.counterexample = (
            f"{statement.point.words(statement.given, *said)}: the hypotheses hold, but "
            f"{statement.conclusion.name} has value {shown}, not {statement.conclusion.relation} 0"
        )
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
    else:
        detail = "the instance does not break the rule"
        finding.evidence.append(Evidence("exact", "exact-rational", None, detail))
    return finding


def defined_at(statement: Any, point: Point) -> bool:
    """Whether at a point every definition has a value, also where no fact uses it, and every formula inside
    another, for all values of its indices.
    """
    instance = point.instance(statement.given)
    try:
        for g in statement.given:
            for entry in entries_of(g.tensor.dims, instance.sizes):
                instance.lookup(g.tensor, entry, balls=True)
        for demand in hidden_demands(statement):
            loose = sorted(ix.free_indices(demand.base), key=lambda i: i.name)
            for place in entries_of(tuple(i.dim for i in loose), instance.sizes):
                if instance.sign(demand.base, dict(zip(loose, place, strict=True))) not in demand.signs:
                    return False
    except (NotExact, ZeroDivisionError, KeyError):
        return False
    return True


def example(statement: Example, seed: int, with_mutants: bool) -> Finding:
    """Evaluate every fact exactly; a mutant of a fact must fail at the instance.

    An instance that fails settles nothing: another one may do.
    """
    point, given = statement.point, statement.given
    _check(statement.facts)
    calls = {n.function for f in statement.facts for n in ix.walk(f.term.entry()) if isinstance(n, ix.Call)}
    if any(map(is_unknown, calls)):
        raise Malformed("an instance says nothing about a function that is not known")
    held = [true_at(f, point, given) for f in statement.facts]
    wrong = [f.name for f, holds in zip(statement.facts, held, strict=True) if holds is False]
    missing = [f.name for f, holds in zip(statement.facts, held, strict=True) if holds is None]
    ends = {"fails": wrong, "undefined or not decided": missing}
    said = "; ".join(f"{words}: {', '.join(names)}" for words, names in ends.items() if names)
    if not said and not defined_at(statement, point):
        said, missing = "not shown to be defined", ["a definition"]
    detail = f"{point.words(given)}: {said or 'all facts hold exactly'}"
    whole = None if wrong or missing else True
    finding = Finding([Evidence("exact", "exact-rational", whole, detail, settles=True)])
    for f, passed in zip(statement.facts, held, strict=True):
        step = {"title": f.name, "latex": f.latex(), "reason": point.words(given)}
        finding.steps.append({**step, "grade": "exact-rational", "passed": passed})
    if with_mutants and whole:
        for f in statement.facts:
            if f.relation == "=":
                _count_mutants(finding, f, point, given)
    return finding


def _count_mutants(finding: Finding, fact: Fact, point: Point, given: tuple[Given, ...]) -> None:
    for what, mutant in mutants(fact.term, 12):
        finding.mutants.tried += 1
        try:
            still_true = all(_compare(value, "=") for value in values_of(mutant, point, given))
        except (ZeroDivisionError, NotExact):
            still_true = False
        if not still_true:
            finding.mutants.killed += 1
        elif nf.ratio(nf.normal(mutant.entry()), nf.normal(fact.term.entry())):
            finding.mutants.equivalent += 1  # it vanishes where the term does
        else:
            finding.mutants.survivors.append(f"{fact.name}: {what}: {mutant.latex()}")


ENGINES[Rule] = rule
ENGINES[Example] = example
