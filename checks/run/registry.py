"""All claims of all papers, in the papers' order."""

from __future__ import annotations

from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

from checks.audit import current, own_module
from checks.claim import CLAIMS, Claim
from checks.run.readings import printed, printed_in
from derivations.errors import Unusable


def modules() -> list[str]:
    """The modules that declare claims: every module in the package of a paper but its legs, in order of
    name.
    """
    audit = current()
    return [
        f"{audit.package_of(paper)}.{path.stem}"
        for paper in audit.papers
        for path in sorted(audit.folder_of(paper.key).glob("*.py"))
        if path.stem not in ("__init__", "legs") and path.is_file()
    ]


class UnknownClaim(Unusable, LookupError):
    """No claim has this id."""


@lru_cache(maxsize=1)  # claims are loaded wherever one is needed
def _require_no_circle(rests_on: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    try:
        TopologicalSorter(dict(rests_on)).prepare()
    except CycleError as error:
        raise UnknownClaim(f"claims rest on each other in a circle: {' -> '.join(error.args[1])}") from None


def _require_knobs(claims: dict[str, Claim]) -> None:
    """Raises UnknownClaim for a claim of no theory of the audit, and what the theory raises for a knob or a
    value that it has not. The listed values are not read again, but for placeholders.
    """
    theories = own_module(current().theories).THEORIES if current().theories else ()
    named = {theory.name: theory for theory in theories}
    for claim in filter(lambda c: c.theory, claims.values()):
        settings = [*((a.knob, a.value) for a in claim.assumes if a.knob), *claim.under]
        if (of := named.get(claim.theory)) is None:
            there = ", ".join(sorted(named)) or "none"
            raise UnknownClaim(f"{claim.id}: no theory '{claim.theory}'; there are {there}")
        plain = [(k.name, value) for k in of.knobs for value in k.allowed if value == value.lower()]
        try:
            for knob, value in (s for s in settings if s not in plain):
                of.assumptions({knob: value})
        except Unusable as error:
            raise type(error)(f"{claim.id}: {error}") from None


def load() -> dict[str, Claim]:
    """Import every module of claims and return the claims by id. Raises UnknownClaim for one of no paper of
    the audit, one that rests on a claim that there is not, or on itself, and for printed formulas of none,
    BadAssumption for a knob that there is not, UnknownPackage for a module that cannot be imported.
    """
    own = modules()
    for module in own:
        own_module(module)
    papers = [p.key for p in current().papers]
    found = {id: claim for id, claim in CLAIMS.items() if claim.paper in papers}
    if stray := next((c for c in CLAIMS.values() if c.paper not in papers and c.module in own), None):
        raise UnknownClaim(f"{stray.id} ({stray.source}) is of no paper of this audit: {', '.join(papers)}")
    for claim in found.values():
        for id in claim.rests_on:
            if id not in CLAIMS:
                raise UnknownClaim(f"{claim.id} rests on {id}: {nearest(id, list(found))}")
    _require_knobs(found)
    _require_no_circle(tuple((id, claim.rests_on) for id, claim in found.items()))
    for key in papers:
        for id in printed(key):
            if id not in found:
                raise UnknownClaim(f"{printed_in(current().folder_of(key))}: {nearest(id, list(found))}")
    return found


def select(patterns: list[str]) -> list[Claim]:
    """The claims with the given ids; an id ending in '/' or a paper's key selects a whole paper.

    Raises UnknownClaim with the nearest ids.
    """
    claims = load()
    if not patterns:
        return list(claims.values())
    chosen: dict[str, Claim] = {}
    for pattern in patterns:
        paper = pattern.rstrip("/")
        found = [c for c in claims.values() if c.id == pattern or c.paper == paper]
        if not found:
            raise UnknownClaim(nearest(pattern, list(claims)))
        chosen.update({c.id: c for c in found})
    return list(chosen.values())


def nearest(pattern: str, ids: list[str]) -> str:
    """The complaint about an unknown claim, with those that are spelled like it."""
    from difflib import get_close_matches

    short: dict[str, list[str]] = {}
    for id in ids:
        short.setdefault(id.partition("/")[2], []).append(id)
    near = [id for name in get_close_matches(pattern, short, 1, 0.9) for id in short[name]]
    near = near or get_close_matches(pattern, [*ids, *(p.key for p in current().papers)], 3)
    hint = f"; did you mean {', '.join(near)}?" if near else f"; `{current().command} list` shows them all"
    return f"no claim or paper '{pattern}'{hint}"
