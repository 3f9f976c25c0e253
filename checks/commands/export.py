"""``attest export``: write the ledger as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from checks.commands.console import OUT
from checks.commands.judging import judged
from checks.commands.options import BadInput, add_options
from checks.run import ledger, store


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the file."""
    parser.add_argument("file", type=Path)
    add_options(parser)


def run(a: argparse.Namespace) -> int:
    """Judges all claims and writes their records; 0. Raises BadInput where the file cannot be written."""
    try:
        store.require_writable(a.file)  # before claims are judged for minutes
    except OSError as error:
        raise BadInput(f"cannot write {a.file}: {error.strerror}") from None
    records = judged([], a)
    try:
        ledger.write(a.file, records)
    except OSError as error:
        raise BadInput(f"cannot write {a.file}: {error.strerror}") from None
    OUT.print(f"{len(records)} records written to {a.file}")
    return 0
