"""Texts and pictures in folders that the user names: the Long Range Arena's Text and Image, and ImageNet.

Three layouts are read, and nothing is downloaded:

    CLASS/*.txt             texts by class (IMDb's), as sequences of their bytes, cut to ``bytes`` of them
    CLASS/*.jpg, *.png, …   pictures by class (ImageNet's), as patches of a square of ``side``
    data_batch_1.bin, …     CIFAR-10 in its binary version, as sequences of grey pixels (the arena's Image)

The first two have the classes in folders named train and test (or val), or directly, and then a part is drawn
to judge on. Of each part so many examples as the settings say are drawn by the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import train_test_split

from checks.experiments import classifier, digits, uea
from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Experiment, Part, Watch
from checks.experiments.series import Data, Examples
from checks.papers import recorded

Settings = dict[str, Any]
Labelled = list[tuple[Path, str]]
TEXTS, PICTURES = (".txt",), (".jpg", ".jpeg", ".png", ".bmp", ".ppm")
CIFAR_FILES = ("data_batch_*.bin", "test_batch.bin")
CIFAR_SIDE, CIFAR_CLASSES = 32, 10
_IMAGE = 3 * CIFAR_SIDE**2  # bytes: all of red, then green, then blue
_GREY = np.array([0.299, 0.587, 0.114], dtype=np.float32)
SYMBOLS = 257  # 0 stands for no byte
NEEDS = (
    "a folder, --data FOLDER with texts (CLASS/*.txt) or pictures (CLASS/*.jpg, *.png) in folders train and "
    "test, or with CIFAR-10 in its binary version (data_batch_1.bin, …)"
)


def listed(folder: Path) -> tuple[str, Labelled, Labelled]:
    """What a folder holds ("texts", "pictures" or "cifar"), and the files to train on and to judge on with
    their classes; the second list is empty where the folder names no such part.

    Raises ExperimentError for a folder that has none of the layouts, both kinds, or a single class.
    """
    if not folder.is_dir():
        raise ExperimentError(f"{folder} is no folder; {NEEDS} is needed")
    batches, tests = ([(p, "") for p in sorted(folder.glob(name)) if p.is_file()] for name in CIFAR_FILES)
    if batches:
        return "cifar", batches, tests
    apart = next((folder / name for name in ("test", "val") if (folder / name).is_dir()), None)
    train = _by_class(folder / "train" if apart else folder)
    test = _by_class(apart) if apart else []
    kinds = {path.suffix.lower() in TEXTS for path, _ in (*train, *test)}
    if len(kinds) != 1:
        found = "texts and pictures" if kinds else "no file of these"
        raise ExperimentError(f"{folder} holds {found}; {NEEDS} is needed")
    if len({name for _, name in train}) < 2:
        raise ExperimentError(f"{folder} has a single class to train on; two are needed")
    if missing := {name for _, name in test} - {name for _, name in train}:
        raise ExperimentError(
            f"{folder}: nothing to train on has the class {min(missing)}, which the test has"
        )
    return "texts" if kinds == {True} else "pictures", train, test


def _by_class(folder: Path) -> Labelled:
    """The texts and pictures in the folders of a folder, with the names of these."""
    files = (path for path in sorted(folder.glob("*/*")) if path.suffix.lower() in (*TEXTS, *PICTURES))
    return [(path, path.parent.name) for path in files if path.is_file()]


def load(settings: Settings, seed: int) -> Data:
    """The examples of a run: those of the folder's parts, or of two parts drawn class by class.

    Raises ExperimentError for unusable or changed files.
    """
    folder = Path(settings["data"])
    kind, train, test = listed(folder)
    if digest((*train, *test)) != settings["digest"]:
        raise ExperimentError(f"{folder} changed while the experiment ran; run it again")
    if kind == "cifar":
        return _cifar(train, test, settings, seed)
    classes = tuple(sorted({name for _, name in train}))
    if not test:
        names = [name for _, name in train]
        few = next((name for name in classes if names.count(name) < 2), None)
        if few:
            raise ExperimentError(f"{folder}: class {few} has one file; two are needed, one to judge on")
        share = max(digits.TESTED, len(classes) / len(train))
        train, test = train_test_split(train, test_size=share, stratify=names, random_state=seed)
    read = (
        partial(_text, longest=settings["bytes"]) if kind == "texts" else partial(_picture, settings=settings)
    )
    both = [
        [(read(path), classes.index(name)) for path, name in drawn(own, count, seed)]
        for own, count in zip((train, test), settings["drawn"], strict=True)
    ]
    longest = max(len(tokens) for own in both for tokens, _ in own)
    return Data(_padded(both[0], longest), _padded(both[1], longest), classes, settings["digest"])


def drawn(files: list[Any], count: int, seed: int) -> list[Any]:
    """So many of the files, or all of fewer, in an order of the seed's."""
    order = np.random.default_rng(seed).permutation(len(files))[:count]
    return [files[k] for k in order]


def digest(files: Iterable[tuple[Path, str]]) -> str:
    """SHA-256 of the names and sizes of files: of a million pictures the contents are not read."""
    found = hashlib.sha256()
    for path, _ in sorted(files):
        found.update(f"{path.parent.name}/{path.name} {path.stat().st_size}\n".encode())
    return found.hexdigest()


def _padded(found: list[tuple[torch.Tensor, int]], longest: int) -> Examples:
    """Sequences and the numbers of their classes, padded to one length."""
    valid = torch.zeros(len(found), longest, dtype=torch.bool)
    x = torch.zeros(*valid.shape, *found[0][0].shape[1:], dtype=found[0][0].dtype)
    for k, (tokens, _) in enumerate(found):
        x[k, : len(tokens)] = tokens
        valid[k, : len(tokens)] = True
    return Examples(x, valid, torch.tensor([label for _, label in found]))


def _text(path: Path, longest: int) -> torch.Tensor:
    """The first bytes of a text, each one more than its value, (tokens,). Raises ExperimentError."""
    try:
        with path.open("rb") as file:
            content = file.read(longest)
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from None
    if not content:
        raise ExperimentError(f"{path} is empty")
    return torch.from_numpy(np.frombuffer(content, np.uint8).astype(np.int64) + 1)


def _picture(path: Path, settings: Settings) -> torch.Tensor:
    """A picture as patches, (tokens, numbers of a patch) between -1/2 and 1/2. Raises ExperimentError."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ExperimentError("pictures are read by the package Pillow: pip install pillow") from None
    side, patch = settings["side"], settings["patch"]
    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB").resize((side, side)), dtype=np.float32) / 255
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError, SyntaxError, ValueError) as error:
        raise ExperimentError(f"cannot read the picture {path}: {error}") from None
    colours = [digits.patches(torch.from_numpy(pixels[None, ..., c].copy()), patch) for c in range(3)]
    return torch.cat(colours, -1)[0] - 0.5


def _cifar(train: Labelled, test: Labelled, settings: Settings, seed: int) -> Data:
    """Grey pixels, (examples, 1,024, 1) between -1/2 and 1/2, row by row. Raises ExperimentError."""
    if not test:
        raise ExperimentError(f"{train[0][0].parent} has no test_batch.bin")
    both = []
    for files, count in zip((train, test), settings["drawn"], strict=True):
        rows = np.concatenate([_batch(path) for path, _ in files])
        rows = rows[drawn(range(len(rows)), count, seed)]  # type: ignore[arg-type]
        colours = rows[:, 1:].reshape(len(rows), 3, CIFAR_SIDE**2).astype(np.float32) / 255
        x = torch.from_numpy(np.einsum("bcp,c->bp", colours, _GREY))[..., None] - 0.5
        labels = torch.from_numpy(rows[:, 0].astype(np.int64))
        both.append(Examples(x, torch.ones(x.shape[:2], dtype=torch.bool), labels))
    classes = tuple(str(k) for k in range(CIFAR_CLASSES))
    return Data(both[0], both[1], classes, settings["digest"])


def _batch(path: Path) -> np.ndarray:
    """A file of images, one a row: the class and the bytes of the image. Raises ExperimentError."""
    try:
        content = np.fromfile(path, np.uint8)
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from None
    if not content.size or content.size % (1 + _IMAGE):
        raise ExperimentError(f"{path}: {content.size} bytes are no whole number of images of {1 + _IMAGE}")
    rows = content.reshape(-1, 1 + _IMAGE)
    if int(rows[:, 0].max()) >= CIFAR_CLASSES:
        raise ExperimentError(f"{path}: a class is {int(rows[:, 0].max())}; CIFAR-10 has 0 to 9")
    return rows


def given(path: Path) -> Settings:
    """Settings for a folder. Raises ExperimentError."""
    _, train, test = listed(path)
    return {"data": str(path), "digest": digest((*train, *test))}


def require(settings: Settings) -> None:
    """Raises ExperimentError where a file is unusable, a class is missing, or lengths do not fit memory."""
    data = load(settings, 0)
    classifier.split(data, 0)
    classifier.require_fit(settings, Path(settings["data"]).name, data.train.x.shape[1])


def trained(settings: Settings, attention: str, seed: int, watch: Watch) -> dict[str, Any]:
    """One attention from one seed."""
    data = load(settings, seed)
    of = classifier.Layer(settings, data.train.x.shape[1])
    return classifier.fit(attention, of, data, settings, seed, watch, SYMBOLS)


def parts(settings: Settings, seed: int) -> list[Part]:
    """Every attention from every seed."""
    work = float(settings["epochs"] * settings["drawn"][0] * settings["width"])
    name = Path(settings["data"]).name
    return [
        Part(
            f"{name}; {attention}; seed {k}",
            settings["epochs"],
            partial(trained, settings, attention, seed + k),
            work,
        )
        for k in range(settings["seeds"])
        for attention in settings["attentions"]
    ]


EXPERIMENT = Experiment(
    "nguyen2023/folder",
    "Accuracy on texts by bytes, pictures by patches, CIFAR-10 by pixels (needs a folder)",
    {
        **{name: value for name, value in uea.FULL.items() if name != "sets"},
        "attentions": ["softmax", "BN (26)", "SH", "BN+SH (51)", "Conv1D"],
        "bytes": 4000,
        "side": 224,
        "patch": 16,
        "drawn": [25_000, 25_000],
        "width": 64,
        "hidden": 128,
        "heads": 2,
        "scales": [1, 2],
        "epochs": 60,
        "patience": 10,
    },
    {"bytes": 512, "side": 64, "patch": 8, "drawn": [500, 250], "epochs": 10, "patience": 3, "seeds": 1},
    "500 and 250 examples in place of 25,000 each, 512 bytes of a text in place of 4,000, pictures of 64 x "
    "64 in patches of 8 x 8 in place of 224 and 16, at most 10 epochs in place of 60, one seed in "
    "place of five",
    parts,
    recorded.lines,
    needs=NEEDS,
    given=given,
    require=require,
)
