"""What follows for a claim from the verdicts on others: what weakens it, what inherits its failure, its
severity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from checks.claim import CLAIMS
from checks.engine.verdict import FAILED, SEVERITIES
from checks.evidence import Record


def link(
    records: list[Record],
    recorded: Mapping[str, str] | None = None,
    parents: Mapping[str, Iterable[str]] | None = None,
) -> list[Record]:
    """Say on each record which failing claims it rests on, directly or through others, and which that rest on
    it fail too.

    ``recorded`` has the verdicts of claims that are not among the records, ``parents`` what each claim rests
    on (those that have been imported, where it is not given).
    """
    verdicts = {**(recorded or {}), **{r.id: r.verdict for r in records}}
    known = parents or {id: claim.rests_on for id, claim in CLAIMS.items()}
    parents = {id: tuple(below) for id, below in known.items() if id in verdicts}
    parents |= {r.id: tuple(r.rests_on) for r in records}

    def weak(id: str, seen: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for parent in parents.get(id, ()):
            if parent in seen or parent not in verdicts:
                continue
            if verdicts[parent] in FAILED:
                found.add(parent)
            found |= weak(parent, seen | {parent})
        return found

    for record in records:
        record.weakened_by = sorted(weak(record.id, frozenset([record.id])))
        record.inherited_by = heirs(record.id, parents, verdicts)
        record.severity = gravest(record)
    return records


def around(ids: Iterable[str], parents: Mapping[str, Iterable[str]]) -> set[str]:
    """The other claims whose verdicts count for some: what they rest on, directly or through others, and what
    rests on them.
    """
    own, todo, found = {*ids}, [*ids], set[str]()
    while todo:
        new = {*parents.get(todo.pop(), ())} - found
        found |= new
        todo += new
    return (found | {heir for heir, below in parents.items() if own & {*below}}) - own


def heirs(id: str, parents: Mapping[str, Iterable[str]], verdicts: Mapping[str, str]) -> list[str]:
    """The claims that rest on a failing one and fail too."""
    if verdicts.get(id) not in FAILED:
        return []
    below = {heir for heir, rests in parents.items() if id in rests and heir != id}
    return sorted(heir for heir in below if verdicts.get(heir) in FAILED)


def gravest(record: Record) -> str | None:
    """The severity of a record: of substance where something inherits the failure, or that of its
    gravest part.
    """
    if record.verdict not in FAILED:
        return None
    if record.inherited_by:
        return "substance"
    return max((f["severity"] for f in record.failures), key=SEVERITIES.index, default=None)
