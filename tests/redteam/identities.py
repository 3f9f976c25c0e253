"""False identities, definitions, blocks, families, conjunctions, scopes, differences, with true twins."""

from __future__ import annotations

from fractions import Fraction

from checks.kinds.differs import Differs
from checks.kinds.family import Family
from checks.kinds.scope import Scoped
from checks.kinds.stacked import Stacked
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.gradients import at_point, grad, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import (
    Hadamard,
    Ones,
    Term,
    apply,
    as_term,
    blocks,
    diag,
    exp,
    eye,
    part,
    row_softmax,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
    zeros,
)
from redteam.pair import Pair

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
TINY = Fraction(1, 10**30)
PRIMES = (2**31 - 1) * (2**61 - 1) * (10**9 + 7) * (10**9 + 9) * 998244353 * 2**64
NEAR_PI = Fraction("3.14159265358979323846264338327950288419716939937510")
NEAR_ROOT_2 = Fraction("1.41421356237309504880168872420969807856967187537694")

i, j, k = Index("i", "N"), Index("j", "N"), Index("k", "N")
im, r = Index("i", "M"), Index("r", "M")  # im has the name of i and another range

X, Y, S, T, D, C, W = (Tensor(name) for name in "xystdcw")
x, y, s, t, d, c, w = map(as_term, (X, Y, S, T, D, C, W))
P, Q = Tensor("p", positive=True), Tensor("q", positive=True)
p, q = as_term(P), as_term(Q)
U, V, Z, B1 = (Tensor(name, ("N",)) for name in "uvzb")
u, v, z, b = map(as_term, (U, V, Z, B1))
PV = Tensor("pi", ("N",), positive=True)
pv = as_term(PV)
VM = Tensor("vm", ("M",))
vm = as_term(VM)
A, B, E, G = (Tensor(name, ("N", "N")) for name in "ABEG")
a_, b_, e_, g_ = map(as_term, (A, B, E, G))
SA, SB, SE = (Tensor(name, ("N", "N"), symmetric=True) for name in ("Sa", "Sb", "Se"))
sa, sb, se = map(as_term, (SA, SB, SE))
R = Tensor("R", ("N", "M"))
rect = as_term(R)

K11, K12, K21, K22 = (
    Tensor("K11", ("n", "n")),
    Tensor("K12", ("n", "m")),
    Tensor("K21", ("m", "n")),
    Tensor("K22", ("m", "m")),
)
k11, k12, k21, k22 = map(as_term, (K11, K12, K21, K22))
H11, H22 = Tensor("H11", ("n", "n"), symmetric=True), Tensor("H22", ("m", "m"), symmetric=True)
h11, h22 = as_term(H11), as_term(H22)
f1, f2 = as_term(Tensor("f1", ("n",))), as_term(Tensor("f2", ("m",)))
BLOCKED = blocks([k11, k12], [k21, k22])
n_, m_ = Index("a", "n"), Index("b", "n")


def fn(name: str, arg: Term, order: int = 0) -> Term:
    """A function of the table, or an unknown one."""
    return apply(name, arg, order=order)


def powers(n: int) -> Term:
    """The sum of the n-th powers of the entries of u."""
    return sum_over(i, u[i] ** n)


def fourth_elementary() -> Term:
    """24 times the fourth elementary symmetric polynomial of u, by Newton: it vanishes for N < 4."""
    p1, p2, p3, p4 = (powers(n) for n in (1, 2, 3, 4))
    return p1**4 - 6 * p1**2 * p2 + 3 * p2**2 + 8 * p1 * p3 - 6 * p4


def seven_roots(of: Term) -> Term:
    """A polynomial that vanishes at -3, ..., 3."""
    return of * (of - 1) * (of + 1) * (of - 2) * (of + 2) * (of - 3) * (of + 3)


def seven_roots_expanded(of: Term) -> Term:
    """The same, multiplied out."""
    return of**7 - 14 * of**5 + 49 * of**3 - 36 * of


def cases(*statements: object) -> tuple[tuple[str, object], ...]:
    """Labelled cases of a family."""
    return tuple((f"case {n}", statement) for n, statement in enumerate(statements, 1))


IDENTITIES = [
    Pair(
        "identity/root-of-squared-difference",
        lambda: Identity(sqrt((p - q) ** 2), p - q),
        "positive p, q: p = 1, q = 2 gives 1 on the left, -1 on the right",
        lambda: Identity(sqrt((p + q) ** 2), p + q),
    ),
    Pair(
        "identity/cancelled-factor-17",
        lambda: Identity((x - 17) * y / (x - 17), y),
        "undefined at x = 17",
        lambda: Identity((x**2 + 17) * y / (x**2 + 17), y),
    ),
    Pair(
        "identity/irrational-pole",
        lambda: Identity((x**2 - 2) * y / (x**2 - 2), y),
        "undefined at the square root of 2, and nowhere on the rationals",
        lambda: Identity((x**2 - x + 1) * y / (x**2 - x + 1), y),
    ),
    Pair(
        "identity/pole-at-a-logarithm",
        lambda: Identity((exp(2 * x) - 4) / (exp(x) - 2), exp(x) + 2),
        "undefined at x = log 2",
        lambda: Identity((exp(2 * x) - 4) / (exp(x) + 2), exp(x) - 2),
    ),
    Pair(
        "identity/pole-at-pi",
        lambda: Identity(fn("sin", x) ** 2 / (1 + fn("cos", x)), 1 - fn("cos", x)),
        "undefined at x = π",
        lambda: Identity((4 - fn("cos", x) ** 2) / (2 + fn("cos", x)), 2 - fn("cos", x)),
    ),
    Pair(
        "identity/seven-common-points",
        lambda: Identity(y + seven_roots(x) * (2 * x - 1), y),
        "x = 4, y = 0: the left side is 4·3·5·2·6·1·7·7 = 35280",
        lambda: Identity(y + seven_roots(x) * (2 * x - 1), y + (2 * x - 1) * seven_roots_expanded(x)),
    ),
    Pair(
        "identity/tiny-term",
        lambda: Identity(x + TINY * y, x),
        "x = 0, y = 1: 10^-30 against 0",
        lambda: Identity(x + TINY * y - y / 10**30, x),
    ),
    Pair(
        "identity/multiple-of-great-primes",
        lambda: Identity(PRIMES * x + y, y),
        "x = 1, y = 0: a product of primes and 2^64 against 0 (equal in machine words and modulo the primes)",
        lambda: Identity(PRIMES * x + y - (PRIMES - 1) * x, x + y),
    ),
    Pair(
        "identity/rational-near-pi",
        lambda: Identity(fn("sin", as_term(NEAR_PI)), as_term(0)),
        "the sine of a rational number other than 0 is not 0; here it is about 6e-51",
        lambda: Identity(fn("sin", as_term(NEAR_PI)) ** 2 + fn("cos", as_term(NEAR_PI)) ** 2, as_term(1)),
    ),
    Pair(
        "identity/rational-near-root",
        lambda: Identity(x * sqrt(as_term(2)), NEAR_ROOT_2 * x),
        "x = 1: the root of 2 is irrational; the difference is below 1e-49",
        lambda: Identity(x * sqrt(as_term(2)) + x * sqrt(as_term(8)), x * sqrt(as_term(18))),
    ),
    Pair(
        "identity/fourth-symmetric-polynomial",
        lambda: Identity(fourth_elementary(), as_term(0)),
        "holds for N = 1, 2, 3; N = 4, u = (1, 1, 1, 1): 256 - 384 + 48 + 128 - 24 = 24",
        lambda: Identity(powers(1) ** 2 - powers(2), sum_over(i, j, (1 - kronecker(i, j)) * u[i] * u[j])),
    ),
    Pair(
        "identity/sizes-up-to-four",
        lambda: Identity(
            (size("N") - 1) * (size("N") - 2) * (size("N") - 3) * (size("N") - 4) * x, as_term(0)
        ),
        "N = 5, x = 1: 24 against 0",
        lambda: Identity((size("N") - 1) * (size("N") - 2) * x, (size("N") ** 2 - 3 * size("N") + 2) * x),
    ),
    Pair(
        "identity/sizes-hint-one",
        lambda: Identity(a_ @ b_, b_ @ a_, sizes=(("N", 1),)),
        "N = 2, A = [[0, 1], [0, 0]], B = [[0, 0], [1, 0]]: the products are diag(1, 0) and diag(0, 1)",
        lambda: Identity(trace(a_ @ b_), trace(b_ @ a_), sizes=(("N", 1),)),
    ),
    Pair(
        "identity/sample-variance-of-one",
        lambda: Identity(
            sum_over(i, (u[i] - sum_over(j, u[j]) / size("N")) ** 2) / (size("N") - 1),
            (sum_over(i, u[i] ** 2) - sum_over(j, u[j]) ** 2 / size("N")) / (size("N") - 1),
        ),
        "both sides divide by 0 where N = 1",
        lambda: Identity(
            sum_over(i, (u[i] - sum_over(j, u[j]) / size("N")) ** 2) / (2 * size("N") - 1),
            (sum_over(i, u[i] ** 2) - sum_over(j, u[j]) ** 2 / size("N")) / (2 * size("N") - 1),
        ),
    ),
    Pair(
        "identity/pairwise-differences",
        lambda: Identity(
            sum_over(i, j, (u[i] - u[j]) ** 2), size("N") * sum_over(i, u[i] ** 2) - sum_over(i, u[i]) ** 2
        ),
        "N = 2, u = (1, 0): 2 against 2 - 1 = 1 (equal where N = 1)",
        lambda: Identity(
            sum_over(i, j, (u[i] - u[j]) ** 2),
            2 * size("N") * sum_over(i, u[i] ** 2) - 2 * sum_over(i, u[i]) ** 2,
        ),
    ),
    Pair(
        "identity/inner-sum-with-the-same-index",
        lambda: Identity(sum_over(i, u[i] * sum_over(i, v[i])), sum_over(i, u[i] * v[i])),
        "the inner sum binds its own i: N = 2, u = v = (1, 1) gives 4 against 2",
        lambda: Identity(sum_over(i, u[i] * sum_over(i, v[i])), sum_over(i, u[i]) * sum_over(j, v[j])),
    ),
    Pair(
        "identity/free-index-beside-a-sum",
        lambda: Identity(sum_over(i, u[i]) * v[i], sum_over(i, u[i] * v[i])),
        "the factor's i is free: N = 2, u = (1, 1), v = (1, 0), i = 1 gives 2 against 1",
        lambda: Identity(sum_over(i, u[i]) * v[i], sum_over(k, u[k] * v[i])),
    ),
    Pair(
        "identity/same-name-other-range",
        lambda: Identity(sum_over(i, u[i] * vm[im]), sum_over(k, u[k]) * sum_over(r, vm[r]) / size("M")),
        "the i of the range M is free: M = 2, N = 1, u = (1), v = (1, 0), i = 1 gives 1 against 1/2",
        lambda: Identity(sum_over(i, u[i] * vm[im]), sum_over(k, u[k]) * vm[im]),
    ),
    Pair(
        "identity/delta-between-ranges",
        lambda: Identity(sum_over(i, kronecker(i, r) * vm[r]), vm[r]),
        "N = 1, M = 2, r = 2, v = (1, 1): no i agrees with r, so 0 against 1",
        lambda: Identity(sum_over(i, kronecker(i, j) * u[j]), u[j]),
    ),
    Pair(
        "identity/delta-on-the-diagonal",
        lambda: Identity(sum_over(i, kronecker(i, i) * u[j]), u[j]),
        "the sum is N u_j: N = 2, u = (1, 1) gives 2 against 1",
        lambda: Identity(sum_over(i, j, kronecker(i, j) * u[j]), sum_over(k, kronecker(k, k) * u[k])),
    ),
    Pair(
        "identity/given-captures-the-sum",
        lambda: Identity(
            sum_over(k, b_[k, k]),
            sum_over(k, a_[k, k] ** 2),
            given=(Given(B, (i, j), sum_over(k, a_[i, k] * a_[k, j]), "B is the square of A"),),
        ),
        "N = 2, A = [[0, 1], [1, 0]]: A² is the identity with trace 2, and the diagonal of A is 0",
        lambda: Identity(
            sum_over(k, b_[k, k]),
            sum_over(i, k, a_[k, i] * a_[i, k]),
            given=(Given(B, (i, j), sum_over(k, a_[i, k] * a_[k, j]), "B is the square of A"),),
        ),
    ),
    Pair(
        "identity/given-read-with-swapped-indices",
        lambda: Identity(b_[j, i], a_[j, i], given=(Given(B, (i, j), a_[j, i], "B is the transpose"),)),
        "B_ji = A_ij: N = 2, A = [[0, 1], [0, 0]], i = 1, j = 2 gives 1 against 0",
        lambda: Identity(
            e_[j, i],
            a_[j, i],
            given=(
                Given(E, (i, j), b_[j, i], "E is the transpose of B"),
                Given(B, (i, j), a_[j, i], "B is the transpose of A"),
            ),
        ),
    ),
    Pair(
        "identity/given-on-the-diagonal-only",
        lambda: Identity(
            sum_over(j, b_[i, j] * u[j]), v[i] * u[i], given=(Given(B, (i, i), v[i], "the diagonal"),)
        ),
        "the other entries of B are free: N = 2, v = 0, B = [[0, 1], [0, 0]], u = (1, 1), i = 1: 1 against 0",
        lambda: Identity(
            sum_over(j, b_[i, j] * u[j]),
            v[i] * u[i],
            given=(Given(B, (i, j), kronecker(i, j) * v[i], "a diagonal matrix"),),
        ),
    ),
    Pair(
        "identity/circular-given",
        lambda: Identity(s, t**2, given=(Given(S, (), t, "s is t"), Given(T, (), s, "t is s"))),
        "s = t = 5 satisfies both definitions, and 5 is not 25",
        lambda: Identity(s, x**2, given=(Given(S, (), t**2, "s is t²"), Given(T, (), x, "t is x"))),
    ),
    Pair(
        "identity/self-referring-given",
        lambda: Identity(s, as_term(0), given=(Given(S, (), s**2, "s is idempotent"),)),
        "s = 1 satisfies the definition",
        lambda: Identity(s, as_term(0), given=(Given(S, (), x**2 - x * x, "s is a difference"),)),
    ),
    Pair(
        "identity/contradictory-given",
        lambda: Identity(
            s * x, 2 * x, given=(Given(S, (), as_term(2), "first"), Given(S, (), as_term(3), "second"))
        ),
        "s is defined twice, as 2 and as 3: by the second definition 3x = 2x, false at x = 1",
        lambda: Identity(
            s * t * x, 6 * x, given=(Given(S, (), as_term(2), "first"), Given(T, (), as_term(3), "second"))
        ),
    ),
    Pair(
        "identity/nonzero-that-is-zero",
        lambda: Identity(d * y / d, y, given=(Given(D, (), x - x, "a difference"),), nonzero=(D,)),
        "d is defined as 0: the left side is never defined",
        lambda: Identity(d * y / d, y, given=(Given(D, (), x - y, "a difference"),), nonzero=(D,)),
    ),
    Pair(
        "identity/symmetric-by-promise-only",
        lambda: Identity(
            a_[i, j],
            a_[j, i],
            given=(Given(SA, (i, j), a_[i, j], "S is A"),),
            chain=(
                Link(sa[i, j], "definition"),
                Link(sa[j, i], "symmetry"),
            ),
        ),
        "A is any matrix: N = 2, A = [[0, 1], [0, 0]], i = 1, j = 2 gives 1 against 0 (S is not symmetric)",
        lambda: Identity(
            sa[j, i], a_[i, j] + a_[j, i], given=(Given(SA, (i, j), a_[i, j] + a_[j, i], "symmetric part"),)
        ),
    ),
    Pair(
        "identity/positive-by-promise-only",
        lambda: Identity(
            sqrt((x - y) ** 2),
            x - y,
            given=(Given(P, (), x - y, "a difference"),),
            chain=(
                Link(sqrt(p**2), "definition"),
                Link(p, "p is positive"),
            ),
        ),
        "x = 0, y = 1: 1 against -1; p is then not positive",
        lambda: Identity(
            sqrt((x**2 + 1) ** 2),
            x**2 + 1,
            given=(Given(P, (), x**2 + 1, "p"),),
            chain=(
                Link(sqrt(p**2), "definition"),
                Link(p, "p is positive"),
            ),
        ),
    ),
    Pair(
        "identity/nonzero-entries-with-zero-sum",
        lambda: Identity(sum_over(i, u[i] / sum_over(j, u[j])), as_term(1), nonzero=(U,)),
        "N = 2, u = (1, -1): no entry vanishes, and the sum does",
        lambda: Identity(sum_over(i, u[i] ** 2 / squared_norm(u)), as_term(1), nonzero=(U,)),
    ),
    Pair(
        "identity/nonzero-with-zero-difference",
        lambda: Identity((x**2 - y**2) / (x - y), x + y, nonzero=(X, Y)),
        "undefined at x = y = 1, where neither x nor y vanishes",
        lambda: Identity((x**2 * y - x * y**2) / (x * y), x - y, nonzero=(X, Y)),
    ),
    Pair(
        "identity/chain-with-a-wrong-link",
        lambda: Identity(
            (x + y) ** 2 - (x - y) ** 2,
            4 * x * y,
            chain=(Link(2 * x**2 + 2 * y**2, "expand"), Link(4 * x * y, "collect")),
        ),
        "the ends agree, the link does not: x = 1, y = 0 gives 0 = 2 = 0",
        lambda: Identity(
            (x + y) ** 2 + (x - y) ** 2,
            2 * (x**2 + y**2),
            chain=(Link(2 * x**2 + 2 * y**2, "expand"),),
        ),
    ),
    Pair(
        "identity/chain-through-a-pole",
        lambda: Identity(
            x + Fraction(5, 7),
            Fraction(5, 7) + x,
            chain=(Link((x**2 - Fraction(25, 49)) / (x - Fraction(5, 7)), "expand the fraction"),),
        ),
        "the link is undefined at x = 5/7",
        lambda: Identity(
            x + Fraction(5, 7),
            Fraction(5, 7) + x,
            chain=(Link((x + Fraction(5, 7)) * (x**2 + 1) / (x**2 + 1), "expand the fraction"),),
        ),
    ),
    Pair(
        "identity/logarithm-of-a-square",
        lambda: Identity(fn("log", x**2), 2 * fn("log", x), nonzero=(X,)),
        "x = -1: 0 on the left, undefined on the right",
        lambda: Identity(fn("log", p**2 * q), 2 * fn("log", p) + fn("log", q)),
    ),
    Pair(
        "identity/logarithm-of-a-sum",
        lambda: Identity(fn("log", p + q), fn("log", p) + fn("log", q)),
        "p = q = 1: log 2 against 0 (equal at p = q = 2)",
        lambda: Identity(fn("log", exp(x) * exp(y)), x + y),
    ),
    Pair(
        "identity/three-halves-power",
        lambda: Identity((x**2) ** Fraction(3, 2), x**3),
        "x = -1: 1 against -1",
        lambda: Identity((x**6) ** THIRD, x**2),
    ),
    Pair(
        "identity/cube-of-the-cube-root",
        lambda: Identity((x**THIRD) ** 3, x),
        "undefined at x = -8",
        lambda: Identity(((x**2 + 1) ** THIRD) ** 3, x**2 + 1),
    ),
    Pair(
        "identity/product-of-roots",
        lambda: Identity(sqrt(x * y) ** 2, x * y),
        "undefined at x = 1, y = -1",
        lambda: Identity(sqrt(p) * sqrt(q), sqrt(p * q)),
    ),
    Pair(
        "identity/zeroth-power",
        lambda: Identity(x / x, x**0),
        "undefined at x = 0, where the right side is 1",
        lambda: Identity((x - x) ** 0 * y, y),
    ),
    Pair(
        "identity/square-of-the-sign",
        lambda: Identity(fn("sign", x) ** 2, as_term(1)),
        "x = 0: 0 against 1",
        lambda: Identity(fn("sign", x) * fn("abs", x), x),
    ),
    Pair(
        "identity/absolute-value-of-a-sum",
        lambda: Identity(fn("abs", x + y), fn("abs", x) + fn("abs", y)),
        "x = 1, y = -1: 0 against 2",
        lambda: Identity(fn("abs", x * y), fn("abs", x) * fn("abs", y)),
    ),
    Pair(
        "identity/relu-of-a-sum",
        lambda: Identity(fn("relu", x + y), fn("relu", x) + fn("relu", y)),
        "x = 1, y = -1: 0 against 1",
        lambda: Identity(fn("relu", x + y) - fn("relu", -x - y), x + y),
    ),
    Pair(
        "identity/kink-of-relu",
        lambda: Identity(fn("relu", x, 1) + fn("relu", -x, 1), as_term(1)),
        "relu has no derivative at 0 (with the value 0 or 1 there, the sum would be 0 or 2)",
        lambda: Identity(fn("relu", p, 1) + fn("relu", -p, 1), as_term(1)),
    ),
    Pair(
        "identity/elu-plus-one",
        lambda: Identity(fn("elu1", x), fn("relu", x) + exp(x)),
        "x = 1: 2 against 1 + e (equal for x <= 0)",
        lambda: Identity(fn("elu1", x), fn("relu", x) + exp(-fn("relu", -x))),
    ),
    Pair(
        "identity/sigmoid-by-tanh",
        lambda: Identity(fn("sigmoid", x), HALF + fn("tanh", x) / 2),
        "x = 1: 0.731 against 0.881 (equal at 0)",
        lambda: Identity(fn("sigmoid", x), HALF + fn("tanh", x / 2) / 2),
    ),
    Pair(
        "identity/hyperbolic-pythagoras",
        lambda: Identity(fn("cosh", x) ** 2 + fn("sinh", x) ** 2, as_term(1)),
        "x = 1: cosh 2 = 3.76 against 1",
        lambda: Identity(fn("cosh", x) ** 2 - fn("sinh", x) ** 2, as_term(1)),
    ),
    Pair(
        "identity/derivative-of-the-cosine",
        lambda: Identity(fn("cos", x, 1) * fn("sin", x), fn("sin", x) ** 2),
        "x = 1: -sin² 1 against sin² 1",
        lambda: Identity(fn("cos", x, 1) + fn("sin", x), as_term(0)),
    ),
    Pair(
        "identity/softmax-shifted-by-column",
        lambda: Identity(softmax(j, a_[i, j] + u[j]), softmax(j, a_[i, j])),
        "N = 2, A = 0, u = (log 3, 0), j = 1: 3/4 against 1/2",
        lambda: Identity(softmax(j, a_[i, j] + u[i]), softmax(j, a_[i, j])),
    ),
    Pair(
        "identity/softmax-summed-over-rows",
        lambda: Identity(sum_over(i, softmax(j, a_[i, j])), as_term(1)),
        "N = 2, rows (log 3, 0) and (log 3, 0), j = 1: 3/2 against 1",
        lambda: Identity(sum_over(j, softmax(j, a_[i, j])), as_term(1)),
    ),
    Pair(
        "identity/softmax-of-the-double",
        lambda: Identity(softmax(j, 2 * u[j]), softmax(j, u[j]) ** 2),
        "N = 2, u = 0: 1/2 against 1/4 (equal where N = 1)",
        lambda: Identity(
            softmax(j, 2 * u[j]) * sum_over(k, exp(u[k]) ** 2),
            softmax(j, u[j]) * sum_over(k, exp(u[k] + u[j])),
        ),
    ),
    Pair(
        "identity/unknown-function-over-itself",
        lambda: Identity(fn("f", x) * y / fn("f", x), y),
        "f = 0 is possible, or f(x) = x at x = 0",
        lambda: Identity((fn("f", x) ** 2 + 1) * y / (fn("f", x) ** 2 + 1), y),
    ),
    Pair(
        "identity/inner-derivative-forgotten",
        lambda: Identity(grad(fn("f", s * c), S), fn("f", s * c, 1)),
        "f(z) = z, c = 2: 2 against 1",
        lambda: Identity(grad(fn("f", s * c), S), c * fn("f", c * s, 1)),
    ),
    Pair(
        "identity/gradient-of-a-quadratic-form",
        lambda: Identity(grad(u.T @ (a_ @ u), U), 2 * (a_ @ u)),
        "A need not be symmetric: N = 2, A = [[0, 1], [0, 0]], u = (0, 1): (1, 0) against (2, 0)",
        lambda: Identity(grad(u.T @ (sa @ u), U), 2 * (sa @ u)),
    ),
    Pair(
        "identity/trace-reversed",
        lambda: Identity(trace(a_ @ b_ @ e_), trace(e_ @ b_ @ a_)),
        "N = 2, A = e1 e2', B = e2 e1', E = e1 e1': tr(ABE) = 1, tr(EBA) = 0",
        lambda: Identity(trace(sa @ sb @ se), trace(se @ sb @ sa)),
    ),
    Pair(
        "identity/product-of-symmetric-matrices",
        lambda: Identity((sa @ sb).T, sa @ sb),
        "N = 2, S = diag(1, 0), S' = [[0, 1], [1, 0]]: the product is [[0, 1], [0, 0]]",
        lambda: Identity((sa @ sb @ sa).T, sa @ sb @ sa),
    ),
    Pair(
        "identity/substituted-index-captured",
        lambda: Identity(
            at_point(sum_over(i, u[i] * v[j]), V, stack(j, z[i] * b[j])), sum_over(k, u[k] * z[k] * b[j])
        ),
        "the i of the value is free: N = 2, u = (1, 1), z = (1, 0), b = (1, 1), i = 1: 2 against 1",
        lambda: Identity(
            at_point(sum_over(i, u[i] * v[j]), V, stack(j, z[i] * b[j])), sum_over(k, u[k] * z[i] * b[j])
        ),
    ),
]

DEFINITIONS = [
    Pair(
        "definition/irrational-pole",
        lambda: Definition(y, 1 / (x**2 + x - 1)),
        "undefined at x = (√5 - 1)/2",
        lambda: Definition(y, 1 / (x**2 + x + 1)),
    ),
    Pair(
        "definition/logarithm-of-a-cosine",
        lambda: Definition(y, fn("log", 1 - fn("cos", x))),
        "undefined at x = 0",
        lambda: Definition(y, fn("log", 2 - fn("cos", x))),
    ),
    Pair(
        "definition/narrow-gap-under-the-root",
        lambda: Definition(y, sqrt((x - Fraction(5, 7)) ** 2 - TINY)),
        "undefined at x = 5/7: the root of -10^-30",
        lambda: Definition(y, sqrt((x - Fraction(5, 7)) ** 2 + TINY)),
    ),
    Pair(
        "definition/normalised-by-the-sum",
        lambda: Definition(v[i], u[i] / sum_over(j, u[j]), nonzero=(U,)),
        "N = 2, u = (1, -1): the sum vanishes, the entries do not",
        lambda: Definition(v[i], pv[i] / sum_over(j, pv[j])),
    ),
    Pair(
        "definition/size-minus-five",
        lambda: Definition(y, sum_over(i, u[i]) / (size("N") - 5)),
        "N = 5",
        lambda: Definition(y, sum_over(i, u[i]) / (2 * size("N") - 5)),
    ),
    Pair(
        "definition/outer-product-transposed",
        lambda: Definition(rect, vm @ u.T),
        "the name is N×M, the meaning M×N: equal lengths happen to fit, others do not",
        lambda: Definition(rect, u @ vm.T),
    ),
    Pair(
        "definition/difference-of-positives",
        lambda: Definition(y, fn("log", p - q)),
        "undefined at p = q = 1",
        lambda: Definition(y, fn("log", p + q)),
    ),
    Pair(
        "definition/exponential-touches-its-tangent",
        lambda: Definition(y, 1 / (exp(x) - x - 1)),
        "undefined at x = 0",
        lambda: Definition(y, 1 / (exp(x) - x)),
    ),
    Pair(
        "definition/nonzero-parts-of-a-difference",
        lambda: Definition(y, 1 / d, given=(Given(D, (), s - t, "a difference"),), nonzero=(S, T)),
        "s = t = 1: neither vanishes, and d does",
        lambda: Definition(y, 1 / d, given=(Given(D, (), s * t, "a product"),), nonzero=(S, T)),
    ),
]

STACKED_PAIRS = [
    Pair(
        "stacked/square-of-a-block-matrix",
        lambda: Stacked(
            BLOCKED @ BLOCKED,
            blocks([k11 @ k11 + k12 @ k21, k11 @ k12 + k12 @ k22], [k21 @ k11 + k22 @ k21, k22 @ k22]),
        ),
        "the last block lacks K21 K12: n = m = 1, all entries 1 gives 2 against 1",
        lambda: Stacked(
            BLOCKED @ BLOCKED,
            blocks(
                [k11 @ k11 + k12 @ k21, k11 @ k12 + k12 @ k22],
                [k21 @ k11 + k22 @ k21, k21 @ k12 + k22 @ k22],
            ),
        ),
    ),
    Pair(
        "stacked/transposed-with-a-general-corner",
        lambda: Stacked(blocks([k11, k12], [k12.T, h22]).T, blocks([k11, k12], [k12.T, h22])),
        "K11 need not be symmetric: n = 2, K11 = [[0, 1], [0, 0]] (equal where n = 1)",
        lambda: Stacked(blocks([h11, k12], [k12.T, h22]).T, blocks([h11, k12], [k12.T, h22])),
    ),
    Pair(
        "stacked/trace-of-the-square",
        lambda: Stacked(trace(BLOCKED @ BLOCKED), trace(k11 @ k11) + trace(k22 @ k22) + trace(k12 @ k21)),
        "n = m = 1, all entries 1: the square is [[2, 2], [2, 2]] with trace 4, against 3",
        lambda: Stacked(trace(BLOCKED @ BLOCKED), trace(k11 @ k11) + trace(k22 @ k22) + 2 * trace(k12 @ k21)),
    ),
    Pair(
        "stacked/softmax-shifted-in-one-block",
        lambda: Stacked(
            row_softmax(blocks([k11 + c * Ones((), ("n", "n")), k12])), row_softmax(blocks([k11, k12]))
        ),
        "n = m = 1, K = 0, c = log 3: the first entry is 3/4 against 1/2",
        lambda: Stacked(
            row_softmax(blocks([k11 + c * Ones((), ("n", "n")), k12 + c * Ones((), ("n", "m"))])),
            row_softmax(blocks([k11, k12])),
        ),
    ),
    Pair(
        "stacked/softmax-block-by-block",
        lambda: Stacked(row_softmax(blocks([k11, k12])), blocks([row_softmax(k11), row_softmax(k12)])),
        "n = m = 1, K = 0: (1/2, 1/2) against (1, 1)",
        lambda: Stacked(
            blocks([k11, k12]) @ blocks(f1, f2) + row_softmax(k11) @ f1,
            blocks([k11 + row_softmax(k11), k12]) @ blocks(f1, f2),
        ),
    ),
    Pair(
        "stacked/inverse-of-unit-blocks",
        lambda: Stacked(
            blocks([eye("n"), k12], [k21, eye("m")]) @ blocks([eye("n"), -k12], [-k21, eye("m")]),
            eye("n{+}m"),
        ),
        "the diagonal blocks are I - K12 K21 and I - K21 K12: n = m = 1, all entries 1 gives 0",
        lambda: Stacked(
            blocks([eye("n"), k12], [zeros("m", "n"), eye("m")])
            @ blocks([eye("n"), -k12], [zeros("m", "n"), eye("m")]),
            eye("n{+}m"),
        ),
    ),
    Pair(
        "stacked/pole-in-the-second-block",
        lambda: Stacked(blocks(f1, (x + 1001) * f2 / (x + 1001)), blocks(f1, f2)),
        "the second block is undefined at x = -1001",
        lambda: Stacked(blocks(f1, (x**2 + 1001) * f2 / (x**2 + 1001)), blocks(f1, f2)),
    ),
    Pair(
        "stacked/part-of-a-product",
        lambda: Stacked(
            part(BLOCKED @ BLOCKED, "n", "m"),
            k12 @ k22,
            given=(Given(K11, (n_, m_), kronecker(n_, m_), "K11 is the identity"),),
        ),
        "the block is K11 K12 + K12 K22 = K12 + K12 K22: n = m = 1, all entries 1 gives 2 against 1",
        lambda: Stacked(
            part(BLOCKED @ BLOCKED, "n", "m"),
            k12 @ k22 + k12,
            given=(Given(K11, (n_, m_), kronecker(n_, m_), "K11 is the identity"),),
        ),
    ),
    Pair(
        "stacked/tiny-entries-off-the-diagonal",
        lambda: Stacked(
            blocks([eye("n"), TINY * k12], [zeros("m", "n"), eye("m")]),
            eye("n{+}m"),
        ),
        "n = m = 1, K12 = 1: 10^-30 against 0 in the upper right corner",
        lambda: Stacked(
            blocks([eye("n"), TINY * k12 - k12 / 10**30], [zeros("m", "n"), eye("m")]),
            eye("n{+}m"),
        ),
    ),
]

FAMILIES = [
    Pair(
        "family/powers-of-a-product",
        lambda: Family(
            None,
            cases(
                Identity((x * y) ** 2, x**2 * y**2),
                Identity((x * y) ** 3, x**3 * y**3),
                Identity((x**2 * y**2) ** HALF, x * y),
            ),
        ),
        "third case at x = 1, y = -1: 1 against -1",
        lambda: Family(
            None,
            cases(
                Identity((x * y) ** 2, x**2 * y**2),
                Identity((x * y) ** 3, x**3 * y**3),
                Identity((x**2 * y**2) ** HALF, fn("abs", x * y)),
            ),
        ),
    ),
    Pair(
        "family/parameter-with-listed-roots",
        lambda: Family(
            Identity(s * (s - 1) * (s - 2) * x, as_term(0)),
            cases(
                Identity(0 * as_term(-1) * as_term(-2) * x, as_term(0)),
                Identity(1 * as_term(0) * as_term(-1) * x, as_term(0)),
                Identity(2 * as_term(1) * as_term(0) * x, as_term(0)),
            ),
        ),
        "the cases are s = 0, 1, 2; the general statement fails at s = 3, x = 1",
        lambda: Family(
            Identity(s * (s - 1) * (s - 2) * x, (s**3 - 3 * s**2 + 2 * s) * x),
            cases(
                Identity(0 * as_term(-1) * as_term(-2) * x, as_term(0)),
                Identity(1 * as_term(0) * as_term(-1) * x, as_term(0)),
                Identity(2 * as_term(1) * as_term(0) * x, as_term(0)),
            ),
        ),
    ),
    Pair(
        "family/wrong-case-below-a-right-generality",
        lambda: Family(
            Identity((x + s) ** 2 - x**2, 2 * s * x + s**2),
            cases(
                Identity((x + 1) ** 2 - x**2, 2 * x + 1),
                Identity((x + 2) ** 2 - x**2, 4 * x + 2),
            ),
        ),
        "second case at x = 0: 4 against 2, though the general statement holds",
        lambda: Family(
            Identity((x + s) ** 2 - x**2, 2 * s * x + s**2),
            cases(
                Identity((x + 1) ** 2 - x**2, 2 * x + 1),
                Identity((x + 2) ** 2 - x**2, 4 * x + 4),
            ),
        ),
    ),
    Pair(
        "family/printed-only-with-a-pole",
        lambda: Family(
            Identity((x**2 - s**2) * y / (x**2 + s**2), y - 2 * s**2 * y / (x**2 + s**2), nonzero=(S,)),
            cases(
                Identity((x**2 - 1) * y / (x**2 + 1), y - 2 * y / (x**2 + 1)),
                Identity((x**2 - 0) * y / (x**2 + 0), y - 0 * y / (x**2 + 0)),
            ),
        ),
        "the case s = 0 is undefined at x = 0",
        lambda: Family(
            Identity((x**2 - s**2) * y / (x**2 + s**2), y - 2 * s**2 * y / (x**2 + s**2), nonzero=(S,)),
            cases(
                Identity((x**2 - 1) * y / (x**2 + 1), y - 2 * y / (x**2 + 1)),
                Identity((x**2 - 4) * y / (x**2 + 4), y - 8 * y / (x**2 + 4)),
            ),
        ),
    ),
    Pair(
        "family/sums-of-powers-of-ones",
        lambda: Family(
            None,
            cases(
                Identity(sum_over(i, j, kronecker(i, j)), size("N")),
                Identity(sum_over(i, j, as_term(1)), size("N") ** 2),
                Identity(
                    sum_over(i, j, k, (1 - kronecker(i, j)) * (1 - kronecker(j, k))),
                    size("N") * (size("N") - 1),
                ),
            ),
        ),
        "third case: the sum is N (N - 1)²; N = 3 gives 12 against 6 (equal for N = 1, 2)",
        lambda: Family(
            None,
            cases(
                Identity(sum_over(i, j, kronecker(i, j)), size("N")),
                Identity(sum_over(i, j, as_term(1)), size("N") ** 2),
                Identity(
                    sum_over(i, j, k, (1 - kronecker(i, j)) * (1 - kronecker(j, k))),
                    size("N") * (size("N") - 1) ** 2,
                ),
            ),
        ),
    ),
    Pair(
        "family/case-that-is-a-conjunction",
        lambda: Family(
            Identity(fn("f", s) - fn("f", s), as_term(0)),
            cases(
                Identity(exp(s) * exp(-s), as_term(1)),
                All(Identity(fn("sin", -s), -fn("sin", s)), Identity(fn("cos", -s), -fn("cos", s))),
            ),
        ),
        "the cosine is even: s = 0 gives 1 against -1",
        lambda: Family(
            Identity(fn("f", s) - fn("f", s), as_term(0)),
            cases(
                Identity(exp(s) * exp(-s), as_term(1)),
                All(Identity(fn("sin", -s), -fn("sin", s)), Identity(fn("cos", -s), fn("cos", s))),
            ),
        ),
    ),
]

CONJUNCTIONS = [
    Pair(
        "all/definition-not-shared",
        lambda: All(
            Identity(y + 1, x**2 + 1, given=(Given(Y, (), x**2, "y is x²"),)), Identity(2 * y, 2 * x**2)
        ),
        "the second part has no definition of y: y = 1, x = 0",
        lambda: All(
            Identity(y + 1, x**2 + 1, given=(Given(Y, (), x**2, "y is x²"),)),
            Identity(2 * y, 2 * x**3, given=(Given(Y, (), x**3, "y is x³"),)),
        ),
    ),
    Pair(
        "all/identity-and-difference-of-the-same",
        lambda: All(
            Identity(fn("tanh", x), fn("sinh", x) / fn("cosh", x)),
            Differs(fn("tanh", x), fn("sinh", x) / fn("cosh", x)),
        ),
        "the parts contradict each other: tanh = sinh/cosh everywhere",
        lambda: All(
            Identity(fn("tanh", x), fn("sinh", x) / fn("cosh", x)),
            Differs(fn("tanh", x), fn("sinh", x) * fn("cosh", x)),
        ),
    ),
    Pair(
        "all/last-of-five",
        lambda: All(
            Identity(x + y, y + x),
            Identity(x * y, y * x),
            Identity(fn("relu", x) * fn("relu", -x), as_term(0)),
            Identity(a_ @ (b_ @ e_), (a_ @ b_) @ e_),
            Identity(a_ @ diag(u), diag(u) @ a_),
        ),
        "N = 2, A = [[0, 1], [0, 0]], u = (1, 0): the last part has 0 against 1 in the corner",
        lambda: All(
            Identity(x + y, y + x),
            Identity(x * y, y * x),
            Identity(fn("relu", x) * fn("relu", -x), as_term(0)),
            Identity(a_ @ (b_ @ e_), (a_ @ b_) @ e_),
            Identity(diag(v) @ diag(u), diag(u) @ diag(v)),
        ),
    ),
    Pair(
        "all/nested-with-a-pole",
        lambda: All(
            Identity(x**2 - 2 * x + 1, (x - 1) ** 2),
            All(Definition(y, 1 / (x**2 + 1)), All(Definition(y, 1 / (x**3 - 2)))),
        ),
        "the innermost formula is undefined at the cube root of 2",
        lambda: All(
            Identity(x**2 - 2 * x + 1, (x - 1) ** 2),
            All(Definition(y, 1 / (x**2 + 1)), All(Definition(y, 1 / (x**4 + 2)))),
        ),
    ),
    Pair(
        "all/even-and-odd-roots",
        lambda: All(Identity(sqrt(p**2), p), Identity(sqrt(x**4), x**2), Identity(sqrt(x**6), x**3)),
        "third part at x = -1: 1 against -1",
        lambda: All(Identity(sqrt(p**2), p), Identity(sqrt(x**4), x**2), Identity(sqrt(p**6), p**3)),
    ),
    Pair(
        "all/entrywise-and-matrix-product",
        lambda: All(
            Identity(Hadamard((a_, b_)), Hadamard((b_, a_))),
            Identity(trace(a_ @ b_.T), sum_over(i, j, a_[i, j] * b_[i, j])),
            Identity(trace(Hadamard((a_, b_))), trace(a_ @ b_)),
        ),
        "N = 2, A = B = [[0, 1], [1, 0]]: 0 against 2 (equal where N = 1)",
        lambda: All(
            Identity(Hadamard((a_, b_)), Hadamard((b_, a_))),
            Identity(trace(a_ @ b_.T), sum_over(i, j, a_[i, j] * b_[i, j])),
            Identity(trace(Hadamard((a_, b_))), sum_over(i, a_[i, i] * b_[i, i])),
        ),
    ),
]

SCOPES = [
    Pair(
        "scoped/index-bound-on-the-right",
        lambda: Scoped(v[i], sum_over(i, u[i])),
        "i is free on the left and bound on the right",
        lambda: Scoped(v[i], sum_over(i, u[i]) + u[i]),
    ),
    Pair(
        "scoped/same-name-other-range",
        lambda: Scoped(v[i], vm[im]),
        "the left i runs over N, the right one over M",
        lambda: Scoped(v[i], sum_over(im, vm[im]) * u[i]),
    ),
    Pair(
        "scoped/index-left-over",
        lambda: Scoped(v[i], sum_over(i, a_[i, j]) * u[i]),
        "j is free on the right only: the sum binds i instead",
        lambda: Scoped(v[i], sum_over(j, a_[i, j]) * u[i]),
    ),
    Pair(
        "scoped/delta-with-hidden-indices",
        lambda: Scoped(a_[i, j], kronecker(i, j) * u[k]),
        "k is free on the right only",
        lambda: Scoped(a_[i, j], kronecker(i, j) * s),
    ),
    Pair(
        "scoped/hidden-index-in-a-substitution",
        lambda: Scoped(v[i], at_point(u[i] * y, Y, z[j])),
        "the substituted value has the free index j, which the name has not",
        lambda: Scoped(a_[i, j], at_point(u[i] * y, Y, z[j])),
    ),
    Pair(
        "scoped/softmax-column",
        lambda: Scoped(v[i], softmax(j, a_[i, j])),
        "softmax normalises over j, but its value still depends on j",
        lambda: Scoped(b_[i, j], softmax(j, a_[i, j])),
    ),
    Pair(
        "scoped/scalar-from-an-entry",
        lambda: Scoped(y, kronecker(i, j) * s),
        "the right side depends on i and j, the name on neither",
        lambda: Scoped(y, sum_over(i, j, kronecker(i, j) * s)),
    ),
]

DIFFERENCES = [
    Pair(
        "differs/only-undefined-at-one",
        lambda: Differs((x**2 - 1) / (x - 1), x + 1),
        "equal wherever both are defined; at x = 1 the left side is undefined",
        lambda: Differs((x**2 - 1) / (x - 1), x - 1),
    ),
    Pair(
        "differs/root-squared",
        lambda: Differs(sqrt(x) ** 2, x),
        "equal for x >= 0; for x < 0 the left side is undefined",
        lambda: Differs(sqrt(x**2), x),
    ),
    Pair(
        "differs/logarithm-of-a-square",
        lambda: Differs(fn("log", x**2), 2 * fn("log", x)),
        "equal for x > 0, where both are defined",
        lambda: Differs(fn("log", x**2), 2 * fn("log", x**2)),
    ),
    Pair(
        "differs/sigmoid-by-tanh",
        lambda: Differs(fn("sigmoid", x), HALF + fn("tanh", x / 2) / 2),
        "equal everywhere",
        lambda: Differs(fn("sigmoid", x), HALF + fn("tanh", x) / 2),
    ),
    Pair(
        "differs/fourth-symmetric-polynomial",
        lambda: Differs(powers(1) ** 2 - powers(2), sum_over(i, j, (1 - kronecker(i, j)) * u[i] * u[j])),
        "equal for all sizes; the twin is 0 for N < 4 and 24 at N = 4, u = (1, 1, 1, 1)",
        lambda: Differs(fourth_elementary(), as_term(0)),
    ),
    Pair(
        "differs/seven-common-points",
        lambda: Differs(seven_roots(x), seven_roots_expanded(x)),
        "the right side is the left one multiplied out",
        lambda: Differs(seven_roots(x), as_term(0)),
    ),
    Pair(
        "differs/by-definition-equal",
        lambda: Differs(y + TINY * s, x**2 + s / 10**30, given=(Given(Y, (), x**2, "y is x²"),)),
        "equal by the definition of y",
        lambda: Differs(y + TINY * s, x**2, given=(Given(Y, (), x**2, "y is x²"),)),
    ),
]

PAIRS = [
    *IDENTITIES,
    *DEFINITIONS,
    *STACKED_PAIRS,
    *FAMILIES,
    *CONJUNCTIONS,
    *SCOPES,
    *DIFFERENCES,
]
