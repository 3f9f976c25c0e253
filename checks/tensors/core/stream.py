"""The reference engine: attention in plain torch, streamed in tiles, memory O(N d).

Two matrix products and one exponential in place a tile; no N x N tensor at any length. Where Cauchy-Schwarz
proves that exp(score) can neither overflow nor underflow, scores are exponentiated as they are; otherwise a
first pass finds each row's maximum, which is subtracted (shifted softmax). Either way the sums are taken
over blocks of `Tile.cols` keys, which is what the error bounds of `bounds.py` rest on.

Inputs of dtype bfloat16 are rounded to it and then computed with in float32; results are float32.
Token i of the queries is token i of the keys where a mask compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch

from checks.tensors.core.arrays import (
    check_attention_shapes,
    chunk_rows,
    exact_matmul,
    prepare,
    resolve_scale,
    slices,
    working_dtype,
)
from checks.tensors.core.errors import TensorError

# (query indices (b, 1), key indices (1, w)) -> bool, broadcastable to (b, w); True: attend
MaskRule = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

MASKS: dict[str, MaskRule] = {
    "causal": lambda i, j: j <= i,
    "others": lambda i, j: j != i,  # every key but the query's own token
}

# |score| up to this is exponentiated without a shift: exp stays far inside the range of the dtype.
UNSHIFTED_LIMIT = {torch.float64: 300.0, torch.float32: 30.0}


@dataclass(frozen=True)
class Tile:
    """Rows (queries) and columns (keys) of one tile of scores."""

    rows: int
    cols: int

    def __post_init__(self) -> None:
        if min(self.rows, self.cols) < 1:
            raise TensorError(f"a tile of {self.rows} x {self.cols} is empty; both must be positive")


def default_tile(device: torch.device) -> Tile:
    """The fastest tile measured on two cores (it stays in cache); on CUDA one that fills the card."""
    return Tile(8192, 2048) if device.type == "cuda" else Tile(1024, 256)


class Sharing(Protocol):
    """What a pass over the keys becomes where several processes share it; see `distributed`."""

    def sums(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        values: torch.Tensor,
        rows: torch.Tensor | None,
        rule: MaskRule | None,
        tile: Tile | None,
        bounded: bool,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """As `weighted_sums`, with the same digits whatever the number of processes that share."""

    def kernel(self, plain: Callable[..., Any], q: torch.Tensor, *rest: Any) -> Any:
        """As `plain(q, *rest)`, torch's own attention without a mask on queries (..., M, d)."""


_SHARING: ContextVar[Sharing | None] = ContextVar("sharing", default=None)


@contextmanager
def shared_out(sharing: Sharing | None) -> Iterator[None]:
    """Inside, in this thread and its own alone, both engines leave their passes to `sharing`; None: to
    nobody.
    """
    before = _SHARING.set(sharing)
    try:
        yield
    finally:
        _SHARING.reset(before)


def sharing_now() -> Sharing | None:
    """Who shares out the passes of this thread; None outside `shared_out`."""
    return _SHARING.get()


class Pass(NamedTuple):
    """One streamed pass over the keys, for the M queries asked for."""

    out: torch.Tensor  # (..., M, d_v): attention output
    magnitude: torch.Tensor | None  # (..., M, d_v): sum_j a_ij |v_jc|, what the error bound multiplies
    log_sum: torch.Tensor  # (..., M): log sum_j exp(score_ij)
    shifted: bool  # whether row maxima had to be subtracted


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    mask: str | MaskRule | None = None,
    *,
    rows: torch.Tensor | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: Tile | None = None,
    allow_tf32: bool = False,
) -> torch.Tensor:
    """Softmax attention softmax(scale q kᵀ) v, eq. (2) of nguyen2023; see `attend` for the arguments.

    q (..., M, d), k (..., N, d), v (..., N, d_v) -> (..., M, d_v), or (..., len(rows), d_v).
    """
    return attend(
        q, k, v, scale, mask, rows=rows, dtype=dtype, device=device, chunk=chunk, allow_tf32=allow_tf32
    ).out


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    mask: str | MaskRule | None = None,
    *,
    rows: torch.Tensor | None = None,
    magnitude: bool = False,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: Tile | None = None,
    allow_tf32: bool = False,
) -> Pass:
    """Attention, its log normaliser and, if asked, sum_j a_ij |v_jc|, in one pass over the keys.

    q (..., M, d), k (..., N, d), v (..., N, d_v). `scale` is 1/sqrt(d) unless given. `mask` is None, a name
    in MASKS or a rule on indices. `rows` (long, 1-d): only these queries, in this order.
    Raises TensorError for unusable tensors and for a query that the mask leaves without a key.
    """
    q, k, v = prepare(dtype, device, q=q, k=k, v=v)
    check_attention_shapes(q, k, v)
    scale = resolve_scale(scale, q.shape[-1])
    work, width = working_dtype(v.dtype), v.shape[-1]
    rows = _row_indices(rows, q.shape[-2], q.device)
    q, k, v = q.to(work), k.to(work), v.to(work)
    ones = v.new_ones((*v.shape[:-1], 1))
    values = torch.cat([v, v.abs(), ones] if magnitude else [v, ones], -1)
    with exact_matmul(allow_tf32):
        sums, top = _sums(q[..., rows, :] * scale, k, values, rows, _rule(mask), chunk)
    total = sums[..., -1]
    if mask is not None and (total == 0).any():
        raise TensorError(
            f"query {int(rows[(total == 0).nonzero()[0, -1]])} has no key to attend to; "
            "the softmax over no keys is undefined"
        )
    log_sum = total.log() if top is None else total.log() + top
    out = sums[..., :-1].div_(sums[..., -1:])
    return Pass(out[..., :width], out[..., width:] if magnitude else None, log_sum, top is not None)


def logsumexp_rows(
    q: torch.Tensor,
    k: torch.Tensor,
    scale: float | None = None,
    mask: str | MaskRule | None = None,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: Tile | None = None,
) -> torch.Tensor:
    """log sum_j exp(scale q_i·k_j) for every query: q (..., M, d), k (..., N, d) -> (..., M)."""
    return attend(q, k, k[..., :1], scale, mask, dtype=dtype, device=device, chunk=chunk).log_sum


def kernel_sums(
    x: torch.Tensor,
    k: torch.Tensor,
    scale: float | None = None,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: Tile | None = None,
) -> torch.Tensor:
    """log h(x_i), h(x) = sum_j exp(scale x·k_j): the normaliser chosen before eq. (11) of nguyen2023.

    In the log domain, because h itself overflows float32 already at moderate norms. Shapes as
    `logsumexp_rows`.
    """
    return logsumexp_rows(x, k, scale, dtype=dtype, device=device, chunk=chunk)


def transpose_product(
    q: torch.Tensor,
    k: torch.Tensor,
    u: torch.Tensor,
    scale: float | None = None,
    *,
    log_sum: torch.Tensor | None = None,
    magnitude: bool = False,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: Tile | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Aᵀ u with A = softmax(scale q kᵀ): q (..., M, d), k (..., N, d), u (..., M, w) -> (..., N, w).

    The row log-sums join the inner product as one more column, so every exponent is log a_ij <= 0 and
    nothing overflows. `log_sum` (..., M) saves the pass that computes it. The second result is
    sum_i a_ij |u_ic| if asked for.
    """
    q, k, u = prepare(dtype, device, q=q, k=k, u=u)
    check_attention_shapes(k, q, u)
    scale = resolve_scale(scale, q.shape[-1])
    if log_sum is None:
        log_sum = logsumexp_rows(q, k, scale, chunk=chunk)
    elif log_sum.shape != q.shape[:-1]:
        raise TensorError(f"log_sum has shape {tuple(log_sum.shape)}; {tuple(q.shape[:-1])} is needed")
    work = working_dtype(q.dtype)
    q, k, u, log_sum = q.to(work), k.to(work), u.to(work), log_sum.to(device=q.device, dtype=work)
    keys = torch.cat([k * scale, k.new_ones((*k.shape[:-1], 1))], -1)
    queries = torch.cat([q, -log_sum.unsqueeze(-1)], -1)
    values = torch.cat([u, u.abs()], -1) if magnitude else u
    with exact_matmul():
        sums, _ = _sums(keys, queries, values, None, None, chunk, bounded=True)
    width = u.shape[-1]
    return sums[..., :width], sums[..., width:] if magnitude else None


def elu_plus_one(x: torch.Tensor) -> torch.Tensor:
    """The positive feature map elu(x) + 1, written so that small values keep their relative accuracy."""
    return torch.where(x > 0, x + 1, torch.exp(torch.clamp(x, max=0)))


def accurate_features(x: torch.Tensor) -> torch.Tensor:
    """elu(x) + 1 where sums of products of two keep their digits (BOUNDS.md, section 6).

    Raises TensorError for a feature below the root of the smallest normal number over the unit roundoff: that
    of -27 in float32, of -317 in float64.
    """
    features, limits = elu_plus_one(x), torch.finfo(x.dtype)
    if float(features.min()) < math.sqrt(limits.tiny) / (limits.eps / 2):
        raise TensorError(f"elu + 1 of {float(x.min()):.3g} is so small that products of it lose digits")
    return features


def linear_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    feature_map: Callable[[torch.Tensor], torch.Tensor] = accurate_features,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    block: int = 256,
) -> torch.Tensor:
    """φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / φ(q_i)ᵀ Σ_j φ(k_j) in O(N d d_v), for a positive feature map φ.

    q (..., M, d), k (..., N, d), v (..., N, d_v) -> (..., M, d_v). Unmasked.
    Raises TensorError if a feature is negative or a normaliser is zero, and what the feature map raises.
    """
    q, k, v = prepare(dtype, device, q=q, k=k, v=v)
    check_attention_shapes(q, k, v)
    work = working_dtype(q.dtype)
    values = torch.cat([v, v.new_ones((*v.shape[:-1], 1))], -1).to(work)
    state: torch.Tensor | float = 0.0
    with exact_matmul():
        for part in slices(k.shape[-2], block):
            features = feature_map(k[..., part, :].to(work))
            if (features < 0).any():
                raise TensorError("the feature map is negative somewhere; a positive one is needed")
            state = features.mT @ values[..., part, :] + state
        outs = [feature_map(q[..., part, :].to(work)) @ state for part in slices(q.shape[-2], 8192)]
    sums = torch.cat(outs, -2)
    if not (sums[..., -1] > 0).all():
        raise TensorError("a normaliser of linear attention is 0; a positive feature map is needed")
    return sums[..., :-1] / sums[..., -1:]


def rows(
    q: torch.Tensor,
    k: torch.Tensor,
    scale: float | None = None,
    kind: str = "weights",
    *,
    part: slice | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    budget_bytes: int = 1 << 26,
) -> Iterator[tuple[slice, torch.Tensor]]:
    """Blocks of full rows, for formulas of one's own: yields (slice of queries, block (..., b, N)).

    `kind` is "scores", "exp" (of the scores less the row maximum) or "weights" (softmax rows, each summing
    to 1). `part` restricts the queries. A block, all leading dimensions together, fits in `budget_bytes` and
    is overwritten by no later one. Raises TensorError for unusable tensors or an unknown kind.
    """
    if kind not in ("scores", "exp", "weights"):
        raise TensorError(f"unknown kind of rows {kind!r}; allowed: scores, exp, weights")
    q, k = prepare(dtype, device, q=q, k=k)
    check_attention_shapes(q, k, k)
    scale = resolve_scale(scale, q.shape[-1])
    work, groups = working_dtype(q.dtype), math.prod(q.shape[:-2])
    height = chunk_rows(k.shape[-2], budget_bytes, groups * work.itemsize)
    first, last, step = (part or slice(None)).indices(q.shape[-2])
    if step != 1:
        raise TensorError(f"part has step {step}; consecutive queries are needed")
    keys = k.to(work).mT
    for start in range(first, last, height):
        here = slice(start, min(start + height, last))
        with exact_matmul():
            block = (q[..., here, :].to(work) * scale) @ keys
        if kind != "scores":
            block.sub_(block.amax(-1, keepdim=True)).exp_()
        if kind == "weights":
            block.div_(block.sum(-1, keepdim=True))
        yield here, block


def _row_indices(rows: torch.Tensor | None, n: int, device: torch.device) -> torch.Tensor:
    if rows is None:
        return torch.arange(n, device=device)
    if not isinstance(rows, torch.Tensor) or rows.dtype != torch.long or rows.ndim != 1 or not rows.numel():
        raise TensorError("rows must be a non-empty 1-d tensor of dtype long")
    if int(rows.min()) < 0 or int(rows.max()) >= n:
        raise TensorError(f"rows reach from {int(rows.min())} to {int(rows.max())}; allowed: 0 to {n - 1}")
    return rows.to(device)


def _rule(mask: str | MaskRule | None) -> MaskRule | None:
    if isinstance(mask, str):
        if mask not in MASKS:
            raise TensorError(f"unknown mask {mask!r}; allowed: {', '.join(MASKS)}, or a rule on indices")
        return MASKS[mask]
    if mask is not None and not callable(mask):
        raise TensorError(
            f"mask is a {type(mask).__name__}; allowed: {', '.join(MASKS)}, or a rule on indices"
        )
    return mask


def _sums(
    q: torch.Tensor,
    k: torch.Tensor,
    values: torch.Tensor,
    rows: torch.Tensor | None,
    rule: MaskRule | None,
    tile: Tile | None,
    bounded: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """`weighted_sums`, by this process or by those that share the work.

    `bounded`: all scores are at most about 0, as in a transpose product, whose sum is over the queries.
    """
    sharing = sharing_now()
    if sharing is not None:
        return sharing.sums(q, k, values, rows, rule, tile, bounded)
    return weighted_sums(q, k, values, rows, rule, tile, not bounded and needs_shift(q, k, values))


def weighted_sums(
    q: torch.Tensor,
    k: torch.Tensor,
    values: torch.Tensor,
    rows: torch.Tensor | None,
    rule: MaskRule | None,
    tile: Tile | None,
    shifted: bool,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """sum_j exp(q_i·k_j - t_i) values_j (..., M, w), and the row maxima t (..., M), None where not `shifted`.

    q (..., M, d) already scaled, k (..., N, d), values (..., N, w), rows (M,): token of each query.
    """
    tile = tile or default_tile(q.device)
    lead, (m, n, w) = q.shape[:-2], (q.shape[-2], k.shape[-2], values.shape[-1])
    out = values.new_zeros((math.prod(lead), m, w))
    top = values.new_zeros((math.prod(lead), m, 1))
    flat_q, flat_values = q.reshape(-1, m, q.shape[-1]), values.reshape(-1, n, w)
    keys = k.reshape(-1, n, k.shape[-1]).mT.contiguous()
    workers = worker_count(q.device)
    height = min(tile.rows, -(-m // workers))

    def strip(job: tuple[int, slice]) -> None:
        g, part = job
        scores = _Scores(flat_q[g, part], None if rows is None else rows[part], keys[g], rule, tile.cols)
        if shifted:
            top[g, part] = scores.maxima()
        scores.add_weighted(flat_values[g], top[g, part] if shifted else None, out[g, part])

    run_jobs(strip, [(g, part) for g in range(len(out)) for part in slices(m, height)], workers)
    return out.view((*lead, m, w)), top.view((*lead, m)) if shifted else None


def needs_shift(q: torch.Tensor, k: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether some exp(q_i·k_j), or a sum of them times values, might leave the range of the dtype."""
    peak = float((q.norm(dim=-1).amax(-1) * k.norm(dim=-1).amax(-1)).max())
    total = peak + math.log(k.shape[-2]) + math.log(float(values.abs().max()))
    return not (peak <= UNSHIFTED_LIMIT[q.dtype] and total <= 0.9 * math.log(torch.finfo(q.dtype).max))


def worker_count(device: torch.device) -> int:
    return torch.get_num_threads() if device.type == "cpu" else 1


def run_jobs(strip: Callable[[tuple[int, slice]], None], jobs: list[tuple[int, slice]], workers: int) -> None:
    """Every strip once, each by one thread.

    Strips need nothing of each other, whereas threads inside an operation wait for each other two or three
    times a tile: on two cores with other work on them that made the same pass ten times slower.
    """
    if workers == 1:
        for job in jobs:
            strip(job)
        return
    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for _ in pool.map(strip, jobs):
                pass
    finally:
        torch.set_num_threads(workers)


@dataclass
class _Scores:
    """A strip of scores, one tile at a time: queries (b, d) against keys (d, N)."""

    queries: torch.Tensor
    tokens: torch.Tensor | None
    keys: torch.Tensor
    rule: MaskRule | None
    width: int

    def tiles(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """(slice of keys, scores (b, w)); the memory of one tile is used again for the next."""
        b, n = len(self.queries), self.keys.shape[1]
        scratch = self.queries.new_empty(b * min(self.width, n))
        for cols in slices(n, self.width):
            tile = scratch[: b * (cols.stop - cols.start)].view(b, -1)
            torch.mm(self.queries, self.keys[:, cols], out=tile)
            if self.rule is not None and self.tokens is not None:
                index = torch.arange(cols.start, cols.stop, device=tile.device)
                allowed = self.rule(self.tokens[:, None], index[None, :])
                tile.masked_fill_(~allowed, -math.inf)
            yield cols, tile

    def maxima(self) -> torch.Tensor:
        """Row maxima (b, 1); 0 for a row that the mask leaves empty, so that its sum is 0 and not NaN."""
        best = self.queries.new_full((len(self.queries), 1), -math.inf)
        for _, tile in self.tiles():
            torch.maximum(best, tile.amax(1, keepdim=True), out=best)
        return best.masked_fill_(best == -math.inf, 0.0)

    def add_weighted(self, values: torch.Tensor, shift: torch.Tensor | None, out: torch.Tensor) -> None:
        """out += exp(scores - shift) values, tile by tile."""
        for cols, tile in self.tiles():
            if shift is not None:
                tile.sub_(shift)
            out.addmm_(tile.exp_(), values[cols])
