"""Scalar expressions in index notation: the language in which everything is proved and evaluated.

An expression is built from tensor entries ``A[i, j]``, dimensions, rational numbers, sums over an
index, Kronecker deltas and functions of one scalar. Dimensions are names, never numbers, so what is
proved here holds for every size. Nothing is simplified on construction: see ``derivations.calculus.normal``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from derivations.calculus.naming import spelled

STACKED = "{+}"  # joins the dimensions of stacked blocks; prints as a plus sign
_next = [0]


def summands(dim: str) -> tuple[str, ...]:
    """The parts of a stacked dimension; a plain dimension is its own only part.

    Raises ValueError where two parts have one name, which alone says what block an index runs over, or is a
    number.
    """
    parts = tuple(dim.split(STACKED)) if isinstance(dim, str) else ("",)
    if len(set(parts)) < len(parts):
        raise ValueError(f"the stacked dimension {dim} has two parts of one name")
    if any(not p or (p.isdigit() and p != "1") for p in parts):
        raise ValueError(f"a dimension has a name, not {dim!r}: sizes are symbols")
    return parts


@dataclass(frozen=True)
class Index:
    """An index variable ``name`` that runs over 1, …, ``dim``."""

    name: str
    dim: str

    def __post_init__(self) -> None:
        summands(self.dim)
        _, mark, number = self.name.partition("#")
        if mark and number.isdigit() and int(number) >= _next[0]:
            raise ValueError(f"the name {self.name} is kept for an index that is made fresh")

    def _no_number(self, *_: Any) -> Any:
        """Raises TypeError, and says what stands for the number of a token."""
        place = f"the place of its token is sum_over(l, not_later(l, {self.name}))"
        raise TypeError(f"an index is no number: {place}, with an index l over {self.dim}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = as_number = _no_number
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _no_number

    @property
    def latex(self) -> str:
        """The name, safe in front of another letter: a command such as \\mu is closed by a space."""
        name = self.name.partition("#")[0]
        return f"{name} " if name.startswith("\\") else name

    def fresh(self) -> Index:
        """A new index over the same range, different from every index made so far."""
        _next[0] += 1
        return Index(f"{self.name.split('#')[0]}#{_next[0] - 1}", self.dim)


@dataclass(frozen=True)
class Tensor:
    """A named array with symbolic dimensions. Raises ValueError for dimensions that are no tuple.

    The three LaTeX fields print the whole array, one row and one entry; ``%1``, ``%2`` stand for the indices.
    A dimension's name is its LaTeX. ``positive`` promises that every entry is > 0 (a hypothesis that proofs
    may use); ``symmetric`` promises T[i, j] = T[j, i] for a matrix.
    """

    name: str
    dims: tuple[str, ...] = ()
    latex: str = ""
    row_latex: str = ""
    entry_latex: str = ""
    positive: bool = False
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.dims, tuple) or (self.symmetric and self.dims != self.dims[::-1]):
            raise ValueError(f"{self.name}: dimensions are a tuple, and two equal ones if it is symmetric")
        for dim in self.dims:
            summands(dim)

    def __hash__(self) -> int:
        return hash((self.name, self.dims))  # tells nearly all apart; normal forms ask for it all the time

    def __repr__(self) -> str:
        return _written(self)

    @property
    def symbol(self) -> str:
        """The name in LaTeX, that of a Greek letter as the letter."""
        return self.latex or spelled(self.name)

    def __getitem__(self, indices: Index | tuple[Index, ...]) -> Expr:
        return At(self, indices if isinstance(indices, tuple) else (indices,))

    @property
    def scalar(self) -> Expr:
        """The value of a tensor without indices."""
        return At(self, ())


@lru_cache(maxsize=4096)
def _written(tensor: Tensor) -> str:
    """As a dataclass is shown; kept, since normal forms are sorted by it."""
    shown = ", ".join(f"{f.name}={getattr(tensor, f.name)!r}" for f in fields(tensor))
    return f"{type(tensor).__qualname__}({shown})"


class Expr:
    """Base class; arithmetic builds ``Add``, ``Mul`` and ``Pow`` nodes."""

    def __add__(self, other: Scalar) -> Expr:
        return Add((self, as_expr(other)))

    def __radd__(self, other: Scalar) -> Expr:
        return Add((as_expr(other), self))

    def __sub__(self, other: Scalar) -> Expr:
        return Add((self, -as_expr(other)))

    def __rsub__(self, other: Scalar) -> Expr:
        return Add((as_expr(other), -self))

    def __mul__(self, other: Scalar) -> Expr:
        return Mul((self, as_expr(other)))

    def __rmul__(self, other: Scalar) -> Expr:
        return Mul((as_expr(other), self))

    def __truediv__(self, other: Scalar) -> Expr:
        return Mul((self, Pow(as_expr(other), Fraction(-1))))

    def __rtruediv__(self, other: Scalar) -> Expr:
        return Mul((as_expr(other), Pow(self, Fraction(-1))))

    def __neg__(self) -> Expr:
        return Mul((Num(Fraction(-1)), self))

    def __pow__(self, exponent: int | Fraction) -> Expr:
        return Pow(self, Fraction(exponent))


Scalar = Expr | int | Fraction


@dataclass(frozen=True)
class Num(Expr):
    value: Fraction


@dataclass(frozen=True)
class Dim(Expr):
    """The size of a dimension as a number. Raises ValueError for a stacked one, whose size is a sum."""

    name: str

    def __post_init__(self) -> None:
        if len(summands(self.name)) > 1 or self.name == "1":
            raise ValueError(f"{self.name} is no dimension with a size of its own")


@dataclass(frozen=True)
class At(Expr):
    """One entry of a tensor. Raises ValueError where the indices do not fit its dimensions."""

    tensor: Tensor
    indices: tuple[Index, ...]

    def __post_init__(self) -> None:
        dims = tuple(i.dim for i in self.indices)
        if dims != self.tensor.dims:
            raise ValueError(f"{self.tensor.name} has dimensions {self.tensor.dims}, indexed with {dims}")


@dataclass(frozen=True)
class Add(Expr):
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Mul(Expr):
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Pow(Expr):
    base: Expr
    exponent: Fraction


@dataclass(frozen=True)
class Call(Expr):
    """``order``-th derivative of the one-argument function ``function``, at ``arg``.

    ``exp`` and ``log`` have rules of their own; every other name is an unknown function of which
    only congruence (equal arguments give equal values) is used.
    """

    function: str
    arg: Expr
    order: int = 0


@dataclass(frozen=True)
class Sum(Expr):
    index: Index
    body: Expr


@dataclass(frozen=True)
class Delta(Expr):
    """1 where both indices have the same value, else 0. Raises ValueError for indices with different
    ranges.
    """

    left: Index
    right: Index

    def __post_init__(self) -> None:
        if self.left.dim != self.right.dim:
            raise ValueError(f"a delta between indices over {self.left.dim} and {self.right.dim}")


def as_expr(value: Scalar) -> Expr:
    """A rational number as an expression; expressions pass through. Floats are refused: they are not
    exact.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, (int, Fraction)):
        return Num(Fraction(value))
    raise TypeError(f"exact numbers only, not {type(value).__name__}")


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct subexpressions."""
    match expr:
        case Add(args) | Mul(args):
            return args
        case Pow(base, _):
            return (base,)
        case Call(_, arg, _):
            return (arg,)
        case Sum(_, body):
            return (body,)
    return ()


def rebuild(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
    """The same node with other direct subexpressions."""
    match expr:
        case Add():
            return Add(parts)
        case Mul():
            return Mul(parts)
        case Pow(_, exponent):
            return Pow(parts[0], exponent)
        case Call(function, _, order):
            return Call(function, parts[0], order)
        case Sum(index, _):
            return Sum(index, parts[0])
    return expr


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node, parents first."""
    yield expr
    for part in children(expr):
        yield from walk(part)


def tensors(expr: Expr) -> set[Tensor]:
    """The tensors that occur."""
    return {node.tensor for node in walk(expr) if isinstance(node, At)}


def free_indices(expr: Expr) -> set[Index]:
    """The indices that no sum binds."""
    match expr:
        case At(_, indices):
            return set(indices)
        case Delta(left, right):
            return {left, right}
        case Sum(index, body):
            return free_indices(body) - {index}
    return set().union(*(free_indices(part) for part in children(expr)))


def rename(expr: Expr, mapping: dict[Index, Index]) -> Expr:
    """Replace free indices; bound indices are renamed first, so nothing is captured."""
    match expr:
        case At(tensor, indices):
            return At(tensor, tuple(mapping.get(i, i) for i in indices))
        case Delta(left, right):
            return Delta(mapping.get(left, left), mapping.get(right, right))
        case Sum(index, body):
            new = index.fresh()
            return Sum(new, rename(body, {**mapping, index: new}))
    return rebuild(expr, tuple(rename(part, mapping) for part in children(expr)))


def renamings(expr: Expr, indices: Sequence[Index], letters: Sequence[Index]) -> Iterator[Expr]:
    """The expression with different letters of the same ranges in the place of free indices, in every
    order.
    """
    yield from (rename(expr, mapping) for mapping in _assignments(indices, letters))


def _assignments(indices: Sequence[Index], letters: Sequence[Index]) -> Iterator[dict[Index, Index]]:
    if not indices:
        yield {}
        return
    for n, letter in enumerate(letters):
        if letter.dim == indices[0].dim:
            for others in _assignments(indices[1:], [*letters[:n], *letters[n + 1 :]]):
                yield {indices[0]: letter, **others}


def define(expr: Expr, tensor: Tensor, rule: Callable[..., Expr]) -> Expr:
    """Replace every entry ``tensor[i, …]`` by ``rule(i, …)``.

    Indices that are bound around such an entry are renamed first: the rule may leave an index of that name
    free.
    """
    if isinstance(expr, At):
        return rule(*expr.indices) if expr.tensor == tensor else expr
    if isinstance(expr, Sum) and tensor in tensors(expr.body):
        new = expr.index.fresh()
        return Sum(new, define(rename(expr.body, {expr.index: new}), tensor, rule))
    return rebuild(expr, tuple(define(part, tensor, rule) for part in children(expr)))


def translate(expr: Expr, dims: Mapping[str, str], tensors: Mapping[Tensor, Tensor]) -> Expr:
    """The same expression in another theory's symbols: dimensions and tensors renamed, indices carried along.

    A tensor that is not mapped keeps its name; its dimensions are renamed. Raises ValueError (from ``At``)
    where a tensor is mapped to one whose dimensions do not fit.
    """

    def index(i: Index) -> Index:
        return Index(i.name, dims.get(i.dim, i.dim))

    match expr:
        case At(tensor, indices):
            renamed = replace(tensor, dims=tuple(dims.get(d, d) for d in tensor.dims))
            return At(tensors.get(tensor, renamed), tuple(map(index, indices)))
        case Dim(name):
            return Dim(dims.get(name, name))
        case Delta(left, right):
            return Delta(index(left), index(right))
        case Sum(bound, body):
            return Sum(index(bound), translate(body, dims, tensors))
    return rebuild(expr, tuple(translate(part, dims, tensors) for part in children(expr)))


def numbered(expr: Expr, sizes: Mapping[str, int]) -> Expr:
    """The expression with numbers put for the sizes of some dimensions."""
    if isinstance(expr, Dim) and expr.name in sizes:
        return Num(Fraction(sizes[expr.name]))
    return rebuild(expr, tuple(numbered(part, sizes) for part in children(expr)))


def total(body: Expr, *indices: Index) -> Expr:
    """The sum of ``body`` over the indices, the first outermost."""
    for index in reversed(indices):
        body = Sum(index, body)
    return body


def exp(arg: Expr) -> Expr:
    """The exponential of a scalar."""
    return Call("exp", arg)
