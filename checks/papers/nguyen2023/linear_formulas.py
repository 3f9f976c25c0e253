"""Formulas of linear attention and its variants, and Theorem 1's equations as Appendix D repeats them:
(27) to (30).
"""

from __future__ import annotations

from collections.abc import Callable

from checks.claim import Assumption
from checks.papers.nguyen2023.batchnorm_formulas import normalised
from checks.papers.nguyen2023.centering_formulas import feature
from checks.papers.nguyen2023.multihead_formulas import X_S, combine, s
from checks.papers.nguyen2023.scaled_heads_formulas import K_S, ONE, Q_S, V_S
from checks.papers.nguyen2023.scaled_heads_formulas import j as js
from checks.papers.nguyen2023.scaled_heads_formulas import jp as jps
from checks.papers.nguyen2023.scaled_heads_formulas import normalised as head_normalised
from checks.papers.nguyen2023.theorem1_formulas import f_x, fitted, softmax_attention
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, exp, size, sqrt, stack, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr import variants as sv
from derivations.theories.svr.attentions import c, mu
from derivations.theories.svr.regression import DV, D, N, SvrAssumptions, d, j
from derivations.theories.svr.regression import i as token

jp = Index("j'", N)
x, k, v, b = (as_term(t) for t in (svr.x, svr.k, svr.v, svr.b))
PLAIN = sv.Variant("plain")
FEATURES = r" $\varphi=\operatorname{elu}+1$, coordinate by coordinate; it is positive."

ROOT4 = sqrt(sqrt(size(D)))


def eq30(a: SvrAssumptions) -> All:
    """f(x) as the fraction of exponentials of rescaled vectors, that as the one of scaled scores, and (2)."""

    def fraction(score: Callable[[Index], Term]) -> Term:
        return sum_over(j, exp(score(j)) / sum_over(jp, exp(score(jp))) * v[j]) + b

    rescaled = fraction(lambda at: (x / ROOT4).T @ (k[at] / ROOT4))
    scored = fraction(lambda at: x.T @ k[at] / sqrt(size(D)))
    sizes = (("D", 16), ("N", 2), ("D_v", 1))
    return All(
        Identity(
            as_term(f_x), rescaled, given=fitted(a), sizes=sizes, label="(29) at x/D^{1/4} and k/D^{1/4}"
        ),
        Identity(rescaled, scored, sizes=sizes, label="two fourth roots make a square root"),
        softmax_attention(a).parts[-1],
    )


# ---------------------------------------------------------------- linear attention


def kernel_sum(query: Term, key: Term, at: Index) -> Term:
    """Σ φ(query)·φ(key) over the keys."""
    return sum_over(at, feature(query).T @ feature(key))


LINEAR = SvrAssumptions(bias="off", feature_map="elu")
ELU = Assumption("elu + 1 features", "Φ = elu + 1, coordinate by coordinate", "feature_map", "elu")
UNDER = (("bias", "off"), ("feature_map", "elu"))


def katharopoulos(a: SvrAssumptions = LINEAR) -> Identity:
    """Σ_j φ(x)·φ(k_j) v_j over its normaliser, against φ(x)ᵀ(Σ φ(k_j) v_jᵀ) over φ(x)ᵀ Σ φ(k_j)."""
    expr = sv.renamed(sv.regenerated(PLAIN, a, x, k[j]), {PLAIN.v: svr.v})
    moments = sum_over(j, feature(k[j])[c] * v[j])
    numerator = sum_over(c, feature(x)[c] * moments)
    denominator = feature(x).T @ sum_over(j, feature(k[j]))
    pairwise = sum_over(j, (feature(x).T @ feature(k[j])) / kernel_sum(x, k[jp], jp) * v[j])
    return Identity(
        stack(d, Raw((), expr)),
        numerator / denominator,
        chain=(Link(pairwise, "the expansion with the kernel of the features elu + 1", printed=False),),
        reason="the finite sums over keys and coordinates change places",
    )


# ---------------------------------------------------------------- the linear versions of BN and SH

z, key = normalised(x), normalised(k[j])


def printed_versions() -> All:
    """The inner product as kernel, in (22) and in (25)."""
    inner = z.T @ key / sum_over(jp, z.T @ normalised(k[jp]))
    plain = x.T @ k[j] / sum_over(jp, x.T @ k[jp])
    out = as_term(Tensor("f(x)", (DV,), r"f(\boldsymbol{x})"))
    mean = Given(mu, (c,), 1 / size(N) * sum_over(j, k[j, c]), "mean of the keys (20)")
    return All(
        Definition(out, sum_over(j, inner * v[j]), (mean,), label="(22) with the kernel x·y"),
        Definition(out, sum_over(j, plain * v[j]), label="(25), one head, with the kernel x·y"),
    )


def corrected_versions(a: SvrAssumptions = LINEAR) -> All:
    own = sv.renamed(sv.regenerated(PLAIN, a, z, key, (j, k[j])), {PLAIN.v: svr.v})
    bn = (feature(z).T @ feature(key)) / kernel_sum(z, normalised(k[jp]), jp)
    xs, ks = Tensor("x", (D,), r"\boldsymbol{x}"), Tensor("k", (ONE.count, D), r"\boldsymbol{k}")
    copies = {xs: X_S, ks: K_S}
    head = sv.lift(sv.regenerated(ONE, a, as_term(xs), as_term(ks)[js]), s, {**copies, ONE.v: V_S})
    query, keys = as_term(copies[xs])[s], as_term(copies[ks])
    share = (feature(query).T @ feature(keys[s, js])) / kernel_sum(query, keys[s, jps], jps)
    small = (("N_s", 2), ("H", 2), ("D_v", 1), ("D", 2))
    return All(
        Identity(stack(d, Raw((), own)), sum_over(j, bn * v[j]), label="Linear Attention-BN"),
        Identity(
            combine(stack(d, Raw((), head))),
            combine(sum_over(js, share * as_term(V_S)[s, js])),
            sizes=small,
            label="Linear Attention-SH",
        ),
        _linear_bn_sh(a),
    )


def _linear_bn_sh(a: SvrAssumptions = LINEAR) -> Identity:
    """The linear version of (49), from each head's program on its normalised keys."""
    query, key_ = head_normalised(as_term(Q_S)[s, token]), head_normalised(as_term(K_S)[s, js])
    raw = (js, as_term(K_S)[s, js])
    expr = sv.lift(sv.regenerated(ONE, a, query, key_, raw), s, {ONE.v: V_S})
    others = head_normalised(as_term(K_S)[s, jps])
    share = (feature(query).T @ feature(key_)) / kernel_sum(query, others, jps)
    small = (("N_s", 2), ("N", 1), ("H", 1), ("D_v", 1), ("D", 2))
    return Identity(
        combine(stack(d, Raw((), expr))),
        combine(sum_over(js, share * as_term(V_S)[s, js])),
        sizes=small,
        label="Linear Attention-BN+SH",
    )
