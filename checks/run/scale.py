"""Every tensor check of the ledger at every length on one device, with one command, as a data file.

    python -m checks.scale --device cuda --out gpu.json        (make gpu)
    torchrun --nproc-per-node 2 -m checks.scale --out two.json

Needs torch, numpy, scipy and sympy only. Float64 runs first, then float32 and bfloat16 against float64 values
of the same inputs on the same device. TF32 is off, and algorithms are deterministic: an operation that has no
deterministic version ends its check. The file is written again after every part, so that a run that was
killed goes on behind it; parts of an older version of the sources are replaced. Under torchrun every streamed
pass is shared out over the processes: any number of them, from two on, gives the same digits, one without
torchrun others at the end of what comes of transpose products (`checks.tensors.core.distributed`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
)  # before torch: cuBLAS is deterministic with it only

import torch

from checks.claim import Options
from checks.evidence import MEASURED, Evidence, problem, sealed, unsealed
from checks.leg import LADDER
from checks.run.lengths import Climb, Part, ascend, require_memory
from checks.run.registry import UnknownClaim, select
from checks.run.store import read_json, write_atomically
from checks.run.verify import assumptions_for, climbs
from checks.tensors.core import stream
from checks.tensors.core.arrays import DTYPES, exact_matmul, peak_bytes, resolve_device
from checks.tensors.core.distributed import LostRank, Ranks, connected, losses_noticed, sharded
from checks.tensors.core.errors import TensorError
from checks.tensors.core.inputs import make_instance

WIDTH = 64
MONTH = 30 * 24 * 3600
"""Seconds beyond which no rank is waited for."""


@dataclass
class Results:
    """The data file: one row for each leg, number type and length; written whole, by one process."""

    file: Path
    about: dict[str, Any]
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)  # by the key of the part
    writes: bool = True

    @staticmethod
    def at(file: Path, about: dict[str, Any]) -> Results:
        """With what the file holds already. Raises TensorError for a file that is something else."""
        if not file.exists():
            return Results(file, about)
        try:
            data = unsealed(MEASURED, read_json(file))
            return Results(file, about, {row["key"]: row for row in data.get("rows", [])})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise TensorError(
                f"{file} holds no results of this program ({error}); choose another file"
            ) from None

    def keep(self, row: dict[str, Any]) -> None:
        """Adds a row, in place of one of other sources; writes the file."""
        same = ("leg", "dtype", "tokens", "seed", "device")
        self.rows = {k: r for k, r in self.rows.items() if any(r[x] != row[x] for x in same)}
        self.rows[row["key"]] = row
        self.write("incomplete")

    def write(self, status: str) -> None:
        """Raises TensorError if the file cannot be written."""
        if not self.writes:
            return
        rows = sorted(
            self.rows.values(), key=lambda r: (r["dtype"] != "float64", r["dtype"], r["leg"], r["tokens"])
        )
        try:
            data = sealed(MEASURED, {"status": status, **self.about, "rows": rows})
            text = json.dumps(data, indent=1, ensure_ascii=False)
            write_atomically(self.file, text + "\n")
        except OSError as error:
            raise TensorError(f"{self.file} cannot be written: {error.strerror}") from None


@dataclass
class Run:
    """Runs the parts of a climb on the device, one after the other, on all ranks alike (`lengths.Runner`)."""

    results: Results
    ranks: Ranks
    users: dict[str, list[str]]  # the claims of each leg

    def __call__(self, climbing: list[Climb], n: int) -> Iterator[tuple[Climb, Part | None]]:
        for climb in climbing:
            try:
                row = self.results.rows.get(climb.name(n)) or self._run(climb, n)
            except LostRank as problem:
                kept = f"{len(self.results.rows)} finished checks are in {self.results.file}"
                raise LostRank(f"{problem}; lost in {climb.claim} at {n} tokens, {kept}") from None
            if row is None or row["raised"]:
                yield climb, None
            else:
                yield climb, Part([Evidence(**e) for e in row["evidence"]], row["seconds"])

    def _run(self, climb: Climb, n: int) -> dict[str, Any] | None:
        """The row of a part, which is kept, or None for a leg that computes in another number type whatever
        is asked.
        """
        device, part, raised = torch.device(climb.options.device), None, None
        _reset_peak(device)
        started = time.perf_counter()
        try:
            with sharded(self.ranks) if self.ranks.size > 1 else nullcontext():
                part = climb.at(n)
            self.ranks.agree(None)  # every rank has come to the end of this check
        except LostRank:
            raise
        except (ArithmeticError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
            raised = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if part is not None and all(e.dtype != climb.options.dtype for e in part.evidence):
            return None
        row = {
            "leg": leg_name(climb),
            "claims": self.users[leg_name(climb)],
            "dtype": climb.options.dtype,
            "tokens": n,
            "seed": climb.options.seed,
            "device": climb.options.device,
            "ranks": self.ranks.size,
            "seconds": round(time.perf_counter() - started, 4),
            "peak_bytes": _peak(device),
            "linear": climb.linear,
            "raised": raised,
            "evidence": [asdict(e) for e in part.evidence] if part else [],
            "commit": self.results.about["commit"],
            "key": climb.name(n),
        }
        self.results.keep(row)
        return row


def leg_name(climb: Climb) -> str:
    """Module and name of a leg below the papers' packages; of one without a name, its claim and its
    place there.
    """
    return (climb.reference or f"{climb.claim}.{climb.index}").removeprefix("checks.papers.")


def _reset_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
    elif sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the peak of the resident size


def _peak(device: torch.device) -> int:
    """Largest memory since `_reset_peak`: of the allocator on CUDA, of the process, torch and all,
    elsewhere.
    """
    if device.type == "cuda" or sys.platform != "linux":
        return peak_bytes(device)
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) * 1024


# ---------------------------------------------------------------- what it ran on


def about(device: torch.device, ranks: int) -> dict[str, Any]:
    """Device, versions and settings of a run."""
    import numpy
    import scipy
    import sympy

    cuda = device.type == "cuda"
    versions = {module.__name__: module.__version__ for module in (torch, numpy, scipy, sympy)}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": device.type,
        "name": torch.cuda.get_device_name(device) if cuda else platform.processor() or platform.machine(),
        "driver_cuda": torch.version.cuda if cuda else None,
        "python": platform.python_version(),
        **versions,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 1),  # processes that wanted a core when the run began
        "ranks": ranks,
        "tf32": False,
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "commit": _commit(),
    }


def _commit() -> str | None:
    """The commit of these sources; None outside a repository."""
    import subprocess

    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def rates(device: torch.device, n: int, size: int) -> dict[str, float]:
    """Float64 operations a second: of a square matrix product, and of streamed attention's two products.

    Medians of three; `ratio` says how many times slower attention is than the matrix product.
    """
    a, b = (torch.randn(size, size, dtype=torch.float64, device=device) for _ in range(2))
    q, k, v = make_instance(n, WIDTH, device=device)
    with exact_matmul():
        product = 2 * size**3 / _median_seconds(lambda: a @ b, device)
    attention = 4 * n * n * WIDTH / _median_seconds(lambda: stream.attention(q, k, v), device)
    return {
        "tokens": n,
        "matrix_product": product,
        "streamed_attention": attention,
        "ratio": product / attention,
    }


def _median_seconds(call: Any, device: torch.device) -> float:
    taken = []
    for _ in range(4):
        started = time.perf_counter()
        call()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        taken.append(time.perf_counter() - started)
    return sorted(taken[1:])[1]  # the first one warms up


# ---------------------------------------------------------------- the command


def climbing_legs(
    claims: list[str], options: Options, legs: list[str] | None = None
) -> tuple[list[Climb], dict[str, list[str]]]:
    """The climbing legs of these claims, of those named if any are, and the claims that each serves.

    Raises UnknownClaim, and TensorError for a name that is none of them, and where there are none.
    """
    found: list[Climb] = []
    users: dict[str, list[str]] = {}
    for claim in select(claims):
        for climb in climbs(claim, assumptions_for(claim, {}), options).values():
            found.append(climb)
            users.setdefault(leg_name(climb), []).append(claim.id)
    if unknown := set(legs or ()) - set(users):
        raise TensorError(
            f"no leg {', '.join(sorted(unknown))} has lengths; these have: {', '.join(sorted(users))}"
        )
    if not found:
        raise TensorError("none of these claims has a check with lengths")
    return [climb for climb in found if not legs or leg_name(climb) in legs], users


def run(a: argparse.Namespace, ranks: Ranks) -> int:
    """All number types, one after the other; how many parts failed or raised."""
    device = resolve_device(a.device)
    torch.use_deterministic_algorithms(device.type == "cuda")
    results = ranks.agree(Results.at(a.out, about(device, ranks.size)) if ranks.rank == 0 else None)
    results.writes = ranks.rank == 0
    for dtype in a.dtypes:
        found, users = climbing_legs(a.claims, Options(a.max_tokens, dtype, a.device, a.seed), a.legs)
        for at in ascend(found, Run(results, ranks, users)):
            if ranks.rank == 0:
                left = f"about {at.seconds_left:.0f} s of {dtype} left"
                print(
                    f"{at.done:4} of {at.parts:4}  {dtype:8} {at.tokens:9,} tokens  {left}", file=sys.stderr
                )
    if ranks.size == 1 and a.rates:
        whole = a.max_tokens >= LADDER[-1]
        results.about["rates"] = rates(device, min(a.max_tokens, LADDER[-1]), 8192 if whole else 1024)
    results.write("done")
    problems = {key: problem(row) for key, row in results.rows.items()}
    failed = [key for key, (word, _) in problems.items() if word == "failed"]
    wide = [key for key, (word, _) in problems.items() if word == "too wide"]
    if ranks.rank == 0:
        for key in wide + failed:
            row, (word, reason) = results.rows[key], problems[key]
            place = f"{row['leg']} {row['dtype']} {row['tokens']} tokens"
            print(f"{word.upper()} {place}: {reason}", file=sys.stderr)
        counts = f"{len(failed)} failed, {len(wide)} with a bound too wide to reject all wrong versions"
        print(f"{len(problems)} parts, {counts}; {a.out}", file=sys.stderr)
    return len(failed)


def main(argv: list[str] | None = None) -> int:
    """0: all passed; 1: some failed; 2: unusable input; 3: a rank was lost."""
    parser = argparse.ArgumentParser(prog="checks.scale", description="All tensor checks, as a data file.")
    parser.add_argument("claims", nargs="*", metavar="ID", help="claims or papers (default: all)")
    parser.add_argument(
        "--legs",
        nargs="+",
        metavar="LEG",
        help="of their legs only these, as the data file names them (default: all)",
    )
    parser.add_argument("--out", type=Path, required=True, help="data file; an earlier one is continued")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:0, … (default cpu)")
    parser.add_argument("--dtypes", nargs="+", default=list(DTYPES), choices=list(DTYPES))
    parser.add_argument("--max-tokens", type=int, default=LADDER[-1], help=f"default {LADDER[-1]}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600, help="seconds to wait for another rank")
    parser.add_argument("--no-rates", dest="rates", action="store_false", help="do not measure rates")
    a = parser.parse_args(argv)
    if a.max_tokens < 64 or not 0 < a.timeout < MONTH:
        parser.error(f"--max-tokens is at least 64, --timeout above 0 and below {MONTH} s")
    try:
        require_memory(a.max_tokens, resolve_device(a.device))
        with losses_noticed(), connected(a.device, a.timeout) as ranks:
            return int(run(a, ranks) > 0)
    except LostRank as problem:
        print(f"attest: {problem}", file=sys.stderr, flush=True)
        os._exit(3)  # the threads of a broken process group would keep the interpreter from ending
    except (TensorError, UnknownClaim) as problem:
        print(f"attest: {problem}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
