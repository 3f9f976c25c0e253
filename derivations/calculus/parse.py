"""A user's own formula as an index expression, read with a whitelist and never evaluated as code."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from fractions import Fraction
from math import comb

from derivations.calculus import index as ix
from derivations.calculus import normal as nf

FUNCTIONS = ("exp", "log", "cosh", "sinh", "tanh", "sqrt")
_LONGEST = 200
_DEGREE, _TERMS, _BITS = (
    12,
    100,
    4096,
)  # of what the formula multiplies out to: beyond them a derivation does not end
_INSIDE = 16  # bits of numbers inside a function: exp(1e5*u) is a power of exp(u), whose roots are looked for


class BadExpression(ValueError):
    """The text is not a formula in the allowed language."""


def parse(text: str, names: Mapping[str, ix.Expr], functions: tuple[str, ...] = FUNCTIONS) -> ix.Expr:
    """The formula as an expression in the given names.

    Allowed: numbers (decimals are taken exactly), the names, + - * / and powers with a rational number as
    exponent (written ** or ^), and the functions. Raises BadExpression with what is wrong: also for a formula
    that is defined nowhere, such as 1/(x - x), or that multiplies out to more than can be derived with.
    """
    places = {name: ix.Tensor(f"place of {name}") for name in names}
    expr = _read(text, {name: place.scalar for name, place in places.items()}, functions)
    _small(expr)
    _somewhere_defined(expr)
    for name, place in places.items():
        expr = ix.define(expr, place, lambda name=name: names[name])
    return expr


def printed(text: str) -> str:
    """The formula as it is stored and shown: written anew from what was read, without spaces.

    It reads as the same formula. Raises BadExpression for a text that does not parse, or gets too long.
    """
    text, tree = _tree(text)
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.Constant) and isinstance(value.value, float):  # all of its digits
                digits = ast.get_source_segment(text, value) or "0"
                setattr(node, name, ast.Name(digits.replace("_", "")))
    shown = ast.unparse(tree).replace(" ", "").replace("**", "^")
    if len(shown) > _LONGEST:
        raise BadExpression(f"longer than {_LONGEST} characters once it is printed again")
    return shown


def _read(text: str, names: Mapping[str, ix.Expr], functions: tuple[str, ...]) -> ix.Expr:
    text, tree = _tree(text)

    def build(node: ast.AST) -> ix.Expr:
        match node:
            case ast.Constant(value=bool()):
                pass
            case ast.Constant(value=int() as value):
                return ix.Num(Fraction(value))
            case ast.Constant(value=float() as value) if 1e-30 < value < 1e30:
                return ix.Num(_exactly(text, node))
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
                return ix.Pow(build(left), _rational(text, right))
            case ast.Call(func=ast.Name(id=name), args=[arg], keywords=[]) if name in functions:
                return ix.Pow(build(arg), Fraction(1, 2)) if name == "sqrt" else ix.Call(name, build(arg))
        shown = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        allowed = f"names {', '.join(names)}; functions {', '.join(functions)}"
        raise BadExpression(f"'{shown}' is not allowed here ({allowed}; + - * / ^ with rational exponents)")

    return build(tree.body)


def _tree(text: str) -> tuple[str, ast.Expression]:
    """The text with Python's sign for powers, and how Python reads it. Raises BadExpression."""
    if len(text) > _LONGEST:
        raise BadExpression(f"longer than {_LONGEST} characters")
    text = text.strip().replace("^", "**")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's remarks on the text are not ours
            tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise BadExpression(f"'{text}' does not parse as a formula") from None
    return text, tree


def _exactly(text: str, node: ast.AST) -> Fraction:
    """A decimal number with all of its digits, of which Python's float keeps seventeen."""
    return Fraction(ast.get_source_segment(text, node) or "0")


def _rational(text: str, node: ast.AST) -> Fraction:
    """A rational exponent. Raises BadExpression for anything else, and for exponents beyond 12."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            result = Fraction(value)
        case ast.Constant(value=float() as value) if 1e-30 < value < 1e30:
            result = _exactly(text, node)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_rational(text, inner)
        case ast.BinOp(left=left, op=ast.Div(), right=right) if below := _rational(text, right):
            result = _rational(text, left) / below
        case _:
            raise BadExpression("an exponent must be a rational number")
    if abs(result) > 12:
        raise BadExpression("exponents beyond 12 are not allowed")
    return result


def _small(expr: ix.Expr) -> tuple[Fraction, int, int]:
    """Degree, number of terms and bits of the numbers after multiplying out; BadExpression beyond the
    limits.
    """
    parts = [_small(part) for part in ix.children(expr)]
    degree, terms, bits = Fraction(1), 1, 1
    if isinstance(expr, ix.Call) and parts[0][2] > _INSIDE:
        raise BadExpression(f"numbers of {parts[0][2]} bits inside a function; allowed are {_INSIDE}")
    match expr:
        case ix.Num(value):
            degree, bits = Fraction(0), max(value.numerator.bit_length(), value.denominator.bit_length())
        case ix.Add():
            degree, terms, bits = max(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)
        case ix.Mul():
            degree, bits = sum((p[0] for p in parts), Fraction(0)), sum(p[2] for p in parts)
            for p in parts:
                terms *= p[1]
        case ix.Pow(_, exponent):
            degree, bits = abs(exponent) * parts[0][0], int(abs(exponent) * parts[0][2]) + 1
            if exponent > 1 and exponent.denominator == 1:
                terms = comb(parts[0][1] + int(exponent) - 1, int(exponent))
    if degree > _DEGREE or terms > _TERMS or bits > _BITS:
        raise BadExpression(
            f"multiplies out to too much (degree {degree}, {terms} terms, numbers of {bits} bits; allowed "
            f"are {_DEGREE}, "
            f"{_TERMS} and {_BITS})"
        )
    return degree, terms, bits


def _somewhere_defined(expr: ix.Expr) -> None:
    """Raise BadExpression where the formula divides by zero, or takes a root or logarithm of a constant
    that has none.
    """
    try:
        nf.normal(expr)
    except ZeroDivisionError:
        raise BadExpression("divides by zero") from None
    for node in ix.walk(expr):
        inner = node.base if isinstance(node, ix.Pow) and node.exponent.denominator > 1 else None
        if isinstance(node, ix.Call) and node.function == "log":
            inner = node.arg
        if inner is None:
            continue
        form = nf.normal(inner)
        constant = not form or (len(form) == 1 and form[0][0] == nf.ONE[0][0])
        value = form[0][1] if form else 0
        if constant and (value < 0 or (value == 0 and isinstance(node, ix.Call))):
            raise BadExpression(f"a root or logarithm of {value}")
