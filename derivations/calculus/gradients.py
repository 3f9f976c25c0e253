"""Operations that formulas about energies print besides those of ``derivations.calculus.term``.

Derivatives are never typed: ``Gradient`` and ``Differential`` are computed by the guarded derivative, each by
a route of its own (entry by entry, and along a line), so that a printed relation between them can fail.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus import term
from derivations.calculus.differentiate import gradient
from derivations.calculus.functions import EXPONENT, check_name
from derivations.calculus.index import Index, Tensor
from derivations.calculus.naming import is_atom
from derivations.calculus.parse import parse
from derivations.calculus.printing import to_expr
from derivations.calculus.term import (
    NonConformable,
    Shape,
    Term,
    as_tensor,
    as_term,
    misfit,
    show_shapes,
    side_by_side,
    subterms,
)

_PARAMETER = Tensor("t#", (), "t")  # a name that no printed symbol has


class Zeros(term.Zeros):
    """An array of zeros with dimensions ``data``, printed as a plain 0."""

    def latex(self) -> str:
        return "0"


class Unit(Term):
    """The unit vector that is 1 at the index ``data``."""

    def shape(self) -> Shape:
        return (self.data.dim,)

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Delta(at[0], self.data)

    def latex(self) -> str:
        return rf"\mathbf{{e}}_{{{self.data.name}}}"


class Kronecker(Term):
    """1 where the two indices ``data`` agree, else 0; they must run over one range."""

    def shape(self) -> Shape:
        left, right = self.data
        if left.dim != right.dim:
            raise NonConformable(f"a delta between indices over {left.dim} and {right.dim}")
        return ()

    def entry(self, *at: Index) -> ix.Expr:
        return ix.Delta(*self.data)

    def latex(self) -> str:
        return rf"\delta_{{{side_by_side(self.data)}}}"


class SymbolicPower(Term):
    """``base`` to the power p + ``data`` for a symbolic exponent p, a whole number from 1 on, with ``data`` 0
    or -1.

    u^p is an unknown smooth function of u here, and u^(p-1) its derivative over p.
    """

    level = 3

    def shape(self) -> Shape:
        if self.data not in (0, -1):  # no shapes that do not agree: what is true would be refuted
            raise ValueError(f"no power p{self.data:+}: the exponent is p or p - 1")
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        inner = self.args[0].entry(*at)
        if self.data == 0:
            return ix.Call("power", inner)
        return ix.Call("power", inner, 1) / EXPONENT.scalar

    def latex(self) -> str:
        exponent = "p" if self.data == 0 else f"p{self.data}"
        base = self.args[0].wrapped(4)
        raised = "^" in base and not base.startswith(r"\left")  # TeX refuses x^{*}^{p}
        return rf"{{{base}}}^{{{exponent}}}" if raised else rf"{base}^{{{exponent}}}"


class Formula(Term):
    """A user's function F(u) of a scalar, or its derivative: ``data`` = (text in u, order)."""

    level = 3

    def shape(self) -> Shape:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        text, order = self.data
        inner = self.args[0].entry(*at)
        return ix.define(_derived(text, order), _U, lambda: inner)

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return (self.args[0],), (Formula(self.args, (self.data[0], 0)),) if self.data[1] else ()

    def latex(self) -> str:
        _, order = self.data
        return rf"F{chr(39) * order}\left({self.args[0].latex()}\right)"


_U = Tensor("u", ())


@lru_cache(maxsize=256)
def _derived(text: str, order: int) -> ix.Expr:
    expr = parse(text, {"u": _U.scalar})
    for _ in range(order):
        expr = gradient(expr, _U, (), zero_because="a constant" if not ix.tensors(expr) else "")
    return expr


class Derived(Term):
    """Base of the terms that are computed from another one by means of a tensor in it."""

    def by(self) -> tuple[Term, Tensor]:
        """The inner term and the tensor that is differentiated by, or replaced."""
        raise NotImplementedError


class Bregman(Term):
    """F(u) - F(c) - F'(c)(u - c) for ``args`` (u, c), with F named by ``data`` = (name, order 0, order 1 as
    terms).

    It is >= 0 for convex F, and > 0 for u ≠ c where F is strictly convex.
    """

    level = 2

    def shape(self) -> Shape:
        at, around = (a.shape() for a in self.args)
        if at != around:
            raise misfit(f"a divergence between shapes {show_shapes((at, around))}", (at, around))
        return at

    def entry(self, *at: Index) -> ix.Expr:
        u, c = (a.entry(*at) for a in self.args)
        call = ix.Call
        return call(self.data, u) - call(self.data, c) - call(self.data, c, 1) * (u - c)

    def latex(self) -> str:
        u, c = (a.latex() for a in self.args)
        return rf"D_{{{self.data}}}\left({u}, {c}\right)"


class Gradient(Derived):
    """The gradient of a scalar by a tensor: ``data`` = (scalar term, tensor, LaTeX of the scalar)."""

    level = 3
    takes_in = True

    def shape(self) -> Shape:
        energy, tensor, _ = self.data
        if energy.shape():
            raise NonConformable(f"the gradient of an object of shape {show_shapes([energy.shape()])}")
        return tensor.dims

    def entry(self, *at: Index) -> ix.Expr:
        energy, tensor, _ = self.data
        return ix.rename(_gradient(energy, tensor), dict(zip(_places(tensor), at, strict=True)))

    def by(self) -> tuple[Term, Tensor]:
        return self.data[0], self.data[1]

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return (), (self.data[0],)

    def latex(self) -> str:
        _, tensor, name = self.data
        scalar = name if is_atom(name) else rf"\left({name}\right)"
        return rf"\nabla_{{{tensor.symbol}}} {scalar}"


def _places_of(term: Term) -> tuple[Index, ...]:
    return tuple(Index(f"∂{n}#", dim) for n, dim in enumerate(term.shape()))


def _places(tensor: Tensor) -> tuple[Index, ...]:
    """Indices that occur in no printed formula."""
    return _places_of(as_term(tensor))


@lru_cache(maxsize=512)
def _gradient(energy: Term, tensor: Tensor) -> ix.Expr:
    return gradient(energy.entry(), tensor, _places(tensor))


class Differential(Derived):
    """d/dt of a term at ``tensor`` + t ``direction``, t = 0: ``data`` = (term, tensor, direction, LaTeX)."""

    def shape(self) -> Shape:
        term, tensor, direction, _ = self.data
        if direction.dims != tensor.dims:
            raise NonConformable(f"{tensor.name} moves along {direction.name}, which has another shape")
        return term.shape()

    def entry(self, *at: Index) -> ix.Expr:
        term, tensor, direction, _ = self.data
        moved = ix.define(
            term.entry(*at),
            tensor,
            lambda *idx: ix.At(tensor, idx) + _PARAMETER.scalar * ix.At(direction, idx),
        )
        slope = gradient(moved, _PARAMETER, ())
        return ix.define(slope, _PARAMETER, lambda: ix.Num(Fraction(0)))

    def by(self) -> tuple[Term, Tensor]:
        return self.data[0], self.data[1]

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        return (), (self.data[0],)

    def latex(self) -> str:
        return rf"d\!\left({self.data[3]}\right)"


class Moved(Derived):
    """A term with a tensor replaced: ``args`` = (term,), ``data`` = (tensor, value term)."""

    level = 3

    def shape(self) -> Shape:
        tensor, value = self.data
        if value.shape() != tensor.dims:
            raise NonConformable(f"{tensor.name} is replaced by an object of another shape")
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        tensor, value = self.data
        return ix.define(self.args[0].entry(*at), tensor, lambda *idx: value.entry(*idx))

    def by(self) -> tuple[Term, Tensor]:
        return self.args[0], self.data[0]

    def hidden(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        groups = [part.hidden() for _, part in subterms(self.args[0])]
        everywhere, around = (
            [Moved((t,), self.data) for group in groups for t in group[n] if not isinstance(t, Moved)]
            for n in (0, 1)
        )
        return (self.data[1], *everywhere), tuple(around)

    def latex(self) -> str:
        tensor, value = self.data
        becomes = r"\leftarrow" if tensor in ix.tensors(value.entry(*_places_of(value))) else "="
        return (
            rf"\left.{self.args[0].wrapped(3)}\right|_{{{tensor.symbol} {becomes} "
            rf"{value.latex()}}}"
        )


def inner_terms(term: Term) -> list[Term]:
    """The terms below a term that must be defined although its entries may not show them."""
    return [t for _, part in subterms(term) for group in part.hidden() for t in group]


def grad(energy: Term, tensor: Tensor, name: str = "E") -> Term:
    """∇ of a printed energy, whose ``name`` a gradient of it prints: another one for each energy."""
    return Gradient((), (energy, as_tensor(tensor), name))


def at_point(term: Term, tensor: Tensor, value: Term) -> Term:
    """A term at ``tensor`` = ``value``."""
    return Moved((term,), (as_tensor(tensor), as_term(value)))


def unit(index: Index) -> Term:
    """e_j."""
    return Unit((), index)


def kronecker(left: Index, right: Index) -> Term:
    """δ_ij."""
    return Kronecker((), (left, right))


def zeros(*dims: str) -> Term:
    """The zero array."""
    return Zeros((), dims)


def power_p(base: Term, shift: int = 0) -> Term:
    """base^(p + shift) for the symbolic exponent p."""
    return SymbolicPower((as_term(base),), shift)


def formula(text: str, arg: Term, order: int = 0) -> Term:
    """A user's F(u), or a derivative of it. Raises ValueError for one that is printed as another function,
    where what is left out when it is simplified asks for more than the rest.
    """
    written = parse(text, {"u": _U.scalar})
    shown = {(nf.normal(d.base), d.signs) for d in sg.demands(to_expr(nf.normal(written)))}
    for demand in sg.demands(written):
        if not sg.signs(demand.base) <= demand.signs and (nf.normal(demand.base), demand.signs) not in shown:
            raise ValueError(f"{text} is simplified to what is defined elsewhere too: write it out")
    return Formula((as_term(arg),), (text, order))


def bregman(name: str, u: Term, c: Term) -> Term:
    """D_F(u, c) = F(u) - F(c) - F'(c)(u - c), F by its name. Of positive p and q, D_exp(log q, log p) = p log
    (p/q) - p + q, the summand of their relative entropy. Raises ValueError for a name that no function has.
    """
    if not isinstance(name, str):
        raise TypeError(f"a Bregman difference begins with the name of a function, not with {name!r}")
    check_name(name)
    return Bregman((as_term(u), as_term(c)), name)
