"""Tensor legs: layers of attention against gradient descent in W and b with explicit features,
streamed, to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import Climbing
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.steps import check_steps


class Layers(NamedTuple):
    """The attention of a head: its kernel with parameters, and the task and loss of the descent that three
    layers carry out (the keywords of `check_steps`).
    """

    kernel: str
    parameters: dict[str, Any]
    task: dict[str, Any]


def against_descent(*rows: Layers) -> Climbing:
    """A leg: layers against as many steps; wrong descents must be further away than rounding explains."""

    def check(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
        for row in rows:
            kernel = Kernel(row.kernel, **row.parameters)
            record = check_steps(kernel, n, device=options.device, seed=options.seed, **row.task)
            yield record.evidence(f"{row.kernel} kernel, {len(record.comparisons)} steps")

    return Climbing(check)


RATE = {"rate": 0.5}
OFFSET = {"c": 0.5}
BIAS = {"bias": True}

# equation (1) on the printed loss with the rate α/2: five categories' worth of outputs, and b
squared_loss_steps = against_descent(Layers("polynomial", OFFSET, {**BIAS, "classes": 5, "d": 3}))
# head 1 alone: linear kernel with 64-wide covariates, and cosine
one_head = against_descent(Layers("linear", {}, {"classes": 10, "d": 64}), Layers("cosine", {}, {}))
two_heads = against_descent(
    Layers("rbf", {"sigma": 2.0}, BIAS),
    Layers("laplacian", {}, BIAS),
    Layers("chi_squared", {}, BIAS),
    Layers("exponential", RATE, BIAS),
)
# codes of four categories from 1/C: descent on half the mean of squares with the rate α
categorical_steps = against_descent(Layers("exponential", RATE, {**BIAS, "categorical": True, "classes": 4}))
# equation (3): the latent function by kernel sums against descent on the mean cross-entropy
latent_steps = against_descent(Layers("polynomial", OFFSET, {**BIAS, "entropy": True, "classes": 4}))
# softmax attention against descent on the weighted loss
softmax_steps = against_descent(Layers("softmax", RATE, {}))
