"""False statements that look true, each beside a true twin: programs, extrema, limits, orders and figures.

The kinds are Convex, ConvexProgram, WellPosed, Dual, Optimal, Solvable, Stationary, Extremum, Limit, Order,
Arithmetic, Averages.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.averages import Averages, Column
from checks.kinds.examples import Point
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import ConvexProgram, Solvable
from checks.kinds.limit import ETA, Limit
from checks.kinds.optimal import Optimal
from checks.kinds.order import Order
from checks.kinds.programs import Convex, Dual, WellPosed
from checks.kinds.stationary import Stationary
from checks.statement import Fact, Given
from derivations.calculus.gradients import bregman
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    exp,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    zeros,
)
from redteam.pair import Pair

I, J, K = Index("i", "N"), Index("j", "N"), Index("k", "N")
ZERO, ONE, HALF = as_term(0), as_term(1), as_term(Fraction(1, 2))

# Scalars: the tensor and, in lower case, the term.
A_, B_, C_, S_, T_, W_, X_, Z_ = (Tensor(name) for name in "abcstwxz")
a, b, c, s, t, w, x, z = map(as_term, (A_, B_, C_, S_, T_, W_, X_, Z_))
AP_, LP_, SP_, WP_ = (Tensor(name, positive=True) for name in "alsw")
ap, lp, sp, wp = map(as_term, (AP_, LP_, SP_, WP_))
LAM_, ALPHA_, BETA_ = Tensor("lambda"), Tensor("alpha"), Tensor("beta")
alpha, beta = map(as_term, (ALPHA_, BETA_))
eta = as_term(ETA)

# Vectors and matrices.
U_, V_, P_, Y_, R_ = (Tensor(name, ("N",)) for name in "uvpyr")
u, v, p, y, r = map(as_term, (U_, V_, P_, Y_, R_))
PP_, RP_ = (Tensor(name, ("N",), positive=True) for name in "pr")
pp, rp = map(as_term, (PP_, RP_))
MU_, NU_ = Tensor("mu", ("N",)), Tensor("nu", ("N",))
mu = as_term(MU_)
G_, GS_ = Tensor("G", ("N", "N")), Tensor("G", ("N", "N"), symmetric=True)
g, gs = as_term(G_), as_term(GS_)
H_ = Tensor("H", ("M", "N"))
h = as_term(H_)
HM_ = Tensor("y", ("M",))
hm = as_term(HM_)
M = Index("m", "M")


def fn(name: str, arg: Term, order: int = 0) -> Term:
    """A function without its LaTeX."""
    return apply(name, arg, order=order)


def log(arg: Term) -> Term:
    """The logarithm."""
    return apply("log", arg)


def digits(arg: Term) -> Term:
    """A polynomial that vanishes at -1, 0, 1, 2 and 3 only; at 4 it is 120."""
    return arg * (arg - 1) * (arg + 1) * (arg - 2) * (arg - 3)


def convex(
    *variables: Tensor,
    objective: Term,
    constraints: tuple[Constraint, ...] = (),
    psd: bool = False,
    maximise: bool = False,
) -> Convex:
    """The claim that a program is convex."""
    return Convex(
        Program("P", variables, objective, constraints, maximise, semidefinite=(GS_,) if psd else ())
    )


def feasible(
    *constraints: Constraint,
    variables: tuple[Tensor, ...],
    data: tuple[tuple[str, Fraction], ...] = (),
    one: tuple[tuple[str, Fraction], ...] = (),
    other: tuple[tuple[str, Fraction], ...] = (),
) -> ConvexProgram:
    """The claim that a program with an affine objective is convex in all its variables."""
    objective = as_term(variables[0]) if not variables[0].dims else sum_over(I, as_term(variables[0])[I])
    return ConvexProgram(Program("P", variables, objective, constraints), data, one, other)


def at(**values: int) -> tuple[tuple[str, Fraction], ...]:
    """Numbers by name."""
    return tuple((name, Fraction(value)) for name, value in values.items())


def solvable(
    unknown: Tensor,
    *equations: Term,
    values: tuple[tuple[Tensor, object], ...],
    sizes: tuple[tuple[str, int], ...] = (),
    given: tuple[Given, ...] = (),
) -> Solvable:
    """The claim that equations can always be solved, with a point where perhaps they cannot."""
    facts = tuple(Fact(f"e{n}", equation, "=") for n, equation in enumerate(equations))
    return Solvable(unknown, facts, Point(sizes, values), given)


def le(lhs: object, rhs: object, multiplier: Tensor = LAM_, over: tuple[Index, ...] = ()) -> Constraint:
    """lhs <= rhs."""
    return Constraint(as_term(lhs), as_term(rhs), multiplier, over)


def eq(lhs: object, rhs: object, multiplier: Tensor = LAM_, over: tuple[Index, ...] = ()) -> Constraint:
    """lhs = rhs."""
    return Constraint(as_term(lhs), as_term(rhs), multiplier, over, equality=True)


def figure(words: str, computed: str, relation: str, printed: str, digits: int = 2) -> Figure:
    """A figure whose numbers are written in decimals or as fractions."""
    return Figure(words, Fraction(computed), relation, Fraction(printed), digits)


def column(name: str, entries: tuple[str, ...], printed: str, digits: int = 2) -> Column:
    """A column whose numbers are written in decimals."""
    return Column(name, tuple(map(Fraction, entries)), Fraction(printed), digits)


def towards(step: Term) -> Term:
    """x moved towards a by ``step`` times the distance."""
    return x - step * (x - a)


def peano(excess: int) -> Term:
    """(P - Q^2)(P - 3 Q^2) + excess Q^4 with linear forms P and Q of a vector."""
    form, other = sum_over(I, v[I] * u[I]), sum_over(J, p[J] * u[J])
    return (form - other**2) * (form - 3 * other**2) + excess * other**4


def weighted(weight: Term, inner: Term) -> Term:
    """Σ_i weight_i (F(u_i) - F'(c_i) u_i)."""
    return sum_over(I, weight[I] * (fn("F", u[I]) - fn("F", inner[I], 1) * u[I]))


def margins(bias: Term) -> Constraint:
    """1 - y_i (w p_i + bias) <= 0."""
    return le(ONE - y[I] * (w * p[I] + bias), ZERO, MU_, (I,))


XI_, XIS_ = Tensor("xi", latex=r"\xi"), Tensor("xi*", latex=r"\xi")
xi, xis = as_term(XI_), as_term(XIS_)
TINY = as_term(Fraction(1, 10**30))

CONVEX = [
    Pair(
        "convex/sign-weights-on-one-side",
        lambda: convex(U_, objective=sum_over(I, J, y[I] * gs[I, J] * u[I] * u[J]), psd=True),
        "G = I, y = (1, -1): the objective is u_1^2 - u_2^2, although G is semidefinite",
        lambda: convex(U_, objective=sum_over(I, J, y[I] * y[J] * gs[I, J] * u[I] * u[J]), psd=True),
    ),
    Pair(
        "convex/semidefinite-without-its-diagonal",
        lambda: convex(
            U_,
            objective=sum_over(I, J, gs[I, J] * u[I] * u[J]) - sum_over(K, gs[K, K] * u[K] ** 2),
            psd=True,
        ),
        "G = [[1, 1], [1, 1]] leaves 2 u_1 u_2, indefinite; at N = 1 it is 0",
        lambda: convex(
            U_,
            objective=sum_over(I, J, gs[I, J] * u[I] * u[J]) + sum_over(K, gs[K, K] * u[K] ** 2),
            psd=True,
        ),
    ),
    Pair(
        "convex/free-indices-in-a-quadratic-form",
        lambda: convex(U_, objective=u[I] * u[J]),
        "i and j are free: u_1 u_2 is indefinite (it is a square only where i = j)",
        lambda: convex(U_, objective=sum_over(I, u[I] * u[I])),
    ),
    Pair(
        "convex/variables-and-data",
        lambda: convex(Z_, X_, objective=z**2 - x**2),
        "concave in x, which is a variable here",
        lambda: convex(Z_, objective=z**2 - x**2),
    ),
    Pair(
        "convex/no-variables",
        lambda: convex(X_, objective=-(x**4)),
        "-x^4 is not convex in x: -1 at x = 1 and x = -1, 0 halfway",
        lambda: convex(objective=-(x**4)),
    ),
    Pair(
        "convex/half-a-degree",
        lambda: convex(X_, objective=sqrt(x), constraints=(le(ZERO, x),)),
        "sqrt is strictly concave on x >= 0: at 1 it is 1, the chord from 0 to 2 only 0.707",
        lambda: convex(X_, objective=-sqrt(x), constraints=(le(ZERO, x),)),
    ),
    Pair(
        "convex/logarithm-as-affine",
        lambda: convex(X_, objective=log(x), constraints=(le(ONE, x),)),
        "log is strictly concave on x >= 1",
        lambda: convex(X_, objective=-log(x), constraints=(le(ONE, x),)),
    ),
    Pair(
        "convex/difference-times-sum",
        lambda: convex(U_, V_, objective=sum_over(I, J, (u[I] - v[I]) * gs[I, J] * (u[J] + v[J])), psd=True),
        "with the symmetric G it is u'Gu - v'Gv: concave in v for G = I",
        lambda: convex(U_, V_, objective=sum_over(I, J, (u[I] - v[I]) * gs[I, J] * (u[J] - v[J])), psd=True),
    ),
    Pair(
        "convex/maximised-square",
        lambda: convex(X_, objective=(x - a) ** 2, constraints=(le(x**2, ONE),), maximise=True),
        "a convex objective is maximised: at a = 0 both x = 1 and x = -1 are optimal, x = 0 is not",
        lambda: convex(X_, objective=(x - a) ** 2, constraints=(le(x**2, ONE),)),
    ),
    Pair(
        "convex/quadratic-equality",
        lambda: convex(S_, T_, objective=t, constraints=(eq(s**2, t),)),
        "(1, 1) and (-1, 1) are feasible, (0, 1) is not",
        lambda: convex(S_, T_, objective=t, constraints=(le(s**2, t),)),
    ),
    Pair(
        "convex/square-of-an-affine-expression-less-another",
        lambda: convex(X_, objective=(a * x - b) ** 2 - x**2),
        "a = 0: -x^2",
        lambda: convex(X_, objective=(a * x - b) ** 2 + x**2),
    ),
    Pair(
        "convex/square-of-what-is-not-affine",
        lambda: convex(S_, T_, objective=(s * t - b) ** 2),
        "b = 0: 0 at (0, 2) and at (2, 0), 1 at (1, 1)",
        lambda: convex(S_, T_, objective=(a * t - b) ** 2 + s**2),
    ),
    Pair(
        "convex/squares-of-affine-expressions-with-signs",
        lambda: convex(W_, objective=sum_over(I, y[I] * (w * p[I] - a) ** 2)),
        "y = (-1, -1): minus a convex function",
        lambda: convex(W_, objective=sum_over(I, y[I] ** 2 * (w * p[I] - a) ** 2)),
    ),
    Pair(
        "convex/nearly-a-square",
        lambda: convex(S_, T_, objective=s**2 + (2 + TINY) * s * t + t**2),
        "along s = -t it is -10^-30 s^2",
        lambda: convex(S_, T_, objective=s**2 + (2 - TINY) * s * t + t**2),
    ),
]

CONVEX_PROGRAM = [
    Pair(
        "convex-program/unit-norm",
        lambda: feasible(eq(sum_over(I, u[I] ** 2), ONE), variables=(U_,)),
        "N = 1: u = 1 and u = -1 are feasible, 0 is not",
        lambda: feasible(
            le(sum_over(I, u[I] ** 2), ONE), variables=(U_,), one=at(u=3), other=at(u=1)
        ),  # 3 is not feasible
    ),
    Pair(
        "convex-program/product-of-variables",
        lambda: feasible(le(ONE, s * t), variables=(S_, T_), one=at(s=1, t=1), other=at(s=2, t=2)),
        "(1, 1) and (-1, -1) are feasible, (0, 0) is not; the points offered prove nothing",
        lambda: feasible(
            le(ONE, a * t), variables=(S_, T_), data=at(a=1), one=at(s=1, t=1), other=at(s=2, t=-2)
        ),  # the other point is not feasible
    ),
    Pair(
        "convex-program/above-or-below-exp",
        lambda: feasible(le(t, exp(s)), variables=(S_, T_)),
        "(0, 1) and (log 9, 9) are feasible, (log 3, 5) is not",
        lambda: feasible(le(exp(s), t), variables=(S_, T_)),
    ),
    Pair(
        "convex-program/logarithm-as-affine",
        lambda: feasible(le(log(sp), t), variables=(SP_, T_)),
        "(1, 0) and (9, log 9) are feasible; halfway log 5 = 1.609 > 1.099",
        lambda: feasible(le(t, log(sp)), variables=(SP_, T_)),
    ),
    Pair(
        "convex-program/half-a-degree",
        lambda: feasible(le(ZERO, s, MU_), le(sqrt(s), t), variables=(S_, T_)),
        "(0, 0) and (4, 2) are feasible; halfway sqrt(2) > 1",
        lambda: feasible(le(ZERO, s, MU_), le(t, sqrt(s)), variables=(S_, T_)),
    ),
    Pair(
        "convex-program/data-of-either-sign",
        lambda: feasible(le(a * s**2, b), variables=(S_,)),
        "a = b = -1: s^2 >= 1 holds at 1 and -1, not at 0",
        lambda: feasible(
            le(ap * s**2, b), variables=(S_,), data=at(a=-1, b=-1), one=at(s=1), other=at(s=-1)
        ),  # these data break the promise a > 0
    ),
    Pair(
        "convex-program/sine-of-what",
        lambda: feasible(le(fn("sin", s) * a, HALF), variables=(S_,)),
        "a = 1: s = 0 and s = pi are feasible, s = pi/2 is not",
        lambda: feasible(le(fn("sin", a) * s, HALF), variables=(S_,)),
    ),
]

WELL_POSED = [
    Pair(
        "well-posed/bias-not-printed",
        lambda: WellPosed(Program("P", (W_, B_), HALF * w**2, (margins(b),)), (W_,), (P_, Y_)),
        "b is neither printed as a variable nor given",
        lambda: WellPosed(Program("P", (W_, B_), HALF * w**2, (margins(b),)), (W_, B_), (P_, Y_)),
    ),
    Pair(
        "well-posed/same-name-other-dimension",
        lambda: WellPosed(Program("P", (W_,), w**2 + sum_over(M, hm[M]) * w), (W_,), (Y_,)),
        "the y of the data has dimension N, the y of the program dimension M",
        lambda: WellPosed(Program("P", (W_,), w**2 + sum_over(I, y[I]) * w), (W_,), (Y_,)),
    ),
    Pair(
        "well-posed/two-slacks-printed-alike",
        lambda: WellPosed(
            Program("P", (XI_, XIS_), xi + xis, (le(a, xi, MU_), le(-a, xis, NU_))), (XI_,), (A_,)
        ),
        "xi* prints as xi does, and is not in the list",
        lambda: WellPosed(
            Program("P", (XI_, XIS_), xi + xis, (le(a, xi, MU_), le(-a, xis, NU_))), (XI_, XIS_), (A_,)
        ),
    ),
    Pair(
        "well-posed/temperature-in-a-softmax",
        lambda: WellPosed(
            Program("P", (W_,), w**2, (le(sum_over(J, y[J] * softmax(J, p[J] / t)), w),)), (W_,), (P_, Y_)
        ),
        "the temperature t is not given",
        lambda: WellPosed(
            Program("P", (W_,), w**2, (le(sum_over(J, y[J] * softmax(J, p[J] / size("N"))), w),)),
            (W_,),
            (P_, Y_),
        ),
    ),
    Pair(
        "well-posed/multiplier-in-the-objective",
        lambda: WellPosed(Program("P", (W_,), HALF * w**2 - alpha * w, (le(a, w, ALPHA_),)), (W_,), (A_,)),
        "alpha is the multiplier of the constraint: neither a variable nor given",
        lambda: WellPosed(Program("P", (W_,), HALF * w**2 - a * w, (le(a, w, ALPHA_),)), (W_,), (A_,)),
    ),
    Pair(
        "well-posed/no-variables",
        lambda: WellPosed(Program("P", (), a**2 + b, (le(a, c),)), (), (A_, B_)),
        "c is not given; it occurs on the right of the constraint only",
        lambda: WellPosed(Program("P", (), a**2 + b, (le(a, b),)), (), (A_, B_)),
    ),
    Pair(
        "well-posed/named-in-an-equality-only",
        lambda: WellPosed(Program("P", (U_,), squared_norm(u), (eq(u[I], v[I], MU_, (I,)),)), (U_,), (P_,)),
        "v is neither printed nor given; p is given and not used",
        lambda: WellPosed(Program("P", (U_,), squared_norm(u), (eq(u[I], p[I], MU_, (I,)),)), (U_,), (P_,)),
    ),
]

BALL = Program("P", (U_,), sum_over(I, v[I] * u[I]), (le(loss("norm", u), lp, LAM_),))
ADDED = as_term(Tensor(r"\rho", ("N",)))


def in_ball(condition: Term, bound: Term) -> Dual:
    return Dual(BALL, ((U_, condition),), domain=(le(loss("norm", ADDED), bound, Tensor("zeta")),))


DUAL = [
    Pair(
        "dual/the-sign-of-a-multiplier-that-nothing-names",
        lambda: in_ball(v[I] - ADDED[I], lp * as_term(LAM_)),
        "‖ρ‖ ≤ λ: the bound is no part of it",
        lambda: in_ball(v[I] - ADDED[I], as_term(LAM_)),
    ),
    Pair(
        "dual/bias-without-labels",
        lambda: Dual(Program("P", (W_, B_), HALF * w**2, (margins(b),)), ((B_, sum_over(I, mu[I])),)),
        "the derivative by b is -Σ μ_i y_i: N = 2, y = (1, -1), μ = (1, 1) is dual feasible",
        lambda: Dual(Program("P", (W_, B_), HALF * w**2, (margins(b),)), ((B_, sum_over(I, mu[I] * y[I])),)),
    ),
    Pair(
        "dual/sign-of-a-multiplier",
        lambda: Dual(
            Program("P", (W_, T_), HALF * w**2 + c * t, (le(a - w, t, ALPHA_), le(-t, ZERO, BETA_))),
            ((T_, c - alpha + beta),),
        ),
        "the derivative by t is c - α - β: c = 1, α = 2, β = 1 satisfies the false condition only",
        lambda: Dual(
            Program("P", (W_, T_), HALF * w**2 + c * t, (le(a - w, t, ALPHA_), le(-t, ZERO, BETA_))),
            ((T_, c - alpha - beta),),
        ),
    ),
    Pair(
        "dual/equalities-and-a-bias",
        lambda: Dual(
            Program("P", (W_, B_), HALF * w**2, (eq(w * p[I] + b, y[I], MU_, (I,)),)),
            ((B_, sum_over(I, mu[I] * y[I])),),
        ),
        "the derivative by b is Σ μ_i, without the y_i",
        lambda: Dual(
            Program("P", (W_, B_), HALF * w**2, (eq(w * p[I] + b, y[I], MU_, (I,)),)),
            ((B_, sum_over(I, mu[I])),),
        ),
    ),
    Pair(
        "dual/one-of-two-conditions",
        lambda: Dual(
            Program("P", (W_, B_, T_), HALF * w**2 + t, (le(ONE - a * (w + b), t, ALPHA_),)),
            ((T_, 1 - alpha),),
        ),
        "the derivative by b, -α a, must vanish too: with a = 1, α = 1 is not dual feasible",
        lambda: Dual(
            Program("P", (W_, B_, T_), HALF * w**2 + t, (le(ONE - a * (w + b), t, ALPHA_),)),
            ((T_, 1 - alpha), (B_, alpha * a)),
        ),
    ),
    Pair(
        "dual/condition-times-a-multiplier",
        lambda: Dual(
            Program("P", (W_, T_), HALF * w**2 + c * t, (le(a - w, t, ALPHA_),)),
            ((T_, alpha * (c - alpha)),),
        ),
        "α = 0, c = 1 satisfies the printed condition, and not c - α = 0",
        lambda: Dual(
            Program("P", (W_, T_), HALF * w**2 + c * t, (le(a - w, t, ALPHA_),)),
            ((T_, 2 * c - 2 * alpha),),
        ),
    ),
    Pair(
        "dual/condition-on-a-determined-variable",
        lambda: Dual(
            Program("P", (W_,), HALF * w**2, (le(y[I] - w * p[I], ZERO, MU_, (I,)),)),
            ((W_, sum_over(I, mu[I] * p[I])),),
        ),
        "stationarity says w = Σ μ_i p_i, which need not vanish",
        lambda: Dual(Program("P", (W_,), HALF * w**2, (le(y[I] - w * p[I], ZERO, MU_, (I,)),)), ()),
    ),
    Pair(
        "dual/average-for-a-sum",
        lambda: Dual(
            Program("P", (W_, T_), HALF * w**2 + t, (le(y[I] - w, t, MU_, (I,)),)),
            ((T_, 1 - sum_over(I, mu[I]) / size("N")),),
        ),
        "the derivative by t is 1 - Σ μ_i; the two agree at N = 1 only",
        lambda: Dual(
            Program("P", (W_, T_), HALF * w**2 + t, (le(y[I] - w, t, MU_, (I,)),)),
            ((T_, 1 - sum_over(I, mu[I])),),
        ),
    ),
]


def least(
    value: Term,
    above: Term,
    *limits: Constraint,
    by: Term | None = None,
    goal: Term | None = None,
    **more: Any,
) -> Optimal:
    """The claim that x = value minimises an objective, or half the squared distance of x from a."""
    multipliers = tuple((limit.multiplier, as_term(0) if by is None else by) for limit in limits)
    program = Program("P", (X_,), HALF * (x - a) ** 2 if goal is None else goal, limits)
    return Optimal(program, (Given(X_, (), value, ""),), above, multipliers, **more)


def positive_only(value: Term, above: Term, goal: Term) -> Optimal:
    """The claim of x > 0 alone."""
    return least(value, above, goal=goal, ranges=((X_, "> 0"),))


def better(value: Fraction, at: Fraction = Fraction(0)) -> Point:
    """x and a at a point."""
    return Point((), ((X_, value), (A_, at)))


OPTIMAL = [
    Pair(
        "optimal/a-point-outside",
        lambda: least(a, HALF * (x - a) ** 2, le(x, ZERO, LAM_)),
        "a = 1: x = 1 is not feasible",
        lambda: least(-fn("relu", -a), HALF * (x + fn("relu", -a)) ** 2, le(x, ZERO, LAM_), by=fn("relu", a)),
    ),
    Pair(
        "optimal/a-multiplier-of-the-wrong-sign",
        lambda: least(ZERO, HALF * x**2, le(-x, ZERO, LAM_), by=-a, goal=HALF * x**2 - a * x),
        "a = 1: x = 1 is better than 0",
        lambda: least(ZERO, HALF * x**2, le(-x, ZERO, LAM_), by=ap, goal=HALF * x**2 + ap * x),
    ),
    Pair(
        "optimal/a-maximum-for-a-minimum",
        lambda: least(a, HALF * (x - a) ** 2, goal=-HALF * (x - a) ** 2, rival=better(Fraction(1))),
        "at a the objective is largest",
        lambda: least(a, HALF * (x - a) ** 2),
    ),
    Pair(
        "optimal/the-only-one-of-many",
        lambda: least(a, (x - a) ** 2 * b**2, goal=(x - a) ** 2 * b**2, only=True),
        "b = 0: every x is as good",
        lambda: least(b, (x - b) ** 2 * ap, goal=(x - b) ** 2 * ap, only=True),
    ),
    Pair(
        "optimal/a-stationary-point",
        lambda: least(ZERO, x**2 * (x**2 - 1), goal=x**4 - x**2, rival=Point((), ((X_, Fraction(1, 2)),))),
        "x = 1/2: -3/16",
        lambda: least(ZERO, x**4 + x**2, goal=x**4 + x**2),
    ),
    Pair(
        "optimal/outside-of-where-the-logarithm-is",
        lambda: least(ONE, bregman("exp", ZERO, log(x)), goal=x * log(x) - x),
        "x = -1: the objective is not defined",
        lambda: positive_only(ONE, bregman("exp", ZERO, log(x)), x * log(x) - x),
    ),
]

SOLVABLE = [
    Pair(
        "solvable/a-factor-that-may-vanish",
        lambda: solvable(X_, a * x - b, values=((A_, 0), (B_, 1))),
        "a = 0, b = 1: 0 = 1",
        lambda: solvable(X_, a * x - a * b, values=((A_, 0), (B_, 1))),
    ),
    Pair(
        "solvable/a-point-that-breaks-a-promise",
        lambda: solvable(X_, (a - 17) * x - 1, values=((A_, 17),)),
        "a = 17: 0 = 1",
        lambda: solvable(X_, ap * x - 1, values=((AP_, 0),)),
    ),
    Pair(
        "solvable/a-point-that-breaks-a-definition",
        lambda: solvable(
            X_,
            a * x - b,
            values=((A_, 0), (B_, 1), (C_, 1)),
            given=(Given(B_, (), a + c, "definition"),),
        ),
        "a = 0, c = 1, so b = 1: 0 = 1",
        lambda: solvable(
            X_,
            a * x - b,
            values=((A_, 0), (B_, 1), (C_, 1)),
            given=(Given(B_, (), a * c, "definition"),),
        ),
    ),
    Pair(
        "solvable/normal-equations",
        lambda: solvable(
            U_,
            sum_over(M, h[M, I] * sum_over(J, h[M, J] * u[J])) - v[I],
            values=((H_, ((1, 1),)), (V_, (1, 0))),
            sizes=(("M", 1), ("N", 2)),
        ),
        "H = (1 1): H'H u has equal entries, v = (1, 0) has not",
        lambda: solvable(
            U_,
            sum_over(M, h[M, I] * sum_over(J, h[M, J] * u[J])) - sum_over(M, h[M, I] * hm[M]),
            values=((H_, ((1, 1),)), (HM_, (1,))),
            sizes=(("M", 1), ("N", 2)),
        ),
    ),
    Pair(
        "solvable/centred-entries",
        lambda: solvable(U_, u[I] - v[I], sum_over(J, u[J]), values=((V_, (1, 1)),), sizes=(("N", 2),)),
        "v = (1, 1): u = v does not sum to 0",
        lambda: solvable(
            U_,
            u[I] - v[I] + sum_over(K, v[K]) / size("N"),
            sum_over(J, u[J]),
            values=((V_, (1, 1)),),
            sizes=(("N", 2),),
        ),
    ),
    Pair(
        "solvable/two-factors-of-which-one-cancels",
        lambda: solvable(X_, (1 - a**2) * x - (1 - a), values=((A_, -1),)),
        "a = -1: 0 = 2 (at a = 1 every x will do)",
        lambda: solvable(X_, (1 - a**2) * x - (1 - a) * (1 + a) ** 2, values=((A_, -1),)),
    ),
    Pair(
        "solvable/inverse-and-generalised-inverse",
        lambda: solvable(X_, a * x - 1, a**2 * x - a, values=((A_, 0),)),
        "a = 0: the first equation is 0 = 1",
        lambda: solvable(X_, a**2 * x - a, values=((A_, 0),)),
    ),
]

STATIONARY = [
    Pair(
        "stationary/kink-of-the-modulus",
        lambda: Stationary(fn("abs", z - a), Z_, a),
        "|z - a| has no gradient at z = a",
        lambda: Stationary((z - a) * fn("abs", z - a), Z_, a),
    ),
    Pair(
        "stationary/kink-of-a-norm",
        lambda: Stationary(squared_norm(u) ** Fraction(1, 2), U_, zeros("N")),
        "the norm has no gradient at 0",
        lambda: Stationary(squared_norm(u) ** Fraction(3, 2), U_, zeros("N")),
    ),
    Pair(
        "stationary/slope-that-vanishes-at-small-numbers",
        lambda: Stationary(z**2 + z * digits(a), Z_, ZERO),
        "the gradient at 0 is a(a-1)(a+1)(a-2)(a-3): 120 at a = 4",
        lambda: Stationary(z**2 + z**2 * digits(a), Z_, ZERO),
    ),
    Pair(
        "stationary/fourth-powers-at-the-mean",
        lambda: Stationary(sum_over(I, (z - v[I]) ** 4), Z_, sum_over(J, v[J]) / size("N")),
        "v = (0, 0, 3): 4 (1 + 1 - 8) = -24; it does vanish for N = 1 and N = 2",
        lambda: Stationary(sum_over(I, (z - v[I]) ** 2), Z_, sum_over(J, v[J]) / size("N")),
    ),
    Pair(
        "stationary/odd-and-even-part",
        lambda: Stationary(fn("F", z) - fn("F", -z), Z_, ZERO),
        "the gradient at 0 is 2 F'(0), 2 for F(u) = u",
        lambda: Stationary(fn("F", z) + fn("F", -z), Z_, ZERO),
    ),
    Pair(
        "stationary/form-that-is-not-symmetric",
        lambda: Stationary(sum_over(I, J, HALF * u[I] * g[I, J] * u[J] - u[I] * g[I, J] * p[J]), U_, p),
        "G = [[0, 1], [0, 0]], p = (0, 1): the gradient is (G'p - Gp)/2 = (-1/2, 0); at N = 1 it vanishes",
        lambda: Stationary(sum_over(I, J, HALF * u[I] * gs[I, J] * u[J] - u[I] * gs[I, J] * p[J]), U_, p),
    ),
    Pair(
        "stationary/weights-that-do-not-sum-to-one",
        lambda: Stationary(log(sum_over(I, exp(u[I]))) - sum_over(J, pp[J] * u[J]), U_, stack(K, log(pp[K]))),
        "the gradient is p_k / Σ p_j - p_k: N = 1, p = 2 gives 1 - 2",
        lambda: Stationary(
            log(sum_over(I, exp(u[I]))) - sum_over(J, pp[J] * u[J]) / sum_over(I, pp[I]),
            U_,
            stack(K, log(pp[K])),
        ),
    ),
    Pair(
        "stationary/denominator-without-a-promise",
        lambda: Stationary(z**2 / 2 - z * b / (c - 17), Z_, b / (c - 17)),
        "undefined at c = 17",
        lambda: Stationary(z**2 / 2 - z * b / (c**2 + 17), Z_, b / (c**2 + 17)),
    ),
    Pair(
        "stationary/divisor-assumed-nonzero",
        lambda: Stationary(c * z**2 / 2 - z * b, Z_, b / c),
        "undefined at c = 0, b = 1, where c z - b has no root",
        lambda: Stationary(c * z**2 / 2 - z * b, Z_, b / c, nonzero=(C_,)),
    ),
    Pair(
        "stationary/root-of-a-square",
        lambda: Stationary(z**2 / 2 - a * z, Z_, sqrt(a**2)),
        "a = -1: the gradient at 1 is 2",
        lambda: Stationary(z**3 / 3 - a**2 * z, Z_, sqrt(a**2)),
    ),
    Pair(
        "stationary/free-index-that-clashes",
        lambda: Stationary(sum_over(J, (u[J] - v[I]) ** 2), U_, stack(I, v[I])),
        "the point is v, the energy pulls every u_j to the one v_i: v = (0, 1), i = 1; N = 1 holds",
        lambda: Stationary(sum_over(J, (u[J] - v[I]) ** 2), U_, stack(J, v[I])),
    ),
    Pair(
        "stationary/softplus-is-not-log-cosh",
        lambda: Stationary(log(1 + exp(z)) - z * fn("tanh", c), Z_, c),
        "the gradient at c is sigmoid(c) - tanh(c): 1/2 at c = 0",
        lambda: Stationary(log(1 + exp(z)) - z * fn("sigmoid", c), Z_, c),
    ),
    Pair(
        "stationary/tiny-slope",
        lambda: Stationary((z - a) ** 2 + TINY * z, Z_, a),
        "the gradient at a is 10^-30",
        lambda: Stationary((z - a) ** 2 + TINY * z, Z_, a - TINY / 2),
    ),
]

EXTREMUM = [
    Pair(
        "extremum/saddle-from-two-entries-on",
        lambda: Extremum(
            squared_norm(u) - sum_over(I, u[I]) ** 2, U_, zeros("N"), "a global minimum"
        ),  # N = 1: 0
        "N = 2: -2 u_1 u_2, -2 at (1, 1); at N = 1 the energy is 0",
        lambda: Extremum(
            squared_norm(u) - sum_over(I, u[I]) ** 2 / size("N"), U_, zeros("N"), "a global minimum"
        ),
    ),
    Pair(
        "extremum/only-minimum-of-a-degenerate-form",
        lambda: Extremum(
            sum_over(M, sum_over(I, h[M, I] * (u[I] - v[I])) ** 2),
            U_,
            v,
            "the only global minimum",
            above=sum_over(M, sum_over(I, h[M, I] * (u[I] - v[I])) ** 2),
        ),
        "H = 0: every u is a minimum",
        lambda: Extremum(
            sum_over(M, sum_over(I, h[M, I] * (u[I] - v[I])) ** 2),
            U_,
            v,
            "a global minimum",
            above=sum_over(M, sum_over(I, h[M, I] * (u[I] - v[I])) ** 2),
        ),
    ),
    Pair(
        "extremum/tanh-assumed-convex",
        lambda: Extremum(
            fn("tanh", z) - fn("tanh", c, 1) * z,
            Z_,
            c,
            "a global minimum",
            above=bregman("tanh", z, c),
            convex=("tanh",),
        ),
        "tanh is not convex: c = 1, the energy falls without bound as z grows",
        lambda: Extremum(
            fn("F", z) - fn("F", c, 1) * z,
            Z_,
            c,
            "a global minimum",
            above=bregman("F", z, c),
            convex=("F",),
        ),
    ),
    Pair(
        "extremum/point-that-mentions-the-variable",
        lambda: Extremum((z - a) ** 2, Z_, z, "a global minimum", above=ZERO),
        "the point z = z says nothing: z = a + 1 is no minimum",
        lambda: Extremum((z - a) ** 2, Z_, a, "a global minimum", above=(z - a) ** 2),
    ),
    Pair(
        "extremum/local-not-global",
        lambda: Extremum(z**2 - z**4 / 10**6, Z_, ZERO, "a global minimum"),
        "z = 2000: 4 * 10^6 - 16 * 10^6 < 0",
        lambda: Extremum(z**2 - z**4 / 10**6, Z_, ZERO, "a local minimum"),
    ),
    Pair(
        "extremum/minimum-along-every-line",
        lambda: Extremum(peano(0), U_, zeros("N"), "a local minimum"),
        "N = 2, v = (0, 1), p = (1, 0), u = (e, 2 e^2): (2 - 1)(2 - 3) e^4 < 0",
        lambda: Extremum(peano(1), U_, zeros("N"), "a local minimum"),  # (P - 2 Q^2)^2
    ),
    Pair(
        "extremum/softplus-minus-a-line",
        lambda: Extremum(log(1 + exp(z)) - c * z, Z_, ZERO, "bounded below"),
        "c = 2: it behaves like -z for large z",
        lambda: Extremum(log(1 + exp(z)) - fn("sigmoid", c) * z, Z_, ZERO, "bounded below"),
    ),
    Pair(
        "extremum/two-wells-upside-down",
        lambda: Extremum(
            -((z**2 - a**2) ** 2), Z_, a, "the only global maximum", above=-((z**2 - a**2) ** 2)
        ),
        "a = 1: z = -1 is another",
        lambda: Extremum(-((z**2 - a**2) ** 2), Z_, a, "a global maximum", above=-((z**2 - a**2) ** 2)),
    ),
    Pair(
        "extremum/visible-square-of-something-else",
        lambda: Extremum(z**2 - 2 * a * z, Z_, -a, "the only global minimum", above=(z + a) ** 2),
        "the minimum is at a; for a = 1 the energy is 3 at -1 and -1 at 1",
        lambda: Extremum(z**2 - 2 * a * z, Z_, a, "the only global minimum", above=(z - a) ** 2),
    ),
    Pair(
        "extremum/convex-is-not-strictly-convex",
        lambda: Extremum(
            fn("F", z) - fn("F", c, 1) * z,
            Z_,
            c,
            "the only global minimum",
            above=bregman("F", z, c),
            convex=("F",),
        ),
        "F(u) = u is convex, and the energy is 0 everywhere",
        lambda: Extremum(
            fn("F", z) - fn("F", c, 1) * z + (z - c) ** 2,
            Z_,
            c,
            "the only global minimum",
            above=bregman("F", z, c) + (z - c) ** 2,
            convex=("F",),
        ),
    ),
    Pair(
        "extremum/convex-of-a-square",
        lambda: Extremum(fn("F", z**2), Z_, ZERO, "a global minimum", convex=("F",)),
        "F(u) = -u is convex, and -z^2 has a maximum at 0",
        lambda: Extremum(fn("F", z) + fn("F", -z), Z_, ZERO, "a global minimum", convex=("F",)),
    ),
    Pair(
        "extremum/weights-of-either-sign",
        lambda: Extremum(
            weighted(r, v),
            U_,
            v,
            "a global minimum",
            above=sum_over(I, r[I] * bregman("F", u[I], v[I])),
            convex=("F",),
        ),
        "N = 1, r = -1, F(u) = u^2: a maximum",
        lambda: Extremum(
            weighted(rp, v),
            U_,
            v,
            "a global minimum",
            above=sum_over(I, rp[I] * bregman("F", u[I], v[I])),
            convex=("F",),
        ),
    ),
    Pair(
        "extremum/witness-that-breaks-a-promise",
        lambda: Extremum(w * (z - a) ** 2, Z_, a, "the only global minimum", above=w * (z - a) ** 2),
        "w = -1: a maximum; w = 0: constant",
        lambda: Extremum(
            wp * (z - a) ** 2,
            Z_,
            a,
            "the only global minimum",
            above=wp * (z - a) ** 2,
            witness=Point((), ((WP_, -1), (A_, 0))),
            direction=1,
        ),
    ),
    Pair(
        "extremum/difference-of-distances",
        lambda: Extremum(fn("abs", z - a) - fn("abs", z - b), Z_, a, "the only global minimum"),
        "a = 0, b = 1: it is -1 for all z <= 0",
        lambda: Extremum(fn("abs", z - a) - fn("abs", z - b), Z_, a, "a global minimum"),
    ),
    Pair(
        "extremum/dip-far-away",
        lambda: Extremum(
            z**2 * ((z - 17) ** 2 - as_term(Fraction(1, 10**6))), Z_, ZERO, "the only global minimum"
        ),
        "at z = 17 it is -289 * 10^-6",
        lambda: Extremum(
            z**2 * ((z - 17) ** 2 + as_term(Fraction(1, 10**6))), Z_, ZERO, "the only global minimum"
        ),
    ),
]

LIMIT = [
    Pair(
        "limit/rate-that-depends-on-the-state",
        lambda: Limit(X_, towards(eta * (x - a) ** 2), a, rate=1 - eta * (x - a) ** 2, high=Fraction(2)),
        "eta = 1, a = 0: from 2 to -6, and on to infinity",
        lambda: Limit(X_, towards(eta), a, rate=1 - eta, high=Fraction(2)),
    ),
    Pair(
        "limit/limit-that-depends-on-the-start",
        lambda: Limit(
            U_,
            stack(I, u[I] - eta * (u[I] - sum_over(J, u[J]) / size("N"))),
            zeros("N"),
            rate=1 - eta,
            high=Fraction(2),
        ),
        "the mean never changes: from (1, 1) it stays at (1, 1)",
        lambda: Limit(
            U_,
            stack(I, u[I] - eta * (u[I] - sum_over(J, u[J]) / size("N"))),
            None,
            high=Fraction(2),
        ),
    ),
    Pair(
        "limit/limit-that-mentions-the-state",
        lambda: Limit(X_, towards(eta), x, high=Fraction(2)),
        "it converges to a, not to where it starts",
        lambda: Limit(X_, towards(eta), a, high=Fraction(2)),
    ),
    Pair(
        "limit/one-step-size-inside-the-range",
        lambda: Limit(X_, towards(eta * (eta - 1) ** 2), a, rate=1 - eta * (eta - 1) ** 2, high=Fraction(2)),
        "eta = 1: the rate is 1 and nothing moves; everywhere else in (0, 2) it converges",
        lambda: Limit(
            X_,
            towards(eta * ((eta - 1) ** 2 + 1) / 2),
            a,
            rate=1 - eta * ((eta - 1) ** 2 + 1) / 2,
            high=Fraction(2),
        ),
    ),
    Pair(
        "limit/range-twice-as-wide",
        lambda: Limit(X_, towards(2 * eta), a, rate=1 - 2 * eta, high=Fraction(2)),
        "eta = 3/2: the rate is -2",
        lambda: Limit(X_, towards(2 * eta), a, rate=1 - 2 * eta, high=Fraction(1)),
    ),
    Pair(
        "limit/rate-with-data",
        lambda: Limit(X_, towards(eta * lp), a, rate=1 - eta * lp, high=Fraction(2)),
        "l = 3, eta = 1: the rate is -2",
        lambda: Limit(X_, towards(eta * lp / lp), a, rate=1 - eta, high=Fraction(2)),
    ),
    Pair(
        "limit/open-range",
        lambda: Limit(X_, (1 + eta) * x - eta * a, a, rate=1 + eta),
        "the rate is above 1 for every step size",
        lambda: Limit(X_, (x + eta * a) / (1 + eta), a, rate=1 / (1 + eta)),
    ),
    Pair(
        "limit/limit-at-small-numbers-only",
        lambda: Limit(X_, towards(eta), a + digits(a), rate=1 - eta, high=Fraction(2)),
        "a = 4: it converges to 4, not to 124",
        lambda: Limit(X_, x - eta * (x - a - digits(a)), a + digits(a), rate=1 - eta, high=Fraction(2)),
    ),
    Pair(
        "limit/coupled-entries",
        lambda: Limit(U_, stack(I, u[I] - eta * sum_over(J, u[J] - v[J])), v, rate=1 - eta, high=Fraction(2)),
        "N = 2, v = 0: (1, -1) stays where it is; N = 1 holds",
        lambda: Limit(U_, stack(I, u[I] - eta * (u[I] - v[I])), v, rate=1 - eta, high=Fraction(2)),
    ),
    Pair(
        "limit/reflection",
        lambda: Limit(X_, 2 * a - x, a, rate=as_term(-1), high=Fraction(2)),
        "a = 0: from 1 to -1 and back",
        lambda: Limit(X_, (x + a) / 2, a, rate=HALF),
    ),
    Pair(
        "limit/lower-end",
        lambda: Limit(
            X_, towards((eta - 1) * (3 - eta)), a, rate=1 - (eta - 1) * (3 - eta), high=Fraction(3)
        ),
        "eta = 1/2: the rate is 9/4; it converges exactly for 1 < eta < 3",
        lambda: Limit(
            X_,
            towards((eta - 1) * (3 - eta)),
            a,
            rate=1 - (eta - 1) * (3 - eta),
            low=Fraction(1),
            high=Fraction(3),
        ),
    ),
    Pair(
        "limit/empty-range",
        lambda: Limit(X_, towards(eta), 2 * a, rate=1 - eta, low=Fraction(2), high=Fraction(0)),
        "a refusal: there is no step size in the range, and 2a is not the limit for any",
        lambda: Limit(X_, x - eta * (x - 2 * a), 2 * a, rate=1 - eta, high=Fraction(2)),
    ),
]

ORDER = [
    Pair(
        "order/coefficient-that-vanishes-at-small-numbers",
        lambda: Order(exp(s) + digits(a) * s**2, 1 + s + s**2 / 2, S_, 3),
        "a = 4: the difference is 120 s^2 + ...",
        lambda: Order(exp(s) + digits(a) * s**3, 1 + s + s**2 / 2, S_, 3),
    ),
    Pair(
        "order/logarithmic-factor",
        lambda: Order(sp * log(sp), ZERO, SP_, 1),
        "s log s / s = log s is unbounded",
        lambda: Order(sp**2 * log(sp), ZERO, SP_, 1),
    ),
    Pair(
        "order/flat-on-one-side",
        lambda: Order(exp(-1 / s), ZERO, S_, 2),
        "s -> 0 from below: exp(1/|s|) is unbounded",
        lambda: Order(exp(-1 / s**2), ZERO, S_, 2),
    ),
    Pair(
        "order/root-from-below",
        lambda: Order(sqrt(s**2 + s**4), s, S_, 3),
        "for s < 0 the root is -s + ...: the difference is -2 s",
        lambda: Order(sqrt(sp**2 + sp**4), sp, SP_, 3),
    ),
    Pair(
        "order/cumulants",
        lambda: Order(
            log(sum_over(I, exp(s * v[I]))), log(size("N")) + s * sum_over(J, v[J]) / size("N"), S_, 3
        ),
        "N = 2, v = (0, 1): s^2 / 8 is left; at N = 1 the two agree",
        lambda: Order(
            log(sum_over(I, exp(s * v[I]))),
            log(size("N"))
            + s * sum_over(J, v[J]) / size("N")
            + s**2 / 2 * (sum_over(K, v[K] ** 2) / size("N") - (sum_over(J, v[J]) / size("N")) ** 2),
            S_,
            3,
        ),
    ),
    Pair(
        "order/wrong-coefficient-of-taylor",
        lambda: Order(
            fn("F", a + s), fn("F", a) + s * fn("F", a, 1) + s**2 * fn("F", a, 2) / 3, S_, 3
        ),  # a third for a half
        "F(u) = u^2, a = 0: s^2 - 2 s^2 / 3",
        lambda: Order(fn("F", a + s), fn("F", a) + s * fn("F", a, 1) + s**2 * fn("F", a, 2) / 2, S_, 3),
    ),
    Pair(
        "order/tiny-term",
        lambda: Order(fn("sin", s) + TINY * s**2, s, S_, 3),
        "10^-30 s^2 is not O(s^3)",
        lambda: Order(fn("sin", s) + TINY * s**3, s, S_, 3),
    ),
    Pair(
        "order/choice-that-makes-both-sides-vanish",
        lambda: Order(c * exp(s), c * (1 + s), S_, 5, choice=(Given(C_, (), ZERO, "choice"),)),
        "c = 1: s^2 / 2 is left; with c = 0 both sides are 0, which says nothing",
        lambda: Order(exp(s), 1 + c * s, S_, 2, choice=(Given(C_, (), ONE, "choice"),)),
    ),
    Pair(
        "order/removable-pole",
        lambda: Order((exp(s) - 1) / s, ONE, S_, 2),
        "s / 2 is left",
        lambda: Order((exp(s) - 1) / s, 1 + s / 2, S_, 2),
    ),
    Pair(
        "order/root-at-a-branch-point",
        lambda: Order(sqrt(a**2 + sp), sqrt(a**2), SP_, 1),
        "a = 0: sqrt(s) is not O(s)",
        lambda: Order(sqrt(ap**2 + sp), sqrt(ap**2), SP_, 1),
    ),
    Pair(
        "order/broken-power",
        lambda: Order(sp ** Fraction(3, 2), ZERO, SP_, 2),
        "s^(3/2) / s^2 is unbounded; the order is 3/2",
        lambda: Order(sp ** Fraction(3, 2), ZERO, SP_, 1),
    ),
]

ARITHMETIC = [
    Pair(
        "arithmetic/tie-that-floats-get-wrong",
        lambda: Arithmetic((figure("2.67", "2.675", "rounds to", "2.67"),)),
        "2.675 is a tie: half up and half even both give 2.68; the float is below",
        lambda: Arithmetic((figure("2.68", "2.675", "rounds to", "2.68"),)),
    ),
    Pair(
        "arithmetic/tie-next-to-an-odd-digit",
        lambda: Arithmetic((figure("0.13", "0.135", "rounds to", "0.13"),)),
        "half up and half even both give 0.14",
        lambda: Arithmetic((figure("0.12", "0.125", "rounds to", "0.12"),)),  # half even
    ),
    Pair(
        "arithmetic/tie-below-zero",
        lambda: Arithmetic((figure("-0.14", "-0.135", "rounds to", "-0.15"),)),
        "-0.14 or -0.13, whichever way up is",
        lambda: Arithmetic(
            (figure("-0.13", "-0.135", "rounds to", "-0.13"),)
        ),  # half up, as for numbers above
    ),
    Pair(
        "arithmetic/about-twelve",
        lambda: Arithmetic((figure("about 12", "12.7", "rounds to", "12", 0),)),
        "12.7 rounds to 13",
        lambda: Arithmetic((figure("about 12", "12.5", "rounds to", "12", 0),)),  # half even
    ),
    Pair(
        "arithmetic/rounded-twice",
        lambda: Arithmetic((figure("1.45", "1.4449", "rounds to", "1.45"),)),
        "1.4449 rounds to 1.44; only by way of 1.445 does it become 1.45",
        lambda: Arithmetic((figure("1.45", "1.4451", "rounds to", "1.45"),)),
    ),
    Pair(
        "arithmetic/equal-up-to-floats",
        lambda: Arithmetic((figure("2^53", str(2**53 + 1), "=", str(2**53)),)),
        "they differ by 1, and are the same float",
        lambda: Arithmetic((figure("2^53", str(2**53 + 1), ">", str(2**53)),)),
    ),
    Pair(
        "arithmetic/comparison-of-equals",
        lambda: Arithmetic((figure("below a third", "2/6", "<", "1/3"),)),
        "they are equal",
        lambda: Arithmetic((figure("at most a third", "2/6", "<=", "1/3"),)),
    ),
    Pair(
        "arithmetic/decimals-of-a-third",
        lambda: Arithmetic((figure("0.33", "1/3", "=", "0.33"),)),
        "1/3 is not 33/100",
        lambda: Arithmetic((figure("0.33", "1/3", "rounds to", "0.33"),)),
    ),
    Pair(
        "arithmetic/more-decimals-than-claimed",
        lambda: Arithmetic((figure("0.3333", "0.3333", "rounds to", "0.3333", 2),)),
        "at 2 decimals it rounds to 0.33",
        lambda: Arithmetic((figure("0.3300", "0.3333", "rounds to", "0.3300", 2),)),
    ),
    Pair(
        "arithmetic/truncated-below-zero",
        lambda: Arithmetic((figure("-2.67", "-2.676", "rounds to", "-2.67"),)),
        "-2.676 rounds to -2.68",
        lambda: Arithmetic((figure("-2.68", "-2.676", "rounds to", "-2.68"),)),
    ),
    Pair(
        "arithmetic/rounded-numbers-compared",
        lambda: Arithmetic((figure("0.33 = 0.33", "333/1000", "=", "334/1000"),)),
        "0.333 and 0.334 agree only when both are rounded to two decimals",
        lambda: Arithmetic((figure("0.33 < 0.33", "333/1000", "<", "334/1000"),)),
    ),
    Pair(
        "arithmetic/one-of-five",
        lambda: Arithmetic(
            (
                figure("1/2", "0.5", "=", "1/2"),
                figure("0.67", "2/3", "rounds to", "0.67"),
                figure("0.66", "2/3", ">", "0.66"),
                figure("0.14", "1/7", "rounds to", "0.15"),
                figure("3.14", "22/7", ">=", "3.14"),
            )
        ),
        "1/7 = 0.1428... rounds to 0.14",
        lambda: Arithmetic(
            (
                figure("1/2", "0.5", "=", "1/2"),
                figure("0.67", "2/3", "rounds to", "0.67"),
                figure("0.66", "2/3", ">", "0.66"),
                figure("0.14", "1/7", "rounds to", "0.14"),
                figure("3.14", "22/7", ">=", "3.14"),
            )
        ),
    ),
]

AVERAGES = [
    Pair(
        "averages/no-columns",
        lambda: Averages(()),
        "a refusal: there are no figures at all",
        lambda: Averages((column("A", ("0.50",), "0.50"),)),
    ),
    Pair(
        "averages/no-entries",
        lambda: Averages((column("A", (), "0"),)),
        "a column without entries has no average",
        lambda: Averages((column("A", ("0",), "0"),)),
    ),
    Pair(
        "averages/about-twelve",
        lambda: Averages((column("A", ("12.4", "13.0"), "12", 1),)),
        "the average is 12.7, at most 0.1 off for the rounding of both",
        lambda: Averages((column("A", ("12.4", "13.0"), "12.7", 1),)),
    ),
    Pair(
        "averages/a-unit-and-a-third",
        lambda: Averages((column("A", ("0.10", "0.11", "0.11"), "0.12"),)),
        "0.1067 against 0.12: 1.33 units off, of which roundings explain less than one",
        lambda: Averages((column("A", ("0.10", "0.11", "0.11"), "0.10"),)),  # 0.67 units off
    ),
    Pair(
        "averages/median",
        lambda: Averages((column("A", ("0.10", "0.20", "0.90"), "0.20"),)),
        "0.20 is the median, the average is 0.40",
        lambda: Averages((column("A", ("0.10", "0.20", "0.30"), "0.20"),)),
    ),
    Pair(
        "averages/one-of-three",
        lambda: Averages(
            (
                column("A", ("0.50", "0.70"), "0.60"),
                column("B", ("-0.50", "0.70"), "0.60"),
                column("C", ("99.98", "99.99", "100.00"), "99.99"),
            )
        ),
        "the second average is 0.10",
        lambda: Averages(
            (
                column("A", ("0.50", "0.70"), "0.60"),
                column("B", ("-0.50", "0.70"), "0.10"),
                column("C", ("99.98", "99.99", "100.00"), "99.99"),
            )
        ),
    ),
    Pair(
        "averages/many-entries-do-not-add-up-errors",
        lambda: Averages((column("A", ("0.01",) * 100, "0.03"),)),
        "the entries are at most 0.015 each, so is their average",
        lambda: Averages((column("A", ("0.01",) * 100, "0.01"),)),
    ),
]

PAIRS = [
    *CONVEX,
    *CONVEX_PROGRAM,
    *WELL_POSED,
    *DUAL,
    *OPTIMAL,
    *SOLVABLE,
    *STATIONARY,
    *EXTREMUM,
    *LIMIT,
    *ORDER,
    *ARITHMETIC,
    *AVERAGES,
]
