"""Mutants: made from the formula, well-shaped, really different, and honest about those that are not
noticed.
"""

from __future__ import annotations

from typing import Any

import pytest

from checks.engine.judge import judge
from checks.engine.mutants import mutants
from checks.kinds.implication import Implication
from checks.statement import All, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.masks import not_later
from derivations.calculus.maxima import maximum
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    exp,
    free,
    row_softmax,
    softmax,
    squared_norm,
    stack,
    sum_over,
)

i, j = Index("i", "N"), Index("j", "N")
A, K = Tensor("A", ("N", "N")), Tensor("K", ("N", "D"))
X, Y, S, T, R = Tensor("x", ("N",)), Tensor("y", ("N",)), Tensor("s"), Tensor("t"), Tensor("r")
a, k, x, y, s, t, r = (as_term(q) for q in (A, K, X, Y, S, T, R))


def words(term: Term) -> set[str]:
    return {what for what, _ in mutants(term)}


@pytest.mark.parametrize("term, expected", [
    (s - t, {"sign of term 1 flipped", "sign of term 2 flipped", "term 1 dropped", "term 2 dropped"}),
    (x / s, {"denominator dropped", "fraction doubled"}),
    (stack(i, softmax(j, a[i, j])), {"softmax without its normaliser", "index i replaced by j",
                                     "softmax over i instead"}),
    (a @ x, set()),
    (a.T @ x, {"transpose lost"}),
    (squared_norm(x) * 2, {"constant plus one"}),
    (s**2, {"exponent plus one"}),
    (sum_over(i, x[i] * y[i]), {"sum doubled", "x replaced by y", "y replaced by x"}),
    (exp(s), {"negative argument"}),
    (a @ a.T, {"factors swapped"}),
    (maximum(s, t), {"the first instead of the maximum", "the second instead of the maximum"}),
    (sum_over(j, not_later(j, i) * x[j]), {"the mask without its diagonal", "the mask turned around"}),
    (row_softmax(a), {"row softmax without its normaliser", "softmax of the columns"}),
])  # fmt: skip
def test_the_changes_that_a_formula_invites(term: Term, expected: set[str]) -> None:
    assert expected <= words(term)


@pytest.mark.parametrize("term", [
    row_softmax(k @ k.T) @ k, stack(i, sum_over(j, softmax(j, a[i, j]) * x[j])), squared_norm(a.T @ x - y) / (s + 1), a @ a.T,
])  # fmt: skip
def test_mutants_are_well_shaped_different_and_no_more_than_asked_for(term: Term) -> None:
    found = mutants(term)
    assert found and len({m for _, m in found}) == len(found)
    for _, mutant in found:
        assert mutant != term and mutant.shape() == term.shape() and free(mutant) == free(term)
        mutant.entry(*(Index(f"e{n}", dim) for n, dim in enumerate(mutant.shape())))
        assert mutant.latex()
    assert len(mutants(term, 3)) == min(3, len(found))
    assert {m for _, m in mutants(term, 3)} <= {m for _, m in found}


def test_a_mutant_never_has_a_loose_index_that_the_formula_has_not() -> None:
    assert all(free(m) == {i} for _, m in mutants(sum_over(j, a[i, j] * x[j])))


def test_every_mutant_of_a_checked_formula_is_counted() -> None:
    finding = judge(Identity(squared_norm(x + y), squared_norm(x) + 2 * x.T @ y + squared_norm(y)))
    m = finding.mutants
    assert m.tried == m.killed + m.equivalent + len(m.survivors) > 0 and not m.survivors


def test_equivalent_mutants_are_recognised() -> None:
    symmetric = as_term(Tensor("S", ("N", "N"), symmetric=True))
    finding = judge(Identity(symmetric.T @ x, stack(i, sum_over(j, symmetric[i, j] * x[j]))))
    assert finding.proved and finding.mutants.equivalent > 0 and not finding.mutants.survivors


def test_a_mutant_that_says_what_its_side_said_is_none_though_the_statement_is_open() -> None:
    size_, twice = apply("abs", s), apply("log", 1 + 2 * s**2 + s**4)
    found = judge(Identity(size_ * twice, size_ * 2 * apply("log", 1 + s**2)))
    assert not found.proved and found.mutants.equivalent == 2 and not found.mutants.survivors, "|-s| = |s|"
    assert found.mutants.killed == found.mutants.tried - 2 > 0


def test_a_formula_that_is_checked_for_nothing_rejects_no_mutant() -> None:
    """Under the definition r = 0 both sides vanish: whatever else the formula says is not checked, and
    it shows.
    """
    vacuous = Given(R, (), 0 * s, "nothing is left")
    finding = judge(Identity(r * (s + t), r * (s - t), given=(vacuous,)))
    other = [what for what, _ in mutants(r * (s + t), 24)] + [what for what, _ in mutants(r * (s - t), 24)]
    assert finding.mutants.tried >= len(other)
    assert finding.mutants.equivalent + len(finding.mutants.survivors) > finding.mutants.killed


def test_survivors_are_listed_with_their_formula() -> None:
    """No rule knows that elu + 1 is its pieces: a mutant that says so is neither rejected nor proved equal."""
    none = apply("elu1", s) - apply("relu", s) - exp(-apply("relu", -s))
    finding = judge(Identity(none * s + t, t + none * s))
    assert finding.proved and finding.mutants.survivors
    assert all(": " in text for text in finding.mutants.survivors)
    assert (
        len(finding.mutants.survivors)
        == finding.mutants.tried - finding.mutants.killed - finding.mutants.equivalent
    )


def test_mutants_of_a_conclusion_must_lose_their_certificate() -> None:
    claim: Any = Implication((Fact("s", s, ">="), Fact("t", t, ">=")), Fact("sum", s + t, ">="),
                             (("s", as_term(1)), ("t", as_term(1))))  # fmt: skip
    finding = judge(claim)
    assert finding.mutants.tried == finding.mutants.killed > 0


def test_mutants_of_all_parts_add_up() -> None:
    part = Identity(s + t, t + s)
    assert judge(All(part, part)).mutants.tried == 2 * judge(part).mutants.tried


def test_without_mutants_none_are_tried() -> None:
    assert judge(Identity(s + t, t + s), 0, False).mutants.tried == 0
