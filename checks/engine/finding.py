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

    ``declared`` is what each leg that a claim declares says of it. Of a statement with parts, ``part`` is the
    letter of one, ``unproved_parts`` counts those without a proof, ``open_parts`` are the legs that each part
    still open has passed, with its letter, ``settled`` the letters of those that are proved, and ``failing``
    the numbers of those that fail.
    """

    evidence: list[Evidence] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    counterexample: str | None = None
    mutants: Mutants = field(default_factory=Mutants)
    unproved_parts: int | None = None
    open_parts: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    settled: frozenset[str] = frozenset()
    failing: list[int] = field(default_factory=list)
    declared: list[list[Evidence]] = field(default_factory=list)
    part: str = ""

    @property
    def beside(self) -> list[Evidence]:
        """What the legs that the claim declares say, one after the other."""
        return [e for leg in self.declared for e in leg]

    @property
    def proved(self) -> bool:
        """Whether symbolic derivations settle every part."""
        if self.unproved_parts is not None:
            return self.unproved_parts == 0
        return any(e.settles and e.passed for e in self.evidence)

    @property
    def holds(self) -> bool | None:
        """True, False or not settled. Raises Inconsistent where a proof meets a counterexample."""
        failed = [e for e in (*self.evidence, *self.beside) if e.passed is False]
        against = [e for e in failed if self.proved or (e in self.beside and e.part in self.settled)]
        if against:
            failing = "; ".join(f"{e.leg} ({e.grade}): {e.detail}" for e in against)
            raise Inconsistent(f"proved, and yet a leg fails: {failing}")
        if failed:
            return False
        if self.proved:
            return True
        return True if all(map(_two, self._open())) else None

    def legs(self) -> frozenset[str]:
        """The kinds of leg that speak for the whole statement; shapes and definedness are none, nor is one
        part's leg.
        """
        return frozenset.intersection(*(frozenset().union(*voices) for voices in self._open()))

    def _open(self) -> list[list[frozenset[str]]]:
        """Who speaks for each open part, by the kinds of leg: the engine once a kind, and each leg that the
        claim declares once, where it was seen to reject a wrong version by more than a chosen tolerance.
        """
        own = self.open_parts or [(self.part, _legs(self.evidence))]
        heard = [[e for e in leg if e.wrong and e.grade != "compared"] for leg in self.declared]
        return [
            [frozenset({kind}) for kind in legs]
            + [_legs(e for e in leg if e.part in ("", part)) for leg in heard]
            for part, legs in own
        ]

    def __repr__(self) -> str:
        try:
            parts = (self._word(), self.counterexample, *self._missing())
        except Inconsistent as error:
            parts = (str(error),)
        return f"Finding({'; '.join(part for part in parts if part)})"

    def _word(self) -> str:
        return {True: "holds", False: "does not hold", None: "is not settled"}[self.holds]

    def _missing(self) -> list[str]:
        """What is open of a statement that is not settled."""
        open_ = [e.detail or e.not_run for e in (*self.evidence, *self.beside) if e.passed is None]
        return [f"open: {detail}" for detail in open_ if self.holds is None]

    def _repr_markdown_(self) -> str:
        """For notebooks: what was found, on what it fails or what is missing, and the steps."""
        parts = [f"The statement **{self._word()}**.", self.counterexample and f"> {self.counterexample}"]
        parts += [f"- {words}" for words in self._missing()]
        parts += [f"**{s['title']}.** {s['reason']}\n\n$$ {s['latex']} $$" for s in self.steps]
        return "\n\n".join(part for part in parts if part)

    def copy(self) -> Finding:
        """The same finding with lists of its own."""
        mutants = replace(self.mutants, survivors=list(self.mutants.survivors))
        return replace(
            self,
            evidence=list(self.evidence),
            declared=[list(leg) for leg in self.declared],
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


def refutation(counterexample: str) -> Finding:
    """What is found of a statement that an exact counterexample, in words, refutes."""
    exact = Evidence("exact", "exact-rational", False, "an exact counterexample")
    return Finding([exact], counterexample=counterexample)


def _legs(evidence: Iterable[Evidence]) -> frozenset[str]:
    return frozenset(e.leg for e in evidence if e.passed and (e.settles or e.leg != "derivation"))


def _two(voices: list[frozenset[str]]) -> bool:
    """Whether two of them speak, and not as one kind: what one leg finds twice, in two ways, it shares."""
    return len([v for v in voices if v]) >= 2 and len(frozenset().union(*voices)) >= 2


def conjunction(parts: Iterable[tuple[str, Finding]]) -> Finding:
    """The finding about all parts together, each with its label.

    A leg of one part says nothing about another. Without parts nothing was said, so nothing is proved.
    """
    whole, found = Finding(), list(parts)
    for number, (label, finding) in enumerate(found):
        if finding.holds is False:
            whole.failing.append(number)
        if finding.holds is None:
            whole.open_parts.append((finding.part, finding.legs()))
        whole.merge(finding, label)
    whole.settled = frozenset(f.part for _, f in found if f.part and f.proved)
    whole.unproved_parts = sum(not f.proved for _, f in found) if found else None
    return whole
