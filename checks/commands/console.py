"""The terminal: where commands write, and the bar of long work."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table

from checks.claim import hidden

LONGEST_WORD, LONGEST_LINE = 160, 650


class _Console(Console):
    """rich's console, which leaves it to the command line what a reader that has gone away means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of what is printed; texts of users and files steer no terminal."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(inert(segment.text), segment.style)


class _Aside(_Console):
    """Standard error: where it takes nothing, as on a full disk, nobody is told and the work goes on."""

    def print(self, *objects: Any, **options: Any) -> None:
        """The same, but for the errors of its file."""
        try:
            super().print(*objects, **options)
        except OSError:
            if sys.stderr is sys.__stderr__ is not None:  # else Python tries again when it ends
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def inert(text: str) -> str:
    """The text with a question mark for every character that would steer a terminal."""
    return text.translate(dict.fromkeys(map(ord, hidden(text)), "?"))


def print_json(text: str) -> None:
    """JSON on standard output, its hidden characters by their numbers."""
    print(text.translate({ord(c): json.dumps(c)[1:-1] for c in hidden(text)}))


# a pipe has no width; 80 columns would break every row; a closed output is None
OUT = _Console(width=None if sys.stdout is not None and sys.stdout.isatty() else 170)
ERR = _Aside(stderr=True)


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    width: int,
    breaks: Collection[str] = (),
    right: Collection[str] = (),
) -> None:
    """Rows of marked up cells; on a terminal of fewer columns than ``width`` a few lines for each row, with
    the names of its cells, because a table would cut cells off.

    breaks, right: headings of the columns whose cells may be broken or stand at the right.
    """
    if OUT.width < width:
        for first, second, *others in rows:
            OUT.print("  ".join(filter(None, (first, second))), soft_wrap=True)
            more = (f"{name} {cell}" for name, cell in zip(headings[2:], others, strict=True) if cell)
            OUT.print(f"  {', '.join(more)}", style="dim", highlight=False, soft_wrap=True)
        return
    shown = Table(box=None, pad_edge=False)
    for name in headings:
        shown.add_column(name, justify="right" if name in right else "left", no_wrap=name not in breaks)
    for row in rows:
        shown.add_row(*row)
    OUT.print(shown)


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
    """One line of bounded length on standard error, whatever the words contain."""
    line = " ".join(w if len(w) <= LONGEST_WORD else f"{w[: LONGEST_WORD - 1]}…" for w in words.split())
    if len(line) > LONGEST_LINE:
        line = f"{line[: LONGEST_LINE // 2]} … {line[-LONGEST_LINE // 3 :]}"
    ERR.print(f"attest: {line}", style="red", markup=False, emoji=False, highlight=False, soft_wrap=True)


def literal(text: str) -> str:
    """A text of a user or a file for a cell or a line with markup: shown as it stands, without escape
    codes.
    """
    return escape(inert(text).replace("\n", "?"))


def any_encoding() -> None:
    """Let a terminal that lacks a character show its number, \\u03b1, which JSON reads too."""
    codecs.register_error("numbers", _numbers)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="numbers")


def _numbers(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end


def progress_bar() -> Progress:
    """A bar with counts, time taken and time left; none where no one watches: it would leave an empty
    line.
    """
    return Progress(
        TextColumn("{task.description:32.32}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
    )


@contextmanager
def signs_of_life(words: Callable[[], str], seconds: float = 10) -> Iterator[None]:
    """Inside, where no terminal shows a bar, a line now and then that says where the work is."""
    ended = Event()

    def speak() -> None:
        while not ended.wait(seconds):
            ERR.print(words(), style="dim", markup=False, highlight=False, soft_wrap=True)

    speaker = Thread(target=speak, daemon=True)
    if not ERR.is_terminal:
        speaker.start()
    try:
        yield
    finally:
        ended.set()
        if speaker.is_alive():  # a line begun is ended before what follows
            speaker.join()


@contextmanager
def watched(seconds: float = 10) -> Iterator[Progress]:
    """A bar; where no terminal shows it, a line now and then that says how far the last of its tasks is."""

    def words() -> str:
        task = bar.tasks[-1]
        left = task.time_remaining or 0
        said = f"{task.description}: {task.completed:g} of {task.total or 0:g}"
        return f"{said}, about {left / 60:.0f} min left" if left >= 60 else said

    with progress_bar() as bar, signs_of_life(words, seconds):
        yield bar
