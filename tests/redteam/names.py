"""Statements that were true of the symbols and false as printed, parts that nothing asked for, points at which
nothing is defined.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Grows
from checks.kinds.differs import Differs
from checks.kinds.examples import Point
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.gaussian import GaussianMean
from checks.kinds.inequality import AtLeast
from checks.kinds.positive import Positive
from checks.kinds.programs import Dual, WellPosed
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.kinds.scope import Scoped
from checks.kinds.stationary import Stationary
from checks.kinds.unbounded import Bounded, Ray
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.gradients import bregman, formula, grad, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.psd import Features, Multiple, OverCoordinates, Plus
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    exp,
    eye,
    named,
    size,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
    zeros,
)
from redteam.pair import Pair

X, Y, C, MU, NU, LAM = (Tensor(name) for name in ("x", "y", "c", "mu", "nu", "lam"))
x, y, c, mu, nu = map(as_term, (X, Y, C, MU, NU))
zero, one, digit = as_term(0), as_term(1), as_term(Tensor("a", (), "3"))
y_pos = as_term(Tensor("y", (), positive=True))
V, W, A = Tensor("v", ("n",)), Tensor("w", ("n",)), Tensor("A", ("n", "n"))
v, w, a = map(as_term, (V, W, A))
i, j, k = (Index(letter, "n") for letter in "ijk")
slope = grad(y + apply("log", c), Y)  # 1, where c > 0
POINTS, GAMMA = Tensor("p", ("N", "d"), "P", "p_{%1}", "p_{%1}(%2)"), Tensor("gam")
points, gamma = as_term(POINTS), as_term(GAMMA)
r, s, t, coordinate = Index("i", "N"), Index("j", "N"), Index("m", "N"), Index("a", "d")
FRESH = i.fresh()
rest, r_m = trace(a) + sum_over(i, v[i]) + y + apply("f", y), Index("i", "m")
RAY = Ray(Tensor("t"), ((X, (), as_term(Tensor("t"))),), one)
RES, D = Tensor("R"), Tensor("D")
U = as_term(Tensor("U", ("N", "r"), "U"))


def program(objective: Term, *constraints: Constraint) -> Program:
    """A program in x alone."""
    return Program("p", (X,), objective, constraints)


def blind(inner: Index) -> Positive:
    """A kernel with a part that vanishes at γ = 0, 1, 2, where it is looked at; ``inner`` is summed over."""
    f = lambda at: sum_over(coordinate, points[at, coordinate])  # noqa: E731
    factor = (gamma * (gamma - 1) * (gamma - 2)) ** 2
    linear = sum_over(coordinate, points[r, coordinate] * points[s, coordinate])
    wrong = inner == r
    other = sum_over(t, f(t) * f(s)) if wrong else f(r) * f(s)
    part = OverCoordinates(Features(f(r), r), r) if wrong else Features(f(r), r)
    certificate = Plus((Features(points[r, coordinate], r, coordinate), Multiple(factor, part)))
    return Positive(linear + factor * other, POINTS, r, s, "R^d", ((GAMMA, ">= 0"),), certificate)


def cost(times: str, printed: str) -> Cost:
    """So many rounds of two products a token."""
    n = Index("i", "n")
    plan = (Assign(W, (n,), v[n] * v[n] * v[n], times),)
    return Cost("w", plan, printed, stack(n, v[n] ** 3), sizes=("n", "T"))


def printed(latex: str, *dims: str) -> Term:
    """A symbol of its own that is printed so."""
    return as_term(Tensor("printed", dims, latex))


DRAWN, MEAN = sp.Symbol("w", real=True), sp.sqrt(2 / sp.pi)


def gaussian(integrand: sp.Expr, value: Any) -> GaussianMean:
    """The mean of a formula in ``DRAWN``."""
    return GaussianMean(integrand, DRAWN, sp.sympify(value))


def multiplied(by: sp.Symbol) -> Recurrence:
    """f(t) = by^t, where every value is so many times the one before."""
    step, first, at = sp.Symbol("t", nonnegative=True, integer=True), sp.Integer(1), ((by, sp.Integer(5)),)
    base = (Base("first", step, 0, first),)
    return Recurrence(
        by**step, (step,), base, by * QUANTITY(step - 1), "step", lambda n: 5**n, ((1,), (2,)), at=at
    )


def elu(more: Term) -> Extremum:
    """elu + 1 lies above its tangents; ``more`` is added to what is said of it."""
    energy = apply("elu1", x) - apply("elu1", y, order=1) * x
    return Extremum(energy, X, y, "a global minimum", above=bregman("elu1", x, y) + more, convex=("elu1",))


def width(value: Term) -> Follows:
    """tr UᵀU = r, and a definition that says it is not."""
    rule = (Given(D, (), trace(U.T @ U) - size("r") + value, "r"),)
    certificate = (size("N") - 4) * as_term(RES) / as_term(D) if value == zero else zero
    hypothesis = Equation(trace(U.T @ U), size("r"), RES)
    left, right = (size("N"), as_term(4)) if value == zero else (as_term(D), as_term(D))
    return Follows(
        (hypothesis,),
        left,
        right,
        certificate,
        "rational singular value decompositions",
        nonzero=(D,),
        given=rule,
    )


PAIRS = [
    Pair("identity/picked-out-of-what-has-no-value", lambda: Identity(stack(i, sqrt(v[i] - v[j]))[j], zero), "v = (0, 1), j = 2",
         lambda: Identity(stack(i, sqrt((v[i] - v[j]) ** 2))[j], zero)),
    Pair("identity/picked-twice-out-of-a-logarithm", lambda: Identity(apply("log", eye("n"))[k][k], zero), "log 0",
         lambda: Identity((2 * eye("n"))[k][k], as_term(2))),
    Pair("identity/picked-out-of-one-over-a-delta", lambda: Identity(stack(i, 1 / kronecker(i, j))[j], one), "1/0 at i ≠ j",
         lambda: Identity(stack(i, 1 / (1 + kronecker(i, j)))[j], as_term(Fraction(1, 2)))),
    Pair("definition/a-function-of-entries-that-mixes-them", lambda: Definition(apply("f", a), a @ a), "f(A_11) depends on A_12",
         lambda: Definition(apply("f", a), a**2)),
    Pair("definition/a-function-that-transposes", lambda: Definition(apply("f", a), a.T), "f(1) = 2 and f(1) = 3",
         lambda: Definition(apply("f", a), 2 * a)),
    Pair("definition/a-function-with-something-else-in-it", lambda: Definition(apply("f", v), v + w), "f(0) = 1 and f(0) = 2",
         lambda: Definition(apply("f", v), x * v)),
    Pair("scoped/bound-elsewhere", lambda: Scoped(x, zeros("n")[i] + sum_over(i, v[i])), "the first i", lambda: Scoped(x, sum_over(i, zeros("n")[i] + v[i]))),
    Pair("identity/an-index-printed-as-another", lambda: Identity(sum_over(i, v[Index("i#b", "n")]), size("n") * v[Index("i#b", "n")]), "v = (1, 2)",
         lambda: Identity(sum_over(i, v[j]), size("n") * v[j])),
    Pair("identity/an-index-of-the-engine", lambda: Identity(sum_over(j, v[j] * v[Index("?5", "n")]), v[Index("?5", "n")] * sum_over(j, v[j])),
         "its own names", lambda: Identity(sum_over(j, v[j] * v[k]), v[k] * sum_over(j, v[j]))),
    Pair("identity/a-fresh-index-printed-as-another", lambda: Identity(sum_over(FRESH, v[FRESH] * w[i]), sum_over(j, v[j]) * w[i]), "n = 2: 2 v_i w_i",
         lambda: Identity(sum_over(k, v[k] * w[i]), sum_over(j, v[j]) * w[i])),
    Pair("differs/a-size-of-another-written-out", lambda: Differs(sum_over(Index("i", "n-1"), one) + 1, sum_over(i, one)), "n - 1 + 1 = n",
         lambda: Differs(sum_over(Index("i", "n-1"), one), sum_over(i, one))),
    Pair("differs/twice-a-size", lambda: Differs(trace(eye("2n")), 2 * trace(eye("n"))), "2n = 2n", lambda: Differs(trace(eye("2n")), trace(eye("n")))),
    Pair("differs/a-symbol-and-a-size", lambda: Differs(as_term(Tensor("n")), sum_over(i, one)), "n is n", lambda: Differs(x, sum_over(i, one))),
    Pair("identity/a-negative-size", lambda: Identity(sum_over(Index("i", "-1"), one), size("-1")), "an empty sum", lambda: Identity(sum_over(i, one), size("n"))),
    Pair("at-least/a-size-less-another", lambda: AtLeast(size("n-m"), zero), "n = 1, m = 2: -1", lambda: AtLeast(size("n-1"), zero)),
    Pair("at-least/a-number-less-a-size", lambda: AtLeast(size("3-n"), zero), "n = 4: -1", lambda: AtLeast(size("2n-2"), zero)),
    Pair("identity/a-sum-over-fewer-than-none", lambda: Identity(sum_over(Index("i", "n-2"), one), size("n-2")), "n = 1: an empty sum, 0, is not -1",
         lambda: Identity(sum_over(Index("i", "n-1"), one), size("n-1"))),
    Pair("identity/a-function-printed-as-a-sum", lambda: Identity(x * apply("f", y, "1+f"), apply("f", y, "1+f") * x), "x 1 + f(y)",
         lambda: Identity(x * apply("f", y), apply("f", y) * x)),
    Pair("differs/a-formula-and-a-function", lambda: Differs(formula("u^2", x), apply("F", x)), "F(x) ≠ F(x)", lambda: Differs(formula("u^2", x), apply("g", x))),
    Pair("differs/rows-printed-alike", lambda: Differs(*(as_term(Tensor(n, ("n", "d"), n, "z_{%1}"))[i] for n in "PQ")), "z_i ≠ z_i",
         lambda: Differs(*(as_term(Tensor(n, ("n", "d"), n))[i] for n in "PQ"))),
    Pair("differs/a-number-for-a-name", lambda: Differs(as_term(Tensor("q", (), "1")), one), "1 ≠ 1", lambda: Differs(as_term(Tensor("q")), one)),
    Pair("identity/an-invisible-name", lambda: Identity(as_term(Tensor("q", (), "{}")) * x, x * as_term(Tensor("q", (), "{}"))), "x = x",
         lambda: Identity(as_term(Tensor("q")) * x, x * as_term(Tensor("q")))),
    Pair("differs/a-function-named-as-a-symbol", lambda: Differs(apply("x", y + 1), x * (y + 1)), "x(y + 1)", lambda: Differs(apply("f", y + 1), x * (y + 1))),
    Pair("positive/a-sum-over-the-points", lambda: blind(r), "γ = 3, x = (1, 2), c = (3, -2): -107", lambda: blind(t)),
    Pair("follows/hypotheses-against-a-definition", lambda: width(zero), "D = 0 is assumed not to vanish", lambda: width(one)),
    Pair("cost/rounds-below-zero", lambda: cost("4-T", "(4-T)*2*n"), "T = 5", lambda: cost("T", "2*n*T")),
    Pair("cost/a-fraction-of-a-round", lambda: cost("T+(T-1)*(T-2)*(T-3)/7", "2*n*(T+(T-1)*(T-2)*(T-3)/7)"), "T = 4: 4 6/7 rounds",
         lambda: cost("T-1", "2*n*(T-1)")),
    Pair("arithmetic/numbers-of-their-own", lambda: Arithmetic((Figure("p", Fraction(1, 3), "=", Fraction(33, 100), 2),)), "1/3",
         lambda: Arithmetic((Figure("p", Fraction(1, 3), "rounds to", Fraction(33, 100), 2),))),
    # what is true must not fail where the counterexample is no point of the statement
    Pair("identity/refuted-outside-a-logarithm", lambda: Identity(slope * apply("abs", c), -c), "c = 1", lambda: Identity(slope * apply("abs", c), c)),
    Pair("solvable/refuted-outside-a-logarithm", lambda: Solvable(X, (Fact("e", x * x + slope, "="),), Point((), ((C, 1), (Y, 1)))), "x² = -1",
         lambda: Solvable(X, (Fact("e", c * x - slope, "="),), Point((), ((C, 0), (Y, 1))))),
    Pair("stationary/refuted-outside-a-logarithm", lambda: Stationary(x**2 + slope * x, X, zero), "1",
         lambda: Stationary(x**2 + (apply("abs", c) - c) * x * slope, X, zero)),
    Pair("extremum/refuted-outside-a-logarithm", lambda: Extremum(-(x**2) * slope, X, zero, "a global minimum"), "x = 1",
         lambda: Extremum(c * x**2 * slope, X, zero, "a global minimum", above=x**2)),
    Pair("extremum/along-what-has-no-value", lambda: Extremum(x**2, X, one, "the only global minimum"), "x = 0",
         lambda: Extremum(x**3 * (x - 1) ** 2 / x, X, one, "the only global minimum", witness=Point((), ()), direction=-1)),
    Pair("extremum/another-lower-bound", lambda: Extremum(-(x**2), X, zero, "bounded below"), "x²",
         lambda: Extremum(x**2 - 2 * x, X, zero, "bounded below", above=x**2)),
    Pair("convex/refuted-outside-a-logarithm",
         lambda: ConvexProgram(program(-(x**2) + apply("log", c), Constraint(x, one, LAM)), (("c", 1),), (("x", 1),), (("x", -1),)), "-x²",
         lambda: ConvexProgram(program(x**2 + apply("log", c), Constraint(c * x**2, c, LAM)), (("c", -1),), (("x", 1),), (("x", -1),))),
    Pair("bounded/refuted-outside-a-root", lambda: Bounded(program(-(x**2)), None), "-x²",
         lambda: Bounded(program(-(x**2) * grad(y + sqrt(1 - x**2), Y)), RAY)),
    Pair("dual/zeros-outside-what-is-promised", lambda: Dual(program(x, Constraint(-x, c, MU)), ((X, 1 + mu),)), "μ = 1, not -1",
         lambda: Dual(program(x, Constraint(-x, c, MU)), ((X, (1 - mu) * (1 + mu)),))),
    Pair("dual/the-same-conditions-in-another-form",
         lambda: Dual(Program("p", (X, Y), x + y, (Constraint(-x, c, MU), Constraint(-x - y, c, NU))), ((X, 1 - mu - nu), (Y, 2 - nu))), "ν = 1",
         lambda: Dual(Program("p", (X, Y), x + y, (Constraint(-x, c, MU), Constraint(-x - y, c, NU))), ((X, 1 - mu - nu), (Y, -mu)))),
    Pair("grows/at-sizes-that-are-none", lambda: Grows("g", -sp.Symbol("z", positive=True), sp.Symbol("z", positive=True), ((sp.Symbol("z", positive=True), (1, 2)),)),
         "it falls", lambda: Grows("g", sp.Symbol("z", positive=True) ** 2, sp.Symbol("z", positive=True), ((sp.Symbol("z", positive=True), (1, 2)),))),
    Pair("names/a-number", lambda: Differs(digit, one + 2), "3 is 1 + 2", lambda: Differs(x, one + 2)),
    Pair("names/a-number-in-signs", lambda: Differs(as_term(Tensor("a", (), r"\sqrt{2}")), 2 / sqrt(as_term(2))), "√2 is 2/√2",
         lambda: Differs(x, 2 / sqrt(as_term(2)))),
    *(Pair(f"names/not-seen-{n}", lambda latex=latex: Differs(x * as_term(Tensor("a", (), latex)), x), "x is x",
           lambda: Differs(x * y, x))
      for n, latex in enumerate((r"\phantom{a}", r"\kern0pt", r"\mbox{}", r"\color{white}a", r"\mathbf{}", r"\llap{a}"))),
    Pair("names/an-entry-like-the-one-exchanged",
         lambda: Differs(as_term(Tensor("M", ("n", "n"), entry_latex="M_{%1+%2}"))[i, j], as_term(Tensor("M", ("n", "n"), entry_latex="M_{%1+%2}"))[j, i]),
         "M_{i+j} is M_{j+i}", lambda: Differs(as_term(Tensor("M", ("n", "n")))[i, j], as_term(Tensor("M", ("n", "n")))[j, i])),
    Pair("names/letters-that-look-alike", lambda: Differs(as_term(Tensor("a", (), "а")), as_term(Tensor("b", (), "a"))), "a is a",
         lambda: Differs(x, y)),
    Pair("names/a-formula-named-as-another", lambda: Identity(named("x + 1", x), x + 0 * y), "x + 1 is not x",
         lambda: Identity(named("z", x), x + 0 * y)),
    Pair("names/a-formula-named-as-a-power", lambda: Identity(named("x^{2}", x**3), x * x * x), "x² is not x³",
         lambda: Identity(named("z_{2}", x**3), x * x * x)),
    Pair("names/a-formula-named-as-a-size", lambda: Identity(named("n", x) + size("n"), x + size("n")), "n + n is not x + n",
         lambda: Identity(named("z", x) + size("n"), x + size("n"))),
    Pair("names/a-formula-named-as-a-number", lambda: Identity(named("2", x) + 0, x), "x is any number", lambda: Identity(named("z", x) + 0, x)),
    Pair("names/a-formula-named-as-an-entry", lambda: Identity(named("v_{i}", x) + v[i], x + v[i]), "2 v_i is not x + v_i",
         lambda: Identity(named("z", x) + v[i], x + v[i])),
    Pair("names/a-gradient-of-another-power", lambda: Identity(grad(x**2, X, "x^{3}"), 2 * x), "3x²", lambda: Identity(grad(x**2, X, "E"), 2 * x)),
    Pair("names/two-values-of-one",
         lambda: All(Identity(x + y, one + y, given=(Given(X, (), one, ""),)), Identity(x + y, 2 + y, given=(Given(X, (), one + 1, ""),))), "1 is not 2",
         lambda: All(Identity(x + y, one + y, given=(Given(X, (), one, ""),)), Identity(x - y, one - y, given=(Given(X, (), one, ""),)))),
    Pair("names/a-definition-and-a-hypothesis",
         lambda: All(Definition(x, y), Identity(2 * x, 2 * y + 2, given=(Given(X, (), y + 1, ""),))), "y is not y + 1",
         lambda: All(Definition(x, y), Identity(2 * x, 2 * y, given=(Given(X, (), y, ""),)))),
    # a symbol that prints as a formula, an entry or a constant
    *(Pair(f"names/as-a-part-of-an-array-{n}", lambda latex=latex, right=right: Differs(printed(latex), right()), "it is one, or may be",
           lambda right=right: Differs(printed("z_{0}"), right()))
      for n, (latex, right) in enumerate((
          (r"\sum_{j=1}^{n} v_{j}", lambda: sum_over(i, v[i])), ("v_{2}", lambda: v[i]), ("v_{1}", lambda: sum_over(i, v[i])), ("v_{j}", lambda: v[i]),
          ("{v}_{j}", lambda: v[i]), ("v_{n}", lambda: v[i]), ("v_{n-1}", lambda: v[i]), ("v_{i+1}", lambda: v[i]), ("v_{2}^{2}", lambda: v[i] ** 2),
          (r"\frac{v_{1}}{2}", lambda: v[i] / 2), (r"\mathrm{v}_{1}", lambda: v[i]), ("A_{12}", lambda: a[i, j]), ("A_{1,2}", lambda: a[i, j]),
          (r"\operatorname{relu}(v_{1})", lambda: apply("relu", v[i])), (r"\sqrt{v_{1}}", lambda: v[i]),
      ))),
    Pair("names/a-row-of-another-matrix", lambda: Differs(as_term(Tensor("q", ("n",), "A_{1}"))[i], a[j, i]), "a row of A",
         lambda: Differs(as_term(Tensor("q", ("n",), "A_{0}"))[i], a[j, i])),
    Pair("names/entries-as-a-sum", lambda: Differs(as_term(Tensor("q", ("n",), "q", "", "v_{%1}+w_{%1}"))[i], w[i] + v[i]), "v_i + w_i",
         lambda: Differs(as_term(Tensor("q", ("n",), "q", "", "q_{%1}"))[i], w[i] + v[i])),
    Pair("names/not-an-entry-yet", lambda: Differs(printed("v_{2}"), v[i]), "an entry", lambda: Differs(printed("v_{n+1}"), v[i])),
    *(Pair(f"names/as-a-constant-{n}", false, "the constant itself", true)
      for n, (false, true) in enumerate((
          (lambda: Differs(trace(printed(r"\mathbf{I}_{n}", "n", "n")), size("n")), lambda: Differs(trace(printed(r"\mathbf{A}_{n}", "n", "n")), size("n"))),
          (lambda: Differs(trace(printed("I", "n", "n")), size("n")), lambda: Differs(printed("I"), size("n"))),
          (lambda: Differs(sum_over(i, printed(r"\mathbf{0}_{n}", "n")[i]), zero), lambda: Differs(sum_over(i, printed(r"\mathbf{z}", "n")[i]), zero)),
          (lambda: Differs(sum_over(i, printed(r"\mathbf{0}", "n")[i]), zero), lambda: Differs(sum_over(i, printed(r"\mathbf{z}_{n}", "n")[i]), zero)),
          (lambda: Differs(sum_over(i, printed(r"\mathbb{1}_{n}", "n")[i]), size("n")), lambda: Differs(sum_over(i, printed(r"\mathbf{1}_{M_x}", "n")[i]), size("n"))),
          (lambda: Differs(printed(r"\mathbf{e}_{i}", "n").T @ printed(r"\mathbf{e}_{i}", "n"), one), lambda: Differs(printed(r"\mathbf{e}", "n").T @ printed(r"\mathbf{e}", "n"), one)),
          (lambda: Differs(printed(r"\delta_{ij}") ** 2, printed(r"\delta_{ij}")), lambda: Differs(printed(r"\delta") ** 2, printed(r"\delta"))),
          (lambda: Differs(printed(r"\delta", "n", "n")[i, j] ** 2, printed(r"\delta", "n", "n")[i, j]),
           lambda: Differs(printed(r"\delta", "n", "m")[i, r_m] ** 2, printed(r"\delta", "n", "m")[i, r_m])),
          (lambda: Identity(printed(r"\infty") - printed(r"\infty"), zero + 0), lambda: Identity(printed(r"\infty'") - printed("q") * 0, printed(r"\infty'") + 0)),
          (lambda: Differs(printed(r"\pi"), as_term(3)), lambda: Differs(printed(r"\pi_{0}"), as_term(3))),
          (lambda: Differs(printed("e"), exp(one)), lambda: Differs(printed("e_{0}"), exp(one))),
          (lambda: Differs(printed(r"\mathrm{e}"), exp(one)), lambda: Differs(printed("e'"), exp(one))),
          (lambda: Differs(printed("e^{x}"), exp(x)), lambda: Differs(printed("q^{s}"), exp(x))),
          (lambda: Differs(printed("y^{x}") + x, y + x), lambda: Differs(printed("y^{s}") + x, y + x)),
      ))),
    # a function with another one's name
    *(Pair(f"names/a-word-for-any-function-{n}", lambda latex=latex: Differs(apply("h", y_pos, latex), y_pos), "it says which function",
           lambda: Differs(apply("h", y_pos, r"\tilde{\sigma}_{s}"), y_pos))
      for n, latex in enumerate((
          r"\operatorname{relu}", r"\mathrm{ReLU}", r"\text{relu}", r"\mathbf{relu}", r"\mathsf{relu}", r"\mathit{relu}", "relu", r"\arctan", r"\arcsin", r"\sec",
          r"\cot", r"\coth", r"\det", r"\Gamma", r"\Re", r"\operatorname{erf}", r"\operatorname{softplus}", r"\operatorname{tr}", r"\operatorname{diag}",
          r"\operatorname{softmax}", r"\operatorname{id}", r"\tanh", r"\log_{2}", "d", "h^{2}", "h^{-1}", r"\phantom{h}", r"\rm", r"\nabla", r"\partial",
      ))),
    Pair("names/exponentials-printed-as-cosh",
         lambda: Identity(apply("exp", x + y, r"\operatorname{cosh}"), apply("exp", x, r"\operatorname{cosh}") * apply("exp", y, r"\operatorname{cosh}")), "cosh(0) = 1",
         lambda: Identity(apply("exp", x + y, r"\mathrm{exp}"), apply("exp", x, r"\mathrm{exp}") * apply("exp", y, r"\mathrm{exp}"))),
    Pair("names/a-relu-printed-as-tanh", lambda: Identity(apply("relu", y_pos, r"\mathrm{tanh}"), y_pos), "tanh(1) < 1",
         lambda: Identity(apply("relu", y_pos, r"\operatorname{ReLU}"), y_pos)),
    Pair("names/a-known-function-printed-as-a-formula", lambda: Differs(apply("exp", x, r"2\exp"), 2 * exp(x)), "2exp(x)",
         lambda: Differs(apply("exp", x, r"\eta"), 2 * exp(y))),
    Pair("names/a-logarithm-by-its-other-name", lambda: Identity(apply("log", y_pos, r"\exp"), apply("log", y_pos, r"\exp") + 0 * y_pos), "exp",
         lambda: Identity(apply("log", y_pos, r"\ln"), apply("log", y_pos, r"\ln") + 0 * y_pos)),
    # a formula under the name of another one
    *(Pair(f"names/named-as-another-formula-{n}", lambda latex=latex: Identity(named(latex, x) + rest, x + rest), "another formula",
           lambda latex=latex: Identity(named("Z", x) + rest, x + rest))
      for n, latex in enumerate((
          r"\operatorname{tr}(A)", r"\sum_{j=1}^{n} v_{j}", "v_{2}", "A_{12}", "q^{2}", "-q", "q+r", r"q \cdot r", r"\frac{x^{2}}{2}", r"\frac{x}{2}", r"\tanh(y)", r"\mathbf{I}_{n}",
          "e", r"\pi", r"\infty", "2x", "f", r"\sqrt{q}", "q = r", r"2 \times 3", r"\exp(q)", "q^{-1}",
      ))),
    *(Pair(f"names/a-gradient-of-another-formula-{n}", lambda latex=latex: Identity(grad(x**2 + apply("g", y), X, latex), 2 * x), "another gradient",
           lambda: Identity(grad(x**2 + apply("g", y), X, r"\mathcal{L}"), 2 * x))
      for n, latex in enumerate((r"\frac{x^{2}}{2}", "g", "g(x)", "x", "3x", r"\operatorname{tr}(x)", "x^2"))),
    Pair("names/a-sum-over-the-symbol-that-is-summed", lambda: Identity(sum_over(Index("x", "n"), x), size("n") * x), "1 + 2 = 3, not 2x",
         lambda: Identity(sum_over(i, x), size("n") * x)),
    Pair("names/a-sum-over-a-letter-printed-as-a-symbol", lambda: Identity(sum_over(Index(r"\mu", "n"), mu), size("n") * mu), "1 + 2 = 3, not 2μ",
         lambda: Identity(sum_over(i, mu), size("n") * mu)),
    Pair("names/a-sum-over-the-letter-of-a-vector", lambda: Identity(sum_over(Index("v", "n"), squared_norm(v)), size("n") * squared_norm(v)), "1 + 4 = 5, not 2‖v‖²",
         lambda: Identity(sum_over(i, squared_norm(v)), size("n") * squared_norm(v))),
    Pair("names/a-sum-over-the-name-of-a-formula", lambda: Identity(sum_over(Index("z", "n"), named("z", y)), size("n") * y), "1 + 2 = 3, not 2y",
         lambda: Identity(sum_over(i, named("z", y)), size("n") * y)),
    Pair("names/one-formula-under-a-name", lambda: Identity(x, named("z", x)), "the name is all that is said",
         lambda: Identity(x + x, 2 * named("z", x))),
    Pair("names/the-formula-itself", lambda: Identity(grad(sum_over(i, v[i] ** 2), V, r"\sum_j v_j^2")[j], 2 * v[j] + 0 * x), "another index",
         lambda: Identity(grad(sum_over(i, v[i] ** 2), V, r"\sum_i v_i^2")[j], 2 * v[j] + 0 * x)),
    # SymPy's symbols: what is said of them was read as something else
    Pair("gaussian/a-letter-printed-as-the-cosine", lambda: gaussian(DRAWN**2 + sp.Symbol(r"\cos", real=True) * DRAWN, 1),
         "E cos w is not 0", lambda: gaussian(DRAWN**2 + sp.Symbol("c", real=True) * DRAWN, 1)),
    Pair("gaussian/a-letter-printed-as-a-product", lambda: gaussian(abs(DRAWN) * sp.Symbol("w w", real=True), sp.Symbol("w w", real=True) * MEAN),
         "E |w| w² is not w² E |w|", lambda: gaussian(abs(DRAWN) * sp.Symbol("c", real=True), sp.Symbol("c", real=True) * MEAN)),
    Pair("gaussian/a-letter-printed-as-pi", lambda: gaussian(abs(DRAWN), sp.sqrt(sp.pi / 2)), "it is the square root of 2/π",
         lambda: gaussian(abs(DRAWN), sp.sqrt(2) / sp.sqrt(sp.Symbol("pi", positive=True)))),
    Pair("gaussian/two-letters-printed-alike", lambda: gaussian(sp.Symbol("x_1", positive=True) * DRAWN**2, sp.Integer(1)), "it is x",
         lambda: gaussian(sp.Symbol("x_1", positive=True) * DRAWN**2, sp.Symbol("x1", positive=True))),
    Pair("gaussian/a-letter-printed-as-a-number", lambda: gaussian(DRAWN**4, sp.Integer(2)), "it is 3",
         lambda: gaussian(DRAWN**4, sp.Symbol("3", positive=True))),
    Pair("recurrence/a-letter-printed-as-the-quantity", lambda: multiplied(sp.Symbol("f")), "f times (t - 1) is not f(t - 1)",
         lambda: multiplied(sp.Symbol("c"))),
    Pair("extremum/elu-plus-one-is-convex", lambda: elu(y - 2 * apply("elu1", x)), "not above", lambda: elu(zero)),
    Pair("well-posed/a-variable-that-is-given", lambda: WellPosed(program(x**2), (X,), (X,)), "x is one of them",
         lambda: WellPosed(program(x**2 + y), (X,), (Y,))),
]  # fmt: skip
