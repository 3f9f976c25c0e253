"""Performers, audited."""

from checks.api import Audit, Paper

AUDIT = Audit(
    __name__,
    "Performers, judged",
    (
        Paper(
            "performer",
            "Choromanski et al., Rethinking Attention with Performers (2021)",
            "Choromanski et al. 2021",
            folder="claims",
        ),
    ),
)
