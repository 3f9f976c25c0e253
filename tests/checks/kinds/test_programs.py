"""What a dual and a stationary point may be asked."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.kinds.programs import Convex, Dual
from checks.kinds.stationary import Stationary
from checks.statement import Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program, dualise
from derivations.calculus.term import apply, as_term, exp, sum_over
from derivations.calculus.unicode import unicode_math

W, B, MU = Tensor("w"), Tensor("b"), Tensor("mu", ("N",))
I = Index("i", "N")
w, b, mu = as_term(W), as_term(B), as_term(MU)
x, y = as_term(Tensor("x", ("N",))), as_term(Tensor("y", ("N",)))
PROGRAM = Program("P", (W, B), w**2 / 2, (Constraint(w * x[I] + b, y[I], MU, (I,), "="),))
BIAS = (B, sum_over(I, mu[I]))


def _of(objective, maximise: bool = False) -> Convex:
    return Convex(Program("P", (W,), objective, maximise=maximise))


@pytest.mark.parametrize("objective", [-(w**2), w**3, -apply("abs", w), -apply("log", 1 + exp(w))], ids=str)
def test_two_points_and_their_midpoint_show_what_is_not_convex(objective) -> None:
    found = judge(_of(objective))
    assert found.holds is False and "midway the objective is above" in (found.counterexample or "")
    assert judge(_of(-objective, maximise=True)).holds is False


@pytest.mark.parametrize("objective", [apply("log", 1 + exp(w)), w * b + w**2, exp(w), apply("abs", w) - b])
def test_what_is_convex_is_not_refuted(objective) -> None:
    assert judge(_of(objective)).holds is not False


def test_the_second_point_is_no_other_variable() -> None:
    """exp(w - w') is convex in both."""
    primed = Tensor("w'")
    assert judge(Convex(Program("P", (W, primed), exp(w - as_term(primed))))).holds is not False


def test_what_stationarity_gives_is_no_condition_of_the_dual_and_not_called_false() -> None:
    assert judge(Dual(PROGRAM, (BIAS,))).holds
    with pytest.raises(Malformed, match="w is eliminated"):
        judge(Dual(PROGRAM, (BIAS, (W, w + sum_over(I, mu[I] * x[I])))))
    for false in (w, w - sum_over(I, mu[I] * x[I])):
        assert judge(Dual(PROGRAM, (BIAS, (W, false)))).counterexample == "w gives no such condition"


def test_squares_of_affine_expressions_are_convex() -> None:
    fit = sum_over(I, (w * x[I] + b - y[I]) ** 2)
    finding = judge(Convex(Program("least squares", (W, B), fit / 2 + w**2)))
    assert finding.proved and finding.mutants.killed and not finding.mutants.survivors
    assert judge(Convex(Program("saddle", (W, B), fit / 2 - w**2))).holds is False


def test_a_program_without_variables_is_printed_without_a_list() -> None:
    dual = dualise(Program("P", (W,), w**2 - 2 * w)).program
    assert dual is not None and unicode_math(dual.latex()) == "maximise -1"


def test_a_point_of_another_shape_is_said_with_both_shapes() -> None:
    with pytest.raises(Malformed, match="the point is N, w is a number"):
        judge(Stationary(w**2, W, mu))
