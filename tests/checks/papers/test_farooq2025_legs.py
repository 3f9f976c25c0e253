"""The legs of farooq2025: they pass, and they can fail."""

import pytest

from checks.claim import Options
from checks.papers.farooq2025.legs import solvers as solver_legs
from checks.papers.farooq2025.legs import tensors as legs
from checks.tensors.energy.operators import AttentionMap

SMALL = Options(max_tokens=256)
CLIMBING = [
    "attention", "lift", "alignment", "gradient", "gradient_quadratic", "gradient_powers", "gradient_exponential", "gradient_printed",
    "stationary", "stationary_quadratic", "stationary_powers", "stationary_exponential", "loop", "loop_quadratic", "descent_step",
    "stable_range", "descent", "self_adjoint", "update_rule", "simplified", "retrieval",
]  # fmt: skip


@pytest.mark.parametrize("name", CLIMBING)
def test_a_leg_passes_and_says_what_it_ran_on(name):
    for evidence in getattr(legs, name)(None, SMALL):
        assert evidence.passed, evidence
        assert evidence.leg == "tensor" and evidence.tokens == 256 and evidence.error <= evidence.bound
        assert evidence.dtype == "float64" and evidence.wrong and not evidence.not_rejected


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
    from checks.tensors.core import fused

    right = fused.attention
    monkeypatch.setattr(
        fused, "attention", lambda *a, **b: (r := right(*a, **b))._replace(out=r.out * (1 + 1e-6))
    )
    assert not all(e.passed for e in getattr(legs, name)(None, SMALL))


def test_memory_is_that_of_a_tile_and_a_dense_product_is_noticed(monkeypatch):
    options = Options(max_tokens=1024)
    assert legs.memory(None, options)[0].passed
    right = legs.slope
    dense = lambda maps, *rest: (maps.q @ maps.k.T, right(maps, *rest))[1]  # noqa: E731
    monkeypatch.setattr(legs, "slope", dense)
    assert legs.memory(None, options)[0].passed is False


def test_long_lengths_run_the_first_function_only():
    ran = []

    def check(maps, F, seed):
        ran.append((F, len(maps)))
        return legs.check_retrieval(AttentionMap(maps.q[:8], maps.k[:8], maps.v[:8]), seed=seed)

    both = legs.on_heads("F {F}", check, "cubic", "quartic")
    assert [len(both.at(n, None, Options())) for n in (1024, 4096, 32768)] == [2, 2, 1]
    assert [F for F, _ in ran] == ["cubic", "quartic"] * 2 + ["cubic"]


# ---------------------------------------------------------------- solvers, exact arithmetic, balls

SOLVING = [
    "attention_minimises", "quadratic_minimises", "minimum", "minimum_even", "minimum_exponential", "balls", "balls_exponential",
    "second_equilibrium", "printed_weights", "descents", "kept_part",
]  # fmt: skip


@pytest.mark.parametrize("name", SOLVING)
def test_a_solver_leg_passes(name):
    for evidence in getattr(solver_legs, name)(None, SMALL):
        assert evidence.passed, evidence
        assert evidence.error is None or evidence.error <= evidence.bound


def lift_by_rows(A, V, Z):
    """Σ_m A_jm z_mᵀv_j: A for its transpose."""
    return [
        sum(A[j][m] * sum(x * y for x, y in zip(Z[m], v, strict=True)) for m in range(len(A)))
        for j, v in enumerate(V)
    ]


@pytest.mark.parametrize(
    "name, part, wrong",
    [
        (
            "attention_minimises",
            "product",
            lambda A, V, right=solver_legs.product: right(list(zip(*A, strict=True)), V),
        ),
        ("quadratic_minimises", "lift", lift_by_rows),
        ("printed_weights", "lift", lambda A, V, Z: [2 * u for u in lift_by_rows(A, V, Z)]),
        ("balls", "_arb_function", lambda name: (lambda u: u.cosh(), lambda u: 2 * u)),
        ("descents", "slope", lambda A, V, w: [[0 for _ in v] for v in V]),
        ("kept_part", "moved", lambda Z, W, step, right=solver_legs.moved: right(Z, W, -step)),
    ],
)
def test_a_solver_leg_notices_a_slip(name, part, wrong, monkeypatch):
    monkeypatch.setattr(solver_legs, part, wrong)
    assert not all(e.passed for e in getattr(solver_legs, name)(None, SMALL))


def test_weights_that_do_not_match_leave_no_minimum_at_attention(monkeypatch):
    from solvers import energy

    right = energy.EnergyProblem.w.fget
    monkeypatch.setattr(energy.EnergyProblem, "w", property(lambda self: 1.001 * right(self)))
    assert not any(e.passed for e in solver_legs.minimum(None, SMALL)[::2])


def test_a_descent_with_half_the_gradient_misses_its_range(monkeypatch):
    from solvers import energy

    right = energy.EnergyProblem.gradient
    monkeypatch.setattr(energy.EnergyProblem, "gradient", lambda self, Z: right(self, Z) / 2)
    assert not all(e.passed for e in solver_legs.descents(None, SMALL)[2:])
