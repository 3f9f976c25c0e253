"""What the letters of a claim mean, without those that its page never shows: a paper's claims share a
legend.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from derivations.calculus.unicode import unicode_math

_WORDS = re.compile(
    r"\\(?:text|operatorname|mathrm|mathbb)\*?\{[^{}]*\}|\\(?:sum|prod)(?![A-Za-z])"
    r"|\\begin\{array\}\{[^{}]*\}|\\(?:begin|end)\{[^{}]*\}|\\\\\[[^\]]*\]"  # gathered, \\[4pt]
)
_RELATION = re.compile(r"\\(?:in|le|ge|ne|mapsto|to|coloneqq)\b|[=<>:]")
_ARGUMENT = re.compile(r"[_^](?:\{[^{}]*\}|\\[A-Za-z]+|[^\\{])|(?<=[\w}])\([^()]*\)")
_ENDS = {". ", "; "}


def used(legend: str, formulas: Iterable[str], prose: Iterable[str]) -> str:
    """The clauses of a legend, parted by semicolons and full stops, that explain a letter of the formulas or
    of the prose, and those that explain none.
    """
    shown = set().union(*map(_letters, formulas)) | set().union(*map(_lone, prose))
    clauses = [(clause, end, re.findall(r"\$([^$]*)\$", clause)) for clause, end in _clauses(legend)]
    size, kept = -1, [False] * len(clauses)
    while size < len(shown):  # an explanation may have letters of its own
        size = len(shown)
        for n, (_, _, formulas) in enumerate(clauses):
            heads = set().union(*map(_heads, formulas))
            kept[n] = not heads or bool(heads & shown)
            shown |= set().union(*map(_letters, formulas)) if kept[n] else set()
    text, begins = "", False  # a sentence, behind clauses that were left out
    for (clause, end, _), keep in zip(clauses, kept, strict=True):
        if keep:
            text += (clause[:1].upper() + clause[1:] if begins else clause) + end
            begins = False
        elif end == "; ":
            begins |= not text or text.endswith(". ")
        else:
            text, begins = re.sub("; $", ". ", text), False
    return text.removesuffix(" ")


def _clauses(legend: str) -> Iterator[tuple[str, str]]:
    """Each clause with what ends it; nothing ends one inside mathematics or brackets."""
    start = depth = 0
    inside = False
    for at, character in enumerate(legend):
        inside ^= character == "$"
        depth += 0 if inside else {"(": 1, ")": -1}.get(character, 0)
        if not inside and not depth and legend[at : at + 2] in _ENDS:
            yield legend[start:at], legend[at : at + 2]
            start = at + 2
    yield legend[start:], ""


def _heads(formula: str) -> set[str]:
    """The letters that a formula of a legend explains: those before its relation, but for scripts and
    arguments.
    """
    head = _RELATION.split(formula)[0]
    while (shorter := _ARGUMENT.sub("", head)) != head:
        head = shorter
    return _letters(head)


def _letters(formula: str) -> set[str]:
    """The letters of a formula, whatever their style and accents."""
    bare = re.sub(r"\\(?:boldsymbol|mathbf|mathcal|tilde|bar|hat|bm)\b", " ", _WORDS.sub(" ", formula))
    words = re.findall(r"\\[A-Za-z]+|[A-Za-z]", bare)
    return {letter for word in words if len(letter := unicode_math(word)) == 1 and letter.isalpha()}


def _lone(prose: str) -> set[str]:
    """The letters that stand for themselves in words, and all Greek ones; the (a) of a part is none, nor the
    Σ of a sum over an index.
    """
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<!\S)\([a-z]\)|Σ_(?=[a-z{(])", " ", unicode_math(prose)))
    return {c for word in words for c in word if len(word) == 1 or not c.isascii()}
