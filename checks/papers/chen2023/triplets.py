"""Which solutions of (7) are singular triplets: Theorem 3.2 and the readings of Σ, Λ, s and N."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from checks.claim import claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.examples import Point, Rule
from checks.kinds.feasible import Solvable
from checks.kinds.follows import ZERO, Equation, Follows
from checks.kinds.unbounded import Bounded, Ray
from checks.leg import Legs
from checks.papers.chen2023.conditions import (
    ELIMINATED,
    LAMBDA_RULE,
    between,
    eigen_equations,
    without_weights,
)
from checks.papers.chen2023.duality import eigen_gives_stationary, stationary_gives_eigen
from checks.papers.chen2023.symbols import (
    EIGEN,
    EIGEN_E,
    EIGEN_FACTS,
    EIGEN_R,
    NOTATION,
    ONE_S,
    ORTHONORMAL,
    PRIMAL,
    SMALL,
    K,
    b_,
    derived,
    entry,
    h_e,
    h_r,
    i,
    image,
    j,
    kernel_rule,
    l_,
    lam,
    lp,
    phi_k,
    phi_q,
    printed,
    res_e,
    res_r,
    sigma,
    solutions,
    triplets,
)
from checks.papers.chen2023.table_data import (
    SEARCHED,
    TABLE_1,
    TABLE_1_MODELS,
    TABLE_9,
    UEA,
    UEA_LENGTHS,
)
from checks.statement import All, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Program, Raw
from derivations.calculus.term import Ones, Size, Term, as_term, squared_norm, sum_over, trace
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, N, P, PrintedDiagonal, S, Sigma

solver_legs = Legs("checks.papers.chen2023.legs.solvers")
tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

ONE_N = PrintedDiagonal((Ones((), (N,)),), "I_N")
R_I, R_J = Tensor("R_I", (S, S), "R_I"), Tensor("R_J", (S, S), "R_J")
R_K = Tensor("R_K", (N, N), "R_K")
res_i, res_k = as_term(R_I), as_term(R_K)
UNIT = Equation(h_e.T @ h_e, ONE_S, R_I, "orthonormal columns: this residual vanishes")
UNIT_R = Equation(h_r.T @ h_r, ONE_S, R_I, "orthonormal columns: this residual vanishes")
third = Fraction(1, 3)


Entries = tuple[int | Fraction, ...]
Rows = tuple[Entries, ...]


def solution(kernel: Rows, values: Entries, left: Rows, right: Rows) -> Point:
    """K, the diagonal of Σ, H_e and H_r as nested tuples."""
    sizes = ((N, len(kernel)), (S, len(values)))
    return Point(sizes, ((ksvd.K, kernel), (ksvd.sigma, values), (ksvd.h_e, left), (ksvd.h_r, right)))


IS_ORTHONORMAL = Fact("H_eᵀH_e - I", entry(h_e.T @ h_e - ONE_S, l_, lp), "=")
UNIT_COLUMNS = Fact("unit columns", (h_e.T @ h_e)[b_, b_] - 1, "=")
ONE_BY_ONE = ((1,),)
I_2 = ((1, 0), (0, 1))
TURNED = ((1, Fraction(3, 5)), (0, Fraction(4, 5)))


def _theorem(a: KsvdAssumptions) -> All:
    scale = Rule(
        EIGEN_FACTS, IS_ORTHONORMAL, solution(ONE_BY_ONE, (1,), ((2,),), ((2,),)), label="orthonormal columns"
    )
    repeated = Rule(
        (*EIGEN_FACTS, UNIT_COLUMNS),
        IS_ORTHONORMAL,
        solution(I_2, (1, 1), TURNED, TURNED),
        label="unit columns, repeated σ",
    )
    nonzero = Fact("σ_l is a singular value: |h_{e,l}|²", (h_e.T @ h_e)[l_, l_], ">")
    free = Rule(
        EIGEN_FACTS,
        nonzero,
        solution(ONE_BY_ONE, (2,), ((0,),), ((0,),)),
        label="Λ not the inverse of singular values",
    )
    return All(*eigen_equations(a), scale, repeated, free)


def gram_follows(a: KsvdAssumptions) -> tuple[Follows, Follows]:
    """Columns of different σ are orthogonal; orthonormal columns of H_e make those of H_r orthonormal."""
    own = printed(a)
    turn = h_e.T @ (res_e @ Sigma + K @ res_r)
    gap = (sigma[l_] ** 2 - sigma[lp] ** 2) * (h_e.T @ h_e)[l_, lp]
    carry = res_i[l_, lp] * sigma[lp] + (h_e.T @ res_e)[l_, lp] - (res_r.T @ h_r)[l_, lp]
    return (
        Follows(
            EIGEN, gap, ZERO, turn[l_, lp] - turn[lp, l_], solutions(own), label="different σ: orthogonal"
        ),
        Follows(
            (*EIGEN, UNIT),
            (h_r.T @ h_r)[l_, lp],
            ONE_S[l_, lp],
            carry,
            triplets(own),
            factor=sigma[l_],
            label="orthonormal H_e gives orthonormal H_r",
        ),
    )


claim(
    "chen2023/thm3.2",
    "Theorem 3.2",
    "The dual variables as singular vectors",
    theory="ksvd",
    words="The dual of (6) leads to (7), and its solutions H_e and H_r are left and right singular vectors "
    "of K.",
    literal=_theorem,
    corrected=lambda a: All(
        *stationary_gives_eigen(printed(a)), *eigen_gives_stationary(printed(a)), *gram_follows(a)
    ),
    correction_words="Stationary points of (6) give solutions of (7) with Σ = Λ⁻¹, and the other way round. "
    "Those with orthonormal columns of H_e are singular triplets (then H_r is orthonormal too, and distinct "
    "σ_l need only unit columns); the others are scaled, zero or mixed within a repeated σ_l, and only zero "
    "where 1/λ_l is no singular value of K.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq7", "chen2023/eq14", "chen2023/thm2.2"),
    derivation=ksvd.derive,
    legs=(tensor_legs.unit_triplets, tensor_legs.softmax_triplets, solver_legs.other_decompositions),
    where=NOTATION,
    notes="What is said of the other solutions follows from KᵀKh = σ²h and (e), and is none of (a) to (f). "
    "Theorem 2.2 is used in the wrong direction: its factors are orthonormal, those of (7) need "
    "not be. The reading of training as a singular value decomposition depends on it, too.",
)


def _decomposed(a: KsvdAssumptions) -> All:
    conclusion = Fact("K - H_e Σ H_rᵀ", entry(K - h_e @ Sigma @ h_r.T, i, j), "=")
    point = solution(I_2, (1,), ((1,), (0,)), ((1,), (0,)))
    rule = Rule((*EIGEN_FACTS, *ORTHONORMAL), conclusion, point, label="K = H_e Σ H_rᵀ")
    return All(*stationary_gives_eigen(printed(a)), rule)


def _whole(a: KsvdAssumptions) -> All:
    family = triplets(printed(a))
    spanned = Equation(
        K @ h_r @ h_r.T, K, R_K, "the rows of K lie in the span of the columns of H_r: s = rank K"
    )
    given = Equation(K, h_e @ Sigma @ h_r.T, R_K, "K is decomposed")
    unit = Equation(UNIT.lhs, UNIT.rhs, R_J, "orthonormal columns: this residual vanishes")
    product = h_e @ Sigma @ h_r.T
    return All(
        *stationary_gives_eigen(printed(a)),
        Follows(
            (EIGEN_E, EIGEN_R, unit, UNIT_R, spanned),
            K,
            product,
            res_e @ h_r.T - res_k,
            family,
            label="s = rank K gives K = H_e Σ H_rᵀ",
        ),
        Follows(
            (given, UNIT_R),
            K @ h_r @ h_r.T,
            K,
            res_k @ h_r @ h_r.T - res_k + h_e @ Sigma @ res_i @ h_r.T,
            family,
            label="K = H_e Σ H_rᵀ gives K H_r H_rᵀ = K",
        ),
    )


claim(
    "chen2023/prose-lambda-inverse-sigma",
    "Section 3, after Theorem 3.2",
    "Σ is the inverse of Λ and K = H_e Σ H_rᵀ",
    theory="ksvd",
    words="Stationary points of (6) solve (7) with Σ = Λ⁻¹; solutions of (7) decompose the kernel: K = H_e Σ "
    "H_rᵀ with the non-zero singular values in Σ.",
    literal=_decomposed,
    corrected=_whole,
    correction_words="For orthonormal columns K = H_e Σ H_rᵀ holds exactly when s is the rank of K; for "
    "smaller s it is the part of K on the chosen triplets. For columns that are not orthonormal it fails "
    "with s = rank K: K H_r would be H_e Σ H_rᵀ H_r and not H_e Σ.",
    assumes=PRIMAL,
    rests_on=("chen2023/thm3.2",),
    legs=(tensor_legs.whole_kernel,),
    where=NOTATION,
    notes="For a given Λ this asks that every 1/λ_l is a singular value; a generic Λ leaves only the zero "
    "solution of (7).",
)

claim(
    "chen2023/prose-lambda-corresponds",
    "Appendix A.3",
    "Λ and the singular values",
    theory="ksvd",
    words="The text says once that Λ corresponds to the singular values; by the proof of Theorem 3.2, "
    "Σ = Λ⁻¹, its inverse does.",
    literal=Identity(lam[l_], sigma[l_], (LAMBDA_RULE,)),
    corrected=Identity(lam[l_], 1 / sigma[l_], (LAMBDA_RULE,)),
    correction_words="λ_l = 1/σ_l.",
    rests_on=("chen2023/eq7",),
    legs=(tensor_legs.zero_objective,),
    where=NOTATION,
)


def _block(a: KsvdAssumptions, transposed: bool) -> All:
    """Both rows of the block form; in each block i is the row and j the column."""
    own, inverse = printed(a), ksvd.Lambda_inverse
    query, key = (phi_q[j], phi_k[i]) if transposed else (phi_q[i], phi_k[j])
    upper = sum_over(j, between(own, phi_q[i], phi_k[j]) * h_r[j])
    lower = sum_over(j, between(own, key, query) * h_e[j])
    second = derived(ksvd.residual(a, 1), j=i)
    return All(
        without_weights(derived(ksvd.residual(a, 0)), inverse @ h_e[i] - upper, "upper row"),
        without_weights(second, inverse @ h_r[i] - lower, "lower row"),
    )


claim(
    "chen2023/prose-block-form",
    "Appendix A.1, before (15)",
    "The block form of the eigenvalue problem",
    theory="ksvd",
    words="Both off-diagonal blocks are printed with the same entries, in row i and column j of each.",
    literal=lambda a: _block(a, False),
    corrected=lambda a: _block(a, True),
    correction_words="The lower block is the transpose: row i and column j hold φ_k(x_i)ᵀf(X)ᵀf(X)φ_q(x_j).",
    assumes=PRIMAL,
    rests_on=("chen2023/eq14",),
    legs=(tensor_legs.eigen_problem,),
    where=NOTATION + ELIMINATED,
    notes="(15) and what follows from it have the transpose.",
)

t = Tensor("t", (), "t")


def _dual_function(a: KsvdAssumptions) -> All:
    """sup and inf of the Lagrangian over the primal variables, for any multipliers."""
    own = printed(a)
    result, m = ksvd.dual(own), Index("m", ksvd.rows(own))
    w_e, w_r = ksvd.weights(own)
    whole = result.lagrangian
    up = Program("L over the primal variables", ksvd.primal(own).variables, whole, maximise=True)
    zero, time = as_term(0), as_term(t)
    grow = as_term(ksvd.HALF) * Size((), N) * sum_over(l_, lam[l_])
    above = Ray(
        t,
        ((w_e, (m, l_), zero), (w_r, (m, l_), zero), (ksvd.e, (i, l_), time), (ksvd.r, (j, l_), zero)),
        grow,
        slope=-sum_over(i, l_, h_e[i, l_]),
    )
    ones = Ones((), (ksvd.rows(own), S))
    slope = sum_over(i, h_e[i].T @ (ones.T @ image(own, phi_q[i]))) + sum_over(
        j, h_r[j].T @ (ones.T @ image(own, phi_k[j]))
    )
    below = Ray(
        t,
        ((w_e, (m, l_), time), (w_r, (m, l_), time), (ksvd.e, (i, l_), zero), (ksvd.r, (j, l_), zero)),
        Size((), ksvd.rows(own)) * Size((), S),
        slope=-slope,
    )
    return All(
        Bounded(up, above, label="the supremum of L is finite"),
        Bounded(replace(up, maximise=False), below, label="the infimum of L is finite"),
    )


def _eliminated(a: KsvdAssumptions) -> All:
    rules = (kernel_rule(printed(a)), LAMBDA_RULE)
    why = "guarded derivative of the Lagrangian with the dualiser's solution put in"
    by_e = derived(ksvd.eliminated_gradient(a, ksvd.h_e, i, l_))
    by_r = derived(ksvd.eliminated_gradient(a, ksvd.h_r, j, l_))
    minus = Identity(
        Raw((), ksvd.eliminated(a)), -Raw((), ksvd.objective_at_solution(a)), label="it is -J", sizes=SMALL
    )
    return All(
        Identity(by_e, entry(K @ h_r - h_e @ Sigma, i, l_), rules, label="by h_e", reason=why, sizes=SMALL),
        Identity(by_r, entry(K.T @ h_e - h_r @ Sigma, j, l_), rules, label="by h_r", reason=why, sizes=SMALL),
        minus,
    )


claim(
    "chen2023/prose-dual-problem",
    "Section 3, Theorem 3.2",
    "(7) as the dual optimisation problem",
    theory="ksvd",
    words="The text calls (7) the dual optimisation problem of (6), by Lagrangian duality.",
    literal=_dual_function,
    corrected=_eliminated,
    correction_words="The dual function is finite nowhere: the Lagrangian is unbounded in both directions "
    "for all multipliers. (7) is the stationarity of the Lagrangian after elimination, tr H_eᵀKH_r - ½ tr "
    "H_eΣH_eᵀ - ½ tr H_rΣH_rᵀ, which is -J.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq13", "chen2023/eq14"),
    legs=(tensor_legs.lines_of_18,),
    where=NOTATION
    + " What is corrected has left sides that are not printed, by entries: the Lagrangian with the "
    "dualiser's solution of the stationarity conditions put in, in (a) and (b) its derivatives; on the right "
    "of (c) J with the same solution put in.",
)


def _how_many(a: KsvdAssumptions) -> Follows:
    """N - s = ‖I_N - H_e H_eᵀ‖² for orthonormal columns."""
    outer = h_e @ h_e.T
    certificate = -trace(res_i @ (h_e.T @ h_e)) + trace(res_i)
    return Follows(
        (UNIT,),
        Size((), N) - Size((), S),
        squared_norm(ONE_N - outer),
        certificate,
        triplets(printed(a)),
        label="s orthonormal columns of length N",
    )


claim(
    "chen2023/prose-rank",
    "Appendix B.2",
    "At most N projection directions",
    theory="ksvd",
    words="The number s of directions is limited to N, since there are at most N of them.",
    literal=_how_many,
    legs=(tensor_legs.few_directions,),
    where=NOTATION,
    notes="N - s is a squared norm, so s ≤ N. Directions with positive singular values are at most the rank "
    "of the kernel matrix K of (7), K_ij = φ_q(x_i)ᵀf(X)ᵀf(X)φ_k(x_j), "
    "itself at most the least of N, p and the number of rows of f(X): see chen2023/prose-s-range.",
)


def _left_inverse(a: KsvdAssumptions) -> Follows:
    """With C = f(X)ᵀf(X)φ_kᵀH_rΛ of p rows: H_e = φ_q C, so (φ_qᵀH_e)ᵀ C = I_s and s ≤ p."""
    own = printed(a)
    spread = sum_over(j, _gram(own, phi_k[j]) @ h_r[j].T) @ ksvd.Lambda
    left = (phi_q.T @ h_e).T @ spread
    inverse_e = Equation(K @ h_r, h_e @ Sigma, EIGEN_E.residual, EIGEN_E.reason)
    rules = (kernel_rule(own), Given(ksvd.lam, (l_,), 1 / sigma[l_], "Λ = Σ⁻¹"))
    certificate = h_e.T @ res_e @ ksvd.Lambda + res_i
    return Follows(
        (inverse_e, UNIT),
        left,
        ONE_S,
        certificate,
        triplets(own),
        given=rules,
        label="a left inverse with p rows",
    )


def _gram(a: KsvdAssumptions, features: Term) -> Term:
    """f(X)ᵀ f(X) φ."""
    return features if a.f_X == "identity" else as_term(ksvd.transformation(a)).T @ image(a, features)


K_INVERSE = Tensor("G", (N, N), "G")


def _up_to_n(a: KsvdAssumptions) -> Solvable:
    """s = N orthonormal triplets with positive σ_l are there exactly if K has an inverse."""
    column_ = ((1,), (1,))
    point = Point(((N, 2), (P, 1)), ((ksvd.phi_q, column_), (ksvd.phi_k, column_)))
    if a.f_X != "identity":
        sizes = tuple({**dict(point.sizes), ksvd.rows(a): 2}.items())
        point = Point(sizes, (*point.values, (ksvd.transformation(a), column_)))
    unit = Fact("K G = I_N", entry(K @ as_term(K_INVERSE) - ONE_N, i, j), "=")
    return Solvable(K_INVERSE, (unit,), point, (kernel_rule(a),), label="s = N: K has an inverse G")


ROBOTS, WIDTH = (32, 64, 96), 64  # s on D4RL and ImageNet, and the width of a head


def _searched() -> Arithmetic:
    """The largest s of the search against the length of every data set."""
    lengths = zip(UEA, UEA_LENGTHS, strict=True)
    within = (Figure(f"{name}: s up to N", Fraction(max(SEARCHED)), "<=", Fraction(n)) for name, n in lengths)
    return Arithmetic(tuple(within), "s ≤ N in the experiments")


def _beyond() -> Arithmetic:
    found = [Figure("D4RL: s beyond p", Fraction(max(ROBOTS)), ">", Fraction(WIDTH))]
    for name, n in zip(UEA, UEA_LENGTHS, strict=True):
        if max(SEARCHED) > n:
            found.append(Figure(f"{name}: s beyond N", Fraction(max(SEARCHED)), ">", Fraction(n)))
            reported = TABLE_1[name][TABLE_1_MODELS.index("Primal.")]
            ablated = max(TABLE_9[name][SEARCHED.index(max(SEARCHED))])
            words = f"{name}: Primal. in Table 1 is the best of Table 9 at s = {max(SEARCHED)}"
            found.append(Figure(words, reported, "=", ablated, 1))
    return Arithmetic(tuple(found), "what the experiments take")


claim(
    "chen2023/prose-s-range",
    "Appendix B.2, Section 5",
    "Every s up to N is admissible",
    theory="ksvd",
    words="s may be anything from 1 to N, and the experiments keep to it.",
    literal=lambda a: All(_up_to_n(printed(a)), _searched()),
    corrected=lambda a: All(_left_inverse(a), _beyond()),
    correction_words="s orthonormal triplets with positive σ_l need s ≤ p: the p × s matrix C = "
    "f(X)ᵀf(X)φ_k(X)ᵀH_rΛ then has a left inverse. The experiments take s beyond p, and on JapaneseVowels "
    "beyond N.",
    assumes=PRIMAL,
    rests_on=("chen2023/thm3.2",),
    legs=(tensor_legs.few_directions,),
    where=NOTATION
    + r" $\phi_q(X),\phi_k(X)\in\mathbb{R}^{N\times p}$ have the rows $\phi_q(\boldsymbol{x}_i)$, "
    r"$\phi_k(\boldsymbol{x}_j)$. "
    r"$s=N$ orthonormal triplets with $\sigma_l>0$ are there exactly if $K$ has an inverse, $G$. UEA: "
    r"$s\in\{20,30,40\}$; D4RL and ImageNet: $s\in\{32,64,96\}$ with head width $p=64$ (chen2023/tab13).",
    notes="What depends on it: the runs with s = 96, in which 'usually s < p' of Section 3 fails too, and "
    "the entry of JapaneseVowels in Table 1. That there are at most N directions is chen2023/prose-rank.",
)
