"""Exact instances: small random rational values for the symbols of a statement.

Instances are seeded, so a run can be repeated. A symbol that a hypothesis defines is computed, not drawn.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from checks.statement import Given
from derivations import index as ix
from derivations.components import NotExact, evaluate
from derivations.exact import EXACT_FUNCTIONS
from derivations.index import Index, Tensor

_POOL = [Fraction(n) for n in (-2, -1, 1, 2, 3)] + [Fraction(1, 2), Fraction(-1, 2), Fraction(0)]
_POSITIVE = [Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2)]


class _Functions(dict):
    """exp and roots exactly; an unknown function is a fixed polynomial of degree four with rational coefficients."""

    def __missing__(self, name: str) -> Any:
        if name == "log":
            raise NotExact("log is not exact here")
        rng = random.Random(f"function {name}")
        coefficients = [Fraction(rng.choice([-2, -1, 1, 2, 3]), rng.choice([1, 2])) for _ in range(5)]

        def value(arg: Any, order: int) -> Any:
            own = coefficients
            for _ in range(order):
                own = [c * n for n, c in enumerate(own)][1:]
            result: Any = Fraction(0)
            for c in reversed(own):
                result = result * arg + c
            return result

        return value


FUNCTIONS = _Functions(EXACT_FUNCTIONS)


class Instance:
    """Values for the symbols of some expressions at given sizes; ``given`` tensors follow from their definitions."""

    def __init__(
        self,
        sizes: Mapping[str, int],
        values: dict[tuple[Tensor, tuple[int, ...]], Any],
        given: tuple[Given, ...],
    ):
        self.sizes = sizes
        self.values = values
        self._given = {g.tensor: g for g in given}
        self._computed: dict[tuple[Tensor, tuple[int, ...]], Any] = {}

    def lookup(self, tensor: Tensor, entry: tuple[int, ...]) -> Any:
        """The value of one entry."""
        if tensor in self._given:
            if (tensor, entry) not in self._computed:
                rule = self._given[tensor]
                where = dict(zip(rule.at, entry, strict=True))
                self._computed[tensor, entry] = self.evaluate(rule.value.entry(), where)
            return self._computed[tensor, entry]
        return self.values[tensor, tuple(sorted(entry)) if tensor.symmetric else entry]

    def evaluate(self, expr: ix.Expr, at: Mapping[Index, int] | None = None) -> Any:
        """The exact value of an expression. Raises NotExact or ZeroDivisionError."""
        return evaluate(expr, self.sizes, self.lookup, FUNCTIONS, at)


def base_tensors(expressions: list[ix.Expr], given: tuple[Given, ...]) -> list[Tensor]:
    """The tensors that an instance must draw: those that occur, through definitions, and are not defined."""
    rules = {g.tensor: g for g in given}
    found: set[Tensor] = set()
    todo = [t for e in expressions for t in ix.tensors(e)]
    seen: set[Tensor] = set()
    while todo:
        tensor = todo.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in rules:
            todo += list(ix.tensors(rules[tensor].value.entry()))
        else:
            found.add(tensor)
    return sorted(found, key=lambda t: (t.name, t.dims))


def dimensions(expressions: list[ix.Expr], given: tuple[Given, ...]) -> list[str]:
    """All dimension names that matter for an instance."""
    dims: set[str] = set()
    for e in [*expressions, *(g.value.entry() for g in given)]:
        for node in ix.walk(e):
            match node:
                case ix.At(tensor, _):
                    dims |= set(tensor.dims)
                case ix.Sum(index, _):
                    dims.add(index.dim)
                case ix.Dim(name):
                    dims.add(name)
                case ix.Delta(left, _):
                    dims.add(left.dim)
    return sorted(dims - {"1"})


def draw(
    rng: random.Random, tensors: list[Tensor], sizes: Mapping[str, int], pool: list[Fraction] | None = None
) -> dict:
    """Random values for all entries; promised positive ones are positive."""
    values: dict[tuple[Tensor, tuple[int, ...]], Any] = {}
    for tensor in tensors:
        for entry in product(*(range(sizes[d] if d != "1" else 1) for d in tensor.dims)):
            key = tuple(sorted(entry)) if tensor.symmetric else entry
            if tensor.positive:
                values.setdefault((tensor, key), rng.choice(_POSITIVE))
            else:
                values.setdefault((tensor, key), rng.choice(pool or _POOL))
    return values


def describe(instance: Instance, at: Mapping[Index, int]) -> str:
    """An instance in words: sizes, values, indices."""
    lines = []
    sizes = ", ".join(f"{d} = {n}" for d, n in instance.sizes.items())
    if sizes:
        lines.append(sizes)
    names: dict[Tensor, dict[tuple[int, ...], Any]] = {}
    for (tensor, entry), value in sorted(
        instance.values.items(), key=lambda item: (item[0][0].name, item[0][1])
    ):
        names.setdefault(tensor, {})[entry] = value
    for tensor, entries in names.items():
        lines.append(f"{tensor.name} = {_nested(entries, len(tensor.dims))}")
    if at:
        lines.append("at " + ", ".join(f"{i.name.split('#')[0]} = {n + 1}" for i, n in at.items()))
    return "; ".join(lines)


def _nested(entries: dict[tuple[int, ...], Any], depth: int) -> str:
    if depth == 0:
        return str(entries[()])
    if depth == 1:
        return "(" + ", ".join(str(v) for _, v in sorted(entries.items())) + ")"
    rows: dict[int, dict[tuple[int, ...], Any]] = {}
    for entry, value in entries.items():
        rows.setdefault(entry[0], {})[entry[1:]] = value
    return "[" + ", ".join(_nested(r, depth - 1) for _, r in sorted(rows.items())) + "]"
