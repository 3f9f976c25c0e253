"""Peak memory of the tensor checks, each in a process of its own.

    python tests/benchmarks/bench_memory.py [--tokens 131072] [--width 64] [--dtype float64 float32]

Prints the peak resident size of the whole process and of the same process before the check (torch, inputs).
Target: under 2 GiB at 131,072 tokens.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

CHILD = """
import json, sys, time, torch
from checks.tensors.core.agreement import check_attention
from checks.tensors.core.arrays import peak_bytes
from checks.tensors.svr.converse import certify_attention_as_svr
from checks.tensors.core.inputs import make_instance
from checks.tensors.core import stream
what, tokens, width, dtype = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
q, k, v = make_instance(tokens, width, dtype=dtype)
before, started = peak_bytes(torch.device("cpu")), time.perf_counter()
if what == "check":
    passed = check_attention(q, k, v).passed
elif what == "certificate":
    passed = certify_attention_as_svr(k, v, 0.05).accepted
else:
    passed = bool(torch.isfinite(stream.attention(q, k, v)).all())
print(json.dumps({"passed": passed, "before": before, "peak": peak_bytes(torch.device("cpu")),
                  "seconds": time.perf_counter() - started}))
"""


def measure(what: str, tokens: int, width: int, dtype: str) -> dict[str, float]:
    """Peak bytes and seconds of "reference", "check" or "certificate". Raises CalledProcessError."""
    command = [sys.executable, "-c", CHILD, what, str(tokens), str(width), dtype]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser(description="peak memory of the tensor checks")
    options.add_argument("--tokens", type=int, default=131072)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--dtype", nargs="+", default=["float64", "float32"])
    options.add_argument("--what", nargs="+", default=["check", "certificate"])
    given = options.parse_args()
    for dtype in given.dtype:
        for what in given.what:
            found = measure(what, given.tokens, given.width, dtype)
            peak, before = found["peak"] / 2**30, found["before"] / 2**30
            print(
                f"N = {given.tokens}, d = {given.width}, {dtype}: {what:11} peak {peak:.2f} GiB "
                f"(before {before:.2f}), {found['seconds']:.0f} s, passed: {found['passed']}"
            )


if __name__ == "__main__":
    main()
