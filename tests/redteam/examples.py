"""What the worked examples' engines could take for true: angles, masks, maxima, means, inequalities."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from checks.kinds.examples import Point
from checks.kinds.follows import Equation, Follows
from checks.kinds.gaussian import GaussianMean
from checks.kinds.inequality import AtLeast
from checks.kinds.normal_mean import NormalMean
from checks.statement import Given, Identity
from derivations.calculus.gradients import bregman, grad, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.masks import earlier, not_later, previous
from derivations.calculus.maxima import maximum
from derivations.calculus.term import Term, apply, as_term, exp, size, softmax, squared_norm, stack, sum_over
from redteam.pair import Pair

HALF = Fraction(1, 2)
i, j, l, k = (*(Index(name, "N") for name in "ijl"), Index("k", "M"))
X, Y = Tensor("x"), Tensor("y")
x, y, t = as_term(X), as_term(Y), as_term(Tensor("t"))
p, q = (as_term(Tensor(name, positive=True)) for name in "pq")
one = as_term(1)
U = Tensor("u", ("N",))
u, v, w = as_term(U), *(as_term(Tensor(name, ("N",))) for name in "vw")


def cos(angle: Term, order: int = 0) -> Term:
    return apply("cos", angle, order=order)


def log(arg: Term) -> Term:
    return apply("log", arg)


def relu(arg: Term, order: int = 0) -> Term:
    return apply("relu", arg, order=order)


def sin(angle: Term, order: int = 0) -> Term:
    return apply("sin", angle, order=order)


ANGLES = (
    Pair("identity/sum-of-angles", lambda: Identity(cos(x + y), cos(x) * cos(y) + sin(x) * sin(y)), "x = y: cos 2x is not 1",
         lambda: Identity(cos(x - y), cos(x) * cos(y) + sin(x) * sin(y))),
    Pair("identity/half-an-angle", lambda: Identity(cos(HALF * x) ** 2, 1 + cos(x) / 2), "x = 0",
         lambda: Identity(cos(HALF * x) ** 2, (1 + cos(x)) / 2)),
    Pair("identity/triple-angle", lambda: Identity(sin(3 * x), 3 * sin(x) + 4 * sin(x) ** 3), "x = π/2",
         lambda: Identity(sin(3 * x), 3 * sin(x) - 4 * sin(x) ** 3)),
    Pair("identity/squares-of-two-angles", lambda: Identity(sin(x) ** 2 + cos(y) ** 2, as_term(1)), "x = 0, y = π/2",
         lambda: Identity(sin(x) ** 2 + cos(-x) ** 2, as_term(1))),
    Pair("identity/angle-that-is-a-sum", lambda: Identity(cos(sum_over(j, u[j])), sum_over(j, cos(u[j]))), "N = 2, u = 0",
         lambda: Identity(cos(sum_over(j, u[j]) + x), cos(sum_over(j, u[j])) * cos(x) - sin(sum_over(j, u[j])) * sin(x))),
    Pair("identity/second-derivative-of-a-cosine", lambda: Identity(cos(x + y, 2), cos(x) * cos(y) - sin(x) * sin(y)), "x = y = 0",
         lambda: Identity(cos(x + y, 2), sin(x) * sin(y) - cos(x) * cos(y))),
    Pair("identity/cosine-below-a-fraction-bar", lambda: Identity(sin(x) ** 2 / cos(x) + cos(x), 1 / cos(x)), "x = π/2",
         lambda: Identity((sin(x) ** 2 + cos(x) ** 2) / exp(cos(x)), exp(-cos(x)))),
    Pair("identity/squares-in-an-exponent", lambda: Identity(exp(sin(x) ** 2 - cos(x) ** 2), exp(-cos(2 * x) * t)), "t = 0",
         lambda: Identity(exp(sin(x) ** 2 - cos(x) ** 2), exp(-cos(2 * x)))),
    Pair("identity/weights-of-turned-keys", lambda: Identity(softmax(j, cos(x + t - v[j] + t)), softmax(j, cos(x - v[j]))), "t = 1",
         lambda: Identity(softmax(j, cos(x + t - (v[j] + t))), softmax(j, cos(x - v[j])))),
    Pair("identity/many-turns", lambda: Identity(cos(20 * x), cos(10 * x) ** 2 + sin(10 * x) ** 2), "x = 1",
         lambda: Identity(cos(20 * x), cos(10 * x) ** 2 - sin(10 * x) ** 2)),
)  # fmt: skip
LOGARITHMS = (
    Pair("identity/exponential-of-a-logarithm", lambda: Identity(exp(log(x)), x), "x = -1", lambda: Identity(exp(log(p)), p)),
    Pair("identity/exponential-of-two-logarithms", lambda: Identity(exp(2 * log(p)), 2 * p), "p = 1", lambda: Identity(exp(2 * log(p)), p**2)),
    Pair("identity/exponential-of-a-product-of-logarithms", lambda: Identity(exp(log(p) * log(q)), p * q), "p = 1, q = 2",
         lambda: Identity(exp(log(p) + log(q)), p * q)),
    Pair("identity/exponential-of-minus-a-logarithm", lambda: Identity(exp(-log(x**2)), 1 / x**2), "x = 0",
         lambda: Identity(exp(-log(p + q)), 1 / (p + q))),
    Pair("identity/root-by-a-logarithm", lambda: Identity(exp(HALF * log(x**2)), x, nonzero=(X,)), "x = -1",
         lambda: Identity(exp(HALF * log(p**2)), p)),
    Pair("identity/exponential-of-a-sum-of-logarithms", lambda: Identity(exp(sum_over(j, log(exp(u[j]) + 1))), sum_over(j, exp(u[j]) + 1)), "N = 2, u = 0",
         lambda: Identity(exp(log(sum_over(j, exp(u[j]) + 1))), sum_over(j, exp(u[j]) + 1))),
)  # fmt: skip

INEQUALITIES = (
    Pair("at-least/square", lambda: AtLeast(x**2, x, (x - HALF) ** 2), "x = 1/2", lambda: AtLeast(x**2 + 1, 2 * x, (x - 1) ** 2)),
    Pair("at-least/by-a-hair", lambda: AtLeast(x**2 + y**2, 2 * (x * y) + Fraction(1, 10**30), (x - y) ** 2), "x = y",
         lambda: AtLeast(x**2 + y**2, 2 * (x * y), (x - y) ** 2)),
    Pair("at-least/tangent", lambda: AtLeast(exp(x), 1 + 2 * x, bregman("exp", x, 0 * one)), "x = 1",
         lambda: AtLeast(exp(x), 1 + x, bregman("exp", x, 0 * one))),
    Pair("at-least/not-convex", lambda: AtLeast(sin(x), sin(y) + cos(y) * (x - y), bregman("sin", x, y)), "x = 3, y = 0",
         lambda: AtLeast(apply("cosh", x), apply("cosh", y) + apply("cosh", y, order=1) * (x - y), bregman("cosh", x, y))),
    Pair("at-least/logarithm-of-anything", lambda: AtLeast(x - 1, log(x), bregman("exp", log(x), 0 * one)), "x = -1",
         lambda: AtLeast(p - 1, log(p), bregman("exp", log(p), 0 * one))),
    Pair("at-least/quotient", lambda: AtLeast(x**2 / y, 0 * one, x**2 / y), "y = -1", lambda: AtLeast(x**2 / p, 0 * one, x**2 / p)),
    Pair("at-least/quotient-undefined", lambda: AtLeast(x**2 / y**2, 0 * one, (x / y) ** 2), "y = 0",
         lambda: AtLeast(x**2 / y**2, 0 * one, (x / y) ** 2, nonzero=(Y,))),
    Pair("at-least/definition", lambda: AtLeast(y, 0 * one, y, (Given(Y, (), x**3, "defined"),)), "x = -1",
         lambda: AtLeast(y, 0 * one, y, (Given(Y, (), x**4, "defined"),))),
    Pair("at-least/each-index", lambda: AtLeast(sum_over(j, u[j]), u[j], sum_over(j, u[j] ** 2)), "N = 2, u = (1, -1)",
         lambda: AtLeast(sum_over(j, u[j] ** 2) + u[j] ** 2, 0 * one, sum_over(j, u[j] ** 2) + u[j] ** 2)),
    Pair("at-least/kink", lambda: AtLeast(relu(x), relu(y) + relu(y, 1) * (x - y), bregman("relu", x, y)), "undefined at y = 0",
         lambda: AtLeast(relu(x), relu(p) + relu(p, 1) * (x - p), bregman("relu", x, p))),
    Pair("at-least/negative-slope", lambda: AtLeast(-exp(x), -(1 + x), -bregman("exp", x, 0 * one)), "x = 1",
         lambda: AtLeast(-(1 + x), -exp(x), bregman("exp", x, 0 * one))),
)  # fmt: skip
MAXIMA = (
    Pair("identity/maximum-that-is-a-minimum", lambda: Identity(maximum(x, y), (x + y - apply("abs", x - y)) / 2), "x = 1, y = 0",
         lambda: Identity(maximum(x, y), (x + y + apply("abs", x - y)) / 2)),
    Pair("identity/maximum-of-negatives", lambda: Identity(maximum(-x, -y), -maximum(x, y)), "x = 1, y = 0",
         lambda: Identity(maximum(-x, -y), maximum(x, y) - x - y)),
    Pair("identity/maximum-times-a-number", lambda: Identity(maximum(t * x, t * y), t * maximum(x, y)), "t = -1, x = 1, y = 0",
         lambda: Identity(maximum(3 * x, 3 * y), 3 * maximum(x, y))),
    Pair("identity/square-of-a-ramp", lambda: Identity(relu(x) ** 2, x**2), "x = -1", lambda: Identity(relu(x) ** 2, x * relu(x))),
    Pair("identity/ramp-of-a-product", lambda: Identity(relu(x * y), relu(x) * relu(y)), "x = y = -1",
         lambda: Identity(relu(p + q), p + q)),
    Pair("identity/ramps-of-both-signs", lambda: Identity(relu(x) + relu(-x), x), "x = -1", lambda: Identity(relu(x) - relu(-x), x)),
    Pair("identity/maximum-below-a-fraction-bar", lambda: Identity(maximum(x, y) / maximum(y, x), one), "x = y = 0",
         lambda: Identity(exp(maximum(x, y)) / exp(maximum(y, x)), one)),
    Pair("identity/slope-of-a-maximum", lambda: Identity(grad(maximum(x, 0 * one), X), relu(x, 1)), "x = 0 has none",
         lambda: Identity(grad(maximum(x, 0 * one) ** 3, X), 3 * relu(x) ** 2 * relu(x, 1), nonzero=(X,))),
    Pair("identity/maximum-of-equals", lambda: Identity(maximum(x, x**2), x**2), "x = 1/2", lambda: Identity(maximum(x, x), x)),
    Pair("at-least/maximum", lambda: AtLeast(maximum(x, y), x + y, relu(x) + relu(y)), "x = y = 1",
         lambda: AtLeast(maximum(x, y), x, relu(y - x))),
    Pair("at-least/factor-above-one", lambda: AtLeast(one, exp(maximum(x, y) - x), exp(x) * relu(y - x)), "x = 0, y = 1",
         lambda: AtLeast(one, exp(x - maximum(x, y)), relu(y - x) * exp(-relu(y - x)) + bregman("exp", 0 * one, -relu(y - x)))),
)  # fmt: skip
S_ = Tensor("s", ("N",))
s = as_term(S_)
UPTO = sum_over(j, not_later(j, i) * u[j])
PREFIX = (Given(S_, (i,), UPTO, "prefix sums"),)
STRICT = (Given(S_, (i,), sum_over(j, earlier(j, i) * u[j]), "strict prefix sums"),)
TURNED = (Given(S_, (i,), sum_over(j, not_later(j, i) * sin(u[j])), "prefix sums of sines"),)
RUN = Tensor("H", ("N",))
run = as_term(RUN)
DECAYED = Given(RUN, (i,), sum_over(j, not_later(j, i) * exp(s[j] - s[i]) * v[j]), "decayed by prefix sums")
BETWEEN = exp(sum_over(l, earlier(j, l) * not_later(l, i) * u[l]))
RANGE = tuple(
    Given(
        RUN,
        (i,),
        sum_over(j, not_later(j, i) * exp(-sum_over(l, mask(j, l) * not_later(l, i) * u[l])) * v[j]),
        "decayed by sums of a range",
    )
    for mask in (not_later, earlier)
)
STARTED = tuple(
    (*PREFIX, Given(run.data, (i,), exp(-s[i]) * start + sum_over(j, not_later(j, i) * exp(s[j] - s[i]) * v[j]), "from a start"))
    for start in (x, one)
)  # fmt: skip
MASKS = (
    Pair("identity/another-start", lambda: Identity(run[i], exp(-u[i]) * previous(run, i, 2 * x) + v[i], STARTED[0]), "i = 1, u = 0, x = 1",
         lambda: Identity(run[i], exp(-u[i]) * previous(run, i, x) + v[i], STARTED[0])),
    Pair("identity/start-that-is-0", lambda: Identity(run[i], exp(-u[i]) * previous(run, i) + v[i], STARTED[1]), "i = 1, u = v = 0",
         lambda: Identity(run[i], exp(-u[i]) * previous(run, i, one) + v[i], STARTED[1])),
    Pair("identity/decay-of-the-own-input", lambda: Identity(run[i], exp(-u[i]) * (previous(run, i) + v[i]), (*PREFIX, DECAYED)), "u = v = 1, i = 1",
         lambda: Identity(run[i], exp(-u[i]) * previous(run, i) + v[i], (*PREFIX, DECAYED))),
    Pair("identity/decay-by-strict-sums", lambda: Identity(run[i], exp(-u[i]) * previous(run, i) + v[i], (*STRICT, DECAYED)), "u = (0, 1), v = (1, 0), i = 2",
         lambda: Identity(run[i], exp(-previous(u, i)) * previous(run, i) + v[i], (*STRICT, DECAYED))),
    Pair("identity/decay-over-a-range", lambda: Identity(run[i], exp(-u[i]) * previous(run, i) + v[i], RANGE[:1]), "u = v = 1, i = 1",
         lambda: Identity(run[i], exp(-u[i]) * previous(run, i) + v[i], RANGE[1:])),
    Pair("identity/range-behind-its-end", lambda: Identity(BETWEEN, exp(s[i] - s[j]), PREFIX), "i = 1, j = 2, u = 1",
         lambda: Identity(not_later(j, i) * BETWEEN, not_later(j, i) * exp(s[i] - s[j]), PREFIX)),
    Pair("identity/row-before-the-first", lambda: Identity(previous(exp(-s), i), exp(u[i] - s[i]), PREFIX), "i = 1",
         lambda: Identity(previous(exp(-s), i) * exp(-u[i]), exp(-s[i]) * previous(stack(i, one), i), PREFIX)),
    Pair("identity/off-by-one", lambda: Identity(s[i], previous(s, i), PREFIX), "u = 1", lambda: Identity(s[i], previous(s, i) + u[i], PREFIX)),
    Pair("identity/recurrence-of-turned-angles", lambda: Identity(s[i], previous(s, i) + sin(-u[i]), TURNED), "u = 1",
         lambda: Identity(s[i], previous(s, i) - sin(-u[i]), TURNED)),
    Pair("identity/recurrence-of-strict-sums", lambda: Identity(s[i], previous(s, i) + u[i], STRICT), "i = 1, u = 1",
         lambda: Identity(s[i], previous(s, i) + previous(u, i), STRICT)),
    Pair("identity/mask-turned-around", lambda: Identity(sum_over(j, not_later(i, j) * u[j]), UPTO), "N = 2, i = 1, u = 1",
         lambda: Identity(sum_over(j, earlier(j, i) * u[j]) + u[i], UPTO)),
    Pair("identity/mask-on-the-diagonal", lambda: Identity(earlier(i, i), one), "i is not before itself", lambda: Identity(not_later(i, i), one)),
    Pair("identity/all-but-the-last", lambda: Identity(sum_over(i, previous(u, i)), sum_over(i, u[i])), "N = 1, u = 1",
         lambda: Identity(sum_over(j, earlier(j, i) ** 2 * u[j]), sum_over(j, earlier(j, i) * u[j]))),
    Pair("identity/mask-that-is-dropped", lambda: Identity(UPTO, sum_over(j, u[j])), "N = 2, i = 1, u = 1",
         lambda: Identity(sum_over(j, not_later(j, i) * not_later(j, i) * u[j]), UPTO)),
    Pair("identity/mean-of-nothing", lambda: Identity(sum_over(j, earlier(j, i) * p) / sum_over(j, earlier(j, i) * p), one), "i = 1",
         lambda: Identity(sum_over(j, not_later(j, i) * p) / sum_over(j, not_later(j, i) * p), one)),
    Pair("identity/mask-in-an-exponent", lambda: Identity(exp(UPTO), sum_over(j, not_later(j, i) * exp(u[j]))), "u = 0, i = 2",
         lambda: Identity(exp(UPTO), exp(sum_over(j, earlier(j, i) * u[j])) * exp(u[i]))),
    Pair("identity/mask-between-ranges", lambda: Identity(sum_over(j, not_later(j, k) * u[j]), sum_over(j, not_later(j, k) * u[j]) + 0 * t), "no order",
         lambda: Identity(sum_over(j, not_later(j, l) * u[j]), sum_over(j, earlier(j, l) * u[j]) + u[l])),
    Pair("identity/gradient-of-later-tokens", lambda: Identity(grad(sum_over(i, w[i] * UPTO), U)[l], sum_over(i, not_later(i, l) * w[i])), "N = 2",
         lambda: Identity(grad(sum_over(i, w[i] * UPTO), U)[l], sum_over(i, not_later(l, i) * w[i]))),
    Pair("at-least/mask", lambda: AtLeast(sum_over(j, earlier(j, i) * u[j]), 0 * one, sum_over(j, earlier(j, i) * u[j])), "u = -1",
         lambda: AtLeast(sum_over(j, earlier(j, i) * exp(u[j])), 0 * one, sum_over(j, earlier(j, i) * exp(u[j])))),
)  # fmt: skip
Z, DRAWS = Tensor("z", ("d",)), Tensor("Z", ("m", "d"))
z, draws = as_term(Z), as_term(DRAWS)
a, b = (as_term(Tensor(name, ("d",))) for name in "ab")
r, o = Index("r", "m"), Index("o", "m")
D_ = Tensor("h", ("m",))
FEATURE = (Given(D_, (r,), exp(draws[r].T @ a), "a feature of each draw"),)
h = as_term(D_)
GROWN = exp(squared_norm(a) / 2)


def normal(integrand: Term, value: Term, w: Tensor = Z, given: tuple[Given, ...] = ()) -> NormalMean:
    return NormalMean(integrand, w, value, given)


MEANS = (
    Pair("normal-mean/exponential", lambda: normal(exp(z.T @ a), exp(squared_norm(a))), "half is missing", lambda: normal(exp(z.T @ a), GROWN)),
    Pair("normal-mean/cosine", lambda: normal(cos(z.T @ a), GROWN), "a cosine is at most 1", lambda: normal(cos(z.T @ a), exp(-squared_norm(a) / 2))),
    Pair("normal-mean/product-of-cosines", lambda: normal(cos(z.T @ a) * cos(z.T @ b), exp(-squared_norm(a - b) / 2)), "b = 0, a = 0 agree, others not",
         lambda: normal(cos(z.T @ a) * cos(z.T @ b) + sin(z.T @ a) * sin(z.T @ b), exp(-squared_norm(a - b) / 2))),
    Pair("normal-mean/one-draw-twice", lambda: normal(sum_over(r, sum_over(o, exp(draws[r].T @ a) * exp(draws[o].T @ a))), size("m") ** 2 * GROWN**2, DRAWS),
         "the squares are not independent", lambda: normal(sum_over(r, sum_over(o, exp(draws[r].T @ a) * exp(draws[o].T @ a))),
                                                           size("m") * (size("m") - 1) * GROWN**2 + size("m") * GROWN**4, DRAWS)),
    Pair("normal-mean/square-of-a-mean", lambda: normal((sum_over(r, cos(draws[r].T @ a)) / size("m")) ** 2, exp(-squared_norm(a)), DRAWS), "m = 1",
         lambda: normal((sum_over(r, cos(draws[r].T @ a)) / size("m")) ** 2,
                        exp(-squared_norm(a)) + (1 - exp(-squared_norm(a))) ** 2 / (2 * size("m")), DRAWS)),
    Pair("normal-mean/angle-in-an-exponent", lambda: normal(exp(z.T @ a) * cos(z.T @ b), exp((squared_norm(a) - squared_norm(b)) / 2)), "a = b",
         lambda: normal(exp(z.T @ a) * cos(z.T @ b), exp((squared_norm(a) - squared_norm(b)) / 2) * cos(a.T @ b))),
    Pair("normal-mean/shifted-sine", lambda: normal(sin(z.T @ a + t), 0 * t), "t = 1", lambda: normal(sin(z.T @ a + t), sin(t) * exp(-squared_norm(a) / 2))),
    Pair("normal-mean/not-linear", lambda: normal(exp(z.T @ z), as_term(1)), "there is none", lambda: normal(exp(z.T @ a + t * x), GROWN * exp(t * x))),
    Pair("normal-mean/polynomial-beside-it", lambda: normal((z.T @ a) * exp(z.T @ a), GROWN), "a = 0", lambda: normal(x * exp(z.T @ a), x * GROWN)),
    Pair("normal-mean/undefined-factor", lambda: normal(exp(z.T @ a) / x * x, GROWN), "x = 0", lambda: normal(exp(z.T @ a) / p * p, GROWN)),
    Pair("normal-mean/hyperbolic", lambda: normal(apply("cosh", z.T @ a), exp(-squared_norm(a) / 2)), "cosh is at least 1", lambda: normal(apply("cosh", z.T @ a), GROWN)),
    Pair("normal-mean/by-a-definition", lambda: normal(sum_over(r, h[r]) / size("m"), GROWN**2, DRAWS, FEATURE), "half is missing",
         lambda: normal(sum_over(r, h[r]) / size("m"), GROWN, DRAWS, FEATURE)),
    Pair("normal-mean/value-that-is-drawn", lambda: normal(exp(z.T @ a), exp(z.T @ a)), "the mean is a number", lambda: normal(exp(z.T @ a) * t, GROWN * t)),
)  # fmt: skip

W_, BETA = sp.Symbol("w", real=True), sp.Symbol("beta", real=True)
WAVES = (
    Pair("gaussian/moment-of-a-wave", lambda: GaussianMean(W_**2 * sp.cos(BETA * W_), W_, sp.exp(-BETA**2 / 2)), "(1 - β²) is missing",
         lambda: GaussianMean(W_**2 * sp.cos(BETA * W_), W_, (1 - BETA**2) * sp.exp(-BETA**2 / 2))),
    Pair("gaussian/variance-of-a-wave", lambda: GaussianMean((sp.cos(BETA * W_) - sp.exp(-BETA**2 / 2)) ** 2, W_, (1 - sp.exp(-BETA**2)) / 2), "β = 1",
         lambda: GaussianMean((sp.cos(BETA * W_) - sp.exp(-BETA**2 / 2)) ** 2, W_, (1 - sp.exp(-BETA**2)) ** 2 / 2)),
    Pair("gaussian/integral-with-kinks", lambda: GaussianMean(sp.Abs(W_**2 - 1), W_, 2 / sp.sqrt(2 * sp.pi * sp.E)),
         "it is twice that", lambda: GaussianMean(sp.Abs(W_**2 - 1), W_, 4 / sp.sqrt(2 * sp.pi * sp.E))),
    Pair("gaussian/shifted-wave", lambda: GaussianMean(sp.sin(W_ + BETA), W_, sp.Integer(0)), "β = 1",
         lambda: GaussianMean(sp.sin(W_ + BETA), W_, sp.sin(BETA) * sp.exp(-sp.Rational(1, 2)))),
    Pair("gaussian/wave-of-a-square", lambda: GaussianMean(sp.cos(W_**2), W_, sp.Integer(1)), "cos w² is below 1 somewhere",
         lambda: GaussianMean(sp.cos(BETA) * W_**2, W_, sp.cos(BETA))),
)  # fmt: skip
TAU, R_, T_ = as_term(Tensor("tau")), Tensor("r"), Tensor("t")
NOTHING = as_term(0)


def nearest(kept: bool) -> Follows:
    """max(z - τ, 0), which sums to 1, is at least as near to z as q, or its positive part, that sums to 1."""
    other = relu(v[i]) if kept else v[i]
    own = relu(u[i] - TAU)
    points = tuple(
        Point((("N", 2),), ((U, z), (Tensor("tau"), tau), (Tensor("v", ("N",)), q)))
        for z, tau, q in (((1, 0), 0, (HALF, HALF)), ((3, 0), 2, (0, 1)), ((HALF, 0), -HALF / 2, (1, 0)))
    )
    return Follows(
        (Equation(sum_over(i, other), one, T_), Equation(sum_over(i, own), one, R_)),
        sum_over(i, (other - u[i]) ** 2) / 2,
        sum_over(i, (own - u[i]) ** 2) / 2,
        TAU * (as_term(R_) - as_term(T_)),
        points,
        ">=",
        squares=sum_over(i, (other - own) ** 2) / 2 + sum_over(i, other * relu(TAU - u[i])),
    )


RAMPS = (
    Pair("identity/ramp-of-a-difference", lambda: Identity(relu(p - q), NOTHING), "p = 2, q = 1", lambda: Identity(relu(-p - q), NOTHING)),
    Pair("identity/ramp-of-a-ramp", lambda: Identity(relu(relu(x) - 1), relu(x) - 1), "x = 0", lambda: Identity(relu(relu(x) + 1), relu(x) + 1)),
    Pair("identity/size-of-a-square", lambda: Identity(apply("abs", x**2 - 1), x**2 - 1), "x = 0", lambda: Identity(apply("abs", -(x**2)), x**2)),
    Pair("at-least/less-than-two-deltas",
         lambda: AtLeast(sum_over(j, exp(u[j])), 2 * exp(u[i]), sum_over(j, (1 - 2 * kronecker(i, j)) * exp(u[j]))), "N = 1",
         lambda: AtLeast(sum_over(j, exp(u[j])), exp(u[i]), sum_over(j, (1 - kronecker(i, j)) * exp(u[j])))),
    Pair("follows/nearest-without-a-sign", lambda: nearest(False), "z = (2, 0), τ = 1, q = (3/2, -1/2)", lambda: nearest(True)),
)  # fmt: skip
PAIRS = (*ANGLES, *LOGARITHMS, *INEQUALITIES, *MAXIMA, *MASKS, *MEANS, *WAVES, *RAMPS)
