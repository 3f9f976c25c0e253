"""Singular triplets of the softmax matrix: residuals, orthonormality and rigorous bounds for the values.

Statement certified (eq. (5) and (7) of chen2023 for K = softmax(scale q kᵀ)): K v_l = sigma_l u_l and Kᵀ u_l
= sigma_l v_l with orthonormal u and v, up to what rounding explains. Residuals are computed with the streamed
products, whose proved errors are part of every bound. No N x N tensor at any length.

Values. H = [[0, K], [Kᵀ, 0]] has eigenvalues ± the singular values. The columns of F = [U; V]/√2 are within
delta = |FᵀF - I| of orthonormal columns Q (polar factor). With R the residuals, |HQ - Q Sigma| <= |R| + delta
(|K| + sigma_1) =: beta. Kahan's theorem pairs the s numbers sigma_l with s eigenvalues of H at distances of
at most beta; by Cauchy interlacing the singular value of rank l is at least sigma_l - beta. So: the values
are singular values within beta, each of its rank or a higher one. That none was missed is the solver's part
(`solvers.krylov.largest_missed` gives a bound that holds with a stated chance).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from checks.tensors.core import bounds, stream
from checks.tensors.core.agreement import Agreement, Comparison, largest
from checks.tensors.core.arrays import prepare, resolve_scale, slices
from checks.tensors.core.errors import TensorError
from checks.tensors.ksvd.products import SoftmaxProducts

GRAM_BLOCK = 256  # tokens a block in the inner products of the vectors with each other


@dataclass(frozen=True, kw_only=True)
class Triplets(Agreement):
    """What was found of triplets, with the singular values and the proved distance `value_bound` of each
    from a true one.
    """

    values: tuple[float, ...]
    value_bound: float
    norm_bound: float  # proved upper bound of the largest singular value


@dataclass(frozen=True)
class _Images:
    """K and Kᵀ times [v, u] and [u, v] (N, 2 s), with proved errors; any exchange of vectors is judged
    from them.
    """

    left: torch.Tensor  # (N, s)
    values: torch.Tensor  # (s,)
    right: torch.Tensor  # (N, s)
    forward: torch.Tensor  # K [v, u]
    forward_error: torch.Tensor
    backward: torch.Tensor  # Kᵀ [u, v]
    backward_error: torch.Tensor

    def part(self, image: torch.Tensor, exchanged: bool) -> torch.Tensor:
        s = len(self.values)
        return image[:, s:] if exchanged else image[:, :s]


def check_softmax_triplets(
    q: torch.Tensor,
    k: torch.Tensor,
    find: Callable[..., Any],
    count: int = 16,
    scale: float | None = None,
    *,
    device: str | torch.device | None = None,
    chunk: stream.Tile | None = None,
) -> Triplets:
    """Finds the `count` largest triplets with `find(products, count)` and certifies them; see
    `check_triplets`.

    q, k (N, d) of one head; `find` is a solver such as `solvers.krylov.top_triplets`, whose result has left
    (N, s), values (s,) and right (N, s) as numpy arrays.
    """
    products = SoftmaxProducts(q, k, scale, device=device, chunk=chunk)
    found = find(products, count)
    left, values, right = (torch.from_numpy(x.copy()) for x in (found.left, found.values, found.right))
    return check_triplets(q, k, left, values, right, scale, device=device, chunk=chunk)


def check_triplets(
    q: torch.Tensor,
    k: torch.Tensor,
    left: torch.Tensor,
    values: torch.Tensor,
    right: torch.Tensor,
    scale: float | None = None,
    *,
    device: str | torch.device | None = None,
    chunk: stream.Tile | None = None,
) -> Triplets:
    """Certifies left (N, s), values (s,) > 0 and right (N, s) as singular triplets of softmax(scale q kᵀ).

    Also certified: the KSVD objective in its dual form is zero at them (Lemma 4.2 of chen2023, Lambda =
    Sigma⁻¹), and |u_l| = |v_l| (eq. (19)). The mutants are wrong readings of the statement: exchanged,
    shifted or flipped vectors, inverse values, the softmax along the other axis.
    Raises TensorError for unusable tensors, shapes or values.
    """
    q, k, left, right = prepare("float64", device, q=q, k=k, left=left, right=right)
    if q.ndim != 2 or len(q) != len(k) or left.shape != right.shape or len(left) != len(q):
        raise TensorError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)}, left {tuple(left.shape)}, right {tuple(right.shape)}: "
            "one head of as many queries as keys and vectors (N, s) are needed"
        )
    values = values.to(left)
    if values.shape != left.shape[-1:] or not bool((values > 0).all()):
        raise TensorError(
            f"values have shape {tuple(values.shape)}; {left.shape[-1]} positive numbers are needed"
        )
    scale = resolve_scale(scale, q.shape[-1])
    images, columns = _images(q, k, left, values, right, scale, chunk)
    norm = math.sqrt(columns)  # |K|_2^2 <= largest row sum (1) times largest column sum
    comparisons = (*_residuals(images), *_orthonormal(left, right), _objective(images), _norms(images))
    return Triplets(
        comparisons,
        _mutants(q, k, images, scale, chunk),
        values=tuple(values.tolist()),
        value_bound=_value_bound(images, norm),
        norm_bound=norm,
    )


def _images(
    q: torch.Tensor,
    k: torch.Tensor,
    left: torch.Tensor,
    values: torch.Tensor,
    right: torch.Tensor,
    scale: float,
    chunk: stream.Tile | None,
) -> tuple[_Images, float]:
    """The products with their errors, and an upper bound of the largest column sum of K."""
    n, d = q.shape
    how, sizes = bounds.streamed("float64", chunk, q.device), bounds.score_sizes(q, k, scale)
    block = torch.cat([right, left], -1)
    result = stream.attend(q, k, block, scale, magnitude=True, chunk=chunk)
    size = bounds.magnitude_of(result, how, d, n, sizes)
    error = bounds.attention_bound(how, d, n, sizes, size, float(block.abs().max()), result.shifted)
    block = torch.cat([left, right, left.new_ones(n, 1)], -1)
    image, magnitude = stream.transpose_product(
        q, k, block, scale, log_sum=result.log_sum, magnitude=True, chunk=chunk
    )
    assert magnitude is not None
    back = bounds.transpose_bound(how, d, n, n, sizes, magnitude, float(block.abs().max()))
    columns = float((image[:, -1] + back[:, -1]).max()) * bounds.SAFETY
    return _Images(left, values, right, result.out, error, image[:, :-1], back[:, :-1]), columns


def _norm(x: torch.Tensor) -> torch.Tensor:
    """Column norms (1, s), rounded up."""
    return torch.linalg.vector_norm(x, dim=0, keepdim=True) * (
        1 + bounds.gamma(len(x), bounds.unit_roundoff("float64"))
    )


def _residual(
    image: torch.Tensor, error: torch.Tensor, target: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """|image - target| by columns, and how large rounding alone may make it: (1, s) each."""
    allowed = error + 2 * torch.finfo(torch.float64).eps * (image.abs() + target.abs())
    return _norm(image - target), _norm(allowed)


def _residuals(i: _Images, exchanged: bool = False) -> tuple[Comparison, Comparison]:
    """K v = sigma u and Kᵀ u = sigma v; `exchanged`: K u = sigma v and Kᵀ v = sigma u instead."""
    u, v = (i.right, i.left) if exchanged else (i.left, i.right)
    parts = [
        ("K v = sigma u", i.forward, i.forward_error, u),
        ("K'u = sigma v", i.backward, i.backward_error, v),
    ]
    found = [
        largest(name, *_residual(i.part(image, exchanged), i.part(error, exchanged), vectors * i.values))
        for name, image, error, vectors in parts
    ]
    return found[0], found[1]


def _orthonormal(left: torch.Tensor, right: torch.Tensor) -> tuple[Comparison, Comparison]:
    """UᵀU = I and VᵀV = I to the rounding of an inner product of N terms in blocks, entry by entry."""
    pairs = (("U'U = I", left), ("V'V = I", right))
    found = [Comparison(name, float(_defect(x).abs().max()), _gram_rounding(len(x))) for name, x in pairs]
    return found[0], found[1]


def _defect(x: torch.Tensor) -> torch.Tensor:
    """XᵀX - I for X (N, s), summed in blocks so that its own rounding stays small."""
    parts = [x[part].T @ x[part] for part in slices(len(x), GRAM_BLOCK)]
    return torch.stack(parts).sum(0) - torch.eye(x.shape[1]).to(x)


def _gram_rounding(n: int) -> float:
    """Error of an entry of `_defect`, for columns of norm at most 1.4."""
    return 2 * bounds.gamma(min(n, GRAM_BLOCK) + -(-n // GRAM_BLOCK) + 1, bounds.unit_roundoff("float64"))


def _objective(i: _Images, weights: torch.Tensor | None = None, trace: float = 1.0) -> Comparison:
    """J = sum_l (lambda/2)(|K v|² + |Kᵀ u|²) - u·K v with Lambda = Sigma⁻¹ unless given: zero at triplets.

    With true residuals a, b: J_l = (u·a + v·b)/2 + (lambda/2)(|a|² + |b|²), since u·K v can be written both
    ways.
    """
    weights = 1 / i.values if weights is None else weights
    forward, backward = i.part(i.forward, False), i.part(i.backward, False)
    error_f, error_b = _norm(i.part(i.forward_error, False)), _norm(i.part(i.backward_error, False))
    big_f, big_b, big_u, big_v = (_norm(x) for x in (forward, backward, i.left, i.right))
    squares = forward.square().sum(0) + backward.square().sum(0)
    value = (weights / 2 * squares - trace * (i.left * forward).sum(0)).sum()
    a = _norm(forward - i.left * i.values) + error_f
    b = _norm(backward - i.right * i.values) + error_b
    exact = (big_u * a + big_v * b) / 2 + (a.square() + b.square()) / (2 * i.values)
    rounding = bounds.gamma(len(i.left) + 8, bounds.unit_roundoff("float64"))
    computed = (big_f * (error_f + rounding * big_f) + big_b * (error_b + rounding * big_b)) / i.values
    computed = computed + big_u * (error_f + rounding * big_f)
    return Comparison("zero objective", float(value.abs()), float((exact + computed).sum()) * bounds.SAFETY)


def _norms(i: _Images) -> Comparison:
    """sigma (|u|² - |v|²) = v·b - u·a: paired vectors have equal norms, without having been normalised
    (19).
    """
    found = (i.left.square().sum(0) - i.right.square().sum(0)).abs()
    a = _norm(i.part(i.forward, False) - i.left * i.values) + _norm(i.part(i.forward_error, False))
    b = _norm(i.part(i.backward, False) - i.right * i.values) + _norm(i.part(i.backward_error, False))
    rounding = 2 * bounds.gamma(len(i.left), bounds.unit_roundoff("float64"))
    bound = (_norm(i.left) * a + _norm(i.right) * b) / i.values + rounding * _norm(i.left).square()
    return largest("|u| = |v|", found, bound[0])


def _value_bound(i: _Images, norm: float) -> float:
    """beta of the module's docstring."""
    forward, backward = i.part(i.forward, False), i.part(i.backward, False)
    a = _norm(forward - i.left * i.values) + _norm(i.part(i.forward_error, False))
    b = _norm(backward - i.right * i.values) + _norm(i.part(i.backward_error, False))
    residual = math.sqrt(float((a.square() + b.square()).sum()) / 2)
    defect = (_defect(i.left) + _defect(i.right)) / 2
    delta = float(torch.linalg.matrix_norm(defect)) + _gram_rounding(len(i.left)) * len(i.values)
    return (residual + delta * (norm + float(i.values.max()))) * (1 + 2.0**-10)


def _mutants(
    q: torch.Tensor, k: torch.Tensor, i: _Images, scale: float, chunk: stream.Tile | None
) -> dict[str, float]:
    """Wrong readings, each with the largest error over bound that one of the comparisons gives it."""

    def judged(left: torch.Tensor, values: torch.Tensor, right: torch.Tensor) -> float:
        """The residuals of other vectors or values against the images of the right ones."""
        wrong = _Images(left, values, right, i.forward, i.forward_error, i.backward, i.backward_error)
        return max(c.ratio for c in (*_residuals(wrong), *_orthonormal(left, right)))

    flip = torch.ones_like(i.values)
    flip[0] = -1
    repeated = i.left.clone()
    repeated[:, -1] = repeated[:, 0]
    found = {
        "left and right exchanged": max(c.ratio for c in _residuals(i, exchanged=True)),
        "one sign flipped": judged(i.left * flip, i.values, i.right),
        "inverse values": judged(i.left, 1 / i.values, i.right),
        "values off by 1e-9": judged(i.left, i.values * (1 + 1e-9), i.right),
        "zero vectors": judged(torch.zeros_like(i.left), i.values, torch.zeros_like(i.right)),
        "objective with Sigma for its inverse": _objective(i, i.values).ratio,
        "objective with the trace doubled": _objective(i, None, 2.0).ratio,
        "objective with the trace added": _objective(i, None, -1.0).ratio,
    }
    if len(i.values) > 1:
        found["right vectors shifted by one"] = judged(i.left, i.values, i.right.roll(1, 1))
        found["a vector repeated"] = judged(repeated, i.values, i.right)
    others = {
        "softmax along the other axis": stream.transpose_product(k, q, i.right, scale, chunk=chunk)[0],
        "scale doubled": stream.attention(q, k, i.right, 2 * scale, chunk=chunk),
    }
    for name, image in others.items():
        wrong = _Images(
            i.left, i.values, i.right, image, i.part(i.forward_error, False), i.backward, i.backward_error
        )
        found[name] = _residuals(wrong)[0].ratio
    return found
