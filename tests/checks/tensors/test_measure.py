"""Each measure of a head equals its formula evaluated densely, and tells heads that satisfy a
hypothesis from others.
"""

import math
import subprocess
import sys
from dataclasses import replace

import mpmath
import pytest
import torch

from checks.tensors.core.errors import TensorError
from checks.tensors.core.inputs import make_instance
from checks.tensors.measure import matrix as measure_matrix
from checks.tensors.measure.head import Settings, measure
from checks.tensors.measure.load import Head
from checks.tensors.measure.matrix import AttentionMatrix, spectrum

QUICK = Settings(steps=6, top=4)


def dense(head, mask=None, scale=None):
    """Softmax matrix from its definition, by nothing that the measures use."""
    scores = (head.q.double() @ head.k.double().T) * (scale or head.q.shape[1] ** -0.5)
    if mask == "causal":
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
    return torch.softmax(scores, 1)


def small(n=60, d=8, d_v=5, seed=0, dtype="float64"):
    return Head("2", 1, *make_instance(n, d, d_v, seed=seed, dtype=dtype))


def hypothesis(found, words):
    return next(h for h in found.hypotheses if words in h.words)


def log_matrix(a):
    """Queries and keys whose softmax with scale 1 is `a`, a positive matrix with rows that sum to 1."""
    return torch.as_tensor(a, dtype=torch.float64).log(), torch.eye(len(a[0]), dtype=torch.float64)


@pytest.mark.parametrize("mask", [None, "causal"])
@pytest.mark.parametrize("scale", [None, 0.9])
def test_measures_equal_their_dense_formulas(mask, scale):
    head = replace(small(), scale=scale)
    a, v = dense(head, mask, scale), head.v
    found = measure(head, replace(QUICK, mask=mask))
    gram = a.T @ a
    c = (gram @ v * v).sum(1)
    assert found.energy.sum == pytest.approx(float(((a @ v) ** 2).sum()), rel=1e-12)
    assert (found.energy.positive, found.energy.negative) == (int((c > 0).sum()), int((c < 0).sum()))
    assert found.energy.smallest == pytest.approx(float(c.min()), rel=1e-10)
    image = gram @ v
    sines = [
        math.sqrt(1 - min(1, float(x @ y) ** 2 / float(x @ x) / float(y @ y)))
        for x, y in zip(v.T, image.T, strict=True)
    ]
    assert found.singular.sines == pytest.approx(sines, rel=1e-8)
    assert found.singular.sigmas == pytest.approx(((a @ v).norm(dim=0) / v.norm(dim=0)).tolist(), rel=1e-12)
    projector = v @ torch.linalg.pinv(v)
    assert found.singular.span == pytest.approx(
        float((image - projector @ image).norm() / image.norm()), rel=1e-9
    )
    sigma = torch.linalg.svdvals(a)
    assert found.spectrum.values == pytest.approx(sigma[:4].tolist(), rel=1e-11)
    assert found.spectrum.energy == pytest.approx(float((a**2).sum()), rel=1e-12)
    out = a @ v
    off = replace(head, q=head.q - head.q.mean(0))
    assert found.centering.queries == pytest.approx(
        float((dense(off, mask, scale) @ v - out).abs().max()), rel=1e-9
    )
    assert found.centering.keys <= found.centering.keys_bound < 1e-9 < found.centering.queries


def test_the_smallest_c_and_the_violation_of_a_smaller_one():
    head = small()
    beta = torch.exp(head.k @ head.k.T * 8**-0.5).sum(1, keepdim=True) * head.v.abs()
    exact = measure(head, QUICK).svr
    assert exact.accepted and exact.log_c_star == pytest.approx(math.log(float(beta.max())), rel=1e-12)
    box = 0.3 * float(beta.max())
    found = measure(head, replace(QUICK, log_c=math.log(box))).svr
    assert found.rejected_by == ("box",)
    assert found.outside == int((beta > box).sum()) > 0
    assert found.tokens_outside == int((beta > box).any(1).sum())
    assert found.log_excess == pytest.approx(-math.log(0.3), rel=1e-9)
    enough = measure(head, replace(QUICK, log_c=math.log(float(beta.max())) + 1e-6))
    assert enough.svr.outside == 0 and hypothesis(enough, "C is at least").holds is True


@pytest.mark.parametrize("exponent", [-480, -45, 45, 331])
@pytest.mark.parametrize("tokens", [2, 3, 5, 7])
def test_what_logarithms_of_large_and_small_values_are_rounded_by_decides_nothing_about_c(exponent, tokens):
    size, keys = 2.0**exponent, torch.zeros(tokens, 1, dtype=torch.float64)
    head = Head("0", 0, keys, keys, torch.full((tokens, 1), size, dtype=torch.float64))
    for box, fits in (
        (tokens * size, True),
        (math.nextafter(tokens * size, 0), False),
    ):  # h is the number of tokens
        found = measure(head, replace(QUICK, log_c=math.log(box)))
        assert hypothesis(found, "C is at least").holds in (None, fits)
        assert not fits or (found.svr.outside == 0 and "box" not in found.svr.rejected_by)
    below = measure(head, replace(QUICK, log_c=math.log(tokens * size) - 1e-9))
    assert hypothesis(below, "C is at least").holds is False and below.svr.outside == tokens


def test_the_error_of_the_smallest_c_is_that_of_every_token_that_may_have_it():
    # the first token's h is 2; the second has nearly the same h |v|, and its h is known less well
    keys = torch.tensor([[0.0], [14.331299782347973]], dtype=torch.float64)
    values = torch.tensor([[7.889384230306651e28], [1e-60]], dtype=torch.float64)
    found = measure(Head("0", 0, keys, keys, values, 1.0), QUICK).svr
    with mpmath.workdps(50):
        first = mpmath.log(2) + mpmath.log(values[0].item())
        second = mpmath.log1p(mpmath.exp(mpmath.mpf(keys[1].item()) ** 2)) + mpmath.log(values[1].item())
        wrong = abs(found.log_c_star - max(first, second))
    assert wrong <= found.log_c_star_error < 1e-11


def test_right_singular_vectors_are_told_from_vectors_that_are_nearly_so():
    head = small(d_v=3)
    right = torch.linalg.svd(dense(head))[2][:3].T
    found = measure(replace(head, v=right), QUICK)
    assert max(found.singular.sines) < max(found.singular.sine_errors) < 1e-8
    assert hypothesis(found, "right singular vector").holds is None
    assert abs(found.singular.objective_relative) < 1e-12
    tilted = right + 1e-6 * torch.roll(right, 1, 1)
    wrong = measure(replace(head, v=tilted), QUICK)
    assert hypothesis(wrong, "right singular vector").holds is False
    assert hypothesis(wrong, "objective vanishes").holds is False
    left = torch.linalg.svd(dense(head))[0][:, :3]
    assert hypothesis(measure(replace(head, v=left), QUICK), "right singular vector").holds is False


def test_what_equal_weights_take_to_zero_is_a_right_singular_vector():
    constant = torch.zeros(7, 1, dtype=torch.float64)
    values = torch.tensor([[9.0], [-5.0], [-7.0], [-7.0], [3.0], [0.0], [7.0]], dtype=torch.float64)
    found = measure(Head("0", 0, constant, constant, values), QUICK)  # AV = 0, but for rounding
    assert hypothesis(found, "right singular vector").holds is None
    assert hypothesis(found, "objective vanishes").holds is None
    assert found.singular.sines[0] <= 1


@pytest.mark.parametrize("small_unit", [2.0**-525, 2.0**-533, 2.0**-700])
def test_the_angle_of_a_value_column_is_that_of_its_multiples(small_unit):
    head = small(d_v=2)
    wanted = measure(head, QUICK).singular
    found = measure(
        replace(head, v=head.v * torch.tensor([1.0, small_unit], dtype=torch.float64)), QUICK
    ).singular
    assert found.sines == pytest.approx(wanted.sines, rel=1e-13)
    assert found.sine_errors == pytest.approx(wanted.sine_errors, rel=1e-3)
    assert found.sigmas == pytest.approx(wanted.sigmas, rel=1e-13)
    assert found.cosine == pytest.approx(wanted.cosine, rel=1e-13)


def test_the_angle_of_a_value_that_hardly_any_query_sees():
    # weights of e^-400 on the only value: A'AV is nearly all at the two other keys
    keys = torch.tensor([[1.0], [1.0], [0.0]], dtype=torch.float64)
    head = Head("0", 0, torch.full_like(keys, 400.0), keys, torch.eye(3, dtype=torch.float64)[:, 2:], 1.0)
    found = measure(head, QUICK).singular
    assert found.sines[0] == pytest.approx(1) and found.sine_errors[0] < 1e-10
    assert found.residual == pytest.approx(1) and found.span == pytest.approx(1)
    assert found.sigmas[0] == pytest.approx(math.sqrt(3) / 2 * math.exp(-400), rel=1e-9)


def test_a_rotated_basis_has_the_span_but_not_the_vectors():
    head = small(d_v=3)
    turn = torch.linalg.qr(
        torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    )[0]
    found = measure(replace(head, v=torch.linalg.svd(dense(head))[2][:3].T @ turn), QUICK).singular
    assert found.span < 1e-12 < 0.01 < max(found.sines)
    assert found.cosine < 1e-12


def test_the_objective_is_that_of_its_definition_and_the_tangent_of_the_angles():
    head = small()
    a, v = dense(head), head.v
    found = measure(head, QUICK).singular
    lam = torch.diag(v.norm(dim=0) / (a @ v).norm(dim=0))
    left = a @ v @ lam  # H_e = E Lambda
    e, r = a @ v, a.T @ left
    value = 0.5 * torch.trace(e @ lam @ e.T) + 0.5 * torch.trace(r @ lam @ r.T) - torch.trace(left.T @ a @ v)
    assert found.objective == pytest.approx(float(value), rel=1e-10)
    weights = torch.diag(lam) * (a @ v).norm(dim=0) ** 2
    tangents = torch.tensor([s**2 / (1 - s**2) for s in found.sines], dtype=torch.float64)
    assert found.objective_relative == pytest.approx(
        float((weights * tangents).sum() / weights.sum()), rel=1e-9
    )


def test_a_negative_c_is_found():
    # by hand: AV = (0, -1/3), AᵀAV = (-1/9, -2/9), c = (-1/9, 2/9)
    q, k = log_matrix([[1 / 2, 1 / 2], [1 / 3, 2 / 3]])
    found = measure(Head("0", 0, q, k, torch.tensor([[1.0], [-1.0]], dtype=torch.float64), 1.0), QUICK)
    assert (found.energy.positive, found.energy.negative) == (1, 1)
    assert (found.energy.smallest, found.energy.largest) == (pytest.approx(-1 / 9), pytest.approx(2 / 9))
    assert hypothesis(found, "non-negative").holds is False
    same_sign = measure(Head("0", 0, q, k, torch.ones(2, 1, dtype=torch.float64), 1.0), QUICK)
    assert hypothesis(same_sign, "non-negative").holds is True


def test_signs_of_what_underflows_are_open():
    # the last key has weights near 1e-174, and values near 1e-149 make their products the last that there are
    n, small = 9, 2.0**-495
    generator = torch.Generator().manual_seed(0)
    signs = []
    for _ in range(20):
        apart = 399.5 + 2.5 * torch.rand(n - 1, generator=generator, dtype=torch.float64)
        one = torch.eye(n - 1, dtype=torch.float64)
        q, k = torch.cat([1024 * one, 8192 * one[:1]]), torch.cat([one, (1 - apart / 1024)[None]])
        v = torch.cat([small * (one[::2].sum(0) - one[1::2].sum(0)), one[0, :1]])[:, None]
        found = measure(Head("0", 0, q, k, v, 1.0), QUICK).energy
        signs.append((found.positive, found.negative, found.undetermined))
    assert set(signs) == {(n - 1, 0, 1)}


def test_products_of_values_that_underflow_leave_a_sign_open():
    # the second key and the third share their weight; c of the second is 2 x 0.49 - 0.51 times 2^-1074, above 0
    a = 2.0**-537
    second, mean = [a, a, -a], [0.49 * a, 0.49 * a, 0.51 * a]
    third = [2 * m - x for m, x in zip(mean, second, strict=True)]
    v = torch.tensor([[1.0] * 3, second, third], dtype=torch.float64)
    one = torch.eye(2, dtype=torch.float64)[[0, 1, 1]]
    found = measure(Head("0", 0, 2000 * one, one, v, 1.0), QUICK).energy
    assert (found.positive, found.negative, found.undetermined) == (1, 0, 2)


def test_an_infinite_error_leaves_a_sign_open():
    # scores of 4e16 of which nothing is known, values whose errors overflow, and a value of 0 beside them
    q = 2e8 * torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    v = 1e149 * torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]], dtype=torch.float64)
    found = measure(Head("0", 0, q, q, v, 1.0), QUICK)
    assert found.energy.undetermined == 3 and hypothesis(found, "non-negative").holds is None


def test_when_the_quadratic_energy_has_one_minimiser():
    head = small(n=6, d=6, d_v=1)
    assert measure(head, QUICK).energy.unique is True
    assert measure(head, replace(QUICK, mask="causal")).energy.unique is True
    for name in ("q", "k"):
        tensor = getattr(head, name).clone()
        tensor[4] = tensor[1]
        assert measure(replace(head, **{name: tensor}), QUICK).energy.unique is False
    silent = head.v.clone()
    silent[2] = 0
    found = measure(replace(head, v=silent), QUICK).energy
    assert (found.unique, found.dimension_at_least, found.zero) == (False, 1, 1)
    near = head.k.clone()
    near[4] = near[1] * (1 + 1e-15)
    assert measure(replace(head, k=near), QUICK).energy.unique is None


@pytest.mark.parametrize("d_v, silent", [(2, 0), (3, 2), (5, 0)])
def test_the_dimension_of_the_minimisers_is_a_lower_bound_and_attained(d_v, silent):
    head = small(n=9, d=9, d_v=d_v)
    v = head.v.clone()
    v[:silent] = 0
    a = dense(head)
    gram = (a.T @ a) * (v @ v.T)
    found = measure(replace(head, v=v), QUICK).energy
    assert found.unique is False
    assert found.dimension_at_least == 9 * d_v - int(torch.linalg.matrix_rank(gram))


def test_fewer_queries_than_keys_are_measured_without_a_statement_on_uniqueness():
    head = small(n=20)
    found = measure(replace(head, q=head.q[:7]), QUICK)
    a = dense(replace(head, q=head.q[:7]))
    assert (found.queries, found.tokens) == (7, 20)
    assert found.spectrum.energy == pytest.approx(float((a**2).sum()))
    with pytest.raises(TensorError, match="as many queries as keys"):
        measure(replace(head, q=head.q[:7]), replace(QUICK, mask="causal"))


def test_zero_values_leave_out_what_needs_them():
    head = small()
    found = measure(replace(head, v=torch.zeros_like(head.v)), QUICK)
    assert found.svr is None and found.singular is None and found.energy.zero == 60
    one = head.v.clone()
    one[:, 2] = 0
    assert measure(replace(head, v=one), QUICK).singular.zero_columns == 1


def test_half_precision_tensors_are_measured_as_they_are():
    head = small(dtype="bfloat16")
    exact = Head("2", 1, head.q.double(), head.k.double(), head.v.double())
    assert replace(measure(head, QUICK), dtype="", seconds=0, peak_bytes=0) == replace(
        measure(exact, QUICK), dtype="", seconds=0, peak_bytes=0
    )


@pytest.fixture
def krylov(monkeypatch):
    monkeypatch.setattr(measure_matrix, "DENSE_TOKENS", 64)


@pytest.mark.parametrize("mask", [None, "causal"])
def test_krylov_values_are_bounds_of_the_singular_values(krylov, mask):
    head = small(n=300, d=16, seed=3)
    matrix = AttentionMatrix(0.5 * head.q, head.k, 0.25, mask)
    found, sigma = spectrum(matrix), torch.linalg.svdvals(dense(replace(head, q=0.5 * head.q), mask, 0.25))
    assert found.method == "block Krylov"
    for value, residual, exact in zip(found.values, found.residuals, sigma, strict=False):
        assert value <= float(exact) * (1 + 1e-12)
        assert float((sigma**2 - value**2).abs().min()) <= residual + 1e-12
    assert sigma[0] <= found.largest_at_most
    assert found.values[0] == pytest.approx(float(sigma[0]), rel=1e-6)
    assert found.energy == pytest.approx(float((sigma**2).sum()), rel=1e-12)
    exact = float((sigma**2).sum() ** 2 / (sigma**4).sum())
    assert 0 < found.participation_error < 0.1 * exact
    assert abs(found.participation - exact) < 5 * found.participation_error


def test_the_bound_of_the_first_singular_value_covers_wrong_weights():
    # scores of a million, of which float64 knows ten digits: the weights of both rows follow from theirs
    q = torch.tensor([[1000.0], [777.7]], dtype=torch.float64)
    k = torch.tensor([[777.3], [777.3005]], dtype=torch.float64)
    with mpmath.workdps(40):
        apart = mpmath.mpf(k[1].item()) - mpmath.mpf(k[0].item())
        second = [1 / (1 + mpmath.exp(-mpmath.mpf(x.item()) * apart)) for x in q]
        exact = mpmath.svd_r(mpmath.matrix([[1 - s, s] for s in second]), compute_uv=False)[0]
    found = spectrum(AttentionMatrix(q, k, 1.0))
    assert found.values[0] < exact <= found.largest_at_most < found.values[0] * (1 + 1e-8)


@pytest.mark.parametrize("method", ["dense", "block Krylov"])
def test_residuals_cover_wrong_weights_and_rounding(method, request):
    if method == "block Krylov":
        request.getfixturevalue("krylov")
    q = torch.tensor([[1000.0], [777.7]] * 100, dtype=torch.float64)
    k = torch.tensor([[777.3], [777.3005]] * 100, dtype=torch.float64)
    with mpmath.workdps(40):
        apart = mpmath.mpf(k[1].item()) - mpmath.mpf(k[0].item())
        second = [1 / (1 + mpmath.exp(-mpmath.mpf(x.item()) * apart)) for x in q[:2]]
        exact = mpmath.svd_r(mpmath.matrix([[1 - s, s] for s in second]), compute_uv=False)
        # 100 equal keys share a weight, and 100 equal queries have one row: the singular values stay
        found = spectrum(AttentionMatrix(q, k, 1.0), top=2)
        assert found.method == method
        for value, residual in zip(found.values, found.residuals, strict=True):
            assert min(abs(mpmath.mpf(value) ** 2 - sigma**2) for sigma in exact) <= residual < 1e-6


def test_krylov_survives_a_matrix_of_rank_one(krylov):
    q, k, _ = make_instance(200, 8)
    found = spectrum(AttentionMatrix(0 * q, k, 1.0))
    assert found.values[0] == pytest.approx(1) and max(found.values[1:]) < 1e-7
    assert found.stable_rank == pytest.approx(1) and found.participation == pytest.approx(1)
    assert found.rank_90 == 1


def test_effective_ranks_of_known_matrices():
    q, k = log_matrix([[1.0 - 3e-9, 1e-9, 1e-9, 1e-9]] * 4)
    identity = spectrum(
        AttentionMatrix(60 * torch.eye(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64), 1.0)
    )
    for rank in (identity.stable_rank, identity.participation, identity.entropy_rank):
        assert rank == pytest.approx(4)
    assert identity.rank_90 == 4
    single = spectrum(AttentionMatrix(q, k, 1.0))
    for rank in (single.stable_rank, single.participation, single.entropy_rank):
        assert rank == pytest.approx(1, abs=1e-6)


def test_the_error_bound_of_the_pass_holds_and_sees_a_wrong_product():
    q, k, v = make_instance(500, 16, 3)
    matrix = AttentionMatrix(q, k, 0.25)
    weights = torch.softmax(q @ k.T * 0.25, 1)
    found, bound = matrix.product(v).gram, math.expm1(matrix.log_error()) * matrix.product(v.abs()).gram
    assert float(((found - weights.T @ (weights @ v)).abs() / bound).max()) < 1
    assert float(((found - weights @ (weights @ v)).abs() / bound).min()) > 1


@pytest.mark.parametrize(
    "change, message",
    [
        ({"k": torch.full((60, 8), math.nan)}, "head 2.1: k contains NaN"),
        ({"k": torch.zeros(60, 7)}, "widths must be equal"),
        ({"v": torch.zeros(59, 5)}, "there are 60 keys and 59 values"),
        ({"q": torch.zeros(60, 8, dtype=torch.long)}, "q is a int64 tensor"),
    ],
)
def test_unusable_tensors_are_one_clear_line(change, message):
    with pytest.raises(TensorError, match=message) as problem:
        measure(replace(small(), **change), QUICK)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    "settings, message",
    [
        (Settings(mask="window"), "no mask 'window'"),
        (Settings(top=0), "at least 1"),
        (Settings(epsilon=-1), "epsilon is -1"),
        (Settings(scale=math.inf), "scale is inf"),
    ],
)
def test_unusable_settings_are_one_clear_line(settings, message):
    with pytest.raises(TensorError, match=message):
        measure(small(), settings)


PEAK = """
import ctypes, gc, sys
from pathlib import Path
from checks.tensors.core.inputs import make_instance
from checks.tensors.measure.head import Settings, bytes_needed, measure
from checks.tensors.measure.load import Head
n, settings = int(sys.argv[1]), Settings(steps=3, block=32)
def status(field):
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[field].split()[0]) * 1024
tensors = make_instance(n, dtype="float32")
gc.collect(); ctypes.CDLL(None).malloc_trim(0); Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
measure(Head("0", 0, *tensors), settings)
print(status("VmHWM") - before, bytes_needed(n, n, 64, 64, settings))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("tokens", [1024, 8192])
def test_the_memory_estimate_is_above_the_peak_and_not_far(tokens):
    result = subprocess.run(
        [sys.executable, "-c", PEAK, str(tokens)], capture_output=True, text=True, check=True
    )
    peak, estimate = map(int, result.stdout.split())
    assert peak < estimate < 4 * peak + (160 << 20)
