"""Primal-Attention and the KSVD loss of chen2023 as torch modules.

Shapes: x (B, N, d) in, (B, N, d) out; H heads of width p = d / H, s directions; f(X) has m rows. Where paper
and released implementation differ, a knob says which: the objective (mean over tokens, L² for Lambda), the
batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import nn

from checks.tensors.core.errors import TensorError
from checks.tensors.systems.tokens import check_tokens, only_valid


class PrimalScores(NamedTuple):
    """What the KSVD loss needs of a layer: e, r (B, H, N, s), W_e, W_r (H, m, s), L (H, s); r, W_r None
    for e only.
    """

    e: torch.Tensor
    r: torch.Tensor | None
    w_e: torch.Tensor
    w_r: torch.Tensor | None
    weights: torch.Tensor


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise TensorError(f"unknown {name} {value!r}; allowed: {', '.join(allowed)}")


def cumulative_mean(x: torch.Tensor) -> torch.Tensor:
    """Mean of tokens 0 ... i at token i: (..., N, p) -> (..., N, p)."""
    count = torch.arange(1, x.shape[-2] + 1, device=x.device, dtype=x.dtype)
    return x.cumsum(-2) / count[:, None]


def evenly(last: torch.Tensor, count: int) -> torch.Tensor:
    """``count`` whole numbers at equal steps from 0 to each entry of ``last``, (..., count), rounded down."""
    return torch.arange(count, device=last.device) * last // max(1, count - 1)


class PrimalAttention(nn.Module):
    """Algorithm 1 with output weights: o_i = W_o [e_i; r_i] per head, then a projection of all heads.

    `tokens` None is the data-independent case, W_e, W_r (H, p, s). With a number it is the data-dependent one
    for sequences of at least that many tokens: f(X) is that many evenly spaced tokens, cut into heads as the
    release does, and W_e, W_r are (H, tokens, s). `scores` "both" or "e_only". `causal` takes cumulative
    means of queries and keys before the feature map, as the release does; f(X) would leak later tokens, so it
    needs `tokens` None. The feature map is z/|z| (zero at zero, where the paper's is undefined), or
    "identity". Raises TensorError for sizes that do not fit, unknown knobs and sequences shorter than
    `tokens`.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        directions: int,
        *,
        tokens: int | None = None,
        scores: str = "both",
        feature_map: str = "cosine",
        causal: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        _one_of("scores", scores, ("both", "e_only"))
        _one_of("feature map", feature_map, ("cosine", "identity"))
        if heads < 1 or width < 1 or width % heads:
            raise TensorError(f"width {width} does not divide into {heads} heads")
        if directions < 1 or (tokens is not None and tokens < 1):
            raise TensorError(f"{directions} directions, {tokens} rows of f(X): at least 1 of each is needed")
        if causal and tokens is not None:
            raise TensorError("f(X) contains later tokens: a causal layer needs tokens=None")
        self.heads, self.p, self.tokens = heads, width // heads, tokens
        self.scores, self.feature_map, self.causal = scores, feature_map, causal
        self.query, self.key = nn.Linear(width, width, bias), nn.Linear(width, width, bias)
        rows = self.p if tokens is None else tokens
        self.w_e = nn.Parameter(nn.init.orthogonal_(torch.empty(heads, rows, directions)))
        both = scores == "both"
        self.w_r = nn.Parameter(nn.init.orthogonal_(torch.empty(heads, rows, directions))) if both else None
        self.weights = nn.Parameter(torch.rand(heads, directions))
        self.combine = nn.Linear(directions * (2 if both else 1), self.p, bias)
        self.output = nn.Linear(width, width, bias)

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        """(B, N, d) -> (B, H, N, p)."""
        return x.unflatten(-1, (self.heads, self.p)).transpose(1, 2)

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """The feature map on projected queries or keys, (B, H, N, p)."""
        x = cumulative_mean(x) if self.causal else x
        if self.feature_map == "identity":
            return x
        norms = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / norms.masked_fill(norms == 0, 1)

    def transformation(self, x: torch.Tensor, valid: torch.Tensor | None = None) -> torch.Tensor | None:
        """f(X), (B, H, tokens, p), or None. With ``valid`` the rows are spread over each sequence's own
        tokens, of which a shorter one gives some more than once.
        """
        if self.tokens is None:
            return None
        n = x.shape[1]
        if n < self.tokens:
            raise TensorError(f"{n} tokens in, but f(X) takes {self.tokens} of them")
        last = torch.tensor(n - 1, device=x.device)
        if valid is None:
            return self._heads(x[:, evenly(last, self.tokens)])
        own = evenly((valid.sum(1, keepdim=True) - 1).clamp(min=0), self.tokens)  # (B, tokens)
        return self._heads(x.take_along_dim(own[..., None], 1))

    def forward(
        self, x: torch.Tensor, valid: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, PrimalScores]:
        """x (B, N, d) -> output (B, N, d) and what the KSVD loss needs.

        ``valid`` (B, N) is True where there is a token; those of a sequence come first. Scores of what is not
        a token are zero.
        """
        x = check_tokens(x, self.query.in_features, valid)
        if valid is not None and self.causal:
            raise TensorError("a causal layer takes whole sequences only")
        f = self.transformation(x, valid)

        def score(layer: nn.Linear, w: torch.Tensor) -> torch.Tensor:
            projected = w if f is None else f.mT @ w  # W_{e|X}, (B, H, p, s)
            return self.features(self._heads(only_valid(layer(x), valid))) @ projected

        e = score(self.query, self.w_e)
        r = None if self.w_r is None else score(self.key, self.w_r)
        mixed = self.combine(e if r is None else torch.cat([e, r], -1))
        out = self.output(mixed.transpose(1, 2).flatten(2))
        return out, PrimalScores(e, r, self.w_e, self.w_r, self.weights)


def ksvd_objective(scores: PrimalScores, objective: str = "paper") -> torch.Tensor:
    """J of (11) for every sample and head, (B, H).

    "paper": 1/2 sum_i e_i' Lambda e_i + 1/2 sum_j r_j' Lambda r_j - Tr W_e' W_r, with Lambda = `weights`,
    which must not be negative. "released": the mean over the N rows of e for the sums, padding with
    its scores of 0 among them; Lambda = weights², so J with weights² / N. For e only, r and W_r are replaced
    by nothing and W_e: 1/2 sum_i e_i' Lambda e_i - 1/2 Tr W_e' W_e. Raises TensorError for an unknown
    objective or a negative Lambda.
    """
    _one_of("objective", objective, ("paper", "released"))
    e, r, w_e, w_r, weights = scores
    if objective == "paper" and bool((weights < 0).any()):
        raise TensorError("Lambda has a negative entry; (11) takes its root")
    between = weights if objective == "paper" else weights.square() / e.shape[-2]

    def spread(x: torch.Tensor) -> torch.Tensor:
        return (x.square().sum(-2) * between).sum(-1) / 2

    if r is None or w_r is None:
        return spread(e) - w_e.square().sum((-2, -1)) / 2
    return spread(e) + spread(r) - (w_e * w_r).sum((-2, -1))


class KsvdLoss(nn.Module):
    """eta sum over layers of J_l², the regulariser of (10), J_l the mean over heads.

    `batch`: "sample" squares each sample's J and averages (the release's time series, reinforcement learning
    and language models), "mean" averages over the batch first (its vision and long-range models). `heads`:
    "mean" averages J over heads before the square, as (10) and the release do; "each" squares every head's
    own J, so that heads cannot cancel. Raises TensorError for unknown knobs.
    """

    def __init__(
        self, eta: float, objective: str = "paper", batch: str = "sample", heads: str = "mean"
    ) -> None:
        super().__init__()
        _one_of("objective", objective, ("paper", "released"))
        _one_of("batch", batch, ("sample", "mean"))
        _one_of("heads", heads, ("mean", "each"))
        self.eta, self.objective, self.batch, self.heads = eta, objective, batch, heads

    def forward(self, layers: list[PrimalScores]) -> torch.Tensor:
        """Scores of the layers -> scalar."""
        total = layers[0].e.new_zeros(())
        for scores in layers:
            each = ksvd_objective(scores, self.objective)  # (B, H)
            if self.heads == "mean":
                each = each.mean(1, keepdim=True)
            if self.batch == "mean":
                each = each.mean(0, keepdim=True)
            total = total + each.square().mean()
        return self.eta * total
