"""Formulas of what normalising and centering change: (26), the effect claimed in Section 2.3.1, linear
attention.
"""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Assumption
from checks.kinds.examples import Example, Point, Rule
from checks.kinds.implication import Implication
from checks.papers.nguyen2023.batchnorm_formulas import MEAN, STATISTICS, VECTORS, score, variance
from checks.statement import All, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, apply, as_term, exp, size, softmax, stack, sum_over
from derivations.theories.svr import attentions as sa
from derivations.theories.svr import choices as svr_choices
from derivations.theories.svr import variants as sv
from derivations.theories.svr.attentions import BETA, K, Q, V, bn_eps, c, mu
from derivations.theories.svr.regression import D, N, SvrAssumptions, d, i, j

jp, l = Index("j'", N), Index("l", N)
q, k, v, m = (as_term(t) for t in (Q, K, V, mu))
FREE = SvrAssumptions()
SIZES = (("D", 4), ("N", 2), ("D_v", 1))
ANY_BETA = Assumption("any beta", "β is any number", "beta", "free")
BETA_WHERE = VECTORS + r"$\boldsymbol{\mu}$: the mean of the $N$ keys; $\beta$ a constant."


def centred(vector: Term, a: SvrAssumptions = FREE) -> Term:
    """vector - βμ."""
    return vector - sa.weight(a) * m


def attend(score_j: Term) -> Term:
    """Σ_j softmax(score) v_j; the score has the free index j."""
    return sum_over(j, softmax(j, score_j) * v[j])


def both(a: SvrAssumptions) -> Term:
    """(26)."""
    return attend(score(centred(q[i], a), centred(k[j], a)))


def biased(a: SvrAssumptions) -> Term:
    """Softmax attention with the bias -β μ·k_j/√D for key j."""
    return attend(score(q[i], k[j]) - sa.weight(a) * score(m, k[j]))


PLAIN = attend(score(q[i], k[j]))
Z, KEY = r"\boldsymbol{x}-\beta\boldsymbol{\mu}", r"\boldsymbol{k}_{%1}-\beta\boldsymbol{\mu}"
OWN = sv.Variant.at("centred", KEY, Z)


def derived(a: SvrAssumptions) -> Identity:
    """(26) from the regression on the keys less βμ."""
    expr = sv.regenerated(OWN, a, centred(q[i], a), centred(k[j], a), (j, k[j]))
    return Identity(
        stack(d, Raw((), sv.renamed(expr, {OWN.v: V}))),
        both(a),
        sizes=SIZES,
        label="the expansion of its own program",
    )


QUERY = Tensor("q", (D,), r"\boldsymbol{q}", "", r"\boldsymbol{q}(%1)")


def _number(a: SvrAssumptions, otherwise: Fraction) -> Fraction:
    """β as a number for an example: that of the assumptions, or the given one where β is free."""
    chosen = svr_choices.beta(a.beta)
    return otherwise if chosen is None else chosen


def _moves(a: SvrAssumptions) -> Example:
    """Centering changes the weights of softmax attention."""
    query, beta = as_term(QUERY), _number(a, Fraction(1, 3))
    before = softmax(j, score(query, k[j]))
    after = softmax(j, score(centred(query), centred(k[j])))
    keys = ((0, 0, 0, 0), (6, 0, 0, 0))
    return Example(
        (
            Fact("weight of key 1 without centering", before - 1 / (1 + exp(6)), "="),
            Fact("weight of key 1 with centering", after - 1 / (1 + exp(6 - 9 * beta)), "="),
            Fact("the weight that key 1 gains", after - before, ">"),
        ),
        Point((("N", 2), ("D", 4)), ((K, keys), (QUERY, (2, 0, 0, 0)), (BETA, beta)), ((j, 1),)),
        (MEAN,),
        label="for softmax attention centering does change the weights",
    )


def feature(vector: Term) -> Term:
    """elu + 1 of each coordinate."""
    return apply("elu1", vector, r"\varphi")


def _linear_weight(query: Term, shift_query: bool, shift_keys: bool) -> Term:
    own = centred(query) if shift_query else query

    def kernel(at: Index) -> Term:
        return feature(own).T @ feature(centred(k[at]) if shift_keys else k[at])

    return kernel(j) / sum_over(l, kernel(l))


def _linear(a: SvrAssumptions, shift_query: bool) -> Example:
    """Centering the queries alone, or the keys alone, changes the first weight of linear attention."""
    keys: tuple[tuple[int, ...], ...]
    query: tuple[int, ...]
    if shift_query:
        sizes, keys, query, before = (("N", 2), ("D", 2)), ((4, 0), (0, 2)), (4, 1), Fraction(27, 38)
        beta, known = _number(a, Fraction(1)), Fraction(8, 11)
    else:
        sizes, keys, query, before = (("N", 2), ("D", 1)), ((2,), (4,)), (1,), Fraction(3, 8)
        beta, known = _number(a, Fraction(1, 3)), Fraction(1, 3)
    given, which = as_term(QUERY), "the queries" if shift_query else "the keys"
    plain = _linear_weight(given, False, False)
    shifted = _linear_weight(given, shift_query, not shift_query)
    facts = [
        Fact("weight of key 1 without centering", plain - before, "="),
        Fact(f"the change of weight of key 1 with {which} centred", shifted - plain, "!="),
    ]
    if a.beta == "free":
        facts.append(Fact(f"weight of key 1 with {which} centred", shifted - known, "="))
    return Example(
        tuple(facts),
        Point(sizes, ((K, keys), (QUERY, query), (BETA, beta)), ((j, 1),)),
        (MEAN,),
        label=f"for linear attention centering {which} alone changes the weights",
    )


def effect_of_centering(a: SvrAssumptions) -> All:
    beta = sa.weight(a)
    change = exp(-beta * score(m, k[j]))
    average = sum_over(l, softmax(l, score(q[i], k[l])) * exp(-beta * score(m, k[l])))
    centred_query, centred_key = centred(q[i], a), centred(k[j], a)
    new, old = softmax(j, score(centred_query, centred_key)), softmax(j, score(q[i], k[j]))
    queries, keys = attend(score(centred_query, k[j])), attend(score(q[i], centred_key))
    return All(
        Identity(both(a), queries, sizes=SIZES, label="the centering of the keys cancels"),
        Identity(keys, PLAIN, sizes=SIZES, label="centering the keys alone changes nothing"),
        Identity(
            both(a),
            biased(a),
            sizes=SIZES,
            label="what remains is one bias for each key, the same for all queries",
        ),
        Identity(new * average, old * change, sizes=SIZES[:2], label="how the weight of a key changes"),
        _moves(a),
        _linear(a, False),
        _linear(a, True),
    )


# ---------------------------------------------------------------- the effect of normalisation

s_, t_ = Tensor("t", (N,), "t", "", "t_{%1}"), Tensor("g", (N,), "g", "", "g_{%1}")
t, g = as_term(s_), as_term(t_)


def criterion() -> All:
    """softmax(t - g) against softmax(t): which keys lose weight."""
    old, new = softmax(j, t[j]), softmax(j, t[j] - g[j])
    average = sum_over(l, softmax(l, t[l]) * exp(-g[l]))
    share = old / average
    loses = Fact("g_j above the threshold", average - exp(-g[j]), ">")
    keeps = Fact("g_j at or below the threshold", exp(-g[j]) - average, ">=")
    query, spread, root = as_term(QUERY), as_term(variance)[c] + as_term(bn_eps), size(D) ** Fraction(1, 2)
    plain = sum_over(c, query[c] * k[j, c] / spread) / root
    normalised = sum_over(c, (query[c] - m[c]) * k[j, c] / spread) / root
    products = sum_over(l, sum_over(c, k[l, c] * k[j, c] / spread)) / (size(N) * root)
    return All(
        Identity(
            normalised,
            plain - g[j],
            (
                *STATISTICS[:2],
                Given(t_, (j,), products, "the scaled mean inner product of key j with all keys"),
            ),
            sizes=SIZES[:2],
            label="what (24) subtracts from the scores",
        ),
        Identity(new * average, old * exp(-g[j]), label="the new weight"),
        Implication(
            (loses,), Fact("key j loses weight", old - new, ">"), ((loses.name, share),), label="it loses"
        ),
        Implication(
            (keeps,),
            Fact("key j does not lose weight", new - old, ">="),
            ((keeps.name, share),),
            label="it does not",
        ),
    )


def effect() -> All:
    """The key most similar to the others does not gain weight, the one least similar does not lose."""
    spread = as_term(variance)[c] + as_term(bn_eps)
    scores = q[i, c] * k[j, c]
    plain = softmax(j, sum_over(c, scores / spread) / size(D) ** Fraction(1, 2))
    normalised = softmax(j, sum_over(c, (scores - m[c] * k[j, c]) / spread) / size(D) ** Fraction(1, 2))

    def others(at: Index) -> Term:
        return sum_over(jp, k[at].T @ k[jp]) - k[at].T @ k[at]

    def rule(hypothesis: Fact, conclusion: Fact, key: int, label: str) -> Rule:
        values = ((K, ((1,), (1,), (-3,))), (Q, ((0,), (0,), (0,))), (bn_eps, Fraction(4, 9)))
        point = Point((("N", 3), ("D", 1)), values, ((j, key), (i, 1)))
        return Rule((hypothesis,), conclusion, point, STATISTICS[:2], label=label)

    return All(
        rule(
            Fact("no key is more similar to the other keys than key j", others(j) - others(l), ">="),
            Fact("the weight that key j loses", plain - normalised, ">="),
            1,
            "the key most similar to the other keys is not attended to more",
        ),
        rule(
            Fact("no key is less similar to the other keys than key j", others(l) - others(j), ">="),
            Fact("the weight that key j gains", normalised - plain, ">="),
            3,
            "the key least similar to the other keys is not attended to less",
        ),
    )
