"""Section 7: the algorithm, equations (69) to (80)."""

from __future__ import annotations

from collections.abc import Callable

from checks.claim import Assumption, claim
from checks.kinds.cost import Assign, Cost
from checks.kinds.family import Family
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.notation import (
    C_RULE,
    E_NAME,
    HERE,
    QUERY_WHERE,
    READ_AS,
    SCORES,
    SMOOTH,
    STOCHASTIC,
    WHERE,
    K,
    Q,
    X,
)
from checks.papers.farooq2025.section3 import SQUARE_V
from checks.papers.farooq2025.section4 import SIGN, SQUARE_C, quadratic
from checks.papers.farooq2025.section5 import coefficient
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import (
    Term,
    as_term,
    diag,
    exp,
    row_softmax,
    size,
    sqrt,
    stack,
    sum_over,
    trace,
)
from derivations.theories.energy import forms as en
from derivations.theories.energy import steps as theory
from derivations.theories.energy.choices import EnergyAssumptions
from derivations.theories.energy.forms import AV, C_J, DK, DV, DX, A, N, V, Z, i, j, k, m

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

S_ = Tensor("S", (N, N), "S", "", "S_{%1%2}")
S = as_term(S_)
W_Q, W_K, W_V = (as_term(Tensor(f"W_{x}", (DX, d), f"W_{x}")) for x, d in (("q", DK), ("k", DK), ("v", DV)))
SCORE = Q[m].T @ K[j] / sqrt(size(DK))
INPUT = (
    r"$X\in\mathbb{R}^{n\times d}$ the tokens, $W_q,W_k\in\mathbb{R}^{d\times d_k}$, "
    r"$W_v\in\mathbb{R}^{d\times d_v}$."
)

claim(
    HERE + "prose-row-stacking",
    "Section 2, before (7) and (9)",
    "Rows stacked into matrices",
    words="Q, K and V are the transposes of their row blocks q_1ᵀ, q_2ᵀ, … and so on, written side by side.",
    literal=lambda a: All(*(Identity(whole, _blocks(letter, width)) for whole, letter, width in STACKED)),
    corrected=lambda a: All(*(_columns(*stacked) for stacked in STACKED)),
    correction_words="The vectors v_1, v_2, … stand side by side as columns, and the whole is transposed: "
    "row j of V is v_j.",
    where=QUERY_WHERE,
    notes="Side by side the rows of V make one row of n d_v entries, and transposed one column.",
)
STACKED: tuple[tuple[Term, str, str], ...] = ((Q, "q", DK), (K, "k", DK), (V, "v", DV))


def _blocks(letter: str, width: str) -> Term:
    """The transpose of n rows side by side."""
    latex = rf"[{letter}_1^\top\,{letter}_2^\top \ldots {letter}_n^\top]"
    return as_term(Tensor(letter, ("1", f"{N} {width}"), latex)).T


def _columns(whole: Term, letter: str, width: str) -> Definition:
    """The transpose of n columns side by side."""
    columns = Tensor(f"columns {letter}", (width, N), rf"[{letter}_1\,{letter}_2 \ldots {letter}_n]")
    own, entry = as_term(Tensor(letter, (N, width), letter, rf"{letter}_{{%1}}")), Index("a", width)
    rule = Given(columns, (entry, j), own[j, entry], f"column j is {letter}_j")
    return Definition(whole, as_term(columns).T, given=(rule,))


claim(
    HERE + "eq69",
    "Eq. (69)",
    "Queries, keys and values",
    role="definition",
    words="Queries, keys and values are linear in the tokens.",
    literal=All(*(Definition(as_term(left), X @ w) for left, w in ((Q, W_Q), (K, W_K), (V, W_V)))),
    where=INPUT,
)

claim(
    HERE + "eq70",
    "Eq. (70)",
    "Scores and weights",
    role="definition",
    words="Scores are scaled dot products; weights are their row softmax, as in (7).",
    literal=All(
        Definition(S[m, j], SCORE),
        Identity(
            exp(SCORE) / sum_over(j, exp(SCORE)),
            row_softmax(SCORES)[m, j],
            label="the weights are those of (7)",
        ),
    ),
    rests_on=(HERE + "eq7",),
    where=QUERY_WHERE,
    notes="The letter j is free on the left and bound in the denominator; with the usual scope of a sum this "
    "is well defined.",
)

claim(
    HERE + "eq71",
    "Eq. (71)",
    "The initial state",
    role="definition",
    words="The iteration starts at the attention output.",
    literal=Definition(as_term(Tensor("Z0", (N, DV), "Z^{(0)}")), AV),
    where=WHERE,
    notes="For F = u² the loop never moves from there: see prose-algorithm and tab1-step8.",
)

claim(
    HERE + "eq72",
    "Eq. (72)",
    "The alignments entry by entry",
    words="The dot product in u_j is written out.",
    literal=Identity(en.u(j), sum_over(m, k, A[m, j] * Z[m, k] * V[j, k])),
    rests_on=(HERE + "eq16", HERE + "eq26"),
    legs=(legs.lift,),
    where=WHERE,
)

claim(
    HERE + "eq73",
    "Eq. (73)",
    "The energy of the algorithm",
    role="definition",
    words="The sum of F over the alignments, as in (27).",
    literal=Definition(E_NAME, en.energy(en.F)),
    rests_on=(HERE + "eq27",),
    where=WHERE + r" $F$ any function of a number.",
)

Y_, B_ = (Tensor(x, (N, DV), x, "", f"{x}_{{%1%2}}") for x in "YB")
Y, B = as_term(Y_), as_term(B_)
FACTORED = (
    Assign(B_, (j, k), sum_over(m, A[m, j] * Y[m, k])),
    Assign(en.c_vector, (j,), sum_over(k, B[j, k] * V[j, k])),
)

Y_RULE = Given(Y_, (i, k), sum_over(j, A[i, j] * V[j, k]), "Y = AV, which is known")

claim(
    HERE + "eq74",
    "Eq. (74)",
    "The coefficients of the algorithm",
    words="c_j is a double sum, and equals v_jᵀAᵀA v_j.",
    literal=All(
        Identity(coefficient(), quadratic(V), label="shapes"),
        Identity(SQUARE_C, quadratic(SQUARE_V), given=(STOCHASTIC,), label="value when d_v = n"),
    ),
    corrected=All(
        Identity(coefficient(), (A.T @ A @ V @ V.T)[j, j], label="in matrices"),
        Identity(coefficient(), (A.T @ AV)[j].T @ V[j], label="row j of Aᵀ(AV) times v_j"),
        Cost(
            "c from Y = AV",
            FACTORED,
            "n**2*d_v + n*d_v",
            stack(j, coefficient()),
            given=(Y_RULE,),
            label="its cost",
        ),
    ),
    correction_words="The double sum is row j of Aᵀ(AV) times v_j, which takes n²d_v + n d_v multiplications "
    "once AV is known, and no n x n array besides A.",
    rests_on=(HERE + "eq38",),
    legs=(legs.alignment, legs.memory),
    where=WHERE + READ_AS,
    notes=SIGN,
)

TWICE = -2 * sum_over(i, j, C_J[j] * A[i, j] * (Z[i].T @ V[j]))
claim(
    HERE + "eq75",
    "Eq. (75)",
    "The regulariser of the algorithm",
    words="Minus twice the sum over pairs with weights c_j, in dot products and entry by entry.",
    literal=All(
        Identity(TWICE, -2 * sum_over(i, j, k, C_J[j] * A[i, j] * Z[i, k] * V[j, k]), label="entry by entry"),
        Identity(TWICE, -2 * trace(Z.T @ A @ diag(C_J) @ V), label="it is (45)"),
    ),
    rests_on=(HERE + "eq16", HERE + "eq45"),
    where=WHERE,
    notes="That it regularises every F is said by (76), not here.",
)

FUNCTIONS: tuple[tuple[str, Callable[[Term], Term]], ...] = (
    ("F(u) = u", lambda x: x),
    ("F(u) = u^2", lambda x: x**2),
    ("F(u) = u^3", lambda x: x**3),
    (r"F(u) = e^u", exp),
)


def regularised(function: Callable[[Term], Term]) -> Term:
    """(76) for a given F."""
    return en.energy(function) + TWICE


def _stationary(function: Callable[[Term], Term]) -> Stationary:
    return Stationary(regularised(function), en.Z_, AV, given=(C_RULE,))


ANY_F = Assumption("any F", "F is any differentiable function, such as u, u², u³ or exp(u)", "F", "any")
PRINTED_WEIGHTS = Assumption(
    "weights 2c_j", "the regulariser has the weights 2c_j of (75)", "regulariser", "section7"
)


def _eq76(a: EnergyAssumptions) -> Family | Stationary:
    """AV is stationary for each F that the assumptions allow, with the regulariser that they name."""
    cases = tuple(
        (f"F(u) = {text}", Stationary(theory.regularised(a, text), en.Z_, AV)) for text in theory.functions(a)
    )
    return Family(_stationary(en.F), cases) if a.F == "any" else cases[0][1]


claim(
    HERE + "eq76",
    "Eq. (76)",
    "The regularised energy for any F",
    words="With the regulariser (75) the energy of any F has its stationary point at AV, as (43) demands.",
    theory="energy",
    literal=_eq76,
    corrected=All(
        Stationary(en.energy(en.F) + en.matching(), en.Z_, AV, label="any F"), _stationary(en.square)
    ),
    correction_words="The weights of the regulariser are F'(c_j). They are 2c_j for F = u², so (76) is right "
    "for that F.",
    assumes=(SMOOTH, ANY_F, PRINTED_WEIGHTS),
    rests_on=(HERE + "eq43", HERE + "eq73", HERE + "eq75"),
    legs=(legs.stationary, solver_legs.minimum, solver_legs.balls),
    where=WHERE,
    notes="The gradient of (76) at AV is A diag(F'(c) - 2c) V. (76) contradicts (58), (67) and the linear "
    "column of Table 1. For F = exp it never vanishes when the u_j are independent as linear functions of Z, "
    "since e^t > 2t for all t.",
)

ANY_R = regularised(en.F)
WEIGHTED = sum_over(j, (en.F(en.u(j), 1) - 2 * C_J[j]) * A[i, j] * V[j, k])


TWO_SUMS = sum_over(j, en.F(en.u(j), 1) * A[i, j] * V[j, k]) - 2 * sum_over(j, C_J[j] * A[i, j] * V[j, k])


def _gradient(left: Term, right: Term, label: str = "") -> Identity:
    return Identity(left[i, k], right, given=(C_RULE,), label=label)


def _sum() -> Term:
    return grad(en.energy(en.F), en.Z_)[i, k] + grad(TWICE, en.Z_, "R")[i, k]


claim(
    HERE + "eq77",
    "Eq. (77)",
    "The gradient of the regularised energy",
    words="The gradient of E equals that of E_R, which is the sum of (F'(u_j) - 2c_j) A_ij V_jk.",
    literal=lambda a: All(
        _gradient(grad(en.energy(en.F), en.Z_), grad(ANY_R, en.Z_, "E_R")[i, k], "first equality"),
        _gradient(grad(ANY_R, en.Z_, "E_R"), _sum(), "the gradient is linear"),
        Identity(_sum(), TWO_SUMS, given=(C_RULE,), label="(34), and the gradient of (75)"),
        Identity(TWO_SUMS, WEIGHTED, given=(C_RULE,), label="collected"),
    ),
    corrected=lambda a: Identity(
        grad(ANY_R, en.Z_, "E_R")[i, k],
        WEIGHTED,
        given=(C_RULE,),
        chain=(Link(_sum(), "the gradient is linear"), Link(TWO_SUMS, "(34), and the gradient of (75)")),
        reason="collected",
    ),
    correction_words="The left side is the gradient of E_R.",
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq34", HERE + "eq45", HERE + "eq76"),
    legs=(legs.gradient_printed,),
    where=WHERE,
    notes="With the weights F'(c_j) for 2c_j, which (58) and (67) have, the bracket is F'(u_j) - F'(c_j).",
)


SLOPES = stack(j, en.F(en.u(j), 1) - 2 * C_J[j])
MATRIX = A @ diag(SLOPES) @ V

claim(
    HERE + "eq78",
    "Eq. (78)",
    "The gradient in matrix form",
    words="The gradient is A times the vector F'(u) - 2c times Vᵀ.",
    literal=Identity(grad(ANY_R, en.Z_, "E_R"), A @ SLOPES @ V.T),
    corrected=Identity(grad(ANY_R, en.Z_, "E_R"), MATRIX),
    correction_words="The vector stands on a diagonal, and V has no transpose.",
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq77",),
    legs=(legs.gradient_printed,),
    where=WHERE,
    notes="For d_v = 1 there is a product, which is n x n where the gradient is n x 1.",
)

STEP = en.descent(ANY_R, as_term(en.ETA))
claim(
    HERE + "eq79",
    "Eq. (79)",
    "The descent step",
    words="One step subtracts η times the sum of (F'(u_j) - 2c_j) A_ij V_jk.",
    literal=Identity(STEP[i, k], Z[i, k] - as_term(en.ETA) * WEIGHTED),
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq76", HERE + "eq77"),
    legs=(legs.gradient_printed,),
    where=WHERE + r" $\eta$ the step size; $t$ counts the $T$ steps: decided is the one from $Z=Z^{(t)}$.",
    notes="It is a gradient step on (76). Where the steps lead is another matter: see prose-algorithm and "
    "prose-convergence.",
)

claim(
    HERE + "eq80",
    "Eq. (80)",
    "The descent step in matrix form",
    words="(79) with A times the vector F'(u) - 2c times Vᵀ.",
    literal=Identity(STEP, Z - as_term(en.ETA) * (A @ SLOPES @ V.T)),
    corrected=Identity(STEP, Z - as_term(en.ETA) * MATRIX),
    correction_words="The vector stands on a diagonal, and V has no transpose.",
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq78", HERE + "eq79"),
    legs=(legs.gradient_printed,),
    where=WHERE + r" $\eta$ the step size.",
)
