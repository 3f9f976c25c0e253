"""What an attack on all kinds at once did not get past the engines: edges of size one, hidden symbols, promises of the
variable, directions that leave them, certificates of another system.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Counted, Grows
from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.limit import ETA, Limit
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.kinds.programs import WellPosed
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.kinds.unbounded import Bounded
from checks.statement import Fact
from derivations.calculus import psd
from derivations.calculus.gradients import at_point, bregman, grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    apply,
    as_term,
    diag,
    eye,
    size,
    softmax,
    sqrt,
    squared_norm,
    sum_over,
    zeros,
)
from redteam.pair import Pair

X, Y, Z, A, L = (Tensor(name) for name in ("x", "y", "z", "a", "lambda"))
Q = Tensor("q", positive=True)
U, M, S = Tensor("u", ("n",)), Tensor("M", ("n", "n")), Tensor("S", ("n", "n"), symmetric=True)
x, y, z, a, q, u, m, s = map(as_term, (X, Y, Z, A, Q, U, M, S))
i, j = Index("i", "n"), Index("j", "n")
n, one, eta = size("n"), as_term(1), as_term(ETA)
TINY = Fraction(1, 10**40)
TWO = (("n", 2),)
TURN = ((0, 1), (-1, 0))
AFFINE = ((1, 2), (3, 4))


def call(name, arg):
    return apply(name, arg)


def strict(multiplier):
    """If x > 0, then multiplier x > 0."""
    return Implication((Fact("h", x, ">"),), Fact("c", multiplier * x, ">"), (("h", multiplier),))


def extremum(energy, point, says, variable=X, direction=None, sizes=(), **more):
    witness = None if direction is None else Point(sizes, ())
    return Extremum(energy, variable, as_term(point), says, witness=witness, direction=direction, **more)


def instance(kind, fact, *values):
    return Example((fact,), Point((), values)) if kind is Example else Rule((), fact, Point((), values))


POINTS = Tensor("X", ("N", "d"))
p = as_term(POINTS)
k, l, o, e = Index("i", "N"), Index("j", "N"), Index("k", "N"), Index("a", "d")
LINEAR, DOT = psd.Features(p[o, e], o, e), sum_over(e, p[k, e] * p[l, e])


def kernel(term, certificate, domain="R^d"):
    return Positive(term, POINTS, k, l, domain, (), certificate)


def overlap(sign):
    between = call("abs", p[k, e]) + call("abs", p[l, e]) - call("abs", p[k, e] - sign * p[l, e])
    return kernel(sum_over(e, between), psd.OverCoordinates(psd.Overlap(p[o, e], o), e))


D, T = sp.symbols("D s", positive=True)
WHOLE_S = sp.Symbol("s", positive=True, integer=True)
t = sp.Symbol("n", positive=True, integer=True)


def recurrence(closed, rule, value):
    return Recurrence(
        sp.sympify(closed), (t,), (Base("b", t, 1, sp.Integer(1)),), rule, "", value, ((1,), (2,), (3,))
    )


def limit(rate, high, *orbit):
    point = Point((), tuple(zip((A, X, ETA), orbit, strict=True))) if orbit else None
    return Limit(X, a + rate * (x - a), a, rate=rate, high=Fraction(high), orbit=point)


def solvable(unknown, equation, *values, sizes=()):
    return Solvable(unknown, (Fact("e", equation, "="),), Point(sizes, values))


def program(objective, *constraints, variables=(X,)):
    return Program(
        "p", variables, objective, tuple(Constraint(*map(as_term, sides), L) for sides in constraints)
    )


OUT, ROW = Tensor("O", ("n", "d")), as_term(Tensor("Y", ("n", "d")))
c = Index("c", "d")
PRODUCT = Assign(OUT, (i, c), sum_over(j, m[i, j] * ROW[j, c]))


def cost(printed, **more):
    return Cost("c", (PRODUCT,), printed, m @ ROW, sizes=("n", "d"), **more)


FA, FU, FV, VALUES = (
    as_term(Tensor(name, dims))
    for name, dims in (("A", ("N", "M")), ("U", ("N", "r")), ("V", ("M", "r")), ("s", ("r",)))
)
R_A, R_U, R_V = Tensor("R_A", ("N", "M")), Tensor("R_U", ("r", "r")), Tensor("R_V", ("r", "r"))
b, g = Index("k", "r"), Index("q", "M")


def gram(unit, residual):
    """A A' = U s² U', where the columns of one factor are orthonormal."""
    d, gap = diag(VALUES), as_term(R_A)
    return Follows(
        (Equation(FA, FU @ d @ FV.T, R_A), Equation(unit.T @ unit, eye("r"), residual)),
        FA @ FA.T,
        FU @ d @ d @ FU.T,
        gap @ FA.T + FU @ d @ FV.T @ gap.T + FU @ d @ as_term(residual) @ d @ FU.T,
        "rational singular value decompositions",
    )


def lengths(*over):
    return Follows((Equation(FV.T @ FV, eye("r"), R_V),), sum_over(*over, FV[g, b] ** 2), size("r"),
                   sum_over(b, as_term(R_V)[b, b]), "rational singular value decompositions")  # fmt: skip


PAIRS = [
    Pair("implication/softmax-of-one", lambda: strict(1 - softmax(i, u[i])), "n = 1: 0", lambda: strict(2 - softmax(i, u[i]))),
    Pair("implication/modulus-as-a-strict-multiplier", lambda: strict(call("abs", y)), "y = 0", lambda: strict(call("abs", y) + TINY)),
    Pair("implication/put-in-and-may-vanish", lambda: strict(at_point(y, Y, a**2)), "a = 0", lambda: strict(at_point(y, Y, a**2 + 1))),
    Pair("differs/clip-by-moduli", lambda: Differs(call("clip", x), (call("abs", x + 1) - call("abs", x - 1)) / 2), "they are equal",
         lambda: Differs(call("clip", x), (call("abs", x + 1) - call("abs", x - 2)) / 2)),
    Pair("differs/nested-roots", lambda: Differs(sqrt(5 + 2 * sqrt(as_term(6))) * q, (sqrt(as_term(2)) + sqrt(as_term(3))) * q),
         "they are equal", lambda: Differs(sqrt(5 + 2 * sqrt(as_term(6))) * q, (sqrt(as_term(2)) + sqrt(as_term(3)) + TINY) * q)),
    Pair("differs/order-of-substitution", lambda: Differs(at_point(at_point(x * y, X, y), Y, x), x**2), "they are equal",
         lambda: Differs(at_point(at_point(x * y, X, y), Y, z), x * y)),
    Pair("extremum/direction-that-leaves-the-promise", lambda: extremum(x**3 - 3 * x, 1, "a global minimum", direction=-1), "x = -3: -18",
         lambda: extremum(q**3 - 3 * q, 1, "a global minimum", Q, -1, above=(q - 1) ** 2 * (q + 2))),
    Pair("extremum/antisymmetric-direction",
         lambda: extremum(sum_over(i, j, m[i, j] * m[j, i]), zeros("n", "n"), "a global minimum", M, TURN, TWO), "M = ((0, 1), (-1, 0)): -2",
         lambda: extremum(sum_over(i, j, s[i, j] * s[j, i]), zeros("n", "n"), "a global minimum", S, TURN, TWO)),
    Pair("extremum/linear-and-convex", lambda: extremum(bregman("F", x, a), a, "the only global minimum", above=bregman("F", x, a), convex=("F",)),
         "F = 0", lambda: extremum(bregman("F", x, a), a, "a global minimum", above=bregman("F", x, a), convex=("F",))),
    Pair("extremum/square-of-a-sum", lambda: extremum(sum_over(i, u[i]) ** 2, zeros("n"), "the only global minimum", U, (1, -1), TWO, above=sum_over(i, u[i]) ** 2),
         "u = (1, -1)", lambda: extremum(sum_over(i, u[i]) ** 2, zeros("n"), "a global minimum", U, (1, -1), TWO, above=sum_over(i, u[i]) ** 2)),
    Pair("order/size-minus-one", lambda: Order(x / (n - 1), x / (n - 1) + x**2, X, 2), "n = 1: no value",
         lambda: Order(x / (n + 1), x / (n + 1) + x**2, X, 2)),
    Pair("order/softmax-without-its-mean", lambda: Order(softmax(i, x * u[i]), 1 / n + x * u[i] / n, X, 2), "n = 2, u = (0, 1)",
         lambda: Order(softmax(i, x * u[i]), 1 / n + x * (u[i] - sum_over(j, u[j]) / n) / n, X, 2)),
    Pair("positive/coordinates-of-a-vector-that-is-not-zero",
         lambda: kernel(sum_over(e, 1 / (p[k, e] * p[l, e])), psd.Features(1 / p[o, e], o, e), "R^d without 0"), "(1, 0) has no value",
         lambda: kernel(1 / (squared_norm(p[k]) * squared_norm(p[l])), psd.Features(1 / squared_norm(p[o]), o), "R^d without 0")),
    Pair("positive/overlap-with-the-mirror-image", lambda: overlap(-1), "x = 1, -1: ((0, 2), (2, 0))", lambda: overlap(1)),
    Pair("positive/power-zero", lambda: kernel(DOT - 1, psd.Plus((LINEAR, psd.Multiple(as_term(-1), psd.Power(LINEAR, 0))))), "x = 0: -1",
         lambda: kernel(DOT + 1, psd.Plus((LINEAR, psd.Features(one, o))))),
    Pair("rule/tanh-near-one", lambda: instance(Rule, Fact("f", 1 - call("tanh", x), "="), (X, 300)), "it is positive",
         lambda: instance(Rule, Fact("f", 1 - call("tanh", x), ">"), (X, 300))),
    Pair("rule/sum-of-squares-that-is-one", lambda: instance(Rule, Fact("f", call("sin", x), ">"), (X, -1)), "sin(-1) < 0",
         lambda: instance(Rule, Fact("f", call("sin", x) ** 2 + call("cos", x) ** 2 - 1, "="), (X, 1))),
    Pair("example/logarithms-that-agree", lambda: instance(Example, Fact("f", call("log", x) - 3 * call("log", y), "!="), (X, 8), (Y, 2)),
         "log 8 = 3 log 2", lambda: instance(Example, Fact("f", call("log", x) - 3 * call("log", y), "!="), (X, 9), (Y, 2))),
    Pair("grows/letter-of-two-symbols", lambda: Grows("g", D * (2 * T - WHOLE_S), D, ((D, (1, 2)), (T, (1, 2)), (WHOLE_S, (1, 2)))),
         "which s", lambda: Grows("g", D * (2 * T + 1), D, ((D, (1, 2)), (T, (1, 2))))),
    Pair("counted/one-row-more", lambda: Counted("c", 2 * D**2, (D,), (1,), lambda v: ((v + 1, v),), lambda v: 2 * v * (v + 1)), "2D more",
         lambda: Counted("c", 4 * D**2, (D,), (1,), lambda v: ((2 * v, v),), lambda v: 4 * v * v)),
    Pair("cost/at-most-from-size-two-on", lambda: cost("n**3*d - n*d", relation="<="), "n = 1: 0",
         lambda: cost("n**3*d - n*d", relation="<=", domain=(("n", "2 + u"),))),
    Pair("recurrence/zero-to-the-zero", lambda: recurrence(1 + sp.Integer(0) ** (t - 1), QUANTITY(t - 1), lambda v: 1), "n = 1: 2",
         lambda: recurrence(1, QUANTITY(t - 1), lambda v: 1)),
    Pair("recurrence/term-that-comes-late", lambda: recurrence(t, QUANTITY(t - 1) + 1 + sp.binomial(t, 60), lambda v: v), "n = 60",
         lambda: recurrence(t, QUANTITY(t - 1) + sp.binomial(t, 0), lambda v: v)),
    Pair("limit/rate-that-touches-minus-one", lambda: limit((eta**2 - 2) ** 2 - 1, "17/10"), "eta = sqrt 2",
         lambda: limit((eta**2 + 2) ** 2 / 100 - 1, "17/10")),
    Pair("limit/orbit-at-the-end-of-the-range", lambda: limit(1 - eta, 3, 0, 1, 2), "eta = 2", lambda: limit(1 - eta, 2, 0, 1, 2)),
    Pair("solvable/symmetric-unknown", lambda: solvable(S, s[i, j] - m[i, j], (M, AFFINE), sizes=TWO), "M is not symmetric",
         lambda: solvable(S, s[i, j] - m[i, j] - m[j, i], (M, AFFINE), sizes=TWO)),
    Pair("solvable/positive-unknown", lambda: solvable(Q, q + call("abs", a), (A, 1)), "q > 0", lambda: solvable(Q, q - 1 - a**2, (A, 1))),
    Pair("convex-program/coefficient-with-a-pole", lambda: ConvexProgram(program(x, (x / a, 1))), "a = 0", lambda: ConvexProgram(program(x, (x / q, 1)))),
    Pair("bounded/by-what-is-put-in", lambda: Bounded(program(x), bound=at_point(y, Y, x)), "x falls without bound",
         lambda: Bounded(program(x**2 + a), bound=at_point(y, Y, a), gap=x**2)),
    Pair("follows/gram-of-the-other-factor", lambda: gram(FU, R_U), "all sizes 1: U = s = 1, V = A = 2: A A' = 4", lambda: gram(FV, R_V)),
    Pair("follows/sum-that-leaves-an-index", lambda: lengths(g), "each column has length 1, not r", lambda: lengths(g, b)),
    Pair("well-posed/constant-that-a-gradient-drops", lambda: WellPosed(program(grad(z * x**2 + a, Z)), (X,), (Z,)), "a is not given",
         lambda: WellPosed(program(grad(z * x**2 + a, Z)), (X,), (Z, A))),
]  # fmt: skip
