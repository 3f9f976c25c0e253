"""AtLeast: one number is never below another. Settled by a formula for their difference whose sign can be
seen, refuted by an instance at which the difference is certainly negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions, defined, signs_under
from checks.engine.instances import describe, exact_instances
from checks.engine.judge import ENGINES, ENOUGH, conformable, equal, identity, rejects, step
from checks.engine.mutants import mutants
from checks.evidence import Evidence, Mutants
from checks.kinds.extremum import CONVEX, nonnegative
from checks.statement import Given, Identity, Kind, Malformed
from derivations.calculus import cases
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.cases import Case
from derivations.calculus.functions import NONNEGATIVE, by_exponentials
from derivations.calculus.index import Tensor
from derivations.calculus.signs import NONZERO, Facts
from derivations.calculus.term import Term
from derivations.calculus.unicode import unicode_math


@dataclass(frozen=True)
class AtLeast(Kind):
    """``lhs >= rhs`` for all values of the symbols and free indices, under the given definitions.

    ``above`` is lhs - rhs in a form whose sign is visible: sums and products of squares, of what is promised
    or known to be positive, and of Bregman differences of convex functions. Without it the sign of the
    difference has to be visible, if need be by cases, as a sum whose summands are looked at (with the indices
    of a double sum exchanged as well), by completing squares, or by exp(w) >= 1 + w.
    """

    lhs: Term
    rhs: Term
    above: Term | None = None
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The inequality as printed."""
        return rf"{self.lhs.latex()} \ge {self.rhs.latex()}"


def at_least(statement: AtLeast, seed: int, with_mutants: bool) -> Finding:
    """A counterexample among instances, or the difference as an identity whose right side has a sign."""
    s = statement
    shapes = conformable(s.lhs, s.rhs)
    if not shapes.passed:
        return Finding([shapes], counterexample=shapes.detail)
    if s.lhs.shape():
        raise Malformed("an inequality is between two numbers")
    if equal(s.lhs.entry(), s.rhs.entry()):
        raise Malformed("both sides are equal, which an identity says")
    sampled = _sampled(s, seed)
    if sampled.passed is False:
        return Finding([shapes, sampled], counterexample=sampled.detail)
    if s.above is None:
        return _by_cases(s, seed, sampled, with_mutants)
    if not _visible(s.above, s):
        detail = f"the sign of {unicode_math(s.above.latex())} is not visible"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail), sampled])
    finding = identity(_difference(s), seed, False)
    if finding.holds is False:  # a wrong formula for the difference is no counterexample
        detail = f"the difference is something else than {unicode_math(s.above.latex())}"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail), sampled])
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", True, "the sign of the difference is visible")
    )
    finding.evidence.append(sampled)
    reason = "squares, positive factors and Bregman differences of convex functions"
    finding.steps.append(step("sign", rf"{s.above.latex()} \ge 0", reason, True))
    if with_mutants and finding.holds:
        finding.mutants = _mutate(s, seed)
    return finding


def _by_cases(s: AtLeast, seed: int, sampled: Evidence, with_mutants: bool) -> Finding:
    """The sign of the difference as it is, case by case of the signs in it."""
    known, where = defined([s.lhs.entry(), s.rhs.entry()], s.given, s.nonzero, seed)
    found = _cases((s.lhs - s.rhs).entry(), s) if known.passed else None
    if not found:
        why = "no formula for the difference is given, and its own sign is not visible"
        why = why if known.passed else f"{known.detail}: {where}" if where else known.detail
        return Finding([Evidence("derivation", "exact-symbolic", None, why), sampled])
    number = "" if len(found) == 1 else f" in each of {len(found)} cases"
    detail = f"the difference is visibly nonnegative{number}"
    finding = Finding([known, Evidence("derivation", "exact-symbolic", True, detail, settles=True), sampled])
    for case in found:
        finding.steps.append(step("sign", case.latex(), _reason(case), True))
    if with_mutants:
        finding.mutants = _mutate_cases(s, seed)
    return finding


_SEEN = "what is promised, exp(w) ≥ 1 + w, and values of functions between -1 and 1"


def _reason(case: Case) -> str:
    covered = (
        "what is assumed covers every value"
        if case.assumed
        else "squares are completed"
        if case.shown
        else _SEEN
    )
    over = ", ".join(unicode_math(f"{i.name} = 1, …, {i.dim}") for i in case.over)
    times = f" times ({unicode_math(case.times)}) > 0" if case.times else ""
    what = f"the sum of this over {over}" if over else "this"
    return f"{covered}; the difference{times} is {what}" if over or times else covered


def _cases(expr: ix.Expr, s: AtLeast) -> list[Case] | None:
    """The cases in which a number is visibly nonnegative, known functions by exponentials if need be."""
    facts = Facts(dict.fromkeys(s.nonzero, NONZERO))
    try:
        own = apply_definitions(expr, s.given)
        return cases.nonnegative(own, facts) or cases.nonnegative(by_exponentials(own), facts)
    except ZeroDivisionError:
        return None


def _mutate_cases(s: AtLeast, seed: int) -> Mutants:
    """Changed sides: those that fail somewhere are rejected, and no wrong version is what holds as well."""
    result = Mutants()
    for side in ("lhs", "rhs"):
        for what, mutant in mutants(getattr(s, side), 16):
            changed = replace(s, lhs=mutant) if side == "lhs" else replace(s, rhs=mutant)
            result.tried += 1
            both = [changed.lhs.entry(), changed.rhs.entry()]
            fails = _sampled(changed, seed).passed is False
            if fails or defined(both, s.given, s.nonzero, seed)[0].passed is False:
                result.killed += 1
            elif _cases((changed.lhs - changed.rhs).entry(), s):
                result.equivalent += 1
            elif _sampled(changed, seed, 60).passed is False:
                result.killed += 1
            else:
                result.survivors.append(f"{side}: {what}: {mutant.latex()}")
    return result


def _difference(s: AtLeast) -> Identity:
    assert s.above is not None
    return Identity(s.lhs - s.rhs, s.above, s.given, nonzero=s.nonzero, reason="the difference, normal form")


def _visible(above: Term, s: AtLeast) -> bool:
    if above.shape():
        return False
    seen = nonnegative(above, CONVEX) or signs_under(above.entry(), s.given, s.nonzero) <= NONNEGATIVE
    return seen or bool(_cases(above.entry(), s))


def _sampled(s: AtLeast, seed: int, tries: int = 4) -> Evidence:
    """The sign of lhs - rhs at random instances, exact or in balls."""
    difference, checked = (s.lhs - s.rhs).entry(), 0
    for small in (True, False):
        for instance, points in exact_instances([difference], s.given, seed, tries, small, nonzero=s.nonzero):
            for at in points[:3]:
                sign = instance.sign(difference, at)
                checked += sign is not None
                if sign == -1:
                    left, right = (instance.value(side.entry(), at) for side in (s.lhs, s.rhs))
                    where = f"{describe(instance, at, difference)}: left side {left}, right side {right}"
                    return Evidence("exact", "exact-rational", False, where)
    if checked < ENOUGH:
        return Evidence("exact", "exact-rational", None, not_run=f"only {checked} instances had a sign")
    return Evidence("exact", "exact-rational", True, f"the sign agrees at {checked} exact instances")


def _mutate(s: AtLeast, seed: int) -> Mutants:
    """Changed sides, each against the same formula for the difference."""
    assert s.above is not None
    result, above = Mutants(), s.above.entry()
    for side in ("lhs", "rhs"):
        for what, mutant in mutants(getattr(s, side), 16):
            changed = replace(s, lhs=mutant) if side == "lhs" else replace(s, rhs=mutant)
            difference = (changed.lhs - changed.rhs).entry()
            result.tried += 1
            if rejects(difference, above, s.given, seed, nonzero=s.nonzero):
                result.killed += 1
            elif nf.equal(apply_definitions(difference, s.given), apply_definitions(above, s.given)):
                result.equivalent += 1
            else:
                result.survivors.append(f"{side}: {what}: {mutant.latex()}")
    return result


ENGINES[AtLeast] = at_least
