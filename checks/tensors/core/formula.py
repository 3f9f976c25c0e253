"""A statement's own formula evaluated on tensors, at some of its query rows.

The formula is the index expression that was proved, contracted by einsum, so what is compared with a streamed
engine at 131,072 tokens is the declaration itself and not a second transcription of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from derivations.calculus import index as ix
from derivations.calculus.index import Index

Named = tuple[torch.Tensor, tuple[Index, ...]]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "cosh": torch.cosh,
    "sinh": torch.sinh,
    "elu1": lambda x: torch.nn.functional.elu(x) + 1,
}


def evaluate(
    expr: ix.Expr,
    tensors: Mapping[str, torch.Tensor],
    order: tuple[Index, ...],
    rows: Mapping[Index, torch.Tensor] | None = None,
) -> torch.Tensor:
    """The values of an expression, axes in the given order of its free indices.

    ``tensors`` maps names to arrays whose axes are the dimensions of the symbol; ``rows`` restricts a free
    index to some of its values (long tensors of positions). Raises KeyError for a missing tensor, ValueError
    for an unknown function.
    """
    sizes = _sizes(expr, tensors)
    expr = ix.rename(expr, {})  # products of sums are contracted at once: no two may share a name
    value, names = _value(expr, tensors, rows or {}, sizes)
    missing = tuple(i for i in order if i not in names)
    shape = [len(rows[i]) if rows and i in rows else sizes[i.dim] for i in missing]
    value = value.expand((*shape, *value.shape))
    names = (*missing, *names)
    return value.permute([names.index(i) for i in order]).contiguous()


def _sizes(expr: ix.Expr, tensors: Mapping[str, torch.Tensor]) -> dict[str, int]:
    sizes = {"1": 1}
    for tensor in ix.tensors(expr):
        if tensor.name not in tensors:
            raise KeyError(f"no values for {tensor.name}")
        sizes.update(zip(tensor.dims, tensors[tensor.name].shape, strict=True))
    return sizes


def _value(
    expr: ix.Expr,
    tensors: Mapping[str, torch.Tensor],
    rows: Mapping[Index, torch.Tensor],
    sizes: dict[str, int],
) -> Named:
    def visit(node: ix.Expr) -> Named:
        return _value(node, tensors, rows, sizes)

    match expr:
        case ix.Num(value):
            return _scalar(float(value), tensors), ()
        case ix.Dim(name):
            return _scalar(float(sizes[name]), tensors), ()
        case ix.At(tensor, indices):
            return _entry(tensors[tensor.name], indices, rows)
        case ix.Add(args):
            return _add([visit(a) for a in args])
        case ix.Pow(base, exponent):
            below, names = visit(base)
            return (below.reciprocal() if exponent == -1 else below ** float(exponent)), names
        case ix.Call(function, arg, 0) if function in _FUNCTIONS:
            inside, names = visit(arg)
            return _FUNCTIONS[function](inside), names
        case ix.Mul() | ix.Sum():
            factors, summed = _product(expr)
            return _contract([visit(f) for f in factors], summed, sizes)
    raise ValueError(f"cannot evaluate {type(expr).__name__} on tensors")


def _scalar(value: float, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    like = next(iter(tensors.values()))
    return torch.tensor(value, dtype=like.dtype, device=like.device)


def _entry(array: torch.Tensor, indices: tuple[Index, ...], rows: Mapping[Index, torch.Tensor]) -> Named:
    for axis, index in enumerate(indices):
        if index in rows:
            array = array.index_select(axis, rows[index])
    if len(set(indices)) < len(indices):
        letters = {i: _LETTERS[n] for n, i in enumerate(dict.fromkeys(indices))}
        unique = tuple(dict.fromkeys(indices))
        spec = "".join(letters[i] for i in indices) + "->" + "".join(letters[i] for i in unique)
        return torch.einsum(spec, array), unique
    return array, indices


def _add(terms: list[Named]) -> Named:
    names = tuple(dict.fromkeys(i for _, own in terms for i in own))
    total = None
    for value, own in terms:
        aligned = value.permute([own.index(i) for i in names if i in own])
        aligned = aligned[tuple(slice(None) if i in own else None for i in names)]
        total = aligned if total is None else total + aligned
    assert total is not None
    return total, names


def _product(expr: ix.Expr) -> tuple[list[ix.Expr], set[Index]]:
    """The factors of nested products and sums, and the indices summed over (bound names are unique)."""
    match expr:
        case ix.Sum(index, body):
            factors, summed = _product(body)
            return factors, summed | {index}
        case ix.Mul(args):
            factors, summed = [], set()
            for arg in args:
                own, inner = _product(arg)
                factors += own
                summed |= inner
            return factors, summed
    return [expr], set()


def _contract(factors: list[Named], summed: set[Index], sizes: dict[str, int]) -> Named:
    names = list(dict.fromkeys(i for _, own in factors for i in own))
    kept = tuple(i for i in names if i not in summed)
    letters = {i: _LETTERS[n] for n, i in enumerate(names)}
    spec = ",".join("".join(letters[i] for i in own) for _, own in factors)
    spec = f"{spec}->{''.join(letters[i] for i in kept)}"
    values = [v for v, _ in factors]
    result = contract(spec, values)[0] if all(map(torch.is_tensor, values)) else torch.einsum(spec, *values)
    for index in summed - set(names):
        result = result * sizes[index.dim]
    return result, kept


def contract(spec: str, arrays: list[torch.Tensor]) -> tuple[torch.Tensor, int]:
    """torch.einsum taking next the pair with the smallest result, and the largest number of roundings of a
    term.

    From left to right, as torch contracts without opt_einsum, the products of a printed formula pass through
    arrays with an axis for every index in it: q_i·k_j k_l·v_i with N tokens through one of N³ numbers.
    """
    inputs, output = spec.split("->")
    left = [(letters, array) for letters, array in zip(inputs.split(","), arrays, strict=True)]
    sizes = {n: s for letters, array in left for n, s in zip(letters, array.shape, strict=True)}
    roundings = 0
    while True:
        first, second = min(_pairs(len(left)), key=lambda pair: _size(left, pair, output, sizes))
        kept = _kept(left, (first, second), output)
        chosen = [left[n] for n in dict.fromkeys((first, second))]
        gone = {n for letters, _ in chosen for n in letters} - set(kept)
        roundings += len(chosen) + math.prod(sizes[n] for n in gone)
        result = torch.einsum(",".join(c[0] for c in chosen) + "->" + kept, *(c[1] for c in chosen))
        left = [item for n, item in enumerate(left) if n not in (first, second)] + [(kept, result)]
        if len(left) == 1:
            letters, result = left[0]
            return result.permute([letters.index(n) for n in output]), roundings


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(0, 0)] if count == 1 else [(a, b) for b in range(count) for a in range(b)]


def _kept(left: list[tuple[str, torch.Tensor]], pair: tuple[int, int], output: str) -> str:
    """The indices of a pair that are still needed afterwards."""
    later = output + "".join(letters for n, (letters, _) in enumerate(left) if n not in pair)
    return "".join(n for n in dict.fromkeys(left[pair[0]][0] + left[pair[1]][0]) if n in later)


def _size(
    left: list[tuple[str, torch.Tensor]], pair: tuple[int, int], output: str, sizes: dict[str, int]
) -> int:
    return math.prod(sizes[n] for n in _kept(left, pair, output))
