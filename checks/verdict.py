"""Verdicts: one pure function of what the engines found, as the table in README.md says."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import sympy as sp

from checks.statement import Identity, parts
from derivations.index import Index, Tensor
from derivations.term import Term

VERDICTS = (
    "proved",
    "confirmed",
    "corrected",
    "refuted",
    "definition",
    "empirical",
    "unsettled",
    "inconsistent",
)
FAILED = ("corrected", "refuted")


def verdict(
    role: str, holds: bool | None, proved: bool, repaired: bool | None = None, repair: str = "none"
) -> str:
    """The verdict on a claim of a role ("claim", "definition", "empirical").

    ``holds`` and ``proved`` are of the statement as printed, ``repaired`` whether its repair holds. ``repair`` is "none",
    "offered", or "idle" for one that repairs nothing: no statement at all, the printed one again, or one about other
    things. An undecided repair leaves the claim unsettled: it may be the small repair that a refutation denies.
    """
    if holds is None:
        return "empirical" if role == "empirical" else "unsettled"
    if holds:
        return role if role in ("definition", "empirical") else "proved" if proved else "confirmed"
    if repair == "none":
        return "refuted"
    if repair == "idle":
        return "inconsistent"
    return {True: "corrected", False: "refuted", None: "unsettled"}[repaired]


def repair_of(literal: Any, corrected: Any) -> str:
    """Whether a correction is one: "offered", or "idle" where it says nothing, the same, or something about other things."""
    said = [p for p in parts(corrected) if not (isinstance(p, Identity) and p.lhs == p.rhs)]
    if not said or corrected == literal:
        return "idle"
    before, after = subjects(literal), subjects(corrected)
    return "idle" if before and after and not before & after else "offered"


def subjects(statement: Any) -> set[str]:
    """What a statement is about: the names of its tensors, their dimensions, and its symbols."""
    found: set[str] = set()
    todo: list[Any] = [statement]
    while todo:
        item = todo.pop()
        if isinstance(item, Tensor):
            found |= {item.name, *item.dims} - {"1"}
        elif isinstance(item, sp.Basic):
            found |= {str(s) for s in item.free_symbols}
        elif isinstance(item, Term):
            todo += item.args
            todo.append((item.data,) if isinstance(item.data, str) else item.data)
        elif isinstance(item, (tuple, list)):
            found |= {x for x in item if isinstance(x, str)} - {"1"}
            todo += item
        elif is_dataclass(item) and not isinstance(item, (type, Index)):
            todo += [getattr(item, f.name) for f in fields(item)]
    return found
