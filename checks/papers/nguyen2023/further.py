"""Assertions without a number: residuals, ε-precision, ridge regression, kernel sizes, scales, models,
(22) against (26).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from checks.claim import Assumption, claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.examples import Point, Rule
from checks.kinds.feasible import Solvable
from checks.leg import Named
from checks.papers.nguyen2023 import batchnorm_formulas as statistics
from checks.papers.nguyen2023 import centering_formulas as centering
from checks.papers.nguyen2023 import scaled_heads_formulas as heads
from checks.papers.nguyen2023.multihead_formulas import combine, s
from checks.papers.nguyen2023.residual_formulas import DX_IS_DV
from checks.papers.nguyen2023.theorem1_formulas import (
    H_NONZERO,
    NOTATION,
    PROGRAM,
    SIGNS,
    H,
    alpha,
    alpha_t,
    b,
    eps,
    eta,
    eta_t,
    stationarity,
    xi,
    xi_t,
)
from checks.papers.nguyen2023.theorem1_formulas import c as cost
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Hadamard, Term, as_term, size, softmax, sqrt, sum_over
from derivations.theories.svr import choices as svr_choices
from derivations.theories.svr import regression as svr
from derivations.theories.svr.attentions import K as KEYS
from derivations.theories.svr.attentions import Q, V, c, padding, scale
from derivations.theories.svr.regression import DPHI, DV, D, N, SvrAssumptions, d, i, j

X = Tensor("X", (N, "D_x"), r"\mathbf{X}", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
X_V = Tensor("X", (N, DV), r"\mathbf{X}", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
ATTENTION = sum_over(j, softmax(j, as_term(Q)[i].T @ as_term(KEYS)[j] / sqrt(size(D))) * as_term(V)[j])

claim(
    "nguyen2023/prose-residual",
    "Section 1.1",
    "Attention with a residual connection",
    role="definition",
    words="The input token is added to the output of attention.",
    literal=Definition(as_term(H)[i], as_term(X)[i] + ATTENTION),
    corrected=Definition(as_term(H)[i], as_term(X_V)[i] + ATTENTION),
    correction_words="With D_x = D_v, so that the token can be added.",
    assumes=(DX_IS_DV,),
    rests_on=("nguyen2023/eq2",),
    where=r"Tokens $\boldsymbol{x}_i\in\mathbb{R}^{D_x}$, queries and keys $\boldsymbol{q}_i,\boldsymbol{k}_j"
    r"\in\mathbb{R}^D$, values $\boldsymbol{v}_j\in\mathbb{R}^{D_v}$; as corrected $D_x=D_v$.",
    notes="(32) inherits the condition. With several heads W_O keeps the width D_v, as (3) is printed.",
)

# ---------------------------------------------------------------- ε-precision

w, phi, h, y = (as_term(t) for t in (svr.w, svr.phi_k, svr.h_k, svr.y))
l = Index("l", N)
COEFFICIENT = Tensor("a", (N, DV), "a", "", r"a_{%1}(%2)")
FITTED = w[d].T @ phi[j] / h[j]
TARGETS = (0, 1)  # of two equal keys


def _any_targets() -> Solvable:
    """Weights that meet every target exactly: equal keys with different targets have none."""
    values = ((svr.phi_k, ((1,), (1,))), (svr.h_k, (1, 1)), (svr.y, tuple((t,) for t in TARGETS)))
    return Solvable(
        svr.w,
        (Fact("the fit meets the targets", FITTED - y[j, d], "="),),
        Point(((("N"), 2), (DPHI, 1), (DV, 1)), values),
        label="some f meets all targets with precision ε = 0",
    )


def _independent_features() -> Identity:
    """With a invertible Gram matrix the weights Σ_l a_l Φ(k_l) meet every target."""
    kernel = sum_over(l, (phi[j].T @ phi[l]) * as_term(COEFFICIENT)[l, d])
    targets = Given(
        svr.y,
        (j, d),
        kernel / h[j],
        "a solves Σ_l Φ(k_j)·Φ(k_l) a_l = h(k_j) y_j, the Gram matrix being invertible",
    )
    weights = Given(
        svr.w,
        (d, svr.f_),
        sum_over(l, as_term(COEFFICIENT)[l, d] * phi[l, svr.f_]),
        "the weights of this combination of features",
    )
    return Identity(
        FITTED, y[j, d], (targets, weights), nonzero=(svr.h_k,), label="the targets are met exactly"
    )


claim(
    "nguyen2023/prose-epsilon-precision",
    "Section 2.1, below (5)",
    "Every pair is approximated with precision ε",
    words="There is a function f that approximates all pairs of keys and targets with precision ε, whatever "
    "ε ≥ 0; at ε = 0 it meets all targets.",
    literal=_any_targets(),
    corrected=_independent_features(),
    correction_words="For keys with linearly independent features, such as distinct keys under the "
    "exponential kernel, some f meets all targets exactly, for every ε.",
    assumes=(Assumption("independent_features", "the features of the keys are linearly independent"),),
    rests_on=("nguyen2023/eq4", "nguyen2023/prose-converse"),
    legs=(Named("checks.papers.nguyen2023.legs.converse", "independent_features"),),
    where=NOTATION
    + r" $a_l(d)$: the coefficients of $\boldsymbol{w}_d$ in the features; independent features "
    "have some for any targets.",
    notes=(
        f"Two equal keys with targets {TARGETS[0]} and {TARGETS[1]} cannot both be met within ε < "
        f"{Fraction(TARGETS[1] - TARGETS[0], 2)}; in self-attention repeated tokens without positions give "
        "repeated keys. With slacks, as in (5), nothing has to be met. At ε = 0 the relaxed box of Theorem 1 "
        "needs the exact fit."
    ),
)

# ---------------------------------------------------------------- ridge regression

own, mine = alpha[j, d] - alpha_t[j, d], alpha[l, d] - alpha_t[l, d]
error, other = (y[at, d] - w[d].T @ phi[at] / h[at] - b[d] for at in (j, l))
OPTIMAL = (
    *SIGNS,
    Fact("(7)", sum_over(j, own), "="),
    Fact("(8)", w[d, svr.f_] - sum_over(j, own * phi[j, svr.f_] / h[j]), "="),
    Fact("fit from below", eps + xi[j, d] - error, ">="),
    Fact("fit from above", eps + xi_t[j, d] + error, ">="),
    Fact("xi", xi[j, d], ">="),
    Fact("xi~", xi_t[j, d], ">="),
    Fact("slack of α", alpha[j, d] * (eps + xi[j, d] - error), "="),
    Fact("slack of α̃", alpha_t[j, d] * (eps + xi_t[j, d] + error), "="),
    Fact("slack of η", eta[j, d] * xi[j, d], "="),
    Fact("slack of η̃", eta_t[j, d] * xi_t[j, d], "="),
)


def _column(*values: str | int) -> tuple[tuple[Fraction, ...], ...]:
    return tuple((Fraction(v),) for v in values)


# three keys, fitted by Φ/2: the errors are -1/2, 0 and 7/2, the coefficients -C, 0 and C
FITTED_BY_HALF = Point(
    ((N, 3), (DPHI, 1), (DV, 1)),
    (
        (svr.phi_k, _column(-1, 0, 1)),
        (svr.h_k, (1, 1, 1)),
        (svr.y, _column(-1, 0, 4)),
        (svr.w, _column("1/2")),
        (svr.b, (0,)),
        (svr.C, Fraction(1, 4)),
        (svr.epsilon, Fraction(1, 4)),
        (svr.alpha, _column(0, 0, "1/4")),
        (svr.alpha_t, _column("1/4", 0, 0)),
        (svr.eta, _column("1/4", "1/4", 0)),
        (svr.eta_t, _column(0, "1/4", "1/4")),
        (svr.xi, _column(0, 0, "13/4")),
        (svr.xi_t, _column("1/4", 0, 0)),
    ),
)


SLOPE = Tensor(
    "dL/dr", (N, DV), r"\frac{\partial L}{\partial r}", "", r"\frac{\partial L}{\partial r_{%1}(%2)}"
)


def _least_squares() -> All:
    """What the dualiser's conditions for the squared loss say of the coefficients of the weights."""
    squared = SvrAssumptions(loss="least_squares")
    residual, coefficient = as_term(svr.OWN.residual)[j, d], as_term(svr.OWN.rho)[j, d]
    derived = stationarity(squared, svr.OWN.residual, j, d)
    reason = (
        "the dualiser's Lagrangian of (5) with the loss C r²/2, r = y - f, whose multiplier ρ is the "
        "coefficient"
    )
    weights = Raw((), svr.dual(squared).solved[svr.w])
    optimal = (
        Given(svr.w, (d, svr.f_), weights, "the derivative by w_d is zero"),
        Given(svr.OWN.rho, (j, d), cost * residual, "the derivative by the residual is zero"),
    )
    return All(
        Identity(
            as_term(SLOPE)[j, d],
            cost * residual - coefficient,
            given=(Given(SLOPE, (j, d), derived, reason),),
            nonzero=(svr.h_k,),
            label="the derivative by the residual",
        ),
        Identity(
            w[d],
            sum_over(j, cost * residual * (phi[j] / h[j])),
            given=optimal,
            nonzero=(svr.h_k,),
            label="at the optimum each coefficient is C times its error",
        ),
    )


claim(
    "nguyen2023/prose-ridge-regression",
    "Section 2.1, above (5), and Appendix G, above (38)",
    "The fit is a ridge regression",
    words="The function is fitted with an L2 penalty on W, that is, by ridge regression: as there, the "
    "coefficients of the expansion are in proportion to the errors of the fit.",
    literal=Rule(
        OPTIMAL,
        Fact("coefficient times the other error, less the same exchanged", own * other - mine * error, "="),
        FITTED_BY_HALF,
        label="coefficients in proportion to errors",
    ),
    corrected=lambda a: _least_squares(),
    correction_words="With the squared loss C (y - f)²/2 in place of the ε-insensitive one (5) is a ridge "
    "regression, and each coefficient is C times its error.",
    assumes=(H_NONZERO,),
    rests_on=("nguyen2023/eq7", "nguyen2023/eq8", "nguyen2023/eq9"),
    where=PROGRAM
    + r" With the squared loss: $r_j$ the errors $\boldsymbol{y}_j-f(\boldsymbol{k}_j)$; $\rho_j$ their "
    r"multipliers.",
    notes="The penalty is that of ridge regression, the loss is not. In (5) a coefficient is confined to the "
    "box ±C and 0 inside the ε-tube, which is what makes the expansion one in support vectors; ridge "
    "regression gives one to every key that is not met exactly. --set loss=least_squares derives the "
    "expansion for ridge regression.",
)

# ---------------------------------------------------------------- sizes of kernels


def _symmetric(a: SvrAssumptions) -> All:
    """Tokens out less tokens in, for the symmetric zero padding that comes closest, stride 1."""
    return _sizes(a, lambda s: min((2 * p + 1 - s for p in range(s)), key=abs))


def _own_padding(a: SvrAssumptions) -> All:
    return _sizes(a, lambda s: sum(padding(s)) + 1 - s)


def _sizes(a: SvrAssumptions, change: Callable[[int], int]) -> All:
    def gained(name: str, text: str) -> Arithmetic:
        words = f"tokens gained along an axis by {name} with {text} taps"
        tokens = Fraction(change(svr_choices.kernel_size(text)))
        return Arithmetic((Figure(words, tokens, "=", Fraction(0), 0),), label=name)

    return All(gained("Conv1D", a.kernel_size), gained("Conv2D", a.kernel_size_2d))


claim(
    "nguyen2023/prose-kernel-size",
    "Appendices G, H and J",
    "The kernels of the experiments keep the number of tokens",
    theory="svr",
    words="A convolution with the kernels of the experiments, 5 taps and 2 × 2, gives one convolved token "
    "for each token.",
    literal=_symmetric,
    corrected=_own_padding,
    correction_words="An even s keeps the number with s/2 - 1 zeros before the tokens and s/2 after them.",
    instead="Figure (b) is that of the same kernel with that padding.",
    assumes=(
        Assumption(
            "equal padding",
            "the padding is not described; it is read as the usual one, as many zeros after as before",
        ),
        Assumption("taps of Conv1D", "5 taps on the Long Range Arena", "kernel_size", "5"),
        Assumption("taps of Conv2D", "2 × 2 taps on ImageNet", "kernel_size_2d", "2"),
    ),
    rests_on=("nguyen2023/eq45",),
    notes="The formulas (43) and (45) need a convolved query for every i and a convolved key for every v_j. "
    "With p zeros on each side and stride 1 a kernel of s taps gives N + 2p + 1 - s tokens: N only for odd "
    "s.",
)

# ---------------------------------------------------------------- models of the experiments

LISTED = {"UEA": (1, 1, 2, 2, 4, 4, 8, 8), "LRA": (1, 2), "ImageNet": (1, 1, 2, 4)}  # Appendix J
# Appendix A: halved after every two of eight heads; one head whole and the others halved; as a list
DESCRIBED = {"UEA": tuple(2 ** (head // 2) for head in range(8)), "LRA": (1, 2), "ImageNet": (1, 1, 2, 4)}


def _scales() -> Arithmetic:
    counts = (
        Figure(f"heads listed for {name}", Fraction(len(listed)), "=", Fraction(len(DESCRIBED[name])), 0)
        for name, listed in LISTED.items()
    )
    single = (
        Figure(f"tokens a key of head {n} on {name}", Fraction(one), "=", Fraction(other), 0)
        for name, listed in LISTED.items()
        for n, (one, other) in enumerate(zip(DESCRIBED[name], listed, strict=True), 1)
    )
    return Arithmetic((*counts, *single))


claim(
    "nguyen2023/prose-scales",
    "Appendices A and J",
    "The scales of the heads, described and listed",
    words="Keys and values halved after every two of eight heads (UEA), one head whole and the other halved "
    "(LRA), four heads with one, one, two and four tokens a key (ImageNet) are the scales that Appendix J "
    "lists.",
    literal=_scales(),
    rests_on=("nguyen2023/eq25",),
    notes="For the Long Range Arena Appendix A speaks of the other heads, Appendix J lists one: its models "
    "have two heads.",
)

KEPT = Figure(
    "keys and values of all heads over those of the baseline",
    sum((Fraction(1, scale) for scale in LISTED["UEA"]), Fraction(0)) / len(LISTED["UEA"]),
    "<=",
    Fraction(1, 2),
)

claim(
    "nguyen2023/prose-fewer-keys",
    "Section 3, UEA paragraph",
    "Scaled heads need much fewer keys and values",
    words="With the scales of the UEA models the heads together have at most half as many keys and values as "
    "those of the softmax baseline.",
    literal=Arithmetic((KEPT,)),
    rests_on=("nguyen2023/prose-scales",),
    notes="Attention-BN+SH has the same scales. What is saved is judged for the models of Retrieval: "
    "nguyen2023/fig1 and nguyen2023/fig2.",
)

DEIT_TINY = {"layers": 12, "heads": 3, "width": 192}  # Touvron et al. (2021), Table 1
USED = {"layers": 12, "heads": 4, "width": 192}


def _deit(*groups: tuple[str, ...]) -> All:
    """What is used against DeiT-tiny, a part for each group."""

    def figure(name: str) -> Figure:
        return Figure(f"{name} of DeiT-tiny", Fraction(DEIT_TINY[name]), "=", Fraction(USED[name]), 0)

    return All(*(Arithmetic(tuple(map(figure, names)), label=" and ".join(names)) for names in groups))


claim(
    "nguyen2023/prose-deit-tiny",
    "Appendix A.3",
    "The baseline on ImageNet is DeiT-tiny",
    words="The baseline is DeiT-tiny, with 12 layers, 4 heads a layer and width 192.",
    literal=_deit(("layers", "width"), ("heads",)),
    corrected=All(
        *_deit(("layers", "width")).parts,
        Arithmetic(
            tuple(
                Figure(
                    f"width of a head of {name}",
                    Fraction(own["width"], own["heads"]),
                    "=",
                    Fraction(width),
                    0,
                )
                for name, own, width in (("DeiT-tiny", DEIT_TINY, 64), ("the model used", USED, 48))
            ),
            label="two models",
        ),
    ),
    correction_words="The model has the layers and the width of DeiT-tiny, but four heads of width 48 where "
    "DeiT-tiny has three of width 64.",
    notes="Layers, heads and width of DeiT-tiny are those of Table 1 of its paper (Touvron et al., 2021). "
    "Four heads are needed for the scales 1, 1, 2, 4. The number of parameters is the same; scores are "
    "divided by √48.",
)

# ---------------------------------------------------------------- (22) against (26)


def _weighted(a: SvrAssumptions) -> tuple[Term, Term]:
    """(22) and (49) with β times the mean in place of the mean."""
    z, key = (Hadamard((centering.centred(t, a), as_term(scale))) for t in (centering.q[i], centering.k[j]))
    own, keys = (
        Hadamard((heads.centred(t, a), heads.scale[s])) for t in (heads.q[s, i], heads.k[s, heads.j])
    )
    return centering.attend(statistics.score(z, key)), combine(heads.attend(s, own, keys))


def _simplified(a: SvrAssumptions) -> All:
    bn, both = _weighted(a)
    unit = Given(scale, (c,), as_term(1), "no scaling")
    units = Given(heads.SCALE_S, (s, c), as_term(1), "no scaling")
    return All(
        Identity(
            bn,
            centering.both(a),
            (statistics.MEAN, unit),
            sizes=centering.SIZES,
            label="(22) without the scale is (26)",
        ),
        Identity(
            both,
            heads.beta_sh(a),
            (heads.MEAN_S, units),
            sizes=heads.SIZES,
            label="(49) without the scale is (51)",
        ),
    )


claim(
    "nguyen2023/prose-simplified-bn",
    "Appendix A, above (26), and Appendix I, above (51)",
    "Attention-BN simplifies to (26), Attention-BN+SH to (51)",
    theory="svr",
    words="Recentering alone, with the mean weighted by β, makes (22) into (26), and (49) into (51).",
    literal=_simplified,
    assumes=(centering.ANY_BETA,),
    rests_on=("nguyen2023/eq22", "nguyen2023/eq26", "nguyen2023/eq49", "nguyen2023/eq51"),
    where=centering.BETA_WHERE
    + r" $\mathbf{s}^{-1}$, $\mathbf{s}^{s^{-1}}$: the scales of (22) and (49), here all ones; $\odot$ the "
    "product of coordinates. " + heads.WHERE,
    notes="The softmax models with BN in the experiments are (26) and (51), not what the regression on "
    "normalised keys gives. Without the scale every key still gets one bias, -β μ·k_j/√D; with it the "
    "coordinates are weighed as well.",
)
