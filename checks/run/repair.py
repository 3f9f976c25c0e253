"""Whether a correction is one: not the printed statement again, not its denial, not something about other things."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import sympy as sp

from checks.kinds.differs import Differs
from checks.kinds.examples import Example
from checks.kinds.programs import Convex, WellPosed
from checks.kinds.scope import Scoped
from checks.statement import Definition, Identity, parts, tensors_of, terms_of
from derivations.calculus.functions import is_unknown
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Apply, Size, Term, subterms


def repair_of(literal: Any, corrected: Any) -> str:
    """Whether a correction is one: "offered", or "idle" where it says nothing, the same, its denial, or something about
    other things. That it is the smallest one is for a reader to judge.
    """
    printed = parts(literal)
    said = [p for p in parts(corrected) if not _idle(p, printed)]
    if not said or corrected == literal:
        return "idle"
    before, after = subjects(literal), subjects(said)
    return "idle" if before and not before & after else "offered"


def _idle(repair: Any, printed: tuple[Any, ...]) -> bool:
    """A statement of one side, of one instance, or that what is printed fails."""
    if isinstance(repair, Identity) and repair.lhs == repair.rhs:
        return True
    if isinstance(repair, Differs):
        return any(isinstance(p, Identity) for p in printed)
    if isinstance(repair, Convex | WellPosed):
        return not any(hasattr(p, "program") for p in printed)
    if isinstance(repair, Definition | Scoped):
        return not any(
            isinstance(p, Definition | Scoped)
            or repair.name in (getattr(p, "lhs", None), getattr(p, "rhs", None))
            for p in printed
        )
    return isinstance(repair, Example)


def subjects(statement: Any) -> set[str]:
    """What a statement is about: the names of its tensors, of their sizes, of its functions of no known meaning, its symbols."""
    found = {name for t in tensors_of(statement) for name in (t.name, *t.dims)} - {"1"}
    for term in terms_of(statement):
        for _, t in subterms(term):
            if isinstance(t, Size):
                found.add(t.data)
            elif isinstance(t, Apply) and is_unknown(t.data[0]):
                found.add(t.data[0])
    return found | {str(s) for s in _symbols(statement)}


def _symbols(item: Any) -> Iterator[sp.Symbol]:
    if isinstance(item, sp.Basic):
        yield from item.free_symbols
    elif isinstance(item, (tuple, list)):
        for part in item:
            yield from _symbols(part)
    elif is_dataclass(item) and not isinstance(item, (type, Index, Tensor, Term)):
        for f in fields(item):
            yield from _symbols(getattr(item, f.name))
