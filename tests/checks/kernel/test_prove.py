"""attest prove: what it prints with Rocq and without, what is stale, and how the record is read."""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from checks.commands import cli
from checks.commands import list as commands_list
from checks.commands import prove as commands_prove
from checks.commands.console import watched
from checks.evidence import Mutants, Record
from checks.kernel import rocq
from checks.kernel.theorem import beyond_zero
from checks.run import proofs, prove
from checks.run.ledger import BadLedger
from checks.run.registry import load

ID = "nguyen2023/eq2"
needs_rocq = pytest.mark.skipif(rocq.compiler() is None, reason=rocq.MISSING)


def attest(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@needs_rocq
def test_a_claim_is_printed_and_checked(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "prove", ID)
    assert status == 0 and "Theorem nguyen2023_eq2" in out and "\nchecked" in out and "kernel-checked" in out


def test_a_size_that_may_be_zero_is_said_beside_the_grade(capsys: pytest.CaptureFixture[str]) -> None:
    """Rocq's sizes are 1 or more, also C - 1, over which the statement sums for C = 1 as well."""
    said = "kernel-checked for C - 1 ≥ 1"
    assert said in attest(capsys, "show", "wang2024/eq2")[1]
    assert said not in attest(capsys, "show", ID)[1]
    assert beyond_zero(["forall (C_minus_1 N : nat), (0 < C_minus_1)%nat -> (0 < N)%nat -> x"]) == "C - 1 ≥ 1"


def test_without_rocq_the_recorded_outcome_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, out, err = attest(capsys, "prove", ID)
    assert status == 2 and "apt-get install coq" in err and "Traceback" not in err
    assert "Theorem nguyen2023_eq2" in out and "\nchecked" in out
    status, out, err = attest(capsys, "prove", "--all", "--out", str(tmp_path / "kernel.json"))
    assert status == 2 and "not run: Rocq is not installed" in err and not list(tmp_path.iterdir())


def test_without_a_verdict_it_is_said_how_to_get_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands_prove.ledger, "expected", dict)
    for asked in (ID, "--all"):
        status, out, err = attest(capsys, "prove", asked)
        assert status == 2 and "verify" in err and "--accept" in err and not out


def test_the_library_says_how_far_its_compilation_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def slowly(self: rocq.Lifeline, command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        time.sleep(0.05)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    monkeypatch.setattr(rocq, "compiler", lambda: "coqc")
    monkeypatch.setattr(rocq, "version", lambda: "0")
    monkeypatch.setattr(rocq.Lifeline, "run", slowly)
    monkeypatch.setattr(commands_prove, "watched", partial(watched, 0.1))
    commands_prove._built()
    said = capsys.readouterr().err.splitlines()
    assert re.fullmatch(rf"compiling Rocq's library, once: \d+ of {len(rocq.FILES)}", said[-1])


@pytest.mark.parametrize("arguments", [(), (ID, "--all")])
def test_one_claim_or_all(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    status, _, err = attest(capsys, "prove", *arguments)
    assert status == 2 and "name one claim, or say --all" in err


def test_a_changed_statement_or_library_is_stale() -> None:
    fresh, recorded = prove.exports(load()[ID]), proofs.read()
    outcomes = prove.remembered(fresh, recorded)
    assert {o.outcome for o in outcomes.values()} == {"checked"}
    theorem = fresh.parts[0].theorems[0]
    fresh.parts[0].theorems[0] = replace(theorem, statement=theorem.statement.replace("V j e0", "V e0 j"))
    assert prove.remembered(fresh, recorded)[theorem.name].outcome == "stale"
    other = replace(recorded, library="another")
    assert {o.outcome for o in prove.remembered(fresh, other).values()} == {"stale"}


def test_a_record_of_another_statement_is_no_grade() -> None:
    blank = Record(ID, "", "", "", "", "proved", True, [], [], None, None, None, [], Mutants())
    found, stale = proofs.of_record(replace(blank, statement={"latex": "1 = 1"}), rocq.library_hash())
    assert found is not None and "attest prove" in stale


def test_outcomes_by_another_library_are_no_grade(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where Rocq is not there and no theorem is made anew."""
    assert not proofs.outdated(rocq.library_hash())
    monkeypatch.setattr(commands_list, "library_hash", lambda: "another")
    record = Record(ID, "", "", "", "", "proved", True, [], [], None, None, None, [], Mutants())
    assert "the library of theorems has changed" in proofs.of_record(record, "another")[1]
    status, out, _ = attest(capsys, "list", "--grade", proofs.GRADE)
    assert status == 0 and "0 claims" in out and "stale" in out


def test_the_record_has_every_claim_with_a_verdict_and_nothing_failed() -> None:
    recorded = proofs.read()
    assert all(p.outcome == "checked" for c in recorded.claims.values() for p in c.proofs())
    assert all(p.hash == proofs.hash_of(p.statement) for c in recorded.claims.values() for p in c.proofs())
    graded = [recorded.claims[id].verdict for id in recorded.graded()]
    assert graded.count("proved") >= 115 and graded.count("corrected") >= 101
    assert sum(claim.refutation for claim in recorded.claims.values()) >= 115
    for claim in recorded.claims.values():
        assert all(part.theorems or part.missing for part in claim.parts)


def test_every_part_is_counted_in_one_kind_with_its_reason() -> None:
    recorded = proofs.read()
    found = recorded.coverage()
    parts = [p for c in recorded.claims.values() for p in (*c.parts, *c.refuted)]
    assert sum(sum(kind.parts.values()) for kind in found.values()) == len(parts)
    assert all(kind.why if kind.short else not kind.why for kind in found.values())
    assert len(found["Follows"].claims) > 15 and not found["Follows"].short and not found["Dual"].short
    written = json.loads(proofs.recorded().read_text())["coverage"]  # the book reads the file alone
    assert written == {kind: own.counts() for kind, own in found.items()}
    less = replace(parts[0].theorems[0], outcome="failed")
    broken = proofs.Coverage()
    broken.add("one", replace(parts[0], theorems=[less]))
    assert broken.short == {"one"} and list(broken.why) == ["Rocq: failed"]


def test_graded_claims_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "list", "--grade", "kernel-checked", "--paper", "nguyen2023")
    assert status == 0 and ID in out and "nguyen2023/tab7" not in out
    assert "theorems as recorded in kernel.json" in " ".join(out.split())


def test_a_record_that_was_changed_by_hand_is_not_believed(tmp_path) -> None:
    text = proofs.recorded().read_text()
    changed = tmp_path / "kernel.json"
    data = json.loads(text)
    kind = next(iter(data["coverage"]))
    data["coverage"][kind]["checked"] += 1  # of which the book's table is made
    for edited in (text.replace('"outcome": "checked"', '"outcome": "failed"', 1), json.dumps(data)):
        changed.write_text(edited)
        with pytest.raises(BadLedger, match="changed since Rocq ran"):
            proofs.read(changed)
    proofs.write(changed, proofs.read())
    assert proofs.read(changed) == proofs.read()


@pytest.mark.parametrize(
    "text", ["3", "null", "NaN", '"x"', "[]", '{"claims": []}', '{"digest": 1, "claims": 2}']
)
def test_a_record_of_another_shape_is_named_before_anything_is_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "kernel.json").write_text(text)
    monkeypatch.setattr(proofs, "recorded", lambda: tmp_path / "kernel.json")
    proofs.read.cache_clear()  # type: ignore[attr-defined]
    record = Record(ID, "nguyen2023", "", "", "", "proved", True, [], [], None, None, None, [], Mutants())
    monkeypatch.setattr("checks.commands.show.judged", lambda *_: [record])
    try:
        for command in (("list", "--grade", "kernel-checked"), ("show", ID)):
            status, out, err = attest(capsys, *command)
            assert status == 2 and "kernel.json is damaged" in err and err.count("\n") == 1 and not out
    finally:
        proofs.read.cache_clear()  # type: ignore[attr-defined]
