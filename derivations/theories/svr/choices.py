"""What the variants of nguyen2023 leave to choice, read from the text of a knob.

Statistics of Attention-BN, β of (26) and (51), scales and downsampling of Attention-SH, the keys that a
sparse query keeps, kernel sizes of the convolutions. Every function raises ValueError for a text out of
range.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from derivations.theories.theory import Knob

STATISTICS = ("mean_and_variance", "mean", "unbiased_variance", "of_queries", "none")
DOWNSAMPLINGS = ("average", "first", "largest")
MASKS = ("strided", "window")
LARGEST_BETA, LARGEST_SCALE, MOST_HEADS, MOST_KEPT, LARGEST_KERNEL = 2, 64, 16, 4096, 31

KNOBS = (
    Knob(
        "statistics",
        STATISTICS,
        "what Attention-BN subtracts and divides by: mean and deviation of the keys (20), the mean only, the "
        "deviation with N - 1, mean and deviation of the queries, nothing",
    ),
    Knob(
        "beta",
        ("free", "NUMBER"),
        f"the weight β of the mean in (26) and (51): any number (a symbol), or one from 0 to {LARGEST_BETA}",
        ("0", "1/2", "1"),
    ),
    Knob(
        "scales",
        ("SCALE,SCALE,…",),
        f"tokens for each key of a scaled head, one power of two from 1 to {LARGEST_SCALE} a head, "
        f"at most {MOST_HEADS} heads",
        ("1,1", "1,1,2,4"),
    ),
    Knob(
        "downsampling",
        DOWNSAMPLINGS,
        "how a scaled head takes one key from several tokens (Remark 5): their average, the first, the "
        "largest coordinates",
    ),
    Knob(
        "mask",
        ("strided:KEPT", "window:KEPT", "all"),
        f"which keys a query of sparse attention keeps: KEPT (1 to {MOST_KEPT}) at equal steps or side by "
        "side, or all",
        ("window:64", "all"),
    ),
    Knob(
        "kernel_size",
        ("SIZE",),
        f"taps of the kernel of Attention-Conv1D, a whole number from 1 to {LARGEST_KERNEL}",
        ("1", "4"),
    ),
    Knob(
        "kernel_size_2d",
        ("SIZE",),
        f"side of the kernel of Attention-Conv2D, a whole number from 1 to {LARGEST_KERNEL}",
        ("1", "3"),
    ),
)


def whole(text: str, most: int) -> int:
    """A whole number from 1 to ``most``."""
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text) or int(text) > most:
        raise ValueError(f"a whole number from 1 to {most} is needed")
    return int(text)


def beta(text: str) -> Fraction | None:
    """β as a number, None for a free symbol."""
    if text == "free":
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}|/[1-9][0-9]{0,8})?", text):
        raise ValueError("a number such as 0.5 or 1/2 is needed")
    value = Fraction(text)
    if value > LARGEST_BETA:
        raise ValueError(f"a number from 0 to {LARGEST_BETA} is needed")
    return value


def scales(text: str) -> tuple[int, ...]:
    """Tokens for each key, one number a head."""
    parts = text.split(",")
    if len(parts) > MOST_HEADS:
        raise ValueError(f"{len(parts)} heads are more than {MOST_HEADS}")
    found = tuple(whole(part.strip(), LARGEST_SCALE) for part in parts)
    if any(n & (n - 1) for n in found):
        raise ValueError("powers of two are needed, so that they divide the lengths")
    return found


def mask(text: str) -> tuple[str, int | None]:
    """The pattern and the number of keys that a query keeps, None for all."""
    if text == "all":
        return "all", None
    name, _, kept = text.partition(":")
    if name not in MASKS:
        raise ValueError("no such pattern")
    return name, whole(kept, MOST_KEPT)


def _one_of(allowed: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError("not an allowed value")
        return text

    return parse


def kernel_size(text: str) -> int:
    """Taps along one axis."""
    return whole(text, LARGEST_KERNEL)


PARSERS: dict[str, Callable[[str], Any]] = {
    "statistics": _one_of(STATISTICS),
    "beta": beta,
    "scales": scales,
    "downsampling": _one_of(DOWNSAMPLINGS),
    "mask": mask,
    "kernel_size": kernel_size,
    "kernel_size_2d": kernel_size,
}
