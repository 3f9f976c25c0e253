"""Legs of the converse of Theorem 1: an exact instance, solvers that find the values again,
certificates on long sequences.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from checks.claim import Options
from checks.evidence import Evidence
from checks.papers.nguyen2023.legs.theorem1 import ACCEPTED
from derivations.theories.svr.regression import SvrAssumptions
from solvers.definiteness import is_psd
from solvers.exact import nullspace
from solvers.rational_instances import exact_exponential_gram
from solvers.svr import polish, solve_dual, solve_libsvm
from solvers.svr_problem import SvrProblem

_LABELS = np.array([[-1], [0], [2], [1]], dtype=object)
_VALUES = np.array([[Fraction(1)], [Fraction(-1, 2)], [Fraction(0)], [Fraction(1, 3)]], dtype=object)
_EPSILON = Fraction(1, 8)


def _instance() -> tuple[Any, Any, Any, Any]:
    """Keys, the attention output f at the keys, β = h v, and the targets f + ε sign v: all rational."""

    gram = exact_exponential_gram(_LABELS)
    output = gram.kernel @ _VALUES / gram.normaliser[:, None]
    multiplier = gram.normaliser[:, None] * _VALUES
    signs = np.array([[Fraction((x > 0) - (x < 0)) for x in row] for row in _VALUES], dtype=object)
    return gram, output, multiplier, signs


def exact_instance(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """With the theorem's targets and the smallest C the certificate is exactly zero; each deviation is
    rejected.
    """

    gram, output, multiplier, signs = _instance()
    smallest = max(abs(x) for x in multiplier.flat)

    def accepted(targets: Any, box: Fraction) -> bool:
        problem = SvrProblem(gram.gram, targets, box, _EPSILON, "epsilon_insensitive", bias=False)
        return problem.certificate(multiplier, np.array([Fraction(0)], dtype=object)).accepts(0)

    targets = output + _EPSILON * signs
    right = accepted(targets, smallest)
    wrong = {
        "C below its smallest value": accepted(targets, smallest * Fraction(999, 1000)),
        "targets on the wrong side": accepted(output - _EPSILON * signs, smallest),
        "targets equal to the fit": accepted(output, smallest),
        "targets outside the tube where v = 0": accepted(targets + 2 * _EPSILON * (1 - abs(signs)), smallest),
    }
    alive = [name for name, ok in wrong.items() if ok]
    return [
        Evidence(
            "exact",
            "exact-rational",
            right and not alive,
            f"C* = {smallest}: zero residuals",
            backend="kernel certificate",
            wrong=len(wrong),
            not_rejected=tuple(alive),
        )
    ]


def solver_recovers_values(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """A solver that sees only keys and targets finds the values again: v = (α - α̃)/h."""

    gram, output, multiplier, signs = _instance()
    box = 2.0 * float(max(abs(x) for x in multiplier.flat))
    targets = (output + _EPSILON * signs).astype(float)
    problem = SvrProblem(
        gram.gram.astype(float), targets, box, float(_EPSILON), "epsilon_insensitive", bias=False
    )
    found = []
    for name, route in (
        ("Clarabel", solve_dual),
        ("scikit-learn SVR, polished", lambda p: polish(p, solve_libsvm(p))),
    ):
        answer = route(problem)
        values = answer.beta / gram.normaliser.astype(float)[:, None]
        error = float(np.abs(values - _VALUES.astype(float)).max())
        found.append(
            Evidence(
                "solver",
                "compared",
                error <= ACCEPTED,
                "values found again from keys, targets, C and ε",
                error=error,
                bound=ACCEPTED,
                backend=name,
                seconds=answer.seconds,
            )
        )
    return found


def independent_features(assumptions: SvrAssumptions, options: Options) -> list[Evidence]:
    """The Gram matrix of the exponential kernel at distinct keys is nonsingular, and singular with a
    repeated key.
    """
    distinct = exact_exponential_gram(
        np.array([[0, 0], [1, 0], [0, 1], [-1, 2], [2, 1]], dtype=object)
    ).kernel
    repeated = exact_exponential_gram(np.array([[0, 1], [1, 0], [0, 1]], dtype=object)).kernel
    passed = is_psd(distinct)[0] and nullspace(distinct).shape[1] == 0 and nullspace(repeated).shape[1] == 1
    return [
        Evidence(
            "exact",
            "exact-rational",
            passed,
            "five distinct keys: no null vector; a repeated key: one",
            backend="rational elimination",
        )
    ]
