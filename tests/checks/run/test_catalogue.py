"""What is known without importing a claim is what importing them would say, and it is believed only as
it was written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from checks.claim import CLAIMS, ROOT, Claim, Options
from checks.evidence import Evidence
from checks.run import catalogue
from checks.run import verify as vf
from checks.run.cache import Cache
from checks.run.registry import UnknownClaim, load
from checks.statement import Identity
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term

CHEAP = "nguyen2023/eq7"
SCRIPT = """
import sys
from checks.commands.cli import main
status = main(sys.argv[1:])
print("imported:", [m for m in ("sympy", "torch", "cvxpy", "numpy") if m in sys.modules], status)
"""


def attest(folder, *arguments: str) -> tuple[str, str]:
    """What a fresh process prints, and the heavy libraries that it imported."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={"ATTEST_CACHE": str(folder), "PATH": "", "OMP_NUM_THREADS": "1"}, check=True)  # fmt: skip
    said, _, imported = done.stdout.rpartition("imported: ")
    return said, imported.strip()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    attest(folder, "show", CHEAP)
    return folder


def test_a_record_is_shown_again_without_importing_what_made_it(filled) -> None:
    again, imported = attest(filled, "show", CHEAP)
    assert imported == "[] 0" and "verdict: proved" in again and "svr.bias = on" in again


def test_without_the_cache_nothing_is_written(tmp_path) -> None:
    attest(tmp_path / "none", "show", CHEAP, "--no-cache")
    assert not (tmp_path / "none").exists()


def test_the_list_needs_no_claim(filled) -> None:
    said, imported = attest(filled, "list")
    assert imported == "[] 0" and all(id in said for id in load())
    assert "1 claims" not in said


def test_another_claim_is_judged(filled) -> None:
    said, imported = attest(filled, "show", "nguyen2023/eq41")
    assert "sympy" in imported and "verdict: proved" in said


def test_entries_are_the_claims(tmp_path) -> None:
    found = catalogue.entries(Cache(tmp_path))
    assert [e.id for e in found] == list(CLAIMS)
    assert catalogue.parents(None) == {id: claim.rests_on for id, claim in CLAIMS.items()}


@pytest.mark.parametrize(
    "id, words",
    [("nguyen2023", "is a paper"), ("nguyen2023/eq77", "did you mean"), ("zzzz", "`attest list` shows")],
)
def test_what_is_no_claim_is_said(id: str, words: str) -> None:
    with pytest.raises(UnknownClaim, match=words):
        catalogue.one(id, None)


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A catalogue with one record, as a process sees it that has imported no claim."""
    load()
    cache = Cache(tmp_path)
    list(vf.verify([CLAIMS[CHEAP]], Options(max_tokens=64), cache=cache))
    monkeypatch.setattr(catalogue, "CLAIMS", {})
    return cache


def test_records_are_served_and_only_for_the_options_they_were_made_with(stored) -> None:
    (record,) = catalogue.records([CHEAP], Options(max_tokens=64), stored) or [None]
    assert record is not None and record.verdict == "proved"
    assert catalogue.records([CHEAP], Options(max_tokens=64, seed=1), stored) is None
    assert catalogue.records([], Options(max_tokens=64), stored) is None  # not all of them were judged


def test_a_changed_catalogue_or_other_sources_serve_nothing(stored, monkeypatch) -> None:
    (path,) = (stored.folder / "catalogue").rglob("*.json")
    good = path.read_text()
    data = json.loads(good)
    data["data"]["keys"][repr(Options(max_tokens=64))]["nguyen2023/eq8"] = "0" * 32
    path.write_text(json.dumps(data))
    assert catalogue.records([CHEAP], Options(max_tokens=64), stored) is None
    path.write_text(good)
    assert catalogue.records([CHEAP], Options(max_tokens=64), stored) is not None
    monkeypatch.setattr(catalogue, "state", lambda: "other")
    assert catalogue.records([CHEAP], Options(max_tokens=64), stored) is None


def test_any_change_of_a_source_is_another_state(tmp_path, monkeypatch) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "a.py").write_text("x = 1")
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    states = set()

    def look() -> None:
        catalogue.sources.cache_clear()
        states.add(catalogue.state.__wrapped__())

    try:
        for text in ("x = 1", "x = 2"):
            (tmp_path / "checks" / "a.py").write_text(text)
            look()
        (tmp_path / "checks" / "b.py").write_text("")
        look()
    finally:
        catalogue.sources.cache_clear()
    assert len(states) == 3


def test_a_change_of_what_stands_beside_the_claims_is_another_state(tmp_path, monkeypatch) -> None:
    mine = SimpleNamespace(
        package="checks.papers", folder=tmp_path / "mine", records_folder=tmp_path / "records"
    )
    for folder in (mine.folder / "data", mine.records_folder):
        folder.mkdir(parents=True)
    monkeypatch.setattr(catalogue, "current", lambda: mine)
    monkeypatch.setattr(catalogue, "sources", dict)
    states = set()
    for path in (mine.folder / "data" / "k.json", mine.records_folder / "measured.json"):
        for text in ("2", "3"):
            path.write_text(text)
            states.add(catalogue.state.__wrapped__())
    assert len(states) == 4


# ---------------------------------------------------------------- a claim has its time


def slow(assumptions, options) -> list[Evidence]:
    time.sleep(30)
    return []


def test_a_claim_that_takes_too_long_is_ended_named_and_not_kept(tmp_path, monkeypatch) -> None:
    x = as_term(Tensor("x"))
    claim = Claim("p/slow", "E", "t", lambda a: Identity(x + x, 2 * x), "w", legs=(slow,), notes="Long.")
    monkeypatch.setattr(vf, "load", lambda: {claim.id: claim})
    heard: list[list[str]] = []
    cache, started = Cache(tmp_path), time.perf_counter()
    ((record, _),) = vf.verify([claim], Options(max_tokens=64), cache=cache, limit=0.3, running=heard.append)
    assert time.perf_counter() - started < 10 and heard == [["p/slow"]]
    assert record.verdict == "unsettled" and vf.why(record) == "It was ended after 0.3 seconds."
    assert not list(tmp_path.glob("*.json"))


def test_what_a_change_of_assumptions_changes_is_kept(filled) -> None:
    asked = ("derive", "energy", "--set", "F=u^3", "--max-tokens", "64", "--workers", "1")
    first, _ = attest(filled, *asked)
    judged = set(filled.glob("*.json"))
    again, imported = attest(filled, *asked)
    assert again == first and "claims change verdict" in first and "torch" not in imported
    assert set(filled.glob("*.json")) == judged
