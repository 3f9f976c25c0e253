"""Theorems that iterations do not converge as is said: from a start they stay elsewhere, or move for ever."""

from __future__ import annotations

from fractions import Fraction

from checks.engine.instances import Instance, base_tensors, dimensions
from checks.kernel.context import Context
from checks.kernel.equalities import places
from checks.kernel.falsity import at_instance
from checks.kernel.limits import converges, iteration, sizes
from checks.kernel.points import point_line, unknown
from checks.kernel.theorem import Theorem, filled
from checks.kernel.trees import NotCovered, exact, plain_dims
from checks.kinds.limit import Limit
from derivations.calculus import index as ix
from derivations.calculus.index import Index


def astray(name: str, s: Limit) -> list[Theorem]:
    """It does not converge as is said where all dimensions and all data are 1. Raises NotCovered."""
    at = places("e", s.step.shape())
    step, goes = s.step.entry(*at), None if s.limit is None else s.limit.entry(*at)
    exprs = [step] if goes is None else [step, goes]
    unknown(s.given, tuple(exprs))
    instance = _ones(s, exprs)
    found = _orbit(s, step, goes, at, instance)
    if found is None:
        return []
    start, drift = found
    context = Context((ix.At(s.state, at), *exprs), s.given, first=at, expanded=True, pieces=True)
    context.base = [t for t in context.base if t != s.state]
    header = context.header()
    before = [*context.arguments]
    lines = [f"Theorem {name} :", "  ~ (", *header, *sizes(context, s)]
    inside = {a: "ltac:(numbers; lra)" for a in context.arguments if a not in before}
    applied = at_instance(context, instance, {}, inside)
    own = len(context.arguments)
    lines += iteration(context, s, step)
    lines.append(filled(f"{converges(context, s, goes)})."))
    run = f"(fun the_step {'_ ' * len(plain_dims(s.state))}=> {exact(start)} + INR the_step * {exact(drift)})"
    steps = "ltac:(cbv zeta beta; each_entry; rewrite ?S_INR; numbers; by_cases)"
    proof = [
        "Proof.",
        "  intros claim.",
        *point_line(context, instance),
        filled(f"pose proof (claim {' '.join([*applied[:own], run, steps, *applied[own:]])}) as goes."),
        *(["  destruct goes as [the_goal goes]."] if goes is None else []),
        *_contradiction(start, drift),
        "Qed.",
    ]
    return [Theorem(name, "\n".join(lines), "\n".join(proof))]


def _ones(s: Limit, exprs: list[ix.Expr]) -> Instance:
    """All dimensions and data 1, and a step size of the range."""
    high = s.low + 2 if s.high is None else s.high
    values = {(t, (0,) * len(t.dims)): Fraction(1) for t in {*base_tensors(exprs, s.given), s.state}}
    values[s.size, ()] = (Fraction(s.low) + high) / 2
    return Instance(dict.fromkeys(dimensions(exprs, s.given), 1), values, s.given)


def _orbit(
    s: Limit, step: ix.Expr, goes: ix.Expr | None, at: tuple[Index, ...], instance: Instance
) -> tuple[Fraction, Fraction] | None:
    """A start, and by how much each step moves it, which is not as the statement has it."""

    def value(expr: ix.Expr, state: int) -> Fraction:
        values = {**instance.values, (s.state, (0,) * len(at)): Fraction(state)}
        found = Instance(instance.sizes, values, s.given).evaluate(expr, dict.fromkeys(at, 0))
        if not isinstance(found, Fraction | int):
            raise NotCovered("an iteration whose states are not rational")
        return Fraction(found)

    first, second, third = (value(step, n) for n in range(3))
    rate = second - first
    if third - second != rate:
        raise NotCovered("an iteration that is not affine")
    goal = None if goes is None else value(goes, 0)
    if rate == 1 and first:
        return Fraction(0), first
    rest = first / (1 - rate) if rate != 1 else goal + 1 if goal is not None else None
    return None if goal is None or rest is None or rest == goal else (rest, Fraction(0))


def _contradiction(start: Fraction, drift: Fraction) -> list[str]:
    states = f"(fun the_step => {exact(start)} + INR the_step * {exact(drift)})"
    if drift:
        sign = "Rgt_not_eq" if drift > 0 else "Rlt_not_eq"
        moves = "ltac:(intros; cbv beta; rewrite S_INR; lra)"
        return [filled(f"exact (drifting {exact(drift)} {states} _ ltac:(apply {sign}; lra) {moves} goes).")]
    stays = "ltac:(intros; cbv beta; lra)"
    return [filled(f"pose proof (still {exact(start)} {states} _ {stays} goes). numbers. lra.")]
