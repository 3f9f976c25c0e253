"""Figures 1 to 9 of Wang, Henao and Carin (2024), on synthetic contexts; Figure 5 is in `images`."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from checks.experiments import categories as cat
from checks.experiments import images
from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Experiment, Part, Watch
from checks.tensors.functional_descent.layers import Transformer, codes

Settings = dict[str, Any]
# the categories of the quadrants of Figure 1: 0 on the upper left; 2, whose map bends most, on a diagonal
FIGURE_1 = torch.tensor([[2, 1, 0, 2]])
TRAINED = "Trained TF"
GRID, DRAWN = 100, 3  # 100 x 100 queries at once; every third row and column is kept for the picture

TRAINING = {"context": 20, "steps": 5000, "gd_contexts": 512, "tf_contexts": 2048, "evaluated": 10_000}
REDUCED = {"steps": 1500, "gd_contexts": 256, "tf_contexts": 512, "curve_evaluated": 1000}
REDUCTION = (
    "1,500 Adam steps in place of 5,000, 256 and 512 contexts a step in place of 512 and 2,048; points of a "
    "training "
    "curve are judged on 1,000 contexts, final errors on 10,000"
)


def _judged(settings: Settings) -> int:
    """The contexts on which a point of a training curve is judged."""
    return int(settings.get("curve_evaluated") or settings["evaluated"])


def trained(
    watch: Watch, settings: Settings, seed: int, name: str, kernel: str, heads: int = 1, curve: bool = False
) -> tuple[Transformer, list[tuple[int, float | None]]]:
    """A model after training, and its curve of the error at the centres."""
    model = cat.make(name, kernel, seed, heads)

    def judge(current: Transformer) -> float:
        return cat.centre_error(current, _judged(settings), settings["context"], cat.HELD_OUT)

    contexts = settings["gd_contexts" if name == "GD" else "tf_contexts"]
    found = cat.train(
        watch,
        model,
        cat.RATES[name],
        settings["steps"],
        partial(cat.query_loss, contexts, settings["context"]),
        seed + 1,
        judge if curve else None,
    )
    return model, found


def _work(settings: Settings, name: str, heads: int = 1, curve: bool = False) -> float:
    """Contexts that go through the model forwards and backwards; judging goes forwards only, with four
    queries.
    """
    contexts = settings["gd_contexts" if name == "GD" else "tf_contexts"]
    judged = _judged(settings) * cat.CURVE if curve else 0
    return heads * (settings["steps"] * contexts + judged)


# ---------------------------------------------------------------- Figure 1


def _counts(settings: Settings, seed: int, watch: Watch) -> dict[str, Any]:
    """How often each label is the dominating one of its quadrant, the next and the one after, and each
    quadrant's share.
    """
    batch = cat.draw(settings["counted"], settings["context"], torch.Generator().manual_seed(seed))
    place = cat.quadrant(batch.x)
    shifted = (batch.labels - batch.dominating.gather(1, place)) % cat.CLASSES
    watch.step()
    return {
        "points": batch.labels.numel(),
        "labels": torch.bincount(shifted.flatten(), minlength=cat.CLASSES).tolist(),
        "quadrants": torch.bincount(place.flatten(), minlength=4).tolist(),
    }


def figure_1(settings: Settings, seed: int) -> list[Part]:
    """The context that is shown, and the frequencies of labels over many contexts."""
    return [
        Part("contexts", 1, partial(_shown, settings)),
        Part("counts", 1, partial(_counts, settings, seed)),
    ]


def _frequencies(data: dict[str, Any]) -> list[str]:
    found = data["counts"]
    shares = ", ".join(f"{count / found['points']:.4f}" for count in found["labels"])
    return [
        f"labels over {found['points']} points: dominating and the two others {shares}; published 0.8, 0.1, "
        "0.1"
    ]


# ---------------------------------------------------------------- Figures 3 and 4


def _curve(
    settings: Settings, seed: int, name: str, kernel: str, heads: int, sizes: bool, watch: Watch
) -> dict[str, Any]:
    model, curve = trained(watch, settings, seed, name, kernel, heads, curve=True)
    found = {
        "curve": [[step, _short(value)] for step, value in curve],
        "error": cat.finite(
            cat.centre_error(model, settings["evaluated"], settings["context"], cat.HELD_OUT + 1)
        ),
        "learned": cat.learned(model),
    }
    if sizes:
        errors = {
            size: cat.centre_error(model, settings["evaluated"], size, cat.HELD_OUT + 1)
            for size in settings["sizes"]
        }
        found["sizes"] = [[size, _short(cat.finite(value))] for size, value in errors.items()]
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 7)


def _shown_error(value: float | None) -> str:
    return "diverged" if value is None else f"{value:.5f}"


def _curve_part(
    settings: Settings, seed: int, name: str, kernel: str, label: str, heads: int = 1, sizes: bool = False
) -> Part:
    run = partial(_curve, settings, seed, name, kernel, heads, sizes)
    return Part(label, settings["steps"], run, _work(settings, name, heads, curve=True))


def _references(settings: Settings, watch: Watch) -> dict[str, Any]:
    """What the errors compare with: 1/C everywhere, and the posterior mean."""
    sizes = settings.get("sizes", [settings["context"]])
    uniform = ((cat.MOST - cat.START) ** 2 + 2 * (cat.LEAST - cat.START) ** 2) / 3
    best = [
        [size, round(cat.best_error(settings["evaluated"], size, cat.HELD_OUT + 1), 7)]
        for size in sorted({settings["context"], *sizes})
    ]
    watch.step()
    return {"uniform": uniform, "best": best}


def figure_3(settings: Settings, seed: int) -> list[Part]:
    """For each kernel the designed transformer and trained ones from several initialisations."""
    parts = [Part("references", 1, partial(_references, settings))]
    for kernel in settings["kernels"]:
        parts.append(_curve_part(settings, seed, "GD", kernel, f"GD {kernel}"))
        parts += [
            _curve_part(settings, seed + k, name, kernel, f"{name} {kernel} {k}")
            for name in (TRAINED, *([cat.EMPTY_SLOT] if kernel in settings["also_empty_slot"] else []))
            for k in range(settings["seeds"])
        ]
    return parts


def figure_4(settings: Settings, seed: int) -> list[Part]:
    """Softmax attention with one to four trained heads; and contexts of other sizes than in training."""
    parts = [Part("references", 1, partial(_references, settings))]
    parts.append(_curve_part(settings, seed, "GD", "softmax", "GD", sizes=True))
    for heads in settings["heads"]:
        parts += [
            _curve_part(
                settings, seed + k, "Trained TF", "softmax", f"Trained TF {heads} {k}", heads, heads == 1
            )
            for k in range(settings["seeds"])
        ]
    return parts


def _errors(data: dict[str, Any]) -> list[str]:
    """The error of each model, next to its references."""
    lines = [f"{name:24} {_shown_error(found['error'])}" for name, found in data.items() if "error" in found]
    best = ", ".join(f"{value:.5f} (N = {size})" for size, value in data["references"]["best"])
    uniform = f"always 1/3: {data['references']['uniform']:.5f}; posterior mean: {best}"
    return ["mean squared error at the centres", *lines, uniform]


# ---------------------------------------------------------------- Figures 2 and 6 to 9: maps


def grid() -> torch.Tensor:
    """The 100 x 100 queries, (1, 10000, 2), row by row from below."""
    line = torch.linspace(-1, 1, GRID, dtype=torch.float64)
    across, up = torch.meshgrid(line, line, indexing="xy")
    return torch.stack([across, up], -1).reshape(1, -1, 2)


def shown_context(number: int, size: int) -> cat.Contexts:
    """The contexts that the maps show; the first has the categories of Figure 1."""
    generator = torch.Generator().manual_seed(20 + number)
    return cat.draw(1, size, generator, FIGURE_1 if number == 0 else None)


@torch.no_grad()
def probability_map(model: Transformer, context: cat.Contexts) -> torch.Tensor:
    """The predicted probabilities of all classes at the queries, (3, 100, 100); class 0 is the complement."""
    predicted = model(context.x, codes(context.labels, cat.CLASSES), grid(), cat.START)[0]
    whole = torch.cat([1 - predicted.sum(-1, keepdim=True), predicted], -1)
    return whole.T.reshape(cat.CLASSES, GRID, GRID)


def _thousandths(values: torch.Tensor) -> list[Any]:
    return (1000 * values[..., ::DRAWN, ::DRAWN]).round().int().tolist()


def _map(settings: Settings, seed: int, name: str, kernel: str, watch: Watch) -> dict[str, Any]:
    model, _ = trained(watch, settings, seed, name, kernel)
    contexts = [shown_context(k, settings["context"]) for k in range(settings["contexts"])]
    maps = [probability_map(model, context) for context in contexts]
    if not all(bool(m.isfinite().all()) for m in maps):
        raise ExperimentError(
            f"{name} with the {kernel} kernel diverged in training: there is no map to draw"
        )
    return {
        "learned": cat.learned(model),
        "error": cat.centre_error(model, settings["evaluated"], settings["context"], cat.HELD_OUT + 1),
        "maps": [_thousandths(m[1:]) for m in maps],  # classes 1 and 2; class 0 is the complement
        "smallest": min(float(m.min()) for m in maps),
        "largest": max(float(m.max()) for m in maps),
    }


def _shown(settings: Settings, watch: Watch) -> dict[str, Any]:
    """The contexts of the maps, and the true probabilities' quadrants."""
    contexts = [shown_context(k, settings["context"]) for k in range(settings["contexts"])]
    watch.step()
    return {
        "x": [[[round(v, 4) for v in point] for point in c.x[0].tolist()] for c in contexts],
        "labels": [c.labels[0].tolist() for c in contexts],
        "dominating": [c.dominating[0].tolist() for c in contexts],
    }


def maps(settings: Settings, seed: int) -> list[Part]:
    """The maps of the designed transformer, and of a trained one where the figure has it."""
    return [Part("contexts", 1, partial(_shown, settings))] + [
        Part(
            name,
            settings["steps"],
            partial(_map, settings, seed, name, settings["kernel"]),
            _work(settings, name),
        )
        for name in settings["models"]
    ]


def _agreement(data: dict[str, Any]) -> list[str]:
    models = {name: found for name, found in data.items() if "maps" in found}
    lines = [
        f"{name:18} error at the centres {found['error']:.5f}, outputs from {found['smallest']:.2f} to "
        f"{found['largest']:.2f}"
        for name, found in models.items()
    ]
    for name in [name for name in models if name != "GD"]:
        far = 100 * map_difference(data, name)
        lines.append(f"the maps of GD and {name} differ by {far:.1f} percentage points on average")
    return lines


def map_difference(data: dict[str, Any], name: str) -> float:
    """Mean absolute difference of a model's and GD's probabilities of classes 1 and 2 over the kept
    queries.
    """
    one, two = (torch.tensor(data[model]["maps"], dtype=torch.float64) for model in ("GD", name))
    return float((one - two).abs().mean()) / 1000


def _maps(figure: int, kernel: str, models: list[str], contexts: int = 1) -> Experiment:
    what = {1: "one context", 3: "three contexts"}[contexts]
    return Experiment(
        f"wang2024/fig{figure}",
        f"Maps of the probabilities with {kernel} attention, {what}",
        {**TRAINING, "kernel": kernel, "models": models, "contexts": contexts},
        REDUCED,
        REDUCTION,
        maps,
        _agreement,
    )


BOTH = ["GD", TRAINED]
EXPERIMENTS = (
    Experiment(
        "wang2024/fig1",
        "Contexts by quadrants: an example, and the frequencies of labels",
        {"context": 20, "contexts": 1, "counted": 10_000},
        {},
        "",
        figure_1,
        _frequencies,
    ),
    _maps(2, "softmax", BOTH),
    Experiment(
        "wang2024/fig3",
        "Error over training for four kernels",
        {
            **TRAINING,
            "kernels": ["linear", "exponential", "rbf", "softmax"],
            "also_empty_slot": ["linear"],
            "seeds": 5,
        },
        {**REDUCED, "seeds": 3},
        REDUCTION + "; three initialisations in place of five",
        figure_3,
        _errors,
    ),
    Experiment(
        "wang2024/fig4",
        "Softmax attention: number of heads, size of the context",
        {**TRAINING, "heads": [1, 2, 3, 4], "sizes": [10, 15, 20, 30, 40, 50], "seeds": 5},
        {**REDUCED, "seeds": 1},
        REDUCTION + "; one initialisation in place of five",
        figure_4,
        _errors,
    ),
    images.EXPERIMENT,
    _maps(6, "rbf", ["GD"], 3),
    _maps(7, "linear", [*BOTH, cat.EMPTY_SLOT]),
    _maps(8, "exponential", BOTH),
    _maps(9, "laplacian", BOTH),
)
