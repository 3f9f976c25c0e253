"""Section 3 and Appendix B: the cross-entropy, the softmax and the approximate updates (3), (4), (11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checks.claim import claim
from checks.kinds.examples import Point
from checks.kinds.order import Order
from checks.kinds.stacked import Stacked
from checks.leg import Legs
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.attention import CONTEXT, EXAMPLES, POSITION, P
from checks.papers.wang2024.notation import (
    BIAS_ON,
    CLASSES_WHERE,
    DIAGONAL,
    ENTROPY,
    FEATURES,
    HEAD_TWO_ONE,
    MASKED,
    REFERENCE,
    SQUARED,
    c,
    cp,
)
from checks.statement import All, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.differentiate import gradient
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Ones, Term, as_term, blocks, diag, exp, eye, named, sum_over, zeros
from derivations.theories.functional_descent import softmax as fs
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.softmax import Step, component
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
solver_legs = Legs("checks.papers.wang2024.legs.solvers")
tensor_legs = Legs("checks.papers.wang2024.legs.tensors")

code = as_term(fd.code)
C = Categories((), CLASSES)
h_i = fd.per_example("h(x_i)", r"h_{\theta_{k-1}}(x_{%1})")


def softmax_at_examples(a: FunctionalAssumptions) -> Given:
    """h_{c,θ_{k-1}}(x_i) as the softmax of the latent outputs, f_0 as the assumptions say."""
    latent = fd.outputs(fd.W, fd.b, i, a)
    zero = "f_0 = 0" if a.softmax == "reference" else "f_0 = -Σ_c f_c"
    h = component(lambda k: latent[k], c, CLASSES, a.softmax)
    return Given(h_i, (i, c), h, f"the softmax, with {zero}")


def entropy_update(a: FunctionalAssumptions) -> Identity:
    """Equation (3)."""
    here, _, *kernel = n.current(a)
    step = Identity(
        as_term(n.f_new),
        as_term(n.f_old) + n.update(n.alpha, code[i] - as_term(h_i)[i]),
        given=(here, *kernel, softmax_at_examples(a), *n.descent("categorical", a)),
        nonzero=n.defined(a),
        reason="the derivative of -log h by f_c is h_c minus the code",
    )
    return step


claim(
    "wang2024/eq3",
    "Eq. (3)",
    "Gradient descent on the cross-entropy as an update of the latent function",
    theory="functional_descent",
    words="One step of gradient descent moves the latent f at x by kernel-weighted and plain sums of ỹ_i - "
    "h(x_i), times α/N.",
    literal=entropy_update,
    assumes=(ENTROPY, REFERENCE, BIAS_ON, FEATURES),
    legs=(tensor_legs.latent_steps, solver_legs.logistic_limit),
    where=CLASSES_WHERE + r" $h_\theta(x)$ has the components $1,\dots,C-1$ of the softmax; "
    r"$\mathcal{L}=-\frac1N\sum_i\log h_{y_i,\theta}(x_i)$, $h_{0,\theta}$ being their complement to 1; "
    r"$w_{c,k-1}$: row $c$ of $W_{k-1}$.",
    notes=(
        "Here no factor is lost, in contrast with (1). The loss is not printed: with the sum in place of the "
        "mean the prefactor "
        "would be α. The reference f_0 = 0 belongs to class 0, f_{θ_0} is the start of the other classes."
    ),
)

latent_x = Tensor("f", (CLASSES,), r"f_{\theta}(x)", "", r"f_{%1,\theta}(x)")
slope = Tensor(
    "dh_c/df_c", (CLASSES,), "", "", r"\frac{\partial h_{%1,\theta}(x)}{\partial f_{%1,\theta}(x)}"
)
h_x = Tensor("h", (CLASSES,), r"p_\theta(Y=\cdot|X=x)", "", r"p_\theta(Y=%1|X=x)")
h_0 = Tensor("h_0", (), r"p_\theta(Y=0|X=x)")
h_not = Tensor("p(Y≠c)", (CLASSES,), "", "", r"p_\theta(Y\neq %1|X=x)")


def softmax_derivative() -> Identity:
    """∂h_c/∂f_c by the guarded gradient against p(Y=c) p(Y≠c)."""
    f = as_term(latent_x)
    own = component(lambda k: f[k], c, CLASSES)
    spot = Index("c*", CLASSES)
    derived = ix.rename(gradient(own.entry(), latent_x, (spot,)), {spot: c})
    others = as_term(h_0) + sum_over(cp, (1 - eye(CLASSES)[c, cp]) * as_term(h_x)[cp])
    given = (
        Given(
            slope,
            (c,),
            Raw((), derived),
            "guarded derivative of the softmax component by its own latent output",
        ),
        Given(h_not, (c,), others, "the sum over all other categories"),
        Given(h_x, (c,), own, "the softmax"),
        Given(h_0, (), 1 / (1 + sum_over(cp, exp(f[cp]))), "the reference category"),
    )
    return Identity(as_term(slope)[c], as_term(h_x)[c] * as_term(h_not)[c], given=given)


claim(
    "wang2024/prose-softmax-derivative",
    "Section 3",
    "Derivative of a softmax component by its own latent output",
    words="∂h_c/∂f_c = p(Y = c) p(Y ≠ c).",
    literal=lambda a: softmax_derivative(),
    assumes=(replace(REFERENCE, knob="", value=""),),
    where=CLASSES_WHERE + r" $h_{c,\theta}(x)=p_\theta(Y=c|X=x)$.",
    notes="At f = 0 it is (C-1)/C² for every c and position. The other derivatives are ∂h_c/∂f_{c'} = "
    "-h_c h_{c'}.",
)

t = Tensor("t", (), "t")
move = Tensor("Δf", (CLASSES,), r"\Delta f_{\theta_k}(x)", "", r"\Delta f_{%1,\theta_k}(x)")
single, single_move = Tensor("f", (), r"f_{1,\theta}(x)"), Tensor("Δf", (), r"\Delta f_{1,\theta_k}(x)")


OFF_DIAGONAL = Point((("C-1", 2),), ((latent_x, (0, 0)), (move, (0, 1))), ((c, 1),))


def taylor(jacobian: str, classes: str = CLASSES, label: str = "") -> Order:
    """The first-order expansion of h_c at f + t Δf, with the diagonal or the whole of the derivative."""
    f, df = (as_term(x) for x in ((latent_x, move) if classes != "1" else (single, single_move)))

    def entry(vector: Term, k: Index) -> Term:
        return vector if classes == "1" else vector[k]

    small = as_term(t)
    exact = component(lambda k: entry(f, k) + small * entry(df, k), c, classes)
    own = component(lambda k: entry(f, k), c, classes)
    change = small * entry(df, c)
    if jacobian == "full":
        change = change - small * fs.over_classes(
            classes, lambda k: component(lambda m: entry(f, m), k, classes) * entry(df, k)
        )
        return Order(exact, own + own * change, t, 2, label=label)
    of = "1" if classes == "1" else "c"
    slope_at = named(rf"\frac{{\partial h_{{{of}}}}}{{\partial f_{{{of}}}}}", own * (1 - own))
    witness = None if classes == "1" else OFF_DIAGONAL
    return Order(exact, own + slope_at * change, t, 2, witness=witness, label=label)


claim(
    "wang2024/prose-taylor",
    "Section 3",
    "The first-order Taylor expansion of the softmax",
    theory="functional_descent",
    words="To first order in Δf, h_c changes by (∂h_c/∂f_c) Δf_c.",
    literal=lambda a: taylor(a.jacobian),
    corrected=All(taylor("full", label="any C"), taylor("diagonal", "1", label="C = 2, as printed")),
    correction_words="To first order h_c changes by h_c (Δf_c - Σ_{c'} h_{c'} Δf_{c'}), the sum over c' = 1, "
    "…, C-1; for C = 2 this is the printed expansion.",
    assumes=(REFERENCE, DIAGONAL),
    rests_on=("wang2024/prose-softmax-derivative",),
    where=CLASSES_WHERE
    + r" $t$ is the size of the step, $\Delta f$ its direction; $f$ and $\Delta f$ are arbitrary.",
    notes="For C > 2 the components depend on all latent outputs: the terms -h_c h_{c'} Δf_{c'} that are "
    "left out are of the same order as what is kept. (4), (11) and Figures 2 to 9 (C = 3) inherit this.",
)

f_start, h_start = (
    Tensor("f_0(x)", (CLASSES,), r"f_{\theta_0}(x)"),
    Tensor("h_0(x)", (CLASSES,), r"h_{\theta_0}(x)"),
)
dh_start = Tensor("Δh_0(x)", (CLASSES,), r"\Delta h_{\theta_0}(x)")


f_i = fd.per_example("f(x_i)", r"f_{\theta_{k-1}}(x_{%1})")
AT_START = Tensor("[k=0]", (), "[k=0]")


def initial_state(printed: bool) -> All:
    """The four values at the start; the increment of any step as printed, or of step 0."""
    zero = Given(
        f_start, (c,), (zeros(CLASSES, WIDTH) @ as_term(fd.phi_x) + zeros(CLASSES))[c], "W_0 = 0 and b_0 = 0"
    )
    softmax = Given(h_start, (c,), component(lambda k: as_term(f_start)[k], c, CLASSES), "the softmax")
    latent = Given(
        h_i, (i, c), component(lambda k: as_term(f_i)[i, k], c, CLASSES), "the softmax, with f_0 = 0"
    )
    dh = Given(dh_start, (c,), as_term(h_start)[c], "the increment of step 0 is the start")
    bracket = code[i] - as_term(h_i)[i]
    at_start = as_term(AT_START)
    either = at_start * as_term(f_start)[c] + (1 - at_start) * n.update(n.alpha, bracket)[c]
    increment = Given(n.change, (c,), either, "the start at step 0, the increment of (3) at any other")
    index = () if printed else (Given(AT_START, (), as_term(1), "k = 0"),)
    uniform = Ones((), (CLASSES,)) / C
    return All(
        Identity(as_term(f_start), zeros(CLASSES), given=(zero,), label="f"),
        Identity(as_term(n.change), zeros(CLASSES), given=(increment, latent, zero, *index), label="Δf"),
        Identity(as_term(h_start), uniform, given=(softmax, zero), label="h"),
        Identity(as_term(dh_start), uniform, given=(dh, softmax, zero), label="Δh"),
    )


claim(
    "wang2024/prose-initial-state",
    "Section 3",
    "Zero functions start the softmax at 1/C",
    words="With zero parameters f_{θ_0} = 0, Δf_{θ_k} = 0 (printed so after (4)), h_{θ_0} = Δh_{θ_0} = 1/C.",
    literal=initial_state(True),
    corrected=initial_state(False),
    correction_words="The same for k = 0: Δf_{θ_0} = 0.",
    assumes=(replace(REFERENCE, knob="", value=""),),
    rests_on=("wang2024/eq3",),
    where=CLASSES_WHERE + r" $[k=0]$ is 1 for $k=0$ and 0 for any other step; $\kappa$ is the kernel; "
    r"$x_\cdot$, $\tilde y_\cdot$: those of all examples.",
    notes="Item (ii) and the last paragraph print Δf_{θ_0} = 0, as corrected: the paragraph after (4) alone "
    "has k. The printed x_i in Δh_{θ_0}(x_i) is harmless: the value is the same at every position. "
    "Rocq's theorem that it fails lets [k=0] be any number; the counterexample is at 0.",
)

NULL = ("eps", "eps(x)")


def from_zero(step: Step, codes: tuple[Any, ...], kernel: tuple[int, ...]) -> Point:
    """Examples of known classes, at the start f = 0 and without error."""
    wide = step.classes != "1"
    none = (0, 0) if wide else 0
    of_all = (none,) * len(codes)
    named = {"code": codes, "u": of_all, "v": none, "eps": of_all, "eps(x)": none}
    values = (*((step.tensor(name), value) for name, value in named.items()), (fd.kappa, kernel))
    return Point((("N", len(codes)), *((("C-1", 2),) if wide else ())), values, ((c, 1),) if wide else ())


def softmax_step(
    rates: str, order: int, label: str = "", classes: str = CLASSES, softmax: str = "reference"
) -> Order:
    """A step of (4), from a softmax with error of the given order, against the softmax of the step (3)."""
    step = Step(classes, softmax)
    null = tuple(step.tensor(name) for name in NULL)
    value = 1 / C if softmax == "symmetric" else (C - 1) / C**2
    choice = (
        (Given(fs.rho, (c,), value, "the derivative of the softmax at f = 0, or what replaces it"),)
        if rates == "free"
        else ()
    )
    if rates == "free":
        witness = from_zero(step, ((0, 0), (1, 0), (0, 1)), (-1, 0, 1))
    else:
        codes = ((1, 0), (0, 1)) if classes != "1" else (1,)
        witness = from_zero(step, codes, (0, 1) if classes != "1" else (3,))
    return Order(step.after(), step.approximate(rates, order), fd.alpha, order, choice, witness, null, label)


def printed_step(a: FunctionalAssumptions, label: str = "") -> Order:
    """(4) as the assumptions have it: rates of any size, or the whole constant Jacobian."""
    return softmax_step("free" if a.jacobian == "diagonal" else "full", 2, label, softmax=a.softmax)


def repaired_steps() -> tuple[Order, ...]:
    """What holds: the constant Jacobian for any C, the printed form for C = 2, the printed form for
    free f_0.
    """
    return (
        softmax_step("full", 2, "any C, constant Jacobian in place of the rates"),
        softmax_step("start", 3, "C = 2, as printed", classes="1"),
        softmax_step("symmetric", 2, "any C, as printed, all C latent outputs free", softmax="symmetric"),
    )


STEP_WORDS = (
    "With rates α_k^(c) that do not depend on x, the update of the softmax components by the two heads "
    "agrees to first order in α with the softmax of the gradient step (3)."
)
STEP_CORRECTION = (
    "With (α/C)(I - 11ᵀ/C) in place of the rates the error after any fixed number of steps is O(α²): the "
    "lower right block of W_V becomes -(α/C)(I - 11ᵀ/C). As printed, (4) holds for C = 2, even with error "
    "O(α³); and for all C with rates α/C if the softmax has C free latent outputs instead of f_0 = 0."
)
STEP_NOTES = (
    "A third approximation is made and not named: besides linearising and freezing the derivative, (4) drops "
    "the derivatives ∂h_c/∂f_{c'}, c' ≠ c. They are of the order that is kept, so no choice of rates repairs "
    "(4) for C > 2: in the counterexample (4) leaves h_1 as it is for every rate, while gradient descent "
    "moves it. What depends on it: (11), W_V for categorical data, and Figures 2 to 9 (C = 3). Induction "
    "over k: an error of the stated order before the step has that order after it. For what (4) is exact, "
    "see wang2024/prose-least-squares."
)
STEP_WHERE = CLASSES_WHERE + (
    r" $h_{\theta_k}(x)$ is the softmax of $f_{\theta_{k-1}}(x)+\Delta f_{\theta_k}(x)$ with "
    r"$\Delta f_{\theta_k}$ of (3), from $f_{\theta_{k-1}}=\alpha u$ at the examples and at $x$, any $u$; "
    r"on the right $h_{\theta_{k-1}}$, in $\sum_{k'<k}\Delta h_{\theta_{k'}}$ as well, is the softmax of "
    r"$\alpha u$ with any error of the order claimed, $\alpha^2\varepsilon$ or $\alpha^3\varepsilon$; "
    r"$\alpha_k^{(c)}=\alpha\rho_c$ with $\rho$ arbitrary but where it is given. Where all $C$ latent "
    r"outputs are free, steps from 0 leave their sum at 0, so that $f_0=-\sum_{c=1}^{C-1}f_c$."
)
STEP_RESTS = (
    "wang2024/eq3",
    "wang2024/prose-taylor",
    "wang2024/prose-softmax-derivative",
    "wang2024/prose-telescoping",
)

claim(
    "wang2024/eq4",
    "Eq. (4)",
    "Update of the softmax components",
    theory="functional_descent",
    words=STEP_WORDS,
    literal=printed_step,
    corrected=All(*repaired_steps()),
    correction_words=STEP_CORRECTION,
    assumes=(ENTROPY, REFERENCE, DIAGONAL, BIAS_ON),
    rests_on=STEP_RESTS,
    legs=(legs.measured_orders,),
    where=STEP_WHERE + r" $x_\cdot$, $\tilde y_\cdot$: those of all examples, a row for each. In the "
    r"corrected (b) $C=2$ and $c=1$.",
    notes=STEP_NOTES,
)

rates = Tensor("rates", (CLASSES,), r"\alpha_k", "", r"\alpha_k^{(%1)}")
done_h = fd.per_example("sum of Δh(x_i)", r"\sum_{k'=0}^{k-1}\Delta h_{\theta_{k'}}(x_{%1})")
code_x = Tensor("code(x)", (CLASSES,), r"\tilde{y}_j")
done_hx = Tensor("sum of Δh(x)", (CLASSES,), r"\sum_{k'=0}^{k-1}\Delta h_{\theta_{k'}}(x)")
LEFT = as_term(code_x) - as_term(done_hx)


def categorical_layer(block: Term, move_by: Term, label: str) -> Stacked:
    """The layer (10) with codes for outcomes and a given lower right block of W_V."""
    value = blocks([zeros(D, D), zeros(D, CLASSES)], [zeros(CLASSES, D), -block])
    context = blocks([as_term(n.x_i).T], [(code - as_term(done_h)).T])
    heads = P @ (value @ context @ as_term(fd.kappa)) + P @ (value @ context @ Ones((), (N,)))
    position = named("e_{j,k-1}", blocks(as_term(n.x_j), LEFT))
    return Stacked(position + heads, blocks(as_term(n.x_j), LEFT - move_by), label=label)


def bracket_sum() -> Term:
    """(1/N) Σ_i [ỹ_i - Σ Δh(x_i)] (κ(x_i, x) + 1)."""
    return n.update(as_term(1), code[i] - as_term(done_h)[i])


def eq11_literal(a: FunctionalAssumptions) -> All:
    moved = diag(as_term(rates)) @ bracket_sum()
    return All(
        categorical_layer(diag(as_term(rates)), moved, "attention carries out (11)"),
        printed_step(a, "(11) as a step of (3)"),
    )


def eq11_corrected() -> All:
    full = n.alpha / C * (eye(CLASSES) - Ones((), (CLASSES, CLASSES)) / C)
    total = bracket_sum()
    moved = n.alpha / C * (total - sum_over(cp, total[cp]) / C * Ones((), (CLASSES,)))
    return All(
        categorical_layer(full, moved, "attention carries out the corrected update"), *repaired_steps()
    )


claim(
    "wang2024/eq11",
    "Eq. (11)",
    "Update of the softmax components, in the Appendix",
    theory="functional_descent",
    words=STEP_WORDS + " Attention with the value block -diag(α_k^(c)) carries the update out.",
    literal=eq11_literal,
    corrected=eq11_corrected(),
    correction_words=STEP_CORRECTION,
    assumes=(ENTROPY, REFERENCE, DIAGONAL, BIAS_ON, MASKED, HEAD_TWO_ONE),
    rests_on=("wang2024/eq4", "wang2024/eq10"),
    where=STEP_WHERE
    + r" $e_{j,k-1}$ stacks $x_j$ and $\tilde y_j-\sum_{k'<k}\Delta h_{\theta_{k'}}(x_j)$; $X$ has the rows "
    r"$x_i$; $x_\cdot$, $\tilde y_\cdot$: those of all examples, a row for each; $1_N$: the vector of $N$ "
    r"ones; $\kappa$: any kernel. In the corrected (c) $C=2$ and $c=1$.",
    notes=STEP_NOTES + " As a recursion (11) is carried out exactly by attention.",
)


def exact_layer(a: FunctionalAssumptions, rate: Term) -> Stacked:
    """A layer of Section 2 against a step of gradient descent on the printed loss with the given rate."""
    value = blocks([zeros(D, D), zeros(D, CLASSES)], [zeros(CLASSES, D), -(n.alpha * eye(CLASSES))])
    heads = P @ (value @ CONTEXT @ as_term(fd.kappa)) + P @ (value @ CONTEXT @ Ones((), (N,)))
    _, there, *kernel = n.current(a)
    here = Given(
        n.done_x, (c,), fd.outputs(fd.W, fd.b, None, a)[c], "the increments sum to the current function"
    )
    target = blocks(as_term(n.x_j), as_term(n.y_x) - as_term(n.f_new))
    return Stacked(
        named("e_{j,k-1}", POSITION) + heads,
        target,
        (*n.descent("squared", a, rate), there, here, *kernel),
        n.defined(a),
        label="Section 2: a layer is a step, rate α/2",
    )


claim(
    "wang2024/prose-multi-layer-exact",
    "Sections 2, 3",
    "What L layers carry out",
    theory="functional_descent",
    words="In Section 2 each layer is one exact step of gradient descent on the squared loss, from any W and "
    "b (of rate α/2: see (1)); in Section 3 each layer approximates a step on the cross-entropy.",
    literal=lambda a: All(
        exact_layer(a, n.alpha / 2), printed_step(a, "Section 3: a layer approximates a step")
    ),
    corrected=lambda a: All(exact_layer(a, n.alpha / 2), *repaired_steps()),
    correction_words="Exact for the squared loss, any number of layers, any C, N and kernel φᵀφ, at rate α/2 "
    "on the printed loss. For the cross-entropy an approximation, with error O(α³) for C = 2 and O(α²) for "
    "larger C once the whole Jacobian is kept, or in the printed form, with the rate α/C, where all C latent "
    "outputs are free.",
    assumes=(SQUARED, BIAS_ON, FEATURES, ENTROPY, REFERENCE, DIAGONAL, MASKED, HEAD_TWO_ONE),
    rests_on=("wang2024/eq4", "wang2024/eq10", "wang2024/eq11", "wang2024/prose-telescoping"),
    legs=(legs.layers_are_steps, solver_legs.least_squares_limit, solver_legs.interpolation_limit),
    where=STEP_WHERE
    + EXAMPLES
    + r" In Section 2 $y_i\in\mathbb{R}^{C-1}$, $\mathcal{L}=\frac1N\sum_i\|y_i-W\phi(x_i)-b\|^2$ and "
    r"$f_{\theta_k}$ is the step of rate $\alpha/2$ on it, $\alpha$ being the factor in $W_V$; $1_N$: the "
    r"vector of $N$ ones; $w_{c,k-1}$: row $c$ of $W_{k-1}$. In the corrected (c) $C=2$ and $c=1$.",
    notes=(
        "The query is masked as a key. The cross-entropy construction is in general not exact in h, not "
        "even for one layer and C = 2: from f = 0, with one example, of class 1, and κ(x_1, x) = 1, "
        "softmax less layer is -α³/48 + O(α⁵). It is "
        "exact for every L for the squared loss of the labels "
        "(wang2024/prose-least-squares). The orders are for a fixed number of layers; with αL fixed "
        "and L → ∞ the error need not vanish."
    ),
)
