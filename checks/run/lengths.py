"""The lengths of tensor checks, and how a long run of them is cut into parts that are kept.

A leg that loops over `ladder(options)` climbs: it is called once for each length, with ``options.only`` set to it, and what it
finds at a length is stored as soon as it ends. A run that was killed therefore goes on behind the last finished pair of leg
and length, and a run with a larger ``--max-tokens`` computes the new lengths only. Nothing is declared: a leg is known to climb
because it asked for its lengths.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import CodeType
from typing import Any

from checks.claim import CLAIMS, Leg, Options
from checks.evidence import Evidence
from checks.leg import LADDER, LINEAR, listening, rungs
from checks.run.content import engine_version, source
from checks.run.store import digest, write_atomically
from checks.tensors.core.errors import TensorError


def names_ladder(leg: Leg) -> bool:
    """Whether a leg's code mentions `ladder`, or that of a function of the papers' packages that it names.

    Tells, without running anything, which legs may climb: the others may need solvers that a GPU machine lacks.
    """
    seen: set[int] = set()
    todo: list[Any] = [leg]
    while todo:
        function = todo.pop()
        if not inspect.isfunction(function) or id(function) in seen:
            continue
        seen.add(id(function))
        names = _names(function.__code__)
        if "ladder" in names:
            return True
        named = [function.__globals__.get(name, sys.modules.get(name)) for name in names]
        modules = [m for m in named if inspect.ismodule(m) and m.__name__.startswith("checks.")]
        named += [getattr(module, name, None) for module in modules for name in names]
        todo += [f for f in named if inspect.isfunction(f) and f.__module__.startswith("checks.")]
    return False


def _names(code: CodeType) -> list[str]:
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [*code.co_names, *(name for c in inner for name in _names(c))]


# Float64 matrices of tokens x 64 that the hungriest check holds at once, measured at 32,768 tokens; linear ones need fewer.
MATRICES, LINEAR_MATRICES = 100, 40


def require_memory(max_tokens: int, device: Any, available: int | None = None) -> None:
    """Raises TensorError if the tensor checks up to this length would not fit the device's memory, by an estimate."""
    import torch

    from checks.tensors.measure.memory import GIB, available_bytes

    needed = max_tokens * MATRICES
    if max_tokens >= LADDER[-1]:
        needed = max(needed, LINEAR * LINEAR_MATRICES)
    needed *= 64 * 8
    free = available_bytes(torch.device(device)) if available is None else available
    if needed > free:
        raise TensorError(
            f"tensor checks up to {max_tokens} tokens need about {needed / GIB:.2g} GiB and {free / GIB:.2g} GiB are "
            f"available; use a smaller --max-tokens"
        )


# ---------------------------------------------------------------- parts


@dataclass(frozen=True)
class Part:
    """What a leg found at one length; ``climbs`` is False for a leg that never asked for its lengths."""

    evidence: list[Evidence]
    climbs: bool
    linear: bool
    seconds: float
    stored: bool = False


@dataclass(frozen=True)
class Parts:
    """Finished parts in a folder, one file each, by content. ``folder`` None keeps nothing."""

    folder: Path | None = None

    def get(self, name: str) -> Part | None:
        """The stored part, or None; a file that cannot be read or was changed counts as none, and is written anew."""
        try:
            if not self.folder:
                return None
            stored = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
            data = stored["part"]
            if stored["digest"] != digest(name, data):
                return None
            return Part(
                [Evidence(**e) for e in data["evidence"]], True, data["linear"], data["seconds"], True
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, name: str, part: Part) -> None:
        """Stores a part so that readers see all of it or none.

        What cannot be stored is only lost to a later run; the record that needs the same disk says so.
        """
        if self.folder is not None:
            data = {
                "linear": part.linear,
                "seconds": part.seconds,
                "evidence": [asdict(e) for e in part.evidence],
            }
            with suppress(OSError):
                stored = {"digest": digest(name, data), "part": data}
                write_atomically(self.folder / f"{name}.json", json.dumps(stored, ensure_ascii=False))


def known_as(leg: Leg) -> str:
    """Module and name under which a leg's module holds it, a function's result too; "" for one that no module names."""
    module = sys.modules.get(getattr(leg, "__module__", ""))
    names = (name for name, value in vars(module).items() if value is leg) if module else ()
    return next((f"{leg.__module__}.{name}" for name in names), "")


@dataclass(frozen=True)
class Climb:
    """One leg of a claim under assumptions, with the place of its parts."""

    claim: str
    index: int
    leg: Leg
    assumptions: Any
    options: Options
    parts: Parts = field(default_factory=Parts)

    def content(self) -> str:
        """What a part depends on besides its length; legs that are functions of a module serve all claims alike."""

        module, name = getattr(self.leg, "__module__", ""), known_as(self.leg)
        if not name and self.claim in CLAIMS:
            module = CLAIMS[self.claim].module  # what such a leg was made with may come from there
        o = self.options
        return "\x00".join(
            [
                name or f"{self.claim} {self.index}",
                source(self.leg),
                repr(self.assumptions),
                repr((o.dtype, o.device, o.seed)),
                engine_version(module),
            ]
        )

    def name(self, n: int, content: str | None = None) -> str:
        """The name under which the part at n tokens is kept."""
        return hashlib.sha256(f"{content or self.content()}\x00{n}".encode()).hexdigest()[:32]

    def at(self, n: int, content: str | None = None) -> Part:
        """The leg at one length, from the store or run now. What the leg raises is raised."""
        name = self.name(n, content)
        stored = self.parts.get(name)
        if stored is not None:
            return stored
        started = time.perf_counter()
        with listening() as asked:
            found = list(self.leg(self.assumptions, replace(self.options, only=n)))
        part = Part(found, bool(asked), any(asked), time.perf_counter() - started)
        if part.climbs:
            self.parts.put(name, part)
        return part

    def all(self) -> list[Evidence]:
        """The evidence at every length; that of a leg that does not climb, once."""
        first, content = rungs(self.options)[0], self.content() if self.parts.folder else ""
        part = self.at(first, content)
        found = list(part.evidence)
        for n in rungs(self.options, part.linear)[1:] if part.climbs else []:
            found += self.at(n, content).evidence
        return found


# ---------------------------------------------------------------- all legs, short lengths first


@dataclass
class Forecast:
    """Seconds that unfinished parts will take, from the finished ones of the same leg at shorter lengths.

    A power law through the last two lengths of a leg. Costs that do not grow hide some of the growth, so the exponent is raised
    by a quarter, to 2 at most (1 for a leg of linear cost); with one length it is the mean of the other legs.
    """

    first: float = 1.0  # seconds of a check at the shortest length, before any has been measured
    usual: float = 1.25  # exponent before any leg has two lengths
    taken: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)

    def learn(self, leg: str, n: int, part: Part) -> None:
        """A part has ended."""
        self.taken.setdefault(leg, []).append((n, max(part.seconds, 1e-3)))
        self.most[leg] = 1 if part.linear else 2

    def linear(self, leg: str) -> bool:
        return self.most.get(leg) == 1

    def _exponent(self, leg: str) -> float | None:
        seen = self.taken.get(leg, [])
        if len(seen) < 2:
            return None
        (one, short), (two, long) = seen[-2:]
        return min(max(math.log(long / short) / math.log(two / one), 0) + 0.25, self.most[leg])

    def seconds(self, leg: str, n: int) -> float:
        """Of this leg at n tokens; of a leg never seen, the mean of the others at the shortest length, grown."""
        known = [e for e in map(self._exponent, self.taken) if e is not None]
        usual = sum(known) / len(known) if known else self.usual
        if leg in self.taken:
            seen, seconds = self.taken[leg][-1]
            exponent = self._exponent(leg)
            return seconds * (n / seen) ** (min(usual, self.most[leg]) if exponent is None else exponent)
        firsts = [each[0][1] for each in self.taken.values()]
        return (sum(firsts) / len(firsts) if firsts else self.first) * (n / LADDER[0]) ** usual


@dataclass(frozen=True)
class Progress:
    """Where a climb stands after a part: its claim and length, parts found or run of all, seconds that are left."""

    claim: str
    tokens: int
    done: int
    parts: int
    seconds_left: float


# legs of one length, in any order, each with its part; None: the leg raised, which its claim's record will say
Runner = Callable[[list[Climb], int], Iterable[tuple[Climb, Part | None]]]


def ascend(climbs: list[Climb], run: Runner, workers: int = 1) -> Iterator[Progress]:
    """Every leg at every length, the short lengths of all before the long ones; legs that claims share run once."""
    legs = {c.content(): c for c in climbs}
    forecast, done = Forecast(), 0
    lengths = rungs(climbs[0].options, linear=True) if climbs else []
    for n in lengths:
        here = {name: c for name, c in legs.items() if n < LINEAR or forecast.linear(name)}
        waiting = dict(here)
        for climb, part in run(list(here.values()), n):
            name = next(name for name, c in waiting.items() if c == climb)
            del waiting[name]
            done += 1
            if part is None or not part.climbs:
                del legs[name]
            else:
                forecast.learn(name, n, part)
            later = [(x, m) for m in lengths if m > n for x in legs if m < LINEAR or forecast.linear(x)]
            left = [(x, n) for x in waiting] + later
            seconds = sum(forecast.seconds(x, m) for x, m in left) / workers
            yield Progress(climb.claim, n, done, done + len(left), seconds)


def attempt(climb: Climb, n: int) -> Part | None:
    """The part, or None where the leg raised."""
    try:
        return climb.at(n)
    except (ArithmeticError, ValueError, KeyError, TypeError, RuntimeError):
        return None


def one_by_one(climbs: list[Climb], n: int) -> Iterator[tuple[Climb, Part | None]]:
    """The `Runner` of this process."""
    for climb in climbs:
        yield climb, attempt(climb, n)
