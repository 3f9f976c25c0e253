"""GaussianMean: the mean of a function of a standard normal variable has a closed form."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import sympy as sp
from sympy.simplify.fu import TR8

from checks.engine.finding import Finding
from checks.engine.instances import said_at
from checks.engine.judge import ENGINES
from checks.evidence import Evidence, Mutants
from checks.statement import Kind, Malformed
from derivations.calculus.unicode import unicode_math

_RATIONAL = (sp.Rational(1), sp.Rational(-1, 2), sp.Rational(2))
_DIGITS = 40


@dataclass(frozen=True)
class GaussianMean(Kind):
    """E f(w) = value for w ~ N(0, 1), for all values of the other symbols (real; positive where
    declared so).
    """

    integrand: sp.Expr
    w: sp.Symbol
    value: sp.Expr
    label: str = ""

    def statement_latex(self) -> str:
        """The mean and its value."""
        name = sp.latex(self.w)
        mean = (
            rf"\mathbb{{E}}_{{{name}\sim\mathcal{{N}}(0,1)}}\left[{sp.latex(self.integrand)}\right] = "
            rf"{sp.latex(self.value)}"
        )
        others = sorted((self.integrand.free_symbols | self.value.free_symbols) - {self.w}, key=str)
        where = r",\ ".join(f"{sp.latex(s)} > 0" for s in others if s.is_positive)
        return rf"{mean} \qquad ({where})" if where else mean


def mean(integrand: sp.Expr, w: sp.Symbol) -> sp.Expr | None:
    """The Gaussian integral, symbolically. Powers beside exponentials, sines and cosines have a formula of
    their own, and beside sines and cosines that it does not cover none is given: SymPy would look for it for
    hours. None where no closed form is found.
    """
    found = _waves(integrand, w)
    if any(wave.has(w) for wave in integrand.atoms(sp.sin, sp.cos)):
        return found
    if found is not None:
        return sp.simplify(found)
    density = sp.exp(-(w**2) / 2) / sp.sqrt(2 * sp.pi)
    value = sp.simplify(sp.integrate(sp.expand(integrand * density), (w, -sp.oo, sp.oo)))
    # an integral that is left standing has digits that SymPy estimates, and by kinks wrong ones
    return None if value.has(sp.Integral) else value


def _waves(integrand: sp.Expr, w: sp.Symbol) -> sp.Expr | None:
    """The mean of a sum of terms c wⁿ exp(aw) cos(bw + c), with a sine or with neither; None where it is no
    such sum.
    """
    total = sp.Integer(0)
    for term in sp.Add.make_args(sp.expand(TR8(sp.expand(integrand)))):
        mean_ = _wave(term, w)
        if mean_ is None:
            return None
        total += mean_
    return sp.expand(total)


def _wave(term: sp.Expr, w: sp.Symbol) -> sp.Expr | None:
    """Re or Im of E wⁿ exp(zw) for z = a + ib, which is exp(z²/2) times the mean of (w + z)ⁿ."""
    before, exponent, power, wave = sp.Integer(1), sp.Integer(0), 0, sp.cos(0, evaluate=False)
    for factor in sp.Mul.make_args(term):
        base, times = factor.as_base_exp() if not isinstance(factor, sp.exp) else (factor, sp.Integer(1))
        if not factor.has(w):
            before *= factor
        elif isinstance(factor, sp.exp):
            exponent += factor.args[0]
        elif factor.func in (sp.sin, sp.cos) and not wave.args[0].has(w):
            wave = factor
        elif base == w and times.is_Integer and times > 0:
            power += int(times)
        else:
            return None
    if not all(e.is_polynomial(w) and sp.degree(e, w) <= 1 for e in (exponent, wave.args[0])):
        return None
    (a, rest), (b, turn) = ((e.coeff(w, 1), e.coeff(w, 0)) for e in map(sp.expand, (exponent, wave.args[0])))
    moments = sum(
        sp.binomial(power, k) * sp.factorial2(k - 1) * (a + sp.I * b) ** (power - k)
        for k in range(0, power + 1, 2)
    )
    if b == turn == 0:
        return before * sp.exp(sp.expand(rest + a**2 / 2)) * sp.expand(moments)
    real, imaginary = sp.expand(moments).as_real_imag()
    angle = a * b + turn
    if wave.func == sp.sin:
        real, imaginary = imaginary, -real
    grown = sp.exp(sp.expand(rest + (a**2 - b**2) / 2))
    return before * grown * (real * sp.cos(angle) - imaginary * sp.sin(angle))


def _vanishes(expression: sp.Expr) -> bool:
    """Whether an expression is zero: multiplied out, or simplified where that is not enough."""
    return sp.expand(expression) == 0 or sp.simplify(expression) == 0


def gaussian_mean(statement: GaussianMean, seed: int, with_mutants: bool) -> Finding:
    """The integral compared with the value symbolically, then by quadrature at rational points."""
    _check(statement)
    found = mean(statement.integrand, statement.w)
    if found is None:
        detail = "no closed form of the mean is known: of sines and cosines, one beside powers and"
        detail += " exponentials of linear terms"
        return Finding([Evidence("derivation", "exact-symbolic", None, detail)])
    equal = _vanishes(found - statement.value)
    quadrature = _quadrature(statement)
    if quadrature.passed is None:
        return Finding([quadrature])
    witness = None if equal or quadrature.passed else _differs(found, statement)
    equal = equal and bool(quadrature.passed)
    step = {
        "title": "Gaussian integral",
        "latex": rf"\int {sp.latex(statement.integrand)}\,\varphi(w)\,dw = {sp.latex(found)}",
        "reason": "integrated symbolically",
        "grade": "exact-symbolic",
        "passed": equal,
    }
    passed = True if equal else (False if witness else None)
    detail = "the integral is the value" if equal else f"the integral is {found}"
    finding = Finding(
        [Evidence("derivation", "exact-symbolic", passed, detail, settles=True)], [step], witness
    )
    if equal:
        finding.evidence.append(quadrature)
        if with_mutants:
            finding.mutants = _mutants(statement, found)
    return finding


_EVERYWHERE = (
    *(
        sp.Symbol,
        sp.Rational,
        sp.NumberSymbol,
        sp.Add,
        sp.Mul,
        sp.Pow,
        sp.Tuple,
        sp.exp,
        sp.Abs,
        sp.Max,
        sp.Min,
        sp.sign,
    ),
    *(sp.sin, sp.cos, sp.sinh, sp.cosh, sp.tanh, sp.atan, sp.asinh, sp.erf, sp.erfc),
)
"""What is a real number wherever its arguments are; of powers, logarithms and gamma the arguments are
looked at.
"""


def _check(s: GaussianMean) -> None:
    if s.w.is_positive or s.w.is_negative or s.w.is_integer or not s.w.is_real:
        raise Malformed("a standard normal variable takes all real values")
    if s.w not in s.integrand.free_symbols:
        raise Malformed(f"{s.w.name} does not occur in what is averaged")
    symbols = {s.w} | s.integrand.free_symbols | s.value.free_symbols
    if len({x.name for x in symbols}) < len(symbols) or s.w in s.value.free_symbols:
        raise Malformed("two different symbols have one name, or the mean depends on what it averages over")
    for x in symbols - {s.w}:
        if x not in (sp.Symbol(x.name, real=True), sp.Symbol(x.name, positive=True)):
            raise Malformed(f"{x.name} is real, or positive: nothing else is shown")
    if s.integrand.has(sp.Float) or s.value.has(sp.Float):
        raise Malformed("floats state nothing exactly")
    for part in sp.preorder_traversal(sp.Tuple(s.integrand, s.value)):
        base = part.base if isinstance(part, sp.Pow) and not (part.exp.is_integer and part.exp >= 0) else None
        if (
            base is not None
            and part.base != sp.E
            and not base.is_positive
            and not (part.exp.is_negative and base.is_nonzero)
        ):
            raise Malformed(f"{sp.sstr(part)} is not shown to be defined")
        if not isinstance(part, (*_EVERYWHERE, sp.log, sp.gamma)) or (
            isinstance(part, (sp.log, sp.gamma)) and not part.args[0].is_positive
        ):
            raise Malformed(f"{sp.sstr(part)} is not shown to be defined")


def _points(statement: GaussianMean) -> list[dict[sp.Symbol, sp.Rational]]:
    symbols = sorted(
        (statement.integrand.free_symbols | statement.value.free_symbols) - {statement.w}, key=str
    )
    pools = [[x for x in _RATIONAL if x > 0 or not s.is_positive] for s in symbols]
    return [dict(zip(symbols, choice, strict=True)) for choice in product(*pools)]


def _differs(found: sp.Expr, statement: GaussianMean) -> str | None:
    for point in _points(statement):
        left, right = found.subs(point), statement.value.subs(point)
        apart = sp.Abs(sp.N(left - right, _DIGITS))
        if apart.is_Float and apart > sp.Float(10) ** (-_DIGITS // 2):
            at = ", ".join(f"{s} = {x}" for s, x in point.items())
            mean, value = (unicode_math(sp.latex(sp.simplify(x))) for x in (left, right))
            return said_at(at, f"the mean is {mean}, not {value}")
    return None


def _quadrature(statement: GaussianMean) -> Evidence:
    """Adaptive quadrature in mpmath: an independent route to the mean."""
    import mpmath

    worst = 0.0
    density = sp.exp(-(statement.w**2) / 2) / sp.sqrt(2 * sp.pi)
    for point in _points(statement)[:4]:
        function = sp.lambdify(statement.w, (statement.integrand * density).subs(point), "mpmath")
        try:
            value, error = mpmath.quad(function, [-mpmath.inf, 0, mpmath.inf], error=True)
            target = mpmath.mpf(sp.N(statement.value.subs(point), 30))
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            why = "the integral or the value is no real number at a rational point"
            return Evidence("solver", "measured", None, not_run=why)
        scale = max(abs(target), abs(value), mpmath.mpf("1e-12"))
        worst = max(worst, float(abs(value - target) / scale), float(error / scale))
    return Evidence(
        "solver",
        "measured",
        worst < 1e-10,
        "quadrature at rational points",
        error=worst,
        bound=1e-10,
        backend="mpmath",
    )


def _mutants(statement: GaussianMean, found: sp.Expr) -> Mutants:
    result, value = Mutants(), statement.value
    candidates = [
        ("doubled", 2 * value),
        ("squared", value**2),
        ("inverted", 1 / value),
        ("plus one", value + 1),
    ]
    candidates += [
        (f"{s} negated", value.subs(s, -s)) for s in sorted(value.free_symbols, key=str) if not s.is_positive
    ]
    for what, mutant in candidates:
        result.tried += 1
        if sp.simplify(found - mutant) != 0:
            result.killed += 1
        elif sp.simplify(value - mutant) == 0:
            result.equivalent += 1
        else:
            result.survivors.append(what)
    return result


ENGINES[GaussianMean] = gaussian_mean
