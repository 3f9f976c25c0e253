"""Sparse attention as a fit to a subset of the keys that depends on the query: equation (16)."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import claim
from checks.leg import Legs
from checks.papers.nguyen2023 import scaled_heads_formulas as heads
from checks.papers.nguyen2023.sparse_formulas import (
    HEAD_SUBSET,
    SUBSET,
    SUBSET_OF_KEYS,
    corrected,
    literal,
    version,
)
from checks.papers.nguyen2023.theorem1_formulas import BIAS_OFF, EXPONENTIAL, KERNEL_SUM, LOSS, PROGRAM
from checks.statement import All
from derivations.theories.svr import variants as sv

variant_optima = Legs("checks.papers.nguyen2023.legs.optima")
variant_versions = Legs("checks.papers.nguyen2023.legs.versions")

claim(
    "nguyen2023/eq16",
    "Eq. (16)",
    "Sparse attention as an expansion over a subset",
    theory="svr",
    words="Fitting a subset of the keys chosen by the query, h as in Section 2.1, gives sparse attention.",
    under=(("bias", "off"),),
    literal=literal,
    corrected=corrected,
    correction_words="h sums the kernel over the subset, not over all keys; then the expansion of the fit to "
    "the subset is softmax attention to the kept keys, with values that belong to that fit.",
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS, SUBSET_OF_KEYS),
    rests_on=("nguyen2023/eq10", "nguyen2023/eq14", "nguyen2023/prose-converse"),
    derivation=lambda a: sv.derive(SUBSET.under(replace(a, bias="on"))),
    legs=(variant_versions.sparse_definition, variant_versions.sparse_kernel, variant_optima.sparse_optimum),
    where=PROGRAM
    + r" $\mathcal{M}_x=\{m_x(1),\dots,m_x(M)\}$: the keys kept for $\boldsymbol{x}$. A raised (x) "
    "marks what belongs to the program of that query, $h_x$ is its normaliser: in (c) the sum of the kernel "
    "over the kept keys.",
    notes="Each query has a program of its own, so its multipliers, values and intercept depend on the "
    "query, while the formula shares one set of values: given ones are those of every query's program where "
    "C is large and the targets may depend on the query, as in prose-converse. What rests on this: that "
    "sparse attention, and the sparse versions of Attention-BN and Attention-SH, come out of the regression.",
)


claim(
    "nguyen2023/prose-sparse-bn-sh",
    "Appendix B.4",
    "Sparse Attention-BN, -SH and -BN+SH",
    theory="svr",
    under=(("bias", "off"),),
    words="Attention-BN, Attention-SH and Attention-BN+SH on the keys that a query keeps are expansions of a "
    "fit for each head and query.",
    literal=lambda a: All(version(a, False), version(a, True)),
    derivation=lambda a: sv.derive(HEAD_SUBSET.under(a)),
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS),
    rests_on=("nguyen2023/eq16", "nguyen2023/eq25", "nguyen2023/eq48"),
    legs=(
        variant_versions.sparse_versions,
        variant_versions.sparse_versions_kernel,
        variant_optima.sparse_versions_optimum,
    ),
    where=heads.WHERE + r" The query $\boldsymbol{x}^s$ keeps $M$ keys of each head, "
    r"$\boldsymbol{k}^s_1,\dots,\boldsymbol{k}^s_M$ in the sums; $\boldsymbol{\mu}^s$ and "
    r"$\mathbf{s}^{s^{-1}}$: mean and inverse deviation of the head. In the steps, of one head: "
    r"$\boldsymbol{k}_{m_x(j)}$ is the $j$-th kept key, $h_x$ sums the kernel over the kept keys; the other "
    "letters are those of (5).",
    notes="The paper tests these in Appendix B.4 and prints no formula. With one head that has all keys and "
    "W_O = I, (b) is sparse Attention-BN. Mean and scale may be those of all keys of the head or of the kept "
    "ones: the expansion holds for any. As in (16) as corrected, h sums the kernel over the kept keys, "
    "and the values belong to the query's own fit. Each head is a program of its own, so heads may also keep "
    "different numbers of keys.",
)
