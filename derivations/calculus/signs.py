"""The visible signs of expressions: one decider for every engine.

A sign is the set of those of -1, 0, 1 that a value may have, as far as the form of the expression shows;
``ANY`` says nothing. Sizes of dimensions are at least one, but for those that are written as differences.
Facts (promises, hypotheses, definitions) come as ``Facts``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.functions import ANY, NONNEGATIVE, POSITIVE, domain_of, is_bounded, signs_of
from derivations.calculus.naming import may_vanish
from derivations.calculus.order import is_mask

Signs = frozenset[int]
ZERO: Signs = frozenset((0,))
NONZERO: Signs = frozenset((-1, 1))
_MOST = 200
"""Lower forms that are tried."""
_LINES = 60
"""Lines below exponentials and logarithms that are tried: each is multiplied out."""
_KEPT = 5_000
"""Forms of which it is kept what lower ones say."""


@dataclass(frozen=True)
class Facts:
    """What is known besides promises: the signs of every entry of a tensor, and of expressions by their
    normal form; ``literally`` leaves out what follows for their multiples by what is positive, that 1
    less a delta is not negative, and that a sum is at least each of its summands.
    """

    tensors: dict[ix.Tensor, Signs] = field(default_factory=dict)
    forms: dict[nf.Form, Signs] = field(default_factory=dict)
    literally: bool = False
    lower: dict[nf.Form, Signs] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What lower forms were found to say of a form: asked again for every logarithm of it."""

    def of(self, expr: ix.Expr) -> Signs:
        """What is said of an expression as a whole, or of its negative."""
        return self.about(nf.normal(expr)) if self.forms else ANY

    def about(self, form: nf.Form) -> Signs:
        """What is said of a form, or of it times something that is positive or negative."""
        known, own = ANY, self._part(form)
        mirrored = nf.scale(own, -1)
        for other, said in self.forms.items():
            part = self._part(other)
            known &= said if part == own else ANY
            known &= frozenset(-s for s in said) if part == mirrored else ANY
        return known

    def within(self, index: ix.Index) -> Facts:
        """What is known where a sum binds an index: what is said of a free one of its name is of another."""
        token = nf.Token("i", index.name, index.dim)
        kept = {form: said for form, said in self.forms.items() if not nf.mentions(form, [token])}
        return self if len(kept) == len(self.forms) else replace(self, forms=kept)

    def _part(self, form: nf.Form) -> nf.Form:
        return form if self.literally else nf.primitive(form)


NONE = Facts()


def _promised(tensor: ix.Tensor) -> Signs:
    return POSITIVE if tensor.positive else NONNEGATIVE if is_mask(tensor) else ANY


def _times(one: Signs, two: Signs) -> Signs:
    return frozenset(a * b for a in one for b in two)


def _plus(one: Signs, two: Signs) -> Signs:
    found: set[int] = set()
    for a in one:
        for b in two:
            found |= ANY if a * b < 0 else {a or b}
    return frozenset(found)


def _power(base: Signs, exponent: Fraction) -> Signs:
    if exponent == 0:
        return POSITIVE
    even = exponent.denominator % 2 == 0
    if even:
        base = base & NONNEGATIVE  # where it is defined
    if exponent < 0:
        base = base - ZERO
    return frozenset(s if even or exponent.numerator % 2 else s * s for s in base)


def signs(expr: ix.Expr, facts: Facts = NONE) -> Signs:
    """The signs that an expression may have where it is defined: from its form as written and from its
    normal form.
    """
    written = _written(expr, facts)
    if len(written) <= 1:
        return written
    try:
        return written & _of_form(nf.normal(expr), facts)
    except ZeroDivisionError:
        return written


def _written(expr: ix.Expr, facts: Facts) -> Signs:
    known = facts.of(expr)
    match expr:
        case ix.Num(value):
            return frozenset(((value > 0) - (value < 0),))
        case ix.Dim(name):
            return _of_size(name)
        case ix.Delta(left, right):
            return POSITIVE if left == right else NONNEGATIVE
        case ix.At(tensor, _):
            return known & facts.tensors.get(tensor, ANY) & _promised(tensor)
        case ix.Add(args) if not facts.literally and _is_complement(args):
            return known & NONNEGATIVE
        case ix.Add(args):
            total = ZERO
            for arg in args:
                total = _plus(total, _written(arg, facts))
            return known & total
        case ix.Mul(args):
            return known & _square_of(args, facts)
        case ix.Pow(base, exponent):
            return known & _power(_written(base, facts), exponent)
        case ix.Call("log", arg, 0):  # where it is defined
            less = _less_one(arg)
            known &= signs(less, facts)
            with suppress(ZeroDivisionError):
                known &= _of_cleared(nf.normal(less), facts)
            return known
        case ix.Call(function, arg, order):
            return known & signs_of(function, order, lambda: _written(arg, facts))
        case ix.Sum(index, body):
            inner = _written(body, facts.within(index))
            return known & _summed(inner, (index.dim,))
    return known


def _of_size(name: str) -> Signs:
    return NONNEGATIVE if may_vanish(name) else POSITIVE


def _less_one(arg: ix.Expr) -> ix.Expr:
    """An expression less 1, which is taken off the number that it has among its terms."""
    terms = list(arg.args) if isinstance(arg, ix.Add) else [arg]
    number = sum((t.value for t in terms if isinstance(t, ix.Num)), Fraction(-1))
    rest = [t for t in terms if not isinstance(t, ix.Num)]
    return ix.Add((*([ix.Num(number)] if number else []), *rest))


def _summed(inner: Signs, sizes: tuple[str, ...]) -> Signs:
    """The signs of a sum: of no summands it is 0."""
    return inner | _plus(inner, inner) | frozenset().union(*(_of_size(size) - POSITIVE for size in sizes))


def _is_complement(args: tuple[ix.Expr, ...]) -> bool:
    """Whether a sum is 1 less a delta or an entry of a mask, which are 0 or 1."""
    match args:
        case (ix.Num(one), ix.Mul((ix.Num(minus), ix.Delta() | ix.At() as taken))) if one == 1 == -minus:
            return isinstance(taken, ix.Delta) or is_mask(taken.tensor)
    return False


def _square_of(args: tuple[ix.Expr, ...], facts: Facts) -> Signs:
    """The signs of a product, in which equal factors are squares."""
    product, left = POSITIVE, list(args)
    while left:
        first = left.pop()
        own = _written(first, facts)
        twin = next((other for other in left if _alike(first, other)), None)
        if twin is not None:
            left.remove(twin)
            own = frozenset(s * s for s in own)
        product = _times(product, own)
    return product


def _alike(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two factors are the same expression, bound indices aside."""
    if one == two or type(one) is not type(two) or not isinstance(one, (ix.Sum, ix.Add, ix.Mul)):
        return one == two
    try:
        return bool(nf.normal(one) == nf.normal(two))
    except ZeroDivisionError:
        return False


def _of_form(form: nf.Form, facts: Facts) -> Signs:
    """The signs of a normal form: those of its monomials added, each the product of its atoms'; a sum of
    what is not negative is at least each of its summands.
    """
    total = _added(form, facts)
    if total != ANY or facts.literally:
        return total
    if form not in facts.lower:
        above = _of_lower(form, facts)
        own = above if above != ANY else frozenset(-s for s in _of_lower(nf.scale(form, -1), facts))
        if len(facts.lower) >= _KEPT:
            facts.lower.clear()
        facts.lower[form] = own
    return facts.lower[form]


def _added(form: nf.Form, facts: Facts) -> Signs:
    total = ZERO
    for mono, coefficient in form:
        total = _plus(total, _of_monomial(mono, coefficient, facts))
    return total


def _of_monomial(mono: nf.Mono, coefficient: Fraction, facts: Facts) -> Signs:
    dims, _, factors = mono
    own: Signs = frozenset((1 if coefficient > 0 else -1,))
    for atom, exponent in factors:
        own = _times(own, _power(_of_atom(atom, facts), exponent))
    own = own or ZERO  # with no value but where a delta beside it is 0: it counts nothing then
    return _summed(own, dims) if dims else own


def _of_lower(form: nf.Form, facts: Facts) -> Signs:
    """The signs of a form that a lower one, step by step of fewer terms, shows not to be negative, or to be
    positive; few are tried.
    """
    todo, seen, few = [form], {form}, iter(range(_LINES))
    while todo:
        own = todo.pop()
        lines = (line for _, line in zip(few, _tangents(own, facts), strict=False))
        for lower in chain(_lowered(own, facts), _bounded(own, facts), lines):
            if len(lower) >= len(own) or lower in seen:
                continue
            if len(seen) >= _MOST:
                return ANY
            known = _added(lower, facts)
            if known <= NONNEGATIVE:
                return POSITIVE if known <= POSITIVE else NONNEGATIVE
            seen.add(lower)
            todo.append(lower)
    return ANY


def _lowered(form: nf.Form, facts: Facts) -> Iterator[nf.Form]:
    """What a form is at least and has fewer terms: one of them that is not negative is replaced by less, so
    that it meets another.
    """
    tokens = sorted(nf.free_tokens(form))
    for mono, coefficient in form:
        if not _of_monomial(mono, coefficient, facts) <= NONNEGATIVE:
            continue
        rest = tuple(part for part in form if part[0] != mono)
        for less in islice(_parts(mono, tokens), _MOST):
            yield nf.add(rest, nf.scale(less, coefficient))


def _bounded(form: nf.Form, facts: Facts) -> Iterator[nf.Form]:
    """What a form is at least: one of its terms, in which functions between -1 and 1 are beside what is not
    negative, is replaced by its least value.
    """
    for mono, coefficient in form:
        dims, height, factors = mono
        rest = (dims, height, tuple(factor for factor in factors if not _is_bounded(*factor)))
        if rest != mono and _of_monomial(rest, Fraction(1), facts) <= NONNEGATIVE:
            yield _with_factor(form, [mono], rest, nf.number(-abs(coefficient)))


def _is_bounded(atom: nf.Atom, exponent: Fraction) -> bool:
    whole = exponent > 0 and exponent.denominator == 1
    return whole and atom[0] == "C" and atom[2] == 0 and is_bounded(atom[1])


def _tangents(form: nf.Form, facts: Facts) -> Iterator[nf.Form]:
    """What a form is at least by exp(w) >= 1 + w, and by L >= c (1 - exp(-L/c)) for its logarithms L, for
    numbers c > 0; logarithms that are multiplied by the same are taken together.
    """
    logarithms: dict[Any, list[nf.Mono]] = {}
    for mono, coefficient in form:
        dims, height, factors = mono
        exps = [(atom, e) for atom, e in factors if atom[:3] == ("C", "exp", 0)]
        rest = tuple(f for f in factors if f not in exps)
        if exps and _of_monomial((dims, height, rest), coefficient, facts) <= NONNEGATIVE:
            line = nf.add(nf.ONE, *(nf.scale(atom[3], e) for atom, e in exps))
            yield _with_factor(form, [mono], (dims, height, rest), nf.scale(line, coefficient))
        for log in [(atom, e) for atom, e in factors if atom[:3] == ("C", "log", 0) and e == 1]:
            beside = tuple(f for f in factors if f != log)
            # the letters of sums in several terms are not the same
            logarithms.setdefault((dims, height, beside, log if dims else None), []).append(mono)
    have = dict(form)
    for (dims, height, beside, _), monos in logarithms.items():
        sign = _of_monomial((dims, height, beside), Fraction(1), facts)
        if not (sign <= NONNEGATIVE or sign <= frozenset((-1, 0))):
            continue
        side = 1 if sign <= NONNEGATIVE else -1
        more = [m for m in have if m not in monos and not (dims or m[0]) and {*beside} < {*m[2]}]
        for taken in [monos, [*monos, *more]] if beside and more else [monos]:
            left = [nf.multiplied_out((), 0, [f for f in mono[2] if f not in beside]) for mono in taken]
            total = nf.add(*(nf.scale(part, side * have[m]) for part, m in zip(left, taken, strict=True)))
            for c in {abs(have[mono]) for mono in monos}:
                line = nf.add(nf.number(c), nf.scale(nf.exponential(nf.scale(total, -1 / c)), -c))
                yield _with_factor(form, taken, (dims, height, beside), nf.scale(line, side))


def _with_factor(form: nf.Form, without: list[nf.Mono], mono: nf.Mono, factor: nf.Form) -> nf.Form:
    """A form without some of its terms, and with a monomial times another form."""
    dims, height, factors = mono
    own = nf.multiplied_out(dims, height, [*factors, (nf.Kept(("P", factor)), Fraction(1))])
    return nf.add(tuple(part for part in form if part[0] not in without), own)


def _parts(mono: nf.Mono, tokens: list[nf.Token]) -> Iterator[nf.Form]:
    """What is a part of a monomial, all of whose summands have one sign: some of its sums at a free index,
    and without sizes that are factors.
    """
    todo: list[nf.Form] = [((mono, Fraction(1)),)]
    seen = set(todo)
    while todo:
        (own, coefficient), *more = todo.pop(0)
        if more:
            continue
        for part in (*_of_sizes(own), *(one for token in tokens for one in nf.summands(own, token))):
            part = nf.scale(part, coefficient)
            if part and part not in seen:
                seen.add(part)
                todo.append(part)
            yield part


def _of_sizes(mono: nf.Mono) -> Iterator[nf.Form]:
    """A monomial without a size that is a factor: a sum of equal summands, of which there is one at least."""
    dims, height, factors = mono
    for atom, exponent in factors:
        if atom[0] == "D" and exponent >= 1 and not may_vanish(atom[1]):
            yield nf.multiplied_out(dims, height, [*factors, (atom, Fraction(-1))])


def _of_cleared(form: nf.Form, facts: Facts) -> Signs:
    """What the signs of a form are besides, times what is positive in its denominators."""
    whole = form if facts.literally else cleared(form, facts)
    return ANY if whole == form else _of_form(whole, facts)


def cleared(form: nf.Form, facts: Facts) -> nf.Form:
    """A form times the denominators in it that are visibly positive, which keeps its sign."""
    return clearing(form, facts)[0]


def clearing(form: nf.Form, facts: Facts) -> tuple[nf.Form, tuple[nf.Form, ...]]:
    """The same, and these denominators."""
    for (_, _, factors), _ in form:
        for atom, exponent in factors:
            if exponent > 0 or exponent.denominator > 1:
                continue
            times: nf.Form = ((((), 0, ((atom, -exponent),)), Fraction(1)),)
            if all(t.kind == "i" for t in nf.outer(atom)) and _of_form(times, facts) <= POSITIVE:
                whole, more = clearing(nf.mul(form, times), facts)
                return whole, (times, *more)
    return form, ()


def _of_atom(atom: nf.Atom, facts: Facts) -> Signs:
    match atom[0]:
        case "D":
            return _of_size(atom[1])
        case "N":
            return POSITIVE
        case "delta":
            return NONNEGATIVE
        case "T" | "C":
            single = ((((), 0, ((atom, Fraction(1)),)), Fraction(1)),)
            known = facts.forms.get(single, ANY)
            if atom[1:3] == ("log", 0):
                less = nf.add(atom[3], nf.scale(nf.ONE, -1))
                return known & _of_form(less, facts) & _of_cleared(less, facts)
            if atom[0] == "C":
                return known & signs_of(atom[1], atom[2], lambda: _added(atom[3], facts))
            return known & facts.tensors.get(atom[1], ANY) & _promised(atom[1])
        case "P":
            return facts.about(atom[1]) & _of_form(atom[1], facts)
    return ANY


def positive(expr: ix.Expr, facts: Facts = NONE) -> bool:
    """Whether an expression is visibly > 0 wherever it is defined."""
    return signs(expr, facts) <= POSITIVE


def nonnegative(expr: ix.Expr, facts: Facts = NONE) -> bool:
    """Whether an expression is visibly >= 0 wherever it is defined."""
    return signs(expr, facts) <= NONNEGATIVE


# ---------------------------------------------------------------- where an expression is defined


@dataclass(frozen=True)
class Demand:
    """What must hold for an expression to be defined: ``base`` has one of the ``signs``; at a ``kink`` of a
    function, whose derivative is not defined at 0; for an ``odd`` root, which many define below 0 as well.
    """

    base: ix.Expr
    signs: Signs
    kink: bool = False
    odd: bool = False

    def lent(self) -> Signs:
        """The signs of the base wherever this is defined, also for those who define odd roots below 0."""
        return self.signs | frozenset(-s for s in self.signs) if self.odd else self.signs

    def words(self) -> str:
        """The demand as a relation of the base to zero."""
        names = {NONZERO: "≠ 0", NONNEGATIVE: "≥ 0", POSITIVE: "> 0"}
        return names.get(self.signs, "never")


def demands(expr: ix.Expr) -> Iterator[Demand]:
    """What denominators, roots, logarithms and derivatives at kinks ask for, the inner ones as well."""
    for node in ix.walk(expr):
        yield from _own_demand(node)


def _own_demand(node: ix.Expr) -> Iterator[Demand]:
    needed: Signs = ANY
    base, odd = node, False
    match node:
        case ix.Pow(base, exponent):
            needed = NONNEGATIVE if exponent.denominator > 1 else ANY
            needed = needed - ZERO if exponent < 0 else needed
            odd = exponent.denominator % 2 == 1 < exponent.denominator
        case ix.Call(function, base, order):
            needed = domain_of(function, order)
    if needed != ANY:
        yield Demand(base, needed, needed == NONZERO and isinstance(node, ix.Call), odd)


def granted(expr: ix.Expr, few: frozenset[ix.Index]) -> Iterator[Demand]:
    """What holds where an expression is defined for all values of the indices ``few``, which may have none: a
    sum without summands asks for nothing, so of these and of its own indices what is asked for must be about.
    """
    if isinstance(expr, ix.Sum) and may_vanish(expr.index.dim):
        few = few | {expr.index}
    yield from (d for d in _own_demand(expr) if is_about(d.base, few))
    for part in ix.children(expr):
        yield from granted(part, few)


def asks_more(expr: ix.Expr, few: frozenset[ix.Index], known: Callable[[ix.Expr], Signs]) -> bool:
    """Whether an expression asks for what need not hold where it is defined, nor is ``known``: over no
    summands a sum has the value 0 whatever stands in it, and in normal form (N - 1)/(N - 1) is 1.
    """
    said = list(granted(expr, few))
    return any(d not in said and not known(d.base) <= d.signs for d in demands(expr))


def is_about(expr: ix.Expr, indices: frozenset[ix.Index]) -> bool:
    """Whether what has the sign of an expression has all the indices as well."""
    if not indices:
        return True
    return indices <= {ix.Index(str(t.name), t.dim) for t in nf.free_tokens(nf.primitive(nf.normal(expr)))}


def interior(expr: ix.Expr) -> Iterator[Demand]:
    """What must hold for an expression to be defined all around a point, so that it has derivatives there."""
    for demand in demands(expr):
        yield replace(demand, signs=demand.signs - ZERO)
