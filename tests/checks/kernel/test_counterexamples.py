"""Theorems that what is printed fails: there is one for what fails, none for what holds, and Rocq rejects others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from agreement import Meant, disagreement
from points import KNOWN
from reading import read
from redteam.test_redteam import PAIRS

from checks.claim import built
from checks.engine.instances import Instance
from checks.kernel import rocq
from checks.kernel.context import PIECES
from checks.kernel.counterexamples import REFUTERS, failing
from checks.kernel.falsity import by_point
from checks.kernel.obligations import export
from checks.kernel.theorem import Theorem
from checks.kernel.trees import NotCovered
from checks.kinds.differs import Differs
from checks.kinds.examples import Example
from checks.kinds.extremum import Extremum
from checks.kinds.feasible import Solvable
from checks.kinds.implication import Implication
from checks.kinds.limit import Limit
from checks.kinds.order import Order
from checks.kinds.positive import Positive, SigmoidNegative
from checks.kinds.stationary import Stationary
from checks.kinds.unbounded import Bounded
from checks.run.registry import load
from checks.run.verify import assumptions_for
from checks.statement import Definition, Fact, Identity, parts
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import as_term, exp, sum_over

needs_rocq = pytest.mark.skipif(rocq.compiler() is None, reason=rocq.MISSING)


@cache
def version(id: str, which: str) -> list[Any]:
    """The parts of the printed version of a claim, or of the corrected one."""
    claim = load()[id]
    return list(parts(built(getattr(claim, which), assumptions_for(claim, {}))))


def printed(id: str, kind: type) -> list[Any]:
    return [p for p in version(id, "literal") if isinstance(p, kind)]


def outcomes(groups: list[list[Theorem]]) -> list[str]:
    """What becomes of the last theorem of each group."""
    found = {o.name: o.outcome for o in rocq.check(groups)}
    return [found[group[-1].name] for group in groups]


def changed(group: list[Theorem], pattern: str, other: str, name: str) -> list[Theorem]:
    """The same proof of another statement."""
    last = group[-1]
    statement = re.sub(pattern, other, last.statement, flags=re.S)
    assert statement != last.statement, (pattern, last.statement)
    own = replace(last, name=name, statement=statement.replace(f"Theorem {last.name} ", f"Theorem {name} "))
    return [*group[:-1], own]


FAILING: dict[str, tuple[str, type, list[tuple[str, str]]]] = {
    "undefined": (
        "nguyen2023/prose-linear-bn-sh",
        Definition,
        [(r"<> 0\)\.$", "= 0)."), (r"~ \((.*)\)\.$", r"\1.")],
    ),
    "implication": (
        "nguyen2023/rem1",
        Implication,
        [(r"= 0\)\.$", "<> 0)."), (r"\(epsilon >= 0\)", "(epsilon > 0)"), ("xi j d >= 0", "xi j d > 0")],
    ),
    "kernel": (
        "wang2024/prose-mercer-exponential",
        Positive,
        [(r">= 0\)\.$", "<= 0)."), (r"x i a \+ 1", "x i a + (-1)"), (r"exp \(lambda", "exp ((-1) * lambda")],
    ),
    "kernel without value": ("wang2024/prose-mercer-cosine", Positive, [(r"<> 0\)\.$", "= 0).")]),
    "extremum": ("farooq2025/prose-mhn-sign", Extremum, [(r">= 0\)\.$", "<= 0).")]),
    "only extremum": ("farooq2025/prose-context-wells", Extremum, [(r"= 0\)\.$", "<> 0).")]),
    "local extremum": (
        "farooq2025/prose-footnote5",
        Extremum,
        [(r"<= 0\)\.$", ">= 0)."), (r"Rabs \(Z z0 z1 \+ \(-1\) \* 0\) < radius", "Rabs (Z z0 z1) <= 0")],
    ),
    "local extremum along many entries": (
        "farooq2025/prose-polynomial-minimum",
        Extremum,
        [(r">= 0\)\.$", "<= 0)."), (r"x \^ degree\)", "x ^ 2)"), (r"0 < degree", "3 < degree")],
    ),
    "power": (
        "wang2024/prose-constant-head-polynomial",
        Identity,
        [(r"<> 0\)\.$", "= 0)."), (r"x \^ degree\)", "1)"), (r"0 < degree", "5 < degree")],
    ),
    "stationary": ("farooq2025/eq76", Stationary, [(r"0 0\)\.$", "0 (-1)).")]),
    "order": ("wang2024/prose-taylor", Order, [("big_o 2", "big_o 1"), (r"\(-1\) \* \(exp", "(-2) * (exp")]),
    "limit": (
        "farooq2025/prose-convergence",
        Limit,
        [(r"\(sum n \(fun m => A e0", "(0 * sum n (fun m => A e0")],
    ),
    "no limit": (
        "farooq2025/prose-clipping",
        Limit,
        [(r"cases x \(-1\) \(-1\) \(-1\)", "cases x (-1) (-1) 0")],
    ),
    "solution": (
        "nguyen2023/prose-epsilon-precision",
        Solvable,
        [("exists w : nat -> nat -> R", "exists y : nat -> nat -> R")],
    ),
    "bound": (
        "chen2023/eq6",
        Bounded,
        [("<= bound", ">= bound"), (r"1 / 2 \* sum N \(fun i", "0 * sum N (fun i")],
    ),
}
"""Printed statements of each kind that fail, and changes of the theorem with which it is no longer proved."""


def theorems_of(name: str) -> list[Theorem]:
    id, kind, _ = FAILING[name]
    found = [p for p in version(id, "literal") for p in ([p] if isinstance(p, kind) else cases(p, kind))]
    for n, part in enumerate(found):
        theorems, _ = failing(f"{name.replace(' ', '_')}{n}", part)
        if theorems:
            return theorems[:2] if kind is Stationary else theorems[:1]
    raise AssertionError(f"no theorem for {name}")


def cases(part: Any, kind: type) -> list[Any]:
    return [c for _, c in getattr(part, "cases", ()) if isinstance(c, kind)]


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_refuted_in_so_many_words(name: str) -> None:
    last = theorems_of(name)[-1]
    assert re.match(r"Theorem \w+ :\n  ~ \(\n", last.statement) and "Admitted" not in last.proof


@needs_rocq
def test_refutations_are_accepted_and_those_of_other_statements_are_not() -> None:
    right = [theorems_of(name) for name in FAILING]
    wrong = [
        changed(group, pattern, other, f"wrong{n}_{k}")
        for n, (group, (_, _, changes)) in enumerate(zip(right, FAILING.values(), strict=True))
        for k, (pattern, other) in enumerate(changes)
    ]
    assert set(outcomes(right)) == {"checked"}
    got = outcomes(wrong)
    assert set(got) == {"failed"}, [w[-1].name for w, o in zip(wrong, got, strict=True) if o == "checked"]


HOLDING = (
    ("nguyen2023/rem1", Implication), ("wang2024/prose-mercer-exponential", Positive),
    ("farooq2025/prose-mhn-sign", Extremum), ("farooq2025/prose-clipping", Limit),
    ("wang2024/prose-taylor", Order), ("farooq2025/eq76", Stationary), ("farooq2025/prose-kernel-attention", Definition),
)  # fmt: skip


@pytest.mark.parametrize(("id", "kind"), HOLDING)
def test_there_is_no_refutation_of_what_stands(id: str, kind: type) -> None:
    standing = [p for p in version(id, "corrected") if isinstance(p, kind)]
    standing = standing or [c for p in version(id, "corrected") for c in cases(p, kind)]
    assert standing and type(standing[0]) in REFUTERS
    assert all(failing("stands", p)[0] == [] for p in standing)


@needs_rocq
def test_a_point_that_breaks_nothing_proves_nothing() -> None:
    """x >= 1 and y >= x give y >= 1; without the second not; and 1 / x asks for more than x >= 0."""
    x, y = (as_term(Tensor(name, ())).entry() for name in "xy")
    point = Instance({}, {(Tensor("x", ()), ()): Fraction(1), (Tensor("y", ()), ()): Fraction(1, 2)}, ())
    facts = [(x - 1, ">="), (y - x, ">=")]
    tries = [
        by_point("breaks", (), point, {}, facts[:1], (y - 1, ">=")),
        by_point("kept", (), point, {}, facts, (y - 1, ">=")),
        by_point("other", (), point, {}, facts[:1], (x - 1, ">=")),
        by_point("without", (), point, {}, facts[:1], (1 / (2 * y - 1), ">")),
    ]
    assert outcomes([[t] for t in tries]) == ["checked", "failed", "failed", "failed"]


def unnegated(text: str) -> str:
    return re.sub(r"~ \((.*)\)\.$", r"\1.", text, flags=re.S)


def told(term: Any, relation: str) -> Fact:
    return Fact(relation + str(term), Raw((), term), relation)


def test_a_refuted_implication_says_what_the_statement_says() -> None:
    for part in printed("nguyen2023/rem1", Implication):
        theorems, _ = failing("own", part)
        for t in theorems:
            assert not disagreement(unnegated(t.statement), part)
            without = re.sub(
                r"  \(alpha\w* j d >= 0\) ->\n|  \(epsilon >= 0\) ->\n", "", t.statement, count=1
            )
            assert disagreement(unnegated(without), part)


def test_a_refuted_kernel_is_stated_with_its_domain() -> None:
    """The statement as an implication that is written here once more."""
    part = printed("wang2024/prose-mercer-exponential", Positive)[0]
    text = unnegated(failing("own", part)[0][0].statement)
    w, (n, a) = (
        Tensor("w", part.points.dims[:1]),
        (Index(l, d) for l, d in zip("ia", part.points.dims, strict=True)),
    )
    form = sum_over(part.i, sum_over(part.j, as_term(w)[part.i] * as_term(w)[part.j] * part.kernel))
    where = Implication((), Fact("form", form, ">="))
    inside = re.findall(r"  \((forall i, .*?)\) ->\n", text)
    assert inside == [
        f"forall i, (i < N)%nat -> forall a, (a < d)%nat -> ({side}) >= 0"
        for side in ("x i a + 1", "1 + (-1) * x i a")
    ]
    for line in inside:
        text = text.replace(f"  ({line}) ->\n", "")
    assert not disagreement(text, where)
    assert disagreement(text.replace("exp (lambda", "exp (2 * lambda"), where)
    assert n.dim != a.dim


def test_what_a_formula_divides_by_is_what_the_theorem_speaks_of() -> None:
    part = printed("farooq2025/prose-kernel-attention", Definition)[-1]
    text = unnegated(failing("own", part)[0][0].statement)
    assert text.splitlines()[-1].strip().startswith("sum n (fun l =>") and text.endswith("<> 0.")
    below = next(d for d in ix.walk(part.meaning.entry(*_places(part))) if isinstance(d, ix.Pow)).base
    where = Implication((), told(below, ">="))
    assert not disagreement(
        text, where, meant=Meant((below, ix.as_expr(0)), tuple(ix.free_indices(below)), "<>")
    )


def _places(part: Definition) -> list[Index]:
    return [Index(f"e{n}", d) for n, d in enumerate(part.meaning.shape())]


@needs_rocq
def test_formulas_differ_at_a_point_or_nowhere() -> None:
    right = next(p for p in version("farooq2025/tab1-step8", "corrected") if isinstance(p, Differs))
    equal = printed("farooq2025/tab1-step8", Differs)[0]
    shown, refuted = export("right", right)[0], failing("equal", equal)[0]
    assert shown.covered and "~ (" in shown.theorems[0].statement and "~ (" not in refuted[0].statement
    assert outcomes([shown.theorems[:1], refuted[:1]]) == ["checked", "checked"]
    assert not failing("right", right)[0] and not export("equal", equal)[0].covered
    same = [changed(shown.theorems[:1], r"\n  (.*?)\n  = .*\)\.$", r"\n  \1\n  = \1).", "same")]
    assert outcomes(same) == ["failed"]


@pytest.mark.parametrize("name", ["order/choice-that-makes-both-sides-vanish", "differs/defined-nowhere"])
def test_what_says_nothing_or_is_nowhere_defined_has_no_theorem(name: str) -> None:
    pair = PAIRS[name]
    assert not export("false", pair.false())[0].covered and export("true", pair.true())[0].theorems


def test_what_may_be_excluded_by_another_part_or_inside_a_formula_is_not_refuted() -> None:
    """True statements of the red team that are false where formulas are taken without what defines them."""
    names = ("all/an-example-against-a-definition", "all/what-differs-from-its-definition",
             "rule/conclusion-that-fails-where-nothing-is-undefined", "identity/gradient-at-a-removable-kink",
             "solvable/refuted-outside-a-logarithm", "bounded/refuted-outside-a-root",
             "identity/cube-root-of-a-cube")  # fmt: skip
    assert all(not failing("true", PAIRS[name].true())[0] for name in names)


@needs_rocq
@pytest.mark.slow
def test_nothing_true_is_refuted() -> None:
    made = []
    for n, pair in enumerate(PAIRS.values()):
        try:
            made += [[t] for t in failing(f"true{n}", pair.true())[0]]
        except (ValueError, ArithmeticError, TypeError, LookupError):
            continue  # it cannot be written down, or our engine refuses it as well
    assert len(made) > 10 and set(outcomes(made)) == {"failed"}


@needs_rocq
def test_an_example_with_exponentials_holds_exactly_at_its_point_and_others_do_not() -> None:
    x = as_term(Tensor("x", ()))
    point = replace(
        printed("nguyen2023/prose-centering-only", Example)[0].point,
        sizes=(),
        values=((Tensor("x", ()), -1),),
        at=(),
    )
    right = [exp(x) * exp(x) - exp(2 * x), 1 / (1 + exp(x)) - exp(-x) / (1 + exp(-x)), elu1(x) - exp(x)]
    wrong = [
        exp(x) * exp(x) - exp(3 * x),
        exp(x) - as_term(Fraction(3678794411714423, 10**16)),
        elu1(x) - x - 1,
    ]
    statements = [Example((Fact("fact", term, "="),), point) for term in (*right, *wrong)]
    groups = [export(f"example{n}", s)[0].theorems for n, s in enumerate(statements)]
    assert outcomes(groups) == ["checked"] * len(right) + ["failed"] * len(wrong)


def elu1(term: Any) -> Any:
    return Raw((), ix.Call("elu1", term.entry()))


def test_functions_by_pieces_are_those_of_the_engine() -> None:
    known: dict[str, Callable[[Any, int], Any]] = {
        **KNOWN, "sign": lambda x, order: mpmath.sign(x), "clip": lambda x, order: max(-1, min(1, x))
    }  # fmt: skip
    for (name, _), (text, _) in PIECES.items():
        for value in (-3, -1, Fraction(-1, 2), 0, Fraction(1, 2), 1, 3):
            number = mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator
            _, _, right = read(f"Theorem t : forall (x : R), 0 = {text.format(x='x')}.").sides or (
                None,
                "",
                None,
            )
            assert right is not None and right({"x": number}) == known[name](number, 0), (name, value)


@needs_rocq
def test_tanh_is_negative_in_each_region_and_by_no_other_weights() -> None:
    s = printed("wang2024/prose-mercer-sigmoid", SigmoidNegative)[0]
    theorems = export("tanh", s)[0].theorems
    assert len(theorems) == 7 and theorems[-1].statement.endswith("< 0.")
    by_name = {t.name: t for t in theorems}
    changes = [
        ("tanh_region6", r"\[1; \(-2\); 1\]", "[1; 1; 1]"), ("tanh_region5", r"0 < c", "c < 0"),
        ("tanh_region3", r"gamma < 0", "0 < gamma"), ("tanh_region1", r"c < 0", "0 < c"),
        ("tanh_region4", r"< 0\.$", "> 0."), ("tanh_region6", r"\(-1\) \* exp", "exp"),
    ]  # fmt: skip
    wrong = [changed([by_name[n]], p, other, f"wrong{k}") for k, (n, p, other) in enumerate(changes)]
    assert outcomes(wrong) == ["failed"] * len(wrong)
    with pytest.raises(NotCovered, match="all signs"):
        raise NotCovered(export("tanh", replace(s, regions=s.regions[1:]))[0].missing[0])
    other = replace(s, regions=(*s.regions[:-1], replace(s.regions[-1], weights=(1, 1, 1))))
    assert not export("tanh", other)[0].covered
