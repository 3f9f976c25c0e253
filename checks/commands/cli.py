"""The command line ``attest``. Exit status: 0 as expected, 1 a verdict differs, 2 unusable input or a
place that cannot be written, 130 and 143 where it was interrupted or terminated.

A command is a module of this package with ``arguments(parser)`` and ``run(arguments)``, imported when it is
asked for.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import NoReturn

from checks.audit import CHOSEN, use
from checks.commands.console import any_encoding, complain
from checks.commands.options import BadInput
from checks.commands.stopping import SAID, Terminated, stoppable
from derivations.errors import Unusable

COMMANDS = {
    "list": "claims with their verdicts",
    "show": "one claim: statement, assumptions, derivation, evidence, counterexample",
    "verify": "judge claims and compare with the recorded verdicts",
    "derive": "a theory's derivation under changed assumptions, and the verdicts that change",
    "ablate": "drop each assumption of a claim in turn",
    "prove": "the theorems that Rocq's kernel checks, and what it makes of them",
    "read": "what was read in the paper alone, and how the record compares",
    "export": "write the ledger as JSON",
    "measure": "what the theorems say of the heads of your own model",
    "experiment": "run an experiment of a paper",
    "book": "build the Jupyter Book from the ledger",
    "new-paper": "a repository for the audit of your own paper, with examples that pass",
}


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    any_encoding()
    try:
        if sys.stdout is None:
            raise BadInput("standard output is closed")
        with stoppable():
            package, argv = _package(argv)
            use(package)
            arguments = _parser(argv).parse_args(argv)
            status: int = arguments.run(arguments)
            sys.stdout.flush()  # a full disk shows here, not behind the last line of this program
            return status
    except KeyboardInterrupt as stop:
        SAID.set()
        terminated = isinstance(stop, Terminated)
        complain(f"{'terminated' if terminated else 'interrupted'}; finished claims are cached")
        return 143 if terminated else 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        name = f"{error.filename}: " if error.filename is not None else ""
        complain(f"cannot read or write: {name}{error.strerror or error}")
        return 2
    except MemoryError:
        complain("there is not enough memory; finished claims are cached")
        return 2
    except ImportError as error:  # a library that is damaged, or that the machine cannot load
        complain(f"cannot be imported: {error}")
        return 2
    except Unusable as error:
        complain(str(error))
        return 2
    except Exception as error:
        if type(error).__name__ != "BrokenProcessPool":  # of a module that only the start of workers imports
            raise
        complain("a worker process was killed; finished claims are cached: run again, with fewer --workers")
        return 2


def _drop_output() -> None:
    """What is left in the buffer goes nowhere: Python would try to write it again when it ends."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """argparse with its complaints as ``BadInput``: one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; see {self.prog} --help")


def _package(argv: list[str]) -> tuple[str, list[str]]:
    """The package that ``--package NAME`` says, wherever it stands, and the other arguments."""
    for n, argument in enumerate(argv):
        option, equals, name = argument.partition("=")
        if option == "--package":
            words = 1 if equals else 2
            name = name if equals else "".join(argv[n + 1 : n + 2])
            if not name:
                raise BadInput("--package needs the name of a package")
            return name, [*argv[:n], *argv[n + words :]]
    return "", argv


def _parser(argv: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="attest", description="Verdicts on the mathematics of attention, claim by claim.")
    parser.add_argument(
        "--package",
        help="whose papers are meant: the name of an installed audit or of a package that can be imported "
        f"(default: {CHOSEN} in the environment, else the four papers)",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, help in COMMANDS.items():
        command = commands.add_parser(name, help=help, description=help)
        if name in argv[:1]:
            module = import_module(f"{__package__}.{name.replace('-', '_')}")
            module.arguments(command)
            command.set_defaults(run=module.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
