"""Theorems that a formula approximates another up to a power of a small number: by derivatives everywhere."""

from __future__ import annotations

from itertools import pairwise

from checks.kernel.context import Context
from checks.kernel.definedness import where_defined
from checks.kernel.derivatives import ZERO, differentiated, differentiation
from checks.kernel.equalities import places
from checks.kernel.model import setup
from checks.kernel.theorem import YES, Theorem, filled
from checks.kernel.trees import NotCovered
from checks.kinds.order import Order
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.differentiate import index_route

_LARGEST = 1000
"""Nodes of a derivative that the checker compares in seconds."""


def order(name: str, s: Order) -> list[Theorem]:
    """The difference is of the order, at every place. Raises NotCovered."""
    if s.exact.shape() != s.approximate.shape():
        raise NotCovered("formulas of different shapes")
    at = places("e", s.exact.shape())
    sides = s.exact.entry(*at), s.approximate.entry(*at)
    slopes = [sides[0] - sides[1]]
    for _ in range(s.order):
        slopes.append(index_route(slopes[-1], s.small, ()))
    if differentiated(slopes[0], s.choice):
        raise NotCovered("an order of formulas with an unknown function")
    if sum(1 for _ in ix.walk(slopes[-1])) > _LARGEST:
        raise NotCovered("an order whose derivatives are too large for the checker")
    starts = [ix.define(e, s.small, lambda: ZERO) for e in slopes[:-1]]
    context = Context((s.small.scalar, *slopes, *starts), s.choice, first=at)
    context.base = [t for t in context.base if t != s.small]
    small = context.symbols.tensor(s.small)
    functions = [f"(fun {small} => {context.readable(e)})" for e in slopes]
    says = f"{context.everywhere()}big_o {s.order} {functions[0]}."
    lines = [f"Theorem {name} :", *context.header(), filled(says)]
    proof = ["Proof.", context.intro(), *([f"  intros {context.places()}."] if context.free else [])]
    for n, (one, two) in enumerate(pairwise(functions)):
        proof += [
            filled(f"assert (slope{n} : forall {small}, derivable_pt_lim {one} {small} ({two} {small}))."),
            f"  {{ intros {small}. apply derivable_moved.",
            *setup(context),
            *differentiation(context, slopes[n], slopes[n + 1], s.small, (), [], []),
            "  exact is_slope. }",
            filled(f"assert (start{n} : {one} 0 = 0)."),
            f"  {{ pose ({small} := 0).",
            *setup(context),
            "  exact (identity the_data the_model the_ranges",
            filled(context.deep(starts[n]), "    "),
            filled(context.deep(ZERO), "    "),
            f"    {YES} promises {context.places()}). }}",
        ]
    last = s.order - 1
    whole = f"(big_o_first _ _ start{last} (slope{last} 0))"
    for n in reversed(range(last)):
        whole = f"(big_o_next _ _ _ start{n} slope{n} {whole})"
    demands = [d for e in sides for d in sg.demands(e)]
    proof += [f"  exact {whole}.", "Qed."]
    return [
        Theorem(name, "\n".join(lines), "\n".join(proof)),
        *where_defined(f"{name}_defined", demands, s.choice, ()),
    ]
