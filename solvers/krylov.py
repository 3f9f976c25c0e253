"""Top singular triplets of a matrix that is known only by its products, by block Lanczos on A'A.

Attention's softmax matrix at length N would have N^2 entries; its products with blocks of vectors are
streamed in O(N d) memory. Behind its first singular value the spectrum is nearly flat, where power iteration
and randomised sketches give few digits: here every block is orthogonalised against all earlier ones, twice,
so that the basis stays orthonormal to rounding and multiple values appear with their multiplicity.

Long blocks are torch's: two libraries of linear algebra that alternate have their threads wait against each
other.

Ritz values never exceed the singular value of their rank (Cauchy interlacing). What the triplets are worth is
not for this module to say: `checks.tensors.ksvd.triplets` bounds their errors from residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy.linalg
import torch

from .program import Array

__all__ = ["DenseProducts", "Products", "Triplets", "largest_missed", "top_triplets"]


class Products(Protocol):
    """A matrix A of `rows` x `columns` by its products with blocks of b vectors."""

    rows: int
    columns: int

    def apply(self, x: Array) -> Array:
        """A x: (columns, b) -> (rows, b)."""
        ...

    def adjoint(self, y: Array) -> Array:
        """A' y: (rows, b) -> (columns, b)."""
        ...

    def gram(self, x: Array) -> Array:
        """A' A x: (columns, b) -> (columns, b); often cheaper than the two products one after the other."""
        ...


@dataclass(frozen=True, eq=False)
class DenseProducts:
    """The products of a matrix that is held in memory, for tests and small N."""

    matrix: Array

    @property
    def rows(self) -> int:
        return self.matrix.shape[0]

    @property
    def columns(self) -> int:
        return self.matrix.shape[1]

    def apply(self, x: Array) -> Array:
        return self.matrix @ x

    def adjoint(self, y: Array) -> Array:
        return self.matrix.T @ y

    def gram(self, x: Array) -> Array:
        return self.matrix.T @ (self.matrix @ x)


@dataclass(frozen=True, eq=False)
class Triplets:
    """left (rows, s), values (s,) descending, right (columns, s); A right ~ left values, A' left ~ right
    values.

    `residual` is the method's own estimate of the largest |A'u - sigma v| / sigma_1, no certificate;
    `converged` says that it fell below the tolerance; `steps` counts the products with A'A.
    """

    left: Array
    values: Array
    right: Array
    residual: float
    converged: bool
    steps: int

    def first(self, count: int) -> Triplets:
        """The leading ones."""
        left, right = self.left[:, :count], self.right[:, :count]
        return replace(self, left=left, values=self.values[:count], right=right)


def top_triplets(
    products: Products,
    count: int,
    *,
    block: int | None = None,
    tolerance: float = 1e-14,
    max_steps: int = 80,
    seed: int = 0,
) -> Triplets:
    """The `count` largest singular triplets, in O(columns * block * steps) memory.

    `block` (default count + 32) vectors a step: products with wide blocks are nearly free, and convergence
    depends on the gap between the values of rank `count` and `block`. Values below about 1e-8 of the first
    are lost in A'A; kernels of explicit features have `solvers.ksvd.feature_triplets` instead.
    Raises ValueError unless 1 <= count <= min(rows, columns).
    """
    smaller = min(products.rows, products.columns)
    if not 1 <= count <= smaller:
        raise ValueError(f"{count} triplets of a {products.rows} x {products.columns} matrix")
    width = min(count + 32 if block is None else max(block, count), products.columns)
    vectors = _orthonormal(
        torch.from_numpy(np.random.default_rng(seed).standard_normal((products.columns, width)))
    )
    basis, projected = vectors[:, :0], np.zeros((0, 0))
    estimate, ritz, steps, look = np.inf, np.zeros((0, 0)), 0, 2
    while True:
        image = torch.from_numpy(np.ascontiguousarray(products.gram(vectors.numpy())))
        steps += 1
        basis = torch.cat([basis, vectors], 1)
        along = basis.T @ image
        projected = _extended(projected, along.numpy())
        room = products.columns - basis.shape[1]
        following, coupling = _next_block(basis, image, along, min(width, room))
        # the small eigenproblem grows with every step, and is solved the more rarely
        if steps == look or room == 0 or steps == max_steps:
            look = steps + max(1, steps // 6)
            squares, ritz = _largest(projected, count)
            last = coupling.numpy() @ ritz[-vectors.shape[1] :]
            sizes = np.sqrt(np.maximum(squares * squares[0], np.finfo(float).tiny))
            estimate = float((np.linalg.norm(last, axis=0) / sizes).max()) if room else 0.0
            if estimate <= tolerance or room == 0 or steps >= max_steps:
                break
        vectors = following
    right = basis.numpy() @ ritz
    left, values, turn = scipy.linalg.svd(products.apply(right), full_matrices=False)
    return Triplets(left, values, right @ turn.T, estimate, estimate <= tolerance, steps)


def _extended(projected: Array, column: Array) -> Array:
    """Q'A'AQ with the block column (m + b, b) of the newest b vectors, made symmetric."""
    old, new = len(projected), column.shape[0]
    wider = np.zeros((new, new))
    wider[:old, :old] = projected
    wider[:, old:] = column
    wider[old:, :old] = column[:old].T
    wider[old:, old:] = (column[old:] + column[old:].T) / 2
    return wider


def _next_block(
    basis: torch.Tensor, image: torch.Tensor, along: torch.Tensor, width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Orthonormal vectors (columns, width) that span what `image` adds to the basis, and their products with
    it.

    `along` is basis' image. Orthogonalised again after normalising: where the image adds nothing, rounding is
    left, and what that is blown up to must not lean on the basis.
    """
    if width == 0:
        return image[:, :0], image.new_zeros(0, image.shape[1])
    rest = image - basis @ along
    if width < image.shape[1]:  # the space is nearly full: keep the largest part of the image
        rest = torch.linalg.svd(rest, full_matrices=False)[0][:, :width]
    rest = _orthonormal(rest)
    rest = _orthonormal(rest - basis @ (basis.T @ rest))
    return rest, rest.T @ image


def _orthonormal(block: torch.Tensor) -> torch.Tensor:
    return torch.linalg.qr(block).Q.contiguous()


def _largest(symmetric: Array, count: int) -> tuple[Array, Array]:
    """The `count` largest eigenvalues, descending, and their eigenvectors (m, count)."""
    size = len(symmetric)
    values, vectors = scipy.linalg.eigh(symmetric, subset_by_index=[max(0, size - count), size - 1])
    return values[::-1], vectors[:, ::-1]


def largest_missed(
    products: Products, right: Array, *, powers: int = 12, vectors: int = 32, seed: int = 1
) -> tuple[float, float]:
    """A number that no singular value belonging to vectors orthogonal to `right` exceeds, and the chance that
    it does.

    Residuals prove that singular values lie near the computed ones, not that these are the largest. With M =
    A'A on the complement of `right` (columns, s) and Gaussian g_1 ... g_b, |M^k g|^2 >= lambda_max^(2k) x^2
    where x ~ N(0, 1) is the part of g along the top eigenvector; all b of them are below 1/2 in size with
    chance 0.383^b (3e-14 for 32). Takes `powers` products with A'A.
    """
    rng = np.random.default_rng(seed)

    def outside(block: Array) -> Array:
        return block - right @ (right.T @ block)

    block = outside(rng.standard_normal((products.columns, vectors)))
    logs = np.zeros(vectors)
    for _ in range(powers):
        block = outside(products.gram(block))
        sizes = np.linalg.norm(block, axis=0)
        if not sizes.any():
            return 0.0, 0.383**vectors
        logs += np.log(np.maximum(sizes, np.finfo(float).tiny))
        block = block / np.maximum(sizes, np.finfo(float).tiny)
    square = (logs.max() + np.log(2)) / powers
    return float(np.exp(square / 2)), 0.383**vectors
