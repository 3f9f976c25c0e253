"""Legs of the linear and sparse versions of Attention-BN, -SH and -BN+SH, and of sparse attention itself.

A claim's formula, and the expansion that the dualiser derives, are evaluated at sampled queries and compared
with the system of `checks.tensors.systems.nguyen2023`; torch's own layers and masked attention are the second
engine (torch has no linear attention). Both sides carry proved error bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.papers.nguyen2023 import linear_formulas as linear
from checks.papers.nguyen2023 import scaled_heads_formulas as scaled_heads
from checks.papers.nguyen2023 import sparse_formulas as sparse
from checks.papers.nguyen2023.legs.attentions import bn_table
from checks.papers.nguyen2023.legs.heads import pooled_heads, prepared_heads, sh_tables
from checks.tensors.core.inputs import sampled_rows
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.bounded import Bounded
from checks.tensors.systems.cases import (
    BN_EPS,
    choices,
    constant,
    heads_of_x,
    in_bfloat16,
    projections,
    raw_heads,
)
from checks.tensors.systems.formulas import Formula, agree, engines, given
from checks.tensors.systems.nguyen2023 import kept_keys
from derivations.calculus.index import Tensor
from derivations.calculus.term import Term
from derivations.theories.svr.regression import SvrAssumptions, d, i

PAPER = SvrAssumptions(bias="off")

# ---------------------------------------------------------------- linear versions


@climbing(refuses=in_bfloat16)
def linear_versions(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Linear Attention-BN, -SH and -BN+SH: formula and derived expansion against the systems."""

    bn, sh, bn_sh = linear._corrected().parts
    names = bn_table(n, options)
    names = {**names, "x": names["Q"], "k": names["K"], "v": names["V"]}
    own = systems.normalised(raw_heads(n, options)[0], BN_EPS)
    system = systems.attend(own, kernel="linear", dtype=options.dtype)
    formula = Formula(bn.rhs, (i, d), (names,), own=("x",))
    wrong = {"not normalised": replace(formula, term=linear.katharopoulos().rhs)}
    yield from _formula_and_expansion("Linear Attention-BN", formula, bn.lhs, system, n, options, wrong)

    heads = pooled_heads(n, options)
    weights = projections(options, len(heads))
    system = systems.multihead(heads, weights, kernel="linear", dtype=options.dtype)
    tables = tuple(heads_of_x(h, weights[s]) for s, h in enumerate(heads))
    formula = Formula(sh.rhs, (i, d), tables, own=("x^s",))
    wrong = {"one head alone": replace(formula, tables=tables[:1])}
    yield from _formula_and_expansion("Linear Attention-SH", formula, sh.lhs, system, n, options, wrong)

    normalised = prepared_heads(n, options, "normalised")
    system = systems.multihead(normalised, weights, kernel="linear", dtype=options.dtype)
    formula = Formula(bn_sh.rhs, (i, d), sh_tables(n, options, scaled_heads.STATISTICS_S))
    softmax = replace(formula, term=scaled_heads.BN_SH)
    yield from _formula_and_expansion(
        "Linear Attention-BN+SH", formula, bn_sh.lhs, system, n, options, {"softmax": softmax}
    )


def _formula_and_expansion(
    what: str, formula: Any, derived: Term, system: Any, n: int, options: Options, wrong: dict[str, Any]
) -> Iterable[Evidence]:

    yield agree(what, formula, system, n, options)
    yield agree(f"{what}, derived", replace(formula, term=derived), system, n, options, wrong, mutate=False)


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


@climbing(refuses=in_bfloat16)
def sparse_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Masked and renormalised softmax, and the expansion of the fit to the subset, against the
    gathering system.
    """

    own, chosen = raw_heads(n, options)[0], choices(assumptions, n)
    kept, pattern = min(chosen.kept, n), chosen.pattern
    system = systems.attend(own, kept=kept, pattern=pattern, dtype=options.dtype)
    mask, (normaliser, _) = sparse._mask(), sparse._mask().given
    names = {"x": own.q, "1_M(x)": _member(n, n, kept, pattern), "k": own.k, "v": own.v}
    term = substituted(mask.lhs, normaliser.tensor, normaliser.value)
    formula = Formula(term, (i, d), (names,), own=("x", "1_M(x)"))
    wrong = {}
    if kept < n:
        everything = sparse.sum_over(sparse.jp, sparse.exp(sparse.score(sparse.jp)))
        other = substituted(mask.lhs, normaliser.tensor, everything)
        wrong = {"the h of the text, over all keys": replace(formula, term=other)}
    # with every key kept a mutant that forgets the mask says the same
    yield agree("masked and renormalised", formula, system, n, options, wrong, mutate=kept < n)
    names = {"x": own.q, "k_m": _gather(own.k, n, kept, pattern), "v": _gather(own.v, n, kept, pattern)}
    expansion = Formula(sparse.corrected(PAPER).parts[2].lhs, (i, d), (names,), own=("x", "k_m", "v"))
    shifted = {**names, "k_m": _gather(own.k, n, kept, pattern, 1)}
    wrong = {"the next query's keys": replace(expansion, tables=(shifted,))}
    yield agree("derived expansion", expansion, system, n, options, wrong, mutate=False)


@climbing(refuses=in_bfloat16)
def sparse_kernel(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Sparse attention by torch's attention with a mask, at sampled queries; float64 at every dtype
    asked for.
    """

    own, chosen = raw_heads(n, options)[0], choices(assumptions, n)
    kept, pattern = min(chosen.kept, n), chosen.pattern
    rows = sampled_rows(n, 32, options.seed).to(own.q.value.device)
    ours = systems.attend(own, kept=kept, pattern=pattern)[rows]

    def masked(at: Any, many: int) -> Any:
        return layers.masked_rows(own, at, many, pattern)

    wrong = {"all keys": lambda at: masked(rows[at], n)} if kept < n else {}
    if kept > 1:
        wrong["half as many keys"] = lambda at: masked(rows[at], kept // 2)
    what, exact = "scaled_dot_product_attention with a mask", replace(options, dtype="float64")
    return [engines(what, ours, masked(rows, kept), "math", n, exact, wrong)]


# ---------------------------------------------------------------- sparse versions

VERSIONS = {"BN": ("normalised", "1"), "SH": ("", None), "BN+SH": ("normalised", None)}


def _version(name: str, n: int, options: Options, assumptions: Any) -> tuple[list[Any], list[Any], Any, str]:
    """Heads as they are and prepared, their projections, and the preparation; Attention-BN is one
    unscaled head.
    """

    prepare, scales = VERSIONS[name]
    own = replace(assumptions, scales=scales) if scales else assumptions
    heads = list(pooled_heads(n, options, own))
    return heads, prepared_heads(n, options, prepare, own), projections(options, len(heads)), prepare


@climbing(refuses=in_bfloat16)
def sparse_versions(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Sparse Attention-BN, -SH and -BN+SH: the derived expansion and the formula against the gathering
    systems.
    """

    chosen = choices(assumptions, n)
    for name in VERSIONS:
        raw, heads, weights, prepare = _version(name, n, options, assumptions)
        system = systems.multihead(
            heads, weights, kept=chosen.kept, pattern=chosen.pattern, dtype=options.dtype
        )
        tables = []
        for s, h in enumerate(raw):
            kept = min(chosen.kept, len(h.k))
            keys, values = (_gather(x[:, None], n, kept, chosen.pattern) for x in (h.k, h.v))
            known = {"k^s": h.k[None], "eps": constant(BN_EPS, options)}
            tables.append(
                {
                    **given(known, scaled_heads.STATISTICS_S),
                    "W_O": Bounded(weights[s])[None],
                    "x^s": h.q[:, None],
                    "k_m^s": lambda rows, f=keys: f(rows).permute(0, 2, 1, 3),
                    "v_m^s": lambda rows, f=values: f(rows).permute(0, 2, 1, 3),
                }
            )
        statement = sparse.version(PAPER, normalise=prepare == "normalised")
        formula = Formula(statement.rhs, (i, d), tuple(tables), own=("x^s", "k_m^s", "v_m^s"))
        other = sparse.version(PAPER, normalise=prepare != "normalised").rhs
        wrong = {"normalised or not": replace(formula, term=other)}
        what = f"sparse Attention-{name}"
        yield from _formula_and_expansion(what, formula, statement.lhs, system, n, options, wrong)


@climbing(refuses=in_bfloat16)
def sparse_versions_kernel(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """The sparse versions by torch's layers and masked attention, at sampled queries; float64 at every
    dtype.
    """

    chosen = choices(assumptions, n)
    for name in VERSIONS:
        raw, heads, weights, prepare = _version(name, n, options, assumptions)
        rows = sampled_rows(n, 32, options.seed).to(raw[0].q.value.device)
        ours = systems.multihead(heads, weights, kept=chosen.kept, pattern=chosen.pattern)[rows]

        def run(
            at: Any, change: Callable[[Any], Any], every: bool = False, raw: Any = raw, w: Any = weights
        ) -> Any:
            outs = []
            for h in raw:
                kept = len(h.k) if every else min(chosen.kept, len(h.k))
                outs.append(layers.masked_rows(change(h), at, kept, chosen.pattern))
            return systems.combine(outs, w)

        def scaled(h: Any, prepare: str = prepare) -> Any:
            return layers.normalised(h, BN_EPS) if prepare else h

        def other(h: Any, prepare: str = prepare) -> Any:
            return h if prepare else layers.normalised(h, BN_EPS)

        wrong = {"normalised or not": lambda at, rows=rows, run=run, f=other: run(rows[at], f)}
        if any(chosen.kept < len(h.k) for h in raw):
            wrong["all keys"] = lambda at, rows=rows, run=run, f=scaled: run(rows[at], f, True)
        what = f"sparse Attention-{name}: scaled_dot_product_attention with a mask"
        yield engines(what, ours, run(rows, scaled), "math", n, replace(options, dtype="float64"), wrong)
