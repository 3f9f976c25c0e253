"""Wide formulas, so that they break where the page is narrow.

KaTeX breaks a line between the terms of a formula, but not inside brackets that grow with what they hold, nor
inside fractions or environments: each of these is one box.
"""

from __future__ import annotations

import re

WIDE = 40
"""Signs of a formula that a phone shows in one line, about."""
_SIGN = re.compile(r"\\[A-Za-z]+|[^{}_^&\s\\]")
_DELIMITER = r"(?:\\[{}|]|\\[A-Za-z]+|.)"
_FENCE = re.compile(rf"\\(left|right)(?![a-z])\s*({_DELIMITER})")
_BLOCK = re.compile(r"\\(begin|end)\{\w+\}")
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)", re.DOTALL)
_FRACTION = re.compile(r"\\frac\{")
_ENVIRONMENT = re.compile(r"((?:(?!\\begin).)*)\\begin\{(aligned|gathered)\}(.*)\\end\{\2\}", re.DOTALL)
_WORDS = re.compile(r"\\text\{((?:\\.|[^{}$\\]|\$[^$]*\$)*)\}")
_TALL = re.compile(r"\\(?:sum|frac|prod|int)")
_CLOSED = re.compile(r"\\[bB]igg?r\S+$")


def broken(row: str) -> list[str]:
    """A wide formula in lines, each of which can break between its terms."""
    if _signs(row) <= WIDE:
        return [row]
    lines = _ENVIRONMENT.fullmatch(row)
    if lines and lines[1].count(r"\left") == lines[1].count(r"\right") and (inside := rows(lines[3])):
        first, *others = (re.sub(r"(?<!\\)&", " ", line).strip() for line in inside)
        return [part for line in (lines[1] + first, *others) for part in broken(line)]
    return [_opened(row)]


def rows(body: str) -> list[str]:
    """The lines inside an environment; none where its end is not that of the body."""
    found, depth, last = [], 0, 0
    for token in re.finditer(r"\\begin\{|\\end\{|\\[{}]|[{}]|\\\\(?:\[[^\]]*\])?", body):
        # An environment's own braces open and close at once, so that each bracket counts one level.
        depth += {"\\begin{": 2, "\\end{": 0, "{": 1, "}": -1}.get(token[0], 0)
        if depth < 0:  # two environments side by side
            return []
        if token[0].startswith("\\\\") and depth == 0:
            found.append(body[last : token.start()])
            last = token.end()
    return [row.strip() for row in (*found, body[last:]) if row.strip()]


def _opened(row: str) -> str:
    """The formula with its outermost brackets of a fixed size, which let what is inside break."""
    parts: list[str] = []
    at = 0
    while at < len(row):
        bracket = _FENCE.match(row, at)
        if bracket and bracket[1] == "left" and (end := _partner(row, bracket.end(), _FENCE)):
            parts.append(_fixed(row[at:end]))
        elif (fraction := _FRACTION.match(row, at)) and row[closing(row, fraction.end()) :][1:2] == "{":
            above = closing(row, fraction.end())
            end = closing(row, above + 2) + 1
            wide = _signs(row[at:end]) > 2 * WIDE
            over, under = row[fraction.end() : above], row[above + 2 : end - 1]
            parts.append(_quotient(over, under) if wide else row[at:end])
        elif row[at] == "{":
            end = closing(row, at + 1) + 1
            inside, index = row[at + 1 : end - 1], row[end : end + 1]
            # Braces around a pair of brackets alone keep an index in its place; others hold an argument.
            alone = inside.startswith(r"\left") and _partner(inside, len(r"\left"), _FENCE) == len(inside)
            free = not (parts and re.search(r"\\[A-Za-z]+$|[}_^]$", parts[-1]))
            parts.append(_opened(inside) if alone and index in ("_", "^") and free else row[at:end])
        elif row.startswith(r"\begin", at):
            end = _partner(row, at + 1, _BLOCK) or len(row)
            parts.append(row[at:end] + r"\allowbreak ")
        elif words := _WORDS.match(row, at):
            end = words.end()
            parts.append(_spaced(words[1]))
        else:
            token = _TOKEN.match(row, at)
            end = token.end() if token else at + 1
            parts.append(row[at:end])
            after_brackets = parts[-1] == r"\," and len(parts) > 1 and _CLOSED.search(parts[-2])
            if after_brackets or parts[-1] in (",", ";", r"\quad", r"\qquad"):
                parts.append(r"\allowbreak ")
        at = end
    return "".join(parts)


def _spaced(words: str) -> str:
    """Words that can break between them."""
    pieces = re.findall(r"(?:[^\s$]|\$[^$]*\$)+\s*|\s+", words)
    return r"\allowbreak ".join(rf"\text{{{piece}}}" for piece in pieces)


def _quotient(over: str, under: str) -> str:
    """A fraction in one line."""
    return (
        rf"\biggl[ \biggl( {_opened(over)}\biggr) \bigg/ \allowbreak \biggl( {_opened(under)}\biggr)\biggr]"
    )


def _signs(latex: str) -> int:
    return len(_SIGN.findall(latex))


def _fixed(pair: str) -> str:
    """A pair of brackets that grow, as a pair of one size."""
    left, *_, right = _FENCE.finditer(pair)
    inside = pair[left.end() : right.start()]
    size = "Bigg" if r"\begin{" in inside else "bigg" if _TALL.search(inside) else "big"
    first, last = (
        "" if mark[2] == "." else rf"\{size}{side}{mark[2]}" for side, mark in (("l", left), ("r", right))
    )
    return f"{first} {_opened(inside)}{last}"


def _partner(latex: str, start: int, marks: re.Pattern[str]) -> int:
    """Behind the \\right of the \\left before ``start``, or the \\end of a \\begin; 0 where there is none."""
    depth = 1
    for fence in marks.finditer(latex, start):
        depth += 1 if fence[1] in ("left", "begin") else -1
        if depth == 0:
            return fence.end()
    return 0


def closing(latex: str, start: int) -> int:
    """Where the group that is open at ``start`` ends."""
    depth = 1
    for token in re.finditer(r"\\.|[{}]", latex[start:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return start + token.start()
    return len(latex)
