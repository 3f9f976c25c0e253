"""The verdict function: every case of its table."""

from __future__ import annotations

from typing import Any

import pytest

from checks.claim import Claim, Options
from checks.statement import All, Identity
from checks.verdict import repair_of, verdict
from checks.verify import examine
from derivations.index import Tensor
from derivations.term import as_term

s, t, u = (as_term(Tensor(name)) for name in "stu")
ROLES = ("claim", "definition", "empirical")


@pytest.mark.parametrize("role, holds, proved, repaired, repair, expected", [
    ("claim", True, True, None, "none", "proved"),
    ("claim", True, False, None, "none", "confirmed"),
    ("claim", True, True, False, "idle", "proved"),  # a repair that nobody needs changes nothing
    ("claim", None, False, None, "none", "unsettled"),
    ("claim", False, False, None, "none", "refuted"),
    ("claim", False, False, True, "offered", "corrected"),
    ("claim", False, False, False, "offered", "refuted"),
    ("claim", False, False, None, "offered", "unsettled"),
    ("definition", True, True, None, "none", "definition"),
    ("definition", None, False, None, "none", "unsettled"),
    ("definition", False, False, True, "offered", "corrected"),
    ("definition", False, False, None, "none", "refuted"),
    ("empirical", None, False, None, "none", "empirical"),
    ("empirical", True, True, None, "none", "empirical"),
    ("empirical", False, False, None, "none", "refuted"),
    ("empirical", False, False, True, "offered", "corrected"),
])  # fmt: skip
def test_table(
    role: str, holds: bool | None, proved: bool, repaired: bool | None, repair: str, expected: str
) -> None:
    assert verdict(role, holds, proved, repaired, repair) == expected


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("repaired", (True, False, None))
def test_an_idle_repair_makes_the_record_inconsistent(role: str, repaired: bool | None) -> None:
    assert verdict(role, False, False, repaired, "idle") == "inconsistent"


FALSE = Identity(s + t, s - t)


@pytest.mark.parametrize("correction, what", [
    (Identity(s + t, t + s), "offered"),
    (FALSE, "idle"),  # the same again
    (All(()), "idle"),  # nothing
    (Identity(s + t, s + t), "idle"),  # a formula is itself
    (Identity(u * 2, u + u), "idle"),  # something about other things
])  # fmt: skip
def test_what_a_repair_is(correction: Any, what: str) -> None:
    assert repair_of(FALSE, correction) == what
    claim = Claim("x/1", "", "", lambda a: FALSE, "", corrected=lambda a: correction)
    record = examine(claim, None, Options())
    assert record.verdict == ("corrected" if what == "offered" else "inconsistent")


def test_an_undecided_repair_leaves_the_claim_unsettled() -> None:
    undecided = Identity(((s - 17) * t) / (s - 17), t)
    claim = Claim("x/1", "", "", lambda a: FALSE, "", corrected=lambda a: undecided)
    assert examine(claim, None, Options()).verdict == "unsettled"


def test_a_leg_that_raises_ends_alone() -> None:
    def broken(a: Any, o: Options) -> Any:
        raise AssertionError("no such tensor")

    claim = Claim("x/1", "", "", lambda a: Identity(s + t, t + s), "", legs=(broken,))
    record = examine(claim, None, Options())
    assert record.verdict == "proved"
    assert any(
        "broken stopped with AssertionError: no such tensor" in (e.not_run or "") for e in record.evidence
    )
