"""KSVD at scale for kernels of explicit features: primal = dual representation, both forms of (11), zero objective.

chen2023 with features Phi_q, Phi_k (N, p) and f(X) = F (m, p), or absent: K = Phi_q FᵀF Phi_kᵀ, W_e = F Phi_kᵀ H_r and
W_r = F Phi_qᵀ H_e (m, s), W_{e|X} = Fᵀ W_e. The primal representation costs O(N p s); the dual one is formed tile by
tile from the entries K_ij and costs O(N² p). Every quantity carries a proved error (`ksvd_arithmetic`), so a pass
means: no difference beyond what rounding explains.

At exact triplets with n_l = (|h_e|² + |h_r|²)/2, J = sum_l n_l sigma_l (lambda_l sigma_l - 1) for any Lambda; the
released loss is J with Lambda = L²/N. With true residuals a = K h_r - sigma h_e, b = Kᵀ h_e - sigma h_r it differs by
(lambda sigma - 1/2)(h_e·a + h_r·b) + (lambda/2)(|a|² + |b|²) a column, which the bound includes.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from checks.tensors.agreement import Comparison, TensorRecord
from checks.tensors.arrays import TensorError, peak_bytes, prepare, slices
from checks.tensors.bounds import SAFETY, gamma
from checks.tensors.ksvd_arithmetic import BLOCK, UNIT, Bounded, over_tokens, same

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
    p, q, dual_e, dual_r = (Bounded.exact(x) for x in (phi_q, phi_k, h_e, h_r))
    w_e, w_r = over_tokens(q, dual_r), over_tokens(p, dual_e)
    on_queries, on_keys = w_e, w_r
    if f_x is not None:
        f = Bounded.exact(f_x)
        w_e, w_r = f @ w_e, f @ w_r
        on_queries, on_keys = over_tokens(f, w_e), over_tokens(f, w_r)
    e, r = p @ on_queries, q @ on_keys
    return Weights(w_e, w_r, e, r, (e * e).sum(0), (r * r).sum(0), (w_e * w_r).sum())


def dual_scores(
    rows: torch.Tensor, columns: torch.Tensor, f_x: torch.Tensor | None, dual: torch.Tensor
) -> Bounded:
    """sum_j K_ij h_j for the given rows, from the entries K_ij = <F phi_i, F phi_j>, formed a tile at a time.

    rows (M, p), columns (N, p), dual (N, s) -> (M, s).
    """
    left = Bounded.exact(rows)
    if f_x is not None:
        f = Bounded.exact(f_x)
        left = left @ over_tokens(f, f)
    value = rows.new_zeros(len(rows), dual.shape[1])
    for part in slices(len(rows), 1024):
        for here in slices(len(columns), BLOCK):
            value[part].addmm_(left.value[part] @ columns[here].T, dual[here])
    # the errors need no tiles: entries are inner products of length p, sums run over blocks of tokens
    sizes = over_tokens(Bounded.exact(columns.abs()), Bounded.exact(dual.abs()))
    chain = columns.shape[1] + min(len(columns), BLOCK) + -(-len(columns) // BLOCK)
    relative = gamma(chain + 2, UNIT)
    error = (left.error + (left.value.abs() + left.error) * relative) @ ((sizes.value + sizes.error) * SAFETY)
    return Bounded(value, error * (1 + relative) * SAFETY)


def objective(w: Weights, weights: torch.Tensor, form: str, second: bool = False) -> Bounded:
    """(11) in its first form, or in its second with W Lambda^(1/2), or the released loss; `weights` (s,) given.

    `form` "paper": Lambda; "released": L, which enters as L²/N, with the mean over tokens.
    """
    n = len(w.e.value)
    square = Bounded.exact(weights)
    square = square * square if form == "released" else square
    if second:
        root = Bounded.exact(weights) if form == "released" else _root(weights)
        rows = (w.e * root, w.r * root)
        parts = [(x * x).sum() for x in rows]
    else:
        parts = [(x * square).sum() for x in (w.square_e, w.square_r)]
    factor = 0.5 / n if form == "released" else 0.5
    return (parts[0] + parts[1]).times(factor) - w.trace


def _root(weights: torch.Tensor) -> Bounded:
    value = weights.sqrt()
    return Bounded(value, value * (2 * UNIT))


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
) -> TensorRecord:
    """Certifies exact KSVD of explicit features: (7), (8), (11), Lemma 4.2, and rejects wrong readings of them.

    phi_q, phi_k (N, p), f_x (m, p) or None, in float64; `triplets` has left (N, s), values (s,), right (N, s), as
    `solvers.ksvd.feature_triplets` returns them. `form`: the objective of the paper, or the released loss.
    `dual_rows`: at how many tokens the dual representation is formed (default: all up to 32,768, else 1,024).
    Raises TensorError for unusable tensors, values or forms.
    """
    started = time.perf_counter()
    if form not in OBJECTIVES:
        raise TensorError(f"unknown objective {form!r}; allowed: {', '.join(OBJECTIVES)}")
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
    n = len(p)
    w = primal_weights(p, q, f, u, v)
    some = _sample(n, dual_rows, seed).to(p.device)
    comparisons = (
        *_eigenvalue_problem(w, u, values, v),
        same("primal = dual, e", _rows(w.e, some), dual_scores(p[some], q, f, v)),
        same("primal = dual, r", _rows(w.r, some), dual_scores(q[some], p, f, u)),
        *_objectives(w, u, values, v, form),
    )
    return TensorRecord(
        comparisons,
        _mutants(w, p, q, f, u, values, v, form, some),
        n,
        "float64",
        str(p.device),
        "explicit features",
        time.perf_counter() - started,
        peak_bytes(p.device),
    )


def _sample(n: int, count: int | None, seed: int) -> torch.Tensor:
    if count is None:
        count = n if n <= FULL_DUAL else 1024
    if count >= n:
        return torch.arange(n)
    return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:count].sort().values


def _rows(x: Bounded, some: torch.Tensor) -> Bounded:
    return Bounded(x.value[some], x.error[some])


def _eigenvalue_problem(
    w: Weights, u: torch.Tensor, values: torch.Tensor, v: torch.Tensor
) -> tuple[Comparison, Comparison]:
    """(7): the scores of the weights that (14) makes from H_e, H_r are H_e Sigma and H_r Sigma."""
    return (
        _columns("K H_r = H_e Sigma", w.e, u * values),
        _columns("K'H_e = H_r Sigma", w.r, v * values),
    )


def _columns(name: str, scores: Bounded, target: torch.Tensor) -> Comparison:
    """Scores against rounded targets in the norm of each column, which is how an SVD is accurate."""
    allowed = scores.error + 2 * UNIT * target.abs()
    off, bound = (torch.linalg.vector_norm(x, dim=0) for x in (scores.value - target, allowed))
    at = int((off / bound).nan_to_num(nan=math.inf).argmax())
    return Comparison(name, float(off[at]), float(bound[at]) * (1 + 2.0**-10))


def inverse_weights(values: torch.Tensor, n: int, form: str) -> torch.Tensor:
    """The Lambda, or the L of the released loss, at which the objective vanishes term by term: 1/sigma, (N/sigma)^½."""
    return 1 / values if form == "paper" else (n / values).sqrt()


def _predicted(
    w: Weights, u: torch.Tensor, values: torch.Tensor, v: torch.Tensor, weights: torch.Tensor, form: str
) -> Bounded:
    """sum_l n_l sigma_l (lambda_l sigma_l - 1), whose error includes what the residuals may add."""
    lam = Bounded.exact(weights)
    if form == "released":
        lam = (lam * lam).times(1 / len(u)) if (len(u) & (len(u) - 1)) == 0 else _divided(lam * lam, len(u))
    sigma, one = Bounded.exact(values), Bounded.exact(torch.ones_like(values))
    norms = [(Bounded.exact(x) * Bounded.exact(x)).sum(0) for x in (u, v)]
    total = ((norms[0] + norms[1]).times(0.5) * sigma * (lam * sigma - one)).sum()
    residuals = []
    for scores, vectors in ((w.e, u), (w.r, v)):
        off = (scores.value - vectors * values).abs() + scores.error + 2 * UNIT * (vectors * values).abs()
        residuals.append(torch.linalg.vector_norm(off, dim=0))
    first = (lam.value * values - 0.5).abs() * sum(
        torch.linalg.vector_norm(x, dim=0) * a for x, a in zip((u, v), residuals, strict=True)
    )
    second = lam.value / 2 * (residuals[0].square() + residuals[1].square())
    return Bounded(total.value, total.error + float((first + second).sum()) * (1 + 2.0**-10))


def _divided(x: Bounded, n: int) -> Bounded:
    return Bounded(x.value / n, (x.error / n + 2 * UNIT * (x.value.abs() / n)) * SAFETY)


def _objectives(
    w: Weights, u: torch.Tensor, values: torch.Tensor, v: torch.Tensor, form: str
) -> tuple[Comparison, ...]:
    right = inverse_weights(values, len(u), form)
    first = objective(w, right, form)
    expected = _predicted(w, u, values, v, right, form)
    zero = Bounded(torch.zeros_like(expected.value), expected.error + expected.value.abs())
    other = right * torch.linspace(0.5, 3, len(values)).to(right)
    return (
        same("both forms of (11)", objective(w, right, form, second=True), first),
        same("zero objective", first, zero),
        same(
            "objective at another Lambda",
            objective(w, other, form),
            _predicted(w, u, values, v, other, form),
        ),
    )


def _mutants(
    w: Weights,
    p: torch.Tensor,
    q: torch.Tensor,
    f: torch.Tensor | None,
    u: torch.Tensor,
    values: torch.Tensor,
    v: torch.Tensor,
    form: str,
    some: torch.Tensor,
) -> dict[str, float]:
    """Wrong readings, each judged by the comparison that its right form passes."""
    n = len(u)
    right = inverse_weights(values, n, form)
    few = some[:64]

    def value_of(weights: torch.Tensor, how: str = form, second: bool = False) -> Bounded:
        return objective(w, weights, how, second)

    allowed = _predicted(w, u, values, v, right, form)
    zero = Bounded(torch.zeros_like(allowed.value), allowed.error + allowed.value.abs())
    trace = w.trace
    value = value_of(right)
    first = _rows(w.e, few)
    wrong = {
        "Lambda = Sigma": same("", value_of(values), zero),
        "halves dropped": same("", value + value + trace, zero),
        "trace added": same("", value + trace + trace, zero),
        "trace dropped": same("", value + trace, zero),
        "L = 1/sigma in the released loss": same("", value_of(1 / values, "released"), zero),
        "sum and mean exchanged": same(
            "", value_of(right, "paper" if form == "released" else "released"), zero
        ),
        "scores of H_r with H_e": same("", dual_scores(p[few], q, f, u), first),
        "queries and keys exchanged": same("", dual_scores(q[few], p, f, v), first),
        "zero scores": same("", Bounded.exact(torch.zeros_like(first.value)), first),
        "left and right exchanged": _eigenvalue_problem(w, v, values, u)[0],
        "inverse values": _eigenvalue_problem(w, u, 1 / values, v)[0],
        "sign flipped": _eigenvalue_problem(w, -u, values, v)[0],
        "values off by 1e-6": _eigenvalue_problem(w, u, values * (1 + 1e-6), v)[0],
    }
    if f is not None:
        wrong["f(X) left out"] = same("", dual_scores(p[few], q, None, v), first)
    if form == "paper":
        wrong["Lambda for its root in (11)"] = same("", value_of(right * right, second=True), value)
    return {
        name: comparison.ratio if math.isfinite(comparison.error) else math.inf
        for name, comparison in wrong.items()
    }
