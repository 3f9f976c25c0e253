"""Energies at scale: c in two products, stationarity, gradients, steps and limits; wrong formulas are
rejected.
"""

import math

import pytest
import torch

from checks.tensors.core import stream
from checks.tensors.core.arrays import TensorError
from checks.tensors.core.inputs import make_instance
from checks.tensors.energy.checks import (
    alignment_sized,
    check_alignment,
    check_gradient,
    check_stationary,
    check_step,
    check_update_rule,
)
from checks.tensors.energy.descent import (
    POTENTIALS,
    Head,
    bregman,
    descend,
    gradient,
    largest_eigenvalue,
    potential,
)
from checks.tensors.energy.operators import AttentionMap, exactly
from checks.tensors.energy.states import (
    check_descent,
    check_energy_change,
    check_lift,
    check_loop,
    check_self_adjoint,
    check_stable_range,
    column_bound,
)
from checks.tensors.systems.hopfield_checks import check_retrieval, check_simplified, random_state

# values small enough that exp and log cosh of alignments near 64 neither overflow nor saturate
SIZE = {"exponential": 1 / 16, "logcosh": 1 / 16, "quartic": 1 / 4}


def instance(tokens, F="quadratic", d=16, dtype="float64", seed=0):
    q, k, v = make_instance(tokens, d, dtype=dtype, seed=seed)
    return q, k, v * SIZE.get(F, 1.0)


def maps_of(*shape, **how):
    return AttentionMap(*instance(*shape, **how))


def head_of(tokens, F="quadratic", **how):
    return Head(maps_of(tokens, F, **how), potential(F))


def dense(maps):
    """A, and L as a matrix (n, n d_v) on the rows of Z one after the other."""
    A = torch.cat([block for _, block in stream.rows(maps.q, maps.k)])
    return A, torch.einsum("mj,jc->jmc", A, maps.v).reshape(len(A), -1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tokens, d", [(300, 16), (1024, 64)])
def test_alignments_are_certified(tokens, d, dtype):
    record = check_alignment(head_of(tokens, d=d, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)


def test_the_operators_are_those_of_the_definition():
    maps = maps_of(30, d=5)
    A, L = dense(maps)
    z = torch.randn(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    u = torch.stack([sum(A[m, j] * (z[m] @ maps.v[j]) for m in range(30)) for j in range(30)])
    torch.testing.assert_close(maps.lift(z), u)
    torch.testing.assert_close(maps.lift(z), L @ z.flatten())
    torch.testing.assert_close(maps.adjoint(u), A @ torch.diag(u) @ maps.v)
    G = (A.T @ A) * (maps.v @ maps.v.T)
    torch.testing.assert_close(maps.gram(u), G @ u)
    torch.testing.assert_close(maps.alignment, G.sum(1))
    torch.testing.assert_close(L @ L.T, G)


def test_float32_stays_within_its_bounds_of_float64():
    q, k, v = instance(200, d=8, dtype="float32")
    maps, exact = AttentionMap(q, k, v), AttentionMap(q.double(), k.double(), v.double())
    c = alignment_sized(maps)
    off = (c.value.double() - exact.alignment).abs()
    assert bool((off <= c.error).all()) and float((off / c.error).max()) > 1e-6
    z = exactly(maps.attention)
    gradient_there = maps.adjoint_sized(maps.lift_sized(z))
    expected = exact.adjoint(exact.lift(maps.attention.double()))
    assert bool(((gradient_there.value.double() - expected).abs() <= gradient_there.error).all())


@pytest.mark.parametrize("F", POTENTIALS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_attention_is_stationary_with_the_matching_regulariser_only(F, dtype):
    record = check_stationary(head_of(300, F, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)
    assert ("2c as printed in (75)" in record.mutants) == (F != "quadratic")


@pytest.mark.parametrize("F", POTENTIALS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_are_certified(F, dtype):
    record = check_gradient(head_of(300, F, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)


@pytest.mark.parametrize("regulariser", ["matching", "printed", "none"])
@pytest.mark.parametrize("F", POTENTIALS)
def test_the_gradient_is_the_derivative_of_the_energy(F, regulariser):
    maps, F = maps_of(40, F, d=6), potential(F)
    _, L = dense(maps)
    c = maps.alignment
    w = {"matching": F.slope(c), "printed": 2 * c, "none": 0 * c}[regulariser]
    z = Head(maps, seed=3).state().clone().requires_grad_(True)
    u = L @ z.flatten()
    total = (F.value(u) - w * u).sum()
    total.backward()
    torch.testing.assert_close(gradient(maps, F, z.detach(), regulariser), z.grad)


@pytest.mark.parametrize("regulariser", ["printed", "matching"])
@pytest.mark.parametrize("F", POTENTIALS)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_gradients_with_a_regulariser_are_certified(F, regulariser, dtype):
    if (F, regulariser) == ("linear", "matching"):
        return  # the gradient is zero, and so are its mutants
    record = check_gradient(head_of(300, F, dtype=dtype), regulariser=regulariser)
    assert record.passed, (record.comparisons, record.mutants)
    assert {"regulariser left out", "half the regulariser", "sign of the regulariser"} <= set(record.mutants)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_alignments_of_a_state_are_certified(dtype):
    record = check_lift(head_of(300, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)


@pytest.mark.parametrize("F", [f for f in POTENTIALS if f != "linear"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_loop_started_at_attention_returns_it(F, dtype):
    record = check_loop(head_of(300, F, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)
    assert ("2c as printed in (75)" in record.mutants) == (F != "quadratic")


@pytest.mark.parametrize("check", [check_self_adjoint, check_energy_change, check_stable_range])
def test_laws_of_the_quadratic_descent(check):
    record = check(head_of(300))
    assert record.passed, (record.comparisons, record.mutants)


@pytest.mark.parametrize("F", ["quadratic", "logcosh"])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_descent_from_zero_has_the_rate_of_gradient_descent(F, dtype):
    record = check_descent(head_of(300, F, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)
    with pytest.raises(TensorError, match="no bounded second derivative"):
        check_descent(head_of(20, "exponential", d=4))


def test_the_bound_from_column_sums_is_above_the_eigenvalue():
    maps = maps_of(150, d=8)
    A, _ = dense(maps)
    true = float(torch.linalg.eigvalsh((A.T @ A) * (maps.v @ maps.v.T))[-1])
    assert (
        true
        < column_bound(maps)
        == pytest.approx(float(A.sum(0).max() * maps.v.square().sum(1).max()), rel=2e-6)
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_from_column_sums_covers_its_rounding(seed):
    q, k, _ = instance(1, d=4, seed=seed)
    assert column_bound(AttentionMap(q, k, torch.ones(1, 1), dtype="float32")) >= 1


@pytest.mark.parametrize("size", [1e-2, 0.1, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_small_values_have_the_rate_of_descent_in_float32(size, seed):
    q, k, v = instance(2, d=4, seed=seed)
    maps = AttentionMap(q, k, size * v, dtype="float32")
    ratio = check_descent(Head(maps, potential("logcosh"))).comparisons[0].ratio
    assert 0 < ratio < 0.2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_log_cosh_keeps_the_digits_of_small_arguments(dtype):
    u = torch.logspace(-10, 2, 200, dtype=torch.float64).to(getattr(torch, dtype))
    x = u.double()
    exact = torch.where(x < 1e-2, x**2 / 2 - x**4 / 12 + x**6 / 45, x + torch.log1p(torch.expm1(-2 * x) / 2))
    close = 1e-11 if dtype == "float64" else 1e-6
    torch.testing.assert_close(potential("logcosh").value(u).double(), exact, rtol=close, atol=0)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_attention_is_a_gradient_by_the_queries_and_the_keys(dtype):
    record = check_retrieval(head_of(300, dtype=dtype))
    assert record.passed, (record.comparisons, record.mutants)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_simplified_energy_as_corrected(dtype):
    record = check_simplified(random_state(5000, dtype))
    assert record.passed, (record.comparisons, record.mutants)


def test_a_step_and_its_wrong_readings():
    record = check_step(head_of(300), 0.01)
    assert record.passed, (record.comparisons, record.mutants)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("step", [0.3, 1.7])
def test_the_update_rule_converges_and_the_printed_one_does_not(step, dtype):
    record = check_update_rule(head_of(300, dtype=dtype), step, 5)
    assert record.passed, (record.comparisons, record.mutants)
    with pytest.raises(TensorError, match="0 < step < 2"):
        check_update_rule(head_of(300, dtype=dtype), 2.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_stable_range_is_enclosed(seed):
    maps = maps_of(150, d=8, seed=seed)
    A, _ = dense(maps)
    true = float(torch.linalg.eigvalsh((A.T @ A) * (maps.v @ maps.v.T))[-1])
    found = largest_eigenvalue(maps)
    assert found.lower <= true <= found.upper
    assert found.upper < 1.2 * true and found.lower > 0.98 * true
    assert float(maps.gram(found.vector).norm()) == pytest.approx(true, rel=0.05)
    inside, beyond = 0.99 * found.stable(), 1.05 * found.unstable()
    early, late = (misfits(maps, Head(maps).state(), [inside, beyond], steps) for steps in (50, 200))
    assert late[0] < early[0] and late[1] > 1e3 * late[0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("value", [1.1, 1e-25, 1e18])
def test_one_token_has_the_square_of_its_value(value, dtype):
    zero = torch.zeros(1, 1)
    maps = AttentionMap(zero, zero, torch.tensor([[value]]), dtype=dtype)
    found = largest_eigenvalue(maps)
    assert 0 < found.lower <= float(maps.v.double()) ** 2 <= found.upper < 1.01 * found.lower
    assert float(largest_eigenvalue(maps_of(150, d=8), max_steps=0).vector.norm()) == pytest.approx(1)


def test_values_that_sum_to_zero_have_an_eigenvalue():
    zero, v = torch.zeros(2, 1), torch.tensor([[1.0], [-1.0]])
    found = largest_eigenvalue(AttentionMap(zero, zero, v, dtype="float64"))
    assert 0.99 < found.lower <= 1 <= found.upper < 1.01


def misfits(maps, z, lengths, steps):
    """|L(Z) - c| after descent on the quadratic energy with each step size."""
    c = maps.alignment.unsqueeze(1).expand(-1, len(lengths))
    z = z.unsqueeze(1).expand(-1, len(lengths), -1)
    _, u = descend(maps, potential("quadratic"), z, 2 * c, c.new_tensor(lengths), steps)
    return (u - c).norm(dim=0).tolist()


def test_descent_from_a_random_state_keeps_what_the_map_does_not_see():
    maps = maps_of(6, d=8)
    _, L = dense(maps)
    z = Head(maps, seed=1).state()
    c = maps.alignment.unsqueeze(1)
    step = c.new_tensor([0.99 * largest_eigenvalue(maps).stable()])
    ended, u = descend(maps, potential("quadratic"), z.unsqueeze(1), 2 * c, step, 800)
    unseen = z.flatten() - torch.linalg.pinv(L) @ (L @ z.flatten())
    torch.testing.assert_close(u, c, rtol=0, atol=1e-5)
    torch.testing.assert_close(ended.flatten(), maps.attention.flatten() + unseen, rtol=0, atol=1e-4)
    assert (ended[:, 0] - maps.attention).norm() > 1


@pytest.mark.parametrize("F", ["quadratic", "logcosh", "exponential"])
def test_several_descents_at_once_and_their_excess(F):
    maps, F = maps_of(120, F, d=8), potential(F)
    c = maps.alignment.unsqueeze(1)
    z = torch.stack([maps.attention, torch.zeros_like(maps.attention)], 1)
    w, steps = F.slope(c).expand(-1, 2), c.new_tensor([1e-3, 1e-3])
    ended, u = descend(maps, F, z, w, steps, 20)
    torch.testing.assert_close(ended[:, 0], maps.attention)
    alone, _ = descend(maps, F, z[:, 1:], w[:, 1:], steps[1:], 20)
    torch.testing.assert_close(ended[:, 1:], alone)
    by_hand = z[:, 1]
    for _ in range(20):
        by_hand = by_hand - 1e-3 * gradient(maps, F, by_hand)
    torch.testing.assert_close(ended[:, 1], by_hand)

    def total(u):
        return (F.value(u) - w * u).sum(0)

    excess = bregman(F, u, c).sum(0)
    torch.testing.assert_close(excess, total(u) - total(c), rtol=1e-6, atol=1e-10)
    assert 0 < excess[1] < float(bregman(F, 0 * c, c).sum())


@pytest.mark.parametrize("F", ["linear", "cubic", "exponential"])
def test_the_printed_regulariser_drives_every_other_energy_away_from_attention(F):
    maps = maps_of(120, F, d=8)
    c, z, step = maps.alignment.unsqueeze(1), maps.attention.unsqueeze(1), maps.v.new_tensor([1e-5])
    away, _ = descend(maps, potential(F), z, 2 * c, step, 5)
    assert (away - z).norm() > 1e-5
    stays, _ = descend(maps, potential("quadratic"), z, 2 * c, step, 5)
    assert torch.equal(stays, z)


def test_a_potential_of_ones_own():
    own = potential("quadratic").__class__("cosh u", torch.cosh, torch.sinh, torch.cosh, True)
    head = Head(maps_of(200, "exponential"), own)
    assert check_stationary(head).passed
    assert check_gradient(head).passed


def test_a_wrong_derivative_is_rejected():
    wrong = potential("quadratic").__class__("u²", lambda u: u**2, lambda u: u, lambda u: 1 + 0 * u, True)
    record = check_gradient(Head(maps_of(200), wrong))
    assert [c.name for c in record.comparisons if not c.passed] == [
        "rows of the gradient",
        "derivative along a direction",
        "F' against automatic differentiation",
    ]


@pytest.mark.parametrize(
    "name, check",
    [
        ("backward_sized", check_alignment),
        ("forward_sized", check_gradient),
        ("attention_sized", check_alignment),
        ("attention_sized", check_update_rule),
        ("backward_sized", check_lift),
        ("adjoint_sized", check_self_adjoint),
        ("backward_sized", check_energy_change),
        ("backward_sized", check_retrieval),
        ("attention_sized", check_retrieval),
        ("attention_sized", check_loop),
    ],
)
def test_a_wrong_product_is_rejected(name, check, monkeypatch):
    """A relative slip of 1e-6 in a product, with its error bound left as it is."""
    right = getattr(AttentionMap, name)

    def slipped(self, *arguments):
        found = right.func(self) if hasattr(right, "func") else right(self, *arguments)
        return type(found)(found.value * (1 + 1e-6), found.error)

    monkeypatch.setattr(AttentionMap, name, property(slipped) if hasattr(right, "func") else slipped)
    assert not all(c.passed for c in check(head_of(200)).comparisons)


def test_unusable_input_is_one_clear_line():
    q, k, v = instance(20, d=4)
    maps = AttentionMap(q, k, v)
    for call, message in (
        (lambda: potential("u**2"), "unknown F 'u\\*\\*2'; allowed: linear"),
        (lambda: gradient(maps, potential("cubic"), v, "half"), "allowed: matching, printed, none"),
        (
            lambda: descend(maps, potential("quartic"), v[:, None], 0 * v[:, :1], v.new_tensor([9.0]), 50),
            "left the range of the dtype",
        ),
        (lambda: AttentionMap(q[None], k[None], v[None]), "one head"),
        (lambda: check_step(Head(maps), 0.0), "positive number"),
        (lambda: check_step(Head(AttentionMap(q, k, v, dtype="bfloat16"))), "float64 is needed"),
        (lambda: check_loop(Head(maps, potential("linear"))), "no second derivative but 0"),
        (lambda: largest_eigenvalue(AttentionMap(q, k, 0 * v)), "all values are zero"),
    ):
        with pytest.raises(TensorError, match=message):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [4096, 32768])
@pytest.mark.parametrize(
    "check",
    [
        check_alignment,
        check_gradient,
        check_stationary,
        check_update_rule,
    ],
)
def test_the_same_at_length(check, tokens):
    F = potential("cubic" if check is check_stationary else "quadratic")
    assert check(Head(AttentionMap(*make_instance(tokens)), F)).passed


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [4096, 32768])
def test_the_stable_range_at_length(tokens):
    enclosed = largest_eigenvalue(AttentionMap(*make_instance(tokens)), max_steps=4)
    assert 0 < enclosed.lower <= enclosed.upper < math.inf


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_alignments_of_131072_tokens():
    assert check_alignment(Head(AttentionMap(*make_instance(131072, dtype="float32")), samples=16)).passed
