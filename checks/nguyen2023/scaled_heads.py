"""Heads with key sets of different sizes: (25), Definition 2, Remark 5, and normalised (46) to (51).

N_s is the size of the head over which the sum around it runs. No product has two heads in it, so its meaning is
never in doubt, and no step uses that two heads have equally many keys; ``_two_heads`` writes out two sizes.
"""

from __future__ import annotations

from dataclasses import replace

from checks.claim import Assumption, claim
from checks.kinds.examples import Point, Rule
from checks.nguyen2023 import variant_heads, variant_optima
from checks.nguyen2023.batchnorm import BN_EPS, STATISTICS_OF_KEYS, bn_eps, score
from checks.nguyen2023.centering import ANY_BETA
from checks.nguyen2023.multihead import HEADS, combine, per_head, s
from checks.nguyen2023.theorem1 import BIAS_OFF, EXPONENTIAL, H_NONZERO, KERNEL_SUM, LOSS, H
from checks.statement import All, Convex, Definition, Fact, Given, Identity
from derivations import svr_attentions as sa
from derivations import svr_variants as sv
from derivations.index import Index, Tensor
from derivations.program import Raw
from derivations.svr import DV, D, N, SvrAssumptions, d, i
from derivations.term import Hadamard, Term, as_term, exp, row_softmax, size, softmax, sqrt, stack, sum_over

NS = "N_s"
PAPER = SvrAssumptions(bias="off")
j, jp = Index("j", NS), Index("j'", NS)
t = Index("d", D)
WHERE = (
    r"Head $s$ of $H$ has $N_s$ keys $\boldsymbol{k}^s_j$ and values $\boldsymbol{v}^s_j$; queries "
    r"$\boldsymbol{q}^s_i$; projections $\mathbf{W}_O^s$."
)
SIZES = (("N_s", 2), ("N", 2), ("H", 2), ("D_v", 1), ("D", 4))
Q_S = per_head("q^s", "q", N, D)
K_S, V_S = per_head("k^s", "k", NS, D), per_head("v^s", "v", NS, DV)
MU_S = Tensor(
    "mu^s", (HEADS, D), r"\boldsymbol{\mu}", r"{\boldsymbol{\mu}^{%1}}", r"\boldsymbol{\mu}^{%1}(%2)"
)
SCALE_S = Tensor(
    "(s^s)^-1",
    (HEADS, D),
    r"\mathbf{s}",
    r"{\mathbf{s}^{%1^{-1}}}",
    r"\mathbf{s}^{%1^{-1}}(%2)",
    positive=True,
)
VARIANCE_S = Tensor("sigma^s^2", (HEADS, D), r"\sigma^{s^2}", "", r"\sigma^{%1^2}_{%2}")
SPREAD_S = Tensor("sigma^s^2+eps", (HEADS, D), r"\sigma", "", r"(\sigma^{%1^2}_{%2}+\epsilon)", positive=True)
q, k, v, mu, scale = (as_term(x) for x in (Q_S, K_S, V_S, MU_S, SCALE_S))

MEAN_S = Given(MU_S, (s, t), 1 / size(NS) * sum_over(j, k[s, j, t]), "mean of the head's keys (47)")
DEVIATION = (k[s, j, t] - mu[s, t]) ** 2
STATISTICS_S = (
    MEAN_S,
    Given(VARIANCE_S, (s, t), 1 / size(NS) * sum_over(j, DEVIATION), "variance of the head's keys (47)"),
    Given(SPREAD_S, (s, t), as_term(VARIANCE_S)[s, t] + as_term(bn_eps), "positive, because ε > 0"),
    Given(SCALE_S, (s, t), 1 / sqrt(as_term(SPREAD_S)[s, t]), "inverse standard deviation (47)"),
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
ONE = sv.Variant("scaled head", count=NS, mark="^s")


def derived(query: Term, key: Term, a: SvrAssumptions = PAPER) -> Term:
    """Σ_s W_O^s f^s from each head's program, h^s over its own N_s keys.

    ``query`` and ``key`` say what enters Φ, in terms of ``X1`` and of ``K1`` at j.
    """
    raw = (j, as_term(K1)[j])
    expr = sv.lift(sv.regenerated(ONE, a, query, key, raw), s, {ONE.v: V_S, K1: K_S})
    return combine(stack(d, Raw((), _at_query(expr))))


def _at_query(expr):  # the query of head s at token i in place of x
    from derivations import index as ix

    return ix.define(expr, X1, lambda at: ix.At(Q_S, (s, i, at)))


def _two_heads(a: SvrAssumptions) -> Identity:
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

claim(
    "nguyen2023/eq25",
    "Eq. (25)",
    "Attention with scaled heads",
    theory="svr",
    under=(("bias", "off"),),
    role="definition",
    words="Multi-head attention in which head s has a key set of its own size N_s.",
    literal=lambda a: All(
        (
            Definition(OUT, SH),
            Identity(
                derived(as_term(X1), as_term(K1)[j], a), SH, sizes=SIZES, label="from a program for each head"
            ),
            _two_heads(a),
        )
    ),
    assumes=SH_ASSUMES,
    rests_on=("nguyen2023/eq17", "nguyen2023/eq18"),
    derivation=lambda a: sv.derive(ONE.under(a)),
    legs=(variant_heads.sh_definition, variant_optima.heads_optimum),
    where=WHERE,
    notes="Each head is a regression of its own, so different numbers of keys need nothing new.",
)

claim(
    "nguyen2023/def2",
    "Definition 2",
    "Attention with scaled heads",
    role="definition",
    words="Attention-SH: formula (25).",
    literal=lambda a: Definition(OUT, SH),
    rests_on=("nguyen2023/eq25",),
    legs=(variant_heads.sh_definition, variant_heads.sh_kernel),
    where=WHERE,
)

POOL = Tensor("P", (NS, N), r"\mathbf{P}")
X_IN = Tensor("X", (N, "D_x"), r"\mathbf{X}")
W_K, W_V = Tensor("W_K", (D, "D_x"), r"\mathbf{W}_K"), Tensor("W_V", (DV, "D_x"), r"\mathbf{W}_V")


AVERAGES = Assumption(
    "average pooling", "a key of a scaled head is the average of its tokens", "downsampling", "average"
)


def _largest() -> Rule:
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


def _pooling() -> All:
    pool, tokens, keys, values = (as_term(x) for x in (POOL, X_IN, W_K, W_V))
    pooled = (pool @ tokens) @ keys.T
    n = Index("n", N)
    projected = sum_over(n, pool[j, n] * (keys @ tokens[n]))
    queries = as_term(Tensor("Q", (N, D), r"\mathbf{Q}"))
    head = row_softmax(queries @ pooled.T / sqrt(size(D))) @ ((pool @ tokens) @ values.T)
    out = as_term(Tensor("H^s", (N, DV), r"\mathbf{H}^s"))
    return All(
        (
            Definition(out, head, label="a head on pooled tokens"),
            Identity(pooled[j], projected, label="pooling before or after projecting is the same"),
        )
    )


claim(
    "nguyen2023/rem5",
    "Remark 5",
    "Downsampling by average pooling",
    theory="svr",
    role="definition",
    words=(
        "The keys and values of a head come from downsampled tokens; average pooling commutes with "
        "projecting."
    ),
    literal=lambda a: _largest() if a.downsampling == "largest" else _pooling(),
    assumes=(AVERAGES,),
    rests_on=("nguyen2023/eq25",),
    legs=(variant_heads.pooling_matrix, variant_heads.sh_kernel),
    where=WHERE
    + r" $\mathbf{P}\in\mathbb{R}^{N_s\times N}$ pools tokens, $\mathbf{X}\in\mathbb{R}^{N\times D_x}$.",
    notes=(
        "Holds for any linear downsampling P, average pooling and 1-D convolution among them; before or "
        "after projecting differ only in cost. Max pooling does not commute: tokens 0 and 1 and the "
        "projection -1 give -1 if pooled first and 0 if projected first. The pool width must divide N."
    ),
)

# ---------------------------------------------------------------- normalised heads

Z = r"(\boldsymbol{x}-\boldsymbol{\mu}^s)\odot\mathbf{s}^{s^{-1}}"
KEY = r"(\boldsymbol{k}^s_{%1}-\boldsymbol{\mu}^s)\odot\mathbf{s}^{s^{-1}}"
HEAD = sv.Variant(
    "bn head",
    count=NS,
    mark="^s",
    train=rf"\Phi({KEY})",
    query=rf"\Phi({Z})",
    height=rf"h^s({KEY})",
    height_query=rf"h^s({Z})",
)

claim(
    "nguyen2023/eq46",
    "Eq. (46)",
    "The normalised regression function of a head",
    role="definition",
    words="The function (19) for one head, with statistics of the head's own keys.",
    literal=lambda a: Definition(
        as_term(Tensor("f^s(x)", (DV,), r"f^s(\boldsymbol{x})")), HEAD.prediction(), nonzero=(HEAD.h_x,)
    ),
    assumes=(H_NONZERO, BN_EPS),
    rests_on=("nguyen2023/eq17", "nguyen2023/eq19"),
    where=WHERE,
    notes="The letter s is a head, a scale vector and, elsewhere, a kernel size.",
)


def statistics() -> All:
    """The three definitions of (47)."""
    inverse = stack(t, 1 / sqrt(as_term(SPREAD_S)[s, t]))
    return All(
        (
            Definition(mu[s], 1 / size(NS) * sum_over(j, k[s, j]), label="mean"),
            Definition(scale[s], inverse, STATISTICS_S[:3], label="scale"),
            Definition(as_term(VARIANCE_S)[s], stack(t, STATISTICS_S[1].value), (MEAN_S,), label="variance"),
        )
    )


for _id, _reference in (("eq47", "Eq. (47)"), ("eq50", "Eq. (50)")):
    claim(
        f"nguyen2023/{_id}",
        _reference,
        "Mean and scale of a head's keys",
        role="definition",
        words="Mean, variance and inverse standard deviation of each coordinate, over the keys of one head.",
        literal=lambda a: statistics(),
        assumes=(BN_EPS,),
        rests_on=("nguyen2023/eq20",),
        legs=(variant_heads.head_statistics,),
        where=WHERE,
        notes="A head with one key has variance 0, so ε > 0 is needed here as soon as a head is small.",
    )


def _expansion() -> Identity:
    kernel = as_term(HEAD.phi_x).T @ as_term(HEAD.phi)[j]
    return Identity(
        stack(d, Raw((), sv.in_values(HEAD, sv.expansion(HEAD)))),
        sum_over(j, kernel / as_term(HEAD.h_x) * as_term(HEAD.v)[j]) + as_term(HEAD.b),
        nonzero=(HEAD.h_x,),
        label="the expansion, for any h",
    )


def _printed_h() -> Identity:
    """The weights of one head with the h of the text, against (49)."""
    z = normalised(q[s, i])
    raw = sum_over(jp, exp(score(z, k[s, jp])))
    weights = exp(score(z, normalised(k[s, j]))) / raw
    return Identity(
        combine(sum_over(j, weights * v[s, j])),
        BN_SH,
        STATISTICS_S,
        sizes=(("N_s", 2), ("N", 1), ("H", 1), ("D_v", 1), ("D", 1)),
        label="with the h of the text, the sum over the raw keys, this becomes (49)",
    )


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
        combine(stack(d, Raw((), expr))), BN_SH, sizes=SIZES, label="with h over the normalised keys"
    )


claim(
    "nguyen2023/eq48",
    "Eq. (48)",
    "The expansion of a normalised head",
    words="The expansion of (46); with h the kernel sum over the head's keys it gives Attention-BN+SH.",
    theory="svr",
    under=(("bias", "off"),),
    literal=lambda a: All((_printed_h(), _expansion())),
    corrected=lambda a: All(
        (Convex(HEAD.under(a).program(), label="the head's program is convex"), _expansion(), derived_bn(a))
    ),
    correction_words=(
        "h of a head must sum the kernel over its normalised keys; the index of the values runs to N_s."
    ),
    assumes=(*SH_ASSUMES, STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq21", "nguyen2023/eq46"),
    derivation=lambda a: sv.derive(HEAD.under(replace(a, bias="on"))),
    legs=(variant_heads.bn_sh_expansion, variant_optima.bn_head_optimum),
    where=WHERE,
    notes="The same slip as in (21). The text also lets the index of the values run to N instead of N_s.",
)


def definition_49() -> Definition:
    """(49) with its statistics."""
    return Definition(OUT, BN_SH, STATISTICS_S)


claim(
    "nguyen2023/eq49",
    "Eq. (49)",
    "Attention-BN+SH",
    role="definition",
    words="Attention with scaled heads on queries and keys normalised by each head's own statistics.",
    literal=lambda a: definition_49(),
    assumes=(BN_EPS,),
    rests_on=("nguyen2023/eq48", "nguyen2023/eq50"),
    legs=(variant_heads.bn_sh_definition, variant_heads.bn_sh_kernel),
    where=WHERE,
)

claim(
    "nguyen2023/def5",
    "Definition 5",
    "Batch normalised attention with scaled heads",
    role="definition",
    words="Attention-BN+SH: formula (49) with the statistics (50).",
    literal=lambda a: All((definition_49(), *statistics().parts)),
    assumes=(BN_EPS,),
    rests_on=("nguyen2023/eq49", "nguyen2023/eq50"),
    legs=(variant_heads.bn_sh_definition, variant_heads.bn_sh_kernel),
    where=WHERE,
)


def derived_beta(a: SvrAssumptions = PAPER) -> Term:
    """(51) from the programs of its heads on the keys less βμ^s."""
    own = sv.Variant("centred head", count=NS, mark="^s")
    query, key = centred(as_term(Q_S)[s, i], a), centred(k[s, j], a)
    expr = sv.lift(sv.regenerated(own, a, query, key, (j, k[s, j])), s, {own.v: V_S})
    return combine(stack(d, Raw((), expr)))


def _simplified(a: SvrAssumptions = PAPER) -> All:
    biased = score(q[s, i], k[s, j]) - sa.weight(a) * score(mu[s], k[s, j])
    alone = combine(sum_over(j, softmax(j, biased) * v[s, j]))
    return All(
        (
            Definition(OUT, beta_sh(a), (MEAN_S,)),
            Identity(beta_sh(a), alone, sizes=SIZES, label="the centering of the keys cancels in each head"),
            Identity(derived_beta(a), beta_sh(a), sizes=SIZES, label="from a program for each head"),
        )
    )


claim(
    "nguyen2023/eq51",
    "Eq. (51)",
    "Attention-BN+SH simplified to weighted centering",
    theory="svr",
    under=(("bias", "off"),),
    role="definition",
    words="Scaled heads with β times the mean of the head's keys subtracted from its queries and keys.",
    literal=_simplified,
    assumes=(*SH_ASSUMES, ANY_BETA),
    rests_on=("nguyen2023/eq26", "nguyen2023/eq49", "nguyen2023/prose-centering-only"),
    legs=(variant_heads.beta_sh_definition, variant_optima.beta_sh_optimum),
    where=WHERE + r" $\beta$ a constant.",
    notes=(
        "Not an identity with (49) but another attention; the text writes μ where the formula has the "
        "head's mean."
    ),
)
