"""``attest derive``: a theory's derivation under changed assumptions, and the verdicts that change."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from checks.commands.console import COLOURS, OUT
from checks.commands.judging import cache_of, changed
from checks.commands.options import add_options, run_options
from checks.run import catalogue
from checks.run.bounded import SECONDS, derivation
from checks.run.cache import unjudged
from checks.run.theories import theories, theory
from checks.run.verify import why
from derivations.calculus.unicode import unicode_math
from derivations.theories.theory import Theory, load_settings, parse_settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the theory and its knobs."""
    parser.add_argument("theory", help=", ".join(theories()) or "none")
    parser.add_argument("--set", action="append", default=[], metavar="KNOB=VALUE")
    parser.add_argument(
        "--assumptions", type=Path, metavar="FILE", help="TOML file with a table of knobs for the theory"
    )
    parser.add_argument("--latex", action="store_true", help="formulas as LaTeX instead of Unicode")
    parser.add_argument("--knobs", action="store_true", help="only list the knobs with their values")
    add_options(parser)


def run(a: argparse.Namespace) -> int:
    """Prints the derivation, then what changes; 0."""
    chosen = theory(a.theory)
    if a.knobs:
        for knob in chosen.knobs:
            OUT.print(
                f"[bold]{knob.name}[/] = {getattr(chosen.defaults, knob.name)}\n  {knob.meaning}\n  allowed: "
                f"{', '.join(knob.allowed)}"
            )
        return 0
    run_options(a)  # unusable ones end here, before any work
    settings: dict[str, Any] = load_settings(a.assumptions, chosen.name) if a.assumptions else {}
    settings |= parse_settings(a.set, chosen.name)
    started = time.process_time()
    with derivation():
        assumptions = chosen.assumptions(settings)
        before = {s.title: s.latex for s in chosen.derive(chosen.defaults)}
        after = chosen.derive(assumptions)
    maths = (lambda s: s) if a.latex else unicode_math
    for n, step in enumerate(after, 1):
        new = settings and before.get(step.title) != step.latex
        mark = " [yellow](changed)[/]" if new else ""
        OUT.print(f"\n{n}. [bold]{escape(step.title)}[/]{mark}: {escape(step.reason)}")
        for line in maths(step.latex).splitlines():
            OUT.print(f"    {line}", markup=False, highlight=False, soft_wrap=True)
    left = SECONDS - (time.process_time() - started)
    return _changes(a, chosen, assumptions, left) if settings else 0


def _changes(a: argparse.Namespace, chosen: Theory, assumptions: Any, seconds: float) -> int:
    """The claims of a theory whose verdict changes under the assumptions, as far as that is found in time."""
    ids = [e.id for e in catalogue.entries(cache_of(a)) if e.theory == chosen.name]
    if not ids:
        return 0
    found = changed(ids, a, {chosen.name: assumptions}, seconds)
    rows = [(old, new) for old, new in found if old.verdict != new.verdict]
    OUT.print(f"\n[bold]{len(rows)} of {len(ids)} claims change verdict[/]")
    shown = Table(box=None, pad_edge=False)
    for heading in ("claim", "before", "after", "why"):
        shown.add_column(heading)
    for old, new in rows:
        verdict = f"[{COLOURS[new.verdict]}]{new.verdict}[/]"
        shown.add_row(escape(new.id), old.verdict, verdict, escape(why(new)[:160]))
    OUT.print(shown)
    if ended := sum(unjudged(new) for _, new in found):
        OUT.print(f"{ended} of {len(ids)} claims are not judged in time: --limit SECONDS gives each as many")
    return 0
