"""Does convolution help attention on images? scikit-learn's digits as sequences of patches or of pixels.

1,797 images of 8 x 8 pixels in ten classes (a copy of the test set of Kaynak's digits, which scikit-learn
ships). Tables 6 and 7 of nguyen2023 compare Attention-Conv2D (2 x 2 taps) and Attention-Conv1D (5 taps) with
softmax attention on ImageNet and on pixels of CIFAR-10: neither is here. Each seed draws the test set, the
validation split and the initial weights.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial
from typing import Any

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from checks.experiments import classifier, uea
from checks.experiments.experiment import Experiment, Part, Watch
from checks.experiments.series import Data, Examples
from checks.papers import recorded

Settings = dict[str, Any]
SIDE = 8
TESTED = 0.3  # of the images


@lru_cache(maxsize=1)
def _images() -> tuple[torch.Tensor, torch.Tensor]:
    found = load_digits()
    return torch.tensor(found.images, dtype=torch.float32) / 16, torch.tensor(found.target)


def patches(images: torch.Tensor, side: int) -> torch.Tensor:
    """Images (B, R, C) as sequences of their patches of ``side`` x ``side`` pixels, row by row:
    (B, RC / side², side²).
    """
    blocks = images.unfold(1, side, side).unfold(2, side, side)
    return blocks.flatten(3).flatten(1, 2)


def load(side: int, seed: int) -> Data:
    """The digits in patches; the test set is drawn by the seed, class by class."""
    images, labels = _images()
    kept, out = train_test_split(
        range(len(labels)), test_size=TESTED, stratify=labels.tolist(), random_state=seed
    )
    x = patches(images, side) - 0.5
    whole = Examples(x, torch.ones(x.shape[:2], dtype=torch.bool), labels)
    digest = hashlib.sha256(images.numpy().tobytes() + labels.numpy().tobytes()).hexdigest()
    names = tuple(str(digit) for digit in range(10))
    return Data(whole.at(torch.tensor(kept)), whole.at(torch.tensor(out)), names, digest)


def trained(settings: Settings, side: int, attention: str, seed: int, watch: Watch) -> dict[str, Any]:
    """One attention on patches of one size from one seed."""
    data = load(side, seed)
    of = classifier.Layer({**settings, "rows": SIDE // side}, data.train.x.shape[1])
    found = classifier.fit(attention, of, data, settings, seed, watch)
    return {**found, "data": data.digest[:16]}


def parts(settings: Settings, seed: int) -> list[Part]:
    """Every attention on every size of patches from every seed."""
    return [
        Part(
            f"patches of {side} x {side}; {attention}; seed {k}",
            settings["epochs"],
            partial(trained, settings, side, attention, seed + k),
            float(settings["epochs"] * settings["width"] * (SIDE // side) ** 2),
        )
        for side in settings["sides"]
        for k in range(settings["seeds"])
        for attention in settings["attentions"]
    ]


EXPERIMENT = Experiment(
    "nguyen2023/digits",
    "Accuracy of convolved attention on digits, in patches and in pixels",
    {
        **{name: value for name, value in uea.FULL.items() if name not in ("sets", "scales")},
        "attentions": ["softmax", "Conv1D", "Conv2D"],
        "sides": [2, 1],
        "heads": 4,
        "width": 64,
        "hidden": 128,
        "batch": 32,
        "epochs": 60,
        "patience": 10,
    },
    {"sides": [2], "width": 32, "hidden": 64, "epochs": 20, "patience": 5},
    "patches of 2 x 2 only, no single pixels; width 32 and 64 hidden units in place of 64 and 128, at most "
    "20 epochs in place of 60, stopped after 5 without a better validation loss in place of 10",
    parts,
    recorded.lines,
)
