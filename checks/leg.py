"""What legs on tensors are declared with: the lengths that they climb, and what does not run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from checks.claim import Leg, Options
from checks.evidence import Evidence

LADDER = (1024, 4096, 32768, 131072)
LINEAR = 1_048_576  # reached by checks of linear cost in a run that climbs the whole ladder

_ASKED: ContextVar[list[bool] | None] = ContextVar("asked", default=None)


def rungs(options: Options, linear: bool = False) -> list[int]:
    """Every length up to the longest allowed; checks of linear cost have one more above the whole ladder."""
    found = [n for n in LADDER if n <= options.max_tokens] or [options.max_tokens]
    return [*found, LINEAR] if linear and options.max_tokens >= LADDER[-1] else found


def ladder(options: Options, linear: bool = False) -> list[int]:
    """The lengths that a leg is to run now: all of `rungs`, or ``options.only`` if that is one of them."""
    asked = _ASKED.get()
    if asked is not None:
        asked.append(linear)
    return [n for n in rungs(options, linear) if options.only in (None, n)]


def up_the_ladder(
    longest: int | None = None, why: str = "", linear: bool = False, chosen: bool = False
) -> Callable[[Callable[..., Iterable[Evidence]]], Leg]:
    """A leg from a check at one length: run at each length allowed, not run above ``longest`` and in bfloat16.

    The check takes the length, the options and, if ``chosen``, the theory's assumptions.
    """

    def make(check: Callable[..., Iterable[Evidence]]) -> Leg:
        @wraps(check)
        def leg(assumptions: Any, options: Options) -> list[Evidence]:
            found: list[Evidence] = []
            for n in ladder(options, linear):
                if options.dtype == "bfloat16":
                    reason = (
                        "in bfloat16 rounding the prepared keys moves scores by about one: no bound rejects"
                    )
                    found.append(skipped(n, options, reason))
                elif longest and n > longest:
                    found.append(skipped(n, options, why))
                else:
                    found += check(n, options, assumptions) if chosen else check(n, options)
            return found

        return leg

    return make


def skipped(n: int, options: Options, why: str) -> Evidence:
    """Evidence of a tensor check that was not run at a length."""
    return Evidence(
        "tensor", "certified-float", None, tokens=n, dtype=options.dtype, device=options.device, not_run=why
    )


@contextmanager
def listening() -> Iterator[list[bool]]:
    """Hears whether what runs inside asks for its lengths, and whether at linear cost."""
    asked: list[bool] = []
    before = _ASKED.set(asked)
    try:
        yield asked
    finally:
        _ASKED.reset(before)
