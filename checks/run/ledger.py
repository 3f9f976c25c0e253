"""The ledger: the records of all claims as one JSON file, and the verdicts that the repository expects."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from checks.audit import current
from checks.engine.verdict import SEVERITIES, VERDICTS
from checks.evidence import Record
from checks.run.store import once, read_json, write_atomically
from derivations.errors import Unusable


class BadLedger(Unusable, RuntimeError):
    """A ledger or table of expected verdicts that is missing or damaged."""


def write(path: Path, records: list[Record]) -> None:
    """Export records, in the order given, as a JSON list."""
    text = json.dumps([r.to_json() for r in records], indent=1, ensure_ascii=False, sort_keys=False)
    write_atomically(path, text + "\n")


def read(path: Path) -> list[Record]:
    """The records of an exported ledger. Raises BadLedger."""
    try:
        return [Record.from_json(item) for item in _json(path)]
    except (TypeError, KeyError, ValueError) as error:
        raise BadLedger(f"{path} is not a ledger: {error}") from None


def _json(path: Path) -> Any:
    try:
        return read_json(path, once)
    except OSError as error:
        hint = f"; `{current().command} verify --accept` writes it" if path == table() else ""
        raise BadLedger(f"cannot read {path}: {error.strerror}{hint}") from None
    except ValueError as error:
        raise BadLedger(f"{path} is damaged: {error}") from None


def table() -> Path:
    """The file of the verdicts that the audit expects.

    It is not a stored result and carries no digest: people may write in it what they expect, since a claim
    that is judged is compared with it and its verdict never comes from it.
    """
    return current().records_folder / "expected.json"


def expected() -> dict[str, str]:
    """The verdict recorded for each claim. Raises BadLedger."""
    return {id: verdict for id, (verdict, _) in _recorded().items()}


def severities() -> dict[str, str]:
    """The severity recorded for each claim that fails as printed. Raises BadLedger."""
    return {id: severity for id, (_, severity) in _recorded().items() if severity}


def _recorded() -> dict[str, tuple[str, str]]:
    path = table()
    said = _json(path)
    if not isinstance(said, dict) or not all(isinstance(v, str) for v in said.values()):
        raise BadLedger(f"{path} must map claim ids to verdicts")
    split = {id: words.partition(": ") for id, words in said.items()}
    found = {id: (verdict, severity) for id, (verdict, _, severity) in split.items()}
    for id, (verdict, severity) in found.items():
        if verdict not in VERDICTS or severity not in ("", *SEVERITIES):
            raise BadLedger(f"{path}: {id} is {said[id]!r}; verdicts are {', '.join(VERDICTS)}")
    return found


def begin() -> None:
    """Make the file of expected verdicts, with none, where there is none yet."""
    if not table().exists():
        write_atomically(table(), "{}\n")


def accept(records: list[Record], declared: Collection[str]) -> None:
    """Record the verdicts of these claims as the expected ones; other claims keep theirs, but for those that
    are not declared any more.
    """
    begin()
    path = table()
    verdicts = {id: said for id, said in _json(path).items() if id in declared}
    verdicts.update({r.id: f"{r.verdict}: {r.severity}" if r.severity else r.verdict for r in records})
    write_atomically(path, json.dumps(dict(sorted(verdicts.items(), key=_order)), indent=1) + "\n")


def _order(item: tuple[str, str]) -> tuple[Any, ...]:
    paper, _, rest = item[0].partition("/")
    letters = rest.rstrip("0123456789.")
    number = rest[len(letters) :]
    parts = [int(n) for n in number.split(".") if n.isdigit()]
    return (paper, letters, parts, rest)
