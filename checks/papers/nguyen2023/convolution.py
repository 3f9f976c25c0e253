"""Attention on convolved queries and keys: (37) to (45), Definitions 3 and 4, Remark 7.

With identical kernel channels a depth-wise convolution acts on the tokens alone: Flatten(Conv(X, s)) = T X
for a square matrix T that holds the kernel and the padding. So everything is stated for any T, which covers
every padding that keeps the number of tokens.
"""

from __future__ import annotations

from checks.claim import claim
from checks.leg import Legs
from checks.papers.nguyen2023.convolution_formulas import (
    ASSUMES,
    CVT_INSTEAD,
    CVT_WHERE,
    CVT_WORDS,
    FIT,
    LIMIT,
    LINES,
    SAME,
    WHERE,
    WHERE_1D,
    WHERE_2D,
    as_printed,
    conv1d,
    conv2d,
    cvt,
    eq37,
    eq42,
    w,
)
from checks.papers.nguyen2023.program_lines import slope
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    BIAS_ON,
    EXPONENTIAL,
    H_NONZERO,
    KERNEL_SUM,
    LOSS,
)
from checks.statement import Identity
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import d, f_

variant_inputs = Legs("checks.papers.nguyen2023.legs.inputs")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")
BOTH = "the two objectives agree"

claim(
    "nguyen2023/eq37",
    "Eq. (37)",
    "The regression function on a convolved input",
    words="A linear function of the features of the convolved input at position i, fitted by (38).",
    literal=eq37(False),
    corrected=eq37(True),
    correction_words="With the intercept b that the text declares and (38) and (42) have.",
    assumes=(H_NONZERO, SAME),
    rests_on=("nguyen2023/eq4",),
    where=WHERE,
    notes="f is a function of the whole image: f(x_i) is its value at position i, and with the h that is "
    "chosen after (42) h(x_i) depends on the image as well. There is one value for each position if "
    "the convolution keeps the size: with padding p on both sides and stride 1, if the kernel is 2p + 1 "
    "wide. The kernel (2, 2) of the ImageNet model needs unequal padding.",
)


claim(
    "nguyen2023/eq38",
    "Eq. (38)",
    "The program on convolved inputs",
    theory="svr",
    words="A convex program: ridge penalty plus C times the slacks, minimised over W and the slacks.",
    literal=lambda a: LINES.objective(a, (FIT.w, *FIT.slacks), BOTH),
    corrected=lambda a: LINES.objective(a, (FIT.w, FIT.b, *FIT.slacks), BOTH),
    correction_words="The minimisation also runs over b.",
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq37",),
    where=WHERE,
    notes="The same omission as in (5). The convolved inputs are data, so convexity is that of (5).",
)


claim(
    "nguyen2023/eq39",
    "Eq. (39)",
    "The Lagrangian of (38)",
    theory="svr",
    words="The printed function is the Lagrangian that the constraints of (38) give.",
    literal=lambda a: LINES.lagrangian(a),
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq38",),
    where=WHERE,
)
claim(
    "nguyen2023/eq40",
    "Eq. (40)",
    "Stationarity in the weights of (39)",
    theory="svr",
    words="The derivative of (39) by w_d.",
    literal=lambda a: Identity(
        slope(LINES.dual(a), FIT.w, d, f_), (w[d] - LINES.weights)[f_], nonzero=(FIT.h,)
    ),
    assumes=(LOSS, H_NONZERO),
    rests_on=("nguyen2023/eq39",),
    where=WHERE,
)
claim(
    "nguyen2023/eq41",
    "Eq. (41)",
    "The weights from (40)",
    theory="svr",
    words="Where (40) vanishes the weights are a combination of the features of the convolved training "
    "inputs.",
    literal=lambda a: LINES.weights_follow(a, "(40)", label=""),
    assumes=(LOSS, H_NONZERO),
    rests_on=("nguyen2023/eq40",),
    where=WHERE,
)


claim(
    "nguyen2023/eq42",
    "Eq. (42)",
    "The expansion with the convolved kernel",
    theory="svr",
    words="Putting (41) into the fitted function writes it as a kernel expansion over the convolved training "
    "inputs.",
    literal=lambda a: eq42(a, False),
    corrected=lambda a: eq42(a, True),
    correction_words="With the intercept b in (37); the weights are put into (37), not into (38).",
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq37", "nguyen2023/eq41"),
    derivation=lambda a: sv.derive(FIT.under(a)),
    legs=(variant_optima.conv_optimum,),
    where=WHERE,
    notes="The text after (42) has b_s for b, and N for N_H N_W in the sum of A_ij over j that defines h. It "
    "defines h at the query positions only; with the training inputs for X the same sum has the "
    "convolved training inputs in both places.",
)
for _id, _reference in (("eq43", "Eq. (43)"), ("def3", "Definition 3")):
    claim(
        f"nguyen2023/{_id}",
        _reference,
        "Attention-Conv2D",
        theory="svr",
        under=(("bias", "off"),),
        role="definition",
        words="Softmax attention on queries and keys that a depth-wise 2-D convolution has mixed.",
        literal=lambda a: conv2d(a, False),
        corrected=lambda a: conv2d(a, True),
        correction_words=LIMIT,
        assumes=ASSUMES,
        rests_on=("nguyen2023/eq42",),
        legs=(variant_inputs.conv2d, variant_optima.conv_optimum),
        where=WHERE_2D,
        notes="With identical kernel channels the scores are T (Q Kᵀ) Tᵀ: the convolution acts on the score "
        "matrix.",
    )


for _id, _reference in (("eq45", "Eq. (45)"), ("def4", "Definition 4")):
    claim(
        f"nguyen2023/{_id}",
        _reference,
        "Attention-Conv1D",
        theory="svr",
        under=(("bias", "off"),),
        role="definition",
        words="Softmax attention on queries and keys that a depth-wise 1-D convolution has mixed.",
        literal=conv1d,
        assumes=ASSUMES,
        rests_on=("nguyen2023/eq42",) if _id == "eq45" else ("nguyen2023/eq45",),
        legs=(variant_inputs.conv1d, variant_optima.conv1d_optimum),
        where=WHERE_1D,
        notes="With zeros as padding T is a Toeplitz matrix. The kernel of width 5 used in the experiments "
        "keeps the length with padding 2.",
    )
claim(
    "nguyen2023/eq44",
    "Eq. (44)",
    "Convolutional projections of CvT",
    theory="svr",
    under=(("bias", "off"),),
    words="The convolved training input is both key and value, the convolved new input the query; each is "
    "set equal to features of a convolution with a kernel of its own.",
    literal=as_printed(),
    corrected=cvt,
    correction_words=CVT_WORDS,
    instead=CVT_INSTEAD,
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF),
    rests_on=("nguyen2023/eq36", "nguyen2023/eq42", "nguyen2023/prose-converse"),
    legs=(variant_inputs.cvt, variant_optima.cvt_optimum),
    where=CVT_WHERE,
    notes="Keys and values share their middle member, which forces the two convolutions to agree; if "
    "training and new input are the same, as in self-attention, keys and queries agree as well. The features "
    "around the right members have infinite width, and would be applied a second time by the kernel. What "
    "rests on this: Remark 7.",
)
claim(
    "nguyen2023/rem7",
    "Remark 7",
    "CvT's convolutional projections from (42)",
    theory="svr",
    under=(("bias", "off"),),
    words="The convolutional projections of CvT come from (42) by the choices (44).",
    literal=as_printed(),
    corrected=cvt,
    correction_words=CVT_WORDS,
    instead=CVT_INSTEAD,
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF),
    rests_on=("nguyen2023/eq42", "nguyen2023/eq44", "nguyen2023/prose-converse"),
    legs=(variant_inputs.cvt, variant_optima.cvt_optimum),
    where=CVT_WHERE,
    notes="(42) has one convolution for training and new inputs, as (36) has one projection: why one cannot "
    "act as two stands under nguyen2023/eq36.",
)
