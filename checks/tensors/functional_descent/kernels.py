"""The attention kernels of Wang, Henao and Carin (2024, Appendix A and Section 4) as torch modules.

A kernel takes keys (..., N, p) and queries (..., M, p) and returns weights (..., M, N). Its parameters are
named as in the paper (``rate`` is λ) and can be trained. No kernel but softmax depends on the set of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn

from checks.tensors.core.errors import TensorError

# name -> parameters with their starting values
PARAMETERS: dict[str, dict[str, float]] = {
    "linear": {},
    "rbf": {"sigma": 1.0},
    "laplacian": {"sigma": 1.0},
    "sigmoid": {"gamma": 1.0, "c": 0.5},
    "polynomial": {"gamma": 1.0, "c": 1.0},
    "cosine": {},
    "chi_squared": {"gamma": 1.0},
    "exponential": {"rate": 1.0},
    "softmax": {"rate": 1.0},
}
AXES = ("keys", "queries")
DEGREE = 2


class Kernel(nn.Module):
    """One kernel of the paper, by name; keyword arguments replace the starting values of its parameters.

    ``axis`` is what softmax sums over: the keys, as the paper prints it, or the queries. ``two_sigma`` puts
    2σ² in place of the paper's σ² into the RBF kernel. The degree of the polynomial is 2. Raises TensorError
    for an unknown name, parameter or axis.
    """

    sigma: nn.Parameter
    gamma: nn.Parameter
    c: nn.Parameter
    rate: nn.Parameter

    def __init__(self, name: str, *, axis: str = "keys", two_sigma: bool = False, **values: float) -> None:
        super().__init__()
        if name not in PARAMETERS:
            raise TensorError(f"unknown kernel {name!r}; allowed: {', '.join(PARAMETERS)}")
        if axis not in AXES:
            raise TensorError(f"unknown axis {axis!r}; allowed: {', '.join(AXES)}")
        if unknown := set(values) - set(PARAMETERS[name]):
            raise TensorError(f"the {name} kernel has no parameter {', '.join(sorted(unknown))}")
        self.name, self.axis, self.two_sigma = name, axis, two_sigma
        for parameter, start in {**PARAMETERS[name], **values}.items():
            self.register_parameter(parameter, nn.Parameter(torch.tensor(start, dtype=torch.float64)))

    def forward(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        """Weights (..., M, N) of keys (..., N, p) for queries (..., M, p)."""
        if keys.shape[-1] != queries.shape[-1]:
            raise TensorError(f"keys are {keys.shape[-1]} wide and queries {queries.shape[-1]}")
        return getattr(self, f"_{self.name}")(keys, queries)

    def constant(self) -> torch.Tensor | None:
        """The value for all keys and queries when both are zero; None where it is 0, undefined or 1/N
        (softmax).
        """
        match self.name:
            case "rbf" | "laplacian" | "chi_squared" | "exponential":
                return torch.ones((), dtype=torch.float64)
            case "sigmoid" | "polynomial":
                value = torch.tanh(self.c) if self.name == "sigmoid" else self.c**DEGREE
                return value if bool(value != 0) else None
        return None

    @staticmethod
    def _linear(keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return queries @ keys.mT

    def _rbf(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        width = self.sigma**2 * (2 if self.two_sigma else 1)
        return torch.exp(-_over_coordinates(torch.square, keys, queries) / width)

    def _laplacian(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return torch.exp(-_over_coordinates(torch.abs, keys, queries) / self.sigma**2)

    def _sigmoid(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.gamma * (queries @ keys.mT) + self.c)

    def _polynomial(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return (self.gamma * (queries @ keys.mT) + self.c) ** DEGREE

    @staticmethod
    def _cosine(keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        norms = queries.norm(dim=-1)[..., :, None] * keys.norm(dim=-1)[..., None, :]
        return queries @ keys.mT / norms

    def _chi_squared(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        """Coordinates that are zero in both count nothing: the printed sum is 0/0 there, also at padded
        zeros.
        """
        total = queries.new_zeros(())
        for k, q in _coordinates(keys, queries):
            sums, none_k, none_q = q + k, k == 0, q == 0
            if none_k.any() and none_q.any():  # looked at first: a pass over all pairs is what costs here
                sums = sums.masked_fill(none_k & none_q, 1.0)
            total = total + (q - k).square() / sums
        return torch.exp(-self.gamma * total)

    def _exponential(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return torch.exp(self.rate * (queries @ keys.mT))

    def _softmax(self, keys: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.rate * (queries @ keys.mT), -1 if self.axis == "keys" else -2)


def _coordinates(keys: torch.Tensor, queries: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Each coordinate of keys (..., 1, N) and queries (..., M, 1): nothing of size M x N x p is formed."""
    for k, q in zip(keys.unbind(-1), queries.unbind(-1), strict=True):
        yield k[..., None, :], q[..., :, None]


def _over_coordinates(
    of: Callable[[torch.Tensor], torch.Tensor], keys: torch.Tensor, queries: torch.Tensor
) -> torch.Tensor:
    """Σ_a of(q_a - k_a), (..., M, N): from differences, as the expanded square would cancel for near
    points.
    """
    total = queries.new_zeros(())
    for k, q in _coordinates(keys, queries):
        total = total + of(q - k)
    return total
