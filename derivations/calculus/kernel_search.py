"""Whether a formula in inner products can be a kernel: an exact quadratic form that shows that it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, product
from typing import Any

import mpmath
import sympy as sp

from derivations.calculus import exact
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.balls import Ball
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.exact import Exponential
from derivations.calculus.functions import BALL_FUNCTIONS, EXACT_FUNCTIONS, IN_SYMPY
from derivations.calculus.printing import latex

Point = tuple[Fraction, ...]
Formula = Callable[[ix.Expr, ix.Expr, ix.Expr, int], ix.Expr]
_DOTS = tuple(ix.Tensor(name, ()) for name in ("u", "xx", "yy"))
_U = sp.Symbol("u", real=True)
_ORDER = 14  # beyond the largest exponent that a formula may have
_CORNERS = (
    (
        (Fraction(1), Fraction(0)),
        (Fraction(1), Fraction(1)),
        (Fraction(0), Fraction(1)),
        (Fraction(-1), Fraction(1)),
    ),
    (
        (Fraction(1), Fraction(0)),
        (Fraction(0), Fraction(1)),
        (Fraction(-1), Fraction(0)),
        (Fraction(0), Fraction(-1)),
    ),
)
_COORDINATES = tuple(Fraction(n, 2) for n in (2, -2, 1, -1, 4, -4, 0, 6))
_WHOLE = (
    tuple((x,) for x in _COORDINATES),
    tuple((Fraction(n, 4),) for n in range(-4, 5)),
    tuple(product((Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2)), repeat=2)),
)
_CLEARLY = 1e-9
_FAR = (Fraction(4), Fraction(8), Fraction(32))  # where terms that are small near 0 have grown
_RADII = (1, 4)
_DIGITS = 60  # derivatives are differences: of order 14 they lose two thirds of these
_SQUARES = tuple(Fraction(n, 2) for n in (0, 1, 2, 8, 32))
_WEIGHTS = {
    1: ((1,),),
    2: ((1, 1), (1, -1), (2, -1), (1, -2)),
    3: ((1, -2, 1), (1, -1, 1), (1, 1, -1)),
    4: ((3, -2, 3, -2), (1, -1, 1, -1), (1, 1, -1, -1)),
}


def require_kernel(formula: Formula) -> None:
    """Raise ValueError where a formula (dot, xx, yy, width) is no inner product of features, with the points
    that show it.

    Searched are up to three points of one and two coordinates, all of them together, and means over
    orthogonal vectors; of a function of the inner product alone, or for vectors of one length, also the
    Taylor coefficients, none of which may be negative if it is to be a kernel in every dimension (Schoenberg,
    1942). A formula that passes may still be none.
    """
    nonzero = False
    for points in _sets():
        shown = ", ".join(map(_words, points))
        try:
            gram = [[_value(formula, x, y, BALL_FUNCTIONS) for y in points] for x in points]
        except (NotExact, ZeroDivisionError):
            raise ValueError(
                f"the kernel has no value at {shown}, or none that can be computed here"
            ) from None
        nonzero = nonzero or any(_sign(value) != 0 for row in gram for value in row)
        if any(_sign(gram[a][b] - gram[b][a]) for a, b in combinations(range(len(points)), 2)):
            raise ValueError(f"no features have this kernel: it is not symmetric at {shown}")
        for weights in _directions(gram):
            _require_form(formula, points, weights, gram)
    if not nonzero:
        raise ValueError("the kernel vanishes everywhere")
    for points in _WHOLE:
        _require_together(formula, points)
    _require_values(formula)
    _require_means(formula)
    for degree, coefficient in enumerate(_coefficients(formula)):
        if coefficient.is_negative:
            raise ValueError(
                f"no features have this kernel in every dimension: dot^{degree} has the coefficient "
                f"{coefficient}"
            )
    _require_on_spheres(formula)


def _require_form(
    formula: Formula, points: tuple[Point, ...], weights: tuple[Any, ...], gram: list[list[Any]]
) -> None:
    """Raise ValueError where the form of a Gram matrix is certainly negative with these weights."""
    if _sign(_form(gram, weights)) < 0:
        value = _exactly(formula, points, weights) or _form(gram, weights)
        shown, c = ", ".join(map(_words, points)), ", ".join(map(_short, weights))
        raise ValueError(
            f"no features have this kernel: at {shown} with c = ({c}), c'Gc = {_short(value)} < 0"
        )


def _require_together(formula: Formula, points: tuple[Point, ...]) -> None:
    """Raise ValueError where a Gram matrix of many points has a certainly negative form, at as few of them as
    show it.

    The direction comes from an eigenvector in floating point; that its form is negative is certain.
    """
    try:
        gram = [[_value(formula, x, y, BALL_FUNCTIONS) for y in points] for x in points]
    except (NotExact, ZeroDivisionError):
        return  # such points are met one by one where a kernel must have a value
    floats = _floats(gram)
    sizes = [floats[k][k] for k in range(len(points))]
    kept = [k for k, size in enumerate(sizes) if size > 0]
    scaled = [
        [v / math.sqrt(abs(s * t)) if s * t else 0.0 for v, t in zip(row, sizes, strict=True)]
        for row, s in zip(floats, sizes, strict=True)
    ]
    if _least(scaled, kept)[0] > -_CLEARLY:
        return
    for n in list(kept):
        fewer = [k for k in kept if k != n]
        if _least(scaled, fewer)[0] < -_CLEARLY:
            kept = fewer
    _, direction = _least(scaled, kept)
    weights = [x / math.sqrt(sizes[k]) for k, x in zip(kept, direction, strict=True)]
    largest = max(map(abs, weights))
    few = [[gram[a][b] for b in kept] for a in kept]
    for digits in (1, 2, 4, 8):
        chosen = tuple(Fraction(x / largest).limit_denominator(10**digits) for x in weights)
        _require_form(formula, tuple(points[k] for k in kept), chosen, few)


def _floats(gram: list[list[Any]]) -> list[list[float]]:
    """A Gram matrix in floating point, of which a direction depends on its ratios alone. Raises ValueError
    where these are beyond it.
    """
    found = [[float(value) for value in row] for row in gram]
    if not all(math.isfinite(value) for row in found for value in row):
        unit = next(Ball.of(gram[k][k]) for k in range(len(gram)) if _sign(gram[k][k]) > 0)
        found = [[float(Ball.of(value) / unit) for value in row] for row in gram]
    if not all(math.isfinite(value) for row in found for value in row):
        raise ValueError("the kernel has values so large that they cannot be compared here")
    return found


def _least(gram: list[list[float]], at: list[int]) -> tuple[float, list[float]]:
    """The least eigenvalue of a Gram matrix at some of its points, with an eigenvector."""
    if not at:
        return 0.0, []
    values, vectors = mpmath.eigsy(mpmath.matrix([[gram[a][b] for b in at] for a in at]))
    return float(values[0]), [float(vectors[k, 0]) for k in range(len(at))]  # values come in order


def _require_means(formula: Formula) -> None:
    """Raise ValueError where means over ever more orthogonal vectors of given lengths have a negative form.

    What is left of the kernel between such means is its value at inner product 0, also for equal lengths.
    """
    for one, two in combinations(_SQUARES, 2):
        squares = (one, two)
        try:
            gram = [[_between_means(formula, s, t) for t in squares] for s in squares]
        except (NotExact, ZeroDivisionError):
            continue  # a vector of length 0 may have no value
        for weights in _WEIGHTS[2]:
            if _sign(_form(gram, weights)) < 0:
                raise ValueError(
                    "no features have this kernel in every dimension: its form is negative for means over "
                    f"many orthogonal vectors of squared lengths {one} and {two} with c = {weights}"
                )


def _require_values(formula: Formula) -> None:
    """Raise ValueError where a function of the inner product alone is not shown to have a value for
    each of them.
    """
    u, expr = _DOTS[0], _written(formula, 1)
    for demand in sg.demands(expr) if ix.tensors(expr) <= {u} else ():
        if not sg.signs(demand.base) <= demand.signs:
            base = latex(demand.base)
            raise ValueError(
                f"the kernel is not shown to have a value for every inner product u: {base} {demand.words()}"
            )


def _coefficients(formula: Formula) -> list[sp.Expr]:
    """The first Taylor coefficients of a kernel that is an analytic function of the inner product; []
    of any other.
    """
    u, expr = _DOTS[0], _written(formula, 1)
    if ix.tensors(expr) != {u}:
        return []
    value = sp.sympify(evaluate(expr, {}, lambda *_: _U, IN_SYMPY))
    try:
        series = sp.series(value, _U, 0, _ORDER).removeO()
    except (NotImplementedError, ValueError, TypeError):
        return []
    if not series.is_polynomial(_U):
        return []
    return [series.coeff(_U, n) for n in range(_ORDER)]


def _require_on_spheres(formula: Formula) -> None:
    """Raise ValueError where the kernel of vectors of one length has a Taylor coefficient in their inner
    product that is clearly negative. A formula that names the dimension need be a kernel in that one only.
    """
    (u, *squares), expr = _DOTS, _written(formula, 1)
    if expr != _written(formula, 2) or not ix.tensors(expr) & set(squares):
        return
    for square in _RADII:
        chosen: dict[ix.Tensor, Any] = {u: _U, **dict.fromkeys(squares, sp.Integer(square))}
        value = sp.sympify(evaluate(expr, {}, partial(_chosen, chosen), IN_SYMPY))
        with mpmath.workdps(_DIGITS):
            try:
                found = mpmath.taylor(sp.lambdify(_U, value, "mpmath"), 0, _ORDER)
            except (ZeroDivisionError, OverflowError, ValueError, TypeError):
                continue
            least = -_CLEARLY * sum(map(abs, found))
            degree = next((n for n, c in enumerate(found) if mpmath.im(c) == 0 and c < least), None)
        if degree is not None:
            raise ValueError(
                f"no features have this kernel in every dimension: for xx = yy = {square} dot^{degree} "
                f"has the coefficient {mpmath.nstr(found[degree], 6)}"
            )


def _chosen(values: dict[ix.Tensor, Any], tensor: ix.Tensor, entry: tuple[int, ...]) -> Any:
    return values[tensor]


def _sign(value: Any) -> int:
    """The sign, 0 where a ball does not tell: then nothing is said."""
    try:
        return exact.sign(value)
    except NotExact:
        return 0


def _words(point: Point) -> str:
    return f"({', '.join(map(str, point))})"


def _short(value: Any) -> str:
    text = str(value)
    if len(text) <= 40 or not isinstance(value, Exponential):
        return text
    number = float(value)  # 0 or infinite where a number is beyond floating point
    return f"{number:.6g}…" if number and math.isfinite(number) else str(Ball.of(value))


def _sets() -> Iterator[tuple[Point, ...]]:
    line = [(x,) for x in _COORDINATES]
    plane = list(product(_COORDINATES[:4], repeat=2))
    for count in (1, 2):
        yield from combinations(line, count)
    yield from list(combinations(line, 3))[::4]
    for h in (Fraction(1, 4), Fraction(1, 16)):  # near each other the curvature decides
        yield ((-h,), (Fraction(0),), (h,))
    yield from combinations(plane[:8], 2)
    yield from _CORNERS
    yield from (((x,),) for x in _FAR)


def _exactly(formula: Formula, points: tuple[Point, ...], weights: tuple[Any, ...]) -> Any:
    """The form in exact numbers where they have it: the search uses balls, which are fast and as certain."""
    try:
        if any(isinstance(w, Ball) for w in weights):
            return None
        return _form([[_value(formula, x, y, EXACT_FUNCTIONS) for y in points] for x in points], weights)
    except NotExact:
        return None


def _value(formula: Formula, x: Point, y: Point, functions: Any) -> Any:
    dots = (
        sum((a * b for a, b in zip(*pair, strict=True)), Fraction(0)) for pair in ((x, y), (x, x), (y, y))
    )
    return _at(formula, len(x), functions, *dots)


def _between_means(formula: Formula, one: Fraction, two: Fraction) -> Any:
    return _at(formula, 1, BALL_FUNCTIONS, Fraction(0), one, two)


def _at(formula: Formula, width: int, functions: Any, *dots: Fraction) -> Any:
    values = dict(zip(_DOTS, dots, strict=True))
    return evaluate(_written(formula, width), {}, lambda tensor, _: values[tensor], functions)


@lru_cache(maxsize=64)
def _written(formula: Formula, width: int) -> ix.Expr:
    u, xx, yy = (dot.scalar for dot in _DOTS)
    return formula(u, xx, yy, width)


def _directions(gram: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    yield from _WEIGHTS[len(gram)]
    if len(gram) == 2:
        yield (gram[0][1], -1 * gram[0][0])  # its form is κ_11 times the determinant


def _form(gram: list[list[Any]], weights: tuple[Any, ...]) -> Any:
    total: Any = Fraction(0)
    for a, v in enumerate(weights):
        for b, w in enumerate(weights):
            total = total + v * w * gram[a][b]
    return total
