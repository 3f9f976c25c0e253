"""Further evidence for claims of chen2023: wider classes, exact enumerations, the released loss."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

from checks.claim import Options
from checks.evidence import Evidence
from checks.kinds.follows import Follows
from checks.papers.chen2023.symbols import (
    EIGEN,
    SMALL,
    column,
    h_e,
    h_r,
    i,
    image,
    j,
    kernel_rule,
    l_,
    phi_k,
    phi_q,
    printed,
    res_e,
    res_r,
    row,
    sigma,
    solutions,
    weight_rules,
    weights,
)
from checks.statement import All, Given, Identity
from derivations.calculus import index as ix
from derivations.calculus.differentiate import gradient
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal import equal, normal
from derivations.calculus.printing import to_expr
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term, size, squared_norm, sum_over, trace
from derivations.theories import ksvd
from derivations.theories.ksvd import N, PrintedDiagonal, S, Sigma

half = as_term(ksvd.HALF)


def general_quadratic(a: ksvd.KsvdAssumptions) -> Term:
    """J with any weights P, Q between the scores and any coupling C of the weights in place of Λ, Λ and
    the trace.
    """
    w_e, w_r = weights(a)
    m, n = row(a), Index("m'", ksvd.rows(a))
    c, d = Index("c", S), Index("d", S)
    one, two = image(a, phi_q[i]), image(a, phi_k[j])
    left, right = (as_term(Tensor(name, (S, S))) for name in "PQ")
    coupling = as_term(Tensor("C", (ksvd.rows(a), ksvd.rows(a), S, S)))
    squares = sum_over(i, (w_e.T @ one).T @ left @ (w_e.T @ one)) + sum_over(
        j, (w_r.T @ two).T @ right @ (w_r.T @ two)
    )
    return squares - sum_over(m, n, c, d, coupling[m, n, c, d] * w_e[m, c] * w_r[n, d])


def euler_class(a: Any, options: Options) -> list[Evidence]:
    """2J = ⟨W, ∂J/∂W⟩ for the whole class of quadratic objectives, with guarded gradients; with a linear term
    besides, that term is what is left.
    """
    own = printed(a)
    quadratic = general_quadratic(own)
    linear = trace(as_term(Tensor("B", (ksvd.rows(own), S))).T @ weights(own)[0])
    every = "all quadratic objectives in the scores with any coupling of the weights"
    said = (
        (quadratic, as_term(0), f"2J = ⟨W, ∂J/∂W⟩ for {every}"),
        (quadratic + linear, linear, f"2J = ⟨W, ∂J/∂W⟩ + tr(BᵀW_e) for {every} and the term tr(BᵀW_e)"),
    )
    return [
        Evidence("derivation", "exact-symbolic", _euler(own, objective, left), detail)
        for objective, left, detail in said
    ]


def _euler(own: ksvd.KsvdAssumptions, objective: Term, left: Term) -> bool:
    """Whether 2J = ⟨W, ∂J/∂W⟩ + left."""
    expr = to_expr(normal(objective.entry()))
    m, c = row(own), Index("l", S)
    parts = [ix.total(w[m, c] * gradient(expr, w, (m, c)), m, c) for w in ksvd.weights(own)]
    return equal(2 * expr, parts[0] + parts[1] + left.entry())


def free_lambda(a: Any, options: Options) -> list[Evidence]:
    """∂J/∂λ_l = ½ Σ_i e_il² + ½ Σ_j r_jl²: a sum of squares."""
    own = printed(a)
    found = gradient(ksvd.objective(own).entry(), ksvd.lam, (l_,))
    squares = half * sum_over(i, as_term(ksvd.e)[i, l_] ** 2) + half * sum_over(
        j, as_term(ksvd.r)[j, l_] ** 2
    )
    passed = equal(found, squares.entry())
    return [
        Evidence(
            "derivation",
            "exact-symbolic",
            passed,
            "∂J/∂λ_l is half the sum of the squared scores in direction l",
        )
    ]


def released_statement(a: ksvd.KsvdAssumptions) -> All:
    """The released loss in the weights; and its value on weights that solve (7)."""
    own = printed(a)
    other = replace(own, objective="released")
    scaled = Given(ksvd.lam, (l_,), as_term(ksvd.released)[l_] ** 2 / size(N), "Λ = L²/N")
    same = Identity(
        _printed_release(own),
        Raw((), ksvd.in_weights(own)),
        (scaled,),
        label="the loss is J with Λ = L²/N",
        sizes=SMALL,
        reason="J with the constraints of (6) put in",
    )
    knob = Identity(
        _printed_release(own),
        Raw((), ksvd.in_weights(other)),
        label="the loss is that of the knob ksvd.objective = released",
        sizes=SMALL,
    )
    norm = column(h_e, l_).T @ column(h_e, l_)
    target = sum_over(l_, norm * sigma[l_] * (as_term(ksvd.released)[l_] ** 2 * sigma[l_] / size(N) - 1))
    value, rules = Raw((), ksvd.in_weights(other)), (kernel_rule(own), *weight_rules(own))
    follows = Follows(
        EIGEN,
        value,
        target,
        _released_certificate(own),
        solutions(own),
        given=rules,
        label="its value on solutions of (7)",
    )
    return All(same, knob, follows)


def _printed_release(own: ksvd.KsvdAssumptions) -> Term:
    """Half the mean over tokens of the squared scores times L, minus the trace."""
    w_e, w_r = weights(own)
    project_e, project_r = (ksvd.projected(own, w) for w in ksvd.weights(own))
    scale = PrintedDiagonal((as_term(ksvd.released),), r"\operatorname{diag}(\boldsymbol{L})")
    first = sum_over(i, squared_norm((project_e @ scale).T @ phi_q[i]))
    second = sum_over(j, squared_norm((project_r @ scale).T @ phi_k[j]))
    return half * (first / size(N)) + half * (second / size(N)) - trace(w_e.T @ w_r)


def _released_certificate(own: ksvd.KsvdAssumptions) -> Term:
    """With E = K H_r = H_e Σ + R_e and R = Kᵀ H_e = H_r Σ + R_r, and |h_r| = |h_e| by (7)."""
    weight = PrintedDiagonal(
        (as_term(ksvd.released) ** 2 / size(N),), r"\tfrac{1}{N}\operatorname{diag}(\boldsymbol{L})^2"
    )
    first = half * trace((res_e + 2 * (h_e @ Sigma)).T @ res_e @ weight)
    second = half * trace((res_r + 2 * (h_r @ Sigma)).T @ res_r @ weight)
    norms = half * trace((h_e.T @ res_e - res_r.T @ h_r) @ Sigma @ weight)
    return first + second + norms - trace(h_e.T @ res_e)


def inertia(a: Any, options: Options) -> list[Evidence]:
    """Signs of the Hessian of J in one direction, counted exactly and compared with the singular values
    of K.
    """
    from checks.kinds.exact_svd import FAMILIES

    rng, checked = random.Random(f"{options.seed} inertia"), 0
    for _ in range(6):
        for family in (solutions(replace(printed(a), f_X=f)) for f in ("tokens", "sampled", "identity")):
            _, named = FAMILIES[family](rng)
            values = named["singular values"]
            values = values + [Fraction(0)] * (len(named["F"]) - len(values))
            for weight in (1 / max(values), Fraction(1, 3), Fraction(7, 2)):
                checked += 1
                if signs(hessian(named, weight)) != _expected(values, weight):
                    return [
                        Evidence("exact", "exact-rational", False, f"{family}: other signs for λ = {weight}")
                    ]
    detail = f"signs of the Hessian as the singular values say, at {checked} exact instances"
    return [Evidence("exact", "exact-rational", True, detail)]


def _expected(values: list[Fraction], weight: Fraction) -> tuple[int, int, int]:
    products = [weight * v for v in values]
    above, equal_one = sum(x > 1 for x in products), sum(x == 1 for x in products)
    return len(values) + above, equal_one, len(values) - above - equal_one


def hessian(named: dict[str, Any], weight: Fraction) -> list[list[Fraction]]:
    """[[λ AᵀA, -I], [-I, λ BᵀB]] with the rows of A and B the images of the features under f(X)."""
    m = len(named["F"])
    whole = [[Fraction(0)] * (2 * m) for _ in range(2 * m)]
    for side, features in enumerate((named["phi_q"], named["phi_k"])):
        images = [[sum(f * x for f, x in zip(r, v, strict=True)) for r in named["F"]] for v in features]
        for x in range(m):
            for y in range(m):
                whole[side * m + x][side * m + y] = weight * sum(v[x] * v[y] for v in images)
            whole[side * m + x][(1 - side) * m + x] = Fraction(-1)
    return whole


def signs(matrix: list[list[Fraction]]) -> tuple[int, int, int]:
    """Positive, zero and negative eigenvalues of a symmetric matrix, by exact elimination (Sylvester's
    law).
    """
    matrix, left = [list(r) for r in matrix], list(range(len(matrix)))
    positive = negative = 0
    while left:
        pivot = next((x for x in left if matrix[x][x]), None)
        if pivot is None:
            pair = next(((x, y) for x in left for y in left if matrix[x][y]), None)
            if pair is None:
                break
            _add(matrix, *pair)  # the diagonal entry becomes twice the off-diagonal one
            continue
        positive, negative = positive + (matrix[pivot][pivot] > 0), negative + (matrix[pivot][pivot] < 0)
        left.remove(pivot)
        for x in left:
            factor = matrix[x][pivot] / matrix[pivot][pivot]
            for y in left:
                matrix[x][y] -= factor * matrix[pivot][y]
    return positive, len(matrix) - positive - negative, negative


def _add(matrix: list[list[Fraction]], x: int, y: int) -> None:
    """Row and column y added to row and column x."""
    for z in range(len(matrix)):
        matrix[x][z] += matrix[y][z]
    for z in range(len(matrix)):
        matrix[z][x] += matrix[z][y]
