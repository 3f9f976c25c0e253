"""Tensor legs: layers of attention against gradient descent in W and b with explicit features,
streamed, to rounding.
"""

from __future__ import annotations

from typing import Any

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.steps import check_steps

RATE = {"rate": 0.5}


def _steps(options: Options, n: int, name: str, values: dict[str, Any], **settings: Any) -> Evidence:
    """Three layers with one kernel against three steps; every wrong descent must be further away than
    rounding explains.
    """

    record = check_steps(Kernel(name, **values), n, device=options.device, seed=options.seed, **settings)
    return record.evidence(f"{name} kernel, {len(record.comparisons)} steps")


@climbing()
def squared_loss_steps(n: int, assumptions: Any, options: Options) -> Evidence:
    """Equation (1) on the printed loss with the rate α/2: polynomial kernel, five categories' worth of
    outputs, and b.
    """
    return _steps(options, n, "polynomial", {"c": 0.5}, bias=True, classes=5, d=3)


@climbing()
def one_head(n: int, assumptions: Any, options: Options) -> list[Evidence]:
    """Head 1 alone: linear kernel with 64-wide covariates, and cosine."""
    return [_steps(options, n, "linear", {}, classes=10, d=64), _steps(options, n, "cosine", {})]


@climbing()
def two_heads(n: int, assumptions: Any, options: Options) -> list[Evidence]:
    """Both heads: RBF, Laplacian, chi-squared and exponential."""
    kernels: dict[str, dict[str, float]] = {
        "rbf": {"sigma": 2.0},
        "laplacian": {},
        "chi_squared": {},
        "exponential": RATE,
    }
    return [_steps(options, n, name, values, bias=True) for name, values in kernels.items()]


@climbing()
def categorical_steps(n: int, assumptions: Any, options: Options) -> Evidence:
    """Codes of four categories from 1/C, exponential kernel: descent on half the mean of squares with
    the rate α.
    """
    return _steps(options, n, "exponential", RATE, bias=True, categorical=True, classes=4)


@climbing()
def latent_steps(n: int, assumptions: Any, options: Options) -> Evidence:
    """Equation (3): the latent function by kernel sums against descent on the mean cross-entropy."""
    return _steps(options, n, "polynomial", {"c": 0.5}, bias=True, entropy=True, classes=4)


@climbing()
def softmax_steps(n: int, assumptions: Any, options: Options) -> Evidence:
    """Softmax attention against descent on the weighted loss."""
    return _steps(options, n, "softmax", RATE)
