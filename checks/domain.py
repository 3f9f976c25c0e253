"""What a statement needs besides its entries: formulas that are differentiated, replaced or laid aside must be defined too.

The entry of a gradient, of a substitution or of a block does not show what the formula inside it asks for: ∇(x + log y) is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from checks.finding import Finding
from checks.hypotheses import apply_definitions, signs_under
from checks.statement import Given, Implication, Malformed
from derivations import index as ix
from derivations import normal as nf
from derivations import signs as sg
from derivations.energy_terms import Derived, Moved
from derivations.functions import EXPONENT, NONNEGATIVE, POSITIVE
from derivations.index import Index, Tensor
from derivations.term import NonConformable, Term


def guard(statement: Any, finding: Finding) -> Finding:
    """The finding, without its proof where something inside the statement is not shown to be defined."""
    if not finding.proved:
        return finding
    try:
        open_ones = [d for d in hidden_demands(statement) if not _signs(d.base, statement) <= d.signs]
    except ZeroDivisionError:
        open_ones = [sg.Demand(ix.as_expr(0), sg.NONZERO)]
    if open_ones:
        from checks.printing import unicode_math
        from derivations.printing import form_latex

        shown = "; ".join(f"{unicode_math(form_latex(nf.normal(d.base)))} {d.words()}" for d in open_ones[:3])
        detail = f"not shown inside a derived formula: {shown}"
        finding.evidence = [
            replace(e, passed=None, detail=detail) if e.settles and e.passed else e for e in finding.evidence
        ]
        if finding.unproved_parts is not None:
            finding.unproved_parts, finding.open_legs = 1, frozenset()
    return finding


def _signs(base: ix.Expr, statement: Any) -> sg.Signs:
    given, nonzero = getattr(statement, "given", ()) or (), getattr(statement, "nonzero", ()) or ()
    ranges = {"> 0": POSITIVE, ">= 0": NONNEGATIVE}
    known = {t: ranges[r] for t, r in getattr(statement, "ranges", ()) if r in ranges}
    forms: dict[nf.Form, sg.Signs] = {}
    if isinstance(statement, Implication):
        relations = {"=": sg.ZERO, ">=": NONNEGATIVE, ">": POSITIVE}
        forms = {nf.normal(h.term.entry()): relations[h.relation] for h in statement.hypotheses}
    return signs_under(base, given, nonzero) & sg.signs(base, sg.Facts(known, forms))


def hidden_demands(statement: Any) -> Iterator[sg.Demand]:
    """What the terms inside derived terms and blocks need in order to be defined."""
    for term in _terms(statement):
        yield from _inside(term)


def _terms(item: Any) -> Iterator[Term]:
    """The terms of a statement, those of its definitions and chains as well."""
    if isinstance(item, Term):
        yield item
    elif isinstance(item, (tuple, list)):
        for part in item:
            yield from _terms(part)
    elif is_dataclass(item) and not isinstance(item, (type, Index, Tensor)):
        for f in fields(item):
            yield from _terms(getattr(item, f.name))


def _inside(term: Term) -> Iterator[sg.Demand]:
    everywhere, around = term.hidden()
    for group, demands in ((everywhere, sg.demands), (around, sg.interior)):
        for inner in group:
            for expr in _entries(inner):
                yield from demands(expr)
            yield from _inside(inner)
    if not isinstance(term, Moved):  # what is replaced in it is asked for after the replacement
        for part in term.args:
            yield from _inside(part)


def _entries(term: Term) -> list[ix.Expr]:
    try:
        return [term.entry(*(Index(f"h{n}#", dim) for n, dim in enumerate(term.shape())))]
    except (NonConformable, ValueError):  # a stacked one: its blocks are asked for themselves
        return []


# ---------------------------------------------------------------- definitions and derived terms


def check_derived(statement: Any) -> None:
    """Raise Malformed where a definition depends on what is differentiated by or replaced: "hold it fixed" is not said."""
    given = tuple(getattr(statement, "given", ()) or ())
    for term in _terms(statement):
        for derived in _derived(term):
            inner, tensor = derived.by()
            used = {t for expr in _entries(inner) for t in ix.tensors(expr)}
            _check_moving(tensor, used, given)
            calls = [n for expr in _entries(inner) for n in ix.walk(expr) if isinstance(n, ix.Call)]
            if tensor == EXPONENT and any(n.function == "power" for n in calls):
                raise Malformed("the symbolic exponent stays a symbol")
    if any(g.tensor == EXPONENT for g in given):
        raise Malformed("the symbolic exponent stays a symbol")
    variable = getattr(statement, "variable", None)
    if isinstance(variable, Tensor) and hasattr(statement, "energy"):
        _check_moving(variable, {g.tensor for g in given}, given)


def _derived(term: Term) -> Iterator[Derived]:
    if isinstance(term, Derived):
        yield term
        yield from _derived(term.by()[0])
    for part in term.args:
        yield from _derived(part)


def _check_moving(tensor: Tensor, used: set[Tensor], given: tuple[Given, ...]) -> None:
    """A definition of the moved tensor itself says where the derivative is taken, which is no ambiguity."""
    others = tuple(g for g in given if g.tensor != tensor)
    for g in others:
        if g.tensor in used and tensor in ix.tensors(apply_definitions(g.value.entry(), others)):
            raise Malformed(f"{g.tensor.name} is defined, and {tensor.name}, on which it depends, is moved")
