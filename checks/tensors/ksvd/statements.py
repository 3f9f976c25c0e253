"""Further statements about solutions of (7) for explicit features, each with a proved bound and wrong
readings.

Notation as in `explicit_features`: a and b are the residuals K h_r - sigma h_e and Kᵀh_e - sigma h_r of a
column.
Where a statement holds exactly only for exact solutions, what the residuals may add is part of its bound.
"""

from __future__ import annotations

import math

import torch

from checks.tensors.core.agreement import Agreement, Comparison, largest, same
from checks.tensors.core.bounded import BLOCK, UNIT, Bounded, over_tokens
from checks.tensors.core.bounds import SAFETY
from checks.tensors.ksvd.explicit_features import (
    Solution,
    inverse_weights,
    objective,
    residuals,
    transformed,
    with_scores,
)

ROWS = 64  # tokens at which whole rows of K are formed
ROUND_UP = 1 + 2.0**-10


def _sizes(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(x, dim=0)


def _entries(x: torch.Tensor, y: torch.Tensor) -> Bounded:
    """Inner products of the columns of x with those of y."""
    return (Bounded(x) * Bounded(y)).sum(0)


def _allowed(size: torch.Tensor) -> Bounded:
    """Zero up to `size`."""
    return Bounded(torch.zeros_like(size), size * ROUND_UP)


def norms(s: Solution) -> Agreement:
    """(19): paired columns have equal norms; sigma (|h_e|² - |h_r|²) = h_r·b - h_e·a."""
    a, b = residuals(s)
    zero = _allowed((_sizes(s.left) * a + _sizes(s.right) * b) / s.values)
    e, r = _entries(s.left, s.left), _entries(s.right, s.right)

    def judged(left: Bounded, right: Bounded) -> Comparison:
        return same("|h_e| = |h_r|", left - right, zero)

    others = {
        "right vectors longer by 1e-6": judged(e, r * (1 + 1e-6)),
        "zero left vectors": judged(e * 0.0, r),
        "sigma |h_e|² for |h_e|²": judged(e * Bounded(s.values), r),
    }
    if len(s.values) > 1 and not torch.allclose(r.value, r.value.roll(1)):
        others["columns of other triplets"] = judged(e, Bounded(r.value.roll(1), r.error.roll(1)))
    return Agreement((judged(e, r),), others)


def lines(s: Solution) -> Agreement:
    """(18): J in the scores, in the multipliers, by the kernel and by columns, all zero; and minus it,
    eliminated.

    Line 5 is -(h_e·a + h_r·b)/2 and lines 6 and 7 are (h_e·a - h_r·b)/2 in the residuals, column by column.
    """
    w, u, v, a, b = s.primal, s.left, s.right, *residuals(s)
    lam = inverse_weights(s.values, s.tokens, "paper")
    inverse = Bounded(1 / lam, 2 * UNIT / lam)  # what (Λ⁻¹h)ᵀΛ(Λ⁻¹h) leaves of Λ
    sigma = Bounded(s.values)
    square_e, square_r = _entries(u, u), _entries(v, v)
    by_kernel = (Bounded(u) * w.e).sum()  # tr H_eᵀ K H_r
    zero = _allowed(((_sizes(u) * a + _sizes(v) * b) / 2 + 2 * UNIT * (square_e.value * s.values)).sum())

    def half(weight: Bounded) -> Bounded:
        return ((square_e + square_r) * weight).sum() * 0.5

    found = {
        "(18), line 3": half(inverse) - w.trace,
        "(18), line 5": half(sigma) - by_kernel,
        "(18), line 6": half(sigma) - (square_e * sigma).sum(),
        "eliminated Lagrangian is -J": by_kernel - half(sigma),
    }
    others = {
        "line 5, K transposed": half(sigma) - (Bounded(u) * w.r).sum(),
        "line 5, half the trace": half(sigma) - by_kernel * 0.5,
        "line 6 with Λ for Σ": half(Bounded(lam)) - (square_e * sigma).sum(),
        "line 6, halves dropped": half(sigma) * 2.0 - (square_e * sigma).sum(),
        "line 3, trace added": half(inverse) + w.trace,
    }
    return Agreement(
        tuple(same(name, x, zero) for name, x in found.items()),
        {name: same("", x, zero) for name, x in others.items()},
    )


def _gradient(s: Solution, lam: torch.Tensor, sign: float = 1.0) -> tuple[Bounded, Bounded]:
    """∂J/∂W_e = f(X) φ_qᵀ E Λ - W_r and its twin; `sign` -1 takes the trace with the other sign."""
    w, found = s.primal, []
    sides = ((s.phi_q, w.e, w.w_r), (s.phi_k, w.r, w.w_e))
    for features, scores, other in sides:
        x = over_tokens(Bounded(features), scores * Bounded(lam))
        x = x if s.f_x is None else Bounded(s.f_x) @ x
        found.append(x - other * sign)
    return found[0], found[1]


def stationarity(s: Solution) -> Agreement:
    """∂J/∂W_e = ∂J/∂W_r = 0 at the weights of a solution, in the norm of each column.

    With E Λ = H_e + aΛ the first is f(X) φ_qᵀ aΛ, of norm at most |f(X)| |φ_q| |a| λ (Frobenius norms).
    """
    lam = 1 / s.values
    big_f = 1.0 if s.f_x is None else float(torch.linalg.matrix_norm(s.f_x))
    zeros = []
    for features, off, vectors in zip((s.phi_q, s.phi_k), residuals(s), (s.left, s.right), strict=True):
        size = float(torch.linalg.matrix_norm(features)) * big_f * ROUND_UP
        zeros.append(size * (off * lam + 4 * UNIT * _sizes(vectors)))

    def judged(side: int, found: Bounded) -> Comparison:
        name = ("dJ/dW_e = 0", "dJ/dW_r = 0")[side]
        return largest(name, _sizes(found.value), (zeros[side] + _sizes(found.error)) * ROUND_UP)

    others = {
        "Lambda = Sigma": _gradient(s, s.values),
        "trace added": _gradient(s, lam, -1.0),
        "trace dropped": _gradient(s, lam, 0.0),
        "Lambda off by 1e-6": _gradient(s, lam * (1 + 1e-6)),
    }
    return Agreement(
        tuple(judged(side, x) for side, x in enumerate(_gradient(s, lam))),
        {name: judged(0, pair[0]) for name, pair in others.items()},
    )


def climbs(s: Solution) -> Agreement:
    """J(W_e + t, W_r - t) = t² (m s + ½ Σ λ_l (Σ_i a_i² + Σ_j b_j²)) from a stationary point, t = 1: no
    maximum.

    a_i, b_j are the sums of the entries of f(X) φ_q(x_i) and f(X) φ_k(x_j). The slope there, the sum of the
    entries of both gradients, is bounded like the gradients and computed with an error of its own.
    """
    lam, w = 1 / s.values, s.primal
    one = torch.ones_like(w.w_e.value)
    up, down = w.w_e + Bounded(one), w.w_r - Bounded(one)
    there, here = (
        objective(with_scores(s.phi_q, s.phi_k, s.f_x, e, r), lam) for e, r in ((up, down), (w.w_e, w.w_r))
    )
    ones = with_scores(s.phi_q, s.phi_k, s.f_x, Bounded(one), Bounded(one))
    squares = ((ones.square_e + ones.square_r) * Bounded(lam)).sum() * 0.5
    slope = [x.sum() for x in _gradient(s, lam)]
    along = slope[0] - slope[1]
    growth = Bounded(w.w_e.value.new_tensor(float(one.numel()))) + squares

    def judged(claimed: Bounded) -> Comparison:
        return same("J grows by t²", there - here, claimed)

    minus = -growth
    return Agreement(
        (judged(growth + along),),
        {
            "J falls": judged(minus),
            "J stays": judged(growth * 0.0),
            "without the trace": judged(squares),
            "twice the growth": judged(growth * 2.0),
        },
    )


def _defect(x: torch.Tensor) -> Bounded:
    """XᵀX - I."""
    exact = Bounded(x)
    return over_tokens(exact, exact) - Bounded(torch.eye(x.shape[1]).to(x))


def orthonormal(s: Solution) -> Agreement:
    """H_eᵀH_e = H_rᵀH_r = I: what makes a solution of (7) singular triplets (Theorem 3.2, corrected)."""

    def judged(name: str, x: torch.Tensor) -> Comparison:
        found = _defect(x)
        return same(name, found, _allowed(found.error))

    others = {"vectors doubled": 2 * s.left, "zero vectors": 0 * s.left}
    if len(s.values) > 1:
        others["mixed columns"] = s.left + s.left.roll(1, 1) / 8
    return Agreement(
        (judged("H_e'H_e = I", s.left), judged("H_r'H_r = I", s.right)),
        {name: judged("", x) for name, x in others.items()},
    )


def value_bound(s: Solution) -> float:
    """Proved distance of each value from a singular value of K of its rank or a higher one.

    The argument of `triplets`: |R| + delta (|K| + sigma_1) with delta the defects of both sets of
    vectors and |K| at most the Frobenius norm of K, which is that of a p × p product.
    """
    a, b = residuals(s)
    delta = (_off_unit(s.left) + _off_unit(s.right)) / 2
    p, q = Bounded(s.phi_q), Bounded(s.phi_k)
    middle = over_tokens(p, p)
    if s.f_x is not None:
        f = Bounded(s.f_x)
        gram = over_tokens(f, f)
        middle = gram @ middle @ gram
    square = (middle * over_tokens(q, q)).sum()  # tr (FᵀF φ_qᵀφ_q FᵀF)(φ_kᵀφ_k) = |K|²
    norm = math.sqrt(float(square.value + square.error))
    residual = math.sqrt(float((a.square() + b.square()).sum()) / 2)
    return (residual + delta * (norm + float(s.values.max()))) * ROUND_UP


def reconstruction(s: Solution) -> Agreement:
    """K = H_e Σ H_rᵀ with all triplets of positive value, at whole rows of K; a triplet left out is noticed.

    What the decomposition in float64 may be off is what rounding may do to the rows themselves (`Bounded`),
    in the norm of each row.
    """
    rows = s.some[:ROWS]
    columns = torch.arange(0, s.tokens, max(1, s.tokens // (4 * BLOCK)), device=rows.device)
    truth = transformed(s.phi_q[rows], s.f_x) @ Bounded(s.phi_k[columns].T)

    def judged(u: torch.Tensor, values: torch.Tensor, v: torch.Tensor) -> Comparison:
        weighted = Bounded(u[rows] * values, (u[rows] * values).abs() * UNIT)
        found = weighted @ Bounded(v[columns].T.contiguous())
        off = torch.linalg.vector_norm(found.value - truth.value, dim=1)
        bound = torch.linalg.vector_norm(found.error + truth.error, dim=1) * SAFETY
        return largest("K = H_e Sigma H_r'", off, bound)

    u, values, v = s.left, s.values, s.right
    others = {
        "last triplet left out": judged(u[:, :-1], values[:-1], v[:, :-1]),
        "Lambda for Sigma": judged(u, 1 / values, v),
        "left and right exchanged": judged(v, values, u),
        "columns doubled": judged(2 * u, values, 2 * v),
    }
    return Agreement((judged(u, values, v),), others)


def second_moment(s: Solution, seed: int = 0) -> Agreement:
    """‖K H‖² <= σ_1² + ... + σ_s² for orthonormal H, with equality for the leading right vectors (Ky Fan).

    H is the orthonormal basis of seeded Gaussian columns; how far it is from orthonormal enters the bound,
    and at the leading vectors what |K v|² = σ²|u|² + 2σ u·a + |a|² leaves.
    """
    draw = torch.randn(s.right.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    other, _ = torch.linalg.qr(draw.to(s.right))
    a, _ = residuals(s)
    total = (Bounded(s.values) * Bounded(s.values)).sum()
    off = (a.square() + 2 * s.values * _sizes(s.left) * a).sum() + _off_unit(s.left) * total.value
    claimed = Bounded(total.value, total.error + off * ROUND_UP)
    at_v, at_h = s.primal.square_e.sum(), _moment(s, other)
    below = (1 + _off_unit(other)) * float(total.value + total.error) + float(at_h.error)

    def stays(moment: Bounded) -> Comparison:
        return Comparison("moment of other vectors, at most the largest there is", float(moment.value), below)

    others = {
        "twice the leading vectors": stays(at_v * 4.0),
        "random vectors attain it": same("", at_h, claimed),
        "sum of sigma for its squares": same("", at_v, Bounded(s.values.sum())),
    }
    return Agreement((same("leading vectors attain it", at_v, claimed), stays(at_h)), others)


def _off_unit(x: torch.Tensor) -> float:
    """Bound of |XᵀX - I|."""
    defect = _defect(x)
    return float(torch.linalg.matrix_norm(defect.value.abs() + defect.error)) * ROUND_UP


def _moment(s: Solution, h: torch.Tensor) -> Bounded:
    """‖K h‖² by the primal side, φ_q FᵀF φ_kᵀ h."""
    x = over_tokens(Bounded(s.phi_k), Bounded(h))
    if s.f_x is not None:
        f = Bounded(s.f_x)
        x = over_tokens(f, f) @ x
    e = Bounded(s.phi_q) @ x
    return (e * e).sum()
