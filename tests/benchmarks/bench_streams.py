"""Cost and growth of every streamed check: ratios to torch's own attention, and fitted exponents, in one run.

    python tests/benchmarks/bench_streams.py [--max-tokens 16384] [--repeats 3] [--dtype float32] [--out FILE]

Each length from 1,024 (doubling) to --max-tokens is measured with the jobs taking turns, so that other load hits all
alike; a job whose next run would take longer than --budget seconds stops growing. Prints median seconds, the
ratio to `scaled_dot_product_attention` at the same length, and the exponents p, q of time ~ N^p and memory ~ N^q, fitted
by least squares in logarithms to the upper half of the lengths. Memory is the growth of the peak resident size of a
process that does one job once. --out writes all of it as JSON.
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
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import torch

from checks.tensors import fused, stream
from checks.tensors.agreement import check_attention
from checks.tensors.converse import certify_attention_as_svr
from checks.tensors.descent_kernels import Kernel
from checks.tensors.descent_steps import check_steps
from checks.tensors.energy_checks import (
    check_alignment,
    check_gradient,
    check_stationary,
    check_step,
    check_update_rule,
)
from checks.tensors.instances import make_instance
from checks.tensors.ksvd_features import make_features
from checks.tensors.ksvd_primal import check_ksvd
from checks.tensors.ksvd_triplets import check_softmax_triplets
from checks.tensors.measure_matrix import AttentionMatrix, spectrum
from solvers.krylov import top_triplets
from solvers.ksvd import feature_triplets

Job = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]
BASE = "scaled_dot_product_attention"


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
    "alignment check": lambda q, k, v: check_alignment(q, k, v),
    "stationarity check": lambda q, k, v: check_stationary(q, k, v),
    "gradient check": lambda q, k, v: check_gradient(q, k, v),
    "step check (float64)": lambda q, k, v: check_step(q, k, v, 0.1),
    "update rule check": lambda q, k, v: check_update_rule(q, k, v),
    "softmax triplets check (float64)": _triplets,
    "explicit features check (float64)": _features,
    "descent layers check (float64)": lambda q, k, v: check_steps(Kernel("linear"), len(q)),
    "A V and A'A V (float64)": _gram,
    "spectrum, 4 passes (float64)": _spectrum,
}


PRELOADED = ["checks.scale", *(m for m in list(sys.modules) if m.startswith(("checks.tensors.", "solvers.")))]


def ladder(most: int) -> list[int]:
    """1024, 2048, ... up to `most`."""
    return [n for n in (1024 << i for i in range(20)) if n <= most]


def fitted_exponent(lengths: list[int], amounts: list[float]) -> float | None:
    """The slope of log amount over log length in the upper half of the lengths; None for fewer than two points."""
    points = [(n, x) for n, x in zip(lengths, amounts, strict=True) if x > 0]
    points = points[len(points) // 2 :] if len(points) > 3 else points
    if len(points) < 2:
        return None
    x, y = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(x, y, 1)[0])


def times(
    names: list[str], lengths: list[int], repeats: int, dtype: str, device: str, width: int, budget: float
) -> dict[str, list[float]]:
    """Median seconds of each job at each length, as long as it stays in its budget."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for n in lengths:
        tensors = make_instance(n, width, dtype=dtype, device=device)
        # an exponent of two at most, so four times the last time
        running = [
            m
            for m in names
            if len(found[m]) == lengths.index(n) and (not found[m] or 4 * found[m][-1] * repeats <= budget)
        ]
        taken: dict[str, list[float]] = {name: [] for name in running}
        for _ in range(repeats):
            for name in running:
                started = time.perf_counter()
                JOBS[name](*tensors)
                if torch.device(device).type == "cuda":
                    torch.cuda.synchronize()
                taken[name].append(time.perf_counter() - started)
        for name in running:
            found[name].append(statistics.median(taken[name]))
    return found


def peak_growth(name: str, n: int, dtype: str, width: int) -> int:
    """Bytes by which one job raises the peak of a process of its own, above torch and the inputs.

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
    ctypes.CDLL(None).malloc_trim(
        0
    )  # pages that were freed but are still resident would hide what the job takes
    before = _reset_peak()
    JOBS[name](*tensors)
    sender.send(_status("VmHWM") - before)


def _reset_peak() -> int:
    """Makes the kernel forget the peak, which making the inputs had raised; the resident size now. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0]) * 1024


def measured(argv: list[str]) -> dict[str, Any]:
    """Measures as the options say, and prints a row for each job."""
    a = _options().parse_args(argv)
    names = list(dict.fromkeys([BASE, *a.jobs]))
    lengths = ladder(a.max_tokens)
    JOBS[BASE](*make_instance(1024, a.width, dtype=a.dtype, device=a.device))
    seconds = times(names, lengths, a.repeats, a.dtype, a.device, a.width, a.budget)
    results = [_result(name, lengths, seconds) for name in names]
    if not a.no_memory and a.device == "cpu" and sys.platform == "linux":
        for r in results:
            r["memory_tokens"] = r["tokens"][-3:]  # where fixed costs matter least
            r["peak_bytes"] = [peak_growth(r["job"], n, a.dtype, a.width) for n in r["memory_tokens"]]
            r["memory_exponent"] = fitted_exponent(r["memory_tokens"], r["peak_bytes"])
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
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    for r in results:
        print(_row(r))
    return {**about, "jobs": results}


def main(argv: list[str] | None = None) -> None:
    argv = sys.argv[1:] if argv is None else argv
    a = _options().parse_args(argv)
    found = measured(argv)
    if a.out:
        a.out.write_text(json.dumps(found, indent=1))


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


def _result(name: str, lengths: list[int], seconds: dict[str, list[float]]) -> dict[str, Any]:
    mine = seconds[name]
    done = lengths[: len(mine)]
    return {
        "job": name,
        "tokens": done,
        "seconds": mine,
        "ratio": [t / base for t, base in zip(mine, seconds[BASE], strict=False)],
        "time_exponent": fitted_exponent(done, mine),
        "memory_tokens": [],
        "peak_bytes": [],
        "memory_exponent": None,
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
