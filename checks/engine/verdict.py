"""Verdicts: one pure function of what the engines found, as the table in README.md says."""

from __future__ import annotations

from collections.abc import Collection

VERDICTS = (
    "proved",
    "confirmed",
    "corrected",
    "refuted",
    "definition",
    "empirical",
    "unsettled",
    "inconsistent",
)
FAILED = ("corrected", "refuted")
SEVERITIES = ("misprint", "condition", "substance")


def verdict(
    role: str, holds: bool | None, proved: bool, repaired: bool | None = None, repair: str = "none"
) -> str:
    """The verdict on a claim of a role ("claim", "definition", "empirical").

    ``holds`` and ``proved`` are of the statement as printed, ``repaired`` whether its repair holds.
    ``repair`` is "none", "offered", or "idle" for one that repairs nothing: no statement at all, the printed
    one again, or one about other things. An undecided repair leaves the claim unsettled: it may be the small
    repair that a refutation denies.
    """
    if holds is None:
        return "empirical" if role == "empirical" else "unsettled"
    if holds:
        return role if role in ("definition", "empirical") else "proved" if proved else "confirmed"
    if repair == "none":
        return "refuted"
    if repair == "idle":
        return "inconsistent"
    return {True: "corrected", False: "refuted", None: "unsettled"}[repaired]


def agrees(verdict: str, holds: bool | None, passed: Collection[bool | None], corrected: bool) -> bool:
    """Whether a verdict can be that of a record: ``holds`` is of the statement as printed, ``passed`` what
    came of each piece of its evidence, ``corrected`` whether a correction stands in it.
    """
    some, none_failed = True in passed, False not in passed
    match verdict:
        case "proved" | "confirmed" | "definition":
            return holds is True and some and none_failed and not corrected
        case "empirical":
            return none_failed and (holds is None or (holds and some))
        case "corrected":
            return holds is False and some and not none_failed and corrected
        case "refuted":
            return holds is False and not none_failed
        case "unsettled":
            return holds is not True
    return verdict in VERDICTS
