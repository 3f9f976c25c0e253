"""What the papers print and what was read in them: complete, and about the statements as they are now."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from checks.audit import current
from checks.claim import Options
from checks.commands.cli import main
from checks.commands.show import _compared
from checks.engine.legend import used
from checks.evidence import Mutants, Record
from checks.run import ledger, proofs, readings
from checks.run.registry import load
from checks.run.verify import assumptions_for, examine, version
from derivations.calculus.unicode import unicode_math


def blank(id: str) -> Record:
    return Record(
        id, id.partition("/")[0], "", "", "", "proved", True, [], [], None, None, None, [], Mutants()
    )


def test_every_claim_has_its_place_and_no_entry_is_left_over() -> None:
    found = {id: item for paper in current().papers for id, item in readings.printed(paper.key).items()}
    assert set(found) == set(load())
    assert all(item.place for item in found.values())


def test_every_claim_was_read_in_the_paper_as_it_stands_now() -> None:
    found = readings.readings()
    assert set(found) == set(load())
    stale = [id for id, claim in load().items() if found[id].version != version(claim)]
    assert not stale, "read these again in the paper, and compare"


def test_a_reading_ends_with_no_other_severity_than_the_recorded() -> None:
    ends = re.compile(r"\b(misprint|condition|substance)\W*$")
    named = {id: found[1] for id, item in readings.readings().items() if (found := ends.search(item.record))}
    recorded = ledger.severities()
    assert named and not {id for id, severity in named.items() if severity != recorded.get(id)}


def test_the_version_is_that_of_the_record() -> None:
    for id in (
        "nguyen2023/eq2",
        "nguyen2023/eq5",
        "farooq2025/prose-demircigil",
        "chen2023/prose-lambda-automatic",  # refuted
        "wang2024/fig3",  # in words alone
    ):
        claim = load()[id]
        assert readings.version(examine(claim, assumptions_for(claim, {}), Options(), True)) == version(claim)


def test_a_changed_statement_makes_the_reading_stale(tmp_path, monkeypatch) -> None:
    now = blank("nguyen2023/eq1")
    now.statement = {"latex": "a = b"}
    known = readings.Reading("says a = b", "decides a = b: proved", "agreed", readings.version(now))
    monkeypatch.setattr(readings, "readings", lambda: {"nguyen2023/eq1": known})
    readings.beside(now)
    assert now.reading and not now.reading["stale"] and now.printed and now.place
    now.corrected = {"latex": "a = c"}
    readings.beside(now)
    assert now.reading["stale"]


@pytest.mark.parametrize(("field", "value"), [("words", "Other words."), ("verdict", "refuted")])
def test_what_no_statement_shows_makes_the_reading_stale(monkeypatch, field, value) -> None:
    """The words of a claim without one, and that one is refuted with nothing in its place."""
    now = blank("nguyen2023/eq1")
    now.words = "Said in words alone."
    known = readings.Reading("says so", "says so: proved", "agreed", readings.version(now))
    monkeypatch.setattr(readings, "readings", lambda: {"nguyen2023/eq1": known})
    readings.beside(now)
    assert now.reading and not now.reading["stale"]
    setattr(now, field, value)
    readings.beside(now)
    assert now.reading["stale"]


def test_a_claim_that_was_not_judged_is_not_called_stale() -> None:
    ended = blank("nguyen2023/eq2")
    ended.verdict = "unsettled"
    readings.beside(ended)
    assert ended.reading and ended.reading["stale"] is None
    assert "not judged" in _compared(ended.reading) and "not judged" in proofs.of_record(ended, "")[1]


def test_what_stands_beside_a_record_is_shown_without_printed_lines_too(
    capsys, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    id = "chen2023/prose-low-rank-promoted"
    source = readings.printed("chen2023")[id]
    assert source.added and not source.lines
    assert main(["show", id, "--max-tokens", "64"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    legend = used(load()[id].where, [r"\Lambda K f e W"], [])
    assert source.place in said and legend and unicode_math(legend) in said


@pytest.mark.parametrize("text", ["[eq1]\nlines = ['x']", "[eq1", "eq1 = 3"])
def test_a_damaged_file_is_named(tmp_path, text) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "printed.toml").write_text(text)
    with pytest.raises(ledger.BadLedger, match=r"printed\.toml is damaged"):
        readings.printed("p", tmp_path / "p")


def test_a_pipe_in_place_of_the_file_is_named(tmp_path) -> None:
    os.mkfifo(tmp_path / "printed.toml")
    with pytest.raises(ledger.BadLedger, match=r"printed\.toml is damaged: .* no regular file"):
        readings.printed("p", tmp_path)


@pytest.mark.parametrize("field", ["paper", "record", "outcome", "version"])
@pytest.mark.parametrize("value", [None, 3, ["x"], {}])
def test_a_reading_with_a_field_that_is_no_text_is_damage(tmp_path, monkeypatch, field, value) -> None:
    good = dict.fromkeys(("paper", "record", "outcome", "version"), "x")
    _recorded(tmp_path, monkeypatch, json.dumps({"nguyen2023/eq7": good | {field: value}}))
    with pytest.raises(ledger.BadLedger, match=r"audit\.json is damaged: .* no text"):
        readings.readings.__wrapped__()
    _recorded(tmp_path, monkeypatch, json.dumps({"nguyen2023/eq7": good}))
    assert readings.readings.__wrapped__()["nguyen2023/eq7"].paper == "x"


def test_of_two_readings_of_one_claim_none_is_dropped_unseen(tmp_path, monkeypatch) -> None:
    good = json.dumps(dict.fromkeys(("paper", "record", "outcome", "version"), "x"))
    _recorded(tmp_path, monkeypatch, f'{{"nguyen2023/eq7": {good}, "nguyen2023/eq7": {good}}}')
    with pytest.raises(ledger.BadLedger, match="comes twice"):
        readings.readings.__wrapped__()


def _recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "audit.json").write_text(text)
    monkeypatch.setattr(readings, "recorded", lambda: folder / "audit.json")


def test_a_record_from_the_cache_shows_what_the_paper_prints(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    for _ in range(2):
        assert main(["show", "nguyen2023/prose-scales", "--max-tokens", "64"]) == 0
        said = capsys.readouterr().out
        assert "Read without sight of this record" in said
