"""Corrections that hold whatever the printed sides are, each beside one that says something."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Grows
from checks.kinds.examples import Point
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram
from checks.kinds.follows import Equation, Follows
from checks.kinds.gaussian import GaussianMean
from checks.kinds.implication import Implication, Use
from checks.kinds.inequality import AtLeast
from checks.kinds.limit import ETA, Limit
from checks.kinds.normal_mean import NormalMean
from checks.kinds.optimal import Optimal
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.kinds.programs import Dual, WellPosed
from checks.kinds.stacked import Stacked
from checks.kinds.stationary import Stationary
from checks.kinds.unbounded import Bounded, Ray
from checks.run.repair import repair_of
from checks.statement import Definition, Fact, Given, Identity, Statement, tensors_of
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.maxima import maximum
from derivations.calculus.program import Constraint, Program
from derivations.calculus.psd import Features, Multiple, Plus
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    exp,
    eye,
    hadamard,
    size,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
    zeros,
)

X, R, i = Tensor("x", ()), Tensor("r", ()), Index("i", "n")
x, y, q = as_term(X), as_term(Tensor("y", ())), as_term(Tensor("x", (), positive=True))
WRONG = Identity(x + y, 2 * x)
CUBE = Fact("c", (x + y - 2 * x) ** 3, "=")
WHERE = tuple(Point((), ((X, n), (Tensor("y", ()), n))) for n in (1, 2, 3))


def relu(number: Term) -> Term:
    return apply("relu", number)


SQUARE, SUM = (x + y) ** 2, x**2 + y**2
S, k, a, POINTS = Tensor("s"), Index("k", "n"), Index("a", "d"), Tensor("p", ("n", "d"))
m = Index("m", "n")
q_s, ROWS = as_term(S), as_term(POINTS)
SQUARED, NONE, HALF = Identity(SQUARE, SUM), as_term(0), as_term(Fraction(1, 2))
V, C = (as_term(Tensor(name, ("n", "n"))) for name in "VC")
B, U, W = as_term(Tensor("b")), Tensor("u", ("n",)), Tensor("w", ("n",))
u, w, v = as_term(U), as_term(W), as_term(Tensor("v", ("n",)))
LEAST = Extremum((x - y) ** 2, X, B, "a global minimum", (x - y) ** 2)
RESTS = Stationary((x - y) ** 2, X, B)
GOES = Limit(X, x - as_term(ETA) * (x - y), B, rate=1 - as_term(ETA), high=Fraction(2))
AT_ZERO = (Given(Tensor("b"), (), as_term(0), ""),)
MEAN = NormalMean(exp(w.T @ u), W, exp(squared_norm(u)))
t, z = sp.symbols("t z", real=True)
PLAIN = GaussianMean(sp.exp(t * z), z, sp.exp(t**2))
NEAR = Order(exp(x), 1 + x, X, 3)
BELOW = AtLeast(SUM, 3 * x * y, SUM - 3 * x * y)
SIGNED = Implication(
    (Fact("h", x, ">="),), Fact("c", x - y, ">="), (), (), (("x", Fraction(0)), ("y", Fraction(1)))
)
ZERO = tuple(Point((), ((X, n), (Tensor("y", ()), 0))) for n in (1, 2, 3))
ONE = tuple(Point((), ((X, n), (Tensor("y", ()), 1 - n))) for n in (1, 2, 3))
IF_ZERO = (Equation(y, NONE, R),)


DOT, LINEAR = ROWS[i].T @ ROWS[k], Features(ROWS[i][a], i, a)
FALLS = Bounded(Program("p", (X,), -(x**2)), Ray(Tensor("t"), ((X, (), as_term(Tensor("t"))),), as_term(1)))
LINE = WellPosed(Program("p", (X,), y * x), (X,), tuple(tensors_of(B)))
ROUND = ConvexProgram(
    Program("p", (X,), x**2, (Constraint(x**2, as_term(1), Tensor("lambda"), equality=True),)),
    one=(("x", Fraction(1)),),
    other=(("x", Fraction(-1)),),
)


TOTAL = (Assign(S, (), sum_over(i, w[i] * u[i])),)
COUNT = Cost("the sum", TOTAL, "2*n", w.T @ u, sizes=("n",))
POINT_OF = Optimal(
    Program("p", (U,), squared_norm(u - v)),
    (Given(U, (i,), w[i], ""),),
    squared_norm(u - w),
    rival=Point((("n", 1),), ((U, (0,)), (Tensor("v", ("n",)), (0,)), (W, (1,)))),
)


def _with(constraint: Constraint, multiplier: Term, solution: Term = w[i]) -> Optimal:
    """The same program with a constraint more."""
    program = replace(POINT_OF.program, constraints=(constraint,))
    return replace(
        POINT_OF,
        program=program,
        solution=(Given(U, (i,), solution, ""),),
        above=sum_over(i, (u[i] - solution) ** 2),
        multipliers=((constraint.multiplier, multiplier),),
        rival=None,
    )


LAMBDA, MU = Tensor("lambda", ("n",)), Tensor("mu")

IDLE: dict[str, tuple[Statement, Statement]] = {
    "a bound of a count that is printed as a number": (COUNT, replace(COUNT, printed="n**9", relation="<=")),
    "the order of a count that is printed as a number": (COUNT, replace(COUNT, printed="n**2", relation="O")),
    "the least where nothing else is allowed": (
        POINT_OF,
        _with(Constraint(2 * u[m], 2 * w[m], LAMBDA, (m,), equality=True), v[m] - w[m]),
    ),
    "what is printed, times a symbol of its own that is said to be positive": (
        AtLeast(x, y),
        Implication(
            (Fact("h", q_s * (x - y), ">="), Fact("k", q_s, ">")),
            Fact("c", x - y, ">="),
            (("h", as_term(1)),),
            (("k", Fraction(1)),),
        ),
    ),
    "what is printed from both sides": (
        Identity(x, y),
        Implication(
            (Fact("h", x - y, ">="), Fact("k", y - x, ">=")),
            Fact("c", -((x - y) ** 2), ">="),
            (("k", x - y),),
        ),
    ),
    "what is printed where squares are zero": (
        AtLeast(x * y, x**2),
        Implication(
            (Fact("h", x**2, "="), Fact("k", y**2, "=")),
            Fact("c", x * y - x**2, ">="),
            (("h", as_term(Fraction(-3, 2))), ("k", -HALF)),
            rest=(x + y) ** 2 / 2,
        ),
    ),
    "what is printed where the sum of squares is zero": (
        AtLeast(x * y - x**2, q_s**2),
        Implication(
            (Fact("h", x**2 + y**2, "="), Fact("k", q_s**2, "=")),
            Fact("c", x * y - x**2 - q_s**2, ">="),
            (("h", as_term(Fraction(-3, 2))), ("k", as_term(-1))),
            rest=HALF * (x + y) ** 2 + y**2,
        ),
    ),
    "a bound of a number that is defined to be above it": (
        AtLeast(x, y),
        AtLeast(x, y, given=(Given(X, (), y + q_s**2, ""),)),
    ),
    "what is printed, times what is never 0, in equations": (
        WRONG,
        Follows((Equation((x - y) * (1 + x**2), NONE, R),), x + y, 2 * x, -as_term(R) / (1 + x**2), WHERE),
    ),
    "what is printed, times what is never 0, in equations of arrays": (
        Identity(u, w),
        Follows(
            (Equation((1 + x**2) * u, (1 + x**2) * w, Tensor("r", ("n",))),),
            *(u, w, as_term(Tensor("r", ("n",))) / (1 + x**2)),
            tuple(Point((("n", 1),), ((U, (k,)), (W, (k,)), (X, k))) for k in (1, 2, 3)),
        ),
    ),
    "what is printed, times what is never 0 on both sides": (
        WRONG,
        Follows(
            (Equation(x * (1 + x**2), y * (1 + x**2), R),), x + y, 2 * x, -as_term(R), WHERE, factor=1 + x**2
        ),
    ),
    "a product of matrices, grouped otherwise": (
        Identity(V @ (C @ (V - V @ C)), V),
        Identity(V @ (C @ (V - V @ C)), V @ C @ (V - V @ C)),
    ),
    "the left side, times the right one over itself": (Identity(y, x), Identity(y, y * x / x, nonzero=(X,))),
    "the right side, times the left one over it": (
        WRONG,
        Identity(x + y, 2 * x * ((x + y) / (2 * x)), nonzero=(X,)),
    ),
    "the square of a side as a product": (Identity(x**2 + y, x + y**2), Identity(x**2 + y, y + x * x)),
    "what is printed at one point": (
        Identity(x * y, x + y),
        Implication(
            (Fact("h", x, "="), Fact("g", y, "=")),
            Fact("c", x * y - x - y, "="),
            (("h", y - 1), ("g", as_term(-1))),
        ),
    ),
    "what is printed at one point, which one half of the hypotheses would do for": (
        SQUARED,
        Implication(
            (Fact("h", x - 1, "="), Fact("g", y, "=")), Fact("c", SQUARE - SUM, "="), (("g", 2 * x),)
        ),
    ),
    "another mean, with what is printed times 0 beside it": (
        NormalMean(exp(x * y), X, exp(y**2)),
        NormalMean(exp(x * y) * 0 + x, X, NONE),
    ),
    "another mean, with what is printed times a difference that is 0": (
        NormalMean(exp(x * y), X, exp(y**2)),
        NormalMean(exp(x * y) * (y - y) + x, X, NONE),
    ),
    "the square of what is printed": (
        Identity(x, y),
        Implication((Fact("h", (x - y) ** 2, "="),), Fact("c", (x - y) ** 4, "="), (("h", (x - y) ** 2),)),
    ),
    "the sum of the squares of what is printed": (
        Identity(u[i], w[i]),
        Follows(
            (Equation(squared_norm(u - w), NONE, R),),
            u[i],
            w[i],
            as_term(R),
            tuple(Point((("n", 1),), ((U, (n,)), (W, (n,)))) for n in (1, 2, 3)),
            over=(i,),
        ),
    ),
    "what is printed in two pieces": (
        Identity(x**2 + y, x + y**2),
        Implication(
            (Fact("h", x**2 - x - B, "="), Fact("g", B - y**2 + y, "=")),
            Fact("c", x**2 + y - x - y**2, "="),
            (("h", as_term(1)), ("g", as_term(1))),
        ),
    ),
    "each summand, in two halves": (
        Identity(sum_over(i, u[i]), sum_over(i, w[i])),
        Implication(
            (Fact("h", u[k] - w[k], "="),),
            Fact("c", sum_over(i, u[i]) - sum_over(i, w[i]), "="),
            (Use("h", HALF, over=(k,)), Use("h", HALF, over=(k,))),
        ),
    ),
    "each summand, in two halves with other letters": (
        Identity(sum_over(i, u[i]), sum_over(i, w[i])),
        Implication(
            (Fact("h", u[k] - w[k], "="),),
            Fact("c", sum_over(i, u[i]) - sum_over(i, w[i]), "="),
            (Use("h", HALF, over=(k,)), Use("h", HALF, ((k, m),), (m,))),
        ),
    ),
    "each summand, and another hypothesis 0 times": (
        Identity(sum_over(i, u[i]), sum_over(i, w[i])),
        Implication(
            (Fact("h", u[k] - w[k], "="), Fact("g", q_s, "=")),
            Fact("c", sum_over(i, u[i]) - sum_over(i, w[i]), "="),
            (Use("h", as_term(1), over=(k,)), ("g", y - y)),
        ),
    ),
    "what is printed in another letter": (
        Identity(u[i], w[i]),
        Implication(
            (Fact("h", 2 * u[k] - 2 * w[k], "="), Fact("g", q_s, "=")),
            Fact("c", u[i] - w[i] + q_s, "="),
            (Use("h", HALF, ((k, i),)), ("g", as_term(1))),
        ),
    ),
    "the slope of a side": (Identity(x**2 + y, x + y**2), Identity(grad(x**2 + y, X), 2 * x)),
    "a sum of the same number": (WRONG, Identity(sum_over(i, x + y), size("n") * (x + y))),
    "the number as ramps": (WRONG, Identity(x + y, relu(x + y) - relu(-(x + y)))),
    "what a side takes to compute": (
        WRONG,
        Cost("q", (Assign(Tensor("q"), (), 2 * x),), "1", 2 * x, sizes=("n",)),
    ),
    "what follows where it holds": (
        WRONG,
        Implication((Fact("h", x + y - 2 * x, "="),), CUBE, (("h", (x + y - 2 * x) ** 2),)),
    ),
    "what follows where it holds, as equations": (
        WRONG,
        Follows((Equation(2 * y, 2 * x, R),), y**2, x**2, as_term(R) * (x + y) / 2, WHERE),
    ),
    "a derivative of the side times a number": (
        SQUARED,
        Identity(grad(sum_over(i, SQUARE * u[i]), U)[i], SQUARE),
    ),
    "where a fixed point goes": (
        SQUARED,
        Limit(Tensor("z"), SQUARE + 0 * as_term(Tensor("z")), SQUARE, rate=NONE, high=Fraction(1)),
    ),
    "an order that any number has": (SQUARED, Order(SQUARE * q_s, SUM * q_s, S, 1)),
    "where any number is nearest": (
        SQUARED,
        Extremum((q_s - SQUARE) ** 2, S, SQUARE, "the only global minimum", (q_s - SQUARE) ** 2),
    ),
    "what is bounded by itself": (SQUARED, Bounded(Program("p", (X,), SQUARE), None, NONE, SQUARE)),
    "the dual of a side": (SQUARED, Dual(Program("p", (X,), SUM), ())),
    "a kernel that vanishes": (
        Positive(-ROWS[i].T @ ROWS[k], POINTS, i, k, "R^d"),
        Positive(
            0 * ROWS[i].T @ ROWS[k], POINTS, i, k, "R^d", (), Multiple(NONE, Features(ROWS[i][a], i, a))
        ),
    ),
    "a kernel that is one number": (
        Positive(DOT - 1, POINTS, i, k, "R^d"),
        Positive(as_term(1), POINTS, i, k, "R^d", (), Features(as_term(1), i)),
    ),
    "a program without its variable": (FALLS, Bounded(Program("p", (X,), x - x + y), None, y, NONE)),
    "another program": (ROUND, ConvexProgram(Program("p", (X,), x))),
    "what halves the distance to a side": (
        SQUARED,
        Limit(
            Tensor("z"),
            (as_term(Tensor("z")) + SQUARE) / 2,
            SQUARE,
            rate=as_term(Fraction(1, 2)),
            high=Fraction(1),
        ),
    ),
    "a step to the limit": (GOES, Limit(X, B + 0 * x, B, rate=NONE, high=Fraction(2))),
    "no energy at all": (LEAST, Extremum(0 * (x - y) ** 2, X, B, "a global minimum", NONE)),
    "the energy taken off": (
        LEAST,
        Extremum((x - y) ** 2 + (x - B) ** 2 - (x - y) ** 2, X, B, "a global minimum", (x - B) ** 2),
    ),
    "the energy times a square": (RESTS, Stationary((x - B) ** 2 * (x - y) ** 2, X, B)),
    "a mean of the value itself": (
        MEAN,
        NormalMean(exp(squared_norm(u)) + apply("sin", w.T @ u), W, exp(squared_norm(u))),
    ),
    "a mean of the value times a square": (PLAIN, GaussianMean(sp.exp(t**2) * z**2, z, sp.exp(t**2))),
    "a mean of something else": (PLAIN, GaussianMean(z**2 + t * z, z, sp.Integer(1))),
    "the same with what is small": (NEAR, Order(exp(x) + x**3, exp(x), X, 3)),
    "the difference and what is small": (NEAR, Order(exp(x), 1 + x + (exp(x) - 1 - x) + x**3, X, 3)),
    "what is small alone": (NEAR, Order(x**3, 0 * x, X, 3)),
    "a bound on the side's square": (BELOW, AtLeast(SUM**2, NONE, SUM**2)),
    "a bound on other things": (AtLeast(x, y, x - y), AtLeast(x**2, -(y**2), x**2 + y**2)),
    "that zero is not negative": (
        SIGNED,
        Implication((Fact("h", x, ">="),), Fact("c", 0 * (x - y), ">="), (("h", NONE),)),
    ),
    "what the cube gives": (
        SIGNED,
        Implication(
            (Fact("h", x, ">="), Fact("g", (x - y) ** 3, ">=")),
            Fact("c", (x - y) ** 3 + x, ">="),
            (("h", as_term(1)), ("g", as_term(1))),
        ),
    ),
    "both sides times nothing": (
        SQUARED,
        Follows(IF_ZERO, SQUARE * y, SUM * y, (SQUARE - SUM) * as_term(R), ZERO),
    ),
    "the energy multiplied out": (LEAST, Identity((x - y) ** 2, x**2 - 2 * x * y + y**2)),
    "the resting energy multiplied out": (RESTS, Identity((x - y) ** 2, x**2 - 2 * x * y + y**2)),
    "the energy and a number, multiplied out": (
        LEAST,
        Identity(
            (x - y) ** 2 + q_s, x**2 - 2 * x * y + y**2 + as_term(R), given=(Given(S, (), as_term(R), ""),)
        ),
    ),
    "the energy above itself": (LEAST, AtLeast((x - y) ** 2, x**2 - 2 * x * y + y**2 - 1, as_term(1))),
    "the energy above itself where a number is": (
        RESTS,
        Implication(
            (Fact("h", q_s, ">="),),
            Fact("c", (x - y) ** 2 - x**2 + 2 * x * y - y**2 + q_s * y**2, ">="),
            (("h", y**2),),
        ),
    ),
    "another name, and the printed ones cancel": (Identity(B, x * y), Definition(B, q_s + x * (y - y))),
    "another name, and a definition of nothing in it": (
        Identity(B, x * y),
        Definition(B, q_s, given=(Given(R, (), x - y, ""),)),
    ),
    "the name of something else": (Identity(B, x * y), Definition(B, as_term(S))),
    "a product that is bracketed otherwise": (
        Identity(ROWS.T @ ROWS, ROWS.T),
        Identity((ROWS.T @ ROWS) @ ROWS.T, ROWS.T @ (ROWS @ ROWS.T)),
    ),
    "the factors of the entries in another order": (
        Identity(hadamard(u, w), u),
        Identity(hadamard(u, w), hadamard(w, u)),
    ),
    "the larger of two numbers in another order": (
        Identity(maximum(x, y), x),
        Identity(maximum(x, y), maximum(y, x)),
    ),
    "a bound where both sides vanish": (
        AtLeast(squared_norm(u), sum_over(i, u[i]) ** 2),
        AtLeast(squared_norm(u), sum_over(i, u[i]) ** 2, given=(Given(U, (i,), NONE, ""),)),
    ),
    "a bound that is assumed": (AtLeast(x, y), AtLeast(x, y, given=(Given(Tensor("y", ()), (), x, ""),))),
    "a mean of one number": (MEAN, replace(MEAN, given=(Given(U, (i,), NONE, ""),))),
    "where no energy is left": (
        Stationary((x - y) ** 2 * q_s, X, B),
        Stationary((x - y) ** 2 * q_s, X, B, given=(Given(S, (), NONE, ""),)),
    ),
    "the program to which any number is the answer": (
        SQUARED,
        Optimal(Program("p", (S,), (q_s - SQUARE) ** 2), (Given(S, (), SQUARE, ""),), (q_s - SQUARE) ** 2),
    ),
    "a side and nothing": (SQUARED, Follows(IF_ZERO, SQUARE, SQUARE + y, -as_term(R), ZERO)),
}
LETTERS = [Tensor(name) for name in ("x", "s", "t", "b", "r", "z", "y")]
ALIKE = tuple(Point((), tuple((one, n) for one in (X, S, Tensor("y", ())))) for n in (1, 2, 3))
ONLY_X = tuple(Point((), ((X, n),)) for n in (1, 2, 3))
D = sp.Symbol("D", positive=True)
CHAIN = tuple(Given(one, (), as_term(two), "") for two, one in pairwise(LETTERS))
SQUARE_MATRIX = as_term(Tensor("M", ("n", "n")))
IDLE |= {
    "the equation as a definition, through six names": (WRONG, replace(WRONG, given=CHAIN)),
    "the equation as a definition, of a mean": (
        WRONG,
        replace(WRONG, given=(Given(Tensor("y", ()), (), sum_over(i, x) / size("n"), ""),)),
    ),
    "the equation as a definition, by ramps": (
        WRONG,
        replace(WRONG, given=(Given(Tensor("y", ()), (), relu(x) - relu(-x), ""),)),
    ),
    "the entries as a definition, in another letter": (
        Identity(u[i], w[i]),
        Identity(u[i], w[i], given=(Given(U, (k,), w[k], ""),)),
    ),
    "the arrays as a definition, as blocks": (
        Identity(u, w),
        Stacked(u, w, given=(Given(U, (k,), w[k], ""),)),
    ),
    "the equation as a definition, from nothing": (
        WRONG,
        Follows((), x + y, 2 * x, NONE, ONLY_X, given=(Given(Tensor("y", ()), (), x, ""),)),
    ),
    "what is printed in two pieces, with another multiplier": (
        Identity(x, y),
        Implication(
            (Fact("h", x - y + q_s**2, "="), Fact("g", q_s, "=")),
            Fact("c", x - y, "="),
            (("h", as_term(1)), ("g", -q_s)),
        ),
    ),
    "what is printed in two pieces, as equations": (
        Identity(x, y),
        Follows(
            (Equation(x, q_s, R), Equation(q_s, y, Tensor("t"))),
            x,
            y,
            as_term(R) + as_term(Tensor("t")),
            ALIKE,
        ),
    ),
    "the entries in two pieces": (
        Identity(u[i], w[i]),
        Implication(
            (Fact("h", u[k] - v[k], "="), Fact("g", v[m] - w[m], "=")),
            Fact("c", u[i] - w[i], "="),
            (Use("h", as_term(1), ((k, i),)), Use("g", as_term(1), ((m, i),))),
        ),
    ),
    "an inequality in two pieces": (
        AtLeast(x, y),
        Implication(
            (Fact("h", x - q_s, ">="), Fact("g", q_s - y, ">=")),
            Fact("c", x - y, ">="),
            (("h", as_term(1)), ("g", as_term(1))),
        ),
    ),
    "a bound by any number": (
        Arithmetic((Figure("loss", Fraction(30), "=", Fraction(50)),)),
        Arithmetic((Figure("loss", Fraction(30), "<=", Fraction(1000)),)),
    ),
    "another quantity that grows": (
        Grows("share", 1 / D, D, ((D, (1, 2)),)),
        Grows("share", D**2, D, ((D, (1, 2)),)),
    ),
    "a product with a unit matrix in it": (
        Identity(SQUARE_MATRIX @ SQUARE_MATRIX, SQUARE_MATRIX),
        Identity(SQUARE_MATRIX @ SQUARE_MATRIX, (SQUARE_MATRIX @ eye("n")) @ SQUARE_MATRIX),
    ),
    "a product with nothing added in it": (
        Identity(SQUARE_MATRIX @ SQUARE_MATRIX, SQUARE_MATRIX),
        Identity(SQUARE_MATRIX @ SQUARE_MATRIX, (SQUARE_MATRIX + zeros("n", "n")) @ SQUARE_MATRIX),
    ),
    "a transpose of a transpose": (Identity(V.T, V), Identity(V.T.T, V)),
    "a product that is printed in other factors, grouped otherwise": (
        Identity((u @ v.T) @ w, w * 2),
        Identity((u @ v.T) @ w, u * (v.T @ w)),
    ),
    "rows that are printed, for a multiple": (
        Identity(C @ u, x * u),
        Follows(
            (Equation(C @ v, x * v, Tensor("r", ("n",))), Equation(u, 2 * v, Tensor("t", ("n",)))),
            C @ u,
            x * u,
            2 * as_term(Tensor("r", ("n",))) + (C - x * eye("n")) @ as_term(Tensor("t", ("n",))),
            tuple(
                Point((("n", 1),), ((Tensor("C", ("n", "n")), ((n,),)), (X, n), (U, (2,)), (v.data, (1,))))
                for n in (1, 2, 3)
            ),
        ),
    ),
}
OFFERED: dict[str, tuple[Statement, Statement]] = {
    "what is printed where one number is 0": (
        SQUARED,
        Implication((Fact("h", x, "="),), Fact("c", SQUARE - SUM, "="), (("h", 2 * y),)),
    ),
    "a product grouped otherwise, with the right letter": (
        Identity((u @ v.T) @ w, u * (u.T @ w)),
        Identity((u @ v.T) @ w, u * (v.T @ w)),
    ),
    "where two matrices commute": (
        Identity((V + C) @ (V + C), V @ V + 2 * (V @ C) + C @ C),
        Follows(
            (Equation(V @ C, C @ V, Tensor("r", ("n", "n"))),),
            (V + C) @ (V + C),
            V @ V + 2 * (V @ C) + C @ C,
            -as_term(Tensor("r", ("n", "n"))),
            tuple(Point((("n", 1),), ((V.data, ((n,),)), (C.data, ((1,),)))) for n in (1, 2, 3)),
        ),
    ),
    "what the square is where its place vanishes": (
        Identity((x - B) ** 2, x**2),
        Identity((x - B) ** 2, x**2, given=AT_ZERO),
    ),
    "where both are powers of a number": (
        Identity(x * y, B),
        Implication(
            (Fact("h", x - q_s, "="), Fact("g", y - q_s, "="), Fact("f", B - q_s**2, "=")),
            Fact("c", x * y - B, "="),
            (("h", y), ("g", q_s), ("f", as_term(-1))),
        ),
    ),
    "the number itself": (
        Arithmetic((Figure("loss", Fraction(30), "=", Fraction(50)),)),
        Arithmetic((Figure("loss", Fraction(30), "=", Fraction(30)),)),
    ),
    "the printed bound from the other side": (
        Arithmetic((Figure("loss", Fraction(30), ">=", Fraction(50)),)),
        Arithmetic((Figure("loss", Fraction(30), "<=", Fraction(50)),)),
    ),
    "a quantity that falls": (
        Grows("share", 1 / D, D, ((D, (1, 2)),)),
        Grows("share", -1 / D, D, ((D, (1, 2)),)),
    ),
    "a kernel plus a number": (
        Positive(DOT - 1, POINTS, i, k, "R^d"),
        Positive(DOT + 1, POINTS, i, k, "R^d", (), Plus((LINEAR, Features(as_term(1), i)))),
    ),
    "a number that is no less than nothing": (
        Positive(as_term(S), POINTS, i, k, "R^d", ((S, "real"),)),
        Positive(as_term(S), POINTS, i, k, "R^d", ((S, ">= 0"),), Multiple(q_s, Features(as_term(1), i))),
    ),
    "a program the other way up": (FALLS, Bounded(Program("p", (X,), x**2), None, NONE, x**2)),
    "another letter in a program": (LINE, WellPosed(Program("p", (X,), B * x), (X,), tuple(tensors_of(B)))),
    "a program without what bends it": (ROUND, ConvexProgram(Program("p", (X,), x**2))),
    "where two numbers vanish": (
        Identity(x**2 + y, x - y),
        Implication(
            (Fact("h", x**2 - x, "="), Fact("g", y, "=")),
            Fact("c", x**2 + y - x + y, "="),
            (("h", as_term(1)), ("g", as_term(2))),
        ),
    ),
    "where it may be divided by": (Identity(x * y / x, y), Identity(x * y / x, y, nonzero=(X,))),
    "a product that is multiplied out": (
        Identity((x + y) ** 2, x + y),
        Identity((x + y) ** 2, x * (x + 2 * y) + y * y),
    ),
    "what follows elsewhere": (
        Identity(x**2, x * y),
        Implication((Fact("h", x - y, "="),), Fact("c", x**2 - x * y, "="), (("h", x),)),
    ),
    "where the minimum is": (LEAST, Extremum((x - y) ** 2, X, y, "a global minimum", (x - y) ** 2)),
    "what the energy is above": (LEAST, AtLeast((x - y) ** 2, NONE, (x - y) ** 2)),
    "a name, by way of others": (
        Identity(B, x * y),
        Definition(B, q_s, given=(Given(S, (), 2 * as_term(R), ""), Given(R, (), x - y, ""))),
    ),
    "what all are, of two": (
        Identity(u[i], u[m] + q_s),
        Implication(
            (Fact("h", u[k] - q_s, "="),),
            Fact("c", u[i] - u[m], "="),
            (Use("h", as_term(1), ((k, i),)), Use("h", as_term(-1), ((k, m),))),
        ),
    ),
    "where the energy rests": (RESTS, Stationary((x - y) ** 2, X, y)),
    "what the energy is without its place": (LEAST, Identity((x - B) ** 2, x**2, given=AT_ZERO)),
    "where it goes": (GOES, Limit(X, x - as_term(ETA) * (x - y), y, rate=1 - as_term(ETA), high=Fraction(2))),
    "half the square": (MEAN, NormalMean(exp(w.T @ u), W, exp(squared_norm(u) / 2))),
    "half of it": (PLAIN, GaussianMean(sp.exp(t * z), z, sp.exp(t**2 / 2))),
    "an order less": (NEAR, Order(exp(x), 1 + x, X, 2)),
    "a bound with the right factor": (BELOW, AtLeast(SUM, 2 * x * y, (x - y) ** 2)),
    "a sign more": (
        SIGNED,
        Implication(
            (Fact("h", x, ">="), Fact("g", -y, ">=")),
            Fact("c", x - y, ">="),
            (("h", as_term(1)), ("g", as_term(1))),
        ),
    ),
    "a bound where one number is a square": (
        AtLeast(x * y**2, x * y),
        AtLeast(x * y**2, x * y, ((y - 1) * y) ** 2, (Given(X, (), (y - 1) * y, ""),)),
    ),
    "a bound times a number that is printed": (
        AtLeast(x * q_s, y * q_s),
        Implication(
            (Fact("h", x - y, ">="), Fact("k", q_s, ">=")), Fact("c", q_s * (x - y), ">="), (("h", q_s),)
        ),
    ),
    "the count as a bound": (COUNT, replace(COUNT, relation="<=")),
    "the least where the sum is given": (
        POINT_OF,
        _with(
            Constraint(sum_over(i, u[i]), x, MU, equality=True),
            2 * (sum_over(m, v[m]) - x) / size("n"),
            v[i] - (sum_over(m, v[m]) - x) / size("n"),
        ),
    ),
    "the name of a sum": (Identity(B, x * y), Definition(B, x + y)),
    "where one is zero": (SQUARED, Follows(IF_ZERO, SQUARE, SUM, 2 * x * as_term(R), ZERO)),
    "what follows where the sum is one": (
        Identity((x + y) ** 2, x + y),
        Follows((Equation(x + y, as_term(1), R),), (x + y) ** 2, x + y, as_term(R) * (x + y), ONE),
    ),
    "a bound on the square of a sum": (
        Identity((x + y) ** 2, x + y),
        AtLeast((x + y) ** 2, 2 * (x + y) - 1, (x + y - 1) ** 2),
    ),
    "what it is that is printed": (Identity(relu(q), -q), Identity(relu(q), q)),
    "what remains of the quotient": (
        Identity(x * y / x, -y, nonzero=(X,)),
        Identity(x * y / x, y, nonzero=(X,)),
    ),
    "a ramp is no less": (Identity(relu(x + y), x + y), AtLeast(relu(x + y), x + y, relu(-(x + y)))),
    "where the root is the number": (Identity(sqrt(x**2), x), Identity(sqrt(q**2), q)),
}


@pytest.mark.parametrize("name", [*IDLE, *OFFERED])
def test_a_correction_that_holds_for_any_sides_repairs_nothing(name: str) -> None:
    printed, repair = {**IDLE, **OFFERED}[name]
    assert judge(printed).holds is False and judge(repair).holds is True
    assert repair_of(printed, repair) == ("idle" if name in IDLE else "offered")


SOUGHT = [n for n, (_, repair) in IDLE.items() if isinstance(repair, Implication)]


@pytest.mark.parametrize("name", SOUGHT)
def test_a_certificate_that_is_found_makes_no_repair_of_what_is_none(name: str) -> None:
    printed, repair = IDLE[name]
    assert isinstance(repair, Implication)
    bare = replace(repair, multipliers=(), factor=(), rest=None)
    assert repair_of(printed, bare) == "idle" or not judge(bare).holds


def test_what_cannot_be_looked_into_is_no_error() -> None:
    """A correction that fits together nowhere, rows that move, a point that has no values for what may be
    anything.
    """
    misfit = as_term(Tensor("M", ("n", "d")))
    for repair in (Identity(trace(C), trace(misfit @ misfit)), AtLeast(x, trace(misfit @ misfit))):
        assert judge(repair).holds is False and repair_of(Identity(trace(C), x), repair, True) == "offered"
    moves = Limit(U, stack(i, u[i] * HALF), zeros("n"), rate=HALF)
    assert repair_of(Limit(U, stack(i, u[i] * 2), zeros("n"), rate=HALF), moves) == "offered"
    square = hadamard(w, w)
    point = Point((("n", 1),), ((W, (2,)),))
    least = squared_norm(u - square)
    placed = Extremum(least, U, square, "the only global minimum", least, witness=point, direction=(1,))
    assert judge(placed).holds and repair_of(Identity(square, w), placed, True) == "idle"
