"""What the attentions are given: tokens x (B, N, width) and which of them are there."""

from __future__ import annotations

import torch

from checks.tensors.core.errors import TensorError


def check_tokens(x: torch.Tensor, width: int, valid: torch.Tensor | None) -> torch.Tensor:
    """x (B, N, width), zero where there is no token, so that nothing there, not even a NaN, reaches others.

    ``valid``: truth values (B, N), or None. Raises TensorError for other shapes and for numbers.
    """
    if x.ndim != 3 or x.shape[1] < 1 or x.shape[2] != width:
        raise TensorError(f"x is {tuple(x.shape)}; it must be (batch, tokens, {width}) with a token at least")
    if valid is not None and (valid.dtype != torch.bool or valid.shape != x.shape[:2]):
        raise TensorError(
            f"valid is {valid.dtype} {tuple(valid.shape)}; it must be torch.bool {tuple(x.shape[:2])}"
        )
    return only_valid(x, valid)


def only_valid(x: torch.Tensor, valid: torch.Tensor | None) -> torch.Tensor:
    """x (B, N, …) with zeros where ``valid`` (B, N) says that there is no token."""
    return x if valid is None else x.masked_fill(~valid[..., None], 0)
