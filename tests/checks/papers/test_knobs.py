"""Under other assumptions each claim is a statement that the engines take, or says in a sentence why it is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checks.claim import Claim, Options, built
from checks.engine.wellformed import check
from checks.run.registry import load
from checks.run.theories import theory
from checks.run.verify import assumptions_for, changes
from checks.statement import parts
from derivations.theories.theory import NoForm

THEORIES = ("svr", "ksvd", "functional_descent", "energy")
KNOWN = (  # at first each of these ended in an error that only its author could read
    ("nguyen2023/eq9", "loss", "least_squares"),
    ("nguyen2023/eq9", "box", "relaxed"),
    ("nguyen2023/eq7", "bias", "off"),
    ("nguyen2023/prose-converse", "normaliser", "one"),
    ("nguyen2023/prose-sparse-bn-sh", "normaliser", "kernel_sum_raw"),
    ("chen2023/eq9", "f_X", "identity"),
    ("wang2024/eq10", "kernel", "sigmoid"),
    ("wang2024/eq10", "kernel", "polynomial"),
    ("wang2024/prose-step-size-half", "bias", "off"),
)


def refused(claim: Claim, knob: str, value: str) -> Iterator[str]:
    """Why the engines refuse a version of a claim under a knob's value."""
    chosen = theory(claim.theory).assumptions({knob: value})
    for version in filter(None, (claim.literal, claim.corrected)):
        try:
            for part in parts(built(version, assumptions_for(claim, {claim.theory: chosen}))):
                check(part)
        except NoForm:
            return
        except Exception as error:
            yield f"{claim.id}, {knob}={value}: {type(error).__name__}: {error}"


@pytest.mark.parametrize(("id", "knob", "value"), KNOWN)
def test_a_claim_is_a_statement_under_another_assumption(id: str, knob: str, value: str) -> None:
    assert not list(refused(load()[id], knob, value))


def test_what_has_no_form_says_so_in_a_sentence() -> None:
    """The regulariser of Section 5 is for powers, and (76) is about the exponential."""
    chosen = theory("energy").assumptions({"regulariser": "section5"})
    ((_, records),) = changes([load()["farooq2025/eq76"]], {"energy": chosen}, Options())
    *_, record = records.values()
    said = "the regulariser of Section 5 is for powers u^p, not for exp(u)"
    assert record.verdict == "unsettled"
    assert record.notes.endswith(f"Under these assumptions nothing is said: {said}")


@pytest.mark.slow
@pytest.mark.parametrize("name", THEORIES)
def test_every_claim_is_a_statement_under_every_documented_value(name: str) -> None:
    claims = [claim for claim in load().values() if claim.theory == name]
    for knob in theory(name).knobs:
        for value in (v for v in knob.allowed if v == v.lower() and ":" not in v):
            assert not [why for claim in claims for why in refused(claim, knob.name, value)]
