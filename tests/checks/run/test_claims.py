"""Every claim is one test: its verdict is the recorded one and its engines reject every mutant."""

from __future__ import annotations

import pytest

from checks.claim import Options
from checks.engine.verdict import SEVERITIES
from checks.run import ledger
from checks.run.cache import STOPPED, Cache
from checks.run.content import key
from checks.run.link import link
from checks.run.registry import load
from checks.run.verify import assumptions_for, examine

OPTIONS = Options(max_tokens=1024)
CLAIMS = load()
EXPECTED = ledger.expected()


@pytest.mark.parametrize("id", list(CLAIMS))
def test_claim(id: str) -> None:
    claim, assumptions = CLAIMS[id], assumptions_for(CLAIMS[id], {})
    (record,) = link([examine(claim, assumptions, OPTIONS)], EXPECTED)
    # Judged anew whatever the cache holds, and kept there for `attest verify` and `attest book`.
    Cache().put(key(claim, assumptions, OPTIONS), record)
    assert record.verdict == EXPECTED.get(id), record.notes or record.counterexample
    assert record.severity == ledger.severities().get(id), record.failures
    assert not record.mutants.survivors, record.mutants.survivors
    assert record.mutants.tried == record.mutants.killed + record.mutants.equivalent
    assert record.mutants.killed or not record.mutants.tried
    if record.verdict in ("corrected", "refuted"):
        assert record.counterexample and record.severity in SEVERITIES
    if record.verdict == "corrected":
        assert record.correction
    if record.verdict in ("proved", "confirmed", "definition"):
        assert record.severity is None and record.counterexample is None
    assert not [e.not_run for e in record.evidence if STOPPED in (e.not_run or "")]
    shown = [record.statement.get("latex", ""), *(step["latex"] for step in record.steps)]
    assert not [latex for latex in shown if "#" in latex.replace(r"\#", "")]  # names that engines make
    for piece in record.evidence:
        if piece.leg == "tensor" and piece.grade == "certified-float" and not piece.not_run:
            assert piece.passed and piece.error <= piece.bound, piece
            assert piece.wrong and not piece.not_rejected, piece


def test_no_recorded_verdict_without_its_claim() -> None:
    assert set(EXPECTED) == set(CLAIMS)


def test_claims_rest_on_claims_that_exist_without_circles() -> None:
    def below(id: str, path: tuple[str, ...]) -> None:
        assert id not in path, f"{' -> '.join((*path, id))}"
        for parent in CLAIMS[id].rests_on:
            assert parent in CLAIMS, f"{id} rests on {parent}, which is not declared"
            below(parent, (*path, id))

    for id in CLAIMS:
        below(id, ())


def test_what_is_measured_rests_on_nothing_refuted() -> None:
    rests = [(id, parent) for id, c in CLAIMS.items() if c.role == "empirical" for parent in c.rests_on]
    assert rests and not [pair for pair in rests if EXPECTED[pair[1]] == "refuted"]


def test_the_knobs_that_a_claim_fixes_are_among_its_assumptions() -> None:
    for id, claim in CLAIMS.items():
        assert {*claim.under} <= {(a.knob, a.value) for a in claim.assumes}, id
