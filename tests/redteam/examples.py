"""What the worked examples' engines could take for true: angles, masks, maxima, means, inequalities."""

from __future__ import annotations

from fractions import Fraction

from checks.statement import Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, apply, as_term, exp, softmax, sum_over
from redteam.pair import Pair

HALF = Fraction(1, 2)
j = Index("j", "N")
x, y, t = (as_term(Tensor(name)) for name in "xyt")
u, v, w = (as_term(Tensor(name, ("N",))) for name in "uvw")


def cos(angle: Term, order: int = 0) -> Term:
    return apply("cos", angle, order=order)


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
         lambda: Identity((sin(x) ** 2 + cos(x) ** 2) / (2 + cos(x)), 1 / (2 + cos(x)))),
    Pair("identity/squares-in-an-exponent", lambda: Identity(exp(sin(x) ** 2 - cos(x) ** 2), exp(-cos(2 * x) * t)), "t = 0",
         lambda: Identity(exp(sin(x) ** 2 - cos(x) ** 2), exp(-cos(2 * x)))),
    Pair("identity/weights-of-turned-keys", lambda: Identity(softmax(j, cos(x + t - v[j] + t)), softmax(j, cos(x - v[j]))), "t = 1",
         lambda: Identity(softmax(j, cos(x + t - (v[j] + t))), softmax(j, cos(x - v[j])))),
    Pair("identity/many-turns", lambda: Identity(cos(20 * x), cos(10 * x) ** 2 + sin(10 * x) ** 2), "x = 1",
         lambda: Identity(cos(20 * x), cos(10 * x) ** 2 - sin(10 * x) ** 2)),
)  # fmt: skip
PAIRS = ANGLES
