"""The linear map of farooq2025 over streamed attention: u = L(Z), its adjoint, c, in O(n² d_v) time, O(n d_v)
memory.

With A = softmax(scale q kᵀ): L(Z)_j = sum_m A_mj z_m·v_j = rowsum((AᵀZ) ∘ V)_j (26), adjoint L*(w) = A
diag(w) V, AV = L*(1), and c = L(AV) is the right reading of (38): rowsum((Aᵀ(AV)) ∘ V), two streamed products
instead of the n³ of the paper. L L* = G = (AᵀA) ∘ (VVᵀ), never formed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import torch

from checks.tensors.core import bounds, stream
from checks.tensors.core.arrays import (
    check_attention_shapes,
    check_one_head,
    prepare,
    resolve_scale,
    working_dtype,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Sized:
    """A computed tensor and a bound of its distance to the exact one; `error` broadcasts over `value`."""

    value: torch.Tensor
    error: torch.Tensor


class AttentionMap:
    """L and L* for one head: q, k (n, d), v (n, d_v).

    `bounded` asks every product for its proved error (twice the columns). Results are in the dtype of the
    inputs (float32 for bfloat16), errors in float64. Raises TensorError for unusable tensors or more than one
    head.
    """

    def __init__(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        scale: float | None = None,
        *,
        dtype: str | torch.dtype | None = None,
        device: str | torch.device | None = None,
        chunk: stream.Tile | None = None,
    ) -> None:
        self.q, self.k, self.v = prepare(dtype, device, q=q, k=k, v=v)
        check_attention_shapes(self.q, self.k, self.v)
        check_one_head(self.q, self.k)
        self.scale, self.chunk = resolve_scale(scale, self.q.shape[-1]), chunk
        # in the dtype of the sums: a pass rounds its values to the dtype of its queries
        self._q, self._k = (x.to(working_dtype(x.dtype)) for x in (self.q, self.k))
        self.how = bounds.streamed(self.q.dtype, chunk, self.q.device)
        self.sizes = bounds.score_sizes(self.q, self.k, self.scale)
        self._made: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.q)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What was made of the maps under a name, or is made now: several checks start from the same."""
        if what not in self._made:
            self._made[what] = make()
        made: T = self._made[what]
        return made

    def in_float64(self) -> AttentionMap:
        """The same maps in float64."""
        if self.q.dtype == torch.float64:
            return self
        return AttentionMap(self.q, self.k, self.v, self.scale, dtype="float64", chunk=self.chunk)

    @cached_property
    def log_sum(self) -> torch.Tensor:
        """Log normaliser of every query, (n,)."""
        return self.reference.log_sum

    @cached_property
    def reference(self) -> stream.Pass:
        """AV with its magnitudes and log normalisers: the one pass that everything else starts from."""
        return stream.attend(self.q, self.k, self.v, self.scale, magnitude=True, chunk=self.chunk)

    def forward(self, x: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """A x: (n, w) -> (n, w), or its rows asked for."""
        return stream.attention(self._q, self._k, x, self.scale, rows=rows, chunk=self.chunk)

    def backward(self, x: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
        """Aᵀ x: (n, w) -> (n, w), or its rows asked for."""
        keys = self._k if tokens is None else self._k[tokens]
        return stream.transpose_product(self._q, keys, x, self.scale, log_sum=self.log_sum, chunk=self.chunk)[
            0
        ]

    @cached_property
    def attention(self) -> torch.Tensor:
        """AV, (n, d_v)."""
        return self.reference.out

    def lift(self, z: torch.Tensor, tokens: torch.Tensor | None = None) -> torch.Tensor:
        """u = L(Z): (n, d_v) -> (n,), or at the tokens asked for."""
        return (self.backward(z, tokens) * (self.v if tokens is None else self.v[tokens])).sum(-1)

    def adjoint(self, w: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """L*(w) = A diag(w) V: (n,) -> (n, d_v), or its rows asked for."""
        return self.forward(w.unsqueeze(-1) * self.v, rows)

    def lifts(self, z: torch.Tensor) -> torch.Tensor:
        """u of several states in one pass over the scores: (n, r, d_v) -> (n, r)."""
        return (self.backward(z.flatten(1)).unflatten(1, z.shape[1:]) * self.v.unsqueeze(1)).sum(-1)

    def adjoints(self, w: torch.Tensor) -> torch.Tensor:
        """L* of several weights in one pass over the scores: (n, r) -> (n, r, d_v)."""
        weighted = w.unsqueeze(-1) * self.v.unsqueeze(1)
        return self.forward(weighted.flatten(1)).unflatten(1, weighted.shape[1:])

    @cached_property
    def alignment(self) -> torch.Tensor:
        """c = L(AV), (n,): the first member of (38) and (74)."""
        return self.lift(self.attention)

    def gram(self, x: torch.Tensor) -> torch.Tensor:
        """G x = L(L*(x)): (n,) -> (n,)."""
        return self.lift(self.adjoint(x))

    # -------------------------------------------------------- the same with proved errors

    def forward_sized(self, x: Sized, rows: torch.Tensor | None = None) -> Sized:
        """A x with its error: what x brings along is averaged by A, since A is positive. `rows`: only
        these.
        """
        width = x.value.shape[-1]
        carried = x.error.expand(x.value.shape).to(x.value)
        block = torch.cat([x.value, carried], -1)
        result = stream.attend(
            self._q, self._k, block, self.scale, rows=rows, magnitude=True, chunk=self.chunk
        )
        (n, d), sizes = self.q.shape, self.sizes if rows is None else self.sizes[rows]
        size = bounds.magnitude_of(result, self.how, d, n, sizes)
        largest = float(block.abs().max())
        own = bounds.attention_bound(self.how, d, n, sizes, size[:, :width], largest, result.shifted)
        return Sized(result.out[:, :width], own + self._rounded_up(size[:, width:]))

    @cached_property
    def magnitude(self) -> torch.Tensor:
        """An upper bound of A|V|, (n, d_v) in float64."""
        n, d = self.q.shape
        return bounds.magnitude_of(self.reference, self.how, d, n, self.sizes)

    @cached_property
    def attention_sized(self) -> Sized:
        """AV with its error."""
        n, d = self.q.shape
        largest = float(self.v.abs().max())
        error = bounds.attention_bound(
            self.how, d, n, self.sizes, self.magnitude, largest, self.reference.shifted
        )
        return Sized(self.attention, error)

    def backward_sized(self, x: Sized) -> Sized:
        """Aᵀ x with its error."""
        width, n = x.value.shape[-1], len(self)
        carried = x.error.expand(x.value.shape).to(x.value)
        block = torch.cat([x.value, carried], -1)
        found, magnitude = stream.transpose_product(
            self._q, self._k, block, self.scale, log_sum=self.log_sum, magnitude=True, chunk=self.chunk
        )
        assert magnitude is not None
        largest = float(block.abs().max())
        own = bounds.transpose_bound(self.how, self.q.shape[-1], n, n, self.sizes, magnitude, largest)
        return Sized(
            found[:, :width], own[:, :width] + own[:, width:] + self._rounded_up(magnitude[:, width:])
        )

    def _rounded_up(self, carried: torch.Tensor) -> torch.Tensor:
        """A carried error in float64, enlarged by what its own rounding to the working dtype may have
        cost.
        """
        return carried.double() * (1 + 4 * self.how.unit) + self.how.tiny * len(self)

    def lift_sized(self, z: Sized) -> Sized:
        """L(Z) with its error, (n,)."""
        image = self.backward_sized(z)
        v = self.v.to(image.value.dtype)
        relative = bounds.gamma(v.shape[-1] + 1, self.how.unit)
        size = image.value.double().abs() + image.error
        error = ((image.error + relative * size) * v.double().abs()).sum(-1) * (1 + 2.0**-10)
        return Sized((image.value * v).sum(-1), error)

    def adjoint_sized(self, w: Sized, rows: torch.Tensor | None = None) -> Sized:
        """L*(w) with its error, (n, d_v); w (n,). `rows`: only these."""
        v = self.v.to(w.value.dtype)
        weighted = w.value.unsqueeze(-1) * v
        error = (
            w.error.double().unsqueeze(-1) * v.double().abs() + 2 * self.how.unit * weighted.double().abs()
        )
        return self.forward_sized(Sized(weighted, error), rows)


def exactly(value: torch.Tensor) -> Sized:
    """Given numbers, which have no error."""
    return Sized(value, torch.zeros((), dtype=torch.float64, device=value.device))
