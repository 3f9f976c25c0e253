"""How tightly a printed name holds together, whether it is a name at all, and what else it reads as.

An author says how a symbol is printed. A name that holds together, such as \\boldsymbol{x}_{i}(d) or d_v,
stands beside other symbols as it is; 2N, a/b or A+B need parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache

_GROUPS = {"{": "}", "(": ")", "[": "]", r"\langle": r"\rangle", r"\left": r"\right"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_SPACES = frozenset({
    *(r"\,", r"\;", r"\:", r"\!", r"\ ", "~", r"\quad", r"\qquad", r"\textstyle", r"\displaystyle"),
    *(r"\big", r"\Big", r"\bigl", r"\bigr", r"\Bigl", r"\Bigr"),
})  # fmt: skip
"""What does not tell two names apart: spaces and sizes."""
_OVER = frozenset(
    rf"\{accent}"
    for accent in (
        *("tilde", "widetilde", "hat", "widehat", "bar", "overline", "vec", "dot", "ddot", "check"),
        *("boldsymbol", "mathbf", "mathrm", "mathcal", "mathbb", "operatorname", "text"),
    )
)
_RELATIONS = frozenset(
    rf"\{name}"
    for name in (
        *("pm", "mp", "cdot", "times", "div", "circ", "odot", "otimes", "oplus", "ast", "star", "cup", "cap"),
        *("le", "ge", "leq", "geq", "ne", "neq", "approx", "equiv", "in", "to", "mid", "sum", "prod", "int"),
        *("ln", "log", "exp", "sin", "cos", "tan", "sqrt", "max", "min", "lim", "partial", "nabla", "sim"),
    )
)


def is_atom(latex: str) -> bool:
    """Whether a name is one symbol: a letter, a word or a command, with subscripts, superscripts, primes and
    arguments in parentheses.
    """
    kinds = _kinds(latex)
    return bool(re.fullmatch(r"(o*(w|g)|a(?=[_^]))([_^](w|n|g|o+(w|g))|'|a)*", kinds))


def is_product(latex: str) -> bool:
    """Whether it is several symbols or numbers side by side."""
    return bool(re.fullmatch(r"[owgfn_^'as]+", _kinds(latex)))


def is_function_name(latex: str) -> bool:
    """Whether it names a function: one symbol without arguments or primes."""
    return bool(re.fullmatch(r"o*(w|g)([_^](w|n|g|o+(w|g)))*", _kinds(latex)))


def is_number(latex: str) -> bool:
    """Whether it is written with digits and signs alone, as 3, 1/2 or \\sqrt{2}, or as nothing that can be
    seen.
    """
    signs = re.sub(r"\\(sqrt|[tdc]?frac|cdot|times|left|right|quad|qquad|[^A-Za-z])", "", latex)
    return not re.search("[A-Za-z]", signs)


_GREEK = frozenset(
    "\\" + name
    for name in """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa varkappa lambda mu nu
    xi pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda
    Xi Pi Sigma Upsilon Phi Psi Omega ell hbar imath jmath aleph
    """.split()
)
_LETTERS = _GREEK | frozenset(
    "\\" + name
    for name in """
    Re Im infty emptyset top bot dagger
    prime ldots dots cdots colon perp tanh cosh sinh tr det dim rank arg argmax argmin softmax diag frac
    tfrac dfrac langle rangle lVert rVert Vert vert lfloor rfloor lceil rceil left right breve underline
    mathit mathsf mathtt mathfrak mathscr mathnormal textrm parallel wedge vee setminus subset supset
    leftarrow rightarrow mapsto
    """.split()
)


def spelled(name: str) -> str:
    """The LaTeX of a plain name: of a Greek letter's, with or without a subscript, the letter."""
    letter, low, subscript = name.partition("_")
    if rf"\{letter}" not in _GREEK:
        return name
    return rf"\{letter}_{{{subscript}}}" if low else rf"\{letter}"


_EMPTY = re.compile(r"\\[A-Za-z]+\s*\{\s*\}")
_EITHER_WAY = re.compile(r"%\d\s*(?:[+*]|\\(?:cdot|times|wedge|vee))\s*%\d")


def is_seen(latex: str) -> bool:
    """Whether a name is written with commands that print something: with \\phantom{p} or \\color{white}p two
    formulas look alike that are not. An entry does not look like the one with its indices exchanged.
    """
    commands = set(re.findall(r"\\[A-Za-z]+", latex))
    known = commands <= _LETTERS | _OVER | _RELATIONS | _SPACES | _UPRIGHT
    return known and not _EMPTY.search(latex) and not _EITHER_WAY.search(latex)


_WORD = re.compile(r"\\?[A-Za-z]+(?:_(?:\{[^{}]*\}|\w))?'*|\d+|[-+/]|\S")


def size_words(latex: str) -> list[str]:
    """What the name of a size is written with: names, numbers and signs between them, as in N - 1 and 2N."""
    return _WORD.findall(re.sub(r"\{([-+])\}", r"\1", re.sub(r"\\[,;: ]|~", " ", latex)))


@lru_cache(maxsize=1_000)
def may_vanish(size: str) -> bool:
    """Whether nothing says that a size is not 0: it is written as a difference, as N - 1 is."""
    return "-" in size_words(size)


def may_be_negative(size: str) -> bool:
    """Whether nothing says that a size is at least 0 where the names in it are sizes, whole numbers from 1
    on: of N - M, N - 2 and 3 - N nothing does.
    """
    least, value, sign, below = Fraction(0), Fraction(1), 1, False
    for word in [*size_words(size), "+"]:
        if word in "+-":
            least, value, sign, below = least + sign * value, Fraction(1), 1 if word == "+" else -1, False
        elif word == "/":
            below = True
        elif word.isdigit() and int(word):
            value, below = value / int(word) if below else value * int(word), False
        elif sign < 0:
            return True
        else:  # what is divided by a name may be as small as one likes
            value, below = Fraction(0) if below else value, False
    return least < 0


def _beside_the_base(latex: str) -> list[list[str]]:
    """The letters beside the base of a name, in its scripts and arguments, by runs of letters side by side;
    words in upright letters have none.
    """
    words = r"\\(?:mathrm|text|textrm|operatorname)\s*\{[^{}]*\w{2,}[^{}]*\}"
    runs: list[list[str]] = [[]]
    for token in _flat(_tokens(re.sub(words, "w", latex))):
        if (len(token) == 1 and token.isalpha()) or token in _GREEK:
            runs[-1].append(token)
        elif token not in _STYLES | _OVER:
            runs.append([])
    runs = [run for run in runs if run]
    return runs[1:]


def reads_as_entry(latex: str, indices: Collection[str]) -> bool:
    """Whether a name looks like an entry at one of the indices: of two letters side by side one is enough;
    more are a word where fewer than two of them are indices.
    """
    name = spelled(latex)
    runs = [sum(letter in indices for letter in run) > (len(run) > 2) for run in _beside_the_base(name)]
    scripts = re.sub(r"^[^_^(\[']*", "", flat(name))
    long = [flat(i) for i in indices if len(i) > 1 and i not in _GREEK]
    return any(runs) or any(i in scripts for i in long)


_MARKS = r"_\{?\\(max|min|perp|parallel|star|ast|infty|prime|dagger|top|bot|pm)(?![A-Za-z])\}?"


def is_size(latex: str) -> bool:
    """Whether it is a name of its own, or a sum, difference, product or quotient of names and numbers that
    says its value; a power would be taken for a letter.
    """
    commands = set(re.findall(r"\\[A-Za-z]+", re.sub(_MARKS, "", latex)))
    if not commands <= _GREEK | _WRAPS | _SPACES or re.search(r"[()<>]", latex):
        return False  # a floor or a remainder may be 0
    if is_atom(latex):
        return "^" not in latex
    words = size_words(latex)
    named = all(w in "+-/" or (w.isdigit() and int(w)) or is_atom(w) for w in words)
    return named and words[0] not in "+-/"


def power_of(latex: str) -> tuple[str, str]:
    """The canonical base and exponent of a name that is one symbol with a superscript; ("", "") otherwise."""
    match = re.fullmatch(r"(.+?)\^\{(.+)\}", canonical(latex))
    return (match[1], match[2]) if match and len(_parts(_tokens(latex))) == 1 else ("", "")


def is_exponent(text: str) -> bool:
    """Whether a superscript reads as a power, an inverse or a transpose whatever the symbols are."""
    return bool(re.fullmatch(r"-?\d+|-?\d+/\d+|T|\\top", text))


def flat(latex: str) -> str:
    """The canonical text, also without the braces that hold scripts apart: x_{i} for {x}_{i}."""
    return "".join(_parts(_flat(_tokens(latex))))


def plain(latex: str) -> str:
    """The canonical text without what sets a symbol bold, upright or in another type."""
    return "".join(_parts([t for t in _flat(_tokens(latex)) if t not in _STYLES]))


def is_letter(latex: str) -> bool:
    """Whether a name is one letter, Latin or Greek, in any type, with accents, scripts or primes."""
    parts = _parts([t for t in _flat(_tokens(latex)) if t not in _STYLES | _OVER])
    base = re.sub(r"[_^]\{.*", "", parts[0]) if len(parts) == 1 else ""
    return (len(base) == 1 and base.isascii() and base.isalpha()) or base in _GREEK


def written_with(latex: str) -> set[str]:
    """The canonical symbols that a name reads as a formula of: none where it is one symbol, with arguments
    too; those of a function whose name is a word (or \\Gamma) are read, of one that is a letter are not.
    """
    parts = _parts(_flat(_tokens(latex)))
    if len(parts) == 1 or (is_atom(latex) and not _means(parts[0])):
        return set()
    return set(_outside(parts))


def _means(head: str) -> bool:
    """Whether a function's name says which one it is."""
    bare = re.sub(r"[_^]\{.*", "", head)
    return bare in (r"\Gamma", r"\Re", r"\Im") or bool(re.fullmatch("[A-Za-z]{2,}", bare))


def _outside(parts: list[str]) -> list[str]:
    """The parts of a name that stand in no argument of a function without a known meaning."""
    found, depth, before = [], 0, ""
    for part in parts:
        if part == "(" and (depth or (re.search(r"\w|\}", before) and not _means(before))):
            depth += 1
        elif depth:
            depth -= part.startswith(")")
        else:
            found.append(part)
        before = part
    return found


def _flat(tokens: list[str]) -> list[str]:
    """Without the braces of groups that are neither scripts nor words."""
    flat: list[str] = []
    kept: list[bool] = []
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token == "{":
            kept.append(before in ("_", "^") or before in _WRAPS)
        keep = kept.pop() if token == "}" and kept else kept[-1] if token == "{" else True
        flat += [token] * keep
    return flat


_SAME = {
    r"\overline": r"\bar", r"\widetilde": r"\tilde", r"\widehat": r"\hat", r"\prime": "'", r"\leq": r"\le",
    r"\geq": r"\ge", r"\neq": r"\ne", r"\lVert": r"\|", r"\rVert": r"\|", r"\Vert": r"\|", r"\vert": "|",
    r"\omicron": "o",
}  # fmt: skip
_UPRIGHT = frozenset(
    rf"\{name}" for name in ("mathrm", "mathit", "text", "textrm", "operatorname", "mathnormal")
)
_STYLES = frozenset(
    rf"\{name}"
    for name in ("boldsymbol", "mathbf", "mathbb", "mathcal", "mathsf", "mathtt", "mathfrak", "mathscr")
)
_WRAPS = _OVER | _UPRIGHT | _STYLES
_LATIN = dict(zip(
    ("Alpha", "Beta", "Epsilon", "Zeta", "Eta", "Iota", "Kappa", "Mu", "Nu", "Omicron", "Rho", "Tau", "Chi"),
    "ABEZHIKMNOPTX", strict=True,
))  # fmt: skip


def canonical(latex: str) -> str:
    """One text for everything that looks alike: without spaces and needless braces, of two commands for one
    sign the same, subscripts before superscripts.
    """
    return "".join(_parts(_tokens(latex)))


def _tokens(latex: str) -> list[str]:
    return [t for t in _TOKEN.findall(latex) if not t.isspace() and t not in _SPACES]


def _parts(tokens: list[str]) -> list[str]:
    """The canonical texts of symbols and groups, each with its scripts."""
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        inner, at = _item(tokens, at)
        scripts = {"_": "", "^": ""}
        while at < len(tokens) and tokens[at] in ("_", "^", "'"):
            sign = "^" if tokens[at] == "'" else tokens[at]
            text, at = ("'", at + 1) if tokens[at] == "'" else _item(tokens, at + 1)
            scripts[sign] += text
        parts.append(inner + "".join(f"{s}{{{text}}}" for s, text in scripts.items() if text))
    return parts


def _item(tokens: list[str], at: int) -> tuple[str, int]:
    """The canonical text of a group or token, and where the next one starts."""
    if at >= len(tokens):
        return "", at
    token = tokens[at]
    if token == "{" and (end := _closing(tokens, at)) is not None:
        return "".join(_parts(tokens[at + 1 : end])), end + 1
    if token in _UPRIGHT or token in (r"\left", r"\right"):
        return _item(tokens, at + 1)
    if token in _WRAPS:
        inner, end = _item(tokens, at + 1)
        return _SAME.get(token, token) + inner, end
    if re.fullmatch(r"\\(max|min|exp|log|ln|det|dim|sin|cos|tan|tanh|cosh|sinh)", token):
        token = token[1:]
    return _SAME.get(token, _LATIN.get(token[1:], token) if token[:1] == "\\" else token), at + 1


def _kinds(latex: str) -> str:
    """One letter for each token: w word or command, n number, o what stands over or before the next token,
    g group, a arguments, f fraction, s space; ^, _, ' themselves; ? for anything else.
    """
    tokens = _TOKEN.findall(latex)
    kinds, at = "", 0
    while at < len(tokens):
        token = tokens[at]
        if token in _GROUPS:
            end = _closing(tokens, at)
            if end is None:
                return "?"
            inside = "".join(tokens[at + 1 : end])
            empty = not re.sub(r"\\[,;:! ]|\s|[{}]", "", inside)
            kinds += "?" if empty else "g" if token in ("{", r"\langle") else "a"
            at = end
        elif token in "_^'":
            kinds += token
        elif token in _SPACES or token.isspace():
            kinds += (
                "" if kinds.endswith("o") or (token.isspace() and at and tokens[at - 1][0] == "\\") else "s"
            )
        elif token in (r"\frac", r"\tfrac"):
            kinds += "f"
        elif token in _OVER:
            kinds += "o"
        elif token in _RELATIONS:
            kinds += "?"
        elif token.isdigit():
            kinds += "" if kinds.endswith("n") else "n"
        elif token.isalpha() or re.fullmatch(r"\\[A-Za-z]+", token):
            word = kinds.endswith("w") and kinds[-2:-1] not in ("_", "^") and tokens[at - 1].isalpha()
            kinds += "" if word and token.isalpha() else "w"  # a script takes one letter alone
        else:
            kinds += "?"
        at += 1
    return kinds


def _closing(tokens: list[str], start: int) -> int | None:
    """Where the group that opens at ``start`` ends; None where it does not."""
    depth, opens, closes = 0, tokens[start], _GROUPS[tokens[start]]
    for at in range(start, len(tokens)):
        depth += (tokens[at] == opens) - (tokens[at] == closes)
        if depth == 0:
            return at + (opens == r"\left")  # the delimiter after \right belongs to it
    return None
