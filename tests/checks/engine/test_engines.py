"""Engines as an adversary sees them: what is true is found, what is false is refuted exactly, what is
open stays open.
"""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

from checks import statement as st
from checks.claim import Claim, Options
from checks.engine.finding import Finding, Inconsistent
from checks.engine.judge import ENGINES, judge
from checks.evidence import Evidence
from checks.kinds.examples import Point
from checks.kinds.implication import Implication, certificate_error
from checks.kinds.positive import Positive
from checks.kinds.programs import Convex, Dual, WellPosed
from checks.run.verify import examine
from checks.statement import All, Definition, Fact, Given, Identity, Link, Malformed
from derivations.calculus.gradients import grad
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.term import (
    apply,
    as_term,
    exp,
    hadamard,
    named,
    row_softmax,
    size,
    softmax,
    sqrt,
    squared_norm,
    stack,
    sum_over,
    trace,
)

i, j, d = Index("i", "N"), Index("j", "N"), Index("d", "D")
X, Y, W = Tensor("x", ("N",)), Tensor("y", ("N",)), Tensor("w", ("N",), positive=True)
M, P = Tensor("A", ("N", "D")), Tensor("P", ("N", "N"), symmetric=True)
S, T, U, C = Tensor("s"), Tensor("t"), Tensor("u"), Tensor("c", (), positive=True)
x, y, w, A, s, t, u, c = (as_term(a) for a in (X, Y, W, M, S, T, U, C))
zero, one = as_term(0), as_term(1)


def found(statement: Any, seed: int = 0) -> Finding:
    return judge(statement, seed)


# ---------------------------------------------------------------- identities


def test_a_true_identity_is_proved_with_every_mutant_rejected() -> None:
    finding = found(Identity(squared_norm(x + y), squared_norm(x) + 2 * x.T @ y + squared_norm(y)))
    assert finding.holds is True and finding.proved
    assert finding.mutants.tried == finding.mutants.killed + finding.mutants.equivalent > 5
    assert not finding.mutants.survivors


def test_a_false_identity_is_refuted_at_the_smallest_sizes_with_simple_values() -> None:
    finding = found(Identity(squared_norm(x + y), squared_norm(x) + squared_norm(y)))
    assert finding.holds is False and not finding.mutants.tried
    assert finding.counterexample == "N = 1; x = (1); y = (1): left side 4, right side 2"


def test_a_difference_that_needs_two_entries_is_found_at_two() -> None:
    finding = found(Identity(sum_over(i, x[i]) ** 2, squared_norm(x)))
    assert finding.counterexample == "N = 2; x = (1, 1): left side 4, right side 2"


def test_a_difference_of_indices_names_them() -> None:
    finding = found(Identity(sum_over(j, x[j] * y[j]), x[i] * y[i] + 0 * x[i]))
    assert finding.holds is False
    assert finding.counterexample is not None and "at i = " in finding.counterexample


def test_a_statement_true_only_for_size_one_is_not_proved() -> None:
    assert (
        found(Identity(size("N") * x, x)).counterexample
        == "N = 2; x = (1, 1); entry 1: left side 2, right side 1"
    )


@pytest.mark.parametrize("lhs, rhs, words", [
    (A @ x, x, "matrix product of shapes N×D and N: D against N"),
    (x + A, x, "terms of shapes N and N×D are added"),
    (A.T @ x, x, "the two sides have different shapes: D and N"),
])  # fmt: skip
def test_shapes_that_do_not_agree_refute(lhs: Any, rhs: Any, words: str) -> None:
    finding = found(Identity(lhs, rhs))
    assert finding.holds is False and words in (finding.counterexample or "")


def test_a_denominator_that_can_vanish_refutes_unless_it_is_assumed_not_to() -> None:
    statement = Identity(s * (t / s), t)
    assert found(statement).counterexample == "s = 0: the denominator is 0"
    assert found(replace(statement, nonzero=(S,))).proved
    assert found(Identity(c * (t / c), t)).proved  # promised positive
    assert found(Identity(x * exp(s) / sum_over(i, exp(y[i])), exp(s) * x / sum_over(i, exp(y[i])))).proved


def test_an_assumption_about_another_tensor_does_not_help() -> None:
    assert found(Identity(s * (t / s), t, nonzero=(T,))).holds is False


def test_a_given_denominator_is_protected_by_its_own_name_only() -> None:
    rule = Given(S, (), sum_over(i, x[i]), "the sum")
    direct = Identity(t * sum_over(i, x[i]) / sum_over(i, x[i]), t, given=(rule,))
    assert found(direct).holds is False
    assert found(replace(direct, nonzero=(S,))).proved


def test_a_wrong_member_of_a_chain_is_refuted_if_it_is_printed_and_else_leaves_the_statement_open() -> None:
    good = Identity(s * t, t * s, chain=(Link(s * t + 0 * u, "the same"),))
    assert found(good).proved
    printed = found(replace(good, chain=(Link(s * t + u, "not the same"),)))
    assert printed.holds is False and "which is" in str(printed.counterexample)
    finding = found(replace(good, chain=(Link(s * t + u, "not the same", printed=False),)))
    assert not finding.proved and finding.holds is None
    assert [step["passed"] for step in finding.steps] == [None, None], "not shown, and not refuted either"
    assert {step["reason"] for step in finding.steps} == {"not shown"}


def test_random_instances_alone_settle_nothing() -> None:
    """sqrt(2 + sqrt(3)) = (sqrt(6) + sqrt(2))/2 has no exact value here: it must stay open, not be
    confirmed.
    """
    statement = Identity(
        sqrt(2 + sqrt(as_term(3))) + 0 * s, (sqrt(as_term(6)) + sqrt(as_term(2))) / 2 + 0 * s
    )
    finding = found(statement)
    assert finding.holds is None and not finding.proved and finding.counterexample is None


def test_agreeing_shapes_are_not_a_second_leg() -> None:
    shapes = Evidence("derivation", "exact-symbolic", True, "all shapes agree")
    instances = Evidence("exact", "exact-rational", True, "instances agree")
    assert Finding([shapes, instances]).holds is None
    assert Finding([shapes, instances, Evidence("tensor", "certified-float", True)]).holds is True
    assert Finding([shapes, instances, Evidence("exact", "interval", True)]).holds is None


def test_unknown_functions_are_equal_for_equal_arguments_only() -> None:
    assert found(Identity(apply("F", s * t), apply("F", t * s))).proved
    assert found(Identity(apply("F", s + t), apply("F", s) + apply("F", t))).holds is False
    assert found(Identity(apply("F", s, order=1), apply("F", s))).holds is False


def test_a_counterexample_says_which_function_it_takes() -> None:
    """What stands for an unknown function is shown: without it nobody can compute the two sides."""
    shown = found(Identity(apply("F", s, order=1), apply("F", s))).counterexample
    assert shown is not None
    values = re.search(r"F\(t\) = (.*): left side (\S+), right side (\S+)$", shown)
    point = re.search(r"\bs = (-?[\d/]+)", shown)
    assert values and point, shown
    letter, text = sp.Symbol("t"), re.sub(r"t([²³⁴])", lambda m: f"t**{'²³⁴'.index(m[1]) + 2}", values[1])
    polynomial = sp.parse_expr(re.sub(r"(\d) t", r"\1*t", text), {"t": letter})
    for side, value in ((polynomial.diff(letter), values[2]), (polynomial, values[3])):
        assert side.subs(letter, sp.Rational(point[1])) == sp.Rational(value)


def test_functions_with_a_meaning_keep_it() -> None:
    """cosh is even and sinh odd: no instance may treat them as unknown functions."""
    for name, sign in (("cosh", 1), ("sinh", -1), ("tanh", -1)):
        assert found(Identity(apply(name, -s), sign * apply(name, s))).holds is not False
        assert found(Identity(apply(name, -s), -sign * apply(name, s) + 0 * s)).holds is False
    assert found(Identity(apply("cosh", s) ** 2 - apply("sinh", s) ** 2, one + 0 * s)).holds is not False
    assert found(Identity(apply("cosh", s, order=1), apply("sinh", s))).holds is not False
    assert found(Identity(apply("tanh", s, order=1), 1 - apply("tanh", s) ** 2)).holds is not False
    assert found(Identity(apply("tanh", s), apply("sinh", s) / apply("cosh", s))).holds is not False


def test_logarithms_are_never_evaluated_by_a_wrong_rule() -> None:
    product = Identity(apply("log", s * t), apply("log", s) + apply("log", t))
    assert found(product).holds is False  # not defined at s = 0
    k = as_term(Tensor("k", (), positive=True))
    assert found(Identity(apply("log", c * k), apply("log", c) + apply("log", k))).proved


def test_softmax_over_another_index_is_told_apart() -> None:
    lhs = row_softmax(A @ A.T)[i]
    assert found(Identity(lhs, stack(j, softmax(j, A[i].T @ A[j])))).proved
    assert found(Identity(lhs, stack(j, softmax(i, A[i].T @ A[j])))).holds is False


def test_every_seed_gives_the_same_answers() -> None:
    for seed in range(5):
        assert found(Identity(s + t, t + s), seed).proved
        assert found(Identity(s - t, t - s), seed).holds is False


# ---------------------------------------------------------------- definitions


def test_definitions_are_checked_for_shapes_and_zeros() -> None:
    assert found(Definition(x, y / c)).holds is True
    assert found(Definition(x, y / s)).counterexample == "s = 0: the denominator is 0"
    assert found(Definition(x, y / s, nonzero=(S,))).holds is True
    assert found(Definition(x, A)).holds is False
    with pytest.raises(Malformed, match="x is defined by itself"):
        found(Definition(x, y / sum_over(i, x[i])))


# ---------------------------------------------------------------- parts


OPEN = Implication((Fact("e", exp(s) - 2, "="),), Fact("s", s, ">"))
"""True, but without a certificate, and no exact point satisfies its hypothesis."""


def test_a_proved_part_does_not_carry_an_open_one() -> None:
    assert found(OPEN).holds is None
    whole = found(All(Identity(s + t, t + s), OPEN))
    assert whole.holds is None and not whole.proved


def test_a_claim_with_an_open_part_needs_two_further_legs() -> None:
    def leg(name: str) -> Any:
        return lambda assumptions, options: [Evidence(name, "sampled", True, wrong=1)]

    def judged(*legs: Any) -> str:
        statement = All(Identity(s + t, t + s), OPEN)
        return examine(Claim("x/1", "", "", lambda a: statement, "", legs=legs), None, Options()).verdict

    assert judged() == "unsettled"
    assert judged(leg("tensor")) == "unsettled"
    assert judged(leg("tensor"), leg("tensor")) == "unsettled"
    assert judged(leg("tensor"), leg("solver")) == "confirmed"


def test_one_false_part_refutes_the_whole() -> None:
    whole = found(All(Identity(s + t, t + s, label="sum"), Identity(s - t, t - s, label="difference")))
    assert whole.holds is False
    assert (whole.counterexample or "").startswith("(b) difference: ")


def test_saying_nothing_proves_nothing() -> None:
    assert found(All()).holds is None
    assert found(All(All(), All())).holds is None


def test_what_can_change_is_no_part_of_a_statement() -> None:
    with pytest.raises(Malformed, match="made of what cannot change, of tuples: unhashable type: 'list'"):
        judge(Identity(x, x + 0, nonzero=[X]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((), (("x", 1),)), "in the values of a point, the Tensor itself stands before each value, not 'x'"),
        (((), {X: 1}), "the values of a point are a tuple of pairs, not {"),
        (((("N", 2),), (), (("i", 1),)), "the Index itself stands before each value, not 'i'"),
        (((2, "N"), ()), "the sizes of a point are a tuple of pairs"),
        ((((2, "N"),), ()), "the name of a dimension stands before each value, not 2"),
    ],
)
def test_a_point_says_what_it_is_made_of(arguments: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Point(*arguments)


def test_parts_are_given_one_by_one() -> None:
    one, two = Identity(s, s), Identity(t, t)
    assert All(one, two).parts == (one, two)
    with pytest.raises(TypeError, match="one by one"):
        All((one, two))  # type: ignore[arg-type]


def test_nested_parts_are_all_judged() -> None:
    assert found(All(All(Identity(s, s + 0 * t)), All(Identity(s, t)))).holds is False


# ---------------------------------------------------------------- contradictions


def test_a_leg_against_a_proof_is_an_inconsistency() -> None:
    proof = Evidence("derivation", "exact-symbolic", True, "proved", settles=True)
    failing = Evidence("tensor", "certified-float", False, "differs")
    with pytest.raises(Inconsistent, match="proved, and yet a leg fails: tensor"):
        _ = Finding([proof, failing]).holds


def test_a_wrong_prover_is_found_out_by_exact_instances(monkeypatch: pytest.MonkeyPatch) -> None:
    from derivations.calculus import normal

    monkeypatch.setattr(normal, "equal", lambda left, right: True)
    finding = found(Identity(s * (t + u), s * t + u))
    assert finding.holds is False and not finding.proved  # the counterexample comes first
    claim = Claim("x/1", "", "", lambda a: Identity(s + t, t + s), "",
                  legs=(lambda a, o: [Evidence("tensor", "measured", False, "differs")],))  # fmt: skip
    record = examine(claim, None, Options())
    assert record.verdict == "inconsistent" and "tensor (measured): differs" in record.notes


def test_a_part_that_contradicts_itself_is_not_hidden_by_an_open_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Finding(
        [Evidence("derivation", "exact-symbolic", True, settles=True), Evidence("exact", "measured", False)]
    )
    monkeypatch.setitem(ENGINES, Convex, lambda statement, seed, with_mutants: bad)
    with pytest.raises(Inconsistent):
        judge(All(Convex(Program("p", (X,), squared_norm(x))), OPEN))


# ---------------------------------------------------------------- implications

HALF = Fraction(1, 2)
POSITIVE_S, POSITIVE_T = Fact("s", s, ">="), Fact("t", t, ">")


def implied(
    hypotheses: Any, conclusion: Any, multipliers: Any = (), factor: Any = (), witness: Any = ()
) -> Finding:
    return found(
        Implication(tuple(hypotheses), conclusion, tuple(multipliers), tuple(factor), tuple(witness))
    )


def test_a_certificate_proves() -> None:
    finding = implied([POSITIVE_S, POSITIVE_T], Fact("sum", s + 2 * t, ">"), [("s", one), ("t", as_term(2))])
    assert finding.proved and finding.mutants.killed == finding.mutants.tried > 0


SMALLER = Fact("s < 1", 1 - s, ">")


def test_a_statement_that_fails_at_fractions_alone_is_refuted() -> None:
    """0 <= s < 1 and t/(1 - s) >= u do not give t >= (1 - s)u + s: at s = 0, the only whole number, they do."""
    bound = Fact("bound", t / (1 - s) - u, ">=")
    wrong = implied([SMALLER, POSITIVE_S, bound], Fact("more", t - (1 - s) * u - s, ">="))
    assert wrong.holds is False and "every hypothesis holds" in str(wrong.counterexample)
    right = implied([SMALLER, POSITIVE_S, bound], Fact("as much", t - (1 - s) * u, ">="), [("bound", 1 - s)])
    assert right.proved


def test_a_name_with_a_number_in_it_is_told_how_to_be_printed() -> None:
    with pytest.raises(Malformed, match=re.escape('latex="s_{0}"')):
        found(Identity(as_term(Tensor("s0")) + s - s, as_term(Tensor("s0")) + t - t))
    printed = as_term(Tensor("s0", latex="s_{0}"))
    assert found(Identity(printed + s - s, printed + t - t)).proved


def test_a_name_below_a_sum_shows_the_index_of_the_sum() -> None:
    """Σ_i c v_i with c = u_i reads as c Σ_i v_i."""
    u, v = (as_term(Tensor(name, ("N",)))[i] for name in "uv")
    mu, prime = Index(r"\mu", "N"), Index("i'", "N")
    for name, index in (
        *(("c", i), (r"\tilde c", i), ("c_{i}", mu), ("c_i", prime), (r"c_{i'}", i), (r"\mu_c", mu)),
        *((r"\mathrm{sim}", i), (r"c_{\mathrm{sim}}", i), ("Li", i)),
    ):
        entry = as_term(Tensor("u", ("N",)))[index]
        with pytest.raises(Malformed, match="does not show the index"):
            found(Identity(sum_over(index, named(name, entry)), sum_over(i, u + v - v)))
    for name in ("c_i", "c_{ij}", "c(i)", r"\hat{c}^{(i)}"):
        shown = sum_over(i, named(name, u) * v)
        assert found(Identity(shown, sum_over(i, v * u))).proved
        assert found(Identity(shown, sum_over(i, v * u * u))).holds is False
    assert found(Identity(sum_over(j, named("c", u) * 1), sum_over(j, u))).proved


def test_the_name_of_an_energy_shows_the_index_of_a_sum_around_its_gradient() -> None:
    """Σ_i ∇E with E = u_i x reads as N ∇E."""
    u, x = as_term(Tensor("u", ("N",)))[i], Tensor("x")
    for name, energy in (("E_i", u * as_term(x)), (r"u_{i}\,x", u * as_term(x)), ("E", as_term(x) * 2)):
        summed = sum_over(i, grad(energy, x, name))
        assert found(Identity(summed, sum_over(i, u if name != "E" else as_term(2)))).proved
    with pytest.raises(Malformed, match="the name E does not show the index i"):
        found(Identity(sum_over(i, grad(u * as_term(x), x)), sum_over(i, u)))


def test_a_name_shows_the_index_for_all_values_of_which_something_is_defined_or_constrained() -> None:
    """c_i = w with w = u_i reads as one number for all i."""
    u, c, x = as_term(Tensor("u", ("N",))), Tensor("c", ("N",)), Tensor("x")
    for name in ("w_i", "w"):
        meant = named(name, u[i])
        limit = Constraint(as_term(x) - meant, as_term(0), Tensor("m", ("N",)), (i,))
        of_all = Identity(as_term(c)[j] * 2, 2 * u[j], given=(Given(c, (i,), meant, "r"),))
        for statement in (of_all, Convex(Program("P", (x,), as_term(x) ** 2, (limit,)))):
            if name == "w_i":
                assert judge(statement).proved
                continue
            with pytest.raises(Malformed, match="the name w does not show the index i"):
                judge(statement)


def test_a_kernel_whose_shapes_do_not_agree_is_refuted() -> None:
    points, other = Tensor("p", ("N", "d")), as_term(Tensor("q", ("N", "e")))
    one = as_term(points)
    assert "shapes do not agree" in str(
        found(Positive(one[i].T @ other[j], points, i, j, "R^d")).counterexample
    )
    assert found(Positive(one[i].T @ one[j], points, i, j, "R^d")).holds is None


def test_a_power_of_a_square_matrix_is_written_out() -> None:
    """tr(A²) = Σ_a A_aa² is true entry by entry, and not as it reads."""
    square = as_term(Tensor("A", ("N", "N")))
    for power in (2, -1, 3):
        with pytest.raises(Malformed, match="reads as a power of the whole matrix"):
            found(Identity(trace(square**power), sum_over(i, square[i, i] ** power)))
    assert found(Identity(trace(hadamard(square, square)), sum_over(i, square[i, i] ** 2))).proved
    assert found(Identity(trace(square @ square), sum_over(i, square[i, i] ** 2))).holds is False
    assert found(Identity(sum_over(i, (x**2)[i]), squared_norm(x))).proved


def test_what_is_not_zero_is_said_to_be_a_square() -> None:
    with pytest.raises(Malformed, match=re.escape('Fact("u", u**2, ">")')):
        implied([Fact("s", s, "!=")], POSITIVE_S)


def size_of(term: Any) -> Any:
    return apply("abs", term)


def bounded_state(rest: Any, relation: str = ">=") -> Finding:
    """|s| <= 1/(1 - c) and |t| <= 1 give |c s + t| <= 1/(1 - c), for 0 < c < 1."""
    bound = 1 / (1 - c)
    facts = [Fact("c < 1", 1 - c, ">"), Fact("s", bound - size_of(s), ">="), Fact("t", 1 - size_of(t), ">=")]
    now = Fact("next", bound - size_of(c * s + t), relation)
    return judge(Implication(tuple(facts), now, (("s", c), ("t", one)), rest=rest))


def test_what_is_left_of_a_certificate_is_nonnegative_case_by_case() -> None:
    triangle = c * size_of(s) + size_of(t) - size_of(c * s + t)
    proof = bounded_state(triangle)
    assert proof.proved and proof.mutants.killed and not proof.mutants.survivors
    assert triangle.latex() in proof.steps[-1]["latex"]
    assert not bounded_state(None).proved
    assert not bounded_state(triangle, ">").proved  # it is attained
    assert not bounded_state(triangle + 1).proved
    assert not implied([POSITIVE_S], Fact("t", s - size_of(t), ">="), [("s", one)]).proved
    assert not judge(
        Implication((POSITIVE_S,), Fact("t", s - size_of(t), ">="), (("s", one),), rest=-size_of(t))
    ).proved
    assert not judge(
        Implication((Fact("t", t, "="),), Fact("t", t + s**2, "="), (("t", one),), rest=s**2)
    ).proved


def spread(of: Any) -> Any:
    mean = sum_over(i, of[i]) / size("N")
    return sum_over(j, (of[j] - mean) ** 2) / size("N")


def test_what_is_positive_stays_so_times_what_is_promised_positive() -> None:
    """The norm of x over all its entries but their mean does not change with c x, where x has a spread."""
    positive = [Fact("spread", spread(x), ">")]
    same = Fact("same", c * x[i] / sqrt(spread(c * x)) - x[i] / sqrt(spread(x)), "=")
    assert implied(positive, same).proved
    assert not implied([Fact("spread", spread(x), ">=")], same).proved
    assert not implied([Fact("spread", -spread(x), ">")], same).proved
    free = Fact("same", 1 / spread(s * x) - 1 / (s**2 * spread(x)), "=")
    assert not implied(positive, free).proved  # s may be 0


WRONG = {
    "a wrong sign": ([("s", -one), ("t", as_term(2))], Fact("sum", s + 2 * t, ">")),
    "a negative multiplier that makes the identity true": ([("s", -one)], Fact("minus s", -s, ">=")),
    "a wrong factor": ([("s", one), ("t", one)], Fact("sum", s + 2 * t, ">")),
    "a multiplier of unknown sign": ([("s", t + u)], Fact("product", s * (t + u), ">=")),
    "a fact that is not assumed": ([("r", one)], Fact("twice s", 2 * s, ">=")),
    "strict from not strict": ([("s", one)], Fact("s", s, ">")),
    "strict with a multiplier that may vanish": ([("t", s)], Fact("s t", s * t, ">")),
    "an equation from inequalities": ([("s", zero), ("t", zero)], Fact("zero", zero * s, "=")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_certificate_proves_nothing(name: str) -> None:
    multipliers, conclusion = WRONG[name]
    finding = implied([POSITIVE_S, POSITIVE_T], conclusion, multipliers)
    assert finding.holds is not True and not finding.proved


def test_the_sign_of_a_sum_says_nothing_about_its_entries() -> None:
    """Σx >= 0 does not make Σ w x >= 0 for positive weights w: x = (1, -1), w = (1, 2)."""
    total, weighted = sum_over(i, x[i]), sum_over(i, w[i] * x[i])
    finding = implied(
        [Fact("sum", total, ">="), Fact("t", t, ">=")], Fact("c", weighted * t, ">="), [("t", weighted)]
    )
    assert not finding.proved
    entrywise = implied([Fact("x", x[i], ">="), Fact("t", t, ">=")], Fact("c", w[i] * x[i] * t, ">="),
                        [("t", w[i] * x[i])])  # fmt: skip
    assert entrywise.proved


def test_a_multiplier_must_be_defined_where_the_hypotheses_hold() -> None:
    """s t = 0 does not give t = 0, although t = (1/s) (s t) is an identity."""
    product = Fact("st", s * t, "=")
    assert not implied([product], Fact("t", t, "="), [("st", 1 / s)]).proved
    assert implied([product, Fact("s", s, ">")], Fact("t", t, "="), [("st", 1 / s)]).proved
    assert implied([Fact("st", c * t, "=")], Fact("t", t, "="), [("st", 1 / c)]).proved
    assert implied([Fact("st", t / s, "=")], Fact("t", u * t / s, "="), [("st", u)]).proved
    assert implied(
        [Fact("st", t / s, "=")], Fact("t", t / s**2, "="), [("st", 1 / s)]
    ).proved  # s is divided by already
    assert not implied([product], Fact("t", t * sqrt(u), "="), [("st", sqrt(u) / s)]).proved


def test_the_factor_must_be_strictly_positive() -> None:
    product = Fact("st", s * t, "=")
    positive = Fact("s", s, ">")
    one_of = ("s", Fraction(1))
    assert implied([product, positive], Fact("t", t, "="), [("st", one)], [one_of]).proved
    assert not implied(
        [product, replace(positive, relation=">=")], Fact("t", t, "="), [("st", one)], [one_of]
    ).proved
    assert not implied([product, positive], Fact("t", t, "="), [("st", -one)], [("s", Fraction(-1))]).proved
    assert not implied(
        [product, replace(positive, relation="=")], Fact("t", t, "="), [("st", one)], [one_of]
    ).proved
    assert "not there" in certificate_error(
        Implication((product,), Fact("t", t, "="), (("st", one),), (one_of,))
    )


def test_a_witness_refutes_only_if_every_hypothesis_holds() -> None:
    conclusion = Fact("s - t", s - t, ">=")
    at = (("s", Fraction(0)), ("t", Fraction(1)))
    finding = implied([POSITIVE_S, POSITIVE_T], conclusion, witness=at)
    assert finding.holds is False
    assert (
        finding.counterexample
        == "all dimensions 1; s = 0, t = 1: every hypothesis holds, but s - t has value -1"
    )
    for bad in ((("s", Fraction(-1)), ("t", Fraction(1))), (("s", Fraction(0)), ("t", Fraction(0))),
                (("s", Fraction(1)), ("t", Fraction(1))), (("s", Fraction(0)),)):  # fmt: skip
        found_by_itself = implied([POSITIVE_S, POSITIVE_T], conclusion, witness=bad).counterexample or ""
        assert found_by_itself and not found_by_itself.startswith("all dimensions 1")


def test_a_witness_must_keep_the_promises_of_the_symbols() -> None:
    at = (("s", Fraction(0)), ("c", Fraction(-1)))
    assert implied([POSITIVE_S], Fact("c", c, ">"), witness=at).holds is None
    assert (
        implied([POSITIVE_S], Fact("u", u, ">"), witness=(("s", Fraction(0)), ("u", Fraction(-1)))).holds
        is False
    )


def test_a_witness_may_need_exponentials() -> None:
    growing = Fact("e", exp(s) - 1, ">=")
    assert implied([growing], Fact("s", s - 1, ">="), witness=(("s", Fraction(0)),)).holds is False
    for hypothesis, conclusion, witness in ((growing, s - 1, -1), (Fact("r", sqrt(s), ">="), s - 3, -2)):
        wrong = implied([hypothesis], Fact("s", conclusion, ">="), witness=(("s", Fraction(witness)),))
        assert not (wrong.counterexample or "").startswith("all dimensions 1")


def test_dropping_a_needed_hypothesis_loses_the_proof() -> None:
    whole = Implication((POSITIVE_S, POSITIVE_T), Fact("sum", s + t, ">"), (("s", one), ("t", one)))
    assert found(whole).proved
    for name in "st":
        assert not found(whole.without(name)).proved


# ---------------------------------------------------------------- programs

R, Q = Tensor("r"), Tensor("q", ("N",))
RIDGE = Program("ridge", (X,), HALF * squared_norm(x), (Constraint(as_term(Q).T @ x, s, R, equality=True),))


def quadratic(objective: Any, **more: Any) -> Program:
    return Program("p", (X,), objective, **more)


def form(weight: Any) -> Any:
    return sum_over(i, j, weight * x[i] * as_term(P)[i, j] * x[j])


CONVEX = {
    "squares": (quadratic(squared_norm(x) - as_term(Q).T @ x), True),
    "weighted squares": (quadratic(sum_over(i, w[i] * x[i] ** 2)), True),
    "a semidefinite form": (quadratic(form(c), semidefinite=(P,)), True),
    "linear": (quadratic(as_term(Q).T @ x), True),
    "a minus": (quadratic(-squared_norm(x)), False),
    "a form without promise": (quadratic(form(c)), False),
    "a form weighted by rows": (quadratic(form(w[i]), semidefinite=(P,)), False),
    "weights of unknown sign": (quadratic(sum_over(i, y[i] * x[i] ** 2)), False),
    "a product": (Program("p", (X, Y), x.T @ y), False),
    "cubic": (quadratic(sum_over(i, x[i] ** 3)), False),
    "exponential": (quadratic(sum_over(i, exp(x[i]))), False),
    "a maximisation": (quadratic(squared_norm(x), maximise=True), False),
    "a quadratic constraint": (quadratic(squared_norm(x), constraints=(Constraint(squared_norm(x), s, R),)), False),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVEX)
def test_convexity(name: str) -> None:
    program, said = CONVEX[name]
    finding = found(Convex(program))
    assert (finding.holds is True) is said
    assert not finding.mutants.survivors


def test_well_posed_programs() -> None:
    assert found(WellPosed(RIDGE, (X,), (Q, S))).holds is True
    missing = found(WellPosed(RIDGE, (), (Q, S)))
    assert missing.counterexample == "neither a listed variable nor given data: x"
    idle = found(WellPosed(RIDGE, (X, Y), (Q, S)))
    assert idle.counterexample == "listed as variable but absent: y"
    assert found(WellPosed(RIDGE, (X,), (Q, S))).mutants.killed == 1


SLACK, MULT = Tensor("z", ("N",)), Tensor("m", ("N",))
LINEAR = Program(
    "linear",
    (SLACK,),
    c * sum_over(i, as_term(SLACK)[i]),
    (Constraint(-as_term(SLACK)[i], zero, MULT, (i,)),),
)


def test_dual_conditions() -> None:
    good = found(Dual(LINEAR, ((SLACK, c - as_term(MULT)[i]),)))
    assert good.proved and good.mutants.tried > 0 and not good.mutants.survivors
    assert found(Dual(LINEAR, ((SLACK, as_term(MULT)[i] - c),))).proved  # the same equation
    assert (
        found(Dual(LINEAR, ((SLACK, c + as_term(MULT)[i]),))).counterexample
        == "the condition from z is another one"
    )
    assert found(Dual(LINEAR, ())).counterexample == "no condition from z is printed"
    assert found(Dual(RIDGE, ((X, x[i]),))).counterexample == "x gives no such condition"


# ---------------------------------------------------------------- evidence


def test_evidence_has_known_legs_and_grades_and_no_result_where_it_did_not_run() -> None:
    with pytest.raises(ValueError, match="unknown leg or grade"):
        Evidence("rumour", "exact-symbolic", True)
    with pytest.raises(ValueError, match="unknown leg or grade"):
        Evidence("exact", "proved", True)
    with pytest.raises(ValueError, match="did not run"):
        Evidence("tensor", "measured", True, not_run="no GPU")


def test_a_leg_that_fails_with_another_kind_of_false_fails() -> None:
    """NumPy's False is not the constant False: a leg must not get away with it."""
    failing = Evidence("solver", "certified-float", np.False_)  # type: ignore[arg-type]
    assert failing.passed is False and Finding([failing]).holds is False
    proof = Evidence("derivation", "exact-symbolic", True, settles=True)
    with pytest.raises(Inconsistent):
        _ = Finding([proof, failing]).holds


def test_every_statement_kind_has_an_engine() -> None:
    from checks.run.registry import load

    load()
    for kind in (Identity, Implication, Convex, WellPosed, Dual, Definition):
        assert kind in ENGINES
    assert all(issubclass(k, st.Kind) or k.__module__ == "checks.statement" for k in ENGINES)


def test_what_is_normalised_twice_and_called_m() -> None:
    """Columns of rows that sum to one sum to one; a scalar may have any letter that is not printed besides."""
    A = as_term(Tensor("A", ("N", "M"), positive=True))
    i, a, h, j = Index("i", "N"), Index("a", "N"), Index("h", "M"), Index("j", "M")
    rows = A[i, j] / sum_over(h, A[i, h])
    below = sum_over(a, A[a, j] / sum_over(h, A[a, h]))
    assert judge(Identity(sum_over(i, rows / below), as_term(1))).proved
    assert judge(Identity(sum_over(j, rows / below), as_term(1))).holds is False
    m, s = as_term(Tensor("m")), as_term(Tensor("s", ("N",)))
    assert judge(Identity(squared_norm(m * s), m**2 * squared_norm(s))).proved


def test_what_is_about_sizes_alone_is_tried_at_larger_ones() -> None:
    n = size("N")
    assert judge(Identity((n - 1) * (n - 2) * (n - 3), as_term(0))).holds is False
    assert judge(Identity(n * n - 1, (n - 1) * (n + 1))).proved
