"""Attention with batch normalisation: equations (19) to (24), (31) and Definition 1."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import claim
from checks.leg import Legs
from checks.papers.nguyen2023.batchnorm_formulas import (
    ANY_SCALE,
    BN,
    BN_EPS,
    FITTED,
    LAST_LINE,
    LINES,
    POSITIVE_SCALE,
    SIZES,
    STATISTICS_OF_KEYS,
    WHERE,
    attention_bn,
    definition_22,
    eq21,
    eq21_corrected,
    f_x,
    kd,
    md,
    mean_of,
    own_statistics,
    q_,
    qd,
    soft,
    statistics,
)
from checks.papers.nguyen2023.theorem1_formulas import BIAS_OFF, EXPONENTIAL, H_NONZERO, KERNEL_SUM, LOSS
from checks.statement import All, Definition, Identity
from derivations.calculus.term import as_term
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import i

variant_legs = Legs("checks.papers.nguyen2023.legs.attentions")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")

OWN = (
    " The last line is not printed: a key as the theory of svr normalises it, beside the printed statistics "
    "put into each other."
)

claim(
    "nguyen2023/eq19",
    "Eq. (19)",
    "The regression function on normalised inputs",
    role="definition",
    words="The function (4) applied to inputs that are centred and scaled by statistics of the keys.",
    literal=Definition(as_term(f_x), BN.prediction(), nonzero=(BN.h_x,)),
    assumes=(H_NONZERO, BN_EPS),
    rests_on=("nguyen2023/eq4", "nguyen2023/eq20"),
    where=WHERE
    + r" $\boldsymbol{x}$: the input of $f$; $\mathbf{W}$, $\Phi$, $h$, $\boldsymbol{b}$: the weights, "
    r"features, normaliser and intercept of (4).",
    notes="The statistics are constants of the program: they depend on the keys, not on the weights.",
)


def _statistics_claim(id: str, reference: str) -> None:
    claim(
        f"nguyen2023/{id}",
        reference,
        "Mean and scale of the keys",
        theory="svr",
        role="definition",
        words="Mean, variance and scale of each coordinate, over the keys.",
        literal=lambda a: All(*statistics().parts, own_statistics(a)),
        assumes=(STATISTICS_OF_KEYS, BN_EPS),
        legs=(variant_legs.bn_statistics,),
        where=WHERE + OWN,
        notes="The range of this ε is not stated. With one key, or a coordinate on which all keys agree, the "
        "variance is 0 and only ε > 0 keeps the scale defined. It is not the ε of program (5), which may be "
        "0. Unlike batch normalisation in a network, there are no running averages and no learned scale and "
        "shift.",
    )


_statistics_claim("eq20", "Eq. (20)")
_statistics_claim("eq23", "Eq. (23)")


claim(
    "nguyen2023/eq21",
    "Eq. (21)",
    "The expansion on normalised keys",
    words="The expansion of (19); with h the kernel sum over the keys it gives Attention-BN.",
    theory="svr",
    under=(("bias", "off"),),
    literal=lambda a: eq21(),
    corrected=eq21_corrected,
    correction_words="h is the sum of the kernel over the normalised keys, as the normaliser of (22) does.",
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS, STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq10", "nguyen2023/eq14", "nguyen2023/eq19"),
    derivation=lambda a: sv.derive(BN.under(replace(a, bias="on"))),
    legs=(variant_legs.bn_expansion, variant_optima.bn_optimum),
    where=WHERE
    + FITTED
    + r" The left side of (d) as corrected is not printed either: the same with the exponential kernel and "
    r"its sum $h$, without $\boldsymbol{b}$."
    + r" $\mathbf{W}$, $\boldsymbol{w}_d$, $C$, $\boldsymbol{y}_j$, $\boldsymbol{\xi}_j$ and the $\epsilon$ "
    r"of the program are those of (5); this $\epsilon$ is not the one under the root.",
    notes="The text repeats the h of Section 2.1, which sums over the keys themselves. Exponentials with "
    "different exponents are linearly independent, so the two sums agree for all queries only if the "
    "normalised keys are the keys again, up to order. Formula (22) has the right normaliser.",
)


claim(
    "nguyen2023/eq22",
    "Eq. (22)",
    "Attention-BN",
    theory="svr",
    role="definition",
    words="Softmax attention with queries and keys centred and scaled by the statistics of the keys.",
    literal=lambda a: All(definition_22(), own_statistics(a)),
    assumes=(STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq21", "nguyen2023/eq23"),
    legs=(variant_legs.bn_definition, variant_legs.bn_kernel),
    where=WHERE + OWN,
)

claim(
    "nguyen2023/def1",
    "Definition 1",
    "Batch normalised attention",
    theory="svr",
    role="definition",
    words="Attention-BN: formula (22) with the statistics (23).",
    literal=lambda a: All(definition_22(), *statistics().parts, own_statistics(a)),
    assumes=(STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq22", "nguyen2023/eq23"),
    legs=(variant_legs.bn_definition, variant_legs.bn_kernel),
    where=WHERE + OWN,
    notes="It is softmax attention on other queries and keys. So every statement about softmax attention as "
    "an optimal fit holds for it with the normalised keys in place of the keys, among them prose-converse.",
)

claim(
    "nguyen2023/eq31",
    "Eq. (31)",
    "From (22) to (24), line by line",
    theory="svr",
    words="Seven lines: expand the product, drop what does not depend on the key, insert the mean.",
    literal=lambda a: All(
        Identity(
            attention_bn(q_[i], POSITIVE_SCALE),
            soft((qd - md) * (kd - md)),
            (ANY_SCALE,),
            label="(22) by coordinates",
            sizes=SIZES,
        ),
        Identity(
            soft((qd - md) * (kd - md)),
            LAST_LINE,
            (mean_of(a),),
            LINES,
            reason="the mean written out",
            label="the lines",
            sizes=SIZES,
        ),
    ),
    assumes=(STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq22", "nguyen2023/eq23"),
    legs=(variant_legs.bn_by_coordinates,),
    where=WHERE,
    notes="Of the scale only its relation to σ² + ε is used, so the lines hold for any positive scale.",
)

claim(
    "nguyen2023/eq24",
    "Eq. (24)",
    "Attention-BN with key-key similarity",
    theory="svr",
    words="Attention with the scores of (22) is attention with the products of query and key less the mean "
    "product of the key with all keys, each coordinate divided by σ² + ε.",
    literal=lambda a: Identity(
        attention_bn(q_[i], POSITIVE_SCALE), LAST_LINE, (mean_of(a), ANY_SCALE), sizes=SIZES
    ),
    assumes=(STATISTICS_OF_KEYS, BN_EPS),
    rests_on=("nguyen2023/eq22", "nguyen2023/eq31"),
    legs=(variant_legs.bn_by_coordinates,),
    where=WHERE,
)
