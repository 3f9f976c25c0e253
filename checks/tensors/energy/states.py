"""Tensor checks of farooq2025 beyond the gradient: alignments of a state, the loop of Section 7, the stable
range.

As in `checks.tensors.energy.checks`, each compares quantities that are computed in different ways within
proved errors, and gives for each wrong formula its error over bound.
"""

from __future__ import annotations

import torch

from checks.tensors.core import bounds
from checks.tensors.core.agreement import Agreement, Comparison, same
from checks.tensors.core.errors import TensorError
from checks.tensors.energy.checks import (
    alignment_sized,
    at_tokens,
    inner,
    instead,
    kernel_attention,
    minus,
    quadratic_step,
    stepped,
    summed,
    wrong_lifts,
    wrong_weights,
)
from checks.tensors.energy.descent import (
    Head,
    Potential,
    bregman,
    descend,
    largest_eigenvalue,
    potential,
    slope_sized,
)
from checks.tensors.energy.operators import AttentionMap, Sized, exactly


def check_lift(head: Head) -> Agreement:
    """u_j(Z) of (26) by a transpose product: equal to its definition at sampled tokens, and sum_j u_j =
    tr(ZᵀAV) (13).

    AV of the trace is that of torch's kernel.
    """
    maps, tokens, state = head.maps, head.tokens, head.state()
    u = head.lifted_sized()
    output, backend = kernel_attention(maps)
    truth = at_tokens(maps, tokens, Sized(state, torch.zeros_like(state, dtype=torch.float64)))
    at = Sized(u.value[tokens].double(), u.error[tokens])
    comparisons = (
        same("u against its definition", at, truth),
        same("sum of u = tr(ZᵀAV)", summed(u), inner(exactly(state), output)),
    )
    found = _wrong_lifts(maps, state, tokens, at.value)
    return Agreement(comparisons, {name: instead(name, x, at, truth) for name, x in found.items()}, backend)


def _wrong_lifts(
    maps: AttentionMap, z: torch.Tensor, tokens: torch.Tensor, u: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Wrong formulas for the alignments at some tokens (m,), where they are `u`."""
    one = z.new_ones(len(z), 1)
    own = (z * maps.v).sum(-1, keepdim=True)
    exchanged = AttentionMap(maps.k, maps.q, maps.v, maps.scale, chunk=maps.chunk)
    return {
        **wrong_lifts(maps, z, tokens, u),
        "A left out": own[tokens, 0],
        "state of the token itself": maps.backward(one, tokens)[:, 0] * own[tokens, 0],
        "value of the query": maps.backward(own, tokens)[:, 0],
        "queries and keys exchanged": exchanged.lift(z, tokens),
    }


def check_loop(head: Head, steps: int = 3) -> Agreement:
    """The loop (79) with the weights F'(c), started at AV as in (71): after `steps` steps it is torch's AV
    still.

    Steps are 1 / (max |F''(c)| times the bound of lambda that `check_stable_range` checks). The mutants
    take one step from AV with other weights (the printed 2c where F is not u²), or start elsewhere.
    """
    maps, F, rows = head.maps, head.F, head.tokens
    c = alignment_sized(maps)
    weights = slope_sized(F, c)
    bend = float(F.bend(c.value).abs().max())
    if not bend:
        raise TensorError(
            f"F = {F.name} has no second derivative but 0 at the alignments, which give the step"
        )
    step = 1 / (bend * column_bound(maps))
    state = maps.attention_sized
    for _ in range(steps):
        state = _stepped(maps, F, state, weights, step)
    output, backend = kernel_attention(maps)
    comparisons = (same("after all steps", state, output),)
    here, there = maps.attention, torch.zeros_like(maps.attention)
    wrong = {name: (here, w.value) for name, w in wrong_weights(F, c, weights).items()}
    wrong["started at zero"] = (there, weights.value)
    expected = Sized(output.value[rows], output.error[rows] + state.error[rows])
    mutants = {}
    for name, (z, w) in wrong.items():
        u = c.value if z is here else maps.lift(z)
        moved = z[rows] - step * maps.adjoint(F.slope(u) - w, rows)
        mutants[name] = same(name, exactly(moved), expected)
    return Agreement(comparisons, mutants, backend)


def column_bound(maps: AttentionMap) -> float:
    """max |v|² times the largest column sum of A, at least lambda_max(G): |A|² <= |A|_1 |A|_inf, whose
    rows sum to 1.
    """
    columns = maps.backward_sized(exactly(maps.attention.new_ones(len(maps), 1)))
    largest = float((columns.value.double() + columns.error).max())
    return largest * float(maps.v.double().square().sum(-1).max()) * bounds.SAFETY


def _stepped(maps: AttentionMap, F: Potential, state: Sized, weights: Sized, step: float) -> Sized:
    """One step (79) with errors: those of a state that is near AV, where the exact gradient is zero."""
    slope = maps.adjoint_sized(minus(slope_sized(F, maps.lift_sized(state)), weights))
    return stepped(maps, state, slope, step)


def check_self_adjoint(head: Head) -> Agreement:
    """⟨W, L*(L(Y))⟩ = ⟨Y, L*(L(W))⟩ = ⟨L(W), L(Y)⟩: a descent step on F = u² is its own adjoint (Table 1,
    step 9).

    Asks for float64. The mutants take a wrong map for one of the two: A for its transpose, a factor left out.
    """
    maps, (one, two) = head.maps, (exactly(head.state(s)) for s in (1, 2))
    lifted = tuple(maps.lift_sized(x) for x in (one, two))
    images = tuple(maps.adjoint_sized(x) for x in lifted)
    first, second = inner(one, images[1]), inner(two, images[0])
    comparisons = (
        same("both sides", first, second),
        same("as a product of alignments", first, inner(*lifted)),
    )
    u, x = lifted[1].value, maps.v
    wrong = {
        "A for its transpose": maps.backward(u.unsqueeze(-1) * x),
        "A left out": u.unsqueeze(-1) * x,
        "alignments of the other": images[0].value,
        "doubled": 2 * images[1].value,
        "sign flipped": -images[1].value,
        "zero": torch.zeros_like(images[1].value),
    }
    mutants = {name: same(name, inner(one, Sized(w, images[1].error)), second) for name, w in wrong.items()}
    return Agreement(comparisons, mutants)


def check_stable_range(head: Head, iterations: int = 6) -> Agreement:
    """Steps below 1/lambda lower the energy of F = u², and lambda <= max |v|² times the largest column sum of
    A.

    lambda = lambda_max(G) is enclosed by power iterations; descent starts beside AV in the direction they
    found. The mutants are steps beyond the range, from which the energy rises.
    """
    maps, F = head.maps, potential("quadratic")
    found = largest_eigenvalue(maps, max_steps=iterations)
    c = maps.alignment
    first = maps.attention + maps.adjoint(found.vector)
    slope = maps.adjoint(2 * (maps.lift(first) - c))
    factors = (1.5, 2.0, 4.0)
    steps = [0.0, 0.95 * found.stable(), *(factor * found.unstable() for factor in factors)]
    u = maps.lifts(torch.stack([first - step * slope for step in steps], 1))
    before, inside, *after = bregman(F, u, c.unsqueeze(-1)).double().sum(0).tolist()
    comparisons = (
        Comparison("lambda against the bound from column sums", found.lower, column_bound(maps)),
        Comparison("energy after a step inside the range", inside, before),
    )
    beyond = {
        f"a step of {factor} times the range": Comparison("", energy, before)
        for factor, energy in zip(factors, after, strict=True)
    }
    return Agreement(comparisons, beyond)


def check_descent(head: Head, steps: int = 4, iterations: int = 2) -> Agreement:
    """Descent from zero with the weights F'(c): E_R(Z_k) - E_R(AV) <= ‖AV‖² / (2 step k), for steps of 1 / (B
    lambda).

    That is the rate of gradient descent on a convex function whose gradient has the Lipschitz constant B
    lambda, F'' <= B, and whose minimiser next to the start is AV; lambda is the proved upper bound. The
    mutants descend with other weights, or upwards. Raises TensorError for an F without a bounded second
    derivative.
    """
    maps, F = head.maps, head.F
    if not F.curvature:
        raise TensorError(f"F = {F.name} has no bounded second derivative")
    step = 1 / (F.curvature * largest_eigenvalue(maps, max_steps=iterations).upper)
    c = maps.alignment
    limit = float(maps.attention.double().square().sum()) / (2 * step * steps)

    w, found = F.slope(c), "energy above that of AV"
    runs = {
        found: (w, step),
        "no weights": (0 * w, step),
        "twice the weights": (2 * w, step),
        "upwards": (w, -step),
    }
    weights = torch.stack([weight for weight, _ in runs.values()], 1)
    lengths = w.new_tensor([length for _, length in runs.values()])
    _, u = descend(maps, F, w.new_zeros(len(maps), len(runs), maps.v.shape[1]), weights, lengths, steps)
    excess = bregman(F, u, c.unsqueeze(-1)).double().sum(0).tolist()
    ends = {name: Comparison(name, size, limit) for name, size in zip(runs, excess, strict=True)}
    return Agreement((ends.pop(found),), ends)


def check_energy_change(head: Head, step: float = 1e-3) -> Agreement:
    """A step on F = u² changes the energy by -step ‖W‖² + step² ‖u(W)‖², W the gradient: the law behind
    1/lambda.

    Asks for float64. The left side lifts the new state, the right side only the gradient.
    """
    maps, unit = head.maps, head.maps.how.unit
    misfit, slope, after = quadratic_step(head, step)
    change = minus(inner(after, after), inner(misfit, misfit))
    length, image = inner(slope, slope), maps.lift_sized(slope)
    bend = inner(image, image)

    def law(one: float, two: float) -> Sized:
        value = one * step * length.value + two * step**2 * bend.value
        size = abs(one) * step * length.value.abs() + abs(two) * step**2 * bend.value.abs()
        error = abs(one) * step * length.error + abs(two) * step**2 * bend.error
        return Sized(value, error + 8 * unit * size)

    wrong = {
        "sign of the first term": law(1, 1),
        "first term doubled": law(-2, 1),
        "second term left out": law(-1, 0),
        "second term halved": law(-1, 0.5),
        "sign of the second term": law(-1, -1),
        "no change": law(0, 0),
    }
    comparisons = (same("change of the energy", change, law(-1, 1)),)
    return Agreement(comparisons, {name: same(name, change, x) for name, x in wrong.items()})
