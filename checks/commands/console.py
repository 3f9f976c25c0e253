"""The terminal: where commands write, and the bar of long work."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

# a pipe has no width; 80 columns would break every row
OUT = Console(width=None if sys.stdout.isatty() else 170)
ERR = Console(stderr=True)


COLOURS = {
    "proved": "green",
    "confirmed": "green",
    "corrected": "yellow",
    "refuted": "red",
    "definition": "cyan",
    "empirical": "blue",
    "unsettled": "magenta",
    "inconsistent": "bold red",
}


def complain(words: str) -> None:
    """One line on standard error, whatever the words contain."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(words.split()))
    ERR.print(f"attest: {line}", style="red", markup=False, emoji=False, highlight=False, soft_wrap=True)


def progress_bar() -> Progress:
    """A bar with counts, time taken and time left; none where no one watches: it would leave an empty
    line.
    """
    return Progress(
        TextColumn("{task.description:32.32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
    )
