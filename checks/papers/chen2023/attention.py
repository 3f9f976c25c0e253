"""Primal-Attention: (9), Remark 4.1, Algorithm 1, the costs of Figure 2, the causal version, sampling
of rows.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from math import comb
from typing import Any

import sympy as sp

from checks.claim import claim
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.cost import Assign, Cost
from checks.kinds.examples import Point, Rule
from checks.kinds.gaussian import GaussianMean
from checks.leg import Legs, Named
from checks.papers.chen2023 import setting
from checks.papers.chen2023.setting import DK, DQ, DV, TOKENS, D
from checks.papers.chen2023.symbols import (
    NOTATION,
    entry,
    i,
    image,
    j,
    jp,
    l_,
    phi_k,
    phi_k_x,
    phi_q,
    phi_q_x,
    printed,
    weights,
)
from checks.papers.recorded import Recorded, ranks
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import (
    Ones,
    Term,
    apply,
    as_term,
    exp,
    eye,
    size,
    sqrt,
    squared_norm,
    stack,
    sum_over,
)
from derivations.theories import ksvd
from derivations.theories.ksvd import SAMPLED, KsvdAssumptions, N, P, PrintedDiagonal, S

tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

o_e = Tensor("o^e", (N, S), "O^{e}", r"\boldsymbol{o}^{e}_{%1}", r"\boldsymbol{o}^{e}_{%1}[%2]")
o_r = Tensor("o^r", (N, S), "O^{r}", r"\boldsymbol{o}^{r}_{%1}", r"\boldsymbol{o}^{r}_{%1}[%2]")
out = Tensor("o", (N, DV), "O", r"\boldsymbol{o}_{%1}", r"\boldsymbol{o}_{%1}[%2]")
half = Fraction(1, 2)


def _halves(a: KsvdAssumptions) -> tuple[Term, Term]:
    """W_{e|X}ᵀ φ_q(x_i) and W_{r|X}ᵀ φ_k(x_i)."""
    by_e, by_r = (ksvd.projected(a, w) for w in ksvd.weights(a))
    return by_e.T @ phi_q[i], by_r.T @ phi_k[i]


def _output(a: KsvdAssumptions) -> All:
    own = printed(a)
    (w_e, w_r), (first, second) = weights(own), _halves(own)
    halves = [
        Definition(as_term(o_e)[i], first, label="upper half"),
        Definition(as_term(o_r)[i], second, label="lower half"),
    ]
    if own.f_X == "identity":  # then both forms are one
        return All(*halves)
    return All(
        *halves,
        Identity(first, w_e.T @ image(own, phi_q[i]), label="upper half, second form"),
        Identity(second, w_r.T @ image(own, phi_k[i]), label="lower half, second form"),
    )


claim(
    "chen2023/eq9",
    "Eq. (9)",
    "The output of Primal-Attention",
    theory="ksvd",
    role="definition",
    words="The output at token i stacks both scores, e_i over r_i.",
    literal=_output,
    rests_on=("chen2023/eq8",),
    legs=(tensor_legs.module_dependent, tensor_legs.module_independent),
    where=NOTATION + r" $\boldsymbol{o}^e_i,\boldsymbol{o}^r_i$: the two halves of $\boldsymbol{o}_i$.",
    notes="o_i has 2s entries, not d_v as in (3): Algorithm 1 and Figure 2 add a linear map from 2s to d_v.",
)


def _mapped(name: str) -> Term:
    """g_q or g_k of the query or key of token i."""
    row = rf"g_{name}({name}(\boldsymbol{{x}}_{{%1}}))"
    return as_term(Tensor(f"g_{name}", (N, P), f"g_{name}({name}(X))", row, f"{row}[%2]"))[i]


def _algorithm(a: KsvdAssumptions) -> All:
    x = as_term(X)[i]
    parts = [
        Definition(as_term(setting.q)[i], as_term(setting.W_q) @ x, label="query"),
        Definition(as_term(setting.k)[i], as_term(setting.W_k) @ x, label="key"),
    ]
    for words, own in (
        ("data-dependent", printed(a)),
        ("data-independent", replace(printed(a), f_X="identity")),
    ):
        first, second = (
            ksvd.projected(own, w).T @ _mapped(n) for w, n in zip(ksvd.weights(own), "qk", strict=True)
        )
        outer_e, outer_r = (as_term(Tensor(f"W_o^{c}", (DV, S), f"W_o^{{{c}}}")) for c in "er")
        parts += [
            Definition(e_rows[i], first, label=f"{words}: e"),
            Definition(r_rows[i], second, label=f"{words}: r"),
            Definition(as_term(out)[i], outer_e @ first + outer_r @ second, label=f"{words}: output"),
        ]
    return All(*parts)


claim(
    "chen2023/alg1",
    "Algorithm 1",
    "Primal-Attention, forward pass",
    theory="ksvd",
    role="definition",
    words="Queries and keys, features, both scores, and a linear map of the stacked scores; with f(X) or "
    "without.",
    literal=_algorithm,
    rests_on=("chen2023/eq9",),
    legs=(tensor_legs.module_dependent, tensor_legs.module_independent),
    where=NOTATION
    + " "
    + TOKENS
    + r" $W_o=[W_o^e,W_o^r]\in\mathbb{R}^{d_v\times 2s}$; $g_q(q(\boldsymbol{x}))$ and "
    r"$g_k(k(\boldsymbol{x}))$ are $\phi_q(\boldsymbol{x})$ and $\phi_k(\boldsymbol{x})$. Without $f(X)$, in "
    r"the data-independent lines, $W_e,W_r\in\mathbb{R}^{p\times s}$.",
    notes="A forward pass: η is an input that no line uses, and Λ does not occur. "
    "Weights with one row for each row of f(X) tie the parameters to one sequence length unless the number "
    "of rows is fixed, by sampling for example. The output differs from (9) by W_o.",
)

# ---------------------------------------------------------------- Remark 4.1

row_sum = sum_over(jp, phi_q[i].T @ phi_k[jp])
D_HAT = Tensor("D", (N,), r"\boldsymbol{D}", "", r"\hat{D}_{%1%1}", positive=True)
D_MATRIX = PrintedDiagonal((as_term(D_HAT),), r"\hat{D}")
D_INVERSE = PrintedDiagonal((as_term(D_HAT) ** -1,), r"\hat{D}^{-1}")
D_ROOT = PrintedDiagonal((as_term(D_HAT) ** Fraction(-1, 2),), r"\hat{D}^{-1/2}")
kappa_ij = as_term(Tensor("kappa", (N, N), r"\kappa", "", r"\kappa(\boldsymbol{x}_{%1},\boldsymbol{x}_{%2})"))
e_x, r_x = (as_term(Tensor(f"{c}(x)", (S,), rf"{c}(\boldsymbol{{x}})")) for c in "er")
e_rows, r_rows = (as_term(Tensor(c, (N, S), f"{c}(X)", rf"{c}(\boldsymbol{{x}}_{{%1}})")) for c in "er")
W_ex, W_rx = (as_term(Tensor(f"W_{c}|X", (P, S), rf"W_{{{c}|X}}")) for c in "er")
g_z, arg = as_term(Tensor("g(z)", (P,), r"g(\boldsymbol{z})")), as_term(Tensor("z", (DQ,), r"\boldsymbol{z}"))
omega, m_w = Tensor("w", (P, DQ), "", r"\boldsymbol{w}_{%1}"), Index("m", P)
w, x, y = (sp.Symbol(name, real=True) for name in "wab")
d_k = sp.Symbol("d_k", positive=True)


def _features(scale: sp.Expr) -> sp.Expr:
    """One coordinate of ⟨φ_q, φ_k⟩ for one random w: the exponent is a sum over coordinates, so the
    mean factors.
    """
    left, right = x * scale, y * scale
    return sp.exp(-(left**2) / 2 - right**2 / 2 + w * (left + right))


def _theory(a: KsvdAssumptions, normalisation: str) -> Term:
    """The kernel that the theory derives for weighted features."""
    return ksvd.kernel(replace(printed(a), f_X="identity", normalisation=normalisation), i, j)


def of_x(name: str, width: str) -> Term:
    """The query or the key of x."""
    latex = rf"{name}(\boldsymbol{{x}})"
    return as_term(Tensor(f"{name}(x)", (width,), latex, "", rf"{latex}_{{%1}}"))


def _cosine(features: Tensor, name: str, positive: bool) -> Definition:
    vector = of_x(name, P)
    norm = as_term(Tensor(f"|{name}(x)|", (), rf"\|{vector.latex()}\|_2", positive=positive))
    return Definition(as_term(features), vector / norm, label=f"cosine features, {name}")


def _mean(scale: sp.Expr, label: str) -> GaussianMean:
    return GaussianMean(_features(scale), w, sp.exp(x * y / sp.sqrt(d_k)), label=label)


FEATURE_MAP = Definition(
    g_z,
    exp(-(squared_norm(arg) / 2)) * stack(m_w, exp(as_term(omega)[m_w].T @ arg)),
    label="exponential features",
)


def _exponential(features: Tensor, name: str, scale: Term | int = 1) -> Definition:
    """φ(x) = g(q(x)) or g(k(x)), of the query or key divided by the scale."""
    at = of_x(name, DQ) if scale == 1 else of_x(name, DQ) / scale
    value = exp(-(squared_norm(at) / 2)) * stack(m_w, exp(as_term(omega)[m_w].T @ at))
    return Definition(as_term(features), value, label=f"exponential features, {name}")


D_SUMS = replace(D_HAT, positive=False)
D_RULE = entry(phi_q @ (phi_k.T @ Ones((), (N,))), i)


def _remark(a: KsvdAssumptions) -> All:
    by_rows = phi_q[i].T @ phi_k[j] / row_sum
    positive, (values_q, values_k) = _positive_features(), map(_positive, (ksvd.phi_q, ksvd.phi_k))
    point = Point(((N, 2), (P, 2)), ((values_q, ((1, 2), (8, 4))), (values_k, ((2, 1), (1, 2)))))
    shared = Given(ksvd.d, (i,), row_sum ** Fraction(-1, 2), "both scores carry D̂^(-1/2)")
    same = Fact("the kernel of the scores less that of the remark", _theory(a, "symmetric") - by_rows, "=")
    return All(
        Definition(kappa_ij[i, j], D_INVERSE * (phi_q[i].T @ phi_k[i]), label="the kernel as printed"),
        FEATURE_MAP,
        _exponential(ksvd.phi_q_x, "q"),
        _exponential(ksvd.phi_k_x, "k"),
        _mean(sp.Integer(1), "mean of the features, one coordinate"),
        Definition(as_term(D_SUMS)[i], D_RULE, label="D̂"),
        Definition(e_x, D_ROOT @ W_ex.T @ phi_q_x, label="the score e as printed"),
        Definition(r_x, D_ROOT @ W_rx.T @ phi_k_x, label="the score r as printed"),
        Rule((), same, point, (shared, *positive), label="scores with D̂^(-1/2)"),
        _cosine(ksvd.phi_q_x, "q", positive=False),
        _cosine(ksvd.phi_k_x, "k", positive=False),
    )


def _positive_features() -> tuple[Given, ...]:
    """The features are exponentials: their entries are positive, and so are the row sums."""
    found = []
    for tensor in (ksvd.phi_q, ksvd.phi_k):
        at = tuple(Index(name, dim) for name, dim in zip("if", tensor.dims, strict=True))
        value = as_term(_positive(tensor))[at]
        found.append(Given(tensor, at, value, "an entry of a row; exponentials are positive"))
    return tuple(found)


def _positive(tensor: Tensor) -> Tensor:
    """What stands for features as positive numbers."""
    return Tensor(f"{tensor.name}+", tensor.dims, tensor.latex, positive=True)


def _repaired(a: KsvdAssumptions) -> All:
    own = Given(ksvd.d, (i,), 1 / as_term(D_HAT)[i], "e carries D̂⁻¹, r nothing")
    sums = Given(D_HAT, (i,), D_RULE, "D̂ = diag(φ_q(X)(φ_k(X)ᵀ1))")
    return All(
        Definition(kappa_ij[i, j], (phi_q[i].T @ phi_k[j]) / as_term(D_HAT)[i], label="the kernel"),
        FEATURE_MAP,
        _exponential(ksvd.phi_q_x, "q", size(DK) ** Fraction(1, 4)),
        _exponential(ksvd.phi_k_x, "k", size(DK) ** Fraction(1, 4)),
        _mean(d_k ** sp.Rational(-1, 4), "mean of the features of z/d_k^(1/4)"),
        Definition(as_term(D_SUMS)[i], D_RULE, label="D̂"),
        Identity(as_term(D_HAT)[i], row_sum, (sums, *_positive_features()), label="D̂ holds the row sums"),
        Definition(e_rows[i], 1 / as_term(D_HAT)[i] * (W_ex.T @ phi_q[i]), label="the score e of token i"),
        Definition(r_rows[i], W_rx.T @ phi_k[i], label="the score r of token i"),
        Identity(
            _theory(a, "row"),
            phi_q[i].T @ phi_k[j] / as_term(D_HAT)[i],
            (own, sums, *_positive_features()),
            label="e scaled by D̂⁻¹, r unscaled: the kernel of (a)",
        ),
        _cosine(ksvd.phi_q_x, "q", positive=True),
        _cosine(ksvd.phi_k_x, "k", positive=True),
    )


claim(
    "chen2023/rem4.1",
    "Remark 4.1",
    "Feature maps: random exponential features and cosine",
    theory="ksvd",
    words="The softmax kernel is D̂⁻¹ times an inner product of random exponential features, the scores then "
    "carry D̂^(-1/2) each; the experiments use q/‖q‖ and k/‖k‖ instead.",
    literal=_remark,
    corrected=_repaired,
    correction_words=(
        "κ(x_i, x_j) = ⟨φ_q(x_i), φ_k(x_j)⟩/D̂_ii, with the mean over the features in both the inner product "
        "and D̂_ii, and with g applied to z/d_k^{1/4}; the score e_i carries D̂_ii⁻¹ and r nothing. "
        "Cosine features need q(x) ≠ 0 and k(x) ≠ 0."
    ),
    rests_on=("chen2023/eq2", "chen2023/eq7"),
    legs=(tensor_legs.weighted_rows,),
    where=NOTATION
    + r" $\hat D=\operatorname{diag}(\phi_q(X)(\phi_k(X)^\top\mathbf{1}))$; $q(\boldsymbol{x})$ and "
    r"$k(\boldsymbol{x})$: the query and the key of $\boldsymbol{x}$, of width $d_q=d_k$, which is $p$ where "
    r"the features are cosine; $a,b,w$: one coordinate of a query, of a key and of a random vector "
    r"$\boldsymbol{w}_m$. As an index $f$ counts the features.",
    notes="With D̂^(-1/2) on both scores the kernel is D̂^(-1/2)K_0D̂^(-1/2), where K_0 has the entries "
    "⟨φ_q(x_i), φ_k(x_j)⟩: similar to D̂⁻¹K_0, so the same eigenvalues, but in general other singular "
    "values, and singular values are what KSVD is about. Printed slips: φ_k(x_i) for φ_k(x_j), the "
    "matrices D̂⁻¹ and D̂^(-1/2) beside a scalar and an s-vector, no 1/√d_k. The missing 1/√p cancels. For "
    "finitely many features K has rank at most p.",
)

# ---------------------------------------------------------------- Figure 2

KEY, VALUE, ROWS = "d_k", "d_v", "n"
_NAMES = {
    "Q": (N, KEY),
    "Kt": (N, KEY),
    "V": (N, VALUE),
    "S": (N, N),
    "O": (N, VALUE),
    "F": (ROWS, P),
    "W_e": (ROWS, S),
    "W_r": (ROWS, S),
    "U_e": (P, S),
    "U_r": (P, S),
    "X_q": (N, P),
    "X_k": (N, P),
    "P_q": (N, P),
    "P_k": (N, P),
    "E": (N, S),
    "R": (N, S),
    "O_e": (VALUE, S),
    "O_r": (VALUE, S),
}
_T = {name: Tensor(name, dims, name) for name, dims in _NAMES.items()}
_t = {name: as_term(tensor) for name, tensor in _T.items()}
_i, _j, _a, _c, _l, _d, _m = (
    Index(name, dim) for name, dim in zip("ijacldm", (N, N, P, KEY, S, VALUE, ROWS), strict=True)
)
CANONICAL = (
    Assign(_T["S"], (_i, _j), sum_over(_c, _t["Q"][_i, _c] * _t["Kt"][_j, _c])),
    Assign(_T["O"], (_i, _d), sum_over(_j, _t["S"][_i, _j] * _t["V"][_j, _d])),
)
CANONICAL_OUT = (_t["Q"] @ _t["Kt"].T) @ _t["V"]
"""The weights without their normalisation: functions cost nothing here."""


def _feature_line(side: str) -> Assign:
    return Assign(_T[f"P_{side}"], (_i, _a), apply("g", _t[f"X_{side}"][_i, _a]))


def _reduced(side: str) -> Assign:
    return Assign(_T[f"U_{side}"], (_a, _l), sum_over(_m, _t["F"][_m, _a] * _t[f"W_{side}"][_m, _l]))


def _scores(name: str, side: str, features: str) -> Assign:
    return Assign(_T[name], (_i, _l), sum_over(_a, _t[f"P_{features}"][_i, _a] * _t[f"U_{side}"][_a, _l]))


SCORES = (*(_feature_line(c) for c in "qk"), *(_reduced(c) for c in "er"))
PRIMAL_E = (*SCORES[::2], _scores("E", "e", "q"))
PRIMAL_R = (*SCORES[1::2], _scores("R", "r", "k"))
PRIMAL_PLAN = (*PRIMAL_E, *PRIMAL_R)


def _side(features: str, side: str) -> Term:
    mapped = stack(_i, stack(_a, apply("g", _t[f"X_{features}"][_i, _a])))
    return mapped @ (_t["F"].T @ _t[f"W_{side}"])


MAP = (
    Assign(
        _T["O"],
        (_i, _d),
        sum_over(_l, _t["E"][_i, _l] * _t["O_e"][_d, _l] + _t["R"][_i, _l] * _t["O_r"][_d, _l]),
    ),
)
MAP_OUT = _t["E"] @ _t["O_e"].T + _t["R"] @ _t["O_r"].T


def _canonical(printed: str, **rest: Any) -> Cost:
    words = "canonical attention"
    return Cost(words, CANONICAL, printed, CANONICAL_OUT, relation="O", sizes=(N, KEY, VALUE), **rest)


def _primal(words: str, plan: tuple[Assign, ...], computes: Term, printed: str, **rest: Any) -> Cost:
    sizes = (N, ROWS, P, S) if plan != MAP else (N, P, S, VALUE)
    return Cost(words, plan, printed, computes, relation="O", sizes=sizes, **rest)


CANONICAL_TIME, CANONICAL_SPACE = "N**2*d_v", "N**2 + N*d_v"
PRIMAL_TIME, PRIMAL_SPACE = "N*p*s", "2*N*p + 2*p*s"
WIDE = ((N, "1"), (KEY, "t"), (VALUE, "1"))
SPREAD = ((N, "t"), (ROWS, "1"), (P, "1"), (S, "t"))
OUTPUTS = ((N, "1"), (P, "1"), (S, "1"), (VALUE, "t"))
FEWER_ROWS = ((N, f"{ROWS} + u"),)


def _costs(restricted: bool) -> All:
    """The printed orders, for all widths or those of the correction."""
    keys, few, narrow = (
        ((size, f"{least} + u"),) if restricted else () for size, least in ((VALUE, KEY), (P, S), (P, VALUE))
    )
    ray_keys, ray_few, ray_map = ((), (), ()) if restricted else (WIDE, SPREAD, OUTPUTS)
    e, r = (PRIMAL_E, _side("q", "e")), (PRIMAL_R, _side("k", "r"))
    rows = FEWER_ROWS
    return All(
        _canonical(CANONICAL_TIME, constant=2, domain=keys, ray=ray_keys, label="canonical, time"),
        _canonical(CANONICAL_SPACE, measure="stored", label="canonical, space"),
        _primal("Primal-Attention, all e", *e, PRIMAL_TIME, constant=2, domain=rows, label="time of e"),
        _primal("Primal-Attention, all r", *r, PRIMAL_TIME, constant=2, domain=rows, label="time of r"),
        _primal(
            "Primal-Attention",
            PRIMAL_PLAN,
            r[1],
            PRIMAL_SPACE,
            constant=2,
            measure="stored",
            domain=few,
            ray=ray_few,
            label="Primal-Attention, space",
        ),
        _primal(
            "map from 2s to d_v",
            MAP,
            MAP_OUT,
            PRIMAL_SPACE,
            measure="stored",
            domain=narrow,
            ray=ray_map,
            label="map, space",
        ),
    )


claim(
    "chen2023/fig2",
    "Figure 2",
    "Time and memory of canonical and Primal-Attention",
    words=(
        "Canonical attention takes O(N²d_v) time and O(N² + N d_v) space, Primal-Attention O(Nps) time and "
        "O(2Np + 2ps) space."
    ),
    literal=_costs(False),
    corrected=_costs(True),
    correction_words=(
        "For given queries, keys and values: canonical time if d_k ≤ d_v, primal space if s ≤ p, "
        "that of the map if d_v ≤ p."
    ),
    legs=(Named("checks.papers.chen2023.costs", "counted_operations"),),
    where=r"$N$ tokens; $n$ rows of $f(X)=F$ and of the weights $W_e,W_r$; features of width $p$; $s$ "
    r"directions; keys and values of widths $d_k,d_v$. $Q$, $\mathrm{Kt}$, $V$: queries, keys, values; "
    r"$X_q,X_k\in\mathbb{R}^{N\times p}$: what the feature map is applied to, entry by entry a function $g$ "
    r"that costs no multiplication; $P_q$: the features of the queries; $U_e=F^\top W_e$; "
    r"$E,R\in\mathbb{R}^{N\times s}$: the scores; $[O_e,O_r]=W_o$: the map from $2s$ to $d_v$, said to need "
    r"negligible memory and counted by itself, where negligible is read as of no higher order. Counted are "
    r"multiplications, without those of the softmax, and numbers stored besides the inputs.",
    notes="For p > 1 no map of Remark 4.1 acts entry by entry: the cosine map needs the norm of each row "
    "besides, of the order of Np, which keeps the bounds; random exponential features need the products of "
    "every query and key with p vectors, which Nps bounds only where d_q is at most of the order of s. The "
    "N² of memory is not needed when attention is streamed. Where s > p the scores take more memory than the "
    "features.",
)

# ---------------------------------------------------------------- causal version, transformation, sampling

averaging = Tensor("T", (N, N), "T", "", "T_{%1%2}")
X = Tensor("X", (N, D), "X", r"\boldsymbol{x}_{%1}", r"\boldsymbol{x}_{%1}(%2)")
W_q = Tensor("W_q", (P, D), "W_q")
W_key = Tensor("W_k", (P, D), "W_k")
mean_q = Tensor("m", (N, P), "M", r"\boldsymbol{m}_{%1}", r"\boldsymbol{m}_{%1}(%2)")
mean_k = Tensor("m'", (N, P), "M'", r"\boldsymbol{m}'_{%1}", r"\boldsymbol{m}'_{%1}(%2)")
V_e, V_r = Tensor("W_e", (P, S), "W_e"), Tensor("W_r", (P, S), "W_r")
c_, d_, t_, u_ = Index("c", P), Index("a", D), Index("t", N), Index("u", N)


def _mean_of(by: Tensor) -> Term:
    """The mean of the queries or keys over the tokens so far."""
    return sum_over(t_, as_term(averaging)[i, t_] * (as_term(by) @ as_term(X)[t_]))


def _score(mean: Tensor, weights_: Tensor) -> Term:
    """Wᵀ g(mean) with the cosine map g(z) = z/‖z‖."""
    at_i = as_term(mean)[i]
    return as_term(weights_).T @ (at_i / sqrt(squared_norm(at_i)))


def _scored(score: Tensor, mean: Tensor, weights_: Tensor, name: str) -> Definition:
    """The same score where the mean is not the zero vector: its single entries may be 0."""
    latex = rf"\|{mean.row_latex}\|_2"
    length = Tensor(f"|{mean.name}|", (N,), latex, "", latex, positive=True)
    unit = as_term(mean)[i] / as_term(length)[i]
    return Definition(as_term(score)[i], as_term(weights_).T @ unit, label=f"score {name}")


claim(
    "chen2023/fig3",
    "Figure 3",
    "Causal Primal-Attention",
    role="definition",
    words="Queries and keys are replaced by their means over the tokens so far, then mapped and projected as "
    "before.",
    literal=All(
        Definition(as_term(mean_q)[i], _mean_of(W_q), label="mean of the queries"),
        Definition(as_term(mean_k)[i], _mean_of(W_key), label="mean of the keys"),
        _scored(o_e, mean_q, V_e, "e"),
        _scored(o_r, mean_k, V_r, "r"),
    ),
    rests_on=("chen2023/alg1",),
    legs=(tensor_legs.module_causal, tensor_legs.causality),
    where=r"$T_{it}=1/i$ for $t\le i$ and 0 otherwise; $\boldsymbol{m}_i,\boldsymbol{m}'_i$: means of "
    r"queries and keys; the feature map is the cosine map of Remark 4.1, for means that are not zero; "
    r"$W_q,W_k\in\mathbb{R}^{p\times d}$, $W_e,W_r\in\mathbb{R}^{p\times s}$; "
    r"$\boldsymbol{o}^e_i,\boldsymbol{o}^r_i$: the scores of token $\boldsymbol{x}_i$.",
    notes="The paper shows the code as an image without text; this is the released version of it for "
    "one head, up to the scores, without the biases of its projections. The scores are causal, but they are "
    "not those of a masked KSVD: the dual form sums over all tokens. A mean of queries can be zero, and then "
    "the cosine map is not defined.",
)


def _causal(mean: Tensor, by: Tensor, weights_: Tensor, label: str) -> tuple[Identity, Identity]:
    """∂m_i/∂x_u = T_iu W, whatever the feature map; and ∂e_i/∂x_u for the cosine map, through the mean."""
    mean_at, out_at, factor = as_term(mean)[i], as_term(weights_), as_term(averaging)[i, u_]
    inner = entry(out_at.T @ mean_at, l_) * mean_at[c_]
    norm = squared_norm(mean_at)
    return (
        Identity(
            grad(entry(_mean_of(by), c_), X)[u_, d_],
            factor * as_term(by)[c_, d_],
            label=f"{label}: the mean by a token",
            reason="guarded derivative",
        ),
        Identity(
            grad(entry(_score(mean, weights_), l_), mean)[u_, c_],
            eye(N)[i, u_] * (out_at[c_, l_] / sqrt(norm) - inner / sqrt(norm) ** 3),
            nonzero=(mean,),
            label=f"{label}: the score by a mean",
            reason="guarded derivative",
        ),
    )


other = Tensor("X'", (N, D), "X'", r"\boldsymbol{x}'_{%1}", r"\boldsymbol{x}'_{%1}(%2)")
weight_n = as_term(Tensor("W_e", (N, S), "W_e"))
phi_1 = as_term(Tensor("phi(x_1)", (D,), r"\phi(\boldsymbol{x}_1)"))


def _leaks() -> Rule:
    ahead = entry(weight_n.T @ as_term(X) @ phi_1 - weight_n.T @ as_term(other) @ phi_1, l_)
    first = Tensor("u", (N,), r"\boldsymbol{u}_1")
    same = Fact(
        "the first tokens agree", (as_term(X).T @ as_term(first) - as_term(other).T @ as_term(first))[d_], "="
    )
    point = Point(
        ((N, 2), (D, 2), (S, 1)),
        (
            (X, ((3, 4), (1, 2))),
            (other, ((3, 4), (7, -5))),
            (weight_n.data, ((1,), (1,))),
            (phi_1.data, (Fraction(3, 5), Fraction(4, 5))),
            (first, (1, 0)),
        ),
    )
    return Rule((same,), Fact("the change of e_1", ahead, "="), point, label="e_1 does not see x_2")


claim(
    "chen2023/prose-causal-data-dependent",
    "Appendix B.1, language modelling",
    "Causal Primal-Attention with data-dependent weights",
    words="The language model uses the causal version with weights f(X)ᵀW_e that depend on the sequence, and "
    "is causal: no score depends on later tokens.",
    literal=_leaks(),
    corrected=All(*_causal(mean_q, W_q, V_e, "queries"), *_causal(mean_k, W_key, V_r, "keys")),
    correction_words="Causal with weights that do not depend on X: whatever the feature map, x_u enters the "
    "means m_i and m'_i with the factor T_iu, zero for u > i, and a score is a function of its own mean "
    "(shown by its derivative for the cosine map at means without an entry 0; a mean that is not the zero "
    "vector would do).",
    rests_on=("chen2023/fig3",),
    legs=(tensor_legs.causality,),
    where=r"$X,X'$: two sequences with the same first token; $\boldsymbol{u}_1$: the first unit vector; "
    r"$e_1=W_e^\top X\phi(\boldsymbol{x}_1)$ for $f(X)=X$, with $W_e\in\mathbb{R}^{N\times s}$ "
    r"and $\phi$ the feature map. In the correction $T_{it}=1/i$ for $t\le i$ and 0 otherwise; "
    r"$\boldsymbol{m}_i,\boldsymbol{m}'_i$, the rows of $M,M'$: means of queries and keys as in "
    r"chen2023/fig3; $W_q,W_k\in\mathbb{R}^{p\times d}$, $W_e,W_r\in\mathbb{R}^{p\times s}$.",
    notes="With f(X) = X the score of the first token changes with the second. The released language model "
    "uses weights there that do not depend on X.",
)

selection = Tensor("Z", (SAMPLED, N), "Z")
F_small, X_head = Tensor("F", (SAMPLED, P), "f(X)"), Tensor("X_h", (N, P), "X_h")
claim(
    "chen2023/prose-fx-shape",
    "Appendix B.1",
    "The shape of sampled rows",
    words="f(X) in R^{n×p} is said to be n rows of X in R^{N×d}.",
    literal=Definition(as_term(F_small), as_term(selection) @ as_term(X)),
    corrected=Definition(as_term(F_small), as_term(selection) @ as_term(X_head)),
    correction_words="n rows of the part of X that belongs to one head, of width p.",
    rests_on=("chen2023/alg1",),
    where=r"$X\in\mathbb{R}^{N\times d}$ the tokens; $f(X)\in\mathbb{R}^{n\times p}$; "
    r"$Z\in\mathbb{R}^{n\times N}$ picks $n$ rows; $X_h\in\mathbb{R}^{N\times p}$: the columns of $X$ "
    r"of one head.",
    notes="On UEA the tokens have width d = 512 and heads width p = 64; Appendix B.2 has X in R^{N×p}.",
)

LENGTH, DRAWN = 20, 10  # N, and n = min{s*10, N} for s = 1


def sampling_share(length: int = LENGTH, drawn: int = DRAWN) -> Fraction:
    """The share of the draws of n of N rows of X = (1, 0, …, 0) that keep at least half of the expected
    (n/N)‖X‖²: those with the first row.
    """
    return Fraction(comb(length - 1, drawn - 1), comb(length, drawn))


def projection_share(drawn: int = DRAWN) -> Fraction:
    """The same for random n × N sign projections over √n, whose expected squared norm is ‖X‖²: of their
    signs those of the first column alone enter.
    """
    columns = list(product((1, -1), repeat=drawn))
    kept = sum(Fraction(sum(v * v for v in column), drawn) >= half for column in columns)
    return Fraction(kept, len(columns))


ROWS_OF_X = ((1, 2), (0, -3), (4, 1), (-2, 5))


def mean_gram(count: int, c: int, d: int) -> Fraction:
    """Entry (c, d) of (N/n) FᵀF, averaged over all draws F of n rows of X."""
    draws = list(combinations(ROWS_OF_X, count))
    total = sum((Fraction(row[c] * row[d]) for draw in draws for row in draw), Fraction(0))
    return Fraction(len(ROWS_OF_X), count) * total / len(draws)


def _kept_as_by_projections() -> Arithmetic:
    words = (
        f"share of the draws that keep half of the expected squared norm of X = (1, 0, …, 0): {DRAWN} of "
        f"{LENGTH} rows sampled, against {DRAWN} random projections"
    )
    return Arithmetic(
        (Figure(words, sampling_share(), ">=", projection_share()),), "as by random projections"
    )


def _kept_on_average() -> Arithmetic:
    entries = ((n, c, d) for n in (1, 2, 3) for c, d in ((0, 0), (0, 1), (1, 1)))
    return Arithmetic(
        tuple(
            Figure(
                f"n = {n}: mean over all draws of entry ({c + 1}, {d + 1}) of (N/n) FᵀF, against XᵀX",
                mean_gram(n, c, d),
                "=",
                Fraction(sum(row[c] * row[d] for row in ROWS_OF_X)),
            )
            for n, c, d in entries
        ),
        "on average",
    )


claim(
    "chen2023/prose-jl-subsample",
    "Section 5, Appendix B.1",
    "Uniform sampling of rows and the Johnson-Lindenstrauss lemma",
    words="n rows sampled uniformly are said to keep the main patterns of X, as random projections do by "
    "that lemma.",
    literal=All(_kept_as_by_projections(), _kept_on_average()),
    where=rf"$X=(1,0,\dots,0)^\top$, $N={LENGTH}$, $s=1$, so that $n={DRAWN}$; all draws of $n$ rows, all "
    r"sign matrices over $\sqrt n$; for the mean $X$ with the rows $(1,2),(0,-3),(4,1),(-2,5)$ and all "
    r"draws of 1, 2 and 3 of them; $F$: the rows drawn, $K$ the kernel matrix with $f(X)=F$.",
    notes="The random projections of the lemma mix all rows; a sample of rows can miss what is concentrated "
    "in few of them. Here half of the draws give F = 0, hence K = 0, while every sign "
    "projection keeps ‖X‖ exactly. What uniform sampling does keep is the mean, E[(N/n)FᵀF] = XᵀX: each row "
    "is in a share n/N of all draws. The paper does not rescale by "
    "N/n, and the released code takes evenly spaced rows. It bears on the choice of f(X) in the experiments, "
    "on no theorem.",
)

claim(
    "chen2023/fig1",
    "Figure 1",
    "Singular value decay of attention matrices",
    role="empirical",
    words="On ImageNet-1K the attention matrices of the model with the KSVD loss have a sharper singular "
    "value decay, and in both models those of deeper layers.",
    rests_on=("chen2023/eq10",),
    reason="Needs both trained DeiT-Small/16 models and ImageNet-1K, which are not part of this project.",
    notes=(
        "'The last layer, i.e., the 11-th layer' counts from zero: the model has 12 layers (chen2023/tab13). "
        "The comparison changes the layer and the loss at once; attest experiment chen2023/fig1 changes one "
        "at a time, in a two-layer model on a synthetic task, chen2023/uea on spoken vowels. The effective "
        "rank is the exponential of the entropy of the singular values divided by their sum, a mean over "
        "matrices."
    ),
    legs=(
        Recorded(
            "chen2023/uea",
            partial(ranks, ("Primal.+Trans., no loss", "Primal.+Trans.", "Trans.")),
            "series of JapaneseVowels and a narrower model of two layers; the loss as the public code has it",
        ),
    ),
)
