"""Judging many claims: what is cached, what a change reaches, and what a killed or unusable run leaves
behind.
"""

from __future__ import annotations

import decimal
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from checks.claim import ROOT, Assumption, Claim, Options, claim
from checks.evidence import Evidence, Mutants, Record, digest
from checks.kinds.programs import Dual
from checks.run import catalogue, content, ledger, registry
from checks.run import verify as vf
from checks.run.bounded import WorkerEnded
from checks.run.cache import Cache, UnwritableCache, unjudged
from checks.run.content import engine_version, key
from checks.run.ledger import BadLedger
from checks.run.link import link
from checks.run.registry import UnknownClaim, load
from checks.run.store import write_atomically
from checks.run.verify import assumptions_for, verify
from checks.statement import Identity
from derivations.calculus.index import Tensor
from derivations.calculus.program import Program, dualise
from derivations.calculus.term import apply, as_term, exp
from derivations.theories.svr.regression import SvrAssumptions

CLAIMS = load()
CHEAP = ("nguyen2023/eq2", "nguyen2023/eq7", "nguyen2023/rem1", "farooq2025/eq1")
s, t = as_term(Tensor("s")), as_term(Tensor("t"))
QUICK = Options(max_tokens=64)


def made(**changes: Any) -> Claim:
    base = Claim("x/1", "Eq. (1)", "title", lambda a: Identity(s + t, t + s), "words", source="x.py:1")
    return replace(base, **changes)


def test_a_step_that_derivation_and_engine_both_give_is_shown_once() -> None:
    program = Program("P", (Tensor("w"),), as_term(Tensor("w")) ** 2 / 2)
    dual = made(literal=lambda _: Dual(program, ()), derivation=lambda _: dualise(program).steps)
    titles = [step["title"] for step in vf.examine(dual, None, QUICK).steps]
    assert titles and len({*titles}) == len(titles)


def test_surviving_mutants_are_kept_as_they_can_be_read() -> None:
    none = apply("elu1", s) - apply("relu", s) - exp(-apply("relu", -s))  # no rule knows that this is 0
    record = vf.examine(made(literal=Identity(none * s + t, t + none * s)), None, QUICK)
    assert record.mutants.survivors and "\\" not in "".join(record.mutants.survivors)


def test_a_claim_without_a_statement_says_that_it_has_none() -> None:
    record = vf.examine(made(literal=None), None, QUICK)
    assert record.verdict == "unsettled" and "No statement is given" in record.notes
    assert "No statement" not in vf.examine(made(literal=None, role="empirical"), None, QUICK).notes


def test_what_the_legs_of_a_claim_without_a_statement_find_is_recorded() -> None:
    piece = Evidence("tensor", "measured", None, "as recorded")
    bare = made(literal=None, role="empirical", legs=(lambda a, o: [piece],))
    record = vf.examine(bare, None, QUICK)
    assert record.verdict == "empirical" and [e.detail for e in record.evidence] == ["as recorded"]
    assert not vf.examine(bare, None, QUICK, quick=True).evidence


# ---------------------------------------------------------------- the cache


def test_a_second_run_does_no_work_and_gives_equal_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims, cache = [CLAIMS[i] for i in CHEAP], Cache(tmp_path)
    first = list(verify(claims, QUICK, cache=cache, quick=True))
    assert [stored for _, stored in first] == [False] * len(claims)
    monkeypatch.setattr(vf, "examine", lambda *a: pytest.fail("worked although everything is cached"))
    second = list(verify(claims, QUICK, cache=cache, quick=True))
    assert [stored for _, stored in second] == [True] * len(claims)
    assert [r.to_json() for r, _ in second] == [r.to_json() for r, _ in first]


def test_quick_and_full_records_are_kept_apart(tmp_path: Path) -> None:
    one, cache = [CLAIMS["nguyen2023/eq7"]], Cache(tmp_path)
    quick = next(verify(one, QUICK, cache=cache, quick=True))[0]
    full = next(verify(one, QUICK, cache=cache))[0]
    assert quick.mutants.tried == 0 < full.mutants.tried


def test_without_a_cache_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))
    list(verify([CLAIMS["nguyen2023/eq7"]], QUICK, quick=True))
    assert not (tmp_path / "cache").exists()


def test_a_process_that_ends_costs_the_claim_that_ended_it_and_no_other() -> None:
    ids = ["1 + 1", "__import__('os')._exit(0)"]
    with vf._pool(1, apart=True) as pool:
        found = dict(vf._run(ids, eval, lambda id: "ended", pool, 1, lambda _: None))
    assert found == {ids[0]: 2, ids[1]: "ended"}


def test_a_claim_that_keeps_the_end_of_its_time_from_itself_takes_its_process_with_it() -> None:
    lines = (
        "from checks.run import verify as vf",
        "from checks.run.bounded import within",
        "import signal",
        "vf.GRACE = 0.0",
        "with vf._no_longer(0.5), within(0.5):",
        "    signal.signal(signal.SIGALRM, signal.SIG_IGN)",
        "    while True: pass",
    )
    code = f"exec({chr(10).join(lines)!r})"
    with vf._pool(1, apart=True) as pool:
        found = dict(vf._run([code, "1"], eval, lambda id: "ended", pool, 1, lambda _: None))
    assert found == {code: "ended", "1": 1}


def test_a_climbing_leg_that_ends_its_process_is_said_to_have() -> None:
    ends, other = (SimpleNamespace(claim=code, index={}) for code in ("__import__('os')._exit(0)", "1"))
    with vf._pool(1, apart=True) as pool, pytest.raises(WorkerEnded, match=r"a leg of __import__.*cached"):
        list(vf._parts_run(pool, SimpleNamespace(part=eval), [ends, other], {}))


def test_what_workers_print_or_leave_running_is_in_nobodys_way(capfd: pytest.CaptureFixture[str]) -> None:
    thread = "__import__('threading').Thread(target=__import__('time').sleep, args=(60,)).start()"
    started = time.monotonic()
    with vf._pool(1, apart=True) as pool:
        found = dict(vf._run(["print('a word')", thread], eval, str, pool, 1, lambda _: None))
    out, err = capfd.readouterr()
    assert list(found.values()) == [None, None] and not out and err == "a word\n"
    assert time.monotonic() - started < 30


def test_the_record_of_a_claim_that_ended_its_process_is_unsettled_and_not_kept(tmp_path: Path) -> None:
    record, cache = vf._ended("nguyen2023/eq7"), Cache(tmp_path)
    assert record.verdict == "unsettled" and "Its process ended itself" in record.notes
    cache.put("k", record)
    assert cache.get("k") is None
    with pytest.raises(WorkerEnded, match="nguyen2023/eq7"):
        vf._refused("nguyen2023/eq7")


class _Wordless(BaseException):
    def __str__(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), _Wordless()])
def test_what_a_leg_raises_ends_the_leg_alone(error: BaseException) -> None:
    def leg(assumptions: Any, options: Options) -> list[Evidence]:
        raise error

    record = vf.examine(made(legs=(leg,)), None, QUICK)
    (last,) = [e for e in record.evidence if e.not_run]
    assert record.verdict == "proved" and f"stopped with {type(error).__name__}" in str(last.not_run)


def test_what_a_leg_changes_of_its_process_is_put_back(tmp_path: Path) -> None:
    def state() -> list[Any]:
        settings = (decimal.getcontext().prec, np.geterr(), torch.get_default_dtype())
        return [os.getcwd(), dict(os.environ), list(sys.path), *settings, torch.is_grad_enabled()]

    def leg(assumptions: Any, options: Options) -> list[Evidence]:
        os.chdir(tmp_path)
        os.environ["ATTEST_CACHE"] = "elsewhere"
        sys.path.clear()
        decimal.getcontext().prec = 1
        np.seterr(all="raise")
        torch.set_default_dtype(torch.float16)
        torch.set_grad_enabled(False)
        return []

    before = state()
    vf.examine(made(legs=(leg,)), None, QUICK)
    assert state() == before


def test_a_statement_that_ends_the_program_is_unsettled() -> None:
    def literal(assumptions: Any) -> Any:
        raise SystemExit(0)

    record = vf.examine(made(literal=literal), None, QUICK)
    assert record.verdict == "unsettled" and "SystemExit" in record.notes


def test_a_copy_of_the_process_that_a_leg_lets_come_back_ends() -> None:
    reader, writer = os.pipe()

    def leg(assumptions: Any, options: Options) -> list[Evidence]:
        os.fork()
        return []

    here = os.getpid()
    vf.examine(made(legs=(leg,)), None, QUICK)
    if os.getpid() != here:  # shown to the first process, which reads what the copy writes
        os.write(writer, b"it came back")
        os._exit(0)
    os.close(writer)
    assert os.read(reader, 99) == b""


def test_workers_give_the_same_records(tmp_path: Path) -> None:
    claims = [CLAIMS[i] for i in CHEAP]
    alone = {r.id: r for r, _ in verify(claims, QUICK, quick=True)}
    together = {r.id: r for r, _ in verify(claims, QUICK, quick=True, workers=2)}
    assert alone.keys() == together.keys()
    for name in alone:
        assert _timeless(alone[name]) == _timeless(together[name])


def _timeless(record: Record) -> dict[str, Any]:
    data = record.to_json()
    data["seconds"] = 0
    for e in data["evidence"]:
        e["seconds"] = e["peak_bytes"] = 0
    return data


# ---------------------------------------------------------------- keys


def test_what_a_record_depends_on_changes_its_key_and_nothing_else_does() -> None:
    options = Options()
    before = key(made(), None, options)
    assert key(made(), None, options) == before
    assert key(made(literal=lambda a: Identity(t + s, s + t)), None, options) != before
    assert key(made(corrected=lambda a: Identity(s, s)), None, options) != before
    assert key(made(title="another"), None, options) != before
    assert key(made(assumes=(Assumption("a", "words"),)), None, options) != before
    assert key(made(rests_on=("x/2",)), None, options) != before
    assert key(made(id="x/2"), None, options) != before
    assert key(made(), SvrAssumptions(), options) != before
    assert key(made(), None, Options(seed=1)) != before
    assert key(made(source="x.py:99"), None, options) == before  # it moved in its file
    for other in (Options(max_tokens=64), Options(dtype="float32"), Options(device="cuda")):
        assert key(made(), None, other) == before  # no leg reads them
        assert key(made(legs=(_leg,)), None, other) != key(made(legs=(_leg,)), None, options)
        assert key(made(failing=(_leg,)), None, other) != key(made(failing=(_leg,)), None, options)
    assert key(made(failing=(_leg,)), None, options) != before


def _leg(assumptions: Any, options: Options) -> list[Evidence]:
    return []


def test_an_assumption_changes_the_keys_of_its_theory_only() -> None:
    theory = {"svr": SvrAssumptions(loss="least_squares")}
    changed = {
        c.id
        for c in CLAIMS.values()
        if c.paper in ("nguyen2023", "chen2023")
        and key(c, assumptions_for(c, {}), QUICK) != key(c, assumptions_for(c, theory), QUICK)
    }
    assert changed == {c.id for c in CLAIMS.values() if c.paper in ("nguyen2023", "chen2023") and c.theory == "svr"
                       and dict(c.under).get("loss") is None}  # fmt: skip


def test_keys_do_not_depend_on_what_was_derived_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh indices are numbered through a run: neither the order of claims nor another process may
    matter.
    """
    monkeypatch.setattr(content, "engine_version", lambda *modules: "")
    ids = [i for i in CLAIMS if i.startswith("nguyen2023/")][:40]
    forth = {i: key(CLAIMS[i], assumptions_for(CLAIMS[i], {}), QUICK) for i in ids}
    back = {i: key(CLAIMS[i], assumptions_for(CLAIMS[i], {}), QUICK) for i in reversed(ids)}
    assert forth == back
    code = (
        "import json, sys\nfrom checks.claim import Options\nfrom checks.run.registry import load\n"
        "from checks.run import catalogue, content\nfrom checks.run.content import key\nfrom checks.run.verify import "
        "assumptions_for\nc = load()\n"
        "content.engine_version = lambda *modules: ''\n"
        "print(json.dumps({i: key(c[i], assumptions_for(c[i], {}), Options(max_tokens=64)) for i in "
        "sys.argv[1:]}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *ids[::-1]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    other = json.loads(done.stdout)
    assert other == forth


SOURCE = '''
from checks.evidence import Evidence
WIDTH = 3
UNUSED = 4
def helper(n):
    return n + WIDTH
def bystander():
    return 0
def leg(assumptions, options):
    return [Evidence("exact", "measured", helper(1) > 0)]
'''  # fmt: skip


def module_of(folder: Path, source: str) -> ModuleType:
    path = folder / f"m{abs(hash(source))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("checks.papers.nguyen2023.made_up", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("old, new, matters", [
    ("n + WIDTH", "n - WIDTH", True),
    ("WIDTH = 3", "WIDTH = 5", True),
    ("> 0", "> 1", True),
    ("return 0", "return 1", False),
    ("UNUSED = 4", "UNUSED = 5", False),
])  # fmt: skip
def test_a_leg_depends_on_the_helpers_and_constants_that_it_reaches(
    tmp_path: Path, old: str, new: str, matters: bool
) -> None:
    try:
        keys = [key(made(legs=(module_of(tmp_path, text).leg,)), None, QUICK)
                for text in (SOURCE, SOURCE.replace(old, new))]  # fmt: skip
    finally:
        sys.modules.pop("checks.papers.nguyen2023.made_up", None)
    assert (keys[0] != keys[1]) is matters


READS = """
import functools, json
from dataclasses import dataclass, field
from pathlib import Path
from checks.evidence import Evidence
K = json.loads(Path({file!r}).read_text())
{body}
def leg(assumptions, options):
    return [Evidence("exact", "measured", two() > 0)]
"""


@pytest.mark.parametrize("body", [
    "def two(): return K",
    "def two(k=K): return k",
    "def two(*, k=K): return k",
    "two = (lambda k: lambda: k)(K)",
    "two = functools.wraps(len)((lambda k: lambda: k)(K))",
    "two = functools.lru_cache(lambda k=K: k)",
    "two = functools.partial(abs, K)",
    "class Const:\n    k = K\ndef two(): return Const.k",
    "class Const:\n    def k(self): return K\ndef two(): return Const().k()",
    "class Const:\n    @property\n    def k(self): return K\nconst = Const()\ndef two(): return const.k",
    "@dataclass\nclass Const:\n    k: int = field(repr=False)\nconst = Const(K)\ndef two(): return const.k",
    "class Const:\n    __slots__ = ('k',)\nconst = Const()\nconst.k = K\ndef two(): return const.k",
])  # fmt: skip
def test_values_that_were_read_when_a_module_was_imported_count(tmp_path: Path, body: str) -> None:
    file, keys = tmp_path / "k.json", []
    text = READS.format(file=str(file), body=body)
    try:
        for k in ("2", "3", "2"):
            file.write_text(k)
            keys.append(key(made(legs=(module_of(tmp_path, text).leg,)), None, QUICK))
    finally:
        sys.modules.pop("checks.papers.nguyen2023.made_up", None)
    assert keys[0] == keys[2] != keys[1]


def test_a_claim_that_rests_on_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    known = load()["nguyen2023/eq2"]
    monkeypatch.setitem(registry.CLAIMS, known.id, replace(known, rests_on=("nguyen2023/eq3999",)))
    with pytest.raises(UnknownClaim, match="nguyen2023/eq2 rests on nguyen2023/eq3999"):
        load()


@pytest.mark.parametrize("ring", [("nguyen2023/eq2",), ("nguyen2023/eq2", "nguyen2023/eq8")])
def test_claims_that_rest_on_themselves_are_refused(monkeypatch: pytest.MonkeyPatch, ring) -> None:
    known = load()
    for id, other in zip(ring, (*ring[1:], ring[0]), strict=True):
        monkeypatch.setitem(registry.CLAIMS, id, replace(known[id], rests_on=(other,)))
    with pytest.raises(UnknownClaim, match="in a circle: nguyen2023/eq"):
        load()


def test_a_leg_that_makes_a_dataclass_has_a_source(tmp_path: Path) -> None:
    text = "from dataclasses import dataclass\n@dataclass\nclass Size:\n    width: int = 3\n"
    text += "def leg(assumptions, options):\n    return [repr(Size())]\n"
    try:
        keys = [
            key(made(legs=(module_of(tmp_path, t).leg,)), None, QUICK) for t in (text, text.replace("3", "4"))
        ]
    finally:
        sys.modules.pop("checks.papers.nguyen2023.made_up", None)
    assert keys[0] != keys[1]


def test_an_engine_counts_for_all_claims_and_any_other_module_for_those_that_import_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "copy"
    for folder in ("derivations", "solvers", "checks"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(catalogue, "ROOT", root)
    theorem = ("checks.papers.nguyen2023.theorem1", "checks.papers.nguyen2023.legs.rows")
    modules = (theorem, ("checks.papers.nguyen2023.tables",), ("a_user's",))

    def versions() -> list[str]:
        for cached in (catalogue.sources, content._imports, engine_version):
            cached.cache_clear()
        return [engine_version(*names) for names in modules]

    try:
        before = versions()
        for edited, changed in (
            ("checks/engine/judge.py", [True, True, True]),
            ("checks/kinds/order.py", [True, True, True]),
            ("checks/tensors/core/stream.py", [True, False, False]),  # through the legs, two imports away
            ("derivations/theories/svr/regression.py", [True, False, False]),
            ("derivations/theories/energy/shape.py", [False, False, False]),
            (
                "checks/papers/nguyen2023/theorem1.py",
                [False, False, False],
            ),  # counts function by function instead
            ("checks/commands/cli.py", [False, False, False]),
        ):
            path = root / edited
            path.write_text(path.read_text() + "\n# edited\n")
            after = versions()
            assert [b != a for b, a in zip(before, after, strict=True)] == changed, edited
            before = after
    finally:
        monkeypatch.undo()
        versions()


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "3", "{}", '{"evidence": [1], "mutants": {}}', "\x00"]
)
def test_a_damaged_entry_is_named_set_aside_and_judged_again(tmp_path: Path, text: str) -> None:
    cache = Cache(tmp_path)
    (tmp_path / "k.json").write_text(text)
    assert cache.get("k") is None
    assert cache.set_aside[0].startswith("k.json (") and not (tmp_path / "k.json").exists()
    assert (tmp_path / "k.damaged").read_text() == text


OPEN = {"title": "t", "latex": "x", "reason": "r"}


@pytest.mark.parametrize(
    "change",
    [
        {"title": 7}, {"steps": 7}, {"rests_on": "x"}, {"notes": None}, {"steps": [3]}, {"steps": [OPEN]}, {"seconds": "x"},
        {"steps": [OPEN | {"passed": 1}]}, {"steps": [OPEN | {"passed": True, "latex": 3}]}, {"statement": 3}, {"rests_on": [[]]},
        {"statement": {"latex": None}}, {"severity": 3}, {"severity": "awful"}, {"counterexample": 3}, {"seconds": 10**400},
        {"mutants": {"killed": "x"}}, {"mutants": {"survivors": [3]}}, {"assumed": [{}]}, {"failures": [{"latex": "x"}]},
        {"corrected": {"latex": "x"}}, {"evidence": [{"leg": "exact", "grade": "sampled", "passed": True, "dtype": 3}]},
        {"evidence": [{"leg": "exact", "grade": "sampled", "passed": True, "detail": 3}]},
        {"evidence": [{"leg": "exact", "grade": "sampled", "passed": True, "error": "x"}]},
    ],
)  # fmt: skip
def test_a_record_of_another_shape_is_not_believed(tmp_path: Path, change: dict[str, Any]) -> None:
    data = vf.examine(made(), None, QUICK, quick=True).to_json()
    for record in (data, data | change):
        stored = json.dumps({"digest": digest("k", record), "record": record})
        (tmp_path / "k.json").write_text(stored)
        assert (Cache(tmp_path).get("k") is not None) is (record is data)


def test_what_nests_too_deeply_to_be_written_has_no_digest() -> None:
    data: list[Any] = []
    for _ in range(sys.getrecursionlimit()):
        data = [data]
    with pytest.raises(ValueError, match="nested too deeply"):
        digest("k", data)


def test_an_entry_cut_off_anywhere_is_not_believed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("k", vf.examine(made(), None, QUICK))
    whole = (tmp_path / "k.json").read_bytes()
    assert cache.get("k") is not None
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        (tmp_path / "k.json").write_bytes(whole[:cut])
        assert cache.get("k") is None


@pytest.mark.parametrize("old, new", [
    ('"verdict": "proved"', '"verdict": "refuted"'),
    ('"verdict": "proved"', '"verdict": "true"'),
    ('"passed": true', '"passed": false'),
    ('"evidence": [', '"evidence": [], "more": ['),
    ('"id": "x/1"', '"id": "x/2"'),
])  # fmt: skip
def test_an_entry_that_was_changed_by_hand_is_not_believed(tmp_path: Path, old: str, new: str) -> None:
    cache = Cache(tmp_path)
    cache.put("k", vf.examine(made(), None, QUICK))
    text = (tmp_path / "k.json").read_text()
    assert old in text
    (tmp_path / "k.json").write_text(text.replace(old, new, 1))
    assert cache.get("k") is None and len(cache.set_aside) == 1


def test_a_record_of_another_claim_is_not_served(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("k", vf.examine(made(), None, QUICK))
    assert cache.get("k", "x/1") is not None
    assert cache.get("k", "x/2") is None and "the record of 'x/1'" in cache.set_aside[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"verdict": "refuted"}, {"verdict": "corrected"}, {"literal_holds": False}, {"literal_holds": None}, {"evidence": []},
        {"correction": "x"}, {"verdict": "unsettled"}, {"verdict": "true"}, {"evidence": {}},
    ],
)  # fmt: skip
def test_a_verdict_that_does_not_follow_from_its_evidence_is_not_believed(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    cache = Cache(tmp_path)
    cache.put("k", vf.examine(made(), None, QUICK))
    record = json.loads((tmp_path / "k.json").read_text())["record"] | changed
    (tmp_path / "k.json").write_text(json.dumps({"digest": digest("k", record), "record": record}))
    assert cache.get("k") is None and "does not follow" in cache.set_aside[0]


def test_a_proof_with_a_failed_leg_is_not_believed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("k", vf.examine(made(), None, QUICK))
    record = json.loads((tmp_path / "k.json").read_text())["record"]
    record["evidence"] += [record["evidence"][0] | {"passed": False}]
    (tmp_path / "k.json").write_text(json.dumps({"digest": digest("k", record), "record": record}))
    assert cache.get("k") is None


def test_another_claims_record_is_not_served(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("one", vf.examine(made(), None, QUICK))
    shutil.copy(tmp_path / "one.json", tmp_path / "two.json")
    assert cache.get("one") is not None and cache.get("two") is None


def test_a_record_with_a_leg_that_stopped_is_tried_again(tmp_path: Path) -> None:
    def broken(assumptions: Any, options: Options) -> list[Evidence]:
        raise MemoryError("not enough")

    cache = Cache(tmp_path)
    cache.put("k", vf.examine(made(legs=(broken,)), None, QUICK))
    assert cache.get("k") is None and not cache.set_aside


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableCache, match="cannot write to the cache"):
        Cache(tmp_path / "file").put("k", vf.examine(made(), None, QUICK))


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "file.json"
    write_atomically(path, "one")
    assert path.read_text() == "one"

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "two")
    monkeypatch.undo()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "folder", "three")
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.rglob("*.part")] == []


@pytest.mark.parametrize("wait", [0.05, 0.4, 1.2])
def test_a_killed_run_leaves_whole_entries_and_no_ledger(tmp_path: Path, wait: float) -> None:
    """kill -9 in the middle: what is cached can be read, the next run uses it, no export is half-written."""
    environment = {**os.environ, "ATTEST_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    code = (
        "import sys\nfrom pathlib import Path\nfrom checks.run import ledger\nfrom checks.claim import "
        "Options\n"
        "from checks.run.registry import load\nfrom checks.run.verify import Cache, verify\n"
        "claims = [c for c in load().values() if c.id in sys.argv[2:]]\nprint('judging', flush=True)\n"
        "records = [r for r, _ in verify(claims, Options(max_tokens=64), cache=Cache(), quick=True)]\n"
        "ledger.write(Path(sys.argv[1]), records)"
    )
    ids = [i for i in CLAIMS if i.startswith("nguyen2023/eq")][:24]
    out = tmp_path / "ledger.json"
    run = subprocess.Popen([sys.executable, "-c", code, str(out), *ids], cwd=ROOT, env=environment,
                           stdout=subprocess.PIPE)  # fmt: skip
    assert run.stdout is not None and run.stdout.readline()
    time.sleep(wait)
    run.send_signal(signal.SIGKILL)
    run.wait()
    if out.exists():
        assert len(ledger.read(out)) == len(ids)
    cache = Cache(tmp_path / "cache")
    entries = sorted(cache.folder.glob("*.json")) if cache.folder.exists() else []
    for entry in entries:
        assert cache.get(entry.stem) is not None
    again = list(verify([CLAIMS[i] for i in ids[:2]], Options(max_tokens=64), cache=cache, quick=True))
    assert all(record.verdict != "inconsistent" for record, _ in again)


# ---------------------------------------------------------------- ledger


def test_an_export_can_be_read_back(tmp_path: Path) -> None:
    records = [vf.examine(CLAIMS[i], assumptions_for(CLAIMS[i], {}), QUICK, quick=True) for i in CHEAP]
    ledger.write(tmp_path / "ledger.json", records)
    assert ledger.read(tmp_path / "ledger.json") == records
    fields = json.loads((tmp_path / "ledger.json").read_text())[0].keys()
    assert {"id", "paper", "reference", "title", "kind", "verdict", "literal_holds", "assumptions", "rests_on",
            "severity", "correction", "counterexample", "evidence", "mutants"} <= set(fields)  # fmt: skip


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', "[[]]"])
def test_a_damaged_ledger_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.json"
    with pytest.raises(BadLedger, match="cannot read"):
        ledger.read(path)
    path.write_text(text)
    with pytest.raises(BadLedger, match=r"ledger\.json"):
        ledger.read(path)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "[]",
        '{"a": "nonsense"}',
        '{"a": []}',
        "{",
        "[" * 99_999,
        '{"a/b": "proved", "a/b": "refuted"}',
    ],
)
def test_damaged_expected_verdicts_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setattr(ledger, "table", lambda: tmp_path / "expected.json")
    if text is not None:
        ledger.table().write_text(text)
    with pytest.raises(BadLedger, match=r"expected\.json"):
        ledger.expected()


def test_accepting_changes_only_the_judged_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "table", lambda: tmp_path / "expected.json")
    record = vf.examine(made(), None, QUICK)
    every = ("x/1", "a/eq9", "a/eq10")
    ledger.accept([record], every)
    ledger.accept([replace(record, id="a/eq10", verdict="refuted"), replace(record, id="a/eq9")], every)
    assert list(ledger.expected().items()) == [("a/eq9", "proved"), ("a/eq10", "refuted"), ("x/1", "proved")]
    ledger.accept([], every[:2])
    assert list(ledger.expected()) == ["a/eq9", "x/1"], "a claim that is gone has no verdict"


def record(id: str, verdict: str, *rests_on: str) -> Record:
    return Record(id, "x", "", "", "", verdict, None, [], list(rests_on), None, None, None, [], Mutants())


def test_weakness_is_inherited_through_others() -> None:
    linked = link([record("a", "refuted"), record("b", "proved", "a"), record("c", "proved", "b"), record("d", "proved"),
                   record("e", "corrected", "e")])  # fmt: skip
    assert [r.weakened_by for r in linked] == [[], ["a"], ["a"], [], []]


def test_what_differs_in_a_formula_and_not_in_its_display_is_in_the_key() -> None:
    plain, promised = (as_term(Tensor("x", (), positive=p)) for p in (False, True))
    assert repr(plain) == repr(promised) and content._text(Identity(plain, plain)) != content._text(
        Identity(promised, promised)
    )


def test_what_weakens_a_claim_is_known_when_it_is_judged_alone() -> None:
    weakened = next(i for i in CLAIMS if any(p in CLAIMS for p in CLAIMS[i].rests_on))
    (parent, *_) = CLAIMS[weakened].rests_on
    record = vf.examine(CLAIMS[weakened], assumptions_for(CLAIMS[weakened], {}), QUICK, quick=True)
    assert parent in link([record], {parent: "refuted"})[0].weakened_by
    assert not link([record], {parent: "proved"})[0].weakened_by
    assert not link([record])[0].weakened_by


def test_declarations_out_of_range_are_refused() -> None:
    for id, more in (
        ("nguyen2023/eq1", {}),
        ("noslash", {}),
        ("x/3", {"role": "fun"}),
        ("x/4", {"assumes": (Assumption("bias", "b is learned", "bias", "on"),)}),
    ):
        with pytest.raises(ValueError):
            claim(id, "", "", words="", **more)
        assert id == "nguyen2023/eq1" or id not in CLAIMS


class _Maker:
    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __call__(self, assumptions: Any) -> Any:
        return Identity(s + s, self.factor * s)

    def literal(self, assumptions: Any) -> Any:
        return Identity(s + s, self.factor * s)


def _by_keyword(factor: int) -> Any:
    def literal(assumptions: Any, *, factor: int = factor) -> Any:
        return Identity(s + s, factor * s)

    return literal


def _by_closure(holder: Any) -> Any:
    return lambda assumptions: Identity(s + s, holder.factor * s)


@pytest.mark.parametrize(
    "make",
    [
        _Maker,
        lambda k: _Maker(k).literal,
        _by_keyword,
        lambda k: _by_closure(_Maker(k)),
        lambda k: _by_closure(_Maker(np.array([2] * 1500 + [k] + [2] * 1499))),
        lambda k: partial(_Maker.literal, _Maker(k)),
    ],
    ids=["object", "method", "keyword", "closure", "array", "partial"],
)
def test_what_a_statement_is_made_with_counts(make: Any) -> None:
    assert content.source(make(2)) != content.source(make(3))
    assert content.source(make(2)) == content.source(make(2))


def test_the_statement_that_declares_a_claim_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what no function of it mentions, and for a claim from elsewhere the modules beside its own."""
    (tmp_path / "mine.py").write_text("")
    module = ModuleType("mine")
    module.__file__ = str(tmp_path / "mine.py")
    monkeypatch.setitem(sys.modules, "mine", module)
    claim = replace(made(), source="mine.py:1", module="mine")
    before = key(claim, None, QUICK)
    (tmp_path / "helper.py").write_text("RHS = 2")
    assert key(claim, None, QUICK) != before


def test_under_the_defaults_a_change_is_compared_with_the_record_that_is_there(tmp_path) -> None:
    one, cache = [CLAIMS["nguyen2023/eq36"]], Cache(tmp_path)
    settings = {"svr": SvrAssumptions(loss="least_squares")}
    list(verify(one, Options(max_tokens=64), cache=cache))
    ((_, found),) = vf.changes(one, settings, Options(max_tokens=64), cache=cache)
    whole = key(one[0], assumptions_for(one[0], {}), Options(max_tokens=64))
    assert next(iter(found)) == whole
    ((_, anew),) = vf.changes(one, settings, Options(max_tokens=64))
    assert whole not in anew
    assert [r.verdict for r in found.values()] == [r.verdict for r in anew.values()]


def test_what_a_claim_says_is_derived_once_and_again_where_what_is_kept_was_changed(
    tmp_path, monkeypatch
) -> None:
    one, cache = [CLAIMS["nguyen2023/eq8"]], Cache(tmp_path)
    settings, derived, said_under = {"svr": SvrAssumptions(loss="least_squares")}, [], vf.said_under
    monkeypatch.setattr(vf, "said_under", lambda *a: derived.append(a) or said_under(*a))

    def found() -> list[str]:
        ((_, records),) = vf.changes(one, settings, Options(max_tokens=64), cache=cache)
        return [r.verdict for r in records.values()]

    first = found()
    assert len(derived) == 2 and found() == first and len(derived) == 2
    kept = sorted((tmp_path / "said").iterdir())
    said = [json.loads(path.read_text())["said"] for path in kept]
    kept[0].write_text(kept[0].read_text().replace(*said))  # as if nothing had changed
    assert len(kept) == 2 and found() == first and len(derived) == 3
    kept[0].write_text(kept[1].read_text())  # that of another key
    assert found() == first and len(derived) == 4


def test_what_an_error_keeps_a_claim_from_saying_is_asked_again(tmp_path: Path) -> None:
    """Kept under two assumptions, the words of one error say that they make no difference."""
    enough = tmp_path / "enough"

    def literal(assumptions: SvrAssumptions) -> Identity:
        if not enough.exists():
            raise MemoryError
        return Identity(s, as_term(Tensor(assumptions.loss)))

    claim = replace(CLAIMS["nguyen2023/eq8"], literal=literal, corrected=None, derivation=None)
    work = vf._Work({}, Options(), True, vf.Parts(), None, Cache(tmp_path / "cache"))
    under = [SvrAssumptions(), SvrAssumptions(loss="least_squares")]
    assert len({work.said(claim, a) for a in under}) == 1
    enough.touch()
    assert len({work.said(claim, a) for a in under}) == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_claims_that_a_change_touches_share_their_time(tmp_path: Path, workers: int) -> None:
    ids = ["nguyen2023/eq8", "nguyen2023/eq7"]
    settings = {"svr": SvrAssumptions(loss="least_squares")}
    claims, options = [CLAIMS[id] for id in ids], Options(max_tokens=64)
    found = dict(vf.changes(claims, settings, options, cache=Cache(tmp_path), workers=workers, total=0.0))
    assert set(found) == set(ids)
    for before, after in (records.values() for records in found.values()):
        assert before.verdict == ledger.expected()[before.id] and unjudged(after)
        assert vf.why(after) == "It was ended after 0 seconds for all claims."
    if workers == 1:  # nothing of what was ended is kept, in whichever process
        again = dict(vf.changes(claims, settings, options, cache=Cache(tmp_path), total=60.0))
        assert not any(unjudged(r) for records in again.values() for r in records.values())
    short = dict(vf.changes(claims, settings, options, workers=workers, limit=0.001, total=60.0))
    ended = {vf.why([*records.values()][-1]) for records in short.values()}
    assert ended == {"It was ended after 0.001 seconds."}
