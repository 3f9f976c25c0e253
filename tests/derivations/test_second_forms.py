"""The second normal forms: of angles, of maxima, of masks. Each is compared with values, not with itself."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

from checks.engine.instances import Instance
from checks.engine.judge import equal
from derivations.calculus import angles, masks, maxima, signs
from derivations.calculus import index as ix
from derivations.calculus.balls import Ball
from derivations.calculus.components import evaluate
from derivations.calculus.functions import BALL_FUNCTIONS, KNOWN
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.order import before, first, is_mask, step, value
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.term import NonConformable, as_term

X, Y, U = Tensor("x"), Tensor("y"), Tensor("u", ("N",))
x, y = X.scalar, Y.scalar
i, j = Index("i", "N"), Index("j", "N")


def call(name: str, arg: ix.Expr, order: int = 0) -> ix.Expr:
    return ix.Call(name, arg, order)


def drawn(rng: random.Random) -> ix.Expr:
    """A random angle in x, y and a sum."""
    return Fraction(rng.randint(-2, 2), rng.choice((1, 2))) * x + rng.randint(-1, 1) * y + ix.Sum(i, U[i])


def test_the_sign_of_what_vanishes_beside_a_delta_has_a_form() -> None:
    """δ_ij sign(u_i - u_j) has the sign of 0, of which there is no first coefficient."""
    signed = ix.Delta(i, j) * call("sign", U[i] - U[j])
    assert maxima.equal(signed + x, x + signed) and not maxima.equal(signed, signed + x)


def test_angles_are_taken_apart_below_a_mask() -> None:
    mask = ix.At(before("N"), (i, j)) + ix.Delta(i, j)
    whole = ix.Sum(j, ix.Mul((mask, call("cos", U[j]))))
    strict = ix.Sum(j, ix.Mul((ix.At(before("N"), (i, j)), call("cos", -U[j]))))
    assert equal(whole, strict + call("cos", -U[i]))
    assert not equal(whole, strict + call("sin", -U[i]))


@pytest.mark.parametrize("seed", range(12))
def test_what_the_form_of_angles_calls_equal_has_equal_values(seed: int) -> None:
    rng = random.Random(seed)
    a, b = drawn(rng), drawn(rng)
    order = rng.randint(0, 3)
    first, second = call("cos", a + b, order), call("sin", a + b, order + 1)
    assert angles.equal(first, second)
    product_ = call("cos", a) * call("cos", b) - call("sin", a) * call("sin", b)
    assert angles.equal(call("cos", a + b), product_) and not angles.equal(call("cos", a - b), product_ + x)
    values = {t: Ball(Fraction(rng.randint(-9, 9), 7)) for t in (X, Y)}

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Ball:
        return values.get(tensor, Ball(Fraction(entry[0] + 1, 3)) if entry else Ball(0))

    one, two = (evaluate(e, {"N": 2}, lookup, BALL_FUNCTIONS) for e in (call("cos", a + b), product_))
    assert (Ball.of(one) - Ball.of(two)).value.contains(0)


@pytest.mark.parametrize("name, reference", [("sin", math.sin), ("cos", math.cos)])
def test_balls_of_waves_are_those_of_their_derivatives(name: str, reference) -> None:
    for order, at in product(range(6), (Fraction(1, 3), Fraction(-5, 2))):
        shifted = reference(float(at) + order * math.pi / 2)
        assert float(KNOWN[name].ball(at, order).value.mid()) == pytest.approx(shifted, abs=1e-12)


def test_an_angle_of_many_turns_stays_whole() -> None:
    assert angles.equal(call("cos", 20 * x), 2 * call("cos", 10 * x) ** 2 - 1)  # two turns of 10 x
    assert not angles.equal(call("cos", 10 * x), 2 * call("cos", 5 * x) ** 2 - 1 + 0 * call("cos", x))


def test_indices_of_other_names_have_the_same_turns() -> None:
    double = ix.Sum(i, call("cos", 2 * x * U[i]))
    assert angles.equal(double, ix.Sum(j, 1 - 2 * call("sin", x * U[j]) ** 2))


def test_what_has_no_value_at_equal_indices_keeps_its_sign_at_others() -> None:
    i, j = Index("i", "n"), Index("j", "n")
    other = 1 - ix.Delta(i, j)  # of its quotient with itself the normal form has a summand δ/0
    one = other * ix.Pow(other, Fraction(-1))
    assert not signs.nonnegative(-one) and not signs.positive(-one)
    assert not equal(ix.Call("relu", -one), -one)


def test_the_form_of_maxima() -> None:
    one, two = as_term(X), as_term(Y)
    assert maxima.equal(maxima.maximum(one, two).entry(), maxima.maximum(two, one).entry())
    assert not maxima.equal(maxima.maximum(one, two).entry(), x)
    assert maxima.equal(call("abs", -3 * x), 3 * call("relu", x) + 3 * call("relu", -x))
    assert not maxima.equal(call("relu", -x), -call("relu", x))
    positive = Tensor("p", positive=True).scalar
    assert maxima.equal(call("relu", -positive - 1), ix.Num(Fraction(0)))
    assert maxima.equal(call("abs", -positive), positive)
    assert not maxima.equal(call("relu", 1 - positive), ix.Num(Fraction(0)))
    ramp = call("relu", x)
    assert maxima.equal(call("relu", ramp), ramp) and maxima.equal(call("abs", -(x**2)), x**2)
    assert maxima.equal(call("relu", -ramp), ix.Num(Fraction(0)))
    assert not maxima.equal(call("relu", ramp - 1), ramp) and not maxima.equal(call("relu", x**2 - 1), x**2)
    with pytest.raises(NonConformable):
        maxima.maximum(one, as_term(U)).shape()


TRUE_OF_SIGNS = {
    "u sign(u) = |u|": (x * call("sign", x), call("abs", x)),
    "|u| sign(u) = u": (call("abs", x) * call("sign", x), x),
    "sign(u)³": (call("sign", x) ** 3, call("sign", x)),
    "of products": (call("sign", -2 * x * y**3), -call("sign", x) * call("sign", y)),
    "|uv|": (call("abs", x * y**2), call("abs", x) * y**2),
    "1/|u|": (call("abs", 1 / x), call("abs", x) / x**2),
    "roots": (ix.Pow(4 * x**2 * y**4, Fraction(1, 2)), 2 * call("abs", x) * y**2),
    "below a sum": (ix.Sum(i, U[i] * call("sign", U[i])), ix.Sum(i, call("abs", U[i]))),
}
FALSE_OF_SIGNS = {
    "sign(u)²": (call("sign", x) ** 2, ix.Num(Fraction(1))),
    "sign(u + v)": (call("sign", x + y) * x, call("abs", x)),
    "another's sign": (x * call("sign", y), call("abs", x)),
    "a root with its sign": (ix.Pow(x**2, Fraction(1, 2)) * call("sign", y), call("sign", y) * x),
    "below a sum": (ix.Sum(i, ix.Sum(j, U[i] * call("sign", U[j]))), ix.Sum(i, call("abs", U[i]))),
}


def test_the_form_of_signs() -> None:
    for name, pair in TRUE_OF_SIGNS.items():
        assert maxima.equal(*pair), name
    for name, pair in FALSE_OF_SIGNS.items():
        assert not maxima.equal(*pair), name


def _with_signs(rng: random.Random, depth: int) -> ix.Expr:
    """A random formula of x and y in ramps, absolute values, signs, roots of squares and quotients."""
    if depth == 0:
        return rng.choice((x, y, x - y, x * y, ix.Num(Fraction(rng.randint(-2, 2)))))
    one, two = (_with_signs(rng, depth - 1) for _ in range(2))
    made = rng.randint(0, 6)
    if made < 3:
        return call(("relu", "abs", "sign")[made], one)
    if made == 3:
        return ix.Pow(rng.choice((one * one, one * one * two * two)), Fraction(rng.choice((1, 3)), 2))
    return one + two if made == 4 else one * two if made == 5 else one / (1 + two * two)


@pytest.mark.parametrize("seed", range(20))
def test_the_form_of_signs_keeps_values(seed: int) -> None:
    rng = random.Random(f"{seed} signs")
    for _ in range(4):
        expr = _with_signs(rng, 2) * _with_signs(rng, 2)
        same = to_expr(maxima.canonical(expr))
        for a, b in product((-2, -1, 0, 1, 2), repeat=2):
            at = Instance({}, {(X, ()): Fraction(a), (Y, ()): Fraction(b)}, ())
            assert at.same(expr, same, {}) is not False, (expr, a, b)


def test_masks_have_the_values_that_their_names_say() -> None:
    strict, one_before = before("N"), step("N")
    assert is_mask(strict) and is_mask(one_before) and not is_mask(U)
    for row, column in product(range(4), repeat=2):
        assert value(strict, (row, column)) == int(column < row)
        assert value(one_before, (row, column)) == int(column == row - 1)
        assert value(first("N"), (row,)) == 1 - sum(value(one_before, (row, p)) for p in range(4))
    # what the form uses: Σ_p [p = i-1] [l < p] = [l < i] - [l = i-1]
    for row, column in product(range(4), repeat=2):
        total = sum(value(one_before, (row, p)) * value(strict, (p, column)) for p in range(4))
        assert total == value(strict, (row, column)) - value(one_before, (row, column))


def test_the_form_of_masks() -> None:
    upto = masks.not_later(j, i).entry() * U[j]
    strict = masks.earlier(j, i).entry() * U[j]
    assert masks.equal(ix.Sum(j, upto), ix.Sum(j, strict) + U[i])
    assert not masks.equal(ix.Sum(j, upto), ix.Sum(j, strict))
    assert masks.equal(masks.earlier(i, i).entry(), ix.Num(Fraction(0)))
    one = masks.earlier(i, j).entry() + masks.earlier(j, i).entry()
    assert masks.equal(one + ix.Delta(i, j), ix.Num(Fraction(1)))  # of two tokens one is earlier
    assert not masks.equal(one, ix.Num(Fraction(1)))
    assert not masks.equal(one + 2 * ix.Delta(i, j), ix.Num(Fraction(1)))
    # a sum over the row before is only taken where nothing else depends on that row
    p = Index("p", "N")
    stepped = ix.At(step("N"), (i, p)) * ix.At(before("N"), (p, j))
    assert masks.equal(ix.Sum(p, stepped), ix.At(before("N"), (i, j)) - ix.At(step("N"), (i, j)))
    assert not masks.equal(
        ix.Sum(p, stepped * U[p]), (ix.At(before("N"), (i, j)) - ix.At(step("N"), (i, j))) * U[i]
    )


def prefix(at: Index, factor: int = 1) -> ix.Expr:
    """exp of a multiple of the sum of u before an index."""
    return call("exp", factor * ix.Sum(j, ix.At(before("N"), (at, j)) * U[j]))


def test_a_decay_by_prefix_sums_is_that_of_the_row_before_and_a_step() -> None:
    p, q = Index("p", "N"), Index("q", "N")
    there = ix.At(step("N"), (i, p))
    decayed = ix.Sum(p, there * prefix(p) * call("exp", U[p]))
    assert masks.equal(decayed, ix.Sum(p, there) * prefix(i))
    for wrong in (
        ix.Sum(p, there * prefix(p)),
        ix.Sum(p, ix.At(step("N"), (p, i)) * prefix(p) * call("exp", U[p])),
    ):
        assert not masks.equal(wrong, ix.Sum(p, there) * prefix(i))
    assert not masks.equal(decayed, prefix(i))  # there is no row before the first
    started = decayed + ix.At(first("N"), (i,))
    assert masks.equal(started, prefix(i)) and not masks.equal(started + ix.At(first("N"), (i,)), prefix(i))
    between = ix.Sum(q, ix.At(before("N"), (q, j)) * masks.not_later(q, i).entry() * U[q])
    strict = ix.At(before("N"), (i, j))
    shorter = ix.Sum(q, ix.At(before("N"), (q, j)) * ix.At(before("N"), (i, q)) * U[q])
    assert masks.equal(strict * call("exp", between), strict * call("exp", shorter) * call("exp", U[i]))
    assert not masks.equal(call("exp", between), call("exp", shorter) * call("exp", U[i]))
    assert masks.equal(strict * ix.At(before("N"), (j, i)), ix.Num(Fraction(0)))
    of_prefixes = call(
        "exp",
        ix.Sum(q, masks.not_later(q, i).entry() * U[q]) - ix.Sum(q, masks.not_later(q, j).entry() * U[q]),
    )
    assert masks.equal(strict * call("exp", between), strict * of_prefixes)
    assert not masks.equal(call("exp", between), of_prefixes)  # it is turned around behind i
    # where the mask is 0, these could become a division by 0
    for part in (
        ix.Pow(1 + prefix(p), Fraction(-1)),
        call("exp", ix.Pow(ix.Sum(j, ix.At(before("N"), (p, j)) * U[j]) - 1, Fraction(-1))),
    ):
        assert masks._beside(there * part) == there * part


@pytest.mark.parametrize("seed", range(40))
def test_the_form_of_masks_has_the_values_of_what_it_is_of(seed: int) -> None:
    rng, (p, q) = random.Random(seed), (Index("p", "N"), Index("q", "N"))
    tokens = (i, p, q)

    def factor() -> ix.Expr:
        one, two = rng.sample(tokens, 2)
        stepped, strict = (ix.At(mask, (one, two)) for mask in (step("N"), before("N")))
        inner = prefix(two, rng.choice((-1, 1, 2))) * call("exp", rng.randint(-1, 1) * U[one])
        between = ix.At(before("N"), (j, one)) * ix.At(before("N"), (two, j))
        segment = call("exp", ix.Sum(j, (between + rng.randint(0, 1) * ix.Delta(j, two)) * U[j]))
        stood = call(
            "exp",
            (strict + rng.randint(0, 1) * ix.Delta(one, two)) * U[one]
            + ix.Sum(j, ix.At(step("N"), (one, j)) * U[j]),
        )
        below = ix.Pow(1 + inner, Fraction(-1))
        top = ix.At(first("N"), (one,))
        return rng.choice(
            (stepped, stepped, strict, inner, segment, stood, call("exp", prefix(one)), below, top)
        )

    whole = ix.total(
        ix.Mul(tuple(factor() for _ in range(rng.randint(2, 5)))), *rng.choice(((p, q), (q, p), (p,)))
    )
    numbers = [Ball(Fraction(rng.randint(-5, 5), 4)) for _ in range(4)]

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Ball:
        return Ball(value(tensor, entry)) if is_mask(tensor) else numbers[entry[0]]

    form = to_expr(masks._form(whole))
    turned = to_expr(masks._form(masks._turned(form)))
    for at in product(range(4), repeat=2):
        one, two, three = (
            evaluate(e, {"N": 4}, lookup, BALL_FUNCTIONS, {i: at[0], q: at[1]}) for e in (whole, form, turned)
        )
        assert all((Ball.of(one) - Ball.of(other)).value.contains(0) for other in (two, three))


def test_the_order_of_three_tokens() -> None:
    k, l = Index("k", "N"), Index("l", "N")

    def is_before(first_: Index, second: Index) -> ix.Expr:
        return ix.At(before("N"), (second, first_))

    def upto(end: Index) -> ix.Expr:
        return ix.Sum(l, masks.not_later(l, end).entry() * U[l])

    chain = is_before(i, j) * is_before(j, k)
    between = ix.Sum(l, is_before(i, l) * masks.not_later(l, j).entry() * U[l])
    same = masks.not_later(i, j).entry()
    steps = ix.Sum(l, masks.not_later(l, i).entry() * (U[l] - ix.Sum(k, ix.At(step("N"), (l, k)) * U[k])))
    pairs = ix.Sum(i, ix.Sum(j, is_before(i, j)))
    n = ix.Dim("N")
    for one, two, wrong in (
        (chain * is_before(i, k), chain, is_before(i, k)),
        (chain * is_before(k, i), ix.Num(Fraction(0)), chain),
        (same * (upto(i) + between), same * upto(j), upto(j)),  # [i ≤ j]: a sum in two parts
        (steps, U[i], upto(i)),  # differences of neighbours add up
        (2 * pairs + n, n * n, n),
    ):
        assert masks.equal(one, two) and not masks.equal(one, wrong)


def test_functions_are_set_as_functions() -> None:
    """relu(x) in italics reads as a product of five symbols."""
    for name in ("relu", "abs", "sign"):
        assert form_latex(normal(call(name, x))) == rf"\operatorname{{{name}}}\left(x\right)"
    assert form_latex(normal(call("sin", x))) == r"\sin\left(x\right)"
