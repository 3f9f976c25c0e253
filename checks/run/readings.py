"""What each claim is in its paper: its place and formulas as printed, typed from the paper, and what a reader
who saw the paper alone made of it, compared with the record.

The formulas stand in ``printed.toml`` of each paper's package, the readings in ``audit.json`` of the audit's
records.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

from checks.audit import current, per_audit
from checks.engine.legend import used
from checks.evidence import Record
from checks.run.ledger import BadLedger
from checks.run.proofs import hash_of
from checks.run.store import LARGEST, once, read_bounded, read_json, write_atomically


@dataclass(frozen=True)
class Printed:
    """Where a claim stands in its paper, its formulas as LaTeX in the paper's notation, a line each, and what
    was added to make it decidable.
    """

    place: str
    lines: tuple[str, ...] = ()
    added: str = ""


@dataclass(frozen=True)
class Reading:
    """What the paper was found to say without sight of the record, what the record says, and whether these
    agree; ``version`` is a hash of what was compared. Raises TypeError for a field that is no
    text.
    """

    paper: str
    record: str
    outcome: str
    version: str

    def __post_init__(self) -> None:
        if not all(isinstance(text, str) for text in astuple(self)):
            raise TypeError("a reading has a field that is no text")


def version(record: Record) -> str:
    """The hash of what a claim's record says: its statement and correction as they are displayed, its words
    where it has no statement, and whether it is refuted.
    """
    correction = (record.corrected or {}).get("latex", "")
    return version_of(record.statement.get("latex") or record.words, correction, record.verdict == "refuted")


def version_of(statement: str, correction: str, refuted: bool) -> str:
    """The hash of two displays, and of a verdict that neither shows."""
    return hash_of(f"{statement}\n{correction}" + "\nrefuted" * refuted)


def printed_in(folder: Path) -> Path:
    """The file of a package's formulas as printed, which nothing is judged by."""
    return folder / "printed.toml"


@per_audit
def printed(paper: str, folder: Path | None = None) -> dict[str, Printed]:
    """The formulas of a paper by claim. Raises BadLedger for a file of another shape."""
    path = printed_in(folder or current().folder_of(paper))
    try:
        table = tomllib.loads(read_bounded(path, LARGEST).decode("utf-8"))
        return {
            f"{paper}/{name}": Printed(item["place"], tuple(item.get("lines", ())), item.get("added", ""))
            for name, item in table.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadLedger(f"{path} is damaged: {error}") from None


def recorded() -> Path:
    """The file of the audit's readings."""
    return current().records_folder / "audit.json"


@per_audit
def readings() -> dict[str, Reading]:
    """The readings by claim. Raises BadLedger."""
    path = recorded()
    try:
        return {id: Reading(**item) for id, item in read_json(path, once).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BadLedger(f"{path} is damaged: {error}") from None


def write(found: dict[str, Reading]) -> None:
    """Write the readings, in order of id. Raises OSError."""
    text = json.dumps({id: asdict(found[id]) for id in sorted(found)}, indent=1, ensure_ascii=False)
    write_atomically(recorded(), text + "\n")
    readings.cache_clear()  # type: ignore[attr-defined]


def reading(record: Record) -> dict[str, Any] | None:
    """The reading of a claim and, as ``stale``, whether its statement has changed (None: not judged)."""
    found = readings().get(record.id)
    stale = found.version != version(record) if found and record.judged else None
    return asdict(found) | {"stale": stale} if found else None


def beside(record: Record) -> None:
    """Put into a record what its paper prints and what was read there, and leave of its legend what explains
    something that is shown.
    """
    source = printed(record.paper).get(record.id) or Printed("")
    record.place, record.printed, record.added = source.place, list(source.lines), source.added
    record.reading = reading(record)
    corrected = record.corrected or {}
    formulas = [record.statement.get("latex", ""), corrected.get("latex", ""), *record.printed]
    formulas += [step["latex"] for step in record.steps]
    prose = [
        record.words,
        record.notes,
        record.added,
        record.counterexample or "",
        corrected.get("words", ""),
    ]
    record.where = used(record.where, formulas, prose)
