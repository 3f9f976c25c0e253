"""How much a failure matters: computed from the part that fails, from its repair, and from what rests
on the claim.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher
from typing import Any

import sympy as sp

from checks.engine.hypotheses import apply_definitions
from checks.engine.instances import exact_instances
from checks.engine.judge import equal
from checks.engine.printing import part_latex
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages
from checks.kinds.examples import Rule
from checks.kinds.family import Family
from checks.kinds.feasible import Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.inequality import AtLeast
from checks.kinds.programs import WellPosed
from checks.kinds.scope import Scoped
from checks.kinds.stacked import Stacked
from checks.statement import Definition, Fact, Given, Identity, Statement, names, parts
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Apply, NonConformable, Pick, Power, Symbol, Term, subterms

FORMULAS = (Identity, Definition, Scoped, Stacked, WellPosed, Family, Arithmetic, Averages)

# What a statement is made under, and what proves or refutes it; the other fields are what it says.
BESIDE = {
    "above",
    "bound",
    "factor",
    "certificate",
    "chain",
    "choice",
    "convex",
    "data",
    "direction",
    "domain",
    "family",
    "gap",
    "given",
    "high",
    "hypotheses",
    "label",
    "low",
    "multipliers",
    "nonzero",
    "null",
    "one",
    "orbit",
    "other",
    "over",
    "ranges",
    "rate",
    "ray",
    "reason",
    "sizes",
    "squares",
    "witness",
}


TEXTS = ("printed", "latex")
"""Formulas that are held as text."""


def failures(failing: Iterable[int], printed: Statement, corrected: Statement | None) -> list[dict[str, str]]:
    """For each part that fails, by number: its LaTeX, its severity by its repair alone, and what that follows
    from. One repair mends one formula, the next of which it keeps most, in all its readings, and those that
    share a side with it.
    """
    before, letters, numbers = parts(printed), names(printed), list(failing)
    repairs = [p for p in parts(corrected) if p not in before] if corrected is not None else []
    kept: dict[int, float] = {}
    serves: dict[int, list[Any]] = {}
    own, theirs = {n: _sides(before[n]) for n in numbers}, [_sides(r) for r in repairs]
    pairs = [
        (_closeness(before[n], r), any(s in theirs[k] for s in own[n]), n, k)
        for n in numbers
        for k, r in enumerate(repairs)
    ]
    for close, shared, n, k in sorted(pairs, key=_first):
        if close and n not in kept and (serves.setdefault(k, own[n][:1]) == own[n][:1] or shared):
            kept[n] = close
    found = [(part_latex(before[n], letters[n]), *_compared(kept.get(n, 0), bool(repairs))) for n in numbers]
    return [dict(zip(("latex", "severity", "because"), f, strict=True)) for f in found]


def _first(pair: tuple[float, bool, int, int]) -> tuple[Any, ...]:
    """Sorts pairs of a part and a repair: those that say the same, then those that share a side, then those
    that keep most, each by how near they stand in their order.
    """
    close, shared, part, repair = pair
    return close < SAME, not shared, 2 * close <= 1, abs(part - repair), -close


SAME = 2
"""How close a repair is that says what is printed."""


def _closeness(printed: Any, repair: Any) -> float:
    """`SAME` for a repair that says what is printed, else the share of the printed symbols that it keeps, 0
    where it is no statement of the kind, or where what is printed is said to exist.
    """
    if _same(printed, repair):
        return SAME
    if weaker(printed, repair) or getattr(printed, "exists", False):  # what is nowhere is no slip of the pen
        return 0
    if isinstance(printed, Arithmetic) and isinstance(repair, Arithmetic):
        if len(repair.figures) < len(printed.figures):  # nor is a figure that no other number mends
            return 0
    formulas = isinstance(printed, FORMULAS) and isinstance(repair, FORMULAS)
    return kept_of(printed, repair) if formulas or _asserts(repair) == _asserts(printed) else 0


def weaker(printed: Any, repair: Any) -> bool:
    """Whether a repair equates one formula in each of the two printed sides, so that it follows from what is
    printed and says less.
    """
    if not isinstance(printed, Identity) or not isinstance(repair, Identity):
        return False
    before, after = said(printed)[1:], said(repair)[1:]
    one, two = (_put(side, dict.fromkeys(before, "the side")) for side in after)
    return one == two != "the side"


def _put(item: Any, values: dict[Any, str]) -> Any:
    """Nested tuples with other things in the place of some of them."""
    if item in values:
        return values[item]
    return tuple(_put(inner, values) for inner in item) if isinstance(item, tuple) else item


def _sides(part: Any) -> list[Any]:
    """The two sides of an equation, what it defines first; those of a family's printed statement."""
    inner = part.general if isinstance(part, Family) and part.general is not None else part
    return [side for side in said(inner)[1:] if list(_symbols(side))[1:]]


def _compared(close: float, repaired: bool) -> tuple[str, str]:
    if not repaired:
        return "substance", "no repair that holds is recorded"
    if close == SAME:
        return "condition", "it holds as printed under what the correction adds"
    if 2 * close > 1:
        return "misprint", "its correction keeps most of its symbols"
    return "substance", "what holds instead is another statement"


def _same(printed: Any, repair: Any) -> bool:
    """Whether a repair says what is printed, and is said under the same and more; of figures, whether what
    is printed stands and is only computed under something else; of an equation, whether it has a solution.
    """
    if isinstance(printed, Arithmetic) and isinstance(repair, Arithmetic):
        return _figures(printed) == _figures(repair)
    if isinstance(printed, Solvable) and _solved(printed, repair):
        return True
    if not _adds(printed, repair):
        return False
    if said(printed) == said(repair):
        return True
    before, after = (getattr(s, "given", ()) or () for s in (printed, repair))
    one = _compared_with_zero(printed, before, "=")
    if one is not None and equal(
        one, ix.as_expr(0)
    ):  # fails by being undefined, and every identity vanishes: compare sides
        if not isinstance(printed, Identity) or not isinstance(repair, Identity):
            return False
        one, two = general_entry(printed.lhs, before), general_entry(repair.lhs, after)
        return one is not None and two is not None and ix.tensors(one) == ix.tensors(two) and _alike(one, two)
    least = _compared_with_zero(printed, before, ">=")
    return any(
        _alike(one, _compared_with_zero(repair, given, "="))
        or _alike(least, _compared_with_zero(repair, given, ">=", ">"), (1,))
        for given in (before, after)
    )


def _solved(printed: Solvable, repair: Any) -> bool:
    """Whether a repair is the one equation that is said to have a solution, with the solution given."""
    if not isinstance(repair, Identity) or printed.unknown not in [g.tensor for g in repair.given]:
        return False
    one, *more = (general_entry(fact.term, ()) for fact in printed.equations)
    return not more and _alike(one, general_entry(repair.lhs - repair.rhs, ()))


def _figures(part: Arithmetic) -> tuple[Any, ...]:
    """Figures as they are printed, without what is computed."""
    return part.label, *((f.words, f.relation, f.printed) for f in part.figures)


def _alike(one: ix.Expr | None, two: ix.Expr | None, factors: tuple[int, ...] = (1, -1)) -> bool:
    """Whether two entries are equal up to one of the factors and the letters of their indices."""
    if one is None or two is None:
        return False
    here, there = sorted(ix.free_indices(one), key=repr), sorted(ix.free_indices(two), key=repr)
    turned = ix.renamings(two, there, here) if len(here) == len(there) else ()
    pairs = ((one, ix.as_expr(factor) * other) for other in turned for factor in factors)
    return any(not _differ(*pair) and equal(*pair) for pair in pairs)


def _differ(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether some exact instance tells two entries apart: much sooner than normal forms do."""
    found = exact_instances([one, two], (), 0, 3, True, spread=True)
    return any(instance.same(one, two, at) is False for instance, points in found for at in points)


def _adds(printed: Any, repair: Any) -> bool:
    """Whether a repair is made under the definitions, hypotheses, steps and ranges of what is printed,
    and more.
    """
    for name in ("given", "chain"):
        before, after = (unpromised(getattr(s, name, ()) or ()) for s in (printed, repair))
        if not set(before) <= set(after):
            return False
    facts = [{f for h in getattr(s, "hypotheses", ()) for f in _implied(h)} for s in (printed, repair)]
    if not facts[0] <= facts[1]:
        return False
    ends = [(getattr(s, "low", None), getattr(s, "high", None)) for s in (printed, repair)]
    return _within(ends[0][0], ends[1][0], operator.le) and _within(ends[0][1], ends[1][1], operator.ge)


def _implied(hypothesis: Any) -> list[Any]:
    """A hypothesis, and weaker ones that it contains; an equation of matrices is one of all their entries."""
    if isinstance(hypothesis, Equation):
        return [(unpromised(hypothesis.lhs - hypothesis.rhs), r) for r in ("=", ">=")]
    if not isinstance(hypothesis, Fact):
        return [unpromised(hypothesis)]
    term = hypothesis.term
    if isinstance(term, Pick) and len(set(term.data)) == len(term.data) == len(term.args[0].shape()):
        term = term.args[0]
    return [
        (unpromised(term), r)
        for r in {"=": ("=", ">="), ">": (">", ">=")}.get(hypothesis.relation, (hypothesis.relation,))
    ]


def _within(printed: Any, repaired: Any, order: Any) -> bool:
    """Whether an end of a repair's range lies in the printed one."""
    return printed is None or (repaired is not None and order(printed, repaired))


def _asserts(part: Any) -> tuple[Any, ...]:
    """What kind of thing a statement asserts: its class, and whatever it says besides formulas."""
    plain = [
        (f.name, getattr(part, f.name))
        for f in fields(part)
        if f.name not in (*BESIDE, *TEXTS) and not isinstance(getattr(part, f.name), Term | Fact | sp.Expr)
    ]
    kind = Implication if isinstance(part, Rule) else type(part)
    return kind.__name__, *((name, unpromised(value)) for name, value in plain)


def _compared_with_zero(part: Any, given: tuple[Given, ...], *relations: str) -> ix.Expr | None:
    """The entry of which a statement says that it has one of the relations to zero, with definitions
    applied; None where it has none.
    """
    relation, term = getattr(part, "relation", ">=" if isinstance(part, AtLeast) else "="), None
    if isinstance(part, Implication | Rule):
        relation, term = part.conclusion.relation, part.conclusion.term
    elif isinstance(part, Identity | Follows | Stacked | AtLeast):
        term = part.lhs - part.rhs
    return general_entry(term, given) if term is not None and relation in relations else None


def general_entry(term: Term, given: tuple[Given, ...]) -> ix.Expr | None:
    """The general entry of a term with definitions applied; None where it does not fit together."""
    try:
        at = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(term.shape()))
        return apply_definitions(term.entry(*at), given)
    except (NonConformable, ValueError):
        return None


def kept_of(printed: Any, repair: Any) -> float:
    """The share of the printed symbols that a repair keeps, in their order; where it keeps neither side, that
    of a side of which it keeps less than half.
    """
    before, after = (list(_symbols((said(s)[1:], _under(s)))) for s in (printed, repair))
    share = _common(before, after) / len(before)
    if isinstance(repair, type(printed)) and isinstance(printed, Identity | AtLeast):
        sides = ((printed.lhs, repair.lhs), (printed.rhs, repair.rhs))
        lists = [[_without_indices(t) for t in pair] for pair in sides]
        if all(one != two for one, two in lists):
            least = min(_common(one, two) / len(one) for one, two in lists)
            return min(share, least) if 2 * least < 1 else share
    return share


def _without_indices(term: Term) -> list[Any]:
    """The operations and symbols of a formula, in order."""
    inner = (t for _, t in subterms(term))
    return [(type(t), isinstance(t, Power | Apply) and t.data) if t.args else unpromised(t) for t in inner]


def likeness(printed: Any, repair: Any) -> float:
    """The share of the symbols of both that two statements have in common, in their order, leaving out what
    they are said under.
    """
    before, after = (list(_symbols(said(s)[1:])) for s in (printed, repair))
    return 2 * _common(before, after) / (len(before) + len(after))


def _common(before: list[str], after: list[str]) -> int:
    return sum(b.size for b in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks())


def _under(part: Any) -> tuple[Any, ...]:
    """The formulas that a statement is made under: hypotheses and definitions."""
    hypotheses = getattr(part, "hypotheses", ()) or ()
    facts = tuple(unpromised(h.term if isinstance(h, Fact) else h) for h in hypotheses)
    return facts, tuple((g.tensor.name, unpromised(g.value)) for g in getattr(part, "given", ()) or ())


def _symbols(item: Any) -> Iterator[str]:
    if isinstance(item, tuple):
        for inner in item:
            yield from _symbols(inner)
    elif isinstance(item, sp.Expr):
        yield from (str(node.func if node.args else node) for node in sp.preorder_traversal(item))
    elif item is not None:
        yield str(item)


def said(part: Any) -> tuple[Any, ...]:
    """What a statement says, without what it is said under: a relation and its terms, as nested tuples."""
    if isinstance(part, Implication | Rule):
        return part.conclusion.relation, unpromised(part.conclusion.term)
    if isinstance(part, AtLeast):
        return ">=", unpromised(part.lhs), unpromised(part.rhs)
    if isinstance(part, Identity | Follows | Stacked):
        return getattr(part, "relation", "="), unpromised(part.lhs), unpromised(part.rhs)
    if isinstance(part, Definition | Scoped):
        return ":=", unpromised(part.name), unpromised(part.meaning)
    return unpromised(part)


def unpromised(item: Any) -> Any:
    """Tensors by their names: what is promised of them, and of their sizes, is a condition."""
    if isinstance(item, Tensor):
        return item.name
    if isinstance(item, Index):
        return item.name, item.dim
    if isinstance(item, Symbol):
        return item.data.name
    if isinstance(item, Term):
        return type(item).__name__, *map(unpromised, item.args), unpromised(item.data)
    if isinstance(item, tuple | list):
        return tuple(map(unpromised, item))
    if is_dataclass(item) and not isinstance(item, type):
        named = (f.name for f in fields(item) if f.name not in BESIDE)
        return type(item).__name__, *(unpromised(getattr(item, name)) for name in named)
    return item
