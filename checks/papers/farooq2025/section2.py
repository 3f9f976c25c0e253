"""Section 2: the energy whose minimum is attention, equations (6) to (22) and the prose around them."""

from __future__ import annotations

from checks.claim import claim
from checks.kinds.programs import Convex
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.notation import (
    A_RULE,
    DZ,
    E_,
    E_NAME,
    HERE,
    MATRICES,
    QUERY_WHERE,
    SCORES,
    SMOOTH,
    WHERE,
    K,
    Q,
    dZ_,
    weight,
)
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.gradients import Differential, at_point, grad, zeros
from derivations.calculus.index import Tensor
from derivations.calculus.program import Program
from derivations.calculus.term import (
    Term,
    as_term,
    row_softmax,
    size,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
)
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import AV, DV, HALF, A, N, V, Z, i, j, k, m

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

zeta_ = Tensor("zeta", (N,), r"\zeta", "", r"\zeta_{%1}")
zeta = as_term(zeta_)
ZETA_RULE = Given(
    zeta_, (i,), sum_over(m, weight(i, m)), "the partition function, defined in the sentence before"
)
A_TILDE = as_term(Tensor("A~", (N, DV), r"\tilde{A}"))
PRINTED = trace(Z.T @ AV)
PAIRS = en.pairing()
DIRECTION = r" $dZ$ is a direction in the space of $Z$."

claim(
    HERE + "eq6",
    "Eq. (6)",
    "Softmax attention",
    role="definition",
    words="The output is the softmax of the scaled scores times the values.",
    literal=Definition(as_term(Tensor("Attention", (N, DV), r"\mathrm{Attention}")), row_softmax(SCORES) @ V),
    where=QUERY_WHERE,
    notes="That the softmax is taken over the keys, row by row, is said by (7), not here.",
)

claim(
    HERE + "eq7",
    "Eq. (7)",
    "The attention weights",
    words="An entry of A is one exponential over the sum of the exponentials of its row.",
    literal=Identity(
        row_softmax(SCORES)[i, j],
        weight(i, j) / zeta[i],
        given=(ZETA_RULE,),
        chain=(Link(weight(i, j) / sum_over(m, weight(i, m)), "softmax over row i"),),
        reason="the denominator is the partition function",
    ),
    rests_on=(HERE + "eq6",),
    legs=(legs.attention,),
    where=QUERY_WHERE,
)

claim(
    HERE + "prose-score-index",
    "Section 2, before (7)",
    "The scores in index notation",
    words="Entry (i, j) of the scaled score matrix is the scaled dot product of query i and key j.",
    literal=Identity(SCORES[i, j], Q[i].T @ K[j] / sqrt(size(en.DK))),
    where=QUERY_WHERE,
)

claim(
    HERE + "prose-row-sum",
    "Section 2, after (7)",
    "Rows of the attention matrix sum to one",
    words="The attention weights of one query sum to one.",
    literal=Identity(sum_over(j, A[i, j]), as_term(1), given=(A_RULE,)),
    rests_on=(HERE + "eq7",),
    legs=(legs.attention,),
    where=QUERY_WHERE,
)

claim(
    HERE + "eq8",
    "Eq. (8)",
    "The attention output",
    role="definition",
    words="The output is A times V.",
    literal=Definition(A_TILDE, AV),
    rests_on=(HERE + "eq7",),
    where=WHERE,
)

claim(
    HERE + "eq9",
    "Eq. (9)",
    "A row of the output",
    words="Row i of AV is the sum of the values weighted by row i of A.",
    literal=Identity(AV[i], sum_over(j, A[i, j] * V[j])),
    rests_on=(HERE + "eq8",),
    legs=(legs.attention,),
    where=WHERE,
)

claim(
    HERE + "eq10",
    "Eq. (10)",
    "The energy of attention",
    role="definition",
    words="A term linear in the state that couples it to the attention output, and half its squared norm.",
    literal=Definition(E_NAME, -trace(Z.T @ row_softmax(SCORES) @ V) + trace(HALF * (Z.T @ Z))),
    rests_on=(HERE + "eq6",),
    where=r"$Q,K\in\mathbb{R}^{n\times d_k}$ the queries and keys, $V\in\mathbb{R}^{n\times d_v}$ the "
    r"values, $Z\in\mathbb{R}^{n\times d_v}$ the state.",
)

claim(
    HERE + "eq11",
    "Eq. (11)",
    "The energy in A and V",
    words="With A for the softmax, (10) is -tr(ZᵀAV) + tr(ZᵀZ)/2.",
    literal=Identity(
        -trace(Z.T @ row_softmax(SCORES) @ V) + trace(HALF * (Z.T @ Z)),
        en.attention_energy(),
        given=(A_RULE,),
    ),
    rests_on=(HERE + "eq7", HERE + "eq10"),
    where=WHERE,
    notes="Completing the square, the energy is ½‖Z - AV‖² - ½‖AV‖²: see prose-convex.",
)

MATRIX_M, MATRIX_N = (as_term(en.rows(x, x.lower(), DV)) for x in "MN")
claim(
    HERE + "eq12",
    "Eq. (12)",
    "The Frobenius inner product",
    role="definition",
    words="The inner product of two matrices is the sum of the products of their entries.",
    literal=Definition(
        as_term(Tensor("<M,N>", (), r"\langle M,N\rangle_F")), sum_over(i, k, MATRIX_M[i, k] * MATRIX_N[i, k])
    ),
    where=r"$M,N\in\mathbb{R}^{n\times d_v}$.",
)

inner_ = Tensor("<Z,AV>", (), r"\langle Z,AV\rangle_F")
FROBENIUS = Given(inner_, (), sum_over(i, k, Z[i, k] * AV[i, k]), "(12) for Z and AV")
claim(
    HERE + "eq13",
    "Eq. (13)",
    "The trace as an inner product",
    words="tr(ZᵀAV) is the Frobenius inner product of Z and AV, the sum over entries of Z times AV.",
    literal=Identity(
        PRINTED,
        as_term(inner_),
        given=(FROBENIUS,),
        reason="the trace of MᵀN is the sum over entries of M times N",
    ),
    rests_on=(HERE + "eq12",),
    legs=(legs.lift,),
    where=WHERE,
)

BY_ENTRY = sum_over(i, k, Z[i, k] * sum_over(j, A[i, j] * V[j, k]))
BY_TOKEN = sum_over(i, j, A[i, j] * sum_over(k, Z[i, k] * V[j, k]))
LOST = (
    "The sign of the coupling and the term tr(ZᵀZ)/2 of (11) are missing. Equations (17) and (24) and the "
    "linear column of Table 1 inherit this, and with it the remark that the energy is linear: Section 3 "
    "generalises tr(ZᵀAV), not the energy."
)

PRODUCT = Identity(AV[i, k], sum_over(j, A[i, j] * V[j, k]), label="the product in the sum")

claim(
    HERE + "eq14",
    "Eq. (14)",
    "The energy entry by entry",
    words="The energy is the sum over entries of Z times AV.",
    literal=All(Identity(en.attention_energy(), BY_ENTRY), PRODUCT),
    corrected=All(Identity(en.attention_energy(), -BY_ENTRY + HALF * sum_over(i, k, Z[i, k] ** 2)), PRODUCT),
    correction_words="The coupling enters with a minus, and half the squared norm of Z is added.",
    rests_on=(HERE + "eq11", HERE + "eq13"),
    where=WHERE,
    notes=LOST,
)

claim(
    HERE + "eq15",
    "Eq. (15)",
    "The energy by token pairs",
    words="After interchanging sums, the energy is a sum over pairs of tokens.",
    literal=Identity(en.attention_energy(), BY_TOKEN),
    corrected=Identity(en.attention_energy(), -BY_TOKEN + HALF * squared_norm(Z)),
    correction_words="The interchange is right; the sign and the quadratic term are restored.",
    rests_on=(HERE + "eq14", HERE + "prose-footnote3"),
    where=WHERE,
    notes=LOST,
)

claim(
    HERE + "prose-footnote3",
    "footnote 3",
    "The interchange of sums",
    words="The sums over i, k, j of (14) may be regrouped as in (15).",
    literal=Identity(
        BY_ENTRY,
        BY_TOKEN,
        chain=(
            Link(sum_over(i, k, j, Z[i, k] * A[i, j] * V[j, k]), "Z_ik does not depend on j"),
            Link(sum_over(i, j, k, Z[i, k] * A[i, j] * V[j, k]), "finite sums commute"),
        ),
        reason="A_ij does not depend on k",
    ),
    where=MATRICES.removesuffix("; ") + ".",
)

claim(
    HERE + "eq16",
    "Eq. (16)",
    "The inner sum is a dot product",
    words="Σ_k Z_ik V_jk is entry (i, j) of ZVᵀ and the dot product of z_i and v_j.",
    literal=Identity(
        sum_over(k, Z[i, k] * V[j, k]),
        Z[i].T @ V[j],
        chain=(Link((Z @ V.T)[i, j], "product with the transpose"),),
    ),
    where=WHERE,
)

claim(
    HERE + "eq17",
    "Eq. (17)",
    "The energy in dot products",
    words="The energy is the sum over pairs of tokens of A_ij z_iᵀv_j.",
    literal=Identity(en.attention_energy(), PAIRS),
    corrected=Identity(en.attention_energy(), -PAIRS + HALF * sum_over(i, Z[i].T @ Z[i])),
    correction_words="The coupling enters with a minus, and half the squared lengths of the states are "
    "added.",
    rests_on=(HERE + "eq15", HERE + "eq16"),
    legs=(legs.lift,),
    where=WHERE,
    notes="The sign of the coupling and the term tr(ZᵀZ)/2 of (11) are missing, as in (14).",
)

FULL = sum_over(i, j, weight(i, j) / sum_over(m, weight(i, m)) * (Z[i].T @ V[j]))
claim(
    HERE + "eq18",
    "Eq. (18)",
    "The energy in full",
    words="The energy is minus the sum over pairs with the softmax written out.",
    literal=All(
        Identity(en.attention_energy(), -PRINTED, label="first equality"),
        Identity(-PRINTED, -FULL, given=(A_RULE,), label="second equality"),
    ),
    corrected=Identity(en.attention_energy(), -FULL + HALF * trace(Z.T @ Z), given=(A_RULE,)),
    correction_words="The quadratic term of (11) is added; the double sum is right.",
    rests_on=(HERE + "eq7", HERE + "eq11"),
    legs=(legs.lift,),
    where=WHERE + r" $q_i,k_j$ the rows of $Q,K$.",
    notes="Section 2.1 restores the quadratic term as E = -f + g. The sign here contradicts (17), which it "
    "is said to write out.",
)

SECOND = HALF * squared_norm(Z - AV) - HALF * squared_norm(AV)
claim(
    HERE + "prose-convex",
    "Section 2, after (10)",
    "The energy is convex",
    words="The second term of the functional (10) is convex, and so is (10): the linear term does not affect "
    "that.",
    literal=All(
        Convex(Program("second term", (en.Z_,), trace(HALF * (Z.T @ Z))), label="the second term"),
        Convex(Program("(10)", (en.Z_,), en.attention_energy()), label="with the linear term"),
        Identity(en.attention_energy(), SECOND, label="completed square"),
    ),
    rests_on=(HERE + "eq10",),
    legs=(solver_legs.attention_minimises,),
    where=WHERE,
    notes="It is even strictly convex, so the stationary point of (22) is the only minimiser.",
)

f_, g_ = (Tensor(x, (), f"{x}(Z)") for x in "fg")
ENERGY_RULE = Given(E_, (), en.attention_energy(), "the energy (11)")
SPLIT = (Given(f_, (), PRINTED, "the coupling"), Given(g_, (), trace(HALF * (Z.T @ Z)), "the quadratic term"))
claim(
    HERE + "prose-split-f-g",
    "Section 2.1, first sentence",
    "The energy as two terms",
    words="The energy is -f + g, with the coupling f = tr(ZᵀAV) and the quadratic term g = tr(ZᵀZ/2).",
    literal=Identity(E_NAME, -as_term(f_) + as_term(g_), given=(ENERGY_RULE, *SPLIT)),
    rests_on=(HERE + "eq11",),
    where=WHERE,
    notes="So E is neither f, as in (14), (15) and (17), nor -f, as in (18).",
)

claim(
    HERE + "eq19",
    "Eq. (19)",
    "The differential of the coupling",
    words="The differential of f = tr(ZᵀAV) is the trace of the differential of ZᵀAV, which is tr((dZ)ᵀAV).",
    literal=Identity(
        Differential((), (PRINTED, en.Z_, dZ_, "f")),
        trace(DZ.T @ AV),
        chain=(
            Link(
                trace(Differential((), (Z.T @ AV, en.Z_, dZ_, (Z.T @ AV).latex()))),
                "the trace is a sum of entries",
            ),
        ),
        reason="AV is constant",
    ),
    rests_on=(HERE + "prose-footnote4",),
    where=WHERE + DIRECTION,
)

ANY_ENERGY = en.energy(en.F)
HALF_SQUARE = HALF * (Z.T @ Z)
LINEAR = trace(as_term(Tensor("G", (N, DV), "G", "", "G_{%1%2}")).T @ Z)
claim(
    HERE + "eq20",
    "Eq. (20)",
    "Differential and gradient",
    words=(
        "The differential of a scalar function is the trace of its transposed gradient times dZ: shown for "
        "the functions of the paper, the coupling tr(ZᵀAV), the quadratic term tr(ZᵀZ/2) and Σ_j F(u_j) with "
        "any differentiable F, and for every linear function."
    ),
    literal=All(
        Identity(
            Differential((), (PRINTED, en.Z_, dZ_, "f")),
            trace(grad(PRINTED, en.Z_, "f").T @ DZ),
            label="f = tr(ZᵀAV)",
        ),
        Identity(
            Differential((), (trace(HALF_SQUARE), en.Z_, dZ_, "g")),
            trace(grad(trace(HALF_SQUARE), en.Z_, "g").T @ DZ),
            label="g = tr(ZᵀZ/2)",
        ),
        Identity(
            Differential((), (ANY_ENERGY, en.Z_, dZ_, "E")),
            trace(grad(ANY_ENERGY, en.Z_).T @ DZ),
            label="Σ F(u_j)",
        ),
        Identity(
            Differential((), (LINEAR, en.Z_, dZ_, "l")),
            trace(grad(LINEAR, en.Z_, "l").T @ DZ),
            label="any linear function",
        ),
    ),
    assumes=(SMOOTH,),
    where=WHERE + DIRECTION + r" $G\in\mathbb{R}^{n\times d_v}$: any matrix.",
    notes="The left side is the derivative along the line Z + t dZ, the right side is made of partial "
    "derivatives. At one point a differentiable function has the differential and the gradient of a linear "
    "one.",
)

claim(
    HERE + "eq21",
    "Eq. (21)",
    "The gradient of the coupling",
    words="The gradient of tr(ZᵀAV) is AV.",
    literal=Identity(grad(PRINTED, en.Z_, "f"), AV),
    rests_on=(HERE + "eq19", HERE + "eq20"),
    where=WHERE,
)


def _quadratic_differential(ends: Term) -> Identity:
    """dg as its first two printed members and what they are said to be."""
    return Identity(
        Differential((), (trace(HALF_SQUARE), en.Z_, dZ_, "g")),
        ends,
        chain=(
            Link(
                trace(Differential((), (HALF_SQUARE, en.Z_, dZ_, HALF_SQUARE.latex()))),
                "the trace is a sum of entries",
            ),
            Link(trace(HALF * (DZ.T @ Z + Z.T @ DZ)), "the product rule"),
        ),
        reason="a matrix and its transpose have one trace",
        label="the differential",
    )


claim(
    HERE + "prose-dg",
    "Section 2.1, after (21)",
    "The differential of the quadratic term",
    words="The differential of g = tr(ZᵀZ)/2 is the trace of the differential of ZᵀZ/2, that is of half of "
    "dZᵀZ + ZᵀdZ, and this is dZᵀZ.",
    literal=_quadratic_differential(DZ.T @ Z),
    corrected=All(
        _quadratic_differential(trace(DZ.T @ Z)),
        Identity(grad(trace(HALF_SQUARE), en.Z_, "g"), Z, label="the gradient"),
    ),
    correction_words="It is the trace of that product, so the gradient of the quadratic term is Z.",
    where=WHERE + DIRECTION,
)

B_, S_ = Tensor("B", (N, en.DX), "B"), Tensor("S", (en.DX, N), "S")
B, S = as_term(B_), as_term(S_)
FORMS = as_term(Tensor("Omega", (N, N, N, DV), r"\Omega", "", r"\Omega_{%1%2%3%4}"))
MATRIX_F = stack(j, stack(m, en.F(sum_over(i, k, FORMS[j, m, i, k] * Z[i, k]))))
claim(
    HERE + "prose-footnote4",
    "footnote 4",
    "Trace identities",
    words="tr(AB) = tr(BA), tr(A) = tr(Aᵀ), and the differential of a trace is the trace of the "
    "differential.",
    literal=All(
        Identity(trace(B @ S), trace(S @ B), label="(i)"),
        Identity(trace(A), trace(A.T), label="(ii)"),
        Identity(
            Differential((), (trace(MATRIX_F), en.Z_, dZ_, r"\operatorname{tr}(f)")),
            trace(Differential((), (MATRIX_F, en.Z_, dZ_, "f"))),
            label="(iii)",
        ),
    ),
    assumes=(SMOOTH,),
    where=r"$B\in\mathbb{R}^{n\times d}$ and $S\in\mathbb{R}^{d\times n}$ the $A$ and $B$ of the first "
    r"identity, $A\in\mathbb{R}^{n\times n}$ that of the second, $Z\in\mathbb{R}^{n\times d_v}$; $f$ has the "
    r"entries $F(\sum_{ik}\Omega_{jmik}Z_{ik})$." + DIRECTION,
    notes="The third is shown for the matrix functions of Z whose entries are any differentiable F of any "
    "linear form; at one point the differential of any differentiable function is that of a linear one.",
)

claim(
    HERE + "eq22",
    "Eq. (22)",
    "The stationary point",
    words="The gradient of the energy vanishes at Z₀ = AV, which is the softmax of the scores.",
    literal=All(
        Identity(AV, row_softmax(SCORES), given=(A_RULE,), label="the last member"),
        Stationary(en.attention_energy(), en.Z_, AV, label="AV is stationary"),
    ),
    corrected=All(
        Identity(AV, row_softmax(SCORES) @ V, given=(A_RULE,), label="attention"),
        Stationary(en.attention_energy(), en.Z_, AV, label="AV is stationary"),
        Identity(grad(en.attention_energy(), en.Z_), Z - AV, label="and nothing else is"),
    ),
    correction_words="The softmax is multiplied by V; AV is the only stationary point, since the gradient is "
    "Z - AV.",
    rests_on=(HERE + "eq11", HERE + "eq21", HERE + "prose-dg"),
    legs=(legs.attention, solver_legs.attention_minimises),
    where=WHERE,
    notes="The next displayed line has the factor V again.",
)

claim(
    HERE + "prose-gradient-is-attention",
    "Abstract",
    "The gradient of the landscape is attention",
    words="The gradient of the energy landscape is the attention computation.",
    literal=Identity(grad(en.attention_energy(), en.Z_), AV),
    corrected=All(
        Identity(grad(en.attention_energy(), en.Z_), Z - AV, label="the gradient"),
        Identity(
            -at_point(grad(en.attention_energy(), en.Z_), en.Z_, zeros(N, DV)),
            AV,
            label="minus the gradient at 0",
        ),
    ),
    correction_words="The gradient is Z - AV: attention is where it vanishes, and minus its value at Z = 0.",
    rests_on=(HERE + "eq10",),
    where=WHERE,
)
