"""When is attention on given keys and values exactly the optimal fit of program (5)? An answer, with its
proof.

The question is left open in Section 6 of the paper. With b = 0, exponential features and h the kernel sum,
write β_j(d) = h(k_j) v_j(d) and f for the attention output with the keys as queries. Attention with values V
solves (5) if

  |β_j(d)| <= C, and y_j(d) = f_j(d) + ε sign v_j(d) where 0 < |β_j(d)| < C, |y_j(d) - f_j(d)| <= ε where
  v_j(d) = 0, and y_j(d) - f_j(d) >= ε (or <= -ε) where β_j(d) = C (or -C),

and, for distinct keys, only if.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from checks.claim import Assumption, claim
from checks.kinds.implication import Implication
from checks.kinds.programs import Convex, Dual
from checks.leg import Legs, Named
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    EXPONENTIAL,
    KERNEL_SUM,
    LOSS,
    NOTATION,
    attention,
    softmax_lines,
)
from checks.statement import All, Fact, Given, Identity, occurring
from derivations.calculus.index import Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import as_term, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import DV, C, N, SvrAssumptions, d, f_, i, j

legs = Legs("checks.papers.nguyen2023.legs.converse")

v, h_k, phi_k = (as_term(t) for t in (svr.v, svr.h_k, svr.phi_k))
alpha, alpha_t, eta, eta_t = (as_term(t)[j, d] for t in (svr.alpha, svr.alpha_t, svr.eta, svr.eta_t))
xi, xi_t, y = (as_term(t)[j, d] for t in (svr.xi, svr.xi_t, svr.y))
eps, c = as_term(svr.epsilon), as_term(C)
f = as_term(Tensor("f", (N, DV), "f", "", r"\boldsymbol{f}_{%1}(%2)"))[j, d]
sign = as_term(Tensor("sigma", (N, DV), r"\sigma", "", r"\sigma_{%1}(%2)"))[j, d]
beta = h_k[j] * v[j, d]
one = as_term(1)
EPS = Fact("epsilon", eps, ">=")


def _weights_are_stationary(a: SvrAssumptions) -> Identity:
    """The stationarity condition (8), solved, gives W = Σ_j v_j Φ(k_j)ᵀ when α - α̃ = h v."""
    solved, at = svr.dual(a).solved[svr.w], svr.dual(a).at[svr.w]
    tensor, rule = svr.value_rule(a)
    weights = Raw((), solved) if at == (d, f_) else as_term(0)
    return Identity(
        weights,
        sum_over(j, v[j, d] * phi_k[j, f_]),
        given=(Given(tensor, (j, d), rule, "the multipliers are chosen so that α - α̃ = h v"),),
        nonzero=occurring((svr.h_k,), weights, rule),
        label="stationarity in w",
        reason="h(k_j) cancels",
    )


def _sufficient(a: SvrAssumptions) -> tuple[Any, ...]:
    """The optimality conditions at the point ξ = ξ̃ = 0, α = max(β, 0), α̃ = max(-β, 0), y = f + ε σ
    with σ the sign of β.
    """
    target = Fact("targets", y - f - eps * sign, "=")
    upper, lower = Fact("σ ≤ 1", one - sign, ">="), Fact("σ ≥ -1", one + sign, ">=")
    positive, negative = (
        Fact("σ = 1 where α > 0", alpha * (sign - one), "="),
        Fact("σ = -1 where α̃ > 0", alpha_t * (sign + one), "="),
    )
    inside = Fact("residual", eps - (y - f), ">=")
    return (
        Identity(attention(a), softmax_lines(False)[1], label="the expansion is attention"),
        Dual(
            svr.primal(a),
            (
                (svr.xi, c - as_term(svr.alpha)[i, d] - as_term(svr.eta)[i, d]),
                (svr.xi_t, c - as_term(svr.alpha_t)[i, d] - as_term(svr.eta_t)[i, d]),
            ),
            label="the conditions on the multipliers",
        ),
        Identity(
            charged := Raw((), dict(svr.dual(a).complementarity).get(svr.alpha, as_term(0).entry())),
            as_term(svr.y)[j, d] - svr.fit(d, j, a) - eps - xi,
            nonzero=occurring((svr.h_k,), charged, svr.fit(d, j, a)),
            label="what α multiplies",
        ),
        _weights_are_stationary(a),
        Implication(
            (target, upper, EPS),
            inside,
            label="primal constraint above, without slack",
        ),
        Implication(
            (target, lower, EPS),
            Fact("residual", eps + (y - f), ">="),
            label="primal constraint below, without slack",
        ),
        Implication(
            (target, positive),
            Fact("α times its slack", alpha * (eps - (y - f)), "="),
            label="complementarity of α",
        ),
        Implication(
            (target, negative),
            Fact("α̃ times its slack", alpha_t * (eps + (y - f)), "="),
            label="complementarity of α̃",
        ),
        Convex(svr.primal(a), label="the optimality conditions are sufficient"),
    )


def _sufficient_at_the_bound() -> tuple[Implication, ...]:
    """The same where β = C and the target is above the tube: the slack is what it is above, and η = 0."""
    above, paid = Fact("y ≥ f + ε", y - f - eps, ">="), Fact("ξ = y - f - ε", xi - (y - f - eps), "=")
    return (
        Implication(
            (paid, above),
            Fact("slack", xi, ">="),
            label="β = C: the slack is allowed",
        ),
        Implication(
            (paid,),
            Fact("α times its slack", alpha * (eps + xi - (y - f)), "="),
            label="β = C: complementarity of α",
        ),
        Implication(
            (Fact("(9)", c - alpha - eta, "="), Fact("α = C", c - alpha, "=")),
            Fact("η ξ", eta * xi, "="),
            label="β = C: complementarity of η",
        ),
        Implication(
            (above, EPS),
            Fact("residual", eps + (y - f), ">="),
            label="β = C: primal constraint below, without slack",
        ),
    )


# What the optimality conditions say of C and y, once α - α̃ = h v. With ε = 0 both multipliers of one residual
# may be positive, so none of them is supposed to be zero.
PRODUCT = Fact("α times its slack", alpha * (eps + xi - (y - f)), "=")
OPPOSITE = Fact("α̃ times its slack", alpha_t * (eps + xi_t + (y - f)), "=")
CHARGED = Fact("η ξ", eta * xi, "=")
NINE = Fact("(9)", c - alpha - eta, "=")
VALUES = Fact("values", alpha - alpha_t - beta, "=")
NO_SLACK, LOWER_SLACK = Fact("ξ = 0", xi, "="), Fact("xi~", xi_t, ">=")
ONE_SIDED = Fact("no slack where α̃ > 0", -(alpha_t * xi), ">=")
POSITIVE, BELOW = Fact("α > 0", alpha, ">"), Fact("alpha~", alpha_t, ">=")


def _where_positive() -> tuple[Implication, ...]:
    """What they say where β > 0; ξ ≤ 0 is what is left to show of ξ = 0."""
    return (
        Implication(
            (VALUES, NINE, Fact("eta", eta, ">="), BELOW),
            Fact("C - β", c - beta, ">="),
            label="β ≤ C",
        ),
        Implication(
            (VALUES, BELOW),
            Fact("α - β", alpha - beta, ">="),
            label="β ≤ α",
        ),
        Implication(
            (PRODUCT, OPPOSITE, LOWER_SLACK, EPS, BELOW, POSITIVE),
            ONE_SIDED,
            label="0 < β: no slack where α̃ > 0",
        ),
        Implication(
            (VALUES, NINE, CHARGED, ONE_SIDED, Fact("β < C", c - beta, ">")),
            Fact("-ξ", -xi, ">="),
            label="0 < β < C: no slack",
        ),
        Implication(
            (PRODUCT, NO_SLACK, POSITIVE),
            Fact("y - f = ε", eps - (y - f), "="),
            label="0 < β < C: y = f + ε",
        ),
    )


def _where_zero() -> tuple[Implication, ...]:
    """The same where v = 0, and so α = α̃."""
    equal = Fact("v = 0", alpha - alpha_t, "=")
    signs = (LOWER_SLACK, EPS, Fact("alpha", alpha, ">="), Fact("C > 0", c, ">"))
    return (
        Implication(
            (PRODUCT, OPPOSITE, CHARGED, NINE, equal, *signs),
            Fact("-ξ", -xi, ">="),
            (
                ("α times its slack", -one),
                ("α̃ times its slack", -one),
                ("η ξ", -one),
                ("(9)", -xi),
                ("v = 0", -(eps + xi_t + (y - f))),
                ("xi~", alpha),
                ("epsilon", 2 * alpha),
            ),
            (("C > 0", Fraction(1)),),
            label="v = 0: no slack",
        ),
        Implication(
            (Fact("feasible", eps + xi - (y - f), ">="), NO_SLACK),
            Fact("residual", eps - (y - f), ">="),
            label="v = 0: y ≤ f + ε",
        ),
    )


AT_THE_BOUND = Implication(
    (PRODUCT, Fact("xi", xi, ">="), POSITIVE),
    Fact("y - f ≥ ε", y - f - eps, ">="),
    label="β = C: y ≥ f + ε",
)


def _statement(a: SvrAssumptions) -> All:
    fits = (*_sufficient(a), *_sufficient_at_the_bound())
    return All(*fits, *_where_positive(), *_where_zero(), AT_THE_BOUND)


DISTINCT = Assumption("distinct keys", "no two keys are equal; needed for the converse direction only")

claim(
    "nguyen2023/prose-converse",
    "Section 6 (future work)",
    "Which attention layers are optimal regressions",
    theory="svr",
    words=(
        "A question that Section 6 leaves open, answered here: for given keys and values, attention is the "
        "optimal fit of (5) for suitable targets, every ε ≥ 0 and every C that is "
        "at least the largest |h(k_j) v_j(d)|; for distinct keys and a larger C the targets are determined "
        "up to the tube."
    ),
    literal=_statement,
    under=(("bias", "off"),),
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS, DISTINCT),
    rests_on=("nguyen2023/thm1", "nguyen2023/eq9", "nguyen2023/rem1"),
    legs=(
        legs.exact_instance,
        legs.solver_recovers_values,
        legs.independent_features,
        Named("checks.papers.nguyen2023.legs.rows", "attention_is_the_fit"),
    ),
    where=NOTATION + r" Further $\boldsymbol{f}_j$ is the attention output at key $j$, "
    r"$\beta_j(d)=h(\boldsymbol{k}_j)\boldsymbol{v}_j(d)$, $\sigma$ the sign of $\beta$, and any number of "
    r"$[-1,1]$ where $\beta=0$; $C$ is the weight of the slacks, $\epsilon$ the residual that costs nothing, "
    r"$C^*=\max|\beta_j(d)|$.",
    notes="Sufficiency: α = max(β, 0), α̃ = max(-β, 0) and y = f + ε σ without slack satisfy all optimality "
    "conditions, and the program is convex. "
    "Necessity: a function that is both an optimal fit and this attention has one representation in linearly "
    "independent features, so α - α̃ = h v; the rest is read off the conditions. That the features at "
    "distinct keys are independent is classical (exponentials with different rates are independent) and is "
    "checked here on exact instances. The cases β < 0 mirror those shown. With a bias it is so too, with b = "
    "Σ_j h(k_j) v_j / Σ_j h(k_j) and v_j - b in place of v_j; only a bias that is to come out as 0 needs Σ_j "
    "β_j(d) = 0. With repeated keys only the sum of their weights is determined.",
)
