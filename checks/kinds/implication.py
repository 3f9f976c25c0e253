"""Implication: what follows from equations and inequalities, by a certificate; refuted by an exact point."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from checks.engine.domain import hidden_demands
from checks.engine.finding import Finding
from checks.engine.hypotheses import facts_of, may_have_none, of_none
from checks.engine.instances import (
    Instance,
    assigned,
    describe,
    dimensions,
    exact_instances,
    ones,
)
from checks.engine.judge import ENGINES, ENOUGH, attempt, conformable, difference, equal
from checks.engine.mutants import mutants
from checks.engine.points import allowed, moved_onto, places
from checks.engine.printing import added
from checks.evidence import Evidence
from checks.kinds.extremum import CONVEX
from checks.kinds.extremum import nonnegative as visibly
from checks.statement import Fact, Kind, Malformed, follows_latex, shared_with
from derivations.calculus import cases
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.combination import Given, Piece, combination
from derivations.calculus.components import NotExact
from derivations.calculus.constraint import Raw
from derivations.calculus.exact import Exponential
from derivations.calculus.index import Index, Tensor
from derivations.calculus.naming import may_vanish
from derivations.calculus.normal import Token, normal
from derivations.calculus.term import Term, before_factor

_RELATIONS = ("=", ">=", ">")
_NONPOSITIVE = frozenset({-1, 0})


class Use(NamedTuple):
    """What a certificate takes of the hypothesis called ``name``: it times ``multiplier``, where ``at`` says
    (its index, the index of the same range that is put there), summed over all values of ``over``.
    """

    name: str
    multiplier: Term
    at: tuple[tuple[Index, Index], ...] = ()
    over: tuple[Index, ...] = ()

    def fact(self, hypothesis: Fact) -> ix.Expr:
        """The hypothesis, an expression that is compared with 0, at the indices where it is used."""
        return ix.rename(hypothesis.term.entry(), dict(self.at))

    def summed(self, hypothesis: Fact) -> ix.Expr:
        """What it adds to the certificate."""
        total = self.multiplier.entry() * self.fact(hypothesis)
        for index in self.over:
            total = ix.Sum(index, total)
        return total

    def latex(self, hypothesis: Fact) -> str:
        """The same as printed; in normal form where a letter would be read as that of a sum inside."""
        inside = _bound_letters(self.multiplier) | _bound_letters(hypothesis.term)
        if inside & _letters(self.indices(hypothesis)):
            return Raw((), self.summed(hypothesis)).wrapped(1)
        sums = "".join(rf"\sum_{{{i.latex.strip()}=1}}^{{{i.dim}}} " for i in self.over)
        put = ", ".join(f"{i.latex.strip()} = {j.latex.strip()}" for i, j in self.at)
        if self.multiplier.latex() == "1" and not put:
            return sums + hypothesis.term.wrapped(2)
        fact = rf"\left({hypothesis.term.latex()}\right)" + (rf"\Big|_{{{put}}}" if put else "")
        return sums + (
            fact if self.multiplier.latex() == "1" else rf"{before_factor(self.multiplier)}\,{fact}"
        )

    def indices(self, hypothesis: Fact) -> set[Index]:
        """The indices that are written in it, but for those of sums inside."""
        free = ix.free_indices(self.multiplier.entry()) | ix.free_indices(hypothesis.term.entry())
        return free | {j for _, j in self.at} | set(self.over)


def _letters(indices: set[Index]) -> set[str]:
    return {i.latex.strip() for i in indices}


def _bound_letters(term: Term) -> set[str]:
    """The letters of the sums in a formula; what was derived is printed with others than it has."""
    printed = set(re.findall(r"\\sum_\{([^{}=]+)=1\}", term.latex()))
    sums = {n.index for n in ix.walk(term.entry()) if isinstance(n, ix.Sum)}
    return printed | (set() if isinstance(term, Raw) else _letters(sums))


@dataclass(frozen=True)
class Implication(Kind):
    """If all hypotheses hold, so does the conclusion.

    The certificate is an identity  factor · conclusion = Σ multiplier_n · hypothesis_n + rest  in which
    ``factor`` is a nonnegative combination of the named hypotheses with at least one strict one (or 1 when
    empty), the multiplier of an inequality is nonnegative, and ``rest`` (nothing unless given, for an
    inequality) is visibly nonnegative in each case of the signs of what stands in absolute values, or by
    squares and Bregman differences of convex functions. Where none is given, one without a rest is sought.
    An index of a hypothesis that occurs in the conclusion as well is the same there; one that does not is
    any: the hypothesis holds for all its values, and a `Use` in place of (name, multiplier) takes it at
    others, or summed.
    ``witness`` is an exact assignment offered as a counterexample: the engine accepts it only if every
    hypothesis holds and the conclusion fails.
    """

    hypotheses: tuple[Fact, ...]
    conclusion: Fact
    multipliers: tuple[tuple[str, Term] | Use, ...] = ()
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

    def uses(self) -> tuple[Use, ...]:
        """What the certificate takes of the hypotheses."""
        return tuple(Use(*m) for m in self.multipliers)

    def known(self) -> tuple[Fact, ...]:
        """The hypotheses, also at the indices where they are used."""
        named = {h.name: h for h in self.hypotheses}
        used = [(named[u.name], u) for u in self.uses() if u.at and u.name in named]
        return (*self.hypotheses, *(replace(h, term=Raw((), u.fact(h))) for h, u in used))

    def facts(self) -> sg.Facts:
        """What the hypotheses say about signs: those about an entry at any indices, of all entries."""
        facts = facts_of(self.known())
        everywhere: dict[Tensor, sg.Signs] = {}
        for h in self.hypotheses:
            match h.term.entry():
                case ix.At(tensor, at) if len({*at} - _shared(self)) == len(at) > 0:
                    signs = facts.of(h.term.entry())
                    everywhere[tensor] = everywhere.get(tensor, fn.ANY) & signs
        return replace(facts, tensors=everywhere)

    def statement_latex(self) -> str:
        """Hypotheses and conclusion."""
        return follows_latex(self.hypotheses, self.conclusion)


@lru_cache(maxsize=512)
def completed(statement: Implication) -> Implication:
    """The implication with a certificate that was found, where it has none; as it is if none was."""
    given = statement.multipliers or statement.factor or statement.rest is not None
    if given or not certificate_error(statement):
        return statement
    strict = [
        h
        for h in statement.hypotheses
        if h.relation == ">" and not ix.free_indices(h.term.entry()) - _shared(statement)
    ]
    for factor, inverses in ((None, False), *((h, False) for h in strict), (None, True)):
        found = _sought(statement, factor, inverses)
        if found and not certificate_error(found):
            return found
    return statement


def _sought(statement: Implication, factor: Fact | None, inverses: bool) -> Implication | None:
    """With what might be taken of the hypotheses, by what the monomials have in common."""
    known, stated = statement.facts(), _stated(statement, statement.conclusion)
    equation = statement.conclusion.relation == "="
    hypotheses = [h for h in statement.hypotheses if h.relation == "=" or not equation]

    def usable(piece: Piece) -> Piece | None:
        multiplier = piece.expr()
        if not _defined_under(multiplier, stated, known):
            return None
        if hypotheses[piece.given].relation == "=":
            return piece
        signs = sg.signs(multiplier, known)
        if signs <= fn.NONNEGATIVE:
            return piece
        return piece.times(Fraction(-1)) if signs <= _NONPOSITIVE else None

    wanted = statement.conclusion.term.entry()
    pieces = combination(
        normal(wanted * factor.term.entry() if factor else wanted),
        [Given(normal(h.term.entry()), h.relation) for h in hypotheses],
        frozenset(Token("i", i.name, i.dim) for i in _shared(statement)),
        usable,
        statement.conclusion.relation == ">",
        inverses,
    )
    uses = tuple(_use(hypotheses[p.given].name, p) for p in pieces)
    found = replace(
        statement, multipliers=uses, factor=((factor.name, Fraction(1)),) if factor and uses else ()
    )
    try:
        _check_uses(found)
    except Malformed:  # a letter for two ranges
        return None
    return found if uses else None


def _use(name: str, piece: Piece) -> Use:
    """A piece of a hypothesis as a certificate names it."""

    def index(token: Token) -> Index:
        return Index(str(token.name), token.dim)

    at = tuple((index(own), index(place)) for own, place in piece.at)
    return Use(name, Raw((), _squares(piece.expr())), at, tuple(map(index, piece.over)))


def _squares(expr: ix.Expr) -> ix.Expr:
    """The expression with even powers as squares, whose sign Rocq is shown."""
    if parts := ix.children(expr):
        expr = ix.rebuild(expr, tuple(map(_squares, parts)))
    if isinstance(expr, ix.Pow) and abs(expr.exponent) > 2 and expr.exponent % 2 == 0:
        outer = 2 if expr.exponent > 0 else -2
        return ix.Pow(ix.Pow(expr.base, expr.exponent / outer), Fraction(outer))
    return expr


def implication(statement: Implication, seed: int, with_mutants: bool) -> Finding:
    """Verify the certificate symbolically, or the offered counterexample exactly."""
    finding = Finding()
    everything = (*statement.hypotheses, statement.conclusion)
    if any(f.relation not in _RELATIONS for f in everything):
        not_zero = 'that u is not 0 is Fact("u", u**2, ">")'
        raise Malformed(f"a relation of an implication is one of {', '.join(_RELATIONS)}; {not_zero}")
    if not all(map(_is_use, statement.multipliers)):
        raise Malformed("a certificate is made of pairs (name, multiplier), a formula, or of Use(...)")
    if any(u.multiplier.shape() for u in statement.uses()) or (
        statement.rest is not None and statement.rest.shape()
    ):
        raise Malformed("a multiplier is a number, and so is the rest")
    if len({h.name for h in statement.hypotheses}) < len(statement.hypotheses):
        raise Malformed("two hypotheses have one name")
    _check_uses(statement)
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
    holding, count, broken = satisfied(statement, seed)
    statement = statement if broken else completed(statement)
    why = certificate_error(statement) or _undefined(statement)
    reason = why or "identity of normal forms; signs of the multipliers as required"
    finding.steps.append(attempt("certificate", _implication_latex(statement), reason, not why))
    if not broken and (why or not holding):  # fractions are tried as well, and more often
        fractions, more, broken = satisfied(statement, seed, small=False)
        holding, count = holding or fractions, count + more
    if broken and not unseen:
        held = "every hypothesis holds, but " if statement.hypotheses else ""
        held += f"what is concluded of {statement.conclusion.name} does not hold"
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


def _is_use(said: Any) -> bool:
    if not isinstance(said, tuple) or not 2 <= len(said) <= 4:
        return False
    name, multiplier, at, over = Use(*said)
    indices = isinstance(over, tuple) and all(isinstance(i, Index) for i in over)
    pairs = isinstance(at, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in at)
    named = isinstance(name, str) and isinstance(multiplier, Term)
    return named and indices and pairs and all(isinstance(i, Index) for pair in at for i in pair)


def _check_uses(statement: Implication) -> None:
    """Raise Malformed where a hypothesis is used at other indices or summed although it is not for all."""
    named, shared = {h.name: h for h in statement.hypotheses}, _shared(statement)
    for use in statement.uses():
        moved = {i for i, _ in use.at} | set(use.over)
        if fixed := moved & shared:
            names = ", ".join(sorted(i.name for i in fixed))
            raise Malformed(
                f"{names} in {use.name} is that of the conclusion: the hypothesis is about it alone"
            )
        if len(dict(use.at)) < len(use.at) or len(set(use.over)) < len(use.over):
            raise Malformed(f"{use.name} is used with an index twice")
        if any(i.dim != j.dim for i, j in use.at):
            raise Malformed(f"{use.name} is used at an index of another range")
        if use.name not in named:
            continue
        if not {i for i, _ in use.at} <= ix.free_indices(named[use.name].term.entry()):
            raise Malformed(f"{use.name} is used at an index in place of one that it does not have")
        indices = use.indices(named[use.name])
        if len({i.name for i in indices}) < len(indices):
            raise Malformed(f"an index in the use of {use.name} runs over two ranges at once")
        if both := _letters(indices) & {i.dim for i in indices}:
            raise Malformed(f"{', '.join(sorted(both))} is a size and an index")


@lru_cache(maxsize=512)
def _promised(statement: Implication) -> Implication:
    """The same where numbers, and arrays in all their entries, that are supposed positive are promised to
    be: for roots and logarithms of products.
    """
    shared, promised = _shared(statement), set[Tensor]()
    for h in (h for h in statement.hypotheses if h.relation == ">"):
        match h.term.entry():
            case ix.At(tensor, at) if len({*at} - shared) == len(at):
                promised.add(tensor)
    return _with(statement, promised) if promised else statement


def _with(item: Any, promised: set[Tensor]) -> Any:
    """A statement, or a part of one, in which some tensors are promised positive."""
    if isinstance(item, Tensor):
        return replace(item, positive=True) if item in promised else item
    if isinstance(item, tuple):
        parts = [_with(part, promised) for part in item]
        return type(item)(*parts) if hasattr(item, "_fields") else tuple(parts)
    if is_dataclass(item) and not isinstance(item, type):
        return replace(
            item, **{f.name: _with(getattr(item, f.name), promised) for f in fields(item) if f.init}
        )
    return item


def _shared(statement: Implication) -> set[Index]:
    return shared_with(statement.conclusion)


def _undefined(statement: Implication) -> str:
    """What of the conclusion is not shown to be defined where the hypotheses hold; "" if all of it is."""
    statement = _promised(statement)
    if not _defined_under(statement.conclusion.term.entry(), _stated(statement), statement.facts()):
        return "the conclusion is not shown to be defined wherever the hypotheses hold"
    return ""


def _stated(statement: Implication, *others: Fact) -> list[sg.Demand]:
    """What is assumed to be defined."""
    shared = _shared(statement)
    found: list[sg.Demand] = []
    for expr in (f.term.entry() for f in (*statement.known(), *others)):
        found += sg.granted(expr, frozenset(may_have_none(expr) - shared))
    return found


def _met(demand: sg.Demand, stated: list[sg.Demand], facts: sg.Facts) -> bool:
    """Whether what a formula asks of a base is asked of it by what is assumed to be defined as well, or
    visibly so: an odd root, which many define below 0, asks less than others do.
    """
    asked = [s.signs if demand.odd else s.lent() for s in stated if s.base == demand.base]
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
    facts = [(e, h.relation) for e, h in zip(terms, statement.hypotheses, strict=False)]
    shared = _shared(statement)
    shown, count = "", 0
    for instance, points in exact_instances(terms, (), seed, tries, small, spread=True):
        for at in points[:2]:
            pinned = {i: n for i, n in at.items() if i in shared}
            point = moved_onto(instance, list(places(facts, pinned, instance.sizes)))
            if point is None:
                continue
            sign = point.sign(terms[-1], at)
            if sign is not None and not allowed(sign, statement.conclusion.relation):
                return "", count, (point, at)
            shown, count = shown or describe(point, at), count + (sign is not None)
        if count >= wanted:
            break
    return (shown or "every point") if count else "", count, None


def certificate_error(statement: Implication) -> str:
    """Why the certificate does not prove the conclusion; "" if it does."""
    statement = _promised(statement)
    facts, known = {h.name: h for h in statement.hypotheses}, statement.facts()
    stated = _stated(statement, statement.conclusion)
    factor: ix.Expr = ix.Num(Fraction(1))
    if statement.factor:
        if any(name not in facts for name, _ in statement.factor):
            return "the factor names a hypothesis that is not there"
        if any(c < 0 or facts[name].relation == "=" for name, c in statement.factor):
            return "the factor is not a nonnegative combination of inequalities"
        if not any(facts[name].relation == ">" and c > 0 for name, c in statement.factor):
            return "the factor has no strict hypothesis"
        factor = ix.Add(tuple(c * facts[name].term.entry() for name, c in statement.factor))
        if _asks_more(factor, _shared(statement), known):
            return "the factor has a sum that may be one of nothing, of what is not shown to be defined"
    right: list[ix.Expr] = [ix.Num(Fraction(0))]
    strict = False
    for use in statement.uses():
        name, multiplier = use.name, use.multiplier.entry()
        if name not in facts:
            return f"the certificate uses {name}, which is not assumed"
        if _asks_more(use.fact(facts[name]), _shared(statement), known):
            return f"{name} has a sum that may be one of nothing, of what is not shown to be defined"
        if not _defined_under(multiplier, stated, known):
            return f"the multiplier of {name} is not shown to be defined wherever the hypotheses hold"
        if facts[name].relation != "=":
            signs = sg.signs(multiplier, known)
            if not signs <= fn.NONNEGATIVE:
                return f"the multiplier of {name} is not shown to be nonnegative"
            some = not any(may_vanish(i.dim) for i in use.over)
            strict |= some and facts[name].relation == ">" and signs <= fn.POSITIVE
        right.append(use.summed(facts[name]))
    conclusion = statement.conclusion
    if statement.rest is not None:
        if conclusion.relation == "=":
            return "an equation leaves no rest"
        if not _defined_under(statement.rest.entry(), stated, known):
            return "the rest is not shown to be defined wherever the hypotheses hold"
        if not (visibly(statement.rest, CONVEX) or cases.nonnegative(statement.rest.entry(), known)):
            return "the rest is not shown to be nonnegative"
        right.append(statement.rest.entry())
    if why := of_none((factor, *right), _shared(statement)):
        return why
    sides = factor * conclusion.term.entry(), ix.Add(tuple(right))
    if not equal(*sides):
        if not (statement.uses() or statement.rest):
            return (
                "no sum of multiples of the hypotheses was found that is the conclusion; "
                "multipliers=((name of a hypothesis, its factor), ...) says one"
            )
        return f"the certificate is not an identity: the sides differ by {difference(*sides)}"
    inequalities = any(facts[u.name].relation != "=" for u in statement.uses())
    if conclusion.relation == "=" and inequalities:
        return "an equation does not follow from inequalities this way"
    if conclusion.relation == ">" and not strict:
        return "no strict hypothesis enters with a positive multiplier"
    return ""


def _asks_more(expr: ix.Expr, shared: set[Index], facts: sg.Facts) -> bool:
    """Whether what is assumed divides by what need not be a divisor where it is assumed."""
    few = frozenset(may_have_none(expr) - shared)
    return sg.asks_more(expr, few, lambda base: sg.signs(base, facts))


def _defined_under(expr: ix.Expr, stated: list[sg.Demand], facts: sg.Facts) -> bool:
    """Whether an expression is defined wherever what is stated is, under the facts."""
    return all(_met(d, stated, facts) for d in sg.demands(expr))


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
        *(u.latex(facts[u.name]) for u in statement.uses() if u.name in facts),
        *([] if statement.rest is None else [statement.rest.wrapped(1)]),
    )
    return f"{left} = {right or '0'}"


def witness(statement: Implication) -> Instance | None:
    """The offered point, if all hypotheses hold there exactly and the conclusion fails."""
    if not statement.witness:
        return None
    if not isinstance(statement.witness, tuple):
        raise Malformed("a witness is a tuple of (name, number), all sizes are 1; a Point refutes a Rule")
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
    return allowed(Exponential.of(value).sign(), relation)


ENGINES[Implication] = implication
