"""A system of a paper as one declared row, and the comparisons that follow from it.

A `Row` says what is prepared and what is checked of it. An `Attention` says what its heads are, how they are
prepared, which formulas the paper prints for it, which expansions the dualiser derives, and how torch's own
layers do the same; for each what a wrong version is. All sides carry proved error bounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import Climbing
from checks.tensors.core.agreement import Agreement, merged
from checks.tensors.core.arrays import peak_bytes
from checks.tensors.core.bounded import Bounded
from checks.tensors.core.inputs import Instance, make_instance, sampled_rows
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers
from checks.tensors.systems.cases import in_bfloat16
from checks.tensors.systems.formulas import Formula, agree, engines
from checks.tensors.systems.nguyen2023 import Head
from derivations.calculus.index import Index
from derivations.calculus.term import Term
from derivations.theories.svr.regression import d, i

MASKED = 32  # queries at which torch's attention with a mask over all keys is tried

T = TypeVar("T")
Heads: TypeAlias = Sequence[Head]
Tables: TypeAlias = tuple[dict[str, Any], ...]
Kept: TypeAlias = tuple[int, str] | None


class Case(NamedTuple):
    """What a row is compared on: a number of tokens, the assumptions of its theory, the run's options."""

    n: int
    assumptions: Any
    options: Options

    def instance(self) -> Instance:
        """Queries, keys and values of one head, 64 wide, as they come."""
        o = self.options
        return make_instance(self.n, dtype=o.dtype, device=o.device, seed=o.seed)


def with_failures(what: str, given: Any, found: Agreement, case: Case) -> str:
    """The words for what a check found: what is outside its bound is named."""
    failed = [c.name for c in found.comparisons if not c.passed]
    return f"{what}; outside the bound: {', '.join(failed)}" if failed else what


@dataclass(frozen=True, eq=False)
class Row(Generic[T]):
    """A system as one declaration: what is prepared for it, and by name what is checked of it: words, and
    the checks of what is prepared whose findings make one piece of evidence.

    ``says`` gives the detail of the evidence. ``on`` names the tensor of what is prepared that has the dtype
    and device of the checks, ``backend`` what computes where a check does not say; ``refuses`` as in
    `Climbing`.
    """

    prepared: Callable[[Case], T]
    checked: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    says: Callable[[str, T, Agreement, Case], str] = with_failures
    on: str = "q"
    backend: str = ""
    grade: str = "certified-float"
    refuses: Callable[[Any, Options], str] = Climbing.refuses

    @property
    def columns(self) -> Iterable[str]:
        """What the system is compared with."""
        return self.checked

    def leg(self, *columns: str, longest: int | None = None, why: str = "", linear: bool = False) -> Climbing:
        """The comparisons named, as a leg; see `Climbing` for the rest. Raises ValueError for an unknown
        one.
        """
        return replace(compared((self,), *columns), linear=linear, longest=longest, why=why)

    def evidence(self, column: str, case: Case) -> Iterator[Evidence]:
        """What one comparison finds."""
        started = time.perf_counter()
        what, *checks = self.checked[column]
        given = self.prepared(case)
        found = merged([check(given) for check in checks])
        on = attrgetter(self.on)(given)
        yield found.evidence(
            self.says(what, given, found, case),
            on,
            case.n,
            grade=self.grade,
            backend=found.backend or self.backend,
            seconds=time.perf_counter() - started,
            peak_bytes=peak_bytes(on.device),
        )


def compared(rows: Sequence[Row[Any]], *columns: str, all_up_to: int | None = None) -> Climbing:
    """A leg that compares several rows, one after the other, beyond ``all_up_to`` tokens the first alone.
    Raises ValueError for an unknown comparison.
    """
    if unknown := [name for name in columns if any(name not in row.columns for row in rows)]:
        raise ValueError(f"a row is not compared with {', '.join(sorted(unknown))}")

    def check(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
        for row in rows[: 1 if all_up_to and n > all_up_to else None]:
            for column in columns:
                yield from row.evidence(column, Case(n, assumptions, options))

    return Climbing(check, refuses=rows[0].refuses)


# ---------------------------------------------------------------- attentions


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


@dataclass(frozen=True, eq=False)
class Attention(Row[Heads]):
    """One attention. ``prepared`` gives its heads, ``finish`` takes what they attend to (at the queries
    ``rows``, all where None) and gives the output; ``kept`` says how many keys a query keeps, and which.

    ``by_torch`` gives the same heads by torch's layers, which ``words`` name; ``wrong`` others, by the name
    of what is wrong with them, or a function of the queries that gives a wrong output. ``kernel`` is "linear"
    for elu + 1, which torch does not have; ``scale`` that of torch's scores where it is not 1/sqrt(d).
    """

    printed: Callable[[Case], Iterable[Line]] = lambda case: ()
    derived: Callable[[Case], Iterable[Line]] = lambda case: ()
    by_torch: Callable[[Case], Heads] | None = None
    wrong: Callable[[Case], Mapping[str, Wrong]] = lambda case: {}
    words: str = "scaled_dot_product_attention"
    finish: Callable[[Case, Sequence[Bounded], torch.Tensor | None], Bounded] = one_head
    kernel: str = "softmax"
    kept: Callable[[Case], Kept] = lambda case: None
    scale: float | None = None
    refuses: Callable[[Any, Options], str] = in_bfloat16
    columns = ("printed", "derived", "torch")

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


@lru_cache(maxsize=4)
def output(row: Attention, case: Case) -> Bounded:
    """A row's output at all queries by the streamed engine."""
    kept, pattern = row.kept(case) or (None, "strided")
    outs = [
        systems.attend(
            h, kernel=row.kernel, kept=kept and min(kept, len(h.k)), pattern=pattern, dtype=case.options.dtype
        )
        for h in row.prepared(case)
    ]
    return row.finish(case, outs, None)
