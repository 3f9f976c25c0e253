"""Linear attention and its variants, and Theorem 1's equations as Appendix D repeats them: (27) to (30)."""

from __future__ import annotations

from checks.claim import Claim, claim
from checks.leg import Legs
from checks.papers.nguyen2023.linear_formulas import (
    ELU,
    FEATURES,
    PLAIN,
    UNDER,
    corrected_versions,
    eq30,
    katharopoulos,
    printed_versions,
)
from checks.papers.nguyen2023.scaled_heads_formulas import WHERE as HEADS_WHERE
from checks.papers.nguyen2023.theorem1 import EQ11, EQ12, EQ13
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    BIAS_ON,
    EXPONENTIAL,
    KERNEL_SUM,
    LOSS,
    NOTATION,
    VALUES,
)
from derivations.theories.svr import variants as sv

variant_legs = Legs("checks.papers.nguyen2023.legs.attentions")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")
variant_versions = Legs("checks.papers.nguyen2023.legs.versions")


def _again(id: str, reference: str, first: Claim) -> None:
    """The same equation under its number in the web text."""
    claim(
        f"nguyen2023/{id}",
        reference,
        first.title,
        theory=first.theory,
        under=first.under,
        words=first.words,
        literal=first.literal,
        corrected=first.corrected,
        correction_words=first.correction_words,
        assumes=first.assumes,
        rests_on=first.rests_on,
        legs=first.legs,
        derivation=first.derivation,
        where=first.where,
        notes=f"The same equation as {first.id}, printed again in Appendix D. {first.notes}".strip(),
    )


_again("eq27", "Eq. (27)", EQ11)
_again("eq28", "Eq. (28)", EQ12)
_again("eq29", "Eq. (29)", EQ13)


claim(
    "nguyen2023/eq30",
    "Eq. (30)",
    "The steps from the expansion to softmax attention",
    theory="svr",
    words="Inserting the features gives exponentials of rescaled inner products, then exponentials of scaled "
    "scores, over their sum; at a query q_i and without intercept that is (2).",
    literal=eq30,
    assumes=(KERNEL_SUM, EXPONENTIAL, LOSS, BIAS_ON),
    rests_on=("nguyen2023/eq27", "nguyen2023/eq28", "nguyen2023/eq29"),
    where=NOTATION + VALUES + r" $\boldsymbol{q}_i$: a query.",
    notes="The first printed form, double series over double series, is (29) used once in the numerator and "
    "once for each term of the denominator; both series converge absolutely.",
)


claim(
    "nguyen2023/prose-linear-attention",
    "Section 2.2.1",
    "Linear attention",
    theory="svr",
    words="The normalised expansion (27) with the features elu + 1 and b = 0 is linear attention.",
    under=UNDER,
    literal=katharopoulos,
    assumes=(KERNEL_SUM, BIAS_OFF, ELU),
    rests_on=("nguyen2023/eq27",),
    derivation=lambda a: sv.derive(PLAIN.under(a)),
    legs=(variant_legs.linear_attention, variant_optima.linear_optimum),
    where=NOTATION
    + FEATURES
    + r" $C$: the weight of the slacks; $\epsilon$: the residual that costs nothing. The left side "
    "is (27) with these features and without intercept, by entries.",
    notes="The right side is computed in one pass over the keys. Positive features keep the normaliser "
    "positive. There are only D features, so with more keys than that their features are dependent, and the "
    "fitted function does not determine the values.",
)


claim(
    "nguyen2023/prose-linear-bn-sh",
    "Section 2.3",
    "Linear Attention-BN and Attention-SH",
    theory="svr",
    under=UNDER,
    words="Attention-BN and Attention-SH with the linear kernel in place of the softmax kernel.",
    literal=printed_versions(),
    corrected=corrected_versions,
    correction_words="The kernel is that of linear attention, φ(x)·φ(y) with φ = elu + 1, and h sums it over "
    "the keys that enter φ.",
    assumes=(KERNEL_SUM, BIAS_OFF, ELU),
    rests_on=("nguyen2023/eq22", "nguyen2023/eq25", "nguyen2023/prose-linear-attention"),
    legs=(variant_versions.linear_versions, variant_optima.linear_versions_optimum),
    where=NOTATION
    + FEATURES
    + r" $\boldsymbol{\mu}$ and $\mathbf{s}^{-1}$: centre and scale of (22), here any "
    r"where nothing is said, as are $\boldsymbol{\mu}^s$ and $\mathbf{s}^{s^{-1}}$ of head $s$; "
    r"$\boldsymbol{v}_j$: the values. "
    + HEADS_WHERE
    + r" $\boldsymbol{x}^s$: any query of head $s$. The left sides, as corrected, are the fitted "
    r"functions of these features, by entries.",
    notes="Read literally, the linear kernel is the inner product. For (22) its normaliser is then 0 for "
    "every query, because centred keys sum to 0; for (25) it is 0 for a query that is orthogonal to the sum "
    "of the keys. Positive features avoid both. The corrected part holds for any centre and scale.",
)
