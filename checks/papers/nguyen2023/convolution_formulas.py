"""Formulas of attention on convolved queries and keys: (37) to (45), Definitions 3 and 4, Remark 7."""

from __future__ import annotations

from checks.claim import Assumption
from checks.kinds.examples import Point
from checks.kinds.feasible import Solvable
from checks.papers.nguyen2023.program_lines import lines_of
from checks.papers.nguyen2023.theorem1_formulas import BIAS_OFF, CONSTANTS, EXPONENTIAL, KERNEL_SUM, TRAINED
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import (
    Term,
    as_term,
    named,
    row_softmax,
    size,
    softmax,
    sqrt,
    stack,
    sum_over,
)
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DPHI, DV, D, N, SvrAssumptions, d

GRID = r"N_HN_W"
i, j, l = (Index(n, GRID) for n in "ijl")
c = Index("d", D)
SAME = Assumption("same_padding", "the convolution keeps the number of tokens")
TOKENS = r"\operatorname{Flatten}(\operatorname{Conv2D}(\mathbf{X}^{\mathrm{train}},s))(%1)"
NEW = r"\operatorname{Flatten}(\operatorname{Conv2D}(\mathbf{X},s))(%1)"
QUERY = NEW.replace("%1", "i")
FIT = sv.Variant(
    "(38)",
    count=GRID,
    train=rf"\Phi({TOKENS})",
    query=rf"\Phi({QUERY})",
    height=r"h(\boldsymbol{x}^{\mathrm{train}}_{%1})",
    height_query=r"h(\boldsymbol{x}_i)",
    features=rf"\Phi({TOKENS.removesuffix('(%1)')})",
    heights=r"h(\mathbf{X}^{\mathrm{train}})",
    target=r"\boldsymbol{y}^{\mathrm{train}}",
    position="i",
)
w, b, y, v = (as_term(t) for t in (FIT.w, FIT.b, FIT.y, FIT.v))
phi, phi_x, h, h_x = (as_term(t) for t in (FIT.phi, FIT.phi_x, FIT.h, FIT.h_x))
xi, xi_t = (as_term(t) for t in FIT.slacks)
alpha, alpha_t, eta, eta_t = (as_term(t) for t in FIT.multipliers)
# Φ and h at every position of the new input
PHI_X = Tensor(
    "Phi_X", (GRID, DPHI), rf"\Phi({NEW.removesuffix('(%1)')})", rf"\Phi({NEW})", rf"\Phi({NEW})_{{%2}}"
)
H_X = Tensor("h_X", (GRID,), r"h(\mathbf{X})", "", r"h(\boldsymbol{x}_{%1})")
at_i = {FIT.phi_x: PHI_X, FIT.h_x: H_X}
phi_i, h_i = as_term(PHI_X)[i], as_term(H_X)[i]
IMAGE = (
    r"An image of $N_H\times N_W$ tokens; $\operatorname{Flatten}(\operatorname{Conv2D}(\mathbf{X},s)) = "
    r"\mathbf{T}\mathbf{X}$ with $\mathbf{T}$ the square matrix of the $s\times s$ kernel and its padding;"
    r" training inputs $\boldsymbol{x}^{\mathrm{train}}_j$ and targets "
    r"$\boldsymbol{y}^{\mathrm{train}}_j$; queries $\boldsymbol{q}_i$ and keys $\boldsymbol{k}_j$ in "
    r"$\mathbb{R}^D$, the rows of $\mathbf{Q}$ and $\mathbf{K}$; values $\boldsymbol{v}_j$ of width $D_v$, "
    r"the rows of $\mathbf{V}$; "
)
WHERE = IMAGE + TRAINED + CONSTANTS
WHERE_2D = (
    IMAGE + r"features $\Phi$ of width $D_\phi$; normaliser $h$. The left side of (c) is what the program on "
    "convolved keys gives."
)
WHERE_1D = (
    r"A sequence of $N$ tokens; queries $\boldsymbol{q}_i$ and keys $\boldsymbol{k}_j$, the rows of "
    r"$\mathbf{Q}$ and $\mathbf{K}$, of width $D$; values $\boldsymbol{v}_j$ of width $D_v$, the rows of "
    r"$\mathbf{V}$; $\operatorname{Conv1D}(\mathbf{X},s) = \mathbf{T}\mathbf{X}$ with "
    r"$\mathbf{T}$ the $N\times N$ matrix of the $s\times 1$ kernel and its padding. The left side of (c) is "
    "what the program on convolved keys gives."
)


FITTED = Tensor("f", (GRID, DV), "f", r"f(\boldsymbol{x}_{%1})", r"f(\boldsymbol{x}_{%1})(%2)")
F_I = as_term(FITTED)[i]


def eq37(with_b: bool) -> All:
    """(37), with or without the intercept, and what it is at the training inputs against what (38) fits."""
    form, trained = w @ phi_i / h_i, w @ phi[j] / h[j]
    return All(
        Definition(F_I, form + b if with_b else form, nonzero=(H_X,), label="the function"),
        Identity(
            (trained + b if with_b else trained)[d],
            FIT.fit(),
            nonzero=(FIT.h,),
            label="at the training inputs it is what (38) fits",
        ),
    )


LINES = lines_of(FIT)
V_RULE = LINES.values("the definition of the values")
A_IJ = Given(Tensor("A", (GRID, GRID), r"\mathbf{A}"), (i, j), phi_i.T @ phi[j], "the definition of A_ij")
a_ij = as_term(A_IJ.tensor)[i, j]
LINE1 = stack(d, sum_over(j, (alpha[j, d] - alpha_t[j, d]) / h[j] * (a_ij / h_i))) + b
LINE2 = sum_over(j, a_ij / h_i * v[j]) + b


def eq42(a: SvrAssumptions, with_b: bool) -> All:
    """Both lines, from (37) with or without the intercept."""
    own = FIT.under(a)
    predicted = own.prediction() if with_b else w @ phi_x / h_x
    derived = Raw((), sv.lift(sv.dual(own).substitute(predicted.entry(d)), i, at_i))
    function = Given(FITTED, (i, d), derived, "(41) put into (37)")
    both = (FIT.h, H_X)
    return All(
        Identity(F_I, LINE1, (function, A_IJ), nonzero=both, label="first line"),
        Identity(LINE1, LINE2, (A_IJ, V_RULE), nonzero=both, label="second line"),
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


def conv2d(a: SvrAssumptions, corrected: bool) -> All | Definition:
    if not corrected:
        return Definition(_output(i), conv_attention(GRID, i, Index("j", N)))
    return All(Definition(_output(i), conv_attention(GRID, i, j)), _mixed(GRID), derived_attention(GRID, a))


ASSUMES = (KERNEL_SUM, EXPONENTIAL, BIAS_OFF, SAME)
LIMIT = "The sum runs over the N_H N_W keys; that N is this product is said only later, in Remark 7."


def conv1d(a: SvrAssumptions) -> All:
    at, over = Index("i", N), Index("j", N)
    return All(Definition(_output(at), conv_attention(N, at, over)), _mixed(N), derived_attention(N, a))


# ---------------------------------------------------------------- the convolutional projections of CvT

PLAIN, PLAIN_X = (
    Tensor(
        letter,
        (GRID, D),
        rf"\boldsymbol{{{letter}}}_1,\dots,\boldsymbol{{{letter}}}_{{N_HN_W}}",
        rf"\boldsymbol{{{letter}}}_{{%1}}",
        rf"\boldsymbol{{{letter}}}_{{%1}}(%2)",
    )
    for letter in ("c", "z")
)
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
    """Φ around the convolutions, and one middle member for keys and values."""
    one, new, key, value = (as_term(t) for t in (PLAIN, PLAIN_X, KEYS, VALUES))
    chains = (("K", "keys", one[j], j), ("Q", "queries", new[i], i), ("V", "values", one[j], j))
    return All(
        Solvable(
            PLAIN,
            (Fact("the keys", (one[j] - key[j])[c], "="), Fact("the values", (one[j] - value[j])[c], "=")),
            Point(((GRID, 1), ("D", 1)), ((KEYS, ((1,),)), (VALUES, ((2,),)))),
            label="one convolved training input is both the convolution with W_K and that with W_V",
        ),
        *(
            Identity(middle, _features(n)[at], label=f"the convolved input is features, for the {words}")
            for n, words, middle, at in chains
        ),
    )


def _features(n: str) -> Term:
    """Φ of the input convolved with W_n."""
    row = rf"\Phi(\boldsymbol{{c}}^{n}_{{%1}})"
    return as_term(Tensor(f"Phi(conv_{n})", (GRID, DPHI), rf"\Phi(\mathbf{{C}}_{n})", row))


def cvt(a: SvrAssumptions = PAPER) -> Identity:
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
    value = named(r"\boldsymbol{f}(\boldsymbol{c}^Q_{i})", derived)
    return Identity(
        value, attention, sizes=sizes, label="attention on separately convolved keys, queries and values"
    )


CVT_WHERE = IMAGE + (
    r"features $\Phi$ of width $D_\phi$; $\boldsymbol{c}^K_j,\boldsymbol{c}^Q_i,\boldsymbol{c}^V_j$: the "
    r"input convolved with three kernels $\mathbf{W}_K,\mathbf{W}_Q,\mathbf{W}_V$, the rows of "
    r"$\mathbf{C}_K,\mathbf{C}_Q,\mathbf{C}_V$; $\boldsymbol{c}_j$, $\boldsymbol{z}_i$: the convolved "
    r"training and new input of (42). In (a) $D_v=D$."
)
CVT_WORDS = (
    "Keys, queries and values are three convolutions of the input, without Φ; Theorem 1 on these keys, at"
    " these queries, with values as in prose-converse, gives the attention of CvT."
)
CVT_INSTEAD = (
    "No other printed side remains: the middle knows no kernel of CvT, the right has the width of Φ."
)
