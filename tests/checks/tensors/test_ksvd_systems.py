"""Primal-Attention and the KSVD loss as modules: shapes, gradients, agreement with formulas, causality."""

import numpy as np
import pytest
import torch

from checks.tensors.core.arrays import TensorError
from checks.tensors.systems.attention import CanonicalAttention
from checks.tensors.systems.primal import (
    KsvdLoss,
    PrimalAttention,
    PrimalScores,
    ksvd_objective,
)
from solvers.ksvd import feature_triplets
from solvers.ksvd import objective as plain_objective

KINDS = [
    {"tokens": 5},
    {"tokens": None},
    {"tokens": 5, "scores": "e_only"},
    {"tokens": None, "scores": "e_only"},
    {"tokens": None, "causal": True},
    {"tokens": 5, "feature_map": "identity"},
]


def make(kind, width=8, heads=2, directions=3):
    torch.manual_seed(0)
    layer = PrimalAttention(width, heads, directions, **kind).double()
    return layer, torch.randn(2, 7, width, dtype=torch.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_and_gradients(kind):
    layer, x = make(kind)
    out, scores = layer(x)
    assert out.shape == x.shape and scores.e.shape == (2, 2, 7, 3)
    assert scores.w_e.shape == (2, kind["tokens"] or 4, 3)
    assert (scores.r is None) == (kind.get("scores") == "e_only")
    names = [name for name, _ in layer.named_parameters()]

    def run(x, *parameters):
        out, scores = torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))
        return out, ksvd_objective(scores, "released"), KsvdLoss(0.1, "released", "mean")([scores])

    inputs = [t.detach().clone().requires_grad_(True) for t in (x, *layer.parameters())]
    assert torch.autograd.gradcheck(run, inputs)


@pytest.mark.parametrize("tokens", [None, 5])
def test_scores_are_the_primal_representation(tokens):
    layer, x = make({"tokens": tokens})
    _, scores = layer(x)
    for b in range(2):
        for h in range(2):
            cut = slice(4 * h, 4 * h + 4)
            q = layer.query(x)[b, :, cut]
            phi = q / q.norm(dim=-1, keepdim=True)
            rows = torch.linspace(0, 6, 5).long()
            w = layer.w_e[h] if tokens is None else x[b, rows, cut].T @ layer.w_e[h]
            torch.testing.assert_close(scores.e[b, h], phi @ w)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_feature_map_has_norm_one_but_at_zero(dtype):
    layer = PrimalAttention(4, 1, 2).to(dtype)
    x = torch.zeros(3, 4, dtype=dtype)
    x[1, 0], x[2, 1] = -1e-13 if dtype == torch.float64 else -1e-7, 2.0
    expected = torch.zeros_like(x)
    expected[1, 0], expected[2, 1] = -1, 1
    torch.testing.assert_close(layer.features(x), expected)


@pytest.mark.parametrize("objective", ["paper", "released"])
@pytest.mark.parametrize("kind", [k for k in KINDS if not k.get("causal")])
def test_padding_changes_no_scores_and_of_the_objective_the_released_mean_alone(kind, objective):
    layer, x = make(kind)
    valid = torch.arange(7) < torch.tensor([[7], [5]])
    x[1, 5:] = torch.nan
    out, scores = layer(x, valid)
    for b, n in enumerate((7, 5)):
        alone, own = layer(x[b : b + 1, :n])
        torch.testing.assert_close(out[b, :n], alone[0])
        if objective == "released":  # its mean is over the padded length
            own = own._replace(weights=own.weights * (n / 7) ** 0.5)
        torch.testing.assert_close(ksvd_objective(scores, objective)[b], ksvd_objective(own, objective)[0])
    (out[valid].sum() + KsvdLoss(1.0, objective)([scores])).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in layer.parameters())


def hand_made(objective="paper"):
    rng = np.random.default_rng(0)
    phi_q, phi_k = rng.standard_normal((2, 9, 4))
    t = feature_triplets(phi_q, phi_k, None, 3)
    w_e, w_r = phi_k.T @ t.right, phi_q.T @ t.left
    lam = 1 / t.values if objective == "paper" else np.sqrt(9 / t.values)
    parts = [torch.from_numpy(x)[None, None] for x in (phi_q @ w_e, phi_k @ w_r)]
    weights = [torch.from_numpy(x)[None] for x in (w_e, w_r)]
    return (phi_q, phi_k, w_e, w_r, lam), PrimalScores(*parts, *weights, torch.from_numpy(lam)[None])


@pytest.mark.parametrize("objective", ["paper", "released"])
def test_the_loss_vanishes_at_ksvd_weights_and_nowhere_beside(objective):
    _, scores = hand_made(objective)
    assert abs(float(ksvd_objective(scores, objective))) < 1e-12
    assert float(KsvdLoss(1.0, objective)([scores])) < 1e-24
    other = "released" if objective == "paper" else "paper"
    for wrong in (
        scores._replace(weights=2 * scores.weights),
        scores._replace(w_e=-scores.w_e),
        scores._replace(e=2 * scores.e),
    ):
        assert abs(float(ksvd_objective(wrong, objective))) > 0.1
    assert abs(float(ksvd_objective(scores, other))) > 0.1


def test_the_loss_is_the_formula():
    (phi_q, phi_k, w_e, w_r, lam), scores = hand_made()
    rng = np.random.default_rng(1)
    other = rng.random(3)
    found = float(ksvd_objective(scores._replace(weights=torch.from_numpy(other)[None])))
    assert found == pytest.approx(plain_objective(phi_q, phi_k, w_e, w_r, other), rel=1e-12)
    released = float(ksvd_objective(scores._replace(weights=torch.from_numpy(other)[None]), "released"))
    assert released == pytest.approx(plain_objective(phi_q, phi_k, w_e, w_r, other**2 / 9), rel=1e-12)
    assert lam.shape == (3,)


def test_heads_that_cancel_have_no_loss():
    """J of the heads is averaged before squaring: -1/2 and 1/2 make a loss of zero (neither head is at
    KSVD).
    """
    one = torch.ones(1, 2, 1, 1, dtype=torch.float64)
    scores = PrimalScores(
        one,
        one * torch.tensor([1.0, 0.0]).view(1, 2, 1, 1),
        one[0],
        one[0] * torch.tensor([1.0, 0.0]).view(2, 1, 1),
        torch.tensor([[0.5], [1.0]], dtype=torch.float64),
    )
    assert ksvd_objective(scores).tolist() == [[-0.5, 0.5]]
    assert float(KsvdLoss(1.0)([scores])) == 0
    for batch in ("sample", "mean"):  # squared first, they do not cancel
        assert float(KsvdLoss(1.0, batch=batch, heads="each")([scores])) == 0.25


def test_the_batch_knob():
    _, scores = hand_made()
    twice = scores._replace(
        e=torch.cat([scores.e, 2 * scores.e]), r=torch.cat([scores.r, 0 * scores.r]), weights=scores.weights
    )
    each = ksvd_objective(twice)[:, 0]
    assert float(KsvdLoss(3.0)([twice, twice])) == pytest.approx(float(6 * each.square().mean()))
    assert float(KsvdLoss(3.0, batch="mean")([twice])) == pytest.approx(float(3 * each.mean().square()))


def later_changes(layer, x):
    changed = x.clone()
    changed[:, 4:] += 1
    first, second = (layer(y)[0] if isinstance(layer, PrimalAttention) else layer(y) for y in (x, changed))
    return float((first - second)[:, :4].detach().abs().max())


def test_only_the_causal_layers_ignore_later_tokens():
    layer, x = make({"tokens": None, "causal": True})
    assert later_changes(layer, x) == 0
    assert later_changes(make({"tokens": 5})[0], x) > 1e-3  # f(X) sees the whole sequence
    assert later_changes(make({"tokens": None})[0], x) == 0  # no token sees another
    assert later_changes(CanonicalAttention(8, 2, causal=True).double(), x) < 1e-15
    assert later_changes(CanonicalAttention(8, 2).double(), x) > 1e-3
    # a causal layer does look back
    changed = x.clone()
    changed[:, 0] += 1
    assert float((layer(x)[0] - layer(changed)[0])[:, 6].detach().abs().max()) > 1e-3


def test_canonical_attention_is_softmax_attention():
    torch.manual_seed(1)
    layer, x = CanonicalAttention(6, 2).double(), torch.randn(2, 5, 6, dtype=torch.float64)
    q, k, v = (f(x).view(2, 5, 2, 3).transpose(1, 2) for f in (layer.query, layer.key, layer.value))
    expected = torch.softmax(q @ k.mT / 3**0.5, -1) @ v
    torch.testing.assert_close(layer(x), layer.output(expected.transpose(1, 2).reshape(2, 5, 6)))


def test_unusable_input_is_one_clear_line():
    layer, x = make({"tokens": 5})
    _, scores = layer(x)
    for call in (
        lambda: PrimalAttention(7, 2, 3),
        lambda: PrimalAttention(8, 0, 3),
        lambda: PrimalAttention(8, -2, 3),
        lambda: PrimalAttention(8, 2, 0),
        lambda: PrimalAttention(8, 2, 3, tokens=-1),
        lambda: layer(x[..., :7]),
        lambda: layer(x[0]),
        lambda: layer(x, torch.ones(2, 1, dtype=torch.bool)),
        lambda: layer(x, torch.ones(2, 7)),
        lambda: PrimalAttention(8, 2, 3, scores="r_only"),
        lambda: PrimalAttention(8, 2, 3, feature_map="sine"),
        lambda: PrimalAttention(8, 2, 3, tokens=5, causal=True),
        lambda: layer(x[:, :4]),
        lambda: ksvd_objective(scores, "sum"),
        lambda: ksvd_objective(scores._replace(weights=-scores.weights)),
        lambda: KsvdLoss(1.0, batch="all"),
        lambda: KsvdLoss(1.0, heads="some"),
        lambda: CanonicalAttention(7, 2),
    ):
        with pytest.raises(TensorError) as caught:
            call()
        assert "\n" not in str(caught.value)
