"""A theorem for Rocq as text, and the few forms that statements and proofs are written in."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

YES = "ltac:(vm_cast_no_check (eq_refl true))"
"""The proof that the checker said yes: the kernel runs it."""
_WIDTH = 106


@dataclass(frozen=True)
class Theorem:
    """What Rocq checks: ``statement`` from "Theorem" to its full stop, ``proof`` from "Proof." to "Qed."."""

    name: str
    statement: str
    proof: str

    @property
    def text(self) -> str:
        """Both."""
        return f"{self.statement}\n{self.proof}"


def listed(items: Iterable[object], separator: str = "; ") -> str:
    """A list in Rocq."""
    return f"[{separator.join(map(str, items))}]"


def conjunction(proofs: Iterable[str]) -> str:
    """A proof of a conjunction that ends in True."""
    found = list(proofs)
    return "".join(f"(conj {p} " for p in found) + "I" + ")" * len(found)


def filled(text: str, indent: str = "  ") -> str:
    """Lines of a width that can be read; Rocq does not care."""
    return textwrap.fill(
        text, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def beyond_zero(theorems: Iterable[str]) -> str:
    """For which differences of sizes the theorems of a statement alone are: every size is 1 or more to them,
    and C - 1, over which the statement may also sum nothing, is 0 for C = 1. "" without such a size.
    """
    found = {pair for text in theorems for pair in re.findall(r"\(0\s+<\s+(\w+)_minus_(\w+)\)%nat", text)}
    pairs = ((one.replace("_minus_", " - "), less) for one, less in sorted(found))
    return ", ".join(f"{one} - {less} ≥ 1" for one, less in pairs)
