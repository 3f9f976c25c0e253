"""By what factor an attention kernel in bfloat16 is off, where the bound of its rounding admits half a
percent.

The bound of the fused kernel (BOUNDS.md, section 4) admits relative errors of about 2^-8 in bfloat16: it
cannot tell softmax from 1.001 times it, nor from one with a 1 added to the normaliser. Where all scores are
equal the output is the mean of the values. Values 1 and 1 + 2^-7 in known numbers give means around the
middle between two neighbours in bfloat16; their sums are exact in float32 up to 2^16 tokens. Of 2^17 only
sums of all but 711 tokens pass 2^24 steps of 2^-7 and are rounded, 4.3e-5 in any order. The column at which
the output steps from one neighbour to the other tells the factor to 5e-5: torch's kernel on CPU has 1.00005
there (its exp(0) is 0.99995), 1.001 is twenty steps away.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import torch

from checks.tensors.core.errors import TensorError

STEP = Fraction(1, 2**7)  # between neighbours in [1, 2)
COLUMNS = 64
SHORTEST, LONGEST = 1024, 2**17  # below, counts are too coarse; beyond, sums in float32 lose too much
EXP_ERROR = Fraction(1, 2**11)  # of the kernels' exp in bfloat16, BOUNDS.md

Kernel = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def means(tokens: int) -> list[Fraction]:
    """The exact mean of each column: around the middle of the step, 5e-5 apart."""
    return [1 + STEP * count / tokens for count in _upper(tokens)]


def _upper(tokens: int) -> list[int]:
    """How many of the values of each column are 1 + 2^-7."""
    return [tokens // 2 + tokens * (c - COLUMNS // 2) // 160 for c in range(COLUMNS)]


def values(tokens: int, device: str | torch.device = "cpu") -> torch.Tensor:
    """(tokens, COLUMNS) in bfloat16, the larger values of each column spread over all tokens."""
    place = torch.arange(tokens, device=device, dtype=torch.int64).unsqueeze(-1)
    counts = torch.tensor(_upper(tokens), device=device, dtype=torch.int64)
    upper = ((place + 1) * counts) // tokens > (place * counts) // tokens
    return torch.where(upper, 1 + float(STEP), 1.0).to(torch.bfloat16)


def factor(
    tokens: int, kernel: Kernel, device: str | torch.device = "cpu", width: int = 64
) -> tuple[Fraction, Fraction] | None:
    """Between which factors of the exact mean the output of a kernel (q, k, v) -> out lies; None where no
    factor explains it.

    Raises TensorError for a number of tokens that is no power of two from 2^10 to 2^17.
    """
    if not SHORTEST <= tokens <= LONGEST or tokens & (tokens - 1):
        raise TensorError(f"told for powers of two from {SHORTEST} to {LONGEST} tokens, not for {tokens}")
    zeros = torch.zeros(1, 1, tokens, width, dtype=torch.bfloat16, device=device)
    out = kernel(zeros[..., :1, :], zeros, values(tokens, device)[None, None])
    found = [float(x) for x in out.flatten().float().cpu()]
    upper = 1 + float(STEP)
    steps = found.index(upper) if upper in found else COLUMNS
    if found != [1.0] * steps + [upper] * (COLUMNS - steps) or steps in (0, COLUMNS):
        return None
    middle, exact = 1 + STEP / 2, means(tokens)
    return middle / exact[steps], middle / exact[steps - 1]


def accepts(found: tuple[Fraction, Fraction] | None) -> bool:
    """Whether a factor between these two may be 1 up to the error of exp. What lies within 2^-11 of 1 is not
    told apart: a 1 added to the normaliser from 2,048 tokens on.
    """
    return found is not None and found[0] <= 1 + EXP_ERROR and found[1] >= 1 - EXP_ERROR
