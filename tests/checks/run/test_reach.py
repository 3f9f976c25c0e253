"""Whatever a definition mentions is part of its text, however it is imported; the rest is not."""

from __future__ import annotations

import ast
import sys
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from checks.claim import CLAIMS, Claim, Options
from checks.run import catalogue, content
from checks.run import reach as reader
from checks.run.content import key, said_under, source
from checks.run.reach import effects, nested, reach
from checks.run.registry import load
from checks.run.verify import assumptions_for

MAIN = """
from package import helpers, whole as everything
from package.helpers import direct as renamed
TABLE = {"a": lambda x: x + 1}
TABLE["b"] = renamed
ITEMS = []
ITEMS.append(helpers.appended)
def factory(width):
    def made():
        return width
    return made
def inside():
    from package.late import late
    import package.dotted as dotted
    return late() + dotted.attribute
def computed(name):
    return getattr(everything, name)
def unused():
    return helpers.other
def leg():
    return TABLE["a"](1) + inside() + computed("x") + helpers.by_attribute() + len(ITEMS) + factory(3)()
"""
OTHERS = {
    "package.helpers": "def direct(x):\n    return DEEP\nDEEP = 1\ndef by_attribute():\n    return 2\n"
    "appended = 3\nother = 4\n",
    "package.late": "LATE = 5\ndef late():\n    return LATE\n",
    "package.dotted": "attribute = 6\nsibling = 7\n",
    "package.whole": "x = 8\n",
}
REACHED = [
    "x + 1",
    "DEEP = 1",
    "return 2",
    "appended = 3",
    "LATE = 5",
    "attribute = 6",
    "x = 8",
    "return width",
]
NOT_REACHED = ["other = 4", "sibling = 7", "def unused"]


def text_of(folder: Path, **edits: str) -> str:
    def edited(text: str) -> str:
        for old, new in edits.items():
            text = text.replace(old.replace("_", " "), new)
        return text

    main = folder / "main.py"
    main.write_text(MAIN)
    modules = []
    for name, text in OTHERS.items():
        path = folder / f"{name}.py"
        path.write_text(edited(text))
        modules.append((name, path))
    line = MAIN.splitlines().index("def leg():") + 1
    return reach(main, line, tuple(modules))


def test_all_that_is_mentioned_counts_and_nothing_else(tmp_path: Path) -> None:
    text = text_of(tmp_path)
    assert all(piece in text for piece in REACHED), [p for p in REACHED if p not in text]
    assert not any(piece in text for piece in NOT_REACHED)


@pytest.mark.parametrize("leg, mentioned", [
    # found by doubling a formula that legs import inside a function, and a statistic in a table of functions
    ("nguyen2023/eq15", "SUM_FORM ="),
    ("nguyen2023/thm1", "SUM_FORM ="),
    ("nguyen2023/prose-linear-bn-sh", "STATISTICS_S ="),
])  # fmt: skip
def test_what_legs_import_inside_themselves_is_in_their_source(leg: str, mentioned: str) -> None:
    load()
    assert any(mentioned in source(f) for f in CLAIMS[leg].legs)


def test_every_leg_of_every_claim_has_a_text() -> None:
    load()
    for claim in CLAIMS.values():
        assert all(len(source(f)) > 50 for f in (*claim.legs, *claim.failing)), claim.id


BY_ANY_MEANS = {
    "a loop": "ROWS = []\nfor n in (1, 2, {n}):\n    ROWS.append(n)\n",
    "a function": "def fill(x, *v):\n    x.extend(v)\nROWS = []\nfill(ROWS, 1, 2, {n})\n",
    "a method by its class": "ROWS = []\nlist.extend(ROWS, (1, 2, {n}))\n",
    "an attribute": "class H:\n    rows = [1, 2]\nH.rows.append({n})\nROWS = H.rows\n",
    "an item": "D = {{'a': []}}\nD['a'].extend((1, 2, {n}))\nROWS = D['a']\n",
    "a condition": "ROWS = []\nif True:\n    ROWS.extend((1, 2, {n}))\n",
    "a decorator": "ROWS = [1, 2]\ndef add(n):\n    def mark(f):\n        ROWS.append(n)\n        return f\n"
    "    return mark\n@add({n})\ndef f():\n    pass\n",
    "setattr": "class H:\n    pass\nsetattr(H, 'rows', [1, 2, {n}])\nROWS = H.rows\n",
    "globals": "globals()['ROWS'] = [1, 2, {n}]\n",
    "a global statement": "def put(n):\n    global ROWS\n    ROWS = [1, 2, n]\nput({n})\n",
    "a file": "import json, pathlib\nROWS = json.loads(pathlib.Path('{file}').read_text())\n",
}


@pytest.mark.parametrize("means", BY_ANY_MEANS)
def test_what_a_name_stands_for_counts_however_it_came_to_it(means: str, tmp_path: Path) -> None:
    keys = []
    for n in (3, 3, 4):
        (tmp_path / "data.json").write_text(f"[1, 2, {n}]")
        module = ModuleType("checks.papers.bridge.made")
        body = BY_ANY_MEANS[means].format(n=n, file=tmp_path / "data.json")
        exec(compile(body + "def lit(a):\n    return sum(ROWS)\n", "made.py", "exec"), vars(module))
        made = Claim("bridge/made", "r", "t", module.lit, "w", module=module.__name__, source="made.py:1")
        keys.append(key(made, None, Options()))
    assert keys[0] == keys[1] != keys[2]


def test_a_leg_counts_with_its_module_and_all_that_acts_in_what_it_reaches(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    texts = {
        "legs": "from .rows import ROWS\nfrom .stars import *\ndef leg():\n    return ROWS, seen\n",
        "rows": "ROWS = []\nOTHER = 1\nfor n in (1, 2):\n    ROWS.append(n)\n",
        "stars": "seen = 7\n",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    modules = tuple((f"package.{name}", package / f"{name}.py") for name in texts)
    found = reach(package / "legs.py", 0, modules)
    assert all(piece in found for piece in ("def leg", "ROWS.append(n)", "seen = 7"))
    assert "OTHER" not in found


def test_a_module_that_is_imported_by_its_written_name_counts(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("def leg():\n    return import_module('other').VALUE\n")
    (tmp_path / "other.py").write_text("VALUE = 3\n")
    assert "VALUE = 3" in reach(tmp_path / "main.py", 1, (("other", tmp_path / "other.py"),))


OUTWARD = [
    "b.K = 2",
    "b.C.k = 2",
    "setattr(E, 'k', 3)",
    "b.K += 1",
    "b.ROWS.append(5)",
    "E.extend([6])",
    "b.TABLE['k'] = 5",
    "E.update(k=7)",
    "fill(E, 2)",
    "for n in (1, 2): E[n] = 8",
    "if X: b.K = 4",
    "class P: b.K = 4",
    "def setup(): b.K = 6",
    "@b.register\ndef registered(): return 1",
    "for m in (b,): m.K = 6",
    "vars(b)['K'] = 6",
    "b.__dict__.update(K=6)",
    "[setattr(b, 'K', n) for n in (1,)]",
    "sys.K = 6",
    "Y = E.register(int, X)",
    "E.register(int)(X)",
    "[E.register(t, X) for t in (int,)]",
]
INWARD = ["X = b.K", "X.append(1)", "f = b.g(E)", "def f(E): E.append(X)", "@dataclass\nclass P: k = b.K"]


@pytest.mark.parametrize("statement", [*OUTWARD, *INWARD])
def test_what_a_module_does_to_others_is_found(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "made.py"
    path.write_text(f"from a import b, E; import sys\nX = []\n{statement}\n")
    assert effects(path, {"a": path, "a.b": path}) == [3] * (statement in OUTWARD)


def test_what_dots_and_a_module_s_own_getattr_lead_to_counts(tmp_path: Path) -> None:
    texts = {
        "main": "import one.two.three\nfrom one import lazy\ndef leg():\n    return one.two.three.f(), lazy.late\n",
        "one": "",
        "one.two": "",
        "one.two.three": "def f():\n    return 7\n",
        "one.lazy": "def __getattr__(name):\n    return 9\n",
    }
    files = {name: tmp_path / f"{name}.py" for name in texts}
    for name, path in files.items():
        path.write_text(texts[name])
    found = reach(files["main"], 3, tuple(files.items()))
    assert "return 7" in found and "return 9" in found


@pytest.mark.parametrize(
    ("how", "far"),
    [
        ("globals()['HE' + 'RE']", False),
        ("eval('HE' + 'RE')", False),
        ("import_module('one.' + 'far').THERE", True),
        ("sys.modules['one.' + 'far'].THERE", True),
        ("HE", None),
    ],
)
def test_what_a_computed_name_may_find_counts(how: str, far: bool | None, tmp_path: Path) -> None:
    main, other = tmp_path / "main.py", tmp_path / "far.py"
    main.write_text(
        f"import sys\nfrom importlib import import_module\nHERE = 7\ndef leg():\n    return {how}\n"
    )
    other.write_text("THERE = 8\n")
    found = reach(main, 4, (("main", main), ("one.far", other)))
    assert ("HERE = 7" in found) is (far is not None)
    assert ("THERE = 8" in found) is (far is True)


def test_a_relative_import_of_a_leg_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package" / "inner"
    package.mkdir(parents=True)
    for folder in (package.parent, package):
        (folder / "__init__.py").write_text("")
    (package / "legs.py").write_text("def leg():\n    from ..helper import VALUE\n    return VALUE\n")
    (package.parent / "helper.py").write_text("VALUE = 3\n")
    files = {
        "package": package.parent / "__init__.py",
        "package.helper": package.parent / "helper.py",
        "package.inner.legs": package / "legs.py",
    }
    monkeypatch.setattr(content, "sources", lambda: files)
    content._imports.cache_clear()
    try:
        assert "package.helper" in content._imports("package.inner.legs")
    finally:
        content._imports.cache_clear()


def test_data_beside_a_module_count_and_formulas_as_printed_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "legs.py").write_text("")
    monkeypatch.setattr(content, "sources", lambda: {"legs": tmp_path / "legs.py"})
    found = []
    for name, text in (("data.json", "1"), ("data.json", "2"), ("printed.toml", "3")):
        (tmp_path / name).write_text(text)
        content._data.cache_clear()
        found.append(content.beside("legs"))
    content._data.cache_clear()
    assert found[0] != found[1] == found[2]


def test_data_that_move_are_other_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "legs.py").write_text("")
    monkeypatch.setattr(content, "sources", lambda: {"legs": tmp_path / "legs.py"})
    for name in ("train", "valid"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.json").write_text(name)
    content._data.cache_clear()
    before = content.beside("legs")
    (tmp_path / "train").rename(tmp_path / "test")
    (tmp_path / "valid").rename(tmp_path / "train")  # the order of the files, and their names, stay
    content._data.cache_clear()
    assert content.beside("legs") != before
    content._data.cache_clear()


def test_data_anywhere_in_the_package_of_an_audit_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mine"
    for folder in ("claims", "data", "records", "book"):
        (package / folder).mkdir(parents=True)
    (package / "claims" / "legs.py").write_text("")
    for module in (content, catalogue):
        monkeypatch.setattr(module, "current", lambda: SimpleNamespace(folder=package, **apart(package)))
    monkeypatch.setattr(content, "sources", lambda: {"legs": package / "claims" / "legs.py"})
    found = []
    for name in (
        "data/heads.json",
        "records/heads.json",
        "records/expected.json",
        "book/heads.csv",
        "book/index.md",
    ):
        (package / name).write_text("1")
        content._data.cache_clear()
        found.append(content.beside("legs"))
    content._data.cache_clear()
    # what a leg may read among records and pages counts, what commands write of verdicts does not
    assert found[0] != found[1] == found[2] != found[3] == found[4]


def test_data_of_a_package_beside_the_audit_s_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, helper = tmp_path / "mine", tmp_path / "helper"
    for folder in (package, helper):
        folder.mkdir()
        (folder / "__init__.py").write_text("import helper\n" * (folder == package))
    files = {"mine": package / "__init__.py", "helper": helper / "__init__.py"}
    for module in (content, catalogue):
        monkeypatch.setattr(module, "current", lambda: SimpleNamespace(folder=package, **apart(package)))
        monkeypatch.setattr(module, "sources", lambda: files)
    found = []
    for text in "12":
        (helper / "data.json").write_text(text)
        for kept in (content._data, content._reached, content._imports):
            kept.cache_clear()
        found.append(content.data("mine"))
        assert catalogue.beside_audit(files) == [helper]
    for kept in (content._data, content._reached, content._imports):
        kept.cache_clear()
    assert found[0] != found[1]


def test_a_class_that_is_found_among_values_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for value in "12":
        (tmp_path / f"found{value}.py").write_text(f"class Found:\n    value = {value}\n")
        spec = spec_from_file_location("found", tmp_path / f"found{value}.py")
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "found", module)
        spec.loader.exec_module(module)
        monkeypatch.setattr(content, "_is_declaration", lambda name: name == "found")
        found.append(content._text([module.Found]))
    assert found[0] != found[1]


def apart(package: Path) -> dict[str, Any]:
    folders = {"records_folder": package / "records", "book_folder": package / "book"}
    return {"package": package.name, "papers": (), **folders}


@pytest.mark.parametrize("changed", range(6))
def test_whatever_a_statement_holds_and_wherever_counts(changed: int) -> None:
    def one() -> int:
        return 1

    def other() -> int:
        return 2

    def held(at: int | None) -> dict[str, Any]:
        return {f"{n}": {"in": {"it": partial(other if n == at else one)}} for n in range(6)}

    assert content._text(held(None)) == content._text(held(None))
    assert content._text(held(changed)) != content._text(held(None))


def test_what_is_said_under_the_same_assumptions_is_the_same_text_each_time() -> None:
    claim = load()["nguyen2023/fig4"]
    assumptions = assumptions_for(claim, {})
    assert len({said_under(claim, assumptions) for _ in range(3)}) == 1


def test_functions_of_compiled_classes_have_a_text_of_their_own() -> None:
    assert source(np.exp) == source(np.exp) != source(np.log)


def test_all_statements_are_found_and_no_expression() -> None:
    text = """
async def f():
    async with a: import b
    for x in y: pass
    else: import c
    try: import d
    except* E: import e
    finally: import g
    while 1:
        match z:
            case 1 if (lambda: 0): from h import i
class A:
    if 0: import j
    elif 1: import k
"""
    tree = ast.parse(text)
    kinds = (ast.Module, ast.stmt, ast.excepthandler, ast.match_case)
    assert set(nested(tree)) == {node for node in ast.walk(tree) if isinstance(node, kinds)}
    assert sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nested(tree)) == 8


def test_what_was_read_of_a_file_is_kept_until_the_file_or_what_is_around_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked = tmp_path / "inner" / "a.py", list[bytes]()
    path.parent.mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def read(_: Path, content: bytes) -> tuple[int, frozenset[str]]:
        asked.append(content)
        return len(asked), frozenset({"x"})

    def found(content: bytes) -> Any:
        return reader.kept(path, content, "tried", read)

    assert found(b"1") == (1, frozenset({"x"})) and found(b"1") == (1, frozenset({"x"}))
    assert found(b"2")[0] == 2  # of the same length, and whenever it was written
    (path.parent / "__init__.py").touch()  # what a relative import means
    assert found(b"2")[0] == 3 and found(b"2")[0] == 3
    (place,) = (path.parent / "__pycache__").iterdir()
    whole = place.read_bytes()
    for damaged in (b"", b"nonsense", whole[:-4], whole.replace(b"x", b"y")):
        place.write_bytes(damaged)
        before = len(asked)
        assert found(b"2")[0] == before + 1 == found(b"2")[0]
    monkeypatch.setattr(reader, "_reader", lambda: b"another reader")
    assert found(b"2")[0] == len(asked) == 8
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert [found(b"3")[0], found(b"3")[0]] == [9, 10]


def test_what_is_around_a_file_counts_however_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path.joinpath(*"abcdef", "a.py")
    path.parent.mkdir(parents=True)
    assert reader.kept(path, b"", "tried", lambda *_: 1) == 1
    (tmp_path / "a" / "__init__.py").touch()  # all below is in this package, by folders without one
    assert reader.kept(path, b"", "tried", lambda *_: 2) == 2


def test_what_cannot_be_kept_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "__pycache__").touch()  # a file, where no part of one can be written or removed
    path, content = tmp_path / "a.py", b"A = 1\n"
    assert reader.kept(path, content, "tried", lambda *_: 1) == 1
    assert reader.kept(path, content, "tried", lambda *_: 2) == 2


@pytest.mark.parametrize("mark", ["\x0c", "\u2028", "\x1c", "\x85", "\v"])
def test_a_statement_is_the_lines_that_python_counts(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(f"# {mark}\nA = '{mark}'\r\nB = 1\n".encode())
    assert [reader.written(path, n) for n in (2, 3)] == [f"A = '{mark}'", "B = 1"]


def test_a_file_says_what_its_bytes_stand_for(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nA = 'é'\n".encode("latin-1"))
    assert reader.written(path, 2) == "A = 'é'"


def test_the_text_behind_a_name_is_the_same_where_it_was_kept(tmp_path: Path) -> None:
    name, path = "checks.run.content", Path(content.__file__)
    lines = [n for n, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("def ")]
    modules = ((name, path), ("checks.run.reach", Path(reader.__file__)))
    first = [reach(path, line, modules) for line in lines]
    reader._parsed.cache_clear()
    assert [reach(path, line, modules) for line in lines] == first and len(set(first)) > 5
