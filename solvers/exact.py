"""Exact answers for small quadratic programs: optimal points, unbounded rays, infeasibility, in rationals.

A float solution only suggests which constraints are active. The optimality system of that guess is solved in
rationals and every sign is checked exactly by `solvers.certificates`; where no guess passes, the answer is
`NoExactCertificate` with the reason, never an approximation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np

from .certificates import Certificate, certify
from .definiteness import is_psd, negative_direction
from .program import Array, QuadraticProgram
from .qp import Solution, SolverError, solve

__all__ = [
    "ExactSolution",
    "Infeasibility",
    "NoExactCertificate",
    "UnboundedRay",
    "infeasibility",
    "is_psd",
    "nullspace",
    "solve_exact",
    "solve_rational",
    "unbounded_ray",
]

# Small enough that enumerating every subset of the inequalities stays within about a second.
ENUMERATION_ROWS = 10
# Roundings tried for coordinates that a singular system leaves free: 0, simple and then finer rationals.
FREE_DENOMINATORS = (0, 8, 10**4, 10**9)


class NoExactCertificate(ArithmeticError):
    """No exact certificate was found; the message says what was tried and what failed."""


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """An exactly optimal triple in Fractions: x (n,), y (m,), z (k,), the active rows, and the proof."""

    x: Array
    y: Array
    z: Array
    active: tuple[int, ...]
    certificate: Certificate


def _fractions(entries: Sequence[flint.fmpq]) -> Array:
    out = np.empty(len(entries), dtype=object)
    out[:] = [Fraction(int(v.p), int(v.q)) for v in entries]
    return out


def _reduced(matrix: Array) -> tuple[list[list[flint.fmpq]], list[int]]:
    """Row-reduced echelon form (nonzero rows) of a Fraction matrix, and its pivot columns."""
    rows, columns = matrix.shape
    entries = [flint.fmpq(v.numerator, v.denominator) for v in matrix.flat]
    echelon, rank = flint.fmpq_mat(rows, columns, entries).rref()
    table = echelon.tolist()[:rank]
    return table, [next(j for j, v in enumerate(row) if v != 0) for row in table]


def solve_rational(matrix: Array, right: Array, free: Array | None = None) -> Array | None:
    """One exact solution u (c,) of matrix (r, c) u = right (r,), or None if there is none.

    Coordinates that the system leaves free take the value in `free` (c,), by default 0.
    """
    columns = matrix.shape[1]
    table, pivots = _reduced(np.column_stack([matrix, right]))
    if columns in pivots:
        return None
    u = np.array([Fraction(0)] * columns, dtype=object) if free is None else free.copy()
    determined = set(pivots)
    loose = [j for j in range(columns) if j not in determined and u[j] != 0]
    values = {j: flint.fmpq(u[j].numerator, u[j].denominator) for j in loose}
    for row, pivot in zip(table, pivots, strict=True):
        solved = row[columns] - sum((row[j] * v for j, v in values.items()), flint.fmpq(0))
        u[pivot] = Fraction(int(solved.p), int(solved.q))
    return u


def nullspace(matrix: Array) -> Array:
    """An exact basis of {d: matrix d = 0} as the columns of an (n, p) array of Fractions."""
    n = matrix.shape[1]
    table, pivots = _reduced(matrix) if matrix.shape[0] else ([], [])
    free = [j for j in range(n) if j not in set(pivots)]
    basis = np.array([[Fraction(0)] * len(free) for _ in range(n)], dtype=object).reshape(n, len(free))
    for column, j in enumerate(free):
        basis[j, column] = Fraction(1)
        basis[pivots, column] = _fractions([-row[j] for row in table])
    return basis


def _round(values: Array, denominator: int) -> Array:
    """The entries as Fractions with at most this denominator; all 0 for denominator 0."""
    out = np.array([Fraction(0)] * len(values), dtype=object)
    if denominator:
        out[:] = [Fraction(float(v)).limit_denominator(denominator) for v in values]
    return out


def _optimality_system(qp: QuadraticProgram, active: list[int]) -> tuple[Array, Array]:
    """Stationarity, active rows as equalities, and equalities, in the unknowns (x, y_active, z)."""
    G, n, s, k = qp.G[active], qp.q.size, len(active), qp.b.size
    system = np.array([[Fraction(0)] * (n + s + k) for _ in range(n + s + k)], dtype=object)
    system[:n, :n], system[:n, n : n + s], system[:n, n + s :] = qp.P, G.T, qp.A.T
    system[n : n + s, :n], system[n + s :, :n] = G, qp.A
    return system, np.concatenate([-qp.q, qp.h[active], qp.b])


def _try_active(qp: QuadraticProgram, active: list[int], hint: Solution | None) -> ExactSolution | str:
    """The exact solution with these rows active, or why there is none."""
    n, s = qp.q.size, len(active)
    system, right = _optimality_system(qp, active)
    reason = "the optimality system is inconsistent"
    guess = None if hint is None else np.concatenate([hint.x, hint.y[active], hint.z])
    for denominator in FREE_DENOMINATORS if guess is not None else (0,):
        free = None if guess is None else _round(guess, denominator)
        u = solve_rational(system, right, free)
        if u is None:
            return reason
        x, z = u[:n], u[n + s :]
        y = np.array([Fraction(0)] * qp.h.size, dtype=object)
        y[active] = u[n : n + s]
        slack = qp.h - qp.G @ x
        if (y < 0).any():
            reason = f"multiplier of row {int(np.argmin(y))} is negative"
        elif (slack < 0).any():
            reason = f"row {int(np.argmin(slack))} is violated"
        else:
            certificate = certify(qp, x, y, z)
            if certificate.accepts():
                return ExactSolution(x, y, z, tuple(active), certificate)
            return "the quadratic form is not positive semidefinite"
    return reason


def _guesses(qp: QuadraticProgram, hint: Solution | None) -> Iterator[list[int]]:
    """Active sets worth trying, likeliest first, without repeats."""
    seen: set[tuple[int, ...]] = set()
    candidates: list[Sequence[int]] = []
    if hint is not None:
        data = qp.as_float()
        slack = data.h - data.G @ hint.x
        candidates.append(np.flatnonzero(hint.y > slack).tolist())
        # Degenerate rows (slack and multiplier both zero) fall on either side; a few thresholds cover both.
        slack_size, dual_size = 1 + np.abs(slack).max(initial=0), 1 + np.abs(hint.y).max(initial=0)
        for level in (1e-7, 1e-5, 1e-3):
            candidates.append(np.flatnonzero(slack < level * slack_size).tolist())
            candidates.append(np.flatnonzero(hint.y > level * dual_size).tolist())
    rows = range(qp.h.size)
    everything: Iterator[Sequence[int]] = iter(())
    if len(rows) <= ENUMERATION_ROWS:
        everything = itertools.chain.from_iterable(
            itertools.combinations(rows, s) for s in range(len(rows) + 1)
        )
    for candidate in itertools.chain(candidates, everything):
        if tuple(candidate) not in seen:
            seen.add(tuple(candidate))
            yield list(candidate)


def solve_exact(qp: QuadraticProgram, hint: Solution | None = None) -> ExactSolution:
    """An exactly optimal point of a small convex program, with its certificate in Fractions.

    `hint` is any float solution of the program; without one, Clarabel is asked. A singular optimality system
    (free directions of x, linearly dependent active rows) is solved with its free coordinates at 0, then near
    the hint, whose interior-point centre satisfies the strict signs. With at most ENUMERATION_ROWS
    inequalities every active set is tried. Float data are taken as the rationals they store. Raises
    `NoExactCertificate` with the reason if nothing passes, and `SolverError` never: a failed float solve only
    removes the hint.
    """
    exact = qp.as_exact()
    trouble = ""
    if hint is None:
        try:
            hint = solve(exact)
        except SolverError as error:
            trouble = f"; the float solver said {error.status}"
    if hint is None and exact.h.size > ENUMERATION_ROWS:
        raise NoExactCertificate(f"no float solution to guess active constraints from{trouble}")
    tried, reason = 0, "no active set was tried"
    for active in _guesses(exact, hint):
        outcome = _try_active(exact, active, hint)
        if isinstance(outcome, ExactSolution):
            return outcome
        tried += 1
        # The likeliest guess gives the most telling reason; a nonconvex form dooms every guess.
        reason = outcome if tried == 1 else reason
        if "semidefinite" in outcome:
            raise NoExactCertificate(outcome)
    raise NoExactCertificate(f"none of {tried} active sets gives an optimal point ({reason}){trouble}")


def _require_exact(*vectors: Array) -> None:
    if not all(isinstance(v, int | Fraction) for vector in vectors for v in np.asarray(vector, dtype=object)):
        raise ValueError("a certificate holds Fractions: floats prove nothing")


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Farkas multipliers in Fractions, y (m,) >= 0 and z (k,): G'y + A'z = 0 although h'y + b'z < 0."""

    y: Array
    z: Array

    def proves_infeasible(self, qp: QuadraticProgram) -> bool:
        """Check exactly that no x satisfies the constraints of `qp`. Raises ValueError for multipliers
        that are floats.
        """
        exact = qp.as_exact()
        _require_exact(self.y, self.z)
        balanced = not np.any(exact.G.T @ self.y + exact.A.T @ self.z != 0)
        return bool(balanced and (self.y >= 0).all() and exact.h @ self.y + exact.b @ self.z < 0)


def infeasibility(qp: QuadraticProgram) -> Infeasibility | None:
    """Exact proof that the constraints contradict each other, or None if they are proved consistent.

    Raises `NoExactCertificate` if the linear program that decides it could not be solved exactly.
    """
    exact = qp.as_exact()
    m, k = exact.h.size, exact.b.size
    cost = np.concatenate([exact.h, exact.b])
    if m + k == 0:
        return None
    sign = np.concatenate([-np.eye(m, m + k, dtype=int), -cost[None, :]])
    program = QuadraticProgram(
        P=np.zeros((m + k, m + k), dtype=int).astype(object),
        q=cost,
        G=sign.astype(object),
        h=np.array([0] * m + [1], dtype=object),
        A=np.concatenate([exact.G.T, exact.A.T], axis=1),
        b=np.array([0] * exact.q.size, dtype=object),
    )
    ray = solve_exact(program).x
    found = Infeasibility(ray[:m], ray[m:])
    return found if found.proves_infeasible(exact) else None


@dataclass(frozen=True, eq=False)
class UnboundedRay:
    """A feasible point and a direction (n,), in Fractions, along which the objective falls without bound."""

    point: Array
    direction: Array

    def proves_unbounded(self, qp: QuadraticProgram) -> bool:
        """Check exactly: the ray stays feasible, and the objective along it has no lower bound.

        Raises ValueError for a point or a direction in floats.
        """
        exact = qp.as_exact()
        _require_exact(self.point, self.direction)
        x, d = self.point, self.direction
        feasible = (exact.G @ x <= exact.h).all() and not np.any(exact.A @ x != exact.b)
        recedes = (exact.G @ d <= 0).all() and not np.any(exact.A @ d != 0)
        curvature, slope = d @ exact.P @ d, (exact.P @ x + exact.q) @ d
        return bool(feasible and recedes and (curvature < 0 or (curvature == 0 and slope < 0)))


def _feasible_point(qp: QuadraticProgram) -> Array:
    """The feasible point nearest to the origin, exactly; NoExactCertificate if none is found."""
    n = qp.q.size
    nearest = QuadraticProgram(
        P=np.eye(n, dtype=int).astype(object),
        q=np.array([0] * n, dtype=object),
        G=qp.G,
        h=qp.h,
        A=qp.A,
        b=qp.b,
    )
    return solve_exact(nearest).x


def _small_directions(n: int) -> Iterator[Array]:
    """Directions with entries -1, 0, 1: all of them for n <= 6, otherwise those with at most two nonzeros."""
    if n <= 6:
        for signs in itertools.product((-1, 0, 1), repeat=n):
            yield np.array([Fraction(s) for s in signs], dtype=object)
        return
    for i, j in itertools.combinations_with_replacement(range(n), 2):
        for a, c in itertools.product((-1, 1), repeat=2):
            d = np.array([Fraction(0)] * n, dtype=object)
            d[i], d[j] = Fraction(a), Fraction(c)
            yield d


def unbounded_ray(qp: QuadraticProgram) -> UnboundedRay | None:
    """An exact ray that proves the program unbounded below, or None if it is proved bounded below.

    The objective restricted to the equality constraints is either positive semidefinite, and then a linear
    program over recession directions decides; or it is not, and then a direction of negative curvature inside
    the inequality cone is sought among its exact witness and small integer directions (deciding that in
    general is NP-hard). Raises `NoExactCertificate` when undecided, or when no feasible point is found.
    """
    exact = qp.as_exact()
    point, basis = _feasible_point(exact), nullspace(exact.A)
    if basis.shape[1] == 0:
        return None
    curvature, cone = basis.T @ exact.P @ basis, exact.G @ basis
    witness = negative_direction(curvature)
    if witness is None:
        direction = _steepest_flat_direction(curvature, basis.T @ (exact.P @ point + exact.q), cone)
        ray = UnboundedRay(point, basis @ direction)
        return ray if ray.proves_unbounded(exact) else None
    # Small integers first: they make the counterexample a reader can check by hand.
    for t in itertools.chain(_small_directions(basis.shape[1]), (witness, -witness)):
        ray = UnboundedRay(point, basis @ t)
        if (cone @ t <= 0).all() and ray.proves_unbounded(exact):
            return ray
    raise NoExactCertificate("the form is indefinite, but the inequalities cut off every direction tried")


def _steepest_flat_direction(curvature: Array, slope: Array, cone: Array) -> Array:
    """Exactly optimal t (p,) of: minimise slope't over curvature t = 0, cone t <= 0, |t_i| <= 1."""
    p, m = slope.size, cone.shape[0]
    box = np.concatenate([np.eye(p, dtype=int), -np.eye(p, dtype=int)]).astype(object)
    program = QuadraticProgram(
        P=np.zeros((p, p), dtype=int).astype(object),
        q=slope,
        G=np.concatenate([cone, box]),
        h=np.array([0] * m + [1] * (2 * p), dtype=object),
        A=curvature,
        b=np.array([0] * p, dtype=object),
    )
    return solve_exact(program).x
