"""How expressions are printed: a wide power of a sum stays a power, a narrow one is multiplied out."""

from __future__ import annotations

from derivations.calculus.index import Dim, Index, Sum, Tensor
from derivations.calculus.normal import normal
from derivations.calculus.printing import WIDEST, form_latex, latex

i, c = Index("i", "N"), Index("c", "D")
a, b = (Tensor(name, ("N",)) for name in ("a", "b"))
x = Tensor("x", ("N", "D"), row_latex="x_{%1}")


def test_a_narrow_power_is_multiplied_out():
    assert latex((a[i] + b[i]) ** 2) == form_latex(normal((a[i] + b[i]) ** 2))


def test_a_power_of_very_many_terms_stays_a_power():
    base = a[i] + b[i] + 1
    shown = latex(Sum(i, base**WIDEST))
    assert shown.startswith(r"\sum_{j=1}^{N} {\left(") and shown.endswith(rf"\right)}}^{{{WIDEST}}}")


def test_indices_within_a_power_that_stays_keep_their_names_apart():
    left = Sum(c, x[i, c] * x[i, c]) + a[i] + b[i]
    assert latex(left**9 * Sum(i, a[i])) == (
        r"\sum_{j=1}^{N} {\left(\left\|x_{i}\right\|^{2} + {a}_{i} + {b}_{i}\right)}^{9}\,{a}_{j}"
    )


def test_a_size_that_is_a_difference_is_one_factor():
    """N N-1 a would be read as N² - a."""
    shown = latex(Dim("N") * Dim("N-1") * a[i])
    assert shown == r"N\,\left(N-1\right)\,{a}_{i}"
    assert (
        latex(Dim("N{-}1") ** 2) == r"{\left(N{-}1\right)}^{2}"
        and latex(Dim("2N") ** 2) == r"\left(2N\right)^{2}"
    )
    assert latex(Dim("D_v") ** 2 / Dim("N-1")) == r"\frac{{D_v}^{2}}{N-1}"
