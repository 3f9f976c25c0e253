"""TERM and Ctrl-C end a command soon, whatever it is doing."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children
from types import FrameType

PATIENCE = 1.5
"""Seconds in which what was interrupted may put things in order."""


SAID = threading.Event()
"""Set once the one line about the end is printed: what comes after ends without another."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


class Interrupted(KeyboardInterrupt):
    """SIGINT. A plain KeyboardInterrupt that passes through ``exec`` makes CPython end by the signal later,
    though it was caught, and not with this program's status.
    """


@contextmanager
def stoppable() -> Iterator[None]:
    """Inside, SIGTERM raises Terminated and SIGINT Interrupted; what does not end by that within
    PATIENCE ends without it, which harms no file: all are written whole or not at all.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    watchdog = threading.Timer(PATIENCE, _end, (128 + number,))
    watchdog.daemon = True
    watchdog.start()
    signal.signal(number, signal.SIG_IGN)  # a second one would break off what the first one tidies
    raise Terminated if number == signal.SIGTERM else Interrupted


def _end(status: int) -> None:
    for child in active_children():
        child.kill()
    if not SAID.is_set():
        os.write(2, b"attest: stopped in the middle of a step; finished claims are cached\n")
    os._exit(status)
