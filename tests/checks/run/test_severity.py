"""Severity follows from the repair and from what rests on a claim."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
import sympy as sp

from checks.kinds.arithmetic import Arithmetic, Figure
from checks.kinds.counting import Grows
from checks.kinds.differs import Differs
from checks.kinds.examples import Point, Rule
from checks.kinds.feasible import Solvable
from checks.kinds.follows import Equation, Follows
from checks.kinds.implication import Implication
from checks.kinds.inequality import AtLeast
from checks.kinds.limit import ETA, Limit
from checks.kinds.order import Order
from checks.kinds.stationary import Stationary
from checks.run.link import gravest, heirs
from checks.run.severity import failures
from checks.statement import All, Definition, Fact, Given, Identity, Link
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import as_term, exp, sqrt, sum_over

X, Y, Z, P = (Tensor(name) for name in "xyzp")
x, y, z = (as_term(t) for t in (X, Y, Z))
positive = as_term(replace(X, positive=True))
i = Index("i", "N")
v = as_term(Tensor("v", ("N",)))
w = as_term(Tensor("w", ("N",)))
WHOLE = Equation(v, w, Tensor("R", ("N",)))
e = as_term(ETA)
n = sp.Symbol("n", positive=True)
SOLVABLE = Solvable(X, (Fact("met", z * x - y, "="),), Point((), ((Z, 0), (Y, 1))))


def figures(computed: int, printed: int, label: str = "") -> Arithmetic:
    one = (
        Figure("tokens", Fraction(5), "=", Fraction(5)),
        Figure("gain", Fraction(computed), "=", Fraction(printed)),
    )
    return Arithmetic(one, label=label)


def severity(printed, corrected) -> str:
    (found,) = failures([0], printed, corrected)
    assert found["latex"] and found["because"]
    return found["severity"]


@pytest.mark.parametrize("printed, corrected, expected", [
    (Identity(x / x, as_term(1)), Identity(x / x, as_term(1), nonzero=(X,)), "condition"),
    (Identity(sqrt(x**2), x), Identity(sqrt(positive**2), positive), "condition"),
    (Identity(x, y), Identity(x, y, given=(Given(X, (), y, ""),)), "condition"),
    (Identity(x * z, z * y), Identity(y * z, z * z, given=(Given(Z, (), y, ""),)), "misprint"),
    (AtLeast(x, y), Implication((Fact("h", y - z, "="),), Fact("c", x - y, ">=")), "condition"),
    (AtLeast(x, y), Implication((Fact("h", y - z, "="),), Fact("c", x - y, ">")), "condition"),
    (AtLeast(x, y), Follows((Equation(y, z, Tensor("r")),), x - y, 0 * x, z, (), ">="), "condition"),
    (Implication((), Fact("c", x - y, ">")), Implication((Fact("h", y - z, "="),), Fact("c", x - y, ">=")), "misprint"),
    (AtLeast(x, y), Implication((Fact("h", y - z, "="),), Fact("c", y - x, ">=")), "substance"),
    (Identity(x + y, y + z), Implication((Fact("h", x - z, "="),), Fact("c", x - z, "=")), "condition"),
    (Rule((), Fact("c", x - y, "="), Point((), ())), Implication((Fact("h", x - y, "="),), Fact("c", x - y, "=")), "condition"),
    (Rule((Fact("h", (v - w)[i], "="),), Fact("c", x - y, "="), Point((), ())), Follows((WHOLE,), x, y, z, ()), "condition"),
    (Rule((Fact("h", (v + w)[i], "="),), Fact("c", x - y, "="), Point((), ())), Follows((WHOLE,), x, y, z, ()), "substance"),
    (Identity((x + y) * z, x * z - y * z), Identity((x + y) * z, x * z + y * z), "misprint"),
    (Identity(sum_over(i, v[i]), x), Identity(sum_over(i, v[i]), x + x), "misprint"),
    (Definition(x, y * z + y), Definition(x, y * z - y), "misprint"),
    (Identity(x, y), Identity(z * z * as_term(3), sum_over(i, v[i] * v[i])), "substance"),
    (Stationary(x**2 + 2 * y * x, X, y), Stationary(x**2 - 2 * y * x, X, y), "misprint"),
    (Order(exp(x), 1 + x, X, 3), Order(exp(x), 1 + x, X, 1), "substance"),
    (Order(exp(x), 1 - x, X, 2), Order(exp(x), 1 + x, X, 2), "misprint"),
    (Identity(2 * x, y + z, given=(Given(X, (), y + z, ""),)), Identity(2 * x, y + z, given=(Given(X, (), (y + z) / 2, ""),)),
     "misprint"),
    (Identity(x, y, chain=(Link(z * x, ""),)), Identity(x, y, chain=(Link(x * 1, ""),)), "misprint"),
    (Rule((), Fact("c", x, ">"), Point((), ())), Implication((), Fact("c", x, ">=")), "substance"),
    (Identity(x, y), None, "substance"),
    (Identity(x / x, as_term(1)), Identity((y + z) ** 2, y**2 + 2 * z * y + z**2), "substance"),
    (Identity(y / x * x, y), Identity(y / z * z, y, given=(Given(Z, (), x, ""),), nonzero=(Z,)), "condition"),
    (Limit(X, x - e * x, as_term(0), rate=1 - e, low=Fraction(2), high=Fraction(4)),
     Limit(X, x - e * x, as_term(0), rate=1 - e, high=Fraction(2)), "misprint"),
    (Limit(X, x - e * x, as_term(0), rate=1 - e), Limit(X, x - e * x, as_term(0), rate=1 - e, high=Fraction(2)), "condition"),
    (Implication((Fact("h", x, ">="),), Fact("c", y, ">")),
     Implication((Fact("g", y - z, ">"), Fact("k", z, ">=")), Fact("c", y, ">"), (("g", as_term(1)), ("k", as_term(1)))), "substance"),
    (Implication((Fact("h", x, ">="),), Fact("c", x, ">")), Implication((Fact("h", x, ">"),), Fact("c", x, ">")), "condition"),
    (Identity(x, y), Stationary((x - y) ** 2, X, y), "substance"),
    (Identity(x - y, y - x), Identity((x - y) ** 2, (y - x) ** 2), "substance"),
    (AtLeast(x**2, as_term(1)), AtLeast(as_term(1), -(x**2), x**2 + 1), "substance"),
    (AtLeast(x**2 + 1, 2 * y), AtLeast(x**2 + 1, 2 * x), "misprint"),
    (Identity(x, y), Identity(y, x, given=(Given(Y, (), x, ""),)), "condition"),
    (Grows("r", n / (n + 1), n, ()), Grows("r", n / (n + 2), n, ()), "misprint"),
    (SOLVABLE, Identity(z * x, y, given=(Given(Y, (), z**2, ""), Given(X, (), z, ""))), "condition"),
    (SOLVABLE, Identity(z * x, y, given=(Given(Y, (), z * x, ""),)), "substance"),
    (SOLVABLE, Identity(z * x, y + z, given=(Given(Y, (), z**2 - z, ""), Given(X, (), z, ""))), "substance"),
    (figures(-1, 0), figures(0, 0), "condition"),
    (figures(-1, 0), figures(-1, -1), "misprint"),
    (figures(-1, 0), figures(0, 0, "counted otherwise"), "misprint"),
    (figures(-1, 0), Arithmetic(figures(-1, 0).figures[:1]), "substance"),
])  # fmt: skip
def test_by_the_repair(printed, corrected, expected: str) -> None:
    assert severity(printed, corrected) == expected


def test_each_failing_part_has_its_own() -> None:
    literal = [Identity(x / x, as_term(1)), Identity((x + y) * z, x * z - y * z)]
    corrected = All(replace(literal[0], nonzero=(X,)), Identity((x + y) * z, x * z + y * z))
    assert [f["severity"] for f in failures([0, 1], All(*(literal)), corrected)] == [
        "condition",
        "misprint",
    ]


def test_one_repair_mends_one_formula() -> None:
    square = Identity((x + y) ** 2, x**2 + y**2, label="square")
    mended = Identity((x + y) ** 2, x**2 + 2 * x * y + y**2)
    found = failures([0, 1], All(square, Identity(x * y, x - y)), mended)
    assert [f["severity"] for f in found] == ["misprint", "substance"]
    again = replace(square, label="square, read again")
    assert [f["severity"] for f in failures([0, 1], All(square, again), mended)] == ["misprint"] * 2


@pytest.mark.parametrize("order", ((0, 1), (1, 0)))
def test_the_order_of_the_parts_does_not_matter(order: tuple[int, int]) -> None:
    printed = Identity((x + y) ** 2, x**2 + x * y + y**2), Identity((x - y) ** 2, x**2 - x * y + y**2)
    mended = Identity((x - y) ** 2, x**2 - 2 * x * y + y**2)
    found = failures([0, 1], All(*(printed[n] for n in order)), mended)
    assert [found[order.index(n)]["severity"] for n in (0, 1)] == ["substance", "misprint"]


def test_what_differs_nowhere_is_no_misprint_for_differing_elsewhere() -> None:
    wrong = Differs((x + y) ** 2, x**2 + 2 * x * y - y**2)
    assert severity(replace(wrong, rhs=x**2 + 2 * x * y + y**2), wrong) == "substance"


def test_no_claim_inherits_from_itself() -> None:
    assert heirs("a", {"a": ["a"], "b": ["a"]}, {"a": "refuted", "b": "refuted"}) == ["b"]


def test_what_rests_on_it_and_fails_makes_it_substance() -> None:
    parents = {"a/2": ("a/1",), "a/3": ("a/2",), "a/4": ("a/1",)}
    verdicts = {"a/1": "corrected", "a/2": "refuted", "a/3": "corrected", "a/4": "proved"}
    assert heirs("a/1", parents, verdicts) == ["a/2"]
    assert heirs("a/1", parents, verdicts | {"a/2": "proved"}) == []
    assert heirs("a/4", parents, verdicts) == []
    found = SimpleNamespace(
        verdict="corrected", inherited_by=[], failures=[{"severity": "misprint"}, {"severity": "condition"}]
    )
    assert gravest(found) == "condition"
    found.inherited_by = ["a/2"]
    assert gravest(found) == "substance"
    found.verdict = "proved"
    assert gravest(found) is None
