"""Arrays whose values are fixed by the order of their indices: what masks and recurrences are made of."""

from __future__ import annotations

from fractions import Fraction

from derivations.calculus.index import Tensor

_BEFORE, _STEP, _FIRST = "before#", "step#", "first#"


def before(dim: str) -> Tensor:
    """The array with 1 at (i, l) where l < i, else 0."""
    return Tensor(_BEFORE, (dim, dim), entry_latex=r"\mathbf{1}\left[%2 < %1\right]")


def step(dim: str) -> Tensor:
    """The array with 1 at (i, l) where l = i - 1, else 0."""
    return Tensor(_STEP, (dim, dim), entry_latex=r"\mathbf{1}\left[%2 = %1 - 1\right]")


def first(dim: str) -> Tensor:
    """The array with 1 at its first index, else 0."""
    return Tensor(_FIRST, (dim,), entry_latex=r"\mathbf{1}\left[%1 = 1\right]")


def is_mask(tensor: Tensor) -> bool:
    """Whether the values of a tensor are fixed by the order of its indices."""
    return tensor.name in (_BEFORE, _STEP, _FIRST)


def value(tensor: Tensor, at: tuple[int, ...]) -> Fraction:
    """The value of a mask's entry."""
    if tensor.name == _FIRST:
        return Fraction(int(at[0] == 0))
    i, l = at
    return Fraction(int(l < i if tensor.name == _BEFORE else l == i - 1))
