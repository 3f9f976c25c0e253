"""Recurrence: a closed form of a quantity that base values and a recurrence determine; settled by
induction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import sympy as sp

from checks.engine.finding import Finding
from checks.engine.judge import ENGINES, attempt
from checks.evidence import Evidence
from checks.statement import Kind, Malformed

QUANTITY = sp.Function("f")
QUANTITY.__module__ = __name__  # SymPy says None, of which `help` makes nothing
"""The quantity in the recurrence, as a function of the symbols."""
_BEYOND = 2
_DEPTH = 40


@dataclass(frozen=True)
class Base:
    """The value of the quantity where one symbol has its first value."""

    words: str
    symbol: sp.Symbol
    first: int
    value: sp.Expr


@dataclass(frozen=True)
class Recurrence(Kind):
    """f(symbols) = closed for all whole values of the symbols from their first ones on.

    f is what ``base`` and ``rule`` determine: f(symbols) = rule, an expression in ``QUANTITY`` at smaller
    values; or with ``slope`` = (z, start): ∂f/∂z = rule, and f = start at z = 0. ``counted(*values)`` is the
    same quantity by brute force, compared at all ``cases`` and beyond them with ``at`` put for further
    symbols.
    """

    closed: sp.Expr
    symbols: tuple[sp.Symbol, ...]
    base: tuple[Base, ...]
    rule: sp.Expr
    because: str
    counted: Callable[..., Any]
    cases: tuple[tuple[int, ...], ...]
    slope: tuple[sp.Symbol, sp.Expr] | None = None
    at: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The closed form, what determines the quantity, and the whole numbers that are meant."""
        own = sp.latex(QUANTITY(*self.symbols))
        first = (QUANTITY(*self.symbols).subs(b.symbol, b.first) for b in self.base)
        lines = [f"{sp.latex(f)} = {sp.latex(b.value)}" for f, b in zip(first, self.base, strict=True)]
        left = own
        if self.slope is not None:
            z = sp.latex(self.slope[0])
            left = rf"\frac{{\partial}}{{\partial {z}}} {own}"
            lines.append(rf"{own}\big|_{{{z} = 0}} = {sp.latex(self.slope[1])}")
        lines.append(rf"{left} = {sp.latex(self.rule)}\ ({_beyond(self)})")
        closed = rf"{own} = {sp.latex(self.closed)}"
        for b in self.base:
            lines.append(rf"{sp.latex(b.symbol)} \in \{{{b.first}, {b.first + 1}, \dots\}}")
        every = {s for e in (self.closed, self.rule, *(b.value for b in self.base)) for s in e.free_symbols}
        every -= {b.symbol for b in self.base}
        lines += [rf"{sp.latex(x)} {_kept(x)}" for x in sorted(every, key=str) if _kept(x)]
        where = r",\ ".join(lines)
        return rf"{closed} \quad\text{{where}}\quad {where}"


def _kept(symbol: sp.Symbol) -> str:
    """What is promised of a symbol that the recurrence does not run through."""
    if symbol.is_integer and symbol.is_nonnegative:
        least = int(bool(symbol.is_positive))
        return rf"\in \{{{least}, {least + 1}, \dots\}}"
    known = ((">", "is_positive"), (r"\ge", "is_nonnegative"), (r"\ne", "is_nonzero"))
    sign = next((f"{shown} 0" for shown, asked in known if getattr(symbol, asked)), "")
    number = r"\mathbb{Z}" if symbol.is_integer else r"\mathbb{Q}" if symbol.is_rational else ""
    return rf"\in {number}" + rf",\ {sp.latex(symbol)} {sign}" * bool(sign) if number else sign


def _beyond(s: Recurrence) -> str:
    """Where the rule speaks: behind the first values."""
    return r",\ ".join(rf"{sp.latex(b.symbol)} \ge {b.first + 1}" for b in s.base)


def recurrence(statement: Recurrence, seed: int, with_mutants: bool) -> Finding:
    """Base values and recurrence symbolically, then the recurrence run, and the count by brute force."""
    s, finding = statement, Finding()
    _check(s)
    open_steps = []
    for (words, expression), latex in zip(obligations(s, s.closed), _equations(s), strict=True):
        zero = _vanishes(expression)
        open_steps += [] if zero else [words]
        finding.steps.append(attempt(words, latex, "both sides simplified by SymPy", zero))
    proved = not open_steps
    finding.steps.insert(0, attempt("statement", s.statement_latex(), "by induction", proved))
    wrong = _first_wrong(s, s.closed)
    detail = "base values and recurrence hold" if proved else f"not shown: {'; '.join(open_steps)}"
    proof = Evidence("derivation", "exact-symbolic", True if proved else None, detail, settles=True)
    finding.evidence.append(proof)
    detail = f"{len(_everywhere(s))} cases counted by brute force, and by the recurrence itself"
    finding.evidence.append(Evidence("exact", "exact-rational", wrong is None, detail))
    finding.counterexample = wrong
    if with_mutants and wrong is None:
        for what, closed in _mutants(s):
            finding.mutants.tried += 1
            if _first_wrong(s, closed) is not None and not all(
                _vanishes(e) for _, e in obligations(s, closed)
            ):
                finding.mutants.killed += 1
            else:
                finding.mutants.survivors.append(what)
    return finding


def _check(s: Recurrence) -> None:
    if s.slope is not None and not isinstance(s.slope[1], sp.Expr):
        raise Malformed("slope=(z, start) has formulas of SymPy: sp.Integer(0), not 0")
    if not s.base or not s.cases:
        raise Malformed("an induction needs a first value, and cases to count")
    if any(len(case) != len(s.symbols) for case in s.cases):
        own = ", ".join(map(str, s.symbols))
        raise Malformed(f"each case has a value for each symbol ({own}), as counted(...) takes them")
    known = {*s.symbols, *(x for x, _ in s.at)}
    if QUANTITY.name in map(sp.latex, known):
        raise Malformed(f"{QUANTITY.name} is the quantity, and a symbol")
    if any(x.is_even is not None or x.is_odd is not None or x.is_prime is not None for x in known):
        raise Malformed("a recurrence runs through all whole numbers")
    if not s.rule.has(QUANTITY) or s.closed.has(QUANTITY):
        raise Malformed("a recurrence says how the quantity follows from smaller values of itself")
    if any(
        b.first < 0 or b.symbol not in s.symbols or (b.first == 0 and b.symbol.is_positive) for b in s.base
    ):
        raise Malformed("the first value of a symbol is 0 or more, and one that the symbol takes")
    _check_first_values(s)
    based = {b.symbol for b in s.base}
    for call in s.rule.atoms(sp.core.function.AppliedUndef):
        for symbol, at in zip(s.symbols, call.args, strict=True):
            if at != symbol and not (at == symbol - 1 and symbol in based):
                raise Malformed(
                    "the rule goes back by one in symbols that have a first value, and in no other way"
                )
        if call.args == s.symbols:  # where what multiplies it is 1, the rule would leave the quantity open
            raise Malformed("the rule gives the quantity by itself, not by smaller values of it")
    closed, rule = _from(s, s.closed, 0), _from(s, s.rule, 1)
    for expression in (closed, rule):
        free_form = expression.replace(QUANTITY, lambda *_: sp.Dummy())
        if not all(map(_allowed, sp.preorder_traversal(free_form))):
            raise Malformed(
                "sums, products, whole powers, 2^t and the like: nothing else is shown to be defined"
            )
    for expression in (closed, rule, *(b.value for b in s.base), *(s.slope or ())[1:]):
        for bottom in denominators(expression):
            if not (bottom.is_positive or sp.factor(bottom).is_nonzero):
                raise Malformed(
                    f"{sp.sstr(bottom)} is not shown to be nonzero: the recurrence may break off; multiplied "
                    "out, or with a symbol that is positive, nothing need be shown"
                )
    if stray := (s.closed.free_symbols | s.rule.free_symbols) - known:
        names = ", ".join(sorted(map(str, stray)))
        raise Malformed(
            f"nothing explains {names}; at=((symbol, number), ...) gives values to further symbols"
        )


def _check_first_values(s: Recurrence) -> None:
    """Raise Malformed where no quantity has them all: of none, any closed form would be refuted."""
    if len({b.symbol for b in s.base}) < len(s.base):
        raise Malformed("a symbol has one first value")
    given = [(b.symbol, b.first, b.value) for b in s.base]
    given += [] if s.slope is None else [(s.slope[0], 0, s.slope[1])]
    for (one, first, value), (other, start, another) in combinations(given, 2):
        here = {one: first, other: start}
        if not _vanishes(value.subs(here) - another.subs(here)):
            raise Malformed(f"{value} and {another} do not agree where {one} = {first} and {other} = {start}")


def _from(s: Recurrence, expression: sp.Expr, later: int) -> sp.Expr:
    """An expression where each symbol with a first value is so much later than it, or any more: what is
    defined there.
    """
    more = {b.symbol: b.first + later + sp.Dummy(integer=True, nonnegative=True) for b in s.base}
    return expression.subs(more, simultaneous=True)


def denominators(expression: sp.Expr) -> Iterator[sp.Expr]:
    """What an expression divides by as it is written, and when it is put together."""
    for node in sp.preorder_traversal(expression):
        if isinstance(node, sp.Pow) and not node.exp.is_nonnegative and not node.base.is_number:
            yield node.base
    yield sp.fraction(sp.together(expression))[1]


def _allowed(node: sp.Basic) -> bool:
    if isinstance(node, sp.Pow):
        whole = node.exp.is_Integer or (node.exp.is_integer and node.exp.is_nonnegative)
        return bool(whole or (node.base.is_positive and node.exp.is_real))
    if isinstance(node, sp.exp):
        return True
    if isinstance(node, sp.gamma):
        return bool(node.args[0].is_positive)
    if isinstance(node, sp.factorial):
        return bool(node.args[0].is_nonnegative)
    return node.is_Symbol or node.is_Rational or isinstance(node, (sp.Add, sp.Mul))


def _put(expression: sp.Expr, s: Recurrence, closed: sp.Expr) -> sp.Expr:
    """An expression in the quantity with a closed form put for it."""
    return expression.replace(
        QUANTITY, lambda *args: closed.subs(dict(zip(s.symbols, args, strict=True)), simultaneous=True)
    )


def obligations(s: Recurrence, closed: sp.Expr) -> list[tuple[str, sp.Expr]]:
    """What must vanish for a closed form to be the quantity, derived from the recurrence."""
    found = [(b.words, closed.subs(b.symbol, b.first) - b.value) for b in s.base]
    if s.slope is None:
        return [*found, (s.because, closed - _put(s.rule, s, closed))]
    z, start = s.slope
    found.append((f"the value at {z} = 0", closed.subs(z, 0) - start))
    return [*found, (s.because, sp.diff(closed, z) - _put(s.rule, s, closed))]


def _equations(s: Recurrence) -> list[str]:
    """The obligations of the closed form as equations."""
    closed = sp.latex(s.closed)
    found = [
        rf"\left.{closed}\right|_{{{sp.latex(b.symbol)} = {b.first}}} = {sp.latex(b.value)}" for b in s.base
    ]
    left = closed
    if s.slope is not None:
        z, start = sp.latex(s.slope[0]), sp.latex(s.slope[1])
        found.append(rf"\left.{closed}\right|_{{{z} = 0}} = {start}")
        left = rf"\frac{{\partial}}{{\partial {z}}} {closed}"
    return [*found, rf"{left} = {sp.latex(_put(s.rule, s, s.closed))}\quad ({_beyond(s)})"]


def _vanishes(expression: sp.Expr) -> bool:
    return sp.simplify(sp.gammasimp(sp.expand_func(expression))) == 0 or sp.simplify(expression) == 0


def determined(s: Recurrence, case: tuple[int, ...]) -> sp.Expr:
    """The quantity at a case as base values and recurrence determine it. Raises Malformed where they do
    not.
    """
    known: dict[tuple[int, ...], sp.Expr] = {}

    def value(values: tuple[Any, ...], depth: int) -> sp.Expr:
        if values in known:
            return known[values]
        point = dict(zip(s.symbols, values, strict=True))
        for b in s.base:
            if point[b.symbol] == b.first:
                return b.value.subs(point)
            if point[b.symbol] < b.first:
                raise Malformed("the recurrence asks for a value before the first one")
        if depth > _DEPTH:
            raise Malformed("the recurrence does not come to an end at the first values")
        found = s.rule.subs(point, simultaneous=True)
        found = found.replace(QUANTITY, lambda *args: value(tuple(args), depth + 1))
        if s.slope is not None:
            z, start = s.slope
            found = start.subs(point) + sp.integrate(found, (z, 0, z))
        known[values] = sp.expand(found)
        return known[values]

    return value(tuple(map(sp.Integer, case)), 0)


def _everywhere(s: Recurrence) -> list[tuple[int, ...]]:
    """The cases, and some beyond them in each symbol: a form that fits the listed cases only must fail."""
    least = [min(c[n] for c in s.cases) for n in range(len(s.symbols))]
    more = []
    for n in range(len(s.symbols)):
        last = max(c[n] for c in s.cases)
        for others in ([x + 1 for x in least], least):
            more += [(*others[:n], last + k, *others[n + 1 :]) for k in range(1, _BEYOND + 1)]
    return list(dict.fromkeys([*s.cases, *more]))


def _first_wrong(s: Recurrence, closed: sp.Expr) -> str | None:
    for case in _everywhere(s):
        point = dict(zip(s.symbols, case, strict=True))
        by_form = closed.subs(point).subs(dict(s.at))
        counts = {
            "counted": sp.sympify(s.counted(*case)),
            "by the recurrence": determined(s, case).subs(point).subs(dict(s.at)),
        }
        for words, value in counts.items():
            if sp.simplify(sp.expand(by_form - value)) != 0:
                at = ", ".join(f"{symbol} = {n}" for symbol, n in point.items())
                return f"{at}: closed form {by_form}, {words} {value}"
    return None


def _mutants(s: Recurrence) -> list[tuple[str, sp.Expr]]:
    """Wrong closed forms: scaled, shifted, and right on the listed cases of the first symbol only."""
    closed, first = s.closed, s.symbols[0]
    found = [("doubled", 2 * closed), ("plus one", closed + 1), ("negated", -closed)]
    for symbol in s.symbols:
        found += [
            (f"{symbol} shifted up", closed.subs(symbol, symbol + 1)),
            (f"{symbol} shifted down", closed.subs(symbol, symbol - 1)),
        ]
    listed = sorted({c[0] for c in s.cases})
    return [*found, ("right on the listed cases only", closed + sp.prod([first - n for n in listed]))]


ENGINES[Recurrence] = recurrence
