"""What Rocq checked is another statement's, although both are displayed alike."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from book import kernel as pages
from book.ledger import Claim, Formula
from checks.evidence import Mutants, Record
from checks.kernel import rocq
from checks.run import proofs
from checks.run.content import content_of
from checks.run.verify import latex
from checks.statement import Identity
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, as_term

x, matrix = as_term(Tensor("x", ())), as_term(Tensor("x", ("N", "D")))
square = as_term(Tensor("x", ("N", "N")))
PAIRS = {
    "a number and a matrix": (Identity(x + x, 2 * x), Identity(matrix + matrix, 2 * matrix)),
    "matrices of other shapes": (Identity(matrix * 2, 2 * matrix), Identity(square * 2, 2 * square)),
}


Says = Callable[[proofs.ClaimProofs], None]


def theorem(statement: Identity) -> proofs.ClaimProofs:
    part = proofs.Part("Identity", [proofs.Proof("t", "Theorem t", "checked", "")])
    return proofs.ClaimProofs("proved", proofs.hash_of(latex(statement)), [part], [], content_of(statement))


def record(statement: Identity) -> Record:
    said = {"latex": latex(statement), "words": "w", "content": content_of(statement)}
    return Record("p/a", "p", "a", "t", "Identity", "proved", True, [], [], None, None, None, [], Mutants(),
                  statement=said)  # fmt: skip


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Says:
    def says(claim: proofs.ClaimProofs) -> None:
        found = proofs.Proofs("8", "library", [], 0.0, {"p/a": claim})
        monkeypatch.setattr(proofs, "read", lambda path=None: found)
        data = {"library": "library", "claims": {"p/a": asdict(claim)}}
        monkeypatch.setattr(pages, "_record", lambda: data)
        monkeypatch.setattr(pages, "library_hash", lambda: "library")

    return says


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("same", [True, False])
def test_a_theorem_of_a_statement_that_is_displayed_alike_is_stale(
    recorded: Says, name: str, same: bool
) -> None:
    one, other = PAIRS[name]
    assert latex(one) == latex(other)
    recorded(theorem(one))
    now = record(one if same else other)
    assert (proofs.of_record(now, "library")[1] == "") is same
    shown = Claim("p/a", "p", "a", "t", "Identity", "proved", True, statement=Formula(**now.statement))
    assert pages.checked(shown) is same


def test_a_record_from_before_is_compared_by_its_display(recorded: Says) -> None:
    one, _ = PAIRS["a number and a matrix"]
    recorded(replace(theorem(one), content=""))
    assert proofs.of_record(record(one), "library")[1] == ""
    different: Term = 3 * x
    assert proofs.of_record(record(Identity(x + x + x, different)), "library")[1]


def test_a_theorem_of_exporters_that_have_changed_since_is_stale(
    recorded: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Rocq checked is what these made of the statement then."""
    one, _ = PAIRS["a number and a matrix"]
    recorded(theorem(one))
    shown = Claim(
        "p/a", "p", "a", "t", "Identity", "proved", True, statement=Formula(**record(one).statement)
    )
    for known, same in ((rocq.exporters_hash(), True), ("another", False), ("", True)):
        found = replace(proofs.read(), exporters=known)
        monkeypatch.setattr(proofs, "read", lambda path=None, found=found: found)
        data = {**pages._record(), "exporters": known}
        monkeypatch.setattr(pages, "_record", lambda data=data: data)
        assert (proofs.of_record(record(one), "library")[1] == "") is same
        assert pages.checked(shown) is same


def test_the_hash_of_the_exporters_is_of_each_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = Path(rocq.__file__).parent
    shutil.copytree(kernel, tmp_path / "kernel", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(rocq, "__file__", str(tmp_path / "kernel" / "rocq.py"))
    before = rocq.exporters_hash.__wrapped__()
    assert before == rocq.exporters_hash()
    with (tmp_path / "kernel" / "equalities.py").open("a") as file:
        file.write("# changed")
    assert rocq.exporters_hash.__wrapped__() != before
