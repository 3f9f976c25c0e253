"""The papers' small Transformer for classifying sequences, with any attention of the audit as its layers, and
its training.

Two blocks (attention, then a perceptron, each normalised first and with dropout), the mean over the tokens, a
linear reading: the size that both papers name for UEA and LRA. AdamW, early stopping by the loss on a
stratified part of the training set, the weights of its best epoch judged once on the test set. What the
papers leave open is chosen here and stands in the settings.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Watch
from checks.experiments.series import Data, Examples
from checks.tensors.measure.memory import GIB, available_bytes
from checks.tensors.systems.attention import (
    AttentionBN,
    AttentionBNSH,
    AttentionConv1D,
    AttentionConv2D,
    AttentionSH,
    CanonicalAttention,
    CentredAttention,
)
from checks.tensors.systems.primal import PrimalAttention, PrimalScores

Settings = dict[str, Any]
BLOCKS = 2
HELD_OUT = 0.2  # of the training set, for early stopping


class Layer(NamedTuple):
    """What a layer is built for: the tokens of its longest sequence, and ``beta`` of (26) and of (51), which
    the paper sets by data set.
    """

    settings: Settings
    longest: int
    beta: tuple[float, float] = (0.5, 0.5)


NGUYEN: dict[str, Callable[[Layer, dict[str, Any]], nn.Module]] = {
    "softmax": lambda of, more: CanonicalAttention(*_sizes(of), **more),
    "BN": lambda of, more: AttentionBN(*_sizes(of), **more),
    "BN (26)": lambda of, more: CentredAttention(*_sizes(of), beta=of.beta[0], **more),
    "SH": lambda of, more: AttentionSH(of.settings["width"], of.settings["scales"], **more),
    "BN+SH": lambda of, more: AttentionBNSH(of.settings["width"], of.settings["scales"], **more),
    "BN+SH (51)": lambda of, more: CentredAttention(
        *_sizes(of), beta=of.beta[1], scales=of.settings["scales"], **more
    ),
    "Conv1D": lambda of, more: AttentionConv1D(*_sizes(of), **more),
    "Conv2D": lambda of, more: AttentionConv2D(*_sizes(of), rows=of.settings["rows"], **more),
}
"""The attentions of nguyen2023; "linear " or "sparse " before a name changes the kernel or keeps a share of
the keys.
"""
BASES = ("softmax", "linear", "sparse")


def _sizes(of: Layer) -> tuple[int, int]:
    return of.settings["width"], of.settings["heads"]


def attention(name: str, of: Layer) -> nn.Module:
    """A layer by the name of its attention: of nguyen2023 (`NGUYEN`), or "Primal" with words behind commas.

    These are "data-independent" (else f(X) has "rank_multi" times "directions" rows, at most all tokens) and
    "e only". Raises ExperimentError for another name.
    """
    kind, *words = name.split(", ")
    if kind == "Primal":
        rows = (
            None
            if "data-independent" in words
            else min(of.settings["rank_multi"] * of.settings["directions"], of.longest)
        )
        scores = "e_only" if "e only" in words else "both"
        return PrimalAttention(*_sizes(of), of.settings["directions"], tokens=rows, scores=scores)
    base, _, rest = kind.partition(" ")
    more: dict[str, Any] = {}
    if base == "linear":
        more = {"kernel": "linear"}
    elif base == "sparse":
        more = {"kept": math.ceil(of.settings["kept"] * of.longest)}
    own = (rest or "softmax") if more else kind
    if own not in NGUYEN or words:
        raise ExperimentError(f"no attention {name!r}")
    return NGUYEN[own](of, more)


class Classifier(nn.Module):
    """Examples to scores of the classes, (B, classes), and what a KSVD loss needs of the Primal layers.

    ``channels``: x holds numbers (B, N, channels). ``symbols``: x holds whole numbers below it (B, N).
    """

    def __init__(
        self, layers: list[nn.Module], of: Layer, classes: int, channels: int | None, symbols: int = 0
    ) -> None:
        super().__init__()
        width, hidden, dropout = (of.settings[name] for name in ("width", "hidden", "dropout"))
        self.embed = nn.Embedding(symbols, width) if channels is None else nn.Linear(channels, width)
        self.place = nn.Parameter(0.02 * torch.randn(of.longest, width))
        self.attention = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * len(layers)))
        self.mix = nn.ModuleList(
            nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, width))
            for _ in layers
        )
        self.drop = nn.Dropout(dropout)
        self.classify = nn.Linear(width, classes)

    def forward(
        self, x: torch.Tensor, valid: torch.Tensor
    ) -> tuple[torch.Tensor, list[PrimalScores], list[torch.Tensor]]:
        """x (B, N, channels) or (B, N), valid (B, N); the third result is what each attention reads."""
        seen, scores = [], []
        tokens = self.drop(self.embed(x) + self.place)
        mask = None if bool(valid.all()) else valid
        for n, layer in enumerate(self.attention):
            seen.append(self.norms[2 * n](tokens))
            out = layer(seen[-1], mask)
            if isinstance(out, tuple):
                out, own = out
                scores.append(own)
            tokens = tokens + self.drop(out)
            tokens = tokens + self.drop(self.mix[n](self.norms[2 * n + 1](tokens)))
        counts = valid.sum(1, keepdim=True)
        mean = (tokens * valid[..., None]).sum(1) / counts
        return self.classify(mean), scores, seen


def build(names: list[str], of: Layer, data: Data, symbols: int = 0) -> Classifier:
    """A classifier with these attentions, one a block."""
    x = data.train.x
    channels = x.shape[2] if x.ndim == 3 else None
    return Classifier([attention(name, of) for name in names], of, len(data.classes), channels, symbols)


def bytes_needed(settings: Settings, longest: int) -> int:
    """Memory of a training step in the worst case, softmax attention with its matrices kept: scores and
    weights of every head and block, and about twelve tensors of the width of the tokens, in float32.
    """
    pairs = 2 * settings["heads"] * longest**2
    return (
        4 * BLOCKS * settings["batch"] * (pairs + 12 * longest * max(settings["width"], settings["hidden"]))
    )


def require_fit(settings: Settings, name: str, longest: int) -> None:
    """Raises ExperimentError where sequences of so many tokens do not fit the memory there is."""
    needed, there = bytes_needed(settings, longest), available_bytes(torch.device("cpu"))
    if needed > there:
        raise ExperimentError(
            f"{name}: {longest} tokens in batches of {settings['batch']} need about {needed / GIB:.1f} GiB, "
            f"and {max(there, 0) / GIB:.1f} GiB are free"
        )


class Parts(NamedTuple):
    """What is trained on, what stops the training, what is judged once."""

    train: Examples
    held_out: Examples
    test: Examples


def split(data: Data, seed: int) -> Parts:
    """The training set in two, class by class. Raises ExperimentError for a class with a single example."""
    labels = data.train.labels
    counts = labels.bincount(minlength=len(data.classes))
    if int(counts.min()) < 2:
        alone = data.classes[int(counts.argmin())]
        raise ExperimentError(
            f"class {alone} has {int(counts.min())} training sequences; two are needed, one to train on and "
            "one to stop by"
        )
    share = max(HELD_OUT, len(counts) / len(labels))  # one of each class at least
    kept, out = train_test_split(
        range(len(labels)), test_size=share, stratify=labels.tolist(), random_state=seed
    )
    return Parts(data.train.at(torch.tensor(kept)), data.train.at(torch.tensor(out)), data.test)


@torch.no_grad()
def judge(net: Classifier, examples: Examples, batch: int = 256) -> tuple[float, float]:
    """Mean cross-entropy and accuracy."""
    net.eval()
    loss, right = 0.0, 0
    for first in range(0, len(examples.labels), batch):
        part = examples.at(torch.arange(first, min(first + batch, len(examples.labels))))
        found = net(part.x, part.valid)[0]
        loss += float(F.cross_entropy(found, part.labels, reduction="sum"))
        right += int((found.argmax(1) == part.labels).sum())
    return loss / len(examples.labels), right / len(examples.labels)


Penalty = Callable[[list[PrimalScores]], torch.Tensor]


def train(
    net: Classifier, parts: Parts, settings: Settings, seed: int, watch: Watch, penalty: Penalty | None = None
) -> dict[str, Any]:
    """AdamW until the loss on the held-out part has not fallen for ``patience`` epochs, at most ``epochs``;
    ``net`` ends with the weights of the best epoch.

    Gives the epochs run, the best one (0: before training), whether a loss was not finite, which ends the
    training, both losses by epoch and the test accuracy. Goes on from a saved state, to the last bit.
    """
    torch.manual_seed(seed)  # after the split and the initial weights, which have seeds of their own
    optimiser = torch.optim.AdamW(
        net.parameters(), settings["rate"], weight_decay=settings["decay"], fused=True
    )
    best: dict[str, Any] = {"loss": math.inf, "epoch": -1, "net": _copy(net)}
    curve: list[list[float]] = []
    diverged = False
    if (kept := watch.restore()) is not None:
        net.load_state_dict(kept["net"])
        optimiser.load_state_dict(kept["optimiser"])
        torch.set_rng_state(kept["random"])
        best, curve = kept["best"], kept["curve"]
        watch.step(len(curve))
    while len(curve) < settings["epochs"] and len(curve) - 1 - best["epoch"] < settings["patience"]:
        trained = _epoch(net, parts.train, settings, optimiser, penalty)
        stopping = judge(net, parts.held_out)[0]
        if diverged := not math.isfinite(trained + stopping):
            break
        if stopping < best["loss"]:
            best = {"loss": stopping, "epoch": len(curve), "net": _copy(net)}
        curve.append([round(trained, 5), round(stopping, 5)])
        watch.step()

        def state(best: dict[str, Any] = best) -> dict[str, Any]:
            return {
                "net": net.state_dict(),
                "optimiser": optimiser.state_dict(),
                "random": torch.get_rng_state(),
                "best": best,
                "curve": curve,
            }

        watch.save_if_due(state)
    watch.step(settings["epochs"] - len(curve))
    net.load_state_dict(best["net"])
    return {
        "accuracy": judge(net, parts.test)[1],
        "epochs": len(curve),
        "best_epoch": best["epoch"] + 1,
        "diverged": diverged,
        "losses": curve[:: max(1, len(curve) // 20)],
    }


def fit(
    name: str, of: Layer, data: Data, settings: Settings, seed: int, watch: Watch, symbols: int = 0
) -> dict[str, Any]:
    """`train` a classifier with one attention in all its blocks, from one seed."""
    torch.manual_seed(seed)
    net = build([name] * BLOCKS, of, data, symbols)
    return train(net, split(data, seed), settings, seed, watch)


def _copy(net: Classifier) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def _epoch(
    net: Classifier,
    examples: Examples,
    settings: Settings,
    optimiser: torch.optim.Optimizer,
    penalty: Penalty | None,
) -> float:
    """One pass over the examples in a new order; the mean loss."""
    net.train()
    total = 0.0
    for rows in torch.randperm(len(examples.labels)).split(settings["batch"]):
        own = examples.at(rows)
        found, scores, _ = net(own.x, own.valid)
        loss = F.cross_entropy(found, own.labels)
        if penalty is not None and scores:
            loss = loss + penalty(scores)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        total += float(loss.detach()) * len(rows)
    return total / len(examples.labels)
