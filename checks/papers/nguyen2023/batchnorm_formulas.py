"""Formulas of attention with batch normalisation: equations (19) to (24), (31) and Definition 1."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import Assumption
from checks.kinds.programs import Convex
from checks.papers.nguyen2023.program_lines import lines_of
from checks.papers.nguyen2023.theorem1_formulas import H
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Hadamard, Term, as_term, exp, size, softmax, sqrt, stack, sum_over
from derivations.theories.svr import attentions as sa
from derivations.theories.svr import variants as sv
from derivations.theories.svr.attentions import K, Q, V, bn_eps, c, mu, scale
from derivations.theories.svr.regression import DV, D, N, SvrAssumptions, d, i, j

jp, l = Index("j'", N), Index("l", N)
STATISTICS_OF_KEYS = Assumption(
    "statistics of the keys",
    "queries and keys are centred and scaled by mean and deviation of the keys, whose number divides both",
    "statistics",
    "mean_and_variance",
)
BN_EPS = Assumption("bn_eps_positive", "the ε under the root of the deviation is positive")
variance = Tensor("sigma^2", (D,), r"\boldsymbol{\sigma}^2", "", r"\sigma^2_{%1}")
# σ² + ε as one positive symbol, so that it may be divided by
spread = Tensor("sigma^2+eps", (D,), r"\sigma^2+\epsilon", "", r"(\sigma^2_{%1}+\epsilon)", positive=True)
x = Tensor("x", (D,), r"\boldsymbol{x}", "", r"\boldsymbol{x}(%1)")
f_x = Tensor("f(x)", (DV,), r"f(\boldsymbol{x})", "", r"f(\boldsymbol{x})(%1)")
q_, k_, v_ = as_term(Q), as_term(K), as_term(V)

MEAN = Given(mu, (c,), 1 / size(N) * sum_over(j, k_[j, c]), "mean of the keys (20)")
VARIANCE = Given(
    variance, (c,), 1 / size(N) * sum_over(j, (k_[j, c] - as_term(mu)[c]) ** 2), "variance of the keys (20)"
)
SCALE = Given(scale, (c,), 1 / sqrt(as_term(variance)[c] + as_term(bn_eps)), "inverse scale (20)")
STATISTICS = (MEAN, VARIANCE, SCALE)
SPREAD = Given(spread, (c,), as_term(variance)[c] + as_term(bn_eps), "the square of the deviation (20)")
POSITIVE_SCALE = replace(scale, positive=True)
ANY_SCALE = Given(
    spread,
    (c,),
    as_term(POSITIVE_SCALE)[c] ** -2,
    "(20), read as a definition of σ² + ε by s: any scale s will do",
)
VECTORS = (
    r"Keys $\boldsymbol{k}_j\in\mathbb{R}^D$; queries $\boldsymbol{q}_i\in\mathbb{R}^D$; values "
    r"$\boldsymbol{v}_j\in\mathbb{R}^{D_v}$; "
)
WHERE = VECTORS + (
    r"$\boldsymbol{\mu}$, $\boldsymbol{\sigma}^2$: mean and variance of the $N$ keys, coordinate by "
    r"coordinate; $\mathbf{s}^{-1}=[1/\sqrt{\sigma_d^2+\epsilon}]_{d=1}^{D}$, and $\odot$ the product of "
    r"coordinates."
)
FITTED = (
    r" $\Phi$, $h$, the intercept $\boldsymbol{b}$ and the multipliers "
    r"$\boldsymbol{\alpha}_j,\tilde{\boldsymbol{\alpha}}_j,\boldsymbol{\eta}_j,\tilde{\boldsymbol{\eta}}_j$ "
    r"as in (4) to (6), the keys normalised. "
    "The left side of (b) is not printed: the fitted function with the weights that the dualiser finds, by "
    "entries."
)


def normalised(vector: Term, by: Tensor = scale) -> Term:
    """(vector - μ) ⊙ s^{-1}."""
    return Hadamard((vector - as_term(mu), as_term(by)))


Z = r"(\boldsymbol{x}-\boldsymbol{\mu})\odot\mathbf{s}^{-1}"
KEY = r"(\boldsymbol{k}_{%1}-\boldsymbol{\mu})\odot\mathbf{s}^{-1}"
BN = sv.Variant.at("bn", KEY, Z)


def statistics() -> All:
    """The three definitions of (20)."""
    return All(
        Definition(as_term(mu), 1 / size(N) * sum_over(j, k_[j]), label="mean"),
        Definition(as_term(scale), stack(c, SCALE.value), (MEAN, VARIANCE), label="scale"),
        Definition(as_term(variance)[c], VARIANCE.value, (MEAN,), label="variance"),
    )


def own_statistics(a: SvrAssumptions) -> Identity:
    """A key as the theory normalises it, against the printed statistics written out."""
    centred, spread_out = k_[i, c] - MEAN.value, (k_[j, c] - 1 / size(N) * sum_over(l, k_[l, c])) ** 2
    return Identity(
        sa.normalised(a, k_[i])[c],
        centred / sqrt(1 / size(N) * sum_over(j, spread_out) + as_term(bn_eps)),
        statistics_of(a)[:2],
        label="a normalised key, with its statistics written out",
    )


def mean_of(a: SvrAssumptions) -> Given:
    """μ as the theory has it."""
    return replace(MEAN, value=sa.centre(a))


def statistics_of(a: SvrAssumptions) -> tuple[Given, ...]:
    """Mean and scale as the theory has them; where nothing is divided, the scale is 1."""
    spread_of = sa.spread(a)
    return (mean_of(a), replace(SCALE, value=1 / sqrt(spread_of)), replace(SPREAD, value=spread_of))


def score(query: Term, key: Term) -> Term:
    """The scaled inner product."""
    return query.T @ key / sqrt(size(D))


def attention_bn(query: Term, by: Tensor = scale) -> Term:
    """Formula (22) for one query."""
    return sum_over(j, softmax(j, score(normalised(query, by), normalised(k_[j], by))) * v_[j])


def expansion(fit: sv.Variant) -> Identity:
    """The expansion of a program on prepared keys, for any h, with the values as they are printed."""
    j, h = fit.j, fit.h_x
    kernel = as_term(fit.phi_x).T @ as_term(fit.phi)[j]
    return Identity(
        stack(d, Raw((), sv.expansion(fit))),
        sum_over(j, kernel / as_term(h) * as_term(fit.v)[j]) + as_term(fit.b),
        (lines_of(fit).values("the definition of the values"),),
        nonzero=(fit.h, h),
        label="the expansion, for any h",
    )


def _expansion() -> Identity:
    return replace(expansion(BN), reason="the weights of the stationarity condition, put into (19)")


def _with_h(key: Term, label: str, statistics: tuple[Given, ...], **sizes: int) -> Identity:
    """(21) with b = 0 and h the sum of the kernel over ``key`` (free index j'), against (22)."""
    z = normalised(as_term(x))
    weights = exp(score(z, normalised(k_[j]))) / sum_over(jp, exp(score(z, key)))
    return Identity(
        sum_over(j, weights * v_[j]),
        attention_bn(as_term(x)),
        statistics,
        sizes=tuple(sizes.items()),
        label=label,
    )


def eq21() -> All:
    label = "with the h of the text, the sum over the raw keys, (21) becomes (22)"
    return All(_with_h(k_[jp], label, STATISTICS, D=1, N=2, D_v=1), _expansion())


PAPER = SvrAssumptions(bias="off")
VALUES = {BN.without_bias().v: V}


def derived_bn(query: Tensor, a: SvrAssumptions = PAPER) -> Term:
    """What the program on normalised keys becomes under the assumptions, with its statistics, kernel
    and h.
    """
    query_, key = (sa.normalised(a, t) for t in (as_term(query), k_[j]))
    return stack(d, Raw((), sv.renamed(sv.regenerated(BN, a, query_, key, (j, k_[j])), VALUES)))


def eq21_corrected(a: SvrAssumptions) -> All:
    return All(
        Convex(BN.under(a).program(), label="the program is convex: the statistics are constants"),
        _expansion(),
        _with_h(
            normalised(k_[jp]),
            "with h the sum over the normalised keys, (21) becomes (22), for any centre and scale",
            (),
            D=4,
            N=2,
            D_v=1,
        ),
        Identity(
            derived_bn(x, a),
            attention_bn(as_term(x)),
            (mean_of(a),),
            label="the same from the program on normalised keys",
        ),
    )


def definition_22() -> Definition:
    """(22) with its statistics."""
    return Definition(as_term(H)[i], attention_bn(q_[i]), STATISTICS)


m = as_term(mu)
qd, kd, md = q_[i, c], k_[j, c], m[c]
kp, below = k_[jp, c], sqrt(size(D)) * as_term(spread)[c]
inner_mean = 1 / size(N) * sum_over(jp, k_[jp, c] * k_[j, c])


def soft(numerator: Term) -> Term:
    """Σ_j softmax(Σ_d numerator / (√D (σ_d² + ε))) v_j."""
    return sum_over(j, softmax(j, sum_over(c, numerator / below)) * v_[j])


def _ratio(at_j: Term, at_jp: Term) -> Term:
    return sum_over(j, at_j / sum_over(jp, at_jp) * v_[j])


def _exp(numerator: Term) -> Term:
    return exp(sum_over(c, numerator / below))


LAST_LINE = soft(qd * kd - inner_mean)
EXPANDED = qd * kd - qd * md - md * kd + md * md
EXPANDED_P = qd * kp - qd * md - md * kp + md * md
REST = _exp(md * md - qd * md)
LINES = (
    Link(soft(EXPANDED), "the product multiplied out"),
    Link(_ratio(_exp(EXPANDED), _exp(EXPANDED_P)), "softmax written as a fraction"),
    Link(_ratio(_exp(qd * kd - md * kd) * REST, _exp(qd * kp - md * kp) * REST), "exp of a sum is a product"),
    Link(_ratio(_exp(qd * kd - md * kd), _exp(qd * kp - md * kp)), "the second factor does not depend on j"),
    Link(soft(qd * kd - md * kd), "the fraction is a softmax"),
)
SIZES = (("D", 4), ("N", 2), ("D_v", 1))
