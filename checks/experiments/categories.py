"""Synthetic contexts of Wang, Henao and Carin (2024, Section 4), and how their transformers are trained and
judged.

Published: C = 3, d = 2, covariates uniform on [-1, 1]², a category of probability 0.8 in each quadrant, N =
20, the loss (the squared distance to the code of the query's label), Adam, its steps and batches, the error
at the centres of the quadrants over 10,000 contexts. Not published, and chosen here: the category of each
quadrant is drawn anew for each context, uniformly and independently; the rates of Adam (0.01 for the
designed, 0.005 for the trained transformer); gradients longer than 1 are shortened to 1; the trained matrices
start normal with deviation 0.2; the error is the mean over contexts, centres and the C - 1 components.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from checks.experiments.experiment import Watch
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.layers import (
    DescentTransformer,
    Reading,
    TrainedTransformer,
    Transformer,
    codes,
)

CLASSES, WIDTH = 3, 2
MOST, LEAST = 0.8, 0.1
START = 1 / CLASSES
CENTRES = torch.tensor([[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
RATES = {"GD": 0.01, "Trained TF": 0.005, "Trained TF (x, 0)": 0.005}  # of Adam
HELD_OUT = 10**6  # seeds of held-out contexts are apart from those of training
EMPTY_SLOT = "Trained TF (x, 0)"  # the query enters as (x, 0) in place of (x, -1/C)
CURVE = 60  # points of a training curve


class Contexts(NamedTuple):
    """A batch of contexts: covariates (B, N, 2), labels (B, N), dominating category of each quadrant
    (B, 4).
    """

    x: torch.Tensor
    labels: torch.Tensor
    dominating: torch.Tensor


def quadrant(x: torch.Tensor) -> torch.Tensor:
    """The quadrant 0, …, 3 of covariates (..., 2), in the order of ``CENTRES``."""
    return (x[..., 0] > 0).long() + 2 * (x[..., 1] > 0).long()


def probabilities(x: torch.Tensor, dominating: torch.Tensor) -> torch.Tensor:
    """h(x), the law of the label: covariates (B, N, 2) and categories (B, 4) to (B, N, 3)."""
    here = dominating.gather(1, quadrant(x))
    return LEAST + (MOST - LEAST) * torch.nn.functional.one_hot(here, CLASSES).double()


def draw(
    count: int, size: int, generator: torch.Generator, dominating: torch.Tensor | None = None
) -> Contexts:
    """``count`` contexts of ``size`` labelled points; the categories of the quadrants are drawn unless
    given.
    """
    if dominating is None:
        dominating = torch.randint(CLASSES, (count, 4), generator=generator)
    x = 2 * torch.rand(count, size, WIDTH, generator=generator, dtype=torch.float64) - 1
    chosen = torch.rand(count, size, 1, generator=generator, dtype=torch.float64)
    labels = (chosen > probabilities(x, dominating).cumsum(-1)[..., :-1]).sum(-1)
    return Contexts(x, labels, dominating)


def make(name: str, kernel: str, seed: int, heads: int = 1) -> Transformer:
    """A transformer of one layer to be trained: "GD" (rate and kernel parameter), the others (everything)."""
    if name == "GD":
        return DescentTransformer(CLASSES, WIDTH, Kernel(kernel))
    if name not in RATES:
        raise ValueError(f"no model {name!r}; there are {', '.join(RATES)}")
    generator = torch.Generator().manual_seed(seed)
    return TrainedTransformer(
        CLASSES,
        WIDTH,
        Kernel(kernel),
        heads=heads,
        generator=generator,
        reading=Reading(empty_slot=name == EMPTY_SLOT),
    )


def query_loss(count: int, size: int, model: Transformer, generator: torch.Generator) -> torch.Tensor:
    """Over fresh contexts of ``size`` examples and a query: the mean squared distance to the code of
    the query's label.
    """
    batch = draw(count, size + 1, generator)
    y = codes(batch.labels, CLASSES)
    predicted = model(batch.x[:, :-1], y[:, :-1], batch.x[:, -1:], START)
    return (predicted[:, 0] - y[:, -1]).square().sum(-1).mean()


@torch.no_grad()
def centre_error(model: Transformer, count: int, size: int, seed: int) -> float:
    """Mean squared error of the predicted against the true probabilities at the centres of the quadrants."""
    generator = torch.Generator().manual_seed(seed)
    total, left = 0.0, count
    while left:
        batch = draw(min(left, 1000), size, generator)
        left -= len(batch.x)
        centres = CENTRES.expand(len(batch.x), 4, WIDTH)
        predicted = model(batch.x, codes(batch.labels, CLASSES), centres, START)
        total += float((predicted - probabilities(centres, batch.dominating)[..., 1:]).square().sum())
    return total / (count * 4 * (CLASSES - 1))


def best_error(count: int, size: int, seed: int) -> float:
    """The same error of the posterior mean given the law of the contexts: no prediction has a smaller
    one on average.
    """
    generator = torch.Generator().manual_seed(seed)
    batch = draw(count, size, generator)
    seen = torch.nn.functional.one_hot(quadrant(batch.x), 4).double()
    counts = seen.mT @ torch.nn.functional.one_hot(batch.labels, CLASSES).double()
    posterior = torch.softmax(counts * math.log(MOST / LEAST), -1)
    predicted = LEAST + (MOST - LEAST) * posterior
    truth = probabilities(CENTRES.expand(count, 4, WIDTH), batch.dominating)
    return float((predicted - truth)[..., 1:].square().mean())


def train(
    watch: Watch,
    model: Transformer,
    rate: float,
    steps: int,
    loss: Callable[[Transformer, torch.Generator], torch.Tensor],
    seed: int,
    judge: Callable[[Transformer], float] | None = None,
) -> list[tuple[int, float | None]]:
    """Adam on ``loss(model, generator)``, which draws fresh contexts; the curve of ``judge`` over the steps,
    if given.

    Goes on from a saved state. Where the loss or its gradient is not finite, training ends with the last
    parameters, and the curve with that step; a point of the curve is None where it is not finite.
    """
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], rate)
    curve: list[tuple[int, float | None]] = []
    first = 0
    if (kept := watch.restore()) is not None:
        model.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        generator.set_state(kept["generator"])
        curve, first = kept["curve"], kept["step"]
        watch.step(first)

    every = max(1, steps // CURVE)
    end = steps
    for step in range(first, steps):
        if judge and step % every == 0:
            curve.append((step, finite(judge(model))))
        value = loss(model, generator)
        optimiser.zero_grad()
        value.backward()
        if not math.isfinite(
            float(value.detach()) + float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        ):
            watch.step(steps - step)
            end = step
            break
        optimiser.step()
        watch.step()

        def state(done: int = step + 1) -> dict[str, Any]:
            return {
                "model": model.state_dict(),
                "optimiser": optimiser.state_dict(),
                "generator": generator.get_state(),
                "curve": curve,
                "step": done,
            }

        watch.save_if_due(state)
    if judge:
        curve.append((end, finite(judge(model))))
    return curve


def finite(value: float) -> float | None:
    """The value, or None where it is not finite: JSON has no such numbers."""
    return value if math.isfinite(value) else None


def learned(model: Transformer) -> dict[str, Any]:
    """The trained numbers of a model, as plain lists."""
    return {name: p.detach().tolist() for name, p in model.named_parameters() if p.requires_grad}
