"""The legs of farooq2025: they pass, and they can fail."""

import pytest

from checks.claim import Options
from checks.farooq2025 import legs
from checks.tensors.energy_operators import AttentionMap

SMALL = Options(max_tokens=256)
CLIMBING = [
    "attention", "lift", "alignment", "gradient", "gradient_quadratic", "gradient_powers", "gradient_exponential", "gradient_printed",
    "stationary", "stationary_quadratic", "stationary_powers", "stationary_exponential", "loop", "loop_quadratic", "descent_step",
    "stable_range", "self_adjoint", "update_rule", "simplified", "retrieval",
]  # fmt: skip


@pytest.mark.parametrize("name", CLIMBING)
def test_a_leg_passes_and_says_what_it_ran_on(name):
    for evidence in getattr(legs, name)(None, SMALL):
        assert evidence.passed, evidence
        assert evidence.leg == "tensor" and evidence.tokens == 256 and evidence.error <= evidence.bound
        assert evidence.dtype == "float64" and "wrong formulas rejected" in evidence.detail


@pytest.mark.parametrize("name", ["lift", "alignment", "descent_step", "self_adjoint", "retrieval"])
def test_a_leg_notices_a_wrong_transpose_product(name, monkeypatch):
    right = AttentionMap.backward_sized
    monkeypatch.setattr(
        AttentionMap,
        "backward_sized",
        lambda self, x: type(x)(right(self, x).value * (1 + 1e-4), right(self, x).error),
    )
    assert not all(e.passed for e in getattr(legs, name)(None, SMALL))


@pytest.mark.parametrize(
    "name", ["update_rule", "loop_quadratic", "stationary_powers", "alignment", "attention"]
)
def test_a_leg_notices_a_wrong_kernel(name, monkeypatch):
    from checks.tensors import fused

    right = fused.attention
    monkeypatch.setattr(
        fused, "attention", lambda *a, **b: (r := right(*a, **b))._replace(out=r.out * (1 + 1e-6))
    )
    assert not all(e.passed for e in getattr(legs, name)(None, SMALL))


def test_long_lengths_run_the_first_function_only():
    both = legs._each(Options(max_tokens=131072), ("cubic", "quartic"), lambda F, o: [(F, o.only)])
    assert both == [
        ("cubic", 1024), ("quartic", 1024), ("cubic", 4096), ("quartic", 4096), ("cubic", 32768), ("cubic", 131072),
    ]  # fmt: skip
