"""The quantities of a measurement one by one: what each means for a model, which head stands out, what
changed.

They are read from a measurement's JSON, so that a run can be compared with one that was stored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from checks.tensors.core.errors import TensorError

FAR = 3.5
"""Median deviations (times 0.6745) beyond which a head stands out (Iglewicz and Hoaglin, 1993)."""

ROUNDING = 1e-9
"""Heads that differ by less do not stand apart."""

Heads = Mapping[str, Mapping[str, Any]]
"""Measurements as JSON by the names of their heads."""


@dataclass(frozen=True)
class Quantity:
    """A number of each head: how it is read from a measurement's JSON, printed, and what it means."""

    name: str
    of: Callable[[Any], Any]
    digits: str
    meaning: str

    def value(self, head: Mapping[str, Any]) -> float | None:
        """The number, or None where the head has none. Raises TensorError for a JSON of another shape."""
        try:
            found = self.of(head)
        except TypeError:  # of a part that is null: a head without values
            return None
        except (KeyError, IndexError, ValueError):
            raise TensorError(
                f"a head has no {self.name}; the JSON of `attest measure --json` is needed"
            ) from None
        if found is None or isinstance(found, bool) or not isinstance(found, int | float):
            return None
        try:
            return float(found) if math.isfinite(found) else None
        except OverflowError:  # a whole number of a JSON that was written by hand
            return None

    def shown(self, value: float) -> str:
        """The number as it is printed."""
        return format(value, self.digits)


QUANTITIES = (
    Quantity(
        "log C*",
        lambda h: h["svr"]["log_c_star"],
        ".3f",
        "logarithm of the smallest C for which the head, with its keys as queries, is an exact support "
        "vector fit; large where single keys need large coefficients",
    ),
    Quantity(
        "angle of V",
        lambda h: max(h["singular"]["sines"]),
        ".3g",
        "largest sine between a value column and its image under A'A: 0 if the values are right singular "
        "vectors of A, as kernel SVD has it",
    ),
    Quantity(
        "cosine",
        lambda h: h["singular"]["cosine"],
        ".3g",
        "largest cosine between two value columns: 0 if they are orthogonal, 1 if two say the same",
    ),
    Quantity(
        "J",
        lambda h: h["singular"]["objective_relative"],
        ".3g",
        "objective of kernel SVD at the head, relative: 0 only where every angle is 0",
    ),
    Quantity(
        "sigma_1",
        lambda h: h["spectrum"]["values"][0],
        ".4f",
        "largest singular value of A, a lower bound beyond 1024 tokens: the root of queries over keys, so 1 "
        "for as many, if all keys get the same attention in total, the root of the number of queries if all "
        "look at one key",
    ),
    Quantity(
        "stable",
        lambda h: h["spectrum"]["stable_rank"],
        ".2f",
        "effective rank of A that counts strong directions: 1 if every query gets the same mixture of "
        "values, the number of tokens if each gets its own",
    ),
    Quantity(
        "partic.",
        lambda h: h["spectrum"]["participation"],
        ".2f",
        "effective rank that counts weaker directions too (± standard error where estimated)",
    ),
    Quantity(
        "entropy",
        lambda h: h["spectrum"]["entropy_rank"],
        ".1f",
        "effective rank that counts all directions, up to 1024 tokens",
    ),
    Quantity(
        "c_j < 0",
        lambda h: h["energy"]["negative"],
        ".0f",
        "tokens whose alignment c_j is negative: the minimum for powers u^p of farooq2025 supposes that "
        "there is none",
    ),
    Quantity(
        "minimisers",
        lambda h: h["energy"]["dimension_at_least"],
        ".0f",
        "dimension, at least, of the states with the same least quadratic energy: above 0 the output is "
        "one of many",
    ),
    Quantity(
        "off keys",
        lambda h: h["centering"]["keys"],
        ".1e",
        "change of the output when the mean is taken off the keys: rounding only, softmax does not see it",
    ),
    Quantity(
        "off queries",
        lambda h: h["centering"]["queries"],
        ".2g",
        "change of the output when the mean is taken off the queries: what rests on what all queries share",
    ),
)


def values(quantity: Quantity, heads: Heads) -> dict[str, float]:
    """The numbers of the heads that have one."""
    found = {name: quantity.value(head) for name, head in heads.items()}
    return {name: value for name, value in found.items() if value is not None}


def outstanding(found: Mapping[str, float]) -> list[str]:
    """The heads far from the middle, the farthest first."""
    if len(found) < 5:
        return []
    middle = median(found.values())
    away = {name: abs(value - middle) for name, value in found.items()}
    usual = median(away.values())
    far = [n for n, distance in away.items() if 0.6745 * distance > FAR * usual > 0 and distance > ROUNDING]
    return sorted(far, key=lambda name: -away[name])


def sentences(heads: Heads) -> list[tuple[str, str]]:
    """For each quantity that a head has: its name, and what it means, its range and which head stands out."""
    said = []
    for quantity in QUANTITIES:
        found = values(quantity, heads)
        if found:
            said.append((quantity.name, f"{quantity.meaning}. {_range(quantity, found)}"))
    return said


def _range(quantity: Quantity, found: Mapping[str, float]) -> str:
    low, high = (f(found, key=lambda name: found[name]) for f in (min, max))
    if found[low] == found[high]:
        return f"Here {quantity.shown(found[low])}."
    far = outstanding(found)
    extremes = " ".join(f"{name} ({quantity.shown(found[name])})," for name in (low, high))
    apart = f"{', '.join(far[:3])} stands apart" if len(far) == 1 else f"{', '.join(far[:3])} stand apart"
    return (
        f"Lowest and highest: {extremes} median {quantity.shown(median(found.values()))}; "
        f"{apart if far else 'no head stands apart'}."
    )


def changes(before: Heads, after: Heads) -> dict[str, dict[str, tuple[float, float]]]:
    """By quantity and head: the number before and after. Raises TensorError where no head has one name."""
    both = [name for name in after if name in before]
    if not both:
        raise TensorError(
            f"the runs have no head in common: {', '.join([*before][:3])} before, "
            f"{', '.join([*after][:3])} now"
        )
    found = {}
    for quantity in QUANTITIES:
        old, new = (values(quantity, {name: run[name] for name in both}) for run in (before, after))
        found[quantity.name] = {name: (old[name], new[name]) for name in both if name in old and name in new}
    return {name: each for name, each in found.items() if each}


def stored_heads(content: bytes, source: str) -> dict[str, dict[str, Any]]:
    """The heads of an earlier run's JSON by their names. Raises TensorError for a content that holds none."""
    try:
        found = {str(head["head"]): dict(head) for head in json.loads(content)["heads"]}
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TensorError(f"{source} is no output of `attest measure --json`") from None
    if not found:
        raise TensorError(f"{source} has no heads")
    return found
