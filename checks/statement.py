"""Statement kinds: the few shapes in which the papers' claims are declared.

A statement is data. The engines (``checks.engine.judge``) decide it, the mutants are made from it, the pages
print it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from string import ascii_lowercase
from typing import Any, ClassVar

import sympy as sp

from derivations.calculus.documented import allows
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Term, as_term, free


class Malformed(ValueError):
    """A statement that says nothing: circular definitions, hypotheses that contradict each other, no
    content.
    """


def sized(shape: tuple[str, ...]) -> str:
    """A shape as errors name it."""
    return " x ".join(shape) or "a number"


@dataclass(frozen=True)
class Given:
    """A hypothesis that fixes a tensor: ``tensor[at] = value``, with the reason why it may be used."""

    tensor: Tensor
    at: tuple[Index, ...]
    value: Term
    reason: str

    def __post_init__(self) -> None:
        if len(set(self.at)) < len(self.at) or tuple(i.dim for i in self.at) != self.tensor.dims:
            raise ValueError(
                f"{self.tensor.name} is not defined everywhere: it needs a different index for each dimension"
            )

    @property
    def defined(self) -> Term:
        """The symbol, or the entry, that has the value."""
        whole = as_term(self.tensor)
        return whole[self.at] if self.at else whole


@dataclass(frozen=True)
class Link:
    """An intermediate term of a chain of equalities and why it equals the one before it; ``printed`` if the
    paper has it, and so the display.
    """

    term: Term
    reason: str
    printed: bool = True


@dataclass(frozen=True)
class Identity:
    """``lhs = rhs`` for all values of the free symbols and indices, under the given definitions.

    ``chain`` lists intermediate terms; ``nonzero`` the tensors that are assumed to have no entry 0 (that
    a vector k is not the zero vector is a hypothesis of an `Implication`, ``Fact("k", squared_norm(k),
    ">")``); ``sizes`` the dimensions of exact instances where the default (2 or 3, perfect powers under
    roots) will not do.
    """

    lhs: Term
    rhs: Term
    given: tuple[Given, ...] = ()
    chain: tuple[Link, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    reason: str = "both sides have the same normal form"
    sizes: tuple[tuple[str, int], ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        if any(not isinstance(n, int) or n < 1 for _, n in self.sizes):
            raise ValueError("a size is a whole number from 1 on")


RELATIONS = {"=": "= 0", "!=": r"\ne 0", ">=": r"\ge 0", ">": "> 0"}
"""The relations of a number to zero, and their LaTeX."""


@allows(relation=RELATIONS)
@dataclass(frozen=True)
class Fact:
    """``term relation 0``."""

    name: str
    term: Term
    relation: str

    def latex(self) -> str:
        """The relation as printed."""
        return f"{self.term.latex()} {RELATIONS[self.relation]}"


@dataclass(frozen=True)
class Definition:
    """Names something. Its terms must have agreeing shapes and be defined (no division by zero)."""

    name: Term
    meaning: Term
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    label: str = ""


@dataclass(frozen=True, init=False)
class All:
    """Several statements that together make the claim: ``All(one, two)``. Raises TypeError for a tuple of
    them.
    """

    parts: tuple[Any, ...]

    def __init__(self, *parts: Statement) -> None:
        if any(isinstance(part, tuple) for part in parts):
            raise TypeError("the parts of a claim are given one by one: All(one, two)")
        object.__setattr__(self, "parts", parts)


class Kind:
    """Base of the kinds that live in ``checks.kinds``: data with a label and a ``statement_latex`` method.

    ``nested`` says that what it prints are statements with conditions of their own. A kind's module registers
    its engine in ``checks.engine.judge.ENGINES``.
    """

    label: str = ""
    nested: ClassVar[bool] = False
    exists: ClassVar[bool] = False  # says that something is so for some values, not for all
    at_points: ClassVar[bool] = False  # refuted only at a point where all that it needs was looked at

    def statement_latex(self) -> str:
        """The statement as displayed mathematics."""
        raise NotImplementedError


Statement = Kind | Identity | Definition | All


def shared_with(conclusion: Fact) -> set[Index]:
    """The indices that are the same in a conclusion and in its hypotheses: all that it prints, also where
    its value does not depend on them.
    """
    return free(conclusion.term)


def follows_latex(hypotheses: tuple[Fact, ...], conclusion: Fact) -> str:
    """Hypotheses and conclusion as printed, with what their indices run over: those of the conclusion all of
    it, others a hypothesis alone.
    """
    if not hypotheses:
        return conclusion.latex()
    shared = shared_with(conclusion)
    left = r",\quad ".join(h.latex() + for_all(free(h.term) - shared, r"\ ") for h in hypotheses)
    return rf"{left} \;\Longrightarrow\; {conclusion.latex()}" + for_all(shared, r"\qquad ")


def for_all(indices: set[Index], before: str) -> str:
    """What says that a formula holds for each of some indices, after ``before``; nothing without indices."""
    names = ", ".join(sorted({i.latex.strip() for i in indices}))
    return rf"{before}\text{{(each }} {names}\text{{)}}" if names else ""


def parts(statement: Statement) -> tuple[Any, ...]:
    """The simple statements of a claim."""
    if isinstance(statement, All):
        return tuple(p for part in statement.parts for p in parts(part))
    return (statement,)


def leaves(statement: Statement) -> Iterator[Any]:
    """The simple statements of a claim, those of its families' cases in their place."""
    for part in parts(statement):
        if getattr(part, "nested", False):
            for case in (part.general, *(case for _, case in part.cases)):
                yield from leaves(case) if case is not None else ()
        else:
            yield part


def names(statement: Statement) -> list[str]:
    """The letters by which display and evidence call the parts: (a), (b), …; of a single one, nothing."""
    count = len(parts(statement))
    if count < 2:
        return [""] * count
    return [f"({ascii_lowercase[n % 26] * (1 + n // 26)})" for n in range(count)]


def kind(statement: Statement) -> str:
    """The name of a statement's kind; several kinds are joined by '+'."""
    return "+".join(dict.fromkeys(type(p).__name__ for p in parts(statement)))


def tensors_of(statement: Any) -> set[Tensor]:
    """Every tensor that a statement mentions: in its formulas, definitions, programs and offered points."""
    found: set[Tensor] = set()
    todo: list[Any] = [statement]
    while todo:
        item = todo.pop()
        if isinstance(item, Tensor):
            found.add(item)
        elif isinstance(item, Term):
            todo += [*item.args, item.data]
        elif isinstance(item, (tuple, list)):
            todo += item
        elif is_dataclass(item) and not isinstance(item, (type, Index)):
            todo += list(vars(item).values())
    return found


def held(item: Any) -> Iterator[Any]:
    """What a statement is made of: its fields, theirs and so on, down to formulas, symbols and numbers."""
    yield item
    if isinstance(item, (tuple, list)):
        for part in item:
            yield from held(part)
    elif is_dataclass(item) and not isinstance(item, (type, Index, Tensor, Term)):
        for f in fields(item):
            yield from held(getattr(item, f.name))


def functions_of(item: Any) -> Iterator[Callable[..., Any]]:
    """The functions that a statement holds: what they give may change while the statement stays the same."""
    # SymPy's symbols make functions
    return (part for part in held(item) if callable(part) and not isinstance(part, (type, sp.Basic)))


def occurring(tensors: tuple[Tensor, ...], *terms: Term) -> tuple[Tensor, ...]:
    """Those that terms mention, which under other assumptions may be none: what is promised of others would
    be a mistake.
    """
    mentioned = tensors_of(terms)
    return tuple(t for t in tensors if t in mentioned)


def terms_of(item: Any) -> Iterator[Term]:
    """The terms of a statement, those of its definitions and chains as well."""
    if isinstance(item, Term):
        yield item
    elif isinstance(item, (tuple, list)):
        for part in item:
            yield from terms_of(part)
    elif is_dataclass(item) and not isinstance(item, (type, Index, Tensor)):
        for f in fields(item):
            yield from terms_of(getattr(item, f.name))
