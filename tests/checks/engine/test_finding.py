"""Findings about parts and about the whole: what one part has says nothing about another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.engine.finding import Finding, Inconsistent, conjunction
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


def beside(part: str = "", wrong: int | None = 2, passed: bool = True) -> Evidence:
    return replace(leg("tensor", passed), part=part, wrong=wrong)


def open_second() -> Finding:
    """Part (a) is proved, part (b) has one leg."""
    first, second = Finding([proof()], part="(a)"), Finding([leg("exact")], part="(b)")
    return conjunction([("(a)", first), ("(b)", second)])


@pytest.mark.parametrize("part", ["", "(b)"])
def test_a_declared_leg_speaks_for_every_open_part_or_for_its_own(part: str) -> None:
    whole = open_second()
    whole.declared = [[beside(part)]]
    assert whole.holds is True and not whole.proved


@pytest.mark.parametrize("wrong", [None, 0])
def test_a_leg_that_rejected_nothing_does_not_speak(wrong: int | None) -> None:
    whole = open_second()
    whole.declared = [[beside(wrong=wrong)]]
    assert whole.holds is None


def test_a_declared_leg_of_one_part_does_not_speak_for_another() -> None:
    whole = open_second()
    whole.declared = [[beside("(a)")]]
    assert whole.holds is None


def test_a_leg_against_a_proved_part_is_inconsistent_also_where_another_is_open() -> None:
    whole = open_second()
    whole.declared = [[beside("(a)", passed=False)]]
    with pytest.raises(Inconsistent):
        _ = whole.holds


def test_all_parts_proved_prove_the_whole_and_no_parts_prove_nothing() -> None:
    assert conjunction([("a", Finding([proof()])), ("b", Finding([proof()]))]).proved
    assert conjunction([]).holds is None


def test_a_block_that_is_not_defined_is_not_hidden_by_the_others() -> None:
    x, y = (as_term(Tensor(name, (dim,))) for name, dim in (("x", "n"), ("y", "m")))
    assert judge(Stacked(blocks(x, apply("log", y)), blocks(x, zeros("m")))).holds is not True
    assert judge(Stacked(blocks(x, 0 * y), blocks(x, zeros("m")))).proved


@pytest.mark.parametrize(
    "given",
    [
        {"passed": "no"},
        {"passed": True, "wrong": -1},
        {"passed": True, "wrong": 1.5},
        {"passed": True, "error": 10.0, "bound": 1.0},
        {"passed": True, "error": float("nan"), "bound": 1.0},
        {"passed": True, "error": 1e9, "bound": float("inf")},
        {"passed": True, "error": -1.0, "bound": -0.5},
    ],
)
def test_evidence_that_says_nothing_sensible_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Evidence("tensor", "certified-float", **given)


def test_what_one_declared_leg_finds_in_two_ways_is_one_voice() -> None:
    """A leg that compares a solver and a tensor program hands both the same inputs and formula."""
    solver, tensor = (replace(leg(name), wrong=2) for name in ("solver", "tensor"))
    assert Finding(declared=[[solver, tensor]]).holds is None
    assert Finding(declared=[[solver], [solver]]).holds is None
    assert Finding(declared=[[solver], [tensor]]).holds is True
    assert Finding(declared=[[solver, tensor], [tensor]]).holds is True
    assert Finding([leg("exact")], declared=[[solver, tensor]]).holds is True
