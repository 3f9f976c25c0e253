"""Convex energies of farooq2025 at small n: cvxpy programs, dual certificates, unbounded directions, step
sizes.

E(Z) = sum_j F(u_j) - sum_j w_j u_j with u = M vec(Z), row j of M being vec(a_j v_j') for column a_j of A (n,
n) and row v_j of V (n, d_v). M M' = G = (A'A) o (V V') and M vec(AV) = c = G 1. Dual, for convex F with
conjugate F*: maximise -sum_j F*(w_j - y_j) subject to M'y = 0. With the matching w = F'(c) the point y = 0 is
optimal and its value is sum_j F(c_j) - c_j F'(c_j), the energy at AV: that is the proof that AV is a global
minimum.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import scipy.linalg
import scipy.special

from .program import Array
from .qp import SolverError, run_cvxpy

__all__ = [
    "FUNCTIONS",
    "EnergyCertificate",
    "EnergyProblem",
    "EnergySolution",
    "Function",
    "certify",
    "descend",
    "solve_convex",
    "stable_steps",
    "unbounded_direction",
]

REGULARISERS = ("matching", "printed", "none")


@dataclass(frozen=True)
class Function:
    """F with F', its conjugate F* (infinite outside its domain), its growth along a ray, and its cvxpy form.

    `growth(r)` is lim F(u + t r)/t (t to infinity) elementwise. Not convex: conjugate, growth and atom are
    None.
    """

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    conjugate: Callable[[Array], Array] | None = None
    growth: Callable[[Array], Array] | None = None
    atom: Callable[[cp.Expression], cp.Expression] | None = None
    curvature: float | None = None

    @property
    def convex(self) -> bool:
        return self.atom is not None


def _infinite_off_zero(r: Array) -> Array:
    return np.where(r == 0, 0.0, np.inf)


def _even_power(p: int) -> Function:
    return Function(
        f"u^{p}",
        lambda u: u**p,
        lambda u: p * u ** (p - 1),
        lambda y: (p - 1) * (np.abs(y) / p) ** (p / (p - 1)),
        _infinite_off_zero,
        lambda u: cp.power(u, p),
        2.0 if p == 2 else None,
    )


def _exponential_conjugate(y: Array) -> Array:
    return np.where(y < 0, np.inf, scipy.special.xlogy(np.maximum(y, 0), np.maximum(y, 0)) - y)


def _logcosh_conjugate(y: Array) -> Array:
    inside = np.clip(y, -1, 1)
    found = (scipy.special.xlog1py(1 + inside, inside) + scipy.special.xlog1py(1 - inside, -inside)) / 2
    return np.where(np.abs(y) > 1, np.inf, found)


FUNCTIONS = {
    "linear": Function(
        "u", lambda u: u, np.ones_like, lambda y: np.where(y == 1, 0.0, np.inf), lambda r: r, lambda u: u, 0.0
    ),
    "quadratic": _even_power(2),
    "quartic": _even_power(4),
    "cubic": Function("u^3", lambda u: u**3, lambda u: 3 * u**2),
    "exponential": Function(
        "exp(u)", np.exp, np.exp, _exponential_conjugate, lambda r: np.where(r > 0, np.inf, 0.0), cp.exp
    ),
    "logcosh": Function(
        "log cosh u",
        lambda u: np.logaddexp(u, -u) - np.log(2),
        np.tanh,
        _logcosh_conjugate,
        np.abs,
        lambda u: cp.logistic(2 * u) - u - np.log(2),
        1.0,
    ),
}


@dataclass(frozen=True, eq=False)
class EnergyProblem:
    """The energy of F on A (n, n) and V (n, d_v) with a regulariser: "matching", "printed" (2c) or "none".

    Raises ValueError on bad shapes, non-finite entries or an unknown regulariser.
    """

    A: Array
    V: Array
    F: Function
    regulariser: str = "matching"

    def __post_init__(self) -> None:
        if self.regulariser not in REGULARISERS:
            raise ValueError(f"unknown regulariser {self.regulariser!r}; allowed: {', '.join(REGULARISERS)}")
        if self.A.ndim != 2 or self.V.ndim != 2 or self.A.shape != (len(self.V), len(self.V)):
            raise ValueError(f"A {self.A.shape} and V {self.V.shape}: (n, n) and (n, d_v) are needed")
        if not (np.isfinite(self.A).all() and np.isfinite(self.V).all()):
            raise ValueError("A or V has a NaN or infinite entry")

    @property
    def M(self) -> Array:
        """(n, n d_v), C order of Z."""
        return np.einsum("mj,jc->jmc", self.A, self.V).reshape(len(self.A), -1)

    @property
    def G(self) -> Array:
        return (self.A.T @ self.A) * (self.V @ self.V.T)

    @property
    def c(self) -> Array:
        return self.G.sum(axis=1)

    @property
    def w(self) -> Array:
        c = self.c
        return {"matching": lambda: self.F.slope(c), "printed": lambda: 2 * c, "none": lambda: 0 * c}[
            self.regulariser
        ]()

    def lift(self, Z: Array) -> Array:
        """u (n,)."""
        return ((self.A.T @ Z) * self.V).sum(axis=1)

    def adjoint(self, x: Array) -> Array:
        """A diag(x) V, (n, d_v)."""
        return self.A @ (x[:, None] * self.V)

    def value(self, Z: Array) -> float:
        u = self.lift(Z)
        return float((self.F.value(u) - self.w * u).sum())

    def sizes(self, u: Array, w: Array) -> Array:
        """How large the two terms of each alignment u (n,) with weights w (n,) are, (n,)."""
        return np.abs(self.F.value(u)) + np.abs(w * u)

    def gradient(self, Z: Array) -> Array:
        return self.adjoint(self.F.slope(self.lift(Z)) - self.w)


@dataclass(frozen=True, eq=False)
class EnergySolution:
    """A candidate: Z (n, d_v), multipliers y (n,) of u = M vec(Z), the solver's word, seconds."""

    Z: Array
    y: Array
    status: str
    seconds: float


def solve_convex(
    problem: EnergyProblem, solver: str = "CLARABEL", tolerance: float = 1e-10
) -> EnergySolution:
    """Minimise the energy by cvxpy, for the convex F of `FUNCTIONS`.

    Raises SolverError with status "nonconvex" where F is not convex and "unbounded" (or the solver's word)
    where no point came back; `unbounded_direction` then gives the reason.
    """
    F = problem.F
    if F.atom is None:
        raise SolverError("nonconvex", f"F = {F.name} is not convex; no convex program has these minima")
    n, d_v = problem.V.shape
    Z, u = cp.Variable((n, d_v)), cp.Variable(n)
    tie = u == problem.M @ cp.vec(Z, order="C")
    program = cp.Problem(cp.Minimize(cp.sum(F.atom(u)) - problem.w @ u), [tie])
    status, seconds = run_cvxpy(program, solver, tolerance)
    return EnergySolution(np.asarray(Z.value), np.asarray(tie.dual_value), status, seconds)


@dataclass(frozen=True)
class EnergyCertificate:
    """What a candidate is worth: |grad E|, and the gap between its energy and a lower bound for every Z.

    `lower` is the dual value at the multipliers, put onto M'y = 0 first; `infeasible` is what was left of
    M'y, row by row. The gap is a sum over the alignments of terms >= 0 (Fenchel); `worst` is the largest of
    them, each relative to its own size here and at AV (and to a small part of the mean, where it vanishes);
    `tie` is what is left of y'u, which vanishes where M'y does.
    """

    value: float
    gradient: float
    lower: float
    gap: float
    infeasible: float
    worst: float
    tie: float

    def accepted(self, tolerance: float) -> bool:
        """Global minimum up to `tolerance`: each alignment by its own size, and y'u = 0 up to the size
        of its terms.
        """
        return self.worst <= tolerance and self.infeasible <= tolerance and self.tie <= tolerance


def _relative(left: Array, size: Array) -> Array:
    """What is left of a zero, relative to the size of its terms."""
    return np.divide(left, size, out=np.where(left > 0, np.inf, 0.0), where=size > 0)


def certify(problem: EnergyProblem, Z: Array, y: Array | None = None) -> EnergyCertificate:
    """Is Z a global minimum? By weak duality, with the multipliers y (default 0).

    Reads only the problem and the candidate. Raises ValueError where F has no conjugate here.
    """
    if problem.F.conjugate is None:
        raise ValueError(f"F = {problem.F.name} is not convex: duality gives no lower bound")
    M = problem.M
    y = np.zeros(len(M)) if y is None else y - M @ np.linalg.lstsq(M, y, rcond=1e-12)[0]
    value = problem.value(Z)
    u, conjugate = problem.lift(Z), problem.F.conjugate(problem.w - y)
    lower = float(-conjugate.sum())
    left, terms = np.abs(M.T @ y), np.abs(M.T) @ (np.abs(y) + np.abs(problem.w))
    infeasible = float(_relative(left, terms).max(initial=0.0))
    gaps = problem.F.value(u) - (problem.w - y) * u + conjugate
    sizes = problem.sizes(u, problem.w - y) + problem.sizes(problem.c, problem.w)
    sizes += sizes.mean() / 10**4  # an alignment that vanishes has no size, and is found up to rounding
    worst = float(_relative(gaps, sizes).max()) if np.isfinite(gaps).all() else float("inf")
    gradient = float(np.linalg.norm(problem.gradient(Z)))
    tie = float(_relative(np.abs(y @ u), sizes.sum() + np.abs(y) @ np.abs(u)))
    return EnergyCertificate(value, gradient, lower, value - lower, infeasible, worst, tie)


def unbounded_direction(problem: EnergyProblem) -> tuple[Array, float] | None:
    """(D, rate) with E(Z + t D) falling at least like rate * t, rate < 0, for every Z; None if there is none.

    A linear program in u = M vec(D), |u| <= 1, with the growth of F along rays; the result is checked by
    itself.
    """
    F, M, w = problem.F, problem.M, problem.w
    if F.growth is None:
        raise ValueError(f"F = {F.name} is not convex: use a ray of its own")
    D = cp.Variable(M.shape[1])
    u = M @ D
    limits: list[cp.Constraint] = [u <= 1, u >= -1]
    cost = -w @ u
    if F.name == "exp(u)":
        limits.append(u <= 0)
    elif F.name == "log cosh u":
        cost = cost + cp.norm1(u)
    elif F.name == "u":
        cost = cost + cp.sum(u)
    else:
        return None  # powers grow faster than any line: bounded below
    run_cvxpy(cp.Problem(cp.Minimize(cost), limits), "CLARABEL", 1e-10)
    # what the solver left at rounding level beside the admissible cone is put back onto it
    lifted = M @ np.asarray(D.value)
    lifted[np.abs(lifted) < 1e-8] = 0.0
    if F.name == "exp(u)":
        lifted = np.minimum(lifted, 0.0)
    direction, *_ = np.linalg.lstsq(M, lifted, rcond=1e-12)
    reached = M @ direction
    if np.abs(reached - lifted).max() > 1e-9:
        return None
    growth = F.growth(lifted)
    rate, terms = float((growth - w * lifted).sum()), float((np.abs(growth) + np.abs(w * lifted)).sum())
    return (direction.reshape(problem.V.shape), rate) if rate < -1e-9 * terms else None


def stable_steps(problem: EnergyProblem) -> tuple[float, float]:
    """(all, near): every smaller step is stable from every start, and from starts near AV.

    2 / (B lambda_max(G)) where F'' <= B, else 0; 2 / lambda_max(D^(1/2) G D^(1/2)) with D = diag F''(c) >= 0,
    by central differences of F'. Infinite where the form vanishes, nan for `near` where some F''(c_j) < 0.
    """
    G, c = problem.G, problem.c
    top = float(scipy.linalg.eigvalsh(G)[-1])
    B = problem.F.curvature
    everywhere = 0.0 if B is None else 2 / (B * top) if B * top > 0 else np.inf
    h = 1e-5 * (1 + np.abs(c))
    bend = (problem.F.slope(c + h) - problem.F.slope(c - h)) / (2 * h)
    if bend.min() < -1e-8:
        return everywhere, float("nan")
    root = np.sqrt(np.maximum(bend, 0))
    near = float(scipy.linalg.eigvalsh(root[:, None] * G * root)[-1])
    return everywhere, 2 / near if near > 0 else np.inf


def descend(problem: EnergyProblem, Z: Array, step: float, steps: int) -> EnergySolution:
    """Gradient descent (79); `status` is "diverged" where it left float64, else "finished". y is F'(u)
    - w.
    """
    clock = time.perf_counter()
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            Z = Z - step * problem.gradient(Z)
            if not np.isfinite(Z).all():
                break
        y = problem.F.slope(problem.lift(Z)) - problem.w
    status = "finished" if np.isfinite(Z).all() else "diverged"
    return EnergySolution(Z, y, status, time.perf_counter() - clock)
