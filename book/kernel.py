"""What Rocq's kernel checked of the claims: labels, theorems in readable notation, counts, what to trust."""

from __future__ import annotations

from collections.abc import Iterator

from book.ledger import Claim, Ledger
from book.markup import badge, code, folded, literal, text
from checks.run import proofs


def _recorded(claim: Claim) -> proofs.ClaimProofs | None:
    """What is recorded of the statement that the page shows; nothing of another version of it."""
    if not proofs.RECORDED.exists():
        return None
    found = proofs.read().claims.get(claim.id)
    shown = (claim.corrected or claim.statement).latex
    return found if found and found.verdict == claim.verdict and found.said == proofs.hash_of(shown) else None


def checked(claim: Claim) -> bool:
    """Whether all of the version that stands is checked."""
    found = _recorded(claim)
    return found is not None and found.checked


def label(claim: Claim) -> str:
    """The label of a claim whose statement is checked, or nothing."""
    return badge(proofs.GRADE, "grade") if checked(claim) else ""


def section(claim: Claim) -> str:
    """The theorems, folded, and what of the statement has none."""
    found = _recorded(claim)
    if found is None:
        return ""
    shown = [_sentence(found)]
    theorems = list(_theorems(found.parts))
    if theorems:
        shown.append(folded(f"{len(theorems)} theorems as Rocq reads them", "\n\n".join(theorems)))
    refutations = list(_theorems(found.refuted))
    if refutations:
        shown.append(folded("That it fails as printed, as Rocq reads it", "\n\n".join(refutations)))
    reasons = {why for part in found.parts if not part.settled for why in part.missing}
    shown += [f"Not covered: {text(why)}." for why in sorted(reasons)]
    return "\n\n".join([*shown, f"```console\n$ attest prove {claim.id}\n```"])


def _sentence(found: proofs.ClaimProofs) -> str:
    every = [p for part in (*found.parts, *found.refuted) for p in part.theorems]
    good = sum(p.outcome == "checked" for p in every)
    version = f"Rocq {proofs.read().rocq}"
    if not every:
        return f"No theorem for {version} is made of this claim."
    what = {"corrected": "The corrected statement", "refuted": "That the statement fails"}
    whole = (
        what.get(found.verdict, "The statement") if found.checked or found.verdict == "refuted" else "A part"
    )
    return f"{whole} is checked by the kernel of {version}: {good} of {len(every)} theorems are accepted."


def _theorems(parts: list[proofs.Part]) -> Iterator[str]:
    for part in parts:
        for proof in part.theorems:
            yield literal(f"(* {proof.outcome} *)\n{proof.statement}", "coq")


def count(ledger: Ledger) -> str:
    """How many claims are checked, for the front page."""
    good = [c.verdict for c in ledger.claims if checked(c)]
    if not good:
        return ""
    refuted = sum(bool(found and found.refutation) for found in map(_recorded, ledger.claims))
    return (
        f"{badge(proofs.GRADE, 'grade')} Of these, **{good.count('proved')} proofs** and "
        f"**{good.count('corrected')} corrections** are checked by the kernel of the proof assistant Rocq, as is "
        f"that {refuted} claims fail as printed: [what you have to trust](what-to-trust.md)."
    )


def trust(ledger: Ledger) -> str:
    """The axioms as Rocq prints them, and how the record was made."""
    if not proofs.RECORDED.exists():
        return "No theorem is recorded."
    record = proofs.read()
    every = [p for claim in record.claims.values() for p in claim.proofs()]
    good = sum(p.outcome == "checked" for p in every)
    made = f"{good} of {len(every)} theorems were accepted by Rocq {record.rocq}"
    axioms = literal("\n".join(record.axioms), "coq")
    return f"{made} (library {code(record.library)}). The library's soundness theorems assume:\n\n{axioms}"
