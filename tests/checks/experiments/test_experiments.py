"""Experiments: resumed runs give the same numbers, results say where they come from, bad input is one
line.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from checks.commands import cli
from checks.commands import experiment as commands_experiment
from checks.commands.console import watched
from checks.commands.stopping import Terminated
from checks.experiments import categories as cat
from checks.experiments import experiment as runner
from checks.experiments import images, wang2024
from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Experiment, Part, Watch
from checks.experiments.registry import EXPERIMENTS

TINY = {"steps": 6, "gd_contexts": 8, "tf_contexts": 8, "evaluated": 40, "curve_evaluated": 10}


def settings(id: str, **changed: Any) -> dict[str, Any]:
    return {**EXPERIMENTS[id].full, **TINY, **changed}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))


def counting(stops: list[int], stop_in: str = "b", pause: float = 0) -> Experiment:
    """Two parts of ten steps that sum their steps, saving after each; interrupted where ``stops`` says."""

    def part(name: str) -> Part:
        def work(watch: Watch) -> dict[str, int]:
            watch.seconds = -1.0
            kept = watch.restore() or {"total": 0, "step": 0}
            total, first = kept["total"], kept["step"]
            for step in range(first, 10):
                total += step
                watch.step()
                time.sleep(pause)
                now = {"total": total, "step": step + 1}
                watch.save_if_due(lambda now=now: now)
                if name == stop_in and step in stops:
                    stops.remove(step)
                    raise KeyboardInterrupt
            return {"total": total, "began": first}

        return Part(name, 10, work)

    return Experiment("test/counting", "Counting", {"n": 2}, {"n": 1}, "half", lambda s, _: [part("a"), part("b")][: s["n"]])  # fmt: skip


def test_a_killed_run_goes_on_where_it_was() -> None:
    experiment, seen = counting([3, 7]), []
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            runner.run(experiment, {"n": 2}, 0, True)
    result = runner.run(experiment, {"n": 2}, 0, True, lambda name, steps: seen.append((name, steps)))
    assert result["data"] == {"a": {"total": 45, "began": 0}, "b": {"total": 45, "began": 8}}
    assert seen[0] == ("a", 10), "a finished part is not run again"


def test_another_seed_or_setting_does_not_go_on_from_it() -> None:
    experiment = counting([3])
    with pytest.raises(KeyboardInterrupt):
        runner.run(experiment, {"n": 2}, 0, True)
    assert runner.run(experiment, {"n": 2}, 1, True)["data"]["b"]["began"] == 0
    assert runner.key(experiment, {"n": 2}, 0) != runner.key(experiment, {"n": 1}, 0)


@pytest.mark.parametrize("suffix", [".pt", ".json"])
def test_a_damaged_checkpoint_is_named(suffix: str) -> None:
    experiment = counting([3])
    with pytest.raises(KeyboardInterrupt):
        runner.run(experiment, {"n": 2}, 0, True)
    (damaged,) = runner.checkpoints().rglob(f"*{suffix}")
    damaged.write_bytes(damaged.read_bytes()[:7])
    with pytest.raises(ExperimentError, match="is damaged"):
        runner.run(experiment, {"n": 2}, 0, True)


@pytest.mark.parametrize("suffix", [".pt", ".json"])
def test_a_checkpoint_with_other_numbers_or_of_another_run_is_named(suffix: str) -> None:
    experiment = counting([3])
    for seed in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            runner.run(counting([3]), {"n": 2}, seed, True)
    folders = [runner.checkpoints() / runner.key(experiment, {"n": 2}, seed) for seed in (0, 1)]
    first, second = (next(folder.glob(f"*{suffix}")) for folder in folders)
    whole = first.read_bytes()
    second.write_bytes(whole)
    with pytest.raises(ExperimentError, match="is damaged"):
        runner.run(experiment, {"n": 2}, 1, True)
    old, new = (b"45", b"46") if suffix == ".json" else (whole[len(whole) // 2 :][:1], b"\xa5")
    at = whole.find(old, 0 if suffix == ".json" else len(whole) // 2)
    first.write_bytes(whole[:at] + new + whole[at + len(new) :])
    with pytest.raises(ExperimentError, match="is damaged"):
        runner.run(experiment, {"n": 2}, 0, True)


def test_the_full_time_is_extrapolated_by_the_work(tmp_path: Path) -> None:
    experiment = counting([])
    small, whole = (runner.run(experiment, {"n": n}, 0, n == 2) for n in (1, 2))
    assert small["full_time_is"] == "extrapolated" and whole["full_time_is"] == "measured"
    assert small["full_cpu_seconds"] == pytest.approx(2 * small["cpu_seconds"], abs=0.2)
    assert small["reduction"] == "half" and not whole["reduction"]
    assert small["provenance"]["torch"] == torch.__version__ and small["seed"] == 0
    runner.write(tmp_path / "r.json", whole)
    assert runner.read(tmp_path / "r.json") == json.loads(json.dumps(whole))


@pytest.mark.parametrize("id", [id for id in EXPERIMENTS if runner.committed(id).exists()])
def test_a_recorded_result_is_that_of_the_experiment_as_it_is(id: str) -> None:
    result, experiment = runner.read(runner.committed(id)), EXPERIMENTS[id]
    assert result["experiment"] == id and result["title"] == experiment.title
    assert result["settings"] == experiment.settings(result["size"] == "full")
    assert result["full_settings"] == experiment.full
    assert result["reduction"] == ("" if result["size"] == "full" else experiment.reduction)
    parts = experiment.parts(result["settings"], result["seed"])
    assert list(result["data"]) == [part.name for part in parts]
    assert result["seconds"] > 0 and result["provenance"]["torch"]
    assert experiment.summary(result["data"])


def test_a_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    for text in ("", "[]", '{"data": 3}'):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ExperimentError, match="is no result"):
            runner.read(tmp_path / "x.json")
    with pytest.raises(ExperimentError, match="cannot read"):
        runner.read(tmp_path / "none.json")


# ---------------------------------------------------------------- the command

BAD = [
    (("wang2024/fig33",), "did you mean wang2024/fig3"),
    (("nothing",), "--list shows them all"),
    ((), "name an experiment"),
    (("wang2024/fig3", "--seeds", "0"), "allowed: 1 to 100"),
    (("wang2024/fig3", "--seeds", "many"), "invalid int value"),
    (("wang2024/fig3", "--seed", "-1"), "allowed: 0 to"),
    (("wang2024/fig6", "--seeds", "2"), "--seeds does not apply"),
    (("wang2024/fig6", "--out", "/"), "is a folder"),
    (("wang2024/fig5",), "needs a file of features, --data FILE.npz"),
    (("wang2024/fig5", "--data", "/no/such.npz"), "cannot read"),
    (("wang2024/fig6", "--data", "x.npz"), "--data does not apply"),
    (("wang2024/fig6", "--quick"), "unrecognized arguments"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert cli.main(["experiment", *arguments]) == 2
    out, err = capsys.readouterr()
    assert not out and len(err.splitlines()) == 1 and words in err and err.startswith("attest: ")


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiment", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(id in out for id in EXPERIMENTS)


def test_the_command_writes_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(
        EXPERIMENTS["wang2024/fig3"],
        reduced={**TINY, "kernels": ["linear"], "also_empty_slot": [], "seeds": 1},
    )
    monkeypatch.setitem(EXPERIMENTS, small.id, small)
    out = tmp_path / "deep" / "fig3.json"
    assert cli.main(["experiment", small.id, "--seeds", "2", "--out", str(out)]) == 0
    result = runner.read(out)
    assert set(result["data"]) == {"references", "GD linear", "Trained TF linear 0", "Trained TF linear 1"}
    assert result["size"] == "reduced" and result["settings"]["seeds"] == 2
    assert "posterior mean" in capsys.readouterr().out


def test_a_result_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(EXPERIMENTS["wang2024/fig6"], reduced=TINY)
    monkeypatch.setitem(EXPERIMENTS, small.id, small)
    (tmp_path / "file").write_text("")

    def never(*_: object) -> None:
        raise AssertionError("run before it was known whether the result can be written")

    monkeypatch.setattr(runner, "run", never)
    assert cli.main(["experiment", small.id, "--out", str(tmp_path / "file" / "x.json")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_interrupted_the_command_says_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = counting([3], "a", 0.02)
    monkeypatch.setitem(EXPERIMENTS, stopping.id, stopping)
    monkeypatch.setattr(commands_experiment, "watched", lambda _: watched(0.01))
    command = ["experiment", stopping.id, "--out", str(tmp_path / "x.json")]
    assert cli.main(command) == 130
    assert "the same command goes on from here" in capsys.readouterr().err
    assert not (tmp_path / "x.json").exists()
    assert cli.main(command) == 0 and runner.read(tmp_path / "x.json")["data"]["a"]["total"] == 45
    assert re.search(r"^a: \d+ of 10$", capsys.readouterr().err, re.M), "no sign of life without a terminal"


@pytest.mark.timeout(60)
def test_a_checkpoint_that_is_a_pipe_is_damaged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0.pt")
    with pytest.raises(ExperimentError, match="is damaged"):
        Watch(tmp_path / "0.pt", lambda steps: None).restore()


def test_terminated_the_command_has_the_status_of_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*_: object) -> None:
        raise Terminated

    small = counting([], "a")
    monkeypatch.setitem(EXPERIMENTS, small.id, small)
    monkeypatch.setattr(runner, "run", terminated)
    assert cli.main(["experiment", small.id, "--out", str(tmp_path / "x.json")]) == 143
    assert capsys.readouterr().err == "attest: terminated; the same command goes on from here\n"


# ---------------------------------------------------------------- the contexts


def test_contexts_have_the_published_law() -> None:
    batch = cat.draw(4000, 20, torch.Generator().manual_seed(0))
    own = batch.dominating.gather(1, cat.quadrant(batch.x))
    share = float((batch.labels == own).double().mean())
    assert abs(share - cat.MOST) < 4 * (0.16 / batch.labels.numel()) ** 0.5
    assert batch.x.abs().max() <= 1 and batch.x.mean().abs() < 0.01
    for k in range(3):
        assert abs(float((batch.dominating == k).double().mean()) - 1 / 3) < 0.02
    truth = cat.probabilities(batch.x, batch.dominating)
    assert torch.allclose(truth.sum(-1), torch.ones(4000, 20).double())
    assert torch.equal(cat.quadrant(cat.CENTRES), torch.arange(4))


def test_the_posterior_mean_beats_the_uniform_guess_and_improves_with_the_context() -> None:
    errors = [cat.best_error(2000, size, 0) for size in (10, 20, 50)]
    assert 0.1 > errors[0] > errors[1] > errors[2] > 0


def test_the_error_of_a_rate_of_zero_is_that_of_the_uniform_guess() -> None:
    model = cat.make("GD", "rbf", 0)
    with torch.no_grad():
        model.rates.zero_()
    uniform = ((0.8 - 1 / 3) ** 2 + 2 * (0.1 - 1 / 3) ** 2) / 3
    assert cat.centre_error(model, 2000, 20, 0) == pytest.approx(uniform, rel=0.05)


# ---------------------------------------------------------------- training


@pytest.mark.parametrize("name", ["GD", "Trained TF"])
def test_training_resumes_to_the_last_bit(tmp_path: Path, name: str) -> None:
    def go(path: Path, stop: int | None) -> list[Any]:
        def advance(_: int) -> None:
            nonlocal stop
            if stop is not None:
                stop -= 1
                if stop == 0:
                    raise KeyboardInterrupt

        model = cat.make(name, "softmax", 3)
        curve = cat.train(
            Watch(path, advance, -1.0),
            model,
            0.01,
            8,
            partial(cat.query_loss, 16, 10),
            5,
            lambda m: cat.centre_error(m, 20, 10, 1),
        )
        return [cat.learned(model), curve]

    plain = go(tmp_path / "plain.pt", None)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path / "stopped.pt", 5)
    assert (tmp_path / "stopped.pt").exists()
    assert json.dumps(go(tmp_path / "stopped.pt", None)) == json.dumps(plain)


def test_training_that_diverges_ends_and_is_recorded_as_such(tmp_path: Path) -> None:
    model = cat.make("Trained TF", "exponential", 0)
    watch = Watch(tmp_path / "x.pt", lambda _: None)
    curve = cat.train(
        watch, model, 1e80, 50, partial(cat.query_loss, 8, 5), 1, lambda m: cat.centre_error(m, 9, 5, 1)
    )
    assert curve[-1][0] < 50 and curve[0][1] is not None and curve[-1][1] is None
    assert json.loads(json.dumps(curve, allow_nan=False))
    for p in model.parameters():
        assert bool(p.isfinite().all())


def test_training_the_designed_transformer_lowers_its_error(tmp_path: Path) -> None:
    model = cat.make("GD", "softmax", 0)
    before = cat.centre_error(model, 1000, 20, 9)
    cat.train(Watch(tmp_path / "x.pt", lambda _: None), model, 0.05, 60, partial(cat.query_loss, 64, 20), 1)
    assert cat.centre_error(model, 1000, 20, 9) < 0.7 * before
    assert set(cat.learned(model)) == {"rates", "kernel.rate"}


@pytest.mark.parametrize("id", [e.id for e in wang2024.EXPERIMENTS if not e.needs])
def test_every_experiment_runs_at_a_tiny_size(id: str) -> None:
    experiment = EXPERIMENTS[id]
    tiny = settings(id, **({"seeds": 1} if "seeds" in experiment.full else {}))
    result = runner.run(experiment, tiny, 0, False)
    assert set(tiny) >= set(experiment.full) and set(experiment.reduced) <= {*experiment.full, *TINY}
    lines = experiment.summary(result["data"])
    assert lines and result["full_time_is"] == ("extrapolated" if experiment.reduced else "measured")
    assert result["size"] == ("reduced" if experiment.reduced else "full")
    for name, found in result["data"].items():
        if "maps" in found:
            classes = torch.tensor(found["maps"])
            assert classes.shape[1:] == (2, 34, 34) and found["smallest"] <= found["largest"]
        elif "curve" in found:
            assert found["curve"][0][0] == 0 and found["curve"][-1][0] == tiny["steps"], name


def test_linear_maps_are_affine_and_pass_one_third_at_the_origin(tmp_path: Path) -> None:
    model = cat.make("GD", "linear", 0)
    found = wang2024.probability_map(model, wang2024.shown_context(0, 20))
    assert torch.allclose(found + found.flip(1, 2), torch.full_like(found, 2 / 3))
    assert torch.allclose(found.sum(0), torch.ones(100, 100).double())


# ---------------------------------------------------------------- image features from a file


def features_file(path: Path, spread: float = 0.3, classes: int = 12, **changed: Any) -> Path:
    """Clusters around random unit vectors of width 16, twelve images a class."""
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(classes) + 5, 12)
    centres = draw.normal(size=(classes, 16))
    rows = centres[labels - 5] / 4 + spread * draw.normal(size=(len(labels), 16)) / 4
    arrays: dict[str, Any] = {"features": rows, "labels": labels, **changed}
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def test_no_class_is_both_trained_with_and_held_out(tmp_path: Path) -> None:
    train, held = images.load(features_file(tmp_path / "x.npz"), 0)
    assert len(train.rows) == 9 and len(held.rows) == 3
    assert not set(torch.cat(train.rows).tolist()) & set(torch.cat(held.rows).tolist())
    own = np.array([5, 6, 7, 8])
    train, held = images.load(features_file(tmp_path / "y.npz", held_out=own), 0)
    assert torch.equal(torch.cat(held.rows), torch.arange(48)) and len(train.rows) == 8


def test_a_context_has_ten_of_each_class_and_another_image_as_query(tmp_path: Path) -> None:
    train, _ = images.load(features_file(tmp_path / "x.npz", spread=0.0), 0)
    x, labels = images.draw(train, 6, torch.Generator().manual_seed(0))
    assert x.shape == (6, 31, 16) and labels.shape == (6, 31)
    assert torch.equal(labels[0, :-1], torch.arange(3).repeat_interleave(10))
    for row, label in zip(x, labels, strict=True):
        assert torch.equal(row[-1], row[10 * int(label[-1])]), "without spread a query equals its class"
        assert len(row[:-1].unique(dim=0)) == 3
    spread, _ = images.load(features_file(tmp_path / "y.npz"), 0)
    x, _ = images.draw(spread, 6, torch.Generator().manual_seed(0))
    assert all(len(row.unique(dim=0)) == 31 for row in x), "the query is not among the examples"


def test_figure_5_learns_clusters_and_nothing_from_random_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {"steps": 30, "contexts": 16, "judged": 20, "evaluated": 300, "seeds": 1}
    experiment = replace(images.EXPERIMENT, reduced=tiny)
    found = []
    for name, random in (("clusters", False), ("random", True)):
        mixed = np.random.default_rng(1).permutation(np.repeat(np.arange(12), 12))
        path = features_file(tmp_path / f"{name}.npz", **({"labels": mixed} if random else {}))
        monkeypatch.setitem(EXPERIMENTS, experiment.id, experiment)
        out = tmp_path / f"{name}.json"
        assert cli.main(["experiment", experiment.id, "--data", str(path), "--out", str(out)]) == 0
        found.append(runner.read(out))
    good, bad = ([part["accuracy"] for part in f["data"].values()] for f in found)
    assert len(good) == 2 and min(good) > 0.9
    assert all(abs(a - 1 / 3) < 0.12 for a in bad)
    assert found[0]["settings"]["digest"] != found[1]["settings"]["digest"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"labels": None}, "needs arrays named features and labels"),
        ({"labels": np.arange(5)}, "are needed"),
        ({"labels": np.repeat(np.arange(12.0), 12)}, "whole numbers"),
        ({"labels": np.repeat(np.arange(16), 9)}, "11 are needed"),
        ({"labels": np.repeat(np.arange(4), 36)}, "3 of each are needed"),
        ({"features": np.full((144, 3), np.nan)}, "NaN"),
        ({"features": np.array([object()] * 144)}, "no .npz file of numbers"),
        ({"held_out": np.array([5, 6, 99])}, "no label has"),
    ],
)
def test_an_unusable_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], words: str
) -> None:
    path = features_file(tmp_path / "x.npz", **changed)
    assert cli.main(["experiment", "wang2024/fig5", "--data", str(path)]) == 2
    err = capsys.readouterr().err
    assert words in err and len(err.splitlines()) == 1


def test_a_file_that_is_no_archive_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.npz").write_text("words")
    assert cli.main(["experiment", "wang2024/fig5", "--data", str(tmp_path / "x.npz")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
