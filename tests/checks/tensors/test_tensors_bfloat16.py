"""The factor in bfloat16 tells what the bound of the fused kernel admits."""

from __future__ import annotations

import pytest
import torch

from checks.claim import Options
from checks.papers.nguyen2023.legs import rows
from checks.tensors.core import bfloat16 as bf
from checks.tensors.core import fused
from checks.tensors.core.errors import TensorError


def torch_kernel(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return fused.attention(q, k, v).out


def wrong(add: float = 0.0, factor: float = 1.0) -> bf.Kernel:
    """Attention in float32 with something added to the normaliser, or the output scaled, rounded to
    bfloat16.
    """

    def kernel(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        weights = (q.float() @ k.float().mT / 8).exp()
        out = weights @ v.float() / (weights.sum(-1, keepdim=True) + add) * factor
        return out.to(torch.bfloat16)

    return kernel


@pytest.mark.parametrize("tokens", (1024, 4096, 32768))
def test_torchs_kernel_and_exact_attention_are_accepted(tokens: int) -> None:
    assert bf.accepts(bf.factor(tokens, torch_kernel))
    low, high = bf.factor(tokens, wrong()) or (0, 0)
    assert low <= 1 <= high and high - low < 6e-5


@pytest.mark.parametrize("tokens", (1024, 4096, 32768))
@pytest.mark.parametrize("scaled", (1.001, 0.999, 1.0006))
def test_a_scaled_output_is_rejected_at_every_length(tokens: int, scaled: float) -> None:
    assert not bf.accepts(bf.factor(tokens, wrong(factor=scaled)))
    low, high = bf.factor(tokens, wrong(factor=scaled)) or (0, 0)
    assert low <= scaled <= high


def test_a_wrong_normaliser_is_rejected_where_it_is_further_off_than_exp() -> None:
    for add in (1.0, -1.0):
        assert not bf.accepts(bf.factor(1024, wrong(add=add)))
        assert bf.accepts(bf.factor(4096, wrong(add=add)))  # 1 in 4,096 is half of what exp itself may be off


def test_a_kernel_that_mixes_up_columns_or_returns_nothing_of_the_kind_is_rejected() -> None:
    assert not bf.accepts(bf.factor(1024, lambda q, k, v: torch_kernel(q, k, v).flip(-1)))
    assert not bf.accepts(bf.factor(1024, lambda q, k, v: 0 * torch_kernel(q, k, v)))
    assert not bf.accepts(bf.factor(1024, lambda q, k, v: v[..., :1, :]))
    assert bf.factor(1024, lambda q, k, v: torch.full((64,), torch.nan)) is None
    assert bf.factor(1024, lambda q, k, v: torch.full((64,), torch.inf)) is None


@pytest.mark.parametrize("tokens", (2**16, 2**17))
def test_sums_that_float32_rounds_are_those_of_all_but_711_tokens(tokens: int) -> None:
    steps = [tokens * mean * 128 - 2**24 for mean in bf.means(tokens)]
    assert max(steps) <= (128 * 711 if tokens == 2**17 else 0)


@pytest.mark.parametrize("tokens", (1024, 131072))
def test_the_columns_have_the_means_that_are_said(tokens: int) -> None:
    counted = bf.values(tokens).float().double().mean(0)
    assert torch.equal(counted, torch.tensor([float(m) for m in bf.means(tokens)], dtype=torch.float64))


@pytest.mark.parametrize("tokens", (64, 1000, 2**18))
def test_lengths_at_which_float32_rounds_too_much_are_refused(tokens: int) -> None:
    with pytest.raises(TensorError, match="powers of two"):
        bf.factor(tokens, torch_kernel)


def test_the_leg_of_attention_looks_at_the_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    _, right = rows.attention_engines(None, Options(1024, "bfloat16"))
    assert right.passed and right.error is not None and right.error < right.bound and right.wrong == 2
    assert len(rows.attention_engines(None, Options(1024))) == 1
    assert rows.attention_engines(None, Options(256, "bfloat16"))[1].not_run
    monkeypatch.setattr(bf, "factor", lambda tokens, kernel, device: bf_factor(tokens, wrong(factor=1.001)))
    _, scaled = rows.attention_engines(None, Options(1024, "bfloat16"))
    assert scaled.passed is False


bf_factor = bf.factor
