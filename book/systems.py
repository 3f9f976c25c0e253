"""The table of every attention of nguyen2023 and what it was compared with; the modules that one imports."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from book.claim_page import finding, number, outcome
from book.ledger import Ledger
from book.markup import code, link, literal, prose, scroll, table, text

TENSORS = Path(__file__).parent.parent / "checks" / "tensors"

HEADINGS = {
    "definition": "Its definition",
    "expansion": "The derived expansion",
    "optimum": "An optimal fit",
    "torch": "torch's attention",
}


def systems(ledger: Ledger) -> str:
    """One row a system, one column a comparison; below, why what is missing is missing."""
    from checks.papers.nguyen2023.coverage import COLUMNS, ROWS

    rows = [[text(row.system), *(_cell(ledger, getattr(row, column)) for column in COLUMNS)] for row in ROWS]
    reasons = dict.fromkeys(c for row in ROWS for c in row[1:] if isinstance(c, str))
    shown = scroll(table(["System", *(HEADINGS[c] for c in COLUMNS)], rows), "evidence")
    return "\n\n".join([shown, *(f"- None: {text(reason)}." for reason in reasons)])


def _cell(ledger: Ledger, cell: Any) -> str:
    """The claim with the longest sequence, or "exact" for the small instance of a fit; the outcome
    where it did not pass.
    """
    if isinstance(cell, str):
        return "none"
    claim = ledger.by_id.get(cell.claim)
    if claim is None:
        return code(cell.claim)
    pieces = [e for e in claim.evidence if cell.says in finding(e)]
    if not pieces:
        return f"{link(claim)} not in this ledger"
    worst = next((e for e in pieces if e.get("passed") is not True), None)
    longest = worst or max(pieces, key=lambda e: e.get("tokens") or 0)
    size = number(longest["tokens"]) if longest.get("tokens") else "exact"
    return f"{link(claim)}: {size}" + ("" if worst is None else f" {outcome(worst)}")


MODULES: dict[str, tuple[str, ...]] = {
    "systems.attention": (
        *("CanonicalAttention", "Choices", "Scaled", "AttentionBN", "CentredAttention", "AttentionSH"),
        *("AttentionBNSH", "AttentionConv1D", "AttentionConv2D"),
    ),
    "systems.primal": ("PrimalAttention", "KsvdLoss"),
    "functional_descent.kernels": ("Kernel",),
    "functional_descent.layers": ("DescentTransformer", "TrainedTransformer"),
    "systems.hopfield": ("NonlinearHead", "ModernHopfield", "EnergyAttention"),
}
"""What practitioners import, by the module of `checks.tensors` that holds it."""


def modules(ledger: Ledger) -> str:
    """Every torch module: where it is imported from, how it is made, what it does. Nothing is imported."""
    parts = []
    for place, names in MODULES.items():
        source = TENSORS.joinpath(*place.split(".")).with_suffix(".py").read_text()
        tree = ast.parse(source)
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        parts.append(f"## {code('checks.tensors.' + place)}")
        parts.append(prose((ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")))
        for name in names:
            parts += [f"### {name}", literal(_made(classes[name]), "python"), *_described(classes[name])]
    return "\n\n".join(parts)


def _made(node: ast.ClassDef) -> str:
    """A class's name and the parameters that it is made with; of a dictionary of choices its entries."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return f"{node.name}({ast.unparse(inner.args).removeprefix('self, ')})"
    fields = (ast.unparse(inner) for inner in node.body if isinstance(inner, ast.AnnAssign))
    return "\n".join(
        [f"class {node.name}({', '.join(map(ast.unparse, node.bases))}):", *(f"    {f}" for f in fields)]
    )


def _described(node: ast.ClassDef) -> list[str]:
    """The paragraphs and list items of a docstring, with what is code in it as code."""
    found = []
    for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
        for item in re.split(r"\n(?=- )", paragraph):
            pieces = re.split(r"`+([^`]+)`+", item.removeprefix("- "))
            shown = "".join(code(p) if at % 2 else _between(p) for at, p in enumerate(pieces))
            found.append("- " + shown if item.startswith("- ") else shown)
    return found


def _between(words: str) -> str:
    """Text between pieces of code: the spaces at its ends stay."""
    return " " * words[:1].isspace() + text(words) + " " * (len(words) > 1 and words[-1:].isspace())
