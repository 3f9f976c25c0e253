"""What a dual and a stationary point may be asked."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.kinds.programs import Convex, Dual
from checks.kinds.stationary import Stationary
from checks.statement import Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.program import Constraint, Program, dualise
from derivations.calculus.term import apply, as_term, exp, log, sum_over
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


def test_a_condition_on_a_multiplier_that_nobody_prints_refutes_nothing() -> None:
    """Of entropic transport the textbook's dual has no condition: C + rho + f = 0 holds for some rho."""
    i, h = Index("i", "N"), Index("h", "M")
    plan, f = Tensor("P", ("N", "M")), Tensor("f", ("N",))
    P, C, mu = as_term(plan), as_term(Tensor("C", ("N", "M"))), as_term(Tensor("mu", ("N",)))
    rows = Constraint(sum_over(h, P[i, h]), mu[i], f, (i,), equality=True)
    cost, around = sum_over(i, h, P[i, h] * C[i, h]), as_term(Tensor("T", ("M", "N")))
    entropy = sum_over(i, h, P[i][h] * log(P[i][h]))
    assert judge(Dual(Program("transport", (plan,), cost + entropy, (rows,)), ())).holds
    moved = P + around.T  # a residual is added, and a multiplier rho for it
    charged = cost + sum_over(i, h, moved[i, h] * log(moved[i, h]))
    assert judge(Dual(Program("transport", (plan,), charged, (rows,)), ())).holds is None
    linear = Program("transport", (plan,), cost, (rows,))
    assert judge(Dual(linear, ())).holds is False  # C + f = 0 binds f itself
    assert judge(Dual(linear, ((plan, C[i, h] + as_term(f)[i]),))).holds


def test_a_domain_that_depends_on_no_index_is_judged() -> None:
    """exp(p_i) has the conjugate -nu log(-nu) - nu for -nu >= 0, the same for each i."""
    p, nu = Tensor("p", ("N",)), Tensor("nu", ())
    sum_to_one = Constraint(sum_over(I, as_term(p)[I]), as_term(1), nu, equality=True)
    program = Program("P", (p,), sum_over(I, loss("exponential", as_term(p)[I])), (sum_to_one,))
    assert judge(Dual(program, ())).holds is False
    assert judge(Dual(program, (), domain=(Constraint(as_term(nu), as_term(0), nu, (I,)),))).holds
