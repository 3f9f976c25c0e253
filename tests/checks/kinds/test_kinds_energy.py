"""The kinds that the claims about energies use: each accepts what is true and rejects what is not."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from checks.engine.judge import ENGINES
from checks.kinds.cost import Assign, Cost, count, run
from checks.kinds.differs import Differs
from checks.kinds.examples import Point
from checks.kinds.extremum import Extremum, nonnegative
from checks.kinds.family import Family
from checks.kinds.limit import Limit
from checks.kinds.scope import Scoped
from checks.kinds.stationary import Stationary
from checks.statement import Given, Identity, Malformed
from derivations.calculus.gradients import bregman, zeros
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, apply, as_term, diag, exp, squared_norm, stack, sum_over
from derivations.theories.energy import forms as en
from derivations.theories.energy.forms import AV, DV, A, N, V, Z, i, j, k, m

ETA = as_term(en.ETA)
SCALAR = Tensor("z", (), "z")
z = as_term(SCALAR)


def judged(statement: object, mutants: bool = False):
    """The finding of a statement's own engine."""
    return ENGINES[type(statement)](statement, 0, mutants)


def test_stationary_accepts_attention_and_rejects_its_mutants() -> None:
    finding = judged(Stationary(en.attention_energy(), en.Z_, AV), mutants=True)
    assert finding.proved
    assert finding.mutants.killed + finding.mutants.equivalent == finding.mutants.tried > 5
    assert not finding.mutants.survivors


@pytest.mark.parametrize("point", [-AV, 2 * AV, zeros(N, DV)])
def test_stationary_rejects_other_points(point: Term) -> None:
    finding = judged(Stationary(en.attention_energy(), en.Z_, point))
    assert finding.holds is False
    assert finding.counterexample


def test_a_mutant_that_is_constant_is_stationary_everywhere() -> None:
    one = Tensor("x", ())
    finding = judged(Stationary(as_term(one) ** 2 + 1, one, as_term(0)), mutants=True)
    assert finding.proved and finding.mutants.killed and not finding.mutants.survivors
    assert judged(Stationary(as_term(one) ** 2 + as_term(one), one, as_term(0))).holds is False


def test_stationary_rejects_a_regulariser_with_the_wrong_sign() -> None:
    assert judged(Stationary(en.energy(en.F) + en.matching(), en.Z_, AV)).proved
    assert judged(Stationary(en.energy(en.F) - en.matching(), en.Z_, AV)).holds is False


def test_extremum_proves_the_minimum_and_its_uniqueness() -> None:
    only = Extremum(en.attention_energy(), en.Z_, AV, "the only global minimum", above=en.completed_square())
    finding = judged(only, mutants=True)
    assert finding.proved and not finding.mutants.survivors


ONE = as_term(Tensor("x"))


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (ONE**2 / 2, "the only global minimum"),
        (Fraction(1, 2) * ONE**2, "the only global minimum"),
        (3 * ONE**2 / 4, "the only global minimum"),
        (-(ONE**2) / 2, "the only global maximum"),
        (as_term(Tensor("c", (), positive=True)) * ONE**2 / 2, "the only global minimum"),
    ],
)
def test_any_positive_multiple_of_the_squared_distance_has_one_extremum(factor: Term, says: str) -> None:
    assert judged(Extremum(factor, Tensor("x"), as_term(0), says, above=factor)).proved


def test_a_multiple_of_something_else_has_more() -> None:
    x, y = Tensor("x"), as_term(Tensor("y"))
    energy = y**2 * ONE**2 / 2
    assert judged(Extremum(energy, x, as_term(0), "a global minimum", above=energy)).proved
    assert judged(Extremum(energy, x, as_term(0), "the only global minimum", above=energy)).holds is False


@pytest.mark.parametrize("says", ["a global maximum", "a local maximum"])
def test_extremum_does_not_prove_the_opposite(says: str) -> None:
    wrong = Extremum(en.attention_energy(), en.Z_, AV, says, above=en.completed_square())
    assert judged(wrong).holds is (None if "local" in says else False)


def test_extremum_rejects_a_wrong_difference() -> None:
    wrong = Extremum(en.attention_energy(), en.Z_, AV, "a global minimum", above=squared_norm(Z - AV))
    assert judged(wrong).holds is None  # a wrong formula for the difference refutes nothing


def test_uniqueness_is_not_granted_to_a_flat_valley() -> None:
    above = sum_over(j, (en.u(j) - en.c(j)) ** 2)
    energy = en.energy(en.square) - 2 * en.pairing(lambda at: en.c(at))
    assert judged(Extremum(energy, en.Z_, AV, "a global minimum", above=above)).proved
    assert judged(Extremum(energy, en.Z_, AV, "the only global minimum", above=above)).holds is False


def test_a_divergence_of_a_strictly_convex_function_leaves_one_minimum() -> None:
    x, at = Tensor("x"), as_term(Tensor("a"))
    energy, says = exp(ONE) - exp(at) * ONE, "the only global minimum"
    assert judged(Extremum(energy, x, at, says, above=bregman("exp", ONE, at))).proved
    ramp = apply("relu", ONE)
    assert judged(Extremum(ramp, x, as_term(0), says, above=bregman("relu", ONE, as_term(0)))).holds is False


def test_bregman_differences_need_convexity() -> None:
    energy, above = en.energy(en.F) + en.matching(), sum_over(j, bregman("F", en.u(j), en.c(j)))
    assert judged(Extremum(energy, en.Z_, AV, "a global minimum", above=above)).holds is None
    assert judged(Extremum(energy, en.Z_, AV, "a global minimum", above=above, convex=("F",))).proved


def test_visible_signs() -> None:
    assert nonnegative(sum_over(j, en.u(j) ** 2))
    assert not nonnegative(sum_over(j, en.u(j) ** 3))
    assert not nonnegative(-squared_norm(Z))
    assert not nonnegative(en.u(j) ** 2 - en.c(j) ** 2)
    assert nonnegative(bregman("exp", en.u(j), en.c(j)), ("exp",))
    assert not nonnegative(bregman("F", en.u(j), en.c(j)), ("exp",))


def cubic(says: str) -> Extremum:
    """z³ - 3z at its stationary point 1."""
    point = Point(((N, 1),), ((Tensor("one", ()), 1),))
    return Extremum(z**3 - 3 * z, SCALAR, as_term(1), says, witness=point, direction=1)


def test_directions_decide_local_and_global_separately() -> None:
    assert judged(cubic("a local minimum")).holds is None  # t³ + 3t²: nothing against it
    assert judged(cubic("a local maximum")).holds is False
    assert judged(cubic("a global minimum")).holds is False
    assert judged(cubic("bounded below")).holds is False
    other = as_term(Tensor("a", ()))
    with pytest.raises(Malformed, match="no values for a"):
        judged(replace(cubic("a global minimum"), energy=z**3 - 3 * other * z))


def step(factor: Term) -> Limit:
    """Z + factor (AV - Z), said to converge for 0 < η < 2."""
    return Limit(en.Z_, Z + factor * (AV - Z), AV, rate=1 - factor, high=Fraction(2))


def test_limit_proves_the_range_of_step_sizes_exactly() -> None:
    finding = judged(step(ETA), mutants=True)
    assert finding.proved and finding.mutants.tried > 10 and not finding.mutants.survivors
    assert judged(step(2 * ETA)).holds is False  # the range is (0, 1)


@pytest.mark.parametrize(
    "wrong",
    [Z + ETA * AV, Z + ETA * (AV + Z), Z + ETA * (2 * AV - Z), Z - ETA * Z],
    ids=["drift", "sign", "factor", "zero"],
)
def test_limit_refutes_steps_that_lead_elsewhere(wrong: Term) -> None:
    finding = judged(Limit(en.Z_, wrong, AV))
    assert finding.holds is False and finding.counterexample


V1 = as_term(Tensor("v"))
GAMMA, STATE, INPUT = Tensor("gamma", (), r"\gamma"), Tensor("s", ("d",)), as_term(Tensor("c", ("d",)))


def fading(pole: Term, rate: Term, low: Fraction, high: Fraction | None) -> Limit:
    """A state that goes to c / pole, which may be undefined outside of the interval."""
    goal = INPUT / pole
    moved = rate * (as_term(STATE) - goal) + goal
    return Limit(STATE, moved, goal, GAMMA, rate, low, high)


@pytest.mark.parametrize("low, high, pole, rate, holds", [
    (-1, 1, lambda g: 1 - g, lambda g: g, True),
    (0, 1, lambda g: g, lambda g: g, True),
    (1, None, lambda g: g - 1, lambda g: 1 / g, True),
    (0, 1, lambda g: g - Fraction(1, 2), lambda g: g, None),
    (-1, 2, lambda g: 1 - g, lambda g: g, None),
])  # fmt: skip
def test_a_limit_need_not_be_defined_outside_of_the_range(
    low: int, high: int | None, pole: Any, rate: Any, holds: bool | None
) -> None:
    g, end = as_term(GAMMA), None if high is None else Fraction(high)
    assert judged(fading(pole(g), rate(g), Fraction(low), end)).holds is holds


@pytest.mark.parametrize("name", ["t", "t'", "u"])
def test_the_step_size_runs_through_the_interval_whatever_is_defined(name: str) -> None:
    """z/2 + |γ - t| with t := 1 goes to 0 for γ = t alone; once γ was put as that t."""
    one = Tensor(name, positive=True)
    given = (Given(one, (), as_term(1), "one"),)
    off = apply("abs", as_term(GAMMA) - as_term(one))
    wrong = Limit(SCALAR, z / 2 + off, as_term(0), GAMMA, as_term(Fraction(1, 2)), given=given)
    assert judged(wrong).holds is None
    assert judged(
        replace(wrong, step=z / 2 + off / 2, limit=as_term(GAMMA) - as_term(one), low=Fraction(1))
    ).proved


def test_what_a_step_does_is_said_in_the_symbols_of_the_statement() -> None:
    wrong = judged(Limit(STATE, as_term(GAMMA) * as_term(STATE) + INPUT, INPUT, GAMMA))
    assert wrong.holds is False and "takes z to γ z + 1" in str(wrong.counterexample)
    assert "eta" not in str(wrong.counterexample)


@pytest.mark.parametrize("goal", [as_term(0), (V1 - 1) / (V1 - 1)], ids=["step", "limit"])
def test_a_point_at_which_nothing_is_defined_refutes_no_limit(goal: Term) -> None:
    """At v = 1 the quotient is 0/0, for SymPy NaN, which differs from every limit."""
    eta, nothing = as_term(GAMMA), (V1 * as_term(GAMMA) - as_term(GAMMA)) ** -1
    found = judged(Limit(SCALAR, z / 2 + (V1 * eta - eta) * nothing - 1 + goal / 2, goal, GAMMA))
    assert found.holds is None
    wrong = judged(Limit(SCALAR, z / 2 + 1, as_term(1), GAMMA))
    assert wrong.holds is False and str(wrong.counterexample).startswith("one step takes z to")


def test_limit_without_recurrence_settles_nothing() -> None:
    assert judged(Limit(en.Z_, Z + ETA * (AV - Z), AV)).holds is None


def test_an_orbit_that_rests_elsewhere_refutes_a_limit() -> None:
    start = Point(((N, 1), (DV, 1)), ((en.A_, ((1,),)), (en.V_, ((1,),)), (en.Z_, ((1,),)), (en.ETA, 1)))
    finding = judged(Limit(en.Z_, Z + ETA * (AV - Z), 2 * AV, orbit=start))
    assert finding.holds is False and "stays at (1), and the limit is (2)" in str(finding.counterexample)


def test_orbits_that_come_to_rest_refute_nothing() -> None:
    start = Point(((N, 1), (DV, 1)), ((en.A_, ((1,),)), (en.V_, ((1,),)), (en.Z_, ((3,),)), (en.ETA, 1)))
    assert judged(Limit(en.Z_, Z + ETA * (AV - Z), AV, orbit=start)).holds is None
    cycle = Point(((N, 1), (DV, 1)), ((en.A_, ((1,),)), (en.V_, ((1,),)), (en.Z_, ((3,),)), (en.ETA, 2)))
    assert judged(Limit(en.Z_, Z + ETA * (AV - Z), AV, orbit=cycle)).holds is False


PRODUCT = (Assign(Tensor("D", (N, DV)), (i, k), sum_over(j, A[i, j] * V[j, k])),)


def test_cost_counts_a_matrix_product() -> None:
    finding = judged(Cost("AV", PRODUCT, "n**2*d_v", AV), mutants=True)
    assert finding.proved and finding.mutants.killed == finding.mutants.tried > 2
    (said,) = [e.detail for e in finding.evidence if "counted" in e.detail]
    assert "stated" in said and "printed" not in said, "a paper need not print what a claim counts"


def test_a_round_of_a_loop_is_displayed_as_a_change_not_as_an_equation() -> None:
    """Z = AZ would be false of most states."""
    product = Tensor("D", (N, DV))
    power = (
        Assign(product, (i, k), sum_over(j, A[i, j] * Z[j, k]), times="T"),
        Assign(en.Z_, (i, k), as_term(product)[i, k], times="T"),
    )
    products = Cost("T products", power, "T*n**2*d_v", A @ Z)
    shown = judged(products).steps[0]["latex"]
    assert shown == rf"Z \leftarrow {(A @ Z).latex()}"
    rounds = rf"{shown}\text{{ in }} T \text{{ rounds}})"
    assert rounds in products.statement_latex(), "AZ alone takes one round of them"
    once = tuple(replace(line, times="1") for line in power)
    assert "rounds" not in Cost("a product", once, "n**2*d_v", A @ Z).statement_latex()
    more = Cost("T products", power, "(T - 1)*n**2*d_v", A @ Z, once, A @ Z)
    assert more.statement_latex().count("rounds") == 1 and judged(more).holds
    assert judged(Cost("AV", PRODUCT, "n**2*d_v", AV)).steps[0]["latex"].startswith("D = ")


def test_what_is_found_ready_is_said_of_both_plans() -> None:
    """Without it the formula behind the minus would be counted with what it is made of."""
    y_, total = Tensor("y", (N,), "y"), Tensor("E", (), "E")
    y, value = as_term(y_), sum_over(m, A[m, j])
    square, linear = (Assign(total, (), sum_over(j, term)) for term in (y[j] ** 2, y[j]))
    formulas = sum_over(j, value**2), sum_over(j, value)
    more = Cost(
        "squares", (square,), "n", formulas[0], (linear,), formulas[1], given=(Given(y_, (j,), value, "y"),)
    )
    assert more.statement_latex().count(r"\text{ from } y") == 2


def test_a_count_above_that_of_another_plan_is_not_said_to_be_the_whole_count() -> None:
    """At n = d_v = 1 the double product takes 2 multiplications, one of them more than the product."""
    twice = (*PRODUCT, Assign(Tensor("G", (N, DV)), (i, k), 2 * as_term(PRODUCT[-1].tensor)[i, k]))
    finding = judged(Cost("2AV", twice, "2*n*d_v", 2 * AV, PRODUCT, AV))
    assert finding.counterexample and "2AV takes 1 more multiplications" in finding.counterexample
    titles = [step["title"] for step in finding.steps]
    assert titles[1] == "what the plan that it is compared with computes", "its D is another one"
    assert titles[2].startswith("count: 2AV, less that of")
    alone = judged(Cost("2AV", twice, "n*d_v", 2 * AV))
    assert alone.counterexample and "2AV takes 2 multiplications" in alone.counterexample


def test_a_plan_must_compute_the_formula_that_it_stands_for() -> None:
    """A plan without lines, without a formula, or of something else is refused, however well its count
    fits.
    """
    transposed = (Assign(Tensor("D", (N, DV)), (i, k), sum_over(j, A[j, i] * V[j, k])),)
    for plan, formula in (((), AV), (PRODUCT, None), (PRODUCT, AV + AV), (transposed, AV), (PRODUCT, A)):
        with pytest.raises(Malformed):
            judged(Cost("AV", plan, "n**2*d_v", formula))
    with pytest.raises(Malformed):
        judged(Cost("the same again", PRODUCT, "0", AV, base=PRODUCT))
    with pytest.raises(Malformed, match="no listed size"):
        judged(Cost("AV", PRODUCT, "n**2", AV, sizes=("n",)))


def test_a_plan_of_something_else_is_refused_with_a_point_that_shows_it() -> None:
    transposed = (Assign(Tensor("D", (N, DV)), (i, k), sum_over(j, A[j, i] * V[j, k])),)
    with pytest.raises(Malformed, match=r"n = 2; A = .*: the plan gives (\S+), the formula (\S+)") as said:
        judged(Cost("AV", transposed, "n**2*d_v", AV))
    assert not re.search(r"the plan gives (\S+), the formula \1$", str(said.value))


@pytest.mark.parametrize(
    ("printed", "more", "words"),
    [
        ("n*d_v", {}, r"a `ray`, sizes along which the ratio has no bound, refutes it\)$"),
        ("n*d_v", {"ray": (("n", "2"), ("d_v", "t"))}, r"the `ray` is none along which the ratio has no bound\)$"),
        ("n**2*d_v - 1", {"constant": 2, "domain": (("n", "d_v"),)}, "at most 2 times what is stated; .*without a `domain`"),
    ],
)  # fmt: skip
def test_a_bound_that_is_open_says_what_would_settle_it(
    printed: str, more: dict[str, Any], words: str
) -> None:
    finding = judged(Cost("AV", PRODUCT, printed, AV, relation="O", sizes=("n", "d_v"), **more))
    assert finding.holds is None and re.search(words, repr(finding)), finding


def test_what_keeps_a_plan_from_its_formula_is_named() -> None:
    whole = sum_over(j, A[i, j] * Z[j, k])
    plan = (Assign(Tensor("r", (N, DV)), (i, k), 1 / whole),)
    finding = judged(Cost("1/AZ", plan, "n**2*d_v", stack(i, stack(k, 1 / whole)), relation="O"))
    (said,) = [e.detail for e in finding.evidence]
    assert finding.holds is None and "not shown is Σ" in said and "≠ 0; a promise" in said
    with pytest.raises(
        Malformed, match=r"should compute a number; stack\(i, stack\(k, …\)\) has all entries"
    ):
        judged(Cost("1/AZ", plan, "n**2*d_v", 1 / whole))
    turned = (Assign(Tensor("r", (DV, N)), (k, i), 1 / whole),)
    with pytest.raises(Malformed, match=r"stack\(k, stack\(i, …\)\) has all entries"):
        judged(Cost("1/AZ", turned, "n**2*d_v", 1 / whole))


def test_a_run_that_counts_otherwise_is_said_with_both_counts() -> None:
    x, w, spread = Tensor("x", (N,)), Tensor("w", (N,)), Tensor("M", (N, N))
    held = Assign(spread, (i, j), (diag(as_term(x)) * 2)[i, j])
    plan = (held, Assign(Tensor("r", (N,)), (i,), (as_term(spread) @ as_term(w))[i]))
    finding = judged(Cost("2 x w", plan, "n", 2 * (diag(as_term(x)) @ as_term(w)), sizes=(N,)))
    (said,) = [e.detail for e in finding.evidence]
    both = "a run at n = 1 counts 2, the formulas as they are written 3; "
    assert finding.holds is None and said.startswith(both)


def test_growth_along_a_ray_and_in_a_domain() -> None:
    wide = Cost("AV", PRODUCT, "n**2", AV, relation="O", sizes=(N, DV))
    assert judged(wide).holds is None
    assert judged(replace(wide, ray=((N, "1"), (DV, "t")))).holds is False
    assert judged(replace(wide, printed="n**2*d_v")).proved
    assert judged(replace(wide, printed="n**3", domain=((N, f"{DV} + u"),))).proved
    assert judged(replace(wide, printed="n", measure="stored", domain=((DV, "3"),), constant=3)).proved


@pytest.mark.parametrize("printed", ["n**2*d_v + 1", "n*d_v", "2*n**2*d_v", "n**3"])
def test_cost_refutes_other_counts(printed: str) -> None:
    finding = judged(Cost("AV", PRODUCT, printed, AV))
    assert finding.holds is False and "takes" in finding.counterexample


def test_cost_bounds() -> None:
    assert judged(Cost("AV", PRODUCT, "n**3*d_v", AV, relation="<=")).proved
    assert judged(Cost("AV", PRODUCT, "n*d_v", AV, relation="<=", constant=100)).holds is False
    with pytest.raises(Malformed, match="positive whole number of times"):
        judged(Cost("AV", PRODUCT, "-n*d_v", AV, relation="O", constant=-1))


def test_the_step_from_a_count_to_its_bound_is_shown() -> None:
    bound = judged(Cost("AV", PRODUCT, "n**3*d_v", AV, relation="<=")).steps[-1]
    assert bound["title"] == "bound" and bound["passed"]
    left, right = bound["latex"].removesuffix(r" \ge 0").split(" = ")
    assert "d_{v} n^{3}" in left and "d_{v} n^{2}" in left
    assert "(n - 1)^{3}" in right and " - " not in right.replace(" - 1)", "")
    wide = Cost("AV", PRODUCT, "n**3", AV, relation="<=", domain=((DV, "3"),), constant=3)
    assert "d_v = 3" in judged(wide).steps[-1]["reason"]
    assert [s["title"] for s in judged(Cost("AV", PRODUCT, "n*d_v", AV, relation="<=")).steps][-1] != "bound"


def test_counting_runs_and_formulas_agree() -> None:
    plans = {
        "scaled": (Assign(Tensor("s", (N,)), (j,), 2 * sum_over(k, Z[j, k] * V[j, k])),),
        "powers": (Assign(Tensor("s", (N,)), (j,), sum_over(k, Z[j, k] ** 3)),),
        "signs": (Assign(Tensor("s", ()), (), -sum_over(j, k, -Z[j, k] * V[j, k])),),
        "repeated": (Assign(Tensor("s", ()), (), sum_over(j, k, Z[j, k] * V[j, k]), "T - 1"),),
    }
    for plan in plans.values():
        for n, d, t in ((1, 1, 1), (2, 3, 2), (3, 2, 4)):
            sizes = {"n": n, "d_v": d, "T": t}
            polynomial = count(plan, ("n", "d_v", "T"))
            assert run(plan, sizes) == polynomial.subs({s: sizes[str(s)] for s in polynomial.free_symbols})


def test_scope_finds_free_indices() -> None:
    name = as_term(Tensor("u", (N,)))[j]
    assert judged(Scoped(name, en.u(j)), mutants=True).mutants.killed == 2
    assert judged(Scoped(name, en.u(j))).proved
    assert judged(Scoped(name, en.u(i))).holds is False
    assert judged(Scoped(name, sum_over(m, A[m, j] * (Z[i].T @ V[j])))).holds is False


def test_a_label_sets_functions_as_functions() -> None:
    same = Identity(exp(z), exp(z) * 1)
    named = Family(same, (("F(u) = exp(u)", same),))
    assert r"F(u) = \exp(u)" in named.statement_latex()


def test_family_is_refuted_by_one_case() -> None:
    true, false = Identity(exp(z), exp(z) * 1), Identity(z**2, z**3)
    assert judged(Family(true, (("p = 1", true),))).proved
    finding = judged(Family(false, (("p = 1", true), ("p = 2", replace(false, label="squared")))))
    assert finding.holds is False and finding.counterexample.startswith("p = 2")
    with pytest.raises(Malformed, match="no case of that"):
        judged(Family(true, (("p = 1", true), ("p = 2", false))))
    assert judged(Family(false, (("p = 1", true),))).holds is False


def test_differs_is_refuted_only_by_a_proof() -> None:
    assert judged(Differs(z**2, z**3)).proved
    assert judged(Differs((z + 1) ** 2, z**2 + 2 * z + 1)).holds is False


@pytest.mark.parametrize("promised, low, high, shown", [
    (True, 0, None, ""), (False, 0, None, r"(0 < \eta)"), (True, 5, None, r"(5 < \eta)"), (True, 0, 2, r"(0 < \eta < 2)"),
    (True, -1, 2, r"(0 < \eta < 2)"), (True, -1, None, ""), (False, -1, 2, r"(-1 < \eta < 2)"),
])  # fmt: skip
def test_a_limit_shows_the_range_that_no_promise_says(
    promised: bool, low: int, high: int | None, shown: str
) -> None:
    state, step_size = Tensor("s", ()), Tensor("eta", (), r"\eta", positive=promised)
    end = None if high is None else Fraction(high)
    printed = Limit(state, as_term(state) / 2, as_term(0), step_size, low=Fraction(low), high=end)
    latex = printed.statement_latex()
    assert r"s \to 0 \text{ from every start}" in latex and latex.endswith(shown or "start}")


def test_the_only_minimum_may_have_more_above_it_than_the_distance() -> None:
    """Half the squared distance and a square that vanishes at other states too; alone this does not do."""
    Z, a = Tensor("z", ("n",)), as_term(Tensor("a", ("n",)))
    z = as_term(Z)
    gap = squared_norm(z - a) / 2
    slope = (a.T @ (z - a)) ** 2

    def only(above: Term) -> Extremum:
        return Extremum(above, Z, a, "the only global minimum", above=above)

    assert judged(only(gap + slope)).holds and judged(only(slope + gap + slope)).holds
    for weak in (slope, slope + slope, slope - gap, gap - slope):
        assert judged(only(weak)).holds is not True
    negative = -gap - slope
    assert judged(Extremum(negative, Z, a, "the only global maximum", above=negative)).holds


def test_a_plan_with_a_diagonal_is_told_what_to_write() -> None:
    w, k = as_term(Tensor("w", (N,))), Tensor("k", (N, DV))
    scaled, cost = diag(w) @ V, "n*d_v"
    dense = judged(Cost("diag", (Assign(k, (i, en.k), scaled[i, en.k]),), cost, scaled))
    assert dense.holds is None and "write what is not 0" in repr(dense)
    assert judged(Cost("diag", (Assign(k, (i, en.k), w[i] * V[i, en.k]),), cost, scaled)).proved
