"""Tensor legs: layers of attention against gradient descent in W and b with explicit features,
streamed, to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.steps import Trial, check_steps, trial
from checks.tensors.systems.row import Case, Row, compared


def layers(kernel: str, parameters: Mapping[str, Any], **task: Any) -> Row[Trial]:
    """Three layers of the attention of a kernel, and the task and loss of the descent that they carry out
    (the keywords of `trial`): wrong descents must be further away than rounding explains.
    """

    def prepared(case: Case) -> Trial:
        own = Kernel(kernel, **parameters)
        return trial(own, case.n, device=case.options.device, seed=case.options.seed, **task)

    checked = {"descent": (f"{kernel} kernel, 3 steps", check_steps)}
    return Row(prepared, checked, on="task.x", backend=f"layers, {kernel} kernel")


RATE = {"rate": 0.5}
OFFSET = {"c": 0.5}

# equation (1) on the printed loss with the rate α/2: five categories' worth of outputs, and b
SQUARED_LOSS = layers("polynomial", OFFSET, bias=True, classes=5, d=3)
# head 1 alone: linear kernel with 64-wide covariates, and cosine
ONE_HEAD = layers("linear", {}, classes=10, d=64), layers("cosine", {})
TWO_HEADS = (
    layers("rbf", {"sigma": 2.0}, bias=True),
    layers("laplacian", {}, bias=True),
    layers("chi_squared", {}, bias=True),
    layers("exponential", RATE, bias=True),
)
# codes of four categories from 1/C: descent on half the mean of squares with the rate α
CATEGORICAL = layers("exponential", RATE, bias=True, categorical=True, classes=4)
# equation (3): the latent function by kernel sums against descent on the mean cross-entropy
LATENT = layers("polynomial", OFFSET, bias=True, entropy=True, classes=4)
# softmax attention against descent on the weighted loss
SOFTMAX = layers("softmax", RATE)

squared_loss_steps, categorical_steps, latent_steps, softmax_steps = (
    row.leg("descent") for row in (SQUARED_LOSS, CATEGORICAL, LATENT, SOFTMAX)
)
one_head, two_heads = compared(ONE_HEAD, "descent"), compared(TWO_HEADS, "descent")
