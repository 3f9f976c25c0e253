"""Follows: an equation or an inequality between matrices as a consequence of matrix equations.

The proof is a certificate: one polynomial identity in which every term carries a residual of a hypothesis. It
is compared as normal forms, for symbolic dimensions, so no order of rewriting has to be trusted. Beside it
the statement is evaluated on exact instances that satisfy the hypotheses (``checks.kinds.exact_svd``), and
mutants of the statement must fail on them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from checks.engine.finding import Finding
from checks.engine.hypotheses import (
    apply_definitions,
    check_given,
    may_have_none,
    never_zero,
    of_none,
    open_demands,
    positive_under,
    signs_under,
)
from checks.engine.instances import Instance, base_tensors, describe
from checks.engine.judge import ENGINES, ENOUGH, attempt, conformable, difference, equal
from checks.engine.mutants import mutants
from checks.engine.printing import added
from checks.evidence import Evidence
from checks.kinds.examples import Point, nested_entries
from checks.statement import Given, Kind, Malformed, tensors_of
from derivations.calculus import exact
from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact
from derivations.calculus.functions import NONNEGATIVE
from derivations.calculus.index import Index, Tensor
from derivations.calculus.naming import may_vanish
from derivations.calculus.term import NonConformable, Product, Term, as_term, before_factor

INSTANCES = 6
ONE, ZERO = as_term(1), as_term(0)


@dataclass(frozen=True)
class Equation:
    """A hypothesis ``lhs = rhs``; certificates write ``residual`` for lhs - rhs (same shape)."""

    lhs: Term
    rhs: Term
    residual: Tensor
    reason: str = ""

    def difference(self, *at: Index) -> ix.Expr:
        """One entry of lhs - rhs."""
        return self.lhs.entry(*at) - self.rhs.entry(*at)


@dataclass(frozen=True)
class Follows(Kind):
    """If all hypotheses hold, then ``lhs relation rhs`` (relation "=" or ">=").

    The certificate is a term in which every monomial has a residual as a factor, and one of these identities:
    factor (lhs - rhs) = certificate for "=";  factor (lhs - rhs) = squares + certificate for ">=";  and for
    "=" with ``over``,  Σ_over factor (lhs - rhs)² + squares = certificate: nonnegative terms whose sum
    vanishes. ``factor`` is positive, ``squares`` visibly nonnegative. ``family`` are exact instances that
    satisfy the hypotheses: at least three points, or the name of a family, whose symbols have these names:
    "rational singular value decompositions" (A = U diag(s) Vᵀ = U X), "positive semidefinite decompositions"
    (A = BᵀB = U diag(s) Vᵀ, V = U), "leading triplets" (K, h_r, V_1, V_2, tau, a, b); of a kernel K and its
    feature maps, "singular triplets, f(X): F" and "solutions of (7), f(X): F" with F tokens, sampled or
    identity. `checks.kinds.exact_svd.FAMILIES` lists them; an error names the symbols of one.
    """

    hypotheses: tuple[Equation, ...]
    lhs: Term
    rhs: Term
    certificate: Term
    family: str | tuple[Point, ...]
    relation: str = "="
    factor: Term = ONE
    squares: Term = ZERO
    over: tuple[Index, ...] = ()
    given: tuple[Given, ...] = ()
    nonzero: tuple[Tensor, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """Hypotheses and conclusion."""
        left = r",\quad ".join(f"{h.lhs.latex()} = {h.rhs.latex()}" for h in self.hypotheses)
        sign = {"=": "=", ">=": r"\ge"}[self.relation]
        right = f"{self.lhs.latex()} {sign} {self.rhs.latex()}"
        return rf"{left} \;\Longrightarrow\; {right}" if left else right


def follows(statement: Follows, seed: int, with_mutants: bool) -> Finding:
    """Shapes, the certificate, exact instances; then mutants of both sides of the conclusion."""
    finding = Finding()
    _check(statement)
    shapes = conformable(statement.lhs, statement.rhs)
    for h in statement.hypotheses:
        shapes = shapes if not shapes.passed else conformable(h.lhs, h.rhs)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    try:
        samples = instances(statement, seed)
        broken = next((x for x in samples if not _true(statement, x)), None)
    except NotExact as error:
        raise Malformed(
            f"at the points of a family everything has an exact value, and here {error}"
        ) from None
    if broken is not None:
        sides = [side for h in statement.hypotheses for side in (h.lhs, h.rhs)]
        said = map(_entry, (*sides, statement.lhs, statement.rhs))
        finding.counterexample = (
            f"{describe(broken, {}, *said)}: the hypotheses hold, the conclusion does not"
        )
        finding.evidence.append(Evidence("exact", "exact-rational", False, "an exact counterexample"))
        return finding
    why = certificate_error(statement)
    finding.steps += _steps(statement, why)
    detail = why or "the certificate is an identity for symbolic dimensions"
    proof = Evidence("derivation", "exact-symbolic", None if why else True, detail, settles=True)
    finding.evidence = (
        [shapes, proof] if not why else [proof]
    )  # shapes are no second leg of what is not proved
    named = f" ({statement.family})" if isinstance(statement.family, str) else ""
    detail = f"{len(samples)} exact instances that satisfy the hypotheses{named}"
    finding.evidence.append(Evidence("exact", "exact-rational", True, detail))
    if with_mutants:
        _mutate(finding, statement, samples)
    return finding


def _check(s: Follows) -> None:
    """Raise Malformed for a relation that is none, a residual that the statement itself uses or of another
    shape than its hypothesis, or no consequence at all.
    """
    check_given(s.given, s.nonzero)
    if s.relation not in ("=", ">="):
        raise Malformed("a relation is = or >=")
    # also of a definition: what is defined by a residual is no symbol that a certificate may take for 0
    own = tensors_of((s.lhs, s.rhs, [(h.lhs, h.rhs) for h in s.hypotheses], s.given, s.nonzero))
    residuals = [h.residual for h in s.hypotheses]
    if own & set(residuals) or len(set(residuals)) < len(residuals):
        raise Malformed("a residual is a symbol of its own, one for each hypothesis")
    for h in s.hypotheses:
        shape = (h.lhs - h.rhs).shape() if conformable(h.lhs, h.rhs).passed else h.residual.dims
        if h.residual.dims != shape:
            raise Malformed(f"residual {h.residual.name} has shape {h.residual.dims}, its hypothesis {shape}")
    if any(r.positive or r.symmetric for r in residuals):
        raise Malformed("a residual vanishes: nothing is promised of it")
    if s.relation == "=" and any((h.lhs, h.rhs) in ((s.lhs, s.rhs), (s.rhs, s.lhs)) for h in s.hypotheses):
        raise Malformed("the conclusion is one of the hypotheses")


def instances(statement: Follows, seed: int) -> list[Instance]:
    """The exact instances; raises Malformed if one of them does not satisfy the hypotheses."""
    sides = [e for h in statement.hypotheses for e in (_entry(h.lhs), _entry(h.rhs))]
    sides += [_entry(as_term(t)) for t in statement.nonzero]
    needed = base_tensors([*sides, _entry(statement.lhs), _entry(statement.rhs)], statement.given)
    if isinstance(statement.family, str):
        of, found = f"family '{statement.family}'", _drawn(statement, statement.family, needed, seed)
    else:
        of, found = "a point of the family", _offered(statement, statement.family, needed)
    for instance in found:
        if not instance.admissible(statement.nonzero):
            raise Malformed(f"what is assumed not to vanish does so in the {of.removeprefix('a ')}")
        for h in statement.hypotheses:
            if any(_signs(h.lhs, h.rhs, instance)):
                raise Malformed(f"{of} does not satisfy {h.lhs.latex()} = {h.rhs.latex()}")
    return found


def _offered(statement: Follows, family: tuple[Point, ...], needed: list[Tensor]) -> list[Instance]:
    if not isinstance(family, tuple) or not all(isinstance(p, Point) for p in family) or len(family) < ENOUGH:
        raise Malformed(f"a family is a tuple of at least {ENOUGH} points, or the name of one")
    if any(p.at for p in family):
        raise Malformed("a point of the family fixes no index: what follows holds for all")
    for point in family:
        if stray := {t.name for t in needed} - {t.name for t, _ in point.values}:
            raise Malformed(f"a point of the family gives no values for {', '.join(sorted(stray))}")
    return [p.instance(statement.given) for p in family]


def _drawn(statement: Follows, family: str, needed: list[Tensor], seed: int) -> list[Instance]:
    from checks.kinds.exact_svd import FAMILIES  # python-flint, which a GPU machine need not have

    if family not in FAMILIES:
        raise Malformed(f"a family is a tuple of at least {ENOUGH} points, or one of {', '.join(FAMILIES)}")
    rng, found = random.Random(f"{seed} {family}"), []
    for _ in range(INSTANCES):
        sizes, named = FAMILIES[family](rng)
        dims = {d for t in needed for d in t.dims}
        if stray := ({t.name for t in needed} - named.keys()) | (dims - {"1", *sizes}):
            has = f"it has values for {', '.join(sorted(named))}, of sizes {', '.join(sizes)}"
            raise Malformed(f"family '{family}' gives no values for {', '.join(sorted(stray))}: {has}")
        values = {(t, at): v for t in needed for at, v in nested_entries(named[t.name], len(t.dims))}
        if any(t.positive and v <= 0 for (t, _), v in values.items()) or any(
            t.symmetric and v != values[t, at[::-1]] for (t, at), v in values.items()
        ):
            raise Malformed(f"family '{family}' does not keep what is promised of its symbols")
        found.append(Instance(sizes, values, statement.given))
    return found


def _entry(term: Term) -> ix.Expr:
    return term.entry(*(Index(f"w{n}#", dim) for n, dim in enumerate(term.shape())))


def _signs(left: Term, right: Term, instance: Instance) -> list[int]:
    """The signs of left - right, an entry each."""
    at = tuple(Index(f"w{n}#", dim) for n, dim in enumerate(left.shape()))
    one, two = left.entry(*at), right.entry(*at)
    loose = sorted(ix.free_indices(one) | ix.free_indices(two), key=lambda i: i.name)
    sizes = {**instance.sizes, "1": 1}
    points = [dict(zip(loose, c, strict=True)) for c in product(*(range(sizes[i.dim]) for i in loose))]
    return [exact.sign(instance.evaluate(one, p) - instance.evaluate(two, p)) for p in points]


def _true(statement: Follows, instance: Instance) -> bool:
    signs = _signs(statement.lhs, statement.rhs, instance)
    return not any(signs) if statement.relation == "=" else min(signs) >= 0


def certificate_error(statement: Follows) -> str:
    """Why the certificate does not prove the conclusion; "" if it does."""
    residuals = {h.residual: h for h in statement.hypotheses}
    certificate = statement.certificate
    try:
        fits = len(certificate.shape()) == (0 if statement.over else len(statement.lhs.shape()))
    except NonConformable as error:
        return f"the certificate is no formula: {error}"
    if not fits:
        return "the certificate has another shape than the sides"
    at = tuple(Index(f"w{n}#", dim) for n, dim in enumerate(certificate.shape()))
    form = nf.normal(apply_definitions(certificate.entry(*at), statement.given))
    if not all(_carries(mono, residuals) for mono, _ in form):
        return "a term of the certificate has no residual of a hypothesis as a factor"
    given, nonzero = statement.given, statement.nonzero
    factor, squares = statement.factor.entry(), statement.squares.entry(*at)
    if not never_zero(factor, given, nonzero):
        return "the factor is not shown to be nonzero"
    if statement.relation == ">=" or statement.over:
        if not positive_under(factor, given, nonzero):
            return "the factor is not shown to be positive"
        if not signs_under(squares, given, nonzero) <= NONNEGATIVE:
            return "the remainder is not visibly nonnegative"
    sides = [s.entry(*at[: len(s.shape())]) for s in (statement.lhs, statement.rhs)]
    if open_demands([certificate.entry(*at), factor, squares, *sides], given, nonzero):
        return "a formula is not shown to be defined"
    assumed = [_entry(side) for h in statement.hypotheses for side in (h.lhs, h.rhs)]
    known = partial(signs_under, given=given, nonzero=nonzero)
    if any(sg.asks_more(e, frozenset(may_have_none(e)), known) for e in assumed):
        return "a hypothesis has a sum that may be one of nothing, of what is not shown to be defined"
    named = set().union(*map(ix.free_indices, sides)) if statement.over else set()
    if any(may_vanish(i.dim) for i in statement.over if i not in named):
        return "a sum of squares that are all the same may be one of none"
    left = _left_side(statement, at)
    right = certificate.entry(*at)
    if statement.relation == ">=":
        right = right + statement.squares.entry(*at)
    for tensor, h in residuals.items():
        right = ix.define(right, tensor, lambda *idx, h=h: h.difference(*idx))
    if why := of_none((left, right), set().union(*map(ix.free_indices, sides))):
        return why
    left, right = (apply_definitions(side, statement.given) for side in (left, right))
    if not equal(left, right):
        return f"the certificate is not an identity: the sides differ by {difference(left, right)}"
    return ""


def _left_side(statement: Follows, at: tuple[Index, ...]) -> ix.Expr:
    if not statement.over:
        return statement.factor.entry() * (statement.lhs.entry(*at) - statement.rhs.entry(*at))
    square = (statement.lhs.entry() - statement.rhs.entry()) ** 2
    return ix.total(statement.factor.entry() * square, *statement.over) + statement.squares.entry()


def _carries(mono: nf.Mono, residuals: Any) -> bool:
    return any(a[0] == "T" and a[1] in residuals and e >= 1 for a, e in mono[2])


def _steps(statement: Follows, why: str) -> list[dict[str, Any]]:
    steps = []
    for h in statement.hypotheses:
        latex = rf"{h.residual.symbol} := {_difference(h.lhs, h.rhs)}"
        reason = h.reason or "a hypothesis: this residual vanishes"
        steps.append(attempt("hypothesis", latex, reason, True))
    left, factor = _difference(statement.lhs, statement.rhs), before_factor(statement.factor)
    if statement.over:
        left = rf"\left({left}\right)^{{2}}"
    if factor != "1":
        left = rf"{factor}\,{left}" if statement.over else rf"{factor}\,\left({left}\right)"
    for i in reversed(statement.over):
        left = rf"\sum_{{{i.latex.strip()}=1}}^{{{i.dim}}} {left}"
    right, rest = statement.certificate.latex(), statement.squares.latex()
    if rest != "0":
        left, right = (added(left, rest), right) if statement.over else (left, added(rest, right))
    reason = "an identity of normal forms; every term on the right carries a residual or is nonnegative"
    return [*steps, attempt("certificate", f"{left} = {right}", why or reason, not why)]


def _difference(lhs: Term, rhs: Term) -> str:
    return lhs.latex() if rhs.latex() == "0" else f"{lhs.latex()} - {rhs.wrapped(2)}"


def _mutate(finding: Finding, statement: Follows, samples: list[Instance]) -> None:
    """Mutants of both sides: an equation must fail on an instance, an inequality must lose its
    certificate.
    """
    for side in ("lhs", "rhs"):
        for what, mutant in mutants(getattr(statement, side), 16) or _scaled(statement, side):
            changed = replace(statement, lhs=mutant) if side == "lhs" else replace(statement, rhs=mutant)
            finding.mutants.tried += 1
            if _rejected(changed, samples):
                finding.mutants.killed += 1
            elif _same(changed, statement) or not certificate_error(changed) or _trivial(changed):
                finding.mutants.equivalent += 1
            else:
                finding.mutants.survivors.append(f"{side}: {what}: {mutant.latex()}")


def _scaled(statement: Follows, side: str) -> list[tuple[str, Term]]:
    """The right side doubled and negated: for formulas in which nothing else can be changed."""
    rhs = statement.rhs
    if side == "lhs" or nf.is_zero(nf.normal(_entry(rhs))):
        return []
    return [("doubled", Product((as_term(2), rhs))), ("negated", Product((as_term(-1), rhs)))]


def _rejected(changed: Follows, samples: list[Instance]) -> bool:
    for instance in samples:
        try:
            if not _true(changed, instance):
                return True
        except ZeroDivisionError:
            return True
        except NotExact:  # a mutant may leave the numbers of its family
            continue
    # a weaker inequality can hold on every instance: there the certificate must reject it
    return changed.relation == ">=" and bool(certificate_error(changed))


def _same(changed: Follows, statement: Follows) -> bool:
    at = tuple(Index(f"w{n}#", dim) for n, dim in enumerate(statement.lhs.shape()))
    before = statement.lhs.entry(*at) - statement.rhs.entry(*at)
    after = changed.lhs.entry(*at) - changed.rhs.entry(*at)
    return equal(apply_definitions(before, statement.given), apply_definitions(after, statement.given))


def _trivial(changed: Follows) -> bool:
    """A mutant that holds without any hypothesis says nothing wrong."""
    at = tuple(Index(f"w{n}#", dim) for n, dim in enumerate(changed.lhs.shape()))
    left, right = (apply_definitions(side.entry(*at), changed.given) for side in (changed.lhs, changed.rhs))
    return equal(left, right)


ENGINES[Follows] = follows
