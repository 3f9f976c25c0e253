"""The order of tokens: causal masks, strict ones, and what a recurrence calls the value before.

``[l < i]`` is an array with fixed values, ``[l ≤ i]`` that and the diagonal. Proofs use that [i < i] = 0
and [l < i] [i < l] = 0, that [k < l] [l < i] makes [k < i] 1, that a mask is its own square and half of all
pairs but those of the diagonal, that the row before i of [l < i] is its row i less [l = i - 1], that every
row but the first has one before it, and what a mask says of those in exponents beside it, which are decays.
All else holds for any array in its place.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.gradients import Kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.order import before, first, is_mask, step
from derivations.calculus.printing import to_expr
from derivations.calculus.second_forms import inside
from derivations.calculus.term import NonConformable, Pick, Shape, Term, as_term

_ROUNDS = 6
Factors = tuple[tuple[nf.Atom, Fraction], ...]
Exchange = tuple[tuple[nf.Atom, ...], tuple[tuple[tuple[nf.Atom, ...], int], ...]]
"""Factors that go with the index they have, and the products with signs whose sum is there instead."""


class Earlier(Kronecker):
    """1 where the first of the two indices ``data`` is below the second, else 0."""

    def entry(self, *at: Index) -> ix.Expr:
        l, i = self.data
        return ix.At(before(i.dim), (i, l))

    def latex(self) -> str:
        return self._bracket("<")

    def _bracket(self, relation: str) -> str:
        l, i = (index.latex.strip() for index in self.data)
        return rf"\mathbf{{1}}\left[{l} {relation} {i}\right]"


class NotLater(Earlier):
    """1 where the first of the two indices ``data`` is the second or below it, else 0."""

    def entry(self, *at: Index) -> ix.Expr:
        l, i = self.data
        return ix.At(before(i.dim), (i, l)) + ix.Delta(l, i)

    def latex(self) -> str:
        return self._bracket(r"\le")


class Previous(Pick):
    """The row before that of the index in ``data`` = (index,), of the first of ``args``; before the first row
    the second, or 0 where there is none.
    """

    def shape(self) -> Shape:
        shape = super().shape()
        if any(start.shape() != shape for start in self.args[1:]):
            raise NonConformable(f"what stands before the first row has another shape than a row, {shape}")
        return shape

    def entry(self, *at: Index) -> ix.Expr:
        (i,) = self.data
        l = i.fresh()
        before_it = ix.Sum(l, ix.Mul((ix.At(step(i.dim), (i, l)), self.args[0].entry(l, *at))))
        starts = (ix.Mul((ix.At(first(i.dim), (i,)), start.entry(*at))) for start in self.args[1:])
        return ix.Add((before_it, *starts)) if self.args[1:] else before_it

    def latex(self) -> str:
        return rf"{{{self.args[0].wrapped(4)}}}_{{{self.data[0].latex.strip()}-1}}"


def not_later(l: Index, i: Index) -> Term:
    """[l ≤ i]: the entries of a causal mask. Raises ValueError for indices of two ranges."""
    return NotLater((), _in_one_range(l, i))


def earlier(l: Index, i: Index) -> Term:
    """[l < i]. Raises ValueError for indices of two ranges."""
    return Earlier((), _in_one_range(l, i))


def _in_one_range(l: Index, i: Index) -> tuple[Index, Index]:
    if l.dim != i.dim:
        raise ValueError(f"{l.name} and {i.name} run over {l.dim} and {i.dim}: a mask has one range")
    return l, i


def previous(array: Term | Tensor, i: Index, start: Term | Tensor | None = None) -> Term:
    """Row i - 1 of an array, (n, …) -> (…), and ``start`` (…) where i is 1: 0 unless given."""
    return Previous((as_term(array), *(() if start is None else (as_term(start),))), (i,))


def occur(*expressions: ix.Expr) -> bool:
    """Whether a mask stands anywhere in them."""
    return any(is_mask(tensor) for expr in expressions for tensor in ix.tensors(expr))


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined; False decides nothing. Raises
    ZeroDivisionError for 1/0.
    """
    form = _form(one - two)
    return nf.is_zero(form) or nf.is_zero(_form(_turned(to_expr(form))))


def _turned(expr: ix.Expr) -> ix.Expr:
    """The same with [i < l] as 1 - [l < i] - [l = i] for all but one order of two indices that are free, and
    of one that is free and one that is not.
    """
    free = ix.free_indices(expr)
    for dim in {i.dim for i in free}:
        strict = before(dim)

        def turned(k: Index, l: Index, strict: Tensor = strict) -> ix.Expr:
            if l in free and (k not in free or k.name < l.name):
                return 1 - ix.At(strict, (l, k)) - ix.Delta(k, l)
            return ix.At(strict, (k, l))

        expr = ix.define(expr, strict, turned)
    return expr


def _form(expr: ix.Expr) -> nf.Form:
    form = _ordered(nf.normal(inside(expr, _form)))
    for _ in range(_ROUNDS):  # what is summed over the row before leaves another one
        before_it, form = form, _ordered(nf.normal(inside(_beside(to_expr(form)), _form)))
        if form == before_it:
            break
    return form


def _beside(expr: ix.Expr) -> ix.Expr:
    """The same with what a mask says put into the exponents that it is multiplied with: where it is 0, so is
    the product, and an exponential has a value all the same.
    """
    parts = tuple(map(_beside, ix.children(expr)))
    for entry in parts if isinstance(expr, ix.Mul) else ():
        if isinstance(entry, ix.At) and is_mask(entry.tensor):
            parts = tuple(_in_exponents(p, entry) for p in parts)
    return ix.rebuild(expr, parts)


def _in_exponents(factor: ix.Expr, mask: ix.At) -> ix.Expr:
    """A power of an exponential as it is where a mask is 1: [t < i], by which [k < t] [k < i] is [k < t], and
    [t < k] its opposite; or [t = i - 1], by which [l < t] is [l < i] less [l = t], [t < k] is [i ≤ k], and
    [l = i - 1] is [l = t]; or [i = 1], by which nothing is before i.
    """
    base = factor.base if isinstance(factor, ix.Pow) else factor
    if not (isinstance(base, ix.Call) and base.function == "exp") or _may_break(base):
        return factor
    i, t = mask.indices[0], mask.indices[-1]
    strict, stepped = before(t.dim), step(t.dim)
    if mask.tensor == first(t.dim):
        for mask_ in (strict, stepped):
            factor = ix.define(
                factor, mask_, lambda k, l, m=mask_: ix.as_expr(0) if k == i else ix.At(m, (k, l))
            )
        return factor
    outer = ix.free_indices(factor)

    def ordered(k: Index, l: Index) -> ix.Expr:
        if mask.tensor == strict and {k, l} == {i, t}:
            return ix.as_expr(int(k == i))
        if mask.tensor == strict:  # of indices that are summed over inside: others would turn to and fro
            turned = l == t and k not in outer
            return 1 - ix.At(strict, (t, k)) - ix.Delta(k, t) if turned else ix.At(strict, (k, l))
        if k == t:
            return ix.At(strict, (i, l)) - ix.Delta(l, t)
        return 1 - ix.At(strict, (i, k)) if l == t else ix.At(strict, (k, l))

    factor = ix.define(factor, strict, ordered)
    factor = _apart(factor, strict, i, t)
    if mask.tensor == strict:
        return factor
    return ix.define(factor, stepped, lambda k, l: ix.Delta(l, t) if k == i else ix.At(stepped, (k, l)))


def _may_break(expr: ix.Expr) -> bool:
    """Whether a mask or a delta stands where not all values are allowed: below a bar, in a function."""
    partial = (
        n
        for n in ix.walk(expr)
        if (isinstance(n, ix.Call) and n.function != "exp")
        or (isinstance(n, ix.Pow) and (n.exponent < 0 or n.exponent.denominator > 1))
    )
    return any(
        isinstance(m, ix.Delta) or (isinstance(m, ix.At) and is_mask(m.tensor))
        for node in partial
        for m in ix.walk(node)
    )


def _apart(expr: ix.Expr, strict: Tensor, i: Index, t: Index) -> ix.Expr:
    """The same where t < i: the two are not equal, and [k < t] [k < i] is [k < t]."""
    if isinstance(expr, ix.Delta) and {expr.left, expr.right} == {i, t}:
        return ix.as_expr(0)
    if isinstance(expr, ix.Sum) and expr.index in (i, t):
        return expr  # another index of that name
    parts = tuple(_apart(part, strict, i, t) for part in ix.children(expr))
    if isinstance(expr, ix.Mul):
        masks = {p.indices for p in parts if isinstance(p, ix.At) and p.tensor == strict}
        edges = {*masks, (i, t)}
        if _circular(edges):
            return ix.as_expr(0)
        implied = [ix.At(strict, edge) for edge in _implied(edges) & masks]
        parts = tuple(p for p in parts if p not in implied)
    return ix.rebuild(expr, parts)


Edge = tuple[Any, ...]
"""Of two indices the later one, and the one before it."""


def _below(start: Any, edges: set[Edge]) -> set[Any]:
    """What is before an index by some comparisons."""
    found: set[Any] = set()
    todo = {l for i, l in edges if i == start}
    while todo:
        found |= todo
        todo = {l for i, l in edges if i in todo} - found
    return found


def _circular(edges: set[Edge]) -> bool:
    """Whether an index would be before itself."""
    return any(i in _below(i, edges) for i, _ in edges)


def _implied(edges: set[Edge]) -> set[Edge]:
    """The comparisons that others say together, where nothing is before itself."""
    return {(i, l) for i, l in edges if any(l in _below(k, edges) for j, k in edges if j == i)}


def _ordered(form: nf.Form) -> nf.Form:
    """Every monomial by what holds for masks alone."""
    parts = []
    for (dims, height, factors), coefficient in form:
        orders = {a[2] for a, _ in factors if _mask(a)}
        edges = {o for o in orders if len(o) > 1}
        if _circular(edges) or any(o[:1] in orders for o in edges):
            continue  # no token is before itself, by others or not, or before the first
        stepped = {a[2] for a, _ in factors if _mask(a) and a[1] == step(a[2][-1].dim)}
        of_free = {(i, l) for i, _ in edges for l in _below(i, edges) if i.kind == l.kind == "i"}
        said = stepped | (_implied(edges) - of_free)  # between free indices all that holds stands there
        once = tuple(
            (a, Fraction(1) if _mask(a) and e > 1 else e)
            for a, e in factors
            if not (_mask(a) and a[1] == before(a[2][-1].dim) and a[2] in said and e > 0)
        )
        once += tuple(
            (nf.Kept(("T", before(i.dim), (i, l))), Fraction(1)) for i, l in of_free - stepped - edges
        )
        tokens = tuple(nf.Token("b", (height, n), dim) for n, dim in enumerate(dims))
        found = next((p for t in tokens if (p := _stepped(once, t) or _alone(once, t))), None)
        if pair := _pair(once, tokens):
            rest = tuple(f for f in once if f[0] != pair)
            diagonal = (*rest, (("D", pair[2][0].dim), Fraction(-1)))  # an index of nothing counts its range
            for kept, sign in ((rest, 1), (diagonal, -1)):
                half = nf.scale(nf.multiplied_out(dims, height, kept), coefficient * Fraction(sign, 2))
                parts.append(_ordered(half))
            continue
        if found is None:
            parts.append(nf.scale(nf.multiplied_out(dims, height, once), coefficient))
            continue
        gone, instead = found
        rest = tuple(f for f in once if f[0] not in gone)
        for new, sign in instead:
            # the index that is gone is summed over nothing: a form would count it
            count = ("D", gone[0][2][0].dim), Fraction(-1)
            kept = tuple((nf.Kept(a), Fraction(1)) for a in new)
            short = nf.multiplied_out(dims, height, (*rest, *kept, count))
            parts.append(_ordered(nf.scale(short, sign * coefficient)))
    return nf.add(*parts)


def _mask(atom: nf.Atom) -> bool:
    return atom[0] == "T" and is_mask(atom[1])


def _pair(factors: Factors, tokens: tuple[nf.Token, ...]) -> nf.Atom | None:
    """[l < i] where both indices are summed over and stand in nothing else."""
    for atom, exponent in factors:
        if _mask(atom) and atom[1] == before(atom[2][-1].dim) and exponent == 1 and {*atom[2]} <= {*tokens}:
            if not any(nf.mentions(a, atom[2]) for a, _ in factors if a != atom):
                return atom
    return None


def _stepped(factors: Factors, token: nf.Token) -> Exchange | None:
    """[t = i - 1] [l < t], where the token t stands in nothing else, is [l < i] less [l = i - 1]; so is
    [l = t - 1] [t < i].
    """
    own = [(a, e) for a, e in factors if nf.mentions(a, [token])]
    if len(own) != 2 or any(e != 1 or not _mask(a) for a, e in own):
        return None
    by_tensor = {a[1]: a for a, _ in own}
    stepped, mask = by_tensor.get(step(token.dim)), by_tensor.get(before(token.dim))
    if stepped is None or mask is None:
        return None
    if stepped[2][1] == mask[2][0] == token:
        (i, _), (_, l) = stepped[2], mask[2]
    elif stepped[2][0] == mask[2][1] == token:
        (i, _), (_, l) = mask[2], stepped[2]
    else:
        return None
    if token in (i, l):
        return None
    return (stepped, mask), tuple((((("T", a[1], (i, l))),), s) for a, s in ((mask, 1), (stepped, -1)))


def _alone(factors: Factors, token: nf.Token) -> Exchange | None:
    """[t = i - 1], where the token t stands in nothing else, is 1 less [i = 1]."""
    own = [(a, e) for a, e in factors if nf.mentions(a, [token])]
    if len(own) != 1 or own[0][1] != 1:
        return None
    ((atom, _),) = own
    if atom[0] != "T" or atom[1] != step(token.dim) or atom[2][1] != token or atom[2][0] == token:
        return None
    return (atom,), (((), 1), ((("T", first(token.dim), atom[2][:1]),), -1))
