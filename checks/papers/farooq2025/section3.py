"""Section 3: the energy with a function F, equations (23) to (28)."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import claim
from checks.kinds.implication import Implication
from checks.kinds.scope import Scoped
from checks.leg import Legs
from checks.papers.farooq2025.notation import E_NAME, HERE, WHERE, mu
from checks.statement import All, Definition, Fact, Identity
from derivations.calculus.gradients import unit
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, as_term, diag, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import DV, A, N, V, Z, i, j, k

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
    words="With ξ_i^μ = A_iμ, s_i = z_i and K = n, the energy (2) becomes (24).",
    literal=Identity(sum_over(mu, sum_over(i, A[i, mu] * Z[i])), PATTERNS),
    corrected=Identity(sum_over(mu, sum_over(i, k, A[i, mu] * V[mu, k] * Z[i, k])), PATTERNS),
    correction_words=(
        "The neurons are the entries of Z, N = n d_v, and pattern μ is the matrix with entries A_iμ V_μk, of "
        "rank one: column "
        "μ of A times row μ of V."
    ),
    rests_on=(HERE + "eq2",),
    where=WHERE,
    notes=(
        "Put into (2) as printed, s_i is a vector and F is applied to a vector; the factor v_μ that (24) has "
        "again is lost. "
        "With d_v = 1, n = 1, A = 1, v = 2, z = 1 the printed substitution gives 1 and (24) gives 2."
    ),
)

claim(
    HERE + "eq24",
    "Eq. (24)",
    "The sum over patterns",
    words="The double sum of (17), with the sum over j = μ outermost.",
    literal=Identity(en.pairing(), PATTERNS),
    rests_on=(HERE + "eq17",),
    legs=(legs.lift,),
    where=WHERE,
    notes="This is tr(ZᵀAV), the right side of (17). The energy (10) has it with a minus and a quadratic "
    "term besides.",
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
    where=WHERE,
    notes="The right side takes u_j by another route, as the diagonal of AᵀZVᵀ.",
)


def _trace(state: Term, values: Term) -> Term:
    return trace(state.T @ A_COLUMN @ values)


SQUARE_U = sum_over(en.m, A[en.m, j] * (SQUARE_Z[en.m].T @ SQUARE_V[j]))
TRANSPOSED = (
    "Zᵀ A^j is d_v x n, and so is Vᵀ: there is no product unless d_v = n, and then the value is another one. "
    "With n = d_v = 2, "
    "A = [(1/2, 1/2), (1/3, 2/3)], V = [(1, 0), (1, 0)], Z = [(1, 0), (0, 0)] the printed traces are (1/2, "
    "0) and u = (1/2, 1/2)."
)

claim(
    HERE + "eq28",
    "Eq. (28)",
    "An alignment as a trace",
    words="u_j is the trace of Zᵀ A e_j e_jᵀ Vᵀ.",
    literal=All(
        (
            Identity(en.u(j), _trace(Z, V.T), label="shapes"),
            Identity(SQUARE_U, _trace(SQUARE_Z, SQUARE_V.T), label="value when d_v = n"),
        )
    ),
    corrected=All(
        (
            Identity(en.u(j), _trace(Z, V), label="first form"),
            Identity(en.u(j), trace(Z.T @ (A @ diag(unit(j))) @ V), label="A^j keeps column j"),
        )
    ),
    correction_words="V stands without a transpose.",
    rests_on=(HERE + "eq26",),
    legs=(legs.lift,),
    where=WHERE + r" $\mathbf{e}_j$ the unit vector, $A^j = A\mathbf{e}_j\mathbf{e}_j^\top$.",
    notes=TRANSPOSED
    + " Equations (46), (51) and (59) copy the slip; every index form next to them is right.",
)

ZERO_STATE = Tensor("Z0", (N, DV), "Z^{(0)}", r"z^{(0)}_{%1}", r"Z^{(0)}_{%1%2}")
claim(
    HERE + "prose-u-trace",
    "Section 7, after (72)",
    "The alignment of the initial state as a trace",
    words="u_j is the trace of Z⁽⁰⁾ᵀ A Vᵀ.",
    literal=All(
        (
            Identity(
                en.u(j, state=as_term(ZERO_STATE)), trace(as_term(ZERO_STATE).T @ A @ V.T), label="shapes"
            ),
            Identity(SQUARE_U, trace(SQUARE_Z.T @ A @ SQUARE_V.T), label="value when d_v = n"),
            Scoped(U[j], trace(Z.T @ A @ V), label="the index j, even with V for its transpose"),
        )
    ),
    corrected=All(
        (
            Identity(en.u(j, state=as_term(ZERO_STATE)), _trace(as_term(ZERO_STATE), V), label="u_j"),
            Identity(sum_over(j, en.u(j)), trace(Z.T @ A @ V), label="their sum"),
        )
    ),
    correction_words="A^j stands for A, and V has no transpose; the trace with A itself is the sum of all "
    "u_j.",
    rests_on=(HERE + "eq28",),
    legs=(legs.lift,),
    where=WHERE,
    notes="The right side does not depend on j: for A = [(1/2, 1/2), (1/3, 2/3)], V = (1, -1), Z = (1, 0), u "
    "= (1/2, -1/2).",
)

v_ = as_term(Tensor("v", (), "v"))
slope = as_term(Tensor("F'(v^2)", (), r"F'(v^2)"))
ONE_TOKEN = ((("v", Fraction(1)), ("F'(v^2)", Fraction(1))), (("v", Fraction(1)), ("F'(v^2)", Fraction(-1))))


def _one_token(sign: int) -> Implication:
    rising = Fact("F' > 0" if sign > 0 else "F' < 0", slope if sign > 0 else -slope, ">")
    return Implication(
        (Fact("v > 0", v_, ">"), rising),
        Fact("the gradient at AV", v_ * slope, "="),
        witness=ONE_TOKEN[0 if sign > 0 else 1],
        label="F increasing at v²" if sign > 0 else "F decreasing at v²",
    )


claim(
    HERE + "prose-choose-F",
    "Section 3, after (28)",
    "A careful choice of F",
    words="A function F that is not constant can be chosen so that the energy without regulariser has its "
    "well at AV for all A, V.",
    literal=All((_one_token(1), _one_token(-1))),
    rests_on=(HERE + "eq27", HERE + "eq34"),
    where=r"One token with one value $v$: $A=1$, $AV=v$, $c=v^2$, and the gradient at $AV$ is $v\,F'(v^2)$.",
    notes=(
        "One token with value v forces F' = 0 at every v² > 0. Negative arguments occur as well: A = [(1/2, "
        "1/2), (1/3, 2/3)] "
        "and V = s(1, -1) give c = (-s²/9, 2s²/9) with a nonsingular G, which forces F' = 0 there. So only "
        "constant F are left, "
        "and it takes a regulariser that depends on A and V."
    ),
)
