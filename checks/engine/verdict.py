"""Verdicts: one pure function of what the engines found, as the table in README.md says."""

from __future__ import annotations

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
