"""Section 2: gradient descent on the squared loss as updates of functions, equations (1) and (2)."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import claim
from checks.kinds.stacked import Stacked
from checks.leg import Legs
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.notation import BIAS_ON, FEATURES, SQUARED, WHERE, c
from checks.statement import All, Given, Identity
from derivations.calculus.index import Tensor
from derivations.calculus.term import Ones, Term, as_term, blocks, eye, size, sum_over, zeros
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.softmax import component
from derivations.theories.functional_descent.updates import (
    CLASSES,
    WIDTH,
    Categories,
    D,
    FunctionalAssumptions,
    N,
    i,
)

legs = Legs("checks.papers.wang2024.legs.parameters")
tensor_legs = Legs("checks.papers.wang2024.legs.tensors")

START = Identity(
    zeros(CLASSES, WIDTH) @ as_term(fd.phi_x) + zeros(CLASSES),
    zeros(CLASSES),
    label="the start is the zero function",
)


ZERO_STATE = (Given(fd.W, (c, fd.m), as_term(0), "W_0 = 0"), Given(fd.b, (c,), as_term(0), "b_0 = 0"))


def functional_update(a: FunctionalAssumptions, rate: Term) -> All:
    """Equation (1) with a given coefficient in place of α: the step from the start, and from anywhere."""
    step = Identity(
        as_term(n.f_new),
        as_term(n.f_old) + n.update(rate, n.residual),
        given=(*n.current(a), *n.descent("squared", a)),
        nonzero=n.defined(a),
        label="one step from any W and b",
        reason="∂L/∂W φ(x) + ∂L/∂b, with φ(x_i)ᵀφ(x) = κ(x_i, x)",
    )
    start = ZERO_STATE if a.bias == "on" else ZERO_STATE[:1]
    first = replace(step, given=(*step.given, *start), label="the first step, from W = 0 and b = 0")
    return All(first, step, START)


LETTERS = r" $\Delta f_{\theta_{k'}}$: the update of step $k'$, $\Delta f_{\theta_0}=0$."
LOSS = WHERE + r" $\mathcal{L}=\frac1N\sum_i\|y_i-W\phi(x_i)-b\|^2$. $w_{c,k-1}$: row $c$ of $W_{k-1}$."
UPDATE_WORDS = (
    "One step of gradient descent on W and b moves the function at x by a kernel-weighted sum of the "
    "residuals and, for b, by their plain sum, each with the factor α/N."
)
FACTOR_TWO = (
    "With the coefficient 2α/N; or the same with α/N if the loss is (1/2N) Σ‖·‖², or if the rate is α/2."
)
FACTOR_NOTES = (
    "The gradient of the printed loss carries a factor 2 that the update lacks. Nothing else changes: the "
    "update is exact gradient descent, at half the stated rate."
)

claim(
    "wang2024/eq1",
    "Eq. (1)",
    "Gradient descent as an update of the function",
    theory="functional_descent",
    words=UPDATE_WORDS,
    literal=lambda a: functional_update(a, n.alpha),
    corrected=lambda a: functional_update(a, 2 * n.alpha),
    correction_words=FACTOR_TWO,
    assumes=(SQUARED, BIAS_ON, FEATURES),
    rests_on=("wang2024/prose-telescoping",),
    legs=(legs.layers_are_steps, tensor_legs.squared_loss_steps),
    where=LOSS + r" $\phi(x_\cdot)$, $y_\cdot$: those of all examples, a row for each.",
    notes=FACTOR_NOTES + " At finitely many positions every Mercer kernel has finitely many features.",
)


def step_size(a: FunctionalAssumptions, rate: Term) -> All:
    """rate times gradient against the coefficients of (1)."""
    there, slopes = n.current(a)[1], n.slopes("squared", a)
    summed = rate / size(N) * sum_over(i, n.residual[c] * as_term(fd.phi)[i, fd.m])
    plain = rate / size(N) * sum_over(i, n.residual)
    steps = (
        ("step of W", -(n.alpha * as_term(fd.by_W))[c, fd.m], summed),
        ("step of b", -(n.alpha * as_term(fd.by_b)), plain),
    )
    return All(  # without b there is one slope
        *(
            Identity(own, printed, given=(there, slope), label=label)
            for (label, own, printed), slope in zip(steps, slopes, strict=False)
        )
    )


claim(
    "wang2024/prose-step-size-half",
    "Section 2",
    "The factor between the update and the gradient of the loss",
    theory="functional_descent",
    words="A step of rate α along the negative gradient of the printed loss has the coefficient α/N that (1) "
    "shows.",
    literal=lambda a: step_size(a, n.alpha),
    corrected=lambda a: step_size(a, 2 * n.alpha),
    correction_words="The coefficient is 2α/N.",
    assumes=(SQUARED, BIAS_ON),
    where=LOSS + r" $\kappa(x_i,x_j)=\phi(x_i)^\top\phi(x_j)$; $m$: a coordinate of $\phi$; "
    r"$\phi(x_\cdot)$, $y_\cdot$: those of all examples, a row for each.",
    notes=FACTOR_NOTES,
)

ALL_FIRST = Tensor("Σ to k-1", (CLASSES,), r"\sum_{k'=0}^{k-1}\Delta u_{k'}(x)")
UK1, UK = (Tensor(name, (CLASSES,), name) for name in ("u_{k-1}(x)", "u_k(x)"))
DUK = Tensor("Δu_k(x)", (CLASSES,), r"\Delta u_k(x)")
INCREMENT = Given(DUK, (c,), as_term(UK)[c] - as_term(UK1)[c], "definition of the increment at step k")
INDUCTION = Given(ALL_FIRST, (c,), as_term(UK1)[c], "induction hypothesis")

F0, DF0, H0, DH0 = (
    Tensor(name, (CLASSES,), latex)
    for name, latex in (
        ("f_0(x)", r"f_{\theta_0}(x)"),
        ("Δf_0(x)", r"\Delta f_{\theta_0}(x)"),
        ("h_0(x)", r"h_{\theta_0}(x)"),
        ("Δh_0(x)", r"\Delta h_{\theta_0}(x)"),
    )
)
ZERO = Given(F0, (c,), (zeros(CLASSES, WIDTH) @ as_term(fd.phi_x) + zeros(CLASSES))[c], "W_0 = 0 and b_0 = 0")
SOFTMAX = Given(H0, (c,), component(lambda k: as_term(F0)[k], c, CLASSES), "the softmax")
NO_CHANGE = Given(DF0, (c,), zeros(CLASSES)[c], "the increment of f at step 0, as printed")
UNIFORM = Given(DH0, (c,), (Ones((), (CLASSES,)) / Categories((), CLASSES))[c], "that of h, as printed")

claim(
    "wang2024/prose-telescoping",
    "Sections 2, 3",
    "The increments sum to the current function",
    words="For the latent f (start 0) and for the softmax h (start 1/C), the increments up to k-1 sum to the "
    "function at k-1.",
    literal=All(
        Identity(as_term(F0), as_term(DF0), given=(ZERO, NO_CHANGE), label="one term, f"),
        Identity(as_term(H0), as_term(DH0), given=(SOFTMAX, ZERO, UNIFORM), label="one term, h"),
        Identity(
            as_term(ALL_FIRST) + as_term(DUK),
            as_term(UK),
            given=(INCREMENT, INDUCTION),
            label="from k-1 to k",
        ),
    ),
    where=WHERE
    + r" $h_\theta$ is the softmax of $f_\theta$ and $0$, without the class 0; $u$ is $f_\theta$ or "
    r"$h_\theta$, and $\Delta u_k=u_k-u_{k-1}$ for $k\ge1$.",
    notes="For h the term k' = 0 matters: without it every residual of (4) is off by 1/C.",
)

INPUT = blocks(as_term(n.x_j), as_term(n.y_x) - as_term(n.done_x))
OUTPUT = blocks(zeros(D), -as_term(n.change))
RESULT = blocks(as_term(n.x_j), as_term(n.y_x) - as_term(n.done_next))


claim(
    "wang2024/eq2",
    "Eq. (2)",
    "Layer input plus layer output",
    words="Adding (0, -Δf_k) to (x, y - Σ_{k'<k} Δf_{k'}) gives the same vector with one more increment "
    "subtracted.",
    literal=Stacked(INPUT + OUTPUT, RESULT, (n.NEXT,)),
    where=WHERE + LETTERS + r" At the query $y_{N+1}=0$.",
    notes="That attention produces the middle vector is the content of (9) and (10). The text below (2) says "
    "of its right side that the input of the layer is added to the input; it is the output that is added.",
)
claim(
    "wang2024/eq6",
    "Eq. (6)",
    "Layer input plus layer output, in the Appendix",
    words="Equation (2) again, with the input of layer k named e_{j,k-1}; at the first layer it is (x_j, "
    "y_j).",
    literal=All(
        Stacked(INPUT + OUTPUT, RESULT, (n.NEXT,), label="layer k"),
        Stacked(
            INPUT,
            blocks(as_term(n.x_j), as_term(n.y_x)),
            (Given(n.done_x, (c,), zeros(CLASSES)[c], "before the first layer no increment but Δf_0 = 0"),),
            label="first layer",
        ),
    ),
    rests_on=("wang2024/eq2",),
    where=WHERE + LETTERS + r" $e_{j,k-1}$: the input of layer $k$ at position $j$.",
)
claim(
    "wang2024/eq5",
    "Eq. (5)",
    "Gradient descent as an update of the function, in the Appendix",
    theory="functional_descent",
    words=UPDATE_WORDS,
    literal=lambda a: functional_update(a, n.alpha),
    corrected=lambda a: functional_update(a, 2 * n.alpha),
    correction_words=FACTOR_TWO,
    assumes=(SQUARED, BIAS_ON, FEATURES),
    rests_on=("wang2024/prose-telescoping",),
    where=LOSS + r" $\phi(x_\cdot)$, $y_\cdot$: those of all examples, a row for each.",
    notes="The Appendix repeats (1); it does not derive it. As a recursion that attention carries out it is "
    "exact: see (10).",
)

query = Tensor("x_{N+1}", (D,), "x_{N+1}")
all_query = Tensor("sum of Δf at the query", (CLASSES,), r"\sum_{k'=0}^{L}\Delta f_{\theta_{k'}}(x_{N+1})")
last_query = Tensor("Δf_L at the query", (CLASSES,), r"\Delta f_{\theta_L}(x_{N+1})")
before_query = Tensor(
    "sum to L-1 at the query", (CLASSES,), r"\sum_{k'=0}^{L-1}\Delta f_{\theta_{k'}}(x_{N+1})"
)
f_query = Tensor("f_L at the query", (CLASSES,), r"f_{\theta_L}(x_{N+1})")
SUM_OF_ALL = Given(
    all_query, (c,), as_term(before_query)[c] + as_term(last_query)[c], "the sum of one more increment"
)
LAST_LAYER = blocks(as_term(query), zeros(CLASSES) - as_term(before_query)) + blocks(
    zeros(D), -as_term(last_query)
)
PRINTED_VECTOR = blocks(zeros(D), -as_term(all_query))
PRINTED_READOUT = blocks(zeros(D), -Ones((), ("1",)))  # (0_d, -1): d + 1 entries


def readout_literal() -> All:
    """The vector at the query as printed, and its inner product with (0_d, -1)."""
    value = Given(f_query, (c,), as_term(all_query)[c], "the increments sum to the function")
    return All(
        Stacked(LAST_LAYER, PRINTED_VECTOR, (SUM_OF_ALL,), label="last vector at the query"),
        Identity(PRINTED_READOUT.T @ PRINTED_VECTOR, as_term(f_query), given=(value,), label="readout"),
    )


def readout_corrected() -> All:
    """The vector after the skip connection, and its product with the matrix [0, -I]."""
    value = Given(f_query, (c,), as_term(all_query)[c], "the increments sum to the function")
    vector = blocks(as_term(query), -as_term(all_query))
    matrix = blocks([zeros(CLASSES, D), -eye(CLASSES)])
    return All(
        Stacked(LAST_LAYER, vector, (SUM_OF_ALL,), label="last vector at the query"),
        Identity(matrix @ LAST_LAYER, as_term(f_query), given=(SUM_OF_ALL, value), label="readout"),
    )


claim(
    "wang2024/prose-readout",
    "Section 2",
    "The vector at the query after the last layer, and what is read from it",
    words="After layer L the vector at the query is (0, -Σ_{k'} Δf_{k'}), and its inner product with (0_d, "
    "-1) is the prediction.",
    literal=readout_literal(),
    corrected=readout_corrected(),
    correction_words="After the skip connection the vector is (x_{N+1}, -Σ_{k'} Δf_{k'}); the prediction is "
    "its product with the (C-1)×(d+C-1) matrix [0, -I].",
    rests_on=("wang2024/eq2", "wang2024/prose-telescoping"),
    where=WHERE + r" $L$: the number of layers; $\mathbf{1}_1$: a single 1.",
    notes="Two slips. In general the printed vector is not the sum after the skip connection, whose first d "
    "entries are x_{N+1}, nor, for more than one layer, the layer's output (0, -Δf_L). And (0_d, -1) has "
    "d + 1 entries against d + C - 1: an inner product only for C = 2. In Section 3 a query encoded as "
    "(x, -1/C) makes the readout h itself; encoded as (x, 0), 1/C must be added.",
)
