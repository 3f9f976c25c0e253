"""Time series of the UEA archive (Bagnall et al., 2018) from its .ts files.

JapaneseVowels and BasicMotions stand inside the package aeon; only its files are read, none of its code, so
that ``pip install --no-deps aeon`` is enough (its reader would load numba and pandas). The other sets come
from a folder that the user names: NAME_TRAIN.ts and NAME_TEST.ts, in it or in folders of their names. Nothing
is downloaded.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from checks.experiments.errors import ExperimentError

PACKAGED = ("JapaneseVowels", "BasicMotions")
READS = "a folder of .ts files of the UEA archive (NAME_TRAIN.ts and NAME_TEST.ts) in place of aeon's sets"


class Described(NamedTuple):
    """What the archive says of a set: channels, tokens of its longest series, classes."""

    channels: int
    longest: int
    classes: int


ARCHIVE = {
    "BasicMotions": Described(6, 100, 4),
    "EthanolConcentration": Described(3, 1751, 4),
    "FaceDetection": Described(144, 62, 2),
    "Handwriting": Described(3, 152, 26),
    "Heartbeat": Described(61, 405, 2),
    "JapaneseVowels": Described(12, 29, 9),
    "PEMS-SF": Described(963, 144, 7),
    "SelfRegulationSCP1": Described(6, 896, 2),
    "SelfRegulationSCP2": Described(7, 1152, 2),
    "SpokenArabicDigits": Described(13, 93, 10),
    "UWaveGestureLibrary": Described(3, 315, 8),
}
"""The sets of Table 1 of nguyen2023 and chen2023, and BasicMotions. Others are read without this check."""


class Examples(NamedTuple):
    """Sequences padded to one length: x (B, N, channels), or (B, N) whole numbers for symbols; valid (B, N),
    True where there is a token; labels (B,).
    """

    x: torch.Tensor
    valid: torch.Tensor
    labels: torch.Tensor

    def at(self, rows: torch.Tensor) -> Examples:
        """The examples with these numbers."""
        return Examples(self.x[rows], self.valid[rows], self.labels[rows])


class Data(NamedTuple):
    """A set to train on and one to judge on, the names of the classes, and a digest of the files."""

    train: Examples
    test: Examples
    classes: tuple[str, ...]
    digest: str


def folders(given: Path | None) -> dict[str, Path]:
    """The sets that there are, by name, with the folder of their two files. Raises ExperimentError."""
    if given is None:
        found = find_spec("aeon")
        if found is None or found.origin is None:
            raise ExperimentError(
                "JapaneseVowels and BasicMotions come with the package aeon: pip install --no-deps aeon, or "
                "--data FOLDER with .ts files"
            )
        inside = Path(found.origin).parent / "datasets" / "data"
        return {name: inside / name for name in PACKAGED}
    if not given.is_dir():
        raise ExperimentError(f"{given} is no folder; --data names a folder with NAME_TRAIN.ts, NAME_TEST.ts")
    files = sorted([*given.glob("*_TRAIN.ts"), *given.glob("*/*_TRAIN.ts")])
    if not files:
        raise ExperimentError(f"{given} has no file NAME_TRAIN.ts, nor has a folder in it")
    return {path.name.removesuffix("_TRAIN.ts"): path.parent for path in files}


def digest(folder: Path, name: str) -> str:
    """SHA-256 of the two files of a set. Raises ExperimentError."""
    return hashlib.sha256(b"".join(_bytes(path) for path in _files(folder, name))).hexdigest()


def load(folder: Path, name: str) -> Data:
    """A set: channels less their mean, over their deviation in the training series, padded with zeros.

    Raises ExperimentError for files that are missing, unreadable, contradict themselves, each other or the
    archive's description, or have a class that no training series has.
    """
    parts = [read(path) for path in _files(folder, name)]
    (train, own), (test, other) = parts
    channels, longest = train[0].shape[1], max(len(s) for s in (*train, *test))
    if channels != test[0].shape[1]:
        raise ExperimentError(f"{name}: {channels} channels in training, {test[0].shape[1]} in the test")
    classes = tuple(sorted(set(own)))
    if missing := sorted(set(other) - set(own)):
        raise ExperimentError(f"{name}: no training series has the class {missing[0]}, which the test has")
    found = Described(channels, longest, len(classes))
    if ARCHIVE.get(name, found) != found:
        raise ExperimentError(f"{name}: found {found._asdict()}, the archive has {ARCHIVE[name]._asdict()}")
    every = np.concatenate(train)
    mean, deviation = every.mean(0), every.std(0)
    deviation[deviation == 0] = 1.0
    numbers = {c: k for k, c in enumerate(classes)}

    def padded(series: list[np.ndarray], labels: list[str]) -> Examples:
        x, valid = torch.zeros(len(series), longest, channels), torch.zeros(len(series), longest).bool()
        for k, one in enumerate(series):
            x[k, : len(one)] = torch.from_numpy((one - mean) / deviation)
            valid[k, : len(one)] = True
        return Examples(x, valid, torch.tensor([numbers[c] for c in labels]))

    return Data(padded(train, own), padded(test, other), classes, digest(folder, name))


def read(path: Path) -> tuple[list[np.ndarray], list[str]]:
    """The series of a .ts file, (tokens, channels) each, and their classes.

    Raises ExperimentError for another format, missing values, or what its header does not say.
    """
    try:
        text = _bytes(path).decode()
    except UnicodeDecodeError:
        raise ExperimentError(f"{path} is no text") from None
    header: dict[str, list[str]] = {}
    lines = iter(enumerate(text.splitlines(), 1))
    for _, line in lines:
        words = line.strip().split()
        if words and words[0].lower() == "@data":
            break
        if words and words[0].startswith("@"):
            header[words[0].lower()] = words[1:]
    else:
        raise ExperimentError(f"{path} is no .ts file: it has no line @data")
    if header.get("@timestamps", ["false"])[0].lower() == "true":
        raise ExperimentError(f"{path} has time stamps, which are not read")
    declared = header.get("@classlabel", [])
    if len(declared) < 3 or declared[0].lower() != "true":
        raise ExperimentError(f"{path} names no two classes in @classLabel")
    series, labels = [], []
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            *channels, label = line.strip().split(":")
            try:
                rows = [np.array(c.split(","), dtype=np.float64) for c in channels]
            except ValueError as error:
                raise ExperimentError(f"{path}, line {number}: {error}") from None
            series.append(_stacked(rows, label.strip(), header, f"{path}, line {number}"))
            labels.append(label.strip())
    if not series:
        raise ExperimentError(f"{path} has no series")
    return series, labels


def _stacked(rows: list[np.ndarray], label: str, header: dict[str, list[str]], where: str) -> np.ndarray:
    """Channels as the columns of one array, if they are what the header says. Raises ExperimentError."""
    if not rows or {len(row) for row in rows} != {len(rows[0])}:
        raise ExperimentError(f"{where}: the channels have {sorted({len(row) for row in rows})} values")
    if label not in header["@classlabel"][1:]:
        raise ExperimentError(f"{where}: class {label!r} is not among those of @classLabel")
    said = {"@dimensions": len(rows), "@serieslength": len(rows[0])}
    for name, value in said.items():
        if name in header and header[name] != [str(value)]:
            raise ExperimentError(f"{where}: {value} in place of {name} {' '.join(header[name])}")
    stacked = np.stack(rows, 1)
    if not np.isfinite(stacked).all():
        raise ExperimentError(f"{where}: a value is missing or infinite")
    return stacked


def _files(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}_TRAIN.ts", folder / f"{name}_TEST.ts"


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from None
