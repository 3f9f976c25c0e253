"""What AV is of a regularised energy, where the energy is bounded below, and where gradient descent leads.

E_R(Z) = Σ_j F(u_j) - w_j u_j depends on Z through the alignments u alone, and u takes every value where G =
(AᵀA) ∘ (VVᵀ) is nonsingular. So everything is a question about the functions F(u) - w u of one variable
(``derivations.theories.energy.shape``); the identities that this rests on are steps of
``derivations.theories.energy.steps.derive``.
"""

from __future__ import annotations

import sympy as sp

from derivations.theories.energy.choices import EnergyAssumptions
from derivations.theories.energy.shape import bounded_slopes, growth, local_kinds, power_of, shape_of

FLAT = "AV + {W: u(W) = 0}"
DIMENSION = (
    "an affine space of dimension n d_v - rank G, so a single point exactly if rank G = n d_v, "
    "which needs d_v = 1"
)
INDEPENDENT = "where the alignments are independent (G nonsingular)"
WEIGHTS = {"none": "0", "section7": "2c_j", "section5": "p c_j^(p-1)", "matching": "F'(c_j)"}


_ENDS = {sp.S.NegativeInfinity: "-∞", sp.S.Infinity: "∞"}


def interval(found: sp.Set) -> str:
    """A set of reals as it is written: (-∞, 1], {0}, or a union of such."""
    if isinstance(found, sp.Union):
        return " ∪ ".join(interval(part) for part in sorted(found.args, key=lambda part: part.inf))
    if isinstance(found, sp.Interval):
        low, high = (_ENDS.get(end) or str(end) for end in (found.start, found.end))
        return f"{'(' if found.left_open else '['}{low}, {high}{')' if found.right_open else ']'}"
    return sp.sstr(found)


def slope_values(text: str) -> sp.Set | None:
    """The values of F' for a strictly convex F, an open interval; None for others, or where its ends
    are not decided.
    """
    rates = growth(text)
    return sp.Interval.open(-rates[0], rates[1]) if rates and shape_of(text).convex else None


def where_stationary(a: EnergyAssumptions, text: str, still: bool | None) -> tuple[str, str]:
    """All states where the gradient vanishes, and why."""
    shape, weights = shape_of(text), WEIGHTS[a.regulariser]
    if shape.affine:
        words = "every state" if still else "none, unless A diag(F' - w) V = 0"
        return words, "F' is constant, and so is the gradient A diag(F' - w) V"
    if still and (shape.convex or shape.concave):
        one_sign = (
            "⟨gradient, Z - AV⟩ = Σ (F'(u_j) - F'(c_j))(u_j - c_j), terms of one sign that vanish "
            "only where u = c"
        )
        return f"exactly {FLAT}", f"{one_sign}; {DIMENSION}"
    reason = "the alignments of the gradient are G(F'(u) - w), and it vanishes with F'(u) - w"
    words = f"all Z with F'(u_j) = {weights} for every j, {INDEPENDENT}"
    slopes = slope_values(text)
    if slopes is not None and not still:
        exist = (
            ("they exist" if slopes.contains(0) == sp.true else "there are none")
            if a.regulariser == "none"
            else f"they exist exactly if every {weights} lies in {interval(slopes)}, the values of F'"
        )
        return f"{words}; {exist}", reason
    return words, reason


def verdict_at_attention(text: str, still: bool | None) -> tuple[str, str]:
    """What AV is of E_R, for all A and V, and why."""
    shape = shape_of(text)
    if still is None:
        return "undecided", "stationarity at AV is not decided"
    if not still:
        return "not stationary", "the condition (43) fails for some A and V"
    if shape.affine:
        return "every Z", "the regularised energy is constant"
    if shape.convex or shape.concave:
        what, verb, kind = (
            ("minimum", "minimisers", "convex") if shape.convex else ("maximum", "maximisers", "concave")
        )
        side = "below" if shape.convex else "above"
        return (
            f"global {what}; the {verb} are {FLAT}; bounded {side}",
            f"the excess is a sum of Bregman differences of a strictly {kind} F, zero exactly where u(Z) = "
            f"c; {DIMENSION}",
        )
    return _by_sign(text)


def _by_sign(text: str) -> tuple[str, str]:
    """AV of an F that is neither convex nor concave, or not shown to be: the signs of F'' at c_j decide."""
    shape = shape_of(text)
    all_c = "depends on c" if shape.decided else "not decided for all c"
    unbounded = (
        " not bounded below unless E vanishes identically;"
        if power_of(text) and (shape.polynomial_degree or 0) % 2
        else ""
    )
    sign = "the Hessian along W is Σ F''(c_j) u_j(W)²"
    kinds = local_kinds(text)
    if kinds is None:
        return (
            f"{all_c};{unbounded} minimum if all F''(c_j) > 0",
            f"{sign}: {INDEPENDENT} AV is a local minimum if all F''(c_j) > 0, a local maximum if all are "
            "negative, a saddle if "
            "both signs occur",
        )
    low, high = (interval(kinds[k]) for k in ("minimum", "maximum"))
    neither = "" if kinds["neither"] is sp.S.EmptySet else f" or some c_j is in {interval(kinds['neither'])}"
    return (
        f"{all_c};{unbounded} minimum if all F''(c_j) > 0",
        f"{sign}, and E_R - E_R(AV) = Σ D_F(u_j, c_j): {INDEPENDENT} AV is a local minimum exactly if every "
        f"c_j is in {low}, a local "
        f"maximum exactly if every c_j is in {high}, and a saddle if both occur{neither}",
    )


def bounded_below(a: EnergyAssumptions, text: str, still: bool | None) -> tuple[str, str]:
    """Whether E_R has a lower bound, for which A and V, and why."""
    shape, weights, allowed = shape_of(text), WEIGHTS[a.regulariser], bounded_slopes(text)
    if still and shape.convex:
        return "bounded below, for all A and V", "F lies above its tangent at every c_j"
    if allowed is None:
        return "undecided", "the growth of F is not decided"
    if allowed == sp.S.Reals:
        return "bounded below, for all A and V", "F grows faster than every linear function on both sides"
    if allowed is sp.S.EmptySet:
        if power_of(text):
            odd = "E(tZ) = t^p E(Z) takes both signs with t, and outgrows the regulariser"
            return "not bounded below unless E vanishes identically", odd
        return f"not bounded below, {INDEPENDENT}", "F(u) - w u has no lower bound, whatever w is"
    if a.regulariser == "none":
        if allowed.contains(0) == sp.true:
            return "bounded below, for all A and V", "F itself is bounded below"
        return f"not bounded below, {INDEPENDENT}", "F itself is not bounded below"
    if still and shape.affine:
        return "bounded below, for all A and V", "the regularised energy is constant"
    return (
        f"bounded below if every {weights} lies in {interval(allowed)}; only then, {INDEPENDENT}",
        "F(u) - w u is bounded below exactly for these w",
    )


def descent_words(a: EnergyAssumptions, text: str, still: bool | None) -> str:
    """Where gradient descent leads from the assumed start, for steps in the stable range."""
    shape = shape_of(text)
    if still is None:
        return "undecided, as stationarity at AV is"
    if still and (a.initial_state == "attention" or shape.affine):
        return "the start is stationary: the state stays where it is, for every step size and number of steps"
    if shape.affine:
        return "each step adds the same amount -ηA diag(F' - w) V: no limit, unless that is 0"
    if still and shape.convex:
        goal = (
            "AV" if a.initial_state == "zero" else "AV + the part of the start on which all alignments vanish"
        )
        return f"the limit is {goal}, for a stable step"
    leaves = (
        "AV is not stationary for all A and V: descent started there leaves it; "
        if a.initial_state == "attention"
        else ""
    )
    if shape.convex:
        return leaves + _other_limit(a, text)
    if still and shape.concave:
        return (
            "no limit, unless the start has the alignments of AV: each step leads away from AV, the maximum"
        )
    return f"{leaves}no limit is guaranteed: {_why_not_convex(text)}"


def _why_not_convex(text: str) -> str:
    return "F is not convex" if shape_of(text).decided else "whether F is convex is not decided"


def _other_limit(a: EnergyAssumptions, text: str) -> str:
    """Strictly convex F with weights that do not match: where descent goes if it goes anywhere."""
    slopes, weights = slope_values(text), WEIGHTS[a.regulariser]
    if a.regulariser == "none" and slopes is not None and slopes.contains(0) != sp.true:
        return f"no limit {INDEPENDENT}: F' has no zero, and the energy no minimum"
    always = slopes is None or slopes == sp.S.Reals or a.regulariser == "none"
    exist = "" if always else f", if every {weights} lies in {interval(slopes)}"
    nearest = (
        "the state of least norm"
        if a.initial_state in ("attention", "zero")
        else "the state nearest to the start"
    )
    return (
        f"for a stable step the limit is {nearest} among those with F'(u_j) = {weights}, {INDEPENDENT}{exist}"
    )


def step_words(a: EnergyAssumptions, text: str, still: bool | None) -> str:
    """The step sizes for which descent is stable, and whether the assumed one is."""
    shape = shape_of(text)
    if still and (a.initial_state == "attention" or shape.affine):
        return "any: the start is stationary"
    if shape.affine:
        return "none makes it stable: the gradient is constant and not zero"
    given = None if a.step == "small" else sp.Rational(a.step)
    if shape.curvature is not None:
        sure = "" if shape.convex else f"no limit is guaranteed: {_why_not_convex(text)}; "
        return sure + _lowering(shape.curvature, "F''" if shape.convex else "|F''|", given)
    near = "0 < η < 2/λ_max(D^½GD^½), D = diag F''(u) there"
    if not shape.convex:
        why = _why_not_convex(text)
        return f"none is shown to serve all starts: {why}; near a minimiser with F'' > 0 {near}"
    why = "F'' is not bounded" if shape.unbounded else "no bound of F'' was found"
    chosen = f"; η = {given} exactly if λ_max(D^½GD^½) < {2 / given}" if given else ""
    return (
        f"small enough for the start: {why}, and no η is shown to serve all starts; near a minimiser {near}"
        f"{chosen}"
    )


def _lowering(curvature: sp.Expr, second: str, given: sp.Rational | None) -> str:
    """The step sizes for which every step lowers the energy, where F'' is bounded."""
    top, half = 2 / curvature, "" if curvature == 2 else f"{curvature / 2}·"
    chosen = f"; η = {given} is in it exactly if λ_max(G) < {top / given}" if given else ""
    return (
        f"0 < η < {top}/λ_max(G), G = (AᵀA) ∘ (VVᵀ), since {second} ≤ {curvature}: then a step lowers "
        f"the energy by at least η(1 - {half}ηλ_max(G))‖gradient‖²{chosen}"
    )
