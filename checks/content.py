"""What a record depends on, as a key: statements, assumptions, options, and the source code that judging it runs.

Declarations of claims count function by function (the parts that a claim reaches), all other modules as whole files: the
engines for every claim, and whatever else the module of a claim imports, directly or through others.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from checks.claim import ROOT, Claim, Options
from checks.registry import PAPERS

_FOLDERS = ("derivations", "solvers", "checks")
_ENGINES = ("checks.verify", "checks.engines", "checks.kinds.")
_WIRING = ("checks.registry", "checks.theories", "checks.cli")
"""Modules that reach all claims or theories: what a record takes from them is in its key by value."""
_LADDER = "checks.ladder"
"""Counts by itself: it measures memory with modules that leave no trace in a record."""


@lru_cache(maxsize=1)
def _files() -> dict[str, Path]:
    """The package's modules by name."""
    found = {}
    for folder in _FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def _imports(name: str) -> frozenset[str]:
    """The modules of the package that one module imports, at its top or inside a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(_files()[name].read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found & _files().keys() - set(_WIRING))


@cache
def engine_version(module: str) -> str:
    """A hash of the source files that judging the claims of a module runs, declarations left out, and of the versions
    of the libraries. A module that is not the package's own has the engines alone."""
    todo = [name for name in _files() if name.startswith(_ENGINES)] + [module] * (module in _files())
    reached: set[str] = set()
    while todo:
        if (name := todo.pop()) not in reached:
            reached.add(name)
            todo += _imports(name) if name != _LADDER else ()
    digest = hashlib.sha256()
    for name in sorted(reached):
        if not _is_declaration(name):
            digest.update(name.encode() + _files()[name].read_bytes())
    for package in ("sympy", "numpy", "scipy", "cvxpy", "torch", "scikit-learn", "python-flint"):
        digest.update(_version(package).encode())
    return digest.hexdigest()[:16]


@cache
def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"{package} absent"


def key(claim: Claim, assumptions: Any, options: Options, quick: bool = False) -> str:
    """The key of a claim's record: a hash of statements, legs, assumptions, the options that matter, and engines.

    A quick record has no legs: where assumptions leave statements and derivation as they are, it is the same record.
    """
    if quick:
        steps = repr(claim.derivation(assumptions)) if claim.derivation else ""
        judged_under = ["quick", _text(steps), repr(options.seed)]
    else:
        judged_under = [
            *(source(f) for f in (*claim.legs, *claim.failing, claim.derivation) if f is not None),
            repr(assumptions) + repr(options.seed) + (repr(options) if claim.legs or claim.failing else ""),
        ]
    content = [
        claim.id,
        _text(claim.literal(assumptions)) if claim.literal else "",
        _text(claim.corrected(assumptions)) if claim.corrected else "",
        repr(
            (
                claim.words,
                claim.correction_words,
                claim.severity,
                claim.role,
                claim.assumes,
                claim.rests_on,
                claim.title,
            )
        ),
        repr((claim.reference, claim.where, claim.notes, claim.reason)),
        *judged_under,
        engine_version(claim.module),
    ]
    return hashlib.sha256("\x00".join(content).encode()).hexdigest()[:32]


def _text(value: Any) -> str:
    """A statement's (or constant's) content: its repr, and the source of the functions that it holds.

    Memory addresses are left out, and fresh indices are numbered as they occur: what was derived before in the same run
    must not matter.
    """
    numbers: dict[str, str] = {}
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(value))
    text = re.sub(r"#\d+", lambda m: numbers.setdefault(m[0], f"#{len(numbers)}"), text)
    return text + "".join(source(f) for f in _functions(value))


def _functions(value: Any) -> Iterator[Callable]:
    if inspect.isfunction(value):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _functions(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for item in vars(value).values():
            yield from _functions(item)


def source(function: Any) -> str:
    """The source of a leg, and of every function, class and constant of the papers' packages that it reaches."""
    found: dict[str, str] = {}
    _reach(function if inspect.isfunction(function) else type(function), found)
    return "".join(found[name] for name in sorted(found))


def _reach(value: Any, found: dict[str, str]) -> None:
    value = inspect.unwrap(value) if callable(value) else value
    if not (inspect.isfunction(value) or inspect.isclass(value)) or not _declares(inspect.getmodule(value)):
        return
    if inspect.isfunction(value) and value.__code__.co_filename.startswith("<"):
        return  # a dataclass made it from the fields, which are in the source of the class
    name = f"{value.__module__}.{value.__qualname__}"
    if inspect.isfunction(value) and value.__code__.co_filename == "<string>":
        return  # written by dataclass, from the source of the class, which is taken in itself
    text = inspect.getsource(value)
    if text in found.get(name, ""):
        return
    found[name] = found.get(name, "") + text
    functions = (
        [value] if inspect.isfunction(value) else [f for f in vars(value).values() if inspect.isfunction(f)]
    )
    for function in functions:
        names = set(_names(function.__code__))
        inside = [cell.cell_contents for cell in function.__closure__ or ()] + list(
            function.__defaults__ or ()
        )
        reached = [function.__globals__[n] for n in sorted(names) if n in function.__globals__] + inside
        for module in [m for m in reached if inspect.ismodule(m) and _declares(m)]:
            reached += [vars(module)[n] for n in sorted(names) if n in vars(module)]
        for item in reached:
            if inspect.isfunction(item) or inspect.isclass(item) or hasattr(item, "__wrapped__"):
                _reach(item, found)
            elif not inspect.ismodule(item) and not callable(item):
                found[f"{name} {type(item).__name__}"] = found.get(
                    f"{name} {type(item).__name__}", ""
                ) + _text(item)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _declares(module: ModuleType | None) -> bool:
    """Whether a module belongs to a paper; all others are part of ``engine_version``."""
    return module is not None and _is_declaration(module.__name__)


def _is_declaration(name: str) -> bool:
    return name.startswith(tuple(f"checks.{paper}." for paper in PAPERS))
