"""Judging claims: engines, legs, verdict, record; cached by content, in parallel, safe against being
killed.
"""

from __future__ import annotations

import decimal
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import active_children, get_context, parent_process, util
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from checks.audit import current, use
from checks.claim import Claim, Leg, Options, built, forget
from checks.engine.finding import Finding, Inconsistent
from checks.engine.judge import ENGINES, judge
from checks.engine.printing import part_latex
from checks.engine.verdict import verdict
from checks.evidence import Evidence, Mutants, Record
from checks.kinds.scope import Scoped
from checks.leg import Climbing, loaded, name_of
from checks.run import ledger
from checks.run.bounded import PATIENCE, OutOfTime, Total, WorkerEnded, within
from checks.run.cache import STOPPED, UNJUDGED, Cache
from checks.run.catalogue import edited, note
from checks.run.content import content_of, key, said_under, stopped
from checks.run.lengths import Climb, Part, Parts, Progress, ascend, attempt, one_by_one
from checks.run.link import gravest
from checks.run.reach import written
from checks.run.readings import version_of
from checks.run.registry import load
from checks.run.repair import repair_of
from checks.run.severity import failures
from checks.run.theories import theory
from checks.statement import Definition, Statement, kind, leaves, names, parts
from derivations.calculus.unicode import unicode_math, with_letters
from derivations.theories.theory import NoForm


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
    except NoForm as error:
        record.verdict = "unsettled"
        record.notes = f"{record.notes}\n\nUnder these assumptions nothing is said: {error}".strip()
    except (Exception, SystemExit) as error:
        # one claim that an engine cannot digest must not take the other claims' results with it
        stopped = f"The engine stopped with {_said(error)}"
        record.verdict, record.notes = "unsettled", f"{record.notes}\n\n{stopped}".strip()
        if not quick:  # under a changed knob a statement may well be none
            record.evidence.append(not_run("exact", "measured", f"{UNJUDGED}{_said(error)}"))
    record.seconds = round(time.perf_counter() - started, 3)
    return record


def _judge(
    claim: Claim, assumptions: Any, options: Options, quick: bool, parts: Parts | None, record: Record
) -> None:
    printed = built(claim.literal, assumptions) if claim.literal else None
    literal = judge(printed, options.seed, not quick) if printed is not None else None
    corrected, repair = None, "none"
    if literal is not None and literal.holds is False and claim.corrected:
        statement = built(claim.corrected, assumptions)
        corrected = judge(statement, options.seed, not quick)
        # of a correction that fails itself this is said, and not which sides it keeps
        repair = repair_of(printed, statement, bool(claim.instead) or corrected.holds is False)
        if corrected.mutants.tried and not corrected.mutants.killed:
            repair = "idle"  # any version of it holds: it says nothing
        if repair == "idle" and assumptions != assumptions_for(claim, {}):
            corrected, repair = None, "none"  # it was written for what the paper assumes
    standing = None if quick else corrected if corrected is not None else literal
    failed = standing is not None and standing.holds is False
    if standing is not None:
        standing.declared = _further(claim, assumptions, options, parts, failed)
    elif not quick:  # no statement: what legs find stands for itself
        record.evidence = [e for leg in _further(claim, assumptions, options, parts, failed) for e in leg]
    _fill(record, claim, assumptions, literal, corrected)
    if printed is None and claim.role != "empirical":
        record.notes = f"{record.notes}\n\nNo statement is given: there is nothing to judge.".strip()
    if standing is not None and failed:
        _check_failing(standing)
    record.literal_holds = literal.holds if literal else None
    if claim.corrected and record.literal_holds and assumptions == assumptions_for(claim, {}):
        record.notes = f"{record.notes}\n\nThe correction is not looked at: what is printed holds.".strip()
    if repair == "idle":
        record.notes = f"{record.notes}\n\nThe correction repairs nothing of what is printed.".strip()
    only_names = printed is not None and all(isinstance(p, Definition | Scoped) for p in leaves(printed))
    record.verdict = verdict(
        "definition" if only_names and claim.role == "claim" else claim.role,
        record.literal_holds,
        literal is not None and literal.proved,
        corrected.holds if corrected is not None else None,
        repair,
    )
    record.severity = gravest(record)


def _check_failing(standing: Finding) -> None:
    """Raise Inconsistent where a leg passes what the engines refute as a whole."""
    if passing := [e for e in standing.beside if e.passed and not e.part]:
        said = "; ".join(f"{e.leg} ({e.grade}): {e.detail}" for e in passing)
        raise Inconsistent(f"refuted, and yet a leg passes: {said}")


def _further(
    claim: Claim, assumptions: Any, options: Options, parts: Parts | None, failed: bool
) -> list[list[Evidence]]:
    """What each leg finds, or of a statement of which no version stands, its ``failing`` legs.

    A leg that raises an exception ends alone: it is recorded as not run. None settles a statement alone.
    """
    found: list[list[Evidence]] = []
    here = os.getpid()
    for index, leg in enumerate(claim.failing if failed else claim.legs):
        try:
            with _put_back():
                pieces = Climb(claim.id, index, leg, assumptions, options, parts or Parts()).all()
            found.append([replace(e, settles=False) for e in pieces])
        except (Inconsistent, OutOfTime, KeyboardInterrupt):
            raise
        except BaseException as error:  # a SystemExit too, which would end the run without a word
            why = f"{name_of(leg)}{STOPPED}{_said(error)}"
            found.append([not_run("exact", "measured", why)])
        if os.getpid() != here:  # a copy of this process, which a leg made and let come back
            os._exit(1)
    return found


@contextmanager
def _put_back() -> Iterator[None]:
    """What a leg changes of its process, as a user's may, is as it was for the next: the working folder, the
    environment, where modules are found, and how decimal, numpy and torch compute.
    """
    folder, environment, path = _folder(), dict(os.environ), list(sys.path)
    numpy: Any = sys.modules.get("numpy")  # these two are not imported for this alone: they take seconds
    torch: Any = sys.modules.get("torch")
    errors = numpy.geterr() if numpy else {}
    dtype, grad = (torch.get_default_dtype(), torch.is_grad_enabled()) if torch else (None, True)
    try:
        with decimal.localcontext():
            yield
    finally:
        if folder:
            os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = path
        if numpy:
            numpy.seterr(**errors)
        if torch := sys.modules.get("torch"):
            torch.set_default_dtype(dtype or torch.float32)
            torch.set_grad_enabled(grad)


def _folder() -> str | None:
    """The working folder, or None where it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _said(error: BaseException) -> str:
    """The name and the words of an error, whose author may have written what fails to give them."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def climbs(claim: Claim, assumptions: Any, options: Options, parts: Parts | None = None) -> dict[int, Climb]:
    """The climbing legs of a claim by their place among its legs, with the place where their parts are
    kept.
    """
    return {
        i: Climb(claim.id, i, leg, assumptions, options, parts or Parts())
        for i, leg in enumerate(claim.legs)
        if _climbs(leg)
    }


def _climbs(leg: Leg) -> bool:
    """Whether a leg climbs; one that needs what is not installed does not, and says so when it is run."""
    try:
        return isinstance(loaded(leg), Climbing)
    except ImportError:
        return False


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
        assumed=[
            {
                "name": a.name,
                "words": a.words,
                "knob": a.knob and f"{claim.theory}.{a.knob}",
                "value": a.value,
            }
            for a in claim.assumes
        ],
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
        declaration=_declaration(claim),
        command=f"{current().command} verify {claim.id}",
    )


def _declaration(claim: Claim) -> str:
    """The text that declares a claim."""
    return written(claim.file, int(claim.source.rpartition(":")[2])) if claim.file else ""


def _readable(mutants: Mutants) -> Mutants:
    """The counts, and the survivors as text: no page can tell their words from their formulas."""
    return replace(mutants, survivors=[unicode_math(name) for name in mutants.survivors])


def _fill(
    record: Record, claim: Claim, assumptions: Any, literal: Finding | None, corrected: Finding | None
) -> None:
    if claim.literal is None or literal is None:
        return
    statement = built(claim.literal, assumptions)
    repair = built(claim.corrected, assumptions) if claim.corrected else None
    record.kind = kind(statement)
    modules = {ENGINES[type(p)].__module__ for p in (*parts(statement), *(parts(repair) if repair else ()))}
    record.engines = sorted(f"{m.replace('.', '/')}.py" for m in modules)
    record.statement = {
        "latex": latex(statement),
        "words": claim.words,
        "content": content_of(statement),
    }
    both = corrected is not None and repair is not None
    found = [*literal.evidence, *literal.beside]
    record.evidence = [_worded(e, "as printed: " if both else "") for e in found]
    record.steps, record.mutants = list(literal.steps), _readable(literal.mutants)
    if literal.holds is False:
        failing = literal.failing or list(range(len(parts(statement))))  # a leg speaks of the whole
        stands = corrected is not None and corrected.holds
        record.failures = failures(failing, statement, repair if stands else None)
    if literal.counterexample:
        record.counterexample = with_letters(literal.counterexample)
    if corrected is not None and repair is not None:
        fixed = latex(repair)
        record.correction = fixed
        words = f"{claim.correction_words} {claim.instead}".strip()
        record.corrected = {"latex": fixed, "words": words, "content": content_of(repair)}
        found = [*corrected.evidence, *corrected.beside]
        record.evidence += [_worded(e, "as corrected: ") for e in found]
        record.steps = corrected.steps
        record.mutants = _readable(corrected.mutants)
    if claim.derivation:
        derived = [
            {
                "title": s.title,
                "latex": s.latex,
                "reason": s.reason,
                "grade": "exact-symbolic",
                "passed": s.checked,
            }
            for s in built(claim.derivation, assumptions)
        ]
        shown = {(s["title"], s["latex"]) for s in derived}  # a dual's engine derives it as well
        record.steps = derived + [s for s in record.steps if (s["title"], s["latex"]) not in shown]


def _worded(evidence: Evidence, which: str) -> Evidence:
    """Evidence that says which version it is about, with Greek letters for their LaTeX names."""
    return replace(evidence, detail=which + with_letters(evidence.detail))


def why(record: Record) -> str:
    """What a quick record fails on, what is not shown or what ended it; else that it holds."""
    return (
        record.counterexample
        or "; ".join(e.detail for e in record.evidence if e.passed is not True)
        or ("holds as printed" if record.literal_holds else record.notes.rpartition("\n\n")[2])
    )


def latex(statement: Statement) -> str:
    """A statement as displayed mathematics, one line for each part."""
    lines = [
        part_latex(p, _called(p, name)) for p, name in zip(parts(statement), names(statement), strict=True)
    ]
    if len(lines) == 1:
        return lines[0]
    return r"\begin{gathered}" + r" \\[4pt] ".join(lines) + r"\end{gathered}"


def _called(part: Any, name: str) -> str:
    """The letter of a part, and of a definition its label: one name may be defined in several cases."""
    return f"{name} {part.label}" if name and isinstance(part, Definition) and part.label else name


def version(claim: Claim) -> str:
    """The hash of what a claim's record says under the papers' assumptions, its verdict taken from the
    expected ones.
    """
    assumptions, verdict = assumptions_for(claim, {}), ledger.expected().get(claim.id)
    stands = claim.corrected if verdict in ("corrected", "refuted") else None
    statement, correction = (latex(built(s, assumptions)) if s else "" for s in (claim.literal, stands))
    return version_of(statement or claim.words, correction, verdict == "refuted")


# ---------------------------------------------------------------- many claims


def assumptions_for(claim: Claim, settings: dict[str, Any]) -> Any:
    if not claim.theory:
        return None
    return claim.assumptions(settings.get(claim.theory) or theory(claim.theory).defaults)


def verify(
    claims: list[Claim],
    options: Options,
    *,
    settings: dict[str, Any] | None = None,
    cache: Cache | None = None,
    workers: int = 1,
    quick: bool = False,
    climbing: Callable[[Progress | None], None] = lambda _: None,
    running: Callable[[list[str]], None] = lambda _: None,
    limit: float | None = None,
    apart: bool = False,
) -> Iterator[tuple[Record, bool]]:
    """Judge claims, yielding each record as it is done and whether it came from the cache.

    Beyond the usual lengths the tensor checks of all claims run first, short lengths before long ones;
    ``climbing`` is told of each part that ends, and of the end by None. ``running`` is told every few seconds
    which claims are being judged. A claim that takes longer than ``limit`` seconds is ended and unsettled.
    ``apart`` leaves one worker, too, a process of its own: a leg that ends it ends no run. Raises
    UnwritableCache.
    """
    forget()
    settings = settings or {}
    todo: list[Claim] = []
    keys: dict[str, str] = {}
    for claim in claims:
        assumptions = assumptions_for(claim, settings)
        said = said_under(claim, assumptions) if quick else None
        keys[claim.id] = name = key(claim, assumptions, options, said)
        stored = cache.get(name, claim.id) if cache else None
        if stored is not None:
            stored.source = claim.source
            yield stored, True
        else:
            todo.append(claim)
    todo.sort(key=lambda claim: -len(claim.legs))  # the long ones first, so that no worker ends alone
    # one that cannot be written is good enough where it has it all
    with _parts(cache if todo else None) as parts, _pool(min(workers, len(todo)), apart) as pool:
        work = _Work(settings, options, quick, parts, limit)
        if options.max_tokens > Options.max_tokens and not quick:
            found = [
                climb
                for claim in todo
                for climb in climbs(claim, assumptions_for(claim, settings), options, parts).values()
            ]
            run = partial(_parts_run, pool, work) if pool else one_by_one
            for progress in ascend(found, run, max(1, workers)):
                climbing(progress)
            climbing(None)
        ids = [claim.id for claim in todo]
        judged = _run(ids, work.judged, lambda id: (_ended(id), ""), pool, workers, running)
        for id, (record, name) in judged:
            if cache and name == keys[id] and not edited():
                cache.put(name, record)
            yield record, False
    if cache and not settings and not quick and not edited():
        note(cache.folder, repr(options), keys)


def changes(
    claims: list[Claim],
    settings: dict[str, Any],
    options: Options,
    *,
    cache: Cache | None = None,
    workers: int = 1,
    running: Callable[[list[str]], None] = lambda _: None,
    limit: float | None = None,
    total: float | None = None,
) -> Iterator[tuple[str, dict[str, Record]]]:
    """For each claim, as it is done, by their keys: its record under the defaults and under changed
    assumptions, without mutants and further legs (under the defaults with them, if that is in the cache);
    nothing where these leave its statements and derivation as they are. What takes longer than ``limit``
    seconds for a claim, or ``total`` for all of them in one process, is ended and unsettled.
    """
    forget()
    in_all = Total(total) if total is not None else None
    before = _Work({}, options, True, Parts(), limit, cache)
    after = _Work(settings, options, True, Parts(), limit, cache, in_all)
    with _pool(min(workers, len(claims))) as pool:
        change = partial(_change, before, after)
        yield from _run([c.id for c in claims], change, _refused, pool, workers, running)


def _change(before: _Work, after: _Work, id: str) -> dict[str, Record]:
    claim = load()[id]
    under = [assumptions_for(claim, work.settings) for work in (before, after)]
    ended, name, changed = "", "before", "after"
    try:
        with after.bounded():
            said = [after.said(claim, a) for a in under]
            if said[0] == said[1]:
                return {}
            name, changed = (key(claim, a, after.options, s) for a, s in zip(under, said, strict=True))
    except OutOfTime as error:  # what it says is not known, so its records have no keys
        ended = str(error)
    whole = key(claim, under[0], before.options)
    known = before.cache.get(whole, id) if before.cache else None
    if ended:
        return {name: known or before.record(id), changed: after.ended(claim, ended)}
    old = {whole: known} if known else {name: before.kept(id, name)}
    return {**old, changed: after.kept(id, changed)}


@dataclass(frozen=True)
class _Work:
    """What a process needs besides a claim's id."""

    settings: dict[str, Any]
    options: Options
    quick: bool
    parts: Parts
    limit: float | None = None
    cache: Cache | None = None
    total: Total | None = None

    @contextmanager
    def bounded(self) -> Iterator[None]:
        """Raises OutOfTime inside, which says how long it was, where a claim, or all of them together, have
        had their time.
        """
        limit, said = self.limit, f"{self.limit or 0:g} seconds"
        if self.total is not None and (limit is None or self.total.left() < limit):
            limit, said = self.total.left(), f"{self.total.seconds:.0f} seconds for all claims"
        try:
            with _no_longer(limit), within(limit):
                yield
        except OutOfTime:
            raise OutOfTime(said) from None

    def ended(self, claim: Claim, said: str) -> Record:
        """What is recorded of a claim that had so much time."""
        record = _blank(claim)
        record.evidence.append(not_run("exact", "measured", f"{UNJUDGED}OutOfTime: {said}"))
        record.notes = f"{record.notes}\n\nIt was ended after {said}.".strip()
        return record

    def said(self, claim: Claim, assumptions: Any) -> str:
        """What the claim says under assumptions; derived once from what its key covers."""
        name = key(claim, assumptions, self.options)
        said = self.cache.said(name) if self.cache else None
        if said is None:
            said = said_under(claim, assumptions)
            if self.cache and not stopped(claim, assumptions) and not edited():
                self.cache.put_said(name, said)
        return said

    def kept(self, id: str, name: str) -> Record:
        """The record from the cache, or judged and put there."""
        record = self.cache.get(name, id) if self.cache else None
        if record is None:
            record, now = self.judged(id)
            if self.cache and name == now and not edited():
                self.cache.put(name, record)
        return record

    def judged(self, id: str) -> tuple[Record, str]:
        """The record, and the key that it has in the process that judges it: what the leg of a claim before
        it changed there is in it, and what was changed in another process alone is not.
        """
        claim = load()[id]
        assumptions = assumptions_for(claim, self.settings)
        said = self.said(claim, assumptions) if self.quick else None
        name = key(claim, assumptions, self.options, said)
        return self.record(id), name

    def record(self, id: str) -> Record:
        claim = load()[id]
        assumptions = assumptions_for(claim, self.settings)
        try:
            with self.bounded():
                return examine(claim, assumptions, self.options, self.quick, self.parts)
        except OutOfTime as error:
            return self.ended(claim, str(error))

    def part(self, id: str, index: int, n: int) -> Part | None:
        claim = load()[id]
        assumptions = assumptions_for(claim, self.settings)
        return attempt(climbs(claim, assumptions, self.options, self.parts)[index], n)


GRACE = 5.0
"""Seconds in which a claim that has had its time may end by itself."""


@contextmanager
def _no_longer(limit: float | None) -> Iterator[None]:
    """Ends this process, if it is a worker, where a leg keeps from itself what `within` raises: it ignores or
    blocks the signal, or takes every exception. What `within` counts is counted from a thread of its own.
    """
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if limit is None or clock_of is None or parent_process() is None:
        yield
        return
    clock, done = clock_of(threading.get_ident()), threading.Event()
    used, started = time.clock_gettime(clock), time.monotonic()

    def watch() -> None:
        while not done.wait(1):
            spent = time.clock_gettime(clock) - used, time.monotonic() - started
            if spent[0] > limit + GRACE or spent[1] > PATIENCE * limit + GRACE:
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


ENDED = f"{UNJUDGED}its process, which ended itself or was killed"
"""The reason of the evidence of a claim that takes its process with it."""


def _ended(id: str) -> Record:
    """The record of such a claim."""
    record = _blank(load()[id])
    record.evidence.append(not_run("exact", "measured", ENDED))
    record.notes = f"{record.notes}\n\nIts process ended itself or was killed.".strip()
    return record


def _refused(id: str) -> Any:
    raise WorkerEnded(f"the process that derived {id} ended itself or was killed; finished claims are cached")


@contextmanager
def _parts(cache: Cache | None) -> Iterator[Parts]:
    """Where parts are kept: in the cache; without one, in a folder that goes with the run. Raises
    UnwritableCache.
    """
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


_NO_WORD = "ignore:resource_tracker:UserWarning"
"""A run that is broken off leaves its semaphores to their tracker, which clears them away and would warn."""


@contextmanager
def _pool(workers: int, apart: bool = False) -> Iterator[ProcessPoolExecutor | None]:
    """Fresh processes, or None for one worker, which is this process unless it is to be apart."""
    if workers <= (0 if apart else 1):
        yield None
        return
    if _NO_WORD not in sys.warnoptions:
        sys.warnoptions.append(_NO_WORD)
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    first = (threads, current().package)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=first) as pool:
        try:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the workers inherit
            for _ in range(workers):
                pool.submit(int)  # each starts one while none is idle
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield pool
        except BaseException:  # whatever ended the run: nobody waits for what the workers still do
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():
                child.terminate()
            raise


def _begin(threads: str, package: str) -> None:
    """Before torch is imported: processes that each took all cores would wait for each other.

    A worker has the audit of its parent, leaves Ctrl-C to it (`_pool` blocks it), and ends with it, however
    that ends. What legs print is no part of the parent's output, and threads that they leave keep nobody
    waiting.
    """
    with suppress(OSError):  # a closed one
        os.dup2(2, 1)
    util.Finalize(None, _leave, exitpriority=0)
    os.environ.setdefault("OMP_NUM_THREADS", threads)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use(package)


def _leave() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):  # a leg may have closed it
            stream.flush()
    os._exit(0)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


_TICK = 2.0
"""Seconds between two words about what is running."""


def _run(
    ids: list[str],
    call: Callable[[str], Any],
    ended: Callable[[str], Any],
    pool: ProcessPoolExecutor | None,
    workers: int,
    running: Callable[[list[str]], None],
) -> Iterator[tuple[str, Any]]:
    """What a call gives for each claim, as it is done; ``ended`` says what is given for one that takes its
    process with it.
    """
    if pool is None:
        for id in ids:
            running([id])
            yield id, call(id)
        return
    left = list(ids)
    for id, found in _shared(ids, call, pool, workers, running):
        left.remove(id)
        yield id, found
    # a process has ended: what it may have been judging is judged alone, which shows what ends it
    alone, left = left[: 2 * workers], left[2 * workers :]
    for id in alone:
        with _pool(1, apart=True) as own:
            once = dict(_shared([id], call, own, 1, running)) if own else {}
        yield id, once[id] if once else ended(id)
    if left:
        with _pool(min(workers, len(left)), apart=True) as fresh:
            yield from _run(left, call, ended, fresh, workers, running)


def _shared(
    ids: list[str],
    call: Callable[[str], Any],
    pool: ProcessPoolExecutor,
    workers: int,
    running: Callable[[list[str]], None],
) -> Iterator[tuple[str, Any]]:
    """What the call gives for each claim that is done before a process of the pool ends, if one does."""
    try:
        jobs = {pool.submit(call, id): id for id in ids}
    except BrokenProcessPool:
        return
    pending, broken = set(jobs), False
    while pending and not broken:
        running([id for job, id in jobs.items() if job in pending][:workers])
        done, pending = wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED)
        for job in done:
            if isinstance(job.exception(), BrokenProcessPool):
                broken = True
            else:
                yield jobs[job], job.result()


def _parts_run(
    pool: ProcessPoolExecutor, work: _Work, climbing: list[Climb], n: int
) -> Iterator[tuple[Climb, Part | None]]:
    """The `Runner` of a pool. Raises WorkerEnded."""
    left: dict[Any, Climb] = {}
    try:
        for climb in climbing:
            left[pool.submit(work.part, climb.claim, climb.index, n)] = climb
        for job in as_completed(dict(left)):
            yield left[job], job.result()
            del left[job]
    except BrokenProcessPool:
        first = ", ".join([*dict.fromkeys(c.claim for c in left.values() or climbing)][:3])
        raise WorkerEnded(
            f"at {n} tokens a process ended itself or was killed, with a leg of {first} or of a later claim; "
            "finished parts are cached"
        ) from None


def not_run(leg: str, grade: str, why: str) -> Evidence:
    """Evidence of a leg that could not run."""
    return Evidence(leg, grade, None, not_run=why)
