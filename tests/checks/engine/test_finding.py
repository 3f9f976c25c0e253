"""Findings about parts and about the whole: what one part has says nothing about another."""

from __future__ import annotations

from checks.engine.finding import Finding, conjunction
from checks.engine.judge import judge
from checks.evidence import Evidence
from checks.kinds.stacked import Stacked
from derivations.calculus.index import Tensor
from derivations.calculus.term import apply, as_term, blocks, zeros


def leg(name: str, passed: bool | None = True) -> Evidence:
    return Evidence(name, "sampled", passed)


def proof() -> Evidence:
    return Evidence("derivation", "exact-symbolic", True, settles=True)


def test_the_legs_of_one_part_do_not_carry_another() -> None:
    both, one = Finding([leg("exact"), leg("solver")]), Finding([leg("exact")])
    assert both.holds is True and one.holds is None
    assert conjunction([("a", both), ("b", one)]).holds is None
    assert conjunction([("a", one), ("b", Finding([leg("solver")]))]).holds is None
    assert conjunction([("a", Finding([proof()])), ("b", one)]).holds is None


def test_further_legs_speak_for_every_open_part() -> None:
    whole = conjunction([("a", Finding([proof()])), ("b", Finding([leg("exact")]))])
    whole.evidence.append(leg("tensor"))
    assert whole.holds is True and not whole.proved


def test_all_parts_proved_prove_the_whole_and_no_parts_prove_nothing() -> None:
    assert conjunction([("a", Finding([proof()])), ("b", Finding([proof()]))]).proved
    assert conjunction([]).holds is None


def test_a_block_that_is_not_defined_is_not_hidden_by_the_others() -> None:
    x, y = (as_term(Tensor(name, (dim,))) for name, dim in (("x", "n"), ("y", "m")))
    assert judge(Stacked(blocks(x, apply("log", y)), blocks(x, zeros("m")))).holds is not True
    assert judge(Stacked(blocks(x, 0 * y), blocks(x, zeros("m")))).proved
