"""``attest show``: one claim, with everything that its record holds."""

from __future__ import annotations

import argparse
from typing import Any

from rich.markup import escape

from checks.commands.console import COLOURS, OUT, print_table
from checks.commands.judging import cache_of, judged
from checks.commands.options import add_options, run_options
from checks.evidence import Evidence, finding, instead
from checks.kernel.rocq import library_hash
from checks.run import catalogue, ledger, proofs
from derivations.calculus.unicode import unicode_math

WIDE = 120
"""Columns that the table of evidence needs."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the claim and how to print it."""
    parser.add_argument("id")
    parser.add_argument("--latex", action="store_true", help="formulas as LaTeX instead of Unicode")
    add_options(parser)


def run(a: argparse.Namespace) -> int:
    """Prints the record of one claim; 0."""
    record = judged([catalogue.one(a.id, cache_of(a))], a)[0]
    # read before a line is printed: a damaged file would end the command in the middle
    proved, stale = proofs.of_record(record, library_hash()) if proofs.recorded().exists() else (None, "")
    maths = (lambda s: s) if a.latex else unicode_math

    def head(text: str) -> None:
        OUT.print(f"\n[bold]{text}[/]")

    def formula(text: str) -> None:
        for line in maths(text).splitlines():
            OUT.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)

    OUT.print(f"[bold]{escape(record.id)}[/]  {escape(record.reference)}: {escape(record.title)}")
    severity = f", severity {record.severity}" if record.severity else ""
    graded = f", {proved.grade}" if proved and proved.grade and not stale else ""
    OUT.print(f"verdict: [{COLOURS[record.verdict]}]{record.verdict}[/]{severity}{graded}")
    if record.place:
        head(f"In the paper ({record.place})")
    for line in record.printed:
        formula(line)
    head("Statement as printed" if record.corrected else "Statement")
    OUT.print(f"  {record.words}", markup=False)
    formula(record.statement.get("latex", ""))
    if record.where:
        OUT.print(f"  {unicode_math(record.where)}", markup=False, highlight=False)
    if record.counterexample:
        head("What fails")
        OUT.print(f"  {record.counterexample}", markup=False, highlight=False)
        for failure in record.failures:
            if len(record.failures) > 1:
                formula(failure["latex"])
            alone = "" if failure["severity"] == record.severity else " by its repair alone"
            OUT.print(f"  {failure['severity']}{alone}: {failure['because']}", markup=False, highlight=False)
    if record.inherited_by:
        head("Rests on it and fails too, for this reason or another")
        OUT.print(f"  {', '.join(record.inherited_by)}", markup=False, highlight=False)
    if record.corrected:
        head("Corrected" if record.verdict == "corrected" else instead(record.verdict))
        OUT.print(f"  {record.corrected['words']}", markup=False)
        formula(record.corrected["latex"])
    if record.assumed:
        head("Assumptions")
        for assumption in record.assumed:
            knob = f"   (knob {assumption['knob']} = {assumption['value']})" if assumption["knob"] else ""
            OUT.print(f"  {assumption['name']}: {assumption['words']}{knob}", markup=False, highlight=False)
    related = {*record.rests_on, *record.weakened_by}
    kept = catalogue.verdicts(related, run_options(a), cache_of(a)) if related else {}
    if record.rests_on:
        head("Rests on")
        _verdicts(record.rests_on, kept)
    if record.weakened_by:
        head("Weakened by what is not right as printed")
        _verdicts(record.weakened_by, kept)
    if record.steps:
        head("Derivation")
    for n, step in enumerate(record.steps, 1):
        mark = {True: "✓", False: "✗", None: "·"}[step["passed"]]
        OUT.print(f"  {n}. {mark} {step['title']}: {step['reason']}", markup=False, highlight=False)
        formula(step["latex"])
    if record.evidence:
        _evidence(record.evidence)
    if record.mutants.tried:
        m = record.mutants
        head("Mutants")
        OUT.print(
            f"  {m.tried} tried, {m.killed} rejected, {m.equivalent} say the same thing, {len(m.survivors)} "
            "survive"
        )
        for text in m.survivors:
            OUT.print(f"  survives: {maths(text)}", markup=False, highlight=False, soft_wrap=True)
    if record.added:
        head("Added to decide it")
        OUT.print(f"  {unicode_math(record.added)}", markup=False)
    if record.reading:
        head("Read without sight of this record")
        OUT.print(f"  {record.reading['paper']}", markup=False)
        OUT.print(f"  compared: {_compared(record.reading)}", markup=False)
    if record.notes:
        head("Notes")
        OUT.print(f"  {unicode_math(record.notes)}", markup=False)
    if proved:
        head("Rocq")
        OUT.print(f"  {stale or _proved(proved)}", markup=False, highlight=False)
    engines = f"   decided by: {', '.join(record.engines)}" if record.engines else ""
    OUT.print(f"\nsource: {record.source}{engines}   run again: {record.command}", style="dim", markup=False)
    return 0


def _verdicts(ids: list[str], kept: dict[str, str]) -> None:
    """Claims with their verdicts: as they were judged where nothing has changed since, else as recorded."""
    recorded = ledger.expected()
    for id in ids:
        found, said = (kept[id], "judged") if id in kept else (recorded.get(id, ""), "recorded as")
        state = f"{said} [{COLOURS[found]}]{found}[/]" if found else "not recorded"
        OUT.print(f"  {escape(id)}  {state}")


def _compared(reading: dict[str, Any]) -> str:
    if reading["stale"] is None:
        return "the claim was not judged this time: nothing to compare with"
    return "stale: the statement has changed since" if reading["stale"] else str(reading["outcome"])


def _proved(found: proofs.ClaimProofs) -> str:
    """How many theorems are checked, and of what there are none."""
    every = list(found.proofs())
    good = sum(p.outcome == "checked" for p in every)
    why = "; ".join(dict.fromkeys(w for part in found.parts if not part.settled for w in part.missing))
    said = f"{good} of {len(every)} theorems checked" if every else "no theorems"
    return f"{said}{f'; not covered: {why}' if why else ''}"


def _evidence(evidence: list[Evidence]) -> None:
    OUT.print("\n[bold]Evidence[/]")
    headings = ["leg", "grade", "result", "error", "bound", "tokens", "dtype", "on", "seconds", "detail"]
    named = any(e.part for e in evidence)
    rows = [([escape(e.part)] if named else []) + _cells(e) for e in evidence]
    print_table((["part"] if named else []) + headings, rows, WIDE, breaks=("detail",))


def _cells(e: Evidence) -> list[str]:
    result = "not run" if e.not_run else {True: "passed", False: "failed", None: "settles nothing"}[e.passed]
    numbers = [f"{x:.1e}" if x is not None else "" for x in (e.error, e.bound)]
    where = " ".join(x for x in (e.device, e.backend) if x)
    ran = [str(e.tokens or ""), escape(e.dtype or ""), escape(where)]
    seconds = f"{e.seconds:.2f}" if e.seconds is not None else ""
    return [
        e.leg,
        e.grade,
        result,
        *numbers,
        *ran,
        seconds,
        escape(e.not_run or finding(e.detail, e.wrong, e.not_rejected)),
    ]
