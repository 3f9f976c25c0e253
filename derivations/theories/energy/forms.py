"""Formulas of theory energy: energies Σ_j F(u_j) whose stationary point shall be the attention output AV
(farooq2025).

u = L(Z) with u_j = Σ_m A_mj z_mᵀv_j is linear in the state Z; its adjoint takes weights w to A diag(w) V, and
L of the adjoint is the matrix G = (AᵀA) ∘ (VVᵀ). So AV is the adjoint at w = 1, c = L(AV) = G1, and
everything below holds for any real A (n x n) and V (n x d_v): that the rows of A sum to one is never used.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from derivations.calculus.gradients import bregman, grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, apply, as_term, diag, exp, squared_norm, sum_over, trace

N, DV, DK, DX = "n", "d_v", "d_k", "d"
i, j, k, l, m, q_, r_ = (
    Index("i", N),
    Index("j", N),
    Index("k", DV),
    Index("l", DV),
    Index("m", N),
    Index("l", N),
    Index("p", N),
)


def rows(name: str, letter: str, width: str, many: str = N) -> Tensor:
    """A matrix whose rows are printed as vectors: row i of Z is z_i, its entry Z_ik."""
    return Tensor(name, (many, width), name, rf"{letter}_{{%1}}", rf"{name}_{{%1%2}}")


A_ = Tensor("A", (N, N), "A", r"A_{%1}", r"A_{%1%2}")
V_, Z_ = rows("V", "v", DV), rows("Z", "z", DV)
c_vector = Tensor("c", (N,), "c", "", r"c_{%1}")
ETA = Tensor("eta", (), r"\eta", positive=True)
A, V, Z, C_J = (as_term(t) for t in (A_, V_, Z_, c_vector))
HALF = Fraction(1, 2)
AV = A @ V


def u(at: Index = j, over: Index = m, state: Term = Z) -> Term:
    """u_j = Σ_m A_mj z_mᵀv_j, equation (26). Raises ValueError at the index that it sums over."""
    if at == over:
        raise ValueError(f"u sums over {over.name}; choose another index for it")
    return sum_over(over, A[over, at] * (state[over].T @ V[at]))


def c(at: Index = j, inner: Index = r_) -> Term:
    """c_j = Σ_m A_mj Σ_p A_mp v_pᵀv_j (with p or another letter), the value of u_j at Z = AV. Raises
    ValueError at an index that it sums over.
    """
    if at in (m, inner):
        raise ValueError(f"c sums over {m.name} and {inner.name}; {at.name} would be taken for one of them")
    return sum_over(m, A[m, at] * sum_over(inner, A[m, inner] * (V[inner].T @ V[at])))


def energy(function: Callable[[Term], Term], at: Index = j) -> Term:
    """E(Z) = Σ_j F(u_j), equation (27)."""
    return sum_over(at, function(u(at)))


def pairing(weight: Callable[[Index], Term] | None = None) -> Term:
    """Σ_i Σ_j w_j A_ij z_iᵀv_j: the linear functionals of Z from which the regularisers are made."""
    body = A[i, j] * (Z[i].T @ V[j])
    return sum_over(i, j, weight(j) * A[i, j] * (Z[i].T @ V[j]) if weight else body)


def F(argument: Term, order: int = 0) -> Term:
    """An arbitrary differentiable function or its derivative."""
    return apply("F", argument, order=order)


def square(argument: Term) -> Term:
    """F(u) = u²."""
    return argument**2


def attention_energy() -> Term:
    """E(Z) = -tr(ZᵀAV) + tr(ZᵀZ/2), equation (11)."""
    return -trace(Z.T @ AV) + trace(HALF * (Z.T @ Z))


def adjoint(weights: Term) -> Term:
    """A diag(w) V, the adjoint of Z ↦ u."""
    return A @ diag(weights) @ V


def matching(name: str = "F") -> Term:
    """-Σ_i Σ_j F'(c_j) A_ij z_iᵀv_j: the linear functional that makes AV stationary, for any F."""
    return -pairing(lambda at: apply(name, c(at), order=1))


def excess(name: str = "F") -> Term:
    """Σ_j D_F(u_j, c_j), the energy above its value at AV when the regulariser matches."""
    return sum_over(j, bregman(name, u(j), c(j)))


def completed_square() -> Term:
    """½‖Z - AV‖², what (11) exceeds its minimum by."""
    return HALF * squared_norm(Z - AV)


def exponential(argument: Term) -> Term:
    """F(u) = exp(u)."""
    return exp(argument)


def descent(energy: Term, size: Term, name: str = "E_R") -> Term:
    """One step Z - η ∇E_R of gradient descent, with the guarded gradient of the printed energy."""
    return Z - size * grad(energy, Z_, name)
