"""Grouping of derived sums for print: what belongs together is taken together, and nothing else."""

from __future__ import annotations

from fractions import Fraction

import pytest

from derivations.calculus import normal as nf
from derivations.calculus.grouping import grouped
from derivations.calculus.index import Index, Sum, Tensor, rename
from derivations.calculus.printing import form_latex, to_expr
from derivations.calculus.term import as_term

i, j = Index("i", "N"), Index("j", "N")
a, b, y = (Tensor(name, ("N",)) for name in ("a", "b", "y"))
x = Tensor("x", ("N", "D"), row_latex="x_{%1}")
c = Index("c", "D")
HALF = Fraction(1, 2)


def over(body: object) -> object:
    return Sum(i, Sum(j, body))


GRAM = Sum(c, x[i, c] * x[j, c])
SQUARE = over((a[i] * a[j] - 2 * (a[i] * b[j]) + b[i] * b[j]) * GRAM * HALF)


@pytest.mark.parametrize(
    ("expr", "printed"),
    [
        (Sum(j, a[j] * y[j] - b[j] * y[j]), r"\sum_{j=1}^{N} \left({a}_{j} - {b}_{j}\right)\,{y}_{j}"),
        (Sum(j, a[j] + b[j]), r"\sum_{j=1}^{N} \left({a}_{j} + {b}_{j}\right)"),
        (
            -1 * SQUARE,
            r"-\tfrac{1}{2}\,\sum_{j=1}^{N} \sum_{k=1}^{N} \left({a}_{j} - {b}_{j}\right)\,"
            r"\left({a}_{k} - {b}_{k}\right)\,x_{j}^{\top} x_{k}",
        ),
        (Sum(c, x[i, c] ** 2), r"\left\|x_{i}\right\|^{2}"),
        (a[i] - b[i], "{a}_{i} - {b}_{i}"),  # nothing to be taken out of it
        (Sum(j, 2 * (a[j] * y[j]) - b[j] * y[j]), None),
        (
            over((a[i] * a[j] - b[i] * b[j]) * GRAM),
            None,
        ),  # (a - b)(a + b) only where the weight is one number
        (over((a[i] * a[j] - a[i] * b[j] + b[i] * b[j]) * GRAM), None),
    ],
)
def test_pairs_are_taken_together_where_the_product_is_the_sum(expr: object, printed: str | None) -> None:
    form = nf.normal(expr)
    if printed is None:
        assert grouped(form) == form
    else:
        assert form_latex(form) == printed


def test_a_group_multiplies_out_to_its_form() -> None:
    form = nf.normal(SQUARE)
    assert len(grouped(form)) == 1 < len(form) == 3
    assert nf.normal(to_expr(grouped(form))) == form


def test_a_sum_whose_index_stands_elsewhere_too_is_no_inner_product() -> None:
    weight = Tensor("w", ("D",))
    printed = form_latex(nf.normal(Sum(c, x[i, c] * x[j, c] * weight[c])))
    assert r"\top" not in printed
    assert as_term(weight).latex() == "w"
    assert r"\top" not in form_latex(nf.normal(Sum(i, rename(y[i], {}) * a[i] * x[i, c])))
