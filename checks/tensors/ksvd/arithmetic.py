"""Matrix arithmetic in float64 that carries a proved bound of its own error.

`Bounded` holds what was computed and a componentwise bound of its distance to the exact result of the same
expression on the given numbers. Every operation adds its own rounding (inner products: gamma of the longest
chain of additions) to what its operands bring along, to all orders. Bounds are themselves computed in
float64; the factor `SAFETY` of `bounds` covers that.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from checks.tensors.core.agreement import ROWS_AT_ONCE, Comparison, compare
from checks.tensors.core.arrays import slices
from checks.tensors.core.bounds import SAFETY, gamma, unit_roundoff

UNIT = unit_roundoff("float64")
BLOCK = 512  # tokens a block in sums over tokens: the longest chain is a block and then the blocks


@dataclass(frozen=True)
class Bounded:
    """`value` and `error` >= |value - exact|, of one shape."""

    value: torch.Tensor
    error: torch.Tensor

    @staticmethod
    def exact(value: torch.Tensor) -> Bounded:
        """Numbers that are given, and therefore have no error."""
        return Bounded(value, torch.zeros_like(value))

    def _rounded(self, value: torch.Tensor, error: torch.Tensor, chain: int) -> Bounded:
        return Bounded(value, (error + gamma(chain, UNIT) * (value.abs() + error)) * SAFETY)

    def __matmul__(self, other: Bounded) -> Bounded:
        """(a, n) @ (n, b) by one product, n additions in any order. The tall side may be processed in
        strips.
        """
        n = self.value.shape[1]
        parts = []
        for part in slices(len(self.value), ROWS_AT_ONCE):
            x, dx = self.value[part], self.error[part]
            magnitude = x.abs() + dx
            value = x @ other.value
            error = dx @ other.value.abs() + magnitude @ other.error
            error += gamma(n, UNIT) * (x.abs() @ other.value.abs())
            parts.append(Bounded(value, error * ((1 + gamma(2 * n + 4, UNIT)) * SAFETY)))
        return Bounded(torch.cat([p.value for p in parts]), torch.cat([p.error for p in parts]))

    def __mul__(self, other: Bounded) -> Bounded:
        error = self.error * other.value.abs() + (self.value.abs() + self.error) * other.error
        return self._rounded(self.value * other.value, error, 1)

    def __add__(self, other: Bounded) -> Bounded:
        return self._rounded(self.value + other.value, self.error + other.error, 1)

    def __sub__(self, other: Bounded) -> Bounded:
        return self._rounded(self.value - other.value, self.error + other.error, 1)

    def times(self, factor: float) -> Bounded:
        """The product with a number that is exact in float64, such as 1/2."""
        return self._rounded(self.value * factor, self.error * abs(factor), 1)

    def sum(self, dim: int | None = None) -> Bounded:
        """The sum over one dimension or over all entries."""
        value = self.value.sum() if dim is None else self.value.sum(dim)
        error = self.error.sum() if dim is None else self.error.sum(dim)
        magnitude = self.value.abs().sum() if dim is None else self.value.abs().sum(dim)
        n = self.value.numel() if dim is None else self.value.shape[dim]
        return Bounded(value, (error + gamma(n, UNIT) * magnitude) * ((1 + gamma(n + 4, UNIT)) * SAFETY))


def over_tokens(x: Bounded, y: Bounded) -> Bounded:
    """xᵀ y for x (N, a) and y (N, b), summed in blocks of tokens."""
    n, shape = len(x.value), (x.value.shape[1], y.value.shape[1])
    value, error, magnitude = (x.value.new_zeros(shape) for _ in range(3))
    for part in slices(n, BLOCK):
        a, da, b, db = x.value[part], x.error[part], y.value[part], y.error[part]
        value += a.T @ b
        error += da.T @ b.abs() + (a.abs() + da).T @ db
        magnitude += a.abs().T @ b.abs()
    chain = min(n, BLOCK) + -(-n // BLOCK)
    error = (error + gamma(chain, UNIT) * magnitude) * ((1 + gamma(2 * chain + 4, UNIT)) * SAFETY)
    return Bounded(value, error)


def same(name: str, found: Bounded, expected: Bounded) -> Comparison:
    """Two evaluations of what is claimed to be one quantity: their difference against both errors."""
    shape = (-1, 1) if found.value.ndim < 2 else found.value.shape
    parts = (found.value, expected.value, (found.error + expected.error) * SAFETY)
    return compare(name, *(x.reshape(shape) for x in parts))
