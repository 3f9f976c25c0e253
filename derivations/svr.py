"""Theory svr: support vector regression in the features Φ(k)/h(k), program (5) of nguyen2023.

The paper's choices are the defaults of ``SvrAssumptions``; every derivation takes the assumptions as its
argument. Symbols follow the paper: keys k_j (N of them, D wide), targets y_j (D_v wide), weights w_d,
features Φ (D_φ wide), normaliser h, slacks ξ, multipliers α, η and their tilde versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from derivations.assumptions import Knob
from derivations.index import Index, Tensor
from derivations.program import Constraint, Dual, Program, dualise
from derivations.term import Term, as_term, squared_norm, sum_over

N, D, DV, DPHI = "N", "D", "D_v", r"D_\phi"
i, j, m = (Index(c, N) for c in "ijm")
c_ = Index("c", D)
d = Index("d", DV)
f_ = Index("f", DPHI)


def vectors(name: str, width: str, latex: str, many: str = N, **promises: bool) -> Tensor:
    """N vectors as the rows of a matrix, printed the paper's way: row j is ``latex``_j, its entry ``latex``_j(d)."""
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
phi_k = Tensor("Phi(k)", (N, DPHI), r"\Phi(\mathbf{K})", r"\Phi(\boldsymbol{k}_{%1})", r"\Phi(\boldsymbol{k}_{%1})_{%2}")
phi_x = Tensor("Phi(x)", (DPHI,), r"\Phi(\boldsymbol{x})", "", r"\Phi(\boldsymbol{x})_{%1}")
h_k = Tensor("h(k)", (N,), r"h(\mathbf{K})", "", r"h(\boldsymbol{k}_{%1})")
h_x = Tensor("h(x)", (), r"h(\boldsymbol{x})")
x = Tensor("x", (D,), r"\boldsymbol{x}", "", r"\boldsymbol{x}(%1)")


@dataclass(frozen=True)
class SvrAssumptions:
    """The choices of Section 2.1; the defaults are the paper's."""

    loss: str = "epsilon_insensitive"
    bias: str = "on"
    box: str = "kept"
    normaliser: str = "kernel_sum"
    feature_map: str = "exponential"


KNOBS = (
    Knob(
        "loss",
        ("epsilon_insensitive", "squared_epsilon_insensitive", "least_squares", "huber"),
        "how a residual y - f(k) is charged in (5)",
    ),
    Knob("bias", ("on", "off"), "whether the intercept b of (4) is a variable or absent"),
    Knob("box", ("kept", "relaxed"), "whether C is finite, so that α, α̃ <= C, or the fit is required exactly"),
    Knob("normaliser", ("kernel_sum", "one"), "h(x) = Σ_j Φ(x)ᵀΦ(k_j), or h = 1"),
    Knob(
        "feature_map",
        ("exponential", "elu", "polynomial:DEGREE", "EXPRESSION in dot, xx, yy"),
        "the kernel Φ(x)ᵀΦ(y): exp(xᵀy/√D) through the monomials (12), elu + 1 features, (1 + xᵀy)^DEGREE, "
        "or an expression such as exp(dot) or (dot + 1)^2 in dot = xᵀy, xx = xᵀx, yy = yᵀy",
    ),
)


def features(at: Index | None = None) -> Term:
    """Φ(k_j)/h(k_j) at a key, Φ(x)/h(x) at the query."""
    if at is None:
        return as_term(phi_x) / as_term(h_x)
    return as_term(phi_k)[at] / as_term(h_k)[at]


def fit(row: Index, at: Index, assumptions: SvrAssumptions) -> Term:
    """The fitted value w_dᵀ Φ(k_j)/h(k_j) (+ b(d)) of coordinate ``row`` at key ``at``."""
    h = as_term(h_k)[at] if assumptions.normaliser == "kernel_sum" else as_term(1)
    product = as_term(w)[row].T @ as_term(phi_k)[at]
    value = product / h if assumptions.normaliser == "kernel_sum" else product
    return value + as_term(b)[row] if assumptions.bias == "on" else value


def primal(assumptions: SvrAssumptions) -> Program:
    """Program (5), or its variant under the assumptions."""
    a = assumptions
    ridge = Fraction(1, 2) * sum_over(d, squared_norm(as_term(w)[d]))
    error = as_term(y)[j, d] - fit(d, j, a)
    variables = (w, b) if a.bias == "on" else (w,)
    if a.box == "relaxed":
        return _hard(a, variables, ridge)
    if a.loss == "least_squares":
        loss = sum_over(j, d, as_term(C) / 2 * as_term(residual)[j, d] ** 2)
        row = Constraint(error, as_term(residual)[j, d], rho, (j, d), equality=True)
        return Program("(5), least squares", (*variables, residual), ridge + loss, (row,))
    slack, slack_t = as_term(xi)[j, d], as_term(xi_t)[j, d]
    margin = as_term(epsilon)
    if a.loss == "epsilon_insensitive":
        loss, variables = sum_over(j, d, as_term(C) * (slack + slack_t)), (*variables, xi, xi_t)
    elif a.loss == "squared_epsilon_insensitive":
        loss = sum_over(j, d, as_term(C) / 2 * (slack**2 + slack_t**2))
        variables = (*variables, xi, xi_t)
    else:  # Huber: the residual splits into a part s charged quadratically and an excess charged linearly
        quadratic = as_term(small)[j, d]
        loss = sum_over(j, d, as_term(C) * (quadratic**2 / (2 * as_term(delta)) + slack + slack_t))
        variables, error, margin = (*variables, small, xi, xi_t), error - quadratic, as_term(0)
    rows = (
        Constraint(error, margin + slack, alpha, (j, d)),
        Constraint(-error, margin + slack_t, alpha_t, (j, d)),
        Constraint(-slack, as_term(0), eta, (j, d)),
        Constraint(-slack_t, as_term(0), eta_t, (j, d)),
    )
    if a.loss == "squared_epsilon_insensitive":
        rows = rows[:2]  # a negative slack would only cost: the sign constraints are redundant
    return Program(f"(5), {a.loss}", variables, ridge + loss, rows)


def _hard(a: SvrAssumptions, variables: tuple[Tensor, ...], ridge: Term) -> Program:
    """C to infinity: the residuals must be free of charge."""
    error = as_term(y)[j, d] - fit(d, j, a)
    if a.loss in ("least_squares", "huber"):
        row = Constraint(error, as_term(0), rho, (j, d), equality=True)
        return Program("(5), exact fit", variables, ridge, (row,))
    rows = (
        Constraint(error, as_term(epsilon), alpha, (j, d)),
        Constraint(-error, as_term(epsilon), alpha_t, (j, d)),
    )
    return Program("(5), exact fit within epsilon", variables, ridge, rows)


@lru_cache(maxsize=64)
def dual(assumptions: SvrAssumptions) -> Dual:
    """The dualiser's result for the program under the assumptions."""
    return dualise(primal(assumptions))
