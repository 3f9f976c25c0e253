"""Further checks of Theorem 1 and its parts: solvers, exact certificates, series bounds, tensors."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from flint import arb, fmpq

from checks.claim import Options
from checks.evidence import Evidence
from derivations.calculus.balls import Ball
from derivations.calculus.components import evaluate
from derivations.calculus.functions import EXACT_FUNCTIONS
from derivations.calculus.index import Tensor
from derivations.calculus.losses import losses
from derivations.calculus.program import Program
from derivations.theories.svr import regression as svr
from derivations.theories.svr.regression import SvrAssumptions
from solvers.compile import compile_program
from solvers.convex import duality_gap
from solvers.exact import NoExactCertificate, solve_exact
from solvers.program import QuadraticProgram, to_float
from solvers.qp import SolverError, solve
from solvers.rational_instances import exact_exponential_gram
from solvers.svr import polish, solve_dual, solve_libsvm, solve_rational_svr
from solvers.svr_problem import LOSSES, SvrProblem

ACCEPTED = 1e-5  # largest relative error of an interior-point answer that was asked for 1e-10


# ---------------------------------------------------------------- the program and its dual

_KEYS = (Fraction(-1), Fraction(0), Fraction(1))
_FEATURES = [[Fraction(1), t, t * t] for t in _KEYS]
_KERNEL = [
    [sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0)) for b in _FEATURES] for a in _FEATURES
]
_TARGETS = (Fraction(1), Fraction(-2), Fraction(3))
SIZES = {svr.N: 3, svr.D: 1, svr.DV: 1, svr.DPHI: 3}


def data(tensor: Tensor, entry: tuple[int, ...]) -> Fraction:
    """A small exact regression: three scalar keys with features (1, k, k²) and h the kernel sum
    (positive here).
    """
    match tensor.name:
        case "y":
            return _TARGETS[entry[0]]
        case "Phi(k)":
            return _FEATURES[entry[0]][entry[1]]
        case "h(k)":
            return sum(_KERNEL[entry[0]], Fraction(0))
        case "C":
            return Fraction(5)
        case "epsilon" | "delta":
            return Fraction(1, 10)
    raise KeyError(tensor.name)


def primal_and_dual(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """Solve the program and the derived dual exactly and with cvxpy: equal values, and the weights that
    (8) gives.
    """

    program, result = svr.primal(assumptions), svr.dual(assumptions)
    assert result.program is not None
    if any(losses(program.objective)):
        return [_gap(program, result.program)]
    primal = compile_program(program, SIZES, data)
    dual = compile_program(result.program, SIZES, data)
    first, second = solve_exact(primal), solve_exact(dual)
    value, bound = first.certificate.primal_value, -second.certificate.primal_value
    weights = primal.split(first.x)["w"]
    expected = _weights(assumptions, dual.split(second.x))
    agree = value == bound and all(a == b for a, b in zip(weights.flat, expected.flat, strict=True))
    agree = agree and first.certificate.accepts() and second.certificate.accepts()
    exact = Evidence(
        "solver",
        "exact-rational",
        agree,
        f"optimal values {value} (primal) and {bound} (derived dual); weights agree with the stationarity "
        "condition",
        backend="KKT system in rationals",
    )
    return [
        exact,
        *(_float_check(qp, name) for qp, name in ((primal, "primal"), (dual, "dual"))),
    ]


def _gap(program: Program, dual: Program) -> Evidence:
    """How far apart the optimal values are for a loss that is not quadratic, proved at feasible points."""
    try:
        gap = duality_gap(program, dual, SIZES, data)
    except (SolverError, NoExactCertificate, ValueError) as reason:  # also a loss that has no value there
        return Evidence("solver", "interval", None, not_run=f"primal and derived dual: {reason}")
    error = gap.bound / max(1.0, abs(float(Ball.of(gap.primal).value.mid())))
    passed, said = not gap.refuted and error <= ACCEPTED, "optimal values of primal and derived dual"
    return Evidence("solver", gap.grade, passed, said, error=error, bound=ACCEPTED, backend="Clarabel")


def _float_check(qp: QuadraticProgram, name: str) -> Evidence:
    """The solver's answer beside the exactly certified optimum that its active constraints lead to: its
    value, and how far it is from feasible. Of its entries nothing is said: b and slacks may have a choice.
    """
    try:
        found = solve(qp)
        best = solve_exact(qp, found)
    except (SolverError, NoExactCertificate) as reason:
        return Evidence("solver", "compared", None, not_run=f"{name}: {reason}")
    data, value = qp.as_float(), float(best.certificate.primal_value)
    outside = np.concatenate([data.G @ found.x - data.h, np.abs(data.A @ found.x - data.b), [0]])
    far = outside.max() / np.abs(to_float(best.x)).max()
    error = max(abs(data.value(found.x) - value) / abs(value), far)
    return Evidence(
        "solver",
        "compared",
        error <= ACCEPTED,
        f"{name} program, its value and its constraints relative to the exactly certified optimum",
        error=error,
        bound=ACCEPTED,
        backend=found.solver,
        seconds=found.seconds,
    )


def _weights(assumptions: SvrAssumptions, multipliers: dict[str, Any]) -> Any:
    """The weights that the derived stationarity condition gives for these multipliers."""
    solved, at = svr.dual(assumptions).solved[svr.w], svr.dual(assumptions).at[svr.w]

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        return multipliers[tensor.name][entry] if tensor.name in multipliers else data(tensor, entry)

    shape = tuple(SIZES[i.dim] for i in at)
    result = np.empty(shape, dtype=object)
    for entry in product(*(range(s) for s in shape)):
        result[entry] = evaluate(solved, SIZES, lookup, EXACT_FUNCTIONS, dict(zip(at, entry, strict=True)))
    return result


# ---------------------------------------------------------------- the exponential kernel, exactly

LABELS = [[-1, 0], [0, 1], [1, 1], [2, 0]]


def _no_kernel_form(assumptions: SvrAssumptions) -> list[Evidence]:
    """What stands for a certificate in kernel form where the loss has none here."""
    reason = f"regressions in kernel form have the losses {', '.join(LOSSES)}, not {assumptions.loss}"
    return [Evidence("exact", "exact-rational", None, not_run=reason)]


def _problem(assumptions: SvrAssumptions) -> tuple[Any, Any]:
    gram = exact_exponential_gram(np.array(LABELS, dtype=object))
    targets = np.array([[Fraction(n, 4)] for n in (1, -2, 3, 2)], dtype=object)
    h = max(gram.normaliser)
    problem = SvrProblem(
        gram.gram,
        targets,
        h * h,
        Fraction(1, 20),
        assumptions.loss,
        assumptions.bias == "on",
        assumptions.box == "kept",
    )
    return gram, problem


def exact_certificate(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """Solve the regression for an exponential kernel with rational values exactly, and again with libsvm and
    cvxpy.

    Keys √(ln 2) D^{1/4} n with whole n make every kernel value a power of two.
    """

    if assumptions.loss not in LOSSES:
        return _no_kernel_form(assumptions)
    gram, problem = _problem(assumptions)
    solution = solve_rational_svr(problem)
    certificate = problem.certificate(solution.beta, solution.b)
    attention = _attention_rows(gram, solution)
    fitted = problem.M @ solution.beta + solution.b
    same = all(a == b for a, b in zip(attention.flat, fitted.flat, strict=True))
    found = [
        Evidence(
            "exact",
            "exact-rational",
            certificate.accepts(0) and same,
            "an exactly optimal solution; its fit at the keys is b plus softmax attention with values "
            "(α - α̃)/h",
            backend="active set in rationals",
        )
    ]
    rounded = problem.as_float()
    size = max(abs(float(b)) for b in solution.beta.flat)
    for name, route in (
        ("scikit-learn SVR, polished", lambda p: polish(p, solve_libsvm(p))),
        ("Clarabel", solve_dual),
    ):
        answer = route(rounded)
        error = (
            max(abs(float(b) - x) for b, x in zip(solution.beta.flat, answer.beta.flat, strict=True)) / size
        )
        gap = float(rounded.certificate(answer.beta, answer.b).gap.relative)
        passed = error <= ACCEPTED and gap <= ACCEPTED
        detail = f"multipliers against the exact ones (relative gap {gap:.0e})"
        found.append(
            Evidence(
                "solver",
                "compared",
                passed,
                detail,
                error=error,
                bound=ACCEPTED,
                backend=name,
                seconds=answer.seconds,
            )
        )
    return found


def _attention_rows(gram: Any, solution: Any) -> Any:
    """Σ_j softmax_j(k_iᵀk_j/√D) v_j + b with v_j = β_j/h(k_j), written out from the kernel values."""
    values = solution.beta / gram.normaliser[:, None]
    rows = [
        sum((gram.kernel[i, j] * values[j] for j in range(len(values))), 0 * values[0]) / sum(gram.kernel[i])
        for i in range(len(values))
    ]
    return np.array(rows, dtype=object) + solution.b


def centering_is_not_needed(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """An exactly optimal solution without bias whose α - α̃ does not sum to zero."""

    if assumptions.loss not in LOSSES:
        return _no_kernel_form(assumptions)
    _, problem = _problem(replace(assumptions, bias="off"))
    solution = solve_rational_svr(problem)
    total = solution.beta.sum()
    passed = problem.certificate(solution.beta, solution.b).accepts(0) and total != 0
    return [
        Evidence(
            "exact",
            "exact-rational",
            passed,
            f"optimal with Σ(α - α̃) = {total}",
            backend="active set in rationals",
        )
    ]


# ---------------------------------------------------------------- the truncated feature map


def remainder_bound(score: Any, degree: int) -> Any:
    """|exp(s) - Σ_{t<=T} s^t/t!| <= |s|^{T+1}/(T+1)! max(1, e^s): Taylor's theorem with Lagrange's
    remainder.
    """
    largest = score.exp().max(score * 0 + 1)
    return abs(score) ** (degree + 1) / math.factorial(degree + 1) * largest


def truncated_kernel(x: tuple[Fraction, ...], y: tuple[Fraction, ...], degree: int) -> Fraction:
    """The inner product of the features (12) up to a degree, summed monomial by monomial, at xᵀy/√D
    with √D rational.
    """
    width = len(x)
    root = math.isqrt(width)
    total = Fraction(0)
    for n in product(range(degree + 1), repeat=width):
        if sum(n) <= degree:
            term: Any = Fraction(1, root ** sum(n))
            for a, b, e in zip(x, y, n, strict=True):
                term *= (a * b) ** e / math.factorial(e)
            total += term
    return total


def truncation(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """The kernel of the truncated features against exp(xᵀy/√D) in Arb balls, with the proved remainder
    bound.
    """

    x = (Fraction(1), Fraction(-1, 2), Fraction(2), Fraction(1, 3))
    y = (Fraction(1, 2), Fraction(1), Fraction(1), Fraction(-1))
    score = sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) / 2
    found = []
    for degree in (2, 4, 8):
        ball = arb(fmpq(score.numerator, score.denominator))
        value = truncated_kernel(x, y, degree)
        error = abs(ball.exp() - arb(fmpq(value.numerator, value.denominator)))
        bound = remainder_bound(ball, degree)
        passed = bool(error <= bound) and bool(error > 0)
        found.append(
            Evidence(
                "exact",
                "interval",
                passed,
                f"features up to degree {degree}",
                error=float(error),
                bound=float(bound),
                backend="Arb",
            )
        )
    return found
