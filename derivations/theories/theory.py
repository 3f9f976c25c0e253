"""Assumptions as typed knobs: one frozen dataclass a theory, loadable from text and from TOML."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from derivations.calculus.parse import printed
from derivations.calculus.program import Step
from derivations.errors import Unusable

_PLAIN = re.compile(r"[A-Za-z0-9_.,:+\-*/^() ]*")
"""What a value is written with. It is shown in pages, formulas and terminals, where other signs mean
something; Python, which reads formulas, would also take a comment.
"""
_LARGEST = 2**16
"""Bytes of a file of assumptions, and _DOTS of the dotted keys in it: tomllib takes gigabytes for many."""
_DOTS = 1000


class BadAssumption(Unusable, ValueError):
    """A knob that does not exist, or a value that it does not take."""


class NoForm(Unusable, ValueError):
    """What a formula has no form for under some assumptions, as a sentence."""


@dataclass(frozen=True)
class Knob:
    """A choice: its name, the allowed values (an upper-case word is a placeholder) and what it means.

    A value that is a formula ("EXPRESSION in …") is kept as it was parsed and printed again, never as typed.
    ``examples`` are values that stand for those with a placeholder, where every kind of value is tried.
    """

    name: str
    allowed: tuple[str, ...]
    meaning: str
    examples: tuple[str, ...] = ()

    def kept(self, value: str) -> str:
        """How a value that is valid is stored and shown."""
        free = any(a.startswith("EXPRESSION") for a in self.allowed)
        return printed(value) if free and value not in self.allowed and ":" not in value else value


def changed(defaults: Any, knobs: tuple[Knob, ...], settings: dict[str, Any], validate: Any) -> Any:
    """The assumptions with some knobs set. Raises BadAssumption with one line that says what is allowed."""
    names = {f.name for f in fields(defaults)}
    kept = {}
    for name, value in settings.items():
        if name not in names:
            raise BadAssumption(f"no knob '{name}'; there are {', '.join(sorted(names))}")
        knob = next(k for k in knobs if k.name == name)
        if not isinstance(value, str):
            raise BadAssumption(
                f"{name} takes text, not {type(value).__name__}; allowed: {', '.join(knob.allowed)}"
            )
        try:
            validate(name, value)
            kept[name] = knob.kept(value)
        except ValueError as error:
            shown = value if len(value) <= 80 else f"{value[:79]}…"
            raise BadAssumption(f"{name}={shown}: {error}; allowed: {', '.join(knob.allowed)}") from None
        if not _PLAIN.fullmatch(value):
            strange = next(c for c in value if not _PLAIN.fullmatch(c))
            raise BadAssumption(f"{name} has the character {strange!a}; allowed: {', '.join(knob.allowed)}")
    return replace(defaults, **kept)


@dataclass(frozen=True)
class Theory:
    """A theory: its default assumptions, its knobs, how to validate a value and how to derive its results."""

    name: str
    defaults: Any
    knobs: tuple[Knob, ...]
    validate: Callable[[str, str], None]
    derive: Callable[[Any], list[Step]]

    def assumptions(self, settings: dict[str, Any]) -> Any:
        """The defaults with some knobs set. Raises BadAssumption."""
        return changed(self.defaults, self.knobs, settings, self.validate)


def parse_settings(pairs: list[str], theory: str) -> dict[str, str]:
    """``knob=value`` or ``theory.knob=value`` texts as a mapping. Raises BadAssumption."""
    settings = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadAssumption(f"'{pair}' is not of the form knob=value")
        prefix, dot, knob = name.strip().rpartition(".")
        if dot and prefix != theory:
            raise BadAssumption(f"'{pair}' belongs to theory {prefix}, not {theory}")
        settings[knob] = value.strip()
    return settings


def load_tables(path: Path) -> dict[str, Any]:
    """What a TOML file of assumptions holds. Raises BadAssumption for a missing or damaged file."""
    try:
        return tomllib.loads(_text(path))
    except BadAssumption:
        raise
    except OSError as error:
        raise BadAssumption(f"cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise BadAssumption(f"{path} nests too deep") from None
    except ValueError as error:  # a number of too many digits, too
        raise BadAssumption(f"{path} is not valid TOML: {error}") from None


def load_settings(path: Path, theory: str) -> dict[str, Any]:
    """The table of one theory in a TOML file.

    Raises BadAssumption for a missing or damaged file, and for one without that table.
    """
    tables = load_tables(path)
    if theory not in tables:
        there = ", ".join(f"[{name}]" for name in tables) or "nothing"
        raise BadAssumption(f"{path} has no table [{theory}]; there is {there}")
    return settings_in(tables, theory, path)


def settings_in(tables: dict[str, Any], theory: str, path: Path | None) -> dict[str, Any]:
    """The table of one theory among those of a file; empty where it has none. Raises BadAssumption."""
    settings = tables.get(theory, {})
    if not isinstance(settings, dict):
        raise BadAssumption(f"{path}: [{theory}] must be a table")
    return dict(settings)


def _text(path: Path) -> str:
    """The text of a small regular file: a pipe or a device may never end. Raises BadAssumption, OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        why = "Is a directory" if path.is_dir() else "is no regular file"
        raise BadAssumption(f"cannot read {path}: {why}")
    # what blocks until somebody writes, such as /proc/kmsg, says so instead
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        found = file.read(_LARGEST + 1) or b""
    if len(found) > _LARGEST or found.count(b".") > _DOTS:
        raise BadAssumption(f"{path} is too large: at most {_LARGEST} bytes and {_DOTS} dots are read")
    return found.decode("utf-8")
