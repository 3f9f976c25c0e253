"""Wrong versions of a formula, made from the formula itself: what every engine must reject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from derivations.calculus.index import Index, Tensor
from derivations.calculus.masks import NotLater, earlier
from derivations.calculus.maxima import Maximum
from derivations.calculus.term import (
    Apply,
    Frac,
    MatMul,
    Neg,
    NonConformable,
    Number,
    Pick,
    Power,
    Product,
    RowSoftmax,
    Softmax,
    Stack,
    Sum_,
    SumOver,
    Symbol,
    Term,
    Transpose,
    as_term,
    exp,
    free,
    replace_at,
    subterms,
    symbols,
)


def mutants(term: Term, limit: int = 40, whole: bool = False) -> list[tuple[str, Term]]:
    """Up to ``limit`` mutants with a description each, spread over the formula; only well-shaped ones.

    Sign flips, dropped and doubled terms, changed indices, lost transposes, dropped normalisers, scaled
    constants, swapped symbols. ``whole`` adds the formula negated and doubled: for a side of an equality, not
    for a fact about the sign or the zeros of one formula, which says the same of its double.
    """
    found: dict[Term, str] = {}
    if whole:
        found = {Neg((term,)): "the whole negated", Product((as_term(2), term)): "the whole doubled"}
    want = term.shape()
    for path, node in subterms(term):
        scope = _scope(term, path)
        for what, new in _changes(node, scope, symbols(term)):
            candidate = replace_at(term, path, new)
            try:
                good = (
                    candidate.shape() == want
                    and new.shape() == node.shape()
                    and free(candidate) == free(term)
                )
            except NonConformable:
                continue
            if good and candidate != term:
                found.setdefault(candidate, what)
    listed = [(what, candidate) for candidate, what in found.items()]
    if len(listed) <= limit:
        return listed
    stride = len(listed) / limit
    return [listed[int(n * stride)] for n in range(limit)]


def _scope(term: Term, path: tuple[int, ...]) -> set[Index]:
    """The indices that are bound above a subterm, or used anywhere in it."""
    found: set[Index] = set()
    for step in range(len(path) + 1):
        node = term
        for n in path[:step]:
            node = node.args[n]
        if isinstance(node, (SumOver, Stack, Softmax)):
            found.add(node.data)
        if isinstance(node, Pick):
            found |= set(node.data)
    bound = _bound(term)
    for _, node in subterms(term):
        if isinstance(node, Pick):
            found |= {i for i in node.data if i not in bound}
    return found


def _bound(term: Term) -> set[Index]:
    return {n.data for _, n in subterms(term) if isinstance(n, (SumOver, Stack, Softmax))}


def _changes(node: Term, scope: set[Index], names: set[Tensor]) -> Iterator[tuple[str, Term]]:
    match node:
        case Sum_(args):
            for n, arg in enumerate(args):
                flipped = arg.args[0] if isinstance(arg, Neg) else Neg((arg,))
                yield (
                    f"sign of term {n + 1} flipped",
                    replace(node, args=(*args[:n], flipped, *args[n + 1 :])),
                )
                rest = (*args[:n], *args[n + 1 :])
                yield f"term {n + 1} dropped", rest[0] if len(rest) == 1 else replace(node, args=rest)
        case Frac(args):
            yield "denominator dropped", args[0]
            yield "fraction doubled", Product((as_term(2), node))
        case Softmax(args):
            yield "softmax without its normaliser", exp(args[0])
            for other in sorted(scope, key=lambda i: i.name):
                if other.dim == node.data.dim and other != node.data:
                    yield f"softmax over {other.name} instead", replace(node, data=other)
        case RowSoftmax(args):
            yield "row softmax without its normaliser", exp(args[0])
            yield "softmax of the columns", Transpose((RowSoftmax((Transpose(args),)),))
        case Neg(args):
            yield "minus sign lost", args[0]
        case Number():
            yield "constant plus one", Number((), node.data + 1)
        case Power() if node.data != Fraction(1, 2):
            yield "exponent plus one", replace(node, data=node.data + 1)
        case Power(args):
            yield "root dropped", args[0]
        case Transpose(args):
            yield "transpose lost", args[0]
        case MatMul(args):
            yield "factors swapped", MatMul((args[1], args[0]))
        case Pick():
            yield from _other_indices(node, scope)
        case Maximum(args):
            yield "the first instead of the maximum", args[0]
            yield "the second instead of the maximum", args[1]
        case NotLater():
            yield "the mask without its diagonal", earlier(*node.data)
            yield "the mask turned around", replace(node, data=node.data[::-1])
        case SumOver(args):
            yield "sum doubled", Product((as_term(2), node))
        case Apply(args):
            yield "negative argument", replace(node, args=(Neg((args[0],)),))
    if isinstance(node, Symbol):
        for tensor in sorted(names, key=lambda t: t.name):
            if tensor != node.data and tensor.dims == node.data.dims:
                yield f"{node.data.name} replaced by {tensor.name}", Symbol((), tensor)


def _other_indices(node: Pick, scope: set[Index]) -> Iterator[tuple[str, Term]]:
    for n, index in enumerate(node.data):
        for other in sorted(scope, key=lambda i: i.name):
            if other.dim == index.dim and other != index:
                at = (*node.data[:n], other, *node.data[n + 1 :])
                yield f"index {index.name} replaced by {other.name}", replace(node, data=at)
