"""Ways in which a stored result could be served after what it was computed from has changed."""

from __future__ import annotations

import json
import os
import py_compile
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import sympy as sp

from checks.claim import ROOT
from checks.engine.judge import judge
from checks.kinds.counting import Counted
from checks.run import catalogue, reach
from tests.forked import forked

CLAIMS = """
import pkgutil, runpy
from importlib import import_module as found
from pathlib import Path
from checks.api import Identity, Tensor, as_term, claim
import stale.helpers
from stale.helpers import target
from stale.helpers.registry import FILLED
x = as_term(Tensor("x", ()))
def says(k):
    return Identity(x + x, k * x)
def linked(a):
    from stale.linked.module import K
    return says(K)
def unpacked(a):
    from unpacked.module import k
    return says(k())
for name, said in {
    "data": lambda a: says(int((Path(__file__).parents[1] / "linked" / "k.txt").read_text())),
    "package": linked,
    "unpacked": unpacked,
    "alias": lambda a: says(found("beside_a").K),
    "resolved": lambda a: says(pkgutil.resolve_name("beside_b:K")),
    "run": lambda a: says(runpy.run_module("stale.helpers.ran")["K"]),
    "patched": lambda a: says(target.k()),
    "filled": lambda a: says(FILLED["k"]()),
    "replaced": lambda a: says(target.other()),
    "chained": lambda a: says(stale.helpers.chained.K),
    "formulas": lambda a: says(int((Path(__file__).parent / "printed.toml").read_text()[-2:])),
    "page": lambda a: says(int((Path(__file__).parents[1] / "book" / "k.md").read_text())),
}.items():
    claim(f"stale/{name}", "Eq.", name, words="Twice.", literal=said)
claim("stale/whole", "Eq.", "whole", words="Twice.", literal=lambda a: Identity(x + x, 2 * x))
"""
KEYS = """
import json
from checks.audit import use
from checks.claim import Options
from checks.run.content import key
from checks.run.registry import load
use("stale")
print(json.dumps({id: key(c, None, Options()) for id, c in load().items()}))
"""
CHANGES = {
    "data": "outside/k.txt",
    "package": "outside/module.py",
    "unpacked": "unpacked/k.txt",
    "alias": "beside_a.py",
    "resolved": "beside_b.py",
    "run": "stale/helpers/ran.py",
    "patched": "stale/helpers/patch.py",
    "filled": "stale/helpers/third.py",
    "replaced": "stale/helpers/fill.py",
    "chained": "stale/helpers/chained.py",
    "formulas": "stale/claims/printed.toml",
    "page": "stale/book/k.md",
}
"""What each claim says 2 by."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("author")
    texts = {
        "outside/k.txt": "2",
        "outside/module.py": "K = 2",
        "outside/__init__.py": "",
        "unpacked/k.txt": "2",
        "unpacked/module.py": "from pathlib import Path\n"
        "def k():\n    return int((Path(__file__).parent / 'k.txt').read_text())\n",
        "beside_a.py": "K = 2",
        "beside_b.py": "K = 2",
        "stale/__init__.py": "from checks.api import Audit, Paper\n"
        "AUDIT = Audit(__name__, 'Stale', (Paper('stale', 'A. Author (2026)', folder='claims'),))\n"
        "from stale.helpers import patch\n",
        "stale/helpers/__init__.py": "",
        "stale/helpers/ran.py": "K = 2",
        "stale/helpers/target.py": "def k():\n    return 1\ndef other():\n    return 1\n",
        "stale/helpers/registry.py": "FILLED = {}",
        "stale/helpers/third.py": "K = 2",
        "stale/helpers/chained.py": "K = 2",
        "stale/helpers/fill.py": "from stale.helpers import chained, target\n"
        "from stale.helpers.registry import FILLED\n"
        "from stale.helpers.third import K\n"
        "target.other = lambda: 2\n"
        "def k():\n    return K\n"
        "FILLED['k'] = k\n",
        "stale/claims/two.py": "from stale.helpers import fill",
        "stale/claims/printed.toml": "# 2",
        "stale/book/k.md": "2",
        "stale/helpers/patch.py": "from stale.helpers import target\ntarget.k = lambda: 2\n",
        "stale/claims/__init__.py": "",
        "stale/claims/one.py": CLAIMS,
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "stale" / "linked").symlink_to(folder / "outside")
    return folder


BESIDE = ("", "site-packages", "one", "two", "lib.zip")
"""Where modules are found, in an author's folder."""


def _environment(package: Path) -> dict[str, str]:
    places = ":".join(map(str, (ROOT, *(package / place for place in BESIDE))))
    return {"PYTHONPATH": places, "PATH": "", "ATTEST_CACHE": str(package / "cache")}


def run(package: Path, script: str, *arguments: str, bytecode: bool = False) -> str:
    """What a process prints; it keeps no ``bytecode``, which a change within a second would leave in place."""
    environment = _environment(package) | ({} if bytecode else {"PYTHONDONTWRITEBYTECODE": "1"})
    return forked(script, arguments, package, environment, package.with_suffix(".out"))


def keys(package: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(run(package, KEYS))
    return found


@pytest.fixture(scope="module")
def unchanged(package: Path) -> dict[str, str]:
    """The keys before anything changes; every test puts back what it changes."""
    return keys(package)


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_claim_says_is_in_its_key_however_it_comes_to_it(
    package: Path, unchanged: dict[str, str], name: str
) -> None:
    path = package / CHANGES[name]
    text = path.read_text()
    path.write_text(text.replace("2", "3"))
    after = keys(package)
    path.write_text(text)
    assert unchanged[f"stale/{name}"] != after[f"stale/{name}"]


def test_another_version_of_an_installed_library_that_it_imports_is_another_key(package: Path) -> None:
    libraries = package / "site-packages"
    (libraries / "meter-1.dist-info").mkdir(parents=True)
    (libraries / "meter-1.dist-info" / "top_level.txt").write_text("meter\n")
    (libraries / "meter.py").write_text("")
    (package / "stale" / "helpers" / "metered.py").write_text("import meter\n")

    def at(version: str) -> dict[str, str]:
        said = f"Metadata-Version: 2.1\nName: meter\nVersion: {version}\n"
        (libraries / "meter-1.dist-info" / "METADATA").write_text(said)
        return keys(package)

    one, two = at("1"), at("2")
    assert one == at("1") and not set(one.values()) & set(two.values())


def test_what_is_unchanged_has_the_key_that_it_had(package: Path) -> None:
    before = keys(package)
    (package / "nobody.py").write_text("K = 3")
    assert keys(package) == before


def test_a_key_is_the_same_whatever_the_seed_of_hashes(package: Path) -> None:
    """Forked processes have the seed of their parent, and would agree on an order that is only its own."""
    known = keys(package)
    for seed in "12":
        environment = {**_environment(package), "PYTHONHASHSEED": seed, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", KEYS], cwd=package, text=True, check=True,
                              capture_output=True, env=environment)  # fmt: skip
        assert json.loads(done.stdout) == known


JUDGED = """
import sys
from pathlib import Path
from checks.audit import use
from checks.claim import Options
from checks.run.cache import Cache
from checks.run.catalogue import edited
from checks.run.registry import select
from checks.run.verify import verify
use("stale")
def judged():
    return [r.verdict for r, _ in verify(select(["stale/whole"]), Options(), cache=Cache())]
said = judged()
path = Path("stale/claims/one.py")
text = path.read_text()
path.write_text(text.replace("2 * x)", sys.argv[1]))
said += judged()
path.write_text(text)
print(*said, len(list(Path("cache").glob("*.json"))), bool(edited()))
"""


def test_what_was_imported_is_not_kept_as_what_a_file_says_now(package: Path) -> None:
    """A notebook goes on with the claim that it imported while its author changes the file: kept under the
    file's new text, its verdict would be served of what was never judged.
    """
    assert run(package, JUDGED, "3 * x)") == "proved proved 1 True\n"


def test_what_is_as_it_was_imported_is_kept(package: Path) -> None:
    assert run(package, JUDGED.replace("path.write_text(", "str("), "") == "proved proved 1 False\n"


def test_a_link_to_a_folder_above_is_entered_once(tmp_path: Path) -> None:
    (tmp_path / "k.txt").write_text("2")
    (tmp_path / "round").symlink_to(tmp_path)
    assert list(catalogue.files(tmp_path)) == [tmp_path / "k.txt"]


def test_a_link_to_a_folder_beside_counts_by_its_own_name(tmp_path: Path) -> None:
    """Turned to another folder, it is other data, though both folders are there as they were."""
    for name in ("one", "two"):
        written(tmp_path / name / "k.txt", name)
    (tmp_path / "link").symlink_to("two")
    found = {path.relative_to(tmp_path).parts[0] for path in catalogue.files(tmp_path)}
    assert found == {"one", "two", "link"}


def test_folders_that_link_to_each_other_are_listed_in_time(tmp_path: Path) -> None:
    """Eight of them have 109,600 orders; where each link leads is still seen."""
    for one in range(8):
        written(tmp_path / str(one) / "k.txt", "")
        for two in set(range(8)) - {one}:
            (tmp_path / str(one) / f"to{two}").symlink_to(f"../{two}")
    found = list(catalogue.files(tmp_path))
    assert len(found) == len(set(found)) == 8 + 8 * 7
    (tmp_path / "0" / "to1").unlink()
    assert len(list(catalogue.files(tmp_path))) == len(found) - 1


def test_strings_name_modules_only_where_modules_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("said = 'helper'")
    assert reach.first_names(path) == set()
    path.write_text("from pkgutil import resolve_name as f\nsaid = f('helper.inner:K'), 'no module'")
    assert reach.first_names(path) == {"pkgutil", "helper"}


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def twice(folder: Path, said: str) -> None:
    """A package with one claim, which says that x + x is so many times x."""
    written(
        folder / "stale/__init__.py",
        "from checks.api import Audit, Paper\n"
        "AUDIT = Audit(__name__, 'Stale', (Paper('stale', 'A. Author (2026)', folder='claims'),))\n",
    )
    written(folder / "stale/claims/__init__.py", "")
    written(
        folder / "stale/claims/one.py",
        "from pathlib import Path\n"
        "from checks.api import Identity, Tensor, as_term, claim\n"
        "x, own = as_term(Tensor('x', ())), Path(__file__).parents[1]\n"
        f"def k(a):\n    {said}\n"
        "claim('stale/whole', 'Eq.', 'whole', words='Twice.', literal=lambda a: Identity(x + x, k(a) * x))\n",
    )


def compiled(folder: Path, k: int) -> None:
    text = written(folder / "text.py", f"def k():\n    return {k}\n")
    py_compile.compile(str(text), str(folder / "stale" / "bare.pyc"), doraise=True)


def archived(folder: Path, k: int) -> None:
    with zipfile.ZipFile(folder / "lib.zip", "w") as archive:
        archive.writestr("packed.py", f"def k():\n    return {k}\n")


def apart(folder: Path, k: int) -> None:
    (folder / "one" / "space").mkdir(parents=True, exist_ok=True)
    written(folder / "two" / "space" / "module.py", f"def k():\n    return {k}\n")


def listed(folder: Path, k: int) -> None:
    written(folder / "stale" / "book" / "k.md", str(k))


def recorded(folder: Path, k: int) -> None:
    written(folder / "stale" / "records" / "kernel.json", str(k))


PLACES = {
    "from stale.bare import k as f; return f()": compiled,
    "from packed import k as f; return f()": archived,
    "from space.module import k as f; return f()": apart,
    "return int(next((own / 'book').iterdir()).read_text())": listed,
    "return int((own / 'records' / 'kernel.json').read_text())": recorded,
}
"""What a claim reads where: bytecode alone, an archive, a package in two folders, a page that it does not
name, what commands write.
"""


@pytest.mark.parametrize("said", PLACES, ids=[put.__name__ for put in PLACES.values()])
def test_wherever_it_stands_what_a_claim_reads_is_in_its_key(tmp_path: Path, said: str) -> None:
    put: Callable[[Path, int], None] = PLACES[said]
    twice(tmp_path, said)
    found = []
    for k in (2, 3, 2):
        put(tmp_path, k)
        found.append(keys(tmp_path)["stale/whole"])
    assert found[0] != found[1] and (found[2] == found[0] or put in (compiled, archived))  # which hold a time


def test_legs_beside_the_package_that_a_claim_names_are_in_its_key(tmp_path: Path) -> None:
    twice(tmp_path, "return 2")
    one = tmp_path / "stale" / "claims" / "one.py"
    named = one.read_text().replace("import Identity,", "import Identity, Legs,")
    one.write_text(named.replace("words=", "legs=(Legs('tools.legs').found,), words="))
    written(tmp_path / "tools" / "__init__.py", "")
    found = []
    for k in (2, 3, 2):
        written(tmp_path / "tools" / "legs.py", f"def found(a, o):\n    return [{k}]\n")
        found.append(keys(tmp_path)["stale/whole"])
    assert found[0] == found[2] != found[1]


VERDICT = """
from checks.audit import use
from checks.claim import Options
from checks.run.cache import Cache
from checks.run.registry import select
from checks.run.verify import verify
use("stale")
print(*(r.verdict for r, _ in verify(select([]), Options(), cache=Cache())))
"""


def test_bytecode_of_an_earlier_text_is_not_kept_as_what_the_text_says(tmp_path: Path) -> None:
    """Of a file whose size and second of change are the same Python takes the bytecode that it has."""
    twice(tmp_path, "from stale.helper import k as f; return f()")
    helper, then = tmp_path / "stale" / "helper.py", 1_000_000_000
    for k in (2, 3):
        written(helper, f"def k():\n    return {k}\n")
        os.utime(helper, (then, then))
        run(tmp_path, VERDICT, bytecode=True)
    assert helper.stat().st_mtime == then  # to an editor, and to make, nothing has happened to it
    assert run(tmp_path, VERDICT, bytecode=True) == "refuted\n"


CHANGED = """
import sys
from checks.audit import use
from checks.claim import Options
from checks.run.cache import Cache
from checks.run.registry import select
from checks.run.verify import verify
use("stale")
def judged():
    return [r.verdict for r, _ in verify(select(["stale/whole"]), Options(), cache=Cache())]
said = judged() if sys.argv[1] == "first" else []
from stale import knobs
knobs.K = 3
print(*said, *judged())
"""
COUNTED = """
import sympy as sp
from checks.api import Counted, claim
from stale import knobs
n = sp.Symbol("n", positive=True, integer=True)
def products(size):
    return ((size, knobs.K * size),)
def count(size):
    return 2 * knobs.K * size**2
claim("stale/whole", "Eq.", "whole", words="Twice.", literal=Counted("c", 4 * n**2, (n,), (1,), products, count))
"""


@pytest.mark.parametrize("claims", ["", COUNTED], ids=["a formula", "a count"])
def test_a_value_that_is_changed_from_outside_is_judged_as_it_is(tmp_path: Path, claims: str) -> None:
    """What a process judged before, or another one kept, was of the value before."""
    twice(tmp_path, "return knobs.K")
    written(tmp_path / "stale" / "knobs.py", "K = 2\n")
    one = tmp_path / "stale" / "claims" / "one.py"
    one.write_text(claims or f"from stale import knobs\n{one.read_text()}")
    assert run(tmp_path, CHANGED, "first") == "proved refuted\n"
    assert run(tmp_path, CHANGED, "alone") == "refuted\n"


def test_a_statement_whose_functions_give_something_else_is_judged_again() -> None:
    size, times = sp.Symbol("n", positive=True, integer=True), [2]
    statement = Counted(
        "c", 4 * size**2, (size,), (1,), lambda n: ((n, times[0] * n),), lambda n: 2 * times[0] * n**2
    )
    assert judge(statement).holds is True
    times[0] = 3
    assert judge(statement).holds is False


BOTH = """
from checks.api import Evidence, Identity, Tensor, as_term, claim
from stale import knobs
x = as_term(Tensor("x", ()))
def leg(a, o):
    knobs.K = 3
    return [Evidence("solver", "measured", True, "solved")]
claim("stale/one", "Eq.", "one", words="Twice.", literal=Identity(x + x, 2 * x), legs=(leg,))
claim("stale/two", "Eq.", "two", words="Twice.", literal=lambda a: Identity(x + x, knobs.K * x))
"""
SELECTED = VERDICT.replace("select([])", "select(__import__('sys').argv[1:])")


def test_what_a_leg_changed_for_the_next_claim_is_not_kept_of_it(tmp_path: Path) -> None:
    twice(tmp_path, "return 2")
    written(tmp_path / "stale" / "knobs.py", "K = 2\n")
    written(tmp_path / "stale" / "claims" / "one.py", BOTH)
    assert run(tmp_path, SELECTED, "stale") == "proved refuted\n"
    assert run(tmp_path, SELECTED, "stale/two") == "proved\n"
    assert len(list((tmp_path / "cache").glob("*.json"))) == 2


HELD = """
from dataclasses import dataclass
from functools import partial
import sympy as sp
from checks.api import Counted, Identity, Tensor, as_term, claim
from stale import knobs
n, x = sp.Symbol("n", positive=True, integer=True), as_term(Tensor("x", ()))
def build(k, a):
    return Identity(x + x, k * knobs.K * x)
RULES, WHOLE = {"one": [lambda a: build(1, a)]}, partial(build, 1)
class Build:
    def __call__(self, a):
        return build(1, a)
@dataclass(frozen=True)
class Products:
    times: int
    def __call__(self, size):
        return ((size, self.times * knobs.K * size),)
@dataclass(frozen=True)
class Count:
    times: int
    def __call__(self, size):
        return 2 * self.times * knobs.K * size**2
claim("stale/whole", "Eq.", "whole", words="Twice.", literal=LITERAL)
"""
LITERALS = {
    "partial(build, 1)": "a partial function",
    "lambda a: WHOLE(a)": "a partial function by its name",
    "lambda a: RULES['one'][0](a)": "a function in a table",
    "Build()": "an object that is called",
    'Counted("c", 4 * n**2, (n,), (1,), Products(1), Count(1))': "objects that count",
}


@pytest.mark.parametrize("literal", LITERALS, ids=LITERALS.values())
def test_whatever_calls_them_what_functions_read_is_judged_as_it_is(tmp_path: Path, literal: str) -> None:
    twice(tmp_path, "return 2")
    written(tmp_path / "stale" / "knobs.py", "K = 2\n")
    written(tmp_path / "stale" / "claims" / "one.py", HELD.replace("LITERAL", literal))
    assert run(tmp_path, CHANGED, "first") == "proved refuted\n"
    assert run(tmp_path, CHANGED, "alone") == "refuted\n"


def test_a_quick_record_is_of_what_the_functions_in_its_statement_read(tmp_path: Path) -> None:
    """Its key is made of what the claim says, which is the same text."""
    twice(tmp_path, "return 2")
    written(tmp_path / "stale" / "knobs.py", "K = 2\n")
    written(tmp_path / "stale" / "claims" / "one.py", COUNTED)
    quick = CHANGED.replace("cache=Cache()", "cache=Cache(), quick=True")
    assert run(tmp_path, quick, "first") == "proved refuted\n"
    assert run(tmp_path, quick, "alone") == "refuted\n"
