"""What the red team's modules consist of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Pair(NamedTuple):
    """A false statement, why it is false, and a true one that looks like it; both are built when they
    are judged.
    """

    name: str
    false: Callable[[], Any]
    why: str
    true: Callable[[], Any]
