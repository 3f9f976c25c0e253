"""The worked examples: packages as authors write them, whose verdicts are the recorded ones."""

from __future__ import annotations

import ast
import json

import pytest

from checks.audit import use
from checks.claim import ROOT, Options
from checks.evidence import Record
from checks.run.link import link
from checks.run.registry import load
from checks.run.verify import examine

EXAMPLES = ROOT / "checks" / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/__init__.py"))
PUBLIC = "checks.api"


@pytest.fixture(autouse=True)
def audit_of_before(monkeypatch) -> None:
    """The audit that this process works on is put back."""
    monkeypatch.setattr("checks.audit._current", [])


def judged(name: str) -> list[Record]:
    use(f"checks.examples.{name}")
    claims = load()
    records = [examine(claim, None, Options(max_tokens=64)) for claim in claims.values()]
    link(records, {r.id: r.verdict for r in records})
    return records


@pytest.mark.parametrize("name", NAMES)
def test_the_verdicts_are_the_recorded_ones(name: str) -> None:
    records = judged(name)
    found = {r.id: ": ".join(filter(None, (r.verdict, r.severity))) for r in records}
    assert found == json.loads((EXAMPLES / name / "records" / "expected.json").read_text())
    assert not [s for r in records for s in r.mutants.survivors]
    verdicts = [r.verdict for r in records]
    assert verdicts.count("proved") >= 4 and "corrected" in verdicts
    assert all(r.counterexample for r in records if r.verdict in ("corrected", "refuted"))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_short_and_imports_what_authors_import(name: str) -> None:
    (claims,) = {*(EXAMPLES / name / "claims").glob("*.py")} - {EXAMPLES / name / "claims" / "__init__.py"}
    assert 60 <= len(claims.read_text("utf8").splitlines()) <= 150
    for path in (EXAMPLES / name).rglob("*.py"):
        imports = [
            n
            for n in ast.walk(ast.parse(path.read_text("utf8")))
            if isinstance(n, ast.Import | ast.ImportFrom)
        ]
        named = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in imports}
        assert named <= {PUBLIC, "sympy", "fractions"}, path
