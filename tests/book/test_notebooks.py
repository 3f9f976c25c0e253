"""Chapters as notebooks: they run where the distribution is installed, and hold the calls that derive anew."""

from __future__ import annotations

import json
import os
import re
from importlib import util
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("yaml", reason="the book's tools are an extra: make .venv/book")
pytest.importorskip("nbclient", reason="the book's tools are an extra: make .venv/book")
import nbclient
import nbformat

from book import notebooks, site
from checks.audit import current
from checks.claim import ROOT
from checks.run import ledger as recorded

_SPEC = util.spec_from_file_location("backend", ROOT / ".ci" / "backend.py")
backend = util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(backend)
CHAPTERS = [path for paper in current().papers for path in site.written(paper.key)]


def name(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


@pytest.fixture(scope="module")
def ledger() -> SimpleNamespace:
    """Ids and verdicts, which is all that a notebook takes from a ledger."""
    claims = [SimpleNamespace(id=id, verdict=verdict) for id, verdict in recorded.expected().items()]
    return SimpleNamespace(claims=claims, by_id={claim.id: claim for claim in claims})


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """What the wheel installs."""
    place = tmp_path_factory.mktemp("installed")
    backend.relocate(ROOT, place)
    return place


def run(path: Path, ledger: SimpleNamespace, installed: Path, folder: Path) -> str:
    """All that a notebook says when it is run in an empty folder. Raises what a cell raises."""
    notebook = nbformat.reads(notebooks.notebook(path, ledger), 4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "PYTEST"))}
    client.execute(env={**environment, "PYTHONPATH": str(installed), "MPLBACKEND": "agg"})
    return json.dumps([cell.get("outputs") for cell in notebook.cells], ensure_ascii=False)


def test_a_notebook_derives_and_judges_where_the_distribution_is_installed(ledger, installed, tmp_path):
    (path,) = site.written("bridge")
    said = run(path, ledger, installed, tmp_path)
    assert "**bridge/energy-step-is-the-expansion**" in said and "*proved*" in said
    assert "$$" in said


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_every_notebook_runs(path, ledger, installed, tmp_path):
    run(path, ledger, installed, tmp_path)


@pytest.mark.parametrize("path", CHAPTERS, ids=name)
def test_a_notebook_has_the_words_and_the_code_of_its_chapter(path, ledger):
    notebook = nbformat.reads(notebooks.notebook(path, ledger), 4)
    nbformat.validate(notebook)
    source = path.read_text("utf8")
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert not re.search(r"@[A-Z]+|\{ledger\}|\{claim\}|\{code-cell\}|\.md\)|^tags:", words, re.MULTILINE)
    assert not any(
        re.search(r"@[A-Z]{4}|^(from|import) (derivations|checks)", cell, re.MULTILINE) for cell in code
    )
    written = [cell for cell in code if cell != notebooks.START and not re.match(r"show\(|derive\(", cell)]
    assert len(written) == source.count("```{code-cell}")
    for theory in re.findall(r"\{ledger\} live (\w+)", source):
        assert any(cell.startswith(f'derive("{theory}")') for cell in code)
    for id in re.findall(r"\{ledger\} (?:statement|formula|steps|corrected) (\S+)", source):
        assert f'show("{id}")' in code
    for heading in re.findall(r"^#+ .*$", source, re.MULTILINE):
        assert "{claim}" in heading or heading.startswith("# ") or heading in words
