"""The streamed checks over several processes: query rows shared out, keys and values on every rank.

    torchrun --nproc-per-node 2 -m checks.scale --max-tokens 32768 --out two.json

Inside `with sharded(ranks)` every check runs unchanged; only the engines' inner products are exchanged:
- a pass over the keys (attention, log-sums): each rank computes its queries, and all gather the rows;
- a transpose product, a sum over queries: each rank sums its queries, and one all_reduce adds the sums;
- torch's own kernel: each rank computes its queries, and all gather the rows.

Order of reduction, and which digits may depend on the number of ranks: none. Queries are cut into strips of a
height that depends on their number alone; a rank gets whole strips, and a strip is computed as one process
would. The sums of the strips are added as integers, in fixed point of 105 bits below the largest possible
sum, and integer addition is associative: any number of ranks, any order and any algorithm of the all_reduce
give the same bits. Both hold for one kind of processor, one version of torch and one thread (what torchrun
sets) on all ranks. A process that is not inside `sharded`, as `checks.run.scale` without torchrun, adds a
transpose product in floating point, about twice as fast: its last digits, and those of what is made of it,
differ from the ranks'. Passes over the keys and torch's own kernel have the same bits there too.

A rank that is lost ends the others with one line (`losses_noticed`, `LostRank`); `checks.run.scale` has
written the finished checks by then, and a second run goes on behind them.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from checks.tensors.core import fused, stream
from checks.tensors.core.arrays import resolve_device
from checks.tensors.core.errors import TensorError

FEWEST = 1024  # below so many queries every rank computes all of them: sharing costs more than it saves
STRIPS = 16  # at least so many, so that up to 16 ranks have work
KERNEL_ROWS = 256  # torch's CPU kernel takes its queries in blocks of 256 once there are 768 of them
HIGH, LOW = 61, 44  # bits of the two words of a fixed-point sum; 2^(62 - 44) strips cannot overflow the lower


class LostRank(TensorError):
    """Another process ended or stopped answering."""


@dataclass(frozen=True)
class Ranks:
    """The processes of a run. `size` 1 needs no process group; `sharded`, it gives the same bits."""

    rank: int = 0
    size: int = 1

    def share(self, rows: int, strip: int, rank: int | None = None) -> slice:
        """The rows of a rank: consecutive whole strips, as evenly as they go."""
        strips, rank = -(-rows // strip), self.rank if rank is None else rank
        return slice(
            min(rank * strips // self.size * strip, rows), min((rank + 1) * strips // self.size * strip, rows)
        )

    def gather(self, mine: torch.Tensor, rows: int, strip: int) -> torch.Tensor:
        """All rows (..., rows, w) from every rank's own (..., share, w)."""
        if self.size == 1:
            return mine
        parts = [self.share(rows, strip, rank) for rank in range(self.size)]
        most = max(part.stop - part.start for part in parts)
        padded = torch.nn.functional.pad(mine, (0, 0, 0, most - mine.shape[-2])).contiguous()
        received = [torch.empty_like(padded) for _ in parts]
        self._together("gathering rows", lambda: dist.all_gather(received, padded))
        return torch.cat(
            [each[..., : part.stop - part.start, :] for each, part in zip(received, parts, strict=True)], -2
        )

    def add(self, words: torch.Tensor) -> torch.Tensor:
        """The sum of an integer tensor over the ranks, in place."""
        if self.size > 1:
            self._together("adding sums", lambda: dist.all_reduce(words))
        return words

    def agree(self, value: Any) -> Any:
        """The value of rank 0, on every rank."""
        box = [value]
        if self.size > 1:
            self._together("agreeing on the finished checks", lambda: dist.broadcast_object_list(box, 0))
        return box[0]

    def _together(self, what: str, collective: Callable[[], Any]) -> None:
        try:
            collective()
        except RuntimeError as error:
            reason = str(error).splitlines()[0][:120]
            raise LostRank(
                f"rank {self.rank} of {self.size} lost the others while {what}: {reason}"
            ) from None


@contextmanager
def connected(device: str = "cpu", timeout_s: float = 600) -> Iterator[Ranks]:
    """The process group that torchrun describes in the environment; one process alone where it does not.

    gloo on CPU, nccl on CUDA. Raises TensorError for a device that is not there and LostRank if the others do
    not come.
    """
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    kind = resolve_device(device).type
    if size == 1:
        yield Ranks()
        return
    try:
        if kind == "cuda":
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        dist.init_process_group("nccl" if kind == "cuda" else "gloo", timeout=timedelta(seconds=timeout_s))
    except (RuntimeError, ValueError) as error:
        raise LostRank(
            f"rank {rank} of {size} cannot reach the others: {str(error).splitlines()[0]}"
        ) from None
    ranks = Ranks(rank, size)
    try:
        yield ranks
    except LostRank:
        raise  # there is nobody to take leave of, and waiting for them would hang
    except BaseException:
        dist.destroy_process_group()
        raise
    ranks.agree(None)
    dist.destroy_process_group()


@contextmanager
def sharded(ranks: Ranks) -> Iterator[None]:
    """Inside, the streamed engine and torch's kernel compute the queries of this rank only, and share the
    results.

    Every rank must make the same calls with the same tensors.
    """
    with stream.shared_out(Shares(ranks)):
        yield


@dataclass(frozen=True)
class Shares:
    """The passes of both engines, shared out over ranks (`stream.Sharing`)."""

    ranks: Ranks

    def sums(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        values: torch.Tensor,
        rows: torch.Tensor | None,
        rule: stream.MaskRule | None,
        tile: stream.Tile | None,
        bounded: bool,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        tile, m = tile or stream.default_tile(q.device), q.shape[-2]
        if bounded:  # a transpose product, whose sum is over the queries
            return _sum_over_strips(self.ranks, q, k, values, tile), None
        shift = stream.needs_shift(q, k, values)  # of all queries: a rank's own might decide otherwise
        if m < FEWEST:
            return stream.weighted_sums(q, k, values, rows, rule, tile, shift)
        strip = strip_height(m, tile.rows)
        mine, narrow = self.ranks.share(m, strip), stream.Tile(strip, tile.cols)
        with _threads((mine.stop - mine.start) // strip):
            own = None if rows is None else rows[mine]
            sums, top = stream.weighted_sums(q[..., mine, :], k, values, own, rule, narrow, shift)
        sums = self.ranks.gather(sums, m, strip)
        return sums, None if top is None else self.ranks.gather(top.unsqueeze(-1), m, strip).squeeze(-1)

    def kernel(self, plain: Callable[..., Any], q: torch.Tensor, *rest: Any) -> fused.Fused:
        m = q.shape[-2]
        if m < 3 * KERNEL_ROWS * self.ranks.size:
            return plain(q, *rest)
        found = plain(q[..., self.ranks.share(m, KERNEL_ROWS), :], *rest)
        sums = found.log_sum
        if sums is not None:
            sums = self.ranks.gather(sums.unsqueeze(-1), m, KERNEL_ROWS).squeeze(-1)
        return found._replace(out=self.ranks.gather(found.out, m, KERNEL_ROWS), log_sum=sums)


def strip_height(rows: int, most: int = 1024) -> int:
    """Height of the strips that this many rows are cut into: of the number of rows alone, never of the
    ranks.
    """
    return min(most, 64 * -(-rows // (64 * STRIPS)))


@contextmanager
def _threads(most: int) -> Iterator[None]:
    """At most so many threads: the engine would cut strips further to give each thread one."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(before, most)))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _sum_over_strips(
    ranks: Ranks, keys: torch.Tensor, queries: torch.Tensor, values: torch.Tensor, tile: stream.Tile
) -> torch.Tensor:
    """sum_i exp(k_j·q_i) values_i with exponents of at most about 0, exact over strips of queries.

    keys (..., N, d), queries (..., M, d), values (..., M, w) -> (..., N, w). Every partial sum is at most
    M max |values| (twice that, for the rounding of the exponents), which fixes the point.
    """
    m, largest = queries.shape[-2], float(values.abs().max())
    strip, lead = strip_height(m, tile.rows), keys.shape[:-1]
    if largest == 0:
        return values.new_zeros((*lead, values.shape[-1]))
    point = max(math.frexp(2 * m * largest)[1], -800)
    unit = math.ldexp(1.0, point - HIGH)
    words = torch.zeros((2, *lead, values.shape[-1]), dtype=torch.int64, device=keys.device)
    mine = ranks.share(m, strip)
    for start in range(mine.start, mine.stop, strip):
        part = slice(start, min(start + strip, mine.stop))
        sums, _ = stream.weighted_sums(
            keys, queries[..., part, :], values[..., part, :], None, None, tile, shifted=False
        )
        scaled = sums.double() / unit
        whole = scaled.round()  # a float64, so an exact integer, and what it leaves is exact too
        words[0] += whole.long()
        words[1] += ((scaled - whole) * 2.0**LOW).round().long()
    ranks.add(words)
    return (words[0].double() * unit + words[1].double() * (unit * 2.0**-LOW)).to(values.dtype)


@contextmanager
def losses_noticed() -> Iterator[None]:
    """Inside, SIGTERM raises LostRank; the program that called keeps its own handler."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(*_: Any) -> None:
    raise LostRank("this process was told to end (torchrun does so when another rank is gone)")
