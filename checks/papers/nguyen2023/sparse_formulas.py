"""Formulas of sparse attention as a fit to a subset of the keys that depends on the query: equation (16)."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import Assumption
from checks.kinds.examples import Point, Rule
from checks.kinds.programs import Convex
from checks.papers.nguyen2023 import scaled_heads_formulas as heads
from checks.papers.nguyen2023.multihead_formulas import combine, per_head, s
from checks.papers.nguyen2023.program_lines import lines_of
from checks.statement import All, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, exp, size, softmax, sqrt, stack, sum_over
from derivations.theories.svr import choices as svr_choices
from derivations.theories.svr import regression as svr
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DV, D, N, SvrAssumptions, d, j

M = "M"
SUBSET_OF_KEYS = Assumption("a subset", "a query keeps some of the keys", "mask", "strided:64")
jp = Index("j'", N)
member = Tensor("1_M(x)", (N,), r"\mathbf{1}_{\mathcal{M}_x}", "", r"\mathbf{1}_{\mathcal{M}_x}(%1)")
weight_sum, weight_share = Tensor("Z", (), "Z"), Tensor("p", (), "p")
x, k, v = as_term(svr.x), as_term(svr.k), as_term(svr.v)
SUBSET = sv.Variant.at(
    "subset", r"\boldsymbol{k}_{m_x(%1)}", r"\boldsymbol{x}", h="h_x", count=M, mark="^{(x)}"
)
chosen = Tensor(
    "k_m", (M, D), r"\boldsymbol{k}_{m_x}", r"\boldsymbol{k}_{m_x(%1)}", r"\boldsymbol{k}_{m_x(%1)}(%2)"
)


def score(at: Index) -> Term:
    """x·k_j/√D."""
    return x.T @ k[at] / sqrt(size(D))


def literal(a: SvrAssumptions) -> Rule | Identity:
    all_keys = sum_over(jp, exp(score(jp)))
    printed = sum_over(j, as_term(member)[j] * exp(score(j)) / all_keys * v[j])
    kept = sum_over(jp, as_term(member)[jp] * exp(score(jp)))
    masked = sum_over(j, as_term(member)[j] * exp(score(j)) / kept * v[j])
    words = "with h over all keys the expansion is sparse attention"
    if svr_choices.mask(a.mask)[1] is None:
        every = Given(member, (j,), as_term(1), "every key is kept")
        return Identity(printed, masked, (every,), label=words)
    ones = as_term(member)[jp]
    point = Point(
        (("N", 2), ("D", 1), ("D_v", 1)),
        ((member, (1, 0)), (svr.k, ((0,), (1,))), (svr.x, (1,)), (svr.v, ((1,), (1,)))),
        ((d, 1),),
    )
    return Rule(
        (Fact("the mask is 0 or 1", ones * ones - ones, "="),),
        Fact("printed expansion minus sparse attention", (printed - masked)[d], "="),
        point,
        label=words,
    )


def corrected(a: SvrAssumptions) -> All:
    at = SUBSET.j
    kernel = as_term(SUBSET.phi_x).T @ as_term(SUBSET.phi)[at]
    scored = x.T @ as_term(chosen)[at] / sqrt(size(D))
    values = as_term(SUBSET.v)
    return All(
        Convex(SUBSET.under(a).program(), label="the fit to the subset of one query is a convex program"),
        Identity(
            stack(d, Raw((), sv.expansion(SUBSET))),
            sum_over(at, kernel / as_term(SUBSET.h_x) * values[at]) + as_term(SUBSET.b),
            (lines_of(SUBSET).values("the values of that fit"),),
            nonzero=(SUBSET.h, SUBSET.h_x),
            label="its expansion",
        ),
        Identity(
            stack(d, Raw((), sv.regenerated(SUBSET, a, x, as_term(chosen)[at], (j, k[j])))),
            sum_over(at, softmax(at, scored) * values[at]),
            label="with h over the subset: softmax attention to the kept keys",
        ),
        mask(),
    )


def mask() -> Identity:
    """A softmax over the kept keys is a masked and renormalised softmax over all keys."""
    kept = Given(weight_sum, (), sum_over(jp, as_term(member)[jp] * exp(score(jp))), "some key is kept")
    share = Given(weight_share, (), sum_over(jp, masked_softmax(jp)), "the share of the kept keys")
    first = sum_over(j, as_term(member)[j] * exp(score(j)) / as_term(weight_sum) * v[j])
    return Identity(
        first,
        sum_over(j, masked_softmax(j) / as_term(weight_share) * v[j]),
        (kept, share),
        nonzero=(weight_sum, weight_share),
        label="masking the softmax weights and renormalising gives the same",
    )


def masked_softmax(at: Index) -> Term:
    """1_M(j) softmax_j."""
    return as_term(member)[at] * softmax(at, score(at))


# ---------------------------------------------------------------- the sparse versions of BN and SH

X_S = per_head("x^s", "x", D)
KEPT_S, VALUES_S = per_head("k_m^s", "k", M, D), per_head("v_m^s", "v", M, DV)
_all = {f: getattr(heads.K_S, f).replace("^{%1}", r"^{%1,\text{all}}") for f in ("row_latex", "entry_latex")}
ALL_S = replace(heads.K_S, name="k_j^s of all", **_all)
HEAD_SUBSET = replace(SUBSET, name="subset of a head", mark="^{s}")


def version(a: SvrAssumptions, normalise: bool) -> Identity:
    """Sparse Attention-SH from a program for each head and query; with ``normalise`` sparse
    Attention-BN+SH.
    """
    at = HEAD_SUBSET.j
    query, key = as_term(X_S)[s], as_term(KEPT_S)[s, at]
    if normalise:
        query, key = heads.normalised(query), heads.normalised(key)
    raw = (heads.j, as_term(ALL_S)[s, heads.j])
    expr = sv.lift(sv.regenerated(HEAD_SUBSET, a, query, key, raw), s, {HEAD_SUBSET.v: VALUES_S})
    attention = sum_over(at, softmax(at, query.T @ key / sqrt(size(D))) * as_term(VALUES_S)[s, at])
    return Identity(
        combine(stack(d, Raw((), expr))),
        combine(attention),
        sizes=(("M", 2), ("N_s", 2), ("H", 1), ("D_v", 1), ("D", 4)),
        label=f"sparse Attention-{'BN+SH' if normalise else 'SH'}, from a program for each head and query",
    )
