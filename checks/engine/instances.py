"""Exact instances: small random rational values for the symbols of a statement.

Instances are seeded, so a run can be repeated. A symbol that a hypothesis defines is computed, not drawn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any

from checks.statement import Given, Malformed
from derivations.calculus import exact, order
from derivations.calculus import index as ix
from derivations.calculus.balls import Ball, agree
from derivations.calculus.components import Known, NotExact, evaluate
from derivations.calculus.functions import BALL_FUNCTIONS, EXACT_FUNCTIONS, EXPONENT, is_unknown
from derivations.calculus.index import Index, Tensor
from derivations.calculus.naming import size_words
from derivations.calculus.unicode import unicode_math

SMALL = [Fraction(1), Fraction(2), Fraction(-1), Fraction(0), Fraction(3)]
EXPONENTS = [Fraction(n) for n in (1, 2, 3, 4)]
POOL = [Fraction(n) for n in (-2, -1, 1, 2, 3)] + [Fraction(1, 2), Fraction(-1, 2), Fraction(0)]


class _Functions(dict[str, Any]):
    """The functions with a meaning; an unknown one is a fixed polynomial of degree four with rational
    coefficients.
    """

    def __missing__(self, name: str) -> Any:
        if not is_unknown(name):
            raise NotExact(f"no values of {name} are known")
        coefficients = _coefficients(name)

        def value(arg: Any, order: int) -> Any:
            own = coefficients
            for _ in range(order):
                own = [c * n for n, c in enumerate(own)][1:]
            result: Any = Fraction(0)
            for c in reversed(own):
                result = result * arg + c
            return result

        return value


def _coefficients(name: str) -> list[Fraction]:
    """The coefficients of the polynomial that stands for an unknown function, that of degree 0 first."""
    rng = random.Random(f"function {name}")
    return [Fraction(rng.choice([-2, -1, 1, 2, 3]), rng.choice([1, 2])) for _ in range(5)]


def _power_of(exponent: Fraction, root: Any) -> Any:
    """u^p and its derivatives for a number p."""

    def value(arg: Any, order: int) -> Any:
        factor, left = Fraction(1), exponent
        for _ in range(order):
            factor, left = factor * left, left - 1
        if factor == 0:
            return factor
        return factor * (arg ** int(left) if left.denominator == 1 and left >= 0 else root(arg, left))

    return value


FUNCTIONS = _Functions(EXACT_FUNCTIONS)
_BALLS = _Functions(BALL_FUNCTIONS)


class Instance:
    """Values for the symbols of some expressions at given sizes; ``given`` tensors follow from their
    definitions.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        values: Mapping[tuple[Tensor, tuple[int, ...]], Any],
        given: tuple[Given, ...],
    ):
        self.sizes = sizes
        self.values = MappingProxyType(dict(values))  # what has been evaluated is kept
        self.given = given
        self._rules = {g.tensor: (g.at, g.value.entry()) for g in given}
        self._known: tuple[Known, Known] = ({}, {})  # exact, in balls
        self._computed: dict[tuple[bool, Tensor, tuple[int, ...]], Any] = {}

    def lookup(self, tensor: Tensor, entry: tuple[int, ...], balls: bool = False) -> Any:
        """The value of one entry."""
        if tensor in self._rules:
            if (balls, tensor, entry) not in self._computed:
                places, meaning = self._rules[tensor]
                where = dict(zip(places, entry, strict=True))
                value = self._evaluate(meaning, where, balls)
                self._computed[balls, tensor, entry] = value
            return self._computed[balls, tensor, entry]
        if order.is_mask(tensor):
            return order.value(tensor, entry)
        value = self.values[tensor, tuple(sorted(entry)) if tensor.symmetric else entry]
        return Ball.of(value) if balls else value

    def _evaluate(self, expr: ix.Expr, at: Mapping[Index, int] | None, balls: bool) -> Any:
        functions = _BALLS if balls else FUNCTIONS
        if (EXPONENT, ()) in self.values:
            functions = _Functions(functions)
            functions["power"] = _power_of(self.values[EXPONENT, ()], functions["root"])
        known = self._known[balls]
        return evaluate(expr, self.sizes, lambda t, e: self.lookup(t, e, balls), functions, at, known)

    def evaluate(self, expr: ix.Expr, at: Mapping[Index, int] | None = None) -> Any:
        """The exact value of an expression. Raises NotExact or ZeroDivisionError."""
        return self._evaluate(expr, at, False)

    def ball(self, expr: ix.Expr, at: Mapping[Index, int] | None = None) -> Ball:
        """The value of an expression in balls. Raises NotExact or ZeroDivisionError."""
        return Ball.of(self._evaluate(expr, at, True))

    def value(self, expr: ix.Expr, at: Mapping[Index, int] | None = None) -> Any:
        """The exact value of an expression, or a ball where it has none. Raises NotExact or
        ZeroDivisionError.
        """
        try:
            return self._evaluate(expr, at, False)
        except NotExact:
            return self._evaluate(expr, at, True)

    def same(self, left: ix.Expr, right: ix.Expr, at: Mapping[Index, int] | None = None) -> bool | None:
        """Whether two expressions have one value here; None where one is undefined or nothing can be said.

        False is certain. True is exact, or says that two balls of 256 bits meet.
        """
        try:
            return bool(self.evaluate(left, at) == self.evaluate(right, at))
        except ZeroDivisionError:
            return None
        except NotExact:
            pass
        try:
            return agree(self._evaluate(left, at, True), self._evaluate(right, at, True))
        except (NotExact, ZeroDivisionError):
            return None

    def sign(self, expr: ix.Expr, at: Mapping[Index, int] | None = None) -> int | None:
        """The certain sign of an expression here; None where it is undefined or its ball meets zero."""
        try:
            return exact.sign(self.value(expr, at))
        except (NotExact, ZeroDivisionError):
            return None

    def admissible(self, nonzero: tuple[Tensor, ...] = ()) -> bool:
        """Whether no entry of a tensor that is assumed not to vanish does so here; one without a value here
        occurs in nothing that is looked at.
        """
        for tensor in nonzero:
            held = any(tensor == other for other, _ in self.values) or tensor in self._rules
            if not (held or order.is_mask(tensor)):
                continue
            at = tuple(Index(f"p{n}#", d) for n, d in enumerate(tensor.dims))
            for entry in (
                entries_of(tensor.dims, self.sizes) if set(tensor.dims) <= {*self.sizes, "1"} else []
            ):
                if self.sign(ix.At(tensor, at), dict(zip(at, entry, strict=True))) in (0, None):
                    return False
        return True


def entries_of(dims: tuple[str, ...], sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Every position in an array of these dimensions; a dimension without a size counts as one."""
    return product(*(range(sizes[d] if d != "1" else 1) for d in dims))


def base_tensors(expressions: list[ix.Expr], given: tuple[Given, ...]) -> list[Tensor]:
    """The tensors that an instance must draw: those that occur, through definitions, and are not defined."""
    rules = {g.tensor: g for g in given}
    found: set[Tensor] = set()
    everything = [*expressions, *(g.value.entry() for g in given)]
    if any(isinstance(n, ix.Call) and n.function == "power" for e in everything for n in ix.walk(e)):
        found.add(EXPONENT)
    todo = [t for e in expressions for t in ix.tensors(e)]
    seen: set[Tensor] = set()
    while todo:
        tensor = todo.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in rules:
            todo += list(ix.tensors(rules[tensor].value.entry()))
        elif not order.is_mask(tensor):
            found.add(tensor)
    return sorted(found, key=lambda t: (t.name, t.dims))


def ones(dims: Iterable[str]) -> dict[str, int]:
    """Every size 1. Raises Malformed where one that is written with others, as N - 1 is, would be another
    number.
    """
    sizes = dict.fromkeys(dims, 1)
    if as_written(sizes) != sizes:
        raise Malformed("not all sizes can be 1: one is written with another")
    return sizes


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
    rng: random.Random,
    tensors: list[Tensor],
    sizes: Mapping[str, int],
    pool: list[Fraction] | None = None,
    nonzero: tuple[Tensor, ...] = (),
) -> dict[Any, Any]:
    """Random values for all entries, from a pool or anywhere; those promised positive or nonzero are so."""
    values: dict[tuple[Tensor, tuple[int, ...]], Any] = {}
    for tensor in tensors:
        for entry in entries_of(tensor.dims, sizes):
            key = tuple(sorted(entry)) if tensor.symmetric else entry
            value = _drawn(rng, tensor, pool)
            while tensor in nonzero and value == 0:
                value = _drawn(rng, tensor, pool)
            values.setdefault((tensor, key), value)
    return values


def _drawn(rng: random.Random, tensor: Tensor, pool: list[Fraction] | None) -> Fraction:
    if tensor == EXPONENT:
        return rng.choice(EXPONENTS)
    if pool is None:
        value = Fraction(rng.randint(1, 99), rng.randint(1, 7))
        return value if tensor.positive else value * rng.choice((1, -1))
    return rng.choice([v for v in pool if v > 0] if tensor.positive else pool)


LARGER = (5, 12)
"""Sizes that are tried besides where there is nothing but sizes."""


def _size_choices(
    dims: list[str], expressions: list[ix.Expr], fixed: dict[str, int], larger: tuple[int, ...]
) -> Iterator[dict[str, int]]:
    """Sizes from small to ``larger``; a dimension under a root takes sizes whose root is rational."""
    powers = {d: 1 for d in dims}
    for e in expressions:
        for node in ix.walk(e):
            if isinstance(node, ix.Pow) and node.exponent.denominator > 1:
                for inner in ix.walk(node.base):
                    if isinstance(inner, ix.Dim):
                        powers[inner.name] = max(powers.get(inner.name, 1), node.exponent.denominator)
    choices = [
        {d: fixed.get(d, (min(base, 2) ** powers[d]) if powers[d] > 1 else base) for d in dims}
        for base in (1, 2, 3, *larger)
    ]
    choices.append(
        {d: fixed.get(d, (2 ** powers[d]) if powers[d] > 1 else 2 + n % 2) for n, d in enumerate(dims)}
    )
    yield from (sizes for sizes in map(as_written, choices) if sizes is not None)


def as_written(sizes: dict[str, int]) -> dict[str, int] | None:
    """The sizes, with those whose names are written with others, as N - 1 and 2N are, as these say; None
    where one of them would be no size.
    """
    found = dict(sizes)
    for name in sorted(sizes, key=len):
        value = _value(name, found)
        if value is not None and (value.denominator != 1 or value < 1):
            return None
        found[name] = int(value) if value is not None else found[name]
    return found


def _value(name: str, sizes: dict[str, int]) -> Fraction | None:
    """What a name says of other sizes: sums and differences of products; None where it is a letter of its
    own.
    """
    words = size_words(name)
    if len(words) == 1 or not all(w in "+-/" or w.isdigit() or w in sizes for w in words):
        return None
    total, term, sign, divides = Fraction(0), None, 1, False
    for word in [*words, "+"]:
        if word in "+-":
            total, term = total + sign * (term if term is not None else 0), None
            sign, divides = (1 if word == "+" else -1), False
        elif word == "/":
            divides = True
        else:
            factor = Fraction(int(word) if word.isdigit() else sizes[word])
            term = (term if term is not None else Fraction(1)) * (1 / factor if divides else factor)
            divides = False
    return total


def exact_instances(
    expressions: list[ix.Expr],
    given: tuple[Given, ...],
    seed: int,
    tries: int,
    small: bool,
    fixed: dict[str, int] | None = None,
    nonzero: tuple[Tensor, ...] = (),
    spread: bool = False,
) -> Iterator[tuple[Instance, list[dict[Index, int]]]]:
    """Random values of all symbols of the expressions at which every promise holds, with up to nine choices
    of their free indices for each.

    ``tries`` instances for every size, sizes from 1 to 3 (``fixed`` sets some), and larger ones of what is
    about sizes alone; ``small`` draws small integers only, else every third instance has values from
    anywhere. They come size by size, or with ``spread`` one of each size in turn.
    """
    rng = random.Random(f"{seed} instances")
    promised = [g.value.entry() for g in given if g.tensor in nonzero]
    tensors = base_tensors([*expressions, *promised], given)
    nonzero = tuple(t for t in nonzero if t in tensors or t in {g.tensor for g in given})
    everything = [*expressions, *(g.value.entry() for g in given)]
    loose = sorted(set().union(*(ix.free_indices(e) for e in expressions)), key=lambda i: i.name)
    dims = sorted({*dimensions(expressions, given), *(i.dim for i in loose)} - {"1"})
    every = list(_size_choices(dims, everything, fixed or {}, () if tensors else LARGER))
    turns = [(turn, sizes) for sizes in every for turn in range(tries)]
    for turn, sizes in sorted(turns, key=lambda t: t[0]) if spread else turns:
        points = [
            dict(zip(loose, p, strict=True)) for p in product(*(range(sizes.get(i.dim, 1)) for i in loose))
        ]
        pool = SMALL if small else POOL if turn % 3 else None
        instance = Instance(sizes, draw(rng, tensors, sizes, pool, nonzero), given)
        if instance.admissible(nonzero):
            yield instance, (points if len(points) <= 9 else rng.sample(points, 9))


def solved(instance: Instance, expr: ix.Expr, at: dict[Index, int]) -> Iterator[Instance]:
    """The instance with one entry changed such that the expression vanishes there, entry by entry."""
    values = dict(instance.values)
    read = _entries_read(instance, expr, at)
    for key, before in values.items():
        if read is not None and key not in read:
            continue
        trials = []
        for value in (Fraction(0), Fraction(1)):
            trial = Instance(instance.sizes, {**values, key: value}, instance.given)
            try:
                trials.append(trial.evaluate(expr, at))
            except (NotExact, ZeroDivisionError):
                break
        if len(trials) == 2 and all(isinstance(t, Fraction) for t in trials) and trials[0] != trials[1]:
            root = trials[0] / (trials[0] - trials[1])
            if root != before and not (key[0].positive and root <= 0):
                yield Instance(instance.sizes, {**values, key: root}, instance.given)


class _Noted(dict[Any, Any]):
    """A mapping that keeps which of its keys were asked for."""

    def __init__(self, values: Mapping[Any, Any]):
        super().__init__(values)
        self.asked: set[Any] = set()

    def __getitem__(self, key: Any) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)


def _entries_read(instance: Instance, expr: ix.Expr, at: dict[Index, int]) -> set[Any] | None:
    """The entries of which an expression is evaluated: no other one, changed alone, changes its value. None
    where it has no value, so that the evaluation may have stopped before it came to some.
    """
    again, noted = Instance(instance.sizes, {}, instance.given), _Noted(instance.values)
    again.values = MappingProxyType(noted)
    try:
        again.evaluate(expr, at)
    except (NotExact, ZeroDivisionError):
        return None
    return noted.asked


def describe(instance: Instance, at: Mapping[Index, int], *expressions: ix.Expr) -> str:
    """An instance in words: sizes, values, the unknown functions of the expressions, indices."""
    lines = []
    sizes = ", ".join(f"{d} = {n}" for d, n in instance.sizes.items())
    if sizes:
        lines.append(sizes)
    names: dict[Tensor, dict[tuple[int, ...], Any]] = {}
    for (tensor, entry), value in sorted(
        instance.values.items(), key=lambda item: (item[0][0].name, item[0][1])
    ):
        names.setdefault(tensor, {})[entry] = value
        if tensor.symmetric:  # drawn once for both
            names[tensor][entry[::-1]] = value
    for tensor, entries in names.items():
        lines.append(f"{unicode_math(tensor.symbol)} = {_nested(entries, len(tensor.dims))}")
    lines += polynomials(*expressions, *(g.value.entry() for g in instance.given))
    named = {i: n + 1 for i, n in at.items() if not re.match(r"e\d+#", i.name)}
    place = ", ".join(str(n + 1) for i, n in at.items() if i not in named)
    if named:
        lines.append("at " + ", ".join(f"{i.latex.strip()} = {n}" for i, n in named.items()))
    if place:
        lines.append(f"entry ({place})" if "," in place else f"entry {place}")
    return "; ".join(lines)


def said_at(where: str, words: str) -> str:
    """What is said of a place; alone where no symbol has a value, so that nothing describes it."""
    return ": ".join(filter(None, (where, words)))


def polynomials(*expressions: ix.Expr) -> list[str]:
    """What stands for each unknown function of some expressions."""
    calls = {n.function for e in expressions for n in ix.walk(e) if isinstance(n, ix.Call)}
    return [f"{name}(t) = {_polynomial(_coefficients(name))}" for name in sorted(filter(is_unknown, calls))]


def assigned(values: Iterable[tuple[str, Any]], tensors: Iterable[Tensor]) -> str:
    """Values by the names of tensors, in words: with their symbols."""
    symbols = {t.name: unicode_math(t.symbol) for t in tensors}
    return ", ".join(f"{symbols.get(name, name)} = {value}" for name, value in values)


def _polynomial(coefficients: list[Fraction]) -> str:
    """A polynomial in t whose coefficients are not 0, that of degree 0 first."""
    first, *others = coefficients
    powers = ("t", *(f"t{n}" for n in "²³⁴"))
    terms = (
        f" {'-' if c < 0 else '+'} {'' if abs(c) == 1 else f'{abs(c)} '}{power}"
        for c, power in zip(others, powers, strict=True)
    )
    return f"{first}{''.join(terms)}"


def _nested(entries: dict[tuple[int, ...], Any], depth: int) -> str:
    if depth == 0:
        return str(entries[()])
    if depth == 1:
        return "(" + ", ".join(str(v) for _, v in sorted(entries.items())) + ")"
    rows: dict[int, dict[tuple[int, ...], Any]] = {}
    for entry, value in entries.items():
        rows.setdefault(entry[0], {})[entry[1:]] = value
    return "[" + ", ".join(_nested(r, depth - 1) for _, r in sorted(rows.items())) + "]"
