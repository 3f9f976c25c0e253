"""The singular value decomposition: equation (5), Theorem 2.2 and the symmetric case."""

from __future__ import annotations

from checks.claim import claim
from checks.kinds.examples import Point, Rule
from checks.kinds.follows import Equation, Follows
from checks.leg import Legs
from checks.papers.chen2023.symbols import entry, i
from checks.statement import All, Fact, Given
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Ones, as_term, squared_norm, trace
from derivations.theories.ksvd import N, PrintedDiagonal

solver_legs = Legs("checks.papers.chen2023.legs.solvers")
tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

COLUMNS, RANK = "M", "r"
a_, b_, j = Index("a", RANK), Index("b", RANK), Index("j", COLUMNS)
A, U = Tensor("A", (N, COLUMNS), "A"), Tensor("U", (N, RANK), r"\tilde{U}")
V, X = Tensor("V", (COLUMNS, RANK), r"\tilde{V}"), Tensor("X", (RANK, COLUMNS), "C")
s = Tensor("s", (RANK,), r"\tilde{\sigma}", "", r"\tilde{\sigma}_{%1}", positive=True)
big_a, u, v, values = as_term(A), as_term(U), as_term(V), as_term(s)
Sigma = PrintedDiagonal((values,), r"\tilde{\Sigma}")
ONE_R = PrintedDiagonal((Ones((), (RANK,)),), "I_r")
FAMILY = "rational singular value decompositions"


def _residual(name: str, *dims: str) -> Tensor:
    return Tensor(name, dims, name)


R_A, R_T = _residual("R_1", N, RANK), _residual("R_2", COLUMNS, RANK)
R_U, R_V, R_X = _residual("R_U", RANK, RANK), _residual("R_V", RANK, RANK), _residual("R_X", N, COLUMNS)
R_G = _residual("R_G", COLUMNS, COLUMNS)
UNIT_U = Equation(u.T @ u, ONE_R, R_U, "orthonormal columns: this residual vanishes")
UNIT_V = Equation(v.T @ v, ONE_R, R_V, "orthonormal columns: this residual vanishes")
WHOLE = Equation(big_a, u @ Sigma @ v.T, R_X, "A = UΣVᵀ")
FIRST = Equation(big_a @ v, u @ Sigma, R_A, "first equation of (5)")
SECOND = Equation(big_a.T @ u, v @ Sigma, R_T, "second equation of (5)")
RANGE = Equation(
    big_a, u @ as_term(X), R_X, "the columns of Ũ span the range of A: they lie in it, and r is the rank of A"
)
MATRICES = (
    r"$A\in\mathbb{R}^{N\times M}$ of rank $r$, $\tilde U\in\mathbb{R}^{N\times r}$, $\tilde "
    r"V\in\mathbb{R}^{M\times r}$, "
    r"$\tilde\Sigma=\operatorname{diag}(\tilde\sigma_1,\dots,\tilde\sigma_r)$ positive."
)
SPANNED = (
    r" $A=\tilde UC$ with $C\in\mathbb{R}^{r\times M}$: the columns of $\tilde U$ span the range of $A$."
)

claim(
    "chen2023/eq5",
    "Eq. (5)",
    "The shifted eigenvalue problem of the SVD",
    words="For a singular value decomposition A = UΣVᵀ, A V = UΣ and AᵀU = VΣ.",
    literal=All(
        Follows(
            (WHOLE, UNIT_V),
            big_a @ v,
            u @ Sigma,
            as_term(R_X) @ v + u @ Sigma @ as_term(R_V),
            FAMILY,
            label="A V = UΣ",
        ),
        Follows(
            (WHOLE, UNIT_U),
            big_a.T @ u,
            v @ Sigma,
            as_term(R_X).T @ u + v @ Sigma @ as_term(R_U),
            FAMILY,
            label="Aᵀ U = VΣ",
        ),
    ),
    legs=(tensor_legs.softmax_triplets, tensor_legs.unit_triplets),
    where=MATRICES,
)


def _reconstruct() -> Follows:
    """(5), orthonormal columns and r = rank A give A = ŨΣ̃Ṽᵀ."""
    res_t, res_u, res_x = map(as_term, (R_T, R_U, R_X))
    certificate = res_x - u @ u.T @ res_x - u @ res_u @ as_term(X) + u @ res_t.T
    return Follows((SECOND, UNIT_U, RANGE), big_a, u @ Sigma @ v.T, certificate, FAMILY, label="A = ŨΣ̃Ṽᵀ")


def _existence() -> tuple[Follows, Follows, Follows]:
    """From AᵀA = VΣ²Vᵀ (the spectral theorem) and U := A V Σ⁻¹."""
    squares, res_g, res_v = Sigma @ Sigma, as_term(R_G), as_term(R_V)
    reason = "the spectral theorem for AᵀA, with its non-zero eigenvalues"
    hypotheses = (Equation(big_a.T @ big_a, v @ squares @ v.T, R_G, reason), UNIT_V)
    rules = (Given(U, (i, a_), entry(big_a @ v, i, a_) / values[a_], "Ũ := A Ṽ Σ̃⁻¹"),)
    gram = v.T @ res_g @ v + res_v @ squares @ (v.T @ v) + squares @ res_v
    turned = res_g @ v + v @ squares @ res_v
    outer = v @ v.T
    off = trace(res_g - outer @ res_g - res_g @ outer + outer @ res_g @ outer)
    missed = trace(v @ res_v @ squares @ res_v.T @ v.T)
    return (
        Follows(
            hypotheses,
            (u.T @ u)[a_, b_],
            ONE_R[a_, b_],
            gram[a_, b_],
            FAMILY,
            factor=values[a_] * values[b_],
            given=rules,
            label="existence: Ũ is orthonormal",
        ),
        Follows(
            hypotheses,
            (big_a.T @ u)[j, a_],
            entry(v @ Sigma, j, a_),
            turned[j, a_],
            FAMILY,
            factor=values[a_],
            given=rules,
            label="existence: AᵀŨ = ṼΣ̃",
        ),
        Follows(
            hypotheses,
            big_a[i, j],
            entry(u @ Sigma @ v.T, i, j),
            off + missed,
            FAMILY,
            over=(i, j),
            given=rules,
            label="existence: A = ŨΣ̃Ṽᵀ",
        ),
    )


claim(
    "chen2023/thm2.2",
    "Theorem 2.2",
    "Lanczos decomposition",
    words="Every non-zero A is ŨΣ̃Ṽᵀ with orthonormal Ũ, Ṽ and positive diagonal Σ̃ that satisfy (5).",
    literal=All(_reconstruct(), *_existence()),
    rests_on=("chen2023/eq5",),
    legs=(tensor_legs.softmax_triplets, tensor_legs.whole_kernel, solver_legs.other_decompositions),
    where=MATRICES + SPANNED,
    notes="r is the rank of A, as the paragraph before the theorem has it; for r < rank A the equations hold "
    "for some of the singular vectors, and the product is only a part of A. Existence rests on the spectral "
    "theorem for AᵀA. (5) alone does not determine the factors: without orthonormality multiples tŨ, tṼ "
    "solve it as well, and with it signs and rotations within equal values are free.",
)

B_ = Tensor("B", (COLUMNS, N), "B")
S_ = Tensor("A", (N, N), "A", symmetric=True)
G_ = Tensor("A", (N, N), "A")
V_ = Tensor("V", (N, RANK), "V")
U_ = Tensor("U", (N, RANK), "U")
s_ = Tensor("s", (RANK,), r"\sigma", "", r"\sigma_{%1}", positive=True)
big_u, big_v, k_ = as_term(U_), as_term(V_), Index("k", N)
PLAIN = PrintedDiagonal((as_term(s_),), r"\Sigma")
R_1, R_2 = _residual("R_1", N, RANK), _residual("R_2", N, RANK)


def _symmetric() -> Rule:
    matrix, row, column = as_term(S_), Index("k", N), Index("c", RANK)
    facts = (
        Fact("A V = UΣ", entry(matrix @ big_v - big_u @ PLAIN, row, column), "="),
        Fact("Aᵀ U = VΣ", entry(matrix.T @ big_u - big_v @ PLAIN, row, column), "="),
        Fact("UᵀU = I", entry(big_u.T @ big_u - ONE_R, b_, column), "="),
        Fact("VᵀV = I", entry(big_v.T @ big_v - ONE_R, b_, column), "="),
    )
    values_at = ((S_, ((-1,),)), (U_, ((1,),)), (V_, ((-1,),)), (s_, (1,)))
    return Rule(facts, Fact("U - V", entry(big_u - big_v, i, a_), "="), Point(((N, 1), (RANK, 1)), values_at))


def _semidefinite() -> Follows:
    matrix = as_term(G_)
    rule = Given(G_, (i, k_), entry(as_term(B_).T @ as_term(B_), i, k_), "A = BᵀB is positive semidefinite")
    hypotheses = (
        Equation(matrix @ big_v, big_u @ PLAIN, R_1, "first equation of (5)"),
        Equation(matrix.T @ big_u, big_v @ PLAIN, R_2, "second equation of (5)"),
        Equation(big_u.T @ big_u, ONE_R, R_U, "orthonormal columns"),
        Equation(big_v.T @ big_v, ONE_R, R_V, "orthonormal columns"),
    )
    certificate = trace((big_v - big_u).T @ (as_term(R_1) - as_term(R_2)))
    return Follows(
        hypotheses,
        big_u[i, a_],
        big_v[i, a_],
        certificate,
        "positive semidefinite decompositions",
        factor=as_term(s_)[a_],
        squares=squared_norm(as_term(B_) @ (big_u - big_v)),
        over=(i, a_),
        given=(rule,),
        label="A = BᵀB: U = V",
    )


claim(
    "chen2023/prose-symmetric-svd",
    "Section 2",
    "The SVD of a symmetric matrix",
    words="For a symmetric matrix the SVD is said to be the eigendecomposition, with U = V.",
    literal=_symmetric(),
    corrected=_semidefinite(),
    correction_words="U = V holds for positive semidefinite A, and only for them: U = V makes A = UΣUᵀ.",
    rests_on=("chen2023/thm2.2",),
    where=r"$A\in\mathbb{R}^{N\times N}$ symmetric of rank $r$; $U,V\in\mathbb{R}^{N\times r}$; "
    r"$\Sigma=\operatorname{diag}(\sigma_1,\dots,\sigma_r)$ positive; $B$ any matrix with $N$ columns.",
    notes="A = [-1] has U = [1], V = [-1]. In general A = QLQᵀ has U = Q, Σ = |L| and V = Q sgn L on the "
    "non-zero part. The kernel matrices of Mercer kernels are positive semidefinite; nothing later uses the "
    "sentence.",
)
