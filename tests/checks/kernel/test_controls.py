"""Rocq rejects what is wrong: mutants of what it accepts, and the red team's false statements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest
from redteam.test_redteam import PAIRS

from checks.claim import built
from checks.engine.judge import judge, score
from checks.engine.mutants import mutants
from checks.evidence import Mutants
from checks.kernel import rocq
from checks.kernel.equalities import equalities
from checks.kernel.obligations import export
from checks.kernel.theorem import beyond_zero
from checks.kernel.trees import NotCovered
from checks.run import ledger, prove
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import Identity, Malformed, parts
from derivations.calculus.index import Index

needs_rocq = pytest.mark.skipif(rocq.compiler() is None, reason=rocq.MISSING)
DATA = re.compile(r"set \(the_data := (.*?%nat)\)\.\n.*?set \(the_ranges := (.*?)\)\.\n", re.S)
SHARES = 20
"""Tests that the mutants of all claims are shared out to."""
CALL = re.compile(r"exact \(identity the_data the_model the_ranges\n(.*?)\n\s*ltac:", re.S)


def identities(verdicts: tuple[str, ...] = ("proved", "corrected")) -> list[tuple[str, Identity]]:
    found = []
    for id, verdict in ledger.expected().items():
        if verdict in verdicts:
            claim = load()[id]
            version = claim.corrected if verdict == "corrected" else claim.literal
            pieces = parts(built(version, assumptions_for(claim, {})))
            found += [(id, p) for p in pieces if isinstance(p, Identity)]
    return found


def wrong(id: str, part: Identity, limit: int) -> Iterable[tuple[str, str, bool]]:
    """Mutants of the right side: what the checker is asked of each, and whether our engine calls them equal."""
    at = tuple(Index(f"e{n}", d).fresh() for n, d in enumerate(part.lhs.shape()))
    for what, mutant in mutants(part.rhs, limit, whole=True):
        changed = replace(part, rhs=mutant, chain=())
        try:
            text = equalities("mutant", changed)[0].text
        except NotCovered:
            continue
        found = Mutants()
        score(found, what, (mutant.entry(*at), part.lhs.entry(*at)), part, 0)
        yield f"{id}: {what}", question(text), found.equivalent == 1


def question(text: str) -> str:
    """What the checker is asked in a proof."""
    data, call = DATA.search(text), CALL.search(text)
    assert data and call
    left, right = re.split(r"%nat\n\s+", call[1].removesuffix("%nat"))
    return f"check (flags_of {data[1]}) 6 4 {data[2]} {left} {right}"


def answers(questions: list[str]) -> list[bool]:
    lines = ["Open Scope nat_scope."]
    lines += [f"Eval vm_compute in ({n}%nat, {q})." for n, q in enumerate(questions)]
    good, said = rocq.ask("\n".join(lines), 300)
    assert good, said[-2000:]
    found = re.findall(r"= \((\d+), (true|false)\)", said)
    assert [int(n) for n, _ in found] == list(range(len(questions)))
    return [answer == "true" for _, answer in found]


def compared(chosen: list[tuple[str, Identity]], limit: int) -> int:
    cases = [case for id, part in chosen for case in wrong(id, part, limit)]
    got = answers([q for _, q, _ in cases])
    wrongly = [what for (what, _, same), answer in zip(cases, got, strict=True) if answer and not same]
    assert not wrongly, wrongly
    unseen = [what for (what, _, same), answer in zip(cases, got, strict=True) if same and not answer]
    assert len(unseen) <= 2, unseen
    assert sum(got) < len(got) / 4
    return len(cases)


@needs_rocq
def test_the_library_accepts_what_it_should_and_assumes_what_the_real_numbers_assume() -> None:
    names = {line.split(" ")[0].rpartition(".")[2] for line in prove.axioms()}
    assert names <= {"sig_forall_dec", "sig_not_dec", "functional_extensionality_dep", "classic"} and names


def test_nothing_is_admitted() -> None:
    for name in rocq.FILES:
        text = (rocq.LIBRARY / f"{name}.v").read_text(encoding="utf-8")
        assert not re.search(r"\b(Admitted|Axiom|Axioms|Parameter|Conjecture|Abort|admit)\b", text), name


@needs_rocq
def test_a_sample_of_mutants_is_rejected_as_our_engine_does() -> None:
    assert compared(identities()[::25], 4) > 25


@needs_rocq
@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_every_mutant_is_rejected_as_our_engine_does(share: int) -> None:
    assert compared(identities()[share::SHARES], 6) > 50


NO_SIZE = ("identity/size-that-is-none", "identity/a-sum-of-no-summands")
"""False where a size that is written as a difference is 0: theorems suppose of every size that it is not."""


def test_theorems_say_that_no_size_is_zero() -> None:
    for name in NO_SIZE:
        theorems = [t for e in export("none", PAIRS[name].false()) for t in e.theorems]
        assert theorems and all(re.search(r"\(0 < \w+\)%nat ->", t.statement) for t in theorems)


def false_ones() -> list[tuple[str, list[list[rocq.Theorem]]]]:
    """The red team's false statements of which every part has theorems."""
    found = []
    for n, pair in enumerate(PAIRS.values()):
        try:
            exported = export(f"false{n}", pair.false())
        except (ValueError, ArithmeticError, TypeError, LookupError):
            continue  # it cannot be written down, or our engine refuses it as well
        if exported and all(e.covered for e in exported) and pair.name not in NO_SIZE:
            found.append((pair.name, [e.theorems for e in exported]))
    return found


def accepted(cases: list[tuple[str, list[list[rocq.Theorem]]]]) -> list[str]:
    """The statements of which Rocq accepts everything, and not only where no size that may be 0 is."""
    outcomes = {o.name: o.outcome for o in rocq.check((g for _, groups in cases for g in groups), 20)}
    good = [name for name, groups in cases if all(outcomes[t.name] == "checked" for g in groups for t in g)]
    said = {name: beyond_zero(t.statement for g in groups for t in g) for name, groups in cases}
    return [name for name in good if not said[name] and not _refused(PAIRS[name].false())]


def _refused(statement: object) -> bool:
    """Whether our engine says that a statement says nothing: it never gets a theorem."""
    try:
        judge(statement, with_mutants=False)  # type: ignore[arg-type]
    except (Malformed, ArithmeticError):
        return True
    return False


@needs_rocq
def test_nothing_false_of_a_sample_is_proved() -> None:
    assert not accepted(false_ones()[::9])


@needs_rocq
@pytest.mark.slow
def test_nothing_false_is_proved() -> None:
    false = false_ones()
    assert len(false) > 120
    assert not accepted(false)


@needs_rocq
def test_a_theorem_that_takes_too_long_ends() -> None:
    forever = rocq.Theorem("forever", "Theorem forever : True.", "Proof.\n  do 1000000000 idtac.\nQed.")
    assert [o.outcome for o in rocq.check([[forever]], 0.5)] == ["failed"]
