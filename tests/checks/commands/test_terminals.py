"""The command line at other people's terminals: closed, full, narrow, in other encodings; interrupted and
killed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest
from rich.table import Table

from checks.claim import ROOT
from checks.commands import book, cli, console, experiment, export, show, verify
from checks.commands import list as commands_list
from checks.commands.console import LONGEST_LINE, complain, literal
from checks.evidence import Evidence, Mutants, Record
from checks.run import ledger
from checks.run import verify as run_verify
from checks.run.cache import Cache, cache_folder

COMMAND = [sys.executable, "-m", "checks.commands.cli"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ATTEST_CACHE": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }


def run(
    environment: dict[str, str], *arguments: str, out: IO[str] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=ROOT, env=environment, stdout=out, stderr=subprocess.PIPE,
                          text=True, timeout=120)  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_a_letter_gets_its_number(environment: dict[str, str], encoding: str) -> None:
    done = run(environment | {"PYTHONIOENCODING": encoding}, "derive", "svr", "--knobs")
    assert done.returncode == 0 and r"\u03b1" in done.stdout and "Traceback" not in done.stderr
    done = run(
        environment | {"PYTHONIOENCODING": encoding}, "verify", "nguyen2023/eq7", "--json", "--workers", "1"
    )
    assert done.returncode == 0 and json.loads(done.stdout)[0]["id"] == "nguyen2023/eq7", done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_one_line(environment: dict[str, str]) -> None:
    with open("/dev/full", "w") as full:
        done = run(environment, "derive", "svr", "--knobs", out=full)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "No space left" in done.stderr, (
        done.stderr
    )


def test_a_closed_output_is_one_line(environment: dict[str, str]) -> None:
    line = " ".join([*COMMAND, "derive", "svr", "--knobs", ">&-"])
    done = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and done.stderr == "attest: standard output is closed\n"


def test_a_reader_that_has_seen_enough_is_no_error(environment: dict[str, str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as nobody:
        done = run(environment, "derive", "svr", "--knobs", out=nobody)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_complaint_is_one_bounded_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("no claim '" + "a" * 100_000 + "\x1b[31m'; " + "b " * 9_000 + "allowed: these")
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and len(err) < LONGEST_LINE + 50 and "\x1b" not in err
    assert err.startswith("attest: no claim 'aaa") and err.endswith("allowed: these\n")


def test_a_text_of_a_user_is_shown_as_it_stands() -> None:
    shown = console.Console(width=80, force_terminal=True, color_system=None)
    with shown.capture() as found:
        shown.print(literal("a[/red][bold]\x1b[2J\x9bb"))
    assert found.get() == "a[/red][bold]?[2J?b\n"


def test_nothing_that_is_printed_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("a\x1b]0;x\x07")
    table.add_row("b\u202e\x9b31m")
    with console.OUT.capture() as found:
        console.OUT.print("[bold]c\x1b[31m[/] \ud800", table, highlight=True)
    shown = found.get()
    assert set(shown) >= set("abc?") and not set(shown) & set("\x1b\x07\x9b\u202e\ud800")
    console.print_json(json.dumps({"x\u202e": "\x9b\U000e0001α"}, ensure_ascii=False))
    text = capsys.readouterr().out
    assert json.loads(text) == {"x\u202e": "\x9b\U000e0001α"} and "α" in text and "\u202e" not in text


@pytest.mark.parametrize("width", [20, 40, 60, 80, 139])
def test_a_narrow_terminal_gets_all_that_a_wide_one_gets(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [r for id in ("nguyen2023/rem1", "nguyen2023/eq7") if (r := _stored(id))]
    narrow = console.Console(width=width, file=open(os.devnull, "w"), record=True)
    for place in (verify, console):
        monkeypatch.setattr(place, "OUT", narrow)
    monkeypatch.setattr(verify, "judged", lambda *_: records)
    verify.run(type("A", (), {"ids": [], "accept": False, "json": False})())  # type: ignore[arg-type]
    text = re.sub(r"\s+", " ", narrow.export_text())
    for r in records:
        for said in (r.id, r.verdict, r.severity or "", f"seconds {r.seconds:.1f}", *r.title.split()):
            assert said in text, (said, text)


@pytest.mark.parametrize("width", [20, 40, 60, 79, 119])
def test_ids_verdicts_and_results_stand_at_a_narrow_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = _stored("nguyen2023/eq7")
    record.evidence = [
        Evidence("exact", "exact-symbolic", True, "a detail " * 9, dtype="float64", device="cpu", part="a")
    ]
    monkeypatch.setattr(show, "judged", lambda *_: [record])
    monkeypatch.setattr(show, "cache_of", lambda _: Cache())
    for command, arguments, words in (
        (
            show,
            ("show", record.id),
            (record.id, f"verdict: {record.verdict}", "result passed", "dtype float64"),
        ),
        (
            commands_list,
            ("list", "--paper", "bridge"),
            [i for i in ledger.expected() if i.startswith("bridge/")],
        ),
        (experiment, ("experiment", "--list"), ["chen2023/fig2", "wang2024/fig9", "full, 5 min"]),
    ):
        narrow = console.Console(width=width, file=open(os.devnull, "w"), record=True)
        for place in (command, console):
            monkeypatch.setattr(place, "OUT", narrow)
        assert cli.main([*arguments]) == 0
        text = narrow.export_text()
        assert all(word in text for word in words), text


def test_a_wrong_version_that_survives_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = _stored("nguyen2023/eq7")
    record.mutants = Mutants(3, 2, 0, [r"left side: index changed: \sum_{j=1}^{N} x_{j}"])
    for command, name in ((verify, "verify"), (show, "show")):
        monkeypatch.setattr(command, "judged", lambda *_: [record])
        monkeypatch.setattr(show, "cache_of", lambda _: Cache())
        cli.main([name, record.id])
        assert "left side: index changed: Σ_(j=1)^N x_j" in capsys.readouterr().out


def _stored(id: str) -> Record:
    verdict, severity = ledger.expected()[id], ledger.severities().get(id)
    return Record(
        id,
        "nguyen2023",
        "",
        f"The title of {id}",
        "",
        verdict,
        True,
        [],
        [],
        severity,
        None,
        None,
        [],
        Mutants(),
    )


def _long(environment: dict[str, str], workers: str) -> subprocess.Popen[str]:
    """A run that judges for minutes, started and past its imports."""
    running = subprocess.Popen([*COMMAND, "verify", "nguyen2023", "--no-cache", "--workers", workers], cwd=ROOT,
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert running.stderr is not None and running.stderr.readline().startswith("judged 0")
    time.sleep(1)
    return running


@pytest.mark.timeout(120)
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_soon(
    environment: dict[str, str], workers: str, number: signal.Signals, status: int
) -> None:
    running = _long(environment, workers)
    started = time.monotonic()
    running.send_signal(number)
    _, err = running.communicate(timeout=30)  # ends only when no worker holds the pipe any more
    assert running.returncode == status and time.monotonic() - started < 8, (running.returncode, err)
    lines = [line for line in err.splitlines() if not line.startswith("judged ")]
    assert len(lines) == 1 and lines[0].startswith("attest: "), err


def test_a_signal_while_the_command_line_is_imported_leaves_no_traceback() -> None:
    slow = "print('importing', flush=True); start.import_module = lambda _: time.sleep(60); start.main()"
    running = subprocess.Popen([sys.executable, "-c", f"import time\nfrom checks.commands import start\n{slow}"], cwd=ROOT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert running.stdout is not None and running.stdout.readline() == "importing\n"
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=30)
    assert running.returncode == -signal.SIGINT and not err


@pytest.mark.timeout(120)
@pytest.mark.parametrize("after", [0.0, 0.05, 0.4])
def test_ctrl_c_while_workers_start_is_one_line(environment: dict[str, str], after: float) -> None:
    """A terminal sends it to the workers as well."""
    running = subprocess.Popen([*COMMAND, "verify", "nguyen2023", "--no-cache", "--workers", "2"], cwd=ROOT, text=True,
                               env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
    assert running.stderr is not None and running.stderr.readline().startswith("judged 0")
    time.sleep(after)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=30)
    lines = [line for line in err.splitlines() if not line.startswith("judged ")]
    assert running.returncode == 130 and len(lines) == 1 and lines[0].startswith("attest: "), err


@pytest.mark.timeout(120)
def test_workers_end_with_a_parent_that_was_killed(environment: dict[str, str]) -> None:
    running = _long(environment, "2")
    running.kill()
    running.communicate(timeout=15)  # the workers held standard output for good


def test_a_record_has_the_same_bits_whatever_the_seed_of_hashes(environment: dict[str, str]) -> None:
    def record(seed: str) -> Any:
        options = ("--json", "--no-cache", "--max-tokens", "256", "--workers", "1")
        done = run({**environment, "PYTHONHASHSEED": seed}, "verify", "nguyen2023/eq47", *options)
        (found,) = json.loads(done.stdout)
        for timed in (found, *found["evidence"]):
            timed.pop("seconds"), timed.pop("peak_bytes", None)
        return found

    first = record("1")
    assert first == record("2") and any(e["error"] for e in first["evidence"])


def test_an_empty_cache_variable_is_not_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", "")
    assert cache_folder() == Cache().folder == ROOT / ".attest" / "cache"


@pytest.mark.parametrize(
    "arguments", [("verify", "nguyen2023/eq7", "--accept"), ("export", "{}"), ("book", "--out", "{}")]
)
def test_a_place_that_cannot_be_written_is_said_before_the_work(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    place = file / "in a file"

    def never(*_: object) -> None:
        raise AssertionError("judged before it was known whether the result can be written")

    for module in (verify, export, book):
        monkeypatch.setattr(module, "judged", never)
    monkeypatch.setattr(ledger, "table", lambda: place)
    assert cli.main([a.format(place) for a in arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and ("cannot write" in err or "cannot read or write" in err), err
    assert file.read_text() == "kept"


def test_a_folder_with_something_else_in_it_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    monkeypatch.setattr(book, "judged", lambda *_: pytest.fail("judged before the folder was looked at"))
    assert cli.main(["book", "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "is not empty and holds no book" in err.replace("\n", " ")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_damaged_expected_verdicts_are_said_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "expected.json").write_text("[")
    monkeypatch.setattr(ledger, "table", lambda: tmp_path / "expected.json")
    monkeypatch.setattr(run_verify, "verify", lambda *_, **__: pytest.fail("judged before it was read"))
    assert cli.main(["verify", "nguyen2023/eq7", "--no-cache"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "is damaged" in err


def test_long_work_that_no_terminal_watches_says_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with console.signs_of_life(lambda: "measured 1 of 2 heads [/red]\x1b", seconds=0.05):
        time.sleep(0.4)
    said = capsys.readouterr().err.splitlines()
    assert len(said) >= 2 and set(said) == {"measured 1 of 2 heads [/red]?"}
    time.sleep(0.2)
    assert not capsys.readouterr().err
