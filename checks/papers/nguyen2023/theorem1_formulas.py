"""Formulas of theorem 1 and what leads to it: equations (1), (2), (4) to (15), Remarks 1, 2 and 4."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import sympy as sp

from checks.claim import Assumption
from checks.kinds.implication import Implication
from checks.papers.nguyen2023.program_lines import FIVE, slope
from checks.statement import All, Fact, Given, Identity, Link
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, exp, size, softmax, sqrt, stack, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr.attentions import K, Q, V
from derivations.theories.svr.regression import DV, C, D, N, SvrAssumptions, d, f_, i, j

jp, of = Index("j'", N), Index("c", D)
H = Tensor("H", (N, DV), r"\mathbf{H}", r"\boldsymbol{h}_{%1}", r"\boldsymbol{h}_{%1}(%2)")
f_x = Tensor("f(x)", (DV,), r"f(\boldsymbol{x})", "", r"f(\boldsymbol{x})(%1)")
q, k, v, w, b, x, y = (as_term(t) for t in (Q, svr.k, svr.v, svr.w, svr.b, svr.x, svr.y))
alpha, alpha_t, eta, eta_t = (as_term(t) for t in (svr.alpha, svr.alpha_t, svr.eta, svr.eta_t))
xi, xi_t, eps, c = (as_term(t) for t in (svr.xi, svr.xi_t, svr.epsilon, C))
phi_k, phi_x, h_k, h_x = (as_term(t) for t in (svr.phi_k, svr.phi_x, svr.h_k, svr.h_x))

TRAINED = (
    r"features $\Phi$ of width $D_\phi$; weights $\mathbf{W}$ with rows $\boldsymbol{w}_d$; intercept "
    r"$\boldsymbol{b}$; normaliser $h$; "
    r"slacks $\boldsymbol{\xi}_j,\tilde{\boldsymbol{\xi}}_j$; multipliers "
    r"$\boldsymbol{\alpha}_j,\tilde{\boldsymbol{\alpha}}_j$ of the two bounds of the residual; multipliers "
    r"$\boldsymbol{\eta}_j,\tilde{\boldsymbol{\eta}}_j$ of the slacks' signs."
)
CONSTANTS = r" $C$: the weight of the slacks; $\epsilon$: the residual that costs nothing."
NOTATION = (
    r"Keys $\boldsymbol{k}_j$ and targets $\boldsymbol{y}_j$, $j=1,\dots,N$, of widths $D$ and $D_v$; "
    r"input $\boldsymbol{x}$ of $f$; " + TRAINED
)
PROGRAM = NOTATION + CONSTANTS
VALUES = (
    r" The values are $\boldsymbol{v}_j(d)=(\boldsymbol{\alpha}_j(d)-\tilde{\boldsymbol{\alpha}}_j(d))/"
    r"h(\boldsymbol{k}_j)$."
)
LOSS = Assumption(
    "epsilon-insensitive loss",
    "residuals within ε are free, beyond it charged linearly",
    "loss",
    "epsilon_insensitive",
)
BIAS_ON = Assumption("bias", "the intercept b is a variable", "bias", "on")
BIAS_OFF = Assumption("no bias", "b = 0", "bias", "off")
UNBOUNDED = Assumption(
    "unbounded multipliers",
    "C is infinite: there are no slacks, and the multipliers have no upper bound",
    "box",
    "relaxed",
)
KERNEL_SUM = Assumption(
    "kernel-sum normaliser",
    "h(x) is the sum of the kernel values of x with the keys",
    "normaliser",
    "kernel_sum",
)
EXPONENTIAL = Assumption(
    "exponential features", "Φ lists the scaled monomials of (12)", "feature_map", "exponential"
)
H_NONZERO = Assumption("h_nonzero", "h does not vanish where it divides")
EPS_POSITIVE = Assumption("epsilon_positive", "ε > 0")
H_POSITIVE = Assumption("h_positive", "h(k_j) > 0")

score = q[i].T @ as_term(K)[j] / sqrt(size(D))
x_score = x.T @ k[j] / sqrt(size(D))
x_score_p = x.T @ k[jp] / sqrt(size(D))


def derived(a: SvrAssumptions) -> Term:
    """f(x) with the weights that stationarity gives, as a vector."""
    return stack(d, Raw((), svr.expansion(a)))


def stationarity(a: SvrAssumptions, variable: Tensor, *at: Index) -> Term:
    """∂L/∂variable at the given indices; 0 for a variable that the program does not have."""
    result = svr.dual(a)
    return slope(result, variable, *at) if variable in result.stationarity else as_term(0)


SUM_FORM = sum_over(j, softmax(j, score) * as_term(V)[j])

V_RULE = FIVE.values("definition of the values in Section 2.1")
LINE_ONE = stack(d, sum_over(j, (alpha[j, d] - alpha_t[j, d]) / h_k[j] * (phi_x.T @ phi_k[j] / h_x))) + b
LINE_TWO = sum_over(j, phi_x.T @ phi_k[j] / h_x * v[j]) + b

H_RULE = Given(svr.h_x, (), sum_over(jp, phi_x.T @ phi_k[jp]), "the choice of h in Section 2.1")
SUM_OF_KERNELS = sum_over(jp, phi_x.T @ phi_k[jp])


def in_values(a: SvrAssumptions) -> ix.Expr:
    """The derived expansion with α - α̃ = h v put in."""
    tensor, rule = svr.value_rule(a)
    return ix.define(
        svr.expansion(a), tensor, lambda *idx: ix.rename(rule.entry(), dict(zip((j, d), idx, strict=True)))
    )


def eq11(a: SvrAssumptions, nonzero: tuple[Tensor, ...]) -> All:
    first = sum_over(j, phi_x.T @ phi_k[j] / SUM_OF_KERNELS * v[j]) + b
    second = sum_over(j, (phi_x.T @ phi_k[j]) * v[j]) / SUM_OF_KERNELS + b
    expansion = stack(d, Raw((), to_expr(normal(in_values(a)))))
    return All(
        Identity(
            expansion, first, given=(H_RULE,), nonzero=nonzero, label="h inserted", reason="the choice of h"
        ),
        Identity(first, second, given=(H_RULE,), nonzero=nonzero, label="one fraction"),
    )


def count(width: int, degree: int) -> int:
    return sum(1 for n in product(range(degree + 1), repeat=width) if sum(n) == degree)


WIDTH, DEGREE = sp.Symbol("D", positive=True, integer=True), sp.Symbol("t", nonnegative=True, integer=True)
BINOMIAL = sp.gamma(WIDTH + DEGREE) / (sp.gamma(DEGREE + 1) * sp.gamma(WIDTH))

PARTIAL_SUM, LAST = sp.symbols("S z", real=True)


LETTERS = sp.symbols("z_1:5", real=True)


def multinomial(degree: int) -> sp.Expr:
    """Σ_{|n|=t} Π z_d^{n_d}/n_d! in four variables by brute force."""
    total = sp.Integer(0)
    for n in product(range(degree + 1), repeat=len(LETTERS)):
        if sum(n) == degree:
            total += sp.prod([x**e / sp.factorial(e) for x, e in zip(LETTERS, n, strict=True)])
    return total


def softmax_lines(with_b: bool) -> tuple[Term, Term]:
    fraction = exp(x_score) / sum_over(jp, exp(x_score_p))
    first, second = sum_over(j, fraction * v[j]), sum_over(j, softmax(j, x_score) * v[j])
    return (first + b, second + b) if with_b else (first, second)


def _in_kernel(a: SvrAssumptions) -> ix.Expr:
    # h(k_j) v_j / h(k_j) = v_j: h is positive for the kernels that this is used with
    return to_expr(normal(svr.in_kernel(in_values(a))))


def attention(a: SvrAssumptions) -> Term:
    """The expansion with the values, the kernel and the normaliser of the assumptions put in."""
    return stack(d, Raw((), svr.attention(a, _in_kernel(a))))


def fitted(a: SvrAssumptions) -> tuple[Given, ...]:
    """f(x) as the expansion that the dualiser derives, with the h and the kernel of the assumptions."""
    kappa = as_term(svr.kappa)
    h = () if a.normaliser == "one" else (Given(svr.h_x, (), sum_over(jp, kappa[jp]), "the choice of h"),)
    return (
        Given(f_x, (d,), Raw((), _in_kernel(a)), "the weights (8) put into (4), with the values v_j"),
        *h,
        Given(svr.kappa, (j,), Raw((), svr.kernel_at(a, j)), "(13) at x/D^{1/4} and k_j/D^{1/4}"),
    )


def softmax_attention(a: SvrAssumptions) -> All:
    """(14): f(x) as a fraction of exponentials and as softmax attention, with the intercept; then (2)."""
    first, second = softmax_lines(True)
    query = as_term(Tensor("q_i", (D,), r"\boldsymbol{q}_i", "", r"\boldsymbol{q}_i(%1)"))
    set_to = (Given(svr.x, (of,), query[of], "x = q_i"), Given(svr.b, (d,), as_term(0), "b = 0"))
    attended = sum_over(j, softmax(j, query.T @ k[j] / sqrt(size(D))) * v[j])
    return All(
        Identity(as_term(f_x), first, given=fitted(a), label="kernel and normaliser put in"),
        Identity(first, second, label="softmax"),
        Identity(as_term(f_x), attended, given=(*fitted(a), *set_to), label="(2)"),
    )


def theorem(a: SvrAssumptions) -> Identity:
    first, second = softmax_lines(False)
    return Identity(
        as_term(f_x),
        second,
        given=fitted(a),
        chain=(Link(first, "the kernel and the normaliser put in", printed=False),),
        reason="the fraction is the softmax over the keys",
    )


def with_values(a: SvrAssumptions) -> Identity:
    """The expansion that the dualiser derives, in the values v_j that the theorem prints."""
    plus, minus = svr.multiplier(a)
    weight = as_term(plus)[j, d] if minus is None else as_term(plus)[j, d] - as_term(minus)[j, d]
    kernel, divided = phi_x.T @ phi_k[j], a.normaliser != "one"
    if divided:
        weight, kernel = weight / h_k[j], kernel / h_x
    return Identity(
        derived(a),
        sum_over(j, kernel * v[j]),
        given=(Given(svr.v, (j, d), weight, "the values of the theorem"),),
        nonzero=(svr.h_k, svr.h_x) if divided else (),
        label="the values v_j",
        reason="(8) substituted into (4)",
    )


THEOREM = (("bias", "off"), ("box", "relaxed"))

fit = as_term(Tensor("f", (N, DV), "f", "", r"f(\boldsymbol{k}_{%1})(%2)"))[j, d]
al, al_t, slack, slack_t, height = alpha[j, d], alpha_t[j, d], xi[j, d], xi_t[j, d], h_k[j]
SIGNS = (
    Fact("alpha", al, ">="),
    Fact("alpha~", al_t, ">="),
    Fact("eta", eta[j, d], ">="),
    Fact("eta~", eta_t[j, d], ">="),
    Fact("(9)", c - al - eta[j, d], "="),
    Fact("(9)~", c - al_t - eta_t[j, d], "="),
)


def remark1(epsilon: str, h_positive: bool) -> All:
    kkt = (
        Fact("slack of α", al * (eps + slack - y[j, d] + fit), "="),
        Fact("slack of α̃", al_t * (eps + slack_t + y[j, d] - fit), "="),
        Fact("xi", slack, ">="),
        Fact("xi~", slack_t, ">="),
        Fact("epsilon_positive", eps, epsilon),
    )
    bounded = (*SIGNS, *((Fact("h_positive", height, ">"),) if h_positive else ()))
    one_over = 1 / height
    zero, one, half = Fraction(0), Fraction(1), Fraction(1, 2)
    at_zero = (
        ("alpha", half),
        ("alpha~", half),
        ("epsilon", zero),
        ("xi", zero),
        ("xi~", zero),
        ("y", zero),
        ("f", zero),
    )
    negative = (("alpha", one), ("alpha~", zero), ("eta", zero), ("eta~", one), ("C", one), ("h(k)", -one))
    mirrored = (("alpha", zero), ("alpha~", one), ("eta", one), ("eta~", zero), ("C", one), ("h(k)", -one))
    return All(
        Implication(SIGNS, Fact("C - α", c - al, ">="), label="α ≤ C"),
        Implication(SIGNS, Fact("C - α̃", c - al_t, ">="), label="α̃ ≤ C"),
        Implication(
            kkt,
            Fact("α α̃", al * al_t, "="),
            (("slack of α", al_t), ("slack of α̃", al)),
            (("epsilon_positive", Fraction(2)), ("xi", one), ("xi~", one)),
            at_zero,
            label="α α̃ = 0",
        ),
        Implication(
            bounded,
            Fact("C/h - v", c / height - (al - al_t) / height, ">="),
            (("(9)", one_over), ("eta", one_over), ("alpha~", one_over)),
            witness=mirrored,
            label="v ≤ C/h",
        ),
        Implication(
            bounded,
            Fact("v + C/h", (al - al_t) / height + c / height, ">="),
            (("(9)~", one_over), ("eta~", one_over), ("alpha", one_over)),
            witness=negative,
            label="v ≥ -C/h",
        ),
    )


SOLVED = "(8) = 0, solved for w_d"
W_RULE = Given(svr.w, (d, f_), sum_over(j, v[j, d] * phi_k[j, f_]), "the weights W = Σ_j v_j Φ(k_j)ᵀ")


def remark4(a: SvrAssumptions) -> All:
    layer, heights = w @ phi_x / h_x + b, (svr.h_x, svr.h_k)
    return All(
        Identity(
            layer, LINE_TWO, (W_RULE,), nonzero=(svr.h_x,), label="an attention layer in its primal form"
        ),
        Identity(
            layer,
            LINE_TWO,
            (FIVE.solved(a, SOLVED), V_RULE),
            nonzero=heights,
            label="a layer with the optimal weights in its dual form",
        ),
    )
