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
