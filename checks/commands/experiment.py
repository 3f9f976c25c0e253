"""``attest experiment``: run an experiment of a paper, or list them."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from pathlib import Path

from rich.markup import escape

from checks.audit import OWN, current
from checks.commands.console import ERR, OUT, print_table, watched
from checks.commands.options import require_seed
from checks.commands.stopping import Terminated
from checks.experiments.errors import ExperimentError
from checks.run.store import require_writable

WIDE = 80
"""Columns that the table needs."""


def arguments(p: argparse.ArgumentParser) -> None:
    """Adds the experiment and its size."""
    p.description = (
        "Runs an experiment at reduced size, in minutes on two processor cores, or at full size. "
        "A run that was stopped goes on where it was when the same command is given again."
    )
    p.add_argument("id", nargs="?", metavar="ID", help="such as wang2024/fig3; see --list")
    p.add_argument("--list", action="store_true", help="the experiments, with the time they take")
    p.add_argument("--full", action="store_true", help="the full size instead of the reduced one")
    p.add_argument("--seeds", type=int, metavar="N", help="how many random initialisations")
    p.add_argument("--seed", type=int, default=0, help="of data and initialisations (default 0)")
    p.add_argument(
        "--data", type=Path, metavar="PATH", help="a file or folder of data, for an experiment that reads one"
    )
    p.add_argument("--out", type=Path, metavar="FILE", help="the result (default build/experiments/ID.json)")


def run(a: argparse.Namespace) -> int:
    """Runs or lists; 0, 130 where interrupted, 143 where terminated. Raises ExperimentError or BadInput."""
    from checks.experiments import experiment as runner
    from checks.experiments.registry import EXPERIMENTS

    if current().package != OWN:
        raise ExperimentError("experiments are those of the four papers; leave out --package")
    if a.list:
        _list()
        return 0
    if a.id is None:
        raise ExperimentError("name an experiment, such as wang2024/fig3; --list shows them all")
    if a.id not in EXPERIMENTS:
        near = get_close_matches(a.id, EXPERIMENTS, 3)
        hint = f"did you mean {', '.join(near)}?" if near else "--list shows them all"
        raise ExperimentError(f"no experiment '{a.id}'; {hint}")
    if a.seeds is not None and not 1 <= a.seeds <= 100:
        raise ExperimentError(f"--seeds {a.seeds} is out of range; allowed: 1 to 100")
    require_seed(a.seed)
    out = a.out or Path("build/experiments") / f"{a.id}.json"
    if out.is_dir():
        raise ExperimentError(f"{out} is a folder; --out names a file")
    try:
        require_writable(out)  # before hours of work
    except OSError as error:
        raise ExperimentError(f"cannot write {out}: {error.strerror}") from None
    chosen = EXPERIMENTS[a.id]
    settings = chosen.settings(a.full, a.seeds, a.data)
    total = sum(part.steps for part in chosen.parts(settings, a.seed))
    with watched(30) as bar:  # it may take hours
        task = bar.add_task(a.id, total=total)
        try:
            result = runner.run(
                chosen,
                settings,
                a.seed,
                a.full,
                lambda name, steps: bar.update(task, advance=steps, description=name),
            )
        except KeyboardInterrupt as stop:
            bar.stop()
            terminated = isinstance(stop, Terminated)
            how = "terminated" if terminated else "interrupted"
            ERR.print(f"attest: {how}; the same command goes on from here")
            return 143 if terminated else 130
    runner.write(out, result)
    for line in chosen.summary(result["data"]):
        OUT.print(line, markup=False, highlight=False)
    full = (
        ""
        if result["full_time_is"] == "measured"
        else f", the full size about {_time(result['full_cpu_seconds'])}"
    )
    OUT.print(
        f"{result['size']} size, {_time(result['cpu_seconds'])} of processor time{full}; written to {out}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    return 0


def _list() -> None:
    from checks.experiments import experiment as runner
    from checks.experiments.registry import EXPERIMENTS

    rows = []
    for id, chosen in EXPERIMENTS.items():
        if runner.committed(id).exists():
            result = runner.read(runner.committed(id))
            recorded = f"{result['size']}, {_time(result['cpu_seconds'])}"
            full = f"{_time(result['full_cpu_seconds'])} ({result['full_time_is']})"
        else:
            recorded, full = "not recorded", ""
        rows.append((id, recorded, full, escape(chosen.title)))
    print_table(("experiment", "recorded", "full size", "title"), rows, WIDE, breaks=("title",))


def _time(seconds: float) -> str:
    """Seconds in the unit that a reader would use."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
