"""Cost: how many multiplications an evaluation takes, counted and not estimated.

An evaluation is a plan: formulas evaluated as they are written, one after the other, each result stored once. Its
count is a polynomial in the sizes, read off the formulas, and the same plan is run in arithmetic that counts. A
product with 1 or -1 is free, a division is a multiplication, a power u^e takes e - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import sympy as sp

from checks.engines import ENGINES
from checks.finding import Finding
from checks.record import Evidence
from checks.statement import Kind
from derivations import index as ix
from derivations.components import evaluate
from derivations.index import Index, Tensor
from derivations.term import Term


@dataclass(frozen=True)
class Assign:
    """tensor[at] := term for all values of the indices; with ``times`` the same again in each of so many rounds."""

    tensor: Tensor
    at: tuple[Index, ...]
    term: Term
    times: str = "1"


Plan = tuple[Assign, ...]


@dataclass(frozen=True)
class Cost(Kind):
    """``plan`` takes ``printed`` multiplications more than ``base``; with ``relation`` "<=", at most ``factor`` times it.

    ``sizes`` names the symbols of the printed count in the order in which counterexamples are searched.
    """

    what: str
    plan: Plan
    printed: str
    base: Plan = ()
    relation: str = "="
    factor: int = 1
    sizes: tuple[str, ...] = ("n", "d_v", "T")
    label: str = ""

    def statement_latex(self) -> str:
        """The printed count, and what it counts."""
        bound = sp.latex(sp.sympify(self.printed, locals=_names(self.sizes)), order="none")
        relation = (
            "=" if self.relation == "=" else r"\le " + (f"{self.factor}\\," if self.factor != 1 else "")
        )
        if self.relation != "=":
            bound = rf"\left({bound}\right)"
        return rf"\#\text{{multiplications}}(\text{{{self.what}}}) {relation} {bound}"


def _names(sizes: tuple[str, ...]) -> dict[str, sp.Symbol]:
    return {s: sp.Symbol(s, positive=True, integer=True) for s in sizes}


def multiplications(expr: ix.Expr, names: dict[str, sp.Symbol]) -> sp.Expr:
    """The count of one evaluation of an expression as it is written, as a polynomial in the sizes."""
    inside = sum((multiplications(part, names) for part in ix.children(expr)), sp.Integer(0))
    match expr:
        case ix.Mul(args):
            numbers = [a.value for a in args if isinstance(a, ix.Num)]
            scale = Fraction(1)
            for value in numbers:
                scale *= value
            factors = len(args) - len(numbers) + (abs(scale) != 1)
            return inside + max(0, factors - 1)
        case ix.Pow(_, exponent):
            return inside + abs(int(exponent)) - 1 if exponent.denominator == 1 and exponent else inside
        case ix.Sum(index, _):
            return inside * names.get(index.dim, 1)
    return inside


def count(plan: Plan, sizes: tuple[str, ...]) -> sp.Expr:
    """The count of a plan as a polynomial in the sizes."""
    names = _names(sizes)
    total = sp.Integer(0)
    for line in plan:
        at = tuple(Index(f"e{n}", d) for n, d in enumerate(line.term.shape()))
        repeats = sp.sympify(line.times, locals=names)
        for index in (*line.at, *at):
            repeats *= names.get(index.dim, 1)
        total += repeats * multiplications(line.term.entry(*at), names)
    return sp.expand(total)


class _Number:
    """A rational number that counts the multiplications it takes part in."""

    done = 0

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def _times(self, other: Any) -> _Number:
        if not isinstance(other, _Number) and abs(other) == 1:
            return _Number(self.value * other)
        _Number.done += 1
        return _Number(self.value * _plain(other))

    def __pow__(self, power: int) -> _Number:
        _Number.done += abs(power) - 1
        return _Number(self.value**power)

    def __rtruediv__(self, other: Any) -> _Number:
        return _Number(_plain(other) / self.value)

    def __add__(self, other: Any) -> _Number:
        return _Number(self.value + _plain(other))

    __mul__ = __rmul__ = _times
    __radd__ = __add__


def _plain(value: Any) -> Fraction:
    return value.value if isinstance(value, _Number) else Fraction(value)


class _Opaque(dict):
    """Functions cost nothing here: their values are some number."""

    def __missing__(self, name: str) -> Any:
        return lambda *_: Fraction(7, 3) if name == "root" else _Number(Fraction(5, 3))


def run(plan: Plan, sizes: dict[str, int]) -> int:
    """Evaluate a plan in counting arithmetic and return how many multiplications it took."""
    values: dict[tuple[Tensor, tuple[int, ...]], _Number] = {}

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> _Number:
        seed = 2 + (sum((n + 1) * (e + 1) for n, e in enumerate(entry)) + len(tensor.name)) % 5
        return values.setdefault((tensor, entry), _Number(Fraction(seed, 3)))

    _Number.done = 0
    longest = max((_rounds(line, sizes) for line in plan), default=0)
    for turn in range(longest):
        for line in plan:
            if turn < _rounds(line, sizes):
                _assign(line, sizes, lookup, values)
    return _Number.done


def _rounds(line: Assign, sizes: dict[str, int]) -> int:
    return int(sp.sympify(line.times, locals={k: sp.Integer(v) for k, v in sizes.items()}))


def _assign(line: Assign, sizes: dict[str, int], lookup: Any, values: dict) -> None:
    at = tuple(Index(f"e{n}", d) for n, d in enumerate(line.term.shape()))
    places = (*line.at, *at)
    expr = line.term.entry(*at)
    new = {}
    for entry in product(*(range(sizes.get(i.dim, 1)) for i in places)):
        value = evaluate(expr, sizes, lookup, _Opaque(), dict(zip(places, entry, strict=True)))
        new[line.tensor, entry] = _Number(_plain(value))
    values.update(new)


def cost(statement: Cost, seed: int, with_mutants: bool) -> Finding:
    """The polynomial of the formulas against the printed count, and runs in counting arithmetic."""
    s, names = statement, _names(statement.sizes)
    counted = sp.expand(count(s.plan, s.sizes) - count(s.base, s.sizes))
    printed = sp.sympify(s.printed, locals=names)
    holds = agrees(counted, printed, s)
    finding = Finding()
    finding.steps.append(
        {
            "title": f"count: {s.what}",
            "latex": sp.latex(counted),
            "reason": "multiplications of the formulas as they are written, each result stored once",
            "grade": "exact-symbolic",
            "passed": holds,
        }
    )
    grid = [dict(zip(s.sizes, p, strict=True)) for p in product((1, 2, 3), repeat=len(s.sizes))]
    wrong = next((g for g in grid if run(s.plan, g) - run(s.base, g) != counted.subs(_at(names, g))), None)
    detail = f"runs at {len(grid)} sizes count {'as the formulas do' if wrong is None else 'otherwise'}"
    if wrong is not None:
        finding.evidence.append(Evidence("exact", "exact-rational", None, f"{detail}: {wrong}"))
        return finding
    finding.evidence.append(Evidence("exact", "exact-rational", holds, detail))
    detail = f"counted {counted}, printed {printed}"
    finding.evidence.append(Evidence("derivation", "exact-symbolic", holds, detail, settles=True))
    if not holds:
        finding.counterexample = _example(counted, printed, s, names, grid)
    elif with_mutants:
        for mutant in _mutants(printed, s):
            finding.mutants.tried += 1
            finding.mutants.killed += not agrees(counted, mutant, s)
    return finding


def _at(names: dict[str, sp.Symbol], sizes: dict[str, int]) -> dict[sp.Symbol, int]:
    return {names[k]: v for k, v in sizes.items()}


def agrees(counted: sp.Expr, printed: sp.Expr, s: Cost) -> bool:
    """Equality of polynomials; an upper bound holds if it does coefficient by coefficient from size 1 on."""
    difference = sp.expand(s.factor * printed - counted)
    if s.relation == "=":
        return difference == 0
    shifted = sp.expand(difference.subs({x: x + 1 for x in _names(s.sizes).values()}, simultaneous=True))
    return all(c >= 0 for c in sp.Poly(shifted, *_names(s.sizes).values()).coeffs())


def _example(
    counted: sp.Expr, printed: sp.Expr, s: Cost, names: dict[str, sp.Symbol], grid: list[dict[str, int]]
) -> str:
    for sizes in grid:
        ours, theirs = counted.subs(_at(names, sizes)), printed.subs(_at(names, sizes))
        if (ours != theirs) if s.relation == "=" else (ours > s.factor * theirs):
            used = {str(x) for x in counted.free_symbols | printed.free_symbols}
            shown = ", ".join(f"{k} = {v}" for k, v in sizes.items() if k in used)
            return f"{shown}: {s.what} takes {ours} multiplications, the printed count is {theirs}; in general {counted}"
    return f"counted {counted}"


def _mutants(printed: sp.Expr, s: Cost) -> list[sp.Expr]:
    terms = sp.Add.make_args(sp.expand(printed))
    if s.relation != "=":
        return [printed - t for t in terms] + [-printed]
    return [
        printed + 1,
        -printed - 1,
        *(printed + t for t in terms if t != 0),
        *(printed - t for t in terms if t != 0),
    ]


ENGINES[Cost] = cost
