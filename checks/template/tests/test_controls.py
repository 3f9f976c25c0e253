"""A check that cannot fail shows nothing: wrong versions of a formula must be refuted."""

import pytest
from attention_audit import Identity, judge, size, softmax, sum_over
from mypaper.claims.formulas import ATTENTION, ROW, K, Q, V, i, j


def test_the_row_holds():
    assert judge(Identity(ATTENTION[i], ROW)).holds


@pytest.mark.parametrize("value", [V[i], 2 * V[j]])
def test_a_wrong_row_is_refuted(value):
    wrong = sum_over(j, softmax(j, Q[i].T @ K[j] / size("D") ** 2) * value)
    found = judge(Identity(ATTENTION[i], wrong))
    assert found.holds is False and found.counterexample
