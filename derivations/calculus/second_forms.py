"""What the second normal forms (of angles, maxima, masks) share."""

from __future__ import annotations

from collections.abc import Callable

from derivations.calculus import index as ix
from derivations.calculus.normal import Form
from derivations.calculus.printing import to_expr


def inside(
    expr: ix.Expr,
    form: Callable[[ix.Expr], Form],
    own: Callable[[ix.Expr], ix.Expr | None] = lambda _: None,
) -> ix.Expr:
    """The expression with what stands in functions, under roots and below fraction bars in the given form;
    ``own`` says what becomes of nodes that have a rule of their own.
    """
    if (changed := own(expr)) is not None:
        return changed
    match expr:
        case ix.Call(function, arg, order):
            return ix.Call(function, to_expr(form(arg)), order)
        case ix.Pow(base, exponent) if exponent < 0 or exponent.denominator > 1:
            return ix.Pow(to_expr(form(base)), exponent)
    return ix.rebuild(expr, tuple(inside(part, form, own) for part in ix.children(expr)))
