"""Theorems that what is printed fails: ``~ (forall ..., lhs = rhs)``, by rational values of all symbols.

Rocq bounds both sides there by rationals, exponentials and roots included, so that they are defined as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from checks.engine.hypotheses import check_given
from checks.engine.instances import Instance
from checks.engine.judge import drawn
from checks.kernel.context import Context, loose
from checks.kernel.equalities import places
from checks.kernel.figures import false_figures
from checks.kernel.points import in_range, kept, point_line, polynomial, put_in, unknown
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages
from checks.kinds.examples import Example, Rule
from checks.kinds.family import Family
from checks.kinds.stacked import Pruned, Stacked
from checks.statement import Fact, Given, Identity, Malformed, parts
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.index import Index, summands
from derivations.calculus.term import NonConformable, Part


def failing(name: str, statement: Any) -> tuple[list[Theorem], list[str]]:
    """A theorem for every equality of a statement that fails at an exact instance, and for every rule that
    its offered point breaks; and why something that may fail has none.
    """
    found: list[Theorem] = []
    missing: list[str] = []
    for n, piece in enumerate(parts(statement), 1):
        if isinstance(piece, Arithmetic | Averages):
            found += false_figures(f"{name}_figures{n}", piece)
    for n, piece in enumerate(_pieces(statement), 1):
        try:
            own = f"{name}_fails{n}"
            theorem = _broken(own, piece) if isinstance(piece, Rule) else _fails(own, piece)
        except (NotCovered, NonConformable, Malformed) as why:
            missing.append(str(why))
        except KeyError as what:
            missing.append(f"a point without a value for {what}")
        else:
            found += [theorem] if theorem else []
    return found, missing


def _pieces(statement: Any) -> Iterator[Identity | Rule]:
    """The equalities and rules that a statement asserts."""
    for part in parts(statement):
        if isinstance(part, Identity | Rule):
            yield part
        elif isinstance(part, Stacked):
            for dims in product(*(summands(dim) for dim in part.lhs.shape())):
                left, right = (Pruned((Part((side,), dims),)) for side in (part.lhs, part.rhs))
                yield Identity(left, right, part.given, nonzero=part.nonzero)
        elif isinstance(part, Family):
            for _, case in part.cases:
                yield from _pieces(case)


def _fails(name: str, s: Identity) -> Theorem | None:
    if s.lhs.shape() != s.rhs.shape():
        raise NotCovered("the sides have different shapes: there is no equality to refute")
    at = places("e", s.lhs.shape())
    left, right = s.lhs.entry(*at), s.rhs.entry(*at)
    found = _instance(left, right, s)
    return None if found is None else _refutation(name, s, at, (left, right), *found)


def _instance(left: ix.Expr, right: ix.Expr, s: Identity) -> tuple[Instance, dict[Index, int]] | None:
    """The first exact instance at which two sides differ; the engine draws the same ones."""
    check_given(s.given, s.nonzero)
    for instance, points in drawn([left, right], s, 0):
        for point in points:
            if instance.same(left, right, point) is False:
                return instance, point
    return None


def _broken(name: str, s: Rule) -> Theorem | None:
    """The theorem that a rule does not hold, by its own point."""
    instance = s.point.instance(s.given)
    where = _where(s, instance, loose([s.conclusion.term.entry()]))
    return None if where is None else _by_point(name, s.given, instance, where, s.hypotheses, s.conclusion)


def example(name: str, s: Example) -> list[Theorem]:
    """The theorem that the facts of an example cannot all fail to hold together: its own point has them."""
    fixed = {i: n - 1 for i, n in s.point.at}
    equations = [n for f in s.facts if f.relation == "=" for n in ix.walk(f.term.entry())]
    if any(isinstance(n, ix.Call) for n in equations):
        raise NotCovered("an equation between exponentials at a point, which bounds do not show")
    if unknown(s.given, tuple(f.term.entry() for f in s.facts)):
        raise NotCovered("an example with an unknown function")
    if any(True for g in s.given for _ in sg.demands(g.value.entry())):
        raise NotCovered("an example with a definition that need not have a value everywhere")
    try:
        return [_by_point(name, s.given, s.point.instance(s.given), fixed, s.facts, None)]
    except KeyError as missing:
        raise NotCovered(f"a point without a value for {missing}") from None


def _by_point(
    name: str,
    given: tuple[Given, ...],
    instance: Instance,
    where: dict[Index, int],
    hypotheses: tuple[Fact, ...],
    conclusion: Fact | None,
) -> Theorem:
    """That the conclusion does not follow for all values of the symbols, or without one a contradiction."""
    facts = [(h.term.entry(), h.relation) for h in hypotheses]
    exprs = (*([conclusion.term.entry()] if conclusion else []), *(e for e, _ in facts))
    if any(order for _, order in unknown(given, exprs)):
        raise NotCovered("a point for a statement about derivatives")
    context = Context(exprs, given, expanded=True)
    shared = context.free = [i for i in context.free if i in where]
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    proofs, values = kept(context), put_in(context, instance)
    applied = [values.get(a) or proofs[a] for a in context.arguments]
    if shared:
        lines.append(filled(context.everywhere()))
    applied += [in_range(where[i], instance.sizes[i.dim]) for i in shared]
    tail = f"{listed(where[i] for i in shared)}%nat"
    for expr, relation in facts:
        line, proof = _fact(context, expr, relation, shared, tail)
        lines.append(line)
        applied.append(proof)
    whole, end = f"(claim {' '.join(applied)})", "False"
    if conclusion:
        expr, relation = conclusion.term.entry(), conclusion.relation
        end = f"{context.readable(expr, level=49)} {_SIGNS[relation]} 0"
        whole = f"(broken the_point {tail} {_NUMBERS[relation]}%nat {context.deep(expr)} {YES} {whole})"
    told = ["Proof.", "  intros claim.", *point_line(context, instance), filled(f"exact {whole}."), "Qed."]
    return Theorem(name, "\n".join([*lines, filled(f"{end}).")]), "\n".join(told))


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


def _refutation(
    name: str,
    s: Identity,
    at: tuple[Index, ...],
    sides: tuple[ix.Expr, ix.Expr],
    instance: Instance,
    point: dict[Index, int],
) -> Theorem:
    called = unknown(s.given, sides)
    mentioned = tuple(ix.Call(name, ix.Num(Fraction(0)), order) for name, order in called)
    context = Context((*sides, *mentioned), s.given, s.nonzero, at, expanded=True)
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    proofs = kept(context)
    for function, order in called:
        if (function, order + 1) in called:
            one, two = (context.symbols.function((function, n)) for n in (order, order + 1))
            known, line = context.hypothesis(f"forall x, derivable_pt_lim {one} x ({two} x)")
            lines.append(line)
            proofs[known] = f"(poly_derivable {polynomial((function, order))})"
    if context.free:
        lines.append(filled(context.everywhere()))
    lines += [filled(context.readable(sides[0])), filled(f"= {context.readable(sides[1])}).")]
    values = put_in(context, instance)
    applied = [values.get(a) or proofs[a] for a in context.arguments]
    where = [f"{point.get(i, 0)}%nat" for i in context.free]
    applied += [in_range(point.get(i, 0), instance.sizes[i.dim]) for i in context.free]
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
