"""Theorem 1 and what leads to it: equations (1), (2), (4) to (15), Remarks 1, 2 and 4."""

from __future__ import annotations

import sympy as sp

from checks.claim import Assumption, claim
from checks.kinds.implication import Implication
from checks.kinds.programs import Convex, Dual
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.leg import Legs
from checks.papers.nguyen2023.program_lines import FIVE
from checks.papers.nguyen2023.theorem1_formulas import (
    BIAS_OFF,
    BIAS_ON,
    BINOMIAL,
    DEGREE,
    EPS_POSITIVE,
    EXPONENTIAL,
    H_NONZERO,
    H_POSITIVE,
    KERNEL_SUM,
    LAST,
    LETTERS,
    LINE_ONE,
    LINE_TWO,
    LOSS,
    PARTIAL_SUM,
    PROGRAM,
    SUM_FORM,
    THEOREM,
    UNBOUNDED,
    V_RULE,
    VALUES,
    WIDTH,
    H,
    alpha,
    alpha_t,
    b,
    c,
    count,
    derived,
    eq11,
    eta,
    eta_t,
    f_x,
    h_x,
    multinomial,
    phi_x,
    remark1,
    remark4,
    softmax_attention,
    stationarity,
    theorem,
    w,
    with_values,
)
from checks.statement import All, Definition, Fact, Given, Identity, occurring
from derivations.calculus.index import Tensor
from derivations.calculus.term import as_term, row_softmax, size, sqrt, sum_over
from derivations.theories.svr import regression as svr
from derivations.theories.svr.attentions import K, Q, V
from derivations.theories.svr.regression import D, N, d, i, j

legs = Legs("checks.papers.nguyen2023.legs.theorem1")
rows = Legs("checks.papers.nguyen2023.legs.rows")
variant_legs = Legs("checks.papers.nguyen2023.legs.attentions")
variant_optima = Legs("checks.papers.nguyen2023.legs.optima")
BOTH = "the two forms of the objective agree"
A = Tensor("A", (N, N), r"\mathbf{A}")
SOFTMAX = row_softmax(as_term(Q) @ as_term(K).T / sqrt(size(D)))
A_RULE = Given(A, (i, j), SOFTMAX[i, j], "the attention matrix")

claim(
    "nguyen2023/eq1",
    "Eq. (1)",
    "Softmax attention in matrix form",
    role="definition",
    words="The output is the row-wise softmax of the scaled scores, times the values; A is that softmax.",
    literal=All(
        Definition(as_term(H), SOFTMAX @ as_term(V), label="output"),
        Definition(as_term(A), SOFTMAX, label="attention matrix"),
        Identity(SOFTMAX @ as_term(V), as_term(A) @ as_term(V), (A_RULE,), label="H = AV"),
    ),
    legs=(rows.attention_engines,),
    where=r"$N$ tokens; $\mathbf{Q},\mathbf{K}\in\mathbb{R}^{N\times D}$, "
    r"$\mathbf{V}\in\mathbb{R}^{N\times D_v}$, $\mathbf{A}\in\mathbb{R}^{N\times N}$.",
)


claim(
    "nguyen2023/eq2",
    "Eq. (2)",
    "Softmax attention for one query",
    words="Row i of (1) is a weighted sum of the values with softmax weights over the keys.",
    literal=Identity(
        (SOFTMAX @ as_term(V))[i],
        SUM_FORM,
        reason="row i of the matrix product, with the softmax written over the index j that it normalises",
    ),
    rests_on=("nguyen2023/eq1",),
    legs=(rows.eq2_rows,),
    where=r"$\mathbf{Q},\mathbf{K}\in\mathbb{R}^{N\times D}$ with rows $\boldsymbol{q}_i,\boldsymbol{k}_j$; "
    r"$\mathbf{V}\in\mathbb{R}^{N\times D_v}$ with rows $\boldsymbol{v}_j$.",
    notes="The paper writes softmax of a single score; the index over which it normalises, j, is made "
    "explicit here.",
)

claim(
    "nguyen2023/eq4",
    "Eq. (4)",
    "The regression function with scaled features",
    theory="svr",
    role="definition",
    words="A linear function of the features, scaled by a scalar function h, plus an intercept.",
    literal=Definition(as_term(f_x), w @ phi_x / h_x + b, nonzero=(svr.h_x,)),
    assumes=(H_NONZERO,),
    where=PROGRAM,
    notes="With the features (12) the width of Φ is infinite and the product with W is a series, which "
    "converges for rows of finite norm, as the penalty of (5) has them.",
)


claim(
    "nguyen2023/eq5",
    "Eq. (5)",
    "The support vector regression program",
    theory="svr",
    words="A convex program: ridge penalty on the weights plus C times the slacks, minimised over W and the "
    "slacks.",
    literal=lambda a: FIVE.objective(a, (svr.w, svr.xi, svr.xi_t), BOTH),
    corrected=lambda a: FIVE.objective(a, (svr.w, svr.b, svr.xi, svr.xi_t), BOTH),
    correction_words="The minimisation also runs over b; otherwise b is given and (7) does not follow.",
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq4",),
    legs=(legs.primal_and_dual,),
    where=PROGRAM,
    notes="The text calls the fit a ridge regression; the penalty is that of ridge regression, the loss is "
    "not.",
)


claim(
    "nguyen2023/eq6",
    "Eq. (6)",
    "The Lagrangian of (5)",
    theory="svr",
    words="The printed function is the Lagrangian that the constraints of (5) give.",
    literal=lambda a: FIVE.lagrangian(a, of=" from program (5)"),
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq5",),
    where=PROGRAM,
)

claim(
    "nguyen2023/eq7",
    "Eq. (7)",
    "Stationarity in the bias",
    theory="svr",
    words="The derivative of (6) by b(d) is the sum of α̃ - α over the keys, so α - α̃ sums to zero.",
    literal=lambda a: All(
        Identity(
            stationarity(a, svr.b, d),
            sum_over(j, alpha_t[j, d] - alpha[j, d]),
            nonzero=occurring((svr.h_k,), stationarity(a, svr.b, d)),
            label="the derivative",
        ),
        Implication(
            (Fact("stationarity", sum_over(j, alpha_t[j, d] - alpha[j, d]), "="),),
            Fact("centering", sum_over(j, alpha[j, d] - alpha_t[j, d]), "="),
            label="the implication",
        ),
    ),
    assumes=(BIAS_ON, LOSS, H_NONZERO),
    rests_on=("nguyen2023/eq6",),
    where=PROGRAM,
)

claim(
    "nguyen2023/eq8",
    "Eq. (8)",
    "Stationarity in the weights",
    theory="svr",
    words="The derivative of (6) by w_d, and the weights that it gives.",
    literal=lambda a: All(FIVE.derivative(a), FIVE.weights_follow(a, "(8)")),
    assumes=(LOSS, H_NONZERO),
    rests_on=("nguyen2023/eq6",),
    legs=(legs.primal_and_dual,),
    where=PROGRAM,
)

claim(
    "nguyen2023/eq9",
    "Eq. (9)",
    "Stationarity in the slacks",
    theory="svr",
    words="The derivatives of (6) by the slacks are C - α - η and C - α̃ - η̃.",
    literal=lambda a: All(
        *(
            Identity(
                stationarity(a, slack, j, d),
                c - multiplier[j, d] - other[j, d],
                nonzero=occurring((svr.h_k,), stationarity(a, slack, j, d)),
                label=label,
            )
            for slack, multiplier, other, label in (
                (svr.xi, alpha, eta, "by ξ"),
                (svr.xi_t, alpha_t, eta_t, "by ξ̃"),
            )
        ),
    ),
    assumes=(LOSS, H_NONZERO),
    rests_on=("nguyen2023/eq6",),
    where=PROGRAM,
)

claim(
    "nguyen2023/eq10",
    "Eq. (10)",
    "The support vector expansion",
    theory="svr",
    words="Putting (8) into (4) writes f as a kernel expansion over the keys with values v_j.",
    literal=lambda a: All(
        Identity(
            derived(a),
            LINE_ONE,
            nonzero=(svr.h_k, svr.h_x),
            label="first line",
            reason="(8) substituted into (4)",
        ),
        Identity(LINE_ONE, LINE_TWO, given=(V_RULE,), nonzero=(svr.h_k, svr.h_x), label="second line"),
    ),
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq4", "nguyen2023/eq8"),
    legs=(legs.primal_and_dual, legs.exact_certificate),
    derivation=lambda a: svr.dual(a).steps,
    where=PROGRAM + " The left side of (a) is not printed: it is f(x) of (4) with (8), by entries.",
)


SUM_NONZERO = Assumption("kernel sum not 0", "of the corrected statement alone: h(x) ≠ 0")
EQ11 = claim(
    "nguyen2023/eq11",
    "Eq. (11)",
    "The expansion normalised by the kernel sum",
    theory="svr",
    words="With h the sum of the kernel values over all keys, the expansion is a normalised weighted sum of "
    "the values.",
    literal=lambda a: eq11(a, ()),
    corrected=lambda a: eq11(a, (svr.h_x,)),
    correction_words="The same, for every query at which the kernel sum does not vanish (always so where all "
    "values of the kernel are positive).",
    assumes=(KERNEL_SUM, SUM_NONZERO),
    rests_on=("nguyen2023/eq10",),
    where=PROGRAM
    + r" $\boldsymbol{v}_j\in\mathbb{R}^{D_v}$: any values. The left side of (a) is not printed: it is "
    "(10), by entries.",
    notes="For a general Φ the kernel sum can vanish, at the query or at a key; with the exponential kernel "
    "it is positive.",
)

EQ12 = claim(
    "nguyen2023/eq12",
    "Eq. (12)",
    "The feature map of the exponential kernel",
    theory="svr",
    words="Φ lists all monomials, block t holding the l_t = binom(D + t - 1, t) monomials of degree t.",
    literal=Recurrence(
        BINOMIAL,
        (WIDTH, DEGREE),
        (
            Base("one monomial of degree 0", DEGREE, 0, sp.Integer(1)),
            Base("one monomial of each degree in one variable", WIDTH, 1, sp.Integer(1)),
        ),
        QUANTITY(WIDTH - 1, DEGREE) + QUANTITY(WIDTH, DEGREE - 1),
        "a monomial of degree t either has no factor x_D, or is x_D times one of degree t - 1",
        count,
        tuple((width, degree) for width in range(1, 5) for degree in range(0, 6)),
    ),
    legs=(legs.truncation,),
    where=r"$D$ the width of a key, $t$ the degree of a block, $f(D, t)=\#\{n\in\{0,1,\dots\}^D: "
    r"n_1+\dots+n_D=t\}$ the number of monomials of that degree, which is printed as $l_t=\binom{D+t-1}{t}$; "
    r"block $t$ of $\Phi(\boldsymbol{x})$ has one entry "
    r"$a^{(t)}_l=\prod_d(x_d/\sqrt[4]{D})^{n_d}/\sqrt{n_d!}$ for each such tuple $n$.",
    notes="What can be false here is the number of entries of a block, and that is decided; that the entries "
    "make the exponential kernel is (13). There are infinitely many: the width D_φ of (4) is not finite.",
)


EQ13 = claim(
    "nguyen2023/eq13",
    "Eq. (13)",
    "The exponential as a sum over monomials",
    theory="svr",
    words="exp(x·y) is its power series, and each term of it is a sum over the monomials of its degree.",
    literal=Recurrence(
        (PARTIAL_SUM + LAST) ** DEGREE / sp.factorial(DEGREE),
        (DEGREE,),
        (Base("degree 0: both sides are 1", DEGREE, 0, sp.Integer(1)),),
        QUANTITY(DEGREE - 1),
        "derivative by the last z = x_D y_D: both sides go to degree t - 1",
        multinomial,
        tuple((degree,) for degree in range(0, 5)),
        slope=(LAST, PARTIAL_SUM**DEGREE / sp.factorial(DEGREE)),
        at=((PARTIAL_SUM, sum(LETTERS[:-1])), (LAST, LETTERS[-1])),
    ),
    legs=(legs.truncation,),
    where=r"$f(t)=\sum_{n_1+\dots+n_D=t}\prod_d\frac{x_d^{n_d}}{\sqrt{n_d!}}\frac{y_d^{n_d}}{\sqrt{n_d!}}$, "
    r"the terms of degree $t$, $S = x_1y_1 + \dots + x_{D-1}y_{D-1}$ and $z = x_Dy_D$ in the induction over "
    r"$D$ and $t$, real numbers. Printed is the sum over all $t$, which is the power series of "
    r"$\exp(\boldsymbol{x}^\top\boldsymbol{y})$.",
)


claim(
    "nguyen2023/eq14",
    "Eq. (14)",
    "The expansion becomes softmax attention",
    theory="svr",
    words="With the features (12) and h the kernel sum, the weights of the values are a softmax of scaled "
    "scores; at a query q_i and without intercept that is (2).",
    literal=softmax_attention,
    assumes=(KERNEL_SUM, EXPONENTIAL, LOSS, BIAS_ON),
    rests_on=("nguyen2023/eq11", "nguyen2023/eq12", "nguyen2023/eq13"),
    legs=(legs.truncation,),
    where=PROGRAM + VALUES + r" $\boldsymbol{q}_i$: a query.",
)


THEOREM_LEGS = (
    legs.primal_and_dual,
    legs.exact_certificate,
    rows.theorem_rows,
    variant_legs.softmax_expansion,
    variant_optima.softmax_optimum,
)

claim(
    "nguyen2023/eq15",
    "Eq. (15)",
    "The formula of Theorem 1",
    theory="svr",
    words="The support vector expansion is softmax attention of the query x over the keys.",
    literal=theorem,
    under=THEOREM,
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, UNBOUNDED),
    rests_on=("nguyen2023/eq14",),
    derivation=svr.derive,
    legs=THEOREM_LEGS,
    where=PROGRAM + VALUES,
)

claim(
    "nguyen2023/thm1",
    "Theorem 1",
    "Softmax attention is a support vector expansion",
    theory="svr",
    words="For program (5) with b = 0, the features (12), h the kernel sum and unbounded v_j (no slacks), "
    "the support vector expansion of f has the form of softmax attention with values v_j.",
    under=THEOREM,
    literal=lambda a: All(
        theorem(a),
        with_values(a),
        Convex(svr.primal(a), label="the program is convex, so its stationary points are its solutions"),
    ),
    assumes=(KERNEL_SUM, EXPONENTIAL, BIAS_OFF, UNBOUNDED),
    rests_on=("nguyen2023/eq5", "nguyen2023/eq8", "nguyen2023/eq11", "nguyen2023/eq13", "nguyen2023/eq15"),
    legs=THEOREM_LEGS,
    derivation=svr.derive,
    where=PROGRAM
    + VALUES
    + " The left side of (b) is not printed: the fitted function with the weights that the dualiser finds, "
    "by entries.",
    notes="Dropping the bound on v_j is read as C = ∞, that is (5) without slacks; for ε ≥ 0 it is feasible "
    "if the features of the keys are independent (nguyen2023/prose-epsilon-precision). For finite C the "
    "expansion "
    "has the same form with v_j confined to ±C/h(k_j). The theorem is about the form: which values occur as "
    "solutions of (5), and for which targets, C and ε, is answered under nguyen2023/prose-converse.",
)


claim(
    "nguyen2023/rem1",
    "Remark 1",
    "Bounds on the multipliers and the values",
    theory="svr",
    words="α and α̃ lie in [0, C], their product vanishes, and v_j(d) lies in [-C/h(k_j), C/h(k_j)].",
    literal=remark1(">=", False),
    corrected=remark1(">", True),
    correction_words="The bounds on α hold as stated; the product vanishes if ε > 0, and the interval for "
    "v_j(d) needs h(k_j) > 0.",
    assumes=(EPS_POSITIVE, H_POSITIVE),
    rests_on=("nguyen2023/eq9",),
    where=PROGRAM,
    notes="With ε = 0 both multipliers of an interpolated point can be positive: beyond the bounds only "
    "their difference enters the dual program. The interval for v_j(d) follows from the bounds on α alone; "
    "the vanishing product is not needed for it.",
)

claim(
    "nguyen2023/rem2",
    "Remark 2",
    "Without bias there is no centering constraint",
    theory="svr",
    words="With b = 0 the dual of (5) has no condition that α - α̃ sums to zero; the conditions (9) remain.",
    under=(("bias", "off"),),
    literal=lambda a: Dual(
        svr.primal(a), ((svr.xi, c - alpha[i, d] - eta[i, d]), (svr.xi_t, c - alpha_t[i, d] - eta_t[i, d]))
    ),
    assumes=(BIAS_OFF, LOSS),
    rests_on=("nguyen2023/eq7",),
    legs=(legs.centering_is_not_needed,),
    where=PROGRAM,
)
claim(
    "nguyen2023/rem4",
    "Remark 4",
    "A normalised layer and an attention layer are two forms of one function",
    theory="svr",
    words="The expansion Σ_j Φ(x)ᵀΦ(k_j)/h(x) v_j + b is the layer W Φ(x)/h(x) + b with W = Σ_j v_j Φ(k_j)ᵀ, "
    "for all keys and values; and the layer that (5) fits is the expansion with v_j = (α_j - α̃_j)/h(k_j).",
    literal=remark4,
    assumes=(LOSS, BIAS_ON, H_NONZERO),
    rests_on=("nguyen2023/eq4", "nguyen2023/eq8", "nguyen2023/eq10"),
    where=PROGRAM,
    notes="Primal-dual is meant in this sense: the same function, written with weights or with values. The "
    "layer is the fitted function of (4); a layer with other weights and the same b is an attention over "
    "these keys only if the rows of W lie in the span of the features Φ(k_j), up to vectors orthogonal to "
    "every Φ(x). That given values also solve (5) takes the right targets, a large enough C and, with b a "
    "variable, Σ_j h(k_j) v_j(d) = 0, which is (7): see nguyen2023/prose-converse.",
)
