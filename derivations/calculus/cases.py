"""Signs by cases: an expression with ramps, absolute values or signs is looked at in each case of the signs
of what stands in them, where it is a formula without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import chain, count, product
from math import prod

from derivations.calculus import index as ix
from derivations.calculus import maxima
from derivations.calculus import normal as nf
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index
from derivations.calculus.naming import may_vanish
from derivations.calculus.printing import latex, to_expr
from derivations.calculus.signs import NONE, ZERO, Facts, Signs, cleared, clearing, signs
from derivations.calculus.squares import completed

_MOST = 32
_LARGEST = 1000
"""Nodes of an expression that is looked at by cases: larger ones took minutes, and nothing was seen."""
NONPOSITIVE: Signs = frozenset(-s for s in NONNEGATIVE)
NEGATIVE: Signs = frozenset(-s for s in POSITIVE)
_RELATIONS = {NONNEGATIVE: r"\ge", NONPOSITIVE: r"\le", POSITIVE: ">", NEGATIVE: "<", ZERO: "="}


@dataclass(frozen=True)
class Case:
    """What is assumed of the signs of some expressions, and what is visibly >= 0 then; ``over``: the indices
    over which it is summed; ``shown``: the formula in which that is seen, in LaTeX; ``times``: what is
    positive and was multiplied by before, in LaTeX.
    """

    assumed: tuple[tuple[ix.Expr, Signs], ...]
    rest: ix.Expr
    over: tuple[Index, ...] = ()
    shown: str = ""
    times: str = ""

    def latex(self) -> str:
        """What is assumed, and what is seen."""
        seen = rf"{self.shown or latex(self.rest)} \ge 0"
        if not self.assumed:
            return seen
        known = r",\;".join(f"{latex(arg)} {_RELATIONS[signs]} 0" for arg, signs in self.assumed)
        return rf"{known} \;\Longrightarrow\; {seen}"


def nonnegative(expr: ix.Expr, facts: Facts = NONE, squares: bool = True) -> list[Case] | None:
    """The cases, which leave nothing out, in each of which the expression is visibly >= 0 wherever it is
    defined, if need be after squares are completed; None where one of them is not seen to be, or there are
    too many.
    """
    todo: list[tuple[ix.Expr, tuple[Index, ...], str]] = [(expr, (), "")]
    tried: set[nf.Form] = set()
    while todo and len(tried) < _MOST:
        one, over, times = todo.pop(0)
        if (form := nf.normal(one)) in tried:
            continue
        tried.add(form)
        if signs(one, facts) <= NONNEGATIVE or signs(maxima.upright(one), facts) <= NONNEGATIVE:
            return [Case((), one, over, times=times)]
        if found := _by_cases(one, facts):
            return [replace(case, over=over, times=times) for case in found]
        if squares and (seen := completed(one, facts)) is not None:
            return [Case((), seen.entry(), over, seen.latex(), times)]
        if len(tried) == 1:
            whole, denominators = clearing(form, facts)
            if denominators:
                todo.append((to_expr(whole), (), latex(to_expr(reduce(nf.mul, denominators)))))
        # as a sum over one index, whose summand is looked at
        for index, summand in _summands(one, facts):
            todo += [(way, (*over, index), times) for way in _mirrored(summand, over, index)]
    return None


def _mirrored(summand: ix.Expr, over: tuple[Index, ...], index: Index) -> Iterator[ix.Expr]:
    """A summand, and its mean with what it is where two indices of one range change places: the sum over
    both is the same.
    """
    yield summand
    for other in over:
        if other.dim == index.dim:
            yield (summand + ix.rename(summand, {index: other, other: index})) / 2


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether of two expressions with ramps or signs neither is seen to be less anywhere both are defined;
    False decides nothing.
    """
    pair = (one - two, two - one)
    return maxima.occur(one, two) and all(nonnegative(apart, squares=False) is not None for apart in pair)


def _summands(expr: ix.Expr, facts: Facts) -> Iterator[tuple[Index, ix.Expr]]:
    """What the expression is the sum of over one index, which is given a letter of its own; where several
    bound indices can be that one, in each way.
    """
    form = nf.normal(expr)
    letter = _letter(expr, facts)
    for dim in sorted({dim for (dims, _, _), _ in form for dim in dims}):
        token = nf.Token("i", letter, dim)
        ways = [[*nf.summands(mono, token), *_shares(mono, dim)] for mono, _ in form]
        if prod(map(len, ways)) > _MOST:
            continue
        whole = tuple(next(_shares(mono, dim), None) for mono, _ in form)
        for chosen in product(*ways):
            if chosen != whole:  # else nothing is a summand
                parts = (nf.scale(one, c) for one, (_, c) in zip(chosen, form, strict=True))
                summand = to_expr(nf.add(*parts))
                if _sums(nf.normal(summand)) < _sums(form):  # those of denominators may come back
                    yield Index(letter, dim), summand


def _sums(form: nf.Form) -> int:
    return sum(len(dims) for (dims, _, _), _ in form)


def _letter(expr: ix.Expr, facts: Facts) -> str:
    """A letter that stands for nothing in an expression, and of which nothing is known."""
    taken = {str(t.name) for form in (nf.normal(expr), *facts.forms) for t in nf.free_tokens(form)}
    taken |= {name for t in ix.tensors(expr) for name in (t.name, t.latex, *t.dims)}
    taken |= {node.name for node in ix.walk(expr) if isinstance(node, ix.Dim)}
    names = chain("klmnijabcdefgh", (f"k{n}" for n in count(1)))
    return next(name for name in names if name not in taken)


def _shares(mono: nf.Mono, dim: str) -> Iterator[nf.Form]:
    """What each summand has of a term that does not depend on the index: its N-th part."""
    dims, height, factors = mono
    if not may_vanish(dim):
        yield nf.multiplied_out(dims, height, [*factors, (("D", dim), Fraction(-1))])


def _by_cases(expr: ix.Expr, facts: Facts) -> list[Case] | None:
    found: list[Case] = []
    todo = [Case((), to_expr(maxima.canonical(expr)))]
    while todo:
        case = todo.pop()
        if sum(1 for _ in ix.walk(case.rest)) > _LARGEST:
            return None
        piece = next(_pieces(case.rest, frozenset()), None)
        if _visible(case, facts, ramps=piece is None):
            found.append(case)
        elif piece is None or len(todo) + len(found) >= _MOST:
            return None
        else:
            todo += _split(case, piece)
    return found


def _pieces(expr: ix.Expr, bound: frozenset[Index]) -> Iterator[ix.Expr]:
    """What stands in ramps and signs, innermost first, where no index of a sum is in it."""
    inner = bound | {expr.index} if isinstance(expr, ix.Sum) else bound
    for part in ix.children(expr):
        yield from _pieces(part, inner)
    if maxima.is_piece(expr):
        arg = ix.children(expr)[0]
        if not ix.free_indices(arg) & bound:
            yield arg


def _split(case: Case, arg: ix.Expr) -> list[Case]:
    """The case in which an argument is not negative and that in which it is not positive; the signs of it
    ask for three.
    """
    signed = any(isinstance(n, ix.Call) and n.function == "sign" and n.arg == arg for n in ix.walk(case.rest))
    ways = [(POSITIVE, 1), (ZERO, 0), (NEGATIVE, -1)] if signed else [(NONNEGATIVE, 1), (NONPOSITIVE, -1)]
    return [
        Case((*case.assumed, (arg, known)), to_expr(maxima.canonical(_put(case.rest, arg, sign))))
        for known, sign in ways
    ]


def _put(expr: ix.Expr, arg: ix.Expr, sign: int) -> ix.Expr:
    """The expression with the ramps and signs of ``arg``, whose sign is known, replaced by their values; a
    sum over an index of the same name is left alone.
    """
    if isinstance(expr, ix.Sum) and expr.index in ix.free_indices(arg):
        return expr
    if maxima.is_piece(expr) and ix.children(expr)[0] == arg:
        assert isinstance(expr, ix.Call)
        if expr.function == "sign":
            return ix.Num(Fraction(sign))
        return sign * arg if expr.function == "abs" or sign > 0 else ix.Num(Fraction(0))
    return ix.rebuild(expr, tuple(_put(part, arg, sign) for part in ix.children(expr)))


def _visible(case: Case, facts: Facts, ramps: bool) -> bool:
    """Whether the rest is visibly >= 0, if need be after nonnegative multiples of what is assumed are taken
    off, or by bounds of the ``ramps`` that are left.
    """
    forms = dict(facts.forms)
    for arg, known in case.assumed:
        form = nf.normal(arg)
        forms[form] = forms.get(form, frozenset((-1, 0, 1))) & known
    more = replace(facts, forms=forms)
    form = cleared(_exponentiated(nf.normal(case.rest)), more)
    return _seen(form, list(case.assumed), more) or (ramps and maxima.not_negative(form, more))


def _exponentiated(form: nf.Form) -> nf.Form:
    """A form that is not negative where c log A + R is not, for the only logarithm among the terms: A -
    exp(-R/c) for c > 0, and its negative for c < 0. Those of numbers are of the rest.
    """
    inside = {mono: nf.inside_logarithm(mono) for mono, _ in form}
    logs = [(mono, c) for mono, c in form if (u := inside[mono]) and nf.ratio(u, nf.ONE) is None]
    if len(logs) != 1:
        return form
    (mono, c), rest = logs[0], tuple(part for part in form if part != logs[0])
    argument = inside[mono]
    assert argument
    other = nf.exponential(nf.scale(rest, -1 / c))
    return nf.scale(nf.add(argument, nf.scale(other, -1)), 1 if c > 0 else -1)


def _seen(form: nf.Form, assumed: list[tuple[ix.Expr, Signs]], facts: Facts) -> bool:
    if signs(to_expr(form), facts) <= NONNEGATIVE:
        return True
    for number, (arg, known) in enumerate(assumed):
        own = nf.normal(arg)
        if len(own) < 2 or len(known) > 2:
            continue
        side = nf.scale(own, -1) if known <= NONPOSITIVE else own
        have = dict(form)
        for multiple in {have[mono] / c for mono, c in side if mono in have and have[mono] / c > 0}:
            less = nf.add(form, nf.scale(side, -multiple))
            if _seen(less, assumed[number + 1 :], facts):
                return True
    return False
