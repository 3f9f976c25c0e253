"""What a statement needs besides its entries: formulas that are differentiated, replaced or laid aside must
be defined too.

The entry of a gradient, of a substitution or of a block does not show what the formula inside it asks for:
∇(x + log y) is 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from checks.engine.finding import Finding
from checks.engine.hypotheses import UNDEFINED, facts_of, named, signs_under
from checks.engine.notation import all_terms
from checks.engine.wellformed import entries
from checks.statement import Malformed, terms_of
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.functions import ANY, NONNEGATIVE, POSITIVE
from derivations.calculus.gradients import Moved
from derivations.calculus.losses import recognised, without_losses
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Program, Raw
from derivations.calculus.term import NonConformable, Term, subterms

_ORDERS = 24
"""Orders of the letters of sums that are tried."""


def guard(statement: Any, finding: Finding) -> Finding:
    """The finding, without its proof or refutation where something inside the statement is not shown to be
    defined: it may not be where the counterexample is.
    """
    refuted = finding.holds is False and not getattr(statement, "at_points", False)
    refuted &= not any(e.detail.endswith(UNDEFINED) for e in finding.evidence if e.passed is False)
    if not finding.proved and not refuted:
        return finding
    open_ones = not_shown(statement)
    if open_ones:
        detail = f"not shown inside a derived formula: {named(open_ones[:3])}"
        finding.evidence = [
            replace(e, passed=None, detail=detail)
            if (e.passed is False if refuted else e.settles and e.passed)
            else e
            for e in finding.evidence
        ]
        finding.counterexample = None
        if finding.unproved_parts is not None:
            finding.unproved_parts, finding.open_parts = 1, [("", frozenset())]
    return finding


def check_derived(statement: Any) -> None:
    """Raise Malformed for a derived formula that is printed as one that is defined elsewhere too: it is
    printed simplified, and what is left out then, as in y x/x, asks for more than the rest.
    """
    if getattr(statement, "nested", False) or not _fits(statement):
        return
    for written in {term.data for term in all_terms(statement) if isinstance(term, Raw)}:
        if _cut(written, statement):
            text = Raw((), written).latex()
            raise Malformed(f"{text} is what is left of a formula that is not defined everywhere")


def _fits(statement: Any) -> bool:
    """Whether shapes agree in each formula: where they do not, its engine refutes what is printed by that."""
    try:
        return all(term.shape() is not None for term in terms_of(statement))
    except NonConformable:
        return False


def _cut(written: ix.Expr, statement: Any) -> bool:
    """Whether what simplifying leaves out is not shown to be defined, nor by what the rest asks for; not of
    what has no value at all.
    """
    free = ix.free_indices(written)
    shown: dict[nf.Form, sg.Signs] = {}
    with suppress(ZeroDivisionError):
        for d in sg.demands(to_expr(nf.normal(written))):
            for form in map(nf.normal, _lettered(d.base, free)):
                shown[form] = shown.get(form, ANY) & d.signs
        left = [d for d in sg.demands(written) if not _follows(next(_lettered(d.base, free)), d.signs, shown)]
        return any(not _signs(d.base, statement) <= d.signs for d in left)
    return False


def _follows(base: ix.Expr, signs: sg.Signs, shown: dict[nf.Form, sg.Signs]) -> bool:
    return shown.get(nf.normal(base), ANY) & sg.signs(base, sg.Facts(forms=shown)) <= signs


def _lettered(expr: ix.Expr, free: set[ix.Index]) -> Iterator[ix.Expr]:
    """An expression with the letters of sums around it in each order, as which is which depends on how a
    formula is written.
    """
    bound = sorted(ix.free_indices(expr) - free, key=lambda i: (i.dim, i.name))
    letters = [
        ix.Index(f"bound{n - [j.dim for j in bound].index(i.dim)}", i.dim) for n, i in enumerate(bound)
    ]
    yield from islice(ix.renamings(expr, bound, letters), _ORDERS)


def not_shown(statement: Any) -> list[sg.Demand]:
    """What the terms inside a statement need in order to be defined, and are not shown to have."""
    try:
        return [d for d in hidden_demands(statement) if not _signs(d.base, statement) <= d.signs]
    except ZeroDivisionError:
        return [sg.Demand(ix.as_expr(0), sg.NONZERO)]


def _signs(base: ix.Expr, statement: Any) -> sg.Signs:
    given, nonzero = getattr(statement, "given", ()) or (), getattr(statement, "nonzero", ()) or ()
    nonzero += getattr(getattr(statement, "program", None), "nonzero", ())
    ranges = {"> 0": POSITIVE, ">= 0": NONNEGATIVE}
    known = {t: ranges[r] for t, r in getattr(statement, "ranges", ()) if r in ranges}
    stated = replace(facts_of(getattr(statement, "hypotheses", ()) or ()), tensors=known)
    return signs_under(base, given, nonzero) & sg.signs(base, stated)


def hidden_demands(statement: Any) -> Iterator[sg.Demand]:
    """What the terms inside derived terms and blocks need in order to be defined."""
    for term in terms_of(statement):
        yield from _inside(term)
        if getattr(statement, "prunes", False):  # its entries leave out what is multiplied by a zero block
            for _, part in subterms(term):
                for expr in entries(part):
                    yield from sg.demands(expr)
    program = getattr(statement, "program", None)
    if isinstance(program, Program):
        apart = getattr(statement, "extended", False)  # outside the domain of a loss the objective is ±∞
        for whole in terms_of((program.objective, program.constraints)):
            for term in without_losses(recognised(whole, program.variables)) if apart else (whole,):
                for expr in entries(term):
                    yield from sg.demands(expr)


def _inside(term: Term) -> Iterator[sg.Demand]:
    everywhere, around = term.hidden()
    for group, demands in ((everywhere, sg.demands), (around, sg.interior)):
        for inner in group:
            for expr in entries(inner):
                yield from demands(expr)
            yield from _inside(inner)
    if not isinstance(term, Moved):  # what is replaced in it is asked for after the replacement
        for part in term.args:
            yield from _inside(part)
