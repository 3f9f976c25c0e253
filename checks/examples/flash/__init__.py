"""FlashAttention, audited."""

from checks.api import Audit, Paper

AUDIT = Audit(
    __name__,
    "FlashAttention, judged",
    (
        Paper(
            "flash",
            "Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness (2022)",
            "Dao et al. 2022",
            folder="claims",
        ),
    ),
)
