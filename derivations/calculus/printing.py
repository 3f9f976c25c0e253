"""LaTeX and plain text of normal forms: what the project derived itself, as opposed to what a paper
prints.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, count
from math import comb

from derivations.calculus import index as ix
from derivations.calculus.grouping import grouped
from derivations.calculus.naming import is_atom, size_words
from derivations.calculus.normal import Atom, Form, Mono, Token, mentions, normal

_COMMANDS = {
    **{name: f"\\{name}" for name in ("exp", "log", "cosh", "sinh", "tanh", "sin", "cos")},
    **{name: rf"\operatorname{{{name}}}" for name in ("abs", "clip", "relu", "sigmoid", "sign")},
    "elu1": r"\varphi",
}
_LETTERS = {"N": "jklmnp", "D": "cdef", "D_v": "dce", r"D_\phi": "fgh"}


WIDEST = 40
"""Terms up to which a power of a sum is shown multiplied out."""
_POWER = "^"
"""With its exponent the name of a function that stands for a power of a sum, for printing alone."""


def latex(expr: ix.Expr) -> str:
    """LaTeX of an expression's normal form, but for powers of sums that would have very many terms."""
    return form_latex(normal(_narrow(expr)))


def _narrow(expr: ix.Expr) -> ix.Expr:
    """The expression with wide powers of sums as functions, which nothing multiplies out."""
    if parts := ix.children(expr):
        expr = ix.rebuild(expr, tuple(map(_narrow, parts)))
    if isinstance(expr, ix.Pow) and expr.exponent > 1 and expr.exponent.denominator == 1:
        power = int(expr.exponent)
        if comb(len(normal(expr.base)) + power - 1, power) > WIDEST:
            return ix.Call(f"{_POWER}{power}", expr.base)
    return expr


def to_expr(form: Form) -> ix.Expr:
    """A normal form as an expression again; free tokens keep their names."""
    parts = [_mono_expr(mono, coefficient, {}) for mono, coefficient in form]
    if not parts:
        return ix.Num(Fraction(0))
    return parts[0] if len(parts) == 1 else ix.Add(tuple(parts))


def _mono_expr(mono: Mono, coefficient: Fraction, names: dict[Token, ix.Index]) -> ix.Expr:
    dims, height, factors = mono
    bound = {Token("b", (height, k), dim): ix.Index("m", dim).fresh() for k, dim in enumerate(dims)}
    names = {**names, **bound}
    args: list[ix.Expr] = [] if coefficient == 1 and factors else [ix.Num(coefficient)]
    for atom, exponent in factors:
        inner = _atom_expr(atom, names)
        args.append(inner if exponent == 1 else ix.Pow(inner, exponent))
    body = args[0] if len(args) == 1 else ix.Mul(tuple(args))
    return ix.total(body, *bound.values())


def _atom_expr(atom: Atom, names: dict[Token, ix.Index]) -> ix.Expr:
    def index(token: Token) -> ix.Index:
        return names[token] if token in names else ix.Index(str(token.name), token.dim)

    match atom[0]:
        case "T":
            return ix.At(atom[1], tuple(map(index, atom[2])))
        case "D":
            return ix.Dim(atom[1])
        case "N":
            return ix.Num(Fraction(atom[1]))
        case "delta":
            return ix.Delta(index(atom[1]), index(atom[2]))
        case "C":
            return ix.Call(atom[1], _sum_expr(atom[3], names), atom[2])
        case "P":
            return _sum_expr(atom[1], names)
    raise AssertionError(atom)


def _sum_expr(form: Form, names: dict[Token, ix.Index]) -> ix.Expr:
    parts = [_mono_expr(mono, coefficient, names) for mono, coefficient in form]
    return parts[0] if len(parts) == 1 else ix.Add(tuple(parts))


def form_latex(form: Form, taken: frozenset[str] = frozenset(), names: dict[Token, str] | None = None) -> str:
    """LaTeX of a form, grouped. ``names`` gives the letters of tokens bound further out."""
    if not form:
        return "0"
    form = grouped(form)
    names = names or {}
    taken = (
        taken | {_shown(t) for mono, _ in form for a, _ in mono[2] for t in _free(a)} | set(names.values())
    )
    pieces: list[str] = []
    for mono, coefficient in sorted(form, key=lambda item: (item[1] < 0, len(item[0][2]))):
        text = _mono_latex(mono, abs(coefficient), taken, names)
        sign = "-" if coefficient < 0 else "+"
        pieces.append(f" {sign} {text}" if pieces else (f"-{text}" if coefficient < 0 else text))
    return "".join(pieces)


def _shown(token: Token) -> str:
    """The letter of a free token, without the number that ``Index.fresh`` gives it."""
    return str(token.name).split("#")[0]


def _free(atom: Atom) -> list[Token]:
    match atom[0]:
        case "T":
            return [t for t in atom[2] if t.kind == "i"]
        case "delta":
            return [t for t in atom[1:] if t.kind == "i"]
        case "C":
            return [t for mono, _ in atom[3] for a, _ in mono[2] for t in _free(a)]
        case "P":
            return [t for mono, _ in atom[1] for a, _ in mono[2] for t in _free(a)]
    return []


def _letter(dim: str, taken: set[str]) -> str:
    """The first letter that is free; beyond the usual ones, with more and more primes."""
    primed = (c + "'" * n for n in count(1) for c in "jklm")
    return next(c for c in chain(_LETTERS.get(dim, "ijklmnpqr"), primed) if c not in taken)


def _mono_latex(mono: Mono, coefficient: Fraction, taken: frozenset[str], names: dict[Token, str]) -> str:
    dims, height, factors = mono
    bound = [Token("b", (height, k), dim) for k, dim in enumerate(dims)]
    inner = {token: pair for token in bound if (pair := _inner_product(token, factors))}
    used, own = set(taken), dict(names)
    above: list[str] = []
    below: list[str] = []
    for token in bound:
        if token not in inner:
            own[token] = letter = _letter(token.dim, used)
            used.add(letter)
    rows = {atom for pair in inner.values() for atom, _ in pair}
    for atom, exponent in sorted(factors, key=lambda factor: factor[0][0] == "T" and bool(factor[0][2])):
        if atom not in rows:  # scalars first, as they are written by hand
            text = _atom_latex(atom, frozenset(used), own)
            (above if exponent > 0 else below).append(_raised(text, atom, abs(exponent)))
    above += [_inner_latex(pair, own) for pair in inner.values()]
    body = r"\,".join(above)
    if len(below) == 1 and below[0].startswith(r"\left(") and below[0].endswith(r"\right)"):
        below = [below[0][6:-7]]  # a fraction bar groups by itself
    if below:
        body = rf"\frac{{{body or '1'}}}{{{_join(below)}}}"
    sums = " ".join(rf"\sum_{{{own[t]}=1}}^{{{t.dim}}}" for t in bound if t not in inner)
    body = f"{sums} {body}" if sums else body
    if coefficient == 1 and body:
        return body
    number = str(coefficient)
    if coefficient.denominator != 1:
        number = rf"\tfrac{{{coefficient.numerator}}}{{{coefficient.denominator}}}"
    return rf"{number}\,{body}" if body else number


Factor = tuple[Atom, Fraction]


def _inner_product(token: Token, factors: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """The two factors (or the squared one) whose rows the sum over a token multiplies: the token is the last
    index of both and stands nowhere else.
    """
    own = [factor for factor in factors if mentions(factor[0], [token])]
    rows = all(a[0] == "T" and token not in a[2][:-1] and _row_latex(a, {}) for a, _ in own)
    return tuple(own) if rows and [e for _, e in own] in ([1, 1], [2]) else ()


def _inner_latex(pair: tuple[Factor, ...], names: dict[Token, str]) -> str:
    rows = [_row_latex(atom, names) for atom, _ in pair]
    if len(rows) == 1:
        return rf"\left\|{rows[0]}\right\|^{{2}}"
    left = f"{{{rows[0]}}}" if "^" in rows[0] else rows[0]
    return rf"{left}^{{\top}} {rows[1]}"


def _row_latex(atom: Atom, names: dict[Token, str]) -> str:
    """The vector that an entry's last index runs through, or nothing where the tensor has no name for it."""
    tensor, tokens = atom[1], atom[2]
    if len(tokens) == 1:
        return tensor.symbol
    if len(tokens) != 2 or "%1" not in tensor.row_latex:
        return ""
    return tensor.row_latex.replace("%1", _letter_of(tokens[0], names))


def _letter_of(token: Token, names: dict[Token, str]) -> str:
    """A token's letter, closed by a space where it is a command."""
    name = names[token] if token in names else _shown(token)
    return f"{name} " if name.startswith("\\") else name


def _join(parts: list[str]) -> str:
    return r"\,".join(parts)


def _raised(text: str, atom: Atom, exponent: Fraction) -> str:
    if exponent == 1:
        return text
    if exponent == Fraction(1, 2):
        return rf"\sqrt{{{text}}}"
    bare = (
        atom[0] in ("N", "P")
        or (atom[0] == "D" and (is_atom(atom[1]) or _is_sum(atom[1])))
        or (atom[0] == "T" and not atom[2] and "^" not in text)
    )
    return rf"{{{text}}}^{{{exponent}}}" if bare else rf"\left({text}\right)^{{{exponent}}}"


def _is_sum(size: str) -> bool:
    """Whether the name of a size is written as a sum or a difference, as N - 1 is."""
    return not {"+", "-"}.isdisjoint(size_words(size))


def _atom_latex(atom: Atom, taken: frozenset[str], names: dict[Token, str]) -> str:
    def letter(token: Token) -> str:
        return _letter_of(token, names)

    match atom[0]:
        case "T":
            return _entry_latex(atom[1], [letter(t) for t in atom[2]])
        case "D" if _is_sum(atom[1]):  # beside other factors
            return rf"\left({atom[1]}\right)"
        case "D" | "N":
            return str(atom[1])
        case "delta":
            return rf"\delta_{{{letter(atom[1])}{letter(atom[2])}}}"
        case "C":
            inner = form_latex(atom[3], taken, names)
            if atom[1].startswith(_POWER):
                return rf"{{\left({inner}\right)}}^{{{atom[1].removeprefix(_POWER)}}}"
            name = _COMMANDS.get(atom[1], atom[1]) + "'" * atom[2]
            return rf"{name}\left({inner}\right)"
        case "P":
            return rf"\left({form_latex(atom[1], taken, names)}\right)"
    raise AssertionError(atom)


def _entry_latex(tensor: ix.Tensor, letters: list[str]) -> str:
    if not letters:
        return tensor.symbol
    if tensor.entry_latex:
        text = tensor.entry_latex
        for n, c in enumerate(letters, 1):
            text = text.replace(f"%{n}", c)
        return text
    places = ("," if any(len(c) > 1 for c in letters) else "").join(letters)
    return rf"{{{tensor.symbol}}}_{{{places}}}"
