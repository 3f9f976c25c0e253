"""The command line ``attest``. Exit status: 0 as expected, 1 a verdict differs, 2 unusable input.

A command is a module of this package with ``arguments(parser)`` and ``run(arguments)``, imported when it is
asked for.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import NoReturn

from checks.commands.console import ERR, complain
from checks.commands.options import BadInput

COMMANDS = {
    "list": "claims with their verdicts",
    "show": "one claim: statement, assumptions, derivation, evidence, counterexample",
    "verify": "judge claims and compare with the recorded verdicts",
    "derive": "a theory's derivation under changed assumptions, and the verdicts that change",
    "ablate": "drop each assumption of a claim in turn",
    "prove": "the theorems that Rocq's kernel checks, and what it makes of them",
    "export": "write the ledger as JSON",
    "measure": "what the theorems say of the heads of your own model",
    "experiment": "run an experiment of a paper",
    "book": "build the Jupyter Book from the ledger",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        arguments = _parser(argv).parse_args(argv)
        return arguments.run(arguments)
    except KeyboardInterrupt:
        ERR.print("attest: interrupted; finished claims are cached")
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if not isinstance(error, _unusable()):
            raise
        complain(_words(error))
        return 2


def _unusable() -> tuple[type[Exception], ...]:
    """The errors that say what is wrong with the input; imported where one has been raised, so that a
    start costs nothing.
    """
    from concurrent.futures.process import BrokenProcessPool

    from checks.experiments.errors import ExperimentError
    from checks.run.cache import UnwritableCache
    from checks.run.ledger import BadLedger
    from checks.run.registry import UnknownClaim
    from checks.tensors.core.errors import TensorError
    from derivations.theories.theory import BadAssumption

    return (
        *(BadInput, UnknownClaim, BadAssumption, BadLedger, UnwritableCache, TensorError, ExperimentError),
        BrokenProcessPool,
    )


def _words(error: Exception) -> str:
    if type(error).__name__ == "BrokenProcessPool":
        return "a worker process was killed; finished claims are cached: run again, with fewer --workers"
    return str(error)


class _Parser(argparse.ArgumentParser):
    """argparse with its complaints as ``BadInput``: one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; see {self.prog} --help")


def _parser(argv: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="attest", description="Verdicts on the mathematics of attention, claim by claim.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help in COMMANDS.items():
        command = commands.add_parser(name, help=help, description=help)
        if name in argv[:1]:
            module = import_module(f"checks.commands.{name}")
            module.arguments(command)
            command.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
