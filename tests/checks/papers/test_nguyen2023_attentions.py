"""The derivations behind the attentions of nguyen2023 fail when the formula they are compared with is
wrong.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.papers.nguyen2023 import batchnorm_formulas as bn
from checks.papers.nguyen2023 import centering_formulas as centering
from checks.papers.nguyen2023 import convolution_formulas as convolution
from checks.papers.nguyen2023 import linear_formulas as linear
from checks.papers.nguyen2023 import multihead_formulas as multihead
from checks.papers.nguyen2023 import residual_formulas as residual
from checks.papers.nguyen2023 import scaled_heads_formulas as scaled_heads
from checks.papers.nguyen2023 import sparse_formulas as sparse
from checks.papers.nguyen2023.efficiency import (
    Counter,
    M,
    operations,
    reduction,
    scales_of,
    shares_with_more_heads,
)
from checks.papers.nguyen2023.significance import RUNS, Welch
from checks.papers.nguyen2023.table_data import TABLE_1, TABLE_6, TABLE_8, Table
from checks.papers.nguyen2023.tables import SAID
from checks.run.registry import load
from checks.statement import Identity
from derivations.calculus.index import Tensor
from derivations.calculus.normal import equal
from derivations.calculus.program import Raw
from derivations.calculus.term import as_term, size, softmax, sqrt, sum_over
from derivations.theories.svr import variants as sv
from derivations.theories.svr.attentions import BETA
from derivations.theories.svr.head_costs import D, F, share
from derivations.theories.svr.head_costs import N as N_
from derivations.theories.svr.regression import N, SvrAssumptions, d, i, j

PAPER, OFF = SvrAssumptions(), SvrAssumptions(bias="off")


def holds(statement) -> bool | None:
    return judge(statement, with_mutants=False).holds


def test_the_dual_of_a_variant_has_a_centering_condition_only_with_bias():
    fit = sv.Variant("plain")
    assert fit.b in sv.dual(fit).conditions
    assert len(sv.dual(fit.without_bias()).conditions) == len(sv.dual(fit).conditions) - 1


def test_the_residual_enters_the_lagrangian_but_not_the_weights():
    plain, shifted = sv.Variant("fit"), sv.Variant("fit", residual=True)
    assert equal(sv.dual(plain).solved[plain.w], sv.dual(shifted).solved[shifted.w])
    assert not equal(sv.dual(plain).lagrangian.entry(), sv.dual(shifted).lagrangian.entry())


def test_attention_bn_needs_h_over_the_normalised_keys():
    wrong, (printed, right) = bn.eq21().parts[0], bn.eq21_corrected(OFF).parts[2:]
    assert holds(wrong) is False
    assert holds(printed) is True
    assert holds(right) is True
    raw_query = replace(right, rhs=bn.attention_bn(bn.normalised(as_term(bn.x))))
    assert holds(raw_query) is False


@pytest.mark.parametrize("sign", [1, -1])
def test_the_key_key_term_of_24_has_a_minus_sign(sign):
    line = bn.soft(bn.qd * bn.kd - sign * bn.inner_mean)
    statement = Identity(
        bn.attention_bn(bn.q_[i], bn.POSITIVE_SCALE), line, (bn.MEAN, bn.ANY_SCALE), sizes=bn.SIZES
    )
    assert holds(statement) is (sign == 1)


def test_centering_the_queries_is_not_nothing():
    both, plain = centering.both(OFF), centering.PLAIN
    assert holds(Identity(both, plain, sizes=centering.SIZES)) is False
    opposite = centering.attend(
        centering.score(centering.q[i], centering.k[j])
        + as_term(BETA) * centering.score(centering.m, centering.k[j])
    )
    assert holds(Identity(both, opposite, sizes=centering.SIZES)) is False


def test_the_criterion_for_losing_weight_fails_the_other_way_round():
    *_, loses, keeps = centering.criterion().parts
    assert holds(loses) is True
    assert holds(keeps) is True
    assert holds(replace(loses, conclusion=keeps.conclusion)) is not True


def test_sparse_attention_needs_h_over_the_subset():
    *_, softmax_part, mask = sparse.corrected(OFF).parts
    assert holds(softmax_part) is True
    all_keys = sum_over(sparse.jp, sparse.exp(sparse.score(sparse.jp)))
    printed = sum_over(j, as_term(sparse.member)[j] * sparse.exp(sparse.score(j)) / all_keys * sparse.v[j])
    assert holds(replace(mask, lhs=printed)) is False


def test_multihead_projections_keep_their_head():
    statement = multihead.eq3()
    assert holds(statement) is True
    *outputs, blocks = statement.given
    swapped = replace(blocks, value=as_term(multihead.W_O)[multihead.s, multihead.e, multihead.c])
    assert holds(replace(statement, given=(*outputs, swapped))) is False
    wrong = sum_over(multihead.s, as_term(multihead.H_S)[multihead.s] @ as_term(multihead.W_O)[multihead.s])
    member = replace(statement.chain[0], term=wrong[i, multihead.c])
    assert holds(replace(statement, chain=(member,))) is False, "a projection is not transposed"


def test_heads_of_different_sizes_do_not_mix():
    two = scaled_heads.two_heads(OFF)
    assert holds(two) is True
    assert holds(replace(two, rhs=two.rhs.args[0])) is False, "one head alone"


def test_the_values_of_a_head_are_as_many_as_its_keys():
    assert holds(scaled_heads.values_up_to(scaled_heads.NS)) is True
    assert holds(scaled_heads.values_up_to(N)) is False, "(48) is printed with values up to N"


def test_projections_inside_and_outside_the_regression():
    assert holds(residual.outside()) is True
    assert holds(residual.attention_with_one_projection()) is True
    without = replace(residual.outside(), lhs=residual.outside().lhs.args[1])
    assert holds(without) is False, "the residual is missing"


def test_the_misprinted_shapes_of_33_and_34_are_found():
    printed = residual.LINES.lagrangian(PAPER, as_term(residual.FIT.shift)[j], residual.PRINTED_PENALTY)
    assert holds(printed) is False
    assert (
        holds(residual.LINES.lagrangian(PAPER, as_term(residual.FIT.shift)[j, d], residual.PENALTY)) is True
    )
    assert (
        holds(residual.LINES.lagrangian(PAPER, -as_term(residual.FIT.shift)[j, d], residual.PENALTY)) is False
    )


def test_the_optima_of_33_in_its_notes_are_two_points():
    def charged(w: Fraction, u: Fraction) -> Fraction:
        x, y, width, weight = 1, 2, 0, 2
        return (w**2 + u**2) / 2 + weight * max(abs(y - w * u - x) - width, 0)

    steps = [Fraction(n, 4) for n in range(-9, 10)]
    values = {(w, u): charged(w, u) for w in steps for u in steps}
    assert all(value >= abs(w * u) + 2 * abs(1 - w * u) >= 1 for (w, u), value in values.items())
    assert [point for point, value in values.items() if value <= 1] == [(-1, -1), (1, 1)]


def test_the_convolved_expansion_needs_the_intercept():
    assert holds(convolution.eq42(PAPER, False).parts[0]) is False
    assert holds(convolution.eq42(PAPER, True).parts[0]) is True


def test_no_sum_of_the_convolved_expansion_binds_the_position_of_the_query():
    for step in sv.derive(convolution.FIT)[-2:]:
        assert step.latex.startswith(r"f(\boldsymbol{x}_{i})(d)") and convolution.QUERY in step.latex
        assert r"\sum_{j=1}" in step.latex and r"\sum_{i=1}" not in step.latex
    unsaid = sv.derive(replace(convolution.FIT, position=""))[-1].latex
    assert r"\sum_{i=1}" in unsaid and convolution.QUERY in unsaid
    assert unsaid.startswith(r"f(\boldsymbol{x})(d)")


def test_a_convolution_mixes_the_score_matrix_on_both_sides():
    mixed = convolution._mixed(N)
    assert holds(mixed) is True
    queries, keys, values, mix = (as_term(t) for t in convolution.tensors_on(N))
    one_side = (mix @ (queries @ keys.T)) / sqrt(size("D"))
    assert holds(replace(mixed, rhs=(convolution.row_softmax(one_side) @ values)[i])) is False


def test_the_linear_kernel_on_centred_keys_is_undefined_and_elu_is_not():
    first, second = linear.printed_versions().parts
    assert holds(first) is False
    assert holds(second) is False
    assert [holds(p) for p in linear.corrected_versions().parts] == [True, True, True]


def test_linear_attention_is_not_softmax_attention():
    x, k, v = linear.x, linear.k, linear.v
    other = sum_over(j, softmax(j, x.T @ k[j] / sqrt(size("D"))) * v[j])
    assert holds(replace(linear.katharopoulos(), rhs=other, chain=())) is False


def test_lifting_to_heads_renames_only_what_it_is_told():
    one, other, head = Tensor("a", ("N",)), Tensor("b", ("N",)), multihead.s
    lifted = sv.lift((one[i] * other[i]), head, {one: Tensor("a^s", ("H", "N"))})
    assert equal(lifted, Tensor("a^s", ("H", "N"))[head, i] * other[i])


def test_derived_expansions_print():
    assert r"\Phi" in Raw((), sv.expansion(bn.BN)).latex()


def test_operations_are_those_of_the_formula_and_no_others():
    count, sizes = Counter((1, 2)), {"N": 4, "D": 4, "F": 3}
    scaled = operations(share(scales_of(PAPER)))
    names = {s: sizes[str(s)] for s in scaled.free_symbols}
    assert count(4, 4, 3) == scaled.subs(names)
    assert count(4, 4, 3) != operations().subs(names)


def test_the_share_saved_stays_below_a_quarter():
    share = reduction(PAPER)
    n, width = sorted(share.free_symbols, key=str)[::-1]
    assert share.subs({n: 4096, width: 64}) < share.subs({n: 10**9, width: 64}) < 0.25


def test_with_a_fixed_number_of_keys_the_share_saved_grows_with_the_width_alone():
    keys, fixed = share(scales_of(PAPER)), M / N_
    full, scaled = (operations(k, fixed / k).subs(F, 2 * D) for k in (1, keys))
    saved = sp.factor(1 - scaled / full)
    assert sp.simplify(saved - D / (4 * (4 * D + M))) == 0
    assert N_ not in saved.free_symbols and sp.factor(saved.diff(D)).is_positive


def test_with_more_heads_the_share_saved_rises_and_then_falls():
    found = shares_with_more_heads(4096)
    for width in (64, 256):  # counted by torch, head by head
        heads = width // 32
        whole, halved = Counter((1,) * heads), Counter((1,) + (2,) * (heads - 1))
        at = 4096, width, 2 * width
        assert found[width] == 100 * (1 - Fraction(halved(*at), whole(*at)))
    shares = list(found.values())
    top = shares.index(max(shares))
    assert list(found)[top] == 256
    assert shares[: top + 1] == sorted(shares[: top + 1]) and shares[top:] == sorted(
        shares[top:], reverse=True
    )


def test_welchs_test_is_that_of_samples():
    from scipy.stats import ttest_ind, zscore

    for table, lower in ((TABLE_1, False), (TABLE_8, True)):
        for task, row in table.rows.items():
            if task == "Average":
                continue
            for column in (1, 2, 3):
                own, base = (
                    zscore(range(RUNS), ddof=1) * float(spread) + float(mean)
                    for mean, spread in (row[2 * column : 2 * column + 2], row[:2])
                )
                test = ttest_ind(own, base, equal_var=False)
                better = (test.statistic < 0) == lower and test.pvalue < 0.05
                assert (task in Welch(table, lower).tasks(column, True)) == better
    (said,) = Welch(TABLE_1)(None, None)
    assert said.passed is None and "Attention-BN better on 4 and worse on 0" in said.detail
    (said,) = Welch(TABLE_6, names=("softmax", "Attention-Conv2D"))(None, None)
    assert said.detail.endswith("of 2 rows Attention-Conv2D better on 2 and worse on 0")


def test_equal_means_are_never_significant():
    row = tuple(map(Fraction, ("1", "0", "1", "0", "2", "0", "0.5", "0.1")))
    table = Table({"one": row, "Average": row}, {})
    assert Welch(table).tasks(1, True) == Welch(table).tasks(1, False) == []
    assert Welch(table).tasks(3, False) == ["one"] and Welch(table, lower=True).tasks(3, True) == ["one"]


@pytest.mark.parametrize("number", SAID)
def test_every_table_that_is_called_significant_is_tested(number):
    assert any(isinstance(leg, Welch) for leg in load()[f"nguyen2023/tab{number}"].legs)
