"""Primal-Attention and the KSVD loss of Chen et al. (2023) on series of the UEA archive.

JapaneseVowels is in Tables 1, 9 and 11 of the paper. The same two-layer Transformer as in `uea`, with
Primal-Attention in both layers ("Primal.") or the second ("Primal.+Trans."); one thing is changed at a time:
the loss (none, as released, as (11)), the weights, the second score, the number of directions s, which the
width p of a head bounds the rank of the kernel by. Beside accuracies: what becomes of J, and of the singular
values of both layers' kernels (Figure 1).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import torch

from checks.experiments import classifier, series, uea
from checks.experiments.decay import attention_matrix, decay
from checks.experiments.experiment import Experiment, Part, Watch
from checks.papers import recorded
from checks.tensors.systems.primal import KsvdLoss, PrimalScores

Settings = dict[str, Any]
DECOMPOSED = 64  # test series whose kernels are decomposed


class Model(NamedTuple):
    """Attentions of both layers, the objective of the KSVD loss or None for no loss, and which of the
    settings' numbers of directions.
    """

    layers: tuple[str, str]
    objective: str | None = "released"
    directions: int = 0


BOTH = ("Primal", "Primal")
MODELS = {
    "Trans.": Model(("softmax", "softmax"), None),
    "Primal.": Model(BOTH),
    "Primal., no loss": Model(BOTH, None),
    "Primal., loss (11)": Model(BOTH, "paper"),
    "Primal., s = p": Model(BOTH, "released", 1),
    "Primal., s < p": Model(BOTH, "released", 2),
    "Primal.+Trans.": Model(("softmax", "Primal")),
    "Primal.+Trans., no loss": Model(("softmax", "Primal"), None),
    "Primal.+Trans., data-independent": Model(("softmax", "Primal, data-independent")),
    "Primal.+Trans., e only": Model(("softmax", "Primal, e only")),
}


def penalty(loss: KsvdLoss, scores: list[PrimalScores]) -> torch.Tensor:
    """η Σ J²; (11) takes the root of Λ, so its entries enter by their size."""
    return loss([s._replace(weights=s.weights.abs()) for s in scores])


@torch.no_grad()
def objectives(net: classifier.Classifier, data: series.Data, objective: str) -> list[float]:
    """The root mean square of J over the test series, one number for each Primal layer."""
    net.eval()
    scores = net(data.test.x, data.test.valid)[1]
    return [float(f"{float(penalty(KsvdLoss(1.0, objective), [s]).sqrt()):.5g}") for s in scores]


@torch.no_grad()
def decays(net: classifier.Classifier, data: series.Data) -> dict[str, Any]:
    """What is kept of the singular values of both layers' kernels, over test series and heads."""
    net.eval()
    some = data.test.at(torch.arange(min(DECOMPOSED, len(data.test.labels))))
    seen = net(some.x, some.valid)[2]
    return {
        f"layer {n}": decay(attention_matrix(layer, x, some.valid))
        for n, (layer, x) in enumerate(zip(net.attention, seen, strict=True), 1)
    }


def trained(settings: Settings, name: str, model: str, seed: int, watch: Watch) -> dict[str, Any]:
    """One model on one set from one seed."""
    data, own = uea.load(settings, name), MODELS[model]
    of = classifier.Layer(
        {**settings, "directions": settings["directions"][own.directions]}, data.train.x.shape[1]
    )
    torch.manual_seed(seed)
    net = classifier.build(list(own.layers), of, data)
    shown = own.objective or "released"
    loss = partial(penalty, KsvdLoss(settings["eta"], own.objective)) if own.objective else None
    before = objectives(net, data, shown)
    found = classifier.train(net, classifier.split(data, seed), settings, seed, watch, loss)
    return {
        **found,
        "J": [before, objectives(net, data, shown)],
        **decays(net, data),
        "data": data.digest[:16],
    }


def parts(settings: Settings, seed: int) -> list[Part]:
    """Every model on every set from every seed."""
    return [
        Part(
            f"{name}; {model}; seed {k}",
            settings["epochs"],
            partial(trained, settings, name, model, seed + k),
            float(settings["epochs"] * settings["width"]),
        )
        for name in settings["sets"]
        for k in range(settings["seeds"])
        for model in MODELS
    ]


EXPERIMENT = Experiment(
    "chen2023/uea",
    "Primal-Attention on UEA series: accuracy, the KSVD loss, singular values, numbers of directions",
    {
        **uea.FULL,
        "sets": ["JapaneseVowels"],
        "eta": 0.1,
        "directions": [20, 16, 10],
        "rank_multi": 5,
    },
    {**uea.REDUCED, "directions": [20, 8, 4]},
    "width 64 with heads of 8 in place of 128 with 16 (the paper: 512 with 64), 20, 8 and 4 directions in "
    "place of 20, 16 and 10, at most 60 epochs in place of 200, stopped after 10 without a better validation "
    "loss in place of 40",
    parts,
    partial(recorded.primal_lines, base="Trans."),
    reads=series.READS,
    given=uea.given,
    require=uea.require,
)
