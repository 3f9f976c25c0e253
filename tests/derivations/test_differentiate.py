"""Guarded derivatives: the known traps, deliberately wrong routes, and random expressions against SymPy."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as hs

from derivations.calculus import differentiate as df
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.components import evaluate
from derivations.calculus.differentiate import (
    SYMPY_FUNCTIONS,
    DerivativeMismatch,
    UnexpectedZero,
    gradient,
    sympy_lookup,
)
from derivations.calculus.index import Add, Call, Delta, Expr, Index, Mul, Num, Pow, Sum, Tensor
from derivations.calculus.term import apply, as_term, exp, softmax, squared_norm, sum_over, trace

N, D = "N", "D"
i, j, a, b = Index("i", N), Index("j", N), Index("a", N), Index("b", D)
c = Index("c", D)
Z, V = Tensor("Z", (N, D)), Tensor("V", (N, D))
A, S = Tensor("A", (N, N)), Tensor("S", (N, N), symmetric=True)
x, y, p = Tensor("x", (N,)), Tensor("y", (N,)), Tensor("p", (N,), positive=True)
s = Tensor("s")


def same(left: Expr, right: Expr) -> bool:
    return nf.equal(left, right)


# ---------------------------------------------------------------- the traps of SymPy's matrix calculus


def test_the_trace_of_a_number_is_the_number() -> None:
    column, other = as_term(x), as_term(y)
    assert same(trace(column.T @ other).entry(), (other.T @ column).entry())
    assert not same(trace(column.T @ other).entry(), (column.T @ column).entry())
    with pytest.raises(ValueError, match="trace"):
        trace(column).shape()


def test_the_derivative_of_a_sum_of_traces_is_not_zero() -> None:
    """SymPy 1.14 gives 0 for (Trace(ZᵀAV) + Trace(ZᵀZ)).diff(Z)."""
    z, m, v = as_term(Z), as_term(A), as_term(V)
    whole = (trace(z.T @ m @ v) + trace(z.T @ z)).entry()
    assert same(gradient(whole, Z, (a, b)), (m @ v).entry(a, b) + 2 * Z[a, b])


def test_the_trap_is_still_there() -> None:
    """The reason for the guard; if SymPy repairs this, the sentence in the documentation can go."""
    n, d = sp.symbols("n d", integer=True, positive=True)
    z, m, v = sp.MatrixSymbol("Z", n, d), sp.MatrixSymbol("A", n, n), sp.MatrixSymbol("V", n, d)
    both = (sp.Trace(z.T * m * v) + sp.Trace(z.T * z)).diff(z)
    apart = sp.Trace(z.T * m * v + z.T * z).diff(z)
    assert both != apart


def test_the_derivative_of_log_sum_exp_is_softmax() -> None:
    score = as_term(A)[i].T @ as_term(x)
    log_partition = Call("log", sum_over(i, exp(score)).entry())
    weights = sum_over(i, softmax(i, score) * as_term(A)[i][a])
    assert same(gradient(log_partition, x, (a,)), weights.entry())


def test_quadratic_forms_and_cross_terms() -> None:
    form = Sum(i, Sum(j, x[i] * A[i, j] * x[j]))
    assert same(gradient(form, x, (a,)), Sum(j, (A[a, j] + A[j, a]) * x[j]))
    assert same(
        gradient(gradient(form, x, (a,)), x, (Index("e", N),)), A[a, Index("e", N)] + A[Index("e", N), a]
    )


def test_free_indices_stay_free() -> None:
    assert same(gradient(x[i] ** 2, x, (a,)), 2 * Delta(i, a) * x[i])
    assert same(gradient(Sum(j, A[i, j] * x[j]), x, (a,)), A[i, a])


def test_derivatives_of_unknown_functions_have_an_order() -> None:
    energy = sum_over(i, apply("F", as_term(x)[i] * as_term(s))).entry()
    first = gradient(energy, x, (a,))
    assert same(first, s.scalar * Call("F", x[a] * s.scalar, 1))
    second = gradient(first, x, (Index("e", N),))
    assert same(second, s.scalar**2 * Delta(a, Index("e", N)) * Call("F", x[a] * s.scalar, 2))
    assert not same(first, s.scalar * Call("F", x[a] * s.scalar))


def test_chains_of_functions() -> None:
    nested = Call("F", Call("G", s.scalar**2))
    expected = 2 * s.scalar * Call("G", s.scalar**2, 1) * Call("F", Call("G", s.scalar**2), 1)
    assert same(gradient(nested, s, ()), expected)


def test_norms_of_matrices() -> None:
    assert same(gradient(squared_norm(as_term(Z) - as_term(V)).entry(), Z, (a, b)), 2 * (Z[a, b] - V[a, b]))


# ---------------------------------------------------------------- the guard


def test_a_derivative_that_vanishes_needs_a_reason() -> None:
    with pytest.raises(UnexpectedZero, match="derivative by x"):
        gradient(Sum(i, y[i] ** 2), x, (a,))
    assert gradient(Sum(i, y[i] ** 2), x, (a,), zero_because="x does not occur") == Num(Fraction(0))


@pytest.mark.parametrize("index", [i, a])
def test_the_place_of_the_derivative_must_not_occur(index: Index) -> None:
    with pytest.raises(ValueError, match="do not occur"):
        gradient(Sum(i, x[i] * x[a]), x, (index,))


def test_entries_of_a_symmetric_tensor_are_not_independent() -> None:
    with pytest.raises(ValueError, match="symmetric"):
        gradient(Sum(i, Sum(j, S[i, j] * x[j])), S, (a, Index("e", N)))


WRONG = {
    "a lost factor": lambda right: lambda e, t, at: Mul((Num(Fraction(1, 2)), right(e, t, at))),
    "a lost sign": lambda right: lambda e, t, at: -right(e, t, at),
    "another index": lambda right: lambda e, t, at: ix.rename(right(e, t, at), {at[0]: at[0].fresh()}),
    "an additional term": lambda right: lambda e, t, at: right(e, t, at) + t[at],
    "zero in disguise": lambda right: lambda e, t, at: t[at] - t[at],
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("reason", ["", "it may vanish"])
def test_a_wrong_route_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, reason: str) -> None:
    monkeypatch.setattr(df, "index_route", WRONG[name](df.index_route))
    with pytest.raises((DerivativeMismatch, KeyError)):
        gradient(Sum(i, x[i] ** 3 * y[i]), x, (a,), zero_because=reason)


def test_a_wrong_rule_for_sums_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting the off-diagonal part: ∂(Σ x_i A_ij x_j)/∂x_a with the deltas of one factor only."""
    monkeypatch.setattr(df, "index_route", lambda e, t, at: Sum(j, A[at[0], j] * x[j]))
    with pytest.raises(DerivativeMismatch):
        gradient(Sum(i, Sum(j, x[i] * A[i, j] * x[j])), x, (a,))


def test_a_wrong_order_of_an_unknown_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(df, "index_route", lambda e, t, at: Call("F", x[at[0]]))
    with pytest.raises(DerivativeMismatch):
        gradient(Sum(i, Call("F", x[i])), x, (a,))


def test_zero_with_a_reason_must_be_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(df, "index_route", lambda e, t, at: Num(Fraction(0)))
    with pytest.raises(DerivativeMismatch):
        gradient(Sum(i, x[i] ** 2), x, (a,), zero_because="so it is said")


# ---------------------------------------------------------------- random expressions


@hs.composite
def expressions(draw: Any, depth: int = 3, scope: tuple[Index, ...] = (i,)) -> Expr:
    def inner(more: tuple[Index, ...] = ()) -> Expr:
        return draw(expressions(depth - 1, scope + more))

    match (
        draw(hs.sampled_from(["leaf", "add", "mul", "sum", "power", "call", "quotient"])) if depth else "leaf"
    ):
        case "add":
            return Add((inner(), inner()))
        case "mul":
            return Mul((inner(), inner()))
        case "sum":
            bound = draw(hs.sampled_from([i, j]))
            return Sum(bound, inner((bound,)))
        case "power":
            return Pow(inner(), Fraction(draw(hs.sampled_from([2, 3]))))
        case "call":
            return Call(draw(hs.sampled_from(["exp", "F"])), inner())
        case "quotient":
            return inner() / (1 + draw(hs.sampled_from([p[scope[0]], Sum(j, p[j])])))
    one, two = draw(hs.sampled_from(scope)), draw(hs.sampled_from(scope))
    return draw(hs.sampled_from([x[one], x[one], p[one], A[one, two], Delta(one, two), Num(Fraction(2))]))


@settings(max_examples=40, deadline=None)
@given(expressions())
def test_random_derivatives_agree_with_sympy_by_components(expr: Expr) -> None:
    """Other sizes and another place than the guard's own comparison uses."""
    result = gradient(expr, x, (a,), zero_because="random expressions need not depend on x")
    sizes = {N: 2}
    for place, entry in product(range(2), range(2)):
        whole = sp.sympify(evaluate(expr, sizes, sympy_lookup, SYMPY_FUNCTIONS, {i: place}))
        ours = evaluate(result, sizes, sympy_lookup, SYMPY_FUNCTIONS, {i: place, a: entry})
        direct = df._sympy_derivative(whole, sympy_lookup(x, (entry,)))
        assert sp.expand(direct - ours) == 0 or sp.simplify(direct - ours) == 0


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("((1 + x)**3 + x)**3*y", "(x**3 + 3*x**2 + 4*x + 1)**3*y", True),
        ("((1 + x)**3 + x)**3*y", "(x**3 + 3*x**2 + 4*x + 1)**3*y + y**9/10**9", False),
        ("sqrt(2)*(x + 1)**2/sqrt(2)", "x**2 + 2*x + 1", True),
        ("sqrt(2)*(x + 1)**2", "sqrt(2)*x**2 + 2*x + 1", False),
        ("(x + 1)/(x**2 - 1)", "1/(x - 1)", True),
    ],
)
def test_two_routes_are_compared_exactly(left: str, right: str, same: bool) -> None:
    assert df._same(sp.sympify(left), sp.sympify(right)) is same
