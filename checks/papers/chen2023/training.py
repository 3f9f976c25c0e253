"""What minimising the squared objective does: (10), zero objective, rank, Λ as a variable, heads."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from checks.claim import claim
from checks.kinds.examples import Point, Rule
from checks.leg import Legs
from checks.papers.chen2023 import enumerations as legs
from checks.papers.chen2023.symbols import (
    EIGEN_FACTS,
    NOTATION,
    ORTHONORMAL,
    PRIMAL,
    K,
    derived,
    i,
    image,
    j,
    kernel_rule,
    l_,
    lam,
    lp,
    phi_q,
    printed,
    row,
    sigma,
    weights,
)
from checks.statement import All, Definition, Fact
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, size, sum_over
from derivations.theories import ksvd
from derivations.theories.ksvd import SAMPLED, KsvdAssumptions, N, P, S

solver_legs = Legs("checks.papers.chen2023.legs.solvers")
tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

BLOCKS = "B"
loss, eta = Tensor("L", (), r"\mathcal{L}_{\mathrm{task}}"), Tensor("eta", (), r"\eta", positive=True)
per_block = Tensor("J", (BLOCKS,), "J")
total_loss = Tensor("total", (), r"\mathcal{L}_{\mathrm{total}}")
b_ = Index("b", BLOCKS)
half = Fraction(1, 2)
I_2 = ((1, 0), (0, 1))
top, left = Tensor("sigma_1", (), r"\sigma_1", positive=True), Tensor("u", (N,), r"\boldsymbol{u}")


def value(a: KsvdAssumptions) -> Term:
    """J in the weights."""
    return Raw((), ksvd.in_weights(a))


def gradient_entry(a: KsvdAssumptions, which: int) -> Term:
    """One entry of the guarded gradient by W_e (0) or W_r (1)."""
    return derived(ksvd.weight_gradient(a, ksvd.weights(a)[which], row(a), l_))


def at(a: KsvdAssumptions, phi_q_: Any, phi_k_: Any, lam_: Any, w_e: Any, w_r: Any, f: Any = None) -> Point:
    """Features, diagonal of Λ and weights as nested tuples; f(X) is the identity matrix unless given."""
    tokens, width, rows = len(phi_q_), len(phi_q_[0]), len(w_e)
    by = ksvd.weights(a)
    f = f or tuple(tuple(int(x == y) for y in range(width)) for x in range(rows))
    values = [(ksvd.phi_q, phi_q_), (ksvd.phi_k, phi_k_), (ksvd.lam, lam_), (by[0], w_e), (by[1], w_r)]
    if a.f_X != "identity":
        values.append((ksvd.transformation(a), f))
    if a.normalisation != "none":
        values.append((ksvd.d, (1,) * tokens))
    if a.objective == "released":
        values.append((ksvd.released, (1,) * len(lam_)))
    sizes = {N: tokens, P: width, S: len(lam_), SAMPLED: rows}
    return Point(tuple(sizes.items()), tuple(values))


claim(
    "chen2023/eq10",
    "Eq. (10)",
    "The training objective",
    theory="ksvd",
    role="definition",
    words="The task loss plus η times the sum over blocks of the squared KSVD objective, J_b a mean over "
    "heads.",
    literal=Definition(
        as_term(total_loss), as_term(loss) + as_term(eta) * sum_over(b_, as_term(per_block)[b_] ** 2)
    ),
    rests_on=("chen2023/eq11",),
    legs=(solver_legs.descent_reaches_zero,),
    where=r"$\mathcal{L}_{\mathrm{task}}$ the loss of the task, $\mathcal{L}_{\mathrm{total}}$ what is "
    r"minimised; $J_b$ the KSVD objective of block $b$, averaged over its heads; $\eta>0$; $B$ blocks.",
    notes="The gradient of J² is 2J times that of J, so it vanishes on the whole cone J = 0, of which W = 0 "
    "is a point; see chen2023/prose-zero-objective-satisfies-kkt. Squaring after the mean over heads lets "
    "heads cancel: chen2023/prose-heads-mean. The released code averages over tokens as well "
    "(chen2023/prose-released-loss).",
)


def _zero_is_stationary(a: KsvdAssumptions) -> All:
    zero = Fact("J", value(a), "=")
    by_e, by_r = (Fact(f"∂J/∂W_{c}", gradient_entry(a, n), "=") for n, c in enumerate("er"))
    one = ((1,),)
    smallest = at(a, one, one, (Fraction(4, 5),), ((2,),), ((1,),))
    narrow = at(a, ((1,), (1,)), ((1,), (1,)), (half,), ((1,), (1,)), ((0,), (half,)), f=((1,), (0,)))
    right = at(a, I_2, ((3, 0), (0, 1)), (Fraction(1, 3),), ((2,), (1,)), ((0,), (1,)))
    of_k = replace(right, values=(*right.values, (top, 3), (left, (1, 0))))
    square = (K @ K.T @ as_term(left))[i] - as_term(top) ** 2 * as_term(left)[i]
    inverse = (
        Fact("σ_1 is a singular value", square, "="),
        Fact("of a unit vector", as_term(left).T @ as_term(left) - 1, "="),
        Fact("Λ = 1/σ_1", lam[lp] * as_term(top) - 1, "="),
    )
    kernel = (kernel_rule(printed(a)),)
    return All(
        Rule((zero,), by_e, narrow if a.f_X == "tokens" else smallest, label="stationarity in W_e"),
        Rule((zero,), by_r, smallest, label="stationarity in W_r"),
        Rule((zero, *inverse), by_e, of_k, kernel, label="also for Λ = 1/σ_1"),
        _two_heads(a),
    )


def _two_heads(a: KsvdAssumptions) -> Rule:
    """J of two heads with their own weights and Λ on the same features, as J_l in (10) is their mean."""
    first = ksvd.in_weights(a)
    others = {
        x: Tensor(f"{x.name}'", x.dims, f"{x.latex}'", positive=x.positive)
        for x in (*ksvd.weights(a), ksvd.lam)
    }
    second = first
    for old, new in others.items():
        second = ix.define(second, old, lambda *idx, new=new: ix.At(new, idx))
    one = ((1,),)
    base = at(a, one, one, (half,), one, one)
    w_e, w_r = ksvd.weights(a)
    extra = ((others[w_e], one), (others[w_r], ((0,),)), (others[ksvd.lam], (1,)))
    mean = Fact("the mean of J over two heads", half * (Raw((), first) + Raw((), second)), "=")
    return Rule(
        (mean,),
        Fact("∂J/∂W_e of the first head", gradient_entry(a, 0), "="),
        Point(base.sizes, (*base.values, *extra)),
        label="for the mean over two heads",
    )


claim(
    "chen2023/prose-zero-objective-satisfies-kkt",
    "Section 4, after (11)",
    "A zero objective satisfies the stationarity conditions",
    theory="ksvd",
    words="Training drives J to zero, and a zero value is said to satisfy the stationarity conditions of "
    "KSVD.",
    literal=_zero_is_stationary,
    assumes=PRIMAL,
    rests_on=("chen2023/lem4.2",),
    failing=(solver_legs.descent_is_stationary, solver_legs.descent_in_each_head),
    where=NOTATION + r" $\sigma_1$: a singular value of $K$ with the unit vector $\boldsymbol{u}$; "
    r"$W_e',W_r',\lambda'$: of a second head.",
    notes="Lemma 4.2 is used in the wrong direction. J = 0 forces stationarity only where J has one sign. "
    "Take the non-zero singular values σ of K, and zeros until there is one for each row of f(X). The "
    "Hessian of J in column l has as many positive eigenvalues as f(X) has rows plus such σ with λ_l σ > 1, "
    "and as many negative ones as there are such σ with λ_l σ < 1 (both counted at exact instances under "
    "chen2023/eq6). So it is semidefinite only if λ_l ≥ 1/σ for the smallest of them, which needs rank K "
    "equal to the number of rows of f(X): never with N rows and p < N. And where it is semidefinite, the "
    "non-zero stationary points belong to the smallest singular values. Where J has "
    "both signs, heads can cancel in the mean. What depends on it: contribution 3, Section 4, the use of "
    "(10).",
)


def _rank(a: KsvdAssumptions) -> All:
    """For two tokens and two directions, where low rank can only be rank one."""
    w_e, _ = weights(a)
    point = at(a, I_2, I_2, (1, 1), I_2, I_2)
    hypotheses = (
        Fact("J (so J² is minimal)", value(a), "="),
        Fact("two tokens", size(N) - 2, "="),
        Fact("two directions", size(S) - 2, "="),
    )
    score = w_e.T @ image(a, phi_q[i])
    other = w_e.T @ image(a, phi_q[j])
    minor = score[l_] * other[lp] - score[lp] * other[l_]
    kernel = K[i, i] * K[j, j] - K[i, j] * K[j, i]
    return All(
        Rule(hypotheses, Fact("the determinant of E", minor, "="), point, label="low rank of E"),
        Rule(
            hypotheses,
            Fact("the determinant of K", kernel, "="),
            point,
            (kernel_rule(a),),
            label="low rank of K",
        ),
    )


claim(
    "chen2023/prose-low-rank-promoted",
    "Sections 1, 3",
    "Minimising the squared objective promotes low rank",
    theory="ksvd",
    words="Minimising the regulariser J² is said to promote the low-rank property.",
    literal=lambda a: _rank(printed(a)),
    assumes=PRIMAL,
    rests_on=("chen2023/prose-zero-objective-satisfies-kkt",),
    failing=(solver_legs.descent_lowers_rank,),
    where=NOTATION,
    notes="Judged as a property of J², for two tokens and two directions, where a matrix of low rank is "
    "singular: with both features, f(X) and Λ the identity, J = 0 wherever W_e = W_r, so the minimisers of "
    "J² have every rank; and J = 0 at W_e = W_r = 0, whatever K is. What does bound the rank is the "
    "architecture: s columns in E and R, width p in K, whatever J is. The experiment that is to show a "
    "sharper decay is chen2023/fig1.",
)


def _lambda_determined(a: KsvdAssumptions) -> Rule:
    """With the singular triplets of K in Σ, H_e and H_r, J = 0 would give λ_l = 1/σ_l."""
    spread = at(a, I_2, I_2, (half, Fraction(3, 2)), I_2, I_2)
    of_k = ((ksvd.sigma, (1, 1)), (ksvd.h_e, I_2), (ksvd.h_r, I_2))
    point = replace(spread, values=(*spread.values, *of_k))
    inverse = Fact("λ_l σ_l - 1", lam[l_] * sigma[l_] - 1, "=")
    hypotheses = (Fact("J", value(a), "="), *EIGEN_FACTS, *ORTHONORMAL)
    return Rule(hypotheses, inverse, point, (kernel_rule(printed(a)),))


claim(
    "chen2023/prose-lambda-automatic",
    "Section 4, after (11)",
    "Λ is automatically determined by the optimisation",
    theory="ksvd",
    words="Driving J to zero determines Λ: at J = 0 its entries are the inverse singular values.",
    literal=lambda a: _lambda_determined(printed(a)),
    assumes=(*PRIMAL[1:],),
    rests_on=("chen2023/eq11",),
    failing=(solver_legs.descent_finds_lambda,),
    where=NOTATION,
    notes="With W fixed, J = 0 is one linear equation for the s entries of Λ. A W-gradient of zero would "
    "leave only inverse singular values for directions that are not zero (chen2023/thm3.2), but J = 0 does "
    "not give it: the counterexample has another one. Stationarity in Λ is no help: ∂J/∂λ_l is half the sum "
    "of the squared scores in direction l, so it vanishes only where these scores do.",
)


HEADS = "H"
g_ = Index("h", HEADS)
per_head = Tensor("J_h", (BLOCKS, HEADS), "J", "", "J_{%1,%2}")

claim(
    "chen2023/prose-heads-mean",
    "Section 4, after (10)",
    "The mean over heads",
    role="definition",
    words="J_b of block b is the mean of the KSVD objectives of its heads.",
    literal=Definition(as_term(per_block)[b_], 1 / size(HEADS) * sum_over(g_, as_term(per_head)[b_, g_])),
    rests_on=("chen2023/eq10",),
    where=r"$J_{b,h}$: the objective (11) of head $h$ in block $b$; $H$ heads, $B$ blocks.",
    notes="J may have both signs, and heads can then cancel: that a zero mean leaves each head "
    "stationary fails, see chen2023/prose-zero-objective-satisfies-kkt.",
)

claim(
    "chen2023/prose-released-loss",
    "Released implementation, against (11)",
    "The released loss is (11) with another Λ",
    theory="ksvd",
    words="The released loss takes means over tokens and an unconstrained parameter in place of Λ, squared. "
    "It is J with Λ = L²/N, so on a KSVD solution without zero columns it vanishes, direction by direction, "
    "exactly where L_l² = N/σ_l.",
    literal=lambda a: legs.released_statement(a),
    assumes=(PRIMAL[1], PRIMAL[2]),
    rests_on=("chen2023/eq11", "chen2023/lem4.2"),
    legs=(tensor_legs.released,),
    where=NOTATION + r" $L$: the released parameter, one entry per direction; only its square enters. "
    r"$\boldsymbol{h}_{e,l}$: column $l$ of $H_e$.",
    notes="A statement of this project about the public code, not of the paper. Reading 1/L_l² as a "
    "singular value is wrong by the factor N: σ_l = N/L_l². The squares keep Λ ≥ 0, but L_l = 0 is not "
    "excluded. For the Long Range Arena the code takes the trace of W_e and W_r under the flag --trace_no_x, "
    "which its scripts set, else that of the data-dependent weights.",
)
