"""Tensor checks of farooq2025 on streamed attention: alignments, stationarity, gradient, one step, the update
rule.

Each compares quantities that are computed in different ways (torch's own kernel, full columns of weights,
automatic differentiation of F, closed forms) within proved errors, and gives for each wrong formula its error
over bound.
"""

from __future__ import annotations

import torch

from checks.tensors.core import bounds, fused, stream
from checks.tensors.core.agreement import Agreement, Comparison, compare, same
from checks.tensors.core.arrays import dtype_name, slices
from checks.tensors.core.errors import TensorError
from checks.tensors.energy.descent import Head, Potential, coefficients, slope_sized
from checks.tensors.energy.operators import AttentionMap, Sized, exactly


def instead(name: str, wrong: torch.Tensor, right: Sized, truth: Sized) -> Comparison:
    """Wrong numbers in place of the right ones, with what those are allowed."""
    return same(name, Sized(wrong.double(), right.error), truth)


def kernel_attention(maps: AttentionMap) -> tuple[Sized, str]:
    """AV (n, d_v) by torch's own kernel, with its error, and the backend."""
    return maps.once("kernel", lambda: _kernel_attention(maps))


def _kernel_attention(maps: AttentionMap) -> tuple[Sized, str]:
    kernel = fused.attention(maps.q, maps.k, maps.v, maps.scale)
    n, d = maps.q.shape
    how = bounds.fused(kernel.backend, maps.q.dtype, n, maps.q.device)
    error = bounds.attention_bound(how, d, n, maps.sizes, maps.magnitude, float(maps.v.abs().max()))
    return Sized(kernel.out.to(maps.attention.dtype), error), kernel.backend


def alignment_sized(maps: AttentionMap) -> Sized:
    """c = rowsum((Aᵀ(AV)) ∘ V), (n,), streamed, with its error."""
    return maps.once("alignment", lambda: maps.lift_sized(maps.attention_sized))


def kernel_alignment(maps: AttentionMap) -> Sized:
    """u(AV), (n,), of AV by torch's own kernel, with its error."""
    return maps.once("alignment of the kernel", lambda: maps.lift_sized(kernel_attention(maps)[0]))


def at_tokens(maps: AttentionMap, tokens: torch.Tensor, state: Sized) -> Sized:
    """u_j(Z) = sum_m A_mj z_m·v_j at some tokens, (m,), from full columns of weights in float64; c_j for Z =
    AV.

    `state` is Z (n, d_v). The weights need the log normalisers of all rows (streamed, float64).
    """
    q, k, v = maps.q.double(), maps.k.double(), maps.v.double()
    n, d = q.shape
    how = bounds.streamed("float64", stream.Tile(1024, 512))
    log_sum = stream.logsumexp_rows(q, k, maps.scale)
    picked = k[tokens]
    value, size, carried = (v.new_zeros(len(tokens), v.shape[-1]) for _ in range(3))
    for part in slices(n, 512):
        weights = torch.exp(picked @ q[part].T * maps.scale - log_sum[part])
        value += weights @ state.value[part].double()
        size += weights @ state.value[part].double().abs()
        carried += weights @ state.error[part]
    own = bounds.transpose_bound(how, d, n, n, maps.sizes, size + carried, 1.0)
    error = ((own + carried) * v[tokens].abs()).sum(-1)
    relative = bounds.gamma(v.shape[-1] + 2, bounds.unit_roundoff("float64"))
    total = (value * v[tokens]).sum(-1)
    return Sized(total, error + 2 * relative * ((size + carried) * v[tokens].abs()).sum(-1))


def check_alignment(head: Head) -> Agreement:
    """c_j of (38), (39), (74) in two products: equal to its definition, to u_j(AV), and sum_j c_j = |AV|².

    Half the inner product of AV and the gradient 2A diag(c) V of (41) is |c|². AV on the other side is
    that of torch's kernel.
    """
    maps, tokens = head.maps, head.tokens
    c = alignment_sized(maps)
    output, backend = kernel_attention(maps)
    truth = at_tokens(maps, tokens, output)
    at = Sized(c.value[tokens].double(), c.error[tokens])
    comparisons = (
        same("c against its definition", at, truth),
        same("u(AV) = c", kernel_alignment(maps), c),
        same("sum of c = |AV|²", summed(c), _square(output)),
        same("⟨AV, A diag(c) V⟩ = |c|²", inner(output, maps.adjoint_sized(c)), _square(c)),
    )
    found = _wrong_alignments(maps, tokens, at.value)
    return Agreement(comparisons, {name: instead(name, x, at, truth) for name, x in found.items()}, backend)


def _wrong_alignments(maps: AttentionMap, tokens: torch.Tensor, c: torch.Tensor) -> dict[str, torch.Tensor]:
    """Wrong formulas for c at some tokens (m,), where it is `c`; one pass over all queries, the rest at
    the tokens.
    """
    av, v = maps.attention, maps.v[tokens]
    exchanged = AttentionMap(maps.k, maps.q, maps.v, maps.scale, chunk=maps.chunk)
    return {
        **wrong_lifts(maps, av, tokens, c),
        "one factor A left out": (av[tokens] * v).sum(-1),
        "transpose without A": maps.lift(maps.v, tokens),
        "queries and keys exchanged": exchanged.lift(exchanged.attention, tokens),
        "norm of the output": av[tokens].square().sum(-1),
        "norm of the value": v.square().sum(-1),
    }


def wrong_lifts(
    maps: AttentionMap, z: torch.Tensor, tokens: torch.Tensor, u: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Wrong formulas for the alignments u of any state at some tokens (m,), where they are `u`."""
    v = maps.v[tokens]
    return {
        "A for its transpose": (maps.forward(z, tokens) * v).sum(-1),
        "sign flipped": -u,
        "doubled": 2 * u,
        "zero": torch.zeros_like(u),
        "shifted by one token": maps.lift(z, (tokens + 1) % len(maps)),
        "one component left out": u - (maps.backward(z[:, :1], tokens) * v[:, :1]).sum(-1),
    }


def summed(x: Sized) -> Sized:
    """The sum of all entries, (1,)."""
    value = x.value.double()
    relative = bounds.gamma(len(value), bounds.unit_roundoff("float64"))
    return Sized(value.sum().reshape(1), (x.error + relative * value.abs()).sum().reshape(1) * (1 + 2.0**-20))


def _square(x: Sized) -> Sized:
    value = x.value.double()
    relative = bounds.gamma(value.numel() + 1, bounds.unit_roundoff("float64"))
    error = (2 * value.abs() * x.error + x.error.square() + relative * value.square()).sum()
    return Sized(value.square().sum().reshape(1), error.reshape(1) * (1 + 2.0**-20))


def check_stationary(head: Head) -> Agreement:
    """grad E_R vanishes at torch's AV with the matching regulariser F'(c), and with no wrong one.

    The mutants are the other regularisers: none, the printed 2c (except for F = u², where it is the matching
    one), c, twice and minus the matching one. c is streamed; u is that of the kernel's AV.
    """
    maps, F = head.maps, head.F
    _, backend = kernel_attention(maps)
    u, c = kernel_alignment(maps), alignment_sized(maps)
    slope, matching = slope_sized(F, u), slope_sized(F, c)

    def judged(name: str, w: Sized, rows: torch.Tensor | None = None) -> Comparison:
        value = slope.value - w.value
        error = (
            slope.error + w.error + 2 * maps.how.unit * (slope.value.double().abs() + w.value.double().abs())
        )
        found = maps.adjoint_sized(Sized(value, error), rows)
        return same(name, found, exactly(torch.zeros_like(found.value)))

    wrong = wrong_weights(F, c, matching)
    if F.name != "u^1":  # F' = 1 everywhere: another token's weight is no mutant
        wrong["that of another token"] = Sized(matching.value.roll(1), matching.error.roll(1))
    comparisons = (judged("gradient at AV", matching),)
    return Agreement(comparisons, {name: judged(name, w, head.tokens) for name, w in wrong.items()}, backend)


def wrong_weights(F: Potential, c: Sized, matching: Sized) -> dict[str, Sized]:
    """Weights of other regularisers than the matching one: the printed 2c is that for F = u² alone."""
    printed = {} if F.name == "u^2" else {"2c as printed in (75)": Sized(2 * c.value, 2 * c.error)}
    return {
        "no weights": exactly(0 * c.value),
        "c for F'(c)": c,
        "twice the weights": Sized(2 * matching.value, 2 * matching.error),
        "their sign flipped": Sized(-matching.value, matching.error),
        **printed,
    }


def _automatic_slope(F: Potential, u: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """F'(u) - w by automatic differentiation of F(u) - w u."""
    with torch.enable_grad():
        point = u.detach().clone().requires_grad_(True)
        (found,) = torch.autograd.grad((F.value(point) - w * point).sum(), point)
    return found


def check_gradient(head: Head, regulariser: str = "none") -> Agreement:
    """grad E_R(Z) = A diag(F'(u) - w) V, (31) to (35) and (77) to (80): rows from full softmax rows, and
    along a direction D.

    Along D the derivative is sum_j (F'(u_j) - w_j) L(D)_j with F' by automatic differentiation and L(D) by
    the transpose product: it shares neither F' nor the product with the gradient. `regulariser` gives w:
    "none", "printed" (2c) or "matching" (F'(c)); see `check_alignment` for c.
    """
    maps, F, rows = head.maps, head.F, head.tokens
    u, w = head.lifted(), coefficients(maps, F, regulariser)  # both sides take these as given
    eps = torch.finfo(u.dtype).eps
    rounding = F.roundings * eps * F.slope(u).double().abs() + eps * w.double().abs()
    slope = Sized(F.slope(u) - w, rounding)
    found = maps.adjoint_sized(slope)
    automatic = Sized(_automatic_slope(F, u, w), slope.error + F.roundings * eps * F.cancelled)
    truth = _rows_of_adjoint(maps, rows, automatic)
    direction, image = exactly(head.state(1)), head.lifted_sized(1)
    comparisons = (
        same("rows of the gradient", Sized(found.value[rows].double(), found.error[rows]), truth),
        same("derivative along a direction", inner(found, direction), inner(automatic, image)),
        same("F' against automatic differentiation", slope, automatic),
    )
    weighted = slope.value.unsqueeze(-1) * maps.v
    wrong = {
        "F for its derivative": maps.adjoint(F.value(u) - w, rows),
        "u for F'(u)": maps.adjoint(u - w, rows),
        "transpose of A": maps.backward(weighted, rows),
        "slope at the query": (slope.value.unsqueeze(-1) * maps.attention)[rows],
        "F' of another token": maps.adjoint(slope.value.roll(1), rows),
        "without A": weighted[rows],
        "sign flipped": -found.value[rows],
        "doubled": 2 * found.value[rows],
        "zero": torch.zeros_like(found.value[rows]),
        "queries and keys exchanged": stream.attention(maps.k, maps.q, weighted, maps.scale, rows=rows),
    }
    if regulariser != "none":
        wrong["regulariser left out"] = maps.adjoint(F.slope(u), rows)
        wrong["half the regulariser"] = maps.adjoint(F.slope(u) - w / 2, rows)
        wrong["sign of the regulariser"] = maps.adjoint(F.slope(u) + w, rows)
    if F.value is F.slope:  # the exponential is its own derivative
        del wrong["F for its derivative"]
    if F.name == "u^1" and regulariser != "printed":
        for name in ("F' of another token", "slope at the query"):
            del wrong[name]
    here = Sized(found.value[rows], found.error[rows])
    return Agreement(comparisons, {name: instead(name, x, here, truth) for name, x in wrong.items()})


def _rows_of_adjoint(maps: AttentionMap, rows: torch.Tensor, w: Sized) -> Sized:
    """Rows of A diag(w) V from full rows of scores in float64, sums in blocks of 512 keys."""
    q, k, v = maps.q.double(), maps.k.double(), maps.v.double()
    weighted, carried = w.value.double().unsqueeze(-1) * v, w.error.double().unsqueeze(-1) * v.abs()
    scores = q[rows] @ k.T * maps.scale
    odds = torch.exp(scores - scores.amax(-1, keepdim=True))
    block = torch.cat([weighted, weighted.abs(), carried, v.new_ones(len(v), 1)], -1)
    sums = torch.stack([odds[:, part] @ block[part] for part in slices(len(k), 512)]).sum(0)
    value, size, brought = (sums[:, :-1] / sums[:, -1:]).chunk(3, -1)
    how = bounds.streamed("float64", stream.Tile(len(rows), 512))
    n, d = k.shape
    largest = float(weighted.abs().max())
    growth = torch.exp(bounds.log_error(how, d, n, maps.sizes[rows])).unsqueeze(-1)
    own = bounds.attention_bound(how, d, n, maps.sizes[rows], (size + brought) * growth, largest)
    return Sized(value, own + brought * growth)


def inner(x: Sized, y: Sized) -> Sized:
    """The sum of products of all entries, (1,)."""
    a, b = x.value.double(), y.value.double()
    da, db = x.error.double().expand(a.shape), y.error.double().expand(b.shape)
    relative = bounds.gamma(a.numel() + 1, bounds.unit_roundoff("float64"))
    error = (da * b.abs() + (a.abs() + da) * db + relative * (a * b).abs()).sum()
    return Sized((a * b).sum().reshape(1), error.reshape(1) * (1 + 2.0**-10))


def quadratic_step(head: Head, step: float) -> tuple[Sized, Sized, Sized]:
    """u - c at a random state, the gradient of F = u² there, and u - c after a step along it."""
    maps, c = head.maps, alignment_sized(head.maps)
    state = exactly(head.state())
    misfit = minus(head.lifted_sized(), c)
    slope = maps.adjoint_sized(Sized(2 * misfit.value, 2 * misfit.error))
    return misfit, slope, minus(maps.lift_sized(stepped(maps, state, slope, step)), c)


def stepped(maps: AttentionMap, state: Sized, slope: Sized, step: float) -> Sized:
    """A state less a multiple of a gradient."""
    size = state.value.double().abs() + 2 * step * slope.value.double().abs()
    error = state.error + step * slope.error + 2 * maps.how.unit * size
    return Sized(state.value - step * slope.value, error)


def check_step(head: Head, step: float = 1e-3) -> Agreement:
    """One step (79) for F = u²: L(Z') - c = (I - 2 step G)(L(Z) - c), which the stable range follows from.

    Z' is made with the gradient and then lifted; the right side never forms Z'. The mutants: the wrong
    factor or sign of the step, G without one of its parts, the printed 2c left out. Raises TensorError
    for a step that is not positive and a head that is not in float64.
    """
    if not step > 0:
        raise TensorError(f"step is {step}; a positive number is needed")
    if head.q.dtype != torch.float64:
        raise TensorError(f"the head is in {dtype_name(head.q.dtype)}; float64 is needed, see in_float64")
    maps, unit = head.maps, bounds.unit_roundoff("float64")
    misfit, _, left = quadratic_step(head, step)
    bent = maps.lift_sized(maps.adjoint_sized(misfit))

    def law(factor: float, image: torch.Tensor | None = None) -> Sized:
        value = bent.value if image is None else image
        total = misfit.value - factor * step * value
        error = (
            misfit.error
            + abs(factor) * step * bent.error
            + 4 * unit * (misfit.value.abs() + step * value.abs() * 2)
        )
        return Sized(total, error)

    right = law(2)
    wrong = {
        "zero": Sized(torch.zeros_like(right.value), right.error),
        "step doubled": law(4),
        "factor 2 left out": law(1),
        "sign of the step": law(-2),
        "no step": law(0),
        "G without the values": law(2, maps.backward(maps.forward(misfit.value.unsqueeze(-1))).squeeze(-1)),
        "G without AᵀA": law(2, (maps.v @ (maps.v.T @ misfit.value.unsqueeze(-1))).squeeze(-1)),
        "A for its transpose": law(2, (maps.forward(maps.adjoint(misfit.value)) * maps.v).sum(-1)),
    }
    comparisons = (same("one step", left, right),)
    return Agreement(comparisons, {name: same(name, left, x) for name, x in wrong.items()})


def minus(x: Sized, y: Sized) -> Sized:
    """x - y, with the rounding of the subtraction."""
    value = x.value - y.value
    return Sized(value, x.error + y.error + torch.finfo(value.dtype).eps * value.double().abs())


def check_update_rule(head: Head, step: float = 0.3, steps: int = 20) -> Agreement:
    """The corrected update after (22), Z + step (AV - Z): run with torch's AV, against AV + (1 - step)^k (Z_0
    - AV).

    The mutants are the rule as printed, Z + step AV, its closed form Z_0 + k step AV and other slips.
    Raises TensorError unless 0 < step < 2, where it converges.
    """
    if not 0 < step < 2 or steps < 1:
        raise TensorError(f"step {step} and {steps} steps: 0 < step < 2 and at least one step are needed")
    output, backend = kernel_attention(head.maps)
    reference, first = head.maps.attention_sized, head.state().double()
    target, other = output.value.double(), reference.value.double()

    def run(pull: float, sign: float = 1.0) -> torch.Tensor:
        state = first
        for _ in range(steps):
            state = state + step * (sign * target - pull * state)
        return state

    share = (1 - step) ** steps
    closed = other + share * (first - other)
    rounding = 4 * steps * bounds.unit_roundoff("float64") * 3 * (first.abs() + target.abs())
    allowed = abs(1 - share) * (output.error + reference.error) + rounding
    wrong = {
        "as printed, without -step Z": run(0.0),
        "closed form of the printed rule": first + steps * step * other,
        "sign of AV": run(1.0, -1.0),
        "twice the pull": run(2.0) if step < 1 else run(0.5),
        "no step": first,
        "zero": torch.zeros_like(first),
    }
    comparisons = (compare("after all steps", run(1.0), closed, allowed),)
    mutants = {name: compare(name, x, closed, allowed) for name, x in wrong.items()}
    return Agreement(comparisons, mutants, backend)
