"""Theorems read back: a reader of Rocq's text that shares nothing with the generator, and the values of formulas.

Numbers are mpmath's with 40 digits at exact rational points, so that exponentials and roots have values too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import mpmath

mpmath.mp.dps = 40
CLOSE = mpmath.mpf(10) ** -18
TOKENS = re.compile(r"%nat|->|:=|=>|<>|>=|<=|/\\|[A-Za-z_][A-Za-z0-9_']*|\d+|[()+*/^<>=~:,.-]")
Env = dict[str, Any]
Compared = tuple[str, Any]
"""A relation, and what is on its left minus what is on its right."""
Formula = Callable[[Env], Any]


class Undefined(ArithmeticError):
    """A value that mathematics does not give."""


@dataclass
class Read:
    """A theorem: the names and types that it quantifies, hypotheses and definitions in order, indices with their
    dimensions, and what it says; of a derivative also the function that it is of, as ``along``; of what holds
    near a point that point, as ``beside``.
    """

    name: str = ""
    symbols: dict[str, str] = field(default_factory=dict)
    before: list[tuple[str, str, Formula]] = field(default_factory=list)
    indices: list[tuple[str, str]] = field(default_factory=list)
    sides: tuple[Formula, str, Formula] | None = None
    along: Formula | None = None
    beside: Formula | None = None

    def assumed(self, env: Env) -> tuple[list[list[Compared]], Env]:
        """What each hypothesis compares, and the values with those of the definitions."""
        env, found = dict(env), []
        for what, name, formula in self.before:
            if what == "let":
                env[name] = formula(env)
            else:
                found.append(formula(env))
        return [compared for compared in found if compared], env

    def points(self, env: Env) -> Iterator[Env]:
        """The values of the indices, all of them."""
        for at in product(*(range(env[dim]) for _, dim in self.indices)):
            yield {**env, **dict(zip((name for name, _ in self.indices), at, strict=True))}


class Function:
    """A function that may be given its arguments one after the other."""

    def __init__(self, arity: int, body: Callable[..., Any]) -> None:
        self.arity, self.body = arity, body

    def __call__(self, *arguments: Any) -> Any:
        return applied(self, list(arguments))


def applied(function: Any, arguments: list[Any]) -> Any:
    """A function of some of its arguments, or of all and of more."""
    arity = getattr(function, "arity", 1)
    if len(arguments) < arity:
        return Function(arity - len(arguments), lambda *rest: function.body(*arguments, *rest))
    own = getattr(function, "body", function)(*arguments[:arity])
    return applied(own, arguments[arity:]) if len(arguments) > arity else own


def close(one: Any, two: Any) -> bool:
    """Equal as far as 40 digits tell."""
    return abs(one - two) <= CLOSE * (1 + abs(one) + abs(two))


def read(text: str) -> Read:
    """A theorem's statement. Raises SyntaxError for what is not understood."""
    return _Reader(TOKENS.findall(re.sub(r"\(\*.*?\*\)", "", text, flags=re.S))).theorem()


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0
        self.along: Formula | None = None

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.peek()
        if expected and token not in expected:
            raise SyntaxError(f"{expected} expected, not {' '.join(self.tokens[self.at : self.at + 12])}")
        self.at += 1
        return token

    # -------------------------------------------------------------- statements

    def theorem(self) -> Read:
        found = Read()
        self.take("Theorem")
        found.name = self.take()
        self.take(":")
        while self._prefix(found):
            pass
        if self.peek() == "exists":
            self._nearby(found)
        self.along = None  # hypotheses may say what has a derivative
        found.sides = self.comparison()
        found.along = self.along
        self.take(".")
        return found

    def _prefix(self, found: Read) -> bool:
        token = self.peek()
        if token == "forall" and self.peek(1) == "(":
            self.take()
            while self.peek() == "(":
                self._binder(found)
            self.take(",")
        elif token == "forall":
            found.indices.append(self._range())
        elif token == "let":
            self.take()
            name = self.take()
            self.take(":=")
            found.before.append(("let", name, self.expression()))
            self.take("in")
        elif token == "(" and (formula := self._hypothesis()):
            found.before.append(("if", "", formula))
        else:
            return False
        return True

    def _nearby(self, found: Read) -> None:
        """exists r, 0 < r /\\ forall Z, near n k point r Z ->"""
        radius = self._radius()
        self.take("forall")
        moving = self.take()
        found.symbols[moving] = "nat->nat->R"
        for expected in (",", "near"):
            self.take(expected)
        for _ in range(2):
            self.take()  # the sizes
        found.beside = self.argument()
        for expected in (radius, moving, "->"):
            self.take(expected)

    def _radius(self) -> str:
        """exists r, 0 < r /\\"""
        self.take("exists")
        name = self.take()
        for expected in (",", "0", "<", name, "/\\"):
            self.take(expected)
        return name

    def _binder(self, found: Read) -> None:
        self.take("(")
        names = []
        while self.peek() != ":":
            names.append(self.take())
        self.take(":")
        kind = ""
        while self.peek() != ")":
            kind += self.take()
        self.take(")")
        found.symbols |= dict.fromkeys(names, kind)

    def _range(self) -> tuple[str, str]:
        """forall i, (i < N)%nat ->"""
        self.take("forall")
        name = self.take()
        self.take(",")
        for expected in ("(", name, "<"):
            self.take(expected)
        dim = self.take()
        for expected in (")", "%nat", "->"):
            self.take(expected)
        return name, dim

    def _hypothesis(self) -> Formula | None:
        """(proposition) -> or (0 < N)%nat ->; the conclusion may begin with a parenthesis as well."""
        start = self.at
        try:
            self.take("(")
            formula = self.proposition()
            self.take(")")
            size = self.peek() == "%nat"
            if size:
                self.take()
            self.take("->")
            return (lambda env: []) if size else formula
        except SyntaxError:
            self.at = start
            return None

    def proposition(self) -> Formula:
        """A hypothesis, as what it compares: over indices in their ranges, or once; of one about all numbers,
        which is about a function, nothing.
        """
        if self.peek() == "forall" and self.peek(3) != "(":
            self.take("forall")
            self.take()
            self.take(",")
            self.proposition()
            return lambda env: []
        if self.peek() == "forall":
            name, dim = self._range()
            body = self.proposition()
            return lambda env: [c for n in range(env[dim]) for c in body({**env, name: n})]
        if self.peek() == "(" and (inner := self._inner()):
            return inner
        if self.peek() == "convex":
            self.take()
            self.take()
            return lambda env: [("convex", mpmath.mpf(0))]
        if self.peek() == "exists":
            radius = self._radius()
            self.take("convex_near")
            self.take()
            centre = self.argument()
            self.take(radius)
            return lambda env: [("convex near", centre(env))]
        left, relation, right = self.comparison()
        return lambda env: [(relation, left(env) - right(env))]

    def _inner(self) -> Formula | None:
        start = self.at
        try:
            self.take("(")
            inner = self.proposition()
            self.take(")")
            self.take("%nat")
            return inner
        except SyntaxError:
            self.at = start
            return None

    def comparison(self) -> tuple[Formula, str, Formula]:
        if self.peek() == "derivable_pt_lim":
            self.take()
            function, at, slope = self.argument(), self.argument(), self.argument()
            self.along = function
            return (lambda env: mpmath.diff(function(env), at(env))), "=", slope
        left = self.expression()
        relation = self.take("=", "<", "<=", ">", ">=", "<>")
        return left, relation, self.expression()

    # -------------------------------------------------------------- formulas

    def expression(self) -> Formula:
        if self.peek() == "fun":
            return self._function()
        if self.peek() == "let":
            self.take()
            name = self.take()
            self.take(":=")
            value = self.expression()
            self.take("in")
            body = self.expression()
            return lambda env: body({**env, name: value(env)})
        total = self.product()
        while self.peek() == "+":
            self.take()
            total = _both(total, self.product(), lambda a, b: a + b)
        return total

    def _function(self) -> Formula:
        self.take("fun")
        names = []
        while self.peek() != "=>":
            if (token := self.take()) == ":":
                self.take("nat")
            elif token not in "()":
                names.append(token)
        self.take("=>")
        body = self.expression()
        return lambda env: Function(
            len(names), lambda *values: body({**env, **dict(zip(names, values, strict=True))})
        )

    def product(self) -> Formula:
        total = self.prefixed()
        while self.peek() in ("*", "/"):
            divide = self.take() == "/"
            total = _both(total, self.prefixed(), _divided if divide else lambda a, b: a * b)
        return total

    def prefixed(self) -> Formula:
        if self.peek() == "/":
            self.take()
            below = self.prefixed()
            return lambda env: _divided(mpmath.mpf(1), below(env))
        base = self.applied()
        if self.peek() == "^":
            self.take()
            n = int(self.take())
            return lambda env: base(env) ** n
        return base

    def applied(self) -> Formula:
        arguments = []
        first = self.argument()
        while re.match(r"[A-Za-z_0-9(]", self.peek()) and self.peek() not in ("in", "then", "else"):
            arguments.append(self.argument())
        if not arguments:
            return first
        return lambda env: applied(first(env), [a(env) for a in arguments])

    def argument(self) -> Formula:
        token = self.take()
        if token == "(":
            if self.peek() == "-":
                self.take()
                number = int(self.take())
                self.take(")")
                return lambda env: mpmath.mpf(-number)
            inner = self.expression()
            self.take(")")
            return inner
        if token.isdigit():
            return lambda env: mpmath.mpf(int(token))
        if not re.match(r"[A-Za-z_]", token):
            raise SyntaxError(f"a formula expected, not {token}")
        return lambda env: env[token] if token in env else LIBRARY[token]


def _both(one: Formula, two: Formula, combine: Callable[[Any, Any], Any]) -> Formula:
    return lambda env: combine(one(env), two(env))


def _divided(a: Any, b: Any) -> Any:
    if b == 0:
        raise Undefined("a division by zero")
    return a / b


def _root(x: Any) -> Any:
    if x < 0:
        raise Undefined("the root of a negative number")
    return mpmath.sqrt(x)


def _log(x: Any) -> Any:
    if x <= 0:
        raise Undefined("the logarithm of a number that is not positive")
    return mpmath.log(x)


def _sum(n: int, body: Callable[[int], Any]) -> Any:
    total = mpmath.mpf(0)
    for i in range(n):
        total += body(i)
    return total


def _moved(dims: int) -> Function:
    def entry(array: Any, *rest: Any) -> Any:
        *at, h = rest
        if not dims:
            return array + h
        return Function(dims, lambda *where: array(*where) + h if list(where) == at else array(*where))

    return Function(2 + dims, entry)


def _shares(n: int, score: Callable[[int], Any], j: int) -> Any:
    return mpmath.exp(score(j)) / _sum(n, lambda m: mpmath.exp(score(m)))


LIBRARY: Env = {
    "cases": Function(5, lambda x, b, low, mid, high: low if x < b else mid if x == b else high),
    "exp": mpmath.exp, "sqrt": _root, "ln": _log, "INR": mpmath.mpf, "sum": Function(2, _sum),
    "delta": Function(2, lambda a, b: mpmath.mpf(int(a == b))), **{f"moved{n}": _moved(n) for n in range(4)},
    "transpose": Function(3, lambda a, i, j: a(j, i)),
    "product": Function(5, lambda n, a, b, i, j: _sum(n, lambda m: a(i, m) * b(m, j))),
    "times_vector": Function(4, lambda n, a, x, i: _sum(n, lambda m: a(i, m) * x(m))),
    "vector_times": Function(4, lambda n, x, b, j: _sum(n, lambda m: x(m) * b(m, j))),
    "inner": Function(3, lambda n, x, y: _sum(n, lambda m: x(m) * y(m))),
    "outer": Function(4, lambda x, y, i, j: x(i) * y(j)),
    "trace": Function(2, lambda n, a: _sum(n, lambda m: a(m, m))),
    "diag": Function(3, lambda v, i, j: v(i) if i == j else mpmath.mpf(0)),
    "norm_squared": Function(2, lambda n, x: _sum(n, lambda i: x(i) ** 2)),
    "frobenius_squared": Function(3, lambda n, k, a: _sum(n, lambda i: _sum(k, lambda j: a(i, j) ** 2))),
    "softmax": Function(3, _shares),
    "row_softmax": Function(4, lambda n, a, i, j: _shares(n, lambda m: a(i, m), j)),
}  # fmt: skip
"""What the words of Rocq and of lib/Paper.v mean, written a second time."""
