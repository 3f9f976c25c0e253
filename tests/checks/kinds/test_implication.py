"""Implications whose hypotheses hold for all values of an index: used at other indices, and summed."""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from checks.engine.finding import Finding
from checks.engine.instances import solved
from checks.engine.judge import judge
from checks.kernel.implications import implication, implication_defined
from checks.kernel.trees import NotCovered
from checks.kinds.examples import Point
from checks.kinds.implication import Implication, Use, certificate_error, completed, satisfied
from checks.statement import Fact, Malformed
from derivations.calculus.combination import Given, combination
from derivations.calculus.gradients import at_point
from derivations.calculus.index import Index, Tensor
from derivations.calculus.losses import loss
from derivations.calculus.normal import Token, normal
from derivations.calculus.program import Raw
from derivations.calculus.term import as_term, size, sqrt, squared_norm, sum_over, zeros

i, j, k, l, p, q, r = (Index(name, "N") for name in "ijklpqr")
OTHER = Index("m", "M")
a, b, c = (as_term(Tensor(name, ("N",))) for name in "abc")
D, SHORT = as_term(Tensor("D", ("N", "N"))), as_term(Tensor("u", ("N-1",)))
one = as_term(1)
NONNEGATIVE = Fact("a", a[k], ">=")


def implied(facts: Any, conclusion: Fact, *uses: Any) -> Finding:
    return judge(Implication(tuple(facts), conclusion, uses))


def test_a_hypothesis_for_all_is_used_at_the_indices_of_the_conclusion() -> None:
    both = Fact("both", a[i] + a[j], ">=")
    proof = implied([NONNEGATIVE], both, Use("a", one, ((k, i),)), Use("a", one, ((k, j),)))
    assert proof.proved and proof.mutants.killed == proof.mutants.tried > 0
    assert r"\Big|_{k = i}" in proof.steps[-1]["latex"]
    assert not implied([NONNEGATIVE], both, ("a", one), ("a", one)).proved  # at k, which is neither
    assert implied([Fact("a", a[i], ">=")], both).holds is False  # about the first alone


def test_a_witness_of_another_form_is_told_what_it_is() -> None:
    offered = Point((("N", 1),), ((Tensor("a", ("N",)), (0,)),))
    with pytest.raises(Malformed, match="a Point refutes a Rule"):
        judge(Implication((NONNEGATIVE,), Fact("c", a[k] - 1, ">="), witness=offered))  # type: ignore[arg-type]


def test_a_triangle_of_distances() -> None:
    triangle = Fact("triangle", D[p, q] + D[q, r] - D[p, r], ">=")
    quadrangle = Fact("four", D[i, j] + D[j, k] + D[k, l] - D[i, l], ">=")
    first, second = (
        Use("triangle", one, ((p, i), (q, j), (r, k))),
        Use("triangle", one, ((p, i), (q, k), (r, l))),
    )
    assert implied([triangle], quadrangle, first, second).proved
    assert not implied([triangle], quadrangle, first).proved
    of_those = Fact("triangle", D[i, j] + D[j, k] - D[i, k], ">=")
    with pytest.raises(Malformed, match="is that of the conclusion"):
        implied([of_those], quadrangle, Use("triangle", one, ((j, k), (k, l))), ("triangle", one))


def test_an_index_that_a_conclusion_only_prints_is_that_of_the_hypothesis() -> None:
    for nothing in (zeros("N")[i], at_point(c[i], Tensor("c", ("N",)), zeros("N"))):
        conclusion = Fact("sum", sum_over(l, a[l]) + nothing, ">=")
        assert implied([Fact("a", a[i], ">=")], conclusion).holds is False  # a = (0, -1) at i = 1
        with pytest.raises(Malformed, match="is that of the conclusion"):
            implied([Fact("a", a[i], ">=")], conclusion, Use("a", one, ((i, l),), (l,)))


def test_a_multiplier_does_not_take_in_what_it_multiplies() -> None:
    logarithm = loss("entropy", as_term(Tensor("q", positive=True)))
    proof = implied([Fact("a", a[i], "=")], Fact("c", logarithm * a[i], "="), ("a", logarithm))
    factor = r"\left(q \log q\right)\,"
    assert proof.proved and proof.steps[-1]["latex"] == rf"{factor}a_{{i}} = {factor}\left(a_{{i}}\right)"


def test_an_index_of_what_was_derived_is_said_once_for_all() -> None:
    said = Implication((Fact("a", a[i], ">="),), Fact("c", Raw((), (2 * a[i]).entry()), ">="))
    shown = r"a_{i} \ge 0 \;\Longrightarrow\; 2\,{a}_{i} \ge 0\qquad \text{(each } i\text{)}"
    assert said.statement_latex() == shown


def test_a_hypothesis_for_all_is_summed() -> None:
    weights, mean = Fact("b", b[k], ">="), Fact("mean", sum_over(j, b[j] * a[j]), ">=")
    assert implied([NONNEGATIVE, weights], mean, Use("a", b[k], over=(k,))).proved
    assert not implied([NONNEGATIVE], mean, Use("a", b[k], over=(k,))).proved  # weights of any sign
    assert implied([NONNEGATIVE], mean).holds is False
    less = Fact("less", sum_over(k, b[k]) - sum_over(k, a[k]), ">=")
    assert implied([Fact("each", b[i] - a[i], ">=")], less, Use("each", one, over=(i,))).proved
    zero = Fact("zero", sum_over(k, b[k] * a[k]), "=")
    assert implied([Fact("each", a[i], "=")], zero, Use("each", b[i], over=(i,))).proved
    of_both = Fact("squares", sum_over(k, a[k]) * sum_over(k, a[k]), ">=")
    assert implied([NONNEGATIVE], of_both, Use("a", sum_over(j, a[j]), over=(k,))).proved


def test_a_sum_of_what_is_positive_is_so_where_it_has_summands() -> None:
    assert implied(
        [Fact("a", a[k], ">")], Fact("sum", sum_over(j, a[j]), ">"), Use("a", one, over=(k,))
    ).proved
    few = Index("n", "N-1")
    none = implied(
        [Fact("u", SHORT[few], ">")], Fact("sum", sum_over(few, SHORT[few]), ">"), Use("u", one, over=(few,))
    )
    assert not none.proved  # of one token it is 0


def test_a_multiplier_may_divide_by_what_is_positive_for_all() -> None:
    positive = Fact("a", a[k], ">")
    ratio = Fact("ratio", b[i] / a[i], ">=")
    weights = Fact("b", b[k], ">=")
    proof = implied([positive, weights], ratio, Use("b", 1 / a[i], ((k, i),)), Use("a", 0 * one, ((k, i),)))
    assert proof.proved


def test_an_index_of_the_conclusion_is_not_summed_and_ranges_agree() -> None:
    mean = Fact("more", a[i] + b[j] ** 2, ">=")
    with pytest.raises(Malformed, match="is that of the conclusion"):
        implied([Fact("a", a[i], ">=")], mean, Use("a", one, over=(i,)))
    with pytest.raises(Malformed, match="another range"):
        implied([NONNEGATIVE], mean, Use("a", one, ((k, OTHER),)))
    with pytest.raises(Malformed, match="does not have"):
        implied([NONNEGATIVE], mean, Use("a", one, ((l, i),)))
    with pytest.raises(Malformed, match="twice"):
        implied([NONNEGATIVE], mean, Use("a", one, ((k, i), (k, j))))


def test_points_that_break_a_hypothesis_at_another_index_are_none() -> None:
    """a_k >= 0 for all k and Σ a = 0 leave a = 0, so no point at which one entry alone is looked at."""
    total = Fact("total", sum_over(j, a[j]), "=")
    assert implied([NONNEGATIVE, total], Fact("all", -a[i], ">=")).holds is not False


def test_what_is_summed_is_not_covered_by_the_kernel() -> None:
    summed = Implication((NONNEGATIVE,), Fact("sum", sum_over(j, a[j]), ">="), (Use("a", one, over=(k,)),))
    with pytest.raises(NotCovered, match="summed"):
        implication("sum", summed)
    positive, weight = Fact("a", a[k], ">"), Fact("b", b[i], ">=")
    entries = Implication((positive, weight), Fact("c", b[i] / a[i], ">="), (("b", 1 / a[i]),))
    assert judge(entries).proved
    for theorem in (implication, implication_defined):  # a_k > 0 says nothing of a_i there
        with pytest.raises(NotCovered, match="one entry, for all"):
            theorem("entries", entries)
    few = Fact("few", x + SHORT[n], ">"), Fact("less", -SHORT[n], ">")
    with pytest.raises(NotCovered, match="may have none"):
        implication("few", Implication(few, Fact("c", x, ">"), (("few", one), ("less", one))))


n, o = (Index(letter, "N-1") for letter in "no")
x, y, z = (as_term(Tensor(name)) for name in "xyz")
PROMISED = as_term(Tensor("v", ("N-1",), positive=True))


@pytest.mark.parametrize(
    "facts, conclusion, uses",
    [
        (
            [Fact("h", x + SHORT[n], ">"), Fact("g", -SHORT[n], ">")],
            Fact("c", x, ">"),
            [("h", one), ("g", one)],
        ),
        (
            [Fact("h", x + SHORT[n], "="), Fact("g", SHORT[n], "=")],
            Fact("c", x, "="),
            [("h", one), ("g", -one)],
        ),
        ([Fact("h", x * PROMISED[n], ">"), NONNEGATIVE], Fact("c", x * a[i], ">="), [Use("a", x, ((k, i),))]),
        ([Fact("h", SHORT[n] / x, ">="), Fact("y", y, ">")], Fact("c", x**2 * y, ">"), [("y", x**2)]),
        (
            [Fact("h", sum_over(n, SHORT[n] / x) + 5, ">="), Fact("y", y, ">")],
            Fact("c", x**2 * y, ">"),
            [("y", x**2)],
        ),
    ],
    ids=["added", "equal", "times a promise", "divides", "divides in a sum"],
)
def test_of_one_token_nothing_is_said_of_what_has_none(facts, conclusion, uses) -> None:
    """Sizes N - 1 may be 0: a hypothesis for all values of n then says nothing, and x may be anything."""
    assert implied(facts, conclusion, *uses).holds is None


def test_what_has_the_index_keeps_its_sign() -> None:
    squares = Fact("c", sum_over(o, SHORT[o] ** 2), ">=")
    assert implied([Fact("u", SHORT[n], ">=")], squares, Use("u", SHORT[n], over=(n,))).proved
    inverse = Fact("c", sum_over(o, 1 / SHORT[o]), ">=")
    assert implied([Fact("u", SHORT[n], ">")], inverse, Use("u", SHORT[n] ** -2, over=(n,))).proved
    other = Fact("c", 2 * SHORT[o], ">")
    assert implied([Fact("u", SHORT[n], ">")], other, Use("u", 2 * one, ((n, o),))).proved


def test_an_odd_root_asks_for_nothing_that_a_square_root_needs() -> None:
    """Many define the cube root of -8: it is assumed of no number then that it is not negative."""
    x, y = as_term(Tensor("x", ())), as_term(Tensor("y", ()))
    third = Fact("y", x ** Fraction(1, 3) - y, "=")
    root = Fact("c", sqrt(x) * (y - x ** Fraction(1, 3)), "=")
    assert implied([third], root, ("y", -sqrt(x))).holds is None
    assert implied([third, Fact("x", x, ">")], root, ("y", -sqrt(x))).proved
    cube = Fact("c", x ** Fraction(2, 3) - x ** Fraction(1, 3) * y, "=")
    assert implied([third], cube, ("y", x ** Fraction(1, 3))).proved
    below = Fact("y", x ** Fraction(-1, 3) - y, "=")  # not 0 at least
    assert implied([below], Fact("c", (x ** Fraction(-1, 3) - y) / x, "="), ("y", 1 / x)).proved


def test_a_conclusion_in_other_letters_is_its_hypothesis() -> None:
    with pytest.raises(Malformed, match="is the conclusion"):
        implied([NONNEGATIVE], Fact("c", a[i], ">="), Use("a", one, ((k, i),)))
    with pytest.raises(Malformed, match="is the conclusion"):
        turned = Fact("c", D[j, i] - D[i, j], "=")
        implied([Fact("h", D[p, q] - D[q, p], "=")], turned, Use("h", one, ((p, j), (q, i))))
    of_one = Fact("c", D[i, i], ">=")
    assert implied([Fact("h", D[p, q], ">=")], of_one, Use("h", one, ((p, i), (q, i)))).proved


@pytest.mark.parametrize(
    "use",
    [
        ("a",), ("a", 1), "a", Use("a", one, (("k", "i"),)), Use("a", one, (k, i)), Use("a", one, (), k),
        Use("a", one, ((k, i, j),)), Use(None, one), Use("a", one, (), ((k, i),)), Use("a", Tensor("b")),
    ],
)  # fmt: skip
def test_what_is_no_use_is_refused(use) -> None:
    with pytest.raises(Malformed, match="is made of pairs"):
        implied([NONNEGATIVE], Fact("c", a[i] + a[j], ">="), use)


def test_letters_of_a_use_are_those_of_nothing_else() -> None:
    letter, mean = Index("x", "N"), Fact("c", x**2 * sum_over(l, a[l]), ">=")
    with pytest.raises(Malformed, match="x is a symbol and an index"):
        implied([NONNEGATIVE], mean, Use("a", x**2, ((k, letter),), (letter,)))
    with pytest.raises(Malformed, match="N is a size and an index"):
        size = Index("N", "N")
        implied([NONNEGATIVE], mean, Use("a", x**2, ((k, size),), (size,)))
    with pytest.raises(Malformed, match="over two ranges"):
        implied([NONNEGATIVE], Fact("c", a[i] + a[j], ">="), Use("a", one, ((k, i),), (Index("i", "M"),)))


def test_a_letter_that_a_sum_inside_has_is_not_printed_twice() -> None:
    """Σ_k Σ_k b_k² a_k would be read as another number."""
    total = Fact("c", sum_over(l, a[l]) * sum_over(l, b[l] ** 2), ">=")
    proof = implied([NONNEGATIVE], total, Use("a", sum_over(k, b[k] ** 2), over=(k,)))
    assert proof.proved
    shown = proof.steps[-1]["latex"].split(" = ")[-1]
    assert shown == r"\sum_{j=1}^{N} {a}_{j}\,\left\|b\right\|^{2}"
    apart = implied([NONNEGATIVE], total, Use("a", sum_over(j, b[j] ** 2), over=(k,)))
    assert apart.steps[-1]["latex"].split("} = ")[-1].startswith(r"\sum_{k=1}^{N} ")


def test_letters_of_sums_in_what_was_derived_are_those_printed() -> None:
    """Σ_j (Σ_j b_j³) (a_j - x), or (a_k - Σ_j D_kj b_j c_j) at k = j, would be read as another number."""
    cubes = sum_over(i, b[i] ** 3)
    over = Fact("c", (sum_over(i, a[i]) - x * size("N")) * cubes, "=")
    proof = implied([Fact("h", a[j] - x, "=")], over)
    assert proof.proved and r"\sum_{j=1}^{N} \left(\sum_{j=1}" not in proof.steps[-1]["latex"]
    line = Raw((), (a[k] - sum_over(q, D[k, q] * b[q] * c[q])).entry())
    moved = Fact("c", x * a[j] - x * sum_over(i, D[j, i] * b[i] * c[i]), "=")
    proof = implied([Fact("h", line, "=")], moved)
    assert proof.proved and r"|_{k = j}" not in proof.steps[-1]["latex"]
    assert (
        r"\Big|_{k = i}" in implied([Fact("h", line, "=")], Fact("c", x * line_at(i), "=")).steps[-1]["latex"]
    )


def line_at(place: Index) -> Any:
    return a[place] - sum_over(l, D[place, l] * b[l] * c[l])


d, e, m = Index("d", "D"), Index("e", "D"), Index("m", "M")
KEY, VALUE, STATE = (
    as_term(Tensor("k", ("D",))),
    as_term(Tensor("v", ("M",))),
    as_term(Tensor("S", ("M", "D"))),
)
UNIT = Fact("unit", sum_over(d, KEY[d] ** 2) - 1, "=")
WEIGHTS = [NONNEGATIVE, Fact("weights", sum_over(j, a[j]) - 1, "="), Fact("least", b[k] - x, ">=")]
BOTH = [Fact("x", x, ">"), Fact("y", y, ">")]


def corrected_state(rate: int) -> Any:
    """S less rate (S k - v) kᵀ, read at k."""
    error = sum_over(e, STATE[m, e] * KEY[e]) - VALUE[m]
    return sum_over(d, (STATE[m, d] - rate * error * KEY[d]) * KEY[d])


def triangle(*corners: Index) -> Any:
    """The length of a path less that of the straight line."""
    path = [D[one, two] for one, two in pairwise(corners)]
    return sum(path[1:], path[0]) - D[corners[0], corners[-1]]


SOUGHT = {
    "the delta rule": ([UNIT], corrected_state(1) - VALUE[m], corrected_state(2) - VALUE[m], "="),
    "a mean of bounded values": (WEIGHTS, sum_over(j, a[j] * b[j]) - x, sum_over(j, a[j] * b[j]) - 2 * x, ">="),
    "a factor that is not 0": ([Fact("h", x * y, "="), BOTH[0]], y, z * y + x - 1, "="),
    "a chain": ([Fact("h", y - x, ">="), Fact("g", z - y, ">")], z - x, z - 2 * x, ">"),
    "a product": (BOTH, x * y, x * y - 1, ">"),
    "a product above 1": ([Fact("h", x - 1, ">="), Fact("g", y - 1, ">=")], x * y - 1, x * y - 2, ">="),
    "two equations": ([Fact("h", x + y - 3, "="), Fact("g", x - y - 1, "=")], x - 2, x - 1, "="),
    "a difference of squares": ([Fact("h", x + y, "=")], x**2 - y**2, x**2 + y**2, "="),
    "a substitution": ([Fact("h", x - 2 * y, "="), Fact("g", y - 3 * z, "=")], x - 6 * z, x - 5 * z, "="),
    "inverses": ([*BOTH, Fact("h", x - y, ">=")], 1 / y - 1 / x, 1 / x - 1 / y, ">="),
    "a path": ([Fact("h", triangle(p, q, r), ">=")], triangle(i, j, k, l), triangle(i, j, k, l) - D[i, j], ">="),
    "rows that sum to 1": (
        [Fact("rows", sum_over(j, D[i, j]) - 1, "=")],
        sum_over(k, sum_over(l, D[k, l])) - size("N"),
        sum_over(k, sum_over(l, D[k, l])) - 1,
        "=",
    ),
    "a square that is not 0": ([Fact("h", x * x, ">")], (z / x) * x - z, (z / x) * x - y, "="),
    "a root of what is positive": (
        [BOTH[0], Fact("h", squared_norm(KEY), ">")],
        (x * KEY)[d] / sqrt(squared_norm(x * KEY)) - KEY[d] / sqrt(squared_norm(KEY)),
        (x * KEY)[d] / sqrt(squared_norm(x * KEY)) - x * KEY[d] / sqrt(squared_norm(KEY)),
        "=",
    ),
    "an equation under a sum": (
        [Fact("h", a[i] - sum_over(j, D[i, j] * b[j]), "=")],
        sum_over(i, a[i] * c[i]) - sum_over(j, b[j] * sum_over(i, D[i, j] * c[i])),
        sum_over(i, a[i] * c[i]) - sum_over(j, b[j] * sum_over(i, D[j, i] * c[i])),
        "=",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUGHT)
def test_a_certificate_is_sought_and_believed_only_as_an_identity(name: str) -> None:
    facts, true, false, relation = SOUGHT[name]
    proof = implied(facts, Fact("c", true, relation))
    assert proof.proved and not proof.mutants.survivors
    assert implied(facts, Fact("c", false, relation)).holds is False


@pytest.mark.parametrize("name", ["a chain", "a product", "a path", "a mean of bounded values"])
def test_a_certificate_is_sought_without_scipy_as_well(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a browser, which has SymPy alone."""
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    facts, true, false, relation = SOUGHT[name]
    found = completed.__wrapped__(Implication(tuple(facts), Fact("c", true, relation)))
    assert found.uses() and not certificate_error(found)
    assert certificate_error(completed.__wrapped__(Implication(tuple(facts), Fact("c", false, relation))))


def test_what_is_sought_neither_divides_by_what_may_vanish_nor_takes_a_sign_on_trust() -> None:
    assert not implied([Fact("h", x * y, "=")], Fact("c", y, "=")).proved
    assert not implied([Fact("h", x, ">=")], Fact("c", x * y, ">=")).proved
    assert not implied([Fact("h", x, ">=")], Fact("c", x, ">")).proved
    assert not implied([Fact("h", x, ">=")], Fact("c", x, "=")).proved
    assert not implied([Fact("u", SHORT[n], ">")], Fact("c", sum_over(o, SHORT[o]), ">")).proved  # N = 1
    nonzero = [Fact("h", x * x, ">")]
    assert implied(nonzero, Fact("c", sqrt(x**2) - x, "=")).holds is False  # x = -1: not 0 is not positive
    assert not implied([Fact("h", x * x, ">=")], Fact("c", (z / x) * x - z, "=")).proved  # x = 0
    some = [Fact("a", a[i], ">")]
    assert not implied(some, Fact("c", sqrt(a[i] ** 2 * a[j] ** 2) - a[i] * a[j], "=")).proved  # a_j = -1


def test_a_search_ends_whatever_is_tried() -> None:
    """What is long is multiplied out slowly: without a bound some searches took minutes."""
    asked: list[Any] = []
    fixed = frozenset(Token("i", letter, "N") for letter in "ijkl")
    wanted = normal((triangle(i, j, k, l) - D[i, j]).entry())
    given = [Given(normal(triangle(p, q, r).entry()), ">=")]
    assert combination(wanted, given, fixed, asked.append, inverses=True) == []
    assert 0 < len(asked) < 500


def test_numbers_beyond_a_linear_program_are_no_error() -> None:
    many = 10**400
    facts = [Fact("h", x - many * y, ">="), Fact("g", y - many, ">=")]
    assert implied(facts, Fact("c", x - many**2, ">=")).holds is not False


@pytest.mark.parametrize("terms", [(x, x / (y - y)), (x / (y - y), x)])
def test_what_has_no_value_is_refused(terms: Any) -> None:
    with pytest.raises(Malformed, match="divides by what is always 0"):
        implied([Fact("h", terms[0], ">=")], Fact("c", terms[1], ">"))


def test_a_point_whose_numbers_become_very_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry that is solved for doubles the digits: some searches for a point did not end."""
    lengths: list[int] = []

    def spied(instance: Any, *rest: Any) -> Any:
        lengths.extend(value.denominator.bit_length() for value in instance.values.values())
        return solved(instance, *rest)

    monkeypatch.setattr("checks.engine.points.solved", spied)
    w = as_term(Tensor("w", ("N",), positive=True))
    P = as_term(Tensor("P", ("N", "N"), positive=True))
    long = (P[k, k] - w[i] * x * w[q]) * P[q, q] + w[k]
    never = Implication((Fact("h", long, "="), Fact("w", w[i], "=")), Fact("c", z, "="))
    assert satisfied(never, 0) == ("", 0, None)
    assert 10 < max(lengths) <= 200
