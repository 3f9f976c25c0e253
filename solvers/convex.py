"""Programs with exponentials and logarithms: from a symbolic program to cvxpy, and a proved duality gap.

A program is minimise 1/2 x'Px + q'x + r + sum of a f(Bx + c) subject to G x <= h, A x = b and bounds of
norms, with losses f of the table of conjugates. The solver's point is rounded to rationals and moved until it
is exactly feasible; there the objective is evaluated in Arb balls. A feasible point of a program and one of
its dual bound the distance of both optimal values, whatever the solver said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
from flint import arb

from derivations.calculus.balls import Ball
from derivations.calculus.components import evaluate
from derivations.calculus.functions import BALL_FUNCTIONS, EXACT_FUNCTIONS
from derivations.calculus.index import Index
from derivations.calculus.losses import Charge, Loss, losses
from derivations.calculus.program import Constraint, Program, Raw, curved, lifted, require_quadratic

from .compile import Lookup, compile_program, slope_at
from .exact import NoExactCertificate, solve_exact, solve_rational
from .program import Array, QuadraticProgram, to_float
from .qp import quadratic_term, run_cvxpy

DIGITS = 2**60
"""The denominator to which the solver's numbers are rounded: finer than float64."""
SHARES = tuple(Fraction(1, 2**k) for k in range(50, 0, -1))


@dataclass(frozen=True, eq=False)
class Charged:
    """``factor`` times the loss ``name`` of B x + c, in Fractions: B (k, n), c (k,), k = 1 for a number."""

    name: str
    factor: Fraction
    B: Array
    c: Array


@dataclass(frozen=True, eq=False)
class Cone:
    """The constraint ‖B x + c‖ <= g'x + d, in Fractions: B (k, n), c (k,), g (n,)."""

    B: Array
    c: Array
    g: Array
    d: Fraction


@dataclass(frozen=True, eq=False)
class Composite:
    """A quadratic program, what its objective has besides, and bounds of norms."""

    qp: QuadraticProgram
    charged: tuple[Charged, ...]
    cones: tuple[Cone, ...] = ()

    def value(self, x: Array) -> Ball:
        """The objective at x (n,), Fractions. Raises ZeroDivisionError outside its domain."""
        total = Ball(self.qp.value(x))
        for one in self.charged:
            total = total + one.factor * _VALUES[one.name]([Ball(z) for z in one.B @ x + one.c])
        return total

    def slack(self, x: Array) -> Array:
        """What may not be negative: h - G x, arguments of logarithms, bounds of norms, and by how much the
        squares of these exceed those of the norms.
        """
        arguments = [one.B @ x + one.c for one in self.charged if one.name == "entropy"]
        bounds = [(cone.g @ x + cone.d, cone.B @ x + cone.c) for cone in self.cones]
        return np.concatenate(
            [self.qp.h - self.qp.G @ x, *arguments, *([t, t * t - z @ z] for t, z in bounds)]
        )


def _entropy(z: list[Ball]) -> Ball:
    if z[0].sign() == 0:
        return Ball(0)
    return z[0] * BALL_FUNCTIONS["log"](z[0])


_VALUES: dict[str, Callable[[list[Ball]], Ball]] = {
    "logistic": lambda z: Ball((1 + (-z[0].value).exp()).log()),
    "entropy": _entropy,
    "exponential": lambda z: Ball(z[0].value.exp()),
    "log_sum_exp": lambda z: Ball(sum((b.value.exp() for b in z), arb(0)).log()),
    "norm": lambda z: Ball(sum((b.value * b.value for b in z), arb(0)).sqrt()),
}
_ATOMS: dict[str, Callable[[cp.Expression], cp.Expression]] = {
    "logistic": lambda z: cp.logistic(-z[0]),
    "entropy": lambda z: -cp.entr(z[0]),
    "exponential": lambda z: cp.exp(z[0]),
    "log_sum_exp": cp.log_sum_exp,
    "norm": cp.norm,
}


def compile_convex(program: Program, sizes: Mapping[str, int], data: Lookup) -> Composite:
    """The numbers of a symbolic program at given sizes and data, in Fractions; a maximisation is negated.

    Losses that are quadratic in pieces become variables and constraints. Raises ValueError for a program that
    is not shown to be convex, or with a loss that has no value here.
    """
    program = lifted(program)
    require_quadratic(program)
    parts = program.parted()
    flat = tuple(c for c in program.constraints if not curved(c))
    qp = compile_program(replace(program, objective=Raw((), parts.rest), constraints=flat), sizes, data)
    bounds = [(c, found) for c in program.constraints if (found := curved(c)) is not None]
    cones = tuple(one for c, found in bounds for one in _cones(c, found, program, qp, sizes, data))
    charged = tuple(one for charge in parts.charges for one in _charged(charge, program, qp, sizes, data))
    return Composite(qp, charged, cones)


def _cones(
    c: Constraint,
    bounded: Loss,
    program: Program,
    qp: QuadraticProgram,
    sizes: Mapping[str, int],
    data: Lookup,
) -> list[Cone]:
    found, rhs = [], c.rhs.entry()
    for place in product(*(range(sizes[i.dim]) for i in c.over)):
        here = dict(zip(c.over, place, strict=True))
        g, d = slope_at(rhs, program, qp, sizes, data, here)
        found.append(Cone(*_rows(bounded, program, qp, sizes, data, here), g, d))
    return found


def _rows(
    loss: Loss,
    program: Program,
    qp: QuadraticProgram,
    sizes: Mapping[str, int],
    data: Lookup,
    here: Mapping[Index, int],
) -> tuple[Array, Array]:
    """The argument of a loss as B x + c."""
    inner, z = loss.argument()
    rows = [{**here, inner: n} for n in range(sizes[inner.dim])] if inner else [here]
    B, c = zip(*(slope_at(z, program, qp, sizes, data, at) for at in rows), strict=True)
    return np.array(B), np.array(c, dtype=object)


def _charged(
    charge: Charge, program: Program, qp: QuadraticProgram, sizes: Mapping[str, int], data: Lookup
) -> list[Charged]:
    if charge.loss.data not in _VALUES:
        raise ValueError(f"the loss {charge.loss.data} is not evaluated here")
    found = []
    for place in product(*(range(sizes[i.dim]) for i in charge.over)):
        here = dict(zip(charge.over, place, strict=True))
        factor = Fraction(evaluate(charge.factor, sizes, data, EXACT_FUNCTIONS, here))
        rows = _rows(charge.loss, program, qp, sizes, data, here)
        found.append(Charged(charge.loss.data, factor, *rows))
    return found


def solve_convex(whole: Composite, tolerance: float = 1e-10) -> Array:
    """A float solution x (n,) by cvxpy. Raises SolverError where there is none."""
    qp = whole.qp.as_float()
    x = cp.Variable(qp.q.size)
    objective = quadratic_term(qp.P, x) + qp.q @ x + qp.r
    for one in whole.charged:
        objective += float(one.factor) * _ATOMS[one.name](to_float(one.B) @ x + to_float(one.c))
    limits = [qp.G @ x <= qp.h] if qp.h.size else []
    limits += [qp.A @ x == qp.b] if qp.b.size else []
    limits += [_norm(cone, x) <= to_float(cone.g) @ x + float(cone.d) for cone in whole.cones]
    run_cvxpy(cp.Problem(cp.Minimize(objective), limits), "CLARABEL", tolerance)
    return to_float(x.value)


def _norm(cone: Cone, x: cp.Variable) -> cp.Expression:
    return cp.norm(to_float(cone.B) @ x + to_float(cone.c))


def feasible_point(whole: Composite, near: Array) -> Array:
    """Fractions x (n,) that satisfy every constraint exactly, as near to a float point as a few trials find.

    Raises NoExactCertificate where they find none.
    """
    x = _on_equalities(whole.qp, near)
    if (whole.slack(x) >= 0).all():
        return x
    centre = _on_equalities(whole.qp, _interior(whole))
    for share in SHARES:
        mixed = (1 - share) * x + share * centre
        if (whole.slack(mixed) >= 0).all():
            return mixed
    raise NoExactCertificate("no exactly feasible point near the solver's")


def _on_equalities(qp: QuadraticProgram, near: Array) -> Array:
    """Rationals near a float point, moved by the least squares that satisfy A x = b."""
    x = np.array([Fraction(round(float(v) * DIGITS), DIGITS) for v in near], dtype=object)
    if not qp.b.size:
        return x
    step = solve_rational(qp.A @ qp.A.T, qp.A @ x - qp.b)
    if step is None:
        raise NoExactCertificate("the equality constraints contradict each other")
    return x - qp.A.T @ step


def _interior(whole: Composite) -> Array:
    """A float point far from every inequality. Raises SolverError where there is none."""
    qp, x, t = whole.qp.as_float(), cp.Variable(whole.qp.q.size), cp.Variable()
    limits = [qp.G @ x + t <= qp.h] if qp.h.size else []
    limits += [qp.A @ x == qp.b] if qp.b.size else []
    limits += [to_float(o.B) @ x + to_float(o.c) >= t for o in whole.charged if o.name == "entropy"]
    limits += [_norm(cone, x) + t <= to_float(cone.g) @ x + float(cone.d) for cone in whole.cones]
    run_cvxpy(cp.Problem(cp.Maximize(t), [*limits, t <= 1, cp.norm_inf(x) <= 1e6]), "CLARABEL", 1e-8)
    return to_float(x.value)


@dataclass(frozen=True)
class DualityGap:
    """Values (Fractions or balls) of a minimisation and of its dual at feasible points, and their grade.

    The optimal values differ by at most ``bound``, which is 0 where both were found exactly. Where
    ``refuted``, the dual's value is certainly above the program's: it is no dual.
    """

    primal: Any
    dual: Any
    grade: str

    @property
    def bound(self) -> float:
        """An upper bound of primal minus dual value."""
        gap = self.primal - self.dual
        if gap == 0:
            return 0.0
        gap = Ball.of(gap).value
        top = float((gap.mid() + gap.rad()).str(20, radius=False))
        return float(np.nextafter(top, np.inf))

    @property
    def refuted(self) -> bool:
        """Whether the values contradict weak duality."""
        return bool(Ball.of(self.primal - self.dual).value < 0)


def duality_gap(program: Program, dual: Program, sizes: Mapping[str, int], data: Lookup) -> DualityGap:
    """How far apart the optimal values of a program and of its dual can be.

    Both are quadratic in pieces: exact optima, grade exact-rational. Otherwise feasible points, grade
    interval. Raises NoExactCertificate or SolverError where no point is found, ValueError as
    `compile_convex`.
    """
    first, second = (dual, program) if program.maximise else (program, dual)
    both = [lifted(p) for p in (program, dual)]
    exact = not any(any(losses(p.objective)) or any(map(curved, p.constraints)) for p in both)
    high, low = (_value(p, sizes, data, exact) for p in (first, second))
    return DualityGap(high, low, "exact-rational" if exact else "interval")


def _value(program: Program, sizes: Mapping[str, int], data: Lookup, exact: bool) -> Any:
    """The objective of a program in its own sense: the optimum, or its value at a feasible point."""
    if not program.variables:
        return Ball.of(evaluate(program.objective.entry(), sizes, data, BALL_FUNCTIONS))
    whole = compile_convex(program, sizes, data)
    value: Any
    if exact:
        value = solve_exact(whole.qp).certificate.primal_value
    else:
        value = whole.value(feasible_point(whole, solve_convex(whole)))
    return -value if program.maximise else value
