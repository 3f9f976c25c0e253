"""The verdict function: every case of its table."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from checks.claim import Claim, Options, claim
from checks.engine.verdict import verdict
from checks.evidence import Evidence
from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.averages import Averages, Column
from checks.kinds.cost import Assign, Cost
from checks.kinds.counting import Counted
from checks.kinds.differs import Differs
from checks.kinds.examples import Example, Point
from checks.kinds.extremum import Extremum
from checks.kinds.family import Family
from checks.kinds.implication import Implication
from checks.kinds.inequality import AtLeast
from checks.kinds.order import Order
from checks.kinds.recurrence import QUANTITY, Base, Recurrence
from checks.kinds.stationary import Stationary
from checks.run.repair import repair_of
from checks.run.verify import examine
from checks.statement import All, Definition, Fact, Given, Identity
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, apply, as_term, exp, named, size, sqrt, stack, sum_over

s, t, u = (as_term(Tensor(name)) for name in "stu")
w, I, J = as_term(Tensor("w", ("n",))), Index("i", "n"), Index("j", "n")
ROLES = ("claim", "definition", "empirical")


@pytest.mark.parametrize("role, holds, proved, repaired, repair, expected", [
    ("claim", True, True, None, "none", "proved"),
    ("claim", True, False, None, "none", "confirmed"),
    ("claim", True, True, False, "idle", "proved"),  # a repair that nobody needs changes nothing
    ("claim", None, False, None, "none", "unsettled"),
    ("claim", False, False, None, "none", "refuted"),
    ("claim", False, False, True, "offered", "corrected"),
    ("claim", False, False, False, "offered", "refuted"),
    ("claim", False, False, None, "offered", "unsettled"),
    ("definition", True, True, None, "none", "definition"),
    ("definition", None, False, None, "none", "unsettled"),
    ("definition", False, False, True, "offered", "corrected"),
    ("definition", False, False, None, "none", "refuted"),
    ("empirical", None, False, None, "none", "empirical"),
    ("empirical", True, True, None, "none", "empirical"),
    ("empirical", False, False, None, "none", "refuted"),
    ("empirical", False, False, True, "offered", "corrected"),
])  # fmt: skip
def test_table(
    role: str, holds: bool | None, proved: bool, repaired: bool | None, repair: str, expected: str
) -> None:
    assert verdict(role, holds, proved, repaired, repair) == expected


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("repaired", (True, False, None))
def test_an_idle_repair_makes_the_record_inconsistent(role: str, repaired: bool | None) -> None:
    assert verdict(role, False, False, repaired, "idle") == "inconsistent"


FALSE = Identity(s + t, s - t)


@pytest.mark.parametrize("correction, what", [
    (Identity(s - t, apply("log", exp(s)) - t), "offered"),
    (Identity(s - t, (s + 1) * (s - t) - s * (s - t)), "idle"),  # nor does a calculation with one side
    (Identity(2 * s - t, s - t + s), "idle"),  # about the same things, and about nothing that is printed
    (Identity(s + t, t + s), "idle"),  # nor does another order say anything
    (FALSE, "idle"),  # the same again
    (All(), "idle"),  # nothing
    (Identity(sum_over(I, s * w[I]) + t, sum_over(J, s * w[J]) + t), "idle"),  # another letter
    (Identity(u * 2, u + u), "idle"),  # something about other things
])  # fmt: skip
def test_what_a_repair_is(correction: Any, what: str) -> None:
    assert repair_of(FALSE, correction) == what
    claim = Claim("x/1", "", "", lambda a: FALSE, "", corrected=lambda a: correction)
    record = examine(claim, None, Options())
    assert record.verdict == ("corrected" if what == "offered" else "inconsistent")


def test_what_only_names_something_is_a_definition() -> None:
    named_only = Claim("x/1", "", "", lambda a: Definition(s, t + u), "")
    assert examine(named_only, None, Options()).verdict == "definition"
    more = Claim("x/1", "", "", lambda a: All(Definition(s, t + u), Identity(s * t, t * s)), "")
    assert examine(more, None, Options()).verdict == "proved"


def test_an_empirical_claim_says_what_cannot_be_run() -> None:
    with pytest.raises(ValueError, match="reason"):
        claim("x/1", "", "", words="", literal=lambda a: FALSE, role="empirical")


def test_an_undecided_repair_leaves_the_claim_unsettled() -> None:
    undecided = Identity(((s - 17) * s + (s - 17) * t) / (s - 17), s + t)
    claim = Claim("x/1", "", "", lambda a: FALSE, "", corrected=lambda a: undecided)
    assert examine(claim, None, Options()).verdict == "unsettled"


def test_a_leg_that_passes_what_is_refuted_contradicts_the_record() -> None:
    def judged(passed: bool, part: str = "") -> str:
        found = [Evidence("tensor", "sampled", passed, "sides", wrong=1, part=part)]
        claim = Claim("x/1", "", "", lambda a: FALSE, "", failing=(lambda a, o: found,))
        return examine(claim, None, Options()).verdict

    assert (judged(False), judged(True), judged(True, "(b)")) == ("refuted", "inconsistent", "refuted")


def test_a_leg_that_raises_ends_alone() -> None:
    def broken(a: Any, o: Options) -> Any:
        raise AssertionError("no such tensor")

    claim = Claim("x/1", "", "", lambda a: Identity(s + t, t + s), "", legs=(broken,))
    record = examine(claim, None, Options())
    assert record.verdict == "proved"
    assert any(
        "broken stopped with AssertionError: no such tensor" in (e.not_run or "") for e in record.evidence
    )


X = Tensor("x", (), "x")
Y, Z = Tensor("y", (), "y"), Tensor("z", (), "z")
x, y, z = as_term(X), as_term(Y), as_term(Z)
DODGES = {
    "about numbers": Identity(as_term(1) + 1, as_term(2)),
    "about a function of another symbol": Identity(exp(y) * exp(-y), as_term(1)),
    "a hypothesis with the symbol's name": Implication((Fact("x", y, "="),), Fact("z", 2 * y, "="), (("x", as_term(2)),)),
    "a figure": Arithmetic((Figure("f", Fraction(1), "=", Fraction(1)),)),
    "nothing added": Identity(x + 0, x),
    "one multiplied with": Identity((x * 1) ** 1 / 1 + 0 * y, x),
    "nothing of it": Identity(0 * x, as_term(0)),
    "the denial": Differs(x, 2 * x),
    "an instance": Example((Fact("a", x - 2 * x, "="),), Point((), ((X, 0),))),
    "a definition of something else": Definition(y, 2 * x),
    "another order": Identity(x * y, y * x),
    "the same twice": Identity(2 * (x * y), x * y + x * y),
    "half of it twice": Identity(x, x / 2 + x / 2),
    "a factor cancelled": Identity(x, x * (1 + y**2) / (1 + y**2)),
    "a function and its inverse": Identity(x, apply("log", exp(x))),
    "a condition under which all of it vanishes": Identity(x, 2 * x, given=(Given(X, (), as_term(0), "no x"),)),
    "zero on both sides": Identity(x * y - x * y, (x + y) - (x + y)),
    "another order, inside": Identity(exp(x * y), exp(y * x)),
    "a family of one": Family(None, (("a", Identity(x * y, y * x)),)),
    "a definition beside it": All(Definition(z, x * y), Identity(z + x + y, x + y + z)),
    "what is missing, by definition": Identity(x, 2 * x + z, given=(Given(Z, (), x - 2 * x, "slack"),)),
    "twice what it says": Implication(
        (Fact("h", 2 * x - 4 * x, "="),), Fact("c", x - 2 * x, "="), (("h", as_term(Fraction(1, 2))),)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DODGES)
def test_a_correction_that_dodges_repairs_nothing(name: str) -> None:
    assert repair_of(Identity(x, 2 * x), DODGES[name]) == "idle"
    assert repair_of(Identity(x, 2 * x), Identity(2 * x, x * (x + 2) - x * x)) == "offered"


D, n = sp.Symbol("D", positive=True), sp.Symbol("n", positive=True, integer=True)
EQUAL = Identity(x * y, x + y)
TRUE, ODD = Identity((x + y) ** 2, x**2 + 2 * x * y + y**2), Identity(x - y, y - x)


def figure(computed: str, printed: str) -> Arithmetic:
    return Arithmetic((Figure("f", Fraction(computed), "=", Fraction(printed)),))


def column(*numbers: int) -> Averages:
    *entries, average = map(Fraction, numbers)
    return Averages((Column("c", tuple(entries), average, 0),))


def counted(*axes: int) -> Counted:
    """2D³, of a product with so many sizes along each axis."""
    return Counted("c", 2 * D**3, (D,), (1,), lambda p: ((*(k * p for k in axes),),), lambda p: 2 * p**3)


def cubes(term: Term) -> Cost:
    return Cost("c", (Assign(Tensor("v", ("n",)), (I,), term),), "2*n", stack(I, term), sizes=("n",))


def squares(rule: sp.Expr) -> Recurrence:
    return Recurrence(n**2, (n,), (Base("b", n, 1, sp.Integer(1)),), rule, "", lambda m: m * m, ((1,), (2,)))


def only_if(hypothesis: Term, multiplier: Term) -> Implication:
    said = (Fact("h", hypothesis, "="),), Fact("c", x * y - x - y, "=")
    return Implication(*said, (("h", as_term(multiplier)),))


def fixed(**values: object) -> tuple[Given, ...]:
    return tuple(Given(Tensor(name, (), name), (), as_term(value), "") for name, value in values.items())


@pytest.mark.parametrize("printed, correction", [
    (EQUAL, Identity(x * y, x + y, given=fixed(x=2, y=2))),  # at one point
    (EQUAL, Identity(x * y, x + y, given=fixed(y=2, x=y))),
    (EQUAL, Identity(x * y, x * y)),  # a formula is itself
    (Identity(x + y, z), Identity(x + y, z, given=fixed(x=2 * z, y=-z))),  # what it says, in two definitions
    (Identity(x, y), Identity(x, y * z, given=fixed(z=x / y), nonzero=(Y,))),  # and solved for a factor
    (All(TRUE, ODD), All(Identity(x - y, -y + x), TRUE)),  # nothing in the place of what fails
    (All(TRUE, ODD), All(TRUE, TRUE)),
    (All(TRUE, ODD), All(TRUE, Differs(x - y, y - x))),
    (ODD, Identity((x - y) ** 2, (y - x) ** 2)),  # what follows from it
    (Identity((x + y) ** 2, x**2 + y**2), Identity((x + y) ** 2 - (x - y) ** 2, 4 * x * y)),  # no side kept
    (AtLeast(x, 2 * x), AtLeast(x + y, y + x, as_term(0))),
    (AtLeast(z, 2 * x), AtLeast(z, 2 * x, y**2, fixed(z=2 * x + y**2))),
    (EQUAL, only_if((x * y - x - y) * exp(s), exp(-s))),  # says as much as what follows from it
    (EQUAL, Identity(named("q", x * y), x * y)),  # a name for a side
    (EQUAL, Stationary(x * y - x * y + z**2, Z, as_term(0))),  # of other things
    (EQUAL, Extremum((x * y) ** 2, X, as_term(0), "a global minimum", above=(x * y) ** 2)),  # no equation at all
    (Identity(z, x + y, given=fixed(z=x * y)), Definition(z, x + y)),  # z is defined
    (Stationary((x - y) ** 2, X, 2 * y), Stationary(0 * x + y, X, 2 * y)),  # nothing that moves
    (figure("1/3", "34/100"), figure("34/100", "34/100")),  # what is computed is not what is printed
    (column(10, 20, 90), column(88, 92, 90)),  # nor are the rows of a table
    (column(10, 20, 90), figure("90", "90")),
    (counted(1, 1), counted(1, 1, 1)),  # nor is the routine
    (cubes(w[I] * w[I]), replace(cubes(w[I] * w[I]), measure="stored")),  # nor what is counted
    (Definition(s, t), Definition(s, as_term(0))),  # nor what it is defined by
    (cubes(w[I] * w[I]), cubes(w[I] * w[I] * w[I])),  # nor the plan
    (squares(QUANTITY(n - 1) + 1), squares(QUANTITY(n - 1) + 2 * n - 1)),  # nor the rule
])  # fmt: skip
def test_a_correction_that_changes_what_is_not_printed_repairs_nothing(printed: Any, correction: Any) -> None:
    assert repair_of(printed, correction) == "idle"


def test_a_correction_may_add_a_condition() -> None:
    assert repair_of(EQUAL, only_if(x * (y - 1) - y, as_term(1))) == "idle"
    positive = as_term(replace(X, positive=True))
    assert repair_of(Identity(sqrt(x**2), x), Identity(sqrt(positive**2), positive)) == "offered"
    assert repair_of(All(TRUE, ODD), TRUE) == "offered"
    assert repair_of(EQUAL, only_if((x - 2) * y, y)) == "offered"
    assert repair_of(figure("1/3", "34/100"), figure("1/3", "1/3")) == "offered"
    assert repair_of(column(10, 20, 90), column(10, 20, 15)) == "offered"
    assert repair_of(column(10, 20, 90), column(10, 170, 90)) == "offered"
    assert repair_of(column(10, 20, 90), figure("15", "15")) == "offered"
    assert repair_of(Identity(exp(x), 1 + x), Order(exp(x), 1 + x, X, 2)) == "offered"


def test_a_correction_of_other_sides_says_why() -> None:
    """x = 2x is not repaired by what is true of x besides, unless the claim says why nothing is kept."""
    assert repair_of(figure("1/3", "34/100"), figure("34/100", "34/100"), True) == "offered"
    printed, other = Identity(x, 2 * x), Identity(x * (x + 1), x * x + x)
    assert repair_of(printed, other) == "idle"
    assert repair_of(printed, other, True) == "offered"
    assert repair_of(Identity(x * y + x * z - 1, x), Identity(x * y + x * z - 2, x + y - 2)) == "offered"
    assert repair_of(printed, All(Definition(x, y + 1), Identity(y * (y + 1), y * y + y))) == "offered"
    claim = Claim("x/1", "", "", printed, "", corrected=other, correction_words="So.", instead="Else.")
    record = examine(claim, None, Options())
    assert (record.verdict, record.corrected["words"]) == ("corrected", "So. Else.")


def test_a_repair_of_which_any_version_holds_repairs_nothing() -> None:
    zeros = (Given(X, (), as_term(0), "zero"), Given(Y, (), as_term(0), "zero"))
    claim = Claim("x/1", "", "", Identity(x * y, x + y), "", corrected=Identity(x * y, x + y, given=zeros))
    assert examine(claim, None, Options()).verdict == "inconsistent"


def test_a_size_in_common_is_no_subject_in_common() -> None:
    v, w = (as_term(Tensor(name, ("n",))) for name in "vw")
    products = Identity(w.T @ w * (size("n") + 1), size("n") * (w.T @ w) + w.T @ w)
    assert repair_of(Identity(v, 2 * v), products) == "idle"
    assert repair_of(Identity(size("n"), size("n") + 1), products, "of sizes only") == "offered"
