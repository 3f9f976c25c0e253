"""Names that read as something else than the symbol, function or formula that they stand for are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import sympy as sp

from checks.engine.notation import all_terms
from checks.statement import Definition, Malformed, tensors_of
from derivations.calculus.functions import KNOWN
from derivations.calculus.gradients import Differential, Formula, Gradient
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.naming import (
    flat,
    is_exponent,
    is_letter,
    is_number,
    is_seen,
    plain,
    power_of,
    written_with,
)
from derivations.calculus.term import (
    Apply,
    Named,
    NonConformable,
    Shape,
    Size,
    Softmax,
    Stack,
    SumOver,
    Term,
    free,
    subterms,
)


def check_names(statement: Any, indices: set[Index]) -> None:
    """Raise Malformed for a name that reads as a constant, as an entry of an array, or as a formula of
    symbols of the statement that nothing says it is.
    """
    tensors, terms = tensors_of(statement), list(all_terms(statement))
    sizes = {part for t in tensors for d in t.dims for part in summands(d)} | {i.dim for i in indices}
    sizes |= {part for t in terms if isinstance(t, Size) for part in summands(t.data)}
    letters = "|".join(re.escape(flat(i.latex.strip())) for i in sorted(indices, key=repr))
    functions = {flat(t.data[1]) for t in terms if isinstance(t, Apply)}
    functions |= {"F"} if any(isinstance(t, Formula) for t in terms) else set()
    defined = {g.tensor for g in getattr(statement, "given", ()) or ()}
    if isinstance(statement, Definition):
        defined |= tensors_of(statement.name)
    plan = getattr(statement, "plan", ())
    computed = {line.tensor for line in plan} | (defined if plan else set())
    for term in terms:
        if (name := _given_name(term)) and not _is_what_it_names(name, term):
            shape = _shape(term)
            if not is_seen(name) or is_number(name) or _constant(name, shape, sizes):
                raise Malformed(f"{name} reads as something else than the name of a formula")
            own = {flat(name), flat(name).partition("(")[0]}
            if own & (functions | sizes | {flat(t.symbol) for t in tensors}):
                raise Malformed(
                    f"{name} reads as another symbol than the name of a formula: name=... gives it another"
                )
            others = tensors - computed
            entry = _is_entry(name, shape, others, letters)
            if entry or _calculated(name) or _reads(name, shape, others, sizes | functions, letters):
                raise Malformed(f"{name} reads as a formula, which is not the one that it names")
    for index, term in _bound(statement, terms):
        _shows(index, term)
    for tensor in sorted(tensors, key=repr):
        _symbol(tensor, tensors - {tensor}, sizes, letters, tensor in defined)


def _bound(statement: Any, terms: list[Term]) -> Iterator[tuple[Index, Term]]:
    """The indices of sums, and those for all values of which something is defined or constrained, with the
    formulas in which they are.
    """
    yield from ((t.data, t) for t in terms if isinstance(t, SumOver | Stack | Softmax))
    defined = (*(getattr(statement, "given", ()) or ()), *getattr(statement, "solution", ()))
    yield from ((index, g.value) for g in defined for index in g.at)
    for c in getattr(getattr(statement, "program", None), "constraints", ()):
        yield from ((index, side) for index in c.over for side in (c.lhs, c.rhs))


def _shows(index: Index, term: Term) -> None:
    """The name of a formula in which an index is bound shows it, behind its letter: below a sum, c reads as
    one number for all of it.
    """
    for _, inner in subterms(term):
        name, meant = _name_and_meaning(inner)
        if name and index in free(meant) and name != meant.latex():
            letter = index.latex.strip()
            shown = re.search(r"[_^(\[].*", _WORDS.sub(" ", name))  # not in sim, nor in \mu
            if not shown or not _stands(letter, shown[0]):
                raise Malformed(
                    f"the name {name} does not show the index {index.name} that is bound around it"
                )


def _name_and_meaning(term: Term) -> tuple[str, Term]:
    """The name that a term prints, as a gradient prints that of an energy, and the formula that it names."""
    if isinstance(term, Gradient | Differential):
        return term.data[-1], term.data[0]
    return (term.data, term.args[0]) if isinstance(term, Named) else ("", term)


def _stands(letter: str, text: str) -> bool:
    """Whether an index stands in a text, and is not a part of another one or of a command."""
    if letter.startswith("\\"):
        return bool(re.search(re.escape(letter) + "(?![A-Za-z'])", text))
    return bool(re.search(re.escape(letter) + "(?!')", re.sub(r"\\[A-Za-z]+", " ", text)))


_WORDS = re.compile(r"\\(?:mathrm|operatorname|text|textrm|mathsf)\{[A-Za-z ]*\}")


def check_letters(letters: Iterable[sp.Symbol]) -> None:
    """Raise Malformed for SymPy's symbols, which are numbers, where one is no letter, or reads as a constant
    or a formula, or two are printed alike.
    """
    seen: dict[str, Tensor] = {}
    for letter in sorted(letters, key=str):
        tensor = Tensor(letter.name, (), sp.latex(letter))
        if seen.setdefault(flat(tensor.symbol), tensor) != tensor:
            raise Malformed(f"two different symbols are printed {tensor.symbol}")
        if not is_letter(tensor.symbol):  # \cos beside w would read as a function of it
            raise Malformed(f"{tensor.symbol} is no letter, with or without scripts")
    for tensor in seen.values():
        _symbol(tensor, set(seen.values()) - {tensor}, set(), "", False)


def _symbol(tensor: Tensor, others: set[Tensor], sizes: set[str], letters: str, defined: bool) -> None:
    """A symbol that is printed as a formula of others is defined by them; none is printed as a constant
    or as an entry of another.
    """
    name = tensor.symbol
    printed = [name, *filter(None, (tensor.row_latex, tensor.entry_latex))]
    if any(not is_seen(latex) for latex in printed):
        raise Malformed(f"{name} may look like another symbol")
    if _constant(name, tensor.dims, sizes):
        raise Malformed(f"{name} reads as a constant")
    if _is_entry(name, tensor.dims, others, letters):
        raise Malformed(f"{name} is a symbol, and is printed as an entry is")
    if defined:
        return
    if is_number(name) or not name.isascii():
        raise Malformed(f"{name} is no name of a symbol; how a letter is printed is its latex=")
    label = tensor.positive or name[0] == "[" or (power_of(name)[0] and (tensor.dims or "-" in name))
    if _calculated(name) and not label:
        numbered = re.fullmatch(r"([A-Za-z]+)(\d+)", name)
        hint = rf'; printed as latex="{numbered[1]}_{{{numbered[2]}}}" it would not' if numbered else ""
        raise Malformed(f"{name} reads as calculated, and nothing says from what{hint}")
    if any(_reads(re.sub(r"%\d", "a", x), tensor.dims, others, sizes, letters) for x in printed):
        raise Malformed(f"{name} reads as a formula, and nothing says that it is")


def _given_name(term: Term) -> str:
    """The name that stands for a formula, "" where the formula itself is printed."""
    if isinstance(term, Gradient | Differential):
        data: tuple[Any, ...] = term.data
        return str(data[-1])
    return str(term.data) if isinstance(term, Named) else ""


def _is_what_it_names(name: str, term: Term) -> bool:
    """Whether a name is the formula itself, but for the bounds of sums."""
    formula = (term.args or term.data)[0]
    bounds = re.compile(r"(\\sum_\{[^{}=]+)=1\}\^\{[^{}]*\}")
    return flat(name) == bounds.sub(r"\1}", flat(formula.latex()))


def _shape(term: Term) -> Shape:
    try:
        return () if isinstance(term, Gradient) else term.shape()
    except (NonConformable, ValueError):
        return ()


def _calculated(name: str) -> bool:
    """Whether a name has a sign of arithmetic, a relation, a number or a known function outside its scripts
    and arguments, or is a power: whatever its letters are, it then reads as calculated from them.
    """
    parts, power = written_with(name), power_of(name)[1]
    reads = not parts.isdisjoint(_SIGNS | KNOWN.keys()) or any(part.isdigit() for part in parts)
    return reads or (is_exponent(power) and power != "1")


_SIGNS = {
    *"+-*/=<>",
    r"\cdot",
    r"\times",
    r"\div",
    r"\pm",
    r"\sqrt",
    r"\prod",
    r"\int",
    r"\le",
    r"\ge",
    r"\ne",
}


def _reads(name: str, dims: Shape, others: set[Tensor], words: set[str], letters: str) -> bool:
    """Whether a name is written with other symbols or their entries, or as a power of one; a list of rows
    with other dimensions than theirs is not the array that it would make.
    """
    taken = {flat(t.symbol) for t in others} | words
    parts = written_with(name)
    powers = map(power_of, (name, *parts))
    bases = {base for base, exponent in powers if is_exponent(exponent) or exponent in taken}
    if any(base == "e" or base.isdigit() for base in bases):
        return True
    parts |= bases
    rows = [t for t in others if r"\ldots" not in name or set(t.dims) & set(dims)]
    entries = [pattern for t in rows for pattern, _ in _entries(t, letters)]
    return bool(parts & taken) or any(pattern.fullmatch(part) for part in parts for pattern in entries)


def _is_entry(name: str, dims: Shape, others: set[Tensor], letters: str) -> bool:
    """Whether a name reads as an entry, or a row, of an array."""
    entries = (entry for t in others for entry in _entries(t, letters))
    return any(left == len(dims) and pattern.fullmatch(flat(name)) for pattern, left in entries)


@lru_cache(maxsize=4096)
def _entries(tensor: Tensor, letters: str) -> list[tuple[re.Pattern[str], int]]:
    """How the entries and rows of an array may be printed, and how many dimensions they have. An index is one
    of the statement's, with a number added, a number from 1 on or the last; of an entry also a small letter.
    """
    name, found = tensor.symbol, []
    number = ["[1-9]\\d*", *(rf"{re.escape(d)}(?!\+)(?:-\d+)?" for d in tensor.dims)]
    number += [rf"(?:{letters})(?:[-+]\d+)?"] * bool(letters)
    for n in range(1, len(tensor.dims) + 1):
        own = (t for t in (tensor.entry_latex, tensor.row_latex) if f"%{n}" in t and f"%{n + 1}" not in t)
        template = re.sub(r"%\d", "%", next(own, rf"{name}_{{{'%' * n}}}"))
        index = "|".join([*number, *["[a-z]'*"] * (n == len(tensor.dims))])
        text = re.escape(flat(template)).replace("%%", "%,?%").replace("%", f"(?:{index})")
        found.append((re.compile(text), len(tensor.dims) - n))
    return found


def _constant(name: str, shape: Shape, sizes: set[str]) -> bool:
    """Whether a name reads as 0, 1, e, π, ∞, a unit matrix or vector, or a Kronecker delta: the base says so
    alone, or with the sizes or indices that stand below it.
    """
    base, _, below = plain(name).partition("_{")
    below = below.removesuffix("}")
    of_sizes = below and all(part in sizes for part in re.split(r"\\times|,", below))
    square = len(shape) == 2 and shape[0] == shape[1]
    if base.isdigit() or base == "I":
        return bool(of_sizes) or (not below and (base != "I" or square))
    if base == "e":
        return not below if not shape else len(shape) == 1 and bool(re.fullmatch(_ONE_INDEX, below))
    if base == r"\delta":
        return (not below and square) or bool(re.fullmatch(f"{_ONE_INDEX},?{_ONE_INDEX}", below))
    return base == r"\infty" or (base == r"\pi" and not shape and not below)


_ONE_INDEX = r"(?:[a-z]'*|[1-9])"
