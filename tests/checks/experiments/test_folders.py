"""Texts, pictures and CIFAR-10 from folders of the user's: what is read, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from checks.commands import cli
from checks.experiments import folders
from checks.experiments.errors import ExperimentError

SMALL = {"bytes": 20, "side": 8, "patch": 4, "drawn": [50, 50]}
IMAGE = 3 * 32 * 32


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))


def texts(folder: Path, parts: tuple[str, ...] = ("train", "test"), count: int = 4) -> Path:
    """Two classes of short texts in each part."""
    for part in parts:
        for name in ("neg", "pos"):
            place = folder / part / name
            place.mkdir(parents=True)
            for k in range(count):
                (place / f"{k}.txt").write_bytes(f"{name} {k} in {part}".encode())
    return folder


def pictures(folder: Path) -> Path:
    image = pytest.importorskip("PIL.Image")
    for name, colour in (("red", (255, 0, 0)), ("blue", (0, 0, 255))):
        (folder / name).mkdir(parents=True)
        for k in range(4):
            image.new("RGB", (16 + k, 12), colour).save(folder / name / f"{k}.png")
    return folder


def cifar(folder: Path) -> Path:
    folder.mkdir()
    rows = np.zeros((40, 1 + IMAGE), np.uint8)
    rows[:, 0] = np.arange(40) % 10
    rows[:, 1:1025] = 255  # red
    rows[0:20].tofile(folder / "data_batch_1.bin")
    rows[20:40].tofile(folder / "data_batch_2.bin")
    rows[:10].tofile(folder / "test_batch.bin")
    return folder


def load(folder: Path, **settings):
    return folders.load({**SMALL, **folders.given(folder), **settings}, 0)


def test_texts_are_their_bytes(tmp_path):
    data = load(texts(tmp_path / "t"))
    assert data.classes == ("neg", "pos") and len(data.train.labels) == len(data.test.labels) == 8
    said = {bytes((row[keep] - 1).tolist()).decode() for row, keep in zip(*data.train[:2], strict=True)}
    assert said == {f"{name} {k} in train" for name in ("neg", "pos") for k in range(4)}
    assert int(data.train.x.max()) < folders.SYMBOLS and not data.train.x[~data.train.valid].any()
    cut = load(tmp_path / "t", bytes=3)
    assert cut.train.x.shape == (8, 3) and cut.train.valid.all()


def test_a_part_to_judge_on_is_drawn_where_there_is_none(tmp_path):
    folder = texts(tmp_path / "t", ("",), count=10)
    first, again, other = (folders.load({**SMALL, **folders.given(folder)}, seed) for seed in (0, 0, 1))
    assert len(first.train.labels) == 14 and len(first.test.labels) == 6
    assert first.test.labels.bincount().tolist() == [3, 3]
    assert torch.equal(first.train.x, again.train.x) and not torch.equal(first.train.x, other.train.x)


def test_pictures_become_patches(tmp_path):
    data = load(pictures(tmp_path / "p"), drawn=[4, 2])
    assert data.classes == ("blue", "red") and data.train.x.shape == (4, 4, 3 * 16)
    for x, label in zip(data.train.x, data.train.labels.tolist(), strict=True):
        full = 0 if data.classes[label] == "red" else 2
        for colour in range(3):
            assert (x[:, 16 * colour : 16 * (colour + 1)] == (0.5 if colour == full else -0.5)).all()


def test_cifar_becomes_grey_pixels(tmp_path):
    data = load(cifar(tmp_path / "c"))
    assert data.train.x.shape == (40, 1024, 1) and data.test.x.shape == (10, 1024, 1)
    assert torch.allclose(data.train.x, torch.tensor(0.299 - 0.5))
    assert data.train.labels.bincount().tolist() == [4] * 10


def damage(tmp_path: Path, kind: str) -> Path:
    folder = tmp_path / "f"
    if kind == "absent":
        return folder
    if kind == "empty folder":
        folder.mkdir()
    elif kind == "one class":
        texts(folder)
        (folder / "train" / "pos").rename(folder / "elsewhere")
    elif kind == "class of the test alone":
        texts(folder)
        (folder / "test" / "pos").rename(folder / "test" / "new")
    elif kind == "both kinds":
        texts(folder)
        (folder / "train" / "neg" / "x.png").write_bytes(b"")
    elif kind == "empty text":
        texts(folder)
        (folder / "train" / "neg" / "0.txt").write_bytes(b"")
    elif kind == "no picture":
        pictures(folder)
        (folder / "red" / "0.png").write_bytes(b"not a picture")
    elif kind == "single file":
        texts(folder, ("",), count=1)
    elif kind == "cut file":
        with (cifar(folder) / "data_batch_1.bin").open("ab") as file:
            file.write(b"x")
    elif kind == "eleventh class":
        np.full(1 + IMAGE, 11, np.uint8).tofile(cifar(folder) / "data_batch_1.bin")
    elif kind == "no test":
        (cifar(folder) / "test_batch.bin").unlink()
    return folder


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("absent", "is no folder"),
        ("empty folder", "no file of these"),
        ("one class", "a single class"),
        ("class of the test alone", "class new"),
        ("both kinds", "texts and pictures"),
        ("empty text", "0.txt is empty"),
        ("no picture", "cannot read the picture"),
        ("single file", "class neg has one file"),
        ("cut file", "no whole number of images"),
        ("eleventh class", "a class is 11"),
        ("no test", "no test_batch.bin"),
    ],
)
def test_an_unusable_folder_is_one_line_before_any_training(kind, said, tmp_path, capsys):
    folder = damage(tmp_path, kind)
    assert cli.main(["experiment", "nguyen2023/folder", "--data", str(folder)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and said in lines[0].replace("\n", "")


def test_files_that_change_are_noticed(tmp_path):
    settings = {**SMALL, **folders.given(texts(tmp_path / "t"))}
    (tmp_path / "t" / "train" / "neg" / "0.txt").write_bytes(b"longer than before, and other")
    with pytest.raises(ExperimentError, match="changed while the experiment ran"):
        folders.load(settings, 0)


@pytest.mark.parametrize("make", [texts, pictures, cifar])
def test_a_tiny_run_of_each_kind_ends_with_accuracies(make, tmp_path, monkeypatch, capsys):
    tiny = {"epochs": 1, "width": 8, "hidden": 8, "attentions": ["softmax", "Conv1D"], "side": 8, "patch": 4}
    monkeypatch.setitem(folders.EXPERIMENT.reduced, "seeds", 1)
    for name, value in tiny.items():
        monkeypatch.setitem(folders.EXPERIMENT.reduced, name, value)
    folder = make(tmp_path / "data")
    assert cli.main(["experiment", "nguyen2023/folder", "--data", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "softmax" in said and "Conv1D" in said and "%" in said
