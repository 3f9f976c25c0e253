"""Statements of the paper without a number, and what its constructions do carry out exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from checks.claim import claim
from checks.kinds.examples import Point, Rule
from checks.kinds.implication import Implication, Use
from checks.leg import Legs
from checks.papers.wang2024 import notation as n
from checks.papers.wang2024.categorical import done_h
from checks.papers.wang2024.notation import BIAS_ON, CLASSES_WHERE, FEATURES, HEAD_TWO_ONE, MASKED, WHERE, c
from checks.statement import All, Fact, Given, Identity
from derivations.calculus.differentiate import gradient
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, exp, size, softmax, squared_norm, stack, sum_over, zeros
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.updates import (
    CLASSES,
    WIDTH,
    Categories,
    D,
    FunctionalAssumptions,
    N,
    i,
    ip,
)

legs = Legs("checks.papers.wang2024.legs.parameters")
tensor_legs = Legs("checks.papers.wang2024.legs.tensors")

C = Categories((), CLASSES)
code = as_term(fd.code)
h_old = Tensor("h_{k-1}(x)", (CLASSES,), r"h_{\theta_{k-1}}(x)", "", r"h_{%1,\theta_{k-1}}(x)")
h_new = Tensor("h_k(x)", (CLASSES,), r"h_{\theta_k}(x)", "", r"h_{%1,\theta_k}(x)")


def least_squares(a: FunctionalAssumptions) -> Identity:
    """(4) with one rate for all classes against gradient descent on (1/2N) Σ ‖ỹ_i - 1/C - f(x_i)‖²."""
    here, there, *kernel = n.current(a)
    given = (
        Given(h_new, (c,), 1 / C + as_term(n.f_new)[c], "h = 1/C + f"),
        *n.descent("squared", replace(a, loss="half_squared")),
        Given(fd.y, (i, c), code[i, c] - 1 / C, "the targets"),
        Given(h_old, (c,), 1 / C + as_term(n.f_old)[c], "h = 1/C + f"),
        Given(done_h, (i, c), 1 / C + as_term(n.done)[i, c], "the increments sum to h, which starts at 1/C"),
        here,
        there,
        *kernel,
    )
    bracket = code[i] - as_term(done_h)[i]
    after = as_term(h_old) + n.update(n.alpha, bracket)
    return Identity(as_term(h_new), after, given=given, nonzero=n.defined(a))


claim(
    "wang2024/prose-least-squares",
    "Section 3",
    "What the update (4) carries out exactly",
    theory="functional_descent",
    words="With one rate for all classes, (4) is gradient descent on (1/2N) Σ ‖ỹ_i - h(x_i)‖² for h = 1/C + "
    "Wφ + b, exactly.",
    literal=least_squares,
    assumes=(BIAS_ON, FEATURES, MASKED, HEAD_TWO_ONE),
    rests_on=("wang2024/eq1",),
    legs=(tensor_legs.categorical_steps,),
    where=WHERE + r" $\mathcal{L}=\frac1{2N}\sum_i\|y_i-W\phi(x_i)-b\|^2$ with $y_i=\tilde y_i-\frac1C1$, "
    r"$h=\frac1C1+f$. $w_{c,k-1}$: row $c$ of $W_{k-1}$.",
    notes="An addition to the paper. It holds for any number of layers, C, N and Mercer kernel: the "
    "categorical construction fits the labels by least squares, which is another loss than the cross-entropy "
    "that the paper names. With rates α_k^(c) the components decouple, each with its own rate.",
)

D_i = Tensor("D(x_i)", (N,), "D", "", "D(x_{%1})", positive=True)
D_x = Tensor("D(x)", (), "D(x)", positive=True)
row, column = Index("c*", CLASSES), Index("m*", WIDTH)


def weighted_descent() -> Identity:
    """Softmax attention over the keys against descent on ½ Σ D(x_i) ‖y_i - f(x_i)‖², f(x) = Wφ(x)/D(x)."""
    model = as_term(fd.W) @ as_term(fd.phi)[i] / as_term(D_i)[i]
    loss = Fraction(1, 2) * sum_over(i, as_term(D_i)[i] * squared_norm(as_term(fd.y)[i] - model))
    slope = stack(row, stack(column, Raw((), to_expr(normal(gradient(loss.entry(), fd.W, (row, column)))))))
    moved = (as_term(fd.W) - n.alpha * slope) @ as_term(fd.phi_x) / as_term(D_x)
    product = as_term(fd.phi)[i].T @ as_term(fd.phi_x)
    given = (
        Given(n.f_new, (c,), moved[c], "a step of gradient descent on the weighted loss, rate α"),
        Given(n.f_old, (c,), (as_term(fd.W) @ as_term(fd.phi_x) / as_term(D_x))[c], "the current function"),
        Given(n.done, (i, c), model[c], "the increments sum to the current function"),
        Given(fd.kappa, (i,), product / as_term(D_x), "exponential features over their sum"),
    )
    right = as_term(n.f_old) + n.alpha * sum_over(i, n.residual * n.kappa[i])
    return Identity(as_term(n.f_new), right, given=given)


claim(
    "wang2024/prose-softmax-weighted-gd",
    "Section 4",
    "What softmax attention carries out exactly",
    words="A layer of softmax attention over the keys is a step of gradient descent on ½ Σ D(x_i) ‖y_i - "
    "f(x_i)‖² for the model f(x) = Wφ(x)/D(x), with φ the features of exp(λ xᵀx') and D(x) the kernel sum of "
    "x.",
    literal=lambda _: weighted_descent(),
    assumes=(MASKED,),
    rests_on=("wang2024/prose-mercer-softmax", "wang2024/prose-mercer-exponential"),
    legs=(tensor_legs.softmax_steps,),
    where=WHERE.replace(n.MODEL, r"$f_\theta(x)=W\phi(x)/D(x)$")
    + r" $\kappa(x_i,x)=\phi(x_i)^\top\phi(x)/D(x)$ with $D(x)=\sum_i\phi(x_i)^\top\phi(x)>0$; λ ≥ 0. On "
    r"finitely many positions the exponential has features of finite width. $w_{c,k-1}$: row $c$ of "
    "$W_{k-1}$.",
    notes="An addition to the paper: with the printed axis of the softmax (over the keys) and masked keys, "
    "for any number of layers. Only the quotient by D matters, so the proof takes D as any positive "
    "function. Normalised over the queries instead, attention descends another weighted loss, which depends "
    "on the set of queries.",
)

a_i = Tensor("a_i", (N, CLASSES), "a", "a_{%1}")
expansion = sum_over(i, as_term(a_i)[i] * n.kappa[i])
VANISHES = Identity(
    as_term(n.f_old),
    zeros(CLASSES),
    given=(
        Given(n.f_old, (c,), (expansion + as_term(fd.b))[c], "what steps of (1) reach from the start 0"),
        Given(fd.kappa, (i,), as_term(n.x_i)[i].T @ zeros(D), "the linear kernel at x = 0"),
    ),
    label="linear kernel: all members of its space vanish at x = 0",
)
NO_INTERCEPT = Given(fd.b, (c,), as_term(0), "one head, no intercept")


def stays(column: Term, with_bias: bool, label: str) -> Identity:
    """A combination of columns of a kernel is one after the next step."""
    moved = sum_over(i, as_term(a_i)[i] * column) + n.update(n.alpha, n.residual, with_bias)
    new = as_term(a_i)[i] + n.alpha / size(N) * n.residual
    return Identity(moved, sum_over(i, new * column), label=label)


claim(
    "wang2024/prose-rkhs-membership",
    "Section 2",
    "The components of f lie in the function space of the kernel",
    words="Each component of the f that gradient descent reaches lies in the reproducing kernel Hilbert "
    "space of κ.",
    literal=VANISHES,
    corrected=All(
        replace(VANISHES, given=(*VANISHES.given, NO_INTERCEPT)),
        stays(n.kappa[i], False, "one head: f stays a combination of κ(x_i, ·)"),
        stays(n.kappa[i] + 1, True, "two heads: f stays a combination of κ(x_i, ·) + 1"),
    ),
    correction_words="Without the intercept, that is with one head. With two heads f lies in the space of "
    "the kernel κ + 1.",
    rests_on=("wang2024/prose-telescoping",),
    where=WHERE
    + r" $f_{\theta_{k-1}}$ has the coefficients $a_i$ and the intercept $b_{k-1}$; from the start "
    r"0, (1) with two heads reaches those with $b_{k-1}=\sum_i a_i$, each in one step. The space of the "
    r"linear kernel holds the functions $a^\top x$ alone, which vanish at $0$; where $x_i^\top 0_d$ stands "
    r"for $\kappa(x_i,x)$, $x$ is that point.",
    notes=(
        "It also holds with two heads where the space of κ contains the constants, as for the polynomial "
        "kernel with γ ≥ 0 and c > 0 and the exponential kernel with λ > 0. It fails for the RBF kernel too, "
        "for which the paper sets up head 2: on a set with interior points its space contains no constant "
        "but 0 (Steinwart, Hush and Scovel 2006)."
    ),
)


key_score, own_score = as_term(Tensor("s", (N,), "s", "", "s_{%1}")), as_term(Tensor("s_q", (), "s_{N+1}"))
value, own_value = as_term(Tensor("v", (N,), "v", "", "v_{%1}")), as_term(Tensor("v_q", (), "v_{N+1}"))
own_kappa = as_term(Tensor("kappa_q", (), r"\kappa(x_{N+1},x)"))
MASKED_PLAIN = Identity(
    sum_over(i, n.kappa[i] * value[i]),
    sum_over(i, as_term(1) * n.kappa[i] * value[i]) + as_term(0) * own_kappa * own_value,
    label="kernels that are not normalised",
)
of_keys, of_query = as_term(1) * exp(key_score[i]), as_term(0) * exp(own_score)
masked_total = sum_over(ip, as_term(1) * exp(key_score[ip])) + of_query
MASKED_SOFTMAX = Identity(
    sum_over(i, value[i] * softmax(i, key_score[i])),
    sum_over(i, value[i] * (of_keys / masked_total)) + own_value * (of_query / masked_total),
    label="softmax",
)


claim(
    "wang2024/prose-mask-equivalence",
    "Appendix A",
    "Keys 1 to N, or a mask weight of zero on the query",
    words="Attention over the N examples equals attention over all N + 1 vectors with mask weights 1, …, 1, "
    "0, applied to the keys.",
    literal=All(MASKED_PLAIN, MASKED_SOFTMAX),
    where=r"$\kappa(x_i,x)$ the kernel of key $x_i$ and query $x$, $x_{N+1}$ the query among the keys; "
    r"$s$ scores of the keys for one query, $v$ their values; the mask weights 1 and 0 multiply the "
    r"kernel of each key, of softmax $\exp(s_i)$, wherever it stands.",
    legs=(legs.unmasked_query,),
    notes="Weights that multiplied the attention of softmax after its normalisation would leave the query's "
    "exponential in the denominator. The text applies them to the keys. An "
    "unmasked query is fitted to its placeholder outcome: descent on a context of N + 1 examples, "
    "one of them made up.",
)


def point(code_value: int) -> Point:
    """One example of two classes, kernel value 1, rate 2."""
    values = ((fd.code, ((code_value,),)), (fd.kappa, (1,)), (fd.alpha, 2))
    return Point((("N", 1), ("C-1", 1)), values, ((c, 1),))


first_h = 1 / C + n.update(n.alpha, code[i, c] - 1 / C)
_weight = n.alpha * (n.kappa[i] + 1)
SHARE, REST = Fact("weight", _weight, ">="), Fact("1 - weight", 1 - _weight, ">=")
OWN, OTHER = Fact("code", code[i, c], ">="), Fact("1 - code", 1 - code[i, c], ">=")
BETWEEN = (
    Implication((SHARE, REST, OWN), Fact("h_c", first_h, ">="), label="at least 0"),
    Implication(
        (SHARE, REST, OTHER),
        Fact("1 - h_c", 1 - first_h, ">="),
        (
            Use("1 - weight", size(CLASSES) / C / size(N), over=(i,)),
            Use("weight", (1 - code[i, c]) / size(N), over=(i,)),
        ),
        label="at most 1",
    ),
)
h_x = as_term(h_old)
complement = 1 - sum_over(c, h_x[c])
code_0 = 1 - sum_over(c, code[i, c])
done_0 = 1 - sum_over(c, as_term(done_h)[i, c])
moved_h = h_x + n.update(n.alpha, code[i] - as_term(done_h)[i])
COMPLEMENT = Identity(
    1 - sum_over(c, moved_h[c]),
    complement + n.update(n.alpha, code_0 - done_0),
    label="class 0 as complement",
)

claim(
    "wang2024/prose-output-probability",
    "Section 3",
    "The output as a probability",
    words="The updated components approximate probabilities, so no softmax is applied to them: they lie "
    "between 0 and 1.",
    literal=All(
        Rule((), Fact("h_c", first_h, ">="), point(0), label="at least 0"),
        Rule((), Fact("1 - h_c", 1 - first_h, ">="), point(1), label="at most 1"),
    ),
    corrected=All(*BETWEEN, COMPLEMENT),
    correction_words="For one layer with 0 ≤ α(κ(x_i, x) + 1) ≤ 1 at every example. With one rate for all "
    "classes the complement for class 0 follows the same update with its own code, after any number of "
    "layers.",
    rests_on=("wang2024/eq4", "wang2024/prose-multi-layer-exact"),
    where=CLASSES_WHERE
    + r" As printed: the first layer, from $h_{\theta_0}=1/C$, with rate $\alpha$ for all classes; $h_c$ its "
    r"output. $h_{\theta_{k-1}}$ and $\sum_{k'<k}\Delta h_{\theta_{k'}}$: the output of layer $k-1$, at $x$ "
    r"and at the examples. $(\tilde y_i)_c$: in the corrected (a) and (b) numbers as they say. "
    r"$\tilde{y}_\cdot$, $\kappa(x_\cdot,x)$: those of all examples.",
)
