"""An author's package: it comes in as the four papers do, from a distribution that has everything below one
package, and its claims are tests.
"""

from __future__ import annotations

import json
import os
import pydoc
import re
import subprocess
import sys
from importlib import util
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from checks import api
from checks.audit import Audit, Paper, UnknownPackage, cache_folder, current, per_audit, use
from checks.claim import ROOT
from checks.commands import new_paper
from checks.commands.cli import main
from checks.engine.judge import ENGINES, judge
from checks.run import catalogue, registry
from checks.statement import All

_SPEC = util.spec_from_file_location("backend", ROOT / ".ci" / "backend.py")
backend = util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(backend)
CHEAP = ("mine/lem1", "mine/eq1")


def run(place: Path, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command with the relocated distribution instead of this repository."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "PYTEST", "ATTEST"))
    }
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(place), str(folder)]),
        "ATTEST_CACHE": str(place / "cache"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # that of this repository's own distribution
    }
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, text=True, capture_output=True
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What the wheel installs."""
    place = tmp_path_factory.mktemp("installed")
    backend.relocate(ROOT, place)
    return place


@pytest.fixture(scope="module")
def mine(installed, tmp_path_factory):
    """The repository that attest new-paper makes, its cheap claims judged by two workers to be as recorded."""
    folder = tmp_path_factory.mktemp("author") / "mine"
    made = run(installed, "-m", "attention_audit", "new-paper", "mine", folder=folder.parent)
    assert made.returncode == 0, made.stderr
    judged = attest(installed, folder, "verify", *CHEAP, "--workers", "2")
    assert judged.returncode == 0, judged.stderr + judged.stdout
    return folder


def attest(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(installed, "-m", "attention_audit", *words, "--package", "mine", folder=folder)


# ---------------------------------------------------------------- the distribution


def test_all_imports_and_names_of_modules_are_below_one_package(installed) -> None:
    old = re.compile(
        r"""^\s*(?:from|import)\s+(?:derivations|solvers|checks|book)\b|["'](?:checks|book)\.\w+\."""
    )
    lines = [
        f"{path.name}: {line}"
        for path in (installed / "attention_audit").rglob("*.py")
        for line in path.read_text("utf8").splitlines()
        if old.search(line)
    ]
    assert not lines
    said = (installed / "pyproject.toml").read_text("utf8")
    assert 'attest = "attention_audit.checks.commands.start:main"' in said and "backend-path" not in said


@pytest.mark.parametrize(
    "before, after",
    [
        ("from checks.claim import claim", "from attention_audit.checks.claim import claim"),
        ("    import book.site as s", "    import attention_audit.book.site as s"),
        ('x = "checks.claim"', 'x = "attention_audit.checks.claim"'),
        ("y = ('checks.claim:main', 'checks.')", "y = ('attention_audit.checks.claim:main', 'checks.')"),
        ('folder / "checks" / "records"', 'folder / "checks" / "records"'),
        ('"checks.nothing.of.it"', '"checks.nothing.of.it"'),
        ('"""See `checks.claim.claim`."""', '"""See `attention_audit.checks.claim.claim`."""'),
    ],
)
def test_only_imports_and_names_of_modules_are_renamed(before: str, after: str) -> None:
    assert backend.renamed(before, {"checks", "checks.claim", "book", "book.site"}) == after


def test_an_import_that_would_bind_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'import checks\.claim' binds"):
        backend.renamed("import checks.claim\n", {"checks.claim"})


def test_the_public_names_are_there() -> None:
    assert len({*api.__all__}) == len(api.__all__) and all(hasattr(api, name) for name in api.__all__)


@pytest.mark.parametrize(
    "said, allowed",
    [
        (api.loss, ["huber (z, ", "log_sum_exp (vector)", "squared (z): (1/2) z²", "entropy (z): z log z"]),
        (api.apply, ["any letter", "sigmoid", "relu"]),
        (api.Extremum, ["the only global minimum", "bounded below"]),
        (api.Positive, ["[-1, 1]^d", ">= 0"]),
        (api.Fact, ["!="]),
    ],
)
def test_help_lists_what_is_allowed(said: Any, allowed: list[str]) -> None:
    listed = " ".join(said.__doc__.partition("is one of")[2].split())
    assert all(words in listed for words in allowed)


def test_help_shows_all_that_authors_import() -> None:
    said = pydoc.plain(pydoc.render_doc(api))
    assert "class Identity" in said and "QUANTITY" in said


@pytest.mark.parametrize(
    "chosen, first",
    [({"ATTEST_PACKAGE": "checks.examples.linear"}, ""), ({}, "use('checks.examples.linear'); ")],
)
def test_a_package_is_chosen_in_python_as_on_the_command_line(chosen: dict[str, str], first: str) -> None:
    program = f"from checks.api import use, show; {first}print(show('linear/eq6'))"
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **chosen},
        capture_output=True,
        text=True,
    )
    assert found.stdout == "linear/eq6: proved\n", found.stderr


def test_help_names_no_module_that_is_not_installed(installed, tmp_path) -> None:
    program = "import attention_audit as a\nprint(*(getattr(a, name).__doc__ for name in dir(a)))"
    said = run(installed, "-c", program, folder=tmp_path).stdout
    assert "`attention_audit.checks" in said and not re.search(r"`(checks|derivations|solvers|book)\.", said)


def test_the_readme_lists_every_kind_that_authors_import() -> None:
    text = (ROOT / "README.md").read_text("utf8")
    listed = re.findall(
        r"`(\w+)`", text.partition("A statement is an ")[2].partition("What most statements")[0]
    )
    kinds = {kind.__name__ for kind in (*ENGINES, All)} & {*api.__all__}
    assert {*listed} == kinds and len({*listed}) == len(listed)


def test_an_authors_folder_called_checks_is_in_nobodys_way(installed, tmp_path) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "__init__.py").write_text("raise RuntimeError('an author's own')\n")
    found = run(installed, "-m", "attention_audit", "list", "--paper", "bridge", folder=tmp_path)
    assert found.returncode == 0 and "bridge/ksvd-score" in found.stdout, found.stderr


def test_what_authors_import_is_listed_and_can_be_imported(installed, tmp_path) -> None:
    program = (
        "import attention_audit as a\nprint(*dir(a))\nprint(a.log(a.as_term(a.Tensor('x'))) is not None)"
    )
    names, made = run(installed, "-c", program, folder=tmp_path).stdout.splitlines()
    assert names.split() == sorted(api.__all__) and made == "True"


def test_everything_is_imported_by_a_star(installed, tmp_path) -> None:
    program = "from attention_audit import *\nprint(psd.Features.__name__, QUANTITY, Identity.__name__)"
    found = run(installed, "-c", program, folder=tmp_path)
    assert found.stdout.split() == ["Features", "f", "Identity"], found.stderr


@pytest.mark.parametrize(
    "program, words",
    [
        ("from attention_audit import Identiy", "ImportError: attention_audit has no 'Identiy'; did you mean Identity"),
        ("import attention_audit as a; a.sofmax", "AttributeError: attention_audit has no 'sofmax'; did you mean softmax"),
        ("from attention_audit import wxyz", "'wxyz'; dir(attention_audit) lists"),
        ("from attention_audit import checks, book; import attention_audit as a\n"
         "print(hasattr(a, 'Identiy'), file=__import__('sys').stderr)", "False"),
    ],
)  # fmt: skip
def test_a_misspelt_name_is_answered_with_those_like_it(
    installed, tmp_path, program: str, words: str
) -> None:
    assert words in run(installed, "-c", program, folder=tmp_path).stderr


def test_what_a_claim_does_not_have_gets_no_heading(installed, tmp_path) -> None:
    package = ("--package", "attention_audit.checks.examples.hopfield")
    found = run(installed, "-m", "attention_audit", *package, "show", "hopfield/eq2", folder=tmp_path)
    assert found.returncode == 0 and "Statement" in found.stdout and "In the paper" not in found.stdout


def test_the_cache_is_the_users_where_there_is_no_source_tree(installed, tmp_path, monkeypatch) -> None:
    program = "from attention_audit.checks.audit import cache_folder as c\nimport os\n"
    program += "print(c())\nos.environ['ATTEST_CACHE'] = ''\nprint(c())"
    given, users = run(installed, "-c", program, folder=tmp_path).stdout.split()
    assert Path(given) == installed / "cache"
    assert Path(users) == platformdirs.user_cache_path("attest")
    monkeypatch.delenv("ATTEST_CACHE", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)  # not installed
    assert cache_folder() == ROOT / ".attest" / "cache"


@pytest.mark.slow
def test_the_wheel_is_the_relocated_tree(installed, tmp_path) -> None:
    build = "import backend, sys; print(backend.build_wheel(sys.argv[1]))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / ".ci")}
    made = subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, env=environment, text=True,
                          capture_output=True)  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(wheel)], capture_output=True, text=True
    )
    files = {line.split()[0] for line in listed.stdout.splitlines()}
    for path in (installed / "attention_audit").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(installed).as_posix() in files


# ---------------------------------------------------------------- a package


def test_the_new_repository_works_on_its_own_claims_and_records(installed, mine) -> None:
    recorded = json.loads((mine / "mine" / "records" / "expected.json").read_text())
    listed = attest(installed, mine, "list")
    assert set(re.findall(r"^mine/\S+", listed.stdout, re.MULTILINE)) == set(recorded)
    assert "not recorded" not in listed.stdout and "refuted" in listed.stdout
    assert "mine/prose-exchange" in listed.stdout and "nguyen2023" not in listed.stdout
    shown = attest(installed, mine, "show", "mine/lem1")
    assert "source: mine/claims/energy.py:" in shown.stdout
    assert "attest --package mine verify mine/lem1" in shown.stdout


@pytest.mark.parametrize(
    "words, hint",
    [
        (("list", "--grade", "kernel-checked"), "kernel.json: No such file or directory; `attest --package mine prove --all`"),
        (("read", "mine/eq1"), "mine/eq1 was not read in the paper; `attest --package mine read --from FILE`"),
    ],
)  # fmt: skip
def test_what_is_not_recorded_yet_is_said_with_what_records_it(
    installed, mine, words: tuple[str, ...], hint: str
) -> None:
    found = attest(installed, mine, *words)
    assert found.returncode == 2 and hint in found.stderr


def test_verdicts_that_differ_are_recorded_by_a_command_that_is_named(installed, mine) -> None:
    records = mine / "mine" / "records" / "expected.json"
    before = records.read_text()
    records.write_text(json.dumps({"mine/lem1": "refuted: substance"}))
    try:
        found = attest(installed, mine, "verify", "mine/lem1")
    finally:
        records.write_text(before)
    assert found.returncode == 1 and "by `attest --package mine verify --accept`" in found.stdout


def test_what_was_recorded_of_others_weakens_nothing_once_they_are_judged(installed, mine) -> None:
    records = mine / "mine" / "records" / "expected.json"
    before = records.read_text()
    records.write_text(json.dumps({"mine/eq2": "refuted: substance"}))
    try:
        stale = attest(installed, mine, "show", "mine/prose-exchange").stdout
        attest(installed, mine, "verify", "mine/eq2", "mine/prose-exchange")
        shown = attest(installed, mine, "show", "mine/prose-exchange").stdout
    finally:
        records.write_text(before)
    assert "mine/eq2  recorded as refuted" in stale and "Weakened by" in stale
    assert "mine/eq2  judged proved" in shown and "Weakened by" not in shown


@pytest.mark.slow
def test_a_knob_of_the_package_changes_its_derivation_and_its_verdicts(installed, mine) -> None:
    found = attest(installed, mine, "derive", "retrieval", "--set", "pull=none", "--workers", "1")
    assert found.returncode == 0 and re.search(r"mine/eq4 +proved +refuted", found.stdout), found.stderr
    other = attest(installed, mine, "derive", "svr", "--knobs")
    assert other.returncode == 2 and "there are retrieval" in other.stderr


def test_what_the_package_imports_besides_libraries_is_in_the_keys(installed, mine) -> None:
    program = (
        "from attention_audit.checks.audit import use\nuse('mine')\n"
        "from attention_audit.checks.run.catalogue import libraries, sources\n"
        "print(*sources(), '', libraries(), sep='\\n')"
    )
    (mine / "beside.py").write_text("VALUE = 1\n")
    (mine / "mine" / "uses.py").write_text("import json\nimport numpy\nimport beside\nimport xdist\n")
    try:
        found = run(installed, "-c", program, folder=mine)
    finally:
        (mine / "mine" / "uses.py").unlink()
    modules, _, versions = found.stdout.partition("\n\n")
    names = set(modules.splitlines())
    assert f"pytest-xdist {version('pytest-xdist')}" in versions.splitlines(), found.stderr
    assert {"beside", "mine.claims.energy", "attention_audit.checks.claim", "attention_audit"} <= names, (
        found.stderr
    )
    assert not any(name.startswith(("numpy", "sympy")) for name in names)


def test_claims_are_tests_that_fail_shortly_with_what_was_found(installed, mine) -> None:
    records = mine / "mine" / "records" / "expected.json"
    before = records.read_text()
    records.write_text(json.dumps({"mine/eq1": "definition", "mine/lem1": "refuted: substance"}))
    plugin = ("-m", "pytest", "-p", "attention_audit.checks.pytest_plugin", "-p", "no:cacheprovider")
    try:
        found = run(installed, *plugin, "--attest", "mine", "-k", "lem1 or eq1", "tests", folder=mine)
    finally:
        records.write_text(before)
    assert found.returncode == 1 and "1 failed, 1 passed" in found.stdout, found.stdout + found.stderr
    assert "mine/lem1 is proved, recorded is refuted: substance" in found.stdout
    assert "Traceback" not in found.stdout and "runtest" not in found.stdout


@pytest.mark.slow
def test_the_new_repository_passes_as_a_whole(installed, mine) -> None:
    judged = attest(installed, mine, "verify", "--json", "--limit", "300")
    assert judged.returncode == 0, judged.stderr
    found = {r["id"]: r for r in json.loads(judged.stdout)}
    assert {r["verdict"] for r in found.values()} == {"definition", "proved", "corrected", "refuted"}
    assert not [e for r in found.values() for e in r["evidence"] if e["not_run"]]
    assert not [r["id"] for r in found.values() if r["mutants"]["survivors"]]
    plugin = ("-m", "pytest", "-p", "attention_audit.checks.pytest_plugin")
    tested = run(installed, *plugin, folder=mine)
    assert tested.returncode == 0 and "10 passed" in tested.stdout, tested.stdout


# ---------------------------------------------------------------- what is no package


ODD = {
    "odd/__init__.py": "from attention_audit import Audit, Paper\nAUDIT = Audit(__name__, 't', (Paper('p', 'P'),))",
    "odd/p/__init__.py": "",
    "odd/records/expected.json": "{}",
}
LISTED = {
    "odd-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n",
    "odd-1.0.dist-info/entry_points.txt": "[attention_audit]\nodd = odd:AUDIT\n",
}
PULL = (
    "from dataclasses import dataclass\nfrom attention_audit import Knob, Theory\n"
    "@dataclass(frozen=True)\nclass Assumptions:\n    pull: str = 'some'\n"
    "def validate(name, value):\n    if value != 'some':\n        raise ValueError('none such')\n"
    "KNOBS = (Knob('pull', ('some',), 'a pull'),)\n"
    "THEORIES = (Theory('t', Assumptions(), KNOBS, validate, lambda a: []),)\n"
)
TURNED = (
    "from attention_audit import Assumption, claim\n"
    "claim('p/a', 'r', 't', words='w', theory='t', assumes=(Assumption('x', 'x', {}),))\n"
)


@pytest.mark.parametrize(
    "files, words",
    [
        ({}, "no package 'odd' is installed, nor in"),
        ({"odd/notes.txt": ""}, "no package 'odd' is installed, nor in"),
        ({"odd/__init__.py": ""}, "odd has no AUDIT"),
        ({"odd/notes.txt": "", **LISTED}, "odd hides the package of its name: work elsewhere"),
        ({"odd/__init__.py": "AUDIT = (\n", **LISTED}, "was never closed"),
        ({"odd/__init__.py": "", **LISTED}, "odd has no AUDIT"),
        (
            {"odd/__init__.py": "from attention_audit import Audit, Paper\n"
                                "AUDIT = Audit(__name__, 't', (Paper('p', 'P'),))"},
            "there is no folder",
        ),
        ({"odd/__init__.py": "AUDIT = (\n"}, "was never closed"),
        ({"odd/__init__.py": "import nothing_of_this_name\n"}, "odd/__init__.py:1"),
        ({"odd/__init__.py": "raise SystemExit(0)\n"}, "SystemExit: 0"),
        ({**ODD, "odd/p/claims.py": "from attention_audit import claim\nclaim('p/a', 'r', 't', words='\\x1b[31m')\n"},
         "a text holds '\\x1b'"),
        ({**ODD, "odd/p/claims.py": "import sys\nsys.exit(0)\n"}, "odd/p/claims.py:2"),
        ({**ODD, "odd/p/claims.py": "from attention_audit import claim\nclaim('noslash', 'r', 't', words='w')\n"},
         "has the form paper/kind-and-number"),
        ({**ODD, "odd/p/claims.py": "from attention_audit import claim\n"
                                    "claim('p/a', 'r', 't', words='w', legs=5)\n"},
         "p/a: 5 is no tuple"),
        ({**ODD, "odd/p/claims.py": "claim('p/a'\n"}, "odd/p/claims.py:1"),
        ({**ODD, "odd/p/claims.py": "from attention_audit import claim\nclaim('q/a', 'r', 't', words='w')\n"},
         "q/a (odd/p/claims.py:2) is of no paper of this audit: p"),
        ({**ODD, "odd/p/claims.py": "from attention_audit import claim\n"
                                    "claim('p/a', 'r', 't', words='w', theory='none')\n"},
         "p/a: no theory 'none'; there are none"),
        ({**ODD, "odd/theories.py": PULL, "odd/p/claims.py": TURNED.format("'push', 'some'")},
         "p/a: no knob 'push'; there are pull"),
        ({**ODD, "odd/theories.py": PULL, "odd/p/claims.py": TURNED.format("'pull', 'much'")},
         "p/a: pull=much: none such; allowed: some"),
        ({"odd/__init__.py": "from attention_audit import Audit\nAUDIT = Audit(__name__, 't', ('p',))"},
         "are no tuple of Paper"),
        ({"odd/__init__.py": ODD["odd/__init__.py"].replace("'P'", "5")}, "a field that is no text"),
    ],
)  # fmt: skip
def test_what_is_no_audit_is_said_in_one_line(installed, tmp_path, files: dict[str, str], words: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    found = run(installed, "-m", "attention_audit", "--package=odd", "list", folder=tmp_path)
    assert found.returncode == 2 and words in found.stderr and "Traceback" not in found.stderr


def test_a_malformed_statement_is_said_and_not_accepted(installed, tmp_path) -> None:
    claims = (
        "from attention_audit import Definition, Identity, Tensor, as_term, claim\n"
        "x, y = as_term(Tensor('x')), as_term(Tensor('y'))\n"
        "claim('p/good', 'r', 't', words='w', literal=Definition(y, x + 1))\n"
        "claim('p/bad', 'r', 't', words='w', literal=Definition(x, x + 1))\n"
    )
    for name, text in {**ODD, "odd/p/claims.py": claims}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    command = ("-m", "attention_audit", "--package=odd", "verify", "--accept")
    found = run(installed, *command, folder=tmp_path)
    assert found.returncode == 1 and "p/bad: judging stopped with Malformed: x is defined by" in found.stderr
    assert "not accepted, because not judged: p/bad" in found.stderr
    assert json.loads((tmp_path / "odd/records/expected.json").read_text()) == {"p/good": "definition"}
    (tmp_path / "odd/records/expected.json").write_text('{"p/good": "definition", "p/bad": "unsettled"}')
    again = run(installed, *command[:-1], folder=tmp_path)
    assert again.returncode == 1 and "1 differ from the recorded" in again.stdout


@pytest.mark.parametrize("key", ["eq3", '"p/eq2"'])
def test_printed_formulas_of_no_claim_are_said(installed, tmp_path, key: str) -> None:
    claims = "from attention_audit import claim\nclaim('p/eq2', 'r', 't', words='w')\n"
    printed = f"[eq2]\nplace = 'here'\n[{key}]\nplace = 'there'\n"
    for name, text in {**ODD, "odd/p/claims.py": claims, "odd/p/printed.toml": printed}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    for _ in range(2):
        found = run(installed, "-m", "attention_audit", "--package=odd", "list", folder=tmp_path)
        assert found.returncode == 2 and "printed.toml: no claim or paper 'p/" in found.stderr
        assert "did you mean p/eq2" in found.stderr


def test_the_papers_are_an_audit_like_any_other() -> None:
    audit = use()
    assert audit is current() and audit.records_folder == ROOT / "checks" / "records"
    assert audit.book_folder == ROOT / "book" and audit.root == ROOT and audit.command == "attest"
    assert audit.paper("nguyen2023").name == "Nguyen et al. 2023" and audit.paper("x") == Paper("x", "x")
    with pytest.raises(UnknownPackage):
        use("no_such_package")
    assert current() is audit


def test_what_is_kept_for_one_audit_is_not_given_for_another(monkeypatch) -> None:
    asked = []

    @per_audit
    def title() -> str:
        asked.append(current().package)
        return current().title

    ours = title()
    assert title() == ours and len(asked) == 1
    other = Audit("json", "Another", (Paper("p", "P"),))
    monkeypatch.setattr("checks.audit._current", [other])
    assert title() == "Another" and len(asked) == 2


def test_the_lock_of_an_editor_is_no_module(tmp_path, monkeypatch) -> None:
    (tmp_path / "locked" / "p").mkdir(parents=True)
    for name in ("locked/__init__.py", "locked/p/__init__.py", "locked/p/one.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "locked" / "p" / ".#one.py").symlink_to("author@machine.123")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("checks.audit._current", [Audit("locked", "Locked", (Paper("p", "P"),))])
    assert registry.modules() == ["locked.p.one"]
    assert {"locked.p.one"} == {name for name in catalogue.sources() if name.startswith("locked.p.")}


@pytest.mark.parametrize("name", ["My-Paper", "2paper", "class", "a.b", "", "os", "numpy", "tests"])
def test_a_name_that_no_package_can_have_is_refused(name: str, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new-paper", name]) == 2 and "cannot be a package" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_name_of_what_the_new_repository_lacks_is_free(tmp_path) -> None:
    for options in ((), ("--bare",)):
        out = tmp_path / "".join(("x", *options))
        assert main(["new-paper", "bare", *options, "--out", str(out)]) == 0 and (out / "bare").is_dir()


def test_a_folder_with_files_is_left_alone(tmp_path, capsys) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert (
        main(["new-paper", "mine", "--out", str(tmp_path)]) == 2
        and "is not an empty" in capsys.readouterr().err
    )
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_the_template_names_itself_nowhere_else_than_it_is_renamed(tmp_path) -> None:
    assert main(["new-paper", "mine", "--out", str(tmp_path / "x")]) == 0
    texts = {p: p.read_text("utf8") for p in (tmp_path / "x").rglob("*") if p.is_file()}
    assert len(texts) == len(new_paper.files(bare=False))
    assert not [p for p, text in texts.items() if new_paper.NAME in text or new_paper.NAME in p.as_posix()]
    assert (tmp_path / "x" / ".github" / "workflows" / "audit.yml").is_file()


def test_a_bare_repository_names_its_one_claim_nowhere_but_where_verdicts_are(installed, tmp_path) -> None:
    made = run(installed, "-m", "attention_audit", "new-paper", "mine", "--bare", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    folder = tmp_path / "mine"
    judged = attest(installed, folder, "verify", "--workers", "1")
    assert judged.returncode == 0 and "1 definition" in judged.stdout, judged.stdout + judged.stderr
    files = [p for p in folder.rglob("*.*") if p.is_file() and p.suffix != ".pyc"]
    naming = {p.relative_to(folder).as_posix() for p in files if "mine/eq1" in p.read_text("utf8")}
    assert naming == {"README.md", "mine/claims/attention.py", "mine/records/expected.json"}


def test_the_examples_come_with_the_distribution(installed, tmp_path) -> None:
    words = ("-m", "attention_audit", "--package", "attention_audit.checks.examples.hopfield", "verify")
    found = run(installed, *words, "hopfield/gradient", "--workers", "1", folder=tmp_path)
    assert found.returncode == 0 and "1 proved" in found.stdout, found.stdout + found.stderr


def test_the_statements_of_the_readme_are_proved() -> None:
    _, lines = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf8"), re.DOTALL)
    said: dict[str, Any] = {}
    exec(lines.replace("attention_audit", "checks.api"), said)
    assert len(said["statements"]) == 4
    for statement in said["statements"].values():
        assert judge(statement).proved


def test_the_package_of_the_readme_is_short_and_proved(installed, tmp_path) -> None:
    example, _ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf8"), re.DOTALL)
    _, first, second = re.split(r"^# merge/.*\n", example, flags=re.MULTILINE)
    assert len([line for line in example.splitlines() if line.strip()]) <= 22
    (tmp_path / "merge" / "claims").mkdir(parents=True)
    (tmp_path / "merge" / "__init__.py").write_text(first)
    (tmp_path / "merge" / "claims" / "__init__.py").write_text("")
    (tmp_path / "merge" / "claims" / "attention.py").write_text(second)
    words = ("-m", "attention_audit", "--package", "merge", "verify", "--accept", "--workers", "1")
    found = run(installed, *words, folder=tmp_path)
    assert found.returncode == 0 and "1 proved" in found.stdout, found.stdout + found.stderr
    recorded = json.loads((tmp_path / "merge" / "records" / "expected.json").read_text())
    assert recorded == {"merge/eq1": "proved"}
