"""Derivations under a user's assumptions end, with one line that says which limit they met."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from checks.run.bounded import PATIENCE, OutOfTime, Total, derivation, within
from checks.run.theories import theory
from derivations.theories.theory import BadAssumption

HIGH = ["u^6", "(1+u)^12", "exp(u^12)", "1e29*u^12", "exp(exp(exp(u)))"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("formula", HIGH)
def test_high_degrees_and_towers_are_derived(formula: str) -> None:
    chosen = theory("energy")
    with derivation():
        steps = chosen.derive(chosen.assumptions({"F": formula}))
    assert "Gradient" in [step.title for step in steps]


@pytest.mark.timeout(60)
def test_a_derivation_beyond_its_time_is_ended() -> None:
    chosen, started = theory("energy"), time.thread_time()
    with pytest.raises(BadAssumption, match=r"after 0\.02 seconds, the limit"), derivation(seconds=0.02):
        while True:  # however fast the machine is
            chosen.derive(chosen.assumptions({"F": "u^6"}))
    assert time.thread_time() - started < 4


def test_waiting_is_not_the_works_own_time() -> None:
    used, started = time.thread_time(), time.monotonic()
    with pytest.raises(OutOfTime), within(0.1):
        while True:
            time.sleep(0.05)
    assert time.thread_time() - used < 0.1 and time.monotonic() - started >= 0.1 * PATIENCE


@pytest.mark.timeout(60)
def test_an_end_that_is_swallowed_comes_again() -> None:
    """As in a finaliser, of whose exceptions Python says only that it ignored them."""
    swallowed = 0
    with pytest.raises(OutOfTime), within(0.05):
        try:
            while True:
                pass
        except OutOfTime:
            swallowed += 1
        while time.thread_time():
            pass
    assert swallowed == 1


def test_work_has_its_time_on_a_busy_machine() -> None:
    used, started = time.thread_time(), time.monotonic()
    with pytest.raises(OutOfTime), within(0.1):
        while True:
            pass
    assert time.thread_time() - used >= 0.1 or time.monotonic() - started >= 0.1 * PATIENCE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_memory_is_bounded_inside_and_not_behind() -> None:
    with pytest.raises(BadAssumption, match=r"more than 0\.1 GiB"), derivation(gib=0.1):
        bytearray(2**28)
    assert len(bytearray(2**28)) == 2**28


def test_other_errors_are_not_the_users() -> None:
    with pytest.raises(ValueError, match="something else"), derivation():
        raise ValueError("something else")


def test_each_process_has_the_whole_of_a_total_and_no_more() -> None:
    total = Total(0.2)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        while total.left() > 0.01:
            pass
        with pytest.raises(OutOfTime), within(total.left()):
            time.sleep(5)
        # A worker that has just started has used what its imports took, and nothing of its parent's.
        assert pool.submit(Total(100.0, total.maker, -1e6).left).result(timeout=60) > 50
