"""Products with the softmax matrix A = softmax(scale q kᵀ) for solvers that know a matrix only by them.

The interface is numpy's, because such solvers are: blocks of vectors (tokens, b) in float64 go in and out.
Every product is streamed; the largest tensor is a strip of `STRIP_BYTES`, whatever the length. Where all
strips together fit in `keep_bytes`, `gram` computes them once and keeps them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch

from checks.tensors.core import stream
from checks.tensors.core.arrays import chunk_rows, exact_matmul, prepare, resolve_scale, slices
from checks.tensors.core.errors import TensorError

STRIP_BYTES = 1 << 22  # a strip of full rows of weights: small enough to stay in cache up to N = 32,768
KEEP_BYTES = 1 << 29  # all strips: the whole of A at N = 8,192, and nothing at greater lengths


class SoftmaxProducts:
    """A of one head: q (M, d), k (N, d); `rows` = M, `columns` = N.

    Raises TensorError for unusable tensors or more than one head.
    """

    def __init__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        scale: float | None = None,
        *,
        device: str | torch.device | None = None,
        chunk: stream.Tile | None = None,
        keep_bytes: int = KEEP_BYTES,
    ) -> None:
        self.q, self.k = prepare("float64", device, q=q, k=k)
        if self.q.ndim != 2:
            raise TensorError(f"q has shape {tuple(self.q.shape)}; one head (tokens, width) is needed")
        self.scale, self.chunk = resolve_scale(scale, self.q.shape[-1]), chunk
        self.rows, self.columns = len(self.q), len(self.k)
        self._height = chunk_rows(self.columns, STRIP_BYTES, 8)
        self._keep = 8 * self.rows * self.columns <= keep_bytes
        self._kept: dict[int, torch.Tensor] = {}  # by the first query of the strip

    @cached_property
    def log_sum(self) -> torch.Tensor:
        """Log normaliser of every row, (M,)."""
        return stream.logsumexp_rows(self.q, self.k, self.scale, chunk=self.chunk)

    def apply(self, x: np.ndarray) -> np.ndarray:
        """A x: (N, b) -> (M, b)."""
        return stream.attention(self.q, self.k, self._block(x), self.scale, chunk=self.chunk).cpu().numpy()

    def adjoint(self, y: np.ndarray) -> np.ndarray:
        """Aᵀ y: (M, b) -> (N, b)."""
        log_sum = self.log_sum
        found, _ = stream.transpose_product(
            self.q, self.k, self._block(y), self.scale, log_sum=log_sum, chunk=self.chunk
        )
        return found.cpu().numpy()

    def gram(self, x: np.ndarray) -> np.ndarray:
        """Aᵀ A x: (N, b) -> (N, b), at half the cost of two products: each strip of weights serves both.

        Without a proved error bound, so for finding vectors only; residuals are judged by the other two.
        """
        block = self._block(x.T)  # (b, N): with the long side last, products with strips are a third faster
        workers, sides = stream.worker_count(self.q.device), self._extended
        found = block.new_zeros(workers, *block.shape)

        def share(job: tuple[int, slice]) -> None:
            worker, part = job
            scratch = None if self._keep else block.new_empty(self._height, self.columns)
            for start in range(part.start, part.stop, self._height):
                weights = self._strip(sides, slice(start, min(start + self._height, part.stop)), scratch)
                found[worker].addmm_(block @ weights.T, weights)

        with exact_matmul():
            stream.run_jobs(share, list(enumerate(slices(self.rows, -(-self.rows // workers)))), workers)
        return found.sum(0).T.cpu().numpy()

    def _strip(
        self, sides: tuple[torch.Tensor, torch.Tensor], here: slice, scratch: torch.Tensor | None
    ) -> torch.Tensor:
        """Rows `here` of A, (h, N): kept from before, or written over `scratch`."""
        if here.start in self._kept:
            return self._kept[here.start]
        queries, keys = sides
        out = None if scratch is None else scratch[: here.stop - here.start]
        weights = torch.mm(queries[here], keys, out=out).exp_()
        if self._keep:
            self._kept[here.start] = weights
        return weights

    @cached_property
    def _extended(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries (M, d + 1) and keys (d + 1, N) whose products are log a_ij: row log-sums are one more
        column.
        """
        queries = torch.cat([self.q * self.scale, -self.log_sum.unsqueeze(-1)], -1)
        return queries, torch.cat([self.k, self.k.new_ones(self.columns, 1)], -1).T.contiguous()

    def _block(self, x: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.ascontiguousarray(x), dtype=torch.float64, device=self.q.device)
