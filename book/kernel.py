"""What Rocq's kernel checked of the claims: labels, theorems in readable notation, counts, what to trust."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from book.ledger import Claim, Ledger
from book.markup import badge, code, folded, literal, table, text
from checks.audit import current, per_audit
from checks.kernel.rocq import exporters_hash, library_hash
from checks.kernel.theorem import beyond_zero

GRADE = "kernel-checked"


@per_audit
def _record() -> dict[str, Any]:
    """The record that `attest prove --all` writes, or one without claims."""
    path = current().records_folder / "kernel.json"
    return json.loads(path.read_text("utf8")) if path.exists() else {"claims": {}}


def _recorded(claim: Claim) -> dict[str, Any] | None:
    """What is recorded of the statement that the page shows; nothing of another version of it."""
    if _record().get("library", library_hash()) != library_hash():
        return None  # what Rocq read then is another library
    if _record().get("exporters", "") not in ("", exporters_hash()):
        return None  # what made theorems of statements then is another exporter
    found = _record()["claims"].get(claim.id)
    stands = claim.corrected or claim.statement
    shown = hashlib.sha256(stands.latex.encode()).hexdigest()[:16]
    if not found or (found["verdict"], found["said"]) != (claim.verdict, shown):
        return None
    return found if found.get("content", "") in ("", stands.content) else None


def _good(part: dict[str, Any]) -> bool:
    theorems = part["theorems"]
    return bool(theorems) and not part["missing"] and all(t["outcome"] == "checked" for t in theorems)


def checked(claim: Claim) -> bool:
    """Whether every part with content of the version that stands is checked."""
    found = _recorded(claim)
    if found is None or claim.verdict not in ("proved", "corrected"):
        return False
    parts = found["parts"]
    return any(map(_good, parts)) and all(_good(p) or p["settled"] for p in parts)


def label(claim: Claim) -> str:
    """The label of a claim whose statement is checked, or nothing."""
    return badge(GRADE, "grade") if checked(claim) else ""


def section(claim: Claim) -> str:
    """The theorems, folded, and what of the statement has none."""
    found = _recorded(claim)
    if found is None:
        return ""
    shown = [_sentence(claim, found)]
    for title, parts in (
        ("As Rocq reads it", "parts"),
        ("That it fails as printed, as Rocq reads it", "refuted"),
    ):
        if theorems := list(_theorems(found[parts])):
            shown.append(folded(title, "\n\n".join(theorems)))
    reasons = {why for part in found["parts"] if not part["settled"] for why in part["missing"]}
    shown += [f"Not covered: {text(why)}." for why in sorted(reasons)]
    return "\n\n".join([*shown, literal(f"$ {current().command} prove {claim.id}", "console")])


def _outcomes(found: dict[str, Any]) -> list[str]:
    return [t["outcome"] for part in (*found["parts"], *found["refuted"]) for t in part["theorems"]]


def _sentence(claim: Claim, found: dict[str, Any]) -> str:
    every, version = _outcomes(found), f"Rocq {_record()['rocq']}"
    if not every:
        return f"No theorem for {version} is made of this claim."
    wholly = {"proved": "The statement", "corrected": "The corrected statement"}
    whole = wholly[claim.verdict] if checked(claim) else "A part of it"
    count = f"{every.count('checked')} of {len(every)} theorems are accepted"
    said = f"{whole} is checked by the kernel of {version}: {count}."
    sizes = beyond_zero(t["statement"] for part in found["parts"] for t in part["theorems"])
    return f"{said} They are about {sizes}: what the statement says of 0 they leave out." if sizes else said


def _theorems(parts: list[dict[str, Any]]) -> Iterator[str]:
    for part in parts:
        for theorem in part["theorems"]:
            yield literal(f"(* {theorem['outcome']} *)\n{theorem['statement']}", "coq")


def count(ledger: Ledger) -> str:
    """How many claims are checked, for the front page."""
    good = [c.verdict for c in ledger.claims if checked(c)]
    if not good:
        return ""
    failing = [found for c in ledger.claims if (found := _recorded(c)) and found["refuted"]]
    refuted = sum(
        any(t["outcome"] == "checked" for p in f["refuted"] for t in p["theorems"]) for f in failing
    )
    return (
        f"{badge(GRADE, 'grade')} Of these, **{good.count('proved')} proofs** and "
        f"**{good.count('corrected')} corrections** are checked by the kernel of the proof assistant Rocq, "
        f"as is that {refuted} claims fail as printed: [what you have to trust](what-to-trust.md)."
    )


def coverage(ledger: Ledger) -> str:
    """How much of the statements of each kind is checked, and why the rest is not, as a table."""
    rows = []
    for kind, found in _record().get("coverage", {}).items():
        why = "; ".join(f"{text(reason)} ({n})" for reason, n in found["why"].items())
        rows.append([text(kind), str(found["claims"]), str(found["checked"]), why])
    return table(["Kind", "Claims", "Checked", "Why not"], rows)


def trust(ledger: Ledger) -> str:
    """The axioms as Rocq prints them, and how many theorems rest on them."""
    record = _record()
    if not record["claims"]:
        return "No theorem is recorded."
    every = [outcome for found in record["claims"].values() for outcome in _outcomes(found)]
    made = f"{every.count('checked')} of {len(every)} theorems were accepted by Rocq {record['rocq']}"
    axioms = literal("\n".join(record["axioms"]), "coq")
    return f"{made} (library {code(record['library'])}). The library's soundness theorems assume:\n\n{axioms}"
