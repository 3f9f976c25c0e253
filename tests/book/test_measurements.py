"""The pages of the data files: error and bound by family, what was not run, charts."""

import json
import re
from pathlib import Path

import pytest

from book import measurements
from book.chart import BOTTOM, HEIGHT, Line, _ticks, chart
from book.ledger import LedgerError
from checks.evidence import MEASURED, sealed


def piece(error, bound=1.0, **more):
    about = {"leg": "tensor", "grade": "certified-float", "passed": True, "not_run": None}
    return {"error": error, "bound": bound, **about, **more}


def row(leg, tokens, pieces, dtype="float64", raised=None):
    return {
        "leg": leg, "tokens": tokens, "dtype": dtype, "evidence": pieces, "raised": raised, "claims": ["p/eq1"],
        "seconds": 1.0, "peak_bytes": 2**30, "device": "cpu",
    }  # fmt: skip


def run(rows, status="done"):
    about = {"python": "3", "torch": "2", "threads": 2, "name": "x86", "device": "cpu", "load": 1.0}
    return {**about, "commit": "abc", "status": status, "rows": rows}


def written(data):
    return json.dumps(sealed(MEASURED, data))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(measurements, "folder", lambda: tmp_path)
    return tmp_path


def test_without_files_everything_is_not_run(folder):
    for page in (
        measurements.devices,
        measurements.families,
        measurements.benchmarks,
        measurements.measured,
        measurements.commands,
    ):
        assert "**not run**" in page(None)


def test_a_device_that_was_not_available_is_said_so(folder):
    (folder / "gpu.json").write_text(written({"status": "not run", "reason": "no GPU here", "command": "x"}))
    (folder / "cpu.json").write_text(written(run([row("nguyen2023.legs.rows.a", 1024, [piece(0.1)])])))
    page = measurements.devices(None)
    assert "| GPU | **not run**: no GPU here |" in page and "1 checks, 1 parts |" in page
    (folder / "cpu.json").write_text(
        written(run([row("nguyen2023.legs.rows.a", 1024, [piece(0.1)])], "incomplete"))
    )
    assert "1 checks, 1 parts, stopped before its end" in measurements.devices(None)
    rows = [row("a.a", n, [piece(0.1)]) | {"commit": commit} for n, commit in ((1024, "abc"), (4096, "def"))]
    (folder / "cpu.json").write_text(written(run(rows)))
    assert "| `abc`, `def` |" in measurements.devices(None)


@pytest.mark.parametrize("name", ["cpu", "benchmarks", "commands", "measured"])
def test_a_data_file_that_was_changed_by_hand_is_not_used(folder, name):
    page = measurements.devices if name == "cpu" else getattr(measurements, name)
    data = json.loads(written(run([row("nguyen2023.legs.rows.a", 1024, [piece(0.1)])])))
    for changed in (data | {"name": "another"}, {k: v for k, v in data.items() if k != "digest"}):
        (folder / f"{name}.json").write_text(json.dumps(changed))
        with pytest.raises(LedgerError, match="changed since it was written"):
            page(None)


def test_benchmarks_that_were_stopped_show_what_they_have(folder):
    job = {
        "job": "attention",
        "tokens": [1024],
        "seconds": [0.5],
        "runs": [3],
        "ratio": [1.0],
    }
    job |= {"time_exponent": None, "memory_tokens": [], "peak_bytes": [], "memory_exponent": None}
    data = {k: v for k, v in run([], "incomplete").items() if k != "rows"} | {
        "command": "make bench",
        "repeats": 3,
    }
    data |= {"streams": {"width": 64, "dtype": "float32", "jobs": [job]}, "krylov": [], "regression": []}
    (folder / "benchmarks.json").write_text(written(data))
    page = measurements.benchmarks(None)
    assert "**It was stopped before its end.**" in page and page.count("**Not run.**") == 2
    assert "| attention | 1,024 | 3 | 0.5 |" in page
    (folder / "benchmarks.json").write_text(written(data | {"status": "done"}))
    whole = measurements.benchmarks(None)
    assert "stopped" not in whole and "On a GPU" not in whole
    there = data | {"name": "H0", "load": None}
    (folder / "benchmarks-gpu.json").write_text(written(there))
    assert "### On a GPU" in measurements.benchmarks(None) and "on H0, 2 threads" in measurements.benchmarks(
        None
    )


def test_ratios_failures_and_what_was_not_run_are_shown(folder):
    skipped = {**piece(None, None), "passed": None, "not_run": "too long"}
    wide = {"passed": False, "not_rejected": ("mean",)}
    rows = [
        row("nguyen2023.legs.rows.attention_engines", 1024, [piece(0.25), piece(0.5)]),
        row("nguyen2023.legs.rows.attention_engines", 4096, [piece(1e-5)]),
        row("wang2024.legs.tensors.one", 1024, [{**piece(3.0), "passed": False}]),
        row("chen2023.legs.tensors.two", 1024, [skipped]),
        row("elsewhere.three", 1024, [], raised="ValueError: no"),
        row("elsewhere.four", 1024, [{**piece(0.5), **wide, "dtype": "float32"}], dtype="float32"),
        row("elsewhere.five", 1024, [{**piece(0.5), **wide, "dtype": "float64"}]),
    ]
    (folder / "cpu.json").write_text(written(run(rows)))
    page = measurements.families(None)
    assert "### Softmax attention" in page and "### Others" in page and "### Energies" not in page
    first = next(line for line in page.splitlines() if line.startswith("| attention engines"))
    assert "0.5" in first and re.search(r"\*1.*\*", first), "the worst of a part, and loose ones in italics"
    assert page.count("**failed**") == 3 and "- not run: too long" in page
    assert (
        page.count("**too wide**") == 1
        and "- failed: three, float64, cpu, 1,024 tokens\\: ValueError\\: no" in page
    )
    assert "- too wide: four, float32, cpu, 1,024 tokens\\: wrong versions pass as well\\: mean" in page
    assert "- failed: one, float64, cpu, 1,024 tokens\\: out of bounds" in page


def test_a_later_run_replaces_the_same_part_of_an_earlier_one(folder):
    for name, date, error in (("a", "2026-02", 0.25), ("b", "2026-01", 0.75)):
        rows = [row("nguyen2023.legs.rows.a", 1024, [piece(error)])]
        (folder / f"{name}.json").write_text(written({**run(rows), "date": date}))
    page = measurements.families(None)
    assert "0.25" in page and "0.75" not in page


def test_what_ran_on_two_devices_stands_in_two_rows(folder):
    for device, error in (("cpu", 0.25), ("cuda", 0.75)):
        rows = [row("nguyen2023.legs.rows.a", 1024, [piece(error)]) | {"device": device}]
        (folder / f"{device}.json").write_text(written({**run(rows), "date": "2026"}))
    page = measurements.families(None)
    assert "| float64 | cpu | 0.25 |" in page and "| float64 | cuda | 0.75 |" in page
    assert "Error over bound of 1 checks" in page


def test_the_pictures_leave_out_what_has_no_bound_for_rounding(folder):
    rows = [row("nguyen2023.legs.rows.a", 1024, [piece(5e6, 1e7, grade="measured"), piece(1e-9, 1e-6)])]
    (folder / "cpu.json").write_text(written(run(rows)))
    page = measurements.families(None)
    assert "float64 at 1,024: 0.001" in page and "0.5" in page  # the table has all


def test_a_chart_draws_points_dashes_and_legend():
    found = chart([Line("a", [(1, 1e-3), (10, 1e-2)]), Line("", [(1, 1.0)], 1, True)], "N", "error", "s", "c")
    assert found.count("<circle") == 2 and 'class="bound series-1"' in found and ">a</span>" in found
    assert ">0.01</text>" in found and "nan" not in found


def _y_labels(points):
    page = chart([Line("a", points)], "N", "error", "s", "c")
    return re.findall(r'text-anchor="end">([^<]*)<', page)


def test_labels_say_where_their_lines_are():
    """2e-16, 3e-16 and 4e-16 were all labelled 1e-16; 0 stands on a line that was labelled 1e-10."""
    assert _y_labels([(1, 2e-16), (10, 9e-16)]) == [f"{n}e-16" for n in range(2, 10)]
    assert _y_labels([(1, 0.0), (10, 2e-8), (100, 3e-2)])[0] == "0"
    fractions = chart([Line("a", [(0.25, 1e-3), (0.5, 1e-2)])], "N", "error", "s", "c")
    assert ">0.25<" in fractions and ">0.5<" in fractions


@pytest.mark.parametrize("low, high", [(1e-15, 1e-3), (0.6, 0.97), (1.0, 1.0), (3.0, 4.0), (0.9, 11.0)])
def test_ticks_are_few_distinct_and_around_the_points(low, high):
    ticks = _ticks(low, high)
    assert ticks == sorted(set(ticks)) and 2 <= len(ticks) <= 9
    assert ticks[0] <= low and ticks[-1] >= high and ticks[0] < ticks[-1]


def test_a_chart_without_points_is_empty_and_zeros_lie_on_its_bottom_line():
    assert chart([Line("a", [])], "N", "y", "s", "c") == ""
    assert chart([Line("a", [(1, 0.0)])], "N", "y", "s", "c") == ""
    bottom = f'cy="{HEIGHT - BOTTOM:.1f}"'
    assert chart([Line("a", [(1, 0.0), (2, 1.0)])], "N", "y", "s", "c").count(bottom) == 1


COMMITTED = measurements._rows()


TOO_WIDE = {
    ("nguyen2023.legs.heads.beta_sh_definition", "float32"),
    ("nguyen2023.legs.heads.sh_kernel", "float32"),
    ("nguyen2023.legs.inputs.cvt", "float32"),
    ("nguyen2023.legs.versions.linear_versions", "float32"),
    ("nguyen2023.legs.rows.attention_is_the_fit", "float32"),
    ("nguyen2023.legs.rows.attention_is_the_fit", "bfloat16"),
    ("farooq2025.legs.tensors.alignment", "bfloat16"),
    ("wang2024.legs.tensors.softmax_steps", "float64"),  # its bound has been narrowed since
}
"""What did not reject one wrong version at 131,072 tokens on a GPU, as README says."""


@pytest.mark.skipif(not COMMITTED, reason="no data file of the tensor checks")
def test_every_committed_result_is_within_its_bound_and_rejected_wrong_versions():
    wide = set()
    for found in COMMITTED:
        assert not found["raised"], found["leg"]
        for e in found["evidence"]:
            if e["grade"] == "certified-float" and not e["not_run"]:
                assert e["error"] <= e["bound"] and e["wrong"], (found["leg"], found["tokens"])
                if not e["passed"]:
                    assert len(e["not_rejected"]) == 1 and (e["device"], e["tokens"]) == ("cuda:0", 131072)
                    wide.add((found["leg"], found["dtype"]))
    assert wide <= TOO_WIDE


def test_readme_counts_what_the_run_on_a_gpu_left_open():
    rows = measurements._read("gpu")["rows"]
    open_rows = [r for r in rows if any(e["not_rejected"] for e in r["evidence"])]
    words = " ".join((Path(__file__).parents[2] / "README.md").read_text("utf8").split())
    assert len(open_rows) == 8 and sum(r["dtype"] == "float64" for r in open_rows) == 1
    assert (
        f"at 131,072 tokens eight of {len(rows)} parts do not reject one of their wrong versions, seven in"
        in words
    )
    assert f"all {len({r['leg'] for r in rows})} checks are recorded" in words


@pytest.mark.parametrize("name", ["gpu", "benchmarks", "benchmarks-gpu", "measured"])
def test_committed_files_say_what_they_ran_on_or_that_they_did_not(name):
    data = measurements._read(name)
    if data is None or data.get("status") == "not run":
        assert data is None or data["reason"]
        return
    about = data.get("about", data)
    assert about["torch"] and about["date"] and about["commit"] and about["threads"]


def test_commands_stand_beside_the_run_before(folder):
    def timed(starts):
        rows = [{"command": "attest list", "turn": "first", "wall": 2 * starts, "cpu": 1.0, "starts": starts}]
        return {"commit": "abc", "cores": 2, "load": 0.1, "rows": rows}

    (folder / "commands.json").write_text(written({"runs": [timed(8.0)]}))
    assert "attest list" in measurements.commands(None) and "16" in measurements.commands(None)
    (folder / "commands.json").write_text(written({"runs": [timed(8.0), timed(4.0)]}))
    page = measurements.commands(None)
    assert page.count("attest list") == 1 and "| 4 |" in page and "| 8 |" in page
