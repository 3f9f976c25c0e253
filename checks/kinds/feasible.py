"""Two things a program or a system of equations may be said to be: convex, and solvable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions
from checks.engine.instances import FUNCTIONS, Instance, assigned, dimensions, ones
from checks.engine.judge import ENGINES
from checks.evidence import Evidence
from checks.kinds.examples import Point
from checks.statement import Fact, Given, Kind, Malformed, for_all
from derivations.calculus import index as ix
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.exact import Exponential
from derivations.calculus.index import Tensor
from derivations.calculus.program import NOT_SEEN, Program, convexity_of_squares, is_affine
from derivations.calculus.term import free


@contextmanager
def _with_values() -> Iterator[None]:
    """Raises Malformed where an offered point leaves a symbol or a formula without a value."""
    try:
        yield
    except (KeyError, ZeroDivisionError, NotExact) as error:
        why = str(error) or type(error).__name__
        raise Malformed(f"at the offered point not everything has an exact value: {why}") from None


Numbers = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class ConvexProgram(Kind):
    """A minimisation is convex in all its variables at once.

    ``data``, ``one``, ``other`` offer a counterexample with all dimensions 1: two feasible points of the
    program, by name of the variable, whose midpoint is not feasible.
    """

    program: Program
    data: Numbers = ()
    one: Numbers = ()
    other: Numbers = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The program."""
        return rf"\text{{convex: }}\;{self.program.latex()}"


def convex_program(statement: ConvexProgram, seed: int, with_mutants: bool) -> Finding:
    """The convexity argument, or two feasible points with an infeasible midpoint, exactly."""
    why = convexity_of_squares(statement.program)
    if why:
        return Finding([Evidence("derivation", "exact-symbolic", True, why, settles=True)])
    with _with_values():
        found = midpoint_violation(statement)
    if found:
        detail = "two feasible points with an infeasible midpoint"
        return Finding([Evidence("exact", "exact-rational", False, detail)], counterexample=found)
    return Finding([Evidence("derivation", "exact-symbolic", None, NOT_SEEN)])


def midpoint_violation(statement: ConvexProgram) -> str | None:
    """The counterexample in words if it is one: both points feasible, the midpoint not."""
    if not statement.one or not statement.other:
        return None
    one, other = dict(statement.one), dict(statement.other)
    _check_points(statement)
    middle = {n: (one[n] + other[n]) * Fraction(1, 2) for n in one}
    data = dict(statement.data)
    if any(_violated(statement.program, {**data, **p}) for p in (one, other)):
        return None
    broken = _violated(statement.program, {**data, **middle})
    if not broken:
        return None
    shown = [assigned(p.items(), statement.program.unknown()) for p in (data, one, other, middle)]
    return (
        f"all dimensions 1; {shown[0]}: ({shown[1]}) and ({shown[2]}) are feasible, "
        f"their midpoint ({shown[3]}) is not: it exceeds a constraint by {broken}"
    )


def _check_points(statement: ConvexProgram) -> None:
    """Raise Malformed for offered values that break a promise, or that are not those of the variables
    and the data.
    """
    program = statement.program
    promised = {t.name for t in program.unknown() if t.positive}
    semidefinite = {t.name for t in program.semidefinite}
    nonzero = {t.name for t in program.nonzero}
    for values in (statement.data, statement.one, statement.other):
        for name, value in values:
            sign = Exponential.of(value).sign()
            broken = (name in promised and sign <= 0) or (name in semidefinite and sign < 0)
            if broken or (name in nonzero and sign == 0):
                raise Malformed(f"{name} = {value} breaks a promise")
    data = dict(statement.data)
    for matrix, inverse in program.inverses:
        one, other = data.get(matrix.name), data.get(inverse.name)
        if (one, other) != (None, None) and (one or 0) * (other or 0) != 1:
            raise Malformed(f"{inverse.name} is not the inverse of {matrix.name}")
    names = {v.name for v in program.variables}
    if {n for n, _ in statement.one} != names or {n for n, _ in statement.other} != names:
        raise Malformed("a point of a program gives a value to each of its variables and to nothing else")


def _violated(program: Program, values: dict[str, Any]) -> str:
    """By how much a constraint is exceeded, as text; "" if all hold."""
    for c in program.constraints:
        expr = c.excess()
        sizes = ones(dimensions([expr], ()))
        at = {i: 0 for i in ix.free_indices(expr)}
        excess = Exponential.of(evaluate(expr, sizes, lambda t, _: values[t.name], FUNCTIONS, at))
        if excess.sign() > 0 or (c.equality and excess.sign()):
            return str(excess)
    return ""


@dataclass(frozen=True)
class Solvable(Kind):
    """For all values of the other symbols some ``unknown`` satisfies all equations (terms that vanish).

    The equations are linear in the unknown, and hold for each of their indices that ``point`` leaves open.
    Only for systems that need not be solvable: ``point`` offers values at which they have no solution, and
    the engine accepts it only if exact elimination agrees.
    """

    unknown: Tensor
    equations: tuple[Fact, ...]
    point: Point
    given: tuple[Given, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The system, with what its equations run over: one unknown solves all of them."""
        name, given = self.unknown.symbol, {index for index, _ in self.point.at}
        lines = r",\quad ".join(
            f"{e.term.latex()} = 0" + for_all(free(e.term) - given, r"\ ") for e in self.equations
        )
        return rf"\exists\,{name}:\quad {lines}"


def solvable(statement: Solvable, seed: int, with_mutants: bool) -> Finding:
    """Show by exact elimination that the instance has no solution, or settle nothing."""
    s = statement
    if any(not is_affine(apply_definitions(e.term.entry(), s.given), (s.unknown,)) for e in s.equations):
        detail = "the equations are not linear in the unknown"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail)])
    if any(e.relation != "=" for e in s.equations) or s.unknown in {g.tensor for g in s.given}:
        raise Malformed("a system consists of equations in an unknown that nothing defines")
    if not s.equations:
        raise Malformed("a system has equations")
    with _with_values():
        rows = _system(statement)
    if not _inconsistent(rows):
        detail = "the system at the instance has a solution"
        return Finding([Evidence("exact", "exact-rational", None, detail)])
    said = (e.term.entry() for e in s.equations)
    words = f"{s.point.words(s.given, *said)}: no {s.unknown.name} satisfies all equations"
    detail = "the linear system has no solution"
    return Finding([Evidence("exact", "exact-rational", False, detail)], counterexample=words)


def _system(statement: Solvable) -> list[list[Fraction]]:
    """Rows (coefficients of the unknown's entries, constant) of all equations at the point."""
    sizes = dict(statement.point.sizes)
    entries = list(product(*(range(sizes[dim]) for dim in statement.unknown.dims)))
    instance = statement.point.instance(statement.given)
    rows = []
    for fact in statement.equations:
        expr = apply_definitions(fact.term.entry(), statement.given)
        fixed = {i: n - 1 for i, n in statement.point.at}
        loose = sorted(ix.free_indices(expr) - fixed.keys(), key=lambda i: i.name)
        for choice in product(*(range(sizes[i.dim]) for i in loose)):
            where = {**fixed, **dict(zip(loose, choice, strict=True))}

            def value(
                unit: tuple[int, ...] | None, expr: ix.Expr = expr, where: dict[Any, Any] = where
            ) -> Fraction:
                put = {(statement.unknown, e): Fraction(int(e == unit)) for e in entries}
                moved = Instance(sizes, {**instance.values, **put}, statement.given)
                return Exponential.of(moved.evaluate(expr, where)).rational()

            constant = value(None)
            rows.append([*(value(e) - constant for e in entries), -constant])
    return rows


def _inconsistent(rows: list[list[Fraction]]) -> bool:
    """Whether the linear system has no solution, by exact elimination."""
    rows, done = [list(r) for r in rows], 0
    for column in range(len(rows[0]) - 1):
        pivot = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        for r in range(len(rows)):
            if r != done and rows[r][column]:
                factor = rows[r][column] / rows[done][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[done], strict=True)]
        done += 1
    return any(not any(r[:-1]) and r[-1] for r in rows)


ENGINES[ConvexProgram] = convex_program
ENGINES[Solvable] = solvable
