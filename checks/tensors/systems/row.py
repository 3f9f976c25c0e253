"""An attention of a paper as one declared row, and the comparisons that follow from it.

A row says what its heads are, how they are prepared, which formulas the paper prints for it, which
expansions the dualiser derives, and how torch's own layers do the same; for each what a wrong version is. All
sides carry proved error bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import Climbing
from checks.tensors.core.bounded import Bounded
from checks.tensors.core.inputs import sampled_rows
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers
from checks.tensors.systems.cases import in_bfloat16
from checks.tensors.systems.formulas import Formula, agree, engines
from checks.tensors.systems.nguyen2023 import Head
from derivations.calculus.index import Index
from derivations.calculus.term import Term
from derivations.theories.svr.regression import d, i

MASKED = 32  # queries at which torch's attention with a mask over all keys is tried

Heads: TypeAlias = Sequence[Head]
Tables: TypeAlias = tuple[dict[str, Any], ...]
Kept: TypeAlias = tuple[int, str] | None


class Case(NamedTuple):
    """What a row is compared on: a number of tokens, the assumptions of its theory, the run's options."""

    n: int
    assumptions: Any
    options: Options


@dataclass(frozen=True)
class Line:
    """A formula of a row: ``term`` at its free indices ``at``, a table of values for each head.

    ``own``: symbols that belong to the query. ``wrong``: another term, or other tables, that must not give
    the system's numbers; with ``mutate`` neither may wrong versions of the term.
    """

    what: str
    term: Term
    tables: Tables
    own: tuple[str, ...] = ()
    wrong: Mapping[str, Term | Tables] = field(default_factory=dict)
    mutate: bool = True
    at: tuple[Index, ...] = (i, d)

    def evidence(self, system: Bounded, case: Case) -> Evidence:
        """The formula against the system at sampled queries."""
        wrong = {
            name: Formula(other, self.at, self.tables, self.own)
            if isinstance(other, Term)
            else Formula(self.term, self.at, other, self.own)
            for name, other in self.wrong.items()
        }
        formula = Formula(self.term, self.at, self.tables, self.own)
        return agree(self.what, formula, system, case.n, case.options, wrong, self.mutate)


Wrong: TypeAlias = Heads | Callable[[torch.Tensor], Bounded]


def one_head(case: Case, outs: Sequence[Bounded], rows: torch.Tensor | None) -> Bounded:
    """What a row with one head does with it: nothing."""
    return outs[0]


@dataclass(frozen=True)
class Row:
    """One attention. ``prepared`` gives its heads, ``finish`` takes what they attend to (at the queries
    ``rows``, all where None) and gives the output; ``kept`` says how many keys a query keeps, and which.

    ``by_torch`` gives the same heads by torch's layers, which ``words`` name; ``wrong`` others, by the name
    of what is wrong with them, or a function of the queries that gives a wrong output. ``kernel`` is "linear"
    for elu + 1, which torch does not have; ``scale`` that of torch's scores where it is not 1/sqrt(d).
    """

    prepared: Callable[[Case], Heads]
    printed: Callable[[Case], Iterable[Line]] = lambda case: ()
    derived: Callable[[Case], Iterable[Line]] = lambda case: ()
    by_torch: Callable[[Case], Heads] | None = None
    wrong: Callable[[Case], Mapping[str, Wrong]] = lambda case: {}
    words: str = "scaled_dot_product_attention"
    finish: Callable[[Case, Sequence[Bounded], torch.Tensor | None], Bounded] = one_head
    kernel: str = "softmax"
    kept: Callable[[Case], Kept] = lambda case: None
    scale: float | None = None

    def leg(self, *columns: str, longest: int | None = None, why: str = "", linear: bool = False) -> Climbing:
        """The comparisons named, of "printed", "derived" and "torch", as a leg; see `Climbing` for the rest.

        Raises ValueError for an unknown comparison.
        """
        return replace(compared((self,), *columns), linear=linear, longest=longest, why=why)

    def evidence(self, column: str, case: Case) -> Iterator[Evidence]:
        """What one comparison finds."""
        if column == "torch":
            yield self._against_torch(case)
        else:
            for line in self.printed(case) if column == "printed" else self.derived(case):
                yield line.evidence(output(self, case), case)

    def _against_torch(self, case: Case) -> Evidence:
        assert self.by_torch is not None
        ours, rows = output(self, case), None
        if self.kept(case):  # by a mask over all keys, in float64 whatever is asked for
            case = case._replace(options=replace(case.options, dtype="float64"))
            rows = sampled_rows(case.n, MASKED, case.options.seed).to(ours.value.device)
            ours = output(self, case)[rows]
        theirs, backend = self.attended(case, self.by_torch(case), rows)

        def at(other: Wrong) -> Callable[[torch.Tensor], Bounded]:
            if callable(other):
                return lambda own: other(own if rows is None else rows[own])
            return lambda own: self.attended(case, other, own if rows is None else rows[own])[0]

        wrong = {name: at(other) for name, other in self.wrong(case).items()}
        return engines(self.words, ours, theirs, backend, case.n, case.options, wrong)

    def attended(
        self, case: Case, heads: Heads, rows: torch.Tensor | None = None, kept: Kept = None
    ) -> tuple[Bounded, str]:
        """The output with these heads by torch's attention, and its backend. ``kept``: not the row's own."""
        kept = kept or self.kept(case)
        if kept and rows is not None:
            outs = [torch_layers.masked_rows(h, rows, min(kept[0], len(h.k)), kept[1]) for h in heads]
            return self.finish(case, outs, rows), "math"
        found = [
            systems.fused_attend(h, rows=rows, scale=self.scale, dtype=case.options.dtype) for h in heads
        ]
        return self.finish(case, [out for out, _ in found], rows), found[0][1]


def compared(rows: Sequence[Row], *columns: str) -> Climbing:
    """A leg that compares several rows, one after the other. Raises ValueError for an unknown comparison."""
    if unknown := set(columns) - {"printed", "derived", "torch"}:
        raise ValueError(f"a row is not compared with {', '.join(sorted(unknown))}")

    def check(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
        for row in rows:
            for column in columns:
                yield from row.evidence(column, Case(n, assumptions, options))

    return Climbing(check, refuses=in_bfloat16)


@lru_cache(maxsize=4)
def output(row: Row, case: Case) -> Bounded:
    """A row's output at all queries by the streamed engine."""
    kept, pattern = row.kept(case) or (None, "strided")
    outs = [
        systems.attend(
            h, kernel=row.kernel, kept=kept and min(kept, len(h.k)), pattern=pattern, dtype=case.options.dtype
        )
        for h in row.prepared(case)
    ]
    return row.finish(case, outs, None)
