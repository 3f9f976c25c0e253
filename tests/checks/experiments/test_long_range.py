"""ListOps: grammar, files and rules; digits as sequences of patches."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch

from checks.commands import cli
from checks.experiments import digits, listops, lra
from checks.experiments import experiment as runner
from checks.experiments.errors import ExperimentError
from checks.experiments.registry import EXPERIMENTS
from checks.papers import recorded
from checks.run.registry import load

SMALL = {
    "counted": [60, 30],
    "lengths": [10, 80],
    "short": [10, 40],
    "drawn": [90, 10],
    "width": 8,
    "hidden": 8,
    "epochs": 1,
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTEST_CACHE", str(tmp_path / "cache"))


VALUES = [
    ("[MAX 2 9 [MIN 4 7 ] 0 ]", 9),
    ("[MIN 3 [SM 9 9 9 ] 8 ]", 3),
    ("[MED 1 2 ]", 1),  # 1.5, cut
    ("[MED 7 1 3 ]", 3),
    ("[SM 9 8 [MED 5 6 ] ]", 2),
    ("7", 7),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_expressions_have_the_value_of_the_grammar(text: str, value: int) -> None:
    assert listops.evaluate(text.split()) == value


@pytest.mark.parametrize(
    "text", ["", "[MAX ]", "[MAX 1", "1 ]", "1 2", "[MAX 1 x ]", "]", "[FIRST 1 2 ]", "10"]
)
def test_what_is_no_expression_is_named(text: str) -> None:
    with pytest.raises(ExperimentError, match="no expression"):
        listops.evaluate(text.split())


def test_the_generator_follows_the_published_law() -> None:
    found = listops.draw(30, 20, 120, 0)
    assert found == listops.draw(30, 20, 120, 0) != listops.draw(30, 20, 120, 1)
    assert all(20 < len(e.tokens) < 120 and e.value == listops.evaluate(e.tokens) for e in found)
    assert len({" ".join(e.tokens) for e in found}) == 30
    arguments, depth = [], 0
    for tokens, _ in found:
        arguments.append(len(listops.children(tokens)))
        level = 1
        for token in tokens:
            level += (token in listops.OPERATORS) - (token == "]")
            depth = max(depth, level)
    assert set(arguments) <= set(range(2, 11)) and max(arguments) > 7 and depth <= listops.DEPTH
    trees = [list(listops._tree(1, g)) for g in [listops.np.random.default_rng(3)] for _ in range(1000)]
    assert sum(len(t) == 1 for t in trees) / 1000 == pytest.approx(0.75, abs=4 * (0.1875 / 1000) ** 0.5)


def test_children_are_those_of_the_root() -> None:
    assert listops.children("[MAX 2 [MIN 4 [SM 1 1 ] ] 0 ]".split()) == ["2", "[MIN", "0"]


def published(folder: Path, rows: list[tuple[str, str]], name: str = "basic_train.tsv") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("Source\tTarget\n" + "".join(f"{a}\t{b}\n" for a, b in rows))
    return folder / name


def test_the_published_files_are_read(tmp_path: Path) -> None:
    path = published(tmp_path, [("( ( ( ( [MAX 2 ) ( ( ( [MED 4 ) 7 ) ] ) ) 0 ) ] )", "5")])
    (found,) = listops.read(path)
    assert found.tokens == "[MAX 2 [MED 4 7 ] 0 ]".split() and found.value == 5
    sequences = listops.examples([found], 12)
    assert (
        sequences.valid.sum() == 8
        and sequences.x.max() < len(listops.TOKENS)
        and sequences.labels.tolist() == [5]
    )
    with pytest.raises(ExperimentError, match="8 tokens, more than 7"):
        listops.examples([found], 7)


BAD = [
    ([], "has no expression"),
    ([("[MAX 1 2 ]", "1")], "line 2: its value is 2, not 1"),
    ([("[MAX 1 2 ]", "12")], "an expression and a digit"),
    ([("[MAX 1 2", "2")], "line 2: no expression"),
]


@pytest.mark.parametrize(("rows", "words"), BAD)
def test_an_unusable_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: Any, words: str
) -> None:
    for name in ("basic_train.tsv", "basic_test.tsv"):
        published(tmp_path, rows, name)
    assert cli.main(["experiment", "nguyen2023/listops", "--data", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and words in err


def test_another_format_and_a_missing_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "basic_train.tsv").write_text("a,b\n")
    with pytest.raises(ExperimentError, match="first line is not Source, Target"):
        listops.read(tmp_path / "basic_train.tsv")
    with pytest.raises(ExperimentError, match=r"cannot read .*basic_test\.tsv"):
        lra.given(tmp_path)


def test_rules_use_training_expressions_alone() -> None:
    own = [
        listops.Expression(f"[{op} {a} {b} ]".split(), 0)
        for op in ("MAX", "MIN")
        for a in range(5)
        for b in range(5)
    ]
    own = [e._replace(value=listops.evaluate(e.tokens)) for e in own]
    exact = lra.score(lambda tokens: tuple(tokens), own, own)
    assert exact["right"] == exact["of"] == 50 and exact["high"] == 1 > exact["low"] > 0.9
    assert (
        lra.score(lambda tokens: tokens[0], own, own)["right"] == 18
    )  # 4 is the maximum of nine, 0 the minimum
    unknown = lra.score(
        lambda tokens: tokens[1], own[:5], own
    )  # 0 to 4 after "[MAX 0": the rest gets the usual answer
    assert unknown["right"] == sum(e.value == 0 for e in own)
    assert lra._inner("[MIN 4 [SM 1 1 ] 2 ]".split()) == ("[MIN", 2) and lra._inner("[SM 4 2 ]".split()) == (
        "[SM",
        -1,
    )


def test_what_is_judged_on_is_not_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    own = [listops.Expression(f"[MAX {a} 1 ]".split(), max(a, 1)) for a in range(6)]
    monkeypatch.setattr(
        listops, "draw", lambda count, low, high, seed: own[:4] if seed < lra.HELD_OUT else own[2:]
    )
    train, test = lra.expressions(SMALL, [4, 4], [2, 6], 0)
    assert train == own[:4] and test == own[4:]


def test_listops_runs_at_a_tiny_size_and_from_files(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["nguyen2023/listops"]
    settings = {**experiment.settings(True), **SMALL, "attentions": ["softmax", "SH"]}
    found = runner.run(experiment, settings, 0, False)
    assert [*found["data"]] == ["rules", "ListOps; softmax; seed 0", "ListOps; SH; seed 0"]
    assert len(experiment.summary(found["data"])) == len(lra.RULES) + 2
    for name, seed in (("basic_train.tsv", 1), ("basic_test.tsv", 2)):
        published(
            tmp_path, [(" ".join(e.tokens), str(e.value)) for e in listops.draw(40, 10, 80, seed)], name
        )
    files = {**settings, **experiment.given(tmp_path), "attentions": []}
    again = runner.run(experiment, files, 0, False)
    assert again["data"]["rules"] != found["data"]["rules"] and json.dumps(again)
    published(tmp_path, [("[MAX 1 2 ]", "2")])
    with pytest.raises(ExperimentError, match="changed while"):
        lra.require(files)
    with pytest.raises(ExperimentError, match="no expressions of more than 10"):
        lra.require({**files, **experiment.given(tmp_path)})


def test_printed_accuracies_are_counted_inside_the_intervals() -> None:
    rules = {
        "a": {"right": 36, "of": 100, "low": 0.3, "high": 0.4},
        "b": {"right": 9, "of": 100, "low": 0.05, "high": 0.2},
    }
    said = recorded.against_rules((Fraction("36.5"), Fraction(41)), {"data": {"rules": rules}})
    assert said[0] == "a 36.0 % [30.0, 40.0] of 100" and said[2] == "printed 36.50 to 41.00 %"
    assert said[3].startswith("1 of 2") and said[4].startswith("0 of 2")


def test_what_rules_get_is_no_number_of_a_trained_model() -> None:
    for table in ("chen2023/tab3", "nguyen2023/tab2"):
        for leg in load()[table].legs:
            if isinstance(leg, recorded.Recorded):
                assert [e.dtype for e in leg(None, None)] == [None], table
                break
        else:
            pytest.fail(f"{table} cites no recorded result")


def test_patches_hold_every_pixel_once() -> None:
    images = torch.arange(2 * 16.0).reshape(2, 4, 4)
    found = digits.patches(images, 2)
    assert (
        found.shape == (2, 4, 4)
        and found[0, 1].tolist() == [2, 3, 6, 7]
        and found[1, 2].tolist() == [24, 25, 28, 29]
    )
    assert digits.patches(images, 1).flatten(1).equal(images.flatten(1))


def test_digits_run_at_a_tiny_size() -> None:
    experiment = EXPERIMENTS["nguyen2023/digits"]
    settings = {
        **experiment.settings(False),
        "epochs": 1,
        "seeds": 2,
        "width": 8,
        "hidden": 8,
        "sides": [4],
        "batch": 256,
    }
    found = runner.run(experiment, settings, 0, False)
    assert len(found["data"]) == 6 and len(experiment.summary(found["data"])) == 3
    data = [digits.load(4, seed) for seed in (0, 0, 1)]
    assert data[0].test.x.equal(data[1].test.x) and not data[0].test.x.equal(data[2].test.x)
    assert len(data[0].train.labels) + len(data[0].test.labels) == 1797
