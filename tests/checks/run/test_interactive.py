"""What one calls in a notebook says what the command line says, as Markdown."""

from __future__ import annotations

import pytest

from checks import api
from checks.run import interactive
from checks.run.cache import Cache
from checks.run.registry import UnknownClaim, load


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(interactive, "Cache", lambda: Cache(tmp_path))


def test_a_derivation_marks_what_is_not_the_papers():
    paper = api.derive("svr")
    assert paper.changed == frozenset() and "(changed)" not in paper._repr_markdown_()
    other = api.derive("svr", loss="least_squares")
    assert other.changed and other.assumptions["loss"] == "least_squares"
    shown = other._repr_markdown_()
    assert all(f"**{step.title}.**" in shown and f"$$ {step.latex} $$" in shown for step in other)
    assert shown.count("(changed)") == sum(step.title in other.changed for step in other)
    assert len(repr(other)) < 80


def test_a_wrong_knob_is_named():
    with pytest.raises(api.BadAssumption, match="no knob 'los'"):
        api.derive("svr", los="least_squares")
    with pytest.raises(api.BadAssumption, match="allowed"):
        api.what_changes("svr", loss="cubic")


def test_what_changes_lists_the_verdicts_that_differ(monkeypatch):
    few = {id: load()[id] for id in ("nguyen2023/eq8", "nguyen2023/eq7")}
    monkeypatch.setattr(interactive, "load", lambda: few)
    found = api.what_changes("svr", loss="least_squares")
    verdicts = {old.id: (old.verdict, new.verdict) for old, new in found.records}
    assert verdicts["nguyen2023/eq8"] == ("proved", "refuted")
    assert len(found) == sum(old != new for old, new in verdicts.values()) == len(list(found))
    assert "| nguyen2023/eq8 | proved | refuted |" in found._repr_markdown_()
    assert "nguyen2023/eq8: proved -> refuted" in repr(found)
    assert len(api.what_changes("svr", loss="epsilon_insensitive")) == 0


def test_what_takes_long_says_how_far_it_is(monkeypatch, capsys):
    few = {id: load()[id] for id in ("nguyen2023/eq8", "nguyen2023/eq7")}
    monkeypatch.setattr(interactive, "load", lambda: few)
    api.what_changes("svr", loss="least_squares")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(interactive, "SILENCE", 0)
    api.what_changes("svr", loss="least_squares")
    assert capsys.readouterr().err.splitlines() == [
        "judged 0 of 2; now nguyen2023/eq8",
        "judged 1 of 2; now nguyen2023/eq7",
    ]


def test_a_claim_shows_what_is_printed_and_what_holds():
    shown = api.show("farooq2025/eq39")
    text = shown._repr_markdown_()
    assert repr(shown) == "farooq2025/eq39: corrected"
    assert "*corrected, substance*" in text and "**Holds instead.**" in text
    assert all(f"$$ {part['latex']} $$" in text for part in (shown.record.statement, shown.record.corrected))


def test_a_finding_says_on_what_a_statement_fails_or_what_is_missing():
    x, y = (api.as_term(api.Tensor(name, ())) for name in "xy")
    assert "**holds**" in api.judge(api.Identity(x + y, y + x))._repr_markdown_()
    wrong = api.judge(api.Identity(x + y, y))
    assert (
        "**does not hold**" in wrong._repr_markdown_()
        and f"> {wrong.counterexample}" in wrong._repr_markdown_()
    )
    pieces = api.apply("relu", x) + api.exp(-api.apply("relu", -x))  # no rule knows that elu + 1 is this
    unknown = api.judge(api.Identity(api.apply("elu1", x), pieces))._repr_markdown_()
    assert "**is not settled**" in unknown and "- open: the normal forms differ" in unknown


def test_records_come_in_the_order_asked_for():
    ids = ["farooq2025/eq39", "farooq2025/eq15"]
    assert [r["id"] for r in api.judged_records(*ids)] == ids
    with pytest.raises(UnknownClaim, match="did you mean"):
        api.show("farooq2025/eq3x9")


def test_the_result_of_an_experiment_is_a_file_or_an_error():
    assert api.recorded_result("wang2024/fig3").is_file()
    with pytest.raises(FileNotFoundError, match="no result of wang2024/fig99"):
        api.recorded_result("wang2024/fig99")
