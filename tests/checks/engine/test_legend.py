"""A legend explains the letters that are shown, and those that its explanations use."""

from __future__ import annotations

import re

import pytest

from checks.engine.legend import used
from checks.papers.nguyen2023.theorem1_formulas import NOTATION
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import All

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
        (r"\xi", "(u) shapes: the two sides differ", ""),
        (r"\xi", "F(u) is even", LEGEND.rpartition(";")[0] + "."),
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


def test_a_sum_is_not_the_letter_that_its_sign_looks_like() -> None:
    legend = r"$\Sigma=\operatorname{diag}(\sigma_1,\dots,\sigma_s)$; $K$ a kernel."
    assert used(legend, [r"\sum_jK_{ij}"], []) == "$K$ a kernel."
    assert used(legend, ["K_{ij}"], ["The score is Σ_j K_ij."]) == "$K$ a kernel."
    assert used(legend, ["K_{ij}"], ["The values are those of Σ."]) == legend
    assert used(legend, [r"KH=H\Sigma"], []) == legend


def test_how_lines_are_set_shows_no_letters() -> None:
    legend = r"$h$ a normaliser; $t$ a number; $r$ a rank."
    assert used(legend, [r"\begin{gathered}x\\[4pt] \begin{array}{rl}y\end{array}\end{gathered}"], []) == ""
    assert used(legend, [r"\begin{gathered}h\\[4pt] r\end{gathered}"], []) == "$h$ a normaliser; $r$ a rank."


def test_parts_that_a_legend_names_are_there_and_are_not_printed() -> None:
    naming = [
        claim for claim in load().values() if re.search(r"sides? of \([a-z]\).*not printed", claim.where)
    ]
    assert len(naming) >= 5
    for claim in naming:
        sentence = re.search(r"[^.]*not printed", claim.where)[0]
        own = assumptions_for(claim, {})
        literal = claim.literal(own) if callable(claim.literal) else claim.literal
        letters = re.findall(r"\(([a-z])\)", sentence)
        assert isinstance(literal, All) and max(letters) <= chr(ord("a") + len(literal.parts) - 1), claim.id


@pytest.mark.parametrize(
    ("id", "letters"),
    [
        ("chen2023/rem3.1", (r"\Sigma_1^2=", r"\Sigma_2^2=")),
        ("chen2023/prose-maximal-directions", (r"\Sigma_1^2=", r"\Sigma_2^2=")),
        ("chen2023/rem3.4", (r"$V\in", r"$\Sigma=")),
        ("chen2023/lem4.2", (r"$\Sigma=",)),
        ("farooq2025/eq42", ("$F$ any", "$R$ any")),
        ("farooq2025/eq20", ("$dZ$", r"$G\in")),
        ("farooq2025/prose-dg", ("$dZ$",)),
        ("farooq2025/prose-footnote4", ("$dZ$",)),
        ("wang2024/eq1", ("$w_{c,k-1}$:",)),
        ("wang2024/fig7", (r"$\alpha_k^{(c)}$",)),
        ("chen2023/alg1", (r"$W_q\in", r"$\boldsymbol{x}_i\in")),
        ("nguyen2023/rem1", ("$C$:", r"$\epsilon$:")),
        ("nguyen2023/rem3", (r"\mathbf{W}_Q,", r"$\mathbf{W}_V\in", "$D_x=D_v$")),
        ("nguyen2023/eq31", (r"$\boldsymbol{k}_j\in", r"$\boldsymbol{q}_i\in", r"$\boldsymbol{v}_j\in")),
        ("nguyen2023/def2", ("of widths $D$",)),
        ("nguyen2023/eq9", (r"intercept $\boldsymbol{b}$",)),
        ("nguyen2023/thm1", (r"input $\boldsymbol{x}$",)),
        (
            "nguyen2023/eq35",
            (r"$\boldsymbol{w}_d$", r"$\boldsymbol{b}$", r"$\boldsymbol{\xi}_j", r"$\epsilon$"),
        ),
        (
            "nguyen2023/eq38",
            (r"$\boldsymbol{w}_d$", r"$\boldsymbol{b}$", r"$\boldsymbol{\xi}_j", r"$\epsilon$"),
        ),
        ("nguyen2023/eq45", (r"$\mathbf{Q}$", r"$\mathbf{K}$", r"$\mathbf{V}$")),
        ("nguyen2023/prose-ridge-regression", ("$r_j$", r"$\rho_j$", "$C$:")),
        ("nguyen2023/eq2", (r"\boldsymbol{q}_i", r"\boldsymbol{v}_j")),
        ("nguyen2023/eq3", (r"\mathbf{Q}^s", r"\mathbf{V}^s")),
        ("nguyen2023/eq18", (r"\mathbf{Q}^s", r"\boldsymbol{q}^s_i")),
        ("farooq2025/eq22", (r"$Q,K\in",)),
        ("chen2023/eq9", (r"tokens $\boldsymbol{x}_i$",)),
        ("farooq2025/prose-l2-norm", (r"$S\in",)),
        ("farooq2025/prose-no-iterations", ("$t$",)),
        ("farooq2025/eq5", ("$G$",)),
        ("nguyen2023/eq21", (r"$\mathbf{W}$", "under the root")),
        ("chen2023/prose-dual-problem", ("$E,R$",)),
        ("wang2024/prose-initial-state", (r"$\kappa$",)),
        ("farooq2025/prose-convergence", (r"$W\in", "$z$")),
        ("farooq2025/prose-context-wells", (r"$W\in", "$u(W)$")),
        ("chen2023/prose-fx-shape", (r"$X\in", r"$f(X)\in")),
        ("nguyen2023/prose-sparse-bn-sh", (r"$\boldsymbol{k}_{m_x(j)}$", "$h_x$")),
    ],
)
def test_letters_without_which_a_statement_cannot_be_read_are_explained(
    id: str, letters: tuple[str, ...]
) -> None:
    assert all(letter in load()[id].where for letter in letters)


def test_the_epsilon_of_a_normalisation_is_not_explained_as_that_of_the_program() -> None:
    assert "$\\epsilon$:" not in load()["nguyen2023/prose-linear-bn-sh"].where


@pytest.mark.parametrize("step", ["2", "3", "4", "5", "6"])
def test_a_transpose_is_not_explained_as_the_number_of_steps(step: str) -> None:
    assert "descent steps" not in load()[f"farooq2025/tab1-step{step}"].where
