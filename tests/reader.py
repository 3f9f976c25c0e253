"""A reader of printed formulas that shares nothing with the printer: what a mathematician would read.

``Reader`` parses LaTeX with the vocabulary of a statement: its symbols (whole, by rows, by entries), its
functions and the names that it gives to formulas. Spaces, thin spaces and braces mean nothing, as on the
page. A sum reaches over the product that follows it; what stands side by side is multiplied, as matrices
where both are arrays; an index is what the innermost sum, stack or statement makes it. The shape of everything
is known by the names of its dimensions, never by their sizes. Whatever has no reading, or two, is an error.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.functions import EXPONENT
from derivations.calculus.gradients import Differential, Formula, Gradient, SymbolicPower
from derivations.calculus.index import STACKED, Index, Tensor, summands
from derivations.calculus.term import Apply, Named, NonConformable, Size, Stack, SumOver, Term, as_term
from derivations.theories.ksvd import PrintedDiagonal

Dims = tuple[str, ...]


class Unreadable(Exception):
    """The text has no reading, or more than one; ``reason`` is why, without the particulars."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class Undefined(ArithmeticError):
    """The formula has no value at a point."""


# ---------------------------------------------------------------- numbers to evaluate at


def _unknown(name: str) -> Callable[[float, int], float]:
    a, b = 0.6 + 0.05 * (ord(name[0]) % 7), 0.3 * (ord(name[0]) % 5)

    def value(u: float, order: int = 0) -> float:
        square = (u * u, 2 * u, 2.0)[order] if order < 3 else 0.0
        return a**order * math.sin(a * u + b + order * math.pi / 2) + 0.2 * square

    return value


def _cycle(*of: Callable[[float], float]) -> Callable[[float, int], float]:
    return lambda u, order=0: of[order % len(of)](u)


def _log(u: float, order: int = 0) -> float:
    if u <= 0:
        raise Undefined("log")
    return math.log(u) if order == 0 else (-1) ** (order - 1) * math.factorial(order - 1) / u**order


def _root(u: float, exponent: Any) -> float:
    if u < 0 or (u == 0 and exponent < 0):
        raise Undefined("root")
    return float(u) ** float(exponent)


def _sigmoid(u: float, order: int = 0) -> float:
    s = 1 / (1 + math.exp(-u))
    return (s, s * (1 - s), s * (1 - s) * (1 - 2 * s))[order]


def _tanh(u: float, order: int = 0) -> float:
    t = math.tanh(u)
    return (t, 1 - t * t, -2 * t * (1 - t * t))[order]


FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": _cycle(math.exp),
    "log": _log,
    "sin": _cycle(math.sin, math.cos, lambda u: -math.sin(u), lambda u: -math.cos(u)),
    "cos": _cycle(math.cos, lambda u: -math.sin(u), lambda u: -math.cos(u), math.sin),
    "cosh": _cycle(math.cosh, math.sinh),
    "sinh": _cycle(math.sinh, math.cosh),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "relu": lambda u, order=0: (max(u, 0.0), float(u > 0))[order],
    "abs": lambda u, order=0: (abs(u), math.copysign(1, u))[order],
    "sign": lambda u, order=0: (math.copysign(1, u), 0.0)[order],
    "clip": lambda u, order=0: (max(-1.0, min(1.0, u)), float(-1 < u < 1))[order],
    "elu1": lambda u, order=0: (u + 1 if u > 0 else math.exp(u), min(1.0, math.exp(min(u, 0.0))))[order],
    "root": _root,
}


class _Functions(dict[str, Callable[..., float]]):
    """Every name of one letter is some smooth function; ``power`` is the one with the exponent p."""

    def __missing__(self, name: str) -> Callable[..., float]:
        assert len(name) == 1, name
        return _unknown(name)


@dataclass
class Point:
    """Sizes, and an array for each tensor."""

    sizes: dict[str, int]
    arrays: dict[Tensor, Any]

    def functions(self) -> Mapping[str, Callable[..., float]]:
        def power(u: float, order: int = 0) -> float:
            p = float(self.arrays[EXPONENT])
            return math.prod(p - n for n in range(order)) * u ** (p - order)

        return _Functions(FUNCTIONS, power=power)

    def moved(self, tensor: Tensor, array: Any) -> Point:
        """The point with other values of one tensor."""
        return Point(self.sizes, {**self.arrays, tensor: array})

    def size(self, dim: str) -> int:
        """The size of a dimension that may be stacked."""
        return sum(1 if part == "1" else self.sizes[part] for part in summands(dim))

    def value(self, term: Term, at: Mapping[Index, int]) -> Any:
        """What is decided: the entries of a term as an array, evaluated from its index notation."""
        dims = term.shape()
        result = np.zeros([self.size(dim) for dim in dims])
        offsets = [self._parts(dim) for dim in dims]
        for block in product(*offsets):
            places = tuple(Index(f"place{n}", part) for n, (part, _, _) in enumerate(block))
            expr = term.entry(*places)
            known: dict[Any, Any] = {}  # sums, by the indices that they leave open
            for where in product(*(range(size) for _, _, size in block)):
                got = evaluate(
                    expr,
                    self.sizes,
                    lambda t, e: float(self.arrays[t][e]),
                    self.functions(),
                    {**at, **dict(zip(places, where, strict=True))},
                    known,
                )
                result[tuple(o + w for (_, o, _), w in zip(block, where, strict=True))] = got
        return result

    def _parts(self, dim: str) -> list[tuple[str, int, int]]:
        found, offset = [], 0
        for part in summands(dim):
            found.append((part, offset, self.size(part)))
            offset += self.size(part)
        return found


def draw(dims: set[str], tensors: set[Tensor], seed: int, positive: bool = False) -> Point:
    """Random sizes, and random values, positive where promised. For an even seed all sizes are above 1, and
    different where there are few.
    """
    rng = random.Random(seed)
    plain = sorted({part for dim in dims for part in summands(dim) if part != "1"})
    pool = (2, 3, 4) if seed % 2 == 0 else (1, 2, 3)
    some = rng.sample(pool, 3) if len(plain) <= 3 else [rng.choice(pool[:2]) for _ in plain]
    sizes = dict(zip(plain, some, strict=False))
    for dim in plain:  # sizes that are said by others
        whole, minus, part = dim.partition("-")
        if minus and whole in sizes and part in sizes:
            sizes[whole] = sizes[part] + sizes[dim]
        if " " in dim and all(factor in sizes for factor in dim.split()):
            sizes[dim] = math.prod(sizes[factor] for factor in dim.split())
    point = Point(sizes, {})
    for tensor in sorted(tensors, key=lambda t: (t.name, t.latex, t.dims, t.row_latex, t.entry_latex)):
        shape = [point.size(dim) for dim in tensor.dims]
        array = np.array([rng.uniform(0.4, 1.4) for _ in range(math.prod(shape))]).reshape(shape)
        if not (positive or tensor.positive):
            array *= np.array([rng.choice((-1, 1)) for _ in range(math.prod(shape))]).reshape(shape)
        if tensor.symmetric and len(shape) == 2:
            array = (array + array.T) / 2
        point.arrays[tensor] = array
    point.arrays[EXPONENT] = np.array(3.0)
    return point


# ---------------------------------------------------------------- vocabulary


_WORD = re.compile(
    r"\\left\s*\\\||\\right\s*\\\||\\left\.|\\right\||\\left(?![a-z])|\\right(?![a-z])|\\operatorname\{[A-Za-z0-9*]+\}|"
    r"\\(?:begin|end)\{[a-z]+\}|\\text\{[^{}]*\}|\\[A-Za-z]+|\\.|\d+|[^\s]"
)
_NOTHING = {r"\,", r"\!", r"\;", r"\ ", r"\left", r"\right", r"\textstyle", r"\displaystyle"}


def words(latex: str) -> list[str]:
    """The tokens of a formula; space and the size of brackets are none."""
    return [w for w in _WORD.findall(latex) if w not in _NOTHING]


@dataclass(frozen=True)
class Word:
    """A printed name: its tokens, in which a number stands for the n-th index, and what it names."""

    tokens: tuple[str | int, ...]
    meaning: Any  # a Tensor, a Term under a name, or a dimension as a number
    holes: int = 0


def _template(latex: str) -> tuple[tuple[str | int, ...], int] | None:
    tokens: list[str | int] = []
    pieces = re.split(r"%(\d)", latex)
    for n, piece in enumerate(pieces):
        tokens += [int(piece)] if n % 2 else words(piece)
    holes = {t for t in tokens if isinstance(t, int)}
    return (tuple(tokens), len(holes)) if holes == set(range(1, len(holes) + 1)) else None


@dataclass
class Vocabulary:
    """What the names in the formulas of a statement mean."""

    tensors: set[Tensor] = field(default_factory=set)
    dims: set[str] = field(default_factory=set)
    words: dict[str, list[Word]] = field(default_factory=dict)
    functions: dict[tuple[str, ...], set[Any]] = field(default_factory=dict)
    energies: dict[tuple[str, ...], set[Term]] = field(default_factory=dict)
    differentials: dict[tuple[str, ...], set[Term]] = field(default_factory=dict)
    entrywise: bool = False
    "whether it is said that powers and functions of arrays are meant entry by entry"
    rowwise: bool = True
    "whether it is said that the softmax of a matrix is that of its rows"

    def name(self, latex: str, meaning: Any) -> None:
        """Enter a printed name."""
        found = _template(latex)
        if found is None or not found[0]:
            return
        word = Word(found[0], meaning, found[1])
        same = self.words.setdefault(str(word.tokens[0]), [])
        if word not in same:
            same.append(word)


def everything(item: Any) -> Iterator[Any]:
    """Every term, tensor and index below a statement, and every dimension of one, whatever holds them."""
    todo, seen = [item], set()
    while todo:
        one = todo.pop()
        if isinstance(one, (str, int, float, Fraction, type(None))) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, (Tensor, Index)):
            continue
        if isinstance(one, Mapping):
            todo += [*one.keys(), *one.values()]
        elif isinstance(one, (tuple, list, set, frozenset)):
            todo += one
        elif is_dataclass(one) and not isinstance(one, type):
            todo += vars(one).values()


def vocabulary(statement: Any, entrywise: bool = False, rowwise: bool = True) -> Vocabulary:
    """The vocabulary of a statement: what its own symbols are printed as."""
    found = Vocabulary(entrywise=entrywise, rowwise=rowwise)
    held = list(everything(statement))  # what is walked must stay alive: it is known by its address
    for one in held:
        match one:
            case Tensor():
                found.tensors.add(one)
                found.dims.update(one.dims)
            case Index():
                found.dims.add(one.dim)
            case ix.Dim(name):
                found.dims.add(name)
            case SymbolicPower():
                found.tensors.add(EXPONENT)
            case Apply():
                name, latex, _ = one.data
                found.functions.setdefault(tuple(words(latex)), set()).add(name)
            case ix.Call(name, _, _) if len(name) == 1:
                found.functions.setdefault((name,), set()).add(name)
            case Formula():
                found.functions.setdefault(("F",), set()).add(replace(one, args=(), data=(one.data[0], 0)))
            case Gradient():
                found.energies.setdefault(tuple(words(one.data[2])), set()).add(one.data[0])
            case Differential():
                found.differentials.setdefault(tuple(words(one.data[3])), set()).add(one)
            case Named() | PrintedDiagonal():
                found.name(one.data, one)
        if isinstance(one, Term):
            if isinstance(one, Size):
                found.dims.add(one.data)
            if type(one).__name__ in ("Zeros", "Ones"):
                found.dims.update(one.data)
            if type(one).__name__ == "Eye":
                found.dims.add(one.data)
    for tensor in found.tensors:
        found.name(tensor.latex or tensor.name, tensor)
        for latex in (tensor.row_latex, tensor.entry_latex):
            if latex:
                found.name(latex, tensor)
        column, rows = re.subn(r"_\{(\w)_\{%1\}\}$", r"_{\1,%1}", tensor.row_latex)
        if rows:  # beside the rows h_{e_i} of H_e, its columns h_{e,l}
            found.name(column, as_term(tensor).T)
    for dim in {part for d in found.dims for part in d.split(STACKED)}:
        if re.fullmatch(r"\d+", dim) is None and "-" not in dim and " " not in dim:
            found.name(dim, dim)
        elif dim.endswith("-1") and dim[:-2] not in found.dims:
            found.name(dim[:-2], dim)
    return found


# ---------------------------------------------------------------- what has been read


At = dict[str, int]
Value = Callable[[Point, At], Any]


@dataclass(frozen=True)
class Node:
    """Something read: its dimensions by name, and its value; ``zero`` is a plain 0, which may be an array."""

    dims: Dims
    value: Value
    zero: bool = False


def _plain(dims: Dims) -> Dims:
    """A matrix with one entry is a number, one with one column a vector."""
    return () if dims == ("1", "1") or dims == ("1",) else dims[:1] if dims[1:] == ("1",) else dims


def _reshaped(node: Node) -> Node:
    dims = _plain(node.dims)
    if dims == node.dims:
        return node
    return Node(dims, lambda p, at: node.value(p, at).reshape([p.size(d) for d in dims]))


def _show(dims: Dims) -> str:
    return "×".join(dims) or "a number"


def _multiply(a: Node, b: Node) -> Node:
    if not a.dims or not b.dims:
        return Node(a.dims or b.dims, lambda p, at: a.value(p, at) * b.value(p, at))
    if len(a.dims) > 2 or len(b.dims) > 2:
        raise Unreadable("a product of arrays of more than two dimensions")
    left = a.dims if len(a.dims) == 2 else (a.dims[0], "1")
    right = b.dims if len(b.dims) == 2 else (b.dims[0], "1")
    if left[1] != right[0]:
        raise Unreadable("shapes that do not fit", f"{_show(a.dims)} times {_show(b.dims)}")

    def value(p: Point, at: At) -> Any:
        one, two = a.value(p, at), b.value(p, at)
        return (one.reshape(len(one), -1) if one.ndim == 1 else one) @ (
            two.reshape(len(two), -1) if two.ndim == 1 else two
        )

    return _reshaped(Node((left[0], right[1]), value))


def _chain(factors: list[Node]) -> Node:
    """The product of what stands side by side; where brackets are left out, any that fit give the same."""
    for order in (1, -1):
        try:
            found, *rest = factors[::order]
            for factor in rest:
                found = _multiply(found, factor) if order == 1 else _multiply(factor, found)
            return found
        except Unreadable:
            if order == -1 or len(factors) < 3:
                raise
    raise AssertionError


def _added(a: Node, b: Node, sign: int) -> Node:
    if a.dims != b.dims:
        raise Unreadable("shapes that do not fit", f"{_show(a.dims)} plus {_show(b.dims)}")
    return Node(a.dims, lambda p, at: a.value(p, at) + sign * b.value(p, at))


def _entrywise(function: Callable[[float], float], array: Any) -> Any:
    return np.vectorize(function, otypes=[float])(array)


def _number(value: float) -> Node:
    return Node((), lambda p, at: np.array(float(value)), zero=value == 0)


_CLOSING = {"", "+", "-", "}", ")", "]", r"\right\|", r"\right|", "&", r"\\", r"\end{pmatrix}", "=", "/", ","}
_CLOSING |= {r"\odot", r"\le", r"\ge", r"\ne", "<", ">", r"\leftarrow", r"\quad"}
_KNOWN = {
    r"\exp": "exp", r"\log": "log", r"\tanh": "tanh", r"\cosh": "cosh", r"\sinh": "sinh", r"\sin": "sin",
    r"\cos": "cos", r"\operatorname{sign}": "sign", r"\operatorname{clip}": "clip",
}  # fmt: skip


class Reader:
    """Reads one formula; ``scope`` gives the dimension of every index that may be used."""

    def __init__(
        self,
        latex: str | list[str],
        vocabulary: Vocabulary,
        scope: Mapping[str, str],
        choices: Mapping[Any, int] | None = None,
        opens: bool = False,
    ) -> None:
        self.tokens, self.n = words(latex) if isinstance(latex, str) else latex, 0
        self.opens = (
            opens  # whether an index that nothing binds is one of the statement, over what it first runs
        )
        self.vocabulary, self.scope = vocabulary, dict(scope)
        self.choices = dict(choices or {})
        self.open: dict[tuple[str | int, ...], int] = {}  # names of several things, and how many

    # ------------------------------------------------ tokens

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[self.n + ahead] if self.n + ahead < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        token = ""
        for want in wanted or ("",):
            token = self.peek()
            if not token or (want and token != want):
                raise Unreadable(
                    "what cannot be parsed", f"{want or 'more'} expected, {token or 'the end'} found"
                )
            self.n += 1
        return token

    def skip(self, token: str) -> bool:
        if self.peek() == token:
            self.n += 1
            return True
        return False

    def whole(self) -> Node:
        """The whole text as one formula."""
        node = self.total()
        if self.peek():
            raise Unreadable("leftover tokens", " ".join(self.tokens[self.n :]))
        return node

    # ------------------------------------------------ sums and products

    def total(self) -> Node:
        sign = -1 if self.named(False) is None and self.skip("-") else 1
        node = self.product()
        if sign < 0:
            first = node
            node = Node(first.dims, lambda p, at: -first.value(p, at))
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            node = _added(node, self.product(), sign)
        return node

    def product(self) -> Node:
        """Factors side by side, or entrywise products of such."""
        operands = [self.factors()]
        while self.skip(r"\odot"):
            operands.append(self.factors())
        nodes = [_chain(factors) for factors in operands]
        if len(nodes) == 1:
            return nodes[0]
        if any(sum(bool(f.dims) for f in factors) > 1 for factors in operands):
            raise Unreadable("⊙ beside a matrix product")
        found = nodes[0]
        for node in nodes[1:]:
            if node.dims != found.dims:
                raise Unreadable("shapes that do not fit", f"{_show(found.dims)} ⊙ {_show(node.dims)}")
            found = _hadamard(found, node)
        return found

    def factors(self) -> list[Node]:
        found: list[Node] = []
        while self.peek() not in _CLOSING or (not found and self.named(False) is not None):
            if self.skip(r"\cdot"):
                continue
            found.append(
                self.over() if self.peek() == r"\sum" and self.named(False) is None else self.raised()
            )
        if not found:
            raise Unreadable("what cannot be parsed", f"nothing before {self.peek() or 'the end'}")
        return found

    def over(self) -> Node:
        """A sum: it reaches over the product that follows, further sums included."""
        self.take(r"\sum", "_")
        if self.tokens[self.n : self.n + 1] == ["{"] and self.peek(2) == "}" and self.peek(3) != "^":
            return self.over_all()
        name, dim = self.limits()
        before = self.scope.get(name)
        self.scope[name] = dim
        body = self.product()
        self.restore(name, before)

        def value(p: Point, at: At) -> Any:
            return sum(body.value(p, {**at, name: n}) for n in range(p.size(dim)))

        return Node(body.dims, value)

    def over_all(self) -> Node:
        """``\\sum_{a} …``: over all entries of the arrays that a is a subscript of, which must have one shape."""
        self.take("{")
        name = self.index_name()
        self.take("}")
        if name in self.scope:
            raise Unreadable("a sum without its range over an index that is bound", name)
        start, found = self.n, []
        every = {dim for dim in self.vocabulary.dims} | {
            STACKED.join((a, b)) for a in self.vocabulary.dims for b in self.vocabulary.dims if a != b
        }
        for dim in sorted(every):
            self.n, self.scope[name] = start, dim
            try:
                found.append((dim, self.product(), self.n))
            except (Unreadable, ValueError):
                continue
            finally:
                del self.scope[name]
        if len(found) != 1 or name not in self.tokens[start : found[0][2]]:
            raise Unreadable("a sum without its range")
        dim, body, self.n = found[0]
        return Node(body.dims, lambda p, at: sum(body.value(p, {**at, name: n}) for n in range(p.size(dim))))

    def limits(self) -> tuple[str, str]:
        """``{j=1}^{N}``: the name of an index and its dimension."""
        self.take("{")
        name = self.index_name()
        if self.peek() != "=":
            raise Unreadable("a sum without its range")
        self.take("=", "1", "}", "^")
        return name, self.dimension()

    def index_name(self) -> str:
        name = self.take()
        while self.peek() in ("'", "*"):
            name += self.take()
        return name

    def dimension(self) -> str:
        """A dimension in braces (or one letter)."""
        texts = self.raw().split(r"\times")
        if len(texts) != 1:
            raise Unreadable("no dimension", " ".join(texts))
        return self.known_dimension(texts[0])

    def known_dimension(self, text: str) -> str:
        for dim in self.vocabulary.dims:
            if "".join(words(dim)) == text:
                return dim
        if text == "1":
            return text
        raise Unreadable("an unknown dimension", text)

    def raw(self) -> str:
        """The tokens of a group, or one token."""
        if not self.skip("{"):
            return self.take()
        text, depth = "", 1
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if not depth:
                return text
            text += token

    def restore(self, name: str, before: str | None) -> None:
        if before is None:
            del self.scope[name]
        else:
            self.scope[name] = before

    # ------------------------------------------------ what is raised, subscripted, transposed

    def raised(self) -> Node:
        """An atom with what hangs on it. Braces do not show: what they hold must be one thing by itself."""
        node = self.subscripted()
        while self.skip("^"):
            node = self.power(node)
            if self.peek() == "^":
                raise Unreadable("a power of a power without brackets")
            if self.peek() == "_":
                raise Unreadable("a subscript behind a power")
        return node

    def power(self, node: Node) -> Node:
        start = self.n
        if self.raw() == r"\top":
            if len(node.dims) not in (1, 2):
                raise Unreadable("the transpose of what is no matrix", _show(node.dims))
            if len(node.dims) == 1:
                return Node(("1", node.dims[0]), lambda p, at: node.value(p, at).reshape(1, -1))
            return _reshaped(Node(node.dims[::-1], lambda p, at: node.value(p, at).T))
        self.n = start
        exponent = self.exponent()
        if node.dims and not self.vocabulary.entrywise:
            raise Unreadable("a power of an array", _show(node.dims))

        def value(p: Point, at: At) -> Any:
            e = float(exponent.value(p, at))
            if e == int(e):
                base = node.value(p, at)
                if e < 0 and not np.all(base):
                    raise Undefined("division by zero")
                return base ** int(e) if e >= 0 else 1 / base ** int(-e)
            return _entrywise(lambda u: _root(u, e), node.value(p, at))

        return Node(node.dims, value)

    def exponent(self) -> Node:
        if not self.skip("{"):
            token = self.take()
            if not token.isdigit():
                raise Unreadable("an exponent that is no number", token)
            return _number(int(token))
        top = self.total()
        if self.skip("/"):
            bottom = self.total()
            self.take("}")
            return Node((), lambda p, at: top.value(p, at) / bottom.value(p, at))
        self.take("}")
        if top.dims:
            raise Unreadable("an exponent that is no number", _show(top.dims))
        return top

    def subscripted(self) -> Node:
        node = self.atom()
        while self.peek() == "_":
            if not node.dims:
                raise Unreadable(
                    "a subscript of a number or of an unknown name", "".join(self.tokens[self.n :][:8])
                )
            self.take("_")
            node = self.picked(node, self.indices())
        return node

    def indices(self) -> list[str]:
        """The indices of a subscript, with or without commas."""
        if not self.skip("{"):
            return [self.used_index()]
        found = []
        while not self.skip("}"):
            found.append(self.used_index())
            self.skip(",")
        return found

    def used_index(self) -> str:
        name = self.longest_index(self.n)
        if not name:
            raise Unreadable("an index that nothing binds", self.peek())
        self.n += len(words(name))
        return name

    def longest_index(self, start: int) -> str:
        """The index in scope that is written at a place."""
        best = ""
        for name in self.scope:
            tokens = words(name)
            if self.tokens[start : start + len(tokens)] == tokens and len(tokens) > len(words(best)):
                best = name
        end = start + len(words(best))
        if best and self.tokens[end : end + 1] not in (["'"], ["*"]):
            return best
        if not self.opens or not re.fullmatch(r"\\[a-z]+|[A-Za-z]", "".join(self.tokens[start : start + 1])):
            return ""
        end = start + 1
        while self.tokens[end : end + 1] in (["'"], ["*"]):
            end += 1
        return "".join(self.tokens[start:end])

    def picked(self, node: Node, names: list[str]) -> Node:
        if len(names) > len(node.dims):
            raise Unreadable("more indices than dimensions", f"{names} of {_show(node.dims)}")
        for name, dim in zip(names, node.dims, strict=False):
            if self.opens:
                self.scope.setdefault(name, dim)
            if self.scope[name] != dim:
                raise Unreadable("an index over another range", f"{name} over {self.scope[name]}, not {dim}")
        return _reshaped(
            Node(node.dims[len(names) :], lambda p, at: node.value(p, at)[tuple(at[name] for name in names)])
        )

    # ------------------------------------------------ atoms

    def atom(self) -> Node:
        found = self.named()
        if found is not None:
            return found
        function = self.function()
        if function is not None:
            return function
        token = self.take()
        if token.isdigit():
            return _number(int(token))
        if token == "d" and self.peek() == "(" and self.vocabulary.differentials:
            return self.differential()
        match token:
            case "(":
                node = self.total()
                self.take(")")
                return node
            case "{":
                return self.braces()
            case "[":
                return self.stacked()
            case r"\frac" | r"\tfrac":
                return self.fraction()
            case r"\sqrt":
                return self.applied("root", self.group(), Fraction(1, 2))
            case r"\left\|":
                return self.norm()
            case r"\left.":
                return self.moved()
            case r"\begin{pmatrix}":
                return self.blocks()
            case r"\nabla":
                return self.gradient()
            case r"\operatorname{tr}":
                return self.trace(self.bracket())
            case r"\operatorname{diag}":
                return self.diagonal(self.bracket())
            case r"\operatorname{softmax}":
                return self.softmax()
            case r"\mathbf" | r"\delta":
                return self.builtin(token)
        if token in self.scope:
            raise Unreadable("an index where a value should be", token)
        raise Unreadable("an unknown name", token + "".join(self.tokens[self.n :][:6]))

    def named(self, taken: bool = True) -> Node | None:
        """The longest name of the vocabulary that stands here; not ``taken``, it is only looked at."""
        best: list[tuple[int, Word, tuple[str, ...]]] = []
        for word in self.vocabulary.words.get(self.peek(), ()):
            found = self.matched(word)
            if found is not None:
                best.append((found[0], word, found[1]))
        if not best:
            return None
        longest = max(length for length, _, _ in best)
        fitting = [(word, names) for length, word, names in best if length == longest]
        if len(fitting) > 1:
            choice = fitting[0][0].tokens
            fitting = [fitting[self.choices.setdefault(choice, 0) % len(fitting)]]
            self.open[choice] = len(best)
        node = self.meaning(*fitting[0])
        if taken:
            self.n += longest
            if self.peek() == "'":
                raise Unreadable("an unknown name", "".join(self.tokens[self.n - longest :][: longest + 1]))
        return node

    def matched(self, word: Word) -> tuple[int, tuple[str, ...]] | None:
        """How many tokens a name takes here, and the indices in it."""
        n = self.n
        holes: dict[int, str] = {}
        for token in word.tokens:
            if isinstance(token, int):
                name = self.longest_index(n)
                if not name or holes.setdefault(token, name) != name:
                    return None
                n += len(words(name))
            elif self.tokens[n : n + 1] == [token]:
                n += 1
            else:
                return None
        return n - self.n, tuple(holes[k] for k in sorted(holes))

    def meaning(self, word: Word, names: tuple[str, ...]) -> Node:
        what = word.meaning
        if isinstance(what, Node):
            return what
        if isinstance(what, str):
            more = 0 if "".join(words(what)) == "".join(map(str, word.tokens)) else 1
            return Node((), lambda p, at: np.array(float(p.size(what) + more)))
        if isinstance(what, Tensor):
            return self.picked(_whole(what), list(names))
        if names:
            return self.picked(self.term(what), list(names))
        return self.term(what, word.tokens)

    def term(self, term: Term, name: tuple[str | int, ...] = ()) -> Node:
        """A formula under a name: what it means is taken from it, at the indices that the name shows."""
        at = {index: "".join(words(index.latex)) for index in open_indices(term)}
        for index, printed in at.items():
            if self.scope.get(printed) != index.dim:
                raise Unreadable("an index that nothing binds", f"{printed} of {''.join(map(str, name))}")
            if name and printed not in "".join(map(str, name)):
                raise Unreadable("a name that hides an index", f"{printed} of {''.join(map(str, name))}")
        return _reshaped(
            Node(term.shape(), lambda p, here: p.value(term, {i: here[printed] for i, printed in at.items()}))
        )

    def function(self) -> Node | None:
        """A function and its argument, in brackets or alone at the end of a product."""
        best: tuple[str, ...] = ()
        for tokens in self.vocabulary.functions:
            if tuple(self.tokens[self.n : self.n + len(tokens)]) == tokens and len(tokens) > len(best):
                best = tokens
        meanings = self.vocabulary.functions.get(best, set())
        if not best and self.peek() in _KNOWN:
            best, meanings = (self.peek(),), {_KNOWN[self.peek()]}
        if not best:
            return None
        if len(meanings) > 1:
            raise Unreadable("a name of several things", "".join(best))
        (name,) = meanings
        self.n += len(best)
        order = 0
        while self.skip("'"):
            order += 1
        if self.peek() == "(":
            argument = self.bracket()
        else:
            argument = self.subscripted()
            if self.peek() not in _CLOSING:
                raise Unreadable("the end of a function's argument is not clear", "".join(best))
        return self.applied(name, argument, order)

    def applied(self, name: Any, argument: Node, order: Any) -> Node:
        if argument.dims and not self.vocabulary.entrywise:
            raise Unreadable("a function of an array", _show(argument.dims))
        if isinstance(name, Term):  # a function that is written out

            def written(p: Point, u: float) -> float:
                here = Tensor("here", ())
                term = replace(name, args=(as_term(here),), data=(name.data[0], order))
                return float(p.moved(here, np.array(u)).value(term, {}))

            return Node(
                argument.dims, lambda p, at: _entrywise(lambda u: written(p, u), argument.value(p, at))
            )
        return Node(
            argument.dims,
            lambda p, at: _entrywise(lambda u: p.functions()[name](u, order), argument.value(p, at)),
        )

    def bracket(self) -> Node:
        self.take("(")
        node = self.total()
        self.take(")")
        return node

    def group(self) -> Node:
        if not self.skip("{"):
            token = self.take()
            if not token.isdigit() or len(token) != 1:
                raise Unreadable("what cannot be parsed", token)
            return _number(int(token))
        node = self.total()
        self.take("}")
        return node

    def braces(self) -> Node:
        """Braces are not seen: they may hold one thing, with subscripts or alone with what it is raised to."""
        start = self.n
        node = self.subscripted()
        if self.peek() == "^":
            self.take("^")
            node = self.power(node)
            self.take("}")
            if self.peek() in ("^", "_"):
                raise Unreadable("a power of a power without brackets")
            return node
        inside = self.tokens[start : self.n]
        self.take("}")
        if (
            self.peek() == "^"
            and self.tokens[self.n : self.n + 3] != ["^", "{", r"\top"]
            and _ends_raised(inside)
        ):
            raise Unreadable("a power of a power without brackets", "".join(inside))
        return node

    def fraction(self) -> Node:
        if self.peek() == "{" and self.peek(1) == r"\partial":
            return self.partial()
        if self.peek().isdigit() and len(self.peek()) == 2:  # \frac12
            top, bottom = (_number(int(digit)) for digit in self.take())
        else:
            top, bottom = self.group(), self.group()
        if bottom.dims:
            raise Unreadable("division by an array", _show(bottom.dims))

        def value(p: Point, at: At) -> Any:
            below = bottom.value(p, at)
            if not below:
                raise Undefined("division by zero")
            return top.value(p, at) / below

        return Node(top.dims, value)

    def partial(self) -> Node:
        """``∂L/∂x_i``: the derivative by one entry, by differences."""
        self.take("{", r"\partial")
        top = self.subscripted()
        self.take("}", "{", r"\partial")
        found = [
            (length, word.meaning, names)
            for word in self.vocabulary.words.get(self.peek(), ())
            if isinstance(word.meaning, Tensor) and (match := self.matched(word))
            for length, names in [match]
            if len(names) == len(word.meaning.dims)
        ]
        if top.dims or not found:
            raise Unreadable("a derivative that is not clear", "".join(self.tokens[self.n :][:8]))
        length, tensor, names = max(found, key=lambda one: one[0])
        self.picked(_whole(tensor), list(names))
        self.n += length
        self.take("}")

        def value(p: Point, at: At) -> Any:
            step = np.zeros_like(p.arrays[tensor])
            step[tuple(at[name] for name in names)] = 1.0
            return _slope(lambda h: top.value(p.moved(tensor, p.arrays[tensor] + h * step), at))

        return Node((), value)

    def norm(self) -> Node:
        node = self.total()
        self.take(r"\right\|")
        kind = ""
        if self.skip("_"):
            kind = self.raw()
        if kind in (r"\mathrm{F}", "F") and len(node.dims) == 2:
            order = 2
        elif kind in ("", "2") and len(node.dims) == 1:
            order = 2
        elif kind == "1" and len(node.dims) == 1:
            order = 1
        else:
            raise Unreadable("a norm that is not clear", f"{kind or 'none'} of {_show(node.dims)}")
        if order == 1:
            return Node((), lambda p, at: np.abs(node.value(p, at)).sum())
        return Node((), lambda p, at: np.sqrt((node.value(p, at) ** 2).sum()))

    def trace(self, node: Node) -> Node:
        if not node.dims:  # the trace of a number
            return node
        if len(node.dims) != 2 or node.dims[0] != node.dims[1]:
            raise Unreadable("shapes that do not fit", f"the trace of {_show(node.dims)}")
        return Node((), lambda p, at: np.trace(node.value(p, at)))

    def diagonal(self, node: Node) -> Node:
        if len(node.dims) != 1:
            raise Unreadable("shapes that do not fit", f"diag of {_show(node.dims)}")
        return Node(node.dims * 2, lambda p, at: np.diag(node.value(p, at)))

    def softmax(self) -> Node:
        """Of each row of a matrix, or of a score over the index that is written below."""
        if not self.skip("_"):
            node = self.bracket()
            if not self.vocabulary.rowwise:
                raise Unreadable("a softmax of what is not said")
            if len(node.dims) != 2:
                raise Unreadable("shapes that do not fit", f"softmax of {_show(node.dims)}")

            def rows(p: Point, at: At) -> Any:
                weights = np.exp(node.value(p, at))
                return weights / weights.sum(axis=1, keepdims=True)

            return Node(node.dims, rows)
        names = self.indices()
        if len(names) != 1:
            raise Unreadable("a softmax over several indices")
        name, node = names[0], self.bracket()
        dim = self.scope[name]
        if node.dims:
            raise Unreadable("shapes that do not fit", f"softmax over an index of {_show(node.dims)}")

        def value(p: Point, at: At) -> Any:
            below = sum(np.exp(node.value(p, {**at, name: n})) for n in range(p.size(dim)))
            return np.exp(node.value(p, at)) / below

        return Node((), value)

    def stacked(self) -> Node:
        """``[…]_{j=1}^{n}``: the vector (of rows, the matrix) of what is in the brackets."""
        start, depth = self.n, 1
        while depth:
            token = self.take()
            depth += (token == "[") - (token == "]")
        self.take("_")
        name, dim = self.limits()
        end, self.n = self.n, start
        before = self.scope.get(name)
        self.scope[name] = dim
        body = self.total()
        self.take("]")
        self.restore(name, before)
        self.n = end
        if body.dims[:1] == ("1",):
            raise Unreadable("a stack of rows that lie already")
        return Node(
            (dim, *body.dims),
            lambda p, at: np.stack([body.value(p, {**at, name: n}) for n in range(p.size(dim))]),
        )

    def blocks(self) -> Node:
        rows = [[self.total()]]
        while not self.skip(r"\end{pmatrix}"):
            if self.take() == "&":
                rows[-1].append(self.total())
            else:
                rows.append([self.total()])
        if len({len(row) for row in rows}) != 1:
            raise Unreadable("rows of blocks of several lengths")
        every = [block for row in rows for block in row]
        if all(len(block.dims) == 1 for block in every) and len(rows[0]) == 1:
            return Node(
                (STACKED.join(row[0].dims[0] for row in rows),),
                lambda p, at: np.concatenate([row[0].value(p, at) for row in rows]),
            )
        if all(len(block.dims) <= 1 for block in every) and len(rows[0]) == 1:  # numbers below vectors
            dims = [row[0].dims or ("1",) for row in rows]
            return Node(
                (STACKED.join(d[0] for d in dims),),
                lambda p, at: np.concatenate([np.atleast_1d(row[0].value(p, at)) for row in rows]),
            )
        heights = [row[0].dims[0] for row in rows if len(row[0].dims) == 2]
        widths = [block.dims[1] for block in rows[0] if len(block.dims) == 2]
        if len(heights) != len(rows) or len(widths) != len(rows[0]):
            raise Unreadable("shapes that do not fit", "blocks that are no matrices")
        for row, height in zip(rows, heights, strict=True):
            for block, width in zip(row, widths, strict=True):
                if block.dims != (height, width):
                    raise Unreadable("shapes that do not fit", f"a block {_show(block.dims)}")
        return Node(
            (STACKED.join(heights), STACKED.join(widths)),
            lambda p, at: np.block([[block.value(p, at) for block in row] for row in rows]),
        )

    def builtin(self, token: str) -> Node:
        """Arrays of ones and zeros, identity matrices, unit vectors and Kronecker's delta."""
        letter = self.raw() if token == r"\mathbf" else "δ"
        self.take("_")
        if letter == "δ":
            names = self.indices()
            if len(names) != 2 or self.scope[names[0]] != self.scope[names[1]]:
                raise Unreadable("a delta that is none", str(names))
            return Node((), lambda p, at: np.array(float(at[names[0]] == at[names[1]])))
        if letter == "e":
            (name,) = self.indices()
            dim = self.scope[name]
            return Node((dim,), lambda p, at: np.eye(p.size(dim))[at[name]])
        texts = self.raw().split(r"\times")
        inner = (t.removeprefix("(").removesuffix(")") for t in texts) if len(texts) > 1 else texts
        dims = tuple(map(self.known_dimension, inner))
        if letter in ("0", "1"):
            fill = np.zeros if letter == "0" else np.ones
            return _reshaped(Node(dims, lambda p, at: fill([p.size(d) for d in dims])))
        if letter == "I" and len(dims) == 1:
            return Node(dims * 2, lambda p, at: np.eye(p.size(dims[0])))
        raise Unreadable("an unknown name", rf"\mathbf{{{letter}}}")

    # ------------------------------------------------ derivatives, and formulas at a point

    def variable(self) -> Tensor:
        """A tensor that is printed as a whole."""
        found = {
            word.meaning: length[0]
            for word in self.vocabulary.words.get(self.peek(), ())
            if isinstance(word.meaning, Tensor) and not word.holes and (length := self.matched(word))
        }
        longest = max(found.values(), default=0)
        best = [tensor for tensor, length in found.items() if length == longest]
        if len(best) != 1:
            raise Unreadable("no variable", self.peek())
        self.n += longest
        return best[0]

    def gradient(self) -> Node:
        """``∇_Z E`` of an energy that the statement calls E, or of one in brackets, by differences."""
        self.take("_", "{")
        tensor = self.variable()
        self.take("}")
        if self.skip("["):
            energy = self.total()
            self.take("]")
        else:
            energy = self.of(self.vocabulary.energies, "the gradient of what has no name")

        def value(p: Point, at: At) -> Any:
            array = p.arrays[tensor]
            result = np.zeros_like(array)
            for where in np.ndindex(array.shape):
                step = np.zeros_like(array)
                step[where] = 1.0
                result[where] = _slope(lambda h, s=step: energy.value(p.moved(tensor, array + h * s), at))
            return result

        return _reshaped(Node(tensor.dims, value))

    def differential(self) -> Node:
        """``d(E)`` of what the statement calls E, along the direction dZ of its variable Z."""
        inner = Reader(self.raw_bracket(), self.vocabulary, self.scope)
        name = tuple(inner.tokens)
        found = self.vocabulary.differentials.get(name, set())
        if len(found) != 1:
            raise Unreadable("the differential of what has no name, or several", "".join(name))
        (whole,) = found
        term, tensor, direction, _ = whole.data
        if words(direction.latex or direction.name) != words("d" + (tensor.latex or tensor.name)):
            raise Unreadable("a differential along what is not seen", direction.name)
        energy = self.term(term)

        def value(p: Point, at: At) -> Any:
            start, step = p.arrays[tensor], p.arrays[direction]
            return _slope(lambda h: energy.value(p.moved(tensor, start + h * step), at))

        return Node(energy.dims, value)

    def raw_bracket(self) -> str:
        self.take("(")
        found, depth = [], 1
        while depth:
            found.append(self.take())
            depth += (found[-1] == "(") - (found[-1] == ")")
        return " ".join(found[:-1])

    def of(self, names: Mapping[tuple[str, ...], set[Term]], reason: str) -> Node:
        """The meaning of the longest of some names, with or without brackets: as it is printed, where it
        can be read.
        """
        inside = self.skip("(")
        best = max(
            (name for name in names if tuple(self.tokens[self.n : self.n + len(name)]) == name),
            key=len,
            default=None,
        )
        if best is None:
            raise Unreadable(reason, "".join(self.tokens[self.n :][:8]))
        if len(names[best]) != 1:
            raise Unreadable("a name of several things", "".join(best))
        self.n += len(best)
        if inside:
            self.take(")")
        (term,) = names[best]
        return Reader(term.latex(), self.vocabulary, self.scope).whole()

    def moved(self) -> Node:
        """``…|_{Z = A V}``: what is before the bar, with another value of a variable."""
        body = self.total()
        self.take(r"\right|", "_", "{")
        tensor = self.variable()
        if self.peek() not in ("=", r"\leftarrow"):
            raise Unreadable("what cannot be parsed", self.peek())
        self.take()
        value = self.total()
        self.take("}")
        if value.dims != _plain(tensor.dims) and not value.zero:
            raise Unreadable("shapes that do not fit", f"{tensor.name} = {_show(value.dims)}")

        def at_value(p: Point, at: At) -> Any:
            array = np.zeros([p.size(d) for d in tensor.dims]) + (0 if value.zero else value.value(p, at))
            return body.value(p.moved(tensor, array), at)

        return Node(body.dims, at_value)


def _ends_raised(tokens: list[str]) -> bool:
    """Whether a name ends with a superscript, on which another would be set."""
    depth, last = 0, ""
    for token in tokens:
        depth += (token in _OPENING) - (token in _CLOSED)
        if (not depth and token not in _CLOSED) or token == "(":
            last = token
        elif depth == 1 and token == "{" and last != "^":
            last = token
    return last == "^"


def _slope(of: Callable[[float], Any]) -> Any:
    """A derivative at 0 by central differences of the sixth order."""
    h = 0.004
    return sum(c * (of(k * h) - of(-k * h)) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)


def _whole(tensor: Tensor) -> Node:
    return _reshaped(Node(tensor.dims, lambda p, at: p.arrays[tensor]))


def _hadamard(a: Node, b: Node) -> Node:
    return Node(a.dims, lambda p, at: a.value(p, at) * b.value(p, at))


# ---------------------------------------------------------------- what is read against what is decided


def open_indices(term: Term) -> set[Index]:
    """The indices that a term leaves open, those of derived formulas in it too."""
    bound = {term.data} if isinstance(term, (Stack, SumOver)) else set()
    data = term.data if isinstance(term.data, tuple) else () if bound else (term.data,)
    here = {x for x in data if isinstance(x, Index)}.union(
        *(ix.free_indices(x) for x in data if isinstance(x, ix.Expr))
    )
    inner = (*term.args, *(x for x in data if isinstance(x, Term)))
    return here.union(*map(open_indices, inner)) - bound


def scope_of(*terms: Term) -> dict[str, str]:
    """The free indices of some terms, by their printed names. Raises Unreadable where two share one."""
    found: dict[str, str] = {}
    for index in set().union(*map(open_indices, terms)):
        name = "".join(words(index.latex))
        if found.setdefault(name, index.dim) != index.dim:
            raise Unreadable("one index over two ranges", name)
    return found


def read(latex: str | list[str], vocabulary: Vocabulary, scope: Mapping[str, str]) -> Node:
    """What a printed formula says. A name of several things is what alone makes sense. Raises Unreadable."""
    first = Reader(latex, vocabulary, scope)
    try:
        node, error = first.whole(), None
    except Unreadable as caught:
        node, error = None, caught
    if not first.open:
        if node is None:
            assert error is not None
            raise error
        return node
    found, todo, seen = [], [dict.fromkeys(first.open, 0)], set()
    counts = dict(first.open)
    while todo:
        choice = todo.pop()
        key = tuple(sorted(choice.items(), key=str))
        if key in seen:
            continue
        seen.add(key)
        reader = Reader(latex, vocabulary, scope, choice)
        try:
            found.append(reader.whole())
        except Unreadable as caught:
            error = caught
        counts.update(reader.open)
        todo += [{**choice, name: n} for name, count in counts.items() for n in range(count)]
    if len(found) != 1:
        raise Unreadable("a name of several things", "; ".join("".join(map(str, name)) for name in counts))
    return found[0]


def differs(
    node: Node,
    term: Term,
    vocabulary: Vocabulary,
    scope: Mapping[str, str],
    tries: int = 2,
    seed: int = 0,
    atol: float = 1e-8,
) -> str:
    """Where what was read has another value than the term; "" if it has the same at all points that are tried.

    Raises Unreadable where there is no point at which both are defined.
    """
    shape = _plain(term.shape())
    if node.dims != shape and not node.zero:
        return f"it reads as {_show(node.dims)}, decided is {_show(shape)}"
    done = undefined = 0
    for trial in range(8 * tries):
        point = draw(vocabulary.dims, vocabulary.tensors, seed + trial, positive=trial >= 4 * tries)
        at = {name: (trial * 7 + n) % point.size(dim) for n, (name, dim) in enumerate(sorted(scope.items()))}
        decided = _or_none(point.value, term, {i: at["".join(words(i.latex))] for i in open_indices(term)})
        seen = _or_none(node.value, point, at)
        if (decided is None) != (seen is None):
            return f"it reads as {seen}, decided is {decided} at sizes {point.sizes}"
        if decided is None:
            undefined += 1
            if undefined == 8 * tries:
                return ""  # neither has a value anywhere
            continue
        decided = decided.reshape([point.size(d) for d in shape])
        if not np.allclose(seen, decided, rtol=1e-7, atol=atol):
            return f"it reads as {np.asarray(seen).tolist()}, decided is {decided.tolist()} at sizes {point.sizes}"
        done += 1
        if done == tries:
            return ""
    raise Unreadable("no value at most points")


def _or_none(value: Callable[..., Any], *args: Any) -> Any:
    try:
        return value(*args)
    except ArithmeticError:  # a division by zero, a root or logarithm of what has none
        return None


def compare(latex: str, term: Term, vocabulary: Vocabulary, tries: int = 2, seed: int = 0) -> str:
    """How what is printed differs from what is decided; "" where it does not. Raises Unreadable.

    A formula whose shapes do not fit has no value, and must not be readable either.
    """
    scope = scope_of(term)
    try:
        term.shape()
    except NonConformable as error:
        try:
            read(latex, vocabulary, scope)
        except Unreadable as caught:
            if caught.reason in MISFITS:
                return ""
            raise
        return f"it is readable, but decided is that {error}"
    return differs(read(latex, vocabulary, scope), term, vocabulary, scope, tries, seed)


MISFITS = ("shapes that do not fit", "an index over another range", "more indices than dimensions")


# ---------------------------------------------------------------- displays: formulas, relations and what they are put into


_RELATIONS = {"=", r"\le", r"\ge", r"\ne", "<", ">", r"\in", r"\leftarrow", r"\to", r"\succeq"}
_BETWEEN = {r"\quad", r"\qquad", r"\\", "&", r"\Longrightarrow", r"\exists"}
Relation = tuple[tuple[str, ...], str, tuple[str, ...]]


def relations(display: str, vocabulary: Vocabulary) -> tuple[list[Relation], list[tuple[str, ...]]]:
    """The relations that a display consists of, as tokens (left, sign, right), and what stands alone."""
    chunks: list[list[str]] = [[]]
    depth = 0
    for token in words(display):
        depth += (token in _OPENING) - (token in _CLOSED)
        alone = token.startswith(r"\text{") and token not in vocabulary.words
        frame = token.startswith((r"\begin", r"\end")) and "pmatrix" not in token
        if not depth and (token in _BETWEEN or alone or frame):
            chunks.append([])
        else:
            chunks[-1].append(token)
    found, rest = [], []
    for chunk in chunks:
        while chunk and chunk[-1] in (",", ":"):
            chunk.pop()
        if (chunk[:1] == ["("] and r"\dots" in chunk) or not chunk:  # what indices run over
            continue
        sides: list[list[str]] = [[]]
        signs = []
        for n, token in enumerate(chunk):
            depth += (token in _OPENING) - (token in _CLOSED)
            if token in _RELATIONS and not depth:
                if token == "=" and chunk[n - 1] == ":":
                    sides[-1].pop()
                    token = ":="
                signs.append(token)
                sides.append([])
            else:
                sides[-1].append(token)
        found += [(tuple(a), sign, tuple(b)) for a, sign, b in zip(sides, signs, sides[1:], strict=False)]
        if not signs:
            rest.append(tuple(chunk))
    return found, rest


_OPENING = {"{", "(", "[", r"\left\|", r"\left.", r"\begin{pmatrix}"}
_CLOSED = {"}", ")", "]", r"\right\|", r"\right|", r"\end{pmatrix}"}
