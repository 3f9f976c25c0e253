"""The steps of a derivation as the page shows them, each beside the paper's: what it asks Python for first.

The same code derives as in `attest derive`; it needs SymPy only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from book.markup import lines
from checks.run.bounded import derivation
from checks.run.theories import theory
from derivations.calculus.program import Step
from derivations.errors import Unusable

Key = tuple[str, str, int]


def keyed(steps: Iterable[Step]) -> dict[Key, Step]:
    """Steps by title; titles that come again for each formula of F are told apart by its heading."""
    found: dict[Key, Step] = {}
    heading = ""
    for step in steps:
        heading = step.title if step.title.startswith("F = ") else heading
        number = sum(key[:2] == (step.title, heading) for key in found)
        found[step.title, heading, number] = step
    return found


PAPERS: dict[str, dict[Key, Step]] = {}
"""The steps of each theory under its paper's own assumptions, once derived; the book brings them along."""


def of_paper(name: str) -> dict[Key, Step]:
    """The steps of a theory under its paper's own assumptions."""
    if name not in PAPERS:
        chosen = theory(name)
        PAPERS[name] = keyed(chosen.derive(chosen.defaults))
    return PAPERS[name]


def derive(name: str, settings: str) -> str:
    """The steps under settings (a JSON object of knobs), each with the paper's where that differs, and what
    is gone; or, under "error", what is wrong with the settings or has no form under them, in a line.
    """
    try:
        with derivation():
            assumptions = theory(name).assumptions(json.loads(settings))
            new = keyed(theory(name).derive(assumptions))
    except Unusable as error:
        return json.dumps({"error": str(error)})
    old = of_paper(name)
    steps = [_compared(old.get(key), step) for key, step in new.items()]
    gone = [_shown(step) for key, step in old.items() if key not in new]
    return json.dumps({"steps": steps, "gone": gone}, ensure_ascii=False)


def _compared(old: Step | None, new: Step) -> dict[str, Any]:
    """A step and how it differs from the paper's."""
    if old is None:
        return {**_shown(new), "state": "new"}
    if old.latex == new.latex:
        return {**_shown(new), "state": "same"}
    return {**_shown(new), "state": "changed", "before": _shown(old)}


def _shown(step: Step) -> dict[str, Any]:
    """A step; its formula also in the lines in which a page sets it."""
    return {"title": step.title, "reason": step.reason, "latex": step.latex, "lines": lines(step.latex)}
