"""The preparations of nguyen2023 again, by torch's own layers: batch normalisation, average pooling,
convolution.

The second implementation that `checks.tensors.systems.nguyen2023` is compared with, followed by torch's own
attention. Values come from torch; the radii hold for any order of additions, so those of the first serve
where torch forms the same sums. Batch normalisation forms x α + β with α = 1/sqrt(σ² + ε), β = -μ α from a
two-pass variance (torch's Normalization.cpp), which rounds otherwise: its radius is computed for that form.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from checks.tensors.core import bounds
from checks.tensors.core.bounded import UNIT, Bounded
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems.nguyen2023 import Head


def batch_statistics(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and variance (d,) of the keys (N, d) as torch's batch normalisation keeps them.

    With momentum 1 its running statistics are those of the batch; its variance divides by N - 1, which is
    undone.
    """
    centre, spread = torch.zeros_like(keys[0]), torch.ones_like(keys[0])
    F.batch_norm(keys, centre, spread, training=True, momentum=1.0)
    return centre, spread * ((len(keys) - 1) / len(keys))


def bounded_statistics(keys: Bounded) -> tuple[Bounded, Bounded]:
    """The same with radii: any order of the sums, and two more roundings of the variance."""
    centre, spread = batch_statistics(keys.value)
    away = keys - systems.mean(keys)
    variance = systems.mean(away * away)
    radius = variance.error + 4 * UNIT * variance.size
    return Bounded(centre, systems.mean(keys).error), Bounded(spread, radius)


def unbiased(own: Head, eps: float) -> Bounded:
    """Keys over the deviation with N - 1, the one that ``torch.var`` has by default: not the statistic
    of (20).
    """
    keys = own.k.value
    return Bounded((keys - keys.mean(0)) / (keys.var(0) + eps).sqrt())


def normalised(own: Head, eps: float = 1e-5) -> Head:
    """Batch normalisation trained on the keys, applied to keys and queries."""
    keys = F.batch_norm(own.k.value, None, None, training=True, eps=eps)
    centre, spread = batch_statistics(own.k.value)
    queries = F.batch_norm(own.q.value, centre, spread, training=False, eps=eps)
    slope = systems.inverse_deviation(own.k, eps)
    # the variance of the queries' pass was multiplied twice more and its root taken again: 4 u covers both
    slope = Bounded(slope.value, slope.error + 4 * UNIT * slope.value.abs())
    offset = -(systems.mean(own.k) * slope)
    return own._replace(
        q=Bounded(queries, (own.q * slope + offset).error), k=Bounded(keys, (own.k * slope + offset).error)
    )


def pooled(own: Head, width: int, how: str = "average") -> Head:
    """Keys and values by ``avg_pool1d``, ``max_pool1d`` or, the first of each run, ``interpolate``."""

    def pool(tokens: torch.Tensor) -> torch.Tensor:
        if how == "first":
            return F.interpolate(tokens.T[None], scale_factor=1 / width)[0].T.contiguous()
        layer = F.avg_pool1d if how == "average" else F.max_pool1d
        return layer(tokens.T[None], width)[0].T.contiguous()

    ours = systems.pooled(own, width, how)
    return own._replace(
        k=Bounded(pool(own.k.value), ours.k.error), v=Bounded(pool(own.v.value), ours.v.error)
    )


def convolve(tokens: Bounded, kernel: torch.Tensor, grid: tuple[int, int] | None = None) -> Bounded:
    """``conv1d`` or ``conv2d`` after zero padding; the channels are the batch, as they share one kernel."""
    radius = systems.convolve(tokens, kernel, grid).error
    channels, taps = tokens.value.T[:, None], kernel.double()[None, None]
    around = [side for s in reversed(kernel.shape) for side in ((s - 1) // 2, s - 1 - (s - 1) // 2)]
    if grid is None:
        out = F.conv1d(F.pad(channels, around), taps)
    else:
        out = F.conv2d(F.pad(channels.reshape(-1, 1, *grid), around), taps)
    return Bounded(out.reshape(tokens.shape[1], -1).T.contiguous(), radius)


def convolved(own: Head, kernel: torch.Tensor, grid: tuple[int, int] | None = None) -> Head:
    """Queries and keys by torch's convolution."""
    return own._replace(q=convolve(own.q, kernel, grid), k=convolve(own.k, kernel, grid))


def masked_rows(own: Head, rows: torch.Tensor, kept: int, pattern: str = "strided") -> Bounded:
    """Sparse attention at some queries by torch's attention with a mask over all keys: (len(rows), d_v)."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = own.q.value[rows], own.k.value, own.v.value
    allowed = torch.zeros(len(rows), len(k), dtype=torch.bool, device=q.device)
    allowed.scatter_(1, systems.kept_keys(rows, len(k), kept, pattern, len(own.q)), True)
    values = torch.cat([v, v.abs()], 1)
    with sdpa_kernel([SDPBackend.MATH]):
        both = F.scaled_dot_product_attention(
            q[None, None], k[None, None], values[None, None], attn_mask=allowed
        )[0, 0]
    out, size = both.split(v.shape[1], 1)
    how = bounds.fused("math", "float64", len(k), q.device)
    picked = own._replace(q=Bounded(q, own.q.error[rows]))
    return systems.softmax_bound(picked, q.shape[1] ** -0.5, out, size, how, len(k), True)
