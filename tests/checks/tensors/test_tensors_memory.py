"""The engines keep to memory that grows with N d: the peak of a whole process, measured from outside."""

import pytest
from bench_memory import measure

GIB = 2**30


@pytest.mark.slow
@pytest.mark.parametrize("what", ["check", "certificate"])
def test_memory_grows_with_the_length_and_not_its_square(what):
    short, long = (measure(what, tokens, 64, "float32") for tokens in (8192, 32768))
    assert short["passed"] and long["passed"]
    assert long["peak"] < GIB
    # N x N in float32 at 32768 is 4 GiB; what both processes share (torch itself) is left out
    growth = (long["peak"] - long["before"]) / max(short["peak"] - short["before"], GIB / 32)
    assert growth < 8


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_131072_tokens_fit_in_two_gib(dtype):
    found = measure("check", 131072, 64, dtype)
    assert found["passed"]
    assert found["peak"] < 2 * GIB
