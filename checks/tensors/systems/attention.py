"""The attentions of nguyen2023 as torch modules with learned projections, for training and for use.

All take tokens x (B, N, width) and give (B, N, width); H heads of p = width / H each. ``valid`` (B, N), True
where there is a token, lets sequences of several lengths share a batch: what is not valid is neither attended
to nor counted in a statistic or among kept keys, whatever stands there. Every module raises TensorError for
sizes that do not fit and for choices that it does not know.

| module | queries and keys of a head | paper |
|---|---|---|
| `CanonicalAttention` | as they are | (1) to (3) |
| `AttentionBN` | less the mean, over the deviation, of its keys | (20), (22) |
| `CentredAttention` | less β times the mean of its keys | (26), with scales (51) |
| `AttentionSH` | keys and values averaged over as many tokens as the head's scale says | (25), Remark 5 |
| `AttentionBNSH` | both: averaged, then normalised by statistics of the averages | (49), (50) |
| `AttentionConv1D`, `AttentionConv2D` | convolved, values as they are | (43), (45) |

Each also with ``kernel`` "linear" (elu + 1 in place of the exponential) or with ``kept`` keys a query (16).
Where all products φ(q)·φ(k) of a query underflow (entries of -60 in float32: e^-120), linear attention is
NaN; `checks.tensors.core.stream.linear_attention` raises there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import torch
from torch import nn
from torch.nn import functional as F

from checks.tensors.core import stream
from checks.tensors.core.errors import TensorError
from checks.tensors.systems.nguyen2023 import KERNELS
from checks.tensors.systems.tokens import check_tokens, only_valid
from derivations.theories.svr.choices import MASKS

Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]
"""Queries (B, H, N, p), keys (B, H, M, p), values (B, H, M, p), valid keys (B, M) or None for all."""


class Choices(TypedDict, total=False):
    """What every attention lets one choose.

    ``kernel``: "softmax", or "linear", φ(q)·φ(k) with φ = elu + 1. ``kept``: each query keeps so many keys,
    in the ``pattern`` "strided" or "window" (`kept_mask`). ``causal``: no
    query sees later tokens, for plain softmax attention only. ``bias``: of the projections.
    """

    kernel: str
    kept: int | None
    pattern: str
    causal: bool
    bias: bool


class Scaled(Choices, total=False):
    """The same, and ``scales``, one number a head: the keys and values of head s are averages of
    ``scales[s]`` consecutive tokens (of those there are, at the end).
    """

    scales: Sequence[int] | None


class CanonicalAttention(nn.Module):
    """Attention in H heads with scores q·k / sqrt(p), eqs. (1) to (3): the base of all others."""

    mixes_tokens = False  # whether a head's preparation does, so that a causal mask would leak

    def __init__(self, width: int, heads: int, **choices: Unpack[Scaled]) -> None:
        super().__init__()
        known = Scaled.__optional_keys__
        if unknown := set(choices) - known:  # Unpack is for the type checker only
            raise TensorError(f"no choice {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")
        scales, kernel, kept = choices.get("scales"), choices.get("kernel", "softmax"), choices.get("kept")
        self.causal, self.pattern = choices.get("causal", False), choices.get("pattern", "strided")
        if heads < 1 or width < 1 or width % heads:
            raise TensorError(f"width {width} does not divide into {heads} heads")
        if kernel not in KERNELS:
            raise TensorError(f"unknown kernel {kernel!r}; allowed: {', '.join(KERNELS)}")
        if self.pattern not in MASKS:
            raise TensorError(f"unknown pattern {self.pattern!r}; allowed: {', '.join(MASKS)}")
        if scales is not None and (len(scales) != heads or min(scales) < 1):
            raise TensorError(f"{heads} heads need {heads} scales from 1 on, not {tuple(scales)}")
        if kept is not None and kept < 1:
            raise TensorError(f"a query keeps at least one key, not {kept}")
        if self.causal and (self.mixes_tokens or scales or kept or kernel == "linear"):
            raise TensorError("a causal mask goes with plain softmax attention only")
        self.heads, self.scales, self.kernel, self.kept = heads, tuple(scales or [1] * heads), kernel, kept
        bias = choices.get("bias", True)
        self.query, self.key, self.value, self.output = (nn.Linear(width, width, bias) for _ in range(4))

    def forward(self, x: torch.Tensor, valid: torch.Tensor | None = None) -> torch.Tensor:
        """x (B, N, width), valid (B, N) or None -> (B, N, width)."""
        x = check_tokens(x, self.query.in_features, valid)
        q, k, v = (
            only_valid(layer(x), valid).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        if valid is not None:  # nothing to attend to would be 0/0: a sequence without tokens is one of zeros
            valid = valid | ~valid.any(1, keepdim=True)
        outs = torch.empty_like(q)
        for scale in sorted(set(self.scales)):  # heads of one scale have keys of one length
            own = torch.tensor([s for s, w in enumerate(self.scales) if w == scale], device=x.device)
            parts = [tokens if len(own) == self.heads else tokens[:, own] for tokens in (q, k, v)]
            (keys, there), (values, _) = (pool(tokens, scale, valid) for tokens in parts[1:])
            out = self.attend(*self.prepare(own, (parts[0], keys, values, there)), scale)
            outs = out if len(own) == self.heads else outs.index_copy(1, own, out)
        return self.output(outs.transpose(1, 2).flatten(2))

    def prepare(self, own: torch.Tensor, parts: Parts) -> Parts:
        """What the variant does to the heads ``own`` before they attend."""
        return parts

    def attend(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, valid: torch.Tensor | None, scale: int
    ) -> torch.Tensor:
        """Prepared queries, keys and values, a key for ``scale`` tokens -> (B, H, N, p)."""
        n, m = q.shape[2], k.shape[2]
        mask = None if valid is None else valid[:, None, None, :]
        if self.kept is not None and self.kept < m:
            there = torch.ones(1, m, dtype=torch.bool, device=k.device) if valid is None else valid
            mask = kept_mask(there, n, scale, self.kept, self.pattern)[:, None]
        if self.kernel == "softmax":
            if self.causal and mask is not None:  # not every backend of torch takes both
                mask = mask & mask.new_ones(n, m).tril()
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=self.causal and mask is None
            )
        queries, keys = stream.elu_plus_one(q), stream.elu_plus_one(k)
        if self.kept is not None and mask is not None:
            weights = (queries @ keys.mT) * mask
            return weights @ v / weights.sum(-1, keepdim=True)
        keys = keys if mask is None else keys * mask.mT
        return (queries @ (keys.mT @ v)) / (queries @ keys.sum(2)[..., None])


def kept_mask(there: torch.Tensor, queries: int, scale: int, kept: int, pattern: str) -> torch.Tensor:
    """Which keys a query keeps, (B, queries, M): `checks.tensors.systems.nguyen2023.kept_keys` among the keys
    ``there`` (B, M) of each sequence, all of them where they are no more than ``kept``.

    A key stands for ``scale`` consecutive tokens, at the end for those there are.
    """
    place = there.cumsum(1, dtype=torch.int32) - 1  # among the keys that are there
    own = place.repeat_interleave(scale, 1)[:, :queries]
    count = (place[:, -1] + 1)[:, None, None]
    step = torch.ones_like(count) if pattern == "window" else (count // kept).clamp(min=1)
    along = (place[:, None, :] - own[:, :, None]) % count
    return (along % step == 0) & (along < kept * step) & there[:, None, :]


def pool(
    tokens: torch.Tensor, width: int, valid: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Averages of ``width`` consecutive tokens, of those that are there (others are zero), (B, H, N, p) ->
    (B, H, M, p) with M = ceil(N / width), and which of them have a token.
    """
    if width == 1:
        return tokens, valid
    n = tokens.shape[2]
    short = -n % width
    there = tokens.new_ones(len(tokens), n) if valid is None else valid.to(tokens.dtype)
    blocks = F.pad(tokens, (0, 0, 0, short)).unflatten(2, (-1, width))
    counts = F.pad(there, (0, short)).unflatten(1, (-1, width)).sum(2)
    means = blocks.sum(3) / counts.clamp(min=1)[:, None, :, None]
    return means, None if valid is None else counts > 0


def statistics(k: torch.Tensor, valid: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and variance (over N) of the keys there are, (B, H, M, p) -> two of (B, H, 1, p), eq. (20)."""
    wide = (
        k.float() if k.dtype in (torch.float16, torch.bfloat16) else k
    )  # 1/M and its sums leave half's range
    there = wide.new_ones(len(k), k.shape[2]) if valid is None else valid.to(wide.dtype)
    weights = (there / there.sum(1, keepdim=True).clamp(min=1))[:, None, :, None]
    mean = (wide * weights).sum(2, keepdim=True)
    variance = ((wide - mean).square() * weights).sum(2, keepdim=True)
    return mean.to(k.dtype), variance.to(k.dtype)


class AttentionBN(CanonicalAttention):
    """Queries and keys less the mean, over the deviation, of the head's keys, coordinate by coordinate:
    eq. (22), Definition 1. ``eps`` is added to the variance (20).
    """

    mixes_tokens = True

    def __init__(self, width: int, heads: int, *, eps: float = 1e-5, **choices: Unpack[Scaled]) -> None:
        super().__init__(width, heads, **choices)
        self.eps = eps

    def prepare(self, own: torch.Tensor, parts: Parts) -> Parts:
        """Normalised queries and keys."""
        q, k, v, valid = parts
        mean, variance = statistics(k, valid)
        scale = (variance + self.eps).rsqrt()
        return (q - mean) * scale, (k - mean) * scale, v, valid


class CentredAttention(CanonicalAttention):
    """Queries and keys less ``beta`` times the mean of the head's keys: the simplified (26), with scales
    (51). With ``beta`` 0 it is canonical attention.
    """

    mixes_tokens = True

    def __init__(self, width: int, heads: int, *, beta: float = 0.5, **choices: Unpack[Scaled]) -> None:
        super().__init__(width, heads, **choices)
        self.beta = beta

    def prepare(self, own: torch.Tensor, parts: Parts) -> Parts:
        """Centred queries and keys."""
        q, k, v, valid = parts
        moved = self.beta * statistics(k, valid)[0]
        return q - moved, k - moved, v, valid


class AttentionSH(CanonicalAttention):
    """Attention with scaled heads, (25), Definition 2, Remark 5: head s has a key and value for every
    ``scales[s]`` tokens.
    """

    def __init__(self, width: int, scales: Sequence[int], **choices: Unpack[Choices]) -> None:
        super().__init__(width, len(scales), scales=scales, **choices)


class AttentionBNSH(AttentionBN):
    """Scaled heads, each normalised by statistics of its own averaged keys: (49), (50), Definition 5."""

    def __init__(
        self, width: int, scales: Sequence[int], *, eps: float = 1e-5, **choices: Unpack[Choices]
    ) -> None:
        super().__init__(width, len(scales), eps=eps, scales=scales, **choices)


class AttentionConv1D(CanonicalAttention):
    """Queries and keys convolved along the sequence with one kernel of ``size`` taps a head, zero padding:
    (45), Definition 4. The kernel ``taps`` (H, size) is learned; it starts as the identity.
    """

    mixes_tokens = True

    def __init__(self, width: int, heads: int, *, size: int = 5, **choices: Unpack[Scaled]) -> None:
        super().__init__(width, heads, **choices)
        self.taps = nn.Parameter(identity_taps(heads, size))

    def prepare(self, own: torch.Tensor, parts: Parts) -> Parts:
        """Convolved queries and keys."""
        q, k, v, valid = parts
        q, k = (convolve(x, self.taps[own]) for x in (q, k))
        return q, k, v, valid


class AttentionConv2D(CanonicalAttention):
    """Queries and keys convolved on a grid of ``rows`` rows, tokens row by row, with one kernel of ``size`` x
    ``size`` taps a head, zero padding: (43), Definition 3. ``taps`` (H, size, size) start as the identity.
    """

    mixes_tokens = True

    def __init__(
        self, width: int, heads: int, *, rows: int, size: int = 2, **choices: Unpack[Scaled]
    ) -> None:
        super().__init__(width, heads, **choices)
        if rows < 1:
            raise TensorError(f"a grid has at least one row, not {rows}")
        self.rows, self.taps = rows, nn.Parameter(identity_taps(heads, size, size))

    def prepare(self, own: torch.Tensor, parts: Parts) -> Parts:
        """Convolved queries and keys."""
        q, k, v, valid = parts
        q, k = (convolve(x, self.taps[own], self.rows) for x in (q, k))
        return q, k, v, valid


def identity_taps(heads: int, *shape: int) -> torch.Tensor:
    """Kernels (H, …) that leave tokens as they are. Raises TensorError for an empty one."""
    if min(shape) < 1:
        raise TensorError(f"a kernel has at least one tap, not {min(shape)}")
    taps = torch.zeros(heads, *shape)
    middle = taps[:, (shape[0] - 1) // 2]
    (middle if len(shape) == 1 else middle[:, (shape[1] - 1) // 2]).fill_(1.0)
    return taps


def convolve(tokens: torch.Tensor, taps: torch.Tensor, rows: int = 1) -> torch.Tensor:
    """Tokens (B, H, N, p), all channels of a head by its kernel (H, s) or, on a grid, (H, s, s): the same
    shape. Tokens beyond the edge count as zero, as those that are not there are.

    Raises TensorError where the rows do not divide the tokens.
    """
    batch, heads, n, p = tokens.shape
    if n % rows:
        raise TensorError(f"{n} tokens do not make {rows} rows")
    image = tokens.transpose(2, 3).reshape(batch, heads * p, rows, n // rows)
    kernel = taps if taps.ndim == 3 else taps[:, None]
    sides = [side for s in reversed(kernel.shape[1:]) for side in ((s - 1) // 2, s - 1 - (s - 1) // 2)]
    weight = kernel.repeat_interleave(p, 0)[:, None]
    out = F.conv2d(F.pad(image, sides), weight, groups=heads * p)
    return out.reshape(batch, heads, p, n).transpose(2, 3)
