"""What normalising and centering change: (26), the effect claimed in Section 2.3.1, linear attention."""

from __future__ import annotations

from checks.claim import claim
from checks.leg import Legs
from checks.papers.nguyen2023.batchnorm_formulas import BN_EPS, MEAN, WHERE
from checks.papers.nguyen2023.centering_formulas import (
    ANY_BETA,
    BETA_WHERE,
    OWN,
    both,
    criterion,
    derived,
    effect,
    effect_of_centering,
)
from checks.papers.nguyen2023.theorem1_formulas import BIAS_OFF, EXPONENTIAL, KERNEL_SUM, H
from checks.statement import All, Definition
from derivations.calculus.term import as_term
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import i

variant_legs = Legs("checks.papers.nguyen2023.legs.attentions")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")

claim(
    "nguyen2023/eq26",
    "Eq. (26)",
    "Attention-BN simplified to weighted centering",
    theory="svr",
    under=(("bias", "off"),),
    role="definition",
    words="Softmax attention with β times the mean of the keys subtracted from queries and keys; no scaling.",
    literal=lambda a: All(Definition(as_term(H)[i], both(a), (MEAN,)), derived(a)),
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, ANY_BETA),
    rests_on=("nguyen2023/eq22",),
    derivation=lambda a: sv.derive(OWN.under(a)),
    legs=(variant_legs.beta_definition, variant_optima.beta_optimum),
    where=BETA_WHERE + " The other letters of the derivation are those of (5) and (6).",
    notes="The text says that (22) simplifies to this. It is another attention: equal to (22) for β = 1 "
    "where the scale of (22) is 1. It has an SVR of its own, (5) on the keys less βμ, with h the kernel sum "
    "over these.",
)


claim(
    "nguyen2023/prose-centering-only",
    "Section 3 and (26)",
    "What centering queries and keys changes",
    words="Printed is that recentering alone suffices, an observation, and that β adjusts the effect on the "
    "scores. How it does is worked out here: for softmax attention the centering of the keys cancels, and "
    "centering the queries by βμ amounts to one additive bias -β μ·k_j/√D for each key, whatever the query. "
    "For linear attention neither cancels in general.",
    theory="svr",
    literal=effect_of_centering,
    assumes=(ANY_BETA,),
    rests_on=("nguyen2023/eq26",),
    legs=(variant_legs.beta_as_bias,),
    where=BETA_WHERE + r" $\varphi$: elu + 1, the feature map of linear attention.",
    notes="Proof for softmax: (q - βμ)·(k_j - βμ) = q·k_j - βμ·k_j - βq·μ + β²μ·μ, and a softmax over j "
    "ignores the last two terms. They are the ones that centering the keys brings in. For linear attention "
    "the features are nonlinear, so the shift does not factor out.",
)


claim(
    "nguyen2023/prose-effect-of-normalisation",
    "Section 2.3.1",
    "Which keys lose weight by normalisation",
    words="A key that is too similar to the other keys is attended to less, and the other way round.",
    literal=effect(),
    corrected=criterion(),
    correction_words="A key loses weight exactly when its bias g_j exceeds -ln of the average of exp(-g) "
    "under the old weights; in (24) g_j is the scaled mean inner product of key j with all keys, itself "
    "included.",
    assumes=(BN_EPS,),
    rests_on=("nguyen2023/eq24",),
    where=WHERE
    + r" $t_j=\sum_d q(d)k_j(d)/(\sqrt{D}(\sigma_d^2+\epsilon))$: the score; $g_j$: what is subtracted.",
    notes="In the counterexample the key with the lowest inner product with the others loses weight, and "
    "those with the highest gain it: the inner product of a key with itself counts among those with all "
    "keys. Measured by the inner product with the weights 1/(σ_d² + ε), and for keys of one norm in it, the "
    "sentence holds: g_j is then largest for the key most similar to the others, and smallest for the least "
    "similar.",
)
