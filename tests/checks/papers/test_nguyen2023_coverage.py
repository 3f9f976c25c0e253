"""Every system of nguyen2023 is compared with its definition, derived expansion, optimal fit and
torch's attention.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pytest

from checks.claim import Options
from checks.evidence import Evidence, finding
from checks.papers.nguyen2023 import table_data
from checks.papers.nguyen2023.coverage import COLUMNS, ROWS, Cell
from checks.run.readings import printed
from checks.run.registry import load
from checks.run.verify import assumptions_for, examine
from checks.statement import parts

LISTED = (  # the systems that the specification names
    "softmax", "linear, elu", "sparse (16)", "multi-head", "residual", "Attention-BN (22)", "Attention-SH (25)",
    "Attention-BN+SH (49)", "simplified with β (26)", "simplified BN+SH with β (51)", "Linear Attention-BN",
    "Linear Attention-SH", "Linear Attention-BN+SH", "Sparse Attention-BN", "Sparse Attention-SH", "Sparse Attention-BN+SH",
    "Attention-Conv1D", "Attention-Conv2D", "CvT",
)  # fmt: skip
CELLS = [(row.system, column) for row in ROWS for column in COLUMNS]
LONG = (1024, 4096, 32768)


def cell(system: str, column: str) -> Cell | str:
    return getattr(next(r for r in ROWS if r.system == system), column)


@lru_cache(maxsize=64)
def evidence(claim: str, leg: Any, n: int) -> tuple[Evidence, ...]:
    own = load()[claim]
    return tuple(leg(assumptions_for(own, {}), Options(max_tokens=n)))


def test_no_system_of_the_paper_is_missing() -> None:
    assert len({r.system for r in ROWS}) == len(ROWS) == len(LISTED)
    assert all(any(r.system.startswith(name) for r in ROWS) for name in LISTED)


@pytest.mark.parametrize(("system", "column"), CELLS)
def test_the_comparison_is_a_leg_of_a_claim_or_has_a_reason(system: str, column: str) -> None:
    found = cell(system, column)
    if isinstance(found, str):
        assert column == "torch" and len(found) > 40, (
            "only torch may lack something, and the reason is written"
        )
        return
    assert found.leg in load()[found.claim].legs


@pytest.mark.parametrize(("system", "column"), CELLS)
def test_the_comparison_runs_and_passes(system: str, column: str) -> None:
    """At 128 tokens, or on the small instance of the exact fit."""
    found = cell(system, column)
    if isinstance(found, str):
        return
    pieces = [
        e
        for e in evidence(found.claim, found.leg, 128)
        if found.says in finding(e.detail, e.wrong, e.not_rejected)
    ]
    assert pieces and all(e.passed for e in pieces)
    assert column != "optimum" or {e.grade for e in pieces} == {"exact-rational", "certified-float"}
    assert column != "torch" or any(e.backend in ("flash", "math", "efficient") for e in pieces)


@pytest.mark.slow
@pytest.mark.parametrize("n", LONG)
@pytest.mark.parametrize(("system", "column"), [(s, c) for s, c in CELLS if c != "optimum"])
def test_the_comparison_passes_on_long_sequences(system: str, column: str, n: int) -> None:
    found = cell(system, column)
    if isinstance(found, str):
        return
    pieces = [e for e in evidence(found.claim, found.leg, n) if e.tokens == n]
    named = [e for e in pieces if found.says in finding(e.detail, e.wrong, e.not_rejected)]
    assert all(e.passed for e in named)
    assert named or any(e.not_run for e in pieces), "not run is said, with the reason"


@pytest.mark.parametrize("number", [12, 13, 14])
def test_the_values_of_beta_that_the_page_prints_are_those_that_are_decided(number: int) -> None:
    _, *rows = printed("nguyen2023")[f"nguyen2023/tab{number}"].lines
    read = {name: values for name, values in (re.findall(r"\{(.+): \}(.+)", row)[0] for row in rows)}
    decided = getattr(table_data, f"TABLE_{number}").rows
    assert list(decided) == list(read)
    assert [[Fraction(v) for v in values.split(r",\ ")] for values in read.values()] == [
        list(row) for row in decided.values()
    ]


def test_descent_from_near_the_counterexample_ends_at_it() -> None:
    """C = 8, x = 1, y = 3, ε = 0: a strict local minimum, so that descent ends at 0, with the value 16."""

    def value(w: float, u: float) -> float:
        return w * w / 2 + u * u / 2 + 8 * (3 - (w * u * u * math.exp(-u * u) + 1))

    w, u = 0.05, -0.05
    for _ in range(200):
        bend = math.exp(-u * u)
        w, u = w - 0.1 * (w - 8 * u * u * bend), u - 0.1 * (u - 16 * w * u * (1 - u * u) * bend)
    assert abs(w) + abs(u) < 1e-6
    assert value(1, 0.5) < value(0, 0) - 0.9
    said = load()["nguyen2023/prose-wproj-by-gradient-descent"].literal
    assert said is not None and r"\nabla_{w} F_w > 0" in said.statement_latex()


def test_each_average_that_is_said_to_be_better_is_compared() -> None:
    latex = " ".join(part.statement_latex() for part in parts(load()["nguyen2023/tab2"].literal))
    assert all(f"gain of {name} on average" in latex for name in ("Attention-BN", "Attention-SH"))


def test_both_constraints_of_33_are_judged_as_they_are_printed() -> None:
    claim = load()["nguyen2023/eq33"]
    record = examine(claim, assumptions_for(claim, {}), Options(), quick=True)
    said = record.counterexample or ""
    assert "first constraint" in said and "second constraint" in said and record.verdict == "corrected"


@pytest.mark.parametrize("id", ["eq11", "eq27"])
def test_the_counterexample_to_the_kernel_sum_breaks_no_assumption_of_what_is_printed(id: str) -> None:
    claim = load()[f"nguyen2023/{id}"]
    record = examine(claim, assumptions_for(claim, {}), Options(), quick=True)
    assert "the denominator is 0" in (record.counterexample or "")
    assert "h_nonzero" not in {a.name for a in claim.assumes}


@pytest.mark.parametrize("id", ["eq21", "eq48"])
def test_values_on_normalised_keys_are_those_of_the_multipliers(id: str) -> None:
    claim = load()[f"nguyen2023/{id}"]
    record = examine(claim, assumptions_for(claim, {}), Options(), quick=True)
    assert record.statement["latex"].count(r"\tilde{\boldsymbol{\alpha}}") >= 2


def test_values_of_a_sparse_fit_are_those_of_its_multipliers() -> None:
    claim = load()["nguyen2023/eq16"]
    record = examine(claim, assumptions_for(claim, {}), Options(), quick=True)
    assert r"\tilde{\boldsymbol{\alpha}}" in (record.corrected or {}).get("latex", "")
