"""Heads with key sets of different sizes: (25), Definition 2, Remark 5, and normalised (46) to (51).

N_s is the size of the head over which the sum around it runs. No product has two heads in it, so its meaning
is never in doubt, and no step uses that two heads have equally many keys; ``two_heads`` writes out two sizes.
"""

from __future__ import annotations

from dataclasses import replace

from checks.claim import claim
from checks.kinds.programs import Convex
from checks.leg import Legs
from checks.papers.nguyen2023.batchnorm_formulas import BN_EPS, FITTED, STATISTICS_OF_KEYS, expansion
from checks.papers.nguyen2023.centering_formulas import ANY_BETA
from checks.papers.nguyen2023.scaled_heads_formulas import (
    AVERAGES,
    HEAD,
    K1,
    NS,
    ONE,
    OUT,
    SH,
    SH_ASSUMES,
    SIZES,
    WHERE,
    X1,
    definition_49,
    derived,
    derived_bn,
    j,
    largest_pool,
    normalised_h,
    pooling,
    printed_h,
    simplified,
    statistics,
    two_heads,
    values_up_to,
)
from checks.papers.nguyen2023.theorem1_formulas import H_NONZERO
from checks.statement import All, Definition, Identity
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DV, N

variant_heads = Legs("checks.papers.nguyen2023.legs.heads")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")

claim(
    "nguyen2023/eq25",
    "Eq. (25)",
    "Attention with scaled heads",
    theory="svr",
    under=(("bias", "off"),),
    role="definition",
    words="Multi-head attention in which head s has a key set of its own size N_s.",
    literal=lambda a: All(
        Definition(OUT, SH),
        Identity(
            derived(as_term(X1), as_term(K1)[j], a), SH, sizes=SIZES, label="from a program for each head"
        ),
        two_heads(a),
    ),
    assumes=SH_ASSUMES,
    rests_on=("nguyen2023/eq17", "nguyen2023/eq18"),
    derivation=lambda a: sv.derive(ONE.under(a)),
    legs=(variant_heads.sh_definition, variant_optima.heads_optimum),
    where=WHERE
    + r" The program of head $s$ is (5) without intercept, its letters marked $s$; $\boldsymbol{x}^s$: the "
    r"input of its function $f^s$. $\boldsymbol{q}^1,\boldsymbol{q}^2$: one query of each head.",
    notes="Each head is a regression of its own, so different numbers of keys need nothing new.",
)

claim(
    "nguyen2023/def2",
    "Definition 2",
    "Attention with scaled heads",
    role="definition",
    words="Attention-SH: formula (25).",
    literal=Definition(OUT, SH),
    rests_on=("nguyen2023/eq25",),
    legs=(variant_heads.sh_definition, variant_heads.sh_kernel),
    where=WHERE,
)


claim(
    "nguyen2023/rem5",
    "Remark 5",
    "Downsampling by average pooling",
    theory="svr",
    role="definition",
    words="The keys and values of a head come from downsampled tokens; average pooling commutes with "
    "projecting.",
    literal=lambda a: largest_pool() if a.downsampling == "largest" else pooling(),
    assumes=(AVERAGES,),
    rests_on=("nguyen2023/eq25",),
    legs=(variant_heads.pooling_matrix, variant_heads.sh_kernel),
    where=WHERE + r" $\mathbf{P}^s\in\mathbb{R}^{N_s\times N}$ pools the tokens of head $s$, "
    r"$\mathbf{X}\in\mathbb{R}^{N\times D_x}$ has the rows $\mathbf{X}_n$; $\mathbf{Q}^s$ has the queries as "
    r"rows; $\mathbf{W}_K^s,\mathbf{W}_V^s$ are the key and value projections. In (b) keys; values likewise.",
    notes=(
        "Holds for any linear downsampling P, average pooling and a 1-D convolution that is the same in "
        "every channel among them; before or after projecting differ only in cost. Max pooling does not "
        "commute: with downsampling = largest two tokens refute it. In the checks the pool width divides N."
    ),
)

claim(
    "nguyen2023/eq46",
    "Eq. (46)",
    "The normalised regression function of a head",
    role="definition",
    words="The function (19) for one head, with statistics of the head's own keys.",
    literal=Definition(
        as_term(Tensor("f^s(x)", (DV,), r"f^s(\boldsymbol{x})")), HEAD.prediction(), nonzero=(HEAD.h_x,)
    ),
    assumes=(H_NONZERO, BN_EPS),
    rests_on=("nguyen2023/eq17", "nguyen2023/eq19"),
    where=WHERE
    + r" $\boldsymbol{x}$: the input of $f^s$; $\mathbf{W}^s$, $\Phi$, $h^s$, $\boldsymbol{b}^s$: its "
    r"weights, features, normaliser and intercept; $\boldsymbol{\mu}^s$, $\mathbf{s}^{s^{-1}}$: mean and "
    r"inverse deviation of the head's keys, by (47); $\odot$ the product of coordinates.",
    notes="The letter s is a head, a scale vector and, elsewhere, a kernel size.",
)


for _id, _reference in (("eq47", "Eq. (47)"), ("eq50", "Eq. (50)")):
    claim(
        f"nguyen2023/{_id}",
        _reference,
        "Mean and scale of a head's keys",
        role="definition",
        words="Mean, variance and scale of each coordinate, over the keys of one head.",
        literal=statistics(),
        assumes=(BN_EPS,),
        rests_on=("nguyen2023/eq20",),
        legs=(variant_heads.head_statistics,),
        where=WHERE,
        notes="A head with one key has variance 0: without ε > 0 it has no scale.",
    )


claim(
    "nguyen2023/eq48",
    "Eq. (48)",
    "The expansion of a normalised head",
    words="The expansion of (46); with h the kernel sum over the head's keys it gives Attention-BN+SH.",
    theory="svr",
    under=(("bias", "off"),),
    literal=lambda a: All(printed_h(), expansion(HEAD), values_up_to(N)),
    corrected=lambda a: All(
        Convex(HEAD.under(a).program(), label="the head's program is convex"),
        expansion(HEAD),
        normalised_h(),
        derived_bn(a),
        values_up_to(NS),
    ),
    correction_words=(
        "h of a head is the sum of the kernel over its normalised keys; the index of the values runs to N_s."
    ),
    assumes=(*SH_ASSUMES, STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq46", "nguyen2023/eq50"),
    derivation=lambda a: sv.derive(HEAD.under(replace(a, bias="on"))),
    legs=(variant_heads.bn_sh_expansion, variant_optima.bn_head_optimum),
    where=WHERE
    + r" $\boldsymbol{\mu}^s$: the mean of the head's keys; $\mathbf{s}^{s^{-1}}$: one over their "
    + r"deviation, by (47)."
    + FITTED
    + r" $\mathbf{W}^s$ with rows $\boldsymbol{w}^s_d$, $\boldsymbol{y}^s_j$ and "
    r"$\boldsymbol{\xi}^s_j,\tilde{\boldsymbol{\xi}}^s_j$: the weights, targets and slacks of (5) for the "
    r"head; $\boldsymbol{x}$: the input of $f^s$. "
    r"$\epsilon$: in (a) as printed the number under the root of (47), in the program the residual that "
    r"costs nothing; $C$: the weight of the slacks. The left side of (d) as corrected is not printed "
    r"either: the fitted functions with the exponential kernel, by entries.",
    notes="The same slip of h as in (21).",
)


claim(
    "nguyen2023/eq49",
    "Eq. (49)",
    "Attention-BN+SH",
    role="definition",
    words="Attention with scaled heads on queries and keys normalised by each head's own statistics.",
    literal=definition_49(),
    assumes=(BN_EPS,),
    rests_on=("nguyen2023/eq48", "nguyen2023/eq50"),
    legs=(variant_heads.bn_sh_definition, variant_heads.bn_sh_kernel),
    where=WHERE + r" $\odot$ the product of coordinates.",
)

claim(
    "nguyen2023/def5",
    "Definition 5",
    "Batch normalised attention with scaled heads",
    role="definition",
    words="Attention-BN+SH: formula (49) with the statistics (50).",
    literal=All(definition_49(), *statistics().parts),
    assumes=(BN_EPS,),
    rests_on=("nguyen2023/eq49", "nguyen2023/eq50"),
    legs=(variant_heads.bn_sh_definition, variant_heads.bn_sh_kernel),
    where=WHERE + r" $\odot$ the product of coordinates.",
)


claim(
    "nguyen2023/eq51",
    "Eq. (51)",
    "Attention-BN+SH simplified to weighted centering",
    theory="svr",
    under=(("bias", "off"),),
    role="definition",
    words="Scaled heads with β times the mean of the head's keys subtracted from its queries and keys.",
    literal=simplified,
    assumes=(*SH_ASSUMES, ANY_BETA),
    rests_on=("nguyen2023/eq26", "nguyen2023/eq49", "nguyen2023/prose-centering-only"),
    legs=(variant_heads.beta_sh_definition, variant_optima.beta_sh_optimum),
    where=WHERE + r" $\beta$ a constant.",
    notes="Another attention than (49): no scale, and the mean times β. The text writes μ where the formula "
    "has the head's mean.",
)
