"""What a loss leaves of a dual program: its conjugate, the domain of that, and how both are written."""

from __future__ import annotations

from dataclasses import dataclass

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.conjugates import CONJUGATES, Limit, T, Value, moved, require_conjugate
from derivations.calculus.constraint import Constraint, Raw
from derivations.calculus.index import Expr, Index, Tensor
from derivations.calculus.losses import Charge, Loss, meanings
from derivations.calculus.printing import to_expr
from derivations.calculus.term import Term, as_term, level_of, stack, sum_over


def new_name(name: str, taken: set[str]) -> str:
    """The name, or the name with the first number that is not taken; taken from then on."""
    found = next(n for n in (name, *(f"{name}_{k}" for k in range(1, 999))) if n not in taken)
    taken.add(found)
    return found


class _Normal(Raw):
    """An expression in its normal form, in parentheses only where it needs them."""

    @property
    def level(self) -> int:  # type: ignore[override]
        return level_of(self.latex())


def raw(expr: Expr) -> Term:
    """An expression as a term, in its normal form."""
    return _Normal((), to_expr(nf.normal(expr)))


def _vector(entry: Expr, at: Index) -> Term:
    """The vector with an entry at an index: by its name where it has one."""
    found = to_expr(nf.normal(entry))
    if isinstance(found, ix.At) and found.indices[-1:] == (at,) and at not in found.indices[:-1]:
        own = as_term(found.tensor)
        return own[found.indices[:-1]] if found.indices[:-1] else own
    return stack(at, raw(entry))


def constrained(limit: Limit, over: tuple[Index, ...], inner: Index | None, taken: set[str]) -> Constraint:
    """A limit of the table as a constraint; for each entry of a vector where its index occurs."""
    if inner is not None and inner in ix.free_indices(limit.lhs - limit.rhs):
        over = (*over, inner)
    multiplier = Tensor(new_name(r"\zeta", taken), tuple(i.dim for i in over))
    if limit.norm_of is not None and inner is not None:
        norm = Loss((_vector(limit.norm_of, inner),), "norm")
        return Constraint(norm, raw(limit.rhs), multiplier, over)
    negative = all(coefficient < 0 for _, coefficient in nf.normal(limit.lhs))
    of_sign = negative and not limit.equality and not nf.normal(limit.rhs)
    left = -raw(-limit.lhs) if of_sign else raw(limit.lhs)
    return Constraint(left, as_term(0) if of_sign else raw(limit.rhs), multiplier, over, limit.equality)


@dataclass(frozen=True)
class Conjugate:
    """The conjugate (a f)*(y) of a loss f of ``variable``, for all values of the indices ``over``.

    ``inner`` is the index of a vector's entries, which y leaves free as well; ``least`` what the value is
    minimised over, where the table has it so; ``domain`` where it is finite.
    """

    loss: Loss
    variable: Tensor
    over: tuple[Index, ...]
    inner: Index | None
    factor: Expr
    y: Expr
    value: Value
    least: Tensor
    domain: tuple[Constraint, ...]

    @property
    def auxiliary(self) -> tuple[Tensor, ...]:
        """What else the dual program is over."""
        return (self.least,) if any(self.least in ix.tensors(c.excess()) for c in self.domain) else ()

    def plain(self) -> Expr:
        """What of the conjugate is no loss, summed over all indices."""
        return ix.total(moved(self.value.plain, {T: self.least}, self.over), *self.over)

    def pieces(self) -> list[Term]:
        """The losses that are added up to the conjugate."""
        found = []
        for factor, name, at, parameters in self.value.pieces:
            vector = CONJUGATES[name].vector
            inside = self.inner is not None and not vector and self.inner in ix.free_indices(at)
            z = _vector(at, self.inner) if self.inner is not None and vector else raw(at)
            piece: Term = Loss((z, *map(raw, parameters)), name)
            piece = piece if nf.normal(factor) == nf.ONE else raw(factor) * piece
            found.append(sum_over(self.inner, piece) if self.inner is not None and inside else piece)
        return found

    def added_to(self, objective: Term, sign: int) -> Term:
        """An objective plus (minus) the losses of the conjugate at all indices."""
        for term in self.pieces():
            whole = sum_over(*self.over, term) if self.over else term
            if isinstance(objective, Raw) and not nf.normal(objective.data):
                objective = whole if sign > 0 else -whole
            else:
                objective = objective + whole if sign > 0 else objective - whole
        return objective

    def latex(self) -> str:
        """The supremum, its value, and where it has one."""
        own = as_term(self.variable)
        z = own[self.over] if self.over else own
        at = (*self.over, *((self.inner,) if self.inner is not None else ()))
        product: Term = raw(self.y) * (own[at] if at else own)
        product = sum_over(self.inner, product) if self.inner is not None else product
        charge: Term = Loss((z, *self.loss.args[1:]), self.loss.data)
        charge = charge if nf.normal(self.factor) == nf.ONE else raw(self.factor) * charge
        supremum = rf"\sup_{{{z.latex()}}} \left\{{ {(product - charge).latex()} \right\}}"
        plain = moved(self.value.plain, {T: self.least}, self.over)
        first, *more = [*([raw(plain)] if nf.normal(plain) else []), *self.pieces()] or [as_term(0)]
        value = sum(more, first).latex()
        limits = r",\ ".join(c.spanned(len(self.over)) for c in self.domain)
        if self.auxiliary:
            return rf"{supremum} = \min \left\{{ {value} : {limits} \right\}}"
        if limits:
            rows = rf"{value} & \text{{if }} {limits} \\ +\infty & \text{{otherwise}}"
            value = rf"\begin{{cases}} {rows} \end{{cases}}"
        if self.loss.data == "simplex_entropy":  # which no program need have written
            value += rf",\quad {meanings(self.loss)[0]}"
        return rf"{supremum} = {value}"

    def solution(self) -> Expr | None:
        """The entry of the variable that attains the supremum, where it is the only one."""
        slope = CONJUGATES[self.loss.data].slope
        parameters = (p.entry() for p in self.loss.args[1:])
        return slope(self.y, self.factor, self.inner, *parameters) if slope else None


def conjugate(charge: Charge, at: tuple[Index, ...], y: Expr, taken: set[str]) -> Conjugate:
    """The conjugate of a charged loss of a variable alone, at y with the indices ``at`` of the variable's
    entries. Raises ArithmeticError where the table fails its check.
    """
    variable, picked = charge.own()
    entry, over = require_conjugate(charge.loss.data), at[: len(picked)]
    inner = at[len(picked)] if entry.vector else None
    rename = dict(zip(picked, over, strict=True))
    parameters = [ix.rename(p.entry(), rename) for p in charge.loss.args[1:]]
    loss = Loss((charge.loss.args[0], *map(raw, parameters)), charge.loss.data)
    factor = ix.rename(charge.factor, rename)
    value = entry.conjugate(y, factor, inner, *parameters)
    least = Tensor(new_name("t", taken), tuple(i.dim for i in over))
    domain = tuple(constrained(m.moved({T: least}, over), over, inner, taken) for m in value.limits)
    return Conjugate(loss, variable, over, inner, factor, y, value, least, domain)


def on_simplex(
    charges: tuple[Charge, ...], constraints: tuple[Constraint, ...]
) -> tuple[tuple[Charge, ...], tuple[Constraint, ...]]:
    """The charges, with Σ_j p_j log p_j and Σ_j p_j = 1 as one loss, the entropy on the simplex; and the
    constraints that this loss implies.
    """
    found, kept = [], []
    for charge in charges:
        own = charge.own() if charge.loss.data == "entropy" else None
        if own and own[1] and (implied := _simplex(charge, *own, constraints)):
            tensor, at = own
            rows = as_term(tensor)[at[:-1]] if at[1:] else as_term(tensor)
            charge = Charge(Loss((rows,), "simplex_entropy"), charge.factor, at[:-1])
            kept += implied
        found.append(charge)
    return tuple(found), tuple(kept)


def _simplex(
    charge: Charge, tensor: Tensor, at: tuple[Index, ...], constraints: tuple[Constraint, ...]
) -> list[Constraint]:
    """The constraints that keep every row of a tensor on the simplex; none where Σ = 1 is not among them or
    the factor of the charge changes along the row.
    """
    total, signs = [], []
    for c in constraints:
        rows = tuple(i.dim for i in c.over)
        if c.equality and rows == tensor.dims[:-1]:
            last = at[-1].fresh()
            left = ix.Sum(last, ix.At(tensor, (*c.over, last))) - 1
            total += [c] if nf.equal(c.excess(), left) or nf.equal(c.excess(), -left) else []
        elif not c.equality and rows == tensor.dims:
            signs += [c] if nf.equal(c.excess(), -ix.At(tensor, c.over)) else []
    return total[:1] + signs if total and at[-1] not in ix.free_indices(charge.factor) else []
