"""``attest verify``: judge claims and compare with the recorded verdicts."""

from __future__ import annotations

import argparse
import json

from rich.markup import escape

from checks.audit import current
from checks.commands.console import COLOURS, OUT, complain, print_json, print_table
from checks.commands.judging import cache_of, judged
from checks.commands.options import add_options
from checks.engine.verdict import VERDICTS
from checks.evidence import Record
from checks.run import catalogue, ledger, store
from checks.run.cache import unjudged
from derivations.calculus.unicode import unicode_math

WIDE = 140
"""Columns that the table of verdicts needs."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the claims and what to do with their records."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims or papers (default: all)")
    parser.add_argument(
        "--json", action="store_true", help="records as JSON on standard output instead of a table"
    )
    parser.add_argument(
        "--accept",
        action="store_true",
        help="record the verdicts found as the expected ones (none of a claim that could not be judged)",
    )
    add_options(parser)


def run(a: argparse.Namespace) -> int:
    """Judges, compares, and prints a table or JSON; 0 as recorded, else 1."""
    if a.accept:
        store.require_writable(ledger.table())
        ledger.begin()
    records = judged(a.ids, a)
    stopped = [r for r in records if unjudged(r)]
    if a.accept:
        declared = [e.id for e in catalogue.entries(cache_of(a))]
        ledger.accept([r for r in records if r not in stopped], declared)
        if stopped:
            complain(f"not accepted, because not judged: {', '.join(r.id for r in stopped)}")
    recorded, severities = ledger.expected(), ledger.severities()
    different = [
        r
        for r in records
        if r in stopped or (recorded.get(r.id), severities.get(r.id)) != (r.verdict, r.severity)
    ]
    if a.json:
        print_json(json.dumps([r.to_json() for r in records], indent=1, ensure_ascii=False))
    else:
        rows = [_row(r, recorded) for r in records]
        headings = ("claim", "verdict", "severity", "mutants", "legs", "seconds", "title")
        print_table(headings, rows, WIDE, right=("seconds",))
        _summary(records, different)
    return 1 if different else 0


def _row(r: Record, recorded: dict[str, str]) -> tuple[str, ...]:
    title = r.title if len(r.title) <= 44 or OUT.width < WIDE else r.title[:43] + "…"
    more = (r.severity or "", _mutants(r), _legs(r), f"{r.seconds:.1f}", escape(title))
    return escape(r.id), _verdict(r, recorded), *more


def _verdict(r: Record, recorded: dict[str, str]) -> str:
    mark = "" if recorded.get(r.id) == r.verdict else f" (recorded: {recorded.get(r.id, 'none')})"
    return f"[{COLOURS[r.verdict]}]{r.verdict}[/]{mark}"


def _mutants(r: Record) -> str:
    return f"{r.mutants.killed + r.mutants.equivalent}/{r.mutants.tried}" if r.mutants.tried else ""


def _legs(r: Record) -> str:
    missing = sum(e.not_run is not None for e in r.evidence)
    legs = " ".join(dict.fromkeys(e.leg for e in r.evidence if e.passed is not None))
    return legs + (f" ({missing} not run)" if missing else "")


def _summary(records: list[Record], different: list[Record]) -> None:
    counts = {v: sum(r.verdict == v for r in records) for v in VERDICTS}
    OUT.print(", ".join(f"[{COLOURS[v]}]{n} {v}[/]" for v, n in counts.items() if n))
    survivors = [r.id for r in records if r.mutants.survivors]
    if survivors:
        OUT.print(f"mutants survive in: {', '.join(survivors)}", style="bold red", markup=False)
        for line in (f"  {r.id}: {unicode_math(text)}" for r in records for text in r.mutants.survivors):
            OUT.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    if different:
        OUT.print(
            f"{len(different)} differ from the recorded verdict or severity: "
            f"{', '.join(r.id for r in different)}",
            style="bold red",
            markup=False,
        )
        OUT.print(f"what is found is recorded by `{current().command} verify --accept`", style="dim")
    else:
        OUT.print("every verdict is the recorded one", style="green")
