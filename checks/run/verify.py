"""Judging claims: engines, legs, verdict, record; cached by content, in parallel, safe against being killed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from checks.claim import CLAIMS, ROOT, Claim, Options
from checks.engine.finding import Finding, Inconsistent
from checks.engine.judge import judge
from checks.engine.printing import part_latex, with_letters
from checks.engine.verdict import FAILED, VERDICTS, verdict
from checks.evidence import Evidence, Mutants, Record
from checks.run.content import key
from checks.run.lengths import Climb, Part, Parts, Progress, ascend, attempt, names_ladder, one_by_one
from checks.run.registry import load
from checks.run.repair import repair_of
from checks.run.severity import failures, gravest, heirs
from checks.run.store import digest, write_atomically
from checks.run.theories import THEORIES
from checks.statement import Statement, kind, parts

STOPPED = " stopped with "
"""How the reason of a leg that raised an exception reads."""


class DamagedCache(RuntimeError):
    """A cache that cannot be written."""


def examine(
    claim: Claim, assumptions: Any, options: Options, quick: bool = False, parts: Parts | None = None
) -> Record:
    """Judge one claim under assumptions and write its record. ``quick`` leaves out mutants and further legs.

    ``parts`` keeps what legs find at single lengths.
    """
    started = time.perf_counter()
    record = _blank(claim)
    try:
        _judge(claim, assumptions, options, quick, parts, record)
    except Inconsistent as error:
        record.verdict, record.notes = "inconsistent", f"{record.notes}\n\n{error}".strip()
    except (
        Exception
    ) as error:  # one claim that an engine cannot digest must not take the other claims' results with it
        stopped = f"The engine stopped with {type(error).__name__}: {error}"
        record.verdict, record.notes = "unsettled", f"{record.notes}\n\n{stopped}".strip()
    record.seconds = round(time.perf_counter() - started, 3)
    return record


def _judge(
    claim: Claim, assumptions: Any, options: Options, quick: bool, parts: Parts | None, record: Record
) -> None:
    printed = claim.literal(assumptions) if claim.literal else None
    literal = judge(printed, options.seed, not quick) if printed is not None else None
    corrected, repair = None, "none"
    if literal is not None and literal.holds is False and claim.corrected:
        statement = claim.corrected(assumptions)
        corrected, repair = judge(statement, options.seed, not quick), repair_of(printed, statement)
    standing = corrected if corrected is not None else literal
    if standing is not None and not quick:
        standing.evidence += _further(claim, assumptions, options, parts, standing.holds is False)
    _fill(record, claim, assumptions, literal, corrected)
    record.literal_holds = literal.holds if literal else None
    if repair == "idle":
        record.notes = f"{record.notes}\n\nThe correction repairs nothing of what is printed.".strip()
    record.verdict = verdict(
        claim.role,
        record.literal_holds,
        literal is not None and literal.proved,
        corrected.holds if corrected is not None else None,
        repair,
    )
    record.severity = gravest(record)


def _further(
    claim: Claim, assumptions: Any, options: Options, parts: Parts | None, failed: bool
) -> list[Evidence]:
    """What the legs find, or of a statement of which no version stands, its ``failing`` legs.

    A leg that raises an exception ends alone: it is recorded as not run.
    """
    runs: list[tuple[str, Callable[[], list[Evidence]]]] = []
    if failed:
        runs = [(_name(leg), partial(leg, assumptions, options)) for leg in claim.failing]
    else:
        runs = [(_name(climb.leg), climb.all) for climb in climbs(claim, assumptions, options, parts)]
    found: list[Evidence] = []
    for name, run in runs:
        try:
            found += run()
        except Inconsistent:
            raise
        except Exception as error:
            why = f"{name}{STOPPED}{type(error).__name__}: {error}"
            found.append(not_run("exact", "measured", why))
    return found


def _name(leg: Any) -> str:
    return getattr(leg, "__name__", type(leg).__name__)


def climbs(claim: Claim, assumptions: Any, options: Options, parts: Parts | None = None) -> list[Climb]:
    """The legs of a claim, with the place where their parts are kept."""
    return [
        Climb(claim.id, i, leg, assumptions, options, parts or Parts()) for i, leg in enumerate(claim.legs)
    ]


def _blank(claim: Claim) -> Record:
    return Record(
        id=claim.id,
        paper=claim.paper,
        reference=claim.reference,
        title=claim.title,
        kind="",
        verdict="unsettled",
        literal_holds=None,
        assumptions=[a.name for a in claim.assumes],
        rests_on=list(claim.rests_on),
        severity=None,
        correction=None,
        counterexample=None,
        evidence=[],
        mutants=Mutants(),
        words=claim.words,
        where=claim.where,
        knobs=[a.knob for a in claim.assumes if a.knob],
        notes=claim.notes if not claim.reason else f"{claim.notes}\n\n{claim.reason}".strip(),
        source=claim.source,
        command=f"attest verify {claim.id}",
    )


def _fill(
    record: Record, claim: Claim, assumptions: Any, literal: Finding | None, corrected: Finding | None
) -> None:
    if claim.literal is None or literal is None:
        return
    statement = claim.literal(assumptions)
    repair = claim.corrected(assumptions) if claim.corrected else None
    record.kind = kind(statement)
    record.statement = {"latex": latex(statement), "words": claim.words}
    both = corrected is not None and repair is not None
    record.evidence = [_worded(e, "as printed: " if both else "") for e in literal.evidence]
    record.steps, record.mutants = list(literal.steps), literal.mutants
    if literal.holds is False:
        pieces = parts(statement)
        failing = [pieces[n] for n in literal.failing] or pieces  # a leg speaks of the whole
        record.failures = failures(failing, statement, repair)
    if literal.counterexample:
        record.counterexample = with_letters(literal.counterexample)
    if corrected is not None and repair is not None:
        fixed = latex(repair)
        record.correction = fixed
        record.corrected = {"latex": fixed, "words": claim.correction_words}
        record.evidence += [_worded(e, "as corrected: ") for e in corrected.evidence]
        record.steps = corrected.steps
        record.mutants = corrected.mutants
    if claim.derivation:
        derived = [
            {
                "title": s.title,
                "latex": s.latex,
                "reason": s.reason,
                "grade": "exact-symbolic",
                "passed": s.checked,
            }
            for s in claim.derivation(assumptions)
        ]
        record.steps = derived + record.steps


def _worded(evidence: Evidence, which: str) -> Evidence:
    """Evidence that says which version it is about, with Greek letters for their LaTeX names."""
    return replace(evidence, detail=which + with_letters(evidence.detail))


def latex(statement: Statement) -> str:
    """A statement as displayed mathematics, one line for each part."""
    lines = [part_latex(p) for p in parts(statement)]
    if len(lines) == 1:
        return lines[0]
    return r"\begin{gathered}" + r" \\[4pt] ".join(lines) + r"\end{gathered}"


# ---------------------------------------------------------------- cache


class Cache:
    """Records by content key, one file each, written atomically: a killed run leaves whole entries or none.

    An entry carries a digest of its key and its record. One that cannot be read, or that was changed since it was written,
    is not believed: it is renamed, its name is added to ``set_aside``, and its claim is judged again.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(os.environ.get("ATTEST_CACHE", ROOT / ".attest" / "cache"))
        self.set_aside: list[str] = []

    def get(self, name: str) -> Record | None:
        """The stored record, or None where there is none that can be believed."""
        path = self.folder / f"{name}.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            record = Record.from_json(data["record"])
            if data["digest"] != digest(name, data["record"]) or record.verdict not in VERDICTS:
                raise ValueError("changed since it was written")
            return record
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            with suppress(OSError):  # a folder that cannot be written keeps it, and it is still not believed
                path.replace(path.with_suffix(".damaged"))
            self.set_aside.append(f"{path.name} ({error})")
            return None

    def put(self, name: str, record: Record) -> None:
        """Store a record. Raises DamagedCache where the folder cannot be written.

        A record of which a leg stopped with an error is not kept: the next run tries again.
        """
        if any(STOPPED in (e.not_run or "") for e in record.evidence):
            return
        data = record.to_json()
        entry = {"digest": digest(name, data), "record": data}
        try:
            write_atomically(self.folder / f"{name}.json", json.dumps(entry, ensure_ascii=False))
        except OSError as error:
            raise self.unwritable(error) from None

    def unwritable(self, error: OSError) -> DamagedCache:
        """The complaint about a folder that cannot be written."""
        return DamagedCache(
            f"cannot write to the cache {self.folder} ({error.strerror}); set ATTEST_CACHE, or run with --no-cache"
        )


# ---------------------------------------------------------------- many claims


def assumptions_for(claim: Claim, settings: dict[str, Any]) -> Any:
    if not claim.theory:
        return None
    return claim.assumptions(settings.get(claim.theory) or THEORIES[claim.theory].defaults)


def verify(
    claims: list[Claim],
    options: Options,
    *,
    settings: dict[str, Any] | None = None,
    cache: Cache | None = None,
    workers: int = 1,
    quick: bool = False,
    climbing: Callable[[Progress | None], None] = lambda _: None,
) -> Iterator[tuple[Record, bool]]:
    """Judge claims, yielding each record as it is done and whether it came from the cache.

    Beyond the usual lengths the tensor checks of all claims run first, short lengths before long ones; ``climbing`` is told
    of each part that ends, and of the end by None. Raises DamagedCache.
    """
    settings = settings or {}
    todo = []
    for claim in claims:
        name = key(claim, assumptions_for(claim, settings), options, quick)
        stored = cache.get(name) if cache else None
        if stored is not None:
            stored.source = claim.source
            yield stored, True
        else:
            todo.append((claim, name))
    with _parts(cache) as parts, _pool(min(workers, len(todo))) as pool:
        work = _Work(settings, options, quick, parts)
        if options.max_tokens > Options.max_tokens and not quick:
            found = [
                c
                for claim, _ in todo
                for c in climbs(claim, assumptions_for(claim, settings), options, parts)
            ]
            run = partial(_parts_run, pool, work) if pool else one_by_one
            for progress in ascend([c for c in found if names_ladder(c.leg)], run, max(1, workers)):
                climbing(progress)
            climbing(None)
        for record, name in _run(todo, work, pool):
            if cache:
                cache.put(name, record)
            yield record, False


@dataclass(frozen=True)
class _Work:
    """What a process needs besides a claim's id."""

    settings: dict[str, Any]
    options: Options
    quick: bool
    parts: Parts

    def record(self, id: str) -> Record:
        claim = load()[id]
        assumptions = assumptions_for(claim, self.settings)
        return examine(claim, assumptions, self.options, self.quick, self.parts)

    def part(self, id: str, index: int, n: int) -> Part | None:
        claim = load()[id]
        assumptions = assumptions_for(claim, self.settings)
        return attempt(climbs(claim, assumptions, self.options, self.parts)[index], n)


@contextmanager
def _parts(cache: Cache | None) -> Iterator[Parts]:
    """Where parts are kept: in the cache; without one, in a folder that goes with the run. Raises DamagedCache."""
    if cache is not None:
        folder = cache.folder / "parts"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cache.unwritable(error) from None
        yield Parts(folder)
        return
    with TemporaryDirectory(prefix="attest-") as temporary:
        yield Parts(Path(temporary))


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Fresh processes, or None for one worker, which is this process."""
    if workers <= 1:
        yield None
        return
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool


def _run(
    todo: list[tuple[Claim, str]], work: _Work, pool: ProcessPoolExecutor | None
) -> Iterator[tuple[Record, str]]:
    if pool is None:
        for claim, name in todo:
            yield work.record(claim.id), name
        return
    jobs = {pool.submit(work.record, claim.id): name for claim, name in todo}
    for job in as_completed(jobs):
        yield job.result(), jobs[job]


def _parts_run(
    pool: ProcessPoolExecutor, work: _Work, climbing: list[Climb], n: int
) -> Iterator[tuple[Climb, Part | None]]:
    jobs = {pool.submit(work.part, c.claim, c.index, n): c for c in climbing}
    for job in as_completed(jobs):
        yield jobs[job], job.result()


def link(records: list[Record], recorded: Mapping[str, str] | None = None) -> list[Record]:
    """Say on each record which failing claims it rests on, directly or through others, and which that rest on it fail too.

    ``recorded`` has the verdicts of claims that are not among the records.
    """
    verdicts = {**(recorded or {}), **{r.id: r.verdict for r in records}}
    parents = {id: claim.rests_on for id, claim in CLAIMS.items() if id in verdicts}
    parents |= {r.id: tuple(r.rests_on) for r in records}

    def weak(id: str, seen: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for parent in parents.get(id, ()):
            if parent in seen or parent not in verdicts:
                continue
            if verdicts[parent] in FAILED:
                found.add(parent)
            found |= weak(parent, seen | {parent})
        return found

    for record in records:
        record.weakened_by = sorted(weak(record.id, frozenset([record.id])))
        record.inherited_by = heirs(record.id, parents, verdicts)
        record.severity = gravest(record)
    return records


def not_run(leg: str, grade: str, why: str) -> Evidence:
    """Evidence of a leg that could not run."""
    return Evidence(leg, grade, None, not_run=why)
