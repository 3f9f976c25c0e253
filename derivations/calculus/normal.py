"""A normal form for index expressions: two expressions with the same normal form are equal at every size.

An expression becomes a sum of monomials. A monomial is a rational coefficient, a set of bound indices and
a product of atoms with rational exponents; an atom is a tensor entry, a dimension, a delta between free
indices, a function of a normal form, or a power of a normal form that cannot be multiplied out. Bound
indices are named canonically, so the order in which sums and factors were written does not matter.

For polynomial expressions the form decides equality. With functions and quotients it is sound (equal forms
mean equal values wherever both are defined) and ``is_zero`` also clears denominators; a difference that
it cannot bring to zero is not refuted by it. Refutations come from exact instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import count, product
from typing import Any, NamedTuple

from sympy import factorint

from derivations.calculus import index as ix
from derivations.calculus.naming import may_vanish


class Token(NamedTuple):
    """An index inside a form: ``kind`` is "i" (free), "b" (bound, named (height, number)) or "t"
    (temporary).
    """

    kind: str
    name: str | int | tuple[int, int]
    dim: str


# ("T", tensor, tokens) | ("D", dim) | ("N", prime) | ("C", function, order, form) | ("P", form) |
# ("delta", …)
Atom = tuple[Any, ...]
Mono = tuple[Any, ...]  # ((dims of bound tokens…), height, ((atom, exponent), …))
Form = tuple[Any, ...]  # (((mono), coefficient), …) sorted


class Kept(tuple[Any, ...]):
    """An atom or a monomial that keeps its hash, its text and its tokens: forms are collected and sorted by
    them all the time.
    """

    _hash: int | None = None
    _text: str | None = None
    _tokens: frozenset[Token] | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = super().__hash__()
        return self._hash

    def __repr__(self) -> str:
        if self._text is None:
            self._text = super().__repr__()
        return self._text

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (tuple(self),)  # texts have another hash in another process

    def tokens(self) -> frozenset[Token]:
        """The index tokens inside, its own bound ones included."""
        if self._tokens is None:
            self._tokens = frozenset().union(*map(_tokens, self))
        return self._tokens


ZERO: Form = ()
POSITIVE_FUNCTIONS = ("exp", "elu1", "cosh")
_temporary = count()


def _key(value: Any) -> str:
    return repr(value)


def _tokens(part: Any) -> frozenset[Token]:
    """The index tokens inside a part of a form."""
    if isinstance(part, Kept):
        return part.tokens()
    if isinstance(part, Token):
        return frozenset([part])
    return frozenset().union(*map(_tokens, part)) if isinstance(part, tuple) else frozenset()


def rename_in(value: Any, mapping: dict[Token, Token]) -> Any:
    """Rename tokens in an atom or form and restore the order of everything inside."""
    if not isinstance(value, tuple) or _tokens(value).isdisjoint(mapping):
        return value
    if isinstance(value, Token):
        return mapping.get(value, value)
    tag = value[0]
    if tag == "T":
        _, tensor, indices = value
        return _entry(tensor, tuple(mapping.get(t, t) for t in indices))
    if tag == "C":
        return Kept(("C", value[1], value[2], rename_form(value[3], mapping)))
    if tag == "P":
        return Kept(("P", rename_form(value[1], mapping)))
    if tag == "delta":
        return _delta(rename_in(value[1], mapping), rename_in(value[2], mapping))
    raise AssertionError(value)


def rename_form(form: Form, mapping: dict[Token, Token]) -> Form:
    """Rename free tokens of a form."""
    parts = []
    for (dims, height, factors), coefficient in form:
        bound = _bound(height, dims)
        outer = {token: new for token, new in mapping.items() if token not in bound}
        parts.append(finished(coefficient, bound, [(rename_in(a, outer), e) for a, e in factors]))
    return add(*parts)


def _bound(height: int, dims: tuple[str, ...]) -> list[Token]:
    """The tokens that a monomial binds."""
    return [Token("b", (height, k), dim) for k, dim in enumerate(dims)]


def _entry(tensor: ix.Tensor, indices: tuple[Token, ...]) -> Atom:
    if tensor.symmetric and len(indices) == 2:
        indices = tuple(sorted(indices, key=_key))
    return Kept(("T", tensor, indices))


def _delta(left: Token, right: Token) -> Atom:
    return ("delta", *sorted((left, right), key=_key))


def number(value: Fraction | int) -> Form:
    """A constant."""
    return (((((), 0, ())), Fraction(value)),) if value else ZERO


ONE = number(1)


def _single(atom: Atom, exponent: Fraction | int = 1) -> Form:
    return finished(Fraction(1), [], [(atom, Fraction(exponent))])


def _height(atom: Atom) -> int:
    heights = [t.name[0] + 1 for t in _tokens(atom) if isinstance(t.name, tuple)]
    return max(heights, default=0)


def finished(coefficient: Fraction, bound: list[Token], factors: Iterable[tuple[Atom, Fraction]]) -> Form:
    """The form of one product: merge equal atoms, contract deltas, multiply out sums, name bound indices."""
    merged: dict[Atom, Fraction] = {}
    for atom, exponent in factors:
        merged[atom] = merged.get(atom, Fraction(0)) + exponent
    merged = {a: e for a, e in merged.items() if e}
    for atom in merged:
        if atom[0] == "delta" and _contractible(atom, bound, merged):
            return _contract(coefficient, bound, merged, atom)
    for atom, exponent in list(merged.items()):
        if atom[0] == "N":  # a prime to a rational power: take the whole part out
            whole = exponent.numerator // exponent.denominator
            if whole:
                coefficient *= Fraction(atom[1]) ** whole
                merged[atom] = exponent - whole
                if not merged[atom]:
                    del merged[atom]
        if atom[0] == "P" and exponent >= 1 and exponent.denominator == 1:
            del merged[atom]
            return _expand(coefficient, bound, merged, atom[1], int(exponent))
    return _canonical(coefficient, bound, merged) if coefficient else ZERO


def _contractible(delta: Atom, bound: list[Token], factors: dict[Atom, Fraction]) -> bool:
    """Whether a delta can still do something: a free one only renames its larger index in the other
    factors.
    """
    _, left, right = delta
    if left == right or left in bound or right in bound or factors[delta] != 1:
        return True
    return any(right in _tokens(a) for a in factors if a != delta)


def _contract(coefficient: Fraction, bound: list[Token], factors: dict[Atom, Fraction], delta: Atom) -> Form:
    rest = [(a, e) for a, e in factors.items() if a != delta]
    _, left, right = delta
    if left == right:
        return finished(coefficient, bound, rest)
    if left in bound or right in bound:
        gone, kept = (left, right) if left in bound else (right, left)
        bound = [t for t in bound if t != gone]
        return finished(coefficient, bound, [(rename_in(a, {gone: kept}), e) for a, e in rest])
    renamed = [(rename_in(a, {right: left}), e) for a, e in rest]
    return finished(coefficient, bound, [*renamed, (delta, Fraction(1))])


def _expand(
    coefficient: Fraction, bound: list[Token], rest: dict[Atom, Fraction], base: Form, power: int
) -> Form:
    fresh = {t: Token("i", f"?{next(_temporary)}", t.dim) for t in bound}
    outer = finished(coefficient, [], [(rename_in(a, fresh), e) for a, e in rest.items()])
    inner = rename_form(base, fresh)
    for _ in range(power):
        outer = mul(outer, inner)
    for token in fresh.values():
        outer = total(outer, token)
    return outer


def _signature(token: Token, factors: list[tuple[Atom, Fraction]], bound: list[Token]) -> str:
    others = {t: Token("i", "*", t.dim) for t in bound if t != token}
    seen = [
        (rename_in(a, {**others, token: Token("i", "!", token.dim)}), e)
        for a, e in factors
        if token in _tokens(a)
    ]
    return "|".join(sorted(map(_key, seen)))


def _canonical(coefficient: Fraction, bound: list[Token], merged: dict[Atom, Fraction]) -> Form:
    """Name the bound indices so that equal products get equal monomials."""
    used = frozenset().union(*(_tokens(a) for a in merged)) if merged else frozenset()
    for token in bound:
        if token not in used:
            merged[("D", token.dim)] = merged.get(("D", token.dim), Fraction(0)) + 1
    merged = {a: e for a, e in merged.items() if e}
    bound = [t for t in bound if t in used]
    if not bound:
        return ((Kept(((), 0, tuple(sorted(merged.items(), key=_key)))), coefficient),)
    fresh = {t: t if t.kind == "t" else Token("t", next(_temporary), t.dim) for t in bound}
    factors = [(rename_in(a, fresh), e) for a, e in merged.items()]
    flat = list(fresh.values())
    height = max((_height(a) for a, _ in factors), default=0)
    if len(flat) > 1:
        places = [_arranged(part, factors, height) for part in _components(flat, factors)]
        flat = [t for part in sorted(places, key=lambda p: _key(p[1])) for t in part[0]]
        flat.sort(key=lambda t: t.dim)
    names = {t: Token("b", (height, k), t.dim) for k, t in enumerate(flat)}
    named = tuple(sorted(((rename_in(a, names), e) for a, e in factors), key=_key))
    return ((Kept((tuple(t.dim for t in flat), height, named)), coefficient),)


def _components(bound: list[Token], factors: list[tuple[Atom, Fraction]]) -> list[list[Token]]:
    """The bound indices in groups that share no factor: such sums are independent of each other."""
    groups: list[set[Token]] = []
    for atom, _ in factors:
        touched = _tokens(atom) & set(bound)
        joined = [g for g in groups if g & touched]
        groups = [g for g in groups if not g & touched]
        if touched:
            groups.append(set(touched).union(*joined))
    return [[t for t in bound if t in g] for g in groups]


def _arranged(
    bound: list[Token], factors: list[tuple[Atom, Fraction]], height: int, first: int = 0
) -> tuple[list[Token], tuple[Any, ...]]:
    """The order of the indices of one component that names its factors smallest, and the factors so named.

    An index that occurs like no other is named at once, which tells others apart and takes the component to
    pieces, each arranged by itself: without that, powers of sums have factorially many orders. Where all are
    alike, each is tried as the first.
    """
    factors = [(a, e) for a, e in factors if not _tokens(a).isdisjoint(bound)]
    if len(bound) == 1:
        name = {bound[0]: Token("b", (height, first), bound[0].dim)}
        return bound, tuple(sorted(((rename_in(a, name), e) for a, e in factors), key=_key))
    cells: dict[tuple[str, str], list[Token]] = {}
    for token in bound:
        cells.setdefault((token.dim, _signature(token, factors, bound)), []).append(token)
    alike = [cells[k] for k in sorted(cells)]
    alone = [t for cell in alike for t in cell if len(cell) == 1]
    places = {t: place for place, cell in enumerate(alike) for t in cell}
    choices = [alone] if alone else [[t] for t in _unlike(min(alike, key=len), factors)]
    found = [_with_first(chosen, bound, factors, (height, first), places) for chosen in choices]
    return min(found, key=lambda f: _key(f[1])) if len(found) > 1 else found[0]


def _with_first(
    chosen: list[Token],
    bound: list[Token],
    factors: list[tuple[Atom, Fraction]],
    start: tuple[int, int],
    places: dict[Token, int],
) -> tuple[list[Token], tuple[Any, ...]]:
    """The same where some indices are named before the others; in the result the given places come first."""
    height, first = start
    names = {t: Token("b", (height, first + k), t.dim) for k, t in enumerate(chosen)}
    rest, renamed = [t for t in bound if t not in names], [(rename_in(a, names), e) for a, e in factors]
    parts = [_arranged(part, renamed, height, first + len(chosen)) for part in _components(rest, renamed)]
    order = [*chosen, *(t for part in sorted(parts, key=lambda p: _key(p[1])) for t in part[0])]
    order.sort(key=lambda t: places[t])
    names = {t: Token("b", (height, first + k), t.dim) for k, t in enumerate(order)}
    return order, tuple(sorted(((rename_in(a, names), e) for a, e in factors), key=_key))


def _unlike(cell: list[Token], factors: list[tuple[Atom, Fraction]]) -> list[Token]:
    """One of each kind of indices: exchanging twins changes nothing."""
    kinds: list[Token] = []
    for token in cell:
        if not any(_exchangeable(kind, token, factors) for kind in kinds):
            kinds.append(token)
    return kinds


def _exchangeable(one: Token, two: Token, factors: list[tuple[Atom, Fraction]]) -> bool:
    swap = {one: two, two: one}
    return {(rename_in(a, swap), e) for a, e in factors} == set(factors)


def add(*forms: Form) -> Form:
    """The sum of forms."""
    collected: dict[Mono, Fraction] = {}
    for form in forms:
        for mono, coefficient in form:
            collected[mono] = collected.get(mono, Fraction(0)) + coefficient
    return tuple(sorted(((m, c) for m, c in collected.items() if c), key=_key))


def multiplied_out(dims: tuple[str, ...], height: int, factors: Iterable[tuple[Atom, Fraction]]) -> Form:
    """The form of a product under sums over ``dims``, whose factors may be sums in parentheses."""
    return finished(Fraction(1), _bound(height, dims), factors)


def scale(form: Form, factor: Fraction | int) -> Form:
    """A rational multiple."""
    return tuple((m, c * factor) for m, c in form) if factor else ZERO


def ratio(one: Form, two: Form) -> Fraction | None:
    """A rational c for which the first is c times the second; None where there is none."""
    if not two:
        return None if one else Fraction(1)
    mono, coefficient = two[0]
    c: Fraction = dict(one).get(mono, Fraction(0)) / coefficient
    return c if is_zero(add(one, scale(two, -c))) else None


def apart(mono: Mono) -> tuple[list[Token], list[tuple[Atom, Fraction]]]:
    """A monomial with fresh names for its bound indices."""
    dims, height, factors = mono
    fresh = {t: Token("t", next(_temporary), t.dim) for t in _bound(height, dims)}
    return list(fresh.values()), [(rename_in(a, fresh), e) for a, e in factors]


def mul(left: Form, right: Form) -> Form:
    """The product of two forms."""
    parts = []
    for mono1, c1 in left:
        for mono2, c2 in right:
            bound1, factors1 = apart(mono1)
            bound2, factors2 = apart(mono2)
            parts.append(finished(c1 * c2, bound1 + bound2, factors1 + factors2))
    return add(*parts)


def total(form: Form, token: Token) -> Form:
    """The sum over a free token."""
    parts = []
    for mono, coefficient in form:
        bound, factors = apart(mono)
        new = Token("t", next(_temporary), token.dim)
        parts.append(
            finished(coefficient, [*bound, new], [(rename_in(a, {token: new}), e) for a, e in factors])
        )
    return add(*parts)


def summands(mono: Mono, token: Token) -> list[Form]:
    """The summands of a monomial's sums where one bound index of the token's range is that token."""
    dims, height, factors = mono
    bound, found = _bound(height, dims), []
    for own in bound:
        if own.dim == token.dim:
            rest = [t for t in bound if t != own]
            found.append(finished(Fraction(1), rest, [(rename_in(a, {own: token}), e) for a, e in factors]))
    return found


def is_positive(atom: Atom) -> bool:
    """Whether an atom is known to be > 0."""
    match atom[0]:
        case "N":
            return True
        case "D":
            return not may_vanish(atom[1])
        case "T":
            return atom[1].positive
        case "C":
            return atom[1] in POSITIVE_FUNCTIONS and atom[2] == 0
        case "P":
            return form_positive(atom[1])
    return False


def _not_negative(atom: Atom) -> bool:
    """Whether an atom is known to be >= 0, as every size is."""
    return atom[0] == "D" or is_positive(atom)


def mentions(atom: Atom, tokens: Iterable[Token]) -> bool:
    """Whether one of the index tokens occurs in an atom."""
    return bool(_tokens(atom) & set(tokens))


def free_tokens(form: Form) -> frozenset[Token]:
    """The free indices of a form."""
    return frozenset(t for t in _tokens(form) if t.kind == "i")


def _form_not_negative(form: Form) -> bool:
    """Whether a form is a sum of products of known positive atoms and of squares of one with positive
    coefficients.
    """
    return all(
        c > 0
        and all(
            _not_negative(a) or (e.denominator == 1 and e % 2 == 0 and not mono[2][1:]) for a, e in mono[2]
        )
        for mono, c in form
    )


def form_positive(form: Form) -> bool:
    """Whether a form is a sum of products of known positive atoms with positive coefficients, one of them
    over ranges that are not empty: N - 1 may be 0.
    """
    return (
        bool(form)
        and _form_not_negative(form)
        and any(
            all(is_positive(a) for a, _ in mono[2]) and not any(map(may_vanish, mono[0])) for mono, _ in form
        )
    )


def power(form: Form, exponent: Fraction | int) -> Form:
    """A rational power. Sums are multiplied out for small whole exponents, else kept as one atom."""
    exponent = Fraction(exponent)
    if not exponent:
        return ONE
    if not form:
        if exponent < 0:
            raise ZeroDivisionError("power of an expression that is identically zero")
        return ZERO
    whole = exponent.denominator == 1
    if whole and 0 < exponent <= 6 and (len(form) > 1 or form[0][0][0]):
        result = form
        for _ in range(int(exponent) - 1):
            result = mul(result, form)
        return result
    content, rest = _content(form, (lambda _: True) if whole else _not_negative)
    outside = [(a, e * exponent) for a, e in content.items()]
    lead = rest[0][1]
    lead = lead if whole else abs(lead)
    rest = scale(rest, 1 / lead)
    coefficient, roots = _number_power(lead, exponent)
    if rest != ONE:
        outside.append((Kept(("P", rest)), exponent))
    return finished(coefficient, [], outside + roots)


def _content(form: Form, may: Callable[[Atom], bool]) -> tuple[dict[Atom, Fraction], Form]:
    """Split off the factors that all monomials share, of those that may be."""
    shared: dict[Atom, Fraction] | None = None
    for (dims, height, factors), _ in form:
        bound = set(_bound(height, dims))
        own = {a: e for a, e in factors if not (_tokens(a) & bound) and may(a)}
        if shared is None:
            shared = own
        else:
            # an atom absent from one monomial is shared only with exponent 0
            shared = {a: min(e, own[a]) for a, e in shared.items() if a in own and (e > 0) == (own[a] > 0)}
    assert shared is not None
    return shared, _without(form, shared)


def _without(form: Form, shared: dict[Atom, Fraction]) -> Form:
    """A form divided by powers of atoms in which none of its bound indices occurs."""
    if not shared:
        return form
    inverse, parts = [(a, -e) for a, e in shared.items()], []
    for mono, coefficient in form:
        named, factors = apart(mono)
        # in one product: an inverse that is multiplied out first does not cancel
        parts.append(finished(coefficient, named, [*factors, *inverse]))
    return add(*parts)


@lru_cache(maxsize=20_000)
def primitive(form: Form) -> Form:
    """A form without the positive factors that all its monomials share: of the same sign."""
    if not form:
        return form
    rest = _content(form, is_positive)[1]
    return scale(rest, 1 / abs(rest[0][1]))


def _number_power(value: Fraction, exponent: Fraction) -> tuple[Fraction, list[tuple[Atom, Fraction]]]:
    if exponent.denominator == 1:
        return value ** int(exponent), []
    roots = [(("N", p), e * exponent) for p, e in _factors(value.numerator)]
    roots += [(("N", p), -e * exponent) for p, e in _factors(value.denominator)]
    return Fraction(1), roots


def _factors(value: int) -> list[tuple[int, Fraction]]:
    """Prime factors with exponents; of a huge number only the small ones, and the rest as it is."""
    limit = None if value < 10**24 else 10**4
    return [(int(p), Fraction(int(e))) for p, e in factorint(value, limit=limit).items()]


def exponential(form: Form) -> Form:
    """exp of a sum is the product of the exps of its monomials; exp(c log u) is u to the power c."""
    result, factors = ONE, []
    for mono, coefficient in form:
        inside = inside_logarithm(mono)
        if inside is None:
            factors.append((Kept(("C", "exp", 0, ((mono, Fraction(1)),))), coefficient))
        else:
            result = mul(result, power(inside, coefficient))
    rest = finished(Fraction(1), [], factors)
    return rest if result is ONE else mul(result, rest)


def inside_logarithm(mono: Mono) -> Form | None:
    """u where a monomial is log u alone, which is defined for u > 0; else None."""
    dims, _, factors = mono
    if not dims and len(factors) == 1 and factors[0][1] == 1 and factors[0][0][:3] == ("C", "log", 0):
        inner: Form = factors[0][0][3]
        return inner
    return None


def _logarithm(form: Form) -> Form:
    """log of a product of positive atoms is the sum of their logs, and what all terms of a sum share of them
    is taken out, so that the least power of each is 0; anything else stays an atom.
    """
    powers = [dict(factors) for (_, _, factors), _ in form]
    bound = {t for (dims, height, _), _ in form for t in _bound(height, dims)}
    shared = {}
    for atom in {a for own in powers for a in own if _not_negative(a) and not _tokens(a) & bound}:
        if least := min(own.get(atom, Fraction(0)) for own in powers):
            shared[atom] = least
    rest = _without(form, shared)
    if not rest or (len(rest) == 1 and rest[0][1] < 0):
        return _log_of(form)
    content = abs(rest[0][1])
    logs = [scale(_log_atom(a), e) for a, e in shared.items()]
    logs.append(_log_of(number(content.numerator)))
    logs.append(scale(_log_of(number(content.denominator)), -1))
    return add(*logs, _log_of(scale(rest, 1 / content)))


def _log_of(form: Form) -> Form:
    return ZERO if form == ONE else _single(Kept(("C", "log", 0, form)))


def _log_atom(atom: Atom) -> Form:
    if atom[0] == "C" and atom[1] == "exp":
        return atom[3]
    return _logarithm(atom[1]) if atom[0] == "P" else _log_of(_single(atom))


def _token(index: ix.Index) -> Token:
    return Token("i", index.name, index.dim)


@lru_cache(maxsize=20_000)
def normal(expr: ix.Expr) -> Form:
    """The normal form of an expression. Raises ZeroDivisionError for 1/0."""
    match expr:
        case ix.Num(value):
            return number(value)
        case ix.Dim(name):
            return ONE if name == "1" else _single(("D", name))
        case ix.At(tensor, indices):
            return _single(_entry(tensor, tuple(map(_token, indices))))
        case ix.Delta(left, right):
            return finished(Fraction(1), [], [(_delta(_token(left), _token(right)), Fraction(1))])
        case ix.Add(args):
            return add(*map(normal, args))
        case ix.Mul(args):
            result = ONE
            for arg in args:
                result = mul(result, normal(arg))
            return result
        case ix.Pow(ix.Pow(base, inner), exponent) if (form := normal(base)) and _form_not_negative(form):
            return power(form, inner * exponent)  # before the power inside is multiplied out
        case ix.Pow(base, exponent):
            return power(normal(base), exponent)
        case ix.Sum(index, body):
            return total(normal(body), _token(index)) if index.dim != "1" else normal(body)
        case ix.Call("exp", arg, _):
            return exponential(normal(arg))
        case ix.Call("log", arg, 0):
            return _logarithm(normal(arg))
        case ix.Call(function, arg, order):
            return _single(Kept(("C", function, order, normal(arg))))
    raise TypeError(f"not an index expression: {expr!r}")


def is_zero(form: Form, depth: int = 6, tried: set[tuple[int, Form]] | None = None) -> bool:
    """Whether a form is proved to vanish wherever it is defined, after clearing denominators.

    ``tried``: what was found not to, with its depth; many choices of freed indices lead to one form.
    """
    if not form:
        return True
    if depth == 0:
        return False
    inverses = [(a, e) for mono, _ in form for a, e in mono[2] if a[0] == "P" and e < 0]
    if not inverses:
        return False
    for atom, exponent in inverses:
        if all(t.kind == "i" for t in outer(atom)):
            cleared = ((((), 0, ((atom, -exponent),)), Fraction(1)),)  # kept whole, so that it cancels
            return is_zero(mul(form, cleared), depth - 1, tried)
    tried = set() if tried is None else tried
    for freed in _freed(form, inverses[0][0], f"?freed{depth}"):
        if (depth, freed) not in tried:
            if is_zero(freed, depth - 1, tried):
                return True
            tried.add((depth, freed))
    return False


def outer(atom: Atom) -> frozenset[Token]:
    """The tokens of an atom that are not bound inside the atom itself."""
    if atom[0] == "P":
        inner: frozenset[Token] = frozenset()
        for (dims, height, factors), _ in atom[1]:
            bound = set(_bound(height, dims))
            for a, _ in factors:
                inner |= outer(a) - bound
        return inner
    if atom[0] == "C":
        return outer(("P", atom[3]))
    return _tokens(atom)


def _freed(form: Form, atom: Atom, name: str) -> Iterable[Form]:
    """Summands in which the outer index of ``atom`` is free, under a name: if one of them vanishes, so does
    the sum.

    Every monomial gives up a bound index of the same range, or is the sum of its N-th parts where it has
    none; all choices are tried.
    """
    dims = sorted({t.dim for t in outer(atom) if t.kind == "b"})
    if len(dims) != 1:
        return
    options = []
    for (bound_dims, height, factors), coefficient in form:
        spots: list[int | None] = [k for k, dim in enumerate(bound_dims) if dim == dims[0]]
        options.append([(coefficient, bound_dims, height, factors, k) for k in spots or [None]])
    free = Token("i", name, dims[0])
    choices = 1
    for o in options:
        choices *= len(o)
    if not 0 < choices <= 256:
        return
    for choice in product(*options):
        parts = []
        for coefficient, bound_dims, height, factors, k in choice:
            tokens = _bound(height, bound_dims)
            if k is None:
                parts.append(finished(coefficient, tokens, [*factors, (("D", dims[0]), Fraction(-1))]))
                continue
            renamed = [(rename_in(a, {tokens[k]: free}), e) for a, e in factors]
            parts.append(finished(coefficient, [t for n, t in enumerate(tokens) if n != k], renamed))
        yield add(*parts)


def contract(
    form: Form,
    first: ix.Tensor,
    second: ix.Tensor,
    replacement: Callable[[tuple[Token, ...], tuple[Token, ...]], Atom],
) -> Form:
    """Replace Σ_t first[…t…] second[…t…] by the atom ``replacement(other tokens of first, of second)``.

    Only where t is bound and occurs in no other factor, so that the sum over t really is that contraction.
    """
    parts = []
    for mono, coefficient in form:
        bound, factors = apart(mono)
        pair = _pair(bound, factors, first, second)
        if pair is None:
            parts.append(((mono, coefficient),))
            continue
        one, two, shared = pair
        new = replacement(tuple(t for t in one[2] if t != shared), tuple(t for t in two[2] if t != shared))
        rest = [(a, e) for a, e in factors if a not in (one, two)]
        done = finished(coefficient, [t for t in bound if t != shared], [*rest, (new, Fraction(1))])
        parts.append(contract(done, first, second, replacement))
    return add(*parts)


def _pair(
    bound: list[Token], factors: list[tuple[Atom, Fraction]], first: ix.Tensor, second: ix.Tensor
) -> tuple[Atom, Atom, Token] | None:
    for one, e1 in factors:
        for two, e2 in factors:
            if (
                one[0] != "T"
                or two[0] != "T"
                or one is two
                or (one[1], two[1]) != (first, second)
                or not e1 == e2 == 1
            ):
                continue
            for shared in set(one[2]) & set(two[2]) & set(bound):
                elsewhere = any(shared in _tokens(a) for a, _ in factors if a not in (one, two))
                if not elsewhere and one[2].count(shared) == two[2].count(shared) == 1:
                    return one, two, shared
    return None


def equal(left: ix.Expr, right: ix.Expr) -> bool:
    """Whether two expressions are proved equal for all values of their symbols where both are defined."""
    return is_zero(add(normal(left), scale(normal(right), -1)))
