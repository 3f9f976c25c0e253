"""The legs of the attentions of nguyen2023 pass on the declared formulas and fail where either side is
made wrong.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import torch

from checks.claim import Options
from checks.engine.mutants import mutants
from checks.papers.farooq2025.legs.tensors import largest_tensor
from checks.papers.nguyen2023 import batchnorm_formulas as bn
from checks.papers.nguyen2023 import residual_formulas as residual
from checks.papers.nguyen2023 import scaled_heads_formulas as scaled_heads
from checks.papers.nguyen2023.legs import attentions as variant_legs
from checks.papers.nguyen2023.legs import heads as variant_heads
from checks.papers.nguyen2023.legs import inputs as variant_inputs
from checks.papers.nguyen2023.legs import optima as variant_optima
from checks.tensors.core.agreement import largest
from checks.tensors.core.bounded import Bounded
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems.formulas import Formula, agree, engines, of_all_pairs
from checks.tensors.systems.row import Case, output
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import d, i

SMALL = Options(max_tokens=256)


def bn_formula(n: int = 256) -> Formula:
    return Formula(bn.attention_bn(bn.q_[i]), (i, d), (variant_legs.bn_table(Case(n, None, SMALL)),))


def test_a_declared_formula_agrees_with_its_system():
    found = agree("(22)", bn_formula(), output(variant_legs.BN, Case(256, None, SMALL)), 256, SMALL)
    assert found.passed and found.error < found.bound < 1e-9


@pytest.mark.parametrize("wrong", [
    lambda h: h,
    lambda h: systems.centred(h, 1.0),
    lambda h: systems.normalised(h, 0.04),
    lambda h: systems.normalised(h, 0.05)._replace(v=Bounded(-h.v.value)),
    lambda h: systems.pooled(systems.normalised(h, 0.05), 2),
])  # fmt: skip
def test_a_formula_does_not_agree_with_another_system(wrong):
    from checks.tensors.systems.cases import raw_heads

    other = systems.attend(wrong(raw_heads(256, SMALL)[0]))
    assert agree("(22)", bn_formula(), other, 256, SMALL, mutate=False).passed is False


def test_a_wrong_formula_does_not_agree_with_the_system():
    system = output(variant_legs.BN, Case(256, None, SMALL))
    plus = bn.soft(bn.qd * bn.kd + bn.inner_mean)
    assert agree("sign", replace(bn_formula(), term=plus), system, 256, SMALL, mutate=False).passed is False
    assert (
        agree("sign", replace(bn_formula(), term=bn.LAST_LINE), system, 256, SMALL, mutate=False).passed
        is True
    )


def test_a_wrong_version_that_cannot_be_told_apart_fails_the_leg():
    found = agree(
        "(22)",
        bn_formula(),
        output(variant_legs.BN, Case(256, None, SMALL)),
        256,
        SMALL,
        {"itself": bn_formula()},
    )
    assert found.passed is False and "itself" in found.not_rejected


def test_a_blurred_system_cannot_pass_because_mutants_survive():
    system = output(variant_legs.BN, Case(256, None, SMALL))
    blurred = Bounded(system.value, torch.full_like(system.value, 10.0))
    found = agree("(22)", bn_formula(), blurred, 256, SMALL)
    assert found.passed is False and found.not_rejected


def test_not_a_number_is_never_within_a_bound():
    error = torch.tensor([0.5, float("nan")], dtype=torch.float64)
    assert largest("nan", error, torch.ones(2, dtype=torch.float64)).ratio == torch.inf


def test_two_engines_disagree_where_one_is_wrong():
    from checks.tensors.systems.cases import raw_heads

    head = raw_heads(256, SMALL)[0]
    ours, (kernel, backend) = systems.attend(head), systems.fused_attend(systems.centred(head, 0.1))
    assert engines("plain", ours, kernel, backend, 256, SMALL, {}).passed is False
    same, backend = systems.fused_attend(head)
    assert (
        engines("plain", ours, same, backend, 256, SMALL, {"itself": lambda rows: same[rows]}).passed is False
    )


def test_a_row_compares_what_it_is_asked_for_and_fails_where_one_side_is_wrong():
    (right,) = variant_legs.BN.leg("torch").at(256, None, SMALL)
    assert right.passed and right.wrong == 6
    by_torch = replace(variant_legs.BN, by_torch=lambda case: [variant_legs.raw(case)])
    (wrong,) = by_torch.leg("torch").at(256, None, SMALL)
    assert wrong.passed is False
    itself = replace(variant_legs.BN, wrong=lambda case: {"itself": variant_legs.BN.by_torch(case)})
    (idle,) = itself.leg("torch").at(256, None, SMALL)
    assert idle.passed is False and idle.not_rejected == ("itself",)
    with pytest.raises(ValueError, match="not compared with proved"):
        variant_legs.BN.leg("proved")


def test_the_mixing_matrix_is_the_convolution():
    taps = variant_inputs.conv_kernel_of(SMALL, 3, 3)
    x = Bounded(torch.randn(24, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    mixed = variant_inputs.mixing(taps, 24, 6) @ x.value
    assert torch.allclose(mixed, systems.convolve(x, taps, (4, 6)).value)
    assert not torch.allclose(mixed, systems.convolve(x, taps, (6, 4)).value)


def test_long_sequences_of_formulas_with_square_matrices_are_reported_as_not_run():
    (found,) = variant_heads.pooling_matrix.at(2 * variant_heads.DENSE, None, Options())
    assert found.passed is None and "formed up to 4096 tokens" in found.not_run


def test_bfloat16_is_reported_as_not_run():
    found = variant_legs.bn_definition(None, Options(max_tokens=1024, dtype="bfloat16"))
    assert [e.passed for e in found] == [None] and "bfloat16" in found[0].not_run


def test_float32_passes_with_its_own_bound():
    options = Options(max_tokens=1024, dtype="float32")
    for leg in (variant_legs.bn_kernel, variant_heads.sh_definition, variant_inputs.conv1d):
        for found in leg(None, options):
            assert found.passed, found.detail
            assert found.bound > 1e-7


# ---------------------------------------------------------------- exact optima


def test_a_sum_of_four_squares():
    for value in (Fraction(7), Fraction(3, 7), Fraction(255, 16), Fraction(1, 1024)):
        assert sum(x * x for x in variant_optima.four_squares(value)) == value


def test_features_with_kernel_values_that_are_powers_of_two():
    rows = variant_optima.powers([(-1, 2), (0, 1), (1, 1), (2, 0)], 3)
    inner = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in rows[:3]] for p in rows]
    labels = [(-1, 2), (0, 1), (1, 1), (2, 0)]
    assert inner == [[Fraction(2) ** (p[0] * q[0] + p[1] * q[1]) for q in labels[:3]] for p in labels]


def fits() -> tuple[variant_optima.Fit, Bounded]:
    fit = variant_optima.optimum(bn.BN, variant_optima.powers([(-1,), (0,), (1,), (2,)], 3), 3)
    q, k = variant_optima.column(1, 2, 3, 4), variant_optima.column(1, 2, 3)
    prepare = lambda h: systems.normalised(h, variant_optima.exact_eps())  # noqa: E731
    return fit, variant_optima._attended(q, k, fit, prepare)


def test_an_optimal_fit_is_the_system_and_a_wrong_one_is_not():
    fit, out = fits()
    exact, close = variant_optima.against_system("fit", [fit], out, {})
    assert exact.passed and close.passed
    doubled = fit._replace(fitted=[2 * x for x in fit.fitted])
    assert variant_optima.against_system("fit", [doubled], out, {})[1].passed is False
    assert variant_optima.against_system("fit", [fit], -out, {})[1].passed is False
    assert variant_optima.against_system("fit", [fit], out, {"itself": out})[1].passed is False
    assert variant_optima.against_system("fit", [fit._replace(sound=False)], out, {})[0].passed is False


def test_a_fit_whose_weights_belong_to_another_program_is_not_sound(monkeypatch):
    phi = variant_optima.powers([(-1,), (0,), (1,), (2,)], 3)
    plain = sv.Variant("plain", bias=False)
    assert variant_optima.optimum(plain, phi, 3).sound
    dual = sv.dual(plain)
    flipped = replace(dual, solved={plain.w: -dual.solved[plain.w]})
    monkeypatch.setattr(sv, "dual", lambda variant: flipped)
    assert not variant_optima.optimum(plain, phi, 3).sound


def test_the_residual_is_part_of_the_fit():
    phi = variant_optima.powers([(1,), (0,), (-1,), (2,)], 3)
    shift = [Fraction(n) for n in (1, 0, -1, 2)]
    with_shift = variant_optima.optimum(residual.FIT, phi, 3, shift)
    without = variant_optima.optimum(replace(residual.FIT, residual=False), phi, 3)
    assert with_shift.sound and without.sound
    assert [a - b for a, b in zip(with_shift.fitted, without.fitted, strict=True)] == shift


@pytest.mark.parametrize("leg", [
    variant_optima.bn_optimum, variant_optima.beta_optimum, variant_optima.bn_head_optimum, variant_optima.heads_optimum,
    variant_optima.multihead_optimum, variant_optima.sparse_optimum, variant_optima.residual_optimum,
    variant_optima.conv_optimum, variant_optima.linear_optimum, variant_optima.linear_versions_optimum,
    variant_optima.softmax_optimum, variant_optima.beta_sh_optimum, variant_optima.conv1d_optimum,
    variant_optima.cvt_optimum, variant_optima.sparse_versions_optimum,
])  # fmt: skip
def test_every_program_is_solved_exactly_and_met_by_its_system(leg):
    assert all(found.passed for found in leg(None, SMALL))


def test_the_scaled_heads_formula_needs_every_head():
    case = Case(256, None, SMALL)
    tables, system = variant_heads.sh_tables(case), output(variant_heads.SH, case)
    whole = Formula(scaled_heads.SH, (i, d), tables)
    assert agree("(25)", whole, system, 256, SMALL, mutate=False).passed
    assert agree("(25)", replace(whole, tables=tables[:1]), system, 256, SMALL, mutate=False).passed is False


def test_formulas_and_their_mutants_form_no_square_of_the_tokens():
    n, found = 4096, []
    leg, options = variant_heads.multihead_definition, Options(max_tokens=4096)
    most = largest_tensor(lambda: found.extend(leg.at(n, None, options)))
    assert found and all(e.passed for e in found)
    assert most < n * n * 8 / 2


def test_a_mutant_of_all_pairs_is_known_by_its_formula():
    from checks.papers.nguyen2023 import multihead_formulas as mh

    formula = Formula(mh.eq3().rhs, (i, mh.c), ())
    wrong = mutants(formula.term, 12)
    found = {what for what, m in wrong if of_all_pairs(formula.entry(m), formula.at)}
    assert found == {"softmax of the columns"}
    assert not of_all_pairs(formula.entry(), formula.at)
