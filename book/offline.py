"""Sphinx extension: a book that needs nothing from any other host, and fails where it would.

1. KaTeX renders at build; the build fails with all formulas that it rejects (the default is red text).
2. sphinx-thebe's script tags, which name another host and throw an error in the console, are dropped.
3. Icons are letters of the theme's style sheet, not drawn again by a script of 1.5 MB on every page.
4. Titles are escaped where the theme forgets it.
5. Every displayed formula stands in a box with a button that copies it (`assets/maths.js`): moving formulas
   into boxes in the browser would take a tenth of the work of showing a page.
6. After the build every page is searched for resources of other hosts; one is an error.
"""

from __future__ import annotations

import html
import re
import time
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_OUTSIDE = re.compile(
    r"""<(?:script|link|img|iframe|source|object)\b[^>]*?"""
    r"""\b(?:src|href|data)=["']?(?:https?:)?//([^"'/>\s]+)""",
    re.I,
)
_OUTSIDE_CSS = re.compile(r"""(?:url\(|@import\s+)["']?(?:https?:)?//([^"'/)\s]+)""", re.I)
_ICONS = re.compile(r"""<script\b[^>]*/fontawesome\.js\b[^>]*></script>""")
_FORMULA = re.compile(r"""<div class="math\b[^>]*>.*?</div>""", re.S)
_BOX = (
    r'<div class="maths-box">\g<0><button class="copy-latex" type="button" '
    r'aria-label="Copy this formula as LaTeX">LaTeX</button></div>'
)
STARTS = 20
LONGEST = 80


def _patient_start(start: Any) -> Any:
    """sphinxcontrib-katex connects before its server listens: about one start in twenty is refused."""

    def retry(cls: type) -> Any:
        for attempt in range(STARTS):
            try:
                return start(cls)
            except ConnectionRefusedError:
                time.sleep(0.05 * (attempt + 1))
        return start(cls)

    return classmethod(retry)


def strict_katex(app: Sphinx) -> list[str]:
    """Make every formula that KaTeX rejects a line of the list returned, with its page."""
    import sphinxcontrib.katex as katex

    katex.KATEX_DEFAULT_OPTIONS.update(throwOnError=True, strict="error")
    katex.KaTeXServer.start = _patient_start(katex.KaTeXServer.start.__func__)
    render = katex.render_latex
    rejected: list[str] = []

    def render_or_note(latex: str, options: dict[str, Any] | None = None) -> str:
        try:
            return render(latex, options)
        except katex.KaTeXError as error:
            page = getattr(app.builder, "current_docname", "")
            rejected.append(f"{page}: this formula does not render: {latex[:LONGEST]!r}: {error}")
            return ""

    katex.render_latex = render_or_note
    return rejected


def strip_thebe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Drop the scripts of sphinx-thebe from a page."""
    if "script_files" in context:
        context["script_files"] = [
            script
            for script in context["script_files"]
            if "thebe" not in str(getattr(script, "filename", script) or "")
            and "THEBE_JS_URL" not in (getattr(script, "attributes", None) or {}).get("body", "")
        ]


def escape_titles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The theme puts titles into its pages as they are; a claim's title may look like HTML."""
    for name in ("pagetitle", "root_title"):
        if name in context:
            context[name] = html.escape(context[name])


def box_formulas(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put each displayed formula of a page into a box with its button."""
    if "body" in context:
        context["body"] = _FORMULA.sub(_BOX, context["body"])


def letters_for_icons(app: Sphinx) -> None:
    """Drop the theme's script for icons from every page; its style sheet has them, too."""
    if app.builder.format != "html":
        return
    render = app.builder.templates.render

    def without(template: str, context: dict[str, Any]) -> str:
        return _ICONS.sub("", render(template, context))

    app.builder.templates.render = without


def own_scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The ledger table, the graph and the pages with a form are the only ones that load their scripts."""
    scripts = {
        "ledger": ["ledger-table.js"],
        "graph": ["vendor/cytoscape.min.js", "vendor/elk.bundled.js", "claims-graph.js", "graph-view.js"],
    }
    for name in scripts.get(page, ()):
        app.add_js_file(name)
    if 'class="live"' in context.get("body", ""):
        app.add_js_file("live.js")


def audit(app: Sphinx, error: Exception | None) -> None:
    """Fail on any resource of another host in the output."""
    if error is not None or app.builder.format != "html":
        return
    found = set()
    for path in Path(app.outdir).rglob("*"):
        if path.suffix in (".html", ".css"):
            content = path.read_text("utf8", "replace")
            pattern = _OUTSIDE if path.suffix == ".html" else _OUTSIDE_CSS
            found |= {(path.name, host) for host in pattern.findall(content)}
    if found:
        raise ExtensionError(f"resources of other hosts in pages: {sorted(found)[:10]}")


def report(rejected: list[str]) -> None:
    """Fail with all formulas that KaTeX rejected."""
    if rejected:
        raise ExtensionError("\n".join(rejected))


def setup(app: Sphinx) -> dict[str, Any]:
    """Entry point for Sphinx."""
    rejected = strict_katex(app)
    app.add_css_file("attest.css")
    app.add_js_file("maths.js")
    app.connect("builder-inited", letters_for_icons)
    app.connect("html-page-context", box_formulas)
    app.connect("html-page-context", own_scripts)
    app.connect("html-page-context", strip_thebe, priority=950)
    app.connect("html-page-context", escape_titles, priority=950)
    app.connect("build-finished", audit)
    app.connect("build-finished", lambda app, error: report(rejected))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
