"""Theorems that there is none of what is said to exist: a solution of equations, a bound of an objective, a
neighbourhood in which a point is best.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import sympy as sp

from checks.engine.instances import Instance, base_tensors, dimensions, entries_of
from checks.kernel.context import Context, loose
from checks.kernel.equalities import places
from checks.kernel.falsity import at_instance
from checks.kernel.points import differentiable, in_range, looked_up, nested, point_line, unknown
from checks.kernel.theorem import Theorem, filled
from checks.kernel.trees import NotCovered, exact, plain_dims
from checks.kinds.examples import point_entries
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import Solvable
from checks.kinds.unbounded import Bounded, ray_error
from derivations.calculus import index as ix
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Index, Tensor


def kind(tensor: Tensor) -> str:
    """The type of an array."""
    return " -> ".join(["nat"] * len(plain_dims(tensor)) + ["R"])


def quantified(context: Context, expr: ix.Expr, relation: str, but: tuple[Index, ...] = ()) -> str:
    """A relation to 0 for all values of the free indices, but those that have a name already."""
    own = [i for i in loose([expr]) if i not in but]
    scope = dict(context.scope)
    for i in own:
        scope.setdefault(i, context.symbols.index(i, scope))
    ranges = context.within([scope[i] for i in own], [i.dim for i in own])
    return f"{ranges}{context.readable(expr, scope, 49)} {relation} 0"


def solvable(name: str, s: Solvable) -> list[Theorem]:
    """At the offered values no unknown satisfies all equations."""
    instance, fixed = s.point.instance(s.given), {i: n - 1 for i, n in s.point.at}
    equations = [e.term.entry() for e in s.equations]
    context = Context(tuple(equations), s.given, expanded=True)
    context.base = [t for t in context.base if t != s.unknown]
    context.free = [i for i in context.free if i in fixed]
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    lines += [filled(context.everywhere())] if context.free else []
    unknown = context.symbols.tensor(s.unknown)
    names = [f"equation{n}" for n, _ in enumerate(equations)]
    says = " /\\ ".join(f"({quantified(context, e, '=', (*fixed,))})" for e in equations)
    lines.append(filled(f"exists {unknown} : {kind(s.unknown)}, {says})."))
    pattern = " & ".join([unknown, *names])
    applied = " ".join(at_instance(context, instance, fixed))
    proof = ["Proof.", "  intros claim.", *point_line(context, _still(instance, (s.unknown,)))]
    proof.append(filled(f"destruct (claim {applied}) as ({pattern})."))
    for known, e in zip(names, equations, strict=True):
        own = [i for i in loose([e]) if i not in fixed]
        for place in product(*(range(instance.sizes[i.dim]) for i in own)):
            places = " ".join(in_range(n, instance.sizes[i.dim]) for i, n in zip(own, place, strict=True))
            proof.append(filled(f"pose proof ({known} {places})."))
    proof += [f"  clear claim {' '.join(names)}. numbers. lra.", "Qed."]
    return [Theorem(name, "\n".join(lines), "\n".join(proof))]


def _still(instance: Instance, variables: tuple[Tensor, ...]) -> Instance:
    """The instance with 0 for what the proof chooses itself."""
    zero = {(v, at): Fraction(0) for v in variables for at in entries_of(v.dims, instance.sizes)}
    return Instance(instance.sizes, {**zero, **instance.values}, instance.given)


def bounded(name: str, s: Bounded) -> list[Theorem]:
    """No number bounds the objective where all dimensions and all data are 1, along the offered ray.

    Raises NotCovered.
    """
    program, ray = s.program, s.ray
    if ray is None or ray_error(program, ray):
        return []
    if program.semidefinite or program.inverses:
        raise NotCovered("a program whose data are semidefinite or inverse to each other")
    excesses, objective = [c.excess() for c in program.constraints], program.objective.entry()
    rays = [x.entry() for x in (ray.growth, ray.squares, ray.slope, *(value for _, _, value in ray.values))]
    context = Context((objective, *excesses), (), program.nonzero)
    context.base = [t for t in context.base if t not in program.variables]
    context.free = []
    data = {*context.base, *base_tensors(rays, ())} - {ray.t}
    sizes = dict.fromkeys(dimensions([objective, *excesses, *rays], ()), 1)
    instance = Instance(sizes, {(t, (0,) * len(t.dims)): Fraction(1) for t in data}, ())
    lines = [f"Theorem {name} :", "  ~ (", *context.header()]
    bound = context.symbols.index(Index("bound", "1"), context.scope)
    moving = " ".join(f"({context.symbols.tensor(v)} : {kind(v)})" for v in program.variables)
    lines.append(filled(f"exists {bound} : R, forall {moving},"))
    lines += [filled(f"({quantified(context, e, '=')}) ->") for e in excesses]
    lines.append(filled(f"{context.readable(objective)} {'<=' if program.maximise else '>='} {bound})."))
    growth, squares, slope, *_ = (_value(e, ray.t, 0, instance) for e in rays)
    values = {v: value.entry() for v, _, value in ray.values}
    arrays = " ".join(_array(v, values[v], ray.t, instance) for v in program.variables)
    kept = " ".join(["ltac:(each_entry; numbers; lra)"] * len(excesses))
    end = bound if program.maximise else f"(- {bound})"
    proof = [
        "Proof.",
        "  intros claim.",
        *point_line(context, _still(instance, program.variables)),
        filled(f"destruct (claim {' '.join(at_instance(context, instance, {}))}) as [{bound} holds]."),
        filled(f"apply (no_bound {exact(growth + squares)} {exact(slope)} {end}); [lra | intros the_t]."),
        filled(f"pose proof (holds {arrays} {kept})."),
        "  clear claim holds. numbers. lra.",
        "Qed.",
    ]
    return [Theorem(name, "\n".join(lines), "\n".join(proof))]


def nearby(name: str, s: Extremum, rise: sp.Poly) -> list[Theorem]:
    """However near one stays, the energy is better along the offered direction, where it rises by ``rise``.

    Raises NotCovered.
    """
    assert s.witness is not None
    instance, sign = s.witness.instance(s.given), -1 if "maximum" in s.says else 1
    turn = _worse(rise, sign)
    if not turn:
        return []
    at = places("z", s.variable.dims)
    gap = s.energy.entry() - at_point(s.energy, s.variable, s.point).entry()
    away = ix.At(s.variable, at) - s.point.entry(*at)
    context = Context((gap, away), s.given, expanded=True, pieces=True)
    context.base, context.free = [t for t in context.base if t != s.variable], []
    header = [f"Theorem {name} :", "  ~ (", *context.header()]
    called = unknown(s.given, (gap,))
    derived = [(f, order) for f, order in called if (f, order + 1) in called]
    derivatives, proofs = differentiable(context, derived, instance)
    delta = context.symbols.index(Index("radius", "1"), context.scope)
    names = {i: context.symbols.index(i, {}) for i in loose([away])}
    inside = context.within([*names.values()], [i.dim for i in names])
    variable, relation = context.symbols.tensor(s.variable), ">=" if sign > 0 else "<="
    lines = [
        *header,
        *derivatives,
        f"  exists {delta} : R, (0 < {delta}) /\\ forall {variable} : {kind(s.variable)},",
        filled(f"({inside}Rabs ({context.readable(away, names)}) < {delta}) ->"),
        filled(f"{context.readable(gap, level=49)} {relation} 0)."),
    ]
    steps = {e: turn * Fraction(step) for e, step in point_entries(s.variable, s.direction)}
    starts = {e: instance.evaluate(s.point.entry(*at), dict(zip(at, e, strict=True))) for e in steps}
    moved = {e: f"{exact(Fraction(starts[e]))} + the_t * {exact(step)}" for e, step in steps.items()}
    array = _entries(s.variable, instance.sizes, moved)
    (low, _), reach, twice = _lowest(rise), exact(_reach(rise)), exact(2 * max(map(abs, steps.values())))
    applied = " ".join(at_instance(context, instance, {}, proofs))
    powers = range(1, rise.degree() - low + 1)
    proof = [
        "Proof.",
        "  intros claim.",
        *point_line(context, _still(instance, (s.variable,))),
        filled(f"destruct (claim {applied}) as [{delta} [positive near]]."),
        filled(f"destruct (short {delta} {reach} {twice}) as [the_t [small [within reached]]]; [lra..|]."),
        f"  pose proof (pow_lt the_t {low} small).",
        *(
            f"  pose proof (smaller the_t {reach} {low} {n} small reached"
            f" : 0 <= the_t ^ {low + n} <= {reach} ^ {n} * the_t ^ {low})."
            for n in powers
        ),
        filled(f"pose proof (near {array} ltac:(each_entry; numbers; apply Rabs_def1; lra))."),
        "  clear claim near. polynomials. numbers. lra.",
        "Qed.",
    ]
    return [Theorem(name, "\n".join(lines), "\n".join(proof))]


def _worse(rise: sp.Poly, sign: int) -> int:
    """Which way along the direction the energy is worse than at the point at once; 0 where it is neither."""
    low, first = _lowest(rise)
    if low % 2:
        return -1 if sign * first > 0 else 1
    return 1 if sign * first < 0 else 0


def _lowest(rise: sp.Poly) -> tuple[int, Fraction]:
    """The lowest power and its coefficient."""
    (power,), coefficient = rise.terms()[-1]
    return power, Fraction(coefficient)


def _reach(rise: sp.Poly) -> Fraction:
    """How far the lowest power outweighs all others."""
    _, first = _lowest(rise)
    others = sum(abs(Fraction(c)) for _, c in rise.terms()[:-1])
    return min(Fraction(1), abs(first) / (2 * others)) if others else Fraction(1)


def _entries(tensor: Tensor, sizes: Mapping[str, int], values: Mapping[tuple[int, ...], str]) -> str:
    """An array of formulas, by its entries."""
    names = [f"at{n}" for n, _ in enumerate(plain_dims(tensor))]
    whole = looked_up(nested(tensor, sizes, lambda at: f"({values[at]})"), names, "0")
    return f"(fun {' '.join(names)} => {whole})" if names else whole


def _value(expr: ix.Expr, t: Tensor, at: int, instance: Instance) -> Fraction:
    moved = Instance(instance.sizes, {**instance.values, (t, ()): Fraction(at)}, ())
    value = moved.evaluate(expr, {i: 0 for i in ix.free_indices(expr)})
    if not isinstance(value, Fraction | int):
        raise NotCovered("an objective whose growth along the ray is not rational")
    return Fraction(value)


def _array(variable: Tensor, expr: ix.Expr, t: Tensor, instance: Instance) -> str:
    """The values of a variable along the ray, which are affine in the parameter."""
    start, end = (_value(expr, t, at, instance) for at in (0, 1))
    places = f"fun {' '.join('_' for _ in plain_dims(variable))} => " if plain_dims(variable) else ""
    return f"({places}{exact(start)} + the_t * {exact(end - start)})"
