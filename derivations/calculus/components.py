"""Evaluation of index expressions entry by entry, at small sizes, in any exact arithmetic.

Node by node on purpose: this is the route that shares nothing with the normal form, so that the two can
check each other. Values may be Fractions, ``derivations.calculus.exact.Exponential`` numbers, SymPy
expressions, Arb balls or floats: whatever the look-up returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any, NamedTuple
from weakref import ref

from derivations.calculus import index as ix

Lookup = Callable[[ix.Tensor, tuple[int, ...]], Any]
Functions = Mapping[str, Callable[[Any, Any], Any]]


Known = dict[int, tuple[ix.Sum | None, dict[tuple[int | None, ...], Any]]]
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
    called as root(argument, exponent), gives rational powers. Raises KeyError for a size, function or index
    value that is missing, ZeroDivisionError where the expression is not defined. With ``known``, a sum is
    evaluated once for each choice of the indices that it does not bind, also in further calls with the same
    sizes, values and functions.
    """
    slots, program = _compiled(expr)
    values = at or {}
    places = [values.get(i, 0 if i.dim == "1" else None) for i in slots]
    return program(places, _Setting(sizes, lookup, functions, known))


class _Setting(NamedTuple):
    sizes: Mapping[str, int]
    lookup: Lookup
    functions: Functions
    known: Known | None


Program = Callable[[list[Any], _Setting], Any]
"""The value of a node, given the values of the indices in their slots."""
_programs: dict[int, tuple[ref[ix.Expr], list[ix.Index], Program]] = {}


def _compiled(expr: ix.Expr) -> tuple[list[ix.Index], Program]:
    """The program of an expression and the indices of its slots, kept as long as the expression lives."""
    place = id(expr)
    if place not in _programs:
        compiler = _Compiler({}, {})
        program = compiler.program(expr)
        alive = ref(expr, lambda _: _programs.pop(place, None))
        _programs[place] = alive, list(compiler.slots), program
    return _programs[place][1:]


@dataclass(frozen=True)
class _Compiler:
    """Makes functions of nodes: a node is looked at once, not each time that it is evaluated."""

    slots: dict[ix.Index, int]
    made: dict[int, Program]

    def program(self, node: ix.Expr) -> Program:
        if id(node) not in self.made:
            self.made[id(node)] = self._make(node)
        return self.made[id(node)]

    def _slot(self, index: ix.Index) -> int:
        return self.slots.setdefault(index, len(self.slots))

    def _make(self, node: ix.Expr) -> Program:
        match node:
            case ix.Num(number):
                return lambda at, use: number
            case ix.Dim(name):
                return lambda at, use: Fraction(use.sizes[name])
            case ix.At(tensor, indices):
                return _entry(tensor, [self._slot(i) for i in indices])
            case ix.Delta(left, right):
                return _delta(self._slot(left), self._slot(right))
            case ix.Add(args):
                return _folded(add, [self.program(a) for a in args], Fraction(0))
            case ix.Mul(args):
                return _folded(mul, [self.program(a) for a in args], Fraction(1))
            case ix.Pow(base, exponent):
                below = self.program(base)
                return lambda at, use: _power(below(at, use), exponent, use.functions)
            case ix.Call(function, arg, order):
                inner = self.program(arg)
                return lambda at, use: use.functions[function](inner(at, use), order)
            case ix.Sum(index, body):
                free = sorted(ix.free_indices(node), key=lambda i: (i.name, i.dim))
                total = _total(index.dim, self._slot(index), self.program(body))
                return _kept(node, [self._slot(i) for i in free], total)
        raise TypeError(f"not an index expression: {node!r}")


def _entry(tensor: ix.Tensor, slots: list[int]) -> Program:
    if len(slots) == 1:
        (one,) = slots
        return lambda at, use: use.lookup(tensor, (at[one],))
    return lambda at, use: use.lookup(tensor, tuple([at[k] for k in slots]))


def _delta(left: int, right: int) -> Program:
    def delta(at: list[Any], use: _Setting) -> Fraction:
        if at[left] is None or at[right] is None:
            raise KeyError("an index has no value")
        return Fraction(int(at[left] == at[right]))

    return delta


def _folded(operation: Callable[[Any, Any], Any], parts: list[Program], empty: Fraction) -> Program:
    if not parts:
        return lambda at, use: empty
    if len(parts) == 2:
        left, right = parts
        return lambda at, use: operation(left(at, use), right(at, use))
    first, *rest = parts

    def folded(at: list[Any], use: _Setting) -> Any:
        value = first(at, use)
        for part in rest:
            value = operation(value, part(at, use))
        return value

    return folded


def _total(dim: str, slot: int, body: Program) -> Program:
    def total(at: list[Any], use: _Setting) -> Any:
        before, terms = at[slot], []
        for at[slot] in range(1 if dim == "1" else use.sizes[dim]):
            terms.append(body(at, use))
        at[slot] = before
        return reduce(add, terms) if terms else Fraction(0)

    return total


def _kept(node: ix.Sum, free: list[int], total: Program) -> Program:
    """The sum, evaluated once for each choice of the indices that it does not bind where values are kept."""
    place, alive = id(node), ref(node)  # a program that held its node would never be given up

    def kept(at: list[Any], use: _Setting) -> Any:
        if use.known is None:
            return total(at, use)
        _, values = use.known.get(place) or use.known.setdefault(place, (alive(), {}))
        where = tuple([at[k] for k in free])
        if where not in values:
            values[where] = total(at, use)
        return values[where]

    return kept


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
