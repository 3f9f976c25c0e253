"""Programs with exponentials and logarithms: what is compiled is what was stated, duals that are derived close
the gap, and others do not.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from derivations.calculus.balls import Ball, agree
from derivations.calculus.components import evaluate
from derivations.calculus.conjugates import CONJUGATES
from derivations.calculus.functions import BALL_FUNCTIONS
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.program import Constraint, Program, convexity, dualise
from derivations.calculus.term import Term, as_term, exp, sqrt, squared_norm, stack, sum_over
from solvers.convex import (
    _ATOMS,
    _VALUES,
    DualityGap,
    compile_convex,
    duality_gap,
    feasible_point,
    solve_convex,
)
from solvers.exact import NoExactCertificate
from solvers.program import to_float
from solvers.qp import SolverError

i, j, m, c_ = Index("i", "N"), Index("j", "N"), Index("m", "M"), Index("c", "D")
W, DESIGN, Y = Tensor("w", ("D",)), Tensor("X", ("N", "D")), Tensor("y", ("N",))
LAM, BETA = Tensor("lambda", positive=True), Tensor("beta", positive=True)
P, S, MU, NU = Tensor("p", ("N",)), Tensor("s", ("N",)), Tensor("mu"), Tensor("nu", ("N",))
A, G = Tensor("A", ("N", "M")), Tensor("G", ("N", "M"))
w, X, y, lam, beta, p, s, a, g = map(as_term, (W, DESIGN, Y, LAM, BETA, P, S, A, G))
RIDGE = lam / 2 * squared_norm(w)
TOTAL = Constraint(sum_over(j, p[j]), as_term(1), MU, equality=True)
SIGNS = Constraint(-p[j], as_term(0), NU, (j,))
SCORES = s.T @ p - sum_over(j, loss("entropy", p[j])) / beta


def minimise(objective: Term, *constraints: Constraint) -> Program:
    return Program("p", (W,), objective, constraints)


PROGRAMS = {
    "softmax": Program("softmax", (P,), SCORES, (TOTAL, SIGNS), maximise=True),
    "rows": Program("rows", (A,), sum_over(i, m, g[i, m] * a[i, m]) - sum_over(i, m, loss("entropy", a[i, m])) / beta,
                    (Constraint(sum_over(m, a[i, m]), as_term(1), NU, (i,), equality=True),), maximise=True),
    "logistic": minimise(RIDGE + sum_over(i, loss("logistic", y[i] * (X[i].T @ w)))),
    "logistic, lasso": minimise(sum_over(i, loss("logistic", y[i] * (X[i].T @ w))) + lam * sum_over(c_, loss("absolute", w[c_]))),
    "log-sum-exp": minimise(RIDGE + lam * loss("log_sum_exp", X @ w - y)),
    "exponential": minimise(RIDGE + sum_over(i, loss("exponential", X[i].T @ w - y[i]))),
    "group lasso": minimise(squared_norm(X @ w - y) / 2 + lam * loss("norm", w)),
    "norm bounded": minimise(squared_norm(X @ w - y) / 2, Constraint(sqrt(squared_norm(w)), sum_over(c_, w[c_]) + lam, MU)),
    "linear in a ball": minimise(sum_over(c_, w[c_]), Constraint(loss("norm", w), beta, MU)),
    "rows in balls": Program("r", (A,), sum_over(i, m, g[i, m] * a[i, m]), (Constraint(loss("norm", a[i]), beta, NU, (i,)),), maximise=True),
}  # fmt: skip
SIZES = {"N": 3, "D": 2, "M": 2}


def data(seed: int) -> Any:
    def drawn(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
        rng = random.Random(f"{seed}{tensor.name}{entry}")
        return Fraction(rng.choice([-3, -2, -1, 1, 2, 3]) if tensor.dims else rng.randint(1, 4), 2)

    return drawn


def gap(whole: Program, dual: Program | None, seed: int = 0) -> DualityGap:
    assert dual is not None
    return duality_gap(whole, dual, SIZES, data(seed))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(2))
def test_derived_duals_close_the_gap(name: str, seed: int) -> None:
    found = gap(PROGRAMS[name], dualise(PROGRAMS[name]).program, seed)
    assert found.grade == "interval" and not found.refuted and 0 < found.bound < 1e-8


def test_gaps_of_what_is_quadratic_in_pieces_are_zero() -> None:
    whole = minimise(RIDGE + sum_over(i, loss("absolute", X[i].T @ w - y[i])))
    found = gap(whole, dualise(whole).program)
    assert found.grade == "exact-rational" and found.bound == 0 and not found.refuted


@pytest.mark.parametrize("name", PROGRAMS)
def test_wrong_duals_do_not_close_it(name: str) -> None:
    """Twice the objective, and half of it: one lies above the program's value, the other leaves a gap."""
    right = dualise(PROGRAMS[name]).program
    assert right is not None
    found = [
        gap(PROGRAMS[name], replace(right, objective=right.objective * f))
        for f in (Fraction(1, 2), Fraction(2))
    ]
    assert any(one.refuted for one in found) and any(one.bound > 1e-2 for one in found)


def test_a_conjugate_without_its_domain_or_scale_is_noticed() -> None:
    """log-sum-exp without Σρ = λ: the entropies alone are larger."""
    result = dualise(PROGRAMS["log-sum-exp"])
    assert result.program is not None
    free = replace(result.program, constraints=tuple(c for c in result.program.constraints if not c.equality))
    assert gap(PROGRAMS["log-sum-exp"], free).refuted
    scaled = dualise(minimise(RIDGE + 2 * lam * loss("log_sum_exp", X @ w - y))).program
    found = gap(PROGRAMS["log-sum-exp"], scaled)
    assert found.refuted or found.bound > 1e-2


def drawn(seed: int) -> Program:
    """Two losses of the table at random arguments, with or without a constraint."""
    rng = random.Random(seed)
    parameters = {
        "epsilon_insensitive": (lam,),
        "squared_epsilon_insensitive": (beta,),
        "huber": (beta,),
        "box": (-lam, beta),
    }
    objective = RIDGE if rng.random() < 0.5 else squared_norm(X @ w - y) / 2 + RIDGE / 9
    for name in rng.sample([n for n in CONJUGATES if n not in ("simplex_entropy", "simplex")], 2):
        factor, own = rng.choice([as_term(1), lam, 1 / beta]), parameters.get(name, ())
        if CONJUGATES[name].vector:
            objective = objective + factor * loss(name, rng.choice([w, X @ w - y]))
        elif name == "box" or rng.random() < 0.5:  # two boxes need not meet
            objective = objective + factor * sum_over(c_, loss(name, w[c_], *own))
        else:
            objective = objective + sum_over(i, factor * loss(name, X[i].T @ w - y[i], *own))
    limit = Constraint(sum_over(c_, w[c_]), beta, MU)
    whole = minimise(objective, *([limit] if rng.random() < 0.5 else []))
    return whole if rng.random() < 0.5 else replace(whole, objective=-objective, maximise=True)


@pytest.mark.parametrize("seed", range(16))
def test_random_programs_have_the_value_of_their_duals(seed: int) -> None:
    try:
        found = gap(drawn(seed), dualise(drawn(seed)).program, seed)
    except SolverError as reason:  # entropies whose arguments cannot all be positive
        assert reason.status == "infeasible"
        return
    assert not found.refuted and (found.bound == 0 if found.grade == "exact-rational" else found.bound < 1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_objective_is_that_of_the_program(name: str) -> None:
    whole, numbers = PROGRAMS[name], data(1)
    compiled, rng = compile_convex(whole, SIZES, numbers), random.Random(0)
    x = np.array([Fraction(rng.randint(1, 9), 7) for _ in range(compiled.qp.q.size)], dtype=object)
    parts = compiled.qp.split(x)

    def here(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        return parts[tensor.name][entry] if tensor in whole.variables else numbers(tensor, entry)

    if "lasso" in name:  # |w| is t with w, -w <= t
        for key in parts:
            if key.startswith("t"):
                parts[key][:] = abs(parts["w"])
    value = evaluate(whole.objective.entry(), SIZES, here, BALL_FUNCTIONS)
    assert agree(compiled.value(x), -value if whole.maximise else value)


def test_the_solver_is_given_the_losses_that_are_evaluated() -> None:
    for name, atom in _ATOMS.items():
        z = [Fraction(2, 3), Fraction(1, 5)]
        value = _VALUES[name]([Ball(v) for v in z])
        assert (
            abs(float(atom(cp.Constant(to_float(np.array(z, dtype=object)))).value) - float(str(value)))
            < 1e-6
        )


def test_points_are_exactly_feasible_and_no_other_point_is_taken() -> None:
    compiled = compile_convex(PROGRAMS["softmax"], SIZES, data(0))
    x = feasible_point(compiled, solve_convex(compiled))
    assert sum(x) == 1 and min(x) >= 0
    moved = feasible_point(compiled, np.array([0.7, 0.5, -0.2]))  # outside
    assert sum(moved) == 1 and min(moved) >= 0


def test_without_a_feasible_point_there_is_no_gap() -> None:
    whole = replace(PROGRAMS["softmax"], constraints=(replace(TOTAL, rhs=as_term(-1)), SIGNS))
    with pytest.raises(SolverError):
        gap(whole, dualise(PROGRAMS["softmax"]).program)
    contradiction = replace(TOTAL, lhs=TOTAL.lhs + TOTAL.lhs, multiplier=Tensor("kappa"))
    whole = replace(PROGRAMS["softmax"], constraints=(TOTAL, contradiction))
    with pytest.raises(NoExactCertificate, match="contradict"):
        feasible_point(compile_convex(whole, SIZES, data(0)), np.full(3, 1 / 3))


def test_a_bound_of_a_norm_needs_its_bound_in_the_dual() -> None:
    for name in ("group lasso", "norm bounded", "rows in balls"):
        result = dualise(PROGRAMS[name])
        assert result.program is not None and len(result.domain) == 1
        wide = tuple(
            replace(c, rhs=2 * c.rhs) if c in result.domain else c for c in result.program.constraints
        )
        wrong = replace(result.program, constraints=wide)
        assert any(gap(PROGRAMS[name], wrong, seed).refuted for seed in range(6))


@pytest.mark.parametrize("bound", [
    Constraint(lam, loss("norm", w), MU),
    Constraint(loss("norm", w), lam, MU, equality=True),
    Constraint(loss("norm", w), w[c_] ** 2, Tensor("kappa", ("D",)), (c_,)),
    Constraint(-loss("norm", w), lam, MU),
    Constraint(loss("norm", stack(c_, w[c_] ** 2)), lam, MU),
    Constraint(loss("squared", sum_over(c_, w[c_])), lam, MU),
])  # fmt: skip
def test_other_constraints_on_norms_are_refused(bound: Constraint) -> None:
    whole = minimise(RIDGE, bound)
    assert not convexity(whole)
    for judge in (dualise, lambda p: compile_convex(p, SIZES, data(0))):
        with pytest.raises(ValueError, match=r"not affine|some values only"):
            judge(whole)


def test_the_dual_of_a_dual_has_the_same_value() -> None:
    for name in ("group lasso", "norm bounded"):
        dual = dualise(PROGRAMS[name]).program
        assert dual is not None and convexity(dual)
        found = gap(dual, dualise(dual).program)
        assert not found.refuted and found.bound < 1e-8


def test_what_is_not_convex_is_not_compiled() -> None:
    for objective in (RIDGE - lam * loss("log_sum_exp", X @ w), RIDGE + loss("log_sum_exp", X @ w) ** 2):
        with pytest.raises(ValueError, match="not shown to be convex"):
            compile_convex(minimise(objective), SIZES, data(0))
    with pytest.raises(ValueError, match="nothing explains"):
        compile_convex(minimise(RIDGE + exp(w[c_])), SIZES, data(0))
    with pytest.raises(ValueError, match="not evaluated here"):
        compile_convex(Program("p", (P,), loss("simplex_entropy", p)), SIZES, data(0))
