"""The closed form of normal means: against moments by another route, and what it refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.kinds.gaussian import GaussianMean
from checks.kinds.gaussian import mean as by_sympy
from checks.kinds.normal_mean import NormalMean
from checks.statement import Malformed
from derivations.calculus import index as ix
from derivations.calculus.components import evaluate
from derivations.calculus.functions import IN_SYMPY
from derivations.calculus.gradients import kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal_means import NoClosedForm, mean
from derivations.calculus.term import Term, apply, as_term, exp, size, squared_norm

W, X, Y = Tensor("w"), Tensor("x"), Tensor("y")
w, x, y = W.scalar, X.scalar, Y.scalar
SYMBOLS = {t: sp.Symbol(t.name, real=True) for t in (W, X, Y)}


def in_sympy(expr: ix.Expr) -> sp.Expr:
    return sp.sympify(evaluate(expr, {}, lambda tensor, _: SYMBOLS[tensor], IN_SYMPY))


@pytest.mark.parametrize(
    "expr",
    [
        ix.exp(x * w + y),
        ix.Call("cosh", x * w) * ix.exp(w),
        (ix.exp(x * w) - ix.exp(y * w)) ** 2,
        ix.exp(x * w) * Fraction(1, 3) + 2,
        w**4 + x * w**3,
        (w + y) ** 2 * ix.exp(x * w),
    ],
)
def test_exponentials_have_the_mean_that_integration_gives(expr: ix.Expr) -> None:
    found, integrated = in_sympy(mean(expr, W)), by_sympy(in_sympy(expr), SYMBOLS[W])
    assert integrated is not None and sp.simplify(sp.expand(found - integrated.rewrite(sp.exp))) == 0


@pytest.mark.parametrize(
    "expr",
    [
        ix.Call("cos", x * w) ** 3,
        ix.Call("sin", x * w + y) * ix.Call("cos", y * w - 1),
        ix.exp(x * w) * ix.Call("sin", y * w + Fraction(1, 2)) ** 2,
        ix.Call("sin", w) * ix.Call("sin", x * w) * ix.Call("cos", y * w),
        w**2 * ix.Call("cos", x * w) * ix.exp(y * w),
    ],
)
def test_waves_have_the_mean_that_quadrature_gives(expr: ix.Expr) -> None:
    import mpmath

    point = {SYMBOLS[X]: sp.Rational(2, 3), SYMBOLS[Y]: sp.Rational(-1, 2)}
    density = sp.exp(-(SYMBOLS[W] ** 2) / 2) / sp.sqrt(2 * sp.pi)
    f = sp.lambdify(SYMBOLS[W], (in_sympy(expr) * density).subs(point), "mpmath")
    by_nodes = mpmath.quad(f, [-mpmath.inf, 0, mpmath.inf])
    assert abs(by_nodes - sp.N(in_sympy(mean(expr, W)).subs(point), 20)) < 1e-12


def test_draws_that_are_the_same_are_told_from_others() -> None:
    draws, r, o = Tensor("Z", ("m",)), Index("r", "m"), Index("o", "m")
    squared = ix.total(ix.exp(draws[r]) * ix.exp(draws[o]), r, o)
    found = evaluate(mean(squared, draws), {"m": 3}, lambda *_: 0, IN_SYMPY)
    assert sp.simplify(found - (3 * sp.exp(2) + 6 * sp.exp(1))) == 0


VECTOR, U = Tensor("v", ("d",)), as_term(Tensor("u", ("d",)))
v, d = as_term(VECTOR), size("d")


@pytest.mark.parametrize("integrand, value, wrong", [
    (squared_norm(v), d, d + 1),
    ((U.T @ v) ** 2, squared_norm(U), 2 * squared_norm(U)),
    (squared_norm(v) ** 2, d * (d + 2), d**2),
    (v[Index("a", "d")] * v[Index("b", "d")], kronecker(Index("a", "d"), Index("b", "d")), as_term(1)),
    (as_term(W) ** 4, as_term(3), as_term(2)),
    (as_term(W) * apply("cos", as_term(X) * as_term(W)), as_term(0), as_term(X)),
], ids=str)  # fmt: skip
def test_powers_have_their_moments_for_every_size(integrand: Term, value: Term, wrong: Term) -> None:
    drawn = W if W in ix.tensors(integrand.entry()) else VECTOR
    assert judge(NormalMean(integrand, drawn, value)).proved
    refuted = judge(NormalMean(integrand, drawn, wrong))
    assert refuted.holds is False and not str(refuted.counterexample).startswith(":")


@pytest.mark.parametrize(
    "expr, words",
    [
        (1 / (1 + w**2), "neither a power"),
        (w**7, "more than 6 entries"),
        (w * ix.exp(w**2), "not linear"),
        (w * ix.Call("sin", x * w**2), "not linear"),
        (ix.exp(w**2), "not linear"),
        (ix.Call("cos", w * w * x), "not linear"),
        (1 / (1 + ix.exp(w)), "neither a power"),
        (ix.Call("cos", w) ** 7, "more than 6"),
        (ix.Call("log", 1 + ix.exp(w)), "neither a power"),
    ],
)
def test_what_it_does_not_know_is_refused_with_the_reason(expr: ix.Expr, words: str) -> None:
    with pytest.raises(NoClosedForm, match=words):
        mean(expr, W)


def test_the_statement_is_left_open_with_the_reason() -> None:
    found = judge(NormalMean(1 / (1 + as_term(W) ** 2), W, as_term(1)))
    assert found.holds is None and "no closed form is known" in found.evidence[-1].detail


def test_a_closed_form_that_quadrature_denies_decides_nothing(monkeypatch) -> None:
    statement = NormalMean(exp(as_term(X) * as_term(W)), W, exp(as_term(X) ** 2 / 2))
    assert judge(statement).proved
    wrong = mean((exp(2 * as_term(X) * as_term(W))).entry(), W)
    monkeypatch.setattr("checks.kinds.normal_mean.mean", lambda *_: wrong)
    other = NormalMean(statement.integrand, W, exp(2 * as_term(X) ** 2), label="another")
    assert judge(other).holds is None


@pytest.mark.timeout(60)
def test_the_variance_of_trigonometric_features_ends() -> None:
    a, b = sp.symbols("a b", real=True)
    v = sp.Symbol("v", real=True)
    squared = (sp.exp((a**2 + b**2) / 2) * sp.cos(v * (a - b)) - sp.exp(a * b)) ** 2
    value = sp.exp((a + b) ** 2) * sp.exp(-2 * a * b) * (1 - sp.exp(-((a - b) ** 2))) ** 2 / 2
    assert judge(GaussianMean(squared, v, value)).proved
    assert judge(GaussianMean(squared, v, 2 * value)).holds is False


def test_a_wave_of_a_square_is_left_open_with_the_reason() -> None:
    v = sp.Symbol("v", real=True)
    found = judge(GaussianMean(sp.cos(v**2), v, sp.Integer(1)))
    assert found.holds is None and "sines and cosines" in found.evidence[0].detail


def test_what_is_undefined_somewhere_or_everywhere_is_left_open() -> None:
    some, nowhere = as_term(X), as_term(X) - as_term(X)
    assert judge(NormalMean(exp(as_term(W)) / some, W, exp(as_term(1) / 2) / some)).holds is not True
    assert judge(NormalMean(exp(as_term(W)) / nowhere, W, as_term(1))).holds is None
    unknown = apply("f", some) * exp(as_term(W))
    assert judge(NormalMean(unknown, W, apply("f", some) * exp(as_term(1) / 2))).proved


def test_a_mean_of_an_array_or_of_nothing_drawn_is_malformed() -> None:
    for statement in (
        NormalMean(as_term(X), W, as_term(X)),
        NormalMean(exp(as_term(W)), W, apply("cos", as_term(W))),
        NormalMean(as_term(Tensor("v", ("N",))), W, as_term(Tensor("v", ("N",)))),
    ):
        with pytest.raises(Malformed):
            judge(statement)
