"""Tensor legs of Theorem 1 and its converse: printed formulas at sampled queries, engines,
certificates; no solver is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import torch

from checks.claim import Options
from checks.evidence import Evidence
from checks.leg import Climbing, climbing, skipped
from checks.papers.nguyen2023.theorem1_formulas import SUM_FORM, softmax_lines
from checks.tensors.core import bfloat16, bounds, fused, stream
from checks.tensors.core.agreement import Agreement, Comparison, check_attention, compare, largest
from checks.tensors.core.bounded import Bounded
from checks.tensors.core.inputs import sampled_rows
from checks.tensors.svr.converse import certify, fit_keys
from checks.tensors.systems.formulas import Formula, wrong_versions
from checks.tensors.systems.row import Case, Row
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import SvrAssumptions, d, i

ENGINES = Row(Case.instance, {"engines": ("torch's kernel and full rows", lambda x: check_attention(*x))})


@climbing()
def attention_engines(n: int, assumptions: Any, options: Options) -> Iterator[Evidence]:
    """Streamed attention against torch's own kernel and float64 rows; in bfloat16 also by what factor
    the kernel is off.
    """
    yield from ENGINES.evidence("engines", Case(n, assumptions, options))
    if options.dtype == "bfloat16":
        yield _kernel_factor(n, options)


def _kernel_factor(n: int, options: Options) -> Evidence:
    """What the bound in bfloat16 cannot tell: the output times 1.001, say."""
    if not bfloat16.SHORTEST <= n <= bfloat16.LONGEST or n & (n - 1):
        return skipped(n, options, "the factor is told for powers of two from 1,024 to 131,072 tokens")
    found = bfloat16.factor(n, lambda q, k, v: fused.attention(q, k, v).out, options.device)
    wrong = {f"{times} times the mean": _scaled_kernel(times) for times in (1.001, 0.999)}
    alive = [name for name, k in wrong.items() if bfloat16.accepts(bfloat16.factor(n, k, options.device))]
    low, high = found or (Fraction(0), Fraction(0))
    detail = (
        f"the kernel's output is between {float(low):.5f} and {float(high):.5f} times the exact mean "
        "of the values"
    )
    return Evidence(
        "tensor",
        "certified-float",
        bfloat16.accepts(found) and not alive,
        detail if found else "no factor explains the kernel's output",
        error=float(max(low - 1, 1 - high, Fraction(0))),
        bound=float(bfloat16.EXP_ERROR),
        tokens=n,
        dtype=options.dtype,
        device=options.device,
        wrong=len(wrong),
        not_rejected=tuple(alive),
    )


def _scaled_kernel(times: float) -> bfloat16.Kernel:
    """A kernel whose output is off by a factor before it is rounded to bfloat16."""
    return lambda q, k, v: (times * fused.attention(q, k, v, dtype="float32").out).bfloat16()


def rows_against_engine(
    term: Term, at: tuple[Index, ...], query: Tensor | None, names: dict[str, str]
) -> Climbing:
    """A leg: a printed formula for one query, at sampled queries, against torch's kernel on all of them; its
    mutants must differ.

    ``at`` are the formula's free indices (query first, unless ``query`` names the vector that stands for it),
    ``names`` maps the formula's symbols to q, k, v.
    """

    def check(n: int, assumptions: Any, options: Options) -> Evidence:
        instance = Case(n, assumptions, options).instance()
        kernel = fused.attention(instance.q, instance.k, instance.v)
        rows = sampled_rows(n, 24, options.seed).to(instance.q.device)
        table = {symbol: Bounded(getattr(instance, part).double()) for symbol, part in names.items()}
        sizes = {symbol: x.abs() if names[symbol] == "v" else x for symbol, x in table.items()}
        own = (query.name,) if query else ()
        formula = Formula(term, at, (table,), own)

        def values(of: Formula, wrong: Term | None = None) -> torch.Tensor:
            # a few queries at a time: each needs tensors of all keys by all columns
            parts = rows.split(max(1, (1 << 23) // instance.k.numel()))
            return torch.cat([of.at_rows(part, wrong, plain=True) for part in parts])

        allowed = _allowed(instance, kernel, rows, values(Formula(term, at, (sizes,), own)))
        truth = kernel.out[rows].double()

        def judged(what: str, other: Term | None = None) -> Comparison:
            return compare(what, values(formula, other), truth, allowed)

        wrong = {**wrong_versions(formula, judged, n), "zero": largest("zero", truth.abs(), allowed)}
        found = Agreement((judged("formula"),), wrong, kernel.backend)
        return found.evidence(f"formula at {len(rows)} queries", instance.q, n)

    return Climbing(check)


def _allowed(instance: Any, kernel: Any, rows: Any, size: Any) -> Any:
    """What rounding may add to both sides: the formula in float64, and torch's kernel."""
    (n, width), largest = instance.k.shape, float(instance.v.abs().max())
    sizes = bounds.score_sizes(instance.q, instance.k)[rows]
    # one full-length block; leaving out the shift of the scores only takes a rounding away
    formula = bounds.streamed("float64", stream.Tile(len(rows), n))
    theirs = bounds.fused(kernel.backend, instance.q.dtype, n, instance.q.device)
    own, other = (bounds.attention_bound(x, width, n, sizes, size, largest) for x in (formula, theirs))
    return own + other


eq2_rows = rows_against_engine(SUM_FORM, (i, d), None, {"Q": "q", "K": "k", "V": "v"})
theorem_rows = rows_against_engine(softmax_lines(False)[1], (i, d), svr.x, {"x": "q", "k": "k", "v": "v"})


@climbing()
def attention_is_the_fit(n: int, assumptions: SvrAssumptions, options: Options) -> Evidence:
    """The optimality certificate on long sequences, streamed; a smaller C and wrong targets are rejected."""
    instance = Case(n, assumptions, options).instance()
    fit = fit_keys(instance.k, instance.v)
    record = certify(fit, 0.5)
    targets = fit.targets(0.5)
    wrong = {
        "C below its smallest value": certify(fit, 0.5, fit.log_c_star - 0.01),
        "targets on the wrong side": certify(fit, 0.5, None, 2 * fit.attention.double() - targets),
        "targets equal to the fit": certify(fit, 0.5, None, fit.attention.double()),
        "a fit of zero": certify(replace(fit, kernel=torch.zeros_like(fit.kernel)), 0.5, None, targets),
    }
    alive = [name for name, c in wrong.items() if c.accepted]
    worst = max(record.residuals, key=lambda r: r.ratio)
    return Evidence(
        "tensor",
        "certified-float",
        record.accepted and not alive,
        f"log C* = {record.log_c_star:.6g}; worst residual: {worst.name}",
        error=worst.error,
        bound=worst.bound,
        tokens=n,
        dtype=record.dtype,
        device=record.device,
        backend=record.backend,
        seconds=record.seconds,
        peak_bytes=record.peak_bytes,
        wrong=len(wrong),
        not_rejected=tuple(alive),
    )
