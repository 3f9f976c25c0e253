"""The larger of two numbers, by the ramp: max(a, b) = b + relu(a - b); exact instances evaluate it by signs.

A second normal form for ramps and absolute values: relu(cu) = c relu(u) for c > 0, relu(-u) = relu(u) - u,
|u| = 2 relu(u) - u, relu(u)² = u relu(u), relu(u) = u where u is visibly nonnegative, 0 where -u is. These
hold for all real u.
"""

from __future__ import annotations

from fractions import Fraction

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.index import Index
from derivations.calculus.printing import to_expr
from derivations.calculus.second_forms import inside
from derivations.calculus.signs import nonnegative
from derivations.calculus.term import NonConformable, Shape, Term, as_term, show_shapes


class Maximum(Term):
    """The larger of two numbers, or of the entries of two arrays."""

    level = 3

    def shape(self) -> Shape:
        shapes = [a.shape() for a in self.args]
        if shapes[0] != shapes[1]:
            raise NonConformable(f"the maximum of objects of shapes {show_shapes(shapes)}")
        return shapes[0]

    def entry(self, *at: Index) -> ix.Expr:
        one, two = (a.entry(*at) for a in self.args)
        return two + ix.Call("relu", one - two)

    def latex(self) -> str:
        return rf"\max\left({self.args[0].latex()}, {self.args[1].latex()}\right)"


def maximum(one: object, two: object) -> Term:
    """max(a, b) of two scalars, or entry by entry."""
    return Maximum((as_term(one), as_term(two)))


def occur(*expressions: ix.Expr) -> bool:
    """Whether a ramp or an absolute value stands anywhere in them."""
    return any(_is_piece(node) for expr in expressions for node in ix.walk(expr))


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined; False decides nothing. Raises
    ZeroDivisionError for 1/0.
    """
    return nf.is_zero(nf.add(_form(one), nf.scale(_form(two), -1)))


def _is_piece(node: ix.Expr) -> bool:
    return isinstance(node, ix.Call) and node.function in ("relu", "abs") and node.order == 0


def _form(expr: ix.Expr) -> nf.Form:
    return _squares(nf.normal(inside(expr, _form, _upright)))


def _upright(node: ix.Expr) -> ix.Expr | None:
    """A ramp as that of a form whose first coefficient is 1."""
    if not isinstance(node, ix.Call) or not _is_piece(node):
        return None
    return _ramp(_form(node.arg), node.function)


def _ramp(form: nf.Form, function: str) -> ix.Expr:
    if nonnegative(to_expr(form)):
        return to_expr(form)
    if nonnegative(opposite := to_expr(nf.scale(form, -1))):
        return opposite if function == "abs" else to_expr(nf.ZERO)
    first = form[0][1]
    scaled = nf.scale(form, 1 / abs(first))
    upright = to_expr(nf.scale(scaled, 1 if first > 0 else -1))
    ramp = ix.Call("relu", upright)
    if function == "abs":
        return abs(first) * (2 * ramp - upright)
    return abs(first) * (ramp if first > 0 else ramp - upright)


def _squares(form: nf.Form) -> nf.Form:
    """relu(u)² = u relu(u) wherever a ramp stands to a power in a monomial."""
    parts = []
    for (dims, height, factors), coefficient in form:
        changed: list[tuple[nf.Atom, Fraction]] = []
        for atom, exponent in factors:
            if atom[:3] == ("C", "relu", 0) and exponent > 1 and exponent.denominator == 1:
                changed.append((nf.Kept(("P", atom[3])), exponent - 1))
                exponent = Fraction(1)
            changed.append((atom, exponent))
        parts.append(nf.scale(nf.multiplied_out(dims, height, changed), coefficient))
    return nf.add(*parts)
