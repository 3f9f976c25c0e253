"""Theorems that derivatives are others than what is printed: at a point that is no stationary one, and of a
difference that vanishes more slowly than is said.
"""

from __future__ import annotations

from checks.engine.instances import Instance, exact_instances
from checks.kernel.context import Context
from checks.kernel.derivatives import ZERO, along, differentiated, point_of, slope
from checks.kernel.equalities import places
from checks.kernel.falsity import at_instance
from checks.kernel.orders import grows
from checks.kernel.points import differentiable, point_line
from checks.kernel.theorem import YES, Theorem, filled, listed
from checks.kernel.trees import NotCovered
from checks.kinds.order import Order
from checks.kinds.stationary import Stationary
from derivations.calculus import index as ix
from derivations.calculus.functions import SYMBOLIC
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index


def steep(name: str, s: Stationary) -> list[Theorem]:
    """The derivative by some entry does not vanish at the point. Raises NotCovered."""
    if s.variable.positive or s.variable.symmetric:
        raise NotCovered("a stationary point of a variable with a promise")
    if any(name in SYMBOLIC for name, _ in differentiated(s.energy.entry(), s.given)):
        raise NotCovered("a slope of a power with a symbolic exponent")
    nonzero = tuple(t for t in s.nonzero if t != s.variable)
    at, given = places("d", s.variable.dims), (*s.given, point_of(s))
    formula = grad(s.energy, s.variable).entry(*at)
    for instance, points in exact_instances([formula], given, 0, 4, True, nonzero=nonzero):
        for where in points:
            if instance.sign(formula, where) in (1, -1):
                known, context = slope(f"{name}_slope", s.energy, s.variable, at, formula, given, nonzero)
                return [known, _steep(name, s, context, known, formula, at, instance, where)]
    return []


def _steep(
    name: str,
    s: Stationary,
    context: Context,
    known: Theorem,
    formula: ix.Expr,
    at: tuple[Index, ...],
    instance: Instance,
    where: dict[Index, int],
) -> Theorem:
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    derivatives, proofs = differentiable(
        context, differentiated(s.energy.entry(), s.given, s.variable), instance
    )
    lines += derivatives
    if context.free:
        lines.append(filled(context.everywhere()))
    lines.append(filled(f"derivable_pt_lim ({along(context, s.energy, s.variable, at)}) 0 0)."))
    applied = " ".join(at_instance(context, instance, where, proofs))
    proof = [
        "Proof.",
        "  intros claim.",
        *point_line(context, instance),
        f"  exact (refuted the_point {listed(where[i] for i in context.free)}%nat",
        filled(context.deep(formula), "    "),
        filled(context.deep(ZERO), "    "),
        f"    {YES}",
        filled(f"(uniqueness_limite _ _ _ _ ({known.name} {applied}) (claim {applied}))).", "    "),
        "Qed.",
    ]
    return Theorem(name, "\n".join(lines), "\n".join(proof))


def not_of_order(name: str, s: Order) -> list[Theorem]:
    """At the offered values the difference has a slope at 0. Raises NotCovered."""
    if s.witness is None or s.order < 2:
        return []
    gap = s.exact.entry() - s.approximate.entry()
    fixed = {i: n - 1 for i, n in s.witness.at}
    if differentiated(gap, s.choice):
        raise NotCovered("an order of formulas with an unknown function")
    context = Context((s.small.scalar, gap), s.choice)
    context.base = [t for t in context.base if t != s.small]
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    if context.free:
        lines.append(filled(context.everywhere()))
    lines.append(filled(f"{grows(context, s, gap)})."))
    values = {**s.witness.instance(s.choice).values, (s.small, ()): 0}
    instance = Instance(dict(s.witness.sizes), values, s.choice)
    number = context.symbols.tensors.index(s.small)
    proof = [
        "Proof.",
        "  intros claim.",
        *point_line(context, instance),
        f"  exact (not_approximate the_point {number}%nat {s.order - 2}%nat",
        f"    {listed(fixed[i] for i in context.free)}%nat",
        filled(context.deep(gap), "    "),
        f"    {YES} (claim {' '.join(at_instance(context, instance, fixed))})).",
        "Qed.",
    ]
    return [Theorem(name, "\n".join(lines), "\n".join(proof))]
