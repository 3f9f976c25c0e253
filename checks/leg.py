"""Legs: checks of a claim by other means than its proof, on tensors or by a solver.

A leg is called with the theory's assumptions and the options of the run, and gives evidence. A declaration
names its legs (`Legs`, `Named`), so that it needs neither torch nor a solver; a leg on tensors is `Climbing`:
a check at one length.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from checks.claim import Leg, Options
from checks.evidence import Evidence

LADDER = (1024, 4096, 32768, 131072)
LINEAR = 1_048_576  # reached by checks of linear cost in a run that climbs the whole ladder

Check = Callable[[int, Any, Options], Evidence | Iterable[Evidence]]
"""What a leg does at one length: (tokens, assumptions, options)."""


def lengths(options: Options, linear: bool = False) -> list[int]:
    """Every length up to the longest allowed; checks of linear cost have one more above the whole ladder."""
    found = [n for n in LADDER if n <= options.max_tokens] or [options.max_tokens]
    return [*found, LINEAR] if linear and options.max_tokens >= LADDER[-1] else found


@dataclass(frozen=True)
class Climbing:
    """A leg from a check at one length. ``linear``: its cost is, so that it also goes to `LINEAR` tokens.

    It is not run above ``longest``, for the reason ``why``, nor where ``refuses`` gives a reason.
    """

    check: Check
    linear: bool = False
    longest: int | None = None
    why: str = ""
    refuses: Callable[[Any, Options], str] = lambda assumptions, options: ""

    def at(self, n: int, assumptions: Any, options: Options) -> list[Evidence]:
        """The evidence at a length, or one piece that says why there is none."""
        why = self.refuses(assumptions, options) or (self.why if self.longest and n > self.longest else "")
        return [skipped(n, options, why)] if why else timed(lambda: self.check(n, assumptions, options))

    def __call__(self, assumptions: Any, options: Options) -> list[Evidence]:
        """The evidence at every length that the options allow."""
        return [e for n in lengths(options, self.linear) for e in self.at(n, assumptions, options)]


def climbing(
    *,
    linear: bool = False,
    longest: int | None = None,
    why: str = "",
    refuses: Callable[[Any, Options], str] = Climbing.refuses,
) -> Callable[[Check], Climbing]:
    """Makes a `Climbing` leg of the check below it; the parameters are its fields."""
    return partial(Climbing, linear=linear, longest=longest, why=why, refuses=refuses)


def timed(run: Callable[[], Evidence | Iterable[Evidence]]) -> list[Evidence]:
    """What a check finds, each piece with the seconds that it took where it does not say them itself."""
    last = time.perf_counter()
    found = run()
    if isinstance(found, Evidence):
        found = [found]
    pieces: list[tuple[Evidence, float]] = []
    for piece in found:
        now = time.perf_counter()
        pieces.append((piece, now - last))
        last = now
    share = sum(seconds for _, seconds in pieces) / max(1, len(pieces))
    return [
        piece
        if piece.seconds is not None or piece.not_run
        else replace(piece, seconds=round(share if isinstance(found, list) else seconds, 4))
        for piece, seconds in pieces
    ]


def skipped(n: int, options: Options, why: str) -> Evidence:
    """Evidence of a tensor check that was not run at a length."""
    return Evidence(
        "tensor", "certified-float", None, tokens=n, dtype=options.dtype, device=options.device, not_run=why
    )


@dataclass(frozen=True)
class Named:
    """A leg by its module and its name there; the module is loaded when the leg runs."""

    module: str
    name: str

    def load(self) -> Leg:
        """The leg. Raises ImportError where its module needs what is not installed, AttributeError for
        no such leg.
        """
        return getattr(import_module(self.module), self.name)

    def __call__(self, assumptions: Any, options: Options) -> list[Evidence]:
        return self.load()(assumptions, options)


class Legs:
    """The legs of a module, as attributes: ``Legs("package.module").leg``.

    A leg is a function of the assumptions of the claim's theory (None where it has none) and of the
    `Options` of the run; it returns a list of `Evidence`, whose ``leg`` is "derivation", "exact", "solver" or
    "tensor", and whose ``passed`` is False where it refutes what stands.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Named:
        if name.startswith("_"):
            raise AttributeError(name)
        return Named(self._module, name)


def loaded(leg: Leg) -> Leg:
    """The leg itself where it is given by name."""
    return leg.load() if isinstance(leg, Named) else leg


def name_of(leg: Leg) -> str:
    """The name of a leg for people."""
    return (
        leg.name
        if isinstance(leg, Named)
        else getattr(getattr(leg, "check", leg), "__name__", type(leg).__name__)
    )
