"""Cost of the energies of farooq2025 over streamed attention, in forwards of torch's own attention, in one
run.

    python tests/benchmarks/bench_energy.py [--tokens 32768] [--width 64] [--repeats 3] [--dtype float64]

Targets: one gradient step at most 4 attention forwards; c_j in O(n² d_v) time and O(n d_v) memory (two
products where the paper counts n³ multiplications).
"""

from __future__ import annotations

import argparse

import torch
from bench_attention import interleaved

from checks.tensors.core.arrays import peak_bytes
from checks.tensors.core.inputs import make_instance
from checks.tensors.energy.checks import check_alignment
from checks.tensors.energy.descent import Head, gradient, potential
from checks.tensors.energy.operators import AttentionMap


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tokens", type=int, nargs="+", default=[4096, 32768])
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--device", default="cpu")
    options.add_argument("--dtype", nargs="+", default=["float64", "float32"])
    given = options.parse_args()
    print(f"{given.device}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    F = potential("quadratic")
    for dtype in given.dtype:
        for n in given.tokens:
            before = peak_bytes(torch.device(given.device))
            q, k, v = make_instance(n, given.width, dtype=dtype, device=given.device)
            maps = AttentionMap(q, k, v)
            state = torch.zeros_like(maps.attention)
            maps.alignment  # noqa: B018  computed once, before descent starts
            one_head = [x[None, None] for x in (q, k, v)]
            jobs = {
                "scaled_dot_product_attention": lambda x=one_head: (
                    torch.nn.functional.scaled_dot_product_attention(*x)
                ),
                "c (AV and log sums known)": lambda m=maps: m.lift(m.attention),
                "gradient step": lambda m=maps, z=state: z - 0.01 * gradient(m, F, z),
                "alignment check": lambda x=(q, k, v): check_alignment(Head(AttentionMap(*x))),
            }
            medians = interleaved(jobs, given.repeats)
            base = medians["scaled_dot_product_attention"]
            for name, seconds in medians.items():
                print(
                    f"{dtype:8} N = {n}, d = {given.width}: {name:30} {seconds:8.3f} s  "
                    f"{seconds / base:5.2f} forwards"
                )
            print(
                f"         peak {peak_bytes(torch.device(given.device)) / 2**30:.2f} GiB (before "
                f"{before / 2**30:.2f})"
            )


if __name__ == "__main__":
    main()
