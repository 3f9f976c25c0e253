"""ListOps of the Long Range Arena (Tay et al., 2021): the published grammar, drawn by a seed, and its files.

A tree is a digit with probability 3/4 (and at the greatest depth, 10), else an operator with 2 to 10
subtrees; MIN, MAX, MED (the median, cut to a whole number) and SM (the sum modulo 10) are equally likely.
Kept are trees of more than ``shortest`` and fewer than ``longest`` tokens: 500 and 2,000 in the published
set.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import torch

from checks.experiments.errors import ExperimentError
from checks.experiments.series import Examples

OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
}
DIGITS = tuple("0123456789")
TOKENS = (*OPERATORS, "]", *DIGITS)
"""All tokens; parentheses, which the files have as well, say nothing more."""
DEPTH, ARGUMENTS, BRANCHING = 10, 10, 0.25


class Expression(NamedTuple):
    """Tokens, and the digit that they evaluate to."""

    tokens: list[str]
    value: int


def _tree(depth: int, generator: np.random.Generator) -> Iterator[str]:
    """The tokens of a random tree."""
    if depth == DEPTH or generator.random() > BRANCHING:
        yield DIGITS[generator.integers(10)]
        return
    yield tuple(OPERATORS)[generator.integers(len(OPERATORS))]
    for _ in range(generator.integers(2, ARGUMENTS + 1)):
        yield from _tree(depth + 1, generator)
    yield "]"


def evaluate(tokens: Iterable[str]) -> int:
    """What an expression is worth. Raises ExperimentError where the tokens are no expression."""
    open_: list[tuple[str, list[int]]] = [("", [])]
    for token in tokens:
        if token in OPERATORS:
            open_.append((token, []))
        elif token in DIGITS:
            open_[-1][1].append(int(token))
        elif token == "]" and len(open_) > 1 and open_[-1][1]:
            operator, values = open_.pop()
            open_[-1][1].append(OPERATORS[operator](values))
        else:
            raise ExperimentError(f"no expression: unexpected {token!r}")
    if len(open_) != 1 or len(open_[0][1]) != 1:
        raise ExperimentError("no expression: it does not end, or is several")
    return open_[0][1][0]


def draw(count: int, shortest: int, longest: int, seed: int) -> list[Expression]:
    """Different expressions of more than ``shortest`` and fewer than ``longest`` tokens."""
    generator = np.random.default_rng(seed)
    found: dict[str, Expression] = {}
    while len(found) < count:
        tokens = list(_tree(1, generator))
        if shortest < len(tokens) < longest:
            found.setdefault(" ".join(tokens), Expression(tokens, evaluate(tokens)))
    return list(found.values())


def read(path: Path) -> list[Expression]:
    """The expressions of a file of the published set (basic_train.tsv and so on): a line with the names
    Source and Target, then an expression and its value a line.

    Raises ExperimentError for another format, or a value that the grammar does not give.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if not lines or lines[0] != ["Source", "Target"]:
        raise ExperimentError(f"{path} is no file of ListOps: its first line is not Source, Target")
    found = []
    for number, line in enumerate(lines[1:], 2):
        if len(line) != 2 or line[1] not in DIGITS:
            raise ExperimentError(f"{path}, line {number}: an expression and a digit are needed")
        tokens = [token for token in line[0].split() if token not in ("(", ")")]
        try:
            value = evaluate(tokens)
        except ExperimentError as error:
            raise ExperimentError(f"{path}, line {number}: {error}") from None
        if value != int(line[1]):
            raise ExperimentError(f"{path}, line {number}: its value is {value}, not {line[1]}")
        found.append(Expression(tokens, value))
    if not found:
        raise ExperimentError(f"{path} has no expression")
    return found


def examples(expressions: list[Expression], longest: int) -> Examples:
    """Whole numbers below ``len(TOKENS)``, padded to ``longest``. Raises ExperimentError for longer ones."""
    numbers = {token: n for n, token in enumerate(TOKENS)}
    x = torch.zeros(len(expressions), longest, dtype=torch.long)
    valid = torch.zeros(len(expressions), longest, dtype=torch.bool)
    for k, (tokens, _) in enumerate(expressions):
        if len(tokens) > longest:
            raise ExperimentError(f"an expression has {len(tokens)} tokens, more than {longest}")
        x[k, : len(tokens)] = torch.tensor([numbers[token] for token in tokens])
        valid[k, : len(tokens)] = True
    return Examples(x, valid, torch.tensor([e.value for e in expressions]))


def children(tokens: list[str]) -> list[str]:
    """The root's own arguments: digits, and the operators of subtrees."""
    found, depth = [], 0
    for token in tokens[1:]:
        if depth == 0 and token != "]":
            found.append(token)
        depth += (token in OPERATORS) - (token == "]")
    return found
