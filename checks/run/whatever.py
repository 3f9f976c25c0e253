"""Whether a statement holds whatever the sides of another stand for, and so says nothing of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import sympy as sp

from checks.engine.judge import judge
from checks.kinds.extremum import Extremum
from checks.kinds.follows import Follows, certificate_error
from checks.kinds.gaussian import GaussianMean
from checks.kinds.stationary import Stationary
from checks.run.severity import unpromised
from checks.statement import Fact, tensors_of, terms_of
from derivations.calculus.index import Index, Tensor
from derivations.calculus.term import Number, Symbol, Term, as_term, free, picked_from, subterms, whole

SIDES = ("lhs", "rhs", "exact", "approximate", "value", "step", "limit", "energy", "point", "conclusion")
"""The fields of statements that hold what they say of one another."""


def holds_whatever(repair: Any, printed: Iterable[Any]) -> bool:
    """Whether a repair mentions formulas that are sides of what is printed, and holds as well with symbols of
    which nothing is known in the place of one or of all. A side that another one is made of is what is said
    of any number: (a + b)² = a + b speaks of squares.
    """
    if isinstance(repair, GaussianMean):
        return any(_any_mean(repair, p.value) for p in printed if isinstance(p, GaussianMean))
    formulas = {unpromised(t): t for p in printed for t in _formulas(p)}
    within = {
        said
        for t in formulas.values()
        for _, part in subterms(t)
        if (said := unpromised(part)) != unpromised(t)
    }
    alone = [{said} for said in formulas if said not in within]
    return any(_holds_for_any(repair, sides) for sides in (set(formulas), *alone))


def _holds_for_any(repair: Any, sides: set[Any]) -> bool:
    try:
        general = stood_for(repair, sides)
        if general == repair or (isinstance(general, Extremum | Stationary) and not _moved(general)):
            return False
        if isinstance(general, Follows):  # its points have no values for what may be anything
            return not certificate_error(general)
        if getattr(general, "witness", None):  # nor has a point that is offered
            general = replace(general, witness=type(general).witness)
        return judge(general, with_mutants=False).holds is True
    except (ValueError, ArithmeticError):  # then it has no form but with these sides
        return False


def stood_for(item: Any, sides: set[Any]) -> Any:
    """A formula, or what is made of formulas, with symbols of their own, of the same indices, in the place of
    some of them, which are given without promises.
    """
    printed = "".join(t.latex() for t in terms_of(item))
    letters = [letter for letter in _LETTERS if letter not in printed] or _LETTERS
    names = {
        said: letters[n % len(letters)] + "'" * (n // len(letters))
        for n, said in enumerate(sorted(sides, key=whole))
    }
    return _put(item, names)


_LETTERS = [rf"\{name}" for name in "Xi Psi Upsilon Omega Phi Theta Pi Lambda Delta".split()] + list(
    "ABCDEFGHJK"
)
"""How a symbol that may stand for anything is printed, where the letter is not taken."""


def _put(item: Any, names: dict[Any, str]) -> Any:
    if isinstance(item, tuple):
        return tuple(_put(part, names) for part in item)
    if isinstance(item, Term):
        if (said := unpromised(item)) not in names:
            return replace(item, args=_put(item.args, names), data=_below(item.data, names))
        at = tuple(sorted(free(item), key=repr))
        dims = (*(i.dim for i in at), *item.shape())
        side = as_term(Tensor(f"side {names[said]}", dims, names[said]))
        return side[at] if at else side
    if is_dataclass(item) and not isinstance(item, (type, Tensor, Index)):
        values = {f.name: getattr(item, f.name) for f in fields(item)}
        return replace(item, **{name: _put(value, names) for name, value in values.items()})
    return item


def _below(data: Any, names: dict[Any, str]) -> Any:
    """What a derivative is of, or is put for a tensor."""
    derived = isinstance(data, tuple) and any(isinstance(x, Term) for x in data)
    return _put(data, names) if derived else data


def _formulas(part: Any) -> Iterator[Term]:
    """The sides of a statement, without numbers and symbols, which may stand for anything as they are."""
    for name in SIDES:
        side = getattr(part, name, None)
        side = side.term if isinstance(side, Fact) else side
        if isinstance(side, Term) and not isinstance(picked_from(side), Number | Symbol):
            yield side


def _moved(part: Extremum | Stationary) -> bool:
    """Whether the energy still depends on what is moved: a symbol for all of it would not."""
    return part.variable in tensors_of(part.energy)


def _any_mean(repair: GaussianMean, printed: sp.Expr) -> bool:
    """Whether a mean is the printed value whatever that is."""
    if not printed.free_symbols or repair.value != printed or not repair.integrand.has(printed):
        return False
    any_value = sp.Symbol("V", real=True)
    general = replace(repair, integrand=repair.integrand.xreplace({printed: any_value}), value=any_value)
    try:
        return judge(general, with_mutants=False).holds is True
    except (ValueError, ArithmeticError):
        return False
