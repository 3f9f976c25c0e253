"""A residual connection and projections in the fitted function: (32) to (36), Remarks 3 and 6."""

from __future__ import annotations

from dataclasses import replace

from checks.claim import Assumption, claim
from checks.leg import Legs
from checks.papers.nguyen2023.residual_formulas import (
    DX_IS_DV,
    F_X,
    FIT,
    LINES,
    MAPS,
    ONE_INPUT,
    PENALTY,
    PRINTED_PENALTY,
    PROJECTIONS,
    WHERE,
    X_V,
    X,
    attention_with_one_projection,
    b,
    corrected_program,
    descent_is_optimal,
    descent_is_stationary,
    expansion_lines,
    h_x,
    necessary,
    one_projection,
    outside,
    phi_x,
    printed_program,
    self_and_cross,
    spans,
    w,
)
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    BIAS_ON,
    EXPONENTIAL,
    H_NONZERO,
    KERNEL_SUM,
    LOSS,
)
from checks.statement import All, Definition
from derivations.calculus.term import as_term
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import d, j

variant_inputs = Legs("checks.papers.nguyen2023.legs.inputs")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")

claim(
    "nguyen2023/eq32",
    "Eq. (32)",
    "The regression function with projection and residual",
    role="definition",
    words="A linear function of the features of the projected input, plus the input itself and an intercept.",
    literal=Definition(F_X, w @ phi_x / h_x + as_term(X) + b, nonzero=(FIT.h_x,)),
    corrected=Definition(F_X, w @ phi_x / h_x + as_term(X_V) + b, nonzero=(FIT.h_x,)),
    correction_words="With D_x = D_v, so that the input can be added to the output.",
    assumes=(H_NONZERO, DX_IS_DV),
    rests_on=("nguyen2023/eq4",),
    where=WHERE + " As corrected $D_x=D_v$.",
    notes="The widths of input and output are introduced as different letters. With unequal widths a linear "
    "map of the input would have to be added. The residual of Section 1.1 needs the same.",
)


claim(
    "nguyen2023/eq33",
    "Eq. (33)",
    "The program with projection and residual",
    theory="svr",
    words="A convex program over the weights W, the projection W_proj and the slacks.",
    literal=printed_program,
    corrected=corrected_program,
    correction_words="With the coordinate x_j(d) in the constraints, D_x = D_v, the rows of W_proj counted "
    "up to D and b among the variables, the program is convex in W, b and the slacks for each fixed W_proj. "
    "In general it is not convex in W and W_proj together.",
    assumes=(LOSS, BIAS_ON, H_NONZERO, DX_IS_DV),
    rests_on=("nguyen2023/eq32",),
    where=WHERE + ONE_INPUT,
    notes="The counterexample uses the paper's own features and h, one input, D = 1, b = 0, and only the "
    "coordinate of degree one of w: w u x exp(-u²x²) has the same value at (w, u) and (-w, -u) and is 0 "
    "halfway between them. The printed constraint also adds a vector to scalars, and the penalty names rows "
    "of W_proj that do not exist if D_v > D and leaves rows out if D_v < D. (35) and (36) use only the "
    "program for a fixed W_proj.",
)


claim(
    "nguyen2023/eq34",
    "Eq. (34)",
    "The Lagrangian of (33)",
    theory="svr",
    words="The printed function is the Lagrangian that the constraints of (33) give.",
    literal=lambda a: LINES.lagrangian(a, as_term(FIT.shift)[j], PRINTED_PENALTY),
    corrected=lambda a: LINES.lagrangian(a, as_term(FIT.shift)[j, d], PENALTY),
    correction_words=(
        "With the coordinate x_j(d) in place of the vector x_j, and the rows of W_proj counted up to D."
    ),
    assumes=(LOSS, BIAS_ON, H_NONZERO, DX_IS_DV),
    rests_on=("nguyen2023/eq33",),
    where=WHERE,
)

claim(
    "nguyen2023/eq35",
    "Eq. (35)",
    "Stationarity in the weights of (34)",
    theory="svr",
    words="The derivative of (34) by w_d, and the weights that it gives.",
    literal=lambda a: All(LINES.derivative(a), LINES.weights_follow(a, "(35)")),
    assumes=(LOSS, H_NONZERO, DX_IS_DV),
    rests_on=("nguyen2023/eq34",),
    where=WHERE + " $D_x=D_v$.",
    notes="Necessary although the joint program need not be convex: at an optimum, W solves the program for "
    "the optimal W_proj, which is convex with affine constraints, so multipliers exist. That h depends on "
    "W_proj does not matter here.",
)

claim(
    "nguyen2023/prose-wproj-by-gradient-descent",
    "Appendix F, below (35)",
    "The optimal projection by gradient descent",
    words="The optimal value of W_proj can be found by gradient descent on the objective of (33).",
    literal=descent_is_optimal(),
    corrected=descent_is_stationary(),
    correction_words="Where gradient descent rests the slopes vanish: what it finds is a stationary value, "
    "with the weights of (35), of multiplier C.",
    assumes=(
        Assumption(
            "where descent rests",
            "that descent finds the optimum is read as: the objective is least where its steps vanish at a "
            "strict local minimum (second derivatives positive definite), which draws it from nearby",
        ),
    ),
    rests_on=("nguyen2023/eq33", "nguyen2023/eq35"),
    where=r"(33) for one input $x$ with target $y$ and one feature, $\Phi(z)=z^2e^{-z^2}$ with $h=1$, all "
    r"widths 1, and $\boldsymbol{b}=0$, which (33) does not list among its variables: $u$ is "
    r"$\mathbf{W}^{\mathrm{proj}}$, $w$ is $\mathbf{W}$, and $u_\star,w_\star$ are any others; $F$ the "
    r"objective with the slacks solved for, where $y$ lies above the tube; $C$, $\epsilon$ those of (33); "
    "$t$ the step.",
    notes="(33) is stated for every feature map. In training it is the loss of the transformer that is "
    "descended, not (33); it need not be convex either.",
)

claim(
    "nguyen2023/eq36",
    "Eq. (36)",
    "The expansion with residual, and separate projections",
    theory="svr",
    under=(("bias", "off"),),
    words="The expansion of (32) has a residual; taking W_proj x_j = W_K x_j, W_proj x = W_Q x and v_j = W_V "
    "x_j, with x among the x_j, gives the projections of attention.",
    literal=lambda a: All(one_projection(), *expansion_lines(a), attention_with_one_projection(a)),
    corrected=lambda a: All(*expansion_lines(a), attention_with_one_projection(a), necessary(), outside(a)),
    correction_words="The expansion holds if D_x = D_v. Separate projections need not come from one W_proj "
    "in self-attention. They come from (5) on the keys W_K x_j, evaluated at W_Q x_i, with the residual "
    "added outside.",
    assumes=(LOSS, KERNEL_SUM, EXPONENTIAL, BIAS_OFF, H_NONZERO, DX_IS_DV),
    rests_on=("nguyen2023/eq32", "nguyen2023/eq35", "nguyen2023/prose-converse"),
    derivation=lambda a: sv.derive(FIT.under(replace(a, bias="on"))),
    where=WHERE
    + MAPS
    + " What stands before the first line of (36) and before the softmax form is not printed: the expansion "
    "that the theory derives, by entries.",
    legs=(
        spans,
        variant_inputs.residual_projections,
        variant_inputs.one_projection,
        variant_optima.residual_optimum,
    ),
    notes=PROJECTIONS + " What rests on the projections: Remark 3, (44) and Remark 7.",
)

claim(
    "nguyen2023/rem3",
    "Remark 3",
    "Residual and projections",
    theory="svr",
    under=(("bias", "off"),),
    words=(
        "Theorem 1 extends to the residual connection and the projections, by the derivation of Appendix F."
    ),
    literal=lambda a: All(one_projection(), outside(a)),
    corrected=lambda a: All(necessary(), outside(a)),
    correction_words="It extends by taking the keys W_K x_j, the query W_Q x_i and the values W_V x_j in "
    "Theorem 1 and adding the residual outside; the projections are then chosen before the regression, not "
    "by it.",
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, DX_IS_DV),
    rests_on=("nguyen2023/thm1", "nguyen2023/eq36", "nguyen2023/prose-converse"),
    legs=(variant_inputs.residual_projections,),
    where=r"Training inputs $\boldsymbol{x}_j$, $j=1,\dots,N$; "
    r"$\mathbf{W}^{\mathrm{proj}}\in\mathbb{R}^{D\times D_x}$."
    + MAPS
    + " The bracket on the left side of (b) is not printed: the expansion that the theory derives from (5) "
    "on these keys, by entries.",
    notes=PROJECTIONS,
)


claim(
    "nguyen2023/rem6",
    "Remark 6",
    "Self-attention and cross-attention",
    theory="svr",
    under=(("bias", "off"),),
    words="The expansion may be evaluated at a training input (self-attention) or at any other "
    "(cross-attention).",
    literal=self_and_cross,
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, DX_IS_DV),
    rests_on=("nguyen2023/eq36",),
    legs=(variant_inputs.one_projection,),
    where=WHERE
    + r" $\boldsymbol{v}_j$: the values of (36), any vectors of width $D_v$. The left sides are not "
    r"printed: (36) with the features (28) and their kernel sum as $h$, by entries.",
    notes="When one projection can act as two stands under nguyen2023/eq36.",
)
