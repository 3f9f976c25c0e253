"""The attentions of nguyen2023 under the assumptions of theory svr: what enters Φ, the expansion, the
attention.

Each comes from a program of its own (`derivations.theories.svr.variants`), which differs from (5) in what
enters Φ. What the paper leaves to choice (statistics, β, scales, downsampling, mask, kernel size) is read
from the assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from derivations.calculus import normal as nf
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import form_latex
from derivations.calculus.program import Step
from derivations.calculus.term import Hadamard, Term, as_term, size, sum_over
from derivations.theories.svr import choices as svr_choices
from derivations.theories.svr import regression as svr
from derivations.theories.svr import variants as sv
from derivations.theories.svr.regression import DV, D, N, SvrAssumptions, j

c = Index("d", D)
Q = Tensor("Q", (N, D), r"\mathbf{Q}", r"\boldsymbol{q}_{%1}", r"\boldsymbol{q}_{%1}(%2)")
K = Tensor("K", (N, D), r"\mathbf{K}", r"\boldsymbol{k}_{%1}", r"\boldsymbol{k}_{%1}(%2)")
V = Tensor("V", (N, DV), r"\mathbf{V}", r"\boldsymbol{v}_{%1}", r"\boldsymbol{v}_{%1}(%2)")
mu = Tensor("mu", (D,), r"\boldsymbol{\mu}", "", r"\boldsymbol{\mu}(%1)")
scale = Tensor("s^-1", (D,), r"\mathbf{s}^{-1}", "", r"\mathbf{s}^{-1}(%1)")
bn_eps = Tensor("eps", (), r"\epsilon", positive=True)
BETA = Tensor("beta", (), r"\beta")


# ---------------------------------------------------------------- the choices


def centre(a: SvrAssumptions) -> Term:
    """μ(d): the mean of the keys (20), or what the knob ``statistics`` says."""
    if a.statistics == "none":
        return as_term(0)
    source = as_term(Q if a.statistics == "of_queries" else K)
    return 1 / size(N) * sum_over(j, source[j, c])


def spread(a: SvrAssumptions) -> Term:
    """The inverse square of the scale: σ² + ε with (20), 1 where nothing is divided; ``mu`` is the mean."""
    if a.statistics in ("none", "mean"):
        return as_term(1)
    source = as_term(Q if a.statistics == "of_queries" else K)
    share = 1 / (size(N) - 1) if a.statistics == "unbiased_variance" else 1 / size(N)
    return share * sum_over(j, (source[j, c] - as_term(mu)[c]) ** 2) + as_term(bn_eps)


def normalised(a: SvrAssumptions, vector: Term) -> Term:
    """(vector - μ) ⊙ s⁻¹, without the parts that the statistics leave out."""
    if a.statistics == "none":
        return vector
    away = vector - as_term(mu)
    return away if a.statistics == "mean" else Hadamard((away, as_term(scale)))


def weight(a: SvrAssumptions) -> Term:
    """β: the symbol, or the number of the assumptions."""
    number = svr_choices.beta(a.beta)
    return as_term(BETA if number is None else number)


def share_of_keys(a: SvrAssumptions) -> Fraction:
    """Keys of all heads over those of as many unscaled heads."""
    found = svr_choices.scales(a.scales)
    return sum((Fraction(1, s) for s in found), Fraction(0)) / len(found)


# ---------------------------------------------------------------- the derivation


@dataclass(frozen=True)
class Chain:
    """One attention: how its inputs z, z_j are made (LaTeX and words), its program and what stands
    around it.
    """

    name: str
    inputs: str
    words: str
    variant: sv.Variant
    sparse: bool = False
    heads: bool = False


def derive(a: SvrAssumptions) -> list[Step]:
    """The derivation of Theorem 1, then for each attention its inputs, its expansion and its attention."""
    steps = svr.derive(a)
    for chain in chains(a):
        steps += _steps(a, chain)
    return steps


def chains(a: SvrAssumptions) -> tuple[Chain, ...]:
    """The attentions of Section 2.2 to 2.3 and Appendices A, G, H, I."""
    return (
        Chain("Attention-BN (22)", *_bn_inputs(a), _variant("bn")),
        Chain("Centred attention (26)", *_beta_inputs(a), _variant("centred")),
        Chain("Attention-SH (25)", *_head_inputs(a), _variant("scaled head", "N_s", "^s"), heads=True),
        Chain("Sparse attention (16)", *_mask_inputs(a), _variant("subset", "M", "^{(x)}"), sparse=True),
        Chain(
            "Attention-Conv1D (45)",
            *_conv_inputs(svr_choices.kernel_size(a.kernel_size), 1),
            _variant("conv"),
        ),
        Chain(
            "Attention-Conv2D (43)",
            *_conv_inputs(svr_choices.kernel_size(a.kernel_size_2d), 2),
            _variant("conv"),
        ),
    )


def _variant(name: str, count: str = N, mark: str = "") -> sv.Variant:
    return sv.Variant.at(name, r"\boldsymbol{z}_{%1}", r"\boldsymbol{z}", count=count, mark=mark)


def _steps(a: SvrAssumptions, chain: Chain) -> list[Step]:
    own = chain.variant.under(a)
    head = r"f^s(\boldsymbol{x})(d) = " if chain.heads else r"f(\boldsymbol{x})(d) = "
    expansion = form_latex(nf.normal(sv.in_values(own, sv.expansion(own))))
    query = Tensor("z", (D,), r"\boldsymbol{z}", "", r"\boldsymbol{z}(%1)")
    keys, raw = (
        Tensor(n, (own.count, D), "", rf"\boldsymbol{{{n[0]}}}_{{%1}}", rf"\boldsymbol{{{n[0]}}}_{{%1}}(%2)")
        for n in ("z_j", "k_j")
    )
    everything = Tensor(
        "k_l", (N, D), "", r"\boldsymbol{k}_{%1}", r"\boldsymbol{k}_{%1}(%2)"
    )  # a sparse query's text sums h over all keys
    other = (Index("l", N), everything) if chain.sparse else (own.j, raw)
    if chain.heads:  # the keys that a scaled head has are the downsampled ones: nothing else is done to them
        other = own.j, keys
    expr = sv.regenerated(
        chain.variant, a, as_term(query), as_term(keys)[own.j], (other[0], as_term(other[1])[other[0]])
    )
    attention = form_latex(nf.normal(expr))
    ending = "the kernel of the feature map and the normaliser are inserted"
    if chain.heads:
        ending += "; the output is the sum of the heads' W_O^s f^s"
    return [
        Step(f"{chain.name}: inputs", chain.inputs, chain.words),
        Step(f"{chain.name}: expansion", head + expansion, f"from {own.program().name}, dualised like (5)"),
        Step(f"{chain.name}: attention", head + attention, ending),
    ]


def _lines(*lines: str) -> str:
    return lines[0] if len(lines) == 1 else r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"


def _bn_inputs(a: SvrAssumptions) -> tuple[str, str]:
    x, k = as_term(svr.x), as_term(svr.k)
    lines = [
        rf"\boldsymbol{{z}} = {normalised(a, x).latex()}",
        rf"\boldsymbol{{z}}_j = {normalised(a, k[j]).latex()}",
    ]
    if a.statistics != "none":
        lines.append(rf"\boldsymbol{{\mu}}(d) = {centre(a).latex()}")
    if a.statistics not in ("none", "mean"):
        lines.append(rf"\mathbf{{s}}^{{-1}}(d) = \left({spread(a).latex()}\right)^{{-1/2}}")
    return _lines(
        *lines
    ), "what enters Φ at the query and at key j; the statistics are constants of the program"


def _beta_inputs(a: SvrAssumptions) -> tuple[str, str]:
    shift = weight(a) * as_term(mu)
    lines = (
        rf"\boldsymbol{{z}} = {(as_term(svr.x) - shift).latex()}",
        rf"\boldsymbol{{z}}_j = {(as_term(svr.k)[j] - shift).latex()}",
    )
    return _lines(*lines), "query and keys less β times the mean of the keys"


def _head_inputs(a: SvrAssumptions) -> tuple[str, str]:
    taken = {
        "average": r"\frac{1}{r_s}\,\sum_{t \in T_j}\boldsymbol{k}_t",
        "first": r"\boldsymbol{k}_t, \quad t = \min T_j",
        "largest": r"\max_{t \in T_j}\boldsymbol{k}_t",
    }[a.downsampling]
    scales = ", ".join(map(str, svr_choices.scales(a.scales)))
    lines = (
        rf"\boldsymbol{{z}} = \boldsymbol{{x}}, \quad \boldsymbol{{z}}_j = {taken}",
        r"T_j = \{(j-1)\,r_s + 1, \dots, j\,r_s\}",
        rf"(r_1, r_2, \dots) = ({scales}), \quad N_s = N / r_s, \quad \text{{share of keys }} "
        rf"{share_of_keys(a)}",
    )
    return _lines(
        *lines
    ), "head s has one key for r_s tokens; its values are taken from the tokens' values the same way"


def _mask_inputs(a: SvrAssumptions) -> tuple[str, str]:
    pattern, kept = svr_choices.mask(a.mask)
    chosen = {
        "all": "1, \\dots, N",
        "strided": r"i, i + r, i + 2 r, \dots",
        "window": r"i, i + 1, i + 2, \dots",
    }[pattern]
    lines = [rf"\mathcal{{M}}_x = \{{{chosen}\}}, \quad M = {'N' if kept is None else kept}"]
    if pattern == "strided":
        lines.append(rf"r = N / {kept} \text{{ rounded down}}")
    lines.append(
        r"\boldsymbol{z} = \boldsymbol{x}, \quad \boldsymbol{z}_j = \boldsymbol{k}_m, \quad m \text{ the "
        r"j-th of } \mathcal{M}_x"
    )
    words = (
        "the keys that the query at token i keeps, counted around the circle; each query has a program "
        "of its own"
    )
    return _lines(*lines), words


def _conv_inputs(width: int, axes: int) -> tuple[str, str]:
    before, after = padding(width)
    if axes == 1:
        taps = [_tap(a) for a in sorted({-before, 0, after})]
        line = r"\boldsymbol{z}_j = " + (r" + \dots + ".join(taps) if width > 3 else " + ".join(taps))
    else:
        span = (
            ", ".join(str(a) for a in range(-before, after + 1))
            if width <= 3
            else rf"-{before}, \dots, {after}"
        )
        line = _lines(
            r"\boldsymbol{z}_{y,x} = \sum_{a,b} t_{a,b}\,\boldsymbol{k}_{y+a,x+b}", rf"a, b \in \{{{span}\}}"
        )
    words = (
        f"queries and keys are convolved with the same kernel, {width} taps along each axis, zeros outside"
    )
    if before != after:
        words += (
            f"; an even kernel keeps the size only with unequal padding, {before} before and {after} after"
        )
    return line, words


def padding(width: int) -> tuple[int, int]:
    """Zeros before and after a sequence that keep its length under a kernel of this width."""
    return (width - 1) // 2, width - 1 - (width - 1) // 2


def _tap(offset: int) -> str:
    at = f"{offset:+d}" if offset else ""
    return rf"t_{{{offset}}}\,\boldsymbol{{k}}_{{j{at}}}"
