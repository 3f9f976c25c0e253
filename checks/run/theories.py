"""The theories whose assumptions can be changed: name, defaults, knobs, validation, derivation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from derivations.calculus.program import Step
from derivations.theories import ksvd
from derivations.theories.energy import choices as energy_choices
from derivations.theories.energy import steps as energy
from derivations.theories.functional_descent import steps as functional_steps
from derivations.theories.functional_descent.updates import FunctionalAssumptions
from derivations.theories.svr import attentions as svr_attentions
from derivations.theories.svr import regression as svr
from derivations.theories.theory import BadAssumption, Knob, changed


@dataclass(frozen=True)
class Theory:
    """A theory: its default assumptions, its knobs, how to validate a value and how to derive its results."""

    name: str
    defaults: Any
    knobs: tuple[Knob, ...]
    validate: Callable[[str, str], None]
    derive: Callable[[Any], list[Step]]

    def assumptions(self, settings: dict[str, Any]) -> Any:
        """The defaults with some knobs set. Raises BadAssumption."""
        return changed(self.defaults, self.knobs, settings, self.validate)


THEORIES = {
    "energy": Theory(
        "energy",
        energy_choices.EnergyAssumptions(),
        energy_choices.KNOBS,
        energy.validate,
        energy.derive,
    ),
    "functional_descent": Theory(
        "functional_descent",
        FunctionalAssumptions(),
        functional_steps.KNOBS,
        functional_steps.validate,
        functional_steps.derive,
    ),
    "ksvd": Theory("ksvd", ksvd.KsvdAssumptions(), ksvd.KNOBS, ksvd.validate, ksvd.derive),
    "svr": Theory("svr", svr.SvrAssumptions(), svr.KNOBS, svr.validate, svr_attentions.derive),
}


def theory(name: str) -> Theory:
    """A theory by name. Raises BadAssumption with the names there are."""
    if name not in THEORIES:
        raise BadAssumption(f"no theory '{name}'; there are {', '.join(sorted(THEORIES))}")
    return THEORIES[name]
