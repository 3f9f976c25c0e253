"""Running Rocq: the library is built once into the cache, theorems are checked in batches."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from checks.audit import cache_folder
from checks.kernel.theorem import Theorem

LIBRARY = Path(__file__).parent / "lib"
FILES = tuple("Sums Expr Paper Norm Sound Claim Deriv Point Psd Recur Figures Order Strong Near".split())
"""The library's files, each after those that it needs."""
MISSING = "not run: Rocq is not installed (apt-get install coq)"
PREAMBLE = f"""Require Import Reals QArith List ZArith Lia Lra.
From Attest Require Import {" ".join(FILES)}.
Import ListNotations.
Open Scope R_scope.
"""
_LATE = "ended after "
_BUILD, _START, _BATCH = 300, 30, 25
"""Seconds for one file of the library, and for reading it, and theorems in one batch."""
PROCESSES = 2
_MARK = "Check the_next."
"""An error of our own, by which the answers of a session are told apart."""


class RocqError(RuntimeError):
    """Rocq is not installed, or does not accept its own library; the message says which."""


@dataclass(frozen=True)
class Outcome:
    """What became of a theorem: "checked", or "failed" with what Rocq said. ``seconds`` of the batch by
    theorem.
    """

    name: str
    outcome: str
    said: str = ""
    seconds: float = 0.0


_GUARD = """
"$@" 3<&- & rocq=$!
{ read -r _ <&3; kill -9 $rocq; } 2>/dev/null & guard=$!
wait $rocq; status=$?
kill $guard 2>/dev/null
exit $status
"""
"""Runs a command that is killed once nothing can be read any more from descriptor 3."""


class Lifeline:
    """What processes hang on: those that still run end where this is left, and where this process ends, also
    killed.
    """

    def __enter__(self) -> Lifeline:
        self._reader, self._writer = os.pipe()
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        os.close(self._writer)

    def __del__(self) -> None:
        os.close(self._reader)

    def run(self, command: list[str], seconds: float, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a command; where it takes too long it ends with all that it started, with status 124.

        Raises RocqError where this was left.
        """
        if not self._open:
            raise RocqError("not run: ended before")
        process = subprocess.Popen(
            ["sh", "-c", f"exec 3<&0 </dev/null\n{_GUARD}", "sh", *command], cwd=folder, text=True,
            stdin=self._reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=seconds)
            return subprocess.CompletedProcess(command, process.returncode, out, err)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()  # what it said before
            return subprocess.CompletedProcess(command, 124, out, f"{_LATE}{seconds:g} seconds")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


def compiler() -> str | None:
    """The path of Rocq's compiler, or None."""
    return shutil.which("coqc")


@lru_cache(maxsize=1)
def version() -> str:
    """What Rocq says of its version. Raises RocqError where there is none."""
    with Lifeline() as line:
        done = line.run([require(), "--print-version"], 60, Path.cwd())
    return done.stdout.split()[0]


def require() -> str:
    """The path of Rocq's compiler. Raises RocqError where there is none."""
    found = compiler()
    if found is None:
        raise RocqError(MISSING)
    return found


@lru_cache(maxsize=1)
def library_hash() -> str:
    """A hash of the library and of what every file of theorems begins with."""
    digest = hashlib.sha256(PREAMBLE.encode())
    for name in FILES:
        digest.update((LIBRARY / f"{name}.v").read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def exporters_hash() -> str:
    """A hash of the modules that make theorems of statements, the same where they are installed below one
    package.
    """
    prefix = "".join(f"{part}." for part in __name__.split(".")[:-3])
    paths = sorted(Path(__file__).parent.glob("*.py"))
    texts = (f"{path.name}\x00{path.read_text(encoding='utf-8')}" for path in paths)
    return hashlib.sha256("\x00".join(texts).replace(prefix, "").encode()).hexdigest()[:16]


def build(done_with: Callable[[str], None] = lambda _: None) -> Path:
    """The folder with the compiled library, made where it is not there yet: that takes minutes, and
    ``done_with`` is told of each file. Raises RocqError.
    """
    place = cache_folder() / "rocq" / f"{library_hash()}-{version()}"
    if (place / "done").exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent) as folder, Lifeline() as line:
        for name in FILES:
            shutil.copy(LIBRARY / f"{name}.v", folder)
            done = line.run([require(), "-q", "-Q", ".", "Attest", f"{name}.v"], _BUILD, Path(folder))
            if done.returncode:
                raise RocqError(f"Rocq does not accept lib/{name}.v: {done.stderr.strip()[:500]}")
            done_with(name)
        (Path(folder) / "done").touch()
        if not place.exists():
            shutil.copytree(folder, place, dirs_exist_ok=True)
    return place


def ask(text: str, seconds: float = 120, line: Lifeline | None = None) -> tuple[bool, str]:
    """Whether Rocq accepts a text after the library's preamble, and what it prints. Raises RocqError."""
    if line is None:
        with Lifeline() as own:
            return ask(text, seconds, own)
    done = _read([require()], ["Theorems.v"], text, seconds, line)
    return done.returncode == 0, f"{done.stdout}{done.stderr}".strip()


def _read(
    program: list[str], file: list[str], text: str, seconds: float, line: Lifeline
) -> subprocess.CompletedProcess[str]:
    """Run a program of Rocq's, with the library, on Theorems.v: the preamble and a text."""
    library = build()
    with TemporaryDirectory(prefix="attest-rocq-") as folder:
        (Path(folder) / "Theorems.v").write_text(f"{PREAMBLE}\n{text}\n", encoding="utf-8")
        return line.run([*program, "-q", "-Q", str(library), "Attest", *file], seconds, Path(folder))


def check(groups: Iterable[list[Theorem]], seconds: float = 30) -> Iterator[Outcome]:
    """What becomes of theorems, as it is found; those of one group may use each other.

    ``seconds`` is the time for one theorem. Raises RocqError.
    """
    build()
    batches: list[list[Theorem]] = [[]]
    for group in groups:
        if len(batches[-1]) >= _BATCH:
            batches.append([])
        batches[-1] += group
    with ThreadPoolExecutor(PROCESSES) as pool, Lifeline() as line:
        jobs = [pool.submit(_batch, batch, seconds, line) for batch in batches if batch]
        try:
            for job in as_completed(jobs):
                yield from job.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _batch(theorems: list[Theorem], seconds: float, line: Lifeline) -> list[Outcome]:
    """What becomes of theorems in one session, in which each that fails is left out; where one ends the
    session, those after it are tried without it.
    """
    found: list[Outcome] = []
    known: list[Theorem] = []
    while theorems:
        before = [f"{t.statement}\nProof. Admitted." for t in known]
        answers = _answers([*before, *map(_timed, theorems)], seconds, line)[len(before) :]
        for theorem, said in zip(theorems, answers, strict=False):
            done = re.search(r"^Finished transaction in ([0-9.]+)", said, re.M)
            if done and "Error" not in said:  # a step that fails is passed over, and the rest may do without
                known.append(theorem)
                found.append(Outcome(theorem.name, "checked", seconds=float(done[1])))
            else:
                found.append(Outcome(theorem.name, "failed", said.partition("\n\n")[0][-300:]))
        theorems = theorems[len(answers) :]
        if theorems:
            found.append(Outcome(theorems[0].name, "failed", f"{_LATE}{seconds:g} seconds"))
            theorems = theorems[1:]
    return found


def _answers(texts: list[str], seconds: float, line: Lifeline) -> list[str]:
    """What Rocq says of each text after the library's preamble, in a session that an error does not end; of
    fewer where the session does not end by itself. Raises RocqError where the library is not read.
    """
    asked = f"Set Silent.\nSet Default Timeout {max(1, round(seconds))}.\n{_MARK}\n"
    asked += "".join(f"{text}\nAbort All.\n{_MARK}\n" for text in texts)
    session = ["sh", "-c", 'exec "$@" <Theorems.v 2>&1', "sh", require().removesuffix("coqc") + "coqtop"]
    done = _read(session, [], asked, _START + seconds * len(texts), line)
    opened, *said = re.split(rf".*Toplevel input.*\n.*{_MARK}\n.*\nError: The reference.*", done.stdout)
    if "Error" in opened or not (said or done.returncode == 124):
        raise RocqError(f"Rocq does not read its own library: {opened.strip()[-500:]}")
    return [re.sub(r"^(?:\w+ < )+", "", text, flags=re.M).strip() for text in said[:-1]]


def _timed(theorem: Theorem) -> str:
    """The text of a theorem, such that Rocq says how long it took if it is accepted."""
    return f"{theorem.statement}\n{theorem.proof.removesuffix('Qed.')}Time Qed."
