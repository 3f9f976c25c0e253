"""Layers of attention against gradient descent in W and b with explicit features: equal to rounding, layer by
layer.

The descent shares nothing with the layers: features from `descent_features`, gradients of the loss by
automatic differentiation, sums in blocks of examples. How far rounding can take the two apart is bounded as
follows.

Let r be the residuals at a step, R >= max |r| over positions and steps so far, s >= Σ_m |φ_m(x) φ_m(x')|
(plus 1 for b), and a step change f by (α/N) Σ_i r_i (κ(x_i, x) + 1), so by at most αsR. Errors E of the
residuals at the examples pass on as αsE, whatever computes the step. What a step adds of its own, beside u R
for adding it to the residual:

    layers      αs(R + E)(η + gamma(N + 2(d+C-1) + 6)),  η s the error of a computed weight
    descent     αs(R + E)(slack/s + gamma(B + 10)), and once, not passed on, gamma(p + 3) αs ΣR for W φ with
                |W φ| <= αs ΣR; B = `summed`(N) roundings of a sum in blocks.

Softmax attention descends on ½ Σ D(x_i) ‖y_i - Wφ(x_i)/D(x_i)‖² with D(x) = Σ_i φ(x_i)ᵀφ(x) (no 1/N, no b).
Its layers have s = 1. In the descent every inner product is divided by D(x) >= N lowest, so s = size/lowest
there, which also multiplies the relative error gamma(B + p + 4) + slack/lowest of D itself.

For the cross-entropy (3) the residuals are ỹ - h with the softmax h of f: an error of f passes on halved, as
the absolute derivatives of h_c sum to 2 h_c (1 - h_c) <= 1/2, and computing h adds at most 8 u (2 + max |f|).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import torch

from checks.tensors.core.agreement import Agreement, compare, largest
from checks.tensors.core.arrays import slices
from checks.tensors.core.bounds import SAFETY, gamma
from checks.tensors.core.errors import TensorError
from checks.tensors.functional_descent.features import EXP, UNIT, Features, features
from checks.tensors.functional_descent.kernels import Kernel
from checks.tensors.functional_descent.layers import DescentTransformer, codes, head

BLOCK = 4096  # examples whose features are formed at a time


@dataclass(frozen=True)
class Task:
    """Examples x (N, d), outcomes y (N, C-1), queries (K, d); ``start`` is the value that f starts from."""

    x: torch.Tensor
    y: torch.Tensor
    queries: torch.Tensor
    start: float = 0.0


@dataclass(frozen=True)
class Descent:
    """How W and b are stepped.

    The loss is the mean of squares (as printed), half of it, the weighted one of softmax, or the mean
    cross-entropy.
    """

    steps: int
    rate: float
    bias: bool = False
    loss: str = "mean"


LOSSES = ("mean", "half", "weighted", "entropy")


def make_task(
    phi: Features,
    n: int,
    d: int,
    classes: int,
    *,
    queries: int = 64,
    categorical: bool = False,
    device: str | torch.device = "cpu",
    seed: int = 0,
) -> Task:
    """Random examples of the features' domain with normal outcomes, or the codes of random categories
    from start 1/C.
    """
    generator = torch.Generator().manual_seed(seed)
    x, q = (phi.covariates(count, d, generator).to(device) for count in (n, queries))
    if categorical:
        y = codes(torch.randint(classes, (n,), generator=generator), classes)
        return Task(x, y.to(device), q, 1 / classes)
    return Task(x, torch.randn(n, classes - 1, generator=generator, dtype=torch.float64).to(device), q)


def descend(
    task: Task, phi: Features, how: Descent, everywhere: bool = True, table: list[torch.Tensor] | None = None
) -> list[torch.Tensor]:
    """f (N + K, C-1) at examples and queries after each step, in blocks: memory O(N (d + C) + block x p).

    Without ``everywhere``: at the queries alone, (K, C-1), after the last step. ``table`` may hold the
    examples' features, as ``feature_table`` gives them. Raises TensorError for an unknown loss, or a bias
    with the weighted one.
    """
    if how.loss not in LOSSES or (how.loss == "weighted" and how.bias):
        raise TensorError(f"no descent on the loss {how.loss!r} with bias {how.bias}")
    blocks = list(slices(len(task.x), BLOCK))

    def examples() -> Iterator[torch.Tensor]:
        return iter(table) if table is not None else (phi.phi(task.x[part]) for part in blocks)

    total = None
    if how.loss == "weighted":
        total = torch.stack([rows.sum(0) for rows in examples()]).sum(0)
    w = task.y.new_zeros(task.y.shape[1], phi.width).requires_grad_()
    b = task.y.new_zeros(task.y.shape[1]).requires_grad_()
    found = []
    for step in range(how.steps):
        slope_w, slope_b = torch.zeros_like(w), torch.zeros_like(b)
        for part, rows in zip(blocks, examples(), strict=True):
            loss = _block_loss(task, rows, part, w, b, total, how)
            own = torch.autograd.grad(loss, (w, b), materialize_grads=True)
            slope_w, slope_b = slope_w + own[0], slope_b + own[1]
        with torch.no_grad():
            w -= how.rate * slope_w
            b -= how.rate * slope_b
            places = [examples(), iter([phi.phi(task.queries)])] if everywhere else []
            if not everywhere and step == how.steps - 1:
                places = [iter([phi.phi(task.queries)])]
            if places:
                found.append(
                    torch.cat([task.start + _values(rows, w, b, total, how) for rows in chain(*places)])
                )
    return found


def feature_table(task: Task, phi: Features) -> list[torch.Tensor] | None:
    """The features of the examples in blocks, where they are few enough to keep (32 MiB)."""
    if len(task.x) * phi.width > 2**22:
        return None
    return [phi.phi(task.x[part]) for part in slices(len(task.x), BLOCK)]


def _values(
    phi: torch.Tensor, w: torch.Tensor, b: torch.Tensor, total: torch.Tensor | None, how: Descent
) -> torch.Tensor:
    """f minus its start, (rows, C-1)."""
    value = phi @ w.T
    if total is not None:
        value = value / (phi @ total)[:, None]
    return value + b if how.bias else value


def _block_loss(
    task: Task,
    phi: torch.Tensor,
    part: slice,
    w: torch.Tensor,
    b: torch.Tensor,
    total: torch.Tensor | None,
    how: Descent,
) -> torch.Tensor:
    """A block's share of the loss."""
    if how.loss == "entropy":
        latent = _values(phi, w, b, total, how)
        every = torch.nn.functional.pad(latent, (1, 0))
        return (every.logsumexp(1) - (task.y[part] * latent).sum(1)).sum() / len(task.x)
    residual = task.y[part] - task.start - _values(phi, w, b, total, how)
    squares = residual.square().sum(1)
    if total is not None:
        return (phi @ total * squares).sum() / 2
    return squares.sum() / (len(task.x) * (1 if how.loss == "mean" else 2))


# ---------------------------------------------------------------- bounds


def summed(n: int) -> int:
    """Most roundings that a summand goes through where a sum of n is formed in blocks, in whatever order
    within one.
    """
    return min(n, BLOCK) + math.ceil(n / BLOCK)


def _weight_error(kernel: Kernel, d: int, width: int) -> float:
    """η: the error of a computed weight over its size s, for tokens of ``width`` entries of which d are
    not zero.
    """
    values = {name: abs(float(p.detach())) for name, p in kernel.named_parameters()}
    match kernel.name:
        case "linear":
            return gamma(width + 2, UNIT)
        case "cosine":
            return gamma(3 * width + 8, UNIT)
        case "polynomial":
            return 2 * gamma(width + 5, UNIT)
        case "exponential":
            return math.expm1(values["rate"] * d * gamma(width + 3, UNIT) + 2 * EXP)
        case "softmax":  # numerator and denominator
            return math.expm1(2 * (values["rate"] * d * gamma(width + 5, UNIT) + 2 * EXP))
    # exp(-t) with a relative error of t: t exp(-t) < 1
    return gamma(2 * width + 8, UNIT) + 2 * EXP


def step_bounds(
    task: Task, kernel: Kernel, phi: Features, how: Descent, rate: float, sizes: list[float]
) -> list[float]:
    """The most by which layers and descent can differ after each step; ``sizes`` are max |r| (max |f| for the
    cross-entropy) at the start and after each step.
    """
    n, d = task.x.shape
    width = d + task.y.shape[1]
    weighted = how.loss == "weighted"
    extra = 1.0 if how.bias else 0.0
    entropy = how.loss == "entropy"
    s_layers = 1.0 if weighted else phi.size + extra
    s_steps = phi.size / phi.lowest if weighted else phi.size + extra
    own_layers = _weight_error(kernel, d, width) + gamma(n + 2 * width + 6, UNIT)
    own_steps = phi.slack / phi.size + gamma(summed(n) + 10, UNIT)
    if weighted:
        own_layers += gamma(n, UNIT)
        own_steps += gamma(summed(n) + phi.width + 4, UNIT) + phi.slack / phi.lowest
    layers, passed, steps, total, found = 0.0, 0.0, 0.0, 0.0, []
    for before, after in pairwise(sizes):
        # errors of the residuals that the step starts from: those of f, for the cross-entropy halved
        r = 1.0 if entropy else before + layers + steps
        own = 8 * UNIT * (2 + before) if entropy else 0.0
        there, here = (e / 2 + own if entropy else e for e in (layers, steps))
        total += r + there + here
        layers += rate * s_layers * (there + (r + there) * own_layers) + UNIT * (after + 2 * r)
        passed += rate * s_steps * (here + (r + here) * own_steps + UNIT * total)
        # evaluating W φ (over D), and forming the residual
        once = rate * s_steps * total * (gamma(phi.width + 3, UNIT) + (own_steps if weighted else 0.0))
        steps = passed + once + 3 * UNIT * (after + r)
        found.append((layers + steps) * SAFETY)
    return found


def latent_steps(task: Task, model: DescentTransformer, steps: int) -> list[torch.Tensor]:
    """f (N + K, C-1) from 0 after each step of (3): the heads of the model on the residuals ỹ - h(f) of
    the cross-entropy.
    """
    d, n = task.x.shape[1], len(task.x)
    positions = torch.cat([task.x, task.queries])
    f = task.y.new_zeros(len(positions), task.y.shape[1])
    found = []
    for _ in range(steps):
        h = torch.softmax(torch.nn.functional.pad(f, (1, 0)), 1)[:, 1:]
        keys = torch.cat([task.x, task.y - h[:n]], 1)
        tokens = torch.cat([positions, torch.zeros_like(f)], 1)
        for weights, divide in model.heads(0, n):
            f = f - head(weights, model.kernel, keys, tokens, divide)[:, d:]
        found.append(f)
    return found


# ---------------------------------------------------------------- the check


def _extra_query(task: Task) -> Task:
    """The first query as an example with its placeholder outcome."""
    blank = torch.full_like(task.y[:1], 0.0)
    return replace(task, x=torch.cat([task.x, task.queries[:1]]), y=torch.cat([task.y, blank]))


Mutant = Callable[[Task, Descent], tuple[Task, Descent]]
MUTANTS: dict[str, Mutant] = {
    "no step": lambda t, h: (t, replace(h, rate=0.0)),
    "rate doubled": lambda t, h: (t, replace(h, rate=2 * h.rate)),
    "sign of the rate": lambda t, h: (t, replace(h, rate=-h.rate)),
    "divided by N again": lambda t, h: (t, replace(h, rate=h.rate / len(t.x))),
    "1/N missing": lambda t, h: (t, replace(h, rate=min(h.rate * len(t.x), 1e100))),
    "outcomes shifted by one": lambda t, h: (replace(t, y=t.y.roll(1, 0)), h),
    "example dropped": lambda t, h: (replace(t, x=t.x[1:], y=t.y[1:]), h),
    "query among the examples": lambda t, h: (_extra_query(t), h),
    "started elsewhere": lambda t, h: (replace(t, start=t.start + 0.5), h),
}


def _mutants(how: Descent) -> dict[str, Mutant]:
    """The wrong descents that apply; the bias is dropped or added where that means something."""
    found = dict(MUTANTS)
    if how.loss != "weighted":
        found["bias dropped" if how.bias else "bias added"] = lambda t, h: (t, replace(h, bias=not h.bias))
    return found


@dataclass(frozen=True)
class Trial:
    """A task, how W and b are stepped on it with explicit features, and layers with the rate ``alpha``."""

    kernel: Kernel
    phi: Features
    task: Task
    how: Descent
    alpha: float

    @torch.no_grad()
    def layers(self) -> tuple[list[torch.Tensor], list[float]]:
        """f (N + K, C-1) after each layer of the designed transformer, and its residuals' sizes (those of f
        for the cross-entropy) at the start and after each.
        """
        task, how, (d, other) = self.task, self.how, (self.task.x.shape[1], self.task.y.shape[1])
        model = DescentTransformer(other + 1, d, self.kernel, how.steps, rates=self.alpha, bias=how.bias)
        model = model.to(task.x.device)
        if how.loss == "entropy":
            latent = latent_steps(task, model, how.steps)
            return latent, [0.0, *(float(f.abs().max()) for f in latent)]
        states = model.states(task.x, task.y, task.queries, task.start)
        return [_prediction(task, s) for s in states[1:]], [float(s[:, d:].abs().max()) for s in states]


def trial(
    kernel: Kernel,
    n: int,
    *,
    steps: int = 3,
    bias: bool = False,
    categorical: bool = False,
    classes: int = 3,
    entropy: bool = False,
    d: int = 2,
    device: str | torch.device = "cpu",
    seed: int = 0,
    queries: int = 64,
) -> Trial:
    """N examples and K queries, and the descent that the designed layers of a kernel carry out.

    The layers' rate is α; the descent has the rate α/2 on the printed mean of squares, α on half of it
    (categorical), or α on the weighted loss (softmax). α is 1/(s + 1), so that residuals stay of the size of
    the outcomes. ``entropy`` is for (3), the latent function, and descent on the cross-entropy instead.
    """
    phi = features(kernel, d)
    task = make_task(
        phi, n, d, classes, queries=queries, categorical=categorical or entropy, device=device, seed=seed
    )
    weighted = kernel.name == "softmax"
    alpha = 0.5 if weighted else 1 / (phi.size + 1)
    loss = "weighted" if weighted else "entropy" if entropy else "half" if categorical else "mean"
    how = Descent(steps, alpha / 2 if loss == "mean" else alpha, bias, loss)
    return Trial(kernel, phi, replace(task, start=0.0) if entropy else task, how, alpha)


def check_steps(t: Trial) -> Agreement:
    """The layers against as many steps of descent, at all examples and queries."""
    task, phi, how, queries = t.task, t.phi, t.how, len(t.task.queries)
    layers, sizes = t.layers()
    table = feature_table(task, phi)
    truth = descend(task, phi, how, table=table)
    allowed = step_bounds(task, t.kernel, phi, how, t.alpha, sizes)
    comparisons = tuple(
        compare(f"layer {k}", one, two, torch.full_like(one, bound))
        for k, (one, two, bound) in enumerate(zip(layers, truth, allowed, strict=True), 1)
    )
    seen, bound = layers[-1][-queries:], layers[-1].new_tensor(allowed[-1])
    mutants = {"zero": largest("zero", seen.abs(), bound.expand(seen.shape))}
    for name, change in _mutants(how).items():
        other, step = change(task, how)
        same = table if other.x is task.x else None
        (wrong,) = descend(other, phi, step, everywhere=False, table=same)
        mutants[name] = largest(name, (wrong - seen).abs(), bound.expand(seen.shape))
    return Agreement(comparisons, mutants)


def _prediction(task: Task, state: torch.Tensor) -> torch.Tensor:
    """f at examples and queries from the tokens: what was taken off y at the examples, off 0 at the
    queries.
    """
    outcomes = torch.cat([task.y, task.y.new_zeros(len(task.queries), task.y.shape[1])])
    return outcomes - state[:, -task.y.shape[1] :]
