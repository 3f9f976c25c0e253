"""Section 3: the energy with a function F, equations (23) to (28)."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import claim
from checks.kinds.implication import Implication
from checks.leg import Legs
from checks.papers.farooq2025.notation import (
    E_NAME,
    HERE,
    MATRICES,
    READ_AS,
    SMOOTH,
    STOCHASTIC,
    WHERE,
    mu,
)
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.gradients import kronecker, unit
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, squared_norm, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import DV, HALF, A, N, V, Z, i, j, k

legs = Legs("checks.papers.farooq2025.legs.tensors")

PATTERNS = sum_over(mu, sum_over(i, A[i, mu] * (Z[i].T @ V[mu])))
SQUARE_V = as_term(Tensor("V", (N, N), "V", r"v_{%1}", r"V_{%1%2}"))
SQUARE_Z = as_term(Tensor("Z", (N, N), "Z", r"z_{%1}", r"Z_{%1%2}"))
A_COLUMN = A @ unit(j) @ unit(j).T  # A^j: only column j of A is kept
u_ = Tensor("u", (N,), "u", "", "u_{%1}")
U = as_term(u_)

claim(
    HERE + "eq23",
    "Eq. (23)",
    "Attention weights as stored patterns",
    words="With ξ_i^μ = A_iμ, s_i = z_i and n patterns, the energy (2) is that of (24).",
    literal=Identity(sum_over(mu, sum_over(i, A[i, mu] * Z[i])), PATTERNS),
    corrected=Identity(sum_over(mu, sum_over(i, k, A[i, mu] * V[mu, k] * Z[i, k])), PATTERNS),
    correction_words="The neurons are the entries of Z, N = n d_v, and pattern μ is the matrix with entries "
    "A_iμ V_μk, of rank at most one: column μ of A times row μ of V.",
    rests_on=(HERE + "eq2",),
    where=MATRICES + r"of (2): $\xi_i^\mu$ entry $i$ of pattern $\mu$, $s_i$ the state of neuron $i$, $K$ "
    r"the number of patterns, $N$ that of neurons.",
    notes="Put into (2) as printed, s_i is a vector and F is applied to a vector; the factor v_μ that (24) "
    "has again is lost, also where the values are numbers.",
)

REGROUPED = Identity(en.pairing(), PATTERNS, label="the sum of (17), regrouped")
claim(
    HERE + "eq24",
    "Eq. (24)",
    "The sum over patterns",
    words="The energy is the double sum of (17), with the sum over j = μ outermost.",
    literal=All(Identity(en.attention_energy(), PATTERNS, label="the energy"), REGROUPED),
    corrected=All(Identity(en.attention_energy(), -PATTERNS + HALF * squared_norm(Z)), REGROUPED),
    correction_words="The sums may be regrouped; the energy has them with a minus, and half the squared norm "
    "of Z besides.",
    rests_on=(HERE + "eq17", HERE + "eq23"),
    legs=(legs.lift,),
    where=WHERE,
    notes="The sign of the coupling and the term tr(ZᵀZ)/2 of (11) are lost in (14). What Section 3 "
    "generalises is tr(ZᵀAV).",
)

claim(
    HERE + "eq25",
    "Eq. (25)",
    "The energy with a function F",
    role="definition",
    words="F is applied to the contribution of each pattern.",
    literal=Definition(E_NAME, sum_over(mu, en.F(sum_over(i, A[i, mu] * (Z[i].T @ V[mu]))))),
    where=WHERE + r" $F:\mathbb{R}\to\mathbb{R}$.",
    notes="The attention energy of Section 2 is F(u) = -u with ½‖Z‖² added, not F(u) = u.",
)

claim(
    HERE + "eq26",
    "Eq. (26)",
    "The alignment of a pattern with the state",
    role="definition",
    words="u_μ is linear in Z: the inner product of Z with column μ of A times row μ of V.",
    literal=Definition(U[mu], sum_over(i, A[i, mu] * (Z[i].T @ V[mu]))),
    where=WHERE,
)

claim(
    HERE + "eq27",
    "Eq. (27)",
    "The energy in the alignments",
    words="The energy is the sum of F over the alignments.",
    literal=Identity(
        sum_over(mu, en.F(sum_over(i, A[i, mu] * (Z[i].T @ V[mu])))), sum_over(j, en.F((A.T @ Z @ V.T)[j, j]))
    ),
    rests_on=(HERE + "eq25", HERE + "eq26"),
    legs=(legs.lift,),
    where=WHERE + r" $F:\mathbb{R}\to\mathbb{R}$.",
    notes="The right side takes u_j by another route, as the diagonal of AᵀZVᵀ.",
)


def _trace(state: Term, values: Term) -> Term:
    return trace(state.T @ A_COLUMN @ values)


SQUARE_U = sum_over(en.m, A[en.m, j] * (SQUARE_Z[en.m].T @ SQUARE_V[j]))
columns_ = Tensor("A^", (N, N, N), "A^{(\\cdot)}", "A^{%1}", "A^{%1}_{%2%3}")
A_J = as_term(columns_)[j]
COLUMNS = Given(columns_, (j, i, en.m), A[i, en.m] * kronecker(en.m, j), "Aʲ keeps column j of A")
KEPT = Identity(A_J[i, en.m], A_COLUMN[i, en.m], given=(COLUMNS,), label="column j of A and zeros elsewhere")
TRANSPOSED = (
    "Zᵀ A^j is d_v x n, and so is Vᵀ: there is no product unless d_v = n, and then the trace need not be "
    "u_j, as the line with d_v = n of farooq2025/eq28 shows."
)
UNIT = r" $\mathbf{e}_j$ the unit vector, $A^j=A\mathbf{e}_j\mathbf{e}_j^\top$ as in (28)."

claim(
    HERE + "eq28",
    "Eq. (28)",
    "An alignment as a trace",
    words="u_j is the trace of Zᵀ A e_j e_jᵀ Vᵀ, which is that of Zᵀ A^j Vᵀ.",
    literal=All(
        KEPT,
        Identity(en.u(j), _trace(Z, V.T), label="shapes"),
        Identity(en.u(j), trace(Z.T @ A_J @ V.T), given=(COLUMNS,), label="shapes"),
        Identity(SQUARE_U, _trace(SQUARE_Z, SQUARE_V.T), given=(STOCHASTIC,), label="value when d_v = n"),
    ),
    corrected=All(
        KEPT,
        Identity(en.u(j), _trace(Z, V), label="first form"),
        Identity(en.u(j), trace(Z.T @ A_J @ V), given=(COLUMNS,), label="A^j keeps column j"),
    ),
    correction_words="V stands without a transpose.",
    rests_on=(HERE + "eq26",),
    legs=(legs.lift,),
    where=WHERE + r" $\mathbf{e}_j$ the unit vector, $A^j = A\mathbf{e}_j\mathbf{e}_j^\top$. Line (d) is "
    r"(b), read with $d_v=n$ and a softmax $A$.",
    notes=TRANSPOSED
    + " Equations (46), (51) and (59) copy the slip; the sums over indices beside them, at the end of (47), "
    "(50) and (60), are right.",
)

ZERO_STATE = as_term(Tensor("Z0", (N, DV), "Z^{(0)}", r"z^{(0)}_{%1}", r"Z^{(0)}_{%1%2}"))
ZERO_SQUARE = as_term(Tensor("Z0", (N, N), "Z^{(0)}", r"z^{(0)}_{%1}", r"Z^{(0)}_{%1%2}"))


def _started(state: Term, values: Term, width: str) -> Given:
    """(71)."""
    at = Index("k", width)
    return Given(state.data, (i, at), (A @ values)[i, at], "the initial state (71)")


STARTED, STARTED_SQUARE = _started(ZERO_STATE, V, DV), _started(ZERO_SQUARE, SQUARE_V, N)
claim(
    HERE + "prose-u-trace",
    "Section 7, after (72)",
    "The alignment of the initial state as a trace",
    words="u_j is the trace of Z⁽⁰⁾ᵀ A Vᵀ.",
    literal=All(
        Identity(en.u(j, state=ZERO_STATE), trace(ZERO_STATE.T @ A @ V.T), given=(STARTED,), label="shapes"),
        Identity(
            sum_over(en.m, A[en.m, j] * (ZERO_SQUARE[en.m].T @ SQUARE_V[j])),
            trace(ZERO_SQUARE.T @ A @ SQUARE_V.T),
            given=(STARTED_SQUARE, STOCHASTIC),
            label="value when d_v = n",
        ),
    ),
    corrected=All(
        Identity(en.u(j, state=ZERO_STATE), _trace(ZERO_STATE, V), label="u_j"),
        Identity(sum_over(j, en.u(j, state=ZERO_STATE)), trace(ZERO_STATE.T @ A @ V), label="their sum"),
    ),
    correction_words="A has to be A^j, V has no transpose; the trace with A itself is the sum of all u_j.",
    rests_on=(HERE + "eq28",),
    legs=(legs.lift,),
    where=WHERE + READ_AS + UNIT + r" $Z^{(0)}$ the initial state, in what is corrected any state.",
    notes="The right side does not depend on j.",
)

v_ = as_term(Tensor("v", (), "v"))
slope = as_term(Tensor("F'(v^2)", (), r"F'(v^2)"))
AT_ONE = Fact("the gradient at AV", v_ * slope, "=")
LEVEL = Fact("F' vanishes at c", slope, "=")
POSITIVE_VALUE = Fact("v is positive", v_, ">")
F_U, F_C = (as_term(Tensor(f"F({x})", (N,), f"F({x})", "", f"F({x}_{{%1}})"))[j] for x in "uc")
ABOVE, ZERO = Fact("F ≥ 0", F_U, ">="), Fact("F vanishes at c_j", F_C, "=")


WEIGHTS_OF_TWO = ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 3), Fraction(2, 3)))
VALUES_OF_TWO = (1, -1)


def aligned_of_two() -> list[Fraction]:
    """c_j, the alignments of the attention output, for two tokens with values of width 1."""
    mean = [sum(a * v for a, v in zip(row, VALUES_OF_TWO, strict=True)) for row in WEIGHTS_OF_TWO]
    return [
        v * sum((row[j] * z for row, z in zip(WEIGHTS_OF_TWO, mean, strict=True)), Fraction(0))
        for j, v in enumerate(VALUES_OF_TWO)
    ]


def rows_of_two() -> str:
    """Their weights as a note has them."""
    return ", ".join(f"({', '.join(map(str, row))})" for row in WEIGHTS_OF_TWO)


def _negative_argument() -> str:
    """Two tokens at which F' has to vanish at a negative argument too, computed; none if it need not."""
    weights, values, aligned = WEIGHTS_OF_TWO, VALUES_OF_TWO, aligned_of_two()
    gram = [[values[j] * values[k] * sum(row[j] * row[k] for row in weights) for k in (0, 1)] for j in (0, 1)]
    determinant = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0]
    if min(aligned) >= 0 or determinant == 0:
        return ""
    c = ", ".join(f"{x} s²" for x in aligned)
    return (
        f"Negative arguments occur as well: A = [{rows_of_two()}] and V = s(1, -1) give c = ({c}). The "
        f"alignments of the gradient at AV are G F'(c) with G = (AᵀA) ∘ (VVᵀ), of determinant {determinant} "
        "s⁴, and so F'(c) = 0 for s ≠ 0."
    )


claim(
    HERE + "prose-choose-F",
    "Section 3, after (28)",
    "A careful choice of F",
    words="A function F that is not constant can be chosen so that the energy without regulariser has its "
    "well at AV.",
    literal=Implication((), AT_ONE, label="one token, F chosen for all A, V"),
    corrected=All(
        Implication((LEVEL,), AT_ONE, label="one token"),
        Implication(
            (AT_ONE, POSITIVE_VALUE),
            Fact("F' at v²", slope, "="),
            label="one F that has its well at AV for every v is constant above 0",
        ),
        Implication(
            (ABOVE, ZERO),
            Fact("F(u_j) - F(c_j)", F_U - F_C, ">="),
            label="no summand of the energy is below its value at AV",
        ),
    ),
    correction_words="F may depend on A and V: one that is nowhere negative and vanishes at all c_j, such as "
    "the product of all (u - c_i)², has a minimum at AV.",
    assumes=(SMOOTH,),
    rests_on=(HERE + "eq27", HERE + "eq34"),
    where=WHERE
    + r" One token with value $v$: $A=1$, $AV=v$, $c=v^2$, and the gradient at $AV$ is $v\,F'(v^2)$.",
    notes="One F for all A, V has to be constant: its derivative vanishes at every v². "
    + _negative_argument()
    + " The functions of Sections 4 to 6 do not depend on A and V, and take a regulariser that does.",
)

ALPHA = as_term(Tensor("alpha", (N, N), r"\alpha", "", r"\alpha_{%1%2}"))


def _kernel_attention(positive: bool) -> All:
    kernel = as_term(Tensor("k(Q,K)", (N, N), "k(Q,K)", "", "k(Q_{%1},K_{%2})", positive=positive))
    output = as_term(Tensor("Attention", (N, DV), r"\mathrm{Attention}(Q,K,V)"))
    return All(
        Definition(output[i], sum_over(j, ALPHA[i, j] * V[j]), label="the output"),
        Definition(ALPHA[i, j], kernel[i, j] / sum_over(en.q_, kernel[i, en.q_]), label="the weights"),
    )


claim(
    HERE + "prose-kernel-attention",
    "Section 3.1, second display",
    "Attention with a kernel",
    words="Row i of kernel attention is the sum of the values, weighted by the kernel of query i and key j "
    "over the sum of the kernels of query i and all keys.",
    literal=_kernel_attention(False),
    corrected=_kernel_attention(True),
    correction_words="The kernel is positive, so that the weights have a denominator; a sum over the keys "
    "that is not 0 would do.",
    where=r"$k(Q_i,K_j)$ the kernel of query $i$ and key $j$, $V_j=v_j$ the values; $i,j,l=1,\dots,n$.",
    notes="Softmax attention has the kernel exp(qᵀk/√d_k). For k(x, y) = xᵀy and a query that is orthogonal "
    "to the sum of the keys the denominator is 0.",
)
