"""Softmax and linear attention, Attention-BN and its simplified version as rows: formulas, derived expansions
and torch's layers against the systems of `checks.tensors.systems.nguyen2023`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.papers.nguyen2023 import batchnorm_formulas as bn
from checks.papers.nguyen2023 import centering_formulas as ce
from checks.papers.nguyen2023 import linear_formulas as linear
from checks.papers.nguyen2023 import theorem1_formulas as theorem1
from checks.tensors.core.bounded import Bounded, einsum
from checks.tensors.systems import nguyen2023 as systems
from checks.tensors.systems import torch_layers as layers
from checks.tensors.systems.cases import BN_EPS, WIDTH, choices, constant, in_bfloat16, raw_heads, table
from checks.tensors.systems.formulas import Formula, agree, given
from checks.tensors.systems.nguyen2023 import Head
from checks.tensors.systems.row import Attention, Case, Heads, Line, Wrong
from derivations.calculus.term import as_term, softmax, sum_over
from derivations.theories.svr.regression import i, j

# ---------------------------------------------------------------- softmax and linear attention


def raw(case: Case) -> Head:
    """Queries, keys and values of one head as they come."""
    return raw_heads(case.n, case.options)[0]


def of_query(case: Case) -> dict[str, Any]:
    """The same under the names of an expansion: the queries are the vectors x at which it is taken."""
    return table(raw(case), ("x", "k", "v"))


def _softmax_expansion(case: Case) -> Iterable[Line]:
    names, term = of_query(case), theorem1.attention(case.assumptions)
    wrong = {"keys doubled": ({**names, "k": names["k"] * 2},)}
    yield Line("derived expansion", term, (names,), ("x",), wrong, mutate=False)


def _wrong_softmax(case: Case) -> dict[str, Wrong]:
    own = raw(case)
    exchanged, negative = own._replace(q=own.k, k=own.q), own._replace(k=-own.k)
    return {"queries and keys exchanged": [exchanged], "keys negative": [negative]}


SOFTMAX = Attention(
    prepared=lambda case: [raw(case)],
    printed=lambda case: [Line("(2)", theorem1.SUM_FORM, (table(raw(case)),))],
    derived=_softmax_expansion,
    by_torch=lambda case: [raw(case)],
    wrong=_wrong_softmax,
)
softmax_expansion = SOFTMAX.leg("printed", "derived", "torch")


def _linear_expansion(case: Case) -> Iterable[Line]:
    wrong = {"softmax": sum_over(j, softmax(j, linear.x.T @ linear.k[j]) * linear.v[j])}
    term = linear.katharopoulos().lhs
    yield Line("derived expansion", term, (of_query(case),), ("x",), wrong, mutate=False)


LINEAR = Attention(
    prepared=lambda case: [raw(case)],
    printed=lambda case: [
        Line("one pass over the keys", linear.katharopoulos().rhs, (of_query(case),), ("x",))
    ],
    derived=_linear_expansion,
    kernel="linear",
)
linear_attention = LINEAR.leg("printed", "derived", linear=True)


# ---------------------------------------------------------------- Attention-BN


def bn_table(case: Case, assumptions: Any = None) -> dict[str, Any]:
    """Raw queries, keys and values, and the statistics that the declared (20), or the assumptions, give
    for them.
    """
    names = {**table(raw(case)), "eps": constant(BN_EPS, case.options)}
    return given(names, (*bn.STATISTICS, bn.SPREAD) if assumptions is None else bn.statistics_of(assumptions))


def _bn_expansion(case: Case) -> Iterable[Line]:
    names = bn_table(case)
    scores = softmax(j, bn.score(as_term(bn.x), bn.k_[j]))
    wrong = {
        "raw keys": sum_over(j, scores * bn.v_[j]),
        "query not centred": bn.attention_bn(as_term(bn.x) + bn.m),
    }
    tables = ({**names, "x": names["Q"]},)
    yield Line("derived expansion", bn.derived_bn(bn.x), tables, ("x",), wrong, mutate=False)


def _wrong_bn(case: Case) -> dict[str, Wrong]:
    own = raw(case)
    by_torch = layers.normalised(own, BN_EPS)
    by_queries = systems.normalised(own._replace(k=own.q), BN_EPS).q
    wrong = {
        "not normalised": own,
        "ε left out": systems.normalised(own, 0.0),
        "queries by their own statistics": by_torch._replace(q=by_queries),
        "centred only": systems.centred(own, 1.0),
    }
    if case.options.dtype == "float64":  # a share 1/2N of the scores, which float32 need not resolve
        wrong["variance over N - 1"] = by_torch._replace(k=layers.unbiased(own, BN_EPS))
    return {name: [head] for name, head in wrong.items()}


BN = Attention(
    prepared=lambda case: [systems.normalised(raw(case), BN_EPS)],
    printed=lambda case: [Line("(22) with (20)", bn.attention_bn(bn.q_[i]), (bn_table(case),))],
    derived=_bn_expansion,
    by_torch=lambda case: [layers.normalised(raw(case), BN_EPS)],
    wrong=_wrong_bn,
    words="batch_norm and scaled_dot_product_attention",
)
bn_definition, bn_expansion, bn_kernel = (BN.leg(column) for column in ("printed", "derived", "torch"))

BY_COORDINATES = Attention(
    prepared=lambda case: [systems.normalised(raw(case), BN_EPS, case.assumptions.statistics)],
    printed=lambda case: [Line("(24)", bn.LAST_LINE, (bn_table(case, case.assumptions),))],
)
bn_by_coordinates = BY_COORDINATES.leg("printed")


@climbing(linear=True, refuses=in_bfloat16)
def bn_statistics(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
    """Mean and variance as declared, against what torch's batch normalisation keeps."""
    names = bn_table(Case(n, assumptions, options))
    yield from statistics((bn.MEAN, bn.VARIANCE), names, layers.bounded_statistics(names["K"]), n, options)


def statistics(
    rules: Iterable[Any], names: dict[str, Any], by_torch: Iterable[Bounded], n: int, options: Options
) -> Iterator[Evidence]:
    """Declared statistics of the keys against torch's."""
    for rule, found in zip(rules, by_torch, strict=True):
        formula = Formula(rule.value, rule.at, (names,), rows=False)
        yield agree(rule.reason, formula, found, n, options)


# ---------------------------------------------------------------- the simplified version


def beta_of(case: Case) -> float:
    """β as the assumptions have it."""
    return choices(case.assumptions).beta


def beta_table(case: Case) -> dict[str, Any]:
    """Raw inputs, β and the declared mean."""
    return given({**table(raw(case)), "beta": constant(beta_of(case), case.options)}, (bn.MEAN,))


def _centred(case: Case) -> Heads:
    return [systems.centred(raw(case), beta_of(case))]


def _centred_formula(case: Case) -> Iterable[Line]:
    moved = beta_of(case) != 0
    wrong = {"not centred": ce.PLAIN} if moved else {}
    yield Line("(26)", ce.both(ce.FREE), (names := (beta_table(case),)), mutate=moved)
    derived = ce.derived(replace(case.assumptions, beta="free")).lhs
    yield Line("derived expansion", derived, names, wrong=wrong, mutate=False)


def _biased(own: Head, beta: float) -> Heads:
    """Centering as one bias a key: with the bias as one more coordinate."""
    bias = einsum("jc,c->j", own.k, systems.mean(own.k) * Bounded(torch.full_like(own.k.value[0], -beta)))
    ones = Bounded(torch.ones_like(own.q.value[:, :1]))
    return [own._replace(q=_wider(own.q, ones), k=_wider(own.k, bias[:, None]))]


def _wider(left: Bounded, right: Bounded) -> Bounded:
    return Bounded(torch.cat([left.value, right.value], 1), torch.cat([left.error, right.error], 1))


def _wrong_bias(case: Case) -> dict[str, Wrong]:
    own, beta = raw(case), beta_of(case)
    wrong: dict[str, Wrong] = {"β larger": _biased(own, beta + 0.5)}
    return {"β negative": _biased(own, -beta), **wrong, "no bias": _biased(own, 0.0)} if beta else wrong


BETA = Attention(prepared=_centred, printed=_centred_formula)
BIAS = Attention(
    prepared=_centred,
    printed=lambda case: [
        Line("softmax with a bias a key", ce.biased(ce.FREE), (beta_table(case),), mutate=beta_of(case) != 0)
    ],
    by_torch=lambda case: _biased(raw(case), beta_of(case)),
    wrong=_wrong_bias,
    words="scaled_dot_product_attention with the bias",
    scale=WIDTH**-0.5,  # of the coordinates before the one that holds the bias
)
beta_definition = BETA.leg("printed")
beta_as_bias = BIAS.leg("printed", "torch")
