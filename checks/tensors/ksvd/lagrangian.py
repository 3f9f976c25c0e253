"""The six derivatives (14) of the Lagrangian (13), against automatic differentiation of (13) at any point."""

from __future__ import annotations

import torch

from checks.tensors.core.agreement import Agreement, Comparison, compare
from checks.tensors.core.bounded import UNIT
from checks.tensors.core.bounds import SAFETY, gamma

Point = dict[str, torch.Tensor]
NAMES = ("W_e", "W_r", "e", "r", "h_e", "h_r")


def draw(phi_q: torch.Tensor, f_x: torch.Tensor | None, directions: int, seed: int = 0) -> Point:
    """Seeded weights (m, s), scores and multipliers (N, s), no stationary point."""
    rng = torch.Generator().manual_seed(seed)
    n, m = len(phi_q), phi_q.shape[1] if f_x is None else len(f_x)
    shapes = {name: (m if name.startswith("W") else n, directions) for name in NAMES}
    return {
        name: torch.randn(shape, generator=rng, dtype=torch.float64).to(phi_q)
        for name, shape in shapes.items()
    }


def lagrangian(
    x: Point, phi_q: torch.Tensor, phi_k: torch.Tensor, f_x: torch.Tensor | None, lam: torch.Tensor
) -> torch.Tensor:
    """(13) as printed."""
    on_queries, on_keys = ((w if f_x is None else f_x.T @ w) for w in (x["W_e"], x["W_r"]))
    squares = (x["e"].square() * lam).sum() / 2 + (x["r"].square() * lam).sum() / 2
    first = (x["h_e"] * (x["e"] - phi_q @ on_queries)).sum()
    second = (x["h_r"] * (x["r"] - phi_k @ on_keys)).sum()
    return squares - (x["W_e"] * x["W_r"]).sum() - first - second


def derivatives(
    x: Point,
    phi_q: torch.Tensor,
    phi_k: torch.Tensor,
    f_x: torch.Tensor | None,
    lam: torch.Tensor,
    sign: float = -1.0,
) -> Point:
    """The six differences that (14) sets to zero; `sign` is that of the term subtracted in each."""
    on_queries, on_keys = ((w if f_x is None else f_x.T @ w) for w in (x["W_e"], x["W_r"]))
    by_queries, by_keys = phi_q.T @ x["h_e"], phi_k.T @ x["h_r"]
    if f_x is not None:
        by_queries, by_keys = f_x @ by_queries, f_x @ by_keys
    return {
        "W_e": by_queries + sign * x["W_r"],
        "W_r": by_keys + sign * x["W_e"],
        "e": x["e"] * lam + sign * x["h_e"],
        "r": x["r"] * lam + sign * x["h_r"],
        "h_e": phi_q @ on_queries + sign * x["e"],
        "h_r": phi_k @ on_keys + sign * x["r"],
    }


def conditions(
    phi_q: torch.Tensor, phi_k: torch.Tensor, f_x: torch.Tensor | None, directions: int = 16, seed: int = 0
) -> Agreement:
    """Derivatives by automatic differentiation and by (14) agree to rounding; wrong lines do not.

    phi_q, phi_k (N, p), f_x (m, p) or None. Both routes form the same sums of products in some order: each is
    within gamma of the longest chain of additions times the sum of the sizes of the terms.
    """
    x = draw(phi_q, f_x, directions, seed)
    lam = torch.linspace(0.5, 2, directions, dtype=torch.float64).to(phi_q)
    leaves = {name: value.clone().requires_grad_(True) for name, value in x.items()}
    slopes = torch.autograd.grad(lagrangian(leaves, phi_q, phi_k, f_x, lam), list(leaves.values()))
    found = dict(zip(leaves, slopes, strict=True))
    plain = {name: value.abs() for name, value in x.items()}
    big_f = None if f_x is None else f_x.abs()
    sizes = derivatives(plain, phi_q.abs(), phi_k.abs(), big_f, lam, sign=1.0)
    chain = sum(phi_q.shape) + (0 if f_x is None else len(f_x)) + 8
    factor = 2 * gamma(chain, UNIT) * SAFETY * (1 + gamma(chain, UNIT))

    def judged(point: Point) -> list[Comparison]:
        pairs = zip(NAMES, (found[n] for n in NAMES), (point[n] for n in NAMES), strict=True)
        return [compare(f"dL/d{n}", value, claimed, factor * sizes[n]) for n, value, claimed in pairs]

    def worst(point: Point) -> Comparison:
        return max(judged(point), key=lambda c: c.ratio)

    weights = x | {"W_e": x["W_r"], "W_r": x["W_e"]}
    multipliers = x | {"h_e": x["h_r"], "h_r": x["h_e"]}
    others = {
        "weights exchanged": derivatives(weights, phi_q, phi_k, f_x, lam),
        "multipliers exchanged": derivatives(multipliers, phi_q, phi_k, f_x, lam),
        "queries and keys exchanged": derivatives(x, phi_k, phi_q, f_x, lam),
        "inverse Lambda": derivatives(x, phi_q, phi_k, f_x, 1 / lam),
        "terms added": derivatives(x, phi_q, phi_k, f_x, lam, sign=1.0),
        "second terms dropped": derivatives(x, phi_q, phi_k, f_x, lam, sign=0.0),
        "zero": {name: torch.zeros_like(value) for name, value in x.items()},
    }
    return Agreement(
        tuple(judged(derivatives(x, phi_q, phi_k, f_x, lam))),
        {name: worst(point) for name, point in others.items()},
    )
