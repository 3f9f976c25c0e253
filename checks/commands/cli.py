"""The command line ``attest``. Exit status: 0 as expected, 1 a verdict differs, 2 unusable input."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, NoReturn

from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from checks.claim import Options
from checks.commands import experiment as experiment_command
from checks.commands import measure
from checks.commands.console import ERR, OUT, progress_bar
from checks.engine.printing import unicode_math
from checks.engine.verdict import VERDICTS
from checks.evidence import Evidence, Record
from checks.experiments.errors import ExperimentError
from checks.run import ledger, lengths
from checks.run.ablation import ablate
from checks.run.ledger import BadLedger
from checks.run.registry import PAPERS, UnknownClaim, select
from checks.run.theories import THEORIES, theory
from checks.run.verify import Cache, DamagedCache, assumptions_for, link, verify
from checks.tensors.core.errors import TensorError
from derivations.theories.theory import BadAssumption, load_settings, parse_settings

COLOURS = {
    "proved": "green",
    "confirmed": "green",
    "corrected": "yellow",
    "refuted": "red",
    "definition": "cyan",
    "empirical": "blue",
    "unsettled": "magenta",
    "inconsistent": "bold red",
}
DTYPES = ("float64", "float32", "bfloat16")


class BadInput(Exception):
    """Unusable input; the message is one line that says what is wrong and what is allowed."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        arguments = _parser().parse_args(argv)
        return arguments.run(arguments)
    except (
        BadInput,
        UnknownClaim,
        BadAssumption,
        BadLedger,
        DamagedCache,
        TensorError,
        ExperimentError,
    ) as error:
        _complain(str(error))
        return 2
    except BrokenProcessPool:
        _complain("a worker process was killed; finished claims are cached: run again, with fewer --workers")
        return 2
    except KeyboardInterrupt:
        ERR.print("attest: interrupted; finished claims are cached")
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _complain(words: str) -> None:
    """One line on standard error, whatever the words contain."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(words.split()))
    ERR.print(f"attest: {line}", style="red", markup=False, emoji=False, highlight=False, soft_wrap=True)


class _Parser(argparse.ArgumentParser):
    """argparse with its complaints as ``BadInput``: one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="attest", description="Verdicts on the mathematics of attention, claim by claim.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    p = commands.add_parser("list", help="claims with their verdicts")
    p.add_argument("--paper", choices=sorted(PAPERS))
    p.add_argument("--verdict", choices=VERDICTS)
    p.add_argument("--kind", help="statement kind, such as Identity or Implication")
    p.add_argument("--severity", choices=("misprint", "condition", "substance"))
    p.set_defaults(run=_list)

    p = commands.add_parser(
        "show", help="one claim: statement, assumptions, derivation, evidence, counterexample"
    )
    p.add_argument("id")
    p.add_argument("--latex", action="store_true", help="formulas as LaTeX instead of Unicode")
    _options(p)
    p.set_defaults(run=_show)

    p = commands.add_parser("verify", help="judge claims and compare with the recorded verdicts")
    p.add_argument("ids", nargs="*", metavar="ID", help="claims or papers (default: all)")
    p.add_argument(
        "--json", action="store_true", help="records as JSON on standard output instead of a table"
    )
    p.add_argument("--accept", action="store_true", help="record the verdicts found as the expected ones")
    _options(p)
    p.set_defaults(run=_verify)

    p = commands.add_parser(
        "derive", help="a theory's derivation under changed assumptions, and the verdicts that change"
    )
    p.add_argument("theory", help=", ".join(THEORIES))
    p.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE")
    p.add_argument(
        "--assumptions", type=Path, metavar="FILE", help="TOML file with a table of knobs for the theory"
    )
    p.add_argument("--latex", action="store_true", help="formulas as LaTeX instead of Unicode")
    p.add_argument("--knobs", action="store_true", help="only list the knobs with their values")
    _options(p)
    p.set_defaults(run=_derive)

    p = commands.add_parser("ablate", help="drop each assumption of a claim in turn")
    p.add_argument("id")
    p.set_defaults(run=_ablate)

    p = commands.add_parser("export", help="write the ledger as JSON")
    p.add_argument("file", type=Path)
    _options(p)
    p.set_defaults(run=_export)

    measure.add_command(commands)
    experiment_command.add_command(commands)

    p = commands.add_parser("book", help="build the Jupyter Book from the ledger")
    p.add_argument("--out", type=Path, default=Path("build/book"))
    p.add_argument("--check", action="store_true", help="open every page in headless Chromium afterwards")
    p.add_argument("--pdf", action="store_true", help="also print the corrections to a PDF (needs Chromium)")
    p.add_argument("--set", action="append", default=[], metavar="THEORY.KNOB=VALUE")
    p.add_argument(
        "--assumptions", type=Path, metavar="FILE", help="TOML file with a table of knobs for each theory"
    )
    _options(p)
    p.set_defaults(run=_book)
    return parser


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-tokens", type=int, default=4096, help="longest sequence of tensor checks (default 4096)"
    )
    parser.add_argument("--dtype", default="float64", help=f"of tensor checks: {', '.join(DTYPES)}")
    parser.add_argument("--device", default="cpu", help="of tensor checks: cpu, cuda, cuda:0, …")
    parser.add_argument("--seed", type=int, default=0, help="of random instances (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def _run_options(a: argparse.Namespace) -> Options:
    """The options of a run. Raises BadInput for a value out of range or a device that is not there."""
    if a.dtype not in DTYPES:
        raise BadInput(f"no dtype '{a.dtype}'; allowed: {', '.join(DTYPES)}")
    if not 64 <= a.max_tokens <= 2**21:
        raise BadInput(f"--max-tokens {a.max_tokens} is out of range; allowed: 64 to {2**21}")
    if not 0 <= a.seed < 2**32:
        raise BadInput(f"--seed {a.seed} is out of range; allowed: 0 to {2**32 - 1}")
    if not 1 <= a.workers <= 64:
        raise BadInput(f"--workers {a.workers} is out of range; allowed: 1 to 64")
    if a.device != "cpu":
        _require_device(a.device)
    if a.max_tokens > Options.max_tokens:
        lengths.require_memory(a.max_tokens, a.device)
    return Options(a.max_tokens, a.dtype, a.device, a.seed)


def _require_device(name: str) -> None:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise BadInput(f"'{name}' is not a device; allowed: cpu, cuda, cuda:N") from None
    if (
        device.type != "cuda"
        or not torch.cuda.is_available()
        or (device.index or 0) >= torch.cuda.device_count()
    ):
        found = (
            f"cpu and {torch.cuda.device_count()} CUDA device(s)" if torch.cuda.is_available() else "cpu only"
        )
        raise BadInput(f"no device '{name}' on this machine; there is {found}")


def _records(
    ids: list[str], a: argparse.Namespace, settings: dict[str, Any] | None = None, quick: bool = False
) -> list[Record]:
    """Judge the claims with a progress bar; results in the order of declaration."""
    claims, options = select(ids), _run_options(a)
    cache = None if a.no_cache else Cache()
    found: dict[str, Record] = {}
    cached = 0
    with progress_bar() as bar:
        task = bar.add_task("judging", total=len(claims))
        climbing = _Climbing(bar)
        for record, stored in verify(
            claims, options, settings=settings, cache=cache, workers=a.workers, quick=quick, climbing=climbing
        ):
            found[record.id] = record
            cached += stored
            bar.update(task, advance=1, description=record.id)
    if cache is not None and cache.set_aside:
        shown = ", ".join(cache.set_aside[:3]) + (", …" if len(cache.set_aside) > 3 else "")
        ERR.print(
            f"judged again, because these cache entries are damaged: {shown}", highlight=False, markup=False
        )
    if cached and not quick:
        ERR.print(f"{cached} of {len(claims)} from the cache", style="dim")
    return link([found[c.id] for c in claims], ledger.expected())


class _Climbing:
    """Shows how far the tensor checks of a long run have come; without a terminal, a line every minute."""

    def __init__(self, bar: Progress) -> None:
        self.bar, self.task = bar, bar.add_task("climbing", total=100, visible=False)
        self.started = self.said = time.monotonic()

    def __call__(self, at: lengths.Progress | None) -> None:
        if at is None:
            self.bar.remove_task(self.task)
            return
        now, words = time.monotonic(), f"{at.tokens:,} tokens, {_duration(at.seconds_left)} left"
        share = (now - self.started) / (now - self.started + at.seconds_left + 1e-9)
        self.bar.update(self.task, description=words, completed=round(100 * share), visible=True)
        if self.bar.disable and now - self.said > 60:
            self.said = now
            ERR.print(f"{at.done} of {at.parts} tensor checks; {words}", style="dim", highlight=False)


def _duration(seconds: float) -> str:
    """To the precision that a forecast has."""
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _list(a: argparse.Namespace) -> int:
    table = ledger.expected()
    shown = Table(box=None, pad_edge=False)
    for heading in ("claim", "reference", "verdict", "title"):
        shown.add_column(heading)
    wanted = [c for c in select([]) if (not a.paper or c.paper == a.paper)]
    wanted = [c for c in wanted if not a.verdict or table.get(c.id) == a.verdict]
    if a.severity:
        severities = ledger.severities()
        wanted = [c for c in wanted if severities.get(c.id) == a.severity]
    if a.kind:
        wanted = [c for c in wanted if a.kind.lower() in _kind(c).lower()]
    for c in wanted:
        verdict = table.get(c.id, "not recorded")
        coloured = f"[{COLOURS.get(verdict, 'white')}]{verdict}[/]"
        shown.add_row(c.id, escape(c.reference), coloured, escape(c.title))
    OUT.print(shown)
    OUT.print(f"{len(wanted)} claims", style="dim")
    return 0


def _kind(claim: Any) -> str:
    from checks.statement import kind

    if claim.literal is None:
        return ""
    return kind(claim.literal(assumptions_for(claim, {})))


def _verify(a: argparse.Namespace) -> int:
    records = _records(a.ids, a)
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
            f"{len(different)} verdicts differ from the recorded ones: {', '.join(r.id for r in different)}",
            style="bold red",
        )
    else:
        OUT.print("every verdict is the recorded one", style="green")


def _one(id: str) -> Any:
    """The single claim with this id. Raises UnknownClaim, also for a whole paper."""
    found = [c for c in select([id]) if c.id == id]
    if not found:
        raise UnknownClaim(f"'{id}' is a paper; name one claim, such as {select([id])[0].id}")
    return found[0]


def _show(a: argparse.Namespace) -> int:
    claim = _one(a.id)
    record = _records([claim.id], a)[0]
    maths = (lambda s: s) if a.latex else unicode_math

    def head(text: str) -> None:
        OUT.print(f"\n[bold]{text}[/]")

    def formula(text: str) -> None:
        for line in maths(text).splitlines():
            OUT.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)

    OUT.print(f"[bold]{record.id}[/]  {escape(record.reference)}: {escape(record.title)}")
    severity = f", severity {record.severity}" if record.severity else ""
    OUT.print(f"verdict: [{COLOURS[record.verdict]}]{record.verdict}[/]{severity}")
    head("Statement as printed" if record.corrected else "Statement")
    OUT.print(f"  {record.words}", markup=False)
    formula(record.statement.get("latex", ""))
    if record.counterexample:
        head("What fails")
        OUT.print(f"  {record.counterexample}", markup=False, highlight=False)
        for failure in record.failures:
            if len(record.failures) > 1:
                formula(failure["latex"])
            OUT.print(f"  {failure['severity']}: {failure['because']}", markup=False, highlight=False)
    if record.inherited_by:
        head("Fails with it")
        OUT.print(f"  {', '.join(record.inherited_by)}", markup=False, highlight=False)
    if record.corrected:
        head("Corrected")
        OUT.print(f"  {record.corrected['words']}", markup=False)
        formula(record.corrected["latex"])
    if claim.assumes:
        head("Assumptions")
        for assumption in claim.assumes:
            knob = (
                f"   (knob {claim.theory}.{assumption.knob} = {assumption.value})" if assumption.knob else ""
            )
            OUT.print(f"  {assumption.name}: {assumption.words}{knob}", markup=False, highlight=False)
    if record.rests_on:
        head("Rests on")
        recorded = ledger.expected()
        for parent in record.rests_on:
            verdict = recorded.get(parent, "not recorded")
            OUT.print(f"  {parent}  [{COLOURS.get(verdict, 'white')}]{verdict}[/]")
    if record.weakened_by:
        head("Weakened by what was not right as printed")
        OUT.print(f"  {', '.join(record.weakened_by)}", markup=False, highlight=False)
    head("Derivation")
    for n, step in enumerate(record.steps, 1):
        mark = {True: "✓", False: "✗", None: "·"}[step["passed"]]
        OUT.print(f"  {n}. {mark} {step['title']}: {step['reason']}", markup=False, highlight=False)
        formula(step["latex"])
    _evidence(record.evidence)
    if record.mutants.tried:
        m = record.mutants
        head("Mutants")
        OUT.print(
            f"  {m.tried} tried, {m.killed} rejected, {m.equivalent} say the same thing, {len(m.survivors)} survive"
        )
    if record.notes:
        head("Notes")
        OUT.print(f"  {unicode_math(record.notes)}", markup=False)
    OUT.print(f"\nsource: {record.source}   run again: {record.command}", style="dim")
    return 0


def _evidence(evidence: list[Evidence]) -> None:
    OUT.print("\n[bold]Evidence[/]")
    shown = Table(box=None, pad_edge=False)
    for heading in ("leg", "grade", "result", "error", "bound", "tokens", "dtype", "on", "seconds", "detail"):
        shown.add_column(heading, no_wrap=heading != "detail")
    for e in evidence:
        result = (
            "not run" if e.not_run else {True: "passed", False: "failed", None: "settles nothing"}[e.passed]
        )
        numbers = [f"{x:.1e}" if x is not None else "" for x in (e.error, e.bound)]
        where = " ".join(x for x in (e.device, e.backend) if x)
        shown.add_row(
            e.leg,
            e.grade,
            result,
            *numbers,
            str(e.tokens or ""),
            e.dtype or "",
            where,
            f"{e.seconds:.2f}" if e.seconds is not None else "",
            escape(e.not_run or e.detail),
        )
    OUT.print(shown)


def _derive(a: argparse.Namespace) -> int:
    chosen = theory(a.theory)
    if a.knobs:
        for knob in chosen.knobs:
            OUT.print(
                f"[bold]{knob.name}[/] = {getattr(chosen.defaults, knob.name)}\n  {knob.meaning}\n  allowed: {', '.join(knob.allowed)}"
            )
        return 0
    _run_options(a)  # unusable ones end here, before any work
    settings: dict[str, Any] = (
        load_settings(a.assumptions, chosen.name, required=True) if a.assumptions else {}
    )
    settings |= parse_settings(a.set, chosen.name)
    assumptions = chosen.assumptions(settings)
    before = {s.title: s.latex for s in chosen.derive(chosen.defaults)}
    maths = (lambda s: s) if a.latex else unicode_math
    for n, step in enumerate(chosen.derive(assumptions), 1):
        new = settings and before.get(step.title) != step.latex
        mark = " [yellow](changed)[/]" if new else ""
        OUT.print(f"\n{n}. [bold]{escape(step.title)}[/]{mark}: {escape(step.reason)}")
        for line in maths(step.latex).splitlines():
            OUT.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)
    return _changes(a, chosen, assumptions) if settings else 0


def _changes(a: argparse.Namespace, chosen: Any, assumptions: Any) -> int:
    """The claims of a theory whose verdict changes under the assumptions."""
    ids = [c.id for c in select([]) if c.theory == chosen.name]
    if not ids:
        return 0
    default = {r.id: r for r in _records(ids, a, quick=True)}
    changed = {r.id: r for r in _records(ids, a, {chosen.name: assumptions}, quick=True)}
    rows = [(default[i], changed[i]) for i in ids if default[i].verdict != changed[i].verdict]
    OUT.print(f"\n[bold]{len(rows)} of {len(ids)} claims change verdict[/]")
    shown = Table(box=None, pad_edge=False)
    for heading in ("claim", "before", "after", "why"):
        shown.add_column(heading)
    for old, new in rows:
        why = (
            new.counterexample
            or "; ".join(e.detail for e in new.evidence if e.passed is not True)
            or ("holds as printed" if new.literal_holds else new.notes)
        )
        shown.add_row(new.id, old.verdict, f"[{COLOURS[new.verdict]}]{new.verdict}[/]", escape(why[:160]))
    OUT.print(shown)
    return 0


def _ablate(a: argparse.Namespace) -> int:
    claim = _one(a.id)
    results = ablate(claim, assumptions_for(claim, {}))
    if not results:
        OUT.print(f"{claim.id} lists no assumption besides the claims it rests on")
        return 0
    shown = Table(box=None, pad_edge=False)
    for heading in ("assumption", "variant", "needed", "detail"):
        shown.add_column(heading)
    for r in results:
        needed = {True: "[green]yes[/]", False: "[yellow]redundant[/]", None: "not settled"}[r.needed]
        shown.add_row(escape(r.assumption), escape(r.variant), needed, escape(r.detail))
    OUT.print(shown)
    return 0


def _export(a: argparse.Namespace) -> int:
    records = _records([], a)
    try:
        ledger.write(a.file, records)
    except OSError as error:
        raise BadInput(f"cannot write {a.file}: {error.strerror}") from None
    OUT.print(f"{len(records)} records written to {a.file}")
    return 0


def _book(a: argparse.Namespace) -> int:
    try:
        from book.build import build
    except ImportError as error:
        raise BadInput(
            f"the book's tools are not installed ({error.name}); run make book, or pip install -e '.[book]'"
        ) from None
    settings = _book_settings(a)
    records = _records([], a)
    path = a.out / "ledger.json"
    ledger.write(path, records)
    options = _run_options(a)
    return build(
        path, a.out, settings=settings, options=options, workers=a.workers, browser_check=a.check, pdf=a.pdf
    )


def _book_settings(a: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The knobs of each theory that the book is to be built with. Raises BadAssumption."""
    settings: dict[str, dict[str, Any]] = {}
    for name, chosen in THEORIES.items():
        own = load_settings(a.assumptions, name) if a.assumptions else {}
        own |= parse_settings([p for p in a.set if p.strip().startswith(f"{name}.")], name)
        chosen.assumptions(own)  # unusable ones end here, before any work
        if own:
            settings[name] = own
    for pair in a.set:
        prefix, dot, _ = pair.partition("=")[0].strip().rpartition(".")
        if not dot or prefix not in THEORIES:
            raise BadAssumption(
                f"'{pair}' is not of the form theory.knob=value; theories: {', '.join(THEORIES)}"
            )
    return settings


if __name__ == "__main__":
    sys.exit(main())
