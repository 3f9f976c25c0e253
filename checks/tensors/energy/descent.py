"""At scale: alignments, gradients, gradient descent and stable steps of the energies of farooq2025, with
bounds.

E_R(Z) = sum_j F(u_j) - sum_j w_j u_j, u = L(Z) (`AttentionMap`). The matching regulariser has w = F'(c);
the one printed in (45) and (75) has w = 2c, which matches F(u) = u² only. grad E_R = L*(F'(u) - w), and with
the matching one E_R(Z) - E_R(AV) = sum_j F(u_j) - F(c_j) - F'(c_j)(u_j - c_j), the gap that certifies a
minimum where F is convex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from checks.tensors.core import bounds
from checks.tensors.core.errors import TensorError
from checks.tensors.core.inputs import sampled_rows
from checks.tensors.energy.operators import AttentionMap, Sized, exactly

Function = Callable[[torch.Tensor], torch.Tensor]

REGULARISERS = ("matching", "printed", "none")


@dataclass(frozen=True)
class Potential:
    """F with F' and F'' (elementwise on float tensors), and what is known of it.

    `convex`: F'' >= 0 everywhere. `curvature`: an upper bound of F'' everywhere, None where there is none.
    `roundings`: F' is computed to this many units of its own size. `cancelled`: size of the terms that cancel
    when F' is found by automatic differentiation of `value`.
    """

    name: str
    value: Function
    slope: Function
    bend: Function
    convex: bool
    curvature: float | None = None
    roundings: int = 8
    cancelled: float = 0.0


def _power(p: int) -> Potential:
    return Potential(
        f"u^{p}",
        lambda u: u**p,
        lambda u: p * u ** (p - 1),
        lambda u: p * (p - 1) * u ** max(p - 2, 0),
        p % 2 == 0 or p == 1,
        {1: 0.0, 2: 2.0}.get(p),
    )


def _logcosh(u: torch.Tensor) -> torch.Tensor:
    near = u.clamp(-1, 1)  # where |u| + log(1 + exp(-2|u|)) - log 2 cancels; cosh u = 1 + 2 sinh²(u/2)
    far = u.abs() + torch.log1p(torch.exp(-2 * u.abs())) - math.log(2)
    return torch.where(u.abs() <= 1, torch.log1p(2 * torch.sinh(near / 2) ** 2), far)


POTENTIALS = {
    "linear": _power(1),
    "quadratic": _power(2),
    "cubic": _power(3),
    "quartic": _power(4),
    "exponential": Potential("exp(u)", torch.exp, torch.exp, torch.exp, True),
    "logcosh": Potential(
        "log cosh u", _logcosh, torch.tanh, lambda u: 1 - torch.tanh(u) ** 2, True, 1.0, cancelled=2.0
    ),
}


def potential(which: str | Potential) -> Potential:
    """The potential of this name, or the one given. Raises TensorError for an unknown name."""
    if isinstance(which, Potential):
        return which
    if which not in POTENTIALS:
        raise TensorError(f"unknown F {which!r}; allowed: {', '.join(POTENTIALS)}, or a Potential")
    return POTENTIALS[which]


def coefficients(maps: AttentionMap, F: Potential, regulariser: str) -> torch.Tensor:
    """w (n,) of the regulariser -sum_j w_j u_j. Raises TensorError for an unknown name."""
    if regulariser not in REGULARISERS:
        raise TensorError(f"unknown regulariser {regulariser!r}; allowed: {', '.join(REGULARISERS)}")
    c = maps.alignment
    return {"matching": lambda: F.slope(c), "printed": lambda: 2 * c, "none": lambda: 0 * c}[regulariser]()


def gradient(
    maps: AttentionMap, F: Potential, z: torch.Tensor, regulariser: str = "matching"
) -> torch.Tensor:
    """grad E_R(Z) = A diag(F'(u) - w) V, (n, d_v): one product with Aᵀ, one with A once c is known."""
    return maps.adjoint(F.slope(maps.lift(z)) - coefficients(maps, F, regulariser))


def slope_sized(F: Potential, u: Sized) -> Sized:
    """F'(u) with its error: |F''| over the interval is taken at both ends and the middle, doubled as a
    margin.

    The potentials above have monotone or bounded second derivatives over such short intervals.
    """
    value = u.value.double()
    bend = torch.stack([F.bend(value + s * u.error).abs() for s in (-1, 0, 1)]).amax(0)
    found = F.slope(u.value)
    unit = torch.finfo(u.value.dtype).eps
    return Sized(found, 2 * bend * u.error + F.roundings * unit * (found.double().abs() + u.error))


# ---------------------------------------------------------------- descent


@dataclass(frozen=True)
class Head:
    """One head under an energy, and what a check of it draws with the seed: random states, sampled tokens."""

    maps: AttentionMap
    F: Potential = POTENTIALS["quadratic"]
    seed: int = 0
    samples: int = 32

    @property
    def q(self) -> torch.Tensor:
        return self.maps.q

    @cached_property
    def tokens(self) -> torch.Tensor:
        """Some tokens, (samples,)."""
        return sampled_rows(len(self.maps), self.samples, self.seed).to(self.q.device)

    def state(self, number: int = 0) -> torch.Tensor:
        """A random state (n, d_v), another for each number."""
        generator = torch.Generator().manual_seed(self.seed + number)
        z = torch.randn(self.maps.v.shape, generator=generator, dtype=torch.float64)
        return z.to(self.maps.attention)

    def lifted(self, number: int = 0) -> torch.Tensor:
        """u of a random state, (n,)."""
        what = ("lifted", self.seed + number)
        return self.maps.once(what, lambda: self.maps.lift(self.state(number)))

    def lifted_sized(self, number: int = 0) -> Sized:
        """u of a random state, (n,), with its error."""
        what = ("lifted, with its error", self.seed + number)
        return self.maps.once(what, lambda: self.maps.lift_sized(exactly(self.state(number))))

    def in_float64(self) -> Head:
        """The same in float64."""
        return replace(self, maps=self.maps.in_float64())


def descend(
    maps: AttentionMap, F: Potential, z: torch.Tensor, w: torch.Tensor, lengths: torch.Tensor, steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradient descent (79) with several weights at once: states (n, r, d_v) and their alignments u (n, r).

    z (n, r, d_v) are the starts, w (n, r) the weights of the regularisers, lengths (r,) the step sizes; all
    columns share the passes over the scores. Raises TensorError when a state overflows.
    """
    u = maps.lifts(z) if bool(z.any()) else torch.zeros_like(w)
    for _ in range(steps):
        z = _within_range(z - lengths[:, None] * maps.adjoints(_within_range(F.slope(u) - w)))
        u = maps.lifts(z)
    return z, u


def _within_range(x: torch.Tensor) -> torch.Tensor:
    if not bool(x.isfinite().all()):
        raise TensorError("descent left the range of the dtype")
    return x


def bregman(F: Potential, u: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """F(u) - F(c) - F'(c)(u - c), elementwise, in float64: the terms cancel."""
    u, c = u.double(), c.double()
    return F.value(u) - F.value(c) - F.slope(c) * (u - c)


# ---------------------------------------------------------------- stable steps


@dataclass(frozen=True)
class Eigenvalue:
    """Proved bounds lower <= lambda_max(G) <= upper, and the vector (n,) of norm 1 that the iterations
    ended at.
    """

    lower: float
    upper: float
    vector: torch.Tensor

    def stable(self, curvature: float = 2.0) -> float:
        """Every smaller step is stable: 2 / (B upper); for F = u² (B = 2) this is 1 / upper."""
        return 2 / (curvature * self.upper)

    def unstable(self, curvature: float = 2.0) -> float:
        """Every larger step is unstable for the quadratic of this curvature: 2 / (B lower)."""
        return 2 / (curvature * self.lower)


def largest_eigenvalue(maps: AttentionMap, relative: float = 1e-2, max_steps: int = 60) -> Eigenvalue:
    """lambda_max of G = (AᵀA) ∘ (VVᵀ) by power iterations, enclosed with the products' own errors.

    Lower: the Rayleigh quotient |L*(x)|²/|x|². Upper: |G_ij| <= H_ij = (AᵀA)_ij |v_i||v_j|, and for the
    nonnegative H Collatz and Wielandt give lambda_max(G) <= max_i (H x)_i / x_i at any positive x. Stops when
    both agree to `relative`, or when neither moves any more (the upper bound stays above lambda_max(G) where
    values point in different directions). All but the passes is float64, of values divided by a power of two.
    Raises TensorError where all values are zero, so that G is.
    """
    lengths = torch.linalg.vector_norm(maps.v, dim=-1, dtype=torch.float64)
    if not lengths.any():
        raise TensorError("all values are zero, and lambda_max(G) with them: every step is stable")
    # squares of values may leave the range of the dtype
    unit = math.ldexp(1.0, math.frexp(float(lengths.max()))[1])
    v, lengths = maps.v.double() / unit, lengths / unit
    work = maps.attention.dtype
    x = torch.full_like(lengths, len(maps) ** -0.5)
    positive = lengths.clamp_min(float(lengths.max()) * 1e-6)
    lower, upper = 0.0, math.inf
    for taken in range(max_steps):
        # both iterations in the same passes over the scores
        weighted = torch.cat([x.unsqueeze(-1) * v, (positive * lengths).unsqueeze(-1)], -1)
        images = maps.forward(weighted.to(work))
        quotient = float(images[:, :-1].double().square().sum() / x.square().sum())
        back = maps.backward(images).double()
        x = (back[:, :-1] * v).sum(-1)
        if not x.any():  # values that sum to zero: the start is in the kernel of G, where nothing grows
            x = torch.randn(len(x), generator=torch.Generator().manual_seed(taken), dtype=x.dtype).to(x)
        x = x / torch.linalg.vector_norm(x)
        spread = back[:, -1] * lengths
        above = float((spread / positive).max())
        positive = (spread / spread.max()).clamp_min(1e-6)
        settled = taken > 1 and above > upper * (1 - relative / 4) and quotient < lower * (1 + relative / 4)
        lower, upper = max(lower, quotient), min(upper, above)
        if upper <= lower * (1 + relative) or settled:
            break
    slack = _relative_error(maps)
    # the error of L*(x) is relative to A|x ∘ V|, whose norm is at most upper^½ |x|
    least = max(0.0, math.sqrt(lower) - slack * math.sqrt(upper)) ** 2 * (1 - slack)
    return Eigenvalue(least * unit * unit, upper * (1 + slack) * unit * unit, x)


def _relative_error(maps: AttentionMap) -> float:
    """Relative error of sums of positive terms that went through A and Aᵀ, and of a square of A's image."""
    n, d = maps.q.shape
    forward = bounds.log_error(maps.how, d, n, maps.sizes).max()
    one = torch.ones(1, 1, dtype=torch.float64, device=maps.q.device)
    back = bounds.transpose_bound(maps.how, d, n, n, maps.sizes, one, 1.0).max()
    inner = 4 * bounds.gamma(maps.v.shape[-1] + 8, maps.how.unit)
    return float(math.expm1(2 * float(forward) + 2 * float(back) + inner))
