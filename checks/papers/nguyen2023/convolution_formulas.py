"""Formulas of attention on convolved queries and keys: (37) to (45), Definitions 3 and 4, Remark 7."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Assumption
from checks.kinds.examples import Point, Rule
from checks.kinds.feasible import Solvable
from checks.kinds.programs import Convex, WellPosed
from checks.papers.nguyen2023.theorem1_formulas import BIAS_OFF, EXPONENTIAL, KERNEL_SUM
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import (
    Term,
    as_term,
    row_softmax,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
)
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DPHI, DV, C, D, N, SvrAssumptions, d, epsilon

GRID = r"N_HN_W"
i, j, l = (Index(n, GRID) for n in "ijl")
c = Index("d", D)
SAME = Assumption("same_padding", "the convolution keeps the number of tokens")
TOKENS = r"\operatorname{Flatten}(\operatorname{Conv2D}(\mathbf{X}^{\mathrm{train}},s))(%1)"
QUERY = r"\operatorname{Flatten}(\operatorname{Conv2D}(\mathbf{X},s))(i)"
FIT = sv.Variant(
    "(38)",
    count=GRID,
    train=rf"\Phi({TOKENS})",
    query=rf"\Phi({QUERY})",
    height=r"h(\boldsymbol{x}^{\mathrm{train}}_{%1})",
    height_query=r"h(\boldsymbol{x}_i)",
)
w, b, y, v = (as_term(t) for t in (FIT.w, FIT.b, FIT.y, FIT.v))
phi, phi_x, h, h_x = (as_term(t) for t in (FIT.phi, FIT.phi_x, FIT.h, FIT.h_x))
xi, xi_t = (as_term(t) for t in FIT.slacks)
alpha, alpha_t, eta, eta_t = (as_term(t) for t in FIT.multipliers)
MIX = Tensor("T", (GRID, GRID), r"\mathbf{T}")
X_IN = Tensor("X", (GRID, D), r"\mathbf{X}", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
WHERE = (
    r"An image of $N_H\times N_W$ tokens; $\operatorname{Flatten}(\operatorname{Conv2D}(\mathbf{X},s)) = "
    r"\mathbf{T}\mathbf{X}$ with $\mathbf{T}$ the square matrix of the $s\times s$ kernel and its padding;"
    r" features $\Phi$, normaliser $h$ and multipliers as in (5)."
)


def convolved(tokens: Term, at: Index) -> Term:
    """Row ``at`` of T X."""
    return sum_over(l, as_term(MIX)[at, l] * tokens[l])


def function_of_x() -> Rule:
    """f takes equal inputs to equal convolved inputs: it does not."""
    x = as_term(X_IN)
    same = (x[i] - x[j])[c]
    differ = (convolved(x, i) - convolved(x, j))[c]
    image = ((0,), (0,), (1,))
    kernel = ((1, 1, 0), (1, 1, 1), (0, 1, 1))  # a row of three pixels, kernel (1, 1, 1), zero padding
    return Rule(
        (Fact("x_i = x_j", same, "="),),
        Fact("the difference of the convolved inputs", differ, "="),
        Point(((GRID, 3), ("D", 1)), ((X_IN, image), (MIX, kernel)), ((i, 1), (j, 2))),
        label="f is a function of the input x_i",
    )


F_X = as_term(Tensor("f(x)", (DV,), r"f(\boldsymbol{x}_i)"))

RIDGE = Fraction(1, 2) * sum_over(d, squared_norm(w[d]))
SLACKS = as_term(C) * sum_over(j, d, xi[j, d] + xi_t[j, d])


def _program(a: SvrAssumptions, variables: tuple[Tensor, ...]) -> All:
    program = FIT.under(a).program()
    return All(
        (
            Identity(
                Fraction(1, 2) * squared_norm(w) + SLACKS, RIDGE + SLACKS, label="the two objectives agree"
            ),
            Identity(RIDGE + SLACKS, program.objective, label="the objective is that of the program"),
            Convex(program, label="the program is convex"),
            WellPosed(
                program, variables, FIT.data(), label="the minimisation runs over the listed variables"
            ),
        )
    )


def _lagrangian() -> Term:
    fitted = w[d].T @ (phi[j] / h[j])
    eps = as_term(epsilon)
    return (
        RIDGE
        + SLACKS
        - sum_over(j, d, eta[j, d] * xi[j, d] + eta_t[j, d] * xi_t[j, d])
        - sum_over(j, d, alpha[j, d] * (eps + xi[j, d] - y[j, d] + fitted + b[d]))
        - sum_over(j, d, alpha_t[j, d] * (eps + xi_t[j, d] + y[j, d] - fitted - b[d]))
    )


WEIGHTS = sum_over(j, (alpha[j, d] - alpha_t[j, d]) * (phi[j] / h[j]))

V_RULE = Given(FIT.v, (j, d), (alpha[j, d] - alpha_t[j, d]) / h[j], "the definition of the values")
A_IJ = Given(
    Tensor("A_i", (GRID,), r"\mathbf{A}_i", "", r"\mathbf{A}_{i%1}"),
    (j,),
    phi_x.T @ phi[j],
    "the definition of A_ij",
)
a_ij = as_term(A_IJ.tensor)[j]
LINE1 = stack(d, sum_over(j, (alpha[j, d] - alpha_t[j, d]) / h[j] * (a_ij / h_x))) + b
LINE2 = sum_over(j, a_ij / h_x * v[j]) + b


def _eq42(a: SvrAssumptions, with_b: bool) -> All:
    """Both lines, from (37) with or without the intercept."""
    own = FIT.under(a)
    predicted = own.prediction() if with_b else w @ phi_x / h_x
    derived = stack(d, Raw((), sv.dual(own).substitute(predicted.entry(d))))
    both = (FIT.h, FIT.h_x)
    return All(
        (
            Identity(derived, LINE1, (A_IJ,), nonzero=both, label="first line", reason="(41) put into (37)"),
            Identity(LINE1, LINE2, (A_IJ, V_RULE), nonzero=both, label="second line"),
        )
    )


# ---------------------------------------------------------------- the attentions


def tensors_on(tokens: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, keys, values and token mixing for a set of tokens."""
    names = (("Q", D, "q"), ("K", D, "k"), ("V", DV, "v"))
    found = [
        Tensor(
            n,
            (tokens, width),
            rf"\mathbf{{{n}}}",
            rf"\boldsymbol{{{x}}}_{{%1}}",
            rf"\boldsymbol{{{x}}}_{{%1}}(%2)",
        )
        for n, width, x in names
    ]
    return found[0], found[1], found[2], Tensor("T", (tokens, tokens), r"\mathbf{T}")


def conv_attention(tokens: str, at: Index, over: Index) -> Term:
    """Σ_j softmax((T Q)_i·(T K)_j/√D) v_j with the sum over the index ``over``."""
    queries, keys, values, mix = (as_term(t) for t in tensors_on(tokens))
    score = (mix @ queries)[at].T @ (mix @ keys)[over] / sqrt(size(D))
    return sum_over(over, softmax(over, score) * values[over])


def _mixed(tokens: str) -> Identity:
    """The same as attention with the score matrix T (Q Kᵀ) Tᵀ."""
    at, over = Index("i", tokens), Index("j", tokens)
    queries, keys, values, mix = (as_term(t) for t in tensors_on(tokens))
    scores = (mix @ (queries @ keys.T) @ mix.T) / sqrt(size(D))
    whole = row_softmax(scores) @ values
    sizes = ((tokens, 2), ("D", 4), ("D_v", 1))
    return Identity(
        conv_attention(tokens, at, over), whole[at], sizes=sizes, label="as a mixing of the score matrix"
    )


PAPER = SvrAssumptions(bias="off")


def derived_attention(tokens: str, a: SvrAssumptions = PAPER) -> Identity:
    """(43) and (45) from the program on the convolved keys."""
    at, over = Index("i", tokens), Index("j", tokens)
    own = sv.Variant("convolved keys", count=tokens)
    queries, keys, values, mix = tensors_on(tokens)
    query, key = (as_term(mix) @ as_term(queries))[at], (as_term(mix) @ as_term(keys))[over]
    expr = sv.regenerated(own, a, query, key, (over, as_term(keys)[over]))
    derived = stack(d, Raw((), sv.renamed(expr, {own.v: values})))
    sizes = ((tokens, 2), ("D", 4), ("D_v", 1))
    return Identity(
        derived, conv_attention(tokens, at, over), sizes=sizes, label="from the program on convolved keys"
    )


def _output(at: Index) -> Term:
    return as_term(Tensor("h", (at.dim, DV), r"\mathbf{H}", r"\boldsymbol{h}_{%1}"))[at]


def _conv2d(a: SvrAssumptions, corrected: bool) -> All | Definition:
    if not corrected:
        return Definition(_output(i), conv_attention(GRID, i, Index("j", N)))
    return All((Definition(_output(i), conv_attention(GRID, i, j)), _mixed(GRID), derived_attention(GRID, a)))


ASSUMES = (KERNEL_SUM, EXPONENTIAL, BIAS_OFF, SAME)
LIMIT = (
    "The sum runs over the N_H N_W keys; N is not introduced here (only later, in Remark 7, as this product)."
)


def _conv1d(a: SvrAssumptions) -> All:
    at, over = Index("i", N), Index("j", N)
    return All((Definition(_output(at), conv_attention(N, at, over)), _mixed(N), derived_attention(N, a)))


# ---------------------------------------------------------------- the convolutional projections of CvT

PLAIN = Tensor("c", (GRID, D), r"\mathbf{C}", r"\boldsymbol{c}_{%1}", r"\boldsymbol{c}_{%1}(%2)")
KEYS, QUERIES, VALUES = (
    Tensor(
        f"conv_{n}",
        (GRID, D),
        rf"\mathbf{{C}}_{n}",
        rf"\boldsymbol{{c}}^{n}_{{%1}}",
        rf"\boldsymbol{{c}}^{n}_{{%1}}(%2)",
    )
    for n in "KQV"
)


def as_printed() -> All:
    """Φ around the convolution, and one middle member for keys and values."""
    inner = as_term(KEYS)[j]
    features = as_term(
        Tensor("Phi(conv_K)", (GRID, DPHI), r"\Phi(\mathbf{C}_K)", r"\Phi(\boldsymbol{c}^K_{%1})")
    )[j]
    one, two = as_term(PLAIN)[j], as_term(VALUES)[j]
    return All(
        (
            Solvable(
                PLAIN,
                (
                    Fact("the keys", (one - inner)[c], "="),
                    Fact("the values", (one - two)[c], "="),
                ),
                Point(((GRID, 1), ("D", 1)), ((KEYS, ((1,),)), (VALUES, ((2,),)))),
                label="one convolved training input is both the convolution with W_K and that with W_V",
            ),
            Identity(one, features, label="a convolution equals its features"),
        )
    )


def _cvt(a: SvrAssumptions = PAPER) -> Identity:
    """Theorem 1 on the convolved keys, at the convolved query, with the convolved values."""
    own = sv.Variant("CvT", count=GRID)
    score = as_term(QUERIES)[i].T @ as_term(KEYS)[j] / sqrt(size(D))
    values = Tensor(
        "conv_V", (GRID, DV), r"\mathbf{C}_V", r"\boldsymbol{c}^V_{%1}", r"\boldsymbol{c}^V_{%1}(%2)"
    )
    expr = sv.regenerated(own, a, as_term(QUERIES)[i], as_term(KEYS)[j])
    derived = stack(d, Raw((), sv.renamed(expr, {own.v: values})))
    attention = sum_over(j, softmax(j, score) * as_term(values)[j])
    sizes = ((GRID, 2), ("D", 4), ("D_v", 1))
    return Identity(
        derived, attention, sizes=sizes, label="attention on separately convolved keys, queries and values"
    )


CVT_WHERE = WHERE + (
    r" $\boldsymbol{c}^K_j,\boldsymbol{c}^Q_i,\boldsymbol{c}^V_j$: the input convolved with three kernels; "
    r"$\boldsymbol{c}_j$: the convolved training input of (42)."
)
CVT_WORDS = (
    "Keys, queries and values are three convolutions of the input, without Φ; Theorem 1 on these keys, at"
    " these queries, with values as in prose-converse, gives the attention of CvT."
)
