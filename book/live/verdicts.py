"""The verdicts that settings change, as the page shows them, claim by claim.

The same engines judge as in `attest derive`, which leaves out mutants, solvers and tensors; some need
python-flint.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from checks.claim import Options
from checks.evidence import Record
from checks.run.content import said_under
from checks.run.registry import load
from checks.run.theories import theory
from checks.run.verify import assumptions_for, examine, why
from derivations.theories.theory import BadAssumption


def judge(name: str, settings: str, tell: Callable[[str], Any]) -> str:
    """Judge every claim that the settings touch, under the paper's assumptions and under these, and ``tell``
    each as a JSON object when it is done; returns how many there are, and how many the theory has, or, under
    "error", the line that says what is wrong with the settings.

    Like `attest derive` it leaves out mutants, solvers and tensors.
    """
    try:
        assumptions = {name: theory(name).assumptions(json.loads(settings))}
    except BadAssumption as error:
        return json.dumps({"error": str(error)})
    claims = [claim for claim in load().values() if claim.theory == name]
    pairs = [(claim, assumptions_for(claim, {}), assumptions_for(claim, assumptions)) for claim in claims]
    touched = [(c, old, new) for c, old, new in pairs if said_under(c, old) != said_under(c, new)]
    tell(json.dumps({"touched": len(touched), "claims": len(claims)}))
    for claim, old, new in touched:
        before, after = (examine(claim, a, Options(), quick=True) for a in (old, new))
        tell(json.dumps(_verdicts(before, after), ensure_ascii=False))
    return json.dumps({"touched": len(touched), "claims": len(claims)})


def _verdicts(before: Record, after: Record) -> dict[str, Any]:
    """The verdicts before and after, and why, in the words of `attest derive`."""
    return {
        "id": after.id,
        "title": f"{after.reference}: {after.title}",
        "before": before.verdict,
        "after": after.verdict,
        "why": why(after),
    }
