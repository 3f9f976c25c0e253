"""``attest book``: build the Jupyter Book from the ledger."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from checks.commands.judging import judged
from checks.commands.options import BadInput, add_options, run_options
from checks.run import ledger, proofs
from checks.run.bounded import derivation
from checks.run.store import require_folder
from checks.run.theories import theories
from derivations.theories.theory import BadAssumption, load_tables, parse_settings, settings_in


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds where to build, and with what."""
    parser.add_argument("--out", type=Path, default=Path("build/book"))
    parser.add_argument(
        "--check", action="store_true", help="open every page in headless Chromium afterwards"
    )
    parser.add_argument(
        "--pdf", action="store_true", help="also print the corrections to a PDF (needs Chromium)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="THEORY.KNOB=VALUE")
    parser.add_argument(
        "--assumptions", type=Path, metavar="FILE", help="TOML file with a table of knobs for each theory"
    )
    add_options(parser)


def run(a: argparse.Namespace) -> int:
    """Judges all claims and builds the book from their records; 0, or 1 where the browser finds faults."""
    try:
        from book.build import BuildError, build, require_usable
    except ImportError as error:
        raise BadInput(
            f"the book's tools are not installed ({error.name}); run make book, or pip install -e '.[book]'"
        ) from None
    settings = _settings(a)
    options = run_options(a)
    _writable(a.out)
    path = a.out / "ledger.json"
    try:
        require_usable(a.out, path)
    except BuildError as error:
        raise BadInput(str(error)) from None
    if proofs.recorded().exists():
        proofs.read()  # the book shows the file as it is: a damaged one ends here
    records = judged([], a)
    ledger.write(path, records)
    return build(
        path, a.out, settings=settings, options=options, workers=a.workers, browser_check=a.check, pdf=a.pdf
    )


def _writable(folder: Path) -> None:
    """Before claims are judged for minutes. Raises BadInput where the book cannot be written."""
    try:
        require_folder(folder)
    except OSError as error:
        raise BadInput(f"cannot write the book to {folder}: {error.strerror}") from None


def _settings(a: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The knobs of each theory that the book is to be built with. Raises BadAssumption."""
    settings: dict[str, dict[str, Any]] = {}
    tables = load_tables(a.assumptions) if a.assumptions else {}
    if a.assumptions and not tables:
        raise BadAssumption(f"{a.assumptions} has no table of a theory; there are {', '.join(theories())}")
    for name in tables:
        if name not in theories():
            raise BadAssumption(f"{a.assumptions}: no theory '{name}'; there are {', '.join(theories())}")
    for name, chosen in theories().items():
        own = settings_in(tables, name, a.assumptions)
        own |= parse_settings([p for p in a.set if p.strip().startswith(f"{name}.")], name)
        if own:
            with derivation():  # unusable ones end here, before any work
                chosen.derive(chosen.assumptions(own))
            settings[name] = own
    for pair in a.set:
        prefix, dot, _ = pair.partition("=")[0].strip().rpartition(".")
        if not dot or prefix not in theories():
            raise BadAssumption(
                f"'{pair}' is not of the form theory.knob=value; theories: {', '.join(theories())}"
            )
    return settings
