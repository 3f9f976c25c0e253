"""``attest prove``: the theorems that Rocq's kernel checks, and what it makes of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from checks.commands.console import OUT, complain, watched
from checks.commands.options import BadInput
from checks.kernel import rocq
from checks.run import catalogue, ledger, proofs, prove
from checks.run.cache import Cache
from checks.run.registry import load

COLOURS = {"checked": "green", "failed": "bold red", "stale": "yellow", "not run": "magenta"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the claim, or all of them."""
    parser.add_argument("id", nargs="?", help="the claim")
    parser.add_argument("--all", action="store_true", help="check every claim and record what came of it")
    parser.add_argument(
        "--out",
        type=Path,
        default=proofs.recorded(),
        help="where --all writes (default: beside the expected verdicts)",
    )
    parser.add_argument("--source", action="store_true", help="print the whole file that Rocq is given")


def run(a: argparse.Namespace) -> int:
    """Prints theorems or writes the record; 0, or 1 where Rocq rejects one, 2 where it is not installed."""
    if bool(a.id) == a.all:
        raise BadInput("name one claim, or say --all")
    try:
        return _all(a.out) if a.all else _one(a.id, a.source)
    except rocq.RocqError as error:
        complain(str(error))
        return 2


def _one(id: str, source: bool) -> int:
    claim = load()[catalogue.one(id, Cache())]
    if not ledger.expected().get(id):
        raise BadInput(f"{id} has no verdict yet: attest verify {id} --accept records one")
    found = prove.exports(claim)
    if source:
        texts = "\n\n".join(t.text for group in found.groups() for t in group)
        OUT.print(f"{rocq.PREAMBLE}\n{texts}", markup=False, highlight=False, soft_wrap=True)
        return 0
    outcomes = prove.remembered(found, proofs.read()) if proofs.recorded().exists() else {}
    if rocq.compiler() and any(found.groups()):
        _built()
        outcomes = {o.name: o for o in rocq.check(found.groups())}
    result = prove.recorded(found, outcomes)
    OUT.print(f"[bold]{escape(claim.id)}[/]  {', '.join(filter(None, (result.verdict, result.grade)))}")
    _parts("", result.parts)
    _parts("as printed, ", result.refuted)
    rocq.require()
    return int(any(p.outcome == "failed" for p in result.proofs()))


def _built() -> None:
    """Rocq's library, compiled where it is not yet."""
    with watched() as bar:
        task = bar.add_task("compiling Rocq's library, once", total=len(rocq.FILES))
        rocq.build(lambda _: bar.advance(task))


def _parts(which: str, parts: list[proofs.Part]) -> None:
    for n, part in enumerate(parts, 1):
        OUT.print(f"\n[bold]{which}part {n}: {part.kind}[/]")
        for proof in part.theorems:
            OUT.print(proof.statement, markup=False, highlight=False, soft_wrap=True)
            OUT.print(f"[{COLOURS[proof.outcome]}]{proof.outcome}[/] {escape(proof.said)}", soft_wrap=True)
        for why in part.missing:
            OUT.print(f"not covered: {why}", markup=False, highlight=False)


def _all(out: Path) -> int:
    rocq.require()  # before minutes of work
    if not ledger.expected():
        raise BadInput("no claim has a verdict yet: attest verify --accept records them")
    _built()
    claims = load()
    with watched() as bar:
        making = bar.add_task("stating", total=len(claims))
        found = []
        for claim in claims.values():
            found.append(prove.exports(claim))
            bar.update(making, advance=1, description=claim.id)
        found = [e for e in found if e.verdict in prove.VERDICTS]
        checking = bar.add_task("checking", total=sum(len(group) for e in found for group in e.groups()))
        result = prove.proved(found, lambda n: bar.update(checking, advance=n))
    try:
        proofs.write(out, result)
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror}") from None
    _summary(result)
    OUT.print(f"written to {out}")
    return int(any(p.outcome == "failed" for c in result.claims.values() for p in c.proofs()))


def _summary(result: proofs.Proofs) -> None:
    every = [p for c in result.claims.values() for p in c.proofs()]
    for proof in every:
        if proof.outcome == "failed":
            OUT.print(f"failed: {proof.name}: {proof.said}", markup=False, highlight=False)
    shown = Table(box=None, pad_edge=False)
    columns = ("all", "some", "none", "nothing to show")
    for heading in ("kind", "claims", "checked", *(f"parts: {c}" for c in columns), "why not"):
        shown.add_column(heading)
    for kind, found in result.coverage().items():
        counts = (len(found.claims), len(found.claims - found.short), *(found.parts[c] for c in columns))
        why = "\n".join(f"{escape(reason)} ({n})" for reason, n in found.why.most_common())
        shown.add_row(kind, *(str(n or "") for n in counts), why)
    OUT.print(shown)
    graded = [result.claims[id].verdict for id in result.graded()]
    refuted = sum(c.refutation for c in result.claims.values())
    checked = sum(p.outcome == "checked" for p in every)
    OUT.print(
        f"{checked} of {len(every)} theorems checked by Rocq {result.rocq} in {result.seconds:.0f} s; "
        f"{proofs.GRADE}: {graded.count('proved')} proved, {graded.count('corrected')} corrected; "
        f"{refuted} refuted as printed"
    )
