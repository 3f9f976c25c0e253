"""What an attack on all kinds at once got past the engines: operations that count nothing, symbols that are put in
or stand in an exponent, values that are no numbers.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Counted
from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.family import Family
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.limit import ETA, Limit
from checks.kinds.order import Order
from checks.kinds.programs import Convex, WellPosed
from checks.kinds.scope import Scoped
from checks.kinds.stationary import Stationary
from checks.statement import All, Definition, Fact, Given, Identity, Link
from derivations.calculus.functions import EXPONENT
from derivations.calculus.gradients import at_point, grad, power_p
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    apply,
    as_term,
    diag,
    exp,
    eye,
    row_softmax,
    size,
    softmax,
    squared_norm,
    stack,
    sum_over,
    trace,
    zeros,
)
from redteam.pair import Pair

X, Y, A = (Tensor(name) for name in "xya")
x, y, a = map(as_term, (X, Y, A))
U, L, i, j = Tensor("u", ("n",)), Tensor("lambda"), Index("i", "n"), Index("j", "n")
M, S_ = Tensor("M", ("n", "n")), Tensor("S", ("n", "n"), symmetric=True)
m, s = as_term(M), as_term(S_)
u, eta = as_term(U), as_term(ETA)
POSITIVE = Tensor("x", positive=True)
p = as_term(POSITIVE)
W, k = Tensor("w", ("n",)), Index("k", "n")
v, w = as_term(Tensor("v", ("n",))), as_term(W)
READY, OUT = Tensor("P", ("n", "n")), Tensor("O", ("n", "n"))
FACTOR, GAP = as_term(Tensor("U", ("N", "r"))), Tensor("R", ("r", "r"))
D, S = sp.symbols("D s", positive=True)
FEWER = Index("i", "n-1")
T, BETWEEN, ABOVE = Tensor("t", ("n-1",)), Tensor("r"), Tensor("q")
t = as_term(T)
COLUMN = as_term(Tensor("c", ("n", "1")))
NO_SUM = sum_over(FEWER, exp(as_term(Tensor("s", ("n-1",)))[FEWER]))


def counted(formula, axes, symbols=(D,), steps=(1,), per=2):
    def whole(*sizes):
        return per * sum(sp.prod(each) for each in axes(*sizes))

    return Counted("c", formula, symbols, steps, axes, whole, per)


def limit(rate, high):
    return Limit(X, a + rate * (x - a), a, rate=rate, high=high)


def posed(objective, *data):
    return WellPosed(Program("p", (X,), objective), (X,), data)


TWICE, (E, F) = sum_over(k, m[i, k] * m[k, j]), (Tensor(name, ("n", "n")) for name in "EF")
RING = tuple(Assign(one, (i, j), as_term(other)[i, j] * m[i, j]) for one, other in ((E, F), (F, E)))


def call(arg):
    return apply("F", arg)


def found_ready(term, printed, *before, sizes=("n",)):
    """A product of matrices from a plan of one line, where another name for it is at hand."""
    given = (Given(READY, (i, j), TWICE, "its name"),)
    return Cost("c", (*before, Assign(OUT, (i, j), term)), printed, m @ m, sizes=sizes, given=given)


def squeezed(entry):
    """0 <= entry <= x, for all of its indices, and so 0 <= x."""
    facts = Fact("f", x - entry, ">="), Fact("g", entry, ">=")
    return Implication(facts, Fact("h", x, ">="), (("f", as_term(1)), ("g", as_term(1))))


def rooted(share):
    """y is a root of x, and so 0 <= y."""
    return Implication(
        (Fact("f", x**share - y, "="),), Fact("h", y, ">="), (("f", as_term(-1)),), rest=x**share
    )


def between(array, entry):
    """x = entry = y, for all of its indices, and so x = y."""
    (size_,) = array.dims
    points = tuple(Point(((size_, n),), ((X, n), (Y, n), (array, (n,) * n))) for n in (1, 2, 3))
    facts = Equation(x, entry, BETWEEN), Equation(y, entry, ABOVE)
    return Follows(facts, x, y, as_term(BETWEEN) - as_term(ABOVE), points)


def constant_mean(dim):
    """A mean of one number over a range, with weights that add to 1 where there are any, is y: so is x."""
    place, other = (Index(name, dim) for name in "kl")
    scores = as_term(Tensor("s", (dim,)))
    weights = exp(scores[place]) / sum_over(other, exp(scores[other]))
    return Implication(
        (Fact("f", sum_over(place, weights * x) - y, "="),),
        Fact("g", 2 * x - 2 * y, "="),
        (("f", as_term(2)),),
    )


def signed_mean(dim):
    """The same of a number that is not negative."""
    mean = sum_over(Index("k", dim), x / size(dim))
    return Implication((Fact("f", mean, ">="),), Fact("g", 3 * x, ">="), (("f", as_term(3)),))


def sign_of_a_mean(dim):
    """The same where the mean says what sign a multiplier has, and is not used itself."""
    mean = sum_over(Index("k", dim), x / size(dim))
    return Implication((Fact("f", mean, ">="), Fact("h", y, ">=")), Fact("g", x * y, ">="), (("h", x),))


def rest_of_a_mean(dim):
    """The same where it says that of what is left."""
    mean = sum_over(Index("k", dim), x / size(dim))
    facts = (Fact("f", mean, ">="), Fact("h", y, ">="))
    return Implication(facts, Fact("g", x + y, ">="), (("h", as_term(1)),), rest=x)


def followed_mean(dim):
    """The same as equations."""
    points = tuple(Point(((dim, n),), ((X, n), (Y, n))) for n in (1, 2, 3))
    return Follows(
        (Equation(sum_over(Index("k", dim), x / size(dim)), y, BETWEEN),), x, y, as_term(BETWEEN), points
    )


def computed_mean(dim):
    """What is stored is y, and what it stands for a mean of y."""
    return Cost(
        "m", (Assign(BETWEEN, (), 1 * y),), "0", sum_over(Index("k", dim), y / size(dim)), sizes=("n",)
    )


def fixed(value, index):
    """2w = 2 value, where w is given by the value."""
    return Identity(2 * w[index], 2 * value, given=(Given(W, (index,), value, ""),))


PAIRS = [
    Pair("counted/no-operation-per-product", lambda: counted(0 * D, lambda p: ((p, p),), per=0), "every product takes some",
         lambda: counted(3 * D**2, lambda p: ((p, p),), per=3)),
    Pair("counted/product-with-fewer-than-no-rows", lambda: counted(2 * D**2, lambda p: ((p, p), (p, p), (-p, p))),
         "no product gives operations back", lambda: counted(4 * D**2, lambda p: ((p, p), (p, p)))),
    Pair("counted/half-a-row", lambda: counted(D**2, lambda p: ((p, sp.Rational(p, 2)),)), "D = 1: half a row",
         lambda: counted(D**2, lambda p: ((p, p // 2),), steps=(2,))),
    Pair("counted/size-that-is-never-chosen", lambda: counted(6 * D, lambda p, q=3: ((p, q),), (D, S)), "s = 1: 2D",
         lambda: counted(2 * D * S, lambda p, q=3: ((p, q),), (D, S), (1, 1))),
    Pair("well-posed/put-for-a-symbol-and-not-given", lambda: posed(at_point(x**2 + y, Y, a)), "a is not given",
         lambda: posed(at_point(x**2 + y, Y, a), A)),
    Pair("well-posed/put-for-itself", lambda: posed(at_point(x**2 + y, Y, a * y), A), "the y that is put in is not given",
         lambda: posed(at_point(x**2 + y, Y, a * x), A)),
    Pair("well-posed/read-before-it-is-put-in", lambda: posed(at_point(x**2 + y, Y, a) + y, A), "the last y is not given",
         lambda: posed(at_point(x**2 + y, Y, a) + y, A, Y)),
    Pair("well-posed/exponent-that-is-not-given", lambda: posed(power_p(x) + x**2), "p is not given",
         lambda: posed(power_p(x) + x**2, EXPONENT)),
    Pair("identity/cube-root-of-a-cube", lambda: Identity((x**3) ** Fraction(1, 3), 2 * x), "x = 1",
         lambda: Identity((x**3) ** Fraction(1, 3), x)),
    Pair("implication/cube-root-that-is-not-negative", lambda: rooted(Fraction(1, 3)), "x = -8, y = -2", lambda: rooted(Fraction(1, 2))),
    Pair("identity/row-that-is-turned-twice", lambda: Identity(u.T.T, 2 * u), "u = 1", lambda: Identity((u.T @ m).T, m.T @ u)),
    Pair("identity/number-times-a-column", lambda: Identity(u @ (u.T @ v), v * squared_norm(u)), "u = (1, 0), v = (1, 1)",
         lambda: Identity(u @ (u.T @ v), (u @ u.T) @ v)),
    Pair("identity/softmax-of-a-vector", lambda: Identity(row_softmax(u), u), "u = 0",
         lambda: Identity(row_softmax(u), stack(i, softmax(i, u[i])))),
    Pair("identity/diagonal-of-a-column", lambda: Identity(diag(u.T.T), 2 * diag(u)), "u = 1", lambda: Identity(diag(u.T.T), diag(u))),
    Pair("identity/product-that-reads-as-one-of-matrices", lambda: Identity(u.T * u, sum_over(i, u[i])), "u = 2", lambda: Identity(u.T * u, squared_norm(u))),
    Pair("identity/trace-of-a-number", lambda: Identity(trace(u.T @ m @ u), trace(m)), "u = 0", lambda: Identity(trace(u.T @ m @ u), u.T @ m @ u)),
    Pair("identity/one-by-one", lambda: Identity(COLUMN.T @ COLUMN * u, u), "u = 1, c = 2", lambda: Identity(COLUMN.T @ COLUMN * u, squared_norm(COLUMN) * u)),
    Pair("identity/exponent-that-is-not-written", lambda: Identity(power_p(x, 1), power_p(x)), "p = 1, x = 2: 4 and 2",
         lambda: Identity(power_p(x, 1), x * power_p(x))),
    Pair("well-posed/exponent-inside-a-gradient", lambda: posed(grad(power_p(y) + x**2 * y, Y), Y), "p is not given",
         lambda: posed(grad(y**3 + x**2 * y, Y), Y)),
    Pair("rule/value-that-is-no-number", lambda: Rule((), Fact("f", x, ">"), Point((), ((X, float("nan")),))), "nothing is offered",
         lambda: Rule((), Fact("f", x**2, ">="), Point((), ((X, float("nan")),)))),
    Pair("rule/value-that-is-infinite", lambda: Rule((), Fact("f", x, ">"), Point((), ((X, float("inf")),))), "nothing is offered",
         lambda: Rule((), Fact("f", x - x, "="), Point((), ((X, float("inf")),)))),
    Pair("example/value-that-divides-by-zero", lambda: Example((Fact("f", x, ">"),), Point((), ((X, "1/0"),))), "1/0 is no number",
         lambda: Example((Fact("f", x, ">"),), Point((), ((X, "1/2"),)))),
    Pair("extremum/direction-that-is-no-number",
         lambda: Extremum(-(x**2), X, 0 * y, "a global minimum", witness=Point((), ()), direction=float("nan")), "x = 1: -1",
         lambda: Extremum(x**2, X, 0 * y, "a global minimum", above=x**2, witness=Point((), ()), direction=float("nan"))),
    Pair("well-posed/vector-that-is-minimised", lambda: WellPosed(Program("p", (U,), u), (U,), ()), "no vector is least",
         lambda: WellPosed(Program("p", (U,), squared_norm(u)), (U,), ())),
    Pair("convex/vector-on-the-left", lambda: Convex(Program("p", (X,), x**2, (Constraint(u, x, L),))), "no vector is less",
         lambda: Convex(Program("p", (X,), x**2, (Constraint(u[i], x, L, (i,)),)))),
    Pair("stationary/vector", lambda: Stationary(u, U, zeros("n")), "a gradient is of a number",
         lambda: Stationary(squared_norm(u), U, zeros("n"))),
    Pair("order/vector", lambda: Order(exp(x) * u, u + 2 * x * u, X, 2), "u_i: x u_i is left",
         lambda: Order(exp(x) * u[i], u[i] + x * u[i], X, 2)),
    Pair("follows/nothing-equals-the-identity",
         lambda: Follows((Equation(FACTOR.T @ FACTOR + eye("r"), FACTOR.T @ FACTOR, GAP),), size("r"), as_term(0),
                         trace(as_term(GAP)), "rational singular value decompositions"), "0 = I for no U",
         lambda: Follows((Equation(FACTOR.T @ FACTOR, eye("r"), GAP),), trace(FACTOR.T @ FACTOR), size("r"),
                         trace(as_term(GAP)), "rational singular value decompositions")),
    Pair("limit/range-that-ends-at-no-number", lambda: limit(5 * eta, float("nan")), "eta = 1: the rate is 5",
         lambda: limit(5 * eta, Fraction(1, 5))),
    Pair("order/two-and-a-half", lambda: Order(exp(x), 1 + x, X, 2.5), "x²/2 is left", lambda: Order(exp(x), 1 + x, X, 2)),
    Pair("identity/gradient-by-a-symmetric-matrix", lambda: Identity(grad(trace(s @ m), S_)[i, j], m[j, i]), "S_ij moves with S_ji",
         lambda: Identity(grad(trace(m @ m), M)[i, j], 2 * m[j, i])),
    Pair("stationary/symmetric-matrix", lambda: Stationary(squared_norm(s - m), S_, m), "M need not be symmetric",
         lambda: Stationary(squared_norm(s - m), S_, (m + m.T) / 2)),
    Pair("counted/product-without-axes", lambda: counted(2 * D**2 + 2, lambda p: ((p, p), ())), "no product has no axes",
         lambda: counted(2 * D**2 + 2 * D, lambda p: ((p, p), (p, 1)))),
    Pair("arithmetic/no-such-relation", lambda: Arithmetic((Figure("f", Fraction(1), "!=", Fraction(1)),)), "1 is 1",
         lambda: Arithmetic((Figure("f", Fraction(1), "<=", Fraction(1)),))),
    Pair("cost/product-that-is-found-ready", lambda: found_ready(as_term(READY)[i, j], "0"), "a definition computes it",
         lambda: found_ready(TWICE, "n**3")),
    Pair("all/rows-that-are-defined-twice", lambda: All(Definition(u[i], v[i]), Definition(u[j], 2 * v[j])), "u is v and 2v",
         lambda: All(Definition(u[i], v[i]), Definition(w[j], 2 * v[j]))),
    Pair("all/an-array-and-its-rows", lambda: All(Definition(u, v), Definition(u[j], 2 * v[j])), "u is v and 2v",
         lambda: All(Definition(u, v), Definition(w[j], 2 * v[j]))),
    Pair("all/two-rules-of-one-function", lambda: All(Definition(call(x), x**2), Definition(call(y), y**3)), "F(2) is 4 and 8",
         lambda: All(Definition(call(x), x**2), Definition(call(y), y**2))),
    Pair("all/given-twice-with-other-letters", lambda: All(fixed(v[i], i), fixed(2 * v[j], j)), "w is v and 2v",
         lambda: All(fixed(v[i], i), fixed(v[j], j))),
    Pair("all/an-example-against-a-definition", lambda: All(Definition(x, y**2), Example((Fact("f", -x, ">"),), Point((), ((X, -1),)))),
         "y² is not -1", lambda: All(Definition(x, y**2), Rule((), Fact("f", x, ">="), Point((), ((X, -1),))))),
    Pair("all/what-differs-from-its-definition", lambda: All(Definition(x, y), Differs(x, y)), "x is y",
         lambda: All(Definition(x, y + 1), Identity(x + 1, y + 2))),
    Pair("cost/line-that-is-overwritten", lambda: found_ready(TWICE, "n**3 + n**2", Assign(OUT, (i, j), m[i, j] * m[i, j])),
         "nothing reads the first", lambda: found_ready(TWICE, "n**3")),
    Pair("cost/ring-of-lines", lambda: found_ready(TWICE, "n**3 + 2*n**2", *RING), "the last line reads none of them",
         lambda: found_ready(TWICE, "n**3")),
    Pair("cost/size-that-is-listed-twice", lambda: found_ready(TWICE, "n**2", sizes=("n", "n")), "n**3",
         lambda: found_ready(TWICE, "n**3")),
    Pair("scoped/named-twice", lambda: All(Scoped(x, y), Scoped(x, 2 * y)), "x is y and 2y", lambda: All(Scoped(x, y), Scoped(a, 2 * y))),
    Pair("family/an-example-against-a-definition",
         lambda: All(Definition(x, y**2), Family(None, (("a", Example((Fact("f", -x, ">"),), Point((), ((X, -1),)))),))),
         "y² is not -1", lambda: All(Definition(x, y**2), Family(None, (("a", Identity(x + x, 2 * x)),)))),
    Pair("family/definition-in-a-case",
         lambda: Family(None, (("a", All(Definition(x, y), Differs(x, y))),)), "x is y",
         lambda: Family(None, (("a", Definition(x, y)), ("b", Definition(x, 2 * y))))),
    Pair("family/an-open-case-beside-what-is-general",
         lambda: Family(Identity(x + x, 2 * x), (("a", Rule((), Fact("f", x, ">="), Point((), ((X, 1),)))),)), "x = -1",
         lambda: Family(Identity(x + x, 2 * x), (("a", Identity(y + y, 2 * y)),))),
    Pair("family/cases-that-their-labels-tell-apart",
         lambda: Family(None, (("$p = 1$", Identity(x * x, x**2)), ("$p = 2$", Identity(x * x, x**2)))), "p = 1: x",
         lambda: Family(None, (("$p = 2$", Identity(x * x, x**2)), ("$p = 3$", Identity(x * x * x, x**3))))),
    Pair("family/two-cases-of-one-label",
         lambda: Family(None, (("$p = 2$", Identity(x * x, x**2)), ("$p = 2$", Identity(x * x * x, x**3)))), "p = 2: x²",
         lambda: Family(None, (("$p = 2$", Identity(x * x, x**2)), ("$p = 3$", Identity(x * x * x, x**3))))),
    Pair("order/choice-that-makes-the-sides-one", lambda: Order(exp(x * a), 1 + x * a, X, 5, (Given(A, (), as_term(0), ""),)),
         "a = 1: x²/2 is left; with a = 0 both sides are 1", lambda: Order(exp(x * a), 1 + x * a, X, 2, (Given(A, (), as_term(1), ""),))),
    Pair("order/choice-of-the-other-side", lambda: Order(y + x * a, y + x * y, X, 2, (Given(A, (), y, ""),)), "a = 0: x y is left",
         lambda: Order(y + x * a + x**2, y + x * y, X, 2, (Given(A, (), y, ""),))),
    Pair("well-posed/function-that-nothing-says", lambda: posed(call(x)), "F is neither", lambda: posed(exp(x) + y, Y)),
    Pair("all/what-differs-from-a-function's-rule", lambda: All(Definition(call(x), x**2), Differs(call(y), y**2)), "F(y) is y²",
         lambda: All(Definition(call(x), x**2), Identity(call(2 * y), 4 * y**2))),
    Pair("all/a-name-under-another-promise", lambda: All(Definition(x, -(y**2)), Example((Fact("f", p, ">"),), Point((), ((POSITIVE, 1),)))),
         "x is not positive", lambda: All(Definition(x, -(y**2)), Identity(p + p, 2 * p))),
    Pair("all/ring-of-three", lambda: All(Definition(x, y + 1), Definition(y, a + 1), Definition(a, x + 1)), "x = x + 3",
         lambda: All(Definition(x, y + 1), Definition(y, a + 1), Definition(a, eta + 1))),
    Pair("all/ring-through-what-is-given", lambda: All(Definition(x, y + 1), Identity(2 * y, 2 * x, (Given(Y, (), x, ""),))), "y = y + 1",
         lambda: All(Definition(x, y + 1), Identity(2 * y, 2 * a, (Given(Y, (), a, ""),)))),
    Pair("identity/size-that-is-none", lambda: Identity(size("n-1") / size("n-1"), as_term(1)), "n = 1: 0/0",
         lambda: Identity(size("n") / size("n"), as_term(1))),
    Pair("identity/a-sum-of-no-summands", lambda: Identity(NO_SUM / NO_SUM, as_term(1)), "n = 1: 0/0",
         lambda: Identity((1 + NO_SUM) / (1 + NO_SUM), as_term(1))),
    Pair("implication/what-is-said-of-no-entry", lambda: squeezed(t[FEWER]), "n = 1, x = -1: there is no entry", lambda: squeezed(u[i])),
    Pair("follows/what-is-said-of-no-entry", lambda: between(T, t[FEWER]), "n = 1: there is no entry", lambda: between(U, u[i])),
    Pair("implication/weights-of-no-token", lambda: constant_mean("n-1"), "n = 1: y = 0, and x is any number", lambda: constant_mean("n")),
    Pair("implication/mean-of-no-number", lambda: signed_mean("n-1"), "n = 1, x = -1: 0 is no less than 0", lambda: signed_mean("n")),
    Pair("implication/sign-by-a-mean-of-no-number", lambda: sign_of_a_mean("n-1"), "n = 1, x = -1, y = 1", lambda: sign_of_a_mean("n")),
    Pair("implication/rest-by-a-mean-of-no-number", lambda: rest_of_a_mean("n-1"), "n = 1, x = -1, y = 0", lambda: rest_of_a_mean("n")),
    Pair("follows/mean-of-no-number", lambda: followed_mean("n-1"), "n = 1: y = 0, and x is any number", lambda: followed_mean("n")),
    Pair("cost/mean-of-no-number", lambda: computed_mean("n-1"), "n = 1, y = 1: the mean is 0", lambda: computed_mean("n")),
    Pair("identity/nonzero-exponent-that-occurs-nowhere", lambda: Identity(x * y, x * a, nonzero=(EXPONENT,)), "x = y = 1, a = 0",
         lambda: Identity(x * y, y * x, nonzero=(EXPONENT,))),
    Pair("identity/nonzero-in-a-link-alone",
         lambda: Identity(x * x - y * y, (x - y) ** 2, chain=(Link((x * x - y * y) * a / a, ""),), nonzero=(A,)), "x = 1, y = 2: -3 and 1",
         lambda: Identity(x * x - y * y, (x - y) * (x + y), chain=(Link((x * x - y * y) * a / a, ""),), nonzero=(A,))),
]  # fmt: skip
