"""Opens every page of a built book in headless Chromium, every other host cut off, and looks for faults.

    python -m book.browser_check DIR

Chromium is found on the PATH (Debian: the package `chromium`) and driven by playwright.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urlencode, urlsplit

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
DESKTOP = {"width": 1280, "height": 900}
SCREENS = {"a desktop": DESKTOP, "a phone": {"width": 390, "height": 844}}
LARGEST_PAGE = 1_500_000
PDF = "corrections.pdf"
PATIENCE = 10_000
"""Milliseconds until what a click or a key asks for must be there; the tests may run beside the check."""
SHARE = 60
"""Pages that one browser reads; its memory grows with each."""

# What a page knows of itself once it is open.
_INSPECT = r"""() => {
  const hidden = (e) => e.closest("pre, code, script, style, annotation, .katex");
  const all = (selector) => [...document.querySelectorAll(selector)];
  const top = document.querySelector("main") ?? document.body;
  const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  const marks = /\\\(|\\\[|\$\$|\\(frac|sum|begin)\b|\{ledger\}|\{claim\}|@LEDGER@/;
  const raw = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (marks.test(node.data) && !hidden(node.parentElement)) raw.push(node.data.trim().slice(0, 80));
  }
  return {
    formulas: document.querySelectorAll(".math").length,
    unrendered: all(".math").filter((e) => !e.querySelector(".katex annotation")).length,
    cut: all("div.math").filter((e) => e.querySelector(".base") &&
      e.querySelector(".base").getBoundingClientRect().left < e.getBoundingClientRect().left - 1).length,
    errors: document.querySelectorAll(".katex-error, .problematic").length,
    raw,
    noAlt: all("article img").filter((e) => !e.getAttribute("alt")).map((e) => e.src),
    noName: all("article svg:not([aria-hidden])")
      .filter((e) => e.getAttribute("role") === "img" && !e.getAttribute("aria-label")).length,
    ids: all("[id]").map((e) => e.id),
    links: all("a[href]").map((e) => new URL(e.getAttribute("href"), document.baseURI).href),
    headings: document.querySelectorAll("article h1").length,
  };
}"""
_SHOWN = (
    "() => [...document.querySelectorAll('.ledger-table tbody tr')].filter((r) => r.checkVisibility()).length"
)
_WIDE = """async (patience) => {
  // Formulas are set smaller by an observer, a little after the page and its letters have come.
  const cut = () => [...document.querySelectorAll("div.math")]
    .filter((e) => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const end = Date.now() + patience;
  while (cut().length && Date.now() < end) await new Promise((next) => setTimeout(next, 100));
  const latex = (e) => e.querySelector("annotation")?.textContent ?? "";
  return cut().map((e) => ({ width: e.scrollWidth, latex: latex(e) }));
}"""
"""Formulas wider than their place: how wide, and what they are."""
_OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


class NoBrowser(RuntimeError):
    """Chromium or playwright is not installed; the message says how to get it."""


def chromium() -> str:
    """Path of Chromium. Raises NoBrowser."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise NoBrowser("chromium not found on the PATH (Debian: apt-get install chromium)")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """Headless Chromium that reaches no host but this one."""
    path = chromium()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NoBrowser("playwright is not installed (it is in the book extra)") from None
    blocked = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu", blocked])
        try:
            yield running
        finally:
            running.close()


@contextmanager
def server(root: Path) -> Iterator[str]:
    """The folder over http on this machine; yields the address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            """Say nothing."""

        def end_headers(self) -> None:
            """Let the browser keep style sheets and letters, which are half of a page's work."""
            self.send_header("Cache-Control", "max-age=3600")
            super().end_headers()

        def copyfile(self, source: Any, outputfile: Any) -> None:
            """Send a file; the browser hangs up where it leaves a page early."""
            with suppress(ConnectionError):
                super().copyfile(source, outputfile)

    handler = functools.partial(Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{serving.server_address[1]}"
        finally:
            serving.shutdown()


def _is_local(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme in ("file", "data", "blob") or parts.hostname == "127.0.0.1"


class Reader:
    """One tab that notes everything that goes wrong in it."""

    def __init__(self, running: Any, served: bool = False, each_request: bool = True, **options: Any) -> None:
        self.problems: list[str] = []
        # Pages of the file system are read offline: every request that would leave them fails, and is seen to
        # fail.
        self.tab = running.new_context(viewport=DESKTOP, offline=not served, **options).new_page()
        self.where = ""
        self.tab.on("console", self._console)
        self.tab.on("pageerror", lambda e: self.note(f"script error: {e}"))
        self.tab.on("requestfailed", self._failed)
        if served and each_request:  # noting every request takes longer than reading a page
            self.tab.on("response", lambda r: self.expect(r.status < 400, f"status {r.status}: {r.url}"))
            self.tab.on("request", self._request)

    def note(self, problem: str) -> None:
        """Record a problem of the page that is open."""
        self.problems.append(f"{self.where}: {problem}")

    def expect(self, holds: Any, problem: str) -> None:
        """Record a problem where something does not hold."""
        if not holds:
            self.note(problem)

    def _console(self, message: Any) -> None:
        self.expect(message.type != "error", f"console: {message.text}")

    def _failed(self, request: Any) -> None:
        # Leaving a page ends the requests that it still has under way.
        if request.failure != "net::ERR_ABORTED":
            self.expect(_is_local(request.url), f"request to another host: {request.url}")
            self.note(f"request failed: {request.url}")

    def _request(self, request: Any) -> None:
        self.expect(_is_local(request.url), f"request to another host: {request.url}")

    def open(self, address: str, name: str) -> None:
        """Open a page and wait until it is loaded."""
        self.where = name
        self.tab.goto(address, wait_until="load")


def _inspect(reader: Reader, path: Path, screens: Iterable[str]) -> dict[str, Any]:
    """Look at the open page: formulas, raw LaTeX, images, size, and whether it fits each screen."""
    # A change of width takes as long as opening a page: that of the page before comes first.
    for screen in sorted(screens, key=lambda screen: SCREENS[screen] != reader.tab.viewport_size):
        if reader.tab.viewport_size != SCREENS[screen]:
            reader.tab.set_viewport_size(SCREENS[screen])
        _fits(reader, screen)
    seen = reader.tab.evaluate(_INSPECT)
    reader.expect(not seen["unrendered"], f"{seen['unrendered']} formulas not rendered")
    reader.expect(not seen["cut"], f"{seen['cut']} formulas whose start is cut off")
    reader.expect(not seen["errors"], f"{seen['errors']} error boxes")
    reader.expect(not seen["raw"], f"raw markup: {seen['raw'][:3]}")
    reader.expect(
        not seen["noAlt"] and not seen["noName"], f"pictures without alternative text: {seen['noAlt']}"
    )
    reader.expect(
        seen["headings"] == 1 or path.name in ("genindex.html", "search.html"), "not one main heading"
    )
    reader.expect(
        path.stat().st_size < LARGEST_PAGE, f"{path.stat().st_size:,} bytes; at most {LARGEST_PAGE:,}"
    )
    return seen


def _fits(reader: Reader, screen: str) -> None:
    """The page is not wider than the screen, nor is a formula wider than its place."""
    wider = reader.tab.evaluate(_OVERFLOW)
    reader.expect(wider <= 1, f"{wider} pixels wider than {screen}")
    for formula in reader.tab.evaluate(_WIDE, PATIENCE):
        reader.note(f"on {screen} a formula of {formula['width']} pixels is cut: {formula['latex'][:80]}")


def _dead_links(root: Path, seen: dict[str, dict[str, Any]]) -> list[str]:
    """Links to files or anchors of the book that do not exist."""
    problems = []
    anchors = {name: {*page["ids"], "", "top"} for name, page in seen.items()}
    for name, page in seen.items():
        for href in dict.fromkeys(page["links"]):
            address, anchor = urldefrag(href)
            if urlsplit(address).scheme != "file":
                continue
            target = Path(unquote(urlsplit(address).path))
            if not target.is_file() or root not in target.parents:
                problems.append(f"{name}: dead link to {href}")
            elif unquote(anchor) not in anchors.get(target.relative_to(root).as_posix(), {unquote(anchor)}):
                problems.append(f"{name}: no such place: {href}")
    return problems


def check_pages(root: Path, workers: int = 1) -> list[str]:
    """Every page, shared out to as many browsers. Raises NoBrowser."""
    pages = [
        p for p in sorted(root.rglob("*.html")) if not p.relative_to(root).as_posix().startswith("_static/")
    ]
    count = -(-len(pages) // SHARE)
    with ThreadPoolExecutor(workers) as pool:
        shares = list(pool.map(functools.partial(_read, root), [pages[n::count] for n in range(count)]))
    seen = {name: page for _, share in shares for name, page in share.items()}
    problems = [problem for found, _ in shares for problem in found]
    if not any(page["formulas"] for page in seen.values()):
        problems.append("no formula in the whole book")
    return problems + _dead_links(root, seen)


def _read(root: Path, pages: list[Path]) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Problems of some pages, and what each knows of itself. The many of claims and corrections are read over
    http, and on the narrow screen: what fits there fits a wide one.
    """
    seen, problems = {}, []
    with browser() as running, server(root) as base:
        for served, address in ((False, root.as_uri()), (True, base)):
            reader = Reader(running, served, each_request=False)
            for path in pages:
                name = path.relative_to(root).as_posix()
                if name.startswith(("claims/", "corrections/")) is served:
                    reader.open(f"{address}/{quote(name)}", name)
                    screens = ["a phone"] if served else SCREENS
                    seen[name] = found = _inspect(reader, path, screens)
                    found["links"] = [link.replace(base, root.as_uri()) for link in found["links"]]
            problems += reader.problems
    return problems, seen


def check_ledger(running: Any, root: Path) -> list[str]:
    """The table's filters, search, sorting by keyboard, and a view reached by its address."""
    reader = Reader(running)
    tab = reader.tab
    reader.open((root / "ledger.html").as_uri(), "ledger.html")
    total = tab.locator(".ledger-table tbody tr").count()

    def visible() -> int:
        return tab.evaluate(_SHOWN)

    reader.expect(total and visible() == total, "not all claims are shown at first")
    verdicts = [
        v for v in tab.locator("#ledger-verdict option").evaluate_all("o => o.map(e => e.value)") if v
    ]
    counts = []
    for verdict in verdicts:
        tab.select_option("#ledger-verdict", verdict)
        counts.append(visible())
    reader.expect(
        verdicts and sum(counts) == total and min(counts) > 0, f"filter by verdict shows {counts} of {total}"
    )
    tab.select_option("#ledger-verdict", "")
    tab.fill("#ledger-find", "no such claim")
    reader.expect(
        visible() == 0 and f"0 of {total}" in tab.inner_text("#ledger-status"), "search hides nothing"
    )
    tab.fill("#ledger-find", "")
    heading = tab.locator(".ledger-table th button", has_text="Verdict")
    heading.focus()
    for order in (False, True):
        tab.keyboard.press("Enter")
        shown = tab.locator(".ledger-table .verdict").all_inner_texts()
        reader.expect(shown == sorted(shown, reverse=order), "sorting by keyboard does not sort")
    reader.open((root / "ledger.html").as_uri() + f"?verdict={verdicts[0]}", "ledger.html")
    reader.expect(visible() == counts[0], "the filter in the address is not applied")
    return reader.problems


READABLE = 0.65
"""The least scale of the graph's labels of 13 points at first sight."""


CLICKED = 3
"""Nodes of the graph that are clicked, each on a page that is opened anew."""


def check_graph(running: Any, root: Path) -> list[str]:
    """One node a claim, each with a page; clicking a node opens it. At first one paper is shown, or what is
    near a claim.
    """
    reader = Reader(running)
    tab, address = reader.tab, (root / "graph.html").as_uri()

    def at(place: str) -> None:
        reader.open(place, "graph.html")
        tab.wait_for_function("claimGraph.arranged", timeout=LIVE_PATIENCE)

    papers = "[...new Set(claimGraph.nodes(':visible').map(n => n.data('paper')))].length"
    at(address)
    reader.expect(tab.evaluate(papers) == 1, "the graph does not open on one paper")
    reader.expect(tab.evaluate("claimGraph.zoom()") >= READABLE, "the graph opens too small to be read")
    claim = tab.evaluate("claimGraph.edges()[0]?.target().id()")
    if claim:
        at(f"{address}?{urlencode({'claim': claim})}")
        shown = tab.evaluate("claimGraph.nodes(':visible').map(n => n.id())")
        near = "id => { const n = claimGraph.$id(id); return n.union(n.predecessors('node'))"
        near += ".union(n.successors('node')).map(m => m.id()); }"
        reader.expect(set(shown) == set(tab.evaluate(near, claim)), f"not the neighbours of {claim}")
    at(f"{address}?paper=")
    # Never return the Cytoscape object itself: turning it into JSON crashes the tab.
    nodes = tab.evaluate("claimGraph.nodes().map(n => [n.id(), n.data('href'), n.data('paper')])")
    pages = {p.relative_to(root).as_posix() for p in (root / "claims").rglob("*/*.html")}
    reader.expect({href for _, href, _ in nodes} == pages, "nodes and claim pages are not the same")
    tab.uncheck("#graph-controls input[type=checkbox] >> nth=0")
    reader.expect(
        tab.evaluate("claimGraph.nodes(':visible').length") < len(nodes), "hiding a verdict hides nothing"
    )
    spots = "([id]) => { const n = claimGraph.$id(id); claimGraph.center(n); const p = n.renderedPosition();"
    spots += " return [p.x, p.y]; }"
    for node, href, paper in nodes[:: max(1, len(nodes) // CLICKED)][:CLICKED]:
        at(f"{address}?{urlencode({'paper': paper})}")  # arranging all takes longer
        box = tab.locator("#graph-view").bounding_box()
        x, y = tab.evaluate(spots, [node])
        tab.mouse.click(box["x"] + x, box["y"] + y)
        try:
            tab.wait_for_url(f"**/{href}", timeout=PATIENCE)
        except Exception:
            reader.note(f"a click on {node} does not open {href}")
    return reader.problems


LIVE = (
    ("svr", {"loss": "hinge"}),
    ("svr", {"loss": "least_squares"}),
    ("ksvd", {"scores": "e_only"}),
    ("energy", {"F": "log(cosh(u))"}),
    ("functional_descent", {"kernel": "exp(dot)"}),
)
"""Settings that the page derives under in the check; the first, which the theory does not take, comes by the
page's address, the others are chosen in its forms.
"""
LIVE_PATIENCE = 300_000
"""Milliseconds for what a page computes itself: a derivation, or where a graph's nodes stand."""


_CHOOSE = (
    "(field, value) => { field.value = value; field.dispatchEvent(new Event('input', { bubbles: true })); }"
)


def _form(tab: Any, theory: str) -> int:
    return tab.evaluate("name => attestForms.findIndex((form) => form.theory === name)", theory)


def derived(tab: Any, theory: str) -> Any:
    """What the open page answers when its form of a theory is sent as it stands."""
    number = _form(tab, theory)
    tab.locator("form.live").nth(number).locator("[type=submit]").click()
    failed = "document.querySelectorAll('.live-status')[n].classList.contains('wrong')"
    tab.wait_for_function(f"n => attestForms[n].answer || {failed}", arg=number, timeout=LIVE_PATIENCE)
    said = tab.locator(".live-status").nth(number).inner_text()
    return tab.evaluate("n => attestForms[n].answer", number) or {"error": said}


def check_live(running: Any, root: Path) -> list[str]:
    """Deriving on the page, opened once as a file, as Python takes as long to start as to derive: nothing is
    loaded before a click, and the answers are those of this Python.
    """
    from book.live import answers

    reader, page = Reader(running), root / "change-an-assumption.html"
    if not (root / "_static/live").is_dir():
        return []  # the build has said why
    by_address = {"theory": LIVE[0][0], **LIVE[0][1]}
    reader.open(f"{page.as_uri()}?{urlencode(by_address)}", page.name)
    loaded = reader.tab.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    early = [name for name in loaded if "/live/" in name]
    reader.expect(not early and not reader.tab.evaluate("window.attestParts"), f"loads early: {early}")
    for number, (theory, settings) in enumerate(LIVE):
        reader.where, form = f"{page.name} {theory}", _form(reader.tab, theory)
        for knob, value in settings.items() if number else ():
            reader.tab.locator("form.live").nth(form).locator(f"[name={knob}]").evaluate(_CHOOSE, value)
        found = derived(reader.tab, theory)
        expected = json.loads(answers.derive(theory, json.dumps(settings)))
        reader.expect(found == expected, f"{settings} gives another derivation than in the terminal")
        if "steps" in expected and found == expected:
            shown = len(expected["steps"]) + len(expected["gone"])
            try:
                reader.tab.wait_for_function(
                    "([form, n]) => attestForms[form].out.querySelectorAll('.step').length === n",
                    arg=[form, shown],
                    timeout=LIVE_PATIENCE,
                )
            except Exception:
                reader.note(f"not all of the {shown} steps are shown")
            unset = reader.tab.locator(".live-maths pre").count()
            reader.expect(not unset, f"{unset} formulas are not set")
    return reader.problems


def check_served(running: Any, root: Path) -> list[str]:
    """Over http, in dark mode: the front page, a search, and copying a formula as LaTeX."""
    reader = Reader(
        running, served=True, color_scheme="dark", permissions=["clipboard-read", "clipboard-write"]
    )
    tab = reader.tab
    with server(root) as base:
        reader.open(f"{base}/index.html", "index.html (http)")
        reader.open(f"{base}/search.html?q=softmax", "search.html (http)")
        tab.wait_for_selector("#search-results li", timeout=PATIENCE)
        page = next(
            p for p in sorted((root / "claims").rglob("*/*.html")) if 'class="math' in p.read_text("utf8")
        )
        reader.open(f"{base}/{page.relative_to(root).as_posix()}", page.name)
        formula = tab.locator("div.math").first
        tab.locator(".copy-latex").first.focus()
        tab.keyboard.press("Enter")
        tab.wait_for_function(
            "document.querySelector('.copy-latex').textContent === 'copied'", timeout=PATIENCE
        )
        copied = tab.evaluate("navigator.clipboard.readText()")
        reader.expect(
            copied and copied == formula.locator("annotation").first.text_content(), "copied something else"
        )
    return reader.problems


def check(out: Path, workers: int = 1) -> list[str]:
    """Every problem found in the book in a folder, one line each; an empty list is a good book.

    workers: browsers that read pages at a time.
    """
    root = Path(out).resolve()
    if not (root / "index.html").is_file():
        return [f"{out} holds no book (no index.html)"]
    try:
        problems = check_pages(root, workers)
        with browser() as running:
            for part in (check_ledger, check_graph, check_live, check_served):
                problems += part(running, root)
        return problems
    except NoBrowser as error:
        return [str(error)]


_GATHER = """async () => {
  const article = document.querySelector("article");
  const links = [...document.querySelectorAll(".bd-sidebar-primary a")].map((a) => a.href.split("#")[0]);
  for (const page of [...new Set(links)].filter((href) => /\\/corrections\\/[^/]+\\.html$/.test(href))) {
    const source = await (await fetch(page)).text();
    article.append(...new DOMParser().parseFromString(source, "text/html").querySelector("article").children);
  }
}"""


def print_corrections(running: Any, out: Path) -> Path:
    """Print the corrections of all papers to one PDF in the book's folder."""
    with server(out) as base:
        reader = Reader(running, served=True)
        reader.open(f"{base}/corrections.html", PDF)
        reader.tab.evaluate(_GATHER)
        reader.tab.pdf(
            path=out / PDF, format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm")
        )
    return out / PDF


def print_pdf(out: Path) -> Path:
    """The same, with a browser of its own. Raises NoBrowser."""
    with browser() as running:
        return print_corrections(running, out)


def main() -> int:
    """Command line of `python -m book.browser_check`."""
    parser = argparse.ArgumentParser(
        prog="python -m book.browser_check", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("out", type=Path, metavar="DIR", help="folder of a built book")
    problems = check(parser.parse_args().out)
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else "no problem found")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
