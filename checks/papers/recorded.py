"""What experiments found, as evidence: recorded results of `attest experiment`, compared seed by seed.

A claim that reports an experiment names the recorded ones that speak of it (`Recorded`). They settle nothing,
whatever they found: other sizes, other training, few runs. What is said is computed from the recorded data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from checks.claim import ROOT
from checks.evidence import Evidence, as_written

RESULTS = ROOT / "checks" / "records" / "experiments"
CONFIDENCE = 0.95
Result = dict[str, Any]


class Difference(NamedTuple):
    """A mean of paired differences with its confidence interval and p-value (Student's t for pairs).

    Where all differences are equal there is no spread to judge by: the interval is the point, ``p`` None.
    """

    mean: float
    low: float
    high: float
    p: float | None
    pairs: int

    def holds(self, value: float) -> bool:
        """Whether the interval contains a value."""
        return self.low <= value <= self.high

    def text(self, digits: int = 2) -> str:
        """Mean, interval and p-value in words."""
        if self.p is None:
            return f"{self.mean:+.{digits}f} in each of {self.pairs} pairs"
        interval = f"[{self.low:+.{digits}f}, {self.high:+.{digits}f}]"
        return f"{self.mean:+.{digits}f} {interval} ({100 * CONFIDENCE:g} %, paired t), p = {self.p:.2g}"


def paired(own: list[float], base: list[float]) -> Difference:
    """``own`` less ``base``, pair by pair. Raises ValueError for lists of different lengths or a single
    pair.
    """
    from scipy.stats import ttest_rel

    if len(own) != len(base) or len(own) < 2:
        raise ValueError(f"{len(own)} and {len(base)} values make no pairs to compare")
    found = [a - b for a, b in zip(own, base, strict=True)]
    mean = sum(found) / len(found)
    if max(found) - min(found) <= 1e-12:
        return Difference(mean, mean, mean, None, len(found))
    test = ttest_rel(own, base)
    low, high = test.confidence_interval(CONFIDENCE)
    return Difference(mean, float(low), float(high), float(test.pvalue), len(found))


def accuracies(data: dict[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Test accuracies in percent by data set and model, one a seed, from parts named "set; model; seed k"."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, part in data.items():
        group, model, _ = name.split("; ")
        found.setdefault(group, {}).setdefault(model, []).append(100 * part["accuracy"])
    return found


def differences(models: dict[str, list[float]], base: str) -> dict[str, Difference]:
    """Each model against ``base``, seed by seed; none where there is a single seed."""
    return {
        model: paired(own, models[base])
        for model, own in models.items()
        if model != base and len(own) == len(models[base]) > 1
    }


def lines(data: dict[str, Any], base: str = "softmax") -> list[str]:
    """Mean accuracies by data set, and differences from a model."""
    said = []
    for group, models in accuracies(data).items():
        found = differences(models, base)
        for model, own in models.items():
            against = f"; against {base} {found[model].text()}" if model in found else ""
            said.append(f"{group}, {model}: {sum(own) / len(own):.2f} % ({len(own)} seeds){against}")
    return said


def rules(found: dict[str, Any]) -> list[str]:
    """What rules get, each with its interval."""
    return [
        f"{name} {100 * own['right'] / own['of']:.1f} % [{100 * own['low']:.1f}, {100 * own['high']:.1f}] of "
        f"{own['of']}"
        for name, own in found.items()
    ]


def against_rules(printed: tuple[Fraction, ...], result: Result) -> list[str]:
    """The rules, and how many of the printed accuracies lie within the interval of each."""
    found = result["data"]["rules"]
    low, high = min(printed), max(printed)
    said = [*rules(found), f"printed {float(low):.2f} to {float(high):.2f} %"]
    for name, own in found.items():
        inside = sum(100 * own["low"] <= p <= 100 * own["high"] for p in printed)
        said.append(f"{inside} of {len(printed)} printed accuracies lie in the interval of the rule {name}")
    return said


def spread(values: list[float]) -> str:
    """A mean with the range over the seeds."""
    return f"{sum(values) / len(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def primal_lines(data: dict[str, Any], base: str) -> list[str]:
    """`lines`, and for each model the effective ranks of its kernels, and J before and after training."""
    said = lines(data, base)
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, part in data.items():
        group, model, _ = name.split("; ")
        runs.setdefault((group, model), []).append(part)
    for (group, model), own in runs.items():
        ranks = (f"layer {n} {spread([part[f'layer {n}']['rank'] for part in own])}" for n in (1, 2))
        text = f"{group}, {model}: effective rank, {', '.join(ranks)}"
        for layer in range(len(own[0]["J"][0])):
            before, after = ([part["J"][time][layer] for part in own] for time in (0, 1))
            place = layer + 3 - len(own[0]["J"][0])  # Primal layers are the last ones
            text += f"; root mean square of J in layer {place} from {spread(before)} to {spread(after)}"
        said.append(text)
    return said


def ranks(models: tuple[str, ...], result: Result) -> list[str]:
    """The effective ranks of both layers' kernels, model by model, and the second layer's against the
    first-named model, seed by seed.
    """
    said = []
    for layer in (1, 2):
        own = {
            model: [p[f"layer {layer}"]["rank"] for n, p in result["data"].items() if f"; {model};" in n]
            for model in models
        }
        found = differences(own, models[0])
        said += [
            f"effective rank in layer {layer}, {model}: {spread(values)}"
            + (f", against {models[0]} {found[model].text()}" if model in found else "")
            for model, values in own.items()
        ]
    return said


def compared(group: str, base: str, printed: dict[str, Fraction | None], result: Result) -> list[str]:
    """The named models' differences from ``base`` on a data set, each beside the paper's where it prints one,
    and what the interval says of it.
    """
    models = accuracies(result["data"])[group]
    seeds = len(models[base])
    said = [f"{group}, {base} {sum(models[base]) / seeds:.2f} %, {seeds} seeds"]
    found = differences(models, base)
    for model, paper in printed.items():
        if model in found:
            beside = (
                "" if paper is None else f", printed {float(paper):+.2f}, {_reading(found[model], paper)}"
            )
            said.append(f"{model} less {base}, in points, {found[model].text()}{beside}")
    return said


def _reading(found: Difference, paper: Fraction) -> str:
    """What an interval says of a printed difference."""
    if not found.holds(float(paper)):
        return "which lies outside the interval"
    return "which lies inside the interval" + (", as 0 does" if found.holds(0) else ", 0 outside")


def size(result: Result) -> str:
    """The size of a run, and what makes a reduced one smaller."""
    return f"{result['size']} size" + (f" ({result['reduction']})" if result["reduction"] else "")


@dataclass(frozen=True)
class Recorded:
    """A leg that cites the recorded result of an experiment: ``says`` makes sentences of it, ``differs``
    says what is not as in the paper at any size, ``dtype`` is that of the trained models, if there are any.
    The digest of the result is part of the record's key.
    """

    experiment: str
    says: Callable[[Result], list[str]]
    differs: str
    dtype: str | None = "float32"
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        path = self.path
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"
        object.__setattr__(self, "digest", found)

    @property
    def path(self) -> Path:
        """Where the repository keeps the result."""
        return RESULTS / f"{self.experiment}.json"

    def __call__(self, assumptions: Any, options: Any) -> list[Evidence]:
        """One piece of evidence that settles nothing, or says that no result is recorded."""
        if not self.path.is_file():
            why = f"no result of attest experiment {self.experiment} is recorded"
            return [Evidence("tensor", "measured", None, not_run=why)]
        try:
            result = as_written(json.loads(self.path.read_text(encoding="utf-8")))
        except ValueError as error:
            why = f"the recorded result of attest experiment {self.experiment} is not used: {error}"
            return [Evidence("tensor", "measured", None, not_run=why)]
        said = "; ".join(self.says(result))
        less = result["reduction"] and f"against our own full size: {result['reduction']}"
        differs = "; ".join(filter(None, (self.differs, less)))
        detail = (
            f"attest experiment {self.experiment}, {result['size']} size: {said}. Not as in the paper: "
            f"{differs}."
        )
        device, seconds = result["provenance"]["device"], result["cpu_seconds"]
        return [
            Evidence(
                "tensor", "measured", None, detail, dtype=self.dtype, device=device, seconds=float(seconds)
            )
        ]
