"""The derivation of theory functional_descent under any assumptions: from the loss to layers of attention."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.components import evaluate
from derivations.calculus.functions import IN_SYMPY
from derivations.calculus.index import Index, Tensor
from derivations.calculus.kernel_search import require_kernel
from derivations.calculus.parse import parse
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.program import Step
from derivations.calculus.term import Ones, as_term, blocks, diag, eye, named, size, zeros
from derivations.theories.functional_descent import kernels as fk
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.softmax import component
from derivations.theories.functional_descent.updates import (
    CLASSES,
    Categories,
    D,
    FunctionalAssumptions,
    N,
    i,
)
from derivations.theories.theory import Knob

KNOBS = (
    Knob(
        "kernel",
        ("features", "softmax", *fk.KERNELS, "EXPRESSION in dot, xx, yy"),
        "the attention kernel: any φ(x)ᵀφ(x'), softmax over the keys, one of the paper's list, or an "
        "expression in dot = xᵀx', xx = xᵀx, yy = x'ᵀx'",
    ),
    Knob("bias", ("on", "off"), "whether b is learned, which takes a second head of constant attention"),
    Knob("loss", ("squared", "half_squared"), "Section 2: (1/N) Σ ‖y_i - f(x_i)‖² as printed, or half of it"),
    Knob(
        "categorical_loss",
        ("cross_entropy", "summed_cross_entropy"),
        "Section 3: mean or sum over the context",
    ),
    Knob("softmax", ("reference", "symmetric"), "whether f_0 = 0 is fixed, or all C latent outputs are free"),
    Knob(
        "jacobian", ("diagonal", "full"), "which derivatives of the softmax (4) keeps: ∂h_c/∂f_c only, or all"
    ),
    Knob("layers", ("1", "2", "3"), "how many layers are written out"),
    Knob("rates", ("shared", "per_layer"), "one rate α for all layers, or α_1, α_2, …"),
)

gram = Tensor("gram", (N, N), r"\kappa", "", r"\kappa(x_{%1},x_{%2})", symmetric=True)
keyed = Tensor("keyed gram", (N, N), r"\kappa", "", r"\kappa(x_{%1},x_{%2})")  # the first is the key
_class = Index("c", CLASSES)


def validate(name: str, value: str) -> None:
    """Raise ValueError for a value that a knob does not take."""
    if name == "kernel" and value not in ("features", "softmax", *fk.KERNELS):
        zero = ix.Num(Fraction(0))
        parse(value, {"dot": zero, "xx": zero, "yy": zero})
        require_kernel(lambda dot, xx, yy, width: parse(value, {"dot": dot, "xx": xx, "yy": yy}))
        return
    allowed = next(knob.allowed for knob in KNOBS if knob.name == name)
    if name != "kernel" and value not in allowed:
        raise ValueError("not an allowed value")


def derive(assumptions: FunctionalAssumptions) -> list[Step]:
    """Loss, gradients, functional update, layers, weight matrices; then the categorical counterpart."""
    a = assumptions
    steps = _descent("squared", a, "Squared loss", fd.squared_loss(a).latex())
    steps += _layers(a)
    steps += _matrices(a)
    steps += _descent("categorical", a, "Cross-entropy", fd.cross_entropy(a).latex())
    return steps + _softmax(a)


def _descent(loss: str, a: FunctionalAssumptions, title: str, latex: str) -> list[Step]:
    by_weights, by_offset = fd.gradients(loss, a)
    free = loss == "categorical" and a.softmax == "symmetric"
    start = "; f_0 is free, and minus the sum of the others along descent from equal outputs" if free else ""
    steps = [Step(title, rf"\mathcal{{L}} = {latex}", f"as stated{start}")]
    for variable, expr in (("w_{c}", by_weights), ("b_{c}", by_offset)):
        if variable == "b_{c}" and a.bias == "off":
            continue
        shown = _renamed(expr)
        reason = "guarded gradient: index calculus against components"
        steps.append(
            Step(
                f"Gradient in {variable[0]}", rf"\partial\mathcal{{L}}/\partial {variable} = {shown}", reason
            )
        )
    if not fk.of_features(a.kernel):
        return steps  # W and b act through φ only: no step of theirs gives this update
    when = fk.FEATURES_WHEN.get(a.kernel)
    update = in_kernel(fd.stepped(loss, a, as_term(_rate(a))).entry(_class))
    steps.append(
        Step(
            "Update of the function",
            rf"f_{{c,\theta_k}}(x) = {form_latex(nf.normal(update))}",
            f"W and b stepped; φ has this kernel for {when}" if when else "W and b stepped",
        )
    )
    return steps


def _rate(a: FunctionalAssumptions) -> Tensor:
    """The rate of the step that is shown: of step and layer k where each has its own."""
    return Tensor("alpha_k", (), r"\alpha_{k}", positive=True) if a.rates == "per_layer" else fd.alpha


def _renamed(expr: ix.Expr) -> str:
    row = next((k for k in ix.free_indices(expr) if k.dim == CLASSES), None)
    return form_latex(nf.normal(ix.rename(expr, {row: _class}) if row else expr))


def in_kernel(expr: ix.Expr) -> ix.Expr:
    """Inner products of features of an example and of x as kernel values, the example as the key."""
    return to_expr(nf.contract(nf.normal(expr), fd.phi_x, fd.phi, lambda _, row: ("T", fd.kappa, row)))


def unrolled(a: FunctionalAssumptions) -> list[ix.Expr]:
    """f_1(x), …, f_L(x) of class c from the zero function, in kernel values and outcomes; exact for
    every layer.

    Between two examples the kernel is `gram`, or `keyed`, [key, query], where its symmetry is not visible.
    """
    start = fd.stepped("squared", a).entry(_class)
    for parameter in (fd.W, fd.b):
        start = ix.define(start, parameter, lambda *_: ix.Num(Fraction(0)))
    start = in_kernel(start)
    between = gram if fk.visibly_symmetric(a.kernel) else keyed

    def increment(residual: ix.Expr, layer: int, at: Index | None) -> ix.Expr:
        expr = ix.define(start, fd.y, lambda row, c: ix.rename(residual, {i: row, _class: c}))
        if a.rates == "per_layer":
            rate = Tensor(f"alpha_{layer}", (), rf"\alpha_{{{layer}}}", positive=True)
            expr = ix.define(expr, fd.alpha, lambda: rate.scalar)
        return expr if at is None else ix.define(expr, fd.kappa, lambda key: between[key, at])

    residual, found = fd.y[i, _class], []
    value: ix.Expr = ix.Num(Fraction(0))
    for layer in range(1, int(a.layers) + 1):
        value = value + increment(residual, layer, None)
        residual = residual - increment(residual, layer, i)
        found.append(to_expr(nf.normal(value)))
    return found


def _layers(a: FunctionalAssumptions) -> list[Step]:
    reason = "the increment is linear in the residuals, which start at y and lose each increment"
    if not fk.of_features(a.kernel):
        reason += "; no φ has this kernel: κ takes the place of φ(x_j)ᵀφ(x), and no step of W and b does this"
    return [
        Step(f"After layer {k}", rf"f_{{c,\theta_{k}}}(x) = {form_latex(nf.normal(expr))}", reason)
        for k, expr in enumerate(unrolled(a), 1)
    ]


def _matrices(a: FunctionalAssumptions) -> list[Step]:
    x_i = as_term(Tensor("x_i", (N, D), "X", "x_{%1}"))
    x = as_term(Tensor("x", (D,), "x"))
    weights = fk.attention_weights(a.kernel, lambda at: x_i[at], x, i)
    factor = 2 if a.loss == "squared" else 1
    rate = _rate(a)
    value = blocks(
        [zeros(D, D), zeros(D, CLASSES)],
        [zeros(CLASSES, D), -(named(rate.latex, as_term(rate)) * factor * eye(CLASSES))],
    )
    steps = [
        Step("Value matrix", f"W_V = {value.latex()}", "the factor of the gradient is kept with the rate")
    ]
    for name, weight in weights.items():
        steps.append(Step("Attention weight", rf"\kappa(x_i, x) = {weight.latex()}", f"kernel: {name}"))
    second, why = _second_head(a)
    layer = (
        rf"e_{{j,k}} = e_{{j,k-1}} + \tfrac{{1}}{{N}} W_V E_{{k-1}}\,\kappa(E_{{k-1}}, e_{{j,k-1}}){second}"
    )
    return [*steps, Step("Layer", layer, why)]


def _second_head(a: FunctionalAssumptions) -> tuple[str, str]:
    """The term of head 2, whose zero queries and keys give the kernel's value at 0 over and over; and the
    reason.

    P_2 divides by N times that value. Where it is 0 or undefined there is no such head.
    """
    if a.bias == "off":
        return "", "one head"
    sum_of_residuals = r" + \tfrac{1}{N} W_V E_{k-1} 1_N"
    if a.kernel == "softmax":
        return (
            sum_of_residuals,
            "two heads; weights of the second are 1/N already, so its P_2 is I and not I/N",
        )
    if a.kernel == "features":
        return sum_of_residuals, "two heads, the second constantly one"
    if a.kernel in ("linear", "cosine", "chi_squared"):
        return "", f"one head: no constant second one for the {a.kernel} kernel, so attention leaves b out"
    value, unless = _AT_ZERO.get(a.kernel, ("", ""))
    if not value:
        number = _at_zero(a.kernel)
        if not number:
            words = "not defined" if number is None else "0"
            return "", f"one head: this kernel is {words} at zero queries and keys, so attention leaves b out"
        value = sp.latex(number)
    return sum_of_residuals, f"two heads, the second constantly {value}, which P_2 divides by{unless}"


def _at_zero(kernel: str) -> sp.Expr | None:
    """The value of a user's kernel at two zero vectors, or None where it has none."""
    zero = ix.Num(Fraction(0))
    try:
        expr = parse(kernel, {"dot": zero, "xx": zero, "yy": zero})
        value = sp.sympify(evaluate(expr, {}, lambda *_: sp.S.Zero, IN_SYMPY))
    except ZeroDivisionError:
        return None
    return value if value.is_finite and value.is_real else None


_AT_ZERO = {
    "rbf": ("1", ""),
    "laplacian": ("1", ""),
    "exponential": ("1", ""),
    "sigmoid": (r"\tanh c_{\kappa}", ", for c_κ ≠ 0"),
    "polynomial": (rf"c_{{\kappa}}^{fk.DEGREE}", ", for c_κ ≠ 0"),
}


def _softmax(a: FunctionalAssumptions) -> list[Step]:
    latent = as_term(Tensor("f", (CLASSES,), "f", "", "f_{%1}"))
    h = component(lambda k: latent[k], _class, CLASSES, a.softmax)
    count = Categories((), CLASSES)
    rate = as_term(_rate(a))
    if a.categorical_loss == "summed_cross_entropy":
        rate = rate * size(N)  # the layer has 1/N, the gradient of the sum has not
    if a.softmax == "symmetric":
        block, why = (
            rate / count * eye(CLASSES),
            "the increments sum to zero over the C classes, so the Jacobian is 1/C",
        )
    elif a.jacobian == "full":
        block = rate / count * (eye(CLASSES) - Ones((), (CLASSES, CLASSES)) / count)
        why = "the whole Jacobian at f = 0"
    else:
        rates = as_term(Tensor("rates", (CLASSES,), r"\boldsymbol{\alpha}_k"))
        block, why = diag(rates), "only ∂h_c/∂f_c is kept: first order in α only for C = 2"
    return [
        Step(
            "Softmax",
            rf"h_c = {h.latex()}",
            "class 0 is the reference"
            if a.softmax == "reference"
            else "C free outputs, whose sum stays zero: f_0 is minus the sum of the others",
        ),
        Step("Value block for codes", block.latex(), why),
    ]
