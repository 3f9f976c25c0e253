"""All experiments, by id. An experiment is added by listing it in its module, and the module here."""

from __future__ import annotations

from checks.experiments import decay, digits, folders, lra, primal_costs, primal_series, uea, wang2024
from checks.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    e.id: e
    for e in (
        decay.EXPERIMENT,
        primal_costs.EXPERIMENT,
        primal_series.EXPERIMENT,
        *uea.EXPERIMENTS,
        digits.EXPERIMENT,
        lra.EXPERIMENT,
        folders.EXPERIMENT,
        *wang2024.EXPERIMENTS,
    )
}
