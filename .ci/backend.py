"""Builds the wheel: setuptools does, from a copy of the tree that has everything below one package.

In the repository derivations, solvers, checks and book are packages of their own; installed under these names
they would be in the way of an author's folders of the same name. So the copy is called attention_audit, and
in it the import statements, and the strings that name a module, say so: plain text that a reader and a
debugger see, where import hooks or aliases would load modules twice. An editable installation is the
repository as it stands.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from setuptools import build_meta

build_editable = build_meta.build_editable
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable

NAME = "attention_audit"
FOLDERS = ("derivations", "solvers", "checks", "book")
_ANY = "|".join(FOLDERS)
_IMPORT = re.compile(rf"^(\s*(?:from|import)\s+)(?=(?:{_ANY})\b)", re.MULTILINE)
_BARE = re.compile(rf"^\s*import\s+(?:{_ANY})\b[\w.]*(?!.*\bas\b)", re.MULTILINE)
_BACKEND = re.compile(r"^build-backend = .*\nbackend-path = .*\n", re.MULTILINE)
_COMMAND = re.compile(rf"(?<=-m )(?=(?:{_ANY})\.)")
_WORDS = re.compile(rf"(?<=`)(?=(?:{_ANY})\.\w)")
_STRING = re.compile(rf"""(?<=["'])(?=((?:{_ANY})\.[\w.]+)[:"'])""")
INIT = f'''"""Claims of papers on attention, judged. What authors need can be imported from here."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from opcode import opmap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from {NAME}.checks.api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Loaded when the first name is asked for: the command line starts without.

    Raises AttributeError with the names that are spelled like it; ImportError where a statement imports it,
    since Python throws away what an AttributeError says there.
    """
    if name.startswith("_") and name != "__all__":
        raise AttributeError(name)
    api = import_module("{NAME}.checks.api")
    if hasattr(api, name):
        return getattr(api, name)
    near = get_close_matches(name, api.__all__)
    hint = f"did you mean {{', '.join(near)}}?" if near else "dir({NAME}) lists what there is"
    asking = sys._getframe(1)
    imported = asking.f_code.co_code[max(0, asking.f_lasti)] == opmap["IMPORT_FROM"]
    raise (ImportError if imported else AttributeError)(f"{NAME} has no {{name!r}}; {{hint}}")


def __dir__() -> list[str]:
    """What authors import, for help() and completion."""
    return sorted(import_module("{NAME}.checks.api").__all__)
'''
MAIN = f"""import sys

from {NAME}.checks.commands.start import main

sys.exit(main())
"""


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """The hook of PEP 517: the name of the wheel, which is written into a folder."""
    place = str(Path(wheel_directory).resolve())
    with _relocated():
        return build_meta.build_wheel(place, config_settings)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """The same for sources, which setuptools alone can build."""
    place = str(Path(sdist_directory).resolve())
    with _relocated():
        return build_meta.build_sdist(place, config_settings)


@contextmanager
def _relocated() -> Iterator[None]:
    """Inside, the working folder is the copy."""
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        relocate(here, Path(folder))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


def relocate(tree: Path, target: Path) -> None:
    """Copies a tree with everything below one package, and what a build needs besides."""
    for folder in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "_work", "_build")
        shutil.copytree(tree / folder, target / NAME / folder, ignore=ignored)
    (target / NAME / "__init__.py").write_text(INIT)
    (target / NAME / "__main__.py").write_text(MAIN)
    modules = {
        ".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__")
        for folder in FOLDERS
        for path in (tree / folder).rglob("*.py")
    }
    for path in _sources(target / NAME):
        path.write_text(renamed(path.read_text("utf8"), modules), "utf8")
    said = renamed((tree / "pyproject.toml").read_text("utf8"), modules)
    said = _BACKEND.sub('build-backend = "setuptools.build_meta"\n', said)
    (target / "pyproject.toml").write_text(said, "utf8")
    shutil.copy(tree / "README.md", target)


def _sources(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.py") if "template" not in path.parts)


def renamed(text: str, modules: set[str]) -> str:
    """The text of a module with the project's modules below one package, where it imports them, and where a
    string is the name of one (also with a dot behind it, or with a colon and the name of an object), or words
    between backquotes begin with one.

    Raises ValueError for an import that binds a name which would then be another.
    """
    if found := _BARE.search(text):
        raise ValueError(
            f"'{found[0].strip()}' binds the name of a package: import it with 'as', or with 'from'"
        )
    text = _COMMAND.sub(f"{NAME}.", _WORDS.sub(f"{NAME}.", _IMPORT.sub(rf"\1{NAME}.", text)))
    return _STRING.sub(lambda m: f"{NAME}." if m[1].rstrip(".") in modules else "", text)
