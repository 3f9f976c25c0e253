"""Operations and memory of the models of Figures 1 to 4 of nguyen2023, as formulas in N, D, heads and scales.

The model: ``LAYERS`` layers of attention with H heads and a feed-forward part of width F, on N tokens of
width D. Scaled head s has one key for r_s tokens. A multiply-add counts as two operations; what is linear in
N and D (normalisation, pooling, softmax) is left out, as in the usual counters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

N, D, F, KEPT = sp.symbols("N D F rho", positive=True)
LAYERS = 2


def share(scales: Sequence[int]) -> sp.Rational:
    """Keys of the scaled heads over those of unscaled ones: the mean of 1/r_s over the heads."""
    return sum((sp.Rational(1, r) for r in scales), sp.Integer(0)) / len(scales)


def operations(keys: Any = 1, kept: Any = 1) -> sp.Expr:
    """Operations of a forward pass: projections, attention to the kept keys, feed-forward; ``keys``:
    their share.
    """
    projections = 2 * (2 + 2 * keys) * N * D**2
    return LAYERS * (projections + 4 * keys * kept * N**2 * D + 4 * N * D * F)


def linear_operations(scales: Sequence[int]) -> sp.Expr:
    """Operations of a forward pass with linear attention: for each head the sum of the features' products
    with the values, its product with the queries' features, and the normaliser.
    """
    heads, keys = len(scales), share(scales)
    attention = 2 * (1 + keys) * N * D**2 / heads + 2 * N * D
    return LAYERS * (2 * (2 + 2 * keys) * N * D**2 + attention + 4 * N * D * F)


def saved_operations(scales: Sequence[int], kept: Any = 1) -> sp.Expr:
    """1 - operations with scaled heads / operations without, for F = 2D."""
    full, scaled = operations(1, kept), operations(share(scales), kept)
    return sp.factor(sp.cancel(((full - scaled) / full).subs(F, 2 * D)))


def matrices(scales: Sequence[int], together: bool, train: bool) -> sp.Rational:
    """N x N matrices of numbers held at the peak; everything else is at most a multiple of N D.

    Inference: scores and weights, of all heads at once if they are computed together, else of the head with
    most keys. Training with dropout keeps weights, dropped-out weights and the mask of every head and layer;
    the backward pass adds one more for the heads in hand and frees a head's three when it is through with it,
    the last head first.
    """
    inverse = [sp.Rational(1, r) for r in scales]
    if not train:
        return 2 * sum(inverse, sp.Integer(0)) if together else 2 * max(inverse)
    kept = 3 * LAYERS * sum(inverse, sp.Integer(0))
    if together:
        return kept + sum(inverse, sp.Integer(0))
    later = [3 * sum(inverse[h + 1 :], sp.Integer(0)) for h in range(len(inverse))]
    return kept + max(own - gone for own, gone in zip(inverse, later, strict=True))


def saved_memory(scales: Sequence[int], together: bool, train: bool) -> sp.Rational:
    """The limit for N much larger than D of 1 - memory with scaled heads, one by one / memory without.

    ``together``: the heads of the baseline are computed in one batched product.
    """
    baseline = matrices([1] * len(scales), together, train)
    return 1 - matrices(scales, False, train) / baseline
