"""All comparisons of speed in one run: ratios of medians, growth with the length, one data file.

    python -m tests.benchmarks [--max-tokens 131072] [--repeats 3] [--out checks/records/benchmarks.json]
    (make bench)

- streams: every streamed check against torch's own attention at each length, with exponents of time and
  memory;
- krylov: block Krylov against scipy's svds, on the same streamed products and on the dense matrix where it
  fits;
- regression: libsvm with the polish against cvxpy (Clarabel), each with the duality gap that its answer has.

Contestants take turns, so that other load on the machine hits all alike; numbers of other runs are never
compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, svds

sys.path.insert(0, str(Path(__file__).parent))
import bench_streams
from bench_certificate import softmax_problem

from checks.evidence import MEASURED, sealed
from checks.run.scale import about
from checks.run.store import write_atomically
from checks.tensors.core.arrays import DENSE_LIMIT
from checks.tensors.core.inputs import make_instance
from checks.tensors.core.stream import rows
from checks.tensors.ksvd.products import SoftmaxProducts
from solvers.krylov import top_triplets
from solvers.svr import polish, solve_dual, solve_libsvm

COUNT = 16  # singular triplets


def _residual(a: SoftmaxProducts, left: np.ndarray, values: np.ndarray, right: np.ndarray) -> float:
    """max(|A v - sigma u|, |Aᵀu - sigma v|) over the triplets, relative to the largest value."""
    one, two = a.apply(right) - left * values, a.adjoint(left) - right * values
    return float(max(np.linalg.norm(one, axis=0).max(), np.linalg.norm(two, axis=0).max()) / values.max())


def krylov(lengths: list[int], repeats: int) -> list[dict[str, Any]]:
    """The largest 16 triplets of the softmax matrix: seconds, residuals, and ratios to block Krylov."""
    found = []
    for n in lengths:
        q, k, _ = make_instance(n)
        a = SoftmaxProducts(q / 2, k)
        operator = LinearOperator(
            (n, n),
            lambda x, a=a: a.apply(x.reshape(len(x), -1)),
            lambda x, a=a: a.adjoint(x.reshape(len(x), -1)),
        )
        operator.dtype = np.dtype(float)
        jobs: dict[str, Callable[[], Any]] = {
            "block Krylov": lambda q=q, k=k: _krylov(SoftmaxProducts(q / 2, k)),
            "block Krylov, no weights kept": lambda q=q, k=k: _krylov(
                SoftmaxProducts(q / 2, k, keep_bytes=0)
            ),
            "svds, streamed products": lambda o=operator: _svds(o),
        }
        if n <= DENSE_LIMIT:
            dense = torch.cat([block for _, block in rows(q / 2, k)]).numpy()
            jobs["svds, dense matrix given"] = lambda d=dense: _svds(d)
            jobs["numpy's SVD, dense matrix given"] = lambda d=dense: _full(d)
        seconds, results = bench_streams.in_turns(jobs, dict.fromkeys(jobs, repeats))
        for name, (left, values, right) in results.items():
            found.append(
                {
                    "tokens": n,
                    "route": name,
                    "seconds": seconds[name],
                    "ratio": seconds[name] / seconds["block Krylov"],
                    "residual": _residual(a, left, values, right),
                }
            )
    return found


def _krylov(products: SoftmaxProducts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    found = top_triplets(products, COUNT)
    return found.left, found.values, found.right


def _full(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    left, values, right = np.linalg.svd(matrix)
    return left[:, :COUNT], values[:COUNT], right[:COUNT].T


def _svds(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    left, values, right = svds(matrix, k=COUNT, random_state=0)
    return left[:, ::-1], values[::-1], right[::-1].T


def regression(lengths: list[int], repeats: int) -> list[dict[str, Any]]:
    """Both routes to the same support vector regression: seconds, the relative duality gap, ratios to
    libsvm + polish.
    """
    found = []
    for n in lengths:
        problem = softmax_problem(n, 1)
        jobs = {
            "libsvm and polish": lambda p=problem: polish(p, solve_libsvm(p)),
            "libsvm alone": lambda p=problem: solve_libsvm(p),
            "cvxpy (Clarabel)": lambda p=problem: solve_dual(p),
        }
        seconds, results = bench_streams.in_turns(jobs, dict.fromkeys(jobs, repeats))
        for name, answer in results.items():
            gap = float(problem.certificate(answer.beta, answer.b).gap.relative)
            ratio = seconds[name] / seconds["libsvm and polish"]
            found.append({"tokens": n, "route": name, "seconds": seconds[name], "ratio": ratio, "gap": gap})
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tests.benchmarks", description="all comparisons of speed in one run"
    )
    parser.add_argument(
        "--max-tokens", type=int, default=131072, help="of the streamed checks (default 131072)"
    )
    parser.add_argument("--krylov", type=int, nargs="+", default=[1024, 4096], metavar="N")
    parser.add_argument("--regression", type=int, nargs="+", default=[250, 500, 1000], metavar="N")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--budget", type=float, default=120, help="seconds a check may take at one length")
    parser.add_argument("--out", type=Path, default=Path("checks/records/benchmarks.json"))
    a = parser.parse_args(argv)
    started = time.perf_counter()
    streams = ["--max-tokens", str(a.max_tokens), "--repeats", str(a.repeats), "--width", str(a.width)]
    command = f"python -m tests.benchmarks {' '.join([*streams, '--krylov', *map(str, a.krylov)])} "
    command += f"--regression {' '.join(map(str, a.regression))} --budget {a.budget:g}"
    machine = {**about(torch.device("cpu"), 1), "command": command, "repeats": a.repeats}
    data = {**machine, "status": "incomplete", "krylov": [], "regression": []}

    def keep(**parts: Any) -> None:
        data.update(parts, seconds=round(time.perf_counter() - started, 1))
        write_atomically(a.out, json.dumps(sealed(MEASURED, data), indent=1) + "\n")

    options = [*streams, "--budget", str(a.budget)]
    keep(streams=bench_streams.measured(options, lambda found: keep(streams=found)))
    keep(krylov=krylov(a.krylov, a.repeats))
    keep(regression=regression(a.regression, a.repeats), status="done")
    for part in ("krylov", "regression"):
        for r in data[part]:
            print(f"{part:10} {r['tokens']:6} {r['route']:26} {r['seconds']:8.3f} s  ratio {r['ratio']:.2f}")
    print(f"{a.out}: {data['seconds']:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
