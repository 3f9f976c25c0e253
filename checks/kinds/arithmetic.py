"""Arithmetic: a printed table or text agrees with itself, recomputed exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from checks.engines import ENGINES, Finding
from checks.record import Evidence
from checks.statement import Kind


@dataclass(frozen=True)
class Figure:
    """One printed number or comparison.

    ``relation`` is "=", "<", ">", "<=", ">=" between ``computed`` and ``printed``, or "rounds to": the computed value
    rounds (half up or half even) to the printed one at ``digits`` decimals.
    """

    words: str
    computed: Fraction
    relation: str
    printed: Fraction
    digits: int = 2

    def holds(self) -> bool:
        """Whether the relation is true, exactly."""
        match self.relation:
            case "=":
                return self.computed == self.printed
            case "<":
                return self.computed < self.printed
            case ">":
                return self.computed > self.printed
            case "<=":
                return self.computed <= self.printed
            case ">=":
                return self.computed >= self.printed
            case "rounds to":
                return abs(self.computed - self.printed) <= Fraction(1, 2 * 10**self.digits)
        raise ValueError(f"unknown relation {self.relation!r}")


@dataclass(frozen=True)
class Arithmetic(Kind):
    """All figures agree."""

    figures: tuple[Figure, ...]
    label: str = ""

    def statement_latex(self) -> str:
        """The figures, one a line."""
        lines = [rf"\text{{{_plain(f.words)}: }} {_number(f)}" for f in self.figures]
        return lines[0] if len(lines) == 1 else r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"


def _plain(words: str) -> str:
    for character in "&%#_$":
        words = words.replace(character, rf"\{character}")
    return words


def _number(figure: Figure) -> str:
    value = figure.computed
    shown = str(value) if value.denominator == 1 else f"{float(value):.{figure.digits + 2}f}"
    relation = {"rounds to": r"\approx", "<=": r"\le", ">=": r"\ge"}.get(figure.relation, figure.relation)
    printed = (
        f"{float(figure.printed):.{figure.digits}f}"
        if figure.printed.denominator != 1
        else str(figure.printed)
    )
    return f"{shown} {relation} {printed}"


def arithmetic(statement: Arithmetic, seed: int, with_mutants: bool) -> Finding:
    """Recompute every figure; a mutant moves a printed number by one unit of its last digit, or across the relation."""
    wrong = [f for f in statement.figures if not f.holds()]
    detail = f"{len(statement.figures)} figures recomputed exactly"
    finding = Finding([Evidence("exact", "exact-rational", not wrong, detail, settles=True)])
    for f in wrong:
        text = f"{f.words}: recomputed {float(f.computed):.{f.digits + 2}f}, which is not {f.relation} {float(f.printed):.{f.digits}f}"
        finding.counterexample = f"{finding.counterexample}; {text}" if finding.counterexample else text
    if with_mutants and not wrong:
        for f in statement.figures:
            finding.mutants.tried += 1
            finding.mutants.killed += not Figure(f.words, f.computed, f.relation, _moved(f), f.digits).holds()
    return finding


def _moved(figure: Figure) -> Fraction:
    unit = Fraction(1, 10**figure.digits)
    if figure.relation in ("<", "<="):
        return figure.computed - unit
    if figure.relation in (">", ">="):
        return figure.computed + unit
    return figure.printed + 2 * unit


ENGINES[Arithmetic] = arithmetic
