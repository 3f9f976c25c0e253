"""The torch modules of nguyen2023 against its systems with error bounds, torch's own layer, and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from checks.tensors.core.arrays import TensorError
from checks.tensors.core.bounded import Bounded
from checks.tensors.systems import attention as at
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems.nguyen2023 import Head

N, WIDTH, SCALES = 24, 8, (1, 4)


def tokens(batch: int = 1, n: int = N) -> torch.Tensor:
    """Tokens whose coordinates have different means and deviations."""
    x = torch.randn(batch, n, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x * (0.5 + torch.arange(WIDTH) / 4) + 0.7


def made(layer: Callable[[], at.CanonicalAttention]) -> at.CanonicalAttention:
    """A module with seeded weights, its kernels no longer the identity."""
    torch.manual_seed(1)
    module = layer().double()
    for name, own in module.named_parameters():
        if name == "taps":
            nn.init.normal_(own)
    return module


def heads_of(module: at.CanonicalAttention, x: torch.Tensor) -> list[Head]:
    """Queries, keys and values of the heads for one sequence."""
    parts = [
        layer(x[0]).detach().chunk(module.heads, 1) for layer in (module.query, module.key, module.value)
    ]
    return [systems.head(*own) for own in zip(*parts, strict=True)]


def by_system(module: at.CanonicalAttention, x: torch.Tensor, heads: Sequence[Head]) -> Bounded:
    """Prepared heads attended, projected and added by the engine with bounds."""
    weights = torch.stack(module.output.weight.detach().chunk(module.heads, 1))
    out = systems.multihead(heads, weights, kernel=module.kernel, kept=module.kept, pattern=module.pattern)
    return out + Bounded(module.output.bias.detach().expand(len(out), -1))


def pooled(heads: Sequence[Head]) -> list[Head]:
    return [systems.pooled(h, w) for h, w in zip(heads, SCALES, strict=True)]


def each(prepare: Callable[[Head], Head]) -> Callable[..., list[Head]]:
    return lambda heads, module: [prepare(h) for h in heads]


CASES = {
    "canonical": (lambda: at.CanonicalAttention(WIDTH, 2), each(lambda h: h)),
    "linear": (lambda: at.CanonicalAttention(WIDTH, 2, kernel="linear"), each(lambda h: h)),
    "sparse": (lambda: at.CanonicalAttention(WIDTH, 2, kept=4), each(lambda h: h)),
    "window": (lambda: at.CanonicalAttention(WIDTH, 2, kept=4, pattern="window"), each(lambda h: h)),
    "linear window": (
        lambda: at.CanonicalAttention(WIDTH, 2, kernel="linear", kept=4, pattern="window"),
        each(lambda h: h),
    ),
    "BN": (lambda: at.AttentionBN(WIDTH, 2, eps=0.05), each(lambda h: systems.normalised(h, 0.05))),
    "centred": (lambda: at.CentredAttention(WIDTH, 2, beta=0.3), each(lambda h: systems.centred(h, 0.3))),
    "SH": (lambda: at.AttentionSH(WIDTH, SCALES), lambda heads, module: pooled(heads)),
    "BN+SH": (
        lambda: at.AttentionBNSH(WIDTH, SCALES, eps=0.05),
        lambda heads, module: [systems.normalised(h, 0.05) for h in pooled(heads)],
    ),
    "centred SH": (
        lambda: at.CentredAttention(WIDTH, 2, beta=0.3, scales=SCALES),
        lambda heads, module: [systems.centred(h, 0.3) for h in pooled(heads)],
    ),
    "linear BN+SH": (
        lambda: at.AttentionBNSH(WIDTH, SCALES, eps=0.05, kernel="linear"),
        lambda heads, module: [systems.normalised(h, 0.05) for h in pooled(heads)],
    ),
    "sparse BN+SH": (
        lambda: at.AttentionBNSH(WIDTH, SCALES, eps=0.05, kept=4),
        lambda heads, module: [systems.normalised(h, 0.05) for h in pooled(heads)],
    ),
    "Conv1D": (
        lambda: at.AttentionConv1D(WIDTH, 2, size=4),
        lambda heads, module: [
            systems.convolved(h, t) for h, t in zip(heads, module.taps.detach(), strict=True)
        ],
    ),
    "Conv1D SH": (
        lambda: at.AttentionConv1D(WIDTH, 2, size=4, scales=SCALES),
        lambda heads, module: [
            systems.convolved(h, t) for h, t in zip(pooled(heads), module.taps.detach(), strict=True)
        ],
    ),
    "Conv2D": (
        lambda: at.AttentionConv2D(WIDTH, 2, rows=4, size=2),
        lambda heads, module: [
            systems.convolved(h, t, (4, N // 4)) for h, t in zip(heads, module.taps.detach(), strict=True)
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_module_is_its_system_and_no_other(name: str) -> None:
    layer, prepare = CASES[name]
    module, x = made(layer), tokens()
    out = module(x)[0].detach()
    right = by_system(module, x, prepare(heads_of(module, x), module))
    allowed = 2 * right.error + 1e-13
    assert ((out - right.value).abs() <= allowed).all()
    for other, (_, unlike) in CASES.items():
        if other in ("canonical", "BN", "centred", "SH", "BN+SH") and unlike is not prepare:
            wrong = by_system(module, x, unlike(heads_of(module, x), module))
            same = other == name.removeprefix("linear ").removeprefix("sparse ")
            same |= other == "canonical" and name in ("linear", "sparse", "window", "linear window")
            assert same or ((out - wrong.value).abs() > allowed).any(), other


@pytest.mark.parametrize("layer", [
    lambda: at.CanonicalAttention(WIDTH, 2),
    lambda: at.CanonicalAttention(WIDTH, 2, kept=N),
    lambda: at.AttentionSH(WIDTH, (1, 1)),
    lambda: at.CentredAttention(WIDTH, 2, beta=0.0),
    lambda: at.AttentionConv1D(WIDTH, 2, size=3),
    lambda: at.AttentionConv2D(WIDTH, 2, rows=4, size=3),
])  # fmt: skip
def test_where_a_module_reduces_to_canonical_attention_it_is_torchs_layer(layer) -> None:
    torch.manual_seed(1)
    module, x = layer().double(), tokens(2)
    torchs = nn.MultiheadAttention(WIDTH, 2, batch_first=True, dtype=torch.float64)
    parts = (module.query, module.key, module.value)
    with torch.no_grad():
        torchs.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
        torchs.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
        torchs.out_proj.weight.copy_(module.output.weight)
        torchs.out_proj.bias.copy_(module.output.bias)
    assert torch.allclose(module(x), torchs(x, x, x)[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [n for n in CASES if n != "Conv2D"])
def test_a_padded_sequence_gives_what_it_gives_alone(name: str) -> None:
    module, x = made(CASES[name][0]), tokens(2)
    short = 18  # no multiple of the scale: the last average is of the two tokens there are
    valid = torch.ones(2, N, dtype=torch.bool)
    valid[1, short:] = False
    x[1, short:] = 1e3
    both, alone = module(x, valid), module(x[1:, :short])
    assert torch.allclose(both[1, :short], alone[0], rtol=0, atol=1e-11)
    assert torch.allclose(both[0], module(x[:1])[0], rtol=0, atol=1e-11)
    assert not torch.allclose(module(x)[1, :short], alone[0], atol=1e-3)
    x[1, short:] = torch.nan
    assert torch.equal(module(x, valid), both)


@pytest.mark.parametrize("name", ["canonical", "linear", "sparse", "window", "BN"])
def test_padding_may_stand_anywhere(name: str) -> None:
    module, x = made(CASES[name][0]), tokens()
    there = torch.arange(N) % 5 > 0
    found = module(x, there[None])[0, there]
    assert torch.allclose(found, module(x[:, there])[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
def test_padding_leaves_gradients_finite(name: str) -> None:
    module, x = made(CASES[name][0]), tokens(3).requires_grad_()
    valid = torch.arange(N) < torch.tensor([[N], [3], [0]])
    module(x, valid)[valid].square().sum().backward()
    for value in (x, *module.parameters()):
        assert value.grad is not None and value.grad.isfinite().all()
    assert not x.grad[~valid].any()


@pytest.mark.parametrize("pattern", ["strided", "window"])
def test_a_token_keeps_the_average_that_it_is_in(pattern: str) -> None:
    module = made(lambda: at.CanonicalAttention(WIDTH, 2, scales=(4, 4), kept=1, pattern=pattern))
    x = tokens(1, 9)  # the last average is of one token
    own = torch.stack([x[0, i : i + 4].mean(0) for i in (0, 4, 8)]).repeat_interleave(4, 0)[:9]
    assert torch.allclose(module(x)[0], module.output(module.value(own)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_statistics_of_many_keys_in_half_precision(dtype: torch.dtype) -> None:
    keys = torch.tensor([0.25, 0.75], dtype=dtype).repeat(35_000)[None, None, :, None]
    mean, variance = at.statistics(keys, None)
    assert mean.dtype == dtype and mean.item() == 0.5 and variance.item() == 0.0625


@pytest.mark.parametrize("name", CASES)
def test_gradients_reach_every_weight(name: str) -> None:
    module = made(CASES[name][0])
    module(tokens()).square().sum().backward()
    for own, weight in module.named_parameters():
        if own != "key.bias":  # softmax and normalisation do not see it
            assert weight.grad is not None and weight.grad.abs().max() > 1e-9, own


def test_a_causal_module_sees_no_later_token() -> None:
    module, x = made(lambda: at.CanonicalAttention(WIDTH, 2, causal=True)), tokens()
    later = x.clone()
    later[0, 10:] += 1
    assert torch.equal(module(x)[0, :10], module(later)[0, :10])
    assert not torch.allclose(module(x)[0, 10:], module(later)[0, 10:])


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_a_causal_module_takes_padding_with_every_backend(backend: SDPBackend) -> None:
    module, x = made(lambda: at.CanonicalAttention(WIDTH, 2, causal=True)), tokens(2)
    valid = torch.arange(N) < torch.tensor([[N], [18]])
    with sdpa_kernel(backend):
        found = module(x, valid)
    assert torch.allclose(found[0], module(x)[0], rtol=0, atol=1e-12)
    assert torch.allclose(found[1, :18], module(x[1:, :18])[0], rtol=0, atol=1e-12)


def given(valid: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: at.CanonicalAttention(8, 2, kernel="linear")(torch.zeros(3, 24, 8), valid)


@pytest.mark.parametrize("wrong, words", [
    (lambda: at.CanonicalAttention(8, 2, casual=True), "no choice casual; known: bias, causal"),
    (lambda: at.AttentionSH(8, (1, 2), rows=2), "no choice rows"),
    (lambda: at.CanonicalAttention(8, 2)(torch.zeros(1, 24, 9)), "must be .batch, tokens, 8"),
    (lambda: at.CanonicalAttention(8, 2)(torch.zeros(24, 8)), "must be .batch, tokens, 8"),
    (lambda: at.CanonicalAttention(8, 2)(torch.zeros(1, 0, 8)), "a token at least"),
    *((given(torch.ones(s, dtype=torch.bool)), "must be torch.bool .3, 24") for s in [(3, 1), (1, 1), (1, 24), (24,)]),
    (given(torch.ones(3, 24)), "must be torch.bool"),
    (given(torch.ones(3, 24, dtype=torch.long)), "must be torch.bool"),
    (lambda: at.AttentionConv2D(8, 2, rows=0), "at least one row"),
    (lambda: at.AttentionConv2D(8, 2, rows=-2), "at least one row"),
    (lambda: at.CanonicalAttention(0, 2), "does not divide"),
    (lambda: at.CanonicalAttention(7, 2), "does not divide"),
    (lambda: at.CanonicalAttention(8, 0), "does not divide"),
    (lambda: at.CanonicalAttention(8, 2, kernel="cosine"), "allowed: softmax, linear"),
    (lambda: at.CanonicalAttention(8, 2, kept=2, pattern="ring"), "allowed: strided, window"),
    (lambda: at.CanonicalAttention(8, 2, kept=0), "at least one key"),
    (lambda: at.AttentionSH(8, (1, 0)), "2 scales from 1 on"),
    (lambda: at.AttentionBN(8, 2, scales=(1,)), "2 heads need 2 scales"),
    (lambda: at.AttentionBN(8, 2, causal=True), "causal mask"),
    (lambda: at.AttentionConv1D(8, 2, size=0), "at least one tap"),
    (lambda: at.AttentionConv2D(8, 2, rows=5)(torch.zeros(1, 24, 8)), "do not make 5 rows"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(wrong, words: str) -> None:
    with pytest.raises(TensorError, match=words):
        wrong()
