"""Seeded tokens and the feature maps of Remark 4.1 of chen2023, for KSVD of explicit features at any
length.
"""

from __future__ import annotations

import math

import torch

from checks.tensors.core.errors import TensorError
from checks.tensors.core.inputs import make_instance

FEATURE_MAPS = ("cosine", "exponential", "identity")


def cosine(z: torch.Tensor) -> torch.Tensor:
    """z / |z|, row by row: (..., N, p) -> (..., N, p). Raises TensorError at a zero row, where it is
    undefined.
    """
    length = torch.linalg.vector_norm(z, dim=-1, keepdim=True)
    if bool((length == 0).any()):
        raise TensorError("the cosine feature map is undefined at a zero query or key")
    return z / length


def exponential(z: torch.Tensor, width: int | None = None, seed: int = 0) -> torch.Tensor:
    """exp(-|z|²/2) exp(w_c·z), c = 1 ... width, w_c ~ N(0, I) of this seed: (..., N, d) -> (..., N,
    width).
    """
    d = z.shape[-1]
    generator = torch.Generator().manual_seed(seed)
    w = torch.randn(d, width or d, generator=generator, dtype=torch.float64).to(z)
    return torch.exp(z @ w - z.square().sum(-1, keepdim=True) / 2)


def make_features(
    tokens: int, p: int = 64, feature_map: str = "cosine", rows: int | None = None, *, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """(Phi_q, Phi_k, F): features (tokens, p) of seeded queries and keys, and f(X) of `rows` evenly spaced
    tokens.

    `rows` None leaves f(X) out (the data-independent case), `tokens` takes them all. Exponential features are
    of queries and keys divided by 2 d^(1/4), so that they keep an order of magnitude near 1. Raises
    TensorError for an unknown map or a number of rows that is not in 1 ... tokens.
    """
    if feature_map not in FEATURE_MAPS:
        raise TensorError(f"unknown feature map {feature_map!r}; allowed: {', '.join(FEATURE_MAPS)}")
    if rows is not None and not 1 <= rows <= tokens:
        raise TensorError(f"{rows} rows of {tokens} tokens; allowed: 1 to {tokens}")
    q, k, x = make_instance(tokens, p, seed=seed)
    if feature_map == "cosine":
        q, k = cosine(q), cosine(k)
    elif feature_map == "exponential":
        q, k = (exponential(z / (2 * math.sqrt(math.sqrt(p))), seed=seed) for z in (q, k))
    if rows is None:
        return q, k, None
    index = torch.linspace(0, tokens - 1, rows, dtype=torch.float64).long()
    return q, k, x[index] / math.sqrt(rows)
