"""Statements that say nothing, or two things at once: refused before any engine sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise, product
from typing import Any

import sympy as sp

from checks.engine.hypotheses import apply_definitions, check_given, check_promises
from checks.engine.names import check_letters, check_names
from checks.engine.notation import all_terms, notation
from checks.statement import (
    Fact,
    Given,
    Identity,
    Kind,
    Link,
    Malformed,
    held,
    shared_with,
    tensors_of,
    terms_of,
)
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.functions import EXPONENT, is_unknown
from derivations.calculus.gradients import (
    Derived,
    Differential,
    Formula,
    Gradient,
    Kronecker,
    Moved,
    SymbolicPower,
)
from derivations.calculus.index import Index, Tensor, summands
from derivations.calculus.naming import (
    canonical,
    is_size,
    may_be_negative,
    reads_as_entry,
    size_words,
)
from derivations.calculus.program import Program, Raw
from derivations.calculus.term import (
    ONE,
    Ambiguous,
    Apply,
    Eye,
    Named,
    NonConformable,
    Number,
    Ones,
    Part,
    Pick,
    Size,
    Softmax,
    Stack,
    SumOver,
    Symbol,
    Term,
    Zeros,
    as_term,
    free,
    picked_from,
    replace_at,
    subterms,
)


def check(statement: Any) -> None:
    """Raise Malformed for a statement with ambiguous symbols, definitions that move, or parts of the
    wrong shape.
    """
    sides = [getattr(statement, side, None) for side in ("lhs", "rhs")]
    if sides[0] is not None and _unnamed(sides[0]) == _unnamed(sides[1]):
        raise Malformed("both sides are the same formula")
    if isinstance(statement, Identity) and not statement.chain:
        for g in statement.given:
            if (statement.lhs, statement.rhs) == (g.defined, g.value):
                raise Malformed(f"it says what the definition of {g.tensor.name} says")
    _numbers_and_symbols(statement)
    try:
        _symbols(statement)
        _alike(statement)
        notation(statement)
        _derived_terms(statement)
        _inner_shapes(statement)
        program = getattr(statement, "program", None)
        if isinstance(program, Program):
            _program(program)
        for term in terms_of(statement):
            try:
                term.shape()
            except Ambiguous:
                raise
            except NonConformable:  # which is an engine's finding about what is printed
                pass
        with suppress(NonConformable):
            check_given(getattr(statement, "given", ()), tuple(getattr(statement, "nonzero", ()) or ()))
    except Malformed:
        raise
    except ValueError as error:
        raise Malformed(str(error)) from None


def _unnamed(side: Any) -> Any:
    """A formula with what stands under a name in its place: a name alone makes no other formula of it."""
    if not isinstance(side, Term):
        return side
    if isinstance(side, Named):
        return _unnamed(side.args[0])
    return replace(side, args=tuple(map(_unnamed, side.args)))


# ---------------------------------------------------------------- symbols


def _symbols(statement: Any) -> None:
    """A reader must be able to tell two different symbols apart."""
    terms, indices = list(all_terms(statement)), set(_indices(statement))
    _names(statement, terms, indices)
    if nonzero := getattr(statement, "nonzero", ()):
        occurring = tensors_of(replace(statement, nonzero=())) | {EXPONENT}
        for tensor in nonzero:
            if tensor not in occurring:
                raise Malformed(f"{tensor.name} is assumed not to vanish, and occurs nowhere")
    sizes = {part for t in terms if isinstance(t, Size) for part in summands(t.data)}
    bodies = [t.args[0] for t in terms if isinstance(t, SumOver | Stack)]
    bodies += [t.data[1] for t in terms if isinstance(t, Moved)]
    for term in (*terms_of(statement), *bodies):
        free = sorted(
            {i for expr in entries(term) for i in ix.free_indices(expr) if not i.name.endswith("#")},
            key=lambda i: i.name,
        )
        for i, k in pairwise(free):
            if i.name == k.name:
                raise Malformed(f"the index {i.name} runs over two ranges at once")
    scalars = {name for t in tensors_of(statement) if not t.dims for name in (t.name, t.latex)}
    scalars |= {EXPONENT.name} if any(isinstance(t, SymbolicPower) for t in terms) else set()
    names = _letters(indices)
    for scalar in scalars:
        if names & set(re.findall(r"_\{?(\w)\}?$", scalar)):
            raise Malformed(f"{scalar} is a symbol, and is printed as an entry is")
    for tensor in tensors_of(statement):
        if not tensor.dims and reads_as_entry(tensor.symbol, names):
            raise Malformed(f"{tensor.symbol} is a symbol, and is printed as an entry is")
    _scoped_names(statement, names)
    written = {i for t in terms for i in _indices(t.data)}  # a sum of what lacks its index is no sum below
    written |= set(_indices(getattr(statement, "multipliers", ())))
    inside = {i for t in terms for expr in entries(t) for i in _bound_and_free(expr)}
    # those of our own get a letter that is free where they are printed
    inside = {i for i in inside if "#" not in i.name}
    named = {str(t.data) for t in terms if isinstance(t, Named)}
    symbols = {t.symbol for t in tensors_of(statement)}
    if both := scalars & _letters(inside) or (scalars | named | symbols) & _letters(written):
        raise Malformed(f"{', '.join(sorted(both))} is a symbol and an index")
    whole = {t for t in _leaves(terms_of(statement)) if isinstance(t, Symbol)}
    check_names(statement, indices)
    seen: dict[Any, Tensor] = {}
    templates: dict[str, Tensor] = {}
    if any(isinstance(t, SymbolicPower) for t in terms):
        seen = {EXPONENT.name: EXPONENT, _printed(EXPONENT): EXPONENT}
    for tensor in sorted(tensors_of(statement), key=repr):
        if "#" in tensor.name:
            raise Malformed(f"the name {tensor.name} is kept for what engines make themselves")
        if not tensor.dims and _printed(tensor)[0] in sizes:
            raise Malformed(f"{_printed(tensor)[0]} is a symbol and a size")
        places = [f"%{n}" for n in range(1, len(tensor.dims) + 1)]
        template = tensor.entry_latex or rf"{{{tensor.symbol}}}_{{{''.join(places)}}}"
        if any(place not in template for place in places):
            raise Malformed(f"different entries of {tensor.name} are printed alike")
        bare = canonical(re.sub(r"%\d", "%", template))
        if places and templates.setdefault(bare, tensor) != tensor:
            raise Malformed(f"the entries of {tensor.name} are printed as those of another array")
        if re.search(r"%2[^%{}^_]*%1", template) and as_term(tensor) in whole:
            raise Malformed(f"{tensor.name} is printed as a matrix, its entries with swapped indices")
        for key in (tensor.name, _printed(tensor)):
            if seen.setdefault(key, tensor) != tensor:
                raise Malformed(f"two different symbols are called {tensor.symbol}")


def _scoped_names(statement: Any, names: set[str]) -> None:
    """What is the same for all values of an index is not printed with its letter where that runs."""
    inside: set[tuple[str, str]] = set()
    outside: set[tuple[str, str]] = set()
    given = [part for part in held(statement) if isinstance(part, Given)]
    ranges = {i.dim for i in _indices(statement)}  # of head s the size N_s is another one for each s
    scoped = [(g.value, set(g.at)) for g in given] + [(t, set(free(t))) for t in terms_of(statement)]
    for term, indices in scoped:
        for part, bound in _with_bound(term, {i.latex.strip(): i.dim for i in indices}):
            for name in _named_by_letters(part):
                others = {letter for letter, dim in bound.items() if dim != name}
                if name not in ranges and reads_as_entry(name, others):
                    raise Malformed(
                        f"{name} is one for all values of an index, and is printed as an entry is"
                    )
                for letter in names if name in ranges else ():
                    if reads_as_entry(name, {letter}) and bound.get(letter) != name:
                        (inside if letter in bound else outside).add((name, letter))
    if both := {name for name, _ in inside & outside}:
        raise Malformed(f"{', '.join(sorted(both))} stands where an index of its name runs, and elsewhere")


def _binds(term: Term) -> bool:
    return isinstance(term, SumOver | Stack | Softmax)


def _named_by_letters(term: Term) -> tuple[str, ...]:
    """How a symbol, a size, a function, the range of a sum or of a unit matrix is printed; of other terms
    nothing, nor of an array whose entries are printed in their own way.
    """
    if _binds(term):
        return (str(term.data.dim),)
    inner = picked_from(term)
    if isinstance(inner, Symbol):
        own = inner is not term and (inner.data.entry_latex or inner.data.row_latex)
        return () if own else (inner.data.symbol,)
    if isinstance(term, Apply):
        return (term.data[1],)
    return (str(term.data),) if isinstance(term, Size) else _dims(term)


def _with_bound(term: Term, bound: dict[str, str]) -> Iterator[tuple[Term, dict[str, str]]]:
    """The parts of a term that are printed whole, with the letters and ranges of the indices there."""
    yield term, bound
    if isinstance(inner := picked_from(term), Symbol):
        return
    more = term.data if isinstance(term.data, tuple) else ()
    within = bound | {term.data.latex.strip(): term.data.dim} if _binds(term) else bound
    for part in (*inner.args, *(x for x in more if isinstance(x, Term))):
        yield from _with_bound(part, within)


def _alike(statement: Any) -> None:
    """No two symbols, entries, sizes or values of functions that mean something else are printed alike, nor
    are the two sides.
    """
    if isinstance(statement, Kind) and statement.nested:
        return
    seen: dict[str, Term] = {}
    for term in (*_leaves(terms_of(statement)), *_sides(statement)):
        latex = term.latex()
        shown = canonical(latex) if len(latex) < _LONG else latex
        if not shown:
            raise Malformed("a symbol is printed as nothing")
        other = seen.setdefault(shown, term)
        if other != term and not _same(other, term):
            raise Malformed(f"two different formulas are printed {term.latex()}")


_LONG = 1000
"""Characters beyond which a formula is no name: only the same text is then printed alike."""


def _leaves(terms: Iterable[Term]) -> Iterator[Term]:
    """What is printed by a name of its own: also inside derived terms."""
    for term in terms:
        inner = picked_from(term)
        if isinstance(inner, Symbol | Size | Number | Kronecker | Formula | Apply | Named):
            yield term
        if not isinstance(inner, Symbol):
            more = term.data if isinstance(term.data, tuple) else ()
            yield from _leaves((*inner.args, *(x for x in more if isinstance(x, Term))))


def _sides(statement: Any) -> tuple[Term, ...]:
    sides = (getattr(statement, name, None) for name in ("lhs", "rhs"))
    return tuple(side for side in sides if isinstance(side, Term))


def _same(one: Term, two: Term) -> bool:
    try:
        at = tuple(Index(f"h{n}#", dim) for n, dim in enumerate(one.shape()))
        return one.shape() == two.shape() and nf.equal(one.entry(*at), two.entry(*at))
    except (NonConformable, ValueError, ZeroDivisionError):
        return False


def _names(statement: Any, terms: list[Term], indices: set[Index]) -> None:
    """Indices have names of their own, and sizes that are written as sums are no second symbols beside
    their parts.
    """
    own = {x for t in terms for x in (t.data if isinstance(t.data, tuple) else (t.data,))}
    for index in indices:  # a sum over a fresh one would be printed over i#3, with entries x_i
        if index.name.endswith("#") or ("#" in index.name and index in own):
            raise Malformed(f"the name {index.name} is kept for what engines make themselves")
        if index != ONE and not _INDEX.fullmatch(index.name):
            raise Malformed(f"an index has a letter as its name, not {index.name!r}")
    numbers = {part for t in terms if isinstance(t, Size) for part in summands(t.data)}
    ranges = {part for t in terms if isinstance(t, SumOver) for part in summands(t.data.dim)}
    if both := (numbers | ranges) & {i.name for i in indices}:
        raise Malformed(f"{', '.join(sorted(both))} is a size and an index")
    dims = {part for t in tensors_of(statement) for d in t.dims for part in summands(d)}
    dims |= {part for i in indices for part in summands(i.dim)} | numbers
    dims |= {part for t in terms for d in _dims(t) for part in summands(d)}
    for dim in dims - {"1"}:
        if {i.name for i in indices} & set(size_words(dim)):
            raise Malformed(f"the size {dim} is written with the letter of an index")
        if not is_size(dim):
            raise Malformed(f"a dimension has a name, or is written with names, not {dim!r}")
        if len(dim) > 1 and dim.isalpha() and set(dim) <= dims:
            raise Malformed(f"the dimension {dim} reads as a product of others")
        if dim in numbers and may_be_negative(dim):  # as a number it would be said to be at least 0
            raise Malformed(f"the size {dim} may be a number below 0: it needs a name of its own")
    scalars = {name for t in tensors_of(statement) if not t.dims for name in (t.name, t.latex) if name}
    for one, two in product(numbers, dims | scalars):
        if one != two and (one in _WORD.findall(two) or two in _WORD.findall(one)):
            raise Malformed(f"the sizes {one} and {two} are taken for two symbols")
    if both := dims & scalars:
        raise Malformed(f"{', '.join(sorted(both))} is a symbol and a size")


_WORD = re.compile(r"[A-Za-z_]\w*")
_INDEX = re.compile(r"(?:[A-Za-z]|\\[A-Za-z]+)[A-Za-z0-9'*]*(?:#\d+)?")


def _dims(term: Term) -> tuple[str, ...]:
    """The dimensions that a term writes itself, as a unit matrix does."""
    data = term.data if isinstance(term.data, tuple) else (term.data,)
    return tuple(d for d in data if isinstance(d, str)) if isinstance(term, Eye | Ones | Zeros) else ()


def _indices(item: Any) -> Iterator[Index]:
    """Every index that a statement writes."""
    if isinstance(item, Index):
        yield item
    elif isinstance(item, Term):
        yield from _indices((item.args, item.data))
    elif isinstance(item, (tuple, list)):
        for part in item:
            yield from _indices(part)
    elif hasattr(item, "__dataclass_fields__") and not isinstance(item, (type, Tensor)):
        for name in item.__dataclass_fields__:
            yield from _indices(getattr(item, name))


def _letters(indices: set[Index]) -> set[str]:
    """What indices are called and printed as."""
    return {name for i in indices for name in (i.name, i.latex.strip())}


def _bound_and_free(expr: ix.Expr) -> Iterator[Index]:
    for node in ix.walk(expr):
        if isinstance(node, ix.Sum):
            yield node.index
        elif isinstance(node, ix.At):
            yield from node.indices


def _numbers_and_symbols(statement: Any) -> None:
    """SymPy's expressions: as they simplify themselves, in symbols that read as such and are told apart."""
    named: dict[str, sp.Symbol] = {}
    for expression in _expressions(statement):
        if _evaluated(expression) != expression:
            raise Malformed(f"{sp.sstr(expression)} is written so that it hides what it simplifies to")
        for symbol in expression.atoms(sp.Symbol):
            if named.setdefault(symbol.name, symbol) != symbol:
                raise Malformed(f"two different symbols are called {symbol.name}")
    check_letters(named.values())


def _expressions(item: Any) -> Iterator[sp.Expr]:
    return (part for part in held(item) if isinstance(part, sp.Expr))


def _evaluated(expression: sp.Basic) -> sp.Basic:
    return expression.func(*map(_evaluated, expression.args)) if expression.args else expression


def _printed(tensor: Tensor) -> tuple[str, ...]:
    return canonical(tensor.symbol), tensor.row_latex, tensor.entry_latex, *tensor.dims


def _program(program: Program) -> None:
    """The objective and each constraint are about one number, multipliers are symbols of their own, what is
    asked of a variable stands among the constraints, and what is promised of a matrix fits it.
    """
    for side in (program.objective, *(t for c in program.constraints for t in (c.lhs, c.rhs))):
        with suppress(NonConformable):  # a misprint
            if side.shape():
                raise Malformed("an objective is a number, and a constraint is about one number")
    for matrix in (*program.semidefinite, *(m for pair in program.inverses for m in pair)):
        if not matrix.symmetric or matrix in program.variables:
            raise Malformed(
                f"{matrix.name} is promised semidefinite or inverted, and no symmetric matrix of the data"
            )
    multipliers = [c.multiplier for c in program.constraints]
    used = {t for term in terms_of((program.objective, program.constraints)) for t in _tensors(term)}
    for n, multiplier in enumerate(multipliers):
        if multiplier in multipliers[:n] or multiplier in program.variables or multiplier in used:
            raise Malformed(f"the multiplier {multiplier.name} is something else as well")
    for tensor in (*multipliers, *program.variables):
        if tensor.positive or tensor.symmetric:
            raise Malformed(
                f"{tensor.name} is promised something that no constraint says; an Optimal has ranges for that"
            )


def check_fields(said: Any) -> None:
    """Raise Malformed where a statement, or a part of it, has something else in the place of a formula."""
    if isinstance(said, tuple):
        for one in said:
            check_fields(one)
    elif is_dataclass(said) and not isinstance(said, (Term, Tensor, Index, type)):
        for f in fields(said):
            value, (wanted, _, optional) = getattr(said, f.name), str(f.type).partition(" | ")
            made = _MADE.get(wanted)
            if made and not (isinstance(value, made) or (optional == "None" and value is None)):
                given = repr(value) if isinstance(value, (int, float, str)) else f"a {type(value).__name__}"
                raise Malformed(f"{f.name} of {type(said).__name__} is {given}: it must be {_WAYS[made]}")
            check_fields(value)


_MADE: dict[str, type] = {"Term": Term, "Tensor": Tensor, "sp.Expr": sp.Expr}
_WAYS = {
    Term: "a formula, as as_term(...) makes one",
    Tensor: "a Tensor",
    sp.Expr: "a formula of SymPy, such as sympy.Integer(1)",
}


def check_together(pieces: tuple[Any, ...]) -> None:
    """Raise Malformed where parts of one statement define a name twice, also as a hypothesis, or each by the
    other; cases that are displayed with different labels may.
    """
    seen: dict[Any, list[tuple[str, bool, ix.Expr]]] = {}
    for part in pieces:
        label, named = getattr(part, "label", ""), _names_something(part)
        for thing, value in _said(part):
            for other, was_named, before in seen.setdefault(thing, []):
                cases = label != other and ((label and other) or not (named and was_named))
                if not cases and not _equal(value, before):
                    raise Malformed(f"{thing[0]} is defined twice")
            seen[thing].append((label, named, value))
    for part in pieces:
        rules: dict[str, set[str]] = {}
        for piece in (p for p in pieces if p is part or (_names_something(p) and not _cases(p, part))):
            for thing, value in _said(piece, piece is part):
                rules.setdefault(thing[0], set()).update(_called(value))
        while rules:
            ends = [name for name, used in rules.items() if used.isdisjoint(rules)]
            if not ends:
                ring = ", ".join(sorted(rules))
                how = "are defined by each other" if len(rules) > 1 else "is defined by itself"
                raise Malformed(f"{ring} {how}")
            rules = {name: used for name, used in rules.items() if name not in ends}


def _cases(one: Any, two: Any) -> bool:
    """Whether two parts are displayed as different cases."""
    labels = {getattr(part, "label", "") for part in (one, two)}
    return len(labels) > 1 and "" not in labels


def _called(expr: ix.Expr) -> set[str]:
    """The names of the symbols and the functions of no known meaning in an expression."""
    calls = {n.function for n in ix.walk(expr) if isinstance(n, ix.Call) and is_unknown(n.function)}
    return calls | {t.name for t in ix.tensors(expr)}


def _names_something(part: Any) -> bool:
    """Whether a part is a definition, or judged as one."""
    return isinstance(getattr(part, "meaning", None), Term)


def _said(part: Any, given: bool = True) -> Iterator[tuple[tuple[str, ...], ix.Expr]]:
    """What a part defines (also for itself alone, as ``given``), and the value of its general entry: whatever
    letters its indices and arguments have.
    """
    said = [(part.name, part.meaning)] if _names_something(part) else []
    if given:
        said += [(g.defined, g.value) for g in getattr(part, "given", ()) or ()]
    for name, value in said:
        with suppress(NonConformable, ValueError):  # which its engine will say
            at = tuple(Index(f"h{n}#", dim) for n, dim in enumerate(value.shape()))
            left, right = name.entry(*at), value.entry(*at)
            function = left.function if isinstance(left, ix.Call) and isinstance(left.arg, ix.At) else ""
            if function:
                left = left.arg
                own = Tensor("argument#", left.tensor.dims)
                right = ix.define(right, left.tensor, lambda *i, own=own: ix.At(own, i))
            if isinstance(left, ix.At):
                at = left.indices
                places = {i: Index(f"d{at.index(i)}#", i.dim) for i in at}
                entry = (f"{at.index(i)} of {i.dim}" for i in at)
                yield (function or left.tensor.name, *entry), ix.rename(right, places)


def _equal(one: ix.Expr, two: ix.Expr) -> bool:
    try:
        return nf.equal(one, two)
    except ZeroDivisionError:
        return one == two


def defined_elsewhere(part: Any, pieces: tuple[Any, ...]) -> str:
    """The names that a part uses, another one defines, and nothing says in the part itself."""
    own = {thing[0] for thing, _ in _said(part)}
    used = {canonical(name) for t in tensors_of(part) for name in (t.name, t.latex) if t.name not in own}
    used |= {x for term in terms_of(part) for expr in entries(term) for x in _called(expr)} - own
    names: set[str] = set()
    for other in (p for p in pieces if _names_something(p) and p is not part and not _cases(p, part)):
        for thing, _ in _said(other, False):
            latex = {canonical(t.latex) for t in tensors_of(other.name) if t.name == thing[0]}
            names |= {thing[0]} if used & ({thing[0]} | latex) - {""} else set()
    return ", ".join(sorted(names))


def check_definition(
    name: Term, meaning: Term, at: tuple[Index, ...], given: tuple[Given, ...], nonzero: tuple[Tensor, ...]
) -> None:
    """Raise Malformed where the left side of a definition is no name, or what it names is promised what
    its meaning is not.
    """
    entry, left = meaning.entry(*at), name.entry(*at)
    named = _tensors(name)
    if named & {g.tensor for g in given} or named & set(nonzero):
        raise Malformed("what is defined is a new name, of which nothing else is said")
    while isinstance(name, Pick | Part | Stack):
        (name,) = name.args
    if isinstance(name, Apply):
        if not is_unknown(name.data[0]) or name.data[2] or not _through(name.args[0], meaning):
            raise Malformed("a definition names a new function, by the values that it takes")
    elif not isinstance(name, Symbol):
        raise Malformed("the left side of a definition is a name")
    elif not isinstance(left, ix.At) or not set(at) <= set(left.indices):
        raise Malformed("the left side of a definition says that several entries are one")
    elif name.data.positive or len(set(left.indices)) == len(left.indices):
        check_promises(name.data, left.indices, entry, given, nonzero)
    elif name.data.symmetric:
        raise Malformed(f"{name.data.name} is promised symmetric, and only some entries are defined")


def _through(arg: Term, meaning: Term) -> bool:
    """Whether a value depends on a function's argument alone: put a new symbol for it, and nothing of
    it is left.
    """
    at = tuple(Index(f"h{n}#", dim) for n, dim in enumerate(arg.shape()))
    if at:  # a function of an array is taken of each entry, and is the same one for all
        if not isinstance(arg, Symbol) or meaning.shape() != arg.shape():
            return False
        own, tensor = meaning.entry(*at), arg.data
        others = ix.define(own, tensor, lambda *i: ix.as_expr(0) if i == at else ix.At(tensor, i))
        return tensor not in ix.tensors(others) and ix.free_indices(others).isdisjoint(at)
    if isinstance(arg, Symbol):
        return True
    value = arg.entry()
    for path, node in subterms(meaning):
        if node != as_term(0) and not node.shape() and nf.equal(node.entry(), value):
            return _through(arg, replace_at(meaning, path, as_term(0)))
    rest = {i for expr in entries(meaning) for i in ix.free_indices(expr)}
    return _tensors(meaning).isdisjoint(ix.tensors(value)) and rest.isdisjoint(ix.free_indices(value))


# ---------------------------------------------------------------- shapes inside


def _inner_shapes(statement: Any) -> None:
    """What is not a side of the statement must have the shape that its place asks for."""
    for item in _pieces(statement):
        if isinstance(item, Given) and item.value.shape():
            raise Malformed(f"an entry of {item.tensor.name} is defined by an object that is no number")
        if isinstance(item, Fact) and item.term.shape():
            raise Malformed(f"{item.name} is about one number: state an entry, (...)[i], for each i")
    if isinstance(statement, Identity) and statement.chain:
        shapes = {term.shape() for term in (statement.lhs, *(link.term for link in statement.chain))}
        if len(shapes) > 1:
            raise Malformed("the terms of the chain have different shapes")
    conclusion = getattr(statement, "conclusion", None)
    if isinstance(conclusion, Fact):
        for fact in (*statement.hypotheses, conclusion):
            _divides(fact)
        own = conclusion.term.entry()
        shared = shared_with(conclusion)
        for fact in (f for f in statement.hypotheses if f.relation == conclusion.relation):
            if any(nf.equal(expr, own) for expr in in_other_letters(fact.term.entry(), shared, shared)):
                raise Malformed(f"the hypothesis {fact.name} is the conclusion")
    for term in terms_of(statement):
        for derived in _derived(term):
            derived.shape()


def _divides(fact: Fact) -> None:
    """Raise Malformed for a fact that has no value anywhere."""
    try:
        nf.normal(fact.term.entry())
    except ZeroDivisionError:
        raise Malformed(f"{fact.name} divides by what is always 0") from None


def in_other_letters(expr: ix.Expr, kept: set[Index], others: set[Index]) -> Iterator[ix.Expr]:
    """An expression, and it with some of the ``others`` in place of all its indices but those ``kept``, for
    all values of which it is said.
    """
    yield expr
    own = ix.free_indices(expr)
    if loose := sorted(own - kept, key=lambda i: i.name):
        yield from ix.renamings(expr, loose, sorted(others - own, key=lambda i: i.name))


def _pieces(item: Any) -> Iterator[Given | Fact | Link]:
    if isinstance(item, (Given, Fact, Link)):
        yield item
    elif isinstance(item, (tuple, list)):
        for part in item:
            yield from _pieces(part)
    elif hasattr(item, "__dataclass_fields__") and not isinstance(item, (type, Term)):
        for name in item.__dataclass_fields__:
            yield from _pieces(getattr(item, name))


# ---------------------------------------------------------------- definitions and derived terms


def _derived_terms(statement: Any) -> None:
    """Where a definition depends on what is differentiated by or replaced, "hold it fixed" is not said."""
    given = tuple(getattr(statement, "given", ()) or ())
    for term in terms_of(statement):
        for derived in _derived(term):
            inner, tensor = derived.by()
            used = _tensors(inner)
            if isinstance(derived, Moved):
                _not_caught(inner, *derived.data)
            _moving(tensor, used, given)
            calls = [n for expr in entries(inner) for n in ix.walk(expr) if isinstance(n, ix.Call)]
            if tensor == EXPONENT and any(n.function == "power" for n in calls):
                raise Malformed("the symbolic exponent stays a symbol")
            _kept_promises(derived, tensor, given, tuple(getattr(statement, "nonzero", ()) or ()))
    fixed = {g.tensor for g in (*given, *(getattr(statement, "choice", ()) or ()))}
    moved = {getattr(statement, field, None) for field in ("variable", "state", "small", "size")}
    if isinstance(getattr(statement, "name", None), Term):
        fixed |= _tensors(statement.name)
    if EXPONENT in fixed | moved:
        raise Malformed("the symbolic exponent stays a symbol")
    variable = getattr(statement, "variable", None)
    if isinstance(variable, Tensor) and hasattr(statement, "energy"):
        _moving(variable, {g.tensor for g in given}, given)


def _kept_promises(
    derived: Derived, tensor: Tensor, given: tuple[Given, ...], nonzero: tuple[Tensor, ...]
) -> None:
    """What replaces a tensor, or the direction in which it moves, must keep what is promised of it."""
    if isinstance(derived, Gradient) and tensor.symmetric:
        raise Malformed(f"{tensor.name} is symmetric: its entries are not independent variables")
    if isinstance(derived, Differential) and tensor.symmetric and not derived.data[2].symmetric:
        raise Malformed(f"{tensor.name} is symmetric, and moves in a direction that is not")
    if isinstance(derived, Moved):
        if tensor not in _tensors(derived.args[0]):
            raise Malformed(f"{tensor.name} is replaced where it does not occur")
        keep_promises(tensor, derived.data[1], given, nonzero)


def keep_promises(
    tensor: Tensor, value: Term, given: tuple[Given, ...] = (), nonzero: tuple[Tensor, ...] = ()
) -> None:
    """Raise Malformed where a value put for a tensor is not visibly positive, or symmetric, and the
    tensor is promised to be.
    """
    at = tuple(Index(f"h{n}#", dim) for n, dim in enumerate(tensor.dims))
    if tensor.positive or tensor.symmetric:
        check_promises(tensor, at, value.entry(*at), given, nonzero)


def _not_caught(inner: Term, tensor: Tensor, value: Term) -> None:
    """No sum may bind a letter of what is put in: as printed it is then read as the letter of the sum."""
    scopes = [_bound(t) for _, t in subterms(inner) if tensor in _tensors(t)]
    if caught := set().union(*scopes) & {i.latex.strip() for i in free(value)}:
        raise Malformed(
            f"{', '.join(sorted(caught))} in what is put for {tensor.name} is a letter that is bound there"
        )


def _bound(term: Term) -> set[str]:
    """The letters that a term binds as it is printed: of a softmax its own, over which it is normalised."""
    if isinstance(term, Raw):
        return set(re.findall(r"\\sum_\{(.+?)=1\}", term.latex()))
    return {term.data.latex.strip()} if isinstance(term, SumOver | Stack | Softmax) else set()


def _derived(term: Term) -> Iterator[Derived]:
    if isinstance(term, Derived):
        yield term
        yield from _derived(term.by()[0])
    for part in (
        (*term.args, *(x for x in term.data or () if isinstance(x, Term)))
        if isinstance(term.data, tuple)
        else term.args
    ):
        yield from _derived(part)


def _moving(tensor: Tensor, used: set[Tensor], given: tuple[Given, ...]) -> None:
    """A definition of the moved tensor itself says where the derivative is taken, which is no ambiguity."""
    others = tuple(g for g in given if g.tensor != tensor)
    for g in others:
        if g.tensor in used and tensor in ix.tensors(apply_definitions(g.value.entry(), others)):
            raise Malformed(f"{g.tensor.name} is defined, and {tensor.name}, on which it depends, is moved")


def _tensors(term: Term) -> set[Tensor]:
    return {t for expr in entries(term) for t in ix.tensors(expr)}


def entries(term: Term) -> list[ix.Expr]:
    """The general entry of a term, one for each block of a stacked one; none of one that does not fit
    together.
    """
    try:
        blocks = product(*(summands(dim) for dim in term.shape()))
        return [term.entry(*(Index(f"h{n}#", dim) for n, dim in enumerate(dims))) for dims in blocks]
    except (NonConformable, ValueError):
        return []
