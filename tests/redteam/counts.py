"""What a later attack got past counts, limits, programs and tables: sizes that are none, poles beyond
the cases, loose domains.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.averages import Averages, Column
from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Counted, Grows
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.gaussian import GaussianMean
from checks.kinds.limit import ETA, Limit
from checks.kinds.programs import Convex, Dual
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.statement import Fact, Given
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import apply, as_term, size, sqrt, stack, sum_over
from redteam.pair import Pair

X_, A_, W_, T_, AL_ = (Tensor(name) for name in ("x", "a", "w", "t", "alpha"))
x, a, w, t, alpha, eta = (as_term(s) for s in (X_, A_, W_, T_, AL_, ETA))
ONE = as_term(1)
i, j, k = Index("i", "n"), Index("j", "n"), Index("k", "d")
MATRIX, WIDE, V_ = as_term(Tensor("M", ("n", "n"))), as_term(Tensor("Y", ("n", "d"))), Tensor("v", ("n",))
OUT, SQUARES = Tensor("O", ("n", "d")), Tensor("u", ("n",))
v = as_term(V_)
PRODUCT = Assign(OUT, (i, k), sum_over(j, MATRIX[i, j] * WIDE[j, k]))
n = sp.Symbol("n", positive=True, integer=True)
D, S = sp.symbols("D s", positive=True)
z, mu = sp.Symbol("z", real=True), sp.Symbol("mu", real=True)


def program(objective, constraints=(), variables=(X_,)):
    return Program("p", variables, objective, tuple(constraints))


def equals(left, right):
    return Constraint(left, right, Tensor("lambda"), equality=True)


def recurrence(closed, first, rule, counted, cases=((1,), (2,), (3,))):
    return Recurrence(closed, (n,), (Base("first", n, 1, first),), rule, "step", counted, cases)


def log(arg):
    return apply("log", arg)


def descent(first, second):
    """A step y - W W'y in two lines, each so many times."""
    state, inner = Tensor("y", ("n",)), Tensor("g", ("d",))
    y, g = as_term(state), as_term(inner)
    return (
        Assign(inner, (k,), sum_over(i, WIDE[i, k] * y[i]), first),
        Assign(state, (i,), y[i] - sum_over(k, WIDE[i, k] * g[k]), second),
    )


STEPPED = as_term(Tensor("y", ("n",))) - WIDE @ (WIDE.T @ as_term(Tensor("y", ("n",))))


def saved(order):
    """What M (Y y) takes more than (M Y) y."""
    column, y = Tensor("g", ("n",)), as_term(Tensor("y", ("d",)))
    plan = (Assign(column, (), WIDE @ y), Assign(SQUARES, (), MATRIX @ as_term(column)))
    base = (PRODUCT, Assign(SQUARES, (), as_term(OUT) @ y))
    return Cost("c", plan, order, MATRIX @ (WIDE @ y), base, (MATRIX @ WIDE) @ y, "O", sizes=("n", "d"))


PAIRS = [
    Pair("cost/a-plan-compared-with-itself",
         lambda: Cost("c", (PRODUCT,), "0", MATRIX @ WIDE, (PRODUCT,), MATRIX @ WIDE, sizes=("n", "d")), "compared with itself",
         lambda: Cost("c", (PRODUCT,), "n**2*d", MATRIX @ WIDE, sizes=("n", "d"))),
    Pair("cost/one-slack-in-two-sizes",
         lambda: Cost("c", (PRODUCT,), "n**2*p", MATRIX @ WIDE, sizes=("n", "d", "p"), relation="<=", domain=(("n", "p+u"), ("d", "p+u"))),
         "u ties d to n: at n = 1, p = 1, d = 9 the count is 9, not at most 1",
         lambda: Cost("c", (PRODUCT,), "n*d*n", MATRIX @ WIDE, sizes=("n", "d"), relation="<=", domain=(("n", "d+u"),))),
    Pair("cost/a-loop-that-reads-what-was-computed-before-it",
         lambda: Cost("c", descent("1", "T"), "T*n*d + n*d", STEPPED, sizes=("n", "d", "T")), "T rounds with a gradient from before them",
         lambda: Cost("c", descent("T", "T"), "2*T*n*d", STEPPED, sizes=("n", "d", "T"))),
    Pair("rule/no-size-is-zero", lambda: Rule((), Fact("f", size("N") - 2, ">="), Point((("N", 1),), ())), "N = 1: -1",
         lambda: Rule((), Fact("f", size("N") - 1, ">="), Point((("N", 0),), ()))),
    Pair("example/a-negative-size", lambda: Example((Fact("f", -size("N"), ">"),), Point((("N", -1),), ())), "no such N",
         lambda: Example((Fact("f", size("N") - 1, ">"),), Point((("N", 2),), ()))),
    Pair("example/two-values", lambda: Example((Fact("f", a + 1, "="),), Point((), ((A_, 1), (A_, -1)))), "which of them",
         lambda: Example((Fact("f", a + 1, "="),), Point((), ((A_, -1),)))),
    Pair("solvable/no-size-is-zero", lambda: Solvable(X_, (Fact("e", a * x - 1, "="),), Point((), ((A_, 0),))), "a = 0",
         lambda: Solvable(X_, (Fact("e", size("N") * x - 1, "="),), Point((("N", 0),), ()))),
    Pair("limit/that-depends-on-the-step", lambda: Limit(X_, x - eta * (x - a * eta), a, rate=1 - eta, high=Fraction(2)),
         "it is a eta", lambda: Limit(X_, x - eta * (x - a * eta), a * eta, rate=1 - eta, high=Fraction(2))),
    Pair("limit/rate-with-a-pole", lambda: Limit(X_, x - eta * (x - a), a, rate=1 - eta, high=Fraction(3)), "eta = 5/2",
         lambda: Limit(X_, x - eta * (x - a), a, rate=1 - eta * (eta - 1) / (eta - 1), high=Fraction(2))),
    Pair("limit/promised-above-an-end-below-zero",
         lambda: Limit(X_, x - eta * (x - a), a, rate=1 - eta, low=Fraction(-1), high=Fraction(3)), "eta = 5/2",
         lambda: Limit(X_, x - eta * (x - a), a, rate=1 - eta, low=Fraction(-1), high=Fraction(2))),  # ETA > 0
    Pair("limit/step-size-that-is-given",
         lambda: Limit(X_, x - eta * (x - a), a, rate=1 - eta, high=Fraction(2), given=(Given(ETA, (), as_term(3), ""),)),
         "eta = 3 is not below 2", lambda: Limit(X_, x - eta * (x - a), a, rate=1 - eta, high=Fraction(2))),
    Pair("cost/ray-below-one",
         lambda: Cost("c", (PRODUCT,), "n*d", MATRIX @ WIDE, relation="O", sizes=("n", "d"), ray=(("n", "t"), ("d", "1"))),
         "n²d over nd", lambda: Cost("c", (PRODUCT,), "n**3*d", MATRIX @ WIDE, relation="O", sizes=("n", "d"),
                                     ray=(("n", "1/t"), ("d", "1")))),
    Pair("cost/negative-sizes",
         lambda: Cost("c", (PRODUCT,), "n", MATRIX @ WIDE, relation="<=", sizes=("n", "d"), domain=(("d", "-d"),)),
         "n = d = 2: 8", lambda: Cost("c", (PRODUCT,), "n**3*d", MATRIX @ WIDE, relation="<=", sizes=("n", "d"))),
    Pair("cost/no-rounds",
         lambda: Cost("c", (Assign(SQUARES, (i,), v[i] ** 2, times="0"),), "0", stack(i, v[i] ** 2), sizes=("n",)),
         "nothing is computed", lambda: Cost("c", (Assign(SQUARES, (i,), v[i] ** 2),), "n", stack(i, v[i] ** 2), sizes=("n",))),
    Pair("cost/half-a-product", lambda: Cost("c", (PRODUCT,), "n*d", MATRIX @ WIDE, sizes=("n", "d")), "n²d",
         lambda: Cost("c", (PRODUCT,), "n**2*d", MATRIX @ WIDE, sizes=("n", "d"))),
    Pair("cost/empty-plan", lambda: Cost("c", (), "0", MATRIX @ WIDE, sizes=("n", "d")), "a product takes n²d",
         lambda: Cost("c", (PRODUCT,), "n**2*d", MATRIX @ WIDE, sizes=("n", "d"))),
    Pair("convex/root-that-cuts-the-domain", lambda: Convex(program(sqrt(x**2 - 1) ** 2)), "not defined between -1 and 1",
         lambda: Convex(program(sqrt(x**2 + 1) ** 2))),
    Pair("convex/cancelled-pole", lambda: Convex(program(x**3 / x)), "not defined at 0", lambda: Convex(program(x**2))),
    Pair("convex/nowhere-defined", lambda: Convex(program(x**2 + log(-(a**2)))), "for no a",
         lambda: Convex(program(x**2 + log(1 + a**2)))),
    Pair("convex-program/cancelled-pole", lambda: ConvexProgram(program(x, [equals(x / x, ONE)])), "±1 but not 0",
         lambda: ConvexProgram(program(x**2, [equals(x, ONE)]))),
    Pair("dual/undefined-condition",
         lambda: Dual(program(w**2 / 2 + t, [Constraint(a - w, t, AL_)], (W_, T_)), ((T_, (1 - alpha) + 0 * log(a)),)),
         "a = 0", lambda: Dual(program(w**2 / 2 + t, [Constraint(a - w, t, AL_)], (W_, T_)), ((T_, 1 - alpha),))),
    Pair("recurrence/pole-of-the-rule",
         lambda: recurrence(sp.Integer(1), sp.Integer(1), QUANTITY(n - 1) * (n**2 - 16 * n - 17) / ((n - 17) * (n + 1)),
                            lambda m: 1 if m < 17 else 5), "0/0 at n = 17",
         lambda: recurrence(sp.Integer(1), sp.Integer(1), QUANTITY(n - 1) * (n + 1) / (n + 1), lambda m: 1)),
    Pair("recurrence/pole-of-the-closed-form",
         lambda: recurrence(1 / (n - 17), sp.Rational(-1, 16), QUANTITY(n - 1) / (1 + QUANTITY(n - 1)),
                            lambda m: sp.Rational(1, m - 17)), "undefined at 17",
         lambda: recurrence(1 / n, sp.Integer(1), QUANTITY(n - 1) * (n - 1) / n, lambda m: sp.Rational(1, m))),
    Pair("recurrence/negative-first-value",
         lambda: Recurrence(sp.log((n + sp.Rational(1, 2)) ** 2) - 2 * sp.log(n + sp.Rational(1, 2)), (n,),
                            (Base("b", n, -30, -2 * sp.pi * sp.I),), QUANTITY(n - 1), "", lambda m: -2 * sp.pi * sp.I,
                            ((-30,), (-29,))), "0 from n = 0 on",
         lambda: recurrence(n**2, sp.Integer(1), QUANTITY(n - 1) + 2 * n - 1, lambda m: m * m)),
    Pair("recurrence/fits-the-cases", lambda: recurrence(n + (n - 1) * (n - 2) * (n - 3), sp.Integer(1), QUANTITY(n - 1) + 1,
                                                         lambda m: m), "n = 4: 10",
         lambda: recurrence(n, sp.Integer(1), QUANTITY(n - 1) + 1, lambda m: m)),
    Pair("recurrence/off-by-a-factor", lambda: recurrence(2**n, sp.Integer(1), 2 * QUANTITY(n - 1), lambda m: 2 ** (m - 1)),
         "n = 1", lambda: recurrence(2 ** (n - 1), sp.Integer(1), 2 * QUANTITY(n - 1), lambda m: 2 ** (m - 1))),
    Pair("grows/pole", lambda: Grows("g", D + 1 / (S - 17), D, ((D, (1, 2)), (S, (10, 20)))), "undefined at 17",
         lambda: Grows("g", D + 1 / (S + 17), D, ((D, (1, 2)), (S, (10, 20))))),
    Pair("grows/complex", lambda: Grows("g", D + sp.I, D, ((D, (1, 2)),)), "no real number",
         lambda: Grows("g", D + 1, D, ((D, (1, 2)),))),
    Pair("grows/falls-later", lambda: Grows("g", D / (D**2 + 100), D, ((D, (1, 100)),)), "from D = 10 on",
         lambda: Grows("g", D**2 / (D**2 + 100), D, ((D, (1, 100)),))),
    Pair("grows/in-the-wrong-size", lambda: Grows("g", D / S, S, ((D, (1, 2)), (S, (1, 2)))), "it falls",
         lambda: Grows("g", D / S, D, ((D, (1, 2)), (S, (1, 2))))),
    Pair("grows/a-maximum", lambda: Grows("g", sp.Max(D, 3), D, ((D, (1, 2)),)), "3 at both", lambda: Grows("g", D + 3, D, ((D, (1, 2)),))),
    Pair("grows/constant", lambda: Grows("g", D / D + 0 * S, S, ((S, (1, 2)),)), "it is 1", lambda: Grows("g", S, S, ((S, (1, 2)),))),
    Pair("counted/one-product-less",
         lambda: Counted("c", 4 * D**2 * S, (D, S), (1, 1), lambda p, q: ((p, q, p),), lambda p, q: 2 * p * p * q), "2D²s",
         lambda: Counted("c", 2 * D**2 * S, (D, S), (1, 1), lambda p, q: ((p, q, p),), lambda p, q: 2 * p * p * q)),
    Pair("counted/another-axis",
         lambda: Counted("c", 2 * D**2 * S, (D, S), (1, 1), lambda p, q: ((p, q, q),), lambda p, q: 2 * p * q * q), "2Ds²",
         lambda: Counted("c", 2 * D * S**2, (D, S), (1, 1), lambda p, q: ((p, q, q),), lambda p, q: 2 * p * q * q)),
    Pair("counted/larger-of-two-sizes",
         lambda: Counted("c", 2 * D * S, (D, S), (1, 1), lambda p, q: ((p, max(p, q)),), lambda p, q: 2 * p * max(p, q)),
         "D = 3, s = 2: 18", lambda: Counted("c", 2 * D * S, (D, S), (1, 1), lambda p, q: ((p, q),), lambda p, q: 2 * p * q)),
    Pair("counted/smaller-of-two-sizes",
         lambda: Counted("c", 2 * D**2, (D, S), (1, 1), lambda p, q: ((p, min(p, q)),), lambda p, q: 2 * p * min(p, q)),
         "D = 3, s = 2: 12", lambda: Counted("c", 2 * D**2, (D, S), (1, 1), lambda p, q: ((p, p),), lambda p, q: 2 * p * p)),
    Pair("counted/rounded-coefficients",
         lambda: Counted("c", (sp.Float(0.1) + sp.Float(0.2) - sp.Float(0.3)) * 2**55 * D * S, (D, S), (1, 1),
                         lambda p, q: ((p, q),), lambda p, q: 2 * p * q),
         "0.1 + 0.2 - 0.3 = 0, and the count is 2Ds",
         lambda: Counted("c", 2 * D * S, (D, S), (1, 1), lambda p, q: ((p, q),), lambda p, q: 2 * p * q)),
    Pair("grows/rounded-coefficients", lambda: Grows("g", (sp.Float(0.1) + sp.Float(0.2) - sp.Float(0.3)) * D, D, ((D, (1, 2)),)),
         "0.1 + 0.2 - 0.3 = 0", lambda: Grows("g", sp.Rational(1, 10) * D, D, ((D, (1, 2)),))),
    Pair("counted/no-product", lambda: Counted("c", 0 * D, (D,), (1,), lambda p: (), lambda p: 0), "nothing was counted",
         lambda: Counted("c", 2 * D, (D,), (1,), lambda p: ((p,),), lambda p: 2 * p)),
    Pair("counted/bends-at-a-size",
         lambda: Counted("c", 2 * D**2, (D,), (1,), lambda p: ((p, p if p < 20 else 20),), lambda p: 2 * p * min(p, 20)),
         "D = 21", lambda: Counted("c", 2 * D**2, (D,), (1,), lambda p: ((p, p),), lambda p: 2 * p * p)),
    Pair("counted/fits-three-sizes",
         lambda: Counted("c", D**2 * (2 + (D - 2) * (D - 17) * (D - 41)), (D,), (1,), lambda p: ((p, p),), lambda p: 2 * p * p),
         "D = 3", lambda: Counted("c", 2 * D**2, (D,), (1,), lambda p: ((p, p),), lambda p: 2 * p * p)),
    Pair("gaussian/float", lambda: GaussianMean(z**2 + sp.Float(1e-20), z, sp.Integer(1)), "1 + 1e-20",
         lambda: GaussianMean(z**2 + 1, z, sp.Integer(2))),
    Pair("gaussian/undefined-parameter", lambda: GaussianMean(z**2 / mu, z, 1 / mu), "mu = 0",
         lambda: GaussianMean(z**2 / (1 + mu**2), z, 1 / (1 + mu**2))),
    Pair("averages/more-decimals-than-printed",
         lambda: Averages((Column("c", (Fraction(1, 10), Fraction(11, 100)), Fraction(107, 1000), 2),)), "0.105",
         lambda: Averages((Column("c", (Fraction(1, 10), Fraction(12, 100)), Fraction(11, 100), 2),))),
    Pair("arithmetic/half-away", lambda: Arithmetic((Figure("f", Fraction(27, 200), "rounds to", Fraction(13, 100), 2),)),
         "0.135 rounds to 0.14", lambda: Arithmetic((Figure("f", Fraction(27, 200), "rounds to", Fraction(14, 100), 2),))),
    Pair("cost/a-line-that-nothing-uses",
         lambda: Cost("c", (Assign(SQUARES, (i,), v[i] * v[i]), PRODUCT), "n + d*n**2", MATRIX @ WIDE, sizes=("n", "d")), "d n²",
         lambda: Cost("c", (PRODUCT,), "d*n**2", MATRIX @ WIDE, sizes=("n", "d"))),
    Pair("cost/order-of-what-is-saved", lambda: saved("n"), "n = d: it is n² - n³", lambda: saved("d*n**2")),
]  # fmt: skip
