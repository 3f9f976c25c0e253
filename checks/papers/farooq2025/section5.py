"""Section 5: powers F(u) = u^p, equations (48) to (60)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from checks.claim import Assumption, claim
from checks.kinds.examples import Point
from checks.kinds.extremum import Extremum
from checks.kinds.family import Family
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025 import notation
from checks.papers.farooq2025.notation import AT_AV, C_POWER, E_NAME, HERE
from checks.papers.farooq2025.section3 import TRANSPOSED, UNIT, U
from checks.papers.farooq2025.section4 import COLUMN, FLAT, STATE, W_
from checks.statement import All, Definition, Given, Identity
from derivations.calculus.functions import EXPONENT
from derivations.calculus.gradients import at_point, bregman, grad, power_p
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, diag, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import AV, C_J, DV, A, N, V, Z, i, j, k, m

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")
WHERE = notation.WHERE + r" $p$ the exponent; a power of exponent 0 is 1, also that of 0."
WHOLE = Assumption("p whole", "the exponent p is a whole number, at least 1")
POWERS = (1, 2, 3)
q = Index("l", N)
U_RULE = Given(U.data, (j,), en.u(j), "(49)")


@dataclass(frozen=True)
class Exponent:
    """The exponent p, as a number or (``value`` None) as a symbol."""

    value: int | None = None

    @property
    def term(self) -> Term:
        """p as a factor."""
        return as_term(EXPONENT if self.value is None else self.value)

    def of(self, base: Term, shift: int = 0) -> Term:
        """base to the power p + shift."""
        return power_p(base, shift) if self.value is None else as_term(base) ** (self.value + shift)


def family(make: Callable[[Exponent], object], powers: tuple[int, ...] = POWERS, label: str = "") -> Family:
    """A statement for symbolic p, judged at some values of it as well."""
    return Family(make(Exponent()), tuple((f"p = {p}", make(Exponent(p))) for p in powers), label)


def energy(p: Exponent) -> Term:
    """(50)."""
    return en.energy(p.of)


def regulariser(p: Exponent) -> Term:
    """(58)."""
    return -p.term * trace(Z.T @ A @ diag(p.of(C_J, -1)) @ V)


def coefficient(at: Index = j) -> Term:
    """c_j with the paper's letters m and l."""
    return sum_over(m, A[m, at] * sum_over(q, A[m, q] * (V[q].T @ V[at])))


claim(
    HERE + "eq48",
    "Eq. (48)",
    "The polynomial F",
    role="definition",
    words="F raises the alignment to the power p.",
    literal=Definition(en.F(en.u(j)), power_p(en.u(j))),
    assumes=(WHOLE,),
    rests_on=(HERE + "eq26",),
    where=WHERE,
    notes="p ≥ 1 is printed without saying that p is whole. Between whole numbers the power of a negative "
    "u_j need not be real, and u_j can be negative.",
)

claim(
    HERE + "eq49",
    "Eq. (49)",
    "The alignment again",
    role="definition",
    words="u_j as in (26).",
    literal=Definition(U[j], en.u(j)),
    rests_on=(HERE + "eq26",),
    where=notation.WHERE,
)

claim(
    HERE + "eq50",
    "Eq. (50)",
    "The polynomial energy",
    role="definition",
    words="The sum of the p-th powers of the alignments.",
    literal=All(
        Definition(E_NAME, sum_over(j, en.F(U[j]))),
        family(
            lambda p: Identity(sum_over(j, p.of(U[j])), energy(p), given=(U_RULE,)), label="with F of (48)"
        ),
    ),
    assumes=(WHOLE,),
    rests_on=(HERE + "eq27", HERE + "eq48", HERE + "eq49"),
    where=WHERE + r" $F$ the power of (48).",
)


def _traces(p: Exponent, values: Term) -> Term:
    return sum_over(j, p.of(trace(Z.T @ COLUMN @ values)))


claim(
    HERE + "eq51",
    "Eq. (51)",
    "The polynomial energy with traces",
    words="The energy with u_j as the trace of (28).",
    literal=family(lambda p: Identity(energy(p), _traces(p, V.T))),
    corrected=family(lambda p: Identity(energy(p), _traces(p, V))),
    correction_words="V stands without a transpose.",
    assumes=(WHOLE,),
    rests_on=(HERE + "eq28", HERE + "eq50"),
    where=WHERE + UNIT,
    notes=TRANSPOSED + " The notation is that of (28), not of (61) as printed.",
)


def _sum_of_slopes(p: Exponent) -> Term:
    return sum_over(j, grad(p.of(en.u(j)), en.Z_, "F(u_j)")[i, k])


claim(
    HERE + "eq52",
    "Eq. (52)",
    "The gradient of the polynomial energy",
    words="The gradient is its (i, k) entry, the sum of the derivatives of F(u_j).",
    literal=All(
        family(
            lambda p: Identity(grad(energy(p), en.Z_), grad(energy(p), en.Z_)[i, k]), label="first equality"
        ),
        family(lambda p: Identity(grad(energy(p), en.Z_)[i, k], _sum_of_slopes(p)), label="second equality"),
    ),
    corrected=family(lambda p: Identity(grad(energy(p), en.Z_)[i, k], _sum_of_slopes(p))),
    correction_words="The (i, k) entry of the gradient stands on the left.",
    assumes=(WHOLE,),
    rests_on=(HERE + "eq50",),
    where=WHERE,
    notes="A matrix is set equal to one of its entries; (55) prints the indices.",
)

_p = sp.Symbol("p", positive=True, integer=True)
_u = sp.Symbol("u", real=True)


def _quotient(power: int, at: int) -> int:
    """The slope of x^p at a point: (x^p - y^p)/(x - y) = Σ x^r y^(p-1-r), with y = x."""
    return sum(at**r * at ** (power - 1 - r) for r in range(power))


claim(
    HERE + "eq53",
    "Eq. (53)",
    "The derivative of the power",
    words="F'(u_j) is p times the (p - 1)-th power of u_j.",
    literal=All(
        Recurrence(
            _p * _u ** (_p - 1),
            (_p, _u),
            (Base("p = 1: the slope of u is 1", _p, 1, sp.Integer(1)),),
            _u ** (_p - 1) + _u * QUANTITY(_p - 1, _u),
            "product rule for u times u^(p-1)",
            _quotient,
            tuple((p, u) for p in range(1, 7) for u in range(-3, 4)),
        ),
        family(
            lambda p: Identity(p.term * p.of(U[j], -1), p.term * p.of(en.u(j), -1), given=(U_RULE,)),
            label="at an alignment",
        ),
    ),
    assumes=(WHOLE,),
    rests_on=(HERE + "eq48", HERE + "eq49"),
    where=WHERE
    + r" $f(p,u)$: the slope of $u^p$ at one alignment $u=u_j=\sum_m A_{mj}z_m^\top v_j$, as printed "
    r"$F'(u_j)=p\,u_j^{p-1}$.",
)

claim(
    HERE + "eq54",
    "Eq. (54)",
    "The gradient for powers",
    words="(34) with F' = p u^(p-1).",
    literal=family(
        lambda p: Identity(
            grad(energy(p), en.Z_)[i, k],
            sum_over(j, p.term * p.of(en.u(j), -1) * A[i, j] * V[j, k]),
            nonzero=(EXPONENT,),
        )
    ),
    assumes=(WHOLE,),
    rests_on=(HERE + "eq34", HERE + "eq53"),
    legs=(legs.gradient_powers,),
    where=WHERE,
)


def _at_attention(p: Exponent, right: Term, *given: Given) -> Identity:
    return Identity(grad(energy(p), en.Z_)[i, k], right, given=(AT_AV, *given))


claim(
    HERE + "eq55",
    "Eq. (55)",
    "The gradient for powers at Z = AV",
    words="(54) with the dot products of (36).",
    literal=family(
        lambda p: _at_attention(p, sum_over(j, p.term * p.of(coefficient(), -1) * A[i, j] * V[j, k]))
    ),
    assumes=(WHOLE, STATE),
    rests_on=(HERE + "eq36", HERE + "eq54"),
    legs=(legs.stationary_powers,),
    where=WHERE,
)


def _by_entries(p: Exponent) -> Term:
    return sum_over(j, p.term * p.of(C_J[j], -1) * A[i, j] * V[j, k])


def _power_matrix(p: Exponent) -> Term:
    return A @ diag(p.of(C_J, -1)) @ V


claim(
    HERE + "eq56",
    "Eq. (56)",
    "The gradient for powers in matrix form",
    words="At Z = AV entry (i, k) of the gradient is the sum of p c_j^(p-1) A_ij V_jk, which is A C^(p-1) V.",
    literal=All(
        family(lambda p: _at_attention(p, _by_entries(p), C_POWER), label="first equality"),
        family(lambda p: Identity(_by_entries(p), _power_matrix(p), given=(C_POWER,)), label="shapes"),
        family(
            lambda p: Identity(_by_entries(p), _power_matrix(p)[i, k], given=(C_POWER,)),
            (1, 2),
            label="read as its entry (i, k)",
        ),
    ),
    corrected=All(
        family(lambda p: _at_attention(p, _by_entries(p), C_POWER), label="first equality"),
        family(
            lambda p: Identity(_by_entries(p), p.term * _power_matrix(p)[i, k], given=(C_POWER,)),
            label="its entry (i, k), with p",
        ),
    ),
    correction_words="The last member is entry (i, k) of p A C^(p-1) V.",
    assumes=(WHOLE, STATE),
    rests_on=(HERE + "eq39", HERE + "eq55"),
    legs=(legs.stationary_powers,),
    where=WHERE + r" $C=\operatorname{diag}(c_j)$.",
    notes="(57) lacks the factor p as well; (58) to (60) have it.",
)

claim(
    HERE + "eq57",
    "Eq. (57)",
    "The condition on the regulariser for powers",
    words="The gradient of R must be -A C^(p-1) V, minus the gradient of E at Z = AV.",
    literal=family(
        lambda p: Identity(-grad(energy(p), en.Z_), -_power_matrix(p), given=(AT_AV, C_POWER)), (1, 2)
    ),
    corrected=family(
        lambda p: Identity(-grad(energy(p), en.Z_), -(p.term * _power_matrix(p)), given=(AT_AV, C_POWER))
    ),
    correction_words="The gradient of R must be -p A C^(p-1) V.",
    assumes=(WHOLE, STATE),
    rests_on=(HERE + "eq43", HERE + "eq56"),
    legs=(legs.stationary_powers,),
    where=WHERE,
    notes="The regulariser (58) has the right gradient.",
)

claim(
    HERE + "eq58",
    "Eq. (58)",
    "The regulariser for powers",
    words="R(Z) = -p tr(Zᵀ A C^(p-1) V) makes Z = AV a stationary point.",
    literal=family(lambda p: Stationary(energy(p) + regulariser(p), en.Z_, AV, given=(C_POWER,))),
    assumes=(WHOLE,),
    rests_on=(HERE + "eq57",),
    legs=(legs.stationary_powers,),
    where=WHERE,
)

claim(
    HERE + "eq59",
    "Eq. (59)",
    "The regularised energy for powers with traces",
    words="The regularised energy with u_j as the trace of (28).",
    literal=family(
        lambda p: Identity(energy(p) + regulariser(p), _traces(p, V.T) + regulariser(p), given=(C_POWER,))
    ),
    corrected=family(
        lambda p: Identity(energy(p) + regulariser(p), _traces(p, V) + regulariser(p), given=(C_POWER,))
    ),
    correction_words="V stands without a transpose in the first trace.",
    assumes=(WHOLE,),
    rests_on=(HERE + "eq28", HERE + "eq58"),
    where=WHERE + UNIT,
    notes=TRANSPOSED,
)


def _index_form(p: Exponent) -> Term:
    weighted = sum_over(i, j, p.of(coefficient(), -1) * A[i, j] * (Z[i].T @ V[j]))
    return sum_over(j, p.of(en.u(j))) - p.term * weighted


def _regularised(p: Exponent) -> Term:
    return energy(p) + regulariser(p)


claim(
    HERE + "eq60",
    "Eq. (60)",
    "The regularised energy for powers in indices",
    words="The regularised energy is the sum of F(u_j), which is the sum of powers minus the weighted pairs.",
    literal=All(
        family(
            lambda p: Identity(_regularised(p), sum_over(j, p.of(en.u(j))), given=(C_POWER,)),
            (1, 2),
            label="first equality",
        ),
        family(
            lambda p: Identity(sum_over(j, p.of(en.u(j))), _index_form(p)), (1, 2), label="second equality"
        ),
    ),
    corrected=All(
        family(
            lambda p: Identity(_traces(p, V) + regulariser(p), energy(p) + regulariser(p), given=(C_POWER,)),
            label="(59) with u_j as the trace of (28)",
        ),
        family(
            lambda p: Identity(energy(p) + regulariser(p), _index_form(p), given=(C_POWER,)),
            label="in index notation",
        ),
    ),
    correction_words="The member in the middle is Σ F(u_j) + R(Z), with R of (58), as (47) prints it.",
    assumes=(WHOLE,),
    rests_on=(HERE + "eq50", HERE + "eq58"),
    where=WHERE + UNIT,
    notes="In (a) as corrected the trace has V, where (28) and (59) print Vᵀ (farooq2025/eq28).",
)

THIRD, HALF = Fraction(1, 3), Fraction(1, 2)
NEGATIVE_C = Point(
    ((N, 2), (DV, 1)), ((en.A_, ((HALF, HALF), (THIRD, 2 * THIRD))), (en.V_, ((1,), (-1,))), (EXPONENT, 3))
)


def _minimum(says: str, witness: Point | None = None) -> Extremum:
    """AV is a minimum; as printed nothing is assumed of p and the c_j, and three is a value of p."""
    weighted = sum_over(i, j, power_p(C_J[j], -1) * A[i, j] * (Z[i].T @ V[j]))
    return Extremum(
        energy(Exponent()) - as_term(EXPONENT) * weighted,
        en.Z_,
        AV,
        says,
        above=sum_over(j, bregman("power", en.u(j), C_J[j])),
        convex=() if witness else ("power",),
        given=(C_POWER,),
        witness=witness,
        direction=((4,), (-3,)) if witness else None,
    )


ONE_U, ONE_C = (as_term(Tensor(x, (), x)) for x in "uc")
FOURTH = ONE_U**4 - ONE_C**4 - 4 * ONE_C**3 * (ONE_U - ONE_C)

claim(
    HERE + "prose-polynomial-minimum",
    "Section 5, end",
    "Minima for powers",
    words="For every p, Z = AV is a stationary point; for p ≥ 2 it is a minimum.",
    literal=All(
        family(lambda p: Stationary(_regularised(p), en.Z_, AV, given=(C_POWER,))),
        _minimum("a local minimum", NEGATIVE_C),
    ),
    corrected=All(
        family(lambda p: Stationary(_regularised(p), en.Z_, AV, given=(C_POWER,))),
        _minimum("a local minimum"),
        _minimum("a global minimum"),
        Identity(
            FOURTH,
            (ONE_U - ONE_C) ** 2 * ((ONE_U + ONE_C) ** 2 + 2 * ONE_C**2),
            label="one alignment, p = 4, as squares",
        ),
        Identity(
            FLAT,
            en.c(j, en.q_) + at_point(en.u(j), en.Z_, as_term(W_)),
            label="all AV + W with u(W) = 0 share the energy",
        ),
    ),
    correction_words="For even p the state AV is a global minimum, and so is every Z with the same "
    "alignments. For odd p ≥ 3 it is a local minimum if all c_j are positive: u^p is then convex near "
    "positive arguments only.",
    assumes=(WHOLE,),
    rests_on=(HERE + "eq42", HERE + "eq58"),
    legs=(solver_legs.minimum_even,),
    where=WHERE
    + r" $D_F(u,c)=F(u)-F(c)-F'(c)(u-c)\ge0$ where $F$ is convex. ($u^p$ convex): $u\mapsto u^p$ is convex "
    r"near every $c_j$ for a local minimum, which is so for even $p$ and, if all $c_j>0$, for odd $p$; it is "
    r"convex everywhere for a global one, which is so for even $p$. $W\in\mathbb{R}^{n\times d_v}$: any "
    r"matrix.",
    notes="For odd p ≥ 3 the energy has no lower bound (one token with value 1, p = 3: z³ - 3z), unless it "
    "vanishes identically. For these p and a negative c_j, AV is a saddle when the u_j are independent as "
    "linear functions of Z, as in the counterexample; when they are not, it can even be a local maximum: A "
    "with all entries 1/3, V = (-9, 6, 6), p = 3.",
)
