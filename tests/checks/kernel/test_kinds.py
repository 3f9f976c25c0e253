"""Statements that are no equalities: Rocq accepts the true ones and rejects wrong versions of them."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from checks.claim import built
from checks.engine.hypotheses import apply_definitions
from checks.engine.judge import equal, judge
from checks.engine.mutants import mutants
from checks.kernel import rocq
from checks.kernel.context import loose
from checks.kernel.equalities import places
from checks.kernel.figures import false_figures
from checks.kernel.implications import implication, implication_defined
from checks.kernel.obligations import export
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages
from checks.kinds.extremum import Extremum
from checks.kinds.follows import Follows
from checks.kinds.implication import Implication, completed
from checks.kinds.inequality import AtLeast
from checks.kinds.limit import Limit
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.kinds.programs import Convex, Dual
from checks.kinds.recurrence import Recurrence
from checks.kinds.stationary import Stationary
from checks.run import ledger
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import Fact, Identity, Statement, parts
from derivations.calculus.gradients import at_point, bregman, grad, kronecker
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Constraint, Program
from derivations.calculus.psd import Exp, Multiple, Scaled
from derivations.calculus.term import Term, apply, as_term, exp, replace_at, sqrt, squared_norm, sum_over

needs_rocq = pytest.mark.skipif(rocq.compiler() is None, reason=rocq.MISSING)


@cache
def standing() -> dict[str, list[Any]]:
    """The parts of each claim's version that stands."""
    found = {}
    for id, verdict in ledger.expected().items():
        if verdict in ("proved", "corrected"):
            claim = load()[id]
            version = claim.corrected if verdict == "corrected" else claim.literal
            found[id] = list(parts(built(version, assumptions_for(claim, {}))))
    return found


def of_kind(kind: type) -> dict[str, Any]:
    """The last part of a kind of each claim that has one."""
    return {id: piece for id, pieces in standing().items() for piece in pieces if isinstance(piece, kind)}


def every_of(kind: type) -> list[tuple[str, Any]]:
    """All parts of a kind, by their claims."""
    return [
        (id, piece)
        for id, pieces in sorted(standing().items())
        for piece in pieces
        if isinstance(piece, kind)
    ]


def accepted(statements: list[Any]) -> list[bool]:
    """Of which statements everything is a theorem."""
    made = [export(f"statement{n}", s) for n, s in enumerate(statements)]
    groups = [e.theorems for parts_ in made for e in parts_]
    outcomes = {o.name: o.outcome for o in rocq.check(groups, seconds=150)}  # on the clock of a busy machine
    return [
        all(e.covered and all(outcomes[t.name] == "checked" for t in e.theorems) for e in m) for m in made
    ]


def refused(statements: list[Any]) -> bool:
    """Whether of each statement something is no theorem: of most it is the first that is asked."""
    made = [[e for e in export(f"statement{n}", s) if e.theorems] for n, s in enumerate(statements)]
    first = [e.theorems[:1] for m in made for e in m]
    failed = {o.name for o in rocq.check(first, seconds=150) if o.outcome == "failed"}
    left = [s for s, m in zip(statements, made, strict=True) if not failed & {e.theorems[0].name for e in m}]
    return not left or not any(accepted(left))


def test_a_kernel_is_stated_for_all_weights_and_points_of_its_domain() -> None:
    theorems = export("cosine", of_kind(Positive)["wang2024/prose-mercer-cosine"])[0].theorems
    assert theorems[0].statement.splitlines()[1:5] == [
        "  forall (d N : nat) (x : nat -> nat -> R),",
        "  (0 < d)%nat -> (0 < N)%nat ->",
        "  (forall i0, (i0 < N)%nat -> exists i1, (i1 < d)%nat /\\ x i0 i1 <> 0) ->",
        "  forall c : nat -> R,",
    ]
    assert theorems[0].statement.endswith(">= 0.") and theorems[1].name == "cosine_defined"


@needs_rocq
def test_kernels_are_positive_semidefinite_and_other_kernels_are_not_shown_to_be() -> None:
    claims = {id.rpartition("-")[2]: s for id, s in of_kind(Positive).items()}
    right = [claims[name] for name in ("laplacian", "chi2", "polynomial", "cosine")]
    assert all(accepted(right))
    wrong = [replace(s, kernel=change(s.kernel)) for s in right for change in (lambda k: -k, lambda k: k - 1)]
    scaled = claims["rbf"].certificate
    assert isinstance(scaled, Scaled) and isinstance(scaled.inner, Exp)
    assert isinstance(scaled.inner.inner, Multiple)
    other = replace(scaled.inner.inner, coefficient=-scaled.inner.inner.coefficient)
    wrong.append(replace(claims["rbf"], certificate=replace(scaled, inner=Exp(other))))
    wrong.append(replace(claims["exponential"], ranges=((claims["exponential"].ranges[0][0], "real"),)))
    wrong.append(replace(claims["cosine"], domain="R^d"))
    assert refused(wrong)


def test_a_program_is_stated_at_two_points_and_a_mix_of_them() -> None:
    text = export("program", of_kind(Convex)["nguyen2023/thm1"])[0].theorems[0].statement
    assert "let w := fun i j => t * w_1 i j + (1 + (-1) * t) * w_2 i j in\n  (0 <= t <= 1) ->" in text
    assert (
        text.count(" ->\n") == 7 and text.count("/\\") == 2
    )  # both constraints at both points and their mix


@needs_rocq
def test_programs_are_convex_and_other_programs_are_not_shown_to_be() -> None:
    claims = of_kind(Convex)
    right = [claims[id] for id in ("nguyen2023/thm1", "nguyen2023/eq33", "farooq2025/prose-convex")]
    assert all(accepted(right))
    programs = [s.program for s in right]
    wrong = [replace(p, objective=-p.objective) for p in programs]
    wrong += [replace(p, maximise=True) for p in programs]
    first = programs[0].constraints[0]
    bent = replace(first, lhs=first.lhs * first.lhs)
    wrong.append(replace(programs[0], constraints=(bent, *programs[0].constraints[1:])))
    wrong.append(replace(programs[0], objective=programs[0].objective * programs[0].objective + as_term(1)))
    assert refused([Convex(p) for p in wrong])


@needs_rocq
def test_recurrences_have_their_closed_forms_and_no_others() -> None:
    claims = of_kind(Recurrence)
    right = [claims[id] for id in ("nguyen2023/eq12", "nguyen2023/eq13", "farooq2025/eq53")]
    assert all(accepted([*right, claims["wang2024/prose-context-size"]]))
    wrong = [replace(s, closed=2 * s.closed) for s in right]
    wrong += [replace(s, closed=s.closed.subs(s.symbols[0], s.symbols[0] + 1)) for s in right]
    wrong += [replace(s, rule=s.rule + 1) for s in right]
    wrong += [replace(s, base=(replace(s.base[0], value=s.base[0].value + 1), *s.base[1:])) for s in right]
    slope = claims["nguyen2023/eq13"].slope
    wrong.append(replace(claims["nguyen2023/eq13"], slope=(slope[0], slope[1] + 1)))
    assert refused(wrong)


@needs_rocq
def test_averages_are_those_of_rows_that_are_printed_so_and_of_no_others() -> None:
    table, small = of_kind(Averages)["nguyen2023/tab7"], of_kind(Averages)["chen2023/tab12"]
    assert "average_of (1 / 100) [3676 / 100; " in export("table", table)[0].theorems[0].statement
    unit = Fraction(2, 10)
    wrong = [replace(c, printed=c.printed + sign * unit) for c in small.columns for sign in (1, -1)]
    assert all(accepted([table, small])) and refused([Averages((c,)) for c in wrong])


@needs_rocq
def test_comparisons_are_theorems_but_not_where_the_numbers_come_from() -> None:
    figures = of_kind(Arithmetic)["chen2023/tab5"].figures
    right, wrong = (
        export(name, Arithmetic(tuple(replace(f, printed=f.printed + by) for f in figures)))[0]
        for name, by in (("right", 0), ("wrong", 10))
    )
    assert right.missing and not right.covered
    outcomes = [o.outcome for e in (right, wrong) for o in rocq.check([e.theorems])]
    assert outcomes == ["checked", "failed"]


def test_what_is_known_of_a_function_is_no_theorem_about_any_function() -> None:
    u, x = as_term(Tensor("u", positive=True)), as_term(Tensor("x"))
    known = (Identity(apply("relu", u), u), Identity(apply("relu", x), x + apply("relu", -x)))
    for statement in known:
        assert export("known", statement)[0].missing == ["what is known of relu"]
    anyone = export("any", Identity(apply("relu", x + x), apply("relu", 2 * x)))[0]
    assert anyone.covered and not anyone.missing


def _multiplied(factor: Term, relation: str) -> Implication:
    """That x > 0 and y > 0 give x times a factor, and y, are positive."""
    x, y = as_term(Tensor("x")), as_term(Tensor("y"))
    facts = Fact("x", x, ">"), Fact("y", y, ">")
    return Implication(facts, Fact("c", factor * x + y, relation), (("x", factor), ("y", as_term(1))))


def test_a_sign_that_is_known_of_a_function_is_no_theorem_about_any_function() -> None:
    y = as_term(Tensor("y"))
    ramp, size_, gate = (apply(f, y) for f in ("relu", "abs", "sigmoid"))
    known: list[Statement] = [AtLeast(u, as_term(0), u) for u in (ramp, size_ + 1, gate)]
    known += [_multiplied(u, relation) for u in (ramp, size_) for relation in (">", ">=")]
    known += [Identity(sqrt(ramp) ** 2, ramp), Identity(y / (1 + ramp), 2 * y / (2 + 2 * ramp))]
    for statement in known:
        assert judge(statement, with_mutants=False).holds
        assert export("known", statement)[0].missing[0].startswith("what is known of ")


def test_what_the_checker_would_fail_on_is_not_covered() -> None:
    """Proved here by what its library does not know: a pole outside of a range, cases, multiples, series."""
    x, y, c = as_term(Tensor("x")), as_term(Tensor("y")), as_term(Tensor("c", positive=True))
    step, state = Tensor("t"), Tensor("s")
    t, s, size_ = as_term(step), as_term(state), apply("abs", x)
    steady = Limit(state, t * s + x, x / (1 - t), step, t, Fraction(-1), Fraction(1))
    apart = Fact("x", x - y, ">")
    multiple = Implication((apart,), Fact("c", c / (c * x - c * y) - 1 / (x - y), "="))
    rest = Implication((Fact("x", x, ">="),), Fact("c", x + size_, ">="), (("x", as_term(1)),), rest=size_)
    signed = Fact("y", y, ">="), Fact("x", -x, ">")
    below = Implication(signed, Fact("c", -y / x, ">="), (("y", -1 / x),))
    softplus, i, j = apply("log", 1 + exp(x)), Index("i", "N"), Index("j", "N")
    v = as_term(Tensor("v", ("N",)))
    others = sum_over(i, (1 - kronecker(i, j)) * exp(v[i]))
    largest = AtLeast(sum_over(i, exp(v[i])), exp(v[j]), others)
    summand = AtLeast(2 * sum_over(i, exp(v[i])), 2 * exp(v[j]), 2 * (sum_over(i, exp(v[i])) - exp(v[j])))
    for statement, missing in (
        (steady, "a formula that is not defined for all values of the symbols"),
        (Order(1 / (1 - t), 1 + t, step, 2), "a formula that is not defined for all values of the symbols"),
        (Order(apply("log", 1 + t), t, step, 2), "an order of the logarithm or the root of what moves"),
        (
            Order(y / (1 + c * x**2), y, Tensor("c", positive=True), 1),
            "a formula that is not defined for all values of the symbols",
        ),
        (multiple, "a sign of a multiple of a hypothesis, of 1 less a delta, of a sum less a summand"),
        (largest, "a sign of a multiple of a hypothesis, of 1 less a delta, of a sum less a summand"),
        (summand, "a sign of a multiple of a hypothesis, of 1 less a delta, of a sum less a summand"),
        (rest, "a certificate with a rest"),
        (below, "a sign of 1 over what is negative"),
        (AtLeast(softplus, as_term(0), softplus), "what is known of log"),
        (Identity(apply("log", exp(x)), x), "what is known of log"),
        (AtLeast(size_, x), "an inequality without a formula for the difference"),
        (Identity(sqrt((c + 1) ** 8), (c + 1) ** 4), "a root of a power of what is not negative"),
    ):
        assert judge(statement, with_mutants=False).proved, statement
        assert export("other", statement)[0].missing == [missing]


@needs_rocq
def test_what_any_function_has_is_a_theorem_about_it() -> None:
    y = as_term(Tensor("y"))
    square = apply("tanh", y) ** 2
    statements = (
        AtLeast(square, as_term(0), square),
        _multiplied(square, ">="),
        _multiplied(as_term(Tensor("z")) ** 2, ">"),  # x may count nothing, as y counts
        Identity(y / (1 + square), 2 * y / (2 + 2 * square)),
    )
    made = [e for n, s in enumerate(statements) for e in export(f"any{n}", s)]
    assert all(e.covered for e in made)
    assert {o.outcome for o in rocq.check([e.theorems for e in made])} == {"checked"}


@needs_rocq
def test_a_dual_has_the_conditions_that_are_printed_and_no_others() -> None:
    right = of_kind(Dual)["nguyen2023/rem2"]
    (first, term), second = right.conditions
    negated = replace(right, conditions=((first, -term), second))
    assert accepted([right, negated]) == [True, True]
    wrong = [
        replace(right, conditions=((first, t), second))
        for t in (2 * term + 1, term - term, term + term.args[0])
    ]
    below = [
        export(f"wrong{n}", said)[0].theorems[:1] for n, said in enumerate(wrong)
    ]  # one that fails is enough
    found = {outcome.name: outcome.outcome for outcome in rocq.check(below, seconds=150)}
    assert found == {f"wrong{n}_below": "failed" for n in range(3)}
    unbounded = replace(right, program=replace(right.program, objective=-right.program.objective))
    assert not any(e.covered for e in export("dual", replace(right, conditions=(second,))))
    assert not any(e.covered for e in export("dual", unbounded))
    names = [t.name for t in export("dual", right)[0].theorems]
    assert names == [f"dual_{w}" for w in ("below", "weak", "attained", "only", "strong", "defined")]


@needs_rocq
@pytest.mark.slow
def test_strong_duality_is_shown_of_the_derived_dual_and_of_no_other() -> None:
    theorems = export("dual", of_kind(Dual)["nguyen2023/rem2"])[0].theorems
    strong = next(t for t in theorems if t.name == "dual_strong")
    for sign in ("0 <= alpha j d", "0 <= eta_tilde j d", "C + (-1) * alpha i d + (-1) * eta i d = 0"):
        assert sign in strong.statement.partition("exists")[2]
    before = theorems[: theorems.index(strong)]
    assert "Phi_k m3 m * Phi_k" in strong.statement.partition("exists")[2]
    head, _, tail = strong.statement.rpartition("Phi_k m3 m * Phi_k")
    wrong = [
        head + "2 * Phi_k m3 m * Phi_k" + tail,  # another dual objective
        strong.statement.replace("0 <= alpha j d", "0 < alpha j d"),  # not of every constraint
        re.sub(r"\(let least.*?\)\)\)\)\s*->\n", "", strong.statement, flags=re.S),  # of any feasible point
    ]
    assert all(text != strong.statement for text in wrong)
    shown = "\n\n".join(t.text for t in before)
    texts = [strong.text, *(replace(strong, statement=text).text for text in wrong)]
    assert [rocq.ask(f"{shown}\n\n{text}")[0] for text in texts] == [True, False, False, False]


def test_a_program_has_its_dual_with_it() -> None:
    names = [t.name for t in export("program", of_kind(Convex)["nguyen2023/eq5"])[0].theorems]
    assert {"program_dual_weak", "program_dual_strong"} <= set(names)


def named_as_in_proofs() -> list[Any]:
    """Statements whose symbols are called as the variables of the generated proofs are."""
    S, k, v = Tensor("S", ("d", "x")), as_term(Tensor("k", ("x",))), as_term(Tensor("v", ("d",)))
    loss = squared_norm(as_term(S) @ k - v) / 2
    gradient = Identity(grad(loss, S), (as_term(S) @ k - v) @ k.T)
    still = Stationary(squared_norm(as_term(S) - v @ k.T) / 2, S, v @ k.T)
    i, j = Index("i", "M"), Index("j", "N")
    (Y, Z, A), (x, d, v) = ([Tensor(n, ("M", "N")) for n in names] for names in ("yza", "xdv"))
    y, z = as_term(Y), as_term(Z)
    both = Constraint(y[i, j] + z[i, j], as_term(x)[i, j], A, (i, j))
    objective = squared_norm(y - as_term(v)) / 2 + squared_norm(z - as_term(d)) / 2
    return [gradient, still, Dual(Program("nearest", (Y, Z), objective, (both,)), ())]


def in_dimension(said: Any, one: str, other: str) -> Any:
    """A statement with another name for a dimension."""
    if isinstance(said, tuple):
        return tuple(in_dimension(s, one, other) for s in said)
    if is_dataclass(said) and not isinstance(said, type):
        own = {f.name: in_dimension(getattr(said, f.name), one, other) for f in fields(said) if f.init}
        return replace(said, **own)
    return other if said == one else said


@needs_rocq
def test_no_variable_of_a_proof_captures_a_symbol_of_the_statement() -> None:
    pieces = standing()["farooq2025/prose-polynomial-minimum"]
    local = next(s for s in pieces if isinstance(s, Extremum))
    assert accepted([*named_as_in_proofs(), in_dimension(local, "d_v", "d")]) == [True] * 4


@needs_rocq
def test_an_equality_with_a_gradient_holds_for_every_array_that_is_the_gradient() -> None:
    right = of_kind(Identity)["farooq2025/prose-attention-as-gradient"]
    theorems = export("step", right)[0].theorems
    own = next(t for t in theorems if t.name == "step_gradients")
    assert "(gradient1 d0 d1)) ->" in own.statement and "delta" not in own.statement
    other = replace(own, statement=own.statement.replace("(-1) * gradient1 e0 e1", "gradient1 e0 e1"))
    free = re.sub(r"\(forall d0.*?->\n", "", own.statement, count=1, flags=re.S)
    wrong = [other, replace(own, statement=free)]
    assert all(w.statement != own.statement for w in wrong)
    before = theorems[: theorems.index(own)]
    outcomes = [[o.outcome for o in rocq.check([[*before, t]])][-1] for t in (own, *wrong)]
    assert outcomes == ["checked", "failed", "failed"]


@needs_rocq
def test_figures_that_fail_are_shown_to_fail_and_others_are_not() -> None:
    figures = of_kind(Arithmetic)["chen2023/tab5"].figures
    column = of_kind(Averages)["chen2023/tab12"].columns[0]
    bad = Arithmetic(tuple(replace(f, printed=f.printed + 10) for f in figures))
    far = Averages((replace(column, printed=column.printed + 1),))
    theorems = [t for n, s in enumerate((bad, far)) for t in false_figures(f"bad{n}", s)]
    assert len(theorems) == sum(not f.holds() for f in bad.figures) + 1
    assert not false_figures("good", Arithmetic(figures)) and not false_figures("near", Averages((column,)))
    near = [replace(t, statement=re.sub(r"~ \((.*)\)", r"\1", t.statement, flags=re.S)) for t in theorems]
    assert {o.outcome for o in rocq.check([[t] for t in theorems])} == {"checked"}
    assert {o.outcome for o in rocq.check([[t] for t in near])} == {"failed"}


def wrong_ones(step: int, limit: int) -> list[tuple[str, Any]]:
    """Statements with certificates or derivatives of which one formula is a mutant, that our engine tells apart."""
    found = []
    for kind, name in (
        (Follows, "rhs"),
        (Stationary, "point"),
        (Extremum, "point"),
        (Implication, "conclusion"),
    ):
        for id, stated in every_of(kind)[::step]:
            s = completed(stated) if isinstance(stated, Implication) else stated
            formula = getattr(s, name)
            term = formula.term if kind is Implication else formula
            at = tuple(Index(f"e{n}", d) for n, d in enumerate(term.shape()))
            for what, mutant in mutants(term, limit, whole=True):
                if not equal(
                    *(apply_definitions(t.entry(*at), getattr(s, "given", ())) for t in (term, mutant))
                ):
                    new = replace(formula, term=mutant) if kind is Implication else mutant
                    if not as_good(s, new):
                        found.append((f"{id}: {what}", replace(s, **{name: new})))
    return found


def as_good(s: Any, point: Any) -> bool:
    """Whether another point is one as well: an energy that is 0 everywhere is stationary everywhere, and where a
    least energy is taken a second time there is another minimum.
    """
    if isinstance(s, Stationary):
        return equal(apply_definitions(s.energy.entry(), s.given), as_term(0).entry())
    if isinstance(s, Extremum) and "only" not in s.says:
        there = (at_point(s.energy, s.variable, z).entry() for z in (s.point, point))
        return equal(*(apply_definitions(e, s.given) for e in there))
    return False


def all_accepted(cases: list[tuple[str, Any]]) -> list[str]:
    """The statements of which everything is a theorem."""
    made = []
    for n, (what, s) in enumerate(cases):
        try:
            exported = export(f"wrong{n}", s)
        except (ValueError, TypeError, LookupError, ArithmeticError):
            continue  # it cannot be written down, or our engine refuses it as well
        if all(e.covered for e in exported):
            made.append((what, [e.theorems for e in exported]))
    outcomes = {o.name: o.outcome for o in rocq.check((g for _, groups in made for g in groups), 60)}
    return [what for what, groups in made if all(outcomes[t.name] == "checked" for g in groups for t in g)]


@needs_rocq
def test_a_sample_of_mutants_of_consequences_and_points_is_rejected() -> None:
    cases = wrong_ones(12, 1)
    assert len(cases) > 4 and not all_accepted(cases)


@needs_rocq
@pytest.mark.slow
def test_every_mutant_of_consequences_and_points_is_rejected() -> None:
    cases = wrong_ones(1, 3)
    assert len(cases) > 120 and not all_accepted(cases)


@needs_rocq
def test_a_hypothesis_with_an_index_holds_at_the_value_of_which_the_conclusion_speaks() -> None:
    right = of_kind(Follows)["chen2023/eq7"]
    weights, score, value = right.hypotheses
    i = next(i for i in loose([value.difference(*places("v", value.lhs.shape()))]) if i.name in "ij")
    other = Index("k", i.dim)
    moved = [replace(h, lhs=renamed(h.lhs, i, other), rhs=renamed(h.rhs, i, other)) for h in (score, value)]
    wrong = [replace(right, hypotheses=(weights, moved[0], value))]
    wrong.append(replace(right, hypotheses=(weights, score, moved[1])))
    wrong += [
        replace(right, hypotheses=tuple(h for h in right.hypotheses if h != gone))
        for gone in right.hypotheses
    ]
    wrong += [replace(right, rhs=2 * right.rhs), replace(right, lhs=renamed(right.lhs, i, other))]
    assert all(accepted([right])) and refused(wrong)
    theorem = export("own", right)[0].theorems[0]
    lines = theorem.statement.split(" ->\n")
    assumed = [n for n, line in enumerate(lines[:-1]) if " = " in line]
    texts = [" ->\n".join(lines[:n] + lines[n + 1 :]) for n in assumed]
    dropped = [
        replace(theorem, name=f"own{n}", statement=t.replace("own", f"own{n}", 1))
        for n, t in enumerate(texts)
    ]
    assert len(dropped) == 3
    assert {o.outcome for o in rocq.check([[t] for t in dropped])} == {"failed"}


def renamed(term: Any, old: Index, new: Index) -> Any:
    """A term with another free index."""

    def data(found: Any) -> Any:
        return tuple(new if x == old else x for x in found) if isinstance(found, tuple) else found

    return replace(term, args=tuple(renamed(a, old, new) for a in term.args), data=data(term.data))


@needs_rocq
def test_a_number_is_at_least_another_by_a_sign_and_by_no_other() -> None:
    """x² + e^y - y - 1 >= 2x - 1, by (x - 1)² and the gap of exp above its tangent at 0, and 1 / x >= 0."""
    x, y, p = (as_term(t) for t in (Tensor("x"), Tensor("y"), Tensor("p", positive=True)))
    low, gap = 2 * x - 1, bregman("exp", y, as_term(0))
    right = AtLeast(x**2 + exp(y) - y - 1, low, (x - 1) ** 2 + gap)
    wrong = [
        replace(right, rhs=low + 1),
        replace(right, lhs=right.rhs, rhs=right.lhs),
        replace(right, above=x**2 - low + gap),
        replace(right, above=(x - 1) ** 2 + bregman("exp", as_term(0), y)),
        AtLeast(1 / x, as_term(0), 1 / x),
        AtLeast(x, as_term(0), x),
        replace(right, above=None),
    ]
    assert all(accepted([right, AtLeast(1 / p, as_term(0), 1 / p)])) and refused(wrong)
    assert export("open", wrong[-1])[0].missing == ["an inequality without a formula for the difference"]


def lagrange(factor: Fraction) -> Implication:
    """‖A‖²‖B‖² - ⟨A, B⟩² as a multiple of a sum of squares over four indices; half of it is right."""
    i, k, r, s = (Index(name, dim) for name, dim in zip("ikrs", "NMNM", strict=True))
    A, B = (as_term(Tensor(name, ("N", "M"))) for name in "AB")
    apart = sum_over(i, k, r, s, (A[i, k] * B[r, s] - A[r, s] * B[i, k]) ** 2)
    gap = squared_norm(A) * squared_norm(B) - sum_over(i, k, A[i, k] * B[i, k]) ** 2
    return Implication((Fact("apart", apart, ">="),), Fact("gap", gap, ">="), (("apart", as_term(factor)),))


@needs_rocq
def test_sums_over_many_indices_are_compared_and_a_wrong_factor_is_seen() -> None:
    factors = (Fraction(1, 2), Fraction(1, 3), Fraction(1))
    assert accepted([lagrange(factor) for factor in factors]) == [True, False, False]


@needs_rocq
def test_iterations_converge_to_their_limit_for_these_step_sizes_only() -> None:
    right = of_kind(Limit)["farooq2025/prose-update-rule"]
    one = of_kind(Limit)["farooq2025/prose-clipping"]
    wrong = [
        replace(right, limit=2 * right.limit),
        replace(right, high=Fraction(5, 2)),
    ]
    wrong += [
        replace(one, limit=as_term(2)),
        replace(one, rate=as_term(Fraction(1, 2))),
        replace(one, high=None),
    ]
    assert all(accepted([right, one])) and refused(wrong)


@needs_rocq
def test_an_approximation_is_of_its_order_and_no_better() -> None:
    right = of_kind(Order)["wang2024/prose-taylor"]
    wrong = [replace(right, order=3), replace(right, approximate=2 * right.approximate)]
    wrong.append(replace(right, exact=right.exact + as_term(right.small)))
    assert all(accepted([right])) and refused(wrong)


@needs_rocq
def test_a_gap_of_exp_above_its_tangent_is_seen_to_be_one_and_no_other_is() -> None:
    """The energy is exp(x) - x e^a: least at a, by D_exp(x, a), and at no other point, by no other gap."""
    X, A = Tensor("x"), Tensor("a")
    x, a = as_term(X), as_term(A)
    least = Extremum(exp(x) - x * exp(a), X, a, "a global minimum", above=bregman("exp", x, a))
    wrong = [
        replace(least, above=bregman("exp", a, x)),
        replace(least, point=2 * a, above=bregman("exp", x, 2 * a)),
        replace(least, says="a global maximum", above=-bregman("exp", x, a)),
        replace(least, energy=x * exp(a) - exp(x), above=-bregman("exp", x, a)),
        replace(least, above=exp(x) - exp(a) - exp(x) * (x - a)),
        replace(least, above=exp(x) - exp(a) + exp(a) * (x - a)),
    ]
    assert all(accepted([least])) and refused(wrong)


@needs_rocq
def test_a_minimum_by_an_assumed_convexity_is_shown_and_no_other_is() -> None:
    """The energy is a sum of F(u_j) less its tangent at c_j, where u_j is linear and c_j at the point."""
    pieces = standing()["farooq2025/prose-polynomial-minimum"]
    local, least = (s for s in pieces if isinstance(s, Extremum))
    wrong = []
    for s in (local, least):
        u, c = s.above.args[0].args
        swapped = replace_at(s.above, (0,), bregman("power", c, u))
        wrong += [replace(s, point=2 * s.point), replace(s, energy=2 * s.energy), replace(s, above=swapped)]
        wrong += [replace(s, above=-s.above, energy=-s.energy), replace(s, convex=())]
    wrong += [replace(local, says=says) for says in ("a local maximum", "the only global minimum")]
    assert all(accepted([local, least])) and refused(wrong)
    (near, _), (everywhere, _) = (export(s.says.replace(" ", "_"), s)[0].theorems for s in (local, least))
    without = [
        replace(near, statement=near.statement.replace("convex_near power (c j) radius", "0 < radius")),
        replace(everywhere, statement=everywhere.statement.replace("convex power", "0 < p")),
    ]
    for stated, unproved in zip((near, everywhere), without, strict=True):
        assert unproved != stated
        assert [o.outcome for t in (stated, unproved) for o in rocq.check([[t]])] == ["checked", "failed"]


@needs_rocq
def test_the_only_least_point_is_shown_to_be_the_only_one() -> None:
    X, A = Tensor("x", ("n",)), Tensor("a", ("n",))
    x, a = as_term(X), as_term(A)
    energy, third = squared_norm(x) / 3 - 2 * (a.T @ x) / 3, as_term(Fraction(1, 3))
    only = Extremum(energy, X, a, "the only global minimum", above=third * squared_norm(x - a))
    theorems = export("least", only)[0].theorems
    assert [t.name for t in theorems[:2]] == ["least", "least_only"]
    assert theorems[1].statement.endswith("forall a0, (a0 < n)%nat ->\n  x a0\n  = a a0.")
    flat = Extremum((a.T @ x) ** 2, X, 0 * a, "the only global minimum", above=(a.T @ x) ** 2)
    wrong = [replace(only, point=2 * a), replace(only, energy=energy + a.T @ x), flat]
    beside = squared_norm(x - a) / 2 + (a.T @ (x - a)) ** 2
    more = Extremum(beside, X, a, "the only global minimum", above=beside)
    assert all(accepted([only, more])) and refused(wrong)


X_, Y_, Z_ = (as_term(Tensor(name)) for name in "xyz")
SOUGHT = [
    ([(Y_, ">=")], X_**4 * Y_, ">="),
    ([(Y_, ">"), (X_**2, ">")], Y_ * X_**4, ">"),
    ([(Y_, ">="), (X_**2, ">")], Y_ / X_**2, ">="),
    ([(Y_, ">="), (-X_, ">")], -X_ * Y_, ">="),
    ([(X_ - 1, ">="), (Y_ - 1, ">=")], X_ * Y_ - 1, ">="),
    ([(sqrt(X_) * Y_ - Z_, "="), (X_, ">")], Y_ - Z_ / sqrt(X_), "="),
    ([(Y_, ">="), (-X_, ">")], -Y_ / X_, ">="),
]


@needs_rocq
def test_certificates_that_are_found_are_covered_only_where_rocq_sees_their_signs() -> None:
    groups = []
    for n, (facts, conclusion, relation) in enumerate(SOUGHT):
        hypotheses = tuple(Fact(f"h{k}", *fact) for k, fact in enumerate(facts))
        statement = Implication(hypotheses, Fact("c", conclusion, relation))
        assert judge(statement).proved
        groups.append([implication(f"t{n}", statement), *implication_defined(f"t{n}", statement)])
    outcomes = {o.name: o.outcome for o in rocq.check(groups, 40)}
    assert set(outcomes.values()) == {"checked"} and {"t1", "t2_defined", "t5_defined"} <= {*outcomes}
