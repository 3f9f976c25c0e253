"""The page of one claim, and the parts of it that other pages show too."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from book import figure, kernel
from book.ledger import Claim, Ledger, paper_name
from book.markup import (
    Room,
    badge,
    box,
    code,
    display,
    folded,
    letter,
    link,
    literal,
    paragraphs,
    prose,
    scroll,
    table,
    text,
)
from checks.evidence import finding as said
from checks.evidence import instead

LITERAL = {True: "holds as printed", False: "fails as printed", None: "neither holds nor fails as printed"}
RECOMPUTED = "what is recomputed of it holds as printed; what it reports of experiments is not decided"


def anchor(name: str) -> str:
    """The address of an assumption or knob on the page of all of them."""
    return "assumption-" + "".join(c if c.isalnum() else "-" for c in name.lower())


def statement(claim: Claim, room: Room | None = None) -> str:
    """The statement that was decided, with the meaning of its symbols."""
    show = (room or Room()).display
    parts = [text(claim.statement.words), show(claim.statement.latex), text(claim.where)]
    return "\n\n".join(part for part in parts if part)


def sides(claim: Claim, room: Room) -> str:
    """What the paper prints beside what was decided, and what was added to make it decidable."""
    printed, decided = in_the_paper(claim, room), as_decided(claim, room)
    if not claim.printed:
        return "\n\n".join(part for part in (printed, decided) if part)
    return box("{div} sides", "\n".join(box("{div} side", side) for side in (printed, decided)))


def in_the_paper(claim: Claim, room: Room) -> str:
    """Where a claim stands in the paper, and the formulas that are printed there."""
    if not claim.printed:
        return f"**In the paper**: {text(claim.place)}." if claim.place else ""
    return "\n\n".join([f"**In the paper** ({text(claim.place)})", *map(room.display, claim.printed)])


def as_decided(claim: Claim, room: Room) -> str:
    """The statement that was decided, and what was added to make it decidable."""
    head = "**As decided**" if claim.printed else ""
    added = f"Added to make it decidable: {text(claim.added)}" if claim.added else ""
    return "\n\n".join(part for part in (head, statement(claim, room), added) if part)


def reading(claim: Claim) -> str:
    """What was read in the paper without sight of the record, and what the comparison gave."""
    if not claim.reading:
        return ""
    stale = {
        True: "The statement has changed since: to be compared again.",
        None: "Not judged this time: nothing to compare with.",
    }
    outcome = stale.get(claim.reading["stale"], text(claim.reading["outcome"]))
    version = code(claim.reading["version"])
    lines = [
        f"- From the paper alone: {text(claim.reading['paper'])}",
        f"- This record, version {version}: {text(claim.reading['record'])}",
        f"- Compared: {outcome}",
    ]
    return "\n".join(lines)


def formula(claim: Claim) -> str:
    """The statement's formula alone."""
    return display(claim.statement.latex)


def corrected(claim: Claim, room: Room | None = None) -> str:
    """The minimally changed statement, or nothing."""
    show = (room or Room()).display
    if claim.corrected:
        return "\n\n".join(
            part for part in (text(claim.corrected.words), show(claim.corrected.latex)) if part
        )
    return show(claim.correction or "")


def counterexample(claim: Claim) -> str:
    """The counterexample in a box, or nothing."""
    if not claim.counterexample:
        return ""
    return box("{div} counterexample", prose(claim.counterexample))


def steps(claim: Claim, room: Room | None = None) -> str:
    """The derivation: each step with its formula, the reason it holds and how it was settled."""
    show, blocks = (room or Room()).display, []
    for number, step in enumerate(claim.steps, 1):
        head = f'<span class="step-number">{number}</span> **{text(step.get("title") or "Step")}**'
        foot = f"{outcome(step)} {text(step.get('grade') or '')}"
        reason = text(step.get("reason") or "")
        parts = [head, show(step.get("latex") or ""), reason, foot]
        blocks.append(box("{div} step", "\n\n".join(part for part in parts if part)))
    return "\n\n".join(blocks)


CHAIN = ("Program", "Solve for ", "Dual program", "Values")


def chain(claim: Claim) -> str:
    """From the program to the expansion: the steps of a derivation by dualising that a reader needs
    to see.
    """
    found = [step for step in claim.steps if str(step.get("title") or "").startswith(CHAIN)]
    return steps(replace(claim, steps=found)) if len(found) > 1 else ""


def outline(claim: Claim) -> str:
    """The derivation without its formulas: what each step says, why it holds, how it was settled."""
    lines = []
    for step in claim.steps:
        reason = text(step.get("reason") or "")
        lines.append(f"1. **{text(step.get('title') or 'Step')}.** {reason} {outcome(step)}")
    return "\n".join(lines)


def number(value: Any) -> str:
    """A number of the ledger for a table cell: short, and never rounded down to nothing."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return text(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"


def size(count: int | None) -> str:
    """Bytes as KiB, MiB or GiB."""
    if count is None:
        return ""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.3g} {unit}"


COLUMNS = {
    "part": ("Part", text),
    "leg": ("Leg", text),
    "grade": ("Grade", text),
    "passed": ("Result", None),
    "detail": ("Finding", text),
    "error": ("Error", number),
    "bound": ("Bound", number),
    "tokens": ("Tokens", number),
    "dtype": ("Type", text),
    "device": ("Device", text),
    "backend": ("Done by", text),
    "seconds": ("Seconds", number),
    "peak_bytes": ("Peak memory", size),
}
"""Fields of a piece of evidence in the order of the table, with heading and way of printing."""


def finding(piece: dict[str, Any]) -> str:
    """What a piece of evidence says: what was compared, and what became of the wrong versions."""
    return said(piece.get("detail") or "", piece.get("wrong"), piece.get("not_rejected") or ())


def outcome(piece: dict[str, Any]) -> str:
    """Passed, failed, not run or (where it ran and settles nothing) open, as a label."""
    settled = {True: "passed", False: "failed", None: "open"}[piece.get("passed")]
    return badge("not-run" if piece.get("not_run") else settled, "outcome")


def _cell(piece: dict[str, Any], field: str) -> str:
    value, show = piece.get(field), COLUMNS[field][1]
    if field == "detail":
        value = finding(piece)
    return outcome(piece) if show is None else "" if value is None else show(value)


def _row(fields: list[str], pieces: list[dict[str, Any]]) -> list[str]:
    """One row for pieces that differ in their seconds, or in the part that they are about, alone."""
    cells = {f: _cell(pieces[0], f) for f in fields}
    if "part" in cells:
        cells["part"] = text(" ".join(dict.fromkeys(piece.get("part") or "" for piece in pieces)))
    if len(pieces) > 1:
        cells["passed"] += f" {len(pieces)} times"
        if "seconds" in cells:
            cells["seconds"] = number(sum(piece.get("seconds") or 0.0 for piece in pieces))
    return list(cells.values())


def evidence(claim: Claim) -> str:
    """The evidence table without the columns that no piece fills, then why what did not run did not."""
    if not claim.evidence:
        return "No evidence is recorded."
    used = [
        f for f in COLUMNS if f == "passed" or any(piece.get(f) not in (None, "") for piece in claim.evidence)
    ]
    telling = [f for f in used if f not in ("seconds", "part")]
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}  # parts of a statement that were judged alike
    for piece in claim.evidence:
        alike.setdefault(tuple(_cell(piece, f) for f in telling), []).append(piece)
    rows = [_row(used, pieces) for pieces in alike.values()]
    style = "evidence by-part" if "part" in used else "evidence"
    parts = [scroll(table([COLUMNS[f][0] for f in used], rows), style)]
    for piece in claim.evidence:
        if piece.get("not_run"):
            parts.append(f"- Not run ({text(piece.get('leg') or 'leg')}): {text(piece['not_run'])}")
    return "\n\n".join(parts)


def mutants(claim: Claim) -> str:
    """How many deliberately false variants of the statement the checks rejected."""
    counts = claim.mutants
    if not counts.get("tried"):
        return "No mutant was tried."
    line = f"{counts['tried']} tried, {counts.get('killed', 0)} rejected"
    if counts.get("equivalent"):
        line += f", {counts['equivalent']} equivalent to the statement"
    survivors = counts.get("survivors") or []
    if survivors:
        return f"{line}. Survived:\n\n" + "\n".join(f"- {text(name)}" for name in survivors)
    return line + "."


def claim_list(claims: list[Claim]) -> str:
    """A list of links with verdicts."""
    lines = [f"- {link(c)} ({text(paper_name(c.paper))}): {text(c.title)} {badge(c.verdict)}" for c in claims]
    return "\n".join(lines)


def _weight(claim: Claim, ledger: Ledger) -> str:
    """How much each failing part matters and why, and which claims fail with this one."""
    blocks = []
    for failure in claim.failures:
        part = f"{letter(failure['latex'])} " if len(claim.failures) > 1 else ""
        alone = "" if failure["severity"] == claim.severity else "by its repair alone: "
        blocks.append(f"{part}{badge(failure['severity'], 'severity')} {alone}{text(failure['because'])}.")
    heirs = [ledger.by_id[heir] for heir in claim.inherited_by if heir in ledger.by_id]
    if heirs:
        blocks += [
            f"{badge('substance', 'severity')} What rests on it and fails too, for this or another reason:",
            claim_list(heirs),
        ]
    return "\n\n".join(blocks)


def _dependence(claim: Claim, ledger: Ledger) -> str:
    bases = [ledger.by_id[i] for i in claim.rests_on if i in ledger.by_id]
    outside = [i for i in claim.rests_on if i not in ledger.by_id]
    lines = [claim_list(bases)] if bases else []
    if outside:
        lines.append("Not in this ledger: " + ", ".join(map(code, outside)) + ".")
    above = [ledger.by_id[i] for i in ledger.used_by[claim.id]]
    total = len(ledger.dependents(claim.id))
    indirect = f" ({total} with those further up)" if total > len(above) else ""
    return "\n\n".join(
        [
            "### Rests on",
            "\n\n".join(lines) or "Nothing else.",
            f"### What rests on it{indirect}",
            claim_list(above) or "Nothing.",
            f'<a href="../../graph.html?claim={claim.id}">Both in the graph</a>',
        ]
    )


def _assumptions(claim: Claim) -> str:
    words = {a["name"]: f": {text(a['words'])}" for a in claim.assumed if a["words"] != a["name"]}
    lines = [f"- [{text(name)}](#{anchor(name)}){words.get(name, '')}" for name in claim.assumptions]
    if claim.knobs:
        lines.append("- Can be changed: " + ", ".join(f"[{code(k)}](#{anchor(k)})" for k in claim.knobs))
    if places := [a["knob"].split(".") for a in claim.assumed if a.get("knob")]:
        # A page's address with a query is no reference that Sphinx knows.
        links = [
            f'<a href="../../change-an-assumption.html?theory={theory}&amp;knob={knob}">{theory}.{knob}</a>'
            for theory, knob in places
        ]
        lines.append(f"- Derive under another: {', '.join(links)}")
    return "\n".join(lines) or "None."


def _head(claim: Claim, ledger: Ledger) -> str:
    labels = [badge(claim.verdict)] + ([badge(claim.severity, "severity")] if claim.severity else [])
    labels += [kernel.label(claim)] if kernel.checked(claim) else []
    kind = f"{text(claim.kind)}; " if claim.kind else ""
    partly = claim.verdict == "empirical" and claim.literal_holds
    holds = RECOMPUTED if partly else LITERAL[claim.literal_holds]
    lines = [f"{' '.join(labels)} {text(paper_name(claim.paper))}, {text(claim.reference)}. {kind}{holds}."]
    if shaky := ledger.shaky(claim):
        lines.append(
            ":::{admonition} Rests on what was not right as printed\n:class: warning\n"
            + claim_list(shaky)
            + "\n:::"
        )
    return "\n\n".join(lines)


def _again(claim: Claim) -> str:
    parts = [literal(f"$ {claim.command}", "console")] if claim.command else []
    if claim.source:
        parts.append(f"Declared in {code(claim.source)}.")
    if claim.engines:
        parts.append(f"Decided by {', '.join(map(code, claim.engines))}.")
    if claim.declaration:
        parts.append(folded("The declaration", literal(claim.declaration, "python")))
    return "\n\n".join(parts)


def page(claim: Claim, ledger: Ledger) -> str:
    """The whole page of a claim."""
    room = Room()
    sections = {
        "As printed": sides(claim, room),
        "Counterexample": counterexample(claim),
        "How much it matters": _weight(claim, ledger),
        "As corrected" if claim.verdict == "corrected" else instead(claim.verdict): corrected(claim, room),
        "Read in the paper alone": reading(claim),
        "Notes": paragraphs(claim.notes),
        "Assumptions": _assumptions(claim),
        "Derivation": steps(claim, room),
        "Checked by Rocq": kernel.section(claim),
        "Evidence": "\n\n".join(part for part in (evidence(claim), figure.block(claim)) if part),
        "Mutants": mutants(claim),
        "Dependence": _dependence(claim, ledger),
        "Run it again": _again(claim),
    }
    parts = [f"# {text(claim.reference)}: {text(claim.title)}", _head(claim, ledger)]
    parts += [f"## {title}\n\n{body}" for title, body in sections.items() if body]
    return "\n\n".join(parts) + "\n"
