"""The theorems of claims, generated from their statements, and what Rocq makes of them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from checks.claim import Claim, built
from checks.kernel import rocq
from checks.kernel.obligations import Exported, export, refuted
from checks.kernel.theorem import Theorem
from checks.run import ledger
from checks.run.content import content_of
from checks.run.proofs import ClaimProofs, Part, Proof, Proofs, hash_of
from checks.run.verify import assumptions_for, latex

VERDICTS = ("proved", "corrected", "refuted")
"""The verdicts of claims that have theorems."""
SOUNDNESS = (
    "identity positive nonnegative nonvanishing certificate replaced gradient psd_product psd_exp psd_overlap"
    " geometric same_slope big_o_next no_average strong_duality"
    " approximates not_approximate refuted holding broken no_bound still drifting negative_quotient"
    " above_tangents near_for_all steady_times steady_sum smaller"
)
"""The theorems of the library that generated proofs apply."""


@dataclass
class Exports:
    """What is generated for a claim: its version that stands, part by part."""

    id: str
    verdict: str
    said: str
    content: str = ""
    parts: list[Exported] = field(default_factory=list)
    refuted: list[Exported] = field(default_factory=list)

    def groups(self) -> Iterator[list[Theorem]]:
        """Theorems that may use each other."""
        for part in (*self.parts, *self.refuted):
            if part.theorems:
                yield part.theorems


def exports(claim: Claim) -> Exports:
    """The theorems of a claim, generated from the object that its engine decides. Needs no Rocq."""
    verdict = ledger.expected().get(claim.id, "not recorded")
    version = claim.corrected if verdict == "corrected" else claim.literal
    if version is None or verdict not in VERDICTS:
        return Exports(claim.id, verdict, "")
    statement = built(version, assumptions_for(claim, {}))
    found = Exports(claim.id, verdict, hash_of(latex(statement)), content_of(statement))
    if verdict != "proved" and claim.literal is not None:
        found.refuted = refuted(name_of(claim.id), built(claim.literal, assumptions_for(claim, {})))
    if verdict != "refuted":
        found.parts = export(name_of(claim.id), statement)
    return found


def name_of(id: str) -> str:
    """The beginning of the names of a claim's theorems."""
    return re.sub(r"[^A-Za-z0-9]", "_", id)


def proved(found: list[Exports], done: Callable[[int], None] = lambda _: None) -> Proofs:
    """What Rocq makes of the theorems; ``done`` is told how many more are through. Raises RocqError."""
    started = time.perf_counter()
    groups = [group for claim in found for group in claim.groups()]
    outcomes: dict[str, rocq.Outcome] = {}
    for outcome in rocq.check(groups):
        outcomes[outcome.name] = outcome
        done(1)
    claims = {claim.id: recorded(claim, outcomes) for claim in found}
    seconds = round(time.perf_counter() - started, 1)
    return Proofs(rocq.version(), rocq.library_hash(), axioms(), seconds, claims, rocq.exporters_hash())


def recorded(claim: Exports, outcomes: dict[str, rocq.Outcome]) -> ClaimProofs:
    """A claim's theorems with their outcomes, "not run" where there is none."""

    def part(e: Exported) -> Part:
        theorems = []
        for t in e.theorems:
            o = outcomes.get(t.name) or rocq.Outcome(t.name, "not run")
            theorems.append(Proof(t.name, t.statement, o.outcome, hash_of(t.statement), o.said))
        return Part(e.kind, theorems, e.missing, e.settled)

    parts, refuted = [*map(part, claim.parts)], [*map(part, claim.refuted)]
    return ClaimProofs(claim.verdict, claim.said, parts, refuted, claim.content)


def axioms() -> list[str]:
    """What the soundness theorems assume, as Rocq prints it. Raises RocqError."""
    names = SOUNDNESS.split()
    good, said = rocq.ask(f"Definition soundness := ({', '.join('@' + n for n in names)}).\n"
                          "Print Assumptions soundness.")  # fmt: skip
    if not good:
        raise rocq.RocqError(f"Rocq does not print its assumptions: {said[:300]}")
    return [re.sub(r"\s+", " ", line) for line in re.findall(r"^\S+(?: |\n +): .*(?:\n +.*)*", said, re.M)]


def remembered(fresh: Exports, proofs: Proofs) -> dict[str, rocq.Outcome]:
    """The recorded outcomes of generated theorems: "stale" where theorem or library has changed since."""
    old = proofs.claims.get(fresh.id)
    by_name = {p.name: p for p in old.proofs()} if old else {}
    found = {}
    for theorem in (t for group in fresh.groups() for t in group):
        if theorem.name in by_name:
            proof = by_name[theorem.name]
            same = proof.statement == theorem.statement and proofs.library == rocq.library_hash()
            found[theorem.name] = rocq.Outcome(theorem.name, proof.outcome if same else "stale", proof.said)
    return found
