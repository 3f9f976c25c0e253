"""Cost and growth of every streamed check: ratios to torch's own attention, and fitted exponents, in one run.

    python tests/benchmarks/bench_streams.py [--max-tokens 16384] [--repeats 3] [--budget 120] [--dtype
    float32] [--out FILE]

Each length from 1,024 (doubling) to --max-tokens is measured with the jobs taking turns, so that other load
hits all alike. A job runs as often as fits in --budget seconds at one length, --repeats times at most; where
its next length would take longer than the budget it stops growing. Prints median seconds, the ratio to
`scaled_dot_product_attention` at the same length, and the exponents p, q of time ~ N^p and memory ~ N^q,
fitted by least squares in logarithms to the upper half of the lengths. Memory is the growth of the peak
resident size of a process that does one job once; where a job is run once only, its time is that process's
too. --out writes all of it as JSON, again after each length.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import multiprocessing
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from checks.run.store import write_atomically
from checks.tensors.core import fused, stream
from checks.tensors.core.agreement import check_attention
from checks.tensors.core.inputs import make_instance
from checks.tensors.energy.checks import (
    check_alignment,
    check_gradient,
    check_stationary,
    check_step,
    check_update_rule,
)
from checks.tensors.energy.descent import Head
from checks.tensors.energy.operators import AttentionMap
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.steps import check_steps, trial
from checks.tensors.ksvd.explicit_features import check_ksvd
from checks.tensors.ksvd.features import make_features
from checks.tensors.ksvd.triplets import check_softmax_triplets
from checks.tensors.measure.matrix import AttentionMatrix, spectrum
from checks.tensors.svr.converse import certify_attention_as_svr
from solvers.krylov import top_triplets
from solvers.ksvd import feature_triplets

Job = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]
BASE = "scaled_dot_product_attention"


def _head(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Head:
    return Head(AttentionMap(q, k, v))


def _gram(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
    return AttentionMatrix(q.double(), k.double(), q.shape[1] ** -0.5).product(v.double())


def _spectrum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
    return spectrum(AttentionMatrix(q.double(), k.double(), q.shape[1] ** -0.5), steps=4)


def _triplets(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
    return check_softmax_triplets(q, k, top_triplets, 8)


def _features(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> object:
    phi_q, phi_k, f = make_features(len(q), q.shape[1], "cosine", 64)
    assert f is not None
    found = feature_triplets(phi_q.numpy(), phi_k.numpy(), f.numpy(), 16)
    return check_ksvd(phi_q, phi_k, f, found, dual_rows=256)


JOBS: dict[str, Job] = {
    BASE: lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(
        q[None, None], k[None, None], v[None, None]
    ),
    "fused engine": lambda q, k, v: fused.attention(q, k, v),
    "streamed attention": lambda q, k, v: stream.attention(q, k, v),
    "streamed with magnitude": lambda q, k, v: stream.attend(q, k, v, magnitude=True),
    "log normaliser": lambda q, k, v: stream.logsumexp_rows(q, k),
    "transpose product": lambda q, k, v: stream.transpose_product(q, k, v),
    "linear attention": lambda q, k, v: stream.linear_attention(q, k, v),
    "tensor check": lambda q, k, v: check_attention(q, k, v),
    "SVR certificate": lambda q, k, v: certify_attention_as_svr(k, v, 0.5),
    "alignment check": lambda q, k, v: check_alignment(_head(q, k, v)),
    "stationarity check": lambda q, k, v: check_stationary(_head(q, k, v)),
    "gradient check": lambda q, k, v: check_gradient(_head(q, k, v)),
    "step check (float64)": lambda q, k, v: check_step(_head(q, k, v).in_float64(), 0.1),
    "update rule check": lambda q, k, v: check_update_rule(_head(q, k, v)),
    "softmax triplets check (float64)": _triplets,
    "explicit features check (float64)": _features,
    "descent layers check (float64)": lambda q, k, v: check_steps(trial(Kernel("linear"), len(q))),
    "A V and A'A V (float64)": _gram,
    "spectrum, 4 passes (float64)": _spectrum,
}


PRELOADED = [
    "checks.run.scale",
    *(m for m in list(sys.modules) if m.startswith(("checks.tensors.", "solvers."))),
]


def ladder(most: int) -> list[int]:
    """1024, 2048, ... up to `most`."""
    return [n for n in (1024 << i for i in range(20)) if n <= most]


def fitted_exponent(lengths: list[int], amounts: list[float]) -> float | None:
    """The slope of log amount over log length in the upper half of the lengths; None for fewer than two
    points.
    """
    points = [(n, x) for n, x in zip(lengths, amounts, strict=True) if x > 0]
    points = points[len(points) // 2 :] if len(points) > 3 else points
    if len(points) < 2:
        return None
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


@dataclass
class Growth:
    """What one job took at the first lengths, as far as it came: medians, how many runs, and peaks by
    the length.
    """

    seconds: list[float] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)
    peaks: dict[int, int] = field(default_factory=dict)

    def affordable(self, repeats: int, budget: float) -> int:
        """How often the job may run at the next length, which takes four times as long at most."""
        return min(repeats, int(budget / (4 * self.seconds[-1]))) if self.seconds else repeats


def grow(found: dict[str, Growth], lengths: list[int], a: argparse.Namespace) -> Iterator[int]:
    """Measures the jobs at each length, as long as they stay in the budget; gives the lengths as they
    are done.
    """
    alone = not a.no_memory and a.device == "cpu" and sys.platform == "linux"
    for at, n in enumerate(lengths):
        runs = {
            name: job.affordable(a.repeats, a.budget) for name, job in found.items() if len(job.seconds) == at
        }
        once = [name for name, often in runs.items() if often == 1 and alone]
        turns = {name: often for name, often in runs.items() if often and name not in once}
        for name, seconds in in_turns(jobs_on(n, a), turns)[0].items():
            found[name].seconds.append(seconds)
        for name in once:
            seconds, found[name].peaks[n] = in_own_process(name, n, a.dtype, a.width)
            found[name].seconds.append(seconds)
        for name, often in runs.items():
            if often:
                found[name].runs.append(often)
                print(f"{n:9,} tokens  {name:34} {found[name].seconds[-1]:9.3f} s", file=sys.stderr)
        yield n
    for name, job in found.items() if alone else ():
        for n in lengths[: len(job.seconds)][-3:]:  # where fixed costs matter least
            if n not in job.peaks:
                _, job.peaks[n] = in_own_process(name, n, a.dtype, a.width)
                print(f"{n:9,} tokens  {name:34} {job.peaks[n] / 2**20:9.0f} MiB", file=sys.stderr)


def jobs_on(n: int, a: argparse.Namespace) -> dict[str, Callable[[], None]]:
    """The jobs on the same head of n tokens; a result is dropped, and waited for where the device works
    by itself.
    """
    tensors = make_instance(n, a.width, dtype=a.dtype, device=a.device)

    def run(job: Job) -> None:
        job(*tensors)
        if torch.device(a.device).type == "cuda":
            torch.cuda.synchronize()

    return {name: partial(run, job) for name, job in JOBS.items()}


def in_turns(
    jobs: dict[str, Callable[[], Any]], runs: dict[str, int]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Median seconds and the last result of each job that is run, all of them before any has its next
    turn.
    """
    taken: dict[str, list[float]] = {name: [] for name in runs}
    results: dict[str, Any] = {}
    for turn in range(max(runs.values(), default=0)):
        for name in (name for name, often in runs.items() if turn < often):
            started = time.perf_counter()
            results[name] = jobs[name]()
            taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(each) for name, each in taken.items()}, results


def in_own_process(name: str, n: int, dtype: str, width: int) -> tuple[float, int]:
    """Seconds of one job, and bytes by which it raises the peak of a process of its own, above torch and the
    inputs.

    Raises RuntimeError where that process ends without an answer.
    """
    context = multiprocessing.get_context("forkserver")  # its children need not import torch again
    context.set_forkserver_preload(PRELOADED)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(name, n, dtype, width, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        raise RuntimeError(f"{name} at {n} tokens ended without an answer") from None
    finally:
        process.join()


def _child(name: str, n: int, dtype: str, width: int, sender: Connection) -> None:
    """Runs in a process of its own. A first run at 128 tokens loads what torch loads once."""
    JOBS[name](*make_instance(128, width, dtype=dtype))
    tensors = make_instance(n, width, dtype=dtype)
    gc.collect()
    # pages that were freed but are still resident would hide what the job takes
    ctypes.CDLL(None).malloc_trim(0)
    before, started = _reset_peak(), time.perf_counter()
    JOBS[name](*tensors)
    sender.send((time.perf_counter() - started, _status("VmHWM") - before))


def _reset_peak() -> int:
    """Makes the kernel forget the peak, which making the inputs had raised; the resident size now.
    Linux only.
    """
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0]) * 1024


def measured(argv: list[str], keep: Callable[[dict[str, Any]], object] = lambda _: None) -> dict[str, Any]:
    """Measures as the options say, and prints a row for each job; hands what there is to `keep` after
    each length.
    """
    a = _options().parse_args(argv)
    found = {name: Growth() for name in dict.fromkeys([BASE, *a.jobs])}
    lengths = ladder(a.max_tokens)
    JOBS[BASE](*make_instance(1024, a.width, dtype=a.dtype, device=a.device))
    about = {
        "width": a.width,
        "dtype": a.dtype,
        "device": a.device,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": platform.processor() or platform.machine(),
        "repeats": a.repeats,
        "lengths": lengths,
    }

    def so_far() -> dict[str, Any]:
        jobs = [_result(name, lengths, job, found[BASE].seconds) for name, job in found.items()]
        return {**about, "jobs": jobs}

    for _ in grow(found, lengths, a):
        keep(so_far())
    results = so_far()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    for r in results["jobs"]:
        print(_row(r))
    return results


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    out = _options().parse_args(argv).out
    keep = (
        (lambda found: write_atomically(out, json.dumps(found, indent=1) + "\n")) if out else (lambda _: None)
    )
    keep(measured(argv, keep))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="cost and growth of the streamed checks")
    parser.add_argument("--max-tokens", type=int, default=16384)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--budget", type=float, default=120, help="seconds a job may take at one length (default 120)"
    )
    parser.add_argument("--jobs", nargs="+", default=list(JOBS), choices=list(JOBS))
    parser.add_argument(
        "--no-memory", action="store_true", help="leave out memory (a process a job and length)"
    )
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    return parser


def _result(name: str, lengths: list[int], job: Growth, base: list[float]) -> dict[str, Any]:
    done, measured = lengths[: len(job.seconds)], sorted(job.peaks)
    peaks = [job.peaks[n] for n in measured]
    return {
        "job": name,
        "tokens": done,
        "seconds": job.seconds,
        "runs": job.runs,
        "ratio": [t / base for t, base in zip(job.seconds, base, strict=False)],
        "time_exponent": fitted_exponent(done, job.seconds),
        "memory_tokens": measured,
        "peak_bytes": peaks,
        "memory_exponent": fitted_exponent(measured, peaks),
    }


def _row(r: dict[str, Any]) -> str:
    """Job, longest length, seconds and ratio there, exponents."""
    ratio = f"{r['ratio'][-1]:7.2f} forwards" if len(r["ratio"]) == len(r["tokens"]) else " " * 16
    peak = f"{r['peak_bytes'][-1] / 2**20:7.0f} MiB" if r["peak_bytes"] else " " * 11
    exponents = (
        f"time N^{r['time_exponent']:.2f}" if r["time_exponent"] is not None else "",
        f"memory N^{r['memory_exponent']:.2f}" if r["memory_exponent"] is not None else "",
    )
    return (
        f"{r['job']:30} {r['tokens'][-1]:8} {r['seconds'][-1]:9.3f} s {ratio} {peak}  {'  '.join(exponents)}"
    )


if __name__ == "__main__":
    main()
