"""Claims: short declarations, one for each assertion of a paper. Everything else is derived from them.

A claim is registered by calling ``claim(...)`` at import of its module; ``checks.run.registry`` imports all
papers.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from checks.audit import current
from checks.evidence import Evidence

if TYPE_CHECKING:  # the declarations of claims import what their statements are made of
    from checks.statement import Statement
    from derivations.calculus.program import Step

    Said = Statement | Callable[[Any], Statement]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Options:
    """What a run may do: the longest sequence, dtype and device of tensor legs, the seed of random
    instances.
    """

    max_tokens: int = 4096
    dtype: str = "float64"
    device: str = "cpu"
    seed: int = 0


Leg = Callable[[Any, Options], list[Evidence]]


@dataclass(frozen=True)
class Assumption:
    """Something a claim rests on besides other claims.

    A knob assumption fixes ``knob`` to ``value``; any other has a name under which the claim's statement
    lists it.
    """

    name: str
    words: str
    knob: str = ""
    value: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim. ``literal`` is the statement as printed, ``corrected`` its repair; each may be a function of
    the theory's assumptions.

    ``under`` sets knobs of the theory as the claim's own hypotheses say. ``role`` is "claim", "definition" or
    "empirical". ``derivation`` gives the steps that lead up to the statement. ``legs`` are further checks of
    the version that stands (solvers, tensors), ``failing`` of a statement of which none stands: they try it
    as printed, and do not pass where it fails. ``assumes`` names what the paper presupposes, ``rests_on`` the
    ids of the claims that it uses; ``where`` says what the symbols mean, ``notes`` what a reader should know
    besides, ``reason`` what could not be run or was counted. ``instead`` says why the correction keeps no
    side of a printed equation, or no computed number, where it keeps none. In ``where`` and ``notes`` $…$ is
    mathematics.
    """

    id: str
    reference: str
    title: str
    literal: Said | None
    words: str
    theory: str = ""
    under: tuple[tuple[str, str], ...] = ()
    role: str = "claim"
    corrected: Said | None = None
    correction_words: str = ""
    instead: str = ""
    assumes: tuple[Assumption, ...] = ()
    rests_on: tuple[str, ...] = ()
    legs: tuple[Leg, ...] = ()
    failing: tuple[Leg, ...] = ()
    derivation: Callable[[Any], list[Step]] | None = None
    where: str = ""
    notes: str = ""
    reason: str = ""
    source: str = field(default="", compare=False)
    module: str = field(default="", compare=False)

    @property
    def paper(self) -> str:
        """The key of the paper: the part of the id before the slash."""
        return self.id.partition("/")[0]

    @property
    def file(self) -> Path | None:
        """The file of the module that declares it, where that was imported."""
        path = getattr(sys.modules.get(self.module), "__file__", None)
        return Path(path) if path else None

    def assumptions(self, base: Any) -> Any:
        """The theory's assumptions with the claim's own hypotheses on top."""
        return replace(base, **dict(self.under)) if self.under else base


def built(said: Any, assumptions: Any) -> Any:
    """A statement, or what a function gives under assumptions: the key, the engines and the record ask for
    the same one.
    """
    return _built(said, assumptions) if callable(said) else said


@lru_cache(maxsize=512)
def _built(function: Callable[[Any], Any], assumptions: Any) -> Any:
    return function(assumptions)


def forget() -> None:
    """What was built is built anew: what a function reads may have changed since."""
    _built.cache_clear()


CLAIMS: dict[str, Claim] = {}


def hidden(text: str) -> set[str]:
    """The characters of a text that steer a terminal or a page instead of being seen: controls, formats,
    halves of pairs, separators of lines, what no standard has; a line's end is none of them.
    """
    return {c for c in set(text) - {"\n"} if category(c)[0] == "C" or category(c) in ("Zl", "Zp")}


def claim(
    id: str,
    reference: str,
    title: str,
    *,
    words: str,
    literal: Said | None = None,
    corrected: Said | None = None,
    correction_words: str = "",
    instead: str = "",
    theory: str = "",
    under: tuple[tuple[str, str], ...] = (),
    role: str = "claim",
    assumes: tuple[Assumption, ...] = (),
    rests_on: tuple[str, ...] = (),
    legs: tuple[Leg, ...] = (),
    failing: tuple[Leg, ...] = (),
    derivation: Callable[[Any], list[Step]] | None = None,
    where: str = "",
    notes: str = "",
    reason: str = "",
) -> Claim:
    """Register a claim; the parameters are the fields of `Claim`. Statements that are derived, or depend on
    the assumptions, are functions of these, so that importing a paper derives nothing. Raises ValueError for
    a repeated id or a field out of range.
    """
    if id in CLAIMS:
        raise ValueError(f"claim {id} is declared twice")
    for text in (id, reference, title, words, correction_words, instead, where, notes, reason):
        if unseen := ", ".join(map(ascii, sorted(hidden(text)))):
            raise ValueError(f"claim {id!a}: a text holds {unseen}, which no page shows")
    for several in (under, assumes, rests_on, legs, failing):
        if not isinstance(several, tuple):
            raise ValueError(f"{id}: {several!a} is no tuple")
    if "/" not in id:
        raise ValueError(f"a claim id has the form paper/kind-and-number, not {id!r}")
    if role not in ("claim", "definition", "empirical"):
        raise ValueError(f"{id}: role must be claim, definition or empirical")
    if role == "empirical" and not reason:
        raise ValueError(f"{id}: an empirical claim says in `reason` what cannot be run here")
    if not theory and any(a.knob for a in assumes):
        raise ValueError(
            f"{id}: an assumption names a knob, but the claim is of no theory that could turn it"
        )
    module, source = _declared_at()
    CLAIMS[id] = new = Claim(
        id,
        reference,
        title,
        literal,
        words,
        theory=theory,
        under=under,
        role=role,
        corrected=corrected,
        correction_words=correction_words,
        instead=instead,
        assumes=assumes,
        rests_on=rests_on,
        legs=legs,
        failing=failing,
        derivation=derivation,
        where=where,
        notes=notes,
        reason=reason,
        source=source,
        module=module,
    )
    return new


def _declared_at() -> tuple[str, str]:
    """The module that is being imported, and the line in it: also where a helper of another module
    makes the claim.
    """
    callers = [frame for frame, _ in traceback.walk_stack(inspect.currentframe())][2:]
    outer = next((frame for frame in callers if frame.f_code.co_name == "<module>"), callers[0])
    where = Path(outer.f_code.co_filename).resolve()
    root = next((r for r in (ROOT, current().root) if where.is_relative_to(r)), where.parent)
    return outer.f_globals.get("__name__", ""), f"{where.relative_to(root).as_posix()}:{outer.f_lineno}"
