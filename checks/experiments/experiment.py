"""Experiments: computations too long for a check, in independent parts; a killed run goes on where it was.

What is done of a part is kept in a folder named by everything that the result depends on (settings, seed,
sources, torch), so that a changed experiment never goes on from an old state. Everything is written
atomically.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from checks import evidence
from checks.audit import cache_folder, current
from checks.claim import ROOT
from checks.experiments.errors import ExperimentError
from checks.run import store
from checks.run.store import write_atomically, write_bytes

_SUM = hashlib.sha256().digest_size  # bytes before the state in a checkpoint
SAVE_SECONDS = 10.0  # a killed run loses at most so much


@dataclass(frozen=True)
class Part:
    """One independent piece of an experiment.

    ``run(watch)`` returns plain JSON data. ``steps`` is what the progress bar counts. ``work`` is what the
    time is proportional to (default: the steps); only ratios matter, to extrapolate from a reduced size to
    the full one.
    """

    name: str
    steps: int
    run: Callable[[Watch], Any]
    work: float | None = None


@dataclass(frozen=True)
class Experiment:
    """One experiment: ``parts(settings, seed)`` builds it, at the settings ``full`` of the paper or with the
    changes ``reduced`` to them, which may be none.

    A setting named "seeds" is how many random initialisations are run. ``reduction`` says in words what the
    reduced size leaves out. ``summary`` turns the data of the parts into the lines that the command prints.
    ``needs`` says in words which file of data must be given, ``reads`` what may be given in place of the
    experiment's own; ``given`` are the settings that it makes of a path. ``require`` raises ExperimentError
    where something is missing that a run needs, before hours of work.
    """

    id: str
    title: str
    full: dict[str, Any]
    reduced: dict[str, Any]
    reduction: str
    parts: Callable[[dict[str, Any], int], list[Part]]
    summary: Callable[[dict[str, Any]], list[str]] = lambda data: []
    needs: str = ""
    reads: str = ""
    given: Callable[[Path], dict[str, Any]] = lambda path: {"data": str(path), "digest": digest(path)}
    require: Callable[[dict[str, Any]], None] = lambda settings: None

    def settings(self, full: bool, seeds: int | None = None, data: Path | None = None) -> dict[str, Any]:
        """The settings of a run. Raises ExperimentError where data is missing, or seeds or data mean
        nothing.
        """
        chosen = {**self.full, **({} if full else self.reduced)}
        if self.needs and data is None:
            raise ExperimentError(f"{self.id} needs {self.needs}")
        if data is not None:
            if not self.needs and not self.reads:
                raise ExperimentError(f"{self.id} reads no file; --data does not apply")
            chosen |= self.given(data)
        if seeds is None:
            return chosen
        if "seeds" not in chosen:
            raise ExperimentError(f"{self.id} has no random initialisations; --seeds does not apply")
        return {**chosen, "seeds": seeds}


_LARGEST = 2**30
"""Bytes of the largest checkpoint that is read."""


class Watch:
    """What a running part sees of its run: progress, and a place for its state.

    ``restore`` gives the last saved state (tensors, numbers, text, lists and dictionaries of them) or None.
    ``save_if_due(state)`` calls ``state`` and keeps what it returns, but at most every few seconds.
    """

    def __init__(self, path: Path, advance: Callable[[int], None], seconds: float = SAVE_SECONDS) -> None:
        self.path, self.seconds, self._advance = path, seconds, advance
        self.started, self.saved = time.perf_counter(), time.perf_counter()
        self.cpu, self.before = time.process_time(), (0.0, 0.0)

    def step(self, count: int = 1) -> None:
        """Count steps on the progress bar."""
        self._advance(count)

    def spent(self) -> tuple[float, float]:
        """Wall-clock and processor seconds of this part, earlier runs included."""
        wall, cpu = time.perf_counter() - self.started, time.process_time() - self.cpu
        return self.before[0] + wall, self.before[1] + cpu

    def restore(self) -> Any:
        """The state that an earlier run saved, or None. Raises ExperimentError for a damaged file."""
        if not self.path.exists():
            return None
        try:
            content = store.read_bounded(self.path, _LARGEST)
            if content[:_SUM] != self._sum(content[_SUM:]):
                raise ValueError("changed since it was written")
            kept = torch.load(BytesIO(content[_SUM:]), weights_only=True)
            self.before = kept["spent"]
            return kept["state"]
        except Exception as error:  # torch raises many types for a file that is not its own
            raise ExperimentError(
                f"checkpoint {self.path} is damaged ({type(error).__name__}); delete it and run again"
            ) from None

    def save_if_due(self, state: Callable[[], Any]) -> None:
        """Keep a state if the last one is old enough. Raises ExperimentError where it cannot be written."""
        if time.perf_counter() - self.saved < self.seconds:
            return
        content = BytesIO()
        torch.save({"state": state(), "spent": self.spent()}, content)
        try:
            write_bytes(self.path, self._sum(content.getvalue()) + content.getvalue())
        except OSError as error:
            raise ExperimentError(f"cannot write the checkpoint {self.path}: {error.strerror}") from None
        self.saved = time.perf_counter()

    def _sum(self, content: bytes) -> bytes:
        """A digest of a state and of the part and run that it belongs to."""
        return hashlib.sha256(_place(self.path).encode() + content).digest()


def _place(path: Path) -> str:
    """Which part of which run a checkpoint is of."""
    return f"{path.parent.name}/{path.name}"


def digest(path: Path) -> str:
    """SHA-256 of a file. Raises ExperimentError."""
    if not path.is_file():  # a pipe or a device may never end
        raise ExperimentError(f"cannot read {path}: no regular file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from None


def checkpoints() -> Path:
    """The folder of unfinished work."""
    return cache_folder() / "experiments"


def key(experiment: Experiment, settings: dict[str, Any], seed: int) -> str:
    """Everything that the data depends on, as a hash: settings, seed, torch and the sources of
    experiments, tensors and the paper.
    """
    digest = hashlib.sha256(json.dumps([experiment.id, settings, seed, torch.__version__]).encode())
    for folder in ("experiments", "tensors", f"papers/{experiment.id.partition('/')[0]}"):
        for path in sorted((ROOT / "checks" / folder).rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def run(
    experiment: Experiment,
    settings: dict[str, Any],
    seed: int,
    full: bool,
    progress: Callable[[str, int], None] = lambda name, steps: None,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Run all parts that are not done, and return the result: data of the parts and where it comes from.

    ``progress(part, steps)`` is told of every step. Raises ExperimentError.
    """
    experiment.require(settings)
    folder = (folder or checkpoints()) / key(experiment, settings, seed)
    parts = experiment.parts(settings, seed)
    found = {}
    for number, part in enumerate(parts):
        found[part.name] = _part(part, folder / f"{number}", progress)
    wall, cpu = (sum(f[name] for f in found.values()) for name in ("seconds", "cpu_seconds"))
    work = _work(parts)
    names = ("data", "digest", "sets") if "data" in settings else ()
    given: dict[str, Any] = {name: settings[name] for name in names if name in settings}
    whole = _work(experiment.parts({**experiment.full, **given}, seed))
    whole_size = full or not experiment.reduced
    return {
        "experiment": experiment.id,
        "title": experiment.title,
        "size": "full" if whole_size else "reduced",
        "reduction": "" if whole_size else experiment.reduction,
        "settings": settings,
        "full_settings": experiment.full,
        "seed": seed,
        "seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2),
        "full_cpu_seconds": round(cpu * whole / work, 1),
        "full_time_is": "measured" if work == whole else "extrapolated",
        "provenance": provenance(),
        "data": {name: f["data"] for name, f in found.items()},
    }


def _work(parts: list[Part]) -> float:
    return float(sum(part.steps if part.work is None else part.work for part in parts))


def _part(part: Part, path: Path, progress: Callable[[str, int], None]) -> dict[str, Any]:
    """The finished part from its file, or run now."""
    done = path.with_suffix(".json")
    if done.exists():
        try:
            kept = store.read_json(done)
            kept["data"], kept["seconds"], kept["cpu_seconds"]
            if kept.pop("digest") != evidence.digest(_place(done), kept):
                raise ValueError("changed since it was written")
        except (OSError, ValueError, KeyError, TypeError):
            raise ExperimentError(f"checkpoint {done} is damaged; delete it and run again") from None
        progress(part.name, part.steps)
        return kept
    watch = Watch(path.with_suffix(".pt"), lambda steps: progress(part.name, steps))
    data = part.run(watch)
    wall, cpu = watch.spent()
    kept = {"data": data, "seconds": wall, "cpu_seconds": cpu}
    kept = json.loads(json.dumps(kept, allow_nan=False))  # as it will be read
    write_text(done, json.dumps({**kept, "digest": evidence.digest(_place(done), kept)}))
    watch.path.unlink(missing_ok=True)
    return kept


def provenance() -> dict[str, Any]:
    """What computed a result: versions, device, number of threads."""
    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "device": "cpu",
        "threads": torch.get_num_threads(),
    }


def write_text(path: Path, text: str) -> None:
    """Write a file atomically. Raises ExperimentError where it cannot be written."""
    try:
        write_atomically(path, text)
    except OSError as error:
        raise ExperimentError(f"cannot write {path}: {error.strerror}") from None


def write(path: Path, result: dict[str, Any]) -> None:
    """A result as a JSON file with a line for each entry, and for each part, and with a digest. Raises
    ExperimentError.
    """
    result = {**result, "digest": evidence.digest("experiment", json.loads(json.dumps(result)))}
    parts = ",\n  ".join(f"{json.dumps(name)}: {_compact(data)}" for name, data in result["data"].items())
    entries = [f" {json.dumps(name)}: {_compact(v)}" for name, v in result.items() if name != "data"]
    write_text(path, "{\n" + ",\n".join(entries) + ',\n "data": {\n  ' + parts + "\n }\n}\n")


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def committed(id: str) -> Path:
    """Where the repository keeps the result of an experiment."""
    return current().records_folder / "experiments" / f"{id}.json"


def read(path: Path) -> dict[str, Any]:
    """A result from its file. Raises ExperimentError."""
    try:
        return evidence.as_written(store.read_json(path))
    except OSError as error:
        raise ExperimentError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ExperimentError(f"{path} is no result of an experiment ({error})") from None
