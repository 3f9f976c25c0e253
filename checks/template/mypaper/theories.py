"""Theory retrieval: attention as the resting point of an energy.

Symbols: weights a_j of N keys, values v_j of length D_v, the state z.
"""

from __future__ import annotations

from dataclasses import dataclass

from attention_audit import Index, Knob, Raw, Step, Tensor, Term, Theory, as_term, grad, squared_norm

d = Index("d", "D_v")
z, a = Tensor("z", ("D_v",), r"\boldsymbol{z}"), Tensor("a", ("N",), r"\boldsymbol{a}")
V = Tensor("V", ("N", "D_v"), r"\mathbf{V}")


@dataclass(frozen=True)
class Assumptions:
    """The choices of the paper."""

    pull: str = "squared"


KNOBS = (Knob("pull", ("squared", "none"), "what holds the state back: half its square, or nothing"),)


def validate(name: str, value: str) -> None:
    """Raises ValueError for a value that a knob does not take."""
    if value not in KNOBS[0].allowed:
        raise ValueError("not a value of this knob")


def energy(assumptions: Assumptions) -> Term:
    """½‖z‖² - z·Vᵀa, or without the square."""
    coupling = as_term(z).T @ (as_term(V).T @ as_term(a))
    return squared_norm(z) / 2 - coupling if assumptions.pull == "squared" else -coupling


def derive(assumptions: Assumptions) -> list[Step]:
    """The energy and its gradient."""
    derivative = Raw((), grad(energy(assumptions), z).entry(d))
    return [
        Step("Energy", f"E = {energy(assumptions).latex()}", "as the assumptions say"),
        Step("Gradient", rf"\frac{{\partial E}}{{\partial z_d}} = {derivative.latex()}", "differentiated"),
    ]


THEORIES = (Theory("retrieval", Assumptions(), KNOBS, validate, derive),)
