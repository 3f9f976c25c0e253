"""Dropping each assumption of a claim in turn: does the claim still hold, and if not, what breaks?"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from checks import statement as st
from checks.claim import Assumption, Claim, built
from checks.engine.finding import Finding
from checks.engine.judge import judge
from checks.kinds.implication import Implication
from checks.run.theories import theory
from derivations.theories.theory import NoForm


@dataclass(frozen=True)
class Ablation:
    """What happens to the standing statement without one assumption.

    ``needed`` is True with a counterexample, False if the claim is still proved without it (then it is
    redundant), None if neither was settled.
    """

    assumption: str
    variant: str
    needed: bool | None
    detail: str


def ablate(claim: Claim, assumptions: Any, told: Callable[[str], None] = lambda _: None) -> list[Ablation]:
    """Drop each assumption of the version of the claim that stands. ``told`` hears what is tried next."""
    if claim.literal is None:
        return []
    standing = claim.literal
    if claim.corrected and judge(built(claim.literal, assumptions), with_mutants=False).holds is False:
        standing = claim.corrected
    results = []
    for assumption in claim.assumes:
        if assumption.knob and not claim.theory:
            results.append(
                Ablation(assumption.name, "dropped", None, "the claim belongs to no theory with this knob")
            )
        elif assumption.knob:
            results += _turn(claim, standing, assumption, assumptions, told)
        else:
            told(f"{assumption.name} dropped")
            results.append(_drop(built(standing, assumptions), assumption))
    return results


def _turn(
    claim: Claim, standing: Any, assumption: Assumption, assumptions: Any, told: Callable[[str], None]
) -> list[Ablation]:
    """Set the knob to each of its other values."""
    knob = next(k for k in theory(claim.theory).knobs if k.name == assumption.knob)
    # a value with a placeholder (an upper-case word) is tried by its examples
    plain = [v for v in knob.allowed if not re.search("[A-Z]", v)]
    others = [v for v in (*plain, *knob.examples) if v != assumption.value]
    results = []
    for value in others:
        variant = f"{assumption.knob} = {value}"
        told(variant)
        try:
            statement = built(standing, replace(assumptions, **{assumption.knob: value}))
            results.append(_report(assumption.name, variant, judge(statement, with_mutants=False)))
        except NoForm as error:
            results.append(Ablation(assumption.name, variant, None, f"nothing is said under it: {error}"))
        except Exception as error:  # what is stated under one value may be no statement under another
            said = f"it cannot be stated or judged so: {type(error).__name__}: {error}"
            results.append(Ablation(assumption.name, variant, None, said))
    return results


def _drop(statement: st.Statement, assumption: Assumption) -> Ablation:
    """Take a named hypothesis out of every part of the statement that lists it."""
    touched = False
    pieces: list[Any] = []
    for part in st.parts(statement):
        if isinstance(part, Implication) and any(h.name == assumption.name for h in part.hypotheses):
            part, touched = part.without(assumption.name), True
        elif kept := _without_nonzero(part, assumption.name):
            part, touched = kept, True
        pieces.append(part)
    if not touched:
        return Ablation(
            assumption.name, "dropped", None, "the statement does not list this hypothesis by name"
        )
    return _report(assumption.name, "dropped", judge(st.All(*pieces), with_mutants=False))


def _without_nonzero(part: Any, name: str) -> Any:
    """A part that no longer assumes that x, or x at some place, is not 0, for a hypothesis x_nonzero; None
    where it does not assume it.
    """
    stem, nonzero = name.removesuffix("_nonzero"), getattr(part, "nonzero", ())
    meant = [t for t in nonzero if re.fullmatch(rf"{re.escape(stem)}(?![A-Za-z0-9]).*", t.name)]
    if stem == name or not meant:
        return None
    return replace(part, nonzero=tuple(t for t in nonzero if t not in meant))


def _report(name: str, variant: str, finding: Finding) -> Ablation:
    holds = finding.holds
    if holds:
        return Ablation(name, variant, False, "the claim is still proved: the assumption is redundant")
    if holds is False:
        return Ablation(name, variant, True, finding.counterexample or "a leg fails")
    return Ablation(name, variant, None, "neither proved nor refuted without it")
