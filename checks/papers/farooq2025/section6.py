"""Section 6: the exponential energy, equations (61) to (68)."""

from __future__ import annotations

from checks.claim import claim
from checks.kinds.extremum import Extremum
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.notation import AT_AV, C_RULE, E_NAME, ER_NAME, HERE, WHERE
from checks.papers.farooq2025.section4 import STATE
from checks.papers.farooq2025.section5 import coefficient
from checks.statement import All, Definition, Given, Identity
from derivations.calculus.gradients import bregman, grad
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, as_term, diag, exp, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import AV, C_J, A, V, Z, i, j, k

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

ENERGY = en.energy(exp)
EXP_C = A @ diag(exp(C_J)) @ V
R_PRINTED = Z.T @ EXP_C
R_INDEX = -sum_over(i, j, exp(coefficient()) * A[i, j] * (Z[i].T @ V[j]))
u_ = Tensor("u", (), "u")
aligned_ = Tensor("u", (en.N,), "u", "", r"u_{%1}")
U = as_term(aligned_)
U_RULE = Given(aligned_, (j,), en.u(j), "the alignments (26)")
REDEFINED = r" Here $C=\operatorname{diag}(e^{c_j})$."

claim(
    HERE + "eq61",
    "Eq. (61)",
    "The exponential F",
    role="definition",
    words="F is the exponential.",
    literal=All(
        Definition(en.F(U[j]), exp(U[j])),
        Identity(exp(U[j]), exp(en.u(j)), given=(U_RULE,), label="at an alignment"),
    ),
    rests_on=(HERE + "eq26",),
    where=WHERE,
)

claim(
    HERE + "eq62",
    "Eq. (62)",
    "The exponential energy",
    role="definition",
    words="The sum of the exponentials of the alignments.",
    literal=Definition(E_NAME, ENERGY),
    rests_on=(HERE + "eq27", HERE + "eq61"),
    where=WHERE,
    notes="Printed without a left side.",
)

claim(
    HERE + "prose-exp-derivative",
    "Section 6, after (62)",
    "The exponential is its own derivative",
    words="F' = F for the exponential.",
    literal=Identity(grad(exp(as_term(u_)), u_, "F(u)"), exp(as_term(u_))),
    rests_on=(HERE + "eq61",),
    where=r"$u$ any number, such as an alignment $u_j$.",
)

claim(
    HERE + "eq63",
    "Eq. (63)",
    "The gradient of the exponential energy",
    words="(34) with F' = exp.",
    literal=Identity(grad(ENERGY, en.Z_)[i, k], sum_over(j, exp(en.u(j)) * A[i, j] * V[j, k])),
    rests_on=(HERE + "eq34", HERE + "eq61"),
    legs=(legs.gradient_exponential,),
    where=WHERE,
)


def _at_attention(right: Term, *at: object) -> Identity:
    left = grad(ENERGY, en.Z_)
    return Identity(left[i, k] if at else left, right, given=(AT_AV, C_RULE))


claim(
    HERE + "eq64",
    "Eq. (64)",
    "The exponential gradient at Z = AV",
    words="At Z = AV the (i, k) entry of the gradient is the sum of exp(c_j) A_ij V_jk.",
    literal=_at_attention(sum_over(j, exp(C_J[j]) * A[i, j] * V[j, k]), i, k),
    assumes=(STATE,),
    rests_on=(HERE + "eq39", HERE + "eq63"),
    legs=(legs.stationary_exponential,),
    where=WHERE,
    notes="With c_j the value of u_j at Z = AV; the sentence before the equation quotes the squared norm, "
    "with which it is false.",
)

claim(
    HERE + "eq65",
    "Eq. (65)",
    "The exponential gradient in matrix form",
    words="At Z = AV the gradient is ACV with C = diag(exp(c_j)).",
    literal=_at_attention(EXP_C),
    assumes=(STATE,),
    rests_on=(HERE + "eq64",),
    legs=(legs.stationary_exponential,),
    where=WHERE + REDEFINED,
    notes="The letter C stood for diag(c_j) in (41) to (59).",
)

claim(
    HERE + "eq66",
    "Eq. (66)",
    "The regulariser of the exponential energy",
    words="The regulariser is ZᵀACV.",
    literal=All(
        Identity(as_term(Tensor("R", (), "R(Z)")), R_PRINTED, label="a number equals a matrix"),
        Stationary(ENERGY + trace(R_PRINTED), en.Z_, AV, given=(C_RULE,), label="even with a trace"),
    ),
    corrected=All(
        Definition(as_term(Tensor("R", (), "R(Z)")), -trace(R_PRINTED), given=(C_RULE,), label="a number"),
        Stationary(ENERGY - trace(R_PRINTED), en.Z_, AV, given=(C_RULE,), label="AV is stationary"),
    ),
    correction_words="The regulariser is minus the trace of that matrix; then Z = AV is stationary.",
    rests_on=(HERE + "eq43", HERE + "eq65"),
    legs=(legs.stationary_exponential, solver_legs.balls_exponential),
    where=WHERE + REDEFINED,
    notes="With a plus the gradient at AV is doubled instead of cancelled. (67) has trace and sign right.",
)

claim(
    HERE + "eq67",
    "Eq. (67)",
    "The regulariser of the exponential energy in indices",
    words="The regulariser is minus the sum over pairs with weights exp(c_j); it makes Z = AV stationary.",
    literal=All(
        Identity(R_INDEX, -trace(R_PRINTED), given=(C_RULE,), label="in matrices"),
        Stationary(ENERGY + R_INDEX, en.Z_, AV, label="AV is stationary"),
        Extremum(
            ENERGY + R_INDEX,
            en.Z_,
            AV,
            "a global minimum",
            above=sum_over(j, bregman("exp", en.u(j), en.c(j))),
            label="and a minimum",
        ),
    ),
    rests_on=(HERE + "eq66",),
    legs=(legs.stationary_exponential, solver_legs.minimum_exponential, solver_legs.balls_exponential),
    where=WHERE + REDEFINED + r" $D_{\exp}(u,c)=e^u-e^c-e^c(u-c)\ge0$ since $\exp$ is convex.",
    notes="The paper takes it for (66) in index notation, which has no trace and the other sign. That AV is "
    "a global minimum is not said in the paper.",
)

claim(
    HERE + "eq68",
    "Eq. (68)",
    "The regularised exponential energy",
    role="definition",
    words="The regulariser is added to the energy.",
    literal=Definition(ER_NAME, ENERGY + R_INDEX),
    rests_on=(HERE + "eq62", HERE + "eq67"),
    where=WHERE,
)
