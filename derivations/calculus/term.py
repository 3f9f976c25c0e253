"""Formulas as a paper prints them: matrices, vectors, rows, sums, softmax.

A ``Term`` keeps what is printed, misprints included: products whose shapes do not agree can be written down
and are found by ``shape``. ``entry`` translates a well-shaped term into index notation
(``derivations.calculus.index``), in which it is proved and evaluated; ``latex`` prints it for comparison with
the paper. Each operation is one small class with three rules: shape, entry and latex.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product
from typing import Any

from derivations.calculus import index as ix
from derivations.calculus.documented import allows
from derivations.calculus.functions import KNOWN, check_name
from derivations.calculus.index import STACKED, Index, Tensor, summands
from derivations.calculus.naming import is_atom, is_product
from derivations.calculus.unicode import unicode_math

Shape = tuple[str, ...]
ONE = Index("1", "1")
_LOOSE, _PRODUCT, _TIGHT, _ATOM = 1, 2, 3, 4
_SHOWN = 160
"""Characters of a formula that Python shows."""
_WHOLE = ContextVar("whole", default=False)


def whole(value: Any) -> str:
    """The repr of a value with all that makes up the formulas in it: no two that differ read alike."""
    before = _WHOLE.set(True)
    try:
        return repr(value)
    finally:
        _WHOLE.reset(before)


class NonConformable(ValueError):
    """The shapes in a printed formula do not agree."""


class Alike(NonConformable):
    """Shapes that do not agree as they are written, and do as those of matrices: a column is a vector, one by
    one a number. What is printed need not fail for that.
    """


class Ambiguous(Alike):
    """What is printed reads as another formula."""


def as_matrix(shape: Shape) -> Shape:
    """A shape as that of a matrix: (N, 1) is that of a vector, (1, 1) and (1) that of a number."""
    while shape[-1:] == ("1",):
        shape = shape[:-1]
    return shape


def misfit(words: str, shapes: Iterable[Shape]) -> NonConformable:
    """The error for shapes that differ."""
    return (Alike if len(set(map(as_matrix, shapes))) == 1 else NonConformable)(words)


@dataclass(frozen=True)
class Term:
    """A printed formula: an operation, its arguments and what else the operation needs."""

    args: tuple[Term, ...] = ()
    data: Any = None

    def shape(self) -> Shape:
        """The dimensions of the value: () a scalar, (n,) a column vector. Raises NonConformable."""
        raise NotImplementedError

    def entry(self, *at: Index) -> ix.Expr:
        """The entry at the given indices, one for each dimension, in index notation."""
        raise NotImplementedError

    def latex(self) -> str:
        """The formula as printed."""
        raise NotImplementedError

    def __repr__(self) -> str:
        if _WHOLE.get():
            return f"{type(self).__qualname__}(args={self.args!r}, data={self.data!r})"
        text = " ".join(unicode_math(self.latex()).split())
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    level = _ATOM
    takes_in = False  # what is written behind it reads as a part of it, as behind log x

    def wrapped(self, level: int, after: bool = False) -> str:
        """LaTeX with parentheses where the surrounding operation binds tighter, or where it follows a sign or
        a factor (``after``) and starts with a sign itself.
        """
        text = self.latex()
        return rf"\left({text}\right)" if self.level < level or (after and text.startswith("-")) else text

    def __add__(self, other: Any) -> Term:
        return Sum_((self, as_term(other)))

    def __radd__(self, other: Any) -> Term:
        return Sum_((as_term(other), self))

    def __sub__(self, other: Any) -> Term:
        return Sum_((self, Neg((as_term(other),))))

    def __rsub__(self, other: Any) -> Term:
        return Sum_((as_term(other), Neg((self,))))

    def __mul__(self, other: Any) -> Term:
        return Product((self, as_term(other)))

    def __rmul__(self, other: Any) -> Term:
        return Product((as_term(other), self))

    def __truediv__(self, other: Any) -> Term:
        return Frac((self, as_term(other)))

    def __rtruediv__(self, other: Any) -> Term:
        return Frac((as_term(other), self))

    def __matmul__(self, other: Any) -> Term:
        return MatMul((self, as_term(other)))

    def __neg__(self) -> Term:
        return Neg((self,))

    def __pow__(self, exponent: int | Fraction) -> Term:
        if isinstance(exponent, (Term, Tensor, Index)):
            raise TypeError("an exponent is a rational number; exp(b * log(a)) is a to the power of a term b")
        return Power((self,), Fraction(exponent))

    def __getitem__(self, at: Index | tuple[Index, ...]) -> Term:
        own = _indices(*(at if isinstance(at, tuple) else (at,)))
        # X[s][j] is X[s, j]
        return Pick(self.args, self.data + own) if type(self) is Pick else Pick((self,), own)

    @property
    def T(self) -> Term:
        """The transpose."""
        return Transpose((self,))

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """Terms that must be defined although the entries may not show them: (everywhere, also all
        around each point).
        """
        return (), ()


def _indices(*given: Any) -> tuple[Index, ...]:
    for value in given:
        if not isinstance(value, Index):
            raise TypeError(f'an index is an Index, such as Index("j", "N"), not {value!r}')
    return given


def as_term(value: Any) -> Term:
    """Rational numbers and tensors as terms."""
    if isinstance(value, Term):
        return value
    if isinstance(value, Tensor):
        return Symbol((), value)
    if isinstance(value, (int, Fraction)):
        return Number((), Fraction(value))
    if isinstance(value, Index):
        value.as_number()
    numbers = "; numbers are whole, or a Fraction" if isinstance(value, float) else ""
    raise TypeError(f"not a term: {value!r}{numbers}")


def as_tensor(value: Any) -> Tensor:
    """A tensor, also from the term that it is as a whole. Raises TypeError for anything else."""
    own = value.data if isinstance(value, Symbol) else value
    if not isinstance(own, Tensor):
        raise TypeError(f"a tensor is asked for here, not {value!r}")
    return own


class Symbol(Term):
    """A tensor as a whole."""

    def shape(self) -> Shape:
        return self.data.dims

    @property
    def level(self) -> int:  # type: ignore[override]
        return level_of(self.latex())

    def entry(self, *at: Index) -> ix.Expr:
        return ix.At(self.data, at)

    def latex(self) -> str:
        return self.data.symbol


class Number(Term):
    """A rational number."""

    @property
    def level(self) -> int:  # type: ignore[override]
        return _PRODUCT if self.data < 0 else _ATOM if self.data.denominator == 1 else _TIGHT

    def shape(self) -> Shape:
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Num(self.data)

    def latex(self) -> str:
        value = self.data
        if value.denominator == 1:
            return str(value)
        return rf"{'-' if value < 0 else ''}\tfrac{{{abs(value.numerator)}}}{{{value.denominator}}}"


class Size(Term):
    """A dimension as a number; of a stacked dimension the sum of its parts."""

    def shape(self) -> Shape:
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        parts = [ix.Num(Fraction(1)) if part == "1" else ix.Dim(part) for part in summands(self.data)]
        return parts[0] if len(parts) == 1 else ix.Add(tuple(parts))

    @property
    def level(self) -> int:  # type: ignore[override]
        return level_of(self.data.replace(STACKED, "+"))

    def latex(self) -> str:
        return self.data


class Pick(Term):
    """An entry or a row: the leading dimensions fixed at indices."""

    @property
    def level(self) -> int:  # type: ignore[override]
        return level_of(self.latex())

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """The whole object: what is picked out of it need not show what the rest asks for."""
        return self.args, ()

    def shape(self) -> Shape:
        whole = self.args[0].shape()
        for index, dim in zip(self.data, whole, strict=False):
            if index.dim != dim:
                raise NonConformable(f"index {index.name} runs over {index.dim}, the dimension is {dim}")
        if len(self.data) > len(whole):
            raise NonConformable(f"{len(self.data)} indices on an object with dimensions {whole}")
        return whole[len(self.data) :]

    def entry(self, *at: Index) -> ix.Expr:
        return self.args[0].entry(*self.data, *at)

    def latex(self) -> str:
        inner, picked = self.args[0], self.data
        while type(inner) is Pick:  # what is put in for X in X[j] may be Y[s]
            inner, picked = inner.args[0], inner.data + picked
        if isinstance(inner, Symbol):
            full = len(picked) == len(inner.data.dims)
            template = inner.data.entry_latex if full else inner.data.row_latex
            if f"%{len(picked)}" in template and f"%{len(picked) + 1}" not in template:
                if any(len(i.latex.strip()) > 1 and not i.latex.startswith("\\") for i in picked):
                    template = re.sub(r"(%\d)(?=%\d)", r"\1,", template)
                for n, i in enumerate(picked, 1):
                    template = template.replace(f"%{n}", i.latex)
                return template
        return rf"{_base(inner.wrapped(_ATOM))}_{{{side_by_side(picked)}}}"


class Sum_(Term):
    """A sum of terms of one shape."""

    level = _LOOSE

    def shape(self) -> Shape:
        shapes = {a.shape() for a in self.args}
        if len(shapes) != 1:
            raise misfit(f"terms of shapes {show_shapes(shapes)} are added", shapes)
        return shapes.pop()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Add(tuple(a.entry(*at) for a in self.args))

    def latex(self) -> str:
        text = self.args[0].wrapped(_LOOSE)
        for a in self.args[1:]:
            if isinstance(a, Neg):
                text += " - " + a.args[0].wrapped(_PRODUCT, after=True)
            elif (term := a.wrapped(_PRODUCT)).startswith("-"):  # a product with a negative factor in front
                text += " - " + term[1:].lstrip()
            else:
                text += " + " + term
        return text


class Neg(Term):
    """The negative."""

    level = _LOOSE

    def shape(self) -> Shape:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        return -self.args[0].entry(*at)

    def latex(self) -> str:
        return "-" + self.args[0].wrapped(_PRODUCT, after=True)


class Product(Term):
    """Scalars times at most one vector or matrix."""

    level = _PRODUCT

    def shape(self) -> Shape:
        shapes = [s for a in self.args if (s := a.shape())]
        if len(shapes) > 1:
            words = (
                f"objects of shapes {show_shapes(shapes)} stand side by side as if one were a scalar "
                "(a matrix product is @, entry by entry it is hadamard)"
            )
            number = sum(as_matrix(s) != () for s in shapes) < 2
            raise (Alike if number or _as_matrices(self.args) else NonConformable)(words)
        return shapes[0] if shapes else ()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Mul(tuple(a.entry(*at) if a.shape() else a.entry() for a in self.args))

    def latex(self) -> str:
        text = ""
        for part in _side_by_side(self.args, _PRODUCT):
            numbers = text[-1:].isdigit() and (part[:1].isdigit() or part.startswith(r"\tfrac"))
            text += (r" \cdot " if numbers else r"\," if text else "") + part
        return text


def _as_matrices(factors: tuple[Term, ...]) -> bool:
    """Whether factors side by side read as a product of matrices that fit together."""
    try:
        reduce(lambda a, b: MatMul((a, b)), [a for a in factors if a.shape()]).shape()
    except NonConformable:
        return False
    return True


class Hadamard(Term):
    """The entrywise product of objects of one shape."""

    level = _LOOSE  # next to a matrix product its extent would not be clear without parentheses

    def shape(self) -> Shape:
        shapes = {a.shape() for a in self.args}
        if len(shapes) != 1:
            raise misfit(f"objects of shapes {show_shapes(shapes)} are multiplied entry by entry", shapes)
        return shapes.pop()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Mul(tuple(a.entry(*at) for a in self.args))

    def latex(self) -> str:
        return r" \odot ".join(a.wrapped(_TIGHT) for a in self.args)


class MatMul(Term):
    """A matrix product of two factors; the inner dimensions must agree."""

    level = _PRODUCT

    def _sides(self) -> tuple[Shape, Shape]:
        left, right = self.args[0].shape(), self.args[1].shape()
        if len(left) > 2 or len(right) > 2:
            raise NonConformable(f"matrix product of shapes {show_shapes((left, right))}")
        if not left or not right:
            raise Alike(f"matrix product of shapes {show_shapes((left, right))}: times a number is *")
        if len(left) == 1:
            left = (left[0], "1")
        if left[1] != right[0]:
            words = f"matrix product of shapes {show_shapes([left])} and {show_shapes([right])}: "
            number = () in (as_matrix(left), as_matrix(right))
            raise (Alike if number else NonConformable)(f"{words}{left[1]} against {right[0]}")
        return left, right

    def shape(self) -> Shape:
        left, right = self._sides()
        if len(right) == 1:
            return () if left[0] == "1" else (left[0],)
        return (left[0], *right[1:])

    def entry(self, *at: Index) -> ix.Expr:
        left, right = self._sides()
        row = [] if len(right) == 1 and left[0] == "1" else [at[0]]
        column = list(at[len(row) :])
        sums = []
        for part in summands(left[1]):
            inner = Index("m", part).fresh()
            first = (
                self.args[0].entry(row[0])
                if len(self.args[0].shape()) == 1
                else self.args[0].entry(row[0] if row else ONE, inner)
            )
            sums.append(ix.Sum(inner, ix.Mul((first, self.args[1].entry(inner, *column)))))
        return sums[0] if len(sums) == 1 else ix.Add(tuple(sums))

    def latex(self) -> str:
        return " ".join(_side_by_side(self.args, _PRODUCT))


class Transpose(Term):
    """The transpose; of a column vector, a row."""

    level = _TIGHT

    def shape(self) -> Shape:
        inner = self.args[0].shape()
        if len(inner) == 1:
            return ("1", inner[0])
        return tuple(reversed(inner))

    def entry(self, *at: Index) -> ix.Expr:
        if len(self.args[0].shape()) == 1:
            return self.args[0].entry(at[1])
        return self.args[0].entry(*reversed(at))

    def latex(self) -> str:
        return rf"{_base(self.args[0].wrapped(_ATOM))}^{{\top}}"


class Frac(Term):
    """Anything over a scalar."""

    level = _TIGHT

    def shape(self) -> Shape:
        if self.args[1].shape():
            shape = self.args[1].shape()
            raise misfit(f"division by an object of shape {show_shapes([shape])}", (shape, ()))
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Mul((self.args[0].entry(*at), ix.Pow(self.args[1].entry(), Fraction(-1))))

    def latex(self) -> str:
        return rf"\frac{{{self.args[0].latex()}}}{{{self.args[1].latex()}}}"


class Power(Term):
    """A rational power of a scalar, or of each entry of a vector, or of a matrix that is not square."""

    level = _TIGHT

    def shape(self) -> Shape:
        """Raises Ambiguous for a square matrix, whose power is another one to most readers."""
        shape = self.args[0].shape()
        if len(shape) == 2 and shape[0] == shape[1] and self.data not in (0, 1):
            of = f"{self.latex()} reads as a power of the whole matrix"
            raise Ambiguous(f"{of}: that is A @ A; entry by entry it is hadamard(A, A), and 1 / A[i, j]")
        return shape

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Pow(self.args[0].entry(*at), self.data)

    def latex(self) -> str:
        if self.data == Fraction(1, 2):
            return rf"\sqrt{{{self.args[0].latex()}}}"
        if self.data.numerator == 1 and self.data.denominator > 2:
            return rf"\sqrt[{self.data.denominator}]{{{self.args[0].latex()}}}"
        return rf"{_base(self.args[0].wrapped(_ATOM))}^{{{self.data}}}"


class Apply(Term):
    """A function of a scalar, or of each entry; ``data`` = (name, LaTeX, order of derivative)."""

    level = _TIGHT

    def shape(self) -> Shape:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        name, _, order = self.data
        return ix.Call(name, self.args[0].entry(*at), order)

    def latex(self) -> str:
        name, symbol, order = self.data
        symbol = rf"\operatorname{{{name}}}" if symbol == name and len(name) > 1 else symbol
        return rf"{symbol}{chr(39) * order}\left({self.args[0].latex()}\right)"


def _entry_with(inner: Term, at: tuple[Index, ...], own: Index, value: Index) -> ix.Expr:
    """The entry of a term at ``at`` with its index ``own`` set to ``value``.

    An index of ``at`` that has the name of ``own`` comes from outside and is another one: it must not be
    replaced.
    """
    places = tuple(i.fresh() if i == own else i for i in at)
    return ix.rename(inner.entry(*places), {**dict(zip(places, at, strict=True)), own: value})


class Named(Term):
    """A term under the name that the paper gives it; ``data`` is the name's LaTeX. Mutants are made
    inside.
    """

    @property
    def level(self) -> int:  # type: ignore[override]
        return level_of(self.data)

    def shape(self) -> tuple[str, ...]:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        return self.args[0].entry(*at)

    def latex(self) -> str:
        return self.data


def named(latex: str, term: Term) -> Term:
    """The term, printed as its name."""
    return Named((term,), latex)


class SumOver(Term):
    """A sum over an index; ``data`` = (index, LaTeX of the lower limit or "")."""

    level = _PRODUCT

    def shape(self) -> Shape:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        sums = []
        for part in summands(self.data.dim):
            new = Index(self.data.name, part).fresh()
            sums.append(ix.Sum(new, _entry_with(self.args[0], at, self.data, new)))
        return sums[0] if len(sums) == 1 else ix.Add(tuple(sums))

    def latex(self) -> str:
        return (
            rf"\sum_{{{self.data.name}=1}}^{{{self.data.dim}}} {self.args[0].wrapped(_PRODUCT, after=True)}"
        )


class Stack(Term):
    """The vector (or matrix) whose entries (or rows) are the given term, one for each value of an index."""

    def shape(self) -> Shape:
        return (self.data.dim, *self.args[0].shape())

    def entry(self, *at: Index) -> ix.Expr:
        return _entry_with(self.args[0], at[1:], self.data, at[0])

    def latex(self) -> str:
        return rf"\left[{self.args[0].latex()}\right]_{{{self.data.name}=1}}^{{{self.data.dim}}}"


class Softmax(Term):
    """exp of a score over the sum of the exps at all values of the index ``data``."""

    level = _TIGHT

    def shape(self) -> Shape:
        if len(summands(self.data.dim)) > 1:
            raise ValueError(f"softmax over an index of the stacked dimension {self.data.dim}")
        if shape := self.args[0].shape():
            raise misfit("softmax over an index takes a scalar score", (shape, ()))
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        score = self.args[0].entry()
        new = self.data.fresh()
        return ix.exp(score) / ix.Sum(new, ix.exp(ix.rename(score, {self.data: new})))

    def latex(self) -> str:
        return rf"\operatorname{{softmax}}_{{{self.data.name}}}\left({self.args[0].latex()}\right)"


class RowSoftmax(Term):
    """softmax of each row of a matrix."""

    level = _TIGHT

    def shape(self) -> Shape:
        shape = self.args[0].shape()
        if len(shape) != 2:  # that of a vector is printed as one, with its entries in it
            words = f"row softmax of an object of shape {show_shapes([shape])}"
            raise (Alike if len(shape) < 2 else NonConformable)(words)
        return shape

    def entry(self, *at: Index) -> ix.Expr:
        sums = []
        for part in summands(self.args[0].shape()[1]):  # the whole row, also where its dimension is stacked
            new = Index("m", part).fresh()
            sums.append(ix.Sum(new, ix.exp(self.args[0].entry(at[0], new))))
        return ix.exp(self.args[0].entry(*at)) / (sums[0] if len(sums) == 1 else ix.Add(tuple(sums)))

    def latex(self) -> str:
        return rf"\operatorname{{softmax}}\left({self.args[0].latex()}\right)"


class Trace(Term):
    """The trace of a square matrix."""

    level = _TIGHT

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return self.args, ()

    def shape(self) -> Shape:
        shape = self.args[0].shape()
        if shape and (len(shape) != 2 or shape[0] != shape[1]):
            raise misfit(f"trace of an object of shape {show_shapes([shape])}", (shape, ()))
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        if not self.args[0].shape():
            return self.args[0].entry()
        sums = []
        for part in summands(self.args[0].shape()[0]):
            new = Index("m", part).fresh()
            sums.append(ix.Sum(new, self.args[0].entry(new, new)))
        return sums[0] if len(sums) == 1 else ix.Add(tuple(sums))

    def latex(self) -> str:
        return rf"\operatorname{{tr}}\left({self.args[0].latex()}\right)"


class SquaredNorm(Term):
    """The sum of the squares of all entries: Euclidean for vectors, Frobenius for matrices."""

    level = _TIGHT

    def shape(self) -> Shape:
        self.args[0].shape()
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        sums = []
        for block in product(*(summands(dim) for dim in self.args[0].shape())):
            every = [Index("m", dim).fresh() for dim in block]
            sums.append(ix.total(ix.Pow(self.args[0].entry(*every), Fraction(2)), *every))
        return sums[0] if len(sums) == 1 else ix.Add(tuple(sums))

    def latex(self) -> str:
        try:
            mark = r"_{\mathrm{F}}" if len(self.args[0].shape()) == 2 else ""
        except NonConformable:  # printed as it stands, and refused by shape
            mark = ""
        return rf"\left\|{self.args[0].latex()}\right\|{mark}^{{2}}"


class Diagonal(Term):
    """The diagonal matrix with a vector's entries."""

    level = _TIGHT

    def shape(self) -> Shape:
        shape = self.args[0].shape()
        if len(shape) != 1:
            words = f"diag of an object of shape {show_shapes([shape])}"
            raise (Alike if len(as_matrix(shape)) < 2 else NonConformable)(words)
        return (shape[0], shape[0])

    def entry(self, *at: Index) -> ix.Expr:
        if at[0].dim != at[1].dim:
            return ix.Num(Fraction(0))  # indices into different blocks
        return ix.Mul((ix.Delta(at[0], at[1]), self.args[0].entry(at[0])))

    def latex(self) -> str:
        return rf"\operatorname{{diag}}\left({self.args[0].latex()}\right)"


def _by(dims: tuple[str, ...]) -> str:
    """Dimensions of an array, differences in parentheses where there are several."""
    return r" \times ".join(f"({d})" if set(d) & {*"+-"} and len(dims) > 1 else d for d in dims)


class Ones(Term):
    """An array of ones with dimensions ``data``."""

    def shape(self) -> Shape:
        return _dims(*self.data)

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Num(Fraction(1))

    def latex(self) -> str:
        return rf"\mathbf{{1}}_{{{_by(self.data)}}}"


class Zeros(Term):
    """An array of zeros with dimensions ``data``."""

    def shape(self) -> Shape:
        return _dims(*self.data)

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Num(Fraction(0))

    def latex(self) -> str:
        return rf"\mathbf{{0}}_{{{_by(self.data)}}}"


class Eye(Term):
    """The identity matrix on the dimension ``data``, which may be a stacked one."""

    def shape(self) -> Shape:
        return _dims(self.data, self.data)

    def entry(self, *at: Index) -> ix.Expr:
        if at[0].dim != at[1].dim:
            return ix.Num(Fraction(0))  # indices into different blocks
        return ix.Delta(at[0], at[1]) if at[0].dim != "1" else ix.Num(Fraction(1))

    def latex(self) -> str:
        return rf"\mathbf{{I}}_{{{self.data}}}"


class Blocks(Term):
    """Blocks side by side; ``data`` = (rows of blocks, columns of blocks), 0 columns for a stack of vectors.

    The stacked dimensions are named after their parts (``d{+}C-1``). An entry is asked for with indices that
    run over one part each: the dimension of the index says which block is meant, so the parts of an axis must
    differ.
    """

    def _row(self, n: int) -> tuple[Term, ...]:
        width = max(1, self.data[1])
        return self.args[n * width : (n + 1) * width]

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return self.args, ()

    def _axes(self) -> tuple[list[str], list[str]]:
        rows, columns = self.data
        shapes = [[b.shape() for b in self._row(n)] for n in range(rows)]
        if any(len(s) != (2 if columns else 1) for row in shapes for s in row):
            raise NonConformable("blocks must all be matrices, or all be vectors")
        heights, widths = [row[0][0] for row in shapes], [s[1] for s in shapes[0]] if columns else []
        for row, height in zip(shapes, heights, strict=True):
            if any(s[0] != height for s in row) or (columns and [s[1] for s in row] != widths):
                every = show_shapes(s for line in shapes for s in line)
                raise NonConformable(f"blocks of shapes {every} do not fit together")
        if len(set(heights)) < len(heights) or len(set(widths)) < len(widths):
            raise ValueError(
                "blocks along one axis must have different dimensions: their parts would have one name"
            )
        return heights, widths

    def shape(self) -> Shape:
        heights, widths = self._axes()
        return (STACKED.join(heights), STACKED.join(widths)) if widths else (STACKED.join(heights),)

    def entry(self, *at: Index) -> ix.Expr:
        heights, widths = self._axes()
        row = self._row(heights.index(at[0].dim))
        return row[widths.index(at[1].dim)].entry(*at) if widths else row[0].entry(*at)

    def latex(self) -> str:
        lines = [" & ".join(b.latex() for b in self._row(n)) for n in range(self.data[0])]
        return r"\begin{pmatrix}" + r" \\ ".join(lines) + r"\end{pmatrix}"


class Part(Term):
    """A block of an object with stacked dimensions; ``data`` names one part for each axis."""

    level = _TIGHT

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return self.args, ()

    def shape(self) -> Shape:
        whole = self.args[0].shape()
        fits = len(whole) == len(self.data)
        if not fits or any(p not in summands(w) for p, w in zip(self.data, whole, strict=True)):
            raise NonConformable(f"an object with dimensions {whole} has no part {self.data}")
        return self.data

    def entry(self, *at: Index) -> ix.Expr:
        return self.args[0].entry(*at)

    def latex(self) -> str:
        return rf"\left.{self.args[0].wrapped(_TIGHT)}\right|_{{{','.join(self.data)}}}"


def _dims(*dims: str) -> Shape:
    """Dimensions as a shape. Raises ValueError for names that are none."""
    for dim in dims:
        summands(dim)
    return dims


def _open_sums(term: Term) -> set[str]:
    """The names of the sums that reach over whatever is written behind a factor."""
    if isinstance(term, SumOver):
        return {term.data.name} | _open_sums(term.args[0])
    if isinstance(term, Product | MatMul):
        return set().union(*map(_open_sums, term.args))
    return _open_sums(term.args[0]) if isinstance(term, Neg) else set()


def _takes_in(term: Term) -> bool:
    """Whether what is written behind a factor reads as a part of its end."""
    if isinstance(term, Product | MatMul | Neg | SumOver):
        return _takes_in(term.args[-1])
    return term.takes_in


def _side_by_side(factors: tuple[Term, ...], level: int) -> Iterator[str]:
    """Factors as printed one after the other: parentheses around a later one that starts with a sign, and
    around one that would take in a later one, or a sum that would take in its index.
    """
    for n, a in enumerate(factors):
        text = a.wrapped(level, after=n > 0)
        reach = {i.name for later in factors[n + 1 :] for i in free(later)}
        caught = reach & _open_sums(a) or (n + 1 < len(factors) and _takes_in(a))
        yield rf"\left({text}\right)" if caught and text == a.latex() else text


def before_factor(term: Term) -> str:
    """A factor as printed where something is written behind it."""
    text = term.wrapped(_PRODUCT)
    return rf"\left({text}\right)" if _takes_in(term) and text == term.latex() else text


@lru_cache(maxsize=4096)
def level_of(name: str) -> int:
    """How tightly a printed name holds together."""
    return _ATOM if is_atom(name) else _PRODUCT if is_product(name) else _LOOSE


def side_by_side(indices: Sequence[Index]) -> str:
    """Indices as a subscript, with commas where one of them is longer than a letter."""
    names = [i.latex for i in indices]
    return ("" if all(len(n) == 1 or n.endswith(" ") for n in names) else ",").join(names)


def _base(latex: str) -> str:
    """Braces around what already has a superscript or subscript, which TeX would otherwise call doubled."""
    return f"{{{latex}}}" if "^" in latex or "_" in latex else latex


def show_shapes(shapes: Iterable[Shape]) -> str:
    """Shapes in words, such as "n×d_v and scalar"."""
    return " and ".join(sorted("×".join(s) if s else "scalar" for s in shapes))


def picked_from(term: Term) -> Term:
    """The object of which a term is an entry or row; the term itself where it is neither."""
    while isinstance(term, Pick):
        term = term.args[0]
    return term


def sum_over(index: Index, *rest: Any) -> Term:
    """``sum_over(i, j, body)``: the sum of the body over the indices, the first outermost."""
    *more, body = rest
    _indices(index)
    return SumOver((sum_over(*more, body) if more else as_term(body),), index)


def stack(index: Index, body: Any) -> Term:
    """The vector or matrix with the given entries or rows."""
    return Stack((as_term(body),), *_indices(index))


def softmax(index: Index, score: Any) -> Term:
    """softmax of a scalar score, normalised over the index."""
    return Softmax((as_term(score),), *_indices(index))


def row_softmax(matrix: Any) -> Term:
    """softmax of every row."""
    return RowSoftmax((as_term(matrix),))


def exp(arg: Any) -> Term:
    """The exponential of a scalar, or of each entry."""
    return Apply((as_term(arg),), ("exp", r"\exp", 0))


def log(arg: Any) -> Term:
    """The logarithm of a scalar, or of each entry."""
    return apply("log", arg)


@allows(name=("any letter, which is an unknown function", *sorted(KNOWN)))
def apply(name: str, arg: Any, latex: str = "", order: int = 0) -> Term:
    """A function (or its derivative) of a scalar, or of each entry. Raises ValueError for a name or order
    that there is not.
    """
    check_name(name)
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"no derivative of order {order}")
    return Apply((as_term(arg),), (name, latex or name, order))


def sqrt(arg: Any) -> Term:
    """The square root."""
    return Power((as_term(arg),), Fraction(1, 2))


def squared_norm(arg: Any) -> Term:
    """‖·‖² of a vector, ‖·‖_F² of a matrix."""
    return SquaredNorm((as_term(arg),))


def trace(arg: Any) -> Term:
    """The trace; that of a number, such as vᵀ v, is the number."""
    return Trace((as_term(arg),))


def hadamard(*factors: Any) -> Term:
    """The product entry by entry, of arrays of one shape."""
    return Hadamard(tuple(map(as_term, factors)))


def diag(arg: Any) -> Term:
    """The diagonal matrix."""
    return Diagonal((as_term(arg),))


def blocks(*rows: Any) -> Term:
    """A block matrix from its rows (sequences), or a stacked vector from its parts (terms)."""
    if isinstance(rows[0], (list, tuple)):
        return Blocks(tuple(as_term(b) for row in rows for b in row), (len(rows), len(rows[0])))
    return Blocks(tuple(map(as_term, rows)), (len(rows), 0))


def part(term: Any, *dims: str) -> Term:
    """The block of a stacked object that the given dimensions name."""
    return Part((as_term(term),), dims)


def zeros(*dims: str) -> Term:
    """An array of zeros."""
    return Zeros((), dims)


def eye(dim: str) -> Term:
    """The identity matrix."""
    return Eye((), dim)


def size(dim: str) -> Term:
    """A dimension as a number."""
    return Size((), dim)


def subterms(term: Term, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Term]]:
    """Every subterm with its path, parents first."""
    yield path, term
    for n, arg in enumerate(term.args):
        yield from subterms(arg, (*path, n))


def replace_at(term: Term, path: tuple[int, ...], new: Term) -> Term:
    """The term with the subterm at ``path`` replaced."""
    if not path:
        return new
    n, *rest = path
    args = (*term.args[:n], replace_at(term.args[n], tuple(rest), new), *term.args[n + 1 :])
    return replace(term, args=args)


def symbols(term: Term) -> set[Tensor]:
    """The tensors that a term prints."""
    return {t.data for _, t in subterms(term) if isinstance(t, Symbol)}


def free(term: Term) -> set[Index]:
    """The indices that a term leaves free, also in what is put into it, and in what was derived."""
    if isinstance(term.data, ix.Expr):
        return ix.free_indices(term.data)
    bound = {term.data} if isinstance(term, (SumOver, Stack)) else set()
    data = () if bound else term.data if isinstance(term.data, tuple) else (term.data,)
    here = {x for x in data if isinstance(x, Index)}
    inner = (*term.args, *(x for x in data if isinstance(x, Term)))
    return here.union(*(free(a) for a in inner)) - bound
