"""What engines find about a statement, and how findings about parts become one about the whole.

A finding is never typed: ``holds`` follows from evidence. A symbolic proof or two independent numerical legs
make it True, an exact counterexample makes it False, anything else leaves it None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from checks.evidence import Evidence, Mutants


class Inconsistent(RuntimeError):
    """Two legs contradict each other: one of the engines is wrong, and no verdict may be given."""


@dataclass
class Finding:
    """What the engines found about one statement.

    Of a statement with parts, ``unproved_parts`` counts those without a proof; ``open_legs`` are the legs
    that each part still open has passed (None if there is none), the first ``own`` pieces of evidence belong
    to the parts, and ``failing`` has the numbers of the parts that fail.
    """

    evidence: list[Evidence] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    counterexample: str | None = None
    mutants: Mutants = field(default_factory=Mutants)
    unproved_parts: int | None = None
    open_legs: frozenset[str] | None = None
    own: int = 0
    failing: list[int] = field(default_factory=list)

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
        """The legs that speak for the whole statement; shapes and definedness are none, nor is one
        part's leg.
        """
        if self.open_legs is None:
            return _legs(self.evidence)
        return self.open_legs | _legs(self.evidence[self.own :])

    def copy(self) -> Finding:
        """The same finding with lists of its own."""
        mutants = replace(self.mutants, survivors=list(self.mutants.survivors))
        return replace(
            self,
            evidence=list(self.evidence),
            steps=[dict(step) for step in self.steps],
            mutants=mutants,
            failing=list(self.failing),
        )

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


def conjunction(parts: Iterable[tuple[str, Finding]]) -> Finding:
    """The finding about all parts together, each with its label.

    What is not proved of a part counts only as far as every part that is open has it: a leg of one part says
    nothing about another. Without parts nothing was said, so nothing is proved.
    """
    whole, unproved, count = Finding(), 0, 0
    for label, finding in parts:
        count += 1
        unproved += not finding.proved
        if finding.holds is False:
            whole.failing.append(count - 1)
        if finding.holds is None:
            passed = finding.legs()
            whole.open_legs = passed if whole.open_legs is None else whole.open_legs & passed
        whole.merge(finding, label)
    whole.own = len(whole.evidence)
    whole.unproved_parts = unproved if count else None
    return whole
