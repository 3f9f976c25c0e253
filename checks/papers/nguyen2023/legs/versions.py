"""The linear and sparse versions of Attention-BN, -SH and -BN+SH, and sparse attention itself, as rows:
formulas, derived expansions and torch's masked attention against the systems of
`checks.tensors.systems.nguyen2023` (torch has no linear attention).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from checks.papers.nguyen2023 import linear_formulas as linear
from checks.papers.nguyen2023 import scaled_heads_formulas as scaled_heads
from checks.papers.nguyen2023 import sparse_formulas as sparse
from checks.papers.nguyen2023.legs.attentions import bn_table, raw
from checks.papers.nguyen2023.legs.heads import (
    normalised_heads,
    papers,
    pooled_heads,
    projected_and_added,
    sh_tables,
)
from checks.tensors.core.bounded import Bounded
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.cases import BN_EPS, choices, constant, heads_of_x, projections
from checks.tensors.systems.formulas import given
from checks.tensors.systems.nguyen2023 import kept_keys
from checks.tensors.systems.row import Attention, Case, Heads, Line, Tables, Wrong, compared
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term, exp, sum_over
from derivations.theories.svr.regression import SvrAssumptions

PAPER = SvrAssumptions(bias="off")

# ---------------------------------------------------------------- linear versions


def _linear_row(
    name: str,
    part: int,
    prepared: Callable[[Case], Heads],
    tables: Callable[[Case], Tables],
    own: tuple[str, ...],
    wrong: Callable[[Tables], dict[str, Term | Tables]],
    **more: Any,
) -> Attention:
    """A linear version: the formula of the corrected statement and the expansion of its program."""

    def line(case: Case, derived: bool) -> Iterable[Line]:
        statement, values = linear.corrected_versions().parts[part], tables(papers(case))
        if derived:
            yield Line(f"{name}, derived", statement.lhs, values, own, wrong(values), mutate=False)
        else:
            yield Line(name, statement.rhs, values, own)

    return Attention(
        prepared=lambda case: prepared(papers(case)),
        printed=partial(line, derived=False),
        derived=partial(line, derived=True),
        kernel="linear",
        **more,
    )


def _bn_values(case: Case) -> Tables:
    names = bn_table(case)
    return ({**names, "x": names["Q"], "k": names["K"], "v": names["V"]},)


def _sh_values(case: Case) -> Tables:
    heads = pooled_heads(case)
    weights = projections(case.options, len(heads))
    return tuple(heads_of_x(h, weights[s]) for s, h in enumerate(heads))


LINEAR_BN = _linear_row(
    "Linear Attention-BN",
    0,
    lambda case: [systems.normalised(raw(case), BN_EPS)],
    _bn_values,
    ("x",),
    lambda tables: {"not normalised": linear.katharopoulos().rhs},
)
LINEAR_SH = _linear_row(
    "Linear Attention-SH",
    1,
    pooled_heads,
    _sh_values,
    ("x^s",),
    lambda tables: {"one head alone": tables[:1]},
    finish=projected_and_added,
)
LINEAR_BN_SH = _linear_row(
    "Linear Attention-BN+SH",
    2,
    normalised_heads,
    lambda case: sh_tables(case, scaled_heads.STATISTICS_S),
    (),
    lambda tables: {"softmax": scaled_heads.BN_SH},
    finish=projected_and_added,
)
linear_versions = compared((LINEAR_BN, LINEAR_SH, LINEAR_BN_SH), "printed", "derived")


# ---------------------------------------------------------------- a subset of the keys


def substituted(term: Term, tensor: Tensor, value: Term) -> Term:
    """The term with a symbol replaced by what a definition says."""
    if term.data == tensor:
        return value
    return replace(term, args=tuple(substituted(a, tensor, value) for a in term.args))


def _gather(x: Any, n: int, kept: int, pattern: str, shift: int = 0) -> Callable[[Any], Any]:
    """The kept keys or values of each query, (len(rows), kept, d); ``shift``: those of another query."""
    return lambda rows: x[kept_keys((rows + shift) % n, len(x), kept, pattern, n)]


def _member(n: int, keys: int, kept: int, pattern: str) -> Callable[[Any], Any]:
    """Indicators of the kept keys, (len(rows), keys)."""

    def rows_of(rows: Any) -> Any:
        out = torch.zeros(len(rows), keys, dtype=torch.float64, device=rows.device)
        return Bounded(out.scatter_(1, kept_keys(rows, keys, kept, pattern, n), 1.0))

    return rows_of


def kept_of(case: Case) -> tuple[int, str]:
    """How many keys the assumptions let a query keep, and which."""
    chosen = choices(case.assumptions, case.n)
    return min(chosen.kept, case.n), chosen.pattern


def _masked(case: Case) -> Iterable[Line]:
    own, (kept, pattern) = raw(case), kept_of(case)
    mask, (normaliser, _) = sparse.mask(), sparse.mask().given
    names = {"x": own.q, "1_M(x)": _member(case.n, case.n, kept, pattern), "k": own.k, "v": own.v}
    everything = sum_over(sparse.jp, exp(sparse.score(sparse.jp)))
    other = substituted(mask.lhs, normaliser.tensor, everything)
    few = kept < case.n  # with every key kept a mutant that forgets the mask says the same
    yield Line(
        "masked and renormalised",
        substituted(mask.lhs, normaliser.tensor, normaliser.value),
        (names,),
        ("x", "1_M(x)"),
        {"the h of the text, over all keys": other} if few else {},
        mutate=few,
    )


def _fit_to_the_subset(case: Case) -> Iterable[Line]:
    own, at = raw(case), (case.n, *kept_of(case))
    names = {"x": own.q, "k_m": _gather(own.k, *at), "v": _gather(own.v, *at)}
    shifted = {**names, "k_m": _gather(own.k, *at, shift=1)}
    term = sparse.corrected(PAPER).parts[2].lhs
    wrong = {"the next query's keys": (shifted,)}
    yield Line("derived expansion", term, (names,), ("x", "k_m", "v"), wrong, mutate=False)


def _wrong_masks(case: Case) -> dict[str, Wrong]:
    kept, pattern = kept_of(case)
    other = {"all keys": case.n} if kept < case.n else {}
    if kept > 1:
        other["half as many keys"] = kept // 2

    def masked(many: int, rows: torch.Tensor) -> Bounded:
        return layers.masked_rows(raw(case), rows, many, pattern)

    return {name: partial(masked, many) for name, many in other.items()}


SPARSE = Attention(
    prepared=lambda case: [raw(case)],
    printed=_masked,
    derived=_fit_to_the_subset,
    by_torch=lambda case: [raw(case)],
    wrong=_wrong_masks,
    words="scaled_dot_product_attention with a mask",
    kept=kept_of,
)
sparse_definition, sparse_kernel = SPARSE.leg("printed", "derived"), SPARSE.leg("torch")


# ---------------------------------------------------------------- sparse versions


def _sparse_row(name: str, scales: str | None, normalise: bool) -> Attention:
    """A sparse version of one unscaled head (``scales`` "1") or of those that the assumptions name."""

    def chosen(case: Case) -> Case:
        return case._replace(assumptions=replace(case.assumptions, scales=scales)) if scales else case

    def prepared(case: Case) -> Heads:
        return (normalised_heads if normalise else pooled_heads)(chosen(case))

    def by_torch(case: Case, scaled: bool) -> Heads:
        return [layers.normalised(h, BN_EPS) if scaled else h for h in pooled_heads(chosen(case))]

    def lines(case: Case, derived: bool) -> Iterable[Line]:
        statement = sparse.version(PAPER, normalise=normalise)
        what, term = (
            (f"sparse Attention-{name}, derived", statement.lhs)
            if derived
            else (f"sparse Attention-{name}", statement.rhs)
        )
        other = sparse.version(PAPER, normalise=not normalise).rhs
        wrong = {"normalised or not": other} if derived else {}
        yield Line(what, term, _kept_tables(chosen(case)), ("x^s", "k_m^s", "v_m^s"), wrong, not derived)

    def wrong(case: Case) -> dict[str, Wrong]:
        heads, (kept, pattern) = by_torch(case, normalise), kept_of(case)
        found: dict[str, Wrong] = {"normalised or not": by_torch(case, not normalise)}
        if any(kept < len(h.k) for h in heads):
            found["all keys"] = lambda rows: row.attended(case, heads, rows, (case.n, pattern))[0]
        return found

    row = Attention(
        prepared=prepared,
        printed=partial(lines, derived=False),
        derived=partial(lines, derived=True),
        by_torch=partial(by_torch, scaled=normalise),
        wrong=wrong,
        words=f"sparse Attention-{name}: scaled_dot_product_attention with a mask",
        finish=projected_and_added,
        kept=kept_of,
    )
    return row


def _kept_tables(case: Case) -> Tables:
    """A table for each head: raw keys with their statistics, and those that a query keeps."""
    heads, (most, pattern) = pooled_heads(case), kept_of(case)
    weights = projections(case.options, len(heads))
    tables = []
    for s, h in enumerate(heads):
        kept = min(most, len(h.k))
        keys, values = (_gather(x[:, None], case.n, kept, pattern) for x in (h.k, h.v))
        known = {"k^s": h.k[None], "eps": constant(BN_EPS, case.options)}
        tables.append(
            {
                **given(known, scaled_heads.STATISTICS_S),
                "W_O": Bounded(weights[s])[None],
                "x^s": h.q[:, None],
                "k_m^s": lambda rows, f=keys: f(rows).permute(0, 2, 1, 3),
                "v_m^s": lambda rows, f=values: f(rows).permute(0, 2, 1, 3),
            }
        )
    return tuple(tables)


VERSIONS = (_sparse_row("BN", "1", True), _sparse_row("SH", None, False), _sparse_row("BN+SH", None, True))
sparse_versions = compared(VERSIONS, "printed", "derived")
sparse_versions_kernel = compared(VERSIONS, "torch")
