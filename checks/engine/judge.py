"""Engines: each decides one statement kind and says by what evidence.

An engine abstains wherever something is not visibly so: a proof needs both sides defined on the stated domain and at
least three instances at which they were evaluated and equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from checks import statement as st
from checks.engine.domain import guard, hidden_demands
from checks.engine.finding import Finding, conjunction
from checks.engine.hypotheses import apply_definitions, defined
from checks.engine.instances import FUNCTIONS, Instance, describe, dimensions, exact_instances
from checks.engine.mutants import mutants
from checks.engine.unicode import unicode_math
from checks.engine.wellformed import check, check_definition
from checks.evidence import Evidence, Mutants
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.exact import Exponential
from derivations.calculus.gradients import Derived, Differential, Gradient, Kronecker, Unit
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw, convexity, degree_in, dualise
from derivations.calculus.term import (
    Apply,
    NonConformable,
    Pick,
    Softmax,
    Symbol,
    Term,
    free,
    show_shapes,
    subterms,
)

ENOUGH = 3
"""Instances at which both sides of a proved equality were evaluated and found equal."""


def judge(statement: st.Statement, seed: int = 0, with_mutants: bool = True) -> Finding:
    """Run the engine of every part of a statement. Raises Malformed for one that says nothing."""
    pieces = st.parts(statement)
    found = []
    for part in pieces:
        started = time.perf_counter()
        finding = run(part, seed, with_mutants)
        elapsed = time.perf_counter() - started
        finding.evidence = [_timed(e, elapsed / max(1, len(finding.evidence))) for e in finding.evidence]
        found.append((part.label if len(pieces) > 1 else "", finding))
    return conjunction(found)


def run(part: Any, seed: int, with_mutants: bool) -> Finding:
    """The engine of one simple statement. Raises Malformed for one that says nothing."""
    if type(part) not in ENGINES:
        raise st.Malformed(f"no statement: {type(part).__name__}")
    check(part)
    return guard(part, ENGINES[type(part)](part, seed, with_mutants))


def _timed(evidence: Evidence, seconds: float) -> Evidence:
    return evidence if evidence.seconds is not None else replace(evidence, seconds=round(seconds, 4))


# ---------------------------------------------------------------- shapes and definedness


def conformable(*terms: Term) -> Evidence:
    """Every product, sum and quotient of the literal formulas has agreeing shapes, and both sides the same shape."""
    try:
        shapes = {t.shape() for t in terms}
    except NonConformable as error:
        return Evidence("derivation", "exact-symbolic", False, f"shapes do not agree: {error}")
    if len(shapes) > 1:
        detail = f"the two sides have different shapes: {show_shapes(shapes)}"
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
    if evidence.passed is False and _differentiated(statement):
        # a derivative that is written with a quotient may exist where the quotient does not
        evidence, where = replace(evidence, passed=None, detail=f"not shown to be defined: {where}"), None
    finding.evidence.append(evidence)
    if evidence.passed is False:
        finding.counterexample = where
        return finding
    exact, counterexample = _exact_check(sides, statement, seed)
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


def _differentiated(statement: st.Identity) -> bool:
    """Whether a derivative occurs in a formula, also in one that is put into it."""
    todo: list[Any] = [statement.lhs, statement.rhs, *(link.term for link in statement.chain)]
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
        remains = remains or ("" if same else _difference(one, two))
        finding.steps.append(step("equality", rf"{left.latex()} = {right.latex()}", reason, same))
    for g in statement.given:
        latex = rf"{nf_latex(ix.At(g.tensor, g.at))} = {g.value.latex()}"
        finding.steps.insert(0, step("given", latex, g.reason, True))
    detail = "equal normal forms for symbolic dimensions"
    if remains:
        detail = f"the normal forms differ (no refutation) by {remains}"
    return Evidence("derivation", "exact-symbolic", None if remains else True, detail, settles=True)


def step(
    title: str, latex: str, reason: str, passed: bool | None, grade: str = "exact-symbolic"
) -> dict[str, Any]:
    """One step of a derivation as the ledger keeps it."""
    return {"title": title, "latex": latex, "reason": reason, "grade": grade, "passed": passed}


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined, known functions by exponentials if need be."""
    try:
        return nf.equal(one, two) or nf.equal(fn.by_exponentials(one), fn.by_exponentials(two))
    except ZeroDivisionError:  # one of them divides by what is identically zero
        return False


def _difference(one: ix.Expr, two: ix.Expr) -> str:

    try:
        text = unicode_math(nf_latex(one - two))
    except ZeroDivisionError:
        return "a division by zero"
    return text if len(text) <= 300 else f"{text[:299]}…"


def nf_latex(expr: ix.Expr) -> str:
    """LaTeX of a derived expression."""
    return Raw((), expr).latex()


def _exact_check(sides: list[ix.Expr], statement: st.Identity, seed: int) -> tuple[Evidence, str | None]:
    checked = skipped = 0
    left, right = sides
    for small in (True, False):
        for instance, points in exact_instances(
            sides, statement.given, seed, 4, small, dict(statement.sizes), statement.nonzero
        ):
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
    instance: Instance, at: dict[Index, int], sides: list[ix.Expr], nonzero: tuple[Tensor, ...]
) -> str:
    """Make a counterexample simpler entry by entry, as long as it stays one."""

    def differs(values: dict) -> bool:
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
    return f"{describe(best, at)}: left side {left}, right side {right}"


def _mutate(statement: st.Identity, at: tuple[Index, ...], seed: int) -> Mutants:
    """Mutants of both printed sides, each against the other side."""
    result = Mutants()
    sides = {"left": statement.lhs, "right": statement.rhs}
    exprs = {name: side.entry(*at) for name, side in sides.items()}
    for name, side in sides.items():
        other = exprs["right" if name == "left" else "left"]
        for what, mutant in mutants(side, 24, whole=True):
            text = f"{name} side: {what}: {mutant.latex()}"
            score(result, text, (mutant.entry(*at), other), statement, seed)
    return result


def score(result: Mutants, what: str, pair: tuple[ix.Expr, ix.Expr], statement: Any, seed: int) -> None:
    """Count a mutant of one side against the other: a few instances first, they reject nearly all at once."""
    result.tried += 1
    told_apart = partial(
        rejects, *pair, statement.given, seed, dict(getattr(statement, "sizes", ())), statement.nonzero
    )
    if told_apart(1):
        result.killed += 1
    elif equal(*(apply_definitions(e, statement.given) for e in pair)):
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
    """Whether an exact instance tells two expressions apart (or the first is undefined where the second is not)."""
    for small in (False, True):
        found = exact_instances([left, right], given, seed + 1, tries, small, fixed, nonzero, spread=True)
        for instance, points in found:
            for at in points:
                if instance.same(left, right, at) is False or _undefined_only(instance, left, right, at):
                    return True
    return False


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
    if evidence.passed is False and any(isinstance(t, Derived) for _, t in subterms(statement.meaning)):
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
    """What a definition's left side names: its symbols; of F(u) the function, of rows or entries the array."""
    if isinstance(term, Apply):
        return {term.data[0]}
    if isinstance(term, Symbol):
        return {term.data.name}
    return set().union(*(named(part) for part in term.args))


def unbound(term: Term) -> set[Index]:
    """The indices that a term leaves open: those on which its value depends, and those that are printed without effect."""
    at = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(term.shape()))
    printed, bound = _printed_indices(term)
    return (ix.free_indices(term.entry(*at)) - set(at)) | (printed - bound)


def _printed_indices(term: Term) -> tuple[set[Index], set[Index]]:
    """The indices of the entries and rows that a term prints, and those that its sums and stacks bind."""
    own = [item for item in (term.data if isinstance(term.data, tuple) else (term.data,))]
    indices = {item for item in own if isinstance(item, Index)}
    places = isinstance(term, Pick | Softmax | Kronecker | Unit)
    printed, bound = (indices, set()) if places else (set(), indices)
    for part in (*term.args, *(item for item in own if isinstance(item, Term))):
        more, closed = _printed_indices(part)
        printed, bound = printed | more, bound | closed
    return printed, bound


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


def convex(statement: st.Convex, seed: int, with_mutants: bool) -> Finding:
    """Affine constraints and an objective whose quadratic part is a sum of nonnegative squares."""
    why = convexity(statement.program)
    detail = why or "the convexity argument does not apply"
    proof = Evidence("derivation", "exact-symbolic", True if why else None, detail, settles=True)
    finding = Finding([proof], [step("convexity", statement.program.latex(), why or "not shown", bool(why))])
    if with_mutants and why:
        finding.mutants = _program_mutants(statement)
    return finding


def _program_mutants(statement: st.Convex) -> Mutants:
    """Objectives with a flipped sign in front of a quadratic term must not pass as convex."""
    result = Mutants()
    for what, objective in mutants(statement.program.objective, 12):
        if not any(word in what for word in ("sign", "minus")):
            continue
        result.tried += 1
        changed = replace(statement.program, objective=objective)
        quadratic = _quadratic_part(statement.program) != _quadratic_part(changed)
        if not convexity(changed):
            result.killed += 1
        elif not quadratic:
            result.equivalent += 1  # only the linear part changed: still convex, as it should be
        else:
            result.survivors.append(what)
    negated = replace(statement.program, objective=-statement.program.objective)
    result.tried += 1
    result.killed += not convexity(negated)
    return result


def _quadratic_part(program: Any) -> tuple:
    return tuple(
        item for item in nf.normal(program.objective.entry()) if degree_in(item[0], program.variables) == 2
    )


def well_posed(statement: st.WellPosed, seed: int, with_mutants: bool) -> Finding:
    """Every symbol is a listed variable or given data, every listed variable occurs, every variable is listed."""
    program, known = statement.program, statement.program.unknown()
    both = set(statement.printed) & set(statement.data)
    occurring = known | st.tensors_of((program.objective, program.constraints))
    occurring -= {c.multiplier for c in program.constraints}
    stray = occurring - set(statement.printed) - set(statement.data)
    problems = {
        "neither a listed variable nor given data": stray,
        "listed as variable but absent": set(statement.printed) - known,
        "minimised over but listed as data": set(program.variables) & set(statement.data),
        "listed as variable and as data": both,
    }
    wrong = {words: ", ".join(sorted(t.name for t in found)) for words, found in problems.items() if found}
    detail = "; ".join(f"{words}: {names}" for words, names in wrong.items())
    words = detail or "every symbol is a listed variable or given data"
    proof = Evidence("derivation", "exact-symbolic", not wrong, words, settles=True)
    finding = Finding([proof], counterexample=detail or None)
    if with_mutants and not wrong:
        for n in range(len(statement.printed)):
            finding.mutants.tried += 1
            fewer = st.WellPosed(program, statement.printed[:n] + statement.printed[n + 1 :], statement.data)
            finding.mutants.killed += well_posed(fewer, seed, False).holds is False
    return finding


def dual(statement: st.Dual, seed: int, with_mutants: bool) -> Finding:
    """Dualise symbolically and compare the remaining conditions with the printed ones."""
    result = dualise(statement.program)
    printed = dict(statement.conditions)
    if len(printed) < len(statement.conditions):
        raise st.Malformed("a variable gives one condition")
    finding = Finding(steps=[step(s.title, s.latex, s.reason, s.checked) for s in result.steps])
    same = {
        v: _same_condition(result.conditions[v], t.entry())
        for v, t in printed.items()
        if v in result.conditions
    }
    wrong = [
        f"no condition from {v.name} is printed"
        for v, derived in result.conditions.items()
        if v not in printed and _other_zeros(derived, ix.Num(Fraction(0)), seed)
    ]
    wrong += [
        f"{v.name} gives no such condition"
        for v, term in printed.items()
        if v not in result.conditions and _other_zeros(ix.Num(Fraction(0)), term.entry(), seed)
    ]
    wrong += [
        f"the condition from {v.name} is another one"
        for v, agrees in same.items()
        if not agrees and _other_zeros(result.conditions[v], printed[v].entry(), seed)
    ]
    exprs = [t.entry() for t in printed.values()]
    defined_ = all(sg.signs(d.base) <= d.signs for e in exprs for d in sg.demands(e))
    settled = (
        defined_
        and all(same.values())
        and set(printed) == set(result.conditions)
        and result.program is not None
    )
    detail = "; ".join(wrong) or (
        "the conditions are those that the dualiser derives"
        if settled
        else "the conditions, or the convexity of the program, are not shown"
    )
    passed = False if wrong else settled or None
    finding.evidence.append(Evidence("derivation", "exact-symbolic", passed, detail, settles=True))
    finding.counterexample = "; ".join(wrong) or None
    if with_mutants and passed:
        for variable, term in statement.conditions:
            for what, mutant in mutants(term, 12):
                finding.mutants.tried += 1
                if not _same_condition(result.conditions[variable], mutant.entry()):
                    finding.mutants.killed += 1
                elif nf.equal(mutant.entry(), term.entry()) or nf.equal(mutant.entry(), -term.entry()):
                    finding.mutants.equivalent += 1
                else:
                    finding.mutants.survivors.append(f"{variable.name}: {what}")
    return finding


def _same_condition(derived: ix.Expr, printed: ix.Expr) -> bool:
    """Equal up to the sign, which does not change where an expression vanishes."""
    return nf.equal(derived, printed) or nf.equal(derived, -printed)


def _other_zeros(derived: ix.Expr, printed: ix.Expr, seed: int) -> bool:
    """Whether an exact instance shows that two conditions do not vanish at the same places.

    One solves for a variable in which a condition is affine: there it vanishes and the other must not.
    """
    for one, two in ((derived, printed), (printed, derived)):
        for instance, points in exact_instances([one, two], (), seed, 4, True):
            for at in points:
                for changed in _solved(instance, one, at):
                    if changed.sign(one, at) == 0 and changed.sign(two, at) in (-1, 1):
                        return True
    return False


def _solved(instance: Instance, expr: ix.Expr, at: dict[Index, int]) -> list[Instance]:
    """The instance, and the same with one entry changed such that the expression vanishes there."""
    found = [instance]
    for key, before in instance.values.items():
        trials = []
        for value in (Fraction(0), Fraction(1)):
            trial = Instance(instance.sizes, {**instance.values, key: value}, instance.given)
            try:
                trials.append(trial.evaluate(expr, at))
            except (NotExact, ZeroDivisionError):
                break
        if len(trials) == 2 and all(isinstance(t, Fraction) for t in trials) and trials[0] != trials[1]:
            root = trials[0] / (trials[0] - trials[1])
            if root != before and not (key[0].positive and root <= 0):
                found.append(Instance(instance.sizes, {**instance.values, key: root}, instance.given))
    return found


# ---------------------------------------------------------------- implications


_RELATIONS = ("=", ">=", ">")


def implication(statement: st.Implication, seed: int, with_mutants: bool) -> Finding:
    """Verify the certificate symbolically, or the offered counterexample exactly."""
    finding = Finding()
    everything = (*statement.hypotheses, statement.conclusion)
    if any(f.relation not in _RELATIONS for f in everything):
        raise st.Malformed(f"a relation is one of {', '.join(_RELATIONS)}")
    if len({h.name for h in statement.hypotheses}) < len(statement.hypotheses):
        raise st.Malformed("two hypotheses have one name")
    shapes = conformable(*(f.term for f in everything))
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    unseen = any(hidden_demands(statement))  # a point may be excluded by what its entries do not show
    refuted = "" if unseen else _witness(statement)
    if refuted:
        finding.counterexample = refuted
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
        return finding
    why = certificate_error(statement) or _undefined(statement)
    reason = why or "identity of normal forms; signs of the multipliers as required"
    finding.steps.append(step("certificate", _implication_latex(statement), reason, not why))
    holding, count, broken = _satisfied(statement, seed)
    if broken and not unseen:
        finding.counterexample = broken
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
            changed = st.Fact("mutant", mutant, statement.conclusion.relation)
            wrong = st.Implication(statement.hypotheses, changed, statement.multipliers, statement.factor)
            finding.mutants.tried += 1
            if certificate_error(wrong):
                finding.mutants.killed += 1
            elif nf.equal(mutant.entry(), statement.conclusion.term.entry()):
                finding.mutants.equivalent += 1
            else:
                finding.mutants.survivors.append(f"{what}: {mutant.latex()}")
    return finding


def _undefined(statement: st.Implication) -> str:
    """What of the conclusion is not shown to be defined where the hypotheses hold; "" if all of it is."""
    facts = _facts(statement)
    stated = {d.base for h in statement.hypotheses for d in sg.demands(h.term.entry())}
    left = [d for d in sg.demands(statement.conclusion.term.entry()) if d.base not in stated]
    if any(not sg.signs(d.base, facts) <= d.signs for d in left):
        return "the conclusion is not shown to be defined wherever the hypotheses hold"
    return ""


def _facts(statement: st.Implication) -> sg.Facts:
    """The hypotheses, and that they are defined, as facts about signs."""
    known = {"=": sg.ZERO, ">=": fn.NONNEGATIVE, ">": fn.POSITIVE}
    forms = {nf.normal(d.base): d.signs for h in statement.hypotheses for d in sg.demands(h.term.entry())}
    for h in statement.hypotheses:
        form = nf.normal(h.term.entry())
        forms[form] = forms.get(form, fn.ANY) & known[h.relation]
    return sg.Facts(forms=forms)


_WANTED = 20


def _satisfied(statement: st.Implication, seed: int) -> tuple[str, int, str | None]:
    """A point at which all hypotheses hold, in words, how many were tried, and a counterexample if one was met."""
    terms = [f.term.entry() for f in (*statement.hypotheses, statement.conclusion)]
    shown, count = "", 0
    for instance, points in exact_instances(terms, (), seed, 40, True):
        for at in points[:2]:
            point = _moved_onto(instance, statement, at)
            if point is None:
                continue
            sign = point.sign(terms[-1], at)
            if sign is not None and not _allowed(sign, statement.conclusion.relation):
                text = (
                    f"{describe(point, at)}: every hypothesis holds, but {statement.conclusion.name} does not"
                )
                return "", count, text
            shown, count = shown or describe(point, at), count + (sign is not None)
        if count >= _WANTED:
            break
    return (shown or "every point") if count else "", count, None


def _moved_onto(instance: Instance, statement: st.Implication, at: dict[Index, int]) -> Instance | None:
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
        if broken[2] == ">" or len(moved := _solved(instance, *broken[:2])) < 2:
            return None
        instance = moved[1]
    return None


def _allowed(sign: int, relation: str) -> bool:
    return {"=": sign == 0, ">=": sign >= 0, ">": sign > 0}[relation]


def certificate_error(statement: st.Implication) -> str:
    """Why the certificate does not prove the conclusion; "" if it does."""
    facts = {h.name: h for h in statement.hypotheses}
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
            signs = sg.signs(multiplier.entry(), _facts(statement))
            if not signs <= fn.NONNEGATIVE:
                return f"the multiplier of {name} is not shown to be nonnegative"
            strict |= facts[name].relation == ">" and signs <= fn.POSITIVE
        right.append(multiplier.entry() * facts[name].term.entry())
    conclusion = statement.conclusion
    if not nf.equal(factor * conclusion.term.entry(), ix.Add(tuple(right))):
        return "the certificate is not an identity"
    inequalities = any(facts[n].relation != "=" for n, _ in statement.multipliers)
    if conclusion.relation == "=" and inequalities:
        return "an equation does not follow from inequalities this way"
    if conclusion.relation == ">" and not strict:
        return "no strict hypothesis enters with a positive multiplier"
    return ""


def _defined_under(multiplier: ix.Expr, statement: st.Implication) -> bool:
    """Whether a multiplier is defined wherever the hypotheses hold and they and the conclusion are defined."""
    facts = _facts(statement)
    everything = (*statement.hypotheses, statement.conclusion)
    stated = {d.base for f in everything for d in sg.demands(f.term.entry())}
    return all(d.base in stated or sg.signs(d.base, facts) <= d.signs for d in sg.demands(multiplier))


def _implication_latex(statement: st.Implication) -> str:
    facts = {h.name: h for h in statement.hypotheses}
    left = statement.conclusion.term.wrapped(2)
    if statement.factor:
        total = " + ".join(
            facts[n].term.latex() if c == 1 else rf"{c}\,{facts[n].term.wrapped(2)}"
            for n, c in statement.factor
            if n in facts
        )
        left = rf"\left({total}\right)\,{left}"
    right = " + ".join(
        facts[n].term.wrapped(2)
        if m.latex() == "1"
        else rf"{m.wrapped(2)}\,\left({facts[n].term.latex()}\right)"
        for n, m in statement.multipliers
        if n in facts
    )
    return f"{left} = {right or '0'}"


def _witness(statement: st.Implication) -> str | None:
    """The counterexample in words if it is one: all hypotheses hold exactly and the conclusion fails."""
    if not statement.witness:
        return None
    values = dict(statement.witness)
    terms = [f.term.entry() for f in (*statement.hypotheses, statement.conclusion)]
    promised = {t.name for e in terms for t in ix.tensors(e) if t.positive}
    if any(values.get(name, 1) <= 0 for name in promised):
        return None  # a promise is a hypothesis as well

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        return values[tensor.name]  # sizes are all one: a name is an entry

    def value(term: Term) -> Any:
        expr = term.entry()
        sizes = {d: 1 for d in dimensions([expr], ())}
        return evaluate(expr, sizes, lookup, FUNCTIONS, {i: 0 for i in ix.free_indices(expr)})

    try:
        if not all(_true(value(h.term), h.relation) for h in statement.hypotheses):
            return None
        got = value(statement.conclusion.term)
    except (KeyError, ZeroDivisionError, NotExact):
        return None
    if _true(got, statement.conclusion.relation):
        return None
    shown = ", ".join(f"{n} = {v}" for n, v in statement.witness)
    return (
        f"all dimensions 1; {shown}: every hypothesis holds, but {statement.conclusion.name} has value {got}"
    )


def _true(value: Any, relation: str) -> bool:
    return _allowed(Exponential.of(value).sign(), relation)


ENGINES: dict[type, Callable[[Any, int, bool], Finding]] = {
    st.Identity: identity,
    st.Definition: definition,
    st.Convex: convex,
    st.WellPosed: well_posed,
    st.Dual: dual,
    st.Implication: implication,
}
