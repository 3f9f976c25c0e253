"""Optimal: what is shown to solve a program, what refutes it, and what is left open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from checks.engine.judge import judge
from checks.kinds.examples import Point
from checks.kinds.optimal import Optimal
from checks.statement import Given, Malformed
from derivations.calculus.gradients import bregman
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import apply, as_term, exp, log, size, softmax, squared_norm, sum_over

I, J, K = (Index(name, "N") for name in "ijk")
P, S, X, A = (Tensor(name, ("N",)) for name in "psxa")
p, s, x, a = map(as_term, (P, S, X, A))
NU, LAM, BETA = Tensor("nu"), Tensor("lambda", ("N",)), Tensor("beta", positive=True)
beta, one = as_term(BETA), as_term(1)

ENTROPY = Program(
    "P",
    (P,),
    sum_over(J, p[J] * log(p[J])) / beta - sum_over(J, s[J] * p[J]),
    (Constraint(sum_over(J, p[J]), one, NU, equality=True),),
)
SOFTMAX = softmax(J, beta * s[J])
MULTIPLIER = (log(sum_over(K, exp(beta * s[K]))) - 1) / beta
ATTENTION = Optimal(
    ENTROPY,
    (Given(P, (J,), SOFTMAX, ""),),
    sum_over(J, bregman("exp", log(SOFTMAX), log(p[J]))) / beta,
    ((NU, MULTIPLIER),),
    only=True,
    ranges=((P, "> 0"),),
)
CLIPPED = Optimal(
    Program("P", (X,), squared_norm(x - a) / 2, (Constraint(-x[I], as_term(0), LAM, (I,)),)),
    (Given(X, (I,), apply("relu", a[I]), ""),),
    sum_over(I, (x[I] - apply("relu", a[I])) ** 2) / 2,
    ((LAM, apply("relu", -a[I])),),
    only=True,
)
FLAT = Optimal(
    Program("P", (X,), sum_over(I, x[I]) ** 2),
    (Given(X, (I,), as_term(0), ""),),
    sum_over(I, x[I]) ** 2,
)


@pytest.mark.parametrize("statement", [ATTENTION, CLIPPED, FLAT], ids=["softmax", "ramp", "one of many"])
def test_multipliers_show_a_solution_and_every_mutant_is_rejected(statement: Optimal) -> None:
    found = judge(statement)
    assert found.proved and found.mutants.tried and not found.mutants.survivors
    titles = [step["title"] for step in found.steps]
    assert titles[-2:] == ["certificate", "sign"] and titles.count("feasible") == len(statement.multipliers)


def _at(statement: Optimal, value) -> Optimal:
    return replace(statement, solution=(replace(statement.solution[0], value=value),))


RIVAL = Point((("N", 2),), ((S, (0, 1)), (BETA, 1), (P, (Fraction(1, 4), Fraction(3, 4)))))


@pytest.mark.parametrize(
    "statement, why",
    [
        (_at(ATTENTION, exp(beta * s[J])), "the solution breaks a constraint"),
        (_at(CLIPPED, a[I]), "the solution breaks a constraint"),
        (replace(_at(ATTENTION, 1 / size("N")), rival=RIVAL), "feasible, and better"),
        (replace(FLAT, only=True, rival=Point((("N", 2),), ((X, (1, -1)),))), "feasible, and as good"),
    ],
    ids=["not normalised", "not clipped", "another solution", "not the only one"],
)
def test_a_broken_constraint_or_a_better_point_refutes_it(statement: Optimal, why: str) -> None:
    found = judge(statement)
    assert found.holds is False and (found.counterexample or "").endswith(why)


@pytest.mark.parametrize(
    "statement",
    [
        _at(ATTENTION, softmax(J, s[J])),
        replace(FLAT, only=True),
        replace(CLIPPED, multipliers=((LAM, -apply("relu", -a[I])),)),
        replace(CLIPPED, multipliers=((LAM, as_term(0)),)),
        replace(CLIPPED, above=CLIPPED.above * 2),
        replace(CLIPPED, above=CLIPPED.above - sum_over(I, a[I])),
        replace(ATTENTION, ranges=()),
    ],
    ids=[
        "another temperature",
        "not seen to be the only one",
        "a negative multiplier",
        "a multiplier that is missed",
        "another distance",
        "no sign",
        "a logarithm of anything",
    ],
)
def test_what_the_certificate_does_not_show_is_open(statement: Optimal) -> None:
    try:
        assert judge(statement).holds is None
    except Malformed as error:
        assert "positive" in str(error)


@pytest.mark.parametrize(
    "statement, why",
    [
        (replace(CLIPPED, multipliers=()), "each constraint's multiplier has one value"),
        (replace(FLAT, solution=()), "one value"),
        (_at(FLAT, x[I]), "mentions x"),
        (replace(FLAT, given=(Given(X, (I,), as_term(0), ""),)), "mentions x"),
        (replace(FLAT, ranges=((A, "> 0"),)), "a range is that of a variable"),
        (
            replace(FLAT, program=replace(FLAT.program, objective=loss("entropy", sum_over(I, x[I])))),
            "losses",
        ),
        (replace(FLAT, rival=Point((("N", 1),), ((X, (1,)),))), "the rival is not better"),
        (replace(CLIPPED, rival=Point((("N", 1),), ((X, (-1,)), (A, (0,))))), "not feasible"),
    ],
)
def test_what_says_nothing_is_malformed(statement: Optimal, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        judge(statement)
