"""Theorems about printed numbers: comparisons, roundings, and averages of rounded rows."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from checks.kernel.theorem import Theorem, filled, listed
from checks.kernel.trees import NotCovered
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.averages import Averages, Column


def arithmetic(name: str, s: Arithmetic) -> list[Theorem]:
    """The displayed comparisons of exact numbers. Raises NotCovered for one between two roundings."""
    return [_conjunction(name, [(f.words, _compared(f), _compares(f)) for f in s.figures])]


def averages(name: str, s: Averages) -> list[Theorem]:
    """Some numbers that are printed as the rows have an average that is printed as that of the column."""
    return [_conjunction(name, [(c.name, _average(c), _witness(c)) for c in s.columns])]


def false_figures(name: str, s: Arithmetic | Averages) -> list[Theorem]:
    """The theorems that comparisons and averages fail, for each that does."""
    facts = []
    if isinstance(s, Arithmetic):
        facts += [(f.words, _compared(f), "off") for f in s.figures if not f.holds()]
    else:
        facts += [(c.name, _average(c), "far") for c in s.columns if not c.possible]
    return [
        Theorem(
            f"{name}_{n}",
            f"Theorem {name}_{n} :\n{_about(words)}\n{filled(f'~ ({says}).')}",
            f"Proof. {tactic}. Qed.",
        )
        for n, (words, says, tactic) in enumerate(facts, 1)
    ]


def _about(words: str) -> str:
    """A comment that says what a fact is about."""
    shown = words.replace('"', "'").replace("*", "")
    return filled(f"(* {shown} *)")


def _conjunction(name: str, facts: Iterable[tuple[str, str, str]]) -> Theorem:
    """Facts with what they are about, and their proofs."""
    lines, proof = [f"Theorem {name} :"], ["Proof."]
    for words, says, tactic in facts:
        lines += [_about(words), filled(f"({says}) /\\")]
        proof += ["  split.", filled(f"{{ {tactic}. }}")]
    return Theorem(name, "\n".join([*lines, "  True."]), "\n".join([*proof, "  exact I.", "Qed."]))


def _number(value: Fraction) -> str:
    value = Fraction(value)
    top = f"({value.numerator})" if value < 0 else str(value.numerator)
    return top if value.denominator == 1 else f"{top} / {value.denominator}"


def _decimal(value: Fraction, digits: int) -> str:
    """A number with so many decimals, as a quotient by a power of 10."""
    top = value * 10**digits
    return f"{_number(top)} / {10**digits}" if top.denominator == 1 and digits else _number(value)


def _unit(digits: int) -> str:
    return f"({_number(Fraction(1, 10**digits))})"


def _compared(f: Figure) -> str:
    if f.relation != "rounds to":
        return f"{_number(f.computed)} {f.relation} {_number(f.printed)}"
    if f.holds() and 2 * abs(f.computed - f.printed) == Fraction(1, 10**f.digits):
        raise NotCovered("a number in the middle between two roundings")
    return f"rounds_to {_unit(f.digits)} ({_number(f.computed)}) ({_decimal(f.printed, f.digits)})"


def _compares(f: Figure) -> str:
    return "rounding" if f.relation == "rounds to" else "lra"


def _average(c: Column) -> str:
    rows = listed(_decimal(x, c.digits) for x in c.entries)
    return f"average_of {_unit(c.digits)} {rows} ({_decimal(c.printed, c.digits)})"


def _witness(c: Column) -> str:
    """The rows, all moved by half of what is missing."""
    if abs(c.mean - c.printed) >= Fraction(1, 10**c.digits):
        raise NotCovered("an average at the end of what rounding allows")
    return f"average {listed(_number(x + (c.printed - c.mean) / 2) for x in c.entries)}"
