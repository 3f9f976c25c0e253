"""Engines: each decides one statement kind and says by what evidence.

An engine abstains wherever something is not visibly so: a proof needs both sides defined on the stated domain
and at least three instances at which they were evaluated and equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from checks import statement as st
from checks.engine.domain import check_derived, guard
from checks.engine.finding import Finding, conjunction
from checks.engine.hypotheses import apply_definitions, defined
from checks.engine.instances import Instance, describe, exact_instances, said_at
from checks.engine.mutants import mutants
from checks.engine.printing import equation
from checks.engine.wellformed import check, check_definition, check_fields, check_together, defined_elsewhere
from checks.evidence import Evidence, Mutants
from derivations.calculus import angles, cases, masks, maxima
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.components import NotExact
from derivations.calculus.gradients import Differential, Gradient, Kronecker, Unit
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import (
    Alike,
    Apply,
    NonConformable,
    Pick,
    Softmax,
    Symbol,
    Term,
    as_matrix,
    free,
    show_shapes,
)
from derivations.calculus.unicode import unicode_math

ENOUGH = 3
"""Instances at which both sides of a proved equality were evaluated and found equal."""


def judge(statement: st.Statement, seed: int = 0, with_mutants: bool = True) -> Finding:
    """Run the engine of every part of a statement. Raises Malformed for one that says nothing."""
    pieces = st.parts(statement)
    try:
        hash(pieces)
    except TypeError as error:
        raise st.Malformed(f"a statement is made of what cannot change, of tuples: {error}") from None
    check_fields(pieces)
    check_together(pieces)
    found = []
    for name, part in zip(st.names(statement), pieces, strict=True):
        started = time.perf_counter()
        judged = run if any(st.functions_of(part)) else _judged  # what functions give may have changed
        finding = among(pieces, part, judged(part, seed, with_mutants)).copy()
        elapsed = time.perf_counter() - started
        share = elapsed / max(1, len(finding.evidence))
        finding.part = name
        finding.evidence = [replace(_timed(e, share), part=name) for e in finding.evidence]
        found.append((f"{name} {part.label}".strip() if name else "", finding))
    return conjunction(found)


def among(pieces: tuple[Any, ...], part: Any, finding: Finding) -> Finding:
    """What was found about one of several parts. Raises Malformed where it was found at a point that may not
    be as another part defines it.
    """
    every = tuple(leaf for piece in pieces for leaf in st.leaves(piece))
    for leaf in st.leaves(part):
        if finding.holds is getattr(leaf, "exists", False) and (loose := defined_elsewhere(leaf, every)):
            raise st.Malformed(f"{loose} is defined in another part, and at a point it may be anything else")
    return finding


@lru_cache(maxsize=64)
def _judged(part: Any, seed: int, with_mutants: bool) -> Finding:
    """What `run` finds; a correction often keeps most parts of what is printed."""
    return run(part, seed, with_mutants)


def run(part: Any, seed: int, with_mutants: bool) -> Finding:
    """The engine of one simple statement. Raises Malformed for one that says nothing."""
    if type(part) not in ENGINES:
        raise st.Malformed(f"no statement: {type(part).__name__}")
    check(part)
    check_derived(part)
    return guard(part, ENGINES[type(part)](part, seed, with_mutants))


def _timed(evidence: Evidence, seconds: float) -> Evidence:
    return evidence if evidence.seconds is not None else replace(evidence, seconds=round(seconds, 4))


# ---------------------------------------------------------------- shapes and definedness


def conformable(*terms: Term) -> Evidence:
    """Every product, sum and quotient of the literal formulas has agreeing shapes, and both sides the
    same shape. Raises Malformed where they differ as they are written alone.
    """
    try:
        shapes = {t.shape() for t in terms}
    except Alike as error:
        raise st.Malformed(str(error)) from None
    except NonConformable as error:
        return Evidence("derivation", "exact-symbolic", False, f"shapes do not agree: {error}")
    if len(shapes) > 1:
        detail = f"the two sides have different shapes: {show_shapes(shapes)}"
        if len(set(map(as_matrix, shapes))) == 1:
            raise st.Malformed(f"{detail}, which are one and the same shape of a matrix")
        return Evidence("derivation", "exact-symbolic", False, detail)
    loose = set().union(*(free(t) for t in terms))
    detail = f"all shapes agree; {len(loose)} free indices" if loose else "all shapes agree"
    return Evidence("derivation", "exact-symbolic", True, detail)


# ---------------------------------------------------------------- identities


def identity(statement: st.Identity, seed: int, with_mutants: bool) -> Finding:
    """Shapes, definedness, a symbolic proof link by link, and exact instances; then the mutants."""
    finding = Finding()
    shapes = conformable(statement.lhs, statement.rhs)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    at = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(statement.lhs.shape()))
    sides = [statement.lhs.entry(*at), statement.rhs.entry(*at)]
    links = [link.term.entry(*at) for link in statement.chain]
    evidence, where = defined([*sides, *links], statement.given, statement.nonzero, seed)
    terms = (statement.lhs, statement.rhs, *(link.term for link in statement.chain))
    if evidence.passed is False and is_differentiated(*terms):
        # a derivative that is written with a quotient may exist where the quotient does not
        evidence, where = replace(evidence, passed=None, detail=f"not shown to be defined: {where}"), None
    finding.evidence.append(evidence)
    if evidence.passed is False:
        finding.counterexample = where
        return finding
    exact, counterexample = _exact_check(sides, statement, seed)
    for link, member in zip(statement.chain, links, strict=True):
        if link.printed and not counterexample:
            other, counterexample = _exact_check([sides[0], member], statement, seed)
            exact = exact if other.passed else other
            if counterexample:
                counterexample = f"{counterexample}, which is {unicode_math(link.term.latex())}"
    finding.counterexample = counterexample
    if not counterexample:
        proof = _prove(statement, at, finding)
        unsupported = "" if evidence.passed else evidence.detail
        unsupported = unsupported or ("" if exact.passed else exact.not_run or "")
        if proof.passed and unsupported:
            proof = replace(proof, passed=None, detail=f"{proof.detail}, but {unsupported}")
        finding.evidence.append(proof)
    finding.evidence.append(exact)
    if with_mutants and not counterexample:
        finding.mutants = _mutate(statement, at, seed)
    return finding


def is_differentiated(*terms: Term) -> bool:
    """Whether a derivative occurs in a formula, also in one that is put into it."""
    todo: list[Any] = list(terms)
    while todo:
        item = todo.pop()
        if isinstance(item, (Gradient, Differential)):
            return True
        if isinstance(item, Term):
            todo += [*item.args, *(item.data if isinstance(item.data, tuple) else ())]
    return False


def _prove(statement: st.Identity, at: tuple[Index, ...], finding: Finding) -> Evidence:
    terms = [statement.lhs, *(link.term for link in statement.chain), statement.rhs]
    reasons = [*(link.reason for link in statement.chain), statement.reason]
    remains = ""
    for left, right, reason in zip(terms[:-1], terms[1:], reasons, strict=True):
        one, two = (apply_definitions(t.entry(*at), statement.given) for t in (left, right))
        same = equal(one, two)
        remains = remains or ("" if same else difference(one, two))
        finding.steps.append(
            attempt("equality", equation(left, right), reason if same else "not shown", same)
        )
    for g in statement.given:
        latex = rf"{nf_latex(ix.At(g.tensor, g.at))} = {g.value.latex()}"
        finding.steps.insert(0, step("given", latex, g.reason, True))
    detail = "equal normal forms for symbolic dimensions"
    if maxima.occur(*(t.entry(*at) for t in terms)):
        detail = "equal normal forms in each case of the signs in ramps, for symbolic dimensions"
    if remains:
        detail = f"the normal forms differ (no refutation) by {remains}"
    return Evidence("derivation", "exact-symbolic", None if remains else True, detail, settles=True)


def step(
    title: str, latex: str, reason: str, passed: bool | None, grade: str = "exact-symbolic"
) -> dict[str, Any]:
    """One step of a derivation as the ledger keeps it."""
    return {"title": title, "latex": latex, "reason": reason, "grade": grade, "passed": passed}


def attempt(title: str, latex: str, reason: str, passed: bool) -> dict[str, Any]:
    """A step that is open where it is not shown: what was not proved has not failed."""
    return step(title, latex, reason, passed or None)


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined: by the normal forms of angles,
    maxima and masks where there are any, known functions by exponentials and ramps by cases if need be.
    """
    try:
        pairs = [(one, two), *([angles.apart(one, two)] if angles.occur(one, two) else [])]
        if any(f.occur(*pair) and f.equal(*pair) for pair in pairs for f in (angles, maxima, masks)):
            return True
        if nf.equal(one, two) or nf.equal(fn.by_exponentials(one), fn.by_exponentials(two)):
            return True
        return maxima.occur(one, two) and not _differ(one, two) and cases.equal(one, two)
    except ZeroDivisionError:  # one of them divides by what is identically zero
        return False


def _differ(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions differ at one of a few points, which is seen sooner than that they agree."""
    drawn = exact_instances([one, two], (), 0, 1, small=True)
    return any(instance.same(one, two, at) is False for instance, points in drawn for at in points[:2])


def difference(one: ix.Expr, two: ix.Expr) -> str:
    """What remains of one expression less another, in words that are not long."""
    try:
        text = unicode_math(nf_latex(one - two))
    except ZeroDivisionError:
        return "a division by zero"
    return text if len(text) <= 300 else f"{text[:299]}…"


def nf_latex(expr: ix.Expr) -> str:
    """LaTeX of a derived expression."""
    return Raw((), expr).latex()


def drawn(
    sides: list[ix.Expr], statement: st.Identity, seed: int
) -> Iterator[tuple[Instance, list[dict[Index, int]]]]:
    """The exact instances at which an identity is tried, small numbers first."""
    for small in (True, False):
        given, fixed, nonzero = statement.given, dict(statement.sizes), statement.nonzero
        yield from exact_instances(sides, given, seed, 4, small, fixed, nonzero)


def _exact_check(sides: list[ix.Expr], statement: st.Identity, seed: int) -> tuple[Evidence, str | None]:
    checked = skipped = 0
    left, right = sides
    for instance, points in drawn(sides, statement, seed):
        same = [instance.same(left, right, at) for at in points]
        if False in same:
            text = _shrink(instance, points[same.index(False)], sides, statement.nonzero)
            return Evidence("exact", "exact-rational", False, "an exact counterexample"), text
        checked += all(same)
        skipped += not all(same)
    if checked < ENOUGH:
        why = f"only {checked} instances had values on both sides"
        return Evidence("exact", "exact-rational", None, not_run=why), None
    detail = f"{checked} exact random instances agree ({skipped} undefined or inexact)"
    return Evidence("exact", "exact-rational", True, detail), None


def _shrink(
    instance: Instance,
    at: dict[Index, int],
    sides: list[ix.Expr],
    nonzero: tuple[Tensor, ...],
    named: tuple[str, str] = ("left side", "right side"),
) -> str:
    """Make a counterexample simpler entry by entry, as long as it stays one."""

    def differs(values: dict[Any, Any]) -> bool:
        trial = Instance(instance.sizes, values, instance.given)
        return trial.admissible(nonzero) and trial.same(sides[0], sides[1], at) is False

    values = dict(instance.values)
    for key in list(values):
        for simple in (Fraction(1), Fraction(0)):
            if values[key] == simple or (simple == 0 and (key[0].positive or key[0] in nonzero)):
                continue
            if differs({**values, key: simple}):
                values[key] = simple
                break
    best = Instance(instance.sizes, values, instance.given)
    left, right = (best.value(s, at) for s in sides)
    return said_at(describe(best, at, *sides), f"{named[0]} {left}, {named[1]} {right}")


def _mutate(statement: st.Identity, at: tuple[Index, ...], seed: int) -> Mutants:
    """Mutants of both printed sides, each against the other side."""
    result = Mutants()
    sides = {"left": statement.lhs, "right": statement.rhs}
    exprs = {name: side.entry(*at) for name, side in sides.items()}
    for name, side in sides.items():
        other = exprs["right" if name == "left" else "left"]
        for what, mutant in mutants(side, 24, whole=True):
            text = f"{name} side: {what}: {mutant.latex()}"
            score(result, text, (mutant.entry(*at), other), statement, seed, exprs[name])
    return result


def score(
    result: Mutants,
    what: str,
    pair: tuple[ix.Expr, ix.Expr],
    statement: Any,
    seed: int,
    own: ix.Expr | None = None,
) -> None:
    """Count a mutant of one side against the other: a few instances first, they reject nearly all at once.
    One that equals its ``own`` side, as it was, says the same thing.
    """
    result.tried += 1
    told_apart = partial(
        rejects, *pair, statement.given, seed, dict(getattr(statement, "sizes", ())), statement.nonzero
    )
    if told_apart(1):
        result.killed += 1
    elif equal(*(apply_definitions(e, statement.given) for e in pair)):
        result.equivalent += 1
    elif own is not None and equal(*(apply_definitions(e, statement.given) for e in (pair[0], own))):
        result.equivalent += 1
    elif told_apart():
        result.killed += 1
    else:
        result.survivors.append(what)


def rejects(
    left: ix.Expr,
    right: ix.Expr,
    given: tuple[st.Given, ...],
    seed: int,
    fixed: dict[str, int] | None = None,
    nonzero: tuple[Tensor, ...] = (),
    tries: int = 5,
) -> bool:
    """Whether an exact instance tells two expressions apart (or the first is undefined where the second
    is not).
    """
    return _apart(left, right, given, seed, fixed, nonzero, tries) is not None


def _apart(
    left: ix.Expr,
    right: ix.Expr,
    given: tuple[st.Given, ...] = (),
    seed: int = 0,
    fixed: dict[str, int] | None = None,
    nonzero: tuple[Tensor, ...] = (),
    tries: int = 5,
) -> tuple[Instance, dict[Index, int]] | None:
    for small in (False, True):
        found = exact_instances([left, right], given, seed + 1, tries, small, fixed, nonzero, spread=True)
        for instance, points in found:
            for at in points:
                if instance.same(left, right, at) is False or _undefined_only(instance, left, right, at):
                    return instance, at
    return None


def told_apart(left: ix.Expr, right: ix.Expr, seed: int, named: tuple[str, str]) -> str:
    """An instance at which two expressions differ, in words, with the value of each by name; "" if none is
    found.
    """
    found = _apart(left, right, seed=seed)
    if found is None:
        return ""
    instance, at = found
    if instance.same(left, right, at) is False:
        return _shrink(instance, at, [left, right], (), named)
    return f"{describe(instance, at, left, right)}: {named[0]} is undefined"


def _undefined_only(instance: Instance, left: ix.Expr, right: ix.Expr, at: dict[Index, int]) -> bool:
    try:
        instance.value(right, at)
    except (NotExact, ZeroDivisionError):
        return False
    try:
        instance.value(left, at)
    except ZeroDivisionError:
        return True
    except NotExact:
        pass
    return False


# ---------------------------------------------------------------- definitions, programs


def definition(statement: st.Definition, seed: int, with_mutants: bool) -> Finding:
    """Shapes, that the name is not defined by itself, and definedness of a defining formula."""
    finding = Finding()
    shapes = conformable(statement.name, statement.meaning)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    at = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(statement.meaning.shape()))
    meaning = statement.meaning.entry(*at)
    check_definition(statement.name, statement.meaning, at, statement.given, statement.nonzero)
    used = apply_definitions(meaning, statement.given)
    names = {t.name for t in ix.tensors(used)} | {n.function for n in ix.walk(used) if isinstance(n, ix.Call)}
    if circular := named(statement.name) & names:
        raise st.Malformed(f"{', '.join(sorted(circular))} is defined by itself")
    evidence, where = defined([meaning], statement.given, statement.nonzero, seed)
    loose = unbound(statement.meaning) - unbound(statement.name)
    if evidence.passed and loose:
        stray = ", ".join(sorted(i.name for i in loose))
        evidence = replace(evidence, passed=None, detail=f"the name leaves {stray} unexplained")
    if evidence.passed is False and is_differentiated(statement.meaning):
        detail = (
            f"the derivative's formula is undefined somewhere; the derivative may not be: {evidence.detail}"
        )
        evidence = replace(evidence, passed=None, detail=detail)
    if evidence.passed and not _evaluated([meaning], statement.given, statement.nonzero, seed):
        evidence = replace(evidence, passed=None, detail="no instance could be evaluated")
    finding.evidence.append(replace(evidence, settles=True))
    finding.counterexample = where if evidence.passed is False else None
    latex = rf"{statement.name.latex()} := {statement.meaning.latex()}"
    finding.steps.append(step("definition", latex, "shapes and denominators checked", evidence.passed))
    return finding


def named(term: Term) -> set[str]:
    """What a definition's left side names: its symbols; of F(u) the function, of rows or entries the
    array.
    """
    if isinstance(term, Apply):
        return {term.data[0]}
    if isinstance(term, Symbol):
        return {term.data.name}
    return set().union(*(named(part) for part in term.args))


def unbound(term: Term) -> set[Index]:
    """The indices that a term leaves open: those on which its value depends, and those that are printed
    without effect.
    """
    at = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(term.shape()))
    return (ix.free_indices(term.entry(*at)) - set(at)) | _printed_indices(term)


def _printed_indices(term: Term) -> set[Index]:
    """The indices of the entries and rows that a term prints and no sum or stack around them binds."""
    own = term.data if isinstance(term.data, tuple) else (term.data,)
    indices = {item for item in own if isinstance(item, Index)}
    inside = (_printed_indices(part) for part in (*term.args, *(x for x in own if isinstance(x, Term))))
    printed = set().union(*inside)
    return printed | indices if isinstance(term, Pick | Softmax | Kronecker | Unit) else printed - indices


def _evaluated(
    exprs: list[ix.Expr], given: tuple[st.Given, ...], nonzero: tuple[Tensor, ...], seed: int
) -> bool:
    """Whether enough instances give every expression a value."""
    count = 0
    for instance, points in exact_instances(exprs, given, seed, 4, True, nonzero=nonzero):
        try:
            for expr in exprs:
                instance.value(expr, points[0] if points else {})
            count += 1
        except (NotExact, ZeroDivisionError):
            continue
        if count >= ENOUGH:
            return True
    return False


ENGINES: dict[type, Callable[[Any, int, bool], Finding]] = {st.Identity: identity, st.Definition: definition}
