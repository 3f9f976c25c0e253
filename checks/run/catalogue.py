"""What is known without importing a claim: which there are, what they rest on, and the keys of their records.

It is written by the runs that imported the claims, and believed as long as every source file and library is
the same.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import platform
import re
import struct
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import MAGIC_NUMBER, cache_from_source, find_spec
from pathlib import Path
from typing import Any

from checks.audit import OWN, STARTED, current, loaded, per_audit
from checks.claim import CLAIMS, ROOT, Claim, Options
from checks.evidence import Record, digest
from checks.run.cache import Cache
from checks.run.reach import first_names
from checks.run.registry import UnknownClaim, load, nearest
from checks.run.store import read_json, write_atomically

FOLDERS = ("derivations", "solvers", "checks")
PREFIX = "".join(f"{part}." for part in __name__.split(".")[:-3])
"""What stands before their names where the project is installed below one package."""
_WRITTEN = ("expected.json", "kernel.json", "audit.json")
"""What commands write among an audit's records after the verdicts, which nothing is judged by."""
_PAGES = (".md", ".toml")
"""What a book is made of."""
LIBRARIES = (
    "sympy",
    "numpy",
    "scipy",
    "cvxpy",
    "torch",
    "scikit-learn",
    "python-flint",
    "mpmath",
    "clarabel",
)


@dataclass(frozen=True)
class Entry:
    """A claim's head: what can be said of it without its statement."""

    id: str
    paper: str
    reference: str
    title: str
    theory: str
    rests_on: tuple[str, ...]
    source: str


@per_audit
def libraries() -> str:
    """The versions of Python, of the libraries that verdicts depend on, and of the installed ones that an
    author's package, or one beside it, imports.
    """
    found = []
    for package in LIBRARIES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} absent")
    return "\n".join([platform.python_version(), *found, *_imported()])


def _imported() -> list[str]:
    if current().package == OWN:
        return []
    names = set().union(*map(first_names, own_modules().values()))
    packages = packages_distributions()
    found = {f"{d} {version(d)}" for name in names for d in packages.get(name, ())}
    compiled = (p for name in names for p in _own_places(name) if p.is_file() and p.suffix != ".py")
    return sorted(found | {f"{p.name} {hashlib.sha256(p.read_bytes()).hexdigest()}" for p in compiled})


@per_audit
def state() -> str:
    """A hash of every source file of the packages, of every file of the audit and of the packages beside it,
    whatever reads it, and of the libraries' versions.
    """
    whole = hashlib.sha256(libraries().encode())
    for name, path in sorted(_counted().items()):
        whole.update(f"{name}\x00".encode() + path.read_bytes() + b"\x00")
    return whole.hexdigest()[:32]


def _counted() -> dict[str, Path]:
    """The files that `state` is of, by name."""
    audit = current()
    found = dict(sources())
    for folder in (audit.folder, audit.records_folder, *beside_audit(sources())):
        found |= {str(p): p for p in files(folder) if is_data(p)}
    return found


def is_data(path: Path) -> bool:
    """Whether a file is no text of Python, nor what Python keeps of one; bytecode elsewhere is a module that
    has no other text.
    """
    return path.suffix != ".py" and (path.suffix != ".pyc" or path.parent.name != "__pycache__")


@per_audit
def _watched() -> tuple[tuple[str, float], ...]:
    """The same, looked for once, without what commands write beside the verdicts, which was read by no claim;
    each with the time at which this process began to import it.
    """
    folder = current().folder
    judged = (path for path in _counted().values() if not written_beside(path))
    return tuple((str(p), loaded() if p.is_relative_to(folder) else STARTED) for p in judged)


def edited() -> str:
    """A file that `state` is of which was changed, or went, since this process may have imported it, or of
    which Python took what it held before, or "": a key is made of what files hold now, and what this process
    finds comes of what they held then.
    """
    if misread := _misread():
        return misread
    for path, since in _watched():
        try:
            status = os.stat(path)
        except OSError:
            return path
        if max(status.st_mtime, status.st_ctime) > since:
            return path
    return ""


@per_audit
def _misread() -> str:
    """A source file whose bytecode is that of another text, or ""."""
    found = [str(path) for path in sources().values() if _outdated(path)]
    return found[0] if found else ""


_SOON = 2.0
"""Seconds after a change within which the bytecode that was written may be of the text before."""


def _outdated(path: Path) -> bool:
    """Whether Python takes bytecode for a source file that is not that of its text: it looks at the size and
    the second of the last change alone. The next process reads the text; for all that run, it has changed.
    """
    place = Path(cache_from_source(path))
    try:
        status = path.stat()
        if place.stat().st_mtime > status.st_ctime + _SOON:
            return False
        held, text = place.read_bytes(), path.read_bytes()
        second, size = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
        if held[:16] != MAGIC_NUMBER + struct.pack("<III", 0, second, size):
            return False
        same = marshal.loads(held[16:]) == compile(text, str(path), "exec", dont_inherit=True)
    except (OSError, ValueError, EOFError, TypeError, SyntaxError):
        return False  # there is none, or Python does not take it
    with suppress(OSError):
        if same:
            os.utime(place)  # what was looked at once is not looked at again
        else:  # for `edited` in other processes, which may have taken it, and the text's own time stays
            os.chmod(path, status.st_mode & 0o7777)
            place.unlink()
    return not same


def written_beside(path: Path) -> bool:
    """Whether commands write a file after the verdicts, or it is a page of the book, and no module of the
    audit reads it as data: nothing is judged by it.
    """
    audit = current()
    written = path.parent == audit.records_folder and path.name in _WRITTEN and path.name not in may_be_read()
    page = path.is_relative_to(audit.book_folder) and path.suffix in _PAGES
    return written or (page and path.suffix not in may_be_read())


@per_audit
def may_be_read() -> frozenset[str]:
    """What commands write after the verdicts, and the kinds of pages and printed formulas, of which a module
    of the audit may read one: it names it, or lists what is in a folder.
    """
    texts = [path.read_bytes() for path in own_modules().values()]
    lists = any(_LISTS.search(text) for text in texts)
    return frozenset(k for k in (*_WRITTEN, *_PAGES) if lists or any(k.encode() in text for text in texts))


_LISTS = re.compile(rb"\b(?:[ir]?glob|iterdir|listdir|scandir|f?walk)\b")


def files(folder: Path) -> Iterator[Path]:
    """The files in a folder, those in folders that are links as well: each link is followed once, wherever it
    is met, and none to a folder that it is in, for links across would lead on in every order.
    """
    above: dict[str, tuple[tuple[int, int], ...]] = {}
    followed: set[tuple[tuple[tuple[int, int], ...], str]] = set()
    for top, below, names in os.walk(folder, followlinks=True):
        status, around = os.stat(top), above.pop(top, ())
        place, entry = (status.st_dev, status.st_ino), (around[-1:], os.path.basename(top))
        if place in around or entry in followed:
            below.clear()
            continue
        followed |= {entry} if os.path.islink(top) else set()
        below.sort()
        above |= {os.path.join(top, name): (*around, place) for name in below}
        yield from filter(Path.is_file, (Path(top, name) for name in names))


@per_audit
def sources() -> dict[str, Path]:
    """The modules by name: those of the project, of the audit's package, and of what an author's package
    imports that is no installed library.
    """
    audit = current()
    found = {PREFIX[:-1]: ROOT / "__init__.py"} if PREFIX else {}
    for folder in FOLDERS:
        found |= _modules(ROOT / folder, ROOT, PREFIX)
    todo = [audit.folder] if audit.package != OWN else []
    found |= _modules(audit.folder, audit.root)
    while todo:
        for path in _python(todo.pop()):
            for place in (place for name in first_names(path) for place in _own_places(name)):
                if place.is_file():
                    found |= {place.stem: place} if place.suffix == ".py" else {}
                elif (new := _modules(place, place.parent)).keys() - found.keys():
                    found |= new
                    todo.append(place)
    return found


def own_modules() -> dict[str, Path]:
    """Those of the audit's package, and of what lies beside it, by name."""
    folder = current().folder
    return {n: p for n, p in sources().items() if not p.is_relative_to(ROOT) or p.is_relative_to(folder)}


def beside_audit(modules: Iterable[str]) -> list[Path]:
    """The folders of those modules' packages that are an author's own, beside the audit's."""
    packed = {sources()[name] for name in modules if "." in name or sources()[name].name == "__init__.py"}
    inside = (ROOT, current().folder)
    return sorted({p.parent for p in packed if not any(map(p.is_relative_to, inside))})


def _python(folder: Path) -> Iterator[Path]:
    """The files of Python in a folder: an editor's lock on one is a link that leads nowhere."""
    return (path for path in files(folder) if path.suffix == ".py")


def _modules(folder: Path, root: Path, prefix: str = "") -> dict[str, Path]:
    """The modules in a folder, by the names under which they are imported from a root."""
    names = {p: prefix + ".".join(p.relative_to(root).with_suffix("").parts) for p in _python(folder)}
    return {name.removesuffix(".__init__"): path for path, name in names.items()}


_INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


@cache
def _own_places(name: str) -> tuple[Path, ...]:
    """The folders of a package, or the file of a module or the archive that it is in, that lie neither among
    the installed libraries nor in the project.
    """
    try:
        spec = find_spec(name)
    except ValueError:  # it was made by hand, as that of __main__ may be
        return ()
    said = (spec.submodule_search_locations or [spec.origin or ""]) if spec else []
    places = (_there(Path(place).resolve()) for place in said if place)
    return tuple(place for place in places if place and not _installed(place))


def _installed(place: Path) -> bool:
    return any(map(place.is_relative_to, (*_INSTALLED, ROOT))) or "site-packages" in place.parts


def _there(place: Path) -> Path | None:
    """A place, of one in an archive the archive; None where there is none."""
    found = next(p for p in (place, *place.parents) if p.exists())
    return found if found == place or found.is_file() else None


def entries(cache: Cache | None) -> list[Entry]:
    """All claims in the papers' order, imported where no catalogue is at hand."""
    stored = _read(cache.folder) if cache else None
    if stored is not None and not CLAIMS:
        return [Entry(**{**e, "rests_on": tuple(e["rests_on"])}) for e in stored["claims"]]
    found = [_entry(c) for c in load().values()]
    if cache and stored is None:
        with suppress(OSError):  # what cannot be kept is found again
            _write(cache.folder, found, {})
    return found


def _entry(claim: Claim) -> Entry:
    return Entry(
        claim.id, claim.paper, claim.reference, claim.title, claim.theory, claim.rests_on, claim.source
    )


def parents(cache: Cache | None) -> dict[str, tuple[str, ...]]:
    """What each claim rests on."""
    return {e.id: e.rests_on for e in entries(cache)}


def one(id: str, cache: Cache | None) -> str:
    """The id, if there is such a claim. Raises UnknownClaim, also for a whole paper."""
    known = entries(cache)
    if any(e.id == id for e in known):
        return id
    of_paper = [e.id for e in known if e.paper == id.rstrip("/")]
    if of_paper:
        raise UnknownClaim(f"'{id}' is a paper; name one claim, such as {of_paper[0]}")
    raise UnknownClaim(nearest(id, [e.id for e in known]))


def records(patterns: list[str], options: Options, cache: Cache) -> list[Record] | None:
    """The records of claims or papers from the cache, or None where one of them has to be judged."""
    stored = _read(cache.folder)
    if stored is None or CLAIMS:
        return None
    keys = stored["keys"].get(repr(options), {})
    known = {e["id"]: e for e in stored["claims"]}
    wanted = list(known)
    if patterns:
        chosen = [[i for i, e in known.items() if p == i or p.rstrip("/") == e["paper"]] for p in patterns]
        if not all(chosen):
            return None
        wanted = list(dict.fromkeys(i for each in chosen for i in each))
    if not all(i in keys for i in wanted):
        return None
    found = []
    for i in wanted:
        record = cache.get(keys[i], i)
        if record is None:
            return None
        record.source = known[i]["source"]
        found.append(record)
    return found


def verdicts(ids: Iterable[str], options: Options, cache: Cache | None) -> dict[str, str]:
    """The verdicts of those claims whose records are kept and stand."""
    stored = _read(cache.folder) if cache is not None and not CLAIMS else None
    if cache is None or stored is None:
        return {}
    keys = stored["keys"].get(repr(options), {})
    found = (cache.get(keys[id], id) for id in ids if id in keys)
    return {record.id: record.verdict for record in found if record is not None}


def recall(folder: Path, run: str) -> dict[str, Any] | None:
    """The keys that a run of this description noted, if nothing has changed since."""
    stored = _read(folder)
    return stored["keys"].get(run) if stored is not None and not CLAIMS else None


def note(folder: Path, run: str, keys: Mapping[str, Any]) -> None:
    """Keep the keys of records that were judged or found in a run: its options, or what it changed."""
    stored = _read(folder)
    all_keys = stored["keys"] if stored else {}
    all_keys[run] = {**all_keys.get(run, {}), **keys}
    with suppress(OSError):
        _write(folder, [_entry(c) for c in load().values()], all_keys)


def _path(folder: Path) -> Path:
    return folder / "catalogue" / current().package / f"{state()}.json"


def _read(folder: Path) -> Any:
    try:
        stored = read_json(_path(folder))
        return stored["data"] if stored["digest"] == digest(state(), stored["data"]) else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write(folder: Path, claims: Iterable[Entry], keys: Mapping[str, Any]) -> None:
    data = json.loads(json.dumps({"claims": [asdict(e) for e in claims], "keys": keys}))
    path = _path(folder)
    if path.parent.is_dir():
        for other in path.parent.glob("*.json"):
            if other != path:
                other.unlink(missing_ok=True)  # of sources that are no more
    write_atomically(path, json.dumps({"digest": digest(state(), data), "data": data}, ensure_ascii=False))
