"""What the papers print and what was read in them: complete, and about the statements as they are now."""

from __future__ import annotations

import pytest

from checks.claim import built
from checks.evidence import Mutants, Record
from checks.run import ledger, readings
from checks.run.registry import PAPERS, load
from checks.run.verify import assumptions_for, latex


def blank(id: str) -> Record:
    return Record(
        id, id.partition("/")[0], "", "", "", "proved", True, [], [], None, None, None, [], Mutants()
    )


def test_every_claim_has_its_place_and_no_entry_is_left_over() -> None:
    found = {id: item for paper in PAPERS for id, item in readings.printed(paper).items()}
    assert set(found) == set(load())
    assert all(item.place for item in found.values())


def test_every_claim_was_read_in_the_paper_as_it_stands_now() -> None:
    found, verdicts = readings.readings(), ledger.expected()
    assert set(found) == set(load())
    stale = []
    for id, claim in load().items():
        now, assumptions = blank(id), assumptions_for(claim, {})
        now.statement = {"latex": latex(built(claim.literal, assumptions))} if claim.literal else {}
        if claim.corrected and verdicts[id] in ("corrected", "refuted"):
            now.corrected = {"latex": latex(built(claim.corrected, assumptions))}
        if readings.version(now) != found[id].version:
            stale.append(id)
    assert not stale, "read these again in the paper, and compare"


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


@pytest.mark.parametrize("text", ["[eq1]\nlines = ['x']", "[eq1", "eq1 = 3"])
def test_a_damaged_file_is_named(tmp_path, text) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "printed.toml").write_text(text)
    with pytest.raises(ledger.BadLedger, match=r"printed\.toml is damaged"):
        readings.printed("p", tmp_path)
