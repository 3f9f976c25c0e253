"""Theorems that a formula approximates another up to a power of a small number: by derivatives everywhere."""

from __future__ import annotations

from dataclasses import replace

from checks.kernel.context import Context
from checks.kernel.definedness import require_seen, where_defined
from checks.kernel.derivatives import differentiated
from checks.kernel.equalities import places
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered
from checks.kinds.order import Order, check_order
from derivations.calculus import index as ix
from derivations.calculus import signs as sg


def order(name: str, s: Order) -> list[Theorem]:
    """The difference is of the order, at every place. Raises NotCovered."""
    check_order(s)
    at = places("e", s.exact.shape())
    sides = s.exact.entry(*at), s.approximate.entry(*at)
    gap = sides[0] - sides[1]
    if differentiated(gap, s.choice):
        raise NotCovered("an order of formulas with an unknown function")
    moving = [d for d in sg.demands(gap) if s.small in ix.tensors(d.base)]
    if any(d.signs != sg.NONZERO for d in moving):
        raise NotCovered("an order of the logarithm or the root of what moves")
    any_number = replace(s.small, positive=False)
    around = [ix.define(d.base, s.small, lambda: ix.At(any_number, ())) for d in moving]
    if any(0 in sg.signs(base) for base in around):
        raise NotCovered("a formula that is not defined for all values of the symbols")
    context = Context((s.small.scalar, gap), s.choice, first=at)
    context.base = [t for t in context.base if t != s.small]
    context.alias(s.small, lambda _: "0")
    lines = [f"Theorem {name} :", *context.header()]
    lines.append(filled(f"{context.everywhere()}{grows(context, s, gap)}."))
    number = context.symbols.tensors.index(s.small)
    logarithms = listed(n for n, f in enumerate(context.symbols.functions) if f == ("log", 0))
    proof = [
        "Proof.",
        context.intro(),
        *setup(context, f"forall h, meets the_data (with_number the_model {number} h)"),
        f"  exact (approximates the_data the_model (fun f => f) ({logarithms} : list nat)%nat {number}%nat",
        f"    the_ranges promises ltac:(logarithms) {s.order - 1}%nat",
        filled(context.deep(gap), "    "),
        f"    {YES}).",
        "Qed.",
    ]
    demands = [d for e in sides for d in sg.demands(e)]
    require_seen(demands, s.choice)
    return [
        Theorem(name, "\n".join(lines), "\n".join(proof)),
        *where_defined(f"{name}_defined", demands, s.choice, ()),
    ]


def grows(context: Context, s: Order, gap: ix.Expr) -> str:
    """That the difference is of the order."""
    return f"big_o {s.order} (fun {context.symbols.tensor(s.small)} => {context.readable(gap)})"
