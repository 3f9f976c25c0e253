"""Processes of Rocq end with what started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from checks.kernel import rocq
from checks.kernel.theorem import Theorem

SLEEPS = """
import sys
from pathlib import Path
from checks.kernel.rocq import Lifeline
with Lifeline() as line:
    line.run(["sh", "-c", "echo $$ > started; exec sleep 100"], 100, Path(sys.argv[1]))
"""


def started(folder: Path) -> int:
    """The process that says its number, once it does."""
    for _ in range(300):
        if (folder / "started").exists() and (text := (folder / "started").read_text()).endswith("\n"):
            return int(text)
        time.sleep(0.05)
    raise AssertionError("nothing was started")


def ends(process: int) -> bool:
    """Whether a process ends within seconds."""
    for _ in range(200):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_nothing_is_left_behind_by_a_process_that_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SLEEPS, str(tmp_path)])
    own = started(tmp_path)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert ends(own)


def test_what_runs_ends_where_its_lifeline_is_left(tmp_path: Path) -> None:
    with rocq.Lifeline() as line:
        command = ["sh", "-c", "echo $$ > started; exec sleep 100"]
        thread = threading.Thread(target=line.run, args=(command, 100, tmp_path))
        thread.start()
        own = started(tmp_path)
    assert ends(own)
    thread.join()
    with pytest.raises(rocq.RocqError, match="ended before"):
        line.run(["true"], 1, tmp_path)


def test_a_command_keeps_its_status_and_ends_in_time(tmp_path: Path) -> None:
    with rocq.Lifeline() as line:
        assert line.run(["sh", "-c", "exit 3"], 10, tmp_path).returncode == 3
        assert line.run(["sleep", "100"], 0.2, tmp_path).returncode == 124


@pytest.mark.skipif(rocq.compiler() is None, reason=rocq.MISSING)
def test_a_theorem_that_fails_is_named_and_takes_none_with_it_but_those_that_use_it() -> None:
    first = Theorem("first", "Theorem first : 1 + 1 = 2.", "Proof. lra. Qed.")
    wrong = Theorem("wrong", "Theorem wrong : 1 + 1 = 3.", "Proof. lra. Qed.")
    late = Theorem("late", "Theorem late : 2 = 2.", "Proof. do 1000000000 (assert (1 = 1) by lra). Qed.")
    lax = Theorem("lax", "Theorem lax : 3 = 3.", "Proof. no_such_step. reflexivity. Qed.")
    uses = Theorem("uses", "Theorem uses : 2 = 3.", "Proof. rewrite <- wrong. lra. Qed.")
    last = Theorem("last", "Theorem last : 2 = 1 + 1.", "Proof. symmetry. exact first. Qed.")
    for theorems in ([first, wrong, uses, last], [wrong, first, late, last], [lax, first, last]):
        found = {o.name: o.outcome for o in rocq.check([theorems], 3)}
        checked = {"first", "last"}
        assert found == {t.name: "checked" if t.name in checked else "failed" for t in theorems}
