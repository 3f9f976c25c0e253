"""Hypotheses of a statement: definitions, promises, what is assumed not to vanish; and where formulas
are defined.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from checks.engine.instances import Instance, describe, exact_instances
from checks.evidence import Evidence
from checks.statement import Fact, Given, Malformed
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.index import Index, Tensor
from derivations.calculus.naming import may_vanish
from derivations.calculus.printing import form_latex
from derivations.calculus.unicode import unicode_math

_TRIES = 60
UNDEFINED = "a formula is not defined"


def apply_definitions(expr: ix.Expr, given: tuple[Given, ...]) -> ix.Expr:
    """An expression with the tensors of ``given`` replaced by their values, until no definition applies."""
    for _ in range(len(given) + 1):
        for g in given:
            value = g.value.entry()
            expr = ix.define(
                expr,
                g.tensor,
                lambda *idx, value=value, g=g: ix.rename(value, dict(zip(g.at, idx, strict=True))),
            )
    return expr


def check_given(given: tuple[Given, ...], nonzero: tuple[Tensor, ...] = ()) -> None:
    """Raise Malformed for definitions that are circular, double, break a promise of what they define,
    or leave an index open.
    """
    rules = {g.tensor: g for g in given}
    if len(rules) < len(given):
        raise Malformed("a tensor is defined twice")
    uses = {g.tensor: ix.tensors(g.value.entry()) for g in given}
    for tensor, g in rules.items():
        loose = ix.free_indices(g.value.entry()) - set(g.at)
        if loose:
            raise Malformed(f"the definition of {tensor.name} leaves {_names(loose)} open")
        seen: set[Tensor] = set()
        todo = [tensor]
        while todo:
            for inner in uses.get(todo.pop(), set()) - seen:
                seen.add(inner)
                todo.append(inner)
        if tensor in seen:
            raise Malformed(f"{tensor.name} is defined by itself")
    for g in given:
        check_promises(g.tensor, g.at, g.value.entry(), given, nonzero)


def check_promises(
    tensor: Tensor,
    at: tuple[Index, ...],
    value: ix.Expr,
    given: tuple[Given, ...],
    nonzero: tuple[Tensor, ...],
) -> None:
    """Raise Malformed where ``tensor[at] = value`` is not visibly what the tensor is promised to be."""
    value = apply_definitions(value, given)
    if tensor.positive and not positive_under(value, given, nonzero):
        raise Malformed(f"{tensor.name} is promised positive, and its value is not visibly so")
    if tensor.symmetric and not nf.equal(value, ix.rename(value, dict(zip(at, at[::-1], strict=True)))):
        raise Malformed(f"{tensor.name} is promised symmetric, and its value is not visibly so")


def _names(indices: set[Index]) -> str:
    return ", ".join(sorted(i.name for i in indices))


def signs_under(
    base: ix.Expr, given: tuple[Given, ...], nonzero: tuple[Tensor, ...], literally: bool = False
) -> sg.Signs:
    """The signs that an expression may have where all definitions and promises hold."""
    tensors = dict.fromkeys(nonzero, sg.NONZERO)
    found = sg.signs(base, sg.Facts(tensors))
    if not given or len(found) <= 1:
        return found
    forms: dict[nf.Form, sg.Signs] = {}
    for g in given:
        if g.tensor in nonzero:
            forms.update(dict.fromkeys(_forms(g, base, given), sg.NONZERO))
    return found & sg.signs(apply_definitions(base, given), sg.Facts(tensors, forms, literally))


def _forms(g: Given, base: ix.Expr, given: tuple[Given, ...]) -> list[nf.Form]:
    """The normal forms of a definition's value at every choice of the indices that ``base`` leaves free."""
    value = apply_definitions(g.value.entry(), given)
    found = []
    for choice in product(sorted(ix.free_indices(base), key=lambda i: i.name), repeat=len(g.at)):
        if tuple(i.dim for i in choice) == tuple(i.dim for i in g.at):
            found.append(nf.normal(ix.rename(value, dict(zip(g.at, choice, strict=True)))))
    return found


def never_zero(base: ix.Expr, given: tuple[Given, ...], nonzero: tuple[Tensor, ...]) -> bool:
    """Whether ``base`` visibly vanishes nowhere under the hypotheses; False decides nothing."""
    return 0 not in signs_under(base, given, nonzero)


def positive_under(base: ix.Expr, given: tuple[Given, ...] = (), nonzero: tuple[Tensor, ...] = ()) -> bool:
    """Whether ``base`` is visibly > 0 under the hypotheses."""
    return signs_under(base, given, nonzero) <= fn.POSITIVE


def open_demands(
    expressions: list[ix.Expr], given: tuple[Given, ...], nonzero: tuple[Tensor, ...]
) -> list[sg.Demand]:
    """What the expressions and the definitions need in order to be defined and do not visibly have,
    each once.
    """
    found: dict[tuple[Any, ...], sg.Demand] = {}
    for expr in [*expressions, *(g.value.entry() for g in given)]:
        for demand in sg.demands(expr):
            if not signs_under(demand.base, given, nonzero) <= demand.signs:
                found.setdefault((nf.normal(demand.base), demand.signs), demand)
    return list(found.values())


def named(demands: list[sg.Demand]) -> str:
    """What demands ask for, in words."""
    return "; ".join(f"{unicode_math(form_latex(nf.normal(d.base)))} {d.words()}" for d in demands)


def defined(
    expressions: list[ix.Expr], given: tuple[Given, ...], nonzero: tuple[Tensor, ...], seed: int
) -> tuple[Evidence, str | None]:
    """Denominators, roots and logarithms are defined on the stated domain; otherwise an exact instance where
    not.

    The evidence has ``passed`` None where neither was shown: then nothing about the expressions may be called
    proved.
    """
    check_given(given, nonzero)
    try:
        still_open = open_demands(expressions, given, nonzero)
    except ZeroDivisionError:
        return Evidence("exact", "exact-rational", False, UNDEFINED), "always: the denominator is 0"
    if not still_open:
        detail = "every denominator, root and logarithm is defined"
        if nonzero:
            detail += "; assumed not to vanish: " + ", ".join(unicode_math(t.symbol) for t in nonzero)
        return Evidence("derivation", "exact-symbolic", True, detail), None
    for demand in still_open:
        if not demand.signs:  # where it is defined is not known: no place where it is not
            continue
        demand = replace(demand, signs=demand.lent())
        found = violation(demand, given, nonzero, seed)
        if found:
            what = "the denominator is 0" if demand.signs == sg.NONZERO else f"not {demand.words()}"
            what = "the derivative does not exist" if demand.kink else what
            where = describe(*found, demand.base) or "always"
            return Evidence("exact", "exact-rational", False, UNDEFINED), f"{where}: {what}"

    shown = named(still_open)
    return Evidence("derivation", "exact-symbolic", None, f"not shown: {shown}"), None


def violation(
    demand: sg.Demand, given: tuple[Given, ...], nonzero: tuple[Tensor, ...], seed: int
) -> tuple[Instance, dict[Index, int]] | None:
    """The first exact instance, and values of the indices, at which a demand is not met, by anyone's
    reading: the cube root of -8 is -2 for many.
    """
    for instance, points in exact_instances([demand.base], given, seed, _TRIES, True, nonzero=nonzero):
        for at in points:
            sign = instance.sign(demand.base, at)
            if sign is not None and sign not in demand.lent():
                return instance, at
    return None


def may_have_none(*expressions: ix.Expr) -> set[Index]:
    """The free indices that run over a size that may be 0: what is said for all their values may be said of
    nothing.
    """
    return {i for expr in expressions for i in ix.free_indices(expr) if may_vanish(i.dim)}


def of_none(expressions: Iterable[ix.Expr], shared: set[Index]) -> str:
    """Why what is said for all values of indices that are not ``shared`` may be said of nothing; "" if it is
    not.
    """
    loose = {i.dim for i in may_have_none(*expressions) - shared}
    return f"where {min(loose)} is 0, what is assumed for all indices says nothing" if loose else ""


def facts_of(hypotheses: Iterable[Any]) -> sg.Facts:
    """Hypotheses about one number each, and that they are defined, as facts about signs: for no values of
    an index a hypothesis says nothing of what does not have it.
    """
    known = {"=": sg.ZERO, ">=": fn.NONNEGATIVE, ">": fn.POSITIVE}
    forms: dict[nf.Form, sg.Signs] = {}
    for h in (h for h in hypotheses if isinstance(h, Fact)):
        expr = h.term.entry()
        few = frozenset(may_have_none(expr))
        said = [(d.base, d.lent()) for d in sg.granted(expr, few)]
        if sg.is_about(expr, few):
            said.append((expr, known.get(h.relation, fn.ANY)))
        for base, signs in said:
            if sg.asks_more(base, few, sg.signs):  # its normal form may be another number
                continue
            form = nf.normal(base)
            forms[form] = forms.get(form, fn.ANY) & signs
            if 0 not in signs and len(form) == 1 and not form[0][0][0]:  # no factor of it vanishes
                for atom, _ in form[0][0][2]:
                    factor = nf.finished(Fraction(1), [], [(atom, Fraction(1))])
                    forms[factor] = forms.get(factor, fn.ANY) & sg.NONZERO
    return sg.Facts(forms=forms)
