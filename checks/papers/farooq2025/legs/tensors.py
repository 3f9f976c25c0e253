"""Tensor legs of the claims of farooq2025: streamed products against torch's kernel, definitions and
derivatives.

Each test is that of the statement that stands, at every length; the wrong formulas that it rejects are part
of it. See `checks.tensors.energy.checks` and `states` for what is compared and for the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import LADDER, Climbing, climbing, skipped
from checks.tensors.core.agreement import Agreement, check_attention
from checks.tensors.core.inputs import make_instance
from checks.tensors.core.stream import default_tile
from checks.tensors.energy import checks, states
from checks.tensors.energy.descent import POTENTIALS, Head, potential
from checks.tensors.energy.descent import gradient as slope
from checks.tensors.energy.operators import AttentionMap
from checks.tensors.systems.hopfield_checks import check_retrieval, check_simplified, random_state
from checks.tensors.systems.row import Case, Row, compared

# values so small that F and its slope of alignments of about |v|² neither overflow nor saturate
SIZE = {"exponential": 1 / 16, "logcosh": 1 / 16, "quartic": 1 / 4}
# every F costs as much as the first: beyond this length the first alone is run
ALL_UP_TO = LADDER[1]


def head(case: Case, F: str = "quadratic") -> Head:
    """A head with values scaled for F."""
    o = case.options
    return Head(_maps(case.n, o.dtype, o.device, o.seed, SIZE.get(F, 1.0)), potential(F), o.seed)


@lru_cache(maxsize=4)
def _maps(n: int, dtype: str, device: str, seed: int, size: float) -> AttentionMap:
    """The maps of an instance: claims and energies share what is computed of them."""
    q, k, v = make_instance(n, dtype=dtype, device=device, seed=seed)
    return AttentionMap(q, k, v * size)


# ---------------------------------------------------------------- attention, alignments, linear map


def engines(h: Head) -> Agreement:
    """Rows of AV streamed, by torch's kernel and from the definition."""
    return check_attention(h.maps.q, h.maps.k, h.maps.v, seed=h.seed)


ATTENTION = Row(
    head,
    {
        "engines": ("attention by two engines and full rows", engines),
        "lift": ("u_j = Σ_m A_mj z_mᵀv_j of a random state, and their sum as a trace", states.check_lift),
        "alignment": ("c in two streamed products, no n x n array", checks.check_alignment),
        "retrieval": (
            "the gradients of the log-sum-exp alone, by queries and by keys, by automatic differentiation",
            check_retrieval,
        ),
        "update rule": (
            "steps Z + η(AV - Z) against their closed form; steps Z + η AV are among the rejected versions",
            checks.check_update_rule,
        ),
    },
)
attention, lift, alignment, retrieval, update_rule = (ATTENTION.leg(name) for name in ATTENTION.columns)

# ---------------------------------------------------------------- energies, each with its F


def _energy(F: str) -> Row[Head]:
    form = f"F {F}: rows from the definition, slope along a direction"
    printed = partial(checks.check_gradient, regulariser="printed")
    at_attention = f"∇E - A diag(F'(c)) V at torch's AV is 0, F {F}"
    return Row(
        partial(head, F=F),
        {
            "gradient": (f"∇E, {form}", checks.check_gradient),
            "printed": (f"∇E_R with weights 2c, {form}", printed),
            "stationary": (at_attention, checks.check_stationary),
            "loop": (f"three steps from AV end at torch's AV, F {F}, weights F'(c)", states.check_loop),
        },
        backend=STREAMED,
    )


STREAMED = "streamed products"
ENERGIES = {F: _energy(F) for F in POTENTIALS}


def of_energies(column: str, *functions: str) -> Climbing:
    """A comparison for each F at usual lengths, for the first alone at long ones."""
    return compared([ENERGIES[F] for F in functions], column, all_up_to=ALL_UP_TO)


gradient = of_energies("gradient", "quadratic", "cubic", "exponential", "logcosh")
gradient_quadratic = of_energies("gradient", "quadratic")
gradient_powers = of_energies("gradient", "cubic", "quartic")
gradient_exponential = of_energies("gradient", "exponential")
gradient_printed = of_energies("printed", "quadratic", "linear", "cubic", "exponential")
stationary = of_energies("stationary", "cubic", "quadratic", "exponential", "logcosh", "linear")
stationary_quadratic = of_energies("stationary", "quadratic")
stationary_powers = of_energies("stationary", "cubic", "quartic")
stationary_exponential = of_energies("stationary", "exponential")
loop = of_energies("loop", "cubic", "quadratic", "exponential", "logcosh")
loop_quadratic = of_energies("loop", "quadratic")

# ---------------------------------------------------------------- descent

STEP = Row(
    lambda case: head(case).in_float64(),
    {
        "law": ("u - c after a step is (I - 2ηG)(u - c), G = (AᵀA) ∘ (VVᵀ)", checks.check_step),
        "energy": (
            "a step changes the energy by -η‖W‖² + η²‖u(W)‖², W the gradient",
            states.check_energy_change,
        ),
        "adjoint": ("the step is self-adjoint", states.check_self_adjoint),
    },
    backend=STREAMED,
)
descent_step, self_adjoint = STEP.leg("law", "energy"), STEP.leg("adjoint")


def _descent(F: str) -> Row[Head]:
    """Energies along a descent: rates of exact arithmetic, whose rounding has no bound here."""
    rate = f"four steps from zero, F {F}: energy above that of AV against ‖AV‖²/(8η)"
    checked = {"range": ("the stable range of steps", states.check_stable_range)}
    return replace(ENERGIES[F], checked={**checked, "rate": (rate, states.check_descent)}, grade="measured")


DESCENTS = [_descent(F) for F in ("quadratic", "logcosh")]
stable_range, descent = DESCENTS[0].leg("range"), compared(DESCENTS, "rate", all_up_to=ALL_UP_TO)

# ---------------------------------------------------------------- the quoted Hopfield energy

derivative = "derivative of the corrected energy, β = 0.8; the printed energy is among the rejected ones"
SIMPLIFIED = Row(
    lambda case: random_state(case.n, case.options.dtype, case.options.device, case.options.seed),
    {"derivative": (derivative, check_simplified)},
    on="x",
    backend="autograd",
)
simplified = SIMPLIFIED.leg("derivative", linear=True)


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
    q, k, v = Case(n, assumptions, options).instance()
    tile = default_tile(q.device)
    # float64 for lengths of queries and errors; values with their absolute values and a column of ones
    bound = 8 * max(tile.rows * tile.cols, n * (2 * v.shape[1] + 1))
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
        f"c and a gradient: the largest tensor has {most:,} bytes; n x n scores have {dense:,}",
        error=most,
        bound=bound,
        tokens=n,
        dtype=options.dtype,
        device=str(q.device),
        backend="streamed products",
    )
