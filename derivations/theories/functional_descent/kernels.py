"""The kernels that Wang, Henao and Carin (2024) list, on vectors that may be stacked, and the softmax kernel.

A kernel is a function of two vector terms (a key and a query) that returns a scalar term. Parameters are
named as in the paper: σ, γ, c, λ. The degree of the polynomial kernel, printed d like the dimension of the
covariates, is a whole number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product

from derivations.calculus import index as ix
from derivations.calculus.gradients import SymbolicPower
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.normal import is_zero, normal
from derivations.calculus.parse import parse
from derivations.calculus.printing import latex
from derivations.calculus.term import (
    Apply,
    NonConformable,
    Shape,
    Term,
    as_term,
    exp,
    softmax,
    sqrt,
    squared_norm,
)

sigma = Tensor(
    "sigma", (), r"\sigma", positive=True
)  # only σ² enters, so σ > 0 is no restriction beyond σ ≠ 0
gamma = Tensor("gamma", (), r"\gamma")
offset = Tensor("c", (), "c")
beside_classes = Tensor("c_kappa", (), r"c_{\kappa}")  # the same where c is the index of a class
rate = Tensor("lambda", (), r"\lambda")
NOTHING = Tensor("0/0", (), r"\tfrac{0}{0}")
DEGREE = 2

Kernel = Callable[[Term, Term], Term]


class EntrySum(Term):
    """A sum over the entries of two vectors of one shape; ``data`` is "distance", "chi-squared", or "named":
    the chi-squared sum in which 0/0 is the symbol `NOTHING`.
    """

    def shape(self) -> Shape:
        if len({a.shape() for a in self.args}) != 1:
            raise NonConformable("the two vectors have different shapes")
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        sums = []
        for block in product(*(summands(dim) for dim in self.args[0].shape())):
            every = [Index("m", dim).fresh() for dim in block]
            one, two = (a.entry(*every) for a in self.args)
            square = ix.Pow(one - two, Fraction(2))
            body = ix.Pow(square, Fraction(1, 2)) if self.data == "distance" else square / (one + two)
            if self.data == "named" and is_zero(normal(square)) and is_zero(normal(one + two)):
                body = NOTHING.scalar
            sums.append(ix.total(body, *every))
        return sums[0] if len(sums) == 1 else ix.Add(tuple(sums))

    def latex(self) -> str:
        one, two = (a.latex() for a in self.args)
        if self.data == "distance":
            return rf"\left\|{one} - {two}\right\|_1"
        end = self.args[0].shape()[0]
        return (
            rf"\sum_{{a=1}}^{{{end}}} \frac{{\left({one} - {two}\right)_a^2}}{{\left({one} + {two}\right)_a}}"
        )


class Tanh(Term):
    """The hyperbolic tangent of a scalar, as a quotient of exponentials."""

    def shape(self) -> Shape:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        arg = self.args[0].entry(*at)
        return (ix.exp(arg) - ix.exp(-arg)) / (ix.exp(arg) + ix.exp(-arg))

    def latex(self) -> str:
        return rf"\tanh\left({self.args[0].latex()}\right)"


class Custom(Term):
    """A user's own kernel of two vectors; ``data`` is its text in dot = uᵀv, xx = uᵀu and yy = vᵀv."""

    def shape(self) -> Shape:
        return linear(*self.args).shape()

    def entry(self, *at: Index) -> ix.Expr:
        u, v = self.args
        names = {"dot": u.T @ v, "xx": squared_norm(u), "yy": squared_norm(v)}
        return parse(self.data, {name: term.entry() for name, term in names.items()})

    def latex(self) -> str:
        u, v = self.args
        names = {"dot": u.T @ v, "xx": squared_norm(u), "yy": squared_norm(v)}
        return latex(parse(self.data, {n: Tensor(n, (), term.latex()).scalar for n, term in names.items()}))


def one_norm(u: Term, v: Term) -> Term:
    """‖u - v‖₁."""
    return EntrySum((u, v), "distance")


def chi_squared_distance(u: Term, v: Term) -> Term:
    """Σ_a (u_a - v_a)² / (u_a + v_a)."""
    return EntrySum((u, v), "chi-squared")


def tanh(arg: Term) -> Term:
    """The hyperbolic tangent."""
    return Tanh((as_term(arg),))


def linear(u: Term, v: Term) -> Term:
    """uᵀv."""
    return u.T @ v


def rbf(u: Term, v: Term) -> Term:
    """exp(-‖u - v‖² / σ²): no 2 in the denominator."""
    return exp(-(squared_norm(u - v) / as_term(sigma) ** 2))


def laplacian(u: Term, v: Term) -> Term:
    """exp(-‖u - v‖₁ / σ²)."""
    return exp(-(one_norm(u, v) / as_term(sigma) ** 2))


def sigmoid(u: Term, v: Term, shift: Tensor = offset) -> Term:
    """tanh(γ uᵀv + c)."""
    return tanh(as_term(gamma) * (u.T @ v) + as_term(shift))


def polynomial(u: Term, v: Term, degree: int = DEGREE, shift: Tensor = offset) -> Term:
    """(γ uᵀv + c)^degree."""
    return (as_term(gamma) * (u.T @ v) + as_term(shift)) ** degree


def any_polynomial(u: Term, v: Term) -> Term:
    """(γ uᵀv + c)^p for any whole p from 1 on."""
    return SymbolicPower((as_term(gamma) * (u.T @ v) + as_term(offset),), 0)


def cosine(u: Term, v: Term) -> Term:
    """uᵀv / (‖u‖ ‖v‖)."""
    return (u.T @ v) / (sqrt(squared_norm(u)) * sqrt(squared_norm(v)))


def chi_squared(u: Term, v: Term) -> Term:
    """exp(-γ Σ_a (u_a - v_a)² / (u_a + v_a))."""
    return exp(-(as_term(gamma) * chi_squared_distance(u, v)))


def chi_squared_named(u: Term, v: Term) -> Term:
    """The same with the symbol `NOTHING` for the terms that are 0/0."""
    return exp(-(as_term(gamma) * EntrySum((u, v), "named")))


def exponential(u: Term, v: Term) -> Term:
    """exp(λ uᵀv)."""
    return exp(as_term(rate) * (u.T @ v))


def of_inner_product(u: Term, v: Term) -> Term:
    """g(uᵀv) for an unknown function g."""
    return Apply((u.T @ v,), ("g", "g", 0))


def of_distance(u: Term, v: Term) -> Term:
    """g(‖u - v‖²) for an unknown function g."""
    return Apply((squared_norm(u - v),), ("g", "g", 0))


def of_one_norm(u: Term, v: Term) -> Term:
    """g(‖u - v‖₁) for an unknown function g."""
    return Apply((one_norm(u, v),), ("g", "g", 0))


KERNELS: dict[str, Kernel] = {
    "linear": linear,
    "rbf": rbf,
    "laplacian": laplacian,
    "sigmoid": partial(sigmoid, shift=beside_classes),
    "polynomial": partial(polynomial, shift=beside_classes),
    "cosine": cosine,
    "chi_squared": chi_squared,
    "exponential": exponential,
}
LISTED = ("linear", "rbf", "laplacian", "sigmoid", "polynomial", "cosine", "chi_squared")  # Appendix A
FAMILIES: dict[str, Kernel] = {
    "a function of the inner product": of_inner_product,
    "a function of the distance": of_distance,
    "a function of the 1-norm distance": of_one_norm,
}


FEATURES_WHEN = {
    "polynomial": "γ ≥ 0 and c_κ ≥ 0",
    "exponential": "λ ≥ 0",
    "cosine": "x ≠ 0",
    "chi_squared": "γ ≥ 0 and positive entries of x",
}
"""When the kernels that are not always inner products of features are."""


def of_features(name: str) -> bool:
    """Whether a kernel of the assumptions may be an inner product of features: softmax is not symmetric, and
    tanh(γ xᵀx' + c) not positive semidefinite for γ ≠ 0 (Appendix A, on the sigmoid kernel).
    """
    return name not in ("softmax", "sigmoid")


def visibly_symmetric(name: str) -> bool:
    """Whether a kernel of the assumptions has the same normal form with key and query exchanged."""
    if name in ("features", "softmax"):
        return name == "features"
    one, two = (as_term(Tensor(f"x_{k}", ("d",), f"x_{k}")) for k in (1, 2))
    kernel: Kernel = KERNELS.get(name, lambda u, v: Custom((u, v), name))
    return is_zero(normal(kernel(one, two).entry() - kernel(two, one).entry()))


def attention_weights(name: str, keys: Callable[[Index], Term], query: Term, index: Index) -> dict[str, Term]:
    """The weight of key ``index`` for a query, for the kernel of the assumptions; several where it is left
    open.

    ``features`` stands for any kernel of the list's three families, ``softmax`` for exponentials normalised
    over the keys; a name of the list, or a text in dot, xx, yy, for itself.
    """
    if name == "features":
        return {family: kernel(keys(index), query) for family, kernel in FAMILIES.items()}
    if name == "softmax":
        return {name: softmax(index, as_term(rate) * (keys(index).T @ query))}
    if name in KERNELS:
        return {name: KERNELS[name](keys(index), query)}
    return {name: Custom((keys(index), query), name)}
