"""The benchmark of streamed checks fits exponents that it is given, and runs from end to end."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "benchmarks"))
import bench_streams as bench


@pytest.mark.parametrize("power", [1, 2])
def test_a_known_exponent_is_fitted_past_a_fixed_cost(power):
    lengths = bench.ladder(1 << 17)
    assert lengths[0] == 1024 and lengths[-1] == 131072
    assert bench.fitted_exponent(lengths, [n**power for n in lengths]) == pytest.approx(power)
    assert bench.fitted_exponent(lengths, [1e4 + n**power for n in lengths]) == pytest.approx(power, abs=0.3)
    assert bench.fitted_exponent([1024], [1.0]) is None


def test_a_job_over_its_budget_stops_growing(monkeypatch):
    monkeypatch.setattr(
        bench, "JOBS", {bench.BASE: lambda *_: None, "slow": lambda *_: bench.time.sleep(0.02)}
    )
    found = bench.times([bench.BASE, "slow"], [128, 256, 512], 1, "float32", "cpu", 8, budget=0.05)
    assert [len(found[name]) for name in (bench.BASE, "slow")] == [3, 1]


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
    sizes = [bench.peak_growth("streamed with magnitude", n, "float32", 64) for n in (16384, 65536)]
    assert sizes[0] > 4 << 20, "the peak was not seen"
    assert sizes[1] < 8 * sizes[0]
