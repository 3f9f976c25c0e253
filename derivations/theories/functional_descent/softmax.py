"""Section 3 of Wang, Henao and Carin (2024): the softmax of the latent function, its steps and their
approximations.

A state is a latent function of size α: f_{k-1} = α u at the examples and α v at x, with any u and v. A step
of (3) from it is exact; (4) moves the softmax components themselves. Both are functions of α, and their
difference is compared by powers of α. ``classes`` is "C-1", or "1" for two categories, where nothing carries
a class index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, exp, named, size, sum_over
from derivations.theories.functional_descent import updates as fd
from derivations.theories.functional_descent.updates import CLASSES, Categories, N, i

Vector = Callable[[Index], Term]
c = Index("c", CLASSES)
alpha, kappa = as_term(fd.alpha), as_term(fd.kappa)


def _tensor(name: str, classes: str, rows: bool, latex: str) -> Tensor:
    dims = ((N,) if rows else ()) + ((classes,) if classes != "1" else ())
    where = "%1" if rows else ""
    entry = latex.replace("%c", f"%{len(dims)}" if classes != "1" else "1").replace("%i", where)
    whole = entry.replace("%1", r"\cdot").replace("%2", r"\cdot")
    return Tensor(name, dims, whole, "", entry)


_SYMBOLS = {  # whether there is one for each example; LaTeX with %c for the class, %i for the example
    "code": (True, r"\tilde{y}_{%c,%i}"),
    "u": (True, r"u_{%c}(x_{%i})"),
    "v": (False, r"u_{%c}(x)"),
    "eps": (True, r"\varepsilon_{%c}(x_{%i})"),
    "eps(x)": (False, r"\varepsilon_{%c}(x)"),
}


def over_classes(classes: str, body: Vector, outside: Index = c) -> Term:
    """The sum of a vector over the classes 1, …, C-1, by an index that is not the one ``outside``."""
    other = Index(f"{outside.name}'", CLASSES)
    return body(other) if classes == "1" else sum_over(other, body(other))


def component(latent: Vector, at: Index, classes: str, softmax: str = "reference") -> Term:
    """The softmax component h_c, c = 1, …, C-1, of latent outputs.

    ``reference``: class 0 has the latent output 0. ``symmetric``: all C outputs are free and start equal;
    since codes and probabilities sum to one over all classes, the output of class 0 is minus the sum of the
    others.
    """
    zero = as_term(1) if softmax == "reference" else exp(-over_classes(classes, latent, at))
    return exp(latent(at)) / (zero + over_classes(classes, lambda k: exp(latent(k)), at))


@dataclass(frozen=True)
class Step:
    """One step from a state of size α; every method is a term in α at x, for class ``c``."""

    classes: str = CLASSES
    softmax: str = "reference"
    start: bool = False

    def tensor(self, name: str) -> Tensor:
        """A symbol of the step by name: code, u, v, eps, eps(x)."""
        return _tensor(name, self.classes, *_SYMBOLS[name])

    def _entry(self, name: str) -> Callable[..., Term]:
        tensor = self.tensor(name)

        def entry(*at: Index) -> Term:
            used = at if self.classes != "1" else at[:-1]
            return as_term(tensor)[used] if used else as_term(tensor)

        return entry

    def latent(self, example: Index | None) -> Vector:
        """f_{k-1} = α u(x_i) or α v(x); zero at the start."""
        if self.start:
            return lambda k: as_term(0)
        u = self._entry("u" if example is not None else "v")
        return lambda k: alpha * (u(example, k) if example is not None else u(k))

    def code(self, example: Index, k: Index) -> Term:
        """ỹ_{c,i}."""
        return self._entry("code")(example, k)

    def before(self, example: Index | None, k: Index) -> Term:
        """h_{c,θ_{k-1}} at an example or at x, exactly."""
        return component(self.latent(example), k, self.classes, self.softmax)

    def increment(self, k: Index) -> Term:
        """Δf_{c,θ_k}(x) by (3)."""
        bracket = self.code(i, k) - self.before(i, k)
        return alpha / size(N) * sum_over(i, bracket * kappa[i]) + alpha / size(N) * sum_over(i, bracket)

    def after(self) -> Term:
        """h_{c,θ_k}(x): the softmax of f_{k-1} + Δf_k."""
        exact = component(lambda k: self.latent(None)(k) + self.increment(k), c, self.classes, self.softmax)
        return named(r"h_{c,\theta_k}(x)", exact)

    def taylor(self, jacobian: str) -> Term:
        """h_{k-1} + ∂h/∂f Δf_k with the derivative at f_{k-1}(x): its diagonal, or the whole."""
        own, move = self.before(None, c), named(r"\Delta f_{c,\theta_k}(x)", self.increment(c))
        h = named(r"h_{c,\theta_{k-1}}(x)", own)
        if jacobian == "diagonal":
            return (
                h
                + named(
                    r"\frac{\partial h_{c,\theta_{k-1}}(x)}{\partial f_{c,\theta_{k-1}}(x)}", own * (1 - own)
                )
                * move
            )
        mean = over_classes(self.classes, lambda k: self.before(None, k) * self.increment(k))
        return h + own * (move - mean)

    def approximate(self, rates: str, error: int) -> Term:
        """(4): ĥ_k from ĥ_{k-1} = h_{k-1} + α^error ε, with any ε.

        ``rates``: "free" (α_k^{(c)} = α ρ_c with any ρ, as printed), "start" (the derivative at f = 0),
        "full" (the constant Jacobian J_0 = (1/C)(I - 11ᵀ/C) in place of a rate), "symmetric" (α/C).
        """
        epsilon = self._entry("eps")
        epsilon_x = self._entry("eps(x)")
        near = as_term(0) if self.start else alpha**error * epsilon_x(c)
        h = named(r"h_{c,\theta_{k-1}}(x)", self.before(None, c) + near)

        def move(k: Index) -> Term:
            off = as_term(0) if self.start else alpha**error * epsilon(i, k)
            done = named(
                rf"\sum_{{k'=0}}^{{k-1}}\Delta h_{{{k.name},\theta_{{k'}}}}(x_i)", self.before(i, k) + off
            )
            bracket = self.code(i, k) - done
            return sum_over(i, bracket * kappa[i]) / size(N) + sum_over(i, bracket) / size(N)

        count = Categories((), self.classes)
        if rates == "full":
            return h + alpha / count * (move(c) - over_classes(self.classes, move) / count)
        rate = {
            "free": named(r"\alpha_k^{(c)}", alpha * as_term(rho)[c])
            if self.classes != "1"
            else alpha * as_term(rho_2),
            "start": alpha * (count - 1) / count**2,
            "symmetric": alpha / count,
        }[rates]
        return h + rate * move(c)


rho = Tensor("rho", (CLASSES,), r"\rho", "", r"\rho_{%1}")
rho_2 = Tensor("rho_1", (), r"\rho_1")
