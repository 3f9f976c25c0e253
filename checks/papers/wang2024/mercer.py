"""Which of the listed kernels are Mercer, on which domain and for which parameters."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Assumption, claim
from checks.kinds.examples import Example, Point
from checks.kinds.positive import Positive, Region, SigmoidNegative
from checks.statement import All, Fact, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.psd import (
    Certificate,
    Exp,
    Features,
    Harmonic,
    Multiple,
    OverCoordinates,
    Overlap,
    Plus,
    Power,
    Scaled,
)
from derivations.calculus.term import Term, as_term, exp, sqrt, squared_norm, sum_over
from derivations.theories.functional_descent import kernels as fk
from derivations.theories.functional_descent.updates import D, N

i, j, ip = Index("i", N), Index("j", N), Index("i'", N)
a = Index("a", D)
X = Tensor("x", (N, D), "X", "x_{%1}", "x_{%1}(%2)")
XP = Tensor("x", (N, D), "X", "x_{%1}", "x_{%1}(%2)", positive=True)
x, xp = as_term(X), as_term(XP)
sigma, gamma, offset, rate = (as_term(t) for t in (fk.sigma, fk.gamma, fk.offset, fk.rate))
ANYWHERE = "R^d"
DOMAIN = Assumption("domain", "the covariates of the synthetic data are uniform on [-1, 1]^d")
POINTS = r"$x_1,\dots,x_N\in\mathbb{R}^d$ any points of the domain, $w_i$ any reals; "
WHERE = POINTS + r"$\sigma$ the width; $\gamma,c$ as in the list of kernels."


def inner_product() -> Certificate:
    """xᵀy as features."""
    return Features(x[i, a], i, a)


def one() -> Certificate:
    """The constant kernel 1."""
    return Features(as_term(1), i)


def mercer(
    kernel: Term, domain: str, ranges: dict[Tensor, str], proof: Certificate | None, points: Tensor = X
) -> Positive:
    return Positive(kernel, points, i, j, domain, tuple(ranges.items()), proof)


claim(
    "wang2024/prose-mercer-linear",
    "Appendix A",
    "The linear kernel is Mercer",
    words="xᵀy is positive semidefinite on the whole space.",
    literal=mercer(fk.linear(x[i], x[j]), ANYWHERE, {}, inner_product()),
    where=WHERE,
)

claim(
    "wang2024/prose-mercer-rbf",
    "Appendix A",
    "The RBF kernel is Mercer",
    words="exp(-‖x - y‖²/σ²) is positive semidefinite on the whole space, for every σ > 0.",
    literal=mercer(
        fk.rbf(x[i], x[j]),
        ANYWHERE,
        {},
        Scaled(exp(-(squared_norm(x[i]) / sigma**2)), i, Exp(Multiple(2 / sigma**2, inner_product()))),
    ),
    rests_on=("wang2024/prose-mercer-linear",),
    where=WHERE,
    notes="There is no 2 in the denominator; that only rescales σ. Only σ² enters: -σ gives the same kernel.",
)

claim(
    "wang2024/prose-mercer-laplacian",
    "Appendix A",
    "The Laplacian kernel is Mercer",
    words="exp(-‖x - y‖₁/σ²) is positive semidefinite on the whole space.",
    literal=mercer(
        fk.laplacian(x[i], x[j]),
        ANYWHERE,
        {},
        Scaled(
            exp(-(sum_over(a, sqrt(x[i, a] ** 2)) / sigma**2)),
            i,
            Exp(Multiple(1 / sigma**2, OverCoordinates(Overlap(x[i, a], i), a))),
        ),
    ),
    where=WHERE,
)

half = Fraction(1, 2)
NEVER = SigmoidNegative(
    (
        Region("-", ("-",), (Fraction(0),), (1,)),
        Region("-", ("+",), (Fraction(0),), (1,)),
        Region("0", ("-",), (Fraction(1),), (1,)),
        Region("0", ("+",), (half, Fraction(1))),
        Region("+", ("-",), (Fraction(-1), Fraction(0), Fraction(1)), (1, -2, 1)),
        Region("+", ("+",), (Fraction(-1), Fraction(0), Fraction(1)), (1, -2, 1)),
    )
)
claim(
    "wang2024/prose-mercer-sigmoid",
    "Appendix A",
    "The sigmoid kernel is not Mercer",
    words="tanh(γ xᵀy + c) is not positive semidefinite, whatever γ ≠ 0 and c are.",
    literal=NEVER,
    where=r"$x$ the points, vectors of the domain in $\mathbb{R}^d$, and $w$ the weights, as each line says; "
    r"parameters $\gamma,c$ as in the list of kernels. $h$: any vector of the domain other than 0 with $0$, "
    r"$\pm h$ and $\tfrac12h$ in it. Only $(ah)^\top(bh)=ab\,\|h\|^2$ enters: Rocq's $h$ is the number "
    r"$\|h\|$, its points are numbers.",
    notes="Shown for every γ ≠ 0 and every c, on any domain that contains 0, ±h and h/2 for some h ≠ 0, so "
    "also on [-1, 1]^d. For γ = 0 the kernel is the constant tanh c, not below 0 for c ≥ 0. The list calls "
    "all its kernels Mercer; the paper corrects this for the sigmoid in the sentence that is judged here.",
)


def polynomial(ranges: dict[Tensor, str], degree: int, label: str) -> Positive:
    proof = Power(Plus((Multiple(gamma, inner_product()), Multiple(offset, one()))), degree)
    return Positive(fk.polynomial(x[i], x[j], degree), X, i, j, ANYWHERE, tuple(ranges.items()), proof, label)


def polynomials(sign: str) -> All:
    ranges = {fk.gamma: sign, fk.offset: sign}
    return All(*(polynomial(ranges, degree, f"degree {degree}") for degree in (1, 2, 3, 4)))


r = Index("r", "R")
G = as_term(Tensor("g", (N, "R"), "g", "g_{%1}"))
weight = as_term(Tensor("w", (N,), "w", "", "w_{%1}"))
NEXT_DEGREE = Identity(
    sum_over(i, j, weight[i] * weight[j] * (G[i].T @ G[j]) * (gamma * (x[i].T @ x[j]) + offset)),
    gamma * sum_over(r, a, sum_over(i, weight[i] * G[i, r] * x[i, a]) ** 2)
    + offset * sum_over(r, sum_over(i, weight[i] * G[i, r]) ** 2),
    label="from degree p to p + 1, with squares that γ, c ≥ 0 multiply",
)

claim(
    "wang2024/prose-mercer-polynomial",
    "Appendix A",
    "The polynomial kernel is Mercer",
    words="(γ xᵀy + c)^d is positive semidefinite; γ and c are not restricted.",
    literal=polynomials("real"),
    corrected=All(*polynomials(">= 0").parts, NEXT_DEGREE),
    correction_words="For γ ≥ 0 and c ≥ 0, and every whole degree from 1 on.",
    rests_on=("wang2024/prose-mercer-linear",),
    where=WHERE
    + r" In (e) $g_i^\top g_j$ is the kernel of degree $p$ at $x_i,x_j$, as a positive semidefinite matrix "
    r"is the Gram matrix of vectors $g_i$, of $R$ entries; the right side is at least 0 for $\gamma,c\ge0$.",
    notes="The degree is printed with the letter of the dimension. Exactly: on a neighbourhood of 0 all γ^k "
    "c^{p-k} ≥ 0, k = 0, …, p, is also necessary, which leaves γ, c ≥ 0, or p even and γ, c ≤ 0.",
)

claim(
    "wang2024/prose-mercer-cosine",
    "Appendix A",
    "The cosine kernel is Mercer",
    words="xᵀy/(‖x‖‖y‖) is positive semidefinite on the whole space.",
    literal=mercer(
        fk.cosine(x[i], x[j]), ANYWHERE, {}, Scaled(1 / sqrt(squared_norm(x[i])), i, inner_product())
    ),
    corrected=mercer(
        fk.cosine(x[i], x[j]), "R^d without 0", {}, Scaled(1 / sqrt(squared_norm(x[i])), i, inner_product())
    ),
    correction_words="Without the point 0, at which it is 0/0.",
    rests_on=("wang2024/prose-mercer-linear",),
    where=WHERE,
)


def chi_squared(points: Tensor, domain: str, sign: str) -> Positive:
    p = as_term(points)
    total = sum_over(a, p[i, a])
    proof = Scaled(
        exp(-(gamma * total)), i, Exp(Multiple(4 * gamma, OverCoordinates(Harmonic(p[i, a], i), a)))
    )
    return mercer(fk.chi_squared(p[i], p[j]), domain, {fk.gamma: sign}, proof, points)


claim(
    "wang2024/prose-mercer-chi2",
    "Appendix A",
    "The chi-squared kernel is Mercer",
    words="exp(-γ Σ_a (x_a - y_a)²/(x_a + y_a)) is positive semidefinite, on the synthetic covariates.",
    literal=chi_squared(X, "[-1, 1]^d", "real"),
    corrected=chi_squared(XP, "(0, inf)^d", ">= 0"),
    correction_words="For positive covariates and γ ≥ 0; with 0/0 := 0 also for nonnegative ones, by "
    "continuity.",
    assumes=(DOMAIN,),
    where=WHERE,
    notes="On [-1, 1]^d the quotient is not defined where x_a = -y_a. On negative entries it "
    "is, but there the kernel is not Mercer for γ > 0: all x_a + y_a are negative, and so the kernel of "
    "different points exceeds 1, its value at equal ones, which a positive semidefinite kernel cannot.",
)

claim(
    "wang2024/prose-mercer-exponential",
    "Appendix C",
    "The exponential kernel is Mercer",
    words="exp(λ xᵀy) with a learned real λ is positive semidefinite.",
    literal=mercer(
        fk.exponential(x[i], x[j]), "[-1, 1]^d", {fk.rate: "real"}, Exp(Multiple(rate, inner_product()))
    ),
    corrected=mercer(
        fk.exponential(x[i], x[j]), ANYWHERE, {fk.rate: ">= 0"}, Exp(Multiple(rate, inner_product()))
    ),
    correction_words="For λ ≥ 0, on the whole space.",
    rests_on=("wang2024/prose-mercer-linear",),
    where=POINTS + r"$\lambda$ is learned.",
    notes="The paper uses the kernel for its RKHS attention; it excepts the softmax and the sigmoid kernel. "
    "For every λ < 0 the points x and -x give a negative form, for any x ≠ 0.",
)

kernel_ij, kernel_ji = (
    softmax_at
    for softmax_at in (
        exp(rate * (x[i].T @ x[j])) / sum_over(ip, exp(rate * (x[ip].T @ x[j]))),
        exp(rate * (x[j].T @ x[i])) / sum_over(ip, exp(rate * (x[ip].T @ x[i]))),
    )
)
SYMMETRIC_FORM = sum_over(
    i, j, as_term(Tensor("w", (N,), "w"))[i] * as_term(Tensor("w", (N,), "w"))[j] * kernel_ij
)
CONTEXT = Point((("N", 2), ("d", 1)), ((X, ((0,), (1,))), (fk.rate, 1)), ((i, 1), (j, 2)))
NEGATIVE = Point(
    (("N", 2), ("d", 1)), ((X, ((half,), (1,))), (fk.rate, 8), (Tensor("w", (N,), "w"), (2, -1)))
)

claim(
    "wang2024/prose-mercer-softmax",
    "Section 4",
    "The softmax kernel is not Mercer",
    words="exp(λ x_iᵀx_j)/Σ_i exp(λ x_iᵀx_j) is not a Mercer kernel.",
    literal=All(
        Example(
            (Fact("κ(x_i, x_j) - κ(x_j, x_i)", kernel_ij - kernel_ji, "!="),),
            CONTEXT,
            label="not symmetric",
        ),
        Example((Fact("-w'Kw", -SYMMETRIC_FORM, ">"),), NEGATIVE, label="nor positive after symmetrising"),
    ),
    where=r"$x_i\in\mathbb{R}^d$ any points, $w_i$ any reals; $\lambda$ is learned. The keys are "
    r"the $N$ points; the sum is over the keys $i'$.",
    notes="The printed sum runs over i, which is also the free key index. For λ = 0 or N = 1 the kernel is "
    "constant, and Mercer; for N ≥ 2 and every other λ, points that are 0 but for one x with |x| = 1 give "
    "1/(N - 1 + exp(λ)) for 0 and x in one order and 1/N in the other. A quadratic form only sees the "
    "symmetric part.",
)
