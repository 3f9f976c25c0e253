"""``attest list``: claims with the verdicts that are recorded."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.markup import escape

from checks.audit import current
from checks.commands.console import COLOURS, OUT, print_table
from checks.commands.options import BadInput
from checks.engine.verdict import SEVERITIES, VERDICTS
from checks.kernel.rocq import library_hash
from checks.run import catalogue, ledger, proofs
from checks.run.cache import Cache
from checks.run.registry import UnknownClaim, load, nearest

WIDE = 80
"""Columns that the table needs."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the filters."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims or papers (default: all)")
    parser.add_argument("--paper", choices=[p.key for p in current().papers])
    parser.add_argument("--verdict", choices=VERDICTS)
    parser.add_argument("--kind", help="statement kind, such as Identity or Implication")
    parser.add_argument("--severity", choices=SEVERITIES)
    parser.add_argument("--grade", choices=[proofs.GRADE], help="claims that are theorems for Rocq")


def run(a: argparse.Namespace) -> int:
    """Prints a table; 0."""
    verdicts, severities = ledger.expected(), ledger.severities()
    entries = catalogue.entries(Cache())
    wanted = [e for e in _named(entries, a.ids) if not a.paper or e.paper == a.paper]
    wanted = [e for e in wanted if not a.verdict or verdicts.get(e.id) == a.verdict]
    if a.severity:
        wanted = [e for e in wanted if severities.get(e.id) == a.severity]
    if a.grade:
        stale = proofs.outdated(library_hash())
        graded = set() if stale else set(proofs.read().graded())
        wanted = [e for e in wanted if e.id in graded]
    if a.kind is not None:
        wanted = list(_of_kind(wanted, a.kind))
    rows = [_row(e, verdicts.get(e.id, "not recorded")) for e in wanted]
    print_table(("claim", "recorded", "reference", "title"), rows, WIDE, breaks=("reference", "title"))
    words = f"verdicts as recorded in {ledger.table().name}; `{current().command} verify` judges them"
    if a.grade:  # of the statements as they were then: those that have changed since are not looked for here
        recorded = proofs.recorded().name
        words += f"; theorems as recorded in {recorded}; `{current().command} prove` checks them"
        words += f" (stale: {stale})" if stale else ""
    OUT.print(f"{len(wanted)} claims; {words}", style="dim")
    return 0


def _named(entries: list[catalogue.Entry], ids: list[str]) -> list[catalogue.Entry]:
    """The claims of these ids and papers, or all. Raises UnknownClaim."""
    chosen = {id.rstrip("/") for id in ids}
    if unknown := sorted(chosen - {e.id for e in entries} - {e.paper for e in entries}):
        raise UnknownClaim(nearest(unknown[0], [e.id for e in entries]))
    return [e for e in entries if not chosen or {e.id, e.paper} & chosen]


def _row(e: catalogue.Entry, verdict: str) -> tuple[str, ...]:
    return (
        escape(e.id),
        f"[{COLOURS.get(verdict, 'white')}]{verdict}[/]",
        escape(e.reference),
        escape(e.title),
    )


def _of_kind(wanted: list[catalogue.Entry], name: str) -> Iterable[catalogue.Entry]:
    from checks.claim import built
    from checks.engine.judge import ENGINES
    from checks.run.verify import assumptions_for
    from checks.statement import kind

    claims, kinds = load(), sorted(k.__name__ for k in ENGINES)
    if not name or not any(name.lower() in known.lower() for known in kinds):
        raise BadInput(f"no statement is of a kind {name!r}; kinds are {', '.join(kinds)}")
    for entry in wanted:
        claim = claims[entry.id]
        if claim.literal and name.lower() in kind(built(claim.literal, assumptions_for(claim, {}))).lower():
            yield entry
