"""Small attention instances that are exactly rational although their kernel is an exponential."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .program import Array


@dataclass(frozen=True, eq=False)
class ExponentialGram:
    """Keys whose exponential kernel is rational.

    keys (N, D) float64, k_i = sqrt(ln 2) D^(1/4) n_i; kernel (N, N) with kappa_ij = exp(k_i.k_j / sqrt D) =
    2^(n_i.n_j); normaliser (N,), h_i = sum_j kappa_ij; gram (N, N), M_ij = kappa_ij / (h_i h_j). The last
    three are exact Fractions; keys are the only rounded numbers.
    """

    keys: Array
    kernel: Array
    normaliser: Array
    gram: Array


def exact_exponential_gram(n: Array) -> ExponentialGram:
    """The instance of integer labels n (N, D); ValueError unless they are integers in an (N, D) array."""
    labels = np.asarray(n)
    if labels.ndim != 2 or labels.size == 0 or not all(isinstance(v, int) for v in labels.flatten().tolist()):
        raise ValueError(f"integer labels of shape (N, D) are needed, got {labels.dtype} {labels.shape}")
    N, D = labels.shape
    products = labels.astype(object) @ labels.astype(object).T
    kernel = np.empty((N, N), dtype=object)
    for index in np.ndindex(N, N):
        kernel[index] = Fraction(2) ** int(products[index])
    normaliser = kernel.sum(axis=1)
    keys = np.sqrt(np.log(2.0)) * D**0.25 * labels.astype(np.float64)
    return ExponentialGram(keys, kernel, normaliser, kernel / np.outer(normaliser, normaliser))
