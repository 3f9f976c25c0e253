"""Growth: a counted cost stays below a constant times a printed bound, for all sizes of the stated domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from checks.engines import ENGINES
from checks.finding import Finding
from checks.record import Evidence, Mutants
from checks.statement import Kind

Matrix = list[list[Fraction]]


class Counter:
    """Multiplications done and numbers stored by the routines below."""

    def __init__(self) -> None:
        self.products = 0
        self.stored = 0

    def zeros(self, rows: int, columns: int) -> Matrix:
        """A stored matrix."""
        self.stored += rows * columns
        return [[Fraction(0)] * columns for _ in range(rows)]

    def times(self, left: Matrix, right: Matrix) -> Matrix:
        """A product, entry by entry; the result is stored."""
        result = self.zeros(len(left), len(right[0]))
        for x, line in enumerate(left):
            for y in range(len(right[0])):
                for z, value in enumerate(line):
                    result[x][y] += value * right[z][y]
                    self.products += 1
        return result


def _given(rows: int, columns: int) -> Matrix:
    return [[Fraction(1)] * columns for _ in range(rows)]


def canonical(N: int, d_k: int, d_v: int) -> Counter:
    """O = (Q Kᵀ) V with the N × N matrix stored; inputs are given."""
    counter = Counter()
    counter.times(counter.times(_given(N, d_k), _given(d_k, N)), _given(N, d_v))
    return counter


def primal(N: int, n: int, p: int, s: int, d_v: int) -> Counter:
    """W_e|X = FᵀW_e and its twin, E and R, and the output [E, R] W_oᵀ; features are stored, inputs given."""
    counter = Counter()
    weights = [counter.times(_given(p, n), _given(n, s)) for _ in "er"]
    scores = [counter.times(counter.zeros(N, p), w) for w in weights]
    joined = [a + b for a, b in zip(*scores, strict=True)]
    counter.times(joined, _given(2 * s, d_v))
    return counter


ROUTINES: dict[str, Callable[..., Counter]] = {"canonical": canonical, "primal": primal}


@dataclass(frozen=True)
class Growth(Kind):
    """``count`` <= ``constant`` · ``bound`` for all sizes >= 1 of the domain: O(bound), uniformly.

    ``count`` is the closed form of ``measure`` ("products" or "stored") of a routine (arguments by name), compared
    with the counted routine. ``domain`` substitutes sizes, e.g. N = n + u with u >= 0. ``ray`` offers a refutation:
    sizes as functions of t along which count/bound is unbounded.
    """

    routine: str
    measure: str
    count: sp.Expr
    bound: sp.Expr
    constant: int = 1
    domain: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    ray: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """Count and bound."""
        conditions = ",\\ ".join(f"{sp.latex(s)} = {sp.latex(x)}" for s, x in self.domain)
        end = rf"\qquad ({conditions})" if conditions else ""
        return rf"{sp.latex(self.count)} = \mathcal{{O}}\left({sp.latex(self.bound)}\right){end}"


T = sp.Symbol("t", positive=True)


def growth(statement: Growth, seed: int, with_mutants: bool) -> Finding:
    """The count by the routine, then the ray or the sign of every coefficient of constant · bound - count."""
    wrong = _miscounted(statement.routine, statement.measure, statement.count)
    counted = Evidence(
        "exact", "exact-rational", not wrong, wrong or "the closed form agrees with counted runs"
    )
    finding = Finding([counted], counterexample=wrong or None)
    if wrong:
        return finding
    ratio = sp.simplify((statement.count / statement.bound).subs(dict(statement.ray)))
    if statement.ray and sp.limit(ratio, T, sp.oo) == sp.oo:
        at = ", ".join(f"{s} = {x}" for s, x in statement.ray)
        values = ", ".join(f"{ratio.subs(T, n)} at t = {n}" for n in (1, 10, 100))
        finding.counterexample = f"along {at} the count over the bound is {ratio}: {values}, unbounded"
        finding.evidence.append(Evidence("derivation", "exact-symbolic", False, "a ray of unbounded ratio"))
        return finding
    below = stays_below(statement, statement.bound)
    detail = (
        "constant · bound - count has no negative coefficient in the sizes less 1" if below else "not shown"
    )
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", True if below else None, detail, settles=True)
    )
    if with_mutants and below:
        finding.mutants = _mutants(statement)
    return finding


def stays_below(statement: Growth, bound: sp.Expr) -> bool:
    """Whether constant · bound - count is a polynomial with coefficients >= 0 once every size is 1 + something."""
    difference = (statement.constant * bound - statement.count).subs(dict(statement.domain))
    symbols = sorted(difference.free_symbols, key=str)
    if not symbols:
        return bool(sp.expand(difference) >= 0)
    sizes = [s for s in symbols if s.is_positive]
    shifted = sp.Poly(sp.expand(difference.subs({s: s + 1 for s in sizes})), *symbols)
    return all(c >= 0 for c in shifted.coeffs())


def _miscounted(routine: str, measure: str, count: sp.Expr) -> str:
    function = ROUTINES[routine]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for sizes in ((1,) * len(names), tuple(range(2, 2 + len(names))), tuple(range(1 + len(names), 1, -1))):
        value = getattr(function(*sizes), measure)
        closed = count.subs({sp.Symbol(n, positive=True): x for n, x in zip(names, sizes, strict=True)})
        if closed != value:
            return f"{', '.join(f'{n} = {x}' for n, x in zip(names, sizes, strict=True))}: counted {value}, closed form {closed}"
    return ""


def _mutants(statement: Growth) -> Mutants:
    """Wrong counts must differ from counted runs; a bound without one of its sizes must not be provable."""
    result, count = Mutants(), statement.count
    wrong = [("doubled", 2 * count), ("plus one", count + 1)]
    wrong += [(f"{s} plus one", count.subs(s, s + 1)) for s in sorted(count.free_symbols, key=str)]
    for what, mutant in wrong:
        result.tried += 1
        if _miscounted(statement.routine, statement.measure, sp.expand(mutant)):
            result.killed += 1
        else:
            result.survivors.append(what)
    for s in sorted(statement.bound.free_symbols, key=str):
        result.tried += 1
        if stays_below(statement, statement.bound.subs(s, 1)):
            result.survivors.append(f"bound without {s}")
        else:
            result.killed += 1
    return result


ENGINES[Growth] = growth
