"""Operation counts and how they grow: a count is a polynomial, a ratio of counts increases or does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy as sp

from checks.engine.finding import Finding
from checks.engine.instances import said_at
from checks.engine.judge import ENGINES, step
from checks.evidence import Evidence
from checks.kinds.recurrence import denominators
from checks.statement import Kind, Malformed
from derivations.calculus.unicode import unicode_math

Products = tuple[tuple[int, ...], ...]
_PRIMES = (
    (1, 1, 1, 1, 1, 1),
    (2, 3, 5, 7, 11, 13),
    (17, 19, 23, 29, 31, 37),
    (41, 43, 47, 53, 59, 61),
    (101, 103, 107, 109, 113, 127),
)


@dataclass(frozen=True)
class Counted(Kind):
    """A routine's ``per`` operations for each product of numbers add up to ``formula``, a polynomial in
    ``symbols``.

    ``products(*sizes)`` lists the sizes of every matrix product that the routine makes, (rows, inner,
    columns) or with more axes, so that the count is not typed but read off the routine: every axis is a whole
    number from 1 on and one of the sizes times a number, the same at all sizes that are looked at
    (`looked_at`; a routine that does something else at other sizes is not seen to). ``count(*sizes)`` is the
    whole count by another counter, for comparison. ``steps`` are the multiples in which each size can be
    chosen (a pooled length must be divisible).
    """

    what: str
    formula: sp.Expr
    symbols: tuple[sp.Symbol, ...]
    steps: tuple[int, ...]
    products: Callable[..., Products]
    count: Callable[..., int]
    per: int = 2
    label: str = ""

    def statement_latex(self) -> str:
        """The count, its formula, and the numbers that divide the sizes for which it is one."""
        choices = zip(self.steps, self.symbols, strict=False)
        divides = r",\ ".join(rf"{step} \mid {sp.latex(size)}" for step, size in choices if step != 1)
        where = rf"\qquad ({divides})" if divides else ""
        return rf"\#\text{{{self.what}}} = {sp.latex(sp.expand(self.formula))}{where}"

    def looked_at(self) -> list[tuple[int, ...]]:
        """Sizes whose ratios tell them apart: multiples of 1, and of different primes, once the later size
        the larger one and once the smaller.
        """
        n = len(self.steps)
        rows = (*(row[:n] for row in _PRIMES), *(row[:n][::-1] for row in _PRIMES[1:3] if n > 1))
        return [tuple(p * each for p, each in zip(row, self.steps, strict=False)) for row in rows]


def read_off(statement: Counted) -> sp.Expr | None:
    """The count as a polynomial, from the axes of every product; None where an axis is not a size times
    a number. Raises Malformed for operations, steps or axes that are no whole numbers from 1 on, and where a
    size has no step or a product no axis.
    """
    if len(statement.steps) != len(statement.symbols):
        raise Malformed("every size is chosen in steps of its own")
    if sp.sympify(statement.formula).has(sp.Float):
        raise Malformed("a count has exact coefficients")
    sizes = statement.looked_at()
    runs = [statement.products(*at) for at in sizes]
    lengths = (length for run in runs for axes in run for length in axes)
    if not all(axes for run in runs for axes in run):
        raise Malformed("a product without axes is none")
    if any(n < 1 or n != int(n) for n in (statement.per, *statement.steps, *lengths)):
        raise Malformed("operations, steps and the axes of a product are whole numbers from 1 on")
    if not runs[0] or len({tuple(map(len, run)) for run in runs}) > 1:
        return None  # no product, or other ones at other sizes
    total = sp.Integer(0)
    alike = Counter(tuple(zip(*products, strict=True)) for products in zip(*runs, strict=True))
    for axes, often in alike.items():
        found = [_axis(lengths, sizes, statement.symbols) for lengths in axes]
        if None in found:
            return None
        total += statement.per * often * sp.prod(found)
    return sp.expand(total)


def _axis(
    lengths: tuple[int, ...], sizes: list[tuple[int, ...]], symbols: tuple[sp.Symbol, ...]
) -> sp.Expr | None:
    if len(set(lengths)) == 1:
        return sp.Integer(lengths[0])
    for k, symbol in enumerate(symbols):
        ratios = {sp.Rational(length, at[k]) for length, at in zip(lengths, sizes, strict=True)}
        if len(ratios) == 1:
            return ratios.pop() * symbol
    return None


def counted(statement: Counted, seed: int, with_mutants: bool) -> Finding:
    """The count read off the routine against the formula, and both against another counter."""
    s, found = statement, read_off(statement)
    if found is None:
        detail = "the sizes of the routine's products are not recognised"
        return Finding([Evidence("exact", "exact-rational", None, detail)])
    counts = [s.count(*at) for at in s.looked_at()]
    wrong = _first_difference(s, found, counts, "read off the products")
    if wrong:
        return Finding([Evidence("exact", "exact-rational", None, f"two counters disagree: {wrong}")])
    finding = Finding()
    same = sp.expand(found - s.formula) == 0
    differs = _first_difference(s, s.formula, counts, "the formula")
    if not same and not differs and not sp.sympify(s.formula).is_polynomial(*s.symbols):
        detail = "the formula is no polynomial, and gives what is counted at all sizes that are looked at"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail)])
    latex = sp.latex(found)
    finding.steps.append(
        step(f"count: {s.what}", latex, "read off the sizes of every product that the routine makes", same)
    )
    finding.counterexample = differs
    detail = f"counted {unicode_math(latex)}, read off at {len(s.looked_at())} sizes"
    finding.evidence.append(Evidence("derivation", "exact-symbolic", same, detail, settles=True))
    detail = f"another counter agrees with what was read off at {len(s.looked_at())} sizes"
    finding.evidence.append(Evidence("exact", "exact-rational", same, detail))
    if with_mutants and same:
        terms = sp.Add.make_args(sp.expand(s.formula))
        for mutant in [-s.formula, *(s.formula + sign * t for t in terms for sign in (1, -1))]:
            finding.mutants.tried += 1
            finding.mutants.killed += sp.expand(found - mutant) != 0
    return finding


def _first_difference(s: Counted, formula: sp.Expr, counts: list[int], what: str) -> str | None:
    for sizes, number in zip(s.looked_at(), counts, strict=True):
        value = formula.subs(dict(zip(s.symbols, sizes, strict=True)))
        if value != number:
            shown = ", ".join(f"{symbol} = {n}" for symbol, n in zip(s.symbols, sizes, strict=True))
            return f"{shown}: {what} gives {value}, counted are {number}"
    return None


@dataclass(frozen=True)
class Grows(Kind):
    """``expression`` increases strictly with ``symbol`` for all positive values of its symbols.

    ``sizes`` are values between which counterexamples are looked for.
    """

    what: str
    expression: sp.Expr
    symbol: sp.Symbol
    sizes: tuple[tuple[sp.Symbol, tuple[int | Fraction, ...]], ...]
    label: str = ""

    def statement_latex(self) -> str:
        """The sign of the derivative, and where it is so."""
        symbols = sorted(map(sp.latex, self.expression.free_symbols | {self.symbol}))
        return rf"{self.slope_latex()} > 0\qquad ({', '.join(symbols)} > 0)"

    def slope_latex(self) -> str:
        """The derivative, of all of the expression."""
        of = rf"\left({sp.latex(sp.factor(self.expression))}\right)"
        return rf"\frac{{\partial}}{{\partial {sp.latex(self.symbol)}}}{of}"


def increases(expression: sp.Expr, symbol: sp.Symbol) -> bool:
    """Whether the derivative is a quotient of polynomials with positive coefficients only."""
    top, bottom = sp.fraction(sp.together(sp.diff(expression, symbol)))
    top, bottom = sp.expand(top), sp.expand(bottom)
    if top == 0:
        return False
    symbols = sorted(expression.free_symbols, key=str)
    signs = [[c > 0 for c in sp.Poly(sp.factor(part), *symbols).coeffs()] for part in (top, bottom)]
    alike = [all(s) or not any(s) for s in signs]
    return all(alike) and signs[0][0] == signs[1][0]


def grows(statement: Grows, seed: int, with_mutants: bool) -> Finding:
    """The sign of the derivative, or two sizes between which the expression does not increase."""
    names = statement.expression.free_symbols
    if (
        statement.expression.has(sp.I, sp.Float, sp.NumberSymbol, sp.Function, sp.Max, sp.Min)
        or not all(power.exp.is_Integer for power in statement.expression.atoms(sp.Pow))
        or not all(x.is_positive for x in names)
    ):
        raise Malformed("what grows is an exact rational function of positive sizes")
    for bottom in denominators(statement.expression):
        if (
            not all(c > 0 for c in sp.Poly(sp.expand(bottom), *names).coeffs())
            if bottom.free_symbols
            else bottom == 0
        ):
            raise Malformed(f"{sp.sstr(bottom)} is not shown to be nonzero")
    if (names | {statement.symbol}) - {x for x, _ in statement.sizes} or any(
        n <= 0 for _, pair in statement.sizes for n in pair
    ):
        raise Malformed("positive sizes are given for every symbol")
    expression, symbol = statement.expression, statement.symbol
    if increases(expression, symbol):
        slope = sp.factor(sp.diff(expression, symbol))
        latex = rf"{statement.slope_latex()} = {sp.latex(slope)}"
        reason = "a quotient of polynomials with positive coefficients"
        detail = f"slope {unicode_math(sp.latex(slope))}"
        finding = Finding([Evidence("derivation", "exact-symbolic", True, detail, settles=True)])
        finding.steps.append(step(f"{statement.what} increases with {symbol}", latex, reason, True))
        if with_mutants:
            for mutant in (-expression, expression.subs(symbol, 1 / symbol), 1 / expression):
                finding.mutants.tried += 1
                finding.mutants.killed += not increases(mutant, symbol)
        return finding
    found = _fall(statement)
    detail = (
        "two sizes between which it does not increase" if found else "the sign of the slope is not settled"
    )
    passed = False if found else None
    return Finding([Evidence("exact", "exact-rational", passed, detail)], counterexample=found)


def _fall(statement: Grows) -> str | None:
    names = [s for s, _ in statement.sizes]
    choices = list(product(*(values for _, values in statement.sizes)))
    for one, other in product(choices, choices):
        first, second = dict(zip(names, one, strict=True)), dict(zip(names, other, strict=True))
        rest = [s for s in names if s != statement.symbol]
        if first[statement.symbol] >= second[statement.symbol] or any(first[s] != second[s] for s in rest):
            continue
        before, after = (sp.Rational(statement.expression.subs(p)) for p in (first, second))
        if after <= before:
            fixed = ", ".join(f"{unicode_math(sp.latex(s))} = {first[s]}" for s in rest)
            name = unicode_math(sp.latex(statement.symbol))
            change = f"from {name} = {first[statement.symbol]} to {second[statement.symbol]}"
            return said_at(fixed, f"{change} the {statement.what} goes from {before} to {after}")
    return None


ENGINES[Counted] = counted
ENGINES[Grows] = grows
