"""Imports stand at the top, except those of what is loaded late on purpose."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from checks.leg import Named
from checks.run.registry import load, modules

ROOT = Path(__file__).parents[1]
OWN = ("derivations", "solvers", "checks", "book")
LATE = frozenset(
    {
        "torch",
        "numpy",
        "scipy",
        "cvxpy",
        "clarabel",
        "sklearn",
        "matplotlib",
        "flint",
        "playwright",
        "nbformat",
        "PIL",
    }
)
"""Libraries that take long to load, or that a GPU machine need not have: what needs them is imported
where it is used.
"""
ANY_TIME = ("checks.commands.", "checks.pytest_plugin", "book.")
"""Commands import what they run when they run: a record is shown without SymPy; so does the plug-in, which
pytest loads wherever it runs. The book's generator reads
the ledger alone; what it derives anew it imports then.
"""

FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in OWN
    for path in (ROOT / folder).rglob("*.py")
}


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that an import statement names: own ones in full, others by their first name."""
    if isinstance(node, ast.Import):
        yield from (a.name if a.name.split(".")[0] in OWN else a.name.split(".")[0] for a in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        if node.module.split(".")[0] not in OWN:
            yield node.module.split(".")[0]
        else:
            for a in node.names:
                full = f"{node.module}.{a.name}"
                yield full if full in FILES else node.module


def at_top(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.If | ast.Try):
            yield from at_top(node.body)
        yield from imported(node)


@cache
def begins_with(name: str) -> tuple[str, ...]:
    """What a module imports when it is imported."""
    return tuple(at_top(ast.parse(FILES[name].read_text(encoding="utf-8")).body))


@cache
def loads(name: str) -> frozenset[str]:
    """The late libraries that importing a module loads."""
    seen, todo, found = set(), [name], set()
    while todo:
        current = todo.pop()
        if current in LATE:
            found.add(current)
        elif current in FILES and current not in seen:
            seen.add(current)
            todo += begins_with(current)
    return frozenset(found)


def inside(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                for name in imported(node):
                    if name in FILES:
                        yield node.lineno, name  # type: ignore[attr-defined]


def test_own_modules_are_imported_inside_functions_only_where_they_load_something_late() -> None:
    wrong = [
        f"{FILES[name].relative_to(ROOT)}:{line} imports {target}"
        for name in FILES
        if not name.startswith(ANY_TIME)
        for line, target in inside(ast.parse(FILES[name].read_text(encoding="utf-8")))
        if not loads(target)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_what_it_looks_for() -> None:
    assert "torch" in loads("checks.tensors.core.stream") and not loads("checks.evidence")
    assert "cvxpy" in loads("solvers.qp")
    tree = ast.parse("def f():\n    from checks.evidence import Evidence\n")
    assert list(inside(tree)) == [(2, "checks.evidence")]


def test_declarations_of_claims_load_neither_torch_nor_cvxpy() -> None:
    assert len(modules()) > 40 and all(name in FILES for name in modules())
    assert not [name for name in modules() if loads(name) & {"torch", "cvxpy"}]


def test_every_leg_that_a_claim_names_is_there() -> None:
    named = {leg for c in load().values() for leg in (*c.legs, *c.failing) if isinstance(leg, Named)}
    assert len(named) > 100 and all(callable(leg.load()) for leg in named)


def test_importing_the_papers_derives_nothing() -> None:
    program = (
        "import derivations.calculus.differentiate as d, derivations.calculus.program as p\n"
        "def derived(*_, **__): raise AssertionError('derived at import')\n"
        "d.gradient = p.dualise = p.gradient = derived\n"
        "from checks.run.registry import load\n"
        "assert len(load()) > 300"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
