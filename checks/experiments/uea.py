"""Accuracy on series of the UEA archive: do the attentions of nguyen2023 change it against their baseline?

The data are the papers' (Table 1 of nguyen2023 has JapaneseVowels, its Table 9 BasicMotions); model and
training are as `classifier` says, with the paper's eight heads, its scales and, for (26) and (51), its β.
Each seed draws a validation split and initial weights; all attentions of a seed share its split, so that they
are compared in pairs.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from checks.experiments import classifier, series
from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Experiment, Part, Watch
from checks.papers import recorded
from checks.papers.nguyen2023.table_data import TABLE_12, TABLE_13

Settings = dict[str, Any]
FAMILY = ("softmax", "BN", "BN (26)", "SH", "BN+SH", "BN+SH (51)")
FULL: Settings = {
    "sets": list(series.PACKAGED),
    "width": 128,
    "hidden": 256,
    "heads": 8,
    "scales": [1, 1, 2, 2, 4, 4, 8, 8],
    "dropout": 0.1,
    "batch": 16,
    "rate": 2e-3,
    "decay": 0.01,
    "epochs": 200,
    "patience": 40,
    "seeds": 5,
}
REDUCED = {"width": 64, "hidden": 128, "epochs": 60, "patience": 10}
REDUCTION = (
    "width 64 and 128 hidden units in place of 128 and 256, at most 60 epochs in place of 200, stopped after "
    "10 without a better validation loss in place of 40; neither size is the paper's, which does not state "
    "its own"
)


def given(path: Path) -> Settings:
    """Settings for the sets of a folder. Raises ExperimentError."""
    found = series.folders(path)
    digests = {name: series.digest(folder, name) for name, folder in found.items()}
    return {"data": str(path), "sets": list(found), "digest": digests}


@lru_cache(maxsize=2)
def _loaded(folder: Path, name: str) -> series.Data:
    return series.load(folder, name)


def load(settings: Settings, name: str) -> series.Data:
    """A set of a run, packaged or given. Raises ExperimentError, also where given files changed."""
    path = settings.get("data")
    data = _loaded(series.folders(Path(path) if path else None)[name], name)
    if data.digest != settings.get("digest", {}).get(name, data.digest):
        raise ExperimentError(f"{name} changed while the experiment ran; run it again")
    return data


def require(settings: Settings) -> None:
    """Raises ExperimentError where a set is missing or unusable, or its lengths do not fit memory."""
    for name in settings["sets"]:
        data = load(settings, name)
        classifier.split(data, 0)
        classifier.require_fit(settings, name, data.train.x.shape[1])


def layer(settings: Settings, name: str, longest: int) -> classifier.Layer:
    """What a set's layers are built for: β of Table 13, for linear and sparse attention of Table 12; 0.5
    where the set is not in it.
    """
    base = settings["attentions"][0]
    row = (TABLE_13 if base == "softmax" else TABLE_12).rows.get(name)
    first = 2 if base == "sparse" else 0  # Table 12: two columns for linear, two for sparse attention
    beta = (float(row[first]), float(row[first + 1])) if row else (0.5, 0.5)
    return classifier.Layer(settings, longest, beta)


def trained(settings: Settings, name: str, attention: str, seed: int, watch: Watch) -> dict[str, Any]:
    """One attention on one set from one seed."""
    data = load(settings, name)
    of = layer(settings, name, data.train.x.shape[1])
    found = classifier.fit(attention, of, data, settings, seed, watch)
    return {**found, "beta": of.beta, "data": data.digest[:16]}


def parts(settings: Settings, seed: int) -> list[Part]:
    """Every attention on every set from every seed."""
    work = float(settings["epochs"] * settings["width"])
    return [
        Part(
            f"{name}; {attention}; seed {k}",
            settings["epochs"],
            partial(trained, settings, name, attention, seed + k),
            work,
        )
        for name in settings["sets"]
        for k in range(settings["seeds"])
        for attention in settings["attentions"]
    ]


def _experiment(id: str, base: str, attentions: tuple[str, ...], **more: Any) -> Experiment:
    return Experiment(
        f"nguyen2023/{id}",
        f"Accuracy of {base} attention and its BN, SH and BN+SH versions on UEA series",
        {**FULL, "attentions": list(attentions), **more},
        REDUCED,
        REDUCTION,
        parts,
        partial(recorded.lines, base=base),
        reads=series.READS,
        given=given,
        require=require,
    )


def versions(base: str) -> tuple[str, ...]:
    """Linear or sparse attention and its versions as the paper trains them: (26), scaled heads, (51)."""
    return (base, *(f"{base} {name}" for name in ("BN (26)", "SH", "BN+SH (51)")))


EXPERIMENTS = (
    _experiment("uea", "softmax", FAMILY),
    _experiment("uea-linear", "linear", versions("linear")),
    _experiment("uea-sparse", "sparse", versions("sparse"), kept=0.5),
)
