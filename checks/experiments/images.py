"""Figure 5 of Wang, Henao and Carin (2024): few-shot classification of image features by the designed
transformer.

The features of ImageNet are not in this repository. They come from a file FILE.npz with two arrays,

    features  (images, d), numbers: one row an image; the paper has 512 averages of the last feature maps of
    VGG labels    (images,), whole numbers: the class of each image held_out  (classes,), whole numbers,
    optional: the classes kept for evaluation; else a tenth of them, drawn by the seed

with at least 11 images of each class, three classes to train with and three held out (the paper: 900 and
100). A context has three classes, ten examples each, and one more image of one of them as the query.

Not published, and chosen here: features are divided by the root mean square of their length over the training
classes (which only rescales the rate and the kernel parameter); start values are exp(z/2) with normal z; the
rate of Adam is 0.01; accuracy is judged on 500 held-out contexts along the curve.
"""

from __future__ import annotations

import math
import zipfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from checks.experiments import categories as cat
from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Experiment, Part, Watch, digest
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.layers import DescentTransformer, Transformer, codes

CLASSES, SHOTS = 3, 10
NEEDS = (
    "a file of features, --data FILE.npz with arrays features (images, d) and labels (images,), "
    "at least 11 images of each class"
)


class Images(NamedTuple):
    """Features (images, d) of one set of classes, and for each class the rows that are its images."""

    features: torch.Tensor
    rows: list[torch.Tensor]


def load(path: Path, seed: int) -> tuple[Images, Images]:
    """The images to train with and those held out; no class is in both. Raises ExperimentError for an
    unusable file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("features", "labels", "held_out") if name in file}
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, zipfile.BadZipFile, EOFError, AttributeError, TypeError) as error:
        raise ExperimentError(f"{path} is no .npz file of numbers ({error})") from None
    features, labels = _checked(path, arrays)
    classes = np.unique(labels)
    held = arrays.get("held_out")
    if held is None:
        held = np.random.default_rng(seed).permutation(classes)[: max(CLASSES, len(classes) // 10)]
    elif not set(held.ravel().tolist()) <= set(classes.tolist()):
        raise ExperimentError(f"{path}: held_out names classes that no label has")
    kept = [c for c in classes if c not in set(held.ravel().tolist())]
    if min(len(kept), len(held)) < CLASSES:
        raise ExperimentError(
            f"{path}: {len(kept)} classes to train with and {len(held)} held out; {CLASSES} of each are "
            "needed"
        )
    rows = {c: torch.from_numpy(np.flatnonzero(labels == c)) for c in classes}
    if few := [int(c) for c in classes if len(rows[c]) <= SHOTS]:
        raise ExperimentError(
            f"{path}: class {few[0]} has {len(rows[few[0]])} images; {SHOTS + 1} are needed"
        )
    own = torch.cat([rows[c] for c in kept])
    length = math.sqrt(float(features[own].square().sum(1).mean())) or 1.0
    scaled = features / length
    return Images(scaled, [rows[c] for c in kept]), Images(scaled, [rows[c] for c in held])


def _checked(path: Path, arrays: dict[str, Any]) -> tuple[torch.Tensor, Any]:
    """Features as float64 and labels, of matching shapes. Raises ExperimentError."""
    if not {"features", "labels"} <= set(arrays):
        raise ExperimentError(f"{path} needs arrays named features and labels")
    features, labels = arrays["features"], arrays["labels"]
    if features.ndim != 2 or labels.shape != features.shape[:1] or 0 in features.shape:
        raise ExperimentError(
            f"{path}: features of shape {features.shape} and labels of shape {labels.shape}; (images, d) and "
            "(images,) are needed"
        )
    if features.dtype.kind not in "fiu" or labels.dtype.kind not in "iu":
        raise ExperimentError(f"{path}: features must be numbers and labels whole numbers")
    if not np.isfinite(features).all():
        raise ExperimentError(f"{path}: features contain NaN or infinity")
    return torch.from_numpy(features.astype(np.float64)), labels


def draw(images: Images, count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Contexts with their query last: features (count, 31, d) and labels 0, 1, 2 (count, 31)."""
    chosen, labels = [], torch.arange(CLASSES).repeat_interleave(SHOTS)
    asked = torch.randint(CLASSES, (count,), generator=generator)
    for query in asked.tolist():
        places = torch.randperm(len(images.rows), generator=generator)[:CLASSES]
        own = [images.rows[p] for p in places]
        picked = [r[torch.randperm(len(r), generator=generator)[: SHOTS + 1]] for r in own]
        chosen.append(torch.cat([*(p[:SHOTS] for p in picked), picked[query][SHOTS:]]))
    return images.features[torch.stack(chosen)], torch.cat([labels.expand(count, -1), asked[:, None]], 1)


def predict(model: Transformer, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The outputs for classes 1 and 2 at the queries, (count, 2)."""
    return model(x[:, :-1], codes(labels[:, :-1], CLASSES), x[:, -1:], 1 / CLASSES)[:, 0]


@torch.no_grad()
def accuracy(model: Transformer, images: Images, count: int, seed: int) -> float:
    """The share of queries whose most probable class is theirs; class 0 has the complement of the outputs."""
    x, labels = draw(images, count, torch.Generator().manual_seed(seed))
    outputs = predict(model, x, labels)
    every = torch.cat([1 - outputs.sum(1, keepdim=True), outputs], 1)
    return float((every.argmax(1) == labels[:, -1]).double().mean())


def start(kernel: str, width: int, seed: int) -> DescentTransformer:
    """The designed transformer with random positive start values."""
    z = torch.randn(2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    rate, own = torch.exp(z / 2).tolist()
    values = {"rate": own} if kernel == "softmax" else {}
    return DescentTransformer(CLASSES, width, Kernel(kernel, **values), rates=rate)


def _curve(settings: dict[str, Any], seed: int, kernel: str, watch: Watch) -> dict[str, Any]:
    path = Path(settings["data"])
    if digest(path) != settings["digest"]:
        raise ExperimentError(f"{path} changed while the experiment ran; run it again")
    train, held = load(path, seed)
    model = start(kernel, train.features.shape[1], seed)

    def loss(current: Transformer, generator: torch.Generator) -> torch.Tensor:
        x, labels = draw(train, settings["contexts"], generator)
        return (predict(current, x, labels) - codes(labels[:, -1], CLASSES)).square().sum(1).mean()

    def judge(current: Transformer) -> float:
        return accuracy(current, held, settings["judged"], cat.HELD_OUT)

    curve = cat.train(watch, model, 0.01, settings["steps"], loss, seed + 1, judge)
    return {
        "curve": curve,
        "accuracy": accuracy(model, held, settings["evaluated"], cat.HELD_OUT + 1),
        "learned": cat.learned(model),
    }


def figure_5(settings: dict[str, Any], seed: int) -> list[Part]:
    """Linear and softmax attention, several start values. Raises ExperimentError for an unusable file."""
    load(Path(settings["data"]), seed)
    return [
        Part(
            f"{kernel} {k}",
            settings["steps"],
            partial(_curve, settings, seed + k, kernel),
            settings["steps"] * settings["contexts"],
        )
        for kernel in settings["kernels"]
        for k in range(settings["seeds"])
    ]


def _accuracies(data: dict[str, Any]) -> list[str]:
    return [
        "accuracy on held-out classes",
        *(f"{name:12} {found['accuracy']:.3f}" for name, found in data.items()),
    ]


EXPERIMENT = Experiment(
    "wang2024/fig5",
    "Accuracy on held-out classes of images (needs a file of features)",
    {
        "steps": 5000,
        "contexts": 512,
        "judged": 500,
        "evaluated": 10_000,
        "kernels": ["linear", "softmax"],
        "seeds": 5,
    },
    {"steps": 300, "contexts": 32, "evaluated": 2000, "seeds": 2},
    "300 Adam steps of 32 contexts in place of 5,000 of 512, 2,000 evaluation contexts in place of 10,000, "
    "two start values",
    figure_5,
    _accuracies,
    needs=NEEDS,
)
