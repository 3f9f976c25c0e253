"""Seeded attention inputs of any length, of which a shorter one is always the beginning of a longer one.

Tokens come in blocks of 1024; each block has its own counter-based Philox key (seed, head, tensor, block), so
that any range of tokens is made without the ones before it, on every machine alike up to the last digit.

The law is chosen so that a wrong formula shows at every length:
- keys k_jl ~ N(0, 1);
- queries q_i = tau_i k_i + noise/2. Every fourth token (3, 7, 11, ...) is a *retrieval* token, tau uniform in
  [1, 2): its weight on itself is of order 1 even among 131,072 keys (for d = 64). The others have tau uniform
  in [0, 1) and attend diffusely, as most rows of trained heads do. A dropped or doubled key therefore changes
  some row by far more than any rounding bound; with diffuse rows alone it would change each by 1/N only;
- values v_jc = (-1)^c + N(0, 1)/2: columns of both signs with means that do not vanish, so that the outputs
  keep order 1 where zero-mean values would average out like 1/sqrt(N).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from checks.tensors.core.arrays import resolve_device, resolve_dtype
from checks.tensors.core.errors import TensorError

BLOCK = 1024


class Instance(NamedTuple):
    """Queries and keys (..., tokens, d), values (..., tokens, d_v)."""

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor


def make_instance(
    tokens: int,
    d: int = 64,
    d_v: int | None = None,
    *,
    seed: int = 0,
    heads: tuple[int, ...] = (),
    start: int = 0,
    dtype: str | torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> Instance:
    """Tokens start ... start + tokens of the endless instance of this seed, rounded to `dtype`.

    `heads`: leading dimensions, each with streams of its own. Raises TensorError for sizes that are not
    positive and a negative seed or start.
    """
    d_v = d if d_v is None else d_v
    if min(tokens, d, d_v, *heads) < 1 or min(seed, start) < 0:
        raise TensorError(
            f"instance of {tokens} tokens from {start}, widths {d} and {d_v}, heads {heads}, "
            f"seed {seed}: sizes must be positive, seed and start not negative"
        )
    found_dtype, found_device = resolve_dtype(dtype), resolve_device(device)
    parts = [_head(seed, head, start, tokens, d, d_v) for head in range(math.prod(heads))]
    stacked = (np.stack(side).reshape(*heads, tokens, -1) for side in zip(*parts, strict=True))
    return Instance(*(torch.from_numpy(side).to(device=found_device, dtype=found_dtype) for side in stacked))


def sampled_rows(n: int, count: int, seed: int = 0) -> torch.Tensor:
    """Query rows at which another formula is compared with a streamed result: sorted, distinct, long.

    Always the first and the last row, and random ones between, `count` in all (all n if there are fewer).
    Raises TensorError for n or count below 1.
    """
    if min(n, count) < 1:
        raise TensorError(f"{count} rows of {n}: both must be positive")
    if count >= n:
        return torch.arange(n)
    ends = [0, n - 1][-count:]
    inner = np.random.Generator(np.random.Philox(seed)).choice(n - 2, count - len(ends), replace=False) + 1
    return torch.from_numpy(np.sort(np.concatenate([ends, inner]).astype(np.int64)))


@lru_cache(maxsize=2)  # the checks of one length want the same; at 1,048,576 tokens it takes longer than they
def _head(seed: int, head: int, start: int, tokens: int, d: int, d_v: int) -> tuple[np.ndarray, ...]:
    """One head in float64: queries, keys, values; not to be written to."""
    token = np.arange(start, start + tokens)
    k = _normal(seed, head, 0, start, tokens, d)
    noise = _normal(seed, head, 1, start, tokens, d)
    v = (-1.0) ** np.arange(d_v) + _normal(seed, head, 2, start, tokens, d_v) / 2
    tau = _uniform(seed, head, 3, start, tokens, 1) + (token[:, None] % 4 == 3)
    return tau * k + noise / 2, k, v


def _uniform(seed: int, head: int, stream: int, start: int, tokens: int, width: int) -> np.ndarray:
    """(tokens, width) uniform in [0, 1): raw Philox bits, whose sequence numpy guarantees."""
    first, last = start // BLOCK, (start + tokens - 1) // BLOCK
    blocks = []
    for block in range(first, last + 1):
        bits = np.random.Philox(key=[seed, (head << 44) | (stream << 40) | block])
        blocks.append(bits.random_raw(BLOCK * width).reshape(BLOCK, width))
    raw = np.concatenate(blocks)[start - first * BLOCK :][:tokens]
    return (raw >> np.uint64(11)) * 2.0**-53


def _normal(seed: int, head: int, stream: int, start: int, tokens: int, width: int) -> np.ndarray:
    """(tokens, width) standard normal by Box-Muller."""
    pairs = _uniform(seed, head, stream, start, tokens, 2 * ((width + 1) // 2))
    half = pairs.shape[1] // 2
    radius, angle = np.sqrt(-2 * np.log1p(-pairs[:, :half])), 2 * math.pi * pairs[:, half:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], 1)[:, :width]
