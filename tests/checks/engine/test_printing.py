"""Formulas as plain text for the terminal."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from checks.audit import current
from checks.engine.judge import judge
from checks.engine.printing import conditions_latex, part_latex
from checks.kinds.examples import Example, Point
from checks.kinds.inequality import AtLeast
from checks.kinds.positive import Positive
from checks.kinds.programs import Convex
from checks.kinds.unbounded import Bounded
from checks.run.readings import printed
from checks.statement import Fact, Identity, Malformed
from derivations.calculus import index as ix
from derivations.calculus.gradients import grad, power_p
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.masks import previous
from derivations.calculus.program import Program, Raw
from derivations.calculus.term import apply, as_term, squared_norm, sum_over
from derivations.calculus.unicode import unicode_math, with_letters


@pytest.mark.parametrize("latex, text", [
    (r"\frac{a}{b + c}", "a/(b + c)"),
    (r"\sum_{j=1}^{N} \alpha_{j} \boldsymbol{v}_{j}", "Σ_(j=1)^N α_j v_j"),
    (r"W^{\top} x \le 0", "Wᵀ x ≤ 0"),
    (r"\tilde{\alpha}_{j}", "α~_j"),
    (r"\bar Q_t", "Q¯_t"),
    (r"{{M}_{i-1}}_{ed} + {v}_{i+1}", "M_(i-1)_ed + v_(i+1)"),  # not M_i - 1
    (r"\sum_{k'=0}^{k-1} \Delta f_{\theta_{k'}}(x)", "Σ_(k'=0)^(k-1) Δ f_θ_k'(x)"),
    (r"\sum_{i=1}^{N-1} x_{i} + \sum_{j=1}^{N_s} y_{j}", "Σ_(i=1)^(N-1) x_i + Σ_(j=1)^(N_s) y_j"),
    (r"\begin{pmatrix}x \\ y - z\end{pmatrix} = 0", "[x; y - z] = 0"),
    (r"\begin{pmatrix}A & b \\ 0 & 1\end{pmatrix}", "[A, b; 0, 1]"),
    (r"\left[\begin{array}{c}A\\ B\end{array}\right]", "[A; B]"),
    (r"\sum\nolimits_{l} x_l \overset{(15)}{=} \textbf{s}^{\prime}", "Σ_l x_l =^(15) s'"),
    (r"o_{i}\coloneqq\mathrm{Tr}\bigg(A^{T}dZ\bigg)", "o_i:=Tr(AᵀdZ)"),
    (r"\sum_{j=1}^{N_HN_W} x_j + \prod_{d} y_d", "Σ_(j=1)^(N_HN_W) x_j + Π_d y_d"),
    (r"f\left(n \right)\big|_{n = 1}", "f(n)|_(n = 1)"),
    (r"\underbrace{x+1}_{\text{head $2$}}", "(x+1) [head 2]"),
    (r"\begin{gathered}a = b \\ c = d\end{gathered}", "a = b\nc = d"),
    (r"\frac{N}{2}\left(a + b\right) + x\,\frac{a}{b}", "(N/2)(a + b) + x a/b"),  # nothing joins a denominator
    (r"\frac{1}{2}\|Z\|^2 + \|\frac{a}{b}\|", "(1/2)‖Z‖² + ‖a/b‖"),
    (r"-\frac{1}{2}\,x^{\frac{p}{2}} \le \frac{a}{b} \cdot c", "-(1/2) x^(p/2) ≤ a/b · c"),
    (r"\frac{x}{2N} + \frac{2N}{x^{2}} + \frac{1}{2}", "x/(2N) + 2N/x² + 1/2"),  # not half of x times N
    (r"\sqrt{x^{2}} + \sqrt{v_{i}^{2}} + \sqrt{2N} + \sqrt{x}", "√(x²) + √(v_i²) + √(2N) + √x"),  # |x|, not x
    (r"\frac{x}{\sqrt{D(\sigma_d+\epsilon)}} + \frac{x}{2(a+b)}", "x/(√(D(σ_d+ε))) + x/(2(a+b))"),
    (r"\sqrt[3]{x^{2}} + \sqrt[3]{2N} + \sqrt{f(x)}", "(x²)^(1/3) + (2N)^(1/3) + √f(x)"),
])  # fmt: skip
def test_formulas_become_readable_lines(latex: str, text: str) -> None:
    assert unicode_math(latex) == text


def test_no_command_of_a_printed_formula_is_left_as_a_word() -> None:
    shown = [
        unicode_math(line)
        for paper in current().papers
        for item in printed(paper.key).values()
        for line in item.lines
    ]
    left = "nolimits|coloneqq|triangle|overset|underbrace|prime|textbf|textrm|bigg|array|arrow|mathbb"
    assert shown and not [line for line in shown if re.search(left, line)]


def test_only_the_names_of_letters_and_signs_change_in_words() -> None:
    said = r"D_\phi = 1, N = 2;  V = [(1, 0)]: \mu differs from \nosuchname"
    assert with_letters(said) == r"D_φ = 1, N = 2;  V = [(1, 0)]: μ differs from \nosuchname"


def test_a_derived_formula_is_not_printed_without_what_it_asks_for() -> None:
    """y x/x is printed y, and so y = y was refuted, at x = 0."""
    x, y = Tensor("x"), Tensor("y")
    for expr in (y.scalar * x.scalar / x.scalar, y.scalar + 0 * x.scalar ** Fraction(1, 2)):
        with pytest.raises(Malformed, match="not defined everywhere"):
            judge(Identity(Raw((), expr), as_term(y)))
    assert judge(Identity(Raw((), y.scalar * x.scalar / x.scalar), as_term(y), nonzero=(x,))).proved
    k, u = Index("k", "N"), Tensor("u", ("N",))
    summed = Identity(Raw((), ix.Sum(k, u[k] / u[k] / u[k])), sum_over(k, as_term(u)[k]))
    assert judge(summed).holds is False  # whatever letter the sum has
    misfit = Identity(Raw((), y.scalar * x.scalar / x.scalar), as_term(y) + as_term(u))
    assert "shapes do not agree" in str(judge(misfit))
    n, z = Index("n", "N"), Tensor("z", ())
    square = y.scalar * x.scalar / x.scalar**2  # asks for what y/x does, as that of a product for its factors
    apart = ix.Sum(n, ix.Sum(k, 1 / (u[n] - u[k] + x.scalar)))
    for expr in (square, y.scalar / (x.scalar * z.scalar), apart):
        assert judge(Identity(Raw((), expr), as_term(y))).counterexample
    seen = Identity(Raw((), y.scalar / x.scalar + 1), (as_term(y) + as_term(x)) / as_term(x))
    assert judge(seen).counterexample == "x = 0: the denominator is 0"


def test_a_condition_is_said_at_the_letters_of_the_statement() -> None:
    h, g = (Tensor(n, ("N",), n, "", f"{n}_{{%1}}", positive=n == "g") for n in "hg")
    a, j = Tensor("a", ("N",), "a", "", "a_{%1}"), Index("j", "N")
    quotient = sum_over(j, as_term(a)[j] / as_term(h)[j])
    entry = Identity(quotient, quotient + 0, nonzero=(h,))
    assert conditions_latex(entry) == r"\text{where}\quad h_{j} \ne 0"
    whole = Identity(as_term(g).T @ as_term(a), as_term(a).T @ as_term(g))
    assert conditions_latex(whole) == r"\text{where}\quad g_{i} > 0"


def test_an_exponent_below_a_derivative_has_its_range() -> None:
    X = Tensor("X", ("N",))
    slope = grad(power_p(sum_over(Index("i", "N"), as_term(X)[Index("i", "N")])), X, "E")[Index("k", "N")]
    assert r"p \in \{1, 2, 3, \dots\}" in conditions_latex(Identity(slope, slope + 1))


def test_products_that_differ_in_their_groups_alone_show_them() -> None:
    M, x = as_term(Tensor("M", ("N", "N"))), as_term(Tensor("x", ("N",)))
    assert part_latex(Identity(x.T @ M @ M @ x, x.T @ (M @ x))).count("left(") == 0
    shown = part_latex(Identity(x.T @ M @ x, x.T @ (M @ x)))
    assert unicode_math(shown) == "xᵀ M x = xᵀ (M x)"


def test_what_stands_before_the_first_row_is_that_of_the_whole_formula() -> None:
    """(u + v)_0 = 2x was printed as u + v_0 = 2x."""
    u, v, x = as_term(Tensor("u", ("N",))), as_term(Tensor("v", ("N",))), as_term(Tensor("x"))
    i = Index("i", "N")
    sums = Identity(previous(u + v, i, 2 * x), previous(u, i, x) + previous(v, i, x))
    assert judge(sums).proved
    assert r"{\left(u + v\right)}_{0} = 2\,x" in conditions_latex(sums)


def test_the_weights_of_a_kernel_have_a_letter_of_their_own() -> None:
    """w_w, or weights w beside a function w, are read as one thing."""
    points, (i, w) = Tensor("p", ("n", "d")), (Index(name, "n") for name in "iw")
    rows = as_term(points)
    for kernel, first in ((rows[w].T @ rows[i], w), (apply("w", squared_norm(rows[i])), i)):
        shown = Positive(kernel, points, first, Index("j", "n"), "R^d").statement_latex()
        assert rf" v_{{{first.name}}} v_{{j}}" in shown
    shown = Positive(rows[i].T @ rows[i], points, i, Index("j", "n"), "R^d").statement_latex()
    assert " w_{i} w_{j}" in shown


def test_notation_that_does_not_say_what_it_means_is_explained() -> None:
    q, v = as_term(Tensor("q", positive=True)), Tensor("v")
    tube = r"{\left|u\right|}_{q} = \max\left(\left|u\right| - q, 0\right)"
    charged = loss("epsilon_insensitive", v, q)
    for statement in (AtLeast(charged, as_term(0)), Convex(Program("P", (v,), charged))):
        assert part_latex(statement).count(tube) == 1
    bounded = Bounded(Program("P", (v,), charged), bound=as_term(0), gap=charged)
    assert part_latex(bounded).count(tube) == 1  # the program says it
    assert r"\operatorname{clip}(u) = \max(-1, \min(u, 1))" in part_latex(AtLeast(q, q * apply("clip", v)))


def test_a_fact_about_an_index_that_no_instance_fixes_is_said_of_each() -> None:
    i, w = Index("i", "N"), Tensor("w", ("N",))
    facts = (Fact("w", as_term(w)[i] - 1, "="),)
    sizes, shown = (("N", 2),), r"w_{i} - 1 = 0{} \quad \text{at one instance}"
    every = Example(facts, Point(sizes, ((w, (1, 1)),)))
    one = Example(facts, Point(sizes, ((w, (1, 2)),), ((i, 1),)))
    assert judge(every).proved and part_latex(every) == shown.replace("0{}", r"0\ \text{(each } i\text{)}")
    assert judge(one).proved and part_latex(one) == shown.replace("0{}", "0")
