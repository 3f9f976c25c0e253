"""Wide formulas are set so that they break, and stay the same formulas."""

from __future__ import annotations

import re

import pytest

from book.breaking import WIDE, broken
from book.markup import _lines as lines
from checks.run.theories import theories

TERM = r"\alpha_{i}\,x_{i} + \beta_{i}\,y_{i} + \gamma_{i}\,z_{i} + \delta_{i}\,u_{i} + \epsilon_{i}\,v_{i}"
LONG = " + ".join([TERM] * 3)


def plain(latex: str) -> str:
    """A formula without what only says how its brackets are set."""
    latex = re.sub(r"\\[bB]igg?[lr]?(?![a-z])|\\(?:left|right)(?![a-z])\.?|\\allowbreak", "", latex)
    return re.sub(r"\\text|[{}\s]", "", latex)


@pytest.mark.parametrize(
    "row",
    [
        rf"y = \left({LONG}\right)^{{2}} + 1",
        rf"{{\left({LONG}\right)}}_{{ij}} = 0",
        rf"\left.\left({LONG}\right)\right|_{{Z = A V}} = 1",
        rf"\left[\exp\left({LONG}\right)\right]_{{i=1}}^{{N}}",
        rf"\left\|{LONG}\right\|^{{2}} \ge 0",
        rf"a \leftarrow b \rightarrow c + \sqrt{{\left({LONG}\right)}}_{{2}}",
    ],
)
def test_brackets_are_opened_and_nothing_else_changes(row):
    (line,) = broken(row)
    assert plain(line) == plain(row)
    outside = re.sub(r"\\sqrt\{.*\}_", "", line)
    assert r"\left(" not in outside and r"\left[" not in outside and r"\left\|" not in outside


@pytest.mark.parametrize("kept", [r"\left(a + b\right)^{2}", r"\frac{a + b}{c}", r"x \leftarrow y"])
def test_a_short_formula_stays_as_it_is(kept):
    assert broken(kept) == [kept]


@pytest.mark.parametrize(
    "kept",
    [
        rf"{LONG} + \begin{{pmatrix}}\left(a\right) & b\end{{pmatrix}}",
        rf"{LONG} + \sqrt{{\left(a\right)}}_{{1}} + \frac{{\left(a\right)}}{{b}} + \frac1{{\left(a\right)}}",
    ],
)
def test_matrices_arguments_and_short_fractions_stay_as_they_are(kept):
    (line,) = broken(kept)
    assert line.replace(r"\allowbreak ", "") == kept


def test_a_wide_fraction_is_set_in_one_line_as_one_factor():
    (line,) = broken(rf"2\,\frac{{{LONG}}}{{x + y}}\,z")
    assert r"\frac" not in line
    assert plain(line) == plain(rf"2\,[({LONG})/(x + y)]\,z")


def test_the_rows_of_a_program_become_lines():
    rows = [rf"\operatorname{{minimise}}\quad {LONG}", rf"\text{{subject to}}\quad {TERM} \le 1"]
    body = r" \\ ".join(row.replace(r"\quad ", r"\quad & ") for row in rows)
    assert [plain(line) for line in broken(rf"\begin{{aligned}}{body}\end{{aligned}}")] == [*map(plain, rows)]


def test_the_formulas_of_the_derivations_stay_the_same():
    steps = [step for t in theories().values() for step in t.derive(t.defaults)]
    rows = {row for step in steps for row in lines(step.latex)}
    opened = {row for row in rows if broken(row) != [row]}
    assert len(opened) > 5
    for row in opened:
        if not re.search(r"\\begin\{|\\frac", row):
            assert plain("".join(broken(row))) == plain(row)


@pytest.mark.parametrize(
    ("row", "count"),
    [
        (rf"\text{{(b)}}\quad \begin{{aligned}} x & = {LONG} \\ & \le 1\end{{aligned}}", 2),
        (rf"\text{{(a)}}\quad \begin{{gathered}}{LONG} = 0 \\ \text{{where}}\quad x > 0\end{{gathered}}", 2),
        (rf"1 + \left(\begin{{gathered}}{LONG} \\ x\end{{gathered}}\right)", 1),
        (rf"\begin{{aligned}}{LONG} \\ x\end{{aligned}}\quad\begin{{aligned}}y\end{{aligned}}", 1),
    ],
)
def test_an_environment_at_the_end_gives_its_lines(row, count):
    lines = broken(row)
    assert len(lines) == count
    if count > 1:
        kept = re.sub(r"\\(begin|end)\{\w+\}|\\\\|&", "", row)
        assert plain("".join(lines)) == plain(kept)
    else:
        assert plain(lines[0]) == plain(row)


def test_lists_and_words_can_break():
    (line,) = broken(
        rf"\text{{of all words that there are, some}}: {LONG}, b,\quad \text{{each $i, j$ here}}"
    )
    assert line.count(r"\allowbreak") == 6 + 3 + 2 and "$i, j$" in line
    assert plain(line) == plain(
        rf"\text{{of all words that there are, some}}: {LONG}, b,\quad \text{{each $i, j$ here}}"
    )


def test_what_is_wide_is_what_does_not_fit_a_phone():
    assert broken(r"\left(" + "a + " * (WIDE // 2 - 4) + r"a\right)")[0].startswith(r"\left")
    assert broken(r"\left(" + "a + " * WIDE + r"a\right)")[0].startswith(r"\bigl")
