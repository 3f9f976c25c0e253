"""Multi-head attention as one regression a head: equations (3), (17), (18)."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import claim
from checks.leg import Legs
from checks.papers.nguyen2023.multihead_formulas import (
    HEAD,
    HEAD_FIT,
    HEAD_ROWS,
    HEAD_VALUES,
    HEAD_WHERE,
    eq3,
    eq17,
    eq18,
)
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    EXPONENTIAL,
    H_NONZERO,
    KERNEL_SUM,
    LOSS,
)
from derivations.theories.svr import variants as sv

variant_heads = Legs("checks.papers.nguyen2023.legs.heads")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")

claim(
    "nguyen2023/eq3",
    "Eq. (3)",
    "Multi-head attention as a sum over heads",
    words="Concatenating the heads' outputs and projecting is the same as projecting each head and adding.",
    literal=eq3(),
    rests_on=("nguyen2023/eq1",),
    legs=(variant_heads.multihead_definition,),
    where=HEAD_WHERE + HEAD_ROWS + r" Head $s$ has the matrices of (1): $\mathbf{A}^s$, the softmax, and "
    r"$\mathbf{H}^s=\mathbf{A}^s\mathbf{V}^s$. A column of the concatenation is a pair (head, coordinate); "
    r"$i$ is a token, $c$ a coordinate of the output.",
    notes="The printed argument of MultiHead lists the heads without their index; only notation is affected.",
)


claim(
    "nguyen2023/eq17",
    "Eq. (17)",
    "The multi-head regression function",
    role="definition",
    words="One regression function a head, each applied to its part of the input; projected and added.",
    literal=eq17(),
    assumes=(H_NONZERO,),
    rests_on=("nguyen2023/eq4",),
    where=HEAD_WHERE + HEAD_FIT + r" $\boldsymbol{y}$ is another name of $f(\boldsymbol{x})$.",
    notes=r"Each head is fitted to its own data; the $\mathbf{W}_O^s$ stand outside all programs.",
)


claim(
    "nguyen2023/eq18",
    "Eq. (18)",
    "The multi-head expansion",
    words="The sum of the heads' expansions is multi-head attention when the inputs are the heads' queries.",
    theory="svr",
    under=(("bias", "off"),),
    literal=eq18,
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, LOSS, H_NONZERO),
    rests_on=("nguyen2023/eq3", "nguyen2023/eq10", "nguyen2023/eq14", "nguyen2023/eq17"),
    derivation=lambda a: sv.derive(HEAD.under(replace(a, bias="on"))),
    legs=(variant_heads.multihead_expansion, variant_optima.multihead_optimum),
    where=HEAD_WHERE + HEAD_ROWS + HEAD_FIT + HEAD_VALUES,
)
