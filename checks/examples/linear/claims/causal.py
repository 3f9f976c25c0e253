"""Section 3: softmax is replaced by inner products of features, and causal attention becomes a recurrence.

The features are φ(x) = elu(x) + 1, entry by entry, which are positive; i and j are tokens.
"""

from checks.api import (
    All,
    Definition,
    Given,
    Identity,
    Index,
    Tensor,
    Term,
    apply,
    as_term,
    claim,
    earlier,
    grad,
    not_later,
    previous,
    sum_over,
)

i, j, l = (Index(name, "N") for name in "ijl")
c, e = Index("c", "D"), Index("e", "D_v")
Q, K = (as_term(Tensor(name, ("N", "D"))) for name in "QK")
VALUES = Tensor("V", ("N", "D_v"))
V, G = as_term(VALUES), as_term(Tensor("G", ("N", "D_v")))
STATE, NORM = Tensor("S", ("N", "D", "D_v")), Tensor("Z", ("N", "D"))
S, Z = as_term(STATE), as_term(NORM)


def phi(x: Term) -> Term:
    return apply("elu1", x, r"\phi")


SIM = phi(Q[i]).T @ phi(K[j])
MASKED = sum_over(j, not_later(j, i) * SIM * V[j]) / sum_over(j, not_later(j, i) * SIM)
PREFIX = (
    Given(STATE, (i, c, e), sum_over(j, not_later(j, i) * phi(K[j, c]) * V[j, e]), "Eq. (10)"),
    Given(NORM, (i, c), sum_over(j, not_later(j, i) * phi(K[j, c])), "Eq. (11)"),
)
NUMERATOR = sum_over(j, not_later(j, i) * SIM * V[j])
LOSS = sum_over(i, G[i].T @ NUMERATOR)
SLOPE = grad(LOSS, VALUES, r"\mathcal{L}")[l, e]

claim(
    "linear/eq8",
    "Eq. (8)",
    "Causal attention",
    words="Token i attends to the tokens up to itself.",
    literal=Definition(as_term(Tensor("Y", ("N", "D_v")))[i], MASKED),
    role="definition",
)

claim(
    "linear/eq6",
    "Eq. (6)",
    "Keys and values can be summed first",
    words="Without a mask the product of features and values is the same in either order.",
    literal=Identity((phi(Q) @ phi(K).T) @ V, phi(Q) @ (phi(K).T @ V)),
)

claim(
    "linear/eq12",
    "Eq. (12)",
    "Causal attention by prefix sums",
    words="A query times prefix sums of keys and values, over its product with those of the keys.",
    literal=Identity(MASKED, S[i].T @ phi(Q[i]) / (phi(Q[i]).T @ Z[i]), PREFIX),
    rests_on=("linear/eq8",),
)

claim(
    "linear/eq18",
    "Eqs. (18) and (19)",
    "The prefix sums are a recurrence",
    words="The state of a token is that of the token before and its own key and value; it starts at zero.",
    literal=All(
        Identity(S[i, c, e], previous(S, i)[c, e] + phi(K[i, c]) * V[i, e], PREFIX[:1]),
        Identity(Z[i], previous(Z, i) + phi(K[i]), PREFIX[1:]),
    ),
    rests_on=("linear/eq12",),
)

claim(
    "linear/eq20",
    "Eq. (20)",
    "Transformers are recurrent networks",
    words="The output of a token follows from the states of the token before and from its own q, k and v.",
    literal=Identity(
        MASKED,
        (previous(S, i).T @ phi(Q[i]) + (phi(K[i]).T @ phi(Q[i])) * V[i])
        / (phi(Q[i]).T @ (previous(Z, i) + phi(K[i]))),
        PREFIX,
    ),
    rests_on=("linear/eq12", "linear/eq18"),
)

claim(
    "linear/eq15",
    "Eq. (15)",
    "The gradient of the values is a sum from behind",
    words="A value gets gradients from its own token and the later ones alone: the sum runs backwards.",
    literal=Identity(SLOPE, sum_over(i, not_later(l, i) * (phi(Q[i]).T @ phi(K[l])) * G[i, e])),
    rests_on=("linear/eq8",),
)

claim(
    "linear/wrong-state",
    "misread",
    "The state before the token",
    words="The state of a token is the sum over the tokens before it, and its own key and value.",
    literal=Identity(
        S[i, c, e], previous(S, i)[c, e] + sum_over(j, earlier(j, i) * phi(K[j, c]) * V[j, e]), PREFIX[:1]
    ),
    corrected=Identity(S[i, c, e], previous(S, i)[c, e] + phi(K[i, c]) * V[i, e], PREFIX[:1]),
    correction_words="The state of the token before holds that sum already.",
    rests_on=("linear/eq12",),
)

claim(
    "linear/wrong-order",
    "misread",
    "The gradient of the values as a sum from the front",
    words="A value gets gradients from the tokens up to its own.",
    literal=Identity(SLOPE, sum_over(i, not_later(i, l) * (phi(Q[i]).T @ phi(K[l])) * G[i, e])),
    corrected=Identity(SLOPE, sum_over(i, not_later(l, i) * (phi(Q[i]).T @ phi(K[l])) * G[i, e])),
    correction_words="Later tokens attend to it, not earlier ones: the mask is transposed.",
    rests_on=("linear/eq8",),
)
