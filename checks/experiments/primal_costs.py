"""Figure 2 and Tables 2 and 4 of Chen et al. (2023): formulas, operations counted by torch, and times
measured here.

Times are those of whole layers, forwards, in float32 on one processor, as medians of interleaved runs; only
their ratios mean anything. Canonical attention is torch's streamed kernel: the N × N matrix of the paper's
space bound is never stored.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median
from typing import Any

import torch

from checks.experiments.experiment import Experiment, Part, Watch
from checks.papers.chen2023 import costs

KINDS = {
    "canonical": ("canonical", costs.UEA_LAYER),
    "primal, f(X) of 300 tokens": ("primal", costs.UEA_LAYER),
    "primal, f(X) absent": ("primal", costs.UEA_INDEPENDENT),
}


@torch.no_grad()
def measured(settings: dict[str, Any], n: int, watch: Watch) -> dict[str, Any]:
    """Seconds of each kind of layer at N tokens of width 512, with its multiplications and the numbers
    kept for training.
    """
    torch.manual_seed(0)
    x = torch.randn(1, n, costs.UEA_LAYER.width)
    modules = {name: costs.module(kind, layer, n) for name, (kind, layer) in KINDS.items()}
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(settings["repeats"]):
        for kind, module in modules.items():
            started = time.perf_counter()
            module(x)
            taken[kind].append(time.perf_counter() - started)
    watch.step()
    found = {}
    for name, (kind, layer) in KINDS.items():
        with torch.enable_grad():
            stored = costs.stored(kind, layer, n)
        found[name] = {
            "seconds": round(median(taken[name]), 5),
            "attention": costs.canonical(layer, n) if kind == "canonical" else costs.primal(layer, n),
            "layer": costs.whole(kind, layer, n),
            "counted": costs.counted(kind, layer, n),
            "stored": stored,
        }
    return found


def _table(number: int, watch: Watch) -> list[dict[str, Any]]:
    watch.step()
    return [{**vars(row), "printed": round(row.printed, 3)} for row in costs.rows_of_table(number)]


def parts(settings: dict[str, Any], seed: int) -> list[Part]:
    """One part a length, one a table."""
    lengths = [
        Part(str(n), 1, partial(measured, settings, n), float(n * (n + 4096))) for n in settings["lengths"]
    ]
    return [*lengths, *(Part(f"Table {t}", 1, partial(_table, t), 1.0) for t in (2, 4))]


def summary(data: dict[str, Any]) -> list[str]:
    """Lines for the command."""
    lines = []
    for n, found in data.items():
        if n.isdigit():
            base = found["canonical"]
            for kind in list(KINDS)[1:]:
                own = found[kind]
                lines.append(
                    f"N = {n}, {kind}: canonical takes {base['seconds'] / own['seconds']:.2f} times as long; "
                    "multiplications of the "
                    f"layer {base['layer'] / own['layer']:.2f}, of attention alone "
                    f"{base['attention'] / own['attention']:.2f}; "
                    f"keeps {base['stored'] / own['stored']:.2f} times the numbers"
                )
    return lines


EXPERIMENT = Experiment(
    "chen2023/fig2",
    "Time and memory of Primal-Attention against canonical attention",
    {"lengths": [256, 1024, 4096, 16384, 32768], "repeats": 5},
    {"lengths": [256, 1024, 4096, 8192], "repeats": 3},
    "up to 8,192 tokens and three runs each in place of 32,768 and five",
    parts,
    summary,
)
