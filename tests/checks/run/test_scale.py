"""The one command for all tensor checks: what it needs, what it writes, and how it ends."""

import json
import os
import subprocess
import sys
from types import ModuleType

import pytest

from checks.claim import Claim, Options
from checks.evidence import Evidence
from checks.leg import climbing
from checks.run import scale
from checks.run.lengths import require_memory
from checks.tensors.core.errors import TensorError

state = ModuleType("state")  # of a module that is no declaration: what a leg reads of others is in its key
state.calls, state.found = [], {}


@climbing(linear=True)
def tensor_leg(n, assumptions, options):
    state.calls.append((options.dtype, n))
    answer = state.found.get((options.dtype, n), True)
    if isinstance(answer, BaseException):
        raise answer
    return Evidence(
        "tensor",
        "certified-float",
        answer is True,
        "",
        error=1.0,
        bound=2.0,
        tokens=n,
        dtype=options.dtype,
        device="cpu",
        not_rejected=answer if isinstance(answer, tuple) else (),
    )


def solver_leg(assumptions, options):
    raise AssertionError("only legs with lengths are run")


@pytest.fixture
def one_claim(monkeypatch):
    state.calls.clear()
    state.found.clear()
    claims = [Claim(f"p/eq{i}", "Eq.", "One", None, "", legs=(tensor_leg, solver_leg)) for i in (1, 2)]
    monkeypatch.setattr(scale, "select", lambda ids: claims)


def run(tmp_path, *options):
    file = tmp_path / "scale.json"
    status = scale.main(["--out", str(file), "--no-rates", "--max-tokens", "4096", *options])
    return status, json.loads(file.read_text()) if file.exists() else None


def test_every_type_and_length_is_in_the_file_with_what_it_ran_on(tmp_path, one_claim):
    status, data = run(tmp_path)
    assert status == 0 and data["status"] == "done"
    assert [(r["dtype"], r["tokens"]) for r in data["rows"]] == [
        (t, n) for t in ("float64", "bfloat16", "float32") for n in (1024, 4096)
    ]
    assert {"torch", "numpy", "scipy", "sympy", "python", "name", "threads", "commit"} <= data.keys()
    assert data["tf32"] is False and data["device"] == "cpu"
    row = data["rows"][0]
    assert row["claims"] == ["p/eq1", "p/eq2"] and row["peak_bytes"] > 1e6 and row["seconds"] >= 0
    assert row["evidence"][0]["error"] == 1.0 and row["evidence"][0]["bound"] == 2.0


@pytest.mark.parametrize("option", [("--max-tokens", "0"), ("--max-tokens", "63"), ("--timeout", "inf")])
def test_lengths_and_times_that_cannot_be_are_refused(tmp_path, one_claim, option, capsys):
    with pytest.raises(SystemExit) as ended:
        scale.main(["--out", str(tmp_path / "scale.json"), *option])
    assert ended.value.code == 2 and "--max-tokens is at least 64" in capsys.readouterr().err
    assert not (tmp_path / "scale.json").exists()


def test_claims_without_lengths_are_said_to_have_none(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scale, "select", lambda ids: [Claim("p/eq1", "", "", None, "", legs=(solver_leg,))])
    assert scale.main(["--out", str(tmp_path / "scale.json"), "--no-rates", "--max-tokens", "1024"]) == 2
    assert "none of these claims has a check with lengths" in capsys.readouterr().err


def test_a_check_that_is_in_float64_whatever_is_asked_is_not_given_as_another_type(tmp_path, monkeypatch):
    @climbing()
    def float64_leg(n, assumptions, options):
        return Evidence(
            "tensor", "certified-float", True, "", error=1.0, bound=2.0, tokens=n, dtype="float64"
        )

    monkeypatch.setattr(scale, "select", lambda ids: [Claim("p/eq1", "", "", None, "", legs=(float64_leg,))])
    _, data = run(tmp_path)
    assert [(r["dtype"], r["tokens"]) for r in data["rows"]] == [("float64", 1024), ("float64", 4096)]


def test_a_second_run_goes_on_behind_what_is_finished(tmp_path, one_claim):
    state.found["float32", 4096] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        scale.main(["--out", str(tmp_path / "scale.json"), "--no-rates", "--max-tokens", "4096"])
    assert json.loads((tmp_path / "scale.json").read_text())["status"] == "incomplete"
    state.found.clear()
    state.calls.clear()
    assert run(tmp_path)[0] == 0
    assert state.calls == [("float32", 4096), ("bfloat16", 1024), ("bfloat16", 4096)]


def test_a_longer_run_keeps_the_shorter_one_and_reaches_linear_lengths(tmp_path, one_claim, monkeypatch):
    monkeypatch.setattr(scale, "require_memory", lambda *_: None)
    run(tmp_path, "--dtypes", "float64")
    state.calls.clear()
    _, data = run(tmp_path, "--dtypes", "float64", "--max-tokens", "131072")
    assert [n for _, n in state.calls] == [32768, 131072, 1048576] and len(data["rows"]) == 5


@pytest.mark.parametrize("answer", [False, ValueError("no digit left"), ImportError("no digit left")])
def test_a_check_that_fails_or_raises_is_in_the_file_and_the_exit_status(tmp_path, one_claim, answer, capsys):
    state.found["float32", 1024] = answer
    status, data = run(tmp_path)
    assert status == 1 and "FAILED test_scale.tensor_leg float32 1024 tokens" in capsys.readouterr().err
    (row,) = [r for r in data["rows"] if r["dtype"] == "float32" and r["tokens"] == 1024]
    assert row["raised"] == (None if answer is False else f"{type(answer).__name__}: no digit left")


@pytest.mark.parametrize(("dtype", "status"), [("float64", 1), ("float32", 0), ("bfloat16", 0)])
def test_a_bound_that_a_wrong_version_keeps_as_well_fails_in_float64_alone(
    tmp_path, one_claim, dtype, status, capsys
):
    state.found[dtype, 4096] = ("mean", "rank")
    assert run(tmp_path)[0] == status
    word = "FAILED" if status else "TOO WIDE"
    said = f"{word} test_scale.tensor_leg {dtype} 4096 tokens: wrong versions pass as well: mean, rank\n"
    assert said in capsys.readouterr().err


def test_a_device_that_is_not_there_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(scale.torch.cuda, "device_count", lambda: 0)
    assert run(tmp_path, "--device", "cuda") == (2, None)
    assert (
        capsys.readouterr().err == "attest: device cuda is not available: this machine has 0 CUDA devices\n"
    )


def test_rows_that_were_changed_by_hand_are_not_gone_on_with(tmp_path, one_claim, capsys):
    _, data = run(tmp_path)
    data["rows"][0]["seconds"] = 1e-9
    file = tmp_path / "scale.json"
    file.write_text(json.dumps(data))
    assert scale.main(["--out", str(file), "--no-rates", "--max-tokens", "4096"]) == 2
    assert "changed since it was written" in capsys.readouterr().err and json.loads(file.read_text()) == data


@pytest.mark.parametrize("content", ["not json", "[1]", '{"rows": [{"leg": 1}]}'])
def test_a_file_of_something_else_is_left_alone(tmp_path, one_claim, content, capsys):
    (tmp_path / "scale.json").write_text(content)
    assert scale.main(["--out", str(tmp_path / "scale.json")]) == 2
    assert (tmp_path / "scale.json").read_text() == content and capsys.readouterr().err.count("\n") == 1


def test_a_file_that_cannot_be_written_is_one_line(tmp_path, one_claim, capsys):
    (tmp_path / "file").write_text("")
    assert scale.main(["--out", str(tmp_path / "file" / "scale.json"), "--max-tokens", "1024"]) == 2
    assert "cannot be written" in capsys.readouterr().err.splitlines()[-1]


def test_an_unknown_claim_is_one_line(tmp_path, capsys):
    assert (
        scale.main(["nguyen2023/eq9999", "--out", str(tmp_path / "scale.json"), "--max-tokens", "1024"]) == 2
    )
    assert "no claim or paper" in capsys.readouterr().err


@climbing()
def other_leg(n, assumptions, options):
    return Evidence(
        "tensor", "certified-float", True, "", error=1.0, bound=2.0, tokens=n, dtype=options.dtype
    )


def test_single_legs_are_run_and_an_unknown_one_is_one_line(tmp_path, monkeypatch, capsys):
    claims = [Claim("p/eq1", "", "", None, "", legs=(tensor_leg, other_leg))]
    monkeypatch.setattr(scale, "select", lambda ids: claims)
    _, data = run(tmp_path, "--dtypes", "float64", "--legs", "test_scale.other_leg")
    assert [(r["leg"], r["tokens"]) for r in data["rows"]] == [
        ("test_scale.other_leg", n) for n in (1024, 4096)
    ]
    capsys.readouterr()
    assert run(tmp_path, "--legs", "other_leg")[0] == 2
    known = "test_scale.other_leg, test_scale.tensor_leg"
    assert capsys.readouterr().err == f"attest: no leg other_leg has lengths; these have: {known}\n"


def test_lengths_that_do_not_fit_are_refused_before_anything_runs(tmp_path, one_claim, capsys):
    assert run(tmp_path, "--max-tokens", str(2**40)) == (2, None) and state.calls == []
    assert "GiB are available; use a smaller --max-tokens" in capsys.readouterr().err


def test_memory_grows_with_the_length():
    require_memory(4096, None, 2**30)
    with pytest.raises(TensorError, match="131072 tokens need about"):
        require_memory(131072, None, 2**30)


BLOCKED = """
import sys
for name in ("cvxpy", "clarabel", "sklearn", "flint", "rich", "matplotlib", "transformers"):
    sys.modules[name] = None  # importing it is an error, as on a GPU machine
from checks.run.scale import main
sys.exit(main(sys.argv[1:]))
"""


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def scale_process(program, tmp_path, *options):
    file = tmp_path / "scale.json"
    done = subprocess.run(
        [sys.executable, *program, "--out", str(file), "--no-rates", *options],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
    )
    return done, json.loads(file.read_text()) if file.exists() else {"rows": []}


@pytest.mark.parametrize(
    "options",
    [
        ("--max-tokens", "256", "--dtypes", "float64"),
        pytest.param(("--max-tokens", "1024"), marks=pytest.mark.slow),
    ],
)
def test_all_legs_run_with_torch_numpy_scipy_and_sympy_alone(tmp_path, options):
    done, data = scale_process(["-c", BLOCKED], tmp_path, *options)
    assert done.returncode == 0, done.stderr
    assert len({r["leg"] for r in data["rows"]}) > 80 and not any(r["raised"] for r in data["rows"])


def by_torchrun(tmp_path, *options):
    program = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "checks.run.scale",
    ]
    return scale_process(program, tmp_path, *options)


def same_in_two_processes(tmp_path, *claims):
    options = (*claims, "--max-tokens", "1024", "--dtypes", "float64")
    done, two = by_torchrun(tmp_path, *options)
    assert done.returncode == 0, done.stderr
    (tmp_path / "one").mkdir()
    _, one = scale_process(["-m", "checks.run.scale"], tmp_path / "one", *options)
    assert [r["ranks"] for r in two["rows"]] == [2] * len(two["rows"]) and len(two["rows"]) == len(
        one["rows"]
    )
    for there, here in zip(two["rows"], one["rows"], strict=True):
        assert there["leg"] == here["leg"]
        for a, b in zip(there["evidence"], here["evidence"], strict=True):
            assert (a["passed"], a["error"], a["bound"]) == (b["passed"], b["error"], b["bound"]), there[
                "leg"
            ]


@pytest.mark.slow
def test_two_processes_give_the_evidence_of_one(tmp_path):
    same_in_two_processes(tmp_path, "nguyen2023", "bridge")


@pytest.mark.slow
def test_streamed_checks_give_the_same_in_two_processes(tmp_path):
    same_in_two_processes(tmp_path, "nguyen2023/eq1", "nguyen2023/prose-converse")


LOST = """
import os, sys
from checks.run import scale
from checks.claim import Claim
from checks.leg import climbing
from checks.evidence import Evidence
from checks.tensors.core import stream
from checks.tensors.core.inputs import make_instance

@climbing()
def first(n, assumptions, options):
    return Evidence("tensor", "certified-float", True, "rejected", error=1.0, bound=2.0, tokens=n, dtype="float64")

@climbing()
def second(n, assumptions, options):
    if os.environ["RANK"] == "1":
        os._exit(13)
    stream.attention(*make_instance(n, 8))
    return []

claims = [Claim("p/eq1", "", "", None, "", legs=(first,)), Claim("p/eq2", "", "", None, "", legs=(second,))]
scale.select = lambda ids: claims
sys.exit(scale.main(sys.argv[1:]))
"""


def test_a_lost_process_ends_the_run_with_one_line_and_keeps_what_is_finished(tmp_path):
    (tmp_path / "lost.py").write_text(LOST)
    program = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(tmp_path / "lost.py"),
    ]
    done, data = scale_process(program, tmp_path, "--max-tokens", "1024", "--dtypes", "float64")
    assert done.returncode != 0
    ours = [line for line in done.stderr.splitlines() if line.startswith("attest:")]
    assert len(ours) == 1, done.stderr
    assert "lost in p/eq2 at 1024 tokens, 1 finished checks are in" in ours[0]
    assert data["status"] == "incomplete" and [r["claims"] for r in data["rows"]] == [["p/eq1"]]


def test_every_leg_has_a_name_of_its_own():
    found, users = scale.climbing_legs([], Options())
    legs = {scale.leg_name(climb): climb.leg for climb in found}
    assert all(legs[scale.leg_name(climb)] == climb.leg for climb in found)
    assert len(users["chen2023.legs.tensors.zero_objective"]) > 1  # made by a function, named by its module
