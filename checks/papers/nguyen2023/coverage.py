"""Which leg compares which system of the paper with what: the table that must have no gap.

Every attention is compared (a) with its definition, (b) with the expansion that the dualiser derives from its
own program, (c) with an exactly optimal fit of that program on a small instance, (d) with torch's own
attention where it reduces to it. A leg may serve several columns; ``says`` is what its evidence then says.
"""

from __future__ import annotations

from typing import NamedTuple

from checks.claim import Leg
from checks.leg import Legs

heads = Legs("checks.papers.nguyen2023.legs.heads")
inputs = Legs("checks.papers.nguyen2023.legs.inputs")
legs = Legs("checks.papers.nguyen2023.legs.attentions")
optima = Legs("checks.papers.nguyen2023.legs.optima")
versions = Legs("checks.papers.nguyen2023.legs.versions")

COLUMNS = ("definition", "expansion", "optimum", "torch")


class Cell(NamedTuple):
    """A leg of a claim, and words that its evidence for this comparison contains."""

    claim: str
    leg: Leg
    says: str


class Row(NamedTuple):
    """One system: a cell for each column, or the reason why there is none."""

    system: str
    definition: Cell
    expansion: Cell
    optimum: Cell
    torch: Cell | str


NO_LINEAR = "torch has no linear attention; the system is compared with the formula summed key by key"


def _row(system: str, *cells: tuple[str, Leg, str] | str) -> Row:
    return Row(system, *(c if isinstance(c, str) else Cell(f"nguyen2023/{c[0]}", c[1], c[2]) for c in cells))  # type: ignore[arg-type]


KERNEL = "scaled_dot_product_attention"
ROWS = (
    _row("softmax (2)", ("eq15", legs.softmax_expansion, "(2)"), ("eq15", legs.softmax_expansion, "derived expansion"),
         ("thm1", optima.softmax_optimum, "program (5)"), ("eq15", legs.softmax_expansion, KERNEL)),
    _row("linear, elu + 1", ("prose-linear-attention", legs.linear_attention, "one pass"),
         ("prose-linear-attention", legs.linear_attention, "derived expansion"),
         ("prose-linear-attention", optima.linear_optimum, "regression on elu + 1"), NO_LINEAR),
    _row("sparse (16)", ("eq16", versions.sparse_definition, "masked"), ("eq16", versions.sparse_definition, "derived"),
         ("eq16", optima.sparse_optimum, "program of query"), ("eq16", versions.sparse_kernel, KERNEL)),
    _row("multi-head (3), (18)", ("eq3", heads.multihead_definition, "(3)"),
         ("eq18", heads.multihead_expansion, "derived expansions"), ("eq18", optima.multihead_optimum, "two heads"),
         ("eq3", heads.multihead_definition, "linear layer")),
    _row("residual with projections (36)", ("eq36", inputs.residual_projections, "projections and residual"),
         ("eq36", inputs.residual_projections, "derived expansion"), ("eq36", optima.residual_optimum, "program with residual"),
         ("eq36", inputs.residual_projections, KERNEL)),
    _row("Attention-BN (22)", ("def1", legs.bn_definition, "(22)"), ("eq21", legs.bn_expansion, "derived expansion"),
         ("eq21", optima.bn_optimum, "normalised keys"), ("def1", legs.bn_kernel, KERNEL)),
    _row("Attention-SH (25)", ("eq25", heads.sh_definition, "(25)"), ("eq25", heads.sh_definition, "derived expansions"),
         ("eq25", optima.heads_optimum, "two heads"), ("def2", heads.sh_kernel, KERNEL)),
    _row("Attention-BN+SH (49)", ("def5", heads.bn_sh_definition, "(49)"),
         ("eq48", heads.bn_sh_expansion, "derived expansions"), ("eq48", optima.bn_head_optimum, "pooled, normalised"),
         ("def5", heads.bn_sh_kernel, KERNEL)),
    _row("simplified with β (26)", ("eq26", legs.beta_definition, "(26)"),
         ("eq26", legs.beta_definition, "derived expansion"), ("eq26", optima.beta_optimum, "centred keys"),
         ("prose-centering-only", legs.beta_as_bias, KERNEL)),
    _row("simplified BN+SH with β (51)", ("eq51", heads.beta_sh_definition, "(51)"),
         ("eq51", heads.beta_sh_definition, "derived expansions"), ("eq51", optima.beta_sh_optimum, "centred keys"),
         ("eq51", heads.beta_sh_definition, KERNEL)),
    *(_row(f"Linear Attention-{n}", ("prose-linear-bn-sh", versions.linear_versions, f"Linear Attention-{n};"),
           ("prose-linear-bn-sh", versions.linear_versions, f"Linear Attention-{n}, derived"),
           ("prose-linear-bn-sh", optima.linear_versions_optimum, f"Linear Attention-{n}:"), NO_LINEAR)
      for n in ("BN", "SH", "BN+SH")),
    *(_row(f"Sparse Attention-{n}", ("prose-sparse-bn-sh", versions.sparse_versions, f"sparse Attention-{n};"),
           ("prose-sparse-bn-sh", versions.sparse_versions, f"sparse Attention-{n}, derived"),
           ("prose-sparse-bn-sh", optima.sparse_versions_optimum, f"Sparse Attention-{n}:"),
           ("prose-sparse-bn-sh", versions.sparse_versions_kernel, f"sparse Attention-{n}: {KERNEL}"))
      for n in ("BN", "SH", "BN+SH")),
    _row("Attention-Conv1D (45)", ("def4", inputs.conv1d, "formula"), ("def4", inputs.conv1d, "derived expansion"),
         ("def4", optima.conv1d_optimum, "convolved sequence"), ("def4", inputs.conv1d, KERNEL)),
    _row("Attention-Conv2D (43)", ("def3", inputs.conv2d, "formula"), ("def3", inputs.conv2d, "derived expansion"),
         ("def3", optima.conv_optimum, "convolved inputs"), ("def3", inputs.conv2d, KERNEL)),
    _row("CvT projections (44)", ("eq44", inputs.cvt, "attention on convolutions"), ("eq44", inputs.cvt, "derived"),
         ("eq44", optima.cvt_optimum, "separately convolved"), ("eq44", inputs.cvt, KERNEL)),
)  # fmt: skip
