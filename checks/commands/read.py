"""``attest read``: what was read in a paper without sight of the record, and how the two compare."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from checks.audit import current
from checks.commands.console import OUT
from checks.commands.options import BadInput
from checks.run import catalogue, readings, verify
from checks.run.cache import Cache
from checks.run.registry import load
from checks.run.store import read_bounded

FIELDS = ("id", "paper", "record", "outcome")
_LARGEST = 2**24
"""Bytes of readings that are taken at once."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the claim, or a file of readings."""
    parser.add_argument("id", nargs="?", help="the claim whose reading is shown")
    parser.add_argument(
        "--from",
        dest="file",
        type=Path,
        help="record the readings of a file (- for standard input): on each line a JSON object with "
        f"{', '.join(FIELDS)}",
    )
    parser.add_argument("--stale", action="store_true", help="list the claims to be read again")


def run(a: argparse.Namespace) -> int:
    """Shows, lists or records readings; 0. Raises BadInput."""
    if sum((bool(a.id), a.file is not None, a.stale)) != 1:
        raise BadInput("name one claim, or a file of readings with --from, or say --stale")
    if a.file is not None:
        return _record(a.file)
    found = readings.readings()
    if a.stale:
        for id, claim in load().items():
            if id not in found or found[id].version != verify.version(claim):
                OUT.print(f"{id}  {'changed since it was read' if id in found else 'never read'}")
        return 0
    id = catalogue.one(a.id, Cache())
    if id not in found:
        raise BadInput(
            f"{id} was not read in the paper; `{current().command} read --from FILE` records readings"
        )
    said = found[id]
    OUT.print(id, style="bold", markup=False)
    for name, text in (("the paper", said.paper), ("the record", said.record), ("compared", said.outcome)):
        OUT.print(f"  {name}: {text}", markup=False, highlight=False)
    if said.version != verify.version(load()[id]):
        OUT.print("  the statement has changed since: to be read again", markup=False)
    return 0


def _record(file: Path) -> int:
    try:
        given = _standard_input() if str(file) == "-" else read_bounded(file, _LARGEST)
        lines = given.decode("utf-8").split("\n")  # and at nothing else: texts may hold other separators
    except UnicodeDecodeError:
        raise BadInput(f"{file} is not UTF-8 text") from None
    new = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            item = _item(line, number)
            if item["id"] in new:
                raise BadInput(f"line {number}: {item['id']} was read on a line before")
            new[item["id"]] = readings.Reading(
                item["paper"], item["record"], item["outcome"], verify.version(load()[item["id"]])
            )
    readings.write({**readings.readings(), **new})
    OUT.print(f"{len(new)} readings recorded in {readings.recorded()}")
    return 0


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise BadInput("standard input is closed")
    given = sys.stdin.buffer.read(_LARGEST + 1)
    if len(given) > _LARGEST:
        raise BadInput(f"standard input has more than {_LARGEST} bytes")
    return given


def _item(line: str, number: int) -> dict[str, Any]:
    try:
        item = json.loads(line)
        if not all(isinstance(item[field], str) and item[field].strip() for field in FIELDS):
            raise ValueError("every field is a text")
        "".join(item[field] for field in FIELDS).encode("utf-8")  # halves of characters are none
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"line {number} is no reading: {error}") from None
    if item["id"] not in load():
        raise BadInput(f"line {number}: there is no claim {item['id']}")
    return {field: item[field] for field in FIELDS}
