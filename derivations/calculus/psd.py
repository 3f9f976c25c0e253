"""Why a kernel is positive semidefinite: certificates built from the few closure properties of such kernels.

A certificate is a formula that can only build positive semidefinite kernels; it rebuilds the kernel κ(x_i,
x_j) as an index expression, which a checker compares with the claimed one. The rules: a sum of products of
one feature at both arguments, scaling by a function of each argument, nonnegative multiples, sums, entrywise
products (Schur), the exponential (its power series has nonnegative coefficients), and two lemmas with checks
of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy as sp

from derivations.calculus import index as ix
from derivations.calculus import signs as sg
from derivations.calculus.functions import ANY, NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index, Tensor
from derivations.calculus.program import Raw
from derivations.calculus.term import Term

Signs = Mapping[Tensor, str]  # a parameter's range: "real", ">= 0" or "> 0"


class Certificate:
    """A positive semidefinite kernel of two indices; subclasses say why it is one."""

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        """κ(x_i, x_j)."""
        raise NotImplementedError

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        """Why the certificate proves nothing under these ranges; "" if it is sound.

        ``open`` are the coordinate indices that an outer sum binds.
        """
        return next((why for part in self._parts() if (why := part.flaw(signs, open))), "")

    def reasons(self) -> list[str]:
        """The rules used, innermost first."""
        return [r for part in self._parts() for r in part.reasons()] + [self.rule]

    def steps(self, j: Index, first: int = 1) -> list[tuple[str, str]]:
        """The kernels that are built, innermost first, each as LaTeX of its entry (i, j) under a name
        κ_first, … and the rule by which it is positive semidefinite.
        """
        found: list[tuple[str, str]] = []
        inner = []
        for part in self._parts():
            found += part.steps(j, first + len(found))
            inner.append(rf"\kappa_{{{first + len(found) - 1}}}")
        return [*found, (rf"\kappa_{{{first + len(found)}}} = {self._built(j, *inner)}", self.rule)]

    rule = ""

    def _built(self, j: Index, *inner: str) -> str:
        """LaTeX of the entry (i, j) in the names of the inner kernels."""
        raise NotImplementedError

    def _parts(self) -> tuple[Certificate, ...]:
        return ()


@dataclass(frozen=True)
class Features(Certificate):
    """Σ_a g_a(x_i) g_a(x_j) for a term g in the index ``at``; without ``over``, one feature."""

    feature: Term
    at: Index
    over: Index | None = None

    rule = "a sum of products: Σ_ij w_i w_j Σ_a g_ia g_ja = Σ_a (Σ_i w_i g_ia)² ≥ 0"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        body = self.feature.entry()
        if self.over is None:
            return _at(body, self.at, i) * _at(body, self.at, j)
        new = self.over.fresh()
        body = ix.rename(body, {self.over: new})
        return ix.Sum(new, _at(body, self.at, i) * _at(body, self.at, j))

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        own = {self.at} | ({self.over} if self.over is not None else set())
        if self.over == self.at:
            return "a feature's own index is the index of its sum"
        return _stray(self.feature.entry(), own | open)

    def _built(self, j: Index, *inner: str) -> str:
        at, over = self.at.latex, self.over.latex if self.over else ""
        total = rf"\sum_{{{over}=1}}^{{{self.over.dim}}} " if self.over else ""
        one, two = (rf"g_{{{place}{over}}}" for place in (at, j.latex))
        return rf"{total}{one}\,{two},\quad {one} = {self.feature.latex()}"


@dataclass(frozen=True)
class Scaled(Certificate):
    """u(x_i) u(x_j) times a kernel."""

    factor: Term
    at: Index
    inner: Certificate

    rule = "multiplied by a number u_i of each point: put w_i u_i for w_i"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        u = self.factor.entry()
        return _at(u, self.at, i) * _at(u, self.at, j) * self.inner.kernel(i, j)

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        return _stray(self.factor.entry(), {self.at} | open) or self.inner.flaw(signs, open)

    def _built(self, j: Index, *inner: str) -> str:
        one, two = (rf"u_{{{place.latex}}}" for place in (self.at, j))
        return rf"{one}\,{two}\,{inner[0]},\quad {one} = {self.factor.latex()}"

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Multiple(Certificate):
    """A nonnegative multiple of a kernel."""

    coefficient: Term
    inner: Certificate

    rule = "a nonnegative multiple"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return self.coefficient.entry() * self.inner.kernel(i, j)

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        coefficient = self.coefficient.entry()
        if ix.free_indices(coefficient) - open or ix.tensors(coefficient) - signs.keys():
            return f"the coefficient {self.coefficient.latex()} is no function of the parameters alone"
        if not nonnegative(coefficient, signs):
            return f"the coefficient {self.coefficient.latex()} is not known to be nonnegative"
        return self.inner.flaw(signs, open)

    def _built(self, j: Index, *inner: str) -> str:
        return rf"{self.coefficient.wrapped(2)}\,{inner[0]}"

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Plus(Certificate):
    """A sum of kernels."""

    parts: tuple[Certificate, ...]

    rule = "a sum of kernels"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return ix.Add(tuple(p.kernel(i, j) for p in self.parts))

    def _built(self, j: Index, *inner: str) -> str:
        return " + ".join(inner)

    def _parts(self) -> tuple[Certificate, ...]:
        return self.parts


@dataclass(frozen=True)
class Power(Certificate):
    """A whole power of a kernel, of degree at least one."""

    inner: Certificate
    degree: int

    rule = "a whole power: the entrywise product of positive semidefinite matrices is one (Schur)"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return ix.Pow(self.inner.kernel(i, j), Fraction(self.degree))

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        whole = isinstance(self.degree, int) and self.degree >= 1
        return self.inner.flaw(signs, open) if whole else "the degree is not a positive whole number"

    def _built(self, j: Index, *inner: str) -> str:
        return rf"{{{inner[0]}}}^{{{self.degree}}}"

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Exp(Certificate):
    """The exponential of a kernel."""

    inner: Certificate

    rule = "exp of a kernel: a limit of sums of whole powers with coefficients 1/n! ≥ 0"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return ix.exp(self.inner.kernel(i, j))

    def _built(self, j: Index, *inner: str) -> str:
        return rf"\exp({inner[0]})"

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class OverCoordinates(Certificate):
    """Σ_a of a kernel of one coordinate."""

    inner: Certificate
    over: Index

    rule = "a sum over the coordinates"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        new = self.over.fresh()
        return ix.Sum(new, ix.rename(self.inner.kernel(i, j), {self.over: new}))

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        return self.inner.flaw(signs, open | {self.over})

    def _built(self, j: Index, *inner: str) -> str:
        return rf"\sum_{{{self.over.latex}=1}}^{{{self.over.dim}}} {inner[0]}"

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Overlap(Certificate):
    """|a| + |b| - |a - b| of one coordinate: twice the length that the intervals [0, a] and [0, b] share."""

    coordinate: Term
    at: Index

    rule = "|p| + |q| - |p - q| = 2 ∫ s_p(t) s_q(t) dt with s_p the indicator of the interval from 0 to p"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        x = self.coordinate.entry()
        a, b = _at(x, self.at, i), _at(x, self.at, j)
        return _absolute(a) + _absolute(b) - _absolute(a - b)

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        stray = _stray(self.coordinate.entry(), {self.at} | open)
        return stray or ("" if _overlap_lemma() else "the overlap lemma fails")

    def _built(self, j: Index, *inner: str) -> str:
        shared = r"\left|p\right| + \left|q\right| - \left|p - q\right|"
        return rf"{shared},\quad {_pair(self.coordinate, self.at, j)}"


@dataclass(frozen=True)
class Harmonic(Certificate):
    """ab / (a + b) of one coordinate, for positive a and b."""

    coordinate: Term
    at: Index

    rule = "pq/(p + q) = ∫_0^∞ (p e^{-tp}) (q e^{-tq}) dt for p, q > 0"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        x = self.coordinate.entry()
        a, b = _at(x, self.at, i), _at(x, self.at, j)
        return a * b / (a + b)

    def flaw(self, signs: Signs, open: frozenset[Index] = frozenset()) -> str:
        if stray := _stray(self.coordinate.entry(), {self.at} | open):
            return stray
        if not sg.positive(self.coordinate.entry(), _facts(signs)):
            return "the coordinates are not visibly positive"
        return "" if _harmonic_lemma() else "the integral differs"

    def _built(self, j: Index, *inner: str) -> str:
        return rf"\frac{{p\,q}}{{p + q}},\quad {_pair(self.coordinate, self.at, j)}"


def _pair(coordinate: Term, at: Index, j: Index) -> str:
    """p and q, one coordinate of both points."""
    return rf"p = {coordinate.latex()},\quad q = {Raw((), _at(coordinate.entry(), at, j)).latex()}"


def _absolute(x: ix.Expr) -> ix.Expr:
    return ix.Pow(ix.Pow(x, Fraction(2)), Fraction(1, 2))


def _overlap_lemma() -> bool:
    """The identity in all sign cases and orders, with a, b and their difference as positive symbols."""
    p, q = sp.symbols("p q", nonnegative=True)
    for a, b in product((p, p + q, -p, -p - q), repeat=2):
        for one, two in ((a, b), (b, a)):
            same = one.subs({p: 1, q: 1}) * two.subs({p: 1, q: 1}) > 0
            shared = sp.Min(abs(one), abs(two)) if same else sp.Integer(0)
            if sp.simplify(abs(one) + abs(two) - abs(one - two) - 2 * shared) != 0:
                return False
    return True


def _harmonic_lemma() -> bool:
    a, b, t = sp.symbols("a b t", positive=True)
    integral = sp.integrate(a * sp.exp(-t * a) * b * sp.exp(-t * b), (t, 0, sp.oo))
    return sp.simplify(integral - a * b / (a + b)) == 0


def of_these_rules(certificate: object) -> bool:
    """Whether a certificate is made of the rules of this module alone: of another class nothing is known."""
    return (
        isinstance(certificate, Certificate)
        and type(certificate).__module__ == __name__
        and all(map(of_these_rules, certificate._parts()))
    )


def nonnegative(expr: ix.Expr, signs: Signs) -> bool:
    """Whether an expression in the parameters is visibly defined and >= 0 on their ranges."""
    facts = _facts(signs)
    defined = all(sg.signs(d.base, facts) <= d.signs for d in sg.demands(expr))
    return defined and sg.nonnegative(expr, facts)


_RANGES = {"real": ANY, ">= 0": NONNEGATIVE, "> 0": POSITIVE}


def _facts(signs: Signs) -> sg.Facts:
    return sg.Facts({tensor: _RANGES[words] for tensor, words in signs.items()})


def _at(expr: ix.Expr, place: Index, new: Index) -> ix.Expr:
    """An expression in the point ``place`` at the point ``new``."""
    return ix.rename(expr, {place: new})


def _stray(expr: ix.Expr, known: frozenset[Index] | set[Index]) -> str:
    """What a feature depends on besides its point and the coordinates that a sum binds; "" if nothing."""
    stray = ix.free_indices(expr) - known
    return f"a feature depends on {', '.join(sorted(i.name for i in stray))}" if stray else ""
