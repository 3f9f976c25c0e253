"""The attention matrix of one head as an operator: A X and AᵀA X in one pass over its rows, and its spectrum.

A (M, N) is never formed beyond 1024 x 1024; longer heads give their rows block by block, made anew in each
pass. Everything is float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch

from checks.tensors.core import bounds, stream
from checks.tensors.core.errors import TensorError

DENSE_TOKENS = 1024  # up to here the whole matrix is kept and its singular values are all computed
ROW_BYTES = 1 << 25  # of one block of rows


class Product(NamedTuple):
    """What one pass over the rows of A gives for X (N, w)."""

    forward: torch.Tensor  # (M, w): A X
    gram: torch.Tensor  # (N, w): AᵀA X
    energy: float  # |A|_F², the sum of the squared singular values


@dataclass(frozen=True)
class AttentionMatrix:
    """A = softmax(scale q kᵀ), rows summing to 1: q (M, d), k (N, d) in float64; mask None or "causal"."""

    q: torch.Tensor
    k: torch.Tensor
    scale: float
    mask: str | None = None

    def __post_init__(self) -> None:
        if self.mask not in (None, "causal"):
            raise TensorError(f"no mask '{self.mask}'; allowed: none, causal")
        if self.mask == "causal" and len(self.q) != len(self.k):
            raise TensorError(
                f"a causal mask needs as many queries as keys, not {len(self.q)} and {len(self.k)}"
            )

    @property
    def small(self) -> bool:
        return max(len(self.q), len(self.k)) <= DENSE_TOKENS

    @cached_property
    def dense(self) -> torch.Tensor:
        """The whole matrix; only for small heads."""
        assert self.small, "a long head is never formed"
        return torch.cat([block for _, block in self._made()])

    def blocks(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """(slice of queries, block of rows (b, N)); a block may be a view and must not be written to."""
        return iter([(slice(0, len(self.q)), self.dense)]) if self.small else self._made()

    def _made(self) -> Iterator[tuple[slice, torch.Tensor]]:
        if self.mask is None:
            yield from stream.rows(self.q, self.k, self.scale, "weights", budget_bytes=ROW_BYTES)
            return
        keys = torch.arange(len(self.k), device=self.k.device)
        for part, block in stream.rows(self.q, self.k, self.scale, "scores", budget_bytes=ROW_BYTES):
            block.masked_fill_(keys > keys[part, None], -math.inf)
            block.sub_(block.amax(-1, keepdim=True)).exp_()
            yield part, block.div_(block.sum(-1, keepdim=True))

    def product(self, x: torch.Tensor) -> Product:
        """A X and AᵀA X for X (N, w)."""
        forward, gram, energy = x.new_empty(len(self.q), x.shape[1]), torch.zeros_like(x), 0.0
        for part, block in self.blocks():
            forward[part] = block @ x
            gram.addmm_(block.mT, forward[part])
            energy += float(torch.linalg.vector_norm(block)) ** 2
        return Product(forward, gram, energy)

    def log_error(self) -> float:
        """Omega: computed AᵀA X is within expm1(Omega) AᵀA |X| of the exact one, plus what underflows.

        Each weight is right up to exp(Omega_i) as in BOUNDS.md with one block as long as the row, and enters
        twice; each of the two sums adds roundings of its own, in any order.
        """
        m, n, d = len(self.q), len(self.k), self.q.shape[1]
        unit = bounds.unit_roundoff("float64")
        how = bounds.Arithmetic("rows float64", unit, 0.0, 4 * unit, 4, n)
        sizes = bounds.score_sizes(self.q, self.k, self.scale).max().reshape(1)
        sums = sum(g / (1 - g) for g in (bounds.gamma(n, unit), bounds.gamma(m, unit)))
        return 2 * float(bounds.log_error(how, d, n, sizes)) + sums

    def growth(self) -> float:
        """The same, at most 300, which is far beyond any use: its exponential must not overflow."""
        return min(self.log_error(), 300.0)


@dataclass(frozen=True)
class Spectrum:
    """Singular values of A. `method` "dense": all of them; "block Krylov": the leading ones, from below.

    Some eigenvalue of AᵀA lies within residuals[i] of values[i]²: they hold what weights and sums are wrong
    by. From Krylov, value i is, but for that, at most the i-th singular value (Ritz values of AᵀA lie below
    its eigenvalues). `largest_at_most` bounds the first value from above. Three effective ranks, each 1 for
    one singular value and n for n equal ones: stable |A|_F²/sigma_1²; participation
    (sum sigma²)²/sum sigma⁴; entropy exp(-sum p log p), p = sigma/sum sigma (Roy and Vetterli, EUSIPCO 2007).
    The energy |A|_F² is summed, not estimated. From Krylov the stable rank
    is as good as the first value and the participation is an estimate from `block` random vectors with the
    standard error `participation_error` (None where it is computed); what needs all values is None.
    """

    method: str
    values: tuple[float, ...]
    residuals: tuple[float, ...]
    largest_at_most: float
    energy: float
    stable_rank: float
    participation: float
    participation_error: float | None
    entropy_rank: float | None
    rank_90: int | None  # how many values make 90 % of the energy; None: more than are known
    smallest: float | None
    smallest_error: float | None  # the backward error of the dense computation
    passes: int


def spectrum(
    matrix: AttentionMatrix, top: int = 16, block: int = 8, steps: int = 12, seed: int = 0
) -> Spectrum:
    """The leading `top` singular values, their decay and the effective ranks.

    Raises TensorError for sizes below 1 (below 2 random vectors, since they give the standard error).
    """
    if min(top, steps, block - 1) < 1:
        raise TensorError(f"{top} values from {steps} steps of {block} columns; allowed: at least 1, 1 and 2")
    return _dense(matrix, top) if matrix.small else _krylov(matrix, top, block, steps, seed)


def _dense(matrix: AttentionMatrix, top: int) -> Spectrum:
    a, growth = matrix.dense, matrix.growth()
    sigma = torch.linalg.svdvals(a)
    squares = sigma**2
    energy, p = float(squares.sum()), sigma / sigma.sum()
    rounding = max(a.shape) * torch.finfo(a.dtype).eps * float(sigma[0])
    kept = tuple(float(s) for s in sigma[:top])
    return Spectrum(
        "dense",
        kept,
        (2 * rounding * kept[0] + math.expm1(growth) * energy,) * len(kept),
        (kept[0] + rounding) * math.exp(growth),  # weights that are not negative: so much grows it
        energy,
        energy / float(squares[0]),
        energy**2 / float((squares**2).sum()),
        None,
        math.exp(float(torch.special.entr(p).sum())),
        _rank_of_share(squares, energy),
        float(sigma[-1]),
        rounding,
        1,
    )


def _rank_of_share(squares: torch.Tensor, energy: float, share: float = 0.9) -> int | None:
    """How many leading squares make up this share of the energy; None if all given ones do not."""
    reached = (squares.cumsum(0) >= share * energy * (1 - 1e-12)).nonzero()
    return int(reached[0]) + 1 if len(reached) else None


def _krylov(matrix: AttentionMatrix, top: int, block: int, steps: int, seed: int) -> Spectrum:
    """Rayleigh-Ritz for AᵀA on the block Krylov space of a Gaussian start, fully reorthogonalised."""
    n = len(matrix.k)
    start = torch.randn(n, block, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    start = start.to(matrix.k.device)
    basis = [torch.linalg.qr(start)[0]]
    # rows of A sum to 1, so AᵀA 1 are the column sums, and the largest of them bounds sigma_1²
    found = matrix.product(torch.cat([basis[0], start.new_ones(n, 1)], 1))
    images, columns, energy = [found.gram[:, :-1]], float(found.gram[:, -1].max()), found.energy
    for _ in range(min(steps, n // block) - 1):
        basis.append(_orthonormal(images[-1], basis))
        images.append(matrix.product(basis[-1]).gram)
    space, image = torch.cat(basis, 1), torch.cat(images, 1)
    projected = space.mT @ image
    theta, vectors = torch.linalg.eigh((projected + projected.mT) / 2)
    theta, vectors = theta.flip(0).clamp(min=0)[:top], space @ vectors.flip(1)[:, :top]
    residuals = torch.linalg.vector_norm(image @ (space.mT @ vectors) - vectors * theta, dim=0)
    growth = matrix.growth()
    wrong = math.expm1(growth) * energy  # of the squares, by wrong weights and sums
    at_most = math.sqrt(
        min(
            energy - float(theta[1:].sum()) + (1 + math.sqrt(top)) * wrong,
            columns * math.exp(growth),
        )
    )
    settled = residuals <= 1e-3 * theta
    participation = _participation(
        start, images[0] @ (basis[0].mT @ start), theta[settled], vectors[:, settled], energy
    )
    return Spectrum(
        "block Krylov",
        tuple(float(t.sqrt()) for t in theta),
        tuple(float(r) + 2 * wrong for r in residuals),
        at_most * bounds.SAFETY,
        energy,
        energy / float(theta[0]),
        *participation,
        None,
        _rank_of_share(theta, energy),
        None,
        None,
        len(images),
    )


def _orthonormal(x: torch.Tensor, basis: list[torch.Tensor]) -> torch.Tensor:
    """An orthonormal block that continues the basis; directions that x has exhausted are replaced by
    others.
    """
    for _ in range(3):
        for q in basis:
            x = x - q @ (q.mT @ x)
        x, _ = torch.linalg.qr(x)
    return x


def _participation(
    z: torch.Tensor, image: torch.Tensor, theta: torch.Tensor, vectors: torch.Tensor, energy: float
) -> tuple[float, float]:
    """(sum sigma²)² / sum sigma⁴ and its standard error, from random z (N, b) and AᵀA z.

    |AᵀA z|² has the mean sum sigma⁴ and zᵀAᵀA z the mean sum sigma² = energy, which is known: the quotient of
    the two varies less than either. Eigenvalues theta that have settled are counted once each, without
    chance.
    """
    chance = (vectors.mT @ z) ** 2
    fourth = (image**2).sum(0) - (theta**2) @ chance
    second = (z * image).sum(0) - theta @ chance
    left = max(energy - float(theta.sum()), 0.0)
    quotient = float(fourth.sum() / second.sum()) if left > 1e-12 * energy else 0.0
    total = float((theta**2).sum()) + left * quotient
    spread = float((fourth - quotient * second).std()) / math.sqrt(len(second)) / float(second.mean().abs())
    error = left * spread / total if left > 1e-12 * energy else 0.0
    return energy**2 / total, energy**2 / total * error
