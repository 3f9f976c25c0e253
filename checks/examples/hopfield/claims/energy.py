"""Section 2: an energy of a state ξ and N stored patterns x_i, and the update that lowers it.

The patterns are the rows of X, N × d. Everything here is for every N and d and every β > 0.
"""

from checks.api import (
    All,
    AtLeast,
    Definition,
    Given,
    Identity,
    Index,
    Tensor,
    Term,
    apply,
    as_term,
    at_point,
    bregman,
    claim,
    exp,
    grad,
    row_softmax,
    size,
    softmax,
    squared_norm,
    sum_over,
)

i, j, a, s = Index("i", "N"), Index("j", "N"), Index("a", "d"), Index("s", "S")
STATE, NEW = Tensor("xi", ("d",), r"\xi"), Tensor("xinew", ("d",), r"\xi^{\mathrm{new}}")
xi, new = as_term(STATE), as_term(NEW)
beta = as_term(Tensor("beta", (), r"\beta", positive=True))
radius = as_term(Tensor("M"))
X = as_term(Tensor("X", ("N", "d"), "X", r"\boldsymbol{x}_{%1}"))
states = as_term(Tensor("R", ("S", "d"), "R", r"\boldsymbol{r}_{%1}"))


def log(arg: Term) -> Term:
    return apply("log", arg, r"\log")


def total(state: Term) -> Term:
    """What the log-sum-exp is the logarithm of."""
    return sum_over(j, exp(beta * (X[j].T @ state)))


def lse(state: Term) -> Term:
    return log(total(state)) / beta


def update(state: Term) -> Term:
    return sum_over(i, softmax(i, beta * (X[i].T @ state)) * X[i])


def energy(sign: int = -1) -> Term:
    """The energy; ``sign`` is that of the log-sum-exp."""
    first = -lse(xi) if sign < 0 else lse(xi)
    return first + xi.T @ xi / 2 + log(size("N")) / beta + radius**2 / 2


STEP = Given(NEW, (a,), update(xi)[a], "the update (3)")
SLOPE = grad(energy(), STATE)
DROP = energy() - at_point(energy(), STATE, new)
RATIO = log(total(new)) - log(total(xi))
GAPS = sum_over(i, exp(beta * (X[i].T @ xi)) * bregman("exp", beta * (X[i].T @ (new - xi)), RATIO))
CONVEX = GAPS / (beta * total(new))
"""What lse rises above its tangent: the exponentials lie above theirs."""

claim(
    "hopfield/eq2",
    "Eq. (2)",
    "The energy",
    words="The energy is minus the log-sum-exp of the overlaps, and half the squared norm of the state.",
    literal=Definition(as_term(Tensor("E")), energy()),
    role="definition",
)

claim(
    "hopfield/gradient",
    "Appendix A.1.3",
    "The gradient of the energy",
    words="The gradient is the state minus the mean of the patterns under softmax weights.",
    literal=Identity(SLOPE, xi - update(xi)),
    rests_on=("hopfield/eq2",),
)

claim(
    "hopfield/eq3",
    "Eq. (3)",
    "The update is a gradient step of size one",
    words="The update is a step of size one down the energy, so its fixed points are the stationary points.",
    literal=Identity(xi - SLOPE, update(xi)),
    rests_on=("hopfield/gradient",),
)

claim(
    "hopfield/attention",
    "Section 2, Eq. (10)",
    "The update is attention",
    words="Updating every row of R is attention with queries R and keys and values X.",
    literal=Identity((row_softmax(beta * (states @ X.T)) @ X)[s], update(states[s])),
    rests_on=("hopfield/eq3",),
)

claim(
    "hopfield/convex",
    "Appendix A.1.4",
    "The log-sum-exp is convex",
    words="The log-sum-exp lies above its tangent at every state.",
    literal=AtLeast(lse(new), lse(xi) + update(xi).T @ (new - xi), CONVEX),
    rests_on=("hopfield/eq2",),
)

claim(
    "hopfield/thm1",
    "Theorem 1",
    "The energy decreases",
    words="The update never raises the energy, and lowers it by half the squared step at least.",
    literal=All(
        AtLeast(energy(), at_point(energy(), STATE, new), squared_norm(xi - new) / 2 + CONVEX, (STEP,)),
        AtLeast(DROP, squared_norm(xi - new) / 2, CONVEX, (STEP,)),
    ),
    rests_on=("hopfield/eq3", "hopfield/convex"),
)

claim(
    "hopfield/wrong-drop",
    "misread",
    "A decrease by the whole squared step",
    words="The update lowers the energy by the squared step at least.",
    literal=AtLeast(DROP, squared_norm(xi - new), CONVEX, (STEP,)),
    corrected=AtLeast(DROP, squared_norm(xi - new) / 2, CONVEX, (STEP,)),
    correction_words="Only half the squared step is certain: the quadratic part alone gives no more.",
    rests_on=("hopfield/eq3",),
)

claim(
    "hopfield/wrong-sign",
    "misread",
    "An energy with the log-sum-exp added",
    words="The gradient of the energy, its log-sum-exp taken with a plus, is the state minus the update.",
    literal=Identity(grad(energy(1), STATE), xi - update(xi)),
    corrected=Identity(SLOPE, xi - update(xi)),
    correction_words="The log-sum-exp has a minus sign: the patterns attract.",
    rests_on=("hopfield/eq2",),
)
