"""What a dual and a stationary point may be asked."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.kinds.programs import Dual
from checks.kinds.stationary import Stationary
from checks.statement import Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import as_term, sum_over

W, B, MU = Tensor("w"), Tensor("b"), Tensor("mu", ("N",))
I = Index("i", "N")
w, b, mu = as_term(W), as_term(B), as_term(MU)
x, y = as_term(Tensor("x", ("N",))), as_term(Tensor("y", ("N",)))
PROGRAM = Program("P", (W, B), w**2 / 2, (Constraint(w * x[I] + b, y[I], MU, (I,), "="),))
BIAS = (B, sum_over(I, mu[I]))


def test_what_stationarity_gives_is_no_condition_of_the_dual_and_not_called_false() -> None:
    assert judge(Dual(PROGRAM, (BIAS,))).holds
    with pytest.raises(Malformed, match="w is eliminated"):
        judge(Dual(PROGRAM, (BIAS, (W, w + sum_over(I, mu[I] * x[I])))))
    for false in (w, w - sum_over(I, mu[I] * x[I])):
        assert judge(Dual(PROGRAM, (BIAS, (W, false)))).counterexample == "w gives no such condition"


def test_a_point_of_another_shape_is_said_with_both_shapes() -> None:
    with pytest.raises(Malformed, match="the point is N, w is a number"):
        judge(Stationary(w**2, W, mu))
