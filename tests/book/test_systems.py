"""The page of modules names every public torch module as it is made, and its example runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import torch

from book.ledger import Ledger
from book.systems import MODULES, TENSORS, modules

PAGE = Path(__file__).parents[2] / "book" / "modules.md"


def test_the_example_of_the_page_runs() -> None:
    torch.manual_seed(0)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, str(PAGE), "exec"), names)
    assert isinstance(names["y"], torch.Tensor) and names["y"].shape == (2, 100, 64)


def test_every_module_is_on_the_page_as_it_is_made() -> None:
    page = modules(Ledger([]))
    assert "AttentionBN(width: int, heads: int, *, eps: float=1e-05, **choices: Unpack[Scaled])" in page
    assert '`pattern` \\"strided\\"' in page and "``" not in page.replace("```", "")
    for place, names in MODULES.items():
        tree = ast.parse(TENSORS.joinpath(*place.split(".")).with_suffix(".py").read_text())
        public = {
            node.name
            for node in tree.body
            if isinstance(node, ast.ClassDef) and "Module" in map_bases(tree, node)
        }
        assert public - {"Transformer"} <= set(names), place
        assert all(f"### {name}\n" in page for name in names)


def map_bases(tree: ast.Module, node: ast.ClassDef) -> set[str]:
    """The last parts of the names of all bases, through classes of the same module."""
    local = {c.name: c for c in tree.body if isinstance(c, ast.ClassDef)}
    found = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return found.union(*(map_bases(tree, local[name]) for name in found & local.keys()))
