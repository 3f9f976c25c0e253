"""Series of the UEA archive: files, models of every attention, training, and what is said of accuracies."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from checks.commands import cli
from checks.experiments import classifier, primal_series, series, uea
from checks.experiments import experiment as runner
from checks.experiments.errors import ExperimentError
from checks.experiments.registry import EXPERIMENTS
from checks.papers import recorded

TINY = {"width": 16, "hidden": 16, "epochs": 2, "patience": 2, "seeds": 2, "batch": 8}
PACKAGED = pytest.mark.skipif(
    find_spec("aeon") is None, reason="the package aeon, which ships the sets, is absent"
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))


class Kept:
    """A watch that keeps every state in memory, and interrupts after some."""

    def __init__(self, state: Any = None, stop: int | None = None) -> None:
        self.state, self.stop, self.done = state, stop, 0

    def restore(self) -> Any:
        return self.state

    def step(self, count: int = 1) -> None:
        self.done += count

    def save_if_due(self, state: Any) -> None:
        if self.stop is not None:
            self.state, self.stop = state(), self.stop - 1
            if self.stop == 0:
                raise KeyboardInterrupt


def text(rows: list[str], channels: int = 2, classes: str = "up down", more: str = "") -> str:
    return (
        f"# made here\n@problemName Made\n@dimensions {channels}\n{more}@classLabel true {classes}\n@data\n"
        + "\n".join(rows)
        + "\n"
    )


def made(folder: Path, count: int = 16, seed: int = 0) -> Path:
    """Two channels of 3 to 12 values; the class is whether the first rises or falls."""
    draw = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for which in ("TRAIN", "TEST"):
        rows = []
        for k in range(count):
            n = int(draw.integers(3, 13))
            first = np.linspace(-1, 1, n) * (1 if k % 2 else -1) + 0.1 * draw.normal(size=n)
            values = [",".join(f"{v:.4f}" for v in c) for c in (first, draw.normal(size=n))]
            rows.append(":".join([*values, "up" if k % 2 else "down"]))
        (folder / f"Made_{which}.ts").write_text(text(rows))
    return folder


def tiny(experiment: str = "nguyen2023/uea", **more: Any) -> dict[str, Any]:
    return {**EXPERIMENTS[experiment].settings(False), **TINY, **more}


# ---------------------------------------------------------------- files


def test_series_are_read_as_they_stand_there(tmp_path: Path) -> None:
    (tmp_path / "x.ts").write_text(text(["1,2,3:4,5,6:up", "", "7,8:9,1e-1:down"]))
    found, labels = series.read(tmp_path / "x.ts")
    assert labels == ["up", "down"] and [s.tolist() for s in found] == [
        [[1, 4], [2, 5], [3, 6]],
        [[7, 9], [8, 0.1]],
    ]


def test_series_are_standardised_by_the_training_set_and_padded(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    own = data.train.x[data.train.valid]
    assert torch.allclose(own.mean(0), torch.zeros(2), atol=1e-5) and torch.allclose(
        own.std(0, correction=0), torch.ones(2), atol=1e-5
    )
    assert not data.train.x[~data.train.valid].any() and data.classes == ("down", "up")
    raw, _ = series.read(tmp_path / "Made_TRAIN.ts")
    assert data.train.valid.sum(1).tolist() == [len(s) for s in raw]
    assert len({len(s) for s in raw}) > 3
    assert (
        data.digest
        == series.digest(tmp_path, "Made")
        != series.digest(made(tmp_path / "other", seed=1), "Made")
    )


BAD_FILES = [
    ("", "has no line @data"),
    ("@data\n1:2:up\n", "names no two classes"),
    (text([]), "has no series"),
    (text(["1,2:up"]), "1 in place of @dimensions 2"),
    (text(["1,2:1:up"]), "the channels have"),
    (text(["1,2:1,x:up"]), "could not convert"),
    (text(["1,2:1,?:up"]), "line 6"),
    (text(["1,2:1,nan:up"]), "missing or infinite"),
    (text(["1,2:1,2:left"]), "'left' is not among"),
    (text(["1,2:1,2:up"], more="@seriesLength 3\n"), "2 in place of @serieslength 3"),
    (text(["1,2:1,2:up"], more="@timestamps true\n"), "time stamps"),
]


@pytest.mark.parametrize(("content", "words"), BAD_FILES)
def test_an_unusable_file_is_named(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "x.ts").write_text(content)
    with pytest.raises(ExperimentError, match=words):
        series.read(tmp_path / "x.ts")


def test_files_that_do_not_go_together_are_named(tmp_path: Path) -> None:
    made(tmp_path)
    one = text(["1,2:3,4:up"])
    (tmp_path / "Made_TRAIN.ts").write_text(one)
    with pytest.raises(ExperimentError, match="no training series has the class down"):
        series.load(tmp_path, "Made")
    (tmp_path / "Made_TEST.ts").write_text(text(["1,2:up"], channels=1))
    with pytest.raises(ExperimentError, match="2 channels in training, 1 in the test"):
        series.load(tmp_path, "Made")
    (tmp_path / "Made_TEST.ts").write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match="is no text"):
        series.load(tmp_path, "Made")
    (tmp_path / "Made_TEST.ts").unlink()
    with pytest.raises(ExperimentError, match="cannot read"):
        series.load(tmp_path, "Made")


def test_a_set_that_is_not_as_the_archive_describes_it_is_named(tmp_path: Path) -> None:
    made(tmp_path)
    for which in ("TRAIN", "TEST"):
        (tmp_path / f"Made_{which}.ts").rename(tmp_path / f"JapaneseVowels_{which}.ts")
    with pytest.raises(ExperimentError, match=r"the archive has .*'channels': 12"):
        series.load(tmp_path, "JapaneseVowels")


@PACKAGED
@pytest.mark.parametrize(
    ("name", "train", "test", "shortest"), [("JapaneseVowels", 270, 370, 7), ("BasicMotions", 40, 40, 100)]
)
def test_the_packaged_sets_are_the_archives(name: str, train: int, test: int, shortest: int) -> None:
    data = series.load(series.folders(None)[name], name)
    assert (len(data.train.labels), len(data.test.labels)) == (train, test)
    assert data.train.x.shape[1:] == (series.ARCHIVE[name].longest, series.ARCHIVE[name].channels)
    assert (
        int(data.train.valid.sum(1).min()) == shortest
        and len(set(data.train.labels.bincount().tolist())) == 1
    )


@PACKAGED
def test_recorded_results_are_of_the_packaged_files() -> None:
    digests = {n: series.digest(f, n)[:16] for n, f in series.folders(None).items()}
    for id in ("nguyen2023/uea", "chen2023/uea"):
        if runner.committed(id).exists():
            for name, part in runner.read(runner.committed(id))["data"].items():
                assert part["data"] == digests[name.split(";")[0]]


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(series, "find_spec", lambda name: None)
    assert cli.main(["experiment", "nguyen2023/uea"]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and "pip install --no-deps aeon" in err


# ---------------------------------------------------------------- models and training

ATTENTIONS = [
    *uea.FAMILY,
    "Conv1D",
    *uea.versions("linear"),
    *uea.versions("sparse"),
    "Primal",
    "Primal, data-independent",
    "Primal, e only",
]


def classified(name: str, data: series.Data, **more: Any) -> classifier.Classifier:
    of = classifier.Layer(
        tiny(kept=0.5, rank_multi=2, directions=4, dropout=0.0, **more), data.train.x.shape[1]
    )
    torch.manual_seed(0)
    return classifier.build([name, name], of, data)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_every_attention_reads_the_tokens_of_a_series_alone(tmp_path: Path, name: str) -> None:
    data = series.load(made(tmp_path), "Made")
    net = classified(name, data).eval()
    with torch.no_grad():
        base = net(data.test.x, data.test.valid)[0]
        other = torch.where(data.test.valid[..., None], data.test.x, torch.full_like(data.test.x, 7.0))
        assert torch.allclose(net(other, data.test.valid)[0], base, atol=1e-5), "what is padded is read"
        moved = net(data.test.x.roll(1, 2), data.test.valid)[0]
    assert base.isfinite().all() and not torch.allclose(moved, base, atol=1e-3)


@pytest.mark.parametrize("name", ["BM", "BN, e only", "linear (26)", "Primal+"])
def test_an_unknown_attention_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExperimentError, match="no attention"):
        classified(name, series.load(made(tmp_path), "Made"))


def run_one(
    data: series.Data, watch: Any, seed: int = 0, **more: Any
) -> tuple[dict[str, Any], classifier.Classifier]:
    settings = tiny(**{"epochs": 4, "patience": 4, "dropout": 0.1, **more})
    torch.manual_seed(seed)
    net = classifier.build(["softmax", "BN"], uea.layer(settings, "Made", data.train.x.shape[1]), data)
    return classifier.train(net, classifier.split(data, seed), settings, seed, watch), net


def test_a_stopped_training_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    whole, net = run_one(data, Kept())
    stopped = Kept(stop=2)
    with pytest.raises(KeyboardInterrupt):
        run_one(data, stopped)
    again, same = run_one(data, Kept(state=stopped.state))
    assert again == whole and all(
        torch.equal(a, b) for a, b in zip(net.parameters(), same.parameters(), strict=True)
    )
    assert run_one(data, Kept(), seed=1)[0] != whole


def test_training_learns_what_there_is_and_nothing_else(tmp_path: Path) -> None:
    data = series.load(made(tmp_path, 64), "Made")
    more = {"epochs": 12, "patience": 12, "rate": 5e-3}
    assert run_one(data, Kept(), **more)[0]["accuracy"] > 0.9
    lots = torch.randperm(64, generator=torch.Generator().manual_seed(1))
    random = data._replace(train=data.train._replace(labels=data.train.labels[lots]))
    assert run_one(random, Kept(), **more)[0]["accuracy"] < 0.8


def test_training_stops_early_and_keeps_the_best_weights(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    watch = Kept()
    found, net = run_one(data, watch, epochs=40, patience=3, rate=0.05)
    losses = [
        stopping
        for _, stopping in run_one(data, Kept(), epochs=found["epochs"], patience=40, rate=0.05)[0]["losses"]
    ]
    assert found["epochs"] == found["best_epoch"] + 3 < 40 and watch.done == 40
    assert losses.index(min(losses)) == found["best_epoch"] - 1
    held_out = classifier.judge(net, classifier.split(data, 0).held_out)[0]
    assert held_out == pytest.approx(min(losses), abs=1e-4)


def test_training_that_diverges_is_recorded_as_such(tmp_path: Path) -> None:
    found, net = run_one(series.load(made(tmp_path), "Made"), Kept(), rate=1e30)
    assert found["diverged"] and found["epochs"] < 4 and json.dumps(found, allow_nan=False)
    assert all(bool(p.isfinite().all()) for p in net.parameters())


def test_a_penalty_is_in_the_training(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    settings = {
        **tiny("chen2023/uea"),
        "directions": [4, 2, 1],
        "sets": ["Made"],
        "data": str(tmp_path),
        "epochs": 6,
        "patience": 6,
    }
    plain, released = (
        primal_series.trained(settings | {"eta": 10.0}, "Made", m, 0, Kept())
        for m in ("Primal., no loss", "Primal.")
    )
    assert plain["J"][0] == released["J"][0] and len(plain["J"][0]) == 2
    assert all(a < b for a, b in zip(released["J"][1], plain["J"][1], strict=True))
    assert (
        1 <= released["layer 1"]["rank"] <= data.train.x.shape[1] and plain["layer 2"] != released["layer 2"]
    )


def test_matrices_of_padded_series_are_those_of_the_series_alone(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    for name in ("softmax", "Primal", "Primal, data-independent"):
        net = classified(name, data).eval()
        x, valid = net(data.test.x, data.test.valid)[2][0], data.test.valid
        whole = primal_series.attention_matrix(net.attention[0], x, valid)
        n = int(valid[3].sum())
        alone = (
            primal_series.attention_matrix(net.attention[0], x[3:4, :n], valid[3:4, :n])
            if "Primal" != name
            else None
        )
        assert not whole[3, :, n:].any() and not whole[3, :, :, n:].any()
        if alone is not None:
            torch.testing.assert_close(whole[3:4, :, :n, :n], alone)


def test_a_class_with_one_example_cannot_be_split(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    labels = data.train.labels.clone()
    labels[:] = 0
    labels[0] = 1
    with pytest.raises(ExperimentError, match="class up has 1 training"):
        classifier.split(data._replace(train=data.train._replace(labels=labels)), 0)


def test_the_split_shares_nothing_and_has_every_class(tmp_path: Path) -> None:
    data = series.load(made(tmp_path), "Made")
    parts = classifier.split(data, 3)
    assert len(parts.train.labels) + len(parts.held_out.labels) == 16 and set(
        parts.held_out.labels.tolist()
    ) == {0, 1}
    rows = {tuple(x.flatten().tolist()) for x in parts.train.x}
    assert not rows & {tuple(x.flatten().tolist()) for x in parts.held_out.x}


def test_lengths_that_do_not_fit_memory_are_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**EXPERIMENTS["nguyen2023/uea"].settings(False), **uea.given(made(tmp_path))}
    uea.require(settings)
    monkeypatch.setattr(classifier, "available_bytes", lambda device: 10**5)
    with pytest.raises(ExperimentError, match="12 tokens in batches of 16 need about"):
        uea.require(settings)
    assert classifier.bytes_needed(settings, 20_000) > 3.9 * classifier.bytes_needed(settings, 10_000)


# ---------------------------------------------------------------- the command


def test_every_experiment_runs_on_a_folder_at_a_tiny_size(tmp_path: Path) -> None:
    folder = made(tmp_path / "archive" / "Made")
    for id in (*(e.id for e in uea.EXPERIMENTS), "chen2023/uea"):
        more = {"directions": [4, 2, 1]} if id == "chen2023/uea" else {}
        experiment = EXPERIMENTS[id]
        settings = {**tiny(id), **more, **uea.given(folder.parent), "epochs": 1, "width": 8}
        result = runner.run(experiment, settings, 0, False)
        assert list(result["data"]) == [part.name for part in experiment.parts(settings, 0)]
        assert result["settings"]["sets"] == ["Made"] and len(experiment.summary(result["data"])) >= 4


def test_the_command_reads_a_folder_and_notices_changed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = replace(EXPERIMENTS["nguyen2023/uea"], reduced={**TINY, "attentions": ["softmax", "SH"]})
    monkeypatch.setitem(EXPERIMENTS, small.id, small)
    command = ["experiment", small.id, "--data", str(made(tmp_path / "x")), "--out", str(tmp_path / "r.json")]
    assert cli.main(command) == 0
    assert "Made, SH" in capsys.readouterr().out and set(
        runner.read(tmp_path / "r.json")["settings"]["digest"]
    ) == {"Made"}
    settings = {**small.settings(False), **uea.given(tmp_path / "x")}
    made(tmp_path / "x", seed=5)
    uea._loaded.cache_clear()
    with pytest.raises(ExperimentError, match="changed while"):
        uea.require(settings)


@pytest.mark.parametrize(("make", "words"), [
    (lambda p: p / "none", "is no folder"),
    (lambda p: p, "has no file NAME_TRAIN.ts"),
    (lambda p: (p / "A_TRAIN.ts").write_text("x") and p, "cannot read"),
])  # fmt: skip
def test_a_folder_without_data_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Any, words: str
) -> None:
    assert cli.main(["experiment", "nguyen2023/uea", "--data", str(make(tmp_path))]) == 2
    out, err = capsys.readouterr()
    assert not out and len(err.splitlines()) == 1 and words in err


# ---------------------------------------------------------------- what is said


def test_paired_differences_have_students_interval() -> None:
    found = recorded.paired([1.0, 2.0, 4.0], [0.0, 2.0, 1.0])  # differences 1, 0, 3
    mean, deviation, quantile = 4 / 3, math.sqrt(7 / 3), 4.302652729911275  # of t with two degrees of freedom
    half = quantile * deviation / math.sqrt(3)
    assert (found.mean, found.low, found.high) == pytest.approx((mean, mean - half, mean + half))
    t = mean / (deviation / math.sqrt(3))
    assert found.p == pytest.approx(1 - t / math.sqrt(2 + t * t)) and found.holds(0) and not found.holds(6)
    assert re.fullmatch(r"\+1\.33 \[-2\.\d\d, \+5\.\d\d\] \(95 %, paired t\), p = 0\.27", found.text()), (
        found.text()
    )
    alike = recorded.paired([1.0, 2.0], [0.0, 1.0])
    assert alike == (1.0, 1.0, 1.0, None, 2) and alike.text() == "+1.00 in each of 2 pairs"
    for own, base in (([1.0], [1.0]), ([1.0, 2.0], [1.0])):
        with pytest.raises(ValueError, match="no pairs"):
            recorded.paired(own, base)


def result(**models: list[float]) -> dict[str, Any]:
    data = {f"Set; {m}; seed {k}": {"accuracy": v} for m, own in models.items() for k, v in enumerate(own)}
    return {
        "data": data,
        "size": "reduced",
        "reduction": "less",
        "provenance": {"device": "cpu"},
        "cpu_seconds": 3.0,
    }


def test_what_is_said_of_a_printed_difference_follows_the_interval() -> None:
    own = result(a=[0.5, 0.6, 0.7], b=[0.61, 0.7, 0.81], c=[0.5, 0.75, 0.6])
    say = lambda model, printed: recorded.compared("Set", "a", {model: Fraction(printed)}, own)[1]  # noqa: E731
    assert say("b", 10).endswith(
        "which lies inside the interval, 0 outside"
    ) and "b less a, in points, +10.67" in say("b", 10)
    assert say("b", 1).endswith("which lies outside the interval")
    assert say("c", 1).endswith("which lies inside the interval, as 0 does")
    assert recorded.compared("Set", "a", {"b": None}, own)[1].startswith("b less a, in points, ")


def test_only_a_reduced_size_says_what_it_reduces() -> None:
    assert recorded.size({"size": "reduced", "reduction": "fewer epochs"}) == "reduced size (fewer epochs)"
    assert recorded.size({"size": "full", "reduction": ""}) == "full size"


def test_a_recorded_result_is_evidence_that_settles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded, "RESULTS", tmp_path)
    leg = partial(recorded.Recorded, "x/y", lambda r: recorded.lines(r["data"], "a"), "other training")
    (missing,) = leg()(None, None)
    assert missing.not_run and missing.passed is None and leg().digest == "none"
    (tmp_path / "x").mkdir()
    runner.write(tmp_path / "x" / "y.json", result(a=[0.5, 0.6], b=[0.7, 0.6]))
    (found,) = leg()(None, None)
    assert found.passed is None and not found.settles and found.grade == "measured" and found.seconds == 3.0
    assert "Set, b: 65.00 % (2 seeds); against a +10.00" in found.detail and found.detail.endswith(
        "other training; against our own full size: less."
    )
    assert leg().digest != "none"
    path = tmp_path / "x" / "y.json"
    path.write_text(path.read_text().replace("0.7", "0.9"))
    (forged,) = leg()(None, None)
    assert "changed since it was written" in forged.not_run and not forged.detail
    with pytest.raises(ExperimentError, match="changed since it was written"):
        runner.read(path)
