"""Work that ends: after a time, and with one line where a formula of a user asks for too much."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from derivations.errors import Unusable
from derivations.theories.theory import BadAssumption

SECONDS, GIB = 60, 1
"""What a derivation under a user's assumptions may take."""
PATIENCE = 10
"""How many times its seconds something that waits for others may take."""
AGAIN = 0.5
"""Seconds after which what was not ended is ended once more."""


class OutOfTime(BaseException):
    """A claim has had its time. Not an Exception: no leg and no engine may take it for a finding of its
    own.
    """


@dataclass(frozen=True)
class Total:
    """Seconds of processor time that the process which makes it, and each of its workers, may take in all."""

    seconds: float
    maker: int = field(default_factory=os.getpid)
    begun: float = field(default_factory=time.process_time)

    def left(self) -> float:
        """What this process has left; never 0, which would be no limit."""
        begun = self.begun if os.getpid() == self.maker else 0.0  # a worker's clock starts with the worker
        return max(0.001, self.seconds - (time.process_time() - begun))


class WorkerEnded(Unusable, RuntimeError):
    """The process that judged a claim ended itself or was killed."""


@contextmanager
def within(limit: float | None) -> Iterator[None]:
    """Raises OutOfTime inside after so many seconds of this thread's processor time, or `PATIENCE` times as
    many of any kind, where the system can (in a main thread, on POSIX).
    """
    if (
        limit is None
        or not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    used, started = time.thread_time(), time.monotonic()

    def end(*_: Any) -> None:
        left = limit - (time.thread_time() - used)
        patience = PATIENCE * limit - (time.monotonic() - started)
        if min(left, patience) <= 0:
            # in a finaliser or a callback it is swallowed, and would end nothing: then it is raised again
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            raise OutOfTime
        signal.setitimer(signal.ITIMER_REAL, min(left, patience))

    before = signal.signal(signal.SIGALRM, end)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, remaining)  # whoever had set one before still gets it


def too_long(seconds: float) -> str:
    """What is said of a derivation that took longer."""
    return (
        f"the derivation was ended after {seconds:g} seconds, the limit; a formula of lower degree is needed"
    )


@contextmanager
def derivation(seconds: float = SECONDS, gib: float = GIB) -> Iterator[None]:
    """Raises BadAssumption where what is derived inside takes too long, too much memory, or more sums within
    each other than formulas have letters for.
    """
    try:
        with within(seconds), _memory(gib):
            yield
    except OutOfTime:
        raise BadAssumption(too_long(seconds)) from None
    except OverflowError:
        raise BadAssumption(
            "the derivation meets numbers with too many digits; a smaller formula is needed"
        ) from None
    except (MemoryError, RecursionError):
        raise BadAssumption(
            f"the derivation needs more than {gib:g} GiB or nests too deep; a smaller formula is needed"
        ) from None


@contextmanager
def _memory(gib: float) -> Iterator[None]:
    """Raises MemoryError inside beyond so much more memory than now, on Linux."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[5]) * resource.getpagesize()
    most = now + int(gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (most if before[1] < 0 else min(most, before[1]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
