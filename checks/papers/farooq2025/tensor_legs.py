"""Tensor legs of the claims of farooq2025: streamed products against torch's kernel, definitions and derivatives.

Each test is that of the statement that stands, at every length of the ladder; the wrong formulas that it rejects are part of
it. See `checks.tensors.energy.checks` and `energy_states` for what is compared and for the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import LADDER, ladder, skipped

if TYPE_CHECKING:
    from checks.tensors.core.agreement import TensorRecord
    from checks.tensors.core.inputs import Instance

WIDTH = 64
# values so small that F and its slope of alignments of about |v|² neither overflow nor saturate
SIZE = {"exponential": 1 / 16, "logcosh": 1 / 16, "quartic": 1 / 4}
# every F costs as much as the first: beyond this length the first alone is run
ALL_UP_TO = LADDER[1]

Check = Callable[["Instance"], "TensorRecord"]


def _climb(options: Options, what: str, check: Check, F: str = "quadratic") -> list[Evidence]:
    """A check at each length, on heads with values scaled for F."""
    from checks.tensors.core.inputs import make_instance

    found = []
    for n in ladder(options):
        head = make_instance(n, WIDTH, dtype=options.dtype, device=options.device, seed=options.seed)
        found.append(_evidence(what, check(head._replace(v=head.v * SIZE.get(F, 1.0)))))
    return found


def _evidence(what: str, found: TensorRecord) -> Evidence:
    failed = [c.name for c in found.comparisons if not c.passed]
    detail = f"{what}; {found.killed} wrong formulas rejected"
    detail += f"; outside the bound: {', '.join(failed)}" if failed else ""
    detail += f"; not rejected: {', '.join(found.survivors)}" if found.survivors else ""
    return found.evidence(detail)


def _each(
    options: Options, names: Iterable[str], leg: Callable[[str, Options], list[Evidence]]
) -> list[Evidence]:
    """A leg for several F: all of them at usual lengths, the first alone at long ones."""
    names = list(names)
    found = []
    for n in ladder(options):
        for F in names if n <= ALL_UP_TO else names[:1]:
            found += leg(F, replace(options, only=n))
    return found


# ---------------------------------------------------------------- attention, alignments


def attention(assumptions: Any, options: Options) -> list[Evidence]:
    """Rows of AV streamed, by torch's kernel and from the definition; wrong scales, axes and normalisers are rejected."""
    from checks.tensors.core.agreement import check_attention

    return _climb(options, "attention by two engines and full rows", lambda x: check_attention(*x))


def lift(assumptions: Any, options: Options) -> list[Evidence]:
    """u_j(Z) by a transpose product and from full columns, and Σ_j u_j = tr(ZᵀAV) with torch's AV."""
    from checks.tensors.energy.states import check_lift

    return _climb(
        options, "u of a random state, and its sum as a trace", lambda x: check_lift(*x, seed=options.seed)
    )


def alignment(assumptions: Any, options: Options) -> list[Evidence]:
    """c_j as row j of Aᵀ(AV) times v_j: the definition, u_j(AV), the sum ‖AV‖², half ⟨AV, gradient⟩ = Σ c_j²."""
    from checks.tensors.energy.checks import check_alignment

    return _climb(
        options,
        "c in two streamed products, no n x n array",
        lambda x: check_alignment(*x, seed=options.seed),
    )


# ---------------------------------------------------------------- gradients


def _gradient(F: str, options: Options, regulariser: str = "none") -> list[Evidence]:
    from checks.tensors.energy.checks import check_gradient

    what = {"none": "∇E", "printed": "∇E_R with weights 2c", "matching": "∇E_R with weights F'(c)"}[
        regulariser
    ]
    return _climb(
        options,
        f"{what}, F {F}: rows from the definition, slope along a direction",
        lambda x: check_gradient(*x, F, regulariser=regulariser, seed=options.seed),
        F,
    )


def gradient(assumptions: Any, options: Options) -> list[Evidence]:
    """A diag(F'(u)) V at a random state, for several F."""
    return _each(options, ("quadratic", "cubic", "exponential", "logcosh"), _gradient)


def gradient_quadratic(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of Σ u_j²."""
    return _gradient("quadratic", options)


def gradient_powers(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of Σ u_j^p for p = 3, 4."""
    return _each(options, ("cubic", "quartic"), _gradient)


def gradient_exponential(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of Σ exp(u_j)."""
    return _gradient("exponential", options)


def gradient_printed(assumptions: Any, options: Options) -> list[Evidence]:
    """A diag(F'(u) - 2c) V, the gradient of the regularised energy as printed, for several F."""
    return _each(
        options,
        ("quadratic", "linear", "cubic", "exponential"),
        lambda F, o: _gradient(F, o, "printed"),
    )


# ---------------------------------------------------------------- stationarity and descent


def _stationary(F: str, options: Options) -> list[Evidence]:
    from checks.tensors.energy.checks import check_stationary

    return _climb(
        options,
        f"the gradient at torch's AV vanishes, F {F}, weights F'(c)",
        lambda x: check_stationary(*x, F),
        F,
    )


def stationary(assumptions: Any, options: Options) -> list[Evidence]:
    """AV is stationary with the weights F'(c), and with no others, for several F."""
    return _each(options, ("cubic", "quadratic", "exponential", "logcosh", "linear"), _stationary)


def stationary_quadratic(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of Σ u_j² at AV is 2A diag(c) V."""
    return _stationary("quadratic", options)


def stationary_powers(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of Σ u_j^p at AV is pA diag(c)^(p-1) V for p = 3, 4."""
    return _each(options, ("cubic", "quartic"), _stationary)


def stationary_exponential(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of Σ exp(u_j) at AV is A diag(exp(c)) V."""
    return _stationary("exponential", options)


def _loop(F: str, options: Options) -> list[Evidence]:
    from checks.tensors.energy.states import check_loop

    return _climb(
        options,
        f"three steps from AV end at torch's AV, F {F}, weights F'(c)",
        lambda x: check_loop(*x, F, seed=options.seed),
        F,
    )


def loop(assumptions: Any, options: Options) -> list[Evidence]:
    """The loop started at AV with the weights F'(c) returns AV, for several F; other weights and starts leave it."""
    return _each(options, ("cubic", "quadratic", "exponential", "logcosh"), _loop)


def loop_quadratic(assumptions: Any, options: Options) -> list[Evidence]:
    """The quadratic loop started at AV returns AV."""
    return _loop("quadratic", options)


def descent_step(assumptions: Any, options: Options) -> list[Evidence]:
    """A step for F = u² multiplies u - c by I - 2ηG, and changes the energy by -η‖W‖² + η²‖u(W)‖²; in float64."""
    from checks.tensors.energy.checks import check_step
    from checks.tensors.energy.states import check_energy_change

    step = 1e-3
    law = "u - c after a step is (I - 2ηG)(u - c)"
    change = "the energy changes by -η‖W‖² + η²‖u(W)‖²"
    return [
        *_climb(options, law, lambda x: check_step(*x, step, seed=options.seed)),
        *_climb(options, change, lambda x: check_energy_change(*x, step, seed=options.seed)),
    ]


def stable_range(assumptions: Any, options: Options) -> list[Evidence]:
    """The energy falls for a step below 1/λ and rises beyond it, and λ is below its bound from column sums."""
    from checks.tensors.energy.states import check_stable_range

    return [
        replace(e, grade="measured")  # energies at two states, without a bound of their rounding
        for e in _climb(
            options, "the stable range of steps", lambda x: check_stable_range(*x, seed=options.seed)
        )
    ]


def descent(assumptions: Any, options: Options) -> list[Evidence]:
    """Four steps from zero: the energy above that of AV is below the rate of gradient descent, for u² and log cosh."""
    from checks.tensors.energy.states import check_descent

    def one(F: str, options: Options) -> list[Evidence]:
        what = f"four steps from zero, F {F}: energy above that of AV against ‖AV‖²/(8η)"
        return [
            replace(e, grade="measured")  # the rate holds in exact arithmetic; rounding has no bound here
            for e in _climb(options, what, lambda x: check_descent(*x, F), F)
        ]

    return _each(options, ("quadratic", "logcosh"), one)


def self_adjoint(assumptions: Any, options: Options) -> list[Evidence]:
    """The linear part of a step for F = u² is its own adjoint; in float64."""
    from checks.tensors.energy.states import check_self_adjoint

    return _climb(options, "the step is self-adjoint", lambda x: check_self_adjoint(*x, seed=options.seed))


def update_rule(assumptions: Any, options: Options) -> list[Evidence]:
    """Twenty steps Z + η(AV - Z), η = 0.3, with torch's AV, against AV + (1 - η)^k (Z_0 - AV)."""
    from checks.tensors.energy.checks import check_update_rule

    what = "the corrected rule against its closed form; the printed rule is among the rejected ones"
    return _climb(options, what, lambda x: check_update_rule(*x, seed=options.seed))


# ---------------------------------------------------------------- the quoted Hopfield energies


def simplified(assumptions: Any, options: Options) -> list[Evidence]:
    """The gradient of the corrected energy (3) is x - β softmax(βx), and vanishes at the uniform state."""
    from checks.tensors.systems.hopfield_checks import check_simplified

    what = "derivative of the corrected energy, β = 0.8; the printed energy is among the rejected ones"
    return [
        _evidence(what, check_simplified(n, dtype=options.dtype, device=options.device, seed=options.seed))
        for n in ladder(options, linear=True)
    ]


def retrieval(assumptions: Any, options: Options) -> list[Evidence]:
    """Minus the gradient of a log-sum-exp energy is attention by the queries, and AᵀQ by the keys."""
    from checks.tensors.systems.hopfield_checks import check_retrieval

    return _climb(
        options,
        "automatic differentiation of the energy against attention and the pull on the keys",
        lambda x: check_retrieval(x.q, x.k, seed=options.seed),
    )


# ---------------------------------------------------------------- memory


def largest_tensor(run: Callable[[], Any]) -> int:
    """Bytes of the largest tensor that a computation makes, with all of it in this thread."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

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
        with Watch() as watch:
            run()
    finally:
        torch.set_num_threads(threads)
    return watch.largest


def memory(assumptions: Any, options: Options) -> list[Evidence]:
    """The largest tensor on the way to c and to one gradient: a tile of scores or a few columns of n rows, never n x n."""
    from checks.tensors.core.inputs import make_instance
    from checks.tensors.core.stream import default_tile
    from checks.tensors.energy.descent import gradient as slope
    from checks.tensors.energy.descent import potential
    from checks.tensors.energy.operators import AttentionMap

    found = []
    for n in ladder(options):
        q, k, v = make_instance(n, WIDTH, dtype=options.dtype, device=options.device, seed=options.seed)
        tile = default_tile(q.device)
        # float64 for lengths of queries and errors; values with their absolute values and a column of ones
        bound = 8 * max(tile.rows * tile.cols, n * (2 * WIDTH + 1))
        dense = n * n * q.element_size()
        if bound >= dense:  # on a card, whose tiles are large
            found.append(skipped(n, options, "one tile of scores is as large as all of them at this length"))
            continue

        def step(q: Any = q, k: Any = k, v: Any = v) -> Any:
            own = AttentionMap(q, k, v)
            return slope(own, potential("quadratic"), own.v.to(own.attention))

        most = largest_tensor(step)
        detail = f"c and a gradient step: the largest tensor has {most:,} bytes; n x n scores have {dense:,}"
        record: dict[str, Any] = {
            "tokens": n,
            "dtype": options.dtype,
            "device": str(q.device),
            "backend": "streamed products",
        }
        found.append(Evidence("tensor", "measured", most <= bound, detail, most, bound, **record))
    return found
