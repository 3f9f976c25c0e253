"""Algorithm 1 for one row i: a block of N keys has been read with maximum m, one of B keys follows.

The scores are S and T, the values V and W; nothing depends on m and the other maximum n being the largest
scores, which only keeps the exponentials small.
"""

from checks.api import (
    All,
    AtLeast,
    Given,
    Identity,
    Index,
    Tensor,
    Term,
    apply,
    as_term,
    blocks,
    bregman,
    claim,
    exp,
    grad,
    maximum,
    row_softmax,
    softmax,
    sum_over,
)

i, j, b, a = Index("i", "M"), Index("j", "N"), Index("b", "B"), Index("a", "d")
S, T = as_term(Tensor("S", ("M", "N"))), as_term(Tensor("T", ("M", "B")))
V, W = as_term(Tensor("V", ("N", "d"), "V", "v_{%1}")), as_term(Tensor("W", ("B", "d"), "W", "w_{%1}"))
m, n = (as_term(Tensor(name, ("M",)))[i] for name in "mn")
SUM, OTHER, OUT = (
    Tensor("l", ("M",), r"\ell"),
    Tensor("k", ("M",), "k"),
    Tensor("O", ("M", "d"), "O", "o_{%1}"),
)
l, k, o = as_term(SUM)[i], as_term(OTHER)[i], as_term(OUT)[i]
READ = sum_over(j, exp(S[i, j] - m) * V[j]) / l
GIVEN = (
    Given(SUM, (i,), sum_over(j, exp(S[i, j] - m)), "the sum of the first block"),
    Given(OTHER, (i,), sum_over(b, exp(T[i, b] - n)), "that of the second"),
    Given(OUT, (i, a), READ[a], "the output for the first block"),
)
BOTH = (row_softmax(blocks([S, T])) @ blocks([V], [W]))[i]
new = maximum(m, n)


m_over_n, n_over_m = apply("relu", m - n), apply("relu", n - m)


def below_one(gap: Term) -> Term:
    """1 - exp(-gap) for a gap that is not negative, in a form whose sign is visible."""
    return gap * exp(-gap) + bregman("exp", as_term(0), -gap)


def merged(first: Term, second: Term) -> Term:
    """Lines 11 and 12 with the factors of the two blocks."""
    values = sum_over(b, exp(T[i, b] - n) * W[b])
    return ((l * first) * o + second * values) / (first * l + second * k)


claim(
    "flash/softmax",
    "Section 3.1",
    "Softmax with the maximum taken off",
    words="Softmax is computed from scores less the maximum, and their sum.",
    literal=Identity(softmax(j, S[i, j]), exp(S[i, j] - m) / l, GIVEN[:1]),
)

claim(
    "flash/alg1",
    "Algorithm 1, lines 10 to 12",
    "Two blocks are merged with the running maximum",
    words="The output after both blocks is softmax attention over all their keys.",
    literal=Identity(merged(exp(m - new), exp(n - new)), BOTH, GIVEN),
    rests_on=("flash/softmax",),
)

claim(
    "flash/maximum",
    "Algorithm 1, line 11",
    "The running maximum",
    words="The new maximum is at least each of the two, and is one of them.",
    literal=All(
        AtLeast(new, m, n_over_m),
        AtLeast(new, n, m_over_n),
        Identity((new - m) * (new - n), as_term(0)),
    ),
)


claim(
    "flash/safe",
    "Section 3.1",
    "The factors are at most one",
    words="Neither block is multiplied by more than one, so nothing overflows.",
    literal=All(
        AtLeast(as_term(1), exp(m - new), below_one(n_over_m)),
        AtLeast(as_term(1), exp(n - new), below_one(m_over_n)),
    ),
    rests_on=("flash/maximum",),
)

LSE = m + apply("log", l, r"\log")
claim(
    "flash/lse",
    "FlashAttention-2, Section 3.1",
    "One number a row is kept",
    words="The log-sum-exp L = m + log l of a row gives back its weights.",
    literal=All(
        Identity(exp(LSE), sum_over(j, exp(S[i, j])), GIVEN[:1]),
        Identity(exp(S[i, j] - LSE), softmax(j, S[i, j]), GIVEN[:1]),
    ),
    rests_on=("flash/softmax",),
)

g, ROW = as_term(Tensor("g", ("d",))), Tensor("s", ("N",))
weight = softmax(j, as_term(ROW)[j])
result = sum_over(j, weight * V[j])
slope = grad(g.T @ result, ROW, r"\phi")[j]
claim(
    "flash/backward",
    "Appendix B.2, Eq. (5)",
    "The gradient of the scores",
    words="For g = dO the gradient of a row of scores is its weights times dP - D, where D is dO times O.",
    literal=Identity(slope, weight * (g.T @ V[j] - g.T @ result)),
    rests_on=("flash/softmax",),
)

claim(
    "flash/wrong-factor",
    "misread",
    "The factors inverted",
    words="The blocks are merged with the exponentials of the new maximum less the old ones.",
    literal=Identity(merged(exp(new - m), exp(new - n)), BOTH, GIVEN),
    corrected=Identity(merged(exp(m - new), exp(n - new)), BOTH, GIVEN),
    correction_words="The old maximum is put back and the new one taken off.",
    rests_on=("flash/softmax",),
)

claim(
    "flash/wrong-backward",
    "misread",
    "A gradient without its mean",
    words="The gradient of a row of scores is its weights times dP.",
    literal=Identity(slope, weight * (g.T @ V[j])),
    corrected=Identity(slope, weight * (g.T @ V[j] - g.T @ result)),
    correction_words="The weights sum to one: what they have in common is taken off.",
    rests_on=("flash/softmax",),
)
