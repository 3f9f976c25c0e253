"""Implication: what follows from equations and inequalities, by a certificate; refuted by an exact point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from checks.engine.domain import hidden_demands
from checks.engine.finding import Finding
from checks.engine.hypotheses import facts_of, of_none
from checks.engine.instances import (
    Instance,
    assigned,
    describe,
    dimensions,
    entries_of,
    exact_instances,
    ones,
    solved,
)
from checks.engine.judge import ENGINES, ENOUGH, attempt, conformable, difference, equal
from checks.engine.mutants import mutants
from checks.engine.printing import added
from checks.evidence import Evidence
from checks.kinds.extremum import CONVEX
from checks.kinds.extremum import nonnegative as visibly
from checks.statement import Fact, Kind, Malformed, follows_latex
from derivations.calculus import cases
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact
from derivations.calculus.exact import Exponential
from derivations.calculus.index import Index
from derivations.calculus.term import Term

_RELATIONS = ("=", ">=", ">")


@dataclass(frozen=True)
class Implication(Kind):
    """If all hypotheses hold, so does the conclusion.

    The certificate is an identity  factor · conclusion = Σ multiplier_n · hypothesis_n + rest  in which
    ``factor`` is a nonnegative combination of the named hypotheses with at least one strict one (or 1 when
    empty), the multiplier of an inequality is nonnegative, and ``rest`` (nothing unless given, for an
    inequality) is visibly nonnegative in each case of the signs of what stands in absolute values, or by
    squares and Bregman differences of convex functions. An index of a hypothesis that occurs in the
    conclusion as well is the same there; one that does not is any: the hypothesis holds for all its values.
    ``witness`` is an exact assignment offered as a counterexample: the engine accepts it only if every
    hypothesis holds and the conclusion fails.
    """

    hypotheses: tuple[Fact, ...]
    conclusion: Fact
    multipliers: tuple[tuple[str, Term], ...] = ()
    factor: tuple[tuple[str, Fraction], ...] = ()
    witness: tuple[tuple[str, Fraction], ...] = ()
    rest: Term | None = None
    label: str = ""

    def without(self, name: str) -> Implication:
        """The same implication with one hypothesis dropped (and its part of the certificate)."""
        return replace(
            self,
            hypotheses=tuple(h for h in self.hypotheses if h.name != name),
            multipliers=tuple(m for m in self.multipliers if m[0] != name),
            factor=tuple(f for f in self.factor if f[0] != name),
        )

    def statement_latex(self) -> str:
        """Hypotheses and conclusion."""
        return follows_latex(self.hypotheses, self.conclusion)


def implication(statement: Implication, seed: int, with_mutants: bool) -> Finding:
    """Verify the certificate symbolically, or the offered counterexample exactly."""
    finding = Finding()
    everything = (*statement.hypotheses, statement.conclusion)
    if any(f.relation not in _RELATIONS for f in everything):
        not_zero = 'that u is not 0 is Fact("u", u**2, ">")'
        raise Malformed(f"a relation of an implication is one of {', '.join(_RELATIONS)}; {not_zero}")
    if any(m.shape() for _, m in statement.multipliers) or (
        statement.rest is not None and statement.rest.shape()
    ):
        raise Malformed("a multiplier is a number, and so is the rest")
    if len({h.name for h in statement.hypotheses}) < len(statement.hypotheses):
        raise Malformed("two hypotheses have one name")
    shapes = conformable(*(f.term for f in everything))
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    unseen = any(hidden_demands(statement))  # a point may be excluded by what its entries do not show
    offered = None if unseen else witness(statement)
    if offered:
        shown = assigned(statement.witness, (t for t, _ in offered.values))
        got = offered.evaluate(statement.conclusion.term.entry(), _first(statement.conclusion))
        held = f"every hypothesis holds, but {statement.conclusion.name} has value {got}"
        finding.counterexample = f"all dimensions 1; {shown}: {held}"
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
        return finding
    why = certificate_error(statement) or _undefined(statement)
    reason = why or "identity of normal forms; signs of the multipliers as required"
    finding.steps.append(attempt("certificate", _implication_latex(statement), reason, not why))
    holding, count, broken = satisfied(statement, seed)
    if not broken and (why or not holding):  # fractions are tried as well, and more often
        fractions, more, broken = satisfied(statement, seed, small=False)
        holding, count = holding or fractions, count + more
    if broken and not unseen:
        held = f"every hypothesis holds, but {statement.conclusion.name} does not"
        said = (f.term.entry() for f in (*statement.hypotheses, statement.conclusion))
        finding.counterexample = f"{describe(*broken, *said)}: {held}"
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
        return finding
    if not why and (broken or not holding):
        why = (
            "a point was found at which the conclusion fails"
            if broken
            else "no point was found at which all hypotheses hold"
        )
    detail = why or "the certificate is an identity"
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", None if why else True, detail, settles=True)
    )
    if count >= ENOUGH:
        detail = f"hypotheses and conclusion hold at {count} exact points, for example {holding}"
        finding.evidence.append(Evidence("exact", "exact-rational", True, detail))
    if with_mutants and not why:
        for what, mutant in mutants(statement.conclusion.term, 16):
            changed = Fact("mutant", mutant, statement.conclusion.relation)
            wrong = replace(statement, conclusion=changed, witness=())
            finding.mutants.tried += 1
            if certificate_error(wrong):
                finding.mutants.killed += 1
            elif equal(mutant.entry(), statement.conclusion.term.entry()):
                finding.mutants.equivalent += 1
            else:
                finding.mutants.survivors.append(f"{what}: {mutant.latex()}")
    return finding


def _undefined(statement: Implication) -> str:
    """What of the conclusion is not shown to be defined where the hypotheses hold; "" if all of it is."""
    facts = facts_of(statement.hypotheses)
    stated = [d for h in statement.hypotheses for d in sg.demands(h.term.entry())]
    if not all(_met(d, stated, facts) for d in sg.demands(statement.conclusion.term.entry())):
        return "the conclusion is not shown to be defined wherever the hypotheses hold"
    return ""


def _met(demand: sg.Demand, stated: list[sg.Demand], facts: sg.Facts) -> bool:
    """Whether what a formula asks of a base is asked of it by what is assumed to be defined as well, or
    visibly so.
    """
    asked = [s.signs for s in stated if s.base == demand.base]
    return any(signs <= demand.signs for signs in asked) or sg.signs(demand.base, facts) <= demand.signs


_WANTED = 20


def satisfied(
    statement: Implication, seed: int, small: bool = True
) -> tuple[str, int, tuple[Instance, dict[Index, int]] | None]:
    """A point at which all hypotheses hold, in words, how many were tried, and a counterexample with its
    indices if one was met. ``small`` tries few points, with small whole numbers.
    """
    tries, wanted = (40, _WANTED) if small else (400, 10 * _WANTED)
    terms = [f.term.entry() for f in (*statement.hypotheses, statement.conclusion)]
    shown, count = "", 0
    for instance, points in exact_instances(terms, (), seed, tries, small, spread=True):
        for at in points[:2]:
            point = _moved_onto(instance, statement, at)
            if point is None:
                continue
            sign = point.sign(terms[-1], at)
            if sign is not None and not _allowed(sign, statement.conclusion.relation):
                if not _everywhere(point, statement, at):
                    continue
                return "", count, (point, at)
            shown, count = shown or describe(point, at), count + (sign is not None)
        if count >= wanted:
            break
    return (shown or "every point") if count else "", count, None


def _moved_onto(instance: Instance, statement: Implication, at: dict[Index, int]) -> Instance | None:
    """The instance, changed entry by entry until every hypothesis holds, or None."""
    for _ in range(3):
        broken = None
        for h in statement.hypotheses:
            expr = h.term.entry()
            loose = {i: at.get(i, 0) for i in ix.free_indices(expr)}
            sign = instance.sign(expr, loose)
            if sign is None:
                return None
            if not _allowed(sign, h.relation):
                broken = (expr, loose, h.relation)
                break
        if broken is None:
            return instance
        moved = None if broken[2] == ">" else next(solved(instance, *broken[:2]), None)
        if moved is None:
            return None
        instance = moved
    return None


def _everywhere(point: Instance, statement: Implication, at: dict[Index, int]) -> bool:
    """Whether every hypothesis holds for all values of the indices that the conclusion does not have."""
    shared = ix.free_indices(statement.conclusion.term.entry())
    pinned = {i: n for i, n in at.items() if i in shared}
    for h in statement.hypotheses:
        expr = h.term.entry()
        loose = sorted(ix.free_indices(expr) - shared, key=lambda i: i.name)
        for place in entries_of(tuple(i.dim for i in loose), point.sizes):
            sign = point.sign(expr, {**pinned, **dict(zip(loose, place, strict=True))})
            if sign is None or not _allowed(sign, h.relation):
                return False
    return True


def _allowed(sign: int, relation: str) -> bool:
    return {"=": sign == 0, ">=": sign >= 0, ">": sign > 0}[relation]


def certificate_error(statement: Implication) -> str:
    """Why the certificate does not prove the conclusion; "" if it does."""
    facts = {h.name: h for h in statement.hypotheses}
    used = [*(h.term for h in statement.hypotheses), *(m for _, m in statement.multipliers)]
    used += [] if statement.rest is None else [statement.rest]
    if why := of_none((t.entry() for t in used), ix.free_indices(statement.conclusion.term.entry())):
        return why
    factor: ix.Expr = ix.Num(Fraction(1))
    if statement.factor:
        if any(name not in facts for name, _ in statement.factor):
            return "the factor names a hypothesis that is not there"
        if any(c < 0 or facts[name].relation == "=" for name, c in statement.factor):
            return "the factor is not a nonnegative combination of inequalities"
        if not any(facts[name].relation == ">" and c > 0 for name, c in statement.factor):
            return "the factor has no strict hypothesis"
        factor = ix.Add(tuple(c * facts[name].term.entry() for name, c in statement.factor))
    right: list[ix.Expr] = [ix.Num(Fraction(0))]
    strict = False
    for name, multiplier in statement.multipliers:
        if name not in facts:
            return f"the certificate uses {name}, which is not assumed"
        if not _defined_under(multiplier.entry(), statement):
            return f"the multiplier of {name} is not shown to be defined wherever the hypotheses hold"
        if facts[name].relation != "=":
            signs = sg.signs(multiplier.entry(), facts_of(statement.hypotheses))
            if not signs <= fn.NONNEGATIVE:
                return f"the multiplier of {name} is not shown to be nonnegative"
            strict |= facts[name].relation == ">" and signs <= fn.POSITIVE
        right.append(multiplier.entry() * facts[name].term.entry())
    conclusion = statement.conclusion
    if statement.rest is not None:
        if conclusion.relation == "=":
            return "an equation leaves no rest"
        if not _defined_under(statement.rest.entry(), statement):
            return "the rest is not shown to be defined wherever the hypotheses hold"
        known = facts_of(statement.hypotheses)
        if not (visibly(statement.rest, CONVEX) or cases.nonnegative(statement.rest.entry(), known)):
            return "the rest is not shown to be nonnegative"
        right.append(statement.rest.entry())
    sides = factor * conclusion.term.entry(), ix.Add(tuple(right))
    if not equal(*sides):
        return f"the certificate is not an identity: the sides differ by {difference(*sides)}"
    inequalities = any(facts[n].relation != "=" for n, _ in statement.multipliers)
    if conclusion.relation == "=" and inequalities:
        return "an equation does not follow from inequalities this way"
    if conclusion.relation == ">" and not strict:
        return "no strict hypothesis enters with a positive multiplier"
    return ""


def _defined_under(multiplier: ix.Expr, statement: Implication) -> bool:
    """Whether a multiplier is defined wherever the hypotheses hold and they and the conclusion are
    defined.
    """
    facts = facts_of(statement.hypotheses)
    everything = (*statement.hypotheses, statement.conclusion)
    stated = [d for f in everything for d in sg.demands(f.term.entry())]
    return all(_met(d, stated, facts) for d in sg.demands(multiplier))


def _implication_latex(statement: Implication) -> str:
    facts = {h.name: h for h in statement.hypotheses}
    left = statement.conclusion.term.wrapped(2)
    if statement.factor:
        total = added(
            *(
                facts[n].term.latex() if c == 1 else rf"{c}\,{facts[n].term.wrapped(2)}"
                for n, c in statement.factor
                if n in facts
            )
        )
        left = rf"\left({total}\right)\,{left}"
    right = added(
        *(
            facts[n].term.wrapped(2)
            if m.latex() == "1"
            else rf"{m.wrapped(2)}\,\left({facts[n].term.latex()}\right)"
            for n, m in statement.multipliers
            if n in facts
        ),
        *([] if statement.rest is None else [statement.rest.wrapped(1)]),
    )
    return f"{left} = {right or '0'}"


def witness(statement: Implication) -> Instance | None:
    """The offered point, if all hypotheses hold there exactly and the conclusion fails."""
    if not statement.witness:
        return None
    values = dict(statement.witness)
    terms = [f.term.entry() for f in (*statement.hypotheses, statement.conclusion)]
    tensors = sorted(set().union(*map(ix.tensors, terms)), key=repr)
    if any(values.get(t.name, 1) <= 0 for t in tensors if t.positive):
        return None  # a promise is a hypothesis as well
    try:
        entries = {(t, (0,) * len(t.dims)): values[t.name] for t in tensors}
        point = Instance(ones(dimensions(terms, ())), entries, ())
        held = (point.evaluate(h.term.entry(), _first(h)) for h in statement.hypotheses)
        if not all(_true(value, h.relation) for value, h in zip(held, statement.hypotheses, strict=True)):
            return None
        got = point.evaluate(statement.conclusion.term.entry(), _first(statement.conclusion))
    except (KeyError, ZeroDivisionError, NotExact):
        return None
    return None if _true(got, statement.conclusion.relation) else point


def _first(fact: Fact) -> dict[Index, int]:
    """The indices of a fact where all dimensions are 1."""
    return {i: 0 for i in ix.free_indices(fact.term.entry())}


def _true(value: Any, relation: str) -> bool:
    return _allowed(Exponential.of(value).sign(), relation)


ENGINES[Implication] = implication
