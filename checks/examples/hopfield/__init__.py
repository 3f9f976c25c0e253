"""Modern Hopfield networks, audited."""

from checks.api import Audit, Paper

AUDIT = Audit(
    __name__,
    "Modern Hopfield networks, judged",
    (
        Paper(
            "hopfield",
            "Ramsauer et al., Hopfield Networks is All You Need (2021)",
            "Ramsauer et al. 2021",
            folder="claims",
        ),
    ),
)
