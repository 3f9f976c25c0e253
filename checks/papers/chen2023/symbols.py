"""Symbols of chen2023 as the paper prints them, and its assumptions."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import Assumption
from checks.kinds.follows import Equation
from checks.statement import Fact, Given
from derivations.calculus.index import Expr, Index, Tensor, rename
from derivations.calculus.program import Raw
from derivations.calculus.term import Ones, Pick, Term, Transpose, as_term, stack, sum_over
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, N, PrintedDiagonal, S, Sigma

PAPER = KsvdAssumptions()
# five nested sums in a derived gradient: larger exact instances take long
SMALL = tuple((dim, 2) for dim in (N, ksvd.P, S, ksvd.SAMPLED))

i, j, l_ = ksvd.i, ksvd.j, ksvd.l_
lp = Index("l'", S)
ip, jp = Index("i'", N), Index("j'", N)
phi_q, phi_k, phi_q_x, phi_k_x = map(as_term, (ksvd.phi_q, ksvd.phi_k, ksvd.phi_q_x, ksvd.phi_k_x))
e, r, h_e, h_r = map(as_term, (ksvd.e, ksvd.r, ksvd.h_e, ksvd.h_r))
K, lam, sigma = map(as_term, (ksvd.K, ksvd.lam, ksvd.sigma))
R_e, R_r = Tensor("R_e", (N, S), "R_e"), Tensor("R_r", (N, S), "R_r")

NOTATION = (
    r"$N$ tokens $\boldsymbol{x}_i$, features $\phi_q,\phi_k$ of queries and keys (their subscripts are no "
    r"indices), of width $p$, $s$ directions; "
    r"$f(X)$, or $F_X$, in $\mathbb{R}^{N\times p}$ as printed, with rows $f(X)_j$ ($n$ of them when "
    r"sampled, absent in the data-independent case); "
    r"weights $W_e,W_r$ with one row for each row of $f(X)$ and $W_{e|X}=f(X)^\top W_e$; scores "
    r"$\boldsymbol{e}_i,\boldsymbol{r}_j\in\mathbb{R}^s$, the rows of $E,R$; multipliers "
    r"$\boldsymbol{h}_{e_i},\boldsymbol{h}_{r_j}$, the rows of $H_e,H_r\in\mathbb{R}^{N\times s}$; "
    r"$\Lambda=\operatorname{diag}(\lambda_1,\dots,\lambda_s)$ with all $\lambda_l>0$; "
    r"$\Sigma=\operatorname{diag}(\sigma_1,\dots,\sigma_s)$ of the $\sigma_l$; $K\in\mathbb{R}^{N\times N}$."
)
LAMBDA_GIVEN = Assumption("given Lambda", "Λ is a given positive diagonal matrix", "Lambda", "given")
BOTH_SCORES = Assumption("both scores", "both scores, coupled by Tr(W_eᵀW_r)", "scores", "both")
PLAIN = Assumption("no normalisation", "the features enter the scores unweighted", "normalisation", "none")
PAPER_J = Assumption(
    "objective as printed", "sums over tokens and Λ itself in the objective", "objective", "paper"
)
PRIMAL = (LAMBDA_GIVEN, BOTH_SCORES, PLAIN, PAPER_J)


class Column(Pick):
    """Column l of H_e or H_r, printed h_{e,l}."""

    def latex(self) -> str:
        inner = self.args[0]
        if isinstance(inner, Transpose) and inner.args[0] in (as_term(ksvd.h_e), as_term(ksvd.h_r)):
            return rf"\boldsymbol{{h}}_{{{inner.args[0].data.name[-1]},{self.data[0].name}}}"
        return super().latex()


def column(matrix: Term, index: Index) -> Term:
    """A column as a vector."""
    return Column((Transpose((matrix,)),), (index,))


def printed(a: KsvdAssumptions) -> KsvdAssumptions:
    """What the paper prints covers every f(X); all other choices are its own."""
    return replace(PAPER, f_X=a.f_X)


def row(a: KsvdAssumptions) -> Index:
    """An index over the rows of f(X)."""
    return Index("m", ksvd.rows(a))


def weights(a: KsvdAssumptions) -> tuple[Term, Term]:
    """W_e and W_r."""
    first, second = ksvd.weights(a)
    return as_term(first), as_term(second)


def image(a: KsvdAssumptions, features: Term) -> Term:
    """f(X) φ; φ itself where f(X) is absent."""
    return features if a.f_X == "identity" else as_term(ksvd.transformation(a)) @ features


def matrix(expr: Expr, *at: Index) -> Term:
    """A derived expression as a matrix over its free indices."""
    result: Term = Raw((), expr)
    for index in reversed(at):
        result = stack(index, result)
    return result


def entry(term: Term, *at: Index) -> Term:
    """One entry of a term."""
    return Pick((term,), at)


def derived(expr: Expr, **renamed: Index) -> Term:
    """A derived scalar, with free indices renamed by name."""
    return Raw((), rename(expr, {Index(k, v.dim): v for k, v in renamed.items()}))


def kernel_rule(a: KsvdAssumptions) -> Given:
    """K_ij = ⟨f(X) φ_q(x_i), f(X) φ_k(x_j)⟩ as (7) prints it."""
    value = image(a, phi_q[i]).T @ image(a, phi_k[j])
    return Given(ksvd.K, (i, j), value, "the kernel of (7)")


SIGMA_RULE = Given(ksvd.lam, (l_,), 1 / sigma[l_], "Σ = Λ⁻¹")


def weight_rules(a: KsvdAssumptions) -> tuple[Given, Given]:
    """W_r and W_e as the first two lines of (14) give them."""
    m = row(a)
    w_e, w_r = ksvd.weights(a)
    by_query = sum_over(i, image(a, phi_q[i]) @ h_e[i].T)
    by_key = sum_over(j, image(a, phi_k[j]) @ h_r[j].T)
    return (
        Given(w_r, (m, l_), entry(by_query, m, l_), "first line of (14)"),
        Given(w_e, (m, l_), entry(by_key, m, l_), "second line of (14)"),
    )


SCORE_RULES = (
    Given(ksvd.e, (i, l_), h_e[i, l_] / lam[l_], "third line of (14)"),
    Given(ksvd.r, (j, l_), h_r[j, l_] / lam[l_], "fourth line of (14)"),
)
EIGEN_E = Equation(K @ h_r, h_e @ Sigma, R_e, "first equation of (7): this residual vanishes")
EIGEN_R = Equation(K.T @ h_e, h_r @ Sigma, R_r, "second equation of (7): this residual vanishes")
EIGEN = (EIGEN_E, EIGEN_R)
res_e, res_r = as_term(R_e), as_term(R_r)
# indices of their own, so that the facts are printed for each of them
a_, b_, bp = Index("a", N), Index("b", S), Index("b'", S)
ONE_S = PrintedDiagonal((Ones((), (S,)),), "I_s")
EIGEN_FACTS = (
    Fact("K H_r = H_e Σ", entry(K @ h_r - h_e @ Sigma, a_, b_), "="),
    Fact("Kᵀ H_e = H_r Σ", entry(K.T @ h_e - h_r @ Sigma, a_, b_), "="),
)
ORTHONORMAL = (
    Fact("H_eᵀH_e = I", entry(h_e.T @ h_e - ONE_S, b_, bp), "="),
    Fact("H_rᵀH_r = I", entry(h_r.T @ h_r - ONE_S, b_, bp), "="),
)


def solutions(a: KsvdAssumptions) -> str:
    """The family of exact solutions of (7) under the choice of f(X)."""
    return f"solutions of (7), f(X): {a.f_X}"


def triplets(a: KsvdAssumptions) -> str:
    """The family of exact solutions of (7) with orthonormal columns."""
    return f"singular triplets, f(X): {a.f_X}"
