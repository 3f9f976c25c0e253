"""The papers, a package each: formulas, claims by section, legs, data of tables.

May import kinds, engine, tensors, solvers and derivations; of the papers only
`bridge` imports another. Nothing but ``checks.run.registry`` imports them, by name."""

from checks.audit import Audit, Paper

AUDIT = Audit(
    __name__,
    "Attention by duality, audited",
    (
        Paper(
            "nguyen2023",
            "Nguyen et al., A Primal-Dual Framework for Transformers and Neural Networks (ICLR 2023)",
            "Nguyen et al. 2023",
        ),
        Paper(
            "chen2023",
            "Chen et al., Primal-Attention: Self-attention through Asymmetric Kernel SVD (NeurIPS 2023)",
            "Chen et al. 2023",
        ),
        Paper(
            "wang2024",
            "Wang et al., Transformer In-Context Learning for Categorical Data (2024)",
            "Wang et al. 2024",
        ),
        Paper(
            "farooq2025",
            "Farooq, A Framework for Non-Linear Attention via Modern Hopfield Networks (2025)",
            "Farooq 2025",
        ),
        Paper("bridge", "How the papers relate", "Bridges"),
    ),
    records="../records",
    book="../../book",
)
