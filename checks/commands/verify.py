"""``attest verify``: judge claims and compare with the recorded verdicts."""

from __future__ import annotations

import argparse
import json

from rich.markup import escape
from rich.table import Table

from checks.commands.console import COLOURS, OUT
from checks.commands.judging import judged
from checks.commands.options import add_options
from checks.engine.verdict import VERDICTS
from checks.evidence import Record
from checks.run import ledger


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the claims and what to do with their records."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims or papers (default: all)")
    parser.add_argument(
        "--json", action="store_true", help="records as JSON on standard output instead of a table"
    )
    parser.add_argument(
        "--accept", action="store_true", help="record the verdicts found as the expected ones"
    )
    add_options(parser)


def run(a: argparse.Namespace) -> int:
    """Judges, compares, and prints a table or JSON; 0 as recorded, else 1."""
    records = judged(a.ids, a)
    if a.accept:
        ledger.accept(records)
    recorded, severities = ledger.expected(), ledger.severities()
    different = [r for r in records if (recorded.get(r.id), severities.get(r.id)) != (r.verdict, r.severity)]
    if a.json:
        print(json.dumps([r.to_json() for r in records], indent=1, ensure_ascii=False))
    else:
        _verdict_table(records, recorded)
        _summary(records, different)
    return 1 if different else 0


def _verdict_table(records: list[Record], recorded: dict[str, str]) -> None:
    shown = Table(box=None, pad_edge=False)
    for heading in ("claim", "verdict", "severity", "mutants", "legs", "seconds", "title"):
        shown.add_column(
            heading,
            justify="right" if heading == "seconds" else "left",
            no_wrap=True,
            min_width=10 if heading == "verdict" else None,
        )
    for r in records:
        mark = "" if recorded.get(r.id) == r.verdict else f" (recorded: {recorded.get(r.id, 'none')})"
        mutants = f"{r.mutants.killed + r.mutants.equivalent}/{r.mutants.tried}" if r.mutants.tried else ""
        legs = " ".join(dict.fromkeys(e.leg for e in r.evidence if e.passed is not None))
        missing = sum(e.not_run is not None for e in r.evidence)
        legs += f" ({missing} not run)" if missing else ""
        title = r.title if len(r.title) <= 44 else r.title[:43] + "…"
        verdict = f"[{COLOURS[r.verdict]}]{r.verdict}[/]{mark}"
        shown.add_row(r.id, verdict, r.severity or "", mutants, legs, f"{r.seconds:.1f}", escape(title))
    OUT.print(shown)


def _summary(records: list[Record], different: list[Record]) -> None:
    counts = {v: sum(r.verdict == v for r in records) for v in VERDICTS}
    OUT.print(", ".join(f"[{COLOURS[v]}]{n} {v}[/]" for v, n in counts.items() if n))
    survivors = [r.id for r in records if r.mutants.survivors]
    if survivors:
        OUT.print(f"mutants survive in: {', '.join(survivors)}", style="bold red")
    if different:
        OUT.print(
            f"{len(different)} differ from the recorded verdict or severity: "
            f"{', '.join(r.id for r in different)}",
            style="bold red",
        )
    else:
        OUT.print("every verdict is the recorded one", style="green")
