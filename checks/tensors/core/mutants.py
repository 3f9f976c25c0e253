"""Wrong attention formulas that every tensor check must reject, evaluated at a sample of query rows.

They run in float64 on the reference engine, at a cost linear in N. The dropped and the doubled key are chosen
from the weights of the sampled rows (the heaviest; the one whose weight is nearest 1/2), because no check in
finite precision can see a key that has no weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from checks.tensors.core.arrays import slices
from checks.tensors.core.stream import Pass, attend, attention


@dataclass(frozen=True)
class Sampled:
    """One head in float64 with the rows at which formulas are compared."""

    q: torch.Tensor  # (N, d)
    k: torch.Tensor  # (N, d)
    v: torch.Tensor  # (N, d_v)
    rows: torch.Tensor  # (m,) long
    scale: float

    def weights(self) -> torch.Tensor:
        """Softmax rows (m, N) of the definition."""
        return torch.softmax(self.q[self.rows] @ self.k.T * self.scale, -1)

    def definition(self, block: int = 512) -> torch.Tensor:
        """Attention (m, d_v) from full rows of scores, by none of the engines; sums in blocks of keys."""
        scores = self.q[self.rows] @ self.k.T * self.scale
        odds = torch.exp(scores - scores.amax(-1, keepdim=True))
        values = torch.cat([self.v, self.v.new_ones(len(self.v), 1)], 1)
        sums = torch.stack([odds[:, part] @ values[part] for part in slices(len(self.k), block)]).sum(0)
        return sums[:, :-1] / sums[:, -1:]

    def attend(self, scale: float | None = None, mask: str | None = None) -> Pass:
        """The right formula, with another scale or a mask."""
        return attend(self.q, self.k, self.v, self.scale if scale is None else scale, mask, rows=self.rows)

    def with_keys(self, index: torch.Tensor) -> torch.Tensor:
        """Attention (m, d_v) to these keys and their values."""
        return attention(self.q, self.k[index], self.v[index], self.scale, rows=self.rows)


def _unnormalised(s: Sampled) -> torch.Tensor:
    result = s.attend()
    return result.out * result.log_sum.exp().unsqueeze(-1)


def _dropped_key(s: Sampled) -> torch.Tensor:
    heaviest = s.weights().amax(0).argmax()
    keys = torch.arange(len(s.k), device=s.k.device)
    return s.with_keys(keys[keys != heaviest])


def _doubled_key(s: Sampled) -> torch.Tensor:
    weights = s.weights()
    halfway = (weights * (1 - weights)).amax(0).argmax().reshape(1)
    return s.with_keys(torch.cat([torch.arange(len(s.k), device=s.k.device), halfway]))


def _doubled_term(s: Sampled) -> torch.Tensor:
    weights = s.weights()
    heaviest = weights.amax(0).argmax()
    return weights @ s.v + weights[:, heaviest, None] * s.v[heaviest]


MUTANTS: dict[str, Callable[[Sampled], torch.Tensor]] = {
    "zero output": lambda s: s.v.new_zeros(len(s.rows), s.v.shape[-1]),
    "sign flipped": lambda s: -s.attend().out,
    "scale without its root": lambda s: s.attend(s.scale**2).out,
    "scale doubled": lambda s: s.attend(2 * s.scale).out,
    "scores negated": lambda s: s.attend(-s.scale).out,
    "normaliser missing": _unnormalised,
    "normaliser 1/N": lambda s: _unnormalised(s) / len(s.k),
    "queries and keys exchanged": lambda s: attention(s.k, s.q, s.v, s.scale, rows=s.rows),
    "key dropped": _dropped_key,
    "key doubled": _doubled_key,
    "term doubled": _doubled_term,
    "own key masked": lambda s: s.attend(mask="others").out,
    "values shifted by one": lambda s: attention(s.q, s.k, s.v.roll(1, 0), s.scale, rows=s.rows),
}
