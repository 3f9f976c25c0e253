"""Float64 tensors that carry a proved bound of their own error: every operation propagates and adds
roundings.

``Bounded(value, radius)`` says that the exact quantity lies within ``radius`` of ``value``, entry by entry.
The rules are running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, section 3.3)
with u = 2^-53:

    x + y               e_x + e_y + u |x + y|
    product of factors  Σ_k e_k Π_{i<k} (|x_i| + e_i) Π_{i>k} |x_i|  (a telescoping sum: nothing is neglected)
                        + g(n + m) Σ Π (|x_i| + e_i) for n terms of m factors, added in any order
    exp x               exp(x) (expm1(e) + 4 u)                      (exp within 2 ulp)
    x^p                 |x|^p (expm1(|p| r) + 4 u), r = -log(1 - e/|x|) >= |log of the relative error of x|
    elu x               e + 4 u |elu x|                              (elu is Lipschitz with constant 1)

Every rule also adds a few of the smallest normal number, for underflow. Radii are sums of nonnegative
numbers; their own roundings are covered by ``bounds.SAFETY``, applied where radii are compared. The class
answers the few torch functions that ``checks.tensors.core.formula.evaluate`` calls, so a declared formula
runs on it unchanged and yields its own bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from checks.tensors.core.agreement import ROWS_AT_ONCE
from checks.tensors.core.arrays import slices
from checks.tensors.core.bounds import gamma, unit_roundoff
from checks.tensors.core.errors import TensorError
from checks.tensors.core.formula import contract

UNIT = unit_roundoff("float64")
BLOCK = 512  # tokens a block in sums over tokens: the longest chain is a block and then the blocks
TINY = torch.finfo(torch.float64).tiny


class Bounded:
    """Values (any shape, float64) and radii of the same shape; ``radius`` None: the values are exact.

    Raises TensorError for another dtype or a radius of another shape.
    """

    __slots__ = ("radius", "value")

    def __init__(self, value: torch.Tensor, radius: torch.Tensor | None = None) -> None:
        if value.dtype != torch.float64 or (radius is not None and radius.shape != value.shape):
            raise TensorError("a bounded tensor is float64, with a radius of the same shape")
        self.value, self.radius = value, radius

    @staticmethod
    def of(x: Any, like: torch.Tensor | None = None) -> Bounded:
        """A bounded tensor; plain numbers and tensors are exact, plain 0-d tensors within 16 u.

        A 0-d tensor stands for a constant of a formula (a fraction, a root of a dimension) after at most
        a handful of roundings.
        """
        if isinstance(x, Bounded):
            return x
        if isinstance(x, (int, float)):
            assert like is not None
            return Bounded(torch.tensor(float(x), dtype=torch.float64, device=like.device))
        if x.ndim == 0:
            return Bounded(x, 16 * UNIT * x.abs())
        return Bounded(x)

    @staticmethod
    def rounded(value: torch.Tensor) -> Bounded:
        """Values that were rounded once on their way to float64."""
        return Bounded(value, UNIT * value.abs() + TINY)

    @property
    def error(self) -> torch.Tensor:
        """The radius, zeros where exact."""
        return torch.zeros_like(self.value) if self.radius is None else self.radius

    @property
    def size(self) -> torch.Tensor:
        """|value| + radius: no smaller than the exact quantity."""
        return self.value.abs() if self.radius is None else self.value.abs() + self.radius

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    dtype = property(lambda self: self.value.dtype)
    device = property(lambda self: self.value.device)

    def __len__(self) -> int:
        return len(self.value)

    # ---- rearrangements, which round nothing

    def _both(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Bounded:
        return Bounded(change(self.value), None if self.radius is None else change(self.radius))

    def permute(self, *axes: Any) -> Bounded:
        return self._both(lambda x: x.permute(*axes))

    def expand(self, *shape: int) -> Bounded:
        return self._both(lambda x: x.expand(*shape))

    def contiguous(self) -> Bounded:
        return self._both(torch.Tensor.contiguous)

    def index_select(self, axis: int, index: torch.Tensor) -> Bounded:
        return self._both(lambda x: x.index_select(axis, index))

    def reshape(self, *shape: int) -> Bounded:
        return self._both(lambda x: x.reshape(*shape))

    def __getitem__(self, at: Any) -> Bounded:
        return self._both(lambda x: x[at])

    def abs(self) -> Bounded:
        return Bounded(self.value.abs(), self.radius)

    # ---- arithmetic

    def __add__(self, other: Any) -> Bounded:
        other = Bounded.of(other, self.value)
        total = self.value + other.value
        return Bounded(total, self.error + other.error + UNIT * total.abs() + TINY)

    __radd__ = __add__

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.radius)

    def __sub__(self, other: Any) -> Bounded:
        return self + -Bounded.of(other, self.value)

    def __mul__(self, other: Any) -> Bounded:
        other = Bounded.of(other, self.value)
        out = self.value * other.value
        moved = self.error * other.value.abs() + self.size * other.error
        return Bounded(out, moved + UNIT * out.abs() + TINY)

    __rmul__ = __mul__

    def reciprocal(self) -> Bounded:
        return self**-1.0

    def __pow__(self, exponent: float) -> Bounded:
        if exponent == 2:
            return self * self
        out = self.value**exponent
        relative = -torch.log1p(-(self.error / self.value.abs()).clamp(max=1.0))
        return Bounded(
            out,
            (out.abs() * (torch.expm1(abs(exponent) * relative) + 4 * UNIT)).nan_to_num(
                nan=torch.inf, posinf=torch.inf
            )
            + TINY,
        )

    def __matmul__(self, other: Bounded) -> Bounded:
        """The product of matrices, in strips of the left one's rows."""
        strips = [einsum("ab,bc->ac", self[part], other) for part in slices(len(self), ROWS_AT_ONCE)]
        return strips[0] if len(strips) == 1 else together(strips)

    def sum(self, dim: int | None = None) -> Bounded:
        """The sum over one dimension or over all entries, in any order."""
        n = self.value.numel() if dim is None else self.shape[dim]
        total, size = (x.sum() if dim is None else x.sum(dim) for x in (self.value, self.size))
        radius = self.error.sum() if dim is None else self.error.sum(dim)
        return Bounded(total, radius + gamma(n, UNIT) * size + n * TINY)

    @property
    def T(self) -> Bounded:
        return self.permute(1, 0)

    # ---- what the formula evaluator calls

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.einsum:
            return einsum(*args)
        if function is torch.exp:
            return _exp(args[0])
        if function is torch.nn.functional.elu:
            return _elu(args[0])
        return NotImplemented


def _exp(x: Bounded) -> Bounded:
    out = x.value.exp()
    return Bounded(out, out * (torch.expm1(x.error) + 4 * UNIT) + TINY)


def _elu(x: Bounded) -> Bounded:
    out = torch.nn.functional.elu(x.value)
    return Bounded(out, x.error + 4 * UNIT * out.abs() + TINY)


def einsum(spec: str, *factors: Any) -> Bounded:
    """torch.einsum, contracted pair by pair, with a bound that holds for any order of additions inside
    a pair.
    """
    known = [Bounded.of(f) for f in factors]
    value, roundings = contract(spec, [f.value for f in known])
    full, _ = contract(spec, [f.size for f in known])
    radius = gamma(roundings, UNIT) * full + 4 * roundings * TINY
    for k, factor in enumerate(known):
        if factor.radius is not None:
            parts = [f.size if i < k else f.value.abs() for i, f in enumerate(known)]
            parts[k] = factor.radius
            radius = radius + contract(spec, parts)[0]
    return Bounded(value, radius)


def together(parts: Sequence[Bounded]) -> Bounded:
    """Rows one below the other."""
    return Bounded(torch.cat([p.value for p in parts]), torch.cat([p.error for p in parts]))


def over_tokens(x: Bounded, y: Bounded) -> Bounded:
    """xᵀ y for x (N, a) and y (N, b), summed in blocks of tokens."""
    shape = (x.shape[1], y.shape[1])
    value, error, magnitude = (x.value.new_zeros(shape) for _ in range(3))
    for part in slices(len(x), BLOCK):
        a, b = x[part], y[part]
        value += a.value.T @ b.value
        error += a.error.T @ b.value.abs() + a.size.T @ b.error
        magnitude += a.value.abs().T @ b.value.abs()
    chain = min(len(x), BLOCK) + -(-len(x) // BLOCK)
    return Bounded(value, error + gamma(chain, UNIT) * magnitude + chain * TINY)
