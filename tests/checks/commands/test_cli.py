"""The command line: what a user types by mistake ends with one line and status 2, what they ask for is
shown.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from checks.claim import CLAIMS, ROOT, Assumption, Claim, built
from checks.commands import cli, export, show, verify
from checks.evidence import Evidence, Mutants, Record
from checks.run import ledger, readings, store
from checks.run.ablation import ablate
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import Identity, Malformed
from derivations.calculus.index import Tensor
from derivations.calculus.program import Step
from derivations.calculus.term import as_term

load()
CHEAP = "nguyen2023/eq7"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path_factory.getbasetemp() / "attest-cache"))


def attest(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = cli.main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of a refusal."""
    status, out, err = attest(capsys, *arguments)
    assert status == 2, (arguments, status, out, err)
    lines = err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("attest: "), err
    assert "Traceback" not in err and not out.strip(), out
    assert len(lines[0]) < 700
    return lines[0]


# ---------------------------------------------------------------- bad input

READ = json.dumps({"id": CHEAP, "paper": "p", "record": "r", "outcome": "o"})
FILES = {"half": READ.replace('"p"', '"\\ud800"'), "twice": f"{READ}\n\n{READ}\n", "broken.toml": "[svr", "digits.toml": f"[svr]\nbeta = {'9' * 5000}", "deep": "[" * 99_999, "other.toml": "[srv]\nloss = 'huber'\n", "number.toml": "[svr]\nloss = 3\n",
         "knob.toml": "[svr]\nlos = 'huber'\n", "value.toml": "[svr]\nloss = 'none'\n"}  # fmt: skip
BAD: list[tuple[tuple[str, ...], str]] = [
    (("show", "nosuch/eq1"), "no claim or paper 'nosuch/eq1'"),
    (("show", "nguyen2023/thm11"), "did you mean nguyen2023/thm1"),
    (("show", "thm3.2"), "did you mean chen2023/thm3.2?"),
    (("show", "nguyen2023"), "is a paper; name one claim"),
    (("ablate", "nosuch/eq1"), "no claim"),
    (("verify", CHEAP, "nosuch/eq1"), "no claim"),
    (("verify", CHEAP, "--dtype", "float8"), "allowed: float64, float32, bfloat16"),
    (("verify", CHEAP, "--device", "abacus"), "allowed: cpu, cuda"),
    (("verify", CHEAP, "--device", "meta"), "no device 'meta'"),
    (("verify", CHEAP, "--device", "cuda:99"), "no device 'cuda:99'"),
    (("verify", CHEAP, "--device", ""), "is not a device"),
    (("verify", CHEAP, "--max-tokens", "63"), "allowed: 64 to"),
    (("verify", CHEAP, "--max-tokens", "99999999999"), "allowed: 64 to"),
    (("verify", CHEAP, "--max-tokens", "many"), "invalid int value: 'many'"),
    (("verify", CHEAP, "--workers", "0"), "allowed: 1 to 64"),
    (("verify", CHEAP, "--workers", "-2"), "allowed: 1 to 64"),
    (("verify", CHEAP, "--workers", "two"), "invalid int value"),
    (("verify", CHEAP, "--seed", "-1"), "allowed: 0 to"),
    (("verify", CHEAP, "--seed", str(10**30)), "allowed: 0 to"),
    (("verify", CHEAP, "--seed", "1.5"), "invalid int value"),
    (("verify", CHEAP, "--limit", "inf"), "allowed: above 0, to 100000000 seconds"),
    (("verify", CHEAP, "--limit", "1e15"), "allowed: above 0, to 100000000 seconds"),
    (("verify", CHEAP, "--limit", "nan"), "allowed: above 0"),
    (("measure", "x.npz", "--seed", str(10**30)), "allowed: 0 to"),
    (("measure", "x.npz", "--seed", "-1"), "allowed: 0 to"),
    (("verify", "--nosuch"), "unrecognized arguments: --nosuch"),
    ((), "required: COMMAND"),
    (("refute",), "invalid choice: 'refute'"),
    (("list", "--verdict", "true"), "invalid choice: 'true'"),
    (("list", "--paper", "vaswani2017"), "invalid choice"),
    (("list", "nguyen2023/thm11"), "did you mean nguyen2023/thm1"),
    (("list", "--severity", "awful"), "invalid choice"),
    (("list", "--kind", ""), "no statement is of a kind ''; kinds are Arithmetic, "),
    (("list", "--kind", "Lemma"), "no statement is of a kind 'Lemma'; kinds are Arithmetic, "),
    (("derive", "nosuch"), "no theory 'nosuch'; there are"),
    (("derive", "svr", "--set", "nosuch=1"), "no knob 'nosuch'; there are beta, bias, box"),
    (("derive", "svr", "--set", "loss=none"), "allowed: epsilon_insensitive"),
    (("derive", "svr", "--set", "loss"), "not of the form knob=value"),
    (("derive", "svr", "--set", "ksvd.loss=huber"), "belongs to theory ksvd"),
    (("derive", "svr", "--set", "feature_map=import os"), "does not parse"),
    (("derive", "svr", "--set", "feature_map=__import__('os').system('true')"), "not allowed here"),
    (("derive", "svr", "--set", "feature_map=dot.real"), "'dot.real' is not allowed here"),
    (("derive", "svr", "--set", "feature_map=(x := dot)"), "not allowed here"),
    (("derive", "svr", "--set", "feature_map=f'{dot}'"), "not allowed here"),
    (("derive", "svr", "--set", "feature_map=dot^13"), "exponents beyond 12"),
    (("derive", "svr", "--set", "feature_map=((dot^12)^12)^12"), "multiplies out to too much"),
    (("derive", "svr", "--set", "feature_map=1/(dot - dot)"), "divides by zero"),
    (("derive", "svr", "--set", "feature_map=log(0)"), "logarithm of 0"),
    (("derive", "energy", "--set", "F=exp(exp(exp(exp(exp(u)))))"), "numbers with too many digits"),
    (("derive", "svr", "--set", "feature_map=1e-999999999"), "not allowed here"),
    (("derive", "energy", "--set", "step=1e999999999"), "a positive number up to 1000000"),
    (("derive", "energy", "--set", "step=1E-99999999"), "a positive number up to 1000000"),
    (("derive", "svr", "--set", "feature_map=" + "(" * 99 + "dot" + ")" * 98), "does not parse"),
    (("derive", "svr", "--set", "feature_map=" + "x" * 100_000), "longer than 200 characters"),
    (("derive", "svr", "--set", "feature_map=dot\n+ [bold]1"), "does not parse"),
    (("derive", "svr", "--set", "feature_map=\x1b[31mdot"), "does not parse"),
    (("derive", "svr", "--set", "feature_map=d\u043ft"), "not allowed here"),
    (("derive", "svr", "--set", "feature_map=polynomial:0"), "from 1 to 6"),
    (("derive", "svr", "--set", "feature_map=polynomial:\u00b2"), "from 1 to 6"),
    (("derive", "svr", "--set", "statistics=median"), "allowed: mean_and_variance"),
    (("derive", "svr", "--set", "beta=2.5"), "a number from 0 to 2 is needed"),
    (("derive", "svr", "--set", "beta=-1"), "a number such as 0.5 or 1/2 is needed"),
    (("derive", "svr", "--set", "beta=1/0"), "a number such as 0.5 or 1/2 is needed"),
    (("derive", "svr", "--set", "beta=\u0665"), "a number such as"),
    (("derive", "svr", "--set", "scales=1,3"), "powers of two are needed"),
    (("derive", "svr", "--set", "scales=1,128"), "a whole number from 1 to 64"),
    (("derive", "svr", "--set", "scales="), "a whole number from 1 to 64"),
    (("derive", "svr", "--set", "scales=" + ",".join("1" * 17)), "17 heads are more than 16"),
    (("derive", "svr", "--set", "downsampling=median"), "allowed: average, first, largest"),
    (("derive", "svr", "--set", "mask=strided"), "a whole number from 1 to 4096"),
    (("derive", "svr", "--set", "mask=strided:0"), "a whole number from 1 to 4096"),
    (("derive", "svr", "--set", "mask=causal"), "no such pattern"),
    (("derive", "svr", "--set", "kernel_size=0"), "a whole number from 1 to 31"),
    (("derive", "svr", "--set", "kernel_size_2d=32"), "a whole number from 1 to 31"),
    (("derive", "svr", "--set", "normaliser=mean"), "allowed: kernel_sum"),
    (("derive", "svr", "--seed", "-1"), "allowed: 0 to"),
    (("derive", "svr", "--assumptions", "{}/nosuch.toml"), "cannot read"),
    (("read", "--from", "/dev/zero"), "/dev/zero: is no regular file"),
    (("read", "--from", "{}/pipe"), "is no regular file"),
    (("read", "--from", "{}/nosuch"), "No such file"),
    (("read", "--from", "{}/half"), "line 1 is no reading"),
    (("read", "--from", "{}/twice"), "line 3: nguyen2023/eq7 was read on a line before"),
    (("read", "--from", "{}/deep"), "line 1 is no reading"),
    (("measure", "--model", "x", "--text", "/dev/zero"), "is no regular file"),
    (("experiment", "wang2024/fig3", "--data", "/dev/zero"), "reads no file"),
    (("derive", "svr", "--assumptions", "{}"), "Is a directory"),
    (("derive", "svr", "--assumptions", "{}/broken.toml"), "not valid TOML"),
    (("derive", "svr", "--assumptions", "{}/digits.toml"), "not valid TOML"),
    (("derive", "svr", "--assumptions", "{}/other.toml"), "no table [svr]; there is [srv]"),
    (("derive", "svr", "--assumptions", "{}/number.toml"), "loss takes text, not int"),
    (("derive", "svr", "--assumptions", "{}/knob.toml"), "no knob 'los'"),
    (("derive", "svr", "--assumptions", "{}/value.toml"), "allowed: epsilon_insensitive"),
]  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize("arguments, words", BAD, ids=range(len(BAD)))
def test_bad_input_ends_with_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "pipe")
    assert words in refused(
        capsys, *(a.replace("{}", str(tmp_path), 1) if a.startswith("{}") else a for a in arguments)
    )


def test_readings_from_standard_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checks.run.readings.recorded", lambda: tmp_path / "audit.json")
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refused(capsys, "read", "--from", "-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b" " * (2**24 + 1))))
    assert "more than 16777216 bytes" in refused(capsys, "read", "--from", "-")
    line = READ.replace('"p"', '"a\u2028b"')
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(line.encode())))
    readings.readings.cache_clear()  # type: ignore[attr-defined]
    try:
        assert attest(capsys, "read", "--from", "-")[0] == 0
    finally:
        readings.readings.cache_clear()  # type: ignore[attr-defined]
    assert json.loads((tmp_path / "audit.json").read_text())[CHEAP]["paper"] == "a\u2028b"


def test_a_damaged_cache_entry_is_named_and_nothing_is_lost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    assert attest(capsys, "verify", CHEAP)[0] == 0
    (entry,) = tmp_path.glob("*.json")
    good = entry.read_bytes()
    entry.write_bytes(good[: len(good) // 2])
    status, _, said = attest(capsys, "verify", CHEAP)
    assert status == 0 and "damaged" in said and entry.name in said.replace("\n", "")
    assert entry.with_suffix(".damaged").exists() and entry.exists()
    status, _, said = attest(capsys, "verify", CHEAP)
    assert status == 0 and "damaged" not in said


@pytest.mark.timeout(60)
@pytest.mark.parametrize("what", ["fifo", "endless", "nested", "folder", "folder beside a damaged one"])
def test_a_cache_entry_that_is_no_file_of_ours_is_judged_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    assert attest(capsys, "verify", CHEAP)[0] == 0
    for entry in list(tmp_path.rglob("*.json")):
        entry.unlink()
        if what == "fifo":
            os.mkfifo(entry)
        elif what == "endless":
            entry.symlink_to("/dev/zero")
        elif what == "nested":
            entry.write_text("[" * 100_000)
        else:
            entry.mkdir()
            if what != "folder":
                entry.with_suffix(".damaged").write_text("of an earlier run")
    status, _, said = attest(capsys, "verify", CHEAP)
    assert status == 0 and "damaged" in said, said
    status, _, said = attest(capsys, "verify", CHEAP)
    assert status == 0 and "1 of 1 from the cache" in said, said


def test_a_cache_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "file"))
    assert "cannot write to the cache" in refused(capsys, "verify", CHEAP)


def test_a_cache_that_cannot_be_written_but_has_it_all_is_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    assert attest(capsys, "verify", CHEAP)[0] == 0
    for folder in ("parts", "catalogue"):
        shutil.rmtree(tmp_path / folder, ignore_errors=True)
        (tmp_path / folder).write_text("no folder can be made here")
    status, _, said = attest(capsys, "verify", CHEAP)
    assert status == 0 and "1 of 1 from the cache" in said


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", [None, "", "[]", '{"nguyen2023/eq7": "maybe"}', "[" * 100_000, "a FIFO"])
@pytest.mark.parametrize("command", [("verify", CHEAP), ("list",)])
def test_expected_verdicts_that_are_missing_or_damaged(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str | None,
    command: Any,
) -> None:
    monkeypatch.setattr(ledger, "table", lambda: tmp_path / "expected.json")
    if text == "a FIFO":
        os.mkfifo(ledger.table())
    elif text is not None:
        ledger.table().write_text(text)
    status, _, err = attest(capsys, *command)
    complaints = [line for line in err.splitlines() if line.startswith("attest: ")]
    assert status == 2 and len(complaints) == 1 and "expected.json" in complaints[0]
    assert "Traceback" not in err


def test_an_export_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "judged", lambda *a, **k: [])
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for bad in (tmp_path / "file" / "ledger.json", tmp_path / "folder", tmp_path / "pipe", Path("/dev/full")):
        assert "cannot write" in refused(capsys, "export", str(bad))
    assert not list(tmp_path.rglob("*.part")) and Path("/dev/full").is_char_device()
    assert attest(capsys, "export", str(tmp_path / "new" / "ledger.json"))[0] == 0


def test_a_killed_worker_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*a: Any, **k: Any) -> Any:
        raise BrokenProcessPool("a child process terminated abruptly")

    monkeypatch.setattr(verify, "judged", killed)
    assert "a worker process was killed" in refused(capsys, "verify", CHEAP)


@pytest.mark.parametrize(
    "error, words",
    [
        (MemoryError(), "not enough memory"),
        (ImportError("libtorch.so: failed to map"), "libtorch.so: failed"),
    ],
)
def test_a_machine_that_is_too_small_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def stops(*a: Any, **k: Any) -> Any:
        raise error

    monkeypatch.setattr(verify, "judged", stops)
    assert words in refused(capsys, "verify", CHEAP)


def test_a_small_file_is_read_in_little_memory(tmp_path: Path) -> None:
    (tmp_path / "small").write_text("content")
    tracemalloc.start()
    assert store.read_bounded(tmp_path / "small", 2**28) == b"content"
    assert tracemalloc.get_traced_memory()[1] < 2**22
    tracemalloc.stop()
    with pytest.raises(OSError, match="more than 6 bytes"):
        store.read_bounded(tmp_path / "small", 6)


def test_the_program_itself_refuses_like_the_function() -> None:
    done = subprocess.run([sys.executable, "-m", "checks.commands.cli", "show", "nosuch/eq1"], cwd=ROOT, capture_output=True,
                          text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert (
        done.returncode == 2
        and done.stderr.startswith("attest: no claim")
        and len(done.stderr.splitlines()) == 1
    )


@pytest.mark.parametrize("arguments, status", [(("show", "nosuch/eq1"), 2), (("list",), 0)])
def test_where_standard_error_takes_nothing_the_status_is_the_same(
    arguments: tuple[str, ...], status: int
) -> None:
    with open("/dev/full", "w") as full:
        words = "from checks.commands import cli, console; console.ERR.print('a word'); import sys; "
        program = f"{words}sys.exit(cli.main({list(arguments)!r}))"
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == status


# ---------------------------------------------------------------- list, show


def listed(capsys: pytest.CaptureFixture[str], *filters: str) -> set[str]:
    status, out, _ = attest(capsys, "list", *filters)
    assert status == 0
    return {line.split()[0] for line in out.splitlines() if "/" in line.split(" ")[0]}


def test_list_filters(capsys: pytest.CaptureFixture[str]) -> None:
    table = ledger.expected()
    assert listed(capsys) == set(CLAIMS)
    papers = {id for id in CLAIMS if id.startswith("chen2023/")} | {CHEAP}
    assert listed(capsys, "chen2023/", CHEAP) == papers, "papers and claims by name"
    assert listed(capsys, "--paper", "chen2023") == {i for i in CLAIMS if i.startswith("chen2023/")}
    corrected = {i for i in CLAIMS if table.get(i) == "corrected"}
    assert listed(capsys, "--verdict", "corrected") == corrected
    both = listed(capsys, "--verdict", "corrected", "--paper", "nguyen2023")
    assert both == {i for i in corrected if i.startswith("nguyen2023/")} and both
    misprints = listed(capsys, "--severity", "misprint")
    assert misprints and misprints < {i for i in CLAIMS if table[i] == "corrected"}


def test_list_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    found = listed(capsys, "--paper", "nguyen2023", "--kind", "recurrence")
    assert "nguyen2023/eq12" in found and "nguyen2023/eq2" not in found
    assert not listed(capsys, "--paper", "bridge", "--kind", "recurrence")


@pytest.mark.parametrize("latex", [False, True])
def test_show_has_statement_assumptions_derivation_evidence(
    capsys: pytest.CaptureFixture[str], latex: bool
) -> None:
    status, out, _ = attest(capsys, "show", CHEAP, *(["--latex"] if latex else []))
    assert status == 0
    for part in ("Statement", "Assumptions", "Rests on", "Derivation", "Evidence", "Mutants", "verdict: proved",
                 "nguyen2023/eq6", "svr.bias = on", f"attest verify {CHEAP}"):  # fmt: skip
        assert part in out, part
    assert (r"\sum_{" in out) is latex and ("Σ_" in out) is not latex


def test_show_a_failure_with_what_fails_and_its_repair(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "show", "nguyen2023/rem1")
    assert status == 0
    for part in ("verdict: corrected, severity condition", "Statement as printed", "What fails", "Corrected",
                 "every hypothesis holds, but α α̃ has value 1/4"):  # fmt: skip
        assert part in out, part


def test_brackets_in_texts_are_shown_as_they_stand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    s = as_term(Tensor("s"))
    odd = Claim("nguyen2023/made-up[/id]", "Eq. [/x]", "a [red]title[/] in [a, b]", lambda a: Identity(s, s), "words [/bold]",
                assumes=(Assumption("[/a]", "[b]"),), notes="[/notes]", source="x.py:1",
                derivation=lambda a: [Step("[/step]", "x", "[/why]")])  # fmt: skip
    monkeypatch.setitem(CLAIMS, odd.id, odd)
    record = replace(_record(odd.id), title=odd.title, reference=odd.reference, words=odd.words, notes=odd.notes,
                     evidence=[Evidence("exact", "sampled", True, "[/detail]", dtype="[/dtype]", device="[/device]", part="[/p]")],
                     source="[/source].py", mutants=Mutants(1, 0, 0, ["[/mutant]"]))  # fmt: skip
    for module in (show, verify):
        monkeypatch.setattr(module, "judged", lambda *a, **k: [record])
    for command in (("show", odd.id), ("verify", odd.id), ("list", "--paper", "nguyen2023")):
        status, out, _ = attest(capsys, *command)
        assert status in (0, 1) and "[red]title[/] in [a, b]" in out and odd.id in out


def _record(id: str) -> Record:
    return Record(id, "nguyen2023", "", "", "Identity", "proved", True, [], [], None, None, None, [], Mutants(),
                  statement={"latex": "x", "words": ""})  # fmt: skip


# ---------------------------------------------------------------- verify, export


def test_verify_compares_with_the_recorded_verdicts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = attest(capsys, "verify", CHEAP)
    assert status == 0 and "every verdict is the recorded one" in out
    monkeypatch.setattr(ledger, "table", lambda: tmp_path / "expected.json")
    ledger.table().write_text(json.dumps({CHEAP: "refuted"}))
    status, out, _ = attest(capsys, "verify", CHEAP)
    assert status == 1 and "recorded: refuted" in out and "1 differ from the recorded" in out
    ledger.table().write_text("{}")
    assert attest(capsys, "verify", CHEAP)[0] == 1  # nothing is recorded for it
    assert attest(capsys, "verify", CHEAP, "--accept")[0] == 0
    assert ledger.expected() == {CHEAP: "proved"}


def test_verify_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "verify", CHEAP, "nguyen2023/rem1", "--json")
    records = json.loads(out)
    assert status == 0 and [r["id"] for r in records] == [CHEAP, "nguyen2023/rem1"]
    assert [r["verdict"] for r in records] == ["proved", "corrected"]


def test_a_second_run_comes_from_the_cache(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path))
    first = attest(capsys, "verify", CHEAP, "--json")
    assert "from the cache" not in first[2]
    second = attest(capsys, "verify", CHEAP, "--json")
    assert "1 of 1 from the cache" in second[2] and second[1] == first[1]


# ---------------------------------------------------------------- derive, ablate


@pytest.mark.slow
def test_derive_says_what_changes(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "derive", "svr", "--set", "loss=least_squares")
    assert status == 0
    changed = {line.split()[0] for line in out.splitlines() if line.startswith("nguyen2023/")}
    assert {"nguyen2023/eq6", "nguyen2023/eq9"} <= changed and "nguyen2023/eq15" not in changed
    assert "claims change verdict" in out and "(changed)" in out


def test_derive_with_the_defaults_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "derive", "svr")
    assert status == 0 and "Dual program" in out and "changed" not in out
    status, latex, _ = attest(capsys, "derive", "svr", "--latex")
    assert r"\sum_{" in latex and r"\sum_{" not in out


def test_derive_lists_its_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "derive", "svr", "--knobs")
    assert status == 0
    for knob in ("loss", "bias", "box", "normaliser", "feature_map"):
        assert knob in out


def test_ablate(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = attest(capsys, "ablate", "nguyen2023/rem1")
    rows = {line.split()[0]: line for line in out.splitlines() if line.startswith(("epsilon_", "h_"))}
    assert status == 0 and set(rows) == {"epsilon_positive", "h_positive"}
    assert all(" yes " in row for row in rows.values())


def test_ablate_goes_on_where_a_value_leaves_no_statement(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a claim may have none that its author did not think of: the first value that is tried has none here."""
    claim = load()["nguyen2023/eq7"]

    def said(a: Any) -> Any:
        if a.bias == "off":
            raise Malformed("no intercept, no statement")
        return built(claim.literal, a)

    monkeypatch.setitem(CLAIMS, claim.id, replace(claim, literal=said))
    status, out, _ = attest(capsys, "ablate", claim.id)
    assert status == 0 and "it cannot be stated or judged so: Malformed: no intercept" in " ".join(
        out.split()
    )
    assert "the assumption is redundant" in out or " yes " in out or "neither proved" in out


def test_a_promise_of_what_a_value_takes_out_of_the_statement_stops_no_engine() -> None:
    claim = load()["nguyen2023/rem2"]
    (bias,) = [assumption for assumption in claim.assumes if assumption.knob == "bias"]
    (found,) = ablate(replace(claim, assumes=(bias,)), assumptions_for(claim, {}))
    assert found.needed and found.detail == "no condition from b is printed"
