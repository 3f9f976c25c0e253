"""Optimal: what is shown to solve a program, what refutes it, and what is left open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from checks.engine.judge import judge
from checks.kinds.examples import Point
from checks.kinds.extremum import Extremum
from checks.kinds.optimal import Optimal
from checks.statement import Given, Malformed
from derivations.calculus.constraint import Raw
from derivations.calculus.gradients import bregman, grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    apply,
    as_term,
    exp,
    log,
    row_softmax,
    size,
    softmax,
    squared_norm,
    sum_over,
)

I, J, K = (Index(name, "N") for name in "ijk")
P, S, X, A = (Tensor(name, ("N",)) for name in "psxa")
p, s, x, a = map(as_term, (P, S, X, A))
NU, LAM, Y, BETA = Tensor("nu"), Tensor("lambda", ("N",)), Tensor("y"), Tensor("beta", positive=True)
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


NU_ = as_term(NU)
HIDDEN = Optimal(
    Program("P", (X,), squared_norm(s) + 0 * squared_norm(x)),
    (Given(X, (I,), as_term(5), ""),),
    as_term(0),
)


def _with(constraint: Constraint, multiplier: Tensor) -> Optimal:
    program = replace(FLAT.program, constraints=(constraint,))
    return replace(FLAT, program=program, multipliers=((multiplier, as_term(0)),))


RIVAL = Point((("N", 2),), ((S, (0, 1)), (BETA, 1), (P, (Fraction(1, 4), Fraction(3, 4)))))


@pytest.mark.parametrize(
    "statement, why",
    [
        (_at(ATTENTION, exp(beta * s[J])), "the solution breaks a constraint"),
        (_at(CLIPPED, a[I]), "the solution breaks a constraint"),
        (replace(_at(ATTENTION, 1 / size("N")), rival=RIVAL), "feasible, and better"),
        (replace(FLAT, only=True, rival=Point((("N", 2),), ((X, (1, -1)),))), "feasible, and as good"),
        (_with(Constraint(as_term(1), as_term(0), NU), NU), "always: the solution breaks a constraint"),
    ],
    ids=["not normalised", "not clipped", "another solution", "not the only one", "nothing is feasible"],
)
def test_a_broken_constraint_or_a_better_point_refutes_it(statement: Optimal, why: str) -> None:
    found = judge(statement)
    assert found.holds is False and (found.counterexample or "").endswith(why)


SQUARE = Optimal(
    Program("P", (X,), sum_over(I, x[I] ** 2) / 2 - sum_over(I, a[I] * x[I])),
    (Given(X, (I,), a[I], ""),),
    sum_over(I, (x[I] - a[I]) ** 2) / 2,
    only=True,
)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (_at(ATTENTION, softmax(J, s[J])), "better"),
        (_at(ATTENTION, softmax(J, Fraction(1001, 1000) * beta * s[J])), "better"),
        (replace(FLAT, only=True), "as good"),
        (_at(SQUARE, Fraction(1001, 1000) * a[I]), "better"),
        (_at(CLIPPED, apply("abs", a[I])), "better"),
    ],
    ids=["temperature", "a little of it", "not the only one", "a little off", "inside the constraints"],
)
def test_a_better_point_is_sought_where_nothing_is_shown(statement: Optimal, why: str) -> None:
    found = judge(statement)
    assert found.holds is False and (found.counterexample or "").endswith(f"feasible, and {why}")


@pytest.mark.parametrize(
    "statement",
    [
        replace(CLIPPED, multipliers=((LAM, -apply("relu", -a[I])),)),
        replace(CLIPPED, multipliers=((LAM, as_term(0)),)),
        replace(CLIPPED, above=CLIPPED.above * 2),
        replace(CLIPPED, above=CLIPPED.above - sum_over(I, a[I])),
        replace(ATTENTION, ranges=()),
    ],
    ids=[
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
        (replace(CLIPPED, multipliers=((LAM, 0),)), "is a formula"),
        (replace(CLIPPED, above=CLIPPED.above + a), "shapes"),
        (replace(FLAT, solution=()), "one value"),
        (replace(FLAT, program=Program("P", (), NU_**2), solution=()), "does not mention its variables"),
        (replace(FLAT, program=Program("P", (X,), NU_**2)), "does not mention its variables"),
        (_with(Constraint(x[I], as_term(1), NU), NU), "the indices of nu"),
        (_with(Constraint(x[I], as_term(1), NU, (I,)), NU), "the indices of nu"),
        (_at(FLAT, x[I]), "mentions x"),
        (replace(FLAT, given=(Given(X, (I,), as_term(0), ""),)), "mentions x"),
        (replace(HIDDEN, given=(Given(S, (I,), x[I] - 1, ""),)), "mentions x"),
        (replace(FLAT, ranges=((A, "> 0"),)), "a range is that of a variable"),
        (replace(ATTENTION, ranges=((P, "> 0"), (P, "> 0"))), "said once"),
        (
            replace(FLAT, program=replace(FLAT.program, objective=loss("entropy", sum_over(I, x[I])))),
            "losses",
        ),
        (replace(FLAT, rival=Point((("N", 1),), ((X, (1,)),))), "the rival is not better"),
        (replace(FLAT, rival=Point((("N", 1),), ((X, (1,)), (Y, 3)))), "occurs nowhere"),
        (replace(CLIPPED, rival=Point((("N", 1),), ((X, (-1,)), (A, (0,))))), "not feasible"),
        (replace(CLIPPED, rival=Point((("N", 1),), ((X, (1,)),))), "gives no value to a"),
        (replace(CLIPPED, rival=Point((), ((X, (1,)),))), "gives no size to N"),
    ],
)
def test_what_says_nothing_is_malformed(statement: Optimal, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        judge(statement)


@pytest.mark.parametrize(
    "energy", [Raw((), Y.scalar**2), grad(as_term(Y) ** 2, Y) ** 2], ids=["raw", "slope"]
)
def test_a_range_reaches_a_variable_wherever_it_stands_or_is_refused(energy) -> None:
    """x = 5 was proved to minimise x² over x > 0: no other x was seen in it."""
    five = (Given(Y, (), as_term(5), ""),)
    with pytest.raises(Malformed, match="without derivatives"):
        judge(Optimal(Program("P", (Y,), energy), five, as_term(0), ranges=((Y, "> 0"),)))


def test_a_stacked_variable_is_malformed() -> None:
    both, at = Tensor("q", ("N{+}M",)), Index("i", "N{+}M")
    far = squared_norm(as_term(both))
    with pytest.raises(Malformed, match="indexed with"):
        judge(Optimal(Program("P", (both,), far), (Given(both, (at,), as_term(0), ""),), far))


def test_what_is_printed_of_other_shapes_is_refuted() -> None:
    found = judge(replace(FLAT, program=replace(FLAT.program, objective=sum_over(I, x[I]) + x)))
    assert found.holds is False and "shapes do not agree" in (found.counterexample or "")


def test_a_certificate_that_is_not_shown_is_no_step_that_passed() -> None:
    """elu1(v) = relu(v) + exp(-relu(-v)), which no normal form shows."""
    y, v = as_term(Y), as_term(NU)
    same = apply("relu", v) + exp(-apply("relu", -v))
    zero = (Given(Y, (), as_term(0), ""),)
    found = judge(Optimal(Program("P", (Y,), y**2 * apply("elu1", v)), zero, y**2 * same))
    assert found.holds is None
    assert [s["passed"] for s in found.steps if s["title"] == "certificate"] == [None]


def test_a_search_among_products_of_exponentials_ends() -> None:
    """Exact sums of exponentials grew without bound: balls decide signs."""
    q, w = as_term(Tensor("q", ("N", "D"))), Tensor("w", ("N", "D"))
    attention = row_softmax(q @ q.T)
    twice = attention @ (attention @ q)
    found = judge(Extremum(squared_norm(as_term(w) - twice), w, twice, "a global minimum"))
    assert found.holds is None
    assert judge(Extremum(squared_norm(as_term(w) - twice), w, twice / 2, "a global minimum")).holds is False
