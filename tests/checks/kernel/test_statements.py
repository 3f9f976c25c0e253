"""What Rocq is given is what the engine decides: theorems are read back and evaluated beside the statements."""

from __future__ import annotations

import re
from functools import cache

import pytest
from agreement import disagreement

from checks.claim import built
from checks.kernel.obligations import Exported, export
from checks.kinds.follows import Follows
from checks.kinds.implication import Implication
from checks.run import ledger, proofs, prove
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import Identity, parts

READ = (Identity, Follows, Implication)


@cache
def exported(id: str) -> list[tuple[object, Exported]]:
    """The parts of the version of a claim that stands, and what is exported of each."""
    claim = load()[id]
    version = claim.corrected if ledger.expected()[id] == "corrected" else claim.literal
    statement = built(version, assumptions_for(claim, {}))
    return list(zip(parts(statement), export(prove.name_of(id), statement), strict=True))


def with_theorems() -> list[str]:
    return [id for id, verdict in ledger.expected().items() if verdict in ("proved", "corrected")]


SAMPLE = with_theorems()[::9]


def conclusions(id: str) -> list[tuple[str, object]]:
    """The theorem that says the whole of each part, and the part."""
    found = []
    for part, own in exported(id):
        if isinstance(part, READ) and own.theorems:
            extra = ("_defined", "_gradient")
            whole = [t for t in own.theorems if not re.search(r"_(step|derivative)\d+$", t.name)]
            whole = [t for t in whole if not t.name.endswith(extra)]
            found += [(t.statement, part) for t in whole[-1:]]  # one that is not proved yet has none
    return found


def compare(ids: list[str]) -> int:
    count = 0
    for id in ids:
        for text, part in conclusions(id):
            words = disagreement(text, part)
            assert words in ("", "nowhere defined"), f"{id}: {words}\n{text}"
            count += words == ""
    return count


def test_a_sample_of_theorems_says_what_the_statements_say() -> None:
    assert compare(SAMPLE) > 20


@pytest.mark.slow
def test_every_theorem_says_what_its_statement_says() -> None:
    assert compare(with_theorems()) > 250


def test_theorems_are_the_same_each_time_they_are_made() -> None:
    first = [t.text for id in SAMPLE[:8] for _, e in exported(id) for t in e.theorems]
    exported.cache_clear()
    assert first == [t.text for id in SAMPLE[:8] for _, e in exported(id) for t in e.theorems]


def test_names_are_each_claims_own() -> None:
    names = [prove.name_of(id) for id in load()]
    assert len(set(names)) == len(names)


FAULTS = {
    "nguyen2023/eq2": [(r"Q i m2 \* K m m2", "Q i m2 * K m2 m"), ("V m e0", "V i e0"), ("INR D", "INR N")],
    "chen2023/lem4.2": [(r"\(forall i0, \(i0 < s\)%nat -> 0 < sigma i0\) ->", ""), ("K i0 m", "K m i0")],
    "nguyen2023/rem1": [],
}


@pytest.mark.parametrize("id", FAULTS)
def test_a_wrong_index_and_a_dropped_hypothesis_are_seen(id: str) -> None:
    text, part = conclusions(id)[0]
    faults = [*FAULTS[id]]
    if isinstance(part, Implication):
        hypotheses = [line for line in text.splitlines() if re.match(r"  \(.* [>=] 0\) ->$", line)]
        faults += [(re.escape(line), "") for line in hypotheses]
    assert faults and not disagreement(text, part)
    for pattern, wrong in faults:
        changed = re.sub(pattern, wrong, text, count=1)
        assert changed != text and disagreement(changed, part), (pattern, changed)


@pytest.mark.slow
def test_the_record_is_that_of_the_statements_as_they_are() -> None:
    recorded = proofs.read()
    for id in recorded.claims:
        fresh = prove.exports(load()[id])
        remembered = prove.remembered(fresh, recorded)
        stale = [t.name for group in fresh.groups() for t in group if t.name not in remembered]
        stale += [name for name, outcome in remembered.items() if outcome.outcome == "stale"]
        assert not stale, f"{id}: run attest prove --all"
        assert fresh.said == recorded.claims[id].said
