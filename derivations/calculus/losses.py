"""Losses of the table of conjugates as terms, and objectives taken apart into losses and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.conjugates import CONJUGATES, Entry
from derivations.calculus.differentiate import gradient
from derivations.calculus.documented import allows
from derivations.calculus.index import Expr, Index, Tensor
from derivations.calculus.printing import to_expr
from derivations.calculus.term import (
    Apply,
    Neg,
    NonConformable,
    Pick,
    Power,
    Product,
    Shape,
    SquaredNorm,
    Stack,
    Sum_,
    SumOver,
    Symbol,
    Term,
    as_term,
    replace_at,
    symbols,
)
from derivations.calculus.unicode import unicode_math


class Loss(Term):
    """An entry of the table (``data`` names it) at a number or a vector, the first of ``args``; the others
    are its parameters.
    """

    @property
    def level(self) -> int:  # type: ignore[override]
        return self.listed.level

    @property
    def takes_in(self) -> bool:  # type: ignore[override]
        return self.listed.takes_in

    @property
    def listed(self) -> Entry:
        """Its entry of the table."""
        return CONJUGATES[self.data]

    def shape(self) -> Shape:
        """A number. Raises NonConformable for an argument that is not what the entry takes."""
        first, *others = (a.shape() for a in self.args)
        if len(first) != self.listed.vector or any(others):
            raise NonConformable(f"{self.data} takes a {'vector' if self.listed.vector else 'number'}")
        return ()

    def entry(self, *at: Index) -> Expr:
        self.shape()
        i, z = self.argument()
        return self.listed.value(z, i, *(p.entry() for p in self.args[1:]))

    def argument(self) -> tuple[Index | None, Expr]:
        """The argument, of a vector its entry at the index that comes with it."""
        if not self.listed.vector:
            return None, self.args[0].entry()
        i = Index("m", self.args[0].shape()[0]).fresh()
        return i, self.args[0].entry(i)

    def latex(self) -> str:
        return self.listed.latex(*self.args)


def meanings(term: Term) -> list[str]:
    """What the notation of the losses in a term stands for."""
    found = (part.listed.meaning(*part.args[1:]) for _, part in losses(term) if part.listed.meaning)
    return list(dict.fromkeys(found))


def _called(entry: Entry) -> str:
    """How a loss is called, with what it takes, and the formula that it is."""
    parameters = [f"p{n}" for n, _ in enumerate(entry.samples, 1)]
    taken = ["vector" if entry.vector else "z", *parameters]
    z = as_term(Tensor("z", ("N",) if entry.vector else ()))
    formula = unicode_math(entry.latex(z, *(as_term(Tensor(p)) for p in parameters)))
    return f"{entry.name} ({', '.join(taken)}): {formula}"


@allows(name=(_called(entry) for entry in CONJUGATES.values()))
def loss(name: str, z: Any, *parameters: Any) -> Term:
    """The loss of that name in the table of conjugates, of a number or a vector z. Raises ValueError for
    another name or number of parameters.
    """
    if name not in CONJUGATES:
        raise ValueError(f"no loss {name!r}: the table has {', '.join(CONJUGATES)}")
    if len(parameters) != len(CONJUGATES[name].samples):
        raise ValueError(f"{name} takes {len(CONJUGATES[name].samples)} parameter(s)")
    return Loss(tuple(map(as_term, (z, *parameters))), name)


def losses(term: Term, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Loss]]:
    """The losses that a term prints, with their paths; none inside another, and none inside what does more
    with it than its entries show, such as a value put for a variable.
    """
    if isinstance(term, Loss):
        yield path, term
    elif _printed(term):
        for n, arg in enumerate(term.args):
            yield from losses(arg, (*path, n))


def _printed(term: Term) -> bool:
    """Whether a term is an operation of printed formulas: its entries are made of those of its arguments."""
    return type(term).__module__ == Term.__module__


def recognised(term: Term, variables: tuple[Tensor, ...]) -> Term:
    """The term with losses of the table in the place of what says the same of the variables: |z|, max(z, 0),
    exp z, z log z, log(1 + exp z), log Σ exp z and the norm of a vector.
    """
    if isinstance(term, Loss) or not _printed(term) or not symbols(term) & set(variables):
        return term
    if (found := _recognised(term)) is not None:
        return found
    return replace(term, args=tuple(recognised(a, variables) for a in term.args))


def _recognised(term: Term) -> Term | None:
    if isinstance(term, Power) and term.data == Fraction(1, 2) and isinstance(term.args[0], SquaredNorm):
        return Loss(term.args[0].args, "norm") if len(term.args[0].args[0].shape()) == 1 else None
    if isinstance(term, Product):
        factors = _factors(term)
        for log in factors:
            if _is(log, "log") and log.args[0] in factors:
                rest = [f for f in factors if f is not log]
                rest.remove(log.args[0])
                return reduce(lambda a, b: Product((a, b)), [*rest, Loss(log.args, "entropy")])
        return None
    if not isinstance(term, Apply) or term.data[2] or term.args[0].shape():
        return None
    (z,), name = term.args, term.data[0]
    if name != "log":
        names = {"abs": "absolute", "relu": "relu", "exp": "exponential"}
        return Loss((z,), names[name]) if name in names else None
    if isinstance(z, SumOver) and _is(z.args[0], "exp"):
        return Loss((Stack(z.args[0].args, z.data),), "log_sum_exp")
    if isinstance(z, Sum_) and len(z.args) == 2 and as_term(1) in z.args:
        (other,) = [a for a in z.args if a != as_term(1)] or [as_term(1)]
        if _is(other, "exp"):
            inner = other.args[0]
            return Loss((inner.args[0] if isinstance(inner, Neg) else -inner,), "logistic")
    return None


def _is(term: Term, name: str) -> bool:
    return isinstance(term, Apply) and term.data[0] == name and term.data[2] == 0 and not term.args[0].shape()


def _factors(term: Term) -> list[Term]:
    return [f for a in term.args for f in _factors(a)] if isinstance(term, Product) else [term]


def without_losses(term: Term) -> Iterator[Term]:
    """What a term asks to be defined besides the domains of its losses: itself with zeros in their place, and
    their arguments.
    """
    for path, part in losses(term):
        term = replace_at(term, path, as_term(0))
        yield from part.args
    yield term


@dataclass(frozen=True)
class Charge:
    """A loss in an objective, with its positive factor, at the indices ``over``."""

    loss: Loss
    factor: Expr
    over: tuple[Index, ...]

    def variable(self) -> tuple[Tensor, tuple[Index, ...]] | None:
        """The tensor whose every entry (or row) is charged, and the indices of the entry (or row); None where
        the argument is something else.
        """
        inner = self.loss.args[0]
        picked = inner.data if isinstance(inner, Pick) else ()
        inner = inner.args[0] if isinstance(inner, Pick) else inner
        if not isinstance(inner, Symbol) or len(set(picked)) < len(picked) or set(picked) != set(self.over):
            return None
        return inner.data, picked

    def own(self) -> tuple[Tensor, tuple[Index, ...]]:
        """The same. Raises ValueError where there is none."""
        if (found := self.variable()) is None:
            raise ValueError(f"the loss {self.loss.data} is not of a variable alone")
        return found


@dataclass(frozen=True)
class Parted:
    """An objective as ``rest`` plus charges; ``refused`` says why it is none, or "" ."""

    rest: Expr
    charges: tuple[Charge, ...]
    refused: str = ""


def parted(objective: Term, variables: tuple[Tensor, ...], maximise: bool) -> Parted:
    """An objective taken apart. Its losses must stand in it linearly, with factors that are visibly positive
    (of a maximisation: negative), at arguments that are affine in the variables, with parameters in range.
    """
    charged, marks = objective, []
    for n, (path, part) in enumerate(losses(objective)):
        over = tuple(sorted(ix.free_indices(part.entry()), key=lambda i: i.name))
        mark = Tensor(f"loss {n}", tuple(i.dim for i in over))
        marks.append((mark, part, over))
        charged = replace_at(charged, path, as_term(mark)[over] if over else as_term(mark))
    whole = rest = charged.entry()
    for mark, _, _ in marks:
        rest = ix.define(rest, mark, lambda *_: ix.as_expr(0))
    charges, wrong = [], ""
    if marks and ix.free_indices(whole):
        wrong = "an index stands in the objective that nothing explains"
    for mark, part, over in marks:
        at = tuple(i.fresh() for i in over)
        slope = gradient(whole, mark, at, zero_because="a loss may cancel: no factor is positive then")
        slope = to_expr(nf.normal(ix.rename(slope, dict(zip(at, over, strict=True)))))
        charges.append(Charge(part, -slope if maximise else slope, over))
        unfit = {*variables, *(m for m, _, _ in marks)} & ix.tensors(slope)
        if unfit or not sg.positive(charges[-1].factor):
            wrong = f"the factor of the loss {part.data} is not shown to be {'<' if maximise else '>'} 0"
        wrong = wrong or _unfit(part, variables)
    return Parted(rest, tuple(charges), wrong)


def degree_in(mono: nf.Mono, variables: tuple[Tensor, ...]) -> Fraction:
    """The degree of a monomial in the variables; 99 or more where one stands in a function, root or
    denominator.
    """
    degree = Fraction(0)
    for atom, exponent in mono[2]:
        if atom[0] == "T" and atom[1] in variables:
            degree += exponent if exponent > 0 and exponent.denominator == 1 else Fraction(99)
        elif atom[0] in ("C", "P") and any(
            t in variables for t in ix.tensors(to_expr(((((), 0, ((atom, Fraction(1)),)), Fraction(1)),)))
        ):
            degree += 99
    return degree


def _unfit(loss: Loss, variables: tuple[Tensor, ...]) -> str:
    """Why a loss is not convex in the variables, or ""."""
    parameters = [p.entry() for p in loss.args[1:]]
    _, z = loss.argument()
    if any(degree_in(mono, variables) > 1 for mono, _ in nf.normal(z)) or any(
        ix.tensors(d.base) & set(variables) for d in sg.demands(z)
    ):
        return f"the argument of the loss {loss.data} is not affine in the variables"
    if any(ix.tensors(p) & set(variables) for p in parameters) or any(
        not sg.signs(expr) <= signs for expr, signs in loss.listed.requires(*parameters)
    ):
        return f"the parameters of the loss {loss.data} are not shown to be in its range"
    return ""
