"""Family: one printed statement with a parameter, such as an exponent p, judged at several values of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.engines import ENGINES, Finding
from checks.printing import part_latex
from checks.statement import Kind


@dataclass(frozen=True)
class Family(Kind):
    """The statements of ``cases`` (label, statement), and ``general``, in which the parameter stays a symbol.

    The family is proved where ``general`` is, or where it has none and every case is proved (``general`` is then only
    printed: ``printed_only``). One case that fails refutes it.
    """

    general: Any
    cases: tuple[tuple[str, Any], ...]
    printed_only: bool = False
    label: str = ""

    def statement_latex(self) -> str:
        """The printed statement and the values of the parameter at which it is judged."""
        values = r",\ ".join(name for name, _ in self.cases)
        more = "" if self.printed_only else r",\ \dots"
        return rf"{part_latex(self.general)} \qquad ({values}{more})"


def family(statement: Family, seed: int, with_mutants: bool) -> Finding:
    """The cases in turn, then the general statement; mutants of the last case."""
    whole = Finding()
    unproved = 0
    for n, (name, case) in enumerate(statement.cases):
        finding = ENGINES[type(case)](case, seed, with_mutants and n == len(statement.cases) - 1)
        whole.merge(finding, name)
        unproved += not finding.proved
        if finding.holds is False:
            break
    else:
        if not statement.printed_only:
            finding = ENGINES[type(statement.general)](statement.general, seed, False)
            whole.merge(finding, "general")
            unproved = int(not finding.proved)
    whole.unproved_parts = unproved
    return whole


ENGINES[Family] = family
