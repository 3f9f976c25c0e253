"""Statements that are no equalities: Rocq accepts the true ones and rejects wrong versions of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from checks.claim import built
from checks.kernel import rocq
from checks.kernel.obligations import export
from checks.kinds.arithmetic import Arithmetic
from checks.kinds.averages import Averages
from checks.kinds.limit import Limit
from checks.kinds.order import Order
from checks.kinds.positive import Positive
from checks.kinds.programs import Convex, Dual
from checks.kinds.recurrence import Recurrence
from checks.run import ledger
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import parts
from derivations.calculus.psd import Exp, Multiple, Scaled
from derivations.calculus.term import as_term

needs_rocq = pytest.mark.skipif(rocq.compiler() is None, reason=rocq.MISSING)


@cache
def of_kind(kind: type) -> dict[str, Any]:
    """The last part of a kind of each claim's version that stands."""
    found = {}
    for id, verdict in ledger.expected().items():
        if verdict in ("proved", "corrected"):
            claim = load()[id]
            version = claim.corrected if verdict == "corrected" else claim.literal
            pieces = parts(built(version, assumptions_for(claim, {})))
            for piece in pieces:
                if isinstance(piece, kind):
                    found[id] = piece
    return found


def accepted(statements: list[Any]) -> list[bool]:
    """Of which statements everything is a theorem."""
    made = [export(f"statement{n}", s) for n, s in enumerate(statements)]
    groups = [e.theorems for parts_ in made for e in parts_]
    outcomes = {o.name: o.outcome for o in rocq.check(groups)}
    return [
        all(e.covered and all(outcomes[t.name] == "checked" for t in e.theorems) for e in m) for m in made
    ]


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
    assert not any(accepted(wrong))


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
    assert not any(accepted([Convex(p) for p in wrong]))


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
    assert not any(accepted(wrong))


@needs_rocq
def test_averages_are_those_of_rows_that_are_printed_so_and_of_no_others() -> None:
    table, small = of_kind(Averages)["nguyen2023/tab7"], of_kind(Averages)["chen2023/tab12"]
    assert "average_of (1 / 100) [3676 / 100; " in export("table", table)[0].theorems[0].statement
    unit = Fraction(2, 10)
    wrong = [replace(c, printed=c.printed + sign * unit) for c in small.columns for sign in (1, -1)]
    assert accepted([table, small, *(Averages((c,)) for c in wrong)]) == [True, True, *[False] * len(wrong)]


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


@needs_rocq
def test_a_dual_has_the_conditions_that_are_printed_and_no_others() -> None:
    right = of_kind(Dual)["nguyen2023/rem2"]
    (first, term), second = right.conditions
    negated = replace(right, conditions=((first, -term), second))
    wrong = [
        replace(right, conditions=((first, other), second))
        for other in (2 * term + 1, term - term, term + term.args[0])
    ]
    wrong.append(replace(right, conditions=(second,)))
    wrong.append(replace(right, program=replace(right.program, objective=-right.program.objective)))
    assert accepted([right, negated, *wrong]) == [True, True, *[False] * len(wrong)]
    names = [t.name for t in export("dual", right)[0].theorems]
    assert names == ["dual_weak", "dual_below", "dual_attained", "dual_only", "dual_defined"]


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
    assert accepted([right, one, *wrong]) == [True, True, *[False] * len(wrong)]


@needs_rocq
def test_an_approximation_is_of_its_order_and_no_better() -> None:
    right = of_kind(Order)["wang2024/prose-taylor"]
    wrong = [replace(right, order=3), replace(right, approximate=2 * right.approximate)]
    wrong.append(replace(right, exact=right.exact + as_term(right.small)))
    assert accepted([right, *wrong]) == [True, *[False] * len(wrong)]
