"""Operation counts and how they grow: a count is a polynomial, a ratio of counts increases or does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import sympy as sp

from checks.engines import ENGINES
from checks.finding import Finding
from checks.record import Evidence
from checks.statement import Kind


@dataclass(frozen=True)
class Counted(Kind):
    """``count(**sizes)`` operations are ``formula``, a polynomial in ``symbols``.

    ``degrees`` bounds the degree of the count in each symbol: a sum of products of sizes, which is known from
    how it is computed. Agreement on a grid of degree + 1 values of each symbol is then equality for all sizes.
    ``steps`` are the multiples in which a size can be chosen (a pooled length must be divisible).
    """

    what: str
    formula: sp.Expr
    symbols: tuple[sp.Symbol, ...]
    degrees: tuple[int, ...]
    steps: tuple[int, ...]
    count: Callable[..., int]
    label: str = ""

    def statement_latex(self) -> str:
        """The count and its formula."""
        return rf"\#\text{{{self.what}}} = {sp.latex(sp.expand(self.formula))}"

    def grid(self) -> list[tuple[int, ...]]:
        """The sizes at which the count is compared."""
        axes = (
            range(step, step * (d + 1) + 1, step) for d, step in zip(self.degrees, self.steps, strict=True)
        )
        return list(product(*axes))


def counted(statement: Counted, seed: int, with_mutants: bool) -> Finding:
    """Compare formula and count on a grid that decides equality of polynomials."""
    counts = {sizes: statement.count(*sizes) for sizes in statement.grid()}
    wrong = _first_difference(statement, statement.formula, counts)
    detail = f"counted at {len(counts)} sizes, enough to decide equality of polynomials of these degrees"
    finding = Finding(
        [Evidence("exact", "exact-rational", wrong is None, detail, settles=True)], counterexample=wrong
    )
    if with_mutants and wrong is None:
        terms = sp.Add.make_args(sp.expand(statement.formula))
        for mutant in [
            -statement.formula,
            *(statement.formula + sign * t for t in terms for sign in (1, -1)),
        ]:
            finding.mutants.tried += 1
            finding.mutants.killed += _first_difference(statement, mutant, counts) is not None
    return finding


def _first_difference(statement: Counted, formula: sp.Expr, counts: dict[tuple[int, ...], int]) -> str | None:
    for sizes, number in counts.items():
        value = formula.subs(dict(zip(statement.symbols, sizes, strict=True)))
        if value != number:
            shown = ", ".join(f"{s} = {n}" for s, n in zip(statement.symbols, sizes, strict=True))
            return f"{shown}: the formula gives {value}, counted are {number}"
    return None


@dataclass(frozen=True)
class Grows(Kind):
    """``expression`` increases strictly with ``symbol`` for all positive values of its symbols.

    ``sizes`` are values between which counterexamples are looked for.
    """

    what: str
    expression: sp.Expr
    symbol: sp.Symbol
    sizes: tuple[tuple[sp.Symbol, tuple[int, ...]], ...]
    label: str = ""

    def statement_latex(self) -> str:
        """The sign of the derivative."""
        name = sp.latex(self.symbol)
        return rf"\frac{{\partial}}{{\partial {name}}}\; {sp.latex(sp.factor(self.expression))} > 0"


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
    expression, symbol = statement.expression, statement.symbol
    if increases(expression, symbol):
        slope = sp.factor(sp.diff(expression, symbol))
        latex = rf"\frac{{\partial}}{{\partial {sp.latex(symbol)}}} = {sp.latex(slope)}"
        reason = "a quotient of polynomials with positive coefficients"
        step = {"title": f"{statement.what} increases with {symbol}", "latex": latex, "reason": reason}
        finding = Finding([Evidence("derivation", "exact-symbolic", True, f"slope {slope}", settles=True)])
        finding.steps.append({**step, "grade": "exact-symbolic", "passed": True})
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
            fixed = ", ".join(f"{s} = {first[s]}" for s in rest)
            change = f"from {statement.symbol} = {first[statement.symbol]} to {second[statement.symbol]}"
            return f"{fixed}: {change} the {statement.what} goes from {before} to {after}"
    return None


ENGINES[Counted] = counted
ENGINES[Grows] = grows
