"""The claims of an audit as tests: ``pytest --attest mypaper``, or ``attest = "mypaper"`` among the options
of pytest in pyproject.toml. A test fails where the verdict is not the recorded one, and says what was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from checks.evidence import Record

LONGEST = 400
"""Characters of a line in the message of a failure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--attest`` and the entry of the same name in a file of options."""
    words = "the package whose claims are tests"
    parser.addoption("--attest", metavar="PACKAGE", default="", help=words)
    parser.addini("attest", words, default="")


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Adds a test for each claim."""
    package = session.config.getoption("--attest") or session.config.getini("attest")
    if package:
        items += _claims(session, package)


def _claims(session: pytest.Session, package: str) -> Iterator[pytest.Item]:
    from checks.audit import UnknownPackage, use
    from checks.run.registry import load

    try:
        use(package)
    except UnknownPackage as error:
        raise pytest.UsageError(f"--attest: {error}") from None
    for id in load():
        yield ClaimTest.from_parent(session, name=id, nodeid=f"attest::{id}")


class WrongVerdict(Exception):
    """A claim has another verdict than the recorded one; the message says what was found."""


class ClaimTest(pytest.Item):
    """One claim, judged as `attest verify` does, with its cache."""

    def runtest(self) -> None:
        """Raises WrongVerdict."""
        from checks.claim import Options
        from checks.run import ledger
        from checks.run.cache import Cache, unjudged
        from checks.run.link import link
        from checks.run.registry import load
        from checks.run.verify import verify

        recorded, severities = ledger.expected(), ledger.severities()
        ((record, _),) = verify([load()[self.name]], Options(), cache=Cache(), limit=60)
        link([record], recorded)
        found = (record.verdict, record.severity)
        expected = (recorded.get(self.name, "not recorded"), severities.get(self.name))
        if found != expected or unjudged(record):
            raise WrongVerdict(report(record, _said(expected)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone where a verdict is wrong."""
        if isinstance(excinfo.value, WrongVerdict):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where the test is: under the name of its claim."""
        return "attest", None, self.name


def _said(verdict: tuple[str, str | None]) -> str:
    return ": ".join(word for word in verdict if word)


def report(record: Record, expected: str) -> str:
    """What was found of a claim: its verdict, the counterexample, what each leg that failed or did not settle
    it says, the wrong versions that nothing rejects, and where it is declared.
    """
    lines = [f"{record.id} is {_said((record.verdict, record.severity))}, recorded is {expected}"]
    if record.counterexample:
        lines.append(f"counterexample: {record.counterexample}")
    for piece in record.evidence:
        if piece.passed is not True and (said := piece.not_run or piece.detail):
            lines.append(f"{piece.leg} ({piece.grade}): {said}")
    if record.verdict in ("unsettled", "inconsistent") and record.notes:
        lines.append(record.notes)
    if record.mutants.survivors:
        lines.append(f"not rejected: {', '.join(record.mutants.survivors)}")
    lines.append(f"declared at {record.source}; {record.command.replace(' verify ', ' show ')}")
    return "\n".join(line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines)
