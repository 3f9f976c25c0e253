"""A sum as a mathematician groups it: two tensors that stand in the same places are taken together, so that
α_j y_j - β_j y_j becomes (α_j - β_j) y_j and a square of their difference stays one.

For printing only: the grouped form holds sums that are not multiplied out, so it is no normal form. A group
is made only if multiplying it out gives the terms that it stands for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

from derivations.calculus import index as ix
from derivations.calculus.normal import Atom, Form, Mono, add, multiplied_out, scale


@lru_cache(maxsize=4096)
def grouped(form: Form) -> Form:
    """The form with pairs of tensors of equal dimensions taken together wherever that makes it shorter."""
    if len(form) < 2:
        return form
    for one, two in _pairs(form):
        shorter = _taken_together(form, one, two)
        if len(shorter) < len(form):
            return grouped(shorter)
    return form


def _pairs(form: Form) -> list[tuple[ix.Tensor, ix.Tensor]]:
    entries = {atom[1] for mono, _ in form for atom, _ in mono[2] if atom[0] == "T"}
    ordered = sorted(entries, key=lambda t: (t.name, t.dims))
    return [(s, t) for s, t in combinations(ordered, 2) if s.dims == t.dims]


def _taken_together(form: Form, one: ix.Tensor, two: ix.Tensor) -> Form:
    alike: defaultdict[tuple[Any, ...], list[tuple[Mono, Fraction]]] = defaultdict(list)
    kept = []
    for mono, coefficient in form:
        done = any(atom[0] == "P" and exponent > 0 for atom, exponent in mono[2])
        if not done and any(atom[0] == "T" and atom[1] in (one, two) for atom, _ in mono[2]):
            alike[_outline(mono, two, one)].append((mono, coefficient))
        else:
            kept.append((mono, coefficient))
    families: defaultdict[Mono, list[tuple[Mono, Fraction]]] = defaultdict(list)
    for some in alike.values():
        if len(some) == 1:
            kept += some
        else:
            for mono, coefficient in some:
                families[_with(mono, two, one)].append((mono, coefficient))
    for mono, members in families.items():
        group = _group(mono, tuple(members), one, two)
        kept += [group] if group else members
    return tuple(kept)


def _outline(mono: Mono, old: ix.Tensor, new: ix.Tensor) -> tuple[Any, ...]:
    """Equal for monomials that ``_with`` makes equal, and found without their canonical order."""
    dims, height, factors = mono
    counts = Counter((new if a[1] == old else a[1]) if a[0] == "T" else a[0] for a, _ in factors)
    return tuple(sorted(dims)), height, frozenset(counts.items())


def _with(mono: Mono, old: ix.Tensor, new: ix.Tensor) -> Mono:
    """The monomial with one tensor in the place of another, in canonical order."""
    dims, height, factors = mono
    renamed = [((*a[:1], new, *a[2:]) if a[0] == "T" and a[1] == old else a, e) for a, e in factors]
    ((result, _),) = multiplied_out(dims, height, renamed)
    return result


def _group(
    mono: Mono, members: tuple[tuple[Mono, Fraction], ...], one: ix.Tensor, two: ix.Tensor
) -> tuple[Mono, Fraction] | None:
    """One monomial in (one ± two) that multiplies out to the members, or None; a bare one ± two is none."""
    pure = [c for m, c in members if m == mono]
    dims, height, factors = mono
    if len(members) < 2 or len(pure) != 1 or (len(factors) == 1 and not dims and factors[0][1] == 1):
        return None
    degree = sum(e for a, e in factors if a[0] == "T" and a[1] == one)
    if sum(abs(c) for _, c in members) != abs(pure[0]) * 2**degree:  # cheaper than to multiply out in vain
        return None
    for sign in (1, -1):
        taken = tuple((_either(a, two, sign) if a[0] == "T" and a[1] == one else a, e) for a, e in factors)
        if multiplied_out(dims, height, taken) == scale(add(members), 1 / pure[0]):
            return (dims, height, taken), pure[0]
    return None


def _either(atom: Atom, other: ix.Tensor, sign: int) -> Atom:
    parts = ((atom, Fraction(1)), (("T", other, atom[2]), Fraction(sign)))
    return ("P", tuple((((), 0, ((entry, Fraction(1)),)), coefficient) for entry, coefficient in parts))
