"""Symbols and terms that the claims of this paper share."""

from __future__ import annotations

from checks.claim import Assumption
from checks.statement import Given
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, exp, row_softmax, size, sqrt, sum_over
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import DK, DV, DX, A, N, V, i, j, k

HERE = "farooq2025/"
MATRICES = (
    r"$A\in\mathbb{R}^{n\times n}$ the attention weights; $V\in\mathbb{R}^{n\times d_v}$ the values with "
    r"rows $v_j$; $Z\in\mathbb{R}^{n\times d_v}$ the state with rows $z_i$; "
)
WHERE = (
    MATRICES + r"$u_j=\sum_m A_{mj}z_m^\top v_j$; "
    r"$c_j=\sum_m A_{mj}\sum_l A_{ml}v_l^\top v_j$, the alignments of the attention output; "
    r"$S\in\mathbb{R}^{n\times n}$ the scores; $Q,K\in\mathbb{R}^{n\times d_k}$ the queries and keys."
)
QUERY_WHERE = r"$Q,K\in\mathbb{R}^{n\times d_k}$ with rows $q_i,k_j$; $V\in\mathbb{R}^{n\times d_v}$."
READ_AS = r" The line in which $A$ is a softmax is what stands before it, read with $d_v=n$."
Q_, K_ = en.rows("Q", "q", DK), en.rows("K", "k", DK)
X_ = en.rows("X", "x", DX)
Q, K, X = (as_term(t) for t in (Q_, K_, X_))
ENERGY = as_term(Tensor("E", (), "E"))  # of Section 1, where there is no Z yet
E_ = Tensor("E", (), "E(Z)")
E_NAME = as_term(E_)
ER_NAME = as_term(Tensor("E_R", (), "E_R(Z)"))
SCORES = Q @ K.T / sqrt(size(DK))
SMOOTH = Assumption("F differentiable", "F has a derivative everywhere")
mu = Index(r"\mu", N)


def weight(left: Index, right: Index) -> Term:
    """exp(q_iᵀk_j/√d_k)."""
    return exp(Q[left].T @ K[right] / sqrt(size(DK)))


A_RULE = Given(en.A_, (i, j), row_softmax(SCORES)[i, j], "equation (7)")
_w = Tensor("exp(S)", (N, N), r"e^{S}", "", r"e^{S_{%1%2}}", positive=True)
STOCHASTIC = Given(
    en.A_,
    (i, j),
    as_term(_w)[i, j] / sum_over(Index("m", N), as_term(_w)[i, Index("m", N)]),
    "a row softmax with scores S",
)
AT_AV = Given(en.Z_, (i, k), (A @ V)[i, k], "the point Z = AV")
C_RULE = Given(en.c_vector, (j,), en.c(j), "c_j is the bracket of (37)")
C_POWER = Given(en.c_vector, (j,), en.c(j, en.q_), "c_j is the bracket of (55), where p is the exponent")
Z_TWO = Tensor("Y", (N, DV), "Y", "y_{%1}", "Y_{%1%2}")
dZ_ = Tensor("dZ", (N, DV), "dZ", "dz_{%1}", "dZ_{%1%2}")
DZ = as_term(dZ_)
