"""The dependency graph: positions by Graphviz's dot at build time, drawn by Cytoscape in the page.

dot runs as WebAssembly under node, so that no system package is needed and every machine gets one layout.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from book import vendor
from book.ledger import Claim, Ledger, paper_name

COLOURS = {
    "proved": "#1b7837",
    "confirmed": "#2166ac",
    "corrected": "#a6500a",
    "refuted": "#b2182b",
    "definition": "#5f6368",
    "empirical": "#762a83",
}
"""Fill of each verdict; white text on each has a contrast above 4.5 (assets/attest.css has the same)."""

PER_ROW = 10
"""Claims without any dependence stand in rows of this many, below the rest."""


def edges(ledger: Ledger) -> list[tuple[str, str]]:
    """(base, dependent) pairs without those that follow from the others (transitive reduction)."""
    below = {claim.id: ledger.foundations(claim.id) for claim in ledger.claims}
    pairs = []
    for claim in ledger.claims:
        bases = [base for base in dict.fromkeys(claim.rests_on) if base in below]
        pairs += [(base, claim.id) for base in bases if not any(base in below[other] for other in bases)]
    return pairs


def label(claim: Claim) -> str:
    """What stands in a node: the reference, shortened."""
    return claim.reference.replace("Theorem", "Thm").replace("Remark", "Rem").replace("Eq. ", "")


def width(claim: Claim) -> float:
    """Width of a node in points, for its label at 11 points."""
    return 12 + 6.4 * max(4, len(label(claim)))


def dot_source(ledger: Ledger, pairs: list[tuple[str, str]]) -> str:
    """The graph of all claims that are in a pair, in the DOT language."""
    quote = json.dumps
    linked = {node for pair in pairs for node in pair}
    lines = ["digraph {", "graph [rankdir=TB, nodesep=0.18, ranksep=0.4]; node [shape=box, fixedsize=true, height=0.36];"]
    for claim in ledger.claims:
        if claim.id in linked:
            lines.append(f"{quote(claim.id)} [width={width(claim) / 72:.2f}];")
    return "\n".join(lines + [f"{quote(a)} -> {quote(b)};" for a, b in pairs] + ["}"])


def positions(ledger: Ledger, pairs: list[tuple[str, str]]) -> dict[str, dict[str, float]]:
    """Centre of every node, y downwards. Raises VendorError where node cannot run."""
    module = vendor.install() / "@hpcc-js/wasm-graphviz/dist/index.js"
    script = Path(__file__).with_name("layout.mjs")
    run = subprocess.run([vendor.program("node"), str(script), str(module)], input=dot_source(ledger, pairs),
                         env=vendor.environment(), capture_output=True, text=True)
    if run.returncode:
        raise vendor.VendorError(f"the graph could not be laid out: {(run.stderr.strip() or 'node failed')[-300:]}")
    placed = {}
    for node in json.loads(run.stdout).get("objects", ()):
        x, y = map(float, node["pos"].split(","))
        placed[node["name"]] = {"x": x, "y": -y}
    return placed | _rows([c for c in ledger.claims if c.id not in placed], placed)


def _rows(alone: list[Claim], placed: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Positions for claims that neither rest on one nor carry one: rows below all others."""
    top = max((p["y"] for p in placed.values()), default=-60.0) + 60
    step = max((width(claim) for claim in alone), default=0.0) + 14
    return {c.id: {"x": step / 2 + i % PER_ROW * step, "y": top + i // PER_ROW * 40} for i, c in enumerate(alone)}


def elements(ledger: Ledger) -> list[dict[str, Any]]:
    """Cytoscape's elements. `literal` gives the border, `shaky` says that something below it failed."""
    pairs = edges(ledger)
    place = positions(ledger, pairs)
    literal = {True: "holds", False: "fails", None: "open"}
    nodes: list[dict[str, Any]] = [
        {"data": {"id": c.id, "label": label(c), "title": f"{paper_name(c.paper)}, {c.reference}: {c.title}",
                  "width": width(c), "paper": c.paper, "verdict": c.verdict, "literal": literal[c.literal_holds],
                  "shaky": bool(ledger.shaky(c)), "colour": COLOURS[c.verdict], "href": f"{c.doc}.html"},
         "position": place[c.id]}
        for c in ledger.claims
    ]
    return nodes + [{"data": {"id": f"{a} -> {b}", "source": a, "target": b}} for a, b in pairs]


def script(ledger: Ledger) -> str:
    """The JavaScript file with the graph's data."""
    papers = {key: paper_name(key) for key in ledger.papers}
    data = {"elements": elements(ledger), "colours": COLOURS, "papers": papers}
    return f"window.CLAIMS = {json.dumps(data, ensure_ascii=False)};\n"
