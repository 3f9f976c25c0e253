"""None of the red team's false statements may hold, none of its true ones may fail."""

from __future__ import annotations

import pytest

from checks.engine.judge import judge
from checks.statement import Malformed
from redteam import (
    attacks,
    consequences,
    counts,
    displays,
    edges,
    examples,
    formulas,
    identities,
    names,
    outside,
    programs,
    twins,
)
from redteam.pair import Pair

MODULES = (
    identities,
    consequences,
    programs,
    attacks,
    counts,
    outside,
    displays,
    names,
    formulas,
    edges,
    twins,
    examples,
)
PAIRS = {p.name: p for module in MODULES for p in module.PAIRS}


def held(statement: object) -> bool | None:
    """Whether a statement holds; one that the engine refuses as saying nothing is not decided."""
    try:
        return judge(statement, with_mutants=False).holds  # type: ignore[arg-type]
    except (Malformed, ArithmeticError):
        return None


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_what_is_false_does_not_hold(pair: Pair) -> None:
    try:
        statement = pair.false()
    except ValueError:
        return  # it cannot even be written down
    assert held(statement) is not True, pair.why


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_what_is_true_does_not_fail(pair: Pair) -> None:
    assert held(pair.true()) is not False


def test_the_red_team_is_large_and_every_kind_has_its_share() -> None:
    kinds = [name.partition("/")[0] for name in PAIRS]
    assert len(PAIRS) == sum(len(m.PAIRS) for m in MODULES) >= 200
    assert min(kinds.count(kind) for kind in set(kinds)) >= 5
