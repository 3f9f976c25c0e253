"""Singular triplets by block Krylov: right against dense oracles, certified at length, and refused when
wrong.
"""

import numpy as np
import pytest
import scipy.sparse.linalg
import torch

from checks.tensors.core import stream
from checks.tensors.core.arrays import TensorError
from checks.tensors.core.inputs import make_instance
from checks.tensors.ksvd.products import SoftmaxProducts
from checks.tensors.ksvd.triplets import check_softmax_triplets, check_triplets
from solvers.krylov import DenseProducts, largest_missed, top_triplets


def softmax_matrix(q, k):
    return torch.cat([block for _, block in stream.rows(q, k)]).numpy()


def queries_and_keys(kind, tokens):
    """Spectra of three kinds: a flat edge (retrieval rows), a slow decay, and a gap behind the 65th value."""
    q, k, _ = make_instance(tokens)
    return {"retrieval": q, "mixed": q / 2, "independent": make_instance(tokens, seed=7).k}[kind], k


@pytest.mark.parametrize("kind", ["retrieval", "mixed", "independent"])
def test_streamed_triplets_are_those_of_the_dense_matrix(kind):
    q, k = queries_and_keys(kind, 768)
    matrix = softmax_matrix(q, k)
    record = check_softmax_triplets(q, k, top_triplets, 16)
    dense = np.linalg.svd(matrix, compute_uv=False)
    assert record.passed, (record.comparisons, record.mutants)
    assert np.abs(dense[:16] - record.values).max() < 1e-12
    assert np.abs(dense[:16] - record.values).max() <= record.value_bound < 1e-10
    assert dense[0] <= record.norm_bound
    found = np.sort(scipy.sparse.linalg.svds(matrix, 16, return_singular_vectors=False, tol=1e-13))[::-1]
    assert np.abs(found - record.values).max() < 1e-11


@pytest.mark.parametrize("shape", [(60, 40), (40, 60)])
def test_multiple_values_and_rank_deficiency(shape):
    rng = np.random.default_rng(1)
    u, v = (np.linalg.qr(rng.standard_normal((n, 8)))[0] for n in shape)
    values = np.array([3.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.5])
    found = top_triplets(DenseProducts(u * values @ v.T), 8, block=8)
    assert found.converged
    np.testing.assert_allclose(found.values, values, atol=1e-13)
    np.testing.assert_allclose(found.left * found.values @ found.right.T, u * values @ v.T, atol=1e-13)
    np.testing.assert_allclose(found.right.T @ found.right, np.eye(8), atol=1e-13)


def test_a_full_basis_gives_the_whole_decomposition():
    matrix = np.random.default_rng(2).standard_normal((30, 30))
    found = top_triplets(DenseProducts(matrix), 30, block=7)
    np.testing.assert_allclose(found.left * found.values @ found.right.T, matrix, atol=1e-11)


@pytest.mark.parametrize("count", [0, 31])
def test_an_impossible_number_of_triplets_is_one_clear_line(count):
    with pytest.raises(ValueError, match=f"{count} triplets of a 30 x 40 matrix"):
        top_triplets(DenseProducts(np.ones((30, 40))), count)


def test_few_steps_are_not_called_converged():
    q, k = queries_and_keys("retrieval", 512)
    rough = top_triplets(SoftmaxProducts(q, k), 16, max_steps=4)
    assert not rough.converged
    left, values, right = map(torch.from_numpy, (rough.left, rough.values, rough.right.copy()))
    record = check_triplets(q, k, left, values, right)
    assert not record.passed
    # a rough value is no singular value to rounding, but within what its residual says
    dense = np.linalg.svd(softmax_matrix(q, k), compute_uv=False)
    distance = np.abs(dense[:, None] - rough.values).min(0).max()
    assert 1e-9 < distance <= record.value_bound
    assert (rough.values <= dense[:16] + 1e-13).all()


def test_what_is_missed_is_bounded():
    q, k = queries_and_keys("mixed", 512)
    products = SoftmaxProducts(q, k)
    found = top_triplets(products, 6)
    dense = np.linalg.svd(softmax_matrix(q, k), compute_uv=False)
    bound, chance = largest_missed(products, found.right)
    assert dense[6] <= bound < 1.5 * dense[6] and chance < 1e-13
    # leaving the first triplet out is noticed
    bound, _ = largest_missed(products, found.right[:, 1:])
    assert bound > found.values[0]


@pytest.mark.parametrize("keep_bytes", [0, 1 << 29])
def test_the_gram_product_is_both_products(keep_bytes, monkeypatch):
    monkeypatch.setattr("checks.tensors.ksvd.products.STRIP_BYTES", 64 * 200 * 8)  # strips of 64 queries
    q, k = queries_and_keys("mixed", 300)
    products, random = SoftmaxProducts(q, k[:200], keep_bytes=keep_bytes), np.random.default_rng(0)
    for x in (random.standard_normal((200, 5)), random.standard_normal((200, 3))):
        np.testing.assert_allclose(products.gram(x), products.adjoint(products.apply(x)), atol=1e-13)


@pytest.fixture(scope="module")
def certified():
    q, k = queries_and_keys("mixed", 400)
    found = top_triplets(SoftmaxProducts(q, k), 5)
    return (q, k, *(torch.from_numpy(x.copy()) for x in (found.left, found.values, found.right)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda q, k, u, s, v: (q, k, v, s, u),
        lambda q, k, u, s, v: (q, k, -u, s, v),
        lambda q, k, u, s, v: (q, k, u, s.flip(0), v),
        lambda q, k, u, s, v: (q, k, 2 * u, s, 2 * v),  # solves (7) but is no singular triplet
        lambda q, k, u, s, v: (k, q, u, s, v),
        lambda q, k, u, s, v: (q, k, u, s + 1e-10, v),
        lambda q, k, u, s, v: (1.0001 * q, k, u, s, v),
    ],
)
def test_wrong_triplets_are_refused(certified, spoil):
    assert check_triplets(*certified).passed
    assert not check_triplets(*spoil(*certified)).passed


def test_scaled_vectors_solve_the_eigenvalue_problem_but_are_not_orthonormal(certified):
    q, k, u, s, v = certified
    failed = [c.name for c in check_triplets(q, k, 2 * u, s, 2 * v).comparisons if not c.passed]
    assert failed == ["U'U = I", "V'V = I"]


def test_unusable_triplets_are_one_clear_line(certified):
    q, k, u, s, v = certified
    for call in (
        lambda: check_triplets(q, k, u, -s, v),
        lambda: check_triplets(q, k, u[:-1], s, v[:-1]),
        lambda: check_triplets(q, k, u, s[:2], v),
        lambda: SoftmaxProducts(q[None], k[None]),
    ):
        with pytest.raises(TensorError) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["retrieval", "mixed", "independent"])
def test_values_at_4096_tokens_against_the_dense_decomposition(kind):
    q, k = queries_and_keys(kind, 4096)
    record = check_softmax_triplets(q, k, top_triplets, 16)
    assert record.passed and record.value_bound < 1e-10
    dense = torch.linalg.svdvals(torch.from_numpy(softmax_matrix(q, k)))[:16].numpy()
    assert np.abs(dense - record.values).max() < 1e-12


@pytest.mark.slow
def test_triplets_at_32768_tokens():
    record = check_softmax_triplets(*queries_and_keys("mixed", 32768), top_triplets, 16)
    assert record.passed and record.value_bound < 1e-9
