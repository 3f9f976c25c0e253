"""Sphinx extension: the list of the book's pages at the side of each page, from its table of contents.

The theme resolves and parses every link of the book anew for every page, which is a quarter of the build;
what is made here has the same elements. A chapter's sections are listed on its own page and on theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TEMPLATES = Path(__file__).parent / "templates"
_TOGGLE = (
    '<summary><span class="toctree-toggle" role="presentation">'
    '<i class="fa-solid fa-chevron-down"></i></span></summary>'
)


def listed(contents: Any, titles: dict[str, str], page: str, address: Callable[[str], str]) -> str:
    """The list as HTML: ``contents`` is sphinx-external-toc's map of the book, ``titles`` those of its pages,
    ``address`` of a page seen from the one that is open.
    """

    def item(name: str, level: int, below: str = "") -> str:
        here = name == page
        state = " current active" if here or below else ""
        link = "current reference internal" if here else "reference internal"
        title = escape(contents[name].title or titles[name], quote=False)
        entry = f'<a class="{link}" href="{"#" if here else address(name)}">{title}</a>'
        return f'<li class="toctree-l{level}{state}{" has-children" * bool(below)}">{entry}{below}</li>'

    def chapter(name: str) -> str:
        sections = [file for tree in contents[name].subtrees for file in tree.items]
        if page != name and page not in sections:
            return item(name, 1)
        here = ' class="current"' if page in sections else ""
        inner = "\n".join(item(section, 2) for section in sections)
        below = f'<details open="open">{_TOGGLE}<ul{here}>\n{inner}\n</ul></details>' if inner else ""
        return item(name, 1, below)

    parts = []
    for tree in contents.root.subtrees:
        if tree.caption:
            caption = f'<span class="caption-text">{escape(tree.caption, quote=False)}</span>'
            parts.append(f'<p aria-level="2" class="caption" role="heading">{caption}</p>')
        items = "\n".join(map(chapter, tree.items))
        state = "current " if " current active" in items else ""
        parts.append(f'<ul class="{state}nav bd-sidenav">\n{items}\n</ul>')
    return "\n".join(parts)


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the template of the sidebar its list."""
    if app.builder.format == "html":
        titles = {name: title.astext() for name, title in app.env.titles.items()}
        contents = app.env.external_site_map  # type: ignore[attr-defined]
        context["page_list"] = lambda: listed(contents, titles, page, context["pathto"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Entry point for Sphinx."""
    app.config.templates_path.insert(0, str(TEMPLATES))  # before those of the theme
    app.connect("html-page-context", offer, priority=400)  # before the theme looks which parts are empty
    return {"parallel_read_safe": True, "parallel_write_safe": True}
