"""Arithmetic: a printed table or text agrees with itself, recomputed exactly."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from fractions import Fraction

from checks.engine.finding import Finding
from checks.engine.judge import ENGINES
from checks.evidence import Evidence
from checks.statement import Kind, Malformed

_COMPARED = {"=": operator.eq, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Figure:
    """One printed number or comparison.

    ``relation`` is "=", "<", ">", "<=", ">=" between ``computed`` and ``printed``, or "rounds to": the
    computed value rounds (half up or half even) to the printed one at ``digits`` decimals.
    """

    words: str
    computed: Fraction
    relation: str
    printed: Fraction
    digits: int = 2

    def __post_init__(self) -> None:
        exact = all(type(x) in (int, Fraction) for x in (self.computed, self.printed))
        if not exact or not isinstance(self.digits, int) or self.digits < 0:
            raise ValueError(f"{self.words}: figures are exact numbers with 0 or more decimals")
        if self.relation not in (*_COMPARED, "rounds to"):
            raise ValueError(f"{self.words}: unknown relation {self.relation!r}")

    def holds(self) -> bool:
        """Whether the relation is true, exactly."""
        if self.relation in _COMPARED:
            return bool(_COMPARED[self.relation](self.computed, self.printed))
        scaled = self.computed * 10**self.digits
        away = math.floor(abs(scaled) + Fraction(1, 2)) * (1 if scaled >= 0 else -1)
        up = math.floor(scaled + Fraction(1, 2))  # of a number below 0 "half up" is said of both
        return self.printed * 10**self.digits in (away, up, round(scaled))


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
    near = figure.relation == "rounds to"
    shown = _shown(figure)[0] if near else _exact(figure.computed, 0)
    relation = {"rounds to": r"\approx", "<=": r"\le", ">=": r"\ge"}.get(figure.relation, figure.relation)
    return f"{shown} {relation} {_exact(figure.printed, figure.digits)}"


def _shown(figure: Figure) -> tuple[str, str]:
    """The computed and the printed number with so many digits that they compare as the exact ones do; as
    fractions where these are too many.
    """
    for digits in range(figure.digits + 2, _LONGEST + 1):
        least = figure.digits if figure.relation == "rounds to" else digits
        computed, printed = rounded(figure.computed, digits), rounded(figure.printed, least)
        seen = replace(figure, computed=Fraction(computed), printed=Fraction(printed))
        if seen.holds() == figure.holds():
            return computed, printed
    return str(figure.computed), str(figure.printed)


_LONGEST = 12
"""Decimals up to which an exact number is shown as one; beyond, and where they never end, as a fraction."""


def _exact(value: Fraction, least: int) -> str:
    """A number as it is: whole, in decimals (at least so many), or as a fraction."""
    value = Fraction(value)
    places = next((n for n in range(_LONGEST + 1) if (value * 10**n).denominator == 1), None)
    if places is None:
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    return rounded(value, max(places, least) if places else 0)


def rounded(value: Fraction, digits: int) -> str:
    """A number rounded to so many decimals; a whole one without any."""
    if value.denominator == 1:
        return str(value)
    whole, part = divmod(abs(round(value * 10**digits)), 10**digits)
    sign = "-" if value < 0 and (whole or part) else ""
    return f"{sign}{whole}" + (f".{part:0{digits}d}" if digits else "")


def arithmetic(statement: Arithmetic, seed: int, with_mutants: bool) -> Finding:
    """Recompute every figure; a mutant moves a printed number by units of its last digit, or turns a
    comparison around.
    """
    if not statement.figures:
        raise Malformed("no figure is stated")
    for f in statement.figures:
        if f.relation == "rounds to" and (f.printed * 10**f.digits).denominator != 1:
            raise Malformed(f"{f.words}: {f.printed} has more than {f.digits} decimals")
    wrong = [f for f in statement.figures if not f.holds()]
    detail = f"{len(statement.figures)} figures recomputed exactly"
    finding = Finding([Evidence("exact", "exact-rational", not wrong, detail, settles=True)])
    for f in wrong:
        computed, printed = _shown(f)
        fails = "does not round to" if f.relation == "rounds to" else f"is not {f.relation}"
        text = f"{f.words}: recomputed {computed}, which {fails} {printed}"
        finding.counterexample = f"{finding.counterexample}; {text}" if finding.counterexample else text
    if with_mutants and not wrong:
        for f in statement.figures:
            for what, mutant in _mutants(f):
                finding.mutants.tried += 1
                if not mutant.holds():
                    finding.mutants.killed += 1
                else:
                    finding.mutants.survivors.append(f"{f.words}: {what}")
    return finding


_TURNED = {"<": ">", ">": "<", "<=": ">", ">=": "<"}


def _mutants(figure: Figure) -> list[tuple[str, Figure]]:
    """The printed number one unit of its last digit up and down (two where rounding leaves both), or the
    relation turned.

    A comparison with a slightly different number may be as true as the printed one: it is no wrong version.
    """
    if figure.relation in _TURNED:
        return [("turned around", replace(figure, relation=_TURNED[figure.relation]))]
    unit = Fraction(1, 10**figure.digits)
    tie = figure.relation == "rounds to" and abs(figure.computed - figure.printed) == unit / 2
    return [
        (f"{'up' if step > 0 else 'down'} in the last digit", replace(figure, printed=figure.printed + step))
        for step in (unit * (1 + tie), -unit * (1 + tie))
    ]


ENGINES[Arithmetic] = arithmetic
