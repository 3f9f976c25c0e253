"""NormalMean: the mean of a formula over independent standard normal variables, in any number of them.

The mean comes from the closed form for exponentials and cosines of linear forms
(``derivations.calculus.normal_means``); beside it stands Gauss-Hermite quadrature on small instances. A
formula that is no sum of such terms is left open, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice, product
from math import prod

from checks.engine.finding import Finding
from checks.engine.hypotheses import apply_definitions, defined
from checks.engine.instances import Instance, exact_instances
from checks.engine.judge import ENGINES, conformable, equal, identity, rejects
from checks.engine.mutants import mutants
from checks.evidence import Evidence, Mutants
from checks.statement import Given, Identity, Kind, Malformed
from derivations.calculus import index as ix
from derivations.calculus.components import NotExact
from derivations.calculus.functions import EXPONENT
from derivations.calculus.index import Index, Tensor
from derivations.calculus.normal_means import NoClosedForm, mean
from derivations.calculus.program import Raw
from derivations.calculus.term import Term, as_term

_NODES = {1: (40, 60), 2: (24, 32)}
"""Nodes of the quadrature in each variable, for so many variables: two numbers, whose results are compared.
"""
_BOUND = 1e-9


@dataclass(frozen=True)
class NormalMean(Kind):
    """E integrand = value for all values of the other symbols, where the entries of ``w`` are independent and
    standard normal.

    The integrand is made of products of exponentials, cosines and sines of what is linear in ``w``, and of
    powers of entries of ``w``.
    """

    integrand: Term
    w: Tensor
    value: Term
    given: tuple[Given, ...] = ()
    label: str = ""

    def statement_latex(self) -> str:
        """The mean, its variables and its value."""
        places = tuple(Index(letter, dim) for letter, dim in zip("ijklm", self.w.dims, strict=False))
        name = (as_term(self.w)[places] if places else as_term(self.w)).latex()
        drawn = rf"{name}\sim\mathcal{{N}}(0,1)" + (r"\text{ independent}" if places else "")
        return rf"\mathbb{{E}}_{{{drawn}}}\left[{self.integrand.latex()}\right] = {self.value.latex()}"


def normal_mean(statement: NormalMean, seed: int, with_mutants: bool) -> Finding:
    """The mean in closed form against the value: symbolically, at exact instances, and by quadrature."""
    s = statement
    shapes = conformable(s.integrand, s.value)
    if not shapes.passed:
        return Finding([shapes], counterexample=shapes.detail)
    _check(s)
    try:
        found = mean(_put(s.integrand, s), s.w)
    except (NoClosedForm, ZeroDivisionError) as error:
        detail = f"no closed form is known: {error}"
        return Finding([shapes, Evidence("derivation", "exact-symbolic", None, detail)])
    definedness, _ = defined([s.integrand.entry()], s.given, (), seed)
    quadrature = _quadrature(s, found, seed) if definedness.passed else definedness
    if not quadrature.passed:
        return Finding([shapes, replace(quadrature, passed=None)])
    finding = identity(Identity(Raw((), found), s.value, s.given, reason=_REASON), seed, False)
    finding.evidence.append(quadrature)
    if with_mutants and finding.holds:
        finding.mutants = _mutate(s, found, seed)
    return finding


_REASON = "E exp(z·w) is exp(z·z/2), in each product of exponentials and cosines; then normal forms"


def _put(term: Term, s: NormalMean) -> ix.Expr:
    return apply_definitions(term.entry(), s.given)


def _check(s: NormalMean) -> None:
    if s.integrand.shape():
        raise Malformed("a mean is that of a number")
    if s.w.positive or s.w.symmetric or s.w in {g.tensor for g in s.given}:
        raise Malformed(f"{s.w.name} takes all real values, entry by entry")
    if s.w in ix.tensors(_put(s.value, s)):
        raise Malformed("the mean depends on what it averages over")
    if s.w not in ix.tensors(_put(s.integrand, s)):
        raise Malformed(f"{s.w.name} does not occur in what is averaged")


# ---------------------------------------------------------------- quadrature


def _quadrature(s: NormalMean, found: ix.Expr, seed: int) -> Evidence:
    """The closed form against Gauss-Hermite quadrature, with one and two variables."""
    inside, worst, tried = _put(s.integrand, s), 0.0, 0
    for instance, at in _small(s, inside, found, seed):
        rules = _NODES[len(_places(s.w, instance.sizes))]
        try:
            target = float(instance.ball(found, at).value.mid())
            (rough, _), (fine, size) = (_by_nodes(inside, s.w, instance, at, n) for n in rules)
        except (NotExact, ZeroDivisionError):
            continue
        worst = max(worst, abs(fine - target) / size, abs(fine - rough) / size) if size else worst
        tried += bool(size)
    if not tried:
        return Evidence("solver", "measured", None, not_run="no instance has one or two variables")
    passed, detail = worst < _BOUND, f"quadrature against the closed form at {tried} instances"
    return Evidence("solver", "measured", passed, detail, error=worst, bound=_BOUND, backend="numpy")


def _small(
    s: NormalMean, inside: ix.Expr, found: ix.Expr, seed: int
) -> Iterator[tuple[Instance, dict[Index, int]]]:
    """Instances with one variable, two of them, and one for each way to have two, with small values."""
    dims = list(dict.fromkeys(d for d in s.w.dims if d != "1"))
    for sizes in product((1, 2), repeat=len(dims)):
        fixed = dict(zip(dims, sizes, strict=True))
        if (count := len(_places(s.w, fixed))) in _NODES:
            for instance, points in islice(
                exact_instances([inside, found], (), seed, 1, True, fixed), 3 - count
            ):
                halves = {k: v if k[0] == EXPONENT else v / 2 for k, v in instance.values.items()}
                yield Instance(instance.sizes, halves, ()), points[0]


def _places(w: Tensor, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    return list(product(*(range(sizes.get(dim, 1)) for dim in w.dims)))


def _by_nodes(
    inside: ix.Expr, w: Tensor, instance: Instance, at: dict[Index, int], n: int
) -> tuple[float, float]:
    """The means of an expression and of its absolute value with n nodes in each variable."""
    from numpy.polynomial.hermite_e import hermegauss

    nodes, weights = (values.tolist() for values in hermegauss(n))
    places, mean_, size, mass = _places(w, instance.sizes), 0.0, 0.0, sum(weights)
    for choice in product(range(n), repeat=len(places)):
        drawn = {(w, place): Fraction(nodes[c]) for place, c in zip(places, choice, strict=True)}
        whole = Instance(instance.sizes, {**instance.values, **drawn}, ()).ball(inside, at)
        value = prod(weights[c] / mass for c in choice) * float(whole.value.mid())
        mean_, size = mean_ + value, size + abs(value)
    return mean_, size


def _mutate(s: NormalMean, found: ix.Expr, seed: int) -> Mutants:
    """Changed values against the mean, and changed integrands, where these have one, against the value."""
    result, value = Mutants(), _put(s.value, s)
    pairs = [(f"value: {what}", found, _put(m, s)) for what, m in mutants(s.value, 12, whole=True)]
    for what, mutant in mutants(s.integrand, 8, whole=True):
        try:
            pairs.append((f"integrand: {what}", mean(_put(mutant, s), s.w), value))
        except (NoClosedForm, ZeroDivisionError):
            continue  # it may have a mean: nothing is known of it
    for what, one, two in pairs:
        result.tried += 1
        if rejects(one, two, (), seed):
            result.killed += 1
        elif equal(one, two):
            result.equivalent += 1
        else:
            result.survivors.append(what)
    return result


ENGINES[NormalMean] = normal_mean
