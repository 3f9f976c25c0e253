"""What a definition depends on, read from the source files: every top-level statement that it mentions,
transitively.

A statement mentions a name wherever it occurs in it, inside functions and their imports as well. A module
that is used as a whole (handed on, or asked for attributes by computed names) counts as a whole. More may be
counted than is used, never less: a key made from the text cannot stay the same when something reachable
changes.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from importlib.util import cache_from_source, decode_source
from pathlib import Path
from typing import Any

from derivations.errors import Unusable

_BY_TEXT = frozenset({"globals", "eval", "exec"})
"""What finds names of its own module that are computed: all of them count."""

_ANY_MODULE = frozenset(
    {"import_module", "__import__", "modules", "resolve_name", "run_module", "find_spec", "load_module"}
)
"""What finds a module whose name is computed: all of them count."""

Target = tuple[str, str]  # a module and a name in it; "" for the module as a whole


@dataclass(frozen=True)
class _Statement:
    """A top-level statement: its text, the names that it defines, and what it mentions."""

    first: int
    last: int
    text: str
    defines: frozenset[str]
    names: frozenset[str]
    attributes: frozenset[tuple[str, ...]]
    bare: frozenset[str]
    imports: tuple[tuple[str, Target], ...]
    acts: bool
    changes: frozenset[str]
    defines_only: bool


@dataclass(frozen=True)
class _Module:
    statements: tuple[_Statement, ...]
    aliases: dict[str, Target] = field(hash=False)
    defined: dict[str, tuple[int, ...]] = field(hash=False)


def reach(path: Path, line: int, modules: tuple[tuple[str, Path], ...]) -> str:
    """The text of the statement at a line of a file, and of all that it reaches in that file and in
    ``modules``; with line 0 of the whole file, and with it of everything that acts in a file that is reached:
    what is not loaded cannot be asked for its values.
    """
    files = dict(modules)
    found: dict[tuple[str, int], str] = {}
    todo: list[tuple[Path, int]] = []
    module = _parsed(path, path.stat().st_mtime_ns)
    todo += [(path, n) for n, s in enumerate(module.statements) if not line or s.first <= line <= s.last]
    while todo:
        where, n = todo.pop()
        if (str(where), n) in found:
            continue
        module = _parsed(where, where.stat().st_mtime_ns)
        if not line:
            todo += [(where, k) for k, s in enumerate(module.statements) if s.acts]
        found[str(where), n] = module.statements[n].text
        for name, wanted in _mentions(module, module.statements[n], files):
            if name == "":
                todo += [(where, k) for k in module.defined.get(wanted, ())]
            elif name in files:
                other = _parsed(files[name], files[name].stat().st_mtime_ns)
                late = other.defined.get("__getattr__", ())
                numbers = other.defined.get(wanted, late) if wanted else range(len(other.statements))
                todo += [(files[name], k) for k in numbers]
    return "\n".join(found[place] for place in sorted(found))


def written(path: Path, line: int) -> str:
    """The top-level statement at a line of a file, as it stands there; "" where there is none."""
    if not path.is_file():
        return ""
    statements = _parsed(path, path.stat().st_mtime_ns).statements
    return next((s.text for s in statements if s.first <= line <= s.last), "")


def _mentions(module: _Module, statement: _Statement, files: dict[str, Path]) -> Iterator[Target]:
    """What a statement mentions: names of its own module as ("", name), others with their module."""
    said = statement.names.union(*statement.attributes)
    if said & _BY_TEXT:
        yield from (("", name) for name in module.defined)
    if said & _ANY_MODULE:
        yield from ((name, "") for name in files)
    aliases = {**module.aliases, **dict(statement.imports)}
    if any(aliases[name][1] in _ANY_MODULE for name in statement.names & aliases.keys()):
        yield from ((name, "") for name in files)
    whole = {name: t[0] if not t[1] else f"{t[0]}.{t[1]}" for name, t in aliases.items()}
    for name in statement.names:
        yield ("", name)
        if name in aliases and whole[name] not in files:
            yield aliases[name]
        elif name in aliases and name in statement.bare:
            yield (whole[name], "")
    for base, *attributes in statement.attributes:
        module_name = whole.get(base, "")
        for attribute in attributes:
            yield (module_name, attribute)
            module_name = f"{module_name}.{attribute}"
            yield (module_name, "")  # where the attribute is a module, all of it
    for name, target in statement.imports:
        if name == "*":
            yield target


@lru_cache(maxsize=4096)
def _parsed(path: Path, changed: int) -> _Module:
    content = path.read_bytes()
    statements = [_Statement(*s) for s in kept(path, content, "statements", _statements)]
    aliases = {name: target for s in statements for name, target in s.imports if _at_top(s)}
    defined: dict[str, list[int]] = {}
    for n, s in enumerate(statements):
        for name in s.defines:
            defined.setdefault(name, []).append(n)
    return _Module(tuple(statements), aliases, {name: tuple(ns) for name, ns in defined.items()})


def _statements(path: Path, content: bytes) -> tuple[Any, ...]:
    lines, found = decode_source(content).split("\n"), []  # the lines that Python counts
    for node in ast.parse(content).body:
        decorated = [d.lineno for d in getattr(node, "decorator_list", ())]
        first, last = min([node.lineno, *decorated]), node.end_lineno or node.lineno
        found.append(_statement(node, first, last, "\n".join(lines[first - 1 : last]), path))
    return tuple(tuple(getattr(s, f.name) for f in fields(s)) for s in found)


def kept(path: Path, content: bytes, kind: str, read: Callable[[Path, bytes], Any]) -> Any:
    """What ``read`` finds in a source file, of values that marshal takes; kept beside its bytecode and,
    as that, read again when the text changes, or the packages around the file, or this module.
    """
    around = [_package(path, level) for level in range(1, len(path.parents) + 1)]
    made_of = hashlib.sha256(b"\0".join([_reader(), repr((str(path), around)).encode(), content])).digest()
    place = Path(cache_from_source(path, optimization=kind))
    with suppress(OSError):
        there = place.read_bytes()
        if there[:32] == _seal(made_of, there[32:]):  # a damaged one may end the process that loads it
            return marshal.loads(there[32:])
    found = read(path, content)
    if not sys.dont_write_bytecode:
        text = marshal.dumps(found)
        _write(place, _seal(made_of, text) + text)
    return found


def _seal(made_of: bytes, text: bytes) -> bytes:
    """What stands before what was found: the hash of it and of what it was made of."""
    return hashlib.sha256(made_of + text).digest()


@cache
def _reader() -> bytes:
    """The text of what reads files, and the Python that does it."""
    return sys.version.encode() + b"\0" + Path(__file__).read_bytes()


def _write(place: Path, content: bytes) -> None:
    """Write a file that nothing needs, whole or not at all."""
    part = place.with_suffix(f".{os.getpid()}")
    try:
        place.parent.mkdir(exist_ok=True)
        part.write_bytes(content)
        part.replace(place)
    except OSError:
        with suppress(OSError):  # as where nothing can be written
            part.unlink()


def _at_top(statement: _Statement) -> bool:
    return statement.text.lstrip().startswith(("import ", "from ", "if ", "try"))


def _statement(node: ast.stmt, first: int, last: int, text: str, path: Path) -> _Statement:
    names: set[str] = set()
    attributes: set[tuple[str, ...]] = set()
    based: set[int] = set()
    bare: set[str] = set()
    imports: list[tuple[str, Target]] = []
    inside = list(ast.walk(node))
    for inner in inside:
        match inner:
            case ast.Attribute() if chain := _chain(inner):
                name, *rest = chain
                attributes.add((name.id, *rest))
                based.add(id(name))
            case ast.Import(names=found):
                imports += [
                    (
                        a.asname or a.name.partition(".")[0],
                        (a.name if a.asname else a.name.partition(".")[0], ""),
                    )
                    for a in found
                ]
            case ast.Call():
                imports += [("*", (module, "")) for module in imported_by_name(inner)]
            case ast.ImportFrom(names=found):
                module = absolute(path, inner)
                for a in found:
                    imports.append((a.asname or a.name, (module, "" if a.name == "*" else a.name)))
    for inner in inside:
        if isinstance(inner, ast.Name):
            names.add(inner.id)
            if id(inner) not in based:
                bare.add(inner.id)
    return _Statement(
        first,
        last,
        text,
        frozenset(_defines(node)),
        frozenset(names),
        frozenset(attributes),
        frozenset(bare),
        tuple(imports),
        _acts(node),
        frozenset(_changed(node, inside)),
        isinstance(node, _DEFINITIONS),
    )


def _chain(node: ast.Attribute) -> list[Any]:
    """The name that attributes are asked of, and the attributes: of ``a.b.c`` a, "b" and "c"; nothing where
    it is no name.
    """
    inner = node.value
    before = _chain(inner) if isinstance(inner, ast.Attribute) else [inner]
    return [*before, node.attr] if before and isinstance(before[0], ast.Name) else []


def absolute(path: Path, node: ast.ImportFrom) -> str:
    """The module that a statement of a file imports from, also by dots."""
    return ".".join(filter(None, (_package(path, node.level), node.module)))


def nested(tree: ast.Module) -> Iterator[ast.AST]:
    """A module and all its statements, however deep: what imports stand among; expressions are most of a
    tree.
    """
    todo: list[Any] = [tree]
    while todo:
        yield (node := todo.pop())
        for inside in ("body", "orelse", "finalbody", "handlers", "cases"):
            todo += getattr(node, inside, ())


_FINDERS = (b"importlib", b"__import__", b"pkgutil", b"runpy")
"""What is in a file that finds modules by their names, under whatever name it calls what does."""


def named_modules(tree: ast.Module, content: bytes, finders: tuple[bytes, ...] = _FINDERS) -> set[str]:
    """What may be names of modules among the strings of a file that finds modules by their names, also
    before a colon: a string that is another thing names no module that there is.
    """
    if not any(finder in content for finder in finders):
        return set()
    strings = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    names = {string.partition(":")[0] for string in strings}
    return {name for name in names if all(map(str.isidentifier, name.split(".")))}


def modules_named(path: Path) -> frozenset[str]:
    """What may be modules among the names that a file imports, at its top or inside a function, or finds."""
    found: frozenset[str] = kept(path, path.read_bytes(), "imports", _imports)
    return found


def _imports(path: Path, content: bytes) -> frozenset[str]:
    found: set[str] = set()
    tree = ast.parse(content)
    for node in nested(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = absolute(path, node)
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return frozenset(found | named_modules(tree, content))


def first_names(path: Path) -> set[str]:
    """The first names of all that a file imports, but by dots. Raises Unusable for one that is no Python."""
    content = path.read_bytes()
    try:
        tree = ast.parse(content)
    except SyntaxError as error:
        raise Unusable(f"{path} cannot be imported: {error.msg} ({path}:{error.lineno})") from None
    # the legs that a claim names are no import of its module's, and count for that claim alone
    found = {name.partition(".")[0] for name in named_modules(tree, content, (*_FINDERS, b"Legs"))}
    for node in nested(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module)
    return {name.partition(".")[0] for name in found}


def imported_by_name(call: ast.Call) -> Iterator[str]:
    """The module that a call imports by a name that is written there."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("import_module", "__import__") and call.args and isinstance(call.args[0], ast.Constant):
        yield str(call.args[0].value)


def effects(path: Path, files: dict[str, Path]) -> list[int]:
    """The lines of a file's top-level statements that may change something of another module of ``files``:
    no name that a definition mentions leads to them.
    """
    module = _parsed(path, path.stat().st_mtime_ns)
    return [s.first for s in module.statements if _outward(s, {**module.aliases, **dict(s.imports)}, files)]


def _outward(statement: _Statement, aliases: dict[str, Target], files: dict[str, Path]) -> bool:
    """Whether what a statement changes is imported, by a definition from one of the files, or may be
    anything.
    """
    targets = [aliases[name] for name in statement.changes if name in aliases]
    inside = any(m in files or f"{m}.{n}" in files for m, n in targets)
    return "" in statement.changes or inside or bool(targets and not statement.defines_only)


def _changed(node: ast.stmt, inside: list[ast.AST]) -> Iterator[str]:
    """The names whose items or attributes a statement sets, whose methods it calls for their effect, that
    it hands on for it, or that decorate what it defines; "" where it sets what it computes the name of.
    What a function calls its own is left out, what a loop calls so may be any name of the statement.
    """
    own = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.arg for n in inside if isinstance(n, ast.arg)}
    found = set(_set_or_called(inside))
    yield from found - own
    if found & own and not isinstance(node, (*_DEFINITIONS, ast.ClassDef)):
        yield from (n.id for n in inside if isinstance(n, ast.Name))


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _set_or_called(inside: list[ast.AST]) -> Iterator[str]:
    for inner in inside:
        match inner:
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                yield from (n.id for n in ast.walk(inner.value) if isinstance(n, ast.Name))
            case ast.Call(ast.Name(id=name)) if name in _SETTERS:
                yield ""
            case ast.Expr(ast.Call(func=func, args=args)) if not _declares(func):
                owner = [func.value] if isinstance(func, ast.Attribute) else []
                yield from (_root(x) for x in (*owner, *args) if isinstance(x, ast.Attribute | ast.Name))
            case ast.Call(ast.Attribute(value=owner, attr="register")):  # of a singledispatch, kept or not
                yield _root(owner)
            case ast.FunctionDef(decorator_list=marks) | ast.ClassDef(decorator_list=marks):
                calls = (mark.func if isinstance(mark, ast.Call) else mark for mark in marks)
                yield from (_root(c) for c in calls if _root(c) not in _QUIET)


def _root(node: ast.expr) -> str:
    """The name that attributes, items and calls start from; "-" where it is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else "-"


def _declares(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "claim"


_SETTERS = ("setattr", "delattr", "exec", "eval")


def _package(path: Path, level: int) -> str:
    """The package that a relative import of so many dots starts from, "" for an absolute one."""
    if not level:
        return ""
    folder = path.parents[level - 1]
    names = []
    while (folder / "__init__.py").exists():
        names.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(names))


_QUIET = ("cache", "climbing", "dataclass", "lru_cache")
"""Decorators that change nothing but what they decorate."""


def _acts(node: ast.stmt) -> bool:
    """Whether a top-level statement may change what others define: anything but a definition by name, an
    import (a star may bring any name) or the declaration of a claim.
    """
    match node:
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Import() | ast.ImportFrom() | ast.Assign() | ast.AnnAssign() | ast.Expr(ast.Constant()):
            return False
        case ast.FunctionDef(decorator_list=marks) | ast.ClassDef(decorator_list=marks):
            calls = (mark.func if isinstance(mark, ast.Call) else mark for mark in marks)
            return not all(isinstance(c, ast.Name) and c.id in _QUIET for c in calls)
        case ast.Expr(ast.Call(ast.Name("claim"))):
            return False
    return True


def _defines(node: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value, or changes: also by an item, an attribute or a method
    of it.
    """
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import() | ast.ImportFrom():
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name
        case ast.Expr():
            return
        case _:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and isinstance(inner.ctx, (ast.Store, ast.Del)):
                    yield inner.id
                if isinstance(inner, (ast.Subscript, ast.Attribute)) and isinstance(
                    inner.ctx, (ast.Store, ast.Del)
                ):
                    if isinstance(inner.value, ast.Name):
                        yield inner.value.id
