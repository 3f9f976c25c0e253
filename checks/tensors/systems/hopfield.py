"""The heads of farooq2025, Hopfield retrieval and attention as a gradient, as torch modules, differentiable,
in memory O(n²).

For long sequences without gradients use `checks.tensors.energy.operators.AttentionMap`, which needs O(n d_v).
"""

from __future__ import annotations

import math

import torch
from torch import nn

from checks.tensors.core.arrays import DENSE_LIMIT
from checks.tensors.core.errors import TensorError
from checks.tensors.energy.descent import REGULARISERS, Potential, potential

ALIGNMENTS = ("first member", "second member")
STATES = ("attention", "zero")


def require_dense(x: torch.Tensor) -> None:
    """Raises TensorError for tokens x (..., n, d) too many to form A."""
    if x.shape[-2] > DENSE_LIMIT:
        raise TensorError(f"{x.shape[-2]} tokens: this module forms A; the limit is {DENSE_LIMIT}")


class NonlinearHead(nn.Module):
    """The non-linear attention head of Section 7: x (..., n, d) -> Z^(T) (..., n, d_v).

    Q, K, V = X W_q, X W_k, X W_v (69), A the row softmax (70), Z^(0) = AV (71) or 0, then T steps (79)
    Z <- Z - step A diag(F'(u) - w) V with u_j = sum_m A_mj z_m·v_j (72).
    - `regulariser` "printed": w = 2c as in (75) to (80); "matching" (the correction): w = F'(c), for which AV
      is stationary; "none".
    - `alignment` "first member" of (74), c_j = u_j(AV); "second member", v_jᵀ AᵀA v_j, is a product only
      where d_v = n, and a different number there.
    - (78) and (80) as printed multiply (n, n), (n,) and (d_v, n): no product unless d_v = 1; they are not
      offered. With "printed", F = u² and the first member, from Z^(0) = AV, the head returns ordinary
      attention whatever T is; with the second member it does not.
      Raises TensorError for unknown knobs, for "second member" where d_v != n, and beyond 8192 tokens.
    """

    def __init__(
        self,
        width: int,
        key_width: int,
        value_width: int,
        F: str | Potential = "quadratic",
        *,
        regulariser: str = "matching",
        alignment: str = "first member",
        initial_state: str = "attention",
        step: float = 0.01,
        steps: int = 4,
    ) -> None:
        super().__init__()
        for name, value, allowed in (
            ("regulariser", regulariser, REGULARISERS),
            ("alignment", alignment, ALIGNMENTS),
            ("initial state", initial_state, STATES),
        ):
            if value not in allowed:
                raise TensorError(f"unknown {name} {value!r}; allowed: {', '.join(allowed)}")
        self.query, self.key = (nn.Linear(width, key_width, bias=False) for _ in range(2))
        self.value = nn.Linear(width, value_width, bias=False)
        self.F, self.regulariser, self.alignment = potential(F), regulariser, alignment
        self.initial_state, self.step, self.steps = initial_state, step, steps

    def weights(self, x: torch.Tensor) -> torch.Tensor:
        """A, (..., n, n)."""
        require_dense(x)
        q, k = self.query(x), self.key(x)
        return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)

    @staticmethod
    def lift(A: torch.Tensor, v: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """u_j(Z), (..., n)."""
        return ((A.mT @ z) * v).sum(-1)

    def coefficients(self, A: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """w (..., n)."""
        if self.alignment == "second member":
            if v.shape[-1] != v.shape[-2]:
                raise TensorError(
                    f"v_jᵀ AᵀA v_j needs d_v = n; here d_v = {v.shape[-1]} and n = {v.shape[-2]}"
                )
            c = (A @ v.mT).square().sum(-2)
        else:
            c = self.lift(A, v, A @ v)
        if self.regulariser == "printed":
            return 2 * c
        return self.F.slope(c) if self.regulariser == "matching" else torch.zeros_like(c)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        A, v = self.weights(x), self.value(x)
        w = self.coefficients(A, v)
        z = A @ v if self.initial_state == "attention" else torch.zeros_like(v)
        for _ in range(self.steps):
            slope = self.F.slope(self.lift(A, v, z)) - w
            z = z - self.step * (A @ (slope.unsqueeze(-1) * v))
        return z

    def energy(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """E_R(Z) with this head's regulariser, (...,)."""
        A, v = self.weights(x), self.value(x)
        u = self.lift(A, v, z)
        return (self.F.value(u) - self.coefficients(A, v) * u).sum(-1)


class ModernHopfield(nn.Module):
    """Modern Hopfield retrieval: `steps` times x <- patternsᵀ softmax(beta patterns x).

    queries (..., M, d), patterns (..., N, d) -> (..., M, d). One step is attention with keys = values =
    patterns and scale beta: each is the gradient step of size 1 on `energy`, whose gradient is x minus
    attention.
    """

    def __init__(self, beta: float, steps: int = 1) -> None:
        super().__init__()
        if not 0 < beta < math.inf or steps < 1:
            raise TensorError(
                f"beta {beta} and {steps} steps: beta must be positive and finite, steps at least 1"
            )
        self.beta, self.steps = beta, steps

    def forward(self, queries: torch.Tensor, patterns: torch.Tensor) -> torch.Tensor:
        x = queries
        for _ in range(self.steps):
            x = torch.softmax(self.beta * x @ patterns.mT, -1) @ patterns
        return x

    def energy(self, x: torch.Tensor, patterns: torch.Tensor) -> torch.Tensor:
        """|x|²/2 - (1/beta) log sum_m exp(beta patterns_m·x), (..., M). It falls at every step."""
        return x.square().sum(-1) / 2 - torch.logsumexp(self.beta * x @ patterns.mT, -1) / self.beta


class EnergyAttention(nn.Module):
    """Attention that is minus the gradient of an energy by the tokens: x (..., n, d) -> the update (..., n,
    d).

    E(X) = -(1/beta) sum_i log sum_j exp(beta q_i·k_j) with Q = X W_q and K = X W_k (..., n, d_k), the first
    part of (5) for one head. Tokens enter as queries and as keys, so the update has two parts, A K W_qᵀ + Aᵀ
    Q W_kᵀ: attention with keys for values, and a pull on the keys by the queries that attend to them, which
    ordinary attention lacks. There is no free value matrix. beta None is 1/sqrt(d_k). Raises TensorError for
    beta that is not positive and finite and beyond 8192 tokens.
    """

    def __init__(self, width: int, key_width: int, beta: float | None = None) -> None:
        super().__init__()
        self.beta = 1 / math.sqrt(key_width) if beta is None else beta
        if not 0 < self.beta < math.inf:
            raise TensorError(f"beta is {beta}; a positive, finite number is needed")
        self.query, self.key = (nn.Linear(width, key_width, bias=False) for _ in range(2))

    def parts(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The update of the tokens as queries and as keys, both (..., n, d)."""
        require_dense(x)
        q, k = self.query(x), self.key(x)
        A = torch.softmax(self.beta * q @ k.mT, -1)
        return A @ k @ self.query.weight, A.mT @ q @ self.key.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        as_queries, as_keys = self.parts(x)
        return as_queries + as_keys

    def energy(self, x: torch.Tensor) -> torch.Tensor:
        """E(X), (...,)."""
        require_dense(x)
        scores = self.beta * self.query(x) @ self.key(x).mT
        return -torch.logsumexp(scores, -1).sum(-1) / self.beta


def simplified_energy(x: torch.Tensor, beta: float, form: str = "printed") -> torch.Tensor:
    """|x|²/2 + log sum_i exp(beta x_i), (3) of farooq2025, (..., n) -> (...,); "corrected" subtracts the
    logarithm.

    Only with the minus is x = beta softmax(beta x), its (4), where the gradient vanishes.
    Raises TensorError for another form.
    """
    if form not in ("printed", "corrected"):
        raise TensorError(f"unknown form {form!r}; allowed: printed, corrected")
    sign = 1 if form == "printed" else -1
    return x.square().sum(-1) / 2 + sign * torch.logsumexp(beta * x, -1)
