"""Written pages: MyST files in which a few marks are replaced by what the ledger says.

A fenced block

    ```{ledger} steps nguyen2023/eq8
    ```

shows a part of one claim (`formula`, `statement`, `steps`, …; see PARTS) a view of the whole ledger
(`summary`, `scale`, …; see BLOCKS), with `rows PREFIX` a table of the claims whose ids begin so, or with
`live THEORY` the form with which a reader changes that theory's assumptions. The role
{claim}`nguyen2023/thm1` is a link with the claim's verdict; {claim}`nguyen2023/rem1=corrected,condition` is
the same and fails the build where the ledger says otherwise, so that a sentence that states a verdict cannot
go stale. A claim that the audit does not have fails it too; one that only this ledger lacks is said to be
lacking. `@DERIVATIONS@` in a code cell is a digest of the sources that the cell may import: a cell that
derives something is executed again when they change. `@SOURCE checks/x.py@` is the digest of one file that
the cell imports. `@LEDGER@` in a code cell is the name of a JSON file with the records that the page names;
the name changes with their content, so that an executed page is never stale. `@RESULT wang2024/fig3@` is, in
the same way, the name of a JSON file with the recorded result of an experiment.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from book import claim_page, figure, front, kernel, measurements, overview, systems
from book.ledger import Claim, Ledger, LedgerError
from book.markup import badge, code, folded, link
from checks.audit import OWN, current, per_audit
from checks.evidence import as_written

BLOCKS: dict[str, Callable[[Ledger], str]] = {
    "summary": overview.summary,
    "verdict-bars": front.verdicts,
    "bounds": measurements.bounds,
    "kernel": kernel.count,
    "trust": kernel.trust,
    "coverage": kernel.coverage,
    "changed": overview.changed_note,
    "scale": overview.scale,
    "devices": measurements.devices,
    "families": measurements.families,
    "benchmarks": measurements.benchmarks,
    "commands": measurements.commands,
    "measured": measurements.measured,
    "verdicts": overview.verdict_legend,
    "severities": overview.severity_legend,
    "grades": overview.grade_legend,
    "corrections": overview.corrections_index,
    "table": overview.ledger_table,
    "assumptions": overview.assumptions,
    "graph-list": overview.graph_list,
    "systems": systems.systems,
    "modules": systems.modules,
}
PARTS: dict[str, Callable[[Claim], str]] = {
    "formula": claim_page.formula,
    "statement": claim_page.statement,
    "corrected": claim_page.corrected,
    "counterexample": claim_page.counterexample,
    "steps": claim_page.steps,
    "chain": claim_page.chain,
    "outline": claim_page.outline,
    "evidence": claim_page.evidence,
    "mutants": claim_page.mutants,
    "figure": figure.block,
    "beside": front.beside,
}
_BLOCK = re.compile(r"^(`{3,})\{ledger\} +(\S+)(?: +(\S+))?[ \t]*\n\1[ \t]*$", re.MULTILINE)
_SOURCE = re.compile(r"@SOURCE (\S+)@")
_ROLE = re.compile(r"\{claim\}`([^`\s=]+)(?:=(\w+)(?:,(\w+))?)?`")
_RESULT = re.compile(r"@RESULT ([a-z0-9]+/[A-Za-z0-9.-]+)@")
ID = re.compile(r"\b[a-z]+\d*/[A-Za-z0-9.-]*[A-Za-z0-9]")


def absent(claim_id: str) -> str:
    """What a page says of a claim that the ledger it was built from does not hold."""
    return f":::{{note}}\nThe ledger of this book has no record of {code(claim_id)}.\n:::"


def _require_declared(page: str, name: str, prefix: bool = False) -> None:
    """Raises LedgerError for a claim, or the beginning of ids, that the audit does not have at all."""
    from checks.run.registry import load, nearest  # SymPy: only where a ledger lacks what a page names

    ids = list(load())
    if not any(id.startswith(name) if prefix else id == name for id in ids):
        raise LedgerError(f"{page}: {nearest(name, ids)}")


def _block(ledger: Ledger, page: str, name: str, claim_id: str | None) -> str:
    if name == "live" and claim_id:
        from book.live import form  # SymPy: a book without forms needs none

        return folded(f"Change an assumption of theory {claim_id} here", form.block(claim_id, ledger.live))
    if name == "rows" and claim_id:
        if not (found := overview.rows(ledger, claim_id)):
            _require_declared(page, claim_id, prefix=True)
        return found or absent(claim_id + "…")
    if claim_id is None and name in BLOCKS:
        return BLOCKS[name](ledger)
    if claim_id is None or name not in PARTS:
        raise LedgerError(f"{page}: no ledger block {name!r}; allowed: {', '.join([*BLOCKS, *PARTS])}")
    claim = ledger.by_id.get(claim_id)
    if claim is None:
        _require_declared(page, claim_id)
        return absent(claim_id)
    return PARTS[name](claim) or f":::{{note}}\n{link(claim)} has no {name}.\n:::"


def _role(ledger: Ledger, page: str, claim_id: str, verdict: str | None, severity: str | None) -> str:
    claim = ledger.by_id.get(claim_id)
    if claim is None:
        _require_declared(page, claim_id)
        return code(claim_id)
    said, found = (verdict, severity), (claim.verdict, claim.severity)
    if verdict and said != found and not ledger.changed:
        names = [" ".join(filter(None, pair)) for pair in (said, found)]
        raise LedgerError(f"{page}: says that {claim_id} is {names[0]}, but the ledger says {names[1]}")
    return f"{link(claim)} {badge(claim.verdict)}"


def expand(source: str, ledger: Ledger, page: str = "page") -> str:
    """The page with its ledger blocks and claim roles replaced.

    Raises LedgerError for an unknown block, a claim that the audit does not have, or a verdict that is not
    the ledger's.
    """
    source = _BLOCK.sub(lambda m: _block(ledger, page, m[2], m[3]), source)
    return _ROLE.sub(lambda m: _role(ledger, page, *m.groups()), source)


@per_audit
def derivations_digest() -> str:
    """Digest of the sources that chapters import: the derivations, and an author's package."""
    digest, own = hashlib.sha256(), Path(__file__).parent.parent
    folders = {own / "derivations"} | ({current().folder} if current().package != OWN else set())
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def source_digest(name: str, page: str) -> str:
    """Digest of one file of the repository that a cell imports. Raises LedgerError where there is none."""
    places = (Path(__file__).parent.parent / name, current().root / name)
    path = next((p for p in places if p.is_file()), None)
    if path is None:
        raise LedgerError(f"{page}: there is no {name}")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def extract(source: str, records: list[dict[str, Any]]) -> str:
    """JSON with the raw records whose ids the page names."""
    named = set(ID.findall(source))
    return json.dumps(
        [r for r in records if r.get("id") in named], indent=1, ensure_ascii=False, sort_keys=True
    )


def result(experiment: str, page: str) -> str:
    """The recorded result of an experiment as it is kept. Raises LedgerError where none is recorded, or where
    it is not as it was written.
    """
    path = current().records_folder / "experiments" / f"{experiment}.json"
    if not path.is_file():
        raise LedgerError(f"{page}: no result of {experiment} is recorded; see attest experiment --list")
    text = path.read_text("utf8")
    try:
        as_written(json.loads(text))
    except ValueError as error:
        raise LedgerError(f"{page}: the result of {experiment} is not used: {error}") from None
    return text


def render(path: Path, ledger: Ledger, records: list[dict[str, Any]]) -> dict[str, str]:
    """The files a written page becomes: itself, and its extract of the ledger where it asks for one."""
    source = path.read_text("utf8").replace("@DERIVATIONS@", derivations_digest())
    source = _SOURCE.sub(lambda m: source_digest(m[1], path.name), source)
    files = {}
    if "@LEDGER@" in source:
        data = extract(source, records)
        name = f"{page_name(path)}-{hashlib.sha256(data.encode()).hexdigest()[:12]}.json"
        source = source.replace("@LEDGER@", name)
        files[name] = data
    for experiment in sorted(set(_RESULT.findall(source))):
        data = result(experiment, path.name)
        name = f"{experiment.replace('/', '-')}-{hashlib.sha256(data.encode()).hexdigest()[:12]}.json"
        source = source.replace(f"@RESULT {experiment}@", name)
        files[name] = data
    files[f"{page_name(path)}.md"] = expand(source, ledger, path.name)
    return files


def page_name(path: Path) -> str:
    """Name of a written page in the book: without the number that orders it among its neighbours."""
    return re.sub(r"^\d+-", "", path.stem)
