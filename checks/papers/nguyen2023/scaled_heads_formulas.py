"""Formulas of heads with key sets of different sizes: (25), Definition 2, Remark 5, and normalised (46)
to (51).
"""

from __future__ import annotations

from checks.claim import Assumption
from checks.kinds.examples import Point, Rule
from checks.papers.nguyen2023.batchnorm_formulas import score
from checks.papers.nguyen2023.multihead_formulas import HEADS, combine, per_head, s
from checks.papers.nguyen2023.theorem1_formulas import BIAS_OFF, EXPONENTIAL, KERNEL_SUM, LOSS, H
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import (
    Hadamard,
    Term,
    as_term,
    exp,
    row_softmax,
    size,
    softmax,
    sqrt,
    stack,
    sum_over,
)
from derivations.theories.svr import attentions as sa
from derivations.theories.svr import variants as sv
from derivations.theories.svr.attentions import bn_eps
from derivations.theories.svr.regression import DV, D, N, SvrAssumptions, d, i

NS = "N_s"
PAPER = SvrAssumptions(bias="off")
j, jp = Index("j", NS), Index("j'", NS)
t = Index("d", D)
WHERE = (
    r"Head $s$ of $H$ has $N_s$ keys $\boldsymbol{k}^s_j$ and values $\boldsymbol{v}^s_j$, of widths $D$ "
    r"and $D_v$; queries $\boldsymbol{q}^s_i$; projections $\mathbf{W}_O^s$."
)
SIZES = (("N_s", 2), ("N", 2), ("H", 2), ("D_v", 1), ("D", 4))
Q_S = per_head("q^s", "q", N, D)
K_S, V_S = per_head("k^s", "k", NS, D), per_head("v^s", "v", NS, DV)
MU_S = Tensor(
    "mu^s", (HEADS, D), r"\boldsymbol{\mu}", r"{\boldsymbol{\mu}^{%1}}", r"\boldsymbol{\mu}^{%1}(%2)"
)
SCALE_S = Tensor(
    "(s^s)^-1", (HEADS, D), r"\mathbf{s}", r"{\mathbf{s}^{%1^{-1}}}", r"\mathbf{s}^{%1^{-1}}(%2)"
)
VARIANCE_S = Tensor("sigma^s^2", (HEADS, D), r"\sigma^{s^2}", "", r"\sigma^{%1^2}_{%2}")
q, k, v, mu, scale = (as_term(x) for x in (Q_S, K_S, V_S, MU_S, SCALE_S))

MEAN_S = Given(MU_S, (s, t), 1 / size(NS) * sum_over(j, k[s, j, t]), "mean of the head's keys (47)")
DEVIATION = (k[s, j, t] - mu[s, t]) ** 2
STATISTICS_S = (
    MEAN_S,
    Given(VARIANCE_S, (s, t), 1 / size(NS) * sum_over(j, DEVIATION), "variance of the head's keys (47)"),
    Given(
        SCALE_S,
        (s, t),
        1 / sqrt(as_term(VARIANCE_S)[s, t] + as_term(bn_eps)),
        "inverse scale (47)",
    ),
)


def attend(head: Index, query: Term, key: Term) -> Term:
    """Σ_{j ≤ N_s} softmax(query·key/√D) v^s_j; the key has the free index j."""
    return sum_over(j, softmax(j, score(query, key)) * v[head, j])


def normalised(vector: Term) -> Term:
    """(vector - μ^s) ⊙ s^{s^{-1}}."""
    return Hadamard((vector - mu[s], scale[s]))


def centred(vector: Term, a: SvrAssumptions = PAPER) -> Term:
    """vector - βμ^s."""
    return vector - sa.weight(a) * mu[s]


SH = combine(attend(s, q[s, i], k[s, j]))
BN_SH = combine(attend(s, normalised(q[s, i]), normalised(k[s, j])))


def beta_sh(a: SvrAssumptions = PAPER) -> Term:
    """(51)."""
    return combine(attend(s, centred(q[s, i], a), centred(k[s, j], a)))


# one head: its program has N_s training points
X1, K1 = Tensor("x", (D,), r"\boldsymbol{x}"), Tensor("k", (NS, D), r"\boldsymbol{k}", r"\boldsymbol{k}_{%1}")
ONE = sv.Variant.at(
    "scaled head", r"\boldsymbol{k}^s_{%1}", r"\boldsymbol{x}^s", r"\Phi^s", "h^s", count=NS, mark="^s"
)


def derived(query: Term, key: Term, a: SvrAssumptions = PAPER) -> Term:
    """Σ_s W_O^s f^s from each head's program, h^s over its own N_s keys.

    ``query`` and ``key`` say what enters Φ, in terms of ``X1`` and of ``K1`` at j.
    """
    raw = (j, as_term(K1)[j])
    expr = sv.lift(sv.regenerated(ONE, a, query, key, raw), s, {ONE.v: V_S, K1: K_S})
    return combine(stack(d, Raw((), _at_query(expr))))


def _at_query(expr: ix.Expr) -> ix.Expr:  # the query of head s at token i in place of x

    return ix.define(expr, X1, lambda at: ix.At(Q_S, (s, i, at)))


def two_heads(a: SvrAssumptions) -> Identity:
    """Two heads of different sizes, written out: nothing uses that the sizes agree."""
    left, right = [], []
    for n in ("1", "2"):
        count, query = f"N_{n}", Tensor(f"q^{n}", (D,), rf"{{\boldsymbol{{q}}^{n}}}")
        own = sv.Variant(f"head {n}", count=count, mark=f"^{n}")
        weights = as_term(Tensor(f"W_O^{n}", (DV, DV), rf"\mathbf{{W}}_O^{n}"))
        keys, values = (
            Tensor(
                f"{t}^{n}",
                (count, size_),
                t,
                rf"{{\boldsymbol{{{t}}}^{n}_{{%1}}}}",
                rf"\boldsymbol{{{t}}}^{n}_{{%1}}(%2)",
            )
            for t, size_ in (("k", D), ("v", DV))
        )
        scored = score(as_term(query), as_term(keys)[own.j])
        expr = sv.regenerated(own, a, as_term(query), as_term(keys)[own.j])
        expr = sv.renamed(expr, {own.v: values})
        left.append(weights @ stack(d, Raw((), expr)))
        right.append(weights @ sum_over(own.j, softmax(own.j, scored) * as_term(values)[own.j]))
    sizes = (("N_1", 2), ("N_2", 3), ("D", 4), ("D_v", 1))
    return Identity(
        left[0] + left[1], right[0] + right[1], sizes=sizes, label="two heads of sizes N_1 and N_2"
    )


OUT = as_term(H)[i]
SH_ASSUMES = (KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS)

POOL = Tensor("P", (NS, N), r"\mathbf{P}^s")
X_IN = Tensor("X", (N, "D_x"), r"\mathbf{X}")
W_K, W_V = Tensor("W_K", (D, "D_x"), r"{\mathbf{W}_K^s}"), Tensor("W_V", (DV, "D_x"), r"{\mathbf{W}_V^s}")


AVERAGES = Assumption(
    "average pooling", "a key of a scaled head is the average of its tokens", "downsampling", "average"
)


def largest_pool() -> Rule:
    """The larger of two tokens does not commute with projecting: tokens 0 and 1, projection -1."""
    first, second, map_ = (as_term(Tensor(n, (), n)) for n in ("x_1", "x_2", "w"))

    def larger(a: Term, b: Term) -> Term:
        return (a + b + sqrt((a - b) ** 2)) / 2

    values = tuple((t.data, n) for t, n in ((first, 0), (second, 1), (map_, -1)))
    return Rule(
        (),
        Fact(
            "projected after and before taking the larger",
            map_ * larger(first, second) - larger(map_ * first, map_ * second),
            "=",
        ),
        Point((), values),
        label="taking the larger coordinate before or after projecting is the same",
    )


def pooling() -> All:
    pool, tokens, keys, values = (as_term(x) for x in (POOL, X_IN, W_K, W_V))
    pooled = (pool @ tokens) @ keys.T
    n = Index("n", N)
    projected = sum_over(n, pool[j, n] * (keys @ tokens[n]))
    queries = as_term(Tensor("Q", (N, D), r"\mathbf{Q}^s"))
    head = row_softmax(queries @ pooled.T / sqrt(size(D))) @ ((pool @ tokens) @ values.T)
    out = as_term(Tensor("H^s", (N, DV), r"\mathbf{H}^s"))
    return All(
        Definition(out, head, label="a head on pooled tokens"),
        Identity(pooled[j], projected, label="pooling before or after projecting is the same"),
    )


# ---------------------------------------------------------------- normalised heads

Z = r"(\boldsymbol{x}-\boldsymbol{\mu}^s)\odot\mathbf{s}^{s^{-1}}"
KEY = r"(\boldsymbol{k}^s_{%1}-\boldsymbol{\mu}^s)\odot\mathbf{s}^{s^{-1}}"
HEAD = sv.Variant.at("bn head", KEY, Z, h="h^s", count=NS, mark="^s")


def values_up_to(count: str) -> Definition:
    """The values of a head as they are printed after (48), for j from 1 to ``count``."""
    at = Index("j", count)
    alpha, alpha_t, h = (as_term(x) for x in (HEAD.own.alpha, HEAD.own.alpha_t, HEAD.h))
    return Definition(
        as_term(HEAD.v),
        stack(at, stack(d, (alpha[at, d] - alpha_t[at, d]) / h[at])),
        nonzero=(HEAD.h,),
        label="the values, with the range of their index",
    )


def statistics() -> All:
    """The three definitions of (47)."""
    return All(
        Definition(mu[s], 1 / size(NS) * sum_over(j, k[s, j]), label="mean"),
        Definition(scale[s], stack(t, STATISTICS_S[2].value), STATISTICS_S[:2], label="scale"),
        Definition(as_term(VARIANCE_S)[s, t], STATISTICS_S[1].value, (MEAN_S,), label="variance"),
    )


def with_h(key: Term, label: str, statistics: tuple[Given, ...], **sizes: int) -> Identity:
    """(48) of all heads with b = 0 and h the sum of the kernel over ``key`` (free index j'), against (49)."""
    z = normalised(q[s, i])
    weights = exp(score(z, normalised(k[s, j]))) / sum_over(jp, exp(score(z, key)))
    return Identity(
        combine(sum_over(j, weights * v[s, j])), BN_SH, statistics, sizes=tuple(sizes.items()), label=label
    )


def printed_h() -> Identity:
    """The weights of one head with the h of the text, against (49)."""
    label = "with the h of the text, the sum over the raw keys, this becomes (49)"
    return with_h(k[s, jp], label, STATISTICS_S, N_s=2, N=1, H=1, D_v=1, D=1)


def normalised_h() -> Identity:
    """The same with the kernel summed over the normalised keys, for any mean and scale."""
    label = "with h over the normalised keys, this becomes (49), for any mean and scale"
    return with_h(normalised(k[s, jp]), label, (), N_s=2, N=2, H=2, D_v=1, D=4)


def prepared(a: SvrAssumptions, vector: Term) -> Term:
    """What enters Φ in head s for a query or a key of it."""
    if a.statistics == "none":
        return vector
    return vector - mu[s] if a.statistics == "mean" else normalised(vector)


def derived_bn(a: SvrAssumptions = PAPER) -> Identity:
    """(49) from the programs of its heads; any mean and scale."""
    own = sv.Variant("bn head", count=NS, mark="^s")
    z, key = prepared(a, as_term(Q_S)[s, i]), prepared(a, k[s, j])
    expr = sv.lift(sv.regenerated(own, a, z, key, (j, k[s, j])), s, {own.v: V_S})
    return Identity(
        combine(stack(d, Raw((), expr))), BN_SH, sizes=SIZES, label="the same from a program for each head"
    )


def definition_49() -> Definition:
    """(49) with its statistics."""
    return Definition(OUT, BN_SH, STATISTICS_S)


def derived_beta(a: SvrAssumptions = PAPER) -> Term:
    """(51) from the programs of its heads on the keys less βμ^s."""
    own = sv.Variant("centred head", count=NS, mark="^s")
    query, key = centred(as_term(Q_S)[s, i], a), centred(k[s, j], a)
    expr = sv.lift(sv.regenerated(own, a, query, key, (j, k[s, j])), s, {own.v: V_S})
    return combine(stack(d, Raw((), expr)))


def simplified(a: SvrAssumptions = PAPER) -> All:
    biased = score(q[s, i], k[s, j]) - sa.weight(a) * score(mu[s], k[s, j])
    alone = combine(sum_over(j, softmax(j, biased) * v[s, j]))
    return All(
        Definition(OUT, beta_sh(a), (MEAN_S,)),
        Identity(beta_sh(a), alone, sizes=SIZES, label="the centering of the keys cancels in each head"),
        Identity(derived_beta(a), beta_sh(a), sizes=SIZES, label="from a program for each head"),
    )
