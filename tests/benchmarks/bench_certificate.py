"""Cost of the certificate of a support vector regression against the solvers that found it, in one run.

Run: python tests/benchmarks/bench_certificate.py [--tokens 2000] [--columns 1] [--clarabel]
Target: the certificate takes under 10 % of the solver at N = 2000. Clarabel is left out by default because it
takes tens of seconds there.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from solvers.svr import SvrProblem, polish, solve_dual, solve_libsvm


def softmax_problem(N: int, columns: int, D: int = 64) -> SvrProblem:
    """Noisy smooth targets (N, columns) on the softmax kernel of random keys, C = 1 / max diag M."""
    rng = np.random.default_rng(0)
    keys = 0.5 * rng.normal(size=(N, D))
    kernel = np.exp(keys @ keys.T / math.sqrt(D))
    h = kernel.sum(axis=1)
    M = kernel / np.outer(h, h)
    Y = np.tanh(keys @ rng.normal(size=(D, columns)) / 4) + 0.1 * rng.normal(size=(N, columns))
    return SvrProblem(M, Y, C=1 / np.diag(M).max(), eps=0.1)


def certificate_seconds(problem: SvrProblem, beta: np.ndarray, b: np.ndarray, repeats: int = 5) -> float:
    """Best time of the checker on the problem the solver was given, input validation not repeated."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        problem.certificate(beta, b)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line a route: its seconds, the certificate's share of them, and what it says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=1)
    parser.add_argument("--clarabel", action="store_true")
    arguments = parser.parse_args()
    problem = softmax_problem(arguments.tokens, arguments.columns)
    rough = solve_libsvm(problem)
    polished = polish(problem, rough)
    routes = {
        "libsvm": (rough, rough.seconds),
        "libsvm + polish": (polished, rough.seconds + polished.seconds),
    }
    if arguments.clarabel:
        interior = solve_dual(problem)
        routes["Clarabel"] = (interior, interior.seconds)
    start = time.perf_counter()
    SvrProblem(problem.M, problem.Y, problem.C, problem.eps)
    print(f"N = {arguments.tokens}, D_v = {arguments.columns}; input checks, once a problem: ", end="")
    print(f"{time.perf_counter() - start:.4f} s")
    for name, (solution, seconds) in routes.items():
        check = certificate_seconds(problem, solution.beta, solution.b)
        certificate = problem.certificate(solution.beta, solution.b)
        print(
            f"{name:16s} solver {seconds:8.3f} s   certificate {check:.4f} s   ratio {check / seconds:6.1%}"
            f"   relative gap {float(certificate.gap.relative):.1e}   worst {float(certificate.worst):.1e}"
        )


if __name__ == "__main__":
    main()
