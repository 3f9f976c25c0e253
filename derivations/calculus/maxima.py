"""The larger of two numbers, by the ramp: max(a, b) = b + relu(a - b); exact instances evaluate it by signs.

A second normal form for ramps, absolute values and signs: relu(cu) = c relu(u) for c > 0,
relu(-u) = relu(u) - u, |u| = 2 relu(u) - u, relu(u)² = u relu(u), relu(u) = u where u is visibly nonnegative,
0 where -u is; u sign(u) = |u|, relu(u) sign(u) = relu(u), sign(u)³ = sign(u); the absolute value and the sign
of a product are the products of those of its factors; √(u²) = |u|. These hold for all real u.
"""

from __future__ import annotations

from fractions import Fraction

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus.index import Index
from derivations.calculus.printing import to_expr
from derivations.calculus.second_forms import inside
from derivations.calculus.signs import NONE, Facts, nonnegative, signs
from derivations.calculus.term import Shape, Term, as_term, misfit, show_shapes


class Maximum(Term):
    """The larger of two numbers, or of the entries of two arrays."""

    level = 3

    def shape(self) -> Shape:
        shapes = [a.shape() for a in self.args]
        if shapes[0] != shapes[1]:
            raise misfit(f"the maximum of objects of shapes {show_shapes(shapes)}", shapes)
        return shapes[0]

    def entry(self, *at: Index) -> ix.Expr:
        one, two = (a.entry(*at) for a in self.args)
        return two + ix.Call("relu", one - two)

    def latex(self) -> str:
        return rf"\max\left({self.args[0].latex()}, {self.args[1].latex()}\right)"


def maximum(one: object, two: object) -> Term:
    """max(a, b) of two scalars, or entry by entry."""
    return Maximum((as_term(one), as_term(two)))


def occur(*expressions: ix.Expr) -> bool:
    """Whether a ramp, an absolute value, a sign or what clips to [-1, 1] stands anywhere in them."""
    return any(is_piece(node) or _clips(node) for expr in expressions for node in ix.walk(expr))


def equal(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two expressions are proved equal where both are defined; False decides nothing. Raises
    ZeroDivisionError for 1/0.
    """
    return nf.is_zero(nf.add(canonical(one), nf.scale(canonical(two), -1)))


def is_piece(node: ix.Expr) -> bool:
    """Whether a node is a ramp, an absolute value or a sign."""
    return isinstance(node, ix.Call) and node.function in ("relu", "abs", "sign") and node.order == 0


def _clips(node: ix.Expr) -> bool:
    return isinstance(node, ix.Call) and node.function == "clip" and node.order == 0


def canonical(expr: ix.Expr) -> nf.Form:
    """The second normal form: with ramps and signs of what has the first coefficient 1."""
    return _reduced(nf.normal(inside(expr, canonical, _upright)))


def upright(expr: ix.Expr) -> ix.Expr:
    """The expression with every absolute value that of what has the first coefficient 1."""
    expr = ix.rebuild(expr, tuple(map(upright, ix.children(expr))))
    if not (is_piece(expr) and isinstance(expr, ix.Call) and expr.function == "abs"):
        return expr
    form = nf.normal(expr.arg)
    first = form[0][1] if form else Fraction(1)
    return abs(first) * ix.Call("abs", to_expr(nf.scale(form, 1 / first)))


def _upright(node: ix.Expr) -> ix.Expr | None:
    """A ramp as that of a form whose first coefficient is 1; the root of a square."""
    if isinstance(node, ix.Call) and _clips(node):
        return to_expr(canonical(ix.Call("relu", node.arg + 1) - ix.Call("relu", node.arg - 1) - 1))
    if isinstance(node, ix.Call) and is_piece(node):
        return _piece(canonical(node.arg), node.function)
    match node:
        case ix.Pow(ix.Pow(base, even), half) if half.denominator == 2 and even % 2 == 0:
            times, own = even * half, canonical(base)
            size = _piece(own, "abs") if times % 2 else ix.Num(Fraction(1))
            return size * to_expr(own) ** (times - times % 2)
        case ix.Pow(base, half) if half.denominator == 2:
            return _root(canonical(base), half)
    return None


def _piece(form: nf.Form, function: str) -> ix.Expr:
    if not_negative(form) and function != "sign":
        return to_expr(form)
    if not_negative(opposite := nf.scale(form, -1)) and function != "sign":
        return to_expr(opposite if function == "abs" else nf.ZERO)
    if function == "sign" and len(known := signs(to_expr(form))) == 1:
        return ix.Num(Fraction(next(iter(known))))
    if (factors := _factors(form)) is not None:
        return _of_product(form, factors, function)
    if (times := _denominators(form)) != nf.ONE:
        own = _piece(nf.mul(form, times), function)
        return own if function == "sign" else own / to_expr(times)
    first = form[0][1]
    scaled = nf.scale(form, 1 / abs(first))
    upright = to_expr(nf.scale(scaled, 1 if first > 0 else -1))
    if function == "sign":
        return (1 if first > 0 else -1) * ix.Call("sign", upright)
    ramp = ix.Call("relu", upright)
    if function == "abs":
        return abs(first) * (2 * ramp - upright)
    return abs(first) * (ramp if first > 0 else ramp - upright)


def not_negative(form: nf.Form, facts: Facts = NONE) -> bool:
    """Whether a form is visibly >= 0, if need be by relu(u) >= t u, for numbers t from 0 to 1 that
    leave fewer terms; what comes first is taken, as all ways would be too many.
    """
    if nonnegative(to_expr(form), facts):
        return True
    for mono, coefficient in form:
        dims, height, factors = mono
        for ramp, exponent in factors if coefficient > 0 else ():
            rest = [(atom, e) for atom, e in factors if atom != ramp]
            if ramp[:3] != ("C", "relu", 0) or exponent != 1:
                continue
            # each summand, not their sum
            if not nonnegative(to_expr(nf.multiplied_out((), height, rest)), facts):
                continue
            line = nf.multiplied_out(dims, height, [*rest, (nf.Kept(("P", ramp[3])), Fraction(1))])
            others = {own: c for own, c in form if own != mono}
            for share in {-others[own] / c / coefficient for own, c in line if own in others}:
                lower = nf.add(tuple(others.items()), nf.scale(line, share * coefficient))
                if 0 < share <= 1 and len(lower) < len(form):
                    return not_negative(lower, facts)
    return False


def _denominators(form: nf.Form) -> nf.Form:
    """The product of what is positive and is divided by in a form."""
    lowest: dict[nf.Atom, Fraction] = {}
    for (_, _, factors), _ in form:
        for atom, e in factors:
            if (
                e < lowest.get(atom, 0)
                and nf.is_positive(atom)
                and all(t.kind == "i" for t in nf.outer(atom))
            ):
                lowest[atom] = e
    whole = tuple((atom, -e) for atom, e in lowest.items())  # not multiplied out, so that it cancels
    return (((((), 0, whole)), Fraction(1)),) if whole else nf.ONE


def _factors(form: nf.Form) -> list[tuple[nf.Form, int]] | None:
    """The factors of a product of whole powers, with their exponents; None for what is none, or is one
    factor alone.
    """
    if len(form) != 1 or form[0][0][0]:
        return None
    factors = form[0][0][2]
    if any(e.denominator != 1 for _, e in factors) or [e for _, e in factors] == [1]:
        return None
    return [(nf.multiplied_out((), 0, [(atom, Fraction(1))]), int(e)) for atom, e in factors] or None


def _of_product(form: nf.Form, factors: list[tuple[nf.Form, int]], function: str) -> ix.Expr:
    """What a function makes of a product, by its factors: f to an odd power has the sign of f."""
    if function == "relu":
        return (to_expr(form) + _of_product(form, factors, "abs")) / 2
    number = form[0][1]
    result: ix.Expr = ix.Num(abs(number) if function == "abs" else Fraction(1 if number > 0 else -1))
    for factor, exponent in factors:
        own = _piece(factor, function)
        if function == "sign":
            result = result * (own if exponent % 2 else own * own)
        else:
            result = result * (own if exponent % 2 else 1) * to_expr(factor) ** (exponent - exponent % 2)
    return result


def _root(form: nf.Form, exponent: Fraction) -> ix.Expr | None:
    """A power with half an exponent of a product of even powers and of what is positive; None for others."""
    factors = _factors(form)
    if factors is None or form[0][1] < 0 or any(e % 2 and not nf.form_positive(f) for f, e in factors):
        return None
    result: ix.Expr = ix.Num(form[0][1]) ** exponent
    for factor, times in factors:
        whole = times * exponent
        if nf.form_positive(factor):
            result = result * to_expr(factor) ** whole
            continue
        own = _piece(factor, "abs") if whole % 2 else ix.Num(Fraction(1))
        result = result * own * to_expr(factor) ** (whole - whole % 2)
    return result


def _reduced(form: nf.Form) -> nf.Form:
    """The rules for products of ramps and signs in every monomial, until none applies."""
    parts = []
    for (dims, height, factors), coefficient in form:
        changed = _rewritten(factors)
        if changed is None:
            parts.append(((((dims, height, factors)), coefficient),))
        else:
            parts.append(_reduced(nf.scale(nf.multiplied_out(dims, height, changed), coefficient)))
    return nf.add(*parts)


def _rewritten(factors: tuple[tuple[nf.Atom, Fraction], ...]) -> list[tuple[nf.Atom, Fraction]] | None:
    """The factors after one rule; None where no rule applies."""
    have = dict(factors)
    for atom, exponent in factors:
        if exponent.denominator != 1 or exponent < 1 or atom[0] != "C" or atom[2] != 0:
            continue
        if atom[1] == "relu" and exponent > 1:  # relu(u)² = u relu(u)
            return _with(have, {atom: -1, nf.Kept(("P", atom[3])): 1})
        if atom[1] != "sign":
            continue
        if have.get(nf.Kept(("C", "relu", 0, atom[3])), 0) >= 1:  # relu(u) sign(u) = relu(u)
            return _with(have, {atom: -exponent})
        if exponent > 2:  # sign(u)³ = sign(u)
            return _with(have, {atom: -2})
        own = _alone(atom[3])
        if own is not None and have.get(own, 0) >= 1:  # u sign(u) = 2 relu(u) - u
            ramp = nf.multiplied_out((), 0, [(nf.Kept(("C", "relu", 0, atom[3])), Fraction(1))])
            size = nf.add(nf.scale(ramp, 2), nf.scale(atom[3], -1))
            return _with(have, {atom: -1, own: -1, nf.Kept(("P", size)): 1})
    return None


def _with(
    have: dict[nf.Atom, Fraction], more: dict[nf.Atom, Fraction | int]
) -> list[tuple[nf.Atom, Fraction]]:
    return list({**have, **{a: have.get(a, Fraction(0)) + e for a, e in more.items()}}.items())


def _alone(form: nf.Form) -> nf.Atom | None:
    """The atom that a form is; None where it is more."""
    if len(form) != 1:  # of nothing, too: where i is j, x_i - x_j is 0
        return None
    (dims, _, factors), number = form[0]
    alone = not dims and number == 1 and len(factors) == 1 and factors[0][1] == 1
    return factors[0][0] if alone else None
