"""Section 3: an energy. Claims of a theory with a knob, a consequence, a Gaussian mean."""

import sympy as sp
from attention_audit import (
    Assumption,
    Fact,
    GaussianMean,
    Identity,
    Implication,
    Tensor,
    as_term,
    claim,
    grad,
)

from mypaper.theories import V, a, d, derive, energy, z

SQUARED = Assumption("squared pull", "half the square of the state holds it back", "pull", "squared")
BEFORE, AFTER = (as_term(Tensor(name, (), latex)) for name, latex in (("E", "E"), ("E'", "E'")))
w, s = sp.Symbol("w", real=True), sp.Symbol("s", real=True)

claim(
    "mypaper/eq4",
    "Eq. (4)",
    "The gradient of the energy",
    words="The energy pulls the state to the attention output.",
    theory="retrieval",
    literal=lambda assumptions: Identity(
        grad(energy(assumptions), z)[d], as_term(z)[d] - (as_term(V).T @ as_term(a))[d]
    ),
    assumes=(SQUARED,),
    derivation=derive,
)

claim(
    "mypaper/lem1",
    "Lemma 1",
    "A nonnegative energy stays so backwards",
    words="If a step does not raise the energy, and it is nonnegative after it, it was so before.",
    literal=Implication(
        (Fact("no rise", BEFORE - AFTER, ">="), Fact("after", AFTER, ">=")),
        Fact("before", BEFORE, ">="),
    ),
    assumes=(
        Assumption("no rise", "the step does not raise the energy"),
        Assumption("after", "it is nonnegative after the step"),
    ),
)

claim(
    "mypaper/eq5",
    "Eq. (5)",
    "The mean of an exponential feature",
    words="The mean of exp(sw) over a standard normal w is exp(s²/2).",
    literal=GaussianMean(sp.exp(s * w), w, sp.exp(s**2 / 2)),
)
