"""Derivations under a user's assumptions end, with one line that says which limit they met."""

from __future__ import annotations

import sys
import time

import pytest

from checks.run.bounded import derivation
from checks.run.theories import theory
from derivations.theories.theory import BadAssumption


@pytest.mark.timeout(60)
@pytest.mark.parametrize("formula", ["u^6", "(1+u)^12", "exp(u^12)", "1e29*u^12"])  # fmt: skip
def test_a_derivation_that_does_not_end_is_ended(formula: str) -> None:
    chosen, started = theory("energy"), time.monotonic()
    with pytest.raises(BadAssumption, match="after 1 seconds, the limit"), derivation(seconds=1):
        chosen.derive(chosen.assumptions({"F": formula}))
    assert time.monotonic() - started < 4


def test_there_are_letters_for_any_number_of_sums() -> None:
    chosen = theory("ksvd")
    with derivation():
        assert chosen.derive(chosen.assumptions({"feature_map": "(z+zz)^12"}))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_memory_is_bounded_inside_and_not_behind() -> None:
    with pytest.raises(BadAssumption, match=r"more than 0\.1 GiB"), derivation(gib=0.1):
        bytearray(2**28)
    assert len(bytearray(2**28)) == 2**28


def test_other_errors_are_not_the_users() -> None:
    with pytest.raises(ValueError, match="something else"), derivation():
        raise ValueError("something else")
