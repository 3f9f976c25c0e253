"""The experiments of chen2023: data, matrices and statistics are what they are called; a stopped run
ends the same.
"""

from __future__ import annotations

import math

import pytest
import torch

from checks.experiments import decay, primal_costs
from checks.experiments.experiment import committed, read
from checks.experiments.registry import EXPERIMENTS
from checks.tensors.systems.primal import PrimalAttention

TINY = {"tokens": 8, "width": 8, "heads": 2, "directions": 3, "eta": 0.05, "steps": 4, "seeds": 1}


class Kept:
    """A watch that keeps every state, and stops the run after `stop` steps."""

    def __init__(self, stop=None, state=None):
        self.stop, self.state, self.done = stop, state, 0

    def restore(self):
        return self.state

    def step(self, count=1):
        self.done += count

    def save_if_due(self, state):
        self.state = state()
        if self.stop is not None and self.done >= self.stop:
            raise KeyboardInterrupt


def test_the_class_is_that_of_most_marked_symbols():
    tokens, classes = decay.sequences(50, 12, torch.Generator().manual_seed(0))
    for row, label in zip(tokens.tolist(), classes.tolist(), strict=True):
        marked = [t - decay.SYMBOLS for t in row if t >= decay.SYMBOLS]
        assert len(marked) == decay.MARKED and marked.count(label) == decay.MAJORITY


def test_decay_of_known_matrices():
    n = 6
    flat = decay.decay(torch.eye(n).expand(3, n, n))
    assert flat["rank"] == n and flat["explained"] == pytest.approx([(i + 1) / n for i in range(n)], abs=1e-5)
    one = decay.decay(torch.ones(2, 2, n, n))
    assert one["rank"] == pytest.approx(1) and one["explained"][0] == 1 and one["spectrum"][1] <= 1e-12
    two = decay.decay(torch.diag(torch.tensor([3.0, 1.0])).expand(2, 2, 2))
    assert two["explained"] == [0.9, 1.0] and two["spectrum"] == [1.0, pytest.approx(1 / 3, abs=1e-3)]
    assert two["rank"] == pytest.approx(math.exp(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25))), abs=1e-4)


@pytest.mark.parametrize("model", decay.MODELS)
def test_matrices_are_those_that_the_layers_use(model):
    torch.manual_seed(0)
    net = decay.TwoLayers(model, 8, 8, 2, 3)
    tokens, _ = decay.sequences(2, 8, torch.Generator().manual_seed(1))
    first, second = net.matrices(tokens)
    inputs, scores = net._inputs(tokens)
    assert first.shape == second.shape == (2, 2, 8, 8)
    torch.testing.assert_close(first.sum(-1), torch.ones_like(first.sum(-1)))
    layer = net.attention[1]
    if model == "canonical":
        assert scores is None
        torch.testing.assert_close(second.sum(-1), torch.ones_like(second.sum(-1)))
        return
    # e = K h_r for the weights W_e = f(X) φ_kᵀ h_r: the kernel is that of the scores
    assert isinstance(layer, PrimalAttention)
    x, h = inputs[1], torch.randn(2, 2, 8, 3)
    f = layer.transformation(x)
    left, right = (layer.features(layer._heads(m(x))) for m in (layer.query, layer.key))
    e = left @ f.mT @ (f @ right.mT @ h)
    torch.testing.assert_close(e.double(), second @ h.double(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", ["canonical", "primal, loss (11)"])
def test_a_stopped_run_goes_on_and_ends_the_same(model):
    whole = decay.train(TINY, model, 0, Kept())
    stopped = Kept(stop=2)
    with pytest.raises(KeyboardInterrupt):
        decay.train(TINY, model, 0, stopped)
    assert stopped.done == 2
    assert decay.train(TINY, model, 0, Kept(state=stopped.state)) == whole
    assert decay.train(TINY, model, 1, Kept()) != whole


def test_the_loss_is_in_the_training():
    plain, released = (decay.train(TINY, m, 0, Kept()) for m in ("primal", "primal, released loss"))
    assert plain["layer 2"] != released["layer 2"]
    strong = decay.train({**TINY, "eta": 5.0, "steps": 60}, "primal, released loss", 0, Kept())
    assert (
        strong["root_mean_square_J"]
        < decay.train({**TINY, "steps": 60}, "primal", 0, Kept())["root_mean_square_J"]
    )


def result(ranks):
    return {
        f"{model}; seed {s}": {"accuracy": 1.0, "layer 1": {"rank": 1.0}, "layer 2": {"rank": r}}
        for model, own in ranks.items()
        for s, r in enumerate(own)
    }


def test_what_is_said_follows_from_every_seed():
    base = {"canonical": [5, 5], "primal": [2, 3], "primal, loss (11)": [2.5, 2.5]}
    for own, words in (([1, 2], "sharper"), ([3, 4], "slower"), ([1, 4], "mixed"), ([2, 3], "mixed")):
        data = result({**base, "primal, released loss": own})
        assert decay.finding(data, "primal, released loss", 2) == words
        assert any(line.endswith(f"second layer {words}") for line in decay.summary(data))


def test_costs_are_measured_and_counted():
    found = primal_costs.measured({"repeats": 1}, 64, Kept())
    assert set(found) == set(primal_costs.KINDS)
    for own in found.values():
        assert own["counted"] == own["layer"] > own["attention"] and own["seconds"] > 0 and own["stored"] > 0


@pytest.mark.parametrize("id", ["chen2023/fig1", "chen2023/fig2"])
def test_what_is_recorded_is_of_the_experiment_as_it_is(id):
    kept, chosen = read(committed(id)), EXPERIMENTS[id]
    assert kept["experiment"] == id and kept["settings"] == chosen.settings(kept["size"] == "full")
    assert [p.name for p in chosen.parts(kept["settings"], kept["seed"])] == list(kept["data"])
    assert chosen.summary(kept["data"])
