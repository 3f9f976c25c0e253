"""Whoever reads a displayed formula reads what was decided: the formulas of all claims, read back from their LaTeX.

``reader`` parses what is printed without the printer; its value is compared with that of the index notation
that the engines decide, at random sizes and values.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from reader import (
    Node,
    Point,
    Reader,
    Relation,
    Unreadable,
    Vocabulary,
    compare,
    differs,
    draw,
    everything,
    read,
    relations,
    vocabulary,
    words,
)

from checks.claim import built
from checks.engine.judge import judge, unbound
from checks.engine.notation import ENTRYWISE, ROWWISE
from checks.engine.printing import conditions_latex, equation, part_latex
from checks.kinds import follows, implication
from checks.kinds.extremum import Extremum
from checks.kinds.family import Family
from checks.kinds.follows import Follows
from checks.kinds.implication import Implication
from checks.kinds.programs import Convex
from checks.kinds.stationary import Stationary
from checks.run import registry
from checks.run.verify import assumptions_for
from checks.statement import parts, terms_of
from derivations.calculus.gradients import at_point, grad
from derivations.calculus.index import Tensor
from derivations.calculus.program import Dual, Program, Raw, dualise
from derivations.calculus.term import Named, Stack, Term, as_term, stack
from derivations.calculus.unicode import unicode_math
from derivations.theories import ksvd
from derivations.theories.ksvd import PrintedDiagonal
from derivations.theories.svr import regression as svr
from derivations.theories.svr.variants import Variant

LEAST = 0.99
"""The share of all formulas that must be read."""

# Claims whose displays are known to read as something else than what was decided, or to leave open what that
# is. Each is expected to fail: where it no longer does, it is to be taken out.
UNSAID = ("chen2023/rem3.1", "chen2023/prose-maximal-directions")
"""A name stands for a formula that the display does not give: W_K e_{i,k-1} for 0, Σ_1² for diag(τ + a²)."""


def expected_to_fail(*claims: str) -> list[Any]:
    return [pytest.param(claim, marks=pytest.mark.xfail(strict=True)) for claim in claims]


@dataclass(frozen=True)
class Formula:
    """A term of a claim's statement as it is printed; ``version`` is literal or corrected."""

    claim: str
    version: str
    kind: str
    latex: str
    term: Term
    words: Vocabulary

    def __str__(self) -> str:
        return f"{self.claim} ({self.version}, {self.kind}): {self.latex}"


@cache
def statements() -> list[tuple[str, str, str, Any]]:
    """(claim, version, kind, simple statement) of all claims; of a family, its cases."""
    found = []
    for claim in registry.load().values():
        for version in ("literal", "corrected"):
            if getattr(claim, version) is not None:
                whole = built(getattr(claim, version), assumptions_for(claim, {}))
                for part in parts(whole):
                    found += [(claim.id, version, type(part).__name__, case) for case in _cases(part)]
    return found


def _cases(part: Any) -> Iterator[Any]:
    if not isinstance(part, Family):
        yield part
        return
    for statement in (part.general, *(case for _, case in part.cases)):
        for simple in parts(statement) if statement is not None else ():
            yield from _cases(simple)


@cache
def formulas() -> list[Formula]:
    found = []
    for claim, version, kind, statement in statements():
        shown = part_latex(statement)
        said = vocabulary(statement, entrywise=ENTRYWISE in shown, rowwise=ROWWISE in shown)
        found += [Formula(claim, version, kind, t.latex(), t, said) for t in terms_of(statement)]
    return found


def outcome(formula: Formula, tries: int = 2, seed: int = 0) -> tuple[str, str]:
    """("read", "") or ("differs", how) or ("unread", why)."""
    try:
        how = compare(formula.latex, formula.term, formula.words, tries, seed)
    except Unreadable as error:
        return "unread", error.reason
    return ("differs", how) if how else ("read", "")


@cache
def outcomes() -> list[tuple[Formula, tuple[str, str]]]:
    """What becomes of each formula; one that is printed twice with the same symbols is read once."""
    known: dict[Any, tuple[str, str]] = {}
    found = []
    for formula in formulas():
        said = formula.words
        key = (
            formula.latex,
            formula.term,
            said.entrywise,
            said.rowwise,
            frozenset(said.tensors),
            frozenset(said.dims),
        )
        if key not in known:
            known[key] = outcome(formula)
        found.append((formula, known[key]))
    return found


def test_nearly_all_formulas_are_read() -> None:
    why = Counter(what if what == "read" else f"{what}: {detail}" for _, (what, detail) in outcomes())
    read = sum(what != "unread" for _, (what, _) in outcomes())
    assert len(outcomes()) > 2500 and read >= LEAST * len(outcomes()), why


def test_every_formula_that_is_read_has_the_value_that_was_decided() -> None:
    differ = [f"{f}\n    {how}" for f, (what, how) in outcomes() if what == "differs"]
    assert not differ, "\n".join(differ)


def test_what_is_not_read_is_known() -> None:
    """Divergences D_F, which are printed in proofs only, a sum over a size that nothing else has, names of
    several things.
    """
    assert {f.claim for f, (what, _) in outcomes() if what == "unread"} == {
        "farooq2025/eq67",
        "farooq2025/prose-polynomial-minimum",
        "wang2024/prose-constant-head-chi2",
        "wang2024/prose-1-norm-kink",
        "chen2023/rem4.1",
        "chen2023/prose-heads-mean",
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_at_other_points_too(seed: int) -> None:
    differ = [
        f"{f}\n    {how}"
        for f in formulas()
        for what, how in [outcome(f, 4, 1000 * seed)]
        if what == "differs"
    ]
    assert not differ, "\n".join(differ)


# ---------------------------------------------------------------- what the formulas are put into


_SIGNS = {"=": "=", "!=": r"\ne", ">=": r"\ge", ">": ">"}


def _fact(fact: Any) -> tuple[str, str, str]:
    return fact.term.latex(), _SIGNS[fact.relation], "0"


def _constraints(program: Any) -> list[tuple[str, str, str]]:
    return [
        (c.lhs.args[0].latex(), r"\ge", "0")
        if c.of_sign()
        else (c.lhs.latex(), "=" if c.equality else r"\le", c.rhs.latex())
        for c in program.constraints
    ]


def decided(statement: Any) -> list[tuple[str, str, str]] | None:
    """The relations that a statement consists of; None for a kind that is displayed in another way."""
    s = statement
    match type(s).__name__:
        case "Identity":
            printed = (s.lhs, *(n.term for n in s.chain if n.printed), s.rhs)
            members = [t.latex() for t in printed]
            if len(set(members)) < len(members):  # they differ in their groups, which are shown then
                members = equation(*printed).split(" = ")
            found = [(left, "=", right) for left, right in pairwise(members)]
        case "Stacked":
            found = [(s.lhs.latex(), "=", s.rhs.latex())]
        case "Differs":
            found = [(s.lhs.latex(), r"\ne", s.rhs.latex())]
        case "Definition" | "Scoped":
            found = [(s.name.latex(), ":=", s.meaning.latex())]
        case "Implication" | "Rule":
            found = [_fact(f) for f in (*s.hypotheses, s.conclusion)]
        case "Example":
            found = [_fact(f) for f in s.facts]
        case "Solvable":
            found = [_fact(f) for f in s.equations]
        case "Follows":
            found = [(h.lhs.latex(), "=", h.rhs.latex()) for h in s.hypotheses]
            found.append((s.lhs.latex(), _SIGNS[s.relation], s.rhs.latex()))
        case "Convex" | "WellPosed" | "ConvexProgram" | "Bounded":
            found = _constraints(s.program)
        case "Order":
            power = f"^{{{s.order}}}" if s.order > 1 else ""
            end = f"{s.approximate.latex()} + O({as_term(s.small).latex()}{power})"
            found = [(s.exact.latex(), "=", end)]
        case "Limit":
            found = [(as_term(s.state).latex(), r"\leftarrow", s.step.latex())]
            if s.limit is not None:
                found.append((as_term(s.state).latex(), r"\to", s.limit.latex()))
        case "Extremum" if s.says != "bounded below":
            found = [(as_term(s.variable).latex(), "=", s.point.latex())]
        case "Dual":
            found = [*_constraints(s.program), *((t.latex(), "=", "0") for _, t in s.conditions)]
        case _:
            return None
    for g in getattr(s, "given", ()):
        found.append((g.defined.latex(), "=", g.value.latex()))
    return found


def _tokens(relation: tuple[str, str, str]) -> Relation:
    left, sign, right = relation
    return tuple(words(left)), sign, tuple(words(right))


def test_displays_consist_of_the_relations_that_were_decided() -> None:
    """In their order; the formulas in them are those that are read above."""
    seen = 0
    for claim, _, _, statement in statements():
        expected = decided(statement)
        if expected is None:
            continue
        shown, rest = relations(part_latex(statement), vocabulary(statement))
        for relation in map(_tokens, expected):
            assert relation in shown, (claim, relation)
            shown = shown[shown.index(relation) + 1 :]
        for alone in _alone(statement):
            assert tuple(words(alone)) in rest, (claim, alone)
        seen += 1
    assert seen > 700


def _alone(statement: Any) -> list[str]:
    """What a display has besides relations: objectives, with what they are sought over, and energies."""
    if isinstance(statement, Extremum):
        return [statement.energy.latex()]
    program = getattr(statement, "program", None)
    if not isinstance(program, Program):
        return []
    if isinstance(statement, Convex) and not program.constraints:
        return [program.objective.latex()]
    over = r"\,".join(as_term(v).latex() + "," for v in getattr(statement, "printed", program.variables))
    verb = "maximise" if program.maximise else "minimise"
    verb = "stat" if r"\operatorname{stat}" in program.latex() else verb  # stationary points are asked for
    return [rf"\underset{{{over.removesuffix(',')}}}{{\operatorname{{{verb}}}}}", program.objective.latex()]


def test_displayed_stationary_points_are_those_that_were_decided() -> None:
    seen = 0
    for claim, _, _, s in statements():
        if isinstance(s, Stationary):
            said = vocabulary(s, entrywise=True)
            (shown, sign, zero), *_ = relations(part_latex(s), said)[0]
            decided_slope = at_point(grad(s.energy, s.variable), s.variable, s.point)
            assert (sign, zero) == ("=", ("0",)), claim
            assert not differs(read(list(shown), said, {}), decided_slope, said, {}, atol=1e-4), claim
            seen += 1
    assert seen > 15


# ---------------------------------------------------------------- what must be noticed


WRONG = [  # (claim, what is printed, what it is changed to)
    ("nguyen2023/eq20", r"\frac{1}{N}", r"\frac{N}{1}"),
    ("nguyen2023/eq20", r"\sum_{j=1}^{N} ", ""),
    ("nguyen2023/eq21", r"{\left(\left(\boldsymbol{x} - \boldsymbol{\mu}\right) \odot \mathbf{s}^{-1}\right)}^{\top} ",
     r"\left(\left(\boldsymbol{x} - \boldsymbol{\mu}\right) \odot \mathbf{s}^{-1}\right) "),
    ("nguyen2023/eq21", r"\left(\boldsymbol{x} - \boldsymbol{\mu}\right) \odot", r"\boldsymbol{x} - \boldsymbol{\mu} \odot"),
    ("nguyen2023/eq43", r"\mathbf{K}^{\top} \mathbf{T}^{\top}", r"\mathbf{T}^{\top} \mathbf{K}^{\top}"),
    ("nguyen2023/eq43", r"_{jk}", r"_{kj}"),
    ("nguyen2023/eq5", r"\boldsymbol{w}_{d}", r"\boldsymbol{w}_{j}"),
    ("chen2023/eq6", r"H_e \Sigma", r"\Sigma H_e"),
    ("chen2023/eq6", r"\Lambda", r"\Sigma"),
    ("chen2023/thm3.2", r"\boldsymbol{h}_{e_{i}}", r"\boldsymbol{h}_{r_{i}}"),
    ("wang2024/eq7", r"x_{i} \\ \mathbf{0}_{C-1}", r"\mathbf{0}_{C-1} \\ x_{i}"),
    ("wang2024/prose-mercer-rbf", r"\left\|x_{i} - x_{j}\right\|^{2}", r"\left\|x_{i} - x_{j}\right\|"),
    ("farooq2025/eq37", r"Z = A V", r"Z = V"),
    ("farooq2025/eq31", r"\nabla_{Z}", r"\nabla_{V}"),
    ("farooq2025/eq33", r"A_{mj}", r"A_{jm}"),
    ("farooq2025/eq19", r"\operatorname{tr}", r""),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "printed", "changed"), WRONG)
def test_a_changed_display_is_noticed(claim: str, printed: str, changed: str) -> None:
    tried = 0
    for formula in formulas():
        if formula.claim == claim and printed in formula.latex and outcome(formula)[0] == "read":
            tried += 1
            wrong = formula.latex.replace(printed, changed, 1)
            assert outcome(replace(formula, latex=wrong))[0] != "read", wrong
    assert tried


CHANGES: dict[str, Callable[[str], str]] = {
    "no transpose": lambda text: text.replace(r"^{\top}", "", 1),
    "no range": lambda text: re.sub(r"(\\sum)_\{[^{}]*\}\^\{[^{}]*\}", r"\1", text, count=1),
    "no sum": lambda text: re.sub(r"\\sum_\{[^{}]*\}\^\{[^{}]*\}", "", text, count=1),
    "swapped indices": lambda text: re.sub(r"_\{([a-z])([a-z])\}", r"_{\2\1}", text, count=1),
    "another sign": lambda text: text.replace(" - ", " + ", 1),
    "turned fraction": lambda text: re.sub(
        r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\\frac{\2}{\1}", text, count=1
    ),
    "no square": lambda text: text.replace("^{2}", "", 1),
}
LIKE = 0.08
"""The share of changes that leave a formula as it was: symmetric matrices, softmax of shifted scores, and
formulas that fit no more than before.
"""


def noticed(every: int) -> Counter[tuple[str, str]]:
    """How many changes of one in so many formulas are noticed, by kind; which ones, no other formula decides."""
    found: Counter[tuple[str, str]] = Counter()
    for formula in [f for f, (what, _) in outcomes() if what == "read"]:
        if crc32(formula.latex.encode()) % every:
            continue
        for name, change in CHANGES.items():
            wrong = change(formula.latex)
            if wrong != formula.latex:
                found[name, outcome(replace(formula, latex=wrong), tries=2)[0]] += 1
    return found


@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_nearly_every_change_is_noticed(every: int) -> None:
    found = noticed(every)
    for name in CHANGES:
        same, tried = found[name, "read"], sum(n for (kind, _), n in found.items() if kind == name)
        assert tried and same <= max(2, LIKE * tried), (name, found)


READABLE = {  # with x = (2, 3), A = ((1, 2), (3, 4)), s = 5, N = 2
    r"\sum_{i=1}^{N} x_{i}\,s + s": 30, r"-x_{j}^{2} - \frac{s}{2\,x_{j}}": -9 - 5 / 6,
    r"\left(\sum_{j=1}^{N} x_{j}\right)^{2}": 25, r"x^{\top} A x": 70, r"\operatorname{tr}\left(A x x^{\top}\right)": 70,
    r"{\left(A x\right)}_{j}": 18, r"x^{\top} x\,s": 65, r"\left\|A\right\|_{\mathrm{F}}^{2}": 30, r"A_{jj}": 4,
    r"\left[s\,x_{i}\right]_{i=1}^{N}": [10, 15], r"\tfrac{1}{2}\,N": 1, r"\left(x \odot x\right)_{j}": 9,
    r"\operatorname{diag}\left(x\right) x": [4, 9], r"\left.x^{\top} x\right|_{x = A x}": 64 + 324,
    r"\nabla_{x}\left[x^{\top} x\right]": [4, 6], r"\begin{pmatrix}x \\ x\end{pmatrix}": [2, 3, 2, 3],
}  # fmt: skip

UNREADABLE = [
    r"x\,x", r"x_{k}", r"y", r"\sum_{i} s", r"A + x", r"x + 1", r"\left(x", r"x^{\top} A \odot A", r"j\,s", r"A^{2}",
    r"\exp\left(x\right)", r"\left\|A\right\|^{2}", r"s_{j}", r"\frac{1}{x}", r"{s^{2}}^{2}", r"{s + s}\,s", r"s\,+",
    r"x_{jj}", r"A^{\top}_{j}", r"\exp s\,s", r"\operatorname{tr}\left(x\right)", r"{x^{\top}}^{\top}",
]  # fmt: skip


def _small() -> tuple[Vocabulary, Point]:
    x, a, s = Tensor("x", ("N",)), Tensor("A", ("N", "N"), row_latex="A_{%1}"), Tensor("s")
    arrays = {x: np.array([2.0, 3.0]), a: np.array([[1.0, 2.0], [3.0, 4.0]]), s: np.array(5.0)}
    return vocabulary((x, a, s)), Point({"N": 2}, arrays)


@pytest.mark.parametrize("latex", READABLE)
def test_the_reader_reads(latex: str) -> None:
    said, point = _small()
    assert np.allclose(read(latex, said, {"j": "N"}).value(point, {"j": 1}), READABLE[latex])


@pytest.mark.parametrize("latex", UNREADABLE)
def test_the_reader_refuses(latex: str) -> None:
    with pytest.raises(Unreadable):
        read(latex, _small()[0], {"j": "N"})


# ---------------------------------------------------------------- derivations


@cache
def programs() -> dict[Program, Dual]:
    """The programs that statements display and derivations start from, with what dualising gives."""
    found = {
        one: None
        for _, _, _, statement in statements()
        for one in everything(statement)
        if isinstance(one, Program)
    }
    for claim in registry.load().values():
        if claim.derivation is None:
            continue
        a = assumptions_for(claim, {})
        if claim.theory == "svr":
            own = vars(sys.modules[claim.module]).values()
            variants = [
                one.under(case)
                for one in own
                if isinstance(one, Variant)
                for case in (a, replace(a, bias="on"))
            ]
            found |= dict.fromkeys([svr.primal(a), *(variant.program() for variant in variants)])
        elif claim.theory == "ksvd":
            found[ksvd.primal(a)] = None
    result = {}
    for program in found:
        try:
            result[program] = dualise(program)
        except ValueError:  # not quadratic, or not affine
            continue
    return result


def _sides(relation: Relation, said: Vocabulary) -> tuple[Node, Node, dict[str, str]]:
    """Both sides of an equation whose open indices are those of the statement."""
    first = Reader(list(relation[0]), said, {}, opens=True)
    left = first.whole()
    second = Reader(list(relation[2]), said, first.scope, opens=True)
    right = second.whole()
    assert left.dims == right.dims or right.zero
    return left, right, second.scope


def _at(point: Point, scope: dict[str, str], n: int) -> dict[str, int]:
    return {name: (n + k) % point.size(dim) for k, (name, dim) in enumerate(sorted(scope.items()))}


def test_steps_of_dualising_are_read() -> None:
    """The Lagrangian; its derivatives, by differences of what is read; what is solved for, and that it makes
    them vanish.
    """
    seen: Counter[str] = Counter()
    for program, dual in programs().items():
        said = vocabulary((program, dual))
        gradients: dict[str, tuple[Node, dict[str, str]]] = {}
        for step in dual.steps:
            kind, _, name = step.title.partition(" in " if step.title.startswith("Stationarity") else " for ")
            shown, _ = relations(step.latex, said)
            seen[kind] += 1
            if step.title == "Lagrangian":
                ((_, _, text),) = shown
                lagrangian = Reader(list(text), said, {}, opens=True).whole()
                assert not differs(lagrangian, dual.lagrangian, said, {})
                said.name(r"\mathcal{L}", lagrangian)
                continue
            for relation in shown:
                left, right, scope = _sides(relation, said)
                points = [draw(said.dims, said.tensors, seed) for seed in range(2)]
                if kind == "Stationarity" and right.zero:
                    gradients[name] = left, scope
                elif kind == "Stationarity":
                    for point in points:
                        at = _at(point, scope, 1)
                        assert np.allclose(left.value(point, at), right.value(point, at), atol=1e-8), (
                            step.latex
                        )
                elif kind == "Solve":
                    (solved,) = [t for t in dual.solved if unicode_math(t.symbol) == name]
                    assert not differs(right, Raw((), dual.solved[solved]), said, scope), step.latex
                    slope, over = gradients[step.reason.split()[2]]  # stationarity in x determines y
                    for point in points:
                        array = np.zeros_like(point.arrays[solved])
                        for where in np.ndindex(array.shape):
                            names = ("".join(words(index.latex)) for index in dual.at[solved])
                            array[where] = right.value(point, dict(zip(names, where, strict=True)))
                        there = point.moved(solved, array)
                        assert np.allclose(slope.value(there, _at(there, over, 1)), 0, atol=1e-8), step.latex
    assert seen["Lagrangian"] > 10 and seen["Stationarity"] > 30 and seen["Solve"] > 10, seen


def test_derivations_of_claims_are_steps_that_are_read() -> None:
    """Most of their steps are those of a program above."""
    read = {step.latex for dual in programs().values() for step in dual.steps}
    steps = [
        step
        for claim in registry.load().values()
        if claim.derivation is not None
        for step in claim.derivation(assumptions_for(claim, {}))
    ]
    others = Counter(step.title for step in steps if step.latex not in read)
    assert len(steps) > 150 and sum(others.values()) < 0.25 * len(steps), others


def _whole(given: Any) -> Term:
    """What a definition gives a tensor, as one array."""
    value = given.value
    for index in reversed(given.at):
        value = stack(index, value)
    return value


def _consistent(
    statement: Any, said: Vocabulary, scope: dict[str, str], seed: int
) -> tuple[Point, dict[str, int]]:
    """A point at which definitions hold, and residuals are what they are the residuals of; those of a
    hypothesis for each value of an index at the value of that index.
    """
    point = draw(said.dims, said.tensors, seed)
    at = _at(point, scope, seed)
    for _ in range(4):  # a definition may rest on others
        for g in getattr(statement, "given", ()):
            point.arrays[g.tensor] = point.value(_whole(g), {})
        for h in statement.hypotheses if isinstance(statement, Follows) else ():
            loose = {i: at["".join(words(i.latex))] for side in (h.lhs, h.rhs) for i in unbound(side)}
            gap = point.value(h.lhs, loose) - point.value(h.rhs, loose)
            point.arrays[h.residual] = gap.reshape([point.size(dim) for dim in h.residual.dims])
    return point, at


def certificates() -> Iterator[tuple[str, Any, str]]:
    """(claim, statement, the identity that proves it as it is printed); what points refute shows none."""
    for claim, _, _, statement in statements():
        if isinstance(statement, Follows) and judge(statement, with_mutants=False).holds is not False:
            yield claim, statement, follows._steps(statement, "")[-1]["latex"]
        elif isinstance(statement, Implication) and (proof := implication.completed(statement)).multipliers:
            yield claim, proof, implication._implication_latex(proof)


def _certified(statement: Any, latex: str) -> bool:
    """Whether a printed identity holds, as it is read."""
    said = vocabulary(statement, entrywise=True)
    (relation,), rest = relations(latex, said)
    left, right, scope = _sides(relation, said)
    assert relation[1] == "=" and not rest
    for seed in range(2):
        point, at = _consistent(statement, said, scope, seed)
        if not np.allclose(left.value(point, at), right.value(point, at), rtol=1e-6, atol=1e-8):
            return False
    return True


def test_certificates_hold_as_they_are_read() -> None:
    wrong, unread = [], []
    for claim, statement, latex in certificates():
        try:
            if not _certified(statement, latex):
                wrong.append((claim, latex))
        except Unreadable as error:
            unread.append((claim, str(error), latex))
    assert not wrong and not unread, (wrong, unread)


# ---------------------------------------------------------------- names and conditions


def _unsaid(statement: Any) -> list[str]:
    """Names in a display that stand for formulas which it does not give."""
    display, said = part_latex(statement), vocabulary(statement)
    given = {left for left, _, _ in relations(display, said)[0]}
    named = [
        one.data
        for term in terms_of(statement)
        if term.latex() in display
        for one in everything(term)
        if isinstance(one, Named) or (isinstance(one, PrintedDiagonal) and isinstance(one.args[0], Stack))
    ]
    return [name for name in named if name in display and tuple(words(name)) not in given]


@cache
def unsaid() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for claim, _, _, statement in statements():
        if names := _unsaid(statement):
            found.setdefault(claim, set()).update(names)
    return found


@pytest.mark.parametrize("claim", expected_to_fail(*UNSAID))
def test_names_of_formulas_are_said(claim: str) -> None:
    assert claim not in unsaid(), unsaid()[claim]


def test_no_other_display_leaves_a_name_unsaid() -> None:
    assert set(unsaid()) <= set(UNSAID)


@cache
def empty_words() -> set[str]:
    """Claims with a condition whose sides are the same."""
    return {
        claim
        for claim, _, _, statement in statements()
        for left, _, right in relations(conditions_latex(statement), vocabulary(statement))[0]
        if left == right
    }


def test_legends_keep_their_braces() -> None:
    """A brace outside mathematics is lost in the terminal: min{a, b} would read as mina, b."""
    legends = {c.id: re.sub(r"\$[^$]*\$", "", c.where) for c in registry.load().values()}
    assert sum(map(bool, legends.values())) > 100
    assert not [name for name, legend in legends.items() if re.search(r"[{}\\]", legend)]


def test_conditions_say_something() -> None:
    assert not empty_words()
