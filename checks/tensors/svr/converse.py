"""At scale: the attention output on given keys and values is the optimal fit of a support vector regression.

Statement certified (program (5) of nguyen2023 with b = 0 and h(x) = sum_j kappa(x, k_j), kernel
kappa(x, y) = exp(scale x·y); the proof is in derivations/). Let f = softmax attention with queries = keys K,
beta_jd = h(k_j) v_jd and C* = max |beta|. For epsilon >= 0, C >= C* and targets y_jd = f_jd + epsilon
sign(v_jd) (any point of [f - epsilon, f + epsilon] where v_jd = 0, any point beyond f + epsilon sign(v_jd)
where |beta_jd| = C), W = sum_j v_j Phi(k_j)^T is the unique optimal solution, beta its dual variables
alpha - alpha~, and its fit W Phi(x)/h(x) is softmax attention at every query x.

What is computed, in O(N d) memory: f and log h by the streamed engine, f again by torch's kernel, and, where
that kernel gives it, log h again. No beta is formed (h overflows float32 early): everything is in units of
C*, whose logarithm is the result. Each residual has a bound from `bounds.py`, so that a pass means: no
violation beyond what rounding explains.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass

import torch

from checks.tensors.core import bounds, fused, stream
from checks.tensors.core.agreement import ROWS_AT_ONCE, Comparison, compare
from checks.tensors.core.arrays import (
    check_attention_shapes,
    dtype_name,
    peak_bytes,
    prepare,
    resolve_scale,
    slices,
)
from checks.tensors.core.errors import TensorError


@dataclass(frozen=True)
class Certificate:
    """Residuals of the optimality conditions, each against its bound.

    `log_c_star` is the logarithm of the smallest C for which the theorem holds, `log_c` of the C judged,
    `log_norm` of |W|^2. `normaliser` names the engine of the second log h: "fused", or "streamed" where
    torch's kernel gives none, and then the box and stationarity residuals have no independent side.
    """

    residuals: tuple[Comparison, ...]
    log_c: float
    log_c_star: float
    log_norm: float
    epsilon: float
    tokens: int
    dtype: str
    device: str
    backend: str
    normaliser: str
    seconds: float
    peak_bytes: int

    @property
    def accepted(self) -> bool:
        return all(residual.passed for residual in self.residuals)

    @property
    def rejected_by(self) -> tuple[str, ...]:
        return tuple(residual.name for residual in self.residuals if not residual.passed)

    def to_json(self) -> dict[str, object]:
        """The evidence fields of the ledger, with the residuals beside them."""
        worst = max(self.residuals, key=lambda c: c.ratio)
        return {
            **asdict(self),
            "leg": "tensor",
            "grade": "certified-float",
            "passed": self.accepted,
            "error": worst.error,
            "bound": worst.bound,
            "not_run": None,
        }


@dataclass(frozen=True)
class Fit:
    """Both engines' attention with queries = keys, and all that certificates for any C and targets need.

    One fit serves many certificates: judging another C or other targets costs O(N d_v), not another pass.
    """

    values: torch.Tensor  # (N, d_v)
    attention: torch.Tensor  # (N, d_v): f by the streamed engine
    kernel: torch.Tensor  # (N, d_v): f by torch's kernel
    log_h: torch.Tensor  # (N,) float64, streamed
    log_h_again: torch.Tensor  # (N,) float64, by torch's kernel where it gives it
    fit_bound: torch.Tensor  # (N, d_v) float64: both engines' errors
    log_h_bound: torch.Tensor  # (N,) float64: both engines' errors
    backend: str
    normaliser: str
    seconds: float

    @property
    def log_c_star(self) -> float:
        """log max_jd h(k_j) |v_jd|, the smallest C for which the values are dual feasible."""
        return float((self.log_h + self.values.abs().amax(-1).double().log()).max())

    @property
    def log_c_star_error(self) -> float:
        """By how much it may be wrong: a token whose h is known less well may have the largest h |v|."""
        largest = self.values.abs().amax(-1).double().log()
        below = self.log_h + largest - self.log_c_star
        return float((below + self.log_h_bound + of_logarithm(largest)).max())

    def targets(self, epsilon: float) -> torch.Tensor:
        """Targets y = f + epsilon sign(v), (N, d_v) in float64, for which attention is the optimal fit."""
        return self.attention.double() + epsilon * torch.sign(self.values).double()


def of_logarithm(log: torch.Tensor) -> torch.Tensor:
    """What the logarithms of |v| and of a C of the size of h |v|, and their sums with log h, are at most
    rounded by, beside the error of log h: `log` is that of |v| in float64, -inf where v is 0.
    """
    return 16 * bounds.unit_roundoff("float64") * torch.where(log.isinf(), 0.0, log.abs())


def fit_keys(
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: stream.Tile | None = None,
) -> Fit:
    """Attention of the keys to themselves by both engines: k (N, d), v (N, d_v).

    Raises TensorError for unusable tensors, for more than one head, and if all values are zero.
    """
    started = time.perf_counter()
    k, v = prepare(dtype, device, k=k, v=v)
    check_attention_shapes(k, k, v)
    if k.ndim != 2 or not v.any():
        raise TensorError(f"k has shape {tuple(k.shape)}; one head (N, d) with some non-zero value is needed")
    scale, (n, d) = resolve_scale(scale, k.shape[-1]), k.shape
    ours = bounds.streamed(k.dtype, chunk, k.device)
    theirs = bounds.fused(fused.backend_for(k.device, k.dtype), k.dtype, n, k.device)
    sizes = bounds.score_sizes(k, k, scale)
    reference = stream.attend(k, k, v, scale, magnitude=True, chunk=chunk)
    kernel = fused.attention(k, k, v, scale, log_sum=True)
    size = bounds.magnitude_of(reference, ours, d, n, sizes)
    largest = float(v.abs().max())
    fit_bound = bounds.attention_bound(ours, d, n, sizes, size, largest, reference.shifted)
    fit_bound += bounds.attention_bound(theirs, d, n, sizes, size, largest)
    again = reference.log_sum if kernel.log_sum is None else kernel.log_sum
    log_h_bound = bounds.log_sum_bound(ours, d, n, sizes) + bounds.log_sum_bound(theirs, d, n, sizes)
    normaliser = "streamed" if kernel.log_sum is None else "fused"
    return Fit(
        v,
        reference.out,
        kernel.out,
        reference.log_sum.double(),
        again.double(),
        fit_bound,
        log_h_bound,
        kernel.backend,
        normaliser,
        time.perf_counter() - started,
    )


def certify_attention_as_svr(
    k: torch.Tensor,
    v: torch.Tensor,
    epsilon: float,
    C: float | None = None,
    *,
    scale: float | None = None,
    targets: torch.Tensor | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: stream.Tile | None = None,
) -> Certificate:
    """Is attention on these keys (N, d) and values (N, d_v) the optimal SVR fit? See `certify`.

    C None is the smallest possible, C*. Raises TensorError for unusable tensors, epsilon or C.
    """
    fit = fit_keys(k, v, scale, dtype=dtype, device=device, chunk=chunk)
    if C is not None and not C > 0:
        raise TensorError(f"C is {C}; a positive number is needed")
    return certify(fit, epsilon, None if C is None else math.log(C), targets)


def certify(
    fit: Fit, epsilon: float, log_c: float | None = None, targets: torch.Tensor | None = None
) -> Certificate:
    """Checks primal and dual feasibility, complementarity, stationarity and the duality gap.

    `log_c` None is log C*; infinity is the hard-constraint problem. `targets` (N, d_v) are those of the
    theorem unless given. The primal point is W = sum_j v_j Phi(k_j)^T with the least slack, the dual point
    beta = h v; the gap sum_jd beta (f - y) + epsilon |beta| + C xi is taken relative to
    |W|^2 = sum_jd beta f, and counts as infinite where |W|^2 > 0 cannot be told from rounding.
    Raises TensorError for unusable epsilon, C or targets.
    """
    started = time.perf_counter()
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise TensorError(f"epsilon is {epsilon}; a finite number of at least 0 is needed")
    star = fit.log_c_star
    log_c = star if log_c is None else log_c
    if math.isnan(log_c) or log_c == -math.inf:
        raise TensorError(f"log C is {log_c}; a number or infinity is needed")
    targets = fit.targets(epsilon) if targets is None else _usable_targets(targets, fit)
    box, coefficients = _multiplier_residuals(fit, log_c)
    same = compare("fit (expansion = attention)", fit.kernel, fit.attention, fit.fit_bound)
    tube, slackness, gap, norm = _slack_residuals(fit, epsilon, log_c - star, targets)
    device = fit.values.device
    return Certificate(
        (box, tube, slackness, coefficients, same, gap),
        log_c,
        star,
        star + math.log(norm) if norm > 0 else -math.inf,
        epsilon,
        len(fit.values),
        dtype_name(fit.values.dtype),
        str(device),
        fit.backend,
        fit.normaliser,
        fit.seconds + time.perf_counter() - started,
        peak_bytes(device),
    )


def _usable_targets(targets: torch.Tensor, fit: Fit) -> torch.Tensor:
    (targets,) = prepare("float64", fit.values.device, targets=targets)
    if targets.shape != fit.values.shape:
        raise TensorError(f"targets have shape {tuple(targets.shape)}; {tuple(fit.values.shape)} is needed")
    return targets


def _multiplier_residuals(fit: Fit, log_c: float) -> tuple[Comparison, Comparison]:
    """|beta| <= C, and W = sum_j (beta_j / h(k_j)) Phi(k_j) has the coefficients v_j, with the second log h.

    beta is h v with the streamed h, so beta_jd / h(k_j) = v_jd exp(log h - log h again).
    """
    largest = fit.values.abs().amax(-1).double().log()
    over, bound = fit.log_h_again + largest - log_c, fit.log_h_bound + of_logarithm(largest)
    at = int((over - bound).argmax())
    box = Comparison("box", max(0.0, math.expm1(min(float(over[at]), 700.0))), math.expm1(float(bound[at])))
    drift = torch.expm1(fit.log_h - fit.log_h_again).unsqueeze(-1)
    coefficients = compare(
        "stationarity", drift, torch.zeros_like(drift), torch.expm1(fit.log_h_bound).unsqueeze(-1)
    )
    return box, coefficients


def _slack_residuals(
    fit: Fit, epsilon: float, log_ratio: float, targets: torch.Tensor
) -> tuple[Comparison, Comparison, Comparison, float]:
    """Tube, complementarity and relative gap, and |W|^2 / C*; log_ratio = log(C / C*)."""
    ratio = math.exp(min(log_ratio, 700.0))
    penalty = 0.0 if math.isinf(log_ratio) else ratio  # no slack at C = infinity: the tube alone decides
    tube, slackness = Comparison("tube", 0.0, 0.0), Comparison("complementarity", 0.0, 0.0)
    gap = doubt = norm = 0.0
    for part in slices(len(targets), ROWS_AT_ONCE):
        fitted, bound, v = fit.kernel[part].double(), fit.fit_bound[part], fit.values[part].double()
        # the targets are y = f +- epsilon rounded in float64, of which |f| may be the larger part
        bound = bound + 4 * torch.finfo(torch.float64).eps * (targets[part].abs() + epsilon)
        log = v.abs().log()
        size = torch.exp((fit.log_h[part, None] - fit.log_c_star) + log)  # |beta| / C*
        at_face = size >= ratio * torch.exp(-fit.log_h_bound[part, None] - of_logarithm(log))
        outward = torch.sign(v) * (targets[part] - fitted)
        slack = ((targets[part] - fitted).abs() - epsilon).clamp_(min=0)
        allowed = at_face & (outward > 0)  # at |beta| = C the target may lie beyond the tube
        short = outward - epsilon  # must vanish where 0 < |beta| < C
        broken = torch.where(v == 0, 0.0, torch.where(allowed, (-short).clamp(min=0), short))
        tube = _worse(tube, torch.where(allowed, 0.0, slack), bound)
        slackness = _worse(slackness, broken, bound)
        # slack that rounding explains is the tube's to judge: C times N d_v such slacks would drown the gap
        charged = (slack - bound).clamp_(min=0) * penalty
        gap += float((charged - size * short).sum())
        doubt += float(((size + 2 * penalty * allowed) * bound).sum())
        norm += float((size * torch.sign(v) * fitted).sum())
    least = norm - doubt
    relative = Comparison(
        "relative duality gap",
        abs(gap) / least if least > 0 else math.inf,
        doubt * bounds.SAFETY / least if least > 0 else 1.0,
    )
    return tube, slackness, relative, norm


def _worse(so_far: Comparison, residual: torch.Tensor, bound: torch.Tensor) -> Comparison:
    here = compare(so_far.name, residual, torch.zeros_like(residual), bound)
    return max(here, so_far, key=lambda c: (c.ratio, c.bound))
