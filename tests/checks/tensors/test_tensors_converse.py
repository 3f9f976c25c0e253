"""The certificate that attention is an optimal SVR fit accepts the theorem and rejects what it excludes."""

import math

import pytest
import torch

from checks.tensors.core.arrays import TensorError
from checks.tensors.core.inputs import make_instance
from checks.tensors.svr.converse import certify, certify_attention_as_svr, fit_keys

# epsilon and the relative step below C* that a dtype must be able to see
SEEN = {"float64": (1e-6, 1e-9), "float32": (0.05, 0.02), "bfloat16": (0.5, 0.5)}


@pytest.fixture(scope="module", params=SEEN)
def fit(request):
    _, k, v = make_instance(1024, dtype=request.param)
    v[5] = 0  # a token without value: its target may be anywhere in the tube
    return fit_keys(k, v), *SEEN[request.param]


def test_the_theorem_is_accepted_for_every_c_from_the_smallest(fit):
    fit, epsilon, _ = fit
    for log_c in (None, fit.log_c_star + 1, math.inf):
        certificate = certify(fit, epsilon, log_c)
        assert certificate.accepted, certificate
        assert certificate.log_c_star == fit.log_c_star and certificate.normaliser == "fused"
    assert certify(fit, 0.0).accepted


def test_a_smaller_c_is_rejected_by_the_box(fit):
    fit, epsilon, step = fit
    assert certify(fit, epsilon, fit.log_c_star - step).rejected_by == ("box",)


@pytest.mark.parametrize(
    "wrong, residual",
    [
        (lambda fit, eps: 2 * fit.attention.double() - fit.targets(eps), "complementarity"),  # other side
        (lambda fit, eps: fit.attention, "complementarity"),  # inside the tube although epsilon > 0
        (lambda fit, eps: fit.values, "tube"),
        (lambda fit, eps: torch.zeros_like(fit.values), "tube"),
    ],
)
def test_wrong_targets_are_rejected(fit, wrong, residual):
    fit, epsilon, _ = fit
    certificate = certify(fit, epsilon, None, wrong(fit, epsilon))
    assert residual in certificate.rejected_by
    assert "relative duality gap" in certificate.rejected_by


def test_targets_of_a_token_without_value_are_free_in_the_tube_only(fit):
    fit, epsilon, _ = fit
    targets = fit.targets(epsilon)
    targets[5] += 0.9 * epsilon
    assert certify(fit, epsilon, None, targets).accepted
    targets[5] += 0.9 * epsilon
    assert "tube" in certify(fit, epsilon, None, targets).rejected_by


def test_a_target_beyond_the_tube_is_allowed_at_the_face_of_the_box_only(fit):
    fit, epsilon, _ = fit
    at = int((fit.log_h.unsqueeze(-1) + fit.values.abs().double().log()).argmax())
    targets = fit.targets(epsilon)
    targets.view(-1)[at] += 3 * torch.sign(fit.values.flatten()[at])
    assert certify(fit, epsilon, None, targets).accepted
    assert "tube" in certify(fit, epsilon, fit.log_c_star + 1, targets).rejected_by


def test_one_wrong_target_is_enough():
    _, k, v = make_instance(2048)
    fit = fit_keys(k, v)
    targets = fit.targets(1e-3)
    targets[1234, 7] -= 1e-6 * torch.sign(v[1234, 7])
    assert "complementarity" in certify(fit, 1e-3, None, targets).rejected_by


def test_small_instance_against_the_dense_dual():
    _, k, v = make_instance(40, 3, 2)
    kernel = torch.exp(k @ k.T / math.sqrt(3))
    h = kernel.sum(1)
    beta = h[:, None] * v
    certificate = certify_attention_as_svr(k, v, 0.1)
    assert certificate.accepted
    assert certificate.log_c_star == pytest.approx(float(beta.abs().max().log()), abs=1e-12)
    assert certificate.log_norm == pytest.approx(float((v * (kernel @ v)).sum().log()), abs=1e-11)
    assert certify_attention_as_svr(k, v, 0.1, float(beta.abs().max()) * 1.01).accepted
    assert not certify_attention_as_svr(k, v, 0.1, float(beta.abs().max()) * 0.99).accepted


@pytest.mark.slow
def test_the_theorem_at_32768_tokens():
    _, k, v = make_instance(32768)
    fit = fit_keys(k, v)
    assert certify(fit, 1e-3).accepted
    assert certify(fit, 1e-3, fit.log_c_star - 1e-9).rejected_by == ("box",)
    assert "complementarity" in certify(fit, 1e-3, None, fit.attention).rejected_by


_, KEYS, VALUES = make_instance(8, 4)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: certify_attention_as_svr(KEYS, VALUES, -1.0), "epsilon is -1.0"),
        (lambda: certify_attention_as_svr(KEYS, VALUES, 0.1, 0.0), "C is 0.0"),
        (lambda: certify_attention_as_svr(KEYS, VALUES, 0.1, math.nan), "C is nan"),
        (lambda: certify_attention_as_svr(KEYS, 0 * VALUES, 0.1), "some non-zero value"),
        (lambda: certify_attention_as_svr(KEYS[None], VALUES[None], 0.1), "one head"),
        (lambda: certify_attention_as_svr(KEYS, VALUES[:4], 0.1), "8 keys and 4 values"),
        (lambda: certify_attention_as_svr(KEYS, VALUES, 0.1, targets=VALUES[:3]), "targets have shape"),
        (
            lambda: certify_attention_as_svr(KEYS, VALUES, 0.1, targets=VALUES * math.nan),
            "targets contains NaN",
        ),
    ],
)
def test_bad_input_is_one_clear_line(call, message):
    with pytest.raises(TensorError, match=message):
        call()
