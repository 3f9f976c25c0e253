"""Theory svr: support vector regression in the features Φ(k)/h(k), program (5) of nguyen2023.

The paper's choices are the defaults of ``SvrAssumptions``; every derivation takes the assumptions as its
argument. Symbols follow the paper: keys k_j (N of them, D wide), targets y_j (D_v wide), weights w_d,
features Φ (D_φ wide), normaliser h, slacks ξ, multipliers α, η and their tilde versions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.conjugates import CONJUGATES
from derivations.calculus.index import Index, Tensor
from derivations.calculus.kernel_search import require_kernel
from derivations.calculus.losses import loss as listed
from derivations.calculus.parse import parse
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.program import Constraint, Dual, Program, Step, denominators, dualise
from derivations.calculus.term import Term, as_term, squared_norm, sum_over
from derivations.theories.svr import choices
from derivations.theories.theory import Knob, NoForm

N, D, DV, DPHI = "N", "D", "D_v", r"D_\phi"
i, j, m = (Index(c, N) for c in "ijm")
c_ = Index("c", D)
d = Index("d", DV)
f_ = Index("m", DPHI)


def vectors(name: str, width: str, latex: str, many: str = N, **promises: bool) -> Tensor:
    """N vectors as the rows of a matrix, printed the paper's way: row j is ``latex``_j, its entry
    ``latex``_j(d).
    """
    return Tensor(name, (many, width), latex, rf"{latex}_{{%1}}", rf"{latex}_{{%1}}(%2)", **promises)


k = vectors("k", D, r"\boldsymbol{k}")
y = vectors("y", DV, r"\boldsymbol{y}")
v = vectors("v", DV, r"\boldsymbol{v}")
w = Tensor("w", (DV, DPHI), r"\mathbf{W}", r"\boldsymbol{w}_{%1}", r"\boldsymbol{w}_{%1}(%2)")
b = Tensor("b", (DV,), r"\boldsymbol{b}", "", r"\boldsymbol{b}(%1)")
xi = vectors("xi", DV, r"\boldsymbol{\xi}")
xi_t = vectors("xi~", DV, r"\tilde{\boldsymbol{\xi}}")
alpha = vectors("alpha", DV, r"\boldsymbol{\alpha}")
alpha_t = vectors("alpha~", DV, r"\tilde{\boldsymbol{\alpha}}")
eta = vectors("eta", DV, r"\boldsymbol{\eta}")
eta_t = vectors("eta~", DV, r"\tilde{\boldsymbol{\eta}}")
residual = vectors("r", DV, r"\boldsymbol{r}")
small = vectors("s", DV, r"\boldsymbol{s}")
rho = vectors("rho", DV, r"\boldsymbol{\rho}")
C = Tensor("C", (), "C", positive=True)
epsilon = Tensor("epsilon", (), r"\epsilon")
delta = Tensor("delta", (), r"\delta", positive=True)
# Φ at the keys and at one query x; κ its inner products; h at the keys and at x
phi_k = Tensor(
    "Phi(k)", (N, DPHI), r"\Phi(\mathbf{K})", r"\Phi(\boldsymbol{k}_{%1})", r"\Phi(\boldsymbol{k}_{%1})_{%2}"
)
phi_x = Tensor("Phi(x)", (DPHI,), r"\Phi(\boldsymbol{x})", "", r"\Phi(\boldsymbol{x})_{%1}")
h_k = Tensor("h(k)", (N,), r"h(\mathbf{K})", "", r"h(\boldsymbol{k}_{%1})")
h_x = Tensor("h(x)", (), r"h(\boldsymbol{x})")
kappa = Tensor(
    "kappa",
    (N,),
    r"\Phi(\boldsymbol{x})^{\top}\Phi(\mathbf{K})",
    "",
    r"\Phi(\boldsymbol{x})^{\top}\Phi(\boldsymbol{k}_{%1})",
)
x = Tensor("x", (D,), r"\boldsymbol{x}", "", r"\boldsymbol{x}(%1)")


@dataclass(frozen=True)
class Symbols:
    """Targets, slacks and multipliers of one regression, each a D_v-vector for each training point j."""

    j: Index
    y: Tensor
    xi: Tensor
    xi_t: Tensor
    alpha: Tensor
    alpha_t: Tensor
    eta: Tensor
    eta_t: Tensor
    residual: Tensor
    small: Tensor
    rho: Tensor


OWN = Symbols(j, y, xi, xi_t, alpha, alpha_t, eta, eta_t, residual, small, rho)


@dataclass(frozen=True)
class SvrAssumptions:
    """The choices of Section 2.1, then those of the variants (Section 2.3, Appendices A, G, I, J).

    The defaults are the paper's: scales and kernel size of its retrieval model, 2-D kernel of its ImageNet
    model.
    """

    loss: str = "epsilon_insensitive"
    bias: str = "on"
    box: str = "kept"
    normaliser: str = "kernel_sum"
    feature_map: str = "exponential"
    statistics: str = "mean_and_variance"
    beta: str = "free"
    scales: str = "1,2"
    downsampling: str = "average"
    mask: str = "strided:64"
    kernel_size: str = "5"
    kernel_size_2d: str = "2"


TUBES = ("epsilon_insensitive", "squared_epsilon_insensitive")
SPLIT = (*TUBES, "least_squares", "huber")
"""Losses whose programs are quadratic: slacks and parts of the residual are variables."""
LISTED = tuple(name for name in CONJUGATES if name not in (*SPLIT, "squared"))
"""The others of the table of conjugates, of each coordinate of a residual or of the residual of a key."""
EXACT = ("absolute", "norm")
"""Those of them that are zero at a residual of zero alone: a finite C is what keeps it from being zero."""

KNOBS = (
    Knob("loss", (*SPLIT, *LISTED), "how a residual y - f(k) is charged in (5)"),
    Knob("bias", ("on", "off"), "whether the intercept b of (4) is a variable or absent"),
    Knob(
        "box", ("kept", "relaxed"), "whether C is finite, so that α, α̃ <= C, or the fit is required exactly"
    ),
    Knob(
        "normaliser",
        ("kernel_sum", "kernel_sum_raw", "one"),
        "h sums the kernel over what enters Φ, or over all keys as they are (as the text says for the "
        "variants; a scaled head's are its own), or h = 1",
    ),
    Knob(
        "feature_map",
        ("exponential", "elu", "polynomial:DEGREE", "EXPRESSION in dot, xx, yy"),
        "the kernel Φ(x)ᵀΦ(y): exp(xᵀy/√D) through the monomials (12), elu + 1 features, (1 + xᵀy)^DEGREE, "
        "or an expression such as exp(dot) or (dot + 1)^2 in dot = xᵀy, xx = xᵀx, yy = yᵀy",
        ("polynomial:2",),
    ),
    *choices.KNOBS,
)


def features(at: Index | None = None) -> Term:
    """Φ(k_j)/h(k_j) at a key, Φ(x)/h(x) at the query."""
    if at is None:
        return as_term(phi_x) / as_term(h_x)
    return as_term(phi_k)[at] / as_term(h_k)[at]


def fit(row: Index, at: Index, assumptions: SvrAssumptions) -> Term:
    """The fitted value w_dᵀ Φ(k_j)/h(k_j) (+ b(d)) of coordinate ``row`` at key ``at``."""
    value = as_term(w)[row].T @ as_term(phi_k)[at]
    if assumptions.normaliser != "one":
        value = value / as_term(h_k)[at]
    return value + as_term(b)[row] if assumptions.bias == "on" else value


def primal(assumptions: SvrAssumptions) -> Program:
    """Program (5), or its variant under the assumptions."""
    ridge = Fraction(1, 2) * sum_over(d, squared_norm(as_term(w)[d]))
    variables = (w, b) if assumptions.bias == "on" else (w,)
    return regression("(5)", assumptions, OWN, variables, fit(d, j, assumptions), ridge)


def regression(
    name: str, a: SvrAssumptions, own: Symbols, variables: tuple[Tensor, ...], fitted: Term, ridge: Term
) -> Program:
    """The program that fits ``fitted`` (coordinate d at training point j) to the targets, with the loss of a.

    ``variables`` are those of the fitted function, ``ridge`` the penalty on them.
    """
    error = as_term(own.y)[own.j, d] - fitted
    made = _hard if a.box == "relaxed" else _listed if a.loss in LISTED else _losses
    return replace(made(name, a, own, variables, error, ridge), nonzero=denominators(fitted.entry()))


def _listed(
    name: str, a: SvrAssumptions, own: Symbols, variables: tuple[Tensor, ...], error: Term, ridge: Term
) -> Program:
    """A loss of the table of conjugates, of the residuals as variables."""
    entry, charged = CONJUGATES[a.loss], as_term(own.residual)
    over = (own.j,) if entry.vector else (own.j, d)
    limits = (-as_term(delta), delta) if a.loss == "box" else ()
    charge = sum_over(*over, as_term(C) * listed(a.loss, charged[over], *limits))
    row = Constraint(error, charged[own.j, d], own.rho, (own.j, d), equality=True)
    return Program(f"{name}, {a.loss}", (*variables, own.residual), ridge + charge, (row,))


def _losses(
    name: str, a: SvrAssumptions, own: Symbols, variables: tuple[Tensor, ...], error: Term, ridge: Term
) -> Program:
    at = (own.j, d)
    if a.loss == "least_squares":
        loss = sum_over(*at, as_term(C) / 2 * as_term(own.residual)[at] ** 2)
        row = Constraint(error, as_term(own.residual)[at], own.rho, at, equality=True)
        return Program(f"{name}, least squares", (*variables, own.residual), ridge + loss, (row,))
    slack, slack_t = as_term(own.xi)[at], as_term(own.xi_t)[at]
    margin: Term | None = as_term(epsilon)
    if a.loss == "epsilon_insensitive":
        loss, variables = sum_over(*at, as_term(C) * (slack + slack_t)), (*variables, own.xi, own.xi_t)
    elif a.loss == "squared_epsilon_insensitive":
        loss = sum_over(*at, as_term(C) / 2 * (slack**2 + slack_t**2))
        variables = (*variables, own.xi, own.xi_t)
    else:  # Huber: the residual splits into a part s charged quadratically and an excess charged linearly
        quadratic = as_term(own.small)[at]
        loss = sum_over(*at, as_term(C) * (quadratic**2 / (2 * as_term(delta)) + slack + slack_t))
        variables, error, margin = (*variables, own.small, own.xi, own.xi_t), error - quadratic, None
    rows: tuple[Constraint, ...] = (
        Constraint(error, slack if margin is None else margin + slack, own.alpha, at),
        Constraint(-error, slack_t if margin is None else margin + slack_t, own.alpha_t, at),
        Constraint(-slack, as_term(0), own.eta, at),
        Constraint(-slack_t, as_term(0), own.eta_t, at),
    )
    if a.loss == "squared_epsilon_insensitive":
        rows = rows[:2]  # a negative slack would only cost: the sign constraints are redundant
    return Program(f"{name}, {a.loss}", variables, ridge + loss, rows)


def _hard(
    name: str, a: SvrAssumptions, own: Symbols, variables: tuple[Tensor, ...], error: Term, ridge: Term
) -> Program:
    """The fit is required exactly, of a tube within epsilon: the limit in C of losses zero only there.

    Raises NoForm for the other losses.
    """
    at = (own.j, d)
    if a.loss in LISTED and a.loss not in EXACT:
        raise NoForm(f"loss={a.loss} is not zero just where the fit is exact, as box=relaxed requires it")
    if a.loss not in TUBES:
        row = Constraint(error, as_term(0), own.rho, at, equality=True)
        return Program(f"{name}, exact fit", variables, ridge, (row,))
    rows = (
        Constraint(error, as_term(epsilon), own.alpha, at),
        Constraint(-error, as_term(epsilon), own.alpha_t, at),
    )
    return Program(f"{name}, exact fit within epsilon", variables, ridge, rows)


def validate(name: str, value: str) -> None:
    """Raise ValueError for a value that a knob does not take."""
    if name == "feature_map":
        zero = ix.Num(Fraction(0))
        if value != "elu" and kernel_expr(value, zero, zero, zero) is not None:
            require_kernel(lambda dot, xx, yy, width: _numbered(value, dot, xx, yy, width))
        return
    if name in choices.PARSERS:
        choices.PARSERS[name](value)
        return
    allowed = next(knob.allowed for knob in KNOBS if knob.name == name)
    if value not in allowed:
        raise ValueError("not an allowed value")


def _numbered(feature_map: str, dot: ix.Expr, xx: ix.Expr, yy: ix.Expr, width: int) -> ix.Expr:
    """The kernel's formula at points of a number of coordinates."""
    expr = kernel_expr(feature_map, dot, xx, yy)
    assert expr is not None
    return ix.numbered(expr, {D: width})


def kernel_expr(feature_map: str, dot: ix.Expr, xx: ix.Expr, yy: ix.Expr) -> ix.Expr | None:
    """The kernel Φ(x)ᵀΦ(y) as an expression in xᵀy, xᵀx, yᵀy; None for elu, which is none.

    Raises ValueError for a text that is not a feature map.
    """
    if feature_map == "exponential":
        return ix.exp(dot / ix.Dim(D) ** Fraction(1, 2))
    if feature_map == "elu":
        return None
    if feature_map.startswith("polynomial:"):
        degree = feature_map.removeprefix("polynomial:")
        if not (degree.isascii() and degree.isdecimal()) or not 1 <= int(degree) <= 6:
            raise ValueError("the degree must be a whole number from 1 to 6")
        return (1 + dot) ** int(degree)
    return parse(feature_map, {"dot": dot, "xx": xx, "yy": yy, "D": ix.Dim(D)})


def kernel(feature_map: str, left: Callable[[Index], ix.Expr], right: Callable[[Index], ix.Expr]) -> ix.Expr:
    """The kernel of two vectors given by their coordinates."""
    c1, c2, c3 = (Index("c", D).fresh() for _ in range(3))
    if feature_map == "elu":
        return ix.Sum(c1, ix.Call("elu1", left(c1)) * ix.Call("elu1", right(c1)))
    dot = ix.Sum(c1, left(c1) * right(c1))
    expr = kernel_expr(feature_map, dot, ix.Sum(c2, left(c2) ** 2), ix.Sum(c3, right(c3) ** 2))
    assert expr is not None
    return expr


def prediction(assumptions: SvrAssumptions) -> ix.Expr:
    """f(x)(d) as (4) has it: w_dᵀΦ(x)/h(x) (+ b(d))."""
    value = as_term(w)[d].T @ as_term(phi_x)
    if assumptions.normaliser != "one":
        value = value / as_term(h_x)
    return (value + as_term(b)[d] if assumptions.bias == "on" else value).entry()


def expansion(assumptions: SvrAssumptions) -> ix.Expr:
    """f(x)(d) with the weights that the dualiser's stationarity condition gives."""
    return dual(assumptions).substitute(prediction(assumptions))


def in_kernel(expr: ix.Expr) -> ix.Expr:
    """Write Σ_f Φ(x)_f Φ(k_j)_f as the kernel value κ_j."""
    form = nf.contract(nf.normal(expr), phi_x, phi_k, lambda _, row: ("T", kappa, row))
    return to_expr(form)


def multiplier(assumptions: SvrAssumptions, own: Symbols = OWN) -> tuple[Tensor, Tensor | None]:
    """The multipliers whose difference weighs a key: (α, α̃), or the single one of an equality constraint."""
    split = TUBES if assumptions.box == "relaxed" else (*TUBES, "huber")
    return (own.alpha, own.alpha_t) if assumptions.loss in split else (own.rho, None)


def value_rule(assumptions: SvrAssumptions) -> tuple[Tensor, Term]:
    """The definition v_j(d) = (α_j(d) - α̃_j(d)) / h(k_j), read as a rule that replaces the first
    multiplier.
    """
    first, second = multiplier(assumptions)
    scaled = as_term(v)[j, d]
    if assumptions.normaliser != "one":
        scaled = as_term(h_k)[j] * scaled
    return first, scaled if second is None else as_term(second)[j, d] + scaled


def derive(assumptions: SvrAssumptions) -> list[Step]:
    """The whole derivation: dualise, expand, insert the kernel."""
    steps = list(dual(assumptions).steps)
    expanded = in_kernel(expansion(assumptions))
    head = r"f(\boldsymbol{x})(d) = "
    steps.append(
        Step("Expansion", head + form_latex(nf.normal(expanded)), "the solved weights are put into (4)")
    )
    tensor, rule = value_rule(assumptions)
    at = (j, d)
    in_values = ix.define(
        expanded, tensor, lambda *idx: ix.rename(rule.entry(), dict(zip(at, idx, strict=True)))
    )
    steps.append(
        Step("Values", head + form_latex(nf.normal(in_values)), "v_j(d) is the weight of key j over h(k_j)")
    )
    final = nf.normal(attention(assumptions, in_values))
    steps.append(
        Step(
            "Attention",
            head + form_latex(final),
            "the kernel of the feature map and the normaliser are inserted",
        )
    )
    return steps


def kernel_at(assumptions: SvrAssumptions, at: Index) -> ix.Expr:
    """κ(x, k_at) for the query x."""
    return kernel(assumptions.feature_map, lambda c: x[c], lambda c: k[at, c])


def attention(assumptions: SvrAssumptions, expr: ix.Expr) -> ix.Expr:
    """An expansion with κ_j and h(x) replaced by what the feature map and the normaliser say."""
    expr = ix.define(expr, h_x, lambda: ix.Sum(new := j.fresh(), ix.At(kappa, (new,))))
    return ix.define(expr, kappa, lambda at: kernel_at(assumptions, at))


@lru_cache(maxsize=64)
def dual(assumptions: SvrAssumptions) -> Dual:
    """The dualiser's result for the program under the assumptions."""
    return dualise(primal(assumptions))
