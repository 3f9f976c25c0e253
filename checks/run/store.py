"""Files that hold results: written whole or not at all, and believed only as they were written."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any


def read_bounded(path: Path, most: int) -> bytes:
    """The content of a file that a user names: a regular one of at most so many bytes, since a pipe or a
    device may never end. Raises OSError.
    """
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        found = bytearray()
        while len(found) <= most and (piece := file.read(2**16)):
            found += piece
    if len(found) > most:
        raise OSError(errno.EFBIG, f"has more than {most} bytes", str(path))
    return bytes(found)


LARGEST = 2**28
"""Bytes of the largest file of records that is read."""


def read_json(path: Path, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The content of a regular file of JSON; ``pairs`` makes the objects. Raises OSError, and ValueError for
    what is no JSON, or nested beyond what anything here writes.
    """
    try:
        return json.loads(read_bounded(path, LARGEST), object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError for a name that comes twice, of which one would not count."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for n, (name, _) in enumerate(pairs) if name in dict(pairs[:n]))
        raise ValueError(f"{twice[:80]!r} comes twice")
    return found


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that readers see the old or the new text, never a part."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def require_writable(path: Path) -> None:
    """Before long work: whether ``write_atomically`` could write a file of some bytes there now.

    Raises OSError. A file that is read-only is not replaced: who made it so meant it.
    """
    if path.exists() and not path.is_file() and not path.is_dir():  # a device would be replaced by a file
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    require_folder(path.parent)


def require_folder(folder: Path) -> None:
    """Before long work: whether files of some bytes can be written in a folder, which is made. Raises
    OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder) as file:
        file.write(bytes(2**16))
        file.flush()
