"""The dependency graph: positions by Graphviz's dot at build time, drawn by Cytoscape in the page.

dot runs as WebAssembly under node, so that no system package is needed and every machine gets one layout.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from book import vendor
from book.ledger import Claim, Ledger, paper_name

COLOURS = {
    "proved": "#1b7837",
    "confirmed": "#2166ac",
    "corrected": "#a6500a",
    "refuted": "#b2182b",
    "definition": "#5f6368",
    "empirical": "#762a83",
    "unsettled": "#006d77",
    "inconsistent": "#000000",
}
"""Fill of each verdict; white text on each has a contrast above 4.5 (assets/attest.css has the same)."""

GAP_X, GAP_Y = 90, 60
"""Room between parts of the graph that no arrow connects, from centre to centre, in points."""

WIDER = 1.3
"""How much wider than high the whole graph is, about."""


class Point(NamedTuple):
    """A place in the picture, in points."""

    x: float
    y: float


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
    """The graph in the DOT language."""
    quote = json.dumps
    lines = [
        "digraph {",
        "graph [rankdir=TB, nodesep=0.18, ranksep=0.4];",
        "node [shape=box, fixedsize=true, height=0.36];",
    ]
    lines += [f"{quote(claim.id)} [width={width(claim) / 72:.2f}];" for claim in ledger.claims]
    return "\n".join([*lines, *(f"{quote(a)} -> {quote(b)};" for a, b in pairs), "}"])


def positions(ledger: Ledger, pairs: list[tuple[str, str]]) -> dict[str, Point]:
    """Centre of every node, y downwards. Raises VendorError where node cannot run."""
    module = vendor.install() / "@hpcc-js/wasm-graphviz/dist/index.js"
    script = Path(__file__).with_name("layout.mjs")
    run = subprocess.run(
        [vendor.program("node"), str(script), str(module)],
        input=dot_source(ledger, pairs),
        env=vendor.environment(),
        capture_output=True,
        text=True,
    )
    if run.returncode:
        reason = (run.stderr.strip() or "node failed")[-300:]
        raise vendor.VendorError(f"the graph could not be laid out: {reason}")
    placed = {}
    for node in json.loads(run.stdout)["objects"]:
        x, y = map(float, node["pos"].split(","))
        placed[node["name"]] = Point(x, -y)
    return pack(components(placed, pairs), placed)


def components(nodes: Iterable[str], pairs: list[tuple[str, str]]) -> list[list[str]]:
    """The parts of the graph that no arrow connects, the largest first."""
    group = {node: [node] for node in nodes}
    for a, b in pairs:
        if group[a] is not group[b]:
            group[a] += group[b]
            group |= dict.fromkeys(group[b], group[a])
    return sorted({id(part): part for part in group.values()}.values(), key=len, reverse=True)


def pack(parts: list[list[str]], placed: dict[str, Point]) -> dict[str, Point]:
    """Put the parts, which dot lays out side by side, on shelves: the whole gets about as high as wide."""
    boxes = []
    for part in parts:
        xs, ys = [placed[node].x for node in part], [placed[node].y for node in part]
        boxes.append((part, min(xs), min(ys), max(xs) - min(xs) + GAP_X, max(ys) - min(ys) + GAP_Y))
    area = sum(wide * high for *_, wide, high in boxes)
    limit = max(max(wide for *_, wide, _ in boxes), WIDER * area**0.5)
    packed, across, down, shelf = {}, 0.0, 0.0, 0.0
    for part, left, top, wide, high in boxes:
        if across + wide > limit:
            across, down, shelf = 0.0, down + shelf, 0.0
        for node in part:
            packed[node] = Point(placed[node].x - left + across, placed[node].y - top + down)
        across, shelf = across + wide, max(shelf, high)
    return packed


def elements(ledger: Ledger) -> list[dict[str, Any]]:
    """Cytoscape's elements. `literal` gives the border, `shaky` says that something below it failed."""
    pairs = edges(ledger)
    place = positions(ledger, pairs)
    literal = {True: "holds", False: "fails", None: "open"}
    nodes: list[dict[str, Any]] = [
        {
            "data": {
                "id": c.id,
                "label": label(c),
                "title": f"{paper_name(c.paper)}, {c.reference}: {c.title}",
                "width": width(c),
                "paper": c.paper,
                "verdict": c.verdict,
                "literal": literal[c.literal_holds],
                "shaky": bool(ledger.shaky(c)),
                "colour": COLOURS[c.verdict],
                "href": f"{c.doc}.html",
            },
            "position": place[c.id]._asdict(),
        }
        for c in ledger.claims
    ]
    return nodes + [{"data": {"id": f"{a} -> {b}", "source": a, "target": b}} for a, b in pairs]


def script(ledger: Ledger) -> str:
    """The JavaScript file with the graph's data."""
    papers = {key: paper_name(key) for key in ledger.papers}
    data = {"elements": elements(ledger), "colours": COLOURS, "papers": papers}
    return f"window.CLAIMS = {json.dumps(data, ensure_ascii=False)};\n"
