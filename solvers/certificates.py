"""The checker: do (x, y, z) prove that x minimises a convex quadratic program?

It shares no code with the solvers and trusts nothing they say. It computes in Fractions only: a residual is
zero or it is not, and no scale has to be chosen against which an error would look small. A float answer is no
certificate; `solvers.exact.solve_exact` takes it as a hint for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .definiteness import negative_direction
from .program import Array, QuadraticProgram


@dataclass(frozen=True)
class Certificate:
    """The largest violation of each optimality condition of a quadratic program at (x, y, z), in Fractions.

    * `inequality`, `equality`: of G x <= h and A x = b;
    * `dual_sign`: of y >= 0;
    * `stationarity`: of Px + q + G'y + A'z = 0;
    * `complementarity`: sum of |y_i (h - Gx)_i|;
    * `gap`: |primal_value - dual_value|;
    * `convexity`: -w'Pw / w'w in a direction w of negative curvature, 0 if there is none.

    `dual_value` is -1/2 x'Px + r - h'y - b'z, the Lagrangian's minimum over x when stationarity holds.
    """

    inequality: Fraction
    equality: Fraction
    dual_sign: Fraction
    stationarity: Fraction
    complementarity: Fraction
    gap: Fraction
    convexity: Fraction
    primal_value: Fraction
    dual_value: Fraction

    def accepts(self) -> bool:
        """True if every condition holds: x is a minimiser, and y and z are its multipliers."""
        conditions = (self.inequality, self.equality, self.dual_sign, self.stationarity)
        return not any((*conditions, self.complementarity, self.gap, self.convexity))


def _vector(name: str, values: Array, size: int) -> Array:
    vector = np.asarray(values, dtype=object)
    if vector.shape != (size,):
        raise ValueError(f"{name} has shape {vector.shape}, expected {(size,)}")
    if not all(isinstance(v, int | Fraction) for v in vector):
        raise ValueError(f"{name} must hold Fractions: a float certifies nothing here")
    return vector


def certify(qp: QuadraticProgram, x: Array, y: Array, z: Array) -> Certificate:
    """Check x (n,), y (m,) and z (k,), Fractions or ints, as a primal-dual optimal triple of an exact `qp`.

    Raises ValueError on a wrong shape, on floats in the vectors, and for a program in floats (`as_exact`
    takes them as the rationals they store). Cost: a few products with the data, and one O(n^3) test of P.
    """
    if not qp.exact:
        raise ValueError("the program is in floats: qp.as_exact() takes them as the rationals they store")
    x, y, z = _vector("x", x, qp.q.size), _vector("y", y, qp.h.size), _vector("z", z, qp.b.size)
    Px, slack = qp.P @ x, qp.h - qp.G @ x
    curvature = x @ Px / 2
    primal = curvature + qp.q @ x + qp.r
    dual = -curvature + qp.r - qp.h @ y - qp.b @ z
    w = negative_direction(qp.P)
    return Certificate(
        inequality=_largest(-slack),
        equality=_largest(abs(qp.A @ x - qp.b)),
        dual_sign=_largest(-y),
        stationarity=_largest(abs(Px + qp.q + qp.G.T @ y + qp.A.T @ z)),
        complementarity=sum(abs(y * slack), Fraction(0)),
        gap=abs(primal - dual),
        convexity=Fraction(0) if w is None else -(w @ qp.P @ w) / (w @ w),
        primal_value=primal,
        dual_value=dual,
    )


def _largest(violations: Array) -> Fraction:
    return max(violations, default=Fraction(0)) if (violations > 0).any() else Fraction(0)
