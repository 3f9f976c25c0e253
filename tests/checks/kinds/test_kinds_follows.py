"""Consequences by certificate, rays and Gaussian means: engines that must be able to say no."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
import sympy as sp

from checks.engine.judge import judge
from checks.kinds.exact_svd import FAMILIES
from checks.kinds.examples import Point
from checks.kinds.follows import Equation, Follows, certificate_error
from checks.kinds.gaussian import GaussianMean, mean
from checks.kinds.unbounded import Bounded, Ray, bound_error
from checks.statement import Malformed
from derivations.calculus.index import Index, Tensor
from derivations.calculus.maxima import maximum
from derivations.calculus.program import Program
from derivations.calculus.signs import nonnegative
from derivations.calculus.term import Term, as_term, exp, log, sqrt, squared_norm, sum_over, trace

M, N, R = "M", "N", "r"
A, U, V = as_term(Tensor("A", (N, M))), as_term(Tensor("U", (N, R))), as_term(Tensor("V", (M, R)))
s = as_term(Tensor("s", (R,), positive=True))
X = as_term(Tensor("X", (R, M)))
residual = Tensor("R_X", (N, M))
Z, TAU = as_term(Tensor("z", (N,))), as_term(Tensor("tau"))
HYPOTHESIS = Equation(A, U @ X, residual)
FAMILY = "rational singular value decompositions"


def statement(**changes: object) -> Follows:
    """2 U X = 2 A, with the certificate that the hypothesis is."""
    right = Follows((HYPOTHESIS,), 2 * (U @ X), 2 * A, -2 * as_term(residual), FAMILY)
    return replace(right, **changes)


def test_a_true_consequence_is_proved() -> None:
    finding = judge(statement())
    assert finding.proved
    assert finding.mutants.tried == finding.mutants.killed + finding.mutants.equivalent


def test_a_false_conclusion_meets_an_instance() -> None:
    finding = judge(statement(rhs=3 * A))
    assert finding.holds is False
    assert "the conclusion does not" in finding.counterexample


@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        (as_term(residual), "not an identity"),
        (U @ X - A, "no residual"),
        (2 * as_term(residual), "not an identity"),
    ],
)
def test_wrong_certificates_prove_nothing(certificate: Term, why: str) -> None:
    wrong = statement(certificate=certificate)
    assert why in certificate_error(wrong)
    finding = judge(wrong)
    assert not finding.proved
    assert finding.holds is None  # true on every instance, and yet one leg is not enough


def test_a_family_must_satisfy_the_hypotheses() -> None:
    with pytest.raises(ValueError, match="does not satisfy"):
        judge(statement(hypotheses=(Equation(A, 2 * (U @ X), residual),)))


PLAIN = tuple(Tensor(name) for name in "uab")
u_, a_, b_ = map(as_term, PLAIN)
HALVES = Equation(a_, u_ * b_, Tensor("R_u"))


def points(*values: tuple[Fraction, Fraction, Fraction]) -> tuple[Point, ...]:
    return tuple(Point((), tuple(zip(PLAIN, v, strict=True))) for v in values)


GOOD = points((1, 2, 2), (3, 6, 2), (Fraction(1, 2), -2, -4))


def of_points(factor: int, family: tuple[Point, ...] = GOOD) -> Follows:
    """2 u b = factor a, where a = u b."""
    return Follows((HALVES,), 2 * u_ * b_, factor * a_, -2 * as_term(HALVES.residual), family)


def test_a_family_may_be_points_of_ones_own() -> None:
    right = judge(of_points(2))
    assert right.proved and right.mutants.killed and not right.mutants.survivors
    wrong = judge(of_points(3))
    assert wrong.holds is False and "u = 1" in wrong.counterexample


@pytest.mark.parametrize(
    ("family", "why"),
    [
        (GOOD[:2], "at least 3 points"),
        ("singular values", "at least 3 points, or one of rational singular value decompositions, "),
        (points((1, 2, 2), (3, 6, 2), (1, 1, 2)), "a point of the family does not satisfy a = u"),
        (tuple(Point((), p.values[:2]) for p in GOOD), "gives no values for b"),
    ],
)
def test_points_that_are_no_family_are_refused(family: object, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        judge(of_points(2, family))


def test_inequalities_need_visibly_nonnegative_remainders() -> None:
    zero = as_term(0)
    base = Follows(
        (HYPOTHESIS,), squared_norm(U @ X), zero, zero, FAMILY, relation=">=", squares=squared_norm(U @ X)
    )
    assert certificate_error(base) == ""
    assert judge(base).proved
    assert "visibly" in certificate_error(replace(base, squares=trace(X @ V)))
    assert "not an identity" in certificate_error(replace(base, squares=2 * squared_norm(U @ X)))


def test_vanishing_sums_of_squares() -> None:
    i, j = Index("i", N), Index("j", M)
    difference = (U @ X - A).T @ as_term(residual)
    base = Follows((HYPOTHESIS,), (U @ X)[i, j], A[i, j], -trace(difference), FAMILY, over=(i, j))
    assert certificate_error(base) == ""
    assert certificate_error(replace(base, factor=as_term(-1))) != ""
    assert certificate_error(replace(base, squares=squared_norm(X))) != ""


def test_nonnegative_terms() -> None:
    a = Index("a", R)
    free = as_term(Tensor("f", (R,)))
    assert nonnegative((s[a] * free[a] ** 2).entry())
    assert not nonnegative(free[a].entry())
    assert not nonnegative((-(free[a] ** 2)).entry())
    assert not nonnegative((free[a] ** 3).entry())


def test_every_family_is_exact_and_seeded() -> None:
    import random

    for family in FAMILIES.values():
        assert family(random.Random(3)) == family(random.Random(3))


def test_families_and_their_symbols_are_listed() -> None:
    said = " ".join((Follows.__doc__ or "").split())
    for name in FAMILIES:
        kind, _, features = name.partition(", f(X): ")
        assert kind in said and features in said
    strange = as_term(Tensor("Y", (N, M)))
    with pytest.raises(
        Malformed, match=r"no values for Y: it has values for A, U, V, X, s, of sizes N, M, r"
    ):
        judge(statement(rhs=2 * A + strange))
    other = as_term(Tensor("A", ("P", M)))
    with pytest.raises(Malformed, match=r"no values for P: .* of sizes N, M, r"):
        judge(replace(statement(), hypotheses=(), lhs=other, rhs=2 * other))
    with pytest.raises(Malformed, match="or one of rational singular"):
        judge(statement(family="?"))


x, t = Tensor("x", (), "x"), Tensor("t", (), "t")
SQUARE = as_term(x) ** 2


def test_bounds_and_rays() -> None:
    below = Program("square", (x,), SQUARE)
    proved = Bounded(below, bound=as_term(0), gap=SQUARE)
    assert judge(proved).proved
    assert bound_error(replace(proved, gap=2 * SQUARE))
    assert bound_error(replace(proved, program=replace(below, maximise=True)))
    up = Ray(t, ((x, (), as_term(t)),), as_term(1))
    found = judge(Bounded(replace(below, maximise=True), up))
    assert found.holds is False and "along x = t the objective" in found.counterexample
    step = Tensor("r", ())
    named = judge(Bounded(replace(below, maximise=True), Ray(step, ((x, (), as_term(step)),), as_term(1))))
    assert "along x = r the objective" in named.counterexample and "100 at r = 10" in named.counterexample
    assert judge(Bounded(below, up)).holds is None
    assert judge(Bounded(below, replace(up, growth=as_term(-1)))).holds is None
    rate = sqrt(1 + exp(as_term(Tensor("a", ()))))  # has no exact value at a = 1
    steep = Program("steep", (x,), rate * SQUARE, maximise=True)
    found = judge(Bounded(steep, replace(up, growth=rate)))
    assert found.holds is False and "unbounded above" in found.counterexample


def test_gaussian_mean() -> None:
    w, z = sp.Symbol("w", real=True), sp.Symbol("z", real=True)
    assert judge(GaussianMean(sp.exp(w * z), w, sp.exp(z**2 / 2))).proved
    wrong = judge(GaussianMean(sp.exp(w * z), w, sp.exp(z**2)))
    assert wrong.holds is False
    assert "z = 1" in wrong.counterexample
    assert judge(GaussianMean(w**2, w, sp.Integer(1))).proved


@pytest.mark.parametrize("power", range(4))
def test_powers_beside_exponentials_have_the_mean_that_integration_gives(power: int) -> None:
    w, s = sp.Symbol("w", real=True), sp.Symbol("s", real=True)
    integrand = w**power * sp.exp(s * w - 1) / (1 + s**2)
    density = sp.exp(-(w**2) / 2) / sp.sqrt(2 * sp.pi)
    at = {s: sp.Rational(1, 3)}
    with mpmath.workdps(40):
        numbers = sp.lambdify(w, (integrand * density).subs(at), "mpmath")
        expected = mpmath.quad(numbers, [-mpmath.inf, -4, 0, 4, mpmath.inf])
        assert abs(sp.N(mean(integrand, w).subs(at), 40) - expected) < 1e-25


def projected(at: Index) -> Term:
    """Entry of the projection on the simplex: what is left of z above a threshold."""
    return maximum(Z[at] - TAU, as_term(0))


@pytest.mark.parametrize(("sign", "holds"), [(1, True), (-1, None)])
def test_a_certificate_may_need_what_is_known_of_ramps(sign: int, holds: bool | None) -> None:
    """No point of the simplex is nearer to z than max(z - τ, 0); another sign of τ makes the certificate false."""
    i, q, r, t = Index("i", N), as_term(Tensor("q", (N,))), Tensor("r"), Tensor("t")
    other, gap = maximum(q[i], as_term(0)), as_term(r) - as_term(t)
    half = Fraction(1, 2)
    points = tuple(
        Point((("N", 2),), ((Tensor("z", (N,)), z), (Tensor("tau"), tau), (Tensor("q", (N,)), q)))
        for z, tau, q in (((1, 0), 0, (half, half)), ((half, 0), -half / 2, (1, -1)), ((3, 0), 2, (0, 1)))
    )
    found = judge(
        Follows(
            (Equation(sum_over(i, other), as_term(1), t), Equation(sum_over(i, projected(i)), as_term(1), r)),
            sum_over(i, (other - Z[i]) ** 2) / 2,
            sum_over(i, (projected(i) - Z[i]) ** 2) / 2,
            sign * TAU * gap,
            points,
            ">=",
            squares=sum_over(i, (other - projected(i)) ** 2) / 2
            + sum_over(i, other * maximum(TAU - Z[i], as_term(0))),
        )
    )
    assert found.holds is holds
    assert found.mutants.tried == found.mutants.killed + found.mutants.equivalent


def test_points_of_a_family_give_exact_values() -> None:
    p, q = (Tensor(name, (), positive=True) for name in "pq")
    points = tuple(Point((), ((p, value), (q, value))) for value in (1, 2, 3))
    same = Equation(as_term(p), as_term(q), Tensor("r"))
    with pytest.raises(Malformed, match="has an exact value, and here the logarithm is not rational"):
        judge(Follows((same,), log(as_term(p)), log(as_term(q)), as_term(same.residual), points))
