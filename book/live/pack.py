"""Puts Python, SymPy and this project into the book, for the page that derives in the reader's browser.

Python comes from npm (Pyodide), SymPy and mpmath from the environment that builds the book, python-flint for
Pyodide from PyPI. Everything is byte-compiled under node when it changes (a .pyc of another Python would be
refused), and written as scripts that hold gzip in
base64: a script element may load them over http and on pages opened as files, which fetch may not.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from book import vendor
from book.ledger import Live
from checks.audit import OWN as OWN_AUDIT
from checks.audit import cache_folder, current

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

LIBRARIES = ("sympy", "mpmath")
UNUSED = tuple(
    f"sympy/{part}/"
    for part in """parsing/autolev parsing/latex parsing/c parsing/fortran stats categories diffgeom
    liealgebras holonomic crypto physics/mechanics physics/vector physics/quantum physics/control
    physics/optics physics/hep physics/continuum_mechanics physics/biomechanics""".split()
)
"""Parts of SymPy that nothing here loads; with its tests, half of it."""
OWN = (
    *("derivations", "checks", "book/__init__.py", "book/breaking.py", "book/ledger.py", "book/markup.py"),
    *("book/live/__init__.py", "book/live/answers.py", "book/live/verdicts.py"),
)
PACKING = ("pack.py", "compile.py", "compile.mjs", "worker.mjs")
NOT_RUN = ("commands", "experiments", "kernel", "scale", "legs", "tensors", "template")
"""What of checks never runs in the browser; the errors that reading lengths may raise are imported all the
same.
"""
NEEDED = ("checks/tensors/__init__.py", "checks/tensors/core/__init__.py", "checks/tensors/core/errors.py")
DATA = ("checks/records/expected.json",)
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
PARTS = ("python", "libraries", "project", "memory", "flint")
"""The scripts; the last is loaded before claims are judged, the others before the first derivation."""

LEVEL = 6
"""Of compression: 9 takes three times as long for one hundredth less."""


def sources() -> Iterator[tuple[str, Path]]:
    """Names and files of this project that the browser gets."""
    for top in OWN:
        place = ROOT / top
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name in NEEDED or not set(Path(name).with_suffix("").parts) & set(NOT_RUN):
                yield name, path
    yield from ((name, ROOT / name) for name in DATA)


def libraries() -> Iterator[tuple[str, Path]]:
    """Names and files of SymPy and mpmath, of this environment."""
    for library in LIBRARIES:
        spec = find_spec(library)
        if spec is None or spec.origin is None:
            raise vendor.VendorError(f"{library} is not installed")
        top = Path(spec.origin).parent
        for path in sorted(top.rglob("*.py")):
            name = path.relative_to(top.parent).as_posix()
            if "/tests/" not in name and "/benchmarks/" not in name and not name.startswith(UNUSED):
                yield name, path


def _folder() -> Path:
    return cache_folder() / "book" / "live"


def pack(folder: Path | None = None) -> Live:
    """Bring the scripts in the folder up to date: nothing is done where nothing changed.

    Raises VendorError where Pyodide or python-flint cannot be had, and for what does not run there: the book
    of another package, and an installed distribution, whose modules have other names.
    """
    if current().package != OWN_AUDIT or __package__.count(".") > 1:
        raise vendor.VendorError("only the book of the four papers, built in its source tree, brings Python")
    folder = folder or _folder()
    modules = vendor.install()
    flint = vendor.flint()
    digest = _digest([*sources(), *libraries()], " ".join([vendor.VERSIONS, flint.name]))
    stamp = folder / "packed.txt"
    if not (stamp.is_file() and stamp.read_text("utf8") == digest):
        folder.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        pyodide = modules / "pyodide"
        _compile(pyodide, folder)
        _write_python(pyodide, folder)
        _write(folder, "flint", {"flint.whl": _without_tests(flint)})
        shutil.copy(modules / "katex/dist/katex.min.js", folder)
        # Written last, so that packing that was cut short is done again.
        stamp.write_text(digest, "utf8")
    sizes = [(folder / f"{part}.js").stat().st_size / 1e6 for part in PARTS]
    return Live(round(sum(sizes[:-1]), 1), round(sizes[-1], 1), "")


def place(pages: Path, live: Live, folder: Path | None = None) -> None:
    """Copy the scripts to the finished pages; where there are none, those of an earlier build go."""
    target = pages / "_static" / "live"
    shutil.rmtree(target, ignore_errors=True)
    if not live.missing:
        target.mkdir(parents=True)
        for path in (folder or _folder()).glob("*.js"):
            shutil.copyfile(path, target / path.name)


def _digest(files: Iterable[tuple[str, Path]], besides: str = "") -> str:
    """Of names and contents, of what packs them, and of what else is given."""
    whole = hashlib.sha256(besides.encode())
    for name, path in [*files, *((name, HERE / name) for name in PACKING)]:
        whole.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return whole.hexdigest()


def _compile(pyodide: Path, folder: Path) -> None:
    """Byte-compile under node, and take the memory to start from. Raises VendorError."""
    with TemporaryDirectory() as temporary:
        work = Path(temporary)
        for tree, files in (("libraries", libraries()), ("project", sources())):
            for name, path in files:
                (work / tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, work / tree / name)
        run = subprocess.run(
            [vendor.program("node"), str(HERE / "compile.mjs"), str(pyodide), str(work)],
            env=vendor.environment(),
            capture_output=True,
            text=True,
        )
        if run.returncode:
            # An error in Pyodide comes with its source, in one line.
            reasons = [line for line in run.stderr.splitlines() if "Error" in line[:60]] or ["node failed"]
            raise vendor.VendorError(f"Python for the browser does not start: {reasons[-1][:300]}")
        for name in ("libraries.zip", "project.zip", "memory.bin"):
            _write(folder, name.partition(".")[0], {name: (work / name).read_bytes()})


def _write_python(pyodide: Path, folder: Path) -> None:
    """Python itself, and the worker that runs it. Its list of packages is empty: it asks no host for any."""
    info = json.loads((pyodide / "pyodide-lock.json").read_text("utf8"))["info"]
    files = {name: (pyodide / name).read_bytes() for name in PYODIDE}
    files["lock.json"] = json.dumps({"info": info, "packages": {}}).encode()
    worker = (HERE / "worker.mjs").read_text("utf8")
    _write(folder, "python", files, worker=worker)


def _without_tests(wheel: Path) -> bytes:
    """The wheel without its tests, its files stored: the script that holds it is compressed as a whole."""
    with BytesIO() as stream:
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(stream, "w") as new:
            for name in old.namelist():
                if not name.startswith("flint/test/"):
                    new.writestr(zipfile.ZipInfo(name), old.read(name))
        return stream.getvalue()


def _write(folder: Path, part: str, files: dict[str, bytes], **more: str) -> None:
    packed = {
        name: base64.b64encode(gzip.compress(data, LEVEL, mtime=0)).decode() for name, data in files.items()
    }
    said = json.dumps({"files": packed, **more})
    (folder / f"{part}.js").write_text(f"(window.attestParts ??= {{}}).{part} = {said};\n", "utf8")
