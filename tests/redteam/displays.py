"""What a third attack got past: names that engines make themselves, entries that are picked away, sizes that
are sums, one name for two things, sums that swallow a later factor, promises of programs.
"""

from __future__ import annotations

from fractions import Fraction

from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.limit import ETA, Limit
from checks.kinds.programs import Dual
from checks.kinds.stationary import Stationary
from checks.statement import Definition, Fact, Given, Identity
from derivations.calculus.gradients import Differential, at_point, formula, grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    apply,
    as_term,
    blocks,
    diag,
    exp,
    part,
    size,
    softmax,
    sqrt,
    stack,
    sum_over,
    trace,
)
from redteam.pair import Pair

X, Y, C, Z, ALPHA = (Tensor(name) for name in ("x", "y", "c", "z", "alpha"))
x, y, c, z = map(as_term, (X, Y, C, Z))
U, W, A_, B_ = (Tensor(name, ("n",)) for name in "uwab")
u, w, a, b = map(as_term, (U, W, A_, B_))
g, h = (as_term(Tensor(name, (dim,), positive=True)) for name, dim in (("g", "n"), ("h", "m")))
f = as_term(Tensor("f", ("m",)))
i, j, k, p, twin = Index("i", "n"), Index("j", "n"), Index("k", "n"), Index("p", "m"), Index("i", "m")
one, zero = as_term(1), as_term(0)
Q_ = Tensor("Q", ("n", "n"), symmetric=True)
POS = as_term(Tensor("P", ("n", "n"), positive=True))
SYM, ANY = as_term(Tensor("S", ("n", "n"), symmetric=True)), as_term(Tensor("A", ("n", "n")))
BETA = Tensor("beta", ("n",))
STAR, MADE = as_term(Tensor("z*", (), "z^{*}")), Index("∂0#", "n")
LINEAR = Program("P", (W,), sum_over(i, b[i] * w[i]), (Constraint(w[i], one, BETA, over=(i,)),))
WHOLE = Tensor("W", ("n{+}m",))
I, J, K = (Index(name, "n{+}m") for name in "IJK")
entries = as_term(WHOLE)
THREE = Point((("n", 1), ("m", 1), ("n{+}m", 3)), ((WHOLE, (1, 2, 3)),), ((I, 1), (J, 2), (K, 3)))
TWO = Point((("n", 1), ("m", 1), ("n{+}m", 2)), ((WHOLE, (1, 2)),), ((I, 1), (J, 2), (K, 2)))


def implied(hypothesis, relation, conclusion, end, multiplier):
    return Implication(
        (Fact("h", hypothesis, relation),), Fact("g", conclusion, end), (("h", as_term(multiplier)),)
    )


def quadratic(**more):
    return ConvexProgram(Program("P", (W,), w.T @ as_term(Q_) @ w, **more))


def along(energy, direction, name):
    return Differential((), (energy, X, Tensor(direction), name))


def seen_at(sizes, point):
    facts = (Fact("s", size("n") + size("m") - 2, "="), Fact("a", entries[I] - 1, "="))
    return Example((*facts, Fact("c", entries[K] - sizes, "=")), point)


def decomposed(right):
    m, v, left = (as_term(Tensor(*t)) for t in (("A", ("N", "M")), ("V", ("M", "r")), ("U", ("N", "r"))))
    s, residual = as_term(Tensor("s", ("r",))), Tensor("R_1", ("N", "r"))
    hypothesis = Equation(m @ v, left @ diag(s), residual)
    kind = "rational singular value decompositions"
    return Follows((hypothesis,), m @ v, right(left, s), as_term(residual), kind)


PAIRS = [
    Pair("identity/letter-of-what-is-put-into-a-sum", lambda: Identity(at_point(sum_over(i, u[i] * x), X, w[i]), w[i] * sum_over(j, u[j])),
         "with x = w_i the sum of u_i x reads as that of u_i w_i", lambda: Identity(at_point(sum_over(j, u[j] * x), X, w[i]), w[i] * sum_over(j, u[j]))),
    Pair("implication/a-quotient-licenses-a-root", lambda: implied(x / c - y, "=", (x / c - y) * sqrt(c), "=", sqrt(c)),
         "c = -1, x = -1, y = 1", lambda: implied(sqrt(c) * x / c - y, "=", (sqrt(c) * x / c - y) * sqrt(c), "=", sqrt(c))),
    Pair("implication/a-root-licenses-a-quotient", lambda: implied(sqrt(c) - y, "=", (sqrt(c) - y) / c, "=", 1 / c),
         "c = y = 0", lambda: implied(1 / sqrt(c) - y, "=", (1 / sqrt(c) - y) * sqrt(c), "=", sqrt(c))),
    Pair("extremum/the-engine's-own-star", lambda: Extremum((z - STAR) ** 2, Z, zero, "the only global minimum", above=z**2),
         "z* = 1", lambda: Extremum((z - STAR) ** 2, Z, STAR, "the only global minimum", above=(z - STAR) ** 2)),
    Pair("stationary/the-engine's-own-index", lambda: Stationary(sum_over(i, (w[i] - b[i] * a[i]) ** 2), W, a[MADE] * b),
         "n = 2, b = (1, 1), a = (1, 2)", lambda: Stationary(sum_over(i, (w[i] - b[i] * a[i]) ** 2), W, stack(i, a[i] * b[i]))),
    Pair("follows/the-engine's-own-index", lambda: decomposed(lambda left, s: left * s[Index("w1#", "r")]), "A = diag(1, 2)",
         lambda: decomposed(lambda left, s: left @ diag(s))),
    Pair("convex-program/semidefinite-of-no-matrix",
         lambda: ConvexProgram(Program("P", (W,), sum_over(i, as_term(Tensor("Q", ("n", "n", "n")))[i, i, i] * w[i] ** 2),
                                       semidefinite=(Tensor("Q", ("n", "n", "n")),))), "means nothing", lambda: quadratic(semidefinite=(Q_,))),
    Pair("dual/another-condition", lambda: Dual(LINEAR, ((W, b[j] - as_term(BETA)[j]),)), "b + β = 0",
         lambda: Dual(LINEAR, ((W, b[j] + as_term(BETA)[j]),))),
    Pair("identity/a-block-not-taken", lambda: Identity(part(apply("log", blocks(u, h)), "m"), apply("log", h)), "log(u), u = -1",
         lambda: Identity(part(apply("log", blocks(g, h)), "m"), apply("log", h))),
    Pair("definition/a-block-not-taken", lambda: Definition(x, sum_over(p, part(sqrt(blocks(u, h)), "m")[p])), "u = -1",
         lambda: Definition(x, sum_over(p, part(sqrt(blocks(g, h)), "m")[p]))),
    Pair("identity/off-the-diagonal", lambda: Identity(trace(sqrt(u @ u.T)), sum_over(i, sqrt(u[i] ** 2))), "u = (1, -1)",
         lambda: Identity(trace(sqrt(g @ g.T)), sum_over(i, sqrt(g[i] ** 2)))),
    Pair("definition/stacked-promise", lambda: Definition(stack(i, g[i]), u), "u = -1", lambda: Definition(stack(i, u[i]), g)),
    Pair("definition/diagonal-promise", lambda: Definition(POS[i, i], u[i]), "u = -1", lambda: Definition(POS[i, i], g[i])),
    Pair("definition/stacked-symmetry", lambda: Definition(stack(i, SYM[i]), ANY), "A = ((0, 1), (0, 0))",
         lambda: Definition(stack(i, SYM[i]), ANY + ANY.T)),
    Pair("definition/one-number-for-all-entries", lambda: Definition(stack(i, x), u), "u = (1, 2)", lambda: Definition(stack(i, a[i]), u)),
    Pair("example/three-entries-of-two", lambda: seen_at(3, THREE), "n + m = 2 gives two entries", lambda: seen_at(2, TWO)),
    Pair("rule/refuted-with-three-entries",
         lambda: Rule((Fact("s", size("n") + size("m") - 2, "="),), Fact("c", entries[I] - entries[J], "="), TWO),
         "1 and 2", lambda: Rule((Fact("s", size("n") + size("m") - 2, "="),),
                                 Fact("c", (entries[I] - entries[J]) * (entries[J] - entries[K]) * (entries[K] - entries[I]), "="), THREE)),
    Pair("identity/no-size-below-one", lambda: Identity(sum_over(i, softmax(i, u[i])), zero, sizes=(("n", 0),)), "it is 1",
         lambda: Identity(sum_over(i, softmax(i, u[i])), one, sizes=(("n", 1),))),
    Pair("identity/index-of-two-ranges-in-a-stack", lambda: Identity(stack(i, u[i] * f[twin]), f[twin] * u), "f = (1, 2)",
         lambda: Identity(stack(i, u[i] * f[p]), f[p] * u)),
    Pair("identity/index-of-two-ranges-in-a-point",
         lambda: Identity(at_point(x, X, sum_over(i, u[i] * f[twin])), f[twin] * sum_over(j, u[j])), "f = (1, 2)",
         lambda: Identity(at_point(x, X, sum_over(i, u[i] * f[p])), f[p] * sum_over(j, u[j]))),
    Pair("identity/held-fixed-below-a-point",
         lambda: Identity(at_point(x, X, grad(c * y, Y)), c, given=(Given(C, (), y**2, "r"),)), "y = 1: 3 against 1",
         lambda: Identity(at_point(x, X, grad(c * y, Y)), c)),
    Pair("differs/a-size-that-is-a-difference", lambda: Differs(sum_over(Index("c", "C"), one), size("C-1") + 1), "equal for every C",
         lambda: Differs(sum_over(Index("c", "C"), one), size("C") + 1)),
    Pair("identity/an-index-named-as-a-size", lambda: Identity(sum_over(Index("n", "n"), size("n")), size("n") ** 2), "1 + 2 = 3, not 4",
         lambda: Identity(sum_over(i, size("n")), size("n") ** 2)),
    Pair("identity/one-name-for-two-energies", lambda: Identity(grad(2 * x**2, X), 2 * grad(x**2, X)), "∇E = 2∇E",
         lambda: Identity(grad(2 * x**2, X), 2 * grad(x**2, X, "f"))),
    Pair("identity/one-name-for-two-formulas", lambda: Identity(formula("u^3", x), x * formula("u^2", x)), "F(x) = x F(x)",
         lambda: Identity(formula("u^3", x), x**3)),
    Pair("identity/one-name-for-two-directions",
         lambda: Identity(along(x**2, "dx", "E") * as_term(Tensor("dy")), along(x**2, "dy", "E") * as_term(Tensor("dx"))), "dE dy = dE dx",
         lambda: Identity(along(x**2, "dx", "E"), 2 * x * as_term(Tensor("dx")))),
    Pair("identity/a-function-in-another's-clothes", lambda: Identity(apply("tanh", x, r"\sin") * apply("cosh", x), apply("sinh", x)),
         "sin(1) cosh(1)", lambda: Identity(apply("tanh", x) * apply("cosh", x), apply("sinh", x))),
    Pair("differs/two-functions-printed-alike", lambda: Differs(apply("f", x, "h"), apply("g", x, "h")), "h(x) ≠ h(x)",
         lambda: Differs(apply("f", x), apply("g", x))),
    Pair("identity/one-function-printed-as-two", lambda: Identity(apply("F", x, "h"), apply("F", x, "g")), "h(x) = g(x)",
         lambda: Identity(apply("F", x) + 0 * x, apply("F", x))),
    Pair("differs/an-index-with-a-blank", lambda: Differs(u[i], u[Index("i ", "n")]), "u_i ≠ u_i", lambda: Differs(u[i], u[j])),
    Pair("differs/entries-printed-alike",
         lambda: Differs(as_term(Tensor("q", ("n", "n"), entry_latex="q_{%1%2}"))[i, j],
                         as_term(Tensor("r", ("n", "n"), entry_latex="q_{%2%1}"))[j, i]), "q_ij ≠ q_ij",
         lambda: Differs(ANY[i, j], ANY[j, i])),
    Pair("differs/a-power-of-a-matrix-read-as-a-product", lambda: Identity(ANY**2, ANY @ ANY), "entry by entry", lambda: Differs(ANY**2, ANY @ ANY)),
    Pair("identity/exponential-of-a-trace", lambda: Identity(exp(trace(ANY)), sum_over(i, exp(ANY[i, i]))), "n = 2",
         lambda: Identity(trace(exp(ANY)), sum_over(i, exp(ANY[i, i])))),
    Pair("limit/a-rate-that-sympy-cannot-bound", lambda: Limit(Z, 2 * z, zero, rate=as_term(2)), "z doubles",
         lambda: Limit(Z, z * apply("clip", as_term(ETA)), zero, rate=apply("clip", as_term(ETA)), high=Fraction(1))),
    Pair("example/a-size-that-is-not-given", lambda: Example((Fact("s", size("n{+}m") - 3, "="),), Point((("n{+}m", 2),), ())), "2 is not 3",
         lambda: Example((Fact("s", size("n") - 2, "="),), Point((("n", 2),), ()))),
    Pair("implication/a-sum-over-an-index-of-the-same-letter", lambda: implied(x - Fraction(1, 2), ">=", x - 1, ">=", 1), "x = 1/2",
         lambda: implied(x - 1, ">=", 2 * x - 2, ">=", 2)),
]  # fmt: skip
