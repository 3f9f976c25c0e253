"""What is audited together: a package of claims with its papers, theories, records and book.

The four papers are the audit of `checks.papers`; an author's package is another one of the same shape. A
process works on one of them.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from derivations.errors import Unusable

GROUP = "attention_audit"
"""The group of entry points under which a distribution names its audits: ``mypaper = "mypaper:AUDIT"``."""
OWN = "checks.papers"
CHOSEN = "ATTEST_PACKAGE"
"""The variable of the environment that names a package for every command."""


@dataclass(frozen=True)
class Paper:
    """A paper: the part of its claims' ids before the slash, how it is cited, its short name in the book,
    and the folder in the package whose modules declare its claims, in the order of the modules' names (both
    by default its key).
    """

    key: str
    cited: str
    name: str = ""
    folder: str = ""

    def __post_init__(self) -> None:
        """Raises TypeError for a field that is no text."""
        if not all(isinstance(field, str) for field in (self.key, self.cited, self.name, self.folder)):
            raise TypeError(f"{self} has a field that is no text")


@dataclass(frozen=True)
class Audit:
    """What one package audits. A package says ``AUDIT = Audit(__name__, "A title", (Paper(...), ...))``.

    ``records`` (expected verdicts, readings, proofs) and ``book`` (pages, ``chapters/PAPER``, variants) are
    folders, relative to the package. Its module ``theories``, if there is one, has the theories whose
    assumptions can be changed, as ``THEORIES``.
    """

    package: str
    title: str
    papers: tuple[Paper, ...]
    records: str = "records"
    book: str = "book"

    def __post_init__(self) -> None:
        """Raises TypeError for a field that is no text, and papers that are no tuple of Paper."""
        if not all(isinstance(field, str) for field in (self.package, self.title, self.records, self.book)):
            raise TypeError(f"the audit of {self.package} has a field that is no text")
        if not isinstance(self.papers, tuple) or not all(isinstance(p, Paper) for p in self.papers):
            raise TypeError(f"the papers of {self.package} are no tuple of Paper(...)")

    @property
    def folder(self) -> Path:
        """The folder of the package."""
        return Path(str(import_module(self.package).__file__)).resolve().parent

    @property
    def root(self) -> Path:
        """The folder that the package is imported from; sources are named relative to it."""
        return self.folder.parents[self.package.count(".")]

    @property
    def records_folder(self) -> Path:
        """Where results are recorded."""
        return (self.folder / self.records).resolve()

    @property
    def book_folder(self) -> Path:
        """Where the pages of its book are written."""
        return (self.folder / self.book).resolve()

    @property
    def command(self) -> str:
        """How the command line is called for this package."""
        return "attest" if self.package == OWN else f"attest --package {self.package}"

    @property
    def theories(self) -> str:
        """The name of the module of its theories; "" where there is none."""
        name = f"{self.package}.theories"
        return name if find_spec(name) else ""

    def paper(self, key: str) -> Paper:
        """A paper by its key; one that is not listed goes by the key alone."""
        return next((p for p in self.papers if p.key == key), Paper(key, key))

    def package_of(self, paper: Paper) -> str:
        """The package whose modules declare a paper's claims."""
        return f"{self.package}.{paper.folder or paper.key}"

    def folder_of(self, key: str) -> Path:
        """Its folder."""
        paper = self.paper(key)
        return self.folder / (paper.folder or paper.key)


class UnknownPackage(Unusable, LookupError):
    """There is no such package, or it is no audit; the message is one line that says what is needed."""


_current: list[Audit] = []
STARTED = time.time()
"""When this process began to import what judges."""
_loaded: dict[str, float] = {}


def current() -> Audit:
    """The audit that this process works on: the one that was chosen, in the environment if nowhere else, or
    that of the four papers. Raises UnknownPackage.
    """
    return _current[0] if _current else use()


def loaded() -> float:
    """When this process began to import the audit that it works on; a package that was there before counts
    from the start.
    """
    return _loaded.get(current().package, STARTED)


def use(name: str = "") -> Audit:
    """Work on the audit of a package, by the name of its entry point or of the package itself; without a name
    the environment says which, else the four papers are meant. Raises UnknownPackage.
    """
    name = name or os.environ.get(CHOSEN) or OWN
    listed = {point.name: point for point in entry_points(group=GROUP)} if name != OWN else {}
    before, began = set(sys.modules), time.time()
    found = _installed(listed[name]) if name in listed else _imported(name, sorted(listed))
    if not isinstance(found, Audit):
        raise UnknownPackage(
            f"{name} has no AUDIT: its __init__.py says AUDIT = Audit(__name__, title, papers)"
        )
    absent = [p for p in found.papers if not found.folder_of(p.key).is_dir()]
    if absent or not found.papers:
        place = found.folder_of(absent[0].key) if absent else found.folder
        raise UnknownPackage(f"{name}: there is no folder {place} with the claims of a paper")
    if found.package not in before:
        _loaded[found.package] = began
    _current[:] = [found]
    return found


def own_module(name: str) -> ModuleType:
    """A module of an author's package. Raises UnknownPackage, which says what is wrong with it and where."""
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        raise UnknownPackage(f"{name} cannot be imported: {_what(error)}") from error


def _what(error: BaseException) -> str:
    """The name and words of an error, and where the author's code raised it."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}:{error.lineno})"
    own = Path(__file__).parents[1]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<")]
    outside = [f for f in frames if not Path(f.filename).is_relative_to(own)] or frames
    return f"{type(error).__name__}: {error} ({outside[-1].filename}:{outside[-1].lineno})"


def _installed(point: EntryPoint) -> object:
    """The AUDIT that an entry point names: a folder of the package's name in the working folder, which Python
    takes for a package without a file, hides an installed one.
    """
    if getattr(package := own_module(point.module), "__file__", None) is None:
        folder = next(iter(package.__path__))
        raise UnknownPackage(f"the folder {folder} hides the package of its name: work elsewhere")
    return getattr(package, point.attr, None)


def _imported(name: str, listed: list[str]) -> object:
    """The AUDIT of a package that can be imported here, or from the working folder."""
    first = name.partition(".")[0]
    if not find_spec(first):
        sys.path.append(os.getcwd())
    if not (spec := find_spec(first)) or spec.origin is None:  # a folder without __init__.py is none
        known = f"; installed: {', '.join(listed)}" if listed else ""
        raise UnknownPackage(f"no package '{first}' is installed, nor in {os.getcwd()}{known}")
    return getattr(own_module(name), "AUDIT", None)


def cache_folder() -> Path:
    """The folder of the cache: in the source tree, or where the user's caches are if the project was
    installed without it. An empty ATTEST_CACHE says no more than none: it is not the working folder.
    """
    if chosen := os.environ.get("ATTEST_CACHE"):
        return Path(chosen)
    tree = Path(__file__).parents[1]
    if (tree / "pyproject.toml").is_file():
        return tree / ".attest" / "cache"
    from platformdirs import user_cache_path  # a machine that has the tree alone need not have it

    return user_cache_path("attest")


F = TypeVar("F", bound=Callable[..., Any])


def per_audit(function: F) -> F:
    """`functools.cache`, kept apart for each audit."""
    kept = cache(lambda _, *arguments: function(*arguments))
    called: Any = wraps(function)(lambda *arguments: kept(current().package, *arguments))
    called.cache_clear = kept.cache_clear
    return cast(F, called)
