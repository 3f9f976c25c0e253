"""The derivations of theory energy under assumptions that can be changed: gradient, regulariser, extremum,
descent.

F is a formula in u, or "any". The calculus with A, V and Z is done once for an arbitrary F, by the guarded
derivative; what depends on the formula (its derivatives, where they have which sign) is decided by SymPy, or
left undecided.
"""

from __future__ import annotations

import re
from fractions import Fraction

import sympy as sp
from sympy.calculus.util import continuous_domain

from derivations.calculus import index as ix
from derivations.calculus import normal as nf
from derivations.calculus import signs as sg
from derivations.calculus.gradients import at_point, formula, grad
from derivations.calculus.index import Tensor
from derivations.calculus.printing import form_latex
from derivations.calculus.program import Step
from derivations.calculus.term import Term, as_term, stack, sum_over, trace
from derivations.theories.energy import forms as en
from derivations.theories.energy.choices import KNOBS, EnergyAssumptions
from derivations.theories.energy.extrema import (
    bounded_below,
    descent_words,
    step_words,
    verdict_at_attention,
    where_stationary,
)
from derivations.theories.energy.shape import (
    SIGNS_OF,
    Shape,
    U,
    index_expression,
    power_of,
    shape_of,
    sign_on_reals,
    sympy_expression,
    sympy_function,
)
from derivations.theories.theory import NoForm

_TOWER = 3
_LONG_EXPONENT = re.compile("[eE].{4}")
"""A power of ten that Fraction would work out for hours, where no signal ends it."""
PAPERS_FUNCTIONS = ("u", "u^2", "u^3", "exp(u)")


def validate(name: str, value: str) -> None:
    """Raise ValueError for a value that a knob does not take."""
    if name == "F":
        if value != "any":
            _require_real_function(value)
        return
    if name == "step" and value != "small":
        try:
            bounded = len(value) <= 40 and not _LONG_EXPONENT.search(value)
            positive = bounded and 0 < Fraction(value) <= 10**6
        except (ValueError, ZeroDivisionError):
            positive = False
        if not positive:
            raise ValueError("the step size must be a positive number up to 1000000, such as 1/4")
        return
    allowed = next(knob.allowed for knob in KNOBS if knob.name == name)
    if name != "step" and value not in allowed:
        raise ValueError("not an allowed value")


def _tower(expr: ix.Expr) -> int:
    """How many functions that grow as exponentials do stand within each other."""
    inside = max(map(_tower, ix.children(expr)), default=0)
    return inside + (isinstance(expr, ix.Call) and expr.function in ("exp", "cosh", "sinh"))


def _require_real_function(text: str) -> None:
    if _tower(index_expression(text)) > _TOWER:  # SymPy would evaluate it at the values below
        raise ValueError(
            f"more than {_TOWER} exponentials within each other give numbers with too many digits; a smaller "
            "formula is needed"
        )
    function = sympy_function(text)
    kinks = False  # whether a root is taken of what may be 0, where it has no slope
    for demand in sg.demands(index_expression(text)):  # of the text itself: SymPy cancels what is not defined
        base = sympy_expression(demand.base)
        left = SIGNS_OF[sign_on_reals(base)] & sg.signs(demand.base)
        if not left <= demand.signs:
            raise ValueError(
                f"F must be defined for every real u; it is not shown that {base} {demand.words()}"
            )
        kinks = kinks or 0 in left
    if U not in function.free_symbols:
        raise ValueError("F must depend on u")
    try:
        domain = continuous_domain(function, U, sp.S.Reals)
    except (NotImplementedError, TypeError, ValueError):  # then the values below must do
        domain = sp.S.Reals
    if domain != sp.S.Reals:
        raise ValueError(
            f"F must be continuous for every real u, since u_j takes any value; this one is so on {domain}"
        )
    for u in (*range(-10, 11), sp.Rational(-1, 2), sp.Rational(1, 2)):
        value = function.subs(U, u)
        if value.is_real is False or value.has(sp.zoo, sp.nan, sp.I):
            raise ValueError(
                f"F must be real for every real u, since u_j takes any sign; it is not at u = {u}"
            )
    slope = sp.diff(function, U)
    for u in range(-10, 11):
        left, right = (sp.limit(slope, U, u, side) for side in "-+")
        if left != right or not left.is_finite:
            raise ValueError(f"F must have a slope at every real u; this one has none at u = {u}")
    rooted = any(power.exp.is_Rational and power.exp.q > 1 for power in function.atoms(sp.Pow))
    if function.has(sp.Abs, sp.sign) or (rooted and kinks):
        raise ValueError(f"F must have a second derivative at every real u; that is not shown of {function}")


def functions(assumptions: EnergyAssumptions) -> tuple[str, ...]:
    """The formulas that "any" stands for in examples: those of the paper; else the one that is assumed."""
    return PAPERS_FUNCTIONS if assumptions.F == "any" else (assumptions.F,)


def weight(assumptions: EnergyAssumptions, text: str, at: Term) -> Term:
    """The weight of the regulariser at c_j = ``at``, for the F given as text. Raises NoForm where there is
    none.
    """
    match assumptions.regulariser:
        case "none":
            return as_term(0) * at
        case "section7":
            return 2 * at
        case "section5":
            exponent = power_of(text)
            if exponent is None:
                raise NoForm(f"the regulariser of Section 5 is for powers u^p, not for {text}")
            return exponent * at ** (exponent - 1)
    return formula(text, at, 1)


def regularised(assumptions: EnergyAssumptions, text: str) -> Term:
    """E_R(Z) = Σ_j F(u_j) - Σ_ij w_j A_ij z_iᵀv_j under the assumptions, for the F given as text."""
    energy = sum_over(en.j, formula(text, en.u()))
    if assumptions.regulariser == "none":
        return energy
    return energy - en.pairing(lambda at: weight(assumptions, text, en.c(at)))


def stationary(assumptions: EnergyAssumptions, text: str) -> bool | None:
    """Whether AV is a stationary point of E_R for all A and V; None where neither is shown.

    Shown by normal form; refuted by one token with value v, where the gradient at AV = v is v (F'(v²) -
    w(v²)).
    """
    slope = at_point(grad(regularised(assumptions, text), en.Z_, "E_R"), en.Z_, en.AV)
    if nf.is_zero(nf.normal(slope.entry(en.i, en.k))):
        return True
    return False if breaking_value(assumptions, text) is not None else None


def breaking_value(assumptions: EnergyAssumptions, text: str) -> sp.Rational | None:
    """A value v of a single token for which the gradient at AV does not vanish, or None if none is found."""
    first = sp.diff(sympy_function(text), U)
    exponent = power_of(text)
    weights = {
        "none": sp.Integer(0),
        "section7": 2 * U,
        "matching": first,
        "section5": exponent * U ** (exponent - 1) if exponent else first,
    }
    gap = sp.simplify(first - weights[assumptions.regulariser])
    for v in (sp.Integer(1), sp.Integer(2), sp.Rational(1, 2), sp.Integer(3)):
        if gap.subs(U, v**2).is_zero is False:
            return v
    return None


def derive(assumptions: EnergyAssumptions) -> list[Step]:
    """Gradient, value at AV, matching regulariser, Hessian, and what AV is under the assumptions."""
    validate("F", assumptions.F)
    steps = _calculus()
    for text in functions(assumptions):
        steps += _for_function(assumptions, text)
    return steps


def _calculus() -> list[Step]:
    """The steps that hold for every differentiable F."""
    any_energy = en.energy(en.F)
    slope = grad(any_energy, en.Z_)[en.i, en.k].entry()
    at_av = at_point(en.u(), en.Z_, en.AV).entry()
    matched = at_point(grad(any_energy + en.matching(), en.Z_, "E_R"), en.Z_, en.AV)
    zero = nf.is_zero(nf.normal(matched.entry(en.i, en.k)))
    form, proved = second_form()
    return [
        Step("Energy", rf"E(Z) = {any_energy.latex()}", "equation (27)"),
        Step(
            "Gradient",
            rf"\frac{{\partial E}}{{\partial Z_{{ik}}}} = {form_latex(nf.normal(slope))}",
            "index calculus, and components",
        ),
        Step("Value at AV", rf"c_j = u_j(AV) = {form_latex(nf.normal(at_av))}", "Z = AV put into u_j"),
        Step(
            "Matching regulariser",
            rf"R(Z) = {en.matching().latex()}",
            "minus the gradient at AV, paired with Z; "
            + ("the gradient of E + R at AV is 0" if zero else "NOT stationary"),
        ),
        Step(
            "Excess",
            rf"E(Z) + R(Z) - E(AV) - R(AV) = {en.excess().latex()}",
            "with the matching R: Bregman differences D_F(u, c) = F(u) - F(c) - F'(c)(u - c)",
        ),
        *_geometry(),
        Step(
            "Hessian",
            rf"\langle W, \nabla^2 E\,W\rangle = {form.latex()}",
            "second derivative along W; at AV the arguments are c_j"
            if proved
            else "NOT equal to the second derivative",
        ),
        _inertia(),
    ]


W_ = Tensor("W", (en.N, en.DV), "W", "w_{%1}", "W_{%1%2}")
y_ = Tensor("y", (en.N,), "y", "", "y_{%1}")
W, y = as_term(W_), as_term(y_)
GRAM_Y = sum_over(en.r_, (en.A.T @ en.A)[en.j, en.r_] * (en.V @ en.V.T)[en.j, en.r_] * y[en.r_])


def geometry() -> tuple[tuple[str, Term, Term], ...]:
    """Identities (title, left, right) behind every statement on directions: u of A diag(y) V is Gy, G = (AᵀA)
    ∘ (VVᵀ), and the inner product of W and A diag(y) V is that of u(W) and y.

    So the states split into A diag(y) V and the W with u(W) = 0, orthogonal to each other, of dimensions rank
    G and n d_v - rank G, and where G is nonsingular u takes every value.
    """
    image = at_point(en.u(), en.Z_, en.adjoint(y))
    return (
        ("Alignments of A diag(y) V", image, GRAM_Y),
        ("Orthogonality", trace(W.T @ en.adjoint(y)), sum_over(en.j, y[en.j] * en.u(state=W))),
    )


def _geometry() -> list[Step]:
    reasons = (
        "the Gram matrix G = (AᵀA) ∘ (VVᵀ) of the alignments; where it is nonsingular they are independent",
        "so the W with u(W) = 0 are the orthogonal complement of all A diag(y) V, among which is AV (y = 1)",
    )
    return [
        Step(
            title,
            rf"{left.latex()} = {right.latex()}",
            why if nf.equal(left.entry(), right.entry()) else "NOT equal",
        )
        for (title, left, right), why in zip(geometry(), reasons, strict=True)
    ]


def inertia() -> tuple[Term, Term]:
    """The second derivative of E along A diag(y) V, and Σ_j F''(u_j) (Gy)_j²: equal, by the identities
    of ``geometry``.
    """
    left = at_point(second_form()[0], W_, en.adjoint(y))
    square = Tensor("s", (en.N,), "s", "", "s_{%1}")
    right = at_point(
        sum_over(en.j, en.F(en.u(), 2) * as_term(square)[en.j] ** 2), square, stack(en.j, GRAM_Y)
    )
    return left, right


def _inertia() -> Step:
    """What the signs of F'' say of the signs of the Hessian."""
    left, right = inertia()
    why = (
        "along A diag(y) V with Gy = s it is Σ F''(u_j) s_j²: where G is nonsingular every s occurs, so the "
        "Hessian has as many positive and negative eigenvalues as there are positive and negative F''(u_j), "
        "and the others are 0 (Sylvester)"
    )
    return Step(
        "Signs of the Hessian",
        rf"{left.latex()} = {right.latex()}",
        why if nf.equal(left.entry(), right.entry()) else "NOT equal",
    )


def second_form() -> tuple[Term, bool]:
    """Σ_j F''(u_j) u_j(W)², and whether it is proved to be the second derivative of E along W."""
    once = sum_over(en.i, en.k, grad(en.energy(en.F), en.Z_)[en.i, en.k] * W[en.i, en.k])
    twice = sum_over(en.m, en.l, grad(once, en.Z_)[en.m, en.l] * W[en.m, en.l])
    form = sum_over(en.j, en.F(en.u(), 2) * en.u(state=W) ** 2)
    return form, nf.equal(twice.entry(), form.entry())


def _for_function(a: EnergyAssumptions, text: str) -> list[Step]:
    function, shape = sympy_function(text), shape_of(text)
    first, second = sp.simplify(sp.diff(function, U)), sp.simplify(sp.diff(function, U, 2))
    name = sp.latex(function)
    steps = [
        Step(
            f"F = {text}",
            rf"F(u) = {name},\quad F'(u) = {sp.latex(first)},\quad F''(u) = {sp.latex(second)}",
            _shape_words(shape),
        )
    ]
    try:
        energy = regularised(a, text)
    except ValueError as error:
        return [*steps, Step("Regulariser", r"\text{none of this form}", str(error))]
    still = stationary(a, text)
    steps.append(Step("At AV", rf"E_R(Z) = {energy.latex()}", stationarity_words(a, text, still)))
    said = (
        ("Stationary states", where_stationary(a, text, still)),
        ("Verdict", verdict_at_attention(text, still)),
        ("Lower bound", bounded_below(a, text, still)),
    )
    steps += [Step(title, rf"\text{{{_escaped(words)}}}", reason) for title, (words, reason) in said]
    update = r"Z \leftarrow Z - \eta \nabla_Z E_R"
    start = rf"Z^{{(0)}}: \text{{{a.initial_state}}}"
    steps.append(Step("Descent", rf"{update},\quad {start}", descent_words(a, text, still)))
    size = r"\eta\ \text{small}" if a.step == "small" else rf"\eta = {sp.latex(sp.Rational(a.step))}"
    steps.append(Step("Step size", size, step_words(a, text, still)))
    return steps


def _escaped(words: str) -> str:
    return words.replace("{", r"\{").replace("}", r"\}").replace("_", r"\_")


def _shape_words(shape: Shape) -> str:
    words = {
        ">0": "F'' > 0: F is strictly convex",
        ">=0": "F'' vanishes at single points only and is positive elsewhere: F is strictly convex",
        "<0": "F'' < 0: F is strictly concave",
        "<=0": "F'' vanishes at single points only and is negative elsewhere: F is strictly concave",
        "=0": "F is affine",
        "both": "F'' takes both signs: F is neither convex nor concave",
        "undecided": "the sign of F'' is not decided",
    }
    return words[shape.second]


def stationarity_words(a: EnergyAssumptions, text: str, still: bool | None) -> str:
    """Whether and why AV is stationary."""
    if still:
        return "the gradient at AV vanishes for all A and V"
    if still is None:
        return "whether the gradient at AV vanishes for all A and V is not decided"
    weights = (
        "A diag(F'(c)) V"
        if a.regulariser == "none"
        else "A diag(F'(c) - w) V with the weights w of the regulariser"
    )
    return (
        f"the gradient at AV is {weights}; it does not vanish for one token of value "
        f"{breaking_value(a, text)}"
    )
