"""Differs: two formulas are not the same function; refuted by proving that they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from checks.engine.finding import Finding
from checks.engine.hypotheses import check_given
from checks.engine.instances import Instance, describe, exact_instances
from checks.engine.judge import ENGINES, conformable, identity
from checks.engine.notation import all_terms
from checks.evidence import Evidence
from checks.statement import Given, Identity, Kind, Malformed
from derivations.calculus import index as ix
from derivations.calculus.functions import is_unknown
from derivations.calculus.gradients import Bregman
from derivations.calculus.index import Index
from derivations.calculus.term import Apply, Term


@dataclass(frozen=True)
class Differs(Kind):
    """For some values of the symbols, and some functions where one has no known meaning, the two sides
    differ.
    """

    exists: ClassVar[bool] = True
    lhs: Term
    rhs: Term
    given: tuple[Given, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The inequality, with its quantifier."""
        unknown = {t.data: t.data for t in all_terms(self) if isinstance(t, Bregman)}
        unknown |= {t.data[0]: t.data[1].strip() for t in all_terms(self) if isinstance(t, Apply)}
        shown = ((f, latex if f == latex else rf"}}{latex}\text{{") for f, latex in unknown.items())
        some = ", ".join(latex for f, latex in sorted(shown) if is_unknown(f))
        words = f"for some values and some {some}" if some else "for some values"
        return rf"{self.lhs.latex()} \ne {self.rhs.latex()} \quad \text{{{words}}}"


def differs(statement: Differs, seed: int, with_mutants: bool) -> Finding:
    """An instance at which both sides have a value and these differ proves it, a proof of equality
    refutes it.
    """
    shapes = conformable(statement.lhs, statement.rhs)
    if not shapes.passed:
        raise Malformed(f"formulas of different shapes are not compared: {shapes.detail}")
    same = identity(Identity(statement.lhs, statement.rhs, statement.given), seed, False)
    if same.proved:
        detail = "both sides have the same normal form"
        finding = Finding([Evidence("derivation", "exact-symbolic", False, detail)], steps=same.steps)
        finding.counterexample = "for all values of the symbols both sides are equal"
        return finding
    found = difference(statement, seed)
    if found:
        instance, where = found
        sides = (instance.value(side, where) for side in entries(statement))
        values = f"left side {next(sides)}, right side {next(sides)}"
        detail = f"they differ: {describe(instance, where, *entries(statement))}: {values}"
        return Finding([Evidence("exact", "exact-rational", True, detail, settles=True)])
    detail = "neither equal nor different could be shown"
    return Finding([Evidence("derivation", "exact-symbolic", None, detail)])


def entries(statement: Differs) -> tuple[ix.Expr, ix.Expr]:
    """An entry of each side, at the same indices each time."""
    at = places(statement)
    return statement.lhs.entry(*at), statement.rhs.entry(*at)


def places(statement: Differs) -> tuple[Index, ...]:
    """Indices for an entry of either side."""
    return tuple(Index(f"e{n}#", d) for n, d in enumerate(statement.lhs.shape()))


def difference(statement: Differs, seed: int) -> tuple[Instance, dict[Index, int]] | None:
    """An instance, and indices, at which both sides are defined and differ."""
    check_given(statement.given)
    sides = entries(statement)
    for instance, points in exact_instances(list(sides), statement.given, seed, 6, True):
        for where in points:
            if instance.same(*sides, where) is False:
                return instance, where
    return None


ENGINES[Differs] = differs
