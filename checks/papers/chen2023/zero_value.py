"""The value of J at solutions of (7): equations (11) and (18) to (20), Lemma 4.2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from checks.claim import Assumption, claim
from checks.kinds.follows import ZERO, Follows
from checks.leg import Legs
from checks.papers.chen2023 import enumerations as legs
from checks.papers.chen2023.duality import printed_objective
from checks.papers.chen2023.symbols import (
    EIGEN,
    NOTATION,
    PRIMAL,
    SCORE_RULES,
    SIGMA_RULE,
    SMALL,
    K,
    column,
    h_e,
    h_r,
    i,
    image,
    j,
    kernel_rule,
    l_,
    lam,
    phi_k,
    phi_q,
    printed,
    res_e,
    res_r,
    sigma,
    solutions,
    weight_rules,
    weights,
)
from checks.statement import All, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, sqrt, squared_norm, sum_over, trace
from derivations.theories import ksvd
from derivations.theories.ksvd import KsvdAssumptions, Lambda, Lambda_inverse, PrintedDiagonal, S, Sigma

tensor_legs = Legs("checks.papers.chen2023.legs.tensors")

HALF = as_term(ksvd.HALF)
rho = Tensor("rho", (S,), r"\boldsymbol{\rho}", "", r"\rho_{%1}", positive=True)
ROOT = Given(ksvd.lam, (l_,), as_term(rho)[l_] ** 2, "a positive λ_l is the square of a positive ρ_l")
he_l, hr_l = column(h_e, l_), column(h_r, l_)
COLUMNS = (
    r" $\boldsymbol{h}_{e,l},\boldsymbol{h}_{r,l}$: column $l$ of $H_e$, $H_r$; "
    r"$\Sigma=\Lambda^{-1}$."
)
UNPRINTED = (
    " The left side of (e) is not printed: J with the dualiser's solution of the stationarity conditions put "
    "in, by entries."
)


def _quadratic(h: Term, at: Index, between: Term) -> Term:
    return HALF * sum_over(at, h[at].T @ between @ h[at])


def lines(a: KsvdAssumptions) -> list[Term]:
    """The seven lines of (18)."""
    w_e, w_r = weights(a)
    e, r = as_term(ksvd.e), as_term(ksvd.r)
    scores = HALF * sum_over(i, e[i].T @ Lambda @ e[i]) + HALF * sum_over(j, r[j].T @ Lambda @ r[j])
    by_query = sum_over(i, image(a, phi_q[i]) @ h_e[i].T)
    by_key = sum_over(j, image(a, phi_k[j]) @ h_r[j].T)
    unscaled = HALF * sum_over(i, (Lambda_inverse @ h_e[i]).T @ (Lambda @ (Lambda_inverse @ h_e[i])))
    unscaled = unscaled + HALF * sum_over(
        j, (Lambda_inverse @ h_r[j]).T @ (Lambda @ (Lambda_inverse @ h_r[j]))
    )
    inverse = _quadratic(h_e, i, Lambda_inverse) + _quadratic(h_r, j, Lambda_inverse)
    in_sigma = _quadratic(h_e, i, Sigma) + _quadratic(h_r, j, Sigma)
    return [
        scores - trace(w_e.T @ w_r),
        scores - trace(w_r.T @ w_e),
        unscaled - trace(by_query.T @ by_key),
        inverse - trace(by_query.T @ by_key),
        inverse - trace(h_e.T @ K @ h_r),
        in_sigma - trace(h_e.T @ h_e @ Sigma),
        last_line(),
    ]


def last_line() -> Term:
    """The last line of (18), the first of (20)."""
    return HALF * sum_over(l_, sigma[l_] * (he_l.T @ he_l)) + second_square() - third_square()


def second_square() -> Term:
    """½ Σ_l σ_l h_{r,l}ᵀ h_{r,l}."""
    return HALF * sum_over(l_, sigma[l_] * (hr_l.T @ hr_l))


def third_square() -> Term:
    """Σ_l σ_l h_{e,l}ᵀ h_{e,l}."""
    return sum_over(l_, sigma[l_] * (he_l.T @ he_l))


def _eq18(a: KsvdAssumptions) -> All:
    own = printed(a)
    one, two, three, four, five, six, seven = lines(own)
    kernel, stationary = kernel_rule(own), (*weight_rules(own), *SCORE_RULES)
    return All(
        Identity(one, two, label="line 2"),
        Identity(two, three, stationary, label="line 3", sizes=SMALL),
        Identity(three, four, label="line 4", sizes=SMALL),
        Identity(four, five, (kernel,), label="line 5", sizes=SMALL),
        Identity(
            Raw((), ksvd.objective_at_solution(a)),
            five,
            (kernel,),
            label="line 5 from the dualiser",
            sizes=SMALL,
            reason="the dualiser's solution of the stationarity conditions, put into J",
        ),
        Follows(EIGEN, five, six, -trace(h_e.T @ res_e), solutions(own), given=(SIGMA_RULE,), label="line 6"),
        Identity(six, seven, label="line 7"),
    )


claim(
    "chen2023/eq11",
    "Eq. (11)",
    "The KSVD objective, both forms",
    theory="ksvd",
    words="The weighted squares of the scores are squared norms of the features projected by W_{e|X}Λ^{1/2}.",
    literal=lambda a: _eq11(printed(a), a),
    assumes=PRIMAL,
    rests_on=("chen2023/eq6",),
    legs=(legs.free_lambda, tensor_legs.both_forms),
    where=NOTATION + " The left side of (b) is not printed: J with the constraints put in, by entries.",
    notes="A real diagonal Λ^{1/2} needs Λ ≥ 0. That Λ is 'automatically determined' is judged under "
    "chen2023/prose-lambda-automatic.",
)


def _eq11(own: KsvdAssumptions, a: KsvdAssumptions) -> All:
    w_e, w_r = weights(own)
    root = PrintedDiagonal((sqrt(lam),), r"\Lambda^{\frac12}")
    project_e, project_r = (ksvd.projected(own, w) for w in ksvd.weights(own))
    first = HALF * sum_over(i, squared_norm((project_e @ root).T @ phi_q[i]))
    second = HALF * sum_over(j, squared_norm((project_r @ root).T @ phi_k[j]))
    form = first + second - trace(w_e.T @ w_r)
    squares = (*_score_rules(own), ROOT)
    return All(
        Identity(printed_objective(own), form, squares, label="the second form", sizes=SMALL),
        Identity(
            Raw((), ksvd.in_weights(a)),
            form,
            (ROOT,),
            label="J in the weights",
            sizes=SMALL,
            reason="the constraints put into the objective of the program",
        ),
    )


def _score_rules(own: KsvdAssumptions) -> Iterator[Given]:
    w_e, w_r = ksvd.weights(own)
    yield Given(ksvd.e, (i, l_), (ksvd.projected(own, w_e).T @ phi_q[i])[l_], "first constraint of (6)")
    yield Given(ksvd.r, (j, l_), (ksvd.projected(own, w_r).T @ phi_k[j])[l_], "second constraint of (6)")


claim(
    "chen2023/eq18",
    "Eq. (18)",
    "J at stationarity, every line",
    theory="ksvd",
    words="Seven expressions for J: by (14), by the kernel, by (7), by columns.",
    literal=_eq18,
    assumes=PRIMAL,
    rests_on=("chen2023/eq7", "chen2023/eq14"),
    legs=(tensor_legs.lines_of_18,),
    where=NOTATION + COLUMNS + UNPRINTED,
)


def _eq19(a: KsvdAssumptions) -> All:
    family = solutions(printed(a))
    square, twice = sigma[l_] ** 2, (K @ K.T @ he_l)
    norm_e, norm_r = he_l.T @ he_l, hr_l.T @ hr_l
    eigen_e, eigen_r = column(res_e, l_), column(res_r, l_)
    four = 1 / square * (he_l.T @ (sigma[l_] * (K @ hr_l)))
    return All(
        Follows(
            EIGEN,
            K.T @ (K @ hr_l),
            sigma[l_] * (K.T @ he_l),
            K.T @ eigen_e,
            family,
            label="KᵀK h_r = σ Kᵀh_e",
        ),
        Follows(
            EIGEN,
            sigma[l_] * (K.T @ he_l),
            square * hr_l,
            sigma[l_] * eigen_r,
            family,
            label="σ Kᵀh_e = σ² h_r",
        ),
        Follows(EIGEN, twice, sigma[l_] * (K @ hr_l), K @ eigen_r, family, label="KKᵀ h_e = σ K h_r"),
        Follows(
            EIGEN,
            sigma[l_] * (K @ hr_l),
            square * he_l,
            sigma[l_] * eigen_e,
            family,
            label="σ K h_r = σ² h_e",
        ),
        Follows(
            EIGEN,
            norm_e,
            1 / square * (twice.T @ he_l),
            -(sigma[l_] * eigen_e + K @ eigen_r).T @ he_l,
            family,
            factor=square,
            label="first",
        ),
        Identity(1 / square * (twice.T @ he_l), 1 / square * (he_l.T @ K @ K.T @ he_l), label="second"),
        Identity(1 / square * (he_l.T @ K @ K.T @ he_l), 1 / square * (he_l.T @ twice), label="third"),
        Follows(
            EIGEN,
            1 / square * (he_l.T @ twice),
            four,
            he_l.T @ (K @ eigen_r),
            family,
            factor=square,
            label="fourth",
        ),
        Identity(four, 1 / sigma[l_] * (he_l.T @ K @ hr_l), label="fifth"),
        Identity(1 / sigma[l_] * (he_l.T @ K @ hr_l), 1 / sigma[l_] * ((K.T @ he_l).T @ hr_l), label="sixth"),
        Follows(
            EIGEN,
            1 / sigma[l_] * ((K.T @ he_l).T @ hr_l),
            norm_r,
            eigen_r.T @ hr_l,
            family,
            factor=sigma[l_],
            label="last",
        ),
    )


claim(
    "chen2023/eq19",
    "Eq. (19)",
    "Paired columns have equal norms",
    theory="ksvd",
    words="For a solution of (7), column l of H_e and column l of H_r have the same norm.",
    literal=_eq19,
    assumes=PRIMAL,
    rests_on=("chen2023/eq7",),
    legs=(tensor_legs.equal_norms,),
    where=NOTATION + COLUMNS,
    notes="It needs σ_l ≠ 0, since with K = 0 and σ_l = 0 any two columns solve (7); columns of norm 1 it "
    "does not need. Where those of H_e are orthonormal, so are those of H_r: chen2023/thm3.2.",
)


J = Tensor("J")
IDENTITY = Assumption("data-independent weights", "f(X) is an identity matrix", "f_X", "identity")


def _eq20(a: KsvdAssumptions) -> All:
    own = printed(a)
    family, at_stationarity = solutions(own), lines(own)[4]
    replaced = HALF * sum_over(l_, sigma[l_] * (he_l.T @ he_l))
    second = replaced + replaced - third_square()
    certificate = HALF * trace(h_e.T @ res_e) - HALF * trace(res_r.T @ h_r)
    return All(
        Follows(
            EIGEN,
            as_term(J),
            last_line(),
            -trace(h_e.T @ res_e),
            family,
            given=(
                Given(J, (), at_stationarity, "the fifth line of (18)"),
                SIGMA_RULE,
            ),
            label="the last line of (18)",
        ),
        Follows(EIGEN, last_line(), second, certificate, family, label="(19) inserted"),
        Identity(second, as_term(0), label="zero"),
    )


claim(
    "chen2023/eq20",
    "Eq. (20)",
    "J vanishes at solutions of (7)",
    theory="ksvd",
    words="With equal norms the three sums of the last line of (18) cancel.",
    literal=_eq20,
    assumes=PRIMAL,
    rests_on=("chen2023/eq18", "chen2023/eq19"),
    legs=(tensor_legs.zero_objective,),
    where=NOTATION + COLUMNS,
)


claim(
    "chen2023/prose-data-independent-value",
    "Appendix A.3, after (20)",
    "(18) to (20) for data-independent weights",
    theory="ksvd",
    under=(("f_X", "identity"),),
    words="With f(X) an identity matrix (18), (19) and (20) hold as well, with K_ij = ⟨φ_q(x_i), φ_k(x_j)⟩.",
    literal=lambda a: All(*_eq18(a).parts, *_eq19(a).parts, *_eq20(a).parts),
    assumes=(*PRIMAL, IDENTITY),
    rests_on=("chen2023/eq18", "chen2023/eq19", "chen2023/eq20"),
    where=NOTATION + COLUMNS + UNPRINTED + r" Here $f(X)$ is absent and $W_e,W_r\in\mathbb{R}^{p\times s}$.",
    notes="The weights have one row for each feature; f(X) occurs in none of the formulas.",
)


EULER = -HALF * trace(h_e.T @ res_e) - HALF * trace(h_r.T @ res_r)


def zero_as_printed(a: KsvdAssumptions) -> Follows:
    """J of (6) vanishes under (7) at the weights and scores of (14)."""
    own = printed(a)
    return Follows(
        EIGEN,
        printed_objective(own),
        ZERO,
        EULER,
        solutions(own),
        given=(*weight_rules(own), *SCORE_RULES, kernel_rule(own), SIGMA_RULE),
        label="J of (6) at the weights and scores of (14)",
    )


def zero_at_solutions(a: KsvdAssumptions) -> Follows:
    """The dualiser's value of J at its stationary points vanishes under (7)."""
    own, both = printed(a), replace(a, scores="both")
    return Follows(
        EIGEN,
        Raw((), ksvd.objective_at_solution(a)),
        ZERO,
        EULER,
        solutions(own),
        given=(
            Given(ksvd.K, (i, j), ksvd.kernel(both, i, j), "the kernel that the features induce"),
            SIGMA_RULE,
        ),
        label="J at the stationary point of a solution",
    )


claim(
    "chen2023/lem4.2",
    "Lemma 4.2",
    "J vanishes at stationary points",
    theory="ksvd",
    words="The weights and scores that belong to a solution of (7) by (14) give J the value 0.",
    literal=lambda a: All(zero_as_printed(a), zero_at_solutions(a)),
    assumes=PRIMAL,
    rests_on=("chen2023/eq7", "chen2023/eq14"),
    legs=(legs.euler_class, tensor_legs.zero_objective, tensor_legs.softmax_triplets),
    where=NOTATION
    + " The left side of (b) is not printed: J with the dualiser's solution of the stationarity conditions "
    "put in, by entries.",
    notes="True for every solution of (7), also zero, unnormalised and non-orthogonal ones. It is Euler's "
    "identity: 2J = ⟨W_e, ∂J/∂W_e⟩ + ⟨W_r, ∂J/∂W_r⟩ for every quadratic form, whatever the (symmetric) "
    "weights between scores and whatever the coupling, so the value 0 says nothing about singular vectors. "
    "An objective with a linear term leaves the class: where it is stationary it is half of that term. "
    "The converse fails: chen2023/prose-zero-objective-satisfies-kkt.",
)
