"""The claims of farooq2025: verdicts, and checks of what their notes say by other means."""

from __future__ import annotations

import inspect
import re
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from checks.claim import Options, built
from checks.kinds.cost import Assign, Cost, count
from checks.kinds.implication import certificate_error
from checks.leg import Climbing, Named
from checks.papers.farooq2025 import table1
from checks.papers.farooq2025.legs import solvers as solver_legs
from checks.papers.farooq2025.legs import tensors as legs
from checks.papers.farooq2025.section3 import VALUES_OF_TWO, WEIGHTS_OF_TWO, aligned_of_two
from checks.run import ledger
from checks.run.registry import load
from checks.run.verify import assumptions_for, examine
from checks.statement import Identity, parts
from derivations.calculus.gradients import grad
from derivations.calculus.index import free_indices
from derivations.calculus.normal import equal
from derivations.calculus.term import sum_over
from derivations.theories.energy import forms as en
from derivations.theories.energy.extrema import bounded_below, descent_words, interval, step_words
from derivations.theories.energy.forms import A, V, i, j, k, m, r_
from derivations.theories.energy.shape import (
    U,
    bounded_slopes,
    local_kinds,
    shape_of,
    sign_on_reals,
    sympy_function,
)
from derivations.theories.energy.steps import (
    EnergyAssumptions,
    breaking_value,
    derive,
    geometry,
    inertia,
    second_form,
    stationary,
    validate,
    verdict_at_attention,
)

PAPER = "farooq2025"
CLAIMS = {c.id.split("/")[1]: c for c in load().values() if c.paper == PAPER}


def test_nothing_is_refuted() -> None:
    assert "refuted" not in {ledger.expected()[claim.id] for claim in CLAIMS.values()}
    assert all(parent.split("/")[1] in CLAIMS for c in CLAIMS.values() for parent in c.rests_on)


def attention_rows(counterexample: str) -> list[list[Fraction]]:
    """The rows of the weights A that a counterexample offers."""
    found = re.findall(r"\bA = \[(.*?)\](?:;|$)", counterexample)
    rows = [row for weights in found for row in re.findall(r"\(([^()]*)\)", weights)]
    return [[Fraction(entry) for entry in row.split(",")] for row in rows]


def test_rows_of_weights_are_read() -> None:
    assert attention_rows("n = 2; A = [(1, 1), (1/2, 1/2)]; V = [(2, 0)]") == [[1, 1], [Fraction(1, 2)] * 2]


@pytest.mark.slow  # tests/checks/run/test_claims.py judges every claim with its legs
@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_every_claim_is_settled_without_its_legs(name: str) -> None:
    claim = replace(CLAIMS[name], legs=())
    record = examine(claim, assumptions_for(claim, {}), Options())
    assert record.verdict in ("proved", "corrected", "definition"), record.evidence
    assert record.mutants.survivors == []
    if record.verdict == "corrected":
        assert record.counterexample and record.severity
        assert all(sum(row) == 1 and min(row) > 0 for row in attention_rows(record.counterexample))
    assert all(parent.split("/")[1] in CLAIMS for parent in record.rests_on)


def test_every_leg_is_attached() -> None:
    used = {leg for claim in CLAIMS.values() for leg in claim.legs}
    for module in (legs, solver_legs):
        written = {
            Named(module.__name__, name)
            for name, f in vars(module).items()
            if isinstance(f, Climbing) or (inspect.isfunction(f) and "assumptions" in f.__annotations__)
        }
        assert written and {leg.name for leg in written - used} <= {
            "step_law",
            "energy_change",
        }  # parts of one


def test_the_certificate_for_the_gradient_at_attention_can_fail() -> None:
    statement = built(CLAIMS["prose-gradient-nonzero"].corrected, None)
    ((name, multiplier),) = statement.multipliers
    assert certificate_error(statement) == ""
    assert certificate_error(replace(statement, multipliers=((name, 2 * multiplier),)))
    assert certificate_error(statement.without(name))


def flipped(identity: Identity) -> Identity:
    """The identity with the sign of its right side changed."""
    return replace(identity, rhs=-identity.rhs, chain=())


@pytest.mark.parametrize("name", [n for n, c in CLAIMS.items() if c.role != "definition"])
def test_no_proved_identity_survives_a_wrong_sign(name: str) -> None:
    from checks.engine.judge import identity

    claim = CLAIMS[name]
    for statement in (claim.literal, claim.corrected):
        for part in parts(built(statement, assumptions_for(claim, {}))) if statement else ():
            if isinstance(part, Identity) and identity(part, 0, False).proved and part.rhs.latex() != "0":
                assert identity(flipped(part), 0, False).holds is False


def coefficients(weights: list[list[Fraction]], values: list[list[Fraction]]) -> list[Fraction]:
    """c_j by the double sum of (37), written as loops."""
    n, width = len(weights), len(values[0])

    def dot(a: int, b: int) -> Fraction:
        return sum(values[a][x] * values[b][x] for x in range(width))

    return [
        sum(weights[m][c] * weights[m][p] * dot(p, c) for m in range(n) for p in range(n)) for c in range(n)
    ]


def test_coefficients_take_both_signs() -> None:
    half, third = Fraction(1, 2), Fraction(1, 3)
    weights = [[half, half], [third, 2 * third]]
    assert coefficients(weights, [[Fraction(1)], [Fraction(-1)]]) == [Fraction(-1, 9), Fraction(2, 9)]
    wide = [[Fraction(1), Fraction(0)], [Fraction(-1), Fraction(0)]]
    assert coefficients(weights, wide)[0] == Fraction(-1, 9)
    assert sum((weights[r][0] * wide[0][0] + weights[r][1] * wide[0][1]) ** 2 for r in range(2)) == Fraction(
        13, 36
    )


def test_coefficients_without_stored_dot_products_take_more_than_is_stated() -> None:
    afresh = sum_over(m, A[m, j] * sum_over(r_, A[m, r_] * sum_over(k, V[r_, k] * V[j, k])))
    assert str(count((Assign(en.c_vector, (j,), afresh),), ("n", "d_v"))) == "d_v*n**3 + n**3 + n**2"


def test_alignments_are_displayed_in_the_order_in_which_they_are_counted() -> None:
    """As (26) prints them they take n², not n d_v, besides n²d_v: that form would not be what is counted."""
    printed = sum_over(m, A[m, j] * sum_over(k, en.Z[m, k] * V[j, k]))
    assert str(count((Assign(table1.u_, (j,), printed),), ("n", "d_v"))) == "d_v*n**2 + n**2"
    assert str(count(table1.ALIGNMENTS, ("n", "d_v"))) == "d_v*n**2 + d_v*n"
    assert r"\left(A^{\top} \bar{Z}\right)" in CLAIMS["tab1-step9"].literal.statement_latex()
    for statement in (CLAIMS["tab1-step7"].literal, CLAIMS["tab1-step7"].corrected):
        (cost,) = (part for part in parts(statement) if isinstance(part, Cost))
        assert r"\left(A^{\top} Z\right)" in cost.statement_latex()


@pytest.mark.parametrize("name", ["eq4", "prose-fixed-points-mhn"])
def test_at_an_equilibrium_the_whole_gradient_vanishes(name: str) -> None:
    """With one index for both sides the rule would be about each entry alone."""
    rule = CLAIMS[name].literal
    (gradient,) = (free_indices(h.term.entry()) for h in rule.hypotheses)
    assert gradient and not gradient & free_indices(rule.conclusion.term.entry())


def test_odd_powers_can_have_a_maximum_at_attention() -> None:
    """A = 1/3, V = (-9, 6, 6), p = 3: with s the sum of the states, u_j = g_j s, g = (-3, 2, 2), and AV
    has s = 1 · 3/3.
    """
    s = sp.Symbol("s")
    g = (-3, 2, 2)
    total = sum(sp.Rational(v, 3) for v in (-9, 6, 6)) * 3
    c = [x * total for x in g]
    energy = sum((x * s) ** 3 for x in g) - 3 * sum(w**2 * x * s for w, x in zip(c, g, strict=True))
    assert sp.diff(energy, s).subs(s, total) == 0
    assert sp.diff(energy, s, 2).subs(s, total) < 0


def test_cubic_descent_runs_off() -> None:
    z = sp.Symbol("z")
    slope = sp.diff(z**3 - 3 * z, z)
    assert slope.subs(z, -2) == 9
    assert sp.diff(slope, z).subs(z, -2) < 0  # the further left, the longer the step


def test_limit_of_the_quadratic_descent_depends_on_the_start() -> None:
    """n = 1, d_v = 2, V = (1, 0), η = 1/2: (0, 1) goes to (1, 1) and stays, while AV = (1, 0)."""
    state = [Fraction(0), Fraction(1)]
    for _ in range(3):
        u = state[0]
        state = [state[0] - Fraction(1, 2) * 2 * (u - 1), state[1]]
        assert state == [1, 1]


def test_gradient_is_not_a_wrong_one() -> None:
    slope = grad(en.energy(en.F), en.Z_)[i, k].entry()
    right = sum_over(j, en.F(en.u(j), 1) * A[i, j] * V[j, k])
    assert equal(slope, right.entry())
    assert not equal(slope, sum_over(j, en.F(en.u(j), 1) * A[j, i] * V[j, k]).entry())
    assert not equal(slope, sum_over(j, en.F(en.u(j), 0) * A[i, j] * V[j, k]).entry())


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("u^2", ">0"), ("u^4", ">=0"), ("u^3", "both"), ("u^4-u^2", "both"), ("exp(u)", ">0"), ("log(cosh(u))", ">0"),
        ("tanh(u)", "both"), ("-u^2", "<0"), ("-u^4", "<=0"), ("u", "=0"), ("cosh(u)", ">0"), ("sqrt(u^2+1)", ">0"),
        # zeros that are nearer to each other than 1e-16, and than thirty digits tell apart
        ("(u-1)^4/12-3e-17*(u-1)^3/6+1e-17*1e-17*(u-1)^2", "both"),
        ("(u-1)^6/30-1e-29*(u-1)^5/10+1e-29*1e-29*(u-1)^4/12", ">=0"),
    ],
)  # fmt: skip
def test_shape_of_functions(text: str, second: str) -> None:
    assert shape_of(text).second == second


def test_signs_agree_with_values() -> None:
    u = sp.Symbol("u", real=True)
    for text in ("u^4-u^2", "tanh(u)", "exp(u)-u^2", "u^6-3*u^2", "log(cosh(u))-u^2/4"):
        second = sp.diff(sympy_function(text), u, 2)
        values = [second.subs(u, sp.Rational(n, 4)).evalf() for n in range(-20, 21)]
        answer = sign_on_reals(second)
        if answer == "both":
            assert min(values) < 0 < max(values)
        elif answer != "undecided":
            assert all((v > -1e-12) if ">" in answer else (v < 1e-12) for v in values)


def test_stationarity_by_regulariser() -> None:
    for text in ("u^2", "u^3", "exp(u)", "log(cosh(u))"):
        assert stationary(EnergyAssumptions(F=text, regulariser="matching"), text) is True
        assert stationary(EnergyAssumptions(F=text, regulariser="none"), text) is False
        assert stationary(EnergyAssumptions(F=text), text) is (text == "u^2")
    assert breaking_value(EnergyAssumptions(), "u^3") == 1
    assert stationary(EnergyAssumptions(F="u^3", regulariser="section5"), "u^3") is True


def test_verdicts_at_attention() -> None:
    assert verdict_at_attention("u^4", True)[0].startswith("global minimum")
    assert verdict_at_attention("-u^2", True)[0].startswith("global maximum")
    assert "not bounded below" in verdict_at_attention("u^3", True)[0]
    assert verdict_at_attention("u", True)[0] == "every Z"
    assert verdict_at_attention("u^2", False)[0] == "not stationary"
    assert verdict_at_attention("u^2", None)[0] == "undecided"


def test_hessian_form_is_proved() -> None:
    assert second_form()[1]


def test_derivation_follows_the_assumptions() -> None:
    titles = [
        s.title
        for s in derive(EnergyAssumptions(F="log(cosh(u))", regulariser="matching", initial_state="zero"))
    ]
    assert titles[-6:] == ["At AV", "Stationary states", "Verdict", "Lower bound", "Descent", "Step size"]
    last = derive(
        EnergyAssumptions(F="log(cosh(u))", regulariser="matching", initial_state="zero", step="1/3")
    )
    assert "the limit is AV" in last[-2].reason
    assert "0 < η < 2/λ_max(G)" in last[-1].reason and "λ_max(G) < 6" in last[-1].reason
    printed = {s.title: s for s in derive(EnergyAssumptions(F="log(cosh(u))"))}
    assert "not stationary" in printed["Verdict"].latex
    assert "[-1, 1]" in printed["Lower bound"].latex and "leaves it" in printed["Descent"].reason
    assert not any("NOT" in s.reason for s in derive(EnergyAssumptions()))


@pytest.mark.parametrize(
    ("text", "slopes"),
    [
        ("u", sp.FiniteSet(1)), ("u^2", sp.S.Reals), ("u^3", sp.S.EmptySet), ("u^4-u^2", sp.S.Reals),
        ("exp(u)", sp.Interval(0, sp.oo)), ("exp(-u)-u", sp.Interval(-sp.oo, -1)), ("log(cosh(u))", sp.Interval(-1, 1)),
        ("-u^2", sp.S.EmptySet), ("tanh(u)", sp.FiniteSet(0)), ("log(1+exp(u))", sp.Interval(0, 1)),
        ("log(u^2+1)", sp.FiniteSet(0)), ("-log(u^2+1)", sp.S.EmptySet), ("exp(u)-u^2", sp.S.EmptySet),
    ],
)  # fmt: skip
def test_where_an_energy_of_one_alignment_is_bounded_below(text: str, slopes: sp.Set) -> None:
    assert bounded_slopes(text) == slopes
    u = sp.Symbol("u", real=True)
    for w in (-2, -1, 0, sp.Rational(1, 2), 1, 3):  # far out a function with a bound does not fall below -15
        values = [sp.N((sympy_function(text) - w * u).subs(u, far)) for far in (-(10**4), 10**4)]
        assert (min(values) > -15) == (slopes.contains(w) == sp.true), (w, values)


@pytest.mark.parametrize(
    ("text", "low", "high", "neither"),
    [("u^3", "(0, ∞)", "(-∞, 0)", "{0}"), ("u^4", "(-∞, ∞)", "EmptySet", "EmptySet"),
     ("u^4-6*u^2", "(-∞, -1) ∪ (1, ∞)", "(-1, 1)", "{-1, 1}"), ("u^5-u^4", None, None, None),
     ("u^6/30-u^4/3-u^3/6", None, None, None), ("u^5/20-u^3*2/3-u^2/2", None, None, None)],
)  # fmt: skip
def test_local_extrema_of_one_alignment(text: str, low: str, high: str, neither: str) -> None:
    kinds = local_kinds(text)
    assert kinds is not None and local_kinds("exp(u)") is None
    if low:
        assert [interval(kinds[k]) for k in ("minimum", "maximum", "neither")] == [low, high, neither]
    u, step = sp.Symbol("u", real=True), sp.Rational(1, 1000)
    F = sympy_function(text)
    for c in (sp.Rational(n, 5) for n in range(-10, 11)):
        beside = [
            (F - F.subs(u, c) - sp.diff(F, u).subs(u, c) * (u - c)).subs(u, c + s * step) for s in (-1, 1)
        ]
        kind = "minimum" if min(beside) > 0 else "maximum" if max(beside) < 0 else "neither"
        assert kinds[kind].contains(c) == sp.true, (c, beside)


def test_an_interval_that_ends_at_a_root_is_written_with_its_name() -> None:
    kinds = local_kinds("u^5/20-u^3*2/3-u^2/2")
    assert kinds is not None
    roots = [f"CRootOf(x**3 - 4*x - 1, {n})" for n in range(3)]
    assert interval(kinds["minimum"]) == f"({roots[0]}, {roots[1]}) ∪ ({roots[2]}, ∞)"


def test_directions_and_signs_of_the_hessian_are_proved_and_wrong_ones_are_not() -> None:
    for _, left, right in geometry():
        assert equal(left.entry(), right.entry()) and not equal(left.entry(), -right.entry())
    left, right = inertia()
    assert equal(left.entry(), right.entry()) and not equal(left.entry(), 2 * right.entry())


@pytest.mark.parametrize(
    ("text", "regulariser", "bounded"),
    [("exp(u)", "section7", "if every 2c_j lies in [0, ∞)"), ("exp(u)", "matching", "bounded below, for all"),
     ("u", "none", "not bounded below"), ("u^3", "matching", "not bounded below unless"), ("u^2", "none", "bounded below, for all"),
     ("-u^2", "matching", "not bounded below"), ("tanh(u)", "none", "bounded below, for all")],
)  # fmt: skip
def test_lower_bounds(text: str, regulariser: str, bounded: str) -> None:
    a = EnergyAssumptions(F=text, regulariser=regulariser)
    assert bounded in bounded_below(a, text, stationary(a, text))[0]


@pytest.mark.parametrize(
    ("text", "regulariser", "start", "words"),
    [("u^2", "matching", "zero", "the limit is AV"), ("u^2", "matching", "random", "part of the start"),
     ("u^2", "none", "given", "nearest to the start among those with F'(u_j) = 0"), ("u", "section7", "zero", "same amount"),
     ("u", "matching", "zero", "stays where it is"), ("exp(u)", "none", "zero", "no limit"), ("-u^2", "matching", "zero", "no limit"),
     ("u^3", "matching", "zero", "no limit is guaranteed"), ("exp(u)", "section7", "attention", "descent started there "
         "leaves it")],
)  # fmt: skip
def test_limits_of_descent(text: str, regulariser: str, start: str, words: str) -> None:
    a = EnergyAssumptions(F=text, regulariser=regulariser, initial_state=start)
    assert words in descent_words(a, text, stationary(a, text))


@pytest.mark.parametrize("text", ["u^2+exp(-u^2)/4", "u^4+exp(-u^2)", "u^2/2+exp(-u^2)/8"])
def test_what_is_not_decided_of_the_shape_is_not_said(text: str) -> None:
    for regulariser in ("none", "matching"):
        a = EnergyAssumptions(F=text, regulariser=regulariser)
        still = stationary(a, text)
        said = (descent_words(a, text, still), step_words(a, text, still), *verdict_at_attention(text, still))
        assert not any("is not convex" in words or "depends on c" in words for words in said)
        assert a.regulariser == "matching" or all("whether F is convex is not decided" in w for w in said[:2])


@pytest.mark.parametrize(
    ("text", "words"),
    [("sqrt(1+u^2)", "F'' ≤ 1"), ("3*log(cosh(u))", "F'' ≤ 3"), ("u^2+log(cosh(u))", "F'' ≤ 3"), ("u^2", "F'' ≤ 2"),
     ("u^2/2+sqrt(1+u^2)", "F'' ≤ 2"), ("2*sqrt(4*u^2+9)", "F'' ≤ 8/3"), ("u^2+log(1+exp(3*u))", "F'' ≤ 17/4"),
     ("log(1+u^2)", "|F''| ≤ 2"), ("u^4", "F'' is not bounded"), ("exp(u)", "F'' is not bounded"),
     ("sqrt(2+u^2)", "no bound of F'' was found")],
)  # fmt: skip
def test_bounds_of_the_curvature_are_found_or_said_not_to_be(text: str, words: str) -> None:
    found = step_words(EnergyAssumptions(F=text, regulariser="none"), text, False)
    assert words in found and "no η serves all starts" not in found
    top = shape_of(text).curvature
    values = [
        abs(sp.diff(sympy_function(text), U, 2).subs(U, sp.Rational(n, 7)).evalf()) for n in range(-99, 99)
    ]
    assert top is None or max(values) <= top + 1e-12


def test_an_energy_without_zeros_of_its_slope_has_a_minimum_where_alignments_are_constrained() -> None:
    a = EnergyAssumptions(F="exp(-u)", regulariser="none", initial_state="zero")
    words = descent_words(a, "exp(-u)", stationary(a, "exp(-u)"))
    assert "no limit" in words and "G nonsingular" in words
    mixed, values = np.full((2, 2), 0.5), np.array([[1.0], [-1.0]])  # u_1 = -u_2: E = e^(-u) + e^u
    state = np.array([[0.9], [0.4]])
    for _ in range(500):
        slopes = -np.exp(-(mixed.T @ state * values).sum(1))
        state = state - 0.2 * mixed @ (slopes[:, None] * values)
    assert np.abs(mixed @ (slopes[:, None] * values)).max() < 1e-12


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("F", "u^"), ("F", "__import__('os')"), ("F", "log(u)"), ("F", "1/u"), ("F", "3"), ("F", "u^(3/2)"), ("F", "log(u+5)"), ("F", "1/(u-3)"),
        ("step", "0"), ("step", "-1"), ("step", "fast"), ("regulariser", "some"), ("initial_state", "one"),
    ],
)  # fmt: skip
def test_wrong_values_of_knobs_are_refused(knob: str, value: str) -> None:
    with pytest.raises(ValueError):
        validate(knob, value)


@pytest.mark.parametrize(
    ("text", "words"),
    [("exp(exp(exp(exp(exp(u)))))", "numbers with too many digits"), ("cosh(u+sinh(cosh(exp(u))))", "too many digits"),
     ("u*sqrt(u^2)", "a second derivative at every real u"), ("u^3+(u^2)^(3/2)", "a second derivative at every real u")],
)  # fmt: skip
def test_what_sympy_would_not_finish_is_refused_up_front_each_time(text: str, words: str) -> None:
    for _ in range(3):
        start = time.monotonic()
        with pytest.raises(ValueError, match=words):
            validate("F", text)
        assert time.monotonic() - start < 10
    assert validate("F", "exp(exp(exp(u)))") is None


def test_eq76_follows_the_assumptions() -> None:
    claim = CLAIMS["eq76"]
    matched = EnergyAssumptions(F="exp(u)", regulariser="matching")
    assert examine(claim, matched, Options(), quick=True).verdict == "proved"
    assert examine(claim, EnergyAssumptions(F="u^2"), Options(), quick=True).verdict == "proved"
    assert examine(claim, EnergyAssumptions(F="exp(u)"), Options(), quick=True).verdict == "corrected"


@pytest.mark.parametrize(
    ("name", "start", "verdict"),
    [("tab1-step8", "attention", "corrected"), ("tab1-step8", "zero", "proved"), ("tab1-step8", "random", "proved"),
     ("prose-algorithm", "attention", "corrected"), ("prose-algorithm", "zero", "refuted"), ("prose-algorithm", "given", "refuted")],
)  # fmt: skip
def test_where_the_loop_starts_matters(name: str, start: str, verdict: str) -> None:
    assert (
        examine(CLAIMS[name], EnergyAssumptions(initial_state=start), Options(), quick=True).verdict
        == verdict
    )


@pytest.mark.parametrize(
    ("chosen", "verdict"),
    [
        ({"F": "u^2"}, "proved"),
        ({"F": "exp(u)", "regulariser": "matching"}, "proved"),
        ({"F": "u^2", "initial_state": "random"}, "refuted"),
        ({"F": "log(cosh(u))", "regulariser": "matching", "initial_state": "zero"}, "unsettled"),
        ({"F": "u^4/2"}, "unsettled"),
        ({"F": "u^4", "regulariser": "none", "initial_state": "given"}, "unsettled"),
        ({"F": "exp(u)", "regulariser": "none", "initial_state": "given"}, "refuted"),
        ({"F": "log(1+exp(u))", "regulariser": "none", "initial_state": "given"}, "refuted"),
    ],
)
def test_the_algorithm_settles_for_every_step_size_only_where_it_rests_at_its_start(
    chosen: dict[str, str], verdict: str
) -> None:
    """Small steps settle where F is convex, too, and a long one of u² swings for ever."""
    claim = replace(CLAIMS["prose-algorithm"], legs=())
    assert examine(claim, EnergyAssumptions(**chosen), Options(), quick=True).verdict == verdict


@pytest.mark.parametrize(
    ("start", "regulariser", "cycle"),
    [
        ("zero", "section7", "(0) -> (2) -> (0), a cycle"),
        ("attention", "none", "(1) -> (-1) -> (1), a cycle"),
        ("zero", "none", None),  # it stays there, whatever the step is
    ],
)
def test_the_loop_swings_from_where_it_starts(start: str, regulariser: str, cycle: str | None) -> None:
    assumed = EnergyAssumptions(F="u^2", regulariser=regulariser, initial_state=start)
    record = examine(replace(CLAIMS["prose-algorithm"], legs=()), assumed, Options(), quick=True)
    assert record.literal_holds is (False if cycle else None)
    assert (record.counterexample or "").endswith(cycle or "")


def test_alignments_are_not_taken_at_an_index_that_they_sum_over() -> None:
    for wrong in (lambda: en.c(en.r_), lambda: en.c(en.m), lambda: en.u(en.m)):
        with pytest.raises(ValueError, match="sums over"):
            wrong()


@pytest.mark.parametrize("text", ["exp(u)", "exp(-u)", "log(cosh(u))", "log(1+exp(u))"])
def test_printed_weights_outside_the_slopes_leave_no_state_of_rest(text: str) -> None:
    record = examine(CLAIMS["prose-algorithm"], EnergyAssumptions(F=text), Options(), quick=True)
    assert record.verdict == "corrected" and "inside the values of F'" in record.counterexample


def test_the_state_is_not_a_symbol_of_the_coefficients() -> None:
    assert en.Z_ not in {t for t in _tensors(en.c(j))}
    assert en.Z_ in _tensors(en.u(j))


def test_the_alignments_in_a_note_are_those_of_its_attention() -> None:
    """c = diag(AᵀA VVᵀ) of the two tokens in the notes of (38), (39) and (74), by another way."""
    a, v = sp.Matrix(WEIGHTS_OF_TWO), sp.Matrix(VALUES_OF_TWO)
    by_matrices = (a.T * a * v * v.T).diagonal()
    assert list(by_matrices) == [sp.Rational(c.numerator, c.denominator) for c in aligned_of_two()]
    assert min(by_matrices) < 0 and all(sum(row) == 1 for row in WEIGHTS_OF_TWO)


def _tensors(term: object) -> set:
    from derivations.calculus.index import tensors

    return tensors(term.entry())
