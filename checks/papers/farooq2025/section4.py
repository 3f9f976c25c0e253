"""Section 4: the quadratic energy and its regulariser, equations (29) to (47)."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Assumption, claim
from checks.kinds.examples import Point, Rule
from checks.kinds.extremum import Extremum
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.notation import (
    AT_AV,
    C_RULE,
    E_NAME,
    ER_NAME,
    HERE,
    READ_AS,
    SMOOTH,
    STOCHASTIC,
    WHERE,
)
from checks.papers.farooq2025.section3 import (
    SQUARE_V,
    TRANSPOSED,
    UNIT,
    VALUES_OF_TWO,
    aligned_of_two,
    rows_of_two,
)
from checks.statement import All, Definition, Fact, Given, Identity, Link
from derivations.calculus.gradients import at_point, formula, grad, kronecker, unit, zeros
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, diag, size, sqrt, squared_norm, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import AV, C_J, DV, HALF, A, N, V, Z, i, j, k, l, m, r_

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

SQUARE = en.energy(en.square)
GRADIENT = grad(SQUARE, en.Z_)
ANY = en.energy(en.F)
C = diag(C_J)
COLUMN = A @ unit(j) @ unit(j).T
REGULARISER = -2 * trace(Z.T @ A @ C @ V)
STATE = Assumption("Z = AV", "the gradient is taken at Z = AV")
AT_STATE = Assumption("Z = AV", "the state is Z = AV")
ONE = Fraction(1)
ONE_TOKEN = Point(((N, 1), (DV, 1)), ((en.A_, ((1,),)), (en.V_, ((1,),))))
u_ = Tensor("u", (N,), "u", "", "u_{%1}")
U_J = as_term(u_)[j]
U_RULE = Given(u_, (j,), en.u(j), "(26)")

claim(
    HERE + "eq29",
    "Eq. (29)",
    "The quadratic F",
    role="definition",
    words="F squares its argument.",
    literal=All(
        Definition(en.F(U_J), U_J**2),
        Identity(U_J**2, en.u(j, i) ** 2, given=(U_RULE,), label="at an alignment"),
    ),
    rests_on=(HERE + "eq26",),
    where=WHERE,
)

claim(
    HERE + "eq30",
    "Eq. (30)",
    "The quadratic energy",
    role="definition",
    words="The sum of the squared alignments.",
    literal=Definition(E_NAME, sum_over(j, en.u(j, i) ** 2)),
    rests_on=(HERE + "eq27", HERE + "eq29"),
    where=WHERE,
)

t_ = Tensor("t")
BETWEEN = sum_over(j, (en.u(j) - at_point(en.u(j), en.Z_, zeros(N, DV))) ** 2)


def _form() -> Term:
    """A quadratic form in the entries of Z, whose coefficients are made of A and V."""
    row, column = Index("r", N), Index("s", DV)
    coefficient = sum_over(j, A[i, j] * V[j, k] * A[row, j] * V[j, column])
    return sum_over(i, k, row, column, coefficient * Z[i, k] * Z[row, column])


claim(
    HERE + "prose-footnote5",
    "footnote 5",
    "Maxima of the quadratic energy",
    words="The stationary state Z = 0 of the quadratic energy (30) is a maximum.",
    literal=Extremum(
        SQUARE, en.Z_, zeros(N, DV), "a local maximum", witness=ONE_TOKEN, direction=((1,),), label="Z = 0"
    ),
    corrected=All(
        Extremum(
            SQUARE, en.Z_, zeros(N, DV), "a global minimum", above=sum_over(j, en.u(j) ** 2), label="Z = 0"
        ),
        Identity(trace(Z.T @ GRADIENT), 2 * SQUARE, label="where the gradient is 0 the energy is"),
        Identity(at_point(SQUARE, en.Z_, as_term(t_) * Z), as_term(t_) ** 2 * SQUARE, label="along a ray"),
    ),
    correction_words="The stationary states are minima: the energy is a sum of squares, and 0 wherever its "
    "gradient is.",
    rests_on=(HERE + "eq30",),
    where=WHERE + r" $t$ is any number.",
    notes="There is no maximum, unless the energy is 0 everywhere: the energy at tZ is t² times the energy "
    "at Z. AV is among the minima only if AV = 0, since Σ_j c_j = ‖AV‖². Nothing uses the footnote; Section "
    "4.1 speaks of the minimum.",
)

claim(
    HERE + "prose-positive-quadratic",
    "Section 4.2, end",
    "A positive quadratic form",
    words="With F(u) = u² the energy is a positive quadratic form.",
    literal=All(
        Identity(SQUARE, _form(), label="a quadratic form"),
        Extremum(SQUARE, en.Z_, zeros(N, DV), "a global minimum", above=BETWEEN, label="nowhere negative"),
    ),
    rests_on=(HERE + "eq30",),
    where=WHERE,
    notes="Positive semidefinite. It is definite only if Z is determined by u, which needs d_v = 1, an "
    "invertible A and no vanishing value: u has n entries, Z has n d_v.",
)

claim(
    HERE + "eq31",
    "Eq. (31)",
    "The chain rule",
    words="The gradient is its (i, k) entry, which is the sum of F' times the derivatives of the alignments.",
    literal=lambda a: All(
        Identity(grad(ANY, en.Z_), grad(ANY, en.Z_)[i, k], label="first equality"),
        Identity(grad(ANY, en.Z_)[i, k], _chain_rule(), label="chain rule"),
    ),
    corrected=lambda a: Identity(grad(ANY, en.Z_)[i, k], _chain_rule()),
    correction_words="The (i, k) entry of the gradient stands on the left.",
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq27",),
    legs=(legs.gradient,),
    where=WHERE,
    notes="A matrix is set equal to one of its entries; (35) prints the indices.",
)


def _chain_rule() -> Term:
    return sum_over(j, en.F(en.u(j), 1) * grad(en.u(j), en.Z_, "u_j")[i, k])


claim(
    HERE + "eq32",
    "Eq. (32)",
    "The alignment entry by entry",
    words="The dot product in u_j is written out.",
    literal=Identity(en.u(j), sum_over(m, A[m, j] * sum_over(l, Z[m, l] * V[j, l]))),
    rests_on=(HERE + "eq16", HERE + "eq26"),
    legs=(legs.lift,),
    where=WHERE,
)

claim(
    HERE + "eq33",
    "Eq. (33)",
    "The derivative of an alignment",
    words="The derivative of u_j by Z_ik is A_ij V_jk.",
    literal=Identity(
        grad(en.u(j), en.Z_, "u_j")[i, k],
        A[i, j] * V[j, k],
        chain=(
            Link(
                sum_over(m, A[m, j] * sum_over(l, V[j, l] * kronecker(m, i) * kronecker(l, k))),
                "an entry of Z has derivative 1 by itself and 0 by any other",
            ),
        ),
        reason="the deltas leave one term of each sum",
    ),
    rests_on=(HERE + "eq32",),
    where=WHERE + r" $\delta_{mi}=1$ for $m=i$, else $0$.",
)

claim(
    HERE + "eq34",
    "Eq. (34)",
    "The gradient for any F",
    words="The (i, k) entry of the gradient is the sum of F'(u_j) A_ij V_jk.",
    literal=Identity(grad(ANY, en.Z_)[i, k], sum_over(j, en.F(en.u(j), 1) * A[i, j] * V[j, k])),
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq31", HERE + "eq33"),
    legs=(legs.gradient,),
    where=WHERE,
    notes="In matrix form it is A diag(F'(u)) V.",
)

claim(
    HERE + "prose-quadratic-derivative",
    "Section 4, before (35)",
    "The derivative of the quadratic F",
    words="F'(u_j) is twice the sum over m of A_mj z_iᵀv_j.",
    literal=lambda a: _doubled(sum_over(m, A[m, j] * (Z[i].T @ V[j]))),
    corrected=lambda a: _doubled(sum_over(m, A[m, j] * (Z[m].T @ V[j]))),
    correction_words="The state under the sum is z_m: F'(u_j) is 2 u_j.",
    rests_on=(HERE + "eq26", HERE + "eq29"),
    where=WHERE,
)


def _doubled(alignment: Term) -> Identity:
    return Identity(
        formula("u^2", U_J, 1),
        2 * alignment,
        given=(U_RULE, STOCHASTIC),
        chain=(Link(2 * U_J, "the derivative of u²"),),
        reason="(26)",
    )


claim(
    HERE + "eq35",
    "Eq. (35)",
    "The gradient of the quadratic energy",
    words="(34) with F' = 2u.",
    literal=Identity(GRADIENT[i, k], sum_over(j, 2 * en.u(j) * A[i, j] * V[j, k])),
    rests_on=(HERE + "eq29", HERE + "eq34"),
    legs=(legs.gradient_quadratic,),
    where=WHERE,
)

DOTS = sum_over(r_, A[m, r_] * (V[r_].T @ V[j]))
claim(
    HERE + "eq36",
    "Eq. (36)",
    "A dot product at Z = AV",
    words="At Z = AV, z_mᵀv_j is the sum of A_mp v_pᵀv_j.",
    literal=Identity(
        Z[m].T @ V[j],
        DOTS,
        given=(AT_AV,),
        chain=(
            Link(sum_over(l, Z[m, l] * V[j, l]), "the dot product written out"),
            Link(sum_over(l, sum_over(r_, A[m, r_] * V[r_, l]) * V[j, l]), "Z = AV"),
            Link(sum_over(r_, A[m, r_] * sum_over(l, V[r_, l] * V[j, l])), "finite sums commute"),
        ),
        reason="the inner sum is a dot product",
    ),
    assumes=(AT_STATE,),
    rests_on=(HERE + "eq16",),
    where=WHERE,
)

claim(
    HERE + "prose-state-at-attention",
    "Section 4.1, before (36)",
    "The state at attention",
    words="At Z = AV row i of the state is the sum of A_ip v_p, and entry (i, l) the sum of A_ip V_pl.",
    literal=All(
        Identity(Z[i], sum_over(r_, A[i, r_] * V[r_]), given=(AT_AV,), label="rows"),
        Identity(Z[i, l], sum_over(r_, A[i, r_] * V[r_, l]), given=(AT_AV,), label="entries"),
    ),
    assumes=(AT_STATE,),
    rests_on=(HERE + "eq9",),
    where=WHERE,
)

claim(
    HERE + "eq37",
    "Eq. (37)",
    "The quadratic gradient at Z = AV",
    words="(36) put into (35).",
    literal=Identity(at_point(GRADIENT, en.Z_, AV)[i, k], sum_over(j, 2 * en.c(j) * A[i, j] * V[j, k])),
    assumes=(STATE,),
    rests_on=(HERE + "eq35", HERE + "eq36"),
    legs=(legs.stationary_quadratic,),
    where=WHERE,
)

DOUBLE = sum_over(m, r_, A[m, j] * A[m, r_] * (V[r_].T @ V[j]))
SQUARE_C = sum_over(m, A[m, j] * sum_over(r_, A[m, r_] * (SQUARE_V[r_].T @ SQUARE_V[j])))
IN_MATRICES = (A.T @ A @ V @ V.T)[j, j]
BY_ROWS = (A.T @ A @ V)[j].T @ V[j]
SIGN = (
    "A is n x n and v_j has d_v entries, so A v_j needs d_v = n; and then its squared norm need not be c_j. "
    "For A = "
    f"[{rows_of_two()}] and V = {VALUES_OF_TWO} the double sum is c = "
    f"({', '.join(map(str, aligned_of_two()))}), and no squared norm is "
    "negative. The sum of all c_j is a squared norm, ‖AV‖²."
)


def _squared(values: Term) -> Term:
    return squared_norm(A @ values[j])


def quadratic(values: Term) -> Term:
    """v_jᵀAᵀA v_j."""
    return values[j].T @ A.T @ A @ values[j]


claim(
    HERE + "eq38",
    "Eq. (38)",
    "The alignment coefficient",
    words="The bracket of (37) is v_jᵀAᵀA v_j, the squared norm of A v_j.",
    literal=All(
        Identity(en.c(j), DOUBLE, label="first equality"),
        Identity(DOUBLE, quadratic(V), label="shapes"),
        Identity(quadratic(V), _squared(V), label="shapes"),
        Identity(
            SQUARE_C,
            _squared(SQUARE_V),
            given=(STOCHASTIC,),
            chain=(Link(quadratic(SQUARE_V), "as printed"),),
            label="value when d_v = n",
        ),
    ),
    corrected=All(
        Identity(en.c(j), IN_MATRICES, chain=(Link(DOUBLE, "finite sums"),), label="in matrices"),
        Identity(en.c(j), BY_ROWS, label="row j of Aᵀ(AV) times v_j"),
        Identity(sum_over(j, en.c(j)), squared_norm(AV), label="their sum"),
    ),
    correction_words="The bracket is entry (j, j) of AᵀA VVᵀ, or row j of Aᵀ(AV) times v_j. It can be "
    "negative; the sum over all j is ‖AV‖².",
    rests_on=(HERE + "eq37",),
    legs=(legs.alignment,),
    where=WHERE + r" Line (d) is (b) and (c), read with $d_v=n$ and a softmax $A$.",
    notes=SIGN + " Equations (39) and (74) inherit it.",
)

claim(
    HERE + "eq39",
    "Eq. (39)",
    "The coefficient as a squared norm",
    words="c_j is the squared norm of A v_j.",
    literal=All(
        Identity(en.c(j), _squared(V), label="shapes"),
        Identity(SQUARE_C, _squared(SQUARE_V), given=(STOCHASTIC,), label="value when d_v = n"),
    ),
    corrected=Identity(at_point(en.u(j), en.Z_, AV), en.c(j)),
    correction_words="c_j is the bracket of (37), the value of u_j at Z = AV.",
    rests_on=(HERE + "eq38",),
    legs=(legs.alignment,),
    where=WHERE + READ_AS,
    notes=SIGN + " With the squared norm in its place (40), (41), (45) and (64) would be false.",
)

NORM = sqrt(_squared(SQUARE_V))
claim(
    HERE + "prose-l2-norm",
    "Section 4.1, after (38)",
    "The norm in the coefficient",
    words="‖A v_j‖², which exists for d_v = n, is the L₂ norm of A v_j.",
    literal=Identity(_squared(SQUARE_V), NORM, given=(STOCHASTIC,)),
    corrected=Identity(_squared(SQUARE_V), NORM**2, given=(STOCHASTIC,)),
    correction_words="It is the square of the norm.",
    rests_on=(HERE + "eq38",),
    where=WHERE + " Here $d_v=n$.",
)

claim(
    HERE + "eq40",
    "Eq. (40)",
    "The gradient in the coefficients",
    words="At Z = AV the (i, k) entry of the gradient is the sum of 2 c_j A_ij V_jk.",
    literal=Identity(
        at_point(GRADIENT, en.Z_, AV)[i, k], sum_over(j, 2 * C_J[j] * A[i, j] * V[j, k]), given=(C_RULE,)
    ),
    assumes=(STATE,),
    rests_on=(HERE + "eq37", HERE + "eq39"),
    legs=(legs.stationary_quadratic,),
    where=WHERE,
    notes="With c_j the bracket of (37), that is (39) as corrected.",
)

claim(
    HERE + "eq41",
    "Eq. (41)",
    "The gradient at attention in matrix form",
    words="At Z = AV the gradient is 2ACV with C = diag(c_j).",
    literal=Identity(at_point(GRADIENT, en.Z_, AV), 2 * (A @ C @ V), given=(C_RULE,)),
    assumes=(STATE,),
    rests_on=(HERE + "eq40",),
    legs=(legs.stationary_quadratic,),
    where=WHERE,
)

LENGTH = squared_norm(AV)
NONZERO = Fact("the squared norm of the gradient at AV", squared_norm(at_point(GRADIENT, en.Z_, AV)), ">")


def _positive() -> Term:
    """What the squared norm of the gradient G at AV is times ‖AV‖² and then over it, visibly positive.

    ‖AV‖²‖G‖² exceeds ⟨AV, G⟩² = 4(Σ c_j²)² by squares, n Σ c_j² the square of Σ c_j = ‖AV‖² by squares.
    """
    row, column = Index("r", N), Index("s", DV)
    slope = at_point(GRADIENT, en.Z_, AV)
    crossed = sum_over(
        i, k, row, column, (AV[i, k] * slope[row, column] - AV[row, column] * slope[i, k]) ** 2
    )
    spread = sum_over(j, i, (en.c(j) - en.c(i)) ** 2) / 2
    even = 4 * (LENGTH**3 + 2 * LENGTH * spread) / size(N) ** 2
    return even + (4 * spread**2 / size(N) ** 2 + crossed / 2) / LENGTH


OPPOSITE = Point(((N, 2), (DV, 1)), ((en.A_, ((HALF, HALF), (HALF, HALF))), (en.V_, ((1,), (-1,)))))
claim(
    HERE + "prose-gradient-nonzero",
    "Section 4.1, after (41)",
    "The gradient at attention is not zero",
    words="The gradient of the quadratic energy at Z = AV does not vanish.",
    literal=Rule((), NONZERO, OPPOSITE),
    corrected=lambda a: Implication(
        (Fact("AV", LENGTH, ">"),), NONZERO, (("AV", _positive()),), (("AV", ONE),)
    ),
    correction_words="It does not vanish where AV is not zero.",
    rests_on=(HERE + "eq41",),
    legs=(legs.alignment,),
    where=WHERE,
    notes="In the counterexample V ≠ 0, but AV = 0. Where AV = 0, all c_j and with them the gradient "
    "2A diag(c) V are 0.",
)

W_ = Tensor("W", (N, DV), "W", "w_{%1}", "W_{%1%2}")
LINEAR = trace(Z.T @ as_term(W_))
claim(
    HERE + "eq42",
    "Eq. (42)",
    "The regularised energy",
    role="definition",
    words="A regulariser R is added to the energy.",
    literal=Definition(ER_NAME, ANY + as_term(Tensor("R", (), "R(Z)"))),
    where=WHERE + r" $F$ any function of a number, $R$ any function of $Z$.",
)

claim(
    HERE + "eq43",
    "Eq. (43)",
    "What the regulariser is for",
    role="definition",
    words="The gradient of the regularised energy, the sum of both gradients, shall vanish at Z = AV.",
    literal=Identity(grad(ANY + LINEAR, en.Z_, "E_R"), grad(ANY, en.Z_) + grad(LINEAR, en.Z_, "R")),
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq42",),
    where=WHERE
    + r" $F$ any differentiable function of a number. $R(Z)=\operatorname{tr}(Z^\top W)$ stands for a linear "
    r"regulariser, $W\in\mathbb{R}^{n\times d_v}$ for any matrix.",
    notes="The first equality is checked; the second is the requirement, which prose-always-regularisable "
    "shows can be met.",
)

claim(
    HERE + "prose-always-regularisable",
    "Section 4.1, after (41)",
    "A regulariser always exists",
    words="For every F some regulariser makes the gradient vanish at Z = AV.",
    literal=Stationary(ANY + en.matching(), en.Z_, AV),
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq34",),
    legs=(legs.stationary,),
    where=WHERE + r" $F$ any differentiable function of a number.",
    notes="The regulariser is linear, with weights F'(c_j) for 2c_j. The same construction makes any other "
    "matrix stationary, so that this can be done says nothing special about attention.",
)

G_ = Tensor("∇R", (N, DV), r"\left.\nabla_{Z} R\right|_{Z = A V}")
SUM_ = Tensor("∇E + ∇R", (N, DV), "R_{43}")
BALANCED = Equation(
    at_point(GRADIENT, en.Z_, AV) + as_term(G_), zeros(N, DV), SUM_, "(43) at Z = AV: this residual vanishes"
)


def _balance(v: int) -> Point:
    """One token with value v, where the two gradients cancel."""
    return Point(((N, 1), (DV, 1)), ((en.A_, ((1,),)), (en.V_, ((v,),)), (G_, ((-2 * v**3,),))))


claim(
    HERE + "eq44",
    "Eq. (44)",
    "The condition on the regulariser",
    words="At Z = AV the gradient of R must be minus the gradient of E, which is -2A diag(c) V.",
    literal=All(
        Follows(
            (BALANCED,),
            as_term(G_),
            -at_point(GRADIENT, en.Z_, AV),
            as_term(SUM_),
            tuple(map(_balance, (1, 2, 3))),
            label="the condition",
        ),
        Identity(-at_point(GRADIENT, en.Z_, AV), -2 * (A @ C @ V), given=(C_RULE,), label="its right side"),
    ),
    assumes=(STATE,),
    rests_on=(HERE + "eq41", HERE + "eq43"),
    legs=(legs.stationary_quadratic,),
    where=WHERE + r" $R$ any regulariser, by its gradient at $Z=AV$.",
)

claim(
    HERE + "eq45",
    "Eq. (45)",
    "The regulariser of the quadratic energy",
    words="R(Z) = -2 tr(ZᵀACV) satisfies (44).",
    literal=All(
        Identity(grad(REGULARISER, en.Z_, "R"), -2 * (A @ C @ V), label="its gradient"),
        Stationary(SQUARE + REGULARISER, en.Z_, AV, given=(C_RULE,), label="AV is stationary"),
    ),
    rests_on=(HERE + "eq44",),
    legs=(legs.stationary_quadratic,),
    where=WHERE,
    notes="c_j is a constant here: it does not depend on Z.",
)

claim(
    HERE + "prose-simplest-regulariser",
    "Section 4.2",
    "The simplest regulariser",
    words="(45) satisfies (44), and among linear functionals of Z it is the only one.",
    literal=All(
        Stationary(SQUARE + REGULARISER, en.Z_, AV, given=(C_RULE,), label="it satisfies (44)"),
        Identity(
            at_point(grad(SQUARE + LINEAR, en.Z_, "E_R"), en.Z_, AV),
            as_term(W_) + 2 * (A @ C @ V),
            given=(C_RULE,),
            label="with a linear R the gradient vanishes at AV only for W = -2ACV",
        ),
    ),
    rests_on=(HERE + "eq44", HERE + "eq45"),
    legs=(legs.stationary_quadratic,),
    where=WHERE + r" $W\in\mathbb{R}^{n\times d_v}$: any matrix.",
)

INDEX_FORM = sum_over(j, en.u(j, i) ** 2) - 2 * sum_over(i, j, C_J[j] * A[i, j] * (Z[i].T @ V[j]))


def _trace_form(values: Term) -> Term:
    return sum_over(j, trace(Z.T @ COLUMN @ values) ** 2) + REGULARISER


claim(
    HERE + "eq46",
    "Eq. (46)",
    "The regularised quadratic energy with traces",
    words="The regularised energy with u_j as the trace of (28).",
    literal=Identity(SQUARE + REGULARISER, _trace_form(V.T), given=(C_RULE,)),
    corrected=Identity(SQUARE + REGULARISER, _trace_form(V), given=(C_RULE,)),
    correction_words="V stands without a transpose in the first trace.",
    rests_on=(HERE + "eq28", HERE + "eq45"),
    where=WHERE + UNIT,
    notes=TRANSPOSED + " The index form (47) is right.",
)

claim(
    HERE + "eq47",
    "Eq. (47)",
    "The regularised quadratic energy in indices",
    words="The regularised energy is the sum of the squared alignments minus twice the sum of c_j A_ij "
    "z_iᵀv_j.",
    literal=Identity(SQUARE + REGULARISER, INDEX_FORM, given=(C_RULE,)),
    rests_on=(HERE + "eq30", HERE + "eq42", HERE + "eq45"),
    legs=(solver_legs.quadratic_minimises,),
    where=WHERE,
    notes="It equals Σ (u_j - c_j)² - Σ c_j²: AV is a global minimiser, and so is every Z with the same "
    "alignments.",
)

DISTANCE = sum_over(j, (en.u(j) - C_J[j]) ** 2)
TWO_WIDE = Point(((N, 1), (DV, 2)), ((en.A_, ((1,),)), (en.V_, ((1, 0),))))
FLAT = at_point(en.u(j), en.Z_, AV + as_term(W_))


def _minimum(says: str, point: Point | None = None) -> Extremum:
    energy = SQUARE - 2 * sum_over(i, j, C_J[j] * A[i, j] * (Z[i].T @ V[j]))
    return Extremum(
        energy,
        en.Z_,
        AV,
        says,
        above=DISTANCE,
        given=(C_RULE,),
        witness=point,
        direction=((0, 1),) if point else None,
    )


FIRST = Extremum(
    en.attention_energy(),
    en.Z_,
    AV,
    "the only global minimum",
    above=en.completed_square(),
    label="the energy (11)",
)
claim(
    HERE + "prose-context-wells",
    "Abstract",
    "Minima as wells",
    words="The minimum of the energy at the attention output is a well: AV is the only minimiser, of the "
    "energy (11) and of the regularised energy (47).",
    literal=All(FIRST, _minimum("the only global minimum", TWO_WIDE)),
    corrected=All(
        FIRST,
        _minimum("a global minimum"),
        Identity(
            FLAT,
            en.c(j) + at_point(en.u(j), en.Z_, as_term(W_)),
            label="all AV + W with u(W) = 0 share the energy",
        ),
        Identity(
            trace(AV.T @ as_term(W_)),
            sum_over(j, at_point(en.u(j), en.Z_, as_term(W_))),
            label="AV is orthogonal to those W",
        ),
    ),
    correction_words="The minimisers of (47) are all Z with the alignments of AV: the affine space AV + {W: "
    "u(W) = 0}, of which AV has the smallest norm.",
    rests_on=(HERE + "eq11", HERE + "eq47"),
    legs=(solver_legs.attention_minimises, solver_legs.quadratic_minimises),
    where=WHERE + r" $W\in\mathbb{R}^{n\times d_v}$ any matrix, $u(W)$ the $u_j$ at $Z=W$.",
    notes="For (47) the valley is flat as soon as d_v ≥ 2; it is a point only for d_v = 1 with A invertible "
    "and no vanishing value.",
)
