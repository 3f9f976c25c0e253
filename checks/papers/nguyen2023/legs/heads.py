"""Legs of multi-head attention, scaled heads and their normalised versions: formulas against systems.

A claim's formula, and the expansion that the dualiser derives, are evaluated at sampled queries and compared
with the system of `checks.tensors.systems.nguyen2023`; torch's own layers and attention kernel are the second
engine. Both sides carry proved error bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.papers.nguyen2023 import multihead_formulas as mh
from checks.papers.nguyen2023 import scaled_heads_formulas as sh
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.bounded import Bounded
from checks.tensors.systems.cases import (
    BN_EPS,
    choices,
    constant,
    heads_of_x,
    in_bfloat16,
    one_head,
    projections,
    raw_heads,
    table,
)
from checks.tensors.systems.formulas import Formula, agree, engines, given
from derivations.theories.svr.regression import d, i

DENSE = 4096  # tokens up to which a formula that names an N x N matrix is evaluated


# ---------------------------------------------------------------- several heads


@climbing(refuses=in_bfloat16)
def multihead_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(3) as declared against the system, and the concatenation by torch's kernel and its linear layer."""

    heads, weights = raw_heads(n, options, 3), projections(options, 3)
    system = systems.multihead(heads, weights, dtype=options.dtype)
    tables = tuple(
        {
            **{name: x[None] for name, x in table(h, ("Q^s", "K^s", "V^s")).items()},
            "W_O": Bounded(weights[s])[None],
        }
        for s, h in enumerate(heads)
    )
    yield agree("(3)", Formula(mh._eq3().rhs, (i, mh.c), tables), system, n, options)
    outs = [systems.fused_attend(h, dtype=options.dtype) for h in heads]

    def layer(order: tuple[int, ...]) -> Any:
        values, errors = (
            torch.cat([getattr(outs[s][0], part) for s in order], 1) for part in ("value", "error")
        )
        both = Bounded(values, errors) @ Bounded(torch.cat(list(weights), 1)).T
        return Bounded(torch.nn.functional.linear(values, torch.cat(list(weights), 1)), both.error)

    what, wrong = (
        "concatenated heads and a linear layer",
        {"heads exchanged": lambda rows: layer((1, 0, 2))[rows]},
    )
    yield engines(what, system, layer((0, 1, 2)), outs[0][1], n, options, wrong)


@climbing(refuses=in_bfloat16)
def multihead_expansion(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """The heads' derived expansions, projected and added, against the system."""

    heads, weights = raw_heads(n, options, 3), projections(options, 3)
    tables = tuple(heads_of_x(h, weights[s]) for s, h in enumerate(heads))
    system = systems.multihead(heads, weights, dtype=options.dtype)
    formula = Formula(mh.attention_heads(), (i, d), tables, own=("x^s",))
    wrong = {"one head alone": replace(formula, tables=tables[:1])}
    yield agree("derived expansions", formula, system, n, options, wrong, mutate=False)
    at_x = mh.multihead_softmax(mh.as_term(mh.X_S)[mh.s], mh.K_VEC, mh.V_VEC)
    yield agree("softmax in each head", replace(formula, term=at_x), system, n, options)


# ---------------------------------------------------------------- scaled heads


@lru_cache(maxsize=2)
def pooled_heads(n: int, options: Options, assumptions: Any = None) -> tuple[Any, ...]:
    """Heads with one key and value for as many tokens as the scales say (not more than there are)."""

    own = choices(assumptions)
    heads = raw_heads(n, options, len(own.widths))
    return tuple(systems.pooled(h, w, own.downsampling) for h, w in zip(heads, own.widths, strict=True))


@lru_cache(maxsize=4)
def sh_system(n: int, options: Options, prepare: str = "", assumptions: Any = None) -> Any:
    """Attention-SH; with ``prepare`` "normalised" or "centred" that of (49) or (51)."""

    heads = prepared_heads(n, options, prepare, assumptions)
    return systems.multihead(heads, projections(options, len(heads)), dtype=options.dtype)


def prepared_heads(n: int, options: Options, prepare: str, assumptions: Any = None) -> list[Any]:
    """Scaled heads, "normalised" as in (49), "centred" as in (51), or ("") as they are."""

    changes = {
        "": lambda h: h,
        "normalised": lambda h: systems.normalised(h, BN_EPS),
        "centred": lambda h: systems.centred(h, choices(assumptions).beta),
    }
    return [changes[prepare](h) for h in pooled_heads(n, options, assumptions)]


def sh_tables(
    n: int, options: Options, rules: Iterable[Any] = (), assumptions: Any = None
) -> tuple[dict[str, Any], ...]:
    """A table for each head, with declared statistics."""

    own, heads = choices(assumptions), pooled_heads(n, options, assumptions)
    weights = projections(options, len(heads))
    more = {"eps": constant(BN_EPS, options), "beta": constant(own.beta, options)}
    return tuple(given(one_head(h, weights[s], **more), rules) for s, h in enumerate(heads))


@climbing(refuses=in_bfloat16)
def sh_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(25) as declared with key sets of the scales' sizes, and the derived expansions, against the system."""

    tables = sh_tables(n, options, (), assumptions)
    system = sh_system(n, options, "", assumptions)
    formula = Formula(sh.SH, (i, d), tables)
    yield agree("(25)", formula, system, n, options)
    derived = sh.derived(sh.as_term(sh.X1), sh.as_term(sh.K1)[sh.j])
    wrong = {"one head too many": replace(formula, tables=(*tables, tables[0]))}
    yield agree("derived expansions", replace(formula, term=derived), system, n, options, wrong, mutate=False)


@climbing(refuses=in_bfloat16)
def sh_kernel(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Attention-SH by torch's pooling and attention kernel; other downsamplings are rejected."""

    own = choices(assumptions)
    heads, weights = raw_heads(n, options, len(own.widths)), projections(options, len(own.widths))
    backend = ""

    def run(pool: Callable[[Any, int], Any], rows: Any = None, order: Any = slice(None)) -> Any:
        nonlocal backend
        outs = []
        for h, w in zip(heads, own.widths, strict=True):
            out, backend = systems.fused_attend(pool(h, w), rows=rows, dtype=options.dtype)
            outs.append(out)
        return systems.combine(outs, weights[order])

    def pool(how: str) -> Callable[[Any, int], Any]:
        return lambda h, w: layers.pooled(h, w, how)

    def by(how: str, rows: Any) -> Any:
        return run(pool(how), rows)

    wrong: dict[str, Callable[[Any], Any]] = {}
    if max(own.widths) > 1:
        wrong["keys not pooled"] = lambda rows: run(lambda h, w: h, rows)
        for how in {"average", "first", "largest"} - {own.downsampling}:
            wrong[f"{how} of the tokens"] = partial(by, how)
    if len(own.widths) > 1:
        turned = torch.arange(len(own.widths)).roll(1)
        wrong["projections exchanged"] = lambda rows: run(pool(own.downsampling), rows, turned)
    what, kernel = "pooling and scaled_dot_product_attention", run(pool(own.downsampling))
    return [engines(what, sh_system(n, options, "", assumptions), kernel, backend, n, options, wrong)]


@climbing(
    longest=DENSE,
    why=f"the declared pooling is a matrix of N_s by N entries, formed up to {DENSE} tokens",
    refuses=in_bfloat16,
)
def pooling_matrix(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """A head on P X with the declared matrix P, against the system, which pools after projecting."""

    tokens, width = raw_heads(n, options)[0].k, 4
    generator = torch.Generator().manual_seed(options.seed + 1)
    key, value = (
        torch.randn(m, 64, generator=generator, dtype=torch.float64).to(options.device) / 8 for m in (64, 8)
    )
    queries = raw_heads(n, options)[0].q
    own = systems.Head(queries, systems.projected(tokens, key), systems.projected(tokens, value))
    system = systems.attend(systems.pooled(own, width), dtype=options.dtype)
    pool = (
        torch.eye(n // width, dtype=torch.float64, device=options.device).repeat_interleave(width, 1) / width
    )
    names = {"P": Bounded(pool), "X": tokens, "W_K": Bounded(key), "W_V": Bounded(value), "Q": queries}
    formula = Formula(sh._pooling().parts[0].meaning, (i, d), (names,))
    return [agree("a head on pooled tokens", formula, system, n, options)]


@climbing(refuses=in_bfloat16)
def bn_sh_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(49) with the statistics (50) of each head's own keys, as declared, against the system."""

    formula = Formula(sh.BN_SH, (i, d), sh_tables(n, options, sh.STATISTICS_S))
    return [agree("(49) with (50)", formula, sh_system(n, options, "normalised"), n, options)]


@climbing(refuses=in_bfloat16)
def bn_sh_expansion(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """The expansions derived from the programs on normalised keys of each head, against the system."""

    tables = sh_tables(n, options, sh.STATISTICS_S)
    formula = Formula(sh.derived_bn().lhs, (i, d), tables)
    wrong = {
        "not normalised": replace(formula, term=sh.SH),
        "one head alone": replace(formula, tables=tables[:1]),
    }
    system = sh_system(n, options, "normalised")
    return [agree("derived expansions", formula, system, n, options, wrong, mutate=False)]


@climbing(refuses=in_bfloat16)
def bn_sh_kernel(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Attention-BN+SH by torch's layers; statistics of all tokens in place of the head's keys are
    rejected.
    """

    widths = choices().widths
    heads, weights = raw_heads(n, options, len(widths)), projections(options, len(widths))
    backend = ""

    def run(prepare: Callable[[Any, int], Any], rows: Any = None) -> Any:
        nonlocal backend
        outs = []
        for h, w in zip(heads, widths, strict=True):
            out, backend = systems.fused_attend(prepare(h, w), rows=rows, dtype=options.dtype)
            outs.append(out)
        return systems.combine(outs, weights)

    wrong = {
        "statistics before pooling": lambda rows: run(
            lambda h, w: layers.pooled(layers.normalised(h, BN_EPS), w), rows
        ),
        "not normalised": lambda rows: run(layers.pooled, rows),
    }
    kernel = run(lambda h, w: layers.normalised(layers.pooled(h, w), BN_EPS))
    what = "avg_pool1d, batch_norm and scaled_dot_product_attention"
    return [engines(what, sh_system(n, options, "normalised"), kernel, backend, n, options, wrong)]


@climbing(refuses=in_bfloat16)
def beta_sh_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(51) as declared, with one bias a key, and from each head's program, against the system; torch's
    kernel.
    """

    tables = sh_tables(n, options, (sh.MEAN_S,), assumptions)
    system, free = sh_system(n, options, "centred", assumptions), replace(assumptions, beta="free")
    formula, moved = Formula(sh.beta_sh(free), (i, d), tables), choices(assumptions).beta != 0
    wrong = {"not centred": replace(formula, term=sh.SH)} if moved else {}
    yield agree("(51)", formula, system, n, options, wrong, mutate=moved)
    bias = replace(formula, term=sh._simplified(free).parts[1].rhs)
    yield agree("one bias a key", bias, system, n, options, mutate=moved)
    derived = replace(formula, term=sh.derived_beta(free))
    yield agree("derived expansions", derived, system, n, options, wrong, mutate=False)
    heads = prepared_heads(n, options, "centred", assumptions)
    found = [systems.fused_attend(h, dtype=options.dtype) for h in heads]
    kernel = systems.combine([out for out, _ in found], weights := projections(options, len(heads)))

    def uncentred(rows: Any) -> Any:
        own = pooled_heads(n, options, assumptions)
        return systems.combine(
            [systems.fused_attend(h, rows=rows, dtype=options.dtype)[0] for h in own], weights
        )

    other = {"not centred": uncentred} if moved else {}
    yield engines("scaled_dot_product_attention", system, kernel, found[0][1], n, options, other)


@climbing(linear=True, refuses=in_bfloat16)
def head_statistics(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Mean and variance of each head's keys as declared, against torch's batch normalisation."""

    names = sh_tables(n, options, sh.STATISTICS_S)[1]
    for rule, found in zip(sh.STATISTICS_S[:2], layers.bounded_statistics(names["k^s"][0]), strict=True):
        formula = Formula(rule.value, rule.at, (names,), rows=False)
        yield agree(rule.reason, formula, found[None], n, options)
