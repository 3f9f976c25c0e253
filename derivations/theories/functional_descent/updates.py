"""Theory functional_descent: gradient descent on (W, b) as updates of functions, and as layers of attention.

The latent function is f(x) = W φ(x) + b with C - 1 outputs, W of shape (C-1, d'), features φ of width d'.
Gradient descent on a loss over a context of N examples moves f at every position x_j; Wang, Henao and Carin
(2024) write these moves as attention layers. Here x is any position x_j: an example of the context or a
query. The paper's choices are the defaults of ``FunctionalAssumptions``; every derivation takes the
assumptions as its argument. Section 2 of the paper has real outcomes y_i and the squared loss, Section 3
class labels with one-hot-like codes ỹ_i (class 0 is the zero vector) and the cross-entropy of a softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from derivations.calculus import index as ix
from derivations.calculus.differentiate import gradient
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Raw
from derivations.calculus.term import Apply, Term, as_term, exp, size, squared_norm, stack, sum_over

N, CLASSES, D, WIDTH = "N", "C-1", "d", "d'"
i, ip = Index("i", N), Index("i'", N)
m = Index("m", WIDTH)
# the indices at which gradients are taken
_row, _column = Index("c*", CLASSES), Index("m*", WIDTH)


class Categories(Term):
    """The number of categories C, one more than the dimension ``data`` of the outputs."""

    def shape(self) -> tuple[str, ...]:
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Num(Fraction(2)) if self.data == "1" else ix.Dim(self.data) + 1

    def latex(self) -> str:
        return "2" if self.data == "1" else "C"


def logarithm(arg: Term) -> Term:
    """The natural logarithm of a scalar."""
    return Apply((as_term(arg),), ("log", r"\log", 0))


def per_example(name: str, latex: str, classes: str = CLASSES) -> Tensor:
    """One vector of C - 1 outputs for each example of the context; ``latex`` is the row, with %1 for
    the example.
    """
    return Tensor(name, (N, classes), latex.replace("%1", r"\cdot"), latex, rf"\left({latex}\right)_{{%2}}")


W = Tensor("W", (CLASSES, WIDTH), "W_{k-1}", "w_{%1,k-1}", "w_{%1,k-1}(%2)")
b = Tensor("b", (CLASSES,), "b_{k-1}", "", "b_{%1,k-1}")
phi = Tensor("phi(x_i)", (N, WIDTH), r"\phi(x_{\cdot})", r"\phi(x_{%1})", r"\phi(x_{%1})_{%2}")
phi_x = Tensor("phi(x)", (WIDTH,), r"\phi(x)", "", r"\phi(x)_{%1}")
y = per_example("y", "y_{%1}")
code = per_example("code", r"\tilde{y}_{%1}")
free = Tensor("f_0", (N,), r"f_0(x_{\cdot})", "", r"f_0(x_{%1})")  # of class 0, where all outputs are free
alpha = Tensor("alpha", (), r"\alpha", positive=True)
by_W = Tensor("dL/dW", (CLASSES, WIDTH), r"\frac{\partial\mathcal{L}}{\partial W}")
by_b = Tensor("dL/db", (CLASSES,), r"\frac{\partial\mathcal{L}}{\partial b}")
kappa = Tensor("kappa", (N,), r"\kappa(x_{\cdot},x)", "", r"\kappa(x_{%1},x)")


@dataclass(frozen=True)
class FunctionalAssumptions:
    """The choices of Sections 2 and 3; the defaults are the paper's."""

    kernel: str = "features"
    bias: str = "on"
    loss: str = "squared"
    categorical_loss: str = "cross_entropy"
    softmax: str = "reference"
    jacobian: str = "diagonal"
    layers: str = "2"
    rates: str = "shared"


def outputs(
    weights: Tensor | Term, offset: Tensor | Term, at: Index | None, a: FunctionalAssumptions
) -> Term:
    """f = W φ (+ b) as a vector, at the example ``at`` or at the position x."""
    features = as_term(phi)[at] if at is not None else as_term(phi_x)
    value = as_term(weights) @ features
    return value + as_term(offset) if a.bias == "on" else value


def squared_loss(a: FunctionalAssumptions) -> Term:
    """The loss of Section 2 as printed, (1/N) Σ ‖y_i - Wφ(x_i) - b‖², or half of it."""
    residual = as_term(y)[i] - outputs(W, b, i, a)
    mean = Fraction(1) / size(N) * sum_over(i, squared_norm(residual))
    return mean if a.loss == "squared" else Fraction(1, 2) * mean


def cross_entropy(a: FunctionalAssumptions) -> Term:
    """The mean (or the sum) over the examples of -log h_{y_i}(x_i), written with the codes ỹ_i.

    log h_{y_i} = Σ_c ỹ_{c,i} f_c(x_i) - log(1 + Σ_c exp f_c(x_i)): f_0 = 0, and ỹ_i marks the class of y_i.
    With C free outputs exp f_0 takes the place of 1, and (1 - Σ_c ỹ_{c,i}) f_0(x_i) is added. See
    ``observed`` for the same from the softmax components.
    """
    c, cp = Index("c", CLASSES), Index("c'", CLASSES)
    latent = outputs(W, b, i, a)
    weight = as_term(1) if a.categorical_loss == "summed_cross_entropy" else Fraction(1) / size(N)
    fitted = sum_over(c, as_term(code)[i, c] * latent[c])
    if a.softmax == "symmetric":
        fitted = fitted + (1 - sum_over(c, as_term(code)[i, c])) * as_term(free)[i]
    return weight * sum_over(i, logarithm(_of_class_0(a) + sum_over(cp, exp(latent[cp]))) - fitted)


def _of_class_0(a: FunctionalAssumptions) -> Term:
    """exp f_0(x_i)."""
    return as_term(1) if a.softmax == "reference" else exp(as_term(free)[i])


def observed(a: FunctionalAssumptions) -> Term:
    """log h_{y_i}(x_i) = Σ_c ỹ_{c,i} log h_c(x_i) + (1 - Σ_c ỹ_{c,i}) log h_0(x_i), from the softmax
    components.
    """
    c, cp = Index("c", CLASSES), Index("c'", CLASSES)
    latent = outputs(W, b, i, a)
    total = _of_class_0(a) + sum_over(cp, exp(latent[cp]))
    codes = sum_over(c, as_term(code)[i, c])
    logs = sum_over(c, as_term(code)[i, c] * logarithm(exp(latent[c]) / total))
    return logs + (1 - codes) * logarithm(_of_class_0(a) / total)


def _balanced(expr: ix.Expr, a: FunctionalAssumptions) -> ix.Expr:
    """f_0 put in as minus the sum of the other outputs.

    Only after derivatives are taken: f_0 has parameters of its own. Gradients of all C outputs sum to zero,
    as codes and probabilities both sum to one, so from equal outputs at the start the sum stays zero.
    """
    c = Index("c", CLASSES)
    total = sum_over(c, outputs(W, b, i, a)[c]).entry()
    return ix.define(expr, free, lambda row: -ix.rename(total, {i: row}))


@lru_cache(maxsize=32)
def gradients(loss: str, a: FunctionalAssumptions) -> tuple[ix.Expr, ix.Expr]:
    """∂loss/∂W[c*, m*] and ∂loss/∂b[c*] by the guarded gradient; the loss is "squared" or "categorical".

    With C free outputs f_0 is put in afterwards, as it is along descent from equal outputs.
    """
    expr = (squared_loss(a) if loss == "squared" else cross_entropy(a)).entry()
    by_weights = _balanced(gradient(expr, W, (_row, _column)), a)
    if a.bias == "off":
        return by_weights, ix.Num(Fraction(0))
    return by_weights, _balanced(gradient(expr, b, (_row,)), a)


def slopes(loss: str, a: FunctionalAssumptions, row: Index, column: Index) -> tuple[Term, Term]:
    """∂loss/∂W[row, column] and ∂loss/∂b[row] as numbers."""
    names = {_row: row, _column: column}
    by_weights, by_offset = (ix.rename(to_expr(normal(g)), names) for g in gradients(loss, a))
    return Raw((), by_weights), Raw((), by_offset)


def gradient_terms(loss: str, a: FunctionalAssumptions) -> tuple[Term, Term]:
    """The two gradients as a matrix (C-1, d') and a vector (C-1,)."""
    by_weights, by_offset = gradients(loss, a)
    rows = stack(_column, Raw((), to_expr(normal(by_weights))))
    return stack(_row, rows), stack(_row, Raw((), to_expr(normal(by_offset))))


def stepped(loss: str, a: FunctionalAssumptions, rate: Term | None = None) -> Term:
    """f_{θ_k}(x) after one step of gradient descent (rate α unless given) from any W and b: derived,
    not printed.
    """
    by_weights, by_offset = gradient_terms(loss, a)
    rate = as_term(alpha) if rate is None else rate
    new = outputs(as_term(W) - rate * by_weights, as_term(b) - rate * by_offset, None, a)
    return stack(_row, Raw((), to_expr(normal(new.entry(_row)))))
