"""The theories whose assumptions can be changed."""

from __future__ import annotations

from checks.audit import current, own_module
from derivations.theories.theory import BadAssumption, Theory


def theories() -> dict[str, Theory]:
    """The theories of the audit by name."""
    return {t.name: t for t in own_module(current().theories).THEORIES} if current().theories else {}


def theory(name: str) -> Theory:
    """A theory by name. Raises BadAssumption with the names there are."""
    found = theories()
    if name not in found:
        raise BadAssumption(f"no theory '{name}'; there are {', '.join(sorted(found)) or 'none'}")
    return found[name]
