"""Explicit features of the paper's Mercer kernels on [-1, 1]^d, with proved errors: φ(x)ᵀφ(x') is κ(x, x') up
to ``slack``.

Linear, polynomial and cosine kernels have finitely many features. The exponential and RBF kernels have Taylor
features x^n √(λ^|n|/n!) up to a degree whose remainder is below rounding. The Laplacian and chi-squared
kernels are products over coordinates; on covariates from a lattice each factor is a small matrix, whose
Cholesky factor has the features as rows. The sigmoid kernel has none: it is not positive semidefinite.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import torch

from checks.tensors.core.bounds import gamma, unit_roundoff
from checks.tensors.core.errors import TensorError
from checks.tensors.functional_descent.kernels import DEGREE, Kernel

UNIT = unit_roundoff("float64")
EXP = 4 * UNIT  # relative error of exp: 2 ulp
LATTICE = 9  # values a coordinate


@dataclass(frozen=True)
class Features:
    """``phi`` maps covariates (N, d) to features (N, p) in float64.

    ``size`` bounds Σ_m |φ_m(x) φ_m(x')| and |κ| on the domain; ``slack`` the difference of κ and the inner
    product of the computed features; ``lowest`` is a lower bound of κ where softmax divides by its sum.
    ``lattice`` holds the values of a coordinate, where there is a lattice.
    """

    phi: Callable[[torch.Tensor], torch.Tensor]
    width: int
    size: float
    slack: float
    lowest: float = 0.0
    lattice: torch.Tensor | None = None

    def covariates(self, n: int, d: int, generator: torch.Generator) -> torch.Tensor:
        """Random covariates (n, d) of the domain: uniform on [-1, 1]^d, or on the lattice."""
        if self.lattice is None:
            return 2 * torch.rand(n, d, generator=generator, dtype=torch.float64) - 1
        return self.lattice[torch.randint(len(self.lattice), (n, d), generator=generator)]


def features(kernel: Kernel, d: int) -> Features:
    """Features of a kernel for d covariates; of softmax those of its exponentials. Raises TensorError
    for the sigmoid, and where a parameter takes a kernel or its series out of the range of float64.
    """
    try:
        return _features(kernel, d)
    except (ArithmeticError, torch.linalg.LinAlgError):  # type: ignore[attr-defined]
        values = ", ".join(f"{name} = {float(p.detach())}" for name, p in kernel.named_parameters())
        raise TensorError(f"the {kernel.name} kernel has no features in float64 for {values}") from None


def _features(kernel: Kernel, d: int) -> Features:
    values = {name: float(p.detach()) for name, p in kernel.named_parameters()}
    match kernel.name:
        case "linear":
            return Features(lambda x: x, d, d, 0.0)
        case "cosine":
            return Features(lambda x: x / x.norm(dim=-1, keepdim=True), d, 1.0, 3 * gamma(d + 4, UNIT))
        case "polynomial":
            return _polynomial(values["gamma"], values["c"], d)
        case "exponential" | "softmax":
            return _taylor(values["rate"], d)
        case "rbf":
            return _gaussian(values["sigma"] ** 2 * (2 if kernel.two_sigma else 1), d)
        case "laplacian" | "chi_squared":
            return _lattice(kernel, d)
    raise TensorError(f"the {kernel.name} kernel has no features: it is not positive semidefinite")


def _polynomial(slope: float, offset: float, d: int) -> Features:
    """(γ xᵀy + c)²: c, √(2γc) x, γ x xᵀ."""
    if slope < 0 or offset < 0:
        raise TensorError("the polynomial kernel has features for γ and c of at least 0 only")
    assert DEGREE == 2, "the features are those of the square"

    def phi(x: torch.Tensor) -> torch.Tensor:
        squares = (x[:, :, None] * x[:, None, :]).flatten(1)
        return torch.cat(
            [x.new_full((len(x), 1), offset), math.sqrt(2 * slope * offset) * x, slope * squares], 1
        )

    size = (slope * d + offset) ** 2
    return Features(phi, 1 + d + d * d, size, size * 3 * gamma(8, UNIT))


def _monomials(rate: float, d: int, degree: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Exponents (p, d) of total degree up to ``degree``, and √(λ^|n|/n!) (p,)."""
    powers = [n for n in product(range(degree + 1), repeat=d) if sum(n) <= degree]
    factors = [math.sqrt(rate ** sum(n) / math.prod(math.factorial(k) for k in n)) for n in powers]
    return torch.tensor(powers), torch.tensor(factors, dtype=torch.float64)


def _taylor_degree(largest: float) -> int:
    """The least degree whose remainder |s|^(T+1)/(T+1)!, |s| <= ``largest``, is below a sixteenth of a
    rounding.
    """
    degree = 1
    while largest ** (degree + 1) / math.factorial(degree + 1) > UNIT / 16:
        degree += 1
    return degree


def _taylor(rate: float, d: int) -> Features:
    """exp(λ xᵀy), |xᵀy| <= d; the remainder is at most |s|^(T+1)/(T+1)! exp|s| (Taylor's theorem)."""
    if rate < 0:
        raise TensorError("the exponential kernel has features for λ of at least 0 only")
    degree = _taylor_degree(rate * d)
    exponents, factors = _monomials(rate, d, degree)

    def phi(x: torch.Tensor) -> torch.Tensor:
        table = torch.cumprod(
            torch.cat([torch.ones_like(x)[..., None], x[..., None].expand(*x.shape, degree)], -1), -1
        )
        value = factors.to(x.device)
        for a in range(d):
            value = value * table[:, a, exponents[:, a]]
        return value

    size = math.exp(rate * d)
    slack = size * (UNIT / 16 + 3 * gamma(degree + d + 8, UNIT))
    return Features(phi, len(factors), size, slack, lowest=math.exp(-rate * d))


def _gaussian(width: float, d: int) -> Features:
    """exp(-‖x-y‖²/width) = exp(-‖x‖²/width) exp(2xᵀy/width) exp(-‖y‖²/width); bounded by 1."""
    inner = _taylor(2 / width, d)

    def phi(x: torch.Tensor) -> torch.Tensor:
        return torch.exp(-x.square().sum(-1, keepdim=True) / width) * inner.phi(x)

    # exp(-(‖x‖² + ‖y‖²)/width) times the size of the exponential features is at most 1
    degree = _taylor_degree(2 * d / width)
    outer = 2 * (gamma(d + 3, UNIT) * d / width + EXP)
    return Features(phi, inner.width, 1.0, UNIT / 16 + 3 * gamma(degree + d + 9, UNIT) + 2 * outer)


def _lattice(kernel: Kernel, d: int) -> Features:
    """Products over coordinates: rows of the Cholesky factor L of the kernel on the lattice's values.

    Cholesky's backward error is entrywise at most gamma(m+1) (|L||L|ᵀ) <= gamma(m+1), as the diagonal is 1
    (Higham, Accuracy and Stability, Theorem 10.3); the entries of the matrix have a few roundings of their
    own.
    """
    low = 0.1 if kernel.name == "chi_squared" else -1.0  # chi-squared needs positive covariates
    values = torch.linspace(low, 1.0, LATTICE, dtype=torch.float64)
    own = copy.deepcopy(kernel).cpu()  # the matrix is small; the features follow their covariates' device
    with torch.no_grad():
        factor = torch.linalg.cholesky(own(values[:, None], values[:, None]))

    def phi(x: torch.Tensor) -> torch.Tensor:
        steps, rows = values.to(x.device), factor.to(x.device)
        place = torch.searchsorted(steps, x.contiguous())
        if not torch.equal(steps[place.clamp(max=LATTICE - 1)], x):
            raise TensorError(f"covariates off the lattice of {LATTICE} values a coordinate")
        value = x.new_ones(len(x), 1)
        for a in range(d):
            value = (value[:, :, None] * rows[place[:, a]][:, None, :]).flatten(1)
        return value

    each = 2 * gamma(LATTICE + 2, UNIT) + gamma(8, UNIT) + EXP
    return Features(phi, LATTICE**d, 1.0, 2 * d * (each + UNIT), lattice=values)
