"""Declared formulas and torch's own engine against a system: equal within proved bounds, wrong versions
outside them.

A formula is an index expression that was declared or derived; `checks.tensors.core.formula` evaluates it at
sampled queries on tensors that carry error bounds (`checks.tensors.core.bounded`). Its mutants and other
wrong formulas, evaluated as plain numbers, must fall outside the bound at some of these queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from checks.claim import Options
from checks.engine.mutants import mutants
from checks.evidence import Evidence
from checks.tensors.core.agreement import Agreement, Comparison, largest
from checks.tensors.core.bounds import SAFETY
from checks.tensors.core.formula import evaluate
from checks.tensors.core.inputs import sampled_rows
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term

SAMPLES, MUTANTS = 12, 12  # queries at which a formula is evaluated, and wrong versions of it
QUERIES = 64  # at which wrong systems are
ALL_PAIRS = 1024  # tokens up to which a wrong formula that needs every pair of them is evaluated


@dataclass(frozen=True)
class Formula:
    """A term with the symbols that it names: one table of values for each head, whose results are added.

    ``at``: its free indices, the query first unless ``rows`` is False. ``own``: symbols that belong to the
    query (the vector x of an expansion), with the token as leading axis; a function of the tokens where the
    whole would be too large, and then all that depends on the query must be among them.
    """

    term: Term
    at: tuple[Index, ...]
    tables: tuple[dict[str, Any], ...]
    own: tuple[str, ...] = ()
    rows: bool = True

    def entry(self, wrong: Term | None = None) -> ix.Expr:
        """The term, or a mutant of it, at its free indices."""
        term = wrong or self.term
        return term.entry(*self.at[len(self.at) - len(term.shape()) :])

    def at_rows(self, rows: Any, wrong: Term | None = None, plain: bool = False) -> Any:
        """Its values (len(rows), …), with radii unless ``plain``."""
        expr, total = self.entry(wrong), None
        lazy = any(callable(self.tables[0][name]) for name in self.own)
        query = Index("query", "queries") if lazy else self.at[0]
        for tensor in [t for t in ix.tensors(expr) if t.name in self.own]:
            standing = Tensor(f"{tensor.name} of the query", (query.dim, *tensor.dims))
            expr = ix.define(expr, tensor, lambda *at, s=standing: s[(query, *at)])
        for table in self.tables:
            values = {f"{n} of the query" if n in self.own else n: x for n, x in table.items()}
            values = {
                n: x(rows) if callable(x) else x[rows] if lazy and "query" in n else x
                for n, x in values.items()
            }
            if plain:
                values = {n: x.value for n, x in values.items()}
            at = (query, *self.at[1:]) if self.rows else self.at
            out = evaluate(expr, values, at, {query: rows} if self.rows and not lazy else None)
            total = out if total is None else total + out
        return total


def given(table: dict[str, Any], rules: Iterable[Any]) -> dict[str, Any]:
    """The table with the symbols that declared definitions add."""
    table = dict(table)
    for rule in rules:
        table[rule.tensor.name] = evaluate(rule.value.entry(), table, rule.at)
    return table


def agree(
    what: str,
    formula: Formula,
    found: Any,
    n: int,
    options: Options,
    wrong: Mapping[str, Formula] | None = None,
    mutate: bool = True,
) -> Evidence:
    """A formula against a system's result (all tokens, …): equal within both bounds, and no wrong version is.

    ``wrong`` are other formulas to reject besides the mutants.
    """
    device = found.value.device
    rows = (
        sampled_rows(n, SAMPLES, options.seed).to(device) if formula.rows else torch.arange(1, device=device)
    )
    parts = rows.split(max(1, (1 << 23) // (n * 64))) if formula.rows else (rows,)
    allowed, error, truth = [], [], []
    for part in parts:
        value = formula.at_rows(part)
        here = found[part] if formula.rows else found
        allowed.append((value.error + here.error) * SAFETY)
        error.append((value.value - here.value).abs())
        truth.append(here.value)
    bound, exact = torch.cat(allowed), torch.cat(truth)

    def judged(name: str, term: Term | None = None, other: Formula = formula) -> Comparison:
        values = torch.cat([other.at_rows(part, term, plain=True) for part in parts])
        return largest(name, (values - exact).abs(), bound)

    worst = largest("formula", torch.cat(error), bound)
    rejected = wrong_versions(formula, judged, n) if mutate else {}
    rejected |= {name: judged(name, other=other) for name, other in (wrong or {}).items()}
    rejected["zero"] = largest("zero", exact.abs(), bound)
    return Agreement((worst,), rejected, "streamed").evidence(what, exact, n, dtype=options.dtype)


def wrong_versions(
    formula: Formula, judged: Callable[[str, Term], Comparison], n: int
) -> dict[str, Comparison]:
    """Mutants of the term, less those that are not rejected because they are provably the same."""
    own = formula.entry()
    found: dict[str, Comparison] = {}
    for what, m in mutants(formula.term, MUTANTS):
        entry = formula.entry(m)
        if _sized(entry) and (n <= ALL_PAIRS or not of_all_pairs(entry, formula.at)):
            comparison = judged(what, m)
            if comparison.ratio > 1 or not nf.equal(entry, own):
                found[what if what not in found else f"{what} ({len(found)})"] = comparison
    return found


def of_all_pairs(expr: ix.Expr, at: tuple[Index, ...]) -> bool:
    """Whether a function is taken of every pair of tokens, as where a mutant normalises over the queries.

    ``at``: the free indices, of which the query, the first, is restricted to a sample.
    """
    for node in ix.walk(expr):
        if isinstance(node, ix.Call):
            dims = [index.dim for index in ix.free_indices(node) if index != at[0]]
            if len(set(dims)) < len(dims):
                return True
    return False


def _sized(expr: ix.Expr) -> bool:
    """Whether the tensors of an expression say how long its sums are; a mutant may have lost them."""
    known = {name for t in ix.tensors(expr) for name in t.dims}
    return all(
        (not isinstance(node, ix.Sum) or node.index.dim in known)
        and (not isinstance(node, ix.Dim) or node.name in known)
        for node in ix.walk(expr)
    )


# ---------------------------------------------------------------- two engines


def engines(
    what: str,
    ours: Any,
    kernel: Any,
    backend: str,
    n: int,
    options: Options,
    wrong: Mapping[str, Callable[[torch.Tensor], Any]],
) -> Evidence:
    """Two results with bounds at all queries; wrong systems, by the second engine, must differ at some
    sampled ones.

    A wrong system takes the places of queries in ``ours`` and gives its results there.
    """
    allowed = (ours.error + kernel.error) * SAFETY
    rows = sampled_rows(len(ours), QUERIES, options.seed).to(ours.value.device)
    truth, there = ours.value[rows], allowed[rows]
    rejected = {w: largest(w, (other(rows).value - truth).abs(), there) for w, other in wrong.items()}
    rejected["zero"] = largest("zero", truth.abs(), there)
    found = Agreement((largest(what, (ours.value - kernel.value).abs(), allowed),), rejected, backend)
    return found.evidence(what, truth, n, dtype=options.dtype)
