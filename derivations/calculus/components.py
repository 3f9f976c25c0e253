"""Evaluation of index expressions entry by entry, at small sizes, in any exact arithmetic.

Slow and simple on purpose: this is the route that shares nothing with the normal form, so that the two can
check each other. Values may be Fractions, ``derivations.calculus.exact.Exponential`` numbers, SymPy
expressions, Arb balls or floats: whatever the look-up returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

from derivations.calculus import index as ix

Lookup = Callable[[ix.Tensor, tuple[int, ...]], Any]
Functions = Mapping[str, Callable[[Any, Any], Any]]


Known = dict[int, tuple[ix.Sum, tuple[ix.Index, ...], dict[tuple[int | None, ...], Any]]]
"""Values of sums by the node itself (which is held, so that its id stays its own) and by the indices
that it does not bind.
"""


class NotExact(ValueError):
    """A value has no representation in the arithmetic that was asked for."""


def evaluate(
    expr: ix.Expr,
    sizes: Mapping[str, int],
    lookup: Lookup,
    functions: Functions,
    at: Mapping[ix.Index, int] | None = None,
    known: Known | None = None,
) -> Any:
    """The value of ``expr`` at the index values ``at`` (counted from 0).

    ``functions[name](argument, order)`` gives the value of the order-th derivative; ``functions["root"]``,
    called as root(argument, exponent), gives rational powers. Raises KeyError for a size or function that is
    missing, ZeroDivisionError where the expression is not defined. With ``known``, a sum is evaluated once
    for each choice of the indices that it does not bind, also in further calls with the same sizes, values
    and functions.
    """
    at = dict(at or {})

    def value(node: ix.Expr) -> Any:
        match node:
            case ix.Num(number):
                return number
            case ix.Dim(name):
                return Fraction(sizes[name])
            case ix.At(tensor, indices):
                return lookup(tensor, tuple(0 if i.dim == "1" else at[i] for i in indices))
            case ix.Delta(left, right):
                return Fraction(int(at[left] == at[right]))
            case ix.Add(args):
                return reduce(add, map(value, args)) if args else Fraction(0)
            case ix.Mul(args):
                return reduce(mul, map(value, args)) if args else Fraction(1)
            case ix.Pow(base, exponent):
                return _power(value(base), exponent, functions)
            case ix.Call(function, arg, order):
                return functions[function](value(arg), order)
            case ix.Sum(index, body):
                if known is None:
                    return _over(index, body)
                _, free, values = known.get(id(node)) or known.setdefault(id(node), (node, _free(node), {}))
                where = tuple([at.get(i) for i in free])
                if where not in values:
                    values[where] = _over(index, body)
                return values[where]
        raise TypeError(f"not an index expression: {node!r}")

    def _over(index: ix.Index, body: ix.Expr) -> Any:
        before = at.get(index)
        terms = []
        for n in range(1 if index.dim == "1" else sizes[index.dim]):
            at[index] = n
            terms.append(value(body))
        if before is None:
            at.pop(index, None)
        else:
            at[index] = before
        return reduce(add, terms) if terms else Fraction(0)

    return value(expr)


def _free(node: ix.Sum) -> tuple[ix.Index, ...]:
    return tuple(sorted(ix.free_indices(node), key=lambda i: (i.name, i.dim)))


def _power(base: Any, exponent: Fraction, functions: Functions) -> Any:
    if exponent.denominator == 1:
        power = int(exponent)
        base = Fraction(base) if isinstance(base, int) else base
        if power >= 0:
            return base**power
        if isinstance(base, Fraction) and base == 0:
            raise ZeroDivisionError("division by zero")
        return 1 / base**-power
    return functions["root"](base, exponent)
