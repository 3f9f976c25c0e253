"""Values for the symbols of a theorem and of the statement that it is made from: drawn once, used by both."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import mpmath
from reading import Compared, Env, Function, Read, Undefined

from checks.kinds.extremum import Extremum
from checks.kinds.follows import Follows
from checks.kinds.implication import Implication
from checks.statement import Given, tensors_of, terms_of
from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.gradients import Bregman
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import subterms

KNOWN = {
    "exp": lambda x, order: mpmath.exp(x), "log": lambda x, order: mpmath.diff(mpmath.log, x, order),
    "cosh": lambda x, order: (mpmath.sinh if order % 2 else mpmath.cosh)(x),
    "sinh": lambda x, order: (mpmath.cosh if order % 2 else mpmath.sinh)(x),
    "tanh": lambda x, order: mpmath.diff(mpmath.tanh, x, order),
    "sigmoid": lambda x, order: mpmath.diff(lambda u: 1 / (1 + mpmath.exp(-u)), x, order),
    "elu1": lambda x, order: mpmath.exp(x) if x <= 0 else (x + 1 if order == 0 else mpmath.mpf(order == 1)),
    "relu": lambda x, order: max(x, mpmath.mpf(0)) if order == 0 else mpmath.mpf(order == 1 and x > 0),
}  # fmt: skip


def plain(name: str) -> str:
    """A name as Rocq can write it."""
    spelled = {"^-1": "_inv", "-": "_minus_", "~": "_tilde", "'": "_p", "+": "_plus_", "Δ": "delta_"}
    name = re.sub(r"^\|(.*)\|$", r"norm_\1", name)
    for sign, word in {**spelled, "Σ": "sum_", "\\": "", "{": "", "}": ""}.items():
        name = name.replace(sign, word)
    name = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return name if name[:1].isalpha() else f"x{name}"


def _unknown(name: str, x: Any, order: int) -> Any:
    """A polynomial of its own for each name."""
    rng = random.Random(name)
    own = [mpmath.mpf(rng.randint(-4, 4)) / 2 for _ in range(5)]
    for _ in range(order):
        own = [c * n for n, c in enumerate(own)][1:]
    return sum((c * x**n for n, c in enumerate(own)), mpmath.mpf(0))


class _Functions(dict):
    def __missing__(self, name: str) -> Any:
        if name == "root":
            return lambda x, exponent: _power(number(x), exponent)
        own = KNOWN.get(name) or partial(_unknown, name)
        return lambda x, order: own(number(x), order)


def number(value: Any) -> Any:
    """mpmath's number for one of ours."""
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else value


def _power(base: Any, exponent: Fraction) -> Any:
    if base < 0 or (base == 0 and exponent < 0):
        raise Undefined("a root")
    return mpmath.mpf(base) ** (mpmath.mpf(exponent.numerator) / exponent.denominator)


class Point:
    """Values of all symbols of a statement. ``kept``: promises of tensors are."""

    def __init__(self, statement: Any, extra: tuple[Given, ...], rng: random.Random, kept: bool) -> None:
        self.given = {g.tensor: g for g in (*getattr(statement, "given", ()), *extra)}
        self.nonzero = getattr(statement, "nonzero", ())
        self.tensors = sorted(_tensors(statement, extra), key=lambda t: (t.name, t.dims))
        dims = {d for t in (*self.tensors, *self.given) for d in t.dims} | _dims(statement, extra)
        self.sizes = {d: rng.randint(1, 3) for d in sorted(dims - {"1"})}
        self.kept, self.rng = kept, rng
        self.values = {t: self._draw(t) for t in self.tensors}
        self.moved: tuple[Tensor, tuple[int, ...], Any] | None = None

    def _draw(self, t: Tensor) -> dict[tuple[int, ...], Any]:
        found: dict[tuple[int, ...], Any] = {}
        for at in product(*(range(self.sizes.get(d, 1)) for d in t.dims)):
            value = mpmath.mpf(self.rng.choice([-3, -2, -1, 0, 1, 2, 3, 4])) / self.rng.choice([1, 2])
            if self.kept and (t.positive or t in self.nonzero):
                value = abs(value) + mpmath.mpf(1) / 2
            if self.kept and t.symmetric and at[::-1] in found:
                value = found[at[::-1]]
            found[at] = value
        return found

    def lookup(self, t: Tensor, at: tuple[int, ...]) -> Any:
        moved, self.moved = self.moved, None  # definitions are made before anything is moved
        try:
            more = moved[2] if moved and moved[:2] == (t, at) else 0
            if t in self.given:
                g = self.given[t]
                return self.value(g.value.entry(), dict(zip(g.at, at, strict=True))) + more
            return self.values[t][at] + more
        finally:
            self.moved = moved

    def value(self, expr: ix.Expr, at: dict[Index, int]) -> Any:
        """The value of an expression as our own evaluator computes it. Raises ZeroDivisionError, Undefined."""
        return number(evaluate(expr, self.sizes, self.lookup, _Functions(), at))

    def promises(self, read: Read) -> list[list[Compared]]:
        """What a statement promises of the symbols that the theorem speaks of, as what it must compare. Of
        what vanishes in a derivative it does not speak.
        """
        spoken = {shorter for n in read.symbols for shorter in (n, n.rstrip("_"), re.sub(r"\d+$", "", n))}
        found = []
        for t in (t for t in self.tensors if plain(t.name) in spoken):
            entries = self.values[t]
            if t.positive:
                found.append([("<", -v) for v in entries.values()])
            if t.symmetric:
                found.append([("=", v - entries[at[::-1]]) for at, v in entries.items()])
        spoken |= {name for what, name, _ in read.before if what == "let"}
        for t in (t for t in self.nonzero if plain(t.name) in spoken):
            places = product(*(range(self.sizes.get(d, 1)) for d in t.dims))
            found.append([("<>", self.lookup(t, at)) for at in places])
        return found

    def environment(self, read: Read) -> Env | None:
        """The same values under the theorem's names, or None where a name belongs to two symbols."""
        named: dict[str, Any] = {}
        for d, n in self.sizes.items():
            named.setdefault(plain(d), []).append(n)
        for t in self.tensors:
            kept = [k for k, d in enumerate(t.dims) if d != "1"]
            named.setdefault(plain(t.name), []).append(self._array(t, kept))
        env: Env = {}
        for name, kind in read.symbols.items():
            base = next((n for n in (name, name.rstrip("_"), re.sub(r"\d+$", "", name)) if n in named), "")
            if base in named and len(named[base]) == 1:
                env[name] = named[base][0]
            elif kind == "R->R":
                order = len(re.search(r"(?:_d)*$", name)[0]) // 2  # type: ignore[index]
                function = name[: len(name) - 2 * order]
                env[name] = lambda x, f=function, k=order: _Functions()[f](x, k)
            else:
                return None
        return env

    def _array(self, t: Tensor, kept: list[int]) -> Any:
        if not kept:
            return self.values[t][(0,) * len(t.dims)]

        def entry(*at: int) -> Any:
            where = [0] * len(t.dims)
            for k, n in zip(kept, at, strict=True):
                where[k] = n
            return self.values[t][tuple(where)]

        return Function(len(kept), entry)


def _tensors(statement: Any, extra: tuple[Given, ...]) -> set[Tensor]:
    found = set()
    for expr in _exprs(statement, extra):
        found |= ix.tensors(expr)
    defined = {g.tensor for g in (*getattr(statement, "given", ()), *extra)}
    residuals = {h.residual for h in statement.hypotheses} if isinstance(statement, Follows) else set()
    return (found | {t for t in tensors_of(statement)}) - defined - residuals


def _dims(statement: Any, extra: tuple[Given, ...]) -> set[str]:
    found = {d for t in terms_of(statement) for d in t.shape()}
    for expr in _exprs(statement, extra):
        for node in ix.walk(expr):
            match node:
                case ix.Sum(index, _):
                    found.add(index.dim)
                case ix.Dim(name):
                    found.add(name)
                case ix.At(_, indices):
                    found |= {i.dim for i in indices}
                case ix.Delta(left, _):
                    found.add(left.dim)
    return found


def _exprs(statement: Any, extra: tuple[Given, ...]) -> list[ix.Expr]:
    terms = [*terms_of(statement), *(g.value for g in extra)]
    return [t.entry(*(Index(f"e{n}", d) for n, d in enumerate(t.shape()))) for t in terms]


def assumed(statement: Any, point: Point, at: dict[Index, int]) -> list[list[Compared]]:
    """What the statement's own hypotheses compare: equations for all of their entries, and all at the
    values of the indices.
    """
    found = []
    if isinstance(statement, Follows):
        for h in statement.hypotheses:
            own = tuple(Index(f"v{n}", d) for n, d in enumerate(h.lhs.shape()))
            places = product(*(range(point.sizes.get(i.dim, 1)) for i in own))
            expr = h.difference(*own)
            found.append([("=", point.value(expr, {**at, **dict(zip(own, p, strict=True))})) for p in places])
    if isinstance(statement, Extremum):
        found += _convex(statement, point)
    if isinstance(statement, Implication):
        found += [[(h.relation, point.value(h.term.entry(), at))] for h in statement.hypotheses]
    return found


def _convex(statement: Extremum, point: Point) -> list[list[Compared]]:
    """Where functions are assumed convex: everywhere, or near the values that a local minimum names."""
    if not (statement.convex and statement.above):
        return []
    if "local" not in statement.says:
        return [[("convex", mpmath.mpf(0))]]
    (gap,) = (t for _, t in subterms(statement.above) if isinstance(t, Bregman))
    centre, own = gap.args[1].entry(), sorted(ix.free_indices(gap.entry()))
    places = product(*(range(point.sizes[i.dim]) for i in own))
    return [[("convex near", point.value(centre, dict(zip(own, at, strict=True)))) for at in places]]
