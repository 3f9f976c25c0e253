"""Rotary position embedding, audited."""

from checks.api import Audit, Paper

AUDIT = Audit(
    __name__,
    "Rotary position embedding, judged",
    (
        Paper(
            "rope",
            "Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding (2021)",
            "Su et al. 2021",
            folder="claims",
        ),
    ),
)
