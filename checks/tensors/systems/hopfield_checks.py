"""Tensor checks of the Hopfield energies that farooq2025 quotes or asks for: gradients against closed
forms, with bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from checks.tensors.core import bounds, stream
from checks.tensors.core.agreement import Agreement, same
from checks.tensors.core.arrays import resolve_device, resolve_dtype, slices, working_dtype
from checks.tensors.energy.checks import instead, kernel_attention
from checks.tensors.energy.descent import Head
from checks.tensors.energy.operators import AttentionMap, Sized, exactly
from checks.tensors.systems.hopfield import simplified_energy


def check_retrieval(head: Head) -> Agreement:
    """Minus the gradient of E = -(1/β) Σ_i log Σ_j exp(β q_i·k_j) is AK by the queries and AᵀQ by the keys, β
    the scale.

    Of the queries and keys of the maps. The closed forms are attention with keys as values (streamed, and
    torch's kernel) and a transpose product; the other side is automatic differentiation of log-sum-exp in
    float64 at some queries and keys.
    """
    own, at = head.maps, head.tokens
    maps = AttentionMap(own.q, own.k, own.k, own.scale, chunk=own.chunk)
    output, backend = kernel_attention(maps)
    ours, pulled = maps.attention_sized, maps.backward_sized(exactly(maps.q))
    by_query, by_key = _query_pull(maps, at), _key_pull(maps, at)
    query_at, key_at = (Sized(x.value[at].double(), x.error[at]) for x in (ours, pulled))
    comparisons = (
        same("the update of the queries", query_at, by_query),
        same("the same by torch's kernel", Sized(output.value[at], output.error[at]), by_query),
        same("the update of the keys", key_at, by_key),
    )
    exchanged = maps.backward(maps.k, at)
    wrong = {
        "queries: A for its transpose": (exchanged, query_at, by_query),
        "queries: queries for keys": (maps.forward(maps.q, at), query_at, by_query),
        "queries: the key itself": (maps.k[at], query_at, by_query),
        "queries: sign": (-query_at.value, query_at, by_query),
        "queries: β for 1/β": (query_at.value * maps.scale**2, query_at, by_query),
        "keys: A for its transpose": (maps.forward(maps.q, at), key_at, by_key),
        "keys: keys for queries": (exchanged, key_at, by_key),
        "keys: sign": (-key_at.value, key_at, by_key),
        "keys: doubled": (2 * key_at.value, key_at, by_key),
        "keys: no update": (torch.zeros_like(key_at.value), key_at, by_key),
    }
    return Agreement(comparisons, {name: instead(name, *x) for name, x in wrong.items()}, backend)


def _derived(maps: AttentionMap, value: torch.Tensor, magnitude: torch.Tensor, largest: float) -> Sized:
    """A sum of n weights exp(score - log-sum) in float64 with its error; the factors β and 1/β cost
    four roundings.
    """
    n, d = maps.q.shape
    how = bounds.streamed("float64", stream.Tile(n, n))
    error = bounds.transpose_bound(how, d, n, n, maps.sizes, magnitude, largest)
    return Sized(value, error + bounds.gamma(4, how.unit) * (value.abs() + error))


def _query_pull(maps: AttentionMap, at: torch.Tensor) -> Sized:
    """Minus the derivative of E by some queries, (m, d), by automatic differentiation."""
    k = maps.k.double()
    with torch.enable_grad():
        point = maps.q[at].double().requires_grad_(True)
        energy = -torch.logsumexp(maps.scale * point @ k.T, -1).sum() / maps.scale
        (slope,) = torch.autograd.grad(energy, point)
    return _derived(maps, -slope, maps.magnitude[at], float(k.abs().max()))


def _key_pull(maps: AttentionMap, at: torch.Tensor) -> Sized:
    """Minus the derivative of E by some keys, (m, d): all queries, in chunks of 512."""
    q, k = maps.q.double(), maps.k.double()
    rest = torch.ones(len(k), dtype=torch.bool, device=k.device)
    rest[at] = False
    point, slope = k[at].requires_grad_(True), torch.zeros_like(k[at])
    for part in slices(len(q), 512):
        with torch.enable_grad():
            scores = torch.cat([q[part] @ k[rest].T, q[part] @ point.T], -1) * maps.scale
            energy = -torch.logsumexp(scores, -1).sum() / maps.scale
            slope += torch.autograd.grad(energy, point)[0]
    magnitude = maps.backward(maps.q.abs(), at)
    return _derived(maps, -slope, magnitude * (1 + 2.0**-10), float(q.abs().max()))


@dataclass(frozen=True)
class State:
    """A state x (n,) of the simplified energy (3), and its β."""

    x: torch.Tensor
    beta: float = 0.8


def random_state(entries: int, dtype: str = "float64", device: str = "cpu", seed: int = 0) -> State:
    """A state of normal entries, rounded to the dtype that is worked in."""
    x = torch.randn(entries, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return State(x.to(device=resolve_device(device), dtype=working_dtype(resolve_dtype(dtype))))


def check_simplified(state: State) -> Agreement:
    """The corrected energy (3), ‖x‖²/2 - log Σ exp(βx_i): its gradient is x - β softmax(βx), zero at x_i =
    β/n.

    One side by automatic differentiation in the working dtype, the other from
    exponentials and their sum in float64. The mutants are the energy as printed and wrong right sides of (4).
    """
    x, beta, entries = state.x, state.beta, len(state.x)
    uniform = torch.full_like(x, beta / entries)

    def slope(at: torch.Tensor, form: str = "corrected") -> Sized:
        with torch.enable_grad():
            point = at.clone().requires_grad_(True)
            (found,) = torch.autograd.grad(simplified_energy(point, beta, form), point)
        how = bounds.streamed(x.dtype, stream.Tile(1, entries))
        return Sized(found.double(), _softmax_error(at, beta, how) + 4 * how.unit * at.double().abs())

    def formula(at: torch.Tensor, sharp: float = beta, factor: float = beta) -> Sized:
        odds = torch.exp(sharp * at.double())
        how = bounds.streamed("float64", stream.Tile(1, entries))
        return Sized(at.double() - factor * odds / odds.sum(), _softmax_error(at, beta, how))

    zero = torch.zeros(1, dtype=torch.float64, device=x.device)
    rounded = Sized(zero.expand(entries), 2 * torch.finfo(x.dtype).eps * uniform.double())  # of β/n
    comparisons = (
        same("gradient", slope(x), formula(x)),
        same("gradient at the uniform state", slope(uniform), rounded),
    )
    wrong = {
        "the energy as printed": (slope(x, "printed"), formula(x)),
        "printed, at the uniform state": (slope(uniform, "printed"), rounded),
        "factor β left out": (slope(x), formula(x, factor=1.0)),
        "β left out of the exponent": (slope(x), formula(x, sharp=1.0)),
        "the state alone": (slope(x), Sized(x.double(), zero)),
        "sign of the state": (slope(-x), formula(x)),
    }
    return Agreement(comparisons, {name: same(name, *pair) for name, pair in wrong.items()})


def _softmax_error(x: torch.Tensor, beta: float, how: bounds.Arithmetic) -> torch.Tensor:
    """Error of β softmax(βx) from a log-sum-exp or a quotient, (n,) in float64."""
    weights = beta * torch.softmax(beta * x.double(), 0)
    size = beta * x.double().abs().max().reshape(1)
    error = bounds.transpose_bound(how, 1, len(x), len(x), size, weights.unsqueeze(-1), beta)
    return error.squeeze(-1) + bounds.gamma(4, how.unit) * weights
