"""Where the iterations lead: the update rule of Section 2, descent on the energies, and the whole
algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy as sp

from checks.claim import Assumption, claim
from checks.kinds.examples import Point, Rule
from checks.kinds.family import Family
from checks.kinds.limit import Limit
from checks.kinds.stationary import Stationary
from checks.leg import Legs
from checks.papers.farooq2025.notation import AT_AV, C_RULE, HERE, SMOOTH, STOCHASTIC, WHERE
from checks.papers.farooq2025.section4 import INDEX_FORM, SQUARE, W_
from checks.papers.farooq2025.section7 import FUNCTIONS, regularised
from checks.statement import All, Fact, Identity
from derivations.calculus.gradients import at_point, grad, kronecker, zeros
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, apply, as_term, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy import steps as theory
from derivations.theories.energy.choices import EnergyAssumptions
from derivations.theories.energy.extrema import slope_values
from derivations.theories.energy.forms import AV, C_J, DV, A, N, V, Z, i, j, k, m, r_
from derivations.theories.energy.steps import stationary

solver_legs = Legs("checks.papers.farooq2025.legs.solvers")
legs = Legs("checks.papers.farooq2025.legs.tensors")

eta = as_term(en.ETA)
ETA_WHERE = WHERE + r" $\eta>0$ the step size."
LITTLE = Assumption(
    "small steps", "the step size times the largest eigenvalue of G = (AᵀA) ∘ (VVᵀ) is below 1"
)
MATCHED = INDEX_FORM
SLOPE = grad(MATCHED, en.Z_, "E_R")
STEP = en.descent(MATCHED, eta)
W = as_term(W_)

claim(
    HERE + "prose-update-rule",
    "Section 2.1, after (22)",
    "The update of the state",
    words="Adding η times the attention output in every step moves Z to the attention output.",
    literal=Limit(en.Z_, Z + eta * AV, AV),
    corrected=All(
        Identity(
            en.descent(en.attention_energy(), eta, "E"),
            Z + eta * (AV - Z),
            label="it is a gradient step on (11)",
        ),
        Limit(en.Z_, Z + eta * (AV - Z), AV, rate=1 - eta, high=Fraction(2), label="its limit"),
    ),
    correction_words="The step is η(AV - Z), a gradient step on the energy (11). The error is multiplied by "
    "1 - η each time, so Z goes to AV from every start exactly if 0 < η < 2; with η = 1 it is there after "
    "one step.",
    rests_on=(HERE + "eq11", HERE + "eq21"),
    legs=(legs.update_rule,),
    where=ETA_WHERE,
    notes="As printed Z is Z⁽⁰⁾ + kηAV after k steps, which has no limit unless AV = 0.",
)

scale = as_term(Tensor("t", (), "t"))
LINEARITY = at_point(en.attention_energy(), en.Z_, scale * Z)
claim(
    HERE + "prose-no-iterations",
    "Section 2.1, end",
    "A linear energy needs no iterations",
    words="The energy is linear in Z, so that no iterations are required: its stationary point AV is at "
    "hand.",
    literal=All(
        Identity(LINEARITY, scale * en.attention_energy(), given=(STOCHASTIC,), label="it is linear"),
        Stationary(-trace(Z.T @ AV), en.Z_, AV, given=(STOCHASTIC,), label="AV, where it is linear"),
    ),
    corrected=All(
        Identity(
            LINEARITY, -scale * trace(Z.T @ AV) + scale**2 * trace(Z.T @ Z) / 2, label="it is quadratic"
        ),
        Identity(Z - grad(en.attention_energy(), en.Z_), AV, label="one step of size 1 from any state"),
    ),
    correction_words="The energy is quadratic. No iteration is needed because its gradient is Z - AV: one "
    "step of size 1 leads from any state to AV.",
    rests_on=(HERE + "eq10", HERE + "eq17"),
    where=WHERE + r" $t$ a number.",
    notes="A linear energy, -tr(ZᵀAV) alone, has no stationary point and no lower bound unless AV = 0. "
    "Section 3 and Table 1 take linear as the contrast to non-linear, but the regularised energy of F = u² "
    "is solved by AV without iterations as well.",
)

GRAM = sum_over(r_, sum_over(m, A[m, j] * A[m, r_]) * (V[j].T @ V[r_]) * (en.u(r_) - C_J[r_]))
w_j = at_point(en.u(j), en.Z_, W)
one_state, one_size = Tensor("z", (), "z"), en.ETA
TOKEN = as_term(one_state) - eta * (2 * (as_term(one_state) - 1))


FALL = Identity(
    at_point(MATCHED, en.Z_, Z - eta * W) - MATCHED,
    -eta * trace(SLOPE.T @ W) + eta**2 * sum_over(j, w_j**2),
    label="the energy changes by -η‖W‖² + η²‖u(W)‖² for W the gradient, never up if ηλ < 1",
)
ONE_TOKEN = Limit(
    one_state,
    TOKEN,
    as_term(1),
    rate=1 - 2 * eta,
    high=Fraction(1),
    label="one token of value 1, where G = 1",
)


def _convergence() -> All:
    return All(
        Identity(
            at_point(en.u(j), en.Z_, STEP) - C_J[j],
            en.u(j) - C_J[j] - 2 * eta * GRAM,
            label="u - c is multiplied by 1 - 2ηG",
        ),
        FALL,
        Identity(
            trace(W.T @ (STEP - Z)),
            -2 * eta * sum_over(j, (en.u(j) - C_J[j]) * w_j),
            label="components W with u(W) = 0 stay",
        ),
        Identity(trace(W.T @ AV), sum_over(j, w_j), label="AV has none of them"),
        ONE_TOKEN,
    )


claim(
    HERE + "prose-convergence",
    "Section 3, end",
    "Convergence to the attention output",
    words="With a non-linear F, here F(u) = u², the iterative dynamics converge to the attention output.",
    literal=Limit(en.Z_, en.descent(SQUARE, eta, "E"), AV),
    corrected=_convergence(),
    correction_words="With the regulariser (45), η > 0 and ηλ < 1, λ the largest eigenvalue of G = (AᵀA) ∘ "
    "(VVᵀ), descent converges to AV plus the part of the start on which all alignments vanish. It is AV for "
    "the start 0, and for the start AV.",
    assumes=(LITTLE,),
    rests_on=(HERE + "eq27", HERE + "eq34"),
    legs=(legs.descent_step, legs.stable_range, legs.descent, solver_legs.descents),
    where=ETA_WHERE
    + r" $W\in\mathbb{R}^{n\times d_v}$: any matrix. The line in $z$ alone has one token, of value 1.",
    notes="A step multiplies u - c, which lies in the range of G, by 1 - 2ηG, whose eigenvalues there lie "
    "between -1 and 1: with (a), (c) and (d) this gives the limit for several tokens, which no theorem of "
    "Rocq states; only (e) is about a limit. Without a regulariser such steps take the alignments to 0, and "
    "AV itself is left "
    "unless it is 0. With it, the limit may differ from AV: n = 1, d_v = 2, V = (1, 0), start (0, 1) and "
    "η = 1/2 lead to (1, 1) in one step. For F = u³ with its regulariser (58) no step size serves all "
    "starts: one token of value 1 runs off from z = -2, since each step subtracts at least 9η. One leg "
    "measures the descent of another convex F too: log cosh u, with the weights F'(c_j) for 2c_j.",
)

claim(
    HERE + "prose-clipping",
    "Section 7, end",
    "Stability by gradient clipping",
    words="Clipping the gradient makes the descent stable: it converges, to AV for F(u) = u², and somewhere "
    "for the loop (79) with F(u) = u.",
    literal=lambda a: All(
        Limit(en.Z_, _clipped(SLOPE), AV, given=(C_RULE,), orbit=CLIPPED, label="F(u) = u²"),
        Limit(
            en.Z_,
            _clipped(grad(regularised(lambda x: x), en.Z_, "E_R")),
            None,
            given=(C_RULE,),
            label="F(u) = u",
        ),
    ),
    corrected=All(FALL, ONE_TOKEN),
    correction_words="For F(u) = u² and without clipping, a step size with ηλ < 1, λ the largest eigenvalue "
    "of G = (AᵀA) ∘ (VVᵀ), never lets the energy rise, and lets Z converge, to AV plus the part of the start "
    "on which all alignments vanish (farooq2025/prose-convergence). For a row-stochastic A, λ is at most the "
    "largest squared norm of a value times the largest column sum of A.",
    rests_on=(HERE + "eq79", HERE + "prose-convergence"),
    legs=(legs.descent_step, legs.stable_range),
    where=ETA_WHERE + r" $\operatorname{clip}$ limits each entry to $[-1,1]$. As "
    r"corrected, $W\in\mathbb{R}^{n\times d_v}$ is any matrix, the gradient for a step of descent, and $z$ "
    r"the state of one token of value 1, where $\lambda=1$.",
    notes="Clipping bounds the step, not the product of step size and curvature, which decides. For F(u) = u "
    "clipping does not help: the gradient of one token of value 1 is -1 at every state.",
)


def _clipped(slope: Term) -> Term:
    """A step along the gradient with each entry clipped."""
    return Z - eta * apply("clip", slope, r"\operatorname{clip}")


CLIPPED: Point = Point(
    ((N, 1), (DV, 1)), ((en.A_, ((1,),)), (en.V_, ((1,),)), (en.ETA, 2), (en.Z_, ((Fraction(3, 2),),)))
)


STARTED = Assumption("started at AV", "the loop starts at AV, as (71) says", "initial_state", "attention")


def _loop(function: Callable[[Term], Term]) -> Limit:
    return Limit(en.Z_, en.descent(regularised(function), eta), None, given=(C_RULE,))


def _rest(weight: Term, values: sp.Interval) -> Rule:
    """The gradient vanishes somewhere, so that each weight is a value of F'; A and all values are
    nonsingular.
    """
    low, high = (Fraction(str(end)) if end.is_Rational else None for end in values.args[:2])
    above = as_term(1) if low is None else weight - low
    inside = above if high is None else above * (high - weight)
    return Rule(
        (
            Fact("A B - 1", (A @ as_term(INVERSE_))[i, r_] - kronecker(i, r_), "="),
            Fact("the values", V[i, k], "!="),
        ),
        Fact("weights inside the values of F'", inside, ">"),
        TWO_TOKENS,
        label="independent alignments, gradient zero",
    )


third = Fraction(1, 3)
INVERSE_ = Tensor("B", (N, N), "B")
TWO_TOKENS = Point(
    ((N, 2), (DV, 1)),
    (
        (en.A_, ((Fraction(1, 2), Fraction(1, 2)), (third, 2 * third))),
        (INVERSE_, ((4, -3), (-2, 3))),
        (en.V_, ((6,), (-6,))),
    ),
)


def _swing(a: EnergyAssumptions) -> Point:
    """Where a step of F = u² is so long that it leads as far behind the minimum, if the start is none."""
    first = {"attention": 1, "zero": 0}.get(a.initial_state, 3)
    values = ((en.A_, ((1,),)), (en.V_, ((1,),)), (en.ETA, 1), (en.Z_, ((first,),)))
    return Point(((N, 1), (DV, 1)), values)


def _settles(a: EnergyAssumptions, text: str) -> Any:
    """The loop for one F under the assumptions: it stays where it starts, or goes to some limit."""
    still, values = stationary(a, text), slope_values(text)
    if a.initial_state == "attention" and still:
        return Identity(en.descent(theory.regularised(a, text), eta), AV, given=(AT_AV,))
    if values is not None and not still and any(end.is_Rational for end in values.args[:2]):
        return _rest(theory.weight(a, text, en.c(j)), values)
    swing = _swing(a) if text == "u^2" else None
    return Limit(en.Z_, en.descent(theory.regularised(a, text), eta), None, orbit=swing)


def _algorithm(a: EnergyAssumptions) -> Any:
    """The loop settles, for each F that the assumptions allow, from the start that they name."""
    if a == EnergyAssumptions():
        return Family(_loop(en.F), tuple((n, _loop(f)) for n, f in FUNCTIONS))
    cases = tuple((f"F(u) = {text}", _settles(a, text)) for text in theory.functions(a))
    return Family(_loop(en.F), cases) if a.F == "any" else cases[0][1]


def start(a: EnergyAssumptions) -> Term:
    """Where the loop starts: AV, 0, or AV + W for any W."""
    return {"attention": AV, "zero": zeros(N, DV)}.get(a.initial_state, AV + W)


def _returns(a: EnergyAssumptions) -> All:
    """The loop returns AV: at once from AV; from another start it need not."""
    matched, point = en.energy(en.F) + en.matching(), start(a)
    square = regularised(en.square)
    return All(
        _stays(at_point(en.descent(matched, eta), en.Z_, point), label="any F, weights F'(c_j)"),
        _stays(at_point(en.descent(square, eta), en.Z_, point), c=True, label="F = u² with (75)"),
    )


def _stays(step: Term, c: bool = False, label: str = "") -> Identity:
    return Identity(step, AV, given=(C_RULE,) if c else (), label=label)


claim(
    HERE + "prose-algorithm",
    "Section 7",
    "The algorithm as a whole",
    theory="energy",
    words="For F linear, quadratic, polynomial or exponential, the loop (79) started at (71) settles at a "
    "state that has its gradient zero.",
    literal=_algorithm,
    corrected=_returns,
    correction_words="With F'(c_j) for 2c_j the loop started at AV returns AV, for every F, step size and "
    "number of steps. So does the printed algorithm for F = u²: its non-linear head is the linear head.",
    assumes=(SMOOTH, STARTED),
    rests_on=(HERE + "eq71", HERE + "eq76", HERE + "eq79"),
    legs=(legs.loop, solver_legs.printed_weights),
    where=ETA_WHERE,
    notes="As printed: for F = u the state moves by -ηA diag(1 - 2c)V in every step; Section 7.1 and Table 1 "
    "spare the linear head the descent (farooq2025/prose-linear-steps). For F = u⁴ and one token of value 4 "
    "the stationary state is 1/2, not AV = 4. For F = exp the energy has no lower bound and no stationary "
    "state as soon as some c_j < 0 and the u_j are independent as linear functions of Z.",
)

claim(
    HERE + "prose-linear-steps",
    "Section 7.1",
    "The linear head needs no descent",
    words="For F(u) = u, with the regulariser of Table 1, steps 4 to 7 are not required: the regularised "
    "energy is 0 at every state.",
    literal=Identity(en.energy(lambda x: x) - en.pairing(), as_term(0)),
    rests_on=(HERE + "tab1-step5",),
    where=WHERE,
    notes="So no descent moves anything, and AV is put in by hand. With the regulariser (75) as printed for "
    "all F, descent would diverge unless the gradient, A diag(1 - 2c)V at every state, is 0: see "
    "prose-algorithm.",
)
