"""Lagrangian, KKT conditions, the eigenvalue problem and both representations: (7), (8), (13) to (17),
Remark 3.3.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from checks.claim import claim
from checks.kinds.examples import Point
from checks.kinds.follows import Equation, Follows
from checks.leg import Legs
from checks.papers.chen2023.duality import printed_objective
from checks.papers.chen2023.symbols import (
    NOTATION,
    PRIMAL,
    SMALL,
    K,
    derived,
    e,
    entry,
    h_e,
    h_r,
    i,
    image,
    j,
    kernel_rule,
    l_,
    lam,
    matrix,
    phi_k,
    phi_k_x,
    phi_q,
    phi_q_x,
    printed,
    r,
    row,
    solutions,
    weight_rules,
    weights,
)
from checks.statement import All, Definition, Given, Identity, Link
from derivations.calculus.index import Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Stack, Term, as_term, sum_over
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, N, S, Sigma

tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

LAMBDA_RULE = Given(ksvd.sigma, (l_,), 1 / lam[l_], "Σ := Λ⁻¹")
e_x, r_x = Tensor("e(x)", (S,), r"e(\boldsymbol{x})"), Tensor("r(x)", (S,), r"r(\boldsymbol{x})")
kappa_q = Tensor(
    "kappa_q", (N,), r"\kappa(\boldsymbol{x},X)", "", r"\kappa(\boldsymbol{x},\boldsymbol{x}_{%1})"
)
kappa_k = Tensor(
    "kappa_k", (N,), r"\kappa(X,\boldsymbol{x})", "", r"\kappa(\boldsymbol{x}_{%1},\boldsymbol{x})"
)


def printed_lagrangian(a: KsvdAssumptions) -> Term:
    """(13)."""
    w_e, w_r = weights(a)
    first = sum_over(i, h_e[i].T @ (e[i] - w_e.T @ image(a, phi_q[i])))
    return printed_objective(a) - first - sum_over(j, h_r[j].T @ (r[j] - w_r.T @ image(a, phi_k[j])))


claim(
    "chen2023/eq13",
    "Eq. (13)",
    "The Lagrangian of (12)",
    theory="ksvd",
    words="The printed function is the Lagrangian that the constraints of (12) give.",
    literal=lambda a: Identity(
        printed_lagrangian(printed(a)),
        Raw((), ksvd.dual(a).lagrangian.entry()),
        reason="the Lagrangian formed by the dualiser from program (6)",
        sizes=SMALL,
    ),
    assumes=PRIMAL,
    rests_on=("chen2023/eq12",),
    legs=(tensor_legs.lagrangian,),
    where=NOTATION
    + " The right side is not printed: the Lagrangian that the dualiser forms from (12), by entries.",
    notes="Neither supremum nor infimum of this function over the primal variables is finite, for any "
    "multipliers (see chen2023/prose-dual-problem): only its stationary points are used.",
)


def _conditions(a: KsvdAssumptions, last: Term) -> All:
    own = printed(a)
    m, (w_e, w_r), by = row(own), weights(own), ksvd.weights(a)
    by_query = sum_over(i, image(own, phi_q[i]) @ h_e[i].T)
    by_key = sum_over(j, image(own, phi_k[j]) @ h_r[j].T)

    def by_score(tensor: Tensor) -> Term:
        return derived(ksvd.stationarity(a, tensor, i, l_))

    by_h_e = derived(-ksvd.multiplier_gradient(a, ksvd.h_e, i, l_))
    by_h_r = matrix(-ksvd.multiplier_gradient(a, ksvd.h_r, j, l_), j, l_)
    first, second = (derived(ksvd.stationarity(a, w, m, l_)) for w in by)
    why = "derivative of the Lagrangian by the dualiser"
    return All(
        Identity(first, entry(by_query - w_r, m, l_), label="∂L/∂W_e", reason=why, sizes=SMALL),
        Identity(second, entry(by_key - w_e, m, l_), label="∂L/∂W_r", reason=why, sizes=SMALL),
        Identity(by_score(ksvd.e), entry(ksvd.Lambda @ e[i] - h_e[i], l_), label="∂L/∂e", reason=why),
        Identity(by_score(ksvd.r), entry(ksvd.Lambda @ r[i] - h_r[i], l_), label="∂L/∂r", reason=why),
        Identity(
            by_h_e, entry(e[i] - w_e.T @ image(own, phi_q[i]), l_), label="-∂L/∂h_e", reason=why, sizes=SMALL
        ),
        Identity(by_h_r, last, label="-∂L/∂h_r, for the printed range", reason=why, sizes=SMALL),
    )


def _last_line(a: KsvdAssumptions, over: object) -> Term:
    """r_j - W_rᵀ f(X) φ_k(x_j) for all values of the index ``over``."""
    _, w_r = weights(a)
    return Stack((r[j] - w_r.T @ image(a, phi_k[j]),), over)


claim(
    "chen2023/eq14",
    "Eq. (14)",
    "KKT conditions of (12)",
    theory="ksvd",
    words="The six derivatives of the Lagrangian, set to zero. The last line is about r_j and is printed for "
    "i = 1, …, N.",
    literal=lambda a: _conditions(a, _last_line(printed(a), i)),
    corrected=lambda a: _conditions(a, _last_line(printed(a), j)),
    correction_words="The last line holds for j = 1, …, N; the next display uses it so.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq13",),
    legs=(tensor_legs.lagrangian,),
    where=NOTATION
    + " The left sides are not printed: the derivatives of the Lagrangian that the dualiser forms, by "
    "entries, those by the multipliers in (e) and (f) times -1; each vanishes exactly if the printed "
    "equation holds.",
    notes="All six derivatives are right; only the range printed after the last one leaves j unbound.",
)


def _solves(a: KsvdAssumptions, which: int) -> Follows:
    """The printed lines of (14) that have W_e give K H_r = H_e Σ, those that have W_r give Kᵀ H_e = H_r Σ."""
    x, at, features, score, h = (("e", i, phi_q, e, h_e), ("r", j, phi_k, r, h_r))[which]
    over, others, h_other = ((j, phi_k, h_r), (i, phi_q, h_e))[which]
    w, own = weights(a)[which], image(a, features[at])
    residuals = [
        Tensor(f"{n}_{x}", dims, f"{n}_{x}") for n, dims in (("G", w.shape()), ("S", (S,)), ("C", (S,)))
    ]
    lines = (
        (w, sum_over(over, image(a, others[over]) @ h_other[over].T), "the weights"),
        (ksvd.Lambda @ score[at], h[at], "the scores"),
        (w.T @ own, score[at], "the constraint"),
    )
    for_w, for_score, constraint = map(as_term, residuals)
    return Follows(
        tuple(
            Equation(left, right, residual, f"a line of (14), {words}: this residual vanishes")
            for (left, right, words), residual in zip(lines, residuals, strict=True)
        ),
        entry((K.T if which else K) @ h_other, at, l_),
        entry(h @ Sigma, at, l_),
        constraint[l_] + for_score[l_] / lam[l_] - (for_w.T @ own)[l_],
        solutions(a),
        given=(kernel_rule(a), LAMBDA_RULE),
        label=f"from the lines of (14) with W_{x}",
    )


def eigen_equations(a: KsvdAssumptions) -> tuple[Identity, Identity]:
    """The constraints with every solved variable put in are K H_r = H_e Σ and Kᵀ H_e = H_r Σ."""
    own = printed(a)
    rules = (kernel_rule(own), LAMBDA_RULE)
    why = "the dualiser's solution of the stationarity conditions, put into the constraints"
    return (
        Identity(
            derived(ksvd.residual(a, 0)),
            entry(h_e @ Sigma - K @ h_r, i, l_),
            rules,
            label="the constraint on e, with the weights and scores that the dualiser finds",
            reason=why,
            sizes=SMALL,
        ),
        Identity(
            derived(ksvd.residual(a, 1)),
            entry(h_r @ Sigma - K.T @ h_e, j, l_),
            rules,
            label="the constraint on r, with the weights and scores that the dualiser finds",
            reason=why,
            sizes=SMALL,
        ),
    )


def eigen_problem(a: KsvdAssumptions) -> All:
    """(14) as printed implies (7), and so do the conditions that are derived from the program."""
    own = printed(a)
    return All(_solves(own, 0), _solves(own, 1), *eigen_equations(a))


claim(
    "chen2023/eq7",
    "Eq. (7)",
    "The shifted eigenvalue problem of KSVD",
    theory="ksvd",
    words="The KKT conditions (14) give K H_r = H_e Σ and KᵀH_e = H_r Σ, Σ = Λ⁻¹. The constraints, into "
    "which the dualiser's weights and scores are put, are these equations.",
    literal=eigen_problem,
    assumes=PRIMAL,
    rests_on=("chen2023/eq14",),
    legs=(tensor_legs.eigen_problem,),
    where=NOTATION,
    notes="That the columns of H_e and H_r are singular vectors is a further claim: chen2023/thm3.2.",
)
claim(
    "chen2023/eq15",
    "Eq. (15)",
    "The shifted eigenvalue problem, restated in the appendix",
    theory="ksvd",
    words="The same equations as (7), with the kernel K_ij = ⟨f(X)φ_q(x_i), f(X)φ_k(x_j)⟩ and Σ := Λ⁻¹.",
    literal=eigen_problem,
    assumes=PRIMAL,
    rests_on=("chen2023/eq14",),
    legs=(tensor_legs.eigen_problem,),
    where=NOTATION,
    notes="'Corresponding to the non-zero entries in Λ' excludes nothing: Λ is assumed positive, so all "
    "entries of its diagonal are non-zero.",
)


def _one_token(a: KsvdAssumptions) -> tuple[Point, ...]:
    """(14) at one token with both features 1 and f(X) = c: all weights are c, all scores c², λ = 1/c²."""

    def at(c: int) -> Point:
        values = {ksvd.transformation(a): c, ksvd.lam: Fraction(1, c**2), ksvd.e: c**2, ksvd.r: c**2}
        values |= dict.fromkeys(ksvd.weights(a), c)
        values |= dict.fromkeys((ksvd.phi_q, ksvd.phi_k, ksvd.h_e, ksvd.h_r), 1)
        nested = tuple((t, (value,) if len(t.dims) == 1 else ((value,),)) for t, value in values.items())
        return Point(((N, 1), (ksvd.P, 1), (S, 1), (ksvd.SAMPLED, 1)), nested)

    return tuple(at(c) for c in (2, 3, 4))


def _without_f(a: KsvdAssumptions) -> All:
    """(14) would imply (7) with the kernel of Section 3, in which f(X) does not occur."""
    own = printed(a)
    rules = (Given(ksvd.K, (i, j), phi_q[i].T @ phi_k[j], "the kernel of Section 3"), LAMBDA_RULE)
    family = solutions(own) if own.f_X == "identity" else _one_token(own)
    steps = (replace(_solves(own, which), given=rules, family=family) for which in (0, 1))
    return All(*steps, *(replace(part, given=rules) for part in eigen_equations(a)))


claim(
    "chen2023/prose-kernel-without-fx",
    "Section 3, before (6)",
    "The kernel without f(X)",
    theory="ksvd",
    words="The kernel of the dual is introduced as K_ij = ⟨φ_q(x_i), φ_k(x_j)⟩. With it the KKT conditions "
    "(14) would give (7), and the constraints, into which weights and scores are put, would be (7).",
    literal=_without_f,
    corrected=eigen_problem,
    correction_words="K_ij = ⟨f(X)φ_q(x_i), f(X)φ_k(x_j)⟩, as Theorem 3.2 has it.",
    assumes=PRIMAL,
    rests_on=("chen2023/eq14",),
    legs=(tensor_legs.eigen_problem,),
    where=NOTATION,
    notes="The two kernels agree for all features exactly if f(X)ᵀf(X) = I_p. The appendix has f(X).",
)

ELIMINATED = (
    r" On the left stands component $l$ of what the last two lines of (14) say is zero, with the weights and "
    r"scores that follow from its first four."
)
claim(
    "chen2023/prose-eliminated-conditions",
    "Appendix A.1, after (14)",
    "The conditions without the primal variables",
    theory="ksvd",
    words="The weights and scores of (14) put into its last lines: both equations in h_e and h_r.",
    literal=lambda a: _without_weights(a),
    assumes=PRIMAL,
    rests_on=("chen2023/eq14",),
    legs=(tensor_legs.eigen_problem,),
    where=NOTATION + ELIMINATED,
)


def without_weights(residual: Term, side: Term, label: str) -> Identity:
    """A constraint into which the weights of the stationarity conditions are put, component l of it."""
    return Identity(
        residual,
        entry(side, l_),
        label=label,
        reason="the dualiser's solution of the stationarity conditions, put into the constraints",
        sizes=SMALL,
    )


def _without_weights(a: KsvdAssumptions) -> All:
    own, inverse = printed(a), ksvd.Lambda_inverse
    first = sum_over(j, h_r[j] * between(own, phi_k[j], phi_q[i]))
    second = sum_over(i, h_e[i] * between(own, phi_q[i], phi_k[j]))
    return All(
        without_weights(derived(ksvd.residual(a, 0)), inverse @ h_e[i] - first, "for all i"),
        without_weights(derived(ksvd.residual(a, 1)), inverse @ h_r[j] - second, "for all j"),
    )


def _weight_rule(a: KsvdAssumptions, which: int) -> tuple[Given, ...]:
    """W_e or W_r as the dualiser solves the stationarity conditions; nothing where it has no such weights."""
    weight, m = ksvd.weights(a)[which], row(printed(a))
    if weight not in ksvd.dual(a).solved:
        return ()
    value = derived(ksvd.solved(a, weight, m, l_))
    return (Given(weight, (m, l_), value, f"{('second', 'first')[which]} line of (14)"),)


def _score_at(a: KsvdAssumptions, which: int) -> Term:
    """e(x) or r(x) with the dualiser's weights, as a vector."""
    features = (phi_q_x, phi_k_x)[which]
    term = ksvd.projected(a, ksvd.weights(a)[which]).T @ features
    return matrix(ksvd.dual(a).substitute(term.entry(l_)), l_)


def _kernels(a: KsvdAssumptions) -> tuple[Given, Given]:
    return (
        Given(kappa_q, (j,), image(a, phi_q_x).T @ image(a, phi_k[j]), "the kernel at x and x_j"),
        Given(kappa_k, (i,), image(a, phi_q[i]).T @ image(a, phi_k_x), "the kernel at x_i and x"),
    )


def representations(a: KsvdAssumptions) -> All:
    """(8): both scores as kernel expansions."""
    own = printed(a)
    at_x, at_i = _kernels(own)
    by_e, by_r = (ksvd.projected(a, w) for w in ksvd.weights(a))
    why = "the weights of (14) in the primal representation"
    first = sum_over(j, h_r[j] * as_term(kappa_q)[j])
    second = sum_over(i, h_e[i] * as_term(kappa_k)[i])
    rules_e, rules_r = (*_weight_rule(a, 0), at_x), (*_weight_rule(a, 1), at_i)
    return All(
        Identity(by_e.T @ phi_q_x, first, rules_e, label="e(x)", reason=why, sizes=SMALL),
        Identity(by_r.T @ phi_k_x, second, rules_r, label="r(x)", reason=why, sizes=SMALL),
    )


for _id, _reference, _title in (
    ("eq8", "Eq. (8)", "Primal and dual representations of the scores"),
    ("rem3.3", "Remark 3.3", "Primal-dual representations"),
):
    claim(
        f"chen2023/{_id}",
        _reference,
        _title,
        theory="ksvd",
        words="The score W_{e|X}ᵀφ_q(x) equals Σ_j h_{r_j} κ(x, x_j), and W_{r|X}ᵀφ_k(x) equals Σ_i h_{e_i} "
        "κ(x_i, x).",
        literal=representations,
        assumes=PRIMAL,
        rests_on=("chen2023/eq14",) if _id == "eq8" else ("chen2023/eq8", "chen2023/eq17"),
        legs=(tensor_legs.representations,),
        where=NOTATION + r" $\kappa(\boldsymbol{x},\boldsymbol{z})=\langle "
        r"f(X)\phi_q(\boldsymbol{x}),f(X)\phi_k(\boldsymbol{z})\rangle$, "
        r"with $f(X)$ of the given sequence at every $\boldsymbol{x}$.",
        notes=(
            "The order of the arguments matters, because φ_q and φ_k differ, and is right in both lines. "
            "A dual form exists exactly for the weights that the first two lines of (14) give, up to a part "
            "that f(X)ᵀ annihilates, if the features span their space."
        ),
    )

claim(
    "chen2023/eq16",
    "Eq. (16)",
    "The primal representation",
    theory="ksvd",
    role="definition",
    words="The scores at any x are the constraints of (12) read as functions of x.",
    literal=lambda a: All(
        Definition(as_term(e_x), ksvd.projected(printed(a), ksvd.weights(printed(a))[0]).T @ phi_q_x),
        Definition(as_term(r_x), ksvd.projected(printed(a), ksvd.weights(printed(a))[1]).T @ phi_k_x),
    ),
    rests_on=("chen2023/eq12",),
    legs=(tensor_legs.representations,),
    where=NOTATION,
)


def _lines_of_17(a: KsvdAssumptions) -> All:
    own = printed(a)
    image_q, image_k = image(own, phi_q_x), image(own, phi_k_x)
    inner_e = sum_over(j, image(own, phi_k[j]) @ h_r[j].T)
    inner_r = sum_over(i, image(own, phi_q[i]) @ h_e[i].T)
    scalar_e = between(own, phi_q_x, phi_k[j])
    scalar_r = between(own, phi_q[i], phi_k_x)
    w_e, w_r = weights(own)
    rule_r, rule_e = weight_rules(own)
    score_e, score_r = (
        Given(score, (l_,), entry(ksvd.projected(own, w).T @ features, l_), "(16)")
        for score, w, features in zip((e_x, r_x), ksvd.weights(own), (phi_q_x, phi_k_x), strict=True)
    )

    def first_line(score: Given, by_weights: Term, inner: Term, rule: Given) -> Identity:
        whole, name = as_term(score.tensor), f"{score.tensor.name}, first line"
        link = Link(by_weights, "the score of (16)")
        return Identity(whole, inner, (score, rule), (link,), reason=rule.reason, label=name, sizes=SMALL)

    return All(
        first_line(score_e, w_e.T @ image_q, inner_e.T @ image_q, rule_e),
        Identity(inner_e.T @ image_q, sum_over(j, h_r[j] * scalar_e), label="e(x), second line", sizes=SMALL),
        Identity(
            _score_at(a, 0), sum_over(j, h_r[j] * scalar_e), label="e(x), from the dualiser", sizes=SMALL
        ),
        first_line(score_r, w_r.T @ image_k, inner_r.T @ image_k, rule_r),
        Identity(inner_r.T @ image_k, sum_over(i, h_e[i] * scalar_r), label="r(x), second line", sizes=SMALL),
        Identity(
            _score_at(a, 1), sum_over(i, h_e[i] * scalar_r), label="r(x), from the dualiser", sizes=SMALL
        ),
    )


def between(a: KsvdAssumptions, left: Term, right: Term) -> Term:
    """φ_qᵀ f(X)ᵀ f(X) φ_k."""
    if a.f_X == "identity":
        return left.T @ right
    big = as_term(ksvd.transformation(a))
    return left.T @ big.T @ big @ right


claim(
    "chen2023/eq17",
    "Eq. (17)",
    "The dual representation, line by line",
    theory="ksvd",
    words="The weights of (14) put into (16) at any x, and the sums rearranged into kernel values.",
    literal=_lines_of_17,
    assumes=PRIMAL,
    rests_on=("chen2023/eq14", "chen2023/eq16"),
    legs=(tensor_legs.representations,),
    where=NOTATION
    + " The left sides of (c) and (f) are not printed: the scores with the weights that the dualiser "
    "finds, by entries.",
)
