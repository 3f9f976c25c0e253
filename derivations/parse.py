"""A user's own formula as an index expression, read with a whitelist and never evaluated as code."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction

from derivations import index as ix

FUNCTIONS = ("exp", "log", "cosh", "sinh", "tanh", "sqrt")
_LONGEST = 200


class BadExpression(ValueError):
    """The text is not a formula in the allowed language."""


def parse(text: str, names: Mapping[str, ix.Expr], functions: tuple[str, ...] = FUNCTIONS) -> ix.Expr:
    """The formula as an expression in the given names.

    Allowed: numbers (decimals are taken exactly), the names, + - * / and powers with a rational number as
    exponent (written ** or ^), and the functions. Raises BadExpression with what is wrong.
    """
    if len(text) > _LONGEST:
        raise BadExpression(f"longer than {_LONGEST} characters")
    try:
        tree = ast.parse(text.replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadExpression(f"'{text}' does not parse as a formula") from None

    def build(node: ast.AST) -> ix.Expr:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as value):
                return ix.Num(Fraction(value))
            case ast.Constant(value=float() as value) if 1e-30 < abs(value) < 1e30 or value == 0:
                return ix.Num(Fraction(ast.get_source_segment(text.replace("^", "**"), node) or "0"))
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return -build(inner)
            case ast.UnaryOp(op=ast.UAdd(), operand=inner):
                return build(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return build(left) + build(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return build(left) - build(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return build(left) * build(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return build(left) / build(right)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return ix.Pow(build(left), _rational(right))
            case ast.Call(func=ast.Name(id=name), args=[arg], keywords=[]) if name in functions:
                return ix.Pow(build(arg), Fraction(1, 2)) if name == "sqrt" else ix.Call(name, build(arg))
        shown = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        allowed = f"names {', '.join(names)}; functions {', '.join(functions)}"
        raise BadExpression(f"'{shown}' is not allowed here ({allowed}; + - * / ^ with rational exponents)")

    return build(tree.body)


def _rational(node: ast.AST) -> Fraction:
    """A rational exponent. Raises BadExpression for anything else, and for exponents beyond 12."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            result = Fraction(value)
        case ast.Constant(value=float() as value):
            result = Fraction(str(value))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_rational(inner)
        case ast.BinOp(left=left, op=ast.Div(), right=right) if _rational(right):
            result = _rational(left) / _rational(right)
        case _:
            raise BadExpression("an exponent must be a rational number")
    if abs(result) > 12:
        raise BadExpression("exponents beyond 12 are not allowed")
    return result
