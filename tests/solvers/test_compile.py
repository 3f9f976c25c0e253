"""From a symbolic program to numbers: the numbers are those of the program, for every point and every
constraint.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from derivations.calculus import differentiate as df
from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.functions import EXACT_FUNCTIONS
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import as_term, exp, squared_norm, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import SvrAssumptions
from solvers.compile import compile_program
from solvers.exact import NoExactCertificate, infeasibility, solve_exact

SIZES = {svr.N: 3, svr.D: 1, svr.DV: 2, svr.DPHI: 2}
LOSSES = ("epsilon_insensitive", "squared_epsilon_insensitive", "least_squares", "huber")


def lookup(seed: int) -> Callable[[Tensor, tuple[int, ...]], Fraction]:
    return lambda tensor, entry: Fraction(random.Random(f"{seed}{tensor.name}{entry}").randint(1, 9), 4)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", ["primal", "dual"])
@pytest.mark.parametrize("seed", range(1))
def test_objective_and_constraints_at_random_points(loss: str, which: str, seed: int) -> None:
    assumptions = SvrAssumptions(loss=loss)
    program = svr.primal(assumptions) if which == "primal" else svr.dual(assumptions).program
    assert program is not None
    data = lookup(seed)
    qp = compile_program(program, SIZES, data)
    rng = random.Random(seed)
    point = np.array([Fraction(rng.randint(-4, 4), 2) for _ in range(qp.q.size)], dtype=object)
    parts = qp.split(point)

    def here(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        return parts[tensor.name][entry] if tensor in program.variables else data(tensor, entry)

    sign = -1 if program.maximise else 1
    assert qp.value(point) == sign * evaluate(program.objective.entry(), SIZES, here, EXACT_FUNCTIONS)
    upper = qp.split_inequalities(qp.G @ point - qp.h)
    equal = qp.split_equalities(qp.A @ point - qp.b)
    for c in program.constraints:
        rows = (equal if c.equality else upper)[c.multiplier.name]
        for entry in product(*(range(SIZES[i.dim]) for i in c.over)):
            where = dict(zip(c.over, entry, strict=True))
            assert rows[entry] == evaluate(c.excess(), SIZES, here, EXACT_FUNCTIONS, where)


X, S, R = Tensor("x", ("N",)), Tensor("s"), Tensor("r")
i = Index("i", "N")
x, s = as_term(X), as_term(S)


def test_a_maximisation_is_negated() -> None:
    program = Program("p", (X,), -squared_norm(x) + 4 * sum_over(i, x[i]), maximise=True)
    qp = compile_program(program, {"N": 2}, lookup(0))
    best = solve_exact(qp)
    assert list(best.x) == [2, 2] and best.certificate.primal_value == -8


@pytest.mark.parametrize(
    "objective", [sum_over(i, x[i] ** 3), sum_over(i, exp(x[i])), squared_norm(x) * squared_norm(x)]
)
def test_what_is_not_quadratic_is_refused_and_never_truncated(objective: Any) -> None:
    with pytest.raises(ValueError, match="not quadratic"):
        compile_program(Program("p", (X,), objective), {"N": 2}, lookup(0))


def test_a_constraint_that_is_not_affine_is_refused() -> None:
    with pytest.raises(ValueError, match="multiplier r is not affine"):
        compile_program(
            Program("p", (X,), squared_norm(x), (Constraint(squared_norm(x), s, R),)), {"N": 2}, lookup(0)
        )


def test_a_missing_size_or_value_is_named() -> None:
    with pytest.raises(KeyError, match="N"):
        compile_program(Program("p", (X,), squared_norm(x)), {}, lookup(0))

    def nothing(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
        raise KeyError(tensor.name)

    with pytest.raises(KeyError, match="s"):
        compile_program(Program("p", (X,), s * squared_norm(x)), {"N": 1}, nothing)


def test_a_nonconvex_program_gets_no_certificate() -> None:
    with pytest.raises(NoExactCertificate):
        solve_exact(compile_program(Program("p", (X,), -squared_norm(x)), {"N": 2}, lookup(0)))


def test_its_derivatives_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong index route must not reach the numbers."""
    right = df.index_route
    monkeypatch.setattr(df, "index_route", lambda e, t, at: ix.Mul((ix.Num(Fraction(2)), right(e, t, at))))
    odd = Program("p", (Tensor("guarded", ("N",)),), squared_norm(as_term(Tensor("guarded", ("N",)))))
    with pytest.raises(df.DerivativeMismatch):
        compile_program(odd, {"N": 2}, lookup(0))


def test_a_scalar_variable_keeps_its_coefficient_in_a_constraint() -> None:
    """min (z - 10)² subject to z <= 5 has its optimum at 5, and 1 <= z is not infeasible."""
    Z, bound = Tensor("z", ()), Tensor("l", ())
    z = as_term(Z)
    below = compile_program(
        Program("p", (Z,), (z - 10) ** 2, (Constraint(z, as_term(5), bound),)), {}, lookup(0)
    )
    assert below.G.tolist() == [[1]] and solve_exact(below).x.tolist() == [5]
    above = compile_program(Program("p", (Z,), z**2, (Constraint(as_term(1), z, bound),)), {}, lookup(0))
    assert above.G.tolist() == [[-1]] and infeasibility(above) is None


@pytest.mark.parametrize("variable, multipliers, why", [
    (Tensor("z", (), positive=True), "lm", "promised"), (Tensor("z", ()), "ll", "share a multiplier"),
])  # fmt: skip
def test_what_the_numbers_would_lose_is_refused(variable: Tensor, multipliers: str, why: str) -> None:
    rows = tuple(
        Constraint(as_term(variable), as_term(n), Tensor(name, ())) for n, name in enumerate(multipliers)
    )
    with pytest.raises(ValueError, match=why):
        compile_program(Program("p", (variable,), as_term(variable) ** 2, rows), {}, lookup(0))
