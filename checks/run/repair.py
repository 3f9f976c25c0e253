"""Whether a correction is one: not the printed statement again, not its denial, not something about
other things.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import sympy as sp

from checks.engine.judge import equal
from checks.engine.notation import all_terms
from checks.engine.wellformed import in_other_letters
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages, Column
from checks.kinds.cost import Cost
from checks.kinds.counting import Counted, Grows, read_off
from checks.kinds.differs import Differs
from checks.kinds.examples import Example
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram
from checks.kinds.follows import Follows
from checks.kinds.gaussian import GaussianMean
from checks.kinds.implication import Implication, completed
from checks.kinds.inequality import AtLeast
from checks.kinds.limit import Limit
from checks.kinds.normal_mean import NormalMean
from checks.kinds.optimal import Optimal
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.kinds.programs import Convex, Dual, WellPosed
from checks.kinds.recurrence import Recurrence
from checks.kinds.scope import Scoped
from checks.kinds.stacked import Stacked
from checks.kinds.stationary import Stationary
from checks.kinds.unbounded import Bounded
from checks.run.severity import general_entry, kept_of, likeness, unpromised, weaker
from checks.run.whatever import SIDES, holds_whatever, stood_for
from checks.statement import Definition, Fact, Given, Identity, held, leaves, tensors_of, terms_of
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.functions import is_unknown
from derivations.calculus.index import Tensor
from derivations.calculus.maxima import Maximum
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Program
from derivations.calculus.signs import signs
from derivations.calculus.term import (
    Apply,
    Eye,
    Frac,
    Hadamard,
    MatMul,
    Named,
    Neg,
    NonConformable,
    Number,
    Power,
    Product,
    Size,
    Stack,
    Sum_,
    SumOver,
    Symbol,
    Term,
    Transpose,
    Zeros,
    as_term,
    picked_from,
    subterms,
    whole,
)


def repair_of(literal: Any, corrected: Any, explained: bool = False) -> str:
    """Whether a correction is one: "offered", or "idle" where it says nothing, the same, its denial, or
    something about other things, or equates other things and nothing says why (``explained``). That it is the
    smallest one is for a reader to judge.
    """
    printed, repairs = tuple(map(_certified, leaves(literal))), list(map(_certified, leaves(corrected)))
    empty = [p for p in repairs if _empty(p, printed)]
    if any(p not in printed for p in empty) or any(p in repairs[:n] for n, p in enumerate(repairs)):
        return "idle"  # nothing in the place of what fails
    said = [p for p in repairs if p not in empty and not _idle(p, printed, explained)]
    same = all(p in repairs for p in printed) and all(p in printed for p in repairs)
    if not said or same or (not explained and _equates_others(printed, said)):
        return "idle"
    # a size in common is no subject in common where there is another
    subject = named(literal) or sizes(literal)
    return "idle" if subject and not subject & (named(said) | sizes(said)) else "offered"


def _certified(part: Any) -> Any:
    """An implication with its certificate, also where it was found: what it takes of the hypotheses."""
    return completed(part) if isinstance(part, Implication) else part


def _equates_others(printed: tuple[Any, ...], said: list[Any]) -> bool:
    """Whether equations are corrected by equations of which none has a side of theirs or reads like one."""
    wrong = [p for p in printed if isinstance(p, _COMPARE) and p not in said]
    right = [p for p in said if isinstance(p, _COMPARE) and p not in printed]
    if not wrong or (not right and (len(wrong) < len(printed) or any(isinstance(p, _RESTATE) for p in said))):
        return False
    kept = {s for p in printed for s in _sides(p)}
    kept &= {s for p in said for s in (_sides(p) if right else _formulas(tuple(terms_of(p))))}
    return not kept and not any(_near(p, r) for p in wrong for r in right)


def _near(printed: Any, repair: Any) -> bool:
    """Whether an equation reads like another, on each side, and not by what cancels in it."""
    if any(_cancelled(side, repair.given) for side in _averaged(repair)):
        return False
    alike = min(likeness(printed, repair), kept_of(printed, repair)) > 0.5 and named(printed) & named(repair)
    return bool(alike) and not weaker(printed, repair)


def _averaged(part: Any) -> tuple[Term, ...]:
    """What a mean is of, and the mean."""
    return (part.integrand, part.value) if isinstance(part, NormalMean) else ()


def _sides(part: Any) -> Iterator[sp.Expr]:
    """The sides of an equation or a definition, numbers aside."""
    return _formulas(tuple(getattr(part, name, None) for name in (*SIDES, "integrand", "name", "meaning")))


def _formulas(terms: tuple[Any, ...]) -> Iterator[sp.Expr]:
    for side in terms:
        if isinstance(side, Term) and not isinstance(bare(side), Number):
            yield collected(side)
        elif isinstance(side, sp.Expr) and side.free_symbols:
            yield side


_COMPARE = (Identity, Stacked, AtLeast, Order, GaussianMean, NormalMean)
"""What has two sides."""

_RESTATE = (Definition, Follows, Implication)
"""What else than an equation may say what an equation says: its name, or when it holds."""

ZERO = ix.Num(Fraction(0))


def _idle(repair: Any, printed: tuple[Any, ...], explained: bool) -> bool:
    """A statement of one side, of one instance, that what is printed fails, or that assumes what it says; of
    other numbers, where nothing explains them.
    """
    if isinstance(repair, Identity) and _says_nothing(repair, printed, explained):
        return True
    equation = isinstance(repair, Identity | Stacked | Follows) and getattr(repair, "relation", "=") == "="
    if equation and _assumed(Identity(repair.lhs, repair.rhs, repair.given), printed):
        return True
    if isinstance(repair, AtLeast | Order | GaussianMean | NormalMean) and holds_whatever(repair, printed):
        return True
    places = not explained and all(isinstance(p, Stationary | Extremum) for p in printed)
    if places and isinstance(repair, Identity | AtLeast | Follows | Implication):
        # a formula rearranged, or a number above itself, says nothing of where it is least
        said = repair.conclusion.term if isinstance(repair, Implication) else repair.lhs - repair.rhs
        same = isinstance(repair, Identity) and _vanish((said,), ())
        if same or {p.variable for p in printed} & _cancelled(said):
            return True
    if isinstance(repair, AtLeast):
        if _defined_apart(repair, printed):
            return True
        gaps = (as_term(0),) if repair.above is None else (as_term(0), repair.above)
        return any(_assumed(Identity(repair.lhs, repair.rhs + gap, repair.given), printed) for gap in gaps)
    if isinstance(repair, NormalMean) and not _moves(repair.integrand, repair.w, repair.given):
        return True
    numbers = not explained and all(isinstance(p, Arithmetic | Averages) for p in printed)
    if numbers and isinstance(repair, Identity | Stacked | Arithmetic):  # an identity, or other numbers
        known = {n for p in printed for n in _computed(p)}
        return known.isdisjoint(_computed(repair)) or _loose(repair, printed)
    if numbers and isinstance(repair, Averages):
        columns = [c for p in printed if isinstance(p, Averages) for c in p.columns]
        return not any(_keeps_most(one, two) for one in columns for two in repair.columns)
    if isinstance(repair, Cost | Counted | Recurrence):  # what is counted is not what is printed
        measure = getattr(repair, "measure", None)
        counts = [p for p in printed if type(p) is type(repair)]
        if not counts or (isinstance(repair, Cost) and _only_bounds(repair, counts)):
            return not explained  # of no count that is printed
        return not any(
            a == b
            for p in counts
            if getattr(p, "measure", None) == measure
            for a, b in zip(_counted(p), _counted(repair), strict=True)
        )
    if isinstance(repair, Grows):  # of another quantity
        return not explained and not any(isinstance(p, Grows) and _varies_alike(p, repair) for p in printed)
    if isinstance(repair, Stationary | Extremum):
        still = not _moves(repair.energy, repair.variable, repair.given)
        return still or holds_whatever(repair, printed)
    if isinstance(repair, Optimal):
        only = _pinned(repair, printed)
        return only or _still(repair.program, repair.given) or holds_whatever(repair, printed)
    if isinstance(repair, Limit):
        return not _moves(repair.step, repair.state, repair.given) or holds_whatever(repair, printed)
    if isinstance(repair, Positive) and not _moves(repair.kernel, repair.points):  # the same at all points
        return _vanish((repair.kernel,), ()) or any(
            _moves(p.kernel, p.points) for p in printed if isinstance(p, Positive)
        )
    if isinstance(repair, Convex | WellPosed | Dual | Bounded | ConvexProgram):
        programs = [p.program for p in printed if hasattr(p, "program")]
        if not programs or (_still(repair.program) and not all(map(_still, programs))):
            return True
        asked, offered = set().union(*map(_operations, programs)), _operations(repair.program)
        return bool(asked) and not explained and not any(_resemble(*pair) for pair in product(asked, offered))
    fixed = {g.tensor for p in printed for g in getattr(p, "given", ()) or ()}
    if isinstance(repair, Definition) and _symbol(repair.name) in fixed:
        return True  # another meaning of what is printed
    if isinstance(repair, Definition | Scoped):
        subjects = named(tuple(_meanings(repair.name, printed))) - named(repair.name)
        if subjects and not subjects & _about(repair):
            return True
        return not any(
            isinstance(p, Definition | Scoped)
            or repair.name in (getattr(p, "lhs", None), getattr(p, "rhs", None))
            for p in printed
        )
    if isinstance(repair, Implication | Follows) and (
        _supposed(repair, printed) or _at_one_point(repair) or holds_whatever(repair, printed)
    ):
        return True
    if isinstance(repair, Implication):
        if _vanish((repair.conclusion.term,), ()):  # 0 is what it is, if not by what is promised
            concluded = [unpromised(p.conclusion) for p in printed if isinstance(p, Implication)]
            return unpromised(repair.conclusion) not in concluded
        factors = _multipliers(repair)
        never = len(factors) == 1 and 0 not in signs(factors[0].entry())
        by = {name for name, _ in repair.factor}
        if (
            never
            and by
            and not tensors_of(tuple(h for h in repair.hypotheses if h.name in by)) & tensors_of(printed)
        ):
            return True  # it is supposed times a symbol of its own that is said to be positive
        if len(factors) > 1 and not tensors_of(tuple(factors)) and not repair.factor:
            # the conclusion in pieces, which symbols of their own hold apart: a = z and z = b for a = b
            names = {use.name for use in repair.uses()}
            used = {f.term for f in repair.hypotheses if f.relation == "=" or f.name in names}
            return bool(tensors_of(tuple(used)) - tensors_of((printed, repair.conclusion)))
        return never and not repair.factor
    return isinstance(repair, Example) or (isinstance(repair, Follows) and _is_hypothesis(repair))


def _is_hypothesis(repair: Follows) -> bool:
    """Whether an equation is concluded from one alone, entry by entry and times what is never 0: then it is
    that one. Of arrays the factor has symbols: that two matrices commute is worth saying.
    """
    certificate, residuals = general_entry(repair.certificate, ()), {h.residual for h in repair.hypotheses}
    if certificate is None or repair.relation != "=" or repair.over:
        return False
    used = {e for e in ix.walk(certificate) if isinstance(e, ix.At) and e.tensor in residuals}
    if len(used) != 1 or len({*(entry := used.pop()).indices}) < len(entry.indices):
        return False
    times = ix.define(certificate, entry.tensor, lambda *_: ix.Num(Fraction(1)))
    hidden = not entry.indices or ix.tensors(times)
    return bool(hidden) and 0 not in signs(times) and equal(certificate, times * entry)


def _multipliers(repair: Implication) -> list[Term]:
    """What the hypotheses are multiplied by: a hypothesis that is used twice in one way, whatever the letters
    of sums are, is used once, and times 0 not at all.
    """
    named, taken = {h.name: h for h in repair.hypotheses}, dict[Any, Term]()
    for use in (u for u in repair.uses() if u.name in named):
        alone = nf.normal(use._replace(multiplier=as_term(1)).summed(named[use.name]))
        lettered = ix.free_indices(use.multiplier.entry()) & set(use.over)
        way = (use.name, alone, (use.at, use.over) if lettered else ())
        taken[way] = taken[way] + use.multiplier if way in taken else use.multiplier
    return [m for m in taken.values() if not _vanish((m,), ())]


def _about(repair: Definition | Scoped) -> set[str]:
    """What the meaning of a name is about with definitions put in; not what cancels in it."""
    given: tuple[Given, ...] = getattr(repair, "given", ())
    used = tensors_of(repair.meaning)
    for _ in given:  # also in one another
        used |= tensors_of([g.value for g in given if g.tensor in used])
    given = tuple(g for g in given if g.tensor in used)
    gone = {t.name for t in _cancelled(repair.meaning, given)}
    return named((repair.meaning, given)) - gone


def _cancelled(term: Term, given: tuple[Given, ...] = ()) -> set[Tensor]:
    """What is written in a formula and is not left of it in normal form."""
    expr = general_entry(term, given)
    try:
        return set() if expr is None else ix.tensors(expr) - ix.tensors(to_expr(nf.normal(expr)))
    except ZeroDivisionError:  # which its engine will say
        return set()


def _meanings(name: Term, printed: tuple[Any, ...]) -> Iterator[Term]:
    """What is printed as the meaning of a name: in definitions of it, and across from it in equations."""
    for p in printed:
        if isinstance(p, Definition | Scoped) and bare(p.name) == bare(name):
            yield p.meaning
        for one, other in (("lhs", "rhs"), ("rhs", "lhs")):
            if getattr(p, one, None) == name:
                yield getattr(p, other)


def _empty(repair: Any, printed: tuple[Any, ...]) -> bool:
    """Whether both sides are one formula, also where their products are grouped otherwise (but for other
    letters in what is printed: u (uᵀ w) for u vᵀ w is corrected by u (vᵀ w)), or are said to differ.
    """
    if isinstance(repair, Differs):
        return not any(isinstance(p, Differs) for p in printed)
    if not isinstance(repair, Identity | Stacked | AtLeast):
        return False
    if repair.lhs.latex() == repair.rhs.latex() or collected(repair.lhs, grouped=True) == collected(
        repair.rhs, grouped=True
    ):
        return True
    misprints = (p for p in printed if type(p) is type(repair))
    lettered = any(
        (_without_letters(p.lhs), _without_letters(p.rhs))
        == (_without_letters(repair.lhs), _without_letters(repair.rhs))
        for p in misprints
    )
    return collected(repair.lhs) == collected(repair.rhs) and not lettered


def _without_letters(term: Term) -> Term:
    """How a formula is built, whatever its symbols are."""
    if isinstance(term, Symbol):
        return Symbol((), None)
    return replace(term, args=tuple(map(_without_letters, term.args)))


def _says_nothing(repair: Identity, printed: tuple[Any, ...], explained: bool) -> bool:
    """Whether one side holds the other, is not printed itself, and is the other by calculation alone; where
    the two hold both sides of what is printed (or one, if nothing explains that), whatever is promised of
    their symbols, only if it is so whatever these stand for.
    """
    one, two = bare(repair.lhs), bare(repair.rhs)
    held = [{unpromised(t) for t in all_terms(side)} for side in (one, two)]
    pairs = [{unpromised(bare(t)) for t in (p.lhs, p.rhs)} for p in printed if isinstance(p, Identity)]
    known = set().union(*pairs)
    sides = ((unpromised(one), held[0], two), (unpromised(two), held[1], one))
    within = any(unpromised(other) in parts and side not in known for side, parts, other in sides)
    both = [pair for pair in pairs if pair <= held[0] | held[1]]
    asked = [p for p in pairs if p & (held[0] | held[1])] if not explained else both if within else []
    if any(len(pair) == 2 and _holds_for_any(one - two, pair) for pair in asked):
        return True
    return within and not both and _vanish((one - two,), ())


def _holds_for_any(difference: Term, sides: set[Any]) -> bool:
    """Whether a difference is 0 whatever the printed sides stand for."""
    try:
        return _vanish((stood_for(difference, sides),), ())
    except (NonConformable, ArithmeticError):  # as the slope of what is no longer a formula of its variable
        return False


def _vanish(terms: tuple[Term, ...], given: tuple[Given, ...]) -> bool:
    """Whether formulas are zero once definitions are put in; not those that fit together nowhere."""
    entries = [general_entry(t, given) for t in terms]
    return all(e is not None and equal(e, ZERO) for e in entries)


def _supposed(repair: Implication | Follows, printed: tuple[Any, ...]) -> bool:
    """Whether a repair supposes an equation that is printed, moved about, times a number or as a power, or in
    pieces that symbols of their own hold apart.
    """
    fixed = repair.conclusion.term.entry() if isinstance(repair, Implication) else None
    terms = _vanishing(repair)
    for p in (p for p in printed if isinstance(p, Identity)):
        two = general_entry(p.lhs - p.rhs, p.given)
        if two is None:
            continue
        ones = [e for t in terms if (e := general_entry(t, p.given)) is not None]
        own = {t.name for e in ones for t in ix.tensors(e)} - named(p)
        joined = _joined(ones, own) if len(ones) == len(repair.hypotheses) else []
        left = [e for e in joined if not equal(e, ZERO)]
        pieces = len(joined) < len(ones)
        if any(_says(e, form, fixed) for e in ones for form in _powers(two)) or (
            left and all(_says(e, two, fixed, pieces) for e in left)
        ):
            return True
    return False


def _at_one_point(repair: Implication | Follows) -> bool:
    """Whether a repair supposes of each symbol of what it concludes that it is a number."""
    fixed = {
        t
        for e in _vanishing(repair)
        if (entry := general_entry(e, ())) is not None
        for t in _as_numbers(entry)
    }
    about = tensors_of(repair.conclusion if isinstance(repair, Implication) else (repair.lhs, repair.rhs))
    return bool(about) and about <= fixed


def _vanishing(repair: Implication | Follows) -> list[Term]:
    """What vanishes by the equations that a repair supposes."""
    said = [h for h in repair.hypotheses if not isinstance(h, Fact) or h.relation == "="]
    both = [h for h in repair.hypotheses if isinstance(h, Fact) and h.relation == ">="]
    squeezed = [one.term for one, two in combinations(both, 2) if _vanish((one.term + two.term,), ())]
    return [*(h.term if isinstance(h, Fact) else h.lhs - h.rhs for h in said), *squeezed]


def _as_numbers(vanishing: ix.Expr) -> Iterator[Tensor]:
    """The symbols that are said to be numbers where an expression vanishes, by their powers as well, and by a
    sum of their squares.
    """
    form = nf.normal(vanishing)
    powers = [_power(mono) for mono, _ in form]
    if len({c > 0 for _, c in form}) == 1 and all(n and n % 2 == 0 for n in powers):
        yield from ix.tensors(to_expr(form))
    for (mono, c), n in zip(form, powers, strict=True):
        rest = tuple(term for term in form if term != (mono, c))
        if n and not mono[0] and not ix.tensors(to_expr(rest)):
            yield mono[2][0][0][1]


def _power(mono: nf.Mono) -> int:
    """The exponent of what is a whole power of one entry and nothing more; 0 for what is none."""
    _, _, factors = mono
    if len(factors) != 1 or factors[0][0][0] != "T" or factors[0][1].denominator > 1:
        return 0
    ((_, _, tokens), exponent) = factors[0]
    return max(int(exponent), 0) if len(set(tokens)) == len(tokens) else 0


def _powers(difference: ix.Expr) -> Iterator[ix.Expr]:
    """What vanishes where a difference does and only there: it, powers of it, and the sum of its squares."""
    yield difference
    yield from (difference**n for n in (2, 3, 4))
    yield ix.total(difference**2, *sorted(ix.free_indices(difference), key=repr))


def _says(one: ix.Expr, two: ix.Expr, fixed: ix.Expr | None, entries: bool = False) -> bool:
    """Whether an equation, in the letters of what it is supposed for or in others, is another one; one of
    arrays also entry by entry.
    """
    kept = ix.free_indices(one if fixed is None else fixed)
    if fixed is None and entries:
        kept = {i for i in kept if "#" not in i.name}
    return any(_same_equation(way, two) for way in in_other_letters(one, kept, ix.free_indices(two)))


def _joined(equations: list[ix.Expr], own: set[str]) -> list[ix.Expr]:
    """Equations without those that say what a symbol of their own is, which is put into the others."""
    for n, one in enumerate(equations):
        for tensor in sorted((t for t in ix.tensors(one) if t.name in own), key=repr):
            if (found := _alone(nf.normal(one), tensor)) is not None:
                at, value = found
                others = [e for m, e in enumerate(equations) if m != n]
                put = [ix.define(e, tensor, _rule(at, value)) for e in others]
                return _joined(put, own - {tensor.name})
    return equations


def _alone(form: nf.Form, tensor: Tensor) -> tuple[tuple[ix.Index, ...], ix.Expr] | None:
    """The indices of the entry of a tensor that a form has as a term of its own, and what the entry is where
    the form vanishes; None where the tensor is promised something, or stands elsewhere.
    """
    terms = [(mono, c) for mono, c in form if tensor in ix.tensors(to_expr(((mono, c),)))]
    if len(terms) != 1 or tensor.positive or tensor.symmetric:
        return None
    (dims, _, factors), c = terms[0]
    ((atom, exponent), *more) = factors
    if dims or more or exponent != 1 or atom[0] != "T" or len(set(atom[2])) < len(atom[2]):
        return None
    at = tuple(ix.Index(str(token.name), token.dim) for token in atom[2])
    return at, to_expr(nf.scale(tuple(term for term in form if term != terms[0]), -1 / c))


def _rule(at: tuple[ix.Index, ...], value: ix.Expr) -> Callable[..., ix.Expr]:
    return lambda *idx: ix.rename(value, dict(zip(at, idx, strict=True)))


def _computed(part: Any) -> set[Fraction]:
    """The numbers that are compared with printed ones."""
    figures = {f.computed for f in getattr(part, "figures", ())}
    return figures | {c.mean for c in getattr(part, "columns", ())}


def _loose(repair: Any, printed: tuple[Any, ...]) -> bool:
    """Whether figures are nothing but bounds by numbers that are not printed: that 30 is at most 1000 is no
    correction of 30 = 50.
    """
    said = {f.printed for p in printed for f in getattr(p, "figures", ())}
    figures = getattr(repair, "figures", ())
    return bool(figures) and not any(f.relation in ("=", "rounds to") or f.printed in said for f in figures)


def _defined_apart(repair: AtLeast, printed: tuple[Any, ...]) -> bool:
    """Whether what a repair defines is one of the printed symbols by others, and so that of the difference of
    the sides none of them is left: y + z² for x says by itself that x is at least y.
    """
    known = [g for p in printed for g in getattr(p, "given", ()) or ()]
    said = tensors_of(printed)
    more = tuple(g for g in repair.given if g not in known and g.tensor in said)
    left = general_entry(repair.lhs - repair.rhs, repair.given)
    if left is None or not any(tensors_of(g.value) & said for g in more):
        return False
    with suppress(ZeroDivisionError):  # which its engine will say
        return not ix.tensors(to_expr(nf.normal(left))) & said
    return False


def _only_bounds(repair: Cost, counts: list[Any]) -> bool:
    """Whether a count that is printed as a number is bounded by another one: that it is at most n⁹ is no
    correction of 2n².
    """
    said = [p.expression(p.printed) for p in counts]
    return repair.relation != "=" and not any(
        p.relation != "=" or one == repair.expression(repair.printed)
        for p, one in zip(counts, said, strict=True)
    )


def _pinned(repair: Optimal, printed: tuple[Any, ...]) -> bool:
    """Whether a program gets constraints that say of each variable that it is what it is at the solution."""
    before = [c for p in printed if hasattr(p, "program") for c in p.program.constraints]
    more = [c.excess() for c in repair.program.constraints if c.equality and c not in before]
    apart = [g.defined.entry() - g.value.entry() for g in repair.solution]
    return all(
        any(
            _same_equation(way, e) for one in more for way in in_other_letters(one, set(), ix.free_indices(e))
        )
        for e in apart
    )


def _keeps_most(printed: Column, repair: Column) -> bool:
    """Whether a column has most of the numbers of another, each in its place."""
    before, after = (*printed.entries, printed.printed), (*repair.entries, repair.printed)
    return 2 * sum(a == b for a, b in zip(before, after, strict=False)) > max(len(before), len(after))


def _moves(formula: Term, variable: Tensor, given: tuple[Given, ...] = ()) -> bool:
    """Whether a formula depends on a variable once definitions are put in and equal terms are cancelled."""
    try:
        entry = general_entry(formula, given)
        return entry is None or variable in ix.tensors(to_expr(nf.normal(entry)))
    except ZeroDivisionError:  # which its engine will say
        return True


def _still(program: Program, given: tuple[Given, ...] = ()) -> bool:
    """Whether a program asks for nothing: without constraints, and whatever its variables are, one value."""
    return not program.constraints and not any(_moves(program.objective, v, given) for v in program.variables)


def _operations(program: Program) -> set[Term]:
    """The formulas in a program's objective and constraints, the symbols and numbers that they end in left
    out.
    """
    terms = (program.objective, *(side for c in program.constraints for side in (c.lhs, c.rhs)))
    found = {t for term in terms for _, t in subterms(bare(term))}
    return {t for t in found if not isinstance(picked_from(t), Symbol | Number)}


def _resemble(one: Term, two: Term) -> bool:
    """Whether two formulas are one, or one operation of which one place is another: x² for x³, ax for bx."""
    if one == two or type(one) is not type(two) or len(one.args) != len(two.args):
        return one == two
    same = [a == b for a, b in zip(one.args, two.args, strict=True)]
    return any(same) and same.count(False) + (one.data != two.data) <= 1


def _counted(part: Any) -> tuple[Any, ...]:
    """What a count is of: a routine, a plan or what it computes, the rule that determines a quantity."""
    if isinstance(part, Cost):
        return part.plan, part.computes
    return (read_off(part),) if isinstance(part, Counted) else ((part.base, part.rule, part.slope),)


def _assumed(repair: Identity, printed: tuple[Any, ...]) -> bool:
    """Whether the definitions that a repair adds are nothing but its two sides, which then say the same, or
    make both vanish, or one of them is the repair itself, solved for what it defines.
    """
    known = [g for p in printed for g in getattr(p, "given", ()) or ()]
    more = [g for g in repair.given if g not in known]
    values = [(collected(g.defined, True), collected(g.value, True)) for g in more]
    difference = collected(repair.lhs, True) - collected(repair.rhs, True)
    for put in (values, *([value] for value in values)):
        if difference.has(*(name for name, _ in put)):
            left = difference.subs(put).subs(put)
            if sp.numer(sp.together(left)).expand() == 0:
                return True
    open_ones = named([p for p in printed if isinstance(p, _COMPARE)]) - {g.tensor.name for g in known}
    if any(_solved(g, repair, tuple(more)) for g in more if g.tensor.name in open_ones):
        return True
    if more and _vanish((repair.lhs, repair.rhs), tuple(more)):
        return True
    added = {g.tensor for g in more}
    if more and tensors_of((repair.lhs, repair.rhs)) <= {g.tensor for g in more if not tensors_of(g.value)}:
        return True  # at one point
    sides = [t for t in (repair.lhs, repair.rhs) if _symbol(t) in added]
    others = [t for t in (repair.lhs, repair.rhs) if t not in sides]
    meant = {bare(g.value) for g in repair.given if g.tensor in added}
    return bool(sides) and all(bare(t) in meant for t in others)


def _solved(given: Given, repair: Identity, more: tuple[Given, ...]) -> bool:
    """Whether a definition says what a repair says where the others that it adds hold: whatever it is written
    with, in whatever letters, and times what is positive.
    """
    others = tuple(g for g in more if g != given)
    said, meant = (general_entry(t, others) for t in (repair.lhs - repair.rhs, given.defined - given.value))
    if said is None or meant is None:
        return False
    meant = ix.rename(meant, {i: i.fresh() for i in ix.free_indices(meant)})
    return any(_same_equation(way, said) for way in in_other_letters(meant, set(), ix.free_indices(said)))


def _same_equation(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are the same, but for their sign, a number and what is visibly positive."""
    if equal(one, two) or equal(one, -two):
        return True
    try:
        return bool(nf.ratio(*(nf.primitive(nf.normal(e)) for e in (one, two))))
    except ZeroDivisionError:  # which its engine will say
        return False


def _varies_alike(one: Grows, two: Grows) -> bool:
    """Whether two quantities are one, but for its sign, a number, or the one being over the other."""
    pairs = (one.expression / two.expression, one.expression * two.expression)
    return any(sp.cancel(way).is_number for way in (*pairs, one.expression - two.expression))


def _symbol(term: Term) -> Tensor | None:
    """The tensor of a symbol or of an entry of one."""
    inner = picked_from(term)
    return inner.data if isinstance(inner, Symbol) else None


def collected(term: Term, cancel: bool = False, grouped: bool = False) -> sp.Expr:
    """A formula up to the order of its summands and factors, the grouping of its products (but those of
    matrices if that is to count) and the letters of bound indices, with equal ones collected, and nothing
    cancelled but on demand.
    """
    term = bare(term)
    args = [collected(t, cancel, grouped) for t in term.args]
    if isinstance(term, Number):
        return sp.Rational(term.data.numerator, term.data.denominator)
    if isinstance(term, Sum_):
        return sp.Add(*args)
    if isinstance(term, Product) or (isinstance(term, MatMul) and not grouped):  # in the order of matrices
        return sp.Mul(*args)
    if isinstance(term, Neg):
        return -args[0]
    if isinstance(term, Power) and not cancel and term.data in range(2, 10) and _is_number(term):
        return args[0] ** int(term.data)  # as a product of equal factors is
    if isinstance(term, Frac):
        return args[0] / args[1] if cancel else args[0] * sp.Symbol(whole(("one over", args[1])))
    data = term.data
    if isinstance(term, Hadamard | Maximum):  # in any order
        args.sort(key=str)
    if isinstance(term, SumOver | Stack):
        depth = 1 + str(args).count("bound index")
        letter = f"bound index {depth}, {data.dim}"
        args, data = [_lettered(a, whole(data), letter) for a in args], letter
    return sp.Symbol(whole((type(term).__name__, args, data)), commutative=_is_number(term))


def _is_number(term: Term) -> bool:
    """Whether a formula is a number; what does not fit together is none."""
    try:
        return not term.shape()
    except NonConformable:
        return False


def _lettered(formula: sp.Expr, old: str, new: str) -> sp.Expr:
    names = {
        s: sp.Symbol(s.name.replace(old, new), commutative=s.is_commutative) for s in formula.free_symbols
    }
    return formula.xreplace(names)


def bare(term: Term) -> Term:
    """A formula without what does nothing: a name for it, 0 added, 1 multiplied or divided by, a unit matrix
    multiplied by, a power 1, a sum of one, a transpose of a transpose; 0 times anything is 0.
    """
    args = tuple(map(bare, term.args))
    zero, one = as_term(0), as_term(1)
    if isinstance(term, Sum_):
        args = tuple(t for t in args if t != zero and not isinstance(t, Zeros))
        return args[0] if len(args) == 1 else replace(term, args=args) if args else zero
    if isinstance(term, Product):
        args = (zero,) if zero in args else tuple(t for t in args if t != one)
        return args[0] if len(args) == 1 else replace(term, args=args) if args else one
    if isinstance(term, Named):
        return args[0]
    if isinstance(term, Transpose) and isinstance(args[0], Transpose):
        return args[0].args[0]
    if isinstance(term, MatMul) and any(isinstance(t, Eye) for t in args):
        return args[isinstance(args[0], Eye)]
    if (isinstance(term, Frac) and args[1] == one) or (isinstance(term, Power) and term.data == 1):
        return args[0]
    if isinstance(term, Neg) and (args[0] == zero or isinstance(args[0], Neg)):
        return args[0].args[0] if isinstance(args[0], Neg) else zero
    return replace(term, args=args)


def sizes(statement: Any) -> set[str]:
    """The names of the dimensions that a statement mentions."""
    found = {name for t in tensors_of(statement) for name in t.dims} - {"1"}
    return found | {t.data for term in terms_of(statement) for _, t in subterms(term) if isinstance(t, Size)}


def named(statement: Any) -> set[str]:
    """The names of a statement's tensors, of its functions of no known meaning, of its symbols."""
    terms = tuple(terms_of(statement))
    idle = {t.name for t in tensors_of(terms)} - {t.name for t in tensors_of(tuple(map(bare, terms)))}
    found = {t.name for t in tensors_of(statement)} - idle
    for term in terms:
        for _, t in subterms(term):
            if isinstance(t, Apply) and is_unknown(t.data[0]):
                found.add(t.data[0])
    return found | {str(s) for s in _symbols(statement)}


def _symbols(item: Any) -> Iterator[sp.Symbol]:
    return (symbol for part in held(item) if isinstance(part, sp.Basic) for symbol in part.free_symbols)
