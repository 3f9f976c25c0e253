"""Docstrings that list what is allowed, from the tables that are looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import fill
from typing import TypeVar

T = TypeVar("T")


def allows(**tables: Iterable[str]) -> Callable[[T], T]:
    """Adds to the docstring of a function or class which texts a parameter or field may be."""

    def add(documented: T) -> T:
        lines = (
            fill(
                f"``{name}`` is one of {'; '.join(table)}.",
                100,
                initial_indent=" " * 4,
                subsequent_indent=" " * 4,
            )
            for name, table in tables.items()
        )
        documented.__doc__ = "\n\n".join([(documented.__doc__ or "").rstrip(), *lines]) + "\n    "
        return documented

    return add
