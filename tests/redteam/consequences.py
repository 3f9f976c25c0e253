"""False statements of seven kinds, from Implication to GaussianMean, each beside a true twin.

The certificates of the false ones are fabricated: wrong signs, factors that vanish, captured indices.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from checks.kinds.examples import Example, Point, Rule
from checks.kinds.follows import Equation, Follows
from checks.kinds.gaussian import GaussianMean
from checks.kinds.implication import Implication
from checks.kinds.positive import Positive
from checks.kinds.unbounded import Bounded, Ray
from checks.statement import Fact, Given
from derivations.calculus import index as ix
from derivations.calculus import psd
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    diag,
    exp,
    eye,
    size,
    softmax,
    sqrt,
    squared_norm,
    sum_over,
    trace,
    zeros,
)
from redteam.pair import Pair

ONE, ZERO, HALF = as_term(1), as_term(0), Fraction(1, 2)
TINY = Fraction(1, 10**30)
REAL, POSITIVE = ("real", "> 0")  # the words for ranges in derivations.calculus.psd
DOMAINS = {REAL: "R^d", POSITIVE: "(0, inf)^d"}


def log(x: Term) -> Term:
    return apply("log", x)


def flat(x: Term) -> Term:
    """Vanishes at -1, 0, 1, 2 and 3, negative at 1/2."""
    return x * (x - 1) * (x + 1) * (x - 2) * (x - 3)


# ---- scalars and vectors

X_, Y_, Z_, A_, B_ = (Tensor(name) for name in "xyzab")
x, y, z, a, b = map(as_term, (X_, Y_, Z_, A_, B_))
C_ = Tensor("c", positive=True)
c = as_term(C_)
FREE_C_ = Tensor("c")
free_c = as_term(FREE_C_)

n, m = Index("i", "N"), Index("j", "N")
W_ = Tensor("w", ("N",))
w = as_term(W_)
POS_W_ = Tensor("w", ("N",), positive=True)
pos_w = as_term(POS_W_)
S_, SYM_ = Tensor("S", ("N", "N")), Tensor("S", ("N", "N"), symmetric=True)


def implies(
    *hypotheses: Fact, then: Term, relation: str = ">=", by: tuple = (), factor: tuple = (), witness=()
):
    return Implication(
        hypotheses,
        Fact("conclusion", then, relation),
        tuple((name, as_term(t)) for name, t in by),
        tuple((name, Fraction(q)) for name, q in factor),
        tuple((name, Fraction(q)) for name, q in witness),
    )


def at_least(name: str, term: Term) -> Fact:
    return Fact(name, term, ">=")


def above(name: str, term: Term) -> Fact:
    return Fact(name, term, ">")


def zero(name: str, term: Term) -> Fact:
    return Fact(name, term, "=")


def scaled(multiplier: Term) -> Implication:
    """If x >= 0, then multiplier x >= 0."""
    return implies(at_least("h", x), then=multiplier * x, by=(("h", multiplier),))


IMPLICATIONS = [
    Pair(
        "implication/odd-power-of-a-negated-positive",
        lambda: scaled((-c) ** 3),
        "c = 1, x = 1: (-1)^3 = -1",
        lambda: scaled((-c) ** 2),
    ),
    Pair(
        "implication/log-of-a-positive",
        lambda: scaled(log(c)),
        "c = 1/2, x = 1: log(1/2) < 0",
        lambda: scaled(log(1 + c)),
    ),
    Pair(
        "implication/unknown-function-of-a-positive",
        lambda: scaled(apply("F", c)),
        "F(u) = -u, c = 1, x = 1",
        lambda: scaled(apply("F", c) ** 2),
    ),
    Pair(
        "implication/positive-minus-one",
        lambda: scaled(c - 1),
        "c = 1/2, x = 1: (c - 1) x = -1/2",
        lambda: scaled(c + 1),
    ),
    Pair(
        "implication/root-of-a-square-as-multiplier",
        lambda: implies(at_least("h", x), then=y * x, by=(("h", sqrt(y**2)),)),
        "y = -1, x = 1: sqrt(y^2) = 1, not y",
        lambda: scaled(sqrt(y**2)),
    ),
    Pair(
        "implication/log-of-a-softmax",
        lambda: scaled(log(softmax(n, w[n]))),
        "N = 2, w = 0, x = 1: log(1/2) < 0",
        lambda: scaled(-log(softmax(n, w[n]))),
    ),
    Pair(
        "implication/multiplier-that-vanishes-at-small-integers",
        lambda: scaled(flat(y)),
        "y = 1/2, x = 1: 1/2 (-1/2) 3/2 (-3/2) (-5/2) < 0",
        lambda: scaled(flat(y) ** 2),
    ),
    Pair(
        "implication/factor-not-strict",
        lambda: implies(
            at_least("a", a), at_least("ax", a * x), then=x, by=(("ax", ONE),), factor=(("a", 1),)
        ),
        "a = 0, x = -1",
        lambda: implies(
            above("a", a),
            at_least("ax", a * x),
            then=x,
            by=(("ax", ONE),),
            factor=(("a", 1),),
            witness=(("a", 0), ("x", -1)),  # no counterexample: a = 0 breaks a hypothesis
        ),
    ),
    Pair(
        "implication/strict-one-with-coefficient-zero",
        lambda: implies(
            at_least("a", a),
            above("b", b),
            at_least("ax", a * x),
            then=x,
            by=(("ax", ONE),),
            factor=(("a", 1), ("b", 0)),
        ),
        "a = 0, b = 1, x = -1",
        lambda: implies(
            at_least("a", a),
            above("b", b),
            at_least("abx", (a + b) * x),
            then=x,
            by=(("abx", ONE),),
            factor=(("a", 1), ("b", 1)),
        ),
    ),
    Pair(
        "implication/factor-with-a-negative-coefficient",
        lambda: implies(
            above("a", a),
            above("b", b),
            at_least("p", (2 * a - b) * x),
            then=x,
            by=(("p", ONE),),
            factor=(("a", 2), ("b", -1)),
        ),
        "a = 1, b = 3, x = -1: (2 - 3)(-1) = 1 >= 0",
        lambda: implies(
            above("a", a),
            above("b", b),
            at_least("p", (2 * a + b) * x),
            then=x,
            by=(("p", ONE),),
            factor=(("a", 2), ("b", 1)),
        ),
    ),
    Pair(
        "implication/factor-that-is-zero-by-hypothesis",
        lambda: implies(zero("a", a), at_least("ax", a * x), then=x, by=(("ax", ONE),), factor=(("a", 1),)),
        "a = 0, x = -1",
        lambda: implies(zero("a", a - 1), at_least("ax", a * x), then=x, by=(("ax", ONE), ("a", -x))),
    ),
    Pair(
        "implication/two-hypotheses-of-one-name",
        lambda: implies(
            at_least("a", x),
            above("a", y),
            at_least("p", x * z),
            then=z,
            by=(("p", ONE),),
            factor=(("a", 1),),
        ),
        "x = 0, y = 1, z = -1",
        lambda: implies(
            at_least("b", x),
            above("a", y),
            at_least("p", y * z),
            then=z,
            by=(("p", ONE),),
            factor=(("a", 1),),
        ),
    ),
    Pair(
        "implication/one-hypothesis-multiplied-twice",
        lambda: implies(at_least("h", x), then=-x, by=(("h", as_term(-2)), ("h", ONE))),
        "x = 1: -1 >= 0 fails",
        lambda: implies(at_least("h", x), then=3 * x, by=(("h", as_term(2)), ("h", ONE))),
    ),
    Pair(
        "implication/strict-from-nonstrict",
        lambda: implies(
            at_least("x", x), at_least("y", y), then=x + y, relation=">", by=(("x", ONE), ("y", ONE))
        ),
        "x = y = 0",
        lambda: implies(
            at_least("x", x), above("y", y), then=x + y, relation=">", by=(("x", ONE), ("y", ONE))
        ),
    ),
    Pair(
        "implication/strict-with-a-multiplier-that-may-vanish",
        lambda: implies(above("x", x), then=y**2 * x, relation=">", by=(("x", y**2),)),
        "y = 0, x = 1",
        lambda: implies(above("x", x), then=(y**2 + 1) * x, relation=">", by=(("x", y**2 + 1),)),
    ),
    Pair(
        "implication/strict-except-for-one-summand",
        lambda: implies(
            above("x", x),
            then=(sum_over(n, pos_w[n]) - pos_w[m]) * x,
            relation=">",
            by=(("x", sum_over(n, pos_w[n]) - pos_w[m]),),
        ),
        "N = 1: the sum without its only summand is 0",
        lambda: implies(
            above("x", x),
            then=(sum_over(n, pos_w[n]) + pos_w[m]) * x,
            relation=">",
            by=(("x", sum_over(n, pos_w[n]) + pos_w[m]),),
        ),
    ),
    Pair(
        "implication/equality-from-an-inequality",
        lambda: implies(at_least("h", x - y), then=c * (x - y), relation="=", by=(("h", c),)),
        "x = 1, y = 0, c = 1: 1 is not 0",
        lambda: implies(zero("h", x - y), then=z * (x - y), relation="=", by=(("h", z),)),
    ),
    Pair(
        "implication/inequality-used-backwards",
        lambda: implies(at_least("h", x - y), at_least("x", x), then=y, by=(("h", as_term(-1)), ("x", ONE))),
        "x = 1, y = -1",
        lambda: implies(zero("h", x - y), at_least("x", x), then=y, by=(("h", as_term(-1)), ("x", ONE))),
    ),
    Pair(
        "implication/tiny-negative-multiplier",
        lambda: implies(
            at_least("x", x), at_least("y", y), then=x - TINY * y, by=(("x", ONE), ("y", as_term(-TINY)))
        ),
        "x = 0, y = 1: -10^-30",
        lambda: implies(
            at_least("x", x), at_least("y", y), then=x + TINY * y, by=(("x", ONE), ("y", as_term(TINY)))
        ),
    ),
    Pair(
        "implication/cancelled-factor-that-may-vanish",
        lambda: implies(zero("h", (x - 17) * y), then=y, relation="=", by=(("h", 1 / (x - 17)),)),
        "x = 17, y = 1",
        lambda: implies(zero("h", (x**2 + 1) * y), then=y, relation="=", by=(("h", 1 / (x**2 + 1)),)),
    ),
    Pair(
        "implication/multiplier-undefined-where-the-hypothesis-holds",
        lambda: implies(zero("h", x - 17), then=y, by=(("h", y / (x - 17)),)),
        "x = 17, y = -1; the multiplier divides by the hypothesis, which is 0",
        lambda: implies(
            zero("h", x - 17), then=y * (x - 17) / (x**2 + 1), relation="=", by=(("h", y / (x**2 + 1)),)
        ),
    ),
    Pair(
        "implication/hypothesis-with-irrational-solutions-only",
        lambda: implies(zero("h", x**2 - 2), then=x, by=(("h", x / (x**2 - 2)),)),
        "x = -sqrt(2); no rational x satisfies the hypothesis",
        lambda: implies(zero("h", x**2 - 2), then=x**4 - 4, relation="=", by=(("h", x**2 + 2),)),
    ),
]

# ---- consequences of matrix equations; the names are those of the families of exact instances

A, U, V, X = (
    as_term(Tensor(name, dims))
    for name, dims in (("A", ("N", "M")), ("U", ("N", "r")), ("V", ("M", "r")), ("X", ("r", "M")))
)
VALUES_, POS_VALUES_ = Tensor("s", ("r",)), Tensor("s", ("r",), positive=True)
s = as_term(VALUES_)
D = diag(s)
RA_, RX_ = Tensor("R_A", ("N", "M")), Tensor("R_X", ("N", "M"))
RU_, RV_ = Tensor("R_U", ("r", "r")), Tensor("R_V", ("r", "r"))
R_A, R_X, R_U, R_V = map(as_term, (RA_, RX_, RU_, RV_))
SVD = Equation(A, U @ D @ V.T, RA_)
FACTORS = Equation(A, U @ X, RX_)
U_UNIT, V_UNIT = Equation(U.T @ U, eye("r"), RU_), Equation(V.T @ V, eye("r"), RV_)
DECOMPOSITIONS = "rational singular value decompositions"
RIGHT = A @ V, U @ D  # equal if A = U D V' and V'V = I
RIGHT_CERTIFICATE = R_A @ V + U @ D @ R_V
RIGHT_GAP = A @ V - U @ D
k, q = Index("k", "r"), Index("q", "M")
Z = X - D @ V.T


def values_sum(tensor: Tensor) -> Follows:
    values = as_term(tensor)
    d = diag(values)
    return Follows(
        (Equation(A, U @ d @ V.T, RA_), U_UNIT, V_UNIT),
        trace(U.T @ A @ V),
        ZERO,
        trace(U.T @ R_A @ V + R_U @ d @ V.T @ V + d @ R_V),
        DECOMPOSITIONS,
        relation=">=",
        squares=sum_over(k, values[k]),
    )


K, H_E, H_R = (
    as_term(Tensor(name, dims))
    for name, dims in (("K", ("N", "N")), ("h_e", ("N", "s")), ("h_r", ("N", "s")))
)
SIGMA_, POS_SIGMA_ = Tensor("sigma", ("s",)), Tensor("sigma", ("s",), positive=True)
R1_, R2_ = Tensor("R_1", ("N", "s")), Tensor("R_2", ("N", "s"))
SHIFTED = "solutions of (7), f(X): tokens"
E = as_term(R2_).T @ H_R - H_E.T @ as_term(R1_)
e, f = Index("i", "s"), Index("j", "s")


def shifted(sigma: Tensor) -> tuple[Equation, Equation]:
    d = diag(as_term(sigma))
    return Equation(K @ H_R, H_E @ d, R1_), Equation(K.T @ H_E, H_R @ d, R2_)


def same_gram(sigma: Tensor) -> Follows:
    return Follows(
        shifted(sigma),
        (H_E.T @ H_E)[e, f],
        (H_R.T @ H_R)[e, f],
        E[e, f] + E[f, e],
        SHIFTED,
        factor=as_term(sigma)[e] + as_term(sigma)[f],
    )


ROOT, GRAM = as_term(Tensor("B", ("M", "N"))), as_term(Tensor("A", ("N", "N")))
RB_ = Tensor("R_B", ("N", "N"))


def trace_at_least(bound: Fraction) -> Follows:
    return Follows(
        (Equation(GRAM, ROOT.T @ ROOT, RB_),),
        trace(GRAM),
        as_term(bound),
        trace(as_term(RB_)),
        "positive semidefinite decompositions",
        relation=">=",
        squares=squared_norm(ROOT) - bound,
    )


R_XY_ = Tensor("r")


def gap(meant: Tensor, values: tuple[tuple[Tensor, int], ...] = ()) -> Follows:
    """If x = y, then z = 0, for z = x - y or for what is printed as the residual."""
    meaning = as_term(meant) - y if meant == X_ else as_term(meant)
    points = tuple(Point((), ((X_, n), (Y_, n), *values)) for n in (1, 2, 3))
    given = (Given(Z_, (), meaning, "as defined"),)
    certificate = as_term(R_XY_) if meant == X_ else z
    return Follows((Equation(x, y, R_XY_),), z, 0 * x, certificate, points, given=given)


def summed(over: Index) -> Follows:
    """If the squares of x - y over an index add up to 0, then x = y."""
    points = tuple(Point(((over.dim, n),), ((X_, n), (Y_, n))) for n in (1, 2, 3))
    hypothesis = Equation(sum_over(over, (x - y) ** 2), ZERO, R_XY_)
    return Follows((hypothesis,), x, y, as_term(R_XY_), points, over=(over,))


FOLLOWS = [
    Pair(
        "follows/a-sum-of-no-squares",
        lambda: summed(Index("k", "N-1")),
        "N = 1, x = 1, y = 0: no squares add up to 0",
        lambda: summed(n),
    ),
    Pair(
        "follows/values-without-a-sign",
        lambda: values_sum(VALUES_),
        "all sizes 1: U = V = 1, s = A = -1, and the trace is -1; only the instances have s > 0",
        lambda: values_sum(POS_VALUES_),
    ),
    Pair(
        "follows/factor-without-a-sign",
        lambda: same_gram(SIGMA_),
        "all sizes 1: K = 0, sigma = 0, h_e = 1, h_r = 2; the factor is 0",
        lambda: same_gram(POS_SIGMA_),
    ),
    Pair(
        "follows/certificate-of-another-shape",
        lambda: Follows((SVD,), *RIGHT, trace(U.T @ R_A @ V), DECOMPOSITIONS),
        "all sizes 1: U = s = 1, V = A = 2: A V = 4, U s = 1",
        lambda: Follows((SVD, V_UNIT), *RIGHT, RIGHT_CERTIFICATE, DECOMPOSITIONS),
    ),
    Pair(
        "follows/certificate-that-is-no-formula",
        lambda: Follows((SVD,), *RIGHT, R_A @ U, DECOMPOSITIONS),
        "all sizes 1: U = s = 1, V = A = 2: A V = 4, U s = 1",
        lambda: Follows((SVD, V_UNIT), *RIGHT, RIGHT_CERTIFICATE, DECOMPOSITIONS),
    ),
    Pair(
        "follows/denominator-that-the-hypotheses-make-zero",
        lambda: Follows(
            (SVD, U_UNIT),
            *RIGHT,
            RIGHT_GAP * trace(R_U) / trace(U.T @ U - eye("r")),
            DECOMPOSITIONS,
        ),
        "all sizes 1: U = s = 1, V = A = 2: A V = 4, U s = 1",
        lambda: Follows((SVD, V_UNIT), *RIGHT, RIGHT_CERTIFICATE, DECOMPOSITIONS),
    ),
    Pair(
        "follows/residual-in-the-denominator",
        lambda: Follows(
            (SVD, V_UNIT),
            U.T @ A,
            D @ V.T,
            (U.T @ A - D @ V.T) * (trace(V.T @ V) - size("r")) * trace(R_V) ** -1,
            DECOMPOSITIONS,
        ),
        "all sizes 1: U = 2, V = s = 1, A = 2: U A = 4, s V = 1",
        lambda: Follows(
            (SVD, U_UNIT), U.T @ A, D @ V.T, U.T @ R_A + R_U @ D @ V.T, DECOMPOSITIONS, factor=ONE
        ),
    ),
    Pair(
        "follows/residual-that-is-a-symbol-of-the-claim",
        lambda: Follows(
            (Equation(A, U @ D @ V.T, Tensor("A", ("N", "M"))),),
            A @ V @ V.T,
            A,
            A @ V @ V.T - A,
            DECOMPOSITIONS,
        ),
        "all sizes 1: U = s = 1, V = A = 2: A V V' = 8",
        lambda: Follows(
            (SVD, V_UNIT),
            A @ V @ V.T,
            A,
            R_A @ V @ V.T + U @ D @ R_V @ V.T - R_A,
            DECOMPOSITIONS,
        ),
    ),
    Pair(
        "follows/residual-in-a-definition",
        lambda: gap(R_XY_, ((R_XY_, 0),)),
        "x = y = 1, r = 5: z is r, of which no hypothesis says anything",
        lambda: gap(X_),
    ),
    Pair(
        "follows/factor-that-vanishes-under-the-hypotheses",
        lambda: Follows(
            (SVD, U_UNIT),
            *RIGHT,
            RIGHT_GAP * squared_norm(R_U),
            DECOMPOSITIONS,
            factor=squared_norm(U.T @ U - eye("r")),
        ),
        "all sizes 1: U = s = 1, V = A = 2: A V = 4, U s = 1; a sum of squares need not be positive",
        lambda: Follows(
            (SVD, V_UNIT),
            *RIGHT,
            (1 + squared_norm(U.T @ U - eye("r"))) * RIGHT_CERTIFICATE,
            DECOMPOSITIONS,
            factor=1 + squared_norm(U.T @ U - eye("r")),
        ),
    ),
    Pair(
        "follows/factor-that-is-always-zero",
        lambda: Follows(
            (SVD,),
            A.T @ U,
            V @ D,
            zeros("M", "r"),
            DECOMPOSITIONS,
            factor=trace(U.T @ U) - trace(U @ U.T),
        ),
        "all sizes 1: U = 2, s = V = 1, A = 2: A U = 4, V s = 1",
        lambda: Follows((SVD, U_UNIT), A.T @ U, V @ D, R_A.T @ U + V @ D @ R_U, DECOMPOSITIONS),
    ),
    Pair(
        "follows/residual-of-a-tautology",
        lambda: Follows(
            (SVD, Equation(V.T @ V, V.T @ V, RV_)),
            *RIGHT,
            RIGHT_CERTIFICATE,
            DECOMPOSITIONS,
        ),
        "all sizes 1: U = s = 1, V = A = 2: A V = 4, U s = 1",
        lambda: Follows(
            (SVD, Equation(eye("r"), V.T @ V, RV_)), *RIGHT, R_A @ V - U @ D @ R_V, DECOMPOSITIONS
        ),
    ),
    Pair(
        "follows/rank-of-the-instances",
        lambda: Follows((U_UNIT,), trace(U.T @ U), as_term(2), trace(R_U), DECOMPOSITIONS),
        "r = 1: the trace is 1",
        lambda: Follows((U_UNIT,), trace(U.T @ U), size("r"), trace(R_U), DECOMPOSITIONS),
    ),
    Pair(
        "follows/factor-that-vanishes-at-size-one",
        lambda: Follows(
            (Equation(size("r") * RIGHT_GAP, RIGHT_GAP, Tensor("R", ("N", "r"))),),
            *RIGHT,
            as_term(Tensor("R", ("N", "r"))),
            DECOMPOSITIONS,
            factor=size("r") - 1,
        ),
        "all sizes 1: the hypothesis says nothing; A = 0, U = V = s = 1",
        lambda: Follows(
            (Equation(size("r") * RIGHT_GAP, -RIGHT_GAP, Tensor("R", ("N", "r"))),),
            *RIGHT,
            as_term(Tensor("R", ("N", "r"))),
            DECOMPOSITIONS,
            factor=size("r") + 1,
        ),
    ),
    Pair(
        "follows/quadratic-form-that-is-no-square",
        lambda: Follows(
            (SVD, FACTORS),
            X[k, q],
            (D @ V.T)[k, q],
            trace(Z.T @ U.T @ (R_A - R_X)),
            DECOMPOSITIONS,
            squares=trace(Z.T @ (U.T @ U - eye("r")) @ Z),
            over=(k, q),
        ),
        "all sizes 1: A = U = 0, X = 1, s = V = 0",
        lambda: Follows(
            (SVD, FACTORS, U_UNIT),
            X[k, q],
            (D @ V.T)[k, q],
            trace(Z.T @ U.T @ (R_A - R_X)) - trace(Z.T @ R_U @ Z),
            DECOMPOSITIONS,
            over=(k, q),
        ),
    ),
    Pair(
        "follows/bound-that-the-instances-keep",
        lambda: trace_at_least(Fraction(1, 4)),
        "A = B = 0: the trace is 0; the instances' values are at least 1/4",
        lambda: trace_at_least(Fraction(-1, 4)),
    ),
    Pair(
        "follows/diagonal-on-the-other-side",
        lambda: Follows(
            shifted(SIGMA_),
            H_E.T @ H_E @ diag(as_term(SIGMA_)),
            H_R.T @ H_R @ diag(as_term(SIGMA_)),
            E,
            SHIFTED,
        ),
        "N = 1, s = 2: K = 1, sigma = (1, -1), h_r = (1, 1), h_e = (1, -1); entry 12 is 1 left, -1 right",
        lambda: Follows(
            shifted(SIGMA_),
            H_E.T @ H_E @ diag(as_term(SIGMA_)),
            diag(as_term(SIGMA_)) @ H_R.T @ H_R,
            E,
            SHIFTED,
        ),
    ),
]

# ---- kernels

P_, POS_P_ = Tensor("X", ("N", "d")), Tensor("X", ("N", "d"), positive=True)
p, pos_p = as_term(P_), as_term(POS_P_)
i, j, o, t = Index("i", "N"), Index("j", "N"), Index("k", "N"), Index("m", "N")
u, v = Index("a", "d"), Index("b", "d")
DOT = sum_over(u, p[i, u] * p[j, u])
LINEAR = psd.Features(p[o, u], o, u)


def kernel(
    term: Term,
    certificate: psd.Certificate,
    domain: str = REAL,
    ranges: tuple[tuple[Tensor, str], ...] = (),
    points: Tensor = P_,
) -> Positive:
    return Positive(term, points, i, j, DOMAINS[domain], ranges, certificate)


def poles(denominator) -> Positive:
    return kernel(
        sum_over(u, 1 / (denominator(p[i, u]) * denominator(p[j, u]))),
        psd.Features(1 / denominator(p[o, u]), o, u),
    )


def harmonic(shift: int) -> Positive:
    return kernel(
        sum_over(u, (pos_p[i, u] + shift) * (pos_p[j, u] + shift) / (pos_p[i, u] + pos_p[j, u] + 2 * shift)),
        psd.OverCoordinates(psd.Harmonic(pos_p[o, u] + shift, o), u),
        POSITIVE,
        points=POS_P_,
    )


def squared(offset: Term) -> Positive:
    shifted_dot = psd.Plus((LINEAR, psd.Multiple(offset, psd.Features(ONE, o))))
    return kernel((DOT + offset) ** 2, psd.Power(shifted_dot, 2), ranges=((FREE_C_, REAL),))


def power(degree) -> Positive:
    dot = sum_over(u, pos_p[i, u] * pos_p[j, u])
    certificate = psd.Power(psd.Features(pos_p[o, u], o, u), degree)
    return kernel(dot**degree, certificate, POSITIVE, points=POS_P_)


def over_squares(range_: str) -> Positive:
    return kernel(DOT / free_c**2, psd.Multiple(1 / free_c**2, LINEAR), ranges=((FREE_C_, range_),))


def roots(domain: str) -> Positive:
    return kernel(sum_over(u, sqrt(p[i, u]) * sqrt(p[j, u])), psd.Features(sqrt(p[o, u]), o, u), domain)


class Claimed(psd.Certificate):
    """An author's own rule, which says of a kernel that it is one."""

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return TOO_FLAT.entry()


TOO_FLAT = exp(-100 * squared_norm(p[i] - p[j]) ** 2)

POSITIVES = [
    Pair(
        "positive/rule-of-one's-own",
        lambda: kernel(TOO_FLAT, Claimed()),
        "points 0, h, 2h and c = 1, -2, 1 for a small h: the form is 800 h^4 - 3200 h^4 and smaller terms",
        lambda: kernel(DOT, LINEAR),
    ),
    Pair(
        "positive/feature-of-the-kernel's-own-index",
        lambda: kernel(sum_over(u, p[i, u] * p[i, u]), psd.Features(p[i, u], o, u)),
        "κ = |x_i|²: x = 1, 0 and c = 1, -2 give (Σ c)(Σ c x²) = -1",
        lambda: kernel(DOT, LINEAR),
    ),
    Pair(
        "positive/feature-of-both-points",
        lambda: kernel(sum_over(u, p[i, u] * p[j, u] ** 3), psd.Features(p[i, u] * p[j, u], i, u)),
        "d = 1, x = 1, 2: the form [[1, 5], [5, 16]] has determinant -9",
        lambda: kernel(sum_over(u, p[i, u] ** 3 * p[j, u] ** 3), psd.Features(p[o, u] ** 3, o, u)),
    ),
    Pair(
        "positive/sum-over-the-kernel's-own-index",
        lambda: kernel(
            sum_over(t, u, p[t, u] * p[j, u]), psd.OverCoordinates(psd.Features(p[o, u], o, i), u)
        ),
        "d = 1, x = 1, 2 and c = 3, -2: (Σ c)(Σ c_j 3 x_j) = 9 - 12 = -3",
        lambda: kernel(DOT, psd.OverCoordinates(psd.Features(p[o, u], o), u)),
    ),
    Pair(
        "positive/coefficient-of-one-point",
        lambda: kernel(sum_over(v, p[i, v] ** 2) * DOT, psd.Multiple(sum_over(v, p[i, v] ** 2), LINEAR)),
        "d = 1, x = 1, 2: the form [[1, 5], [5, 16]] has determinant -9",
        lambda: kernel(
            sum_over(v, p[i, v] ** 2) * sum_over(v, p[j, v] ** 2) * DOT,
            psd.Scaled(sum_over(v, p[o, v] ** 2), o, LINEAR),
        ),
    ),
    Pair(
        "positive/exponential-coefficient-of-one-point",
        lambda: kernel(
            exp(-squared_norm(p[i])) * exp(DOT), psd.Multiple(exp(-squared_norm(p[i])), psd.Exp(LINEAR))
        ),
        "d = 1, x = 1, 3: diagonal 1, 1, off it (e² + e⁻⁶)/2 > 1",
        lambda: kernel(
            exp(-HALF * squared_norm(p[i])) * exp(-HALF * squared_norm(p[j])) * exp(DOT),
            psd.Scaled(exp(-HALF * squared_norm(p[o])), o, psd.Exp(LINEAR)),
        ),
    ),
    Pair(
        "positive/coefficient-of-two-positive-points",
        lambda: kernel(
            sum_over(u, pos_p[i, u] + pos_p[j, u]),
            psd.Multiple(sum_over(u, pos_p[i, u] + pos_p[j, u]), psd.Features(ONE, o)),
            POSITIVE,
            points=POS_P_,
        ),
        "d = 1, x = 1, 3: [[2, 4], [4, 6]] has determinant -4",
        lambda: kernel(
            sum_over(u, 1 / (pos_p[i, u] * pos_p[j, u])),
            psd.Features(1 / pos_p[o, u], o, u),
            POSITIVE,
            points=POS_P_,
        ),
    ),
    Pair(
        "positive/pole-at-17",
        lambda: poles(lambda s_: s_ - 17),
        "undefined where a coordinate is 17",
        lambda: poles(lambda s_: s_**2 + 1),
    ),
    Pair(
        "positive/harmonic-of-a-difference-of-positives",
        lambda: harmonic(-1),
        "d = 1, one point 1/2: 1/4 over -1",
        lambda: harmonic(1),
    ),
    Pair(
        "positive/even-negative-power-of-a-parameter",
        lambda: over_squares(REAL),
        "undefined at c = 0",
        lambda: over_squares(POSITIVE),
    ),
    Pair(
        "positive/power-that-is-not-whole",
        lambda: power(Fraction(3, 2)),
        "d = 2, N = 4, points (1, τ), τ = 1, 2, 3, 4: [(1 + τ τ')^(3/2)] has a negative eigenvalue",
        lambda: power(2),
    ),
    Pair(
        "positive/imaginary-feature-in-the-exponent",
        lambda: kernel(
            exp(sum_over(u, (p[i, u] - p[j, u]) ** 2)),
            psd.Scaled(exp(squared_norm(p[o])), o, psd.Exp(psd.Features(sqrt(as_term(-2)) * p[o, u], o, u))),
        ),
        "d = 1, x = 0, 1 and c = 1, -1: 2 - 2e < 0",
        lambda: kernel(
            exp(-HALF * sum_over(u, (p[i, u] - p[j, u]) ** 2)),
            psd.Scaled(exp(-HALF * squared_norm(p[o])), o, psd.Exp(LINEAR)),
        ),
    ),
    Pair(
        "positive/root-of-a-difference-in-a-feature",
        lambda: kernel(
            (free_c - 1) * DOT,
            psd.Features(sqrt(free_c - 1) * p[o, u], o, u),
            ranges=((FREE_C_, POSITIVE),),
        ),
        "c = 1/2, one point 1: -1/2",
        lambda: kernel(
            (free_c + 1) * DOT,
            psd.Features(sqrt(free_c + 1) * p[o, u], o, u),
            ranges=((FREE_C_, POSITIVE),),
        ),
    ),
    Pair(
        "positive/offset-without-a-sign",
        lambda: squared(free_c),
        "c = -1, d = 1, x = 1, -1: [[0, 4], [4, 0]]",
        lambda: squared(free_c**2),
    ),
    Pair(
        "positive/tiny-negative-constant",
        lambda: kernel(DOT - TINY, psd.Plus((LINEAR, psd.Features(sqrt(as_term(-TINY)), o)))),
        "one point 0: -10^-30",
        lambda: kernel(DOT + TINY, psd.Plus((LINEAR, psd.Multiple(as_term(TINY), psd.Features(ONE, o))))),
    ),
    Pair(
        "positive/roots-of-negative-coordinates",
        lambda: roots(REAL),
        "undefined at a coordinate -1",
        lambda: roots(POSITIVE),
    ),
    Pair(
        "positive/cosine-of-a-sum",
        lambda: kernel(
            sum_over(u, apply("cos", p[i, u] + p[j, u])),
            psd.Plus(
                (
                    psd.Features(apply("cos", p[o, u]), o, u),
                    psd.Features(sqrt(as_term(-1)) * apply("sin", p[o, u]), o, u),
                )
            ),
        ),
        "d = 1, one point 1: cos 2 < 0",
        lambda: kernel(
            sum_over(u, apply("cos", p[i, u] - p[j, u])),
            psd.Plus(
                (
                    psd.Features(apply("cos", p[o, u]), o, u),
                    psd.Features(apply("sin", p[o, u]), o, u),
                )
            ),
        ),
    ),
]

# ---- rules and examples at exact points


def point(*values: tuple[Tensor, object], sizes=(), at=()) -> Point:
    return Point(tuple(sizes), values, tuple(at))


def number(value: int | str) -> Fraction:
    return Fraction(value)


def row(*values: int) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


def signed(tensor: Tensor) -> Rule:
    """If x >= 0, then c x >= 0, with c = -1 and x = 1 against it."""
    return Rule(
        (at_least("x", x),),
        at_least("cx", as_term(tensor) * x),
        point((tensor, number(-1)), (X_, number(1))),
    )


def mirrored(tensor: Tensor) -> Rule:
    matrix = as_term(tensor)
    return Rule(
        (),
        zero("symmetric", matrix[n, m] - matrix[m, n]),
        point((tensor, (row(1, 2), row(3, 4))), sizes=(("N", 2),)),
    )


def defined(exponent: int, value: int) -> Rule:
    """y := x^exponent is nonnegative."""
    return Rule(
        (),
        at_least("y", y),
        point((X_, number(-1)), (Y_, number(value))),
        given=(Given(Y_, (), x**exponent, "definition"),),
    )


def norm_of_sum(factor: Term) -> Rule:
    return Rule(
        (),
        at_least("gap", factor * sum_over(n, w[n] ** 2) - sum_over(n, w[n]) ** 2),
        point((W_, row(1, 1)), sizes=(("N", 2),)),
    )


RULES = [
    Pair(
        "rule/point-that-breaks-a-promise",
        lambda: signed(FREE_C_),
        "c = -1, x = 1",
        lambda: signed(C_),
    ),
    Pair(
        "rule/point-that-is-not-symmetric",
        lambda: mirrored(S_),
        "S_12 = 2, S_21 = 3",
        lambda: mirrored(SYM_),
    ),
    Pair(
        "rule/point-against-a-definition",
        lambda: defined(3, -1),
        "x = -1: y = -1",
        lambda: defined(2, -1),
    ),
    Pair(
        "rule/hypothesis-fails-at-the-point",
        lambda: Rule((at_least("h", x - 15),), above("x", x - 16), point((X_, number(16)))),
        "x = 16: 1 >= 0, but 0 > 0 fails",
        lambda: Rule((at_least("h", x - 17),), above("x", x - 16), point((X_, number(16)))),
    ),
    Pair(
        "rule/hypothesis-fails-at-a-later-index",
        lambda: Rule(
            (at_least("w", w[n]),), at_least("v", w[n] - 1), point((W_, row(1, 0)), sizes=(("N", 2),))
        ),
        "w = (1, 0): the second entry is 0 >= 0 and 0 - 1 < 0",
        lambda: Rule(
            (at_least("w", w[n]),), above("v", w[n] + 1), point((W_, row(1, -3)), sizes=(("N", 2),))
        ),
    ),
    Pair(
        "rule/equality-at-the-point",
        lambda: norm_of_sum(ONE),
        "N = 2, w = (1, 1): 2 - 4 < 0",
        lambda: norm_of_sum(size("N")),
    ),
    Pair(
        "rule/point-that-does-not-break-it",
        lambda: Rule((), zero("p", flat(x)), point((X_, number(2)))),
        "x = 1/2; the offered x = 2 is a root",
        lambda: Rule((), zero("p", (x - 1) * (x + 1) - x**2 + 1), point((X_, number(2)))),
    ),
    Pair(
        "rule/root-of-a-square",
        lambda: Rule((), zero("root", sqrt(x**2) - x), point((X_, number(-1)))),
        "x = -1: 1 + 1 = 2",
        lambda: Rule((), zero("root", sqrt(x**2) - apply("abs", x)), point((X_, number(-1)))),
    ),
    Pair(
        "rule/rest-of-a-sum-of-length-one",
        lambda: Rule(
            (),
            above("rest", sum_over(n, pos_w[n]) - pos_w[m]),
            point((POS_W_, row(2)), sizes=(("N", 1),)),
        ),
        "N = 1: 2 - 2 = 0",
        lambda: Rule(
            (),
            at_least("rest", sum_over(n, pos_w[n]) - pos_w[m]),
            point((POS_W_, row(2)), sizes=(("N", 1),)),
        ),
    ),
]

ROOT_BELOW = Fraction(1414213562373095048801688724209, 10**30)  # < sqrt(2) < the next one
ROOT_ABOVE = ROOT_BELOW + TINY


def scalar_example(fact: Fact, value: int | Fraction, tensor: Tensor = X_) -> Example:
    return Example((fact,), point((tensor, Fraction(value))))


EXAMPLES = [
    Pair(
        "example/last-entry-fails",
        lambda: Example((above("w", w[n]),), point((W_, row(2, 1, 0)), sizes=(("N", 3),))),
        "w_3 = 0 is not > 0",
        lambda: Example((at_least("w", w[n]),), point((W_, row(2, 1, 0)), sizes=(("N", 3),))),
    ),
    Pair(
        "example/one-fact-of-two",
        lambda: Example((zero("square", x**2 - 4), above("sign", x)), point((X_, number(-2)))),
        "x = -2 is not positive",
        lambda: Example((zero("square", x**2 - 4), above("sign", -x)), point((X_, number(-2)))),
    ),
    Pair(
        "example/thirty-digits-of-a-third",
        lambda: scalar_example(zero("third", 3 * x - 1), Fraction(10**30 // 3, 10**30)),
        "3x - 1 = -10^-30",
        lambda: scalar_example(zero("third", 3 * x - 1), Fraction(1, 3)),
    ),
    Pair(
        "example/quotient-of-zeros",
        lambda: scalar_example(zero("one", (x - 17) / (x - 17) - 1), 17),
        "0/0 at x = 17",
        lambda: scalar_example(zero("one", (x - 17) / (x - 17) - 1), 16),
    ),
    Pair(
        "example/instance-breaks-a-promise",
        lambda: scalar_example(above("sign", -c), -1, C_),
        "c is promised positive",
        lambda: scalar_example(above("sign", -free_c), -1, FREE_C_),
    ),
    Pair(
        "example/instance-against-a-definition",
        lambda: Example(
            (zero("y", y - 3),),
            point((X_, number(2)), (Y_, number(3))),
            given=(Given(Y_, (), x**2, "definition"),),
        ),
        "y = x² is 4, not 3",
        lambda: Example(
            (zero("y", y - 4),),
            point((X_, number(2)), (Y_, number(4))),
            given=(Given(Y_, (), x**2, "definition"),),
        ),
    ),
    Pair(
        "example/root-of-two-to-thirty-digits",
        lambda: scalar_example(at_least("root", sqrt(x) - ROOT_ABOVE), 2),
        "the square of the subtracted number is above 2",
        lambda: scalar_example(at_least("root", sqrt(x) - ROOT_BELOW), 2),
    ),
    Pair(
        "example/cube-root-of-a-negative",
        lambda: scalar_example(zero("root", x ** Fraction(1, 3) + 2), -8),
        "rational powers are of nonnegative bases",
        lambda: scalar_example(zero("root", x ** Fraction(1, 3) - 2), 8),
    ),
    Pair(
        "example/zero-to-the-zero",
        lambda: scalar_example(zero("power", x**0), 0),
        "x^0 = 1 everywhere",
        lambda: scalar_example(zero("power", x**0 - 1), 0),
    ),
    Pair(
        "example/bound-index-fixed-outside",
        lambda: Example(
            (zero("sum", sum_over(n, w[n]) - 2 * w[n]),),
            point((W_, row(1, 2)), sizes=(("N", 2),), at=((n, 1),)),
        ),
        "1 + 2 - 2·1 = 1; the index of the sum is not the fixed one",
        lambda: Example(
            (zero("sum", sum_over(n, w[n]) - 3 * w[n]),),
            point((W_, row(1, 2)), sizes=(("N", 2),), at=((n, 1),)),
        ),
    ),
]

# ---- bounds of programs

MU_, NU_, T_ = Tensor("mu"), Tensor("nu"), Tensor("t")


def minimum(
    objective: Term,
    variables: tuple[Tensor, ...],
    gap: Term = ZERO,
    bound: Term | None = ZERO,
    constraints: tuple[Constraint, ...] = (),
    semidefinite: tuple[Tensor, ...] = (),
    ray: Ray | None = None,
    maximise: bool = False,
) -> Bounded:
    program = Program("P", variables, objective, constraints, maximise=maximise, semidefinite=semidefinite)
    return Bounded(program, ray, bound, gap)


def least(objective: Term, *variables: Tensor) -> Bounded:
    """The minimum of the objective is 0 or more, with the objective itself as the gap."""
    return minimum(objective, variables, objective)


def form(semidefinite: bool) -> Bounded:
    objective = sum_over(n, m, w[n] * as_term(SYM_)[n, m] * w[m])
    return minimum(objective, (W_,), objective, semidefinite=(SYM_,) if semidefinite else ())


def in_interval(*constraints: Constraint) -> Bounded:
    """-x² on an interval, with the ray x = -t."""
    ray = Ray(T_, ((X_, (), -as_term(T_)),), ONE)
    return minimum(-(x**2), (X_,), bound=None, constraints=constraints, ray=ray)


BELOW_ONE = Constraint(x, ONE, MU_)
ABOVE_MINUS_ONE = Constraint(-x, ONE, NU_)

BOUNDED = [
    Pair(
        "bounded/product-that-looks-like-a-square",
        lambda: least((x - y) * (x + y), X_, Y_),
        "x = 0, y to infinity: -y²",
        lambda: least((x - y) * (x - y), X_, Y_),
    ),
    Pair(
        "bounded/bound-is-a-variable",
        lambda: minimum(x**2 + y, (X_, Y_), x**2, bound=y),
        "x = 0, y to minus infinity",
        lambda: minimum(x**2 + y, (X_,), x**2, bound=y),
    ),
    Pair(
        "bounded/coefficient-without-a-sign",
        lambda: least(free_c * x**2, X_),
        "c = -1",
        lambda: least(c * x**2, X_),
    ),
    Pair(
        "bounded/exponential-plus-a-line",
        lambda: least(exp(x) + x, X_),
        "x to minus infinity",
        lambda: least(exp(x) + x**2, X_),
    ),
    Pair(
        "bounded/square-of-an-imaginary",
        lambda: minimum(x**2, (X_,), (sqrt(as_term(-1)) * x) ** 2, maximise=True),
        "x to infinity",
        lambda: minimum(-(x**2), (X_,), x**2, maximise=True),
    ),
    Pair(
        "bounded/factor-that-is-negative-at-size-one",
        lambda: least((size("N") - 2) * squared_norm(w), W_),
        "N = 1: -w²",
        lambda: least((size("N") - 1) * squared_norm(w), W_),
    ),
    Pair(
        "bounded/tiny-fourth-power",
        lambda: least(x**2 - TINY * x**4, X_),
        "x = 10^16 and beyond: x² (1 - 10^-30 x²)",
        lambda: least(x**2 + TINY * x**4, X_),
    ),
    Pair(
        "bounded/form-without-a-promise",
        lambda: form(False),
        "S = -I: -|w|²",
        lambda: form(True),
    ),
    Pair(
        "bounded/ray-that-leaves-the-feasible-set",
        lambda: in_interval(BELOW_ONE),
        "x = -t is feasible for t >= 0, and -t² falls without bound",
        lambda: in_interval(BELOW_ONE, ABOVE_MINUS_ONE),
    ),
]

# ---- means over a standard normal variable

W, ALPHA = sp.Symbol("w", real=True), sp.Symbol("alpha", real=True)
BETA = sp.Symbol("beta", positive=True)

GAUSSIAN = [
    Pair(
        "gaussian/modulus-of-a-scaled-variable",
        lambda: GaussianMean(sp.Abs(ALPHA * W), W, ALPHA * sp.sqrt(2 / sp.pi)),
        "alpha = -1: the mean is positive",
        lambda: GaussianMean(sp.Abs(ALPHA * W), W, sp.Abs(ALPHA) * sp.sqrt(2 / sp.pi)),
    ),
    Pair(
        "gaussian/exponential-of-the-square",
        lambda: GaussianMean(sp.exp(BETA * W**2), W, 1 / sp.sqrt(1 - 2 * BETA)),
        "beta = 1: the mean is infinite",
        lambda: GaussianMean(sp.exp(-BETA * W**2), W, 1 / sp.sqrt(1 + 2 * BETA)),
    ),
    Pair(
        "gaussian/odd-but-not-integrable",
        lambda: GaussianMean(1 / W, W, sp.Integer(0)),
        "|1/w| has no mean",
        lambda: GaussianMean(W**3, W, sp.Integer(0)),
    ),
    Pair(
        "gaussian/value-right-at-small-integers",
        lambda: GaussianMean(
            (W + ALPHA) ** 2, W, 1 + ALPHA**2 + ALPHA * (ALPHA**2 - 1) * (ALPHA - 2) * (ALPHA - 3)
        ),
        "alpha = 1/2: 5/4 is not 5/4 - 45/32",
        lambda: GaussianMean((W + ALPHA) ** 2, W, 1 + ALPHA**2),
    ),
    Pair(
        "gaussian/tiny-difference",
        lambda: GaussianMean(W**4, W, 3 + sp.Rational(1, 10**30)),
        "the mean is 3",
        lambda: GaussianMean(W**4 + sp.Rational(1, 10**30), W, 3 + sp.Rational(1, 10**30)),
    ),
    Pair(
        "gaussian/hyperbolic-for-circular",
        lambda: GaussianMean(sp.cosh(ALPHA * W), W, sp.exp(-(ALPHA**2) / 2)),
        "alpha = 1: sqrt(e), not 1/sqrt(e)",
        lambda: GaussianMean(sp.cos(ALPHA * W), W, sp.exp(-(ALPHA**2) / 2)),
    ),
]

PAIRS = [*IMPLICATIONS, *FOLLOWS, *POSITIVES, *RULES, *EXAMPLES, *BOUNDED, *GAUSSIAN]
