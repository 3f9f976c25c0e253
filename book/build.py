"""Builds the book from an exported ledger: `attest book`, or `python -m book.build --ledger FILE --out DIR`.

The generated sources and Sphinx's state stay in a working folder in the cache, so that a second build
rewrites only the pages whose records changed. The finished pages are then copied to the output folder,
which a build that fails leaves as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from book import browser_check as browser
from book import site, variants, vendor
from book.ledger import LedgerError, Live, parse, read_records
from book.live import pack
from checks.audit import cache_folder, current

MARK = ".attest-book.json"


class BuildError(RuntimeError):
    """The book could not be built; the message is one line unless Sphinx had more to say."""


def work_folder(changed: bool = False) -> Path:
    """Where sources and Sphinx's state are kept; those of a changed theory's book apart, so that the audit's
    own stay as they are.
    """
    return cache_folder() / "book" / current().package / ("changed" if changed else "own")


def say(message: str) -> None:
    """One line to the user."""
    print(f"book: {message}", file=sys.stderr, flush=True)


def run_jupyter_book(work: Path, builder: str = "html") -> Path:
    """Run jupyter-book on the working folder; warnings are errors. Returns the folder of pages."""
    pages = work / "_build" / builder
    # For the extension and for cells that import the project or the audit's package.
    here = Path(__file__).parents[__package__.count(".") + 1]
    path = os.pathsep.join(filter(None, [str(here), str(current().root), os.environ.get("PYTHONPATH", "")]))
    call = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", call, "build", str(work), "-W", "--keep-going", "-n", "-q"]
    log = work / "_build" / "jupyter-book.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    # Into a file: a process that Sphinx left behind would hold a pipe open.
    with log.open("w") as lines:
        run = subprocess.run(
            [*command, "--builder", builder],
            env={**vendor.environment(), "PYTHONPATH": path},
            stdout=lines,
            stderr=subprocess.STDOUT,
        )
    if run.returncode:
        raise BuildError(f"jupyter-book failed ({log} has all of it):\n{_reasons(log)}")
    return pages


def _reasons(log: Path) -> str:
    """What Sphinx complained about, without its tracebacks; the end of the log where it names nothing."""
    text = re.sub(r"\x1b\[[\d;]*m", "", log.read_text("utf8", "replace"))
    lines = [
        line
        for line in text.splitlines()
        if re.search(r"(?<!\] )WARNING|ERROR|does not render|other hosts", line)
    ]
    # The traceback of a cell ends with its error, before the traceback of what ran the cell.
    lines += re.findall(r"^([A-Za-z_.]+: .+)\n\s*\nThe above exception", text, re.MULTILINE)
    return "\n".join(dict.fromkeys(lines)) or text[-3000:]


def require_usable(out: Path, ledger_path: Path) -> None:
    """Refuse an output folder with anything in it but an earlier book or the ledger. Raises BuildError."""
    if out.exists() and not out.is_dir():
        raise BuildError(f"{out} is a file, not a folder")
    others = [p for p in out.iterdir() if p.resolve() != ledger_path.resolve()] if out.is_dir() else []
    if others and not (out / MARK).is_file():
        raise BuildError(f"{out} is not empty and holds no book; choose an empty or new folder")


def publish(pages: Path, out: Path) -> None:
    """Copy changed pages to the output folder and delete what only an earlier build wrote."""
    mark = out / MARK
    out.mkdir(parents=True, exist_ok=True)
    before = set(json.loads(mark.read_text("utf8"))) if mark.is_file() else set()
    names = {path.relative_to(pages).as_posix() for path in pages.rglob("*") if path.is_file()}
    mark.write_text(json.dumps(sorted(before | names)), "utf8")
    for name in names:
        source, target = pages / name, out / name
        if not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    for name in before - names:
        (out / name).unlink(missing_ok=True)
    mark.write_text(json.dumps(sorted(names)), "utf8")


def make(
    ledger_path: Path,
    out: Path,
    work: Path,
    settings: variants.Settings | None = None,
    options: Any = None,
    workers: int = 1,
    derive: bool = True,
) -> None:
    """Sources, Sphinx, output. Raises LedgerError, VendorError or BuildError."""
    records = read_records(ledger_path)
    ledger = parse(records, str(ledger_path))
    require_usable(out, ledger_path)
    derived: dict[str, str] = {}
    if settings:
        before, records = records, variants.rejudge(settings, records, options, workers)
        ledger = parse(records, str(ledger_path), variants.describe(settings))
        derived["what-changed"] = variants.changed_page(settings, ledger, before, records)
    if derive:
        ledger.live = _live()
        derived |= variants.pages(ledger, options)
    site.assemble(ledger, records, work, derived)
    stamp, frame = work / "_build" / "frame", site.frame(work)
    if not (stamp.is_file() and stamp.read_text() == frame):
        # Sphinx rewrites changed pages only, but the sidebar, styles and settings are part of every page.
        shutil.rmtree(work / "_build" / "html", ignore_errors=True)
    # Gone until the build is through: the pages of one that failed may hold gaps.
    stamp.unlink(missing_ok=True)
    pages = run_jupyter_book(work)
    pack.place(pages, ledger.live)
    stamp.write_text(frame)
    publish(pages, out)


def _live() -> Live:
    """Python for the browser; where it cannot be had, the book is built without, and says so."""
    try:
        return pack.pack()
    except vendor.VendorError as error:
        say(f"the pages of this book cannot derive in the browser: {error}")
        return Live(missing=str(error))


def build(
    ledger_path: Path,
    out: Path,
    *,
    settings: variants.Settings | None = None,
    options: Any = None,
    workers: int = 1,
    derive: bool = True,
    browser_check: bool = False,
    pdf: bool = False,
    work: Path | None = None,
) -> int:
    """Build the book of a ledger into a folder.

    ledger_path: JSON file written by `attest export`. out: a new or empty folder, or an earlier book's.
    settings: knobs that differ from the papers' assumptions, {"svr": {"loss": "least_squares"}}; the claims
    of these theories are judged anew with ``options`` (of checks.claim) on ``workers`` processes, and a page
    says what changed. derive: make the page of worked variants, for which the derivations run. browser_check:
    open every page in headless Chromium afterwards. pdf: also print the corrections to a PDF. work: where
    sources and Sphinx's state are kept; in the cache by default. Returns 0, or 1 where the book could
    not be built or a page is not right, or 2 for an unusable ledger.
    """
    out = Path(out)
    try:
        work = (work or work_folder(bool(settings))).resolve()
        make(Path(ledger_path), out, work, settings, options, workers, derive)
        if pdf:
            say(f"printed {browser.print_pdf(out)}")
        problems = browser.check(out, workers) if browser_check else []
    except LedgerError as error:
        say(str(error))
        return 2
    except (BuildError, vendor.VendorError, browser.NoBrowser) as error:
        say(str(error))
        return 1
    for problem in problems:
        say(problem)
    seen = ", and no page has a problem in Chromium" if browser_check else ""
    say(f"{out / 'index.html'} is ready{seen}" if not problems else f"{len(problems)} problems in the pages")
    return 1 if problems else 0


def main() -> int:
    """Command line of `python -m book.build`."""
    parser = argparse.ArgumentParser(
        prog="python -m book.build", description="Build the book of an exported ledger."
    )
    parser.add_argument("--ledger", type=Path, required=True, help="JSON file written by `attest export`")
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for the pages: new, empty or an earlier book"
    )
    parser.add_argument(
        "--browser-check", action="store_true", help="open every page in headless Chromium afterwards"
    )
    parser.add_argument("--pdf", action="store_true", help="also print the corrections to a PDF")
    chosen = parser.parse_args()
    return build(chosen.ledger, chosen.out, browser_check=chosen.browser_check, pdf=chosen.pdf)


if __name__ == "__main__":
    sys.exit(main())
