"""Why a kernel is positive semidefinite: certificates built from the few closure properties of such kernels.

A certificate is a formula that can only build positive semidefinite kernels; it rebuilds the kernel κ(x_i, x_j) as an
index expression, which a checker compares with the claimed one. The rules: a sum of products of one feature at both
arguments, scaling by a function of each argument, nonnegative multiples, sums, entrywise products (Schur), the
exponential (its power series has nonnegative coefficients), and two lemmas with checks of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy as sp

from derivations import index as ix
from derivations import normal as nf
from derivations.index import Index, Tensor
from derivations.term import Term

Signs = Mapping[Tensor, str]  # a parameter's range: "real", ">= 0" or "> 0"


class Certificate:
    """A positive semidefinite kernel of two indices; subclasses say why it is one."""

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        """κ(x_i, x_j)."""
        raise NotImplementedError

    def flaw(self, signs: Signs) -> str:
        """Why the certificate proves nothing under these ranges; "" if it is sound."""
        return next((why for part in self._parts() if (why := part.flaw(signs))), "")

    def reasons(self) -> list[str]:
        """The rules used, innermost first."""
        return [r for part in self._parts() for r in part.reasons()] + [self.rule]

    rule = ""

    def _parts(self) -> tuple[Certificate, ...]:
        return ()


@dataclass(frozen=True)
class Features(Certificate):
    """Σ_a g_a(x_i) g_a(x_j) for a term g in the index ``at``; without ``over``, one feature."""

    feature: Term
    at: Index
    over: Index | None = None

    rule = "Σ_ij c_i c_j Σ_a g_a(x_i) g_a(x_j) = Σ_a (Σ_i c_i g_a(x_i))² ≥ 0"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        body = self.feature.entry()
        both = ix.rename(body, {self.at: i}) * ix.rename(body, {self.at: j})
        if self.over is None:
            return both
        new = self.over.fresh()
        return ix.Sum(new, ix.rename(both, {self.over: new}))


@dataclass(frozen=True)
class Scaled(Certificate):
    """u(x_i) u(x_j) times a kernel."""

    factor: Term
    at: Index
    inner: Certificate

    rule = "u(x_i) u(x_j) κ: put c_i u(x_i) for c_i"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        u = self.factor.entry()
        return ix.rename(u, {self.at: i}) * ix.rename(u, {self.at: j}) * self.inner.kernel(i, j)

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

    def flaw(self, signs: Signs) -> str:
        if not nonnegative(self.coefficient.entry(), signs):
            return f"the coefficient {self.coefficient.latex()} is not known to be nonnegative"
        return self.inner.flaw(signs)

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Plus(Certificate):
    """A sum of kernels."""

    parts: tuple[Certificate, ...]

    rule = "a sum of kernels"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return ix.Add(tuple(p.kernel(i, j) for p in self.parts))

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

    def flaw(self, signs: Signs) -> str:
        return self.inner.flaw(signs) if self.degree >= 1 else "the degree is not a positive whole number"

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Exp(Certificate):
    """The exponential of a kernel."""

    inner: Certificate

    rule = "exp of a kernel: a limit of sums of whole powers with coefficients 1/n! ≥ 0"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        return ix.exp(self.inner.kernel(i, j))

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

    def _parts(self) -> tuple[Certificate, ...]:
        return (self.inner,)


@dataclass(frozen=True)
class Overlap(Certificate):
    """|a| + |b| - |a - b| of one coordinate: twice the length that the intervals [0, a] and [0, b] share."""

    coordinate: Term
    at: Index

    rule = "|a| + |b| - |a - b| = 2 ∫ s_a(t) s_b(t) dt with s_a the indicator of the interval from 0 to a"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        x = self.coordinate.entry()
        a, b = ix.rename(x, {self.at: i}), ix.rename(x, {self.at: j})
        return _absolute(a) + _absolute(b) - _absolute(a - b)

    def flaw(self, signs: Signs) -> str:
        return "" if _overlap_lemma() else "the overlap lemma fails"


@dataclass(frozen=True)
class Harmonic(Certificate):
    """ab / (a + b) of one coordinate, for positive a and b."""

    coordinate: Term
    at: Index

    rule = "ab/(a + b) = ∫_0^∞ (a e^{-ta}) (b e^{-tb}) dt for a, b > 0"

    def kernel(self, i: Index, j: Index) -> ix.Expr:
        x = self.coordinate.entry()
        a, b = ix.rename(x, {self.at: i}), ix.rename(x, {self.at: j})
        return a * b / (a + b)

    def flaw(self, signs: Signs) -> str:
        if not all(t.positive for t in ix.tensors(self.coordinate.entry())):
            return "the coordinates are not promised positive"
        return "" if _harmonic_lemma() else "the integral differs"


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


def nonnegative(expr: ix.Expr, signs: Signs) -> bool:
    """Whether an expression is a positive combination of products of nonnegative parameters and even powers."""

    def known(atom: nf.Atom, exponent: Fraction) -> bool:
        if nf.is_positive(atom) or (exponent.denominator == 1 and exponent % 2 == 0):
            return True
        sign = signs.get(atom[1], "real") if atom[0] == "T" else "real"
        return sign == "> 0" or (sign == ">= 0" and exponent > 0)

    return all(c > 0 and all(known(a, e) for a, e in mono[2]) for mono, c in nf.normal(expr))
