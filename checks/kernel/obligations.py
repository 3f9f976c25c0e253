"""The theorems behind a statement, from the object that its engine decides, and what no theorem covers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from checks.engine.hypotheses import apply_definitions
from checks.engine.wellformed import check
from checks.kernel.consequences import follows
from checks.kernel.convexity import convex
from checks.kernel.counterexamples import REFUTERS, differs, failing, pieces
from checks.kernel.definedness import defined
from checks.kernel.derivatives import derivatives, joined, stationary
from checks.kernel.duality import derived, dual
from checks.kernel.equalities import equalities
from checks.kernel.falsity import example
from checks.kernel.figures import arithmetic, averages
from checks.kernel.gradients import related
from checks.kernel.implications import implication, implication_defined
from checks.kernel.induction import recurrence
from checks.kernel.limits import limit
from checks.kernel.minima import by_convexity
from checks.kernel.orders import order
from checks.kernel.semidefinite import positive
from checks.kernel.tangents import sigmoid_negative
from checks.kernel.theorem import Theorem
from checks.kernel.trees import NotCovered
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages
from checks.kinds.differs import Differs
from checks.kinds.examples import Example
from checks.kinds.extremum import Extremum, square_and_rest
from checks.kinds.family import Family
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.inequality import AtLeast
from checks.kinds.limit import Limit
from checks.kinds.order import Order
from checks.kinds.positive import Positive, SigmoidNegative
from checks.kinds.programs import Convex, Dual
from checks.kinds.recurrence import Recurrence
from checks.kinds.stacked import PrunedArguments, Stacked
from checks.kinds.stationary import Stationary, point_entry
from checks.statement import Definition, Identity, Malformed, kind, parts
from derivations.calculus import index as ix
from derivations.calculus.gradients import Bregman, at_point
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.term import NonConformable, Part, Term, as_term, subterms


@dataclass
class Exported:
    """The theorems of one part of a statement in an order in which each uses earlier ones only, and why
    something of it has none. ``settled``: there is nothing that could be shown.
    """

    kind: str
    theorems: list[Theorem] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    settled: bool = False

    @property
    def covered(self) -> bool:
        """Whether all of it has theorems."""
        return bool(self.theorems) and not self.missing


def _identity(name: str, part: Identity) -> list[Theorem]:
    return [*equalities(name, part), *joined(name, part), *related(name, part)]


def _stacked(name: str, part: Stacked) -> list[Theorem]:
    found = []
    for n, dims in enumerate(product(*(summands(dim) for dim in part.lhs.shape())), 1):
        left, right = (PrunedArguments((Part((side,), dims),)) for side in (part.lhs, part.rhs))
        found += equalities(f"{name}_block{n}", Identity(left, right, part.given, nonzero=part.nonzero))
    return found


def _follows(name: str, part: Follows) -> list[Theorem]:
    return [follows(name, part)]


def _extremum(name: str, part: Extremum) -> list[Theorem]:
    """The inequality between the energy and its value at the point, by the squares, and gaps of convex
    functions above their tangents, between them; of the only such point, also that the same value is at no
    other one.
    """
    if part.above is None:
        raise NotCovered("an extremum without a formula for what is above it")
    if part.variable.positive or part.variable.symmetric:
        raise NotCovered("an extremum over a variable with a promise")
    if part.variable in ix.tensors(apply_definitions(point_entry(part.variable, part.point), part.given)):
        raise NotCovered(f"a point that mentions {part.variable.name} itself")
    there = at_point(part.energy, part.variable, part.point)
    least = "minimum" in part.says
    sides = (part.energy, there) if least else (there, part.energy)
    squares = part.above if least else -part.above
    inequality = Follows((), *sides, as_term(0), "", ">=", squares=squares, given=part.given)
    if _assumed(part.above):
        return [by_convexity(name, part), *defined(name, inequality)]
    if part.says.removeprefix("the only ").removeprefix("a ") not in ("global minimum", "global maximum"):
        raise NotCovered(f"that a point is {part.says}")
    alone = [_alone(f"{name}_only", part, sides)] if "only" in part.says else []
    return [follows(name, inequality), *alone, *defined(name, inequality)]


def _assumed(above: Term) -> bool:
    """Whether there is a gap whose sign the library does not know: that of a function other than exp."""
    return any(isinstance(t, Bregman) and t.data != "exp" for _, t in subterms(above))


def _at_least(name: str, part: AtLeast) -> list[Theorem]:
    """The inequality, by the formula for the difference and its sign."""
    if part.above is None:
        raise NotCovered("an inequality without a formula for the difference")
    if part.lhs.shape():
        raise NotCovered("an inequality between arrays")
    if _assumed(part.above):
        raise NotCovered("a Bregman difference of a convex function other than exp")
    given, nonzero = part.given, part.nonzero
    sides = Follows((), part.lhs, part.rhs, as_term(0), "", ">=", given=given, nonzero=nonzero)
    inequality = replace(sides, squares=part.above)
    return [follows(name, inequality), *defined(name, inequality)]


def _alone(name: str, part: Extremum, sides: tuple[Term, Term]) -> Theorem:
    """Where the energy is what it is at the point, the variable is the point: their squared distance
    vanishes.
    """
    split = square_and_rest(part)
    if split is None or not part.variable.dims:
        raise NotCovered(f"that a point is {part.says}")
    at = tuple(Index(f"a{n}", dim) for n, dim in enumerate(part.variable.dims))
    residual = Tensor("rise", ())
    same = Equation(*sides, residual)
    entries = (as_term(part.variable)[at], part.point[at])
    return follows(
        name,
        Follows(
            (same,),
            *entries,
            as_term(residual),
            "",
            factor=as_term(split[0]),
            squares=split[1],
            over=at,
            given=part.given,
        ),
    )


def _convex(name: str, part: Convex) -> list[Theorem]:
    return [*convex(name, part), *derived(f"{name}_dual", part.program)]


def _implication(name: str, part: Implication) -> list[Theorem]:
    return [implication(name, part), *implication_defined(name, part)]


EXPORTERS: dict[type, Callable[[str, Any], list[Theorem]]] = {
    Identity: _identity,
    Stacked: _stacked,
    Follows: _follows,
    Implication: _implication,
    Stationary: stationary,
    Extremum: _extremum,
    AtLeast: _at_least,
    Example: example,
    Positive: positive,
    Convex: _convex,
    Recurrence: recurrence,
    Arithmetic: arithmetic,
    Averages: averages,
    Dual: dual,
    Limit: limit,
    Order: order,
    Differs: differs,
    SigmoidNegative: sigmoid_negative,
}
BESIDES: dict[type, str] = {
    Arithmetic: "how the compared numbers come from the tables: they are computed before"
}
"""What of a kind its theorems do not say."""

WITHOUT = {
    "WellPosed": "which symbols a program lists is said of its notation, not of numbers",
    "Scoped": "where an index is bound is said of the notation, not of numbers",
    "Cost": "a count of the operations of a plan, which the library does not describe",
    "Counted": "a count of the operations of a routine, which the library does not describe",
    "Grows": "how counts grow, which the library does not describe",
    "GaussianMean": "a mean over normal variables: the library has no integrals",
    "NormalMean": "a mean over normal variables: the library has no integrals",
}
"""Why kinds of statements have no theorems."""


def export(name: str, statement: Any) -> list[Exported]:
    """What is exported of each part of a statement, under names that begin with ``name``."""
    pieces = parts(statement)
    return [_part(name if len(pieces) == 1 else f"{name}_part{n}", p) for n, p in enumerate(pieces, 1)]


def refuted(name: str, statement: Any) -> list[Exported]:
    """The theorems that parts of a statement fail, and why there is none where there is none."""
    whole = Exported(kind(statement))
    whole.theorems, whole.missing = failing(name, statement)
    if not whole.theorems and not whole.missing:
        kinds = sorted({type(p).__name__ for p in parts(statement) if type(p) not in REFUTERS})
        others = [f"no theorem refutes a statement of the kind {k}" for k in kinds]
        tried = ["no exact instance refutes it"] if any(True for _ in pieces(statement)) else []
        whole.missing += [WITHOUT[k] for k in kinds if k in WITHOUT] or tried or others
    return [whole]


def _part(name: str, part: Any) -> Exported:
    own = type(part).__name__
    if isinstance(part, Definition):
        return Exported(own, missing=["a definition: there is nothing to prove"], settled=True)
    if isinstance(part, Family):
        return _family(name, part)
    if type(part) not in EXPORTERS:
        why = WITHOUT.get(own, f"no theorems are made of statements of the kind {own}")
        return Exported(own, missing=[why])
    try:
        check(part)
        theorems = [*EXPORTERS[type(part)](name, part), *derivatives(name, part)]
        if isinstance(part, Identity | Stacked | Follows | Stationary):
            theorems += defined(name, part)
        return Exported(own, theorems, [BESIDES[type(part)]] if type(part) in BESIDES else [])
    except NotCovered as why:
        return Exported(own, missing=[str(why)])
    except NonConformable as why:
        return Exported(own, missing=[f"shapes do not agree: {why}"])
    except Malformed as why:
        return Exported(own, missing=[f"the engine refuses it as well: {why}"])


def _family(name: str, part: Family) -> Exported:
    """Every case, and the general statement: that the cases are instances of it is not assumed."""
    cases = [case for _, case in part.cases] + ([] if part.general is None else [part.general])
    whole = Exported("Family")
    for n, case in enumerate(cases, 1):
        for inner in export(name if len(cases) == 1 else f"{name}_case{n}", case):
            whole.theorems += inner.theorems
            whole.missing += inner.missing
    return whole
