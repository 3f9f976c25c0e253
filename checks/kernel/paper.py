"""Printed formulas in Rocq with the papers' operations, which lib/Paper.v defines in a line each.

What stands here is compared by the kernel with the tree that the checker computes with, so that neither the
translation of a formula into entries nor this one has to be believed.
"""

from __future__ import annotations

from collections.abc import Mapping

from checks.kernel.trees import (
    APPLIED,
    ATOM,
    PREFIX,
    PRODUCT,
    SUM,
    Function,
    NotCovered,
    Symbols,
    application,
    joined,
    number,
    plain,
    powered,
    written,
)
from derivations.calculus import gradients as gd
from derivations.calculus import index as ix
from derivations.calculus import term as tm
from derivations.calculus.index import STACKED, Index, Tensor
from derivations.calculus.term import Term

Scope = Mapping[Index, str]
Shown = tuple[str, int]
"""A text, and the level of Rocq's notation on which it stands."""


def formula(term: Term, at: tuple[Index, ...], scope: Scope, symbols: Symbols, level: int = SUM) -> str:
    """The entry of a term at indices of ``scope``, in parentheses where it binds less than ``level`` asks.

    Raises NotCovered for objects with stacked dimensions, and for symbols that the theorem does not have.
    """
    return _Printer(symbols).at(term, at, dict(scope), level)


def array(term: Term, scope: Scope, symbols: Symbols) -> str:
    """A whole object as an argument. Raises NotCovered like `formula`."""
    return _Printer(symbols).whole(term, dict(scope))


class _Printer:
    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols

    def at(self, term: Term, at: tuple[Index, ...], scope: dict[Index, str], level: int = SUM) -> str:
        text, own = self._entry(term, at, scope)
        return text if own <= level else f"({text})"

    def whole(self, term: Term, scope: dict[Index, str]) -> str:
        """An object as an argument: a number, or a function of the indices that have a range."""
        if isinstance(term, tm.Symbol):
            return self._tensor(term.data)
        if isinstance(term, tm.Pick) and self._ranged(term):
            places = " ".join(scope[i] for i in plain(term.data))
            return (
                f"({self.whole(term.args[0], scope)} {places})" if places else self.whole(term.args[0], scope)
            )
        if isinstance(term, tm.Transpose) and len(self._ranged(term)) < 2:
            return self.whole(term.args[0], scope)
        if (made := self._made(term, scope)) is not None:
            return f"({made})"
        at = tuple(Index("ijkl"[n], dim).fresh() for n, dim in enumerate(term.shape()))
        inner = dict(scope)
        for i in plain(at):
            inner[i] = self.symbols.index(i, inner)
        body = self.at(term, at, inner)
        names = " ".join(inner[i] for i in plain(at))
        if isinstance(term, tm.Zeros | tm.Ones):  # nothing says what it is a function of
            names = f"({names} : nat)" if names else ""
        return f"(fun {names} => {body})" if names else f"({body})"

    def _made(self, term: Term, scope: dict[Index, str]) -> str | None:
        """An operation of lib/Paper.v with its arguments, or None where a term is none."""

        def whole(inner: Term) -> str:
            return self.whole(inner, scope)

        match term:
            case tm.MatMul((left, right)):
                return self._product(left, right, scope)
            case tm.Transpose((inner,)) if len(self._ranged(inner)) == 2:
                return f"transpose {whole(inner)}"
            case tm.Diagonal((inner,)) if self._ranged(inner):
                return f"diag {whole(inner)}"
            case tm.RowSoftmax((inner,)) if len(self._ranged(inner)) == 2:
                return f"row_softmax {self._size(inner.shape()[1])} {whole(inner)}"
            case tm.Trace((inner,)) if self._ranged(inner):
                return f"trace {self._size(inner.shape()[0])} {whole(inner)}"
            case tm.SquaredNorm((inner,)) if 0 < len(ranged := self._ranged(inner)) < 3:
                name = "norm_squared" if len(ranged) == 1 else "frobenius_squared"
                return " ".join([name, *map(self._size, ranged), whole(inner)])
            case tm.Named((inner,)):
                return self._made(inner, scope)
        return None

    def _product(self, left: Term, right: Term, scope: dict[Index, str]) -> str | None:
        one, two = self._ranged(left), self._ranged(right)
        inner = (left.shape() if len(left.shape()) > 1 else (*left.shape(), "1"))[1]
        sides = f"{self.whole(left, scope)} {self.whole(right, scope)}"
        if inner == "1":
            return f"outer {sides}" if len(one) == len(two) == 1 else None
        words = {(2, 2): "product", (2, 1): "times_vector", (1, 2): "vector_times", (1, 1): "inner"}
        return f"{words[len(one), len(two)]} {self._size(inner)} {sides}"

    def _ranged(self, term: Term) -> list[str]:
        """The dimensions of a term that are not 1."""
        dims = [d for d in term.shape() if d != "1"]
        if any(STACKED in d for d in dims):
            raise NotCovered("a stacked dimension")
        return dims

    def _size(self, dim: str) -> str:
        if dim not in self.symbols.dims:
            raise NotCovered("a size that the entries do not show")
        return self.symbols.dim(dim)

    def _tensor(self, tensor: Tensor) -> str:
        if not self.symbols.has(tensor):
            raise NotCovered("a tensor that the entries do not show")
        return self.symbols.tensor(tensor)

    def _function(self, function: Function) -> str:
        if not self.symbols.has(function) and function != ("log", 0):
            raise NotCovered("a function that the entries do not show")
        return self.symbols.function(function)

    def _entry(self, term: Term, at: tuple[Index, ...], scope: dict[Index, str]) -> Shown:
        def down(inner: Term, level: int, here: tuple[Index, ...] = at) -> str:
            return self.at(inner, here if inner.shape() else (), scope, level)

        places = [scope[i] for i in plain(at)]
        match term:
            case tm.Symbol():
                return application(self._tensor(term.data), places), APPLIED if places else ATOM
            case tm.Number():
                return number(term.data)
            case tm.Named((inner,)):
                return self._entry(inner, at, scope)
            case tm.Pick((inner,)):
                return self._entry(inner, (*term.data, *at), scope)
            case tm.Stack((inner,)):
                here, inside = _bound(term.data, at[1:], scope, scope.get(at[0], ""))
                return self._entry(inner, here, inside)
            case tm.Sum_(args):
                return joined([down(a, SUM - (n > 0)) for n, a in enumerate(args)], " + ", SUM, "0")
            case tm.Neg((inner,)):
                return f"(-1) * {down(inner, PREFIX - 1)}", PRODUCT
            case tm.Product(args) | tm.Hadamard(args):
                factors = [down(a, PREFIX - 1 if n else PRODUCT) for n, a in enumerate(args)]
                return joined(factors, " * ", PRODUCT, "1")
            case tm.Frac((above, below)):
                return f"{down(above, PRODUCT)} / {down(below, PREFIX - 1, ())}", PRODUCT
            case tm.Transpose((inner,)) if len(inner.shape()) == 1:
                return self._entry(inner, at[1:], scope)
            case tm.Power((inner,)) if term.data == 1:
                return self._entry(inner, at, scope)
            case tm.Power((inner,)):
                return powered(lambda level: down(inner, level), term.data)
            case tm.Apply((inner,)) if term.data[0] == "exp":
                return f"exp {down(inner, ATOM)}", APPLIED
            case tm.Apply((inner,)):
                return f"{self._function((term.data[0], term.data[2]))} {down(inner, ATOM)}", APPLIED
            case tm.SumOver((inner,)) if term.data.dim != "1":
                return f"sum {self._over(term.data, inner, at, scope)}", APPLIED
            case tm.Softmax((score,)) if term.data.dim != "1":
                return f"softmax {self._over(term.data, score, (), scope)} {scope[term.data]}", APPLIED
            case gd.Moved((inner,)):
                tensor, value = term.data
                body = self.at(inner, at, scope)
                return f"let {self.symbols.tensor(tensor)} := {self.whole(value, scope)} in {body}", SUM + 1
            case tm.Ones() | tm.Zeros() | tm.Eye() | gd.Unit() | gd.Kronecker():
                return self._known(term.entry(*at), scope)
        if (made := self._made(term, scope)) is not None:
            return application(made, places), APPLIED
        return self._known(term.entry(*at), scope)

    def _over(self, own: Index, body: Term, at: tuple[Index, ...], scope: dict[Index, str]) -> str:
        """The range of an index, and a formula as a function of it."""
        if STACKED in own.dim:
            raise NotCovered("a stacked dimension")
        name = self.symbols.index(own, scope)
        here, inside = _bound(own, at, scope, name)
        return f"{self._size(own.dim)} (fun {name} => {self.at(body, here, inside)})"

    def _known(self, expr: ix.Expr, scope: dict[Index, str]) -> Shown:
        """What the papers have no operation for, by its entries."""
        return written(expr, scope, self.symbols)


def _bound(
    own: Index, at: tuple[Index, ...], scope: dict[Index, str], name: str
) -> tuple[tuple[Index, ...], dict[Index, str]]:
    """The places and the scope where an index is bound: a place that has its name comes from outside."""
    here = tuple(i.fresh() if i == own else i for i in at)
    outside = {new: scope[i] for new, i in zip(here, at, strict=True) if i in scope}
    return here, {**scope, **outside, own: name}
