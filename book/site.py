"""Writes the sources of the book (pages, table of contents, configuration, assets) into a working folder."""

from __future__ import annotations

import hashlib
import html
import json
from collections import Counter
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import yaml

from book import chapters, claim_page, graph, notebooks, overview, variants, vendor
from book.ledger import Ledger, LedgerError, paper_name
from checks.audit import current

HERE = Path(__file__).parent
BOUNDS = HERE.parent / "checks" / "tensors" / "core" / "BOUNDS.md"
"""The derivation of the error bounds, kept beside the code that computes them."""


def write(path: Path, content: str) -> None:
    """Write a file only where its content changes, so that Sphinx rebuilds no more than it must."""
    if not (path.is_file() and path.read_text("utf8") == content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf8")


def written(paper: str) -> list[Path]:
    """Written chapters of one paper, in the order of their file names."""
    return sorted((current().book_folder / "chapters" / paper).glob("*.md"))


def pages(
    ledger: Ledger, records: list[dict[str, Any]], derived: dict[str, str] | None = None
) -> dict[str, str]:
    """Every generated text file of the book by its path in the working folder.

    derived: finished pages by name that need more than the ledger (book.variants).
    """
    change = {variants.CHANGE: variants.introduction()} if current().theories else {}
    derived = {**change, **(derived or {})}
    _require_papers(current().book_folder / "chapters")
    files = {f"{name}.md": page for name, page in derived.items()}
    for folder in (HERE / "pages", current().book_folder):
        for path in folder.glob("*.md"):
            files |= chapters.render(path, ledger, records)
    for paper in ledger.papers:
        for path in written(paper):
            made = chapters.render(path, ledger, records)
            page = f"{chapters.page_name(path)}.md"
            made[page] = notebooks.offered(made[page], path)
            files |= {f"chapters/{paper}/{name}": content for name, content in made.items()}
            files[notebooks.place(path)] = notebooks.notebook(path, ledger)
        files[f"claims/{paper}.md"] = overview.claims_page(ledger, paper)
        files |= {f"{n}.md": page for n, page in overview.corrections_pages(ledger, paper).items()}
    if "scale.md" in files:  # which it belongs to
        files["bounds.md"] = BOUNDS.read_text("utf8")
    for claim in ledger.claims:
        files[f"{claim.doc}.md"] = claim_page.page(claim, ledger)
    toc = contents(ledger, {name.removesuffix(".md") for name in files if "/" not in name}, derived)
    files["_toc.yml"] = yaml.safe_dump(toc, sort_keys=False, allow_unicode=True)
    files["_config.yml"] = _config(ledger)
    files["assets/claims-graph.js"] = graph.script(ledger)
    for path in (HERE / "assets").iterdir():
        files[f"assets/{path.name}"] = path.read_text("utf8")
    return files


def _require_papers(folder: Path) -> None:
    """Raises LedgerError for a written chapter that no paper would show."""
    keys = [paper.key for paper in current().papers]
    for path in sorted(folder.rglob("*.md")):
        if path.parent not in [folder / key for key in keys]:
            raise LedgerError(
                f"{path} is a chapter of no paper: it belongs into chapters/KEY; KEY is {' or '.join(keys)}"
            )


def _config(ledger: Ledger) -> str:
    """The settings of jupyter-book; the title is the audit's, and says which assumptions were changed."""
    settings = (HERE / "_config.yml").read_text("utf8")
    title = current().title
    if ledger.changed:
        title = f"{title} ({', '.join(ledger.changed)})"
    title = html.escape(title)  # the theme takes titles for HTML
    settings = settings.replace("BOOK", __package__)
    return f"title: {json.dumps(title, ensure_ascii=False)}\n{settings}"


def contents(ledger: Ledger, there: Container[str], derived: Iterable[str] = ()) -> dict[str, Any]:
    """The table of contents, in sphinx-external-toc's format, of the pages that are ``there``."""
    first, across_papers = (
        ["how-to-read"],
        [
            "corrections",
            "ledger",
            "graph",
            "scale",
            "bounds",
            "measured-model",
            "assumptions",
            "what-to-trust",
        ],
    )
    worked = [{"file": name} for name in derived if name.startswith("variants/")]
    for name in derived:
        if not name.startswith("variants/"):
            (first if name == "what-changed" else across_papers).append(name)
    parts: list[dict[str, Any]] = [_part("Start here", first)]
    for paper in ledger.papers:
        claims: dict[str, Any] = {"file": f"claims/{paper}", "title": "All claims"}
        places = Counter(c.reference for c in ledger.of(paper))
        claims["sections"] = [
            # a place alone where it says which claim is meant
            {"file": c.doc, "title": c.reference if places[c.reference] == 1 else f"{c.reference}: {c.title}"}
            for c in ledger.of(paper)
        ]
        names = [f"chapters/{paper}/{chapters.page_name(path)}" for path in written(paper)]
        part = _part(paper_name(paper), names)
        part["chapters"].append(claims)
        parts.append(part)
    across = _part("Across the papers", [name for name in across_papers if name in there])
    sections = []
    for paper in ledger.papers:
        for name in overview.corrections_pages(ledger, paper):
            title = f"{paper_name(paper)}, {name.removeprefix(f'corrections/{paper}-').replace('-', ' ')}"
            sections.append({"file": name, "title": title})
    if sections:
        across["chapters"][0]["sections"] = sections
    for chapter in across["chapters"]:
        if chapter["file"] == variants.CHANGE and worked:
            chapter["sections"] = worked
    reference = ("command-line", "modules", "python", "bibliography")
    parts += [across, _part("Reference", [name for name in reference if name in there])]
    return {"format": "jb-book", "root": "index", "parts": parts}


def _part(caption: str, files: list[str]) -> dict[str, Any]:
    return {"caption": caption, "chapters": [{"file": file} for file in files]}


def assemble(
    ledger: Ledger, records: list[dict[str, Any]], work: Path, derived: dict[str, str] | None = None
) -> None:
    """Bring the working folder up to date: changed files are written, those of vanished claims deleted."""
    files = pages(ledger, records, derived)
    for name, content in files.items():
        write(work / name, content)
    for path in work.rglob("*"):
        name = path.relative_to(work).as_posix()
        if path.is_file() and name not in files and not name.startswith(("_build/", "assets/vendor/")):
            path.unlink()
    vendor.copy_into(work / "assets")


def frame(work: Path) -> str:
    """Digest of what every page shows or depends on: contents, titles, settings, assets, these extensions."""
    titles = [path.read_text("utf8").split("\n", 1)[0] for path in sorted((work / "claims").rglob("*.md"))]
    parts = [
        (work / "_toc.yml").read_text("utf8"),
        (work / "_config.yml").read_text("utf8"),
        json.dumps(titles),
    ]
    assets = [path for path in sorted((work / "assets").glob("*.*")) if path.name != "claims-graph.js"]
    own = [HERE / "offline.py", HERE / "sidebar.py", *sorted((HERE / "templates").iterdir())]
    parts += [path.read_text("utf8") for path in [*assets, *own]]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
