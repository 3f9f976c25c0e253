"""The streamed checks over several processes: query rows shared out, keys and values on every rank.

    torchrun --nproc-per-node 2 -m checks.tensors.distributed --tokens 4096 32768 --out finished.jsonl

Inside `with sharded(ranks)` every check runs unchanged; only the engines' inner products are exchanged:
- a pass over the keys (attention, log-sums): each rank computes its queries, and all gather the rows;
- a transpose product, a sum over queries: each rank sums its queries, and one all_reduce adds the sums;
- torch's own kernel: each rank computes its queries, and all gather the rows.

Order of reduction, and which digits may depend on the number of ranks: none. Queries are cut into strips of a
height that depends on their number alone; a rank gets whole strips, and a strip is computed as one process would.
The sums of the strips are added as integers, in fixed point of 105 bits below the largest possible sum, and
integer addition is associative: any number of ranks, any order and any algorithm of the all_reduce give
the same bits. Both hold for one kind of processor and one version of torch on all ranks.

A rank that is lost ends the others with one line; finished checks are in the file already, one JSON object a
line, and a second run goes on behind them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from checks.tensors import fused, stream
from checks.tensors.arrays import DTYPES, TensorError, resolve_device

FEWEST = 1024  # below so many queries every rank computes all of them: sharing costs more than it saves
STRIPS = 16  # at least so many, so that up to 16 ranks have work
KERNEL_ROWS = 256  # torch's CPU kernel takes its queries in blocks of 256 once there are 768 of them
HIGH, LOW = 61, 44  # bits of the two words of a fixed-point sum; 2^(62 - 44) strips cannot overflow the lower


class LostRank(TensorError):
    """Another process ended or stopped answering."""


@dataclass(frozen=True)
class Ranks:
    """The processes of a run. `size` 1 needs no process group and gives the same bits."""

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

    gloo on CPU, nccl on CUDA. Raises TensorError for a device that is not there and LostRank if the others do not come.
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
    """Inside, the streamed engine and torch's kernel compute the queries of this rank only, and share the results.

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
    """Height of the strips that this many rows are cut into: of the number of rows alone, never of the ranks."""
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
    ranks: Ranks,
    keys: torch.Tensor,
    queries: torch.Tensor,
    values: torch.Tensor,
    tile: stream.Tile,
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


# ---------------------------------------------------------------- a run of checks


def transpose_check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, samples: int = 32) -> dict[str, Any]:
    """Aᵀ V, streamed, against its definition in float64 at a sample of keys, within the proved bound."""
    from checks.tensors import bounds
    from checks.tensors.agreement import compare
    from checks.tensors.arrays import dtype_name, slices
    from checks.tensors.instances import sampled_rows

    (n, d), largest = q.shape, float(v.abs().max())
    found, magnitude = stream.transpose_product(q, k, v, magnitude=True)
    assert magnitude is not None  # it was asked for
    bound = bounds.transpose_bound(
        bounds.streamed(q.dtype, device=q.device), d, n, n, bounds.score_sizes(q, k), magnitude, largest
    )
    at = sampled_rows(n, samples).to(q.device)
    exact = v.new_zeros(len(at), v.shape[1], dtype=torch.float64)
    log_sum = stream.logsumexp_rows(q.double(), k.double())
    for part in slices(n, 4096):
        weights = torch.exp(q[part].double() @ k[at].double().T * d**-0.5 - log_sum[part, None])
        exact += weights.T @ v[part].double()
    # the definition's own error in float64 has the same form
    own = bounds.transpose_bound(
        bounds.streamed("float64"), d, n, n, bounds.score_sizes(q, k), magnitude, largest
    )
    right = compare("transpose product", found[at], exact, (bound + own)[at])
    zero = compare("zero", torch.zeros_like(exact), exact, (bound + own)[at])
    return {
        "passed": right.passed and not zero.passed,
        "error": right.error,
        "bound": right.bound,
        "tokens": n,
        "dtype": dtype_name(q.dtype),
        "device": str(q.device),
        "mutants": {"zero": zero.ratio},
    }


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, Any]:
    from checks.tensors.agreement import check_attention

    return check_attention(q, k, v).to_json()


def _svr(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> dict[str, Any]:
    from checks.tensors.converse import certify_attention_as_svr

    return certify_attention_as_svr(k, v, 0.5).to_json()


CHECKS: dict[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], dict[str, Any]]] = {
    "attention": _attention,
    "svr": _svr,
    "transpose": transpose_check,
}


def finished(file: Path) -> list[dict[str, Any]]:
    """The checks that a file holds; a last line that a lost run left half written is not one of them."""
    if not file.exists():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def run_checks(
    ranks: Ranks,
    names: list[str],
    tokens: list[int],
    file: Path,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> int:
    """Runs the checks that the file does not hold yet, and appends each as it ends; how many failed, of all.

    Raises LostRank, naming the check, when another process is gone.
    """
    from checks.tensors.instances import make_instance

    done = ranks.agree(finished(file) if ranks.rank == 0 else None)
    keys = {(r["check"], r["tokens"], r["dtype"], r["seed"], r["device"]) for r in done}
    failed = sum(not r["passed"] for r in done)
    for n in sorted(tokens):
        for name in names:
            if (name, n, dtype, seed, device) in keys:
                continue
            try:
                with sharded(ranks):
                    record = CHECKS[name](*make_instance(n, dtype=dtype, device=device, seed=seed))
                ranks.agree(None)  # every rank has come to the end of this check
            except LostRank as problem:
                raise LostRank(
                    f"{problem}; lost in check {name} of {n} tokens, {len(finished(file))} finished checks "
                    f"are in {file}"
                ) from None
            failed += not record["passed"]
            if ranks.rank == 0:
                _append(file, {"check": name, "seed": seed, "ranks": ranks.size, **record, "device": device})
                print(
                    f"{name:10} {n:8} tokens  {dtype}  {'passed' if record['passed'] else 'FAILED'}",
                    flush=True,
                )
    return failed


def _append(file: Path, record: dict[str, Any]) -> None:
    """One line, on the disk before the next check begins."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(record) + "\n")
        out.flush()
        os.fsync(out.fileno())


@contextmanager
def losses_noticed() -> Iterator[None]:
    """Inside, SIGTERM raises LostRank; the program that called keeps its own handler."""
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(*_: Any) -> None:
    raise LostRank("this rank was told to end, which torchrun does when another rank is gone")


def main(argv: list[str] | None = None) -> int:
    """0: all passed; 1: some failed; 2: unusable input; 3: a rank was lost."""
    parser = argparse.ArgumentParser(
        prog="checks.tensors.distributed", description="The streamed checks, over the processes of torchrun."
    )
    parser.add_argument("--tokens", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--checks", nargs="+", default=list(CHECKS), choices=list(CHECKS))
    parser.add_argument(
        "--out", type=Path, default=Path("distributed.jsonl"), help="finished checks, one a line"
    )
    parser.add_argument("--dtype", default="float64", choices=list(DTYPES))
    parser.add_argument("--device", default="cpu", help="cpu or cuda (each rank its own card)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds to wait for another rank (default 600)"
    )
    a = parser.parse_args(argv)
    try:
        with losses_noticed(), connected(a.device, a.timeout) as ranks:
            return int(run_checks(ranks, a.checks, a.tokens, a.out, a.dtype, a.device, a.seed) > 0)
    except LostRank as problem:
        print(f"attest: {problem}", file=sys.stderr, flush=True)
        os._exit(3)  # the threads of a broken process group would keep the interpreter from ending
    except TensorError as problem:
        print(f"attest: {problem}", file=sys.stderr, flush=True)
        return 2


if __name__ == "__main__":
    sys.exit(main())
