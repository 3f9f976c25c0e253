"""Random printed formulas: their LaTeX read back, their normal form and their derivatives, against exact
evaluation.

The reader of LaTeX below shares nothing with the printer: it evaluates what a person would read. A sum
reaches over the product that follows it; an index is what the innermost sum around it makes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as hs

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.components import evaluate
from derivations.calculus.differentiate import index_route
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.term import Term, as_term, size, squared_norm, stack, sum_over

SIZES = ({"N": 1, "M": 2}, {"N": 2, "M": 1}, {"N": 3, "M": 2})
I, J, K, L = Index("i", "N"), Index("j", "N"), Index("k", "M"), Index("l", "M")
FREE = (I, K)
X, Y, S = Tensor("x", ("N",)), Tensor("y", ("M",)), Tensor("s", ())
A, B = Tensor("A", ("N", "N"), row_latex="A_{%1}"), Tensor("B", ("N", "M"), row_latex="B_{%1}")
TENSORS = (X, Y, S, A, B)
POOL = [Fraction(n) for n in (-2, -1, 0, 1, 2, 3)] + [Fraction(1, 2)]
NAMES = {t.name: t for t in TENSORS}


def tries(fast: int) -> Callable[[Any], Any]:
    """Hundreds of cases in a fast run, tens of thousands behind the marker."""

    def both(test: Any) -> Any:
        @pytest.mark.parametrize("cases", [fast, pytest.param(80 * fast, marks=pytest.mark.slow)])
        def run(cases: int) -> None:
            quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much]
            settings(max_examples=cases, deadline=None, suppress_health_check=quiet)(given(hs.data())(test))()

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return both


# ---------------------------------------------------------------- random formulas


@hs.composite
def scalars(draw: Any, depth: int = 3, scope: tuple[Index, ...] = FREE, quotients: bool = True) -> Term:
    """A scalar formula in the indices of ``scope``."""
    kinds = ["sum", "product", "minus", "over", "power", "inner"] + (["quotient"] if quotients else [])
    kind = draw(hs.sampled_from(kinds)) if depth else "leaf"

    def inner(more: tuple[Index, ...] = ()) -> Term:
        return draw(scalars(depth - 1, (*scope, *more), quotients))

    match kind:
        case "sum":
            return inner() + inner()
        case "product":
            return inner() * inner()
        case "minus":
            return inner() - inner() if draw(hs.booleans()) else -inner()
        case "over":
            bound = draw(hs.sampled_from((I, J, K, L)))
            return sum_over(bound, inner((bound,)))
        case "power":
            return inner() ** draw(hs.sampled_from((2, 3)))
        case "inner":
            return squared_norm(stack(J, inner((J,))))
        case "quotient":
            return inner() / inner()
    tensor = draw(hs.sampled_from((None, *TENSORS)))
    if tensor is None:
        return draw(hs.sampled_from((as_term(2), as_term(-1), as_term(Fraction(1, 2)), size("N"), size("M"))))
    at = tuple(draw(hs.sampled_from([i for i in scope if i.dim == d])) for d in tensor.dims)
    return as_term(tensor)[at] if at else as_term(tensor)


def point(draw: Any, sizes: dict[str, int]) -> tuple[dict, dict[Index, int]]:
    values = {
        (t, e): draw(hs.sampled_from(POOL))
        for t in TENSORS
        for e in product(*(range(sizes[d]) for d in t.dims))
    }
    return values, {i: draw(hs.integers(0, sizes[i.dim] - 1)) for i in FREE}


def exactly(expr: ix.Expr, sizes: dict[str, int], values: dict, at: dict[Index, int]) -> Fraction | None:
    try:
        return Fraction(evaluate(expr, sizes, lambda t, e: values[t, e], {}, at))
    except ZeroDivisionError:
        return None


# ---------------------------------------------------------------- a reader of the printed formula


class Reader:
    """Evaluates printed LaTeX at a point, the way it is read."""

    def __init__(self, latex: str, sizes: dict[str, int], values: dict, at: dict[str, int]) -> None:
        words = r"\\[,!;|]|\\[A-Za-z]+|\d+|[A-Za-z]'*|[-+^_{}()\[\]=|]"
        self.tokens = [t for t in re.findall(words, latex) if t not in (r"\,", r"\!", r"\;", r"\cdot")]
        self.sizes, self.values, self.at, self.n = sizes, values, dict(at), 0

    def peek(self) -> str:
        return self.tokens[self.n] if self.n < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        assert not wanted or token == wanted, f"{wanted} expected, {token} found in {self.tokens}"
        self.n += 1
        return token

    def total(self) -> Fraction:
        sign = -1 if self.peek() == "-" and self.take() else 1
        value = sign * self.factors()
        while self.peek() in ("+", "-"):
            value += self._next()
        return value

    def _next(self) -> Fraction:
        sign = 1 if self.take() == "+" else -1
        return sign * self.factors()

    def factors(self) -> Fraction:
        value = Fraction(1)
        while self.peek() and self.peek() not in ("+", "-", "}", ")", "]", r"\right", r"\|"):
            value *= self.sum() if self.peek() == r"\sum" else self.raised()
        return value

    def sum(self) -> Fraction:
        self.take(r"\sum"), self.take("_"), self.take("{")
        name = self.take()
        self.take("="), self.take("1"), self.take("}"), self.take("^"), self.take("{")
        dim = self.take()
        self.take("}")
        start, outside, value = self.n, self.at.get(name), Fraction(0)
        for n in range(self.sizes[dim]):
            self.n, self.at[name] = start, n
            value += self.factors()
        if outside is None:
            del self.at[name]
        else:
            self.at[name] = outside
        return value

    def raised(self) -> Fraction:
        value = self.atom()
        if isinstance(value, list):
            for token in ("^", "{", r"\top", "}"):
                self.take(token)
            other = self.atom()
            assert isinstance(other, list)
            return sum((a * b for a, b in zip(value, other, strict=True)), Fraction(0))
        if self.peek() == "^":
            self.take()
            value **= int(self.group()) if self.peek() == "{" else int(self.take())
        return value

    def group(self) -> Fraction:
        self.take("{")
        value = self.total()
        self.take("}")
        return value

    def atom(self) -> Fraction | list[Fraction]:
        """The value of a factor: of a row, or of an array without its one index, a list."""
        token = self.take()
        if token in (r"\frac", r"\tfrac"):
            return self.group() / self.group()
        if token == r"\left":
            if self.peek() == r"\|":
                return self.squared_norm()
            self.take("(")
            value = self.total()
            self.take(r"\right"), self.take(")")
            return value
        if token == "{" and not (self.peek() in NAMES and self.tokens[self.n + 1] == "}"):
            self.n -= 1
            return self.group()
        if token == "{":  # the braces around the name of an entry
            token = self.take()
            self.take("}")
        if token.isdigit():
            return Fraction(int(token))
        if token in self.sizes:
            return Fraction(self.sizes[token])
        tensor, entry = NAMES[token], []
        if self.peek() == "_":
            self.take("_"), self.take("{")
            while self.peek() != "}":
                entry.append(self.at[self.take()])
            self.take("}")
        if len(entry) < len(tensor.dims):
            return [self.values[tensor, (*entry, n)] for n in range(self.sizes[tensor.dims[-1]])]
        return self.values[tensor, tuple(entry)]

    def squared_norm(self) -> Fraction:
        self.take(r"\|")
        row = self.atom()
        for token in (r"\right", r"\|", "^", "{", "2", "}"):
            self.take(token)
        assert isinstance(row, list)
        return sum((a * a for a in row), Fraction(0))


def read(latex: str, sizes: dict[str, int], values: dict, at: dict[Index, int]) -> Fraction | None:
    reader = Reader(latex, sizes, values, {i.name: n for i, n in at.items()})
    try:
        value = reader.total()
    except ZeroDivisionError:
        return None
    assert not reader.peek(), f"{reader.tokens[reader.n :]} is left of {latex}"
    return value


def test_the_reader_reads() -> None:
    values = {(X, (0,)): Fraction(2), (X, (1,)): Fraction(3), (S, ()): Fraction(5)}
    sizes, at = {"N": 2, "M": 1}, {I: 1}
    for latex, value in (
        (r"\sum_{i=1}^{N} x_{i}\,s + x_{i}", 28), (r"-x_{i}^{2} - \frac{s}{2\,x_{i}}", Fraction(-59, 6)),
        (r"\left(\sum_{j=1}^{N} x_{j}\right)^{2}", 25), (r"\tfrac{1}{2}\,N", 1), (r"\sum_{j=1}^{N} "
            r"\sum_{i=1}^{N} x_{i}\,x_{j}", 25), (r"2\,{x}_{i}\,\left\|x\right\|^{2} - x^{\top} x", 65),
    ):  # fmt: skip
        assert read(latex, sizes, values, at) == value


# ---------------------------------------------------------------- what must agree


def plain(term: Term) -> bool:
    """Without the norms, which the reader does not know."""
    return r"\|" not in term.latex()


@tries(150)
def test_the_printed_formula_is_the_one_that_is_decided(data: Any) -> None:
    term = data.draw(scalars())
    assume(plain(term))
    sizes = data.draw(hs.sampled_from(SIZES))
    values, at = point(data.draw, sizes)
    value = exactly(term.entry(), sizes, values, at)
    if value is not None:
        assert read(term.latex(), sizes, values, at) == value, term.latex()


@tries(150)
def test_the_normal_form_and_its_print_have_the_value_of_the_formula(data: Any) -> None:
    term = data.draw(scalars())
    try:
        form = nf.normal(term.entry())
    except ZeroDivisionError:
        return
    sizes = data.draw(hs.sampled_from(SIZES))
    values, at = point(data.draw, sizes)
    value, back = exactly(term.entry(), sizes, values, at), exactly(to_expr(form), sizes, values, at)
    assert value is None or back is None or value == back, term.latex()
    printed = read(form_latex(form), sizes, values, at)
    assert printed is None or back is None or printed == back, form_latex(form)


def degree(expr: ix.Expr, tensor: Tensor) -> int:
    """A bound of the degree of a polynomial in one tensor."""
    match expr:
        case ix.At():
            return int(expr.tensor == tensor)
        case ix.Pow(base, exponent):
            return degree(base, tensor) * int(exponent)
        case ix.Mul(args):
            return sum(degree(a, tensor) for a in args)
    return max((degree(part, tensor) for part in ix.children(expr)), default=0)


def slope(function: Callable[[Fraction], Fraction], order: int) -> Fraction:
    """The derivative at 0 of a polynomial of degree ``order``, by differences: exact."""
    nodes = [Fraction(n) for n in range(order + 1)]
    total = Fraction(0)
    for n in nodes:
        others = [m for m in nodes if m != n]
        bottom = Fraction(1)
        for m in others:
            bottom *= n - m
        top = Fraction(0)
        for left_out in others:
            part = Fraction(1)
            for m in others:
                part *= -m if m != left_out else 1
            top += part
        total += function(n) * top / bottom
    return total


@tries(100)
def test_derivatives_of_polynomials_are_their_difference_quotients(data: Any) -> None:
    term, tensor = data.draw(scalars(quotients=False)), data.draw(hs.sampled_from((X, S, A)))
    expr = term.entry()
    order = degree(expr, tensor)
    assume(order <= 9)
    place = tuple(Index(f"∂{n}", d) for n, d in enumerate(tensor.dims))
    found = index_route(expr, tensor, place)
    sizes = data.draw(hs.sampled_from(SIZES))
    values, at = point(data.draw, sizes)
    entry = tuple(data.draw(hs.integers(0, sizes[d] - 1)) for d in tensor.dims)

    def moved(h: Fraction) -> Fraction:
        changed = {**values, (tensor, entry): values[tensor, entry] + h}
        return Fraction(evaluate(expr, sizes, lambda t, e: changed[t, e], {}, at))

    ours = exactly(found, sizes, values, {**at, **dict(zip(place, entry, strict=True))})
    assert ours == (slope(moved, order) if order else 0), term.latex()


def test_the_difference_quotient_notices_a_wrong_derivative() -> None:
    assert slope(lambda h: (2 + h) ** 3, 3) == 12 and slope(lambda h: Fraction(7), 0) == 0
