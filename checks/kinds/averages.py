"""Averages: printed column averages against the printed rows, with what rounding allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from checks.engine.finding import Finding
from checks.engine.judge import ENGINES
from checks.evidence import Evidence
from checks.kinds.arithmetic import rounded
from checks.statement import Kind, Malformed


@dataclass(frozen=True)
class Column:
    """The rounded entries of a column and its printed average, all with ``digits`` decimals."""

    name: str
    entries: tuple[Fraction, ...]
    printed: Fraction
    digits: int = 2

    def __post_init__(self) -> None:
        numbers = (*self.entries, self.printed)
        if not all(isinstance(x, int | Fraction) for x in numbers) or self.digits < 0:
            raise ValueError(f"{self.name}: entries are exact numbers with 0 or more decimals")

    @property
    def mean(self) -> Fraction:
        """The exact mean of the printed entries."""
        return sum(self.entries, Fraction(0)) / len(self.entries)

    @property
    def possible(self) -> bool:
        """Whether some unrounded entries have an average that rounds to the printed one.

        Entries and average are each within half a unit of what is printed, so the two differ by less than one
        unit; by one unit only where every entry and the average lie halfway between even numbers, rounded to
        even.
        """
        unit = Fraction(1, 10**self.digits)
        gap = abs(self.mean - self.printed)
        return gap < unit or (gap == unit and self.halfway)

    @property
    def halfway(self) -> bool:
        """Whether what is printed are even units, to which a number halfway between two is rounded."""
        return all(x * 10**self.digits % 2 == 0 for x in (*self.entries, self.printed))

    @property
    def strict(self) -> bool:
        """Whether the mean of the printed entries itself rounds to the printed average (half up or half
        even).
        """
        return abs(self.mean - self.printed) <= Fraction(1, 2 * 10**self.digits)


def _mean(c: Column) -> str:
    """The mean of the printed entries: a decimal where it is one, else the quotient."""
    if (c.mean * 10**4).denominator == 1:
        return rounded(c.mean, 4)
    return rf"\tfrac{{{rounded(c.mean * len(c.entries), c.digits)}}}{{{len(c.entries)}}}"


def _decimal(c: Column) -> tuple[str, bool]:
    """The mean in decimals, with more of them than are printed, and whether it is that."""
    text = rounded(c.mean, max(4, c.digits + 2))
    return text, c.mean == Fraction(text)


def _words(c: Column) -> str:
    """Why a printed average is none of its column: a whole unit is too far but where all lies halfway."""
    mean, exact = _decimal(c)
    about = "" if exact else "about "
    less, unit = "" if c.halfway else "less than ", rounded(Fraction(1, 10**c.digits), c.digits)
    return (
        f"{c.name}: the mean of the {len(c.entries)} printed rows is {about}{mean}, printed "
        f"{rounded(c.printed, c.digits)}; rounding allows {less}{unit}"
    )


@dataclass(frozen=True)
class Averages(Kind):
    """Every printed average is the average of its column, up to the rounding of both."""

    columns: tuple[Column, ...]
    label: str = ""

    def statement_latex(self) -> str:
        """One line a column."""
        lines = [
            rf"\text{{{c.name}: }} {_mean(c)} \approx {rounded(c.printed, c.digits)}" for c in self.columns
        ]
        return lines[0] if len(lines) == 1 else r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"


def averages(statement: Averages, seed: int, with_mutants: bool) -> Finding:
    """Recompute every average exactly; mutants are misprints of an average or of an entry."""
    if not statement.columns or not all(c.entries for c in statement.columns):
        raise Malformed("no column, or a column without entries")
    for c in statement.columns:
        if any((x * 10**c.digits).denominator != 1 for x in (*c.entries, c.printed)):
            raise Malformed(f"{c.name}: a number with more than {c.digits} decimals")
    wrong = [c for c in statement.columns if not c.possible]
    loose = [c.name for c in statement.columns if c.possible and not c.strict]
    detail = f"{len(statement.columns)} averages recomputed exactly"
    if loose:
        detail += f"; only with the rounding of the rows: {', '.join(loose)}"
    finding = Finding([Evidence("exact", "exact-rational", not wrong, detail, settles=True)])
    for c in statement.columns:
        mean, exact = _decimal(c)
        relation = "=" if exact else r"\approx"
        latex = rf"\text{{{c.name}: }} \tfrac{{1}}{{{len(c.entries)}}}\textstyle\sum {relation} {mean}"
        reason = f"printed {rounded(c.printed, c.digits)}: " + _reading(c)
        step = {"title": c.name, "latex": latex, "reason": reason, "grade": "exact-rational"}
        finding.steps.append({**step, "passed": c.possible})
    finding.counterexample = "; ".join(map(_words, wrong)) or None
    if with_mutants and not wrong:
        for c in statement.columns:
            for what, mutant in _mutants(c):
                finding.mutants.tried += 1
                if not mutant.possible:
                    finding.mutants.killed += 1
                else:
                    finding.mutants.survivors.append(f"{c.name}: {what}")
    return finding


def _reading(c: Column) -> str:
    if c.strict:
        return "the mean of the printed rows rounds to it"
    return "possible for unrounded rows only" if c.possible else "not possible for any rounding"


_SHOWN = 6


def _mutants(c: Column) -> list[tuple[str, Column]]:
    """The average with its last digit before the point changed, and entries with their decimal point
    misplaced.

    An entry so small that its misplaced point stays within the rounding of the average is no misprint that a
    sum could show.
    """
    found = [(f"average {sign:+d}", replace(c, printed=c.printed + sign)) for sign in (1, -1)]
    unit = Fraction(1, 10**c.digits)
    for n, entry in enumerate(c.entries):
        if 9 * abs(entry) > 2 * unit * len(c.entries) and len(found) < _SHOWN + 2:
            entries = (*c.entries[:n], 10 * entry, *c.entries[n + 1 :])
            found.append((f"row {n + 1}: {10 * entry} for {entry}", replace(c, entries=entries)))
    return found


ENGINES[Averages] = averages
