"""The lengths of tensor checks, and how a long run of them is cut into parts that are kept.

A climbing leg is called once for each length, and what it finds there is stored as soon as it ends, by
content: claims with the same leg share it, a run that was killed goes on behind the last finished pair of leg
and length, and a run with a larger ``--max-tokens`` computes the new lengths only.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from checks.claim import CLAIMS, Leg, Options
from checks.evidence import Evidence, digest
from checks.leg import LADDER, LINEAR, Climbing, Named, lengths, loaded, timed
from checks.run.catalogue import edited
from checks.run.content import data, elsewhere, engine_version, source, values_of
from checks.run.store import read_json, write_atomically
from checks.tensors.core.errors import TensorError
from derivations.calculus.term import whole

# Float64 matrices of tokens x 64 that the hungriest check holds at once, measured at 32,768 tokens; linear
# ones need fewer.
MATRICES, LINEAR_MATRICES = 100, 40


def require_memory(max_tokens: int, device: Any, available: int | None = None) -> None:
    """Raises TensorError if the tensor checks up to this length would not fit the device's memory, by
    an estimate.
    """
    import torch

    from checks.tensors.measure.memory import GIB, available_bytes

    needed = max_tokens * MATRICES
    if max_tokens >= LADDER[-1]:
        needed = max(needed, LINEAR * LINEAR_MATRICES)
    needed *= 64 * 8
    free = available_bytes(torch.device(device)) if available is None else available
    if needed > free:
        raise TensorError(
            f"tensor checks up to {max_tokens} tokens need about {needed / GIB:.2g} GiB and "
            f"{free / GIB:.2g} GiB are available; use a smaller --max-tokens"
        )


# ---------------------------------------------------------------- parts


@dataclass(frozen=True)
class Part:
    """What a leg found at one length."""

    evidence: list[Evidence]
    seconds: float
    stored: bool = False


@dataclass(frozen=True)
class Parts:
    """Finished parts in a folder, one file each, by content. ``folder`` None keeps nothing."""

    folder: Path | None = None

    def get(self, name: str) -> Part | None:
        """The stored part, or None; a file that cannot be read or was changed counts as none, and is
        written anew.
        """
        try:
            if not self.folder:
                return None
            stored = read_json(self.folder / f"{name}.json")
            data = stored["part"]
            if stored["digest"] != digest(name, data):
                return None
            return Part([Evidence(**e) for e in data["evidence"]], data["seconds"], True)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def put(self, name: str, part: Part) -> None:
        """Stores a part so that readers see all of it or none.

        What cannot be stored is only lost to a later run; the record that needs the same disk says so.
        """
        if self.folder is not None:
            data = {"seconds": part.seconds, "evidence": [asdict(e) for e in part.evidence]}
            with suppress(OSError):
                stored = {"digest": digest(name, data), "part": data}
                write_atomically(self.folder / f"{name}.json", json.dumps(stored, ensure_ascii=False))


@dataclass(frozen=True)
class Climb:
    """A leg of a claim under assumptions, with the place of its parts; claims that name the same leg
    share them.
    """

    claim: str
    index: int
    leg: Leg
    assumptions: Any
    options: Options
    parts: Parts = field(default_factory=Parts)

    @property
    def linear(self) -> bool:
        """Whether its cost is."""
        return _climbing(self.leg).linear

    @property
    def reference(self) -> str:
        """Module and name under which the leg is found again; "" for one that is found nowhere, such as a
        lambda, a method of an object, or what a decorator made of a function of that name.
        """
        if isinstance(self.leg, Named):
            return f"{self.leg.module}.{self.leg.name}"
        check = _check(self.leg)
        module, name = getattr(check, "__module__", ""), getattr(check, "__qualname__", "")
        found = getattr(sys.modules.get(module), name, None)
        return f"{module}.{name}" if found is not None and found in (self.leg, check) else ""

    def content(self) -> str:
        """What a part depends on besides its length; a leg with a name serves all claims alike. Parts of one
        without are not kept: nobody can tell what it was made with.
        """
        name, module, o = self.reference, self.reference.rpartition(".")[0], self.options
        if not name:  # what it was made with may come from the claim's module
            module = CLAIMS[self.claim].module if self.claim in CLAIMS else ""
            name = f"{self.claim} {self.index}"
        text = [name, source(self.leg), *values_of(_check(self.leg)), elsewhere(), data(module)]
        options = repr((o.dtype, o.device, o.seed))
        return "\x00".join([*text, whole(self.assumptions), options, engine_version(module)])

    @property
    def _keeps(self) -> bool:
        return self.parts.folder is not None and bool(self.reference)

    def name(self, n: int, content: str | None = None) -> str:
        """The name under which the part at n tokens is kept."""
        return hashlib.sha256(f"{content or self.content()}\x00{n}".encode()).hexdigest()[:32]

    def at(self, n: int, content: str | None = None) -> Part:
        """The leg at one length, from the store or run now. What the leg raises is raised."""
        leg = _climbing(self.leg)
        return self._kept(n, lambda: leg.at(n, self.assumptions, self.options), content)

    def all(self) -> list[Evidence]:
        """The evidence at every length; of a leg that does not climb, what it finds once."""
        content = self.content() if self._keeps else ""
        if not isinstance(loaded(self.leg), Climbing):
            once = partial(self.leg, self.assumptions, self.options)
            return self._kept(self.options.max_tokens, once, content).evidence
        return [e for n in lengths(self.options, self.linear) for e in self.at(n, content).evidence]

    def _kept(self, n: int, run: Callable[[], list[Evidence]], content: str | None) -> Part:
        """The part from the store or run now."""
        name = self.name(n, content) if self._keeps else ""
        stored = self.parts.get(name) if name else None
        if stored is not None:
            return stored
        started = time.perf_counter()
        part = Part(timed(run), time.perf_counter() - started)
        if name and not edited():
            self.parts.put(name, part)
        return part


def _check(leg: Leg) -> Any:
    found = loaded(leg)
    return found.check if isinstance(found, Climbing) else found


def _climbing(leg: Leg) -> Climbing:
    found = loaded(leg)
    assert isinstance(found, Climbing)
    return found


# ---------------------------------------------------------------- all legs, short lengths first


@dataclass
class Forecast:
    """Seconds that unfinished parts will take, from the finished ones of the same leg at shorter lengths.

    A power law through the last two lengths of a leg. Costs that do not grow hide some of the growth, so the
    exponent is raised by a quarter, to 2 at most (1 for a leg of linear cost); with one length it is the mean
    of the other legs.
    """

    first: float = 1.0  # seconds of a check at the shortest length, before any has been measured
    usual: float = 1.25  # exponent before any leg has two lengths
    linear: frozenset[str] = frozenset()
    taken: dict[str, list[tuple[int, float]]] = field(default_factory=dict)

    def learn(self, leg: str, n: int, part: Part) -> None:
        """A part has ended."""
        self.taken.setdefault(leg, []).append((n, max(part.seconds, 1e-3)))

    def _exponent(self, leg: str) -> float | None:
        seen = self.taken.get(leg, [])
        if len(seen) < 2:
            return None
        (one, short), (two, long) = seen[-2:]
        return min(max(math.log(long / short) / math.log(two / one), 0) + 0.25, self._most(leg))

    def _most(self, leg: str) -> int:
        return 1 if leg in self.linear else 2

    def seconds(self, leg: str, n: int) -> float:
        """Of this leg at n tokens; of a leg never seen, the mean of the others at the shortest length,
        grown.
        """
        known = [e for e in map(self._exponent, self.taken) if e is not None]
        usual = sum(known) / len(known) if known else self.usual
        if leg in self.taken:
            seen, seconds = self.taken[leg][-1]
            exponent = self._exponent(leg)
            return seconds * (n / seen) ** (min(usual, self._most(leg)) if exponent is None else exponent)
        firsts = [each[0][1] for each in self.taken.values()]
        return (sum(firsts) / len(firsts) if firsts else self.first) * (n / LADDER[0]) ** usual


@dataclass(frozen=True)
class Progress:
    """Where a climb stands after a part: its claim and length, parts found or run of all, seconds that
    are left.
    """

    claim: str
    tokens: int
    done: int
    parts: int
    seconds_left: float


# legs of one length, in any order, each with its part; None: the leg raised, which its claim's record will
# say
Runner = Callable[[list[Climb], int], Iterable[tuple[Climb, Part | None]]]


def ascend(climbs: list[Climb], run: Runner, workers: int = 1) -> Iterator[Progress]:
    """Every leg at every length, the short lengths of all before the long ones; legs that claims share
    run once.
    """
    legs = {c.content(): c for c in climbs}
    linear = frozenset(name for name, c in legs.items() if c.linear)
    forecast, done = Forecast(linear=linear), 0
    every = lengths(climbs[0].options, linear=True) if climbs else []
    todo = {n: set(legs) if n < LINEAR else set(linear) for n in every}
    for n in every:
        for climb, part in run([legs[name] for name in legs if name in todo[n]], n):
            name = next(name for name in todo[n] if legs[name] == climb)
            todo[n].discard(name)
            done += 1
            if part is None:  # what raised is not tried at longer lengths
                for later in todo.values():
                    later.discard(name)
            else:
                forecast.learn(name, n, part)
            left = [(x, m) for m, names in todo.items() for x in names]
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
