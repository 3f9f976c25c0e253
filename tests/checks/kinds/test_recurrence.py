"""Recurrences: what determines the quantity is checked against the closed form, the count and itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp

from checks.engine.finding import Inconsistent
from checks.engine.judge import judge
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.statement import Malformed

n = sp.Symbol("n", positive=True, integer=True)
TRIANGLE = Recurrence(
    n * (n + 1) / 2,
    (n,),
    (Base("first", n, 1, sp.Integer(1)),),
    QUANTITY(n - 1) + n,
    "one more summand",
    lambda m: sum(range(m + 1)),
    tuple((m,) for m in range(1, 6)),
)


def test_a_true_closed_form_is_proved_and_its_mutants_are_killed() -> None:
    finding = judge(TRIANGLE)
    assert finding.proved and finding.mutants.killed == finding.mutants.tried > 5
    assert r"f{\left(n - 1 \right)}" in TRIANGLE.statement_latex()


def test_the_display_says_which_whole_numbers_are_meant() -> None:
    """At n = 3/2 nothing determines f."""
    display = TRIANGLE.statement_latex()
    assert display.endswith(r"n \in \{1, 2, \dots\}") and "n > 0" not in display


def test_a_form_that_fits_the_listed_cases_only_is_refuted() -> None:
    """f(n) = n + (n - 1)(n - 2)(n - 3), counted as n on 1 to 3."""
    count = replace(
        TRIANGLE,
        closed=n + (n - 1) * (n - 2) * (n - 3),
        rule=QUANTITY(n - 1) + 1,
        counted=lambda m: m,
        cases=((1,), (2,), (3,)),
    )
    assert judge(count).counterexample == "n = 4: closed form 10, counted 4"
    assert judge(replace(count, closed=n)).proved


def test_a_closed_form_that_breaks_the_recurrence_is_no_proof() -> None:
    wrong = judge(replace(TRIANGLE, closed=n**2))
    assert wrong.holds is False and wrong.counterexample == "n = 2: closed form 4, counted 3"


def test_a_recurrence_of_something_else_than_what_is_counted_is_found() -> None:
    assert judge(replace(TRIANGLE, rule=QUANTITY(n - 1) + 2 * n)).holds is False
    with pytest.raises(Inconsistent):
        _ = judge(replace(TRIANGLE, counted=lambda m: m)).holds


@pytest.mark.parametrize("change", [
    {"base": ()}, {"cases": ()}, {"rule": n}, {"rule": QUANTITY(n + 1) - n - 1}, {"closed": QUANTITY(n)},
    {"closed": n * sp.Symbol("x")}, {"rule": QUANTITY(n - 2) + 2 * n - 1},
])  # fmt: skip
def test_what_determines_nothing_is_refused(change: dict) -> None:
    with pytest.raises(Malformed):
        judge(replace(TRIANGLE, **change))


def test_a_rule_that_gives_the_quantity_by_itself_is_refused() -> None:
    """At n = 13 it says f(13) = f(13), whatever f(13) is."""
    once = sp.prod([n - k for k in range(1, 13)]) / sp.factorial(12)
    smaller = QUANTITY(n - 1) + n
    with pytest.raises(Malformed, match="by itself"):
        judge(replace(TRIANGLE, rule=smaller + once * (QUANTITY(n) - smaller)))


def test_first_values_that_contradict_each_other_are_refused() -> None:
    """No f has f(1, m) = m and f(n, 1) = 2: neither its closed form nor another one is refuted."""
    m = sp.Symbol("m", positive=True, integer=True)
    first = (Base("one row", n, 1, m), Base("one column", m, 1, n))
    table = Recurrence(
        n * m, (n, m), first, QUANTITY(n - 1, m) + m, "one more row", lambda i, k: i * k, ((1, 2), (2, 3))
    )
    assert judge(table).proved
    with pytest.raises(Malformed, match="m and 2 do not agree where n = 1 and m = 1"):
        judge(replace(table, base=(first[0], replace(first[1], value=sp.Integer(2)))))
    itself = replace(first[1], value=n * m)  # m is 1 there
    assert judge(replace(table, base=(first[0], itself))).holds is not False
    with pytest.raises(Malformed, match="one first value"):
        judge(replace(table, base=(*first, replace(first[0], first=2, value=2 * m))))


def test_a_slope_and_a_start_determine_a_polynomial() -> None:
    z, t = sp.Symbol("z", positive=True), sp.Symbol("t", nonnegative=True, integer=True)
    power = Recurrence(
        z**t / sp.factorial(t), (t,), (Base("z^0", t, 0, sp.Integer(1)),), QUANTITY(t - 1), "slope",
        lambda m: z**m / sp.factorial(m), ((1,), (2,)), slope=(z, sp.Integer(0) ** t / sp.factorial(t)), at=((z, z),),
    )  # fmt: skip
    assert judge(power).proved
    with pytest.raises(Malformed, match=r"sp\.Integer\(0\)"):
        judge(replace(power, slope=(z, 0)))  # type: ignore[arg-type]
    assert judge(replace(power, slope=(z, sp.Integer(1)))).holds is False


def test_steps_are_equations_of_the_closed_form_behind_the_first_values() -> None:
    n = sp.Symbol("n", positive=True, integer=True)
    cases = tuple((k,) for k in range(1, 6))
    base = (Base("one", n, 1, sp.Integer(1)),)
    square = Recurrence(n**2, (n,), base, QUANTITY(n - 1) + 2 * n - 1, "step", lambda k: k**2, cases)
    finding = judge(square, with_mutants=False)
    said = [step["latex"] for step in finding.steps]
    assert finding.proved and "0 = 0" not in said
    assert r"f{\left(1 \right)} = 1" in said[0] and r"(n \ge 2)" in said[0] and r"(n \ge 2)" in said[-1]
    assert said[1].endswith("= 1") and said[-1].startswith("n^{2} = ")


def test_whole_numbers_are_said_of_every_symbol() -> None:
    """(-1)^(z² + z) is 1 for whole z, and not for z = 1/2, which is at least 0 as well."""
    n, z = (sp.Symbol(name, integer=True, nonnegative=True) for name in "nz")
    whole = Recurrence(
        n * (-1) ** (z**2 + z),
        (n,),
        (Base("b", n, 0, sp.Integer(0)),),
        QUANTITY(n - 1) + 1,
        "one more",
        lambda count: count,
        ((0,), (1,), (2,)),
        at=((z, sp.Integer(2)),),
    )
    assert judge(whole).holds is True
    assert whole.statement_latex().endswith(r"n \in \{0, 1, \dots\},\ z \in \{0, 1, \dots\}")
