"""Assertions of the text that have no number: the residual of Section 1.1, ε-precision, kernel sizes, (22) against (26)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from checks.claim import Assumption, claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.examples import Point
from checks.kinds.feasible import Solvable
from checks.nguyen2023 import batchnorm as bn
from checks.nguyen2023 import centering, converse
from checks.nguyen2023.theorem1 import NOTATION, H
from checks.statement import All, Definition, Fact, Given, Identity
from derivations import svr, svr_choices
from derivations.index import Index, Tensor
from derivations.svr import DPHI, DV, D, N, SvrAssumptions, d, i, j
from derivations.svr_attentions import BETA, Q, V, c, padding, scale
from derivations.svr_attentions import K as KEYS
from derivations.term import as_term, size, softmax, sqrt, sum_over

X = Tensor("X", (N, "D_x"), r"\mathbf{X}", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
X_V = Tensor("X", (N, DV), r"\mathbf{X}", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
ATTENTION = sum_over(j, softmax(j, as_term(Q)[i].T @ as_term(KEYS)[j] / sqrt(size(D))) * as_term(V)[j])

claim(
    "nguyen2023/prose-residual",
    "Section 1.1",
    "Attention with a residual connection",
    role="definition",
    words="The input token is added to the output of attention.",
    literal=lambda a: Definition(as_term(H)[i], as_term(X)[i] + ATTENTION),
    corrected=lambda a: Definition(as_term(H)[i], as_term(X_V)[i] + ATTENTION),
    correction_words="With D_x = D_v, so that the token can be added.",
    severity="condition",
    rests_on=("nguyen2023/eq2",),
    where=r"Tokens $\boldsymbol{x}_i\in\mathbb{R}^{D_x}$, values $\boldsymbol{v}_j\in\mathbb{R}^{D_v}$.",
    notes="(32) inherits the condition. With several heads W_O brings the output to the width of the tokens.",
)

# ---------------------------------------------------------------- ε-precision

w, phi, h, y = (as_term(t) for t in (svr.w, svr.phi_k, svr.h_k, svr.y))
m = Index("m", N)
COEFFICIENT = Tensor("a", (N, DV), "a", "", r"a_{%1}(%2)")
FITTED = w[d].T @ phi[j] / h[j]


def _any_targets() -> Solvable:
    """Weights that meet every target exactly: equal keys with different targets have none."""
    values = ((svr.phi_k, ((1,), (1,))), (svr.h_k, (1, 1)), (svr.y, ((0,), (1,))))
    return Solvable(
        svr.w,
        (Fact("the fit meets the targets", FITTED - y[j, d], "="),),
        Point(((("N"), 2), (DPHI, 1), (DV, 1)), values),
        label="some f meets all targets with precision ε = 0",
    )


def _independent_features() -> Identity:
    """With a invertible Gram matrix the weights Σ_m a_m Φ(k_m) meet every target."""
    kernel = sum_over(m, (phi[j].T @ phi[m]) * as_term(COEFFICIENT)[m, d])
    targets = Given(
        svr.y,
        (j, d),
        kernel / h[j],
        "a solves Σ_m Φ(k_j)·Φ(k_m) a_m = h(k_j) y_j, the Gram matrix being invertible",
    )
    weights = Given(
        svr.w,
        (d, svr.f_),
        sum_over(m, as_term(COEFFICIENT)[m, d] * phi[m, svr.f_]),
        "the weights of this combination of features",
    )
    return Identity(
        FITTED, y[j, d], (targets, weights), nonzero=(svr.h_k,), label="the targets are met exactly"
    )


claim(
    "nguyen2023/prose-epsilon-precision",
    "Section 2.1, below (5)",
    "Every pair is approximated with precision ε",
    words="There is a function f that approximates all pairs of keys and targets with precision ε.",
    literal=lambda a: _any_targets(),
    corrected=lambda a: _independent_features(),
    correction_words=(
        "For keys with linearly independent features, such as distinct keys under the exponential kernel, some f meets "
        "all targets exactly, for every ε."
    ),
    severity="condition",
    assumes=(Assumption("independent_features", "the features of the keys are linearly independent"),),
    rests_on=("nguyen2023/eq5", "nguyen2023/prose-converse"),
    legs=(converse.independent_features,),
    where=NOTATION,
    notes=(
        "Two equal keys with targets 0 and 1 cannot both be met within ε < 1/2; in self-attention repeated tokens "
        "without positions give repeated keys. With slacks, as in (5), nothing has to be met. The relaxed box of "
        "Theorem 1 needs the exact fit."
    ),
)

# ---------------------------------------------------------------- sizes of kernels


def _symmetric(a: SvrAssumptions) -> Arithmetic:
    """Tokens out less tokens in, for the symmetric zero padding that comes closest, stride 1."""
    return _sizes(a, lambda s: min((2 * p + 1 - s for p in range(s)), key=abs))


def _own_padding(a: SvrAssumptions) -> Arithmetic:
    return _sizes(a, lambda s: sum(padding(s)) + 1 - s)


def _sizes(a: SvrAssumptions, change: Callable[[int], int]) -> Arithmetic:
    kernels = (("Conv1D", a.kernel_size), ("Conv2D", a.kernel_size_2d))
    return Arithmetic(
        tuple(
            Figure(
                f"tokens gained along an axis by {name} with {text} taps",
                Fraction(change(svr_choices.kernel_size(text))),
                "=",
                Fraction(0),
                0,
            )
            for name, text in kernels
        )
    )


claim(
    "nguyen2023/prose-kernel-size",
    "Appendices G, H and J",
    "The kernels of the experiments keep the number of tokens",
    theory="svr",
    words=(
        "A convolution with the kernels of the experiments, 5 taps and 2 × 2, with the same zero padding on both "
        "sides, gives one convolved token for each token."
    ),
    literal=_symmetric,
    corrected=_own_padding,
    correction_words="An even kernel needs one more zero after the tokens than before them.",
    severity="condition",
    assumes=(
        Assumption("taps of Conv1D", "5 taps on the Long Range Arena", "kernel_size", "5"),
        Assumption("taps of Conv2D", "2 × 2 taps on ImageNet", "kernel_size_2d", "2"),
    ),
    rests_on=("nguyen2023/eq43", "nguyen2023/eq45"),
    notes=(
        "The padding is not described. The formulas need a convolved query for every i and a convolved key for every "
        "v_j. With p zeros on each side and stride 1 a kernel of s taps gives N + 2p + 1 - s tokens: N only for odd s."
    ),
)

# ---------------------------------------------------------------- (22) against (26)


def _simplified(a: SvrAssumptions) -> Identity:
    return Identity(
        bn.attention_bn(as_term(Q)[i]),
        centering.both(a),
        bn.STATISTICS,
        sizes=(("D", 1), ("N", 2), ("D_v", 1)),
        label="(22) is (26)",
    )


def _simplified_corrected() -> All:
    unit = Given(scale, (c,), as_term(1), "no scaling")
    whole = Given(BETA, (), as_term(1), "β = 1")
    return All(
        (
            Identity(
                bn.attention_bn(as_term(Q)[i]),
                centering.both(centering.FREE),
                (bn.MEAN, unit, whole),
                sizes=centering.SIZES,
                label="(22) without the scale is (26) with β = 1",
            ),
        )
    )


claim(
    "nguyen2023/prose-simplified-bn",
    "Appendix A",
    "Attention-BN simplifies to (26)",
    theory="svr",
    words="Recentering alone, with the mean weighted by β, is Attention-BN: (22) is simplified to (26).",
    literal=_simplified,
    corrected=lambda a: _simplified_corrected(),
    correction_words="(22) without the division by the deviation is (26) with β = 1.",
    severity="condition",
    rests_on=("nguyen2023/eq22", "nguyen2023/eq26"),
    where=centering.BETA_WHERE,
    notes=(
        "The models of the experiments are (26), not the Attention-BN that the regression on normalised keys gives. "
        "Without the scale every key still gets one bias, β μ·k_j/√D; with it the coordinates are weighed as well."
    ),
)
