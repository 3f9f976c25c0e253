"""Differs: two formulas are not the same function; refuted by proving that they are."""

from __future__ import annotations

from dataclasses import dataclass

from checks.engines import ENGINES, Finding, identity
from checks.record import Evidence
from checks.statement import Given, Identity, Kind
from derivations.term import Term


@dataclass(frozen=True)
class Differs(Kind):
    """For some values of the symbols the two sides differ."""

    lhs: Term
    rhs: Term
    given: tuple[Given, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The inequality, with its quantifier."""
        return rf"{self.lhs.latex()} \ne {self.rhs.latex()} \quad \text{{for some values}}"


def differs(statement: Differs, seed: int, with_mutants: bool) -> Finding:
    """An exact instance at which the sides differ proves it, a symbolic proof of equality refutes it."""
    same = identity(Identity(statement.lhs, statement.rhs, statement.given), seed, False)
    if same.holds is False:
        detail = f"they differ: {same.counterexample}"
        return Finding([Evidence("exact", "exact-rational", True, detail, settles=True)])
    if same.proved:
        finding = Finding(
            [Evidence("derivation", "exact-symbolic", False, "both sides have the same normal form")]
        )
        finding.steps, finding.counterexample = (
            same.steps,
            "for all values of the symbols both sides are equal",
        )
        return finding
    return Finding(
        [Evidence("derivation", "exact-symbolic", None, "neither equal nor different could be shown")]
    )


ENGINES[Differs] = differs
