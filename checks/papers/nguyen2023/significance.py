"""What the printed means and ± of a table say of significance, which the paper claims and does not define."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.evidence import Evidence
from checks.papers.nguyen2023.table_data import COLUMNS, Table

RUNS = 5
"""Section 3: results are averages over five runs."""
LEVEL = 0.05


@dataclass(frozen=True)
class Welch:
    """A leg that tests each row of a table against the baseline. It settles nothing: that ± is the sample
    deviation over the runs is not printed. ``lower``: the table has errors, of which less is better;
    ``names``: its columns, the baseline first.
    """

    table: Table
    lower: bool = False
    names: tuple[str, ...] = COLUMNS

    def tasks(self, column: int, better: bool) -> list[str]:
        """The tasks on which a column is significantly better, or worse."""
        sign = 1 if better != self.lower else -1
        return [task for task in self.table.tasks if self._significant(task, column, sign)]

    def _significant(self, task: str, column: int, sign: int) -> bool:
        """Whether the difference has this sign and a two-sided p below the level (Welch's t-test)."""
        from scipy.stats import ttest_ind_from_stats

        row = [float(x) for x in self.table.rows[task]]
        own, base = row[2 * column : 2 * column + 2], row[:2]
        if own[0] == base[0]:
            return False
        test = ttest_ind_from_stats(*own, RUNS, *base, RUNS, equal_var=False)
        return bool(sign * test.statistic > 0 and test.pvalue < LEVEL)

    def __call__(self, assumptions: Any, options: Any) -> list[Evidence]:
        """How many differences of each column are significant."""
        said = []
        for column, name in enumerate(self.names[1:], 1):
            better, worse = self.tasks(column, True), self.tasks(column, False)
            on = f" ({', '.join(worse)})" if worse else ""
            said.append(f"{name} better on {len(better)} and worse on {len(worse)}{on}")
        detail = (
            f"Welch's test at {LEVEL:.0%}, each row against {self.names[0]}, {RUNS} runs, ± taken as a "
            f"sample deviation: of {len(self.table.tasks)} rows {'; '.join(said)}"
        )
        return [Evidence("exact", "measured", None, detail)]
