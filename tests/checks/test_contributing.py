"""The worked example of CONTRIBUTING.md is short, runs as it stands, and gets the verdict that it
promises.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from checks import api
from checks.claim import CLAIMS, ROOT, Options
from checks.run.verify import examine

EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def registry() -> Iterator[dict]:
    """The registry as it was, whatever a test declares."""
    before = dict(CLAIMS)
    yield CLAIMS
    CLAIMS.clear()
    CLAIMS.update(before)


def example() -> str:
    found = EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(found) == 1, "one worked example"
    return found[0]


def run(source: str, folder: Path) -> None:
    path = folder / "example.py"
    path.write_text(source, encoding="utf-8")
    exec(compile(source, str(path), "exec"), {"__name__": "example"})


def test_the_example_has_at_most_twenty_lines() -> None:
    assert 0 < len([line for line in example().splitlines() if line.strip()]) <= 20


def test_the_example_is_proved_with_every_mutant_rejected(registry: dict, tmp_path: Path) -> None:
    before = set(registry)
    run(example(), tmp_path)
    (id,) = set(registry) - before
    record = examine(registry[id], None, Options(max_tokens=64))
    assert record.verdict == "proved" and record.literal_holds is True
    assert record.mutants.tried > 0 and not record.mutants.survivors
    assert record.statement["latex"] and record.steps


@pytest.mark.parametrize(
    "right, wrong", [('sqrt(size("D"))) * V[j]', 'size("D")) * V[j]'), ("* V[j]", "* V[i]")]
)
def test_the_example_with_a_misprint_is_refuted(
    registry: dict, tmp_path: Path, right: str, wrong: str
) -> None:
    assert right in example()
    before = set(registry)
    run(example().replace(right, wrong), tmp_path)
    (id,) = set(registry) - before
    record = examine(registry[id], None, Options(max_tokens=64))
    assert record.verdict == "refuted" and record.counterexample


def test_the_registry_is_as_before() -> None:
    assert not [id for id in CLAIMS if id.startswith("mypaper")] and "example" not in sys.modules


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_files_and_commands_that_the_documents_name_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:checks|derivations|solvers|tests|book)/[\w/.]+\.\w+)`", text):
        assert (ROOT / path).exists(), path
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^\s{4}make (\w+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_example_of_a_program_is_proved() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    first = next(n for n, line in enumerate(lines) if line.startswith("p, s, beta"))
    names = dict(vars(api))
    exec("\n".join(lines[first : first + 6]), names)
    assert api.judge(names["statement"]).holds
