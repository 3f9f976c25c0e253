"""Every attention of nguyen2023 as a system: prepare queries and keys, attend, combine the heads.

All of them are one of two attentions (softmax, linear with elu + 1), over all keys or over a subset that
depends on the query, on queries and keys that were normalised, centred, pooled or convolved first:

    softmax_attention    (2)                     attend(head)
    linear_attention     Section 2.2.1           attend(head, kernel="linear")
    sparse attention     (16)                    attend(head, kept=M)
    multi-head           (3)                     multihead(heads, W_O)
    residual             (36)                    residual(tokens, W_Q, W_K, W_V)
    Attention-BN         (22), Definition 1      attend(normalised(head, eps))
    simplified           (26), (51)              attend(centred(head, beta))
    Attention-SH         (25), Remark 5          multihead([pooled(head, w) for ...], W_O)
    Attention-BN+SH      (49), Definition 5      multihead([normalised(pooled(head, w), eps) for ...], W_O)
    Attention-Conv1D/2D  (43), (45)              attend(convolved(head, kernel, grid))
    CvT projections      (44)                    attend(projected_by_convolution(tokens, kernels, grid))

Their linear and sparse versions are the same with ``kernel`` and ``kept``. Preparation runs in float64 on
tensors that carry proved error bounds (`checks.tensors.core.bounded`), attention in any dtype on the
streamed engine, memory O(N d).

How the preparation enters the error. Let the prepared q_i, k_j lie within r_i, s_j (vectors of radii) of the
exact ones. By Cauchy-Schwarz each scaled score moves by at most

    E_i = scale max_j (|q_i| |s_j| + |r_i| (|k_j| + |s_j|)),

so each softmax weight by a factor within exp(±2 E_i) and the output by at most expm1(2 E_i) Σ_j a_ij |v_jc| +
max_j |δv_jc| beyond the bound of the engine on the prepared inputs (BOUNDS.md). For elu + 1 the logarithm of
a feature is Lipschitz with constant 1, because φ' = min(1, e^x) <= φ; so a weight moves by exp(±2 (max_c r_ic
+ max_jc s_jc)). Rounding prepared inputs to a narrower dtype is one more radius, u |q_i|.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from checks.tensors.core import bounds, fused, stream
from checks.tensors.core.arrays import resolve_dtype, resolve_scale, slices, working_dtype
from checks.tensors.core.bounded import Bounded, einsum
from checks.tensors.core.errors import TensorError

KERNELS = ("softmax", "linear")


class Head(NamedTuple):
    """Queries (M, d), keys (N, d) and values (N, d_v) of one head, float64 with radii."""

    q: Bounded
    k: Bounded
    v: Bounded


def head(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Head:
    """A head of exact float64 inputs."""
    return Head(Bounded(q.double()), Bounded(k.double()), Bounded(v.double()))


# ---------------------------------------------------------------- preparation


def mean(tokens: Bounded) -> Bounded:
    """μ = 1/N Σ_j k_j, (N, d) -> (d,), eq. (20)."""
    total = einsum("nd->d", tokens)
    return total * Bounded.rounded(torch.full_like(total.value, 1 / len(tokens)))


def inverse_deviation(tokens: Bounded, eps: Bounded | float, unbiased: bool = False) -> Bounded:
    """s^-1 = 1/sqrt(σ² + ε) with the variance over N, (N, d) -> (d,), eq. (20); ``unbiased``: over N - 1."""
    away = tokens - mean(tokens)
    added = eps if isinstance(eps, Bounded) else Bounded(torch.full_like(tokens.value[0], eps))
    variance, n = mean(away * away), len(tokens)
    if unbiased:
        variance = variance * Bounded.rounded(torch.full_like(variance.value, n / (n - 1)))
    return (variance + added) ** -0.5


def normalised(own: Head, eps: Bounded | float = 1e-5, statistics: str = "mean_and_variance") -> Head:
    """Queries and keys less the mean of the keys, over the deviation of the keys, eq. (22).

    ``statistics``: as the knob of theory svr has it, in place of mean and deviation of the keys.
    """
    if statistics == "none":
        return own
    source = own.q if statistics == "of_queries" else own.k
    centre = mean(source)
    away = own._replace(q=own.q - centre, k=own.k - centre)
    if statistics == "mean":
        return away
    inverse = inverse_deviation(source, eps, statistics == "unbiased_variance")
    return away._replace(q=away.q * inverse, k=away.k * inverse)


def centred(own: Head, beta: float) -> Head:
    """Queries and keys less β times the mean of the keys, eq. (26); ``beta`` is taken as exact."""
    centre = mean(own.k) * Bounded(torch.full_like(own.k.value[0], beta))
    return own._replace(q=own.q - centre, k=own.k - centre)


def pool_blocks(tokens: Bounded, width: int) -> Bounded:
    """Runs of ``width`` consecutive tokens, (N, d) -> (N / width, width, d). Raises TensorError unless
    it divides N.
    """
    if width < 1 or len(tokens) % width:
        raise TensorError(f"a pool of {width} tokens does not divide {len(tokens)} tokens")
    return tokens.reshape(-1, width, tokens.shape[-1])


def pool(tokens: Bounded, width: int) -> Bounded:
    """Averages of ``width`` consecutive tokens, (N, d) -> (N / width, d). Raises TensorError unless it
    divides N.
    """
    total = einsum("nwd->nd", pool_blocks(tokens, width))
    return total * Bounded.rounded(torch.full_like(total.value, 1 / width))


def pooled(own: Head, width: int, how: str = "average") -> Head:
    """Keys and values pooled (Remark 5); all queries stay. ``how``: the average, the first or the
    largest coordinates.
    """
    if how == "average":
        return own._replace(k=pool(own.k, width), v=pool(own.v, width))
    take = first if how == "first" else largest
    return own._replace(k=take(own.k, width), v=take(own.v, width))


def first(tokens: Bounded, width: int) -> Bounded:
    """Every ``width``-th token. Raises TensorError unless it divides their number."""
    return pool_blocks(tokens, width)[:, 0]


def largest(tokens: Bounded, width: int) -> Bounded:
    """The largest coordinates of ``width`` consecutive exact tokens. Raises TensorError unless it
    divides their number.
    """
    blocks = pool_blocks(tokens, width)
    # the largest of numbers that are each within a radius is within the largest radius
    return Bounded(blocks.value.amax(1), None if blocks.radius is None else blocks.radius.amax(1))


def convolve(tokens: Bounded, kernel: torch.Tensor, grid: tuple[int, int] | None = None) -> Bounded:
    """Depth-wise convolution with one kernel for all channels, stride 1, zero padding that keeps the size.

    tokens (N, d); kernel (s,), or (s, s) with ``grid`` = (rows, columns), rows x columns = N, tokens row by
    row. As in neural networks the kernel is not mirrored; one of even length reaches further to the right.
    Raises TensorError for shapes that do not fit.
    """
    rows, columns = grid or (1, len(tokens))
    taps = kernel.double() if kernel.ndim == 2 else kernel.double()[None]
    if rows * columns != len(tokens) or (kernel.ndim == 2) != (grid is not None):
        raise TensorError(
            f"a kernel of shape {tuple(kernel.shape)} on a {rows} x {columns} grid of {len(tokens)} tokens"
        )
    high, wide = taps.shape
    shifts = [
        _shifted(tokens.reshape(rows, columns, -1), a - (high - 1) // 2, b - (wide - 1) // 2)
        for a in range(high)
        for b in range(wide)
    ]
    together = Bounded(torch.stack([s.value for s in shifts]), torch.stack([s.error for s in shifts]))
    return einsum("s,sxyd->xyd", Bounded(taps.flatten()), together).reshape(len(tokens), -1)


def _shifted(image: Bounded, down: int, right: int) -> Bounded:
    """image[x + down, y + right], 0 outside; (rows, columns, d)."""

    def move(x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(x)
        rows, columns = x.shape[:2]
        at = [slice(max(0, -s), min(n, n - s)) for s, n in ((down, rows), (right, columns))]
        source = [slice(max(0, s), min(n, n + s)) for s, n in ((down, rows), (right, columns))]
        if all(s.stop > s.start for s in at):
            out[at[0], at[1]] = x[source[0], source[1]]
        return out

    return Bounded(move(image.value), move(image.error))


def convolved(own: Head, kernel: torch.Tensor, grid: tuple[int, int] | None = None) -> Head:
    """Queries and keys convolved with the same kernel, values as they are, eq. (43) and (45)."""
    return own._replace(q=convolve(own.q, kernel, grid), k=convolve(own.k, kernel, grid))


def projected_by_convolution(
    tokens: Bounded, kernels: Sequence[torch.Tensor], grid: tuple[int, int] | None = None
) -> Head:
    """Queries, keys and values as three convolutions of the same tokens: CvT, as (44) should read."""
    q, k, v = (convolve(tokens, kernel, grid) for kernel in kernels)
    return Head(q, k, v)


# ---------------------------------------------------------------- attention


def kept_keys(
    rows: torch.Tensor, n: int, kept: int, pattern: str = "strided", queries: int | None = None
) -> torch.Tensor:
    """A subset of the n keys for each query: ``kept`` keys around the circle from that of its own token on.

    At equal steps, or side by side with the pattern "window" (all keys are both). ``queries``: how many
    tokens there are, where equally many have one key (else see `checks.tensors.systems.attention.kept_mask`).
    rows (b,) -> (b, kept), distinct if kept <= n. Raises TensorError otherwise.
    """
    if not 1 <= kept <= n:
        raise TensorError(f"{kept} keys kept of {n}")
    step = 1 if pattern == "window" else n // kept
    own = rows if queries is None else rows * n // queries
    return (own[:, None] + torch.arange(kept, device=rows.device) * step) % n


def attend(
    own: Head,
    *,
    kernel: str = "softmax",
    kept: int | None = None,
    pattern: str = "strided",
    scale: float | None = None,
    dtype: str | torch.dtype = "float64",
) -> Bounded:
    """Attention with the error bound of the module's head: (M, d_v). Queries are tokens 0, 1, … where
    ``kept`` asks.

    ``kernel``: "softmax", exp(scale q·k) with scale 1/sqrt(d) unless given, or "linear", φ(q)·φ(k) with φ =
    elu + 1. ``kept``: only the keys of ``kept_keys``. Raises TensorError for an unknown kernel or unusable
    tensors.
    """
    if kernel not in KERNELS:
        raise TensorError(f"unknown kernel {kernel!r}; allowed: {', '.join(KERNELS)}")
    inputs = Head(*(_to(x, resolve_dtype(dtype)) for x in own))
    scale = resolve_scale(scale, own.q.shape[-1])
    q, k, v = (x.value.to(resolve_dtype(dtype)) for x in inputs)
    if kept is not None:
        return _sparse(inputs, kernel, (kept, pattern), scale, dtype)
    if kernel == "linear":
        out, size = stream.linear_attention(q, k, v), stream.linear_attention(q, k, v.abs())
        return _linear_bound(inputs, out, size, dtype, *k.shape[::-1])
    result = stream.attend(q, k, v, scale, magnitude=True)
    how = bounds.streamed(dtype, None, q.device)
    assert result.magnitude is not None
    return softmax_bound(inputs, scale, result.out, result.magnitude, how, len(k), result.shifted)


def fused_attend(
    own: Head,
    *,
    rows: torch.Tensor | None = None,
    scale: float | None = None,
    dtype: str | torch.dtype = "float64",
) -> tuple[Bounded, str]:
    """The same softmax attention by torch's own kernel, and the backend that it ran on.

    The columns |v| go along with v, so that the kernel itself gives the Σ_j a_ij |v_jc| of its bound.
    ``rows``: only these queries.
    """
    own = own if rows is None else own._replace(q=own.q[rows])
    inputs = Head(*(_to(x, resolve_dtype(dtype)) for x in own))
    q, k, v = (x.value.to(resolve_dtype(dtype)) for x in inputs)
    scale = resolve_scale(scale, q.shape[-1])
    result = fused.attention(q, k, torch.cat([v, v.abs()], -1), scale)
    out, size = result.out.split(v.shape[1], -1)
    how = bounds.fused(result.backend, dtype, len(k), q.device)
    return softmax_bound(inputs, scale, out, size, how, len(k), True), result.backend


def softmax_bound(
    own: Head,
    scale: float,
    out: torch.Tensor,
    magnitude: torch.Tensor,
    how: bounds.Arithmetic,
    keys: int,
    shifted: bool,
) -> Bounded:
    """An engine's output (M, d_v) with the bound of the module's head.

    ``magnitude`` (M, d_v): Σ_j a_ij |v_jc| as the engine computed it with the same weights; ``keys``: how
    many keys a query sums over.
    """
    d = own.q.shape[-1]
    sizes = bounds.score_sizes(own.q.value, own.k.value, scale, how)
    omega = bounds.log_error(how, d, keys, sizes)[:, None]
    size = magnitude.double() * torch.exp(omega)
    largest = float(own.v.value.abs().max())
    bound = bounds.attention_bound(how, d, keys, sizes, size, largest, shifted)
    return Bounded(out.double(), bound + torch.expm1(2 * _moved(own, scale)) * size + _moved_values(own))


def _to(x: Bounded, dtype: torch.dtype) -> Bounded:
    """Rounded to a narrower dtype, the rounding in the radius."""
    if dtype == torch.float64:
        return x
    near = x.value.to(dtype).double()
    return Bounded(near, x.error + (near - x.value).abs())


def _moved(own: Head, scale: float) -> torch.Tensor:
    """E_i of the module's head, (M, 1)."""

    def norms(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vector_norm(x, dim=-1, keepdim=True)

    far, near = norms(own.k.value).amax(), norms(own.k.error).amax()
    return abs(scale) * bounds.SAFETY * (norms(own.q.value) * near + norms(own.q.error) * (far + near))


def _moved_values(own: Head) -> torch.Tensor | float:
    return 0.0 if own.v.radius is None else own.v.radius.amax(0) * bounds.SAFETY


def _linear_bound(
    own: Head, out: torch.Tensor, size: torch.Tensor, dtype: str | torch.dtype, *shape: int
) -> Bounded:
    """Linear attention with its bound: ``size`` a computed Σ_j a_ij |v_jc|; ``shape`` as
    `bounds.linear_attention_factor` asks for it.
    """
    factor, lost = bounds.linear_attention_factor(dtype, *shape), bounds.linear_attention_lost(dtype)
    moved = 2 * (own.q.error.amax(-1, keepdim=True) + own.k.error.amax()) * bounds.SAFETY
    true = (size.double() + lost) * (1 + 2 * factor)  # factor < 1/2: 1/(1 - f) <= 1 + 2 f
    error = true * (factor + torch.expm1(moved) * (1 + factor)) + lost
    return Bounded(out.double(), error + _moved_values(own))


def _sparse(own: Head, kernel: str, mask: tuple[int, str], scale: float, dtype: str | torch.dtype) -> Bounded:
    """Attention to the kept keys, some queries at a time: their keys are gathered, (b, kept, d)."""
    kept, pattern = mask
    resolved = resolve_dtype(dtype)
    work = working_dtype(resolved)
    q, k, v = (x.value.to(resolved).to(work) for x in own)
    values, outs = torch.cat([v, v.abs()], 1), []
    for part in slices(len(q), max(1, (1 << 23) // (kept * k.shape[1]))):
        rows = torch.arange(part.start, part.stop, device=q.device)
        keys = kept_keys(rows, len(k), kept, pattern, len(q))
        if kernel == "linear":
            features = stream.accurate_features(q[part]), stream.accurate_features(k[keys])
            weights = torch.einsum("id,imd->im", *features)
        else:
            scores = torch.einsum("id,imd->im", q[part] * scale, k[keys])
            weights = torch.exp(scores - scores.amax(1, keepdim=True))
        outs.append(torch.einsum("im,imv->iv", weights, values[keys]) / weights.sum(1, keepdim=True))
    out, size = torch.cat(outs).split(v.shape[1], 1)
    if kernel == "linear":
        return _linear_bound(own, out, size, dtype, k.shape[1], kept, kept)
    how = bounds.streamed(dtype, stream.Tile(1, kept))
    return softmax_bound(own, scale, out, size, how, kept, True)


# ---------------------------------------------------------------- heads and residual


def combine(outputs: Sequence[Bounded], weights: torch.Tensor) -> Bounded:
    """Σ_s W_O^s h^s: outputs (N, d_v) each, weights (H, m, d_v) -> (N, m), eq. (3)."""
    if len(outputs) != len(weights):
        raise TensorError(f"{len(outputs)} heads and {len(weights)} projections")
    parts = [out @ Bounded(own.double()).T for out, own in zip(outputs, weights, strict=True)]
    return sum(parts[1:], parts[0])


def multihead(
    heads: Sequence[Head],
    weights: torch.Tensor,
    *,
    kernel: str = "softmax",
    kept: int | None = None,
    pattern: str = "strided",
    dtype: str | torch.dtype = "float64",
) -> Bounded:
    """Σ_s W_O^s attention of head s, the heads with key sets of any sizes: (3), (25), (49).

    A head with fewer keys than ``kept`` keeps them all.
    """
    outs = [
        attend(h, kernel=kernel, kept=kept and min(kept, len(h.k)), pattern=pattern, dtype=dtype)
        for h in heads
    ]
    return combine(outs, weights)


def projected(tokens: Bounded, weights: torch.Tensor) -> Bounded:
    """X Wᵀ: tokens (N, d_x), weights (m, d_x) -> (N, m)."""
    return tokens @ Bounded(weights.double()).T


def residual(
    tokens: Bounded,
    w_q: torch.Tensor,
    w_k: torch.Tensor,
    w_v: torch.Tensor,
    *,
    kernel: str = "softmax",
    dtype: str | torch.dtype = "float64",
) -> Bounded:
    """x_i + Σ_j softmax((W_Q x_i)·(W_K x_j)/sqrt(d)) W_V x_j with d_x = d_v: tokens (N, d_x) -> (N, d_x).

    Raises TensorError if W_V does not map to the width of the tokens.
    """
    if w_v.shape[0] != tokens.shape[1]:
        raise TensorError(
            f"values are {w_v.shape[0]} wide and tokens {tokens.shape[1]}; a residual adds them"
        )
    own = Head(*(projected(tokens, w) for w in (w_q, w_k, w_v)))
    return tokens + attend(own, kernel=kernel, dtype=dtype)
