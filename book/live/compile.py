"""Runs inside Pyodide under node: byte-compiles a tree into one stored zip, from which the worker imports.

A .pyc of another Python would be refused, so the compiling Python must be the one that the page runs.
"""

from __future__ import annotations

import gc
import importlib._bootstrap_external as external
import importlib.util
import sys
import zipfile
from pathlib import Path


def pack(root: str, out: str, optimize: int, sources: bool) -> None:
    """Write every module under root to the zip ``out`` as .pyc, with its source beside it where asked for.

    optimize: as of `compile`; 2 leaves out docstrings.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(Path(root).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix == ".py":
                code = compile(path.read_bytes(), name, "exec", dont_inherit=True, optimize=optimize)
                digest = importlib.util.source_hash(path.read_bytes())
                where = importlib.util.cache_from_source(name, optimization="") if sources else name + "c"
                _add(archive, where, external._code_to_hash_pyc(code, digest, False))  # type: ignore[attr-defined]
            if path.is_file() and (sources or path.suffix != ".py"):
                _add(archive, name, path.read_bytes())


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    """Without a date, so that the same sources give the same zip."""
    archive.writestr(zipfile.ZipInfo(name), data)


def shrink(archive: str) -> None:
    """Leave out of a zip on the path the modules that are imported already: nobody reads them again."""
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    with zipfile.ZipFile(archive) as old:
        kept = {name: old.read(name) for name in old.namelist() if f"{archive}/{name}" not in loaded}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as new:
        for name, data in kept.items():
            _add(new, name, data)
    importlib.invalidate_caches()
    gc.collect()
