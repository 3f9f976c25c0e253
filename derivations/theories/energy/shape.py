"""The shape of a function F(u) of one real variable: signs of its second derivative, decided exactly or
not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import count, pairwise

import sympy as sp

from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.functions import ANY, IN_SYMPY, NONNEGATIVE, POSITIVE
from derivations.calculus.index import Tensor
from derivations.calculus.parse import parse

U = sp.Symbol("u", real=True)
_x = sp.Symbol("x", positive=True)


@lru_cache(maxsize=256)
def sympy_function(text: str) -> sp.Expr:
    """A formula in u as a SymPy expression. Raises ValueError for a text outside the language."""
    return sympy_expression(index_expression(text))


def index_expression(text: str) -> ix.Expr:
    """A formula in u as an index expression, in which nothing has been cancelled. Raises ValueError."""
    return parse(text, {"u": Tensor("u", ()).scalar})


def sympy_expression(expr: ix.Expr) -> sp.Expr:
    """An index expression in one symbol as a SymPy expression in u."""
    return sp.sympify(evaluate(expr, {}, lambda tensor, entry: U, IN_SYMPY))


def sign_on_reals(expression: sp.Expr) -> str:
    """Where a function of u has which sign: ">0", ">=0", "<0", "<=0", "=0", "both" or "undecided", for all
    real u.

    Decided for polynomials and for rational functions of u, of exp(u) or of u and the root of a square plus a
    number, by exact root counting.
    """
    expression = sp.simplify(expression)
    if expression == 0:
        return "=0"
    found = _sign_of_rational(expression, U, None)
    if found is None:
        in_exp = sp.together(sp.powsimp(expression.rewrite(sp.exp).subs(U, sp.log(_x))))
        found = _sign_of_rational(in_exp, _x, 0)
    if found is None:
        found = _sign_of_rational(_without_root(expression), _x, 0)
    if found is not None:
        return found
    for known, answer in ((expression.is_positive, ">0"), (expression.is_negative, "<0")):
        if known:
            return answer
    return "undecided"


def _without_root(expression: sp.Expr) -> sp.Expr:
    """The expression in x > 0, where its only root is of a u² + b with a, b > 0: u = √(b/a) (x - 1/x)/2 takes
    every real value once, and the root is √b (x + 1/x)/2. Any other expression as it is.
    """
    roots = {p.base for p in expression.atoms(sp.Pow) if p.exp.is_Rational and p.exp.q == 2 and p.has(U)}
    base = roots.pop() if len(roots) == 1 else sp.S.Zero
    a, b = base.coeff(U, 2), base.coeff(U, 0)
    if not (a.is_positive and b.is_positive) or sp.expand(base - a * U**2 - b) != 0:
        return expression
    root = sp.sqrt(b) * (_x + 1 / _x) / 2
    plain = expression.replace(lambda e: e.is_Pow and e.base == base, lambda e: root ** (2 * e.exp))
    return plain.subs(U, sp.sqrt(b / a) * (_x - 1 / _x) / 2)


SIGNS_OF = {
    ">0": POSITIVE,
    ">=0": NONNEGATIVE,
    "<0": frozenset((-1,)),
    "<=0": frozenset((-1, 0)),
    "=0": frozenset((0,)),
    "both": ANY,
    "undecided": ANY,
}
"""The signs that an answer of `sign_on_reals` leaves open."""


def _sign_of_rational(expression: sp.Expr, variable: sp.Symbol, low: int | None) -> str | None:
    """The sign of a rational function on the real line, or on (low, oo); None if it is not rational or
    has a pole.
    """
    top, bottom = sp.fraction(sp.together(expression))
    if not (top.is_polynomial(variable) and bottom.is_polynomial(variable)) or expression.free_symbols - {
        variable
    }:
        return None
    if not all(
        c.is_rational for c in (*sp.Poly(top, variable).coeffs(), *sp.Poly(bottom, variable).coeffs())
    ):
        return None
    interval = sp.Interval(low, sp.oo, True, True) if low is not None else sp.S.Reals
    if _roots(bottom, variable, interval):
        return None
    whole = sp.Poly(top * bottom, variable)
    roots = sorted(_roots(whole.as_expr(), variable, interval))
    ends = [None, *roots, None]
    signs = {sp.sign(whole.eval(_between(left, right, low))) for left, right in pairwise(ends)}
    if signs == {1}:
        return ">=0" if roots else ">0"
    if signs == {-1}:
        return "<=0" if roots else "<0"
    return "both"


def _roots(expression: sp.Expr, variable: sp.Symbol, interval: sp.Set) -> list[sp.Expr]:
    polynomial = sp.Poly(expression, variable)
    if polynomial.degree() <= 0:
        return []
    return [r for r in set(polynomial.real_roots()) if interval.contains(r) == sp.true]


def _between(left: sp.Expr | None, right: sp.Expr | None, low: int | None) -> sp.Rational:
    """A rational number strictly between two neighbouring roots, or beyond the last."""
    if right is None:
        return sp.Integer(1) if left is None else sp.ceiling(left) + 1
    if left is None and low is None:
        return sp.floor(right) - 1
    return _inside(sp.Rational(low) if left is None else left, right)


def _inside(left: sp.Expr, right: sp.Expr) -> sp.Rational:
    """A rational number strictly between two numbers, which may be as near to each other as they like."""
    for digits in count(30, 30):
        middle = sp.Rational(str(sp.N((left + right) / 2, digits)))
        if left < middle < right:
            return middle


@dataclass(frozen=True)
class Shape:
    """What is known of F: the signs of its second derivative, whether it is affine, a power, a bound of |F''|
    (None where none was found), and whether F'' is shown to have none.
    """

    second: str
    affine: bool
    polynomial_degree: int | None
    curvature: sp.Expr | None
    unbounded: bool

    @property
    def convex(self) -> bool:
        """F'' >= 0 everywhere, and > 0 except at single points: strictly convex."""
        return self.second in (">0", ">=0")

    @property
    def decided(self) -> bool:
        """Whether the signs of F'' are known."""
        return self.second != "undecided"

    @property
    def concave(self) -> bool:
        """The mirror image."""
        return self.second in ("<0", "<=0")


@lru_cache(maxsize=256)
def shape_of(text: str) -> Shape:
    """The shape of a formula F."""
    function = sympy_function(text)
    second = sp.diff(function, U, 2)
    degree = sp.Poly(function, U).degree() if function.is_polynomial(U) else None
    flat = sp.simplify(second)
    ends = [_limit(_end(flat, sign)) for sign in (-1, 1)]
    unbounded = any(end is not None and end.is_infinite for end in ends)
    top = None if unbounded else _largest(flat, ends)
    return Shape(sign_on_reals(second), flat == 0, degree, top, unbounded)


def _largest(second: sp.Expr, ends: list[sp.Expr | None]) -> sp.Expr | None:
    """A bound of |F''| where one is exact: its value at 0 or at an end, or a whole number near; else None."""
    if not second.free_symbols:
        return sp.Abs(second)
    least = sp.Max(*(sp.Abs(v) for v in (second.subs(U, 0), *ends) if v is not None and v.is_rational), 0)
    for bound in sorted({least, sp.ceiling(least), sp.ceiling(least) + 1, sp.Max(least, 2)}):
        if all(sign_on_reals(bound + side * second) in (">0", ">=0") for side in (-1, 1)):
            return bound
    return None


def power_of(text: str) -> int | None:
    """p for the formula u^p with a whole p >= 1, else None."""
    function = sympy_function(text)
    degree = shape_of(text).polynomial_degree
    return degree if degree and degree >= 1 and sp.expand(function - U**degree) == 0 else None


# ---------------------------------------------------------------- growth


@lru_cache(maxsize=256)
def growth(text: str) -> tuple[sp.Expr, sp.Expr] | None:
    """lim F(u)/|u| for u to -∞ and to +∞ (numbers or ±oo), or None if a limit is not found.

    Where F is strictly convex, F' takes exactly the values strictly between minus the first and the second.
    """
    found = tuple(_limit(_towards(text, sign) / _x) for sign in (-1, 1))
    return found if all(r is not None for r in found) else None  # type: ignore[return-value]


@lru_cache(maxsize=256)
def bounded_slopes(text: str) -> sp.Set | None:
    """The weights w for which F(u) - w u is bounded below on all of the reals, exactly; None if undecided.

    F must be continuous: then only its growth at both ends matters.
    """
    rates = growth(text)
    if rates is None:
        return None
    left, right = rates
    # an end belongs to the set if F minus its own asymptote stays bounded below
    closed = []
    for sign, rate in ((-1, left), (1, right)):
        rest = _limit(_towards(text, sign) - rate * _x) if rate.is_finite else sp.S.NegativeInfinity
        if rest is None:
            return None
        closed.append(rest != sp.S.NegativeInfinity)
    if -left > right:
        return sp.S.EmptySet
    return sp.Interval(-left, right, left_open=not closed[0], right_open=not closed[1])


def _towards(text: str, sign: int) -> sp.Expr:
    return _end(sympy_function(text), sign)


def _end(function: sp.Expr, sign: int) -> sp.Expr:
    """The function at ± x for x > 0, written with exponentials, whose limits SymPy takes reliably."""
    return sp.simplify(function.rewrite(sp.exp).subs(U, sign * _x))


def _limit(expression: sp.Expr) -> sp.Expr | None:
    """The limit for x to oo, a real number or ±oo, else None."""
    try:
        found = sp.limit(sp.simplify(expression), _x, sp.oo)
    except (NotImplementedError, ValueError, TypeError, sp.PoleError):
        return None
    return found if found.is_extended_real else None


def _where(polynomial: sp.Expr, roots: list[sp.Expr], sign: int) -> sp.Set:
    """Where a polynomial has a sign, from its real roots in order: SymPy's own answer is wrong for some
    cubics, whose roots it writes with complex numbers.
    """
    found = [
        sp.Interval.open(sp.S.NegativeInfinity if left is None else left, sp.oo if right is None else right)
        for left, right in pairwise([None, *roots, None])
        if sp.sign(polynomial.subs(U, _between(left, right, None))) == sign
    ]
    return sp.Union(*found)


def local_kinds(text: str) -> dict[str, sp.Set] | None:
    """Where c is a strict local minimum, a strict local maximum or neither of u ↦ F(u) - F'(c) u; None if not
    decided.

    For polynomials of degree two and more: by the sign of F'', and at its zeros by the first derivative that
    does not vanish.
    """
    if (shape_of(text).polynomial_degree or 0) < 2:
        return None
    function = sympy_function(text)
    second = sp.diff(function, U, 2)
    roots = sorted(_roots(second, U, sp.S.Reals))
    kinds: dict[str, sp.Set] = {
        "minimum": _where(second, roots, 1),
        "maximum": _where(second, roots, -1),
        "neither": sp.S.EmptySet,
    }
    for root in roots:
        order = next(
            k for k in range(3, sp.degree(function, U) + 1) if sp.diff(function, U, k).subs(U, root) != 0
        )
        value = sp.diff(function, U, order).subs(U, root)
        kind = "neither" if order % 2 else "minimum" if value > 0 else "maximum"
        kinds[kind] = sp.Union(kinds[kind], sp.FiniteSet(root))
    return kinds
