"""Whether a measurement fits memory, estimated from sizes before anything is read."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from checks.tensors.core.errors import TensorError
from checks.tensors.measure.head import Settings, bytes_needed
from checks.tensors.measure.load import Layer

GIB = 2**30


def available_bytes(device: torch.device) -> int:
    """Memory that is free now: on the card, or of the machine and its control group, whichever is less."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # not Linux: all there is, as nothing says what others use
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return free if limit == "max" else min(free, int(limit) - int(used))
    except (OSError, ValueError):
        return free


def require(needed: int, available: int, what: str) -> None:
    """Raises TensorError if `needed` bytes are more than are available."""
    if needed > available:
        raise TensorError(
            f"{what} needs about {needed / GIB:.2g} GiB and {max(available, 0) / GIB:.2g} GiB are "
            "available; measure fewer tokens with --tokens, or raise --max-memory"
        )


def require_fit(layers: list[Layer], tokens: int | None, settings: Settings, available: int) -> None:
    """Raises TensorError if the largest layer with one of its heads under measurement does not fit."""
    for layer in layers:
        m, n = layer.q.shape[-2], layer.k.shape[-2]
        if tokens is not None:
            m, n = min(m, tokens), min(n, tokens)
        needed = layer.bytes + bytes_needed(m, n, layer.q.shape[-1], layer.v.shape[-1], settings)
        require(
            needed,
            available,
            f"a head of {n} tokens, width {layer.q.shape[-1]}, in a layer of {layer.bytes / GIB:.2g} GiB,",
        )
