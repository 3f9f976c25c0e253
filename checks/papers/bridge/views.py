"""Where the support vector expansion, the KSVD score, a step of descent and the energy's minimiser coincide.

Both sides of every identity come out of a theory's own derivation (the dualiser, the guarded gradient); only
the symbols are renamed, so that one formula can be held against the other.
"""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Assumption, claim
from checks.leg import Legs
from checks.papers.bridge.views_formulas import ATTENTION_ROW, Q
from checks.statement import All, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Program, Raw, convexity, dualise
from derivations.calculus.term import Term, as_term, row_softmax, size, sqrt, stack, sum_over
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
    "one feature map", "queries and keys go through the same features, as a regression needs"
)
NO_TRANSFORMATION = Assumption("f(X) = I", "the projection weights of KSVD do not depend on the data")
FROM_ZERO = Assumption("start at zero", "descent starts at W = 0 without a bias")


def expansion(a: svr.SvrAssumptions) -> ix.Expr:
    """The derived support vector expansion of f(x)(d) with α - α̃ = h v put in."""
    tensor, rule = svr.value_rule(a)
    at = (svr.j, svr.d)
    expr = ix.define(
        svr.expansion(a), tensor, lambda *idx: ix.rename(rule.entry(), dict(zip(at, idx, strict=True)))
    )
    return to_expr(normal(expr))


def _both(first: Term, second: Term, printed: Term, labels: tuple[str, str]) -> All:
    """Two derived formulas and the printed one that both must equal."""
    return All((Identity(first, printed, label=labels[0]), Identity(second, printed, label=labels[1])))


def score_is_an_expansion(_: object) -> All:
    """e(x_i) of KSVD with the weights that stationarity gives, against the expansion with values h_r
    and h = 1.
    """
    w_e, _w_r = ksvd.weights(DATA_FREE)
    value = (ksvd.projected(DATA_FREE, w_e).T @ as_term(ksvd.phi_q)[ksvd.i])[ksvd.l_]
    score = ksvd.dual(DATA_FREE).substitute(value.entry())
    names = {svr.DV: ksvd.S, svr.DPHI: ksvd.P}
    query = Tensor("phi_q(x_i)", (ksvd.P,), "", "", r"\phi_q(\boldsymbol{x}_i)_{%1}")
    other = ix.translate(expansion(PLAIN), names, {svr.v: ksvd.h_r, svr.phi_k: ksvd.phi_k, svr.phi_x: query})
    other = ix.define(other, query, lambda at: ksvd.phi_q[ksvd.i, at])
    other = ix.rename(other, {Index(svr.d.name, ksvd.S): ksvd.l_})
    kernel = as_term(ksvd.phi_q)[ksvd.i].T @ as_term(ksvd.phi_k)[ksvd.j]
    printed = sum_over(ksvd.j, kernel * as_term(ksvd.h_r)[ksvd.j, ksvd.l_])
    return _both(Raw((), score), Raw((), other), printed, ("the score of KSVD", "the expansion"))


def step_is_an_expansion(_: object) -> All:
    """One step of descent on the squared loss from zero, against the expansion with values (2α/N) y and
    h = 1.
    """
    row = Index("c", fd.CLASSES)
    step = fd.stepped("squared", UNBIASED).entry(row)
    zero = ix.Num(Fraction(0))
    step = to_expr(normal(ix.define(step, fd.W, lambda *_at: zero)))
    names = {svr.DV: fd.CLASSES, svr.DPHI: fd.WIDTH}
    other = ix.translate(expansion(PLAIN), names, {svr.phi_k: fd.phi, svr.phi_x: fd.phi_x})
    values = Tensor(svr.v.name, (svr.N, fd.CLASSES), svr.v.latex, svr.v.row_latex, svr.v.entry_latex)
    rate = 2 * fd.alpha.scalar / ix.Dim(fd.N)
    other = ix.define(other, values, lambda at, c: rate * fd.y[at, c])
    other = ix.rename(other, {Index(svr.d.name, fd.CLASSES): row})
    kernel = as_term(fd.phi)[fd.i].T @ as_term(fd.phi_x)
    printed = 2 * as_term(fd.alpha) / size(fd.N) * sum_over(fd.i, kernel * as_term(fd.y)[fd.i, row])
    return _both(Raw((), step), Raw((), other), printed, ("the step of descent", "the expansion"))


# the energy in the symbols of the regression: states Z_i for the queries q_i
NAMES = {en.N: svr.N, en.DV: svr.DV}
STATE = Tensor("Z", (svr.N, svr.DV), "Z", "z_{%1}", "Z_{%1%2}")
A = Tensor("A", (svr.N, svr.N), "A", "A_{%1}", "A_{%1%2}")
SYMBOLS = {en.A_: A, en.V_: svr.v, en.Z_: STATE}
SOFTMAX = row_softmax(as_term(Q) @ as_term(svr.k).T / sqrt(size(svr.D)))
A_RULE = Given(A, (svr.i, svr.j), SOFTMAX[svr.i, svr.j], "the attention matrix")


def energy_program() -> Program:
    """Minimise the energy (11) of farooq2025 over the state."""
    return Program("(11)", (en.Z_,), en.attention_energy())


def minimiser() -> Term:
    """Row i of the state at which the gradient of (11) vanishes, as the dualiser solves for it."""
    result = dualise(energy_program())
    solved = ix.translate(result.solved[en.Z_], NAMES, SYMBOLS)
    at = tuple(Index(k.name, NAMES[k.dim]) for k in result.at[en.Z_])
    return stack(svr.d, Raw((), ix.rename(solved, dict(zip(at, (svr.i, svr.d), strict=True)))))


def attention_expansion() -> Term:
    """The derived expansion of Theorem 1 for the query q_i."""
    expr = svr.attention(ATTENTION, to_expr(normal(svr.in_kernel(expansion(ATTENTION)))))
    return stack(svr.d, Raw((), ix.define(expr, svr.x, lambda c: Q[svr.i, c])))


def one_step() -> Term:
    """Row i of Z - ∇E(Z), one step of descent of size 1 on (11) from any state Z."""
    moved = en.descent(en.attention_energy(), as_term(1), "E").entry(Index("i", en.N), Index("k", en.DV))
    moved = ix.translate(to_expr(normal(moved)), NAMES, SYMBOLS)
    places = {Index("i", svr.N): svr.i, Index("k", svr.DV): svr.d}
    return stack(svr.d, Raw((), ix.rename(moved, places)))


claim(
    "bridge/energy-minimiser-is-the-expansion",
    "farooq2025 (11), nguyen2023 Theorem 1",
    "The energy's minimiser is the support vector expansion",
    words="The state that minimises the energy (11) has in row i the support vector expansion at the query "
    "q_i, which is attention.",
    literal=lambda a: All(
        (
            Identity(minimiser(), attention_expansion(), given=(A_RULE,), label="minimiser and expansion"),
            Identity(attention_expansion(), ATTENTION_ROW, label="both are attention"),
        )
    ),
    rests_on=("farooq2025/eq11", "nguyen2023/thm1"),
    legs=(legs.rows,),
    derivation=lambda a: dualise(energy_program()).steps,
    notes="The energy has the attention output written into it; the regression has not, but its values are "
    "free. " + convexity(energy_program()),
)

claim(
    "bridge/energy-step-is-the-expansion",
    "farooq2025 (11), nguyen2023 Theorem 1",
    "One step down the energy is attention",
    words="From any state, one step of gradient descent of size 1 on the energy (11) lands on the support "
    "vector expansion.",
    literal=lambda a: All(
        (
            Identity(
                one_step(),
                attention_expansion(),
                given=(A_RULE,),
                label="the step",
                reason="the Hessian of the energy is I",
            ),
            Identity(attention_expansion(), ATTENTION_ROW, label="the expansion"),
        )
    ),
    rests_on=("bridge/energy-minimiser-is-the-expansion",),
    legs=(legs.rows,),
)

claim(
    "bridge/ksvd-score-is-an-expansion",
    "chen2023 (8), nguyen2023 (10)",
    "The KSVD score is a support vector expansion",
    words="The score e of KSVD in its dual form is the support vector expansion whose values are the dual "
    "variables h_r, with h = 1.",
    literal=score_is_an_expansion,
    assumes=(NO_TRANSFORMATION, SAME_FEATURES),
    rests_on=("chen2023/eq8", "nguyen2023/eq10"),
    notes=(
        "The formulas agree for any two feature maps; as the solution of a regression the expansion needs "
        "one feature map for queries "
        "and keys, which makes the kernel symmetric. The values differ in what fixes them: targets there, "
        "singular vectors here."
    ),
)

claim(
    "bridge/descent-step-is-an-expansion",
    "wang2024 (1), nguyen2023 (10)",
    "The first step of functional descent is a support vector expansion",
    words="One step of gradient descent on the squared loss from W = 0 is the support vector expansion with "
    "values (2α/N) y_i and h = 1.",
    literal=step_is_an_expansion,
    assumes=(FROM_ZERO,),
    rests_on=("nguyen2023/eq10", "wang2024/prose-step-size-half"),
    notes="So the first layer of the construction attends with the labels as values; later layers attend "
    "with residuals.",
)
