"""A primal active-set method in float64 for the dual of support vector regression, column by column.

Minimise 1/2 b'(M + ridge I)b - y'b + tube |b|_1 over |b_i| <= bound (and 1'b = 0 with a bias). Coordinates
are either held (at 0 when the tube is open, or at a bound) or free with a known sign; on the free ones a
Newton step solves the optimality system, a ratio test keeps it inside, and held coordinates whose multiplier
has the wrong sign are released. Every step that moves lowers the objective; where releasing many moves
nothing, the worst alone is released. M_FF may be singular (duplicate keys): the Newton system carries a
proximal term centred at the current point, which does not move the optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .program import Array
from .svr_problem import SvrProblem

SNAP = 1e-6  # a starting coordinate this close (relative) to 0 or to the bound starts there
REFINEMENTS = 4  # Newton steps repeated on one set of free coordinates to undo the proximal term
EPS = float(np.finfo(float).eps)


@dataclass
class _State:
    """One column's iterate; beta, free and the ends lower, upper of the free coordinates are (N,)."""

    M: Array
    y: Array
    tube: float
    ridge: float
    bound: float
    bias: bool
    beta: Array
    free: Array
    lower: Array
    upper: Array
    b: float = 0.0

    def slope(self) -> Array:
        """y - (M + ridge I) beta (N,), from scratch so that rounding does not accumulate."""
        return self.y - self.M @ self.beta - self.ridge * self.beta

    def rounding(self) -> Array:
        """A bound (N,) on the rounding of `slope` minus bias and tube, by |M_ij| <= sqrt(M_ii M_jj)."""
        root = np.sqrt(np.maximum(np.diag(self.M), 0))
        terms = np.abs(self.y) + root * (root @ np.abs(self.beta)) + abs(self.b) + self.tube
        return 16 * EPS * (terms + self.ridge * np.abs(self.beta))

    def release(self, index: Array, upward: Array) -> None:
        """Free these coordinates; with an open tube each may move only on its own side of 0."""
        self.free[index] = True
        if self.tube == 0:
            self.lower[index], self.upper[index] = -self.bound, self.bound
            return
        positive = np.where(upward, self.beta[index] >= 0, self.beta[index] > 0)
        self.lower[index] = np.where(positive, 0.0, -self.bound)
        self.upper[index] = np.where(positive, self.bound, 0.0)

    def violations(self, slope: Array) -> tuple[Array, Array]:
        """By how much each held coordinate wants to go up, and down, without the bias: (N,) each.

        -inf where it may not move that way, or is free already.
        """
        rise = np.where(self.beta >= 0, self.tube, -self.tube)
        fall = np.where(self.beta > 0, self.tube, -self.tube)
        up = np.where(~self.free & (self.beta < self.bound), slope - rise, -np.inf)
        down = np.where(~self.free & (self.beta > -self.bound), fall - slope, -np.inf)
        return up, down


def _start(problem: SvrProblem, d: int, beta: Array) -> _State:
    bound, tube = float(problem.bound), float(problem.tube)
    size = np.abs(beta).max()
    held_at_bound = np.abs(beta) >= bound * (1 - SNAP) if math.isfinite(bound) else np.zeros(len(beta), bool)
    beta = np.where(held_at_bound, np.copysign(bound, beta), beta)
    if tube > 0:
        beta = np.where(np.abs(beta) <= SNAP * size, 0.0, beta)
    free = ~held_at_bound & ((beta != 0) | (tube == 0))
    N = len(beta)
    state = _State(
        problem.M,
        problem.Y[:, d],
        tube,
        float(problem.ridge),
        bound,
        problem.bias,
        beta,
        np.zeros(N, bool),
        np.zeros(N),
        np.zeros(N),
    )
    state.release(np.flatnonzero(free), np.zeros(int(free.sum()), bool))
    if problem.bias and not _rebalance(state):
        return _start(problem, d, np.zeros(N))
    return state


def _rebalance(state: _State) -> bool:
    """Make the sum of beta 0 using the room of the free coordinates; False if there is not enough."""
    excess = float(state.beta.sum())
    if excess == 0:
        return True
    F = np.flatnonzero(state.free)
    end = state.lower[F] if excess > 0 else state.upper[F]
    if F.size and not np.isfinite(end).all():
        state.beta[F] -= excess / F.size
        return bool(((state.beta[F] >= state.lower[F]) & (state.beta[F] <= state.upper[F])).all())
    room = np.abs(state.beta[F] - end)
    if F.size == 0 or room.sum() <= abs(excess):
        return False
    state.beta[F] -= excess * room / room.sum()
    return True


def _newton(state: _State, F: Array, slope: Array) -> Array:
    """The step (|F|,) to the minimiser over the free coordinates; sets the bias."""
    H = state.M[np.ix_(F, F)]
    proximal = 4 * len(F) * EPS * float(np.abs(H).sum(axis=1).max()) + np.finfo(float).tiny
    sign = np.where(state.lower[F] == 0, 1.0, -1.0) * state.tube
    right = np.column_stack([slope[F] - sign, np.ones(len(F))])
    while True:
        try:
            shifted = H + (state.ridge + proximal) * np.eye(len(F))
            factor = scipy.linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
            break
        except scipy.linalg.LinAlgError:
            proximal *= 10
    u, v = scipy.linalg.cho_solve(factor, right, check_finite=False).T
    if not state.bias:
        return u
    state.b = float((u.sum() + state.beta.sum()) / v.sum())
    return u - state.b * v


def _move(state: _State, F: Array, step: Array) -> tuple[bool, bool]:
    """Take as much of the step as fits, hold what hits its end: (did anything move, was the step whole)."""
    beta = state.beta[F]
    end = np.where(step > 0, state.upper[F], state.lower[F])
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(step != 0, (end - beta) / step, np.inf)
    length = min(1.0, float(limit.min()))
    hit = limit <= length
    state.beta[F] = np.clip(beta + length * step, state.lower[F], state.upper[F])
    state.beta[F[hit]] = end[hit]
    state.free[F[hit]] = False
    return length > 0, length == 1.0


def _descend(state: _State) -> bool:
    """Minimise over the free coordinates, holding those that hit an end; True if anything moved."""
    moved, refinements = False, 0
    while state.free.any() and refinements < REFINEMENTS:
        F = np.flatnonzero(state.free)
        slope = state.slope()
        step = _newton(state, F, slope)
        progress, whole = _move(state, F, step)
        moved |= progress
        sign = np.where(state.lower[F] == 0, 1.0, -1.0) * state.tube
        if whole:
            refinements += 1
            left = np.abs(state.slope()[F] - sign - state.b)
            if (left <= state.rounding()[F]).all():
                break
    return moved


def _release_violators(state: _State, one: bool) -> bool:
    """Free held coordinates whose multiplier has the wrong sign (all, or the worst); False if none."""
    up, down = state.violations(state.slope())
    noise = state.rounding()
    if state.bias and not state.free.any():
        # The bias may lie anywhere between these two; if they cross, the crossing pair must move together.
        i, j = int(np.argmax(up)), int(np.argmax(down))
        low, high = float(up[i]), -float(down[j])
        state.b = (low + high) / 2 if math.isfinite(low + high) else (low if math.isfinite(low) else high)
        if low - high <= noise[i] + noise[j]:
            return False
        state.release(np.array([i, j]), np.array([True, False]))
        return True
    up, down = up - state.b, down + state.b
    worst = np.maximum(up, down) - noise
    index = np.flatnonzero(worst > 0)
    if index.size == 0:
        return False
    if one:
        index = np.array([int(np.argmax(worst))])
    state.release(index, up[index] > down[index])
    return True


def minimise_column(
    problem: SvrProblem, d: int, beta: Array, max_steps: int | None = None
) -> tuple[Array, float, str]:
    """Minimise column d of the dual from `beta` (N,): (beta (N,), bias, "optimal" or "step limit").

    `max_steps` bounds the number of times held coordinates are released (default 10 N + 100).
    """
    y, tube = problem.Y[:, d], float(problem.tube)
    if (y.max() - y.min() if problem.bias else 2 * np.abs(y).max()) <= 2 * tube:
        # beta = 0 is the optimum; iterating would leave rounding where the exact answer is at hand.
        return np.zeros(len(y)), float(y.max() + y.min()) / 2 if problem.bias else 0.0, "optimal"
    state = _start(problem, d, np.asarray(beta, dtype=np.float64))
    limit = 10 * len(y) + 100 if max_steps is None else max_steps
    moved = True
    for count in range(limit + 1):
        # Releasing many at once can stall where releasing the worst one cannot.
        moved = _descend(state) or count == 0
        if not _release_violators(state, one=not moved):
            return state.beta, state.b, "optimal"
    return state.beta, state.b, "step limit"
