"""Pages that derive a theory anew under changed assumptions: worked variants, and what changed in a changed
book.

Unlike the rest of the book these need more than the ledger: the derivations and engines themselves, the same
that `attest derive` runs. They are imported where they are used, so that a book without these pages needs
none of them.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from book.ledger import Ledger, LedgerError
from book.markup import Room, badge, box, code, link, literal, scroll, table, text
from checks.audit import current

CHANGE = "change-an-assumption"
"""Page on changing assumptions; written chapters link to it, so that it is there without the variants too."""

Settings = dict[str, dict[str, str]]
"""Values of knobs by theory and knob, such as {"svr": {"loss": "least_squares"}}."""


@dataclass(frozen=True)
class Worked:
    """A variant shown in full: a theory, the knobs that differ, and what to look for."""

    theory: str
    knobs: dict[str, str]
    title: str
    words: str

    @property
    def page(self) -> str:
        """Path of its page in the book, without suffix."""
        return f"variants/{self.theory}-" + re.sub(r"\W+", "-", "-".join(self.knobs.values())).strip("-")


def worked() -> list[Worked]:
    """The variants that the audit shows in full, from ``variants.toml`` of its book. Raises LedgerError."""
    path = current().book_folder / "variants.toml"
    if not path.is_file():
        return []
    try:
        found = [Worked(**item) for item in tomllib.loads(path.read_text("utf8"))["variant"]]
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerError(f"{path} is damaged: {error}") from None
    for variant in found:
        try:
            assumptions({variant.theory: variant.knobs})
        except LedgerError as error:
            raise LedgerError(f"{path}, variant '{variant.title}': {error}") from None
    return found


def describe(settings: Settings) -> list[str]:
    """The settings as theory.knob=value, as they are kept. Raises LedgerError for what is not allowed."""
    kept = assumptions(settings)
    return [
        f"{name}.{knob}={getattr(kept[name], knob)}" for name, knobs in settings.items() for knob in knobs
    ]


def assumptions(settings: Settings) -> dict[str, Any]:
    """The assumptions of each theory with its knobs set. Raises LedgerError for what is not allowed."""
    from checks.run.theories import theory
    from derivations.theories.theory import BadAssumption

    try:
        return {name: theory(name).assumptions(knobs) for name, knobs in settings.items()}
    except BadAssumption as error:
        raise LedgerError(str(error)) from None


def rejudge(
    settings: Settings, records: list[dict[str, Any]], options: Any = None, workers: int = 1
) -> list[dict[str, Any]]:
    """The records with those of the changed theories judged anew. Raises LedgerError for unusable
    settings.
    """
    from checks.claim import Options
    from checks.run.cache import Cache
    from checks.run.registry import select
    from checks.run.verify import verify

    changed = assumptions(settings)
    claims = [c for c in select([]) if c.theory in changed]
    found = verify(claims, options or Options(), settings=changed, cache=Cache(), workers=workers)
    anew = {record.id: record.to_json() for record, _ in found}
    return [anew.get(record.get("id", ""), record) for record in records]


def change_page(ledger: Ledger) -> str:
    """How to change an assumption: every knob of every theory, then the worked variants."""
    from book.live import form
    from checks.run.theories import theories

    parts = [introduction(not ledger.live.missing), "## The knobs"]
    for name in sorted(theories()):
        parts += [f"### Theory {name}", form.block(name, ledger.live)]
    if shown := worked():
        parts.append("## Worked variants")
        parts.append("\n".join(f"- [{text(w.title)}](/{w.page}.md): {_settings(w)}" for w in shown))
    return "\n\n".join(parts) + "\n"


def pages(ledger: Ledger, options: Any = None) -> dict[str, str]:
    """The page on changing assumptions and one for each worked variant, by name. ``options``: those that the
    ledger's records were made with.
    """
    shown = {w.page: w for w in worked()}
    if not current().theories:
        return {}
    return {CHANGE: change_page(ledger), **{name: _worked(ledger, w, options) for name, w in shown.items()}}


def _worked(ledger: Ledger, worked: Worked, options: Any) -> str:
    parts = [f"# {worked.title}", worked.words, _command(worked.theory, worked.knobs)]
    parts += ["## Verdicts that change", _verdicts(ledger, worked, options)]
    parts += ["## Equations that change", equations(worked.theory, worked.knobs)]
    return "\n\n".join(parts) + "\n"


def _settings(worked: Worked) -> str:
    return ", ".join(map(code, describe({worked.theory: worked.knobs})))


def introduction(live: bool = False) -> str:
    """What the page on changing assumptions opens with; ``live`` where forms follow that derive."""
    said = current().command
    here = "The forms below do it here: Python and SymPy run in your browser, from this book's own folder. "
    return f"""# Change an assumption

Each theory takes its assumptions as an argument, and the papers' choices are only the defaults. Set a knob,
and the theory is derived again, and the claims that were transcribed from the paper are held against the
changed theory. A statement that was proved may then fail: it still says what the paper printed.

{here if live else ""}In a terminal:

    {said} derive THEORY --set KNOB=VALUE
    {said} book --out build/changed --set THEORY.KNOB=VALUE
    {said} ablate CLAIM

The first prints the derivation and the verdicts that change, the second builds this book for the changed
theory with a page that says what changed, the third drops each assumption of one claim in turn.
"""


def _command(theory: str, knobs: dict[str, str]) -> str:
    sets = " ".join(f'--set "{knob}={value}"' for knob, value in knobs.items())
    return literal(f"$ {current().command} derive {theory} {sets}", "console")


def equations(name: str, knobs: dict[str, str]) -> str:
    """The steps of a theory's derivation that differ under the assumptions, before and after."""
    from book.live.answers import keyed, of_paper
    from checks.run.theories import theory

    chosen = theory(name)
    before = of_paper(name)
    after = keyed(chosen.derive(assumptions({name: knobs})[name]))
    blocks, same, room = [], [], Room()
    for key in dict.fromkeys([*after, *before]):
        old, new = before.get(key), after.get(key)
        title = text(", ".join(dict.fromkeys(key[:2])).removesuffix(", "))
        if old and new and old.latex == new.latex:
            same.append(title)
            continue
        sides = [("Before", old), ("After", new)]
        shown = [f"**{label}.** {text(s.reason)}\n\n{room.display(s.latex)}" for label, s in sides if s]
        gone = {(True, False): " (gone)", (False, True): " (new)"}.get((bool(old), bool(new)), "")
        blocks.append(box("{div} step", "\n\n".join([f"**{title}**{gone}", *shown])))
    if same:
        blocks.append(f"Unchanged: {', '.join(same)}.")
    return "\n\n".join(blocks)


def _verdicts(ledger: Ledger, worked: Worked, options: Any) -> str:
    """The claims of the theory whose verdict changes, found as `attest derive` finds them."""
    from checks.claim import Options
    from checks.run.interactive import touched
    from checks.run.registry import load

    found = touched(worked.theory, worked.knobs, options or Options())
    pairs = [(old.to_json(), new.to_json()) for old, new in found.records]
    return differences(ledger, pairs, sum(c.theory == worked.theory for c in load().values()))


def differences(
    ledger: Ledger, pairs: list[tuple[dict[str, Any], dict[str, Any]]], count: int | None = None
) -> str:
    """A table of the claims whose verdict differs between two records, with what the second one fails on.
    ``count``: of how many claims these pairs are those that may differ; all of them by default.
    """
    count = len(pairs) if count is None else count
    rows = []
    for old, new in pairs:
        if old["verdict"] != new["verdict"]:
            claim = ledger.by_id.get(new["id"])
            why = new.get("counterexample") or ""
            rows.append(
                [
                    link(claim) if claim else code(new["id"]),
                    text(new["title"]),
                    badge(old["verdict"]),
                    badge(new["verdict"]),
                    text(why if len(why) <= LONGEST_REASON else why[: LONGEST_REASON - 1] + "…"),
                ]
            )
    if not rows:
        return f"None: the {count} claims of the theory keep their verdicts."
    counted = f"{len(rows)} of the {count} claims of the theory."
    return "\n\n".join([counted, scroll(table(["Claim", "About", "Before", "After", "Fails on"], rows))])


LONGEST_REASON = 200


def changed_page(
    settings: Settings, ledger: Ledger, before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> str:
    """What changed from the papers' own assumptions to those of this book: verdicts, then equations."""
    from checks.run.registry import load

    theory_of = {c.id: c.theory for c in load().values()}
    knobs = "\n".join(f"- {code(line)}" for line in describe(settings))
    parts = ["# What changed", "This book is built under other assumptions than the papers':", knobs]
    for name, chosen in settings.items():
        pairs = [
            (old, new) for old, new in zip(before, after, strict=True) if theory_of.get(new["id"]) == name
        ]
        parts += [f"## Verdicts of theory {name}", differences(ledger, pairs)]
        parts += [f"## Equations of theory {name}", equations(name, chosen)]
    return "\n\n".join(parts) + "\n"
