"""Guarded differentiation: every derivative is computed twice, by routes that share nothing.

Route one is index calculus: ∂T[i, j]/∂T[p, q] = δ_ip δ_jq, the product and chain rules, and sums commute with
the derivative. Route two writes the expression out at a small size with SymPy symbols and differentiates the
components, functions and powers with SymPy. A disagreement is an error, never a choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyRing

from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.functions import sympy_root


class DerivativeMismatch(ArithmeticError):
    """The two routes to a derivative disagree."""


class UnexpectedZero(ArithmeticError):
    """A derivative vanishes identically and the caller gave no reason why it may."""


def gradient(expr: ix.Expr, tensor: ix.Tensor, at: tuple[ix.Index, ...], zero_because: str = "") -> ix.Expr:
    """∂ expr / ∂ tensor[at], checked against components at sizes 2, 3, 2, ….

    ``at`` must be indices that do not occur in ``expr``. Raises DerivativeMismatch when the routes disagree,
    UnexpectedZero when the derivative is identically zero and no reason is given.
    """
    if set(at) & {i for node in ix.walk(expr) for i in _indices(node)}:
        raise ValueError("differentiate at indices that do not occur in the expression")
    result = index_route(expr, tensor, at)
    if _is_num(result, 0) and not zero_because:
        raise UnexpectedZero(f"the derivative by {tensor.name} is identically zero")
    if tensor in ix.tensors(expr):
        _compare_with_components(expr, tensor, at, result)
    return result


def _indices(node: ix.Expr) -> Iterable[ix.Index]:
    match node:
        case ix.At(_, indices):
            return indices
        case ix.Sum(index, _):
            return (index,)
        case ix.Delta(left, right):
            return (left, right)
    return ()


def _is_num(expr: ix.Expr, value: int) -> bool:
    return isinstance(expr, ix.Num) and expr.value == value


def index_route(expr: ix.Expr, tensor: ix.Tensor, at: tuple[ix.Index, ...]) -> ix.Expr:
    """∂expr/∂tensor[at] by the rules of index calculus alone: the first route of ``gradient``, which compares
    it.

    Use it unguarded only where a wrong derivative would be found out. Raises ValueError for a symmetric
    tensor.
    """

    def d(node: ix.Expr) -> ix.Expr:
        match node:
            case ix.At(t, indices) if t == tensor:
                return _deltas(tensor, indices, at)
            case ix.Num() | ix.Dim() | ix.At() | ix.Delta():
                return ix.Num(Fraction(0))
            case ix.Add(args):
                return _add([d(a) for a in args])
            case ix.Mul(args):
                return _add([_mul([*args[:n], d(a), *args[n + 1 :]]) for n, a in enumerate(args)])
            case ix.Pow(base, exponent):
                return _mul([ix.Num(exponent), ix.Pow(base, exponent - 1), d(base)])
            case ix.Call("exp", arg, _):
                return _mul([node, d(arg)])
            case ix.Call("log", arg, 0):
                return _mul([ix.Pow(arg, Fraction(-1)), d(arg)])
            case ix.Call(function, arg, order):
                return _mul([ix.Call(function, arg, order + 1), d(arg)])
            case ix.Sum(index, body):
                inner = d(body)
                return inner if _is_num(inner, 0) else ix.Sum(index, inner)
        raise TypeError(f"not an index expression: {node!r}")

    return d(expr)


def _deltas(tensor: ix.Tensor, indices: tuple[ix.Index, ...], at: tuple[ix.Index, ...]) -> ix.Expr:
    if tensor.symmetric:
        raise ValueError(f"{tensor.name} is symmetric: its entries are not independent variables")
    return _mul([ix.Delta(i, p) for i, p in zip(indices, at, strict=True) if i.dim != "1"])


def _add(args: list[ix.Expr]) -> ix.Expr:
    args = [a for a in args if not _is_num(a, 0)]
    if not args:
        return ix.Num(Fraction(0))
    return args[0] if len(args) == 1 else ix.Add(tuple(args))


def _mul(args: list[ix.Expr]) -> ix.Expr:
    if any(_is_num(a, 0) for a in args):
        return ix.Num(Fraction(0))
    args = [a for a in args if not _is_num(a, 1)]
    if not args:
        return ix.Num(Fraction(1))
    return args[0] if len(args) == 1 else ix.Mul(tuple(args))


@lru_cache(maxsize=4096)
def _symbol(name: str, entry: tuple[int, ...], positive: bool) -> sp.Symbol:
    return sp.Symbol(f"{name}_{'_'.join(map(str, entry))}", positive=True if positive else None, real=True)


def sympy_lookup(tensor: ix.Tensor, entry: tuple[int, ...]) -> sp.Symbol:
    """One SymPy symbol for each entry; symmetric tensors share the symbols across the diagonal."""
    return _symbol(tensor.name, tuple(sorted(entry)) if tensor.symmetric else entry, tensor.positive)


class _SympyFunctions(dict[str, Any]):
    """exp, log and roots as SymPy has them; any other name as an undefined function and its derivatives."""

    def __missing__(self, name: str) -> Any:
        if name == "root":
            return sympy_root
        if name in ("exp", "log"):
            return lambda arg, order: sp.diff(getattr(sp, name)(_X), _X, order).subs(_X, arg)
        return lambda arg, order: sp.Function(f"{name}_d{order}")(arg)


_X = sp.Symbol("x_argument")
SYMPY_FUNCTIONS = _SympyFunctions()


def _compare_with_components(
    expr: ix.Expr, tensor: ix.Tensor, at: tuple[ix.Index, ...], result: ix.Expr
) -> None:
    dims = sorted({i.dim for e in (expr, result) for n in ix.walk(e) for i in _indices(n)} | set(tensor.dims))
    sizes = {
        dim: (2 if n % 2 == 0 else 3) if len(dims) < 4 else 2 for n, dim in enumerate(dims) if dim != "1"
    }
    for node in ix.walk(expr):
        if isinstance(node, ix.Dim):
            sizes.setdefault(node.name, 2)
    free = sorted(ix.free_indices(expr), key=lambda i: i.name)
    where = {i: (0 if n % 2 == 0 else sizes.get(i.dim, 1) - 1) for n, i in enumerate(free)}
    whole = sp.sympify(evaluate(expr, sizes, sympy_lookup, SYMPY_FUNCTIONS, where))
    for entry in product(*(range(sizes.get(d, 1)) for d in tensor.dims)):
        direct = _sympy_derivative(whole, sympy_lookup(tensor, entry))
        ours = sp.sympify(
            evaluate(
                result, sizes, sympy_lookup, SYMPY_FUNCTIONS, {**where, **dict(zip(at, entry, strict=True))}
            )
        )
        if not _same(direct, ours):
            raise DerivativeMismatch(
                f"∂/∂{tensor.name}{list(entry)}: index calculus gives {ours}, components give {direct}"
            )


def _sympy_derivative(whole: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """SymPy's derivative, with F_d0'(…) written as F_d1(…) so that it can be compared.

    Sums and products are taken apart first: SymPy would differentiate each of their parts, also those without
    the symbol.
    """
    if symbol not in whole.free_symbols:
        return sp.S.Zero
    if whole.is_Add:
        return sp.Add(*(_sympy_derivative(term, symbol) for term in whole.args))
    if whole.is_Mul:
        changed = [n for n, factor in enumerate(whole.args) if symbol in factor.free_symbols]
        parts = whole.args
        return sp.Add(
            *(sp.Mul(*parts[:n], _sympy_derivative(parts[n], symbol), *parts[n + 1 :]) for n in changed)
        )
    derivative = sp.diff(whole, symbol).doit()
    if not derivative.has(sp.Subs, sp.Derivative):
        return derivative
    derivative = derivative.replace(
        lambda e: isinstance(e, sp.Subs),
        lambda e: _raise_order(e.expr.expr.func, len(e.variables))(e.point[0]),
    )
    return derivative.replace(
        lambda e: isinstance(e, sp.Derivative), lambda e: _raise_order(e.expr.func, 1)(e.expr.args[0])
    )


def _raise_order(function: Any, by: int) -> Any:
    name, order = function.__name__.rsplit("_d", 1)
    return sp.Function(f"{name}_d{int(order) + by}")


def _same(left: sp.Expr, right: sp.Expr) -> bool:
    difference = left - right
    symbols = sorted(difference.free_symbols, key=str)
    if symbols and difference.is_polynomial(*symbols):
        with suppress(ValueError):  # coefficients such as roots
            # multiplied out by operations on polynomials: far quicker than by rewriting sums
            return not PolyRing(symbols, sp.QQ).from_expr(difference)
    difference = sp.expand(difference).replace(sp.sign, lambda x: x / sp.Abs(x))  # as index calculus has it
    return difference == 0 or sp.simplify(difference) == 0
