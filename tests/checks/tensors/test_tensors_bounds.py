"""Bounds hold, are not far too large, and reject the zero output and every wrong formula."""

import pytest
import torch

from checks.tensors.core import bounds, fused, stream
from checks.tensors.core.agreement import check_attention, compare
from checks.tensors.core.arrays import TensorError
from checks.tensors.core.inputs import make_instance, sampled_rows

DTYPES = ["float64", "float32", "bfloat16"]


def assert_certified(record, least=1e-3):
    assert record.passed, (record.comparisons, record.mutants)
    assert len(record.mutants) == 13
    assert min(record.mutants.values()) > 2, "a mutant is rejected with no margin"
    assert record.worst.ratio > least, "the bound is loose"


def test_a_wrong_formula_that_says_the_same_is_none() -> None:
    q, k, v = make_instance(64, 8)
    assert "scale without its root" not in check_attention(q, k, v, 1.0).mutants  # the root of 1 is 1
    assert "queries and keys exchanged" not in check_attention(q, q, v).mutants
    one = check_attention(q, k, v, 1.0)
    assert one.passed and len(one.mutants) >= 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [1024, 4096])
def test_engines_agree_within_bounds_and_mutants_do_not(tokens, dtype):
    assert_certified(check_attention(*make_instance(tokens, dtype=dtype)))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_same_at_32768_tokens(dtype):
    assert_certified(check_attention(*make_instance(32768, dtype=dtype)))


@pytest.mark.parametrize("seed", range(1, 4))
def test_bounds_hold_for_other_seeds_and_odd_sizes(seed):
    assert_certified(check_attention(*make_instance(1000 + seed, 48, 40, seed=seed, dtype="float32")))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_hold_with_a_shift(dtype):
    q, k, v = make_instance(700, 64, dtype=dtype)
    factor = 40 if dtype == "float64" else 4
    record = check_attention(factor * q, k, v)
    assert stream.attend(factor * q, k, v).shifted
    assert all(c.passed for c in record.comparisons)


@pytest.mark.parametrize("transposed", [False, True])
def test_scores_of_flushed_queries_stay_within_their_bound(transposed):
    q, k = torch.full((2, 64), 2.0**-149), torch.tensor([[3e38], [-3e38]]).expand(2, 64)
    q, k = (k, q) if transposed else (q, k)
    v, scale, size = torch.tensor([[1.0], [-1.0]]), 0.49, torch.ones(2, 1)
    truth = torch.softmax(q.double() @ k.double().T * scale, -1) @ v.double()
    found, sizes = stream.attend(q, k, v, scale), bounds.score_sizes(q, k, scale)
    bound = bounds.attention_bound(bounds.streamed("float32"), 64, 2, sizes, size, 1.0, found.shifted)
    assert compare("flushed", found.out, truth, bound).passed


def test_softmax_along_the_wrong_axis_is_rejected():
    q, k, v = make_instance(1024)
    columns = stream.logsumexp_rows(k, q)
    wrong = torch.exp(q @ k.T / 8 - columns) @ v
    how, sizes = bounds.streamed("float32"), bounds.score_sizes(q, k)
    result = stream.attend(q, k, v, magnitude=True)
    bound = bounds.attention_bound(how, 64, 1024, sizes, result.magnitude, 4.0)
    assert not compare("wrong axis", wrong, result.out, bound).passed


def test_rounded_inputs_cost_what_their_bound_says():
    q, k, v = make_instance(1024)
    how = bounds.streamed("bfloat16").on_unrounded_inputs("bfloat16")
    exact = stream.attend(q, k, v, magnitude=True)
    bound = bounds.attention_bound(how, 64, 1024, bounds.score_sizes(q, k), exact.magnitude, 4.0)
    found = compare("rounded", stream.attention(q, k, v, dtype="bfloat16"), exact.out, bound)
    assert 1e-3 < found.ratio <= 1
    without = bounds.attention_bound(
        bounds.streamed("bfloat16"), 64, 1024, bounds.score_sizes(q, k), exact.magnitude, 4.0
    )
    assert not compare(
        "rounding of inputs ignored", stream.attention(q, k, v, dtype="bfloat16"), exact.out, without
    ).passed


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_log_sums_stay_within_their_bound(dtype):
    q, k, v = make_instance(2048, dtype=dtype)
    exact = stream.logsumexp_rows(q.double(), k.double())
    sizes = bounds.score_sizes(q, k)
    for how, found in (
        (bounds.streamed(dtype), stream.logsumexp_rows(q, k)),
        (bounds.fused("flash", dtype, 2048), fused.attention(q, k, v, log_sum=True).log_sum),
    ):
        bound = bounds.log_sum_bound(how, 64, 2048, sizes).unsqueeze(-1)
        assert compare(how.name, found.unsqueeze(-1), exact.unsqueeze(-1), bound).passed


def test_transpose_products_stay_within_their_bound():
    q, k, u = make_instance(1500, dtype="float32")
    weights = torch.softmax(q.double() @ k.double().T / 8, -1)
    found, magnitude = stream.transpose_product(q, k, u, magnitude=True)
    bound = bounds.transpose_bound(
        bounds.streamed("float32"), 64, 1500, 1500, bounds.score_sizes(q, k), magnitude, float(u.abs().max())
    )
    truth = weights.T @ u.double()
    assert 1e-5 < compare("transpose", found, truth, bound).ratio <= 1
    assert not compare("zero", torch.zeros_like(found), truth, bound).passed
    assert not compare("untransposed", (weights @ u.double()), truth, bound).passed


def test_linear_attention_stays_within_its_bound():
    q, k, v = make_instance(2000, dtype="float32")
    truth = stream.linear_attention(q.double(), k.double(), v.double())
    size = stream.linear_attention(q.double(), k.double(), v.double().abs())
    bound = bounds.linear_attention_factor("float32", 64, 2000) * size + bounds.linear_attention_lost(
        "float32"
    )
    assert 1e-4 < compare("linear", stream.linear_attention(q, k, v), truth, bound).ratio <= 1
    assert not compare("softmax", stream.attention(q, k, v), truth, bound).passed


@pytest.mark.parametrize("dtype, low", [("float32", 26.0), ("float64", 316.0)])
def test_small_features_stay_within_the_bound_or_are_refused(dtype, low):
    columns = [0.0], [0.0, -0.5, -0.9], [1.0, -1.0, 3.0]
    q, k, v = (torch.tensor(x, dtype=torch.float64).unsqueeze(1) for x in columns)
    exact = [x.to(getattr(torch, dtype)).double() for x in (q - low, k - low, v)]
    weights = torch.softmax(exact[1], 0)
    truth, size = weights.T @ v, weights.T @ v.abs()
    bound = bounds.linear_attention_factor(dtype, 1, 3) * size + bounds.linear_attention_lost(dtype)
    assert compare("small", stream.linear_attention(*exact, dtype=dtype), truth, bound).passed
    for query, key in ((q - 2 * low, k), (q, k - 2 * low)):
        with pytest.raises(TensorError, match="lose digits"):
            stream.linear_attention(query, key, v, dtype=dtype)


def test_the_bound_grows_with_the_block_and_not_with_the_length():
    sizes = torch.ones(1, dtype=torch.float64)
    short, long = (float(bounds.log_error(bounds.streamed("float32"), 64, n, sizes)) for n in (32768, 131072))
    assert long < 2 * short
    naive = bounds.Arithmetic("one block", 2.0**-24, 1e-38, 2.0**-22, 4, 131072)
    assert float(bounds.log_error(naive, 64, 131072, sizes)) > 50 * long


def test_nan_never_passes():
    ones = torch.ones(3, 2)
    assert not compare("nan", ones * torch.nan, ones, ones).passed
    assert not compare("nan", ones * torch.nan, ones, ones * torch.inf).passed
    assert not compare("nan", ones + 1, ones, ones * torch.nan).passed
    assert not compare("no bound", ones + 1, ones, -ones).passed
    assert not compare("inf", ones * torch.inf, ones, ones).passed
    assert compare("equal", ones, ones, torch.zeros(3, 2)).passed


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: bounds.gamma(2**23, 2.0**-24), "no bound can be given"),
        (lambda: bounds.fused("cudnn", "float32", 5), "unknown attention backend 'cudnn'"),
        (
            lambda: bounds.magnitude_of(
                stream.attend(*make_instance(8, 4)), bounds.streamed("float64"), 4, 8, torch.ones(8)
            ),
            "no magnitude",
        ),
        (lambda: check_attention(*make_instance(8, 4, heads=(2,))), "one head"),
        (lambda: compare("x", torch.ones(2, 2), torch.ones(2, 3), torch.ones(1)), "cannot be compared"),
    ],
)
def test_bad_input_is_one_clear_line(call, message):
    with pytest.raises(TensorError, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_narrow_types_are_held_against_float64_at_every_query(dtype, monkeypatch):
    """An engine that is wrong at one query that no sample meets is found by the reference."""
    q, k, v = make_instance(1024, dtype=dtype)
    right = check_attention(q, k, v)
    assert right.passed and sum("float64 reference" in c.name for c in right.comparisons) == 2
    rows = set(sampled_rows(1024, 32).tolist())
    other = next(i for i in range(1024) if i not in rows)

    def wrong(*a, **kw):
        found = fused_attention(*a, **kw)
        found.out[other] *= 1.1
        return found

    fused_attention = fused.attention
    monkeypatch.setattr(fused, "attention", wrong)
    failed = {c.name for c in check_attention(q, k, v).comparisons if not c.passed}
    assert "fused against the float64 reference" in failed
