"""The order of tokens: causal masks, strict ones, and what a recurrence calls the value before.

``[l < i]`` is an array with fixed values, ``[l ≤ i]`` that and the diagonal. Proofs use that [i < i] = 0,
that a mask is its own square, and that the row before i of [l < i] is its row i less [l = i - 1], also in
exponents at the row before (decays by prefix sums). All else holds for any array in its place.
"""

from __future__ import annotations

from fractions import Fraction

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.gradients import Kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.order import before, is_mask, step
from derivations.calculus.printing import to_expr
from derivations.calculus.second_forms import inside
from derivations.calculus.term import Pick, Term, as_term

_ROUNDS = 4


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
    """The row before that of the index in ``data`` = (index,), 0 before the first."""

    def entry(self, *at: Index) -> ix.Expr:
        (i,) = self.data
        l = i.fresh()
        return ix.Sum(l, ix.Mul((ix.At(step(i.dim), (i, l)), self.args[0].entry(l, *at))))

    def latex(self) -> str:
        return rf"{{{self.args[0].wrapped(4)}}}_{{{self.data[0].latex.strip()}-1}}"


def not_later(l: Index, i: Index) -> Term:
    """[l ≤ i]: the entries of a causal mask."""
    return NotLater((), (l, i))


def earlier(l: Index, i: Index) -> Term:
    """[l < i]."""
    return Earlier((), (l, i))


def previous(array: Term | Tensor, i: Index) -> Term:
    """Row i - 1 of an array, (n, …) -> (…), and 0 where i is 1."""
    return Previous((as_term(array),), (i,))


def occur(*expressions: ix.Expr) -> bool:
    """Whether a mask stands anywhere in them."""
    return any(is_mask(tensor) for expr in expressions for tensor in ix.tensors(expr))


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined; False decides nothing. Raises
    ZeroDivisionError for 1/0.
    """
    return nf.is_zero(_form(one - two))


def _form(expr: ix.Expr) -> nf.Form:
    form = _ordered(nf.normal(inside(expr, _form)))
    for _ in range(_ROUNDS):  # what is summed over the row before leaves another one
        before_it, form = form, _ordered(nf.normal(_shifted(to_expr(form))))
        if form == before_it:
            break
    return form


def _shifted(expr: ix.Expr) -> ix.Expr:
    """The same with exponents beside [t = i - 1] written in i: where that is not 0, [l < t] is [l < i] less
    [l = t], and [l = i - 1] is [l = t]. Where it is, an exponential has a value too, and the product is 0.
    """
    parts = tuple(map(_shifted, ix.children(expr)))
    entries = [p for p in parts if isinstance(p, ix.At) and is_mask(p.tensor)]
    for entry in entries if isinstance(expr, ix.Mul) else ():
        i, t = entry.indices
        if entry.tensor == step(t.dim):
            parts = tuple(_in_exponents(p, i, t) for p in parts)
    return ix.rebuild(expr, parts)


def _in_exponents(factor: ix.Expr, i: Index, t: Index) -> ix.Expr:
    base = factor.base if isinstance(factor, ix.Pow) else factor
    if not (isinstance(base, ix.Call) and base.function == "exp"):
        return factor
    strict, stepped = before(t.dim), step(t.dim)
    rules = {
        strict: lambda k, l: ix.At(strict, (i, l)) - ix.Delta(l, t) if k == t else ix.At(strict, (k, l)),
        stepped: lambda k, l: ix.Delta(l, t) if k == i else ix.At(stepped, (k, l)),
    }
    for mask, rule in rules.items():
        factor = ix.define(factor, mask, rule)
    return factor


def _ordered(form: nf.Form) -> nf.Form:
    """Every monomial by what holds for masks alone."""
    parts = []
    for (dims, height, factors), coefficient in form:
        if any(_mask(a) and a[2][0] == a[2][1] for a, _ in factors):
            continue  # no token is before itself
        once = tuple((a, Fraction(1) if _mask(a) and e > 1 else e) for a, e in factors)
        tokens = tuple(nf.Token("b", (height, n), dim) for n, dim in enumerate(dims))
        pair = next((p for t in tokens if (p := _stepped(once, t))), None)
        if pair is None:
            parts.append(nf.scale(nf.multiplied_out(dims, height, once), coefficient))
            continue
        stepped, mask = pair
        rest = tuple(f for f in once if f[0] not in pair)
        (i, _), (_, l) = stepped[2], mask[2]
        for tensor, sign in ((mask[1], 1), (stepped[1], -1)):
            new = (nf.Kept(("T", tensor, (i, l))), Fraction(1))
            # the index that is gone is summed over nothing: a form would count it
            short = nf.multiplied_out(dims, height, (*rest, new, (("D", i.dim), Fraction(-1))))
            parts.append(_ordered(nf.scale(short, sign * coefficient)))
    return nf.add(*parts)


def _mask(atom: nf.Atom) -> bool:
    return atom[0] == "T" and is_mask(atom[1])


def _stepped(
    factors: tuple[tuple[nf.Atom, Fraction], ...], token: nf.Token
) -> tuple[nf.Atom, nf.Atom] | None:
    """The two factors [t = i - 1] and [l < t] where the token t stands in nothing else."""
    own = [(a, e) for a, e in factors if nf.mentions(a, [token])]
    if len(own) != 2 or any(e != 1 or not _mask(a) for a, e in own):
        return None
    by_tensor = {a[1]: a for a, _ in own}
    stepped, mask = by_tensor.get(step(token.dim)), by_tensor.get(before(token.dim))
    if stepped is None or mask is None or stepped[2][1] != token or mask[2][0] != token:
        return None
    return (stepped, mask) if token not in (stepped[2][0], mask[2][1]) else None
