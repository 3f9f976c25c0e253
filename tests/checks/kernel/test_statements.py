"""What Rocq is given is what the engine decides: theorems are read back and evaluated beside the statements."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest
from agreement import Meant, disagreement, slope_meant

from checks.claim import built
from checks.kernel.obligations import Exported, export
from checks.kinds.extremum import Extremum
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.stacked import PrunedArguments, Stacked
from checks.kinds.stationary import Stationary
from checks.run import ledger, proofs, prove
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import Identity, parts
from derivations.calculus.gradients import Gradient, at_point
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.term import Part, Pick, as_term

READ = (Identity, Follows, Implication, Stationary, Extremum)


@cache
def exported(id: str) -> list[tuple[object, Exported]]:
    """The parts of the version of a claim that stands, and what is exported of each."""
    claim = load()[id]
    version = claim.corrected if ledger.expected()[id] == "corrected" else claim.literal
    statement = built(version, assumptions_for(claim, {}))
    return list(zip(parts(statement), export(prove.name_of(id), statement), strict=True))


def with_theorems() -> list[str]:
    return [id for id, verdict in ledger.expected().items() if verdict in ("proved", "corrected")]


SAMPLE = with_theorems()[::9]


Told = tuple[str, object, Meant | None]
"""A theorem's text, the statement with its hypotheses, and what it should say where that is something else."""


def conclusions(id: str) -> list[Told]:
    """The theorems that say the whole of each part, each block of it, and what its gradients are."""
    found: list[Told] = []
    for part, own in exported(id):
        by_name = {
            re.sub(r"^.*?((_(block\d+|gradient))?)$", r"\1", t.name): t.statement for t in own.theorems
        }
        if isinstance(part, READ) and own.theorems:
            extra = ("_defined", "_gradient", "_gradients", "_only")
            whole = [t for t in own.theorems if not re.search(r"_(step|derivative|slope)\d+$", t.name)]
            whole = [t for t in whole if not t.name.endswith(extra)]
            found += [(t.statement, part, None) for t in whole[-1:]]  # one that is not proved yet has none
            found += [(t.statement, alone(part), None) for t in own.theorems if t.name.endswith("_only")]
        if isinstance(part, Stacked):
            found += [(by_name[f"_block{n}"], block, None) for n, block in enumerate(blocks(part), 1)]
        if isinstance(part, Identity) and "_gradient" in by_name and (meant := gradient_meant(part)):
            found.append((by_name["_gradient"], part, meant))
    return found


def alone(part: Extremum) -> Follows:
    """That where the energy is what it is at the point, the variable is the point."""
    same = Equation(part.energy, at_point(part.energy, part.variable, part.point), Tensor("gap", ()))
    at = tuple(Index(f"a{n}", dim) for n, dim in enumerate(part.variable.dims))
    sides = as_term(part.variable)[at], part.point[at]
    return Follows((same,), *sides, as_term(same.residual), "", over=at, given=part.given)


def blocks(part: Stacked) -> list[Identity]:
    """The equalities of the blocks of stacked objects."""
    every = product(*(summands(dim) for dim in part.lhs.shape()))
    sides = [[PrunedArguments((Part((side,), dims),)) for side in (part.lhs, part.rhs)] for dims in every]
    return [Identity(left, right, part.given, nonzero=part.nonzero) for left, right in sides]


def gradient_meant(part: Identity) -> Meant | None:
    """What the theorem should say that the gradient on one side is the other side; None where the gradient
    stands inside a side, of which nothing is read back.
    """
    for side, other in ((part.lhs, part.rhs), (part.rhs, part.lhs)):
        at: tuple[Index, ...] = ()
        while isinstance(side, Pick):
            side, at = side.args[0], (*side.data, *at)
        if isinstance(side, Gradient):
            return slope_meant(side.data[0], side.data[1], at, other)
    return None


def compare(ids: list[str]) -> int:
    count = 0
    for id in ids:
        for text, part, meant in conclusions(id):
            words = disagreement(text, part, meant=meant)
            assert words in ("", "nowhere defined"), f"{id}: {words}\n{text}"
            count += words == ""
    return count


def test_a_sample_of_theorems_says_what_the_statements_say() -> None:
    assert compare(SAMPLE) > 20


@pytest.mark.slow
def test_every_theorem_says_what_its_statement_says() -> None:
    assert compare(with_theorems()) > 250


def test_theorems_are_the_same_each_time_they_are_made() -> None:
    first = [t.text for id in SAMPLE[:8] for _, e in exported(id) for t in e.theorems]
    exported.cache_clear()
    assert first == [t.text for id in SAMPLE[:8] for _, e in exported(id) for t in e.theorems]


def test_names_are_each_claims_own() -> None:
    names = [prove.name_of(id) for id in load()]
    assert len(set(names)) == len(names)


FAULTS = {
    "nguyen2023/eq2": [
        ("transpose K", "K"),
        ("product N", "product D"),
        ("INR D", "INR N"),
        (r"inner D \(Q i\)", "inner D (Q j2)"),
    ],
    "chen2023/lem4.2": [(r"\(forall i0, \(i0 < s\)%nat -> 0 < sigma i0\) ->", ""), ("transpose K", "K")],
    "nguyen2023/rem1": [],
    "chen2023/eq7": [
        (r"e_ i\)", "e_ i0)"),
        (r"h_e i i0", "h_e i0 i0"),
        (r"  \(forall i0, \(i0 < s\)%nat -> times_vector N.*?->\n", ""),
    ],
}


def test_what_is_said_near_a_point_is_read_back_and_where_it_is_said() -> None:
    (text, local, _), (everywhere, least, _) = [
        told for told in conclusions("farooq2025/prose-polynomial-minimum") if isinstance(told[1], Extremum)
    ]
    assert not disagreement(text, local) and not disagreement(everywhere, least)
    assert disagreement(text, least) and disagreement(everywhere, local)
    faults = [
        ("product n A V row", "product n V A row"),
        (r"convex_near power \(c j\)", "convex_near power (p)"),
    ]
    faults += [(r"\(forall j, .*? radius\) ->", ""), (">= ", "<= "), (r"let Z := \(product n A V\) in", "")]
    for pattern, wrong in faults:
        changed = re.sub(pattern, wrong, text, count=1)
        assert changed != text and disagreement(changed, local), (pattern, changed)
    without = everywhere.replace("(convex power) ->", "")
    assert without != everywhere and disagreement(without, least)


@pytest.mark.parametrize("id", FAULTS)
def test_a_wrong_index_and_a_dropped_hypothesis_are_seen(id: str) -> None:
    text, part, _ = conclusions(id)[0]
    faults = [*FAULTS[id]]
    if isinstance(part, Implication):
        hypotheses = [line for line in text.splitlines() if re.match(r"  \(.* [>=] 0\) ->$", line)]
        faults += [(re.escape(line), "") for line in hypotheses]
    assert faults and not disagreement(text, part)
    for pattern, wrong in faults:
        changed = re.sub(pattern, wrong, text, count=1)
        assert changed != text and disagreement(changed, part), (pattern, changed)


@pytest.mark.slow
def test_the_record_is_that_of_the_statements_as_they_are() -> None:
    recorded = proofs.read()
    for id in recorded.claims:
        fresh = prove.exports(load()[id])
        remembered = prove.remembered(fresh, recorded)
        stale = [t.name for group in fresh.groups() for t in group if t.name not in remembered]
        stale += [name for name, outcome in remembered.items() if outcome.outcome == "stale"]
        assert not stale, f"{id}: run attest prove --all"
        assert fresh.said == recorded.claims[id].said
