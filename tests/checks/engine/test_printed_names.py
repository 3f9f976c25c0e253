"""Names that read as entries at an index that runs, and sizes that read as what may be 0, are refused."""

from __future__ import annotations

from typing import Any

import pytest

from checks.engine.judge import judge
from checks.kinds.cost import Assign, Cost
from checks.kinds.implication import Implication
from checks.statement import Fact, Given, Identity, Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.masks import earlier, previous
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    eye,
    size,
    softmax,
    squared_norm,
    stack,
    sum_over,
    trace,
)

i, j = Index("i", "N"), Index("j", "N")
N, c, x = size("N"), as_term(Tensor("c")), as_term(Tensor("x", ("N",)))


def _symbol(latex: str, *dims: str) -> Term:
    return as_term(Tensor("s", dims, latex))


@pytest.mark.parametrize(
    "latex",
    ["s_{ij}", r"\alpha_{ij}", r"\bar{s}_{i,j}", "s_{kj}", "s_{j+1}", "s_{j'}", "s_{j}'", r"s_{j}^{\star}",
     r"s_{\mathrm{j}}", "s(j)", "s[j]", r"s_{\,j}", "s^{(j)}"],
)  # fmt: skip
def test_a_number_is_not_printed_as_an_entry(latex: str) -> None:
    """softmax_j(s_{ij}) = 1/N was proved of one number."""
    with pytest.raises(Malformed, match="printed as an entry"):
        judge(Identity(softmax(j, _symbol(latex)), 1 / N))
    with pytest.raises(Malformed, match="printed as an entry"):
        judge(
            Implication(
                (Fact("one", _symbol(latex) - 1, "="),),
                Fact("sum", sum_over(j, _symbol(latex)) - N, "="),
            )
        )


@pytest.mark.parametrize(
    "inside",
    [_symbol("v_j", "D"), apply("f", c, latex="f_j") * _symbol("v", "D"), size("n_j") * _symbol("v", "D")],
)
def test_what_is_the_same_for_all_values_is_not_printed_with_the_index(inside: Term) -> None:
    with pytest.raises(Malformed, match="one for all values of an index"):
        judge(Identity(sum_over(j, softmax(j, x[j]) * inside), inside))


@pytest.mark.parametrize("name", ["j'", "j1", "tok", "jj", "j*"])
def test_indices_of_several_letters_are_seen_too(name: str) -> None:
    with pytest.raises(Malformed, match="printed as an entry"):
        judge(Identity(softmax(Index(name, "N"), _symbol(f"s_{{{name}}}")), 1 / N))


def test_what_holds_for_each_index_of_a_definition_or_a_fact_is_not_printed_with_it() -> None:
    a, squares = as_term(Tensor("a", ("N",))), squared_norm(_symbol("v_i", "D"))
    for value in (squares, size("n_i"), apply("f", c, latex="f_i")):
        with pytest.raises(Malformed, match="one for all values of an index"):
            judge(
                Identity(
                    N * sum_over(i, a[i] ** 2), sum_over(i, a[i]) ** 2, (Given(a.data, (i,), value, ""),)
                )
            )
    with pytest.raises(Malformed, match="one for all values of an index"):
        judge(Implication((Fact("h", a[i] - squares, "="),), Fact("c", a[j] - a[Index("l", "N")], "=")))
    with pytest.raises(Malformed, match="one for all values of an index"):
        judge(Identity(sum_over(j, softmax(j, x[j]) * trace(eye("n_j"))), trace(eye("n_j"))))


def test_a_width_named_by_the_index_that_runs_over_it_stays_what_it_is() -> None:
    k, q = Index("k", "d_k"), as_term(Tensor("q", ("d_k",)))
    assert judge(Identity(sum_over(k, q[k] ** 2 / size("d_k")), squared_norm(q) / size("d_k"))).proved
    assert judge(Identity(sum_over(k, softmax(k, q[k])), as_term(1))).proved
    m = Index("m", r"N_{\max}")
    assert judge(Identity(sum_over(m, softmax(m, as_term(Tensor("u", (m.dim,)))[m])), as_term(1))).proved


@pytest.mark.parametrize("latex", ["s_{train}", r"s_{\mathrm{ij}}", "s_{k}", r"\tilde{s}", "s_1"])
def test_other_names_stay_what_they_are(latex: str) -> None:
    assert judge(Identity(softmax(j, _symbol(latex)), 1 / N)).proved


@pytest.mark.parametrize(
    "size_name, why",
    [
        ("i-1", "letter of an index"),
        ("2i", "letter of an index"),
        (r"\lfloor N/2\rfloor", "a dimension has a name"),
        (r"N \bmod 2", "a dimension has a name"),
        ("0N", "a dimension has a name"),
        ("N_{<k}", "a dimension has a name"),
        ("n(k)", "a dimension has a name"),
    ],
)
def test_a_size_that_moves_or_may_be_0_is_refused(size_name: str, why: str) -> None:
    m = Index("m", size_name)
    with pytest.raises(Malformed, match=why):
        judge(Identity(sum_over(i, sum_over(m, c)), N * sum_over(m, c)))


def test_a_range_that_is_named_by_an_index_does_not_leave_it() -> None:
    m = Index("m", "n_i")
    with pytest.raises(Malformed, match="where an index of its name runs, and elsewhere"):
        judge(Identity(sum_over(i, sum_over(m, c)), N * sum_over(m, c)))


def test_a_mask_has_one_range_and_a_plan_has_none() -> None:
    with pytest.raises(ValueError, match="a mask has one range"):
        earlier(i, Index("e", "D"))
    w, at = as_term(Tensor("w", ("n",))), Index("i", "n")
    shifted = previous(w, at) + w[at]
    plan = (Assign(Tensor("O", ("n",)), (at,), shifted),)
    with pytest.raises(Malformed, match="a plan has no masks"):
        judge(Cost("shift", plan, "n**2", stack(at, shifted), sizes=("n",)))


def test_the_start_of_a_recurrence_is_no_symbol_beside_it() -> None:
    with pytest.raises(Malformed, match="stands for a symbol"):
        judge(Identity(previous(x, i) + as_term(Tensor("x_0")), previous(x, i)))


@pytest.mark.parametrize("nothing", [as_term(2) - 2, c - c])
def test_nothing_above_nothing_is_searched_in_vain(nothing: Any) -> None:
    """The linear program had no rows."""
    assert judge(Implication((Fact("h", nothing, ">"),), Fact("c", c, ">"))).holds is None
