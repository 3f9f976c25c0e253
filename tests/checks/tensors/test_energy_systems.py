"""The non-linear head as printed and corrected, and Hopfield retrieval: gradients, fixed points, descent."""

import math

import pytest
import torch

from checks.tensors.core.arrays import TensorError
from checks.tensors.energy.descent import POTENTIALS
from checks.tensors.systems.hopfield import EnergyAttention, ModernHopfield, NonlinearHead, simplified_energy

ALL = ["linear", "quadratic", "cubic", "quartic", "exponential", "logcosh"]


def make(F="quadratic", n=5, d_v=3, **knobs):
    torch.manual_seed(0)
    head = NonlinearHead(4, 2, d_v, F, **knobs).double()
    return head, torch.randn(2, n, 4, dtype=torch.float64)


def attention(head, x):
    return head.weights(x) @ head.value(x)


@pytest.mark.parametrize("F", ALL)
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"regulariser": "printed"},
        {"regulariser": "none", "initial_state": "zero"},
        {"initial_state": "zero"},
        {"alignment": "second member", "regulariser": "printed", "d_v": 5},
    ],
)
def test_shapes_and_gradients(F, knobs):
    head, x = make(F, steps=2, step=0.1, **knobs)
    assert head(x).shape == (2, 5, knobs.get("d_v", 3))
    names = [name for name, _ in head.named_parameters()]

    def run(x, *parameters):
        return torch.func.functional_call(head, dict(zip(names, parameters, strict=True)), (x,))

    inputs = [t.detach().clone().requires_grad_(True) for t in (x, *head.parameters())]
    assert torch.autograd.gradcheck(run, inputs)


@pytest.mark.parametrize("regulariser", ["matching", "printed", "none"])
@pytest.mark.parametrize("F", ALL)
def test_a_step_follows_the_gradient_of_the_energy(F, regulariser):
    head, x = make(F, regulariser=regulariser, initial_state="zero", steps=1, step=0.2)
    z = torch.zeros(2, 5, 3, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(head.energy(x, z).sum(), z)
    torch.testing.assert_close(head(x), -0.2 * slope)


@pytest.mark.parametrize("F", ALL)
def test_the_corrected_head_returns_attention_and_the_printed_one_only_for_the_square(F):
    for regulariser in ("matching", "printed"):
        head, x = make(F, regulariser=regulariser, steps=7, step=0.1)
        off = float((head(x) - attention(head, x)).detach().abs().max())
        assert (off < 1e-14) == (regulariser == "matching" or F == "quadratic"), (regulariser, off)


def test_the_second_member_of_74_is_another_number():
    head, x = make(d_v=5, regulariser="printed", alignment="second member", steps=3, step=0.1)
    A, v = head.weights(x), head.value(x)
    c = torch.stack([torch.stack([v[b, j] @ A[b].T @ A[b] @ v[b, j] for j in range(5)]) for b in range(2)])
    torch.testing.assert_close(head.coefficients(A, v), 2 * c)
    assert bool((c >= 0).all())
    assert float((head(x) - attention(head, x)).detach().abs().max()) > 1e-4
    narrow, x = make(alignment="second member")
    with pytest.raises(TensorError, match="needs d_v = n; here d_v = 3 and n = 5"):
        narrow(x)


@pytest.mark.parametrize("start", ["random", "far"])
def test_retrieval_is_attention_and_lowers_the_energy(start):
    rng = torch.Generator().manual_seed(0)
    patterns = torch.randn(6, 4, dtype=torch.float64, generator=rng)
    x = torch.randn(3, 4, dtype=torch.float64, generator=rng) * (5 if start == "far" else 1)
    once = ModernHopfield(1.5)
    expected = torch.nn.functional.scaled_dot_product_attention(
        x[None, None], patterns[None, None], patterns[None, None], scale=1.5
    )
    torch.testing.assert_close(once(x, patterns), expected[0, 0])
    point = x.clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(once.energy(point, patterns).sum(), point)
    torch.testing.assert_close(x - slope, once(x, patterns))
    before = once.energy(x, patterns)
    for _ in range(5):
        x = once(x, patterns)
        after = once.energy(x, patterns)
        assert bool((after <= before + 1e-14).all())
        before = after
    assert torch.autograd.gradcheck(ModernHopfield(0.7, 3), (point, patterns.clone().requires_grad_(True)))


def test_a_stored_pattern_is_retrieved():
    patterns = torch.eye(5, dtype=torch.float64) * 3
    found = ModernHopfield(4.0, 3)(patterns + 0.3, patterns)
    torch.testing.assert_close(found, patterns, atol=1e-6, rtol=0)


@pytest.mark.parametrize("form", ["printed", "corrected"])
def test_only_the_corrected_energy_has_the_stated_fixed_point(form):
    beta, n = 0.8, 4
    x = torch.full((n,), beta / n, dtype=torch.float64, requires_grad=True)  # x = beta softmax(beta x)
    torch.testing.assert_close(x.detach(), beta * torch.softmax(beta * x.detach(), -1))
    (slope,) = torch.autograd.grad(simplified_energy(x, beta, form), x)
    assert (float(slope.abs().max()) < 1e-15) == (form == "corrected")


def test_attention_with_a_pull_on_the_keys_is_minus_the_gradient_of_its_energy():
    torch.manual_seed(1)
    layer = EnergyAttention(4, 3, 0.7).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(layer.energy(x).sum(), x)
    torch.testing.assert_close(layer(x), -slope)
    as_queries, _ = layer.parts(x)
    q, k = layer.query(x)[:, None], layer.key(x)[:, None]
    attended = torch.nn.functional.scaled_dot_product_attention(q, k, k, scale=0.7)[:, 0]
    torch.testing.assert_close(as_queries, attended @ layer.query.weight)
    # attention alone is not the gradient: the keys are tokens too
    assert float((as_queries + slope).detach().abs().max()) > 1e-2
    assert bool((layer.energy(x + 1e-3 * layer(x)) < layer.energy(x)).all())
    names = [name for name, _ in layer.named_parameters()]

    def run(x, *parameters):
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    assert torch.autograd.gradcheck(
        run, [t.detach().clone().requires_grad_(True) for t in (x, *layer.parameters())]
    )


def test_unusable_input_is_one_clear_line():
    assert set(ALL) == set(POTENTIALS)
    for call in (
        lambda: NonlinearHead(4, 2, 3, "u**2"),
        lambda: NonlinearHead(4, 2, 3, regulariser="half"),
        lambda: NonlinearHead(4, 2, 3, alignment="third member"),
        lambda: NonlinearHead(4, 2, 3, initial_state="one"),
        lambda: NonlinearHead(1, 1, 1)(torch.zeros(8193, 1)),
        lambda: ModernHopfield(0.0),
        lambda: ModernHopfield(math.inf),
        lambda: EnergyAttention(4, 2, math.inf),
        lambda: EnergyAttention(1, 1).energy(torch.zeros(8193, 1)),
        lambda: EnergyAttention(4, 2, -1.0),
        lambda: EnergyAttention(1, 1)(torch.zeros(8193, 1)),
        lambda: simplified_energy(torch.zeros(3), 1.0, "half"),
    ):
        with pytest.raises(TensorError) as caught:
            call()
        assert "\n" not in str(caught.value)
