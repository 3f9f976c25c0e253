"""Records by content key, kept in a folder."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from itertools import count
from pathlib import Path

from checks.audit import cache_folder
from checks.engine.verdict import SEVERITIES, agrees
from checks.evidence import Record, digest
from checks.run.store import read_json, write_atomically
from derivations.errors import Unusable

STOPPED = " stopped with "
"""How the reason of a leg that raised an exception reads."""
UNJUDGED = f"judging{STOPPED}"
"""How that of a claim begins that was not judged to its end: its statement is malformed, or it was ended."""


def unjudged(record: Record) -> bool:
    """Whether its claim was not judged to its end: its verdict is none."""
    return any((e.not_run or "").startswith(UNJUDGED) for e in record.evidence)


class UnwritableCache(Unusable, RuntimeError):
    """A cache that cannot be written."""


class Cache:
    """Records by content key, one file each, written atomically: a killed run leaves whole entries or none.

    An entry carries a digest of its key and its record. One that cannot be read, that was changed since it
    was written, or whose verdict does not follow from its evidence, is not believed: it is renamed, its name
    is added to ``set_aside``, and its claim is judged again.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder()
        self.set_aside: list[str] = []

    def get(self, name: str, id: str | None = None) -> Record | None:
        """The stored record, of the claim ``id``, or None where there is none that can be believed."""
        path = self.folder / f"{name}.json"
        try:
            data = read_json(path)
            record = Record.from_json(data["record"])
            if data["digest"] != digest(name, data["record"]):
                raise ValueError("changed since it was written")
            if id not in (None, record.id):
                raise ValueError(f"it is the record of {record.id[:80]!r}")
            if record.severity not in (None, *SEVERITIES):
                raise ValueError("it has no severity that there is")
            passed = [e.passed for e in record.evidence]
            if not agrees(record.verdict, record.literal_holds, passed, bool(record.correction)):
                raise ValueError("its verdict does not follow from its evidence")
            return record
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            with suppress(OSError):  # a folder that cannot be written keeps it, and it is still not believed
                path.replace(_aside(path))
            self.set_aside.append(f"{path.name} ({error})")
            return None

    def put(self, name: str, record: Record) -> None:
        """Store a record. Raises UnwritableCache where the folder cannot be written.

        A record of which a leg stopped with an error is not kept: the next run tries again.
        """
        if any(STOPPED in (e.not_run or "") for e in record.evidence):
            return
        data = record.to_json()
        entry = {"digest": digest(name, data), "record": data}
        try:
            write_atomically(self.folder / f"{name}.json", json.dumps(entry, ensure_ascii=False))
        except OSError as error:
            raise self.unwritable(error) from None

    def said(self, name: str) -> str | None:
        """What a claim says, as a hash, by the key of its record; None where none can be believed."""
        try:
            data = read_json(self._said(name))
            return data["said"] if data["digest"] == digest(name, data["said"]) else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put_said(self, name: str, said: str) -> None:
        """Store it; one that cannot be written is derived again."""
        with suppress(OSError):
            write_atomically(self._said(name), json.dumps({"digest": digest(name, said), "said": said}))

    def _said(self, name: str) -> Path:
        return self.folder / "said" / f"{name}.json"

    def unwritable(self, error: OSError) -> UnwritableCache:
        """The complaint about a folder that cannot be written."""
        return UnwritableCache(
            f"cannot write to the cache {self.folder} ({error.strerror}); set ATTEST_CACHE, or run with "
            "--no-cache"
        )


def _aside(path: Path) -> Path:
    """The name that a damaged entry is given: one that nothing has, for a folder replaces no file."""
    names = (path.with_suffix(f".damaged{n or ''}") for n in count())
    return next(name for name in names if not os.path.lexists(name))
