"""What is asked for in Python or a notebook: derivations under other assumptions, what changes then, a claim.

Each answer shows itself as Markdown with mathematics.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from checks.audit import current
from checks.claim import Options
from checks.evidence import Record, instead
from checks.run import ledger
from checks.run.bounded import derivation
from checks.run.cache import Cache
from checks.run.catalogue import edited
from checks.run.link import link
from checks.run.registry import load, select
from checks.run.theories import theory
from checks.run.verify import changes, verify, why
from derivations.calculus.program import Step

LIMIT = 60
"""Seconds that a claim may take, as on the command line."""
SILENCE = 10
"""Seconds after which what works on many claims says where it is, on standard error."""


@dataclass(frozen=True)
class Derivation:
    """The steps of a theory under some assumptions; ``changed`` are the titles of those that are not the
    paper's.
    """

    theory: str
    assumptions: dict[str, str]
    steps: tuple[Step, ...]
    changed: frozenset[str]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __repr__(self) -> str:
        return f"Derivation({self.theory}: {len(self.steps)} steps, {len(self.changed)} changed)"

    def _repr_markdown_(self) -> str:
        knobs = ", ".join(f"`{name}={value}`" for name, value in self.assumptions.items())
        shown = [
            f"{n}. {'*(changed)* ' if step.title in self.changed else ''}{step._repr_markdown_()}"
            for n, step in enumerate(self.steps, 1)
        ]
        return "\n\n".join([f"Theory `{self.theory}` under {knobs}", *shown])


def derive(name: str, **knobs: str) -> Derivation:
    """The derivation of a theory ("svr", "ksvd", "functional_descent", "energy", or an audit's own) with some
    knobs set, as `attest derive` prints it. Raises BadAssumption, with one line that says what is allowed.
    """
    chosen = theory(name)
    with derivation():
        assumptions = chosen.assumptions(knobs)
        before = {s.title: s.latex for s in chosen.derive(chosen.defaults)}
        steps = tuple(chosen.derive(assumptions))
    changed = frozenset(s.title for s in steps if before.get(s.title) != s.latex)
    return Derivation(name, {k: str(v) for k, v in asdict(assumptions).items()}, steps, changed)


@dataclass(frozen=True)
class Changes:
    """Claims that a change of assumptions touches: their records before and after it, in pairs."""

    records: tuple[tuple[Record, Record], ...]

    def __iter__(self) -> Iterator[tuple[Record, Record]]:
        return (pair for pair in self.records if pair[0].verdict != pair[1].verdict)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        told = "; ".join(f"{old.id}: {old.verdict} -> {new.verdict}" for old, new in self)
        return f"Changes({told or 'none'}; {len(self.records)} claims touched)"

    def _repr_markdown_(self) -> str:
        head = f"{len(self)} of the {len(self.records)} claims that this touches change their verdict."
        if not len(self):
            return head
        rows = [
            f"| {old.id} | {old.verdict} | {new.verdict} | {why(new)[:160].replace('|', chr(92) + '|')} |"
            for old, new in self
        ]
        return "\n".join([head, "", "| claim | before | after | why |", "|---|---|---|---|", *rows])


def what_changes(name: str, **knobs: str) -> Changes:
    """The claims whose verdict another assumption of a theory changes, as `attest derive` lists them.
    What takes long says how far it is, on standard error. Raises BadAssumption.
    """
    return touched(name, knobs, Options())


def touched(name: str, knobs: dict[str, str], options: Options) -> Changes:
    """The same, compared with records that were made with these options. Raises BadAssumption."""
    settings = {name: theory(name).assumptions(knobs)}
    claims = [c for c in load().values() if c.theory == name]
    running = _aloud(len(claims))
    found = dict(changes(claims, settings, options, cache=Cache(), running=running, limit=LIMIT))
    _require_as_imported()
    pairs = [tuple(found[c.id].values()) for c in claims if found[c.id]]
    return Changes(tuple((old, new) for old, new in pairs))


@dataclass(frozen=True)
class Shown:
    """A claim and its record, as `attest show` prints it."""

    record: Record

    def __repr__(self) -> str:
        return f"{self.record.id}: {self.record.verdict}"

    def _repr_markdown_(self) -> str:
        r = self.record
        severity = f", {r.severity}" if r.severity else ""
        parts = [f"**{r.id}** ({r.reference}: {r.title}), *{r.verdict}{severity}*", r.words]
        parts += [_display(r.statement.get("latex", "")), r.where]
        if r.counterexample:
            parts.append(f"> {r.counterexample}")
        if r.corrected:
            parts += [f"**{instead(r.verdict)}.** {r.corrected['words']}", _display(r.corrected["latex"])]
        parts += [
            f"{n}. **{s['title']}.** {s['reason']}\n\n{_display(s['latex'])}"
            for n, s in enumerate(r.steps, 1)
        ]
        return "\n\n".join(part for part in parts if part)


def _require_as_imported() -> None:
    """Warn where a file says something else now than what was judged."""
    if path := edited():
        told = "restart Python to judge what it says now; nothing of this is kept"
        warnings.warn(f"{path} was changed after it was imported: {told}", stacklevel=4)


def _aloud(total: int) -> Callable[[list[str]], None]:
    """Is told of each claim before it is judged, and says so now and then."""
    said, done = time.monotonic(), -1

    def running(ids: list[str]) -> None:
        nonlocal said, done
        done += 1
        if time.monotonic() - said > SILENCE:
            said = time.monotonic()
            print(f"judged {done} of {total}; now {', '.join(ids)}", file=sys.stderr, flush=True)

    return running


def _display(latex: str) -> str:
    return f"$$ {latex} $$" if latex else ""


def show(id: str) -> Shown:
    """One claim, judged or from the cache. Raises UnknownClaim."""
    return Shown(_judged(id)[0])


def judged_records(*ids: str) -> list[dict[str, Any]]:
    """The records of claims as `attest export` writes them. Raises UnknownClaim."""
    return [record.to_json() for record in _judged(*ids)]


def _judged(*ids: str) -> list[Record]:
    judging = verify(select([*ids]), Options(), cache=Cache(), running=_aloud(len(ids)), limit=LIMIT)
    found = {r.id: r for r, _ in judging}
    _require_as_imported()
    return link([found[id] for id in ids], ledger.expected())


def recorded_result(experiment: str) -> Path:
    """The file of the recorded result of an experiment ("wang2024/fig3"). Raises FileNotFoundError."""
    path = current().records_folder / "experiments" / f"{experiment}.json"
    if not path.is_file():
        raise FileNotFoundError(f"no result of {experiment} is recorded; see attest experiment --list")
    return path
