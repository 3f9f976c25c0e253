"""KSVD at scale for kernels of explicit features: primal = dual representation, both forms of (11), zero
objective.

chen2023 with features Phi_q, Phi_k (N, p) and f(X) = F (m, p), or absent: K = Phi_q FᵀF Phi_kᵀ, W_e = F
Phi_kᵀ H_r and W_r = F Phi_qᵀ H_e (m, s), W_{e|X} = Fᵀ W_e. The primal representation costs O(N p s); the dual
one is formed tile by tile from the entries K_ij and costs O(N² p). Every quantity carries a proved error
(`checks.tensors.core.bounded`), so a pass means: no difference beyond what rounding explains.

At exact triplets with n_l = (|h_e|² + |h_r|²)/2, J = sum_l n_l sigma_l (lambda_l sigma_l - 1) for any Lambda;
the released loss is J with Lambda = L²/N. With true residuals a = K h_r - sigma h_e, b = Kᵀ h_e - sigma h_r
it differs by (lambda sigma - 1/2)(h_e·a + h_r·b) + (lambda/2)(|a|² + |b|²) a column, which the bound
includes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from checks.tensors.core.agreement import Agreement, Comparison, largest, merged, same
from checks.tensors.core.arrays import prepare, slices
from checks.tensors.core.bounded import BLOCK, UNIT, Bounded, over_tokens
from checks.tensors.core.bounds import SAFETY, gamma
from checks.tensors.core.errors import TensorError

OBJECTIVES = ("paper", "released")
FULL_DUAL = (
    32768  # up to this many tokens the dual representation is formed at every token, beyond it at a sample
)


@dataclass(frozen=True)
class Weights:
    """The primal side of given dual vectors."""

    w_e: Bounded  # (m, s)
    w_r: Bounded
    e: Bounded  # (N, s): primal scores
    r: Bounded
    square_e: Bounded  # (s,): sum_i e_il²
    square_r: Bounded
    trace: Bounded  # Tr W_eᵀ W_r


def primal_weights(
    phi_q: torch.Tensor, phi_k: torch.Tensor, f_x: torch.Tensor | None, h_e: torch.Tensor, h_r: torch.Tensor
) -> Weights:
    """W_e, W_r by (14), their projections and the primal scores e, r of every token, all with errors."""
    p, q, dual_e, dual_r = (Bounded(x) for x in (phi_q, phi_k, h_e, h_r))
    w_e, w_r = over_tokens(q, dual_r), over_tokens(p, dual_e)
    if f_x is not None:
        f = Bounded(f_x)
        w_e, w_r = f @ w_e, f @ w_r
    return with_scores(phi_q, phi_k, f_x, w_e, w_r)


def with_scores(
    phi_q: torch.Tensor, phi_k: torch.Tensor, f_x: torch.Tensor | None, w_e: Bounded, w_r: Bounded
) -> Weights:
    """Any weights W_e, W_r (m, s) with their scores, by the constraints of (6)."""
    on_queries, on_keys = w_e, w_r
    if f_x is not None:
        f = Bounded(f_x)
        on_queries, on_keys = over_tokens(f, w_e), over_tokens(f, w_r)
    e, r = Bounded(phi_q) @ on_queries, Bounded(phi_k) @ on_keys
    return Weights(w_e, w_r, e, r, (e * e).sum(0), (r * r).sum(0), (w_e * w_r).sum())


def transformed(rows: torch.Tensor, f_x: torch.Tensor | None) -> Bounded:
    """Features (M, p) times f(X)ᵀf(X): their products with the features of keys are entries of K."""
    left = Bounded(rows)
    return left if f_x is None else left @ over_tokens(Bounded(f_x), Bounded(f_x))


def dual_scores(
    rows: torch.Tensor, columns: torch.Tensor, f_x: torch.Tensor | None, dual: torch.Tensor
) -> Bounded:
    """sum_j K_ij h_j for the given rows, from the entries K_ij = <F phi_i, F phi_j>, formed a tile at a time.

    rows (M, p), columns (N, p), dual (N, s) -> (M, s).
    """
    left = transformed(rows, f_x)
    value = rows.new_zeros(len(rows), dual.shape[1])
    for part in slices(len(rows), 1024):
        for here in slices(len(columns), BLOCK):
            value[part].addmm_(left.value[part] @ columns[here].T, dual[here])
    # the errors need no tiles: entries are inner products of length p, sums run over blocks of tokens
    sizes = over_tokens(Bounded(columns.abs()), Bounded(dual.abs()))
    chain = columns.shape[1] + min(len(columns), BLOCK) + -(-len(columns) // BLOCK)
    relative = gamma(chain + 2, UNIT)
    error = (left.error + left.size * relative) @ (sizes.size * SAFETY)
    return Bounded(value, error * (1 + relative) * SAFETY)


def objective(w: Weights, weights: torch.Tensor, form: str = "paper", second: bool = False) -> Bounded:
    """(11) in its first form, or in its second with W Lambda^(1/2), or the released loss; `weights` (s,)
    given.

    `form` "paper": Lambda; "released": L, which enters as L²/N, with the mean over tokens.
    """
    n = len(w.e.value)
    square = Bounded(weights)
    square = square * square if form == "released" else square
    if second:
        root = Bounded(weights) if form == "released" else _root(weights)
        rows = (w.e * root, w.r * root)
        parts = [(x * x).sum() for x in rows]
    else:
        parts = [(x * square).sum() for x in (w.square_e, w.square_r)]
    factor = 0.5 / n if form == "released" else 0.5
    return (parts[0] + parts[1]) * factor - w.trace


def _root(weights: torch.Tensor) -> Bounded:
    value = weights.sqrt()
    return Bounded(value, value * (2 * UNIT))


@dataclass(frozen=True)
class Solution:
    """Candidate solutions of (7) and the primal side that (14) gives them.

    phi_q, phi_k (N, p), f_x (m, p) or None, left = H_e and right = H_r (N, s), values (s,); `some` are the
    tokens at which the dual representation is formed, `seed` is that of what a check draws.
    """

    phi_q: torch.Tensor
    phi_k: torch.Tensor
    f_x: torch.Tensor | None
    left: torch.Tensor
    values: torch.Tensor
    right: torch.Tensor
    primal: Weights
    some: torch.Tensor
    seed: int = 0

    @property
    def tokens(self) -> int:
        return len(self.phi_q)


def solution(
    phi_q: torch.Tensor,
    phi_k: torch.Tensor,
    f_x: torch.Tensor | None,
    triplets: Any,
    *,
    scales: torch.Tensor | None = None,
    dual_rows: int | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
) -> Solution:
    """What the checks below work on; see `check_ksvd` for the arguments.

    `scales` (s,) multiplies each pair of vectors: a solution of (7) stays one, but is no singular triplet.
    Raises TensorError for unusable tensors or values.
    """
    left, values, right = (
        torch.as_tensor(x.copy()) for x in (triplets.left, triplets.values, triplets.right)
    )
    given = {"phi_q": phi_q, "phi_k": phi_k, "left": left, "right": right}
    given |= {} if f_x is None else {"f_x": f_x}
    moved = dict(zip(given, prepare("float64", device, **given), strict=True))
    p, q, u, v, f = (moved.get(name) for name in ("phi_q", "phi_k", "left", "right", "f_x"))
    assert p is not None and q is not None and u is not None and v is not None
    values = values.to(u)
    if p.shape != q.shape or u.shape != v.shape or len(u) != len(p) or values.shape != u.shape[1:]:
        raise TensorError(
            f"features {tuple(p.shape)} and {tuple(q.shape)}, vectors {tuple(u.shape)} and {tuple(v.shape)}, "
            f"values {tuple(values.shape)}: (N, p), (N, s) and (s,) are needed"
        )
    if not bool((values > 0).all()):
        raise TensorError("a singular value is not positive; Lambda is its inverse")
    if scales is not None:
        u, v = u * scales.to(u), v * scales.to(u)
    some = _sample(len(p), dual_rows, seed).to(p.device)
    return Solution(p, q, f, u, values, v, primal_weights(p, q, f, u, v), some, seed)


def check_ksvd(
    phi_q: torch.Tensor,
    phi_k: torch.Tensor,
    f_x: torch.Tensor | None,
    triplets: Any,
    *,
    form: str = "paper",
    dual_rows: int | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
) -> Agreement:
    """Certifies exact KSVD of explicit features: (7), (8), (11), Lemma 4.2, and rejects wrong readings of
    them.

    phi_q, phi_k (N, p), f_x (m, p) or None, in float64; `triplets` has left (N, s), values (s,), right (N,
    s), as `solvers.ksvd.feature_triplets` returns them. `form`: the objective of the paper, or the released
    loss. `dual_rows`: at how many tokens the dual representation is formed (default: all up to 32,768, else
    1,024). Raises TensorError for unusable tensors, values or forms.
    """
    _known(form)
    s = solution(phi_q, phi_k, f_x, triplets, dual_rows=dual_rows, device=device, seed=seed)
    return merged([eigenvalue_problem(s), representations(s), both_forms(s, form), zero_objective(s, form)])


def _known(form: str) -> None:
    if form not in OBJECTIVES:
        raise TensorError(f"unknown objective {form!r}; allowed: {', '.join(OBJECTIVES)}")


def _sample(n: int, count: int | None, seed: int) -> torch.Tensor:
    if count is None:
        count = n if n <= FULL_DUAL else 1024
    if count >= n:
        return torch.arange(n)
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:count].sort().values


def eigenvalue_problem(s: Solution) -> Agreement:
    """(7): the scores of the weights that (14) makes from H_e, H_r are H_e Sigma and H_r Sigma."""

    def judged(u: torch.Tensor, values: torch.Tensor, v: torch.Tensor) -> tuple[Comparison, Comparison]:
        return (
            _columns("K H_r = H_e Sigma", s.primal.e, u * values),
            _columns("K'H_e = H_r Sigma", s.primal.r, v * values),
        )

    u, values, v = s.left, s.values, s.right
    return Agreement(
        judged(u, values, v),
        {
            "left and right exchanged": judged(v, values, u)[0],
            "inverse values": judged(u, 1 / values, v)[0],
            "sign flipped": judged(-u, values, v)[0],
            "values off by 1e-6": judged(u, values * (1 + 1e-6), v)[0],
            "left vectors in the second equation": judged(u, values, u)[1],
        },
    )


def representations(s: Solution) -> Agreement:
    """(8): both scores as kernel expansions, tile by tile from the entries of K."""
    p, q, f, some, few = s.phi_q, s.phi_k, s.f_x, s.some, s.some[:64]
    first = s.primal.e[few]
    others = {
        "scores of H_r with H_e": same("", dual_scores(p[few], q, f, s.left), first),
        "queries and keys exchanged": same("", dual_scores(q[few], p, f, s.right), first),
        "zero scores": same("", Bounded(torch.zeros_like(first.value)), first),
    }
    if f is not None:
        others["f(X) left out"] = same("", dual_scores(p[few], q, None, s.right), first)
    found = (
        same("primal = dual, e", s.primal.e[some], dual_scores(p[some], q, f, s.right)),
        same("primal = dual, r", s.primal.r[some], dual_scores(q[some], p, f, s.left)),
    )
    return Agreement(found, others)


def _columns(name: str, scores: Bounded, target: torch.Tensor) -> Comparison:
    """Scores against rounded targets in the norm of each column, which is how an SVD is accurate."""
    allowed = scores.error + 2 * UNIT * target.abs()
    off, bound = (torch.linalg.vector_norm(x, dim=0) for x in (scores.value - target, allowed))
    return largest(name, off, bound * (1 + 2.0**-10))


def inverse_weights(values: torch.Tensor, n: int, form: str) -> torch.Tensor:
    """The Lambda, or the L of the released loss, at which the objective vanishes term by term: 1/sigma,
    (N/sigma)^½.
    """
    return 1 / values if form == "paper" else (n / values).sqrt()


def residuals(s: Solution) -> tuple[torch.Tensor, torch.Tensor]:
    """Column norms (s,) of K h_r - sigma h_e and of its twin, rounded up: proved bounds of the true ones."""
    found = []
    for scores, vectors in ((s.primal.e, s.left), (s.primal.r, s.right)):
        target = vectors * s.values
        off = (scores.value - target).abs() + scores.error + 2 * UNIT * target.abs()
        found.append(torch.linalg.vector_norm(off, dim=0) * (1 + 2.0**-10))
    return found[0], found[1]


def predicted(s: Solution, weights: torch.Tensor, form: str) -> Bounded:
    """sum_l n_l sigma_l (lambda_l sigma_l - 1), whose error includes what the residuals may add."""
    u, values, v = s.left, s.values, s.right
    lam = Bounded(weights)
    if form == "released":
        lam = lam * lam * (1 / len(u)) if (len(u) & (len(u) - 1)) == 0 else _divided(lam * lam, len(u))
    sigma, one = Bounded(values), Bounded(torch.ones_like(values))
    norms = [(Bounded(x) * Bounded(x)).sum(0) for x in (u, v)]
    total = ((norms[0] + norms[1]) * 0.5 * sigma * (lam * sigma - one)).sum()
    a, b = residuals(s)
    size_u, size_v = (torch.linalg.vector_norm(x, dim=0) for x in (u, v))
    first = (lam.value * values - 0.5).abs() * (size_u * a + size_v * b)
    second = lam.value / 2 * (a.square() + b.square())
    return Bounded(total.value, total.error + float((first + second).sum()) * (1 + 2.0**-10))


def _divided(x: Bounded, n: int) -> Bounded:
    return Bounded(x.value / n, (x.error / n + 2 * UNIT * (x.value.abs() / n)) * SAFETY)


def _zero(allowed: Bounded) -> Bounded:
    """Zero, to within what is allowed of a quantity that vanishes."""
    return Bounded(torch.zeros_like(allowed.value), allowed.error + allowed.value.abs())


def both_forms(s: Solution, form: str = "paper") -> Agreement:
    """(11): the weighted squares of the scores, and the squared norms of the features projected by W
    Lambda^(1/2).
    """
    w, right = s.primal, inverse_weights(s.values, s.tokens, form)
    value = objective(w, right, form)
    others = {
        "trace added in one form": same("", value + w.trace + w.trace, objective(w, right, form, second=True))
    }
    if form == "paper":
        others["Lambda for its root in (11)"] = same("", objective(w, right * right, second=True), value)
    return Agreement((same("both forms of (11)", objective(w, right, form, second=True), value),), others)


def zero_objective(s: Solution, form: str = "paper") -> Agreement:
    """Lemma 4.2, and the value of J at any other Lambda."""
    w, values, n = s.primal, s.values, s.tokens
    right = inverse_weights(values, n, form)
    value, zero = objective(w, right, form), _zero(predicted(s, right, form))
    other = right * torch.linspace(0.5, 3, len(values)).to(right)
    elsewhere = same("objective at another Lambda", objective(w, other, form), predicted(s, other, form))
    exchanged = "paper" if form == "released" else "released"
    others = {
        "Lambda = Sigma": objective(w, values, form),
        "halves dropped": value + value + w.trace,
        "trace added": value + w.trace + w.trace,
        "trace dropped": value + w.trace,
        "L = 1/sigma in the released loss": objective(w, 1 / values, "released"),
        "sum and mean exchanged": objective(w, right, exchanged),
    }
    return Agreement(
        (same("zero objective", value, zero), elsewhere),
        {name: same("", x, zero) for name, x in others.items()},
    )
