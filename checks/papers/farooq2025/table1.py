"""Table 1: the linear and the quadratic algorithm side by side, and the operations counted."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import Assumption, claim
from checks.kinds.cost import Assign, Cost
from checks.kinds.differs import Differs
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.dynamics import MATCHED, STARTED, STEP, eta, start
from checks.papers.farooq2025.notation import (
    AT_AV,
    C_RULE,
    HERE,
    QUERY_WHERE,
    SCORES,
    STOCHASTIC,
    WHERE,
    K,
    Q,
    X,
)
from checks.papers.farooq2025.section4 import SQUARE, W_
from checks.papers.farooq2025.section7 import FACTORED, INPUT, S_, W_K, W_Q, W_V, Y_RULE, S
from checks.statement import All, Given, Identity
from derivations.calculus.gradients import at_point, grad, zeros
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
from derivations.theories.energy.choices import EnergyAssumptions
from derivations.theories.energy.forms import AV, C_J, DK, DV, DX, A, N, V, Z, i, j, k, m, r_

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

COUNTED = Assumption(
    "multiplications",
    "operations are multiplications (a division is one, a function none); formulas are evaluated as written "
    "and each result is stored once",
)
SIZES = (
    WHERE
    + r" $T \ge 1$ the number of descent steps; $\eta$ the step size; $W\in\mathbb{R}^{n\times d_v}$ any "
    r"matrix."
)
f = Index("f", DX)
e = Index("e", DK)
P_, G_, E_, R_, D_, B_ = (
    Tensor(name, dims, name)
    for name, dims in (("P", (N, N)), ("Gram", (N, N)), ("E", ()), ("R", ()), ("D", (N, DV)), ("B", (N, DV)))
)
u_, w_, zeta_ = (Tensor(name, (N,), name) for name in ("u", "w", "zeta"))
U, W, D, B, P, GRAM, ZETA = (as_term(t) for t in (u_, w_, D_, B_, P_, G_, zeta_))
Q_, K_, V_ = Q.data, K.data, V.data

WEIGHTS = (
    Assign(Q_, (i, e), sum_over(f, X[i, f] * W_Q[f, e])),
    Assign(K_, (i, e), sum_over(f, X[i, f] * W_K[f, e])),
    Assign(S_, (m, j), sum_over(e, Q[m, e] * K[j, e]) / sqrt(size(DK))),
    Assign(zeta_, (m,), sum_over(j, exp(S[m, j]))),
    Assign(en.A_, (m, j), exp(S[m, j]) / ZETA[m]),
)
VALUES = (Assign(V_, (i, k), sum_over(f, X[i, f] * W_V[f, k])),)
ATTENTION = (Assign(en.Z_, (i, k), sum_over(j, A[i, j] * V[j, k])),)
ALIGNMENTS = (
    Assign(B_, (j, k), sum_over(m, A[m, j] * Z[m, k])),
    Assign(u_, (j,), sum_over(k, B[j, k] * V[j, k])),
)
COEFFICIENTS = (
    Assign(G_, (r_, j), sum_over(k, V[r_, k] * V[j, k])),
    Assign(en.c_vector, (j,), sum_over(m, A[m, j] * sum_over(r_, A[m, r_] * GRAM[r_, j]))),
)


def _columns(what: str, plan: tuple[Assign, ...], printed: str, formula: Term) -> tuple[Cost, ...]:
    """The count of a formula in which F does not occur, in each column."""
    return tuple(
        Cost(f"{what}, {column} column", plan, printed, formula, sizes=("n", "d_v", "d_k", "d"))
        for column in ("linear", "quadratic")
    )


def _weights() -> Term:
    """(7) on projected tokens, in which F does not occur."""
    return row_softmax((X @ W_Q) @ (X @ W_K).T / sqrt(size(DK)))


def _alignment(state: Term = Z) -> Term:
    """u_j in the order in which it is evaluated: as (26) prints it, it takes n² more and not n d_v."""
    return (A.T @ state)[j].T @ V[j]


U_RULE = Given(u_, (j,), en.u(j), "the alignments of step 3")


claim(
    HERE + "tab1-step1",
    "Table 1, step 1",
    "Attention weights",
    words="Queries, keys, values, scores and weights take equally many operations for both F: 0 more.",
    literal=All(
        *_columns("weights", WEIGHTS, "2*n*d*d_k + n**2*d_k + 2*n**2", _weights()),
        *_columns("values", VALUES, "n*d*d_v", X @ W_V),
        Identity(
            exp(SCORES[m, j]) / sum_over(j, exp(SCORES[m, j])),
            row_softmax(SCORES)[m, j],
            label="the weights are (7)",
        ),
    ),
    assumes=(COUNTED,),
    rests_on=(HERE + "eq69", HERE + "eq70"),
    where=INPUT + " " + QUERY_WHERE,
    notes="F occurs in none of the formulas of this step.",
)

claim(
    HERE + "tab1-step2",
    "Table 1, step 2",
    "The initial state",
    words="Z = AV takes equally many operations for both F: 0 more.",
    literal=All(*_columns("initial state", ATTENTION, "n**2*d_v", AV)),
    assumes=(COUNTED,),
    rests_on=(HERE + "eq71",),
    where=WHERE,
)

claim(
    HERE + "tab1-step3",
    "Table 1, step 3",
    "The alignments",
    words="The alignments u_j take equally many operations for both F: 0 more.",
    literal=All(
        *_columns("alignments", ALIGNMENTS, "n**2*d_v + n*d_v", stack(j, _alignment())),
        Identity(en.u(j), _alignment(), label="what is counted is u_j"),
    ),
    assumes=(COUNTED,),
    rests_on=(HERE + "eq72",),
    legs=(legs.lift,),
    where=WHERE,
)

claim(
    HERE + "tab1-step4",
    "Table 1, step 4",
    "The energy",
    words="The sum of u_j² takes n operations more than the sum of u_j.",
    literal=Cost(
        "energy, quadratic column",
        (Assign(E_, (), sum_over(j, U[j] ** 2)),),
        "n",
        SQUARE,
        (Assign(E_, (), sum_over(j, U[j])),),
        en.energy(lambda x: x),
        given=(U_RULE,),
    ),
    assumes=(COUNTED,),
    rests_on=(HERE + "eq73",),
    where=WHERE,
)


LINEAR_R = -en.pairing()
QUADRATIC_R = -2 * en.pairing(lambda at: C_J[at])
R_FORMS = (
    Identity(LINEAR_R, -sum_over(i, Z[i].T @ sum_over(j, A[i, j] * V[j])), label="linear R, second form"),
    Identity(
        QUADRATIC_R,
        -2 * sum_over(i, Z[i].T @ sum_over(j, C_J[j] * A[i, j] * V[j])),
        label="quadratic R, second form",
    ),
    Stationary(en.energy(lambda x: x) + LINEAR_R, en.Z_, AV, label="linear R matches"),
    Stationary(SQUARE + QUADRATIC_R, en.Z_, AV, given=(C_RULE,), label="quadratic R matches"),
)


def _coefficients(printed: str) -> Cost:
    """The c_j as they are written, with the dot products of values stored."""
    return Cost("c as printed, dot products stored", COEFFICIENTS, printed, stack(j, C_RULE.value))


claim(
    HERE + "tab1-step5",
    "Table 1, step 5",
    "The regulariser",
    words="The two forms of R for both F; the c_j of the quadratic column take n³ + n²d_v operations.",
    literal=All(*R_FORMS, _coefficients("n**3 + n**2*d_v")),
    corrected=All(
        *R_FORMS,
        _coefficients("n**3 + n**2*d_v + n**2"),
        Cost(
            "c from AV, row by row of Aᵀ(AV)",
            FACTORED,
            "n**2*d_v + n*d_v",
            stack(j, C_RULE.value),
            given=(Y_RULE,),
        ),
    ),
    correction_words="As printed the c_j take n³ + n²d_v + n² multiplications; with AV from step 2, as rows "
    "of Aᵀ(AV) times values, n²d_v + n d_v.",
    assumes=(COUNTED,),
    rests_on=(HERE + "eq45", HERE + "eq74", HERE + "eq75"),
    legs=(legs.stationary_quadratic, legs.alignment),
    where=WHERE,
    notes="The formulas of R are right, and the linear one contradicts (75), which has 2c_j for every F. "
    "Both columns print the c_j, which the linear one does not need. prose-cost inherits the n³.",
)


def _slope(energy: Term, name: str) -> Term:
    return grad(energy, en.Z_, name)[i]


LINEAR_NAME, SQUARE_NAME = r"\textstyle\sum_j u_j", r"\textstyle\sum_j u_j^2"
GRADIENTS = (
    Identity(_slope(en.energy(lambda x: x), LINEAR_NAME), sum_over(j, A[i, j] * V[j]), label="linear E"),
    Identity(_slope(LINEAR_R, "R"), -sum_over(j, A[i, j] * V[j]), label="linear R"),
    Identity(
        _slope(en.energy(lambda x: x), LINEAR_NAME) + _slope(LINEAR_R, "R"), zeros(DV), label="linear E_R"
    ),
    Identity(_slope(SQUARE, SQUARE_NAME), sum_over(j, 2 * en.u(j) * A[i, j] * V[j]), label="quadratic E"),
    Identity(_slope(QUADRATIC_R, "R"), -2 * sum_over(j, C_J[j] * A[i, j] * V[j]), label="quadratic R"),
    Identity(
        _slope(MATCHED, "E_R"), sum_over(j, 2 * (en.u(j) - C_J[j]) * A[i, j] * V[j]), label="quadratic E_R"
    ),
)
LINEAR_LINE = (Assign(D_, (i, k), sum_over(j, A[i, j] * V[j, k])),)
FACTORS = Assign(w_, (j,), 2 * (U[j] - C_J[j]))
QUADRATIC_LINE = (
    FACTORS,
    Assign(P_, (i, j), W[j] * A[i, j]),
    Assign(D_, (i, k), sum_over(j, P[i, j] * V[j, k])),
)
SCALED_ROWS = (
    FACTORS,
    Assign(B_, (j, k), W[j] * V[j, k]),
    Assign(D_, (i, k), sum_over(j, A[i, j] * B[j, k])),
)


def _more(what: str, plan: tuple[Assign, ...], printed: str) -> Cost:
    """A plan for the gradient of the quadratic E_R against that of the linear E, from stored alignments
    and c.
    """
    linear = grad(en.energy(lambda x: x), en.Z_, LINEAR_NAME)
    return Cost(what, plan, printed, grad(MATCHED, en.Z_, "E_R"), LINEAR_LINE, linear, given=(U_RULE,))


claim(
    HERE + "tab1-step6",
    "Table 1, step 6",
    "The gradients",
    words="The gradients of E, R and E_R for both F; the quadratic one takes n² operations more.",
    literal=All(*GRADIENTS, _more("gradient, quadratic column", QUADRATIC_LINE, "n**2")),
    corrected=All(
        *GRADIENTS,
        _more("gradient, quadratic column", QUADRATIC_LINE, "n**2 + n"),
        _more("the same with scaled rows of V", SCALED_ROWS, "n*d_v + n"),
    ),
    correction_words="It takes n² + n more, with the n products 2(u_j - c_j); n d_v + n more if the rows of "
    "V are scaled instead.",
    assumes=(COUNTED,),
    rests_on=(HERE + "eq34", HERE + "eq77"),
    legs=(legs.gradient_printed,),
    where=WHERE,
    notes="All six gradients are right. If doubling is free, n² is right as well. The gradient of the linear "
    "E_R is zero and takes nothing, so what the quadratic column really adds is its whole product.",
)


def _step() -> Term:
    """The step in the order in which it is evaluated, with A'Z formed first and scaled rows of V."""
    return Z - eta * (A @ (diag(stack(j, 2 * (_alignment() - C_J[j]))) @ V))


def _rounds(times: str) -> tuple[Assign, ...]:
    loop = (*ALIGNMENTS, *SCALED_ROWS, Assign(en.Z_, (i, k), Z[i, k] - eta * D[i, k]))
    return _repeated(loop, times)


def _repeated(plan: tuple[Assign, ...], times: str) -> tuple[Assign, ...]:
    """A plan run in so many rounds."""
    return tuple(replace(line, times=times) for line in plan)


DESCENT = Identity(
    STEP[i],
    Z[i] - eta * sum_over(j, 2 * (en.u(j) - C_J[j]) * A[i, j] * V[j]),
    label="the step descends on (47)",
)
SET = Identity(
    _slope(en.energy(lambda x: x), LINEAR_NAME) + _slope(LINEAR_R, "R"),
    zeros(DV),
    given=(AT_AV,),
    label="Z = AV is set in the linear column, where E + R is stationary",
)
ORDERED = Identity(_step()[i], STEP[i], label="what is counted is the step")
STAYS = Identity(STEP, AV, given=(AT_AV, C_RULE), label="from AV the step leads to AV")

claim(
    HERE + "tab1-step7",
    "Table 1, step 7",
    "The optimisation",
    words="The linear case sets Z = AV; the quadratic one takes T descent steps, which add (T - 1) n² d_v "
    "operations.",
    literal=All(
        SET, DESCENT, Cost("T - 1 further steps", _rounds("T - 1"), "(T - 1)*n**2*d_v", _step()), ORDERED
    ),
    corrected=All(
        SET,
        DESCENT,
        STAYS,
        Cost("T - 1 further steps", _rounds("T - 1"), "(T - 1)*(2*n**2*d_v + 3*n*d_v + n)", _step()),
        ORDERED,
    ),
    correction_words="Each further step takes 2n²d_v + 3n d_v + n multiplications, as the alignments are "
    "computed again, with AᵀZ formed first and the rows of V scaled. From the start of "
    "step 2 no step is required: the state stays at AV.",
    assumes=(COUNTED,),
    rests_on=(HERE + "eq47", HERE + "eq79"),
    legs=(legs.descent_step, legs.loop_quadratic),
    where=SIZES,
    notes="The loop runs over t = 1, …, T here and over t = 0, …, T - 1 in (79).",
)

WIDE = as_term(W_)
BESIDE = at_point(STEP, en.Z_, AV + WIDE)


def _first_step(a: EnergyAssumptions) -> Term:
    """The state after one step from the assumed start."""
    return at_point(STEP, en.Z_, start(a))


def _moves(state: Term, label: str = "") -> Differs:
    """A step leads to something else than AV, for some attention weights."""
    return Differs(state, AV, given=(C_RULE, STOCHASTIC), label=label)


claim(
    HERE + "tab1-step8",
    "Table 1, step 8",
    "The output",
    theory="energy",
    words="The optimised Z of the quadratic case, started at AV as in (71), may differ from AV.",
    literal=lambda a: _moves(_first_step(a)),
    corrected=lambda a: All(
        Identity(_first_step(a), AV, given=(C_RULE,), label="the step from the start leads to AV"),
        Identity(
            BESIDE,
            AV + WIDE - 2 * eta * (A @ diag(stack(j, at_point(en.u(j), en.Z_, WIDE))) @ V),
            given=(C_RULE,),
            label="from AV + W it moves with u(W) only",
        ),
        _moves(BESIDE, "another start"),
    ),
    correction_words="Started at AV the output is AV, for every T and η. From another start AV + W the part "
    "of W on which all alignments vanish stays for ever, so the output may differ from AV.",
    assumes=(STARTED,),
    rests_on=(HERE + "eq71", HERE + "prose-algorithm"),
    legs=(legs.loop_quadratic, solver_legs.kept_part),
    where=SIZES,
    notes="n = 1, d_v = 2, V = (1, 0), start (0, 1): the limit is (1, 1) for 0 < η < 1. Only for d_v = 1, A "
    "invertible and no vanishing value can every start lead to AV.",
)

BAR = Tensor("Zbar", (N, DV), r"\bar{Z}", r"\bar{z}_{%1}", r"\bar{Z}_{%1%2}")
ADJOINT = (
    Assign(B_, (j, k), sum_over(m, A[m, j] * as_term(BAR)[m, k])),
    Assign(u_, (j,), sum_over(k, B[j, k] * V[j, k])),
    Assign(w_, (j,), 2 * U[j]),
    Assign(B_, (j, k), W[j] * V[j, k]),
    Assign(D_, (i, k), sum_over(j, A[i, j] * B[j, k])),
    Assign(BAR, (i, k), as_term(BAR)[i, k] - eta * D[i, k]),
)
BACK = _repeated(ADJOINT, "T")


def _linear_part(state: Tensor) -> Term:
    """A diag(u(Y)) V: a step takes a change Y of the state to Y - 2η A diag(u(Y)) V, see step 8."""
    return A @ diag(stack(j, at_point(en.u(j), en.Z_, as_term(state)))) @ V


def _adjoint() -> Term:
    """What a step does to the loss gradient, as it is self-adjoint, in the order in which it is counted."""
    return as_term(BAR) - eta * (A @ (diag(stack(j, 2 * _alignment(as_term(BAR)))) @ V))


claim(
    HERE + "tab1-step9",
    "Table 1, step 9",
    "Backpropagation",
    words="Backpropagation through the quadratic case takes n² operations more, so that its part through the "
    "states of the descent takes at most n².",
    literal=Cost("adjoint of T descent steps by Z", BACK, "n**2", _adjoint(), relation="<="),
    corrected=All(
        Identity(
            trace(WIDE.T @ _linear_part(BAR)),
            trace(as_term(BAR).T @ _linear_part(W_)),
            label="the step is self-adjoint in Z",
        ),
        Cost("adjoint of T descent steps by Z", BACK, "T*(2*n**2*d_v + 3*n*d_v + n)", _adjoint()),
        STAYS,
    ),
    correction_words="The adjoint of one step with respect to Z alone takes 2n²d_v + 3n d_v + n "
    "multiplications, that of T steps T times as many. Started at AV the output is AV as a function of A and "
    "V, so its gradient is that of the linear column.",
    assumes=(COUNTED,),
    rests_on=(HERE + "eq79",),
    legs=(legs.self_adjoint,),
    where=SIZES + r" $\bar{Z}$ the loss gradient by $Z$.",
    notes="The order n² is right only while T d_v stays bounded.",
)

claim(
    HERE + "prose-cost",
    "Section 7",
    "The cost of the algorithm",
    words="The coefficients and T descent steps take at most a constant times n³ + T n² d_v operations.",
    literal=Cost(
        "c as printed and T steps",
        (*COEFFICIENTS, *_rounds("T")),
        "n**3 + T*n**2*d_v",
        _step(),
        relation="<=",
        constant=7,
        given=(C_RULE,),
    ),
    assumes=(COUNTED,),
    rests_on=(HERE + "eq74", HERE + "eq79"),
    legs=(legs.alignment, legs.memory),
    where=SIZES,
    notes="True if the dot products v_lᵀv_j are stored, an n x n array, and not computed afresh in each "
    "term. The n³ can be avoided: with c as rows of Aᵀ(AV) times values (tab1-step5), time is of order "
    "T n²d_v, memory n d_v besides A.",
)
