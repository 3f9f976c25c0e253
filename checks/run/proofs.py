"""What Rocq's kernel made of each claim, as recorded: read without SymPy and without Rocq."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from checks.audit import current, per_audit
from checks.evidence import Record, digest
from checks.kernel.rocq import exporters_hash
from checks.kernel.theorem import beyond_zero
from checks.run.ledger import BadLedger
from checks.run.store import read_json, write_atomically

GRADE = "kernel-checked"
"""The grade above exact-symbolic: every part of the version that stands is a theorem for Rocq."""


def hash_of(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Proof:
    """A theorem as Rocq reads it, and its outcome: "checked", "failed" (then ``said`` has Rocq's words) or
    "not run".
    """

    name: str
    statement: str
    outcome: str
    hash: str
    said: str = ""


@dataclass
class Part:
    """One part of a statement: its theorems, and why something of it has none.

    ``settled``: nothing of it could be shown, as of a definition.
    """

    kind: str
    theorems: list[Proof] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    settled: bool = False

    @property
    def checked(self) -> bool:
        """Whether all of it is checked."""
        return bool(self.theorems) and not self.missing and all(t.outcome == "checked" for t in self.theorems)


@dataclass
class ClaimProofs:
    """The version of a claim that stands, in parts, and the theorems that refute parts of the printed one.

    ``said`` is a hash of the displayed version that stands, ``content`` one of all that it says, also what
    its display leaves to its symbols, such as their shapes ("" where it was not recorded): a record of
    another one is stale.
    """

    verdict: str
    said: str
    parts: list[Part] = field(default_factory=list)
    refuted: list[Part] = field(default_factory=list)
    content: str = ""

    @property
    def grade(self) -> str:
        """`GRADE` and for which differences of sizes alone, if the version that stands has it; else ""."""
        sizes = beyond_zero(theorem.statement for part in self.parts for theorem in part.theorems)
        return GRADE + (f" for {sizes}" if sizes else "") if self.checked else ""

    @property
    def checked(self) -> bool:
        """Whether every part with content is checked, and there is one."""
        stands = self.verdict in ("proved", "corrected")
        return (
            stands and all(p.checked or p.settled for p in self.parts) and any(p.checked for p in self.parts)
        )

    @property
    def refutation(self) -> bool:
        """Whether it is checked that what is printed fails."""
        return any(t.outcome == "checked" for p in self.refuted for t in p.theorems)

    def proofs(self) -> Iterator[Proof]:
        """All theorems."""
        for part in (*self.parts, *self.refuted):
            yield from part.theorems


FAILS = "as printed,"
"""What the kinds of refuted statements begin with."""


@dataclass
class Coverage:
    """Of one kind: the claims with parts of it, those of which some such part is not checked, and why."""

    claims: set[str] = field(default_factory=set)
    short: set[str] = field(default_factory=set)
    parts: Counter[str] = field(default_factory=Counter)
    why: Counter[str] = field(default_factory=Counter)

    def add(self, id: str, part: Part) -> None:
        """Count a part; one in which there is nothing to show is no part that could be checked."""
        which = "some" if part.theorems else "none"
        which = "all" if part.checked else "nothing to show" if part.settled else which
        self.parts[which] += 1
        self.claims.add(id)
        if which in ("some", "none"):
            self.short.add(id)
            others = {f"Rocq: {t.outcome}" for t in part.theorems if t.outcome != "checked"}
            self.why.update(sorted({*part.missing} or others))

    def counts(self) -> dict[str, Any]:
        """How many claims there are, how many of them are checked, and the reasons, the most common first."""
        checked = len(self.claims - self.short)
        return {"claims": len(self.claims), "checked": checked, "why": dict(self.why.most_common())}


@dataclass
class Proofs:
    """All claims' theorems, Rocq's version, a hash of the library, the axioms that it rests on, and a hash of
    what makes theorems of statements ("" where it was not recorded).
    """

    rocq: str
    library: str
    axioms: list[str]
    seconds: float
    claims: dict[str, ClaimProofs]
    exporters: str = ""

    def graded(self) -> list[str]:
        """The claims of the grade `GRADE`."""
        return [id for id, claim in self.claims.items() if claim.checked]

    def coverage(self) -> dict[str, Coverage]:
        """How much of each kind is checked, in the versions that stand and of what fails."""
        found: dict[str, Coverage] = {}
        for id, claim in self.claims.items():
            for part in claim.parts:
                found.setdefault(part.kind, Coverage()).add(id, part)
            for part in claim.refuted:
                found.setdefault(f"{FAILS} {part.kind}", Coverage()).add(id, part)
        return dict(sorted(found.items(), key=lambda item: (item[0].startswith(FAILS), item[0])))

    def counts(self) -> dict[str, dict[str, Any]]:
        """The coverage as plain JSON data."""
        return {kind: c.counts() for kind, c in self.coverage().items()}


def write(path: Path, proofs: Proofs) -> None:
    """Write the record, with the coverage for those who read no more than JSON. Raises OSError."""
    data = asdict(proofs)
    data |= {"digest": digest("kernel", data), "coverage": proofs.counts()}
    write_atomically(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def recorded() -> Path:
    """The file of what Rocq made of the audit's theorems."""
    return current().records_folder / "kernel.json"


@per_audit
def read(path: Path | None = None) -> Proofs:
    """The record. Raises BadLedger where it is missing or damaged."""
    path = path or recorded()
    try:
        data = read_json(path)
        coverage = data.pop("coverage", {})
        same = data.pop("digest") == digest("kernel", data)
        data["claims"] = {id: _claim(claim) for id, claim in data["claims"].items()}
        found = Proofs(**data)
        if not same or coverage != found.counts():
            raise ValueError(f"it was changed since Rocq ran; `{current().command} prove --all` writes it")
        return found
    except OSError as error:
        hint = f"; `{current().command} prove --all` writes it" if path == recorded() else ""
        raise BadLedger(f"cannot read {path}: {error.strerror}{hint}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadLedger(f"{path} is damaged: {error}") from None


def _claim(data: dict[str, Any]) -> ClaimProofs:
    def part(item: dict[str, Any]) -> Part:
        return Part(**{**item, "theorems": [Proof(**t) for t in item["theorems"]]})

    return ClaimProofs(
        data["verdict"],
        data["said"],
        [part(p) for p in data["parts"]],
        [part(p) for p in data["refuted"]],
        data.get("content", ""),
    )


def outdated(library: str) -> str:
    """Why no recorded outcome counts any more: the library of this hash, which Rocq reads now, is another
    one, or what makes theorems of statements is; "" if neither is.
    """
    found = read()
    changed = "the library of theorems has" if found.library != library else ""
    if not changed and found.exporters not in ("", exporters_hash()):
        changed = "what makes theorems of statements has"
    return changed and f"{changed} changed since; {current().command} prove --all"


def standing(record: Record) -> str:
    """The hash of the version of a claim that stands, as it is displayed."""
    return hash_of((record.corrected or record.statement).get("latex", ""))


def of_record(record: Record, library: str) -> tuple[ClaimProofs | None, str]:
    """What is recorded of a claim and, where it is about another version or none was judged, which."""
    found = read().claims.get(record.id)
    if found is None:
        return None, ""
    if not record.judged:
        return found, "the claim was not judged this time: nothing to compare with"
    if why := outdated(library):
        return found, f"stale: {why}"
    held = (record.corrected or record.statement).get("content", "")
    same = found.said == standing(record) and found.verdict == record.verdict
    same = same and found.content in ("", held)
    return found, "" if same else f"stale: the statement has changed since; attest prove {record.id}"
