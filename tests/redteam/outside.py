"""What a second attack, made from outside, got past the engines: shapes inside formulas, names that collide,
promises that are not kept, stacked dimensions with equal parts, programs whose data are not defined.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Grows
from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.gaussian import GaussianMean
from checks.kinds.implication import Implication
from checks.kinds.limit import ETA, Limit
from checks.kinds.order import Order
from checks.kinds.programs import Convex, Dual, WellPosed
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.kinds.scope import Scoped
from checks.kinds.stacked import Stacked
from checks.kinds.unbounded import Bounded, Ray
from checks.statement import Definition, Fact, Given, Identity, Link
from derivations.calculus import index as ix
from derivations.calculus.functions import EXPONENT
from derivations.calculus.gradients import Differential, at_point, bregman, formula, grad, power_p
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program, Raw
from derivations.calculus.term import (
    Ones,
    Zeros,
    apply,
    as_term,
    diag,
    exp,
    eye,
    row_softmax,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
)
from redteam.pair import Pair

X, Y, Z, A, B, C, L, T = (Tensor(name, (), name) for name in "xyzabclt")
x, y, z, a, b, c, lam, t = map(as_term, (X, Y, Z, A, B, C, L, T))
P_ = Tensor("q", (), positive=True)
p = as_term(P_)
U, V = Tensor("u", ("n",)), Tensor("v", ("n",))
u, v = as_term(U), as_term(V)
M_, S_, R_ = (
    Tensor("M", ("n", "n")),
    Tensor("S", ("n", "n"), symmetric=True),
    Tensor("R", ("n", "n"), symmetric=True),
)
m, s, r = map(as_term, (M_, S_, R_))
i, j, k = Index("i", "n"), Index("j", "n"), Index("k", "m")
n, one, eta = size("n"), as_term(1), as_term(ETA)
PARAMETER = Tensor("t#", (), "t")
ones = Ones((), ("m",))
whole = sp.Symbol("t", nonnegative=True, integer=True)
size_ = sp.Symbol("x", positive=True)
real, w = sp.Symbol("r", real=True), sp.Symbol("w", real=True)
W_ = Tensor("w", ("n",))
TWIN, WIDE = Index("i", "m"), as_term(Tensor("A", ("n", "m")))


def d(term, tensor, direction):
    return Differential((), (as_term(term), tensor, direction, "E"))


def given(tensor, value, at=()):
    return (Given(tensor, at, as_term(value), "r"),)


def rec(closed, base, rule):
    at = sp.Lambda(whole, closed)
    return Recurrence(
        closed, (whole,), (Base("first", whole, 0, sp.sympify(base)),), rule, "b", at, ((0,), (1,), (2,))
    )


def slope(function):
    return rec(function(whole), function(0), QUANTITY(whole - 1) + function(whole) - function(whole - 1))


def cost(term, printed, computes):
    return Cost("w", (Assign(Tensor("E", (), "E"), (), term),), printed, computes, sizes=("n",))


def program(objective, variables, constraints=()):
    return Program("p", tuple(variables), objective, tuple(constraints))


ROWS = (Constraint(-y - x, c, L),)


def dual(objective=x**2 + y, condition=1 - lam, variables=(X, Y), rows=ROWS):
    conditions = condition if isinstance(condition, tuple) else ((variables[1], condition),)
    return Dual(program(objective, variables, rows), conditions)


def minimum(energy, above, direction):
    return Extremum(
        energy,
        X,
        as_term(0),
        "the only global minimum",
        above=above,
        witness=Point((), ()),
        direction=direction,
    )


def two_symbols(shift):
    """f(n, k) = n + k, from f(1, k) and f(n-1, k-shift)."""
    first, second = sp.symbols("n k", positive=True, integer=True)
    rule = QUANTITY(first - 1, second - shift) + 1 + shift
    base = (Base("w", first, 1, 1 + second),)
    cases = ((1, 5), (2, 6), (3, 7))
    return Recurrence(first + second, (first, second), base, rule, "b", lambda a, b: sp.Integer(a + b), cases)


PAIRS = [
    Pair("identity/identity-matrix-on-two-equal-parts", lambda: Identity(squared_norm(eye("n{+}n")), 4 * n), "n = 1: 2, not 4",
         lambda: Identity(squared_norm(eye("n{+}m")), n + size("m"))),
    Pair("stacked/identity-times-ones-on-equal-parts",
         lambda: Stacked(eye("n{+}n") @ Ones((), ("n{+}n",)), 2 * Ones((), ("n{+}n",))), "I 1 = 1",
         lambda: Stacked(eye("n{+}m") @ Ones((), ("n{+}m",)), 1 * Ones((), ("n{+}m",)))),
    Pair("stacked/softmax-of-an-identity-of-two", lambda: Stacked(row_softmax(eye("1{+}1")), Ones((), ("1{+}1", "1{+}1")) / 2),
         "the row (1, 0) has the weights e/(e+1) and 1/(e+1)", lambda: Identity(row_softmax(eye("n"))[i, j], softmax(j, eye("n")[i, j]))),
    Pair("identity/diagonal-matrix-on-equal-parts", lambda: Identity(squared_norm(diag(x * Ones((), ("n{+}n",)))), 4 * n * x**2),
         "n = x = 1: 2", lambda: Identity(squared_norm(diag(x * Ones((), ("n",)))), n * x**2)),
    Pair("differs/softmax-over-a-stacked-index", lambda: Differs(softmax(Index("s", "n{+}m"), one), 1 / (n + size("m"))),
         "they are equal", lambda: Differs(softmax(i, one), 1 / (n + 1))),
    Pair("differs/size-of-a-stacked-dimension", lambda: Differs(Raw((), ix.Dim("n{+}m")), size("n{+}m")), "the same number",
         lambda: Differs(size("n{+}m"), n)),
    Pair("identity/replaced-by-a-longer-vector", lambda: Identity(at_point(squared_norm(u), U, stack(k, x)), n * x**2),
         "n = 2, m = 3, x = 1: 3", lambda: Identity(at_point(squared_norm(u), U, stack(i, x)), n * x**2)),
    Pair("identity/replaced-by-a-larger-matrix", lambda: Identity(at_point(trace(m), M_, eye("m")), n), "n = 2, m = 3: 3",
         lambda: Identity(at_point(trace(m), M_, eye("n")), n)),
    Pair("identity/vector-replaced-by-a-number", lambda: Identity(at_point(squared_norm(u), U, as_term(3)), 9 * n),
         "a vector is no number", lambda: Identity(at_point(squared_norm(u), U, stack(i, 3)), 9 * n)),
    Pair("identity/number-defined-as-a-vector", lambda: Identity(x, one, given=given(X, ones)), "x is no vector",
         lambda: Identity(x, one, given=given(X, Fraction(1)))),
    Pair("identity/chain-through-a-vector", lambda: Identity(n * x, x * n + 0, chain=(Link(ones * n * x, "r"),)),
         "a number is no vector", lambda: Identity(n * x, x * n + 0, chain=(Link(n * x * 1, "r"),))),
    Pair("identity/gradient-of-a-matrix", lambda: Identity(grad(x**2 * Ones((), ("m", "m")), X), 2 * x), "a gradient is of a number",
         lambda: Identity(grad(x**2 * 1, X), 2 * x)),
    Pair("identity/divergence-around-a-vector",
         lambda: Identity(bregman("F", x, ones), apply("F", x) - apply("F", one) - apply("F", one, order=1) * (x - 1)), "x - 1 is no vector",
         lambda: Identity(bregman("F", x, one), apply("F", x) - apply("F", one) - apply("F", one, order=1) * (x - 1))),
    Pair("implication/multiplier-that-is-a-vector", lambda: Implication((Fact("h", x, ">"),), Fact("c", x + x, ">"), (("h", ones),)),
         "a multiplier is a number", lambda: Implication((Fact("h", x, ">"),), Fact("c", x + x, ">"), (("h", as_term(2)),))),
    Pair("implication/hypothesis-that-is-the-conclusion",
         lambda: Implication((Fact("h", x - 2 * x, "="),), Fact("d", x - 2 * x, "="), (("h", one),)), "it says nothing",
         lambda: Implication((Fact("h", x - 2 * x, "="),), Fact("d", 3 * x, "="), (("h", as_term(-3)),))),
    Pair("identity/name-of-the-parameter", lambda: Identity(d(as_term(PARAMETER) * x**2, X, Y), x**2), "t = 2, x = y = 1: 4, not 1",
         lambda: Identity(d(t * x**2, X, Y), 2 * t * x * y)),
    Pair("identity/direction-called-as-the-parameter", lambda: Identity(d(x**2, X, PARAMETER), as_term(0)), "x = t = 1: 2",
         lambda: Identity(d(x**2, X, T), 2 * x * t)),
    Pair("identity/power-p-plus-one", lambda: Identity(power_p(p, 1), power_p(p, -1) * 1), "p = 1, q = 2: 4 against 1",
         lambda: Identity(power_p(p, 0), power_p(p) * 1)),
    Pair("differs/symbol-called-as-the-exponent",
         lambda: Differs(power_p(x, -1) * as_term(Tensor("p", (), "p")), grad(power_p(x), X)), "p x^(p-1) is the derivative",
         lambda: Differs(power_p(p, -1), power_p(p))),
    Pair("differs/directions-of-a-symmetric-matrix", lambda: Differs(d(s[i, j], S_, M_), d(s[j, i], S_, M_)),
         "S_ij and S_ji are one function", lambda: Differs(d(m[i, j], M_, S_), d(m[j, i], M_, Tensor("W", ("n", "n"))))),
    Pair("identity/symmetric-matrix-in-a-direction-that-is-not",
         lambda: Identity(d(s[i, j] - s[j, i] + x * s[i, i], S_, M_), m[i, j] - m[j, i] + x * m[i, i]),
         "x = 0, M = ((0,1),(0,0)): the derivative of 0 is not 1",
         lambda: Identity(d(s[i, j] - s[j, i] + x * s[i, i], S_, R_), x * r[i, i])),
    Pair("differs/symmetric-matrix-replaced-by-another", lambda: Differs(at_point(squared_norm(s), S_, m), at_point(trace(s @ s), S_, m)),
         "one function of a symmetric matrix", lambda: Differs(squared_norm(m), trace(m @ m))),
    Pair("differs/positive-number-replaced-by-a-negative-one",
         lambda: Differs(at_point(apply("abs", p), P_, as_term(-1)), at_point(p, P_, as_term(-1))), "|q| = q for q > 0",
         lambda: Differs(apply("abs", x), x)),
    Pair("recurrence/logarithm-that-ends", lambda: slope(lambda n_: sp.log(50 - n_)), "t = 50: log 0", lambda: slope(lambda n_: 50 - n_)),
    Pair("recurrence/root-that-ends", lambda: slope(lambda n_: sp.sqrt(50 - n_)), "t = 51", lambda: slope(lambda n_: n_**2)),
    Pair("recurrence/gamma-that-ends", lambda: slope(lambda n_: sp.gamma(50 - n_)), "t = 50: a pole",
         lambda: slope(lambda n_: sp.gamma(n_ + 1))),
    Pair("recurrence/tangent", lambda: slope(lambda n_: sp.tan(sp.pi * n_ / 100)), "t = 50: a pole", lambda: slope(lambda n_: 2**n_)),
    Pair("recurrence/power-of-a-parameter", lambda: rec(sp.Symbol("z", real=True) ** (whole - 1), 1 / sp.Symbol("z", real=True),
         QUANTITY(whole - 1) * sp.Symbol("z", real=True)), "z = 0, t = 0", lambda: rec(3 * 2**whole, sp.Integer(3), 2 * QUANTITY(whole - 1))),
    Pair("definition/positive-name-of-a-negative-number", lambda: Definition(p, as_term(-1)), "-1 is not > 0",
         lambda: Definition(p, x**2 + 1)),
    Pair("definition/symmetric-name-of-a-product", lambda: Definition(s[i, j], u[i] * v[j]), "u v' is not symmetric",
         lambda: Definition(s[i, j], u[i] * u[j])),
    Pair("scoped/positive-name", lambda: Scoped(p, as_term(-1)), "-1 is not > 0", lambda: Scoped(p, exp(x))),
    Pair("definition/number-as-a-name", lambda: Definition(as_term(2), as_term(3)), "2 is not 3", lambda: Definition(x, as_term(3))),
    Pair("definition/known-function", lambda: Definition(apply("tanh", x), x), "x = 1", lambda: Definition(apply("F", x), x * 2)),
    Pair("definition/function-of-a-square", lambda: Definition(apply("F", x**2), x), "F(1) would be 1 and -1",
         lambda: Definition(apply("F", x**2), x**2 + 1)),
    Pair("cost/plan-that-divides", lambda: cost(x / y * y, "2", x), "y = 0: the plan divides by 0", lambda: cost(x * y, "1", x * y)),
    Pair("cost/plan-with-a-logarithm", lambda: cost(x + 0 * apply("log", y), "1", x), "y = -1", lambda: cost(x + 0 * y, "1", x)),
    Pair("identity/value-captured-by-a-sum",
         lambda: Identity(at_point(Raw((), ix.Sum(i, ix.At(U, (i,)) * ix.At(X, ()))), X, v[i]), sum_over(j, u[j] * v[j])),
         "u = (1,1), v = (1,0), i = 1: 2 against 1",
         lambda: Identity(at_point(Raw((), ix.Sum(i, ix.At(U, (i,)) * ix.At(X, ()))), X, v[i]), sum_over(j, u[j]) * v[i])),
    Pair("differs/symbol-called-as-a-size", lambda: Differs(as_term(Tensor("n", ())), n), "one letter, two meanings",
         lambda: Differs(as_term(Tensor("z", ())), n)),
    Pair("differs/two-symbols-printed-alike", lambda: Differs(as_term(Tensor("x1", (), "x")), as_term(Tensor("x2", (), "x"))),
         "x is x", lambda: Differs(x, y)),
    Pair("differs/size-with-the-name-of-a-difference", lambda: Differs(size("C") - 1, size("C-1")), "they print alike",
         lambda: Differs(size("C") - 1, size("C"))),
    Pair("limit/step-that-leaves-the-promise", lambda: Limit(P_, as_term(-1) + eta * (sqrt(p**2) + 1), as_term(-1), rate=eta,
         high=Fraction(1)), "from 1 with step 1/2 it goes to -1/3", lambda: Limit(X, y + eta * (x - y), y, rate=eta, high=Fraction(1))),
    Pair("limit/step-that-is-not-symmetric", lambda: Limit(S_, m + eta * (s.T - m), m, rate=eta, high=Fraction(1)),
         "the state is not symmetric after one step", lambda: Limit(S_, r + eta * (s.T - r), r, rate=eta, high=Fraction(1))),
    Pair("dual/promise-of-a-variable", lambda: dual(x**2 + p, 1 - lam, (X, P_), (Constraint(-p - x, c, L),)),
         "for q > 0 the condition is λ <= 1", lambda: dual()),
    Pair("dual/two-conditions-of-one-variable", lambda: dual(condition=((Y, 1 - 2 * lam), (Y, 1 - lam))), "λ = 1/2 and λ = 1",
         lambda: dual(condition=((Y, 1 - lam),))),
    Pair("dual/shared-multiplier", lambda: dual(condition=one + 0 * lam, rows=(Constraint(-y - x, c, L), Constraint(y - x, c, L))),
         "1 - λ1 + λ2 = 0 has solutions, 1 = 0 has none",
         lambda: dual(condition=1 - lam + t, rows=(Constraint(-y - x, c, L), Constraint(y - x, c, T)))),
    Pair("dual/multiplier-that-is-data", lambda: dual(x**2 + y + lam, 1 - lam, rows=(Constraint(-y - x, lam, L),)),
         "λ is given and sought", lambda: dual(x**2 + y + t, 1 - lam)),
    Pair("dual/promise-of-a-multiplier", lambda: dual(condition=1 + p, rows=(Constraint(y + x, c, P_, equality=True),)),
         "1 + q = 0 has no solution q > 0; the multiplier is -1",
         lambda: dual(condition=1 + lam, rows=(Constraint(y + x, c, L, equality=True),))),
    Pair("convex-program/data-undefined-at-size-one", lambda: ConvexProgram(program(x**2 + x / (n - 1), [X])), "n = 1",
         lambda: ConvexProgram(program(x**2 + x / (n + 1), [X]))),
    Pair("convex-program/logarithm-of-data", lambda: ConvexProgram(program(x**2 + x * apply("log", c), [X])), "c = -1",
         lambda: ConvexProgram(program(x**2 + x * apply("log", p), [X]))),
    Pair("convex/cancelled-data", lambda: Convex(program(x**2 * c / c, [X])), "c = 0", lambda: Convex(program(x**2 * p / p, [X]))),
    Pair("dual/cancelled-data", lambda: dual(x**2 + y * c / c), "c = 0", lambda: dual(x**2 + y * p / p)),
    Pair("gaussian/two-symbols-of-one-name", lambda: GaussianMean(sp.Symbol("w") ** 2, sp.Symbol("w", real=True), sp.Symbol("w") ** 2),
         "the mean is 1", lambda: GaussianMean(sp.Symbol("w", real=True) ** 2, sp.Symbol("w", real=True), sp.Integer(1))),
    Pair("gaussian/hidden-assumption", lambda: GaussianMean(sp.Symbol("w", real=True) ** 2 / sp.Symbol("a", real=True, nonzero=True),
         sp.Symbol("w", real=True), 1 / sp.Symbol("a", real=True, nonzero=True)), "a = 0",
         lambda: GaussianMean(sp.Symbol("w", real=True) ** 2 / sp.Symbol("a", positive=True), sp.Symbol("w", real=True),
                              1 / sp.Symbol("a", positive=True))),
    Pair("example/unknown-function", lambda: Example((Fact("a", apply("F", x) - apply("F", y), "!="),), Point((), ((X, 0), (Y, 1)))),
         "F = 0", lambda: Example((Fact("a", exp(x) - exp(y), "!="),), Point((), ((X, 0), (Y, 1))))),
    Pair("bounded/no-feasible-point", lambda: Bounded(program(x**2, [X], [Constraint(one, as_term(0), L)]), bound=as_term(0), gap=x**2),
         "nothing is feasible: the infimum is infinite", lambda: Bounded(program(x**2, [X], [Constraint(x, one, L)]), bound=as_term(0), gap=x**2)),
    Pair("extremum/two-minima-and-no-direction", lambda: minimum((x**2 - x) ** 2, (x**2 - x) ** 2, 0), "x = 1 is another",
         lambda: minimum(x**2, x**2, 0)),
    Pair("bounded/parameter-that-is-data", lambda: Bounded(program(-(x**2) + c, [X]), bound=c, gap=x**2), "x = t: unbounded below",
         lambda: Bounded(program(x**2 - c**2, [X]), ray=Ray(C, ((X, (), as_term(0)),), one), bound=-(c**2), gap=x**2)),
    Pair(
        "stacked/zero-times-a-pole", lambda: Stacked(0 * (1 / x) + y, y), "x = 0",
        lambda: Stacked(0 * (1 / p) + y, y),
    ),
    Pair(
        "stacked/zero-block-times-a-pole",
        lambda: Stacked(Zeros((), ("n", "m")) @ stack(k, 1 / as_term(Tensor("w", ("m",)))[k]), Zeros((), ("n",))), "n = m = 1, w = 0",
        lambda: Stacked(Zeros((), ("n", "m")) @ as_term(Tensor("w", ("m",))), Zeros((), ("n",))),
    ),
    Pair(
        "stacked/zero-block-times-a-logarithm",
        lambda: Stacked(Zeros((), ("n", "n")) @ apply("log", u), Zeros((), ("n",))), "n = 1, u = -1",
        lambda: Stacked(Zeros((), ("n", "n")) @ apply("exp", u), Zeros((), ("n",))),
    ),
    Pair(
        "recurrence/symbol-without-a-first-value", lambda: two_symbols(1), "f(2,1) is determined by nothing: "
            "it may be 73",
        lambda: two_symbols(0),
    ),
    Pair(
        "convex/index-of-a-form-on-the-diagonal",
        lambda: Convex(Program("P", (M_,), sum_over(i, j, r[i, j] * m[i, i] * m[i, j]), semidefinite=(R_,))),
        "R of ones, M = ((1,-2),(0,0)): -1",
        lambda: Convex(Program("P", (U,), sum_over(i, j, r[i, j] * u[i] * u[j]), semidefinite=(R_,))),
    ),
    Pair(
        "example/second-derivative-at-a-kink",
        lambda: Example((Fact("h", apply("elu1", x, order=2) - 1, "="),), Point((), ((X, 0),))), "elu1 has none at 0",
        lambda: Example((Fact("h", apply("elu1", x, order=1) - 1, "="),), Point((), ((X, 0),))),
    ),
    Pair(
        "differs/second-derivative-at-a-kink", lambda: Differs(apply("elu1", 0 * x, order=2), as_term(7)), "elu1 has none at 0",
        lambda: Differs(apply("elu1", 0 * x, order=1), as_term(7)),
    ),
    Pair(
        "example/index-at-two-places",
        lambda: Example((Fact("h", u[i] - 2, "="),), Point((("n", 2),), ((U, (1, 2)),), ((i, 1), (i, 2)))), "u_1 = 1",
        lambda: Example((Fact("h", u[i] - 2, "="),), Point((("n", 2),), ((U, (1, 2)),), ((i, 2),))),
    ),
    Pair(
        "solvable/unknown-that-nothing-ties", lambda: Solvable(X, (Fact("e", 0 * x - y, "="),), Point((), ((Y, 1),))), "0 = 1",
        lambda: Solvable(X, (Fact("e", z - y, "="),), Point((), ((Y, 1),)), given=given(Z, x)),
    ),
    Pair(
        "order/witness-against-the-choice", lambda: Order(exp(c * t), 1 + 2 * t, T, 2, given(C, 1)), "exp(t) = 1 + t + ...",
        lambda: Order(exp(c * t), 1 + t, T, 2, given(C, 1), Point((), ((C, 2),))),
    ),
    Pair(
        "cost/copied-before-it-is-overwritten",
        lambda: Cost("w", (Assign(U, (i,), v[i]), Assign(V, (i,), u[i] * u[i]), Assign(W_, (i,), u[i])), "n", stack(i, v[i] ** 2), sizes=("n",)),
        "w is y, not y²: 3, not 9",
        lambda: Cost("w", (Assign(U, (i,), v[i] * v[i]), Assign(V, (i,), u[i] * u[i]), Assign(W_, (i,), u[i])), "2*n", stack(i, v[i] ** 2), sizes=("n",)),
    ),
    Pair(
        "recurrence/pole-that-sympy-does-not-cancel",
        lambda: rec(sp.Mul(whole - 50, 1 / (whole - 50), whole, evaluate=False), 0, QUANTITY(whole - 1) + 1), "undefined at 50",
        lambda: rec(whole, 0, QUANTITY(whole - 1) + 1),
    ),
    Pair(
        "recurrence/two-symbols-of-one-name",
        lambda: Recurrence(sp.Symbol("t"), (whole,), (Base("b", whole, 0, sp.Symbol("t")),), QUANTITY(whole - 1), "b", lambda t: 5,
                           ((1,), (2,), (3,)), at=((sp.Symbol("t"), sp.Integer(5)),)), "f(2) = f(1) = f(0), not 2",
        lambda: Recurrence(sp.Symbol("s"), (whole,), (Base("b", whole, 0, sp.Symbol("s")),), QUANTITY(whole - 1), "b", lambda t: 5,
                           ((1,), (2,), (3,)), at=((sp.Symbol("s"), sp.Integer(5)),)),
    ),
    Pair(
        "order/choice-that-moves", lambda: Order(exp(t), 1 + a, T, 2, given(A, t)), "no constant a does it",
        lambda: Order(exp(t), 1 + t + a, T, 2, given(A, 0)),
    ),
    *(
        Pair(
            f"gaussian/{name}-at-zero", lambda f=f: GaussianMean(f(real) * w**2, w, f(real)), "undefined at 0",
            lambda: GaussianMean(sp.cosh(real) * w**2, w, sp.cosh(real)),
        )
        for name, f in (("coth", sp.coth), ("csc", sp.csc), ("digamma", sp.digamma), ("Ei", sp.Ei), ("atan2", lambda x: sp.atan2(x, x)))
    ),
    Pair(
        "example/power-of-no-whole-exponent",
        lambda: Example((Fact("h", power_p(x) - 2, "="),), Point((), ((X, 4), (EXPONENT, Fraction(1, 2))))), "p = 1, 2, 3, …",
        lambda: Example((Fact("h", power_p(x) - 16, "="),), Point((), ((X, 4), (EXPONENT, 2)))),
    ),
    Pair(
        "scoped/index-in-a-substitution-without-effect", lambda: Scoped(x, at_point(z, Y, u[i])), "x has no index i",
        lambda: Scoped(x, at_point(z + y, Y, a)),
    ),
    Pair(
        "identity/one-letter-for-two-indices",
        lambda: Identity(sum_over(i, TWIN, WIDE[i, TWIN]), sum_over(j, k, WIDE[j, k])), "reads ΣΣ A_ii: 12, not 11",
        lambda: Identity(sum_over(j, k, WIDE[j, k]), sum_over(k, j, WIDE[j, k])),
    ),
    Pair(
        "identity/derivative-moved-to-the-edge",
        lambda: Identity(at_point(grad(x ** Fraction(5, 2) + x, X), X, as_term(0)), one), "x^(5/2) has no value left "
            "of 0",
        lambda: Identity(at_point(grad(x**4 + x, X), X, as_term(0)), one),
    ),
    Pair(
        "rule/conclusion-that-fails-where-nothing-is-undefined",
        lambda: Rule((Fact("h", x, "="),), Fact("c", x, "!="), Point((), ((X, 0),))), "x = 0",
        lambda: Rule((Fact("h", formula("1", 1 / x) - 1, "="),), Fact("c", x, "!="), Point((), ((X, 0),))),
    ),
    Pair(
        "rule/definition-that-excludes-the-point",
        lambda: Rule((), Fact("c", y, ">"), Point((), ((Y, -1),)), given(C, apply("exp", y))), "y = -1",
        lambda: Rule((), Fact("c", y, ">"), Point((), ((Y, -1),)), given(C, apply("log", y))),
    ),
    *(
        Pair(f"scoped/printed-index-{name}", lambda f=f: Scoped(x, f), "x has no index i", lambda f=f: Scoped(v[i], f))
        for name, f in (
            ("formula", formula("1", u[i])), ("ones", Ones((), ("n",))[i]), ("softmax", softmax(i, y)),
            ("gradient", grad(u[i] + y**2, Y)), ("nothing", 0 * u[i]),
        )
    ),
    Pair("definition/also-given", lambda: Definition(x, y, given=given(X, y + 1)), "y = y + 1", lambda: Definition(x, y, given=given(Y, z + 1))),
    Pair("definition/also-not-zero", lambda: Definition(x, 0 * y, nonzero=(X,)), "x is 0", lambda: Definition(x, 0 * y + 1)),
    Pair("definition/function-of-an-entry", lambda: Definition(apply("F", u[i]), v[i]), "u_1 = u_2, v_1 ≠ v_2", lambda: Definition(apply("F", u[i]), u[i] ** 2)),
    Pair("definition/function-of-what-is-given", lambda: Definition(apply("F", y), x, given=given(Y, x**2)), "F(1) = ±1", lambda: Definition(apply("F", y), y, given=given(Z, x**2))),
    Pair("definition/exponent", lambda: Definition(as_term(EXPONENT), one / 2), "p is a whole number", lambda: Definition(x, power_p(y))),
    Pair(
        "extremum/over-the-exponent",
        lambda: Extremum((as_term(EXPONENT) - 2) ** 2 + power_p(x), EXPONENT, as_term(2), "bounded below", above=(as_term(EXPONENT) - 2) ** 2),
        "x = -10, p = 3", lambda: Extremum((y - 2) ** 2 + power_p(x), Y, as_term(2), "a global minimum", above=(y - 2) ** 2),
    ),
    *(
        Pair(f"recurrence/pole-{name}", lambda f=f: rec(*f), "undefined at 30", lambda: rec(whole, 0, QUANTITY(whole - 1) + 1))
        for name, f in (
            ("of-the-quantity", (whole - 30, -30, (QUANTITY(whole - 1) ** 2 + QUANTITY(whole - 1)) / QUANTITY(whole - 1))),
            ("that-cancels", (whole + whole / (whole - 30) - 1 - 30 / (whole - 30), 0, QUANTITY(whole - 1) + 1)),
            ("in-an-exponent", (sp.exp(1 / (whole - 30)), sp.exp(sp.Rational(-1, 30)), QUANTITY(whole - 1) * sp.exp(1 / (whole - 30) - 1 / (whole - 31)))),
        )
    ),
    Pair("cost/power-that-is-not-said", lambda: cost(power_p(x), "0", power_p(x)), "x³ takes two", lambda: cost(x**3, "2", x**3)),
    Pair(
        "well-posed/an-index-that-nothing-fixes", lambda: WellPosed(program(u[i] ** 2, (U,)), (U,), ()), "i is neither",
        lambda: WellPosed(program(sum_over(i, u[i] ** 2), (U,)), (U,), ()),
    ),
    Pair(
        "example/a-definition-without-value", lambda: Example(
            (Fact("f", x - 1, "="),), Point((), ((X, 1), (Y, 0))), given(Z, 1 / y)), "z has no value at y = 0",
        lambda: Example((Fact("f", x - 1, "="),), Point((), ((X, 1), (Y, 2))), given(Z, 1 / y)),
    ),
    Pair(
        "well-posed/printed-without-effect", lambda: WellPosed(program(x + formula("1", y), (X,)), (X,), ()), "y is neither",
        lambda: WellPosed(program(x + formula("1", y), (X,)), (X,), (Y,)),
    ),
    Pair(
        "identity/one-letter-for-a-symbol-and-an-index",
        lambda: Identity(sum_over(Index("x", "n"), u[Index("x", "n")] * x), x * sum_over(i, u[i])), "reads Σ_x x u_x",
        lambda: Identity(sum_over(j, u[j] * x), x * sum_over(i, u[i])),
    ),
    Pair(
        "grows/pole-that-cancels", lambda: Grows("w", (size_ ** 2 - 5 * size_) / (size_ - 5), size_, ((size_, (1, 2)),)), "0/0 at 5",
        lambda: Grows("w", size_**2 / (size_ + 5), size_, ((size_, (1, 2)),)),
    ),
]  # fmt: skip
