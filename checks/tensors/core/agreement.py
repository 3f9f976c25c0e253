"""The tensor check: two engines and float64 samples agree within proved bounds, and wrong formulas do not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch

from checks.evidence import Evidence
from checks.tensors.core import bounds, fused, stream
from checks.tensors.core.arrays import check_one_head, dtype_name, prepare, resolve_scale, slices
from checks.tensors.core.errors import TensorError
from checks.tensors.core.inputs import sampled_rows
from checks.tensors.core.mutants import MUTANTS, Sampled

ROWS_AT_ONCE = 8192  # rows of N x d_v results compared at a time, to keep float64 copies small


@dataclass(frozen=True)
class Comparison:
    """Measured error against its bound, at the component where their ratio is largest."""

    name: str
    error: float
    bound: float

    @property
    def ratio(self) -> float:
        """Error over bound: at most 1 if the statement holds; far below 1e-3 the bound is loose."""
        if not self.error < math.inf or math.isnan(self.bound):
            return math.inf  # no bound, be it infinite, allows what is no number
        if self.error == 0:
            return 0.0
        return self.error / self.bound if self.bound > 0 else math.inf

    @property
    def passed(self) -> bool:
        return self.ratio <= 1


@dataclass(frozen=True)
class Agreement:
    """What a check found: comparisons, and wrong versions as comparisons or their errors over bounds.

    ``backend``: what computed it, "" where the system says.
    """

    comparisons: tuple[Comparison, ...]
    wrong: Mapping[str, Comparison | float]
    backend: str = ""

    @property
    def mutants(self) -> dict[str, float]:
        """The error over bound that each wrong version reached."""
        return {name: m.ratio if isinstance(m, Comparison) else m for name, m in self.wrong.items()}

    @property
    def worst(self) -> Comparison:
        return max(self.comparisons, key=lambda c: c.ratio)

    @property
    def survivors(self) -> list[str]:
        """The wrong versions that stayed within the bound; a ratio that is not a number rejects nothing."""
        return [name for name, ratio in self.mutants.items() if not ratio > 1]

    @property
    def passed(self) -> bool:
        return all(c.passed for c in self.comparisons) and not self.survivors

    def evidence(self, detail: str, on: torch.Tensor, tokens: int | None, **more: Any) -> Evidence:
        """The finding of a leg: the comparison closest to its bound. ``on``: a tensor with the dtype and the
        device that the check ran on; ``more``: further fields of the evidence, or others than these.
        """
        found = Evidence(
            "tensor",
            "certified-float",
            self.passed,
            detail,
            error=self.worst.error,
            bound=self.worst.bound,
            tokens=tokens,
            dtype=dtype_name(on.dtype),
            device=str(on.device),
            backend=self.backend,
            wrong=len(self.wrong),
            not_rejected=tuple(self.survivors),
        )
        return replace(found, **more)


def merged(found: Sequence[Agreement]) -> Agreement:
    """Several findings as one; one alone stays what it is."""
    if len(found) == 1:
        return found[0]
    comparisons = tuple(c for part in found for c in part.comparisons)
    return Agreement(comparisons, {n: m for part in found for n, m in part.wrong.items()}, found[0].backend)


class Near(Protocol):
    """A computed tensor, and a bound of its distance to the exact one that broadcasts over it."""

    @property
    def value(self) -> torch.Tensor: ...

    @property
    def error(self) -> torch.Tensor: ...


def same(name: str, found: Near, expected: Near) -> Comparison:
    """Two computations of what is claimed to be one quantity: their difference against both errors."""
    shape = found.value.shape if found.value.ndim > 1 else (-1, 1)
    error = (found.error + expected.error).expand(found.value.shape) * bounds.SAFETY
    return compare(name, *(x.reshape(shape) for x in (found.value, expected.value, error)))


def largest(name: str, error: torch.Tensor, bound: torch.Tensor) -> Comparison:
    """An error, of any shape, against its bound where their ratio is largest; NaN is an infinite error."""
    error = error.nan_to_num(nan=torch.inf, posinf=torch.inf)  # first: a comparison with NaN is false
    ratio = torch.where(error > 0, error / bound, 0.0).nan_to_num(nan=torch.inf, posinf=torch.inf)
    at = int(ratio.argmax())
    return Comparison(name, float(error.flatten()[at]), float(bound.flatten()[at]))


def compare(name: str, found: torch.Tensor, expected: torch.Tensor, bound: torch.Tensor) -> Comparison:
    """The component of |found - expected| that is largest relative to `bound`; all of one shape (..., M, w).

    A NaN counts as an infinite error. Raises TensorError if the shapes differ.
    """
    if found.shape != expected.shape:
        raise TensorError(
            f"{name}: shape {tuple(found.shape)} cannot be compared with {tuple(expected.shape)}"
        )
    bound = bound.expand(expected.shape)
    worst = Comparison(name, 0.0, float(bound.amax()))
    for part in slices(found.shape[-2], ROWS_AT_ONCE):
        error = (found[..., part, :].double() - expected[..., part, :].double()).abs_()
        worst = max(worst, largest(name, error, bound[..., part, :]), key=lambda c: c.ratio)
    return worst


def _against_float64(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float,
    chunk: stream.Tile | None,
    found: tuple[torch.Tensor, torch.Tensor],
    allowed: tuple[torch.Tensor, torch.Tensor],
) -> tuple[Comparison, ...]:
    """Both engines' results in a narrower dtype against the float64 reference of the same inputs, at every
    query.

    On the device of the inputs. `allowed`: the engines' own bounds, to which the reference's is added.
    """
    reference = stream.attend(q, k, v, scale, magnitude=True, dtype="float64", chunk=chunk)
    how, (n, d) = bounds.streamed("float64", chunk, q.device), k.shape
    sizes = bounds.score_sizes(q, k, scale)
    size = bounds.magnitude_of(reference, how, d, n, sizes)
    own = bounds.attention_bound(how, d, n, sizes, size, float(v.abs().max()), reference.shifted)
    names = ("streamed against the float64 reference", "fused against the float64 reference")
    return tuple(
        compare(name, out, reference.out, bound + own)
        for name, out, bound in zip(names, found, allowed, strict=True)
    )


def check_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    scale: float | None = None,
    *,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    chunk: stream.Tile | None = None,
    samples: int = 32,
    seed: int = 0,
) -> Agreement:
    """Streamed reference, torch's kernel and a float64 sample agree within their bounds; mutants do not.

    q (M, d), k (N, d), v (N, d_v) of one head, M = N for the mutants that compare tokens. Both engines run
    in `dtype`; the float64 reference at `samples` rows judges each against its own bound.
    Raises TensorError for unusable tensors.
    """
    q, k, v = prepare(dtype, device, q=q, k=k, v=v)
    check_one_head(q, k)
    scale, (n, d) = resolve_scale(scale, q.shape[-1]), k.shape
    reference = stream.attend(q, k, v, scale, magnitude=True, chunk=chunk)
    kernel = fused.attention(q, k, v, scale)
    ours = bounds.streamed(q.dtype, chunk, q.device)
    theirs = bounds.fused(kernel.backend, q.dtype, n, q.device)
    sizes = bounds.score_sizes(q, k, scale)
    size = bounds.magnitude_of(reference, ours, d, n, sizes)
    largest = float(v.abs().max())
    bound_ours = bounds.attention_bound(ours, d, n, sizes, size, largest, reference.shifted)
    bound_theirs = bounds.attention_bound(theirs, d, n, sizes, size, largest)

    rows = sampled_rows(n, samples, seed).to(q.device)
    sample = Sampled(q.double(), k.double(), v.double(), rows, scale)
    truth = sample.definition()
    exact = bounds.streamed("float64", stream.Tile(samples, 512))
    bound_truth = bounds.attention_bound(exact, d, n, sizes[rows], size[rows], largest)
    comparisons: tuple[Comparison, ...] = (
        compare("streamed against fused", kernel.out, reference.out, bound_ours + bound_theirs),
        compare("streamed against float64 rows", reference.out[rows], truth, bound_ours[rows] + bound_truth),
        compare("fused against float64 rows", kernel.out[rows], truth, bound_theirs[rows] + bound_truth),
    )
    if q.dtype != torch.float64:
        comparisons += _against_float64(
            q, k, v, scale, chunk, (reference.out, kernel.out), (bound_ours, bound_theirs)
        )
    allowed = torch.maximum(bound_ours, bound_theirs)[rows] + bound_truth
    # the mutant is the wrong answer that an engine might have given, so it faces that engine's allowance
    wrong = {name: formula(sample) for name, formula in MUTANTS.items()}
    # a scale of 1 has the root 1, equal queries and keys can be exchanged: what says the same is no mutant
    other = {n: out for n, out in wrong.items() if compare(n, out, truth, 2 * bound_truth).ratio > 1}
    mutants = {name: compare(name, out, truth, allowed) for name, out in (other or wrong).items()}
    return Agreement(comparisons, mutants, kernel.backend)
