"""Theorems that what is printed fails: ``~ (forall ..., lhs = rhs)``, by rational values of all symbols.

Rocq bounds both sides there by rationals, exponentials and roots included, so that they are defined as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from types import MappingProxyType

from checks.engine.hypotheses import check_given, open_demands, violation
from checks.engine.instances import Instance
from checks.engine.judge import drawn, is_differentiated
from checks.kernel.context import Context, loose
from checks.kernel.equalities import places
from checks.kernel.points import differentiable, in_range, kept, point_line, put_in, unknown
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered
from checks.kinds.examples import Example, Rule, defined_at
from checks.statement import Fact, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index, Tensor

NONE: Mapping[str, str] = MappingProxyType({})


def fails(name: str, s: Identity) -> Theorem | None:
    """The theorem that an equality fails at an exact instance, or that it has no value at one."""
    if s.lhs.shape() != s.rhs.shape():
        raise NotCovered("the sides have different shapes: there is no equality to refute")
    at = places("e", s.lhs.shape())
    left, right = s.lhs.entry(*at), s.rhs.entry(*at)
    found = _instance(left, right, s)
    if found is None and is_differentiated(s.lhs, s.rhs):
        return None  # where the formula of a derivative has no value, the derivative may have one
    if found is None:
        return undefined(name, [left, right], s.given, s.nonzero)
    return refutation(name, s, at, (left, right), *found)


def undefined(
    name: str, exprs: list[ix.Expr], given: tuple[Given, ...], nonzero: tuple[Tensor, ...]
) -> Theorem | None:
    """The theorem that what formulas divide by, or take roots and logarithms of, has not everywhere the sign
    that these ask for.
    """
    try:
        demands = [d for d in open_demands(exprs, given, nonzero) if d.signs in ASKED]
    except ZeroDivisionError:
        raise NotCovered("a formula that divides by 0 everywhere") from None
    for demand in demands:
        if found := violation(demand, given, nonzero, 0):
            return by_point(name, given, *found, (), (demand.base, ASKED[demand.signs]), nonzero)
    return None


def _instance(left: ix.Expr, right: ix.Expr, s: Identity) -> tuple[Instance, dict[Index, int]] | None:
    """The first exact instance at which two sides differ; the engine draws the same ones."""
    check_given(s.given, s.nonzero)
    for instance, points in drawn([left, right], s, 0):
        for point in points:
            if instance.same(left, right, point) is False:
                return instance, point
    return None


ASKED = {sg.NONZERO: "!=", POSITIVE: ">", NONNEGATIVE: ">="}
"""What asking for signs says of a number."""
Relation = tuple[ix.Expr, str]
"""A number, and how it stands to 0."""


def related(fact: Fact) -> Relation:
    """What a fact says."""
    return fact.term.entry(), fact.relation


def broken(name: str, s: Rule) -> Theorem | None:
    """The theorem that a rule does not hold, by its own point."""
    instance = s.point.instance(s.given)
    where = _where(s, instance, loose([s.conclusion.term.entry()]))
    if where is None or not defined_at(s, s.point):
        return None
    return by_point(name, s.given, instance, where, [*map(related, s.hypotheses)], related(s.conclusion))


def example(name: str, s: Example) -> list[Theorem]:
    """The theorem that the facts of an example cannot all fail to hold together: its own point has them."""
    fixed = {i: n - 1 for i, n in s.point.at}
    if unknown(s.given, tuple(f.term.entry() for f in s.facts)):
        raise NotCovered("an example with an unknown function")
    try:
        facts = [*map(related, s.facts), *_demanded(s.given)]
        return [by_point(name, s.given, s.point.instance(s.given), fixed, facts, None)]
    except KeyError as missing:
        raise NotCovered(f"a point without a value for {missing}") from None


def _demanded(given: tuple[Given, ...]) -> list[Relation]:
    """That definitions have a value, also those that no fact shows."""
    demands = dict.fromkeys(d for g in given for d in sg.demands(g.value.entry()))
    return [(d.base, ASKED[d.signs]) for d in demands if d.signs in ASKED]


def by_point(
    name: str,
    given: tuple[Given, ...],
    instance: Instance,
    where: Mapping[Index, int],
    hypotheses: Sequence[Relation],
    conclusion: Relation | None,
    nonzero: tuple[Tensor, ...] = (),
) -> Theorem:
    """That the conclusion does not follow for all values of the symbols, or without one a contradiction."""
    exprs = (*([conclusion[0]] if conclusion else []), *(e for e, _ in hypotheses))
    if any(order for _, order in unknown(given, exprs)):
        raise NotCovered("a point for a statement about derivatives")
    context = Context(exprs, given, nonzero, expanded=True, pieces=True)
    shared = context.free = [i for i in context.free if i in where]
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    if shared:
        lines.append(filled(context.everywhere()))
    applied = at_instance(context, instance, where)
    tail = f"{listed(where[i] for i in shared)}%nat"
    for expr, relation in hypotheses:
        line, proof = _fact(context, expr, relation, shared, tail)
        lines.append(line)
        applied.append(proof)
    whole, end = f"(claim {' '.join(applied)})", "False"
    if conclusion:
        expr, relation = conclusion
        end = f"{context.readable(expr, level=49)} {_SIGNS[relation]} 0"
        whole = f"(broken the_point {tail} {_NUMBERS[relation]}%nat {context.deep(expr)} {YES} {whole})"
    told = ["Proof.", "  intros claim.", *point_line(context, instance), filled(f"exact {whole}."), "Qed."]
    return Theorem(name, "\n".join([*lines, filled(f"{end}).")]), "\n".join(told))


def at_instance(
    context: Context, instance: Instance, where: Mapping[Index, int], more: Mapping[str, str] = NONE
) -> list[str]:
    """The arguments of a statement at an instance: values, proofs that promises are kept (``more``: of other
    hypotheses), and the free indices.
    """
    found = {**kept(context), **put_in(context, instance), **more}
    applied = [found[a] for a in context.arguments]
    return applied + [in_range(where.get(i, 0), instance.sizes[i.dim]) for i in context.free]


_SIGNS = {"=": "=", "!=": "<>", ">=": ">=", ">": ">"}
_NUMBERS = {"=": 0, "!=": 1, ">=": 2, ">": 3}


def _where(s: Rule, instance: Instance, shared: list[Index]) -> dict[Index, int] | None:
    """Values of the indices at which the conclusion fails."""
    fixed = {i: n - 1 for i, n in s.point.at}
    choices = [[fixed[i]] if i in fixed else range(instance.sizes[i.dim]) for i in shared]
    for chosen in product(*choices):
        where = dict(zip(shared, chosen, strict=True))
        sign = instance.sign(s.conclusion.term.entry(), {**fixed, **where})
        if (
            sign is not None
            and not {"=": sign == 0, "!=": sign != 0, ">=": sign >= 0, ">": sign > 0}[s.conclusion.relation]
        ):
            return where
    return None


def _fact(context: Context, expr: ix.Expr, relation: str, shared: list[Index], tail: str) -> tuple[str, str]:
    """The line of a hypothesis, for all values of its own indices, and its proof at the point."""
    own = [i for i in loose([expr]) if i not in shared]
    names = dict(context.scope)
    for i in own:
        names.setdefault(i, context.symbols.index(i, names))
    ranges = context.within([names[i] for i in own], [i.dim for i in own])
    line = filled(f"({ranges}{context.readable(expr, names, 49)} {_SIGNS[relation]} 0) ->")
    dims = f"({listed(context.symbols.dims.index(i.dim) for i in own)} : list nat)%nat"
    tree = context.deep(expr, scope=(*own, *shared))
    return line, f"(holding the_point {dims} {tail} {_NUMBERS[relation]}%nat {tree} {YES})"


def refutation(
    name: str,
    s: Identity,
    at: tuple[Index, ...],
    sides: tuple[ix.Expr, ix.Expr],
    instance: Instance,
    point: dict[Index, int],
) -> Theorem:
    """The theorem that two sides are not equal for all values, by the instance at which they differ."""
    called = unknown(s.given, sides)
    mentioned = tuple(ix.Call(name, ix.Num(Fraction(0)), order) for name, order in called)
    context = Context((*sides, *mentioned), s.given, s.nonzero, at, expanded=True, pieces=True)
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    derived = [(f, order) for f, order in called if (f, order + 1) in called]
    derivatives, proofs = differentiable(context, derived, instance)
    lines += derivatives
    if context.free:
        lines.append(filled(context.everywhere()))
    lines += [filled(context.readable(sides[0])), filled(f"= {context.readable(sides[1])}).")]
    where = [f"{point.get(i, 0)}%nat" for i in context.free]
    applied = at_instance(context, instance, point, proofs)
    proof = [
        "Proof.",
        "  intros claim.",
        *point_line(context, instance),
        f"  exact (refuted the_point {listed(where)}%nat",
        *(filled(context.deep(side), "    ") for side in sides),
        f"    {YES}",
        filled(f"(claim {' '.join(applied)})).", "    "),
        "Qed.",
    ]
    return Theorem(name, "\n".join(lines), "\n".join(proof))
