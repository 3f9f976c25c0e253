"""How tightly a printed name holds together, and whether it is a name at all.

An author says how a symbol is printed. A name that holds together, such as \\boldsymbol{x}_{i}(d) or d_v,
stands beside other symbols as it is; 2N, a/b or A+B need parentheses.
"""

from __future__ import annotations

import re

_GROUPS = {"{": "}", "(": ")", "[": "]", r"\langle": r"\rangle", r"\left": r"\right"}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_SPACES = frozenset({r"\,", r"\;", r"\:", r"\!", r"\ ", "~", r"\quad", r"\qquad"})
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
            kinds += "" if kinds.endswith("w") and token.isalpha() and tokens[at - 1].isalpha() else "w"
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
