"""The options that the commands share, and what is refused of them."""

from __future__ import annotations

import argparse
import os

from checks.claim import Options
from derivations.errors import Unusable

DTYPES = ("float64", "float32", "bfloat16")
MANY = 8
LONGEST = 10**8
"""Seconds, three years: far beyond them the system's timers can no longer be set."""


class BadInput(Unusable):
    """Unusable input; the message is one line that says what is wrong and what is allowed."""


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds what a run that judges claims can be told."""
    parser.add_argument(
        "--max-tokens", type=int, default=4096, help="longest sequence of tensor checks (default 4096)"
    )
    parser.add_argument("--dtype", default="float64", help=f"of tensor checks: {', '.join(DTYPES)}")
    parser.add_argument("--device", default="cpu", help="of tensor checks: cpu, cuda, cuda:0, …")
    parser.add_argument("--seed", type=int, default=0, help="of random instances (default 0)")
    parser.add_argument(
        "--workers",
        type=int,
        default=min(cores(), MANY),
        help=f"processes (default: the cores, at most {MANY})",
    )
    parser.add_argument(
        "--limit", type=float, help="seconds for one claim (default: 60 up to 4096 tokens, none beyond)"
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def require_seed(seed: int) -> None:
    """Raises BadInput for a seed that a generator does not take."""
    if not 0 <= seed < 2**32:
        raise BadInput(f"--seed {seed} is out of range; allowed: 0 to {2**32 - 1}")


def run_options(a: argparse.Namespace) -> Options:
    """The options of a run. Raises BadInput for a value out of range or a device that is not there."""
    if a.dtype not in DTYPES:
        raise BadInput(f"no dtype '{a.dtype}'; allowed: {', '.join(DTYPES)}")
    if not 64 <= a.max_tokens <= 2**21:
        raise BadInput(f"--max-tokens {a.max_tokens} is out of range; allowed: 64 to {2**21}")
    require_seed(a.seed)
    if not 1 <= a.workers <= 64:
        raise BadInput(f"--workers {a.workers} is out of range; allowed: 1 to 64")
    if a.limit is not None and not 0 < a.limit <= LONGEST:
        raise BadInput(f"--limit {a.limit} is out of range; allowed: above 0, to {LONGEST} seconds")
    if a.device != "cpu":
        _require_device(a.device)
    if a.max_tokens > Options.max_tokens:
        from checks.run import lengths

        lengths.require_memory(a.max_tokens, a.device)
    return Options(a.max_tokens, a.dtype, a.device, a.seed)


def _require_device(name: str) -> None:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError:
        raise BadInput(f"'{name}' is not a device; allowed: cpu, cuda, cuda:N") from None
    if (
        device.type != "cuda"
        or not torch.cuda.is_available()
        or (device.index or 0) >= torch.cuda.device_count()
    ):
        found = (
            f"cpu and {torch.cuda.device_count()} CUDA device(s)" if torch.cuda.is_available() else "cpu only"
        )
        raise BadInput(f"no device '{name}' on this machine; there is {found}")
