"""Theorems about derivatives: Rocq's ``derivable_pt_lim`` of the formula itself, entry by entry.

A gradient that a statement prints is a derivative of the real function, so that our differentiation need not
be believed; a stationary point is one where that derivative is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from checks.engine.notation import all_terms
from checks.kernel.context import Context
from checks.kernel.equalities import places
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, conjunction, filled, listed
from checks.kernel.trees import Function, NotCovered, plain, plain_dims
from checks.kinds.stationary import Stationary
from checks.statement import Given, Identity
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus.differentiate import gradient
from derivations.calculus.gradients import Differential, Gradient, at_point, grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Pick, Term, as_term

ZERO = ix.Num(Fraction(0))


def derivatives(name: str, statement: Any) -> list[Theorem]:
    """A theorem for every derivative that a statement prints. Raises NotCovered."""
    given, nonzero = getattr(statement, "given", ()), getattr(statement, "nonzero", ())
    printed = list(dict.fromkeys(_printed(statement)))
    return [_printed_one(f"{name}_derivative{n}", t, given, nonzero) for n, t in enumerate(printed, 1)]


def _printed(statement: Any) -> Iterator[Term]:
    for term in all_terms(statement):
        if isinstance(term, Gradient | Differential):
            yield type(term)((), (*term.data[:-1], ""))  # whatever name it is printed under


def _printed_one(name: str, term: Term, given: tuple[Given, ...], nonzero: tuple[Tensor, ...]) -> Theorem:
    if isinstance(term, Gradient):
        energy, tensor, _ = term.data
        at = places("d", tensor.dims)
        return slope(name, energy, tensor, at, term.entry(*at), given, nonzero)[0]
    inner, tensor, direction, _ = term.data
    at = places("e", inner.shape())
    t = Tensor("t#", ())
    moved = at_point(inner, tensor, as_term(tensor) + as_term(t) * as_term(direction))
    moved = moved[at] if at else moved
    start = Given(t, (), as_term(0), "the start of the line")
    formula = gradient(moved.entry(), t, ())
    value = term[at] if at else term
    return slope(name, moved, t, (), formula, (*given, start), nonzero, at, value=value)[0]


def joined(name: str, statement: Identity) -> list[Theorem]:
    """The theorem that a gradient is what it is said to be, where one side of an equality is one or picked
    from one.
    """
    for side, other in ((statement.lhs, statement.rhs), (statement.rhs, statement.lhs)):
        whole, at = picked(side)
        if isinstance(whole, Gradient):
            energy, tensor, _ = whole.data
            more = places("d", tensor.dims[len(at) :])
            own = (statement.given, statement.nonzero)
            every, value = (*at, *more), other[more] if more else other
            formula = whole.entry(*every)
            return [slope(f"{name}_gradient", energy, tensor, every, formula, *own, value=value)[0]]
    return []


def picked(term: Term) -> tuple[Term, tuple[Index, ...]]:
    """The object that an entry or a row is picked from, and where."""
    at: tuple[Index, ...] = ()
    while isinstance(term, Pick):
        term, at = term.args[0], (*term.data, *at)
    return term, at


def stationary(name: str, s: Stationary) -> list[Theorem]:
    """The derivative by every entry vanishes at the point. Raises NotCovered."""
    if s.variable.positive or s.variable.symmetric:
        raise NotCovered("a stationary point of a variable with a promise")
    nonzero = tuple(t for t in s.nonzero if t != s.variable)
    at = places("d", s.variable.dims)
    formula = grad(s.energy, s.variable).entry(*at)
    given = (*s.given, point_of(s))
    return [slope(name, s.energy, s.variable, at, formula, given, nonzero, value=as_term(0))[0]]


def point_of(s: Stationary) -> Given:
    """The point as a definition of the variable."""
    own = places("z", s.variable.dims)
    return Given(s.variable, own, s.point[own] if own else s.point, "the point")


def slope(
    name: str,
    energy: Term,
    tensor: Tensor,
    at: tuple[Index, ...],
    formula: ix.Expr,
    given: tuple[Given, ...],
    nonzero: tuple[Tensor, ...],
    first: tuple[Index, ...] = (),
    value: Term | None = None,
) -> tuple[Theorem, Context]:
    """The derivative of ``energy`` by ``tensor[at]`` is ``formula``, and ``value`` under definitions; and the
    context of that theorem.

    A definition of the tensor itself is the point at which the derivative is taken.
    """
    fixed = any(g.tensor == tensor for g in given)
    entry = energy.entry()
    exprs = (entry, formula) if value is None else (entry, formula, value.entry())
    functions = differentiated(entry, given, tensor)
    context = Context((*exprs, *mentioned(functions)), given, nonzero, (*first, *at))
    if fixed:
        context.alias(tensor, lambda names: context.entry(tensor, names))
    lines = [f"Theorem {name} :", *context.header()]
    known = []
    for f in functions:
        lines.append(context.differentiable(f))
        known.append(context.intros[-1])
    if context.free:
        lines.append(filled(context.everywhere()))
    function = along(context, energy, tensor, at)
    result = context.readable(formula) if value is None else context.shown(value)
    lines.append(filled(f"derivable_pt_lim ({function}) 0 ({result})."))
    proof_lines = ["Proof.", context.intro(), *setup(context)]
    if context.places():
        proof_lines.append(filled(f"intros {context.places()}."))
    proof_lines += differentiation(context, entry, formula, tensor, at, functions, known)
    if value is None:
        proof_lines.append("  exact is_slope.")
    else:
        proof_lines += _put_value(context, function, formula, value)
    return Theorem(name, "\n".join(lines), "\n".join([*proof_lines, "Qed."])), context


def _next(function: Function) -> Function:
    return function[0], function[1] + 1


def mentioned(functions: list[Function]) -> list[ix.Expr]:
    """Expressions that mention functions and their derivatives, so that these are numbered."""
    return [ix.Call(name, ZERO, k) for name, order in functions for k in (order, order + 1)]


def differentiated(energy: ix.Expr, given: tuple[Given, ...], moved: Tensor | None = None) -> list[Function]:
    """The functions whose derivatives are assumed to be such: of arguments in which ``moved`` stands. Raises
    NotCovered where one has a kink.
    """
    own = [g for g in given if g.tensor != moved]  # a point is put in afterwards
    stands = {moved}
    for _ in own:
        stands |= {g.tensor for g in own if stands & ix.tensors(g.value.entry())}
    everything = [n for e in (energy, *(g.value.entry() for g in own)) for n in ix.walk(e)]
    called = {
        (n.function, n.order)
        for n in everything
        if isinstance(n, ix.Call) and (moved is None or stands & ix.tensors(n))
    }
    found = sorted(f for f in called if f[0] not in ("exp", "log"))
    for name, order in found:
        if fn.domain_of(name, order + 1) != fn.ANY:
            raise NotCovered(f"{name} has no derivative somewhere")
    return found


def along(context: Context, energy: Term, tensor: Tensor, at: tuple[Index, ...]) -> str:
    """The energy as a function of what is added to one entry."""
    own = context.symbols.tensor(tensor)
    where = " ".join(context.scope[i] for i in plain(at))
    moved = f"moved{len(plain_dims(tensor))} {own} {where} h".replace("  ", " ")
    return f"fun h => let {own} := {moved} in {context.shown(energy)}"


def differentiation(
    context: Context,
    energy: ix.Expr,
    formula: ix.Expr,
    tensor: Tensor,
    at: tuple[Index, ...],
    functions: list[Function],
    known: list[str],
) -> list[str]:
    """The proof ``is_slope`` that the derivative by an entry is the formula."""
    own = context.symbols.functions
    following = listed(own.index(_next(f)) if f in functions else n for n, f in enumerate(own))
    logarithms = listed(own.index(f) for f in own if f == ("log", 0))
    numbers = listed(own.index(f) for f in functions)
    number, entry = context.symbols.tensors.index(tensor), listed(context.free.index(i) for i in plain(at))
    return [
        f"  pose proof (gradient the_data the_model (fun f => nth f {following} f)%nat",
        f"    ({numbers} : list nat)%nat ({logarithms} : list nat)%nat {number}%nat",
        f"    ({entry} : list nat)%nat the_ranges",
        filled(context.deep(energy, tensor), "    "),
        filled(context.deep(formula, tensor), "    "),
        f"    {YES} promises {conjunction(known)} ltac:(logarithms) {context.places()}) as is_slope.",
    ]


def _put_value(context: Context, along: str, formula: ix.Expr, value: Term) -> list[str]:
    v = context.bound("v")
    return [
        "  pose proof (identity the_data the_model the_ranges",
        filled(context.deep(formula), "    "),
        filled(context.deep(value.entry()), "    "),
        f"    {YES} promises {context.places()}) as is_value.",
        filled(
            f"exact (eq_ind ({context.readable(formula)}) (fun {v} => derivable_pt_lim ({along}) 0 {v})"
            f" is_slope ({context.shown(value)}) is_value)."
        ),
    ]
