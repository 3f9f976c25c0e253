"""Where the support vector expansion, the KSVD score, a step of descent and the energy's minimiser coincide.

What a theory's own derivation gives (the dualiser, the guarded gradient) is held against one printed formula;
only the symbols are renamed.
"""

from __future__ import annotations

from checks.claim import Assumption, claim
from checks.kinds.extremum import Extremum
from checks.leg import Legs
from checks.papers.bridge.views_formulas import ATTENTION_ROW, KEYS, VALUES, Q
from checks.papers.wang2024 import notation as n
from checks.statement import All, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Program, Raw, dualise
from derivations.calculus.term import (
    Term,
    as_term,
    named,
    row_softmax,
    size,
    sqrt,
    squared_norm,
    stack,
    sum_over,
)
from derivations.theories import ksvd
from derivations.theories.energy import forms as en
from derivations.theories.functional_descent import updates as fd
from derivations.theories.svr import regression as svr

legs = Legs("checks.papers.bridge.legs")

PLAIN = svr.SvrAssumptions(bias="off", box="relaxed", normaliser="one")
ATTENTION = svr.SvrAssumptions(bias="off", box="relaxed")
DATA_FREE = ksvd.KsvdAssumptions(f_X="identity")
UNBIASED = fd.FunctionalAssumptions(bias="off")
SAME_FEATURES = Assumption(
    "one feature map", "queries and keys go through the same features, as in the regression"
)
NO_TRANSFORMATION = Assumption("f(X) = I", "the projection weights of KSVD do not depend on the data")
FROM_ZERO = Assumption("start at zero", "descent starts at W = 0 without a bias")
NO_BIAS = Assumption("b = 0", "the regression has no intercept, as in Theorem 1 of nguyen2023")
FREE_VALUES = Assumption(
    "free values", "the regression's multipliers have no upper bound, as in Theorem 1 of nguyen2023"
)
WIDE_BOX = Assumption("wide box", "the regression's bound C is at least every |v_j(d)|, or is relaxed")


def in_values(expr: ix.Expr, a: svr.SvrAssumptions) -> ix.Expr:
    """An expression of the regression with α - α̃ = h v put in."""
    tensor, rule = svr.value_rule(a)
    at = (svr.j, svr.d)
    expr = ix.define(expr, tensor, lambda *idx: ix.rename(rule.entry(), dict(zip(at, idx, strict=True))))
    return to_expr(normal(expr))


def regression_weights(
    tensors: dict[Tensor, Tensor], rows: str, width: str, at: tuple[Index, Index]
) -> ix.Expr:
    """w_d = Σ_j v_j(d) Φ(k_j), as stationarity gives it for h = 1, in another theory's symbols."""
    result = svr.dual(PLAIN)
    names = dict(zip(result.at[svr.w], (svr.d, svr.f_), strict=True))
    solved = in_values(ix.rename(result.solved[svr.w], names), PLAIN)
    solved = ix.translate(solved, {svr.DV: rows, svr.DPHI: width}, tensors)
    return ix.rename(solved, {Index(svr.d.name, rows): at[0], Index(svr.f_.name, width): at[1]})


SCORE = Tensor("e(x)", (ksvd.S,), r"e(\boldsymbol{x})", "", r"e(\boldsymbol{x})[%1]")
FIT = Tensor("f(x)", (ksvd.S,), r"f(\boldsymbol{x})", "", r"f(\boldsymbol{x})(%1)")
FIT_WEIGHTS = Tensor("w", (ksvd.S, ksvd.P), r"\mathbf{W}", r"\boldsymbol{w}_{%1}", r"\boldsymbol{w}_{%1}(%2)")


def score_is_an_expansion(_: object) -> All:
    """e(x) of KSVD and f(x) of the regression with values h_r and h = 1, each with its derived weights."""
    w_e, _w_r = ksvd.weights(DATA_FREE)
    x, c, d = as_term(ksvd.phi_q_x), ksvd.c_, ksvd.l_
    score = (as_term(w_e).T @ x)[d]
    fitted = as_term(FIT_WEIGHTS)[d].T @ x
    own = Raw((), ksvd.solved(DATA_FREE, w_e, c, d))
    regressed = regression_weights({svr.v: ksvd.h_r, svr.phi_k: ksvd.phi_k}, ksvd.S, ksvd.P, (d, c))
    of_score = (
        Given(SCORE, (d,), score, "the primal score"),
        Given(w_e, (c, d), own, "stationarity of the KSVD program"),
    )
    of_fit = (
        Given(FIT, (d,), fitted, "the fitted function at Φ(x) = φ_q(x)"),
        Given(FIT_WEIGHTS, (d, c), Raw((), regressed), "stationarity of the regression, Φ(k_j) = φ_k(x_j)"),
    )
    kernel = x.T @ as_term(ksvd.phi_k)[ksvd.j]
    printed = sum_over(ksvd.j, kernel * as_term(ksvd.h_r)[ksvd.j, d])
    return All(
        Identity(as_term(SCORE)[d], printed, given=of_score, label="(8) of chen2023"),
        Identity(as_term(FIT)[d], printed, given=of_fit, label="(10) of nguyen2023"),
    )


STEP_FIT = Tensor("f(x)", (fd.CLASSES,), "f(x)", "", "f_{%1}(x)")
STEP_WEIGHTS = Tensor("w", (fd.CLASSES, fd.WIDTH), r"\mathbf{W}", "w_{%1}", "w_{%1}(%2)")
STEP_VALUES = Tensor("v", (svr.N, fd.CLASSES), r"\mathbf{V}", "v_{%1}", "v_{%1}(%2)")


def step_is_an_expansion(_: object) -> All:
    """One step of descent on the squared loss from zero, and f(x) of the regression with values
    (2α/N) y and h = 1.
    """
    row, rate = n.c, 2 * as_term(fd.alpha) / size(fd.N)
    start = Given(fd.W, (row, fd.m), as_term(0), "the start")
    regressed = regression_weights({svr.v: STEP_VALUES, svr.phi_k: fd.phi}, fd.CLASSES, fd.WIDTH, (row, fd.m))
    of_fit = (
        Given(STEP_FIT, (row,), as_term(STEP_WEIGHTS)[row].T @ as_term(fd.phi_x), "the fitted function"),
        Given(STEP_WEIGHTS, (row, fd.m), Raw((), regressed), "stationarity of the regression"),
        Given(STEP_VALUES, (fd.i, row), rate * as_term(fd.y)[fd.i, row], "the values"),
    )
    kernel = as_term(fd.phi)[fd.i].T @ as_term(fd.phi_x)
    printed = sum_over(fd.i, kernel * (rate * as_term(fd.y)[fd.i, row]))
    step = (*n.descent("squared", UNBIASED), start)
    return All(
        Identity(as_term(n.f_new)[row], printed, given=step, label="the first step, k = 1"),
        Identity(as_term(STEP_FIT)[row], printed, given=of_fit, label="(10) of nguyen2023"),
    )


A = Tensor("A", (svr.N, svr.N), "A", "A_{%1}", "A_{%1%2}")
SOFTMAX = row_softmax(as_term(Q) @ as_term(KEYS).T / sqrt(size(svr.D)))
A_RULE = Given(A, (svr.i, svr.j), SOFTMAX[svr.i, svr.j], "the attention matrix")
ABOVE = en.HALF * sum_over(en.i, squared_norm(en.Z[en.i] - en.AV[en.i]))
MINIMISER = Extremum(
    en.attention_energy(), en.Z_, en.AV, "the only global minimum", above=ABOVE, label="the minimiser"
)
STEP = Identity(
    en.descent(en.attention_energy(), as_term(1), "E"),
    en.AV,
    label="one step of size 1",
    reason="the Hessian of the energy is I",
)
SIZES = (
    r"State $Z$, weights $A$ and values $V$ of farooq2025 with $n=N$, $d_k=D$, $d_v=D_v$; "
    r"$\mathbf{Q},\mathbf{K},\mathbf{V}$ have the rows $\boldsymbol{q}_i,\boldsymbol{k}_j,\boldsymbol{v}_j$: "
    r"queries, keys and values, the values being those of farooq2025; "
    r"$f(\boldsymbol{q}_i)$: the expansion of Theorem 1 of nguyen2023, with the weights that stationarity "
    r"of the regression gives, at $\boldsymbol{x}=\boldsymbol{q}_i$."
)


def energy_program() -> Program:
    """Minimise the energy (11) of farooq2025 over the state."""
    return Program("(11)", (en.Z_,), en.attention_energy())


def expansion() -> Term:
    """The derived expansion of Theorem 1 for the query q_i."""
    expr = in_values(svr.expansion(ATTENTION), ATTENTION)
    expr = svr.attention(ATTENTION, to_expr(normal(svr.in_kernel(expr))))
    expr = ix.translate(expr, {}, {svr.k: KEYS, svr.v: VALUES})
    row = stack(svr.d, Raw((), ix.define(expr, svr.x, lambda c: Q[svr.i, c])))
    return named(r"f(\boldsymbol{q}_{i})", row)


def reached() -> tuple[Identity, Identity]:
    """Row i of AV is the expansion, and that is attention."""
    row = (as_term(A) @ as_term(VALUES))[svr.i]
    return (
        Identity(row, expansion(), given=(A_RULE,), label="its row i"),
        Identity(expansion(), ATTENTION_ROW, label="attention"),
    )


claim(
    "bridge/energy-minimiser-is-the-expansion",
    "farooq2025 (11), nguyen2023 Theorem 1",
    "The energy's minimiser is the support vector expansion",
    words="The state that minimises the energy (11) has in row i the support vector expansion at the query "
    "q_i, which is attention.",
    literal=lambda a: All(MINIMISER, *reached()),
    assumes=(NO_BIAS, FREE_VALUES),
    rests_on=("farooq2025/eq11", "nguyen2023/thm1"),
    legs=(legs.rows,),
    derivation=lambda a: dualise(energy_program()).steps,
    where=SIZES,
    notes="The energy has the attention output written into it; the regression has not, but its values are "
    "free.",
)

claim(
    "bridge/energy-step-is-the-expansion",
    "farooq2025 (11), nguyen2023 Theorem 1",
    "One step down the energy is attention",
    words="From any state, one step of gradient descent of size 1 on the energy (11) lands on the support "
    "vector expansion.",
    literal=lambda a: All(STEP, *reached()),
    assumes=(NO_BIAS, FREE_VALUES),
    rests_on=("bridge/energy-minimiser-is-the-expansion",),
    legs=(legs.rows,),
    where=SIZES + r" $\eta$: the step size of the update as printed, $Z^{(k)}$ its states.",
    notes="The update printed in farooq2025, Z + ηAV, lacks -ηZ: with η = 1 it is this step only from Z = 0.",
)

claim(
    "bridge/ksvd-score-is-an-expansion",
    "chen2023 (8), nguyen2023 (10)",
    "The KSVD score is a support vector expansion",
    words="The score e of KSVD in its dual form is the support vector expansion whose values are the dual "
    "variables h_r, with h = 1.",
    literal=score_is_an_expansion,
    assumes=(NO_TRANSFORMATION, SAME_FEATURES, NO_BIAS, WIDE_BOX),
    rests_on=("chen2023/eq8", "nguyen2023/eq10"),
    where=r"$\boldsymbol{x}$ is any point, $\phi_q(\boldsymbol{x})^\top\phi_k(\boldsymbol{x}_j)$ the kernel "
    r"$\kappa(\boldsymbol{x},\boldsymbol{x}_j)$; $l$ a direction of KSVD and a coordinate of the "
    r"regression's values, $c$ one of the features; $W_e$ and $\boldsymbol{w}_l$: the weights of both; the "
    r"regression has the values $\boldsymbol{v}_j=\boldsymbol{h}_{r_j}$ and $h=1$.",
    notes=(
        "The formulas agree for any two feature maps; the regression has one feature map for queries and "
        "keys, which makes its kernel a symmetric function of query and key vectors. The values differ in "
        "what fixes them: targets there, (7) of chen2023 here."
    ),
)

claim(
    "bridge/descent-step-is-an-expansion",
    "wang2024 (1), nguyen2023 (10)",
    "The first step of functional descent is a support vector expansion",
    words="One step of gradient descent on the squared loss from W = 0 is the support vector expansion with "
    "values (2α/N) y_i and h = 1.",
    literal=step_is_an_expansion,
    assumes=(FROM_ZERO, NO_BIAS, WIDE_BOX),
    rests_on=("nguyen2023/eq10", "wang2024/prose-step-size-half"),
    where=r"$\mathcal{L}=\frac1N\sum_i\|y_i-W\phi(x_i)\|^2$, $k=1$, step size $\alpha$; $c$: a component of "
    r"$f$ and of the targets $y_i$, $w_c$ row $c$ of $W$, $m$ a coordinate of $\phi$; "
    r"$\kappa(x_i,x_j)=\phi(x_i)^\top\phi(x_j)$; the regression has $\Phi=\phi$, the keys $x_i$ and $h=1$.",
    notes="With (1) of wang2024 as printed, and for its constructed layer (10), the values are (α/N) y_i: "
    "that step has half the rate. So the first layer of the construction attends with the labels as values; "
    "later layers attend with residuals.",
)
