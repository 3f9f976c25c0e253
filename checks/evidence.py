"""Evidence, and the record that the ledger keeps of each claim."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import cache
from math import inf
from typing import Any, get_args, get_origin, get_type_hints

GRADES = (
    "exact-symbolic",
    "exact-rational",
    "interval",
    "certified-float",
    "compared",
    "sampled",
    "measured",
)
LEGS = ("derivation", "solver", "tensor", "exact")


@dataclass(frozen=True)
class Evidence:
    """One leg's finding. ``passed`` is None where the leg settles nothing or did not run (then ``not_run``
    says why).

    ``settles`` marks the evidence that alone decides a statement (a proof); shapes and definedness, which
    every formula must pass as well, do not settle anything. ``error`` and ``bound`` are in the units of the
    quantity compared; ``seconds`` wall-clock; ``peak_bytes`` memory. ``wrong`` is how many wrong versions
    were tried as well (None: none), ``not_rejected`` names those that passed: then the leg does not. ``part``
    is the letter of the part of the statement that it is about.
    """

    leg: str
    grade: str
    passed: bool | None
    detail: str = ""
    _: KW_ONLY
    error: float | None = None
    bound: float | None = None
    tokens: int | None = None
    dtype: str | None = None
    device: str | None = None
    backend: str | None = None
    seconds: float | None = None
    peak_bytes: int | None = None
    not_run: str | None = None
    settles: bool = False
    wrong: int | None = None
    not_rejected: tuple[str, ...] = ()
    part: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "not_rejected", tuple(self.not_rejected))
        if self.passed and self.not_rejected:
            raise ValueError(f"wrong versions pass as well: {', '.join(self.not_rejected)}")
        if self.leg not in LEGS or self.grade not in GRADES:
            raise ValueError(
                f"unknown leg or grade: {self.leg}, {self.grade}; legs are {', '.join(LEGS)}, grades "
                f"{', '.join(GRADES)}"
            )
        if self.passed is not None:  # NumPy's booleans are not the constants that verdicts ask for
            if self.passed not in (True, False):
                raise ValueError(f"a leg passes, fails or settles nothing (None): {self.passed!r} is neither")
            object.__setattr__(self, "passed", bool(self.passed))
        if self.wrong is not None and not (isinstance(self.wrong, int) and self.wrong >= 0):
            raise ValueError(f"no number of wrong versions: {self.wrong!r}")
        measured = self.error is not None and self.bound is not None
        if self.passed and measured and not 0 <= self.error <= self.bound < inf:  # type: ignore[operator]
            raise ValueError(f"an error of {self.error} does not pass with the bound {self.bound}")
        if (self.passed is not None) and self.not_run:
            raise ValueError("a leg that did not run has no result")

    @property
    def _within(self) -> bool:
        return self.error is not None and self.bound is not None and 0 <= self.error <= self.bound < inf

    @property
    def too_wide(self) -> bool:
        """Whether it fails only because wrong versions stay within the bound as well, in float32 or bfloat16:
        the worst case of their rounding grows with the tokens. In float64 such a check fails like any other.
        """
        coarse = self.dtype in ("float32", "bfloat16")
        return self.passed is False and bool(self.not_rejected) and coarse and self._within

    @property
    def failure(self) -> str:
        """Why it does not pass, "" where it does or settles nothing."""
        if self.passed is not False:
            return ""
        wrong = f"wrong versions pass as well: {', '.join(self.not_rejected)}"
        return (
            "; ".join(["out of bounds"] * (not self._within) + [wrong] * bool(self.not_rejected)) or "fails"
        )


def problem(row: Mapping[str, Any]) -> tuple[str, str]:
    """Of a part of a run of tensor checks, as its data file has it: "failed" or "too wide", and why; "" and
    "" where nothing is wrong.
    """
    if row["raised"]:
        return "failed", row["raised"]
    failing = [e for e in (Evidence(**piece) for piece in row["evidence"]) if e.passed is False]
    word = "" if not failing else "too wide" if all(e.too_wide for e in failing) else "failed"
    return word, "; ".join(dict.fromkeys(e.failure for e in failing))


def instead(verdict: str) -> str:
    """What stands above a correction: that it holds is said only where that is decided."""
    tried = {"corrected": "Holds instead", "refuted": "Tried instead, fails as well"}
    return tried.get(verdict, "Tried instead, not shown to hold, or to repair it")


def finding(detail: str, wrong: int | None, not_rejected: Iterable[str]) -> str:
    """What a piece of evidence says: what was compared, and what became of the wrong versions."""
    alive = ", ".join(not_rejected)
    versions = f"not rejected: {alive}" if alive else f"{wrong} wrong versions rejected" if wrong else ""
    return "; ".join(filter(None, (detail, versions)))


@dataclass
class Mutants:
    """How many wrong versions of the formula were tried, rejected, or found to say the same."""

    tried: int = 0
    killed: int = 0
    equivalent: int = 0
    survivors: list[str] = field(default_factory=list)


@dataclass
class Record:
    """What the ledger keeps of one claim (one JSON object)."""

    id: str
    paper: str
    reference: str
    title: str
    kind: str
    verdict: str
    literal_holds: bool | None
    assumptions: list[str]
    rests_on: list[str]
    severity: str | None
    correction: str | None
    counterexample: str | None
    evidence: list[Evidence]
    mutants: Mutants
    words: str = ""
    statement: dict[str, str] = field(default_factory=dict)
    corrected: dict[str, str] | None = None
    where: str = ""
    steps: list[dict[str, Any]] = field(default_factory=list)
    assumed: list[dict[str, str]] = field(default_factory=list)
    knobs: list[str] = field(default_factory=list)
    notes: str = ""
    source: str = ""
    declaration: str = ""
    engines: list[str] = field(default_factory=list)
    command: str = ""
    weakened_by: list[str] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    inherited_by: list[str] = field(default_factory=list)
    place: str = ""
    printed: list[str] = field(default_factory=list)
    added: str = ""
    reading: dict[str, Any] | None = None
    seconds: float = 0.0

    @property
    def judged(self) -> bool:
        """Whether it was judged: one that was ended before says nothing of its statement."""
        return bool(self.statement) or self.verdict != "unsettled"

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON data."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Record:
        """The inverse of ``to_json``. Raises TypeError, ValueError or KeyError for data of another shape."""
        data = dict(data)
        data["evidence"] = [Evidence(**e) for e in data["evidence"]]
        data["mutants"] = Mutants(**data["mutants"])
        record = Record(**data)
        parts: list[Any] = [record, record.mutants, *record.evidence]
        for part in parts:
            of: Any = type(part)
            for name, kind in _kinds(of).items():
                if not _fits(getattr(part, name), kind):
                    raise TypeError(f"{name} is of another type than {kind}")
        for name, keys in _KEYS.items():
            found = getattr(record, name) or []
            for item in found if isinstance(found, list) else [found]:
                _require(name, item, keys)
        return record


def digest(name: str, data: Any) -> str:
    """A digest of what is stored under a name. Raises ValueError for what nests beyond what is written here:
    what could just be read may nest too deeply for this.
    """
    try:
        text = json.dumps([name, data], sort_keys=True, ensure_ascii=False)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return hashlib.sha256(text.encode()).hexdigest()


MEASURED = "measurement"
"""What digests of data files are made under that a program writes for the book's pages of measurements."""


def sealed(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """Data with the digest by which `unsealed` knows them."""
    return {**data, "digest": digest(name, data)}


def unsealed(name: str, content: Any) -> dict[str, Any]:
    """Data from the content of their file. Raises ValueError where they are not as they were written."""
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    data = {key: value for key, value in content.items() if key != "digest"}
    if content.get("digest") != digest(name, data):
        raise ValueError("it was changed since it was written")
    return data


def as_written(result: Any) -> dict[str, Any]:
    """An experiment's result from the content of its file. Raises ValueError where it is not as it was
    written.
    """
    if not isinstance(result, dict) or not isinstance(result.get("data"), dict):
        raise ValueError("data is no object")
    return unsealed("experiment", result)


_KEYS = {
    "statement": ("latex",),
    "corrected": ("latex", "words"),
    "steps": ("title", "latex", "reason"),
    "assumed": ("name", "words", "knob", "value"),
    "failures": ("latex", "severity", "because"),
}
"""The texts in those parts of a record that are dictionaries or lists of them."""


def _require(name: str, item: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Raises TypeError for a part of a record without its texts, KeyError for a step without its result."""
    if not all(isinstance(item.get(key), str) for key in keys):
        raise TypeError(f"{name} lack one of {', '.join(keys)}")
    if name == "steps" and not any(item["passed"] is result for result in (True, False, None)):
        raise TypeError("a step neither passes nor fails nor is open")


@cache
def _kinds(kept: Any) -> dict[str, Any]:
    """The types of a dataclass's fields."""
    return {name: kind for name, kind in get_type_hints(kept).items() if name != "_"}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value read from JSON is of a type; a whole number that no float holds is no float."""
    if kind is Any or type(value) is kind:
        return True
    if kind is float:
        return type(value) is int and abs(value) < 2**53
    inner, outer = get_args(kind), get_origin(kind)
    if outer is dict:
        return isinstance(value, dict) and all(_fits(each, inner[1]) for each in value.values())
    if outer in (list, tuple):
        return isinstance(value, outer) and all(_fits(each, inner[0]) for each in value)
    return any(_fits(value, each) for each in inner)
