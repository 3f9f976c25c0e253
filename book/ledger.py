"""The exported ledger as the book reads it: checked on the way in, then asked about counts and dependence."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from checks.audit import current

VERDICTS = {
    "proved": "the statement as printed follows symbolically, for symbolic dimensions; where it is about "
    "numbers, or says that something exists, it holds in exact arithmetic",
    "confirmed": "no symbolic proof, but two independent legs agree with every part, each of which rejected "
    "wrong versions",
    "corrected": "the statement as printed fails, and what fails is shown; a minimally changed one, or what "
    "is left without the part that fails, holds",
    "refuted": "the statement as printed fails and no small repair is known to hold",
    "definition": "it only names something; shapes and definedness were checked",
    "empirical": "it reports an experiment; only what is arithmetic or cost in it was checked",
    "unsettled": "the evidence that could be had does not settle it",
    "inconsistent": "the checks contradict each other: a fault of this project, not of the paper",
}
"""Verdict names in the order of every table, each with when it is given."""

FAILED = ("corrected", "refuted")
UNFINISHED = ("unsettled", "inconsistent")

SEVERITIES = {
    "substance": "what directly rests on it fails too, for this reason or another, and is named, or no "
    "change of symbols mends it",
    "condition": "true as printed once an unstated condition is added",
    "misprint": "a formula whose correction keeps most of its symbols, and a side or half of each, and "
    "nothing that directly rests on it fails",
}
"""Severities of a failure, the gravest first."""

GRADES = {
    "exact-symbolic": "follows by algebra, for symbolic dimensions",
    "exact-rational": "an instance checked in exact arithmetic, no rounding",
    "interval": "enclosed by ball arithmetic",
    "certified-float": "floating point, within an error bound: proved on tensors, by solvers from their "
    "certificates and an allowance for rounding",
    "compared": "a solver's answer beside a certified one, within a tolerance that was chosen",
    "sampled": "tried from random starts, within a tolerance that was chosen",
    "measured": "read off a run (time, memory, accuracy, error), without a proved bound on rounding",
}
"""Grades of evidence, the strongest first."""


_ID = re.compile(r"[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*")
"""Names of claims and papers: they are names of files, too."""
_TYPES: dict[str, Any] = {"str": str, "list": list, "dict": dict, "bool": bool, "Formula": (dict, str)}


class LedgerError(ValueError):
    """The ledger file is missing, damaged or contradicts itself; the message is one line."""


@dataclass(frozen=True)
class Formula:
    """A statement: display mathematics without delimiters, a sentence saying it, and a hash of all that it
    says.
    """

    latex: str
    words: str
    content: str = ""


@dataclass(frozen=True)
class Claim:
    """One record of the ledger (fields as in DESIGN.md, "Ledger record")."""

    id: str
    paper: str
    reference: str
    title: str
    kind: str
    verdict: str
    literal_holds: bool | None
    statement: Formula
    corrected: Formula | None = None
    correction: str | None = None
    where: str = ""
    assumptions: list[str] = field(default_factory=list)
    knobs: list[str] = field(default_factory=list)
    assumed: list[dict[str, str]] = field(default_factory=list)
    rests_on: list[str] = field(default_factory=list)
    severity: str | None = None
    counterexample: str | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    mutants: dict[str, Any] = field(default_factory=dict)
    engines: list[str] = field(default_factory=list)
    source: str = ""
    declaration: str = ""
    command: str = ""
    notes: str = ""
    picture: str | None = None
    failures: list[dict[str, str]] = field(default_factory=list)
    inherited_by: list[str] = field(default_factory=list)
    place: str = ""
    printed: list[str] = field(default_factory=list)
    added: str = ""
    reading: dict[str, Any] | None = None

    @property
    def doc(self) -> str:
        """Path of the claim's page in the book, without suffix. A dot would read as a suffix there."""
        return "claims/" + self.id.replace(".", "-")

    @property
    def failed(self) -> bool:
        """Whether the statement as printed was corrected or refuted."""
        return self.verdict in FAILED

    @property
    def weight(self) -> int:
        """Rank of the severity, 0 for the gravest and for none the largest."""
        return list(SEVERITIES).index(self.severity) if self.severity in SEVERITIES else len(SEVERITIES)


def _formula(value: Any) -> Formula | None:
    if not isinstance(value, dict) or not value:
        return None
    return Formula(value.get("latex") or "", value.get("words") or "", value.get("content") or "")


def _claim(record: Any, place: str) -> Claim:
    """One record as a Claim; unknown fields are ignored, so that the ledger may grow."""
    if not isinstance(record, dict):
        raise LedgerError(f"{place}: not an object")
    place = f"{place} ({str(record.get('id', 'no id'))[:80]})"
    required = ("id", "paper", "reference", "title", "verdict")
    missing = [name for name in required if not record.get(name)]
    if missing:
        raise LedgerError(f"{place}: missing {', '.join(missing)}")
    for name, declared in Claim.__dataclass_fields__.items():
        if record.get(name) is not None and not _fits(record[name], str(declared.type)):
            raise LedgerError(f"{place}: {name} should be {declared.type}")
    for name in ("id", "paper"):
        if not _ID.fullmatch(record[name]):
            raise LedgerError(f"{place}: {name} {record[name]!r} is no name, such as chen2023/rem3.4")
    if record["verdict"] not in VERDICTS:
        raise LedgerError(f"{place}: verdict {record['verdict']!r}; allowed: {', '.join(VERDICTS)}")
    if record.get("severity") not in (None, *SEVERITIES):
        raise LedgerError(f"{place}: severity {record['severity']!r}; allowed: {', '.join(SEVERITIES)}, null")
    known = {name: record[name] for name in Claim.__dataclass_fields__ if record.get(name) is not None}
    # A claim in prose has no formula, only words.
    known["statement"] = _formula(record.get("statement")) or Formula("", record.get("words") or "")
    known["corrected"] = _formula(record.get("corrected"))
    known["literal_holds"] = record.get("literal_holds")
    known["kind"] = record.get("kind") or ""
    return Claim(**known)


def _fits(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a field's type, as Claim has it."""
    kind = kind.removesuffix(" | None")
    if kind.startswith("list["):
        return isinstance(value, list) and all(_fits(each, kind[5:-1]) for each in value)
    return isinstance(value, _TYPES[kind.partition("[")[0]])


@dataclass(frozen=True)
class Live:
    """What deriving in the browser loads, in megabytes, and what judging loads besides; or why there is
    nothing.
    """

    derive: float = 0
    judge: float = 0
    missing: str = "it was not packed"


class Ledger:
    """All claims, in the order of the file, with what rests on what.

    ``changed`` says which knobs differ from the papers' own assumptions, as theory.knob=value; empty for the
    audit. ``live`` says what the book brings for deriving in the browser.
    """

    def __init__(self, claims: Iterable[Claim], changed: Iterable[str] = ()) -> None:
        self.claims = list(claims)
        self.live = Live()
        self.changed = tuple(changed)
        self.by_id = {claim.id: claim for claim in self.claims}
        self.used_by: dict[str, list[str]] = {claim.id: [] for claim in self.claims}
        for claim in self.claims:
            for base in claim.rests_on:
                self.used_by.setdefault(base, []).append(claim.id)
        self._check()

    def _check(self) -> None:
        pages = Counter(claim.doc for claim in self.claims)
        if double := [page for page, count in pages.items() if count > 1]:
            raise LedgerError(f"two claims would share the page {double[0]}")
        try:
            TopologicalSorter({claim.id: claim.rests_on for claim in self.claims}).prepare()
        except CycleError as error:
            raise LedgerError(
                f"claims rest on each other in a circle: {' -> '.join(error.args[1])}"
            ) from None

    @property
    def papers(self) -> list[str]:
        """Keys of the papers that have a claim here, in the order of the book."""
        present = dict.fromkeys(claim.paper for claim in self.claims)
        known = [paper.key for paper in current().papers if paper.key in present]
        return known + [key for key in present if key not in known]

    def of(self, paper: str) -> list[Claim]:
        """The claims of one paper, in the order of the file."""
        return [claim for claim in self.claims if claim.paper == paper]

    def dependents(self, claim_id: str) -> set[str]:
        """Ids of every claim that rests on this one, directly or through others."""
        return self._reach(claim_id, self.used_by)

    def foundations(self, claim_id: str) -> set[str]:
        """Ids of every claim in this ledger that this one rests on, directly or through others."""
        return self._reach(claim_id, {claim.id: claim.rests_on for claim in self.claims}) & set(self.by_id)

    @staticmethod
    def _reach(start: str, edges: dict[str, list[str]]) -> set[str]:
        found: set[str] = set()
        stack = [start]
        while stack:
            new = set(edges.get(stack.pop(), ())) - found
            found |= new
            stack.extend(new)
        return found

    def shaky(self, claim: Claim) -> list[Claim]:
        """The corrected or refuted claims among all that this one rests on, in the order of the file."""
        below = self.foundations(claim.id)
        return [other for other in self.claims if other.id in below and other.failed]

    def failures(self) -> list[Claim]:
        """Corrected and refuted claims: the gravest first, then by how many claims rest on them."""
        failed = [claim for claim in self.claims if claim.failed]
        return sorted(failed, key=lambda c: (c.weight, -len(self.dependents(c.id)), c.verdict != "refuted"))


def paper_name(key: str) -> str:
    """Short name of a paper, or its key."""
    return current().paper(key).name or key


def read(path: Path) -> Ledger:
    """The ledger in an exported JSON file (a list of records). Raises LedgerError in one line."""
    return parse(read_records(path), str(path))


def read_records(path: Path) -> list[Any]:
    """The raw records of an exported JSON file. Raises LedgerError in one line."""
    if path.exists() and not path.is_file():  # a pipe or a device may never end
        raise LedgerError(f"cannot read the ledger {path}: it is no regular file")
    try:
        records = json.loads(path.read_text("utf8"))
    except OSError as error:
        raise LedgerError(
            f"cannot read the ledger {path}: {error.strerror}; `attest export` writes one"
        ) from None
    except (ValueError, RecursionError) as error:
        raise LedgerError(
            f"the ledger {path} is damaged ({error}); write it anew with `attest export`"
        ) from None
    if not isinstance(records, list) or not records:
        raise LedgerError(f"the ledger {path} should be a list of records and not empty")
    return records


def parse(records: list[Any], name: str, changed: Iterable[str] = ()) -> Ledger:
    """The ledger of raw records; ``name`` stands for their file in messages. Raises LedgerError."""
    return Ledger((_claim(record, f"{name}: record {i}") for i, record in enumerate(records, 1)), changed)
