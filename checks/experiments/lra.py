"""ListOps of the Long Range Arena: what simple rules get, and attentions trained on its shortest expressions.

nguyen2023 (Table 2) and chen2023 (Table 3) print accuracies about 37 %. The rules say what such a number is
worth: each predicts the most frequent answer among training expressions that agree in one feature.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from checks.experiments import classifier, listops, uea
from checks.experiments.errors import ExperimentError
from checks.experiments.experiment import Experiment, Part, Watch, digest
from checks.experiments.listops import Expression
from checks.experiments.series import Data
from checks.papers import recorded

Settings = dict[str, Any]
HELD_OUT = 10**6  # seeds of expressions that are judged on are apart from those of training


def _inner(tokens: list[str]) -> tuple[str, int]:
    """The root's operator and, of the digits among its own arguments, what it makes of them (-1: none)."""
    own = [int(token) for token in listops.children(tokens) if token in listops.DIGITS]
    return tokens[0], listops.OPERATORS[tokens[0]](own) if own and tokens[0] != "[SM" else -1


RULES: dict[str, Callable[[list[str]], Any]] = {
    "the most frequent answer": lambda tokens: None,
    "by the first token": lambda tokens: tokens[0],
    "by the first token and the number of its arguments": lambda tokens: (
        tokens[0],
        len(listops.children(tokens)),
    ),
    "by the first token and the digits among its arguments": _inner,
}


def score(
    rule: Callable[[list[str]], Any], train: list[Expression], test: list[Expression]
) -> dict[str, Any]:
    """How often the most frequent answer to training expressions with the same feature is right, with its
    95 % interval (Wilson's).
    """
    seen: dict[Any, Counter[int]] = defaultdict(Counter)
    for tokens, value in train:
        seen[rule(tokens)][value] += 1
    usual = Counter(e.value for e in train).most_common(1)[0][0]
    best = {feature: counts.most_common(1)[0][0] for feature, counts in seen.items()}
    right = sum(best.get(rule(tokens), usual) == value for tokens, value in test)
    interval = binomtest(right, len(test)).proportion_ci(0.95, method="wilson")
    return {"right": right, "of": len(test), "low": float(interval.low), "high": float(interval.high)}


def expressions(
    settings: Settings, counts: list[int], lengths: list[int], seed: int
) -> tuple[list[Expression], list[Expression]]:
    """So many expressions to train on and to judge on, of more than the first and fewer than the second
    length; none is in both. They are drawn, or those of the files that were given.

    Raises ExperimentError for unusable files and where none has such a length.
    """
    low, high = lengths
    if "data" in settings:
        found = [listops.read(path) for path in _files(Path(settings["data"]))]
        train, test = ([e for e in own if low < len(e.tokens) < high] for own in found)
    else:
        train, test = (listops.draw(n, low, high, seed + k * HELD_OUT) for k, n in enumerate(counts))
    train = train[: counts[0]]
    known = {" ".join(e.tokens) for e in train}
    test = [e for e in test if " ".join(e.tokens) not in known][: counts[1]]
    if not train or not test:
        raise ExperimentError(f"no expressions of more than {low} and fewer than {high} tokens to use")
    return train, test


def _files(folder: Path) -> tuple[Path, Path]:
    return folder / "basic_train.tsv", folder / "basic_test.tsv"


def given(path: Path) -> Settings:
    """Settings for the published files in a folder. Raises ExperimentError."""
    return {"data": str(path), "digest": {file.name: digest(file) for file in _files(path)}}


def require(settings: Settings) -> None:
    """Raises ExperimentError where given files are unusable or changed, or lengths do not fit memory."""
    if "data" in settings:
        if given(Path(settings["data"]))["digest"] != settings["digest"]:
            raise ExperimentError(f"{settings['data']} changed while the experiment ran; run it again")
        expressions(settings, settings["counted"], settings["lengths"], 0)
    if settings["attentions"]:
        classifier.require_fit(settings, "ListOps", settings["short"][1])


def rules(settings: Settings, seed: int, watch: Watch) -> dict[str, Any]:
    """All rules on expressions of the published lengths."""
    train, test = expressions(settings, settings["counted"], settings["lengths"], seed)
    watch.step()
    return {name: score(rule, train, test) for name, rule in RULES.items()}


def _data(settings: Settings, seed: int) -> Data:
    """The short expressions as sequences of whole numbers."""
    both = expressions(settings, settings["drawn"], settings["short"], seed)
    train, test = (listops.examples(own, settings["short"][1]) for own in both)
    return Data(train, test, listops.DIGITS, "")


def trained(settings: Settings, attention: str, seed: int, watch: Watch) -> dict[str, Any]:
    """One attention on short expressions from one seed."""
    data = _data(settings, seed)
    of = classifier.Layer(settings, data.train.x.shape[1])
    return classifier.fit(attention, of, data, settings, seed, watch, len(listops.TOKENS))


def parts(settings: Settings, seed: int) -> list[Part]:
    """The rules, and every attention from every seed."""
    tokens = sum(settings["drawn"]) * settings["short"][1]
    return [
        Part("rules", 1, partial(rules, settings, seed), float(sum(settings["counted"]))),
        *(
            Part(
                f"ListOps; {attention}; seed {k}",
                settings["epochs"],
                partial(trained, settings, attention, seed + k),
                settings["epochs"] * tokens / 100,
            )
            for k in range(settings["seeds"])
            for attention in settings["attentions"]
        ),
    ]


def summary(data: dict[str, Any]) -> list[str]:
    """Lines for the command."""
    own = {name: part for name, part in data.items() if name != "rules"}
    return [*recorded.rules(data["rules"]), *recorded.lines(own)]


EXPERIMENT = Experiment(
    "nguyen2023/listops",
    "ListOps: what simple rules get, and what attentions learn at 500 tokens",
    {
        **{name: value for name, value in uea.FULL.items() if name != "sets"},
        "attentions": ["softmax", "BN (26)", "SH", "BN+SH (51)"],
        "lengths": [500, 2000],
        "counted": [20_000, 5000],
        "short": [500, 600],
        "drawn": [2000, 500],
        "width": 64,
        "hidden": 128,
        "heads": 2,
        "scales": [1, 2],
        "batch": 32,
        "epochs": 15,
        "patience": 5,
        "seeds": 1,
    },
    {"counted": [3000, 1500], "attentions": []},
    "3,000 and 1,500 expressions for the rules in place of 20,000 and 5,000; no attention is trained",
    parts,
    summary,
    reads="the folder of the published files (basic_train.tsv and basic_test.tsv) in place of drawn ones",
    given=given,
    require=require,
)
