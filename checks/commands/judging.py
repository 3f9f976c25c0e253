"""Judging claims for a command: from the catalogue and the cache where nothing changed, with progress
where something did.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from checks.audit import OWN, current
from checks.claim import Options
from checks.commands.console import ERR, complain, progress_bar
from checks.commands.options import run_options
from checks.evidence import Record
from checks.run import catalogue, ledger
from checks.run.cache import STOPPED, Cache
from checks.run.link import around, link
from checks.run.readings import beside

if TYPE_CHECKING:
    from checks.run import lengths

SILENCE = 10
"""Seconds after which a run that no terminal watches says where it is."""


def cache_of(a: argparse.Namespace) -> Cache | None:
    """The cache, or None where it is to be neither read nor written."""
    return None if a.no_cache else Cache()


def judged(patterns: list[str], a: argparse.Namespace) -> list[Record]:
    """The records of claims or papers, in the order of declaration; raises UnknownClaim,
    UnwritableCache, BadInput.
    """
    options, cache = run_options(a), cache_of(a)
    known = catalogue.records(patterns, options, cache) if cache is not None else None
    if known is not None:
        _from_cache(len(known), len(known))
        parents = catalogue.parents(cache)
        kept = catalogue.verdicts(around([r.id for r in known], parents), options, cache)
        records = link(known, {**ledger.expected(), **kept}, parents)  # what is recorded may be stale
    else:
        records = _judged(patterns, a, options, cache)
    for record in records:
        beside(record)
    return records


def _judged(
    patterns: list[str], a: argparse.Namespace, options: Options, cache: Cache | None
) -> list[Record]:
    from checks.run.registry import select
    from checks.run.verify import ENDED, verify

    claims = select(patterns)
    recorded = ledger.expected()  # a damaged file ends here, before minutes of work that could not be shown
    found: dict[str, Record] = {}
    cached = 0
    with progress_bar() as bar:
        watch = _Watch(bar, len(claims))
        for record, stored in verify(
            claims,
            options,
            cache=cache,
            workers=a.workers,
            climbing=_Climbing(bar),
            running=watch.running,
            limit=_limit(a),
            apart=current().package != OWN,  # what an author's legs do to their process is not known
        ):
            found[record.id] = record
            cached += stored
            watch.done(record.id)
    if cache is not None and cached < len(claims) and (path := catalogue.edited()):
        complain(f"what was judged is not kept, because {path} was changed meanwhile")
    if cache is not None and cache.set_aside:
        shown = ", ".join(cache.set_aside[:3]) + (", …" if len(cache.set_aside) > 3 else "")
        complain(f"judged again, because these cache entries are damaged: {shown}")
    for id, reason in (
        (id, e.not_run) for id, r in found.items() for e in r.evidence if STOPPED in (e.not_run or "")
    ):
        ended = "is not judged: its process ended itself or was killed"
        complain(f"{id} {ended}" if reason == ENDED else f"{id}: {reason}")
    _from_cache(cached, len(claims))
    return link([found[c.id] for c in claims], recorded)


def changed(
    ids: list[str], a: argparse.Namespace, settings: dict[str, Any], total: float
) -> list[tuple[Record, Record]]:
    """The records, under the defaults and under changed assumptions, of the claims that these touch; those
    that are not judged after ``total`` seconds are ended, unless the user gives each a limit.
    """
    from derivations.calculus.term import whole

    options, cache = run_options(a), cache_of(a)
    run = f"changes {whole(settings)} {options.seed}"
    noted = catalogue.recall(cache.folder, run) if cache else None
    if cache and noted is not None:
        pairs = [[cache.get(name, id) for name in noted[id]] for id in ids if noted[id]]
        if all(old and new for old, new in pairs):
            return [(old, new) for old, new in pairs if old and new]
    found = _changed(ids, a, settings, options, cache, total)
    if cache and not catalogue.edited():
        catalogue.note(cache.folder, run, {id: list(records) for id, records in found.items()})
    both = [list(found[id].values()) for id in ids if found[id]]
    return [(old, new) for old, new in both]


def _changed(
    ids: list[str],
    a: argparse.Namespace,
    settings: dict[str, Any],
    options: Options,
    cache: Cache | None,
    total: float,
) -> dict[str, dict[str, Record]]:
    from checks.run.registry import load
    from checks.run.verify import changes

    claims = [load()[id] for id in ids]
    found: dict[str, dict[str, Record]] = {}
    with progress_bar() as bar:
        watch = _Watch(bar, len(claims))
        for id, records in changes(
            claims,
            settings,
            options,
            cache=cache,
            workers=a.workers,
            running=watch.running,
            limit=_limit(a),
            total=total if a.limit is None else None,
        ):
            watch.done(id)
            found[id] = records
    return found


def _limit(a: argparse.Namespace) -> float | None:
    return a.limit if a.limit is not None or a.max_tokens > Options.max_tokens else 60


def _from_cache(cached: int, total: int) -> None:
    if cached:
        ERR.print(f"{cached} of {total} from the cache", style="dim")


class _Watch:
    """Shows how many claims are judged and which are running; without a terminal, a line now and then."""

    def __init__(self, bar: Progress, total: int) -> None:
        self.bar, self.total, self.count = bar, total, 0
        self.task = bar.add_task("judging", total=total)
        self.said = float("-inf")  # the first line comes at once

    def done(self, id: str) -> None:
        """One more claim is judged."""
        self.count += 1
        self.bar.update(self.task, advance=1, description=id)

    def running(self, ids: list[str]) -> None:
        """Claims that are being judged now; the first call says how many there are."""
        names = ", ".join(ids)
        self.bar.update(self.task, description=names)
        if self.bar.disable and time.monotonic() - self.said > SILENCE:
            self.said = time.monotonic()
            ERR.print(
                f"judged {self.count} of {self.total}; now {names}",
                style="dim",
                highlight=False,
                soft_wrap=True,
            )


class _Climbing:
    """Shows how far the tensor checks of a long run have come; without a terminal, a line every minute."""

    def __init__(self, bar: Progress) -> None:
        self.bar, self.task = bar, bar.add_task("climbing", total=100, visible=False)
        self.started = self.said = time.monotonic()

    def __call__(self, at: lengths.Progress | None) -> None:
        if at is None:
            self.bar.remove_task(self.task)
            return
        now, words = time.monotonic(), f"{at.tokens:,} tokens, {_duration(at.seconds_left)} left"
        share = (now - self.started) / (now - self.started + at.seconds_left + 1e-9)
        self.bar.update(self.task, description=words, completed=round(100 * share), visible=True)
        if self.bar.disable and now - self.said > 60:
            self.said = now
            ERR.print(f"{at.done} of {at.parts} tensor checks; {words}", style="dim", highlight=False)


def _duration(seconds: float) -> str:
    """To the precision that a forecast has."""
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"
