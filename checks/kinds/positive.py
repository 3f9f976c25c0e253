"""Positive: a kernel is Mercer on a domain (every Gram matrix is positive semidefinite); or it never is.

Proof: a certificate (``derivations.calculus.psd``) that rebuilds the kernel as a normal form. Refutation:
exact points, parameters and weights w with w'Gw < 0, or points of the domain at which the kernel is not
defined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import sympy as sp

from checks.engine.finding import Finding
from checks.engine.instances import FUNCTIONS, as_written, polynomials
from checks.engine.judge import ENGINES, ENOUGH, attempt, conformable, rejects, step
from checks.engine.mutants import mutants
from checks.engine.notation import all_terms
from checks.evidence import Evidence, Mutants
from checks.statement import Kind, Malformed
from derivations.calculus import index as ix
from derivations.calculus import maxima
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.components import NotExact, evaluate
from derivations.calculus.documented import allows
from derivations.calculus.exact import Exponential
from derivations.calculus.functions import NONNEGATIVE, POSITIVE
from derivations.calculus.index import Index, Tensor
from derivations.calculus.printing import to_expr
from derivations.calculus.psd import Certificate, of_these_rules
from derivations.calculus.term import Apply, Term, as_term
from derivations.calculus.unicode import unicode_math

_HALF = Fraction(1, 2)
_VALUES = {
    "R^d": (0, 1, -1, _HALF, -_HALF, 2),
    "R^d without 0": (1, -1, _HALF, -_HALF, 2),
    "[-1, 1]^d": (0, 1, -1, _HALF, -_HALF),
    "(0, inf)^d": (1, 2, _HALF, 3),
}
_LATEX = {
    "R^d": r"\mathbb{R}^d",
    "R^d without 0": r"\mathbb{R}^d\setminus\{0\}",
    "[-1, 1]^d": r"[-1,1]^d",
    "(0, inf)^d": r"(0,\infty)^d",
}
_RANGES = {"real": (1, -1, 2, -2, 0), ">= 0": (1, 2, 0), "> 0": (1, 2)}
_WEIGHTS = {1: ((1,),), 2: ((1, 1), (1, -1), (2, -1), (1, -2)), 3: ((1, -2, 1), (1, -1, 1), (1, 1, -1))}


@allows(domain=_VALUES, range=_RANGES)
@dataclass(frozen=True)
class Positive(Kind):
    """Σ_ij w_i w_j κ(x_i, x_j) ≥ 0 for all points of the domain, all parameters in their ranges and all real
    w.

    ``kernel`` is a scalar term in the rows i and j of ``points`` (N, d); ``ranges`` has a pair (parameter,
    range) for each parameter; ``certificate`` rebuilds the kernel from the rules of the module ``psd``, which
    authors import as well.
    """

    kernel: Term
    points: Tensor
    i: Index
    j: Index
    domain: str
    ranges: tuple[tuple[Tensor, str], ...] = ()
    certificate: Certificate | None = None
    label: str = ""

    def statement_latex(self) -> str:
        """The inequality, its domain and the ranges of the parameters."""
        taken = {name for t in (self.points, *dict(self.ranges)) for name in (t.name, t.latex)}
        taken |= {self.i.name, self.j.name, *self.points.dims}
        taken |= {t.data[0] for t in all_terms(self) if isinstance(t, Apply)}
        i, j, w = self.i.latex, self.j.latex, next(letter for letter in "wvucbrsz" if letter not in taken)
        domain = _LATEX[self.domain].replace("^d", f"^{{{self.points.dims[1]}}}")
        where = [rf"{as_term(self.points)[self.i].latex()} \in {domain}"]
        signs = {"real": r"\in\mathbb{R}", ">= 0": r"\ge 0", "> 0": "> 0"}
        where += [f"{t.symbol} {signs[r]}" for t, r in self.ranges]
        total = rf"\sum_{{{i},{j}=1}}^{{{self.i.dim}}} {w}_{{{i}}} {w}_{{{j}}}\,{self.kernel.wrapped(2)}"
        return rf"{total} \ge 0 \qquad ({', '.join(where)})"


def positive(statement: Positive, seed: int, with_mutants: bool) -> Finding:
    """Search for an exact counterexample; else verify the certificate and that the kernel is defined."""
    finding = Finding()
    shapes = conformable(statement.kernel)
    finding.evidence.append(shapes)
    if not shapes.passed:
        finding.counterexample = shapes.detail
        return finding
    statement = ranged(statement)
    _check(statement)
    tried, found = search(statement)
    detail = f"{tried} quadratic forms of Gram matrices in exact arithmetic"
    if tried < ENOUGH and not found:
        why = f"only {tried} quadratic forms had a value"
        finding.evidence.append(Evidence("exact", "exact-rational", None, not_run=why))
    else:
        finding.evidence.append(Evidence("exact", "exact-rational", not found, detail))
    if found:
        finding.counterexample = found.words(statement.kernel.entry())
        return finding
    why = _flaw(statement) or ("too few quadratic forms had a value" if tried < ENOUGH else "")
    rules = "; ".join(dict.fromkeys(statement.certificate.reasons())) if statement.certificate else ""
    built = [] if why or not statement.certificate else statement.certificate.steps(statement.j)
    for latex, rule in built:
        finding.steps.append(step("positive semidefinite", latex, rule, True))
    reason = why or rf"the kernel is κ_{len(built)}"
    finding.steps.append(attempt("certificate", statement.statement_latex(), reason, not why))
    detail = why or f"rebuilt from kernels that are positive semidefinite: {rules}"
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", None if why else True, detail, settles=True)
    )
    if with_mutants and not why:
        finding.mutants = _mutate(statement, seed)
    return finding


def _check(s: Positive) -> None:
    """Raise Malformed for a kernel of more than its points and parameters, or ranges that promises
    contradict.
    """
    if len(s.points.dims) != 2:
        raise Malformed("the points are the rows of a matrix (N, d); what holds for every d holds for d = 1")
    kernel, ranges = s.kernel.entry(), dict(s.ranges)
    if len(ranges) < len(s.ranges):
        raise Malformed("a parameter has two ranges")
    if stray := ix.free_indices(kernel) - {s.i, s.j}:
        raise Malformed(f"the kernel depends on the index {', '.join(sorted(i.name for i in stray))}")
    if unranged := ix.tensors(kernel) - ranges.keys() - {s.points}:
        raise Malformed(f"no range is given for {', '.join(sorted(t.name for t in unranged))}")
    if s.domain not in _VALUES or any(r not in _RANGES for r in ranges.values()):
        raise Malformed(f"a domain is one of {', '.join(_VALUES)}, a range one of {', '.join(_RANGES)}")
    if (s.points.positive and s.domain != "(0, inf)^d") or any(
        t.positive and r != "> 0" for t, r in s.ranges
    ):
        raise Malformed("a promise says another range than the statement")
    if s.i == s.j or any(t.dims for t in ranges):
        raise Malformed("a kernel has two different points and parameters that are numbers")


def _flaw(s: Positive) -> str:
    """Why the certificate does not prove the statement; "" if it does."""
    if s.certificate is None:
        return "no certificate is offered: the rules of psd build one"
    if not of_these_rules(s.certificate):
        return "the certificate has a rule of its own, which nothing here shows"
    if why := s.certificate.flaw(_ranges(s)):
        return why
    built = _rebuilt(s)
    if not _same(s.kernel.entry(), built):
        return "the certificate rebuilds another kernel"
    if any(not _met(d, s) for e in (s.kernel.entry(), built) for d in sg.demands(e)):
        return "the kernel is not shown to be defined on the domain"
    return ""


def _rebuilt(s: Positive) -> ix.Expr:
    """The kernel of the certificate, whose own sums never run over the two points."""
    assert s.certificate is not None
    i, j = s.i.fresh(), s.j.fresh()
    return ix.rename(s.certificate.kernel(i, j), {i: s.i, j: s.j})


def _same(one: ix.Expr, two: ix.Expr) -> bool:
    """Whether two kernels are seen to be equal, the root of a square and the absolute value as one."""
    if _alike(one, two):
        return True
    return maxima.occur(one, two) and _alike(*(to_expr(maxima.canonical(e)) for e in (one, two)))


def _alike(one: ix.Expr, two: ix.Expr) -> bool:
    """Equal normal forms, or exponentials of arguments that are equal once denominators are cleared."""
    if nf.equal(one, two):
        return True
    logs = [_exponent(nf.normal(e)) for e in (one, two)]
    if logs[0] is None or logs[1] is None:
        return False
    return nf.is_zero(nf.add(logs[0], nf.scale(logs[1], -1)))


def _exponent(form: nf.Form) -> nf.Form | None:
    """The argument of a form that is a product of exponentials, or None."""
    if len(form) != 1 or form[0][0][0] or form[0][1] != 1:
        return None
    factors = form[0][0][2]
    if any(a[:3] != ("C", "exp", 0) for a, _ in factors):
        return None
    return nf.add(*(nf.scale(a[3], e) for a, e in factors))


def _ranges(s: Positive) -> dict[Tensor, str]:
    """The ranges of the parameters, and of the coordinates where the domain keeps them positive."""
    return {**dict(s.ranges), **({s.points: "> 0"} if s.domain == "(0, inf)^d" else {})}


def _met(demand: sg.Demand, s: Positive) -> bool:
    """Whether a denominator, root or logarithm is visibly defined on the domain, which may keep norms
    from 0.
    """
    signs = {">= 0": NONNEGATIVE, "> 0": POSITIVE}
    forms = {}
    if s.domain == "R^d without 0":
        for at in (s.i, s.j):
            a = Index("a", s.points.dims[1])
            forms[nf.normal(ix.Sum(a, ix.Pow(ix.At(s.points, (at, a)), Fraction(2))))] = POSITIVE
    facts = sg.Facts({t: signs[r] for t, r in _ranges(s).items() if r in signs}, forms)
    return sg.signs(demand.base, facts) <= demand.signs


def ranged(s: Positive) -> Positive:
    """The statement with the ranges that promises give parameters."""
    listed = {t for t, _ in s.ranges} | {s.points}
    promised = sorted({t for t in ix.tensors(s.kernel.entry()) if t.positive} - listed, key=repr)
    return replace(s, ranges=(*s.ranges, *((t, "> 0") for t in promised)))


@dataclass(frozen=True)
class Negative:
    """Parameters and points at which a kernel is not defined, or with weights and a Gram matrix a negative
    form.
    """

    parameters: dict[Tensor, Fraction]
    points: tuple[tuple[Any, ...], ...]
    weights: tuple[int, ...] = ()
    gram: tuple[tuple[Any, ...], ...] = ()

    def words(self, kernel: ix.Expr) -> str:
        """The counterexample to a kernel."""
        where = "; ".join((_words(self.parameters, self.points), *polynomials(kernel)))
        if not self.weights:
            return f"{where}: the kernel divides by 0"
        shown = "; ".join(", ".join(map(str, row)) for row in self.gram)
        weights, value = ", ".join(map(str, self.weights)), _weighed(self.weights, self.gram)
        return f"{where}: Gram matrix [{shown}], w = ({weights}), wᵀGw = {value} < 0"


def _weighed(weights: Any, gram: Any) -> Any:
    return sum(
        (w * v * gram[a][b] for a, w in enumerate(weights) for b, v in enumerate(weights)), Fraction(0)
    )


def search(s: Positive) -> tuple[int, Negative | None]:
    """How many forms were evaluated, and the first that is negative or not defined."""
    tried = 0
    for parameters in product(*(_RANGES[r] for _, r in s.ranges)):
        chosen = {t: Fraction(v) for (t, _), v in zip(s.ranges, parameters, strict=True)}
        for count, width in ((1, 1), (2, 1), (3, 1), (2, 2)):
            sizes = {s.points.dims[0]: count, s.points.dims[1]: width}
            if sizes[s.points.dims[0]] != count or as_written(sizes) != sizes:
                continue  # one name of two sizes
            for points in _point_sets(s.domain, count, width):
                try:
                    gram = _gram(s, chosen, points)
                except ZeroDivisionError:
                    return tried, Negative(chosen, points)
                except NotExact:
                    continue
                for weights in _WEIGHTS[count]:
                    tried += 1
                    if Exponential.of(_weighed(weights, gram)).sign() < 0:
                        return tried, Negative(chosen, points, weights, tuple(map(tuple, gram)))
    return tried, None


def _point_sets(domain: str, count: int, width: int) -> Iterator[tuple[tuple[Any, ...], ...]]:
    vectors = [tuple(map(Fraction, v)) for v in product(_VALUES[domain], repeat=width)]
    sets = list(combinations(vectors, count))
    yield from sets[:: max(1, len(sets) // 20)]


def _gram(
    s: Positive, parameters: dict[Tensor, Fraction], points: tuple[tuple[Any, ...], ...]
) -> list[list[Any]]:
    expr = s.kernel.entry()
    sizes = {s.points.dims[0]: len(points), s.points.dims[1]: len(points[0])}

    def lookup(tensor: Tensor, entry: tuple[int, ...]) -> Any:
        if tensor.name == s.points.name:
            return points[entry[0]][entry[1]]
        return parameters.get(tensor, Fraction(1))

    span = range(len(points))
    return [[evaluate(expr, sizes, lookup, FUNCTIONS, {s.i: a, s.j: b}) for b in span] for a in span]


def _words(parameters: dict[Tensor, Fraction], points: tuple[tuple[Any, ...], ...]) -> str:
    shown = [f"{unicode_math(t.symbol)} = {v}" for t, v in parameters.items()]
    shown += [f"x_{n + 1} = ({', '.join(map(str, p))})" for n, p in enumerate(points)]
    return ", ".join(shown)


def _mutate(s: Positive, seed: int) -> Mutants:
    """Other kernels, which this certificate must not prove."""
    result = Mutants()
    assert s.certificate is not None
    rebuilt = _rebuilt(s)
    narrow = {s.points.dims[1]: 1}  # roots of squares stay rational
    for what, mutant in [("negated", -s.kernel), ("minus one", s.kernel - 1), *mutants(s.kernel, 16)]:
        result.tried += 1
        if _same(mutant.entry(), rebuilt):
            result.equivalent += 1
        elif _flaw(replace(s, kernel=mutant)) and (
            rejects(mutant.entry(), rebuilt, (), seed) or rejects(mutant.entry(), rebuilt, (), seed, narrow)
        ):
            result.killed += 1
        else:
            result.survivors.append(f"{what}: {mutant.latex()}")
    return result


# ---------------------------------------------------------------- never positive, along a line


@dataclass(frozen=True)
class Region:
    """Signs of c and γ, and where the form is negative: points (multiples of h on a line) and weights.

    ``c`` and ``gamma`` are "-", "0" or "+"; no weights stand for the direction (κ_12, -κ_11) of two points.
    """

    c: str
    gamma: tuple[str, ...]
    points: tuple[Fraction, ...]
    weights: tuple[int, ...] = ()


@dataclass(frozen=True)
class SigmoidNegative(Kind):
    """For every γ ≠ 0, every c and every h ≠ 0: tanh(γ xy + c) has a negative form on points of the line
    through h.

    The form is a rational function of e^{2|c|} = 1 + a and e^{|γ|h²/2} = 1 + b; after clearing, all
    coefficients of its numerator are negative and all of its denominator positive, so it is negative for all
    a, b > 0.
    """

    regions: tuple[Region, ...]
    label: str = ""

    def statement_latex(self) -> str:
        """One line for each region."""
        lines = [r"\kappa_{ij} = \tanh(\gamma\,x_i^\top x_j + c),\quad h \ne 0"]
        for r in self.regions:
            points = ",\\ ".join(map(_multiple, r.points))
            weights = ",\\ ".join(map(str, r.weights)) or r"\kappa_{12},\ -\kappa_{11}"
            signs = " ,\\ ".join(rf"\gamma {_relation(g)}" for g in r.gamma)
            form = r"\sum_{i,j} w_i w_j\,\kappa_{ij} < 0"
            lines.append(rf"c {_relation(r.c)},\ {signs}:\quad x = ({points}),\ w = ({weights}):\ {form}")
        return r"\begin{gathered}" + r" \\ ".join(lines) + r"\end{gathered}"


def _multiple(factor: Fraction) -> str:
    """A multiple of h."""
    if not factor:
        return "0"
    whole = "" if abs(factor.numerator) == 1 else str(abs(factor.numerator))
    number = (
        whole if factor.denominator == 1 else rf"\tfrac{{{abs(factor.numerator)}}}{{{factor.denominator}}}"
    )
    return f"{'-' if factor < 0 else ''}{number}h"


def _relation(sign: str) -> str:
    return {"-": "< 0", "0": "= 0", "+": "> 0"}[sign]


_SHORT = {"a": "a = e^{2|c|} - 1 > 0", "b": "b = e^{|γ|‖h‖²/2} - 1 > 0"}


def _form(region: Region, gamma: str) -> sp.Expr:
    """The quadratic form as a rational function of a, b > 0."""
    a, b = sp.symbols("a b", positive=True)
    p = {"-": 1 / (1 + a), "0": sp.Integer(1), "+": 1 + a}[region.c]
    q = {"-": 1 / (1 + b), "0": sp.Integer(1), "+": 1 + b}[gamma]

    def kernel(x: Fraction, y: Fraction) -> sp.Expr:
        power = 4 * x * y  # e^{2γh² xy} = q^{4xy}
        argument = p * q ** sp.Rational(power.numerator, power.denominator)
        return (argument - 1) / (argument + 1)

    gram = [[kernel(x, y) for y in region.points] for x in region.points]
    weights = region.weights or (gram[0][1], -gram[0][0])
    return sp.cancel(
        sp.together(sum(v * w * gram[m][n] for m, v in enumerate(weights) for n, w in enumerate(weights)))
    )


def quotient(region: Region, gamma: str) -> tuple[sp.Expr, sp.Expr]:
    """The quadratic form as numerator and denominator, the latter with a positive first coefficient."""
    a, b = sp.symbols("a b", positive=True)
    top, bottom = map(sp.expand, sp.fraction(sp.together(_form(region, gamma))))
    sign = sp.sign(sp.Poly(bottom, a, b).coeffs()[0])
    return sp.expand(sign * top), sp.expand(sign * bottom)


def _negative(region: Region, gamma: str) -> bool:
    a, b = sp.symbols("a b", positive=True)
    signs = []
    for poly in (sp.Poly(part, a, b) for part in quotient(region, gamma)):
        found = {sp.sign(x) for x in poly.coeffs() if x != 0}
        signs.append(found.pop() if len(found) == 1 else sp.Integer(0))
    return signs[0] * signs[1] == -1


def sigmoid_negative(statement: SigmoidNegative, seed: int, with_mutants: bool) -> Finding:
    """Every region, and that the regions cover all signs of c and γ ≠ 0; mutants change points and
    weights.
    """
    finding = Finding()
    covered = {(r.c, g) for r in statement.regions for g in r.gamma}
    complete = covered >= set(product("-0+", "-+"))
    passed = complete
    for region in statement.regions:
        for gamma in region.gamma:
            holds = _negative(region, gamma)
            passed &= holds
            form = _form(region, gamma)
            latex = sp.latex(sp.factor(form)) + " < 0"
            short = ", ".join(_SHORT[symbol] for symbol in sorted(map(str, form.free_symbols)))
            step = {
                "title": f"c {_relation(region.c)}, γ {_relation(gamma)}",
                "latex": latex,
                "grade": "exact-symbolic",
            }
            finding.steps.append(
                {**step, "reason": f"all coefficients have the needed sign, {short}", "passed": holds}
            )
    detail = (
        "negative in every region, and the regions cover all γ ≠ 0 and c"
        if passed
        else "not shown for every sign"
    )
    finding.evidence.append(
        Evidence("derivation", "exact-symbolic", True if passed else None, detail, settles=True)
    )
    if with_mutants and passed:
        for region in statement.regions:
            for changed in _region_mutants(region):
                finding.mutants.tried += 1
                finding.mutants.killed += not all(_negative(changed, g) for g in changed.gamma)
    return finding


def _region_mutants(region: Region) -> Iterator[Region]:
    """The opposite sign of the constant (of γ where c = 0), and weights that all add up."""
    opposite = {"-": "+", "+": "-"}
    if region.c != "0":
        yield replace(region, c=opposite[region.c])
    else:
        yield replace(region, gamma=tuple(opposite[g] for g in region.gamma))
    if len(region.points) > 1:
        yield replace(region, weights=(1,) * len(region.points))


ENGINES[Positive] = positive
ENGINES[SigmoidNegative] = sigmoid_negative
