"""What a later attack got past the engines: formulas that are differentiated, replaced or laid aside without
being defined, definitions that move, promises of the variable, sizes of stacked dimensions.
"""

from __future__ import annotations

from fractions import Fraction

from checks.kinds.differs import Differs
from checks.kinds.extremum import Extremum
from checks.kinds.implication import Implication
from checks.kinds.stacked import Stacked
from checks.kinds.stationary import Stationary
from checks.statement import Definition, Fact, Given, Identity, Link
from derivations.calculus.functions import EXPONENT
from derivations.calculus.gradients import Differential, at_point, bregman, formula, grad, power_p
from derivations.calculus.index import Tensor
from derivations.calculus.term import (
    apply,
    as_term,
    blocks,
    eye,
    part,
    size,
    sqrt,
    squared_norm,
    trace,
    zeros,
)
from redteam.pair import Pair

X, Y, Z, B, T = (Tensor(name) for name in "xyzbt")
P_ = Tensor("q", (), positive=True)
x, y, z, b, t, p = (as_term(s) for s in (X, Y, Z, B, T, P_))
SY = Tensor("s", ("N", "N"), symmetric=True)
a = as_term(Tensor("a", ("N", "N")))
F1, F2 = as_term(Tensor("f", ("n",))), as_term(Tensor("g", ("m",)))
K12 = as_term(Tensor("k", ("n", "m")))
NM = "n{+}m"


def log(arg):
    return apply("log", arg)


def minimum(energy, variable, point, above, says="a global minimum", **more):
    return Extremum(energy, variable, as_term(point), says, as_term(above), **more)


def given(tensor, value):
    return (Given(tensor, (), as_term(value), ""),)


PAIRS = [
    Pair("identity/gradient-of-an-undefined-energy", lambda: Identity(grad(x + log(y), X), as_term(1)),
         "y = -1: there is no energy", lambda: Identity(grad(x + log(p), X), as_term(1))),
    Pair("identity/gradient-of-a-logarithm", lambda: Identity(grad(log(x), X), 1 / x, nonzero=(X,)),
         "x = -1: log(-1)", lambda: Identity(grad(log(p), P_), 1 / p)),
    Pair("identity/gradient-beside-a-root", lambda: Identity(grad(sqrt(y) + x, X), as_term(1)), "y = -1",
         lambda: Identity(grad(sqrt(y**2 + 1) + x, X), as_term(1))),
    Pair("identity/differential-beside-a-logarithm", lambda: Identity(Differential((), (x + log(y), X, Z, "")), z),
         "y = -1", lambda: Identity(Differential((), (x + log(p), X, Z, "")), z)),
    Pair("identity/substituted-value-that-drops-out", lambda: Identity(at_point(y, X, 1 / x), y), "x = 0",
         lambda: Identity(at_point(y, X, 1 / p), y)),
    Pair("identity/constant-function-of-nothing", lambda: Identity(formula("3", log(y)), as_term(3)), "y = -1",
         lambda: Identity(formula("3", log(p)), as_term(3))),
    Pair("identity/link-undefined-inside",
         lambda: Identity(x, x + 0, chain=(Link(x * grad(z + log(y), Z), "")  ,)), "y = -1",
         lambda: Identity(x, x + 0, chain=(Link(x * grad(z + log(p), Z), ""),))),
    Pair("definition/gradient-of-an-undefined-energy", lambda: Definition(z, grad(x + log(y), X)), "y = -1",
         lambda: Definition(z, grad(x + log(p), X))),
    Pair("implication/undefined-inside-a-gradient",
         lambda: Implication((Fact("h", x, ">="),), Fact("c", x * grad(z + 1 / y, Z), ">="), (("h", as_term(1)),)), "y = 0",
         lambda: Implication((Fact("h", x, ">="),), Fact("c", x * grad(z + 1 / p, Z), ">="), (("h", as_term(1)),))),
    Pair("differs/defined-nowhere", lambda: Differs(grad(x + log(-1 - y**2), X), as_term(2)), "the left side never is",
         lambda: Differs(grad(x + log(1 + y**2), X), as_term(2))),
    Pair("stationary/undefined-inside-a-gradient", lambda: Stationary(grad(z * x**2 + log(y), Z), X, as_term(0)), "y = -1",
         lambda: Stationary(grad(z * x**2 + log(p), Z), X, as_term(0))),
    Pair("extremum/undefined-point", lambda: minimum(x**2, X, at_point(as_term(0), Z, log(y)), x**2), "y = -1",
         lambda: minimum(x**2, X, at_point(as_term(0), Z, log(p)), x**2)),
    Pair("stacked/block-that-is-not-read", lambda: Stacked(part(blocks(F1, log(F2)), "n"), F1), "g = -1",
         lambda: Stacked(part(blocks(F1, F2), "n"), F1)),
    Pair("stacked/zero-times-undefined",
         lambda: Stacked(blocks([eye("n"), zeros("n", "m")]) @ blocks(F1, log(F2)), F1), "g = -1",
         lambda: Stacked(blocks([eye("n"), zeros("n", "m")]) @ blocks(F1, F2), F1)),
    Pair("differs/size-of-a-stack", lambda: Differs(size(NM), size("n") + size("m")), "they are equal",
         lambda: Differs(size(NM), size("n") + 2 * size("m"))),
    Pair("identity/trace-of-a-stacked-identity", lambda: Identity(trace(eye(NM)), size("n") + size("m") + 1), "one more",
         lambda: Identity(trace(eye(NM)), size(NM))),
    Pair("extremum/at-the-edge-of-a-promise", lambda: minimum(p**2, P_, 0, p**2), "0 is no value of q > 0",
         lambda: minimum((p - 1) ** 2, P_, 1, (p - 1) ** 2)),
    Pair("extremum/not-symmetric",
         lambda: minimum(squared_norm(as_term(SY) - a), SY, a, squared_norm(as_term(SY) - a)), "a need not be symmetric",
         lambda: minimum(squared_norm(K12 - 0 * K12), K12.data, 0 * K12, squared_norm(K12))),
    Pair("extremum/bregman-far-away",
         lambda: minimum(bregman("F", x + 5, as_term(3)) * x**2, X, 0, bregman("F", x + 5, as_term(3)) * x**2,
                         "a local minimum", convex=("F",)),
         "F convex near 3 only, and -100 near 5",
         lambda: minimum(bregman("F", x + 3, as_term(3)), X, 0, bregman("F", x + 3, as_term(3)), "a local minimum",
                         convex=("F",))),
    Pair("extremum/definition-that-moves", lambda: minimum(b + x**2, X, 0, x**2, given=given(B, x)), "x = -1/4: -3/16",
         lambda: minimum(b + x**2, X, 0, x**2, given=given(B, y))),
    Pair("identity/derivative-past-a-definition", lambda: Identity(grad(x * b, X), b, given=given(B, x**2)), "it is 3x²",
         lambda: Identity(grad(x * b, X), b, given=given(B, y**2))),
    Pair("identity/parameter-named-t", lambda: Identity(Differential((), (t * x, X, Z, "")), x), "it is t z",
         lambda: Identity(Differential((), (t * x, X, Z, "")), t * z)),
    Pair("identity/exponent-put-in", lambda: Identity(at_point(power_p(x), EXPONENT, as_term(2)), power_p(x)), "p = 1, x = 2",
         lambda: Identity(power_p(x) * 2, power_p(x) + power_p(x))),
    Pair("identity/gradient-at-a-removable-kink",
         lambda: Identity(grad(x * apply("abs", x), X), apply("abs", x)), "it is 2|x|",
         lambda: Identity(grad(x * apply("abs", x), X), 2 * apply("abs", x))),
    Pair("identity/gradient-of-a-root-of-a-square",
         lambda: Identity(grad((x**2) ** Fraction(1, 2), X) * (x**2) ** Fraction(1, 2), -x, nonzero=(X,)), "x = 1: 1",
         lambda: Identity(grad((x**2) ** Fraction(1, 2), X) * (x**2) ** Fraction(1, 2), x, nonzero=(X,))),
    Pair("extremum/wrong-formula-for-the-rise", lambda: minimum(-(x**2), X, 0, x**2), "x = 1: -1",
         lambda: minimum(x**2, X, 0, x**2 + 1)),
    Pair("identity/half", lambda: Identity(x * Fraction(1, 2) * 2, x + 0 * x + Fraction(1, 10**40)), "by 10^-40",
         lambda: Identity(x * Fraction(1, 2) * 2, x + 0 * x)),
]  # fmt: skip
