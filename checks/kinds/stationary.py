"""Stationary: the gradient of an energy vanishes at a point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions, defined, signs_under
from checks.engine.judge import ENGINES, identity, rejects
from checks.engine.mutants import mutants
from checks.evidence import Mutants
from checks.statement import Given, Identity, Kind, Malformed, sized
from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.differentiate import index_route
from derivations.calculus.gradients import grad, zeros
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term


@dataclass(frozen=True)
class Stationary(Kind):
    """∇_variable energy = 0 at ``variable`` = ``point``, for all values of the other symbols."""

    energy: Term
    variable: Tensor
    point: Term
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The gradient at the point, and that it is zero."""
        name = self.variable.symbol
        return (
            rf"\left.\nabla_{{{name}}}\left[{self.energy.latex()}\right]\right|_{{{name} = "
            rf"{self.point.latex()}}} = 0"
        )


def stationary(statement: Stationary, seed: int, with_mutants: bool) -> Finding:
    """Guarded gradient, then the point put in; a mutant changes the energy or the point."""
    s = replace(statement, nonzero=tuple(t for t in statement.nonzero if t != statement.variable))
    if s.energy.shape():
        raise Malformed("an energy is a number")
    if s.variable.symmetric:
        raise Malformed(f"{s.variable.name} is symmetric: its entries are not independent variables")
    if s.variable in ix.tensors(apply_definitions(point_entry(s.variable, s.point), s.given)):
        raise Malformed(f"the point mentions {s.variable.name} itself")
    finding = identity(
        Identity(
            grad(s.energy, s.variable, s.energy.latex()),
            zeros(*s.variable.dims),
            (*s.given, _point(s.variable, s.point)),
            nonzero=s.nonzero,
            reason="the point put into the gradient, normal form",
        ),
        seed,
        False,
    )
    given = (*s.given, _point(s.variable, s.point))
    if any(not signs_under(d.base, given, s.nonzero) <= d.signs for d in sg.interior(s.energy.entry())):
        detail = "the energy is not shown to be defined all around the point"
        finding.evidence = [
            replace(e, passed=None, detail=detail) if e.settles and e.passed else e for e in finding.evidence
        ]
    if with_mutants and finding.holds:
        finding.mutants = _mutate(s, seed)
    return finding


def _point(variable: Tensor, point: Term) -> Given:
    """``variable`` = ``point`` as a hypothesis: exact instances then compute each entry of the point once."""
    at = tuple(Index(f"{letter}#", dim) for letter, dim in zip("iklmno", variable.dims, strict=False))
    return Given(variable, at, point[at] if at else point, "the point")


def point_entry(variable: Tensor, point: Term) -> ix.Expr:
    """One entry of a point of the variable's shape. Raises Malformed where the shapes differ."""
    if point.shape() != variable.dims:
        raise Malformed(f"the point is {sized(point.shape())}, {variable.name} is {sized(variable.dims)}")
    return point.entry(*(Index(f"p{n}#", dim) for n, dim in enumerate(variable.dims)))


def _mutate(s: Stationary, seed: int) -> Mutants:
    result, zero = Mutants(), ix.Num(Fraction(0))
    places = tuple(Index(f"{letter}#", dim) for letter, dim in zip("pqrstu", s.variable.dims, strict=False))
    candidates = [(f"energy: {what}", e, s.point) for what, e in mutants(s.energy, 16)]
    candidates += [(f"point: {what}", s.energy, p) for what, p in mutants(s.point, 8)]
    for what, energy, point in candidates:
        slope = index_route(
            energy.entry(), s.variable, places
        )  # one route will do: a wrong one is rejected as well
        result.tried += 1
        if s.variable not in ix.tensors(energy.entry()):
            result.equivalent += 1  # constant, and so stationary everywhere
        elif rejects(slope, zero, (*s.given, _point(s.variable, point)), seed, nonzero=s.nonzero):
            result.killed += 1
        elif (
            defined([energy.entry()], (*s.given, _point(s.variable, point)), s.nonzero, seed)[0].passed
            is False
        ):
            result.killed += 1  # at the point there is no such energy
        elif stationary(Stationary(energy, s.variable, point, s.given, s.nonzero), seed, False).proved:
            result.equivalent += 1  # the other formula is stationary there as well
        else:
            result.survivors.append(f"{what}: {energy.latex()} at {point.latex()}")
    return result


ENGINES[Stationary] = stationary
