"""The benchmark of streamed checks fits exponents that it is given, and runs from end to end."""

import argparse
import json
import sys

import bench_streams as bench
import pytest


@pytest.mark.parametrize("power", [1, 2])
def test_a_known_exponent_is_fitted_past_a_fixed_cost(power):
    lengths = bench.ladder(1 << 17)
    assert lengths[0] == 1024 and lengths[-1] == 131072
    assert bench.fitted_exponent(lengths, [n**power for n in lengths]) == pytest.approx(power)
    assert bench.fitted_exponent(lengths, [1e4 + n**power for n in lengths]) == pytest.approx(power, abs=0.3)
    assert bench.fitted_exponent([1024], [1.0]) is None


def test_a_job_near_its_budget_runs_once_in_a_process_of_its_own_and_beyond_it_stops(monkeypatch):
    jobs = {bench.BASE: lambda *_: None, "slow": lambda *_: bench.time.sleep(0.02)}
    alone = []
    monkeypatch.setattr(bench, "JOBS", jobs)
    monkeypatch.setattr(bench, "in_own_process", lambda name, n, *_: alone.append((name, n)) or (0.05, n))
    options = argparse.Namespace(
        repeats=2, budget=0.15, dtype="float32", device="cpu", width=8, no_memory=False
    )
    found = {name: bench.Growth() for name in jobs}
    assert list(bench.grow(found, [128, 256, 512], options)) == [128, 256, 512]
    assert found["slow"].runs == [2, 1] and found["slow"].seconds[1] == 0.05
    assert found[bench.BASE].runs == [2, 2, 2]
    assert alone == [("slow", 256), *((bench.BASE, n) for n in (128, 256, 512)), ("slow", 128)]
    assert found["slow"].peaks == {128: 128, 256: 256}


def test_what_was_measured_is_kept_after_each_length(monkeypatch):
    monkeypatch.setattr(bench, "JOBS", {bench.BASE: lambda *_: None, "odd": lambda *_: None})
    kept = []
    bench.measured(["--max-tokens", "2048", "--width", "8", "--no-memory", "--jobs", "odd"], kept.append)
    assert [[j["tokens"] for j in found["jobs"]] for found in kept] == [
        [[1024]] * 2,
        [[1024, 2048]] * 2,
    ]


def test_one_command_gives_ratios_and_growth(tmp_path, capsys):
    file = tmp_path / "b.json"
    bench.main(
        [
            "--max-tokens",
            "2048",
            "--repeats",
            "1",
            "--width",
            "8",
            "--jobs",
            "linear attention",
            "--no-memory",
            "--out",
            str(file),
        ]
    )
    found = json.loads(file.read_text())
    assert [r["job"] for r in found["jobs"]] == [bench.BASE, "linear attention"]
    assert found["jobs"][0]["ratio"] == [1, 1] and len(found["jobs"][1]["seconds"]) == 2
    assert "forwards" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is reset through /proc")
def test_memory_of_a_stream_grows_with_the_length_and_not_its_square():
    sizes = [bench.in_own_process("streamed with magnitude", n, "float32", 64)[1] for n in (16384, 65536)]
    assert sizes[0] > 4 << 20, "the peak was not seen"
    assert sizes[1] < 8 * sizes[0]
