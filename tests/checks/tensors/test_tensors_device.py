"""Nothing in the tensor checks mixes devices: tried on one that is pretended, as no GPU is at hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# one from each room of the checks; a slow test takes them all
SOME = (
    "wang2024.legs.tensors.one_head", "farooq2025.legs.tensors.descent", "chen2023.legs.tensors.stationary",
    "nguyen2023.legs.attentions.bn_statistics", "nguyen2023.legs.rows.theorem_rows", "bridge.legs.rows",
)  # fmt: skip

BROKEN = """
import sys, torch
from pathlib import Path
from checks.tensors.functional_descent import steps
from tests.checks.tensors.pretend_device import main
right = steps.compare
steps.compare = lambda name, one, two, bound: right(name, one, two, torch.full(bound.shape, 1.0))
sys.exit(main(Path(sys.argv[1]), ["wang2024.legs.tensors.one_head"]))
"""


def pretended(file: Path, *legs: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.checks.tensors.pretend_device", str(file), *legs]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_checks_of_every_room_run_on_a_device_that_is_not_the_cpu(tmp_path: Path) -> None:
    done = pretended(tmp_path / "found.json", *SOME)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert {r["leg"] for r in rows} == set(SOME) and {r["device"] for r in rows} == {"pretend:0"}


@pytest.mark.slow
def test_all_checks_run_on_a_device_that_is_not_the_cpu(tmp_path: Path) -> None:
    done = pretended(tmp_path / "found.json")
    assert done.returncode == 0, done.stderr


def test_a_tensor_left_on_the_cpu_is_found(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BROKEN, str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "same device" in done.stderr
