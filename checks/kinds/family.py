"""Family: one printed statement with a parameter, such as an exponent p, judged at several values of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from checks.engine.finding import Finding, conjunction
from checks.engine.judge import ENGINES, among, run
from checks.engine.printing import part_latex
from checks.engine.wellformed import check_together
from checks.statement import Kind, Malformed, parts

_OPEN, _CLOSE = r"\begin{gathered}", r"\end{gathered}"
_WORD = re.compile(r"(?<![A-Za-z\\])(exp|log|cosh|tanh)(?![A-Za-z])")
"""A function that a label names in letters, which mathematics would set as a product."""


@dataclass(frozen=True)
class Family(Kind):
    """The statements of ``cases`` (label, statement), and ``general``, in which the parameter stays a symbol.

    The family is proved where ``general`` is and every case holds, or where it has none and every case is
    proved. One case that fails refutes it. No two cases have one label or state the same: then the label
    would be all that tells them apart. One that fails where ``general`` is proved is no case of it, and
    refused.
    """

    general: Any
    cases: tuple[tuple[str, Any], ...]
    label: str = ""
    nested: ClassVar[bool] = True

    def statement_latex(self) -> str:
        """The printed statement and the values of the parameter at which it is judged."""
        if self.general is None:
            return r",\quad ".join(rf"{part_latex(case)}\ \ {{({name})}}" for name, case in self.cases)
        values = r",\ ".join([*(_WORD.sub(r"\\\1", name) for name, _ in self.cases), r"\dots"])
        shown = part_latex(self.general)
        if not self.cases:
            return shown
        lines = shown.removeprefix(_OPEN).removesuffix(_CLOSE) if shown.startswith(_OPEN) else shown
        return rf"{_OPEN}{lines} \\ ({values}){_CLOSE}"


def family(statement: Family, seed: int, with_mutants: bool) -> Finding:
    """The cases in turn, then the general statement; mutants of the last case."""
    _check_distinct(statement)
    found = []
    for n, (name, case) in enumerate(statement.cases):
        last = n == len(statement.cases) - 1
        found.append((name, judged(case, seed, with_mutants and last)))
        if found[-1][1].holds is False:
            if statement.general is not None and judged(statement.general, seed, False).proved:
                raise Malformed(f"{name} fails, and what is printed holds: it is no case of that")
            return conjunction(found)
    if statement.general is None:
        return conjunction(found)
    general = judged(statement.general, seed, with_mutants and not found)
    whole = conjunction([*found, ("general", general)])
    if all(finding.holds for _, finding in found):  # an open case may be no instance of the general statement
        whole.unproved_parts, whole.open_parts = int(not general.proved), [("", general.legs())]
    return whole


def _check_distinct(statement: Family) -> None:
    cases = [case for _, case in statement.cases]
    if len({label for label, _ in statement.cases}) < len(cases):
        raise Malformed("two cases of a family have one label")
    if any(one == other for n, one in enumerate(cases) for other in cases[:n]):
        raise Malformed("two cases of a family are told apart by their labels only")


def judged(statement: Any, seed: int, with_mutants: bool) -> Finding:
    """The finding about a statement of any kind, a conjunction included."""
    pieces = parts(statement)
    check_together(pieces)
    found = ((p, run(p, seed, with_mutants)) for p in pieces)
    return conjunction((getattr(p, "label", ""), among(pieces, p, finding)) for p, finding in found)


ENGINES[Family] = family
