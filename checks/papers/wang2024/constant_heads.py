"""Appendix A: for which kernels zero query and key matrices make the constant attention that the bias
needs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from checks.claim import Assumption, claim
from checks.kinds.stacked import Stacked
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.attention import BLOCKS, example
from checks.papers.wang2024.notation import MASKED, WHERE, c, cp
from checks.statement import All, Given, Identity
from derivations.calculus.gradients import SymbolicPower
from derivations.calculus.index import STACKED, Tensor
from derivations.calculus.term import (
    Term,
    as_term,
    blocks,
    eye,
    named,
    part,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    zeros,
)
from derivations.theories.functional_descent import kernels as fk
from derivations.theories.functional_descent.updates import CLASSES, Categories, D, N, i

WIDE = STACKED.join((D, CLASSES))
ZERO_MATRIX = zeros(WIDE, WIDE)
KEY, QUERY = named("W_K e_{i,k-1}", zeros(WIDE)), named("W_Q e_{j,k-1}", zeros(WIDE))
EVERY_KEY, EVERY_QUERY = example(i), blocks(as_term(n.x_j), as_term(n.y_x))
offset = as_term(fk.offset)
HEAD = (
    "A head whose constant a is not 0 carries out the bias with P_2 = I/(aN); the printed P_2 = I/N "
    "takes a = 1."
)
OUTPUT_OF_TWO = r" $P_2$: the matrix of head 2 in (10)."
VANISHES = Stacked(ZERO_MATRIX @ example(i), zeros(WIDE), label="a zero matrix gives the zero vector")


def constant(
    kernel: Term, value: Term, nonzero: tuple[Tensor, ...] = (), given: tuple[Given, ...] = ()
) -> All:
    """The kernel is the given constant, and P_2 = I/(aN) turns the head's sum (9) into the bias update
    of (5).
    """
    level = as_term(given[0].tensor) if given else value
    share = 1 / size(N) if level == as_term(1) else 1 / (size(N) * level)
    head = n.alpha * sum_over(i, n.residual * kernel)
    bias = n.alpha / size(N) * sum_over(i, n.residual)
    return All(
        Identity(kernel, value, nonzero=nonzero, given=given, label="the constant"),
        Identity(share * head, bias, nonzero=nonzero, given=given, label="the bias update"),
    )


NOT_ZERO = Tensor("a", (), "a")


def nonzero_constant(kernel: Term, value: Term) -> All:
    """The same with the constant assumed not to vanish."""
    rule = Given(NOT_ZERO, (), value, "the constant of head 2, assumed not to be 0")
    return constant(kernel, value, (NOT_ZERO,), (rule,))


def _one_everywhere(_: Any, kernel: Callable[[Term, Term], Term]) -> All:
    return All(VANISHES, constant(kernel(KEY, QUERY), as_term(1)))


for slug, kernel, title in (("rbf", fk.rbf, "RBF"), ("laplacian", fk.laplacian, "Laplacian")):
    claim(
        f"wang2024/prose-constant-head-{slug}",
        "Appendix A",
        f"Zero query and key matrices, {title} kernel",
        words="With W_Q = W_K = 0 the kernel is 1 for all keys and queries, as head 2 needs it.",
        literal=partial(_one_everywhere, kernel=kernel),
        assumes=(MASKED,),
        rests_on=("wang2024/eq10",),
        where=BLOCKS + r" $\sigma$ is the width of the kernel.",
        notes="With W_K = 0 alone the kernel still depends on the query.",
    )

COVARIATES = fk.chi_squared_named(named("u", part(KEY, D)), named("v", part(QUERY, D)))
CONVENTION = Given(fk.NOTHING, (), as_term(0), "the convention, and the limit along equal positive vectors")


def chi_squared_constant(given: tuple[Given, ...] = ()) -> All:
    """The kernel of zero vectors and its bias update, with or without a value of 0/0."""
    head = 1 / size(N) * (n.alpha * sum_over(i, n.residual * COVARIATES))
    return All(
        VANISHES,
        Identity(COVARIATES, as_term(1), given=given, label="the constant"),
        Identity(head, n.alpha / size(N) * sum_over(i, n.residual), given=given, label="the bias update"),
    )


claim(
    "wang2024/prose-constant-head-chi2",
    "Appendix A",
    "Zero query and key matrices, chi-squared kernel",
    words="With W_Q = W_K = 0 the kernel is the constant 1 for all keys and queries.",
    literal=chi_squared_constant(),
    corrected=chi_squared_constant((CONVENTION,)),
    correction_words="With 0/0 := 0 the constant is 1.",
    assumes=(MASKED,),
    rests_on=("wang2024/eq10",),
    where=BLOCKS + r" $x_\cdot$, $y_\cdot$: those of all examples. "
    r"$\gamma$: the kernel's parameter; $u,v$: the first $d$ entries of $W_K e_{i,k-1}$ and "
    r"$W_Q e_{j,k-1}$, over which the kernel's sum runs. Each of its terms is $\tfrac{0}{0}$, for which the "
    "paper gives no value.",
    notes="On nonnegative entries 0 ≤ (a - b)²/(a + b) ≤ a + b, so 0 is the only continuous value. On "
    "entries of both signs there is none: along a = t, b = -t + m t² the term tends to 4/m.",
)

ONE_ZERO = (
    r" $(x,y_j)$: any vector for $W_Qe_{j,k-1}$ where only $W_K=0$; where only $W_Q=0$ the keys are shown "
    r"for $W_K=I$."
)
PAIRS = (("both zero", KEY, QUERY), ("keys zero", KEY, EVERY_QUERY), ("queries zero", EVERY_KEY, QUERY))


def every_way(kernel: fk.Kernel, value: Term, nonzero: bool) -> All:
    """The statement for W_K = 0, for W_Q = 0 and for both."""
    build = nonzero_constant if nonzero else constant
    return All(*(build(kernel(key, query), value) for _, key, query in PAIRS))


claim(
    "wang2024/prose-constant-head-sigmoid",
    "Appendix A",
    "Zero query or key matrices, sigmoid kernel",
    words="With W_K = 0 or W_Q = 0 the kernel is tanh c for all keys and queries, and serves head 2.",
    literal=every_way(fk.sigmoid, fk.tanh(offset), False),
    corrected=every_way(fk.sigmoid, fk.tanh(offset), True),
    correction_words="The same for c ≠ 0, with P_2 = I/(N tanh c).",
    assumes=(
        MASKED,
        Assumption("constant not 0", "of the corrected statement alone: tanh c ≠ 0, that is c ≠ 0"),
    ),
    rests_on=("wang2024/eq10",),
    where=BLOCKS + r" $\gamma,c$: the kernel's parameters." + ONE_ZERO + OUTPUT_OF_TWO,
    notes="The constant is never 1. For c = 0 head 2 returns 0 and the bias stays 0. " + HEAD,
)

POWER = SymbolicPower((offset,), 0)

claim(
    "wang2024/prose-constant-head-polynomial",
    "Appendix A",
    "Zero query or key matrices, polynomial kernel",
    words="With W_K = 0 or W_Q = 0 a kernel of degree p is c^p for all keys and queries: it serves head 2.",
    literal=every_way(fk.any_polynomial, POWER, False),
    corrected=every_way(fk.any_polynomial, POWER, True),
    correction_words="The same for c ≠ 0, with P_2 = I/(N c^p).",
    assumes=(MASKED, Assumption("constant not 0", "of the corrected statement alone: c ≠ 0")),
    rests_on=("wang2024/eq10",),
    where=BLOCKS
    + r" $\gamma,c$: the kernel's parameters; $p$ is the degree, printed $d$ like the dimension."
    + ONE_ZERO
    + OUTPUT_OF_TWO,
    notes="The constant is 1, as the printed P_2 = I/N takes it, iff c^p = 1. " + HEAD,
)

ATTENTION = softmax(i, as_term(fk.rate) * (KEY.T @ EVERY_QUERY))
claim(
    "wang2024/prose-constant-head-softmax",
    "Appendix A",
    "Zero keys, softmax attention",
    words="W_K e = 0, printed with d + 1 entries, gives the attention 1/N.",
    literal=All(
        Stacked(ZERO_MATRIX @ example(i), zeros(STACKED.join((D, "1"))), label="the zero vector"),
        Identity(ATTENTION, 1 / size(N), label="the attention"),
    ),
    corrected=All(VANISHES, Identity(ATTENTION, 1 / size(N), label="the attention")),
    correction_words="W_K e is the zero vector with d + C - 1 entries; the attention is 1/N.",
    assumes=(MASKED,),
    where=BLOCKS
    + r" $(x,y_j)$: any vector in place of $W_Q e_{j,k-1}$; $\lambda$: the scale of the scores."
    + OUTPUT_OF_TWO,
    notes="N is the number of keys that are not masked. Zero queries alone do the same. Head 2 then carries "
    "out the bias with P_2 = I; with I/N the bias would carry 1/N².",
)

M_K = Tensor("W_K", ("r", D), "W_K")
M_Q = Tensor("W_Q", ("r", D), "W_Q")
M_KR = Tensor("W_K'", ("r", CLASSES), "W_K'")
M_QR = Tensor("W_Q'", ("r", CLASSES), "W_Q'")
K_ALL, Q_ALL = blocks([as_term(M_K), as_term(M_KR)]), blocks([as_term(M_Q), as_term(M_QR)])
ANY_QUERY = Q_ALL @ blocks(as_term(n.x_j), as_term(n.y_x))
NORM_K, NORM_Q = Tensor("norm of key", (), r"\|W_K e\|"), Tensor("norm of query", (), r"\|W_Q e'\|")
COUNT = Categories((), CLASSES)


def class_key(of: Term) -> Term:
    """The key of the covariates 0 with a given code: W_K (0; ỹ - 1/C)."""
    shifted = stack(cp, of - 1 / COUNT)
    return fk.linear(K_ALL @ blocks(zeros(D), shifted), ANY_QUERY)


def no_constant() -> All:
    """What rules a nonzero constant out: the value at 0, the sum over the classes, and the sign of a
    cosine.
    """
    key = K_ALL @ blocks(as_term(n.x_j), as_term(n.y_x))
    scaled = 1 / (as_term(NORM_K) * as_term(NORM_Q))
    given = (
        Given(NORM_K, (), sqrt(squared_norm(key)), "the norm of the key"),
        Given(NORM_Q, (), sqrt(squared_norm(ANY_QUERY)), "the norm of the query"),
    )
    opposite = K_ALL @ blocks(-as_term(n.x_j), -as_term(n.y_x))
    every_class = sum_over(c, class_key(eye(CLASSES)[c, cp])) + class_key(as_term(0))
    return All(
        Identity(
            fk.linear(K_ALL @ blocks(zeros(D), zeros(CLASSES)), ANY_QUERY),
            as_term(0),
            label="linear: the key of (0, 0)",
        ),
        Identity(every_class, as_term(0), label="linear: the keys (0, ỹ - 1/C) of the C classes sum to 0"),
        Identity(
            scaled * fk.linear(opposite, ANY_QUERY),
            -(scaled * fk.linear(key, ANY_QUERY)),
            given=given,
            nonzero=(NORM_K, NORM_Q),
            label="cosine: opposite keys give opposite values",
        ),
    )


claim(
    "wang2024/prose-no-constant-linear",
    "Section 2, Appendix A",
    "Linear and cosine attention cannot be constant and nonzero",
    words="For no W_K and W_Q is linear or cosine attention a nonzero constant: the linear value at the key "
    "0 is 0, over the C classes at x = 0 the values sum to 0, and a cosine changes sign with its key.",
    literal=no_constant(),
    assumes=(
        Assumption(
            "covariates of both signs",
            "with each stacked vector its negative may occur; the covariates may be 0, with outcome 0 in (a) "
            "and with every class in (b)",
        ),
    ),
    where=WHERE
    + r" $[W_K,W_K']$ and $[W_Q,W_Q']$ are any key and query matrices with $d+C-1$ columns, in blocks for "
    r"covariates and outcomes; $e$ and $e'$: the stacked vectors of key and query, in (c) both $(x,y_j)$.",
    notes="A constant a would satisfy a = 0, Ca = 0 or a = -a. For C > 2 the negatives that (c) takes are no "
    "outcomes ỹ - 1/C; there a cosine a of the keys in (b) makes its terms a‖W_K e‖‖W_Q e'‖, all of the sign "
    "of a, so that a = 0 again. Where W e = 0 the cosine is not defined. On positive covariates with d = 1 a "
    "cosine of the covariates alone is constantly 1, so the sign assumption is needed. In Section 3 the "
    "query's entry -1/C is itself a constant feature: linear attention with a free W_Q can get an affine "
    "term from it.",
)
