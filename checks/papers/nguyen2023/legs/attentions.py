"""Legs of Attention-BN, its simplified version, linear and sparse attention: formulas against systems.

A claim's formula, and the expansion that the dualiser derives, are evaluated at sampled queries and compared
with the system of `checks.tensors.systems.nguyen2023`; torch's own layers and attention kernel are the second
engine. Both sides carry proved error bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.papers.nguyen2023 import batchnorm_formulas as bn
from checks.papers.nguyen2023 import centering_formulas as ce
from checks.papers.nguyen2023 import centering_formulas as centering
from checks.papers.nguyen2023 import linear_formulas as linear
from checks.papers.nguyen2023 import theorem1_formulas as theorem1
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.bounded import Bounded, einsum
from checks.tensors.systems.cases import BN_EPS, choices, constant, in_bfloat16, raw_heads, table
from checks.tensors.systems.formulas import Formula, agree, engines, given
from derivations.theories.svr.regression import d, i

# ---------------------------------------------------------------- softmax attention


@climbing(refuses=in_bfloat16)
def softmax_expansion(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(2) and the expansion that the dualiser derives from (5), against the system, and torch's kernel
    against it.
    """

    own = raw_heads(n, options)[0]
    system, names = systems.attend(own, dtype=options.dtype), table(own)
    yield agree("(2)", Formula(theorem1.SUM_FORM, (i, d), (names,)), system, n, options)
    symbols = {"x": own.q, "k": own.k, "v": own.v}
    derived = Formula(theorem1.attention(assumptions), (i, d), (symbols,), own=("x",))
    turned = {**symbols, "k": own.k * 2}
    wrong = {"keys doubled": replace(derived, tables=(turned,))}
    yield agree("derived expansion", derived, system, n, options, wrong, mutate=False)
    kernel, backend = systems.fused_attend(own, dtype=options.dtype)
    others = {
        "queries and keys exchanged": own._replace(q=own.k, k=own.q),
        "keys negative": own._replace(k=-own.k),
    }
    runs = {
        w: lambda rows, h=h: systems.fused_attend(h, rows=rows, dtype=options.dtype)[0]
        for w, h in others.items()
    }
    yield engines("scaled_dot_product_attention", system, kernel, backend, n, options, runs)


# ---------------------------------------------------------------- Attention-BN


@lru_cache(maxsize=4)
def bn_system(n: int, options: Options, statistics: str = "mean_and_variance") -> Any:
    """Attention-BN at all queries."""

    own = systems.normalised(raw_heads(n, options)[0], BN_EPS, statistics)
    return systems.attend(own, dtype=options.dtype)


def bn_table(n: int, options: Options, assumptions: Any = None) -> dict[str, Any]:
    """Raw queries, keys and values, and the statistics that the declared (20), or the assumptions, give
    for them.
    """

    names = {**table(raw_heads(n, options)[0]), "eps": constant(BN_EPS, options)}
    return given(names, bn.STATISTICS if assumptions is None else bn.statistics_of(assumptions))


@climbing(refuses=in_bfloat16)
def bn_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(22) with the statistics (20), as declared, at sampled queries against the system."""

    formula = Formula(bn.attention_bn(bn.q_[i]), (i, d), (bn_table(n, options),))
    return [agree("(22) with (20)", formula, bn_system(n, options), n, options)]


@climbing(refuses=in_bfloat16)
def bn_kernel(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Attention-BN by torch's batch normalisation and attention kernel; other statistics are rejected."""

    own = raw_heads(n, options)[0]
    kernel, backend = systems.fused_attend(layers.normalised(own, BN_EPS), dtype=options.dtype)
    by_queries = systems.normalised(own._replace(k=own.q), BN_EPS).q
    wrong = {
        "not normalised": own,
        "ε left out": systems.normalised(own, 0.0),
        "queries by their own statistics": layers.normalised(own, BN_EPS)._replace(q=by_queries),
        "centred only": systems.centred(own, 1.0),
    }
    if options.dtype == "float64":  # it changes scores by a share 1/2N only, which float32 need not resolve
        wrong["variance over N - 1"] = layers.normalised(own, BN_EPS)._replace(k=layers.unbiased(own, BN_EPS))
    others = {
        name: lambda rows, h=h: systems.fused_attend(h, rows=rows, dtype=options.dtype)[0]
        for name, h in wrong.items()
    }
    what = "batch_norm and scaled_dot_product_attention"
    return [engines(what, bn_system(n, options), kernel, backend, n, options, others)]


@climbing(refuses=in_bfloat16)
def bn_by_coordinates(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(24) as declared, from raw keys and their mean inner products, against the system."""

    formula = Formula(bn.LAST_LINE, (i, d), (bn_table(n, options, assumptions),))
    return [agree("(24)", formula, bn_system(n, options, assumptions.statistics), n, options)]


@climbing(refuses=in_bfloat16)
def bn_expansion(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """The expansion that the dualiser derives from the program on normalised keys, against the system."""

    names = bn_table(n, options)
    names["x"] = names["Q"]
    formula = Formula(bn.derived_bn(bn.x), (i, d), (names,), own=("x",))
    raw = replace(
        formula,
        term=bn.sum_over(bn.j, bn.softmax(bn.j, bn.score(bn.as_term(bn.x), bn.k_[bn.j])) * bn.v_[bn.j]),
    )
    half = replace(formula, term=bn.attention_bn(bn.as_term(bn.x) + bn.m))
    wrong = {"raw keys": raw, "query not centred": half}
    return [agree("derived expansion", formula, bn_system(n, options), n, options, wrong, mutate=False)]


@climbing(linear=True, refuses=in_bfloat16)
def bn_statistics(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Mean and variance as declared, against what torch's batch normalisation keeps."""

    names = bn_table(n, options)
    for rule, found in zip((bn.MEAN, bn.VARIANCE), layers.bounded_statistics(names["K"]), strict=True):
        formula = Formula(rule.value, rule.at, (names,), rows=False)
        yield agree(rule.reason, formula, found, n, options)


# ---------------------------------------------------------------- the simplified version


@lru_cache(maxsize=2)
def beta_system(n: int, options: Options, beta: float) -> Any:
    """(26) at all queries."""

    return systems.attend(systems.centred(raw_heads(n, options)[0], beta), dtype=options.dtype)


def beta_table(n: int, options: Options, beta: float) -> dict[str, Any]:
    """Raw inputs, β and the declared mean."""

    return given({**table(raw_heads(n, options)[0]), "beta": constant(beta, options)}, (centering.MEAN,))


@climbing(refuses=in_bfloat16)
def beta_definition(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """(26) as declared, and the expansion of its own program, against the system."""

    beta = choices(assumptions).beta
    names, system = (beta_table(n, options, beta),), beta_system(n, options, beta)
    wrong = {"not centred": Formula(ce.PLAIN, (i, d), names)} if beta else {}
    yield agree("(26)", Formula(ce.both(ce.FREE), (i, d), names), system, n, options, mutate=beta != 0)
    expansion = Formula(ce.derived(replace(assumptions, beta="free")).lhs, (i, d), names)
    yield agree("derived expansion", expansion, system, n, options, wrong, mutate=False)


@climbing(refuses=in_bfloat16)
def beta_as_bias(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """Centering as one bias a key: as declared, and by torch's kernel with the bias as one more
    coordinate.
    """

    chosen = choices(assumptions).beta
    own, system = raw_heads(n, options)[0], beta_system(n, options, chosen)
    formula = Formula(ce.biased(ce.FREE), (i, d), (beta_table(n, options, chosen),))
    yield agree("softmax with a bias a key", formula, system, n, options)

    def kernel(beta: float, rows: Any = None) -> tuple[Any, str]:
        bias = einsum("jc,c->j", own.k, systems.mean(own.k) * Bounded(torch.full_like(own.k.value[0], -beta)))
        wide = own._replace(
            q=_wider(own.q, Bounded(torch.ones_like(own.q.value[:, :1]))), k=_wider(own.k, bias[:, None])
        )
        return systems.fused_attend(wide, rows=rows, scale=own.q.shape[1] ** -0.5, dtype=options.dtype)

    found, backend = kernel(chosen)
    wrong = {
        "β negative": lambda rows: kernel(-chosen, rows)[0],
        "β larger": lambda rows: kernel(chosen + 0.5, rows)[0],
        "no bias": lambda rows: kernel(0.0, rows)[0],
    }
    yield engines("scaled_dot_product_attention with the bias", system, found, backend, n, options, wrong)


def _wider(left: Any, right: Any) -> Any:

    return Bounded(torch.cat([left.value, right.value], 1), torch.cat([left.error, right.error], 1))


# ---------------------------------------------------------------- linear attention


@climbing(linear=True, refuses=in_bfloat16)
def linear_attention(n: int, assumptions: Any, options: Options) -> Iterable[Evidence]:
    """The one-pass formula and the derived expansion with elu + 1, against the streamed system."""

    own = raw_heads(n, options)[0]
    system, names = systems.attend(own, kernel="linear", dtype=options.dtype), (table(own, ("x", "k", "v")),)
    statement = linear.katharopoulos()
    softmax = linear.sum_over(
        linear.j, linear.softmax(linear.j, linear.x.T @ linear.k[linear.j]) * linear.v[linear.j]
    )
    formula = Formula(statement.rhs, (i, d), names, own=("x",))
    yield agree("one pass over the keys", formula, system, n, options)
    wrong = {"softmax": replace(formula, term=softmax)}
    yield agree(
        "derived expansion", replace(formula, term=statement.lhs), system, n, options, wrong, mutate=False
    )
