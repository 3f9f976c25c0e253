"""The assumptions of the theory energy, and the knobs that turn them."""

from __future__ import annotations

from dataclasses import dataclass

from derivations.theories.theory import Knob


@dataclass(frozen=True)
class EnergyAssumptions:
    """The choices of Sections 3 and 7; the defaults are the algorithm as the paper prints it."""

    F: str = "any"
    regulariser: str = "section7"
    initial_state: str = "attention"
    step: str = "small"


KNOBS = (
    Knob(
        "F", ("any", "EXPRESSION in u"), "the function of the alignments, such as u^2, exp(u) or log(cosh(u))"
    ),
    Knob(
        "regulariser",
        ("section7", "section5", "matching", "none"),
        "weights of the linear regulariser: 2c_j as in (75), p c_j^(p-1) as in (58) for F = u^p, F'(c_j), or "
        "none",
    ),
    Knob(
        "initial_state", ("attention", "zero", "random", "given"), "where descent starts: AV, 0, or anywhere"
    ),
    Knob("step", ("small", "POSITIVE NUMBER"), "the step size η; small means inside the stable range"),
)
