"""Bounded: a program's objective is bounded on its feasible set in the direction of the optimisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from checks.engine.finding import Finding
from checks.engine.instances import Instance, base_tensors, dimensions
from checks.engine.judge import ENGINES
from checks.engine.mutants import mutants
from checks.evidence import Evidence, Mutants
from checks.kinds.follows import ZERO
from checks.statement import Kind
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Program
from derivations.calculus.term import Term, as_term
from derivations.calculus.unicode import unicode_math


@dataclass(frozen=True)
class Ray:
    """Feasible points x(t), one for every t: the value of each variable at its indices, as terms in ``t``.

    Along it the objective is to be ±(t² (growth + squares) + t slope), + for a maximisation: growth visibly
    positive, squares visibly nonnegative, all three free of t.
    """

    t: Tensor
    values: tuple[tuple[Tensor, tuple[Index, ...], Term], ...]
    growth: Term
    squares: Term = ZERO
    slope: Term = ZERO


@dataclass(frozen=True)
class Bounded(Kind):
    """A maximisation has a finite supremum (a minimisation, a finite infimum) on its feasible set.

    ``ray`` offers a refutation. ``bound`` and ``gap`` offer a proof: for a minimisation objective = bound +
    gap, for a maximisation objective = bound - gap, with a visibly nonnegative gap and a bound free of
    variables.
    """

    program: Program
    ray: Ray | None = None
    bound: Term | None = None
    gap: Term = ZERO
    label: str = ""

    def statement_latex(self) -> str:
        """The program, said to have an optimum."""
        end = r"< \infty" if self.program.maximise else r"> -\infty"
        name = "sup" if self.program.maximise else "inf"
        return rf"\{name} {end}\ \text{{in}}\quad {self.program.latex()}"


def bounded(statement: Bounded, seed: int, with_mutants: bool) -> Finding:
    """Verify the ray (refutation) or the bound (proof); neither settles nothing."""
    if statement.ray is not None and not ray_error(statement.program, statement.ray):
        words = _words(statement.program, statement.ray)
        finding = Finding(
            [Evidence("derivation", "exact-symbolic", False, "a ray of growing value")], counterexample=words
        )
        return finding
    why = bound_error(statement)
    proof = Evidence(
        "derivation",
        "exact-symbolic",
        None if why else True,
        why or "objective = bound ± squares",
        settles=True,
    )
    finding = Finding([proof])
    if with_mutants and not why:
        finding.mutants = _mutants(statement)
    return finding


def ray_error(program: Program, ray: Ray) -> str:
    """Why the ray does not refute boundedness; "" if it does."""
    program_terms = (program.objective, *(t for c in program.constraints for t in (c.lhs, c.rhs)))
    if any(ray.t in ix.tensors(t.entry()) for t in program_terms if not t.shape()):
        return "t is a symbol of the program"
    if any(not c.equality for c in program.constraints):
        return "inequality constraints are not followed along a ray"
    if {v for v, _, _ in ray.values} != set(program.variables):
        return "the ray does not give every variable"
    for c in program.constraints:
        if not nf.is_zero(nf.normal(_along(c.excess(), ray))):
            return f"the constraint with multiplier {c.multiplier.name} is not kept along the ray"
    growth = [x.entry() for x in (ray.growth, ray.squares, ray.slope)]
    if not sg.positive(growth[0]) or not sg.nonnegative(growth[1]):
        return "the growth is not visibly positive"
    if any(ray.t in ix.tensors(x) or ix.free_indices(x) for x in growth):
        return "the growth depends on t, or on an index"
    moving = set(program.variables)
    if any(moving & ix.tensors(x) for x in (*growth, *(v.entry() for _, _, v in ray.values))):
        return "the ray depends on the variables"
    demands = [d for x in (*growth, *(v.entry() for _, _, v in ray.values)) for d in sg.demands(x)]
    if any(not sg.signs(d.base) <= d.signs for d in demands):
        return "the ray is not shown to be defined"
    value = ray.t.scalar**2 * (ray.growth.entry() + ray.squares.entry()) + ray.t.scalar * ray.slope.entry()
    if not nf.equal(_along(program.objective.entry(), ray), value if program.maximise else -value):
        return "the objective along the ray is another one"
    return ""


def _along(expr: ix.Expr, ray: Ray) -> ix.Expr:
    for variable, at, value in ray.values:
        expr = ix.define(expr, variable, _rule(at, value))
    return expr


def _rule(at: tuple[Index, ...], value: Term) -> Callable[..., ix.Expr]:
    return lambda *idx: ix.rename(value.entry(), dict(zip(at, idx, strict=True)))


def _words(program: Program, ray: Ray) -> str:
    """The ray, and the objective along it where all dimensions and all data are 1."""
    moving = [(v, at, value) for v, at, value in ray.values if not nf.is_zero(nf.normal(value.entry()))]
    entries = ((as_term(v)[at] if at else as_term(v), value) for v, at, value in moving)
    shown = ", ".join(f"{_plain(entry)} = {_plain(value)}" for entry, value in entries)
    still = [v.name for v, _, value in ray.values if nf.is_zero(nf.normal(value.entry()))]
    shown += f", {' and '.join(still)} = 0" if still else ""
    expr = _along(program.objective.entry(), ray)
    sizes = {dim: 1 for dim in dimensions([expr], ())}
    ones = {(x, (0,) * len(x.dims)): Fraction(1) for x in base_tensors([expr], ())}
    end = "above" if program.maximise else "below"
    kept = "all constraints hold and " if program.constraints else ""
    found = f"along {shown} {kept}the objective is unbounded {end}"
    try:
        at = {t: Instance(sizes, {**ones, (ray.t, ()): Fraction(t)}, ()).evaluate(expr) for t in (1, 10, 100)}
    except (NotExact, ZeroDivisionError):
        return found
    sample = ", ".join(f"{v} at {_plain(as_term(ray.t))} = {t}" for t, v in at.items())
    return f"{found}; with all dimensions and data 1: {sample}"


def _plain(term: Term) -> str:
    return unicode_math(term.latex())


def bound_error(statement: Bounded) -> str:
    """Why the bound is not proved; "" if it is."""
    program = statement.program
    if statement.bound is None:
        return "no bound is offered, and no ray refutes one"
    if any(v in ix.tensors(statement.bound.entry()) for v in program.variables):
        return "the bound depends on a variable"
    if not _zero_is_feasible(program):
        return "no feasible point is known"
    gap, bound = statement.gap.entry(), statement.bound.entry()
    if not sg.nonnegative(gap):
        return "the gap is not visibly nonnegative"
    everything = (gap, bound, program.objective.entry())
    if any(ix.free_indices(x) for x in everything):
        return "an index is left open"
    if any(not sg.signs(d.base) <= d.signs for x in everything for d in sg.demands(x)):
        return "a formula is not shown to be defined"
    value = statement.bound.entry() - gap if program.maximise else statement.bound.entry() + gap
    return "" if nf.equal(program.objective.entry(), value) else "the objective is not bound and gap"


def _zero_is_feasible(program: Program) -> bool:
    """Whether all constraints visibly hold where every variable is 0: over nothing there is no finite
    optimum.
    """
    for c in program.constraints:
        excess = c.excess()
        for variable in program.variables:
            excess = ix.define(excess, variable, lambda *_: ix.as_expr(0))
        if not (nf.is_zero(nf.normal(excess)) or (not c.equality and sg.nonnegative(-excess))):
            return False
    return True


def _mutants(statement: Bounded) -> Mutants:
    """A changed objective must lose its bound."""
    result = Mutants()
    for _, mutant in mutants(statement.program.objective, 16):
        changed = replace(statement, program=replace(statement.program, objective=mutant))
        result.tried += 1
        if bound_error(changed):
            result.killed += 1
        else:
            result.equivalent += 1  # the same identity holds, so the mutant is the same function
    return result


ENGINES[Bounded] = bounded
