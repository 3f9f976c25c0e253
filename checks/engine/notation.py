"""What the names in a printed statement stand for: energies, functions, directions. No name stands for
two things.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checks.statement import Kind, Malformed, tensors_of, terms_of
from derivations.calculus.functions import is_unknown
from derivations.calculus.gradients import Differential, Formula, Gradient, SymbolicPower
from derivations.calculus.index import Tensor
from derivations.calculus.losses import Loss, meanings
from derivations.calculus.masks import Previous
from derivations.calculus.naming import (
    flat,
    is_exponent,
    is_function_name,
    is_letter,
    plain,
    power_of,
)
from derivations.calculus.parse import parse
from derivations.calculus.program import Raw
from derivations.calculus.term import (
    Apply,
    Diagonal,
    Named,
    NonConformable,
    Power,
    RowSoftmax,
    Size,
    Stack,
    SumOver,
    Term,
    subterms,
)
from derivations.calculus.unicode import unicode_math

ENTRYWISE = r"\text{powers and functions of arrays entry by entry}"
ROWWISE = r"\text{softmax of each row of a matrix}"


def notation(statement: Any) -> list[str]:
    """Lines that say what the names stand for. Raises Malformed for a name of two things; a statement that
    consists of statements has none of its own.
    """
    if isinstance(statement, Kind) and statement.nested:
        return []
    names: dict[str, str] = {}
    functions: dict[str, str] = {}
    symbols: dict[str, str] = {}
    printed = {t.symbol for t in tensors_of(statement)}
    taken = printed | {t.name for t in tensors_of(statement)} | set(_sizes(statement))
    given = {g.defined.latex() for g in getattr(statement, "given", ()) or ()}
    given |= {g.tensor.symbol for g in getattr(statement, "given", ()) or ()}
    for term in all_terms(statement):
        for name, meaning in _named(term):
            if name in given:
                continue
            if name in printed or (isinstance(term, Previous) and flat(name) in map(flat, printed)):
                raise Malformed(f"{name} stands for a symbol and for {meaning}")
            if names.setdefault(name, meaning) != meaning:
                another = "; grad(E, x, name) names E" if isinstance(term, Gradient) else ""
                raise Malformed(f"{name} stands for {names[name]} and for {meaning}{another}")
        if isinstance(term, Apply):
            name, symbol = term.data[0], term.data[1].strip()
            if symbol in taken or not _is_name_of(symbol, name):
                raise Malformed(f"the function {name} is printed {symbol}, which is no name of its own")
            if symbols.setdefault(name, symbol) != symbol:
                raise Malformed(f"the function {name} is printed {symbols[name]} and {symbol}")
            if functions.setdefault(flat(symbol), name) != name:
                raise Malformed(f"{name} is printed {symbol}, as another function is")
    lines = [f"{n} = {meaning}" for n, meaning in names.items() if unicode_math(n) != unicode_math(meaning)]
    lines += _losses(statement)
    rowwise = any(isinstance(term, RowSoftmax) for term in all_terms(statement))
    return lines + [ENTRYWISE] * any(map(_entrywise, terms_of(statement))) + [ROWWISE] * rowwise


def _losses(statement: Any) -> list[str]:
    """What the notation of losses stands for, where no program that is printed says it."""
    terms = (term for term in all_terms(statement) if isinstance(term, Loss) and term.listed.meaning)
    found = dict.fromkeys(line for term in terms for line in meanings(term))
    shown = statement.statement_latex() if found and hasattr(statement, "program") else ""
    return [line for line in found if line not in shown]


def _entrywise(term: Term) -> bool:
    """Whether a power or function of an array is printed; a diagonal matrix with a name is not spelt out."""
    if isinstance(term, Diagonal) and term.data:
        return False
    if isinstance(term, Apply | Power | SymbolicPower) and _is_array(term):
        return True
    inner = [x for x in term.data if isinstance(x, Term)] if isinstance(term.data, tuple) else []
    return any(map(_entrywise, (*term.args, *inner)))


def _is_name_of(symbol: str, name: str) -> bool:
    """Whether a function may be printed so: by a letter, or, where it is known, by its own word. A word says
    which function it is, and so does \\Gamma; d reads as a differential, a raised number as a power.
    """
    if is_letter(symbol):
        power = is_exponent(power_of(symbol)[1])
        return is_function_name(symbol) and not power and plain(symbol) not in (r"\Gamma", "d")
    return not is_unknown(name) and plain(symbol).lstrip("\\").lower() in (name, *_SPELT.get(name, ()))


_SPELT = {"log": ("ln",), "sign": ("sgn",)}


def _sizes(statement: Any) -> Iterator[str]:
    for tensor in tensors_of(statement):
        yield from tensor.dims
    for term in all_terms(statement):
        if isinstance(term, Size):
            yield term.data
        if isinstance(term, SumOver | Stack):
            yield from (term.data.name, term.data.dim)


def all_terms(statement: Any) -> Iterator[Term]:
    """Every term that a statement writes, also below a derivative or in what is put for a tensor."""
    todo = list(terms_of(statement))
    while todo:
        for _, term in subterms(todo.pop()):
            yield term
            if isinstance(term.data, tuple):
                todo += [x for x in term.data if isinstance(x, Term)]


def _named(term: Term) -> Iterator[tuple[str, str]]:
    if isinstance(term, Gradient | Differential) and term.data[-1] != term.data[0].latex():
        yield term.data[-1], term.data[0].latex()
    if isinstance(term, Differential):
        tensor, direction = (t.symbol for t in term.data[1:3])
        yield "d", rf"\text{{the slope along }} {tensor} + t\,{direction}"
    if isinstance(term, Named):
        yield term.data, term.args[0].latex()
    if isinstance(term, Previous):
        start = term.args[1].latex() if term.args[1:] else "0"
        yield rf"{{{term.args[0].wrapped(4)}}}_{{0}}", start
    if isinstance(term, Formula):
        yield r"F(u)", Raw((), parse(term.data[0], {"u": Tensor("u").scalar})).latex()
    if isinstance(term, Apply) and not is_unknown(term.data[0]) and term.data[1].lstrip("\\") != term.data[0]:
        yield f"{term.data[1]}(u)", _SAID.get(term.data[0], rf"\operatorname{{{term.data[0]}}}(u)")
    if isinstance(term, Apply) and term.data[0] == term.data[1] in _SAID:
        yield rf"\operatorname{{{term.data[0]}}}(u)", _SAID[term.data[0]]


_SAID = {"elu1": r"\operatorname{elu}(u) + 1", "clip": r"\max(-1, \min(u, 1))"}
"""What the functions are whose names do not say it."""


def _is_array(term: Term) -> bool:
    try:
        return len(term.shape()) > 0
    except (NonConformable, ValueError):
        return False
