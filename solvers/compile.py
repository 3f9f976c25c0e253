"""From a symbolic program to numbers: the object that was dualised is the object that is solved.

Coefficients are read off by differentiating the objective and the constraints with the same guarded
derivative that the dualiser uses, so a derivation and its numerical check cannot be about two different
programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.differentiate import gradient
from derivations.calculus.functions import EXACT_FUNCTIONS
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import losses
from derivations.calculus.program import Program, curved, lifted, require_quadratic

from .program import Layout, QuadraticProgram

Lookup = Callable[[Tensor, tuple[int, ...]], Any]
_MAY_VANISH = "a program need not use every variable in every row"


def compile_program(program: Program, sizes: Mapping[str, int], data: Lookup) -> QuadraticProgram:
    """The exact quadratic program (entries are Fractions) of a symbolic one at given sizes and data.

    ``data(tensor, entry)`` gives the Fractions of everything that is not a variable. A maximisation is
    negated, and a loss that is quadratic in pieces gets variables and constraints of its own. Raises KeyError
    for a size that is missing, ValueError for a program that is not quadratic with affine constraints, or in
    which two constraints share a multiplier or a variable is promised something.
    """
    names = [c.multiplier.name for c in program.constraints]
    if len(set(names)) < len(names):
        raise ValueError("two constraints share a multiplier")
    if any(v.positive or v.symmetric for v in program.variables):
        raise ValueError("what is promised of a variable must stand among the constraints")
    program = lifted(program)
    if left := [part.data for _, part in losses(program.objective)]:
        raise ValueError(f"the loss {left[0]} is not quadratic: solvers.convex takes it")
    require_quadratic(program)
    if bounds := [c.multiplier.name for c in program.constraints if curved(c)]:
        raise ValueError(f"the constraint with multiplier {bounds[0]} bounds a norm: solvers.convex takes it")
    layout = _layout(program.variables, sizes)
    length = sum(int(np.prod(shape)) for _, shape in layout.values())

    def at_zero(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        return Fraction(0) if tensor in program.variables else data(tensor, entry)

    def value(expr: ix.Expr, at: Mapping[Index, int]) -> Fraction:
        return Fraction(evaluate(expr, sizes, at_zero, EXACT_FUNCTIONS, at))

    sign = -1 if program.maximise else 1
    objective, excesses = _expressions(program)
    q = np.array([Fraction(0)] * length, dtype=object)
    P = np.array([[Fraction(0)] * length for _ in range(length)], dtype=object)
    for variable in program.variables:
        slope, at = _slope(objective, variable, "p")
        for entry, position in _entries(variable, layout, sizes):
            q[position] = sign * value(slope, dict(zip(at, entry, strict=True)))
        for other in program.variables:
            curvature, at2 = _slope(slope, other, "q")
            if isinstance(curvature, ix.Num) and curvature.value == 0:
                continue
            for (e1, n1), (e2, n2) in product(
                _entries(variable, layout, sizes), _entries(other, layout, sizes)
            ):
                P[n1, n2] = sign * value(
                    curvature, {**dict(zip(at, e1, strict=True)), **dict(zip(at2, e2, strict=True))}
                )
    rows = [
        _rows(c, excess, program, layout, sizes, value, length)
        for c, excess in zip(program.constraints, excesses, strict=True)
    ]
    less = [r for r, c in zip(rows, program.constraints, strict=True) if not c.equality]
    same = [r for r, c in zip(rows, program.constraints, strict=True) if c.equality]
    G, h, upper = _stack(less, length)
    A, b, equal = _stack(same, length)
    r = sign * value(objective, {})
    return QuadraticProgram(P, q, r, G, h, A, b, layout, upper, equal)


def _layout(variables: tuple[Tensor, ...], sizes: Mapping[str, int]) -> Layout:
    layout: dict[str, tuple[int, tuple[int, ...]]] = {}
    offset = 0
    for variable in variables:
        shape = tuple(sizes[d] for d in variable.dims)
        layout[variable.name] = (offset, shape)
        offset += int(np.prod(shape))
    return layout


def _entries(variable: Tensor, layout: Layout, sizes: Mapping[str, int]) -> list[tuple[tuple[int, ...], int]]:
    offset, shape = layout[variable.name]
    return [(e, offset + n) for n, e in enumerate(product(*(range(s) for s in shape)))]


@lru_cache(maxsize=64)
def _expressions(program: Program) -> tuple[ix.Expr, tuple[ix.Expr, ...]]:
    """Objective and excesses of the constraints, always with the same names, so that slopes are found
    once.
    """
    return program.objective.entry(), tuple(c.excess() for c in program.constraints)


@lru_cache(maxsize=1024)
def _slope(expr: ix.Expr, variable: Tensor, letter: str) -> tuple[ix.Expr, tuple[Index, ...]]:
    at = tuple(Index(f"{letter}{n}", d) for n, d in enumerate(variable.dims))
    return gradient(expr, variable, at, zero_because=_MAY_VANISH), at


def _rows(
    constraint: Any,
    excess: ix.Expr,
    program: Program,
    layout: Layout,
    sizes: Mapping[str, int],
    value: Any,
    length: int,
) -> Any:
    """Name, coefficients and right-hand sides of one constraint, a row for each value of its indices."""
    slopes = [(v, *_slope(excess, v, "p")) for v in program.variables]
    matrix, right = [], []
    for place in product(*(range(sizes[i.dim]) for i in constraint.over)):
        here = dict(zip(constraint.over, place, strict=True))
        row = np.array([Fraction(0)] * length, dtype=object)
        for variable, slope, at in slopes:
            if isinstance(slope, ix.Num) and slope.value == 0:
                continue
            for entry, position in _entries(variable, layout, sizes):
                row[position] = value(slope, {**here, **dict(zip(at, entry, strict=True))})
        matrix.append(row)
        right.append(-value(excess, here))
    return constraint.multiplier.name, matrix, right, tuple(sizes[i.dim] for i in constraint.over)


def slope_at(
    expr: ix.Expr,
    program: Program,
    qp: QuadraticProgram,
    sizes: Mapping[str, int],
    data: Lookup,
    at: Mapping[Index, int],
) -> tuple[Any, Fraction]:
    """Coefficients (n,) and constant of an affine expression at values of its indices, as Fractions."""

    def at_zero(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        return Fraction(0) if tensor in program.variables else data(tensor, entry)

    row = np.array([Fraction(0)] * qp.q.size, dtype=object)
    for variable in program.variables:
        slope, places = _slope(expr, variable, "p")
        for entry, position in _entries(variable, qp.variables, sizes):
            here = {**at, **dict(zip(places, entry, strict=True))}
            row[position] = Fraction(evaluate(slope, sizes, at_zero, EXACT_FUNCTIONS, here))
    return row, Fraction(evaluate(expr, sizes, at_zero, EXACT_FUNCTIONS, at))


def _stack(blocks: list[Any], length: int) -> tuple[Any, Any, Layout]:
    layout: dict[str, tuple[int, tuple[int, ...]]] = {}
    matrix: list[Any] = []
    right: list[Any] = []
    for name, rows, values, shape in blocks:
        layout[name] = (len(right), shape)
        matrix += rows
        right += values
    if not right:
        return None, None, {}
    return np.array(matrix, dtype=object).reshape(-1, length), np.array(right, dtype=object), layout
