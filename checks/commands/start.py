"""The console script: until the command line is imported, Ctrl-C ends by the signal and says nothing."""

from __future__ import annotations

import signal
from importlib import import_module


def main() -> int:
    """The exit status of ``attest``."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    status: int = import_module(f"{__package__}.cli").main()
    return status
