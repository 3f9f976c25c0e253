"""Engines: each decides one statement kind and says by what evidence.

A finding is never typed: ``holds`` follows from evidence. A symbolic proof or two independent numerical legs make
it True, an exact counterexample makes it False, anything else leaves it None.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import sympy as sp

from checks import statement as st
from checks.instances import FUNCTIONS, Instance, base_tensors, describe, dimensions, draw
from checks.mutants import mutants
from checks.record import Evidence, Mutants
from derivations import index as ix
from derivations import normal as nf
from derivations.components import NotExact, evaluate
from derivations.exact import Exponential
from derivations.index import Index, Tensor
from derivations.program import Raw, convexity, degree_in, dualise
from derivations.term import NonConformable, Term, free, show_shapes

SMALL = [Fraction(1), Fraction(2), Fraction(-1), Fraction(0), Fraction(3)]


class Inconsistent(RuntimeError):
    """Two legs contradict each other: one of the engines is wrong, and no verdict may be given."""


@dataclass
class Finding:
    """What the engines found about one statement.

    Of a statement with parts, ``unproved_parts`` counts those without a proof; ``open_legs`` are the legs that each part
    still open has passed (None if there is none), and the first ``own`` pieces of evidence belong to the parts.
    """

    evidence: list[Evidence] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    counterexample: str | None = None
    mutants: Mutants = field(default_factory=Mutants)
    unproved_parts: int | None = None
    open_legs: frozenset[str] | None = None
    own: int = 0

    @property
    def proved(self) -> bool:
        """Whether symbolic derivations settle every part."""
        if self.unproved_parts is not None:
            return self.unproved_parts == 0
        return any(e.settles and e.passed for e in self.evidence)

    @property
    def holds(self) -> bool | None:
        """True, False or not settled. Raises Inconsistent where a proof meets a counterexample."""
        failed = any(e.passed is False for e in self.evidence)
        if failed and self.proved:
            failing = "; ".join(
                f"{e.leg} ({e.grade}): {e.detail}" for e in self.evidence if e.passed is False
            )
            raise Inconsistent(f"proved, and yet a leg fails: {failing}")
        if failed:
            return False
        if self.proved:
            return True
        return True if len(self.legs()) >= 2 else None

    def legs(self) -> frozenset[str]:
        """The legs that speak for the whole statement; shapes and definedness are none, nor is one part's leg."""
        if self.open_legs is None:
            return _legs(self.evidence)
        return self.open_legs | _legs(self.evidence[self.own :])

    def merge(self, other: Finding, label: str) -> None:
        """Add the finding of one part of a larger statement."""
        self.evidence += other.evidence
        self.steps += [{**s, "title": f"{label}: {s['title']}" if label else s["title"]} for s in other.steps]
        if other.counterexample:
            text = f"{label}: {other.counterexample}" if label else other.counterexample
            self.counterexample = f"{self.counterexample}; {text}" if self.counterexample else text
        self.mutants.tried += other.mutants.tried
        self.mutants.killed += other.mutants.killed
        self.mutants.equivalent += other.mutants.equivalent
        self.mutants.survivors += other.mutants.survivors


def _legs(evidence: list[Evidence]) -> frozenset[str]:
    return frozenset(e.leg for e in evidence if e.passed and (e.settles or e.leg != "derivation"))


def judge(statement: st.Statement, seed: int = 0, with_mutants: bool = True) -> Finding:
    """Run the engine of every part of a statement."""
    whole, unproved = Finding(), 0
    pieces = st.parts(statement)
    for part in pieces:
        started = time.perf_counter()
        finding = ENGINES[type(part)](part, seed, with_mutants)
        elapsed = time.perf_counter() - started
        finding.evidence = [_timed(e, elapsed / max(1, len(finding.evidence))) for e in finding.evidence]
        unproved += not finding.proved
        if finding.holds is None:
            passed = finding.legs()
            whole.open_legs = passed if whole.open_legs is None else whole.open_legs & passed
        whole.merge(finding, part.label if len(pieces) > 1 else "")
    whole.own = len(whole.evidence)
    whole.unproved_parts = unproved if pieces else None  # nothing was said, so nothing is proved
    return whole


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


def denominators(expr: ix.Expr) -> Iterator[ix.Expr]:
    """The base of every negative power that occurs in an expression."""
    for node in ix.walk(expr):
        if isinstance(node, ix.Pow) and node.exponent < 0:
            yield node.base


def never_zero(base: ix.Expr, given: tuple[st.Given, ...], nonzero: tuple[Tensor, ...]) -> bool:
    """Whether ``base`` visibly vanishes nowhere: positive, or a product of positive factors and ``nonzero`` tensors.

    ``given`` are definitions, which are put in; False decides nothing.
    """
    form = nf.normal(base)
    if nf.form_positive(form) or nf.form_positive(nf.normal(apply_definitions(base, given))):
        return True
    if len(form) == 1 and not form[0][0][0]:
        factors = form[0][0][2]
        if all(nf.is_positive(a) or (a[0] == "T" and a[1] in nonzero) for a, _ in factors):
            return True
    same = nf.normal(apply_definitions(base, given))
    for g in given:
        if g.tensor in nonzero and same and _matches(same, g, base):
            return True
    return False


def _matches(form: nf.Form, g: st.Given, base: ix.Expr) -> bool:
    candidates = sorted(ix.free_indices(base), key=lambda i: i.name)
    for choice in product(candidates, repeat=len(g.at)):
        if tuple(i.dim for i in choice) == tuple(i.dim for i in g.at):
            renamed = ix.rename(g.value.entry(), dict(zip(g.at, choice, strict=True)))
            if nf.normal(renamed) == form:
                return True
    return False


def defined(
    expressions: list[ix.Expr], given: tuple[st.Given, ...], nonzero: tuple[Tensor, ...], seed: int
) -> tuple[Evidence, str | None]:
    """No denominator vanishes on the stated domain; otherwise an exact instance at which one does."""
    open_ones = []
    for e in [*expressions, *(g.value.entry() for g in given)]:
        open_ones += [b for b in denominators(e) if not never_zero(b, given, nonzero)]
    if not open_ones:
        detail = "every denominator is positive"
        if nonzero:
            detail += " or assumed not to vanish: " + ", ".join(t.name for t in nonzero)
        return Evidence("derivation", "exact-symbolic", True, detail), None
    for base in open_ones:
        found = _vanishes(base, given, seed)
        if found:
            return Evidence(
                "exact", "exact-rational", False, "a denominator vanishes"
            ), f"{found}: the denominator is 0"
    return Evidence("derivation", "exact-symbolic", None, "a denominator is not shown to be nonzero"), None


def _vanishes(base: ix.Expr, given: tuple[st.Given, ...], seed: int) -> str | None:
    for instance, points in exact_instances([base], given, seed, tries=60, small=True):
        for at in points:
            try:
                if instance.evaluate(base, at) == 0:
                    return describe(instance, at) or "always"
            except (NotExact, ZeroDivisionError):
                continue
    return None


def apply_definitions(expr: ix.Expr, given: tuple[st.Given, ...]) -> ix.Expr:
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


# ---------------------------------------------------------------- identities


def identity(statement: st.Identity, seed: int, with_mutants: bool) -> Finding:
    """Shapes, definedness, a symbolic proof link by link, and exact instances; then the mutants."""
    finding = Finding()
    shapes = conformable(statement.lhs, statement.rhs)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    at = tuple(Index(f"e{n}", d) for n, d in enumerate(statement.lhs.shape()))
    sides = [statement.lhs.entry(*at), statement.rhs.entry(*at)]
    evidence, where = defined(sides, statement.given, statement.nonzero, seed)
    finding.evidence.append(evidence)
    if evidence.passed is False:
        finding.counterexample = where
        return finding
    exact, counterexample = _exact_check(sides, statement, seed)
    finding.counterexample = counterexample
    if not counterexample:
        finding.evidence.append(_prove(statement, at, finding))
    finding.evidence.append(exact)
    if with_mutants and not counterexample:
        finding.mutants = _mutate(statement, at, seed)
    return finding


def _prove(statement: st.Identity, at: tuple[Index, ...], finding: Finding) -> Evidence:
    terms = [statement.lhs, *(link.term for link in statement.chain), statement.rhs]
    reasons = [*(link.reason for link in statement.chain), statement.reason]
    passed = True
    for left, right, reason in zip(terms[:-1], terms[1:], reasons, strict=True):
        same = nf.equal(
            apply_definitions(left.entry(*at), statement.given),
            apply_definitions(right.entry(*at), statement.given),
        )
        passed &= same
        finding.steps.append(
            {
                "title": "equality",
                "latex": rf"{left.latex()} = {right.latex()}",
                "reason": reason,
                "grade": "exact-symbolic",
                "passed": same,
            }
        )
    for g in statement.given:
        name = ix.At(g.tensor, g.at)
        latex = rf"{nf_latex(name)} = {g.value.latex()}"
        finding.steps.insert(
            0,
            {"title": "given", "latex": latex, "reason": g.reason, "grade": "exact-symbolic", "passed": True},
        )
    detail = (
        "equal normal forms for symbolic dimensions" if passed else "the normal forms differ (no refutation)"
    )
    return Evidence("derivation", "exact-symbolic", True if passed else None, detail, settles=True)


def nf_latex(expr: ix.Expr) -> str:
    """LaTeX of a derived expression."""
    return Raw((), expr).latex()


def _size_choices(
    dims: list[str], expressions: list[ix.Expr], fixed: dict[str, int]
) -> Iterator[dict[str, int]]:
    """Sizes from small to larger; a dimension under a root takes sizes whose root is rational."""
    powers = {d: 1 for d in dims}
    for e in expressions:
        for node in ix.walk(e):
            if isinstance(node, ix.Pow) and node.exponent.denominator > 1:
                for inner in ix.walk(node.base):
                    if isinstance(inner, ix.Dim):
                        powers[inner.name] = max(powers.get(inner.name, 1), node.exponent.denominator)
    for base in (1, 2, 3):
        yield {d: fixed.get(d, (min(base, 2) ** powers[d]) if powers[d] > 1 else base) for d in dims}
    yield {d: fixed.get(d, (2 ** powers[d]) if powers[d] > 1 else 2 + n % 2) for n, d in enumerate(dims)}


def exact_instances(
    expressions: list[ix.Expr],
    given: tuple[st.Given, ...],
    seed: int,
    tries: int,
    small: bool,
    fixed: dict[str, int] | None = None,
) -> Iterator[tuple[Instance, list[dict[Index, int]]]]:
    """Exact random values of all symbols of the expressions, with up to nine choices of their free indices for each.

    ``tries`` instances for every size, sizes from 1 to 3 (``fixed`` sets some); ``small`` draws small integers only.
    """
    rng = random.Random(f"{seed} instances")
    tensors = base_tensors(expressions, given)
    everything = [*expressions, *(g.value.entry() for g in given)]
    loose = sorted(set().union(*(ix.free_indices(e) for e in expressions)), key=lambda i: i.name)
    dims = sorted({*dimensions(expressions, given), *(i.dim for i in loose)} - {"1"})
    for sizes in _size_choices(dims, everything, fixed or {}):
        points = [
            dict(zip(loose, p, strict=True)) for p in product(*(range(sizes.get(i.dim, 1)) for i in loose))
        ]
        for _ in range(tries):
            values = draw(rng, tensors, sizes, SMALL if small else None)
            yield Instance(sizes, values, given), (points if len(points) <= 9 else rng.sample(points, 9))


def _exact_check(sides: list[ix.Expr], statement: st.Identity, seed: int) -> tuple[Evidence, str | None]:
    checked = skipped = 0
    for small in (True, False):
        for instance, points in exact_instances(
            sides, statement.given, seed, 4, small, dict(statement.sizes)
        ):
            try:
                for at in points:
                    if instance.evaluate(sides[0], at) != instance.evaluate(sides[1], at):
                        text = _shrink(instance, at, sides)
                        return Evidence("exact", "exact-rational", False, "an exact counterexample"), text
                checked += 1
            except (NotExact, ZeroDivisionError):
                skipped += 1
    if checked < 3:
        return Evidence(
            "exact", "exact-rational", None, not_run=f"only {checked} instances had an exact value"
        ), None
    return Evidence(
        "exact",
        "exact-rational",
        True,
        f"{checked} exact random instances agree ({skipped} undefined or inexact)",
    ), None


def _shrink(instance: Instance, at: dict[Index, int], sides: list[ix.Expr]) -> str:
    """Make a counterexample simpler entry by entry, as long as it stays one."""

    def differs(values: dict) -> bool:
        trial = Instance(instance.sizes, values, tuple(instance._given.values()))
        try:
            return bool(trial.evaluate(sides[0], at) != trial.evaluate(sides[1], at))
        except (NotExact, ZeroDivisionError):
            return False

    values = dict(instance.values)
    for key in list(values):
        for simple in (Fraction(1), Fraction(0)):
            if values[key] == simple or (simple == 0 and key[0].positive):
                continue
            if differs({**values, key: simple}):
                values[key] = simple
                break
    best = Instance(instance.sizes, values, tuple(instance._given.values()))
    left, right = (best.evaluate(s, at) for s in sides)
    return f"{describe(best, at)}: left side {left}, right side {right}"


def _mutate(statement: st.Identity, at: tuple[Index, ...], seed: int) -> Mutants:
    """Mutants of both printed sides, each against the other side."""
    result = Mutants()
    sides = {"left": statement.lhs, "right": statement.rhs}
    exprs = {name: side.entry(*at) for name, side in sides.items()}
    for name, side in sides.items():
        other = exprs["right" if name == "left" else "left"]
        for what, mutant in mutants(side, 24, whole=True):
            _score(
                result, f"{name} side: {what}: {mutant.latex()}", mutant.entry(*at), other, statement, seed
            )
    return result


def _score(
    result: Mutants, what: str, mutant: ix.Expr, other: ix.Expr, statement: st.Identity, seed: int
) -> None:
    result.tried += 1
    if _says_the_same(apply_definitions(mutant, statement.given), apply_definitions(other, statement.given)):
        result.equivalent += 1
    elif rejects(mutant, other, statement.given, seed, dict(statement.sizes)):
        result.killed += 1
    else:
        result.survivors.append(what)


def _says_the_same(mutant: ix.Expr, other: ix.Expr) -> bool:
    try:
        return nf.equal(mutant, other)
    except ZeroDivisionError:  # the mutant divides by something that is identically zero
        return False


def rejects(
    left: ix.Expr, right: ix.Expr, given: tuple[st.Given, ...], seed: int, fixed: dict[str, int] | None = None
) -> bool:
    """Whether an exact instance tells two expressions apart (or one of them is undefined where the other is not)."""
    for small in (False, True):
        for instance, points in exact_instances([left, right], given, seed + 1, 5, small, fixed):
            for at in points:
                try:
                    one = instance.evaluate(right, at)
                except (NotExact, ZeroDivisionError):
                    continue
                try:
                    if instance.evaluate(left, at) != one:
                        return True
                except ZeroDivisionError:
                    return True
                except NotExact:
                    continue
    return False


# ---------------------------------------------------------------- definitions, programs


def definition(statement: st.Definition, seed: int, with_mutants: bool) -> Finding:
    """Shapes and definedness of a defining formula."""
    finding = Finding()
    shapes = conformable(statement.name, statement.meaning)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    at = tuple(Index(f"e{n}", d) for n, d in enumerate(statement.meaning.shape()))
    evidence, where = defined([statement.meaning.entry(*at)], statement.given, statement.nonzero, seed)
    finding.evidence.append(replace(evidence, settles=True))
    finding.counterexample = where if evidence.passed is False else None
    latex = rf"{statement.name.latex()} := {statement.meaning.latex()}"
    finding.steps.append(
        {
            "title": "definition",
            "latex": latex,
            "reason": "shapes and denominators checked",
            "grade": "exact-symbolic",
            "passed": evidence.passed,
        }
    )
    return finding


def convex(statement: st.Convex, seed: int, with_mutants: bool) -> Finding:
    """Affine constraints and an objective whose quadratic part is a sum of nonnegative squares."""
    why = convexity(statement.program)
    step = {
        "title": "convexity",
        "latex": statement.program.latex(),
        "reason": why or "not shown",
        "grade": "exact-symbolic",
        "passed": bool(why),
    }
    finding = Finding(
        [
            Evidence(
                "derivation",
                "exact-symbolic",
                True if why else None,
                why or "the convexity argument does not apply",
                settles=True,
            )
        ],
        [step],
    )
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
    """Every symbol is a listed variable or given data, and every listed variable occurs."""
    program = statement.program
    stray = sorted(t.name for t in program.unknown() - set(statement.printed) - set(statement.data))
    idle = sorted(t.name for t in set(statement.printed) - program.unknown())
    passed = not stray and not idle
    detail = "every symbol is a listed variable or given data"
    if stray:
        detail = f"neither a listed variable nor given data: {', '.join(stray)}"
    elif idle:
        detail = f"listed as variable but absent: {', '.join(idle)}"
    finding = Finding(
        [Evidence("derivation", "exact-symbolic", passed, detail, settles=True)],
        counterexample=None if passed else detail,
    )
    if with_mutants and passed:
        for n in range(len(statement.printed)):
            finding.mutants.tried += 1
            fewer = st.WellPosed(program, statement.printed[:n] + statement.printed[n + 1 :], statement.data)
            finding.mutants.killed += well_posed(fewer, seed, False).holds is False
    return finding


def dual(statement: st.Dual, seed: int, with_mutants: bool) -> Finding:
    """Dualise symbolically and compare the remaining conditions with the printed ones."""
    result = dualise(statement.program)
    printed = dict(statement.conditions)
    finding = Finding(
        steps=[
            {
                "title": s.title,
                "latex": s.latex,
                "reason": s.reason,
                "grade": "exact-symbolic",
                "passed": True,
            }
            for s in result.steps
        ]
    )
    wrong = [f"no condition from {v.name} is printed" for v in result.conditions if v not in printed]
    wrong += [f"{v.name} gives no such condition" for v in printed if v not in result.conditions]
    for variable, term in statement.conditions:
        if variable in result.conditions and not _same_condition(result.conditions[variable], term.entry()):
            wrong.append(f"the condition from {variable.name} is another one")
    finding.evidence.append(
        Evidence(
            "derivation",
            "exact-symbolic",
            not wrong,
            "; ".join(wrong) or "the conditions are those that the dualiser derives",
            settles=True,
        )
    )
    finding.counterexample = "; ".join(wrong) or None
    if with_mutants and not wrong:
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


# ---------------------------------------------------------------- implications


def implication(statement: st.Implication, seed: int, with_mutants: bool) -> Finding:
    """Verify the certificate symbolically, or the offered counterexample exactly."""
    finding = Finding()
    shapes = conformable(*(h.term for h in statement.hypotheses), statement.conclusion.term)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    refuted = _witness(statement)
    if refuted:
        finding.counterexample = refuted
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
        return finding
    why = certificate_error(statement)
    finding.steps.append(
        {
            "title": "certificate",
            "latex": _implication_latex(statement),
            "reason": why or "identity of normal forms; signs of the multipliers as required",
            "grade": "exact-symbolic",
            "passed": not why,
        }
    )
    finding.evidence.append(
        Evidence(
            "derivation",
            "exact-symbolic",
            None if why else True,
            why or "the certificate is an identity",
            settles=True,
        )
    )
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
        form = nf.normal(multiplier.entry())
        if facts[name].relation != "=":
            if not _nonnegative(form, facts):
                return f"the multiplier of {name} is not shown to be nonnegative"
            strict |= facts[name].relation == ">" and nf.form_positive(form)
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


def _fragile(expr: ix.Expr) -> Iterator[ix.Expr]:
    """What must be positive (or, in a denominator, at least not zero) for an expression to be defined."""
    for node in ix.walk(expr):
        if isinstance(node, ix.Pow) and (node.exponent < 0 or node.exponent.denominator > 1):
            yield node.base
        if isinstance(node, ix.Call) and node.function == "log":
            yield node.arg


def _defined_under(multiplier: ix.Expr, statement: st.Implication) -> bool:
    """Whether a multiplier is defined wherever the hypotheses hold and they and the conclusion are defined."""
    facts = {h.name: h for h in statement.hypotheses}
    strict = {atom for atom, positive in _signs(facts).items() if positive}
    stated = {
        nf.normal(base)
        for fact in (*statement.hypotheses, statement.conclusion)
        for base in _fragile(fact.term.entry())
    }
    for base in _fragile(multiplier):
        form = nf.normal(base)
        product = len(form) == 1 and form[0][1] > 0 and not form[0][0][0]
        if form in stated or nf.form_positive(form):
            continue
        if not product or not all(nf.is_positive(a) or a in strict for a, _ in form[0][0][2]):
            return False
    return True


def _signs(facts: dict[str, st.Fact]) -> dict[nf.Atom, bool]:
    """The atoms that a hypothesis says are >= 0, and whether strictly positive."""
    signs: dict[nf.Atom, bool] = {}
    for fact in facts.values():
        known = nf.normal(fact.term.entry())
        if fact.relation != "=" and len(known) == 1 and known[0][1] > 0 and len(known[0][0][2]) == 1:
            atom, exponent = known[0][0][2][0]
            if exponent == 1 and not known[0][0][0]:  # of a sum, no entry's sign is known
                signs[atom] = fact.relation == ">"
    return signs


def _nonnegative(form: nf.Form, facts: dict[str, st.Fact]) -> bool:
    """A positive combination of products of positive atoms and of hypotheses that are >= 0."""
    signs = _signs(facts)
    return all(
        c > 0 and all(nf.is_positive(a) or (a in signs and (e > 0 or signs[a])) for a, e in mono[2])
        for mono, c in form
    )


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
    sign = Exponential.of(value).sign()
    return {"=": sign == 0, ">=": sign >= 0, ">": sign > 0}[relation]


# ---------------------------------------------------------------- recurrences


def recurrence(statement: st.Recurrence, seed: int, with_mutants: bool) -> Finding:
    """Induction: base cases and recurrence symbolically, and a count by brute force."""
    finding = Finding()
    passed = bool(statement.steps)  # no step, no induction
    for name, expression in statement.steps:
        zero = _sympy_zero(expression)
        passed &= zero
        finding.steps.append(
            {
                "title": name,
                "latex": rf"{sp.latex(expression)} = 0",
                "reason": "simplified by SymPy",
                "grade": "exact-symbolic",
                "passed": zero,
            }
        )
    finding.steps.insert(
        0,
        {
            "title": "statement",
            "latex": statement.latex,
            "reason": "by induction",
            "grade": "exact-symbolic",
            "passed": passed,
        },
    )
    finding.evidence.append(
        Evidence(
            "derivation",
            "exact-symbolic",
            True if passed else None,
            "base cases and recurrence hold" if passed else "an induction step was not shown",
            settles=True,
        )
    )
    wrong = _first_wrong(statement, statement.closed)
    finding.evidence.append(
        Evidence(
            "exact",
            "exact-rational",
            wrong is None if statement.cases else None,
            f"{len(statement.cases)} cases counted by brute force",
        )
    )
    finding.counterexample = wrong
    if with_mutants and wrong is None:
        for what, closed in _sympy_mutants(statement):
            finding.mutants.tried += 1
            if _first_wrong(statement, closed) is not None:
                finding.mutants.killed += 1
            else:
                finding.mutants.survivors.append(what)
    return finding


def _sympy_zero(expression: sp.Expr) -> bool:
    return sp.simplify(sp.gammasimp(sp.expand_func(expression))) == 0 or sp.simplify(expression) == 0


def _first_wrong(statement: st.Recurrence, closed: sp.Expr) -> str | None:
    for case in statement.cases:
        value = closed.subs(dict(zip(statement.symbols, case, strict=True)))
        counted = sp.sympify(statement.counted(*case))
        if sp.simplify(value - counted) != 0:
            at = ", ".join(f"{s} = {n}" for s, n in zip(statement.symbols, case, strict=True))
            return f"{at}: closed form {value}, counted {counted}"
    return None


def _sympy_mutants(statement: st.Recurrence) -> list[tuple[str, sp.Expr]]:
    closed = statement.closed
    found = [("doubled", 2 * closed), ("plus one", closed + 1), ("negated", -closed)]
    for s in statement.symbols:
        found += [(f"{s} shifted up", closed.subs(s, s + 1)), (f"{s} shifted down", closed.subs(s, s - 1))]
    return found


ENGINES: dict[type, Callable[[Any, int, bool], Finding]] = {
    st.Identity: identity,
    st.Definition: definition,
    st.Convex: convex,
    st.WellPosed: well_posed,
    st.Dual: dual,
    st.Implication: implication,
    st.Recurrence: recurrence,
}
