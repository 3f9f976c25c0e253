"""The list of pages at the side."""

from types import SimpleNamespace
from typing import Any

import pytest

from book import sidebar


class Contents(dict):
    """Pages by name, as sphinx-external-toc has them: each with a title or none, and what is below it."""

    root = SimpleNamespace(
        subtrees=[
            SimpleNamespace(caption="A & B", items=["first"]),
            SimpleNamespace(caption=None, items=["claims/p"]),
        ]
    )


@pytest.fixture
def contents() -> Any:
    below = [SimpleNamespace(items=["claims/p/eq1", "claims/p/eq2"])]
    pages = Contents({name: SimpleNamespace(title=None, subtrees=[]) for name in TITLES})
    pages["claims/p"] = SimpleNamespace(title="All claims", subtrees=below)
    return pages


TITLES = {"first": "x < y", "claims/p": "Claims of P", "claims/p/eq1": "Eq. (1)", "claims/p/eq2": "Eq. (2)"}


def at(contents: Any, page: str) -> str:
    return sidebar.listed(contents, TITLES, page, lambda name: f"to/{name}")


def test_sections_are_listed_on_their_own_pages_and_their_chapters(contents: Any) -> None:
    assert "eq1" not in at(contents, "first") and "eq1" in at(contents, "claims/p")
    inside = at(contents, "claims/p/eq2")
    assert (
        '<li class="toctree-l2"><a class="reference internal" href="to/claims/p/eq1">Eq. (1)</a></li>'
        in inside
    )
    assert '<a class="current reference internal" href="#">Eq. (2)</a>' in inside
    assert (
        'toctree-l1 current active has-children"><a class="reference internal" href="to/claims/p">All cl'
        in inside
    )


def test_titles_are_text(contents: Any) -> None:
    shown = at(contents, "claims/p/eq1")
    assert ">x &lt; y</a>" in shown and ">A &amp; B</span>" in shown and shown.count("caption-text") == 1
    assert shown.count("current") == at(contents, "claims/p/eq2").count("current") == 5


def test_only_pages_of_a_browser_get_one() -> None:
    for kind, offered in (("html", True), ("latex", False)):
        context = {"pathto": str}
        env = SimpleNamespace(titles={}, external_site_map=None)
        sidebar.offer(SimpleNamespace(builder=SimpleNamespace(format=kind), env=env), "p", "", context, None)
        assert ("page_list" in context) is offered
