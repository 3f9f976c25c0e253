"""Tensor legs of the claims of farooq2025: streamed products against torch's kernel, definitions and
derivatives.

Each test is that of the statement that stands, at every length; the wrong formulas that it rejects are part
of it. See `checks.tensors.energy.checks` and `states` for what is compared and for the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import LADDER, Climbing, climbing, skipped
from checks.tensors.core.agreement import TensorRecord, check_attention
from checks.tensors.core.inputs import make_instance
from checks.tensors.core.stream import default_tile
from checks.tensors.energy import checks, states
from checks.tensors.energy.descent import gradient as slope
from checks.tensors.energy.descent import potential
from checks.tensors.energy.operators import AttentionMap
from checks.tensors.systems.hopfield_checks import check_retrieval, check_simplified

WIDTH = 64
# values so small that F and its slope of alignments of about |v|² neither overflow nor saturate
SIZE = {"exponential": 1 / 16, "logcosh": 1 / 16, "quartic": 1 / 4}
# every F costs as much as the first: beyond this length the first alone is run
ALL_UP_TO = LADDER[1]


def on_heads(
    what: str, check: Callable[..., TensorRecord], *functions: str, grade: str = "certified-float"
) -> Climbing:
    """A leg from a check of a head's maps, with its F where there are any, and a seed: on heads with values
    scaled for F, for each F at usual lengths, for the first alone at long ones. ``what`` may name {F}.
    """

    def at(n: int, assumptions: Any, options: Options) -> list[Evidence]:
        found = []
        for F in functions[: None if n <= ALL_UP_TO else 1] or ("",):
            q, k, v = make_instance(n, WIDTH, dtype=options.dtype, device=options.device, seed=options.seed)
            maps = AttentionMap(q, k, v * SIZE.get(F, 1.0))
            record = check(maps, *([F] if F else []), seed=options.seed)
            found.append(replace(_evidence(what.format(F=F), record), grade=grade))
        return found

    return Climbing(at)


def _evidence(what: str, found: TensorRecord) -> Evidence:
    failed = [c.name for c in found.comparisons if not c.passed]
    return found.evidence(f"{what}; outside the bound: {', '.join(failed)}" if failed else what)


# ---------------------------------------------------------------- attention, alignments

# rows of AV streamed, by torch's kernel and from the definition; wrong scales, axes and normalisers are
# rejected
attention = on_heads(
    "attention by two engines and full rows",
    lambda maps, seed: check_attention(maps.q, maps.k, maps.v, seed=seed),
)
# u_j(Z) by a transpose product and from full columns, and Σ_j u_j = tr(ZᵀAV) with torch's AV
lift = on_heads("u of a random state, and its sum as a trace", states.check_lift)
# c_j as row j of Aᵀ(AV) times v_j: the definition, u_j(AV), the sum ‖AV‖², half ⟨AV, gradient⟩ = Σ c_j²
alignment = on_heads("c in two streamed products, no n x n array", checks.check_alignment)

# ---------------------------------------------------------------- gradients


def _gradient(*functions: str, regulariser: str = "none") -> Climbing:
    name = {"none": "∇E", "printed": "∇E_R with weights 2c", "matching": "∇E_R with weights F'(c)"}[
        regulariser
    ]
    return on_heads(
        f"{name}, F {{F}}: rows from the definition, slope along a direction",
        partial(checks.check_gradient, regulariser=regulariser),
        *functions,
    )


# A diag(F'(u)) V at a random state; that of the regularised energy as printed is A diag(F'(u) - 2c) V
gradient = _gradient("quadratic", "cubic", "exponential", "logcosh")
gradient_quadratic = _gradient("quadratic")
gradient_powers = _gradient("cubic", "quartic")
gradient_exponential = _gradient("exponential")
gradient_printed = _gradient("quadratic", "linear", "cubic", "exponential", regulariser="printed")

# ---------------------------------------------------------------- stationarity and descent


def _stationary(*functions: str) -> Climbing:
    """AV is stationary with the weights F'(c), and with no others."""
    return on_heads("∇E - A diag(F'(c)) V at torch's AV is 0, F {F}", checks.check_stationary, *functions)


stationary = _stationary("cubic", "quadratic", "exponential", "logcosh", "linear")
stationary_quadratic = _stationary("quadratic")
stationary_powers = _stationary("cubic", "quartic")
stationary_exponential = _stationary("exponential")


def _loop(*functions: str) -> Climbing:
    """The loop started at AV with the weights F'(c) returns AV; other weights and starts leave it."""
    return on_heads(
        "three steps from AV end at torch's AV, F {F}, weights F'(c)", states.check_loop, *functions
    )


loop = _loop("cubic", "quadratic", "exponential", "logcosh")
loop_quadratic = _loop("quadratic")

# a step for F = u² multiplies u - c by I - 2ηG, and changes the energy by -η‖W‖² + η²‖u(W)‖²; in float64
step_law = on_heads("u - c after a step is (I - 2ηG)(u - c)", checks.check_step)
energy_change = on_heads("the energy changes by -η‖W‖² + η²‖u(W)‖²", states.check_energy_change)


@climbing()
def descent_step(n: int, assumptions: Any, options: Options) -> list[Evidence]:
    """The law of a step, and the change of the energy."""
    return [*step_law.at(n, assumptions, options), *energy_change.at(n, assumptions, options)]


# The energy falls for a step below 1/λ and rises beyond it, and λ is below its bound from column sums:
# energies at two
# states, without a bound of their rounding.
stable_range = on_heads(
    "the stable range of steps", lambda maps, **_: states.check_stable_range(maps), grade="measured"
)
# The energy above that of AV is below the rate of gradient descent: a rate of exact arithmetic, rounding has
# no bound here.
descent = on_heads(
    "four steps from zero, F {F}: energy above that of AV against ‖AV‖²/(8η)",
    lambda maps, F, **_: states.check_descent(maps, F),
    "quadratic",
    "logcosh",
    grade="measured",
)
# the linear part of a step for F = u² is its own adjoint; in float64
self_adjoint = on_heads("the step is self-adjoint", states.check_self_adjoint)
# twenty steps Z + η(AV - Z), η = 0.3, with torch's AV, against AV + (1 - η)^k (Z_0 - AV)
update_rule = on_heads(
    "steps Z + η(AV - Z) against their closed form; steps Z + η AV are among the rejected versions",
    checks.check_update_rule,
)

# ---------------------------------------------------------------- the quoted Hopfield energies


@climbing(linear=True)
def simplified(n: int, assumptions: Any, options: Options) -> Evidence:
    """The gradient of the corrected energy (3) is x - β softmax(βx), and vanishes at the uniform state."""
    what = "derivative of the corrected energy, β = 0.8; the printed energy is among the rejected ones"
    record = check_simplified(n, dtype=options.dtype, device=options.device, seed=options.seed)
    return _evidence(what, record)


# minus the gradient of a log-sum-exp energy is attention by the queries, and AᵀQ by the keys
retrieval = on_heads(
    "automatic differentiation of the energy against attention and the pull on the keys", check_retrieval
)


# ---------------------------------------------------------------- memory


def largest_tensor(run: Callable[[], Any]) -> int:
    """Bytes of the largest tensor that a computation makes, with all of it in this thread."""

    class Watch(TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            for tensor in tree_leaves(result):
                if isinstance(tensor, torch.Tensor):
                    self.largest = max(self.largest, tensor.untyped_storage().nbytes())
            return result

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with Watch() as watch:  # type: ignore[no-untyped-call]
            run()
    finally:
        torch.set_num_threads(threads)
    return watch.largest


@climbing()
def memory(n: int, assumptions: Any, options: Options) -> Evidence:
    """The largest tensor on the way to c and to one gradient: a tile of scores or a few columns of n
    rows, never n x n.
    """
    q, k, v = make_instance(n, WIDTH, dtype=options.dtype, device=options.device, seed=options.seed)
    tile = default_tile(q.device)
    # float64 for lengths of queries and errors; values with their absolute values and a column of ones
    bound = 8 * max(tile.rows * tile.cols, n * (2 * WIDTH + 1))
    dense = n * n * q.element_size()
    if bound >= dense:  # on a card, whose tiles are large
        return skipped(n, options, "one tile of scores is as large as all of them at this length")

    def step() -> Any:
        own = AttentionMap(q, k, v)
        return slope(own, potential("quadratic"), own.v.to(own.attention))

    most = largest_tensor(step)
    return Evidence(
        "tensor",
        "measured",
        most <= bound,
        f"c and a gradient step: the largest tensor has {most:,} bytes; n x n scores have {dense:,}",
        error=most,
        bound=bound,
        tokens=n,
        dtype=options.dtype,
        device=str(q.device),
        backend="streamed products",
    )
