"""``attest new-paper``: a repository for the audit of a paper, with examples that pass."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from checks.commands.console import OUT
from checks.commands.options import BadInput
from checks.run.store import write_atomically

TEMPLATE = Path(__file__).resolve().parents[1] / "template"
NAME = "mypaper"
"""What the template is called: the package, the paper's key, the distribution."""
BARE = TEMPLATE / "bare"
"""What stands in the place of the examples where none are wanted."""
EXAMPLES = (f"{NAME}/claims/", f"{NAME}/theories.py", f"{NAME}/book/", f"{NAME}/records/", "tests/")
"""Where the examples are, and what is said of them."""
KEPT = (f"{NAME}/claims/__init__.py", f"{NAME}/book/bibliography.md")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the name and the place."""
    parser.add_argument(
        "name", metavar="NAME", help="of the package and the paper's key, such as mypaper2026"
    )
    parser.add_argument(
        "--bare", action="store_true", help="with one definition in place of an example of each common kind"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="a new folder (default: NAME)")


def run(a: argparse.Namespace) -> int:
    """Writes the files; 0. Raises BadInput for a name that no package can have, or a folder with files."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", a.name) or keyword.iskeyword(a.name):
        raise BadInput(f"'{a.name}' cannot be a package: small letters, digits and _ are allowed")
    beside = {where.partition("/")[0] for where in files(bare=False)} - {NAME}
    if a.name in {*sys.stdlib_module_names, *packages_distributions(), *beside}:
        raise BadInput(f"'{a.name}' cannot be a package: a module or folder of that name is there already")
    out = a.out or Path(a.name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(f"{out} is not an empty or new folder")
    for where, path in sorted(files(a.bare).items()):
        text = re.sub(rf"\b{NAME}\b", a.name, path.read_text("utf8"))
        write_atomically(out / where.replace("dot-", ".").replace(NAME, a.name), text)
    OUT.print(f"{out} is ready; next:", markup=False)
    for line in (f"cd {out}", "pip install -e '.[test]'", f"attest --package {a.name} verify"):
        OUT.print(f"    {line}", markup=False, highlight=False)
    return 0


def files(bare: bool) -> dict[str, Path]:
    """The files of a new repository by their place in it, as the template names them."""
    found = {p.relative_to(TEMPLATE).as_posix(): p for p in TEMPLATE.rglob("*") if _is_ours(p)}
    found = {where: p for where, p in found.items() if not p.is_relative_to(BARE)}
    if not bare:
        return found
    kept = {where: p for where, p in found.items() if where in KEPT or not where.startswith(EXAMPLES)}
    return kept | {p.relative_to(BARE).as_posix(): p for p in BARE.rglob("*") if _is_ours(p)}


def _is_ours(path: Path) -> bool:
    return path.is_file() and path.suffix != ".pyc"
