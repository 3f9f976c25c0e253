"""Proved forward-error bounds for streamed attention; the derivation is in BOUNDS.md beside this file.

In short. Let u be the unit roundoff of the accumulating dtype, g(n) = n u / (1 - n u), and
S_i >= scale |q_i| max_j |k_j| >= sum_l |q_il| |k_jl| scale (Cauchy-Schwarz). A computed exponential is
exp(s_ij) exp(f_ij) up to a shift of the row, with

    |f_ij| <= F_i = g(d + r) S_i + e / (1 - e),                             scores, then exponential

r roundings beside those of the dot product, e the relative error of exp. A sum over N keys in blocks of B
multiplies each term by 1 + t, |t| <= g(B + ceil(N/B)), so by exp(±T), T = g/(1 - g). Numerator and normaliser
have both errors, the quotient one or two roundings more, hence

    o^_ic = sum_j a_ij v_jc exp(w_j),  |w_j| <= Omega_i = 2 (F_i + T) + g(2) / (1 - g(2)),
    |o^_ic - o_ic| <= expm1(Omega_i) * sum_j a_ij |v_jc|,

to all orders, no terms neglected; underflow adds an absolute term. Assumptions, each a field of `Arithmetic`:
round to nearest in the stated dtype; dot products and blocks summed in any order; the stated accuracy of exp;
blocks of the stated length. After Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax
functions (IMA J. Numer. Anal. 2021), which has the softmax for given scores; Higham, Accuracy and Stability
of Numerical Algorithms, ch. 3, for g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from checks.tensors.core.arrays import dtype_name, resolve_dtype, resolve_scale, working_dtype
from checks.tensors.core.errors import TensorError
from checks.tensors.core.stream import Pass, Tile, default_tile

# Bounds are themselves computed in float64 with a few hundred roundings; this much covers them.
SAFETY = 1 + 2.0**-20


def unit_roundoff(dtype: str | torch.dtype) -> float:
    """u = 2^-53, 2^-24, 2^-8 for float64, float32, bfloat16."""
    return torch.finfo(resolve_dtype(dtype)).eps / 2


def gamma(n: float, unit: float) -> float:
    """n u / (1 - n u), the relative error of n roundings. Raises TensorError where n u >= 1/2."""
    if n * unit >= 0.5:
        raise TensorError(f"{n:.0f} roundings of unit {unit:.1e} leave no digit; no bound can be given")
    return n * unit / (1 - n * unit)


def _log(relative: float) -> float:
    """A bound of |log(1 + x)| for |x| <= relative."""
    return relative / (1 - relative)


@dataclass(frozen=True)
class Arithmetic:
    """What a bound assumes of the engine that it is about."""

    name: str
    unit: float  # u of the dtype that products and sums are formed in
    tiny: float  # its smallest normal number: results below may be flushed to zero
    exp_error: float  # relative error of exp
    score_roundings: int  # on a score, beside the d of its dot product
    block: int  # keys a block
    rescale_error: float | None = None  # flash: relative error of exp(old - new maximum); None: no rescaling
    weight_unit: float = 0.0  # rounding of the weights before they meet the values (bfloat16 flash)
    output_unit: float = 0.0  # rounding of the result to a narrower dtype
    input_unit: float = 0.0  # rounding of q, k, v, where the truth is of the unrounded ones

    def on_unrounded_inputs(self, dtype: str | torch.dtype) -> Arithmetic:
        """The same engine, judged by the exact attention of inputs not yet rounded to `dtype`."""
        return Arithmetic(**{**self.__dict__, "input_unit": unit_roundoff(dtype)})


def streamed(
    dtype: str | torch.dtype, tile: Tile | None = None, device: str | torch.device = "cpu"
) -> Arithmetic:
    """`stream.py`: exp within 2 ulp (Sleef and MKL claim 1); scale rounded and applied, shift subtracted."""
    work = working_dtype(resolve_dtype(dtype))
    unit, cols = unit_roundoff(work), (tile or default_tile(torch.device(device))).cols
    return Arithmetic(f"streamed {dtype_name(work)}", unit, torch.finfo(work).tiny, 4 * unit, 4, cols)


def fused(backend: str, dtype: str | torch.dtype, n: int, device: str | torch.device = "cpu") -> Arithmetic:
    """torch's own kernel. n: number of keys, which is the block of the `math` kernel.

    CPU flash: 512 keys a block, exp within 20 ulp in float32 (`exp_u20`), 2^-11 for bfloat16 (`fexp_u20`,
    a cubic with error about 1e-4), 2 ulp in float64 and for the rescaling factors (std::exp, exact at 0);
    read in torch's FlashAttentionKernel.cpp. CUDA: between 32 and 512 keys a block, exp2 within 20 ulp.
    Raises TensorError for an unknown backend.
    """
    target = resolve_dtype(dtype)
    work, device = working_dtype(target), torch.device(device)
    unit, narrow = unit_roundoff(work), unit_roundoff(target)
    exp_error = rescale_error = 4 * unit if target == torch.float64 else 40 * unit
    if device.type == "cpu":
        rescale_error = 4 * unit
        exp_error = 2.0**-11 if target == torch.bfloat16 else exp_error
    rounded = narrow if target == torch.bfloat16 else 0.0
    if backend not in ("flash", "efficient", "math"):
        raise TensorError(f"unknown attention backend {backend!r}; allowed: flash, efficient, math")
    block = n if backend == "math" else 512 if device.type == "cpu" else 32
    return Arithmetic(
        f"{backend} {dtype_name(target)}",
        unit,
        torch.finfo(work).tiny,
        exp_error,
        8,
        block,
        None if backend == "math" else rescale_error,
        rounded,
        rounded,
    )


def score_sizes(
    q: torch.Tensor, k: torch.Tensor, scale: float | None = None, how: Arithmetic | None = None
) -> torch.Tensor:
    """S_i = scale |q_i| max_j |k_j|, (..., M) in float64: no score of row i, nor its parts, exceeds it.

    It contains what covers underflow (BOUNDS.md, section 1) in the working dtype of q, or in that of `how`.
    """
    work, root = working_dtype(q.dtype), math.sqrt(q.shape[-1])
    lost = how.tiny / how.unit if how else torch.finfo(work).tiny / unit_roundoff(work)
    factor = abs(resolve_scale(scale, q.shape[-1]))
    lengths = torch.linalg.vector_norm(q, dim=-1, dtype=torch.float64)
    longest = torch.linalg.vector_norm(k, dim=-1, dtype=torch.float64).amax(-1, keepdim=True)
    flushed = (lengths + root) * (longest + root) * (lost * (1 + factor))
    return (lengths * longest * factor + flushed) * SAFETY


def _exponential_error(how: Arithmetic, d: int, sizes: torch.Tensor) -> torch.Tensor:
    """F_i: bound of |log| of the relative error of exp(s_ij), (..., M)."""
    rounded = (1 + how.input_unit) ** 2
    slope = gamma(d + how.score_roundings, how.unit) * rounded + (rounded - 1)
    return sizes * slope + _log(how.exp_error)


def _sum_error(how: Arithmetic, n: int, sizes: torch.Tensor) -> torch.Tensor:
    """T: bound of |log| of the relative error of a sum of n positive terms in blocks, shape of `sizes`."""
    blocks = -(-n // how.block)
    if how.rescale_error is None:
        return torch.full_like(sizes, _log(gamma(min(n, how.block) + blocks, how.unit)))
    # a kernel that rescales may choose blocks of up to 512 keys: charge for its longest and for its most
    roundings = min(n, max(how.block, 512)) + blocks
    error = _log(gamma(roundings, how.unit)) + blocks * (_log(how.rescale_error) + _log(how.unit))
    return error + 4 * how.unit * sizes  # the differences of the maxima are rounded; they add up to 2 S_i


def log_error(how: Arithmetic, d: int, n: int, sizes: torch.Tensor) -> torch.Tensor:
    """Omega_i: computed attention is sum_j a_ij v_jc exp(w_j) with |w_j| <= Omega_i; shape of `sizes`."""
    once = _log(gamma(2, how.unit)) + _log(how.weight_unit) + _log(how.output_unit) + _log(how.input_unit)
    return 2 * (_exponential_error(how, d, sizes) + _sum_error(how, n, sizes)) + once


def attention_bound(
    how: Arithmetic,
    d: int,
    n: int,
    sizes: torch.Tensor,
    magnitude: torch.Tensor,
    largest: float,
    shifted: bool = True,
) -> torch.Tensor:
    """Componentwise bound of |computed - exact| attention, (..., M, d_v) in float64.

    `sizes` (..., M) from `score_sizes`; `magnitude` (..., M, d_v) or anything that broadcasts: at least
    sum_j a_ij |v_jc| (see `magnitude_of`); `largest`: max |v|, for underflow; `shifted`: whether the engine
    subtracted row maxima.
    """
    growth = torch.expm1(log_error(how, d, n, sizes)).unsqueeze(-1)
    magnitude = magnitude.to(torch.float64)
    peak = float(sizes.max())
    # without a shift the engine has found scores of at most 300, whatever underflow adds to the peak
    lost = 4 * n * how.tiny * (1 + peak if shifted else math.exp(min(peak, 301))) * (1 + largest)
    return (growth * magnitude + lost) * SAFETY


def magnitude_of(result: Pass, how: Arithmetic, d: int, n: int, sizes: torch.Tensor) -> torch.Tensor:
    """An upper bound of sum_j a_ij |v_jc| from its computed value, (..., M, d_v) in float64.

    Raises TensorError if the pass was made without `magnitude=True`.
    """
    if result.magnitude is None:
        raise TensorError("this pass has no magnitude; call attend(..., magnitude=True)")
    return result.magnitude.to(torch.float64) * torch.exp(log_error(how, d, n, sizes)).unsqueeze(-1)


def log_sum_bound(how: Arithmetic, d: int, n: int, sizes: torch.Tensor) -> torch.Tensor:
    """Bound of |computed - exact| log sum_j exp(s_ij), shape of `sizes`, in float64.

    The sum's relative error, then a logarithm within 4 u of max(1, |log|) and the addition of the maximum;
    the logarithm of the sum is at most S_i + log n in size with a shift or without.
    """
    once = _exponential_error(how, d, sizes) + _sum_error(how, n, sizes)
    lost = 4 * n * how.tiny * (1 + sizes)
    return (once + lost + 8 * how.unit * (2 * sizes + math.log(n) + 1)) * SAFETY


def transpose_bound(
    how: Arithmetic, d: int, m: int, n: int, sizes: torch.Tensor, magnitude: torch.Tensor, largest: float
) -> torch.Tensor:
    """Componentwise bound for `stream.transpose_product`, broadcastable to (..., N, w), in float64.

    m queries, n keys; `sizes` (..., M) of the queries; `magnitude` (..., N, w): the computed
    sum_i a_ij |u_ic|; `largest`: max |u|. Each exponent is a dot product of length d + 1 whose parts are at
    most S_i and |l_i| <= S_i + log n; the error of l_i itself is that of `log_sum_bound`.
    """
    peak = sizes.amax(-1)
    parts = 2 * peak + math.log(n) + 1
    exponent = gamma(d + 1 + how.score_roundings, how.unit) * parts + how.unit * parts
    omega = exponent + log_sum_bound(how, d, n, peak) + _log(how.exp_error) + _sum_error(how, m, peak)
    omega = omega[..., None, None]
    lost = 4 * m * how.tiny * (1 + largest)
    return (torch.expm1(omega) * torch.exp(omega) * magnitude.to(torch.float64) + lost) * SAFETY


def linear_attention_factor(
    dtype: str | torch.dtype, d: int, n: int, block: int = 256, map_roundings: int = 4
) -> float:
    """Factor on sum_j a_ij |v_jc| that, but for `linear_attention_lost`, bounds the error of
    `stream.linear_attention`.

    a_ij: its normalised positive weights. Each of the two features has a relative error of at most
    `map_roundings` u (elu + 1: one rounding, or exp within 2 ulp); the sums run over n keys in blocks, then
    over d features.
    """
    unit = unit_roundoff(working_dtype(resolve_dtype(dtype)))
    each = 2 * _log(gamma(map_roundings, unit)) + _log(gamma(min(n, block) + -(-n // block), unit))
    return math.expm1(2 * (each + _log(gamma(d, unit))) + _log(gamma(1, unit))) * SAFETY


def linear_attention_lost(dtype: str | torch.dtype) -> float:
    """What flushed products of values add to the error of linear attention with `accurate_features`."""
    return 9 * unit_roundoff(working_dtype(resolve_dtype(dtype))) ** 2
