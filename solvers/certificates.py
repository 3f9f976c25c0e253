"""The checker: does (x, y, z) prove that x minimises a convex quadratic program?

It shares no code with the solvers and trusts nothing they say. It reads only the program's data, in the
arithmetic of the data: with Fractions every residual is exact, and a valid certificate has all of them zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from .definiteness import negative_direction
from .program import Array, QuadraticProgram

LENT = 10**6
"""Large terms that cancel lend a residual beside them one part in so many of their size: their rounding."""


@dataclass(frozen=True)
class Residual:
    """A violation, and the same divided by the size of the terms that should have cancelled (its scale)."""

    absolute: Any
    relative: Any

    @staticmethod
    def of(violation: Array, scale: Array) -> Residual:
        """The largest violation (m,) >= 0 and the largest ratio violation / scale; 0 / 0 counts as 0."""
        violation, scale = np.atleast_1d(violation), np.atleast_1d(scale)
        if violation.size == 0:
            return Residual(0, 0)
        ratios = [ratio(v, s) for v, s in zip(violation.flat, scale.flat, strict=True)]
        return Residual(_largest(violation.flat), _largest(ratios))


def ratio(violation: Any, scale: Any) -> Any:
    """violation / scale, 0 where the violation is 0 and infinite where only the scale is."""
    if violation == 0:
        return violation
    return violation / scale if scale != 0 else math.inf


def _largest(values: Any) -> Any:
    """The maximum, with NaN winning: a NaN must never look like a small residual."""
    entries = list(values)
    return next((v for v in entries if v != v), None) or max(entries)


def _negative_part(values: Array) -> Array:
    return np.maximum(-values, 0)


def _variable_scale(qp: QuadraticProgram, x: Array, y: Array, z: Array) -> Array:
    """The size (n,) against which an error in each variable counts: its own, and what the constraints tie it
    to.

    It is |x_j| or, if larger, the smallest sum of absolute terms among the constraints that tie the variable
    to data or to other variables: without that, a slack of -1e-17 where all slacks are 0 would be a relative
    error of 1. Of an inequality that is far from tight the right side does not count: it may be anything. Of
    a variable with curvature that no other constraint ties it is also the value at which its curvature would
    balance its stationarity row. Variables that cancel in a row which ties them lend each other their size:
    there feasibility is seen up to a part of it, and stationarity (`LENT`) up to its rounding.
    """
    balance = (
        np.abs(qp.P) @ np.abs(x) + np.abs(qp.q) + np.abs(qp.G.T) @ np.abs(y) + np.abs(qp.A.T) @ np.abs(z)
    )
    scale = np.abs(x)
    rows = np.abs(np.concatenate([qp.G, qp.A]))
    right = np.abs(np.concatenate([qp.h, qp.b]))
    terms = rows @ np.abs(x) + right
    tying = ((rows != 0).sum(axis=1) > 1) | (right != 0)
    far = np.concatenate([2 * (qp.h - qp.G @ x) > terms[: qp.h.size], np.zeros(qp.b.size, dtype=bool)])
    terms = np.where(far, terms - right, terms)
    for j in range(scale.size):
        own = np.flatnonzero((rows[:, j] != 0) & tying)
        if own.size:
            scale[j] = max(scale[j], (terms[own] / rows[own, j]).min())
        if qp.P[j, j] > 0 and far[own].all():
            scale[j] = max(scale[j], balance[j] / qp.P[j, j])
    return scale


def _multiplier_scale(B: Array, y: Array, rows: Array, anchored: Array) -> Array:
    """The size (m,) against which an error in each multiplier counts: its own, and what it balances.

    It is |y_i| or, if larger, the smallest multiplier that would balance a stationarity row (of terms
    ``rows``) which data or curvature anchor. Without that, rounding would count in full in a row of vanishing
    multipliers alone, such as that of a slack off its bound.
    """
    scale = np.abs(y)
    for i in range(scale.size):
        own = np.flatnonzero((B[i] != 0) & (anchored != 0))
        if own.size:
            scale[i] = max(scale[i], (rows[own] / np.abs(B[i][own])).min())
    return scale


@dataclass(frozen=True)
class Certificate:
    """Residuals of the optimality conditions of a quadratic program at (x, y, z).

    Each `Residual` is relative to its own natural scale, so that it reads as a backward error:

    * `inequality`, `equality`: violation of a row over |G_i|.X + |h_i|, X being the size of x, variable by
      variable (`_variable_scale`);
    * `dual_sign`: how far removing the negative multipliers would move a stationarity row, over that row's
      scale;
    * `stationarity`: |Px + q + G'y + A'z| over |P|X + |q| + |G'|Y + |A'|Z, row by row, Y and Z being the
      sizes of the multipliers (`_multiplier_scale`);
    * `complementarity`: y_i (h - Gx)_i, the slack over |G_i|.X + |h_i|, the multiplier over the stationarity
      rows it moves;
    * `gap`: |primal - dual|, over the size of the terms of both without the constant r;
    * `convexity`: minus the lowest eigenvalue of P with its diagonal scaled to ones.

    `dual_value` is -1/2 x'Px + r - h'y - b'z, the Lagrangian's minimum over x when stationarity holds. Where
    the optimal value is zero in every term it has no scale, and only exact zeros are accepted.
    """

    inequality: Residual
    equality: Residual
    dual_sign: Residual
    stationarity: Residual
    complementarity: Residual
    gap: Residual
    convexity: Residual
    primal_value: Any
    dual_value: Any
    exact: bool

    def residuals(self) -> dict[str, Residual]:
        """The residuals by name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Residual)}

    @property
    def worst(self) -> Any:
        """The largest relative residual; NaN if any is NaN."""
        return _largest(residual.relative for residual in self.residuals().values())

    @property
    def relative_gap(self) -> Any:
        """The gap over max(|primal|, |dual|): stricter than `gap.relative` where large terms cancel."""
        return ratio(self.gap.absolute, max(abs(self.primal_value), abs(self.dual_value)))

    def accepts(self, tolerance: Any = 0) -> bool:
        """True if every relative residual is at most the tolerance; 0 is right for exact data."""
        return bool(self.worst <= tolerance)


def _vector(name: str, values: Any, size: int, exact: bool) -> Array:
    vector = np.asarray(values, dtype=object) if exact else np.asarray(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f"{name} has shape {vector.shape}, expected {(size,)}")
    if exact and not all(isinstance(v, int | Fraction) for v in vector):
        raise ValueError(f"{name} must hold Fractions: the program is exact, a float certifies nothing here")
    return vector


def convexity(P: Array) -> Residual:
    """Zero if P is positive semidefinite, else how far it is from that, each variable measured by its own
    curvature.

    Exact data are decided exactly: any negative direction counts in full. Of floats it is the most negative
    eigenvalue of P with its diagonal scaled to ones, so that no large curvature hides a negative one.
    """
    if P.dtype == object:
        w = negative_direction(P)
        return Residual(0, 0) if w is None else Residual(-(w @ P @ w) / (w @ w), 1)
    own = np.diag(P)
    flat = own == 0
    if (own < 0).any() or P[flat].any():
        return Residual(float(max(-own.min(), np.abs(P[flat]).max(initial=0.0))), 1.0)
    roots = np.sqrt(own[~flat])
    if not roots.size or np.array_equal(P, np.diag(own)):
        return Residual(0.0, 0.0)
    scaled = P[np.ix_(~flat, ~flat)] / roots[:, None] / roots
    if not np.isfinite(scaled).all():
        return Residual(math.inf, math.inf)
    lowest = max(0.0, -float(np.linalg.eigvalsh(scaled)[0]))
    return Residual(lowest * float(own.max()), lowest)


def certify(qp: QuadraticProgram, x: Array, y: Array, z: Array) -> Certificate:
    """Check x (n,), y (m,) and z (k,) as a primal-dual optimal triple of `qp`.

    Float vectors for a float program; Fractions (or ints) for an exact one. A NaN anywhere is a rejection,
    not an error. Raises ValueError on a wrong shape, or on float vectors for exact data. Cost: a few products
    with the data, plus one O(n^3) test of P.
    """
    x = _vector("x", x, qp.q.size, qp.exact)
    y = _vector("y", y, qp.h.size, qp.exact)
    z = _vector("z", z, qp.b.size, qp.exact)
    P, q, G, h, A, b = qp.P, qp.q, qp.G, qp.h, qp.A, qp.b
    if not qp.exact and not all(np.isfinite(v).all() for v in (x, y, z)):
        return _rejected()
    Px, slack = P @ x, h - G @ x
    gradient = Px + q + G.T @ y + A.T @ z
    size = _variable_scale(qp, x, y, z)
    anchored = np.abs(P) @ (np.abs(x) + size / LENT) + np.abs(q)
    rows = np.abs(G.T) @ np.abs(y) + np.abs(A.T) @ np.abs(z) + anchored
    multipliers, prices = (_multiplier_scale(B, v, rows, anchored) for B, v in ((G, y), (A, z)))
    column_scale = anchored + np.abs(G.T) @ multipliers + np.abs(A.T) @ prices
    curvature = x @ Px / 2
    primal = curvature + q @ x + qp.r
    dual = -curvature + qp.r - h @ y - b @ z
    terms = abs(curvature) + np.abs(q) @ np.abs(x) + np.abs(h) @ np.abs(y) + np.abs(b) @ np.abs(z)
    row_scale = np.abs(G) @ size + np.abs(h)
    if not qp.exact and not all(np.isfinite(v).all() for v in (size, row_scale, column_scale, terms, Px)):
        return _rejected()  # an overflow would make any violation look small
    gap = abs(
        2 * curvature + q @ x + h @ y + b @ z
    )  # without r, which is in both values and measures nothing
    return Certificate(
        inequality=Residual.of(_negative_part(slack), row_scale),
        equality=Residual.of(np.abs(A @ x - b), np.abs(A) @ size + np.abs(b)),
        dual_sign=_dual_sign(G, _negative_part(y), column_scale),
        stationarity=Residual.of(np.abs(gradient), column_scale),
        complementarity=_complementarity(G, y, slack, row_scale, column_scale),
        gap=Residual(gap, ratio(gap, terms)),
        convexity=convexity(P),
        primal_value=primal,
        dual_value=dual,
        exact=qp.exact,
    )


def _rejected() -> Certificate:
    """What a NaN or an infinity is answered with: a certificate that nothing accepts."""
    nan = Residual(math.nan, math.nan)
    return Certificate(nan, nan, nan, nan, nan, nan, nan, math.nan, math.nan, exact=False)


def _complementarity(G: Array, y: Array, slack: Array, row_scale: Array, column_scale: Array) -> Residual:
    """The products y_i (h - Gx)_i, each factor relative: the slack to its row, the multiplier to what
    it moves.
    """
    if not y.size:
        return Residual(0, 0)
    worst = []
    for i in np.flatnonzero(y * slack != 0):
        moves = [ratio(abs(G[i, j] * y[i]), column_scale[j]) for j in np.flatnonzero(G[i] != 0)]
        worst.append(ratio(abs(slack[i]), row_scale[i]) * max(moves, default=1))
    return Residual(np.abs(y * slack).sum(), _largest(worst) if worst else 0)


def _dual_sign(G: Array, negative: Array, column_scale: Array) -> Residual:
    """Negative multipliers (m,), measured by what they move in the stationarity rows (n,)."""
    wrong = np.flatnonzero(negative)
    if wrong.size == 0:
        return Residual(0, 0)
    moved = Residual.of(np.abs(G[wrong].T) @ negative[wrong], column_scale)
    # A multiplier of an all-zero row moves nothing, but is still of the wrong sign.
    empty = any(not np.any(G[i] != 0) for i in wrong)
    return Residual(negative.max(), math.inf if empty else moved.relative)
