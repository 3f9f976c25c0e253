"""``attest ablate``: drop each assumption of a claim in turn."""

from __future__ import annotations

import argparse

from rich.markup import escape
from rich.table import Table

from checks.commands.console import ERR, OUT, signs_of_life
from checks.run import catalogue
from checks.run.ablation import ablate
from checks.run.cache import Cache
from checks.run.registry import load
from checks.run.verify import assumptions_for

SECONDS = 2
"""Until a line says what is tried, where no terminal shows it."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the claim."""
    parser.add_argument("id")


def run(a: argparse.Namespace) -> int:
    """Prints a table; 0."""
    claim = load()[catalogue.one(a.id, Cache())]
    now = [f"{claim.id} as it stands"]
    with ERR.status(now[0]) as status, signs_of_life(lambda: f"now {now[-1]}", SECONDS):

        def tell(variant: str) -> None:
            now.append(variant)
            status.update(escape(variant))

        results = ablate(claim, assumptions_for(claim, {}), tell)
    if not results:
        OUT.print(f"{claim.id} lists no assumption besides the claims it rests on", markup=False)
        return 0
    shown = Table(box=None, pad_edge=False)
    for heading in ("assumption", "variant", "needed", "detail"):
        shown.add_column(heading)
    for r in results:
        needed = {True: "[green]yes[/]", False: "[yellow]redundant[/]", None: "not settled"}[r.needed]
        shown.add_row(escape(r.assumption), escape(r.variant), needed, escape(r.detail))
    OUT.print(shown)
    return 0
