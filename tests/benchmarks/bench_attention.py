"""Cost of the tensor checks in forwards of torch's own attention, measured in one run.

    python tests/benchmarks/bench_attention.py [--tokens 32768] [--width 64] [--repeats 3] [--dtype float64]

Prints medians and ratios. Target: the full check, which includes one forward of torch's kernel, at most 3
forwards of the same size and dtype.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from checks.tensors.core import fused, stream
from checks.tensors.core.agreement import check_attention
from checks.tensors.core.inputs import make_instance
from checks.tensors.svr.converse import certify_attention_as_svr


def interleaved(jobs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each job; the jobs take turns, so that other load on the machine hits all alike."""
    for job in jobs.values():
        job()
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            times[name].append(time.perf_counter() - started)
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    options = argparse.ArgumentParser(description="cost of the tensor checks in torch attention forwards")
    options.add_argument("--tokens", type=int, default=32768)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--device", default="cpu")
    options.add_argument("--dtype", nargs="+", default=["float64", "float32"])
    given = options.parse_args()
    print(
        f"N = {given.tokens}, d = {given.width}, {given.device}, {torch.get_num_threads()} threads, torch "
        f"{torch.__version__}, median of {given.repeats}"
    )
    for dtype in given.dtype:
        q, k, v = make_instance(given.tokens, given.width, dtype=dtype, device=given.device)
        one_head = [x[None, None] for x in (q, k, v)]
        jobs: dict[str, Callable[[], object]] = {
            "scaled_dot_product_attention": lambda x=one_head: (
                torch.nn.functional.scaled_dot_product_attention(*x)
            ),
            "fused engine": lambda x=(q, k, v): fused.attention(*x),
            "streamed reference": lambda x=(q, k, v): stream.attention(*x),
            "streamed with magnitude": lambda x=(q, k, v): stream.attend(*x, magnitude=True),
            "full tensor check": lambda x=(q, k, v): check_attention(*x),
            "SVR certificate": lambda x=(k, v): certify_attention_as_svr(*x, 1e-3),
        }
        medians = interleaved(jobs, given.repeats)
        base = medians["scaled_dot_product_attention"]
        for name, seconds in medians.items():
            print(f"{dtype:9} {name:30} {seconds:8.3f} s  {seconds / base:5.2f} forwards")


if __name__ == "__main__":
    main()
