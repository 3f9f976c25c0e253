"""The pages that show many claims at once: summary, findings, corrections, ledger table, assumptions."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlencode

from book import claim_page, figure
from book.ledger import GRADES, SEVERITIES, UNFINISHED, VERDICTS, Claim, Ledger, paper_name
from book.markup import Room, badge, code, folded, link, literal, scroll, table, text
from checks.evidence import instead

LONGEST_PAGE = 9000
"""Characters of LaTeX on a page of corrections; KaTeX makes 60 to 90 bytes of each."""


def _count(number: int, **chosen: str) -> str:
    """A cell of the summary: a count that leads to these claims in the ledger table."""
    if not number:
        return '<td class="none">0</td>'
    return f'<td><a href="ledger.html?{html.escape(urlencode(chosen))}">{number}</a></td>'


def summary(ledger: Ledger) -> str:
    """Counts by paper and verdict. Its links are relative to the top of the book."""
    verdicts = [v for v in VERDICTS if any(claim.verdict == v for claim in ledger.claims)]
    rows = []
    for paper in ledger.papers:
        claims = ledger.of(paper)
        cells = [_count(sum(c.verdict == v for c in claims), paper=paper, verdict=v) for v in verdicts]
        rows.append(
            f'<tr><th scope="row">{html.escape(paper_name(paper))}</th>{"".join(cells)}'
            f"{_count(len(claims), paper=paper)}</tr>"
        )
    if len(rows) > 1:
        cells = [_count(sum(c.verdict == v for c in ledger.claims), verdict=v) for v in verdicts]
        rows.append(
            f'<tr class="total"><th scope="row">All</th>{"".join(cells)}{_count(len(ledger.claims))}</tr>'
        )
    head = "".join(f'<th scope="col">{badge(v)}</th>' for v in verdicts)
    return literal(
        '<div class="scroll summary"><table class="table">'
        f'<thead><tr><th scope="col">Paper</th>{head}'
        f'<th scope="col">all</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>',
        "{raw} html",
    )


def changed_note(ledger: Ledger) -> str:
    """Where the book is that of a changed theory: which knobs differ, and the page that says what
    followed.
    """
    if not ledger.changed:
        return ""
    knobs = ", ".join(map(code, ledger.changed))
    return (
        ":::{admonition} A changed theory\n:class: warning\n"
        f"This book is built with {knobs}. The papers' statements are held against the changed theory, so "
        "that some "
        "fail that hold under the papers' own assumptions. [What changed](/what-changed.md) compares the "
        "two.\n:::"
    )


def legend(names: dict[str, str], kind: str, ledger: Ledger | None = None) -> str:
    """A table of verdicts, severities or grades with their meaning and, for claims, their number."""
    header = [kind.capitalize(), "Means"] + (["Claims"] if ledger else [])
    rows = []
    for name, meaning in names.items():
        row = [badge(name, kind), text(meaning)]
        if ledger:
            row.append(str(sum(getattr(claim, kind) == name for claim in ledger.claims)))
        rows.append(row)
    return table(header, rows)


def verdict_legend(ledger: Ledger) -> str:
    """The verdicts, when each is given, how many claims have it; the unfinished ones only where given."""
    given = {claim.verdict for claim in ledger.claims}
    shown = {name: meaning for name, meaning in VERDICTS.items() if name in given or name not in UNFINISHED}
    return legend(shown, "verdict", ledger)


def severity_legend(ledger: Ledger) -> str:
    """The three severities and how many claims have each."""
    return legend(SEVERITIES, "severity", ledger)


def grade_legend(ledger: Ledger) -> str:
    """The grades of evidence and how many pieces of each were run."""
    pieces = [piece for claim in ledger.claims for piece in claim.evidence if not piece.get("not_run")]
    rows = [[text(g), text(m), str(sum(p.get("grade") == g for p in pieces))] for g, m in GRADES.items()]
    return table(["Grade", "Means", "Pieces"], rows)


def corrections_index(ledger: Ledger) -> str:
    """The gravest first: every corrected or refuted claim in one line."""
    failed = ledger.failures()
    if not failed:
        return "No claim of this ledger failed as printed."
    rows = [
        [
            link(c),
            text(paper_name(c.paper)),
            text(c.title),
            badge(c.verdict),
            badge(c.severity, "severity") if c.severity else "",
            str(len(ledger.dependents(c.id))),
        ]
        for c in failed
    ]
    return scroll(table(["Claim", "Paper", "About", "Verdict", "Severity", "Rest on it"], rows))


def _correction(claim: Claim) -> str:
    """One entry: what the paper prints and what was decided of it, counterexample, corrected statement, and
    where its proof is.
    """
    severity = badge(claim.severity, "severity") if claim.severity else ""
    parts = [
        f"## {text(claim.reference)}: {text(claim.title)}",
        f"{badge(claim.verdict)} {severity}",
        claim_page.in_the_paper(claim, Room()),
        claim_page.as_decided(claim, Room()),
    ]
    if claim.counterexample:
        parts += ["**Fails on**", claim_page.counterexample(claim)]
    if corrected := claim_page.corrected(claim):
        parts += [f"**{instead(claim.verdict)}.**", corrected]
    return "\n\n".join([*filter(None, parts), f"Derivation and evidence: {link(claim)}."])


def corrections_pages(ledger: Ledger, paper: str) -> dict[str, str]:
    """Every corrected or refuted claim of one paper in the paper's order, by severity, in pages of
    bounded size.
    """
    pages = {}
    for severity in (*SEVERITIES, None):
        failed = [claim for claim in ledger.of(paper) if claim.failed and claim.severity == severity]
        groups = _portions(failed)
        for number, group in enumerate(groups, 1):
            part = f", part {number} of {len(groups)}" if len(groups) > 1 else ""
            name = f"corrections/{paper}-{severity or 'other'}" + (f"-{number}" if part else "")
            title = f"# Corrections: {text(paper_name(paper))}, {severity or 'other'}{part}"
            pages[name] = "\n\n".join([title, *map(_correction, group)]) + "\n"
    return pages


def _portions(claims: list[Claim]) -> list[list[Claim]]:
    """The claims in runs whose formulas fit one page."""
    runs: list[list[Claim]] = []
    room = 0
    for claim in claims:
        length = len(claim.statement.latex) + len(claim.corrected.latex if claim.corrected else "")
        length += sum(map(len, claim.printed))
        if not runs or length > room:
            runs.append([])
            room = LONGEST_PAGE
        runs[-1].append(claim)
        room -= length
    return runs


def ledger_table(ledger: Ledger) -> str:
    """One row a claim; assets/ledger-table.js adds sorting and filters."""
    rows = []
    for claim in ledger.claims:
        counts = claim.mutants
        tried = (
            f"{counts.get('killed', 0)} of {counts['tried'] - counts.get('equivalent', 0)}"
            if counts.get("tried")
            else ""
        )
        rows.append(
            [
                link(claim),
                text(paper_name(claim.paper)),
                text(claim.title),
                text(", ".join(claim.kind.split("+"))),
                badge(claim.verdict),
                badge(claim.severity, "severity") if claim.severity else "",
                str(len(ledger.dependents(claim.id))),
                tried,
            ]
        )
    header = ["Claim", "Paper", "About", "Kind", "Verdict", "Severity", "Rest on it", "Mutants rejected"]
    return scroll(table(header, rows), "ledger-table")


KINDS = (
    ("Equations", r"eq"),
    ("Theorems, definitions, remarks, algorithms", r"thm|lem|def|rem|alg|cor|prop"),
    ("Tables and figures", r"tab|fig"),
    ("In the text", r""),
)
"""Groups of a paper's claims by how their ids begin, in the order of the list of all claims."""


def _by_number(claim: Claim) -> list[tuple[bool, int | str]]:
    """Sort key under which eq10 follows eq9."""
    parts = re.findall(r"\d+|\D+", claim.id)
    return [(not part.isdigit(), int(part) if part.isdigit() else part) for part in parts]


def claims_page(ledger: Ledger, paper: str) -> str:
    """All claims of one paper in tables: equations by number, then theorems, tables and figures, prose."""
    left = {claim.id: claim for claim in ledger.of(paper)}
    counts = [(v, sum(c.verdict == v for c in left.values())) for v in VERDICTS]
    line = ", ".join(f"{n} {badge(v)}" for v, n in counts if n)
    parts = [f"# All claims: {text(paper_name(paper))}", f"{len(left)} claims: {line}."]
    for heading, beginning in KINDS:
        chosen = [c for c in left.values() if re.match(rf"[^/]+/(?:{beginning})", c.id)]
        left = {key: c for key, c in left.items() if c not in chosen}
        if chosen:
            numbered = sorted(chosen, key=_by_number) if beginning else chosen
            rows = [
                [
                    link(c),
                    text(c.title),
                    badge(c.verdict),
                    badge(c.severity, "severity") if c.severity else "",
                ]
                for c in numbered
            ]
            shown = scroll(table(["Claim", "About", "Verdict", "Severity"], rows), "claims")
            parts += [f"## {heading}" if len(ledger.of(paper)) > len(chosen) else "", shown]
    return "\n\n".join(part for part in parts if part) + "\n"


def _certified(piece: dict[str, Any]) -> bool:
    return piece.get("leg") == "tensor" and piece.get("grade") == "certified-float"


def scale(ledger: Ledger) -> str:
    """Every piece of tensor evidence with a bound, as a table to open; the pictures are on the claims'
    pages.
    """
    rows = []
    for claim in ledger.claims:
        for piece in (p for group in figure.points(claim).values() for p in group if _certified(p)):
            cells = [piece.get("tokens"), piece["error"], piece["bound"], piece["error"] / piece["bound"]]
            rows.append(
                [link(claim), text(paper_name(claim.paper)), text(piece.get("dtype") or "")]
                + [claim_page.number(value) for value in cells]
                + [text(piece.get("backend") or ""), claim_page.number(piece.get("seconds"))]
            )
    if not rows:
        return "The ledger of this book holds no tensor evidence."
    header = ["Claim", "Paper", "Type", "Tokens", "Error", "Bound", "Error / bound", "Done by", "Seconds"]
    shown = folded(f"{len(rows)} pieces of evidence", scroll(table(header, rows), "numbers"))
    return f"{shown}\n\n{_not_run(ledger)}"


def _not_run(ledger: Ledger) -> str:
    """The longest length and the devices of the tensor checks, and the legs that could not run, with
    the reasons.
    """
    tensor = [(c, p) for c in ledger.claims for p in c.evidence if p.get("leg") == "tensor"]
    ran = [p for _, p in tensor if not p.get("not_run")]
    longest = max((p.get("tokens") or 0 for p in ran), default=0)
    devices = sorted({p["device"] for p in ran if p.get("device")}) or ["no device"]
    types = sorted({p["dtype"] for p in ran if p.get("dtype")})
    lines = [
        "## What was not run",
        f"The tensor checks in this ledger ran on {', '.join(map(text, devices))}, in {', '.join(types)}, up "
        "to "
        f"{longest:,} tokens. Whatever is not in the table was not run: no result for another device, number "
        "type or "
        "length is claimed.",
    ]
    lines += [f"- {link(c)}: {text(p['not_run'])}" for c, p in tensor if p.get("not_run")]
    return "\n\n".join([*lines[:2], "\n".join(lines[2:])])


def rows(ledger: Ledger, prefix: str) -> str:
    """The claims whose ids begin with a prefix: verdict, what holds instead, what the printed statement
    fails on.
    """
    cells = [
        [
            f"{link(claim, claim.title)} {badge(claim.verdict)}",
            text(claim.corrected.words if claim.corrected else claim.statement.words),
            text(claim.counterexample or ""),
        ]
        for claim in ledger.claims
        if claim.id.startswith(prefix)
    ]
    return scroll(table(["Claim", "Holds", "Fails on"], cells)) if cells else ""


def _users(ledger: Ledger, field: str) -> dict[str, list[Claim]]:
    """Which claims name each assumption or knob."""
    found: dict[str, list[Claim]] = {}
    for claim in ledger.claims:
        for name in getattr(claim, field):
            found.setdefault(name, []).append(claim)
    return dict(sorted(found.items()))


def assumptions(ledger: Ledger) -> str:
    """Every assumption and knob of the ledger with the claims that depend on it."""
    parts, placed = [], set()
    for heading, field in (("Assumptions", "assumptions"), ("Knobs", "knobs")):
        parts.append(f"## {heading}")
        for name, claims in _users(ledger, field).items():
            target = claim_page.anchor(name)
            # A name can be both; the first entry keeps the address.
            label = [] if target in placed else [f"({target})="]
            placed.add(target)
            shown = code(name) if field == "knobs" else text(name)
            said = {a["words"]: None for c in claims for a in c.assumed if a["name"] == name != a["words"]}
            parts.append(
                "\n".join(
                    [
                        *label,
                        f"### {shown}",
                        "",
                        *(f"{text(words)}\n" for words in said if field == "assumptions"),
                        ", ".join(f"{link(c)} ({text(paper_name(c.paper))})" for c in claims),
                    ]
                )
            )
    return "\n\n".join(parts)


def graph_list(ledger: Ledger) -> str:
    """The graph as text, for readers without sight or pointer."""
    lines = []
    for claim in ledger.claims:
        bases = [link(ledger.by_id[i]) for i in claim.rests_on if i in ledger.by_id]
        lines.append(
            f"- {link(claim)} ({text(paper_name(claim.paper))}) {badge(claim.verdict)} rests on "
            + (", ".join(bases) or "nothing else")
        )
    return "\n".join(lines)
