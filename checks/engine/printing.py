"""LaTeX of statements: what is printed is what the engines decide, with every condition."""

from __future__ import annotations

import dataclasses
from typing import Any

from checks import statement as st
from checks.engine.notation import all_terms, notation
from derivations.calculus.functions import EXPONENT
from derivations.calculus.gradients import SymbolicPower
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import MatMul, Pick, Term, as_term, named, subterms


def part_latex(part: Any, name: str = "") -> str:
    """One simple statement as LaTeX, with its definitions and every promise that its engine may use; behind
    its name, if it has one.
    """
    text, end = _statement_latex(part), conditions_latex(part)
    text = rf"\text{{{name}}}\quad {text}" if name else text
    if not end or (isinstance(part, st.Kind) and part.nested):
        return text
    return rf"\begin{{gathered}}{text} \\ {end}\end{{gathered}}"


def added(*terms: str) -> str:
    """Terms as a sum; one that starts with a minus is subtracted."""
    return " + ".join(terms).replace("+ -", "- ")


def conditions_latex(part: Any) -> str:
    """The definitions, what is assumed not to vanish, and the promises of the symbols of a statement;
    "" for none.
    """
    given = getattr(part, "given", ()) or ()
    lines = [rf"{_name(g.tensor, g.at)} = {g.value.latex()}" for g in given]
    program = getattr(part, "program", None)
    for tensor in getattr(program, "semidefinite", ()):
        lines.append(rf"{as_term(tensor).latex()} \succeq 0")
    for tensor, inverse in getattr(program, "inverses", ()):
        lines.append(rf"{as_term(inverse).latex()} = {as_term(tensor).latex()}^{{-1}}")
    nonzero = (*getattr(part, "nonzero", ()), *getattr(program, "nonzero", ()))
    lines += [rf"{_name(t, _place(part, t))} \ne 0" for t in nonzero]
    # ranges and the domain of points are printed with them
    shown = (
        {t for t, *_ in getattr(part, "ranges", ())}
        | {g.tensor for g in given}
        | {getattr(part, "points", None)}
    )
    # a limit whose step has no step size promises nothing of it
    idle = {getattr(part, "size", None)} - st.tensors_of(tuple(st.terms_of(part)))
    tensors = sorted(st.tensors_of(part) - shown - idle, key=lambda t: (t.name, t.dims))
    if any(isinstance(t, SymbolicPower) for t in all_terms(part)):
        lines.append(r"p \in \{1, 2, 3, \dots\}")
        tensors = [t for t in tensors if t != EXPONENT]
    lines += [f"{_name(t, _place(part, t))} > 0" for t in tensors if t.positive]
    lines += [rf"{t.symbol}^\top = {t.symbol}" for t in tensors if t.symmetric]
    lines = [*notation(part), *lines]
    return r"\text{where}\quad " + r",\quad ".join(lines) if lines else ""


def _place(part: Any, tensor: Tensor) -> tuple[Index, ...] | None:
    """The letters at which a statement first has an entry of an array; None where it has none."""
    entries = (
        node.data
        for term in st.terms_of(part)
        for _, node in subterms(term)
        if isinstance(node, Pick) and node.args[0].data == tensor and len(set(node.data)) == len(tensor.dims)
    )
    return next(entries, None)


def _name(tensor: Tensor, at: tuple[Index, ...] | None = None) -> str:
    """A tensor's entry, at letters of its own where none are given."""
    if not tensor.dims:
        return tensor.symbol
    places = at or tuple(Index(letter, dim) for letter, dim in zip("ijklm", tensor.dims, strict=False))
    return as_term(tensor)[places].latex()


def _grouped(term: Term) -> Term:
    """The same with parentheses around a product of matrices that is the second factor of another."""
    if not term.args:
        return term
    args = tuple(map(_grouped, term.args))
    if isinstance(term, MatMul) and isinstance(term.args[1], MatMul):
        args = (args[0], named(rf"\left({args[1].latex()}\right)", args[1]))
    return dataclasses.replace(term, args=args)


def equation(*members: Term) -> str:
    """Members of an equation; where two differ in the groups of their factors alone, these are shown."""
    texts = [term.latex() for term in members]
    if len(set(texts)) < len(texts):
        texts = [_grouped(term).latex() for term in members]
    return " = ".join(texts)


def _statement_latex(part: Any) -> str:
    match part:
        case st.Identity():
            members = (part.lhs, *(link.term for link in part.chain if link.printed), part.rhs)
            return equation(*members)
        case st.Definition():
            return f"{part.name.latex()} := {part.meaning.latex()}"
        case st.All():
            return r",\quad ".join(map(part_latex, part.parts))
    return part.statement_latex()
