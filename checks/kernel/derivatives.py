"""Theorems about derivatives: Rocq's ``derivable_pt_lim`` of the formula itself, entry by entry.

A gradient that a statement prints is a derivative of the real function, so that our differentiation need not
be believed; a stationary point is one where that derivative is zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from checks.engine.notation import all_terms
from checks.kernel.equalities import places
from checks.kernel.theorem import YES, Context, Theorem, conjunction, filled, listed
from checks.kernel.trees import Function, NotCovered, plain, plain_dims
from checks.kinds.stationary import Stationary
from checks.statement import Given, Identity
from derivations.calculus import functions as fn
from derivations.calculus import index as ix
from derivations.calculus.differentiate import gradient
from derivations.calculus.gradients import Differential, Gradient, grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term

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
        return slope(name, energy.entry(), tensor, at, term.entry(*at), given, nonzero)
    inner, tensor, direction, _ = term.data
    at = places("e", inner.shape())
    t = Tensor("t#", ())
    moved = ix.define(inner.entry(*at), tensor, lambda *i: ix.At(tensor, i) + t.scalar * ix.At(direction, i))
    start = Given(t, (), as_term(0), "the start of the line")
    formula = gradient(moved, t, ())
    return slope(name, moved, t, (), formula, (*given, start), nonzero, at, value=term.entry(*at))


def joined(name: str, statement: Identity) -> list[Theorem]:
    """The theorem that a gradient is what it is said to be, where one side of an equality is a gradient."""
    for side, other in ((statement.lhs, statement.rhs), (statement.rhs, statement.lhs)):
        if isinstance(side, Gradient):
            energy, tensor, _ = side.data
            at = places("d", tensor.dims)
            formulas = side.entry(*at), other.entry(*at)
            own = (statement.given, statement.nonzero)
            return [
                slope(f"{name}_gradient", energy.entry(), tensor, at, formulas[0], *own, value=formulas[1])
            ]
    return []


def stationary(name: str, s: Stationary) -> list[Theorem]:
    """The derivative by every entry vanishes at the point. Raises NotCovered."""
    if s.variable.positive or s.variable.symmetric:
        raise NotCovered("a stationary point of a variable with a promise")
    nonzero = tuple(t for t in s.nonzero if t != s.variable)
    at = places("d", s.variable.dims)
    formula = grad(s.energy, s.variable).entry(*at)
    return [
        slope(name, s.energy.entry(), s.variable, at, formula, (*s.given, point_of(s)), nonzero, value=ZERO)
    ]


def point_of(s: Stationary) -> Given:
    """The point as a definition of the variable."""
    own = places("z", s.variable.dims)
    return Given(s.variable, own, s.point[own] if own else s.point, "the point")


def slope(
    name: str,
    energy: ix.Expr,
    tensor: Tensor,
    at: tuple[Index, ...],
    formula: ix.Expr,
    given: tuple[Given, ...],
    nonzero: tuple[Tensor, ...],
    first: tuple[Index, ...] = (),
    value: ix.Expr | None = None,
) -> Theorem:
    """The derivative of ``energy`` by ``tensor[at]`` is ``formula``, and ``value`` under definitions.

    A definition of the tensor itself is the point at which the derivative is taken.
    """
    fixed = any(g.tensor == tensor for g in given)
    exprs = (energy, formula) if value is None else (energy, formula, value)
    functions = differentiated(energy, given)
    context = Context((*exprs, *_both(functions)), given, nonzero, (*first, *at))
    if fixed:
        context.alias(tensor, lambda names: context.entry(tensor, names))
    lines = [f"Theorem {name} :", *context.header()]
    known = []
    for f in functions:
        one, two = (context.symbols.function(g) for g in (f, _next(f)))
        proof, line = context.hypothesis(f"forall x, derivable_pt_lim {one} x ({two} x)")
        known.append(proof)
        lines.append(line)
    if context.free:
        lines.append(filled(context.everywhere()))
    along = _along(context, energy, tensor, at)
    lines.append(filled(f"derivable_pt_lim ({along}) 0 ({context.readable(value or formula)})."))
    proof_lines = ["Proof.", context.intro(), *context.setup()]
    if context.places():
        proof_lines.append(filled(f"intros {context.places()}."))
    proof_lines += differentiation(context, energy, formula, tensor, at, functions, known)
    if value is None:
        proof_lines.append("  exact is_slope.")
    else:
        proof_lines += _put_value(context, along, formula, value)
    return Theorem(name, "\n".join(lines), "\n".join([*proof_lines, "Qed."]))


def _next(function: Function) -> Function:
    return function[0], function[1] + 1


def _both(functions: list[Function]) -> list[ix.Expr]:
    """Expressions that mention functions and their derivatives, so that these are numbered."""
    return [ix.Call(name, ZERO, k) for name, order in functions for k in (order, order + 1)]


def differentiated(energy: ix.Expr, given: tuple[Given, ...]) -> list[Function]:
    """The functions whose derivatives are assumed to be such. Raises NotCovered where one has a kink."""
    everything = [n for e in (energy, *(g.value.entry() for g in given)) for n in ix.walk(e)]
    called = {(n.function, n.order) for n in everything if isinstance(n, ix.Call)}
    found = sorted(f for f in called if f[0] not in ("exp", "log"))
    for name, order in found:
        if fn.domain_of(name, order + 1) != fn.ANY:
            raise NotCovered(f"{name} has no derivative somewhere")
    return found


def _along(context: Context, energy: ix.Expr, tensor: Tensor, at: tuple[Index, ...]) -> str:
    """The energy as a function of what is added to one entry."""
    own = context.symbols.tensor(tensor)
    where = " ".join(context.scope[i] for i in plain(at))
    moved = f"moved{len(plain_dims(tensor))} {own} {where} h".replace("  ", " ")
    return f"fun h => let {own} := {moved} in {context.readable(energy)}"


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


def _put_value(context: Context, along: str, formula: ix.Expr, value: ix.Expr) -> list[str]:
    return [
        "  pose proof (identity the_data the_model the_ranges",
        filled(context.deep(formula), "    "),
        filled(context.deep(value), "    "),
        f"    {YES} promises {context.places()}) as is_value.",
        filled(
            f"exact (eq_ind ({context.readable(formula)}) (fun v => derivable_pt_lim ({along}) 0 v) is_slope "
            f"({context.readable(value)}) is_value)."
        ),
    ]
