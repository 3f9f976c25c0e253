"""KSVD of explicit features: exact at any length, primal = dual, zero objective; wrong readings are
rejected.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from checks.tensors.core.arrays import TensorError
from checks.tensors.core.bounded import Bounded, over_tokens
from checks.tensors.ksvd.explicit_features import (
    check_ksvd,
    dual_scores,
    inverse_weights,
    objective,
    primal_weights,
)
from checks.tensors.ksvd.features import cosine, exponential, make_features
from solvers.ksvd import (
    curvature,
    dense_triplets,
    feature_triplets,
    minimise_primal,
    tall_qr,
    train_squared,
)
from solvers.ksvd import objective as plain_objective
from solvers.qp import SolverError


def solved(tokens, p=16, feature_map="cosine", rows=None, count=None):
    phi_q, phi_k, f = make_features(tokens, p, feature_map, rows)
    found = feature_triplets(phi_q.numpy(), phi_k.numpy(), None if f is None else f.numpy(), count)
    return phi_q, phi_k, f, found


def exactly(x):
    """A float64 array as Python integers and their common denominator's exponent, for exact sums."""
    from fractions import Fraction

    return [[Fraction(float(value)) for value in row] for row in x]


@pytest.mark.parametrize("rows", [None, 5, 24])
def test_the_core_decomposition_is_that_of_the_whole_kernel(rows):
    phi_q, phi_k, f, found = solved(60, 8, "cosine", rows)
    middle = np.eye(8) if f is None else (f.T @ f).numpy()
    kernel = phi_q.numpy() @ middle @ phi_k.numpy().T
    dense = dense_triplets(kernel)
    rank = min(8, rows or 8)
    assert len(found.values) == rank  # at most min(p, rows of f(X)) positive values
    np.testing.assert_allclose(found.values, dense.values[:rank], rtol=1e-12)
    np.testing.assert_allclose(found.left * found.values @ found.right.T, kernel, atol=1e-12)


@pytest.mark.parametrize("shape, height", [((100, 7), 8), ((7, 7), 3), ((33, 4), 32), ((64, 4), 16)])
def test_qr_in_blocks(shape, height):
    tall = np.random.default_rng(0).standard_normal(shape)
    q, r = tall_qr(tall, height)
    np.testing.assert_allclose(q @ r, tall, atol=1e-13)
    np.testing.assert_allclose(q.T @ q, np.eye(shape[1]), atol=1e-13)
    assert np.allclose(np.tril(r, -1), 0)


def test_qr_of_a_wide_matrix_is_refused():
    with pytest.raises(ValueError, match="thin QR of a 3 x 5 matrix"):
        tall_qr(np.ones((3, 5)))


@pytest.mark.parametrize("form", ["paper", "released"])
@pytest.mark.parametrize(
    "feature_map, rows", [("cosine", None), ("cosine", 30), ("exponential", 257), ("identity", None)]
)
def test_ksvd_is_certified_and_every_wrong_reading_rejected(feature_map, rows, form):
    phi_q, phi_k, f, found = solved(257, 16, feature_map, rows)
    record = check_ksvd(phi_q, phi_k, f, found, form=form)
    assert record.passed, (record.comparisons, record.mutants)
    assert min(record.mutants.values()) > 100


def test_ksvd_at_4096_tokens():
    phi_q, phi_k, f, found = solved(4096, 64, "cosine", 300, 30)
    assert check_ksvd(phi_q, phi_k, f, found).passed


@pytest.mark.slow
@pytest.mark.parametrize("tokens, rows", [(32768, 300), (131072, 300), (131072, 131072)])
def test_ksvd_at_length(tokens, rows):
    phi_q, phi_k, f, found = solved(tokens, 64, "cosine", rows, 30)
    for form in ("paper", "released"):
        assert check_ksvd(
            phi_q, phi_k, f, found, form=form, dual_rows=tokens if form == "paper" else 64
        ).passed


@pytest.mark.slow
def test_ksvd_at_a_million_tokens():
    phi_q, phi_k, _, found = solved(1 << 20, 64, "cosine", None, 30)
    assert check_ksvd(phi_q, phi_k, None, found, dual_rows=64).passed


@pytest.mark.parametrize(
    "spoil, failing",
    [
        (lambda t: replace(t, left=t.right, right=t.left), "K H_r = H_e Sigma"),
        (lambda t: replace(t, values=t.values[::-1].copy()), "K H_r = H_e Sigma"),
        (lambda t: replace(t, right=-t.right), "K H_r = H_e Sigma"),
        (lambda t: replace(t, values=t.values + 1e-8), "K H_r = H_e Sigma"),
        (lambda t: replace(t, right=t.right + 1e-7), "K'H_e = H_r Sigma"),
    ],
)
def test_wrong_triplets_are_refused(spoil, failing):
    phi_q, phi_k, f, found = solved(120, 8, "cosine", 30)
    record = check_ksvd(phi_q, phi_k, f, spoil(found))
    assert failing in [c.name for c in record.comparisons if not c.passed]


def test_solutions_of_the_eigenvalue_problem_need_not_be_singular_vectors():
    """(7) and the zero objective also hold for scaled vectors: they do not make singular vectors
    (Theorem 3.2).
    """
    phi_q, phi_k, f, found = solved(120, 8, "cosine", 30)
    record = check_ksvd(phi_q, phi_k, f, replace(found, left=3 * found.left, right=3 * found.right))
    assert all(c.passed for c in record.comparisons)


@pytest.mark.parametrize("form", ["paper", "released"])
def test_where_the_objective_vanishes(form):
    """Only the inverse singular values make J zero term by term; other readings of L do not."""
    phi_q, phi_k, f, found = solved(200, 8, "cosine", 20)
    u, v = torch.from_numpy(found.left), torch.from_numpy(found.right.copy())
    values = torch.from_numpy(found.values)
    w = primal_weights(phi_q, phi_k, f, u, v)
    right = inverse_weights(values, 200, form)
    assert abs(float(objective(w, right, form).value)) < 1e-9
    expected = float((values * (1.5**2 - 1) if form == "released" else values * 0.5).sum())
    assert float(objective(w, 1.5 * right, form).value) == pytest.approx(expected, rel=1e-9)
    plain = plain_objective(
        (phi_q @ f.T).numpy(),
        (phi_k @ f.T).numpy(),
        w.w_e.value.numpy(),
        w.w_r.value.numpy(),
        1 / found.values,
    )
    assert abs(plain) < 1e-9


def test_bounds_of_the_arithmetic_hold_against_exact_sums():
    rng = torch.Generator().manual_seed(0)
    x, y = (torch.randn(9, 3, generator=rng, dtype=torch.float64) * 10.0**e for e in (3, -2))
    a, b = Bounded(x), Bounded(y)
    found = over_tokens(a, b) @ over_tokens(b, a)
    p, q = exactly(x), exactly(y)
    inner = [[sum(p[n][i] * q[n][j] for n in range(9)) for j in range(3)] for i in range(3)]
    true = [[sum(inner[i][k] * inner[j][k] for k in range(3)) for j in range(3)] for i in range(3)]
    for i in range(3):
        for j in range(3):
            off = abs(float(exactly(found.value)[i][j] - true[i][j]))
            assert off <= float(found.error[i, j]) < 1e-11 * float(found.value.abs().max())


def test_dual_scores_are_the_kernel_product():
    phi_q, phi_k, f, found = solved(700, 8, "cosine", 30)
    v = torch.from_numpy(found.right.copy())
    kernel = phi_q @ f.T @ f @ phi_k.T
    scores = dual_scores(phi_q, phi_k, f, v)
    assert bool(((scores.value - kernel @ v).abs() <= 2 * scores.error + 1e-12).all())
    assert float(scores.error.max()) < 1e-10


def test_feature_maps():
    z = torch.tensor([[3.0, 4.0], [0.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(cosine(z), torch.tensor([[0.6, 0.8], [0.0, 1.0]], dtype=torch.float64))
    wide = exponential(z / 10, 200_000)
    kernel = wide @ wide.T / 200_000
    assert torch.allclose(kernel, torch.exp(z @ z.T / 100), rtol=0.01)
    with pytest.raises(TensorError, match="undefined at a zero query"):
        cosine(0 * z)


# ---------------------------------------------------------------- the primal as it is trained


def small(seed=0, n=6, m=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.standard_normal((n, m)), rng


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_training_to_zero_does_not_reach_a_stationary_point(seed, free):
    a, b, rng = small(seed)
    ended = train_squared(
        a, b, rng.standard_normal((3, 2)), rng.standard_normal((3, 2)), np.ones(2), free_lambda=free
    )
    assert abs(ended.objective) < 1e-11 < abs(ended.start)
    assert ended.gradient > 1e-2 * ended.norm > 0


def test_training_from_ksvd_weights_stays_there():
    a, b, _ = small()
    t = dense_triplets(a @ b.T, 3)
    ended = train_squared(a, b, b.T @ t.right, a.T @ t.left, 1 / t.values)
    assert ended.steps == 0 and ended.gradient < 1e-12


@pytest.mark.parametrize("factor", [0.5, 1.5, 4.0, 50.0])
def test_curvature_counts_singular_values(factor):
    a, b, _ = small(3)
    sigma = np.linalg.svd(a @ b.T, compute_uv=False)[:3]
    lam = factor / sigma[1]
    eigenvalues = curvature(a, b, lam)
    assert (eigenvalues > 0).sum() == 3 + (lam * sigma > 1).sum()
    assert (eigenvalues < 0).sum() == (lam * sigma < 1).sum()


def test_the_primal_is_a_convex_program_only_beyond_the_smallest_value():
    a, b, _ = small(1)
    smallest = np.linalg.svd(a @ b.T, compute_uv=False)[2]
    *_, value = minimise_primal(a, b, np.array([1.01, 3.0]) / smallest)
    assert abs(value) < 1e-9
    with pytest.raises(SolverError, match="has curvature -") as caught:
        minimise_primal(a, b, np.array([0.9, 3.0]) / smallest)
    assert caught.value.status == "nonconvex"


def test_unusable_input_is_one_clear_line():
    phi_q, phi_k, f, found = solved(40, 4, "cosine", 10)
    for call in (
        lambda: check_ksvd(phi_q, phi_k, f, found, form="sum"),
        lambda: check_ksvd(phi_q, phi_k[:-1], f, found),
        lambda: check_ksvd(phi_q, phi_k, f, replace(found, values=-found.values)),
        lambda: make_features(10, 4, "sine"),
        lambda: make_features(10, 4, "cosine", 11),
    ):
        with pytest.raises(TensorError) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_a_tiny_curvature_beside_a_huge_one_is_not_convex() -> None:
    a, b, lam = np.array([[1e6]]), np.array([[1e-6]]), np.array([0.5])
    with pytest.raises(SolverError, match="curvature"):
        minimise_primal(a, b, lam)
    assert plain_objective(a, b, np.array([[1e-3]]), np.array([[1e9]]), lam) < -1e5
