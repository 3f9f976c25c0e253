"""The table of conjugates: each entry against suprema found by search, and wrong entries are noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import pytest

from derivations.calculus import conjugates as table
from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.conjugates import CONJUGATES, Entry, Limit, T, Value, disagreement, of_pieces
from derivations.calculus.index import Index, Tensor

mp.mp.dps = 40
I = Index("i", "n")
INFINITY = mp.mpf("inf")


def xlogx(z: Any) -> Any:
    return INFINITY if z < 0 else mp.mpf(0) if z == 0 else z * mp.log(z)


EPS, DELTA, LOW, HIGH = mp.mpf(1) / 2, mp.mpf(3) / 4, mp.mpf(-1), mp.mpf(2)
OWN: dict[str, Callable[..., Any]] = {
    "squared": lambda z: z**2 / 2,
    "absolute": abs,
    "relu": lambda z: max(z, mp.mpf(0)),
    "epsilon_insensitive": lambda z: max(abs(z) - EPS, mp.mpf(0)),
    "squared_epsilon_insensitive": lambda z: max(abs(z) - EPS, mp.mpf(0)) ** 2 / 2,
    "huber": lambda z: z**2 / 2 if abs(z) <= DELTA else DELTA * abs(z) - DELTA**2 / 2,
    "logistic": lambda z: mp.log1p(mp.exp(-z)),
    "entropy": xlogx,
    "exponential": mp.exp,
    "log_sum_exp": lambda u, v: mp.log(mp.exp(u) + mp.exp(v)),
    "norm": lambda u, v: mp.hypot(u, v),
    "simplex_entropy": lambda u, v: xlogx(u) + xlogx(v),
    "box": lambda z: mp.mpf(0) if LOW <= z <= HIGH else INFINITY,
    "simplex": lambda u, v: mp.mpf(0) if min(u, v) >= 0 else INFINITY,
}
"""The losses, written again; of two entries where they take a vector."""
SLOPES = [Fraction(n, 7) for n in range(-12, 13)]


def largest(gain: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The largest value of a concave function on an interval, by golden section."""
    ratio = (mp.sqrt(5) - 1) / 2
    for _ in range(220):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (left, high) if gain(left) < gain(right) else (low, right)
    return gain((low + high) / 2)


def searched(name: str, y: tuple[Any, ...], a: Any) -> Any:
    """sup y z - a f(z), infinite where it still grows far out."""
    f = OWN[name]
    if name == "log_sum_exp":  # f(u + c, v + c) = f(u, v) + c
        if abs(y[0] + y[1] - a) > mp.mpf(10) ** -30:
            return INFINITY
        return unbounded(lambda u: y[0] * u - a * f(u, 0))
    if name == "norm":  # among points of one norm y z is largest along y
        size = mp.hypot(*y)
        return unbounded(lambda r: r * size - a * abs(r))
    if name in ("simplex", "simplex_entropy"):
        return largest(lambda q: y[0] * q + y[1] * (1 - q) - a * f(q, 1 - q), mp.mpf(0), mp.mpf(1))
    if name == "box":
        return largest(lambda z: y[0] * z, LOW, HIGH)
    if name == "entropy":
        return largest(lambda z: y[0] * z - a * f(z), mp.mpf(0), mp.mpf(400))
    return unbounded(lambda z: y[0] * z - a * f(z))


def unbounded(gain: Callable[[Any], Any]) -> Any:
    near, far = (largest(gain, -(mp.mpf(10) ** n), mp.mpf(10) ** n) for n in (3, 4))
    return INFINITY if far - near > 1 else far


def number(expr: ix.Expr, y: tuple[Any, ...], i: int = 0) -> Any:
    functions = {
        "exp": lambda x, _: mp.exp(x),
        "log": lambda x, _: mp.log(x) if x else mp.mpf(-1),  # times zero
        "abs": lambda x, _: abs(x),
        "relu": lambda x, _: max(x, 0),
        "root": lambda x, _: mp.sqrt(mp.mpf(x.numerator) / x.denominator) if x > 0 else mp.mpf(0),
    }
    found = evaluate(expr, {"n": 2}, lambda t, e: y[e[0] if e else 0], functions, {I: i})
    return mp.mpf(found.numerator) / found.denominator if isinstance(found, Fraction) else found


def tabled(entry: Entry, y: tuple[Any, ...], a: Fraction) -> Any:
    """What the table says of the conjugate at y."""
    symbol = Tensor("y", ("n",))[I] if entry.vector else Tensor("y").scalar
    i = I if entry.vector else None
    value = entry.conjugate(symbol, ix.as_expr(a), i, *map(ix.as_expr, entry.samples))
    least = []
    for limit in value.limits:
        for n in range(2 if entry.vector else 1):
            if limit.rhs == T.scalar:
                least.append(number(limit.lhs, y, n))
                continue
            gap = number(limit.lhs - limit.rhs, y, n)
            if gap > 0 or (limit.equality and gap):
                return INFINITY
    return max(least) if least else number(value.plain, y) + number(of_pieces(value, i), y)


@pytest.mark.parametrize("name", CONJUGATES)
@pytest.mark.parametrize("a", [Fraction(1), Fraction(5, 3)])
def test_conjugates_are_the_suprema_that_a_search_finds(name: str, a: Fraction) -> None:
    entry, scale = CONJUGATES[name], mp.mpf(a.numerator) / a.denominator
    finite = infinite = 0
    points = [(y, a - y) for y in SLOPES[::3]] + [(y, z) for y in SLOPES[::6] for z in SLOPES[::6]]
    for exact in points if entry.vector else [(y,) for y in SLOPES]:
        y = tuple(mp.mpf(v.numerator) / v.denominator for v in exact)
        best = searched(name, (*y[:-1], scale - y[0]) if entry.vector and sum(exact) == a else y, scale)
        said = tabled(entry, exact, a)
        if mp.isinf(best) or mp.isinf(said):
            assert best == said, (name, exact)
            infinite += 1
        else:
            assert abs(best - said) < mp.mpf(10) ** -15, (name, exact, best, said)
            finite += 1
    everywhere = ("squared", "squared_epsilon_insensitive", "entropy", "simplex_entropy", "box", "simplex")
    assert finite > 2 and (infinite > 1) is (name not in everywhere)


@pytest.mark.parametrize("name", CONJUGATES)
def test_every_entry_passes_the_check_that_the_dualiser_asks_for(name: str) -> None:
    assert disagreement(CONJUGATES[name]) == "" and table.require_conjugate(name) is CONJUGATES[name]


# ---------------------------------------------------------------- wrong entries


def with_value(entry: Entry, change: Callable[[Value, ix.Expr], Value]) -> Entry:
    return replace(entry, conjugate=lambda y, a, *rest: change(entry.conjugate(y, a, *rest), a))


def limits(value: Value, change: Callable[[Limit], Limit]) -> Value:
    return replace(value, limits=tuple(map(change, value.limits)))


def scaled(value: Value, by: Fraction) -> Value:
    return replace(
        value, plain=by * value.plain, pieces=tuple((by * factor, *rest) for factor, *rest in value.pieces)
    )


def bounded(limit: Limit, by: Fraction) -> Limit:
    return limit if limit.rhs == T.scalar else replace(limit, rhs=by * limit.rhs)


CHANGES: dict[str, Callable[[Entry], Entry]] = {
    "shifted": lambda e: with_value(e, lambda v, _: replace(v, pieces=(*v.pieces, (ix.as_expr(Fraction(1, 9)), "absolute", ix.as_expr(1), ())))),
    "doubled": lambda e: with_value(e, lambda v, _: scaled(v, Fraction(2))),
    "halved": lambda e: with_value(e, lambda v, _: scaled(v, Fraction(1, 2))),
    "no domain": lambda e: with_value(e, lambda v, _: replace(v, limits=())),
    "domain doubled": lambda e: with_value(e, lambda v, _: limits(v, lambda m: bounded(m, Fraction(2)))),
    "domain halved": lambda e: with_value(e, lambda v, _: limits(v, lambda m: bounded(m, Fraction(1, 2)))),
    "without its scale": lambda e: replace(e, conjugate=lambda y, a, *p: e.conjugate(y, ix.as_expr(1), *p)),
    "of -y": lambda e: replace(e, conjugate=lambda y, a, *p: e.conjugate(-y, a, *p)),
    "of 2y": lambda e: replace(e, conjugate=lambda y, a, *p: e.conjugate(2 * y, a, *p)),
    "slope doubled": lambda e: replace(e, slope=lambda *p: 2 * e.slope(*p) if e.slope else None),
    "loss doubled": lambda e: replace(e, value=lambda *p: 2 * e.value(*p)),
    "loss of -z": lambda e: replace(e, value=lambda z, *p: e.value(-z, *p)),
    "negative loss": lambda e: replace(e, value=lambda *p: -e.value(*p)),
}  # fmt: skip
EVEN = {"squared", "absolute", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "norm"}
WHOLE = {"squared", "squared_epsilon_insensitive", "entropy", "simplex_entropy", "exponential"}
"""Their conjugates are finite everywhere, or y log y says where."""
SAME = {
    "shifted": {"box", "simplex"},  # the value is T, found from the limits alone
    "doubled": {"absolute", "relu", "norm", "box", "simplex"},
    "halved": {"absolute", "relu", "norm", "box", "simplex"},
    "no domain": WHOLE | {"logistic"},
    "domain doubled": WHOLE | {"box", "simplex"},
    "domain halved": WHOLE | {"box", "simplex", "logistic"},
    "without its scale": {"box", "simplex"},
    "of -y": EVEN,
    "slope doubled": set(CONJUGATES) - {"squared", "entropy", "simplex_entropy"},
    "loss doubled": {"box", "simplex"},
    "loss of -z": EVEN,
    "negative loss": {"box", "simplex"},
}
"""Where a change says the same: an indicator's multiples are itself, even losses have even conjugates."""


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_entries_are_noticed(change: str) -> None:
    wrong = [entry for name, entry in CONJUGATES.items() if name not in SAME.get(change, ())]
    assert wrong and not [entry.name for entry in wrong if not disagreement(CHANGES[change](entry))]


def test_a_wrong_entry_stops_the_dualiser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONJUGATES, "absolute", CHANGES["no domain"](CONJUGATES["absolute"]))
    table.require_conjugate.cache_clear()
    with pytest.raises(ArithmeticError, match="too small"):
        table.require_conjugate("absolute")
    table.require_conjugate.cache_clear()
