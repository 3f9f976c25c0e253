"""Quadratic programs as plain arrays, float64 or exact.

The program is: minimise 1/2 x'Px + q'x + r subject to G x <= h and A x = b. Its Lagrangian is
L(x, y, z) = 1/2 x'Px + q'x + r + y'(Gx - h) + z'(Ax - b) with y >= 0; every multiplier in this package has
that sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

Array = np.ndarray
Layout = dict[str, tuple[int, tuple[int, ...]]]


def _exact_entry(value: Any) -> Fraction:
    if isinstance(value, Rational):
        return Fraction(value)
    raise ValueError(f"exact data must be integers or Fractions, found {type(value).__name__} {value!r}")


def to_exact(values: Any) -> Array:
    """The same entries as an object array of Fractions; a float becomes the binary rational it stores."""
    array = np.asarray(values)
    out = np.empty(array.shape, dtype=object)
    for index in np.ndindex(array.shape):
        entry = array[index]
        out[index] = Fraction(float(entry)) if isinstance(entry, float | np.floating) else _exact_entry(entry)
    return out


def to_float(values: Any) -> Array:
    """The same entries rounded to float64; any shape."""
    return np.asarray(values, dtype=np.float64)


def typed_array(name: str, values: Any, shape: tuple[int, ...], exact: bool) -> Array:
    """`values` of this shape as Fractions (exact) or float64; ValueError on another shape, NaN, infinity."""
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if exact:
        out = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            entry = array[index]
            out[index] = Fraction(int(entry)) if isinstance(entry, np.integer) else _exact_entry(entry)
        return out
    out = np.asarray(array, dtype=np.float64)
    # The extremes show any NaN or infinity without a temporary array of the same shape.
    if out.size and not (np.isfinite(out.min()) and np.isfinite(out.max())):
        raise ValueError(f"{name} has a NaN or infinite entry; leave a row without a bound out instead")
    return out


def _check_layout(name: str, layout: Layout, size: int) -> None:
    taken = 0
    for key, (offset, shape) in sorted(layout.items(), key=lambda item: item[1][0]):
        stop = offset + math.prod(shape)
        if offset < taken or stop > size:
            raise ValueError(f"{name}[{key!r}] covers {offset}..{stop}: overlapping, or outside 0..{size}")
        taken = stop


def _slices(layout: Layout, values: Array) -> dict[str, Array]:
    return {key: values[o : o + math.prod(shape)].reshape(shape) for key, (o, shape) in layout.items()}


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Minimise 1/2 x'Px + q'x + r subject to G x <= h, A x = b, with x of length n.

    Shapes: P (n, n) symmetric, q (n,), r scalar, G (m, n), h (m,), A (k, n), b (k,); m and k may be 0 and
    G, h, A, b may then be left out. Data are all float64, or all exact when P or q is an object array (then
    every entry must be an integer or a Fraction, and is stored as a Fraction).

    `variables` names slices of x, `inequalities` slices of the rows of G (so of y), `equalities` slices of
    the rows of A (so of z): name -> (offset, shape), C order. Raises ValueError on bad shapes, NaN or
    infinite entries, a P that is not exactly symmetric, exact data mixed with floats, or layouts that
    overlap.
    """

    P: Array
    q: Array
    r: Any = 0
    G: Any = None
    h: Any = None
    A: Any = None
    b: Any = None
    variables: Layout = field(default_factory=dict)
    inequalities: Layout = field(default_factory=dict)
    equalities: Layout = field(default_factory=dict)

    def __post_init__(self) -> None:
        q = np.asarray(self.q)
        exact = np.asarray(self.P).dtype == object or q.dtype == object
        if q.ndim != 1 or q.size == 0:
            raise ValueError(f"q must be a vector with at least one entry, has shape {q.shape}")
        n = q.size
        put = object.__setattr__
        put(self, "P", typed_array("P", self.P, (n, n), exact))
        put(self, "q", typed_array("q", q, (n,), exact))
        put(self, "r", typed_array("r", self.r, (), exact)[()])
        for matrix, vector in (("G", "h"), ("A", "b")):
            rows = [] if getattr(self, vector) is None else getattr(self, vector)
            if (getattr(self, matrix) is None) != (getattr(self, vector) is None):
                raise ValueError(f"{matrix} and {vector} must be given together")
            m = np.asarray(rows).size
            values = np.empty((0, n)) if getattr(self, matrix) is None else getattr(self, matrix)
            put(self, matrix, typed_array(matrix, values, (m, n), exact))
            put(self, vector, typed_array(vector, rows, (m,), exact))
        if not np.array_equal(self.P, self.P.T):
            raise ValueError("P is not symmetric; pass (P + P') / 2, which is the same quadratic form")
        _check_layout("variables", self.variables, n)
        _check_layout("inequalities", self.inequalities, self.h.size)
        _check_layout("equalities", self.equalities, self.b.size)

    @property
    def exact(self) -> bool:
        """True if the data are Fractions."""
        return self.P.dtype == object

    def split(self, x: Array) -> dict[str, Array]:
        """The named variables inside x (n,), each in its own shape."""
        return _slices(self.variables, np.asarray(x))

    def split_inequalities(self, y: Array) -> dict[str, Array]:
        """The named blocks of multipliers (or slacks) inside y (m,)."""
        return _slices(self.inequalities, np.asarray(y))

    def split_equalities(self, z: Array) -> dict[str, Array]:
        """The named blocks of multipliers inside z (k,)."""
        return _slices(self.equalities, np.asarray(z))

    def _converted(self, convert: Any) -> QuadraticProgram:
        data = {name: convert(getattr(self, name)) for name in ("P", "q", "r", "G", "h", "A", "b")}
        data["r"] = data["r"][()]
        return QuadraticProgram(
            **data, variables=self.variables, inequalities=self.inequalities, equalities=self.equalities
        )

    def as_float(self) -> QuadraticProgram:
        """The same program rounded to float64."""
        return self._converted(to_float) if self.exact else self

    def as_exact(self) -> QuadraticProgram:
        """The same program in Fractions; float64 entries are taken as the rationals they store."""
        return self if self.exact else self._converted(to_exact)

    def value(self, x: Array) -> Any:
        """The objective at x (n,), in the arithmetic of the data."""
        return x @ (self.P @ x) / 2 + self.q @ x + self.r
