"""The table of losses and their convex conjugates.

Each entry says its value f(z), the
conjugate (a f)*(y) = sup_z { y z - a f(z) } of its positive multiples with all conditions under which it is
finite, and, where there is only one, the z that attains it. A value outside the domain of f is +∞. The
conjugates are Table 3.2 of Borwein and Lewis (Convex Analysis and Nonlinear Optimization), scaled by
(a f)*(y) = a f*(y / a); ``disagreement`` checks each of them by the Fenchel-Young inequality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.balls import Ball, agree
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.differentiate import index_route
from derivations.calculus.functions import BALL_FUNCTIONS, NONNEGATIVE, POSITIVE
from derivations.calculus.index import Expr, Index, Tensor
from derivations.calculus.term import Stack, Term

HALF, ZERO, ONE = Fraction(1, 2), ix.Num(Fraction(0)), ix.Num(Fraction(1))
T, S = Tensor("t"), Tensor("s")
"""What a value in the table is minimised over, where it is the least of several."""


@dataclass(frozen=True)
class Limit:
    """``lhs <= rhs`` (or ``==``), for each entry of a vector where its index is free; ``norm_of`` is the
    entry of the vector whose norm lhs is.
    """

    lhs: Expr
    rhs: Expr
    equality: bool = False
    norm_of: Expr | None = None

    def moved(self, own: dict[Tensor, Tensor], at: tuple[Index, ...]) -> Limit:
        """The same with T and S as tensors of their own at the indices ``at``."""
        return replace(self, lhs=moved(self.lhs, own, at), rhs=moved(self.rhs, own, at))


def moved(expr: Expr, own: dict[Tensor, Tensor], at: tuple[Index, ...]) -> Expr:
    """The expression with T and S as tensors of their own at the indices ``at``."""
    for symbol, tensor in own.items():
        expr = ix.define(expr, symbol, partial(ix.At, tensor, at))
    return expr


@dataclass(frozen=True)
class Value:
    """``plain`` plus ``factor`` times the entry ``loss`` of the table at ``at`` for each of ``pieces``, least
    over T and S where they occur, if all of ``limits`` hold; +∞ otherwise.
    """

    plain: Expr = ZERO
    pieces: tuple[tuple[Expr, str, Expr, tuple[Expr, ...]], ...] = ()
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One loss: ``value(z, i, *p)`` at a scalar z, or at the vector whose entry at the index i is z, with
    parameters p; ``conjugate(y, a, i, *p)`` is (a f)*(y), ``slope(y, a, i, *p)`` the only z (or its entry at
    i) that attains it.

    ``latex`` prints f and ``meaning(*p)`` what that notation stands for. ``requires`` says which signs of
    which expressions of p make the entry true. ``lifted(z, i, *p)`` writes f(z) with a quadratic value and
    affine limits. ``homogeneous``: f(t z) = t f(z) for t >= 0, so that a may also be 0.
    """

    name: str
    value: Callable[..., Expr]
    conjugate: Callable[..., Value]
    latex: Callable[..., str]
    slope: Callable[..., Expr] | None = None
    lifted: Callable[..., Value] | None = None
    vector: bool = False
    requires: Callable[..., tuple[tuple[Expr, sg.Signs], ...]] = lambda *p: ()
    samples: tuple[Fraction, ...] = ()
    indicator: bool = False
    level: int = 3
    takes_in: bool = False
    homogeneous: bool = False
    meaning: Callable[..., str] | None = None


def _log(z: Expr) -> Expr:
    return ix.Call("log", z)


def _relu(z: Expr) -> Expr:
    return ix.Call("relu", z)


def _abs(z: Expr) -> Expr:
    return ix.Call("abs", z)


def _norm(z: Expr, i: Index) -> Expr:
    return ix.Pow(ix.Sum(i, z**2), HALF)


def _between(low: Expr, z: Expr, high: Expr) -> tuple[Limit, ...]:
    return Limit(low, z), Limit(z, high)


def _within(z: Expr, bound: Expr) -> tuple[Limit, ...]:
    return Limit(z, bound), Limit(-z, bound)


def _simplex(z: Expr, i: Index, total: Expr = ONE) -> tuple[Limit, ...]:
    return Limit(ix.Sum(i, z), total, True), Limit(-z, ZERO)


def _only_where(limits: tuple[Limit, ...], i: Index | None = None) -> Expr:
    """0 where the limits hold, and not defined elsewhere."""
    parts: list[Expr] = []
    for limit in limits:
        for slack in (limit.rhs - limit.lhs, limit.lhs - limit.rhs)[: 1 + limit.equality]:
            root = ix.Pow(slack, HALF)
            parts.append(ix.Sum(i, root) if i is not None and i in ix.free_indices(slack) else root)
    return 0 * ix.Add(tuple(parts))


def _tight(z: Term) -> str:
    text = z.wrapped(4)
    return f"{{{text}}}" if "^" in text else text


def _log_sum_exp_latex(z: Term) -> str:
    if isinstance(z, Stack):
        sum_ = rf"\sum_{{{z.data.name}=1}}^{{{z.data.dim}}}"
        return rf"\log {sum_} \exp\left({z.args[0].latex()}\right)"
    return rf"\operatorname{{logsumexp}}\left({z.latex()}\right)"


def _exponentials(z: Expr, i: Index) -> Expr:
    new = i.fresh()
    return ix.Sum(new, ix.exp(ix.rename(z, {i: new})))


def _tube(z: str, eps: Term) -> str:
    return rf"{{\left|{z}\right|}}_{{{eps.latex()}}}"


def _tube_meaning(eps: Term) -> str:
    return rf"{_tube('u', eps)} = \max\left(\left|u\right| - {eps.wrapped(2, after=True)}, 0\right)"


def _huber_meaning(delta: Term) -> str:
    d, half = delta.wrapped(2, after=True), r"\tfrac{1}{2}\,"
    return (
        rf"\operatorname{{huber}}_{{{delta.latex()}}}\left(u\right) = {half}u^{{2}} \text{{ for }} "
        rf"\left|u\right| \le {d}, \text{{ else }} {d}\,\left|u\right| - {half}{_tight(delta)}^{{2}}"
    )


_SIMPLEX = (
    r"\iota_{\Delta}\left(u\right) = 0 \text{ for } u_{k} \ge 0,\ \sum_{k} u_{k} = 1, \text{ else } +\infty"
)
_LISTED = (
    Entry(
        "squared",
        lambda z, i: HALF * z**2,
        lambda y, a, i: Value(y**2 / (2 * a)),
        lambda z: rf"\tfrac{{1}}{{2}}\,{_tight(z)}^{{2}}",
        level=2,
        slope=lambda y, a, i: y / a,
        lifted=lambda z, i: Value(HALF * z**2),
    ),
    Entry(
        "absolute",
        lambda z, i: _abs(z),
        lambda y, a, i: Value(limits=_within(y, a)),
        lambda z: rf"\left|{z.latex()}\right|",
        lifted=lambda z, i: Value(T.scalar, limits=_within(z, T.scalar)),
    ),
    Entry(
        "relu",
        lambda z, i: _relu(z),
        lambda y, a, i: Value(limits=(Limit(-y, ZERO), Limit(y, a))),
        lambda z: rf"\max\left({z.latex()}, 0\right)",
        lifted=lambda z, i: Value(T.scalar, limits=(Limit(z, T.scalar), Limit(-T.scalar, ZERO))),
    ),
    Entry(
        "epsilon_insensitive",
        lambda z, i, eps: _relu(_abs(z) - eps),
        lambda y, a, i, eps: Value(pieces=((eps, "absolute", y, ()),), limits=_within(y, a)),
        lambda z, eps: _tube(z.latex(), eps),
        lifted=lambda z, i, eps: Value(
            T.scalar, limits=(*_within(z, eps + T.scalar), Limit(-T.scalar, ZERO))
        ),
        requires=lambda eps: ((eps, NONNEGATIVE),),
        meaning=_tube_meaning,
        samples=(HALF,),
    ),
    Entry(
        "squared_epsilon_insensitive",
        lambda z, i, eps: HALF * _relu(_abs(z) - eps) ** 2,
        lambda y, a, i, eps: Value(y**2 / (2 * a), pieces=((eps, "absolute", y, ()),)),
        lambda z, eps: rf"\tfrac{{1}}{{2}}\,{_tube(z.latex(), eps)}^{{2}}",
        lifted=lambda z, i, eps: Value(HALF * T.scalar**2, limits=_within(z, eps + T.scalar)),
        requires=lambda eps: ((eps, NONNEGATIVE),),
        meaning=_tube_meaning,
        samples=(HALF,),
        level=2,
    ),
    Entry(
        "huber",
        lambda z, i, delta: HALF * z**2 - HALF * _relu(_abs(z) - delta) ** 2,
        lambda y, a, i, delta: Value(y**2 / (2 * a), limits=_within(y, a * delta)),
        lambda z, delta: rf"\operatorname{{huber}}_{{{delta.latex()}}}\left({z.latex()}\right)",
        lifted=lambda z, i, delta: Value(
            HALF * S.scalar**2 + delta * T.scalar, limits=_within(z - S.scalar, T.scalar)
        ),
        requires=lambda delta: ((delta, POSITIVE),),
        meaning=_huber_meaning,
        samples=(Fraction(3, 4),),
    ),
    Entry(
        "logistic",
        lambda z, i: _log(1 + ix.exp(-z)),
        lambda y, a, i: Value(
            pieces=((a, "entropy", -y / a, ()), (a, "entropy", 1 + y / a, ())), limits=_between(-a, y, ZERO)
        ),
        lambda z: rf"\log\left(1 + \exp\left(-{z.wrapped(2, after=True)}\right)\right)",
        level=2,
    ),
    Entry(
        "entropy",
        lambda z, i: z * _log(z),
        lambda y, a, i: Value(pieces=((a, "exponential", y / a - 1, ()),)),
        lambda z: rf"{_tight(z)} \log {_tight(z)}",
        level=2,
        takes_in=True,
        slope=lambda y, a, i: ix.exp(y / a - 1),
        meaning=lambda: r"0 \log 0 = 0",
    ),
    Entry(
        "exponential",
        lambda z, i: ix.exp(z),
        lambda y, a, i: Value(-y, pieces=((a, "entropy", y / a, ()),), limits=(Limit(-y, ZERO),)),
        lambda z: rf"\exp\left({z.latex()}\right)",
    ),
    Entry(
        "log_sum_exp",
        lambda z, i: _log(ix.Sum(i, ix.exp(z))),
        lambda y, a, i: Value(pieces=((a, "entropy", y / a, ()),), limits=_simplex(y, i, a)),
        lambda z: _log_sum_exp_latex(z),
        vector=True,
        takes_in=True,
        level=2,
        meaning=lambda: r"\operatorname{logsumexp}\left(u\right) = \log \sum_{k} \exp\left(u_{k}\right)",
    ),
    Entry(
        "norm",
        lambda z, i: _norm(z, i),
        lambda y, a, i: Value(limits=(Limit(_norm(y, i), a, norm_of=y),)),
        lambda z: rf"\left\|{z.latex()}\right\|",
        vector=True,
        homogeneous=True,
    ),
    Entry(
        "simplex_entropy",
        lambda z, i: ix.Sum(i, z * _log(z)) + _only_where(_simplex(z, i)[:1], i),
        lambda y, a, i: Value(pieces=((a, "log_sum_exp", y / a, ()),)),
        lambda z: rf"{_tight(z)}^{{\top}} \log {_tight(z)} + \iota_{{\Delta}}\left({z.latex()}\right)",
        level=1,
        slope=lambda y, a, i: ix.exp(y / a) / _exponentials(y / a, i),
        vector=True,
        meaning=lambda: _SIMPLEX,
    ),
    Entry(
        "box",
        lambda z, i, low, high: _only_where(_between(low, z, high)),
        lambda y, a, i, low, high: Value(
            T.scalar, limits=(Limit(low * y, T.scalar), Limit(high * y, T.scalar))
        ),
        lambda z, low, high: rf"\iota_{{\left[{low.latex()}, {high.latex()}\right]}}\left({z.latex()}\right)",
        lifted=lambda z, i, low, high: Value(limits=_between(low, z, high)),
        requires=lambda low, high: ((high - low, NONNEGATIVE),),
        samples=(Fraction(-1), Fraction(2)),
        meaning=lambda low, high: (
            rf"\iota_{{\left[{low.latex()}, {high.latex()}\right]}}\left(u\right) = 0 \text{{ for }} "
            rf"{low.latex()} \le u \le {high.latex()}, \text{{ else }} +\infty"
        ),
        indicator=True,
    ),
    Entry(
        "simplex",
        lambda z, i: _only_where(_simplex(z, i), i),
        lambda y, a, i: Value(T.scalar, limits=(Limit(y, T.scalar),)),
        lambda z: rf"\iota_{{\Delta}}\left({z.latex()}\right)",
        lifted=lambda z, i: Value(limits=_simplex(z, i)),
        vector=True,
        meaning=lambda: _SIMPLEX,
        indicator=True,
    ),
)
CONJUGATES = {e.name: e for e in _LISTED}


# ---------------------------------------------------------------- the check of the table

_THIRDS = tuple(Fraction(n, 3) for n in (-192, *range(-7, 8), 192))
_PAIRS = (*product((Fraction(n, 3) for n in range(-1, 4)), repeat=2), (Fraction(-40), Fraction(40)))
_Z, _Y = ({False: Tensor(name), True: Tensor(name, ("n",))} for name in "zy")
_I = Index("i", "n")
Point = tuple[Any, ...]


def _root(base: Any, exponent: Fraction) -> Any:
    """A root of what may be zero, as far as its ball tells."""
    ball = Ball.of(base)
    return Ball(0) if ball.value.contains(0) else ball.root(exponent)


class _Sampled(NamedTuple):
    """An entry of the table, its parameters and the factor a in numbers."""

    entry: Entry
    a: Fraction

    def of(self, expr: Expr, z: Point = (), y: Point = (), at: int = 0) -> Any:
        """The value of an expression at numbers for z and y, in balls. Raises ZeroDivisionError or NotExact
        where it has none.
        """
        numbers = {"z": z, "y": y}
        functions = {**BALL_FUNCTIONS, "root": _root}
        found = evaluate(expr, {"n": 2}, lambda t, e: numbers[t.name][e[0] if e else 0], functions, {_I: at})
        return Ball.of(found)

    def parameters(self) -> tuple[Any, ...]:
        return *((_I,) if self.entry.vector else (None,)), *map(ix.as_expr, self.entry.samples)

    def symbol(self, which: dict[bool, Tensor]) -> Expr:
        return ix.At(which[self.entry.vector], (_I,) if self.entry.vector else ())

    def charged(self) -> Expr:
        """a f(z)."""
        return self.a * self.entry.value(self.symbol(_Z), *self.parameters())

    def conjugate(self) -> Value:
        return self.entry.conjugate(self.symbol(_Y), ix.as_expr(self.a), *self.parameters())

    def each(self, expr: Expr, z: Point = (), y: Point = ()) -> Point:
        """An expression at every value of its index."""
        return tuple(self.of(expr, z, y, n) for n in range(2 if self.entry.vector else 1))

    def supremum(self, y: Point) -> Any:
        """(a f)*(y), None where it is infinite."""
        value, least = self.conjugate(), list[Any]()
        for limit in value.limits:
            above = limit.rhs == T.scalar
            gaps = self.each(limit.lhs if above else limit.lhs - limit.rhs, y=y)
            least += gaps if above else []
            if not above and any(g.value > 0 or (limit.equality and g.value < 0) for g in gaps):
                return None
        if T in ix.tensors(value.plain) and not least:
            return None
        try:
            plain = max(least, key=lambda b: b.value.mid()) if least else self.of(value.plain, y=y)
            return plain + self.of(of_pieces(value, _I), y=y)
        except ZeroDivisionError:
            return None

    def equal(self, y: Point, z: Point) -> bool:
        """Whether the supremum at y is attained at z."""
        try:
            best = self.supremum(y)
            return best is not None and agree(best + self.of(self.charged(), z), _dot(y, z))
        except (ZeroDivisionError, NotExact):
            return False

    def domain(self) -> dict[Point, Any]:
        """The sample points z at which f has a value, with a f(z)."""
        found = {}
        for z in _PAIRS if self.entry.vector else ((n,) for n in _THIRDS):
            with suppress(ZeroDivisionError, NotExact):
                found[z] = self.of(self.charged(), z)
        return found

    def attained(self, found: dict[Point, Any]) -> Iterator[tuple[Point, Point]]:
        """Pairs of y and the z at which the supremum is attained."""
        entry = self.entry
        if entry.slope or entry.indicator:
            for y in _PAIRS[:-1] if entry.vector else [(n,) for n in _THIRDS[1:-1]]:
                if entry.slope:
                    y_, a = self.symbol(_Y), ix.as_expr(self.a)
                    yield y, self.each(entry.slope(y_, a, *self.parameters()), y=y)
                else:
                    yield y, max(found, key=lambda z: _dot(y, z))
            return
        tensor = _Z[entry.vector]
        at = (Index("k", "n"),) if entry.vector else ()
        slope = ix.rename(index_route(self.charged(), tensor, at), dict.fromkeys(at, _I))
        for z in found:
            with suppress(ZeroDivisionError):  # a kink
                yield self.each(slope, z), z


def of_pieces(value: Value, i: Index | None) -> Expr:
    """The pieces of a value, added."""
    total: Expr = ZERO
    for factor, name, at, parameters in value.pieces:
        inner = CONJUGATES[name]
        body = factor * inner.value(at, i, *parameters)
        inside = not inner.vector and i in ix.free_indices(at)
        total = total + (ix.Sum(i, body) if i is not None and inside else body)
    return total


def _dot(y: Point, z: Point) -> Any:
    return sum((a * b for a, b in zip(y, z, strict=True)), Fraction(0))


def disagreement(entry: Entry) -> str:
    """Where an entry of the table fails, in balls at sample points, or "".

    For z and y of the samples a f(z) + (a f)*(y) >= y z; with equality where y = a f'(z), which for a convex
    f is where the supremum is attained, at the slope of the conjugate, or at the best corner of an indicator.
    """
    for a in (Fraction(1), Fraction(3, 2)):
        sample = _Sampled(entry, a)
        found = sample.domain()
        pairs = list(sample.attained(found)) if found else []
        for y in {*(y for y, _ in pairs), *(_PAIRS if entry.vector else [(n,) for n in _THIRDS[1:-1]])}:
            best = sample.supremum(y)
            if best is not None and any((best + v - _dot(y, z)).value < 0 for z, v in found.items()):
                return f"the conjugate of {entry.name} is too small at {y}"
        if not pairs or not all(sample.equal(y, z) for y, z in pairs):
            return f"the conjugate of {entry.name} is not attained"
    return ""


@lru_cache(maxsize=64)
def require_conjugate(name: str) -> Entry:
    """The entry of the table. Raises ArithmeticError where it fails its check."""
    if wrong := disagreement(CONJUGATES[name]):
        raise ArithmeticError(wrong)
    return CONJUGATES[name]
