"""Exact instances in Rocq's words: values of all symbols, proofs that promises are kept, the point itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import factorial
from typing import Any

from checks.engine.instances import FUNCTIONS, Instance
from checks.kernel.context import DEGREE, PIECES, Context
from checks.kernel.equalities import places
from checks.kernel.theorem import YES, filled, listed
from checks.kernel.trees import Function, NotCovered, plain, plain_dims
from checks.statement import Given
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor

_HIGHEST = 4
"""Of the polynomials that stand for unknown functions in instances."""


def unknown(given: tuple[Given, ...], sides: tuple[ix.Expr, ...]) -> list[Function]:
    """The unknown functions with all derivatives up to the highest that occurs. Raises NotCovered for a known
    function that is written neither by exponentials nor by pieces.
    """
    orders: dict[str, int] = {}
    for expr in (*sides, *(g.value.entry() for g in given)):
        for node in ix.walk(expr):
            if isinstance(node, ix.Call) and node.function != "exp":
                by_exp = node.function in fn.KNOWN and fn.KNOWN[node.function].by_exp and node.order == 0
                if (node.function, node.order) in PIECES:
                    continue
                if not by_exp and not fn.is_unknown(node.function) and node.function not in fn.SYMBOLIC:
                    raise NotCovered(f"an instance with the function {node.function}")
                if not by_exp:
                    orders[node.function] = max(orders.get(node.function, 0), node.order)
    return [(name, n) for name, highest in sorted(orders.items()) for n in range(highest + 1)]


def in_range(n: int, size: int) -> str:
    """An index and the proof that it is in its range."""
    return f"{n}%nat (proj1 (Nat.ltb_lt {n}%nat {size}%nat) eq_refl)"


def kept(context: Context) -> dict[str, str]:
    """The proofs that the point keeps what is promised, by the names of the hypotheses."""
    own = context.symbols
    proofs: dict[str, str] = {}
    for (what, tensor), hypothesis in context.promises.items():
        dims = f"{listed(own.dims.index(d) for d in plain_dims(tensor))}%nat"
        given = next((g for g in context.given if g.tensor == tensor), None)
        scope = tuple(plain(given.at)) if given else places("p", tuple(plain_dims(tensor)))
        entry = ix.At(tensor, given.at) if given else ix.At(tensor, _full(tensor, scope))
        tree = context.deep(entry, scope=scope)
        if what == "symmetric":
            mirrored = context.deep(ix.At(tensor, _full(tensor, scope[::-1])), scope=scope)
            proofs[hypothesis] = f"(point_equal the_point {dims} {tree} {mirrored} {YES})"
        else:
            proofs[hypothesis] = f"(point_{what} the_point {dims} {tree} {YES})"
    return proofs


def _full(tensor: Tensor, scope: tuple[Index, ...]) -> tuple[Index, ...]:
    """Indices for all dimensions of a tensor from those for the dimensions that are not 1."""
    left = iter(scope)
    return tuple(Index("1", "1") if d == "1" else next(left) for d in tensor.dims)


def put_in(context: Context, instance: Instance) -> dict[str, str]:
    """What is put for sizes, tensors and functions, and the proofs that sizes are positive."""
    own = context.symbols
    values = {own.dim(d): f"{instance.sizes[d]}%nat" for d in own.dims}
    for n, d in enumerate(own.dims):
        values[context.sizes[n]] = f"(Nat.lt_0_succ {instance.sizes[d] - 1})"
    for t in context.base:
        values[own.tensor(t)] = f"(array{len(plain_dims(t))} {_array(t, instance)})"
    for f in own.functions:
        if f not in PIECES:
            values[own.function(f)] = f"(poly {polynomial(f, instance)})"
    if DEGREE in context.about:
        values |= _whole(context, instance)
    return values


def _whole(context: Context, instance: Instance) -> dict[str, str]:
    """The exponent as a whole number, and that powers with it are those of the instance."""
    number = int(instance.values[fn.EXPONENT, ()])
    proofs = {
        "whole": f"(Nat.lt_0_succ {number - 1})",
        "number": "ltac:(numbers; lra)",
        "power": "ltac:(intros; cbn [poly pow]; rewrite ?Q2R_0, ?Q2R_1; ring)",
    }
    found = {context.about[DEGREE]: f"{number}%nat"}
    return found | {context.about[w]: p for w, p in proofs.items() if w in context.about}


def _array(t: Tensor, instance: Instance) -> str:
    """The values of a tensor as nested lists of rationals."""
    return nested(t, instance.sizes, lambda at: _rational(instance.lookup(t, at)))


def nested(t: Tensor, sizes: Mapping[str, int], entry: Callable[[tuple[int, ...]], str]) -> str:
    """Nested lists of what a tensor has at its entries; a dimension of 1 has no list."""

    def inner(at: tuple[int, ...], dims: tuple[str, ...]) -> str:
        if not dims:
            return entry(at)
        if dims[0] == "1":
            return inner((*at, 0), dims[1:])
        return listed(inner((*at, n), dims[1:]) for n in range(sizes[dims[0]]))

    return inner((), t.dims)


def looked_up(lists: str, names: list[str], zero: str) -> str:
    """The entry of nested lists at indices of these names; ``zero`` outside."""
    for n, name in enumerate(names):
        lists = f"(nth {name} {lists} {zero if n == len(names) - 1 else '[]'})"
    return lists


def _rational(value: Any) -> str:
    if not isinstance(value, Fraction | int):
        raise NotCovered("an instance with values that are not rational")
    value = Fraction(value)
    return f"({value.numerator} # {value.denominator})%Q"


def differentiable(
    context: Context, functions: Iterable[Function], instance: Instance
) -> tuple[list[str], dict[str, str]]:
    """The lines that say which derivatives functions have, and the proofs, by the names of these hypotheses,
    that the polynomials which stand for them in the instance have them.
    """
    lines, proofs = [], {}
    for f in functions:
        lines.append(context.differentiable(f))
        proofs[context.intros[-1]] = f"(poly_derivable {polynomial(f, instance)})"
    return lines, proofs


def polynomial(function: Function, instance: Instance) -> str:
    """The coefficients of what stands for an unknown function in instances, or of a derivative of it; of a
    power those of the instance's one. Raises NotCovered for an exponent that is too large or none.
    """
    name, order = function
    if name in fn.SYMBOLIC:
        exponent = instance.values.get((fn.EXPONENT, ()))
        if exponent not in range(1, _HIGHEST + 1):
            raise NotCovered("an instance without a small whole exponent")
        own = [Fraction(n == exponent) for n in range(_HIGHEST + 1)]
    else:
        value = FUNCTIONS[name]
        own = [Fraction(value(Fraction(0), n)) / factorial(n) for n in range(_HIGHEST + 1)]
    text = listed(map(_rational, own))
    for _ in range(order):
        text = f"(dpoly {text})"
    return text


def point_line(context: Context, instance: Instance) -> list[str]:
    """The line that names the point."""
    own = context.symbols
    tensors = []
    for t in own.tensors:
        names = [f"at{n}" for n, _ in enumerate(plain_dims(t))]
        value = looked_up(_array(t, instance), names, "(0%Q)")
        tensors.append(f"fun the_entry => match the_entry with {listed(names)} => {value} | _ => 1%Q end")
    sizes = listed(instance.sizes[d] for d in own.dims)
    functions = listed(
        PIECES[f][1] if f in PIECES else f"Poly {polynomial(f, instance)}" for f in own.functions
    )
    point = f"p_dims := {sizes}%nat; p_ten := {listed(tensors)}; p_fn := {functions}"
    return [filled(f"set (the_point := {{| {point} |}}).")]
