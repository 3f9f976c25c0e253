"""What a record depends on, as a key: statements, assumptions, options, and the source code that judging it
runs.

Declarations of claims count definition by definition (the parts that a claim mentions, directly or through
others), all other modules as whole files: the engines for every claim, and whatever else the module of a
claim imports, also inside functions, directly or through others.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import sympy as sp

from checks.audit import OWN, current, per_audit
from checks.claim import Claim, Options, built
from checks.leg import Named
from checks.run.catalogue import (
    beside_audit,
    files,
    is_data,
    libraries,
    may_be_read,
    own_modules,
    sources,
    written_beside,
)
from checks.run.reach import effects, modules_named, reach
from checks.run.readings import printed_in
from checks.statement import functions_of
from derivations.calculus.term import whole
from derivations.theories.theory import NoForm

Seen = dict[int, Any]
"""What was read already, by identity; held, so that no later object gets the identity of one that is gone."""

_ENGINES = ("checks.run.verify", "checks.engine.", "checks.kinds.")
_WIRING = ("checks.run.registry", "checks.run.theories", "checks.papers.theories", "checks.commands.cli")
"""Modules that reach all claims or theories: what a record takes from them is in its key by value."""
_LADDER = "checks.run.lengths"
"""Counts by itself: it measures memory with modules that leave no trace in a record."""


@per_audit
def _imports(name: str) -> frozenset[str]:
    """The modules of the package that one module imports, at its top or inside a function, and the packages
    that it is in, which are imported before it.
    """
    path, within = sources()[name], name.split(".")[:-1]
    packages = {".".join(within[: n + 1]) for n in range(len(within))}
    return frozenset((modules_named(path) | packages) & sources().keys() - set(_WIRING))


@per_audit
def engine_version(*modules: str) -> str:
    """A hash of the source files that judging the claims and running the legs of these modules runs,
    declarations left out, and of the versions of the libraries. A module that is not the package's own adds
    nothing to the engines.
    """
    digest = hashlib.sha256()
    for name in sorted(_reached(*modules)):
        if not _is_declaration(name):
            digest.update(name.encode() + sources()[name].read_bytes())
    digest.update(libraries().encode())
    return digest.hexdigest()[:16]


@per_audit
def _reached(*modules: str) -> frozenset[str]:
    """The engines and these modules, and all that they import, directly or through others; of an author's
    package all that declares no claim: any of it may fill a registry, or put something into another module,
    once another claim has imported it.
    """
    todo = [name for name in sources() if name.startswith(_ENGINES)] + [m for m in modules if m in sources()]
    if current().package != OWN:
        todo += [name for name in own_modules() if not _is_declaration(name)]
    reached: set[str] = set()
    while todo:
        if (name := todo.pop()) not in reached:
            reached.add(name)
            todo += _imports(name) if name != _LADDER else ()
    return frozenset(reached)


def key(claim: Claim, assumptions: Any, options: Options, quick: str | None = None) -> str:
    """The key of a claim's record: a hash of what it says in words, of the text of every definition that its
    statements, derivation and legs reach, of assumptions, the options that matter, and engines. Nothing is
    derived for it.

    A quick record has no legs: where assumptions leave statements and derivation as they are (``quick``, as
    `said_under` has them), it is the same record.
    """
    parts = (claim.literal, claim.corrected, claim.derivation)
    if quick is not None:
        judged = [quick, repr(options.seed)]
    else:
        functions = [f for f in (*parts, *claim.legs, *claim.failing) if callable(f)]
        said = [part for part in parts if not callable(part)]
        judged = [
            *map(source, functions),
            *map(_text, said),
            *(text for f in (*functions, *functions_of(said)) for text in values_of(f)),
            whole(assumptions),
            repr(options if claim.legs or claim.failing else options.seed),
        ]
    words = (
        *(
            claim.id,
            claim.words,
            claim.correction_words,
            claim.instead,
            claim.role,
            claim.assumes,
            claim.rests_on,
            claim.title,
        ),
        *(claim.reference, claim.where, claim.notes, claim.reason),
    )
    named = {leg.module for leg in (*claim.legs, *claim.failing) if isinstance(leg, Named)}
    content = [
        repr(quick is not None),
        repr(words),
        *judged,
        _declared(claim),
        elsewhere(),
        data(claim.module, *sorted(named)),
        engine_version(claim.module, *sorted(named)),
    ]
    return hashlib.sha256("\x00".join(content).encode()).hexdigest()[:32]


def said_under(claim: Claim, assumptions: Any) -> str:
    """A hash of statements and derivation under assumptions, with what the functions in them read, or of the
    words of the error that says why there is none: where two have the same, neither touches the claim.
    """
    parts = (claim.literal, claim.corrected, claim.derivation)
    said = [_built(part, assumptions) if part else None for part in parts]
    text = "\x00".join([_text(said), *(value for f in functions_of(said) for value in values_of(f))])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def stopped(claim: Claim, assumptions: Any) -> bool:
    """Whether an error keeps the claim from saying something, which may be one of this run alone; that there
    is no form under these assumptions is none.
    """
    for part in filter(None, (claim.literal, claim.corrected, claim.derivation)):
        try:
            built(part, assumptions)
        except NoForm:
            continue
        except Exception:
            return True
    return False


def content_of(statement: Any) -> str:
    """A hash of all that a statement says, also what its display leaves to its symbols."""
    return hashlib.sha256(_text(statement).encode()).hexdigest()[:16]


def _built(part: Any, assumptions: Any) -> Any:
    try:
        return built(part, assumptions)
    except Exception as error:  # judging the claim says it
        return type(error).__name__, str(error)


@per_audit
def elsewhere() -> str:
    """What modules of the papers' packages do to others when they are imported, and what that reaches."""
    lines = [(path, line) for _, path in sorted(_declarations()) for line in effects(path, sources())]
    return "\n".join(reach(path, line, _declarations()) for path, line in lines)


def data(*modules: str) -> str:
    """A hash of the data that the functions of these modules may read, and the packages of an author's own
    beside the audit's that they import.
    """
    near = [beside(m) for m in sorted({*modules} & sources().keys())]
    return "\n".join([*near, *map(_data, beside_audit(_reached(*modules)))])


def beside(module: str) -> str:
    """A hash of the data that the functions of a module may read: those in the audit's package for one of its
    modules, else those in the module's folder.
    """
    if module not in sources():
        return ""
    folder = sources()[module].parent
    return _data(current().folder if folder.is_relative_to(current().folder) else folder)


@per_audit
def _data(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(files(folder)):
        unread = path == printed_in(path.parent) and path.suffix not in may_be_read()
        if is_data(path) and not unread and not written_beside(path):
            data = path.read_bytes()  # told apart by place and length: a file that moves is another one
            digest.update(f"{path.relative_to(folder).as_posix()}\x00{len(data)}\x00".encode() + data)
    return digest.hexdigest()


def _text(value: Any, seen: Seen | None = None) -> str:
    """A statement's (or constant's) content: its repr, and the source of the functions that it holds.

    Memory addresses are left out, and fresh indices are numbered as they occur: what was derived before in
    the same run must not matter.
    """
    numbers: dict[str, str] = {}
    text = re.sub(r" at 0x[0-9a-f]+", "", whole(value))
    text = re.sub(r"#\d+", lambda m: numbers.setdefault(m[0], f"#{len(numbers)}"), text)
    return text + "".join(_hidden(value, {} if seen is None else seen))


def _hidden(value: Any, seen: Seen) -> Iterator[str]:
    """What a repr may leave out: functions, the state of objects, the entries of long arrays."""
    if id(value) in seen or isinstance(value, (str, int, float, type(None), ModuleType)):
        return
    seen[id(value)] = value
    if isinstance(value, type):  # one that its module has under its name may be found among values alone
        path, line = _place(value) if _is_declaration(value.__module__ or "") else ("", 0)
        yield reach(Path(path), line, _declarations()) if path else ""
    elif inspect.isroutine(value) or isinstance(value, partial):
        yield source(value, seen)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _hidden(item, seen)
    elif isinstance(value, (set, frozenset)):
        yield from sorted("".join(_hidden(item, dict(seen))) for item in value)
    elif isinstance(value, dict):
        yield from _hidden([*value.keys(), *value.values()], seen)
    elif callable(getattr(value, "tobytes", None)):
        yield hashlib.sha256(value.tobytes()).hexdigest()
    elif not is_dataclass(value) and callable(value) and not isinstance(value, sp.Basic):
        yield source(value, seen)
    else:
        state = getattr(value, "__dict__", None)
        state = state if isinstance(state, dict) else {}
        slots = {s: getattr(value, s, None) for s in getattr(type(value), "__slots__", ())}
        if is_dataclass(value):
            apart = {f.name: getattr(value, f.name) for f in fields(value) if not f.repr}
        else:
            apart = {**state, **slots}
        if apart:
            yield re.sub(r" at 0x[0-9a-f]+|#\d+", "", whole(apart))
        yield from _hidden([*state.values(), *slots.values()], seen)


def values_of(function: Any, seen: Seen | None = None) -> Iterator[str]:
    """The values, as they are now, of the names that a function mentions, directly or through functions and
    classes of the papers' packages and of an author's own modules, and what it was made with: whatever gave
    them these values, and wherever.
    """
    seen = {} if seen is None else seen
    while isinstance(function, (staticmethod, classmethod, property, cached_property)):
        function = next(f for n in ("fget", "func", "__func__") if (f := getattr(function, n, None)))
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType) and id(function) not in seen:
        seen[id(function)] = function
        made_with = [c.cell_contents for c in function.__closure__ or () if c != CellType()]
        for value in (*made_with, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from _value("", value, seen)
        names = _names(code)
        spaces = [function.__globals__]
        spaces += [vars(v) for n in sorted(names) if _is_own(v := spaces[0].get(n))]
        for space in spaces:
            for name in sorted(names & space.keys()):
                yield from _value(name, space[name], seen)
    elif isinstance(function, partial):
        for value in (function.func, *function.args, *function.keywords.values()):
            yield from _value("", value, seen)
    elif callable(function) and not isinstance(function, type):  # an object: its class says what it reads
        yield from _methods(type(function), seen)
    if inspect.isfunction(inner := getattr(function, "__wrapped__", None)):
        yield from values_of(inner, seen)


def _names(code: CodeType) -> set[str]:
    todo, names = [code], set[str]()
    while todo:
        inner = todo.pop()
        names |= set(inner.co_names)
        todo += [c for c in inner.co_consts if isinstance(c, CodeType)]
    return names


def _value(name: str, value: Any, seen: Seen) -> Iterator[str]:
    owner = value if isinstance(value, type) else type(value)
    function = value if isinstance(value, FunctionType) or not callable(value) else inspect.unwrap(value)
    if isinstance(function, FunctionType):
        if _is_authors(function.__globals__.get("__name__", "")):
            yield from values_of(value, seen)
    elif not isinstance(value, type | ModuleType):
        yield f"{name} = {_text(value)}"
        yield from _held(value, seen)
    yield from _methods(owner, seen)


def _held(value: Any, seen: Seen) -> Iterator[str]:
    """The values that the functions in a table mention."""
    if isinstance(value, (tuple, list, dict)) and id(value) not in seen:
        seen[id(value)] = value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _held(item, seen)
    elif isinstance(value, partial):
        yield from values_of(value, seen)
    elif isinstance(value, FunctionType):
        yield from _value("", value, seen)


def _methods(owner: type, seen: Seen) -> Iterator[str]:
    """The values that an author's class has, and that its functions mention."""
    if _is_authors(owner.__module__ or "") and id(owner) not in seen:
        seen[id(owner)] = owner
        for key, attribute in sorted(vars(owner).items()):
            if isinstance(attribute, (staticmethod, classmethod, property, cached_property, FunctionType)):
                yield from values_of(attribute, seen)
            elif not (key.startswith("__") or isinstance(attribute, type | MemberDescriptorType)):
                yield from _value(f"{owner.__name__}.{key}", attribute, seen)


def _is_own(value: Any) -> bool:
    return isinstance(value, ModuleType) and _is_authors(value.__name__)


def _is_authors(name: str) -> bool:
    """Whether the values in a module count; those of the project's engines are as their text makes them."""
    return _is_declaration(name) or (current().package != OWN and name in own_modules())


def source(function: Any, seen: Seen | None = None) -> str:
    """The text of a leg, and of every definition of the papers' packages that it mentions, directly or
    through others.

    Read from the files, statement by statement (``checks.run.reach``): however something is imported, it
    counts.
    """
    if isinstance(function, Named) and function.module in sources():
        own = sources()[function.module]
        return f"{function.name}\n{reach(own, 0, _declarations())}"
    seen = {id(function): function} if seen is None else seen  # what holds itself is read once
    function = inspect.unwrap(function) if callable(function) else function
    if isinstance(function, partial):
        given = [_text(v, seen) for v in (function.args, sorted(function.keywords.items()))]
        return source(function.func, seen) + "".join(given)
    if inspect.isbuiltin(function):
        return repr(function)
    code = getattr(function, "__code__", None)
    inside = [c.cell_contents for c in getattr(function, "__closure__", None) or ()]
    inside += list(getattr(function, "__defaults__", None) or ())
    inside += [getattr(function, "__kwdefaults__", None), getattr(function, "__self__", None)]
    if code is None:  # an object that is called: its class, and what it holds
        path, line = _place(type(function))
        inside.append(vars(function) if hasattr(function, "__dict__") else whole(function))
    else:
        path, line = code.co_filename, code.co_firstlineno
    text = reach(Path(path), line, _declarations()) if Path(path).is_file() else ""
    return text + "".join(_text(v, seen) for v in inside if v is not function and v is not None)


def _place(owner: type) -> tuple[str, int]:
    """The file and line of a class; no file for one that is compiled, such as that of NumPy's functions."""
    try:
        return str(inspect.getsourcefile(owner)), inspect.getsourcelines(owner)[1]
    except (OSError, TypeError):
        return "", 0


def _declared(claim: Claim) -> str:
    """The text of the statement that declares a claim, and of all that it reaches; of a claim from elsewhere,
    of every module beside its own.
    """
    if claim.module in sources():
        line = int(claim.source.rpartition(":")[2])
        return reach(sources()[claim.module], line, _declarations())
    beside = sorted(claim.file.parent.glob("*.py")) if claim.file else []
    return "".join(hashlib.sha256(p.read_bytes()).hexdigest() for p in beside)


@per_audit
def _declarations() -> tuple[tuple[str, Path], ...]:
    """The modules of the papers' packages; all others are part of ``engine_version``."""
    return tuple((name, path) for name, path in sources().items() if _is_declaration(name))


def _is_declaration(name: str) -> bool:
    audit = current()
    return name.startswith(tuple(f"{audit.package_of(paper)}." for paper in audit.papers))
