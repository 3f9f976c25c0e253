"""When is attention on given keys and values exactly the optimal fit of program (5)? An answer, with its proof.

The question is left open in Section 6 of the paper. With b = 0, exponential features and h the kernel sum, write
β_j(d) = h(k_j) v_j(d) and f for the attention output with the keys as queries. Attention with values V solves (5) if

  |β_j(d)| <= C, and y_j(d) = f_j(d) + ε sign v_j(d) where 0 < |β_j(d)| < C, |y_j(d) - f_j(d)| <= ε where v_j(d) = 0, and
  y_j(d) - f_j(d) >= ε (or <= -ε) where β_j(d) = C (or -C),

and, for distinct keys, only if.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from checks.claim import Assumption, Options, claim
from checks.evidence import Evidence
from checks.kinds.implication import Implication
from checks.kinds.programs import Convex, Dual
from checks.papers.nguyen2023 import theorem1_legs as legs
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    EXPONENTIAL,
    KERNEL_SUM,
    LOSS,
    NOTATION,
    attention,
    softmax_lines,
)
from checks.statement import All, Fact, Given, Identity
from derivations.calculus.index import Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import as_term, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import DV, C, N, SvrAssumptions, d, f_, i, j
from solvers.definiteness import is_psd
from solvers.rational_instances import exact_exponential_gram
from solvers.svr_problem import SvrProblem

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
    return Identity(
        Raw((), solved) if at == (d, f_) else as_term(0),
        sum_over(j, v[j, d] * phi_k[j, f_]),
        given=(Given(tensor, (j, d), rule, "the multipliers are chosen so that α - α̃ = h v"),),
        nonzero=(svr.h_k,),
        label="stationarity in w",
        reason="h(k_j) cancels",
    )


def _sufficient(a: SvrAssumptions) -> tuple[Any, ...]:
    """The optimality conditions at the point ξ = ξ̃ = 0, α = max(β, 0), α̃ = max(-β, 0), y = f + ε σ with σ the sign of β."""
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
            Raw((), dict(svr.dual(a).complementarity).get(svr.alpha, as_term(0).entry())),
            as_term(svr.y)[j, d] - svr.fit(d, j, a) - eps - xi,
            nonzero=(svr.h_k,),
            label="what α multiplies",
        ),
        _weights_are_stationary(a),
        Implication(
            (target, upper, EPS),
            inside,
            (("targets", -one), ("σ ≤ 1", eps)),
            label="primal constraint above, without slack",
        ),
        Implication(
            (target, lower, EPS),
            Fact("residual", eps + (y - f), ">="),
            (("targets", one), ("σ ≥ -1", eps)),
            label="primal constraint below, without slack",
        ),
        Implication(
            (target, positive),
            Fact("α times its slack", alpha * (eps - (y - f)), "="),
            (("targets", -alpha), ("σ = 1 where α > 0", -eps)),
            label="complementarity of α",
        ),
        Implication(
            (target, negative),
            Fact("α̃ times its slack", alpha_t * (eps + (y - f)), "="),
            (("targets", alpha_t), ("σ = -1 where α̃ > 0", eps)),
            label="complementarity of α̃",
        ),
        Convex(svr.primal(a), label="the optimality conditions are sufficient"),
    )


def _necessary() -> tuple[Implication, ...]:
    """What the optimality conditions say of C and y, once α - α̃ = h v."""
    product = Fact("α times its slack", alpha * (eps + xi - (y - f)), "=")
    charged = Fact("η ξ", eta * xi, "=")
    nine = Fact("(9)", c - alpha - eta, "=")
    feasible = Fact("feasible", eps + xi - (y - f), ">=")
    unit, strict = (("α > 0", Fraction(1)),), Fact("α > 0", alpha, ">")
    no_slack = Fact("ξ = 0", xi, "=")
    values = Fact("values", alpha - alpha_t - beta, "=")
    return (
        Implication(
            (values, nine, Fact("eta", eta, ">="), Fact("alpha~", alpha_t, ">=")),
            Fact("C - β", c - beta, ">="),
            (("values", one), ("(9)", one), ("eta", one), ("alpha~", one)),
            label="β ≤ C",
        ),
        Implication(
            (charged, Fact("α < C", eta, ">")),
            Fact("slack", xi, "="),
            (("η ξ", one),),
            (("α < C", Fraction(1)),),
            label="0 < β < C: no slack",
        ),
        Implication(
            (product, no_slack, strict),
            Fact("y - f = ε", eps - (y - f), "="),
            (("α times its slack", one), ("ξ = 0", -alpha)),
            unit,
            label="0 < β < C: y = f + ε",
        ),
        Implication(
            (charged, nine, Fact("α = 0", alpha, "="), Fact("C > 0", c, ">")),
            Fact("slack", xi, "="),
            (("η ξ", one), ("(9)", xi), ("α = 0", xi)),
            (("C > 0", Fraction(1)),),
            label="v = 0: no slack",
        ),
        Implication(
            (feasible, no_slack),
            Fact("residual", eps - (y - f), ">="),
            (("feasible", one), ("ξ = 0", -one)),
            label="v = 0: y ≤ f + ε",
        ),
        Implication(
            (product, Fact("xi", xi, ">="), strict),
            Fact("y - f ≥ ε", y - f - eps, ">="),
            (("α times its slack", -one), ("xi", alpha)),
            unit,
            label="β = C: y ≥ f + ε",
        ),
    )


def _statement(a: SvrAssumptions) -> All:
    return All((*_sufficient(a), *_necessary()))


# ---------------------------------------------------------------- exact and solver legs

_LABELS = np.array([[-1], [0], [2], [1]], dtype=object)
_VALUES = np.array([[Fraction(1)], [Fraction(-1, 2)], [Fraction(0)], [Fraction(1, 3)]], dtype=object)
_EPSILON = Fraction(1, 8)


def _instance() -> tuple[Any, Any, Any, Any]:
    """Keys, the attention output f at the keys, β = h v, and the targets f + ε sign v: all rational."""

    gram = exact_exponential_gram(_LABELS)
    output = gram.kernel @ _VALUES / gram.normaliser[:, None]
    multiplier = gram.normaliser[:, None] * _VALUES
    signs = np.array([[Fraction((x > 0) - (x < 0)) for x in row] for row in _VALUES], dtype=object)
    return gram, output, multiplier, signs


def exact_instance(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """With the theorem's targets and the smallest C the certificate is exactly zero; each deviation is rejected."""

    started = time.perf_counter()
    gram, output, multiplier, signs = _instance()
    smallest = max(abs(x) for x in multiplier.flat)

    def accepted(targets: Any, box: Fraction) -> bool:
        problem = SvrProblem(gram.gram, targets, box, _EPSILON, "epsilon_insensitive", bias=False)
        return problem.certificate(multiplier, np.array([Fraction(0)], dtype=object)).accepts(0)

    targets = output + _EPSILON * signs
    right = accepted(targets, smallest)
    wrong = {
        "C below its smallest value": accepted(targets, smallest * Fraction(999, 1000)),
        "targets on the wrong side": accepted(output - _EPSILON * signs, smallest),
        "targets equal to the fit": accepted(output, smallest),
        "targets outside the tube where v = 0": accepted(targets + 2 * _EPSILON * (1 - abs(signs)), smallest),
    }
    alive = [name for name, ok in wrong.items() if ok]
    detail = (
        f"C* = {smallest}: zero residuals; {len(wrong)} deviations rejected"
        if not alive
        else f"accepted: {', '.join(alive)}"
    )
    return [
        Evidence(
            "exact",
            "exact-rational",
            right and not alive,
            detail,
            backend="kernel certificate",
            seconds=time.perf_counter() - started,
        )
    ]


def solver_recovers_values(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """A solver that sees only keys and targets finds the values again: v = (α - α̃)/h."""
    from solvers.svr import polish, solve_dual, solve_libsvm

    gram, output, multiplier, signs = _instance()
    box = 2.0 * float(max(abs(x) for x in multiplier.flat))
    targets = (output + _EPSILON * signs).astype(float)
    problem = SvrProblem(
        gram.gram.astype(float), targets, box, float(_EPSILON), "epsilon_insensitive", bias=False
    )
    found = []
    for name, route in (
        ("Clarabel", solve_dual),
        ("scikit-learn SVR, polished", lambda p: polish(p, solve_libsvm(p))),
    ):
        answer = route(problem)
        values = answer.beta / gram.normaliser.astype(float)[:, None]
        error = float(np.abs(values - _VALUES.astype(float)).max())
        found.append(
            Evidence(
                "solver",
                "certified-float",
                error <= legs.ACCEPTED,
                "values found from the targets alone",
                error=error,
                bound=legs.ACCEPTED,
                backend=name,
                seconds=answer.seconds,
            )
        )
    return found


def independent_features(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """The Gram matrix of the exponential kernel at distinct keys is nonsingular, and singular with a repeated key."""
    from solvers.exact import nullspace

    distinct = exact_exponential_gram(
        np.array([[0, 0], [1, 0], [0, 1], [-1, 2], [2, 1]], dtype=object)
    ).kernel
    repeated = exact_exponential_gram(np.array([[0, 1], [1, 0], [0, 1]], dtype=object)).kernel
    passed = is_psd(distinct)[0] and nullspace(distinct).shape[1] == 0 and nullspace(repeated).shape[1] == 1
    return [
        Evidence(
            "exact",
            "exact-rational",
            passed,
            "five distinct keys: no null vector; a repeated key: one",
            backend="rational elimination",
        )
    ]


def attention_is_the_fit(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """The optimality certificate on long sequences, streamed; a smaller C and wrong targets are rejected."""
    import torch

    from checks.tensors.core.inputs import make_instance
    from checks.tensors.svr.converse import certify, fit_keys

    found = []
    for n in legs.ladder(options):
        instance = make_instance(n, dtype=options.dtype, device=options.device, seed=options.seed)
        fit = fit_keys(instance.k, instance.v)
        record = certify(fit, 0.5)
        targets = fit.targets(0.5)
        wrong = {
            "C below its smallest value": certify(fit, 0.5, fit.log_c_star - 0.01),
            "targets on the wrong side": certify(fit, 0.5, None, 2 * fit.attention.double() - targets),
            "targets equal to the fit": certify(fit, 0.5, None, fit.attention.double()),
            "a fit of zero": certify(replace(fit, kernel=torch.zeros_like(fit.kernel)), 0.5, None, targets),
        }
        alive = [name for name, c in wrong.items() if c.accepted]
        worst = max(record.residuals, key=lambda r: r.ratio)
        detail = f"log C* = {record.log_c_star:.6g}; worst residual: {worst.name}; {len(wrong)} deviations rejected"
        found.append(
            Evidence(
                "tensor",
                "certified-float",
                record.accepted and not alive,
                detail if not alive else f"accepted: {', '.join(alive)}",
                worst.error,
                worst.bound,
                n,
                record.dtype,
                record.device,
                record.backend,
                record.seconds,
                record.peak_bytes,
            )
        )
    return found


DISTINCT = Assumption("distinct keys", "no two keys are equal; needed for the converse direction only")

claim(
    "nguyen2023/prose-converse",
    "Section 6 (future work)",
    "Which attention layers are optimal regressions",
    theory="svr",
    words=(
        "For given keys and values, attention is the optimal fit of (5) for suitable targets, every ε ≥ 0 and every C that is "
        "at least the largest |h(k_j) v_j(d)|; the targets are determined up to the tube, and for distinct keys there are no others."
    ),
    literal=_statement,
    under=(("bias", "off"),),
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS, DISTINCT),
    rests_on=("nguyen2023/thm1", "nguyen2023/eq9", "nguyen2023/rem1"),
    legs=(exact_instance, solver_recovers_values, independent_features, attention_is_the_fit),
    where=NOTATION
    + r" Further $\boldsymbol{f}_j$ is the attention output at key $j$, $\beta_j(d)=h(\boldsymbol{k}_j)\boldsymbol{v}_j(d)$, $\sigma$ the sign of $\beta$.",
    notes=(
        "Sufficiency: the listed point satisfies all optimality conditions, and the program is convex. Necessity: a function that is "
        "both an optimal fit and this attention has one representation in linearly independent features, so α - α̃ = h v; the rest is "
        "read off the conditions. That the features at distinct keys are independent is classical (exponentials with different rates "
        "are independent) and is checked here on exact instances. The cases β < 0 mirror those shown. With a bias, Σ_j β_j(d) = 0 is "
        "needed besides. With repeated keys only the sum of their weights is determined."
    ),
)
