"""Names that read as formulas of other names, sizes that read as other sizes, step sizes whose rate one library
decided, witnesses that no hypothesis allows.
"""

from __future__ import annotations

from fractions import Fraction

from checks.kinds.cost import Assign, Cost
from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.limit import ETA, Limit
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.papers.chen2023.decomposition import FAMILY, ONE_R, Sigma, big_a, u
from checks.papers.chen2023.decomposition import v as right
from checks.statement import All, Definition, Fact, Identity
from derivations.calculus.gradients import bregman, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, size, sqrt, stack, sum_over
from redteam.pair import Pair

X, Y = Tensor("x"), Tensor("y")
x, y, one, zero, eta = as_term(X), as_term(Y), as_term(1), as_term(0), as_term(ETA)
i, j, k = (Index(c, "n") for c in "ijk")
A, v = as_term(Tensor("A", ("n", "n"))), as_term(Tensor("v", ("n",)))
LESS = Index("i", "n-1")
R1, R2 = Tensor("R_1", (), "R_1", positive=True), Tensor("R_2", (), "R_2")


def called(latex: str, *dims: str) -> Term:
    """A symbol that is printed so."""
    return as_term(Tensor("q", dims, latex))


def ones(dim: str, name: str = "i") -> Term:
    """How many values an index takes."""
    return sum_over(Index(name, dim), one)


def limit(rate: Term, low: int, high: Fraction | None = None) -> Limit:
    return Limit(X, rate * x, zero, rate=rate, low=Fraction(low), high=high)


def orthogonal(residual: Tensor) -> Follows:
    """AV = UΣ and (AV - UΣ)(UᵀU - I) = 0 say nothing of UᵀU where AV = UΣ, whatever a residual is promised."""
    a, b, row = Index("a", "r"), Index("b", "r"), Index("i", "N")
    left, other = (big_a @ right)[row, a], (u @ Sigma)[row, a]
    rest = (u.T @ u)[a, b] - ONE_R[a, b]
    hypotheses = (Equation(left, other, residual), Equation((left - other) * rest, zero, R2))
    goal = as_term(R2) / as_term(residual) if residual.positive else as_term(residual)
    if residual.positive:
        return Follows(hypotheses, (u.T @ u)[a, b], ONE_R[a, b], goal, FAMILY)
    return Follows(hypotheses[:1], left - other, zero, goal, FAMILY)


SQUARE = sum_over(i, one) - sum_over(Index("k", "n-1"), one)
PLAIN = Tensor("h", ("m",))

PAIRS = [
    Pair("limit/a-rate-of-degree-three", lambda: limit(1 + eta - 4 * eta**2 - eta**3 / 2, 1), "rate -17 at η = 2",
         lambda: limit(eta - eta**2 / 2 - eta**3 / 3, 1, Fraction(4, 3))),
    Pair("limit/a-product-of-rates", lambda: limit((1 + eta / 3) * (1 - 4 * eta**2), 1), "rate -25 at η = 2", lambda: limit(1 / (1 + eta), 0)),
    Pair("limit/up-to-where-it-turns", lambda: limit(1 - eta, 0, Fraction(5, 2)), "rate -3/2 at η = 5/2", lambda: limit(1 - eta, 0, Fraction(2))),
    Pair("follows/a-residual-that-is-promised-positive", lambda: orthogonal(R1), "A = 0, U = 0", lambda: orthogonal(Tensor("R", (), "R"))),
    Pair("differs/a-power-of-a-size", lambda: Differs(ones("n^2"), ones("n", "j") * ones("n", "k")), "n² = n n",
         lambda: Differs(ones("n"), ones("m", "j"))),
    Pair("differs/a-product-of-sizes", lambda: Differs(ones("n\\,m"), ones("n", "j") * ones("m", "k")), "n m = n m",
         lambda: Identity(ones("n\\,m"), ones("n", "j") * ones("m", "k"))),
    Pair("differs/sizes-side-by-side", lambda: Differs(ones("nm"), ones("n", "j") * ones("m", "k")), "n m = n m",
         lambda: Identity(ones("N_HN_W"), ones("N_H", "j") * ones("N_W", "k"))),
    Pair("example/sizes-that-do-not-fit", lambda: Example((Fact("c", SQUARE + x, "="),), Point((("n", 2), ("n-1", 3)), ((X, 1),))), "1 + 1",
         lambda: Example((Fact("c", SQUARE - x, "="),), Point((("n", 2), ("n-1", 1)), ((X, 1),)))),
    Pair("rule/refuted-at-sizes-that-do-not-fit", lambda: Rule((), Fact("c", x, ">="), Point((), ((X, -1),))), "x = -1",
         lambda: Rule((), Fact("c", ones("2n") - 2 * ones("n", "k") + 0 * x, "="), Point((("n", 2), ("2n", 2)), ((X, 1),)))),
    Pair("implication/all-sizes-one", lambda: Implication((Fact("h", x, ">="),), Fact("c", x - 1, ">"), witness=(("x", Fraction(1)),)), "x = 1",
         lambda: Implication((Fact("h", x, ">="),), Fact("c", SQUARE - 1 + 0 * x, "="), witness=(("x", Fraction(1)),))),
    Pair("extremum/refuted-at-sizes-that-do-not-fit", lambda: Extremum(-SQUARE * x**2, X, zero, "a global minimum"), "x = 1",
         lambda: Extremum(SQUARE * x**2, X, zero, "a global minimum", witness=Point((("n", 1), ("n-1", 4)), ()), direction=1)),
    Pair("extremum/an-assumed-function-at-a-witness", lambda: Extremum(-bregman("f", x, y), X, y, "a global minimum", convex=("f",)), "f(u) = u²",
         lambda: Extremum(bregman("f", x, y), X, y, "a global minimum", above=bregman("f", x, y), convex=("f",),
                          witness=Point((), ((Y, -1),)), direction=1)),
    Pair("order/what-has-no-derivative-there", lambda: Order(sqrt(x**2), zero, X, 1), "|x| is no O(x²)",
         lambda: Order(sqrt(x**2) * x, zero, X, 2, witness=Point((), ()))),
    Pair("order/a-power-of-a-modulus", lambda: Order(x**2, zero, X, 3, witness=Point((), ())), "x² is no O(x³)",
         lambda: Order(sqrt(x**2) ** 3, zero, X, 3, witness=Point((), ()))),
    Pair("order/sizes-that-do-not-fit", lambda: Order(2 * x, x, X, 2, witness=Point((), ())), "x",
         lambda: Order(SQUARE * x, x, X, 2, witness=Point((("n", 1), ("n-1", 3)), ()))),
    Pair("positive/as-many-points-as-coordinates", lambda: Positive(-kronecker(i, j), Tensor("X", ("n", "n")), i, j, "R^d"), "-I",
         lambda: Positive(kronecker(i, j) - 1 / size("n"), Tensor("X", ("n", "n")), i, j, "R^d")),
    Pair("solvable/at-sizes-that-do-not-fit", lambda: Solvable(X, (Fact("e", zero * x - 1, "="),), Point((), ())), "0 = 1",
         lambda: Solvable(X, (Fact("e", SQUARE * x - 1, "="),), Point((("n", 2), ("n-1", 2)), ()))),
    Pair("cost/sizes-that-are-formulas",
         lambda: Cost("w", (Assign(PLAIN, (Index("i", "m"),), as_term(Tensor("w", ("m",)))[Index("i", "m")] * x),), "2*m", sizes=("m",)), "m",
         lambda: Cost("w", (Assign(Tensor("h", ("n-1",)), (LESS,), as_term(Tensor("w", ("n-1",)))[LESS] * x),), "n - 1", sizes=("n-1", "n"))),
    Pair("identity/entries-with-swapped-indices",
         lambda: Identity(swapped() @ v, stack(i, sum_over(j, swapped()[i, j] * v[j]))), "Q v = Σ_j Q_ji v_j",
         lambda: Identity(A @ v, stack(i, sum_over(j, A[i, j] * v[j])))),
    Pair("differs/entries-of-another-array", lambda: Differs(sum_over(j, A[i, j]), sum_over(k, templated()[i, k])), "Σ A_ij = Σ A_ik",
         lambda: Differs(sum_over(j, A[i, j]), sum_over(k, called("B", "n", "n")[i, k]))),
    Pair("identity/an-index-named-as-a-limit", lambda: Identity(*triangle("n")), "Σ_n Σ_i≤n", lambda: Identity(*triangle("j"))),
    *(Pair(f"differs/printed-alike-{n}", lambda a=a, b=b: Differs(as_term(Tensor("p", (), a)), called(b)), "they look the same",
           lambda: Differs(as_term(Tensor("p")), called("q")))
      for n, (a, b) in enumerate([("x'", r"x^{\prime}"), ("x_a^b", "x^b_a"), (r"\bar x", r"\overline{x}"), ("x", "x^{}"), (r"\mathit{x}", "x"),
                                  ("K", r"\Kappa"), (r"d_{\text{m}}", r"d_{\mathrm{m}}"), (r"x_{\max}", r"x_{\mathrm{max}}")])),
    Pair("differs/a-square-that-is-a-name", lambda: Differs(sqrt(called(r"\sigma^2")), as_term(Tensor("s", (), r"\sigma"))), "√σ² = σ",
         lambda: Differs(called("t"), as_term(Tensor("s", (), r"\sigma")))),
    Pair("differs/a-quotient-that-is-a-name", lambda: Differs(2 * called("x/y"), 2 * (x / y)), "x/y", lambda: Differs(2 * called("z"), 2 * (x / y))),
    Pair("differs/a-product-that-is-a-name", lambda: Differs(called("x y") + 2 * (x * y), 3 * called("x y")), "x y",
         lambda: Differs(called("z") + 2 * (x * y), 3 * called("z"))),
    Pair("differs/a-transpose-that-is-a-name", lambda: Differs(called(r"A^{\top}", "n", "n") @ v, A.T @ v), "Aᵀ v",
         lambda: Differs(called("B", "n", "n") @ v, A.T @ v)),
    Pair("definition/two-meanings-in-two-parts", lambda: All(Definition(x, 3 * one), Definition(x, 4 * one)), "3 and 4",
         lambda: All(Definition(x, 3 * one), Definition(y, 4 * one))),
    Pair("definition/two-parts-by-each-other", lambda: All(Definition(x, y), Definition(y, x)), "a circle", lambda: All(Definition(x, y), Definition(as_term(Tensor("z")), x))),
]  # fmt: skip


def swapped() -> Term:
    return as_term(Tensor("Q", ("n", "n"), "Q", entry_latex="Q_{%2%1}"))


def templated() -> Term:
    return as_term(Tensor("B", ("n", "n"), "B", entry_latex="A_{%1%2}"))


def triangle(name: str) -> tuple[Term, Term]:
    outer, inner, rows = Index(name, "m"), Index("i", "n"), as_term(Tensor("X", ("m", "n")))
    return sum_over(outer, inner, rows[outer, inner]), sum_over(inner, outer, rows[outer, inner])
