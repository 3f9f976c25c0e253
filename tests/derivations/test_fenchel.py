"""Programs with losses of the table: their derived duals have exactly the primal's value, and what is not
convex, not in range or not complete has no dual.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from checks.engine.judge import judge
from checks.kinds.programs import Convex, Dual
from checks.papers.nguyen2023.legs import theorem1
from checks.statement import Identity
from derivations.calculus import normal as nf
from derivations.calculus import program as dualiser
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss, losses
from derivations.calculus.program import Constraint, Program, Raw, convexity, dualise, lifted, with_residuals
from derivations.calculus.term import Term, apply, as_term, size, softmax, sqrt, squared_norm, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import SvrAssumptions
from solvers.compile import compile_program
from solvers.exact import NoExactCertificate, solve_exact

i, j, c_ = Index("i", "N"), Index("j", "N"), Index("c", "D")
W, DESIGN, Y = Tensor("w", ("D",)), Tensor("X", ("N", "D")), Tensor("y", ("N",))
LAM, BETA, EPS = (Tensor(name, positive=True) for name in ("lambda", "beta", "epsilon"))
P, S, MU, NU = Tensor("p", ("N",)), Tensor("s", ("N",)), Tensor("mu"), Tensor("nu", ("N",))
w, X, y, lam, beta, eps, p, s = map(as_term, (W, DESIGN, Y, LAM, BETA, EPS, P, S))
FIT, RIDGE = squared_norm(X @ w - y) / 2, lam / 2 * squared_norm(w)
ERROR = X[i].T @ w - y[i]


def minimise(objective: Term, *constraints: Constraint) -> Program:
    return Program("p", (W,), objective, constraints)


PENALTY = lam * sum_over(c_, loss("absolute", w[c_]))
EXACT = {
    "ridge": minimise(FIT + RIDGE),
    "lasso": minimise(FIT + PENALTY),
    "elastic net": minimise(FIT + PENALTY + RIDGE),
    "squared": minimise(RIDGE + sum_over(i, loss("squared", ERROR))),
    "svr": minimise(RIDGE + lam * sum_over(i, loss("epsilon_insensitive", ERROR, eps))),
    "huber": minimise(RIDGE + lam * sum_over(i, loss("huber", ERROR, eps))),
    "box": minimise(FIT + sum_over(c_, loss("box", w[c_], -lam, lam))),
    "simplex": minimise(FIT + loss("simplex", w)),
    "two losses of one": minimise(FIT + PENALTY + sum_over(c_, loss("box", w[c_], -lam, lam))),
    "constrained": minimise(FIT + PENALTY, Constraint(sum_over(c_, w[c_]), as_term(1), MU)),
    "alone": minimise(sum_over(c_, loss("absolute", w[c_])), Constraint(as_term(2), sum_over(c_, w[c_]), MU)),
}
EXACT["squared tube"] = minimise(RIDGE + lam * sum_over(i, loss("squared_epsilon_insensitive", ERROR, eps)))
EXACT["hinge"] = minimise(RIDGE + sum_over(i, loss("relu", 1 - y[i] * (X[i].T @ w))))
EXACT["printed"] = minimise(
    FIT + lam * sum_over(c_, apply("abs", w[c_])) + sum_over(i, apply("relu", 1 - ERROR))
)
EXACT["maximised"] = replace(EXACT["svr"], objective=-EXACT["svr"].objective, maximise=True)
SIZES = {"N": 3, "D": 2}


def data(seed: int) -> Any:
    def drawn(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
        rng = random.Random(f"{seed}{tensor.name}{entry}")
        return Fraction(rng.randint(-3, 3)) if tensor.dims else Fraction(rng.randint(1, 4), 2)

    return drawn


def value(program: Program, seed: int) -> Fraction:
    found = solve_exact(compile_program(program, SIZES, data(seed))).certificate
    assert found.accepts()
    return -found.primal_value if program.maximise else found.primal_value


@pytest.mark.parametrize("name", EXACT)
def test_the_derived_dual_has_exactly_the_value_of_the_program(name: str) -> None:
    whole = EXACT[name]
    result = dualise(whole)
    assert result.program is not None and result.program.maximise is not whole.maximise
    assert all(step.checked is not False for step in result.steps)
    for seed in range(2):
        assert value(whole, seed) == value(result.program, seed)


@pytest.mark.parametrize("name", ["lasso", "svr", "huber", "box"])
def test_a_wrong_dual_has_another_value(name: str) -> None:
    whole, right = EXACT[name], dualise(EXACT[name])
    assert right.program is not None
    tighter = tuple(replace(c, rhs=c.rhs / 9) if c in right.domain else c for c in right.program.constraints)
    for wrong in (
        replace(right.program, objective=2 * right.program.objective),
        replace(right.program, constraints=tuple(c for c in right.program.constraints if c not in right.domain)),
        replace(right.program, constraints=tighter),
    ):  # fmt: skip
        differs = 0
        for seed in range(3):
            try:
                differs += value(whole, seed) != value(wrong, seed)
            except NoExactCertificate:  # unbounded
                differs += 1
        assert differs


def test_each_step_is_recorded_and_the_conjugates_say_their_domain() -> None:
    titles = [step.title for step in dualise(EXACT["lasso"]).steps]
    assert titles[:3] == ["Program", "Residuals", "Lagrangian"] and titles[-1] == "Dual program"
    found = dualise(EXACT["svr"])
    (step,) = [step for step in found.steps if step.title == "Conjugate for r"]
    assert (
        r"\text{if } {\rho}_{i} \le \lambda,\ -{\rho}_{i} \le \lambda" in step.latex
        and r"+\infty" in step.latex
    )
    assert [c.latex() for c in found.domain] == [r"{\rho}_{i} \le \lambda", r"-{\rho}_{i} \le \lambda"]


def test_a_residual_of_a_loss_that_is_another_expression_is_noticed() -> None:
    for name in ("lasso", "box"):
        split = with_residuals(EXACT[name])
        *others, own = split.constraints
        assert dualiser._says_the_same(split, EXACT[name])
        wrong = replace(split, constraints=(*others, replace(own, lhs=2 * own.lhs)))
        assert not dualiser._says_the_same(wrong, EXACT[name])


def test_a_loss_of_a_variable_of_its_own_needs_no_residual() -> None:
    assert with_residuals(EXACT["alone"]) == EXACT["alone"]
    assert len(with_residuals(EXACT["elastic net"]).variables) == 3  # w is squared as well
    assert len(with_residuals(EXACT["two losses of one"]).variables) == 4


def test_losses_that_are_not_of_variables_of_their_own_have_no_dual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dualiser, "_says_the_same", lambda *_: False)  # so that no residuals are made
    with pytest.raises(ValueError, match="variables of their own"):
        dualise(EXACT["svr"])


MULTIPLES = {
    "epsilon_insensitive": (as_term(svr.C), as_term(svr.epsilon)),
    "squared_epsilon_insensitive": (as_term(svr.C), as_term(svr.epsilon)),
    "least_squares": (as_term(svr.C), None),
    "huber": (as_term(svr.C) / as_term(svr.delta), as_term(svr.delta)),
}


@pytest.mark.parametrize("name", MULTIPLES)
def test_the_losses_of_the_regression_are_those_of_the_table(name: str) -> None:
    """Its programs spell them with slacks; the optimal values and those of both duals are the same."""
    assumptions = SvrAssumptions(loss=name)
    factor, parameter = MULTIPLES[name]
    spelt, given = svr.primal(assumptions), replace(svr.epsilon, positive=True)
    if parameter is not None and "epsilon" in name:
        parameter = as_term(given)
    error = as_term(svr.y)[svr.j, svr.d] - svr.fit(svr.d, svr.j, assumptions)
    own = loss(
        "squared" if parameter is None else name, error, *([parameter] if parameter is not None else [])
    )
    ridge = as_term(Fraction(1, 2)) * sum_over(svr.d, squared_norm(as_term(svr.w)[svr.d]))
    whole = Program(
        "table", (svr.w, svr.b), ridge + sum_over(svr.j, svr.d, factor * own), nonzero=spelt.nonzero
    )
    found = {
        -v if p.maximise else v
        for p in (spelt, svr.dual(assumptions).program, whole, dualise(whole).program)
        if p is not None
        for v in [solve_exact(compile_program(p, theorem1.SIZES, theorem1.data)).certificate.primal_value]
    }
    assert len(found) == 1


# ---------------------------------------------------------------- entropy and softmax

TOTAL = Constraint(sum_over(j, p[j]), as_term(1), MU, equality=True)
SIGNS = Constraint(-p[j], as_term(0), NU, (j,))
ENTROPY = sum_over(j, loss("entropy", p[j]))
ATTENTION = Program("attention", (P,), s.T @ p - ENTROPY / beta, (TOTAL, SIGNS), maximise=True)


def test_softmax_is_the_argmax_of_the_scores_with_entropy() -> None:
    result = dualise(ATTENTION)
    argmax = Raw((), result.substitute(P[j]))
    assert judge(Identity(argmax, softmax(j, beta * s[j]))).holds
    assert judge(Identity(argmax, softmax(j, s[j]))).holds is False
    assert result.program is not None and result.program.variables == ()
    largest = apply("log", sum_over(j, apply("exp", beta * s[j]))) / beta
    assert judge(Identity(Raw((), result.program.objective.entry()), largest)).holds
    assert [s.title for s in result.steps][:2] == ["Program", "Simplex"]


@pytest.mark.parametrize(
    "constraints", [(TOTAL,), (SIGNS, TOTAL), (replace(TOTAL, lhs=as_term(1), rhs=TOTAL.lhs),)]
)
def test_the_simplex_is_recognised_as_it_may_be_written(constraints: tuple[Constraint, ...]) -> None:
    for whole in (replace(ATTENTION, constraints=constraints),
                  replace(ATTENTION, objective=-ATTENTION.objective, maximise=False, constraints=constraints)):  # fmt: skip
        assert nf.equal(dualise(whole).solved[P], softmax(i, beta * s[i]).entry())


def test_the_rows_of_a_matrix_are_on_simplices_of_their_own() -> None:
    rows, scores = Tensor("A", ("N", "M")), Tensor("G", ("N", "M"))
    m, a, g = Index("m", "M"), as_term(rows), as_term(scores)
    entropy = sum_over(i, m, loss("entropy", a[i, m]))
    total = Constraint(sum_over(m, a[i, m]), as_term(1), NU, (i,), equality=True)
    whole = Program("rows", (rows,), sum_over(i, m, g[i, m] * a[i, m]) - entropy, (total,), maximise=True)
    assert judge(Identity(Raw((), dualise(whole).substitute(rows[i, m])), softmax(m, g[i, m]))).holds


@pytest.mark.parametrize("constraints", [
    (),
    (SIGNS,),
    (replace(TOTAL, rhs=as_term(2)),),
    (replace(TOTAL, equality=False),),
    (replace(TOTAL, lhs=sum_over(j, y[j] * p[j])),),
])  # fmt: skip
def test_other_constraints_are_no_simplex(constraints: tuple[Constraint, ...]) -> None:
    result = dualise(replace(ATTENTION, constraints=constraints))
    assert "Simplex" not in [step.title for step in result.steps]
    assert not nf.equal(result.solved[P], softmax(i, beta * s[i]).entry())


def test_an_entropy_weighted_along_the_row_is_not_softmax() -> None:
    weight = as_term(Tensor("q", ("N",), positive=True))
    whole = replace(ATTENTION, objective=s.T @ p - sum_over(j, weight[j] * loss("entropy", p[j])))
    result = dualise(whole)
    assert "Simplex" not in [step.title for step in result.steps] and result.program is not None
    assert len(result.program.variables) == 2


# ---------------------------------------------------------------- losses that are printed otherwise

exp_, log_ = (lambda z: apply("exp", z)), (lambda z: apply("log", z))
SPELT = {
    "absolute": (apply("abs", w[c_]), loss("absolute", w[c_])),
    "relu": (apply("relu", 1 - w[c_]), loss("relu", 1 - w[c_])),
    "exponential": (exp_(w[c_]), loss("exponential", w[c_])),
    "entropy": (w[c_] * log_(w[c_]), loss("entropy", w[c_])),
    "weighted entropy": (lam * (w[c_] * beta) * log_(w[c_]), lam * beta * loss("entropy", w[c_])),
    "logistic": (log_(1 + exp_(-w[c_])), loss("logistic", w[c_])),
    "logistic of -z": (log_(exp_(w[c_]) + 1), loss("logistic", -w[c_])),
    "log-sum-exp": (log_(sum_over(i, exp_(X[i].T @ w))), loss("log_sum_exp", X @ w)),
}


@pytest.mark.parametrize("name", SPELT)
def test_printed_losses_are_recognised_as_a_step(name: str) -> None:
    printed, meant = SPELT[name]
    if "sum" not in name:
        printed, meant = sum_over(c_, printed), sum_over(c_, meant)
    found, other = dualise(minimise(RIDGE + printed)), dualise(minimise(RIDGE + meant))
    (step,) = [step for step in found.steps if step.title == "Losses"]
    assert step.checked and found.program is not None and other.program is not None
    assert nf.equal(found.program.objective.entry(), other.program.objective.entry())
    assert "Losses" not in [step.title for step in other.steps]


@pytest.mark.parametrize("objective", [
    log_(2 + exp_(w[c_])),
    log_(1 + exp_(w[c_]) ** 2),
    w[c_] * log_(2 * w[c_]),
    log_(w[c_]),
    apply("exp", w[c_], order=1) * w[c_],
    apply("F", w[c_]),
])  # fmt: skip
def test_what_only_looks_like_a_loss_is_not_recognised(objective: Term) -> None:
    with pytest.raises(ValueError, match=r"not quadratic|not shown to be|affine"):
        dualise(minimise(RIDGE + sum_over(c_, objective)))


def test_softmax_follows_from_the_printed_entropy() -> None:
    printed = replace(ATTENTION, objective=s.T @ p - sum_over(j, p[j] * log_(p[j])) / beta)
    assert nf.equal(dualise(printed).solved[P], softmax(i, beta * s[i]).entry())
    assert judge(Dual(printed, ())).holds


def test_a_loss_for_whose_variable_a_value_is_put_is_none_of_the_variable() -> None:
    """|w| at w = u does not depend on w: taken as a loss of w it would."""
    value = as_term(Tensor("u", ("D",)))
    for name, parameters in (("absolute", ()), ("box", (-lam, lam))):
        moved = at_point(sum_over(c_, loss(name, w[c_], *parameters)), W, value)
        assert not list(losses(moved))
        with pytest.raises(ValueError):
            dualise(minimise(RIDGE + at_point(sum_over(c_, loss(name, w[c_], *parameters)), W, w + value)))


# ---------------------------------------------------------------- what has no dual

FREE, VECTOR = Tensor("u"), Tensor("v", ("D",))
NOT_CONVEX = {
    "negative weight": (FIT - PENALTY, "factor of the loss absolute is not shown"),
    "weight without a sign": (FIT + as_term(FREE) * sum_over(c_, loss("absolute", w[c_])), "not shown to be > 0"),
    "weight that is a variable": (FIT + sum_over(c_, w[c_] * loss("absolute", w[c_])), "not shown to be > 0"),
    "loss squared": (FIT + sum_over(c_, loss("absolute", w[c_]) ** 2), "not shown to be > 0"),
    "loss in a function": (apply("F", sum_over(c_, loss("absolute", w[c_]))), "not shown to be > 0"),
    "loss in a loss": (apply("exp", sum_over(c_, loss("absolute", w[c_]))), "not affine"),
    "free index": (RIDGE + loss("absolute", w[c_]), "nothing explains"),
    "argument not affine": (sum_over(c_, loss("absolute", w[c_] ** 2 - 1)), "not affine"),
    "argument of a root": (sum_over(c_, loss("absolute", w[c_] ** Fraction(1, 2))), "not affine"),
    "loss of a loss": (sum_over(c_, loss("absolute", loss("absolute", w[c_]) - 1)), "not affine"),
    "margin without a sign": (FIT + sum_over(c_, loss("epsilon_insensitive", w[c_], as_term(FREE))), "in its range"),
    "negative margin": (FIT + sum_over(c_, loss("epsilon_insensitive", w[c_], as_term(-1))), "in its range"),
    "huber of width 0": (FIT + sum_over(c_, loss("huber", w[c_], as_term(0))), "in its range"),
    "empty box": (FIT + sum_over(c_, loss("box", w[c_], lam, -lam)), "in its range"),
    "box of a variable": (FIT + sum_over(c_, loss("box", as_term(VECTOR)[c_], -w[c_], w[c_])), "in its range"),
    "concave rest": (PENALTY - FIT, "without its losses is not shown to be convex"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CONVEX)
def test_what_is_not_shown_convex_has_no_dual(name: str) -> None:
    objective, words = NOT_CONVEX[name]
    whole = minimise(objective)
    assert not convexity(whole)
    with pytest.raises(ValueError, match=words):
        dualise(whole)


def test_an_entropy_that_is_minimised_from_above_has_no_dual() -> None:
    for wrong in (s.T @ p + ENTROPY / beta, s.T @ p - ENTROPY / as_term(FREE)):
        with pytest.raises(ValueError, match="not shown to be < 0"):
            dualise(replace(ATTENTION, objective=wrong))


def test_losses_are_those_of_the_table() -> None:
    with pytest.raises(ValueError, match="no loss 'hinge'"):
        loss("hinge", w[c_])
    with pytest.raises(ValueError, match="takes 1 parameter"):
        loss("huber", w[c_])
    with pytest.raises(ValueError, match="takes a vector"):
        loss("log_sum_exp", w[c_]).entry()


def test_what_no_quadratic_program_says_is_not_compiled_as_one() -> None:
    with pytest.raises(ValueError, match="entropy is not quadratic"):
        compile_program(ATTENTION, SIZES, data(0))
    with pytest.raises(ValueError, match="not shown to be convex"):
        lifted(minimise(-PENALTY))
    with pytest.raises(ValueError, match="not shown to be convex"):
        compile_program(minimise(FIT - PENALTY), SIZES, data(0))


# ---------------------------------------------------------------- statements about duals

LASSO = dualise(EXACT["lasso"])
RHO, RHO1 = (c.multiplier for c in with_residuals(EXACT["lasso"]).constraints)
CONDITION = as_term(RHO1)[c_] + sum_over(i, X[i, c_] * as_term(RHO)[i])
Z = Tensor("z", ("D",))
UPPER = Constraint(as_term(RHO1)[c_], lam, Z, (c_,))
LOWER = Constraint(-as_term(RHO1)[c_], lam, Tensor("z'", ("D",)), (c_,))


def test_a_printed_dual_needs_the_domain_of_its_conjugates() -> None:
    right = judge(Dual(EXACT["lasso"], ((W, CONDITION),), domain=(UPPER, LOWER)))
    assert right.holds and right.mutants.tried > 4 and not right.mutants.survivors
    missing = judge(Dual(EXACT["lasso"], ((W, CONDITION),), domain=(UPPER,)))
    assert missing.holds is False and "infinite without it" in str(missing.counterexample)
    assert judge(Dual(EXACT["lasso"], ((W, CONDITION),))).holds is False


@pytest.mark.parametrize("domain", [
    (UPPER, replace(LOWER, rhs=2 * lam)),
    (UPPER, replace(LOWER, rhs=lam / 2)),
    (UPPER, replace(LOWER, lhs=as_term(RHO1)[c_])),
    (UPPER, LOWER, replace(LOWER, rhs=as_term(0))),
    (replace(UPPER, equality=True), LOWER),
])  # fmt: skip
def test_a_wrong_domain_is_refuted(domain: tuple[Constraint, ...]) -> None:
    assert judge(Dual(EXACT["lasso"], ((W, CONDITION),), domain=domain)).holds is False


def test_a_wrong_condition_beside_the_right_domain_is_refuted() -> None:
    inner = sum_over(i, X[i, c_] * as_term(RHO)[i])
    found = [
        judge(Dual(EXACT["lasso"], ((W, as_term(RHO1)[c_] + factor * inner),), domain=(UPPER, LOWER))).holds
        for factor in (1, 2, -1)
    ]
    assert found == [True, False, None]  # the sign of a multiplier that the program does not name is free


def test_convexity_of_a_program_with_losses() -> None:
    right = judge(Convex(EXACT["svr"]))
    assert right.holds and right.mutants.tried and not right.mutants.survivors
    assert judge(Convex(ATTENTION)).holds
    assert judge(Convex(minimise(RIDGE - lam * sum_over(i, loss("absolute", ERROR))))).holds is None
    assert judge(Convex(minimise(RIDGE + size("N") * sum_over(i, loss("absolute", ERROR))))).holds


@pytest.mark.parametrize("left, right, holds", [
    (loss("norm", as_term(RHO1)), lam, True),
    (sqrt(squared_norm(as_term(RHO1))), lam, True),
    (squared_norm(as_term(RHO1)), lam * lam, None),  # the same, but not seen to be
    (loss("norm", as_term(RHO1)), 2 * lam, False),
    (loss("norm", as_term(RHO)), lam, False),
])  # fmt: skip
def test_the_dual_of_a_norm_is_bounded_by_its_factor(left: Term, right: Term, holds: bool | None) -> None:
    whole = minimise(FIT + lam * loss("norm", w))
    bound = Constraint(left, right, Tensor("z"))
    assert judge(Dual(whole, ((W, CONDITION),), domain=(bound,))).holds is holds
