"""Section 4: what changes, and what does not, when the context has another size than in training."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import sympy as sp

from checks.claim import Assumption, claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.notation import CLASSES_WHERE
from checks.statement import All, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, exp, size, softmax, sum_over
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.updates import N, i, ip

COPIES = "m"
q, qp = Index("q", COPIES), Index("q'", COPIES)
r = as_term(fd.per_example("r", "r_{%1}"))
score = as_term(Tensor("s", (N,), "s", "", "s_{%1}"))
stored = as_term(Tensor("N_train", (), r"N_{\mathrm{train}}", positive=True))
once = sum_over(i, r[i] * n.kappa[i])
TRUTH, GUESS = Fraction(4, 5), Fraction(1, 2)


def attention(copies: bool) -> Term:
    """Σ r_i times softmax weights over the context, each example once or m times."""
    if not copies:
        return sum_over(i, r[i] * softmax(i, score[i]))
    everything = sum_over(qp, sum_over(ip, exp(score[ip])))
    return sum_over(q, sum_over(i, r[i] * (exp(score[i]) / everything)))


def repeated(term: Term) -> Term:
    """The sum over m copies of the context."""
    return sum_over(q, term)


OTHER_KERNELS = Identity(
    repeated(n.alpha / (size(COPIES) * size(N)) * once),
    n.alpha / size(N) * once,
    label="other kernels, 1/N adjusted",
)
SOFTMAX = Identity(
    n.alpha / stored * attention(True), n.alpha / stored * attention(False), label="softmax, 1/N as trained"
)


def error(count: int, rate: Fraction = Fraction(1)) -> Fraction:
    """E(ĥ - 4/5)² for C = 2, all covariates 0, p(Y = 1) = 4/5 and ĥ = 1/2 + rate · mean(ỹ - 1/2), by
    enumeration.
    """
    p = TRUTH
    weights = [comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(count + 1)]
    return sum(
        (w * (GUESS + rate * (Fraction(k, count) - GUESS) - p) ** 2 for k, w in enumerate(weights)),
        Fraction(0),
    )


def performance() -> Arithmetic:
    """The expected squared error of softmax attention at several sizes against that at 20, the size of
    training.
    """
    sizes = (10, 20, 50)
    figures = tuple(
        Figure(f"expected squared error with N' = {m}, against N = 20", error(m), "=", error(20), 5)
        for m in sizes
    )
    return Arithmetic(figures, label="performance does not depend on N'")


_n = sp.Symbol("N", positive=True, integer=True)
_p = sp.Rational(4, 5)
ERROR = Recurrence(
    sp.Rational(4, 25) / _n,
    (_n,),
    (Base("the variance of one label", _n, 1, _p - _p**2),),
    ((_n - 1) ** 2 * QUANTITY(_n - 1) + _p - _p**2) / _n**2,
    "one more independent label adds its variance p - p² to that of the sum",
    lambda count: sp.Rational(error(count).numerator, error(count).denominator),
    tuple((m,) for m in (1, 2, 3, 4, 10, 20)),
    label="the error falls as 1/N",
)
TOTAL = Identity(sum_over(i, softmax(i, score[i])), as_term(1), label="the weights sum to 1 for every N")
MULTIPLIED = Identity(
    repeated(n.alpha / stored * once),
    size(COPIES) * (n.alpha / stored * once),
    label="other kernels, 1/N as trained",
)
DIVIDED = Identity(
    n.alpha / (size(COPIES) * size(N)) * attention(True),
    1 / size(COPIES) * (n.alpha / size(N) * attention(False)),
    label="softmax, 1/N of the current context as printed in (4) and (10)",
)
rate, total = as_term(Tensor("a")), 9 * size(N) + 16
BEST = Identity(
    Fraction(9, 100) * (1 - rate) ** 2 + Fraction(4, 25) * rate**2 / size(N),
    total / (100 * size(N)) * (rate - 9 * size(N) / total) ** 2 + 36 / (25 * total),
    label="the error at rate a is least at 9N/(9N + 16)",
)

claim(
    "wang2024/prose-context-size",
    "Section 4",
    "Contexts of another size than in training",
    words="Kernels other than softmax need 1/N adjusted; softmax attention needs no change, and its "
    "performance does not depend on the size of the context.",
    literal=All(OTHER_KERNELS, SOFTMAX, performance()),
    corrected=All(OTHER_KERNELS, SOFTMAX, TOTAL, MULTIPLIED, DIVIDED, ERROR, BEST),
    correction_words="Softmax attention with the factor 1/N of training kept returns the same when every "
    "example is repeated equally often, because its weights sum to 1; with the printed factor 1/N' of the "
    "current context the update shrinks. The performance does change: in one example the error is "
    "4/(25 N), and the best rate is 9N/(9N + 16).",
    assumes=(Assumption("repetition", "sizes are compared by repeating each example m times"),),
    rests_on=("wang2024/eq4", "wang2024/eq10"),
    where=CLASSES_WHERE
    + (
        r" $\kappa$ a kernel other than softmax; $r_i$ residuals, $s_i$ scores of the keys for one query, "
        r"$q=1,\dots,m$ counts the copies of the context, $N_{\mathrm{train}}$ the stored size. The error "
        r"is for $C=2$, one layer, $\alpha=N_{\mathrm{train}}$, all covariates 0, $p(Y=1)=4/5$, "
        r"$\hat h=\frac12+\frac1N\sum_i(\tilde y_i-\frac12)$, "
        r"$f(N)=\mathbb{E}(\hat h-\frac45)^2$; at rate $a=\alpha/N_{\mathrm{train}}$ it is "
        r"$\frac9{100}(1-a)^2+a^2f(N)$, bias and "
        r"variance."
    ),
    notes="What is invariant is the total weight of the keys, not the accuracy; the right panel of Figure 4 "
    "itself shows an error that falls with N'.",
)
