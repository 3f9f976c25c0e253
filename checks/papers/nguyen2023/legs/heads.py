"""Multi-head attention, scaled heads and their normalised versions as rows: formulas, derived expansions and
torch's layers against the systems of `checks.tensors.systems.nguyen2023`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.papers.nguyen2023 import multihead_formulas as mh
from checks.papers.nguyen2023 import scaled_heads_formulas as sh
from checks.papers.nguyen2023.legs.attentions import beta_of, raw, statistics
from checks.tensors.core.bounded import Bounded
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.cases import (
    BN_EPS,
    WIDTH,
    choices,
    constant,
    heads_of_x,
    in_bfloat16,
    one_head,
    projections,
    raw_heads,
    table,
)
from checks.tensors.systems.formulas import engines, given
from checks.tensors.systems.nguyen2023 import Head
from checks.tensors.systems.row import Attention, Case, Heads, Line, Tables, Wrong, output
from derivations.calculus.term import as_term
from derivations.theories.svr.choices import DOWNSAMPLINGS
from derivations.theories.svr.regression import i

DENSE = 4096  # tokens up to which a formula that names an N x N matrix is evaluated


def projected_and_added(case: Case, outs: Sequence[Bounded], rows: Any) -> Bounded:
    """Σ_s W_O^s h^s over the heads."""
    return systems.combine(outs, projections(case.options, len(outs)))


# ---------------------------------------------------------------- several heads


def _three(case: Case) -> Heads:
    return raw_heads(case.n, case.options, 3)


def _concatenation(case: Case) -> Iterable[Line]:
    weights = projections(case.options, 3)
    tables = tuple(
        {
            **{name: x[None] for name, x in table(h, ("Q^s", "K^s", "V^s")).items()},
            "W_O": Bounded(weights[s])[None],
        }
        for s, h in enumerate(_three(case))
    )
    yield Line("(3)", mh.eq3().rhs, tables, at=(i, mh.c))


def _head_by_head(case: Case) -> Iterable[Line]:
    weights = projections(case.options, 3)
    tables = tuple(heads_of_x(h, weights[s]) for s, h in enumerate(_three(case)))
    wrong = {"one head alone": tables[:1]}
    yield Line("derived expansions", mh.attention_heads(), tables, ("x^s",), wrong, mutate=False)
    at_x = mh.multihead_softmax(as_term(mh.X_S)[mh.s], mh.K_VEC, mh.V_VEC)
    yield Line("softmax in each head", at_x, tables, ("x^s",))


MULTIHEAD = Attention(
    prepared=_three, printed=_concatenation, derived=_head_by_head, finish=projected_and_added
)
multihead_expansion = MULTIHEAD.leg("derived")


@climbing(refuses=in_bfloat16)
def multihead_definition(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
    """(3) as declared against the system, and the concatenation by torch's kernel and its linear layer."""
    case = Case(n, assumptions, options)
    yield from MULTIHEAD.evidence("printed", case)
    weights = torch.cat(list(projections(options, 3)), 1)
    outs = [systems.fused_attend(h, dtype=options.dtype) for h in _three(case)]

    def layer(*order: int) -> Bounded:
        values, errors = (
            torch.cat([getattr(outs[s][0], part) for s in order], 1) for part in ("value", "error")
        )
        bound = (Bounded(values, errors) @ Bounded(weights).T).error
        return Bounded(torch.nn.functional.linear(values, weights), bound)

    wrong = {"heads exchanged": lambda rows: layer(1, 0, 2)[rows]}
    what, system = "concatenated heads and a linear layer", output(MULTIHEAD, case)
    yield engines(what, system, layer(0, 1, 2), outs[0][1], n, options, wrong)


# ---------------------------------------------------------------- scaled heads


@lru_cache(maxsize=2)
def pooled_heads(case: Case) -> tuple[Head, ...]:
    """Heads with one key and value for as many tokens as the scales say (not more than there are)."""
    return _scaled(case, systems.pooled, choices(case.assumptions).downsampling)


def _raw_scaled(case: Case) -> Sequence[Head]:
    return raw_heads(case.n, case.options, len(choices(case.assumptions).widths))


def _scaled(case: Case, pool: Callable[[Head, int, str], Head], how: str = "average") -> tuple[Head, ...]:
    widths = choices(case.assumptions).widths
    return tuple(pool(h, w, how) for h, w in zip(_raw_scaled(case), widths, strict=True))


def sh_tables(case: Case, rules: Iterable[Any] = ()) -> Tables:
    """A table for each head, with declared statistics."""
    heads = pooled_heads(case)
    weights = projections(case.options, len(heads))
    more = {"eps": constant(BN_EPS, case.options), "beta": constant(beta_of(case), case.options)}
    return tuple(given(one_head(h, weights[s], **more), rules) for s, h in enumerate(heads))


def _one_too_many(case: Case) -> Iterable[Line]:
    tables = sh_tables(case)
    term = sh.derived(as_term(sh.X1), as_term(sh.K1)[sh.j])
    wrong = {"one head too many": (*tables, tables[0])}
    yield Line("derived expansions", term, tables, wrong=wrong, mutate=False)


def _wrong_pools(case: Case) -> dict[str, Wrong]:
    own = choices(case.assumptions)
    wrong: dict[str, Wrong] = {}
    if max(own.widths) > 1:
        wrong["keys not pooled"] = _raw_scaled(case)
        for how in DOWNSAMPLINGS:
            if how != own.downsampling:
                wrong[f"{how} of the tokens"] = _scaled(case, layers.pooled, how)
    if len(own.widths) > 1:
        turned = torch.arange(len(own.widths)).roll(1)
        weights = projections(case.options, len(own.widths))[turned]
        heads = _scaled(case, layers.pooled, own.downsampling)

        def exchanged(rows: torch.Tensor) -> Bounded:
            outs = [systems.fused_attend(h, rows=rows, dtype=case.options.dtype)[0] for h in heads]
            return systems.combine(outs, weights)

        wrong["projections exchanged"] = exchanged
    return wrong


SH = Attention(
    prepared=pooled_heads,
    printed=lambda case: [Line("(25)", sh.SH, sh_tables(case))],
    derived=_one_too_many,
    by_torch=lambda case: _scaled(case, layers.pooled, choices(case.assumptions).downsampling),
    wrong=_wrong_pools,
    words="pooling and scaled_dot_product_attention",
    finish=projected_and_added,
)
sh_definition, sh_kernel = SH.leg("printed", "derived"), SH.leg("torch")


def _pooled_tokens(case: Case) -> tuple[Bounded, Bounded, Any, Any]:
    generator = torch.Generator().manual_seed(case.options.seed + 1)
    key, value = (torch.randn(m, WIDTH, generator=generator, dtype=torch.float64) / 8 for m in (WIDTH, 8))
    device = case.options.device
    return raw(case).q, raw(case).k, key.to(device), value.to(device)


def _pooled_after(case: Case) -> Heads:
    queries, tokens, key, value = _pooled_tokens(case)
    own = Head(queries, systems.projected(tokens, key), systems.projected(tokens, value))
    return [systems.pooled(own, POOLED)]


def _pooled_before(case: Case) -> Iterable[Line]:
    queries, tokens, key, value = _pooled_tokens(case)
    pool = torch.eye(case.n // POOLED, dtype=torch.float64, device=case.options.device)
    pool = pool.repeat_interleave(POOLED, 1) / POOLED
    names = {"P": Bounded(pool), "X": tokens, "W_K": Bounded(key), "W_V": Bounded(value), "Q": queries}
    yield Line("a head on pooled tokens", sh.pooling().parts[0].meaning, (names,))


POOLED = 4  # tokens for a key
pooling_matrix = Attention(prepared=_pooled_after, printed=_pooled_before).leg(
    "printed",
    longest=DENSE,
    why=f"the declared pooling is a matrix of N_s by N entries, formed up to {DENSE} tokens",
)


# ---------------------------------------------------------------- scaled and normalised


def normalised_heads(case: Case) -> Heads:
    """Scaled heads, each normalised by the statistics of its own keys, as in (49)."""
    return [systems.normalised(h, BN_EPS) for h in pooled_heads(case)]


def papers(case: Case) -> Case:
    """The case under the paper's own choices."""
    return case._replace(assumptions=None)


def _bn_sh_expansion(case: Case) -> Iterable[Line]:
    tables = sh_tables(papers(case), sh.STATISTICS_S)
    wrong: dict[str, Any] = {"not normalised": sh.SH, "one head alone": tables[:1]}
    yield Line("derived expansions", sh.derived_bn().lhs, tables, wrong=wrong, mutate=False)


def _pooled_and_normalised(own: Head, width: int, how: str) -> Head:
    return layers.normalised(layers.pooled(own, width, how), BN_EPS)


def _normalised_and_pooled(own: Head, width: int, how: str) -> Head:
    return layers.pooled(layers.normalised(own, BN_EPS), width, how)


BN_SH = Attention(
    prepared=lambda case: normalised_heads(papers(case)),
    printed=lambda case: [Line("(49) with (50)", sh.BN_SH, sh_tables(papers(case), sh.STATISTICS_S))],
    derived=_bn_sh_expansion,
    by_torch=lambda case: _scaled(papers(case), _pooled_and_normalised),
    wrong=lambda case: {
        "statistics before pooling": _scaled(papers(case), _normalised_and_pooled),
        "not normalised": _scaled(papers(case), layers.pooled),
    },
    words="avg_pool1d, batch_norm and scaled_dot_product_attention",
    finish=projected_and_added,
)
bn_sh_definition, bn_sh_expansion, bn_sh_kernel = (
    BN_SH.leg(column) for column in ("printed", "derived", "torch")
)


def _centred_heads(case: Case) -> Heads:
    return [systems.centred(h, beta_of(case)) for h in pooled_heads(case)]


def _centred_formulas(case: Case) -> Iterable[Line]:
    free, tables = replace(case.assumptions, beta="free"), sh_tables(case, (sh.MEAN_S,))
    moved = beta_of(case) != 0
    wrong = {"not centred": sh.SH} if moved else {}
    yield Line("(51)", sh.beta_sh(free), tables, wrong=wrong, mutate=moved)
    yield Line("one bias a key", sh.simplified(free).parts[1].rhs, tables, mutate=moved)
    yield Line("derived expansions", sh.derived_beta(free), tables, wrong=wrong, mutate=False)


BETA_SH = Attention(
    prepared=_centred_heads,
    printed=_centred_formulas,
    by_torch=_centred_heads,
    wrong=lambda case: {"not centred": pooled_heads(case)} if beta_of(case) else {},
    finish=projected_and_added,
)
beta_sh_definition = BETA_SH.leg("printed", "torch")


@climbing(linear=True, refuses=in_bfloat16)
def head_statistics(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
    """Mean and variance of each head's keys as declared, against torch's batch normalisation."""
    names = sh_tables(Case(n, None, options), sh.STATISTICS_S)[1]
    found = (x[None] for x in layers.bounded_statistics(names["k^s"][0]))
    yield from statistics(sh.STATISTICS_S[:2], names, found, n, options)
