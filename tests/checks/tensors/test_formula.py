"""A statement's formula on tensors against the same formula entry by entry."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as hs

from checks.tensors.core.formula import contract
from checks.tensors.core.formula import evaluate as on_tensors
from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.index import Expr, Index, Sum, Tensor
from derivations.calculus.term import (
    Term,
    apply,
    as_term,
    row_softmax,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
)

N, D = 3, 2
SIZES = {"N": N, "D": D}
i, j, m, d = Index("i", "N"), Index("j", "N"), Index("m", "N"), Index("d", "D")
Q, K, V = (Tensor(name, ("N", "D")) for name in "QKV")
A, x, s = Tensor("A", ("N", "N")), Tensor("x", ("N",)), Tensor("s")
VALUES = {
    t.name: torch.tensor(np.random.default_rng(n).uniform(0.5, 2, tuple(SIZES[c] for c in t.dims)))
    for n, t in enumerate((Q, K, V, A, x, s))
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": lambda v, order: np.exp(float(v)),
    "tanh": lambda v, order: np.tanh(float(v)),
    "root": lambda v, e: v ** float(e),
    "log": lambda v, order: np.log(float(v)),
    "elu1": lambda v, order: v + 1 if v > 0 else np.exp(v),
}


def entries(expr: Expr, order: tuple[Index, ...]) -> np.ndarray:
    found = np.empty([SIZES[index.dim] for index in order])
    for place in product(*(range(n) for n in found.shape)):
        found[place] = evaluate(
            expr,
            SIZES,
            lambda t, e: float(VALUES[t.name][e]),
            FUNCTIONS,
            dict(zip(order, place, strict=True)),
        )
    return found


def compare(expr: Expr, order: tuple[Index, ...]) -> None:
    got = on_tensors(expr, VALUES, order).numpy()
    np.testing.assert_allclose(got, entries(expr, order), rtol=1e-12, atol=1e-14)


q, k, v, a, X, S = (as_term(t) for t in (Q, K, V, A, x, s))
TERMS: dict[str, Term] = {
    "attention": row_softmax(q @ k.T / sqrt(size("D"))) @ v,
    "attention by sums": stack(i, sum_over(j, softmax(j, q[i].T @ k[j] / sqrt(size("D"))) * v[j])),
    "quadratic form": X.T @ a @ X,
    "norm of a difference": squared_norm(q - k),
    "diagonal entries": stack(i, a[i, i] * X[i]),
    "product of sums": sum_over(i, X[i]) * sum_over(i, X[i] ** 2),
    "a sum that does not use its index": sum_over(j, X),
    "functions": stack(i, apply("tanh", X[i]) + apply("elu1", -X[i]) * apply("log", X[i])),
    "nested": stack(i, X[i] / (S + sum_over(j, a[i, j] * sum_over(i, a[j, i] * X[i])))),
}


@pytest.mark.parametrize("name", TERMS)
def test_terms(name: str) -> None:
    order = tuple(Index(f"e{n}", dim) for n, dim in enumerate(TERMS[name].shape()))
    compare(TERMS[name].entry(*order), order)


@pytest.mark.parametrize("expr, order", [
    (Sum(i, x[i]) * Sum(i, x[i] ** 2), ()),
    (x[i] * Sum(i, x[i]), (i,)),
    (Sum(i, x[i] * Sum(i, A[i, i])), ()),
    (Sum(i, Sum(j, A[i, j] * x[j])) * Sum(j, x[j]), ()),
    (ix.Mul((Sum(i, x[i]),) * 3), ()),
])  # fmt: skip
def test_sums_of_one_name_are_different_sums(expr: Expr, order: tuple[Index, ...]) -> None:
    compare(expr, order)


def test_axes_come_in_the_order_asked_for() -> None:
    expr = A[i, j] * x[i]
    assert torch.equal(on_tensors(expr, VALUES, (j, i)), on_tensors(expr, VALUES, (i, j)).T)
    assert on_tensors(s.scalar + 0 * x[i], VALUES, (m, i)).shape == (N, N)


def test_some_rows_only() -> None:
    rows = torch.tensor([2, 0])
    whole = on_tensors(TERMS["attention"].entry(i, d), VALUES, (i, d))
    assert torch.allclose(on_tensors(TERMS["attention"].entry(i, d), VALUES, (i, d), {i: rows}), whole[rows])


def test_what_is_missing_or_unknown_is_named() -> None:
    with pytest.raises(KeyError, match="no values for y"):
        on_tensors(Tensor("y", ("N",))[i], VALUES, (i,))
    with pytest.raises(ValueError, match="cannot evaluate Call"):
        on_tensors(ix.Call("F", x[i]), VALUES, (i,))
    with pytest.raises(ValueError, match="cannot evaluate Delta"):
        on_tensors(ix.Delta(i, j) * x[i], VALUES, (i, j))


@hs.composite
def expressions(draw: Any, depth: int = 3, scope: tuple[Index, ...] = (i, j)) -> Expr:
    def inner(more: tuple[Index, ...] = ()) -> Expr:
        return draw(expressions(depth - 1, scope + more))

    match draw(hs.sampled_from(["leaf", "add", "mul", "sum", "call", "quotient"])) if depth else "leaf":
        case "add":
            return inner() + inner()
        case "mul":
            return inner() * inner()
        case "sum":
            bound = draw(hs.sampled_from([i, j, m]))
            return Sum(bound, inner((bound,)))
        case "call":
            return ix.Call("tanh", inner())
        case "quotient":
            return inner() / (1 + inner() ** 2)
    one, two = draw(hs.sampled_from(scope)), draw(hs.sampled_from(scope))
    return draw(hs.sampled_from([x[one], A[one, two], s.scalar, ix.Dim("N"), ix.as_expr(2)]))


@settings(max_examples=60, deadline=None)
@given(expressions())
def test_random_expressions(expr: Expr) -> None:
    if ix.tensors(expr) and any("N" in t.dims for t in ix.tensors(expr)):
        compare(expr, (i, j))


def test_contraction_agrees_with_torch_and_counts_its_roundings():
    draw = np.random.default_rng(5)
    a, b, c = (torch.tensor(draw.normal(size=shape)) for shape in ((3, 4), (4, 5), (3, 5)))
    value, roundings = contract("ij,jk,ik->i", [a, b, c])
    assert torch.allclose(value, torch.einsum("ij,jk,ik->i", a, b, c), rtol=1e-13)
    assert roundings >= 5 + 3  # a sum over k, one over j, and the products of three factors
    assert not torch.allclose(contract("ij,jk,ik->i", [a, b, -c])[0], value)


def test_a_product_of_three_factors_is_contracted_without_a_cube():
    """From left to right q_i·k_j k_l·v_i passes through an array with the axes i, j, l: 2,048³ numbers,
    64 GiB.
    """
    n = 2048
    q, k, v = (torch.ones(n, 2, dtype=torch.float64) for _ in range(3))
    i, j, l = (Index(c, "M") for c in "ijl")
    dims = ("M", "W")
    q_, k_, v_ = (as_term(Tensor(t, dims)) for t in ("q", "k", "v"))
    term = sum_over(j, l, (q_[i].T @ k_[j]) * (k_[l].T @ v_[i]))
    found = on_tensors(term.entry(), {"q": q, "k": k, "v": v}, (i,))
    assert torch.equal(found, torch.full((n,), 4.0 * n * n, dtype=torch.float64))
