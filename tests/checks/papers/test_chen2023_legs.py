"""The numerical legs of chen2023 pass on the statements and fail where a solution, a formula or a
module is wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from checks.claim import Options
from checks.leg import Named
from checks.papers.chen2023 import costs
from checks.papers.chen2023.legs import solvers as solver_legs
from checks.papers.chen2023.legs import tensors as tensor_legs
from checks.run.registry import load
from checks.run.verify import assumptions_for, examine
from checks.tensors.core import fused
from checks.tensors.core.bounded import Bounded
from checks.tensors.ksvd import explicit_features as ksvd_primal
from checks.tensors.ksvd import lagrangian as ksvd_lagrangian
from checks.tensors.ksvd import statements as ks
from checks.tensors.ksvd.features import make_features
from checks.tensors.systems import primal as systems_primal
from checks.tensors.systems import primal_checks as systems_primal_checks
from checks.tensors.systems.primal import PrimalAttention
from checks.tensors.systems.row import Case
from derivations.theories.ksvd import KsvdAssumptions
from solvers.ksvd import feature_triplets

SMALL = Options(max_tokens=256)
CLAIMS = {c.id: c for c in load().values() if c.paper == "chen2023"}
SCALES = torch.arange(1, 7, dtype=torch.float64)


def solved(count=None, scales=None, rows=30, skip=0):
    phi_q, phi_k, f = make_features(200, 8, "cosine", rows)
    found = feature_triplets(phi_q.numpy(), phi_k.numpy(), None if f is None else f.numpy())
    keep = slice(skip, None if count is None else skip + count)
    chosen = replace(found, left=found.left[:, keep], values=found.values[keep], right=found.right[:, keep])
    return ksvd_primal.solution(phi_q, phi_k, f, chosen, scales=scales)


def again(s, **changed):
    """Another candidate with the primal side that belongs to its vectors."""
    s = replace(s, **changed)
    return replace(s, primal=ksvd_primal.primal_weights(s.phi_q, s.phi_k, s.f_x, s.left, s.right))


def holds(part):
    return all(c.passed for c in part.comparisons)


STATEMENTS = [ks.norms, ks.lines, ks.stationarity, ks.climbs, ksvd_primal.eigenvalue_problem]


@pytest.mark.parametrize("rows", [None, 30, 200])
@pytest.mark.parametrize("check", STATEMENTS, ids=lambda f: f.__name__)
def test_statements_hold_for_scaled_solutions_and_wrong_readings_do_not(check, rows):
    part = check(solved(6, SCALES, rows))
    assert holds(part), part.comparisons
    assert min(part.mutants.values()) > 1e3, part.mutants


def test_scaled_solutions_are_no_singular_vectors():
    for check in (ks.orthonormal, ks.second_moment):
        part = check(solved(6))
        assert holds(part) and min(part.mutants.values()) > 1
    assert not holds(ks.orthonormal(solved(6, SCALES)))


def test_the_kernel_is_the_sum_of_all_triplets_and_of_no_fewer():
    part = ks.reconstruction(solved())
    assert holds(part) and min(part.mutants.values()) > 1e3
    assert not holds(ks.reconstruction(solved(7)))


def test_vectors_that_are_not_the_leading_ones_do_not_bound_the_second_moment():
    assert not holds(ks.second_moment(solved(2, skip=6)))


@pytest.mark.parametrize(
    "check, spoil",
    [
        (ks.norms, lambda s: {"left": s.left * (1 + 1e-6)}),
        (ks.lines, lambda s: {"values": s.values * (1 + 1e-5)}),
        (ks.stationarity, lambda s: {"right": -s.right}),
        (ks.climbs, lambda s: {"phi_q": -2 * s.phi_q}),
    ],
)
def test_wrong_solutions_are_refused(check, spoil):
    s = solved(6, SCALES)
    wrong = again(s, **spoil(s))
    assert holds(check(s))
    # by itself, or by the residuals that it may count on, which its leg certifies first
    assert not (holds(check(wrong)) and holds(ksvd_primal.eigenvalue_problem(wrong)))


def test_the_bound_of_the_values_covers_perturbed_triplets():
    s = solved(6)
    exact = s.values.clone()
    assert ks.value_bound(s) < 1e-9
    rng = torch.Generator().manual_seed(1)
    noisy = again(s, right=s.right + 1e-5 * torch.randn(s.right.shape, generator=rng, dtype=torch.float64))
    off = again(noisy, values=noisy.values + 1e-5)
    assert 1e-5 <= float((off.values - exact).abs().max()) <= ks.value_bound(off) < 1


def test_automatic_differentiation_refuses_another_line(monkeypatch):
    phi_q, phi_k, f = make_features(100, 8, "cosine", 20)
    part = ksvd_lagrangian.conditions(phi_q, phi_k, f)
    assert holds(part) and min(part.mutants.values()) > 1e3
    right = ksvd_lagrangian.lagrangian
    for wrong in (lambda x, *a: right(x, *a) + (x["W_e"] * x["W_r"]).sum(), lambda x, *a: 2 * right(x, *a)):
        monkeypatch.setattr(ksvd_lagrangian, "lagrangian", wrong)
        assert not holds(ksvd_lagrangian.conditions(phi_q, phi_k, f))


@pytest.mark.parametrize("causal, rows", [(False, 30), (False, None), (True, None)])
def test_a_module_that_computes_something_else_is_refused(monkeypatch, causal, rows):
    p = systems_primal_checks.posed(100, rows, causal=causal)
    record = systems_primal_checks.check_primal_attention(p)
    assert record.passed and min(record.mutants.values()) > 1e3
    right = PrimalAttention.features
    monkeypatch.setattr(PrimalAttention, "features", lambda self, x: right(self, x) * (1 + 1e-6))
    assert not systems_primal_checks.check_primal_attention(p).passed


def test_a_causal_module_that_looks_ahead_is_refused(monkeypatch):
    p = systems_primal_checks.posed(100, causal=True)
    assert systems_primal_checks.check_causality(p).passed
    monkeypatch.setattr(systems_primal, "cumulative_mean", lambda x: x.flip(-2).cumsum(-2).flip(-2))
    assert not systems_primal_checks.check_causality(p).passed


def test_unit_rows_are_within_their_bound():
    z = torch.tensor([[3.0, 4.0], [5.0, 12.0]], dtype=torch.float64)
    found = systems_primal_checks.unit_rows(Bounded(z + 1e-9, torch.full_like(z, 1e-9)))
    expected = torch.tensor([[0.6, 0.8], [5 / 13, 12 / 13]], dtype=torch.float64)
    off = (found.value - expected).abs()
    assert bool((off <= found.error).all()) and float(found.error.max()) < 1e-8


EVERY = [
    (c.id, n)
    for c in CLAIMS.values()
    for n, leg in enumerate(c.legs)
    if isinstance(leg, Named) and leg.module.endswith("legs.tensors")
]


@pytest.mark.parametrize(("id", "n"), EVERY)
def test_every_leg_says_its_tokens_and_its_bound(id, n):
    claim = CLAIMS[id]
    (found,) = claim.legs[n](assumptions_for(claim, {}), SMALL)
    assert found.passed and found.tokens == 256 and found.bound > 0
    assert found.wrong and not found.not_rejected


def test_a_leg_says_what_it_does_not_run():
    for assumptions, options in (
        (KsvdAssumptions(), replace(SMALL, dtype="float32")),
        (KsvdAssumptions(scores="e_only"), SMALL),
        (KsvdAssumptions(feature_map="z/(1 + zz)"), SMALL),
    ):
        (found,) = tensor_legs.eigen_problem(assumptions, options)
        assert found.passed is None and found.not_run
    beyond = tensor_legs.softmax_triplets.at(131072, None, Options())
    assert beyond[0].passed is None and "32768" in beyond[0].not_run


def test_wrong_triplets_fail_the_legs(monkeypatch):
    right = tensor_legs.feature_triplets

    def wrong(*given):
        found = right(*given)
        return replace(found, values=found.values * (1 + 1e-5))

    monkeypatch.setattr(tensor_legs, "feature_triplets", wrong)
    options = replace(SMALL, seed=12345)  # not in any cache
    for leg in (tensor_legs.eigen_problem, tensor_legs.whole_kernel, tensor_legs.unit_triplets):
        assert leg(KsvdAssumptions(), options)[0].passed is False
    assert solver_legs.other_decompositions(None, options)[0].passed is False
    tensor_legs.features.cache_clear()
    tensor_legs.solved.cache_clear()


def off(scores):
    """Scores off by a millionth, with their bound as it is."""
    return Bounded(scores.value * (1 + 1e-6), scores.error)


SPOILED = (ksvd_primal, "with_scores", lambda w: replace(w, e=off(w.e), r=off(w.r)))
MODULE = (PrimalAttention, "features", lambda x: x * (1 + 1e-6))
# what goes wrong where it is not the scores of a solution, by the check that must notice it
SLIPS = {
    "both_forms": (ksvd_primal, "_root", off),
    "representations": (ksvd_primal, "dual_scores", off),
    "kernel": (tensor_legs, "feature_triplets", lambda t: replace(t, values=t.values * (1 + 1e-6))),
    "triplets": (tensor_legs, "feature_triplets", lambda t: replace(t, right=t.right * (1 + 1e-6))),
    "lines of (14)": (ksvd_lagrangian, "lagrangian", lambda x: x * (1 + 1e-6)),
    "engines": (fused, "attention", lambda r: r._replace(out=r.out * (1 + 1e-6))),
    "formula": MODULE,
    "changes": (systems_primal, "cumulative_mean", lambda x: x + x.mean(-2, keepdim=True)),
}
ROWS = {
    "": (tensor_legs.SCALED, tensor_legs.UNIT_COLUMNS, tensor_legs.WHOLE, tensor_legs.WITHOUT),
    "more": (tensor_legs.WEIGHTED, tensor_legs.ATTENTION, tensor_legs.DEPENDENT, tensor_legs.INDEPENDENT),
    "lines of (14)": (tensor_legs.KSVD,),
    "causal": (tensor_legs.CAUSAL,),
}
CHECKED = [(kind, row, column) for kind, rows in ROWS.items() for row in rows for column in row.columns]


def forget():
    tensor_legs.features.cache_clear()
    tensor_legs.solved.cache_clear()


@pytest.mark.parametrize(("kind", "row", "column"), CHECKED, ids=lambda x: x if isinstance(x, str) else "")
def test_every_check_of_a_row_notices_what_goes_wrong(kind, row, column, monkeypatch):
    case = Case(256, KsvdAssumptions(), SMALL)
    assert all(e.passed for e in row.evidence(column, case))
    where, name, wrong = SLIPS.get(kind) or SLIPS.get(column, SPOILED)
    right = getattr(where, name)
    monkeypatch.setattr(where, name, lambda *given, **more: wrong(right(*given, **more)))
    forget()
    try:
        assert not any(e.passed for e in row.evidence(column, case))
    finally:
        forget()


def test_wrong_triplets_of_the_softmax_matrix_are_noticed(monkeypatch):
    right = tensor_legs.top_triplets
    monkeypatch.setattr(
        tensor_legs, "top_triplets", lambda *x: (t := right(*x)) and replace(t, values=t.values * (1 + 1e-8))
    )
    case = Case(128, KsvdAssumptions(), replace(SMALL, seed=4321))  # not in the cache
    assert not any(e.passed for e in tensor_legs.TRIPLETS.evidence("triplets", case))


REFUTED = {
    "zero-objective-satisfies-kkt": [solver_legs.descent_is_stationary, solver_legs.descent_in_each_head],
    "low-rank-promoted": [solver_legs.descent_lowers_rank],
    "lambda-automatic": [solver_legs.descent_finds_lambda],
}


@pytest.mark.parametrize("slug", REFUTED)
def test_training_does_not_do_what_is_said(slug):
    claim = CLAIMS[f"chen2023/prose-{slug}"]
    assert [leg.load() for leg in claim.failing] == REFUTED[slug]
    for leg in claim.failing:
        (found,) = leg(None, SMALL)
        assert found.passed is False and found.error > found.bound


def test_failing_legs_are_in_the_record_of_what_is_refuted():
    claim = CLAIMS["chen2023/prose-zero-objective-satisfies-kkt"]
    record = examine(claim, assumptions_for(claim, {}), SMALL)
    assert record.verdict == "refuted"
    assert [e.passed for e in record.evidence if e.leg == "solver"] == [False, False]


def test_training_legs_would_notice_solutions(monkeypatch):
    """From KSVD weights descent stays: then the legs that test the printed statements pass."""
    from solvers.ksvd import dense_triplets, train_squared

    def at_solution(seed, free=False, count=solver_legs.COLUMNS):
        a, b, sigma = solver_legs.problem(seed)
        t = dense_triplets(a @ b.T, count)
        return a, b, sigma, train_squared(a, b, b.T @ t.right, a.T @ t.left, 1 / t.values)

    monkeypatch.setattr(solver_legs, "trained", at_solution)
    for leg in (
        solver_legs.descent_is_stationary,
        solver_legs.descent_finds_lambda,
        solver_legs.descent_in_each_head,
    ):
        assert leg(None, SMALL)[0].passed
    assert solver_legs.descent_reaches_zero(None, SMALL)[0].passed is False  # nothing was descended
    assert solver_legs.descent_lowers_rank(None, SMALL)[0].passed is False


def test_operations_are_counted():
    layer = costs.Layer(32, 2, 5, 20)
    for kind in ("canonical", "primal"):
        for n in (8, 50):
            assert costs.counted(kind, layer, n) == costs.whole(kind, layer, n)
            assert costs.counted(kind, layer, n + 1) != costs.whole(kind, layer, n)
    assert costs.counted("primal", layer, 8) != costs.whole("primal", replace(layer, directions=6), 8)
    assert costs.counted_operations(None, SMALL)[0].passed


def test_a_wrong_count_fails_the_leg(monkeypatch):
    right = costs.primal
    monkeypatch.setattr(costs, "primal", lambda layer, n: right(layer, n) + n)
    assert costs.counted_operations(None, SMALL)[0].passed is False


def test_stored_numbers_grow_with_n_only():
    small, large = (
        np.array([costs.stored(k, costs.UEA_LAYER, n) for k in ("canonical", "primal")]) for n in (512, 1024)
    )
    assert (large < 2.1 * small).all()


def test_times_of_the_tables_are_set_beside_counts():
    rows = costs.rows_of_table(2)
    assert len(rows) == 10 and rows[0].tokens == 1751 and rows[0].printed == pytest.approx(4.3 / 2.3)
    assert rows[0].attention > rows[0].layer > 1
    with pytest.raises(ValueError, match="Table 6"):
        costs.rows_of_table(6)
