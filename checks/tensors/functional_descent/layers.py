"""The transformers of Wang, Henao and Carin (2024): the designed one, with the weights (7) to (10), and the
trained one.

A token stacks covariates (d) on what is left of the outcome (C - 1), s = d + C - 1 entries. The N examples
are keys and values, the examples and K queries are queries; every layer adds its heads' outputs to the
tokens, and the prediction at a query is its last C - 1 entries with their sign changed. ``start`` is the
value that predictions start from, 0 for real outcomes (Section 2) and 1/C for the codes of categories
(Section 3): examples enter as (x, y - start), queries as (x, -start). Any leading dimensions are batches.
Nothing of size N x N is formed beyond 8192 x 8192 entries.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import nn

from checks.tensors.core.arrays import chunk_rows, slices
from checks.tensors.core.errors import TensorError
from checks.tensors.functional_descent.kernels import Kernel

JACOBIANS = ("diagonal", "full")
# of weights at a time: larger blocks leave a processor's cache, smaller ones leave a GPU idle
BLOCK_BYTES, GPU_BLOCK_BYTES = 1 << 22, 1 << 29


@dataclass(frozen=True)
class Reading:
    """Where the layers of (9) and (10) can be read in two ways; the defaults carry out gradient descent.

    ``query_is_key``: every query is a key as well, for itself and for the other queries, as if it were an
    example with its placeholder outcome. ``divide``: heads are divided by the number of keys (P = I/N in
    (10)); None: all but softmax, whose weights already sum to one. ``empty_slot``: queries enter as (x, 0),
    and the start is added to what is read, instead of as (x, -start). Only attention that looks at the
    outcomes can tell the two apart.
    """

    query_is_key: bool = False
    divide: bool | None = None
    empty_slot: bool = False


@dataclass(frozen=True)
class Weights:
    """The four matrices of a head, (s, s) each; P without its factor 1/N."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    project: torch.Tensor


def codes(labels: torch.Tensor, classes: int) -> torch.Tensor:
    """The codes ỹ (..., C-1) of labels 0, …, C-1: one-hot without the entry of class 0."""
    return torch.nn.functional.one_hot(labels, classes)[..., 1:].double()


def head(w: Weights, kernel: Kernel, keys: torch.Tensor, tokens: torch.Tensor, divide: bool) -> torch.Tensor:
    """Equation (9) with P: P W_V E κ(W_K E, W_Q e) for keys E (..., N, s) and tokens e (..., T, s), in blocks
    of tokens.

    Softmax over the queries needs all of them at once. Raises TensorError where that is too much.
    """
    projected, values = keys @ w.key.mT, keys @ w.value.mT @ w.project.mT
    count = keys.shape[-2]
    trained = any(p.requires_grad for p in (tokens, values, *kernel.parameters()))
    if kernel.axis == "queries" or (trained and torch.is_grad_enabled()):
        if tokens.shape[-2] * count > 8192**2:
            raise TensorError(f"{tokens.shape[-2]} x {count} weights at once; at most 8192 x 8192")
        out = kernel(projected, tokens @ w.query.mT) @ values
    else:
        # written in place: small results kept between large blocks would keep the allocator from reusing
        # those
        out = tokens.new_empty(tokens.shape)
        budget = BLOCK_BYTES if tokens.device.type == "cpu" else GPU_BLOCK_BYTES
        height = chunk_rows(count * math.prod(tokens.shape[:-2]), budget)
        for part in slices(tokens.shape[-2], height):
            out[..., part, :] = kernel(projected, tokens[..., part, :] @ w.query.mT) @ values
    return out / count if divide else out


class Transformer(nn.Module):
    """Layers of kernel attention with a skip connection; what its matrices are is up to the subclass."""

    def __init__(self, classes: int, width: int, kernel: Kernel, layers: int, reading: Reading) -> None:
        super().__init__()
        if classes < 2 or width < 1 or layers < 1:
            raise TensorError(
                f"{classes} classes, {width} covariates, {layers} layers: 2, 1, 1 are the least"
            )
        self.classes, self.width, self.layers = classes, width, layers
        self.size = width + classes - 1
        self.kernel, self.reading = kernel, reading
        self.divide = kernel.name != "softmax" if reading.divide is None else reading.divide

    def heads(self, layer: int, count: int) -> list[tuple[Weights, bool]]:
        """The heads of a layer for ``count`` keys, and whether each is divided by that count."""
        raise NotImplementedError

    def tokens(self, x: torch.Tensor, y: torch.Tensor, queries: torch.Tensor, start: float) -> torch.Tensor:
        """The input (..., N + K, s) from x (..., N, d), y (..., N, C-1) and queries (..., K, d). Raises
        TensorError for other shapes, and for another dtype than that of the parameters.
        """
        fit = x.ndim == queries.ndim > 1 and x.shape[-1] == queries.shape[-1] == self.width
        fit = fit and x.shape[:-2] == queries.shape[:-2] and y.shape == (*x.shape[:-1], self.classes - 1)
        if not fit:
            raise TensorError(
                f"x {tuple(x.shape)}, y {tuple(y.shape)}, queries {tuple(queries.shape)}: the widths must be "
                f"{self.width}, {self.classes - 1}, {self.width}, batches and the examples of x and y as many"
            )
        slot = 0.0 if self.reading.empty_slot else -start
        blank = y.new_full((*queries.shape[:-1], self.classes - 1), slot)
        tokens = torch.cat([torch.cat([x, y - start], -1), torch.cat([queries, blank], -1)], -2)
        if tokens.dtype != (own := next(self.parameters()).dtype):
            raise TensorError(f"the tokens are {tokens.dtype} and the parameters {own}")
        return tokens

    def layer(self, number: int, tokens: torch.Tensor, count: int, last: bool = False) -> torch.Tensor:
        """Equation (10): the tokens (..., N + K, s) after a layer; only those of the queries where it
        is the ``last``.
        """
        keys = tokens if self.reading.query_is_key else tokens[..., :count, :]
        moved = tokens[..., count:, :] if last else tokens
        for weights, divide in self.heads(number, keys.shape[-2]):
            moved = moved + head(
                weights, self.kernel, keys, tokens[..., count:, :] if last else tokens, divide
            )
        return moved

    def states(
        self, x: torch.Tensor, y: torch.Tensor, queries: torch.Tensor, start: float = 0.0
    ) -> list[torch.Tensor]:
        """The tokens (..., N + K, s) before the first layer and after each."""
        found = [self.tokens(x, y, queries, start)]
        for number in range(self.layers):
            found.append(self.layer(number, found[-1], x.shape[-2]))
        return found

    def forward(
        self, x: torch.Tensor, y: torch.Tensor, queries: torch.Tensor, start: float = 0.0
    ) -> torch.Tensor:
        """The predictions (..., K, C-1) at the queries."""
        tokens = self.tokens(x, y, queries, start)
        for number in range(self.layers):
            # the last layer's other tokens are not read (softmax over the queries needs them)
            last = number == self.layers - 1 and self.kernel.axis == "keys"
            tokens = self.layer(number, tokens, x.shape[-2], last)
        read = -tokens[..., -queries.shape[-2] :, self.width :]
        return read + start if self.reading.empty_slot else read


class DescentTransformer(Transformer):
    """The designed transformer: only rates and kernel parameters can be trained.

    ``rates``: one number for all layers, or (layers,), or (layers, C-1) for the rates α_k^(c) of (4).
    ``bias`` adds head 2, which needs a kernel that is constant and not 0 at zero keys; it gives the mean of
    what is left of the outcomes, with softmax over the queries N/(N + K) times that. ``jacobian``
    "diagonal" is the value matrix as printed; "full" multiplies its lower block by the derivative of the
    softmax at 0, (I - 11ᵀ/C)/C. Raises TensorError for a kernel without a constant head.
    """

    def __init__(
        self,
        classes: int,
        width: int,
        kernel: Kernel,
        layers: int = 1,
        *,
        rates: torch.Tensor | float = 1.0,
        bias: bool = False,
        jacobian: str = "diagonal",
        reading: Reading | None = None,
    ) -> None:
        super().__init__(classes, width, kernel, layers, reading or Reading())
        if jacobian not in JACOBIANS:
            raise TensorError(f"unknown jacobian {jacobian!r}; allowed: {', '.join(JACOBIANS)}")
        if bias and kernel.name != "softmax" and kernel.constant() is None:
            raise TensorError(f"the {kernel.name} kernel gives no constant head, so no bias")
        chosen = torch.as_tensor(rates, dtype=torch.float64)
        if chosen.ndim > 2 or (chosen.ndim and len(chosen) != layers):
            raise TensorError(f"rates of shape {tuple(chosen.shape)} do not fit {layers} layers")
        chosen = chosen.expand(layers, 1) if chosen.ndim == 0 else chosen.reshape(layers, -1)
        if chosen.shape[1] not in (1, classes - 1):
            raise TensorError(f"rates of shape {tuple(chosen.shape)} do not fit {classes} classes")
        self.rates = nn.Parameter(chosen.clone())
        self.bias, self.jacobian = bias, jacobian

    def heads(self, layer: int, count: int) -> list[tuple[Weights, bool]]:
        """Head 1 with (7) and (8); head 2, if there is one, with zero keys and queries and P_2 over its
        constant.
        """
        project = torch.eye(self.size, dtype=self.rates.dtype, device=self.rates.device)
        nothing = torch.zeros_like(project)
        block = torch.diag(self.rates[layer].expand(self.classes - 1))
        if self.jacobian == "full":
            block = block @ (torch.eye(len(block)).to(block) - 1 / self.classes) / self.classes
        value = nothing.clone()
        value[self.width :, self.width :] = -block
        covariates = nothing.clone()
        covariates[: self.width, : self.width] = project[: self.width, : self.width]
        found = [(Weights(covariates, covariates, value, project), self.divide)]
        if self.bias:
            constant = self.kernel.constant()
            # the softmax of equal scores is 1/N already (over the queries 1/(N + K))
            scaled = project if constant is None else project / constant
            found.append((Weights(nothing, nothing, value, scaled), constant is not None))
        return found


class TrainedTransformer(Transformer):
    """All matrices of all heads and layers are trained; entries start normal with deviation ``deviation``.

    The kernel's own parameters stay, in a copy of it: W_Q and W_K contain them. Heads are divided by the
    number of keys as in the designed transformer, so that a trained one can be used with contexts of another
    size.
    """

    def __init__(
        self,
        classes: int,
        width: int,
        kernel: Kernel,
        layers: int = 1,
        heads: int = 1,
        *,
        deviation: float = 0.2,
        generator: torch.Generator | None = None,
        reading: Reading | None = None,
    ) -> None:
        kernel = copy.deepcopy(kernel)  # others may train theirs
        super().__init__(classes, width, kernel, layers, reading or Reading())
        if heads < 1:
            raise TensorError(f"{heads} heads; at least 1 is needed")
        self.kernel.requires_grad_(False)
        shape = (layers, heads, 4, self.size, self.size)
        self.matrices = nn.Parameter(deviation * torch.randn(shape, generator=generator, dtype=torch.float64))

    def heads(self, layer: int, count: int) -> list[tuple[Weights, bool]]:
        """The heads as they are trained: W_Q, W_K, W_V, P."""
        return [(Weights(*own), self.divide) for own in self.matrices[layer]]
