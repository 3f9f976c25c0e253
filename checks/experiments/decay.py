"""Figure 1 of Chen et al. (2023) in the small: a two-layer model on a synthetic sequence task, with and
without the KSVD loss.

The paper compares DeiT-Small/16 on ImageNet-1K with the same network whose last attention layer is
Primal-Attention, trained with the KSVD loss. Two things change at once there. Here they are changed one at a
time, on the same sequences from the same seeds:

- "canonical": both layers are softmax attention;
- "primal": the second layer is Primal-Attention, without the KSVD loss;
- "primal, released loss" and "primal, loss (11)": with the loss, as the public code and as the paper define
  it.

Task (made here): in a sequence of random symbols five are marked; three of these agree, and theirs is the
class.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from checks.experiments.experiment import Experiment, Part, Watch
from checks.tensors.systems.attention import CanonicalAttention
from checks.tensors.systems.primal import KsvdLoss, PrimalAttention, PrimalScores

Settings = dict[str, Any]
LOSSES = {"primal, released loss": "released", "primal, loss (11)": "paper"}
MODELS = ("canonical", "primal", *LOSSES)
SYMBOLS, MARKED, MAJORITY = 16, 5, 3
RATE, BATCH = 3e-3, 32
HELD_OUT = 10**6  # seeds of the sequences that models are judged on are apart from those of training
JUDGED = 16  # sequences whose attention matrices are decomposed


class TwoLayers(nn.Module):
    """Embedding, two blocks of attention and a perceptron (normalised first), mean over tokens, classifier.

    Tokens (B, N) of whole numbers to scores of the classes (B, 16), with what the KSVD loss needs of the
    second layer.
    """

    def __init__(self, model: str, tokens: int, width: int, heads: int, directions: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(2 * SYMBOLS, width)
        self.place = nn.Parameter(0.02 * torch.randn(tokens, width))
        second: nn.Module = CanonicalAttention(width, heads)
        if model != "canonical":
            rows = min(10 * directions, tokens)  # the paper's n = min(10 s, N)
            second = PrimalAttention(width, heads, directions, tokens=rows)
        self.attention = nn.ModuleList([CanonicalAttention(width, heads), second])
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.mix = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(2)
        )
        self.classify = nn.Linear(width, SYMBOLS)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, PrimalScores | None]:
        inputs, scores = self._inputs(tokens)
        return self.classify(inputs[-1].mean(1)), scores

    def _inputs(self, tokens: torch.Tensor) -> tuple[list[torch.Tensor], PrimalScores | None]:
        """What each attention layer reads, (B, N, d), then the last block's output; scores of a Primal
        layer.
        """
        x, seen, scores = self.embed(tokens) + self.place, [], None
        for layer, attention in enumerate(self.attention):
            seen.append(self.norms[2 * layer](x))
            out = attention(seen[-1])
            if isinstance(out, tuple):
                out, scores = out
            x = x + out
            x = x + self.mix[layer](self.norms[2 * layer + 1](x))
        return [*seen, x], scores

    @torch.no_grad()
    def matrices(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        """The attention matrix of each layer, (B, H, N, N): softmax, or the kernel that
        Primal-Attention's features induce.
        """
        return [
            attention_matrix(layer, x)
            for layer, x in zip(self.attention, self._inputs(tokens)[0], strict=False)
        ]


def attention_matrix(layer: nn.Module, x: torch.Tensor, valid: torch.Tensor | None = None) -> torch.Tensor:
    """K of a layer for its input (B, N, d): (B, H, N, N), in float64. Rows and columns of what is not
    ``valid`` (B, N) are zero.
    """
    x = x.double()
    there = x.new_ones(x.shape[:2]) if valid is None else valid.double()
    pairs = there[:, None, :, None] * there[:, None, None, :]
    if isinstance(layer, PrimalAttention):
        own = layer.double()
        f = own.transformation(x, valid)
        left, right = (own.features(own._heads(m(x))) for m in (own.query, own.key))
        kernel = left @ right.mT if f is None else (left @ f.mT) @ (right @ f.mT).mT
        layer.float()
        return kernel * pairs
    assert isinstance(layer, CanonicalAttention)
    own_c = layer.double()
    q, k = (m(x).unflatten(-1, (own_c.heads, -1)).transpose(1, 2) for m in (own_c.query, own_c.key))
    layer.float()
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(there[:, None, None, :] == 0, -torch.inf)
    return torch.softmax(scores, -1) * pairs


def sequences(count: int, tokens: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens (B, N), a symbol plus 16 where it is marked, and the classes (B,)."""
    found = torch.randint(SYMBOLS, (count, tokens), generator=generator)
    classes = torch.randint(SYMBOLS, (count,), generator=generator)
    places = torch.rand(count, tokens, generator=generator).argsort(-1)[:, :MARKED]
    others = (classes[:, None] + torch.randint(1, SYMBOLS, (count, MARKED), generator=generator)) % SYMBOLS
    others[:, :MAJORITY] = classes[:, None]
    return found.scatter_(1, places, others + SYMBOLS), classes


def decay(matrices: torch.Tensor) -> dict[str, Any]:
    """What is kept of the singular values of matrices (..., N, N), over all of them.

    "explained": mean cumulative share of the squares, with "deviation"; "spectrum": geometric mean of
    σ_i/σ_1, at least 1e-12; "rank": mean effective rank, the exponential of the entropy of the shares σ_i/Σσ:
    1 for rank one, N for equal values.
    """
    values = torch.linalg.svdvals(matrices.double()).flatten(0, -2)
    shares = values.square().cumsum(-1) / values.square().sum(-1, keepdim=True)
    spectrum = (values / values[:, :1]).clamp(min=1e-12).log().mean(0).exp()
    parts = values / values.sum(-1, keepdim=True)
    rank = torch.special.entr(parts).sum(-1).exp().mean()
    return {
        "explained": _rounded(shares.mean(0)),
        "deviation": _rounded(shares.std(0)),
        "spectrum": [float(f"{v:.3e}") for v in spectrum.tolist()],
        "rank": round(float(rank), 4),
    }


def _rounded(values: torch.Tensor) -> list[float]:
    return [round(v, 5) for v in values.tolist()]


def _loss(model: str, eta: float) -> KsvdLoss | None:
    return KsvdLoss(eta, LOSSES[model]) if model in LOSSES else None


def _penalty(loss: KsvdLoss, scores: PrimalScores) -> torch.Tensor:
    """η J²; (11) takes the root of Λ, so its entries enter by their size."""
    return loss([scores._replace(weights=scores.weights.abs())])


def train(settings: Settings, model: str, seed: int, watch: Watch) -> dict[str, Any]:
    """One model from one seed: accuracy and J on held-out sequences, and the decay of both layers'
    matrices.
    """
    torch.manual_seed(seed)
    n = settings["tokens"]
    net = TwoLayers(model, n, settings["width"], settings["heads"], settings["directions"])
    loss, entropy = _loss(model, settings["eta"]), nn.CrossEntropyLoss()
    generator = torch.Generator().manual_seed(seed + 1)
    optimiser = torch.optim.Adam(net.parameters(), RATE)
    first = 0
    if (kept := watch.restore()) is not None:
        net.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        generator.set_state(kept["generator"])
        first = kept["step"]
        watch.step(first)
    for step in range(first, settings["steps"]):
        tokens, labels = sequences(BATCH, n, generator)
        found, scores = net(tokens)
        total = entropy(found, labels)
        if loss is not None and scores is not None:
            total = total + _penalty(loss, scores)
        optimiser.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        watch.step()

        def state(done: int = step + 1) -> dict[str, Any]:
            return {
                "model": net.state_dict(),
                "optimiser": optimiser.state_dict(),
                "generator": generator.get_state(),
                "step": done,
            }

        watch.save_if_due(state)
    return judge(net, model, settings)


@torch.no_grad()
def judge(net: TwoLayers, model: str, settings: Settings) -> dict[str, Any]:
    """Accuracy, mean |J| by the loss trained with (else the released one), and decay curves."""
    generator = torch.Generator().manual_seed(HELD_OUT)
    tokens, labels = sequences(1024, settings["tokens"], generator)
    found, scores = net(tokens)
    result: dict[str, Any] = {"accuracy": float((found.argmax(-1) == labels).double().mean())}
    if scores is not None:
        own = KsvdLoss(1.0, LOSSES.get(model, "released"))
        result["root_mean_square_J"] = float(_penalty(own, scores).sqrt())
    for number, matrices in enumerate(net.matrices(tokens[:JUDGED]), 1):
        result[f"layer {number}"] = decay(matrices)
    return result


def parts(settings: Settings, seed: int) -> list[Part]:
    """Every model from every seed."""
    return [
        Part(
            f"{model}; seed {s}",
            settings["steps"],
            partial(train, settings, model, seed + s),
            _work(settings),
        )
        for s in range(settings["seeds"])
        for model in MODELS
    ]


def _work(settings: Settings) -> float:
    n, d = settings["tokens"], settings["width"]
    return float(settings["steps"] * n * d * (8 * d + 2 * n))


def by_model(data: dict[str, Any], layer: int) -> dict[str, list[float]]:
    """Effective ranks of a layer's matrices, one number a seed."""
    found: dict[str, list[float]] = {model: [] for model in MODELS}
    for name, part in data.items():
        found[name.partition(";")[0]].append(part[f"layer {layer}"]["rank"])
    return found


def finding(data: dict[str, Any], model: str, layer: int, against: str = "primal") -> str:
    """The decay of a model against another's, seed by seed: "sharper" or "slower" if for every seed,
    else "mixed".
    """
    ranks = by_model(data, layer)
    pairs = list(zip(ranks[model], ranks[against], strict=True))
    if all(own < other for own, other in pairs):
        return "sharper"
    return "slower" if all(own > other for own, other in pairs) else "mixed"


def summary(data: dict[str, Any]) -> list[str]:
    """Lines for the command."""
    lines = []
    for model in MODELS:
        own = [part for name, part in data.items() if name.partition(";")[0] == model]
        accuracy = sum(part["accuracy"] for part in own) / len(own)
        ranks = "; ".join(
            f"layer {layer}: {', '.join(f'{v:.2f}' for v in by_model(data, layer)[model])}"
            for layer in (1, 2)
        )
        lines.append(f"{model:22} accuracy {accuracy:.3f}; effective ranks by seed, {ranks}")
    for model in LOSSES:
        lines.append(f"{model}, against the same model without: second layer {finding(data, model, 2)}")
    return lines


EXPERIMENT = Experiment(
    "chen2023/fig1",
    "Singular value decay with and without the KSVD loss, two layers on a synthetic task",
    {"tokens": 128, "width": 64, "heads": 2, "directions": 30, "eta": 0.05, "steps": 2000, "seeds": 5},
    {"tokens": 32, "width": 32, "steps": 400, "seeds": 5, "directions": 10},
    "32 tokens of width 32 in place of 128 of 64, 10 directions in place of 30, 400 steps in place of 2,000; "
    "neither size is the paper's, whose ImageNet-1K models are not rerun",
    parts,
    summary,
)
