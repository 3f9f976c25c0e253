"""What the commands take, first and again, in wall and processor seconds and in starts of SymPy, in one run.

Run: python tests/benchmarks/bench_commands.py [--out checks/records/commands.json] [--quick]
The file keeps earlier runs, so that the book can show what changed; only the ratios of one run compare.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from checks.commands.options import cores
from checks.evidence import MEASURED, sealed, unsealed
from checks.run.scale import about
from checks.run.store import write_atomically

START = [sys.executable, "-c", "import sympy"]
ATTEST = [sys.executable, "-m", "checks.commands.cli"]
COMMANDS = {
    "list": ["list"],
    "show nguyen2023/thm1": ["show", "nguyen2023/thm1"],
    "derive svr --set loss=least_squares": ["derive", "svr", "--set", "loss=least_squares"],
    "derive energy --set F=log(cosh(u))": ["derive", "energy", "--set", "F=log(cosh(u))"],
    "verify": ["verify"],
}
"""Each is run twice: on an empty cache, and again; `show` and `verify` share none."""


def taken(command: list[str], cache: Path) -> dict[str, float]:
    """Wall and processor seconds of a command with its children. Raises CalledProcessError beyond exit
    status 1.
    """
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "ATTEST_CACHE": str(cache)}
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": time.perf_counter() - started, "cpu": used}


def measured(names: list[str]) -> list[dict[str, Any]]:
    """One row for each command and turn: seconds, and their ratio to a start of SymPy."""
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="attest-") as folder:
        taken(START, Path(folder))  # from disk the first time
        start = min(taken(START, Path(folder))["wall"] for _ in range(3))
        for name in names:
            cache = Path(folder) / str(len(rows))
            for turn in ("first", "again"):
                found = taken([*ATTEST, *COMMANDS[name]], cache)
                rows.append(
                    {"command": f"attest {name}", "turn": turn, **found, "starts": found["wall"] / start}
                )
                print(
                    f"{rows[-1]['command']:45} {turn:6} {found['wall']:7.2f} s  {found['cpu']:7.2f} s of "
                    "processor",
                    flush=True,
                )
    return rows


def main() -> int:
    """Measure, and add the run to the data file."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("checks/records/commands.json"))
    parser.add_argument("--quick", action="store_true", help="without `verify`")
    a = parser.parse_args()
    kept = unsealed(MEASURED, json.loads(a.out.read_text(encoding="utf-8"))) if a.out.exists() else {}
    runs = kept.get("runs", [])
    machine = {**about(torch.device("cpu"), 1), "cores": cores()}
    runs.append({**machine, "rows": measured([n for n in COMMANDS if not (a.quick and n == "verify")])})
    write_atomically(a.out, json.dumps(sealed(MEASURED, {"runs": runs}), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
