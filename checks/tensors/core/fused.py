"""The second, independent engine: torch's `scaled_dot_product_attention`, with the backend that really ran.

The backend is forced, so that torch either uses it or refuses: the name in the result is a fact. On CPU it is
the fused flash kernel; on CUDA flash for bfloat16, memory-efficient for float32, and for float64 the plain
`math` kernel, which forms the scores and is therefore fed a few queries at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad, scaled_dot_product_attention

from checks.tensors.core.arrays import (
    check_attention_shapes,
    chunk_rows,
    dtype_name,
    exact_matmul,
    prepare,
    resolve_scale,
    slices,
)
from checks.tensors.core.errors import TensorError
from checks.tensors.core.stream import logsumexp_rows, sharing_now

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}

MULTIPLE = 8  # of columns: what torch's fused kernels on CUDA take in every number type


class Fused(NamedTuple):
    """What torch's kernel returned, and what it ran on."""

    out: torch.Tensor  # (..., M, d_v), in the dtype of the inputs
    log_sum: torch.Tensor | None  # (..., M) log of the normaliser, where the kernel gives it and it was asked
    backend: str  # flash, efficient or math
    dtype: str
    device: str


def backend_for(device: torch.device, dtype: torch.dtype) -> str:
    """The backend that this engine forces on a device for a dtype."""
    if device.type == "cpu":
        return "flash"
    return {torch.float64: "math", torch.float32: "efficient"}.get(dtype, "flash")


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    mask: str | None = None,
    *,
    log_sum: bool = False,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    allow_tf32: bool = False,
) -> Fused:
    """Softmax attention by `scaled_dot_product_attention`.

    q (..., M, d), k (..., N, d), v (..., N, d_v) -> out (..., M, d_v). `mask` is None or "causal"; other
    masks would need an N x N tensor here. `log_sum` is given on CPU only (None elsewhere).
    Raises TensorError for unusable tensors or masks and when torch refuses the backend.
    """
    q, k, v = prepare(dtype, device, q=q, k=k, v=v)
    check_attention_shapes(q, k, v)
    if mask not in (None, "causal"):
        raise TensorError(f"the fused engine has no mask {mask!r}; allowed: None, causal")
    scale, sharing = resolve_scale(scale, q.shape[-1]), sharing_now()
    if sharing is None or mask is not None:
        return _attention(q, k, v, scale, mask, log_sum, allow_tf32)
    return sharing.kernel(_attention, q, k, v, scale, mask, log_sum, allow_tf32)


def _attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float,
    mask: str | None,
    log_sum: bool,
    allow_tf32: bool,
) -> Fused:
    """The kernel on checked tensors."""
    width = v.shape[-1]
    backend = backend_for(q.device, q.dtype)
    lead = q.shape[:-2]
    multiple = 1 if q.device.type == "cpu" else MULTIPLE
    wide = -(-max(q.shape[-1], width) // multiple) * multiple
    heads = _four_dimensional(q, wide), _four_dimensional(k, wide), _four_dimensional(v, wide)
    with exact_matmul(allow_tf32):
        if backend == "math":
            out, sums = _by_rows(*heads, scale, mask == "causal"), None
        elif log_sum and q.device.type == "cpu":
            # unlike its public counterpart, it reads any memory as if the last dimension lay side by side
            out, sums = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                *(h.contiguous() for h in heads), 0.0, mask == "causal", scale=scale
            )
        else:
            out, sums = _forced(backend, *heads, scale, mask == "causal"), None
    out = out[..., :width].reshape(*lead, q.shape[-2], width)
    sums = None if sums is None else sums.reshape(*lead, q.shape[-2])
    return Fused(out, sums, backend, dtype_name(q.dtype), str(q.device))


def transpose_product(
    q: torch.Tensor,
    k: torch.Tensor,
    u: torch.Tensor,
    scale: float | None = None,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
) -> Fused:
    """Aᵀ u with A = softmax(scale q kᵀ), by one fused forward of the transposed problem.

    With l the row log-sums, Aᵀ u = c ∘ SDPA([k, 1], [q, -l/scale], u), where c_j is the normaliser of that
    problem. q (..., M, d), k (..., N, d), u (..., M, w) -> out (..., N, w). The log-sums of both problems
    come from the reference engine. Raises TensorError as `attention` does, and for scale 0.
    """
    q, k, u = prepare(dtype, device, q=q, k=k, u=u)
    check_attention_shapes(k, q, u)
    scale = resolve_scale(scale, q.shape[-1])
    if scale == 0:
        raise TensorError("scale is 0; the transpose product by the fused engine divides by it")
    rows = logsumexp_rows(q, k, scale).to(q.dtype)
    keys = torch.cat([k, k.new_ones((*k.shape[:-1], 1))], -1)
    queries = torch.cat([q, -rows.unsqueeze(-1) / scale], -1)
    result = attention(keys, queries, u, scale)
    normaliser = logsumexp_rows(keys, queries, scale).exp().unsqueeze(-1)
    return result._replace(out=result.out * normaliser.to(result.out.dtype))


def _four_dimensional(x: torch.Tensor, width: int) -> torch.Tensor:
    """(..., tokens, d) as (1, heads, tokens, width); zero columns, which change no score, fill the width."""
    return pad(x.reshape(1, -1, *x.shape[-2:]), (0, width - x.shape[-1]))


def _forced(
    backend: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool
) -> torch.Tensor:
    try:
        with sdpa_kernel([BACKENDS[backend]]):
            return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    except RuntimeError as problem:
        reason = str(problem).splitlines()[0]
        raise TensorError(
            f"torch refuses its {backend} attention kernel for {dtype_name(q.dtype)} on {q.device}: {reason}"
        ) from None


def _by_rows(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool) -> torch.Tensor:
    """The math kernel on a few queries at a time, because it forms their scores."""
    n = k.shape[-2]
    keys = torch.arange(n, device=k.device)
    height = chunk_rows(n, 1 << 30, q.element_size() * math.prod(q.shape[:-2]))
    parts = []
    for part in slices(q.shape[-2], height):
        allowed = keys <= torch.arange(part.start, part.stop, device=k.device)[:, None] if causal else None
        with sdpa_kernel([SDPBackend.MATH]):
            parts.append(scaled_dot_product_attention(q[..., part, :], k, v, attn_mask=allowed, scale=scale))
    return torch.cat(parts, -2)
