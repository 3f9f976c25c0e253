"""Signs by cases: what is called nonnegative is so at random values, zeros included."""

from __future__ import annotations

import random
import time
from fractions import Fraction
from itertools import product

import pytest

from checks.engine.instances import Instance
from derivations.calculus import cases
from derivations.calculus import index as ix
from derivations.calculus.functions import ANY, NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.signs import ZERO, Facts, signs

X, Y, U, V = Tensor("x"), Tensor("y"), Tensor("u", ("N",)), Tensor("v", ("N",))
x, y = X.scalar, Y.scalar
i, j, k = (Index(name, "N") for name in "ijk")


def size(arg: ix.Expr) -> ix.Expr:
    return ix.Call("abs", arg)


def ramp(arg: ix.Expr) -> ix.Expr:
    return ix.Call("relu", arg)


def sign(arg: ix.Expr) -> ix.Expr:
    return ix.Call("sign", arg)


def exp(arg: ix.Expr) -> ix.Expr:
    return ix.Call("exp", arg)


def log(arg: ix.Expr) -> ix.Expr:
    return ix.Call("log", arg)


ONE = ix.Num(Fraction(1))
TRUE = {
    "triangle": size(x) + size(y) - size(x + y),
    "reverse triangle": size(x - y) - size(size(x) - size(y)),
    "a product": size(x) * size(y) + size(x) - size(x * y + x),
    "ramps do not stretch": size(x - y) - size(ramp(x) - ramp(y)),
    "a fraction": 1 - x**2 / (1 + x**2),
    "a sign": size(x) - x * sign(y),
    "a sum": ix.Sum(i, size(U[i])),
    "a sum and a summand": ix.Sum(k, size(U[k])) - size(-1 * U[i]),
    "a sum and twice a summand": ix.Sum(k, 2 * U[k] ** 2) - 2 * U[i] ** 2,
    "a double sum and a summand": ix.Sum(k, ix.Sum(j, (U[k] * U[j]) ** 2)) - (U[i] * U[i]) ** 2,
    "a sum of sizes": ix.Sum(k, 2 * size(U[k])) - ix.Sum(k, U[k]),
    "a share of a sum": 1 - exp(U[i]) / ix.Sum(k, exp(U[k])),
    "a logarithm of a sum": log(ix.Sum(k, exp(U[k]))) - U[i],
    "minus a logarithm": x - log(exp(x) / (1 + x**2)),
    "the triangle, summed": ix.Sum(k, size(U[k]) + size(V[k]) - size(U[k] + V[k])),
    "the triangle, summed twice": ix.Sum(k, ix.Sum(j, size(U[k]) + size(V[j]) - size(U[k] - V[j]))),
    "a size": 1 - 1 / ix.Dim("N"),
}
FALSE = {
    "the triangle turned": size(x + y) - size(x) - size(y),
    "false at zero alone": sign(x) ** 2 - ONE,
    "false on a line": size(x) + size(y) - size(x + 2 * y),
    "another's sign": x * sign(y),
    "a sum and two summands": ix.Sum(k, U[k] ** 2) - U[i] ** 2 - U[j] ** 2,
    "a sum and more than a summand": ix.Sum(k, exp(U[k])) - exp(U[i]) - ONE,
    "a sum of what has any sign": ix.Sum(k, U[k]) - U[i],
    "a summand and a sum": exp(U[i]) - ix.Sum(k, exp(U[k])),
    "a logarithm of half of a sum": log(ix.Sum(k, exp(U[k])) / 2) - U[i],
    "a product of sums": ix.Sum(k, size(U[k])) ** 2 - 2 * ix.Sum(k, size(U[k])) * ix.Sum(k, size(V[k])),
    "the triangle turned, summed": ix.Sum(k, size(U[k] + V[k]) - size(U[k]) - size(V[k])),
    "a size that may be 0": ix.Dim("N-1") - ONE,
    "an index that a sum binds": ix.Sum(i, ramp(U[i]) - U[i]) + size(U[i]) - 2 * ramp(U[i]),
}


def test_signs_by_cases() -> None:
    for name, expr in TRUE.items():
        assert cases.nonnegative(expr), name
    for name, expr in FALSE.items():
        assert cases.nonnegative(expr) is None, name


p = Tensor("p", positive=True).scalar
EQUAL = {
    "a clipped line": (ramp(x) - ramp(x - 1), 1 - ramp(1 - ramp(x))),
    "a clipped quotient": (ramp(x / p) - ramp(x / p - 1), 1 - ramp(1 - ramp(x) / p)),
    "a soft threshold": (ramp(x - p) - ramp(-x - p), sign(x) * ramp(size(x) - p)),
    "a positive factor": (p * ramp(1 - ramp(x) / p), ramp(p - ramp(x))),
}
DIFFERENT = {
    "clipped at another place": (ramp(x) - ramp(x - 2), 1 - ramp(1 - ramp(x))),
    "a threshold without a sign": (ramp(x - p) - ramp(-x - p), ramp(size(x) - p)),
    "a factor of any sign": (y * ramp(1 - x / y), ramp(y - x)),
    "different at 0 alone": (sign(x) ** 2, ONE),
}


def test_what_is_equal_in_every_case() -> None:
    for name, pair in EQUAL.items():
        assert cases.equal(*pair), name
    for name, pair in DIFFERENT.items():
        assert not cases.equal(*pair), name


@pytest.mark.parametrize("seed", range(5))
def test_what_is_called_equal_has_equal_values(seed: int) -> None:
    rng = random.Random(f"{seed} equal")
    parts, pieces = (x, y, x - y, x / p, ONE - x / p, ramp(x), size(y) - x), (size, ramp, lambda u: u)
    found = 0
    for _ in range(60):
        arg = rng.choice(parts)
        one, two = (rng.choice((1, -1, 2)) * rng.choice(pieces)(rng.choice((1, -1)) * arg) for _ in "ab")
        apart = one - two - rng.choice((1, -1, 0)) * arg
        if not cases.equal(apart, ix.Num(Fraction(0))):
            continue
        found += 1
        for a, b, c in product((-2, 0, Fraction(1, 2), 3), (-1, 0, 2), (Fraction(1, 3), 2)):
            values = {(X, ()): Fraction(a), (Y, ()): Fraction(b), (p.tensor, ()): Fraction(c)}
            assert Instance({}, values, ()).sign(apart, {}) == 0, (apart, a, b, c)
    assert found


def test_what_is_seen_of_a_summand_says_what_it_is_summed_over() -> None:
    for name, sums in (("triangle", 0), ("the triangle, summed", 1), ("the triangle, summed twice", 2)):
        found = cases.nonnegative(TRUE[name])
        assert found and {len(case.over) for case in found} == {sums}, name
    for case in cases.nonnegative(TRUE["the triangle, summed"]) or ():
        free = {t for e in (case.rest, *(arg for arg, _ in case.assumed)) for t in ix.free_indices(e)}
        assert free <= set(case.over)


def test_a_logarithm_of_what_has_no_value_has_any_sign() -> None:
    assert signs(log(ONE / (x - x))) == ANY


def test_what_is_known_counts_in_every_case() -> None:
    assert cases.nonnegative(y * size(x) - size(x * y)) is None
    assert cases.nonnegative(y * size(x) - size(x * y), Facts({Y: NONNEGATIVE}))


def test_a_size_that_may_be_0_is_no_positive_factor() -> None:
    """(N - 1) x >= 0 says nothing of x where N is 1."""
    times = {name: normal(ix.Dim(name) * x) for name in ("N", "N-1")}
    assert cases.nonnegative(x, Facts(forms={times["N"]: NONNEGATIVE}))
    assert cases.nonnegative(x, Facts(forms={times["N-1"]: NONNEGATIVE})) is None


@pytest.mark.parametrize("seed", range(15))
def test_what_is_seen_holds_at_random_values(seed: int) -> None:
    rng = random.Random(f"{seed} cases")
    parts = (x, y, x - y, x + 2 * y, x * y, ONE)
    pieces = (size, ramp, sign, lambda u: u, lambda u: u * u, lambda u: u / (1 + u * u))
    for _ in range(6):
        terms = [rng.choice(pieces)(rng.choice(parts)) * rng.choice((1, 1, 2, -1)) for _ in range(4)]
        expr = ix.Add(tuple(terms)) + size(terms[0] * terms[1])
        if not cases.nonnegative(expr):
            continue
        for a, b in product((-2, -1, 0, Fraction(1, 2), 3), repeat=2):
            at = Instance({}, {(X, ()): Fraction(a), (Y, ()): Fraction(b)}, ())
            assert at.sign(expr, {}) != -1, (expr, a, b)


@pytest.mark.parametrize("seed", range(10))
def test_what_is_seen_of_sums_holds_at_random_values(seed: int) -> None:
    rng = random.Random(f"{seed} sums")
    pieces = (size, ramp, exp, lambda u: u * u, lambda u: u, lambda u: u * u * x, lambda u: ramp(u) * size(x))
    seen = 0
    for _ in range(25):
        one, two = rng.choice(pieces), rng.choice(pieces)
        total = ix.Sum(k, rng.choice((1, 2)) * one(U[k]) + rng.choice((0, 1)) * two(U[k]))
        expr = total - rng.choice((1, 1, 2)) * rng.choice((one(U[i]), two(U[i]), ONE))
        if not cases.nonnegative(expr):
            continue
        seen += 1
        for n in (1, 2):
            for a, *own in product((-1, 0, 2), repeat=n + 1):
                values = {(X, ()): Fraction(a), **{(U, (m,)): Fraction(u) for m, u in enumerate(own)}}
                at = Instance({"N": n}, values, ())
                assert all(at.sign(expr, {i: m}) != -1 for m in range(n)), (expr, a, own)
    assert seen


def test_a_size_that_may_be_zero_keeps_no_sign() -> None:
    """(N - 1) y says nothing of y where N is 1, and y > 0 does not make (N - 1) y positive."""
    less, size_ = ix.Dim("N-1"), ix.Dim("N")
    for relation in (ZERO, NONNEGATIVE):
        assert signs(x + y, Facts(forms={normal(less * (x + y)): relation})) == ANY
        assert signs(x + y, Facts(forms={normal(size_ * (x + y)): relation})) == relation
    known = Facts(forms={normal(x + y): POSITIVE})
    assert signs(less * (x + y), known) == NONNEGATIVE and signs(size_ * (x + y), known) == POSITIVE


def test_what_is_known_of_an_index_is_not_known_of_one_that_a_sum_binds() -> None:
    known = Facts(forms={normal(U[i]): NONNEGATIVE, normal(x): NONNEGATIVE})
    assert signs(U[i] * x, known) == NONNEGATIVE
    assert signs(ix.Sum(i, U[i] * x), known) == ANY


def test_what_is_known_of_an_index_or_a_sum_is_not_known_of_each_summand() -> None:
    one = Facts(forms={normal(U[k]): NONNEGATIVE})
    assert cases.nonnegative(U[k], one)
    assert cases.nonnegative(ix.Sum(j, U[j]), one) is None
    assert cases.nonnegative(ix.Sum(j, U[j] * x * x), one) is None
    total = Facts(forms={normal(ix.Sum(j, U[j])): NONNEGATIVE})
    rise = ix.Sum(j, U[j] * ramp(V[j]) - U[j] * V[j])
    assert cases.nonnegative(rise, total) is None
    assert cases.nonnegative(rise, Facts({U: NONNEGATIVE}))


def test_of_many_sums_and_summands_few_ways_are_tried() -> None:
    """All of them took minutes."""
    triple = [Tensor(name, ("N", "N", "N"), positive=True) for name in "abc"]
    for count in (2, 3):
        sums = [ix.Sum(i, ix.Sum(j, ix.Sum(k, t[i, j, k]))) for t in triple[:count]]
        assert cases.nonnegative(ix.Add((*sums, -1 * U[i], -1 * U[j]))) is None
        lower = [-1 * t[i, j, i] for t in triple[:count]]
        assert cases.nonnegative(ix.Add((*sums, *lower)))


def test_the_sums_of_a_denominator_do_not_come_back_for_ever() -> None:
    total = ix.Sum(k, U[k])
    assert cases.nonnegative(1 - 1 / (total * ix.Sum(j, 1 / total)))  # this is 1 - 1/N
    assert cases.nonnegative(1 - 1 / (total * ix.Sum(j, 1 / (V[j] + total)))) is None


def test_of_large_expressions_nothing_is_looked_at() -> None:
    """A share below three fraction bars, in absolute values, took minutes."""
    p, q = (Tensor(name, (), positive=True).scalar for name in "pq")
    share = p / (p + q)
    started = time.perf_counter()
    cases.equal(size(log(share)), size(log(1 / (1 / share))))
    assert time.perf_counter() - started < 10
