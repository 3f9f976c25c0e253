"""A legend explains the letters that are shown, and those that its explanations use."""

from __future__ import annotations

import pytest

from checks.engine.legend import used
from checks.papers.nguyen2023.theorem1_formulas import NOTATION

LEGEND = r"$A\in\mathbb{R}^{n\times n}$ weights, $V$ values; $u_j=\sum_m A_{mj}w_m$; multipliers $\boldsymbol{\eta}_j$."


@pytest.mark.parametrize(
    ("formula", "prose", "left"),
    [
        (r"\tilde{\eta}_j", "", r"Multipliers $\boldsymbol{\eta}_j$."),
        ("V", "", r"$A\in\mathbb{R}^{n\times n}$ weights, $V$ values."),
        ("u", "", LEGEND.rpartition(";")[0] + "."),
        (r"\xi", "any η", r"Multipliers $\boldsymbol{\eta}_j$."),
        (r"\text{A and V}", "Vectors of u-turns", LEGEND.rpartition(";")[0] + "."),
        (r"\xi", "", ""),
    ],
)
def test_clauses_of_letters_that_are_not_shown_are_left_out(formula: str, prose: str, left: str) -> None:
    assert used(LEGEND, [formula], [prose]) == left


def test_a_clause_without_letters_stays_and_brackets_hold_a_clause_together() -> None:
    legend = r"Rows as printed; (in brackets; one clause) $x$. Averages have one decimal. $y>0$"
    assert used(legend, ["z"], []) == "Rows as printed. Averages have one decimal."
    assert used(legend, ["xy"], []) == legend


def test_a_claim_without_slacks_has_none_in_its_legend() -> None:
    left = used(NOTATION, [r"f(\boldsymbol{x}) = \sum_{j=1}^{N} \boldsymbol{\alpha}_j"], [])
    assert r"\boldsymbol{\alpha}" in left and r"\boldsymbol{\xi}" not in left and r"\eta" not in left
