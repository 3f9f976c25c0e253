"""The primal program and its stationary points: equations (6) and (12), the gradient of J, both
directions to (7).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from checks.claim import claim
from checks.kinds.follows import Equation, Follows
from checks.kinds.programs import WellPosed
from checks.kinds.unbounded import Bounded, Ray
from checks.leg import Legs
from checks.papers.chen2023.enumerations import inertia
from checks.papers.chen2023.symbols import (
    EIGEN_E,
    EIGEN_R,
    NOTATION,
    PRIMAL,
    SIGMA_RULE,
    SMALL,
    K,
    derived,
    e,
    entry,
    h_e,
    h_r,
    i,
    image,
    j,
    kernel_rule,
    l_,
    lam,
    phi_k,
    phi_q,
    printed,
    r,
    res_e,
    res_r,
    row,
    solutions,
    weight_rules,
    weights,
)
from checks.statement import All, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Program
from derivations.calculus.term import Ones, Size, Term, as_term, sum_over, trace
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, S

solver_legs = Legs("checks.papers.chen2023.legs.solvers")
tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

t = Tensor("t", (), "t")


def printed_objective(a: KsvdAssumptions) -> Term:
    """J as (6) prints it."""
    w_e, w_r = weights(a)
    half = as_term(ksvd.HALF)
    first = half * sum_over(i, e[i].T @ ksvd.Lambda @ e[i])
    return first + half * sum_over(j, r[j].T @ ksvd.Lambda @ r[j]) - trace(w_e.T @ w_r)


def ray(a: KsvdAssumptions) -> Ray:
    """W_e = t, W_r = -t in every entry; the scores follow from the constraints."""
    m, c = row(a), Index("c", S)
    ones = Ones((), (ksvd.rows(a), S))
    unit_e, unit_r = ones.T @ image(a, phi_q[i]), ones.T @ image(a, phi_k[j])
    (w_e, w_r), half = ksvd.weights(a), as_term(ksvd.HALF)
    squares = half * sum_over(i, l_, lam[l_] * unit_e[l_] ** 2) + half * sum_over(
        j, l_, lam[l_] * unit_r[l_] ** 2
    )
    values = (
        (w_e, (m, l_), as_term(t)),
        (w_r, (m, l_), -as_term(t)),
        (ksvd.e, (i, c), as_term(t) * unit_e[c]),
        (ksvd.r, (j, c), -as_term(t) * unit_r[c]),
    )
    return Ray(t, values, Size((), ksvd.rows(a)) * Size((), S), squares)


@dataclass(frozen=True)
class StationaryProgram(Program):
    """A program whose stationary points are sought, not a maximum."""

    def latex(self) -> str:
        return super().latex().replace(r"\operatorname{maximise}", r"\operatorname{stat}")


def _program_parts(a: KsvdAssumptions, kind: type[Program] = Program) -> tuple[Any, ...]:
    """The printed program; where the theory's objective is another one, also that the two agree."""
    program = ksvd.primal(a)
    data = (ksvd.lam, ksvd.phi_q, ksvd.phi_k, *(() if a.f_X == "identity" else (ksvd.transformation(a),)))
    own = kind(**{f.name: getattr(program, f.name) for f in fields(program)})
    posed = WellPosed(own, program.variables, data, label="the variables")
    objective = printed_objective(printed(a))
    if objective == program.objective:
        return (posed,)
    return Identity(objective, program.objective, label="the objective"), posed


def gram_times(a: KsvdAssumptions) -> tuple[Term, Term]:
    """AᵀA W_e Λ and BᵀB W_r Λ, where the rows of A and B are f(X) φ_q(x_i) and f(X) φ_k(x_j)."""
    w_e, w_r = weights(a)
    one, two = image(a, phi_q[i]), image(a, phi_k[j])
    return (
        sum_over(i, one @ (w_e.T @ one).T) @ ksvd.Lambda,
        sum_over(j, two @ (w_r.T @ two).T) @ ksvd.Lambda,
    )


def gradients(a: KsvdAssumptions) -> tuple[Identity, Identity]:
    """∂J/∂W_e = AᵀA W_e Λ - W_r and ∂J/∂W_r = BᵀB W_r Λ - W_e."""
    own = printed(a)
    m, (w_e, w_r), (first, second), by = row(own), weights(own), gram_times(own), ksvd.weights(a)
    why = "guarded derivative of J with the constraints put in"
    by_e, by_r = (derived(ksvd.weight_gradient(a, w, m, l_)) for w in by)
    return (
        Identity(by_e, entry(first - w_r, m, l_), label="∂J/∂W_e", reason=why, sizes=SMALL),
        Identity(by_r, entry(second - w_e, m, l_), label="∂J/∂W_r", reason=why, sizes=SMALL),
    )


J_0 = Tensor("J_0", (), r"J(W_e,W_r)")
J_T = Tensor("J_t", (), r"J(W_e+t,W_r-t)")


def climbs(a: KsvdAssumptions) -> Identity:
    """J(W_e + t, W_r - t) - J - t ⟨gradient, (1, -1)⟩ = t² growth: no stationary point is a local maximum."""
    own = printed(a)
    m, (w_e, w_r), along = row(own), weights(own), ray(own)
    by_e, by_r = gram_times(own)
    g_e, g_r = (Tensor(f"G_{c}", (ksvd.rows(own), S), rf"\nabla_{{W_{c}}}J") for c in "er")
    slope = sum_over(m, l_, as_term(g_e)[m, l_]) - sum_over(m, l_, as_term(g_r)[m, l_])
    step = as_term(t) * Ones((), (ksvd.rows(own), S))
    return Identity(
        as_term(J_T) - as_term(J_0) - as_term(t) * slope,
        as_term(t) ** 2 * (along.growth + along.squares),
        (
            Given(J_0, (), _in_weights(own, w_e, w_r), "J with the constraints put in"),
            Given(J_T, (), _in_weights(own, w_e + step, w_r - step), "the same along W_e + t, W_r - t"),
            Given(g_e, (m, l_), entry(by_e - w_r, m, l_), "its gradient by W_e"),
            Given(g_r, (m, l_), entry(by_r - w_e, m, l_), "its gradient by W_r"),
        ),
        label="no local maximum",
        reason="J is quadratic, and along (1, -1) its second derivative is positive at every point",
        sizes=SMALL,
    )


def _in_weights(a: KsvdAssumptions, w_e: Term, w_r: Term) -> Term:
    """J at weights, with the scores that the constraints give."""
    half = as_term(ksvd.HALF)
    e_i, r_j = w_e.T @ image(a, phi_q[i]), w_r.T @ image(a, phi_k[j])
    squares = half * sum_over(i, e_i.T @ ksvd.Lambda @ e_i) + half * sum_over(j, r_j.T @ ksvd.Lambda @ r_j)
    return squares - trace(w_e.T @ w_r)


def stationary_gives_eigen(a: KsvdAssumptions) -> tuple[Follows, Follows]:
    """At a stationary point H_e = EΛ and H_r = RΛ solve (7)."""
    (w_e, w_r), (first, second), by = weights(a), gram_times(a), ksvd.weights(a)
    g_e, g_r = Tensor("G_e", by[0].dims, "G_e"), Tensor("G_r", by[1].dims, "G_r")
    hypotheses = (
        Equation(first, w_r, g_e, "∂J/∂W_e: it vanishes"),
        Equation(second, w_e, g_r, "∂J/∂W_r: it vanishes"),
    )
    rules = (
        kernel_rule(a),
        Given(ksvd.h_e, (i, l_), lam[l_] * entry(w_e.T @ image(a, phi_q[i]), l_), "H_e = EΛ"),
        Given(ksvd.h_r, (j, l_), lam[l_] * entry(w_r.T @ image(a, phi_k[j]), l_), "H_r = RΛ"),
    )
    inverse = ksvd.Lambda_inverse
    return (
        Follows(
            hypotheses,
            entry(K @ h_r, i, l_),
            entry(h_e @ inverse, i, l_),
            (as_term(g_r).T @ image(a, phi_q[i]))[l_],
            solutions(a),
            given=rules,
            label="K H_r = H_e Λ⁻¹",
        ),
        Follows(
            hypotheses,
            entry(K.T @ h_e, j, l_),
            entry(h_r @ inverse, j, l_),
            (as_term(g_e).T @ image(a, phi_k[j]))[l_],
            solutions(a),
            given=rules,
            label="Kᵀ H_e = H_r Λ⁻¹",
        ),
    )


def eigen_gives_stationary(a: KsvdAssumptions) -> tuple[Follows, Follows]:
    """A solution of (7) makes W_e = BᵀH_r, W_r = AᵀH_e a stationary point with scores H_e Λ⁻¹ and H_r Λ⁻¹."""
    (w_e, w_r), (first, second), rules = (
        weights(a),
        gram_times(a),
        (kernel_rule(a), *weight_rules(a), SIGMA_RULE),
    )
    back_e = sum_over(i, image(a, phi_q[i]) @ res_e[i].T) @ ksvd.Lambda
    back_r = sum_over(j, image(a, phi_k[j]) @ res_r[j].T) @ ksvd.Lambda
    return (
        Follows((EIGEN_E, EIGEN_R), first, w_r, back_e, solutions(a), given=rules, label="∂J/∂W_e = 0"),
        Follows((EIGEN_E, EIGEN_R), second, w_e, back_r, solutions(a), given=rules, label="∂J/∂W_r = 0"),
    )


def _maximum(a: KsvdAssumptions) -> All:
    return All(*_program_parts(a), Bounded(ksvd.primal(a), ray(printed(a)), label="the maximum exists"))


def _stationary(a: KsvdAssumptions) -> All:
    first = _program_parts(a, StationaryProgram)
    return All(*first, *gradients(a), climbs(a), *eigen_gives_stationary(printed(a)))


WHAT_DEPENDS = (
    "The proofs after it use only stationarity: none fails for want of a maximum. What falls with it: Remark "
    "3.1, and the readings of the scores as directions of maximal variance. A maximum exists for no data "
    "set, size or Λ > 0. A minimum exists only where every λ_l is at least 1/σ, σ the M-th largest singular "
    "value of K and M the number of rows of f(X): then it is 0 and J is convex in the weights. Where there "
    "is none, as with M = N and p < N, for which that σ is 0, every stationary point is a saddle point."
)
RAY = r" $t$: any real number, the same at every entry; $\mathbf{1}_{N\times s}$: all entries are 1."
FIX = (
    "Read stat for max: find the stationary points. Every solution of (7) with Σ = Λ⁻¹ gives one, and there "
    "are no others (chen2023/thm3.2); J grows without bound from each of them along W_e + t, W_r - t"
)
claim(
    "chen2023/eq6",
    "Eq. (6)",
    "The KSVD program",
    theory="ksvd",
    words="Maximise the weighted squares of both scores minus the trace that couples the weights.",
    literal=_maximum,
    corrected=_stationary,
    correction_words=FIX + ".",
    assumes=PRIMAL,
    legs=(inertia, solver_legs.convex_case, tensor_legs.stationary),
    where=NOTATION + RAY,
    notes=WHAT_DEPENDS,
)
claim(
    "chen2023/eq12",
    "Eq. (12)",
    "The KSVD program, restated in the appendix",
    theory="ksvd",
    words="The same program as (6), from which the proof of Theorem 3.2 starts.",
    literal=_maximum,
    corrected=lambda a: All(*_program_parts(a, StationaryProgram), *eigen_gives_stationary(printed(a))),
    correction_words=FIX + " (chen2023/eq6).",
    assumes=PRIMAL,
    rests_on=("chen2023/eq6",),
    legs=(tensor_legs.stationary,),
    where=NOTATION + RAY,
    notes="The proof uses the stationarity conditions of this program only, not that they mark a maximum.",
)
