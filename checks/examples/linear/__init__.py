"""Linear attention, audited."""

from checks.api import Audit, Paper

AUDIT = Audit(
    __name__,
    "Linear attention, judged",
    (
        Paper(
            "linear",
            "Katharopoulos et al., Transformers are RNNs (2020)",
            "Katharopoulos et al. 2020",
            folder="claims",
        ),
    ),
)
