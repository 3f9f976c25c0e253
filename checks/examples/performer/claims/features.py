"""Section 2: the softmax kernel SM = exp(q·k) as a mean over random features, and what m draws miss of it.

The draws are the rows w_r of W, independent and standard normal in R^d; all is said for every m and d.
"""

from checks.api import (
    All,
    AtLeast,
    Identity,
    Index,
    NormalMean,
    Tensor,
    Term,
    apply,
    as_term,
    claim,
    exp,
    size,
    squared_norm,
    sum_over,
)

r = Index("r", "m")
q, k = (as_term(Tensor(name, ("d",))) for name in "qk")
DRAW, DRAWS = Tensor("w", ("d",)), Tensor("W", ("m", "d"), "W", "w_{%1}")
w, draws, m = as_term(DRAW), as_term(DRAWS), size("m")
SM = exp(q.T @ k)
PLUS, MINUS = squared_norm(q + k), squared_norm(q - k)
LAMBDA = exp(-(squared_norm(q) + squared_norm(k)) / 2)


def cos(angle: Term) -> Term:
    return apply("cos", angle, r"\cos")


def sin(angle: Term) -> Term:
    return apply("sin", angle, r"\sin")


def positive(draw: Term) -> Term:
    """The product of two positive features."""
    return exp(draw.T @ q - squared_norm(q) / 2) * exp(draw.T @ k - squared_norm(k) / 2)


def trigonometric(draw: Term) -> Term:
    """The inner product of two trigonometric features."""
    waves = cos(draw.T @ q) * cos(draw.T @ k) + sin(draw.T @ q) * sin(draw.T @ k)
    return exp(squared_norm(q) / 2) * exp(squared_norm(k) / 2) * waves


def hyperbolic(draw: Term) -> Term:
    return LAMBDA * apply("cosh", draw.T @ (q + k), r"\cosh")


def estimate(product: Term) -> Term:
    """The mean over the m draws."""
    return sum_over(r, product) / m


def error(product: Term, value: Term) -> NormalMean:
    """The mean squared error of an estimate."""
    return NormalMean((estimate(product) - SM) ** 2, DRAWS, value)


POSITIVE_ERROR = exp(PLUS) * SM**2 * (1 - exp(-PLUS)) / m

claim(
    "performer/lemma1",
    "Lemma 1",
    "Positive features",
    words="The softmax kernel is the mean of a product of positive features, and of a hyperbolic cosine.",
    literal=All(NormalMean(positive(w), DRAW, SM), NormalMean(hyperbolic(w), DRAW, SM)),
)

claim(
    "performer/trigonometric",
    "Section 2.3, Eq. (6)",
    "Trigonometric features",
    words="It is the mean of an inner product of sines and cosines as well, as is the Gaussian kernel.",
    literal=All(
        NormalMean(trigonometric(w), DRAW, SM),
        NormalMean(cos(w.T @ (q - k)), DRAW, exp(-MINUS / 2)),
    ),
)

claim(
    "performer/unbiased",
    "Section 2.3",
    "The estimates are unbiased",
    words="The mean over m draws has the softmax kernel as its mean, for both kinds of features.",
    literal=All(
        NormalMean(estimate(positive(draws[r])), DRAWS, SM),
        NormalMean(estimate(trigonometric(draws[r])), DRAWS, SM),
    ),
    rests_on=("performer/lemma1", "performer/trigonometric"),
)

claim(
    "performer/sign",
    "Section 2.3",
    "Positive features give positive estimates",
    words="An estimate from positive features is never negative.",
    literal=AtLeast(estimate(positive(draws[r])), as_term(0), estimate(positive(draws[r]))),
)

claim(
    "performer/lemma2",
    "Lemma 2",
    "The mean squared errors",
    words="The errors of m draws with positive, trigonometric and hyperbolic features.",
    literal=All(
        error(positive(draws[r]), POSITIVE_ERROR),
        error(trigonometric(draws[r]), exp(PLUS) * (1 - exp(-MINUS)) ** 2 / (2 * m * SM**2)),
        error(hyperbolic(draws[r]), (1 - exp(-PLUS)) * POSITIVE_ERROR / 2),
    ),
    rests_on=("performer/unbiased",),
)

Q, K = (as_term(Tensor(name, ("L", "M"), rf"{name}'")) for name in ("A", "B"))
V = as_term(Tensor("V", ("L", "D_v")))
claim(
    "performer/order",
    "Section 2.2, Eq. (4)",
    "Linear cost by another order of the products",
    words="Features of keys are multiplied with the values first; the result is the same.",
    literal=Identity((Q @ K.T) @ V, Q @ (K.T @ V)),
)

claim(
    "performer/wrong-norms",
    "misread",
    "Features without their norms",
    words="The softmax kernel is the mean of exp(w·q) exp(w·k).",
    literal=NormalMean(exp(w.T @ q) * exp(w.T @ k), DRAW, SM),
    corrected=NormalMean(positive(w), DRAW, SM),
    correction_words="The mean is exp(‖q + k‖²/2): half the squared norms have to be taken off.",
)

claim(
    "performer/wrong-error",
    "misread",
    "An error that is not squared",
    words="The error of trigonometric features has the factor 1 - exp(-‖q - k‖²).",
    literal=error(trigonometric(draws[r]), exp(PLUS) * (1 - exp(-MINUS)) / (2 * m * SM**2)),
    corrected=error(trigonometric(draws[r]), exp(PLUS) * (1 - exp(-MINUS)) ** 2 / (2 * m * SM**2)),
    correction_words="The factor is squared.",
    rests_on=("performer/unbiased",),
)
