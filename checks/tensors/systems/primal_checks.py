"""Primal-Attention's modules against (9), Algorithm 1 and its causal version, at length, with proved bounds.

The module runs in float64; the formula is evaluated at sampled tokens by `Bounded` arithmetic. The module
does the same operations in some order, so its own error has the same bound: both are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from checks.tensors.core.agreement import Agreement, Comparison, same
from checks.tensors.core.arrays import slices
from checks.tensors.core.bounded import UNIT, Bounded, together
from checks.tensors.core.bounds import SAFETY
from checks.tensors.core.inputs import make_instance, sampled_rows
from checks.tensors.systems.primal import PrimalAttention, evenly

WIDTH, DIRECTIONS, SAMPLES = 64, 30, 32


def unit_rows(x: Bounded) -> Bounded:
    """z / |z| for every row; the errors must be small against |z|."""
    square = (x * x).sum(1)
    length = square.value.sqrt()
    # |√a - √b| <= |a - b| / √a, and the root is rounded
    off = square.error / length + UNIT * length
    value = x.value / length[:, None]
    error = (x.error + value.abs() * off[:, None]) / (length - off)[:, None] + UNIT * value.abs()
    return Bounded(value, error * SAFETY)


def linear(layer: torch.nn.Linear, x: torch.Tensor) -> Bounded:
    """W x + b at each row."""
    weight, bias = layer.weight.detach().double(), layer.bias.detach().double()
    return Bounded(x) @ Bounded(weight.T.contiguous()) + Bounded(bias.expand(len(x), -1))


def prefix_means(x: Bounded, rows: torch.Tensor) -> Bounded:
    """Means of tokens 0 ... i at the given i, each summed by one product with a row of ones."""
    values, errors = [], []
    for row in rows.tolist():
        mean = x[: row + 1].sum(0)
        values.append(mean.value / (row + 1))
        errors.append((mean.error / (row + 1) + UNIT * values[-1].abs()) * SAFETY)
    return Bounded(torch.stack(values), torch.stack(errors))


@dataclass(frozen=True)
class Posed:
    """A layer with one head in float64 on tokens x (N, d), the rows at which it is evaluated, and f(X)."""

    layer: PrimalAttention
    x: torch.Tensor
    rows: torch.Tensor
    f_x: torch.Tensor | None

    def formula(self, side: str, rows: torch.Tensor | None = None) -> Bounded:
        """One half of (9) at the given tokens: (f(X)ᵀ W)ᵀ φ(x_i), (len(rows), s)."""
        layer, x, rows = self.layer, self.x, self.rows if rows is None else rows
        own, weight = (layer.query, layer.w_e) if side == "e" else (layer.key, layer.w_r)
        assert weight is not None
        if layer.causal:
            whole = together([linear(own, x[part]) for part in slices(len(x), 8192)])
            vectors = prefix_means(whole, rows)
        else:
            vectors = linear(own, x[rows])
        w = Bounded(weight.detach()[0].double())
        projected = w if self.f_x is None else Bounded(self.f_x.T.contiguous()) @ w
        return unit_rows(vectors) @ projected


def posed(
    tokens: int, rows_of_f: int | None = 300, *, causal: bool = False, device: str = "cpu", seed: int = 0
) -> Posed:
    """A module with seeded weights on seeded tokens.

    `rows_of_f`: how many tokens f(X) takes (None: data-independent). Raises TensorError as the module does.
    """
    torch.manual_seed(seed)
    rows_of_f = None if causal or rows_of_f is None else min(rows_of_f, tokens)
    layer = PrimalAttention(WIDTH, 1, DIRECTIONS, tokens=rows_of_f, causal=causal).double().to(device)
    x = make_instance(tokens, WIDTH, seed=seed).v.to(device)
    f_x = None
    if rows_of_f is not None:
        f_x = x[evenly(torch.tensor(tokens - 1, device=device), rows_of_f)]
    return Posed(layer, x, sampled_rows(tokens, SAMPLES, seed).to(device), f_x)


def _twice(name: str, found: torch.Tensor, expected: Bounded) -> Comparison:
    """A module's numbers, which may be off as far as the formula's own evaluation."""
    return same(name, Bounded(found, expected.error), expected)


@torch.no_grad()
def check_primal_attention(p: Posed) -> Agreement:
    """(9) and Algorithm 1, or the causal version, against the module."""
    layer, rows = p.layer, p.rows
    out, scores = layer(p.x[None])
    assert scores.r is not None
    e, r = p.formula("e"), p.formula("r")

    def output(first: Bounded, second: Bounded) -> Bounded:
        both = Bounded(torch.cat([first.value, second.value], 1), torch.cat([first.error, second.error], 1))
        mixed = both @ _weight(layer.combine) + _bias(layer.combine, SAMPLES)
        return mixed @ _weight(layer.output) + _bias(layer.output, SAMPLES)

    found_e, found_r = scores.e[0, 0, rows], scores.r[0, 0, rows]
    comparisons = (
        _twice("upper half of (9)", found_e, e),
        _twice("lower half of (9)", found_r, r),
        _twice("output of Algorithm 1", out[0, rows], output(e, r)),
    )
    others = {name: _twice("", found_e, other) for name, other in _others(p, e).items()}
    others["halves exchanged"] = _twice("", out[0, rows], output(r, e))
    others["second score left out"] = _twice("", out[0, rows], output(e, r * 0.0))
    return Agreement(comparisons, others)


def _weight(layer: torch.nn.Linear) -> Bounded:
    return Bounded(layer.weight.detach().T.contiguous())


def _bias(layer: torch.nn.Linear, rows: int) -> Bounded:
    return Bounded(layer.bias.detach().expand(rows, -1))


def _others(p: Posed, right: Bounded) -> dict[str, Bounded]:
    """Wrong versions of the upper half."""
    layer, x, rows = p.layer, p.x, p.rows
    later = (rows + 1).clamp(max=len(x) - 1)
    result = {
        "keys for queries": p.formula("r"),
        "the token after": p.formula("e", later.where(later > rows, rows - 1)),
        "features not normalised": right * 2.0,
        "zero scores": right * 0.0,
    }
    if layer.causal:
        plain = torch.nn.functional.normalize(layer.query(x), dim=-1)
        averaged = (plain.cumsum(0) / torch.arange(1, len(x) + 1, device=x.device)[:, None])[rows]
        result["means after the feature map"] = Bounded(averaged @ layer.w_e[0], right.error)
    elif p.f_x is not None and len(p.f_x) < len(x):
        result["f(X) of the first tokens"] = replace(p, f_x=x[: len(p.f_x)]).formula("e")
    return result


def check_causality(p: Posed) -> Agreement:
    """The score of token i changes with token u exactly for u <= i, with weights that do not depend on X.

    Token N/2 is changed: not one bit of an earlier score may change, and the scores from there on must. The
    data-dependent layer is the wrong reading: its earlier scores change.
    """
    layer, x, tokens = p.layer, p.x, len(p.x)
    at = tokens // 2
    mixing = PrimalAttention(WIDTH, 1, DIRECTIONS, tokens=min(300, tokens)).double().to(x.device)
    changed = x.clone()
    changed[at] += 1
    # f(X) takes evenly spaced tokens: change one that it takes
    index = evenly(torch.tensor(tokens - 1), mixing.tokens or 1)
    taken = x.clone()
    taken[int(index[len(index) // 2])] += 1

    def moved(own: PrimalAttention, other: torch.Tensor, part: slice) -> float:
        with torch.no_grad():
            first, second = own(x[None])[1], own(other[None])[1]
        return float((first.e - second.e)[0, 0, part].abs().max())

    early = slice(0, int(index[len(index) // 2]))
    smallest = float(x.abs().max()) * UNIT
    unmoved = Comparison("earlier scores", moved(layer, changed, slice(0, at)), smallest)
    others = {
        "data-dependent weights": moved(mixing, taken, early) / smallest,
        "scores from the changed token on": moved(layer, changed, slice(at, tokens)) / smallest,
    }
    return Agreement((unmoved,), others)
