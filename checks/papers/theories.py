"""The theories whose assumptions can be changed."""

from __future__ import annotations

from derivations.theories import ksvd
from derivations.theories.energy import choices as energy_choices
from derivations.theories.energy import steps as energy
from derivations.theories.functional_descent import steps as functional_steps
from derivations.theories.functional_descent.updates import FunctionalAssumptions
from derivations.theories.svr import attentions as svr_attentions
from derivations.theories.svr import regression as svr
from derivations.theories.theory import Theory

THEORIES = (
    Theory(
        "energy",
        energy_choices.EnergyAssumptions(),
        energy_choices.KNOBS,
        energy.validate,
        energy.derive,
    ),
    Theory(
        "functional_descent",
        FunctionalAssumptions(),
        functional_steps.KNOBS,
        functional_steps.validate,
        functional_steps.derive,
    ),
    Theory("ksvd", ksvd.KsvdAssumptions(), ksvd.KNOBS, ksvd.validate, ksvd.derive),
    Theory("svr", svr.SvrAssumptions(), svr.KNOBS, svr.validate, svr_attentions.derive),
)
