"""The small model learns its task, its heads are saved in the documented layout, and training is seeded."""

import numpy as np
import pytest
import torch

from checks.tensors.core.errors import TensorError
from checks.tensors.measure.head import measure
from checks.tensors.measure.load import read_layers
from checks.tensors.measure.tiny_model import HIDDEN, SYMBOLS, batch, main, train


def test_a_hidden_symbol_is_seen_in_its_other_place():
    shown, whole, hidden = batch(50, 16, torch.Generator().manual_seed(0))
    assert torch.equal(shown == HIDDEN, hidden) and torch.equal(shown[~hidden], whole[~hidden])
    assert torch.equal(whole[:, :8], whole[:, 8:]) and not (hidden[:, :8] & hidden[:, 8:]).any()


def test_training_is_seeded_and_leaves_the_global_generator_alone():
    state = torch.get_rng_state()
    first, again, other = train(16, 3), train(16, 3), train(16, 3, seed=1)
    assert torch.equal(state, torch.get_rng_state())
    weights = [torch.cat([w.flatten() for w in t.model.parameters()]) for t in (first, again, other)]
    assert torch.equal(weights[0], weights[1]) and not torch.equal(weights[0], weights[2])


def test_the_trained_heads_are_measured(tmp_path, capsys):
    file = tmp_path / "tiny.npz"
    assert main(["--tokens", "16", "--steps", "300", "--out", str(file)]) == 0
    before, after = np.load(file)["accuracy"]
    assert before < 3 / SYMBOLS and after > 0.9, "the model did not learn"
    heads = [head for layer in read_layers(file) for head in layer.heads()]
    assert [h.name for h in heads] == [f"{layer}.{h}" for layer in (0, 1) for h in range(4)]
    found = measure(heads[5])
    assert found.svr.accepted and found.tokens == 16 and found.spectrum.method == "dense"


def test_unusable_options_are_one_clear_line(tmp_path, capsys):
    with pytest.raises(TensorError, match="even number"):
        train(5)
    assert main(["--tokens", "7"]) == 2
    assert main(["--tokens", "16", "--steps", "0", "--out", str(tmp_path / "none" / "x.npz")]) == 2
    assert capsys.readouterr().err.count("\n") == 2
