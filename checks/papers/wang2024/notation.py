"""Symbols, assumptions and hypotheses that several claims of Wang, Henao and Carin (2024) share."""

from __future__ import annotations

from checks.claim import Assumption
from checks.statement import Given
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, size, sum_over
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.updates import CLASSES, D, FunctionalAssumptions, N, i

c, cp = Index("c", CLASSES), Index("c'", CLASSES)
MODEL = r"$f_\theta(x)=W\phi(x)+b$"
_REST = (
    r"$x$ is any position $x_j$, $j=1,\dots,N+1$, the query "
    rf"being $x_{{N+1}}$; $\phi$ has width $d'$, {MODEL}; $\alpha$ is the learning rate."
)
WHERE = (
    r"$N$ examples $(x_i,y_i)$, $x_i\in\mathbb{R}^{d}$, $y_i\in\mathbb{R}^{C-1}$ ($\tilde{y}_i$ the "
    r"one-hot-like code of a class, zero for class 0); $C$ is the number of classes; " + _REST
)
CLASSES_WHERE = (
    r"$N$ examples $(x_i,y_i)$, $x_i\in\mathbb{R}^{d}$, of $C$ classes, $y_i\in\{0,\dots,C-1\}$ with the "
    r"one-hot-like code $\tilde{y}_i\in\mathbb{R}^{C-1}$, zero for class 0; " + _REST
)
BIAS_ON = Assumption("bias", "the intercept b is learned (head 2 is there)", "bias", "on")
SQUARED = Assumption("squared loss", "the loss is (1/N) Σ ‖y_i - Wφ(x_i) - b‖²", "loss", "squared")
ENTROPY = Assumption(
    "mean cross-entropy",
    "the cross-entropy is averaged over the context",
    "categorical_loss",
    "cross_entropy",
)
REFERENCE = Assumption("reference class", "f_0 = 0; only C - 1 functions are free", "softmax", "reference")
DIAGONAL = Assumption(
    "diagonal Jacobian",
    "as printed: only ∂h_c/∂f_c is kept of the softmax's derivative",
    "jacobian",
    "diagonal",
)
FEATURES = Assumption("Mercer kernel", "κ(x, x') = φ(x)ᵀφ(x')", "kernel", "features")
MASKED = Assumption("masked query", "keys and values are the N examples only")
HEAD_TWO_ONE = Assumption("constant head one", "the kernel of head 2 is constantly one")

x_i = Tensor("x_i", (N, D), "X", "x_{%1}", "x_{%1}(%2)")
x_j = Tensor("x", (D,), "x", "", "x(%1)")
f_old = Tensor("f_{k-1}(x)", (CLASSES,), r"f_{\theta_{k-1}}(x)", "", r"f_{%1,\theta_{k-1}}(x)")
f_new = Tensor("f_k(x)", (CLASSES,), r"f_{\theta_k}(x)", "", r"f_{%1,\theta_k}(x)")
done = fd.per_example("sum of Δf(x_i)", r"\sum_{k'=0}^{k-1}\Delta f_{\theta_{k'}}(x_{%1})")
y_x = Tensor("y(x)", (CLASSES,), "y_j", "", "y_{%1,j}")
done_x = Tensor("sum of Δf(x) to k-1", (CLASSES,), r"\sum_{k'=0}^{k-1}\Delta f_{\theta_{k'}}(x)")
done_next = Tensor("sum of Δf(x) to k", (CLASSES,), r"\sum_{k'=0}^{k}\Delta f_{\theta_{k'}}(x)")
change = Tensor("Δf_k(x)", (CLASSES,), r"\Delta f_{\theta_k}(x)")
y, alpha, kappa = as_term(fd.y), as_term(fd.alpha), as_term(fd.kappa)
residual = y[i] - as_term(done)[i]

TELESCOPED = Given(
    done,
    (i, c),
    fd.outputs(fd.W, fd.b, i, FunctionalAssumptions())[c],
    "the increments sum to the current function",
)
KAPPA = Given(fd.kappa, (i,), as_term(fd.phi)[i].T @ as_term(fd.phi_x), "the kernel of the features")
NEXT = Given(done_next, (c,), as_term(done_x)[c] + as_term(change)[c], "the sum of one more increment")


NORMALISER = Tensor("sum of kernels", (), r"Z(x)")


def current(a: FunctionalAssumptions) -> tuple[Given, ...]:
    """f_{θ_{k-1}} at x and, as the sum of its increments, at the examples; then the kernel."""
    here = Given(f_old, (c,), fd.outputs(fd.W, fd.b, None, a)[c], "the current function at x")
    there = Given(done, (i, c), fd.outputs(fd.W, fd.b, i, a)[c], TELESCOPED.reason)
    return here, there, *kernel_rule(a)


def descent(loss: str, a: FunctionalAssumptions, rate: Term = alpha) -> tuple[Given, ...]:
    """f_{θ_k}(x) after one step of gradient descent from W_{k-1} and b_{k-1}, and the derived gradient."""
    moved = as_term(fd.W) - rate * as_term(fd.by_W), as_term(fd.b) - rate * as_term(fd.by_b)
    step = Given(f_new, (c,), fd.outputs(*moved, None, a)[c], "a step of gradient descent")
    return step, *slopes(loss, a)


def slopes(loss: str, a: FunctionalAssumptions) -> tuple[Given, ...]:
    """∂L/∂W and, where b is learned, ∂L/∂b."""
    by_weights, by_offset = fd.slopes(loss, a, c, fd.m)
    reason = "the guarded gradient of the loss"
    of_weights = Given(fd.by_W, (c, fd.m), by_weights, reason)
    of_offset = Given(fd.by_b, (c,), by_offset, reason)
    return (of_weights, of_offset) if a.bias == "on" else (of_weights,)


def kernel_rule(a: FunctionalAssumptions) -> tuple[Given, ...]:
    """κ(x_i, x) in features: an inner product, or for softmax attention that over its sum."""
    if a.kernel != "softmax":
        return (KAPPA,)
    total = sum_over(fd.ip, as_term(fd.phi)[fd.ip].T @ as_term(fd.phi_x))
    normalised = KAPPA.value / as_term(NORMALISER)
    return (
        Given(NORMALISER, (), total, "the sum over the keys"),
        Given(fd.kappa, (i,), normalised, "inner products, normalised over the keys"),
    )


def defined(a: FunctionalAssumptions) -> tuple[Tensor, ...]:
    """What is not 0 wherever the kernel has a value."""
    return (NORMALISER,) if a.kernel == "softmax" else ()


def update(rate: Term, bracket: Term, with_bias: bool = True) -> Term:
    """(rate/N) Σ_i bracket κ(x_i, x) + (rate/N) Σ_i bracket: the two heads' contributions as printed."""
    first = rate / size(N) * sum_over(i, bracket * kappa[i])
    return first + rate / size(N) * sum_over(i, bracket) if with_bias else first
