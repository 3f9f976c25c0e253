"""Whoever reads a displayed formula reads what was decided: the formulas of all claims, read back from their LaTeX.

``reader`` parses what is printed without the printer; its value is compared with that of the index notation
that the engines decide, at random sizes and values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from reader import Relation, Unreadable, Vocabulary, compare, relations, vocabulary, words

from checks.claim import built
from checks.engine.notation import ENTRYWISE
from checks.engine.printing import part_latex
from checks.kinds.family import Family
from checks.run import registry
from checks.run.verify import assumptions_for
from checks.statement import parts, terms_of
from derivations.calculus.term import Term, as_term

LEAST = 0.99
"""The share of all formulas that must be read."""

KNOWN = {
    "chen2023/eq19": "a column of the residual R_e is printed h_{e,l}, as one of H_e, in the certificates",
}
"""Claims with formulas that are known to read as something else than what was decided, with the reason."""


@dataclass(frozen=True)
class Formula:
    """A term of a claim's statement as it is printed; ``version`` is literal or corrected."""

    claim: str
    version: str
    kind: str
    latex: str
    term: Term
    words: Vocabulary

    def __str__(self) -> str:
        return f"{self.claim} ({self.version}, {self.kind}): {self.latex}"


@cache
def statements() -> list[tuple[str, str, str, Any]]:
    """(claim, version, kind, simple statement) of all claims; of a family, its cases."""
    found = []
    for claim in registry.load().values():
        for version in ("literal", "corrected"):
            if getattr(claim, version) is not None:
                whole = built(getattr(claim, version), assumptions_for(claim, {}))
                for part in parts(whole):
                    found += [(claim.id, version, type(part).__name__, case) for case in _cases(part)]
    return found


def _cases(part: Any) -> Iterator[Any]:
    if not isinstance(part, Family):
        yield part
        return
    for statement in (part.general, *(case for _, case in part.cases)):
        for simple in parts(statement) if statement is not None else ():
            yield from _cases(simple)


@cache
def formulas() -> list[Formula]:
    found = []
    for claim, version, kind, statement in statements():
        said = vocabulary(statement, entrywise=ENTRYWISE in part_latex(statement))
        found += [Formula(claim, version, kind, t.latex(), t, said) for t in terms_of(statement)]
    return found


def outcome(formula: Formula, tries: int = 2, seed: int = 0) -> tuple[str, str]:
    """("read", "") or ("differs", how) or ("unread", why)."""
    try:
        how = compare(formula.latex, formula.term, formula.words, tries, seed)
    except Unreadable as error:
        return "unread", error.reason
    return ("differs", how) if how else ("read", "")


@cache
def outcomes() -> list[tuple[Formula, tuple[str, str]]]:
    return [(formula, outcome(formula)) for formula in formulas()]


def test_nearly_all_formulas_are_read() -> None:
    why = Counter(what if what == "read" else f"{what}: {detail}" for _, (what, detail) in outcomes())
    read = sum(what != "unread" for _, (what, _) in outcomes())
    assert len(outcomes()) > 2500 and read >= LEAST * len(outcomes()), why


def test_every_formula_that_is_read_has_the_value_that_was_decided() -> None:
    differ = [f"{f}\n    {how}" for f, (what, how) in outcomes() if what == "differs" and f.claim not in KNOWN]
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize("claim", KNOWN)
def test_what_is_known_to_read_differently_still_does(claim: str) -> None:
    assert any(f.claim == claim and what == "differs" for f, (what, _) in outcomes()), KNOWN[claim]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_at_other_points_too(seed: int) -> None:
    differ = [
        f"{f}\n    {how}"
        for f in formulas()
        if f.claim not in KNOWN
        for what, how in [outcome(f, 4, 1000 * seed)]
        if what == "differs"
    ]
    assert not differ, "\n".join(differ)


# ---------------------------------------------------------------- what the formulas are put into


_SIGNS = {"=": "=", "!=": r"\ne", ">=": r"\ge", ">": ">"}


def _fact(fact: Any) -> tuple[str, str, str]:
    return fact.term.latex(), _SIGNS[fact.relation], "0"


def _constraints(program: Any) -> list[tuple[str, str, str]]:
    return [
        (c.lhs.args[0].latex(), r"\ge", "0")
        if c.of_sign()
        else (c.lhs.latex(), "=" if c.equality else r"\le", c.rhs.latex())
        for c in program.constraints
    ]


def decided(statement: Any) -> list[tuple[str, str, str]] | None:
    """The relations that a statement consists of; None for a kind that is displayed in another way."""
    s = statement
    match type(s).__name__:
        case "Identity" | "Stacked":
            found = [(s.lhs.latex(), "=", s.rhs.latex())]
        case "Differs":
            found = [(s.lhs.latex(), r"\ne", s.rhs.latex())]
        case "Definition" | "Scoped":
            found = [(s.name.latex(), ":=", s.meaning.latex())]
        case "Implication" | "Rule":
            found = [_fact(f) for f in (*s.hypotheses, s.conclusion)]
        case "Example":
            found = [_fact(f) for f in s.facts]
        case "Solvable":
            found = [_fact(f) for f in s.equations]
        case "Follows":
            found = [(h.lhs.latex(), "=", h.rhs.latex()) for h in s.hypotheses]
            found.append((s.lhs.latex(), _SIGNS[s.relation], s.rhs.latex()))
        case "Convex" | "WellPosed" | "ConvexProgram" | "Bounded":
            found = _constraints(s.program)
        case "Dual":
            found = [*_constraints(s.program), *((t.latex(), "=", "0") for _, t in s.conditions)]
        case _:
            return None
    for g in getattr(s, "given", ()):
        found.append(((as_term(g.tensor)[g.at] if g.at else as_term(g.tensor)).latex(), "=", g.value.latex()))
    return found


def _tokens(relation: tuple[str, str, str]) -> Relation:
    left, sign, right = relation
    return tuple(words(left)), sign, tuple(words(right))


def test_displays_consist_of_the_relations_that_were_decided() -> None:
    """In their order; the formulas in them are those that are read above."""
    seen = 0
    for claim, _, _, statement in statements():
        expected = decided(statement)
        if expected is None:
            continue
        shown, _ = relations(part_latex(statement), vocabulary(statement))
        for relation in map(_tokens, expected):
            assert relation in shown, (claim, relation)
            shown = shown[shown.index(relation) + 1 :]
        seen += 1
    assert seen > 700
