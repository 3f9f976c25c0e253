"""Stacked: two block vectors (or matrices) are equal, part by part; a mutant must be rejected by some
part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar

from checks.engine.finding import Finding, conjunction
from checks.engine.hypotheses import apply_definitions
from checks.engine.judge import ENGINES, conformable, equal, identity, rejects
from checks.engine.mutants import mutants
from checks.evidence import Mutants
from checks.statement import Given, Identity, Kind
from derivations.calculus import index as ix
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.term import Eye, Ones, Part, Term, Zeros, as_term, replace_at, subterms

ZERO = ix.Num(Fraction(0))


@dataclass(frozen=True)
class Stacked(Kind):
    """``lhs = rhs`` for terms whose dimensions may be stacked (``derivations.calculus.term.Blocks``)."""

    prunes: ClassVar[bool] = True
    lhs: Term
    rhs: Term
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    reason: str = "both sides have the same normal form, block by block"
    label: str = ""

    def statement_latex(self) -> str:
        """Both sides as printed."""
        return f"{self.lhs.latex()} = {self.rhs.latex()}"


class Pruned(Term):
    """A term whose entries leave out products with zero blocks; it prints as its argument."""

    def shape(self) -> tuple[str, ...]:
        return self.args[0].shape()

    def entry(self, *at: Index) -> ix.Expr:
        return without_zeros(self.args[0].entry(*at))

    def latex(self) -> str:
        return self.args[0].latex()


class PrunedArguments(Pruned):
    """A term whose entries leave such products out of arguments of functions and roots alone."""

    def entry(self, *at: Index) -> ix.Expr:
        return _within_calls(self.args[0].entry(*at))


def _within_calls(expr: ix.Expr) -> ix.Expr:
    root = isinstance(expr, ix.Pow) and expr.exponent.denominator > 1
    prune = without_zeros if root or isinstance(expr, ix.Call) else _within_calls
    return ix.rebuild(expr, tuple(map(prune, ix.children(expr))))


def _choices(shape: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(product(*(summands(dim) for dim in shape)))


def stacked(statement: Stacked, seed: int, with_mutants: bool) -> Finding:
    """The identity engine on every part; mutants of the whole formula against all parts together."""
    shapes = conformable(statement.lhs, statement.rhs)
    if not shapes.passed:
        return Finding([shapes], counterexample=shapes.detail)
    found = []
    for dims in _choices(statement.lhs.shape()):
        left, right = (Pruned((Part((side,), dims),)) for side in (statement.lhs, statement.rhs))
        piece = Identity(
            left, right, given=statement.given, nonzero=statement.nonzero, reason=statement.reason
        )
        own = identity(piece, seed, False)
        found.append((f"block {', '.join(dims)}".replace("{+}", "+"), own))
    finding = conjunction(found)
    if with_mutants and finding.counterexample is None:
        finding.mutants = _mutate(statement, seed)
    return finding


def _mutate(statement: Stacked, seed: int) -> Mutants:
    """Mutants of either whole side: killed if one part is, equivalent if all parts are."""
    result = Mutants()
    for side, other in ((statement.lhs, statement.rhs), (statement.rhs, statement.lhs)):
        for what, mutant in [*mutants(side, 20), *block_mutants(side, 12)]:
            result.tried += 1
            pairs = []
            for dims in _choices(side.shape()):
                at = tuple(Index(f"e{n}#", dim) for n, dim in enumerate(dims))
                pairs.append((without_zeros(mutant.entry(*at)), without_zeros(other.entry(*at))))
            if any(rejects(*pair, statement.given, seed, nonzero=statement.nonzero) for pair in pairs):
                result.killed += 1
            elif all(equal(*(apply_definitions(e, statement.given) for e in pair)) for pair in pairs):
                result.equivalent += 1
            else:
                result.survivors.append(f"{what}: {mutant.latex()}")
    return result


def block_mutants(term: Term, limit: int) -> list[tuple[str, Term]]:
    """Mutants that block matrices ask for: a zero block filled, an identity block doubled, emptied."""
    found = []
    for path, node in subterms(term):
        if isinstance(node, Zeros):
            found.append(("zero block filled with ones", replace_at(term, path, Ones((), node.data))))
        if isinstance(node, Eye):
            found.append(("identity block doubled", replace_at(term, path, as_term(2) * node)))
            found.append(("identity block emptied", replace_at(term, path, Zeros((), node.shape()))))
    stride = max(1, -(-len(found) // limit))
    return found[::stride]


def without_zeros(expr: ix.Expr) -> ix.Expr:
    """The expression with products by a literal zero, which zero blocks bring, removed."""
    parts = tuple(without_zeros(p) for p in ix.children(expr))
    match expr:
        case ix.Mul() if ZERO in parts:
            return ZERO
        case ix.Sum() if parts[0] == ZERO:
            return ZERO
        case ix.Add():
            kept = tuple(p for p in parts if p != ZERO)
            return ix.Add(kept) if kept else ZERO
    return ix.rebuild(expr, parts)


ENGINES[Stacked] = stacked
