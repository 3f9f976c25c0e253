"""The pages that show many claims at once: summary, findings, corrections, ledger table, assumptions."""

from __future__ import annotations

import html
from urllib.parse import urlencode

from book import claim_page
from book.ledger import GRADES, SEVERITIES, UNFINISHED, VERDICTS, Claim, Ledger, paper_name
from book.markup import badge, code, link, scroll, table, text

MOST_SEVERE = 5


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
    return (
        '```{raw} html\n<div class="scroll summary"><table class="table">'
        f'<thead><tr><th scope="col">Paper</th>{head}'
        f'<th scope="col">all</th></tr></thead><tbody>{"".join(rows)}</tbody></table></div>\n```'
    )


def findings(ledger: Ledger, most: int = MOST_SEVERE) -> str:
    """The gravest failures, one sentence each."""
    lines = []
    for claim in ledger.failures()[:most]:
        above = len(ledger.dependents(claim.id))
        rest = f" {above} {'claim rests' if above == 1 else 'claims rest'} on it." if above else ""
        instead = (
            f" Holds instead: {text(claim.corrected.words)}"
            if claim.corrected and claim.corrected.words
            else ""
        )
        severity = badge(claim.severity, "severity") if claim.severity else ""
        lines.append(
            f"1. {badge(claim.verdict)} {severity} **{link(claim)}** ({paper_name(claim.paper)}): "
            f"{text(claim.title)}.{instead}{rest}"
        )
    return "\n".join(lines) or "No claim of this ledger failed as printed."


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
            paper_name(c.paper),
            text(c.title),
            badge(c.verdict),
            badge(c.severity, "severity") if c.severity else "",
            str(len(ledger.dependents(c.id))),
        ]
        for c in failed
    ]
    return scroll(table(["Claim", "Paper", "About", "Verdict", "Severity", "Rest on it"], rows))


def _correction(claim: Claim) -> str:
    """One entry: literal statement, counterexample, corrected statement, and where its proof is."""
    severity = badge(claim.severity, "severity") if claim.severity else ""
    parts = [
        f"## {text(claim.reference)}: {text(claim.title)}",
        f"{badge(claim.verdict)} {severity}",
        "**As printed.**",
        claim_page.statement(claim),
    ]
    if claim.counterexample:
        parts += ["**Fails on**", claim_page.counterexample(claim)]
    if corrected := claim_page.corrected(claim):
        parts += ["**Holds instead.**", corrected]
    return "\n\n".join([*parts, f"Derivation and evidence: {link(claim)}."])


def corrections_page(ledger: Ledger, paper: str) -> str:
    """Every corrected or refuted claim of one paper, in the paper's order."""
    entries = [_correction(claim) for claim in ledger.of(paper) if claim.failed]
    return "\n\n".join([f"# Corrections: {text(paper_name(paper))}", *entries]) + "\n"


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
                paper_name(claim.paper),
                text(claim.title),
                text(claim.kind),
                badge(claim.verdict),
                badge(claim.severity, "severity") if claim.severity else "",
                str(len(ledger.dependents(claim.id))),
                tried,
            ]
        )
    header = ["Claim", "Paper", "About", "Kind", "Verdict", "Severity", "Rest on it", "Mutants rejected"]
    return scroll(table(header, rows), "ledger-table")


def claims_page(ledger: Ledger, paper: str) -> str:
    """The list of one paper's claims, in the paper's order."""
    claims = ledger.of(paper)
    return f"# All claims: {text(paper_name(paper))}\n\n{claim_page.claim_list(claims)}\n"


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
            parts.append(
                "\n".join(
                    [
                        *label,
                        f"### {shown}",
                        "",
                        ", ".join(f"{link(c)} ({paper_name(c.paper)})" for c in claims),
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
            f"- {link(claim)} ({paper_name(claim.paper)}) {badge(claim.verdict)} rests on "
            + (", ".join(bases) or "nothing else")
        )
    return "\n".join(lines)
