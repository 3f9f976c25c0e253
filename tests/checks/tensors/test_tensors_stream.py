"""The streamed engine is attention: against the definition, torch's kernel, masks, batches and bad input."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.tensors.core import fused, stream
from checks.tensors.core.arrays import TensorError, chunk_rows, resolve_device
from checks.tensors.core.inputs import make_instance, sampled_rows

CLOSE = {"rtol": 1e-11, "atol": 1e-12}  # float64 on small inputs; the proved bounds have tests of their own


def dense(q, k, v, scale=None, allowed=None):
    """The definition, with the N x N matrix."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return torch.softmax(scores, -1) @ v


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 40),
    n=st.integers(1, 40),
    d=st.integers(1, 9),
    width=st.integers(1, 7),
    tile=st.builds(stream.Tile, st.integers(1, 50), st.integers(1, 50)),
    spread=st.sampled_from([1.0, 40.0]),
)
def test_streamed_attention_is_the_definition(m, n, d, width, tile, spread):
    rng = torch.Generator().manual_seed(m + 41 * n)
    q, k, v = (
        torch.randn(*shape, dtype=torch.float64, generator=rng) for shape in ((m, d), (n, d), (n, width))
    )
    result = stream.attend(spread * q, spread * k, v, magnitude=True, chunk=tile)
    torch.testing.assert_close(result.out, dense(spread * q, spread * k, v), **CLOSE)
    torch.testing.assert_close(result.magnitude, dense(spread * q, spread * k, v.abs()), **CLOSE)
    scores = spread**2 * q @ k.T / math.sqrt(d)
    torch.testing.assert_close(result.log_sum, torch.logsumexp(scores, -1), **CLOSE)


def test_a_shift_is_used_where_exp_would_overflow():
    q, k, v = make_instance(64, 8)
    assert not stream.attend(q, k, v).shifted
    huge = stream.attend(q, k, v * 1e36, dtype="float32")
    torch.testing.assert_close(huge.out.double(), dense(q, k, v * 1e36), rtol=1e-5, atol=1e31)
    large = stream.attend(100 * q, 100 * k, v)
    assert large.shifted
    torch.testing.assert_close(large.out, dense(100 * q, 100 * k, v), **CLOSE)


@pytest.mark.parametrize("spread", [1.0, 60.0])
@pytest.mark.parametrize("mask", ["causal", "others", lambda i, j: (i + j) % 3 != 0])
def test_masks(mask, spread):
    q, k, v = make_instance(70, 8)
    index = torch.arange(70)
    rule = stream.MASKS[mask] if isinstance(mask, str) else mask
    allowed = rule(index[:, None], index[None, :])
    found = stream.attention(spread * q, spread * k, v, mask=mask, chunk=stream.Tile(16, 12))
    torch.testing.assert_close(found, dense(spread * q, spread * k, v, allowed=allowed), **CLOSE)


def test_chosen_rows_are_those_rows_of_the_whole():
    q, k, v = make_instance(100, 8)
    rows = torch.tensor([99, 0, 17])
    for mask in (None, "causal"):
        torch.testing.assert_close(
            stream.attention(q, k, v, mask=mask, rows=rows),
            stream.attention(q, k, v, mask=mask)[rows],
            **CLOSE,
        )


def test_batch_and_heads_are_independent():
    q, k, v = make_instance(50, 8, 6, heads=(2, 3))
    whole = stream.attention(q, k, v, chunk=stream.Tile(16, 16))
    torch.testing.assert_close(whole, dense(q, k, v), **CLOSE)
    assert torch.equal(whole[1, 2], stream.attention(q[1, 2], k[1, 2], v[1, 2], chunk=stream.Tile(16, 16)))


@pytest.mark.parametrize("mask", [None, "causal"])
def test_torch_kernel_agrees_and_names_its_backend(mask):
    q, k, v = make_instance(300, 16, 24, heads=(2,))
    kernel = fused.attention(q, k, v, mask=mask, log_sum=True)
    reference = stream.attend(q, k, v, mask=mask)
    assert (kernel.backend, kernel.dtype, kernel.device) == ("flash", "float64", "cpu")
    torch.testing.assert_close(kernel.out, reference.out, **CLOSE)
    torch.testing.assert_close(kernel.log_sum, reference.log_sum, **CLOSE)
    torch.testing.assert_close(fused.attention(q, k, v, mask=mask).out, kernel.out, **CLOSE)


def test_memory_layout_changes_nothing():
    q, k, v = make_instance(40, 8, 8)
    kernel = fused.attention(q, k, v, log_sum=True)
    turned = fused.attention(*(t.T.contiguous().T for t in (q, k, v)), log_sum=True)
    torch.testing.assert_close(turned.out, kernel.out, **CLOSE)
    torch.testing.assert_close(turned.log_sum, kernel.log_sum, **CLOSE)


def test_the_row_by_row_kernel_for_cuda_float64_agrees():
    q, k, v = make_instance(90, 8, heads=(1, 2))
    for causal in (False, True):
        allowed = torch.ones(90, 90).tril().bool() if causal else None
        found = fused._by_rows(q, k, v, 0.3, causal)
        torch.testing.assert_close(found, dense(q, k, v, 0.3, allowed), **CLOSE)


@pytest.mark.parametrize("spread", [1.0, 60.0])
def test_transpose_product_by_both_engines(spread):
    q, k, _ = make_instance(120, 8)
    q, k, u = spread * q[:70], spread * k, torch.randn(70, 5, dtype=torch.float64)
    weights = torch.softmax(q @ k.T / math.sqrt(8), -1)
    found, magnitude = stream.transpose_product(q, k, u, magnitude=True, chunk=stream.Tile(32, 16))
    torch.testing.assert_close(found, weights.T @ u, rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(magnitude, weights.T @ u.abs(), rtol=1e-9, atol=1e-11)
    torch.testing.assert_close(fused.transpose_product(q, k, u).out, found, rtol=1e-9, atol=1e-11)


def test_kernel_sums_do_not_overflow():
    k = make_instance(50, 8, dtype="float32").k * 40
    exact = torch.logsumexp(k.double() @ k.double().T / math.sqrt(8), -1)
    torch.testing.assert_close(stream.kernel_sums(k, k).double(), exact, rtol=1e-5, atol=0)
    assert stream.kernel_sums(k, k).max() > 700


def test_linear_attention_is_its_definition():
    q, k, v = make_instance(600, 8, 5, heads=(2,))
    weights = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).mT
    expected = weights / weights.sum(-1, keepdim=True) @ v
    torch.testing.assert_close(stream.linear_attention(q, k, v), expected, **CLOSE)


def test_elu_plus_one_keeps_small_values():
    found = stream.elu_plus_one(torch.tensor(-40.0, dtype=torch.float64))
    assert float(found) == pytest.approx(math.exp(-40), rel=1e-14)


def test_rows_iterator_yields_every_row_once():
    q, k, v = make_instance(90, 8, heads=(2,))
    blocks = list(stream.rows(q, k, budget_bytes=90 * 8 * 2 * 7))
    assert [part.start for part, _ in blocks][:2] == [0, 7]
    torch.testing.assert_close(torch.cat([block for _, block in blocks], -2) @ v, dense(q, k, v), **CLOSE)
    scores = torch.cat([block for _, block in stream.rows(q, k, kind="scores", part=slice(10, 20))], -2)
    torch.testing.assert_close(scores, q[:, 10:20] @ k.mT / math.sqrt(8), **CLOSE)


def test_results_do_not_depend_on_the_run():
    q, k, v = make_instance(3000, 16, dtype="float32")
    assert torch.equal(stream.attention(q, k, v), stream.attention(q, k, v))


def test_the_number_of_threads_is_left_alone():
    before = torch.get_num_threads()
    stream.attention(*make_instance(2100, 8))
    assert torch.get_num_threads() == before


def test_no_block_is_a_dense_matrix_of_a_long_sequence():
    assert chunk_rows(8192, 1 << 40) == 8192
    for n in (8193, 32768, 131072):
        assert chunk_rows(n, 1 << 40) * n <= 8192**2
    assert chunk_rows(131072, 1 << 20) == 1


Q, K, V = make_instance(8, 4)
BAD = {
    "widths": (lambda: stream.attention(Q[:, :3], K, V), "queries are 3 wide and keys 4"),
    "tokens": (lambda: stream.attention(Q, K[:5], V), "5 keys and 8 values"),
    "leading": (lambda: stream.attention(Q[None], K, V), "batch and heads must agree"),
    "flat": (lambda: stream.attention(Q[0], K[0], V[0]), "q has shape"),
    "nan": (lambda: stream.attention(Q, K, V * math.nan), "v contains NaN or infinity"),
    "dtype": (lambda: stream.attention(Q, K, V, dtype="float8"), "unknown dtype float8; allowed: float64"),
    "integers": (lambda: stream.attention(Q.long(), K, V), "unknown dtype torch.int64"),
    "overflow": (lambda: stream.attention(Q * 1e60, K, V, dtype="float32"), "q overflows float32"),
    "device": (lambda: stream.attention(Q, K, V, device="cuda:9"), "device cuda:9 is not available"),
    "no device": (lambda: stream.attention(Q, K, V, device="gpu"), "unknown device gpu; allowed: cpu"),
    "meta": (lambda: resolve_device("meta"), "unsupported device meta"),
    "array": (lambda: stream.attention(Q.numpy(), K, V), "q is a ndarray"),
    "scale": (lambda: stream.attention(Q, K, V, math.inf), "scale is inf"),
    "mask": (lambda: stream.attention(Q, K, V, mask="casual"), "unknown mask 'casual'; allowed: causal"),
    "mask type": (lambda: stream.attention(Q, K, V, mask=Q), "mask is a Tensor"),
    "empty row": (lambda: stream.attention(Q, K, V, mask=lambda i, j: j < i), "query 0 has no key"),
    "rows": (lambda: stream.attention(Q, K, V, rows=torch.tensor([8])), "allowed: 0 to 7"),
    "row type": (lambda: stream.attention(Q, K, V, rows=torch.tensor([0.5])), "dtype long"),
    "tile": (lambda: stream.Tile(0, 4), "both must be positive"),
    "kind": (lambda: list(stream.rows(Q, K, kind="odds")), "unknown kind of rows 'odds'"),
    "features": (lambda: stream.linear_attention(Q, K, V, lambda x: x), "negative somewhere"),
    "fused mask": (lambda: fused.attention(Q, K, V, mask="others"), "no mask 'others'"),
    "log sums": (lambda: stream.transpose_product(Q, K, V, log_sum=V), "log_sum has shape"),
    "sample": (lambda: sampled_rows(0, 3), "both must be positive"),
    "instance": (lambda: make_instance(0), "sizes must be positive"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_line(case):
    call, message = BAD[case]
    with pytest.raises(TensorError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
