"""Variance, values as singular vectors, and the identity as f(X): Remarks 3.1 and 3.4, Section 4."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from checks.claim import claim
from checks.kinds.examples import Point, Rule
from checks.kinds.feasible import Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.unbounded import Bounded
from checks.leg import Legs
from checks.papers.chen2023.conditions import eigen_equations
from checks.papers.chen2023.duality import RAY, ray
from checks.papers.chen2023.symbols import (
    EIGEN,
    EIGEN_FACTS,
    NOTATION,
    ONE_S,
    ORTHONORMAL,
    PRIMAL,
    K,
    e,
    entry,
    h_e,
    h_r,
    i,
    j,
    l_,
    lp,
    phi_k,
    phi_q,
    printed,
    res_e,
    res_r,
    sigma,
    triplets,
    weights,
)
from checks.papers.chen2023.triplets import ONE_N
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Ones, Term, Zeros, as_term, size, squared_norm, stack, sum_over, trace
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, N, P, PrintedDiagonal, S, Sigma

tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

REST = r"N-s"
ONE_P = PrintedDiagonal((Ones((), (P,)),), "I_p")
k_, q_ = Index("k", N), Index("q", REST)
V_1, V_2 = Tensor("V_1", (N, S), "V_1"), Tensor("V_2", (N, REST), "V_2")
a_1, a_2 = (
    Tensor("a", (S,), r"\boldsymbol{a}", "", "a_{%1}"),
    Tensor("b", (REST,), r"\boldsymbol{b}", "", "b_{%1}"),
)
tau = Tensor("tau", (), r"\tau")
R_H, R_V, R_G = Tensor("R_H", (S, S), "R_H"), Tensor("R_V", (N, N), "R_V"), Tensor("R_G", (N, N), "R_G")


def _variance(a: KsvdAssumptions) -> All:
    centred = e[i] - 1 / size(N) * sum_over(k_, e[k_])
    first = sum_over(i, e[i].T @ ksvd.Lambda @ e[i])
    spread = sum_over(i, centred.T @ ksvd.Lambda @ centred)
    return All(
        Identity(first, spread, label="the weighted squares are a variance"),
        Bounded(ksvd.primal(a), ray(printed(a)), label="a maximum exists"),
    )


LEADING = (
    r" $V_1$: $s$ leading right singular vectors of $K$, $V_2$: the others; the squares of their singular "
    r"values are $\Sigma_1^2=\operatorname{diag}(\tau+a_l^2)$ and "
    r"$\Sigma_2^2=\operatorname{diag}(\tau-b_q^2)$."
)


def _ky_fan(a: KsvdAssumptions) -> All:
    """‖K H_r‖² ≤ σ_1² + … + σ_s² for orthonormal H_r, with σ² = τ + a² on V_1 and τ - b² on V_2."""
    one, two, b, t = as_term(V_1), as_term(V_2), as_term(a_2), as_term(tau)
    big = PrintedDiagonal((stack(l_, t + as_term(a_1)[l_] ** 2),), r"\Sigma_1^2")
    small = PrintedDiagonal((stack(q_, t - b[q_] ** 2),), r"\Sigma_2^2")
    hypotheses = (
        Equation(h_r.T @ h_r, ONE_S, R_H, "orthonormal columns"),
        Equation(
            one @ one.T + two @ two.T, ONE_N, R_V, "V_1 and V_2 together are all right singular vectors"
        ),
        Equation(
            K.T @ K, one @ big @ one.T + two @ small @ two.T, R_G, "K = UΣVᵀ with the s leading values in Σ_1"
        ),
    )
    p_1, p_2, weight = one.T @ h_r, two.T @ h_r, as_term(a_1)
    off = sum_over(lp, entry(ONE_S - p_1 @ p_1.T, l_, lp) ** 2) + sum_over(
        q_, entry(p_1 @ p_2.T, l_, q_) ** 2
    )
    lost = sum_over(q_, l_, b[q_] ** 2 * entry(p_2, q_, l_) ** 2)
    inner = as_term(R_H) + h_r.T @ as_term(R_V) @ h_r
    certificate = (
        -(t * trace(inner))
        - sum_over(l_, weight[l_] ** 2 * entry(p_1 @ inner @ p_1.T, l_, l_))
        - trace(h_r.T @ as_term(R_G) @ h_r)
    )
    r_1, r_2 = Tensor("R_11", (S, S), "R_{11}"), Tensor("R_12", (S, REST), "R_{12}")
    own_1, own_2, bound = as_term(r_1), as_term(r_2), sum_over(l_, t + weight[l_] ** 2)
    orthogonal = (
        Equation(one.T @ one, ONE_S, r_1, "V_1 is orthonormal"),
        Equation(one.T @ two, Zeros((), (S, REST)), r_2, "V_1 and V_2 are orthogonal"),
        hypotheses[2],
    )
    reached = trace(big @ own_1) + trace(own_1 @ big @ (one.T @ one)) + trace(own_2 @ small @ own_2.T)
    return All(
        Follows(
            hypotheses,
            bound,
            squared_norm(K @ h_r),
            certificate,
            "leading triplets",
            relation=">=",
            squares=sum_over(l_, weight[l_] ** 2 * off) + lost,
            label="the bound on the second moment",
        ),
        Follows(
            orthogonal,
            squared_norm(K @ one),
            bound,
            reached + trace(one.T @ as_term(R_G) @ one),
            "leading triplets",
            label="reached by V_1",
        ),
    )


claim(
    "chen2023/rem3.1",
    "Remark 3.1",
    "The objective as variance maximisation",
    theory="ksvd",
    words="The objective of (6) jointly maximises the variances of e_i and r_j along W_{e|X} and W_{r|X}.",
    literal=_variance,
    corrected=_ky_fan,
    correction_words="Over orthonormal H_r the uncentred second moment of the scores, Σ_i‖e_i‖² = ‖K H_r‖², "
    "is at most the sum of the squares of the s largest singular values of K, with equality for the leading "
    "right singular vectors; the same for r with H_e and Kᵀ.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq6",),
    legs=(tensor_legs.ky_fan,),
    where=NOTATION + LEADING + RAY,
    notes="Σ_i e_iᵀΛe_i is not a variance (N = 1: the variance is 0), (6) has no maximum, and its stationary "
    "points fix no scale of the scores. In the corrected statement orthonormality is imposed, and Λ plays no "
    "part.",
)

OTHER = Tensor("G_r", (N, S), "G")


def _maximal(a: KsvdAssumptions) -> Rule:
    """Orthonormal solutions of (7) reach the largest second moment of the scores."""
    g, own = as_term(OTHER), Index("c", S)
    other = Index("c'", S)
    unit = Fact("GᵀG = I", entry(g.T @ g - ONE_S, own, other), "=")
    largest = Fact("‖K H_r‖² - ‖K G‖²", squared_norm(K @ h_r) - squared_norm(K @ g), ">=")
    second = ((0,), (1,))
    point = Point(
        ((N, 2), (S, 1)),
        (
            (ksvd.K, ((2, 0), (0, 1))),
            (ksvd.sigma, (1,)),
            (ksvd.h_e, second),
            (ksvd.h_r, second),
            (OTHER, ((1,), (0,))),
        ),
    )
    return Rule((*EIGEN_FACTS, *ORTHONORMAL, unit), largest, point)


claim(
    "chen2023/prose-maximal-directions",
    "Section 3, below (6)",
    "Solutions capture the directions of maximal variance",
    theory="ksvd",
    words="The solution of (6) in the dual captures the directions with maximal projection variances.",
    literal=_maximal,
    corrected=_ky_fan,
    correction_words="The leading s right singular vectors do, those with the largest σ_l. A solution of (7) "
    "may sit on any triplets: Λ picks them, by σ_l = 1/λ_l; J is 0 on all of them.",
    assumes=PRIMAL,
    rests_on=("chen2023/thm3.2", "chen2023/lem4.2"),
    legs=(tensor_legs.ky_fan,),
    where=NOTATION + r" $G\in\mathbb{R}^{N\times s}$: other directions." + LEADING,
    notes="That (6) has no maximum: chen2023/rem3.1.",
)

m_ = Index("m", N)


def _output() -> Identity:
    weight = Given(V_ROWS, (j, l_), h_r[j, l_], "v(x_j) := h_{r_j}, with d_v = s")
    return Identity(
        sum_over(j, as_term(V_ROWS)[j] * K[i, j]),
        sum_over(j, h_r[j] * K[i, j]),
        (weight,),
        label="the formulas agree",
    )


V_ROWS = Tensor("v", (N, S), "V", r"v(\boldsymbol{x}_{%1})", r"v(\boldsymbol{x}_{%1})_{%2}")
TAU = Tensor("tau", (S,), r"\boldsymbol{\tau}", "", r"\tau_{%1}")


def _plays_the_role() -> All:
    value = as_term(V_ROWS)
    equation = Fact("KᵀK V = V diag(τ)", entry(K.T @ K @ value, j, l_) - value[j, l_] * as_term(TAU)[l_], "=")
    half, third = Fraction(1, 2), Fraction(1, 3)
    stochastic = ((half, half), (third, 2 * third))
    point = Point(((N, 2), (S, 1)), ((ksvd.K, stochastic), (V_ROWS, ((1,), (0,)))))
    return All(
        _output(),
        Solvable(
            TAU, (equation,), point, label="the values are right singular vectors for some Σ² = diag(τ)"
        ),
    )


def _when(a: KsvdAssumptions) -> All:
    """KᵀK V = VΣ², VᵀV = I and H_e := K V Σ⁻¹ give (7) with orthonormal columns, for V = H_r; (7) gives the
    first of them back.
    """
    residual, gram = Tensor("R_K", (N, S), "R_K"), Tensor("R_V", (S, S), "R_V")
    hypotheses = (
        Equation(K.T @ K @ h_r, h_r @ Sigma @ Sigma, residual, "KᵀK V = VΣ²"),
        Equation(h_r.T @ h_r, ONE_S, gram, "VᵀV = I"),
    )
    rule = (Given(ksvd.h_e, (i, l_), entry(K @ h_r, i, l_) / sigma[l_], "H_e := K V Σ⁻¹"),)
    family = triplets(printed(a))
    carried = (h_r.T @ as_term(residual))[l_, lp] + as_term(gram)[l_, lp] * sigma[lp] ** 2
    return All(
        _output(),
        Follows(
            hypotheses,
            (K.T @ h_e)[j, l_],
            h_r[j, l_] * sigma[l_],
            as_term(residual)[j, l_],
            family,
            factor=sigma[l_],
            given=rule,
            label="Kᵀ H_e = V Σ",
        ),
        Follows(
            hypotheses,
            (h_e.T @ h_e)[l_, lp],
            ONE_S[l_, lp],
            carried,
            family,
            factor=sigma[l_] * sigma[lp],
            given=rule,
            label="H_e is orthonormal",
        ),
        Follows(
            EIGEN,
            (K.T @ K @ h_r)[j, l_],
            (h_r @ Sigma @ Sigma)[j, l_],
            (K.T @ res_e)[j, l_] + (res_r @ Sigma)[j, l_],
            family,
            label="and no other values",
        ),
    )


claim(
    "chen2023/rem3.4",
    "Remark 3.4",
    "Values of canonical attention as right singular vectors",
    theory="ksvd",
    words="With v(x_j) = h_{r_j} the attention output is the score e(x_i), and the values play the role of "
    "singular vectors.",
    literal=_plays_the_role(),
    corrected=_when,
    correction_words="The formulas agree for all values. The values are right singular vectors to "
    "positive σ_l exactly if KᵀK V = VΣ² and VᵀV = I; then K V Σ⁻¹ holds the left ones.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq3", "chen2023/eq8", "chen2023/thm3.2"),
    legs=(tensor_legs.softmax_triplets,),
    where=NOTATION
    + r" $V\in\mathbb{R}^{N\times s}$ has the rows $v(\boldsymbol{x}_j)$ and is $H_r$ in the correction; "
    r"$\boldsymbol{\tau}\in\mathbb{R}^s$: the squares of the singular values.",
    notes="Nothing in attention makes the values satisfy this. The reading of values as projection weights "
    "in Section 1 rests on it.",
)


def _with_identity(a: KsvdAssumptions, f: Tensor, one: Term) -> tuple[Definition | Identity, ...]:
    """f(X) is an identity matrix; for it the constraints of (6) are W_eᵀφ_q = e and W_rᵀφ_k = r, and
    ⟨f(X)φ_q, f(X)φ_k⟩ = ⟨φ_q, φ_k⟩.
    """
    w_e, w_r = weights(a)
    images = (one @ phi_q[i]).T @ (one @ phi_k[j])
    return (
        Definition(as_term(f), one, label="f(X) is an identity"),
        Identity((one.T @ w_e).T @ phi_q[i], w_e.T @ phi_q[i], label="the score e in (6)"),
        Identity((one.T @ w_r).T @ phi_k[j], w_r.T @ phi_k[j], label="the score r in (6)"),
        Identity(images, phi_q[i].T @ phi_k[j], label="the kernel"),
    )


def _identity_case(a: KsvdAssumptions) -> All:
    square, own = Tensor("F", (P, P), "f(X)"), replace(a, f_X="identity")
    return All(*_with_identity(own, square, ONE_P), *eigen_equations(own))


def _identity_of_n(a: KsvdAssumptions) -> All:
    own = replace(a, f_X="tokens")
    return All(*_with_identity(own, ksvd.transformation(own), ONE_N))


claim(
    "chen2023/prose-identity-reduces",
    "Section 4",
    "f(X) = I gives the data-independent case",
    theory="ksvd",
    words="With f(X) in R^{N×p} an identity matrix, (6) becomes the case of data-independent weights.",
    literal=_identity_of_n,
    corrected=_identity_case,
    correction_words="With F_X = I_p and weights of p rows, as Algorithm 1 has it: scores W_eᵀφ_q(x_i) and "
    "W_rᵀφ_k(x_j), K_ij = ⟨φ_q(x_i), φ_k(x_j)⟩, and (7) as before.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq7",),
    legs=(tensor_legs.without_transformation,),
    where=NOTATION,
    notes="An N × p matrix is an identity only if N = p. Any F with orthonormal columns gives the same "
    "kernel.",
)
