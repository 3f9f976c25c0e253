"""Deriving in the reader's browser: what is packed, what the page asks Python for, and the forms."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys

import book_fake_ledger
import pytest

pytest.importorskip("yaml", reason="the book's tools are an extra: make .venv/book")
pytest.importorskip("playwright", reason="the book's tools are an extra: make .venv/book")

from book import browser_check, build, chapters, claim_page, vendor
from book.ledger import LedgerError, Live, parse
from book.live import answers, form, pack, verdicts
from checks.claim import Options
from checks.run.registry import load
from checks.run.theories import theories, theory
from checks.run.verify import changes
from derivations.theories.theory import BadAssumption, NoForm

CLAIM = "nguyen2023/eq8"
THEORIES = theories()

ALONE = f"""
import json, sys

class Absent:
    names = {{"numpy", "scipy", "torch", "cvxpy", "clarabel", "sklearn", "rich", "flint"}}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from book.live import answers
for theory in {sorted(THEORIES)}:
    assert json.loads(answers.derive(theory, "{{}}"))["steps"], theory
Absent.names.discard("flint")
from book.live import verdicts
every = verdicts.load()
verdicts.load = lambda: {{"{CLAIM}": every["{CLAIM}"]}}
verdicts.judge("svr", '{{"loss": "least_squares"}}', print)
"""


def test_what_is_packed_derives_with_sympy_alone_and_judges_without_solvers_or_tensors(tmp_path):
    for name, path in pack.sources():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tmp_path / name)
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{ALONE}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": ""},
    )
    assert run.returncode == 0, run.stderr
    counts, found = map(json.loads, run.stdout.splitlines())
    assert counts == {"touched": 1, "claims": 1}
    assert (found["before"], found["after"]) == ("proved", "refuted") and found["why"]


def test_the_page_and_the_terminal_judge_alike(monkeypatch):
    claim = load()[CLAIM]
    monkeypatch.setattr(verdicts, "load", lambda: {CLAIM: claim})
    told = []
    verdicts.judge("svr", '{"loss": "least_squares"}', lambda said: told.append(json.loads(said)))
    settings = {"svr": theory("svr").assumptions({"loss": "least_squares"})}
    ((_, records),) = changes([claim], settings, Options())
    assert [told[1]["before"], told[1]["after"]] == [record.verdict for record in records.values()]
    told.clear()
    verdicts.judge("svr", '{"kernel_size": "4"}', lambda said: told.append(json.loads(said)))
    assert told == [{"touched": 0, "claims": 1}]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("svr", {"loss": "hinge"}),
        ("svr", {"feature_map": "__import__('os')"}),
        ("ksvd", {"nothing": "x"}),
        ("energy", {"F": 3}),
        ("hinge", {}),
    ],
)
def test_bad_input_gets_the_line_of_the_terminal(name, settings):
    with pytest.raises(BadAssumption) as caught:
        theory(name).assumptions(settings)
    assert json.loads(answers.derive(name, json.dumps(settings))) == {"error": str(caught.value)}


def test_settings_under_which_nothing_has_a_form_get_the_line_of_the_terminal():
    """Each is right by itself; the page showed the name of an exception before the line."""
    settings = {"loss": "relu", "box": "relaxed"}
    with pytest.raises(NoForm) as caught:
        theory("svr").derive(theory("svr").assumptions(settings))
    assert json.loads(answers.derive("svr", json.dumps(settings))) == {"error": str(caught.value)}


def test_each_step_stands_beside_the_papers():
    found = json.loads(answers.derive("ksvd", '{"scores": "e_only"}'))
    old = [step.title for step in THEORIES["ksvd"].derive(THEORIES["ksvd"].defaults)]
    states = {step["state"] for step in found["steps"]}
    assert states >= {"changed", "same"} and found["gone"]
    kept = [step["title"] for step in found["steps"] if step["state"] != "new"]
    assert sorted(kept + [step["title"] for step in found["gone"]]) == sorted(old)
    for step in found["steps"]:
        assert step["lines"] and (step["state"] != "changed" or step["before"]["latex"] != step["latex"])
    alone = json.loads(answers.derive("ksvd", "{}"))
    assert {step["state"] for step in alone["steps"]} == {"same"} and not alone["gone"]


@pytest.mark.parametrize("name", THEORIES)
def test_a_form_has_every_knob_with_what_it_takes(name):
    shown = form.block(name, Live(17.5, 9, ""))
    for knob in THEORIES[name].knobs:
        default = html.escape(str(getattr(THEORIES[name].defaults, knob.name)))
        field = re.search(rf'<(select|input) name="{knob.name}"[^>]* data-default="([^"]*)".*', shown)
        assert field and field[2] == default
        plain = [value for value in knob.allowed if not form._is_placeholder(value)]
        assert (field[1] == "select") == (len(plain) == len(knob.allowed))
        assert all(f'<option value="{html.escape(value)}"' in field[0] for value in [*plain, *knob.examples])
        assert html.escape(knob.meaning) in shown
    assert "17.5 MB" in shown


def test_a_chapter_gets_the_form_of_a_theory_and_of_no_other():
    ledger = parse([book_fake_ledger.record("nguyen2023/eq1", "Eq. (1)", "x")], "ledger")
    ledger.live = Live(17.5, 9, "")
    mark = "```{{ledger}} live {}\n```"
    assert 'data-theory="energy"' in chapters.expand(mark.format("energy"), ledger)
    with pytest.raises(LedgerError, match="no theory 'entropy'"):
        chapters.expand(mark.format("entropy"), ledger)


def test_a_claim_that_rests_on_a_knob_leads_to_the_form():
    knob = {"name": "tube", "words": "the loss is the tube's", "knob": "svr.loss", "value": ""}
    record = book_fake_ledger.record("nguyen2023/eq1", "Eq. (1)", "x", assumed=[knob])
    shown = claim_page.page((ledger := parse([record], "ledger")).claims[0], ledger)
    assert 'href="../../change-an-assumption.html?theory=svr&amp;knob=loss"' in shown


def test_without_python_for_the_browser_the_book_says_so_and_gives_the_command(monkeypatch, capsys):
    def refuse():
        raise vendor.VendorError("npm could not install it")

    monkeypatch.setattr(vendor, "install", refuse)
    live = build._live()
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "cannot derive in the browser: npm could not install it" in said
    shown = form.block("svr", live)
    assert "npm could not install it" in shown and "attest derive svr" in shown
    assert "<form" not in shown and "`epsilon_insensitive`" in shown


OWN = {
    ("energy", "F"): ("u^2", "u^3", "exp(u)", "log(cosh(u))", "u^2 + exp(u)"),
    ("energy", "step"): ("1/2",),
    ("ksvd", "feature_map"): ("z/(1 + zz)",),
    ("svr", "feature_map"): ("exp(dot)", "(dot + 1)^2"),
    ("functional_descent", "kernel"): ("exp(dot)", "(dot + 1)^2"),
}
"""Expressions of one's own, for the knobs that take them."""


def every_setting(name: str) -> list[dict[str, str]]:
    """Every value of every knob of a theory."""
    chosen = THEORIES[name]
    return [
        {knob.name: value}
        for knob in chosen.knobs
        for value in (*knob.allowed, *knob.examples, *OWN.get((name, knob.name), ()))
        if not form._is_placeholder(value)
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with the forms of all theories, as in the book, without the book around it."""
    try:
        browser_check.chromium()
        live = pack.pack()
    except (browser_check.NoBrowser, vendor.VendorError) as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("site")
    pack.place(folder, live)
    assets = pack.HERE.parent / "assets"
    for name in ("live.js", "maths.js", "attest.css"):
        shutil.copy(assets / name, folder / "_static")
    blocks = (form.block(name, live).split("\n", 1)[1].removesuffix("```") for name in THEORIES)
    scripts = "".join(f'<script defer src="_static/{name}.js"></script>' for name in ("maths", "live"))
    (folder / "change-an-assumption.html").write_text(
        f'<!doctype html><html lang="en"><title>x</title><link rel="icon" href="data:,">{scripts}{"".join(blocks)}'
    )
    return folder


@pytest.mark.slow
def test_every_value_of_every_knob_gives_in_chromium_what_it_gives_here(page):
    run = """async ([n, settings]) => {
      const form = attestForms[n];
      form.extra = settings;
      await form.run((limit) => form.derive(limit));
      return form.answer ?? { error: form.find("status").textContent };
    }"""
    with browser_check.browser() as running:
        reader = browser_check.Reader(running)
        reader.tab.set_default_timeout(600_000)
        reader.open((page / "change-an-assumption.html").as_uri(), "forms")
        for number, name in enumerate(THEORIES):
            for settings in every_setting(name):
                expected = json.loads(answers.derive(name, json.dumps(settings)))
                assert reader.tab.evaluate(run, [number, settings]) == expected, (name, settings)
        assert reader.problems == []


@pytest.mark.slow
def test_the_check_of_the_book_sees_a_page_that_derives_something_else(page, monkeypatch):
    monkeypatch.setattr(browser_check, "LIVE", (("svr", {"loss": "hinge"}), ("ksvd", {"scores": "e_only"})))
    with browser_check.browser() as running:
        assert browser_check.check_live(running, page) == []
        (page / "_static/live/libraries.js").rename(page / "_static/live/gone.js")
        found = [p for p in browser_check.check_live(running, page) if "another derivation" in p]
        assert any("ksvd" in problem for problem in found)
        (page / "_static/live/gone.js").rename(page / "_static/live/libraries.js")


@pytest.mark.slow
def test_a_derivation_can_be_stopped_and_verdicts_are_judged_afterwards(page):
    with browser_check.browser() as running:
        reader = browser_check.Reader(running)
        tab = reader.tab
        tab.set_default_timeout(600_000)
        number = list(THEORIES).index("ksvd")
        reader.open((page / "change-an-assumption.html").as_uri() + "?theory=ksvd&scores=e_only", "forms")
        tab.locator("form.live").nth(number).locator("[type=submit]").click()
        tab.locator("form.live").nth(number).locator(".live-stop").click()
        tab.wait_for_function(
            "n => document.querySelectorAll('.live-status')[n].innerText === 'Stopped.'", arg=number
        )
        tab.locator("form.live").nth(number).locator(".live-judge").click()
        tab.wait_for_function("n => attestForms[n].answer?.touched !== undefined", arg=number)
        found = {one["id"]: one for one in tab.evaluate("n => attestForms[n].found", number)}
        told = []
        verdicts.judge("ksvd", '{"scores": "e_only"}', lambda said: told.append(json.loads(said)))
        assert found == {one["id"]: one for one in told[1:]} and len(found) > 3
