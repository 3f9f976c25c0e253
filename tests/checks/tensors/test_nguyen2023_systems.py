"""The systems of nguyen2023 and the numbers with error bounds that they are computed in."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
import torch

from checks.tensors.core.arrays import TensorError
from checks.tensors.core.bounded import Bounded, einsum
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers


def tokens(n: int, width: int = 5, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.5


def own(n: int = 24, width: int = 5) -> systems.Head:
    return systems.head(tokens(n, width, 1), tokens(n, width, 2), tokens(n, 3, 3))


def within(a: Bounded, b: Bounded) -> bool:
    return bool(((a.value - b.value).abs() <= a.error + b.error).all())


def exact(x: torch.Tensor) -> list[list[Fraction]]:
    return [[Fraction(float(v)) for v in row] for row in x]


# ---------------------------------------------------------------- numbers with bounds


def test_products_and_sums_stay_within_their_bound_and_the_bound_is_not_empty():
    a, b = tokens(3, 4), tokens(4, 2, 1)
    out = Bounded(a) @ Bounded(b)
    true = [
        [sum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*exact(b), strict=True)] for r in exact(a)
    ]
    for i in range(3):
        for j in range(2):
            assert abs(Fraction(float(out.value[i, j])) - true[i][j]) <= Fraction(float(out.error[i, j]))
    assert float(out.error.max()) < 1e-13


@pytest.mark.parametrize("change", [lambda x: x * x, lambda x: x - x * 3, lambda x: torch.exp(x), lambda x: x**-0.5,
                                    lambda x: x.reciprocal(), lambda x: torch.nn.functional.elu(x) + 1])  # fmt: skip
def test_a_radius_follows_the_inputs_through_every_operation(change):
    middle = tokens(6).abs() + 0.1
    inside = change(Bounded(middle, torch.full_like(middle, 1e-3)))
    for sign in (-1, 0, 1):
        moved = change(Bounded(middle + sign * 1e-3 * (1 - 1e-9)))
        assert within(inside, moved)
    narrow = change(Bounded(middle, torch.full_like(middle, 1e-6)))
    assert not within(narrow, change(Bounded(middle + 1e-3))), "a radius that is too small does not cover"


def test_a_radius_that_reaches_zero_makes_the_reciprocal_unbounded():
    one = torch.ones(1, dtype=torch.float64)
    assert float(Bounded(one, one).reciprocal().error) == math.inf


def test_einsum_agrees_with_torch_whatever_the_order_of_contraction():
    a, b, c = tokens(3, 4), tokens(4, 5, 1), tokens(3, 5, 2)
    spec = "ij,jk,ik->i"
    expected = torch.einsum(spec, a, b, c)
    assert float((einsum(spec, Bounded(a), b, c).value - expected).abs().max()) < 1e-13


def test_other_dtypes_are_refused():
    with pytest.raises(TensorError):
        Bounded(torch.ones(2, dtype=torch.float32))


# ---------------------------------------------------------------- preparation


def test_normalised_keys_have_mean_zero_and_variance_one():
    keys = systems.normalised(own(), 0.0).k
    assert float(keys.value.mean(0).abs().max()) < 1e-14
    assert torch.allclose(keys.value.var(0, correction=0), torch.ones(5, dtype=torch.float64))


def test_the_three_preparations_agree_with_torchs_layers():
    head = own()
    for mine, theirs in (
        (systems.normalised(head, 1e-3), layers.normalised(head, 1e-3)),
        (systems.pooled(head, 4), layers.pooled(head, 4)),
        (
            systems.convolved(head, torch.tensor([0.5, -1.0, 2.0])),
            layers.convolved(head, torch.tensor([0.5, -1.0, 2.0])),
        ),
    ):
        assert all(within(a, b) for a, b in zip(mine, theirs, strict=True))


@pytest.mark.parametrize(
    ("kernel", "grid"), [((2,), None), ((5,), None), ((3, 3), (4, 6)), ((2, 2), (4, 6)), ((3, 2), (1, 24))]
)
def test_convolutions_agree_with_torchs_and_mirrored_ones_do_not(kernel, grid):
    taps, x = (
        torch.randn(*kernel, generator=torch.Generator().manual_seed(3), dtype=torch.float64),
        Bounded(tokens(24)),
    )
    assert within(systems.convolve(x, taps, grid), layers.convolve(x, taps, grid))
    assert not within(systems.convolve(x, taps.flip(*range(taps.ndim)), grid), layers.convolve(x, taps, grid))


def test_the_unbiased_variance_is_another_normalisation():
    head = own()
    assert not within(systems.normalised(head, 1e-3).k, Bounded(layers.unbiased(head, 1e-3).value))


def test_shapes_that_do_not_fit_are_refused():
    x = Bounded(tokens(24))
    for call in (
        lambda: systems.pool(x, 5),
        lambda: systems.convolve(x, torch.ones(3), (4, 6)),
        lambda: systems.convolve(x, torch.ones(3, 3), (5, 5)),
        lambda: systems.kept_keys(torch.arange(3), 4, 5),
        lambda: systems.attend(own(), kernel="cosine"),
        lambda: systems.combine([x], torch.ones(2, 5, 5)),
        lambda: systems.residual(x, *torch.ones(3, 4, 5)),
    ):
        with pytest.raises(TensorError):
            call()


# ---------------------------------------------------------------- attention


def dense(head: systems.Head, kernel: str = "softmax", kept: int | None = None) -> torch.Tensor:
    """The definition with the whole matrix of weights."""
    q, k, v = (x.value for x in head)
    if kernel == "linear":
        weights = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).T
    else:
        weights = torch.exp(q @ k.T / math.sqrt(q.shape[1]))
    if kept is not None:
        keep = torch.zeros_like(weights).scatter_(
            1, systems.kept_keys(torch.arange(len(q)), len(k), kept), 1.0
        )
        weights = weights * keep
    return weights / weights.sum(1, keepdim=True) @ v


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
@pytest.mark.parametrize("kept", [None, 1, 7])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_both_kernels_over_all_keys_and_over_subsets_are_the_definition(kernel, kept, dtype):
    head = systems.normalised(own())
    out, expected = systems.attend(head, kernel=kernel, kept=kept, dtype=dtype), dense(head, kernel, kept)
    assert bool(((out.value - expected).abs() <= out.error + 1e-13).all())
    other = dense(head, "linear" if kernel == "softmax" else "softmax", kept)
    if kept != 1:
        assert not bool(((out.value - other).abs() <= out.error + 1e-13).all())


def test_the_bound_covers_inputs_that_were_moved_within_their_radius():
    head, step = own(), 1e-6
    radius = torch.full_like(head.k.value, step)
    blurred = systems.Head(
        Bounded(head.q.value, radius), Bounded(head.k.value, radius), Bounded(head.v.value, radius[:, :3])
    )
    signs = torch.sign(tokens(24, 5, 7) - 0.5)
    moved = systems.head(
        head.q.value + step * signs, head.k.value - step * signs, head.v.value + step * signs[:, :3]
    )
    for kernel in ("softmax", "linear"):
        wide, there = systems.attend(blurred, kernel=kernel), systems.attend(moved, kernel=kernel)
        assert within(wide, there)
        assert not within(systems.attend(head, kernel=kernel), there), "without the radii it is outside"


def test_heads_are_projected_and_added():
    heads, weights = [own(24), systems.pooled(own(24), 3)], tokens(6, 3).reshape(2, 3, 3)
    out = systems.multihead(heads, weights)
    expected = sum(dense(h) @ w.T for h, w in zip(heads, weights, strict=True))
    assert torch.allclose(out.value, expected, rtol=0, atol=1e-13)
    assert not torch.allclose(systems.multihead(heads, weights.flip(0)).value, expected)


def test_a_residual_adds_the_tokens():
    x, maps = Bounded(tokens(24)), tokens(15, 5, 4).reshape(3, 5, 5)
    out = systems.residual(x, *maps)
    own_head = systems.head(*(x.value @ w.T for w in maps))
    assert torch.allclose(out.value - dense(own_head), x.value, rtol=0, atol=1e-13)


def test_torchs_kernel_gives_its_own_bound():
    head = own()
    out, backend = systems.fused_attend(head)
    assert backend == "flash"
    assert within(out, systems.attend(head))
    assert not within(out, systems.attend(systems.centred(head, 1.0)))
